//! Reads every row of a foreign table and compares it with what a reference implementation read, value by value.

use postgres::{Client, SimpleQueryMessage};

use crate::database::{identifier, quoted};
use crate::expected::{Expected, Rows, text_order};
use crate::iceberg_type::{Field, IcebergType};
use crate::postgres_text::column_value;
use crate::value::Value;

/// Why a table could not be read as expected.
#[derive(Debug)]
pub enum Mismatch {
    /// The server refused, with this error.
    Server(postgres::Error),
    /// Rows came, and they are not the expected ones.
    Rows(String),
}

impl From<postgres::Error> for Mismatch {
    fn from(error: postgres::Error) -> Self {
        Mismatch::Server(error)
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Mismatch::Rows(text) => formatter.write_str(text),
            Mismatch::Server(error) => match error.as_db_error() {
                Some(error) => formatter.write_str(&crate::failure::text(error)),
                None => write!(formatter, "{error}"),
            },
        }
    }
}

/// The Postgres column of every Iceberg column, found by the option `field_id`, quoted.
///
/// A column's name may have been shortened to what Postgres allows, so names alone do not tell.
pub fn column_names(
    client: &mut Client,
    table: &str,
    columns: &[Field],
) -> Result<Vec<String>, Mismatch> {
    let query = format!(
        "SELECT attname::text, split_part(option, '=', 2)::bigint FROM pg_attribute, unnest(attfdwoptions) option
         WHERE attrelid = {}::regclass AND attnum > 0 AND NOT attisdropped AND option LIKE 'field_id=%'",
        quoted(table)
    );
    let rows = client.query(&query, &[])?;
    let mut names = Vec::with_capacity(columns.len());
    for column in columns {
        let found = rows.iter().find(|row| row.get::<_, i64>(1) == column.id);
        let found = found.ok_or_else(|| {
            Mismatch::Rows(format!(
                "no column of {table} has the field id {} ({})",
                column.id, column.name
            ))
        })?;
        names.push(identifier(found.get::<_, String>(0)));
    }
    if rows.len() != columns.len() {
        return Err(Mismatch::Rows(format!(
            "{table} has {} columns, expected {}",
            rows.len(),
            columns.len()
        )));
    }
    Ok(names)
}

/// All rows of a query whose columns have these types.
pub fn read_rows(
    client: &mut Client,
    query: &str,
    kinds: &[&IcebergType],
) -> Result<Vec<Vec<Value>>, Mismatch> {
    client.batch_execute("SET timezone = 'UTC'")?;
    let mut rows = Vec::new();
    for message in client.simple_query(query)? {
        if let SimpleQueryMessage::Row(row) = message {
            let value = |(at, kind): (usize, &&IcebergType)| column_value(kind, row.get(at));
            rows.push(
                kinds
                    .iter()
                    .enumerate()
                    .map(value)
                    .collect::<Result<_, _>>()
                    .map_err(Mismatch::Rows)?,
            );
        }
    }
    Ok(rows)
}

/// Compares all rows of a foreign table with the expected ones.
pub fn compare_table(
    client: &mut Client,
    table: &str,
    expected: &Expected,
) -> Result<(), Mismatch> {
    let names = column_names(client, table, &expected.columns)?;
    let kinds: Vec<_> = expected.columns.iter().map(|column| &column.kind).collect();
    let rows = read_rows(
        client,
        &format!("SELECT {} FROM {table}", names.join(", ")),
        &kinds,
    )?;
    if rows.len() != expected.count {
        return Err(Mismatch::Rows(format!(
            "{} rows, expected {}",
            rows.len(),
            expected.count
        )));
    }
    let count: i64 = client
        .query_one(&format!("SELECT count(*) FROM {table}"), &[])?
        .get(0);
    if count != expected.count as i64 {
        return Err(Mismatch::Rows(format!(
            "count(*) is {count}, expected {}",
            expected.count
        )));
    }
    match &expected.rows {
        Rows::All(wanted) => compare_rows(&expected.columns, rows, wanted.clone()),
        Rows::Head(wanted) => {
            let mut rows = rows;
            rows.sort_by_key(|row| text_order(row));
            rows.truncate(wanted.len());
            compare_rows(&expected.columns, rows, wanted.clone())
        }
        Rows::Unknown => Ok(()),
    }
}

/// Compares two bags of rows.
pub fn compare_rows(
    columns: &[Field],
    mut rows: Vec<Vec<Value>>,
    mut wanted: Vec<Vec<Value>>,
) -> Result<(), Mismatch> {
    for row in wanted.iter_mut().chain(rows.iter_mut()) {
        for (value, column) in row.iter_mut().zip(columns) {
            if is_jsonb(&column.kind) {
                *value = std::mem::replace(value, Value::Null).as_in_jsonb();
            }
        }
    }
    rows.sort();
    wanted.sort();
    for (row, wanted) in rows.iter().zip(&wanted) {
        for ((value, wanted_value), column) in row.iter().zip(wanted).zip(columns) {
            if value != wanted_value {
                let text = format!(
                    "column {}: {value:?}, expected {wanted_value:?}, in the row {row:?}, expected {wanted:?}",
                    column.name
                );
                return Err(Mismatch::Rows(text));
            }
        }
    }
    if rows.len() == wanted.len() {
        Ok(())
    } else {
        Err(Mismatch::Rows(format!(
            "{} rows, expected {}",
            rows.len(),
            wanted.len()
        )))
    }
}

/// Whether a column of this type is a `jsonb` column.
pub fn is_jsonb(kind: &IcebergType) -> bool {
    match kind {
        IcebergType::List(element) => !element.is_scalar(),
        kind => !kind.is_scalar(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column() -> Vec<Field> {
        vec![Field {
            id: 1,
            name: "d".into(),
            required: false,
            kind: IcebergType::Double,
        }]
    }

    #[test]
    fn the_sign_of_zero_and_the_number_of_equal_rows_count() {
        let (zero, negative) = (vec![Value::double(0.0)], vec![Value::double(-0.0)]);
        assert!(compare_rows(&column(), vec![zero.clone()], vec![zero.clone()]).is_ok());
        assert!(compare_rows(&column(), vec![zero.clone()], vec![negative]).is_err());
        assert!(compare_rows(&column(), vec![zero.clone(), zero.clone()], vec![zero]).is_err());
    }
}
