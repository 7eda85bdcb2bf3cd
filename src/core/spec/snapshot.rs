//! Snapshots, the references that name them, and the logs of what was current when.
//! Spec: "Snapshots", "Snapshot References", "Table Metadata Fields".

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// One state of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Unique in the table.
    pub snapshot_id: i64,
    /// The snapshot it was made from.
    pub parent_snapshot_id: Option<i64>,
    /// Order of changes; 0 in v1 tables.
    pub sequence_number: i64,
    /// When it was made, in milliseconds since 1970-01-01 UTC.
    pub timestamp_ms: i64,
    /// Where its manifests are listed.
    pub manifests: SnapshotManifests,
    /// What the change was; key `operation` among them.
    pub summary: BTreeMap<String, String>,
    /// The schema that was current when it was made.
    pub schema_id: Option<i32>,
    /// First row id of its new rows (v3).
    pub first_row_id: Option<i64>,
    /// Rows with new ids in it (v3).
    pub added_rows: Option<i64>,
    /// The key that its manifest list is encrypted with (v3).
    pub key_id: Option<String>,
    /// Keys this version does not know, kept through a rewrite.
    pub unknown: Map<String, Value>,
}

/// Where a snapshot's manifests are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotManifests {
    /// A manifest list file.
    List(String),
    /// The manifests themselves (v1 only).
    Inline(Vec<String>),
}

/// A branch or tag.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotReference {
    /// The snapshot it names.
    pub snapshot_id: i64,
    /// Branch or tag.
    pub kind: ReferenceKind,
    /// How many snapshots of a branch are kept at least.
    pub min_snapshots_to_keep: Option<i32>,
    /// How old a branch's snapshots may become, in milliseconds.
    pub max_snapshot_age_ms: Option<i64>,
    /// How old the reference may become, in milliseconds.
    pub max_ref_age_ms: Option<i64>,
    /// Keys this version does not know, kept through a rewrite.
    pub unknown: Map<String, Value>,
}

/// Whether a reference moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceKind {
    /// Moves with each commit to it.
    Branch,
    /// Stays.
    Tag,
}

/// When a snapshot became current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLogEntry {
    /// Milliseconds since 1970-01-01 UTC.
    pub timestamp_ms: i64,
    /// The snapshot.
    pub snapshot_id: i64,
}

/// When a metadata file was current.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataLogEntry {
    /// Milliseconds since 1970-01-01 UTC.
    pub timestamp_ms: i64,
    /// The file.
    pub metadata_file: String,
}
