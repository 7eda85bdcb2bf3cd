//! The Iceberg table spec as types: what its JSON and Avro files say, parsed and validated.
//! Stands on nothing but the error type.

pub mod avro;
pub mod data_file;
pub mod file_stats;
pub mod manifest;
pub mod manifest_fields;
pub mod manifest_list;
pub mod partition_tuple;
pub mod schema;
pub mod snapshot;
pub mod table_metadata;
#[cfg(test)]
pub(crate) mod test_files;
pub mod types;
pub mod value;

pub use data_file::{DataContent, DataFile, FileFormat};
pub use file_stats::{ColumnStats, FileStats};
pub use manifest::{ManifestEntry, ManifestEntryStatus, ManifestHeader, ManifestReader};
pub use manifest_list::{FieldSummary, ManifestContent, ManifestFile, read_manifest_list};
pub use partition_tuple::{Partition, PartitionFieldType};
pub use schema::Schema;
pub use snapshot::{Snapshot, SnapshotManifests, SnapshotReference};
pub use table_metadata::TableMetadata;
pub use types::{ListType, MapType, NestedField, PrimitiveType, StructType, Type};
pub use value::PrimitiveValue;
