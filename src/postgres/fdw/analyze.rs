//! ANALYZE: rows of row groups drawn from all files, and how many rows there are. Reads a bounded part of a large table.
//! Postgres: "FDW Routines for ANALYZE".

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::RecordBatch;
use iceberg_core::plan::Sample;
use iceberg_core::read::{self, BatchReceiver, ReadMetrics, ReadRequest};
use iceberg_core::spec::ScanFilter;
use pgrx::pg_sys::{self, BlockNumber, Datum, HeapTuple, Relation};
use pgrx::{PgLogLevel, PgMemoryContexts, PgRelation, PgSqlErrorCode, ereport, pg_guard};

use super::relation::{ForeignRelation, effective_role};
use crate::error::OrRaise;
use crate::session::{runtime, settings, tables::Scope, wait};
use crate::types::batch::{ColumnPlan, DatumBatch};
use crate::types::finish::Finish;

/// `AnalyzeForeignTable`: says who draws rows, and how large the table is.
///
/// # Safety
/// Called by ANALYZE only.
#[pg_guard]
pub unsafe extern "C-unwind" fn analyze_foreign_table(
    relation: Relation,
    function: *mut pg_sys::AcquireSampleRowsFunc,
    total_pages: *mut BlockNumber,
) -> bool {
    // SAFETY: ANALYZE hands over a relation that it has locked, and room for the answers.
    unsafe {
        let plan = open(relation, &[]).plan_files(&ScanFilter::ALL);
        let pages = plan.total_bytes.div_ceil(u64::from(pg_sys::BLCKSZ));
        *total_pages = BlockNumber::try_from(pages).unwrap_or(BlockNumber::MAX - 1);
        *function = Some(acquire_sample_rows);
    }
    true
}

/// Draws up to `wanted` rows, each as likely as any other, and estimates how many there are.
///
/// # Safety
/// Called by ANALYZE only, after [`analyze_foreign_table`]; `rows` has room for `wanted` tuples.
#[pg_guard]
unsafe extern "C-unwind" fn acquire_sample_rows(
    relation: Relation,
    level: i32,
    rows: *mut HeapTuple,
    wanted: i32,
    total_rows: *mut f64,
    total_dead_rows: *mut f64,
) -> i32 {
    // SAFETY: by the contract.
    unsafe {
        let attribute_numbers = attribute_numbers(relation);
        let opened = open(relation, &attribute_numbers);
        let plan = opened.plan_files(&ScanFilter::ALL);
        let wanted = usize::try_from(wanted).unwrap_or(0);
        let sample = Sample::draw(&plan, wanted as u64, random_below);
        let metrics = Arc::<ReadMetrics>::default();
        let mut receiver = start(&opened, &sample, &metrics);
        let mut reservoir = Reservoir::new(relation, &opened);
        while let Some(batch) = wait::next_item(&mut receiver) {
            // No executor looks for interrupts between rows here.
            pgrx::check_for_interrupts!();
            reservoir.add(&batch, std::slice::from_raw_parts_mut(rows, wanted));
        }
        let deleted = metrics.rows_deleted.load(Ordering::Relaxed);
        (*total_rows, *total_dead_rows) = sample.totals(&plan, reservoir.seen, deleted);
        let kept = reservoir.seen.min(wanted as u64);
        if level >= PgLogLevel::INFO as i32 {
            let relation = PgRelation::from_pg(relation);
            ereport!(
                PgLogLevel::INFO,
                PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
                format!(
                    "\"{}\": read {} of {} parts of {} data files, with {} rows; {kept} rows in sample, {:.0} estimated total rows",
                    relation.name(),
                    sample.tasks.len(),
                    sample.parts,
                    plan.tasks.len(),
                    reservoir.seen,
                    *total_rows
                )
            );
        }
        i32::try_from(kept).unwrap_or(i32::MAX)
    }
}

/// Opens the table for the role that analyses it.
///
/// # Safety
/// `relation` is open and locked.
unsafe fn open(relation: Relation, attribute_numbers: &[i16]) -> ForeignRelation {
    let role = effective_role(pg_sys::Oid::INVALID);
    // SAFETY: by the contract.
    let relation = unsafe { (*relation).rd_id };
    ForeignRelation::open(relation, role, attribute_numbers, None, Scope::Now)
}

