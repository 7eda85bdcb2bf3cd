//! Parallel scans: the leader fixes the state of the table, and every participant reads that state; of a scan whose
//! tasks are shared, each participant reads those that it gets hold of first.
//! Postgres: "FDW Routines for Parallel Execution".

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr::NonNull;
use std::sync::Arc;

use iceberg_core::plan::{FileScanTask, ScanPlan};
use iceberg_core::read::{ReadMetrics, TaskQueue};
use pgrx::pg_guard;
use pgrx::pg_sys::{
    self, ForeignScanState, ParallelContext, PlannerInfo, RangeTblEntry, RelOptInfo, Size,
};
use pgrx::prelude::*;

use super::relation::ForeignRelation;
use super::scan::ScanState;
use super::shared_scan::{self, Agreement, Shared};
use crate::error::{OrRaise, Report};

/// How a scan takes part in a parallel query; its number is in the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// It does not run in workers.
    #[default]
    Alone,
    /// Every participant reads all of the table, in the same state.
    All,
    /// Participants share the tasks: each row comes out once.
    Share,
}

impl Mode {
    /// As a plan keeps it.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// From a plan.
    pub fn from_number(number: i32) -> Self {
        [Self::All, Self::Share]
            .into_iter()
            .find(|mode| mode.number() == number)
            .unwrap_or_default()
    }
}

/// A scan's part in a parallel query that is executed.
pub struct Participation {
    shared: Arc<Shared>,
    mode: Mode,
    is_worker: bool,
    /// What this process has already added to the shared counts.
    counted: [u64; ReadMetrics::COUNTERS],
}

/// What a participant reads.
pub struct Share {
    /// The tasks; of which it gets some if there is a queue.
    pub tasks: Vec<FileScanTask>,
    /// Who hands them out.
    pub queue: Option<Arc<dyn TaskQueue>>,
    /// How many processes read at the same time.
    pub participants: usize,
}

/// What a scan reads that takes part in no parallel query.
pub fn alone(plan: &ScanPlan) -> Share {
    Share {
        tasks: plan.tasks.clone(),
        queue: None,
        participants: 1,
    }
}

impl Participation {
    fn new(shared: Arc<Shared>, mode: Mode, is_worker: bool) -> Self {
        Self {
            shared,
            mode,
            is_worker,
            counted: [0; ReadMetrics::COUNTERS],
        }
    }

    /// What this process reads of the opened state; raises an error if that is not the state of the leader.
    pub fn share(&self, relation: &ForeignRelation, plan: &ScanPlan) -> Share {
        let agreement = self.shared.agreement().or_raise();
        let participants = usize::try_from(agreement.participants).unwrap_or(1).max(1);
        if self.mode != Mode::Share {
            return Share {
                participants,
                ..alone(plan)
            };
        }
        let tasks = parts(plan, agreement.part_bytes);
        let own = Agreement {
            tasks: tasks.len() as u64,
            fingerprint: fingerprint(relation, &tasks),
            ..agreement
        };
        if own != agreement {
            Report::new(
                PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                "a parallel worker would read other files than the leader",
            )
            .with_detail(format!(
                "The table is at \"{}\". It has {} tasks to share for the leader, {} for the worker.",
                relation.location(),
                agreement.tasks,
                own.tasks
            ))
            .with_hint("SET max_parallel_workers_per_gather = 0 makes queries run without workers.")
            .raise()
        }
        Share {
            tasks,
            queue: Some(Arc::clone(&self.shared) as Arc<dyn TaskQueue>),
            participants,
        }
    }

    /// Lets the leader know what a worker has done.
    fn count(&mut self, metrics: &ReadMetrics) {
        if self.is_worker {
            let values = metrics.values();
            let mut more = values;
            for (more, counted) in more.iter_mut().zip(self.counted) {
                *more = more.saturating_sub(counted);
            }
            self.shared.count(more);
            self.counted = values;
        }
    }
}

