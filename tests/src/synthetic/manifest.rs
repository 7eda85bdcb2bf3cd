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

/// A manifest that adds these files in the snapshot; sequence numbers are inherited.
pub(super) fn manifest(snapshot_id: i64, schema: &Json, entries: &[Entry]) -> Vec<u8> {
    let data_file = json!({"type": "record", "name": "r2", "fields": [
        field(134, "content", json!("int")),
        field(100, "file_path", json!("string")),
        field(101, "file_format", json!("string")),
        field(102, "partition", json!({"type": "record", "name": "r102", "fields": []})),
        field(103, "record_count", json!("long")),
        field(104, "file_size_in_bytes", json!("long")),
    ]});
    let entry = json!({"type": "record", "name": "manifest_entry", "fields": [
        field(0, "status", json!("int")),
        optional(1, "snapshot_id", json!("long")),
        optional(3, "sequence_number", json!("long")),
        optional(4, "file_sequence_number", json!("long")),
        field(2, "data_file", data_file),
    ]});
    let records = entries.iter().map(|entry| {
        json!({"status": 1, "snapshot_id": snapshot_id, "sequence_number": null, "file_sequence_number": null, "data_file": {
            "content": 0, "file_path": entry.path, "file_format": "PARQUET", "partition": {},
            "record_count": entry.records, "file_size_in_bytes": entry.size,
        }})
    });
    let metadata = [
        ("schema", schema.to_string()),
        ("schema-id", "0".to_owned()),
        ("partition-spec", "[]".to_owned()),
        ("partition-spec-id", "0".to_owned()),
        ("format-version", "2".to_owned()),
        ("content", "data".to_owned()),
    ];
    avro(entry, records.collect(), &metadata)
}

/// A manifest list of one manifest.
pub(super) fn manifest_list(
    snapshot_id: i64,
    path: &str,
    length: usize,
    entries: &[Entry],
) -> Vec<u8> {
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
    let rows: i64 = entries.iter().map(|entry| entry.records).sum();
    let record = json!({
        "manifest_path": path, "manifest_length": length, "partition_spec_id": 0, "content": 0, "sequence_number": 1,
        "min_sequence_number": 1, "added_snapshot_id": snapshot_id, "added_files_count": entries.len(), "existing_files_count": 0,
        "deleted_files_count": 0, "added_rows_count": rows, "existing_rows_count": 0, "deleted_rows_count": 0,
    });
    let metadata = [
        ("snapshot-id", snapshot_id.to_string()),
        ("parent-snapshot-id", "null".to_owned()),
        ("sequence-number", "1".to_owned()),
        ("format-version", "2".to_owned()),
    ];
    avro(schema, vec![record], &metadata)
}
