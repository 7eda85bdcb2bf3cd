//! The local file system: from a resolved path to a regular file and its bytes.
//! Spec: "Paths in Metadata"; the name of a file is taken byte for byte.

use std::collections::HashMap;
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

use super::directory::{Directory, DirectoryEntry, is_settled};
use super::fault::error_chain;
use super::location::Location;
use super::metadata_cache::FileVersion;
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
    /// `None` where a later change might not show in it.
    version: Option<String>,
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
                version: is_settled(metadata.modified().ok()).then(|| version(&metadata)),
                path,
                store,
            })
        })
        .await
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Which file it is, and in which state; `None` where that cannot be told for sure.
    pub(super) fn version(&self) -> Option<FileVersion> {
        Some(FileVersion {
            location: self.path.to_str()?.to_owned(),
            version: self.version.clone()?,
        })
    }

    /// The bytes of `range`, which must lie within the size.
    pub(super) async fn fetch(&self, location: &Location, range: Range<u64>) -> Result<Bytes> {
        let Some(path) = &self.object_path else {
            return self.fetch_directly(location, range).await;
        };
        let read = self
            .store
            .get_ranges(path, std::slice::from_ref(&range))
            .await;
        // The range was within the file when it was found. If it no longer is, the object store
        // gives fewer bytes or an error of a kind that it keeps to itself.
        let is_shorter = || fs::metadata(&self.path).is_ok_and(|now| now.len() < range.end);
        match read.map(|mut read| read.pop().unwrap_or_default()) {
            Ok(bytes) if bytes.len() as u64 == range.end - range.start => Ok(bytes),
            Err(error) if !is_shorter() => Err(store_error(location, error)),
            _ => Err(io_error(location, IoErrorKind::UnexpectedEof.into())),
        }
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

/// Tells the versions of many files, most of them in the same few directories: links are followed once for each.
#[derive(Default)]
pub(super) struct LocalVersions {
    /// Where directories really are; `None` outside of the reach.
    directories: HashMap<String, Option<PathBuf>>,
}

impl LocalVersions {
    /// As [`LocalFile::version`]; also `None` for what must be looked at more closely.
    pub(super) fn of(&mut self, path: &ResolvedPath) -> Option<FileVersion> {
        let (directory, name) = path.location().path().rsplit_once('/')?;
        if !self.directories.contains_key(directory) {
            let real = fs::canonicalize(format!("{directory}/")).ok();
            let within = real.filter(|real| path.check_real_path(real).is_ok());
            self.directories.insert(directory.to_owned(), within);
        }
        let real = self.directories.get(directory)?.as_ref()?.join(name);
        let metadata = fs::symlink_metadata(&real).ok()?;
        let is_settled = metadata.is_file() && is_settled(metadata.modified().ok());
        Some(FileVersion {
            version: is_settled.then(|| version(&metadata))?,
            location: real.into_os_string().into_string().ok()?,
        })
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
            let file_name = entry.file_name();
            let name = file_name.to_string_lossy();
            if !wanted(&name) {
                continue;
            }
            // Through a symbolic link; a broken one, or a file removed meanwhile, is not there.
            let Ok(metadata) = fs::metadata(path.join(&file_name)) else {
                continue;
            };
            let entry = DirectoryEntry {
                name: name.into_owned(),
                is_directory: metadata.is_dir(),
                is_file: metadata.is_file(),
                size: metadata.len(),
                modified: metadata.modified().ok(),
                version: version(&metadata),
            };
            match file_name.to_str() {
                Some(_) => directory.entries.push(entry),
                None => directory.not_utf8.push(entry),
            }
        }
        Ok(directory)
    })
    .await
}

/// Differs for every file and for every state of its content that the file system can tell apart.
fn version(metadata: &fs::Metadata) -> String {
    format!(
        "{}-{}-{}-{}.{}-{}.{}",
        metadata.dev(),
        metadata.ino(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec()
    )
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

/// Runs what keeps a thread busy where it does not hold up other work, or right here without a runtime.
pub(super) async fn blocking<T, F>(work: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T> + Send + 'static,
{
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(|error| {
            Error::new(ErrorKind::Internal, "reading a file was interrupted").with_source(error)
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
    let cause = error_chain(&error).find_map(|cause| cause.downcast_ref::<std::io::Error>());
    if let Some(io) = cause {
        let io = match io.raw_os_error() {
            Some(code) => std::io::Error::from_raw_os_error(code),
            None => std::io::Error::new(io.kind(), io.to_string()),
        };
        return io_error(location, io);
    }
    Error::new(
        ErrorKind::Unreachable,
        format!("file \"{location}\" cannot be read: {error}"),
    )
    .with_source(error)
}

#[cfg(test)]
mod tests {
    use super::super::reach::Reach;
    use super::*;

    fn resolved(path: &Path) -> ResolvedPath {
        let location = Location::parse(path.to_str().expect("UTF-8")).expect("a location");
        let table = location.parent().expect("a directory");
        Reach::new(table, []).check(location).expect("within reach")
    }

    #[tokio::test]
    async fn a_file_that_changes_after_it_was_found() {
        let keep = tempfile::tempdir().expect("a directory");
        for name in ["plain", "direct#1"] {
            let path = keep.path().join(name);
            let resolved = resolved(&path);
            let store = Arc::new(LocalFileSystem::new());
            for (size_then, range, kind) in [
                (Some(5), 0..10, ErrorKind::Corrupt),
                (Some(5), 5..10, ErrorKind::Corrupt),
                (Some(0), 2..3, ErrorKind::Corrupt),
                (None, 0..10, ErrorKind::FileNotFound),
            ] {
                fs::write(&path, "0123456789").expect("written");
                let file = LocalFile::locate(Arc::clone(&store), &resolved).await;
                let file = file.expect("found");
                assert_eq!(file.object_path.is_some(), name == "plain");
                match size_then {
                    Some(size) => fs::write(&path, "x".repeat(size)).expect("written"),
                    None => fs::remove_file(&path).expect("removed"),
                }
                let error = file
                    .fetch(resolved.location(), range)
                    .await
                    .expect_err("an error");
                assert_eq!(error.kind(), kind, "{name} {size_then:?}: {error}");
                let names_it = error.message().contains(path.to_str().expect("UTF-8"));
                assert!(names_it, "{error}");
            }
        }
    }

    #[test]
    fn errors_of_the_operating_system() {
        let location = Location::parse("/wh/t/a").expect("a location");
        for (code, kind) in [
            (2, ErrorKind::FileNotFound),      // ENOENT
            (20, ErrorKind::FileNotFound),     // ENOTDIR
            (36, ErrorKind::FileNotFound),     // ENAMETOOLONG
            (13, ErrorKind::PermissionDenied), // EACCES
            (1, ErrorKind::PermissionDenied),  // EPERM
            (5, ErrorKind::Unreachable),       // EIO
            (24, ErrorKind::Unreachable),      // EMFILE
        ] {
            let direct = io_error(&location, std::io::Error::from_raw_os_error(code));
            let wrapped = store_error(
                &location,
                object_store::Error::Generic {
                    store: "LocalFileSystem",
                    source: Box::new(std::io::Error::from_raw_os_error(code)),
                },
            );
            for error in [direct, wrapped] {
                assert_eq!(error.kind(), kind, "{code}");
                assert!(error.message().contains("\"/wh/t/a\""), "{error}");
                assert_eq!(error.hint().is_some(), kind == ErrorKind::PermissionDenied);
            }
        }
    }
}
