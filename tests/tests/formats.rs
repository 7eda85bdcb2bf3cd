//! Data files of several formats in one table whose schema has moved on: Parquet, ORC and Avro answer alike.
//! Spec: "Column Projection", "Schema Evolution", "Default values".

use std::path::{Path, PathBuf};

use iceberg_fdw_tests::database::{Database, attach, text_rows};
use iceberg_fdw_tests::environment;
use iceberg_fdw_tests::failure::expect;
use iceberg_fdw_tests::synthetic::{Directory, write_json};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value as Json, json};

/// One row in a Parquet, an ORC and an Avro file each: `id long, name string, v int` with ids 1, 2, 3.
const TABLE: &str = "java/multi_format";

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory can be made");
    for entry in std::fs::read_dir(from).expect("the table can be listed") {
        let entry = entry.expect("the table can be listed");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}

/// A copy of the table as one of format version 3 with these fields.
fn evolved(corpus: &Path, directory: &Directory, fields: Json) -> PathBuf {
    let table = directory.join("t");
    copy(&corpus.join(TABLE), &table);
    let text = std::fs::read(table.join("metadata/v2.metadata.json")).expect("there is metadata");
    let mut metadata: Json = serde_json::from_slice(&text).expect("metadata is JSON");
    metadata["format-version"] = json!(3);
    metadata["next-row-id"] = json!(1000);
    metadata["last-column-id"] = json!(100);
    metadata["schemas"][0]["fields"] = fields;
    write_json(&table.join("metadata/v3.metadata.json"), &metadata);
    std::fs::remove_file(table.join("metadata/version-hint.text")).expect("there is a hint");
    table
}

fn field(id: i32, name: &str, kind: impl Into<Json>) -> Json {
    json!({"id": id, "name": name, "required": false, "type": kind.into()})
}

fn rows(corpus: &Path, fields: Json, query: &str) -> Result<Vec<String>, postgres::Error> {
    let directory = Directory::new();
    let table = evolved(corpus, &directory, fields);
    let database = Database::new();
    let mut client = database.with_server();
    client.batch_execute(&attach("t", table, "allow_moved_paths => true"))?;
    let rows = text_rows(&mut client, query)?;
    let shown = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    Ok(rows
        .into_iter()
        .map(|row| row.into_iter().map(shown).collect::<Vec<_>>().join("|"))
        .collect())
}

fn renamed_promoted_and_added(corpus: &Path) {
    let mut added = field(9, "added", "string");
    added["initial-default"] = json!("new");
    let fields = json!([
        field(3, "name", "long"),
        field(10, "v", "int"),
        added,
        field(2, "Id", "string"),
        field(1, "number", "long"),
    ]);
    let query = r#"SELECT number, "Id", name, v, added FROM t ORDER BY 1"#;
    assert_eq!(
        rows(corpus, fields.clone(), query).expect("the table can be read"),
        ["1|pq|1|null|new", "2|orc|2|null|new", "3|avro|3|null|new"]
    );
    // Quals mean the columns of the schema, not those of the files.
    assert_eq!(
        rows(
            corpus,
            fields,
            "SELECT name FROM t WHERE name >= 2 AND added = 'new' ORDER BY 1"
        )
        .expect("the table can be read"),
        ["2", "3"]
    );
}

fn dropped_and_counted(corpus: &Path) {
    let fields = json!([field(2, "name", "string")]);
    assert_eq!(
        rows(corpus, fields.clone(), "SELECT count(*) FROM t").expect("rows can be counted"),
        ["3"]
    );
    assert_eq!(
        rows(corpus, fields, "SELECT name FROM t ORDER BY 1").expect("the table can be read"),
        ["avro", "orc", "pq"]
    );
}

fn other_types_are_refused_by_column(corpus: &Path) {
    let fields = json!([field(2, "name", "int")]);
    expect(
        rows(corpus, fields, "SELECT name FROM t"),
        &["HV004"],
        &["name", "int"],
    );
}

fn main() {
    let corpus = environment::corpus();
    let trial = |name: &str, run: fn(&Path)| match corpus.clone() {
        Ok(corpus) => Trial::test(name, move || {
            run(&corpus);
            Ok::<(), Failed>(())
        }),
        Err(reason) => Trial::test(name, || Ok(()))
            .with_kind(reason)
            .with_ignored_flag(true),
    };
    let trials = vec![
        trial("renamed_promoted_and_added", renamed_promoted_and_added),
        trial("dropped_and_counted", dropped_and_counted),
        trial(
            "other_types_are_refused_by_column",
            other_types_are_refused_by_column,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
