//! Avro object container files as Iceberg's metadata uses them, resolved by field id.
//! Spec: Appendix A "Avro"; Avro specification "Object Container Files" and "Binary Encoding".
//!
//! The codecs are the `apache-avro` crate's. Schemas and values are decoded here, because a
//! manifest comes from outside and must be read by field id: the crate turns a value that ends too
//! early into null, recurses without end on a schema that contains itself, refuses names that
//! other writers give partition fields, and allocates a name for every field of every row.

mod container;
mod decode;
mod known_schemas;
mod schema;

pub use container::{AvroFile, AvroHeader, MAX_BLOCK_BYTES, SYNC_LENGTH};
pub use decode::Decoder;
pub use schema::{Attributes, AvroField, AvroSchema, AvroType, LogicalType};

use crate::error::{Error, ErrorKind};

/// An error about content whose file is named by the caller, through [`Error::in_file`].
pub(super) fn corrupt(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}

/// Names the field that an error arose in.
pub(super) fn in_field(error: Error, name: &str) -> Error {
    Error::new(
        error.kind(),
        format!("field \"{name}\": {}", error.message()),
    )
}

#[cfg(test)]
mod tests;
