//! The files of statistics that table metadata lists; informational, a table reads without them.
//! Spec: "Table Statistics", "Partition Statistics".

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::json::{Node, ObjectWriter};
use crate::error::Result;

const STATISTICS_KEYS: &[&str] = &[
    "snapshot-id",
    "statistics-path",
    "file-size-in-bytes",
    "file-footer-size-in-bytes",
    "key-metadata",
    "blob-metadata",
];
const BLOB_KEYS: &[&str] = &[
    "type",
    "snapshot-id",
    "sequence-number",
    "fields",
    "properties",
];
const PARTITION_STATISTICS_KEYS: &[&str] =
    &["snapshot-id", "statistics-path", "file-size-in-bytes"];

/// A Puffin file of statistics about columns.
#[derive(Debug, Clone, PartialEq)]
pub struct StatisticsFile {
    /// The snapshot that it is of.
    pub snapshot_id: i64,
    /// Where it is.
    pub statistics_path: String,
    /// Its size.
    pub file_size_in_bytes: i64,
    /// The size of its whole footer.
    pub file_footer_size_in_bytes: i64,
    /// What it takes to decrypt it, in base64.
    pub key_metadata: Option<String>,
    /// What is in it.
    pub blob_metadata: Vec<BlobMetadata>,
    /// Keys this version does not know, kept through a rewrite.
    pub unknown: Map<String, Value>,
}

/// One statistic in a Puffin file.
#[derive(Debug, Clone, PartialEq)]
pub struct BlobMetadata {
    /// The kind of statistic.
    pub blob_type: String,
    /// The snapshot that it was computed from.
    pub snapshot_id: i64,
    /// That snapshot's sequence number.
    pub sequence_number: i64,
    /// The fields that it is about, in order.
    pub fields: Vec<i32>,
    /// More about it.
    pub properties: BTreeMap<String, String>,
    /// Keys this version does not know, kept through a rewrite.
    pub unknown: Map<String, Value>,
}

/// A file of row and file counts a partition.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionStatisticsFile {
    /// The snapshot that it is of.
    pub snapshot_id: i64,
    /// Where it is.
    pub statistics_path: String,
    /// Its size.
    pub file_size_in_bytes: i64,
    /// Keys this version does not know, kept through a rewrite.
    pub unknown: Map<String, Value>,
}

impl StatisticsFile {
    pub(crate) fn from_node(node: &Node<'_>) -> Result<Self> {
        let blobs = node.required("blob-metadata")?;
        Ok(Self {
            snapshot_id: node.required("snapshot-id")?.long()?,
            statistics_path: node.required("statistics-path")?.text()?.to_owned(),
            file_size_in_bytes: node.required("file-size-in-bytes")?.long()?,
            file_footer_size_in_bytes: node.required("file-footer-size-in-bytes")?.long()?,
            key_metadata: node.optional_text("key-metadata")?,
            blob_metadata: blobs
                .items()?
                .map(|item| BlobMetadata::from_node(&item))
                .collect::<Result<_>>()?,
            unknown: node.unknown(STATISTICS_KEYS)?,
        })
    }

    pub(crate) fn to_json(&self) -> Value {
        ObjectWriter::default()
            .put("snapshot-id", self.snapshot_id)
            .put("statistics-path", self.statistics_path.as_str())
            .put("file-size-in-bytes", self.file_size_in_bytes)
            .put("file-footer-size-in-bytes", self.file_footer_size_in_bytes)
            .put_some("key-metadata", self.key_metadata.as_deref())
            .put_list(
                "blob-metadata",
                self.blob_metadata.iter().map(BlobMetadata::to_json),
            )
            .finish(&self.unknown)
    }
}

impl BlobMetadata {
    fn from_node(node: &Node<'_>) -> Result<Self> {
        Ok(Self {
            blob_type: node.required("type")?.text()?.to_owned(),
            snapshot_id: node.required("snapshot-id")?.long()?,
            sequence_number: node.required("sequence-number")?.long()?,
            fields: node.required("fields")?.ints()?,
            properties: node.optional_text_map("properties")?,
            unknown: node.unknown(BLOB_KEYS)?,
        })
    }

    fn to_json(&self) -> Value {
        let mut writer = ObjectWriter::default();
        writer
            .put("type", self.blob_type.as_str())
            .put("snapshot-id", self.snapshot_id)
            .put("sequence-number", self.sequence_number)
            .put_list("fields", self.fields.iter().copied());
        if !self.properties.is_empty() {
            writer.put_text_map("properties", &self.properties);
        }
        writer.finish(&self.unknown)
    }
}

impl PartitionStatisticsFile {
    pub(crate) fn from_node(node: &Node<'_>) -> Result<Self> {
        Ok(Self {
            snapshot_id: node.required("snapshot-id")?.long()?,
            statistics_path: node.required("statistics-path")?.text()?.to_owned(),
            file_size_in_bytes: node.required("file-size-in-bytes")?.long()?,
            unknown: node.unknown(PARTITION_STATISTICS_KEYS)?,
        })
    }

    pub(crate) fn to_json(&self) -> Value {
        ObjectWriter::default()
            .put("snapshot-id", self.snapshot_id)
            .put("statistics-path", self.statistics_path.as_str())
            .put("file-size-in-bytes", self.file_size_in_bytes)
            .finish(&self.unknown)
    }
}
