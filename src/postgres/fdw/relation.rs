//! A foreign table opened: its options read, its metadata loaded, its columns matched to fields.
//! Spec: fields are told apart by id; DESIGN: option `field_id`, then `column_name`, then the name.

use std::sync::Arc;

use iceberg_core::catalog::{self, Table};
use iceberg_core::plan::{ScanPlan, plan_files};
use iceberg_core::read::OutputColumn;
use iceberg_core::spec::{Schema, Snapshot, StructType, Type};
use iceberg_core::storage::SharedFileReader;
use iceberg_core::{Error, Result};
use pgrx::PgRelation;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use super::width;
use crate::error::{OrRaise, Report};
use crate::options::table::{ColumnOptions, TableOptions};
use crate::privileges::check_local_read;
use crate::session::wait;
use crate::types::batch::ColumnPlan;
use crate::types::conversion::{Conversion, PostgresType};

/// A foreign table as it is now, with the columns that a query needs.
pub struct ForeignRelation {
    location: String,
    table: Table,
    schema: Arc<Schema>,
    columns: Vec<MatchedColumn>,
}

/// A column of the foreign table and what it stands for.
pub struct MatchedColumn {
    /// Its number in the foreign table, from 1.
    pub attribute_number: i16,
    /// Its declared type.
    pub declared: PostgresType,
    /// What it is in the Iceberg table.
    pub source: OutputColumn,
    /// How its values are converted.
    pub plan: ColumnPlan,
}

impl ForeignRelation {
    /// Opens a foreign table for `role`, matching the columns with these numbers; raises an error
    /// where that cannot be.
    pub fn open(relation: Oid, role: Oid, attribute_numbers: &[i16]) -> Self {
        let options = TableOptions::of_relation(relation);
        check_local_read(role);
        let location = options.location.clone();
        let table = wait(catalog::open_table(options.into_core()));
        let schema = current_schema(&table).or_raise();
        let columns = match_columns(relation, &location, schema.fields(), attribute_numbers);
        Self {
            location,
            table,
            schema,
            columns,
        }
    }

    /// Where the table is.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The snapshot to read; `None` for a table without rows.
    pub fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.table.metadata().current_snapshot()
    }

    /// The schema that rows are read in.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The matched columns, ascending by number.
    pub fn columns(&self) -> &[MatchedColumn] {
        &self.columns
    }

    /// Reads the table's files.
    pub fn files(&self) -> &SharedFileReader {
        self.table.files()
    }

    /// The files of the snapshot.
    pub fn plan_files(&self) -> Arc<ScanPlan> {
        let Some(snapshot) = self.snapshot().map(Arc::clone) else {
            return Arc::default();
        };
        let files = Arc::clone(self.files());
        let metadata = Arc::clone(self.table.metadata());
        Arc::new(wait(async move {
            plan_files(&files, &metadata, &snapshot).await
        }))
    }

    /// About how many bytes a row of the matched columns has.
    pub fn row_width(&self, plan: &ScanPlan) -> i32 {
        width::row_width(&self.columns, plan)
    }
}

/// The schema that rows are read in, which valid metadata always has.
pub fn current_schema(table: &Table) -> Result<Arc<Schema>> {
    table
        .metadata()
        .current_schema()
        .map(Arc::clone)
        .ok_or_else(|| {
            Error::corrupt(
                table.metadata_file(),
                "the current schema is not among its schemas",
            )
        })
}

/// The role whose rights a scan has: the one that Postgres chose, else the current one.
pub fn effective_role(chosen: Oid) -> Oid {
    if chosen == Oid::INVALID {
        // SAFETY: reads a backend variable.
        unsafe { pg_sys::GetUserId() }
    } else {
        chosen
    }
}

fn match_columns(
    relation: Oid,
    location: &str,
    fields: &StructType,
    attribute_numbers: &[i16],
) -> Vec<MatchedColumn> {
    // SAFETY: planner and executor hold a lock on the relation.
    let opened = unsafe { PgRelation::open(relation) };
    let descriptor = opened.tuple_desc();
    attribute_numbers
        .iter()
        .filter_map(|number| descriptor.get(*number as usize - 1))
        .map(|attribute| {
            let options = ColumnOptions::of_column(relation, attribute.attnum);
            let name = crate::encoding::from_server(name_of(attribute)).or_raise();
            let (source, field_type) = match find(&options, &name, fields) {
                Some(found) => found,
                None => no_such_field(&name, &options, location, fields),
            };
            let declared = PostgresType {
                oid: attribute.atttypid,
                typmod: attribute.atttypmod,
            };
            MatchedColumn {
                attribute_number: attribute.attnum,
                declared,
                source,
                plan: ColumnPlan {
                    conversion: Conversion::choose(&name, &field_type, declared).or_raise(),
                    name,
                },
            }
        })
        .collect()
}

/// What a column stands for, and the type of its values.
fn find(options: &ColumnOptions, name: &str, fields: &StructType) -> Option<(OutputColumn, Type)> {
    if let Some(column) = options.metadata_column {
        return Some((OutputColumn::Metadata(column), column.field_type()));
    }
    let field = match (&options.field_id, &options.column_name) {
        (Some(id), _) => fields.field_by_id(*id),
        (None, Some(column_name)) => fields.field_by_name(column_name),
        (None, None) => fields.field_by_name(name),
    }?;
    Some((OutputColumn::Field(field.id), field.field_type.clone()))
}

fn name_of(attribute: &pg_sys::FormData_pg_attribute) -> &std::ffi::CStr {
    // SAFETY: Postgres ends a name with a zero byte within its fixed length.
    unsafe { std::ffi::CStr::from_ptr(attribute.attname.data.as_ptr()) }
}

fn no_such_field(name: &str, options: &ColumnOptions, location: &str, fields: &StructType) -> ! {
    let wanted = match (&options.field_id, &options.column_name) {
        (Some(id), _) => format!("with id {id}"),
        (None, Some(column_name)) => format!("called \"{column_name}\""),
        (None, None) => format!("called \"{name}\""),
    };
    let report = Report::new(
        PgSqlErrorCode::ERRCODE_FDW_COLUMN_NAME_NOT_FOUND,
        format!("column \"{name}\": the Iceberg table at \"{location}\" has no field {wanted}"),
    );
    // Only a field that was looked for by its name can have been missed by its letters' case.
    let wanted_name = match (&options.field_id, &options.column_name) {
        (Some(_), _) => None,
        (None, Some(column_name)) => Some(column_name.as_str()),
        (None, None) => Some(name),
    };
    let same_letters = wanted_name.and_then(|wanted| {
        fields
            .fields()
            .iter()
            .find(|field| field.name.to_lowercase() == wanted.to_lowercase())
    });
    match same_letters {
        Some(field) => report.with_hint(format!(
            "Field names are case-sensitive; there is a field called \"{}\". Name it with the column option \"column_name\".",
            field.name
        )),
        None => report.with_hint(
            "Name the field with the column option \"column_name\" or \"field_id\", or drop the column.",
        ),
    }
    .raise()
}
