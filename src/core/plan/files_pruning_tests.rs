//! What a filter leaves of a table: which manifests are read, which files are planned, and what of the filter
//! they still have to meet.

use super::*;
use crate::spec::{
    Check, Comparison, Predicate, PrimitiveType, PruningLevels, RowFilter, Term, Test,
};

/// A condition on the column of [`Table`], which is a long.
fn x(comparison: Comparison, value: i64) -> Predicate {
    Predicate::Test(Test {
        term: Term::field(1, PrimitiveType::Long),
        check: Check::Compare(comparison, PrimitiveValue::Long(value)),
    })
}

fn exactly(exact: Predicate) -> ScanFilter {
    ScanFilter {
        rows: RowFilter {
            exact,
            inexact: Predicate::True,
        },
        levels: PruningLevels::ALL,
    }
}

/// A long that is small, as bounds have it.
fn long(value: u8) -> String {
    let bytes = i64::from(value).to_le_bytes().to_vec();
    String::from_utf8(bytes).unwrap()
}

/// A data file of the unpartitioned spec whose column is from `lower` to `upper`.
fn bounded(path: &str, lower: u8, upper: u8, nulls: i64) -> Value {
    json!({ "status": 1, "data_file": {
        "file_path": path, "record_count": 10, "file_size_in_bytes": 100,
        "value_counts": [{ "key": 1, "value": 10 }],
        "null_value_counts": [{ "key": 1, "value": nulls }],
        "lower_bounds": [{ "key": 1, "value": long(lower) }],
        "upper_bounds": [{ "key": 1, "value": long(upper) }] } })
}

fn partitioned(path: &str, value: Option<i64>) -> Value {
    json!({ "status": 1, "data_file": {
        "file_path": path, "record_count": 10, "partition": { "x": value } } })
}

fn summary(contains_null: bool, lower: Option<u8>, upper: Option<u8>) -> Value {
    json!([{ "contains_null": contains_null, "contains_nan": false,
        "lower_bound": lower.map(long), "upper_bound": upper.map(long) }])
}

/// Four manifests: of partitions 1 to 3, of partition 7 and null, without summaries, and of files without
/// partitions.
fn table() -> Table {
    let added = [Some(2), Some(0), Some(0)];
    let partitioned_row = |path: &str, partitions: Value| {
        let mut row = row(path, added);
        row["partition_spec_id"] = json!(1);
        row["partitions"] = partitions;
        row
    };
    let of_partitions = |entries: Value| {
        ManifestTestFile::new(2, ManifestContent::Data)
            .partition(json!([{ "name": "x", "type": ["null", "long"], "field-id": 1000 }]))
            .entries(entries)
            .write()
    };
    Table::new(json!([
        partitioned_row("/t/low", summary(false, Some(1), Some(3))),
        partitioned_row("/t/high", summary(true, Some(7), Some(7))),
        partitioned_row("/t/untold", Value::Null),
        row("/t/bounded", added),
    ]))
    .file(
        "/t/low",
        of_partitions(json!([
            partitioned("one", Some(1)),
            partitioned("three", Some(3))
        ])),
    )
    .file(
        "/t/high",
        of_partitions(json!([
            partitioned("seven", Some(7)),
            partitioned("null", None)
        ])),
    )
    .file(
        "/t/untold",
        of_partitions(json!([
            partitioned("two", Some(2)),
            partitioned("eight", Some(8))
        ])),
    )
    .data(
        "/t/bounded",
        json!([bounded("to five", 0, 5, 0), bounded("to nine", 4, 9, 1)]),
    )
}

#[tokio::test]
async fn files_without_wanted_rows_are_passed_over_and_counted() {
    let (plan, files) = table()
        .plan_for(&exactly(x(Comparison::GreaterOrEqual, 7)))
        .await;
    let plan = plan.unwrap();
    assert_eq!(paths(&plan), ["seven", "eight", "to nine"]);
    assert_eq!((plan.manifests_total, plan.manifests_skipped), (4, 1));
    assert_eq!(plan.data_files_total, 6);
    assert_eq!(plan.data_files_skipped_by_partition, 2);
    assert_eq!(plan.data_files_skipped_by_metrics, 1);
    assert_eq!(plan.records, Some(30));
    assert!(!files.reads.lock().unwrap().contains(&"/t/low".to_owned()));
    let residuals: Vec<_> = plan.tasks.iter().map(|task| &task.residual.exact).collect();
    assert_eq!(
        residuals,
        [
            &Predicate::True,
            &Predicate::True,
            &x(Comparison::GreaterOrEqual, 7)
        ]
    );
    assert!(Arc::ptr_eq(
        &plan.tasks[0].residual,
        &plan.tasks[1].residual
    ));
}

#[tokio::test]
async fn the_inexact_part_prunes_as_the_exact_one_does() {
    let filter = ScanFilter {
        rows: RowFilter {
            exact: x(Comparison::Less, 8),
            inexact: x(Comparison::Greater, 6),
        },
        levels: PruningLevels::ALL,
    };
    let plan = table().plan_for(&filter).await.0.unwrap();
    assert_eq!(paths(&plan), ["seven", "to nine"]);
    assert_eq!(*plan.tasks[0].residual, RowFilter::ALL);
    assert_eq!(*plan.tasks[1].residual, filter.rows);
}

