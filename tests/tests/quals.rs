//! Conditions of queries on a foreign table give the rows that they give on a heap copy, whoever checks them: each is
//! tried as it is, negated, and for null, and each is known to be checked by the reader or by Postgres.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int32Array, Int64Array, StringArray, StructArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow::buffer::NullBuffer;
use iceberg_fdw_tests::database::{
    Database, administrator, foreign_table, lines, quoted, text_rows, text_value,
};
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::{Directory, Table, field_with_id};
use libtest_mimic::{Arguments, Trial};
use postgres::Client;
use serde_json::json;

/// Who checks a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The reader alone.
    Reader,
    /// Postgres, whatever else is done.
    Postgres,
}

use By::{Postgres, Reader};

const ROWS: usize = 150;
const FILES: usize = 3;

/// 2025-03-30 00:00 in microseconds from 1970: the day on which summer time begins in Europe.
const SPRING: i64 = 1_743_292_800_000_000;
const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;

/// The values in turn, as many as rows.
fn cycle<T: Clone>(values: &[T], file: usize) -> Vec<T> {
    let part = ROWS / FILES;
    (file * part..(file + 1) * part)
        .map(|row| values[row % values.len()].clone())
        .collect()
}

fn times() -> Vec<Option<i64>> {
    vec![
        Some(0),
        None,
        Some(-1),
        Some(SPRING),
        Some(SPRING - 1),
        Some(SPRING + HOUR),
        Some(SPRING + 2 * HOUR + 1),
        Some(SPRING - 3 * HOUR),
        Some(SPRING + DAY),
        Some(SPRING + 20 * HOUR),
        Some(1_735_689_600_000_000),
        Some(1_735_689_599_999_999),
        Some(1_735_689_600_000_000 + 7 * HOUR),
        Some(-2_208_988_800_000_000),
        Some(-62_135_596_800_000_000),
        Some(-62_135_596_800_000_001),
        Some(253_402_300_799_999_999),
    ]
}

fn columns(file: usize) -> Vec<ArrayRef> {
    let ids: Vec<i32> = (0..(ROWS / FILES) as i32)
        .map(|row| (file * (ROWS / FILES)) as i32 + row)
        .collect();
    let ints = [
        Some(0),
        Some(1),
        Some(-1),
        Some(i32::MIN),
        Some(i32::MAX),
        None,
        Some(7),
        Some(10),
        Some(1000),
        Some(-10),
        Some(9),
    ];
    let longs = [
        Some(0),
        Some(i64::MAX),
        Some(i64::MIN),
        Some(9_007_199_254_740_993),
        Some(9_007_199_254_740_992),
        Some(7),
        None,
        Some(-1),
        Some(2_147_483_648),
    ];
    let doubles = [
        Some(0.0),
        Some(-0.0),
        Some(f64::NAN),
        Some(f64::INFINITY),
        Some(f64::NEG_INFINITY),
        Some(1.5),
        Some(0.1),
        Some(0.1_f32.into()),
        None,
        Some(1e300),
        Some(-1e-300),
        Some(7.0),
    ];
    let floats = [
        Some(0.0),
        Some(-0.0),
        Some(f32::NAN),
        Some(f32::INFINITY),
        Some(f32::NEG_INFINITY),
        Some(0.1),
        None,
        Some(f32::MAX),
        Some(16_777_216.0),
        Some(7.0),
    ];
    let decimals = [
        Some(0),
        Some(100),
        Some(101),
        Some(-100),
        Some(-101),
        Some(999_999_999),
        Some(-999_999_999),
        None,
        Some(1),
        Some(700),
    ];
    let dates: Vec<Option<i32>> = times()
        .into_iter()
        .map(|time| time.map(|time| time.div_euclid(DAY) as i32))
        .collect();
    let clock = [
        Some(0),
        Some(DAY - 1),
        None,
        Some(12 * HOUR),
        Some(12 * HOUR + 1),
        Some(HOUR),
    ];
    let nanos: Vec<Option<i64>> = vec![
        Some(0),
        Some(-1),
        Some(999),
        Some(1000),
        None,
        Some(SPRING * 1000),
        Some(SPRING * 1000 + 123_456_789),
        Some(SPRING * 1000 - 1),
    ];
    let texts = [
        Some(""),
        Some("a"),
        Some("A"),
        Some("ab"),
        Some("abc"),
        Some("a_c"),
        Some("a%c"),
        Some("a\\c"),
        None,
        Some("b"),
        Some("Ä"),
        Some("ä"),
        Some("äbc"),
        Some("z"),
        Some("zz "),
        Some("ab "),
        Some("🧊🧊🧊"),
        Some("\u{1}"),
        Some("\u{10ffff}"),
    ];
    let bytes: [Option<&[u8]>; 6] = [
        Some(b""),
        Some(b"\x00"),
        Some(b"ab"),
        Some(b"abc"),
        None,
        Some(b"\xff\xff"),
    ];
    let uuids: [Option<[u8; 16]>; 4] = [Some([0; 16]), Some([0x11; 16]), None, Some([0xff; 16])];
    let fixed: [Option<[u8; 4]>; 4] = [Some(*b"abcd"), Some([0; 4]), None, Some([0xff; 4])];
    let booleans = [Some(true), Some(false), None, Some(false)];
    let members = [Some(1), None, Some(2), Some(3), Some(5)];
    let nulls: Vec<bool> = cycle(&[true, true, true, false, true, true, true], file);
    let inner: ArrayRef = Arc::new(Int32Array::from(cycle(&members, file)));
    let words: ArrayRef = Arc::new(StringArray::from(cycle(
        &[Some("x"), Some("y"), None],
        file,
    )));
    let fields = vec![
        field_with_id(101, "n", inner.data_type().clone()),
        field_with_id(102, "w", words.data_type().clone()),
    ];
    let structs = StructArray::new(
        fields.into(),
        vec![inner, words],
        Some(NullBuffer::from(nulls)),
    );
    let uuid =
        FixedSizeBinaryArray::try_from_sparse_iter_with_size(cycle(&uuids, file).into_iter(), 16);
    let four =
        FixedSizeBinaryArray::try_from_sparse_iter_with_size(cycle(&fixed, file).into_iter(), 4);
    vec![
        Arc::new(Int32Array::from(ids)),
        Arc::new(Int32Array::from(cycle(&ints, file))),
        Arc::new(Int64Array::from(cycle(&longs, file))),
        Arc::new(Float32Array::from(cycle(&floats, file))),
        Arc::new(Float64Array::from(cycle(&doubles, file))),
        Arc::new(
            Decimal128Array::from(cycle(&decimals, file))
                .with_precision_and_scale(9, 2)
                .expect("the values fit"),
        ),
        Arc::new(Date32Array::from(cycle(&dates, file))),
        Arc::new(Time64MicrosecondArray::from(cycle(&clock, file))),
        Arc::new(TimestampMicrosecondArray::from(cycle(&times(), file))),
        Arc::new(TimestampMicrosecondArray::from(cycle(&times(), file)).with_timezone("UTC")),
        Arc::new(TimestampNanosecondArray::from(cycle(&nanos, file))),
        Arc::new(StringArray::from(cycle(&texts, file))),
        Arc::new(uuid.expect("16 bytes each")),
        Arc::new(four.expect("4 bytes each")),
        Arc::new(BinaryArray::from(cycle(&bytes, file))),
        Arc::new(BooleanArray::from(cycle(&booleans, file))),
        Arc::new(structs),
    ]
}

fn everything(directory: &Directory) -> std::path::PathBuf {
    let kind = json!({"type": "struct", "fields": [
        {"id": 101, "name": "n", "required": false, "type": "int"},
        {"id": 102, "name": "w", "required": false, "type": "string"},
    ]});
    let mut table = Table::new(directory.path())
        .column(1, "id", "int")
        .column(2, "i", "int")
        .column(3, "l", "long")
        .column(4, "f", "float")
        .column(5, "d", "double")
        .column(6, "n", "decimal(9, 2)")
        .column(7, "dt", "date")
        .column(8, "tm", "time")
        .column(9, "ts", "timestamp")
        .column(10, "tz", "timestamptz")
        .column(11, "ns", "timestamp_ns")
        .column(12, "s", "string")
        .column(13, "u", "uuid")
        .column(14, "fx", "fixed[4]")
        .column(15, "b", "binary")
        .column(16, "bo", "boolean")
        .typed_column(17, "st", kind);
    for file in 0..FILES {
        table = table.file(&format!("data/{file}.parquet"), columns(file));
    }
    table.write()
}

