//! Which Postgres types a column of each Iceberg type may be declared with: those that lose nothing, with every value
//! intact; any other is refused by an error that names both.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int32Array, Int64Array, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampNanosecondArray,
};
use iceberg_fdw_tests::database::{Database, foreign_table, quoted, text_rows};
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::{Directory, Table};
use postgres::Client;

fn one_column(directory: &Directory, kind: &str, array: ArrayRef) -> PathBuf {
    Table::new(directory.path())
        .column(1, "v", kind)
        .file("data/values.parquet", vec![array])
        .write()
}

fn declared(client: &mut Client, declaration: &str, table: PathBuf) {
    client
        .batch_execute(&format!(
            "DROP FOREIGN TABLE IF EXISTS tested; {}",
            foreign_table("tested", &format!("v {declaration}"), table, &[])
        ))
        .expect("a table can be declared");
}

/// The values of a column under a declaration.
fn read(
    client: &mut Client,
    declaration: &str,
    kind: &str,
    array: ArrayRef,
) -> Result<Vec<Option<String>>, postgres::Error> {
    let directory = Directory::new();
    let table = one_column(&directory, kind, array);
    declared(client, declaration, table);
    let rows = text_rows(client, "SELECT v FROM tested")?;
    Ok(rows.into_iter().map(|mut row| row.swap_remove(0)).collect())
}

fn decimals(values: Vec<i128>, precision: u8, scale: i8) -> ArrayRef {
    Arc::new(
        Decimal128Array::from(values)
            .with_precision_and_scale(precision, scale)
            .expect("a valid type"),
    )
}

fn one_of_each() -> Vec<(&'static str, ArrayRef)> {
    let bytes = |length: usize| vec![1_u8; length];
    let fixed = |length: usize| -> ArrayRef {
        Arc::new(
            FixedSizeBinaryArray::try_from_iter([bytes(length)].into_iter()).expect("one length"),
        )
    };
    vec![
        ("boolean", Arc::new(BooleanArray::from(vec![true]))),
        ("int", Arc::new(Int32Array::from(vec![1]))),
        ("long", Arc::new(Int64Array::from(vec![1]))),
        ("float", Arc::new(Float32Array::from(vec![1.0]))),
        ("double", Arc::new(Float64Array::from(vec![1.0]))),
        ("decimal(9, 2)", decimals(vec![1], 9, 2)),
        ("decimal(9, 0)", decimals(vec![1], 9, 0)),
        ("decimal(10, 0)", decimals(vec![1], 10, 0)),
        ("decimal(19, 0)", decimals(vec![1], 19, 0)),
        ("date", Arc::new(Date32Array::from(vec![1]))),
        ("time", Arc::new(Time64MicrosecondArray::from(vec![1]))),
        (
            "timestamp",
            Arc::new(TimestampMicrosecondArray::from(vec![1])),
        ),
        (
            "timestamptz",
            Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone("UTC")),
        ),
        (
            "timestamp_ns",
            Arc::new(TimestampNanosecondArray::from(vec![1])),
        ),
        (
            "timestamptz_ns",
            Arc::new(TimestampNanosecondArray::from(vec![1]).with_timezone("UTC")),
        ),
        ("string", Arc::new(StringArray::from(vec!["1"]))),
        ("uuid", fixed(16)),
        ("fixed[4]", fixed(4)),
        ("fixed[16]", fixed(16)),
        ("binary", Arc::new(BinaryArray::from(vec![&b"1"[..]]))),
        ("geometry", Arc::new(BinaryArray::from(vec![&b"1"[..]]))),
        ("geography", Arc::new(BinaryArray::from(vec![&b"1"[..]]))),
        ("unknown", Arc::new(Int32Array::from(vec![None]))),
    ]
}

