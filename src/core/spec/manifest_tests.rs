//! Manifests of reference implementations against what another Avro library finds in them, and
//! the inheritance rules on manifests made for the purpose.

use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::spec::manifest_fields::{FieldDefinition, FieldType};
use crate::spec::test_files::{AvroTestFile, ManifestTestFile, manifest_file, read_testdata};
use crate::spec::{
    ColumnStats, FileStats, NestedField, PrimitiveType, PrimitiveValue, read_manifest_list,
};

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

/// The manifest of these entries, read as one of `manifest`.
fn entries_of(manifest: &ManifestFile, version: u8, entries: Value) -> Vec<ManifestEntry> {
    let file = ManifestTestFile::new(version, manifest.content).entries(entries);
    open(manifest, file.write()).map(Result::unwrap).collect()
}

fn error_of(manifest: &ManifestFile, content: Bytes) -> Error {
    ManifestReader::open(manifest, content, |_| None)
        .and_then(|mut reader| reader.try_for_each(|entry| entry.map(drop)))
        .unwrap_err()
}

#[test]
fn only_added_entries_inherit_sequence_numbers() {
    let manifest = ManifestFile {
        sequence_number: 7,
        added_snapshot_id: Some(70),
        ..manifest_file("m.avro")
    };
    let entries = entries_of(
        &manifest,
        2,
        json!([
            { "status": 1, "data_file": { "file_path": "a" } },
            { "status": 1, "snapshot_id": 60, "sequence_number": 3, "data_file": { "file_path": "b" } },
            { "status": 0, "sequence_number": 2, "file_sequence_number": 5, "data_file": { "file_path": "c" } },
            { "status": 0, "data_file": { "file_path": "d" } },
            { "status": 2, "sequence_number": 4, "file_sequence_number": 4, "data_file": { "file_path": "e" } },
        ]),
    );
    let found: Vec<_> = entries
        .iter()
        .map(|entry| {
            (
                entry.is_live(),
                entry.snapshot_id,
                entry.sequence_number,
                entry.file_sequence_number,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (true, Some(70), Some(7), Some(7)),
            // Rewritten at an older data sequence number: the file is newer than its rows.
            (true, Some(60), Some(3), Some(7)),
            (true, Some(70), Some(2), Some(5)),
            (true, Some(70), None, None),
            (false, Some(70), Some(4), Some(4)),
        ]
    );
}

#[test]
fn files_of_v1_manifests_are_oldest_in_any_table() {
    // The table was upgraded, and its manifest list is one of v2.
    for sequence_number in [0, 9] {
        let manifest = ManifestFile {
            sequence_number,
            ..manifest_file("m.avro")
        };
        let entries = entries_of(
            &manifest,
            1,
            json!([
                { "status": 1, "snapshot_id": 5, "data_file": { "file_path": "a" } },
                { "status": 0, "snapshot_id": 5, "data_file": { "file_path": "b" } },
                { "status": 2, "snapshot_id": 5, "data_file": { "file_path": "c" } },
            ]),
        );
        assert_eq!(entries.len(), 3);
        for entry in entries {
            assert_eq!(entry.sequence_number, Some(0));
            assert_eq!(entry.file_sequence_number, Some(0));
            assert_eq!(entry.snapshot_id, Some(5));
            assert_eq!(entry.data_file.content, DataContent::Data);
            assert_eq!(entry.data_file.first_row_id, None);
        }
    }
}

#[test]
fn row_ids_follow_the_files_that_have_none() {
    let entries = json!([
        { "status": 1, "data_file": { "file_path": "a", "record_count": 10 } },
        { "status": 0, "sequence_number": 1, "data_file": { "file_path": "b", "record_count": 5, "first_row_id": 100 } },
        { "status": 0, "sequence_number": 1, "data_file": { "file_path": "c", "record_count": 3 } },
        { "status": 2, "sequence_number": 1, "data_file": { "file_path": "d", "record_count": 50 } },
        { "status": 1, "data_file": { "file_path": "e", "record_count": 2 } },
    ]);
    let first_row_ids = |first_row_id| {
        let manifest = ManifestFile {
            sequence_number: 2,
            first_row_id,
            ..manifest_file("m.avro")
        };
        entries_of(&manifest, 3, entries.clone())
            .iter()
            .map(|entry| entry.data_file.first_row_id)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        first_row_ids(Some(1000)),
        [Some(1000), Some(100), Some(1010), None, Some(1013)]
    );
    assert_eq!(first_row_ids(None), [None; 5]);
}

#[test]
fn row_ids_that_overflow_are_corrupt() {
    let manifest = ManifestFile {
        first_row_id: Some(i64::MAX - 5),
        ..manifest_file("m.avro")
    };
    let file = ManifestTestFile::new(3, ManifestContent::Data).entries(json!([
        { "status": 1, "data_file": { "file_path": "a", "record_count": 10 } },
    ]));
    let error = error_of(&manifest, file.write());
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("m.avro"), "{error}");
}

