//! Executing a scan: starts the reader at the first row asked for, and fills Postgres' slot from the
//! batches of datums that its threads make.

use std::sync::Arc;

use arrow::array::RecordBatch;
use iceberg_core::plan::ScanPlan;
use iceberg_core::read::{
    self, BatchReceiver, KeptDeletes, ReadMetrics, ReadRequest, find_rewritten_rows,
};
use iceberg_core::spec::ScanFilter;
use pgrx::pg_sys::{self, Datum, ForeignScanState};
use pgrx::{PgMemoryContexts, pg_guard};

use super::parallel::{self, Mode, Participation};
use super::relation::{ForeignRelation, effective_role, table_of};
use super::scan_node::ScanNode;
use super::selection::Selection;
use super::selector_qual::Chooser;
use crate::error::OrRaise;
use crate::quals::{Bound, Executed};
use crate::session::{runtime, settings, tables::Scope, wait};
use crate::types::batch::{ColumnPlan, DatumBatch};
use crate::types::finish::Finish;

/// What a scan keeps between its callbacks; dropped with the query's memory, so also after an error.
pub struct ScanState {
    /// What is read; `None` before its selector can be evaluated.
    pub opened: Option<OpenedScan>,
    /// The qual that selects the table's state.
    pub chooser: Option<Chooser>,
    /// What the reader has done, over all rescans.
    pub metrics: Arc<ReadMetrics>,
    /// How it takes part in parallel queries.
    pub mode: Mode,
    /// Its part in a parallel query, once that has begun.
    pub parallel: Option<Participation>,
    target: Target,
    /// The quals that are pushed.
    quals: Bound,
    /// Whether these can be others, or are not known, before the next row is wanted.
    quals_wait: bool,
    receiver: Option<BatchReceiver<DatumBatch>>,
    batch: Option<DatumBatch>,
    next_row: usize,
}

/// What a scan is of, before a state of the table is chosen.
struct Target {
    relation: pg_sys::Oid,
    role: pg_sys::Oid,
    /// Its place in the query's range table.
    varno: pg_sys::Index,
    /// The columns that rows are made of, and those that are only tested.
    attribute_numbers: Vec<i16>,
    /// The columns that rows are made of.
    output: Vec<i16>,
    /// The query that the scan is part of.
    query: *mut pg_sys::EState,
    /// How many columns a row has.
    width: usize,
    /// Where what lives as long as the query is allocated.
    context: pg_sys::MemoryContext,
}

/// A state of a table that is being read.
pub struct OpenedScan {
    /// The table as it was when the scan began.
    pub relation: ForeignRelation,
    /// The files to read.
    pub plan: Arc<ScanPlan>,
    /// Which rows are wanted of them.
    pub filter: ScanFilter,
    /// What is left of its deletes for when the scan begins again.
    kept: Arc<KeptDeletes>,
    columns: Vec<OutputColumn>,
    fills_all_columns: bool,
    /// Whether no column needs a finishing step: then a row is only copied.
    all_ready: bool,
}

/// A column of a batch, and where it goes.
struct OutputColumn {
    /// What it is in the Iceberg table.
    source: read::OutputColumn,
    /// How its values are converted.
    plan: ColumnPlan,
    /// Index in the slot.
    slot_index: usize,
    finish: Finish,
}

