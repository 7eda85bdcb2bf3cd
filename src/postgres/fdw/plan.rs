//! Planning: which columns a query needs, which state of the table, how many rows there are, and the one path to them.
//! Reads metadata only, never a data file.

use std::sync::Arc;

use iceberg_core::plan::ScanPlan;
use pgrx::pg_sys::{self, Index, List, Oid, PlannerInfo, RelOptInfo};
use pgrx::{PgMemoryContexts, pg_guard};

use super::paths;
use super::relation::{ForeignRelation, effective_role};
use super::selector_qual;
use crate::session::tables::Scope;

/// What planning keeps between its callbacks, in the relation's `fdw_private`.
pub struct PlanState {
    /// The columns that the query needs, ascending.
    pub attribute_numbers: Vec<i16>,
    /// The table in the state that the plan is made for.
    pub relation: ForeignRelation,
    /// The files of that state that must be read.
    pub files: Arc<ScanPlan>,
    /// About how many rows they have.
    pub rows: f64,
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
        let attribute_numbers = needed_attributes(relation, relation_oid);
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
        let plan = opened.plan_files();
        let total_rows = plan
            .remaining_records()
            .map_or(UNKNOWN_ROWS, |records| records as f64);
        (*relation).tuples = total_rows;
        (*relation).rows = pg_sys::clamp_row_est(
            total_rows
                * pg_sys::clauselist_selectivity(
                    root,
                    (*relation).baserestrictinfo,
                    0,
                    pg_sys::JoinType::JOIN_INNER,
                    std::ptr::null_mut(),
                ),
        );
        (*(*relation).reltarget).width = opened.row_width(&plan);
        let state = PlanState {
            attribute_numbers,
            relation: opened,
            files: plan,
            rows: total_rows,
        };
        (*relation).fdw_private = PgMemoryContexts::CurrentMemoryContext
            .leak_and_drop_on_delete(state)
            .cast();
    }
}

/// `GetForeignPlan`: a scan node that carries the numbers of the columns it must produce, and what
/// selects the state. Every other qual is checked by Postgres.
///
/// # Safety
/// Called by the planner only, after [`get_foreign_paths`].
#[pg_guard]
pub unsafe extern "C-unwind" fn get_foreign_plan(
    _root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    _relation_oid: Oid,
    best_path: *mut pg_sys::ForeignPath,
    target_list: *mut List,
    scan_clauses: *mut List,
    outer_plan: *mut pg_sys::Plan,
) -> *mut pg_sys::ForeignScan {
    // SAFETY: the planner hands over valid nodes; `fdw_private` was set by get_foreign_rel_size.
    unsafe {
        let state = &*(*relation).fdw_private.cast::<PlanState>();
        let columns = state
            .attribute_numbers
            .iter()
            .fold(std::ptr::null_mut(), |list, number| {
                pg_sys::lappend_int(list, i32::from(*number))
            });
        let (selector, local_clauses) = selector_qual::take_out(scan_clauses, (*relation).relid);
        let mode = pg_sys::lappend_int(std::ptr::null_mut(), paths::mode_of(best_path).number());
        let mut private = pg_sys::lappend(std::ptr::null_mut(), mode.cast());
        private = pg_sys::lappend(private, columns.cast());
        let mut expressions = std::ptr::null_mut();
        if let Some(selector) = selector {
            let kind = pg_sys::lappend_int(std::ptr::null_mut(), selector.kind.number());
            private = pg_sys::lappend(private, kind.cast());
            expressions = pg_sys::lappend(std::ptr::null_mut(), selector.value.cast());
        }
        pg_sys::make_foreignscan(
            target_list,
            pg_sys::extract_actual_clauses(local_clauses, false),
            (*relation).relid,
            expressions,
            private,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            outer_plan,
        )
    }
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

/// The columns that the query's output and quals name, ascending; all for a whole-row reference.
///
/// # Safety
/// `relation` is the planner's, of the table `relation_oid`.
unsafe fn needed_attributes(relation: *mut RelOptInfo, relation_oid: Oid) -> Vec<i16> {
    let mut used: *mut pg_sys::Bitmapset = std::ptr::null_mut();
    // SAFETY: by the contract; the relation is locked by the planner.
    unsafe {
        let relid: Index = (*relation).relid;
        pg_sys::pull_varattnos((*(*relation).reltarget).exprs.cast(), relid, &mut used);
        let clauses = pgrx::PgList::<pg_sys::RestrictInfo>::from_pg((*relation).baserestrictinfo);
        for clause in clauses.iter_ptr() {
            pg_sys::pull_varattnos((*clause).clause.cast(), relid, &mut used);
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
