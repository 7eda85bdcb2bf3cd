//! Tables that were made to do harm or by a faulty writer: huge counts, deep nesting, bombs, types that lie.
//! Each is answered with rows or a clear error, promptly, and the backend stays.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};
use flate2::Compression;
use flate2::write::GzEncoder;
use iceberg_fdw_tests::database::{Database, attach, foreign_table, text_rows, text_value};
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::{Directory, Table, parquet_of_arrays, write_json};
use postgres::Client;
use serde_json::{Value as Json, json};

fn numbers() -> Vec<ArrayRef> {
    vec![Arc::new(Int32Array::from(vec![1, 2, 3]))]
}

fn table(directory: &Directory) -> Table {
    Table::new(directory.path())
        .column(1, "n", "int")
        .file("data/a.parquet", numbers())
}

fn sum(client: &mut Client, directory: &Directory) -> Result<Option<String>, postgres::Error> {
    client.batch_execute("SET statement_timeout = '30s'")?;
    client.batch_execute(&foreign_table("tested", "n int", directory.path(), &[]))?;
    text_value(client, "SELECT sum(n) FROM tested")
}

/// The table is refused with one of the SQLSTATEs, names the part, and the same backend answers the next query.
fn refused(directory: &Directory, states: &[&str], part: &str) {
    let database = Database::new();
    let mut client = database.with_server();
    let started = Instant::now();
    failure::expect(sum(&mut client, directory), states, &[part]);
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "it took {:?}",
        started.elapsed()
    );
    assert_eq!(
        text_value(&mut client, "SELECT 1")
            .expect("the backend is still there")
            .as_deref(),
        Some("1")
    );
}

fn with_metadata(directory: &Directory, change: impl FnOnce(&mut Json)) {
    let mut metadata = table(directory).write_snapshot();
    change(&mut metadata);
    write_json(&directory.join("metadata/v1.metadata.json"), &metadata);
}

#[test]
fn metadata_of_endlessly_nested_brackets() {
    let directory = Directory::new();
    table(&directory).write();
    for text in ["[".repeat(1_000_000), "{\"a\":".repeat(300_000)] {
        std::fs::write(directory.join("metadata/v1.metadata.json"), text)
            .expect("a file can be written");
        refused(&directory, &["XX001"], "v1.metadata.json");
    }
}

#[test]
fn a_type_nested_deeper_than_a_stack() {
    let directory = Directory::new();
    let mut kind = "\"int\"".to_owned();
    for depth in 0..20_000 {
        kind = format!(
            "{{\"type\":\"list\",\"element-id\":{},\"element-required\":false,\"element\":{kind}}}",
            depth + 10
        );
    }
    let metadata = table(&directory).write_snapshot().to_string().replacen(
        "\"type\":\"int\"",
        &format!("\"type\":{kind}"),
        1,
    );
    assert!(metadata.len() > 1_000_000);
    std::fs::write(directory.join("metadata/v1.metadata.json"), metadata)
        .expect("a file can be written");
    refused(&directory, &["XX001", "0A000"], "v1.metadata.json");
}

#[test]
fn a_small_file_that_unpacks_to_a_large_one_can_be_given_up() {
    let directory = Directory::new();
    table(&directory).write();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let spaces = vec![b' '; 1 << 20];
    for _ in 0..100 {
        encoder
            .write_all(&spaces)
            .expect("memory can be written to");
    }
    let bytes = encoder.finish().expect("memory can be written to");
    assert!(bytes.len() < 2 << 20);
    std::fs::write(directory.join("metadata/v1.metadata.json"), bytes)
        .expect("a file can be written");
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&foreign_table("tested", "n int", directory.path(), &[]))
        .expect("the table can be declared");
    client
        .batch_execute("SET statement_timeout = '500ms'")
        .expect("a timeout can be set");
    let started = Instant::now();
    let answer = text_value(&mut client, "SELECT sum(n) FROM tested");
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "it took {:?}",
        started.elapsed()
    );
    failure::expect(answer, &["XX001", "57014"], &[]);
    let next = text_value(&mut client, "SELECT 1").expect("the backend is still there");
    assert_eq!(next.as_deref(), Some("1"));
}

#[test]
fn counts_and_sizes_that_no_file_can_have() {
    for (records, size) in [
        (i64::MAX, i64::MAX),
        (i64::MIN, i64::MIN),
        (-1, -1),
        (0, 0),
        (3, 1),
        (1 << 40, 1 << 40),
    ] {
        let directory = Directory::new();
        table(&directory).claiming(records, size).write();
        let database = Database::new();
        let mut client = database.with_server();
        match sum(&mut client, &directory) {
            // A reader may trust the file more than what is said about it.
            Ok(sum) => assert_eq!(sum.as_deref(), Some("6"), "{records} records, {size} bytes"),
            Err(error) => failure::expect::<()>(Err(error), &["XX001"], &["a"]),
        }
        text_rows(&mut client, "EXPLAIN SELECT * FROM tested a, tested b").map_or_else(
            |error| failure::expect::<()>(Err(error), &["XX001"], &[]),
            |plan| assert!(!plan.is_empty()),
        );
        assert_eq!(
            text_value(&mut client, "SELECT 1")
                .expect("the backend is still there")
                .as_deref(),
            Some("1")
        );
    }
}

