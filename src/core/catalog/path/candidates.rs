//! The metadata files of a table directory, and which of them is the most recent.
//! Spec: "File System Tables", "Metastore Tables".

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use uuid::Uuid;

use super::file_name::{Version, is_metadata_file};
use super::head::{HeadOrReason, MetadataHead, not_metadata};
use crate::error::{Error, ErrorKind, Result};
use crate::spec::TableMetadata;
use crate::storage::{DirectoryEntry, Location, Reach, ResolvedPath, Storage};

/// The directory of a table that holds its metadata files.
pub(super) const METADATA_DIRECTORY: &str = "metadata";

/// How many metadata files are read at the same time.
const CONCURRENT_READS: usize = 16;

/// Error messages name at most so many tables.
const NAMED_TABLES: usize = 20;

/// Error messages name at most so many files of each.
const NAMED_FILES: usize = 20;

/// A metadata file that may be the current one.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    name: String,
    /// Where it is.
    pub(super) path: ResolvedPath,
    version: Option<Version>,
    /// `None` for an only candidate, which wins whatever it says.
    pub(super) head: Option<HeadOrReason>,
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

/// All metadata files of a table directory.
pub(super) struct Candidates {
    directory: Location,
    /// By name.
    files: Vec<Candidate>,
}

impl Candidates {
    /// Whether all files went away since they were listed.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Lists the table's metadata files and reads what is needed to compare them.
    pub(super) async fn load(
        storage: &Storage,
        reach: &Arc<Reach>,
        needs_uuid: bool,
    ) -> Result<Self> {
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

    /// The most recent one, of the table with this uuid or else of the only table there is.
    pub(super) async fn choose(
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
        let unnamed = tables.len().saturating_sub(NAMED_TABLES);
        let mut lines: Vec<String> = tables
            .into_iter()
            .take(NAMED_TABLES)
            .map(|(uuid, files)| {
                let names = names(files);
                match uuid {
                    Some(uuid) => format!("{uuid}: {names}"),
                    None => format!("without a readable table-uuid: {names}"),
                }
            })
            .collect();
        if unnamed > 0 {
            lines.push(format!("and {unnamed} more tables"));
        }
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
        let bytes = storage.read(&first.path).await?;
        for other in &readable {
            if !is_same_metadata(&bytes, &storage.read(&other.path).await?) {
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

/// Whether two files say the same, be they packed or written differently.
fn is_same_metadata(one: &[u8], other: &[u8]) -> bool {
    if one == other {
        return true;
    }
    match (
        TableMetadata::parse("", one),
        TableMetadata::parse("", other),
    ) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
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

/// There is no table where it was looked for.
pub(super) fn not_found(message: String) -> Error {
    Error::new(ErrorKind::TableNotFound, message)
}