/// The tasks of a plan in parts that are worth sharing.
fn parts(plan: &ScanPlan, part_bytes: u64) -> Vec<FileScanTask> {
    plan.tasks
        .iter()
        .flat_map(|task| task.split(part_bytes))
        .collect()
}

/// A number that other lists of tasks do not have.
fn fingerprint(relation: &ForeignRelation, tasks: &[FileScanTask]) -> u64 {
    let mut hasher = DefaultHasher::new();
    relation
        .snapshot()
        .map(|snapshot| snapshot.snapshot_id)
        .hash(&mut hasher);
    relation.schema().schema_id().hash(&mut hasher);
    for task in tasks {
        task.path.hash(&mut hasher);
        task.part.hash(&mut hasher);
    }
    hasher.finish()
}

/// About how large a part of a file should be, in bytes: many parts for each participant, but none smaller than what is worth
/// a worker.
fn part_bytes(plan: &ScanPlan, participants: u64) -> u64 {
    const PARTS_EACH: u64 = 8;
    // SAFETY: reads a backend variable.
    let least = unsafe { pg_sys::min_parallel_table_scan_size };
    let least = u64::try_from(least).unwrap_or(0) * u64::from(pg_sys::BLCKSZ);
    (plan.total_bytes / (participants * PARTS_EACH))
        .max(least)
        .max(1)
}

/// Whether this process is a parallel worker.
pub fn is_worker() -> bool {
    // SAFETY: reads a backend variable.
    unsafe { pg_sys::ParallelWorkerNumber >= 0 }
}

/// How many workers would share a scan that handles so many bytes of a table; 0 for none.
///
/// # Safety
/// `relation` is the planner's.
pub unsafe fn workers(relation: *mut RelOptInfo, bytes: f64, plan: &ScanPlan) -> i32 {
    // SAFETY: by the contract; reads a backend variable.
    let workers = unsafe {
        pg_sys::compute_parallel_worker(
            relation,
            (bytes / f64::from(pg_sys::BLCKSZ)).ceil(),
            -1.0,
            pg_sys::max_parallel_workers_per_gather,
        )
    };
    let Some(wanted) = usize::try_from(workers).ok().filter(|workers| *workers > 0) else {
        return 0;
    };
    // More of them than parts would have nothing to do.
    let part_bytes = part_bytes(plan, wanted as u64 + 1);
    let mut parts = 0;
    for task in &plan.tasks {
        parts += task.parts(part_bytes);
        if parts >= wanted {
            return workers;
        }
    }
    i32::try_from(parts).unwrap_or(workers)
}

/// `IsForeignScanParallelSafe`: every participant reads the state that the leader fixes.
#[pg_guard]
pub extern "C-unwind" fn is_foreign_scan_parallel_safe(
    _root: *mut PlannerInfo,
    _relation: *mut RelOptInfo,
    _entry: *mut RangeTblEntry,
) -> bool {
    true
}

/// `EstimateDSMForeignScan`: room for what participants share.
///
/// # Safety
/// Called by the executor only, after `begin_foreign_scan`.
#[pg_guard]
pub unsafe extern "C-unwind" fn estimate_dsm_foreign_scan(
    node: *mut ForeignScanState,
    _context: *mut ParallelContext,
) -> Size {
    // SAFETY: the executor hands over the node that begin_foreign_scan prepared.
    unsafe {
        let state = &*(*node).fdw_state.cast::<ScanState>();
        shared_scan::size(&state.metadata_file())
    }
}

