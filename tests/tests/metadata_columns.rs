//! Columns that tell something about a row: its file and position, its partition, its lineage.
//! Spec: "Reserved Field IDs", "Row Lineage", "First Row ID Inheritance".

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array};
use iceberg_fdw_tests::database::{Database, foreign_table, text_rows};
use iceberg_fdw_tests::failure::expect;
use iceberg_fdw_tests::synthetic::{Directory, Table, parquet_of_arrays, write_json};
use serde_json::json;

const COLUMNS: &str = "a int OPTIONS (field_id '1'), \
    file text OPTIONS (metadata_column '_file'), \
    position int8 OPTIONS (metadata_column '_pos'), \
    spec int4 OPTIONS (metadata_column '_spec_id'), \
    part jsonb OPTIONS (metadata_column '_partition'), \
    row_id int8 OPTIONS (metadata_column '_row_id'), \
    changed int8 OPTIONS (metadata_column '_last_updated_sequence_number')";

fn ints(values: impl IntoIterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

fn longs(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn query_of(
    columns: &str,
    table: &Path,
    query: &str,
) -> Result<Vec<Vec<Option<String>>>, postgres::Error> {
    let database = Database::new();
    let mut client = database.with_server();
    client.batch_execute(&foreign_table("t", columns, table, &[]))?;
    text_rows(&mut client, query)
}

fn assert_rows(table: &Path, query: &str, expected: &[&str]) {
    let rows = query_of(COLUMNS, table, query).expect(query);
    let shown = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    let rows: Vec<String> = rows
        .into_iter()
        .map(|row| row.into_iter().map(shown).collect::<Vec<_>>().join("|"))
        .collect();
    assert_eq!(rows, expected, "{query}");
}

/// Two files of a partitioned table, with position deletes.
fn partitioned(directory: &Directory) -> PathBuf {
    let days = json!({"type": "int", "logicalType": "date"});
    Table::new(directory.join("t"))
        .column(1, "a", "int")
        .column(2, "b", "string")
        .column(3, "day", "date")
        .spec_id(4)
        .delete_spec_id(4)
        .partition_field(1000, "b \"part\"", "truncate[2]", 2, json!("string"))
        .partition_field(1001, "day", "day", 3, days)
        .raw_file(
            "data/one.parquet",
            &parquet_of_arrays(&[(1, "a", ints(0..5))]),
            5,
        )
        .in_partition(json!({"b \"part\"": "x\"", "day": -1}))
        .raw_file(
            "data/two.parquet",
            &parquet_of_arrays(&[(1, "a", ints(10..13))]),
            3,
        )
        .in_partition(json!({"b \"part\"": null, "day": null}))
        .write()
}

#[test]
fn file_position_spec_and_partition() {
    let directory = Directory::new();
    let table = partitioned(&directory);
    let path = table.to_str().expect("test paths are UTF-8");
    assert_rows(
        &table,
        "SELECT a, position, file, spec, part FROM t WHERE position >= 2 ORDER BY a",
        &[
            &format!(
                r#"2|2|{path}/data/one.parquet|4|{{"day": "1969-12-31", "b \"part\"": "x\""}}"#
            ),
            &format!(
                r#"3|3|{path}/data/one.parquet|4|{{"day": "1969-12-31", "b \"part\"": "x\""}}"#
            ),
            &format!(
                r#"4|4|{path}/data/one.parquet|4|{{"day": "1969-12-31", "b \"part\"": "x\""}}"#
            ),
            &format!(r#"12|2|{path}/data/two.parquet|4|{{"day": null, "b \"part\"": null}}"#),
        ],
    );
    assert_rows(
        &table,
        "SELECT file LIKE '%/two.parquet', count(*), max(position) FROM t GROUP BY file ORDER BY 1",
        &["f|5|4", "t|3|2"],
    );
    assert_rows(
        &table,
        "SELECT DISTINCT (part->>'day')::date FROM t ORDER BY 1",
        &["1969-12-31", "null"],
    );
    assert_rows(
        &table,
        "SELECT count(*) FROM t x JOIN t y USING (file, position) WHERE x.a = y.a",
        &["8"],
    );
}

#[test]
fn positions_do_not_move_when_rows_are_deleted() {
    let directory = Directory::new();
    let table = Table::new(directory.join("t"))
        .column(1, "a", "int")
        .file("a.parquet", vec![ints(0..6)])
        .position_deletes("deletes.parquet", &[("a.parquet", 0), ("a.parquet", 3)])
        .equality_deletes("equal.parquet", &[(1, ints([4]))])
        .write();
    assert_rows(
        &table,
        "SELECT a, position, part FROM t ORDER BY a",
        &["1|1|{}", "2|2|{}", "5|5|{}"],
    );
    assert_rows(
        &table,
        "SELECT position FROM t ORDER BY 1",
        &["1", "2", "5"],
    );
}

/// Writes a table's metadata as one of format version 3.
fn write_v3(directory: &Directory, table: &Table) -> PathBuf {
    let mut metadata = table.write_snapshot();
    metadata["format-version"] = json!(3);
    metadata["next-row-id"] = json!(10_000);
    metadata["snapshots"][0]["first-row-id"] = json!(0);
    metadata["snapshots"][0]["added-rows"] = json!(10_000);
    write_json(&directory.join("t/metadata/v1.metadata.json"), &metadata);
    directory.join("t")
}

fn rows_file(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    parquet_of_arrays(&[(1, "a", ints(values))])
}

/// First row ids of the manifest's files are those of before, also where those exist already; a deleted file takes none.
fn with_lineage(directory: &Directory) -> Table {
    Table::new(directory.join("t"))
        .column(1, "a", "int")
        .raw_file("existing.parquet", &rows_file(0..2), 2)
        .with_status(0, Some(1))
        .raw_file("gone.parquet", &rows_file(90..93), 3)
        .with_status(2, Some(1))
        .raw_file("own.parquet", &rows_file(10..12), 2)
        .with_first_row_id(7)
        .raw_file("added.parquet", &rows_file(20..22), 2)
        .raw_file(
            "rewritten.parquet",
            &parquet_of_arrays(&[
                (1, "a", ints(30..33)),
                (2_147_483_540, "_row_id", longs(&[Some(3), None, Some(4)])),
                (
                    2_147_483_539,
                    "_last_updated_sequence_number",
                    longs(&[Some(0), None, None]),
                ),
            ]),
            3,
        )
        .with_status(0, Some(2))
}

#[test]
fn first_row_id_and_stored_lineage() {
    let directory = Directory::new();
    let table = write_v3(
        &directory,
        &with_lineage(&directory).manifest_first_row_id(100),
    );
    assert_rows(
        &table,
        "SELECT a, row_id, changed FROM t ORDER BY a",
        &[
            "0|100|1", "1|101|1", "10|7|1", "11|8|1", "20|102|1", "21|103|1", "30|3|0", "31|105|2",
            "32|4|2",
        ],
    );
    assert_rows(&table, "SELECT a FROM t WHERE row_id = 105", &["31"]);
}

#[test]
fn manifest_and_table_row_ids_of_upgraded_tables_are_null() {
    let directory = Directory::new();
    let table = write_v3(&directory, &with_lineage(&directory));
    assert_rows(
        &table,
        "SELECT count(*), count(row_id), count(changed), count(position) FROM t",
        &["9|0|0|9"],
    );
}

#[test]
fn tables_before_version_3_have_no_lineage() {
    let directory = Directory::new();
    let table = partitioned(&directory);
    assert_rows(
        &table,
        "SELECT count(*), count(row_id), count(changed) FROM t",
        &["8|0|0"],
    );
}

#[test]
fn declared_types_must_fit() {
    let directory = Directory::new();
    let table = partitioned(&directory);
    for (column, declared) in [
        ("_file", "int"),
        ("_pos", "int"),
        ("_spec_id", "int2"),
        ("_partition", "bytea"),
        ("_row_id", "text"),
        ("_last_updated_sequence_number", "timestamptz"),
    ] {
        let columns = format!("c {declared} OPTIONS (metadata_column '{column}')");
        expect(
            query_of(&columns, &table, "SELECT c FROM t"),
            &["HV004"],
            &["\"c\""],
        );
    }
    let rows = query_of(
        "p numeric OPTIONS (metadata_column '_pos'), j json OPTIONS (metadata_column '_partition')",
        &table,
        "SELECT p, j->>'day' FROM t WHERE p = 4",
    )
    .expect("types that lose nothing");
    assert_eq!(
        rows,
        [[Some("4".to_owned()), Some("1969-12-31".to_owned())]]
    );
}

#[test]
fn a_column_is_either_a_field_or_about_the_row() {
    let directory = Directory::new();
    let table = partitioned(&directory);
    for other in ["field_id '1'", "column_name 'a'"] {
        let columns = format!("c int OPTIONS (metadata_column '_pos', {other})");
        let other = other.split(' ').next().expect("a name");
        expect(
            query_of(&columns, &table, ""),
            &["42601"],
            &[other, "metadata_column"],
        );
    }
    expect(
        query_of("c int OPTIONS (metadata_column '_deleted')", &table, ""),
        &["22023"],
        &["_deleted", "_last_updated_sequence_number"],
    );
    // A field may be called like a metadata column: only the option makes it one.
    let directory = Directory::new();
    let table = Table::new(directory.join("t"))
        .column(1, "_pos", "int")
        .file("a.parquet", vec![ints([7])])
        .write();
    let rows = query_of(
        "_pos int, pos int8 OPTIONS (metadata_column '_pos')",
        &table,
        "SELECT _pos, pos FROM t",
    )
    .expect("both can be read");
    assert_eq!(rows, [[Some("7".to_owned()), Some("0".to_owned())]]);
}
