//! From a foreign table's options to the Iceberg table they name.

use std::sync::Arc;

use iceberg_core::spec::{Schema, TableMetadata};
use iceberg_core::{Error, Result};

use crate::options::TableOptions;

/// The names of the tables in a directory.
pub async fn list_tables(directory: String) -> Result<Vec<String>> {
    Err(Error::not_supported(directory))
}

/// The current metadata of the table that these options name.
pub async fn load_metadata(options: TableOptions) -> Result<Arc<TableMetadata>> {
    Err(Error::not_supported(options.location))
}

/// The schema that new readers of the table see.
pub fn current_schema(metadata: &TableMetadata) -> Result<&Schema> {
    metadata.current_schema().map(Arc::as_ref).ok_or_else(|| {
        Error::corrupt(
            &metadata.location,
            "the current schema is not in its metadata",
        )
    })
}
