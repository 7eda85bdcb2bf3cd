//! `IMPORT FOREIGN SCHEMA`: a directory of tables becomes `CREATE FOREIGN TABLE` statements.
//! A table that cannot be imported is a warning that says why; the others are imported.

use std::ffi::{CStr, CString};

use futures::StreamExt;
use iceberg_core::catalog::{self, Catalog, PathCatalog, Table, TableListing};
use iceberg_core::spec::SnapshotSelector;
use iceberg_core::{Error, ErrorKind, Result};
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::foreign_table::{MAX_NAME, NewTable, create_statement};
use crate::encoding::from_server;
use crate::error::{OrRaise, Report, raise, sqlstate};
use crate::list;
use crate::options::known::{self, Place};
use crate::options::{Given, ServerOptions, TableOptions};
use crate::privileges::check_read;
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

    /// What holds the tables: the option `location`, for a path may be longer than an identifier, or
    /// the remote schema.
    fn directory(&self) -> &str {
        self.given.get("location").unwrap_or(&self.remote_schema)
    }

    /// Of the tables that there are, those that are wanted; warns of wanted ones that are not there.
    fn choose<'a>(&self, listing: &'a TableListing) -> Vec<&'a str> {
        for broken in &listing.skipped {
            if self.wants(&broken.name) {
                skipped(
                    &broken.name,
                    &Error::new(ErrorKind::TableNotFound, broken.reason.as_str()),
                );
            }
        }
        if let Choice::LimitTo(wanted) = &self.choice {
            let is_there = |name: &String| {
                listing.tables.contains(name)
                    || listing.skipped.iter().any(|broken| broken.name == *name)
            };
            for name in wanted.iter().filter(|name| !is_there(name)) {
                let message = format!("\"{}\" has no table of that name", self.directory());
                skipped(name, &Error::new(ErrorKind::TableNotFound, message));
            }
        }
        listing
            .tables
            .iter()
            .map(String::as_str)
            .filter(|name| self.wants(name))
            .collect()
    }

    fn wants(&self, name: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|other| other == name);
        match &self.choice {
            Choice::All => true,
            Choice::LimitTo(wanted) => has(wanted),
            Choice::Except(unwanted) => !has(unwanted),
        }
    }
}

/// A remote schema: what it is called, and what it holds.
struct RemoteSchema {
    name: RemoteName,
    listing: TableListing,
}

/// How the tables of a remote schema are named in their options.
enum RemoteName {
    /// By the namespace under the warehouse.
    Namespace(String),
    /// By the directory they lie in.
    Directory(String),
}

impl RemoteSchema {
    /// Lists the remote schema; raises an error if there is none, or if the role may not read there.
    fn list(name: &str, server: &ServerOptions, role: pg_sys::Oid) -> Self {
        let by_directory = name.contains(['/', ':']);
        match by_directory {
            true => check_read(name, role),
            false => check_read(server.warehouse_of(name), role),
        }
        let catalog = server.catalog(role);
        let named = name.to_owned();
        let found = wait(async move { Ok(find(&catalog, &named).await) });
        match found {
            Ok((listing, None)) => Self {
                name: match by_directory {
                    true => RemoteName::Directory(name.to_owned()),
                    false => RemoteName::Namespace(name.to_owned()),
                },
                listing,
            },
            Ok((listing, Some(directory))) => Self {
                name: RemoteName::Directory(directory),
                listing,
            },
            Err(error) if error.kind() == ErrorKind::TableNotFound => Report {
                hint: match by_directory && name.len() == MAX_NAME {
                    true => Some("The name of a remote schema is cut off at 63 bytes; give longer paths as the option \"location\".".to_owned()),
                    false => error.hint().map(str::to_owned),
                },
                ..Report::new(
                    PgSqlErrorCode::ERRCODE_FDW_SCHEMA_NOT_FOUND,
                    error.message(),
                )
            }
            .raise(),
            Err(error) => raise(error),
        }
    }

    /// The options that name one of the tables.
    fn options(&self, table: &str) -> Vec<(String, String)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        match &self.name {
            RemoteName::Namespace(namespace) => {
                vec![pair("namespace", namespace), pair("table_name", table)]
            }
            RemoteName::Directory(directory) => {
                let directory = directory.trim_end_matches('/');
                vec![pair("location", &format!("{directory}/{table}"))]
            }
        }
    }
}

/// Lists a namespace. Where `a.b` is not `<warehouse>/a/b` but there is a directory
/// `<warehouse>/a.b`, as Hive's warehouses have them, that directory, which is then given too.
async fn find(catalog: &PathCatalog, name: &str) -> Result<(TableListing, Option<String>)> {
    let missing = match catalog.list_tables(name).await {
        Err(error) if error.kind() == ErrorKind::TableNotFound => error,
        listed => return Ok((listed?, None)),
    };
    let Some(warehouse) = &catalog.warehouse else {
        return Err(missing);
    };
    if name.contains(['/', ':']) || !name.contains('.') {
        return Err(missing);
    }
    let directory = format!("{}/{name}", warehouse.trim_end_matches('/'));
    match catalog.list_tables(&directory).await {
        Ok(listing) => Ok((listing, Some(directory))),
        Err(_) => Err(missing),
    }
}

/// The statements for the tables that are wanted and can be imported.
fn import_statements(request: &Request, server: &ServerOptions) -> Vec<CString> {
    // SAFETY: reads a variable of the backend.
    let role = unsafe { pg_sys::GetUserId() };
    let remote = RemoteSchema::list(request.directory(), server, role);
    let tables: Vec<(&str, Given)> = request
        .choose(&remote.listing)
        .into_iter()
        .map(|name| {
            let mut options = remote.options(name);
            options.extend(for_each_table(&request.given));
            (name, Given::new(options))
        })
        .collect();
    let opened = open(
        tables
            .iter()
            .map(|(_, given)| TableOptions::read(given, server.clone()).into_core(role))
            .collect(),
    );
    tables
        .iter()
        .zip(opened)
        .filter_map(|((name, given), table)| {
            statement(name, given, request, server, table)
                .inspect_err(|error| skipped(name, error))
                .ok()
        })
        .collect()
}

/// Those options of the statement that stand on each table.
fn for_each_table(given: &Given) -> impl Iterator<Item = (String, String)> {
    given
        .iter()
        .filter(|(name, _)| {
            *name != "location"
                && known::find(name).is_some_and(|row| row.places.contains(&Place::Table))
        })
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// The tables, each or why it cannot be had, in the same order.
fn open(tables: Vec<catalog::TableOptions>) -> Vec<Result<Table>> {
    wait(async move {
        Ok(futures::stream::iter(tables)
            .map(catalog::open_table)
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
    table: Result<Table>,
) -> Result<CString> {
    let options: Vec<(&str, &str)> = given.iter().collect();
    let (statement, renamed) = create_statement(
        &NewTable {
            schema: None,
            name,
            server: &server.name,
            options: &options,
            collation: request.given.get("import_collate"),
        },
        &table?
            .metadata()
            .select_snapshot(&SnapshotSelector::Current)?
            .schema,
    )?;
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
