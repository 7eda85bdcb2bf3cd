//! The SQL functions of schema `iceberg`.

use pgrx::prelude::*;

pub mod attach;
pub mod inspect;
pub mod refresh;
pub mod selectors;
pub mod time_travel;
pub mod transforms;

// Every function works with the rights of its caller, so everybody may find them.
extension_sql!(
    "GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;",
    name = "grant_usage_of_schema"
);
