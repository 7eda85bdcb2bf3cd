//! The work of a read: one task opens files and fetches row groups ahead, as far as memory
//! allows; several decode. Nothing in the spec.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinError, JoinHandle, JoinSet};

use super::ReadRequest;
use super::added_columns::{Place, ReadColumns, add_column};
use super::channel::BatchSender;
use super::decode::BATCH_BYTES;
use super::deletes::{DeleteMemory, FileDeletes, InUse, PendingDeletes};
use super::filter::BatchFilter;
use super::format::{self, DataFile, Fetched, Wanted, WorkUnit};
use super::metadata_columns::MetadataColumn;
use super::metrics::ReadMetrics;
use super::panics;
use super::parquet_file::Source;
use super::projection::{output_schema, wanted_fields};
use super::rewritten::RewrittenFilter;
use super::selectivity::Selectivity;
use super::size;
use super::task_queue::{NextTask, Tasks};
use super::wanted_rows::WantedRows;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::FileScanTask;
use crate::spec::{NestedField, Predicate, PruningLevels, RowFilter, Schema};

/// How many files may be opened, and how many row groups fetched, ahead of the decoders, however
/// little memory they need. A read begins with fewer and grows as rows are used, so that one that
/// ends early has not fetched much for nothing.
const MAX_AHEAD: usize = 32;
/// Memory is counted in steps of this many bytes, so that any budget fits a semaphore.
pub(super) const STEP: u64 = 1024;

/// What a read's user makes of a batch.
pub(super) type Convert<T> = Arc<dyn Fn(RecordBatch) -> Result<T> + Send + Sync>;

/// A part of a file on its way from storage.
struct Unit {
    file: Arc<dyn DataFile>,
    /// Which of its rows come out; holds what its deletes take.
    rows: Arc<(WantedRows, Option<InUse>)>,
    fetched: Spawned<Option<Fetched>>,
    _memory: OwnedSemaphorePermit,
}

/// What all files are read for.
struct WantedColumns {
    /// The schema of the rows.
    table: Arc<Schema>,
    /// The columns of a batch.
    fields: Arc<[Arc<NestedField>]>,
    /// Their schema.
    output: SchemaRef,
    /// What may be passed over.
    levels: PruningLevels,
}

/// A file that is being opened.
struct Opening {
    /// Counts the files of the read.
    number: usize,
    /// About how many bytes its deletes were to take when this began.
    delete_bytes: u64,
    /// Which part of the file is read; `None`: all of it.
    part: Option<Range<u64>>,
    opened: Spawned<Option<Opened>>,
}

/// A file whose footer and whose deletes have been read.
struct Opened {
    file: Arc<dyn DataFile>,
    rows: WantedRows,
}

/// A task that ends when nobody waits for it any more.
struct Spawned<T>(JoinHandle<Result<T>>);

/// What all decoders of a read share.
struct Shared<T> {
    units: Mutex<mpsc::Receiver<Unit>>,
    ahead: Ahead,
    metrics: Arc<ReadMetrics>,
    selectivity: Arc<Selectivity>,
    convert: Convert<T>,
    sender: BatchSender<T>,
}

/// How far the fetcher may be ahead, in row groups.
struct Ahead {
    free: Semaphore,
    total: AtomicUsize,
}

/// Reads everything that was asked for.
pub(super) async fn run<T: Send + 'static>(
    request: ReadRequest,
    convert: Convert<T>,
    sender: BatchSender<T>,
) {
    let outcome = work(request, convert, sender.clone()).await;
    sender.end(outcome);
}

async fn work<T: Send + 'static>(
    request: ReadRequest,
    convert: Convert<T>,
    sender: BatchSender<T>,
) -> Result<()> {
    let threads = request.threads.max(1);
    let (units, waiting) = mpsc::channel(MAX_AHEAD);
    let shared = Arc::new(Shared {
        units: Mutex::new(waiting),
        ahead: Ahead {
            free: Semaphore::new(threads + 1),
            total: AtomicUsize::new(threads + 1),
        },
        metrics: Arc::clone(&request.metrics),
        selectivity: Arc::default(),
        convert,
        sender,
    });
    // Dropping the set, on the first error or when the read is cancelled, aborts all of it.
    let mut tasks = JoinSet::new();
    tasks.spawn(fetch_all(request, Arc::clone(&shared), units));
    for _ in 0..threads {
        tasks.spawn(decode_all(Arc::clone(&shared)));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(broken)??;
    }
    Ok(())
}

