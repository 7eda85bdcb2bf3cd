//! The Iceberg table spec as types: what its JSON and Avro files say, parsed and validated.
//! Stands on nothing but the error type.

pub mod schema;
pub mod types;

pub use schema::Schema;
pub use types::{ListType, MapType, NestedField, PrimitiveType, StructType, Type};
