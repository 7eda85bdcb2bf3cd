//! A foreign table opened: its options read, its metadata loaded, its columns matched to fields.
//! Spec: fields are told apart by id; DESIGN: option `field_id`, then `column_name`, then the name.

use std::sync::Arc;

use iceberg_core::catalog::Table;
use iceberg_core::plan::{ScanPlan, plan_changes, plan_files};
use iceberg_core::read::{MetadataColumn, OutputColumn};
use iceberg_core::spec::{
    FieldReference, FoundField, ScanFilter, Schema, SelectedSnapshot, Snapshot, StructType,
    TableMetadata, Type,
};
use iceberg_core::storage::SharedFileReader;
use pgrx::PgRelation;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use super::selection::Selection;
use super::width;
use crate::error::{OrRaise, Report};
use crate::options::table::{ColumnOptions, TableOptions};
use crate::session::tables::{self, Scope};
use crate::session::wait;
use crate::types::batch::ColumnPlan;
use crate::types::conversion::{Conversion, PostgresType};

/// A foreign table in the state that is asked for, with the columns that a query needs.
pub struct ForeignRelation {
    location: String,
    table: Table,
    selection: Selection,
    selected: SelectedSnapshot,
    columns: Vec<MatchedColumn>,
    /// Numbers of columns that did not exist in that state.
    missing: Vec<i16>,
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
    /// Opens a foreign table for `role` in the state that a query asks for, or else settings and options,
    /// matching the columns with these numbers; raises an error where that cannot be.
    pub fn open(
        relation: Oid,
        role: Oid,
        attribute_numbers: &[i16],
        selection: Option<Selection>,
        scope: Scope,
    ) -> Self {
        let options = TableOptions::of_relation(relation);
        let selection = selection.unwrap_or_else(|| Selection::of_table(&options));
        let location = options.location.clone();
        let table = tables::open(options.into_core(role), scope);
        let metadata = table.metadata();
        let selected = metadata.select_snapshot(&selection.selector).or_raise();
        let columns = match_columns(
            relation,
            &location,
            metadata,
            &selected.schema,
            attribute_numbers,
        );
        let is_matched = |number: &i16| {
            columns
                .iter()
                .any(|column: &MatchedColumn| column.attribute_number == *number)
        };
        let missing = attribute_numbers.iter().copied();
        let missing = missing.filter(|number| !is_matched(number)).collect();
        Self {
            location,
            table,
            selection,
            selected,
            columns,
            missing,
        }
    }

    /// Where the table is.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The snapshot to read; `None` for a table without rows.
    pub fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.selected.snapshot.as_ref()
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Snapshot and schema of the state.
    pub fn selected(&self) -> &SelectedSnapshot {
        &self.selected
    }

    /// The state that was asked for, and where.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The schema that rows are read in.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.selected.schema
    }

    /// The matched columns, ascending by number; without those that did not exist in that state, where all
    /// rows have null.
    pub fn columns(&self) -> &[MatchedColumn] {
        &self.columns
    }

    /// The matched column with this number.
    pub fn column(&self, number: i16) -> Option<&MatchedColumn> {
        self.columns
            .iter()
            .find(|column| column.attribute_number == number)
    }

    /// Whether the column with this number was asked for and did not exist in that state.
    pub fn is_missing(&self, number: i16) -> bool {
        self.missing.contains(&number)
    }

    /// Reads the table's files.
    pub fn files(&self) -> &SharedFileReader {
        self.table.files()
    }

    /// The files in which rows can be that a filter wants: of the snapshot, or of the changes that are read.
    pub fn plan_files(&self, filter: &ScanFilter) -> Arc<ScanPlan> {
        let Some(snapshot) = self.snapshot().map(Arc::clone) else {
            return Arc::default();
        };
        let files = Arc::clone(self.files());
        let metadata = Arc::clone(self.table.metadata());
        let filter = filter.clone();
        let changes = self.selected.changes.clone();
        Arc::new(wait(async move {
            match changes {
                None => plan_files(&files, &metadata, &snapshot, &filter).await,
                Some(made_by) => plan_changes(&files, &metadata, &made_by, &filter).await,
            }
        }))
    }

    /// About how many bytes a row of the matched columns has.
    pub fn row_width(&self, plan: &ScanPlan) -> i32 {
        width::row_width(&self.columns, plan)
    }
}

/// The table of a foreign table, opened for `role` in the state that its scope sees, which `metadata_file` decides if it
/// is given; raises an error where that cannot be.
pub fn table_of(relation: Oid, role: Oid, scope: Scope, metadata_file: Option<String>) -> Table {
    let options = TableOptions::of_relation(relation).into_core(role);
    match metadata_file {
        None => tables::open(options, scope),
        Some(file) => tables::open_as_of(options, scope, file),
    }
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
    metadata: &TableMetadata,
    schema: &Schema,
    attribute_numbers: &[i16],
) -> Vec<MatchedColumn> {
    // SAFETY: planner and executor hold a lock on the relation.
    let opened = unsafe { PgRelation::open(relation) };
    let descriptor = opened.tuple_desc();
    attribute_numbers
        .iter()
        .filter_map(|number| descriptor.get(*number as usize - 1))
        .filter_map(|attribute| {
            let options = ColumnOptions::of_column(relation, attribute.attnum);
            let name = crate::encoding::from_server(name_of(attribute)).or_raise();
            let (source, field_type) = match find(&options, &name, metadata, schema) {
                Found::Column(source, field_type) => (source, field_type),
                Found::NotThen => return None,
                Found::Unknown => no_such_field(&name, &options, location, schema.fields()),
            };
            let declared = PostgresType {
                oid: attribute.atttypid,
                typmod: attribute.atttypmod,
            };
            Some(MatchedColumn {
                attribute_number: attribute.attnum,
                declared,
                source,
                plan: ColumnPlan {
                    conversion: Conversion::choose(&name, &field_type, declared)
                        .map_err(|error| match source {
                            OutputColumn::Metadata(MetadataColumn::Partition) => {
                                error.with_hint("Declare the column as jsonb.")
                            }
                            _ => error,
                        })
                        .or_raise(),
                    name,
                },
            })
        })
        .collect()
}

/// What a column stands for.
enum Found {
    /// This, whose values have this type.
    Column(OutputColumn, Type),
    /// A field that did not exist in the state that is read.
    NotThen,
    /// Nothing.
    Unknown,
}

fn find(options: &ColumnOptions, name: &str, metadata: &TableMetadata, schema: &Schema) -> Found {
    if let Some(column) = options.metadata_column {
        return Found::Column(OutputColumn::Metadata(column), column.field_type());
    }
    let wanted = match (&options.field_id, &options.column_name) {
        (Some(id), _) => FieldReference::Id(*id),
        (None, Some(column_name)) => FieldReference::Name(column_name),
        (None, None) => FieldReference::Name(name),
    };
    match metadata.find_field(schema, wanted) {
        FoundField::Field(field) => {
            Found::Column(OutputColumn::Field(field.id), field.field_type.clone())
        }
        FoundField::NotThen => Found::NotThen,
        FoundField::Unknown => Found::Unknown,
    }
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