/// `InitializeDSMForeignScan`: fixes the state of the table.
///
/// # Safety
/// Called by the executor only, after [`estimate_dsm_foreign_scan`].
#[pg_guard]
pub unsafe extern "C-unwind" fn initialize_dsm_foreign_scan(
    node: *mut ForeignScanState,
    context: *mut ParallelContext,
    coordinate: *mut std::ffi::c_void,
) {
    // SAFETY: the executor hands over the node that begin_foreign_scan prepared, and as much memory as was asked for.
    unsafe {
        let state = &mut *(*node).fdw_state.cast::<ScanState>();
        // Without dynamic shared memory there will be no workers; there may have been some before.
        state.parallel = None;
        let (Some(memory), false) = (
            NonNull::new(coordinate.cast::<u8>()),
            (*context).seg.is_null(),
        ) else {
            return;
        };
        let metadata_file = state.metadata_file();
        let shared = Shared::create(
            memory,
            (*context).seg,
            &metadata_file,
            Arc::clone(&state.metrics),
        );
        state.parallel = Some(Participation::new(shared, state.mode, false));
        agree(node, state, (*context).nworkers);
    }
}

/// `ReInitializeDSMForeignScan`: for a scan from the first row again, of another state if that was selected.
///
/// # Safety
/// Called by the executor only, after [`initialize_dsm_foreign_scan`].
#[pg_guard]
pub unsafe extern "C-unwind" fn reinitialize_dsm_foreign_scan(
    node: *mut ForeignScanState,
    context: *mut ParallelContext,
    _coordinate: *mut std::ffi::c_void,
) {
    // SAFETY: as for initialize_dsm_foreign_scan.
    unsafe {
        let state = &mut *(*node).fdw_state.cast::<ScanState>();
        agree(node, state, (*context).nworkers);
    }
}

/// Says what the participants are to read.
///
/// # Safety
/// `state` is that of `node`, in the leader, and no worker has begun.
unsafe fn agree(node: *mut ForeignScanState, state: &mut ScanState, workers: i32) {
    let participants = u64::try_from(workers).unwrap_or(0) + 1;
    let mut agreement = Agreement {
        participants,
        part_bytes: 0,
        tasks: 0,
        fingerprint: 0,
    };
    if state.mode == Mode::Share {
        // SAFETY: by the contract.
        let opened = unsafe { state.open_again(node) };
        let part_bytes = part_bytes(&opened.plan, participants);
        let tasks = parts(&opened.plan, part_bytes);
        agreement.part_bytes = part_bytes;
        agreement.tasks = tasks.len() as u64;
        agreement.fingerprint = fingerprint(&opened.relation, &tasks);
    }
    if let Some(parallel) = &state.parallel {
        parallel.shared.agree(agreement);
    }
}

/// `InitializeWorkerForeignScan`: takes the state of the table from the leader.
///
/// # Safety
/// Called by the executor only, in a worker, after `begin_foreign_scan`.
#[pg_guard]
pub unsafe extern "C-unwind" fn initialize_worker_foreign_scan(
    node: *mut ForeignScanState,
    _toc: *mut pg_sys::shm_toc,
    coordinate: *mut std::ffi::c_void,
) {
    // SAFETY: the executor hands over the node that begin_foreign_scan prepared, and what the leader filled in.
    unsafe {
        let state = &mut *(*node).fdw_state.cast::<ScanState>();
        let Some(memory) = NonNull::new(coordinate.cast::<u8>()) else {
            return;
        };
        let (shared, metadata_file) = Shared::attach(memory);
        state.follow(metadata_file);
        state.parallel = Some(Participation::new(shared, state.mode, true));
    }
}

/// `ShutdownForeignScan`: a worker says what it has done, while the leader can still hear it.
///
/// # Safety
/// Called by the executor only.
#[pg_guard]
pub unsafe extern "C-unwind" fn shutdown_foreign_scan(node: *mut ForeignScanState) {
    // SAFETY: the executor hands over a valid node; its state is null if begin did not finish.
    unsafe {
        if let Some(state) = (*node).fdw_state.cast::<ScanState>().as_mut()
            && let Some(parallel) = &mut state.parallel
        {
            parallel.count(&state.metrics);
        }
    }
}
