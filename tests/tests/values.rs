//! Values at the edge of what Postgres can hold, and files that hold what no value can be.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, StringArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use iceberg_fdw_tests::database::{Database, attach, text_rows, text_value};
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::{Directory, Table, parquet_of_bytes};

/// 2000-01-01 as Postgres counts from there: days and microseconds after 1970-01-01.
const POSTGRES_EPOCH_DAYS: i32 = 10_957;
const POSTGRES_EPOCH_MICROSECONDS: i64 = 946_684_800_000_000;

/// A table of one column called `v`.
fn one_column(directory: &Directory, kind: &str, array: ArrayRef) -> PathBuf {
    Table::new(directory.path())
        .column(1, "v", kind)
        .file("data/values.parquet", vec![array])
        .write()
}

fn query(table: PathBuf, query: &str) -> Result<Vec<Vec<Option<String>>>, postgres::Error> {
    let database = Database::new();
    let mut client = database.with_server();
    client.batch_execute("SET timezone = 'UTC'")?;
    client.batch_execute(&attach("tested", table, ""))?;
    text_rows(&mut client, query)
}

fn assert_out_of_range(kind: &str, array: ArrayRef) {
    let directory = Directory::new();
    let table = one_column(&directory, kind, array);
    failure::expect(query(table, "SELECT v FROM tested"), &["22008"], &["v"]);
}

fn assert_same_as_postgres(kind: &str, array: ArrayRef, expected: &[&str]) {
    let directory = Directory::new();
    let table = one_column(&directory, kind, array);
    let comparison = format!(
        "SELECT t.v, e.v, t.v = e.v FROM tested t FULL JOIN (VALUES {}) e(v) ON t.v = e.v",
        expected.join(", ")
    );
    let rows = query(table, &comparison).expect("the values can be read");
    assert_eq!(rows.len(), expected.len());
    for row in rows {
        assert_eq!(row[2].as_deref(), Some("t"), "{row:?}");
    }
}

fn dates(values: Vec<i32>) -> ArrayRef {
    Arc::new(Date32Array::from(values))
}

fn timestamps(values: Vec<i64>) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values))
}

fn timestamps_utc(values: Vec<i64>) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values).with_timezone("UTC"))
}

#[test]
fn the_first_and_last_date_of_postgres_are_read() {
    assert_same_as_postgres(
        "date",
        dates(vec![-2_440_588, 2_145_042_905, 0, -1]),
        &[
            "('4714-11-24 BC'::date)",
            "('5874897-12-31'::date)",
            "('1970-01-01'::date)",
            "('1969-12-31'::date)",
        ],
    );
}

#[test]
fn a_date_before_the_first_is_out_of_range() {
    assert_out_of_range("date", dates(vec![-2_440_589]));
    assert_out_of_range("date", dates(vec![i32::MIN]));
}

#[test]
fn a_date_after_the_last_is_out_of_range() {
    assert_out_of_range("date", dates(vec![2_145_042_906]));
    assert_out_of_range("date", dates(vec![i32::MAX]));
}

#[test]
fn a_date_that_would_be_minus_infinity_is_out_of_range() {
    assert_out_of_range("date", dates(vec![i32::MIN + POSTGRES_EPOCH_DAYS]));
}

#[test]
fn the_first_and_last_timestamp_are_read() {
    let values = vec![-210_866_803_200_000_000, i64::MAX, 0, -1];
    let expected = [
        "('4714-11-24 BC'::timestamp)",
        "('294247-01-10 04:00:54.775807'::timestamp)",
        "('1970-01-01'::timestamp)",
        "('1969-12-31 23:59:59.999999'::timestamp)",
    ];
    assert_same_as_postgres("timestamp", timestamps(values), &expected);
}

#[test]
fn the_first_and_last_timestamptz_are_read() {
    let values = vec![-210_866_803_200_000_000, i64::MAX, 0, -1];
    let expected = [
        "('4714-11-24 00:00:00+00 BC'::timestamptz)",
        "('294247-01-10 04:00:54.775807+00'::timestamptz)",
        "('1970-01-01 00:00:00+00'::timestamptz)",
        "('1969-12-31 23:59:59.999999+00'::timestamptz)",
    ];
    assert_same_as_postgres("timestamptz", timestamps_utc(values), &expected);
}

#[test]
fn a_timestamp_before_the_first_is_out_of_range() {
    assert_out_of_range("timestamp", timestamps(vec![-210_866_803_200_000_001]));
    assert_out_of_range("timestamp", timestamps(vec![i64::MIN]));
    assert_out_of_range(
        "timestamptz",
        timestamps_utc(vec![-210_866_803_200_000_001]),
    );
    assert_out_of_range("timestamptz", timestamps_utc(vec![i64::MIN]));
}