/// Opens the files one after the other, some ahead, and begins to fetch their row groups in order.
async fn fetch_all<T>(
    request: ReadRequest,
    shared: Arc<Shared<T>>,
    units: mpsc::Sender<Unit>,
) -> Result<()> {
    let wanted: Arc<[Arc<NestedField>]> = wanted_fields(&request.schema, &request.columns)?.into();
    let wanted_columns = Arc::new(WantedColumns {
        table: Arc::clone(&request.schema),
        output: output_schema(&wanted),
        fields: wanted,
        levels: request.levels,
    });
    let source = Source {
        files: Arc::clone(&request.files),
        metrics: Arc::clone(&request.metrics),
        open_bytes: Arc::default(),
        selectivity: Arc::clone(&shared.selectivity),
    };
    let open_limit = (request.memory / 8) as u64;
    let budget = steps(unit_memory(request.memory) as u64).max(1);
    let memory = Arc::new(Semaphore::new(budget as usize));
    let mut tasks = Tasks::new(request.tasks, request.queue, &request.kept);
    // What deletes may take is never all, and row groups never wait for that.
    let (delete_budget, unit_budget) = match tasks.have_deletes() {
        true => (budget - budget.div_ceil(4), budget.div_ceil(4)),
        false => (0, budget),
    };
    let delete_memory = DeleteMemory::new(Arc::clone(&memory), delete_budget);
    let mut opening = VecDeque::new();
    let mut number = 0;
    let mut open_ahead = request.threads.max(1);
    loop {
        // Files with much metadata are not opened far ahead.
        while (opening.is_empty()
            || opening.len() < open_ahead && source.open_bytes.load(Ordering::Relaxed) < open_limit)
            && let Some(next) = tasks.peek(opening.len())?
        {
            let bytes = next.delete_bytes();
            let ahead = opening.iter().fold(bytes, |sum, opening: &Opening| {
                sum.saturating_add(opening.delete_bytes)
            });
            if !opening.is_empty() && bytes > 0 && !delete_memory.has_room_for(ahead) {
                break;
            }
            let Some(next) = tasks.take() else {
                break;
            };
            let part = next.task.part.clone();
            let memory = Arc::clone(&delete_memory);
            let opened = open(
                source.clone(),
                next,
                number,
                memory,
                Arc::clone(&wanted_columns),
            );
            opening.push_back(Opening {
                number,
                delete_bytes: bytes,
                part,
                opened,
            });
            number += 1;
        }
        let Some(Opening {
            number,
            part,
            opened,
            ..
        }) = opening.pop_front()
        else {
            return Ok(());
        };
        open_ahead = (open_ahead * 2).min(MAX_AHEAD);
        delete_memory.give_turn(number);
        let Some(Opened { file, rows }) = opened.result().await? else {
            continue;
        };
        let in_use = rows.have_deletes().then(|| delete_memory.in_use());
        // The file lacks a column, and what stands for it says so.
        let nothing_is_wanted = rows.filter.as_ref().is_some_and(BatchFilter::wants_nothing);
        let rows = Arc::new((rows, in_use));
        for (index, unit) in units_of_part(&*file, part.as_ref()) {
            if unit.rows == Some(0) {
                continue;
            }
            if unit.is_skipped || nothing_is_wanted {
                skip(unit, &request.metrics);
                continue;
            }
            shared.ahead.take().await?;
            // A unit larger than the budget waits for all of it, and is then alone.
            let steps = steps(unit.memory).clamp(1, unit_budget);
            let permit = Arc::clone(&memory)
                .acquire_many_owned(steps)
                .await
                .map_err(|_| stopped())?;
            let unit = Unit {
                fetched: fetch(source.clone(), Arc::clone(&file), index),
                file: Arc::clone(&file),
                rows: Arc::clone(&rows),
                _memory: permit,
            };
            if units.send(unit).await.is_err() {
                // Nobody decodes any more.
                return Ok(());
            }
        }
    }
}

