//! Manifests of reference implementations against what another Avro library finds in them.

use bytes::Bytes;
use serde_json::{Value, json};

use super::avro::AvroFile;
use super::manifest_fields::{self as fields, FieldDefinition, FieldType};
use super::test_files::{manifest_file, read_testdata};
use super::*;

fn read_out(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_slice(&read_testdata("read_out.json")).unwrap();
    all[name].as_array().unwrap().clone()
}

fn open(manifest: &ManifestFile, content: Bytes) -> ManifestReader {
    ManifestReader::open(manifest, content, |_| None).unwrap()
}

fn value_as_read_out(value: &PrimitiveValue) -> Value {
    match value {
        PrimitiveValue::Int(value) => json!(value),
        PrimitiveValue::Long(value) => json!(value),
        PrimitiveValue::String(value) => json!(value),
        PrimitiveValue::Date(value) => json!({ "date": value }),
        PrimitiveValue::Timestamptz(value) => json!({ "timestamp": value }),
        PrimitiveValue::Decimal(value) => json!({ "decimal": value }),
        PrimitiveValue::Uuid(value) => bytes_as_read_out(value.as_bytes()),
        PrimitiveValue::Fixed(value) | PrimitiveValue::Binary(value) => bytes_as_read_out(value),
        other => panic!("{other:?} is not in the test files"),
    }
}

fn bytes_as_read_out(bytes: &[u8]) -> Value {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "bytes": hex })
}

