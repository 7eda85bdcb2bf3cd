//! The door to all stores: picks the backend by scheme, joins ranges, counts requests and bytes.
//! No spec section: every backend is a room of its own.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use object_store::coalesce_ranges;
use object_store::local::LocalFileSystem;

use super::directory::Directory;
use super::local::{self, LocalFile, LocalVersions, blocking};
use super::location::Location;
use super::metadata_cache::{AnyParsed, AnyParser, MetadataCache, Parser, typed};
use super::reach::ResolvedPath;
use crate::error::{Error, Result};

/// Files that are read as a whole are metadata, manifests and delete files; what claims to be
/// larger than this (1 GiB) is refused before memory is taken for it.
const LARGEST_WHOLE_FILE: u64 = 1 << 30;

/// No row group is larger than this (4 GiB); a sparse file can claim any size, and to fail for
/// want of memory would end the process.
const LARGEST_REQUEST: u64 = 4 << 30;

/// How much was read, shared by all who read for one scan.
#[derive(Debug, Default)]
pub struct StorageCounters {
    bytes_read: AtomicU64,
    requests: AtomicU64,
}

impl StorageCounters {
    /// Bytes that came from the store, those in gaps between joined ranges included.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Reads and listings sent to the store.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn count(&self, bytes: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// All stores that a scan reads from. A clone shares the counters.
#[derive(Debug, Clone, Default)]
pub struct Storage {
    local: Arc<LocalFileSystem>,
    counters: Arc<StorageCounters>,
    cache: Option<Arc<MetadataCache>>,
}

impl Storage {
    /// Storage whose counters stand at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Storage that keeps parsed files in this cache.
    pub fn with_cache(cache: Option<Arc<MetadataCache>>) -> Self {
        Self {
            cache,
            ..Self::default()
        }
    }

    /// What was read so far.
    pub fn counters(&self) -> &Arc<StorageCounters> {
        &self.counters
    }

    /// The size of a file in bytes.
    pub async fn size(&self, path: &ResolvedPath) -> Result<u64> {
        Ok(self.locate(path).await?.size())
    }

    /// The whole file.
    ///
    /// # Errors
    /// Besides those of [`Storage::read_ranges`], `Corrupt` for a file of more than 1 GiB.
    pub async fn read(&self, path: &ResolvedPath) -> Result<Bytes> {
        let file = self.locate(path).await?;
        self.read_whole(&file, path).await
    }

    /// What `parser` makes of the whole file: kept from an earlier time where the file is still the same. Whether the
    /// file is there and within reach is looked at each time.
    ///
    /// # Errors
    /// Those of [`Storage::read`] and of the parser.
    pub async fn read_parsed<P: Parser>(
        &self,
        path: &ResolvedPath,
        parser: P,
    ) -> Result<Arc<P::Parsed>> {
        typed::<P>(self.read_any_parsed(path, Arc::new(parser)).await?)
    }

    /// As [`Storage::read_parsed`].
    pub(super) async fn read_any_parsed(
        &self,
        path: &ResolvedPath,
        parser: Arc<dyn AnyParser>,
    ) -> Result<AnyParsed> {
        let file = self.locate(path).await?;
        let cache = self.cache.clone().zip(file.version());
        if let Some((cache, version)) = &cache
            && let Some(parsed) = cache.get(version, parser.as_ref())
        {
            return Ok(parsed);
        }
        let content = self.read_whole(&file, path).await?;
        blocking(move || {
            let (parsed, size) = parser.parse_any(content)?;
            if let Some((cache, version)) = cache {
                cache.put(version, parser.as_ref(), Arc::clone(&parsed), size);
            }
            Ok(parsed)
        })
        .await
    }

    /// What is in memory of files that are still the same.
    pub(super) async fn kept_any_parsed(
        &self,
        wanted: Vec<Option<(ResolvedPath, Arc<dyn AnyParser>)>>,
    ) -> Result<Vec<Option<AnyParsed>>> {
        let Some(cache) = self.cache.clone().filter(|cache| cache.size() > 0) else {
            return Ok(vec![None; wanted.len()]);
        };
        blocking(move || {
            let mut versions = LocalVersions::default();
            let kept = wanted.iter().map(|wanted| {
                let (path, parser) = wanted.as_ref()?;
                require_local(path.location()).ok()?;
                cache.get(&versions.of(path)?, parser.as_ref())
            });
            Ok(kept.collect())
        })
        .await
    }

    async fn read_whole(&self, file: &LocalFile, path: &ResolvedPath) -> Result<Bytes> {
        if file.size() > LARGEST_WHOLE_FILE {
            return Err(Error::corrupt(
                path.location(),
                format!(
                    "its size of {} bytes is more than a metadata file can have",
                    file.size()
                ),
            ));
        }
        self.fetch(file, path, 0..file.size()).await
    }

    /// The first bytes of a file, at most `length` of them.
    pub async fn read_start(&self, path: &ResolvedPath, length: u64) -> Result<Bytes> {
        let file = self.locate(path).await?;
        self.fetch(&file, path, 0..file.size().min(length)).await
    }

    /// Several ranges of a file, in their order; near ones are read together.
    ///
    /// # Errors
    /// `FileNotFound`, `PermissionDenied` or `Unreachable` naming the file; `Corrupt` for a range
    /// that is reversed or ends after the file; `NotSupported` for more than 4 GiB at once and for a
    /// store that is not there yet.
    pub async fn read_ranges(
        &self,
        path: &ResolvedPath,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        let file = self.locate(path).await?;
        if let Some(range) = ranges
            .iter()
            .find(|range| range.start > range.end || range.end > file.size())
        {
            return Err(Error::corrupt(
                path.location(),
                format!(
                    "bytes {} to {} are wanted from a file of {} bytes",
                    range.start,
                    range.end,
                    file.size()
                ),
            ));
        }
        let wanted = ranges.iter().fold(0_u64, |sum, range| {
            sum.saturating_add(range.end - range.start)
        });
        if wanted > LARGEST_REQUEST {
            return Err(Error::not_supported(format!(
                "file \"{}\": {wanted} bytes are wanted at once, more than {LARGEST_REQUEST}",
                path.location()
            )));
        }
        let fetch = |range| self.fetch(&file, path, range);
        coalesce_ranges(ranges, fetch, local::COALESCE_GAP).await
    }

    /// The names in a directory that `wanted` accepts.
    pub async fn list(&self, path: &ResolvedPath, wanted: fn(&str) -> bool) -> Result<Directory> {
        require_local(path.location())?;
        let directory = local::list(path, wanted).await?;
        self.counters.count(0);
        Ok(directory)
    }

    async fn locate(&self, path: &ResolvedPath) -> Result<LocalFile> {
        require_local(path.location())?;
        LocalFile::locate(Arc::clone(&self.local), path).await
    }

    async fn fetch(
        &self,
        file: &LocalFile,
        path: &ResolvedPath,
        range: Range<u64>,
    ) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let bytes = file.fetch(path.location(), range).await?;
        self.counters.count(bytes.len());
        Ok(bytes)
    }
}

fn require_local(location: &Location) -> Result<()> {
    if location.is_local() {
        return Ok(());
    }
    Err(Error::not_supported(format!(
        "locations of scheme \"{}\" cannot be read yet: \"{location}\"",
        location.scheme()
    ))
    .with_hint("Only local directories, /directory/table or file:///directory/table, can be read."))
}
