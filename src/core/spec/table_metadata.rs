//! A table's metadata file as one value: schemas, specs, snapshots, references, properties.
//! Spec: "Table Metadata Fields", "Point in Time Reads".

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::partition::PartitionSpec;
use super::schema::Schema;
use super::snapshot::{MetadataLogEntry, Snapshot, SnapshotLogEntry, SnapshotReference};
use super::sort_order::SortOrder;
use super::statistics_file::{PartitionStatisticsFile, StatisticsFile};
use super::types::StructType;
use crate::error::{Error, ErrorKind, Result};

/// The branch that is current unless another is asked for.
pub const MAIN_BRANCH: &str = "main";

/// What a metadata file says, validated.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMetadata {
    /// 1 to 3.
    pub format_version: u8,
    /// The table's identity; may be absent in v1.
    pub table_uuid: Option<Uuid>,
    /// The table's root, without a trailing slash unless the file has one.
    pub location: String,
    /// Highest sequence number given out; 0 in v1.
    pub last_sequence_number: i64,
    /// When the file was written, in milliseconds since 1970-01-01 UTC.
    pub last_updated_ms: i64,
    /// Highest field id given out.
    pub last_column_id: i32,
    /// All schemas by id.
    pub schemas: BTreeMap<i32, Arc<Schema>>,
    /// The current one; always a key of `schemas`.
    pub current_schema_id: i32,
    /// All partition specs by id.
    pub partition_specs: BTreeMap<i32, Arc<PartitionSpec>>,
    /// The spec that writers use; always a key of `partition_specs`.
    pub default_spec_id: i32,
    /// Highest partition field id given out; may be absent in v1.
    pub last_partition_id: Option<i32>,
    /// All sort orders by id.
    pub sort_orders: BTreeMap<i32, Arc<SortOrder>>,
    /// The order that writers use; a key of `sort_orders`, or 0 for unsorted.
    pub default_sort_order_id: i32,
    /// Free-form settings.
    pub properties: BTreeMap<String, String>,
    /// `None` for a table without rows (`-1`, null or absent in the file).
    pub current_snapshot_id: Option<i64>,
    /// All snapshots that are kept, in the file's order.
    pub snapshots: Vec<Arc<Snapshot>>,
    /// Which snapshot was current when, oldest first.
    pub snapshot_log: Vec<SnapshotLogEntry>,
    /// Earlier metadata files, oldest first.
    pub metadata_log: Vec<MetadataLogEntry>,
    /// Branches and tags; `main` is there whenever there is a current snapshot.
    pub refs: BTreeMap<String, SnapshotReference>,
    /// Files of statistics about columns.
    pub statistics: Vec<StatisticsFile>,
    /// Files of statistics about partitions.
    pub partition_statistics: Vec<PartitionStatisticsFile>,
    /// Next row id to give out (v3).
    pub next_row_id: Option<i64>,
    /// Keys that manifest lists are encrypted with, as the file has them (v3).
    pub encryption_keys: Vec<Value>,
    /// Keys this version does not know, kept through a rewrite.
    pub unknown: Map<String, Value>,
}

impl TableMetadata {
    /// The current schema.
    pub fn current_schema(&self) -> Option<&Arc<Schema>> {
        self.schemas.get(&self.current_schema_id)
    }

    /// The snapshot with this id.
    pub fn snapshot_by_id(&self, snapshot_id: i64) -> Option<&Arc<Snapshot>> {
        self.snapshots
            .iter()
            .find(|snapshot| snapshot.snapshot_id == snapshot_id)
    }

    /// The current snapshot; `None` for a table without rows.
    pub fn current_snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.current_snapshot_id
            .and_then(|snapshot_id| self.snapshot_by_id(snapshot_id))
    }

    /// The spec that writers use.
    pub fn default_partition_spec(&self) -> Option<&Arc<PartitionSpec>> {
        self.partition_specs.get(&self.default_spec_id)
    }

    /// The order that writers use; `None` for unsorted, if the file does not list that.
    pub fn default_sort_order(&self) -> Option<&Arc<SortOrder>> {
        self.sort_orders.get(&self.default_sort_order_id)
    }

    /// The schema that was current when a snapshot was made; the table's current one where an old
    /// writer did not say.
    ///
    /// # Errors
    /// `Corrupt` if the snapshot names a schema that the table does not have.
    pub fn schema_for_snapshot(&self, snapshot: &Snapshot) -> Result<&Arc<Schema>> {
        let schema_id = snapshot.schema_id.unwrap_or(self.current_schema_id);
        self.schemas.get(&schema_id).ok_or_else(|| {
            Error::new(
                ErrorKind::Corrupt,
                format!(
                    "snapshot {} of the table at \"{}\" has schema {schema_id}, which the table does not have",
                    snapshot.snapshot_id, self.location
                ),
            )
        })
    }

    /// What was current at a time: the last entry of the snapshot log at or before it. `None` if
    /// the log does not reach back so far. The snapshot itself may have been expired since.
    pub fn snapshot_as_of(&self, timestamp_ms: i64) -> Option<&SnapshotLogEntry> {
        self.snapshot_log
            .iter()
            .rfind(|entry| entry.timestamp_ms <= timestamp_ms)
    }

    /// The type of partition tuples under a spec; `None` if there is no such spec. Types of source
    /// columns come from the current schema, and of dropped columns from the schema that last had
    /// them.
    pub fn partition_type(&self, spec_id: i32) -> Option<StructType> {
        let spec = self.partition_specs.get(&spec_id)?;
        let newest_first = self
            .current_schema()
            .into_iter()
            .chain(self.schemas.values().rev());
        Some(spec.partition_type_by(|source_id| {
            newest_first
                .clone()
                .find_map(|schema| schema.field_by_id(source_id))
                .map(|field| field.field_type.clone())
        }))
    }
}