/// Opens the file of a task; `None` if no row of it is wanted.
fn open(
    source: Source,
    next: NextTask,
    number: usize,
    memory: Arc<DeleteMemory>,
    wanted: Arc<WantedColumns>,
) -> Spawned<Option<Opened>> {
    Spawned(tokio::spawn(async move {
        let NextTask {
            task,
            deletes,
            deleted_by_change,
        } = next;
        let mut fields = wanted.fields.to_vec();
        let filter = BatchFilter::new(&task.residual, &wanted.table, &mut fields)?;
        if filter.as_ref().is_some_and(BatchFilter::wants_nothing) {
            return Ok(None);
        }
        // Which rows are left out, where only those are that nobody checks again.
        let only_exact = if wanted.levels.rows {
            None
        } else {
            let rows = RowFilter {
                exact: task.residual.exact.clone(),
                inexact: Predicate::True,
            };
            Some(BatchFilter::new(&rows, &wanted.table, &mut fields)?)
        };
        let only_deleted = task
            .change
            .as_ref()
            .is_some_and(|change| change.only_deleted_by.is_some());
        let deletes = pending(deletes, &mut fields)?;
        let deleted_by_change = pending(deleted_by_change, &mut fields)?;
        let rewritten = rewritten_filter(&task, &mut fields);
        let in_file = Wanted {
            columns: ReadColumns::new(fields, &wanted.fields, &wanted.output),
            filter,
            levels: wanted.levels,
        };
        let (file, deletes, deleted_by_change) = futures::try_join!(
            format::open(&source, &task, &in_file),
            load(deletes, number, &source, &memory),
            load(deleted_by_change, number, &source, &memory),
        )?;
        let part = task.part.as_ref();
        if part.is_none_or(|part| part.start == 0) {
            ReadMetrics::add(&source.metrics.files_opened, 1);
        }
        let row_groups = units_of_part(&*file, part).count() as u64;
        ReadMetrics::add(&source.metrics.row_groups_total, row_groups);
        let filter = match only_exact {
            Some(filter) => filter.and_then(|filter| filter.in_file(file.columns())),
            None => in_file.filter_in_file(file.columns()),
        };
        let rows = WantedRows {
            columns: in_file.columns,
            filter,
            deletes,
            change: only_deleted.then_some(deleted_by_change),
            rewritten,
        };
        Ok(Some(Opened { file, rows }))
    }))
}

/// What tells the rows apart that a change moved or updated; makes `fields` also have their ids.
fn rewritten_filter(
    task: &FileScanTask,
    fields: &mut Vec<Arc<NestedField>>,
) -> Option<RewrittenFilter> {
    let change = task.change.as_ref()?;
    let rows = Arc::clone(change.rewritten.as_ref()?);
    let change_type = MetadataColumn::ChangeType.field().id;
    let change_type = fields.iter().position(|field| field.id == change_type);
    let row_id = Arc::new(MetadataColumn::RowId.field());
    Some(RewrittenFilter {
        rows,
        kind: change.kind,
        row_id: add_column(fields, &[row_id])?,
        change_type,
    })
}

/// Deletes, with the places of the columns that they compare.
type Pending = (PendingDeletes, Vec<Vec<Place>>);

/// Makes `fields` also have the columns that deletes compare.
fn pending(
    deletes: Option<PendingDeletes>,
    fields: &mut Vec<Arc<NestedField>>,
) -> Result<Option<Pending>> {
    deletes
        .map(|deletes| {
            let places = deletes.add_columns(fields)?;
            Ok((deletes, places))
        })
        .transpose()
}

async fn load(
    deletes: Option<Pending>,
    number: usize,
    source: &Source,
    memory: &Arc<DeleteMemory>,
) -> Result<Option<FileDeletes>> {
    match deletes {
        Some((deletes, places)) => deletes.load(number, places, source, memory).await.map(Some),
        None => Ok(None),
    }
}

/// Counts a unit that is passed over.
fn skip(unit: &WorkUnit, metrics: &ReadMetrics) {
    ReadMetrics::add(&metrics.row_groups_skipped, 1);
    ReadMetrics::add(&metrics.rows_skipped, unit.rows.unwrap_or(0));
}

