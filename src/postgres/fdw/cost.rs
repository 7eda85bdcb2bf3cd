//! What a scan costs, in the planner's units: the metadata, the bytes of the needed columns, a request or more for
//! each file, and the work on each row. Postgres: "Planner Cost Constants".

use iceberg_core::plan::ScanPlan;
use iceberg_core::read::OutputColumn;
use pgrx::pg_sys::{self, Cost, RelOptInfo};

use super::plan::PlanState;
use super::relation::ForeignRelation;

/// A table's metadata file and manifest list, in random pages.
const METADATA_PAGES: f64 = 4.0;
/// A manifest, in random pages: fewer than one, because several are read at a time.
const MANIFEST_PAGES: f64 = 0.25;
/// What is done for a file when a scan is planned, in operators.
const FILE_OPERATORS: f64 = 4.0;
/// What opening a data file takes, in random pages: its footer, and then its columns.
const FILE_PAGES: f64 = 2.0;
/// A delete file, in random pages.
const DELETE_FILE_PAGES: f64 = 2.0;

/// The costs of a scan.
#[derive(Debug, Clone, Copy)]
pub struct ScanCost {
    /// Before the first row.
    pub startup: Cost,
    /// What participants do not do faster together than one alone.
    pub fetch: Cost,
    /// The work on rows, which participants share.
    pub rows: Cost,
}

impl ScanCost {
    /// Of a scan of the files of a plan.
    ///
    /// # Safety
    /// `relation` is the planner's.
    pub unsafe fn of(relation: *mut RelOptInfo, state: &PlanState) -> Self {
        let files = &state.files;
        // SAFETY: by the contract; the others are backend variables.
        let (quals, target, page, random_page, tuple, operator) = unsafe {
            (
                (*relation).baserestrictcost,
                (*(*relation).reltarget).cost,
                pg_sys::seq_page_cost,
                pg_sys::random_page_cost,
                pg_sys::cpu_tuple_cost,
                pg_sys::cpu_operator_cost,
            )
        };
        let manifests = files
            .manifests_total
            .saturating_sub(files.manifests_skipped) as f64;
        let data_files = files.tasks.len() as f64;
        let columns = state.relation.columns().len() as f64;
        let stored_rows = files.records.map_or(state.rows, |records| records as f64);
        Self {
            startup: (METADATA_PAGES + manifests * MANIFEST_PAGES) * random_page
                + files.data_files_total as f64 * FILE_OPERATORS * operator
                + quals.startup
                + target.startup,
            fetch: needed_bytes(&state.relation, files) / f64::from(pg_sys::BLCKSZ) * page
                + data_files * FILE_PAGES * random_page
                + files.delete_files_total as f64 * DELETE_FILE_PAGES * random_page,
            rows: stored_rows * columns * operator
                + files.deleted_positions as f64 * operator
                + state.rows * (tuple + quals.per_tuple),
        }
    }

    /// The cost of a scan that reads this share of the files, to give out so many rows.
    ///
    /// # Safety
    /// `relation` is the planner's.
    pub unsafe fn of_share(&self, relation: *mut RelOptInfo, share: f64, rows: f64) -> Cost {
        let part = Self {
            startup: self.startup,
            fetch: self.fetch * share,
            rows: self.rows * share,
        };
        // SAFETY: by the contract.
        unsafe { part.total(relation, 1.0, rows) }
    }

    /// The cost of a whole scan by so many participants, to give out so many rows.
    ///
    /// # Safety
    /// `relation` is the planner's.
    pub unsafe fn total(&self, relation: *mut RelOptInfo, participants: f64, rows: f64) -> Cost {
        // SAFETY: by the contract.
        let target = unsafe { (*(*relation).reltarget).cost.per_tuple };
        self.startup + self.fetch + self.rows / participants + rows * target
    }
}

/// About how many bytes the needed columns have in the files.
pub fn needed_bytes(relation: &ForeignRelation, files: &ScanPlan) -> f64 {
    let records = files.records.unwrap_or(0) as f64;
    let fields = relation.schema().fields().fields().len().max(1) as f64;
    // A column of unknown size has its share of the whole.
    let share = files.total_bytes as f64 / fields;
    let needed = relation.columns().iter().map(|column| match column.source {
        OutputColumn::Field(field_id) => files
            .column_sizes
            .stored_width(field_id)
            .map_or(share, |width| width * records),
        OutputColumn::Metadata(_) => 0.0,
    });
    needed.sum::<f64>().min(files.total_bytes as f64)
}

/// How many processes' work `workers` and their leader do, as the planner reckons everywhere.
pub fn parallel_divisor(workers: i32) -> f64 {
    /// What each worker takes of the leader's time.
    const LEADER_SHARE: f64 = 0.3;
    let workers = f64::from(workers);
    // SAFETY: reads a backend variable.
    let leader = match unsafe { pg_sys::parallel_leader_participation } {
        true => (1.0 - LEADER_SHARE * workers).max(0.0),
        false => 0.0,
    };
    workers + leader
}
