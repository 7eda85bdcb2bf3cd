//! Planning: which columns a query needs, which state of the table, how many rows there are, and the one path to them.
//! Reads metadata only, never a data file.

use std::cell::RefCell;
use std::sync::Arc;

use iceberg_core::plan::ScanPlan;
use iceberg_core::spec::{RowFilter, ScanFilter};
use pgrx::pg_sys::{self, List, Node, Oid, PlannerInfo, RelOptInfo};
use pgrx::{PgMemoryContexts, pg_guard};

use super::estimates;
use super::parameterised;
use super::paths;
use super::relation::{ForeignRelation, effective_role};
use super::scan_node::ScanNode;
use super::selector_qual;
use super::statistics::Made;
use crate::list::pointers;
use crate::quals::{self, Class};
use crate::session::{settings, tables::Scope};

/// What planning keeps between its callbacks, in the relation's `fdw_private`.
pub struct PlanState {
    /// The table in the state that the plan is made for, with the columns that the query needs.
    pub relation: ForeignRelation,
    /// The files of that state that must be read.
    pub files: Arc<ScanPlan>,
    /// The role that the table is read for.
    pub role: Oid,
    /// What they are wanted for, as far as the planner can tell.
    pub filter: RowFilter,
    /// About how many rows they have.
    pub rows: f64,
    /// What the planner has been told of columns.
    pub statistics: Made,
}

/// Rows assumed where no manifest tells.
const UNKNOWN_ROWS: f64 = 1_000_000.0;

/// `GetForeignRelSize`: loads the table's metadata and sets rows and width.
///
/// # Safety
/// Called by the planner only.
#[pg_guard]
pub unsafe extern "C-unwind" fn get_foreign_rel_size(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    relation_oid: Oid,
) {
    // SAFETY: the planner hands over valid nodes.
    unsafe {
        let quals = actual_quals((*relation).baserestrictinfo);
        let output: *mut Node = (*(*relation).reltarget).exprs.cast();
        let attribute_numbers = used_attributes(relation, relation_oid, &[output, quals.cast()]);
        let role = effective_role(planned_role(root, relation));
        let selector = selector_qual::selector_of(root, relation);
        if let Some(selector) = &selector {
            selector_qual::wait_for_others(root, relation, selector);
        }
        let selection = selector.and_then(|selector| selector_qual::estimate(root, &selector));
        let opened = ForeignRelation::open(
            relation_oid,
            role,
            &attribute_numbers,
            selection,
            Scope::Now,
        );
        let rows = quals::estimate(
            root,
            (*relation).relid,
            &opened,
            (*relation).baserestrictinfo,
        );
        let filter = parameterised::with_join_columns(root, relation, &opened, rows);
        let plan = opened.plan_files(&ScanFilter {
            rows: filter.clone(),
            levels: settings::pruning_levels(),
        });
        let records = plan
            .remaining_records()
            .map_or(UNKNOWN_ROWS, |records| records as f64);
        (*(*relation).reltarget).width = opened.row_width(&plan);
        let state = PlanState {
            relation: opened,
            role,
            files: plan,
            filter,
            rows: records,
            statistics: RefCell::default(),
        };
        // The planner's estimates of selectivity ask for this state.
        (*relation).fdw_private = PgMemoryContexts::CurrentMemoryContext
            .leak_and_drop_on_delete(state)
            .cast();
        estimates::set_size(root, relation, relation_oid, records);
    }
}

/// Whether a qual or join clause of a relation would be pushed: then a path that is parameterised by the other
/// relations of a join clause reads less for each of their rows. [`get_foreign_plan`] treats all clauses alike,
/// whichever path they come with.
///
/// # Safety
/// `root` and `relation` are the planner's, of a relation that [`get_foreign_rel_size`] was called for; `clause` is a
/// valid boolean expression.
pub unsafe fn is_pushable(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    clause: *mut pg_sys::Expr,
) -> bool {
    // SAFETY: by the contract.
    unsafe {
        let state = &*(*relation).fdw_private.cast::<PlanState>();
        quals::class_of(root, (*relation).relid, &state.relation, clause.cast()) > Class::Local
    }
}

