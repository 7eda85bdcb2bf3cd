//! Executing a scan: starts the reader at the first row asked for, and fills Postgres' slot from the
//! batches of datums that its threads make.

use std::sync::Arc;

use arrow::array::RecordBatch;
use iceberg_core::plan::ScanPlan;
use iceberg_core::read::{BatchReceiver, ReadMetrics, ReadRequest, RecvOutcome, read};
use pgrx::pg_sys::{self, Datum, ForeignScanState};
use pgrx::{PgMemoryContexts, pg_guard};

use super::relation::{ForeignRelation, effective_role};
use crate::error::OrRaise;
use crate::session::{runtime, settings, wait::INTERRUPT_PERIOD};
use crate::types::batch::{ColumnPlan, DatumBatch};
use crate::types::finish::Finish;

/// What a scan keeps between its callbacks; dropped with the query's memory, so also after an error.
pub struct ScanState {
    /// The table as it was when the scan began.
    pub relation: ForeignRelation,
    /// The files to read.
    pub plan: Arc<ScanPlan>,
    /// What the reader has done, over all rescans.
    pub metrics: Arc<ReadMetrics>,
    columns: Vec<OutputColumn>,
    fills_all_columns: bool,
    /// Whether no column needs a finishing step: then a row is only copied.
    all_ready: bool,
    receiver: Option<BatchReceiver<DatumBatch>>,
    batch: Option<DatumBatch>,
    next_row: usize,
}

/// Where a column of a batch goes.
struct OutputColumn {
    /// Index in the slot.
    slot_index: usize,
    finish: Finish,
}

/// `BeginForeignScan`: loads the metadata as it is now. No data file is opened before a row is wanted.
///
/// # Safety
/// Called by the executor only.
#[pg_guard]
pub unsafe extern "C-unwind" fn begin_foreign_scan(node: *mut ForeignScanState, _flags: i32) {
    // SAFETY: the executor hands over a valid node; the state lives in its query's context.
    unsafe {
        let estate = (*node).ss.ps.state;
        let scan: *mut pg_sys::ForeignScan = (*node).ss.ps.plan.cast();
        let relation_oid = (*(*node).ss.ss_currentRelation).rd_id;
        let attributes: Vec<i16> = pgrx::PgList::<i32>::from_pg((*scan).fdw_private)
            .iter_int()
            .map(|number| number as i16)
            .collect();
        let role = effective_role(executed_role(scan, estate));
        let relation = ForeignRelation::open(relation_oid, role, &attributes);
        let plan = relation.plan_files();
        let context = (*estate).es_query_cxt;
        let columns: Vec<OutputColumn> = relation
            .columns()
            .iter()
            .map(|column| OutputColumn {
                slot_index: column.attribute_number as usize - 1,
                finish: Finish::choose(&column.plan.conversion, context),
            })
            .collect();
        let descriptor = (*(*node).ss.ss_ScanTupleSlot).tts_tupleDescriptor;
        let state = ScanState {
            fills_all_columns: columns.len() == (*descriptor).natts as usize,
            all_ready: columns.iter().all(|column| column.finish.is_ready()),
            metrics: Arc::default(),
            relation,
            plan,
            columns,
            receiver: None,
            batch: None,
            next_row: 0,
        };
        (*node).fdw_state = PgMemoryContexts::For(context)
            .leak_and_drop_on_delete(state)
            .cast();
    }
}

/// `IterateForeignScan`: the next row in the node's slot, or the slot empty at the end.
///
/// # Safety
/// Called by the executor only, after [`begin_foreign_scan`].
#[pg_guard]
pub unsafe extern "C-unwind" fn iterate_foreign_scan(
    node: *mut ForeignScanState,
) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: the executor hands over the node that begin_foreign_scan prepared.
    unsafe {
        let state = &mut *(*node).fdw_state.cast::<ScanState>();
        let slot = (*node).ss.ss_ScanTupleSlot;
        clear_slot(slot);
        if state.advance() {
            state.store_row(slot);
        }
        slot
    }
}

/// `ReScanForeignScan`: from the first row again.
///
/// # Safety
/// Called by the executor only, after [`begin_foreign_scan`].
#[pg_guard]
pub unsafe extern "C-unwind" fn rescan_foreign_scan(node: *mut ForeignScanState) {
    // SAFETY: the executor hands over the node that begin_foreign_scan prepared.
    unsafe { (*(*node).fdw_state.cast::<ScanState>()).stop() }
}

/// `EndForeignScan`: stops the reader; the rest goes with the query's memory.
///
/// # Safety
/// Called by the executor only.
#[pg_guard]
pub unsafe extern "C-unwind" fn end_foreign_scan(node: *mut ForeignScanState) {
    // SAFETY: the executor hands over a valid node; its state is null if begin did not finish.
    unsafe {
        if let Some(state) = (*node).fdw_state.cast::<ScanState>().as_mut() {
            state.stop();
        }
    }
}