/// The table `t` with Iceberg's own types, `w` with others that hold the same, and their heap copies.
struct Tables {
    _directory: Directory,
    _database: Database,
    client: Client,
}

fn tables() -> Tables {
    tables_in("")
}

fn tables_in(database: &str) -> Tables {
    let directory = Directory::new();
    let location = everything(&directory);
    let made = Database::empty(database);
    let mut client = made.connect();
    let columns = |more: &str| format!("id int4, {more}");
    let own = "i int4, l int8, f float4, d float8, n numeric(9,2), dt date, tm time, ts timestamp, tz timestamptz, \
               ns timestamp, s text COLLATE \"C\", u uuid, fx bytea, b bytea, bo bool, st pair";
    let wide = "i numeric, l numeric(30,4), f float8, d float8, n numeric(20,5), dt date, tm time(6), ts timestamp(6), \
                tz timestamptz(6), ns timestamp, s varchar COLLATE \"C\", u id, fx bytea, b bytea, bo truth, st pair";
    client
        .batch_execute(&format!(
            "CREATE EXTENSION iceberg_fdw;
             CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw;
             CREATE TYPE pair AS (w text, n int4);
             CREATE DOMAIN id AS uuid;
             CREATE DOMAIN truth AS boolean;
             {}; {};
             CREATE TABLE t_heap AS SELECT * FROM t;
             CREATE TABLE w_heap AS SELECT * FROM w;
             SET TimeZone = 'Europe/Berlin'",
            foreign_table("t", &columns(own), &location, &[]),
            foreign_table("w", &columns(wide), &location, &[]),
        ))
        .expect("the tables can be made");
    Tables {
        _directory: directory,
        _database: made,
        client,
    }
}

/// The ids of the rows for which a condition holds, or the SQLSTATE of the error that it raises.
fn ids(client: &mut Client, table: &str, condition: &str) -> Result<Vec<String>, String> {
    let query = format!("SELECT id FROM {table} AS t WHERE {condition} ORDER BY id");
    match text_rows(client, &query) {
        Ok(rows) => Ok(rows.into_iter().flatten().flatten().collect()),
        Err(error) => {
            let error = failure::server_error::<()>(Err(error));
            Err(format!("{} {}", error.code().code(), error.message()))
        }
    }
}

/// Who checks a condition, as the plan says.
fn checked_by(client: &mut Client, table: &str, condition: &str) -> By {
    let plan = lines(
        client,
        &format!("EXPLAIN (COSTS off) SELECT id FROM {table} AS t WHERE {condition}"),
    );
    if plan
        .iter()
        .any(|line| line.trim_start().starts_with("Filter:"))
    {
        Postgres
    } else {
        Reader
    }
}

fn same(client: &mut Client, table: &str, condition: &str) {
    let wanted = ids(client, &format!("{table}_heap"), condition);
    let rows = ids(client, table, condition);
    assert_eq!(rows, wanted, "{table}: {condition}");
}

/// A condition, its negation and its tests for each truth value give the same rows as on the heap copy.
fn check(client: &mut Client, table: &str, by: By, condition: &str) {
    assert_eq!(
        checked_by(client, table, condition),
        by,
        "{table}: {condition}"
    );
    for form in [
        condition.to_owned(),
        format!("NOT ({condition})"),
        format!("({condition}) IS NULL"),
        format!("({condition}) IS NOT TRUE"),
        format!("({condition}) IS NOT FALSE"),
        format!("({condition}) IS FALSE"),
        format!("({condition}) IS NOT UNKNOWN"),
        format!("({condition}) AND id > 20 OR i = 7 AND ({condition}) IS UNKNOWN"),
        format!("NOT (id % 3 = 1 OR NOT ({condition}))"),
    ] {
        same(client, table, &form);
    }
}

fn check_all(client: &mut Client, table: &str, by: By, conditions: &[&str]) {
    for condition in conditions {
        check(client, table, by, condition);
    }
}

/// All six comparisons with each constant, on both sides.
fn check_constants(client: &mut Client, table: &str, by: By, column: &str, constants: &[&str]) {
    for constant in constants {
        for operator in ["=", "<>", "<", "<=", ">", ">="] {
            let condition = format!("{column} {operator} {constant}");
            assert_eq!(
                checked_by(client, table, &condition),
                by,
                "{table}: {condition}"
            );
            same(client, table, &condition);
            same(client, table, &format!("NOT {condition}"));
            same(client, table, &format!("{constant} {operator} {column}"));
        }
        same(client, table, &format!("({column} < {constant}) IS NULL"));
        for condition in [
            format!("{column} IS DISTINCT FROM {constant}"),
            format!("{constant} IS NOT DISTINCT FROM {column}"),
        ] {
            same(client, table, &condition);
        }
    }
}

fn integers_compare_to_numbers_of_every_type() {
    let mut t = tables();
    let ints = [
        "0",
        "7",
        "-1",
        "2147483647",
        "(-2147483648)",
        "7::int2",
        "2147483648",
        "10000000000::int8",
        "(-9223372036854775808)::int8",
        "7.0",
        "7.5",
        "-0.5",
        "1e40::numeric",
        "'NaN'::numeric",
        "'-1e40'::numeric",
        "7.5::float8",
        "'NaN'::float8",
        "'-Infinity'::float8",
        "7::float4",
        "2147483647::float4",
    ];
    check_constants(&mut t.client, "t", Reader, "i", &ints);
    let longs = [
        "7",
        "7::int2",
        "9007199254740993",
        "9007199254740992::float8",
        "9007199254740993.5",
        "9223372036854775807",
        "9223372036854775808",
        "9223372036854775807::float8",
        "9223372036854775807::float4",
        "'Infinity'::float8",
        "2147483648",
    ];
    check_constants(&mut t.client, "t", Reader, "l", &longs);
    check_constants(
        &mut t.client,
        "w",
        Reader,
        "i",
        &["7", "7.0000", "7.5", "'NaN'", "2147483648", "7::float8"],
    );
    check_constants(
        &mut t.client,
        "w",
        Reader,
        "l",
        &["7.00005", "7", "9223372036854775807", "1e100", "7::float4"],
    );
}

fn infinite_numerics_are_beyond_every_number() {
    let mut t = tables();
    for column in ["i", "l", "n"] {
        check_constants(
            &mut t.client,
            "t",
            Reader,
            column,
            &["'Infinity'::numeric", "'-Infinity'::numeric"],
        );
    }
}

fn decimals_compare_to_constants_with_more_digits() {
    let mut t = tables();
    let constants = [
        "1.00",
        "1.005",
        "1.0",
        "1",
        "-1.005",
        "1.01",
        "-1.01",
        "0",
        "9999999.99",
        "9999999.995",
        "10000000",
        "-10000000.00001",
        "'NaN'",
        "1e-30",
        "7::int2",
        "7::int8",
        "7::float8",
        "1.01::float8",
        "1.01::float4",
    ];
    check_constants(&mut t.client, "t", Reader, "n", &constants);
    check_constants(&mut t.client, "w", Reader, "n", &constants);
}

