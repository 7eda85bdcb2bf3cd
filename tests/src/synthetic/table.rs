//! A table of one snapshot: its columns, its files and its metadata.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use arrow::array::ArrayRef;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::deletes::{deletion_vector, position_delete_file, puffin};
use super::manifest::{DeleteEntry, Entry, Listed, Spec, delete_manifest, manifest, manifest_list};
use super::parquet_file::parquet_of_arrays;

/// A temporary directory that the server's user can read.
pub struct Directory(TempDir);

impl Directory {
    /// A new empty directory, removed at the end of the test.
    pub fn new() -> Directory {
        let directory = TempDir::new().expect("a temporary directory can be made");
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755))
            .expect("its permissions can be set");
        Directory(directory)
    }

    /// The directory's path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A path inside.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Default for Directory {
    fn default() -> Self {
        Self::new()
    }
}

struct Column {
    id: i32,
    name: String,
    kind: Json,
}

/// A table in the making.
pub struct Table {
    directory: PathBuf,
    location: String,
    snapshot_id: i64,
    columns: Vec<Column>,
    entries: Vec<Entry>,
    deletes: Vec<DeleteEntry>,
    delete_spec_id: i32,
    spec: Spec,
    first_row_id: Option<i64>,
}

impl Table {
    /// A table in a directory, which its metadata names as its location.
    pub fn new(directory: impl Into<PathBuf>) -> Table {
        let directory = directory.into();
        let location = directory.to_str().expect("test paths are UTF-8").to_owned();
        Table {
            directory,
            location,
            snapshot_id: 1001,
            columns: Vec::new(),
            entries: Vec::new(),
            deletes: Vec::new(),
            delete_spec_id: 0,
            spec: Spec::default(),
            first_row_id: None,
        }
    }

    /// Another location in the metadata: that of a table that was moved here.
    pub fn location(mut self, location: &str) -> Table {
        self.location = location.to_owned();
        self
    }

    /// The id of the snapshot; it is part of the names of the manifests.
    pub fn snapshot_id(mut self, snapshot_id: i64) -> Table {
        self.snapshot_id = snapshot_id;
        self
    }

    /// One more optional column of a primitive type.
    pub fn column(self, id: i32, name: &str, kind: &str) -> Table {
        self.typed_column(id, name, json!(kind))
    }

    /// One more optional column of any type, as a schema's JSON says it.
    pub fn typed_column(mut self, id: i32, name: &str, kind: Json) -> Table {
        self.columns.push(Column {
            id,
            name: name.to_owned(),
            kind,
        });
        self
    }

    /// A data file of all columns under a path relative to the table.
    pub fn file(self, path: &str, arrays: Vec<ArrayRef>) -> Table {
        assert_eq!(arrays.len(), self.columns.len(), "an array for each column");
        let records = arrays.first().map_or(0, |array| array.len());
        let columns: Vec<_> = self
            .columns
            .iter()
            .zip(arrays)
            .map(|(column, array)| (column.id, column.name.as_str(), array))
            .collect();
        let bytes = parquet_of_arrays(&columns);
        self.raw_file(path, &bytes, records)
    }

    /// A data file of these bytes.
    pub fn raw_file(mut self, path: &str, bytes: &[u8], records: usize) -> Table {
        write(&self.directory.join(path), bytes);
        let path = format!("{}/{path}", self.location);
        self.entries.push(Entry {
            path,
            records: records as i64,
            size: bytes.len() as i64,
            status: 1,
            partition: json!({}),
            first_row_id: None,
            sequence_number: None,
            sort_order_id: None,
        });
        self
    }

    /// A file that is another name of one of the table's files: a large table that takes little time and space to make.
    pub fn linked_file(mut self, path: &str, original: &str) -> Table {
        let whole = self
            .entries
            .iter()
            .find(|entry| entry.path == format!("{}/{original}", self.location))
            .expect("the original is in the table");
        let (records, size) = (whole.records, whole.size);
        std::fs::hard_link(self.directory.join(original), self.directory.join(path))
            .expect("a file can be linked");
        self.entries.push(Entry {
            path: format!("{}/{path}", self.location),
            records,
            size,
            status: 1,
            partition: json!({}),
            first_row_id: None,
            sequence_number: None,
            sort_order_id: None,
        });
        self
    }

    /// Makes the manifest say that the last file has this many records and bytes.
    pub fn claiming(mut self, records: i64, size: i64) -> Table {
        let last = self.last();
        last.records = records;
        last.size = size;
        self
    }

    /// One more partition field: its id, name and transform, the id of its source column, and the Avro type of its values.
    pub fn partition_field(
        mut self,
        id: i32,
        name: &str,
        transform: &str,
        source: i32,
        kind: Json,
    ) -> Table {
        let field =
            json!({"field-id": id, "name": name, "transform": transform, "source-id": source});
        self.spec.fields.push((field, kind));
        self
    }

    /// The id of the partition spec.
    pub fn spec_id(mut self, spec_id: i32) -> Table {
        self.spec.id = spec_id;
        self
    }

    /// The partition tuple of the last file, by the names of the partition fields; it is not checked.
    pub fn in_partition(mut self, partition: Json) -> Table {
        self.last().partition = partition;
        self
    }

