//! The rows of the trap table on deletes, one test each; names are theirs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::plan::EqualityColumn;
use crate::spec::test_files::{ManifestTestFile, manifest_file};
use crate::spec::{FileFormat, ManifestContent, ManifestReader};

/// Specs: 0 unpartitioned, 1 by identity of a double, 2 by bucket, 3 all void, 4 by what is not known.
fn metadata() -> TableMetadata {
    let field = |id: i32, transform: &str| json!([{ "source-id": 1, "field-id": id, "name": format!("p{id}"), "transform": transform }]);
    TableMetadata::from_json(&json!({
        "format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "location": "/t", "last-sequence-number": 9, "last-updated-ms": 1, "last-column-id": 7,
        "current-schema-id": 2,
        "schemas": [
            schema(0, json!([column(1, "d", "double"), column(2, "x", "int"), column(3, "gone", "string")])),
            schema(1, json!([column(1, "d", "double"), column(2, "x", "long")])),
            schema(2, json!([column(1, "d", "double"), column(2, "renamed", "long"),
                { "id": 4, "name": "s", "required": false, "type": {
                    "type": "struct", "fields": [column(5, "in", "int")] } },
                { "id": 6, "name": "l", "required": false, "type": {
                    "type": "list", "element-id": 7, "element": "int", "element-required": false } } ])),
        ],
        "default-spec-id": 0,
        "partition-specs": [
            { "spec-id": 0, "fields": [] },
            { "spec-id": 1, "fields": field(1000, "identity") },
            { "spec-id": 2, "fields": field(1001, "bucket[4]") },
            { "spec-id": 3, "fields": field(1002, "void") },
            { "spec-id": 4, "fields": field(1003, "hilbert[7]") },
        ],
        "last-partition-id": 1003, "default-sort-order-id": 0,
        "sort-orders": [{ "order-id": 0, "fields": [] }],
    }))
    .unwrap()
}

fn schema(id: i32, fields: Value) -> Value {
    json!({ "type": "struct", "schema-id": id, "fields": fields })
}

fn column(id: i32, name: &str, kind: &str) -> Value {
    json!({ "id": id, "name": name, "required": false, "type": kind })
}

fn partition(spec_id: i32, value: Option<PrimitiveValue>) -> Partition {
    Partition {
        spec_id,
        values: if spec_id == 0 {
            Vec::new()
        } else {
            vec![value]
        },
    }
}

fn data(path: &str, sequence_number: i64, partition: Partition) -> FileScanTask {
    FileScanTask {
        data_sequence_number: Some(sequence_number),
        partition,
        ..FileScanTask::whole_file(RawPath(path.to_owned()), FileFormat::Parquet, 1, Some(1))
    }
}

/// An entry of a delete manifest, read from one.
fn entry(sequence_number: Option<i64>, partition: Partition, mut file: Value) -> ManifestEntry {
    let known = file.as_object_mut().unwrap();
    known.entry("content").or_insert(json!(1));
    let content = ManifestTestFile::new(3, ManifestContent::Deletes)
        .entries(json!([{ "status": 0, "sequence_number": sequence_number, "data_file": file }]))
        .write();
    let mut manifest = manifest_file("/t/deletes");
    manifest.content = ManifestContent::Deletes;
    manifest.sequence_number = 9;
    let mut reader = ManifestReader::open(&manifest, content, |_| None).unwrap();
    let mut entry = reader.next().unwrap().unwrap();
    entry.data_file.partition = partition;
    entry
}

fn positions(path: &str, sequence_number: i64, partition: Partition) -> LiveDelete {
    let file = json!({ "file_path": path });
    LiveDelete::of(entry(Some(sequence_number), partition, file)).unwrap()
}

fn positions_of(path: &str, sequence_number: i64, about: &str) -> LiveDelete {
    let file = json!({ "file_path": path, "referenced_data_file": about });
    LiveDelete::of(entry(Some(sequence_number), partition(0, None), file)).unwrap()
}

fn vector_of(path: &str, sequence_number: i64, partition: Partition, about: &str) -> LiveDelete {
    let file = json!({ "file_path": path, "file_format": "PUFFIN", "referenced_data_file": about,
        "content_offset": 4, "content_size_in_bytes": 40, "file_size_in_bytes": 100 });
    LiveDelete::of(entry(Some(sequence_number), partition, file)).unwrap()
}

fn equality(path: &str, sequence_number: i64, partition: Partition, ids: &[i32]) -> LiveDelete {
    let file = json!({ "file_path": path, "content": 2, "equality_ids": ids });
    LiveDelete::of(entry(Some(sequence_number), partition, file)).unwrap()
}