#[test]
fn a_timestamp_that_would_be_minus_infinity_is_out_of_range() {
    assert_out_of_range(
        "timestamp",
        timestamps(vec![i64::MIN + POSTGRES_EPOCH_MICROSECONDS]),
    );
    assert_out_of_range(
        "timestamptz",
        timestamps_utc(vec![i64::MIN + POSTGRES_EPOCH_MICROSECONDS]),
    );
}

#[test]
fn a_time_outside_of_a_day_is_refused() {
    for microseconds in [-1, 86_400_000_001, i64::MIN, i64::MAX] {
        let directory = Directory::new();
        let table = one_column(
            &directory,
            "time",
            Arc::new(Time64MicrosecondArray::from(vec![microseconds])),
        );
        failure::expect(
            query(table, "SELECT v FROM tested"),
            &["22008", "XX001"],
            &["v"],
        );
    }
}

#[test]
fn a_value_out_of_range_hurts_only_who_reads_it() {
    let directory = Directory::new();
    let ids: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let table = Table::new(directory.path())
        .column(1, "id", "int")
        .column(2, "v", "date")
        .file("data/a.parquet", vec![ids, dates(vec![0, i32::MAX])])
        .write();
    let rows =
        query(table, "SELECT sum(id), count(*) FROM tested").expect("the column is not read");
    assert_eq!(rows, [[Some("3".to_owned()), Some("2".to_owned())]]);
}

#[test]
fn decimals_keep_their_scale_and_38_digits() {
    let nines = 10_i128.pow(38) - 1;
    let array = Decimal128Array::from(vec![0, 1, -1, nines, -nines, 1_000])
        .with_precision_and_scale(38, 3)
        .expect("a valid type");
    let directory = Directory::new();
    let table = one_column(&directory, "decimal(38, 3)", Arc::new(array));
    let rows = query(table, "SELECT v FROM tested ORDER BY v").expect("the values can be read");
    let texts: Vec<_> = rows
        .iter()
        .map(|row| row[0].as_deref().expect("no NULL"))
        .collect();
    let expected = [
        "-99999999999999999999999999999999999.999",
        "-0.001",
        "0.000",
        "0.001",
        "1.000",
        "99999999999999999999999999999999999.999",
    ];
    assert_eq!(texts, expected);
}

/// The error of text that Postgres cannot hold names the file and the column.
fn assert_bad_text(values: &[&[u8]]) {
    let directory = Directory::new();
    let bytes = parquet_of_bytes(1, "v", values);
    let table = Table::new(directory.path())
        .column(1, "v", "string")
        .raw_file("data/bad-text.parquet", &bytes, values.len())
        .write();
    failure::expect(
        query(table, "SELECT v FROM tested"),
        &["22021", "XX001"],
        &["bad-text.parquet", "v"],
    );
}

#[test]
fn a_nul_byte_inside_text_is_an_error_that_names_file_and_column() {
    assert_bad_text(&[b"fine", b"a\0b"]);
}

#[test]
fn text_that_is_no_utf8_is_an_error_that_names_file_and_column() {
    assert_bad_text(&[b"fine", b"caf\xe9"]);
}

#[test]
fn overlong_and_surrogate_utf8_is_refused() {
    assert_bad_text(&[b"\xc0\xaf"]);
    assert_bad_text(&[b"\xed\xa0\x80"]);
}

#[test]
fn strings_of_a_megabyte_are_read_whole() {
    let long = "0123456789abcdefé".repeat(62_000);
    let strings = StringArray::from(vec![
        Some(long.as_str()),
        None,
        Some(""),
        Some(long.as_str()),
    ]);
    let directory = Directory::new();
    let table = one_column(&directory, "string", Arc::new(strings));
    let rows = query(
        table,
        "SELECT length(v), v = repeat('0123456789abcdefé', 62000) FROM tested WHERE v <> ''",
    )
    .expect("long strings can be read");
    assert_eq!(
        rows,
        [
            [Some("1054000".to_owned()), Some("t".to_owned())],
            [Some("1054000".to_owned()), Some("t".to_owned())]
        ]
    );
}

#[test]
fn empty_strings_are_not_null() {
    let directory = Directory::new();
    let table = one_column(
        &directory,
        "string",
        Arc::new(StringArray::from(vec![Some(""), None])),
    );
    let rows = query(
        table,
        "SELECT count(*), count(v), count(*) FILTER (WHERE v = '') FROM tested",
    )
    .expect("the rows can be read");
    assert_eq!(
        rows,
        [[
            Some("2".to_owned()),
            Some("1".to_owned()),
            Some("1".to_owned())
        ]]
    );
}

