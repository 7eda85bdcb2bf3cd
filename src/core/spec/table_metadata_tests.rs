//! Metadata files as the spec describes them: three by hand (`testdata`), and what one or another
//! writer does differently.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::snapshot::{ReferenceKind, SnapshotLogEntry};
use super::sort_order::{NullOrder, SortDirection};
use super::{
    NestedField, PartitionSpec, PrimitiveType, SnapshotManifests, StructType, TableMetadata,
    Transform, Type,
};
use crate::error::ErrorKind;

const V1: &str = include_str!("testdata/v1_first_writers.metadata.json");
const V2: &str = include_str!("testdata/v2_full.metadata.json");
const V3: &str = include_str!("testdata/v3_all_types.metadata.json");

const FILE: &str = "s3://lake/t/metadata/v7.metadata.json";

fn parse(text: &str) -> TableMetadata {
    TableMetadata::parse(FILE, text.as_bytes()).unwrap()
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn v1_by_its_first_writers() {
    let metadata = parse(V1);
    assert_eq!(metadata.format_version, 1);
    assert_eq!(metadata.table_uuid, None);
    assert_eq!(metadata.location, "s3://lake/sales/orders/");
    assert_eq!(metadata.last_sequence_number, 0);
    assert_eq!(metadata.current_schema_id, 0);
    let schema = metadata.current_schema().unwrap();
    assert_eq!(
        schema.field_by_id(2).unwrap().doc.as_deref(),
        Some("when the customer paid")
    );
    // Without ids, partition fields count from 1000.
    let spec = metadata.default_partition_spec().unwrap();
    let ids: Vec<i32> = spec.fields.iter().map(|field| field.field_id).collect();
    assert_eq!((spec.spec_id, ids), (0, vec![1000, 1001]));
    assert_eq!(metadata.last_partition_id, None);
    assert!(metadata.default_sort_order().unwrap().is_unsorted());
    let snapshot = metadata.current_snapshot().unwrap();
    assert_eq!(snapshot.sequence_number, 0);
    assert_eq!(snapshot.operation(), None);
    let SnapshotManifests::Inline(manifests) = &snapshot.manifests else {
        panic!("{:?}", snapshot.manifests)
    };
    assert_eq!(manifests.len(), 2);
    // The current snapshot is what `main` names, also where the file has no references.
    let main = metadata.refs.get("main").unwrap();
    assert_eq!(
        (main.snapshot_id, main.kind),
        (638_933_773_299_822_130, ReferenceKind::Branch)
    );
    assert!(Arc::ptr_eq(
        metadata.schema_for_snapshot(snapshot).unwrap(),
        schema
    ));
    assert_eq!(
        TableMetadata::from_json(&metadata.to_json()).unwrap(),
        metadata
    );
}

#[test]
fn v2_in_full() {
    let metadata = parse(V2);
    assert_eq!(metadata.to_json(), document(V2));
    assert_eq!(
        metadata.table_uuid.unwrap().to_string(),
        "fb072c92-a02b-11e9-ae9c-1bb7bc9eca94"
    );
    assert_eq!(metadata.last_sequence_number, 34);
    assert_eq!(metadata.last_column_id, 12);
    assert_eq!(metadata.last_partition_id, Some(1003));
    let schema = metadata.current_schema().unwrap();
    assert_eq!(schema.identifier_field_ids(), [1, 4]);
    assert_eq!(
        schema.field_path_name(10).as_deref(),
        Some("scores.value.element")
    );
    assert_eq!(
        schema.field_path_name(4).as_deref(),
        Some("address.country")
    );
    assert_eq!(schema.field_path_name(13), None);
    let spec = metadata.default_partition_spec().unwrap();
    let transforms: Vec<String> = spec
        .fields
        .iter()
        .map(|field| field.transform.to_string())
        .collect();
    assert_eq!(transforms, ["identity", "month", "truncate[4]", "zorder"]);
    assert!(!spec.is_unpartitioned());
    assert!(metadata.partition_specs[&0].is_unpartitioned());
    let order = metadata.default_sort_order().unwrap();
    assert_eq!(order.fields[1].direction, SortDirection::Descending);
    assert_eq!(order.fields[1].null_order, NullOrder::NullsLast);
    let tag = &metadata.refs["audit/2018"];
    assert_eq!(
        (tag.kind, tag.max_ref_age_ms),
        (ReferenceKind::Tag, Some(10_000_000))
    );
    assert_eq!(
        metadata.statistics[0].blob_metadata[0].properties["ndv"],
        "12"
    );
    assert_eq!(metadata.partition_statistics[0].file_size_in_bytes, 43);
}

#[test]
fn v3_with_every_type() {
    let metadata = parse(V3);
    assert_eq!(metadata.to_json(), document(V3));
    let schema = metadata.current_schema().unwrap();
    let kind = |id| schema.field_by_id(id).unwrap().field_type.clone();
    assert_eq!(kind(6).as_primitive().unwrap().to_string(), "decimal(9, 2)");
    assert_eq!(kind(18), Type::Variant);
    assert_eq!(
        kind(22),
        Type::Primitive(PrimitiveType::Geography {
            crs: Some("EPSG:4267".into()),
            algorithm: Some("vincenty".into())
        })
    );
    let both = &metadata.default_partition_spec().unwrap().fields[0];
    assert_eq!(
        (both.source_ids.as_slice(), both.source_id()),
        (&[2, 3][..], None)
    );
    let snapshot = metadata.current_snapshot().unwrap();
    assert_eq!(
        (snapshot.first_row_id, snapshot.added_rows),
        (Some(1000), Some(375))
    );
    assert_eq!(snapshot.key_id.as_deref(), Some("5f819b"));
    assert_eq!(metadata.next_row_id, Some(1375));
    assert_eq!(metadata.encryption_keys.len(), 1);
}

#[test]
fn a_table_without_rows() {
    // Appendix F: -1, null and nothing are the same.
    for empty in [json!(-1), Value::Null] {
        let mut file = document(V2);
        file["current-snapshot-id"] = empty;
        file["refs"].as_object_mut().unwrap().remove("main");
        let metadata = parse(&file.to_string());
        assert_eq!(metadata.current_snapshot_id, None);
        assert!(metadata.current_snapshot().is_none());
        assert!(!metadata.refs.contains_key("main"));
        assert_eq!(metadata.to_json()["current-snapshot-id"], json!(-1));
        file.as_object_mut().unwrap().remove("current-snapshot-id");
        assert_eq!(parse(&file.to_string()), metadata);
    }
    let mut file = document(V3);
    file["current-snapshot-id"] = json!(-1);
    file["refs"] = json!({});
    let metadata = parse(&file.to_string());
    assert_eq!(metadata.to_json()["current-snapshot-id"], Value::Null);
}

#[test]
fn lists_that_are_optional_may_be_null_or_absent() {
    for key in [
        "properties",
        "snapshot-log",
        "metadata-log",
        "refs",
        "statistics",
        "partition-statistics",
    ] {
        let mut file = document(V2);
        file[key] = Value::Null;
        let metadata = parse(&file.to_string());
        file.as_object_mut().unwrap().remove(key);
        assert_eq!(parse(&file.to_string()), metadata, "{key}");
        // There is always a main branch.
        assert_eq!(metadata.refs["main"].snapshot_id, 3_055_729_675_574_597_004);
    }
}

#[test]
fn gzip_is_recognised_by_its_magic_bytes() {
    let compressed = gzip(V2.as_bytes());
    assert_eq!(TableMetadata::parse(FILE, &compressed).unwrap(), parse(V2));
    let with_mark = [b"\xEF\xBB\xBF", V2.as_bytes()].concat();
    assert_eq!(TableMetadata::parse(FILE, &with_mark).unwrap(), parse(V2));
    for cut in [2, 10, compressed.len() / 2, compressed.len() - 1] {
        let fault = TableMetadata::parse(FILE, &compressed[..cut]).unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::Corrupt, "{cut}: {fault}");
        assert!(fault.message().contains(FILE), "{fault}");
    }
}

