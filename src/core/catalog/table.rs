//! A table opened by its location: current metadata and a reader for its files.
//! Spec: "Table Metadata"; the rules for paths are this program's own.

use std::sync::Arc;

use super::path::{MetadataSelection, names_metadata_file, resolve_metadata_file};
use crate::error::Result;
use crate::spec::TableMetadata;
use crate::storage::{
    Location, MetadataCache, SharedFileReader, Storage, StorageCounters, StoreSettings, TableFiles,
};

/// Which table to open and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// The table's directory, or its metadata file.
    pub location: String,
    /// How the current metadata file is chosen.
    pub selection: MetadataSelection,
    /// Whether the table may have been moved or copied: paths under the location that its metadata
    /// declares then mean files under the real one.
    pub allow_moved_paths: bool,
    /// A directory in which the table's files may lie besides its own.
    pub warehouse: Option<String>,
    /// Further such directories.
    pub allowed_locations: Vec<String>,
    /// How remote stores are reached, and with whose rights.
    pub stores: StoreSettings,
}

impl TableOptions {
    /// The same table as this metadata file of it says, whether or not that is the current one.
    #[must_use]
    pub fn at_metadata_file(mut self, file: String) -> Self {
        if !names_metadata_file(&self.location) {
            self.selection.metadata_file_path = Some(file);
        }
        self
    }
}

/// A table with its current metadata.
#[derive(Debug, Clone)]
pub struct Table {
    metadata: Arc<TableMetadata>,
    metadata_file: Location,
    location: Location,
    files: SharedFileReader,
    counters: Arc<StorageCounters>,
}

impl Table {
    /// What the current metadata file says.
    pub fn metadata(&self) -> &Arc<TableMetadata> {
        &self.metadata
    }

    /// The current metadata file.
    pub fn metadata_file(&self) -> &Location {
        &self.metadata_file
    }

    /// The table's real directory, which is not the one its metadata declares if it was moved.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Reads what the metadata names.
    pub fn files(&self) -> &SharedFileReader {
        &self.files
    }

    /// How much was read, for the choice of the metadata file too.
    pub fn counters(&self) -> &Arc<StorageCounters> {
        &self.counters
    }
}

/// Opens the table at a location.
///
/// # Errors
/// Those of [`resolve_metadata_file`]; `Corrupt` or `NotSupported` for metadata that cannot be
/// understood.
pub async fn open_table(options: TableOptions) -> Result<Table> {
    open_cached_table(options, None).await
}

/// As [`open_table`]; what is parsed for the table is kept in the cache, and taken from it where its file is still the
/// same. Which metadata file is the current one is found out anew each time.
///
/// # Errors
/// Those of [`open_table`].
pub async fn open_cached_table(
    options: TableOptions,
    cache: Option<Arc<MetadataCache>>,
) -> Result<Table> {
    let storage = Storage::with_settings(options.stores).with_cache(cache);
    let location = Location::parse(&options.location)?;
    let places = parse_places(options.warehouse.as_deref(), &options.allowed_locations)?;
    let found = resolve_metadata_file(&storage, &location, &options.selection, &places).await?;
    let metadata = found.content.metadata(&found.file.to_string())?;
    let counters = Arc::clone(storage.counters());
    let files = TableFiles::new(
        storage,
        found.reach,
        &metadata.location,
        options.allow_moved_paths,
    );
    Ok(Table {
        metadata,
        metadata_file: found.file,
        location: found.table,
        files: Arc::new(files),
        counters,
    })
}

