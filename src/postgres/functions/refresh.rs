//! `iceberg.refresh`: brings the columns of a foreign table in line with the fields of the Iceberg table that it is over.
//! Spec: "Schema Evolution": fields are told apart by id, whatever they are called.

use std::collections::HashSet;

use iceberg_core::inspect::Row;
use iceberg_core::spec::{FieldReference, FoundField, NestedField, Schema, TableMetadata};
use pgrx::PgRelation;
use pgrx::pg_sys;
use pgrx::prelude::*;
use serde_json::json;

use super::attach::run;
use super::inspect::{check_is_ours, in_ascii};
use super::time_travel::qualified_name;
use crate::encoding::{from_server, to_server};
use crate::error::{OrRaise, Report};
use crate::fdw::foreign_table::{column_definitions, why_not};
use crate::fdw::relation::ForeignRelation;
use crate::fdw::selection::Selection;
use crate::options::TableOptions;
use crate::options::table::ColumnOptions;
use crate::session::tables::Scope;
use crate::sql::{identifier, literal};
use crate::types::conversion::{Conversion, PostgresType};
use crate::types::mapping::column_type;

/// Changes a foreign table's columns, with the rights of the caller, and gives each change as a JSON object in
/// ASCII; `sql/metadata_functions.sql` makes columns of it.
#[pg_extern(sql = r#"
CREATE FUNCTION refresh_rows("table" regclass, drop_columns boolean) RETURNS SETOF text
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
COMMENT ON FUNCTION refresh_rows IS 'what the function refresh is made of';
"#)]
fn refresh_rows(table: pg_sys::Oid, drop_columns: bool) -> SetOfIterator<'static, String> {
    check_is_ours(table);
    let selector = TableOptions::of_relation(table)
        .snapshot
        .unwrap_or_default();
    let selection = Selection {
        selector,
        ..Selection::current()
    };
    // SAFETY: reads a variable of the backend.
    let role = unsafe { pg_sys::GetUserId() };
    let relation = ForeignRelation::open(table, role, &[], Some(selection), Scope::Now);
    let changes = changes(
        &columns_of(table),
        relation.table().metadata(),
        relation.schema(),
        drop_columns,
    );
    let (schema, name) = qualified_name(table);
    let alter = format!(
        "ALTER FOREIGN TABLE {}.{}",
        identifier(&schema),
        identifier(&name)
    );
    let mut rows = Vec::with_capacity(changes.len());
    for change in changes {
        for action in &change.actions {
            let statement = to_server(&format!("{alter} {action}")).unwrap_or_else(|| {
                Report::new(
                    PgSqlErrorCode::ERRCODE_UNTRANSLATABLE_CHARACTER,
                    "a field's name has characters that the database's encoding does not have",
                )
                .raise()
            });
            run(&statement).or_raise();
        }
        rows.push(in_ascii(change.row));
    }
    SetOfIterator::new(rows)
}

/// A column of the foreign table.
struct Column {
    name: String,
    declared: PostgresType,
    options: ColumnOptions,
}

/// What is done to a column, and what is said of it.
struct Change {
    actions: Vec<String>,
    row: Row,
}

impl Change {
    fn new(change: &str, column: &str, detail: String, actions: Vec<String>) -> Self {
        let row = [
            ("change".to_owned(), json!(change)),
            ("column_name".to_owned(), json!(column)),
            ("detail".to_owned(), json!(detail)),
        ];
        Self {
            actions,
            row: row.into_iter().collect(),
        }
    }
}

fn columns_of(table: pg_sys::Oid) -> Vec<Column> {
    // SAFETY: takes a lock and raises an error if there is no such relation.
    let opened =
        unsafe { PgRelation::with_lock(table, pg_sys::AccessShareLock as pg_sys::LOCKMODE) };
    let descriptor = opened.tuple_desc();
    descriptor
        .iter()
        .filter(|attribute| !attribute.attisdropped)
        .map(|attribute| {
            // SAFETY: Postgres ends a name with a zero byte within its fixed length.
            let name = unsafe { std::ffi::CStr::from_ptr(attribute.attname.data.as_ptr()) };
            Column {
                name: from_server(name).or_raise(),
                declared: PostgresType {
                    oid: attribute.atttypid,
                    typmod: attribute.atttypmod,
                },
                options: ColumnOptions::of_column(table, attribute.attnum),
            }
        })
        .collect()
}

