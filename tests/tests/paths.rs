//! Paths are taken literally, byte for byte, and a table's files are looked for nowhere but in the table.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array};
use iceberg_fdw_tests::database::{Database, foreign_table, text_value};
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::{Directory, Table, write_json};
use serde_json::json;

fn numbers() -> Vec<ArrayRef> {
    vec![Arc::new(Int32Array::from(vec![1, 2, 3]))]
}

/// The sum of the numbers in a table.
fn sum(location: &Path, options: &[(&str, &str)]) -> Result<Option<String>, postgres::Error> {
    let database = Database::new();
    let mut client = database.with_server();
    client.batch_execute(&foreign_table("tested", "n int", location, options))?;
    text_value(&mut client, "SELECT sum(n) FROM tested")
}

fn assert_sum(location: &Path, options: &[(&str, &str)]) {
    match sum(location, options) {
        Ok(sum) => assert_eq!(sum.as_deref(), Some("6")),
        Err(error) => panic!(
            "{}: {}",
            location.display(),
            failure::text(&failure::server_error::<()>(Err(error)))
        ),
    }
}

/// A table in a directory of this name with a data file of this name, its paths written in three ways.
fn read_literally(name: &str) {
    let directory = Directory::new();
    for (number, scheme) in ["", "file://", "file:"].iter().enumerate() {
        let table = directory.join(&format!("{name}{number}"));
        let location = format!("{scheme}{}", table.to_str().expect("a UTF-8 path"));
        let written = Table::new(&table)
            .location(&location)
            .column(1, "n", "int")
            .file(&format!("data/{name}.parquet"), numbers())
            .write();
        assert_sum(&written, &[]);
    }
}

#[test]
fn a_percent_sign_is_no_escape() {
    read_literally("half%2Fdone%20%zz%");
}

#[test]
fn a_space_is_a_space() {
    read_literally("two words ");
}

#[test]
fn a_hash_begins_no_fragment() {
    read_literally("a#b");
}

#[test]
fn a_question_mark_begins_no_query() {
    read_literally("a?b=c");
}

#[test]
fn an_equals_sign_is_part_of_the_name() {
    read_literally("day=2024-01-01");
}

#[test]
fn letters_of_every_script_are_kept() {
    read_literally("Größe-日本-🧊");
}

#[test]
fn letters_are_not_normalised() {
    // "é" as one code point and as two are different names.
    read_literally("caf\u{e9}-cafe\u{301}");
}

#[test]
fn punctuation_is_kept() {
    read_literally("a+b&c;d,e:f'g\"h\\i@j*k[l]{m}|n<o>p~q!r$s^t`u");
}

#[test]
fn a_moved_table_needs_to_be_told() {
    let directory = Directory::new();
    let table = Table::new(directory.path())
        .location("file:///long/ago/orders")
        .column(1, "n", "int")
        .file("data/a.parquet", numbers())
        .write();
    let error = failure::text(&failure::server_error(sum(&table, &[])));
    assert!(
        error.contains("allow_moved_paths"),
        "the error does not name the option: {error}"
    );
    assert_sum(&table, &[("allow_moved_paths", "true")]);
}

#[test]
fn a_moved_table_may_be_named_with_or_without_scheme_and_slash() {
    for location in [
        "/long/ago/orders",
        "/long/ago/orders/",
        "file:/long/ago/orders",
        "s3://bucket/orders",
        "hdfs://host:8020/orders",
    ] {
        let directory = Directory::new();
        let table = Table::new(directory.path())
            .location(location)
            .column(1, "n", "int")
            .file("data/a.parquet", numbers())
            .write();
        assert_sum(&table, &[("allow_moved_paths", "true")]);
    }
}

#[test]
fn a_moved_tables_location_and_paths_may_differ_in_scheme_spelling() {
    // Hadoop writes `file:/…` into manifests of a table whose metadata says `file:///…`.
    let directory = Directory::new();
    let table = Table::new(directory.path())
        .location("file:/long/ago/orders")
        .column(1, "n", "int")
        .file("data/a.parquet", numbers());
    let mut metadata = table.write_snapshot();
    metadata["location"] = json!("file:///long/ago/orders");
    write_json(&directory.join("metadata/v1.metadata.json"), &metadata);
    assert_sum(directory.path(), &[("allow_moved_paths", "true")]);
}

#[test]
fn a_path_that_only_begins_like_the_location_is_not_inside_the_table() {
    let directory = Directory::new();
    let neighbour = directory.join("orders2");
    Table::new(&neighbour)
        .column(1, "n", "int")
        .file("data/a.parquet", numbers())
        .write();
    let table = directory.join("orders");
    let mut metadata = Table::new(&neighbour)
        .column(1, "n", "int")
        .file("data/b.parquet", numbers())
        .write_snapshot();
    metadata["location"] = json!(table);
    write_json(&table.join("metadata/v1.metadata.json"), &metadata);
    failure::expect(sum(&table, &[]), &["42501"], &["orders2"]);
}

#[test]
fn a_file_outside_the_table_is_refused() {
    let directory = Directory::new();
    let (table, elsewhere) = (directory.join("table"), directory.join("elsewhere"));
    let mut metadata = Table::new(&elsewhere)
        .column(1, "n", "int")
        .file("secret.parquet", numbers())
        .write_snapshot();
    metadata["location"] = json!(table);
    write_json(&table.join("metadata/v1.metadata.json"), &metadata);
    failure::expect(sum(&table, &[]), &["42501"], &["elsewhere"]);
}

#[test]
fn steps_upward_do_not_lead_out_of_the_table() {
    let directory = Directory::new();
    let table = directory.join("table");
    let written = Table::new(&table)
        .column(1, "n", "int")
        .file("../secret.parquet", numbers())
        .write();
    failure::expect(sum(&written, &[]), &["42501"], &["secret.parquet"]);
}

#[test]
fn a_missing_data_file_is_named() {
    let directory = Directory::new();
    let table = Table::new(directory.path())
        .column(1, "n", "int")
        .file("data/gone.parquet", numbers())
        .write();
    std::fs::remove_file(directory.join("data/gone.parquet")).expect("a file can be removed");
    let text = failure::text(&failure::server_error(sum(&table, &[])));
    assert!(text.contains("gone.parquet"), "{text}");
}

#[test]
fn a_data_file_that_is_no_parquet_is_corrupt_and_named() {
    for bytes in [
        &b""[..],
        b"PAR1",
        b"PAR1 is how Parquet begins, but here it does not end PAR2",
        &[0xff; 5000],
    ] {
        let directory = Directory::new();
        let table = Table::new(directory.path())
            .column(1, "n", "int")
            .raw_file("data/bad.parquet", bytes, 3)
            .write();
        failure::expect(sum(&table, &[]), &["XX001"], &["bad.parquet"]);
    }
}

#[test]
fn a_manifest_that_is_no_avro_is_corrupt_and_named() {
    for name in ["manifest-1001.avro", "snap-1001.avro"] {
        for bytes in [&b""[..], b"Obj\x01", b"not Avro at all", &[0xff; 5000]] {
            let directory = Directory::new();
            let table = Table::new(directory.path())
                .column(1, "n", "int")
                .file("data/a.parquet", numbers())
                .write();
            std::fs::write(directory.join("metadata").join(name), bytes)
                .expect("a file can be written");
            failure::expect(sum(&table, &[]), &["XX001"], &[name]);
        }
    }
}