/// The units of a part of a file, with their places in it.
fn units_of_part<'a>(
    file: &'a dyn DataFile,
    part: Option<&'a Range<u64>>,
) -> impl Iterator<Item = (usize, &'a WorkUnit)> {
    let units = file.units().iter().enumerate();
    units.filter(move |(_, unit)| part.is_none_or(|part| part.contains(&unit.start)))
}

fn fetch(source: Source, file: Arc<dyn DataFile>, unit: usize) -> Spawned<Option<Fetched>> {
    Spawned(tokio::spawn(async move { file.fetch(&source, unit).await }))
}

/// Decodes row groups until there are no more, or nobody wants them.
async fn decode_all<T: Send + 'static>(shared: Arc<Shared<T>>) -> Result<()> {
    loop {
        let unit = shared.units.lock().await.recv().await;
        let Some(unit) = unit else {
            return Ok(());
        };
        if !decode(&shared, unit).await? {
            return Ok(());
        }
        shared.ahead.give_back();
    }
}

/// Decodes one row group; false when nobody wants more.
async fn decode<T: Send + 'static>(shared: &Shared<T>, unit: Unit) -> Result<bool> {
    let Some(fetched) = unit.fetched.result().await? else {
        return Ok(true);
    };
    ReadMetrics::add(&shared.metrics.row_groups_read, 1);
    let sender = shared.sender.clone();
    let mut decoder = fetched(Arc::new(move || !sender.is_closed()))?;
    loop {
        decoder.prepare().await?;
        let started = Instant::now();
        let Some((batch, positions)) = decoder.next()? else {
            return Ok(true);
        };
        let batch = panics::caught("wanted rows", || {
            let rows = &unit.rows.0;
            if decoder.is_filtered() {
                rows.not_deleted(batch, positions, &shared.metrics)
            } else {
                rows.wanted(batch, positions, &shared.metrics, &shared.selectivity)
            }
        })
        .map_err(|error| error.in_file(unit.file.path()))?;
        let pieces = size::split(batch, BATCH_BYTES);
        ReadMetrics::add_time(&shared.metrics.decode_nanoseconds, started.elapsed());
        for (piece, bytes) in pieces {
            if shared.sender.is_closed() {
                return Ok(false);
            }
            let rows = piece.num_rows() as u64;
            if rows == 0 {
                tokio::task::yield_now().await;
                continue;
            }
            let converted = panics::caught("a batch", || (shared.convert)(piece))
                .map_err(|error| error.in_file(unit.file.path()))?;
            ReadMetrics::add(&shared.metrics.rows_read, rows);
            if shared.sender.send(converted, bytes).await.is_err() {
                return Ok(false);
            }
            // A decoder must not keep fetches and cancellation from this thread.
            tokio::task::yield_now().await;
        }
    }
}

/// The part of a memory budget that fetched row groups may use; the rest is for batches.
fn unit_memory(memory: usize) -> usize {
    memory - batch_memory(memory)
}

/// The part of a memory budget that batches may use while they wait.
pub(super) fn batch_memory(memory: usize) -> usize {
    memory / 4
}

pub(super) fn steps(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(STEP)).unwrap_or(u32::MAX)
}

pub(super) fn stopped() -> Error {
    Error::new(ErrorKind::Internal, "the read has been stopped")
}

fn broken(error: JoinError) -> Error {
    let reason = match error.try_into_panic() {
        Ok(panic) => panics::message(&*panic).to_owned(),
        Err(error) => error.to_string(),
    };
    Error::new(
        ErrorKind::Internal,
        format!("a reading task failed: {reason}"),
    )
}

impl<T> Spawned<T> {
    async fn result(mut self) -> Result<T> {
        (&mut self.0).await.map_err(broken)?
    }
}

impl<T> Drop for Spawned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Ahead {
    /// Waits until one more row group may be fetched.
    async fn take(&self) -> Result<()> {
        self.free.acquire().await.map_err(|_| stopped())?.forget();
        Ok(())
    }

    /// A row group is done: another may be fetched, and one more while there are few.
    fn give_back(&self) {
        let grown = self
            .total
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |total| {
                (total < MAX_AHEAD).then_some(total + 1)
            });
        self.free.add_permits(if grown.is_ok() { 2 } else { 1 });
    }
}
