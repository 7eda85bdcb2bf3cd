//! `IMPORT FOREIGN SCHEMA`: a directory of tables becomes `CREATE FOREIGN TABLE` statements.
//! A table that cannot be imported is a warning that says why; the others are imported.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use futures::StreamExt;
use iceberg_core::spec::TableMetadata;
use iceberg_core::{Error, ErrorKind, Result};
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::foreign_table::{NewTable, create_statement};
use crate::catalog;
use crate::encoding::{from_server, to_server};
use crate::error::{OrRaise, Report, sqlstate};
use crate::list;
use crate::options::known::{Kind, Place, find};
use crate::options::{Given, ServerOptions, TableOptions};
use crate::privileges::check_local_read;
use crate::session::wait;

/// How many tables' metadata files are read at a time.
const CONCURRENT_TABLES: usize = 8;

/// The callback for `IMPORT FOREIGN SCHEMA`: gives a list of statements, each a C string.
///
/// # Safety
/// Called by Postgres with its own statement and the id of a server of this wrapper.
#[pg_guard]
pub unsafe extern "C-unwind" fn import_foreign_schema(
    statement: *mut pg_sys::ImportForeignSchemaStmt,
    server: pg_sys::Oid,
) -> *mut pg_sys::List {
    // SAFETY: Postgres gives a valid statement.
    let request = unsafe { Request::read(&*statement) }.or_raise();
    request.given.check(Place::Import);
    let server = ServerOptions::of_server(server);
    list::of_strings(import_statements(&request, &server))
}

/// What a statement asks for.
struct Request {
    remote_schema: String,
    choice: Choice,
    given: Given,
}

/// Which tables are wanted.
enum Choice {
    All,
    LimitTo(Vec<String>),
    Except(Vec<String>),
}

impl Request {
    /// # Safety
    /// The statement's strings and lists are valid.
    unsafe fn read(statement: &pg_sys::ImportForeignSchemaStmt) -> Result<Self> {
        // SAFETY: the caller's promise; the list holds range variables, each with a name.
        let (remote_schema, names, given) = unsafe {
            let names: Result<Vec<String>> =
                list::pointers::<pg_sys::RangeVar>(statement.table_list)
                    .map(|table| from_server(CStr::from_ptr((*table).relname)))
                    .collect();
            (
                from_server(CStr::from_ptr(statement.remote_schema))?,
                names?,
                Given::from_list(statement.options)?,
            )
        };
        Ok(Self {
            remote_schema,
            choice: match statement.list_type {
                pg_sys::ImportForeignSchemaType::FDW_IMPORT_SCHEMA_LIMIT_TO => {
                    Choice::LimitTo(names)
                }
                pg_sys::ImportForeignSchemaType::FDW_IMPORT_SCHEMA_EXCEPT => Choice::Except(names),
                _ => Choice::All,
            },
            given,
        })
    }

    /// Of the tables that there are, those that are wanted, sorted; warns of wanted ones that are not
    /// there.
    fn choose(&self, mut names: Vec<String>) -> Vec<String> {
        names.sort_unstable();
        match &self.choice {
            Choice::All => {}
            Choice::Except(unwanted) => names.retain(|name| !unwanted.contains(name)),
            Choice::LimitTo(wanted) => {
                for name in wanted.iter().filter(|name| !names.contains(name)) {
                    skipped(
                        name,
                        &Error::new(
                            ErrorKind::TableNotFound,
                            format!("\"{}\" has no table of that name", self.remote_schema),
                        ),
                    );
                }
                names.retain(|name| wanted.contains(name));
            }
        }
        names
    }
}

/// How the tables of a remote schema are named in their options.
enum Source {
    /// By the namespace under the warehouse.
    Namespace(String),
    /// By the directory they lie in.
    Directory(String),
}

