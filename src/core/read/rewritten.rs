//! Which rows a snapshot took out of one file and put into another, by their ids: moved as they are, or updated.
//! Spec: "Row Lineage".

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, AsArray, RecordBatch, StringViewArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::Int64Type;
use roaring::RoaringTreemap;

use super::added_columns::{Place, column_at};
use super::{MetadataColumn, OutputColumn, ReadRequest, RecvOutcome, read};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Change, ChangeKind, FileScanTask, RewrittenRows};
use crate::spec::RowFilter;

/// About how many bytes an id takes with the sequence number of its last update.
const BYTES_A_ROW: usize = 48;
/// How long a wait for rows is.
const PERIOD: std::time::Duration = std::time::Duration::from_millis(100);

/// Finds the rows that both came and went in one snapshot, and notes them in the changes of the tasks. `request`
/// says how to read, its columns are not looked at.
///
/// # Errors
/// Those of reading; `MemoryLimit` where a snapshot rewrote more rows than the request's memory holds.
pub async fn find_rewritten_rows(request: &ReadRequest, tasks: &mut [FileScanTask]) -> Result<()> {
    let mut by_snapshot: HashMap<i64, Vec<usize>> = HashMap::new();
    for (index, task) in tasks.iter().enumerate() {
        if let (Some(change), Some(_)) = (&task.change, task.first_row_id) {
            by_snapshot
                .entry(change.snapshot_id)
                .or_default()
                .push(index);
        }
    }
    for indexes in by_snapshot.into_values() {
        let of_kind = |kind: ChangeKind| -> Vec<FileScanTask> {
            indexes
                .iter()
                .filter_map(|index| tasks.get(*index))
                .filter(|task| {
                    task.change
                        .as_ref()
                        .is_some_and(|change| change.kind == kind)
                })
                .map(|task| FileScanTask {
                    residual: Arc::new(RowFilter::ALL),
                    ..task.clone()
                })
                .collect()
        };
        let (gone, come) = (of_kind(ChangeKind::Delete), of_kind(ChangeKind::Insert));
        if gone.is_empty() || come.is_empty() {
            continue;
        }
        let rewritten = Arc::new(compare(request, gone, come).await?);
        for index in indexes {
            let Some(task) = tasks.get_mut(index) else {
                continue;
            };
            task.change = task.change.as_deref().map(|change| {
                Arc::new(Change {
                    rewritten: Some(Arc::clone(&rewritten)),
                    ..change.clone()
                })
            });
        }
    }
    Ok(())
}

async fn compare(
    request: &ReadRequest,
    gone: Vec<FileScanTask>,
    come: Vec<FileScanTask>,
) -> Result<RewrittenRows> {
    let mut updates_before = HashMap::new();
    let memory = request.memory;
    each_row(request, gone, |id, update| {
        updates_before.insert(id, update);
        if updates_before.len() * BYTES_A_ROW > memory {
            return Err(Error::new(
                ErrorKind::MemoryLimit,
                "the rows that one snapshot took away need more memory than a scan may take",
            ));
        }
        Ok(())
    })
    .await?;
    let mut rewritten = RewrittenRows::default();
    each_row(request, come, |id, update| {
        if let Some(before) = updates_before.get(&id) {
            let rows = match *before == update {
                true => &mut rewritten.unchanged,
                false => &mut rewritten.updated,
            };
            rows.insert(id);
        }
        Ok(())
    })
    .await?;
    Ok(rewritten)
}

/// Calls `of_row` with the id of each row of the tasks that has one, and the sequence number of its last update.
async fn each_row(
    request: &ReadRequest,
    tasks: Vec<FileScanTask>,
    mut of_row: impl FnMut(u64, Option<i64>) -> Result<()>,
) -> Result<()> {
    let columns = [
        MetadataColumn::RowId,
        MetadataColumn::LastUpdatedSequenceNumber,
    ];
    let request = ReadRequest {
        columns: columns.map(OutputColumn::Metadata).to_vec(),
        tasks,
        queue: None,
        kept: Arc::clone(&request.kept),
        schema: Arc::clone(&request.schema),
        files: Arc::clone(&request.files),
        levels: request.levels,
        threads: request.threads,
        memory: request.memory,
        metrics: Arc::clone(&request.metrics),
    };
    let receiver = Arc::new(Mutex::new(read(
        request,
        Arc::new(Ok::<RecordBatch, Error>),
    )));
    loop {
        let receiver = Arc::clone(&receiver);
        let received = tokio::task::spawn_blocking(move || {
            let mut receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            receiver.recv_timeout(PERIOD)
        })
        .await
        .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        let batch = match received {
            RecvOutcome::Item(batch) => batch?,
            RecvOutcome::Timeout => continue,
            RecvOutcome::Done => return Ok(()),
        };
        let (Some(ids), Some(updates)) = (
            batch.column(0).as_primitive_opt::<Int64Type>(),
            batch.column(1).as_primitive_opt::<Int64Type>(),
        ) else {
            return Err(Error::new(ErrorKind::Internal, "row ids are no numbers"));
        };
        for (id, update) in ids.iter().zip(updates) {
            if let Some(id) = id.and_then(|id| u64::try_from(id).ok()) {
                of_row(id, update)?;
            }
        }
    }
}

/// Tells rows that were moved or updated from those that are new or gone.
#[derive(Debug)]
pub(super) struct RewrittenFilter {
    pub(super) rows: Arc<RewrittenRows>,
    pub(super) kind: ChangeKind,
    /// Where the row id is in a batch.
    pub(super) row_id: Place,
    /// The column of a batch that says what happened to a row, if it is wanted.
    pub(super) change_type: Option<usize>,
}

impl RewrittenFilter {
    /// Which rows of a batch changed at all, and the batch with what happened to them.
    pub(super) fn apply(&self, batch: RecordBatch) -> Result<(BooleanBuffer, RecordBatch)> {
        let ids = column_at(batch.columns(), &self.row_id)?;
        let ids = ids
            .as_primitive_opt::<Int64Type>()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "row ids are no numbers"))?;
        let is_in = |row: usize, rows: &RoaringTreemap| {
            ids.is_valid(row) && u64::try_from(ids.value(row)).is_ok_and(|id| rows.contains(id))
        };
        let changed =
            BooleanBuffer::collect_bool(batch.num_rows(), |row| !is_in(row, &self.rows.unchanged));
        let Some(place) = self.change_type else {
            return Ok((changed, batch));
        };
        let image = match self.kind {
            ChangeKind::Insert => "update_postimage",
            ChangeKind::Delete => "update_preimage",
        };
        let types: StringViewArray = (0..batch.num_rows())
            .map(|row| match is_in(row, &self.rows.updated) {
                true => Some(image),
                false => Some(self.kind.name()),
            })
            .collect();
        let mut columns = batch.columns().to_vec();
        if let Some(column) = columns.get_mut(place) {
            *column = Arc::new(types);
        }
        let batch = super::added_columns::batch_of(batch.schema(), columns, batch.num_rows())?;
        Ok((changed, batch))
    }
}