    /// The status of the last file in its manifest (0: existing, 1: added, 2: deleted), and its sequence number,
    /// which only an added file may leave out.
    pub fn with_status(mut self, status: i32, sequence_number: Option<i64>) -> Table {
        let last = self.last();
        last.status = status;
        last.sequence_number = sequence_number;
        self
    }

    /// The id of the order that the last file is said to be sorted by.
    pub fn sorted_by(mut self, sort_order_id: i32) -> Table {
        self.last().sort_order_id = Some(sort_order_id);
        self
    }

    /// The id of the first row of the last file.
    pub fn with_first_row_id(mut self, first_row_id: i64) -> Table {
        self.last().first_row_id = Some(first_row_id);
        self
    }

    /// The id of the first row of the manifest's files that have none of their own. The metadata must be made one of
    /// format version 3.
    pub fn manifest_first_row_id(mut self, first_row_id: i64) -> Table {
        self.first_row_id = Some(first_row_id);
        self
    }

    fn last(&mut self) -> &mut Entry {
        self.entries.last_mut().expect("a file was added")
    }

    /// What the metadata calls a file that is relative to the table.
    pub fn path_of(&self, path: &str) -> String {
        format!("{}/{path}", self.location)
    }

    /// The delete files are listed under another partition spec, also without fields.
    pub fn delete_spec_id(mut self, spec_id: i32) -> Table {
        self.delete_spec_id = spec_id;
        self
    }

    /// A position delete file of paths relative to the table and positions; its sequence number is above that of the data.
    pub fn position_deletes(self, path: &str, rows: &[(&str, i64)]) -> Table {
        let full: Vec<_> = rows
            .iter()
            .map(|(path, position)| (self.path_of(path), *position))
            .collect();
        let bytes = position_delete_file(full.iter().map(|(path, pos)| (path.as_str(), *pos)));
        self.delete_file(path, &bytes, rows.len(), 1, &[])
    }

    /// An equality delete file of columns of the table, given by their ids; its sequence number is above that of the data.
    pub fn equality_deletes(self, path: &str, columns: &[(i32, ArrayRef)]) -> Table {
        let ids: Vec<_> = columns.iter().map(|(id, _)| *id).collect();
        let rows = columns.first().map_or(0, |(_, array)| array.len());
        let named: Vec<_> = columns
            .iter()
            .map(|(id, array)| (*id, format!("key {id}"), array.clone()))
            .collect();
        let columns: Vec<_> = named
            .iter()
            .map(|(id, name, array)| (*id, name.as_str(), array.clone()))
            .collect();
        self.delete_file(path, &parquet_of_arrays(&columns), rows, 2, &ids)
    }

    /// A delete file of these bytes.
    pub fn delete_file(
        self,
        path: &str,
        bytes: &[u8],
        records: usize,
        content: i32,
        equality_ids: &[i32],
    ) -> Table {
        write(&self.directory.join(path), bytes);
        let entry = DeleteEntry {
            content,
            path: self.path_of(path),
            format: "PARQUET".to_owned(),
            records: records as i64,
            size: bytes.len() as i64,
            equality_ids: equality_ids.to_vec(),
            ..DeleteEntry::default()
        };
        self.delete_entry(entry)
    }

    /// A Puffin file with a deletion vector for each of these data files.
    pub fn deletion_vectors(self, path: &str, vectors: &[(&str, Vec<u64>)]) -> Table {
        let vectors: Vec<_> = vectors
            .iter()
            .map(|(path, positions)| {
                let blob = deletion_vector(positions.iter().copied());
                (self.path_of(path), positions.len(), blob)
            })
            .collect();
        let blobs: Vec<_> = vectors
            .iter()
            .map(|(path, cardinality, blob)| (path.as_str(), *cardinality, blob.clone()))
            .collect();
        let (bytes, offsets) = puffin(&blobs);
        write(&self.directory.join(path), &bytes);
        let mut table = self;
        for ((about, cardinality, blob), offset) in vectors.into_iter().zip(offsets) {
            let entry = DeleteEntry {
                content: 1,
                path: table.path_of(path),
                format: "PUFFIN".to_owned(),
                records: cardinality as i64,
                size: bytes.len() as i64,
                referenced_data_file: Some(about),
                content_offset: Some(offset as i64),
                content_size: Some(blob.len() as i64),
                ..DeleteEntry::default()
            };
            table = table.delete_entry(entry);
        }
        table
    }

    /// A live entry of the delete manifest, whatever it says.
    pub fn delete_entry(mut self, entry: DeleteEntry) -> Table {
        self.deletes.push(entry);
        self
    }

    /// Changes what the delete manifest says of the delete files so far.
    pub fn change_deletes(mut self, change: impl FnMut(&mut DeleteEntry)) -> Table {
        self.deletes.iter_mut().for_each(change);
        self
    }

    fn schema(&self) -> Json {
        let field = |column: &Column| json!({"id": column.id, "name": column.name, "required": false, "type": column.kind});
        json!({"type": "struct", "schema-id": 0, "fields": self.columns.iter().map(field).collect::<Vec<_>>()})
    }

