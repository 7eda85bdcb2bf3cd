//! Avro files for tests: those of reference implementations beside this file, and small ones
//! written for the purpose from the same field tables that the reader goes by.

use std::collections::BTreeMap;

use apache_avro::Codec;
use bytes::Bytes;
use serde_json::{Value, json};

use super::manifest_fields::{FieldDefinition, FieldType, MANIFEST_ENTRY, MANIFEST_FILE};
use super::manifest_list::{ManifestContent, ManifestFile};

/// A file of `testdata`.
pub fn read_testdata(name: &str) -> Bytes {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("spec/testdata")
        .join(name);
    std::fs::read(path).unwrap().into()
}

/// A manifest of unpartitioned data, about which nothing else is known.
pub fn manifest_file(path: &str) -> ManifestFile {
    ManifestFile {
        partition_spec_id: Some(0),
        ..ManifestFile::inline(path, 1)
    }
}

/// An Avro file of a schema and rows, both given as JSON; text stands for bytes.
pub struct AvroTestFile {
    schema: Value,
    rows: Value,
    key_values: BTreeMap<String, String>,
    codec: Codec,
}

impl AvroTestFile {
    pub fn new(schema: Value) -> Self {
        Self {
            schema,
            rows: json!([]),
            key_values: BTreeMap::new(),
            codec: Codec::Null,
        }
    }

    pub fn rows(mut self, rows: Value) -> Self {
        self.rows = rows;
        self
    }

    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    pub fn write(&self) -> Bytes {
        self.write_with_schema(|schema| schema)
    }

    /// Writes the rows by the schema, and another text of the schema into the header.
    pub fn write_with_schema(&self, edit: impl FnOnce(String) -> String) -> Bytes {
        let rows = self.rows.as_array().unwrap();
        let mut block = Vec::new();
        for row in rows {
            encode(&self.schema, row, &mut block);
        }
        self.codec.compress(&mut block).unwrap();
        let codec: &str = self.codec.into();
        let mut key_values = self.key_values.clone();
        key_values.insert("avro.schema".to_owned(), edit(self.schema.to_string()));
        key_values.insert("avro.codec".to_owned(), codec.to_owned());
        let mut file = b"Obj\x01".to_vec();
        put_long(&mut file, key_values.len() as i64);
        for (key, value) in &key_values {
            put_bytes(&mut file, key.as_bytes());
            put_bytes(&mut file, value.as_bytes());
        }
        file.push(0);
        file.extend(SYNC);
        if !rows.is_empty() {
            put_long(&mut file, rows.len() as i64);
            put_bytes(&mut file, &block);
            file.extend(SYNC);
        }
        file.into()
    }
}

const SYNC: &[u8; 16] = b"0123456789abcdef";

fn put_long(out: &mut Vec<u8>, value: i64) {
    let mut encoded = ((value << 1) ^ (value >> 63)) as u64;
    while encoded > 0x7f {
        out.push(encoded as u8 | 0x80);
        encoded >>= 7;
    }
    out.push(encoded as u8);
}

fn put_bytes(out: &mut Vec<u8>, value: &[u8]) {
    put_long(out, value.len() as i64);
    out.extend(value);
}

/// Encodes a value by a schema; what is not there is null, and the first branch of a union that is
/// not null is the one for values.
fn encode(schema: &Value, value: &Value, out: &mut Vec<u8>) {
    if let Some(branches) = schema.as_array() {
        let branch = branches
            .iter()
            .position(|branch| (branch == "null") == value.is_null())
            .unwrap();
        put_long(out, branch as i64);
        return encode(&branches[branch], value, out);
    }
    match schema.as_str().or_else(|| schema["type"].as_str()) {
        None => encode(&schema["type"], value, out),
        Some("null") => {}
        Some("boolean") => out.push(value.as_bool().unwrap().into()),
        Some("int" | "long") => put_long(out, value.as_i64().unwrap()),
        Some("string" | "bytes") => put_bytes(out, value.as_str().unwrap().as_bytes()),
        Some("record") => {
            for field in schema["fields"].as_array().unwrap() {
                encode(&field["type"], &value[field["name"].as_str().unwrap()], out);
            }
        }
        Some("array") => {
            let items = value.as_array().unwrap();
            if !items.is_empty() {
                put_long(out, items.len() as i64);
            }
            for item in items {
                encode(&schema["items"], item, out);
            }
            out.push(0);
        }
        Some("map") => {
            let entries = value.as_object().unwrap();
            // A negative count is followed by the size of the block in bytes.
            let mut block = Vec::new();
            for (key, value) in entries {
                put_bytes(&mut block, key.as_bytes());
                encode(&schema["values"], value, &mut block);
            }
            if !entries.is_empty() {
                put_long(out, -(entries.len() as i64));
                put_long(out, block.len() as i64);
                out.extend(block);
            }
            out.push(0);
        }
        Some(other) => panic!("{other} is not written by tests"),
    }
}

