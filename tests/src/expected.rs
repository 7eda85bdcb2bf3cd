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
}

impl Expected {
    /// Reads the file beside a table. A table with a type that is not compared yet has no rows here.
    pub fn read(table: &Path) -> Expected {
        let path = table.join("expected.json");
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let json: Json = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
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
            Rows::Head(_) => panic!("only the first rows of this table are known"),
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
