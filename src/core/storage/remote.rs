//! Files in a remote store: from a location to the store's key, and the requests that read it.
//! Spec: "Paths in Metadata"; a key is taken byte for byte.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectStore, ObjectStoreExt};

use super::directory::{Directory, DirectoryEntry};
use super::fault::{file_error, is_broken_off, store_error};
use super::http;
use super::location::{Backend, Location};
use super::metadata_cache::FileVersion;
use super::stores::Store;
use crate::error::{Error, ErrorKind, Result};

/// A gap between two ranges that is cheaper to read than to ask for the second one apart: what a connection
/// carries while a request travels to an object store.
pub(super) const COALESCE_GAP: u64 = 1024 * 1024;

/// How often an answer is asked for that breaks off.
const ATTEMPTS: usize = 4;

const FIRST_WAIT: Duration = Duration::from_millis(50);

/// A file in a remote store; whether it is there shows when it is read.
#[derive(Debug)]
pub(super) struct RemoteFile<'a> {
    store: Store,
    location: &'a Location,
    key: Path,
}

impl<'a> RemoteFile<'a> {
    /// The file at a location of the store.
    pub(super) fn new(store: Store, location: &'a Location) -> Result<Self> {
        if location.path().ends_with('/') || location.path().is_empty() {
            return Err(file_error(
                location,
                ErrorKind::FileNotFound,
                "is a directory, not a file",
            ));
        }
        Ok(Self {
            key: key(location)?,
            store,
            location,
        })
    }

    /// Which file it is, if nobody writes another under the same name; for who reaches the store in the same way.
    pub(super) fn version(&self) -> FileVersion {
        FileVersion {
            location: format!("{} {}", self.store.id, self.location),
            version: String::new(),
        }
    }

    /// Size in bytes.
    pub(super) async fn size(&self) -> Result<u64> {
        let found = self.store.objects.head(&self.key).await;
        Ok(found
            .map_err(|error| store_error(self.location, &error))?
            .size)
    }

    /// The whole file, in one request.
    ///
    /// # Errors
    /// `Corrupt` if it has more than `largest` bytes.
    pub(super) async fn read(&self, largest: u64) -> Result<Bytes> {
        self.get_all(None, |got| match got.meta.size > largest {
            true => Err(Error::corrupt(
                self.location,
                format!(
                    "its size of {} bytes is more than a metadata file can have",
                    got.meta.size
                ),
            )),
            false => Ok(()),
        })
        .await
    }

    /// At most so many bytes from the front.
    pub(super) async fn read_start(&self, length: u64) -> Result<Bytes> {
        self.get_all(Some(GetRange::Bounded(0..length)), |_| Ok(()))
            .await
    }

    /// The bytes of a range that is not empty.
    ///
    /// # Errors
    /// `Corrupt` if the file ends before it.
    pub(super) async fn fetch(&self, range: Range<u64>) -> Result<Bytes> {
        let wanted = Some(GetRange::Bounded(range.clone()));
        self.get_all(wanted, |got| match got.range == range {
            true => Ok(()),
            false => Err(Error::corrupt(
                self.location,
                format!(
                    "bytes {} to {} are wanted from a file of {} bytes",
                    range.start, range.end, got.meta.size
                ),
            )),
        })
        .await
    }

    async fn get_all(
        &self,
        range: Option<GetRange>,
        check: impl Fn(&GetResult) -> Result<()> + Send + Sync,
    ) -> Result<Bytes> {
        again_if_broken_off(|| async {
            let got = self.get(range.clone()).await?;
            check(&got).map_err(Failure::lasting)?;
            self.collect(got).await
        })
        .await
    }

    async fn get(&self, range: Option<GetRange>) -> Result<GetResult, Failure> {
        let options = GetOptions {
            range,
            ..GetOptions::default()
        };
        let got = self.store.objects.get_opts(&self.key, options).await;
        got.map_err(|error| Failure::of_store(self.location, &error))
    }

    /// Everything that was asked for, and no more than that, whatever the server sends.
    async fn collect(&self, got: GetResult) -> Result<Bytes, Failure> {
        let wanted = got.range.end.saturating_sub(got.range.start);
        let mut parts: Vec<Bytes> = Vec::new();
        let mut length = 0_u64;
        let mut stream = got.into_stream();
        while let Some(part) = stream
            .try_next()
            .await
            .map_err(|error| Failure::of_store(self.location, &error))?
        {
            length = length.saturating_add(part.len() as u64);
            if length > wanted {
                break;
            }
            parts.push(part);
        }
        if length != wanted {
            return Err(Failure {
                error: file_error(
                    self.location,
                    ErrorKind::Unreachable,
                    "cannot be read: its store sends more or less than it says",
                ),
                is_broken_off: true,
            });
        }
        if parts.len() == 1 {
            return Ok(parts.swap_remove(0));
        }
        let mut bytes = BytesMut::with_capacity(usize::try_from(length).unwrap_or(0));
        for part in parts {
            bytes.extend_from_slice(&part);
        }
        Ok(bytes.freeze())
    }
}

