//! `iceberg.at_snapshot`, `at_timestamp`, `at_ref` and `changes_between`: quals that choose what of a table is read. A scan takes
//! them out of its quals, so that one that is called stands where no scan could.

use pgrx::datum::Internal;
use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::error::Report;

/// Tells the planner that a selector leaves no row out.
#[pg_extern(sql = r#"
CREATE FUNCTION selector_support(internal) RETURNS internal
STRICT LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn selector_support(request: Internal) -> Internal {
    let pointer = request.unwrap().unwrap_or(pg_sys::Datum::null());
    // SAFETY: the planner hands over a node, and answers are written into it.
    unsafe {
        let node = pointer.cast_mut_ptr::<pg_sys::Node>();
        if node.is_null() || (*node).type_ != pg_sys::NodeTag::T_SupportRequestSelectivity {
            return Internal::from(Some(pg_sys::Datum::null()));
        }
        (*node.cast::<pg_sys::SupportRequestSelectivity>()).selectivity = 1.0;
    }
    Internal::from(Some(pointer))
}

/// The table as it was in a snapshot.
#[pg_extern(requires = [selector_support], sql = r#"
CREATE FUNCTION at_snapshot(tableoid oid, snapshot_id bigint) RETURNS boolean
STABLE PARALLEL SAFE SUPPORT selector_support LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
COMMENT ON FUNCTION at_snapshot IS 'in WHERE: reads an Iceberg table as it was in a snapshot';
"#)]
fn at_snapshot(_tableoid: Option<pg_sys::Oid>, _snapshot_id: Option<i64>) -> bool {
    misplaced("at_snapshot")
}

/// The table as it was at a time.
#[pg_extern(requires = [selector_support], sql = r#"
CREATE FUNCTION at_timestamp(tableoid oid, "timestamp" timestamptz) RETURNS boolean
STABLE PARALLEL SAFE SUPPORT selector_support LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
COMMENT ON FUNCTION at_timestamp IS 'in WHERE: reads an Iceberg table as it was at a time';
"#)]
fn at_timestamp(_tableoid: Option<pg_sys::Oid>, _timestamp: Option<i64>) -> bool {
    misplaced("at_timestamp")
}

/// The table as a branch or tag has it.
#[pg_extern(requires = [selector_support], sql = r#"
CREATE FUNCTION at_ref(tableoid oid, ref text) RETURNS boolean
STABLE PARALLEL SAFE SUPPORT selector_support LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
COMMENT ON FUNCTION at_ref IS 'in WHERE: reads an Iceberg table as a branch or tag has it';
"#)]
fn at_ref(_tableoid: Option<pg_sys::Oid>, _reference: Option<pgrx::AnyElement>) -> bool {
    misplaced("at_ref")
}

/// What changed in the table.
#[pg_extern(requires = [selector_support], sql = r#"
CREATE FUNCTION changes_between(tableoid oid, from_snapshot bigint, to_snapshot bigint DEFAULT NULL) RETURNS boolean
STABLE PARALLEL SAFE SUPPORT selector_support LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
COMMENT ON FUNCTION changes_between IS
'in WHERE: reads the rows of an Iceberg table that came and went after one snapshot, up to another';
"#)]
fn changes_between(_tableoid: Option<pg_sys::Oid>, _from: Option<i64>, _to: Option<i64>) -> bool {
    misplaced("changes_between")
}

fn misplaced(name: &str) -> ! {
    Report::new(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("iceberg.{name} cannot be evaluated here"),
    )
    .with_hint(format!(
        "Use it as a condition of its own, joined to others by AND only, on a foreign table of iceberg_fdw: \
         SELECT ... FROM t WHERE iceberg.{name}(t.tableoid, ...); for the table that an outer join fills up \
         with nulls it belongs in the join's ON."
    ))
    .raise()
}
