//! Which metadata file of a table directory is the current one.
//! Spec: "File System Tables"; file names of "Metastore Tables" are understood too.
//!
//! All candidates are listed and the two keys that tell tables and ages apart are read from each:
//! a table that was dropped and made anew at the same place leaves files of higher versions behind,
//! and only their `table-uuid` shows it. The keys stand at the front of a file and are cached as
//! long as the file does not change, so later queries only list. `version-hint.text` is not read:
//! the list already says what it could, and it may be stale or missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use uuid::Uuid;

use super::file_name::{Version, is_metadata_file};
use super::head::{HeadOrReason, MetadataHead, is_same_text, not_metadata};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{DirectoryEntry, Location, Reach, ResolvedPath, Storage};

/// The directory of a table that holds its metadata files.
pub(super) const METADATA_DIRECTORY: &str = "metadata";

/// How many metadata files are read at the same time.
const CONCURRENT_READS: usize = 16;

/// A file that is listed may be gone when it is read, because the table changes meanwhile.
const ATTEMPTS: usize = 3;

/// Error messages name at most so many files.
const NAMED_FILES: usize = 20;

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
    /// The content of the file as it is stored, perhaps packed with gzip.
    pub bytes: Bytes,
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
    let (path, bytes) = match named {
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
        bytes,
    })
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
) -> Result<(ResolvedPath, Bytes)> {
    let path = reach.check(file)?;
    let bytes = storage
        .read(&path)
        .await
        .map_err(|error| match error.kind() {
            ErrorKind::FileNotFound => not_found(format!(
                "the metadata file \"{}\" does not exist",
                path.location()
            ))
            .with_source(error),
            _ => error,
        })?;
    MetadataHead::of_file(&bytes).map_err(|reason| not_metadata(path.location(), &reason))?;
    Ok((path, bytes))
}