impl Source {
    fn of(remote_schema: &str) -> Self {
        match Kind::Location.check(remote_schema) {
            Ok(()) => return Self::Directory(remote_schema.to_owned()),
            Err(_) if remote_schema.contains("://") => {}
            Err(_) if Kind::Namespace.check(remote_schema).is_ok() => {
                return Self::Namespace(remote_schema.to_owned());
            }
            Err(_) => {}
        }
        match remote_schema.contains("://") {
            true => Report::new(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!("tables at \"{remote_schema}\" are not supported yet"),
            )
            .with_hint("This version reads local files."),
            false => Report::new(
                PgSqlErrorCode::ERRCODE_FDW_SCHEMA_NOT_FOUND,
                format!("\"{remote_schema}\" cannot be a namespace"),
            )
            .with_hint("Give names of directories under the warehouse separated by dots, or an absolute path or URL."),
        }
        .raise()
    }

    fn directory(&self, server: &ServerOptions) -> String {
        match self {
            Self::Namespace(namespace) => server.namespace_location(namespace),
            Self::Directory(directory) => directory.clone(),
        }
    }

    /// The options that name one of the tables.
    fn options(&self, name: &str) -> Vec<(String, String)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        match self {
            Self::Namespace(namespace) => {
                vec![pair("namespace", namespace), pair("table_name", name)]
            }
            Self::Directory(directory) => {
                let directory = directory.trim_end_matches('/');
                vec![pair("location", &format!("{directory}/{name}"))]
            }
        }
    }
}

/// The statements for the tables that are wanted and can be imported.
fn import_statements(request: &Request, server: &ServerOptions) -> Vec<CString> {
    let source = Source::of(&request.remote_schema);
    // SAFETY: reads a variable of the backend.
    check_local_read(unsafe { pg_sys::GetUserId() });
    let names = request.choose(wait(catalog::list_tables(source.directory(server))));
    let tables: Vec<(String, Given)> = names
        .into_iter()
        .map(|name| {
            let mut options = source.options(&name);
            options.extend(for_each_table(&request.given));
            (name, Given::new(options))
        })
        .collect();
    let opened = load(
        tables
            .iter()
            .map(|(_, given)| TableOptions::read(given, server.clone()))
            .collect(),
    );
    tables
        .iter()
        .zip(opened)
        .filter_map(|((name, given), metadata)| {
            statement(name, given, request, server, metadata)
                .inspect_err(|error| skipped(name, error))
                .ok()
        })
        .collect()
}

/// Those options of the statement that stand on each table.
fn for_each_table(given: &Given) -> impl Iterator<Item = (String, String)> {
    given
        .iter()
        .filter(|(name, _)| find(name).is_some_and(|row| row.places.contains(&Place::Table)))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// The tables' metadata, each or why it cannot be had, in the same order.
fn load(tables: Vec<TableOptions>) -> Vec<Result<Arc<TableMetadata>>> {
    wait(async move {
        Ok(futures::stream::iter(tables)
            .map(|table| catalog::load_metadata(table))
            .buffered(CONCURRENT_TABLES)
            .collect()
            .await)
    })
}

fn statement(
    name: &str,
    given: &Given,
    request: &Request,
    server: &ServerOptions,
    metadata: Result<Arc<TableMetadata>>,
) -> Result<CString> {
    let metadata = metadata?;
    let options: Vec<(&str, &str)> = given.iter().collect();
    let (statement, renamed) = create_statement(
        &NewTable {
            schema: None,
            name,
            server: &server.name,
            options: &options,
            collation: request.given.get("import_collate"),
        },
        catalog::current_schema(&metadata)?,
    )?;
    let statement = to_server(&statement).ok_or_else(|| {
        Error::not_supported(
            "its location has characters that the database's encoding does not have",
        )
    })?;
    for column in renamed {
        column.warn(name);
    }
    Ok(statement)
}

/// Tells the user that a table is left out, and why.
fn skipped(table: &str, why: &Error) {
    Report {
        detail: why.detail().map(str::to_owned),
        hint: why.hint().map(str::to_owned),
        ..Report::new(
            sqlstate(why.kind()),
            format!("table \"{table}\" was not imported: {}", why.message()),
        )
    }
    .warn();
}
