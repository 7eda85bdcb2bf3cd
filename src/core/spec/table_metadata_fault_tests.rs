//! Every way a metadata file can be wrong: each fault names the file and the key.

use serde_json::{Value, json};

use super::TableMetadata;
use crate::error::{Error, ErrorKind};

const V1: &str = include_str!("testdata/v1_first_writers.metadata.json");
const V2: &str = include_str!("testdata/v2_full.metadata.json");
const V3: &str = include_str!("testdata/v3_all_types.metadata.json");

const FILE: &str = "s3://lake/t/metadata/v7.metadata.json";

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn fault(document: &Value) -> Error {
    TableMetadata::parse(FILE, document.to_string().as_bytes()).unwrap_err()
}

#[test]
fn a_damaged_file_is_corrupt() {
    for text in [
        "",
        "\n",
        "[]",
        "null",
        "17",
        "{}",
        &V2[..V2.len() / 2],
        "\u{feff}",
    ] {
        let fault = TableMetadata::parse(FILE, text.as_bytes()).unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::Corrupt, "{text:?}: {fault}");
        assert!(
            fault.message().starts_with(&format!("file \"{FILE}\": ")),
            "{fault}"
        );
    }
}

#[test]
fn versions_that_are_not_known() {
    for version in [json!(4), json!(5), json!(1_000_000)] {
        let mut file = document(V2);
        file["format-version"] = version.clone();
        let fault = fault(&file);
        assert_eq!(fault.kind(), ErrorKind::NotSupported);
        assert!(
            fault
                .message()
                .contains(&format!("format version {version} ")),
            "{fault}"
        );
        assert!(fault.hint().is_some());
    }
    for version in [json!(0), json!(-1), json!(2.0), json!("2"), json!(null)] {
        let mut file = document(V2);
        file["format-version"] = version;
        let fault = fault(&file);
        assert_eq!(fault.kind(), ErrorKind::Corrupt);
        assert!(fault.message().contains("format-version"), "{fault}");
    }
}

/// One key of a valid file set to something else, and what the fault must say.
fn assert_fault(text: &str, pointer: &str, value: Value, kind: ErrorKind, expected: &str) {
    let mut file = document(text);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = file.pointer_mut(parent).unwrap();
    match (value, key.parse::<usize>()) {
        (value, Ok(index)) if parent.is_array() => parent[index] = value,
        (Value::String(text), _) if text == "REMOVED" => {
            parent.as_object_mut().unwrap().remove(key).unwrap();
        }
        (value, _) => parent[key] = value,
    }
    let fault = fault(&file);
    assert_eq!(fault.kind(), kind, "{pointer}: {fault}");
    assert!(
        fault.message().starts_with(&format!("file \"{FILE}\": ")),
        "{fault}"
    );
    assert!(fault.message().contains(expected), "{pointer}: {fault}");
}

#[test]
fn keys_that_must_be_there() {
    for key in [
        "table-uuid",
        "location",
        "last-sequence-number",
        "last-updated-ms",
        "last-column-id",
        "schemas",
        "current-schema-id",
        "partition-specs",
        "default-spec-id",
        "last-partition-id",
        "sort-orders",
        "default-sort-order-id",
    ] {
        let expected = format!("the required key \"{key}\" is missing");
        let pointer = format!("/{key}");
        assert_fault(
            V2,
            &pointer,
            json!("REMOVED"),
            ErrorKind::Corrupt,
            &expected,
        );
        assert_fault(V2, &pointer, Value::Null, ErrorKind::Corrupt, &expected);
    }
    assert_fault(
        V3,
        "/next-row-id",
        json!("REMOVED"),
        ErrorKind::Corrupt,
        "the required key \"next-row-id\" is missing",
    );
    for key in [
        "schema",
        "partition-spec",
        "location",
        "last-updated-ms",
        "last-column-id",
    ] {
        let expected = format!("the required key \"{key}\" is missing");
        let pointer = format!("/{key}");
        assert_fault(
            V1,
            &pointer,
            json!("REMOVED"),
            ErrorKind::Corrupt,
            &expected,
        );
    }
    for (pointer, expected) in [
        (
            "/schemas/1/fields/0/id",
            "schemas[1].fields[0]: the required key \"id\"",
        ),
        (
            "/schemas/1/fields/0/required",
            "schemas[1].fields[0]: the required key \"required\"",
        ),
        ("/schemas/1/type", "schemas[1]: the required key \"type\""),
        (
            "/schemas/1/fields/2/type/fields/1/type/element-id",
            "schemas[1].fields[2].type.fields[1].type: the required key \"element-id\"",
        ),
        (
            "/partition-specs/1/spec-id",
            "partition-specs[1]: the required key \"spec-id\"",
        ),
        (
            "/partition-specs/1/fields/0/field-id",
            "partition-specs[1].fields: 1 of 4 partition fields have no \"field-id\"",
        ),
        (
            "/partition-specs/1/fields/0/source-id",
            "partition-specs[1].fields[0]: the required key \"source-id\"",
        ),
        (
            "/sort-orders/1/fields/0/null-order",
            "sort-orders[1].fields[0]: the required key",
        ),
        (
            "/snapshots/0/manifest-list",
            "snapshots[0]: the required key \"manifest-list\"",
        ),
        ("/refs/main/type", "refs.main: the required key \"type\""),
        (
            "/statistics/0/blob-metadata",
            "statistics[0]: the required key \"blob-metadata\"",
        ),
    ] {
        assert_fault(V2, pointer, json!("REMOVED"), ErrorKind::Corrupt, expected);
    }
}

