//! Tables as directories of a file system or an object store, without a catalog service.
//! Spec: "File System Tables".

mod file_name;
mod head;
mod resolve;

pub use resolve::{MetadataSelection, ResolvedMetadata, resolve_metadata_file};
