//! Tests of the choice between metadata files, each on a directory made for it.

mod choice;
mod content;
mod named;

use std::fs;
use std::io::Write;

use super::*;

const A: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const B: &str = "bbbbbbbb-0000-4000-8000-000000000002";
/// The random part of a file's name; says nothing about the table.
const R: &str = "12345678-1234-4234-9234-123456789abc";
const Q: &str = "87654321-1234-4234-9234-123456789abc";

/// A table directory that goes away with the test.
struct Table {
    _keep: tempfile::TempDir,
    path: String,
}

impl Table {
    fn new() -> Self {
        let keep = tempfile::tempdir().expect("a directory");
        let path = keep.path().join("wh/t");
        fs::create_dir_all(path.join("metadata")).expect("directories");
        let path = path.to_str().expect("UTF-8").to_owned();
        Self { _keep: keep, path }
    }

    fn with(files: &[(&str, &str)]) -> Self {
        let table = Self::new();
        for (name, text) in files {
            table.put(name, text.as_bytes());
        }
        table
    }

    fn put(&self, name: &str, content: &[u8]) {
        let path = format!("{}/metadata/{name}", self.path);
        let content = if name.contains("gz") && !content.starts_with(b"!") {
            gzip(content)
        } else {
            content.to_vec()
        };
        fs::write(path, content).expect("written");
    }

    async fn resolve(&self, selection: &MetadataSelection) -> Result<String> {
        self.resolve_at(&self.path, selection).await
    }

    async fn resolve_at(&self, at: &str, selection: &MetadataSelection) -> Result<String> {
        let location = Location::parse(at)?;
        let found = resolve_metadata_file(&Storage::new(), &location, selection, &[]).await?;
        assert!(found.content.head().is_ok());
        let table = Location::parse(&self.path)?;
        assert!(found.table.is_same(&table), "{}", found.table);
        Ok(found.file.file_name().to_owned())
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(content).expect("packed");
    packer.finish().expect("packed")
}

fn json(uuid: &str, last_updated_ms: i64) -> String {
    metadata(&format!("\"table-uuid\":\"{uuid}\","), last_updated_ms)
}

fn json_without_uuid(last_updated_ms: i64) -> String {
    metadata("", last_updated_ms)
}

fn metadata(uuid: &str, last_updated_ms: i64) -> String {
    format!(
        r#"{{"format-version":1,{uuid}"location":"/x","last-updated-ms":{last_updated_ms},
        "last-column-id":1,"partition-spec":[],"properties":{{}},
        "schema":{{"type":"struct","fields":[
            {{"id":1,"name":"a","required":false,"type":"int"}}]}}}}"#
    )
}

fn newest() -> MetadataSelection {
    MetadataSelection::default()
}

fn of_table(uuid: &str) -> MetadataSelection {
    MetadataSelection {
        metadata_table_uuid: Some(uuid.to_owned()),
        ..MetadataSelection::default()
    }
}

fn by_time() -> MetadataSelection {
    MetadataSelection {
        recent_by_last_updated_ms: true,
        ..MetadataSelection::default()
    }
}

fn file(path: &str) -> MetadataSelection {
    MetadataSelection {
        metadata_file_path: Some(path.to_owned()),
        metadata_table_uuid: Some("not even a uuid".to_owned()),
        recent_by_last_updated_ms: true,
    }
}

/// What a row shows, the files, the choice, and the chosen file or the kind of error.
type Row<'a> = (
    &'a str,
    &'a [(&'a str, &'a str)],
    MetadataSelection,
    Result<&'a str, ErrorKind>,
);

async fn check(rows: &[Row<'_>]) {
    for (what, files, selection, expected) in rows {
        let found = Table::with(files).resolve(selection).await;
        let found = found.as_deref().map_err(Error::kind);
        assert_eq!(found, *expected, "{what}");
    }
}