fn decimals_have_as_many_digits_as_there_can_be() {
    let directory = Directory::new();
    let greatest = 10_i128.pow(38) - 1;
    let values = [Some(greatest), Some(-greatest), Some(0), None, Some(1)];
    let column = |scale| -> ArrayRef {
        let values = Decimal128Array::from(values.to_vec());
        let fitting = values.with_precision_and_scale(38, scale);
        Arc::new(fitting.expect("the values fit"))
    };
    let ids = Int32Array::from(vec![1, 2, 3, 4, 5]);
    let location = Table::new(directory.path())
        .column(1, "id", "int")
        .column(2, "whole", "decimal(38, 0)")
        .column(3, "part", "decimal(38, 38)")
        .file("data/a.parquet", vec![Arc::new(ids), column(0), column(38)])
        .write();
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&format!(
            "{}; CREATE TABLE t_heap AS SELECT * FROM t",
            foreign_table(
                "t",
                "id int, whole numeric(38,0), part numeric(38,38)",
                &location,
                &[]
            )
        ))
        .expect("the table can be made");
    let constants = [
        "0",
        "1",
        "0.5",
        "99999999999999999999999999999999999999",
        "-99999999999999999999999999999999999999",
        "-99999999999999999999999999999999999999.5",
        "1e38",
        "1e39",
        "-1e60",
        "0.99999999999999999999999999999999999999",
        "1e-38",
        "1e-39",
        "1e38::float8",
        "'NaN'",
    ];
    for column in ["whole", "part"] {
        check_constants(&mut client, "t", Reader, column, &constants);
    }
}

fn floating_point_numbers_have_postgres_order() {
    let mut t = tables();
    let constants = [
        "0",
        "'-0'::float8",
        "'NaN'::float8",
        "'Infinity'::float8",
        "'-Infinity'::float8",
        "1.5",
        "0.1",
        "0.1::float4",
        "1e300",
        "1e39::float8",
        "'NaN'::float4",
        "7",
        "16777217::float8",
        "3.4028234663852886e38::float8",
        "3.5e38::float8",
    ];
    for (table, column) in [("t", "f"), ("t", "d"), ("w", "f"), ("w", "d")] {
        check_constants(&mut t.client, table, Reader, column, &constants);
    }
    check_all(
        &mut t.client,
        "t",
        Reader,
        &[
            "d > 1e300",
            "d >= 'NaN'",
            "f IN (0.1, 'NaN', 7)",
            "d NOT IN (0, 7)",
        ],
    );
}

fn dates_and_times_compare_across_types() {
    let mut t = tables();
    let without_zone = [
        "'2025-03-30'::date",
        "'infinity'::date",
        "'-infinity'::timestamp",
        "'2025-03-30 00:00:00.000001'::timestamp",
        "'2025-03-29 23:59:59.999999'::timestamp",
        "'1969-12-31 23:59:59.999999'::timestamp",
        "'0001-01-01 BC'::date",
        "'0001-01-01'::timestamp",
        "'9999-12-31'::date",
        "'5874897-12-31'::date",
        "'294276-12-31'::timestamp",
    ];
    for column in ["dt", "ts", "ns"] {
        check_constants(&mut t.client, "t", Reader, column, &without_zone);
    }
    let with_zone = [
        "'2025-03-30'::timestamptz",
        "'2025-03-30 01:00+00'::timestamptz",
        "'infinity'::timestamptz",
        "'1969-12-31 23:59:59.999999+00'::timestamptz",
        "'9999-12-31 23:59:59+00'::timestamptz",
    ];
    check_constants(&mut t.client, "t", Reader, "tz", &with_zone);
    check_constants(&mut t.client, "t", Reader, "tz", &without_zone);
    for column in ["dt", "ts", "ns"] {
        check_constants(&mut t.client, "t", Postgres, column, &with_zone);
    }
    check_constants(
        &mut t.client,
        "t",
        Reader,
        "tm",
        &[
            "'00:00'",
            "'12:00:00.000001'",
            "'24:00'",
            "'23:59:59.999999'",
        ],
    );
    check_constants(&mut t.client, "w", Reader, "tz", &["'2025-03-30'"]);
}

fn the_sessions_time_zone_does_not_move_rows() {
    let mut t = tables();
    for zone in [
        "UTC",
        "Asia/Kolkata",
        "America/Los_Angeles",
        "America/Sao_Paulo",
        "Pacific/Apia",
        "Pacific/Kiritimati",
    ] {
        t.client
            .batch_execute(&format!("SET TimeZone = '{zone}'"))
            .expect("a time zone can be set");
        for condition in [
            "tz >= '2025-03-30'",
            "tz < '2025-03-30'::date",
            "tz = '2025-03-30'::timestamp",
            "tz BETWEEN '2025-03-29' AND '2025-03-30'",
            "ts > '2025-03-30'::timestamptz",
            "ts = '2025-03-30 00:00+00'::timestamptz",
            "dt <= '2025-03-30'::timestamptz",
            "dt = '2025-03-30'::timestamptz",
            "tz::date = '2025-03-30'",
            "tz::date <> '2025-03-30'",
            "tz::date IN ('2025-03-30', '2025-01-01', '1970-01-01')",
            "tz::timestamp >= '2025-03-30'",
            "ts::timestamptz < '2025-03-30'",
            "date_trunc('day', tz) = '2025-03-30'",
            "date_trunc('month', tz) <= '2025-03-01'",
            "date_trunc('year', tz) > '2024-01-01'",
            "date_trunc('hour', tz, 'Asia/Tokyo') >= '2025-03-30'",
            "date_trunc('month', dt) = '2025-03-01'",
            "extract(year FROM tz) = 2025",
            "extract(year FROM tz) < 1",
            "date_part('year', tz) >= 2025",
            "extract(epoch FROM tz) < 0",
            "tz AT TIME ZONE 'UTC' = '2025-03-30'",
            "(tz AT TIME ZONE 'America/New_York')::date = '2025-03-29'",
            "iceberg.day(tz) = '2025-03-30'",
            "iceberg.hour(tz) = -1",
            "iceberg.month(tz) = 662",
        ] {
            same(&mut t.client, "t", condition);
            same(&mut t.client, "t", &format!("NOT ({condition})"));
            same(&mut t.client, "t", &format!("({condition}) IS NULL"));
        }
    }
}

fn functions_of_times_that_keep_their_order() {
    let mut t = tables();
    check_all(
        &mut t.client,
        "t",
        Reader,
        &[
            "ts::date = '2025-03-30'",
            "ts::date >= '2025-03-30'::timestamp",
            "ts::date IN ('2025-03-30', '1969-12-31')",
            "date_trunc('day', ts) = '2025-03-30'",
            "date_trunc('day', ts) = '2025-03-30 00:00:01'",
            "date_trunc('week', ts) = '2025-03-24'",
            "date_trunc('month', ts) < '2025-03-01'",
            "date_trunc('quarter', ts) = '2025-01-01'",
            "date_trunc('YEAR', ts) = '2025-01-01'",
            "date_trunc('millisecond', ts) = '1969-12-31 23:59:59.999'",
            "date_trunc('second', ns) = '2025-03-30'",
            "extract(year FROM ts) = 2025",
            "extract(year FROM ts) > 2024.5",
            "extract(year FROM ts) IN (1970, 2025, -1)",
            "extract(year FROM ts) = 0",
            "extract(year FROM dt) <= -1",
            "extract(year FROM ns) = 1969",
            "extract(epoch FROM ts) >= 0",
            "extract(epoch FROM ts) = -0.000001",
            "extract(epoch FROM dt) = 0",
            "extract(epoch FROM tz) <= -0.0000005",
            "date_part('year', ts) = 2025",
            "date_part('year', ts) = 2025.5",
            "date_part('year', ts) < 'NaN'",
            "date_part('year', ts) <> ALL ('{2025,1969}')",
        ],
    );
    check_all(
        &mut t.client,
        "t",
        Postgres,
        &[
            "date_trunc('decade', ts) = '2020-01-01'",
            "extract(month FROM ts) = 3",
            "date_part('epoch', ts) > 0",
            "ts + interval '1 day' > '2025-03-30'",
            "dt + 1 = '2025-03-30'",
            "date_part('year', dt) = 2025",
        ],
    );
    same(
        &mut t.client,
        "t",
        "date_trunc('parsec', ts) = '2020-01-01'",
    );
    same(&mut t.client, "t", "date_trunc(NULL, ts) IS NULL");
}