/// Why an answer did not come, and whether it broke off.
struct Failure {
    error: Error,
    is_broken_off: bool,
}

impl Failure {
    fn lasting(error: Error) -> Self {
        Self {
            error,
            is_broken_off: false,
        }
    }

    fn of_store(location: &Location, error: &object_store::Error) -> Self {
        Self {
            error: store_error(location, error),
            is_broken_off: is_broken_off(error),
        }
    }
}

/// Asks again if a connection breaks off: the client of a store repeats a request that gets no answer, but not always
/// one whose answer ends in the middle.
async fn again_if_broken_off<T, F>(ask: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut wait = FIRST_WAIT;
    for _ in 1..ATTEMPTS {
        match ask().await {
            Err(failure) if failure.is_broken_off => {
                tokio::time::sleep(wait).await;
                wait *= 2;
            }
            outcome => return outcome.map_err(|failure| failure.error),
        }
    }
    ask().await.map_err(|failure| failure.error)
}

/// What a directory holds, limited to names that `wanted` accepts; in no particular order.
///
/// # Errors
/// `FileNotFound` where no key begins like this: a store has no empty directories.
pub(super) async fn list(
    store: &Store,
    location: &Location,
    wanted: fn(&str) -> bool,
) -> Result<Directory> {
    if location.backend() == Backend::Http {
        return Err(http::cannot_list(location));
    }
    let prefix = key(location)?;
    let listed = again_if_broken_off(|| async {
        let listed = store.objects.list_with_delimiter(Some(&prefix)).await;
        listed.map_err(|error| Failure::of_store(location, &error))
    })
    .await?;
    if listed.objects.is_empty() && listed.common_prefixes.is_empty() {
        return Err(file_error(
            location,
            ErrorKind::FileNotFound,
            "does not exist: no key of its store begins with it",
        ));
    }
    let name_of = |key: &Path| -> Option<String> {
        let rest = key.as_ref().strip_prefix(prefix.as_ref())?;
        let name = match prefix.as_ref().is_empty() {
            true => rest,
            false => rest.strip_prefix('/')?,
        };
        (!name.is_empty() && !name.contains('/') && wanted(name)).then(|| name.to_owned())
    };
    let files = listed.objects.iter().filter_map(|object| {
        Some(DirectoryEntry {
            name: name_of(&object.location)?,
            is_directory: false,
            is_file: true,
            size: object.size,
            modified: Some(SystemTime::from(object.last_modified)),
            version: format!(
                "{}-{}-{}-{}",
                store.id,
                object.e_tag.as_deref().unwrap_or_default(),
                object.size,
                object.last_modified.timestamp_millis()
            ),
        })
    });
    let directories = listed.common_prefixes.iter().filter_map(|directory| {
        Some(DirectoryEntry {
            name: name_of(directory)?,
            is_directory: true,
            is_file: false,
            size: 0,
            modified: None,
            version: String::new(),
        })
    });
    Ok(Directory {
        entries: files.chain(directories).collect(),
        not_utf8: Vec::new(),
    })
}

/// The store's name for a location's path, without slashes around it.
///
/// # Errors
/// `NotSupported` for a key that `object_store` cannot name, or would take for another one.
fn key(location: &Location) -> Result<Path> {
    let path = location.path();
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let unusable = || {
        file_error(
            location,
            ErrorKind::NotSupported,
            "cannot be named: no part of a key may be empty, \".\" or hold a control character",
        )
    };
    if path.starts_with('/') || path.ends_with('/') {
        return Err(unusable());
    }
    Path::parse(path).map_err(|_| unusable())
}

/// A store as it was built, or why not, without the text of the cause: it may repeat a secret.
pub(super) fn built<T>(location: &Location, store: object_store::Result<T>) -> Result<T> {
    store.map_err(|_| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("the store of \"{location}\" cannot be set up with these options"),
        )
        .with_hint(
            "Look at the options of the server and of the user mapping: keys, endpoint and region.",
        )
    })
}

/// The objects of a store behind the trait.
pub(super) type Objects = Arc<dyn ObjectStore>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_literal_or_refused() {
        for (location, expected) in [
            ("s3://b/wh/t/a", Some("wh/t/a")),
            ("s3://b/wh/t/", Some("wh/t")),
            ("s3://b", Some("")),
            ("s3://b/", Some("")),
            ("s3://b/a%2Fb c#?é/x", Some("a%2Fb c#?é/x")),
            ("s3://b//a", None),
            ("s3://b/a//b", None),
            ("s3://b/a//", None),
            ("s3://b/./a", None),
            ("s3://b/a/./b", None),
            ("s3://b/a\nb", None),
        ] {
            let location = Location::parse(location).expect("a location");
            let found = key(&location);
            assert_eq!(
                found.as_ref().ok().map(AsRef::as_ref),
                expected,
                "{location}"
            );
            if let Err(error) = found {
                assert_eq!(error.kind(), ErrorKind::NotSupported);
            }
        }
    }
}
