//! Plans of tables that are a handful of files in memory.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};

use super::super::manifests::MANIFESTS_AT_ONCE;
use super::*;
use crate::error::ErrorKind;
use crate::spec::test_files::{ManifestTestFile, read_testdata, write_manifest_list};
use crate::spec::{FileFormat, ManifestContent, Partition, PrimitiveValue, ScanFilter};
use crate::storage::FileReader;

#[path = "files_pruning_tests.rs"]
mod pruning;

/// Files by path; keeps the order in which they are asked for, and how many at a time.
#[derive(Debug, Default)]
struct MemoryFiles {
    files: HashMap<String, Bytes>,
    reads: Mutex<Vec<String>>,
    at_once: Mutex<(usize, usize)>,
}

#[async_trait]
impl FileReader for MemoryFiles {
    async fn read(&self, path: &RawPath) -> Result<Bytes> {
        self.reads.lock().unwrap().push(path.0.clone());
        {
            let mut at_once = self.at_once.lock().unwrap();
            at_once.0 += 1;
            at_once.1 = at_once.1.max(at_once.0);
        }
        tokio::task::yield_now().await;
        self.at_once.lock().unwrap().0 -= 1;
        self.files.get(&path.0).cloned().ok_or_else(|| {
            Error::new(
                ErrorKind::FileNotFound,
                format!("file \"{path}\" is not there"),
            )
        })
    }

    async fn read_ranges(&self, path: &RawPath, _: &[Range<u64>]) -> Result<Vec<Bytes>> {
        panic!("planning reads a part of {path}");
    }

    async fn size(&self, path: &RawPath) -> Result<u64> {
        panic!("planning asks for the size of {path}");
    }
}

/// A table in memory: its one snapshot, and its files.
struct Table {
    metadata: Value,
    files: MemoryFiles,
}

impl Table {
    /// A table of these manifest list rows.
    fn new(manifests: Value) -> Self {
        let mut files = MemoryFiles::default();
        files
            .files
            .insert("/t/list".to_owned(), write_manifest_list(manifests));
        Self {
            metadata: json!({
                "format-version": 2,
                "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
                "location": "/t",
                "last-sequence-number": 9,
                "last-updated-ms": 1,
                "last-column-id": 1,
                "current-schema-id": 0,
                "schemas": [{ "type": "struct", "schema-id": 0, "fields": [
                    { "id": 1, "name": "x", "required": false, "type": "long" } ] }],
                "default-spec-id": 0,
                "partition-specs": [
                    { "spec-id": 0, "fields": [] },
                    { "spec-id": 1, "fields": [
                        { "source-id": 1, "field-id": 1000, "name": "x", "transform": "identity" } ] },
                ],
                "last-partition-id": 1000,
                "default-sort-order-id": 0,
                "sort-orders": [{ "order-id": 0, "fields": [] }],
                "current-snapshot-id": 5,
                "snapshots": [{
                    "snapshot-id": 5, "sequence-number": 9, "timestamp-ms": 1,
                    "manifest-list": "/t/list", "summary": { "operation": "append" } }],
                "snapshot-log": [{ "snapshot-id": 5, "timestamp-ms": 1 }],
            }),
            files,
        }
    }

    fn file(mut self, path: &str, content: Bytes) -> Self {
        self.files.files.insert(path.to_owned(), content);
        self
    }

    fn manifest(self, path: &str, content: ManifestContent, entries: Value) -> Self {
        let file = ManifestTestFile::new(2, content).entries(entries);
        self.file(path, file.write())
    }

    fn data(self, path: &str, entries: Value) -> Self {
        self.manifest(path, ManifestContent::Data, entries)
    }

    async fn plan(self) -> (Result<ScanPlan>, Arc<MemoryFiles>) {
        self.plan_for(&ScanFilter::ALL).await
    }