/// # Safety
/// `relation` is open.
unsafe fn attribute_numbers(relation: Relation) -> Vec<i16> {
    // SAFETY: by the contract.
    let relation = unsafe { PgRelation::from_pg(relation) };
    let descriptor = relation.tuple_desc();
    let attributes = descriptor
        .iter()
        .filter(|attribute| !attribute.attisdropped);
    attributes.map(|attribute| attribute.attnum).collect()
}

/// Starts reading a sample on the worker threads.
fn start(
    opened: &ForeignRelation,
    sample: &Sample,
    metrics: &Arc<ReadMetrics>,
) -> BatchReceiver<DatumBatch> {
    let runtime = runtime::handle().or_raise();
    let _inside = runtime.enter();
    let columns: Vec<ColumnPlan> = opened
        .columns()
        .iter()
        .map(|column| column.plan.clone())
        .collect();
    let request = ReadRequest {
        schema: Arc::clone(opened.schema()),
        columns: opened
            .columns()
            .iter()
            .map(|column| column.source)
            .collect(),
        tasks: sample.tasks.clone(),
        queue: None,
        kept: Arc::default(),
        files: Arc::clone(opened.files()),
        levels: settings::pruning_levels(),
        threads: settings::scan_threads(),
        memory: settings::scan_memory(),
        metrics: Arc::clone(metrics),
    };
    read::read(
        request,
        Arc::new(move |batch: RecordBatch| DatumBatch::convert(&batch, &columns)),
    )
}

/// A random number below another one.
fn random_below(limit: usize) -> usize {
    // SAFETY: Postgres' own generator for samples, without arguments.
    let fraction = unsafe { pg_sys::anl_random_fract() };
    ((fraction * limit as f64) as usize).min(limit.saturating_sub(1))
}

/// Keeps as many rows as there is room for, each of those seen as likely as any other.
struct Reservoir {
    /// Rows seen so far.
    seen: u64,
    descriptor: pg_sys::TupleDesc,
    /// For each column of a batch its index in a row, and what finishes its values.
    columns: Vec<(usize, Finish)>,
    values: Vec<Datum>,
    nulls: Vec<bool>,
    /// Where the values of one row are made.
    row_memory: PgMemoryContexts,
}

impl Reservoir {
    /// # Safety
    /// `relation` is open, and so longer than this lives; `opened` is of it.
    unsafe fn new(relation: Relation, opened: &ForeignRelation) -> Self {
        // SAFETY: by the contract.
        let (descriptor, width, memory) = unsafe {
            let descriptor = (*relation).rd_att;
            (
                descriptor,
                (*descriptor).natts as usize,
                pg_sys::CurrentMemoryContext,
            )
        };
        let columns = opened.columns().iter().map(|column| {
            let finish = Finish::choose(&column.plan.conversion, memory);
            (column.attribute_number as usize - 1, finish)
        });
        Self {
            seen: 0,
            descriptor,
            columns: columns.collect(),
            values: vec![Datum::null(); width],
            nulls: vec![true; width],
            row_memory: PgMemoryContexts::new("iceberg_fdw sample row"),
        }
    }

    /// Adds the rows of a batch.
    ///
    /// # Safety
    /// The first tuples of `rows`, as many as were seen, are this one's, in the current memory context.
    unsafe fn add(&mut self, batch: &DatumBatch, rows: &mut [HeapTuple]) {
        for row in 0..batch.rows {
            let seen = usize::try_from(self.seen).unwrap_or(usize::MAX);
            self.seen += 1;
            let place = match seen < rows.len() {
                true => seen,
                false => random_below(seen.saturating_add(1)),
            };
            let Some(kept) = rows.get_mut(place) else {
                continue;
            };
            // SAFETY: by the contract; the arrays have an entry for each attribute.
            unsafe {
                if seen > place {
                    pg_sys::heap_freetuple(*kept);
                }
                let (columns, values, nulls) =
                    (&mut self.columns, &mut self.values, &mut self.nulls);
                self.row_memory.switch_to(|_| {
                    for (column, (index, finish)) in batch.columns.iter().zip(columns) {
                        let value = finish.apply(column, row);
                        nulls[*index] = value.is_none();
                        values[*index] = value.unwrap_or(Datum::null());
                    }
                });
                *kept = pg_sys::heap_form_tuple(
                    self.descriptor,
                    values.as_mut_ptr(),
                    nulls.as_mut_ptr(),
                );
                self.row_memory.reset();
            }
        }
    }
}