fn transforms_of_iceberg() {
    let mut t = tables();
    check_all(
        &mut t.client,
        "t",
        Reader,
        &[
            "iceberg.year(ts) = 55",
            "iceberg.year(ts) < 0",
            "iceberg.year(dt) IN (-1, 0, 55)",
            "iceberg.month(ts) = -1",
            "iceberg.month(dt) >= 662",
            "iceberg.day(ts) = '1969-12-31'",
            "iceberg.day(ns) > '1969-12-31'",
            "iceberg.day(dt) = '2025-03-30'::timestamp",
            "iceberg.year(tz) = 54",
            "iceberg.bucket(4, i) = 1",
            "iceberg.bucket(4, i) <> 1",
            "iceberg.bucket(4, i) > 1",
            "iceberg.bucket(4, l) IN (1, 3)",
            "iceberg.bucket(4, n) = 2",
            "iceberg.bucket(4, dt) = 2",
            "iceberg.bucket(4, tm) = 2",
            "iceberg.bucket(4, ts) = 3",
            "iceberg.bucket(4, tz) = 3",
            "iceberg.bucket(4, ns) = 3",
            "iceberg.bucket(4, s) = 0",
            "iceberg.bucket(4, u) = 0",
            "iceberg.bucket(4, fx) = 0",
            "iceberg.bucket(4, b) = 0",
            "iceberg.bucket(4, s) = 10",
            "iceberg.bucket(4, s) >= 0.5",
            "iceberg.truncate(2, s) = 'ab'",
            "iceberg.truncate(2, s) = 'a'",
            "iceberg.truncate(2, s) = 'abc'",
            "iceberg.truncate(1, s) IN ('a', 'ä', '🧊')",
            "iceberg.truncate(1, s) <> ALL ('{a,z}')",
            "iceberg.truncate(2, b) = 'ab'",
        ],
    );
    check_all(
        &mut t.client,
        "t",
        Postgres,
        &[
            "iceberg.truncate(10, i % 1000) = 0",
            "iceberg.truncate(1, s) > 'a'",
        ],
    );
    // The lowest numbers have no multiple below them, the first hours no number.
    for condition in [
        "i > -2147483640 AND iceberg.truncate(10, i) = -10",
        "iceberg.truncate(10, i) = -10",
        "l > 0 AND iceberg.truncate(10, l) >= 0",
        "iceberg.truncate(50, n) = 1.00",
        "iceberg.truncate(50, n) <= -1.00",
        "iceberg.hour(ts) = -1",
        "iceberg.hour(ts) > 400000",
    ] {
        let safe = format!("(CASE WHEN i > -2147483640 THEN true ELSE false END) AND {condition}");
        same(&mut t.client, "t", &safe);
    }
    // What these are in Postgres is not what the table's own values have.
    check_all(
        &mut t.client,
        "w",
        Postgres,
        &["iceberg.bucket(4, i) = 1", "iceberg.bucket(4, n) = 2"],
    );
    check(&mut t.client, "w", Reader, "iceberg.bucket(4, s) = 1");
}

fn rows_that_raise_errors_are_never_left_out() {
    let directory = Directory::new();
    // The last hour that an integer holds, and the one after; 294000 AD; 500000 AD.
    let last = (i64::from(i32::MAX) + 1) * HOUR;
    let stamps = [Some(0), Some(last - 1), Some(last), None];
    let dates = [Some(0), Some(106_000_000), Some(182_000_000), None];
    let ints = [Some(0), Some(i32::MIN), Some(i32::MAX), None];
    let array = |values: [Option<i64>; 4]| TimestampMicrosecondArray::from(values.to_vec());
    let location = Table::new(directory.path())
        .column(1, "id", "int")
        .column(2, "ts", "timestamp")
        .column(3, "dt", "date")
        .column(4, "i", "int")
        .file(
            "data/a.parquet",
            vec![
                Arc::new(Int32Array::from(vec![1, 2, 3, 4])),
                Arc::new(array(stamps)),
                Arc::new(Date32Array::from(dates.to_vec())),
                Arc::new(Int32Array::from(ints.to_vec())),
            ],
        )
        .write();
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&format!(
            "{}; CREATE TABLE t_heap AS SELECT * FROM t",
            foreign_table("t", "id int, ts timestamp, dt date, i int", &location, &[])
        ))
        .expect("the table can be made");
    for expression in [
        "iceberg.hour(ts) = 0",
        "dt::timestamp = '1970-01-01'",
        "date_trunc('year', dt) = '1970-01-01'",
        "iceberg.truncate(10, i) = 0",
        "iceberg.truncate(10, i) IN (0, 2147483640)",
        "iceberg.hour(ts) IS DISTINCT FROM 7",
        "iceberg.hour(ts) IS NULL",
        "iceberg.hour(ts) < ANY ('{1,2}')",
        "(iceberg.hour(ts), i) < (1, 2)",
    ] {
        for condition in [
            expression.to_owned(),
            format!("NOT ({expression})"),
            format!("({expression}) IS NULL"),
        ] {
            assert!(
                ids(&mut client, "t_heap", &condition).is_err(),
                "{condition}"
            );
            same(&mut client, "t", &condition);
        }
    }
}

fn transforms_are_those_of_the_specification() {
    let database = Database::new();
    let mut client = database.connect();
    // Appendix B: bucket is (hash & 2147483647) % N.
    for (value, hash) in [
        ("34", 2_017_239_379_i64),
        ("34::bigint", 2_017_239_379),
        ("14.20", -500_754_589),
        ("date '2017-11-16'", -653_330_422),
        ("time '22:31:08'", -662_762_989),
        ("timestamp '2017-11-16 22:31:08'", -2_047_944_441),
        ("timestamp '2017-11-16 22:31:08.000001'", -1_207_196_810),
        ("timestamptz '2017-11-16 14:31:08-08'", -2_047_944_441),
        ("'iceberg'::text", 1_210_000_089),
        ("uuid 'f79c3e09-677c-4bbd-a479-3f349cb785e7'", 1_488_055_340),
        ("'\\x00010203'::bytea", -188_683_207),
    ] {
        let bucket = (hash & 0x7fff_ffff) % 1000;
        assert_eq!(
            lines(
                &mut client,
                &format!("SELECT iceberg.bucket(1000, {value})")
            ),
            [bucket.to_string()],
            "{value}"
        );
    }
    // "Truncate Transform Details"
    for (call, wanted) in [
        ("iceberg.truncate(10, 1)", "0"),
        ("iceberg.truncate(10, -1)", "-10"),
        ("iceberg.truncate(10, 1::bigint)", "0"),
        ("iceberg.truncate(50, 10.65)", "10.50"),
        ("iceberg.truncate(3, 'iceberg'::text)", "ice"),
        ("iceberg.truncate(3, '\\x0102030405'::bytea)", "\\x010203"),
        ("iceberg.year(date '1969-12-31')", "-1"),
        ("iceberg.month(timestamp '1969-12-31 22:00')", "-1"),
        ("iceberg.day(timestamp '1969-12-31 22:00')", "1969-12-31"),
        ("iceberg.hour(timestamp '1969-12-31 22:00')", "-2"),
        ("iceberg.hour(timestamptz '1970-01-01 00:30+01')", "-1"),
        ("iceberg.year(NULL::date) IS NULL", "t"),
    ] {
        assert_eq!(
            lines(&mut client, &format!("SELECT {call}")),
            [wanted],
            "{call}"
        );
    }
    for (call, state) in [
        ("iceberg.bucket(0, 1)", "22023"),
        ("iceberg.truncate(-1, 1)", "22023"),
        ("iceberg.truncate(10, (-2147483648)::int)", "22003"),
        ("iceberg.year('infinity'::date)", "22003"),
        ("iceberg.day('-infinity'::timestamptz)", "22003"),
        ("iceberg.bucket(4, 'NaN'::numeric)", "22003"),
    ] {
        failure::expect(
            client.simple_query(&format!("SELECT {call}")),
            &[state],
            &[],
        );
    }
}