    async fn plan_for(self, filter: &ScanFilter) -> (Result<ScanPlan>, Arc<MemoryFiles>) {
        let metadata = Arc::new(TableMetadata::from_json(&self.metadata).unwrap());
        let memory = Arc::new(self.files);
        let files: SharedFileReader = memory.clone();
        let snapshot = metadata.current_snapshot().unwrap();
        (
            plan_files(&files, &metadata, snapshot, filter).await,
            memory,
        )
    }

    async fn planned(self) -> ScanPlan {
        self.plan().await.0.unwrap()
    }

    async fn refused(self) -> Error {
        self.plan().await.0.unwrap_err()
    }
}

/// A manifest list row with the counts of entries that are added, existing and deleted.
fn row(path: &str, counts: [Option<i64>; 3]) -> Value {
    json!({
        "manifest_path": path, "manifest_length": 1, "partition_spec_id": 0, "content": 0,
        "sequence_number": 9, "min_sequence_number": 1, "added_snapshot_id": 5,
        "added_files_count": counts[0], "existing_files_count": counts[1],
        "deleted_files_count": counts[2],
    })
}

fn delete_row(path: &str, counts: [Option<i64>; 3]) -> Value {
    let mut row = row(path, counts);
    row["content"] = json!(1);
    row
}

fn entry(status: i32, path: &str, records: i64, size: i64) -> Value {
    json!({ "status": status, "sequence_number": if status == 1 { None } else { Some(3) },
        "data_file": { "file_path": path, "record_count": records, "file_size_in_bytes": size } })
}

fn paths(plan: &ScanPlan) -> Vec<&str> {
    plan.tasks.iter().map(|task| task.path.0.as_str()).collect()
}

#[tokio::test]
async fn live_files_in_the_order_of_the_manifests() {
    let table = Table::new(json!([
        row("/t/m2", [Some(2), Some(1), Some(1)]),
        row("/t/dead", [Some(0), Some(0), Some(3)]),
        row("/t/m1", [None, None, None]),
    ]))
    .data(
        "/t/m1",
        json!([entry(1, "a", 1, 10), entry(2, "gone", 99, 99)]),
    )
    .data(
        "/t/m2",
        json!([
            entry(1, "z", 2, 20),
            entry(2, "gone", 99, 99),
            entry(0, "y", 4, 40),
            entry(1, "x", 8, 80)
        ]),
    );
    let (plan, files) = table.plan().await;
    let plan = plan.unwrap();
    assert_eq!(paths(&plan), ["z", "y", "x", "a"]);
    assert_eq!(plan.records, Some(15));
    assert_eq!(plan.total_bytes, 150);
    assert_eq!(
        (
            plan.manifests_total,
            plan.manifests_skipped,
            plan.data_files_total
        ),
        (3, 1, 4)
    );
    let sequence_numbers: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| task.data_sequence_number)
        .collect();
    assert_eq!(sequence_numbers, [Some(9), Some(3), Some(9), Some(9)]);
    assert_eq!(
        *files.reads.lock().unwrap(),
        ["/t/list", "/t/m2", "/t/m1"],
        "a dead manifest is not read"
    );
}

#[tokio::test]
async fn manifests_are_read_several_at_once_but_not_all() {
    let names: Vec<_> = (0..40).map(|number| format!("/t/m{number}")).collect();
    let rows = names
        .iter()
        .map(|name| row(name, [Some(1), Some(0), Some(0)]))
        .collect();
    let mut table = Table::new(rows);
    for name in &names {
        table = table.data(name, json!([entry(1, &format!("{name}.parquet"), 1, 1)]));
    }
    let (plan, files) = table.plan().await;
    let expected: Vec<_> = names.iter().map(|name| format!("{name}.parquet")).collect();
    assert_eq!(paths(&plan.unwrap()), expected);
    assert_eq!(files.at_once.lock().unwrap().1, MANIFESTS_AT_ONCE);
}

#[tokio::test]
async fn an_unknown_number_of_rows_makes_the_sum_unknown() {
    let plan = Table::new(json!([row("/t/m", [None, None, None])]))
        .data("/t/m", json!([entry(1, "a", 1, 10), entry(1, "b", -1, 5)]))
        .planned()
        .await;
    assert_eq!(plan.records, None);
    assert_eq!(plan.total_bytes, 15);
    assert_eq!(plan.tasks[1].record_count, None);
}

