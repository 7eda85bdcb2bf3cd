//! What metadata says besides the rows, and must not be taken for them. Rows of the table of rules most often got
//! wrong that no other room of tests has: each test is named after its row.
//! Spec: "Table Metadata Fields", "Snapshots", "Partition Transforms", "Sorting", "Table Statistics".

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use iceberg_fdw_tests::database::{Database, attach, text_rows};
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::{Directory, Table, parquet_of_arrays, write_json};
use serde_json::{Value as Json, json};

fn longs(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn numbers(directory: &Directory) -> Table {
    Table::new(directory.path()).column(1, "n", "long")
}

fn write(directory: &Directory, metadata: &Json) {
    let path = directory.join("metadata/v1.metadata.json");
    write_json(&path, metadata);
}

fn query(location: &Path, query: &str) -> Result<Vec<String>, postgres::Error> {
    let database = Database::new();
    let mut client = database.with_server();
    client.batch_execute(&attach("t", location, ""))?;
    let rows = text_rows(&mut client, query)?;
    let shown = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    Ok(rows
        .into_iter()
        .map(|row| row.into_iter().map(shown).collect::<Vec<_>>().join("|"))
        .collect())
}

fn assert_rows(directory: &Directory, wanted: &str, expected: &[&str]) {
    assert_eq!(
        query(directory.path(), wanted).expect(wanted),
        expected,
        "{wanted}"
    );
}

/// Statistics files are optional, may lag, and are not there or not what they should be.
#[test]
fn statistics_and_partition_statistics_are_ignorable() {
    let directory = Directory::new();
    let table = numbers(&directory).file("data/0.parquet", vec![longs(&[1, 2, 3])]);
    let mut metadata = table.write_snapshot();
    metadata["statistics"] = json!([
        {"snapshot-id": 1001, "statistics-path": table.path_of("metadata/gone.stats"), "file-size-in-bytes": 413,
            "file-footer-size-in-bytes": 1_000_000, "blob-metadata": [
            {"type": "apache-datasketches-theta-v1", "snapshot-id": 1001, "sequence-number": 2, "fields": [1],
                "properties": {"ndv": "0"}}]},
        {"snapshot-id": 77, "statistics-path": "s3://elsewhere/of-a-snapshot-that-is-gone.stats",
            "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1, "blob-metadata": []},
    ]);
    metadata["partition-statistics"] = json!([
        {"snapshot-id": 1001, "statistics-path": table.path_of("metadata/gone.parquet"), "file-size-in-bytes": 43}]);
    write(&directory, &metadata);
    assert_rows(&directory, "SELECT count(*), sum(n) FROM t", &["3|6"]);
}

/// Totals in the summary are text for people: what there is, the manifests say.
#[test]
fn summary_totals_decide_nothing() {
    let directory = Directory::new();
    let table = numbers(&directory)
        .file("data/0.parquet", vec![longs(&[1, 2, 3])])
        .file("data/1.parquet", vec![longs(&[4, 5, 6])])
        .equality_deletes("data/keys.parquet", &[(1, longs(&[2, 6]))])
        .position_deletes("data/positions.parquet", &[("data/0.parquet", 0)]);
    for totals in ["0", "1000000000", "-1", "many"] {
        let mut metadata = table.write_snapshot();
        metadata["snapshots"][0]["summary"] = json!({
            "operation": "append", "total-records": totals, "total-data-files": totals, "total-delete-files": totals,
            "total-position-deletes": totals, "total-equality-deletes": totals, "total-files-size": totals,
            "added-records": totals, "deleted-records": totals,
        });
        write(&directory, &metadata);
        assert_rows(&directory, "SELECT n FROM t ORDER BY n", &["3", "4", "5"]);
        assert_rows(&directory, "SELECT count(*) FROM t", &["3"]);
    }
}

/// Neither the table's order nor what a file is said to be sorted by, known or not, sorts its rows.
#[test]
fn sort_order_says_nothing_of_existing_files() {
    let directory = Directory::new();
    let table = numbers(&directory)
        .file("data/0.parquet", vec![longs(&[5, 1, 3])])
        .file("data/1.parquet", vec![longs(&[6, 4, 2])])
        .sorted_by(1)
        .file("data/2.parquet", vec![longs(&[9, 7, 8])])
        .sorted_by(99);
    let mut metadata = table.write_snapshot();
    metadata["sort-orders"] = json!([{"order-id": 0, "fields": []}, {"order-id": 1, "fields": [
        {"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}]}]);
    metadata["default-sort-order-id"] = json!(1);
    write(&directory, &metadata);
    let sorted = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    assert_rows(&directory, "SELECT n FROM t ORDER BY n", &sorted);
    assert_rows(&directory, "SELECT min(n), max(n) FROM t", &["1|9"]);
    assert_rows(&directory, "SELECT n FROM t ORDER BY n LIMIT 1", &["1"]);
}

/// A dropped partition field of version 1 is null for every file: its column is not.
#[test]
fn void_says_nothing_about_its_column() {
    let directory = Directory::new();
    Table::new(directory.path())
        .column(1, "n", "long")
        .column(2, "region", "long")
        .partition_field(1000, "region", "void", 2, json!("long"))
        .file("data/0.parquet", vec![longs(&[1, 2]), longs(&[10, 20])])
        .in_partition(json!({"region": null}))
        .raw_file(
            "data/1.parquet",
            &parquet_of_arrays(&[(1, "n", longs(&[3]))]),
            1,
        )
        .in_partition(json!({"region": null}))
        .write();
    assert_rows(
        &directory,
        "SELECT n, region FROM t ORDER BY n",
        &["1|10", "2|20", "3|null"],
    );
    assert_rows(&directory, "SELECT n FROM t WHERE region = 20", &["2"]);
    assert_rows(&directory, "SELECT n FROM t WHERE region IS NULL", &["3"]);
    assert_rows(
        &directory,
        "SELECT count(*) FROM t WHERE region IS NOT NULL",
        &["2"],
    );
}

/// The rows of a table that is partitioned by what this program does not know are all the same there.
#[test]
fn unknown_transform_keeps_every_row() {
    let directory = Directory::new();
    Table::new(directory.path())
        .column(1, "n", "long")
        .partition_field(1000, "n_hilbert", "hilbert[7]", 1, json!("string"))
        .file("data/0.parquet", vec![longs(&[1, 2])])
        .in_partition(json!({"n_hilbert": "a"}))
        .file("data/1.parquet", vec![longs(&[3])])
        .in_partition(json!({"n_hilbert": null}))
        .write();
    assert_rows(&directory, "SELECT n FROM t ORDER BY n", &["1", "2", "3"]);
    assert_rows(&directory, "SELECT n FROM t WHERE n = 3", &["3"]);
    assert_rows(&directory, "SELECT n FROM t WHERE n < 2", &["1"]);
}

/// Before version 4 every path is whole: one that is relative is below nothing.
#[test]
fn paths_that_are_relative_are_refused() {
    let directory = Directory::new();
    let table = numbers(&directory).file("data/0.parquet", vec![longs(&[1])]);
    let mut metadata = table.write_snapshot();
    metadata["snapshots"][0]["manifest-list"] = json!("metadata/snap-1001.avro");
    write(&directory, &metadata);
    failure::expect(
        query(directory.path(), "SELECT n FROM t"),
        &["XX001"],
        &["metadata/snap-1001.avro"],
    );
}

/// What has no rows, or has none left, is not the end.
#[test]
fn nothing_found_in_one_file_ends_nothing() {
    let directory = Directory::new();
    numbers(&directory)
        .file("data/0.parquet", vec![longs(&[1])])
        .file("data/1.parquet", vec![longs(&[2, 3])])
        .file("data/2.parquet", vec![longs(&[])])
        .file("data/3.parquet", vec![longs(&[4, 5])])
        .file("data/4.parquet", vec![longs(&[6])])
        .equality_deletes("data/keys.parquet", &[(1, longs(&[2, 3]))])
        .position_deletes(
            "data/positions.parquet",
            &[("data/3.parquet", 0), ("data/3.parquet", 1)],
        )
        .write();
    assert_rows(&directory, "SELECT n FROM t ORDER BY n", &["1", "6"]);
    assert_rows(&directory, "SELECT count(*) FROM t", &["2"]);
}
