//! Manifests and manifest lists of format version 2, their fields known by id. Spec: "Manifests", "Manifest Lists".

use apache_avro::types::Value;
use apache_avro::{Codec, Schema, Writer};
use serde_json::{Value as Json, json};

/// A data file, as its manifest tells of it.
pub(super) struct Entry {
    pub path: String,
    pub records: i64,
    pub size: i64,
    /// 0: existing, 1: added, 2: deleted.
    pub status: i32,
    /// The partition tuple, a value for each field of the spec by name.
    pub partition: Json,
    pub first_row_id: Option<i64>,
    pub sequence_number: Option<i64>,
    pub sort_order_id: Option<i32>,
}

/// The partition spec of a data manifest: its id, its fields as table metadata has them, and the Avro type of each
/// field's values.
#[derive(Debug, Clone, Default)]
pub(super) struct Spec {
    pub id: i32,
    pub fields: Vec<(Json, Json)>,
}

impl Spec {
    /// The fields as table metadata has them.
    pub fn fields(&self) -> Json {
        self.fields.iter().map(|(field, _)| field.clone()).collect()
    }

    /// The record of the partition tuples.
    fn record(&self) -> Json {
        let fields: Vec<_> = self
            .fields
            .iter()
            .map(|(field, kind)| {
                let id = field["field-id"].as_i64().expect("a field has an id");
                optional(id as i32, &avro_name(field), kind.clone())
            })
            .collect();
        json!({"type": "record", "name": "r102", "fields": fields})
    }

    /// A partition tuple, given by the names of the fields, as such a record.
    fn tuple(&self, values: &Json) -> Json {
        let values = self.fields.iter().map(|(field, _)| {
            let name = field["name"].as_str().expect("a field has a name");
            (avro_name(field), values[name].clone())
        });
        Json::Object(values.collect())
    }
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
    /// How many files are added, existing and deleted, where that is not `files` added ones.
    pub counts: Option<[usize; 3]>,
    pub first_row_id: Option<i64>,
}

/// A name that Avro takes, whatever the partition field's own is: the id tells which it is.
fn avro_name(partition_field: &Json) -> String {
    format!("field_{}", partition_field["field-id"])
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

/// A manifest of these data files in the snapshot; sequence numbers that are not given are inherited.
pub(super) fn manifest(snapshot_id: i64, spec: &Spec, schema: &Json, entries: &[Entry]) -> Vec<u8> {
    let entries = entries.iter().map(|entry| {
        let file = json!({
            "content": 0, "file_path": entry.path, "file_format": "PARQUET",
            "partition": spec.tuple(&entry.partition),
            "record_count": entry.records, "file_size_in_bytes": entry.size, "equality_ids": null,
            "sort_order_id": entry.sort_order_id, "first_row_id": entry.first_row_id, "referenced_data_file": null, "content_offset": null,
            "content_size_in_bytes": null,
        });
        (entry.status, entry.sequence_number, file)
    });
    manifest_of("data", spec, snapshot_id, schema, entries)
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
            "sort_order_id": null, "first_row_id": null, "referenced_data_file": entry.referenced_data_file,
            "content_offset": entry.content_offset, "content_size_in_bytes": entry.content_size,
        })
    });
    let spec = Spec {
        id: spec_id,
        fields: Vec::new(),
    };
    let entries = files.map(|file| (1, None, file));
    manifest_of("deletes", &spec, snapshot_id, schema, entries)
}

fn manifest_of(
    content: &str,
    spec: &Spec,
    snapshot_id: i64,
    schema: &Json,
    entries: impl Iterator<Item = (i32, Option<i64>, Json)>,
) -> Vec<u8> {
    let equality_ids = json!({"type": "array", "items": "int", "element-id": 136});
    let data_file = json!({"type": "record", "name": "r2", "fields": [
        field(134, "content", json!("int")),
        field(100, "file_path", json!("string")),
        field(101, "file_format", json!("string")),
        field(102, "partition", spec.record()),
        field(103, "record_count", json!("long")),
        field(104, "file_size_in_bytes", json!("long")),
        optional(135, "equality_ids", equality_ids),
        optional(140, "sort_order_id", json!("int")),
        optional(142, "first_row_id", json!("long")),
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
    let records = entries.map(|(status, sequence_number, file)| {
        json!({
            "status": status, "snapshot_id": snapshot_id, "sequence_number": sequence_number,
            "file_sequence_number": sequence_number, "data_file": file,
        })
    });
    let metadata = [
        ("schema", schema.to_string()),
        ("schema-id", "0".to_owned()),
        ("partition-spec", spec.fields().to_string()),
        ("partition-spec-id", spec.id.to_string()),
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
        optional(520, "first_row_id", json!("long")),
    ]});
    let records = manifests.iter().map(|manifest| {
        let [added, existing, deleted] = manifest.counts.unwrap_or([manifest.files, 0, 0]);
        json!({
            "manifest_path": manifest.path, "manifest_length": manifest.length,
            "partition_spec_id": manifest.partition_spec_id, "content": manifest.content,
            "sequence_number": manifest.sequence_number, "min_sequence_number": manifest.sequence_number,
            "added_snapshot_id": snapshot_id, "added_files_count": added, "existing_files_count": existing,
            "deleted_files_count": deleted, "added_rows_count": manifest.rows, "existing_rows_count": 0, "deleted_rows_count": 0,
            "first_row_id": manifest.first_row_id,
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
