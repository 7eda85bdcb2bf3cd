//! The local file system: from a resolved path to a regular file and its bytes.
//! Spec: "Paths in Metadata"; the name of a file is taken byte for byte.

use std::fs;
use std::io::ErrorKind as IoErrorKind;
use std::ops::Range;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;

use super::directory::{Directory, DirectoryEntry};
use super::location::Location;
use super::reach::ResolvedPath;
use crate::error::{Error, ErrorKind, Result};

/// A gap between two ranges that is cheaper to read than to skip: about what the kernel reads
/// ahead anyway.
pub(super) const COALESCE_GAP: u64 = 64 * 1024;

/// A regular file that a table may read, all symbolic links followed.
#[derive(Debug)]
pub(super) struct LocalFile {
    path: PathBuf,
    /// How the object store calls the file; `None` where it has no name for it.
    object_path: Option<ObjectPath>,
    size: u64,
    store: Arc<LocalFileSystem>,
}

impl LocalFile {
    /// Finds the file and checks what it is, without opening it: to open a named pipe would wait
    /// for somebody to write.
    pub(super) async fn locate(store: Arc<LocalFileSystem>, path: &ResolvedPath) -> Result<Self> {
        let resolved = path.clone();
        blocking(move || {
            let location = resolved.location();
            let path = real_path(&resolved)?;
            let metadata = fs::metadata(&path).map_err(|error| io_error(location, error))?;
            if !metadata.is_file() {
                return Err(not_a_file(location, metadata.file_type()));
            }
            Ok(Self {
                object_path: object_path(&store, &path),
                size: metadata.len(),
                path,
                store,
            })
        })
        .await
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The bytes of `range`, which must lie within the size.
    pub(super) async fn fetch(&self, location: &Location, range: Range<u64>) -> Result<Bytes> {
        let wanted = range.end - range.start;
        let bytes = match &self.object_path {
            Some(path) => self
                .store
                .get_ranges(path, std::slice::from_ref(&range))
                .await
                .map_err(|error| store_error(location, error))?
                .pop()
                .unwrap_or_default(),
            None => self.fetch_directly(location, range).await?,
        };
        if bytes.len() as u64 != wanted {
            return Err(Error::corrupt(location, "it shrank while it was read"));
        }
        Ok(bytes)
    }

    /// Reads without the object store, which has no name for files like `a#1` (its own temporary
    /// files) or with control characters in their names.
    async fn fetch_directly(&self, location: &Location, range: Range<u64>) -> Result<Bytes> {
        let (path, location) = (self.path.clone(), location.clone());
        blocking(move || {
            let length = usize::try_from(range.end - range.start)
                .map_err(|_| Error::corrupt(&location, "it is larger than memory can be"))?;
            let mut bytes = vec![0; length];
            fs::File::open(path)
                .and_then(|file| file.read_exact_at(&mut bytes, range.start))
                .map_err(|error| io_error(&location, error))?;
            Ok(bytes.into())
        })
        .await
    }
}

/// What a directory holds, limited to names that `wanted` accepts; in no particular order.
///
/// Read from the file system itself: the object store leaves out names like `a#1` and fails for
/// the whole directory when one name is not UTF-8.
pub(super) async fn list(path: &ResolvedPath, wanted: fn(&str) -> bool) -> Result<Directory> {
    let resolved = path.clone();
    blocking(move || {
        let location = resolved.location();
        let path = real_path(&resolved)?;
        let mut directory = Directory::default();
        for entry in fs::read_dir(&path).map_err(|error| io_error(location, error))? {
            let entry = entry.map_err(|error| io_error(location, error))?;
            let name = match entry.file_name().into_string() {
                Ok(name) => name,
                Err(name) => {
                    directory.not_utf8.push(name.to_string_lossy().into_owned());
                    continue;
                }
            };
            if !wanted(&name) {
                continue;
            }
            // Through a symbolic link; a broken one, or a file removed meanwhile, is not there.
            let Ok(metadata) = fs::metadata(path.join(&name)) else {
                continue;
            };
            directory.entries.push(DirectoryEntry {
                name,
                is_directory: metadata.is_dir(),
                is_file: metadata.is_file(),
                size: metadata.len(),
                modified: metadata.modified().ok(),
                version: format!(
                    "{}-{}-{}.{}-{}.{}",
                    metadata.dev(),
                    metadata.ino(),
                    metadata.mtime(),
                    metadata.mtime_nsec(),
                    metadata.ctime(),
                    metadata.ctime_nsec()
                ),
            });
        }
        Ok(directory)
    })
    .await
}

fn real_path(resolved: &ResolvedPath) -> Result<PathBuf> {
    let location = resolved.location();
    let real = fs::canonicalize(location.path()).map_err(|error| io_error(location, error))?;
    resolved.check_real_path(&real)?;
    Ok(real)
}

/// The object store's name for an absolute path, if there is one that leads back to the same bytes.
fn object_path(store: &LocalFileSystem, path: &Path) -> Option<ObjectPath> {
    let object_path = ObjectPath::parse(path.to_str()?).ok()?;
    let back = store.path_to_filesystem(&object_path).ok()?;
    // Compared as text: paths are equal with and without a trailing slash, and a name like `C:`
    // comes back with one.
    (back.as_os_str() == path.as_os_str()).then_some(object_path)
}

/// Runs file system calls where they do not hold up other work, or right here without a runtime.
async fn blocking<T, F>(work: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T> + Send + 'static,
{
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(|error| {
            Error::new(ErrorKind::Internal, "reading local files was interrupted")
                .with_source(error)
        })?,
        Err(_) => work(),
    }
}

fn not_a_file(location: &Location, file_type: fs::FileType) -> Error {
    let what = if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a named pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Error::new(
        ErrorKind::FileNotFound,
        format!("\"{location}\" is {what}, not a file"),
    )
}

fn io_error(location: &Location, error: std::io::Error) -> Error {
    let (kind, what) = match error.kind() {
        IoErrorKind::NotFound | IoErrorKind::NotADirectory | IoErrorKind::InvalidFilename => {
            (ErrorKind::FileNotFound, "does not exist".to_owned())
        }
        IoErrorKind::PermissionDenied => (
            ErrorKind::PermissionDenied,
            "cannot be read: the operating system denies access".to_owned(),
        ),
        IoErrorKind::UnexpectedEof => (ErrorKind::Corrupt, "shrank while it was read".to_owned()),
        _ => (ErrorKind::Unreachable, format!("cannot be read: {error}")),
    };
    let error = Error::new(kind, format!("file \"{location}\" {what}")).with_source(error);
    match kind {
        ErrorKind::PermissionDenied => {
            error.with_hint("Let the operating system user that runs the server read it.")
        }
        _ => error,
    }
}

fn store_error(location: &Location, error: object_store::Error) -> Error {
    // The object store wraps the operating system's error one or two levels deep.
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(current) = cause {
        if let Some(io) = current.downcast_ref::<std::io::Error>() {
            let io = match io.raw_os_error() {
                Some(code) => std::io::Error::from_raw_os_error(code),
                None => std::io::Error::new(io.kind(), io.to_string()),
            };
            return io_error(location, io);
        }
        cause = current.source();
    }
    Error::new(
        ErrorKind::Unreachable,
        format!("file \"{location}\" cannot be read: {error}"),
    )
    .with_source(error)
}