#[test]
fn a_file_whose_column_has_another_type_than_the_table() {
    let others: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec!["1"])),
        Arc::new(BooleanArray::from(vec![true])),
        Arc::new(Float64Array::from(vec![1.0])),
        Arc::new(Int64Array::from(vec![1])),
    ];
    for other in others {
        let directory = Directory::new();
        let bytes = parquet_of_arrays(&[(1, "n", other)]);
        Table::new(directory.path())
            .column(1, "n", "int")
            .raw_file("data/lie.parquet", &bytes, 1)
            .write();
        refused(&directory, &["XX001", "0A000", "HV004"], "lie.parquet");
    }
}

#[test]
fn two_columns_with_one_field_id() {
    let directory = Directory::new();
    with_metadata(&directory, |metadata| {
        let field = metadata["schemas"][0]["fields"][0].clone();
        metadata["schemas"][0]["fields"] =
            json!([field, {"id": 1, "name": "m", "required": false, "type": "int"}]);
    });
    refused(&directory, &["XX001"], "v1.metadata.json");
}

#[test]
fn two_columns_with_one_name() {
    let directory = Directory::new();
    with_metadata(&directory, |metadata| {
        let field = metadata["schemas"][0]["fields"][0].clone();
        metadata["schemas"][0]["fields"] =
            json!([field, {"id": 2, "name": "n", "required": false, "type": "int"}]);
    });
    refused(&directory, &["XX001"], "v1.metadata.json");
}

#[test]
fn a_current_schema_that_does_not_exist() {
    let directory = Directory::new();
    with_metadata(&directory, |metadata| {
        metadata["current-schema-id"] = json!(9)
    });
    refused(&directory, &["XX001"], "v1.metadata.json");
}

#[test]
fn a_decimal_of_more_digits_than_the_spec_allows() {
    for kind in [
        "decimal(39, 2)",
        "decimal(4294967297, 2)",
        "decimal(5, 9)",
        "decimal(-1, 0)",
        "fixed[-1]",
        "fixed[99999999999999]",
        "integer32",
    ] {
        let directory = Directory::new();
        with_metadata(&directory, |metadata| {
            metadata["schemas"][0]["fields"][0]["type"] = json!(kind)
        });
        refused(&directory, &["XX001", "0A000"], "v1.metadata.json");
    }
}

#[test]
fn a_manifest_list_that_is_a_directory_or_a_device() {
    for path in ["metadata", "data"] {
        let directory = Directory::new();
        with_metadata(&directory, |metadata| {
            metadata["snapshots"][0]["manifest-list"] = json!(directory.join(path))
        });
        let database = Database::new();
        let mut client = database.with_server();
        let error = failure::server_error(sum(&mut client, &directory));
        assert_ne!(error.code().code(), "XX000", "{}", failure::text(&error));
        assert_ne!(error.code().code(), "57014", "{}", failure::text(&error));
    }
    let directory = Directory::new();
    with_metadata(&directory, |metadata| {
        metadata["snapshots"][0]["manifest-list"] = json!("/dev/zero")
    });
    refused(&directory, &["42501"], "/dev/zero");
}

#[test]
fn a_symbolic_link_that_leads_out_of_the_table() {
    let directory = Directory::new();
    let written = Table::new(directory.join("table"))
        .column(1, "n", "int")
        .file("data/a.parquet", numbers())
        .write();
    std::fs::rename(
        written.join("data/a.parquet"),
        directory.join("secret.parquet"),
    )
    .expect("a file can be moved");
    std::os::unix::fs::symlink(
        directory.join("secret.parquet"),
        written.join("data/a.parquet"),
    )
    .expect("a link can be made");
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&foreign_table("tested", "n int", written, &[]))
        .expect("the table can be declared");
    failure::expect(
        text_value(&mut client, "SELECT sum(n) FROM tested"),
        &["42501"],
        &["a.parquet"],
    );
}

#[test]
fn ten_thousand_metadata_files() {
    let directory = Directory::new();
    let metadata = table(&directory).write_snapshot();
    for version in 1..=10_000 {
        write_json(
            &directory.join(&format!("metadata/v{version}.metadata.json")),
            &metadata,
        );
    }
    let database = Database::new();
    let mut client = database.with_server();
    let started = Instant::now();
    assert_eq!(
        sum(&mut client, &directory)
            .expect("the table can be read")
            .as_deref(),
        Some("6")
    );
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "it took {:?}",
        started.elapsed()
    );
}

#[test]
fn five_thousand_data_files() {
    let directory = Directory::new();
    let mut large = table(&directory);
    for number in 1..5000 {
        large = large.linked_file(&format!("data/{number}.parquet"), "data/a.parquet");
    }
    large.write();
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested_too", directory.path(), ""))
        .expect("the table can be attached");
    assert_eq!(
        sum(&mut client, &directory)
            .expect("the table can be read")
            .as_deref(),
        Some("30000")
    );
}
