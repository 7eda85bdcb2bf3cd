//! The two keys of a metadata file that choose between candidates, read without the rest of it.
//! Spec: "Table Metadata Fields": `table-uuid`, `last-updated-ms`.

use std::collections::HashMap;
use std::fmt;
use std::io::{ErrorKind as IoErrorKind, Read};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use flate2::read::MultiGzDecoder;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use uuid::Uuid;

use crate::error::{Error, ErrorKind, Result};
use crate::storage::{DirectoryEntry, ResolvedPath, Storage};

/// Writers put both keys near the front, so the rest of a file is only read if they did not.
const START_LENGTH: u64 = 8 * 1024;

/// No metadata file unpacks to more than this (1 GiB); a gzip file can claim a thousand times its
/// own size.
const LARGEST_UNPACKED: u64 = 1 << 30;

/// Beyond this many files the cache starts anew.
const CACHED_HEADS: usize = 20_000;

/// What a metadata file says about its table and its age.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MetadataHead {
    /// Tables of version 1 may have none.
    pub(super) table_uuid: Option<Uuid>,
    /// Milliseconds since 1970-01-01 UTC.
    pub(super) last_updated_ms: Option<i64>,
}

/// A head, or why there is none to be had from the file.
pub(super) type HeadOrReason = std::result::Result<MetadataHead, String>;

impl MetadataHead {
    fn is_complete(&self) -> bool {
        self.table_uuid.is_some() && self.last_updated_ms.is_some()
    }

    /// The head of a whole metadata file, plain or gzip.
    pub(super) fn of_file(bytes: &[u8]) -> HeadOrReason {
        match scan(bytes)? {
            Scanned::Head(head) => Ok(head),
            Scanned::Incomplete => Err("the file ends within the JSON text".to_owned()),
        }
    }

    /// The head of the file that `entry` lists, from the cache if the file is still the same.
    ///
    /// # Errors
    /// What keeps the file from being read; a file that is read but not understood is a reason.
    pub(super) async fn load(
        storage: &Storage,
        path: &ResolvedPath,
        entry: &DirectoryEntry,
    ) -> Result<HeadOrReason> {
        let key = CacheKey {
            location: path.location().to_string(),
            version: entry.version.clone(),
        };
        if let Some(head) = CACHE.get(&key) {
            return Ok(head);
        }
        let start = storage.read_start(path, START_LENGTH).await?;
        let is_whole = (start.len() as u64) < START_LENGTH;
        let head = match scan(&start) {
            Ok(Scanned::Head(head)) => Ok(head),
            Ok(Scanned::Incomplete) if !is_whole => match storage.read(path).await {
                Ok(bytes) => Self::of_file(&bytes),
                Err(error) if error.kind() == ErrorKind::Corrupt => Err(error.message().to_owned()),
                Err(error) => return Err(error),
            },
            Ok(Scanned::Incomplete) => Err("the file ends within the JSON text".to_owned()),
            Err(reason) => Err(reason),
        };
        if entry.is_settled() {
            CACHE.put(key, head.clone());
        }
        Ok(head)
    }
}

enum Scanned {
    Head(MetadataHead),
    /// The text ends before both keys were seen.
    Incomplete,
}

fn scan(bytes: &[u8]) -> std::result::Result<Scanned, String> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        // Unpacks no more than it takes to find the keys.
        let unpacked = MultiGzDecoder::new(bytes).take(LARGEST_UNPACKED);
        scan_json(serde_json::Deserializer::from_reader(unpacked))
    } else {
        scan_json(serde_json::Deserializer::from_slice(bytes))
    }
}

fn scan_json<'de, R: serde_json::de::Read<'de>>(
    mut reader: serde_json::Deserializer<R>,
) -> std::result::Result<Scanned, String> {
    let mut head = MetadataHead::default();
    let outcome = HeadSeed(&mut head)
        .deserialize(&mut reader)
        .and_then(|()| reader.end());
    match outcome {
        // Both keys were seen: what follows is not looked at.
        _ if head.is_complete() => Ok(Scanned::Head(head)),
        Ok(()) => Ok(Scanned::Head(head)),
        Err(error) if error.is_eof() => Ok(Scanned::Incomplete),
        Err(error) => match error.io_error_kind() {
            Some(IoErrorKind::UnexpectedEof) => Ok(Scanned::Incomplete),
            Some(_) => Err(format!("it is not valid gzip: {error}")),
            None => Err(error.to_string()),
        },
    }
}

/// Fills a head from the top level of a JSON object and fails as soon as it is full, since a map
/// cannot be left early in any other way.
struct HeadSeed<'a>(&'a mut MetadataHead);

impl<'de> DeserializeSeed<'de> for HeadSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for HeadSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table metadata object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match key.as_ref() {
                "table-uuid" => self.0.table_uuid = map.next_value()?,
                "last-updated-ms" => self.0.last_updated_ms = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            if self.0.is_complete() {
                return Err(serde::de::Error::custom("the head is complete"));
            }
        }
        Ok(())
    }
}

/// Heads by file and version of the file, shared by all tables of the process: a table with a
/// thousand metadata files is listed for each query, but its files are opened only once.
static CACHE: LazyLock<HeadCache> = LazyLock::new(HeadCache::default);

#[derive(Debug, PartialEq, Eq, Hash)]
struct CacheKey {
    location: String,
    version: String,
}

#[derive(Debug, Default)]
struct HeadCache(Mutex<HashMap<CacheKey, Arc<HeadOrReason>>>);

impl HeadCache {
    fn get(&self, key: &CacheKey) -> Option<HeadOrReason> {
        let heads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heads.get(key).map(|head| head.as_ref().clone())
    }

    fn put(&self, key: CacheKey, head: HeadOrReason) {
        let mut heads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if heads.len() >= CACHED_HEADS {
            heads.clear();
        }
        heads.insert(key, Arc::new(head));
    }
}

/// An error for a metadata file that was chosen but cannot be understood.
pub(super) fn not_metadata(file: impl fmt::Display, reason: &str) -> Error {
    Error::corrupt(file, format!("it is not table metadata: {reason}"))
}
