//! How many rows a scan gives: those of the files that are left, of which quals leave a share. No qual counts twice.
//! Postgres: "Row Estimation Examples".

use pgrx::pg_sys::{self, List, Oid, PlannerInfo, RelOptInfo, RestrictInfo};

use super::statistics;
use crate::list::pointers;

/// Sets the rows of a relation, of whose files so many rows are left.
///
/// # Safety
/// `root` and `relation` are the planner's, of the table `relation_oid`, whose planning state is set.
pub unsafe fn set_size(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    relation_oid: Oid,
    left: f64,
) {
    // SAFETY: by the contract.
    unsafe {
        // What ANALYZE found is of the whole table; what manifests say, of the files that are left.
        let whole = (*relation).tuples.max(left);
        let mut of_table: *mut List = std::ptr::null_mut();
        let mut of_files: *mut List = std::ptr::null_mut();
        for clause in pointers::<RestrictInfo>((*relation).baserestrictinfo) {
            let list = match is_analysed(relation, relation_oid, clause) {
                true => &mut of_table,
                false => &mut of_files,
            };
            *list = pg_sys::lappend(*list, clause.cast());
        }
        (*relation).tuples = whole;
        let of_table = selectivity(root, of_table);
        (*relation).tuples = left;
        let of_files = selectivity(root, of_files);
        let rows = left.min(whole * of_table) * of_files;
        (*relation).rows = pg_sys::clamp_row_est(rows);
        // Postgres applies all quals to this again, together with join clauses.
        let all = of_table * of_files;
        if all > 0.0 {
            (*relation).tuples = (rows / all).clamp(left.min(whole), whole);
        }
    }
}

/// Whether ANALYZE has found something about every column that a clause names.
///
/// # Safety
/// The arguments are the planner's.
unsafe fn is_analysed(
    relation: *mut RelOptInfo,
    relation_oid: Oid,
    clause: *mut RestrictInfo,
) -> bool {
    let mut used: *mut pg_sys::Bitmapset = std::ptr::null_mut();
    // SAFETY: by the contract.
    unsafe {
        pg_sys::pull_varattnos((*clause).clause.cast(), (*relation).relid, &mut used);
        let mut member = -1;
        loop {
            member = pg_sys::bms_next_member(used, member);
            if member < 0 {
                return pg_sys::bms_num_members(used) > 0;
            }
            let number = member + pg_sys::FirstLowInvalidHeapAttributeNumber;
            let is_analysed = i16::try_from(number)
                .is_ok_and(|number| number > 0 && statistics::is_analysed(relation_oid, number));
            if !is_analysed {
                return false;
            }
        }
    }
}

/// # Safety
/// The arguments are the planner's.
unsafe fn selectivity(root: *mut PlannerInfo, clauses: *mut List) -> f64 {
    // SAFETY: by the contract.
    unsafe {
        pg_sys::clauselist_selectivity(
            root,
            clauses,
            0,
            pg_sys::JoinType::JOIN_INNER,
            std::ptr::null_mut(),
        )
    }
}