fn changes(
    columns: &[Column],
    metadata: &TableMetadata,
    schema: &Schema,
    drop_columns: bool,
) -> Vec<Change> {
    let mut names: HashSet<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut present = HashSet::new();
    let mut changes = Vec::new();
    let fields = columns
        .iter()
        .filter(|column| column.options.metadata_column.is_none())
        .map(|column| (column, field_of(column, metadata, schema)));
    let mut found = Vec::new();
    // Names of dropped columns are free for others.
    for (column, field) in fields {
        match field {
            Some(field) => {
                present.insert(field.id);
                found.push((column, field));
            }
            None if drop_columns => {
                names.remove(&column.name);
                let action = format!("DROP COLUMN {}", identifier(&column.name));
                let detail = "the table has no such field".to_owned();
                changes.push(Change::new("drop", &column.name, detail, vec![action]));
            }
            None => {
                let detail =
                    "the table has no such field; drop_columns => true drops the column".to_owned();
                changes.push(Change::new("keep", &column.name, detail, Vec::new()));
            }
        }
    }
    for (column, field) in found {
        let mut name = column.name.clone();
        if let Some(change) = rename(column, &field, metadata, &names) {
            if change.new_name != name {
                names.remove(&name);
                names.insert(change.new_name.clone());
                name = change.new_name;
            }
            changes.push(change.change);
        }
        if Conversion::choose(&name, &field.field_type, column.declared).is_err() {
            let sql = column_type(&field.field_type).sql;
            let action = format!("ALTER COLUMN {} TYPE pg_catalog.{sql}", identifier(&name));
            let detail = format!("the field is of type {}", field.field_type);
            changes.push(Change::new("type", &name, detail, vec![action]));
        }
    }
    let missing = schema
        .fields()
        .fields()
        .iter()
        .filter(|field| !present.contains(&field.id));
    for (column, definition) in column_definitions(missing.map(AsRef::as_ref), names) {
        let action = format!("ADD COLUMN {definition}");
        let detail = "the table has this field".to_owned();
        changes.push(Change::new("add", &column, detail, vec![action]));
    }
    changes
}

/// The field that a column stands for, also where the field was given another name since.
fn field_of(
    column: &Column,
    metadata: &TableMetadata,
    schema: &Schema,
) -> Option<std::sync::Arc<NestedField>> {
    let name = column.options.column_name.as_ref().unwrap_or(&column.name);
    let wanted = match column.options.field_id {
        Some(id) => FieldReference::Id(id),
        None => FieldReference::Name(name),
    };
    if let FoundField::Field(field) = metadata.find_field(schema, wanted) {
        return Some(field);
    }
    if column.options.field_id.is_some() {
        return None;
    }
    let once = metadata
        .schemas
        .values()
        .rev()
        .find_map(|other| other.fields().field_by_name(name))?;
    schema
        .fields()
        .field_by_id(once.id)
        .map(std::sync::Arc::clone)
}

struct Renaming {
    new_name: String,
    change: Change,
}

/// How a column follows a field that was renamed: only if it was called as the field was once.
fn rename(
    column: &Column,
    field: &NestedField,
    metadata: &TableMetadata,
    taken: &HashSet<String>,
) -> Option<Renaming> {
    let was = |name: &str| {
        metadata
            .schemas
            .values()
            .filter_map(|schema| schema.fields().field_by_id(field.id))
            .any(|other| other.name == name)
    };
    let detail = format!("the field is called \"{}\"", field.name);
    let quoted = identifier(&column.name);
    if let Some(option) = &column.options.column_name {
        let follows = *option != field.name && was(option) && column.options.field_id.is_none();
        let action = format!(
            "ALTER COLUMN {quoted} OPTIONS (SET column_name {})",
            literal(&field.name)
        );
        return follows.then(|| Renaming {
            new_name: column.name.clone(),
            change: Change::new("rename", &column.name, detail, vec![action]),
        });
    }
    if column.name == field.name || !was(&column.name) {
        return None;
    }
    if why_not(&field.name).is_some() || taken.contains(&field.name) {
        // The name stays; a column that was found by it now needs the field's.
        let action = format!(
            "ALTER COLUMN {quoted} OPTIONS (ADD column_name {})",
            literal(&field.name)
        );
        let by_id = column.options.field_id.is_some();
        return (!by_id).then(|| Renaming {
            new_name: column.name.clone(),
            change: Change::new("rename", &column.name, detail, vec![action]),
        });
    }
    let action = format!("RENAME COLUMN {quoted} TO {}", identifier(&field.name));
    Some(Renaming {
        new_name: field.name.clone(),
        change: Change::new("rename", &column.name, detail, vec![action]),
    })
}