fn nested(levels: usize) -> Value {
    let mut inner = json!("int");
    for level in (0..levels).rev() {
        let id = 3 * level + 100;
        inner = match level % 3 {
            0 => json!({"type": "struct", "fields": [
                {"id": id, "name": "inner", "required": false, "type": inner}
            ]}),
            1 => json!({
                "type": "list", "element-id": id, "element": inner, "element-required": false
            }),
            _ => json!({
                "type": "map", "key-id": id, "key": "string",
                "value-id": id + 1, "value": inner, "value-required": false
            }),
        };
    }
    inner
}

#[test]
fn types_may_nest_64_levels_but_not_any_number() {
    let with_type = |field_type: Value| {
        let mut file = document(V2);
        file["last-column-id"] = json!(1_000_000);
        file["schemas"][0]["fields"][0]["type"] = field_type;
        file
    };
    let mut structs = json!("int");
    for level in 0..64 {
        structs = json!({"type": "struct", "fields": [
            {"id": level + 100, "name": "inner", "required": false, "type": structs}
        ]});
    }
    for field_type in [nested(64), structs] {
        let file = with_type(field_type);
        let metadata = parse(&file.to_string());
        assert_eq!(metadata.to_json(), file);
    }
    for levels in [100, 1_000] {
        // Values this deep are made as text: dropping them would need the stack that is in question.
        let open = r#"{"type": "list", "element-id": 100, "element-required": true, "element": "#;
        let deep = format!("{}\"int\"{}", open.repeat(levels), "}".repeat(levels));
        let text = V2.replacen("\"long\"", &deep, 1);
        let fault = TableMetadata::parse(FILE, text.as_bytes()).unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::NotSupported, "{fault}");
        assert!(fault.message().contains("deeper than"), "{fault}");
    }
}

