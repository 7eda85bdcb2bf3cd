//! Which snapshots made the changes from one state of a table to another.
//! Spec: "Snapshots" (`parent-snapshot-id`).

use std::sync::Arc;

use super::snapshot::Snapshot;
use super::snapshot_selection::{SelectedSnapshot, SnapshotSelector, listed};
use super::table_metadata::TableMetadata;
use crate::error::{Error, Result};

impl TableMetadata {
    /// The snapshots after `from` up to `to`, as a state with changes.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such snapshot, if one does not descend from the other, or if what lies
    /// between them has expired.
    pub(super) fn changes(&self, from: Option<i64>, to: Option<i64>) -> Result<SelectedSnapshot> {
        let last = self.select_snapshot(&match to {
            Some(snapshot_id) => SnapshotSelector::Snapshot(snapshot_id),
            None => SnapshotSelector::Current,
        })?;
        let mut snapshots = Vec::new();
        let mut next = last.snapshot.clone();
        while let Some(snapshot) = next {
            let parent = snapshot.parent_snapshot_id;
            if Some(snapshot.snapshot_id) == from {
                break;
            }
            // A chain that leads into itself has no first snapshot.
            if snapshots.len() > self.snapshots.len() {
                return Err(self.refused("has a snapshot that is its own ancestor".to_owned()));
            }
            snapshots.push(snapshot);
            next = match parent {
                None => match from {
                    None => None,
                    Some(from) => return Err(self.no_ancestor(from, &snapshots)),
                },
                // What the parent's rows were is not known any more.
                Some(parent) => match self.snapshot_by_id(parent) {
                    Some(parent) => Some(Arc::clone(parent)),
                    None => return Err(self.expired_parent(parent, &snapshots)),
                },
            };
        }
        if let (Some(from), None) = (from, &last.snapshot) {
            return Err(self.no_ancestor(from, &[]));
        }
        snapshots.reverse();
        Ok(SelectedSnapshot {
            changes: Some(snapshots.into()),
            ..last
        })
    }

    fn no_ancestor(&self, from: i64, newest_first: &[Arc<Snapshot>]) -> Error {
        let what = match newest_first.first() {
            Some(last) => format!(
                "has no changes from snapshot {from} to {}, which does not descend from it",
                last.snapshot_id
            ),
            None => format!("has no changes from snapshot {from}: it has no snapshot"),
        };
        let ancestors = newest_first.iter().skip(1);
        self.refused(what).with_detail(listed(
            "It has no ancestors.",
            "Its ancestors are, newest first",
            ancestors.len(),
            ancestors.map(|snapshot| snapshot.snapshot_id.to_string()),
        ))
    }

    fn expired_parent(&self, parent: i64, newest_first: &[Arc<Snapshot>]) -> Error {
        // The one whose parent it is.
        let first = newest_first.last().map(|snapshot| snapshot.snapshot_id);
        self.refused(format!(
            "cannot tell the changes that follow on snapshot {parent}, which has expired"
        ))
        .with_hint(format!(
            "Ask for the changes from snapshot {} on.",
            first.unwrap_or(parent)
        ))
    }
}
