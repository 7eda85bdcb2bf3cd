//! The tables in a directory: every subdirectory that holds table metadata.
//! Spec: "File System Tables": a table is a directory with a `metadata` directory in it.

use futures::StreamExt;

use super::candidates::METADATA_DIRECTORY;
use super::file_name::is_metadata_file;
use crate::catalog::{SkippedTable, TableListing};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Location, Reach, Storage};

/// How many directories are looked into at the same time.
const CONCURRENT_DIRECTORIES: usize = 16;

/// Lists the tables in `directory`, one level deep, without opening their metadata files.
///
/// A directory with a `metadata` directory but no metadata file in it, one that cannot be read and
/// one whose name no location can spell are reported as skipped; any other is no table.
///
/// # Errors
/// `TableNotFound` if there is no such directory.
pub(super) async fn list_tables(
    storage: &Storage,
    directory: &Location,
    other_places: &[Location],
) -> Result<TableListing> {
    let reach = Reach::new(directory.clone(), other_places.iter().cloned());
    let path = reach.check(directory.clone())?;
    let listed = storage
        .list(&path, |_| true)
        .await
        .map_err(|error| match error.kind() {
            ErrorKind::FileNotFound => Error::new(
                ErrorKind::TableNotFound,
                format!("there is no directory \"{directory}\" to look for tables in"),
            )
            .with_source(error),
            _ => error,
        })?;
    let names = listed
        .entries
        .into_iter()
        .filter(|entry| entry.is_directory)
        .map(|entry| entry.name);
    let found: Vec<Found> = futures::stream::iter(names)
        .map(|name| look_into(storage, directory, other_places, name))
        .buffered(CONCURRENT_DIRECTORIES)
        .collect()
        .await;
    let unnameable = listed
        .not_utf8
        .into_iter()
        .filter(|entry| entry.is_directory);
    let mut listing = TableListing::default();
    for found in found {
        match found {
            Found::Table(name) => listing.tables.push(name),
            Found::Broken(skipped) => listing.skipped.push(skipped),
            Found::Other => {}
        }
    }
    listing.skipped.extend(unnameable.map(|entry| SkippedTable {
        name: entry.name,
        reason: "its name is not UTF-8".to_owned(),
    }));
    listing.tables.sort_unstable();
    listing
        .skipped
        .sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(listing)
}

enum Found {
    Table(String),
    Broken(SkippedTable),
    Other,
}

async fn look_into(
    storage: &Storage,
    directory: &Location,
    other_places: &[Location],
    name: String,
) -> Found {
    let reason = match holds_metadata(storage, directory, other_places, &name).await {
        Ok(true) => return Found::Table(name),
        Ok(false) => "its metadata directory holds no *.metadata.json file".to_owned(),
        Err(error) if error.kind() == ErrorKind::FileNotFound => return Found::Other,
        Err(error) => error.message().to_owned(),
    };
    Found::Broken(SkippedTable { name, reason })
}

async fn holds_metadata(
    storage: &Storage,
    directory: &Location,
    other_places: &[Location],
    name: &str,
) -> Result<bool> {
    // The table's own directory may be a symbolic link to anywhere, as when it is opened.
    let table = directory.join(name)?;
    let metadata = table.join(METADATA_DIRECTORY)?;
    let path = Reach::new(table, other_places.iter().cloned()).check(metadata)?;
    let listed = storage.list(&path, is_metadata_file).await?;
    Ok(listed.entries.iter().any(|entry| entry.is_file))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn make_table(directory: &Path, file: &str) {
        fs::create_dir_all(directory.join("metadata")).expect("directories");
        fs::write(directory.join("metadata").join(file), "{}").expect("written");
    }

    async fn list(directory: &Path) -> Result<TableListing> {
        let location = Location::parse(directory.to_str().expect("UTF-8"))?;
        list_tables(&Storage::new(), &location, &[]).await
    }

    #[tokio::test]
    async fn tables_are_directories_with_metadata() {
        let keep = tempfile::tempdir().expect("a directory");
        let root = keep.path().join("sales");
        let names = [
            "orders", "Orders", "a b", "a%20b", "a%2Fb", "a#1", "k=v", "día", "🧊", "a.b", "x?*",
            "tab\tle", ".hidden", "C:", "~",
        ];
        for name in names {
            make_table(&root.join(name), "v1.metadata.json");
        }
        make_table(&root.join("gz"), "00001-x.gz.metadata.json");
        make_table(&root.join("old_gz"), "v1.metadata.json.gz");
        make_table(&keep.path().join("elsewhere"), "v1.metadata.json");
        symlink("../elsewhere", root.join("linked")).expect("a link");
        // Not tables.
        fs::create_dir_all(root.join("empty")).expect("a directory");
        fs::create_dir_all(root.join("nested/inner/metadata")).expect("directories");
        make_table(&root.join("nested/inner"), "v1.metadata.json");
        fs::write(root.join("file"), "").expect("written");
        fs::write(root.join(OsStr::from_bytes(b"file\xe9")), "").expect("written");
        fs::create_dir_all(root.join("odd")).expect("a directory");
        fs::write(root.join("odd/metadata"), "").expect("written");
        symlink("nowhere", root.join("broken_link")).expect("a link");
        // Broken tables.
        make_table(&root.join("hint_only"), "version-hint.text");
        fs::create_dir_all(root.join("folder/metadata/v1.metadata.json")).expect("directories");
        make_table(
            &root.join(OsStr::from_bytes(b"latin\xe9")),
            "v1.metadata.json",
        );
        fs::create_dir_all(root.join("escape")).expect("a directory");
        symlink("/etc", root.join("escape/metadata")).expect("a link");
        fs::create_dir_all(root.join("turning")).expect("a directory");
        symlink("metadata", root.join("turning/metadata")).expect("a link");

        let listing = list(&root).await.expect("listed");
        let mut expected: Vec<String> = names.map(str::to_owned).to_vec();
        expected.extend(["gz", "old_gz", "linked"].map(str::to_owned));
        expected.sort();
        assert_eq!(listing.tables, expected);
        let skipped: Vec<(&str, &str)> = listing
            .skipped
            .iter()
            .map(|skipped| (skipped.name.as_str(), skipped.reason.as_str()))
            .collect();
        let no_file = "its metadata directory holds no *.metadata.json file";
        let [escape, rest @ .., turning] = skipped.as_slice() else {
            panic!("nothing was skipped");
        };
        assert_eq!(turning.0, "turning");
        assert_eq!(escape.0, "escape");
        assert!(escape.1.contains("symbolic link"), "{}", escape.1);
        assert_eq!(
            rest,
            [
                ("folder", no_file),
                ("hint_only", no_file),
                ("latin\u{fffd}", "its name is not UTF-8"),
            ]
        );
    }

    #[tokio::test]
    async fn a_directory_must_be_there() {
        let keep = tempfile::tempdir().expect("a directory");
        let listing = list(keep.path()).await.expect("listed");
        assert_eq!(listing, TableListing::default());
        let error = list(&keep.path().join("missing"))
            .await
            .expect_err("missing");
        assert_eq!(error.kind(), ErrorKind::TableNotFound);
        assert!(error.message().contains("/missing"), "{error}");
    }
}
