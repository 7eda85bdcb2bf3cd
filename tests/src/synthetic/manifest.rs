//! Manifests and manifest lists of format version 2, their fields known by id. Spec: "Manifests", "Manifest Lists".

use apache_avro::types::Value;
use apache_avro::{Codec, Schema, Writer};
use serde_json::{Value as Json, json};

/// A live data file of an unpartitioned table.
pub(super) struct Entry {
    pub path: String,
    pub records: i64,
    pub size: i64,
}

/// A live delete file, as its manifest tells of it; numbers and paths are not checked.
#[derive(Debug, Clone, Default)]
pub struct DeleteEntry {
    /// 1: positions, 2: equality deletes.
    pub content: i32,
    /// Where it is.
    pub path: String,
    /// `PARQUET` or `PUFFIN`.
    pub format: String,
    /// Number of rows or positions.
    pub records: i64,
    /// Size in bytes.
    pub size: i64,
    /// The columns that are compared.
    pub equality_ids: Vec<i32>,
    /// The only data file it is about.
    pub referenced_data_file: Option<String>,
    /// Where a deletion vector starts.
    pub content_offset: Option<i64>,
    /// How long it is.
    pub content_size: Option<i64>,
}

/// A manifest, as the manifest list tells of it.
pub(super) struct Listed {
    pub path: String,
    pub length: usize,
    pub partition_spec_id: i32,
    /// 0: data, 1: deletes.
    pub content: i32,
    pub sequence_number: i64,
    pub files: usize,
    pub rows: i64,
}

fn field(id: i32, name: &str, kind: Json) -> Json {
    json!({"name": name, "type": kind, "field-id": id})
}

fn optional(id: i32, name: &str, kind: Json) -> Json {
    json!({"name": name, "type": ["null", kind], "default": null, "field-id": id})
}

fn avro(schema: Json, records: Vec<Json>, metadata: &[(&str, String)]) -> Vec<u8> {
    let schema = Schema::parse(&schema).expect("the Avro schema is valid");
    let mut writer = Writer::with_codec(&schema, Vec::new(), Codec::Deflate(Default::default()))
        .expect("the schema can be written");
    for (key, value) in metadata {
        writer
            .add_user_metadata((*key).to_owned(), value)
            .expect("the header is not written yet");
    }
    for record in records {
        let value = Value::try_from(record)
            .and_then(|value| value.resolve(&schema))
            .expect("the record fits the schema");
        writer
            .append_value(value)
            .expect("the record can be written");
    }
    writer.into_inner().expect("the file can be closed")
}

/// A manifest that adds these data files in the snapshot; sequence numbers are inherited.
pub(super) fn manifest(snapshot_id: i64, schema: &Json, entries: &[Entry]) -> Vec<u8> {
    let files = entries.iter().map(|entry| {
        json!({
            "content": 0, "file_path": entry.path, "file_format": "PARQUET", "partition": {},
            "record_count": entry.records, "file_size_in_bytes": entry.size, "equality_ids": null,
            "referenced_data_file": null, "content_offset": null, "content_size_in_bytes": null,
        })
    });
    manifest_of("data", 0, snapshot_id, schema, files)
}

/// A manifest that adds these delete files in the snapshot; sequence numbers are inherited.
pub(super) fn delete_manifest(
    snapshot_id: i64,
    spec_id: i32,
    schema: &Json,
    entries: &[DeleteEntry],
) -> Vec<u8> {
    let files = entries.iter().map(|entry| {
        let equality_ids = (entry.content == 2).then_some(&entry.equality_ids);
        json!({
            "content": entry.content, "file_path": entry.path, "file_format": entry.format, "partition": {},
            "record_count": entry.records, "file_size_in_bytes": entry.size, "equality_ids": equality_ids,
            "referenced_data_file": entry.referenced_data_file, "content_offset": entry.content_offset,
            "content_size_in_bytes": entry.content_size,
        })
    });
    manifest_of("deletes", spec_id, snapshot_id, schema, files)
}

fn manifest_of(
    content: &str,
    spec_id: i32,
    snapshot_id: i64,
    schema: &Json,
    files: impl Iterator<Item = Json>,
) -> Vec<u8> {
    let equality_ids = json!({"type": "array", "items": "int", "element-id": 136});
    let data_file = json!({"type": "record", "name": "r2", "fields": [
        field(134, "content", json!("int")),
        field(100, "file_path", json!("string")),
        field(101, "file_format", json!("string")),
        field(102, "partition", json!({"type": "record", "name": "r102", "fields": []})),
        field(103, "record_count", json!("long")),
        field(104, "file_size_in_bytes", json!("long")),
        optional(135, "equality_ids", equality_ids),
        optional(143, "referenced_data_file", json!("string")),
        optional(144, "content_offset", json!("long")),
        optional(145, "content_size_in_bytes", json!("long")),
    ]});
    let entry = json!({"type": "record", "name": "manifest_entry", "fields": [
        field(0, "status", json!("int")),
        optional(1, "snapshot_id", json!("long")),
        optional(3, "sequence_number", json!("long")),
        optional(4, "file_sequence_number", json!("long")),
        field(2, "data_file", data_file),
    ]});
    let records = files.map(|file| {
        json!({"status": 1, "snapshot_id": snapshot_id, "sequence_number": null, "file_sequence_number": null, "data_file": file})
    });
    let metadata = [
        ("schema", schema.to_string()),
        ("schema-id", "0".to_owned()),
        ("partition-spec", "[]".to_owned()),
        ("partition-spec-id", spec_id.to_string()),
        ("format-version", "2".to_owned()),
        ("content", content.to_owned()),
    ];
    avro(entry, records.collect(), &metadata)
}

/// A manifest list of manifests that the snapshot has added.
pub(super) fn manifest_list(snapshot_id: i64, manifests: &[Listed]) -> Vec<u8> {
    let schema = json!({"type": "record", "name": "manifest_file", "fields": [
        field(500, "manifest_path", json!("string")),
        field(501, "manifest_length", json!("long")),
        field(502, "partition_spec_id", json!("int")),
        field(517, "content", json!("int")),
        field(515, "sequence_number", json!("long")),
        field(516, "min_sequence_number", json!("long")),
        field(503, "added_snapshot_id", json!("long")),
        field(504, "added_files_count", json!("int")),
        field(505, "existing_files_count", json!("int")),
        field(506, "deleted_files_count", json!("int")),
        field(512, "added_rows_count", json!("long")),
        field(513, "existing_rows_count", json!("long")),
        field(514, "deleted_rows_count", json!("long")),
    ]});
    let records = manifests.iter().map(|manifest| {
        json!({
            "manifest_path": manifest.path, "manifest_length": manifest.length,
            "partition_spec_id": manifest.partition_spec_id, "content": manifest.content,
            "sequence_number": manifest.sequence_number, "min_sequence_number": manifest.sequence_number,
            "added_snapshot_id": snapshot_id, "added_files_count": manifest.files, "existing_files_count": 0,
            "deleted_files_count": 0, "added_rows_count": manifest.rows, "existing_rows_count": 0, "deleted_rows_count": 0,
        })
    });
    let metadata = [
        ("snapshot-id", snapshot_id.to_string()),
        ("parent-snapshot-id", "null".to_owned()),
        ("sequence-number", "2".to_owned()),
        ("format-version", "2".to_owned()),
    ];
    avro(schema, records.collect(), &metadata)
}