/// A metrics map, as the other library has it; absent and empty are the same.
fn metric<T>(file: &DataFile, get: impl Fn(&ColumnStats) -> Option<T>) -> Value
where
    Value: From<T>,
{
    file.stats
        .columns()
        .iter()
        .filter_map(|column| Some((column.field_id.to_string(), Value::from(get(column)?))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn assert_same_map(found: Value, expected: &Value, what: &str) {
    let empty = expected.is_null() || expected.as_array().is_some_and(Vec::is_empty);
    let expected = if empty { &json!({}) } else { expected };
    assert_eq!(&found, expected, "{what}");
}

/// Compares everything that an entry states itself.
fn assert_same_entry(entry: &ManifestEntry, expected: &Value) {
    let status = match entry.status {
        ManifestEntryStatus::Existing => 0,
        ManifestEntryStatus::Added => 1,
        ManifestEntryStatus::Deleted => 2,
    };
    assert_eq!(expected["status"], status);
    for (found, name) in [
        (entry.snapshot_id, "snapshot_id"),
        (entry.sequence_number, "sequence_number"),
        (entry.file_sequence_number, "file_sequence_number"),
    ] {
        if !expected[name].is_null() {
            assert_eq!(
                found.map(Value::from),
                Some(expected[name].clone()),
                "{name}"
            );
        }
    }
    let file = &entry.data_file;
    let expected = &expected["data_file"];
    let content = match file.content {
        DataContent::Data => 0,
        DataContent::PositionDeletes => 1,
        DataContent::EqualityDeletes => 2,
    };
    assert_eq!(expected["content"].as_i64().unwrap_or(0), content);
    assert_eq!(expected["file_path"], file.file_path);
    assert_eq!(
        expected["file_format"].as_str().unwrap().to_lowercase(),
        file.file_format.name()
    );
    let values: Vec<_> = file
        .partition
        .values
        .iter()
        .map(|value| value.as_ref().map_or(Value::Null, value_as_read_out))
        .map(|value| match &value["decimal"] {
            Value::Number(unscaled) => json!({ "decimal": unscaled.as_i64().unwrap() }),
            _ => value,
        })
        .collect();
    let expected_values: Vec<_> = expected["partition"]
        .as_object()
        .unwrap()
        .values()
        .map(|value| match value["decimal"].as_str() {
            Some(unscaled) => json!({ "decimal": unscaled.parse::<i64>().unwrap() }),
            None => value.clone(),
        })
        .collect();
    assert_eq!(values, expected_values);
    assert_eq!(json!(file.record_count), expected["record_count"]);
    assert_eq!(
        json!(file.file_size_in_bytes),
        expected["file_size_in_bytes"]
    );
    assert_same_map(
        metric(file, |c| c.size_in_bytes),
        &expected["column_sizes"],
        "sizes",
    );
    assert_same_map(
        metric(file, |c| c.value_count),
        &expected["value_counts"],
        "values",
    );
    assert_same_map(
        metric(file, |c| c.null_value_count),
        &expected["null_value_counts"],
        "nulls",
    );
    assert_same_map(
        metric(file, |c| c.nan_value_count),
        &expected["nan_value_counts"],
        "NaNs",
    );
    assert_same_map(
        metric(file, |c| c.lower_bound.as_deref().map(bytes_as_read_out)),
        &expected["lower_bounds"],
        "lower bounds",
    );
    assert_same_map(
        metric(file, |c| c.upper_bound.as_deref().map(bytes_as_read_out)),
        &expected["upper_bounds"],
        "upper bounds",
    );
    assert_eq!(file.key_metadata, None);
    assert_eq!(json!(file.split_offsets), expected["split_offsets"]);
    assert_eq!(
        json!(file.equality_ids),
        *expected
            .get("equality_ids")
            .filter(|ids| !ids.is_null())
            .unwrap_or(&json!([]))
    );
    assert_eq!(json!(file.sort_order_id), expected["sort_order_id"]);
    assert_eq!(
        json!(file.referenced_data_file),
        expected["referenced_data_file"]
    );
    assert_eq!(json!(file.content_offset), expected["content_offset"]);
    assert_eq!(
        json!(file.content_size_in_bytes),
        expected["content_size_in_bytes"]
    );
}

#[test]
fn entries_are_as_another_library_reads_them() {
    for (name, content, version) in [
        ("v1_month.avro", ManifestContent::Data, 1),
        ("v1_void_and_bucket.avro", ManifestContent::Data, 1),
        ("v2_position_deletes.avro", ManifestContent::Deletes, 2),
        ("v2_equality_deletes.avro", ManifestContent::Deletes, 2),
        ("v2_decimal.avro", ManifestContent::Data, 2),
        ("v2_uuid.avro", ManifestContent::Data, 2),
        ("v2_day.avro", ManifestContent::Data, 2),
        ("v2_timestamptz.avro", ManifestContent::Data, 2),
        ("v2_binary.avro", ManifestContent::Data, 2),
        ("v2_string.avro", ManifestContent::Data, 2),
        ("v3_added.avro", ManifestContent::Data, 3),
        ("v3_deleted.avro", ManifestContent::Data, 3),
        ("v3_deletion_vectors.avro", ManifestContent::Deletes, 3),
    ] {
        let manifest = ManifestFile {
            content,
            ..manifest_file(name)
        };
        let reader = open(&manifest, read_testdata(name));
        assert_eq!(reader.header().format_version, version, "{name}");
        assert_eq!(reader.header().content, content, "{name}");
        let entries: Vec<_> = reader.map(Result::unwrap).collect();
        let expected = read_out(name);
        assert_eq!(entries.len(), expected.len(), "{name}");
        for (entry, expected) in entries.iter().zip(&expected) {
            assert_same_entry(entry, expected);
        }
    }
}

#[test]
fn manifest_lists_are_as_another_library_reads_them() {
    for name in ["v1_list.avro", "v2_list.avro", "v3_list.avro"] {
        let manifests = read_manifest_list(name, read_testdata(name)).unwrap();
        let expected = read_out(name);
        assert_eq!(manifests.len(), expected.len(), "{name}");
        for (manifest, expected) in manifests.iter().zip(&expected) {
            let content = match manifest.content {
                ManifestContent::Data => 0,
                ManifestContent::Deletes => 1,
            };
            let found = json!({
                "manifest_path": manifest.manifest_path,
                "manifest_length": manifest.manifest_length,
                "partition_spec_id": manifest.partition_spec_id,
                "content": content,
                "sequence_number": manifest.sequence_number,
                "min_sequence_number": manifest.min_sequence_number,
                "added_snapshot_id": manifest.added_snapshot_id,
                "added_files_count": manifest.added_files_count,
                "existing_files_count": manifest.existing_files_count,
                "deleted_files_count": manifest.deleted_files_count,
                "added_rows_count": manifest.added_rows_count,
                "existing_rows_count": manifest.existing_rows_count,
                "deleted_rows_count": manifest.deleted_rows_count,
                "partitions": manifest.partitions.as_ref().map(|partitions| {
                    partitions
                        .iter()
                        .map(|summary| json!({
                            "contains_null": summary.contains_null,
                            "contains_nan": summary.contains_nan,
                            "lower_bound": summary.lower_bound.as_deref().map(bytes_as_read_out),
                            "upper_bound": summary.upper_bound.as_deref().map(bytes_as_read_out),
                        }))
                        .collect::<Vec<_>>()
                }),
                "key_metadata": manifest.key_metadata,
                "first_row_id": manifest.first_row_id,
            });
            let mut wanted = expected.clone();
            let fields = wanted.as_object_mut().unwrap();
            // What v1 lists do not have.
            for name in ["content", "sequence_number", "min_sequence_number"] {
                fields.entry(name).or_insert(json!(0));
            }
            fields.entry("first_row_id").or_insert(Value::Null);
            assert_eq!(
                found
                    .as_object()
                    .unwrap()
                    .iter()
                    .collect::<std::collections::BTreeMap<_, _>>(),
                fields.iter().collect::<std::collections::BTreeMap<_, _>>(),
                "{name}"
            );
        }
    }
}

#[test]
fn entries_with_column_sizes_only_are_otherwise_the_same() {
    for name in ["v1_month.avro", "v2_decimal.avro", "v3_added.avro"] {
        let manifest = manifest_file(name);
        let with: Vec<_> = open(&manifest, read_testdata(name))
            .map(Result::unwrap)
            .collect();
        let sizes_only: Vec<_> = open(&manifest, read_testdata(name))
            .with_stats(WantedStats::sizes_only())
            .map(Result::unwrap)
            .collect();
        assert_eq!(with.len(), sizes_only.len());
        for (mut with, mut sizes_only) in with.into_iter().zip(sizes_only) {
            let sizes: Vec<_> = with
                .data_file
                .stats
                .columns()
                .iter()
                .filter(|column| column.size_in_bytes.is_some())
                .map(|column| ColumnStats {
                    field_id: column.field_id,
                    size_in_bytes: column.size_in_bytes,
                    ..ColumnStats::default()
                })
                .collect();
            assert!(!sizes.is_empty());
            assert_eq!(sizes_only.data_file.stats.columns(), sizes);
            with.data_file.stats = FileStats::default();
            sizes_only.data_file.stats = FileStats::default();
            assert_eq!(with, sizes_only);
        }
    }
}

#[test]
fn row_ids_of_a_reference_writer_are_inherited() {
    // The later manifest `v3_list` knows of: the rows that it rewrote had the ids that these files
    // inherit, 0 to 1 and 2 to 4.
    let manifest = ManifestFile {
        first_row_id: Some(0),
        ..manifest_file("v3_added.avro")
    };
    let first_row_ids: Vec<_> = open(&manifest, read_testdata("v3_added.avro"))
        .map(|entry| entry.unwrap().data_file.first_row_id)
        .collect();
    assert_eq!(first_row_ids, [Some(0), Some(2)]);
    // A deleted file keeps the id it had, and takes none.
    let manifest = ManifestFile {
        first_row_id: Some(14),
        ..manifest_file("v3_deleted.avro")
    };
    let first_row_ids: Vec<_> = open(&manifest, read_testdata("v3_deleted.avro"))
        .map(|entry| entry.unwrap().data_file.first_row_id)
        .collect();
    assert_eq!(first_row_ids, [Some(5)]);
}

/// The tables that reader and tests go by, against what a reference writer put into its headers.
#[test]
fn field_definitions_are_those_of_a_reference_writer() {
    fn assert_defined(definitions: &[FieldDefinition], declared: &Value, path: &str) {
        let declared = declared["fields"].as_array().unwrap();
        for definition in definitions {
            let field = declared
                .iter()
                .find(|field| field["id"] == definition.id)
                .unwrap_or_else(|| panic!("{path}.{}", definition.name));
            assert_eq!(field["name"], definition.name, "{path}");
            let declared_type = &field["type"];
            let map = |key_id: i32, value_id: i32, value: &str| {
                json!({ "type": "map", "key-id": key_id, "key": "int", "value-id": value_id,
                    "value": value, "value-required": true })
            };
            let list = |element_id: i32, element: &str| {
                json!({ "type": "list", "element-id": element_id, "element": element,
                    "element-required": true })
            };
            let expected = match definition.field_type {
                FieldType::Boolean => json!("boolean"),
                FieldType::Int => json!("int"),
                FieldType::Long => json!("long"),
                FieldType::String => json!("string"),
                FieldType::Binary => json!("binary"),
                FieldType::IntList { element_id } => list(element_id, "int"),
                FieldType::LongList { element_id } => list(element_id, "long"),
                FieldType::LongMap { key_id, value_id } => map(key_id, value_id, "long"),
                FieldType::BinaryMap { key_id, value_id } => map(key_id, value_id, "binary"),
                FieldType::Struct(fields) => {
                    assert_defined(fields, declared_type, definition.name);
                    continue;
                }
                FieldType::StructList {
                    element_id,
                    element,
                } => {
                    assert_eq!(declared_type["element-id"], element_id);
                    assert_defined(element, &declared_type["element"], definition.name);
                    continue;
                }
                FieldType::Partition => {
                    assert_eq!(declared_type["type"], "struct");
                    continue;
                }
            };
            assert_eq!(*declared_type, expected, "{path}.{}", definition.name);
        }
    }
    for (name, definitions) in [
        ("v3_list.avro", fields::MANIFEST_FILE),
        ("v3_deletion_vectors.avro", fields::MANIFEST_ENTRY),
    ] {
        let file = AvroFile::open(name, read_testdata(name)).unwrap();
        let declared = file.text_value("iceberg.schema").unwrap().unwrap();
        assert_defined(definitions, &serde_json::from_str(declared).unwrap(), name);
    }
}
