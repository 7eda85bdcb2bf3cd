//! A heap table with the same rows as a foreign table, made from the reference reader's rows by Postgres' own literals.

use std::path::Path;

use postgres::Client;

use crate::compare::column_names;
use crate::database::{attach, quoted};
use crate::expected::Expected;
use crate::literal::{has_literal, literal};

/// Rows of one INSERT.
const ROWS_AT_ONCE: usize = 500;

/// Attaches the table as `<name>` and loads the same rows into the heap table `<name>_heap`.
/// Gives the columns that both have; those of a type without literals are left out of the heap.
pub fn attach_beside_heap(client: &mut Client, name: &str, location: &Path) -> Vec<String> {
    let expected = Expected::read(location);
    client
        .batch_execute(&attach(name, location, "allow_moved_paths => true"))
        .expect("the table can be attached");
    let names = match column_names(client, name, &expected.columns) {
        Ok(names) => names,
        Err(mismatch) => panic!("{mismatch}"),
    };
    let kept: Vec<usize> = (0..names.len())
        .filter(|at| has_literal(&expected.columns[*at].kind))
        .collect();
    let columns: Vec<String> = kept.iter().map(|at| names[*at].clone()).collect();
    let list = columns.join(", ");
    // The columns have exactly the types of the foreign table's: those are tested elsewhere.
    client
        .batch_execute(&format!(
            "CREATE TABLE {name}_heap AS SELECT {list} FROM {name} WITH NO DATA"
        ))
        .expect("a heap table can be made");
    for rows in expected.all_rows().chunks(ROWS_AT_ONCE) {
        let row = |row: &Vec<crate::value::Value>| {
            let values: Vec<String> = kept
                .iter()
                .map(|at| literal(&expected.columns[*at].kind, &row[*at]))
                .collect();
            format!("({})", values.join(","))
        };
        let rows: Vec<String> = rows.iter().map(row).collect();
        client
            .batch_execute(&format!(
                "INSERT INTO {name}_heap ({list}) VALUES {}",
                rows.join(",")
            ))
            .expect("the rows can be loaded");
    }
    client
        .batch_execute(&format!("ANALYZE {name}_heap"))
        .expect("a heap table can be analysed");
    columns
}

/// The declared types of a table's columns, as Postgres prints them.
pub fn declared_types(client: &mut Client, table: &str) -> Vec<(String, String)> {
    let query = format!(
        "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = {}::regclass AND attnum > 0 ORDER BY attnum",
        quoted(table)
    );
    let rows = client.query(&query, &[]).expect("a catalog query");
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}
