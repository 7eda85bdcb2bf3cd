//! From the paths that metadata names to bytes: one object store a backend, behind one door.
//! Stands on nothing but the error type.

mod addresses;
mod azure;
mod client;
mod directory;
mod fault;
mod gcs;
mod http;
mod local;
mod location;
mod reach;
mod remote;
mod s3;
mod settings;
mod store;
mod stores;
mod table_files;

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::error::Result;

pub use directory::{Directory, DirectoryEntry};
pub use location::{Backend, Location};
pub use reach::{Reach, ResolvedPath};
pub use settings::StoreSettings;
pub use store::{Storage, StorageCounters};
pub use table_files::TableFiles;

/// A path exactly as the metadata writes it, byte for byte, not yet checked or mapped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RawPath(pub String);

impl std::fmt::Display for RawPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads the files of one table. Resolves each path that metadata names (moved tables), refuses
/// those that lie where the table may not reach, and counts what it reads.
#[async_trait]
pub trait FileReader: Send + Sync + std::fmt::Debug {
    /// The whole file.
    async fn read(&self, path: &RawPath) -> Result<Bytes>;

    /// Several byte ranges of a file, coalesced into few requests.
    async fn read_ranges(&self, path: &RawPath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// The size of a file in bytes.
    async fn size(&self, path: &RawPath) -> Result<u64>;
}

/// A shared [`FileReader`].
pub type SharedFileReader = Arc<dyn FileReader>;