#[tokio::test]
async fn partition_values_have_the_type_of_the_column() {
    let mut manifest = row("/t/m", [Some(1), Some(0), Some(0)]);
    manifest["partition_spec_id"] = json!(1);
    let file = ManifestTestFile::new(2, ManifestContent::Data)
        .partition(json!([{ "name": "x", "type": ["null", "int"], "field-id": 1000 }]))
        .entries(json!([{ "status": 1, "data_file": {
            "file_path": "a", "partition": { "x": -7 }, "sort_order_id": 2,
            "split_offsets": [4, 100] } }]));
    let plan = Table::new(json!([manifest]))
        .file("/t/m", file.write())
        .planned()
        .await;
    let task = &plan.tasks[0];
    // Written as int, before the column became long.
    assert_eq!(
        task.partition,
        Partition {
            spec_id: 1,
            values: vec![Some(PrimitiveValue::Long(-7))],
        }
    );
    assert_eq!(task.sort_order_id, Some(2));
    assert_eq!(task.split_offsets, [4, 100]);
    assert_eq!(task.format, FileFormat::Parquet);
}

#[tokio::test]
async fn v1_snapshots_may_name_their_manifests_themselves() {
    let mut table = Table::new(json!([]))
        .file("/t/b", read_testdata("v1_month.avro"))
        .file("/t/a", read_testdata("v1_void_and_bucket.avro"));
    table.metadata["format-version"] = json!(1);
    let snapshot = table.metadata["snapshots"][0].as_object_mut().unwrap();
    snapshot.remove("manifest-list");
    snapshot.remove("sequence-number");
    snapshot.insert("manifests".to_owned(), json!(["/t/b", "/t/a"]));
    let plan = table.planned().await;
    assert_eq!(plan.records, Some(31 + 19 + 7 + 5 + 6 + 2));
    assert_eq!(plan.manifests_total, 2);
    // The spec ids, and the types of specs that the table does not know, are in the manifests.
    assert_eq!(
        plan.tasks[2].partition,
        Partition {
            spec_id: 2,
            values: vec![None, Some(PrimitiveValue::Int(3))],
        }
    );
    assert!(
        plan.tasks
            .iter()
            .all(|task| task.data_sequence_number == Some(0))
    );
}

#[tokio::test]
async fn a_snapshot_without_manifests_has_no_rows() {
    let plan = Table::new(json!([])).planned().await;
    assert_eq!(
        plan,
        ScanPlan {
            records: Some(0),
            ..ScanPlan::default()
        }
    );
}

#[tokio::test]
async fn files_of_every_format_are_planned() {
    let file = |path: &str, content: i32, format: &str| {
        json!({ "status": 1, "data_file": {
            "file_path": path, "content": content, "file_format": format, "equality_ids": [1] } })
    };
    let plan = Table::new(json!([
        row("/t/m", [Some(3), Some(0), Some(0)]),
        delete_row("/t/d", [Some(2), Some(0), Some(0)]),
    ]))
    .data(
        "/t/m",
        json!([
            file("/t/1.orc", 0, "ORC"),
            file("/t/2.avro", 0, "avro"),
            file("/t/3.orc", 0, "orc")
        ]),
    )
    .manifest(
        "/t/d",
        ManifestContent::Deletes,
        json!([file("/t/4", 1, "avro"), file("/t/5", 1, "orc")]),
    )
    .planned()
    .await;
    let formats: Vec<_> = plan.tasks.iter().map(|task| task.format).collect();
    assert_eq!(
        formats,
        [FileFormat::Orc, FileFormat::Avro, FileFormat::Orc]
    );
    let deletes = plan.tasks[0].deletes.positions.iter();
    let formats: Vec<_> = deletes.map(|file| file.format).collect();
    assert_eq!(formats, [FileFormat::Avro, FileFormat::Orc]);
}