/// Every type that a column may be declared with, and the Iceberg types that lose nothing by it.
const ACCEPTED: &[(&str, &[&str])] = &[
    ("bool", &["boolean"]),
    ("int2", &[]),
    ("int4", &["int", "decimal(9, 0)"]),
    ("int8", &["int", "long", "decimal(9, 0)", "decimal(10, 0)"]),
    (
        "numeric",
        &[
            "int",
            "long",
            "decimal(9, 2)",
            "decimal(9, 0)",
            "decimal(10, 0)",
            "decimal(19, 0)",
        ],
    ),
    ("numeric(9,2)", &["decimal(9, 2)"]),
    ("numeric(9,0)", &["decimal(9, 0)"]),
    ("numeric(9,1)", &[]),
    ("numeric(11,2)", &["decimal(9, 2)", "decimal(9, 0)"]),
    (
        "numeric(12,2)",
        &["int", "decimal(9, 2)", "decimal(9, 0)", "decimal(10, 0)"],
    ),
    ("float4", &["float"]),
    ("float8", &["float", "double"]),
    ("date", &["date"]),
    ("time", &["time"]),
    ("time(6)", &["time"]),
    ("time(5)", &[]),
    ("timetz", &[]),
    ("timestamp", &["timestamp", "timestamp_ns"]),
    ("timestamp(3)", &[]),
    ("timestamptz", &["timestamptz", "timestamptz_ns"]),
    ("timestamptz(0)", &[]),
    ("interval", &[]),
    ("text", &["string"]),
    ("varchar", &["string"]),
    ("varchar(10)", &[]),
    ("char(10)", &[]),
    ("bpchar", &[]),
    ("name", &[]),
    ("json", &["string"]),
    ("jsonb", &["string"]),
    ("uuid", &["uuid"]),
    (
        "bytea",
        &["fixed[4]", "fixed[16]", "binary", "geometry", "geography"],
    ),
    ("text[]", &[]),
    ("money", &[]),
];

#[test]
fn a_declared_type_is_accepted_only_where_it_loses_nothing() {
    let directories: Vec<_> = one_of_each()
        .into_iter()
        .map(|(kind, array)| {
            let directory = Directory::new();
            let table = one_column(&directory, kind, array);
            (kind, table, directory)
        })
        .collect();
    let database = Database::new();
    let mut client = database.with_server();
    for (declaration, accepted) in ACCEPTED {
        for (kind, table, _) in &directories {
            declared(&mut client, declaration, table.clone());
            let outcome = text_rows(&mut client, "SELECT v FROM tested");
            if *kind == "unknown" || accepted.contains(kind) {
                let rows =
                    outcome.unwrap_or_else(|error| panic!("{kind} as {declaration}: {error:?}"));
                assert_eq!(rows.len(), 1, "{kind} as {declaration}");
                assert_eq!(
                    rows[0][0].is_none(),
                    *kind == "unknown",
                    "{kind} as {declaration}"
                );
            } else {
                let named = format!("Iceberg type {}", kind.replace(", ", ","));
                let error = failure::server_error(outcome);
                let text = failure::text(&error).replace(", ", ",");
                assert!(
                    text.starts_with("HV004") && text.contains(&named),
                    "{kind} as {declaration}: {text}"
                );
            }
        }
    }
}

#[test]
fn decimals_without_fraction_are_whole_numbers() {
    let database = Database::new();
    let mut client = database.with_server();
    let nine = 999_999_999;
    let eighteen = 999_999_999_999_999_999;
    let texts = |values: &[i128]| {
        values
            .iter()
            .map(|value| Some(value.to_string()))
            .collect::<Vec<_>>()
    };
    for (declaration, precision, values) in [
        ("int4", 9, vec![0, -1, nine, -nine]),
        ("int8", 9, vec![0, -1, nine, -nine]),
        ("int8", 18, vec![0, -1, eighteen, -eighteen]),
    ] {
        let kind = format!("decimal({precision}, 0)");
        let array = decimals(values.clone(), precision, 0);
        assert_eq!(
            read(&mut client, declaration, &kind, array).expect("the values can be read"),
            texts(&values),
            "{kind} as {declaration}"
        );
    }
}

