//! Selectors among the quals of a scan: found and taken out when it is planned, evaluated when it is executed.
//! DESIGN: top-level quals only; constants, parameters, stable expressions, and values of other relations.

use std::ffi::CStr;

use iceberg_core::spec::SnapshotSelector;
use pgrx::pg_sys::{
    self, Expr, ForeignScanState, List, Node, PlannerInfo, RelOptInfo, RestrictInfo,
};
use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, is_a};

use super::selection::{Selection, timestamp_ms};
use crate::encoding::from_server;
use crate::error::{OrRaise, Report};
use crate::list::pointers;

/// The functions that select, in the order of their numbers in a plan.
const KINDS: [(&CStr, Kind); 4] = [
    (c"at_snapshot", Kind::Snapshot),
    (c"at_timestamp", Kind::Timestamp),
    (c"at_ref", Kind::Reference),
    (c"changes_between", Kind::Changes),
];
/// The most values that a selector has.
const MOST_VALUES: usize = 2;

/// How a state is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// By snapshot id.
    Snapshot,
    /// By time.
    Timestamp,
    /// By the name of a branch or tag.
    Reference,
    /// What changed between two snapshots.
    Changes,
}

impl Kind {
    /// As a plan keeps it.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// From a plan.
    pub fn from_number(number: i32) -> Option<Self> {
        KINDS
            .iter()
            .map(|(_, kind)| *kind)
            .find(|kind| kind.number() == number)
    }

    /// The function's name without its schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "at_snapshot",
            Self::Timestamp => "at_timestamp",
            Self::Reference => "at_ref",
            Self::Changes => "changes_between",
        }
    }

    /// How many values select.
    pub fn values(self) -> usize {
        match self {
            Self::Snapshot | Self::Timestamp | Self::Reference => 1,
            Self::Changes => MOST_VALUES,
        }
    }
}

/// A selector among the quals.
#[derive(Debug, Clone)]
pub struct SelectorQual {
    /// How it selects.
    pub kind: Kind,
    /// What it selects, as many as [`Kind::values`].
    pub values: Vec<*mut Expr>,
    /// The qual it is.
    pub clause: *mut RestrictInfo,
}

/// The selectors of a relation among its quals and those that join it to others; raises an error if there
/// is more than one, or one that cannot be evaluated before the scan.
///
/// # Safety
/// `root` and `relation` are the planner's.
pub unsafe fn selector_of(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
) -> Option<SelectorQual> {
    // SAFETY: by the contract; both lists hold restrictions.
    unsafe {
        let relid = (*relation).relid;
        let mut found = pointers::<RestrictInfo>((*relation).baserestrictinfo)
            .filter_map(|clause| selector(clause, relid))
            .chain(
                pointers::<RestrictInfo>((*relation).joininfo)
                    .filter(|clause| pg_sys::join_clause_is_movable_to(*clause, relation))
                    .filter_map(|clause| selector(clause, relid)),
            );
        let first = found.next()?;
        if let Some(second) = found.next() {
            conflict(first.kind, second.kind);
        }
        check_values(root, &first, relid);
        Some(first)
    }
}

/// Makes a relation LATERAL to those whose values its selector needs, as if it had been written so: the
/// planner then looks only for plans that have those values before the scan begins. Raises an error where
/// two relations would wait for each other.
///
/// # Safety
/// `root` and `relation` are the planner's, while it finds the sizes of relations; `qual` is of the relation.
pub unsafe fn wait_for_others(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    qual: &SelectorQual,
) {
    // SAFETY: by the contract; the array has an entry for every relation, null for what is none, and the sets
    // are copied before they are changed.
    unsafe {
        let relid = (*relation).relid as i32;
        let others = pg_sys::bms_difference(
            pg_sys::bms_intersect((*qual.clause).clause_relids, (*root).all_baserels),
            (*relation).relids,
        );
        // Before Postgres 16 an empty set need not be a null pointer.
        if pg_sys::bms_num_members(others) == 0 {
            return;
        }
        let mut all = pg_sys::bms_union((*relation).lateral_relids, others);
        let relations = || {
            (1..(*root).simple_rel_array_size)
                .map(|index| *(*root).simple_rel_array.add(index as usize))
                .filter(|other| !other.is_null())
        };
        for other in
            relations().filter(|other| pg_sys::bms_is_member((**other).relid as i32, others))
        {
            (*other).lateral_referencers =
                pg_sys::bms_union((*other).lateral_referencers, (*relation).relids);
            all = pg_sys::bms_union(all, (*other).lateral_relids);
        }
        if pg_sys::bms_is_member(relid, all) {
            Report::new(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "tables select each other's snapshots",
            )
            .with_hint("Every selector must have its value before the scan of its table begins.")
            .raise()
        }
        (*relation).direct_lateral_relids =
            pg_sys::bms_union((*relation).direct_lateral_relids, others);
        (*relation).lateral_relids = all;
        for waiting in
            relations().filter(|other| pg_sys::bms_is_member(relid, (**other).lateral_relids))
        {
            (*waiting).lateral_relids = pg_sys::bms_union((*waiting).lateral_relids, all);
        }
        (*root).hasLateralRTEs = true;
    }
}

