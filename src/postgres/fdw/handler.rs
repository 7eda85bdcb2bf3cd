//! The handler function: the table of callbacks that Postgres asks for.

use pgrx::prelude::*;
use pgrx::{AllocatedByRust, pg_sys};

use super::{analyze, explain, import, parallel, paths, plan, scan};

#[pg_extern]
fn iceberg_fdw_handler() -> PgBox<pg_sys::FdwRoutine> {
    // SAFETY: allocates a node of that tag in the current memory context.
    let mut routine = unsafe {
        PgBox::<pg_sys::FdwRoutine, AllocatedByRust>::alloc_node(pg_sys::NodeTag::T_FdwRoutine)
    };
    routine.GetForeignRelSize = Some(plan::get_foreign_rel_size);
    routine.GetForeignPaths = Some(paths::get_foreign_paths);
    routine.GetForeignPlan = Some(plan::get_foreign_plan);
    routine.BeginForeignScan = Some(scan::begin_foreign_scan);
    routine.IterateForeignScan = Some(scan::iterate_foreign_scan);
    routine.ReScanForeignScan = Some(scan::rescan_foreign_scan);
    routine.EndForeignScan = Some(scan::end_foreign_scan);
    routine.ExplainForeignScan = Some(explain::explain_foreign_scan);
    routine.IsForeignScanParallelSafe = Some(parallel::is_foreign_scan_parallel_safe);
    routine.EstimateDSMForeignScan = Some(parallel::estimate_dsm_foreign_scan);
    routine.InitializeDSMForeignScan = Some(parallel::initialize_dsm_foreign_scan);
    routine.ReInitializeDSMForeignScan = Some(parallel::reinitialize_dsm_foreign_scan);
    routine.InitializeWorkerForeignScan = Some(parallel::initialize_worker_foreign_scan);
    routine.ShutdownForeignScan = Some(parallel::shutdown_foreign_scan);
    routine.AnalyzeForeignTable = Some(analyze::analyze_foreign_table);
    routine.ImportForeignSchema = Some(import::import_foreign_schema);
    routine.into_pg_boxed()
}

extension_sql!(
    r"
CREATE FOREIGN DATA WRAPPER iceberg_fdw
    HANDLER iceberg_fdw_handler
    VALIDATOR iceberg_fdw_validator;
COMMENT ON FOREIGN DATA WRAPPER iceberg_fdw IS 'Apache Iceberg tables';
",
    name = "create_foreign_data_wrapper",
    requires = [iceberg_fdw_handler, iceberg_fdw_validator],
);