#[test]
fn values_that_cannot_be() {
    for (pointer, value, expected) in [
        ("/location", json!(7), "location: expected a string"),
        ("/table-uuid", json!("no"), "table-uuid: not a UUID"),
        (
            "/last-updated-ms",
            json!("now"),
            "last-updated-ms: expected a 64-bit integer",
        ),
        (
            "/last-column-id",
            json!(3_000_000_000_u32),
            "last-column-id: expected a 32-bit integer",
        ),
        (
            "/last-column-id",
            json!(11),
            "last-column-id: 11 is less than the id 12 of \"digest\"",
        ),
        (
            "/last-sequence-number",
            json!(-1),
            "last-sequence-number: -1 is negative",
        ),
        ("/last-sequence-number", json!(33), "has sequence number 34"),
        (
            "/current-schema-id",
            json!(9),
            "current-schema-id: there is no schema 9",
        ),
        (
            "/default-spec-id",
            json!(1),
            "default-spec-id: there is no spec 1",
        ),
        (
            "/default-sort-order-id",
            json!(1),
            "default-sort-order-id: there is no sort order 1",
        ),
        ("/schemas", json!({}), "schemas: expected an array"),
        (
            "/schemas/0/schema-id",
            json!(1),
            "schemas[1]: the id 1 is there twice",
        ),
        (
            "/partition-specs/0/spec-id",
            json!(2),
            "partition-specs[1]: the id 2 is there twice",
        ),
        (
            "/sort-orders/0/order-id",
            json!(3),
            "sort-orders[1]: the id 3 is there twice",
        ),
        (
            "/sort-orders/1/order-id",
            json!(0),
            "sort-orders[1].order-id: id 0 is that of the unsorted",
        ),
        (
            "/schemas/1/type",
            json!("list"),
            "schemas[1].type: expected \"struct\"",
        ),
        (
            "/schemas/1/fields/0",
            json!("id"),
            "schemas[1].fields[0]: expected an object",
        ),
        (
            "/schemas/1/fields/0/id",
            json!(-4),
            "schemas[1].fields[0].id: field id -4 is negative",
        ),
        (
            "/schemas/1/fields/0/required",
            json!("yes"),
            "required: expected a boolean",
        ),
        (
            "/schemas/1/fields/0/id",
            json!(9),
            "schemas[1]: the fields \"",
        ),
        (
            "/schemas/1/fields/0/name",
            json!("name"),
            "schemas[1].fields[1]: the name \"name\" is there twice in the schema",
        ),
        (
            "/schemas/1/fields/2/type/fields/1/name",
            json!("country"),
            "the name \"country\" is there twice in field \"address\"",
        ),
        (
            "/schemas/1/fields/0/type",
            json!("decimal(40, 2)"),
            "schemas[1].fields[0].type: field \"id\": type \"decimal(40, 2)\": the precision must be 1 to 38",
        ),
        (
            "/schemas/1/fields/1/initial-default",
            json!(7),
            "field \"name\": 7 is no value of type string",
        ),
        (
            "/schemas/1/fields/4/id",
            json!(2_147_483_448),
            "is reserved for metadata columns",
        ),
        (
            "/schemas/1/identifier-field-ids",
            json!([99]),
            "schemas[1]: the identifier field id 99",
        ),
        (
            "/schemas/1/identifier-field-ids",
            json!([2]),
            "\"name\" can be null",
        ),
        (
            "/schemas/1/identifier-field-ids",
            json!([3]),
            "\"address\" is not primitive",
        ),
        (
            "/schemas/1/identifier-field-ids",
            json!([10]),
            "is a floating-point number",
        ),
        (
            "/schemas/1/identifier-field-ids",
            json!("id"),
            "identifier-field-ids: expected an array",
        ),
        (
            "/partition-specs/1/fields/1/field-id",
            json!(1000),
            "partition-specs[1].fields[1]: the partition field id 1000 is there twice",
        ),
        (
            "/partition-specs/1/fields/1/name",
            json!("country"),
            "partition-specs[1].fields[1]: the partition field name \"country\" is there twice",
        ),
        (
            "/partition-specs/1/fields/1/transform",
            json!("bucket[0]"),
            "partition-specs[1].fields[1].transform: transform \"bucket[0]\"",
        ),
        (
            "/partition-specs/1/fields/1/source-id",
            json!(99),
            "\"joined_month\" of spec 2 is made from column 99",
        ),
        (
            "/partition-specs/1/fields/1/source-ids",
            json!([]),
            "source-ids: there must be at least one",
        ),
        (
            "/sort-orders/1/fields/0/direction",
            json!("up"),
            "direction: expected \"asc\"",
        ),
        (
            "/sort-orders/1/fields/0/null-order",
            json!("last"),
            "null-order: expected",
        ),
        (
            "/properties/comment",
            json!(1),
            "properties.comment: expected a string",
        ),
        (
            "/current-snapshot-id",
            json!(5),
            "current-snapshot-id: there is no snapshot 5",
        ),
        (
            "/current-snapshot-id",
            json!(3_051_729_675_574_597_004_i64),
            "refs: \"main\" names snapshot 3055729675574597004, but \"current-snapshot-id\" is 305172",
        ),
        (
            "/current-snapshot-id",
            json!(-1),
            "but \"current-snapshot-id\" is none",
        ),
        (
            "/snapshots/0/snapshot-id",
            json!(3_055_729_675_574_597_004_i64),
            "snapshots: the id 3055729675574597004 is there twice",
        ),
        (
            "/snapshots/0/sequence-number",
            json!(-3),
            "snapshots[0]: the sequence number -3",
        ),
        (
            "/snapshots/0/summary/operation",
            json!(1),
            "snapshots[0].summary.operation: expected a string",
        ),
        (
            "/refs/audit~12018/snapshot-id",
            json!(5),
            "refs: \"audit/2018\" names snapshot 5",
        ),
        (
            "/refs/audit~12018/type",
            json!("bookmark"),
            "refs.audit/2018.type: expected \"branch\"",
        ),
        (
            "/snapshot-log/0",
            json!([]),
            "snapshot-log[0]: expected an object",
        ),
        (
            "/metadata-log/0/metadata-file",
            json!(1),
            "metadata-log[0].metadata-file: expected a string",
        ),
    ] {
        assert_fault(V2, pointer, value, ErrorKind::Corrupt, expected);
    }
    assert_fault(
        V3,
        "/schemas/0/fields/17/write-default",
        json!({}),
        ErrorKind::Corrupt,
        "field \"variant\" of type variant can have no default",
    );
    assert_fault(
        V3,
        "/schemas/0/fields/24/initial-default",
        json!({"keys": ["a"], "values": [1, 2]}),
        ErrorKind::Corrupt,
        "field \"map\": the default has not as many keys as values",
    );
    assert_fault(
        V1,
        "/snapshots/0/sequence-number",
        json!(1),
        ErrorKind::Corrupt,
        "snapshots[0]: the sequence number 1 cannot be in a table of format version 1",
    );
}

#[test]
fn types_of_later_versions_name_their_field() {
    for (value, name) in [
        (json!("interval"), "interval"),
        (json!({"type": "tensor", "element": "int"}), "tensor"),
    ] {
        assert_fault(
            V2,
            "/schemas/1/fields/2/type/fields/0/type",
            value,
            ErrorKind::NotSupported,
            &format!("field \"country\": type \"{name}\""),
        );
    }
}