fn texts_under_the_c_collation() {
    let mut t = tables();
    let constants = [
        "''",
        "'a'",
        "'ab'",
        "'ab '",
        "'Ä'",
        "'zzz'",
        "'\u{10ffff}'",
        "'x'::name",
    ];
    for table in ["t", "w"] {
        check_constants(&mut t.client, table, Reader, "s", &constants);
    }
    check_all(
        &mut t.client,
        "t",
        Reader,
        &[
            "s ~<~ 'b'",
            "s ~>=~ 'ä'",
            "s BETWEEN 'a' AND 'b'",
            "s = 'ab '::char(5)",
            "s = ANY ('{a,ab,NULL}')",
            "s COLLATE \"POSIX\" > 'a'",
            "s COLLATE ucs_basic > 'a'",
        ],
    );
    check_all(
        &mut t.client,
        "t",
        Postgres,
        &[
            "s::char(10) = 'ab'",
            "s::bpchar = 'ab'",
            "s::bpchar <> 'ab'",
            "s::bpchar = ''",
            "s::bpchar < 'b'",
            "upper(s) = 'A'",
            "s ILIKE 'a%'",
            "s ~ '^a'",
            "length(s) = 2",
        ],
    );
}

fn texts_under_other_collations_are_equal_but_not_ordered() {
    let mut t = tables();
    t.client
        .batch_execute(
            "CREATE COLLATION german (provider = icu, locale = 'de');
             CREATE COLLATION insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        )
        .expect("collations can be made");
    check_all(
        &mut t.client,
        "t",
        Reader,
        &[
            "s COLLATE german = 'a'",
            "s COLLATE german <> 'ä'",
            "s COLLATE german IN ('a', 'A', 'ä')",
            "s COLLATE german LIKE 'a%'",
        ],
    );
    check_all(
        &mut t.client,
        "t",
        Postgres,
        &[
            "s COLLATE german < 'b'",
            "s COLLATE german > 'A'",
            "s COLLATE insensitive = 'A'",
            "s COLLATE insensitive <> 'a'",
            "s COLLATE insensitive IN ('A', 'b')",
            "s COLLATE insensitive > 'a'",
            "iceberg.truncate(1, s) COLLATE insensitive = 'A'",
        ],
    );
    t.client
        .batch_execute("ALTER FOREIGN TABLE t ALTER s TYPE text COLLATE german; ALTER TABLE t_heap ALTER s TYPE text COLLATE german")
        .expect("a column can get another collation");
    check(&mut t.client, "t", Postgres, "s < 'b'");
    check(&mut t.client, "t", Reader, "s COLLATE \"C\" < 'b'");
    check(&mut t.client, "t", Reader, "s = 'ä'");
}

fn like_is_a_prefix_up_to_the_first_wildcard() {
    let mut t = tables();
    for table in ["t", "w"] {
        check_all(
            &mut t.client,
            table,
            Reader,
            &[
                "s LIKE 'a%'",
                "s NOT LIKE 'a%'",
                "s LIKE 'ab%%'",
                "s LIKE 'abc'",
                "s LIKE '%'",
                "s LIKE ''",
                "s LIKE 'a\\_c'",
                "s LIKE 'a\\%%'",
                "s LIKE 'a\\\\%'",
                "s LIKE 'a!_c' ESCAPE '!'",
                "s LIKE 'ä%'",
                "s LIKE NULL",
                "starts_with(s, 'a')",
                "NOT starts_with(s, 'ä')",
                "starts_with(s, '')",
            ],
        );
        check_all(
            &mut t.client,
            table,
            Postgres,
            &[
                "s LIKE 'a_c%'",
                "s LIKE 'a_c'",
                "s NOT LIKE 'a_c'",
                "s LIKE '%c'",
                "s LIKE 'a%c'",
                "s NOT LIKE 'a%c'",
                "s LIKE '_'",
                "'abc' LIKE s",
                "s LIKE ANY ('{a%,%c}')",
            ],
        );
        check(&mut t.client, table, Reader, "s LIKE ANY ('{a%,z%}')");
        check(&mut t.client, table, Reader, "s NOT LIKE ALL ('{a%,z%}')");
        // A pattern that ends with the escape is a fault, where a text is compared so far.
        same(&mut t.client, table, "s LIKE 'q\\'");
        same(&mut t.client, table, "s LIKE 'a\\'");
    }
    check(&mut t.client, "t", Reader, "s ^@ 'ab'");
    check(&mut t.client, "t", Reader, "b LIKE 'ab%'");
    check(&mut t.client, "t", Postgres, "b LIKE 'a_'");
}

fn bytes_uuids_and_booleans() {
    let mut t = tables();
    check_constants(
        &mut t.client,
        "t",
        Reader,
        "b",
        &[
            "''::bytea",
            "'\\x00'::bytea",
            "'ab'::bytea",
            "'\\xffff00'::bytea",
        ],
    );
    check_constants(
        &mut t.client,
        "t",
        Reader,
        "fx",
        &[
            "'abcd'::bytea",
            "'ab'::bytea",
            "'abcde'::bytea",
            "'\\x00000000'::bytea",
        ],
    );
    let uuids = [
        "'11111111-1111-1111-1111-111111111111'",
        "'00000000-0000-0000-0000-000000000000'",
        "'22222222-1111-1111-1111-111111111111'",
    ];
    for table in ["t", "w"] {
        check_constants(&mut t.client, table, Reader, "u", &uuids);
        check_all(
            &mut t.client,
            table,
            Reader,
            &[
                "bo",
                "NOT bo",
                "bo IS TRUE",
                "bo IS NOT TRUE",
                "bo IS FALSE",
                "bo IS UNKNOWN",
                "bo = true",
                "bo <> true",
                "bo > false",
                "bo <= false",
                "bo IN (true, NULL)",
                "bo IS DISTINCT FROM true",
                "bo IS NULL",
            ],
        );
    }
}

fn lists_of_constants() {
    let mut t = tables();
    check_all(
        &mut t.client,
        "t",
        Reader,
        &[
            "i IN (0, 7, 1000)",
            "i NOT IN (0, 7, 1000)",
            "i IN (7, NULL)",
            "i NOT IN (7, NULL)",
            "i = ANY ('{}'::int[])",
            "i <> ALL ('{}'::int[])",
            "i = ANY (NULL::int[])",
            "i <> ALL (NULL::int[])",
            "i = ANY ('{NULL}'::int[])",
            "i <> ALL ('{NULL}'::int[])",
            "i = ANY ('{{1,7},{9,10}}'::int[])",
            "i IN (7, 10000000000)",
            "i = ANY ('{10000000000}'::int8[])",
            "i <> ANY ('{7,8}'::int[])",
            "i <> ANY ('{7,NULL}'::int[])",
            "i = ALL ('{7}'::int[])",
            "i = ALL ('{7,8}'::int[])",
            "i < ANY ('{7,0,NULL}'::int[])",
            "i <= ALL ('{7,1000}'::int[])",
            "i > ALL ('{}'::int[])",
            "n IN (1, 1.005, 7)",
            "n NOT IN (1.005, 1.01)",
            "n = ANY ('{1.005}'::numeric[])",
            "ns = ANY ('{1970-01-01,2025-03-30}'::timestamp[])",
            "ns <> ALL ('{1970-01-01,NULL}'::timestamp[])",
            "d IN ('NaN', '-0')",
            "l = ANY ('{9007199254740992,7}'::float8[])",
            "ts::date = ANY ('{2025-03-30,2025-01-01}'::date[])",
        ],
    );
    check_all(
        &mut t.client,
        "t",
        Postgres,
        &["i = ANY (ARRAY[id, 7])", "7 = ANY (ARRAY[i, id])"],
    );
}

