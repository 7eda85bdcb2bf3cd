//! The Iceberg table spec as types: what its JSON and Avro files say, parsed and validated.
//! Stands on nothing but the error type.

pub mod schema;
pub mod snapshot;
pub mod table_metadata;
pub mod types;
pub mod value;

pub use schema::Schema;
pub use snapshot::{Snapshot, SnapshotManifests, SnapshotReference};
pub use table_metadata::TableMetadata;
pub use types::{ListType, MapType, NestedField, PrimitiveType, StructType, Type};
pub use value::PrimitiveValue;
