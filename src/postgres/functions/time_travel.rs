//! `iceberg.create_time_travel_function`: makes a table's states callable, `orders_at('2025-q1')`, as SQL functions that
//! the planner inlines, so that their selectors reach the scan like those of any query.

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::attach::run;
use super::inspect::check_is_ours;
use crate::encoding::{from_server, to_server};
use crate::error::{OrRaise, Report};
use crate::fdw::foreign_table::MAX_NAME;
use crate::sql::{identifier, literal};

/// What the new functions are called after the table's name.
const SUFFIX: &str = "_at";

/// Argument and selector of each function.
const FUNCTIONS: [(&str, &str); 3] = [
    ("bigint", "at_snapshot"),
    ("timestamp with time zone", "at_timestamp"),
    ("pg_catalog.text", "at_ref"),
];

/// Makes functions `<table>_at` of a snapshot id, a time, and a branch or tag beside the table, with the rights of
/// the caller, and gives their ids. They follow the table's columns as those are when they are called.
#[pg_extern(sql = r#"
CREATE FUNCTION create_time_travel_function("table" regclass) RETURNS SETOF regprocedure
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
COMMENT ON FUNCTION create_time_travel_function IS 'creates functions that read a foreign table as it was';
"#)]
fn create_time_travel_function(table: pg_sys::Oid) -> SetOfIterator<'static, pg_sys::Oid> {
    check_is_ours(table);
    let (schema, name) = qualified_name(table);
    let stem = &name[..name.floor_char_boundary(MAX_NAME - SUFFIX.len())];
    let function = format!(
        "{}.{}",
        identifier(&schema),
        identifier(&format!("{stem}{SUFFIX}"))
    );
    let table_name = format!("{}.{}", identifier(&schema), identifier(&name));
    let made = FUNCTIONS.map(|(argument, selector)| {
        let body = format!(
            "SELECT * FROM {table_name} AS state WHERE iceberg.{selector}(state.tableoid, $1)"
        );
        let statement = format!(
            "CREATE FUNCTION {function}({argument}) RETURNS SETOF {table_name} LANGUAGE sql STABLE PARALLEL SAFE \
             AS {}",
            literal(&body)
        );
        let statement = to_server(&statement).unwrap_or_default();
        run(&statement).or_raise();
        function_id(&format!("{function}({argument})"))
    });
    SetOfIterator::new(made)
}

/// Schema and name of a relation.
pub fn qualified_name(table: pg_sys::Oid) -> (String, String) {
    // SAFETY: look-ups of a relation that is there; names are copies that end with a zero byte.
    unsafe {
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(table));
        let name = pg_sys::get_rel_name(table);
        if schema.is_null() || name.is_null() {
            Report::new(
                PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
                format!("there is no table with the id {}", table.to_u32()),
            )
            .raise()
        }
        let text = |name| from_server(std::ffi::CStr::from_ptr(name)).or_raise();
        (text(schema), text(name))
    }
}

/// The id of a function given with its arguments' types.
fn function_id(signature: &str) -> pg_sys::Oid {
    let held = to_server(signature).unwrap_or_default();
    // SAFETY: the function of the server looks a name up and raises an error where there is none.
    let found = unsafe {
        pgrx::direct_function_call::<pg_sys::Oid>(
            pg_sys::regprocedurein,
            &[Some(pg_sys::Datum::from(held.as_ptr()))],
        )
    };
    found.unwrap_or(pg_sys::Oid::INVALID)
}
