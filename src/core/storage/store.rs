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
use super::metadata_cache::{AnyParsed, AnyParser, FileVersion, MetadataCache, Parser, typed};
use super::reach::ResolvedPath;
use super::remote::{self, RemoteFile};
use super::settings::StoreSettings;
use super::stores;
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
    settings: Arc<StoreSettings>,
    counters: Arc<StorageCounters>,
    cache: Option<Arc<MetadataCache>>,
}

/// A file, found or at least named.
enum File<'a> {
    Local(LocalFile, &'a ResolvedPath),
    Remote(RemoteFile<'a>),
}

impl File<'_> {
    /// Which file it is, and in which state; `None` where that cannot be told for sure.
    fn version(&self, parser: &dyn AnyParser) -> Option<FileVersion> {
        match self {
            File::Local(file, _) => file.version(),
            File::Remote(file) => parser.has_unique_names().then(|| file.version()),
        }
    }
}

impl Storage {
    /// Storage whose counters stand at zero, without settings for remote stores.
    pub fn new() -> Self {
        Self::default()
    }

    /// Storage whose counters stand at zero.
    pub fn with_settings(settings: StoreSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            ..Self::default()
        }
    }

    /// The same, which keeps parsed files in this cache.
    #[must_use]
    pub fn with_cache(self, cache: Option<Arc<MetadataCache>>) -> Self {
        Self { cache, ..self }
    }

    /// What was read so far.
    pub fn counters(&self) -> &Arc<StorageCounters> {
        &self.counters
    }

    /// The size of a file in bytes.
    pub async fn size(&self, path: &ResolvedPath) -> Result<u64> {
        match self.locate(path).await? {
            File::Local(file, _) => Ok(file.size()),
            File::Remote(file) => {
                let size = file.size().await;
                self.counters.count(0);
                size
            }
        }
    }

    /// The whole file.
    ///
    /// # Errors
    /// Besides those of [`Storage::read_ranges`], `Corrupt` for a file of more than 1 GiB.
    pub async fn read(&self, path: &ResolvedPath) -> Result<Bytes> {
        let file = self.locate(path).await?;
        self.read_whole(&file).await
    }

    async fn read_whole(&self, file: &File<'_>) -> Result<Bytes> {
        match file {
            File::Local(found, path) if found.size() > LARGEST_WHOLE_FILE => Err(Error::corrupt(
                path.location(),
                format!(
                    "its size of {} bytes is more than a metadata file can have",
                    found.size()
                ),
            )),
            File::Local(found, _) => self.fetch(file, 0..found.size()).await,
            File::Remote(found) => self.counted(found.read(LARGEST_WHOLE_FILE).await),
        }
    }

    /// What `parser` makes of the whole file: kept from an earlier time where the file is still the same. Of a local
    /// file it is looked at each time whether it is there, within reach and unchanged. In a remote store, that would
    /// take as long as to read it: files are kept there whose names are never used again, for who comes with the same
    /// settings.
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
        let cache = self.cache.clone().zip(file.version(parser.as_ref()));
        if let Some((cache, version)) = &cache
            && let Some(parsed) = cache.get(version, parser.as_ref())
        {
            return Ok(parsed);
        }
        let content = self.read_whole(&file).await?;
        blocking(move || {
            let (parsed, size) = parser.parse_any(content)?;
            if let Some((cache, version)) = cache {
                cache.put(version, parser.as_ref(), Arc::clone(&parsed), size);
            }
            Ok(parsed)
        })
        .await
    }

    /// What [`Storage::read_any_parsed`] would give without reading.
    pub(super) async fn kept_any_parsed(
        &self,
        wanted: Vec<Option<(ResolvedPath, Arc<dyn AnyParser>)>>,
    ) -> Result<Vec<Option<AnyParsed>>> {
        let Some(cache) = self.cache.clone().filter(|cache| cache.size() > 0) else {
            return Ok(vec![None; wanted.len()]);
        };
        let settings = Arc::clone(&self.settings);
        blocking(move || {
            let mut versions = LocalVersions::default();
            let kept = wanted.iter().map(|wanted| {
                let (path, parser) = wanted.as_ref()?;
                let location = path.location();
                let version = if location.is_local() {
                    versions.of(path)
                } else {
                    let store = stores::find(location, &settings).ok()?;
                    let file = RemoteFile::new(store, location).ok()?;
                    File::Remote(file).version(parser.as_ref())
                };
                cache.get(&version?, parser.as_ref())
            });
            Ok(kept.collect())
        })
        .await
    }

    /// The first bytes of a file, at most `length` of them.
    pub async fn read_start(&self, path: &ResolvedPath, length: u64) -> Result<Bytes> {
        match self.locate(path).await? {
            File::Local(file, _) => {
                let end = file.size().min(length);
                self.fetch(&File::Local(file, path), 0..end).await
            }
            File::Remote(_) if length == 0 => Ok(Bytes::new()),
            File::Remote(file) => self.counted(file.read_start(length).await),
        }
    }

    /// Several ranges of a file, in their order; near ones are read together.
    ///
    /// # Errors
    /// `FileNotFound`, `PermissionDenied`, `Unauthenticated` or `Unreachable` naming the file; `Corrupt` for a
    /// range that is reversed or ends after the file; `NotSupported` for more than 4 GiB at once and for a store
    /// that there is none of.
    pub async fn read_ranges(
        &self,
        path: &ResolvedPath,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        let file = self.locate(path).await?;
        // A remote store says how large the file is when it gives the bytes.
        let (size, gap) = match &file {
            File::Local(file, _) => (file.size(), local::COALESCE_GAP),
            File::Remote(_) => (u64::MAX, remote::COALESCE_GAP),
        };
        if let Some(range) = ranges
            .iter()
            .find(|range| range.start > range.end || range.end > size)
        {
            return Err(Error::corrupt(
                path.location(),
                format!(
                    "bytes {} to {} are wanted from a file of {size} bytes",
                    range.start, range.end
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
        coalesce_ranges(ranges, |range| self.fetch(&file, range), gap).await
    }

    /// The names in a directory that `wanted` accepts.
    pub async fn list(&self, path: &ResolvedPath, wanted: fn(&str) -> bool) -> Result<Directory> {
        let location = path.location();
        let directory = if location.is_local() {
            local::list(path, wanted).await?
        } else {
            let store = stores::find(location, &self.settings)?;
            remote::list(&store, location, wanted).await?
        };
        self.counters.count(0);
        Ok(directory)
    }

    async fn locate<'a>(&self, path: &'a ResolvedPath) -> Result<File<'a>> {
        let location = path.location();
        if location.is_local() {
            let file = LocalFile::locate(Arc::clone(&self.local), path).await?;
            return Ok(File::Local(file, path));
        }
        let store = stores::find(location, &self.settings)?;
        Ok(File::Remote(RemoteFile::new(store, location)?))
    }

    async fn fetch(&self, file: &File<'_>, range: Range<u64>) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        self.counted(match file {
            File::Local(file, path) => file.fetch(path.location(), range).await,
            File::Remote(file) => file.fetch(range).await,
        })
    }

    fn counted(&self, read: Result<Bytes>) -> Result<Bytes> {
        let bytes = read?;
        self.counters.count(bytes.len());
        Ok(bytes)
    }
}
