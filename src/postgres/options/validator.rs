//! The function that Postgres calls for every list of options of this wrapper's objects.

use pgrx::prelude::*;
use pgrx::{AnyArray, pg_sys};

use super::given::Given;
use super::known::Place;
use crate::error::OrRaise;

/// Raises an error that says what is wrong with a list of options, given as `name=value`, of an
/// object in the system catalog `catalog`.
#[pg_extern(sql = r#"
CREATE FUNCTION iceberg_fdw_validator(text[], oid) RETURNS void
STRICT LANGUAGE c AS 'MODULE_PATHNAME', '@FUNCTION_NAME@';
"#)]
fn iceberg_fdw_validator(options: AnyArray, catalog: pg_sys::Oid) {
    let place = match catalog {
        pg_sys::ForeignDataWrapperRelationId => Place::Wrapper,
        pg_sys::ForeignServerRelationId => Place::Server,
        pg_sys::UserMappingRelationId => Place::UserMapping,
        pg_sys::ForeignTableRelationId => Place::Table,
        pg_sys::AttributeRelationId => Place::Column,
        _ => return,
    };
    // SAFETY: the function's declaration makes the datum an array of text.
    let given =
        unsafe { Given::from_list(pg_sys::untransformRelOptions(options.datum())) }.or_raise();
    given.check(place);
    given.check_superuser();
}
