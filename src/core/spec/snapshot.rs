//! Snapshots, the references that name them, and the logs of what was current when.
//! Spec: "Snapshots", "Snapshot References", "Table Metadata Fields".

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::json::{Node, ObjectWriter};
use crate::error::Result;

const SNAPSHOT_KEYS: &[&str] = &[
    "snapshot-id",
    "parent-snapshot-id",
    "sequence-number",
    "timestamp-ms",
    "manifest-list",
    "manifests",
    "summary",
    "schema-id",
    "first-row-id",
    "added-rows",
    "key-id",
];
const REFERENCE_KEYS: &[&str] = &[
    "snapshot-id",
    "type",
    "min-snapshots-to-keep",
    "max-snapshot-age-ms",
    "max-ref-age-ms",
];

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

impl Snapshot {
    /// What the change was: `append`, `replace`, `overwrite` or `delete`. Summaries by old writers
    /// may not say.
    pub fn operation(&self) -> Option<&str> {
        self.summary.get("operation").map(String::as_str)
    }

    pub(crate) fn from_node(node: &Node<'_>, format_version: u8) -> Result<Self> {
        let manifests = match node.optional("manifest-list")? {
            Some(list) => SnapshotManifests::List(list.text()?.to_owned()),
            None => match node.optional("manifests")? {
                Some(manifests) => SnapshotManifests::Inline(manifests.texts()?),
                None => return Err(node.corrupt("the required key \"manifest-list\" is missing")),
            },
        };
        let sequence_number = node.optional_long("sequence-number")?.unwrap_or(0);
        if sequence_number < 0 || (format_version == 1 && sequence_number != 0) {
            return Err(node.corrupt(format!(
                "the sequence number {sequence_number} cannot be in a table of format version {format_version}"
            )));
        }
        Ok(Self {
            snapshot_id: node.required("snapshot-id")?.long()?,
            parent_snapshot_id: node.optional_long("parent-snapshot-id")?,
            sequence_number,
            timestamp_ms: node.required("timestamp-ms")?.long()?,
            manifests,
            summary: node.optional_text_map("summary")?,
            schema_id: node.optional_int("schema-id")?,
            first_row_id: node.optional_long("first-row-id")?,
            added_rows: node.optional_long("added-rows")?,
            key_id: node.optional_text("key-id")?,
            unknown: node.unknown(SNAPSHOT_KEYS)?,
        })
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut writer = ObjectWriter::default();
        // Tables of v1 have no sequence numbers, and snapshots that come from v1 keep none.
        if self.sequence_number > 0 {
            writer.put("sequence-number", self.sequence_number);
        }
        writer
            .put("snapshot-id", self.snapshot_id)
            .put_some("parent-snapshot-id", self.parent_snapshot_id)
            .put("timestamp-ms", self.timestamp_ms);
        if !self.summary.is_empty() {
            writer.put_text_map("summary", &self.summary);
        }
        match &self.manifests {
            SnapshotManifests::List(list) => writer.put("manifest-list", list.as_str()),
            SnapshotManifests::Inline(manifests) => {
                writer.put_list("manifests", manifests.iter().map(String::as_str))
            }
        };
        writer
            .put_some("schema-id", self.schema_id)
            .put_some("first-row-id", self.first_row_id)
            .put_some("added-rows", self.added_rows)
            .put_some("key-id", self.key_id.as_deref())
            .finish(&self.unknown)
    }
}

impl SnapshotReference {
    /// A branch without limits of its own.
    pub fn branch(snapshot_id: i64) -> Self {
        Self {
            snapshot_id,
            kind: ReferenceKind::Branch,
            min_snapshots_to_keep: None,
            max_snapshot_age_ms: None,
            max_ref_age_ms: None,
            unknown: Map::new(),
        }
    }

    pub(crate) fn from_node(node: &Node<'_>) -> Result<Self> {
        let kind = node.required("type")?;
        Ok(Self {
            snapshot_id: node.required("snapshot-id")?.long()?,
            kind: match kind.text()?.to_ascii_lowercase().as_str() {
                "branch" => ReferenceKind::Branch,
                "tag" => ReferenceKind::Tag,
                _ => return Err(kind.corrupt("expected \"branch\" or \"tag\"")),
            },
            min_snapshots_to_keep: node.optional_int("min-snapshots-to-keep")?,
            max_snapshot_age_ms: node.optional_long("max-snapshot-age-ms")?,
            max_ref_age_ms: node.optional_long("max-ref-age-ms")?,
            unknown: node.unknown(REFERENCE_KEYS)?,
        })
    }

    pub(crate) fn to_json(&self) -> Value {
        ObjectWriter::default()
            .put("snapshot-id", self.snapshot_id)
            .put(
                "type",
                match self.kind {
                    ReferenceKind::Branch => "branch",
                    ReferenceKind::Tag => "tag",
                },
            )
            .put_some("min-snapshots-to-keep", self.min_snapshots_to_keep)
            .put_some("max-snapshot-age-ms", self.max_snapshot_age_ms)
            .put_some("max-ref-age-ms", self.max_ref_age_ms)
            .finish(&self.unknown)
    }
}

impl SnapshotLogEntry {
    pub(crate) fn from_node(node: &Node<'_>) -> Result<Self> {
        Ok(Self {
            timestamp_ms: node.required("timestamp-ms")?.long()?,
            snapshot_id: node.required("snapshot-id")?.long()?,
        })
    }

    pub(crate) fn to_json(self) -> Value {
        ObjectWriter::default()
            .put("timestamp-ms", self.timestamp_ms)
            .put("snapshot-id", self.snapshot_id)
            .finish(&Map::new())
    }
}

impl MetadataLogEntry {
    pub(crate) fn from_node(node: &Node<'_>) -> Result<Self> {
        Ok(Self {
            timestamp_ms: node.required("timestamp-ms")?.long()?,
            metadata_file: node.required("metadata-file")?.text()?.to_owned(),
        })
    }

    pub(crate) fn to_json(&self) -> Value {
        ObjectWriter::default()
            .put("timestamp-ms", self.timestamp_ms)
            .put("metadata-file", self.metadata_file.as_str())
            .finish(&Map::new())
    }
}
