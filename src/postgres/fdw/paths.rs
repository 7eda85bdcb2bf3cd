//! The ways to scan a table that the planner may choose from: alone, in parallel, and for each row of another
//! relation. Postgres: "FDW Callback Routines", `GetForeignPaths`.

use pgrx::pg_guard;
use pgrx::pg_sys::{self, Cost, ForeignPath, Oid, PlannerInfo, RelOptInfo, Relids};

use super::cost::{self, ScanCost};
use super::parallel::{self, Mode};
use super::parameterised::{self, Parameterised};
use super::plan::PlanState;

/// How much dearer a path that may run in workers is made than the same path alone, so that only a plan with workers
/// has it.
const IN_WORKERS: f64 = 1.02;

/// `GetForeignPaths`.
///
/// # Safety
/// Called by the planner only, after `get_foreign_rel_size`.
#[pg_guard]
pub unsafe extern "C-unwind" fn get_foreign_paths(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    _relation_oid: Oid,
) {
    // SAFETY: the planner hands over valid nodes; `fdw_private` was set by get_foreign_rel_size.
    unsafe {
        let state = &*(*relation).fdw_private.cast::<PlanState>();
        let cost = ScanCost::of(relation, state);
        let rows = (*relation).rows;
        let total = cost.total(relation, 1.0, rows);
        // A relation whose state another one's values select is only scanned for each of that one's rows.
        let outer = (*relation).lateral_relids;
        add_paths(root, relation, rows, cost.startup, total, outer);
        if (*relation).consider_parallel && outer.is_null() {
            add_shared_path(root, relation, state, &cost);
        }
        for Parameterised { info, share } in parameterised::parameterised(root, relation, state) {
            let rows = (*info).ppi_rows;
            let total = cost.of_share(relation, share, rows);
            add_paths(
                root,
                relation,
                rows,
                cost.startup,
                total,
                (*info).ppi_req_outer,
            );
        }
    }
}

/// Adds a path, and another one for workers, each of which reads everything.
///
/// Both have the same rows; but whatever workers read must be the state that the leader fixes, so only a path whose
/// node has a part in the query's shared memory may run in them: to Postgres, one that is "parallel aware".
///
/// # Safety
/// `root` and `relation` are the planner's; `outer` are relations whose values the scan needs.
unsafe fn add_paths(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    rows: f64,
    startup: Cost,
    total: Cost,
    outer: Relids,
) {
    // SAFETY: by the contract.
    unsafe {
        let alone = new_path(root, relation, rows, startup, total, outer);
        (*alone).path.parallel_safe = false;
        pg_sys::add_path(relation, alone.cast());
        if (*relation).consider_parallel {
            let in_workers = new_path(
                root,
                relation,
                rows,
                startup * IN_WORKERS,
                total * IN_WORKERS,
                outer,
            );
            (*in_workers).path.parallel_aware = true;
            pg_sys::add_path(relation, in_workers.cast());
        }
    }
}

/// Adds a path whose rows participants share, if that is worth it.
///
/// # Safety
/// `root` and `relation` are the planner's.
unsafe fn add_shared_path(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    state: &PlanState,
    cost: &ScanCost,
) {
    // SAFETY: by the contract.
    unsafe {
        let needed = cost::needed_bytes(&state.relation, &state.files);
        let in_memory = state.rows * f64::from((*(*relation).reltarget).width.max(1));
        let workers = parallel::workers(relation, needed.max(in_memory), &state.files);
        if workers <= 0 {
            return;
        }
        let participants = cost::parallel_divisor(workers);
        let rows = pg_sys::clamp_row_est((*relation).rows / participants);
        let total = cost.total(relation, participants, rows);
        let path = new_path(
            root,
            relation,
            rows,
            cost.startup,
            total,
            std::ptr::null_mut(),
        );
        (*path).path.parallel_aware = true;
        (*path).path.parallel_workers = workers;
        pg_sys::add_partial_path(relation, path.cast());
    }
}

/// How the scan of a path takes part in a parallel query.
///
/// # Safety
/// `path` is one that [`get_foreign_paths`] has added.
pub unsafe fn mode_of(path: *mut ForeignPath) -> Mode {
    // SAFETY: by the contract.
    let path = unsafe { &(*path).path };
    match (path.parallel_aware, path.parallel_workers) {
        (false, _) => Mode::Alone,
        (true, 0) => Mode::All,
        (true, _) => Mode::Share,
    }
}

/// # Safety
/// `root` and `relation` are the planner's; `outer` are relations whose values the scan needs.
unsafe fn new_path(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    rows: f64,
    startup: Cost,
    total: Cost,
    outer: Relids,
) -> *mut ForeignPath {
    // SAFETY: by the contract.
    unsafe {
        pg_sys::create_foreignscan_path(
            root,
            relation,
            std::ptr::null_mut(),
            rows,
            #[cfg(feature = "pg18")]
            0,
            startup,
            total,
            std::ptr::null_mut(),
            outer,
            std::ptr::null_mut(),
            #[cfg(any(feature = "pg17", feature = "pg18"))]
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    }
}
