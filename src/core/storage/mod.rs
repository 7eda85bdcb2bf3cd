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
mod metadata_cache;
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
pub use metadata_cache::{AnyParsed, AnyParser, MetadataCache, Parser};
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

    /// What `parser` makes of the whole file, perhaps at an earlier time: see [`read_parsed`].
    async fn read_any_parsed(
        &self,
        path: &RawPath,
        parser: Arc<dyn AnyParser>,
    ) -> Result<AnyParsed> {
        let content = self.read(path).await?;
        local::blocking(move || Ok(parser.parse_any(content)?.0)).await
    }

    /// What is in memory of these files: see [`kept_parsed`].
    async fn kept_any_parsed(
        &self,
        wanted: Vec<(RawPath, Arc<dyn AnyParser>)>,
    ) -> Result<Vec<Option<AnyParsed>>> {
        Ok(vec![None; wanted.len()])
    }
}

/// What `parser` makes of the whole file `path`. Where `files` has a cache, the file is read and parsed only if it has
/// changed since the last time; the parser works on a thread of its own.
///
/// # Errors
/// Those of reading a file, and of the parser.
pub async fn read_parsed<P: Parser>(
    files: &dyn FileReader,
    path: &RawPath,
    parser: P,
) -> Result<Arc<P::Parsed>> {
    read_parsed_by(files, path, Arc::new(parser)).await
}

/// As [`read_parsed`], by a parser that is shared.
///
/// # Errors
/// Those of [`read_parsed`].
pub async fn read_parsed_by<P: Parser>(
    files: &dyn FileReader,
    path: &RawPath,
    parser: Arc<P>,
) -> Result<Arc<P::Parsed>> {
    metadata_cache::typed::<P>(files.read_any_parsed(path, parser).await?)
}

/// What [`read_parsed`] would give without reading, for each of these files; `None` for all others. To look for many at
/// once takes much less time than for each by itself.
///
/// # Errors
/// None that say something of a file.
pub async fn kept_parsed<P: Parser>(
    files: &dyn FileReader,
    wanted: &[(RawPath, Arc<P>)],
) -> Result<Vec<Option<Arc<P::Parsed>>>> {
    let wanted: Vec<(RawPath, Arc<dyn AnyParser>)> = wanted
        .iter()
        .map(|(path, parser)| (path.clone(), Arc::clone(parser) as Arc<dyn AnyParser>))
        .collect();
    let kept = files.kept_any_parsed(wanted).await?;
    kept.into_iter()
        .map(|kept| kept.map(metadata_cache::typed::<P>).transpose())
        .collect()
}

/// A shared [`FileReader`].
pub type SharedFileReader = Arc<dyn FileReader>;