#[test]
fn a_file_without_rows_between_others_ends_nothing() {
    let directory = Directory::new();
    let numbers = |values: Vec<i64>| -> Vec<ArrayRef> { vec![Arc::new(Int64Array::from(values))] };
    let table = Table::new(directory.path())
        .column(1, "v", "long")
        .file("data/0.parquet", numbers(vec![]))
        .file("data/1.parquet", numbers(vec![1, 2]))
        .file("data/2.parquet", numbers(vec![]))
        .file("data/3.parquet", numbers(vec![3, 4, 5]))
        .file("data/4.parquet", numbers(vec![]))
        .write();
    let rows = query(table, "SELECT count(*), sum(v) FROM tested").expect("the rows can be read");
    assert_eq!(rows, [[Some("5".to_owned()), Some("15".to_owned())]]);
}

#[test]
fn a_snapshot_without_files_is_empty() {
    let directory = Directory::new();
    let table = Table::new(directory.path()).column(1, "v", "long").write();
    assert_eq!(
        query(table, "SELECT count(*) FROM tested").expect("an empty table can be read"),
        [[Some("0".to_owned())]]
    );
}

#[test]
fn five_hundred_columns_are_read_each_with_its_own_value() {
    let directory = Directory::new();
    let mut table = Table::new(directory.path());
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for number in 1..=500 {
        table = table.column(number, &format!("c{number}"), "int");
        arrays.push(Arc::new(Int32Array::from(vec![number, -number])));
    }
    let written = table.file("data/wide.parquet", arrays).write();
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", written, ""))
        .expect("a wide table can be attached");
    let sum: String = (1..=500)
        .map(|number| format!(" + (c{number} = {number})::int"))
        .collect();
    let right = text_value(
        &mut client,
        &format!("SELECT 0{sum} FROM tested WHERE c1 > 0"),
    )
    .expect("a wide table can be read");
    assert_eq!(right.as_deref(), Some("500"));
    let rows = text_rows(&mut client, "SELECT * FROM tested ORDER BY c500")
        .expect("a wide table can be read");
    assert_eq!(rows[0].len(), 500);
    assert_eq!(
        (rows[0][499].as_deref(), rows[1][249].as_deref()),
        (Some("-500"), Some("250"))
    );
}

#[test]
fn a_column_that_a_file_lacks_is_null() {
    let directory = Directory::new();
    let old = iceberg_fdw_tests::synthetic::parquet_of_arrays(&[(
        1,
        "id",
        Arc::new(Int32Array::from(vec![1, 2])),
    )]);
    let new: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![3])),
        Arc::new(StringArray::from(vec!["new"])),
    ];
    let table = Table::new(directory.path())
        .column(1, "id", "int")
        .column(2, "v", "string")
        .raw_file("data/old.parquet", &old, 2)
        .file("data/new.parquet", new)
        .write();
    let rows = query(table, "SELECT id, v FROM tested ORDER BY id").expect("the rows can be read");
    let texts: Vec<_> = rows
        .iter()
        .map(|row| (row[0].as_deref(), row[1].as_deref()))
        .collect();
    assert_eq!(
        texts,
        [
            (Some("1"), None),
            (Some("2"), None),
            (Some("3"), Some("new"))
        ]
    );
}

#[test]
fn columns_are_found_by_field_id_whatever_their_names_in_the_file() {
    let directory = Directory::new();
    // The file still has the names from before two columns were renamed to each other's.
    let bytes = iceberg_fdw_tests::synthetic::parquet_of_arrays(&[
        (2, "a", Arc::new(Int32Array::from(vec![20]))),
        (1, "b", Arc::new(Int32Array::from(vec![10]))),
    ]);
    let table = Table::new(directory.path())
        .column(1, "a", "int")
        .column(2, "b", "int")
        .raw_file("data/old.parquet", &bytes, 1)
        .write();
    let rows = query(table, "SELECT a, b FROM tested").expect("the row can be read");
    assert_eq!(rows, [[Some("10".to_owned()), Some("20".to_owned())]]);
}

#[test]
fn narrower_types_of_older_files_are_widened() {
    let directory = Directory::new();
    let bytes = iceberg_fdw_tests::synthetic::parquet_of_arrays(&[(
        1,
        "v",
        Arc::new(Int32Array::from(vec![-7, i32::MAX])),
    )]);
    let table = Table::new(directory.path())
        .column(1, "v", "long")
        .raw_file("data/old.parquet", &bytes, 2)
        .file(
            "data/new.parquet",
            vec![Arc::new(Int64Array::from(vec![i64::MAX]))],
        );
    let rows =
        query(table.write(), "SELECT v FROM tested ORDER BY v").expect("the rows can be read");
    let texts: Vec<_> = rows.iter().map(|row| row[0].as_deref()).collect();
    assert_eq!(
        texts,
        [Some("-7"), Some("2147483647"), Some("9223372036854775807")]
    );
}