#[test]
fn delete_files_have_no_row_ids() {
    let manifest = ManifestFile {
        content: ManifestContent::Deletes,
        first_row_id: Some(4),
        ..manifest_file("m.avro")
    };
    let entries = entries_of(
        &manifest,
        3,
        json!([{ "status": 1, "data_file": { "file_path": "a", "content": 1 } }]),
    );
    assert_eq!(entries[0].data_file.first_row_id, None);
}

#[test]
fn a_file_must_hold_what_its_manifest_is_listed_for() {
    for (content, listed) in [(0, ManifestContent::Deletes), (2, ManifestContent::Data)] {
        let manifest = ManifestFile {
            content: listed,
            ..manifest_file("m.avro")
        };
        let file = ManifestTestFile::new(2, listed).entries(json!([
            { "status": 1, "data_file": { "file_path": "a", "content": content } },
        ]));
        assert_eq!(error_of(&manifest, file.write()).kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn partition_values_take_the_place_and_type_of_the_spec() {
    let manifest = manifest_file("m.avro");
    let file = ManifestTestFile::new(2, ManifestContent::Data)
        .partition(json!([
            { "name": "gone", "type": ["null", "string"], "field-id": 1003 },
            { "name": "x-y", "type": ["int", "null"], "field-id": 1002 },
            { "name": "amount", "type": "bytes", "field-id": 1000 },
        ]))
        .entries(json!([
            { "status": 1, "data_file": { "file_path": "a", "partition": { "gone": "?", "x-y": 3, "amount": "\u{1}\u{0}" } } },
        ]));
    let spec = |id: i32| {
        assert_eq!(id, 0);
        let field =
            |id, name: &str, result: PrimitiveType| NestedField::optional(id, name, result.into());
        let decimal = PrimitiveType::Decimal {
            precision: 9,
            scale: 2,
        };
        Some(StructType::new([
            field(1000, "amount", decimal),
            field(1002, "x", PrimitiveType::Long),
        ]))
    };
    let mut reader = ManifestReader::open(&manifest, file.write(), spec).unwrap();
    assert_eq!(reader.partition_field_ids(), [Some(1000), Some(1002)]);
    let entry = reader.next().unwrap().unwrap();
    assert_eq!(
        entry.data_file.partition.values,
        [
            Some(PrimitiveValue::Decimal(256)),
            Some(PrimitiveValue::Long(3))
        ]
    );
}

#[test]
fn partition_values_that_are_not_there_are_not_null() {
    let manifest = manifest_file("m.avro");
    let spec = |_| {
        let result = PrimitiveType::Int.into();
        Some(StructType::new([NestedField::optional(1001, "p", result)]))
    };
    for (partition, given) in [
        (
            json!([{ "name": "p", "type": "int", "field-id": 1000 }]),
            json!({ "p": 3 }),
        ),
        (
            json!([{ "name": "p", "type": "int", "field-id": 1001 }]),
            Value::Null,
        ),
        (json!([]), json!({})),
        (json!([]), Value::Null),
    ] {
        let content = ManifestTestFile::new(2, ManifestContent::Data)
            .partition(partition)
            .entries(json!([
                { "status": 1, "data_file": { "file_path": "a", "partition": given } },
            ]))
            .write();
        let mut reader = ManifestReader::open(&manifest, content, spec).unwrap();
        let error = reader.next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("partition"), "{error}");
    }
    // A file of an unpartitioned spec has nothing to lack.
    let content = ManifestTestFile::new(2, ManifestContent::Data)
        .entries(json!([
            { "status": 1, "data_file": { "file_path": "a", "partition": null } },
        ]))
        .write();
    let entry = open(&manifest, content).next().unwrap().unwrap();
    assert_eq!(entry.data_file.partition.values, []);
}

#[test]
fn partition_fields_without_ids_of_their_own_are_found_by_name() {
    let manifest = manifest_file("m.avro");
    let content = ManifestTestFile::new(2, ManifestContent::Data)
        .partition(json!([{ "name": "p", "type": "int" }]))
        .entries(json!([
            { "status": 1, "data_file": { "file_path": "a", "partition": { "p": 3 } } },
        ]))
        .write();
    let spec = |_| {
        let result = PrimitiveType::Int.into();
        Some(StructType::new([NestedField::optional(1001, "p", result)]))
    };
    let mut reader = ManifestReader::open(&manifest, content, spec).unwrap();
    let entry = reader.next().unwrap().unwrap();
    assert_eq!(
        entry.data_file.partition.values,
        [Some(PrimitiveValue::Int(3))]
    );
}

#[test]
fn entries_without_statistics_are_otherwise_the_same() {
    for name in ["v1_month.avro", "v2_decimal.avro", "v3_added.avro"] {
        let manifest = manifest_file(name);
        let with: Vec<_> = open(&manifest, read_testdata(name))
            .map(Result::unwrap)
            .collect();
        let without: Vec<_> = open(&manifest, read_testdata(name))
            .without_stats()
            .map(Result::unwrap)
            .collect();
        assert_eq!(with.len(), without.len());
        for (mut with, without) in with.into_iter().zip(without) {
            assert!(!with.data_file.stats.columns().is_empty());
            with.data_file.stats = FileStats::default();
            assert_eq!(with, without);
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

#[test]
fn fields_are_found_by_id_whatever_their_names() {
    let manifest = manifest_file("m.avro");
    let file = ManifestTestFile::new(2, ManifestContent::Data).entries(json!([
        { "status": 1, "data_file": { "file_path": "a", "record_count": 4, "lower_bounds": [{ "key": 3, "value": "x" }] } },
    ]));
    let renamed = file.write_with_schema(|schema| {
        schema
            .replace("\"file_path\"", "\"record_count_\"")
            .replace("\"record_count\"", "\"file_path\"")
            .replace("\"key\"", "\"value_\"")
    });
    let mut reader = open(&manifest, renamed);
    let file = reader.next().unwrap().unwrap().data_file;
    assert_eq!(file.file_path, "a");
    assert_eq!(file.record_count, Some(4));
    assert_eq!(
        file.stats.column(3).unwrap().lower_bound.as_deref(),
        Some(b"x".as_slice())
    );
}

#[test]
fn fields_without_ids_are_found_by_name() {
    let manifest = manifest_file("m.avro");
    let file = ManifestTestFile::new(2, ManifestContent::Data)
        .partition(json!([{ "name": "p", "type": ["null", "int"], "field-id": 1000 }]))
        .entries(json!([
            { "status": 1, "data_file": {
                "file_path": "a", "record_count": 4, "partition": { "p": 6 },
                "lower_bounds": [{ "key": 3, "value": "x" }] } },
        ]))
        .write_with_schema(|schema| schema.replace("field-id", "ignored"));
    let spec = |_: i32| {
        let unknown = PrimitiveType::Unknown.into();
        Some(StructType::new([NestedField::optional(1000, "p", unknown)]))
    };
    let mut reader = ManifestReader::open(&manifest, file, spec).unwrap();
    let file = reader.next().unwrap().unwrap().data_file;
    assert_eq!(file.file_path, "a");
    assert_eq!(file.record_count, Some(4));
    assert_eq!(file.partition.values, [Some(PrimitiveValue::Int(6))]);
    assert_eq!(
        file.stats.column(3).unwrap().lower_bound.as_deref(),
        Some(b"x".as_slice())
    );
}

#[test]
fn old_names_of_a_list_without_ids_are_known() {
    let list = AvroTestFile::new(
        json!({ "type": "record", "name": "manifest_file", "fields": [
        { "name": "manifest_path", "type": "string" },
        { "name": "manifest_length", "type": "long" },
        { "name": "partition_spec_id", "type": "int" },
        { "name": "added_data_files_count", "type": ["int", "null"] },
        { "name": "existing_data_files_count", "type": ["null", "int"] },
        { "name": "partitions", "type": ["null", { "type": "array", "items": {
            "type": "record", "name": "summary", "fields": [
                { "name": "contains_null", "type": "boolean" },
                { "name": "lower_bound", "type": ["null", "bytes"] } ] } }] },
    ] }),
    )
    .rows(json!([{
        "manifest_path": "m", "manifest_length": 5, "partition_spec_id": 3,
        "added_data_files_count": 2, "existing_data_files_count": null,
        "partitions": [{ "contains_null": false, "lower_bound": "a" }],
    }]))
    .write();
    let manifests = read_manifest_list("list", list).unwrap();
    assert_eq!(
        manifests,
        [ManifestFile {
            manifest_length: Some(5),
            partition_spec_id: Some(3),
            added_snapshot_id: None,
            added_files_count: Some(2),
            partitions: Some(vec![crate::spec::FieldSummary {
                contains_null: false,
                contains_nan: None,
                lower_bound: Some(b"a".to_vec()),
                upper_bound: None,
            }]),
            ..ManifestFile::inline("m", 0)
        }]
    );
}

#[test]
fn maps_with_text_keys_are_accepted() {
    let manifest = manifest_file("m.avro");
    let file = AvroTestFile::new(json!({ "type": "record", "name": "manifest_entry", "fields": [
        { "name": "status", "type": "int", "field-id": 0 },
        { "name": "data_file", "field-id": 2, "type": { "type": "record", "name": "r2", "fields": [
            { "name": "file_path", "type": "string", "field-id": 100 },
            { "name": "file_format", "type": "string", "field-id": 101 },
            { "name": "record_count", "type": "long", "field-id": 103 },
            { "name": "file_size_in_bytes", "type": "long", "field-id": 104 },
            { "name": "value_counts", "field-id": 109, "type": { "type": "map", "values": "long" } },
        ] } },
    ] }))
    .rows(json!([{ "status": 1, "data_file": {
        "file_path": "a", "file_format": "pArQuEt", "record_count": -1, "file_size_in_bytes": 0,
        "value_counts": { "12": 6 } } }]))
    .write();
    let mut reader = open(&manifest, file);
    assert_eq!(reader.header().format_version, 1);
    let file = reader.next().unwrap().unwrap().data_file;
    assert_eq!(file.record_count, None);
    assert_eq!(file.stats.column(12).unwrap().value_count, Some(6));
}

#[test]
fn unknown_formats_and_versions_are_not_supported() {
    let manifest = manifest_file("m.avro");
    let file = ManifestTestFile::new(2, ManifestContent::Data).entries(json!([
        { "status": 1, "data_file": { "file_path": "a", "file_format": "vortex" } },
    ]));
    let error = error_of(&manifest, file.write());
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(error.message().contains("vortex"), "{error}");
    assert!(error.message().contains("m.avro"), "{error}");

    let newer = ManifestTestFile::new(4, ManifestContent::Data).entries(json!([]));
    assert_eq!(
        error_of(&manifest, newer.write()).kind(),
        ErrorKind::NotSupported
    );
    let parquet = Bytes::from_static(b"PAR1....PAR1");
    assert_eq!(error_of(&manifest, parquet).kind(), ErrorKind::NotSupported);
}

#[test]
fn what_is_required_and_missing_is_corrupt() {
    let manifest = manifest_file("m.avro");
    for file in [
        json!({ "file_path": null }),
        json!({ "file_path": "" }),
        json!({ "file_path": "a", "file_format": null }),
        json!({ "file_path": "a", "record_count": null }),
        json!({ "file_path": "a", "file_size_in_bytes": null }),
        json!({ "file_path": "a", "file_size_in_bytes": -1 }),
        json!({ "file_path": "a", "content": 3 }),
    ] {
        let content = ManifestTestFile::new(2, ManifestContent::Data)
            .entries(json!([{ "status": 1, "data_file": file }]))
            .write();
        let error = error_of(&manifest, content);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{file}");
        assert!(error.message().contains("m.avro"), "{error}");
    }
    for status in [json!(null), json!(3), json!(-1)] {
        let content = ManifestTestFile::new(2, ManifestContent::Data)
            .entries(json!([{ "status": status, "data_file": { "file_path": "a" } }]))
            .write();
        assert_eq!(error_of(&manifest, content).kind(), ErrorKind::Corrupt);
    }
}
