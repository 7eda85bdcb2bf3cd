//! From the core's errors to what a Postgres client sees.

use iceberg_core::{Error, Result};
use pgrx::prelude::*;

/// Raises `error` as a Postgres error.
pub fn raise(error: Error) -> ! {
    ereport!(
        ERROR,
        PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
        error.message().to_owned()
    );
}

/// Unwraps a core result, raising its error.
pub trait OrRaise<T> {
    /// The value, or a raised error.
    fn or_raise(self) -> T;
}

impl<T> OrRaise<T> for Result<T> {
    fn or_raise(self) -> T {
        self.unwrap_or_else(|error| raise(error))
    }
}