/// `BeginForeignScan`: loads the metadata as it is now, unless what selects the state is not known yet. No
/// data file is opened before a row is wanted.
///
/// # Safety
/// Called by the executor only.
#[pg_guard]
pub unsafe extern "C-unwind" fn begin_foreign_scan(node: *mut ForeignScanState, flags: i32) {
    // SAFETY: the executor hands over a valid node; the state lives in its query's context.
    unsafe {
        let estate = (*node).ss.ps.state;
        let scan: *mut pg_sys::ForeignScan = (*node).ss.ps.plan.cast();
        let carried = ScanNode::of(scan);
        let chooser = carried
            .selector
            .as_ref()
            .map(|(kind, values)| Chooser::begin(node, *kind, values, flags));
        let only_explained = flags & pg_sys::EXEC_FLAG_EXPLAIN_ONLY as i32 != 0;
        // Parameters of the executor itself have no value yet when a scan begins.
        let has_parameters = !(*scan).scan.plan.allParam.is_null();
        let generic = is_generic(flags);
        let quals = Bound {
            constants: Executed::new(node, only_explained && (has_parameters || generic)),
            exact: carried.exact.clone(),
            inexact: carried.inexact.clone(),
        };
        let context = (*estate).es_query_cxt;
        let descriptor = (*(*node).ss.ss_ScanTupleSlot).tts_tupleDescriptor;
        let mut state = ScanState {
            opened: None,
            chooser,
            metrics: Arc::default(),
            mode: carried.mode,
            parallel: None,
            target: Target {
                relation: (*(*node).ss.ss_currentRelation).rd_id,
                role: effective_role(executed_role(scan, estate)),
                varno: (*scan).scan.scanrelid,
                attribute_numbers: carried.attribute_numbers(),
                output: carried.output,
                query: estate,
                width: (*descriptor).natts as usize,
                context,
            },
            quals_wait: has_parameters && !only_explained && !quals.is_empty(),
            quals,
            receiver: None,
            batch: None,
            next_row: 0,
        };
        // A worker will be told which state to read.
        let is_told = parallel::is_worker() && state.mode != Mode::Alone;
        if !is_told && !state.waits() {
            state.choose(node);
        }
        (*node).fdw_state = PgMemoryContexts::For(context)
            .leak_and_drop_on_delete(state)
            .cast();
    }
}

/// Whether a plan is only shown, without values for the parameters of its statement.
fn is_generic(flags: i32) -> bool {
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    {
        let _ = flags;
        false
    }
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    {
        flags & pg_sys::EXEC_FLAG_EXPLAIN_GENERIC as i32 != 0
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
        if state.receiver.is_none() && state.batch.is_none() {
            state.choose_again(node);
        }
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
        parallel::shutdown_foreign_scan(node);
    }
}

impl ScanState {
    /// The state of the table that is selected now, opened.
    ///
    /// # Safety
    /// `node` is the one that this state is of.
    pub unsafe fn open_again(&mut self, node: *mut ForeignScanState) -> &OpenedScan {
        // SAFETY: by the contract.
        unsafe { self.choose_again(node) };
        let Some(opened) = &self.opened else {
            unreachable!("a state that is chosen is open")
        };
        opened
    }

    /// The table's metadata file, as all of the query sees it.
    pub fn metadata_file(&self) -> String {
        let target = &self.target;
        let scope = Scope::Query(target.query);
        table_of(target.relation, target.role, scope, None)
            .metadata_file()
            .to_string()
    }

    /// Makes this metadata file the one that the query sees.
    pub fn follow(&self, metadata_file: String) {
        let target = &self.target;
        let scope = Scope::Query(target.query);
        table_of(target.relation, target.role, scope, Some(metadata_file));
    }

    /// Opens the state of the table that is selected now, unless it is open already.
    ///
    /// # Safety
    /// `node` is the one that this state is of.
    unsafe fn choose(&mut self, node: *mut ForeignScanState) {
        // SAFETY: by the contract.
        let selection = self.chooser.map(|chooser| unsafe { chooser.choose(node) });
        let is_open = self.opened.as_ref().is_some_and(|opened| {
            selection
                .as_ref()
                .is_none_or(|selection| selection == opened.relation.selection())
        });
        if let Some(opened) = self.opened.as_mut().filter(|_| is_open) {
            // SAFETY: by the contract.
            let filter = unsafe { wanted(&mut self.quals, &opened.relation, self.target.varno) };
            if filter != opened.filter {
                opened.plan = opened.relation.plan_files(&filter);
                opened.filter = filter;
            }
            return;
        }
        let relation = self.target.relation(selection);
        // SAFETY: by the contract.
        let filter = unsafe { wanted(&mut self.quals, &relation, self.target.varno) };
        self.opened = Some(self.target.open(relation, filter));
    }

    /// Whether something that decides what is read is not known yet, or can be another in the next scan.
    fn waits(&self) -> bool {
        self.quals_wait || self.chooser.is_some_and(|chooser| chooser.waits)
    }