/// `GetForeignPlan`: a scan node that carries the numbers of the columns it must produce, what selects the state, and
/// the quals that are pushed; see [`ScanNode`]. What the reader checks exactly is left out of the quals that Postgres
/// checks.
///
/// # Safety
/// Called by the planner only, after [`get_foreign_paths`].
#[pg_guard]
pub unsafe extern "C-unwind" fn get_foreign_plan(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    relation_oid: Oid,
    best_path: *mut pg_sys::ForeignPath,
    target_list: *mut List,
    scan_clauses: *mut List,
    outer_plan: *mut pg_sys::Plan,
) -> *mut pg_sys::ForeignScan {
    // SAFETY: the planner hands over valid nodes; `fdw_private` was set by get_foreign_rel_size.
    unsafe {
        let state = &*(*relation).fdw_private.cast::<PlanState>();
        let (selector, clauses) = selector_qual::take_out(scan_clauses, (*relation).relid);
        let classified = quals::classify(root, (*relation).relid, &state.relation, clauses);
        let exact = actual_quals(classified.exact);
        let inexact = actual_quals(classified.inexact);
        // In the planner's order, which is by cost and security.
        let checked = pg_sys::list_difference_ptr(clauses, classified.exact);
        let checked = actual_quals(checked);
        let output: *mut Node = (*(*relation).reltarget).exprs.cast();
        let output = used_attributes(relation, relation_oid, &[output, checked.cast()]);
        let mut filtered = used_attributes(relation, relation_oid, &[exact.cast()]);
        filtered.retain(|number| !output.contains(number));
        let node = ScanNode {
            mode: paths::mode_of(best_path),
            output,
            filtered,
            selector: selector.map(|selector| (selector.kind, selector.values)),
            exact: pointers(exact).collect(),
            inexact: pointers(inexact).collect(),
        };
        pg_sys::make_foreignscan(
            target_list,
            checked,
            (*relation).relid,
            node.expressions(),
            node.private(),
            std::ptr::null_mut(),
            exact,
            outer_plan,
        )
    }
}

/// The expressions of quals that are not checked once before the scan.
///
/// # Safety
/// A list of `RestrictInfo`.
unsafe fn actual_quals(quals: *mut List) -> *mut List {
    // SAFETY: by the contract.
    unsafe { pg_sys::extract_actual_clauses(quals, false) }
}

/// The role that a foreign table is read for while it is planned; invalid for the current one.
///
/// # Safety
/// `root` and `relation` are the planner's.
unsafe fn planned_role(root: *mut PlannerInfo, relation: *mut RelOptInfo) -> Oid {
    // SAFETY: by the contract.
    unsafe {
        #[cfg(any(feature = "pg14", feature = "pg15"))]
        {
            let entry: *mut pg_sys::RangeTblEntry =
                *(*root).simple_rte_array.add((*relation).relid as usize);
            (*entry).checkAsUser
        }
        #[cfg(not(any(feature = "pg14", feature = "pg15")))]
        {
            let _ = root;
            (*relation).userid
        }
    }
}

/// The columns that some expressions name, ascending; all for a whole-row reference.
///
/// # Safety
/// `relation` is the planner's, of the table `relation_oid`; the expressions are valid, or lists of valid ones.
unsafe fn used_attributes(
    relation: *mut RelOptInfo,
    relation_oid: Oid,
    expressions: &[*mut Node],
) -> Vec<i16> {
    let mut used: *mut pg_sys::Bitmapset = std::ptr::null_mut();
    // SAFETY: by the contract; the relation is locked by the planner.
    unsafe {
        for expression in expressions {
            pg_sys::pull_varattnos(*expression, (*relation).relid, &mut used);
        }
        let is_used = |number: i32| {
            pg_sys::bms_is_member(number - pg_sys::FirstLowInvalidHeapAttributeNumber, used)
        };
        let whole_row = is_used(0);
        let opened = pgrx::PgRelation::open(relation_oid);
        let descriptor = opened.tuple_desc();
        descriptor
            .iter()
            .filter(|attribute| !attribute.attisdropped)
            .map(|attribute| attribute.attnum)
            .filter(|number| whole_row || is_used(i32::from(*number)))
            .collect()
    }
}
