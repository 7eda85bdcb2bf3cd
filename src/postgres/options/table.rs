//! What the options of a foreign table, its server and its columns say together.
//! A table's own option goes before its server's; the rest are the defaults.

use std::ffi::CStr;

use iceberg_core::Result;
use iceberg_core::catalog::{self, MetadataSelection, PathCatalog, TableIdent};
use iceberg_core::read::MetadataColumn;
use iceberg_core::spec::SnapshotSelector;
use iceberg_core::storage::StoreSettings;
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::given::{Given, default};
use super::known::{self, Kind, kind, location_list};
use super::mapping;
use crate::encoding::{from_server, to_server};
use crate::error::{OrRaise, Report};
use crate::fdw::import::import_foreign_schema;
use crate::privileges::check_read;

/// The options of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The server's name.
    pub name: String,
    /// The directory that holds the namespaces.
    pub warehouse: Option<String>,
    /// Further places in which files may lie.
    pub allowed_locations: Vec<String>,
    id: pg_sys::Oid,
    given: Given,
}

/// The options of a foreign table, with those of its server where they are not its own.
#[derive(Debug, Clone)]
pub struct TableOptions {
    /// The table's directory or one of its metadata files, as a path or URL.
    pub location: String,
    /// Exactly this metadata file.
    pub metadata_file_path: Option<String>,
    /// Only metadata files of this table.
    pub metadata_table_uuid: Option<String>,
    /// Whether the latest `last-updated-ms` decides instead of the highest version.
    pub recent_metadata_file_by_last_updated_ms: bool,
    /// The state to read, if one is given.
    pub snapshot: Option<SnapshotSelector>,
    /// Whether the directory may have been moved.
    pub allow_moved_paths: bool,
    /// How old kept metadata may be, in milliseconds.
    pub metadata_staleness_ms: u64,
    /// Whether the table may be changed.
    pub updatable: bool,
    /// The server's options.
    pub server: ServerOptions,
}

/// The options of one column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnOptions {
    /// The field it is, whatever its name.
    pub field_id: Option<i32>,
    /// The name of the field.
    pub column_name: Option<String>,
    /// What it tells about the row, if it is no field.
    pub metadata_column: Option<MetadataColumn>,
}

impl ServerOptions {
    /// The options of the server with this id; raises an error if there is none.
    pub fn of_server(server: pg_sys::Oid) -> Self {
        // SAFETY: gives a server in the current memory context or raises an error.
        unsafe {
            let found = pg_sys::GetForeignServer(server);
            Self::read(
                server,
                CStr::from_ptr((*found).servername),
                (*found).options,
            )
        }
        .or_raise()
    }

    /// The options of the server of this name; raises an error if there is none, or if it is one of
    /// another foreign data wrapper.
    pub fn by_name(name: &str) -> Self {
        let held = to_server(name).unwrap_or_default();
        // SAFETY: both calls give nodes in the current memory context or raise an error.
        let (server, import) = unsafe {
            let server = (*pg_sys::GetForeignServerByName(held.as_ptr(), false)).serverid;
            let routine = pg_sys::GetFdwRoutineByServerId(server);
            (server, (*routine).ImportForeignSchema)
        };
        let ours: unsafe extern "C-unwind" fn(_, _) -> _ = import_foreign_schema;
        if !import.is_some_and(|import| std::ptr::fn_addr_eq(import, ours)) {
            Report::new(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                format!(
                    "server \"{name}\" is not a server of the foreign data wrapper iceberg_fdw"
                ),
            )
            .raise()
        }
        Self::of_server(server)
    }

    /// # Safety
    /// `options` is a list of `DefElem`.
    unsafe fn read(id: pg_sys::Oid, name: &CStr, options: *mut pg_sys::List) -> Result<Self> {
        // SAFETY: the caller's promise.
        let given = unsafe { Given::from_list(options)? };
        Ok(Self {
            name: from_server(name)?,
            warehouse: given.get("warehouse").map(str::to_owned),
            allowed_locations: given
                .get("allowed_locations")
                .and_then(location_list)
                .unwrap_or_default(),
            id,
            given,
        })
    }

    /// The server's tables by name, read with the rights of `role`; whether they may have been moved is said with
    /// each.
    pub fn catalog(&self, role: pg_sys::Oid) -> PathCatalog {
        PathCatalog {
            stores: self.stores(role),
            ..self.names()
        }
    }

    /// Where tables are by name; nothing can be read with it.
    fn names(&self) -> PathCatalog {
        PathCatalog {
            warehouse: self.warehouse.clone(),
            allowed_locations: self.allowed_locations.clone(),
            ..PathCatalog::default()
        }
    }

    /// How remote stores are reached for `role`.
    fn stores(&self, role: pg_sys::Oid) -> StoreSettings {
        let settings = self.given.iter().filter_map(|(name, value)| {
            let row = known::find(name).filter(|row| row.of_store)?;
            let value = match row.kind {
                Kind::Boolean => kind::boolean(value).unwrap_or(false).to_string(),
                _ => value.to_owned(),
            };
            Some((name.to_owned(), value))
        });
        let secrets = mapping::of_role(self.id, role).unwrap_or_default();
        let secrets = secrets
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        StoreSettings::new(settings, secrets)
    }

