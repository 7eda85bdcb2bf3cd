//! What a reference implementation reads from a table: the `expected.json` beside its data.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value as Json;

use crate::iceberg_type::{Field, IcebergType, fields};
use crate::value::Value;

/// The rows of a table's current snapshot.
pub struct Expected {
    pub format_version: i64,
    /// The columns, in the schema's order.
    pub columns: Vec<Field>,
    pub count: usize,
    pub rows: Rows,
}

/// All rows, or the first ones in the order of their JSON text.
pub enum Rows {
    All(Vec<Vec<Value>>),
    /// The first column of such a table is a number and different in every row, so it alone decides the order.
    Head(Vec<Vec<Value>>),
    /// Nothing but their number is known.
    Unknown,
}

/// A snapshot of a table, which need not be the current one.
pub struct ExpectedSnapshot {
    pub id: i64,
    /// What is read from it in its own schema, or why the reference reader could not read it.
    pub content: Result<Expected, String>,
}

/// A branch or tag.
pub struct ExpectedReference {
    pub name: String,
    pub snapshot: i64,
}

/// What a reference implementation reads from every snapshot of a table, and when each was current.
pub struct History {
    pub snapshots: Vec<ExpectedSnapshot>,
    pub references: Vec<ExpectedReference>,
    /// (milliseconds since 1970-01-01 UTC, snapshot), as the metadata file has it.
    pub log: Vec<(i64, i64)>,
}

impl History {
    /// Reads the file beside a table, and the schemas and the log of the metadata file that it names.
    pub fn read(table: &Path) -> History {
        let expected = json_of(&table.join("expected.json"));
        let name = expected["metadata_file"].as_str().expect("a file's name");
        let name = name.rsplit('/').next().unwrap_or(name);
        let metadata = json_of(&table.join("metadata").join(name));
        let format_version = integer(&expected["format_version"]);
        let snapshot = |json: &Json| {
            let id = integer(&json["id"]);
            let content = match json["error"].as_str() {
                Some(error) => Err(error.to_owned()),
                None => {
                    let columns = fields(schema_of(&metadata, id));
                    Ok(Expected {
                        format_version,
                        count: integer(&json["count"]) as usize,
                        rows: rows(&columns, &json["rows"]).map_or(Rows::Unknown, Rows::All),
                        columns,
                    })
                }
            };
            ExpectedSnapshot { id, content }
        };
        let references = expected["refs"].as_object().into_iter().flatten();
        History {
            snapshots: list(&expected["snapshots"]).map(snapshot).collect(),
            references: references
                .map(|(name, json)| ExpectedReference {
                    name: name.clone(),
                    snapshot: integer(&json["snapshot"]),
                })
                .collect(),
            log: list(&metadata["snapshot-log"])
                .map(|entry| {
                    (
                        integer(&entry["timestamp-ms"]),
                        integer(&entry["snapshot-id"]),
                    )
                })
                .collect(),
        }
    }

    /// What is read from the snapshot of this id, if the reference reader could read it.
    pub fn snapshot(&self, id: i64) -> Option<&Expected> {
        let found = self.snapshots.iter().find(|snapshot| snapshot.id == id)?;
        found.content.as_ref().ok()
    }
}

/// The schema that was current when a snapshot was made.
fn schema_of(metadata: &Json, snapshot: i64) -> &Json {
    let snapshot = list(&metadata["snapshots"])
        .find(|json| integer(&json["snapshot-id"]) == snapshot)
        .expect("a listed snapshot is in the metadata");
    match &snapshot["schema-id"] {
        Json::Null => &metadata["schema"],
        id => list(&metadata["schemas"])
            .find(|schema| &schema["schema-id"] == id)
            .expect("a snapshot's schema is in the metadata"),
    }
}

fn list(json: &Json) -> impl Iterator<Item = &Json> {
    json.as_array().into_iter().flatten()
}

fn integer(json: &Json) -> i64 {
    json.as_i64()
        .unwrap_or_else(|| panic!("{json} is no whole number"))
}

/// The content of a JSON file, which may be compressed by gzip.
fn json_of(path: &Path) -> Json {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unzipped = Vec::new();
        GzDecoder::new(bytes.as_slice())
            .read_to_end(&mut unzipped)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        unzipped
    } else {
        bytes
    };
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Expected {
    /// Reads the file beside a table. A table with a type that is not compared yet has no rows here.
    pub fn read(table: &Path) -> Expected {
        let json = json_of(&table.join("expected.json"));
        let columns = fields(&json["schema"]);
        let all = rows(&columns, &json["rows"]);
        let zipped = table.join("rows.jsonl.gz");
        let rows = match all {
            Some(rows) => Rows::All(rows),
            None if zipped.exists() => Rows::All(lines(&columns, &zipped)),
            None => Rows::Head(
                rows(&columns, &json["rows_head"])
                    .expect("either all rows or the first ones are given"),
            ),
        };
        Expected {
            format_version: json["format_version"]
                .as_i64()
                .expect("a format version is a number"),
            count: json["count"].as_u64().expect("a count is a number") as usize,
            columns,
            rows,
        }
    }

    /// All rows.
    ///
    /// # Panics
    /// When only the first ones are known.
    pub fn all_rows(&self) -> &[Vec<Value>] {
        match &self.rows {
            Rows::All(rows) => rows,
            Rows::Head(_) | Rows::Unknown => panic!("not all rows of this table are known"),
        }
    }
}

/// The place of a row in the text order of JSON, for tables whose first column is a number that no other row has.
pub fn text_order(row: &[Value]) -> String {
    match row.first() {
        Some(Value::Integer(number)) => format!("{number},"),
        other => panic!("the first column must be a number, not {other:?}"),
    }
}

fn row(columns: &[Field], json: &Json) -> Vec<Value> {
    let value = |column: &Field| match &column.kind {
        IcebergType::Other(_) => Value::Null,
        kind => Value::from_expected(
            kind,
            json.get(&column.name)
                .unwrap_or_else(|| panic!("a row lacks the column {}", column.name)),
        ),
    };
    columns.iter().map(value).collect()
}

fn rows(columns: &[Field], json: &Json) -> Option<Vec<Vec<Value>>> {
    Some(
        json.as_array()?
            .iter()
            .map(|json| row(columns, json))
            .collect(),
    )
}

fn lines(columns: &[Field], path: &Path) -> Vec<Vec<Value>> {
    let file =
        std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .map(|line| {
            row(
                columns,
                &serde_json::from_str(line).expect("a line is a JSON object"),
            )
        })
        .collect()
}