fn apply(deletes: Vec<LiveDelete>, mut tasks: Vec<FileScanTask>) -> Result<Vec<FileScanTask>> {
    DeleteIndex::new(&metadata(), deletes)?.apply(&mut tasks, &[])?;
    Ok(tasks)
}

/// The delete files of each data file, equality deletes as far as they are newer than it.
fn applied(deletes: Vec<LiveDelete>, tasks: Vec<FileScanTask>) -> BTreeMap<String, Vec<String>> {
    let files = |task: &FileScanTask| {
        let deletes = &task.deletes;
        let vectors = deletes.vector.iter().map(|vector| &vector.path);
        let positions = deletes.positions.iter().map(|file| &file.path);
        let equality = deletes.equality.iter().flat_map(|set| &set.files);
        let equality = equality
            .filter(|(sequence_number, _)| task.data_sequence_number.unwrap() < *sequence_number)
            .map(|(_, file)| &file.path);
        let mut paths: Vec<_> = vectors
            .chain(positions)
            .chain(equality)
            .map(|path| path.0.clone())
            .collect();
        paths.sort();
        paths
    };
    apply(deletes, tasks)
        .unwrap()
        .iter()
        .map(|task| (task.path.0.clone(), files(task)))
        .collect()
}

fn double(value: f64) -> Partition {
    partition(1, Some(PrimitiveValue::Double(value)))
}

fn bucket(value: i32) -> Partition {
    partition(2, Some(PrimitiveValue::Int(value)))
}

fn whole() -> Partition {
    partition(0, None)
}

#[test]
fn equality_delete_scope() {
    let applied = applied(
        vec![
            equality("e5", 5, bucket(1), &[2]),
            equality("e7", 7, bucket(1), &[2]),
            equality("other spec", 9, double(1.0), &[2]),
        ],
        vec![
            data("older", 4, bucket(1)),
            data("same", 5, bucket(1)),
            data("between", 6, bucket(1)),
            data("newest", 7, bucket(1)),
            data("other value", 1, bucket(2)),
            data("null", 1, partition(2, None)),
            data("v1", 0, bucket(1)),
        ],
    );
    assert_eq!(applied["older"], ["e5", "e7"]);
    assert_eq!(applied["same"], ["e7"], "strictly less");
    assert_eq!(applied["between"], ["e7"]);
    assert_eq!(applied["newest"], [""; 0]);
    assert_eq!(applied["other value"], [""; 0]);
    assert_eq!(applied["null"], [""; 0]);
    assert_eq!(applied["v1"], ["e5", "e7"], "files of v1 have the number 0");
}

#[test]
fn global_equality_deletes() {
    let applied = applied(
        vec![
            equality("everywhere", 5, whole(), &[2]),
            equality("void", 5, partition(3, None), &[1]),
        ],
        vec![
            data("bucket", 4, bucket(1)),
            data("double", 4, double(2.5)),
            data("unpartitioned", 4, whole()),
            data("void file", 4, partition(3, None)),
            data("newer", 5, bucket(1)),
        ],
    );
    for file in ["bucket", "double", "unpartitioned", "void file"] {
        assert_eq!(applied[file], ["everywhere", "void"], "{file}");
    }
    assert_eq!(applied["newer"], [""; 0]);
}

