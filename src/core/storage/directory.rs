//! What a directory of a store holds.
//! No spec section: file system tables are found by listing.

use std::time::{Duration, SystemTime};

/// Files younger than this may change once more without a change of their time stamp.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// The content of a directory, one level deep.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    /// Its files and directories, symbolic links followed, in no particular order.
    pub entries: Vec<DirectoryEntry>,
    /// Those whose names are not UTF-8, with the faulty bytes replaced: no location can name them.
    pub not_utf8: Vec<DirectoryEntry>,
}

/// A file or directory in a [`Directory`].
#[derive(Debug, Clone)]
pub struct DirectoryEntry {
    /// Its name, byte for byte, without the directory.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Whether it is a regular file.
    pub is_file: bool,
    /// Size in bytes.
    pub size: u64,
    /// When its content last changed, if the store says so.
    pub modified: Option<SystemTime>,
    /// Changes when the file is replaced or its content changes.
    pub version: String,
}

impl DirectoryEntry {
    /// Whether every later change of the file will show in its version.
    pub fn is_settled(&self) -> bool {
        is_settled(self.modified)
    }
}

/// Whether every change of a file after this one will have another time stamp.
pub(super) fn is_settled(modified: Option<SystemTime>) -> bool {
    modified
        .and_then(|modified| SystemTime::now().duration_since(modified).ok())
        .is_some_and(|age| age > SETTLED_AFTER)
}
