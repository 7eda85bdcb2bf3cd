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
pub(crate) struct Spec {
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

    /// The same of values in the order of the fields, as Avro has them.
    fn record_of(&self, values: Vec<Value>) -> Value {
        let names = self.fields.iter().map(|(field, _)| avro_name(field));
        Value::Record(names.zip(values).collect())
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

/// An entry of a manifest with all that the format has room for.
pub(crate) struct Record {
    /// 0: existing, 1: added, 2: deleted.
    pub status: i32,
    pub snapshot_id: i64,
    /// Only an added file may leave it out.
    pub sequence_number: Option<i64>,
    /// The file by the names of the fields; those that it leaves out are null.
    pub file: Json,
    /// The partition tuple, unless the file has it.
    pub partition: Option<Vec<Value>>,
}

/// A manifest, as the manifest list tells of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listed {
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
    /// The snapshot that added it, where that is not the list's own.
    pub added_snapshot_id: Option<i64>,
    /// The lowest sequence number of its files, where that is not the manifest's.
    pub min_sequence_number: Option<i64>,
    /// A summary for each partition field; null if nothing is said.
    pub partitions: Json,
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

fn long_map(id: i32, name: &str, ids: (i32, i32), value: &str) -> Json {
    let entry = json!({"type": "record", "name": format!("k{}_v{}", ids.0, ids.1), "fields": [
        field(ids.0, "key", json!("int")), field(ids.1, "value", json!(value)),
    ]});
    optional(
        id,
        name,
        json!({"type": "array", "logicalType": "map", "items": entry}),
    )
}

fn avro(schema: Json, records: Vec<Value>, metadata: &[(&str, String)]) -> Vec<u8> {
    let schema = Schema::parse(&schema).expect("the Avro schema is valid");
    let mut writer = Writer::with_codec(&schema, Vec::new(), Codec::Deflate(Default::default()))
        .expect("the schema can be written");
    for (key, value) in metadata {
        writer
            .add_user_metadata((*key).to_owned(), value)
            .expect("the header is not written yet");
    }
    for record in records {
        let value = record.resolve(&schema).expect("the record fits the schema");
        writer
            .append_value(value)
            .expect("the record can be written");
    }
    writer.into_inner().expect("the file can be closed")
}

fn value_of(json: Json) -> Value {
    Value::try_from(json).expect("any JSON is a value")
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
        Record {
            status: entry.status,
            snapshot_id,
            sequence_number: entry.sequence_number,
            file,
            partition: None,
        }
    });
    manifest_of("data", spec, schema, entries)
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
    let entries = files.map(|file| Record {
        status: 1,
        snapshot_id,
        sequence_number: None,
        file,
        partition: None,
    });
    manifest_of("deletes", &spec, schema, entries)
}

/// A manifest of data files, or of delete files, as `content` says.
pub(crate) fn manifest_of(
    content: &str,
    spec: &Spec,
    schema: &Json,
    entries: impl Iterator<Item = Record>,
) -> Vec<u8> {
    let equality_ids = json!({"type": "array", "items": "int", "element-id": 136});
    let data_file = json!({"type": "record", "name": "r2", "fields": [
        field(134, "content", json!("int")),
        field(100, "file_path", json!("string")),
        field(101, "file_format", json!("string")),
        field(102, "partition", spec.record()),
        field(103, "record_count", json!("long")),
        field(104, "file_size_in_bytes", json!("long")),
        long_map(109, "value_counts", (119, 120), "long"),
        long_map(110, "null_value_counts", (121, 122), "long"),
        long_map(137, "nan_value_counts", (138, 139), "long"),
        long_map(125, "lower_bounds", (126, 127), "bytes"),
        long_map(128, "upper_bounds", (129, 130), "bytes"),
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
    let records = entries.map(|entry| {
        let mut record = value_of(json!({
            "status": entry.status, "snapshot_id": entry.snapshot_id,
            "sequence_number": entry.sequence_number, "file_sequence_number": entry.sequence_number,
        }));
        let mut file = value_of(entry.file);
        if let (Value::Map(file), Some(partition)) = (&mut file, entry.partition) {
            file.insert("partition".to_owned(), spec.record_of(partition));
        }
        if let Value::Map(record) = &mut record {
            record.insert("data_file".to_owned(), file);
        }
        record
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
pub(crate) fn manifest_list(snapshot_id: i64, manifests: &[Listed]) -> Vec<u8> {
    let summary = json!({"type": "record", "name": "r508", "fields": [
        field(509, "contains_null", json!("boolean")),
        optional(518, "contains_nan", json!("boolean")),
        optional(510, "lower_bound", json!("bytes")),
        optional(511, "upper_bound", json!("bytes")),
    ]});
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
        optional(507, "partitions", json!({"type": "array", "element-id": 508, "items": summary})),
    ]});
    let records = manifests.iter().map(|manifest| {
        let [added, existing, deleted] = manifest.counts.unwrap_or([manifest.files, 0, 0]);
        value_of(json!({
            "manifest_path": manifest.path, "manifest_length": manifest.length,
            "partition_spec_id": manifest.partition_spec_id, "content": manifest.content,
            "sequence_number": manifest.sequence_number,
            "min_sequence_number": manifest.min_sequence_number.unwrap_or(manifest.sequence_number),
            "added_snapshot_id": manifest.added_snapshot_id.unwrap_or(snapshot_id), "added_files_count": added, "existing_files_count": existing,
            "deleted_files_count": deleted, "added_rows_count": manifest.rows, "existing_rows_count": 0, "deleted_rows_count": 0,
            "first_row_id": manifest.first_row_id, "partitions": manifest.partitions,
        }))
    });
    let metadata = [
        ("snapshot-id", snapshot_id.to_string()),
        ("parent-snapshot-id", "null".to_owned()),
        ("sequence-number", "2".to_owned()),
        ("format-version", "2".to_owned()),
    ];
    avro(schema, records.collect(), &metadata)
}