fn nulls_and_nested_logic() {
    let mut t = tables();
    check_all(
        &mut t.client,
        "t",
        Reader,
        &[
            "i IS NULL",
            "i IS NOT NULL AND s IS NULL",
            "i = NULL",
            "NULL::int < i",
            "i IS DISTINCT FROM NULL",
            "i IS DISTINCT FROM 7",
            "i IS NOT DISTINCT FROM 7",
            "n IS DISTINCT FROM 1.005",
            "d IS DISTINCT FROM 'NaN'",
            "i BETWEEN 0 AND 10",
            "i NOT BETWEEN SYMMETRIC 10 AND 0",
            "(i > 0) IS NULL",
            "(i > 0) IS NOT NULL",
            "(i > 0 OR s = 'a') IS UNKNOWN",
            "(i > 0 AND s = 'a') IS NOT UNKNOWN",
            "NOT ((i > 0 AND NOT (s = 'a' OR bo)) OR (l < 0 AND d = 'NaN'))",
            "((i > 0) IS NOT TRUE AND (bo IS FALSE OR s IS NULL)) IS NOT TRUE",
            "(i, l) < (7, 9007199254740993)",
            "(i, l) >= (7, 7)",
            "(i, n, s) <= (7, 1.005, 'a')",
            "(7, 'a') > (i, s)",
            "(i, l) < (7, NULL)",
            "(i, l) > (NULL, 7)",
            "(i, s) = (7, 'a')",
            "(i, s) <> (7, 'a')",
            "i > 0 OR true = false",
            "(st).n = 1",
            "(st).n IS NULL",
            "(st).w COLLATE \"C\" > 'x'",
            "(st).w IN ('x', 'q')",
            "(st).n < 3 AND (st).w LIKE 'x%'",
        ],
    );
    check_all(
        &mut t.client,
        "t",
        Postgres,
        &[
            "st IS NULL",
            "st IS NOT NULL",
            "st = ROW('x', 1)::pair",
            "COALESCE(i, 0) = 0",
            "CASE WHEN i > 0 THEN bo ELSE true END",
            "i = id",
            "i > random() * 0 - 5",
            "(i, id) < (7, id + 1)",
            "i + 1 = 8",
            "i::text = '7'",
            "n::int = 1",
            "n::numeric(8,1) = 1.0",
        ],
    );
}

