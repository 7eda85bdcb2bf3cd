//! The options of a user mapping: of the role whose rights a query runs with, or else of everybody.
//! Postgres: "CREATE USER MAPPING".

use pgrx::pg_sys;

use super::given::Given;
use crate::error::OrRaise;

/// The options of the mapping of `role` on `server`, else of the mapping of PUBLIC; none if there is neither.
/// Read anew each time, so that a changed secret holds from the next statement on.
pub fn of_role(server: pg_sys::Oid, role: pg_sys::Oid) -> Option<Given> {
    of_user(server, role).or_else(|| of_user(server, pg_sys::Oid::INVALID))
}

fn of_user(server: pg_sys::Oid, user: pg_sys::Oid) -> Option<Given> {
    // SAFETY: looks a row up by the two ids; it is released after its options were copied.
    unsafe {
        let row = pg_sys::SearchSysCache2(
            pg_sys::SysCacheIdentifier::USERMAPPINGUSERSERVER as i32,
            user.into(),
            server.into(),
        );
        if row.is_null() {
            return None;
        }
        let mut is_null = true;
        let options = pg_sys::SysCacheGetAttr(
            pg_sys::SysCacheIdentifier::USERMAPPINGUSERSERVER as i32,
            row,
            pg_sys::Anum_pg_user_mapping_umoptions as pg_sys::AttrNumber,
            &mut is_null,
        );
        let given = match is_null {
            true => Ok(Given::default()),
            false => Given::from_list(pg_sys::untransformRelOptions(options)),
        };
        pg_sys::ReleaseSysCache(row);
        Some(given.or_raise())
    }
}
