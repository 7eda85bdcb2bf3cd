//! Who may read files of the server's machine: superusers and members of `pg_read_server_files`.

use iceberg_core::storage::Location;
use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::error::Report;

/// Raises an error unless `role`, the role whose rights the work runs with, may read at a location: in remote
/// stores its credentials decide, local files take a privilege. What is no location counts as local.
pub fn check_read(location: &str, role: pg_sys::Oid) {
    if Location::parse(location).is_ok_and(|location| !location.is_local()) {
        return;
    }
    let readers = pg_sys::Oid::from(pg_sys::ROLE_PG_READ_SERVER_FILES);
    // SAFETY: looks both roles up in the catalogs; superusers have every role's rights.
    if unsafe { pg_sys::has_privs_of_role(role, readers) } {
        return;
    }
    Report::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "permission denied to read a table in the server's file system",
    )
    .with_detail(
        "Only roles with privileges of the \"pg_read_server_files\" role may read local files.",
    )
    .with_hint("A superuser can GRANT pg_read_server_files to the role, or the table can lie in an object store.")
    .raise()
}
