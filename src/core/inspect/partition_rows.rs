//! The partitions of a snapshot: how many files and rows each has, and when it was changed last.
//! Spec: "Partitioning"; two tuples of different partition specs are different partitions.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Row, file_rows, row};
use crate::spec::{DataContent, ManifestEntry, TableMetadata, time_text};

#[derive(Default)]
struct Counts {
    records: u64,
    files: u64,
    bytes: u64,
    position_deletes: u64,
    position_delete_files: u64,
    equality_deletes: u64,
    equality_delete_files: u64,
    /// (milliseconds since 1970-01-01 UTC, snapshot).
    last_updated: Option<(i64, i64)>,
}

impl Counts {
    fn add(&mut self, entry: &ManifestEntry) {
        let file = &entry.data_file;
        let records = file.record_count.unwrap_or(0);
        let (sum, files) = match file.content {
            DataContent::Data => {
                self.bytes = self.bytes.saturating_add(file.file_size_in_bytes);
                (&mut self.records, &mut self.files)
            }
            DataContent::PositionDeletes => {
                (&mut self.position_deletes, &mut self.position_delete_files)
            }
            DataContent::EqualityDeletes => {
                (&mut self.equality_deletes, &mut self.equality_delete_files)
            }
        };
        *sum = sum.saturating_add(records);
        *files += 1;
    }
}

/// The partitions that entries have been added of.
#[derive(Default)]
pub(super) struct Partitions {
    found: Vec<(i32, Value, Counts)>,
    places: HashMap<(i32, String), usize>,
}

impl Partitions {
    pub(super) fn add(&mut self, metadata: &TableMetadata, entry: &ManifestEntry) {
        if !entry.is_live() {
            return;
        }
        let partition = &entry.data_file.partition;
        let shown = file_rows::partition(metadata, partition);
        // The text tells values apart as they are shown, NaN from NaN not.
        let place = *self
            .places
            .entry((partition.spec_id, shown.to_string()))
            .or_insert_with(|| {
                self.found
                    .push((partition.spec_id, shown, Counts::default()));
                self.found.len() - 1
            });
        let Some((_, _, counts)) = self.found.get_mut(place) else {
            return;
        };
        counts.add(entry);
        let updated = entry
            .snapshot_id
            .and_then(|id| metadata.snapshot_by_id(id))
            .map(|snapshot| (snapshot.timestamp_ms, snapshot.snapshot_id));
        counts.last_updated = counts.last_updated.max(updated);
    }

    pub(super) fn into_rows(self) -> Vec<Row> {
        self.found
            .into_iter()
            .map(|(spec_id, shown, counts)| {
                let (updated_at, updated_by) = counts.last_updated.unzip();
                row([
                    ("partition", shown),
                    ("spec_id", json!(spec_id)),
                    ("record_count", json!(counts.records)),
                    ("file_count", json!(counts.files)),
                    ("total_data_file_size_in_bytes", json!(counts.bytes)),
                    (
                        "position_delete_record_count",
                        json!(counts.position_deletes),
                    ),
                    (
                        "position_delete_file_count",
                        json!(counts.position_delete_files),
                    ),
                    (
                        "equality_delete_record_count",
                        json!(counts.equality_deletes),
                    ),
                    (
                        "equality_delete_file_count",
                        json!(counts.equality_delete_files),
                    ),
                    ("last_updated_at", json!(updated_at.map(time_text))),
                    ("last_updated_snapshot_id", json!(updated_by)),
                ])
            })
            .collect()
    }
}