#[tokio::test]
async fn each_level_can_be_switched_off() {
    let all = [
        "one", "three", "seven", "null", "two", "eight", "to five", "to nine",
    ];
    let by_partitions = ["seven", "eight", "to five", "to nine"];
    let by_metrics = ["one", "three", "seven", "null", "two", "eight", "to nine"];
    for (partitions, metrics, expected) in [
        (false, false, &all[..]),
        (true, false, &by_partitions),
        (false, true, &by_metrics),
    ] {
        let mut filter = exactly(x(Comparison::Greater, 6));
        filter.levels.partitions = partitions;
        filter.levels.metrics = metrics;
        let plan = table().plan_for(&filter).await.0.unwrap();
        assert_eq!(paths(&plan), expected, "{partitions} {metrics}");
    }
    let mut filter = exactly(x(Comparison::Greater, 6));
    filter.levels = PruningLevels::NONE;
    let plan = table().plan_for(&filter).await.0.unwrap();
    assert_eq!(plan.manifests_skipped, 0);
    assert!(plan.tasks.iter().all(|task| *task.residual == filter.rows));
}

#[tokio::test]
async fn a_filter_that_no_row_meets_reads_no_file() {
    let plan = table()
        .plan_for(&exactly(Predicate::False))
        .await
        .0
        .unwrap();
    assert_eq!(paths(&plan), [""; 0]);
    assert_eq!(plan.records, Some(0));
}

#[tokio::test]
async fn delete_manifests_of_other_partitions_are_not_read() {
    let mut deletes = delete_row("/t/deletes", [Some(1), Some(0), Some(0)]);
    deletes["partition_spec_id"] = json!(1);
    deletes["partitions"] = summary(false, Some(1), Some(3));
    let mut data = row("/t/m", [Some(1), Some(0), Some(0)]);
    data["partition_spec_id"] = json!(1);
    let manifest = ManifestTestFile::new(2, ManifestContent::Data)
        .partition(json!([{ "name": "x", "type": ["null", "long"], "field-id": 1000 }]))
        .entries(json!([partitioned("seven", Some(7))]));
    // The manifest of deletes is not there.
    let (plan, _) = Table::new(json!([data, deletes]))
        .file("/t/m", manifest.write())
        .plan_for(&exactly(x(Comparison::Equal, 7)))
        .await;
    let plan = plan.unwrap();
    assert_eq!(paths(&plan), ["seven"]);
    assert_eq!(plan.manifests_skipped, 1);
}

/// An equality delete file of the column, as [`bounded`].
fn deletes_of(path: &str, lower: u8, upper: u8, nulls: i64) -> Value {
    let mut file = bounded(path, lower, upper, nulls);
    file["data_file"]["content"] = json!(2);
    file["data_file"]["equality_ids"] = json!([1]);
    file
}

/// The names of the equality delete files of each task.
fn equality_deletes(plan: &ScanPlan) -> Vec<Vec<&str>> {
    plan.tasks
        .iter()
        .map(|task| {
            let files = task.deletes.equality.iter().flat_map(|set| &set.files);
            files.map(|(_, file)| file.path.0.as_str()).collect()
        })
        .collect()
}

/// known-bugs.md: "NULL in an equality column": null matches null.
#[tokio::test]
async fn equality_deletes_apply_where_a_row_may_have_their_keys() {
    let deletes = json!([
        deletes_of("/t/three", 3, 3, 0),
        deletes_of("/t/far", 50, 60, 0),
        deletes_of("/t/far or null", 50, 60, 1),
        { "status": 1, "data_file": { "file_path": "/t/untold", "content": 2, "equality_ids": [1] } },
    ]);
    let table = |deletes: Value| {
        let mut old = [
            bounded("to five", 0, 5, 0),
            bounded("to nine", 4, 9, 0),
            bounded("with null", 4, 9, 1),
        ];
        for file in &mut old {
            file["status"] = json!(0);
            file["sequence_number"] = json!(1);
        }
        Table::new(json!([
            row("/t/m", [Some(0), Some(3), Some(0)]),
            delete_row("/t/d", [None, Some(0), Some(0)]),
        ]))
        .data("/t/m", json!(old))
        .manifest("/t/d", ManifestContent::Deletes, deletes)
    };
    let plan = table(deletes.clone()).planned().await;
    assert_eq!(
        equality_deletes(&plan),
        vec![vec!["/t/three", "/t/far or null", "/t/untold"]; 3],
        "one set for all of them"
    );
    assert_eq!(plan.delete_files_total, 3);
    // Without the one about which nothing is known, files need no deletes that cannot be about them.
    let known = json!([deletes[0], deletes[1], deletes[2]]);
    let plan = table(known.clone()).planned().await;
    assert_eq!(
        equality_deletes(&plan),
        [
            vec!["/t/three", "/t/far or null"],
            vec![],
            vec!["/t/three", "/t/far or null"]
        ]
    );
    // With the level switched off, all are read.
    let mut filter = ScanFilter::ALL;
    filter.levels.metrics = false;
    let plan = table(known).plan_for(&filter).await.0.unwrap();
    assert_eq!(
        equality_deletes(&plan),
        vec![vec!["/t/three", "/t/far", "/t/far or null"]; 3]
    );
}

/// What the query wants does not tell which rows were deleted: all keys of a wanted file count.
#[tokio::test]
async fn equality_deletes_are_not_pruned_by_the_filter() {
    let mut data = bounded("to nine", 0, 9, 0);
    data["status"] = json!(0);
    data["sequence_number"] = json!(1);
    let table = Table::new(json!([
        row("/t/m", [Some(0), Some(1), Some(0)]),
        delete_row("/t/d", [Some(1), Some(0), Some(0)]),
    ]))
    .data("/t/m", json!([data]))
    .manifest(
        "/t/d",
        ManifestContent::Deletes,
        json!([deletes_of("/t/three", 3, 3, 0)]),
    );
    let filter = exactly(x(Comparison::Greater, 6));
    let plan = table.plan_for(&filter).await.0.unwrap();
    assert_eq!(equality_deletes(&plan), [["/t/three"]]);
}
