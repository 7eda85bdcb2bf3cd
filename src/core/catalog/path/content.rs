//! The content of a metadata file: what chooses between candidates at once, the rest when it is wanted.
//! Spec: "Table Metadata".

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::head::{HeadOrReason, MetadataHead};
use crate::error::Result;
use crate::spec::TableMetadata;
use crate::storage::Parser;

/// About how many bytes of memory metadata takes for each of its text.
const MEMORY_PER_BYTE: usize = 4;
/// The same where the text is packed with gzip.
const MEMORY_PER_PACKED_BYTE: usize = 40;

/// A metadata file that was read.
#[derive(Debug)]
pub struct MetadataContent {
    bytes: Bytes,
    head: HeadOrReason,
    metadata: OnceLock<Arc<TableMetadata>>,
}

impl MetadataContent {
    fn new(bytes: Bytes) -> Self {
        Self {
            head: MetadataHead::of_file(&bytes),
            bytes,
            metadata: OnceLock::new(),
        }
    }

    /// What chose it.
    pub(super) fn head(&self) -> &HeadOrReason {
        &self.head
    }

    /// What it says, parsed once for all who hold it. `file` names it in messages.
    ///
    /// # Errors
    /// Those of [`TableMetadata::parse`].
    pub fn metadata(&self, file: &str) -> Result<Arc<TableMetadata>> {
        if let Some(metadata) = self.metadata.get() {
            return Ok(Arc::clone(metadata));
        }
        let metadata = Arc::new(TableMetadata::parse(file, &self.bytes)?);
        Ok(Arc::clone(self.metadata.get_or_init(|| metadata)))
    }
}

/// Reads metadata files.
pub(super) struct MetadataParser;

impl Parser for MetadataParser {
    type Parsed = MetadataContent;
    // `v1.metadata.json` may be another after a table was made anew.
    const UNIQUE_NAMES: bool = false;

    fn parse(&self, content: Bytes) -> Result<MetadataContent> {
        Ok(MetadataContent::new(content))
    }

    fn size(content: &MetadataContent) -> usize {
        let per_byte = if content.bytes.starts_with(&[0x1f, 0x8b]) {
            MEMORY_PER_PACKED_BYTE
        } else {
            MEMORY_PER_BYTE
        };
        content.bytes.len().saturating_mul(1 + per_byte)
    }

    fn accepts(&self, _: &MetadataContent) -> bool {
        true
    }
}
