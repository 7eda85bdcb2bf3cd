//! From two states of a table to the rows that are in one of them only, snapshot by snapshot.
//! Spec: "Snapshots" (operations), "Scan Planning", "Reserved Field IDs" (`_change_type` and its like).

use std::collections::HashMap;
use std::sync::Arc;

use super::{FileScanTask, ScanPlan, TaskDeletes, plan_files};
use crate::error::Result;
use crate::spec::{ScanFilter, Snapshot, TableMetadata};
use crate::storage::SharedFileReader;

/// What happened to the rows of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Whether they came or went.
    pub kind: ChangeKind,
    /// The snapshot's place among those whose changes are read, from 0.
    pub ordinal: i32,
    /// The snapshot that made the change.
    pub snapshot_id: i64,
    /// Of the rows that the task's deletes leave, only those changed that these take away; `None`: all of them.
    pub only_deleted_by: Option<TaskDeletes>,
}

/// Whether rows came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// They were not there before.
    Insert,
    /// They are not there any more.
    Delete,
}

/// Plans a read of what `snapshots` changed, each of which is the parent of the next: the rows that were in the
/// state before and are not in the state after, or the other way round.
///
/// Rows of files that a snapshot replaced by others are deleted from the one and inserted from the other, whether
/// or not they are the same. Snapshots that replace files without changing rows have no changes.
///
/// # Errors
/// Those of [`plan_files`].
pub async fn plan_changes(
    files: &SharedFileReader,
    metadata: &TableMetadata,
    snapshots: &[Arc<Snapshot>],
    filter: &ScanFilter,
) -> Result<ScanPlan> {
    let mut changes = ScanPlan {
        records: Some(0),
        ..ScanPlan::default()
    };
    let mut known: Option<(i64, ScanPlan)> = None;
    for (ordinal, snapshot) in (0..).zip(snapshots) {
        if snapshot.operation() == Some(REPLACE) {
            continue;
        }
        let before = match (snapshot.parent_snapshot_id, known.take()) {
            (Some(parent), Some((known, plan))) if known == parent => plan,
            (Some(parent), _) => match metadata.snapshot_by_id(parent) {
                Some(parent) => plan_files(files, metadata, parent, filter).await?,
                None => ScanPlan::default(),
            },
            (None, _) => ScanPlan::default(),
        };
        let after = plan_files(files, metadata, snapshot, filter).await?;
        changes.manifests_total += after.manifests_total;
        changes.manifests_skipped += after.manifests_skipped;
        changes.data_files_total += after.data_files_total;
        changes.data_files_skipped_by_partition += after.data_files_skipped_by_partition;
        changes.data_files_skipped_by_metrics += after.data_files_skipped_by_metrics;
        changes.delete_files_total += after.delete_files_total;
        let made = Made {
            ordinal,
            snapshot_id: snapshot.snapshot_id,
        };
        made.compare(&before.tasks, &after.tasks, &mut changes);
        known = Some((snapshot.snapshot_id, after));
    }
    Ok(changes)
}

/// The operation of a snapshot whose rows are those of its parent.
const REPLACE: &str = "replace";

/// Who made a change.
struct Made {
    ordinal: i32,
    snapshot_id: i64,
}

impl Made {
    fn compare(&self, before: &[FileScanTask], after: &[FileScanTask], changes: &mut ScanPlan) {
        let by_path: HashMap<_, _> = before.iter().map(|task| (&task.path, task)).collect();
        let mut still_there = 0;
        for task in after {
            let Some(earlier) = by_path.get(&task.path) else {
                self.add(task, ChangeKind::Insert, None, changes);
                continue;
            };
            still_there += 1;
            if earlier.deletes != task.deletes {
                let (then, now) = (earlier.deletes.clone(), task.deletes.clone());
                self.add(earlier, ChangeKind::Delete, Some(now), changes);
                // A delete file that is gone may have left rows to come back.
                if !then.is_empty() {
                    self.add(task, ChangeKind::Insert, Some(then), changes);
                }
            }
        }
        if still_there == before.len() {
            return;
        }
        let by_path: HashMap<_, _> = after.iter().map(|task| (&task.path, task)).collect();
        for task in before {
            if !by_path.contains_key(&task.path) {
                self.add(task, ChangeKind::Delete, None, changes);
            }
        }
    }

    fn add(
        &self,
        task: &FileScanTask,
        kind: ChangeKind,
        only_deleted_by: Option<TaskDeletes>,
        changes: &mut ScanPlan,
    ) {
        changes.total_bytes = changes.total_bytes.saturating_add(task.file_size);
        changes.records = changes
            .records
            .zip(task.record_count)
            .and_then(|(sum, count)| sum.checked_add(count));
        changes.tasks.push(FileScanTask {
            change: Some(Arc::new(Change {
                kind,
                ordinal: self.ordinal,
                snapshot_id: self.snapshot_id,
                only_deleted_by,
            })),
            ..task.clone()
        });
    }
}