#[test]
fn equality_matching_uses_columns_of_all_schemas() {
    let tasks = apply(
        vec![
            equality("by x and gone", 5, whole(), &[3, 2]),
            equality("by x and gone, too", 6, whole(), &[2, 3, 2]),
            equality("nested", 5, whole(), &[5]),
        ],
        vec![data("a", 1, whole())],
    )
    .unwrap();
    let sets = &tasks[0].deletes.equality;
    assert_eq!(sets.len(), 2, "one set for the same columns in any order");
    let names: Vec<_> = sets[0].columns.iter().map(EqualityColumn::name).collect();
    assert_eq!(names, ["renamed", "gone"]);
    let types: Vec<_> = sets[0]
        .columns
        .iter()
        .map(|column| column.field().unwrap().field_type.to_string())
        .collect();
    assert_eq!(types, ["long", "string"], "the widest type it ever had");
    assert_eq!(sets[1].columns[0].name(), "s.in");
    for ids in [&[99][..], &[7]] {
        let error = apply(vec![equality("/t/e", 5, whole(), ids)], Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains("/t/e"), "{error}");
    }
    let error = apply(vec![equality("/t/e", 5, whole(), &[4])], Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
}

#[test]
fn equality_delete_files_older_than_all_data_are_left_out() {
    let tasks = apply(
        vec![
            equality("e2", 2, whole(), &[2]),
            equality("e5", 5, whole(), &[2]),
            equality("e3", 3, whole(), &[2]),
        ],
        vec![data("a", 2, whole()), data("b", 4, whole())],
    )
    .unwrap();
    let [a, b] = &tasks[..] else { panic!() };
    assert!(Arc::ptr_eq(&a.deletes.equality[0], &b.deletes.equality[0]));
    let paths: Vec<_> = a.deletes.equality[0]
        .files
        .iter()
        .map(|(sequence_number, file)| (*sequence_number, file.path.0.as_str()))
        .collect();
    assert_eq!(paths, [(5, "e5"), (3, "e3")]);
}

#[test]
fn position_delete_scope() {
    let applied = applied(
        vec![
            positions("p5", 5, bucket(1)),
            positions("other value", 9, bucket(2)),
            positions("unpartitioned", 9, whole()),
            positions_of("about a", 9, "a"),
            positions_of("about nothing that is there", 9, "gone"),
        ],
        vec![
            data("older", 4, bucket(1)),
            data("same", 5, bucket(1)),
            data("newer", 6, bucket(1)),
            data("double", 1, double(1.0)),
            data("a", 1, whole()),
            data("b", 1, whole()),
        ],
    );
    assert_eq!(applied["older"], ["p5"]);
    assert_eq!(applied["same"], ["p5"], "the same commit counts");
    assert_eq!(applied["newer"], [""; 0]);
    assert_eq!(applied["double"], [""; 0], "there are no global ones");
    assert_eq!(applied["a"], ["about a", "unpartitioned"]);
    assert_eq!(applied["b"], ["unpartitioned"]);
}

#[test]
fn position_deletes_of_one_data_file_in_another_partition() {
    // As Iceberg Java's DeleteFileIndex, whose older versions deleted the rows all the same.
    let of_a = |sequence_number| positions_of("/t/p", sequence_number, "/t/a");
    let error = apply(vec![of_a(5)], vec![data("/t/a", 5, bucket(1))]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let message = error.message();
    assert!(
        message.contains("\"/t/a\"") && message.contains("/t/p"),
        "{message}"
    );
    // What is too old to apply, or about another file, may be anywhere.
    let applied = applied(
        vec![of_a(4)],
        vec![data("/t/a", 5, bucket(1)), data("/t/b", 1, bucket(1))],
    );
    assert!(applied.values().all(Vec::is_empty));
}

#[test]
fn path_matching_by_bounds() {
    let bounded = |path: &str, lower: &str, upper: &str| {
        let bound = |value: &str| json!([{ "key": FILE_PATH_ID, "value": value }]);
        let file = json!({ "file_path": path,
            "lower_bounds": bound(lower), "upper_bounds": bound(upper) });
        LiveDelete::of(entry(Some(9), whole(), file)).unwrap()
    };
    let applied = applied(
        vec![
            bounded("one", "/t/a", "/t/a"),
            bounded("several", "/t/a", "/t/b"),
            bounded("gone", "/t/zzz", "/t/zzz"),
            bounded("others", "/t/b", "/t/c"),
            bounded("cut but not raised", "/", "/t/"),
            // Perhaps the beginning of a path only.
            bounded("cut short", "/t/", "/t/"),
        ],
        vec![data("/t/a", 1, whole()), data("/t/b", 1, whole())],
    );
    assert_eq!(
        applied["/t/a"],
        ["cut but not raised", "cut short", "one", "several"]
    );
    assert_eq!(
        applied["/t/b"],
        ["cut but not raised", "cut short", "others", "several"]
    );
}

#[test]
fn dv_precedence() {
    let applied = applied(
        vec![
            positions("p", 9, whole()),
            positions_of("about a", 9, "a"),
            vector_of("v", 5, whole(), "a"),
            vector_of("v of nothing that is there", 5, whole(), "gone"),
            equality("e", 9, whole(), &[2]),
        ],
        vec![data("a", 5, whole()), data("b", 5, whole())],
    );
    assert_eq!(applied["a"], ["e", "v"]);
    assert_eq!(applied["b"], ["e", "p"]);
}

#[test]
fn dv_of_another_partition_or_too_old_or_twice() {
    let fault = |deletes| {
        let error = apply(deletes, vec![data("/t/a", 5, bucket(1))]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        error.message().to_owned()
    };
    let message = fault(vec![vector_of("/t/v", 5, bucket(2), "/t/a")]);
    assert!(
        message.contains("/t/v") && message.contains("another partition"),
        "{message}"
    );
    let message = fault(vec![vector_of("/t/v", 4, bucket(1), "/t/a")]);
    assert!(message.contains("sequence number 4"), "{message}");
    let message = fault(vec![
        vector_of("/t/v1", 5, bucket(1), "/t/a"),
        vector_of("/t/v2", 6, bucket(1), "/t/a"),
    ]);
    assert!(
        message.contains("/t/v1") && message.contains("/t/v2"),
        "{message}"
    );
}

#[test]
fn partition_equality() {
    let odd_nan = f64::from_bits(0xFFF8_0000_0000_0007);
    let applied = applied(
        vec![
            positions("nan", 9, double(f64::NAN)),
            positions("zero", 9, double(0.0)),
            positions("null", 9, partition(1, None)),
            positions("float", 9, partition(1, Some(PrimitiveValue::Float(0.5)))),
        ],
        vec![
            data("nan", 1, double(odd_nan)),
            data("zero", 1, double(0.0)),
            data("minus zero", 1, double(-0.0)),
            data("null", 1, partition(1, None)),
            data("promoted", 1, double(0.5)),
        ],
    );
    assert_eq!(applied["nan"], ["nan"]);
    assert_eq!(applied["zero"], ["zero"]);
    assert_eq!(applied["minus zero"], [""; 0], "by bits");
    assert_eq!(applied["null"], ["null"]);
    assert_eq!(applied["promoted"], ["float"]);
}

#[test]
fn unknown_transform_values_count_in_partition_equality() {
    let value = |value: Option<&str>| {
        partition(
            4,
            value.map(|value| PrimitiveValue::String(value.to_owned())),
        )
    };
    let applied = applied(
        vec![
            positions("a", 9, value(Some("a"))),
            positions("null", 9, value(None)),
            equality("key", 9, value(Some("b")), &[2]),
        ],
        vec![
            data("a", 1, value(Some("a"))),
            data("b", 1, value(Some("b"))),
            data("null", 1, value(None)),
        ],
    );
    assert_eq!(applied["a"], ["a"]);
    assert_eq!(applied["b"], ["key"], "not for all partitions");
    assert_eq!(applied["null"], ["null"]);
}

#[test]
fn data_vs_file_sequence() {
    // Compacted in commit 8, but its rows are as old as commit 2.
    let mut compacted = entry(Some(2), whole(), json!({ "file_path": "/t/p" }));
    compacted.file_sequence_number = Some(8);
    let delete = LiveDelete::of(compacted).unwrap();
    let applied = applied(
        vec![delete],
        vec![data("a", 3, whole()), data("b", 2, whole())],
    );
    assert_eq!(applied["a"], [""; 0]);
    assert_eq!(applied["b"], ["/t/p"]);
}

#[test]
fn entries_that_lack_what_deletes_need() {
    let vector = |change: fn(&mut Value)| {
        let mut file = json!({ "file_path": "/t/v", "file_format": "PUFFIN",
            "referenced_data_file": "/t/a", "content_offset": 4, "content_size_in_bytes": 40,
            "file_size_in_bytes": 44 });
        change(&mut file);
        entry(Some(5), whole(), file)
    };
    LiveDelete::of(vector(|_| ())).unwrap();
    for change in [
        (|file| file["referenced_data_file"] = json!(null)) as fn(&mut Value),
        |file| file["content_offset"] = json!(null),
        |file| file["content_offset"] = json!(-4),
        |file| file["content_size_in_bytes"] = json!(null),
        |file| file["content_size_in_bytes"] = json!(i64::MAX),
        |file| file["file_size_in_bytes"] = json!(43),
    ] {
        let error = LiveDelete::of(vector(change)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("/t/v"), "{error}");
    }
    let no_number = entry(None, whole(), json!({ "file_path": "/t/p" }));
    assert!(LiveDelete::of(no_number).is_err());
    let mut unnumbered = data("/t/a", 1, whole());
    unnumbered.data_sequence_number = None;
    let error = apply(
        vec![positions("/t/p", 5, whole())],
        vec![unnumbered.clone()],
    )
    .unwrap_err();
    assert!(error.message().contains("/t/a"), "{error}");
    // Without deletes nobody needs to know.
    apply(Vec::new(), vec![unnumbered]).unwrap();
}