    /// Writes manifest and manifest list, and gives the table's metadata, which is not written yet.
    pub fn write_snapshot(&self) -> Json {
        let id = self.snapshot_id;
        let mut metadata = self.metadata_without_snapshot();
        let mut manifests = Vec::new();
        let bytes = manifest(id, &self.spec, &self.schema(), &self.entries);
        let count = |status| {
            let with_it = self.entries.iter().filter(|entry| entry.status == status);
            with_it.count()
        };
        manifests.push(self.write_manifest("manifest", &bytes, |listed| {
            listed.sequence_number = 1;
            listed.partition_spec_id = self.spec.id;
            listed.counts = Some([count(1), count(0), count(2)]);
            listed.first_row_id = self.first_row_id;
            listed.files = self.entries.len();
            listed.rows = self.entries.iter().map(|entry| entry.records).sum();
        }));
        if !self.deletes.is_empty() {
            let bytes = delete_manifest(id, self.delete_spec_id, &self.schema(), &self.deletes);
            manifests.push(self.write_manifest("deletes", &bytes, |listed| {
                listed.sequence_number = 2;
                listed.content = 1;
                listed.partition_spec_id = self.delete_spec_id;
                listed.files = self.deletes.len();
                listed.rows = self.deletes.iter().map(|entry| entry.records).sum();
            }));
            if self.delete_spec_id != 0 {
                metadata["partition-specs"] = json!([
                    {"spec-id": 0, "fields": []}, {"spec-id": self.delete_spec_id, "fields": []}]);
            }
        }
        let list = manifest_list(id, &manifests);
        write(
            &self.directory.join(format!("metadata/snap-{id}.avro")),
            &list,
        );
        metadata["current-snapshot-id"] = json!(id);
        metadata["snapshots"] = json!([{
            "snapshot-id": id, "sequence-number": 2, "timestamp-ms": 1_735_689_600_000_i64, "schema-id": 0,
            "summary": {"operation": "append"}, "manifest-list": format!("{}/metadata/snap-{id}.avro", self.location),
        }]);
        metadata["snapshot-log"] =
            json!([{"snapshot-id": id, "timestamp-ms": 1_735_689_600_000_i64}]);
        metadata["refs"] = json!({"main": {"snapshot-id": id, "type": "branch"}});
        metadata["last-sequence-number"] = json!(2);
        metadata
    }

    fn write_manifest(
        &self,
        name: &str,
        bytes: &[u8],
        describe: impl FnOnce(&mut Listed),
    ) -> Listed {
        let path = format!("metadata/{name}-{}.avro", self.snapshot_id);
        write(&self.directory.join(&path), bytes);
        let mut listed = Listed {
            path: self.path_of(&path),
            length: bytes.len(),
            ..Listed::default()
        };
        describe(&mut listed);
        listed
    }

    /// The metadata of a table that was created and never written to.
    pub fn metadata_without_snapshot(&self) -> Json {
        let inner = self.columns.iter().map(|column| highest_id(&column.kind));
        let last_column = self
            .columns
            .iter()
            .map(|column| i64::from(column.id))
            .chain(inner)
            .max()
            .unwrap_or(0);
        json!({
            "format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": self.location,
            "last-sequence-number": 0, "last-updated-ms": 1_735_689_600_000_i64, "last-column-id": last_column,
            "schemas": [self.schema()], "current-schema-id": 0, "partition-specs": [{"spec-id": self.spec.id, "fields": self.spec.fields()}],
            "default-spec-id": self.spec.id, "last-partition-id": 999 + self.spec.fields.len(), "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0,
            "properties": {}, "snapshots": [], "snapshot-log": [], "metadata-log": [], "refs": {},
        })
    }

    /// Writes everything, the metadata as `v1.metadata.json`, and gives the table's directory.
    pub fn write(&self) -> PathBuf {
        write_json(
            &self.directory.join("metadata/v1.metadata.json"),
            &self.write_snapshot(),
        );
        self.directory.clone()
    }
}

/// The highest field id inside a type.
fn highest_id(kind: &Json) -> i64 {
    let ids = ["id", "element-id", "key-id", "value-id"];
    match kind {
        Json::Object(members) => members
            .iter()
            .map(|(name, member)| match member.as_i64() {
                Some(id) if ids.contains(&name.as_str()) => id,
                _ => highest_id(member),
            })
            .max()
            .unwrap_or(0),
        Json::Array(members) => members.iter().map(highest_id).max().unwrap_or(0),
        _ => 0,
    }
}

/// Writes a JSON file and the directories above it.
pub fn write_json(path: &Path, json: &Json) {
    write(path, json.to_string().as_bytes());
}

/// The same, compressed.
pub fn write_gzip(path: &Path, json: &Json) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder
        .write_all(json.to_string().as_bytes())
        .expect("memory can be written to");
    write(path, &encoder.finish().expect("memory can be written to"));
}

/// Writes a file and the directories above it.
pub(crate) fn write(path: &Path, bytes: &[u8]) {
    let parent = path.parent().expect("a file has a directory");
    std::fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
    std::fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
