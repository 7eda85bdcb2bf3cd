//! The `CREATE FOREIGN TABLE` statement of an Iceberg table: a column for every field of a schema,
//! tied to it by field id, under a name that Postgres can hold.

use std::collections::HashSet;
use std::ffi::CString;

use iceberg_core::spec::{NestedField, Schema};
use iceberg_core::{Error, ErrorKind, Result};
use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::encoding::to_server;
use crate::error::Report;
use crate::sql::{identifier, literal};
use crate::types::mapping::column_type;

/// The longest name in bytes; Postgres cuts longer ones off, also where that makes two the same.
pub const MAX_NAME: usize = pg_sys::NAMEDATALEN as usize - 1;

/// The most columns that a foreign table can have.
const MAX_COLUMNS: usize = pg_sys::MaxHeapAttributeNumber as usize;

/// Names that every table's rows have already.
const SYSTEM_COLUMNS: &[&str] = &["tableoid", "ctid", "xmin", "cmin", "xmax", "cmax"];

/// The foreign table to be made.
#[derive(Debug)]
pub struct NewTable<'a> {
    /// The schema it goes into; `None` leaves that to who runs the statement.
    pub schema: Option<&'a str>,
    /// Its name.
    pub name: &'a str,
    /// The server.
    pub server: &'a str,
    /// Its options, as (name, value).
    pub options: &'a [(&'a str, &'a str)],
    /// The collation of text columns.
    pub collation: Option<&'a str>,
}

/// A column of the new table that could not keep its field's name.
#[derive(Debug)]
pub struct Renamed {
    column: String,
    field: String,
    why: &'static str,
}

impl Renamed {
    /// Tells the user.
    pub fn warn(&self, table: &str) {
        Report::new(
            PgSqlErrorCode::ERRCODE_WARNING,
            format!(
                "column \"{}\" of table \"{table}\" is called \"{}\" in Postgres",
                self.field.escape_debug(),
                self.column
            ),
        )
        .with_detail(self.why)
        .warn();
    }
}

/// The statement that makes the table with the fields of a schema, and the columns that are called
/// otherwise there.
///
/// # Errors
/// `NotSupported` where Postgres cannot hold such a table: too many columns, or a name or option
/// that is too long or has characters which the database's encoding lacks.
pub fn create_statement(table: &NewTable<'_>, schema: &Schema) -> Result<(CString, Vec<Renamed>)> {
    check_name(table.name)?;
    let fields = schema.fields().fields();
    if fields.len() > MAX_COLUMNS {
        return Err(Error::not_supported(format!(
            "it has {} columns, a foreign table can have at most {MAX_COLUMNS}",
            fields.len()
        )));
    }
    if let Some(field) = fields.iter().find(|field| field.id < 0) {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!("its field \"{}\" has the id {}", field.name, field.id),
        ));
    }
    let mut names = ColumnNames::of(fields.iter().map(|field| field.name.as_str()));
    let mut renamed = Vec::new();
    let mut columns = Vec::with_capacity(fields.len());
    for field in fields {
        let name = names.take(field);
        columns.push(column(field, &name, table.collation));
        if let Some(why) = name.why {
            renamed.push(Renamed {
                column: name.column,
                field: field.name.clone(),
                why,
            });
        }
    }
    let options: Vec<String> = table
        .options
        .iter()
        .map(|(name, value)| format!("{} {}", identifier(name), literal(value)))
        .collect();
    let schema = table
        .schema
        .map(|schema| format!("{}.", identifier(schema)))
        .unwrap_or_default();
    let statement = format!(
        "CREATE FOREIGN TABLE {schema}{} (\n  {}\n) SERVER {} OPTIONS ({})",
        identifier(table.name),
        columns.join(",\n  "),
        identifier(table.server),
        options.join(", ")
    );
    let statement = to_server(&statement).ok_or_else(|| {
        Error::not_supported(
            "its location has characters that the database's encoding does not have",
        )
    })?;
    Ok((statement, renamed))
}