/// A manifest with the fields that its format version has.
pub struct ManifestTestFile {
    version: u8,
    content: ManifestContent,
    partition: Value,
    entries: Value,
}

impl ManifestTestFile {
    pub fn new(version: u8, content: ManifestContent) -> Self {
        Self {
            version,
            content,
            partition: json!([]),
            entries: json!([]),
        }
    }

    /// The Avro fields of the partition record.
    pub fn partition(mut self, fields: Value) -> Self {
        self.partition = fields;
        self
    }

    /// The entries; what a data file does not say is a Parquet file of 1 row and 1 byte.
    pub fn entries(mut self, entries: Value) -> Self {
        self.entries = entries;
        self
    }

    pub fn write(&self) -> Bytes {
        self.write_with_schema(|schema| schema)
    }

    pub fn write_with_schema(&self, edit: impl FnOnce(String) -> String) -> Bytes {
        let schema = record(
            "manifest_entry",
            MANIFEST_ENTRY,
            self.version,
            &self.partition,
        );
        let rows = self
            .entries
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| {
                let mut entry = entry.clone();
                let file = entry["data_file"].as_object_mut().unwrap();
                file.entry("file_format").or_insert(json!("PARQUET"));
                file.entry("record_count").or_insert(json!(1));
                file.entry("file_size_in_bytes").or_insert(json!(1));
                file.entry("partition").or_insert(json!({}));
                entry
            })
            .collect();
        let mut file = AvroTestFile::new(schema).rows(rows);
        let content = match self.content {
            ManifestContent::Data => "data",
            ManifestContent::Deletes => "deletes",
        };
        for (key, value) in [
            ("format-version", self.version.to_string()),
            ("content", content.to_owned()),
            ("partition-spec-id", "0".to_owned()),
        ] {
            file.key_values.insert(key.to_owned(), value);
        }
        file.write_with_schema(edit)
    }
}

/// A manifest list of these rows.
pub fn write_manifest_list(rows: Value) -> Bytes {
    AvroTestFile::new(record("manifest_file", MANIFEST_FILE, 3, &json!([])))
        .rows(rows)
        .write()
}

/// Fields that came with format version 2.
const SINCE_V2: &[&str] = &[
    "sequence_number",
    "file_sequence_number",
    "content",
    "equality_ids",
];

fn record(name: &str, fields: &[FieldDefinition], version: u8, partition: &Value) -> Value {
    let fields: Vec<_> = fields
        .iter()
        .filter(|field| version > 1 || !SINCE_V2.contains(&field.name))
        .map(|field| {
            json!({
                "name": field.name,
                "field-id": field.id,
                "type": ["null", avro_type(field, version, partition)],
                "default": null,
            })
        })
        .collect();
    json!({ "type": "record", "name": name, "fields": fields })
}

fn avro_type(field: &FieldDefinition, version: u8, partition: &Value) -> Value {
    let map = |key_id: i32, value_id: i32, value: &str| {
        json!({ "type": "array", "logicalType": "map", "items": {
            "type": "record", "name": format!("k{key_id}_v{value_id}"), "fields": [
                { "name": "key", "type": "int", "field-id": key_id },
                { "name": "value", "type": value, "field-id": value_id } ] } })
    };
    match field.field_type {
        FieldType::Boolean => json!("boolean"),
        FieldType::Int => json!("int"),
        FieldType::Long => json!("long"),
        FieldType::String => json!("string"),
        FieldType::Binary => json!("bytes"),
        FieldType::IntList { element_id } => {
            json!({ "type": "array", "items": "int", "element-id": element_id })
        }
        FieldType::LongList { element_id } => {
            json!({ "type": "array", "items": "long", "element-id": element_id })
        }
        FieldType::StructList {
            element_id,
            element,
        } => {
            let element = record(&format!("r{element_id}"), element, version, partition);
            json!({ "type": "array", "items": element, "element-id": element_id })
        }
        FieldType::LongMap { key_id, value_id } => map(key_id, value_id, "long"),
        FieldType::BinaryMap { key_id, value_id } => map(key_id, value_id, "bytes"),
        FieldType::Struct(fields) => record(&format!("r{}", field.id), fields, version, partition),
        FieldType::Partition => {
            json!({ "type": "record", "name": "r102", "fields": partition })
        }
    }
}
