//! Databases in other encodings than UTF8: what can be converted is right, anything else is an error.

use std::sync::Arc;

use arrow::array::StringArray;
use iceberg_fdw_tests::database::{Database, attach, text_rows, text_value};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::{Directory, Table};
use postgres::Client;

fn stations(encoding: &str) -> (Database, Client) {
    let database = Database::empty(&format!(
        "ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    ));
    let mut client = database.connect();
    client
        .batch_execute(
            "CREATE EXTENSION iceberg_fdw; CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw",
        )
        .expect("the extension can be created");
    let warehouse = fixtures().join("warehouse");
    for (name, path) in [
        ("stations", "telemetry/stations"),
        ("events", "telemetry/events"),
        ("products", "shop/products"),
    ] {
        client
            .batch_execute(&attach(
                name,
                warehouse.join(path),
                "allow_moved_paths => true",
            ))
            .expect("the table can be attached");
    }
    (database, client)
}

#[test]
fn latin1_holds_what_it_has_letters_for() {
    let directory = Directory::new();
    let words = StringArray::from(vec![Some("København"), Some("plain"), Some("£ÿ"), None]);
    let table = Table::new(directory.path())
        .column(1, "wörd", "string")
        .file("data/a.parquet", vec![Arc::new(words)])
        .write();
    let (_database, mut client) = stations("LATIN1");
    client
        .batch_execute(&attach("words", table, ""))
        .expect("the table can be attached");
    let rows = text_rows(
        &mut client,
        "SELECT encode(convert_to(wörd, 'LATIN1'), 'hex') FROM words ORDER BY 1",
    )
    .expect("the words can be read");
    let rows: Vec<_> = rows.iter().map(|row| row[0].as_deref()).collect();
    assert_eq!(
        rows,
        [
            Some("4bf862656e6861766e"),
            Some("706c61696e"),
            Some("a3ff"),
            None
        ]
    );
    let titles = text_rows(&mut client, "SELECT title FROM products ORDER BY id")
        .expect("plain letters can be read");
    assert_eq!(
        (titles.len(), titles[0][0].as_deref()),
        (12, Some("Field notebook"))
    );
}

#[test]
fn latin1_refuses_what_it_has_no_letters_for() {
    let (_database, mut client) = stations("LATIN1");
    failure::expect(
        client.batch_execute("SELECT name FROM stations"),
        &["22P05"],
        &[],
    );
    // "🌪️" inside lists of tags.
    failure::expect(
        client.batch_execute("SELECT tags FROM events"),
        &["22P05"],
        &[],
    );
}

#[test]
fn columns_without_text_are_read_in_latin1() {
    let (_database, mut client) = stations("LATIN1");
    let value = text_value(&mut client, "SELECT count(uuid) + sum(id) FROM stations")
        .expect("numbers can be read");
    assert_eq!(value.as_deref(), Some("629"));
}

#[test]
fn latin1_jsonb_holds_what_it_has_letters_for() {
    let (_database, mut client) = stations("LATIN1");
    let value = text_value(
        &mut client,
        "SELECT count(reading->>'temperature') > 1000 FROM events",
    )
    .expect("plain letters can be read");
    assert_eq!(value.as_deref(), Some("t"));
}

#[test]
fn sql_ascii_takes_the_bytes_as_they_are() {
    let (_database, mut client) = stations("SQL_ASCII");
    let value = text_value(
        &mut client,
        "SELECT encode(convert_to(name, 'SQL_ASCII'), 'hex') FROM stations WHERE id = 26",
    )
    .expect("bytes can be read");
    // 東京 in UTF-8.
    assert_eq!(value.as_deref(), Some("e69db1e4baac"));
}