/// The text of `unscaled * 10^-scale`.
fn decimal_text(unscaled: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let digits = format!("{:0>1$}", unscaled.unsigned_abs(), scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    match fraction {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

/// Zero, the smallest and largest, powers of ten and of the base 10000, and digits of every kind, of both signs.
fn wide_values(precision: u8) -> Vec<i128> {
    let limit = 10_i128.pow(u32::from(precision));
    let mut values = vec![0];
    for power in 0..precision {
        let power = 10_i128.pow(u32::from(power));
        values.extend([power, limit - power]);
    }
    let mixed = 12_345_678_901_234_567_890_123_456_789_012_345_678 % limit;
    let holes = 10_002_000_300_040_000_500_006_000_000_000_000_700 % limit;
    values.extend([limit / 3, limit / 7, mixed, holes, limit / 10_000 * 10_000]);
    values.retain(|value| *value < limit);
    values.sort_unstable();
    values.dedup();
    let negative: Vec<_> = values.iter().map(|value| -value).collect();
    values.extend(negative);
    values
}

#[test]
fn wide_numerics_of_every_precision_and_scale_are_as_postgres_makes_them() {
    let database = Database::new();
    let mut client = database.with_server();
    for precision in 1..=38_u8 {
        let values = wide_values(precision);
        let directory = Directory::new();
        let mut table = Table::new(directory.path());
        let mut arrays = Vec::new();
        let mut columns = Vec::new();
        for scale in 0..=precision {
            let kind = format!("decimal({precision}, {scale})");
            table = table.column(i32::from(scale) + 1, &format!("s{scale}"), &kind);
            arrays.push(decimals(values.clone(), precision, scale.cast_signed()));
            columns.push(format!("s{scale} numeric({precision},{scale})"));
        }
        let written = table.file("data/decimals.parquet", arrays).write();
        client
            .batch_execute(&format!(
                "DROP FOREIGN TABLE IF EXISTS tested; {}",
                foreign_table("tested", &columns.join(", "), written, &[])
            ))
            .expect("a table can be declared");
        let literals: Vec<String> = values
            .iter()
            .map(|value| {
                let row: Vec<_> = (0..=precision)
                    .map(|scale| {
                        format!(
                            "{}::numeric({precision},{scale})",
                            quoted(decimal_text(*value, scale))
                        )
                    })
                    .collect();
                format!("({})", row.join(","))
            })
            .collect();
        let sent: Vec<String> = (0..=precision)
            .map(|scale| format!("numeric_send(s{scale}), s{scale}::text"))
            .collect();
        let names: Vec<String> = (0..=precision).map(|scale| format!("s{scale}")).collect();
        let query = format!(
            "WITH postgres({names}) AS (VALUES {literals})
             SELECT count(*), count(*) FILTER (WHERE stored.row = made.row)
             FROM (SELECT row_number() OVER (), ROW({sent})::text AS row FROM tested) stored
             FULL JOIN (SELECT row_number() OVER (), ROW({sent})::text AS row FROM postgres) made USING (row_number)",
            names = names.join(","),
            literals = literals.join(","),
            sent = sent.join(","),
        );
        let rows = text_rows(&mut client, &query)
            .unwrap_or_else(|error| panic!("precision {precision}: {error:?}"));
        let all = Some(values.len().to_string());
        assert_eq!(rows, [[all.clone(), all]], "precision {precision}");
    }
}

#[test]
fn time_keeps_its_microseconds() {
    let database = Database::new();
    let mut client = database.with_server();
    let times = Time64MicrosecondArray::from(vec![0, 1, 999_999, 43_200_000_001, 86_399_999_999]);
    assert_eq!(
        read(&mut client, "time", "time", Arc::new(times)).expect("the times can be read"),
        [
            "00:00:00",
            "00:00:00.000001",
            "00:00:00.999999",
            "12:00:00.000001",
            "23:59:59.999999"
        ]
        .map(|text| Some(text.to_owned()))
    );
}

#[test]
fn a_field_id_that_is_not_there_has_nothing_to_do_with_letters() {
    let directory = Directory::new();
    let table = one_column(&directory, "int", Arc::new(Int32Array::from(vec![1])));
    let database = Database::new();
    let mut client = database.with_server();
    let columns = |column: &str| {
        format!(
            "DROP FOREIGN TABLE IF EXISTS tested; {}",
            foreign_table("tested", column, &table, &[])
        )
    };
    let mut error_of = |column: &str| {
        client
            .batch_execute(&columns(column))
            .expect("a table can be declared");
        failure::server_error(text_rows(&mut client, "SELECT * FROM tested"))
    };
    for (column, about_letters) in [
        ("v int OPTIONS (field_id '7')", false),
        ("\"V\" int", true),
        ("w int OPTIONS (column_name 'V')", true),
        ("v int OPTIONS (column_name 'other')", false),
    ] {
        let text = failure::text(&error_of(column));
        assert!(text.starts_with("HV005"), "{text}");
        assert_eq!(
            text.contains("case-sensitive"),
            about_letters,
            "{column}: {text}"
        );
    }
}