#[tokio::test]
async fn deletes_come_with_the_tasks_that_they_apply_to() {
    let deletes = json!([
        { "status": 1, "data_file": { "file_path": "/t/p", "content": 1, "record_count": 4 } },
        { "status": 0, "sequence_number": 3, "data_file": {
            "file_path": "/t/e", "content": 2, "equality_ids": [1] } },
        { "status": 2, "sequence_number": 9, "data_file": {
            "file_path": "/t/gone", "content": 1 } },
    ]);
    let plan = Table::new(json!([
        row("/t/m", [Some(1), Some(1), Some(0)]),
        delete_row("/t/d", [Some(1), Some(1), Some(1)]),
    ]))
    .data("/t/m", json!([entry(1, "a", 1, 10), entry(0, "b", 1, 10)]))
    .manifest("/t/d", ManifestContent::Deletes, deletes)
    .planned()
    .await;
    for task in &plan.tasks {
        let files: Vec<_> = task
            .deletes
            .positions
            .iter()
            .map(|file| &file.path.0)
            .collect();
        assert_eq!(files, ["/t/p"]);
        assert_eq!(task.deletes.positions[0].record_count, Some(4));
        // Written with the data, not after it.
        assert!(task.deletes.equality.is_empty());
    }
    assert_eq!(plan.delete_files_total, 1);
}

#[tokio::test]
async fn dead_delete_files_refuse_nothing() {
    let dead = json!([{ "status": 2, "sequence_number": 3, "data_file": {
        "file_path": "/t/deletes", "content": 1 } }]);
    for counts in [
        [Some(0), Some(0), Some(1)],
        [None, None, None],
        [Some(0), None, Some(1)],
    ] {
        let plan = Table::new(json!([
            row("/t/m", [Some(1), Some(0), Some(0)]),
            delete_row("/t/d", counts),
        ]))
        .data("/t/m", json!([entry(1, "a", 1, 10)]))
        .manifest("/t/d", ManifestContent::Deletes, dead.clone())
        .planned()
        .await;
        assert_eq!(paths(&plan), ["a"]);
    }
}

