//! What a table's metadata says, as rows: the functions `iceberg.snapshots`, `history`, `files` and their like. This gives
//! each row as JSON; `sql/metadata_functions.sql` makes typed columns of it.

use futures::TryStreamExt;
use iceberg_core::inspect::{self, Row, Rows, View};
use iceberg_core::spec::SnapshotSelector;
use pgrx::AnyElement;
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::attach::text;
use crate::encoding::from_server;
use crate::error::{OrRaise, Report};
use crate::fdw::import::import_foreign_schema;
use crate::fdw::relation::ForeignRelation;
use crate::fdw::selection::{Selection, option_name, timestamp_ms};
use crate::session::tables::Scope;
use crate::session::wait;

/// How many rows are read before the first of them is given away.
const ROWS_AT_ONCE: usize = 256;

/// The rows of a view of a foreign table, each a JSON object in ASCII.
#[pg_extern(sql = r#"
CREATE FUNCTION metadata_rows(
    "table" regclass,
    view text,
    at_snapshot bigint,
    at_timestamp timestamptz,
    at_ref text
) RETURNS SETOF text
LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
COMMENT ON FUNCTION metadata_rows IS 'what the functions about metadata are made of';
"#)]
fn metadata_rows(
    table: Option<pg_sys::Oid>,
    view: Option<AnyElement>,
    at_snapshot: Option<i64>,
    at_timestamp: Option<AnyElement>,
    at_ref: Option<AnyElement>,
) -> SetOfIterator<'static, String> {
    let name = text(view).unwrap_or_default();
    let Some(view) = View::by_name(&name) else {
        Report::new(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("there is no view \"{name}\" of metadata"),
        )
        .raise()
    };
    // The function's declaration makes the datum a timestamp with time zone.
    let timestamp = at_timestamp.map(|time| timestamp_ms(time.datum().value() as i64));
    let chosen = argument(at_snapshot, timestamp, text(at_ref));
    let relation = open(table, chosen, view.is_of_a_snapshot());
    let (table, selected) = (relation.table().clone(), relation.selected().clone());
    let rows = wait(async move { inspect::rows(&table, &selected, view).await });
    SetOfIterator::new(Waiting::new(rows).map(in_ascii))
}

/// Rows that are read while they are asked for, some ahead.
struct Waiting {
    /// `None` at the end.
    unread: Option<Rows>,
    read: std::vec::IntoIter<Row>,
}

impl Waiting {
    fn new(rows: Rows) -> Self {
        Self {
            unread: Some(rows),
            read: Vec::new().into_iter(),
        }
    }
}

impl Iterator for Waiting {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        loop {
            if let Some(row) = self.read.next() {
                return Some(row);
            }
            let mut unread = self.unread.take()?;
            let (rows, unread) = wait(async move {
                let mut rows = Vec::with_capacity(ROWS_AT_ONCE);
                while rows.len() < ROWS_AT_ONCE {
                    match unread.try_next().await? {
                        Some(row) => rows.push(row),
                        None => return Ok((rows, None)),
                    }
                }
                Ok((rows, Some(unread)))
            });
            self.read = rows.into_iter();
            self.unread = unread;
        }
    }
}

/// The snapshot that was current at a time.
#[pg_extern(sql = r#"
CREATE FUNCTION snapshot_at("table" regclass, "timestamp" timestamptz) RETURNS bigint
LANGUAGE c STABLE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
COMMENT ON FUNCTION snapshot_at IS 'the snapshot that was current at a time';
"#)]
fn snapshot_at(table: pg_sys::Oid, timestamp: AnyElement) -> Option<i64> {
    // The function's declaration makes the datum a timestamp with time zone.
    let at = timestamp_ms(timestamp.datum().value() as i64);
    let relation = open(Some(table), argument(None, Some(at), None), true);
    relation.snapshot().map(|snapshot| snapshot.snapshot_id)
}

/// The state that the arguments select, if any does; raises an error if two do.
fn argument(
    snapshot: Option<i64>,
    timestamp: Option<i64>,
    reference: Option<String>,
) -> Option<Selection> {
    let mut given = [
        snapshot.map(SnapshotSelector::Snapshot),
        timestamp.map(SnapshotSelector::Timestamp),
        reference.map(SnapshotSelector::Reference),
    ]
    .into_iter()
    .flatten();
    let selector = given.next()?;
    if given.next().is_some() {
        Report::new(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            "only one of at_snapshot, at_timestamp and at_ref can be given",
        )
        .raise()
    }
    Some(Selection {
        chosen_by: format!("argument {}", option_name(&selector)),
        selector,
    })
}

/// Opens a foreign table that the current role may select from; `of_a_snapshot` tells whether a state of it
/// matters. Raises an error where that cannot be.
fn open(
    table: Option<pg_sys::Oid>,
    selection: Option<Selection>,
    of_a_snapshot: bool,
) -> ForeignRelation {
    let Some(table) = table else {
        Report::new(
            PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            "argument \"table\" must not be null",
        )
        .raise()
    };
    check_is_ours(table);
    // SAFETY: looks up the rights of the current role.
    let role = unsafe { pg_sys::GetUserId() };
    // SAFETY: as above.
    let allowed =
        unsafe { pg_sys::pg_class_aclcheck(table, role, pg_sys::ACL_SELECT as pg_sys::AclMode) };
    if allowed != pg_sys::AclResult::ACLCHECK_OK {
        Report::new(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!(
                "permission denied for foreign table {}",
                relation_name(table)
            ),
        )
        .raise()
    }
    let selection = match of_a_snapshot {
        true => selection,
        // What there is must be shown even where an option names what there is not.
        false => Some(Selection::current()),
    };
    ForeignRelation::open(table, role, &[], selection, Scope::Now)
}

/// Raises an error unless this is a foreign table of this wrapper.
pub fn check_is_ours(table: pg_sys::Oid) {
    let ours: unsafe extern "C-unwind" fn(_, _) -> _ = import_foreign_schema;
    // SAFETY: looks the relation up; only a foreign table has a server and callbacks.
    let import = unsafe {
        match pg_sys::get_rel_relkind(table) as u8 {
            pg_sys::RELKIND_FOREIGN_TABLE => {
                (*pg_sys::GetFdwRoutineByRelId(table)).ImportForeignSchema
            }
            _ => None,
        }
    };
    if !import.is_some_and(|import| std::ptr::fn_addr_eq(import, ours)) {
        Report::new(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!(
                "\"{}\" is not a foreign table of iceberg_fdw",
                relation_name(table)
            ),
        )
        .raise()
    }
}

fn relation_name(table: pg_sys::Oid) -> String {
    // SAFETY: gives a copy of the name, or a null pointer where there is no such relation.
    let name = unsafe { pg_sys::get_rel_name(table) };
    if name.is_null() {
        return table.to_u32().to_string();
    }
    // SAFETY: a name ends with a zero byte.
    from_server(unsafe { std::ffi::CStr::from_ptr(name) }).or_raise()
}

/// JSON in which every other character is escaped, so that it is the same text in every encoding.
pub fn in_ascii(row: Row) -> String {
    let text = serde_json::Value::Object(row).to_string();
    if text.is_ascii() {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() * 2);
    for character in text.chars() {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}

extension_sql_file!(
    "../../../sql/metadata_functions.sql",
    name = "metadata_functions",
    requires = [metadata_rows, refresh_rows]
);