async fn choose_and_read(
    storage: &Storage,
    reach: &Arc<Reach>,
    uuid: Option<Uuid>,
    by_last_updated: bool,
) -> Result<(ResolvedPath, Bytes)> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let candidates = Candidates::load(storage, reach, uuid.is_some()).await?;
        if candidates.files.is_empty() && attempt < ATTEMPTS {
            continue;
        }
        let chosen = candidates.choose(storage, uuid, by_last_updated).await?;
        match storage.read(&chosen.path).await {
            Err(error) if error.kind() == ErrorKind::FileNotFound && attempt < ATTEMPTS => continue,
            Err(error) => return Err(error),
            Ok(bytes) => {
                let head = MetadataHead::of_file(&bytes)
                    .map_err(|reason| not_metadata(chosen.path.location(), &reason))?;
                let is_as_chosen = chosen.head.as_ref().is_none_or(|seen| *seen == Ok(head));
                if is_as_chosen {
                    return Ok((chosen.path, bytes));
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

#[derive(Debug, Clone)]
struct Candidate {
    name: String,
    path: ResolvedPath,
    version: Option<Version>,
    /// `None` for an only candidate, which wins whatever it says.
    head: Option<HeadOrReason>,
}

impl Candidate {
    fn table_uuid(&self) -> Option<Uuid> {
        self.known_head()?.table_uuid
    }

    fn last_updated_ms(&self) -> Option<i64> {
        self.known_head()?.last_updated_ms
    }

    fn known_head(&self) -> Option<&MetadataHead> {
        self.head.as_ref()?.as_ref().ok()
    }
}

struct Candidates {
    directory: Location,
    /// By name.
    files: Vec<Candidate>,
}

impl Candidates {
    /// Lists the table's metadata files and reads what is needed to compare them.
    async fn load(storage: &Storage, reach: &Arc<Reach>, needs_uuid: bool) -> Result<Self> {
        let directory = reach.table().join(METADATA_DIRECTORY)?;
        let mut entries = list_metadata_files(storage, reach, &directory).await?;
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let needs_heads = needs_uuid || entries.len() > 1;
        let files: Vec<Option<Candidate>> = futures::stream::iter(entries)
            .map(|entry| load_candidate(storage, reach, &directory, entry, needs_heads))
            .buffered(CONCURRENT_READS)
            .try_collect()
            .await?;
        Ok(Self {
            directory,
            files: files.into_iter().flatten().collect(),
        })
    }

    async fn choose(
        mut self,
        storage: &Storage,
        uuid: Option<Uuid>,
        by_last_updated: bool,
    ) -> Result<Candidate> {
        match uuid {
            Some(uuid) => self.keep_table(uuid)?,
            None => self.require_one_table()?,
        }
        let best = if by_last_updated {
            self.most_recently_updated()?
        } else {
            self.highest_version()?
        };
        one_of_equals(storage, best).await
    }

    fn keep_table(&mut self, uuid: Uuid) -> Result<()> {
        if self
            .files
            .iter()
            .any(|file| file.table_uuid() == Some(uuid))
        {
            self.files.retain(|file| file.table_uuid() == Some(uuid));
            return Ok(());
        }
        Err(not_found(format!(
            "no metadata file in \"{}\" has the table-uuid {uuid}",
            self.directory
        ))
        .with_detail(self.files_by_table()))
    }

    fn require_one_table(&self) -> Result<()> {
        let mut uuids = self.files.iter().filter_map(Candidate::table_uuid);
        let first = uuids.next();
        if uuids.all(|uuid| Some(uuid) == first) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Ambiguous,
            format!(
                "\"{}\" holds metadata files of several tables",
                self.directory
            ),
        )
        .with_detail(self.files_by_table())
        .with_hint("Choose the table with the option metadata_table_uuid."))
    }

    fn files_by_table(&self) -> String {
        let mut tables: BTreeMap<Option<Uuid>, Vec<&Candidate>> = BTreeMap::new();
        for file in &self.files {
            tables.entry(file.table_uuid()).or_default().push(file);
        }
        let lines: Vec<String> = tables
            .into_iter()
            .map(|(uuid, files)| {
                let names = names(files);
                match uuid {
                    Some(uuid) => format!("{uuid}: {names}"),
                    None => format!("without a readable table-uuid: {names}"),
                }
            })
            .collect();
        lines.join("\n")
    }

    /// The files with the highest version. A file whose name has no version wins only alone.
    fn highest_version(self) -> Result<Vec<Candidate>> {
        let highest = self
            .files
            .iter()
            .filter_map(|file| file.version.clone())
            .max();
        if highest.is_none() && self.files.len() > 1 {
            return Err(Error::new(
                ErrorKind::Ambiguous,
                format!(
                    "the names of the metadata files in \"{}\" do not tell their version",
                    self.directory
                ),
            )
            .with_detail(names(&self.files))
            .with_hint(
                "Choose one with the option metadata_file_path, or set \
                 recent_metadata_file_by_last_updated_ms.",
            ));
        }
        let mut files = self.files;
        files.retain(|file| file.version == highest);
        Ok(files)
    }

    /// The files with the largest `last-updated-ms`, and of those the ones with the highest version.
    fn most_recently_updated(self) -> Result<Vec<Candidate>> {
        if self.files.len() == 1 {
            return Ok(self.files);
        }
        let mut files = self.files;
        let latest = files.iter().filter_map(Candidate::last_updated_ms).max();
        if latest.is_none() {
            return Err(none_readable(&files));
        }
        files.retain(|file| file.last_updated_ms() == latest);
        let highest = files.iter().filter_map(|file| file.version.clone()).max();
        files.retain(|file| file.version == highest);
        Ok(files)
    }
}

/// Decides between files of one version: of one table the one that was updated last, or any of them
/// if they say the same.
async fn one_of_equals(storage: &Storage, files: Vec<Candidate>) -> Result<Candidate> {
    if let [only] = files.as_slice() {
        return Ok(only.clone());
    }
    // What cannot be read has no date and loses against what can.
    let mut readable = files.clone();
    readable.retain(|file| file.known_head().is_some());
    let Some(first) = readable.first() else {
        return Err(none_readable(&files));
    };
    let uuid = first.table_uuid();
    if uuid.is_some() && readable.iter().all(|file| file.table_uuid() == uuid) {
        let latest = readable.iter().filter_map(Candidate::last_updated_ms).max();
        readable.retain(|file| file.last_updated_ms() == latest);
    }
    let first = readable.swap_remove(0);
    if !readable.is_empty() {
        let text = storage.read(&first.path).await?;
        for other in &readable {
            if !is_same_text(&text, &storage.read(&other.path).await?) {
                return Err(Error::new(
                    ErrorKind::Ambiguous,
                    "several metadata files are equally recent".to_owned(),
                )
                .with_detail(names(&files))
                .with_hint("Choose one with the option metadata_file_path."));
            }
        }
    }
    Ok(first)
}

async fn list_metadata_files(
    storage: &Storage,
    reach: &Arc<Reach>,
    directory: &Location,
) -> Result<Vec<DirectoryEntry>> {
    let path = reach.check(directory.clone())?;
    let mut entries = match storage.list(&path, is_metadata_file).await {
        Ok(listed) => listed.entries,
        Err(error) if error.kind() == ErrorKind::FileNotFound => {
            return Err(no_metadata_directory(storage, reach, directory).await);
        }
        Err(error) => return Err(error),
    };
    entries.retain(|entry| entry.is_file);
    if entries.is_empty() {
        return Err(not_found(format!(
            "no table at \"{}\": the directory \"{directory}\" holds no *.metadata.json file",
            reach.table()
        )));
    }
    Ok(entries)
}

async fn no_metadata_directory(
    storage: &Storage,
    reach: &Arc<Reach>,
    directory: &Location,
) -> Error {
    let table = reach.table();
    let table_exists = match reach.check(table.clone()) {
        Ok(path) => storage.list(&path, |_| false).await.is_ok(),
        Err(_) => false,
    };
    if table_exists {
        not_found(format!(
            "no table at \"{table}\": there is no directory \"{directory}\""
        ))
        .with_hint("The location of a table is the directory that holds its metadata directory.")
    } else {
        not_found(format!(
            "no table at \"{table}\": there is no such directory"
        ))
    }
}

/// `None` for a file that is gone since it was listed.
async fn load_candidate(
    storage: &Storage,
    reach: &Arc<Reach>,
    directory: &Location,
    entry: DirectoryEntry,
    needs_head: bool,
) -> Result<Option<Candidate>> {
    let path = reach.check(directory.join(&entry.name)?)?;
    let head = if needs_head {
        match MetadataHead::load(storage, &path, &entry).await {
            Ok(head) => Some(head),
            Err(error) => match error.kind() {
                ErrorKind::FileNotFound => return Ok(None),
                // It wins by its version only, and is then reported.
                ErrorKind::PermissionDenied => Some(Err(error.message().to_owned())),
                _ => return Err(error),
            },
        }
    } else {
        None
    };
    Ok(Some(Candidate {
        version: Version::of_file(&entry.name),
        name: entry.name,
        path,
        head,
    }))
}

fn none_readable(files: &[Candidate]) -> Error {
    let Some(first) = files.first() else {
        return not_found("all metadata files are gone".to_owned());
    };
    let reason = match &first.head {
        Some(Err(reason)) => reason,
        _ => "there is no last-updated-ms in it",
    };
    not_metadata(first.path.location(), reason).with_detail(names(files))
}

fn names<'a>(files: impl IntoIterator<Item = &'a Candidate>) -> String {
    let names: Vec<&str> = files.into_iter().map(|file| file.name.as_str()).collect();
    let named = names.iter().take(NAMED_FILES).copied();
    let mut text = named.collect::<Vec<_>>().join(", ");
    if let Some(more) = names
        .len()
        .checked_sub(NAMED_FILES)
        .filter(|more| *more > 0)
    {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn not_found(message: String) -> Error {
    Error::new(ErrorKind::TableNotFound, message)
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