impl ScanState {
    /// Makes `next_row` the index of an unread row of `batch`; false at the end of the table.
    fn advance(&mut self) -> bool {
        loop {
            if self
                .batch
                .as_ref()
                .is_some_and(|batch| self.next_row < batch.rows)
            {
                return true;
            }
            if self.receiver.is_none() {
                self.receiver = Some(self.start());
            }
            // Dropped before the next one is taken, so that its memory is free for it.
            self.batch = None;
            match self.receive() {
                Some(batch) => {
                    self.batch = Some(batch);
                    self.next_row = 0;
                }
                None => return false,
            }
        }
    }

    /// Waits for a batch, serving interrupts.
    fn receive(&mut self) -> Option<DatumBatch> {
        let receiver = self.receiver.as_mut()?;
        loop {
            match receiver.recv_timeout(INTERRUPT_PERIOD) {
                RecvOutcome::Item(batch) => return Some(batch.or_raise()),
                RecvOutcome::Done => return None,
                RecvOutcome::Timeout => {
                    pgrx::check_for_interrupts!();
                }
            }
        }
    }

    /// Starts reading on the worker threads.
    fn start(&self) -> BatchReceiver<DatumBatch> {
        let runtime = runtime::handle().or_raise();
        let _inside = runtime.enter();
        let columns: Vec<ColumnPlan> = self
            .relation
            .columns()
            .iter()
            .map(|column| column.plan.clone())
            .collect();
        let request = ReadRequest {
            schema: Arc::clone(self.relation.schema()),
            columns: self
                .relation
                .columns()
                .iter()
                .map(|column| column.source)
                .collect(),
            tasks: self.plan.tasks.clone(),
            files: Arc::clone(self.relation.files()),
            threads: settings::scan_threads(),
            memory: settings::scan_memory(),
            metrics: Arc::clone(&self.metrics),
        };
        read(
            request,
            Arc::new(move |batch: RecordBatch| DatumBatch::convert(&batch, &columns)),
        )
    }

    /// Ends the readers and forgets what they have read; the next row is the first.
    fn stop(&mut self) {
        self.receiver = None;
        self.batch = None;
        self.next_row = 0;
    }

    /// Puts the row at `next_row` into the slot and moves on.
    ///
    /// # Safety
    /// `slot` is the node's, empty; `advance` has just given true.
    unsafe fn store_row(&mut self, slot: *mut pg_sys::TupleTableSlot) {
        let Some(batch) = &self.batch else { return };
        let row = self.next_row;
        self.next_row += 1;
        // SAFETY: the slot's arrays have an entry for each column of the table, and every
        // `slot_index` is one of them; datums point into `batch`, which outlives the slot's content:
        // it is dropped at the next call or later.
        unsafe {
            let values = (*slot).tts_values;
            let nulls = (*slot).tts_isnull;
            if !self.fills_all_columns {
                let natts = (*(*slot).tts_tupleDescriptor).natts as usize;
                std::slice::from_raw_parts_mut(nulls, natts).fill(true);
            }
            if self.all_ready {
                for (column, output) in batch.columns.iter().zip(&self.columns) {
                    *nulls.add(output.slot_index) =
                        column.nulls.as_ref().is_some_and(|nulls| nulls[row]);
                    *values.add(output.slot_index) = Datum::from(column.values[row]);
                }
                pg_sys::ExecStoreVirtualTuple(slot);
                return;
            }
            for (column, output) in batch.columns.iter().zip(&mut self.columns) {
                let value = output.finish.apply(column, row);
                *nulls.add(output.slot_index) = value.is_none();
                *values.add(output.slot_index) = value.unwrap_or(Datum::null());
            }
            pg_sys::ExecStoreVirtualTuple(slot);
        }
    }
}

/// `ExecClearTuple`, which is a macro in C.
///
/// # Safety
/// `slot` is a valid slot.
unsafe fn clear_slot(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: every slot has operations with a `clear`.
    unsafe {
        if let Some(clear) = (*(*slot).tts_ops).clear {
            clear(slot);
        }
    }
}

/// The role that a foreign table is read for while it is executed; invalid for the current one.
///
/// # Safety
/// `scan` is a node of the query that `estate` executes.
unsafe fn executed_role(
    scan: *mut pg_sys::ForeignScan,
    estate: *mut pg_sys::EState,
) -> pg_sys::Oid {
    // SAFETY: by the contract.
    unsafe {
        #[cfg(any(feature = "pg14", feature = "pg15"))]
        {
            let tables = pgrx::PgList::<pg_sys::RangeTblEntry>::from_pg((*estate).es_range_table);
            tables
                .get_ptr((*scan).scan.scanrelid as usize - 1)
                .map_or(pg_sys::Oid::INVALID, |entry| (*entry).checkAsUser)
        }
        #[cfg(not(any(feature = "pg14", feature = "pg15")))]
        {
            let _ = estate;
            (*scan).checkAsUser
        }
    }
}