fn operators_of_others_are_left_to_postgres() {
    let mut t = tables();
    t.client
        .batch_execute(
            "CREATE FUNCTION odd_equal(int, int) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT $1 % 2 = $2 % 2';
             CREATE OPERATOR public.= (FUNCTION = odd_equal, LEFTARG = int, RIGHTARG = int);
             CREATE FUNCTION mine(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END'",
        )
        .expect("functions can be made");
    check_all(
        &mut t.client,
        "t",
        Postgres,
        &["i OPERATOR(public.=) 7", "mine(i) = 7"],
    );
}

fn parameters_of_generic_plans() {
    let mut t = tables();
    t.client
        .batch_execute("SET plan_cache_mode = force_generic_plan")
        .expect("a setting can be set");
    for (types, condition, by, values) in [
        ("int8", "i = $1", Reader, vec!["7", "NULL", "10000000000"]),
        (
            "int8",
            "i < $1 OR $1 IS NULL",
            Reader,
            vec!["7", "NULL", "10000000000", "-10000000000"],
        ),
        (
            "numeric",
            "n <= $1",
            Reader,
            vec!["1.005", "NULL", "'NaN'", "1e50", "-1e50"],
        ),
        (
            "numeric",
            "n IS DISTINCT FROM $1",
            Reader,
            vec!["1.005", "NULL", "1.01"],
        ),
        (
            "int[]",
            "i = ANY ($1)",
            Reader,
            vec!["'{7,0}'", "'{}'", "NULL", "'{7,NULL}'"],
        ),
        (
            "int[]",
            "i <> ALL ($1)",
            Reader,
            vec!["'{7,0}'", "'{}'", "NULL", "'{7,NULL}'"],
        ),
        (
            "int[]",
            "(i = ANY ($1)) IS NOT TRUE",
            Reader,
            vec!["'{7,0}'", "'{}'", "NULL"],
        ),
        (
            "text",
            "s LIKE $1",
            Postgres,
            vec!["'a%'", "'a_c'", "''", "NULL", "'ab'"],
        ),
        (
            "text",
            "starts_with(s, $1)",
            Reader,
            vec!["'a'", "''", "NULL"],
        ),
        ("text", "s >= $1", Reader, vec!["'a'", "''", "NULL", "'Ä'"]),
        (
            "float8",
            "f = $1",
            Reader,
            vec!["0.1", "'NaN'", "NULL", "'-0'"],
        ),
        (
            "date",
            "tz >= $1",
            Reader,
            vec!["'2025-03-30'", "'infinity'", "NULL"],
        ),
        (
            "timestamptz",
            "dt >= $1",
            Postgres,
            vec!["'2025-03-30'", "'infinity'", "NULL"],
        ),
        (
            "boolean",
            "$1 OR i = 7",
            Reader,
            vec!["true", "false", "NULL"],
        ),
        (
            "boolean",
            "NOT ($1 AND i = 7)",
            Reader,
            vec!["true", "false", "NULL"],
        ),
        ("int", "$1 = 0 OR 100 / $1 > i", Reader, vec!["0", "10"]),
        ("int", "($1, 5) > (i, l)", Reader, vec!["0", "10", "NULL"]),
        (
            "text",
            "date_trunc($1, ts) = '2025-03-01'",
            Postgres,
            vec!["'month'", "'day'", "NULL"],
        ),
        (
            "int",
            "iceberg.bucket($1, i) = 1",
            Postgres,
            vec!["4", "16"],
        ),
        (
            "int",
            "iceberg.bucket(4, i) = $1",
            Reader,
            vec!["1", "9", "NULL"],
        ),
    ] {
        for table in ["t", "t_heap"] {
            t.client
                .batch_execute(&format!(
                    "PREPARE q_{table}({types}) AS SELECT id FROM {table} WHERE {condition} ORDER BY id"
                ))
                .expect("a statement can be prepared");
        }
        for value in values {
            let wanted = lines(&mut t.client, &format!("EXECUTE q_t_heap({value})"));
            let rows = lines(&mut t.client, &format!("EXECUTE q_t({value})"));
            assert_eq!(rows, wanted, "{condition} with {value}");
            let plan = lines(
                &mut t.client,
                &format!("EXPLAIN (COSTS off) EXECUTE q_t({value})"),
            );
            let has_filter = plan
                .iter()
                .any(|line| line.trim_start().starts_with("Filter:"));
            assert_eq!(has_filter, by == Postgres, "{condition}: {plan:?}");
        }
        t.client
            .batch_execute("DEALLOCATE ALL")
            .expect("statements can be dropped");
    }
}

fn stable_expressions_are_evaluated_when_a_scan_begins() {
    let mut t = tables();
    t.client
        .batch_execute("CREATE FUNCTION seven() RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN current_setting(''my.seven'')::int; END'; SET my.seven = 7")
        .expect("a function can be made");
    check_all(
        &mut t.client,
        "t",
        Reader,
        &[
            "tz < now()",
            "tz > now() - interval '2000 years'",
            "tz >= current_date - 100000",
            "dt < current_date",
            "ts < localtimestamp",
            "i = seven()",
            "i IN (seven(), 0)",
            "s = current_user::text",
        ],
    );
    t.client
        .batch_execute("SET plan_cache_mode = force_generic_plan; PREPARE q AS SELECT count(*) FROM t WHERE i = seven(); PREPARE z AS SELECT count(*) FROM t WHERE tz = '2025-03-30'::date")
        .expect("statements can be prepared");
    let count = |client: &mut Client, condition: &str| {
        lines(
            client,
            &format!("SELECT count(*) FROM t_heap WHERE {condition}"),
        )
    };
    assert_eq!(
        lines(&mut t.client, "EXECUTE q"),
        count(&mut t.client, "i = 7")
    );
    t.client
        .batch_execute("SET my.seven = 10")
        .expect("a setting can be set");
    assert_eq!(
        lines(&mut t.client, "EXECUTE q"),
        count(&mut t.client, "i = 10")
    );
    // A plan that is kept sees the time zone as it is by then.
    let in_berlin = lines(&mut t.client, "EXECUTE z");
    t.client
        .batch_execute("SET TimeZone = 'UTC'")
        .expect("a time zone can be set");
    let in_utc = lines(&mut t.client, "EXECUTE z");
    assert_ne!(in_berlin, in_utc);
    assert_eq!(in_utc, count(&mut t.client, "tz = '2025-03-30 00:00+00'"));
}

fn values_of_other_relations_and_subqueries() {
    let mut t = tables();
    for query in [
        "SELECT o.x, (SELECT count(*) FROM TABLE WHERE i <= o.x) FROM (VALUES (1), (7), (NULL), (1000)) o(x)",
        "SELECT o.x, l.id FROM (VALUES (1), (7), (NULL)) o(x), LATERAL (SELECT id FROM TABLE WHERE i = o.x OR n = o.x ORDER BY id LIMIT 3) l ORDER BY 1, 2",
        "SELECT count(*) FROM TABLE WHERE i = (SELECT max(i) FROM t_heap WHERE i < 10)",
        "SELECT count(*) FROM TABLE WHERE i = (SELECT i FROM t_heap WHERE false)",
        "SELECT count(*) FROM TABLE WHERE i = ANY (ARRAY(SELECT i FROM t_heap WHERE id < 5))",
        "SELECT count(*) FROM TABLE WHERE i IN (SELECT i FROM t_heap WHERE id < 5)",
        "SELECT count(*) FROM TABLE WHERE NOT EXISTS (SELECT 1 FROM t_heap h WHERE h.i = TABLE.i AND h.id < 5)",
        "SELECT count(*) FROM TABLE a JOIN t_heap b ON a.i = b.i AND a.s = b.s WHERE b.id < 30",
        "SELECT count(*) FROM TABLE a LEFT JOIN t_heap b ON a.i = b.i AND a.id < 10 WHERE b.id IS NULL",
        "SELECT id FROM TABLE WHERE i > 0 ORDER BY id LIMIT 5 OFFSET 3",
        "WITH RECURSIVE r(x) AS (SELECT 0 UNION ALL SELECT (SELECT min(id) FROM TABLE WHERE id > r.x + 20) FROM r WHERE r.x < 100) SELECT * FROM r ORDER BY 1",
        "SELECT id, i FROM TABLE WHERE i = 7 AND s <> 'a' ORDER BY id FOR UPDATE",
        "SELECT a.id FROM TABLE a, t_heap b WHERE a.i = 7 AND b.id = a.id ORDER BY 1 FOR UPDATE OF b",
        "SELECT t FROM TABLE t WHERE t.i = 7 ORDER BY t.id",
        "SELECT count(*) FROM TABLE WHERE i = 7",
        "SELECT 1 FROM TABLE WHERE i = 7 AND s = 'a'",
    ] {
        for settings in [
            "RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material",
            "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off",
        ] {
            t.client
                .batch_execute(settings)
                .expect("settings can be set");
            let wanted = lines(&mut t.client, &query.replace("TABLE", "t_heap"));
            let rows = lines(&mut t.client, &query.replace("TABLE", "t"));
            assert_eq!(rows, wanted, "{query}");
        }
    }
}

fn variables_of_functions() {
    let mut t = tables();
    t.client
        .batch_execute(
            "CREATE FUNCTION counts(of regclass, wanted int, word text) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
             DECLARE found bigint; BEGIN
               FOR round IN 1..8 LOOP
                 IF of = 't'::regclass THEN
                   SELECT count(*) INTO found FROM t WHERE i <= wanted * round AND (s < word OR word IS NULL);
                 ELSE
                   SELECT count(*) INTO found FROM t_heap WHERE i <= wanted * round AND (s < word OR word IS NULL);
                 END IF;
                 RETURN NEXT found;
               END LOOP;
             END $$",
        )
        .expect("a function can be made");
    for arguments in ["1, 'b'", "-3, NULL", "NULL, 'a'"] {
        let wanted = lines(
            &mut t.client,
            &format!("SELECT counts('t_heap', {arguments})"),
        );
        let rows = lines(&mut t.client, &format!("SELECT counts('t', {arguments})"));
        assert_eq!(rows, wanted, "{arguments}");
    }
}

fn switches_change_who_checks_and_not_what_is_found() {
    let mut t = tables();
    for setting in [
        "enable_pushdown",
        "enable_partition_pruning",
        "enable_metrics_pruning",
        "enable_row_group_pruning",
        "enable_page_pruning",
        "enable_bloom_filters",
    ] {
        t.client
            .batch_execute(&format!("SET iceberg_fdw.{setting} = off"))
            .expect("a switch can be turned");
        for condition in [
            "i = 7",
            "s LIKE 'a%' OR n < 1.005",
            "tz::date = '2025-03-30'",
        ] {
            same(&mut t.client, "t", condition);
        }
    }
    assert_eq!(checked_by(&mut t.client, "t", "i = 7"), Postgres);
    // A plan that was made with the switch on still has the reader check.
    t.client
        .batch_execute(
            "RESET iceberg_fdw.enable_pushdown; SET plan_cache_mode = force_generic_plan;
             PREPARE q(int) AS SELECT count(*) FROM t WHERE i = $1;
             EXECUTE q(7); SET iceberg_fdw.enable_pushdown = off",
        )
        .expect("a statement can be prepared");
    assert_eq!(
        lines(&mut t.client, "EXECUTE q(7)"),
        lines(&mut t.client, "SELECT count(*) FROM t_heap WHERE i = 7")
    );
}

fn databases_in_other_encodings() {
    for encoding in ["LATIN1", "SQL_ASCII", "EUC_JP"] {
        let directory = Directory::new();
        let words = StringArray::from(vec![
            Some("a"),
            Some("København"),
            None,
            Some("zz"),
            Some("£"),
        ]);
        let words = if encoding == "EUC_JP" {
            StringArray::from(vec![Some("a"), Some("日本"), None, Some("zz"), Some("語")])
        } else {
            words
        };
        let location = Table::new(directory.path())
            .column(1, "id", "int")
            .column(2, "s", "string")
            .file(
                "data/a.parquet",
                vec![
                    Arc::new(Int32Array::from(vec![1, 2, 3, 4, 5])),
                    Arc::new(words),
                ],
            )
            .write();
        let database = Database::empty(&format!(
            "ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        ));
        let mut client = database.connect();
        client
            .batch_execute(&format!(
                "CREATE EXTENSION iceberg_fdw; CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw; {};
                 CREATE TABLE t_heap AS SELECT * FROM t",
                foreign_table("t", "id int, s text", &location, &[])
            ))
            .expect("the table can be made");
        for condition in [
            "s = 'a'",
            "s = (SELECT s FROM t_heap WHERE id = 2)",
            "s <> (SELECT s FROM t_heap WHERE id = 2)",
            "s < (SELECT s FROM t_heap WHERE id = 5)",
            "s >= (SELECT s FROM t_heap WHERE id = 2)",
            "s IN (SELECT s FROM t_heap WHERE id = 5)",
            "s = ANY (ARRAY(SELECT s FROM t_heap WHERE id IN (2, 4)))",
            "s LIKE 'K%'",
            "s LIKE (SELECT s || '%' FROM t_heap WHERE id = 5)",
            "starts_with(s, (SELECT left(s, 1) FROM t_heap WHERE id = 5))",
            "iceberg.truncate(1, s) = 'z'",
            "s > 'b'",
        ] {
            same(&mut client, "t", condition);
            same(&mut client, "t", &format!("NOT ({condition})"));
        }
        if encoding == "SQL_ASCII" {
            for condition in [
                "s = E'\\xff'",
                "s < E'\\xff'",
                "s > E'K\\xff'",
                "s LIKE E'K\\xc3%'",
            ] {
                same(&mut client, "t", condition);
                same(&mut client, "t", &format!("NOT ({condition})"));
            }
        }
    }
}

fn columns_without_values_are_null() {
    let directory = Directory::new();
    let location = Table::new(directory.path())
        .column(1, "id", "int")
        .file(
            "data/a.parquet",
            vec![Arc::new(Int32Array::from(vec![1, 2]))],
        )
        .write();
    // A column of type unknown is null in every row, and has no place in files.
    let metadata = std::fs::read_dir(location.join("metadata"))
        .expect("the table has metadata")
        .map(|entry| entry.expect("a file").path())
        .find(|path| path.to_string_lossy().ends_with(".metadata.json"))
        .expect("a metadata file");
    let text = std::fs::read_to_string(&metadata).expect("it can be read");
    let mut json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    json["format-version"] = json!(3);
    json["next-row-id"] = json!(2);
    json["last-column-id"] = json!(2);
    for schema in json["schemas"].as_array_mut().expect("schemas") {
        schema["fields"]
            .as_array_mut()
            .expect("fields")
            .push(json!({"id": 2, "name": "nothing", "required": false, "type": "unknown"}));
    }
    std::fs::write(&metadata, json.to_string()).expect("it can be written");
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&format!(
            "{}; CREATE TABLE t_heap AS SELECT * FROM t",
            foreign_table("t", "id int, nothing text", &location, &[])
        ))
        .expect("the table can be made");
    for condition in [
        "nothing IS NULL",
        "nothing IS NOT NULL",
        "nothing = 'a'",
        "NOT (nothing = 'a')",
        "(nothing = 'a') IS NULL",
        "nothing LIKE '%a'",
        "nothing IN ('a', 'b') OR id = 1",
        "nothing = ANY ('{}'::text[])",
        "NOT (nothing = ANY ('{}'::text[]))",
        "nothing IS DISTINCT FROM 'a'",
        "nothing IS DISTINCT FROM NULL",
        "starts_with(nothing, 'a') IS UNKNOWN",
    ] {
        assert_eq!(
            checked_by(&mut client, "t", condition),
            Postgres,
            "{condition}"
        );
        same(&mut client, "t", condition);
    }
}

fn domains_and_json_are_checked_when_they_are_read() {
    let mut t = tables();
    let location = lines(
        &mut t.client,
        "SELECT option_value FROM pg_options_to_table((SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 't'::regclass)) WHERE option_name = 'location'",
    );
    t.client
        .batch_execute(&format!(
            "CREATE DOMAIN small AS int CHECK (VALUE < 100);
             CREATE FOREIGN TABLE x (id int, i small, st jsonb) SERVER lake OPTIONS (location {})",
            quoted(&location[0])
        ))
        .expect("a table can be made");
    assert_eq!(checked_by(&mut t.client, "x", "i = 7"), Reader);
    assert_eq!(
        lines(
            &mut t.client,
            "SELECT count(*), min(i), max(i) FROM x WHERE i = 7"
        ),
        lines(
            &mut t.client,
            "SELECT count(*), min(i), max(i) FROM t_heap WHERE i = 7"
        )
    );
    failure::expect(
        t.client.simple_query("SELECT i FROM x WHERE i > 7"),
        &["23514"],
        &["small"],
    );
    assert_eq!(
        checked_by(&mut t.client, "x", "st @> '{\"n\": 1}'"),
        Postgres
    );
    assert_eq!(
        lines(
            &mut t.client,
            "SELECT count(*) FROM x WHERE st @> '{\"n\": 1}'"
        ),
        lines(
            &mut t.client,
            "SELECT count(*) FROM t_heap WHERE (st).n = 1"
        )
    );
    assert_eq!(
        lines(&mut t.client, "SELECT count(*) FROM x WHERE st IS NULL"),
        lines(
            &mut t.client,
            "SELECT count(*) FROM t_heap WHERE st IS NOT DISTINCT FROM NULL"
        )
    );
}

fn security_barriers_hold_back_what_may_leak() {
    let mut t = tables();
    t.client
        .batch_execute(
            "CREATE FUNCTION leaks(int) RETURNS boolean COST 0.0001 LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''saw %'', $1; RETURN true; END';
             CREATE VIEW seen WITH (security_barrier) AS SELECT * FROM t WHERE i = 7",
        )
        .expect("a view can be made");
    t._database.take_notices();
    let rows = lines(
        &mut t.client,
        "SELECT count(*) FROM seen WHERE leaks(i) AND l > 0",
    );
    let wanted = lines(
        &mut t.client,
        "SELECT count(*) FROM t_heap WHERE i = 7 AND l > 0",
    );
    assert_eq!(rows, wanted);
    let notices = t._database.take_notices();
    assert!(!notices.is_empty());
    assert!(
        notices.iter().all(|notice| notice.contains("saw 7")),
        "{notices:?}"
    );
}

fn conditions_without_end_are_left_to_postgres() {
    let mut t = tables();
    let mut condition = "i = 7".to_owned();
    for depth in 0..14 {
        condition = format!("(({condition}) IS UNKNOWN OR NOT (l > {depth} AND s <> 'q{depth}'))");
        condition = format!("(({condition}) AND (i < {depth}) IS NOT TRUE)");
    }
    same(&mut t.client, "t", &condition);
    let long: Vec<String> = (0..3000)
        .map(|number| format!("i = {number} AND l <> {number}"))
        .collect();
    same(&mut t.client, "t", &long.join(" OR "));
    let list: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    same(&mut t.client, "t", &format!("i IN ({})", list.join(",")));
    same(
        &mut t.client,
        "t",
        &format!("i NOT IN ({})", list.join(",")),
    );
}

/// Why a test of ICU's collations cannot run, if it cannot.
fn without_icu() -> Option<String> {
    // Without ICU there is still the one that Postgres itself brings, of which nothing can be made.
    let icu = "SELECT count(*) FROM pg_collation WHERE collname = 'en-x-icu'";
    let count = text_value(&mut administrator(), icu).expect("a count");
    (count.as_deref() == Some("0")).then(|| "the server is built without ICU".to_owned())
}

fn main() {
    let tests: Vec<(&str, fn())> = vec![
        (
            "integers_compare_to_numbers_of_every_type",
            integers_compare_to_numbers_of_every_type,
        ),
        (
            "infinite_numerics_are_beyond_every_number",
            infinite_numerics_are_beyond_every_number,
        ),
        (
            "decimals_compare_to_constants_with_more_digits",
            decimals_compare_to_constants_with_more_digits,
        ),
        (
            "decimals_have_as_many_digits_as_there_can_be",
            decimals_have_as_many_digits_as_there_can_be,
        ),
        (
            "floating_point_numbers_have_postgres_order",
            floating_point_numbers_have_postgres_order,
        ),
        (
            "dates_and_times_compare_across_types",
            dates_and_times_compare_across_types,
        ),
        (
            "the_sessions_time_zone_does_not_move_rows",
            the_sessions_time_zone_does_not_move_rows,
        ),
        (
            "functions_of_times_that_keep_their_order",
            functions_of_times_that_keep_their_order,
        ),
        ("transforms_of_iceberg", transforms_of_iceberg),
        (
            "rows_that_raise_errors_are_never_left_out",
            rows_that_raise_errors_are_never_left_out,
        ),
        (
            "transforms_are_those_of_the_specification",
            transforms_are_those_of_the_specification,
        ),
        ("texts_under_the_c_collation", texts_under_the_c_collation),
        (
            "like_is_a_prefix_up_to_the_first_wildcard",
            like_is_a_prefix_up_to_the_first_wildcard,
        ),
        ("bytes_uuids_and_booleans", bytes_uuids_and_booleans),
        ("lists_of_constants", lists_of_constants),
        ("nulls_and_nested_logic", nulls_and_nested_logic),
        (
            "operators_of_others_are_left_to_postgres",
            operators_of_others_are_left_to_postgres,
        ),
        ("parameters_of_generic_plans", parameters_of_generic_plans),
        (
            "stable_expressions_are_evaluated_when_a_scan_begins",
            stable_expressions_are_evaluated_when_a_scan_begins,
        ),
        (
            "values_of_other_relations_and_subqueries",
            values_of_other_relations_and_subqueries,
        ),
        ("variables_of_functions", variables_of_functions),
        (
            "switches_change_who_checks_and_not_what_is_found",
            switches_change_who_checks_and_not_what_is_found,
        ),
        ("databases_in_other_encodings", databases_in_other_encodings),
        (
            "columns_without_values_are_null",
            columns_without_values_are_null,
        ),
        (
            "domains_and_json_are_checked_when_they_are_read",
            domains_and_json_are_checked_when_they_are_read,
        ),
        (
            "security_barriers_hold_back_what_may_leak",
            security_barriers_hold_back_what_may_leak,
        ),
        (
            "conditions_without_end_are_left_to_postgres",
            conditions_without_end_are_left_to_postgres,
        ),
    ];
    let mut trials: Vec<_> = tests
        .into_iter()
        .map(|(name, test)| {
            Trial::test(name, move || {
                test();
                Ok(())
            })
        })
        .collect();
    let name = "texts_under_other_collations_are_equal_but_not_ordered";
    trials.push(match without_icu() {
        None => Trial::test(name, || {
            texts_under_other_collations_are_equal_but_not_ordered();
            Ok(())
        }),
        Some(reason) => Trial::test(name, || Ok(()))
            .with_kind(reason)
            .with_ignored_flag(true),
    });
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