/// The selector among the quals of a plan, and the quals without it.
///
/// # Safety
/// `clauses` is a list of restrictions of the relation `relid`.
pub unsafe fn take_out(
    clauses: *mut List,
    relid: pg_sys::Index,
) -> (Option<SelectorQual>, *mut List) {
    let mut taken = None;
    let mut rest = std::ptr::null_mut();
    // SAFETY: by the contract.
    unsafe {
        for clause in pointers::<RestrictInfo>(clauses) {
            match selector(clause, relid) {
                Some(found) => taken = Some(found),
                None => rest = pg_sys::lappend(rest, clause.cast()),
            }
        }
    }
    (taken, rest)
}

/// What a selector selects as far as the planner can tell, for its estimates.
///
/// # Safety
/// `root` is the planner's and `qual` comes from it.
pub unsafe fn estimate(root: *mut PlannerInfo, qual: &SelectorQual) -> Option<Selection> {
    // SAFETY: by the contract; the types of the constants are those of the function's arguments.
    unsafe {
        let values = qual.values.iter().map(|value| {
            let value = pg_sys::estimate_expression_value(root, value.cast());
            if !is_a(value, pg_sys::NodeTag::T_Const) {
                return None;
            }
            let constant = value.cast::<pg_sys::Const>();
            Some((!(*constant).constisnull).then_some((*constant).constvalue))
        });
        let values: Vec<_> = values.collect::<Option<_>>()?;
        if qual.kind != Kind::Changes && values.contains(&None) {
            return None;
        }
        Some(selection(qual.kind, &values))
    }
}

/// The selector that a restriction is, if it is one on this relation.
///
/// # Safety
/// `clause` is a restriction.
unsafe fn selector(clause: *mut RestrictInfo, relid: pg_sys::Index) -> Option<SelectorQual> {
    // SAFETY: by the contract; the tags of nodes are looked at first.
    unsafe {
        let node: *mut Node = (*clause).clause.cast();
        if !is_a(node, pg_sys::NodeTag::T_FuncExpr) {
            return None;
        }
        let call = node.cast::<pg_sys::FuncExpr>();
        let mut arguments = pointers::<Node>((*call).args);
        let table = arguments.next()?;
        if !is_a(table, pg_sys::NodeTag::T_Var) {
            return None;
        }
        let column = table.cast::<pg_sys::Var>();
        let is_own = i64::from((*column).varno) == i64::from(relid)
            && i32::from((*column).varattno) == pg_sys::TableOidAttributeNumber
            && (*column).varlevelsup == 0;
        Some(SelectorQual {
            kind: is_own.then(|| kind_of((*call).funcid)).flatten()?,
            values: arguments.map(|value| value.cast()).collect(),
            clause,
        })
    }
}

/// Which of this extension's selectors a function is.
fn kind_of(function: pg_sys::Oid) -> Option<Kind> {
    // SAFETY: look-ups in the system catalogs; names are copies that end with a zero byte.
    unsafe {
        let name = pg_sys::get_func_name(function);
        if name.is_null() {
            return None;
        }
        let name = CStr::from_ptr(name);
        let (_, kind) = KINDS.iter().find(|(known, _)| *known == name)?;
        let extension = pg_sys::getExtensionOfObject(pg_sys::ProcedureRelationId, function);
        let ours = pg_sys::get_extension_oid(c"iceberg_fdw".as_ptr(), true);
        (extension != pg_sys::Oid::INVALID && extension == ours).then_some(*kind)
    }
}

fn conflict(one: Kind, other: Kind) -> ! {
    Report::new(
        PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
        format!(
            "iceberg.{} and iceberg.{} select twice for one scan",
            one.name(),
            other.name()
        ),
    )
    .with_hint("A table can be read at one snapshot only; name it twice in FROM to read two.")
    .raise()
}

