//! From two states of a table to the rows that are in one of them only, snapshot by snapshot.
//! Spec: "Snapshots" (operations), "Scan Planning", "Reserved Field IDs" (`_change_type` and its like).

use std::collections::HashMap;
use std::sync::Arc;

use roaring::RoaringTreemap;

use super::{FileScanTask, ScanPlan, TaskDeletes, plan_files};
use crate::error::Result;
use crate::spec::{PruningLevels, ScanFilter, Snapshot, TableMetadata};
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
    /// Rows that the snapshot only moved or updated, once they have been found; `None` where rows have no ids, or
    /// none came and went.
    pub rewritten: Option<Arc<RewrittenRows>>,
}

/// Rows that a snapshot took out of one file and put into another, by their row ids (v3).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RewrittenRows {
    /// Those that are what they were before.
    pub unchanged: RoaringTreemap,
    /// Those that were changed.
    pub updated: RoaringTreemap,
}

/// Whether rows came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// They were not there before.
    Insert,
    /// They are not there any more.
    Delete,
}

impl ChangeKind {
    /// What `_change_type` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Delete => "delete",
        }
    }
}

/// Plans a read of what `snapshots` changed, each of which is the parent of the next: the rows that were in the
/// state before and are not in the state after, or the other way round.
///
/// Rows of files that a snapshot replaced by others are deleted from the one and inserted from the other, whether
/// or not they are the same; where rows have ids, a read can [tell](crate::read::find_rewritten_rows) those apart.
/// Snapshots that replace files without changing rows have no changes.
///
/// # Errors
/// Those of [`plan_files`].
pub async fn plan_changes(
    files: &SharedFileReader,
    metadata: &Arc<TableMetadata>,
    snapshots: &[Arc<Snapshot>],
    filter: &ScanFilter,
) -> Result<ScanPlan> {
    // Both sides of an updated row must be found, also where only one of them is wanted.
    let has_row_ids = metadata.format_version >= FIRST_VERSION_WITH_ROW_IDS;
    let filter = &ScanFilter {
        rows: filter.rows.clone(),
        levels: match has_row_ids {
            true => PruningLevels::NONE,
            false => filter.levels,
        },
    };
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
/// Row lineage begins with it.
const FIRST_VERSION_WITH_ROW_IDS: u8 = 3;

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
                rewritten: None,
            })),
            ..task.clone()
        });
    }
}
