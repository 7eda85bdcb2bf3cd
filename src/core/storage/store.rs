//! The door to all stores: picks the backend by scheme, joins ranges, counts requests and bytes.
//! No spec section: every backend is a room of its own.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use object_store::coalesce_ranges;
use object_store::local::LocalFileSystem;

use super::directory::Directory;
use super::local::{self, LocalFile};
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
}

/// A file, found or at least named.
enum File<'a> {
    Local(LocalFile, &'a ResolvedPath),
    Remote(RemoteFile<'a>),
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
        match self.locate(path).await? {
            File::Local(file, _) if file.size() > LARGEST_WHOLE_FILE => Err(Error::corrupt(
                path.location(),
                format!(
                    "its size of {} bytes is more than a metadata file can have",
                    file.size()
                ),
            )),
            File::Local(file, _) => {
                let size = file.size();
                self.fetch(&File::Local(file, path), 0..size).await
            }
            File::Remote(file) => self.counted(file.read(LARGEST_WHOLE_FILE).await),
        }
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
