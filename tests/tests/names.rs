//! Names of columns and tables as they are: case, quotes, dots, emoji, words that mean something elsewhere.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array};
use iceberg_fdw_tests::database::{
    Database, attach, identifier, quoted, quoted_path, text_rows, text_value,
};
use iceberg_fdw_tests::synthetic::{Directory, Table};

/// A table whose columns have these names; column number N holds N.
fn table_of_columns(directory: &Directory, path: &str, names: &[&str]) -> std::path::PathBuf {
    let mut table = Table::new(directory.join(path));
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (number, name) in (1..).zip(names) {
        table = table.column(number, name, "int");
        arrays.push(Arc::new(Int32Array::from(vec![number])));
    }
    table.file("data/a.parquet", arrays).write()
}

fn assert_names_are_kept(names: &[&str]) {
    let directory = Directory::new();
    let table = table_of_columns(&directory, "t", names);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", table, ""))
        .expect("the table can be attached");
    for (number, name) in (1..).zip(names) {
        let value = text_value(
            &mut client,
            &format!("SELECT {} FROM tested", identifier(name)),
        )
        .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(value, Some(number.to_string()), "{name}");
    }
}

#[test]
fn case_is_kept_and_tells_columns_apart() {
    assert_names_are_kept(&["id", "ID", "Id", "Mixed Case"]);
}

#[test]
fn quotes_dots_and_slashes_are_kept() {
    assert_names_are_kept(&[
        "quote\"d",
        "it's",
        "a.b",
        "a/b",
        "back\\slash",
        "semi;colon--",
        "percent%s",
        "{brace}",
        "$1",
    ]);
}

#[test]
fn letters_of_every_script_are_kept() {
    assert_names_are_kept(&[
        "ünïcödé",
        "日本",
        "🧊",
        "e\u{301}",
        " leading and trailing ",
    ]);
}

#[test]
fn sql_words_are_kept() {
    assert_names_are_kept(&["select", "from", "table", "user", "NULL", "order"]);
}

#[test]
fn names_that_the_spec_reserves_for_delete_files_are_ordinary_in_data() {
    assert_names_are_kept(&["pos", "file_path", "_file", "_pos", "_row_id", "row"]);
}

#[test]
fn a_column_called_like_a_system_column_is_reported_or_attached_under_another_name() {
    for name in ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"] {
        let directory = Directory::new();
        table_of_columns(&directory, "ns/strange", &["id", name]);
        let database = Database::new();
        let mut client = database.connect();
        client
            .batch_execute(&format!(
                "CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse {});
                 IMPORT FOREIGN SCHEMA ns FROM SERVER lake INTO public",
                quoted_path(directory.path())
            ))
            .expect("one strange table does not stop an import");
        let columns = text_rows(
            &mut client,
            "SELECT attname FROM pg_attribute, unnest(attfdwoptions) option WHERE attrelid = to_regclass('strange') AND option = 'field_id=2'",
        )
        .expect("a catalog query");
        match columns.first() {
            Some(column) => {
                let column = column[0].as_deref().expect("a name");
                assert_eq!(
                    text_value(
                        &mut client,
                        &format!("SELECT {} FROM strange", identifier(column))
                    )
                    .expect("it can be read")
                    .as_deref(),
                    Some("2")
                );
            }
            None => {
                let notices = database.take_notices().join("\n");
                assert!(
                    notices.contains("strange") && notices.contains(name),
                    "nothing tells that {name} cannot be imported: {notices:?}"
                );
            }
        }
    }
}

#[test]
fn names_longer_than_postgres_allows_are_told_apart_by_field_id() {
    let long = "x".repeat(70);
    let (one, other) = (format!("{long}1"), format!("{long}2"));
    let directory = Directory::new();
    let table = table_of_columns(&directory, "t", &[&one, &other]);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", table, ""))
        .expect("the table can be attached");
    for number in 1..=2 {
        let query = format!(
            "SELECT attname FROM pg_attribute, unnest(attfdwoptions) option WHERE attrelid = 'tested'::regclass AND option = 'field_id={number}'"
        );
        let column = text_value(&mut client, &query)
            .expect("a column for each field")
            .expect("a name");
        assert_eq!(
            text_value(
                &mut client,
                &format!("SELECT {} FROM tested", identifier(column))
            )
            .expect("it can be read"),
            Some(number.to_string())
        );
    }
}

#[test]
fn table_and_namespace_names_are_kept_by_an_import() {
    let names = [
        "Orders 2025",
        "quote\"d",
        "it's",
        "select",
        "日本",
        "a=b%20c#d",
    ];
    let directory = Directory::new();
    for name in names {
        table_of_columns(&directory, &format!("My \"Name\" Space/{name}"), &["id"]);
    }
    let database = Database::new();
    let mut client = database.connect();
    client
        .batch_execute(&format!(
            "CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse {});
             IMPORT FOREIGN SCHEMA {} FROM SERVER lake INTO public",
            quoted_path(directory.path()),
            identifier("My \"Name\" Space")
        ))
        .expect("the namespace can be imported");
    assert_eq!(database.take_notices(), Vec::<String>::new());
    for name in names {
        assert_eq!(
            text_value(&mut client, &format!("SELECT id FROM {}", identifier(name)))
                .expect("it can be read")
                .as_deref(),
            Some("1")
        );
    }
}

#[test]
fn a_table_that_cannot_be_imported_is_a_warning_that_names_it_and_why() {
    let directory = Directory::new();
    table_of_columns(&directory, "ns/good", &["id"]);
    let bad = table_of_columns(&directory, "ns/bad", &["id"]);
    std::fs::write(bad.join("metadata/v2.metadata.json"), "no JSON")
        .expect("a file can be written");
    let database = Database::new();
    let mut client = database.connect();
    client
        .batch_execute(&format!(
            "CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse {});
             IMPORT FOREIGN SCHEMA ns FROM SERVER lake INTO public",
            quoted_path(directory.path())
        ))
        .expect("one bad table does not stop an import");
    let notices = database.take_notices().join("\n");
    assert!(
        notices.contains("WARNING")
            && notices.contains("bad")
            && notices.contains("v2.metadata.json"),
        "{notices:?}"
    );
    assert_eq!(
        text_value(&mut client, "SELECT id FROM good")
            .expect("the good table is there")
            .as_deref(),
        Some("1")
    );
}

#[test]
fn a_declared_column_may_name_the_iceberg_column_it_means() {
    let directory = Directory::new();
    let table = table_of_columns(&directory, "t", &["tableoid", "Mixed Case"]);
    let database = Database::new();
    let mut client = database.with_server();
    let create = format!(
        "CREATE FOREIGN TABLE tested (a int OPTIONS (column_name 'tableoid'), b int OPTIONS (column_name {}), c int OPTIONS (field_id '2')) SERVER lake OPTIONS (location {})",
        quoted("Mixed Case"),
        quoted_path(&table)
    );
    client
        .batch_execute(&create)
        .expect("the table can be declared");
    let rows = text_rows(&mut client, "SELECT a, b, c FROM tested").expect("it can be read");
    assert_eq!(rows, [["1", "2", "2"].map(|value| Some(value.to_owned()))]);
}