/// Name and definition of a column for each field, to be added to a table that has columns of the names `taken`.
pub fn column_definitions<'a>(
    fields: impl Iterator<Item = &'a NestedField>,
    taken: HashSet<String>,
) -> Vec<(String, String)> {
    let mut names = ColumnNames {
        kept: HashSet::new(),
        taken,
    };
    fields
        .map(|field| {
            let name = names.take(field);
            let definition = column(field, &name, None);
            (name.column, definition)
        })
        .collect()
}

/// Refuses a table whose name Postgres cannot hold.
fn check_name(name: &str) -> Result<()> {
    match to_server(name) {
        Some(held) if held.count_bytes() <= MAX_NAME => Ok(()),
        Some(_) => Err(
            Error::not_supported(format!("its name is longer than {MAX_NAME} bytes"))
                .with_hint("iceberg.attach gives it another name."),
        ),
        None => Err(Error::new(
            ErrorKind::NotSupported,
            "its name has characters that the database's encoding does not have",
        )
        .with_hint("iceberg.attach gives it another name.")),
    }
}

fn column(field: &NestedField, name: &ColumnName, collation: Option<&str>) -> String {
    let declared = column_type(&field.field_type);
    let collate = match collation {
        Some(collation) if declared.collatable => format!(" COLLATE {}", identifier(collation)),
        _ => String::new(),
    };
    // The name is kept for a reader where it can be; the id alone decides.
    let column_name = match name.why {
        Some(_) if !field.name.is_empty() && to_server(&field.name).is_some() => {
            format!(", column_name {}", literal(&field.name))
        }
        _ => String::new(),
    };
    format!(
        "{} pg_catalog.{} OPTIONS (field_id '{}'{column_name}){collate}",
        identifier(&name.column),
        declared.sql,
        field.id
    )
}

/// What a column is called, and why that is not the field's name.
struct ColumnName {
    column: String,
    why: Option<&'static str>,
}

/// Gives every field a column name that is its own.
struct ColumnNames<'a> {
    /// Names that some field keeps.
    kept: HashSet<&'a str>,
    taken: HashSet<String>,
}

impl<'a> ColumnNames<'a> {
    fn of(names: impl Iterator<Item = &'a str>) -> Self {
        Self {
            kept: names.filter(|name| why_not(name).is_none()).collect(),
            taken: HashSet::new(),
        }
    }

    fn take(&mut self, field: &NestedField) -> ColumnName {
        let why = why_not(&field.name);
        if why.is_none() && self.taken.insert(field.name.clone()) {
            return ColumnName {
                column: field.name.clone(),
                why: None,
            };
        }
        let holds = to_server(&field.name).is_some() && !field.name.is_empty();
        let stem = if holds { field.name.as_str() } else { "column" };
        let column = (0..)
            .map(|attempt: usize| match attempt {
                0 => format!("_{}", field.id),
                _ => format!("_{}_{attempt}", field.id),
            })
            .map(|suffix| format!("{}{suffix}", clip(stem, MAX_NAME - suffix.len())))
            .find(|column| !self.kept.contains(column.as_str()) && !self.taken.contains(column))
            .unwrap_or_default();
        self.taken.insert(column.clone());
        ColumnName {
            column,
            why: why.or(Some("Another column has the same name.")),
        }
    }
}

/// Why Postgres cannot hold a column of this name, if it cannot.
pub fn why_not(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("Its name is empty.")
    } else if SYSTEM_COLUMNS.contains(&name) {
        Some("Every table in Postgres has a system column of that name.")
    } else {
        match to_server(name) {
            None => Some("Its name has characters that the database cannot hold."),
            Some(held) if held.count_bytes().max(name.len()) > MAX_NAME => {
                Some("Its name is longer than Postgres allows.")
            }
            Some(_) => None,
        }
    }
}

/// As many whole characters from the front as fit in so many bytes.
fn clip(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
