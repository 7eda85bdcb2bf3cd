//! `iceberg.attach`: one call makes a foreign table with exactly the columns of an Iceberg table.

use std::ffi::{CStr, CString};

use iceberg_core::catalog;
use iceberg_core::{Error, ErrorKind, Result};
use pgrx::AnyElement;
use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::encoding::{from_server, to_server};
use crate::error::{OrRaise, Report};
use crate::fdw::foreign_table::{NewTable, create_statement};
use crate::fdw::selection::timestamp_ms;
use crate::options::known::Place;
use crate::options::{Given, ServerOptions, TableOptions};
use crate::session::wait;

/// Makes the foreign table `name` with the columns of the table at `location` in one of its states, by
/// default the current one, with the rights of the
/// caller, and gives its id. `name` is an SQL name and may carry its schema; without one the table
/// goes into `schema`, by default the first schema of the search path.
#[pg_extern(sql = r#"
CREATE FUNCTION attach(
    name text,
    server name,
    location text,
    schema name DEFAULT NULL,
    allow_moved_paths boolean DEFAULT false,
    metadata_file_path text DEFAULT NULL,
    metadata_table_uuid text DEFAULT NULL,
    recent_metadata_file_by_last_updated_ms boolean DEFAULT NULL,
    import_collate text DEFAULT NULL,
    at_snapshot bigint DEFAULT NULL,
    at_timestamp timestamptz DEFAULT NULL,
    at_ref text DEFAULT NULL
) RETURNS regclass
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
COMMENT ON FUNCTION attach IS 'creates a foreign table with the columns of an Iceberg table';
"#)]
#[allow(clippy::too_many_arguments)]
fn attach(
    name: Option<AnyElement>,
    server: Option<&CStr>,
    location: Option<AnyElement>,
    schema: Option<&CStr>,
    allow_moved_paths: Option<bool>,
    metadata_file_path: Option<AnyElement>,
    metadata_table_uuid: Option<AnyElement>,
    recent_metadata_file_by_last_updated_ms: Option<bool>,
    import_collate: Option<AnyElement>,
    at_snapshot: Option<i64>,
    at_timestamp: Option<AnyElement>,
    at_ref: Option<AnyElement>,
) -> pg_sys::Oid {
    let name = needed("name", text(name));
    let server = needed(
        "server",
        server.map(|server| from_server(server).or_raise()),
    );
    let schema = schema.map(|schema| from_server(schema).or_raise());
    let options = [
        ("location", Some(needed("location", text(location)))),
        ("metadata_file_path", text(metadata_file_path)),
        ("metadata_table_uuid", text(metadata_table_uuid)),
        (
            "recent_metadata_file_by_last_updated_ms",
            recent_metadata_file_by_last_updated_ms.map(|flag| flag.to_string()),
        ),
        (
            "allow_moved_paths",
            allow_moved_paths
                .filter(|flag| *flag)
                .map(|flag| flag.to_string()),
        ),
        ("snapshot_id", at_snapshot.map(|id| id.to_string())),
        (
            "timestamp_ms",
            // The function's declaration makes the datum a timestamp with time zone.
            at_timestamp.map(|time| timestamp_ms(time.datum().value() as i64).to_string()),
        ),
        ("ref", text(at_ref)),
    ];
    let given = Given::new(
        options
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect(),
    );
    given.check(Place::Table);
    let server = ServerOptions::by_name(&server);
    // SAFETY: reads a variable of the backend.
    let role = unsafe { pg_sys::GetUserId() };
    let table_options = TableOptions::read(&given, server.clone());
    let selector = table_options.snapshot.clone().unwrap_or_default();
    let table = wait(catalog::open_table(table_options.into_core(role)));
    let selected = table.metadata().select_snapshot(&selector).or_raise();
    let target = Target::find(&name, schema.as_deref());
    let options: Vec<(&str, &str)> = given.iter().collect();
    let collation = text(import_collate);
    let (statement, renamed) = create_statement(
        &NewTable {
            schema: Some(&target.schema),
            name: &target.name,
            server: &server.name,
            options: &options,
            collation: collation.as_deref(),
        },
        &selected.schema,
    )
    .or_raise();
    run(&statement).or_raise();
    for column in renamed {
        column.warn(&target.name);
    }
    target.relation()
}

/// The schema and the name that the new table gets.
struct Target {
    schema: String,
    schema_id: pg_sys::Oid,
    name: String,
}

impl Target {
    /// Reads an SQL name, which may carry a schema; raises an error if it and `schema` both say one,
    /// if it is no name, or if there is no such schema.
    fn find(name: &str, schema: Option<&str>) -> Self {
        let held_name = held(name);
        // SAFETY: the calls read the text and allocate in the current memory context, or raise errors.
        let (relation, written) = unsafe {
            let relation = pg_sys::makeRangeVarFromNameList(pg_sys::textToQualifiedNameList(
                pg_sys::cstring_to_text(held_name.as_ptr()),
            ));
            (relation, !(*relation).schemaname.is_null())
        };
        let schema_held = schema.map(held);
        if let Some(schema) = &schema_held {
            if written {
                Report::new(
                    PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
                    format!(
                        "a schema is given twice: in the name {name} and as the argument \"schema\""
                    ),
                )
                .raise();
            }
            // SAFETY: the range variable is ours; the text lives until the end of this function.
            unsafe { (*relation).schemaname = schema.as_ptr().cast_mut() };
        }
        // SAFETY: the range variable is complete; the names are zero-ended texts or null pointers.
        let (schema_id, schema, name) = unsafe {
            let schema_id = pg_sys::RangeVarGetCreationNamespace(relation);
            let schema = pg_sys::get_namespace_name(schema_id);
            let schema = (!schema.is_null()).then(|| CStr::from_ptr(schema));
            (schema_id, schema, CStr::from_ptr((*relation).relname))
        };
        Self {
            schema: schema
                .map(from_server)
                .transpose()
                .or_raise()
                .unwrap_or_default(),
            schema_id,
            name: from_server(name).or_raise(),
        }
    }

    /// The table, once it was made.
    fn relation(&self) -> pg_sys::Oid {
        let name = held(&self.name);
        // SAFETY: looks the name up in the catalogs.
        unsafe { pg_sys::get_relname_relid(name.as_ptr(), self.schema_id) }
    }
}

/// The text of an argument; raises an error if it is not valid in UTF-8.
pub fn text(argument: Option<AnyElement>) -> Option<String> {
    let argument = argument?;
    // SAFETY: the function's declaration makes the datum a text; the copy ends with a zero byte.
    let copy = unsafe { CStr::from_ptr(pg_sys::text_to_cstring(argument.datum().cast_mut_ptr())) };
    Some(from_server(copy).or_raise())
}

/// The value of an argument that must not be null.
fn needed(argument: &str, value: Option<String>) -> String {
    value.unwrap_or_else(|| {
        Report::new(
            PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("argument \"{argument}\" of iceberg.attach must not be null"),
        )
        .raise()
    })
}

/// A text that came from the server, for the server.
fn held(text: &str) -> CString {
    to_server(text).unwrap_or_default()
}

/// Runs a statement with the rights of the caller.
pub fn run(statement: &CStr) -> Result<()> {
    Spi::connect_mut(|client| client.update(statement, None, &[]).map(|_| ())).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("a statement of this extension failed: {error}"),
        )
    })
}