#[test]
fn logs_may_name_what_is_gone() {
    let metadata = parse(V2);
    let at = |timestamp_ms| {
        metadata
            .snapshot_as_of(timestamp_ms)
            .map(|entry| entry.snapshot_id)
    };
    assert_eq!(at(1_415_100_955_769), None);
    assert_eq!(at(1_415_100_955_770), Some(2_055_729_675_574_597_004));
    assert_eq!(at(1_515_100_955_769), Some(2_055_729_675_574_597_004));
    assert_eq!(at(1_515_100_955_770), Some(3_051_729_675_574_597_004));
    assert_eq!(at(i64::MAX), Some(3_055_729_675_574_597_004));
    assert!(metadata.snapshot_by_id(2_055_729_675_574_597_004).is_none());
}

#[test]
fn of_two_log_entries_at_one_time_the_later_counts() {
    let mut metadata = parse(V2);
    metadata.snapshot_log = vec![
        SnapshotLogEntry {
            timestamp_ms: 5,
            snapshot_id: 1,
        },
        SnapshotLogEntry {
            timestamp_ms: 5,
            snapshot_id: 2,
        },
    ];
    assert_eq!(metadata.snapshot_as_of(5).unwrap().snapshot_id, 2);
}

#[test]
fn a_snapshot_has_the_schema_it_was_made_with() {
    let metadata = parse(V2);
    let [old, new] = metadata.snapshots.as_slice() else {
        panic!()
    };
    // The first does not say, and so has the current one.
    assert_eq!(metadata.schema_for_snapshot(old).unwrap().schema_id(), 1);
    assert_eq!(metadata.schema_for_snapshot(new).unwrap().schema_id(), 1);
    let mut gone = new.as_ref().clone();
    gone.schema_id = Some(77);
    let fault = metadata.schema_for_snapshot(&gone).unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::Corrupt);
    assert!(fault.message().contains("schema 77"), "{fault}");
}

#[test]
fn partition_types() {
    let metadata = parse(V2);
    let optional =
        |id, name, primitive| NestedField::optional(id, name, Type::Primitive(primitive));
    assert_eq!(
        metadata.partition_type(2).unwrap(),
        StructType::new([
            optional(1000, "country", PrimitiveType::String),
            optional(1001, "joined_month", PrimitiveType::Int),
            optional(1002, "name_trunc", PrimitiveType::String),
            optional(1003, "id_z", PrimitiveType::Unknown),
        ])
    );
    assert_eq!(metadata.partition_type(0).unwrap(), StructType::default());
    assert_eq!(metadata.partition_type(1), None);
    // Under the first schema most sources are not there; the months are months all the same.
    let spec = metadata.default_partition_spec().unwrap();
    assert_eq!(
        spec.partition_type(&metadata.schemas[&0]),
        StructType::new([
            optional(1000, "country", PrimitiveType::Unknown),
            optional(1001, "joined_month", PrimitiveType::Int),
            optional(1002, "name_trunc", PrimitiveType::Unknown),
            optional(1003, "id_z", PrimitiveType::Unknown),
        ])
    );
}

#[test]
fn partition_field_ids_of_v1_count_from_1000_in_each_spec_and_may_clash() {
    let mut file = document(V1);
    let fields = |source: i32, transform: &str| json!([{"name": transform, "transform": transform, "source-id": source}]);
    file["partition-specs"] = json!([
        {"spec-id": 0, "fields": fields(1, "identity")},
        {"spec-id": 1, "fields": fields(2, "month")},
    ]);
    file["default-spec-id"] = json!(1);
    let metadata = parse(&file.to_string());
    let types: Vec<_> = [0, 1]
        .map(|spec| metadata.partition_type(spec).unwrap())
        .iter()
        .map(|partition| partition.field_by_id(1000).unwrap().field_type.clone())
        .collect();
    let source = |id| metadata.current_schema().unwrap().field_by_id(id).unwrap();
    assert_eq!(types[0], source(1).field_type);
    assert_eq!(types[1], Type::Primitive(PrimitiveType::Int));
    assert_ne!(types[0], types[1]);
}

#[test]
fn the_type_of_a_dropped_column_is_known_from_older_schemas() {
    let mut file = document(V2);
    file["schemas"][1]["fields"]
        .as_array_mut()
        .unwrap()
        .retain(|field| field["id"] != 11);
    file["schemas"][0]["fields"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": 11, "name": "joined_at", "required": false, "type": "date"}));
    file["partition-specs"][1]["fields"][1]["transform"] = json!("identity");
    let partition = parse(&file.to_string()).partition_type(2).unwrap();
    assert_eq!(
        partition.field_by_id(1001).unwrap().field_type,
        Type::Primitive(PrimitiveType::Date)
    );
}

#[test]
fn all_void_is_unpartitioned() {
    let spec = PartitionSpec::parse_fields(
        4,
        r#"[{"source-id": 1, "field-id": 1000, "name": "a", "transform": "void"},
            {"source-id": 2, "field-id": 1001, "name": "b", "transform": "Void"}]"#,
    )
    .unwrap();
    assert!(spec.is_unpartitioned());
    assert_eq!((spec.spec_id, spec.highest_field_id()), (4, 1001));
    assert_eq!(spec.fields[1].transform, Transform::Void);
    assert_eq!(PartitionSpec::unpartitioned(0).highest_field_id(), 999);
}
