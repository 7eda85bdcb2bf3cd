//! Which metadata file of a table directory is the current one.
//! Spec: "File System Tables"; file names of "Metastore Tables" are understood too.
//!
//! All candidates are listed and the two keys that tell tables and ages apart are read from each:
//! a table that was dropped and made anew at the same place leaves files of higher versions behind,
//! and only their `table-uuid` shows it. The keys stand at the front of a file and are cached as
//! long as the file does not change, so later queries only list. `version-hint.text` is not read:
//! the list already says what it could, and it may be stale or missing.

use std::sync::Arc;

use uuid::Uuid;

use super::candidates::{Candidates, METADATA_DIRECTORY, not_found};
use super::content::{MetadataContent, MetadataParser};
use super::file_name::is_metadata_file;
use super::head::{MetadataHead, not_metadata};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Location, Reach, ResolvedPath, Storage};

/// A file that is listed may be gone when it is read, because the table changes meanwhile.
const ATTEMPTS: usize = 3;

/// How the current metadata file is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataSelection {
    /// Exactly this file, relative to the table's directory or absolute inside it; the other
    /// choices are then ignored.
    pub metadata_file_path: Option<String>,
    /// Only files with this `table-uuid`, compared without regard to case.
    pub metadata_table_uuid: Option<String>,
    /// The largest `last-updated-ms` decides instead of the highest version in the file name.
    pub recent_by_last_updated_ms: bool,
}

/// The metadata file that was chosen.
#[derive(Debug, Clone)]
pub struct ResolvedMetadata {
    /// The file.
    pub file: Location,
    /// The table's directory.
    pub table: Location,
    /// What the table may read.
    pub reach: Arc<Reach>,
    /// The content of the file.
    pub content: Arc<MetadataContent>,
}

/// Finds and reads the current metadata file of the table at `location`, which is the table's
/// directory or the metadata file itself. `other_places` are the warehouse and the allowed
/// locations.
///
/// # Errors
/// `TableNotFound` saying what was looked for; `Ambiguous` listing equally good candidates;
/// `Corrupt` for a chosen file that is not metadata; `InvalidArgument` and `PermissionDenied` for
/// choices that cannot be followed.
pub async fn resolve_metadata_file(
    storage: &Storage,
    location: &Location,
    selection: &MetadataSelection,
    other_places: &[Location],
) -> Result<ResolvedMetadata> {
    let (table, named_by_location) = split_location(location)?;
    let reach = Reach::new(table.clone(), other_places.iter().cloned());
    let named = match (&selection.metadata_file_path, named_by_location) {
        (Some(_), Some(file)) => {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("both location \"{file}\" and metadata_file_path name a metadata file"),
            )
            .with_hint(
                "Give the table's directory as location, or leave out metadata_file_path.",
            ));
        }
        (Some(path), None) => Some(file_in_table(&table, path)?),
        (None, named) => named,
    };
    let (path, content) = match named {
        Some(file) => read_named(storage, &reach, file).await?,
        None => {
            let uuid = parse_uuid(selection)?;
            choose_and_read(storage, &reach, uuid, selection.recent_by_last_updated_ms).await?
        }
    };
    Ok(ResolvedMetadata {
        file: path.location().clone(),
        table,
        reach,
        content,
    })
}

/// Whether a location is that of a metadata file.
pub(in crate::catalog) fn names_metadata_file(location: &str) -> bool {
    Location::parse(location).is_ok_and(|location| is_metadata_file(location.file_name()))
}

/// The table's directory, and the metadata file where `location` is one.
fn split_location(location: &Location) -> Result<(Location, Option<Location>)> {
    if !is_metadata_file(location.file_name()) {
        return Ok((location.clone(), None));
    }
    let directory = location.parent();
    let table = match &directory {
        Some(directory) if directory.file_name() == METADATA_DIRECTORY => directory.parent(),
        _ => directory,
    };
    let table = table.ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("location \"{location}\" has no directory"),
        )
    })?;
    Ok((table, Some(location.clone())))
}

fn file_in_table(table: &Location, path: &str) -> Result<Location> {
    if !Location::is_absolute(path) {
        return table.join(path);
    }
    let file = Location::parse(path)?;
    let inside = Reach::new(table.clone(), []).check(file).map_err(|error| {
        Error::new(
            ErrorKind::PermissionDenied,
            format!("metadata_file_path \"{path}\" is not inside of the table \"{table}\""),
        )
        .with_hint("Give a path relative to the table's directory, or the file as location.")
        .with_source(error)
    })?;
    Ok(inside.location().clone())
}

fn parse_uuid(selection: &MetadataSelection) -> Result<Option<Uuid>> {
    let Some(text) = &selection.metadata_table_uuid else {
        return Ok(None);
    };
    Uuid::try_parse(text).map(Some).map_err(|_| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("metadata_table_uuid \"{text}\" is not a UUID"),
        )
    })
}

async fn read_named(
    storage: &Storage,
    reach: &Arc<Reach>,
    file: Location,
) -> Result<(ResolvedPath, Arc<MetadataContent>)> {
    let path = reach.check(file)?;
    let content = read_content(storage, &path)
        .await
        .map_err(|error| match error.kind() {
            ErrorKind::FileNotFound => not_found(format!(
                "the metadata file \"{}\" does not exist",
                path.location()
            ))
            .with_source(error),
            _ => error,
        })?;
    head_of(&path, &content)?;
    Ok((path, content))
}

async fn read_content(storage: &Storage, path: &ResolvedPath) -> Result<Arc<MetadataContent>> {
    storage.read_parsed(path, MetadataParser).await
}

/// The head of a file that was chosen, which must have one.
fn head_of<'a>(path: &ResolvedPath, content: &'a MetadataContent) -> Result<&'a MetadataHead> {
    let head = content.head().as_ref();
    head.map_err(|reason| not_metadata(path.location(), reason))
}

async fn choose_and_read(
    storage: &Storage,
    reach: &Arc<Reach>,
    uuid: Option<Uuid>,
    by_last_updated: bool,
) -> Result<(ResolvedPath, Arc<MetadataContent>)> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let candidates = Candidates::load(storage, reach, uuid.is_some()).await?;
        if candidates.is_empty() && attempt < ATTEMPTS {
            continue;
        }
        let chosen = candidates.choose(storage, uuid, by_last_updated).await?;
        match read_content(storage, &chosen.path).await {
            Err(error) if error.kind() == ErrorKind::FileNotFound && attempt < ATTEMPTS => continue,
            Err(error) => return Err(error),
            Ok(content) => {
                let head = head_of(&chosen.path, &content)?;
                let is_as_chosen = chosen
                    .head
                    .as_ref()
                    .is_none_or(|seen| seen.as_ref() == Ok(head));
                if is_as_chosen {
                    return Ok((chosen.path, content));
                }
                if attempt >= ATTEMPTS {
                    return Err(Error::corrupt(
                        chosen.path.location(),
                        "it changes while it is read",
                    ));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
