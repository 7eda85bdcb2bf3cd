//! A table's metadata file as one value: schemas, specs, snapshots, references, properties.
//! Spec: "Table Metadata Fields"; JSON form in Appendix C.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::schema::Schema;
use super::snapshot::{MetadataLogEntry, Snapshot, SnapshotLogEntry, SnapshotReference};

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
    /// Next row id to give out (v3).
    pub next_row_id: Option<i64>,
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
}