    /// The warehouse, without which this namespace cannot be looked up; raises an error if there is
    /// none.
    pub fn warehouse_of(&self, namespace: &str) -> &str {
        self.warehouse.as_deref().unwrap_or_else(|| {
            Report::new(
                PgSqlErrorCode::ERRCODE_FDW_OPTION_NAME_NOT_FOUND,
                format!(
                    "namespace \"{namespace}\" cannot be looked up: server \"{}\" has no option \"warehouse\"",
                    self.name
                ),
            )
            .with_hint("Use ALTER SERVER ... OPTIONS (ADD warehouse ...), or give an absolute location.")
            .raise()
        })
    }
}

impl TableOptions {
    /// The options of the foreign table with this id; raises an error if there is none or its
    /// options do not name a table.
    pub fn of_relation(relation: pg_sys::Oid) -> Self {
        // SAFETY: gives a foreign table in the current memory context or raises an error.
        let (given, server) = unsafe {
            let table = pg_sys::GetForeignTable(relation);
            (Given::from_list((*table).options), (*table).serverid)
        };
        Self::read(&given.or_raise(), ServerOptions::of_server(server))
    }

    /// What a table's list of options says on this server.
    pub fn read(given: &Given, server: ServerOptions) -> Self {
        let location = match (
            given.get("location"),
            given.get("namespace"),
            given.get("table_name"),
        ) {
            (Some(location), _, _) => location.to_owned(),
            (None, Some(namespace), Some(name)) => {
                server.warehouse_of(namespace);
                let ident = TableIdent {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                };
                server.names().table_options(&ident).or_raise().location
            }
            _ => Report::new(
                PgSqlErrorCode::ERRCODE_FDW_OPTION_NAME_NOT_FOUND,
                "the foreign table has neither the option \"location\" nor \"namespace\" and \"table_name\"",
            )
            .raise(),
        };
        let flag = |name: &str| {
            given
                .boolean(name)
                .or_else(|| server.given.boolean(name))
                .or_else(|| default(name).and_then(kind::boolean))
                .unwrap_or(false)
        };
        let number = |name: &str| {
            given
                .integer(name)
                .or_else(|| server.given.integer(name))
                .or_else(|| default(name).and_then(kind::integer))
                .and_then(|number| u64::try_from(number).ok())
                .unwrap_or(0)
        };
        Self {
            location,
            metadata_file_path: given.get("metadata_file_path").map(str::to_owned),
            metadata_table_uuid: given.get("metadata_table_uuid").map(str::to_owned),
            recent_metadata_file_by_last_updated_ms: flag(
                "recent_metadata_file_by_last_updated_ms",
            ),
            snapshot: snapshot_selector(given),
            allow_moved_paths: flag("allow_moved_paths"),
            metadata_staleness_ms: number("metadata_staleness_ms"),
            updatable: flag("updatable"),
            server,
        }
    }

    /// What the core needs to open the table for `role`; raises an error if the role may not read where it is.
    pub fn into_core(self, role: pg_sys::Oid) -> catalog::TableOptions {
        check_read(&self.location, role);
        catalog::TableOptions {
            location: self.location,
            selection: MetadataSelection {
                metadata_file_path: self.metadata_file_path,
                metadata_table_uuid: self.metadata_table_uuid,
                recent_by_last_updated_ms: self.recent_metadata_file_by_last_updated_ms,
            },
            allow_moved_paths: self.allow_moved_paths,
            stores: self.server.stores(role),
            warehouse: self.server.warehouse,
            allowed_locations: self.server.allowed_locations,
        }
    }
}

/// The state that a table's options ask for; the validator lets only one ask.
fn snapshot_selector(given: &Given) -> Option<SnapshotSelector> {
    let snapshot = given.integer("snapshot_id").map(SnapshotSelector::Snapshot);
    let timestamp = given
        .integer("timestamp_ms")
        .map(SnapshotSelector::Timestamp);
    let reference = given
        .get("ref")
        .map(|name| SnapshotSelector::Reference(name.to_owned()));
    snapshot.or(timestamp).or(reference)
}

impl ColumnOptions {
    /// The options of a foreign table's column.
    pub fn of_column(relation: pg_sys::Oid, number: i16) -> Self {
        // SAFETY: gives a list in the current memory context or raises an error.
        let given = unsafe { Given::from_list(pg_sys::GetForeignColumnOptions(relation, number)) }
            .or_raise();
        Self {
            field_id: given
                .integer("field_id")
                .and_then(|id| i32::try_from(id).ok()),
            column_name: given.get("column_name").map(str::to_owned),
            metadata_column: given
                .get("metadata_column")
                .and_then(MetadataColumn::by_name),
        }
    }
}
