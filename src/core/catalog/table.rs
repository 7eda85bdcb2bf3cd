//! A table opened by its location: current metadata and a reader for its files.
//! Spec: "Table Metadata"; the rules for paths are this program's own.

use std::sync::Arc;

use super::path::{MetadataSelection, resolve_metadata_file};
use crate::error::Result;
use crate::spec::TableMetadata;
use crate::storage::{Location, SharedFileReader, Storage, StorageCounters, TableFiles};

/// Which table to open and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// The table's directory, or its metadata file.
    pub location: String,
    /// How the current metadata file is chosen.
    pub selection: MetadataSelection,
    /// Whether the table may have been moved or copied: paths under the location that its metadata
    /// declares then mean files under the real one.
    pub allow_moved_paths: bool,
    /// A directory in which the table's files may lie besides its own.
    pub warehouse: Option<String>,
    /// Further such directories.
    pub allowed_locations: Vec<String>,
}

/// A table with its current metadata.
#[derive(Debug, Clone)]
pub struct Table {
    metadata: Arc<TableMetadata>,
    metadata_file: Location,
    location: Location,
    files: SharedFileReader,
    counters: Arc<StorageCounters>,
}

impl Table {
    /// What the current metadata file says.
    pub fn metadata(&self) -> &Arc<TableMetadata> {
        &self.metadata
    }

    /// The current metadata file.
    pub fn metadata_file(&self) -> &Location {
        &self.metadata_file
    }

    /// The table's real directory, which is not the one its metadata declares if it was moved.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Reads what the metadata names.
    pub fn files(&self) -> &SharedFileReader {
        &self.files
    }

    /// How much was read, for the choice of the metadata file too.
    pub fn counters(&self) -> &Arc<StorageCounters> {
        &self.counters
    }
}

/// Opens the table at a location.
///
/// # Errors
/// Those of [`resolve_metadata_file`]; `Corrupt` or `NotSupported` for metadata that cannot be
/// understood.
pub async fn open_table(options: TableOptions) -> Result<Table> {
    let storage = Storage::new();
    let location = Location::parse(&options.location)?;
    let places = parse_places(options.warehouse.as_deref(), &options.allowed_locations)?;
    let found = resolve_metadata_file(&storage, &location, &options.selection, &places).await?;
    let metadata = TableMetadata::parse(&found.file.to_string(), &found.bytes)?;
    let counters = Arc::clone(storage.counters());
    let files = TableFiles::new(
        storage,
        found.reach,
        &metadata.location,
        options.allow_moved_paths,
    );
    Ok(Table {
        metadata: Arc::new(metadata),
        metadata_file: found.file,
        location: found.table,
        files: Arc::new(files),
        counters,
    })
}

/// The places besides its own directory that a table may read.
pub(super) fn parse_places(
    warehouse: Option<&str>,
    allowed_locations: &[String],
) -> Result<Vec<Location>> {
    let allowed = allowed_locations.iter().map(String::as_str);
    warehouse
        .into_iter()
        .chain(allowed)
        .map(Location::parse)
        .collect()
}