/// The places besides its own directory that a table may read.
pub(super) fn parse_places(
    warehouse: Option<&str>,
    allowed_locations: &[String],
) -> Result<Vec<Location>> {
    let allowed = allowed_locations.iter().map(String::as_str);
    warehouse
        .into_iter()
        .chain(allowed)
        .map(Location::parse)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::SystemTime;

    use serde_json::Value;

    use super::*;
    use crate::catalog::{Catalog, PathCatalog, TableIdent};
    use crate::error::ErrorKind;
    use crate::spec::corpus_tests::corpus;
    use crate::storage::RawPath;

    const UUID: &str = "aaaaaaaa-0000-4000-8000-000000000001";

    /// A table directory whose metadata declares `declared` as its location.
    fn make_table(directory: &Path, declared: &str) {
        fs::create_dir_all(directory.join("metadata")).expect("directories");
        fs::create_dir_all(directory.join("data")).expect("directories");
        let text = format!(
            r#"{{"format-version":2,"table-uuid":"{UUID}","location":"{declared}",
                "last-sequence-number":0,"last-updated-ms":1,"last-column-id":1,
                "current-schema-id":0,"schemas":[{{"type":"struct","schema-id":0,"fields":[
                    {{"id":1,"name":"a","required":false,"type":"int"}}]}}],
                "default-spec-id":0,"partition-specs":[{{"spec-id":0,"fields":[]}}],
                "last-partition-id":999,"default-sort-order-id":0,
                "sort-orders":[{{"order-id":0,"fields":[]}}]}}"#
        );
        fs::write(directory.join("metadata/v1.metadata.json"), text).expect("written");
        fs::write(directory.join("data/a"), "content").expect("written");
    }

    fn at(location: &str) -> TableOptions {
        TableOptions {
            location: location.to_owned(),
            ..TableOptions::default()
        }
    }

    #[tokio::test]
    async fn a_table_is_opened_by_location_or_by_name() {
        let keep = tempfile::tempdir().expect("a directory");
        let warehouse = keep.path().to_str().expect("UTF-8").to_owned();
        let directory = format!("{warehouse}/sales/eu/or ders");
        make_table(Path::new(&directory), &directory);
        let by_location = open_table(at(&format!("file://{directory}"))).await;
        let catalog = PathCatalog {
            warehouse: Some(warehouse.clone()),
            ..PathCatalog::default()
        };
        let ident = TableIdent {
            namespace: "sales.eu".to_owned(),
            name: "or ders".to_owned(),
        };
        for table in [by_location, catalog.load_table(&ident).await] {
            let table = table.expect("opened");
            assert_eq!(table.metadata().location, directory);
            assert_eq!(table.location().to_string(), directory);
            let file = format!("{directory}/metadata/v1.metadata.json");
            assert_eq!(table.metadata_file().to_string(), file);
            let before = table.counters().bytes_read();
            let content = table
                .files()
                .read(&RawPath(format!("{directory}/data/a")))
                .await;
            assert_eq!(content.expect("readable"), "content");
            assert_eq!(table.counters().bytes_read(), before + 7);
        }
        let listing = catalog.list_tables("sales.eu").await.expect("listed");
        assert_eq!(listing.tables, ["or ders"]);
        assert!(
            catalog
                .list_tables("sales")
                .await
                .expect("listed")
                .tables
                .is_empty()
        );
        let missing = TableIdent {
            name: "nothing".to_owned(),
            ..ident
        };
        let kind = catalog
            .load_table(&missing)
            .await
            .map_err(|error| error.kind());
        assert_eq!(kind.err(), Some(ErrorKind::TableNotFound));
    }

    #[tokio::test]
    async fn a_moved_table_needs_leave_to_read_its_files() {
        let keep = tempfile::tempdir().expect("a directory");
        let directory = format!("{}/here", keep.path().display());
        make_table(Path::new(&directory), "s3://bucket/there");
        let path = RawPath("s3://bucket/there/data/a".to_owned());
        let table = open_table(at(&directory)).await.expect("opened");
        let error = table.files().read(&path).await.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("allow_moved_paths"))
        );
        let moved = TableOptions {
            allow_moved_paths: true,
            ..at(&directory)
        };
        let table = open_table(moved).await.expect("opened");
        assert_eq!(
            table.files().read(&path).await.expect("readable"),
            "content"
        );
    }

    #[tokio::test]
    async fn metadata_is_kept_until_another_is_current() {
        let keep = tempfile::tempdir().expect("a directory");
        let directory = format!("{}/t", keep.path().display());
        make_table(Path::new(&directory), &directory);
        let settle = |file: &str| {
            let file = fs::File::options().write(true).open(file).expect("a file");
            file.set_modified(SystemTime::UNIX_EPOCH).expect("a time");
        };
        let first = format!("{directory}/metadata/v1.metadata.json");
        settle(&first);
        let cache = MetadataCache::new(1 << 20);
        let open = async || {
            let cache = Some(Arc::clone(&cache));
            open_cached_table(at(&directory), cache)
                .await
                .expect("opened")
        };
        let one = open().await;
        let two = open().await;
        assert!(Arc::ptr_eq(one.metadata(), two.metadata()));
        assert!(one.counters().bytes_read() > 0);
        assert_eq!(two.counters().bytes_read(), 0);
        let text = fs::read_to_string(&first).expect("read");
        let second = text.replace("\"last-updated-ms\":1", "\"last-updated-ms\":2");
        fs::write(format!("{directory}/metadata/v2.metadata.json"), second).expect("written");
        let three = open().await;
        assert_eq!(three.metadata().last_updated_ms, 2);
        assert_eq!(three.metadata_file().file_name(), "v2.metadata.json");
    }

    #[tokio::test]
    async fn options_that_are_no_locations() {
        let keep = tempfile::tempdir().expect("a directory");
        let directory = format!("{}/t", keep.path().display());
        make_table(Path::new(&directory), &directory);
        let with_warehouse = TableOptions {
            warehouse: Some("wh".to_owned()),
            ..at(&directory)
        };
        let with_allowed = TableOptions {
            allowed_locations: vec![String::new()],
            ..at(&directory)
        };
        for options in [at("t"), at(""), with_warehouse, with_allowed] {
            let kind = open_table(options).await.map_err(|error| error.kind());
            assert_eq!(kind.err(), Some(ErrorKind::InvalidArgument));
        }
    }

    #[tokio::test]
    async fn metadata_that_is_only_half_there_is_corrupt() {
        let keep = tempfile::tempdir().expect("a directory");
        let directory = format!("{}/t", keep.path().display());
        make_table(Path::new(&directory), &directory);
        let file = format!("{directory}/metadata/v1.metadata.json");
        let text = fs::read_to_string(&file).expect("read");
        fs::write(&file, &text[..text.len() - 10]).expect("written");
        let error = open_table(at(&directory)).await.expect_err("corrupt");
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("v1.metadata.json"), "{error}");
    }

    /// The metadata file that Iceberg Java chose, for every table it wrote.
    #[tokio::test]
    async fn reference_written_tables_open_at_the_file_that_java_reads() {
        let Some(corpus) = corpus() else { return };
        let corpus = fs::canonicalize(corpus).expect("the corpus");
        let mut opened = 0;
        for writer in ["java", "spark"] {
            let namespace = corpus.join(writer);
            let catalog = PathCatalog::default();
            let namespace = namespace.to_str().expect("UTF-8");
            let listing = catalog.list_tables(namespace).await.expect("listed");
            assert_eq!(listing.skipped, []);
            for name in listing.tables {
                let location = format!("{namespace}/{name}");
                let expected = fs::read(format!("{location}/expected.json")).expect("expected");
                let expected: Value = serde_json::from_slice(&expected).expect("JSON");
                let expected = expected["metadata_file"].as_str().expect("a file");
                let table = open_table(at(&location)).await.expect("opened");
                let name = table.metadata_file().file_name();
                assert_eq!(expected.rsplit('/').next(), Some(name), "{location}");
                opened += 1;
            }
        }
        assert!(opened > 50, "only {opened} tables");
    }
}