    /// As [`ScanState::choose`] before the first row of a scan or rescan, where the value may be another by
    /// then.
    ///
    /// # Safety
    /// `node` is the one that this state is of.
    unsafe fn choose_again(&mut self, node: *mut ForeignScanState) {
        if self.opened.is_none() || self.waits() {
            // SAFETY: by the contract.
            unsafe { self.choose(node) }
        }
    }

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
                self.receiver = self.opened.as_ref().map(|opened| self.start(opened));
            }
            // Dropped before the next one is taken, so that its memory is free for it.
            self.batch = None;
            match self.receiver.as_mut().and_then(wait::next_item) {
                Some(batch) => {
                    self.batch = Some(batch);
                    self.next_row = 0;
                }
                None => return false,
            }
        }
    }

    /// Starts reading on the worker threads.
    fn start(&self, opened: &OpenedScan) -> BatchReceiver<DatumBatch> {
        let columns: Vec<ColumnPlan> = opened
            .columns
            .iter()
            .map(|column| column.plan.clone())
            .collect();
        let share = match &self.parallel {
            Some(parallel) => parallel.share(&opened.relation, &opened.plan),
            None => parallel::alone(&opened.plan),
        };
        let mut request = ReadRequest {
            schema: Arc::clone(opened.relation.schema()),
            columns: opened.columns.iter().map(|column| column.source).collect(),
            tasks: share.tasks,
            queue: share.queue,
            kept: Arc::clone(&opened.kept),
            files: Arc::clone(opened.relation.files()),
            levels: opened.filter.levels,
            threads: settings::scan_threads().div_ceil(share.participants),
            memory: settings::scan_memory() / share.participants,
            metrics: Arc::clone(&self.metrics),
        };
        if opened.relation.selected().changes.is_some() {
            request = wait(async move {
                let mut tasks = std::mem::take(&mut request.tasks);
                find_rewritten_rows(&request, &mut tasks).await?;
                Ok(ReadRequest { tasks, ..request })
            });
        }
        let runtime = runtime::handle().or_raise();
        let _inside = runtime.enter();
        read::read(
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
        let (Some(batch), Some(opened)) = (&self.batch, &mut self.opened) else {
            return;
        };
        let row = self.next_row;
        self.next_row += 1;
        // SAFETY: the slot's arrays have an entry for each column of the table, and every
        // `slot_index` is one of them; datums point into `batch`, which outlives the slot's content:
        // it is dropped at the next call or later.
        unsafe {
            let values = (*slot).tts_values;
            let nulls = (*slot).tts_isnull;
            if !opened.fills_all_columns {
                std::slice::from_raw_parts_mut(nulls, self.target.width).fill(true);
            }
            if opened.all_ready {
                for (column, output) in batch.columns.iter().zip(&opened.columns) {
                    *nulls.add(output.slot_index) =
                        column.nulls.as_ref().is_some_and(|nulls| nulls[row]);
                    *values.add(output.slot_index) = Datum::from(column.values[row]);
                }
                pg_sys::ExecStoreVirtualTuple(slot);
                return;
            }
            for (column, output) in batch.columns.iter().zip(&mut opened.columns) {
                let value = output.finish.apply(column, row);
                *nulls.add(output.slot_index) = value.is_none();
                *values.add(output.slot_index) = value.unwrap_or(Datum::null());
            }
            pg_sys::ExecStoreVirtualTuple(slot);
        }
    }
}

impl Target {
    /// The table in the state that a query selects, or else settings and options.
    fn relation(&self, selection: Option<Selection>) -> ForeignRelation {
        ForeignRelation::open(
            self.relation,
            self.role,
            &self.attribute_numbers,
            selection,
            Scope::Query(self.query),
        )
    }

    /// What is read of it.
    fn open(&self, relation: ForeignRelation, filter: ScanFilter) -> OpenedScan {
        let plan = relation.plan_files(&filter);
        let columns: Vec<OutputColumn> = relation
            .columns()
            .iter()
            .filter(|column| self.output.contains(&column.attribute_number))
            .map(|column| OutputColumn {
                source: column.source,
                plan: column.plan.clone(),
                slot_index: column.attribute_number as usize - 1,
                finish: Finish::choose(&column.plan.conversion, self.context),
            })
            .collect();
        OpenedScan {
            fills_all_columns: columns.len() == self.width,
            all_ready: columns.iter().all(|column| column.finish.is_ready()),
            relation,
            plan,
            filter,
            kept: Arc::default(),
            columns,
        }
    }
}

/// What a scan wants of a table's rows, with the values that its quals have now, and where that may be made use of.
///
/// # Safety
/// The quals are those of the scan, and `varno` is the table's place in it.
unsafe fn wanted(
    quals: &mut Bound,
    relation: &ForeignRelation,
    varno: pg_sys::Index,
) -> ScanFilter {
    ScanFilter {
        // SAFETY: by the contract.
        rows: unsafe { quals.rows(relation, varno) },
        levels: settings::pruning_levels(),
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