#[tokio::test]
async fn encryption_is_refused_before_anything_encrypted_is_read() {
    let mut by_snapshot = Table::new(json!([]));
    by_snapshot.metadata["format-version"] = json!(3);
    by_snapshot.metadata["next-row-id"] = json!(0);
    by_snapshot.metadata["snapshots"][0]["key-id"] = json!("k1");
    by_snapshot.metadata["snapshots"][0]["first-row-id"] = json!(0);
    by_snapshot.metadata["snapshots"][0]["added-rows"] = json!(0);
    by_snapshot.files.files.clear();
    let mut manifest = row("/t/m", [Some(1), Some(0), Some(0)]);
    manifest["key_metadata"] = json!("secret");
    let by_manifest = Table::new(json!([manifest]));
    let by_file = Table::new(json!([row("/t/m", [Some(1), Some(0), Some(0)])])).data(
        "/t/m",
        json!([{ "status": 1, "data_file": { "file_path": "a", "key_metadata": "secret" } }]),
    );
    for table in [by_snapshot, by_manifest, by_file] {
        let error = table.refused().await;
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
        assert!(error.message().contains("table encryption"), "{error}");
        assert!(!error.message().contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn empty_key_metadata_is_no_encryption() {
    let mut manifest = row("/t/m", [Some(1), Some(0), Some(0)]);
    manifest["key_metadata"] = json!("");
    let plan = Table::new(json!([manifest]))
        .data(
            "/t/m",
            json!([{ "status": 1, "data_file": { "file_path": "a", "key_metadata": "" } }]),
        )
        .planned()
        .await;
    assert_eq!(paths(&plan), ["a"]);
}

#[tokio::test]
async fn a_data_file_that_is_listed_twice_is_corrupt() {
    let error = Table::new(json!([
        row("/t/m1", [Some(1), Some(0), Some(0)]),
        row("/t/m2", [Some(1), Some(0), Some(0)]),
    ]))
    .data("/t/m1", json!([entry(1, "/t/a", 1, 10)]))
    .data(
        "/t/m2",
        json!([entry(1, "/t/b", 1, 10), entry(0, "/t/a", 1, 10)]),
    )
    .refused()
    .await;
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("\"/t/a\""), "{error}");
}

#[tokio::test]
async fn a_file_that_was_deleted_and_added_again_is_read_once() {
    let plan = Table::new(json!([row("/t/m", [Some(1), Some(0), Some(1)])]))
        .data(
            "/t/m",
            json!([entry(2, "/t/a", 1, 10), entry(1, "/t/a", 1, 10)]),
        )
        .planned()
        .await;
    assert_eq!(paths(&plan), ["/t/a"]);
}

#[tokio::test]
async fn a_missing_manifest_is_an_error_that_names_it() {
    let error = Table::new(json!([row("/t/m", [None, None, None])]))
        .refused()
        .await;
    assert_eq!(error.kind(), ErrorKind::FileNotFound);
    assert!(error.message().contains("/t/m"), "{error}");
}

#[tokio::test]
async fn a_manifest_without_its_last_block_is_corrupt() {
    let mut manifest = row("/t/m", [Some(2), Some(0), Some(0)]);
    let whole = ManifestTestFile::new(2, ManifestContent::Data)
        .entries(json!([entry(1, "a", 1, 10), entry(1, "b", 1, 10)]))
        .write();
    let shortened = ManifestTestFile::new(2, ManifestContent::Data)
        .entries(json!([entry(1, "a", 1, 10)]))
        .write();
    manifest["manifest_length"] = json!(whole.len());
    let error = Table::new(json!([manifest]))
        .file("/t/m", shortened.clone())
        .refused()
        .await;
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("its end is missing"), "{error}");

    // Wrong counts alone are a writer's mistake that loses nothing.
    manifest["manifest_length"] = json!(shortened.len());
    let plan = Table::new(json!([manifest]))
        .file("/t/m", shortened)
        .planned()
        .await;
    assert_eq!(paths(&plan), ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn planning_can_run_on_any_thread() {
    let table = Table::new(json!([row("/t/m", [Some(1), Some(0), Some(0)])]))
        .data("/t/m", json!([entry(1, "a", 1, 10)]));
    let plan = tokio::spawn(async move { table.planned().await });
    assert_eq!(paths(&plan.await.unwrap()), ["a"]);
}

#[tokio::test]
async fn tasks_know_the_columns_of_their_partition_values_and_the_name_mapping() {
    let mut row = row("/t/m", [Some(1), Some(0), Some(0)]);
    row["partition_spec_id"] = json!(1);
    let manifest = ManifestTestFile::new(2, ManifestContent::Data)
        .partition(json!([{ "name": "x", "type": ["null", "long"], "field-id": 1000 }]))
        .entries(json!([
            { "status": 1, "data_file": { "file_path": "a", "partition": { "x": 7 } } },
            { "status": 1, "data_file": { "file_path": "b", "partition": { "x": null } } },
        ]));
    let mut table = Table::new(json!([row])).file("/t/m", manifest.write());
    let mapping = "not parsed before a file needs it";
    table.metadata["properties"] = json!({ "schema.name-mapping.default": mapping });
    let plan = table.planned().await;
    let [a, b] = plan.tasks.as_slice() else {
        panic!("two files are planned, not {:?}", paths(&plan));
    };
    let names: Vec<_> = a.partition_values().map(|(field, _)| &field.name).collect();
    assert_eq!(names, ["x"]);
    assert_eq!(a.identity_value(1), Some(Some(&PrimitiveValue::Long(7))));
    assert_eq!(b.identity_value(1), Some(None), "null is a value");
    assert_eq!(a.identity_value(2), None);
    assert_eq!(a.name_mapping.as_deref(), Some(mapping));
}
