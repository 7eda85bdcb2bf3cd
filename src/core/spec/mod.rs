//! The Iceberg table spec as types: what its JSON and Avro files say, parsed and validated.
//! Stands on nothing but the error type.

mod calendar;
#[cfg(test)]
mod corpus_tests;
mod json;
pub mod name_mapping;
pub mod partition;
pub mod schema;
pub mod snapshot;
pub mod sort_order;
pub mod statistics_file;
pub mod table_metadata;
mod table_metadata_json;
pub mod transform;
mod type_json;
pub mod types;
pub mod value;
mod value_json;

pub use name_mapping::NameMapping;
pub use partition::{PartitionField, PartitionSpec};
pub use schema::Schema;
pub use snapshot::{Snapshot, SnapshotManifests, SnapshotReference};
pub use sort_order::SortOrder;
pub use table_metadata::TableMetadata;
pub use table_metadata_json::MAX_FORMAT_VERSION;
pub use transform::Transform;
pub use types::{ListType, MapType, NestedField, PrimitiveType, StructType, Type};
pub use value::PrimitiveValue;