/// # Safety
/// `root` is the planner's and `qual` comes from it.
unsafe fn check_values(root: *mut PlannerInfo, qual: &SelectorQual, relid: pg_sys::Index) {
    let refuse = |what: &str| -> ! {
        Report::new(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!("the argument of iceberg.{} {what}", qual.kind.name()),
        )
        .with_hint("It must have one value for a whole scan of the table.")
        .raise()
    };
    for value in &qual.values {
        let value: *mut Node = value.cast();
        // SAFETY: by the contract.
        unsafe {
            if pg_sys::contain_volatile_functions(value) {
                refuse("must not be volatile");
            }
            let used = pg_sys::pull_varnos(root, value);
            if pg_sys::bms_is_member(i32::try_from(relid).unwrap_or(i32::MAX), used) {
                refuse("must not depend on the rows of the table itself");
            }
        }
    }
}

/// The state that arguments mean; null is an error but for the ends of changes, where it means the first and the
/// current snapshot.
///
/// # Safety
/// The values are of the arguments' types.
unsafe fn selection(kind: Kind, values: &[Option<pg_sys::Datum>]) -> Selection {
    let value = |index: usize| values.get(index).copied().flatten();
    let number = |index| value(index).map(|datum| datum.value() as i64);
    let required = || {
        value(0).unwrap_or_else(|| {
            Report::new(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("the argument of iceberg.{} must not be null", kind.name()),
            )
            .raise()
        })
    };
    let (selector, shown) = match kind {
        Kind::Snapshot => {
            let id = required().value() as i64;
            (SnapshotSelector::Snapshot(id), id.to_string())
        }
        Kind::Timestamp => {
            let at = timestamp_ms(required().value() as i64);
            (SnapshotSelector::Timestamp(at), at.to_string())
        }
        Kind::Reference => {
            // SAFETY: by the contract a text; the copy ends with a zero byte.
            let text =
                unsafe { CStr::from_ptr(pg_sys::text_to_cstring(required().cast_mut_ptr())) };
            let name = from_server(text).or_raise();
            let shown = format!("\"{name}\"");
            (SnapshotSelector::Reference(name), shown)
        }
        Kind::Changes => {
            let (from, to) = (number(0), number(1));
            let end = |id: Option<i64>, none: &str| id.map_or(none.to_owned(), |id| id.to_string());
            let shown = format!("{} to {}", end(from, "the first"), end(to, "the current"));
            (SnapshotSelector::Changes { from, to }, shown)
        }
    };
    Selection {
        selector,
        chosen_by: format!("qual iceberg.{} {shown}", kind.name()),
    }
}

/// A selector of a scan that is executed.
#[derive(Debug, Clone, Copy)]
pub struct Chooser {
    /// How it selects.
    pub kind: Kind,
    /// Whether its value can be another, or is not known, before the next row is wanted.
    pub waits: bool,
    values: [Option<*mut pg_sys::ExprState>; MOST_VALUES],
}

impl Chooser {
    /// Prepares the evaluation of a selector's values.
    ///
    /// # Safety
    /// `node` is being begun; `values` are expressions of its plan.
    pub unsafe fn begin(
        node: *mut ForeignScanState,
        kind: Kind,
        values: &[*mut Expr],
        flags: i32,
    ) -> Self {
        // SAFETY: by the contract.
        unsafe {
            let plan = (*node).ss.ps.plan;
            let without_parameters = {
                #[cfg(any(feature = "pg14", feature = "pg15"))]
                {
                    let _ = flags;
                    false
                }
                #[cfg(not(any(feature = "pg14", feature = "pg15")))]
                {
                    flags & pg_sys::EXEC_FLAG_EXPLAIN_GENERIC as i32 != 0
                }
            };
            Self {
                kind,
                // Parameters of the executor itself have no value yet when a scan begins.
                waits: values
                    .iter()
                    .any(|value| !is_a(value.cast(), pg_sys::NodeTag::T_Const))
                    && (without_parameters || !(*plan).allParam.is_null()),
                values: std::array::from_fn(|index| {
                    let value = values.get(index)?;
                    Some(pg_sys::ExecInitExpr(*value, &mut (*node).ss.ps))
                }),
            }
        }
    }

    /// The state that is selected now; raises an error for null.
    ///
    /// # Safety
    /// `node` is the one it was begun with.
    pub unsafe fn choose(&self, node: *mut ForeignScanState) -> Selection {
        // SAFETY: by the contract; the value lives in the context until it is copied.
        unsafe {
            let context = (*node).ss.ps.ps_ExprContext;
            let (states, kind) = (self.values, self.kind);
            PgMemoryContexts::For((*context).ecxt_per_tuple_memory).switch_to(|_| {
                let evaluated = states.into_iter().flatten().map(|state| {
                    let mut is_null = false;
                    let evaluate = (*state).evalfunc?;
                    let datum = evaluate(state, context, &mut is_null);
                    (!is_null).then_some(datum)
                });
                selection(kind, &evaluated.collect::<Vec<_>>())
            })
        }
    }
}
