//! What entries inherit, and how fields are found, on manifests made for the purpose.

use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::spec::test_files::{AvroTestFile, ManifestTestFile, manifest_file};
use crate::spec::{NestedField, PrimitiveType, PrimitiveValue, read_manifest_list};

fn open(manifest: &ManifestFile, content: Bytes) -> ManifestReader {
    ManifestReader::open(manifest, content, |_| None).unwrap()
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
fn entries_of_a_manifest_with_the_sequence_number_0_inherit_it_whatever_their_status() {
    // As Iceberg Java's InheritableMetadata: nothing in such a manifest can be newer.
    let entries = entries_of(
        &manifest_file("m.avro"),
        2,
        json!([
            { "status": 1, "data_file": { "file_path": "a" } },
            { "status": 0, "data_file": { "file_path": "b" } },
            { "status": 2, "data_file": { "file_path": "c" } },
        ]),
    );
    for entry in entries {
        assert_eq!(entry.sequence_number, Some(0));
        assert_eq!(entry.file_sequence_number, Some(0));
    }
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
        assert!(reader.next().is_none());
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
