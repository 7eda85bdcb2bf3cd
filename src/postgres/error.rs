//! From the core's errors to what a Postgres client sees: the one place that maps the category of
//! an error to an SQLSTATE, a message, a DETAIL and a HINT.

use std::error::Error as _;

use iceberg_core::{Error, ErrorKind, Result};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::encoding::printable;

/// Raises `error` as a Postgres error.
pub fn raise(error: Error) -> ! {
    let report = Report {
        code: sqlstate(error.kind()),
        detail: detail(&error),
        hint: hint(&error),
        message: error.message().to_owned(),
    };
    report.raise()
}

/// What a client is told: an SQLSTATE and texts in UTF-8.
#[derive(Debug)]
pub struct Report {
    /// The SQLSTATE.
    pub code: PgSqlErrorCode,
    /// The primary message.
    pub message: String,
    /// The DETAIL line.
    pub detail: Option<String>,
    /// The HINT line.
    pub hint: Option<String>,
}

impl Report {
    /// A report with only a message.
    pub fn new(code: PgSqlErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
            hint: None,
        }
    }

    /// Adds a longer explanation.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..self
        }
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// Raises it as an error.
    pub fn raise(self) -> ! {
        self.send(PgLogLevel::ERROR);
        unreachable!("an error does not return")
    }

    /// Shows it as a warning.
    pub fn warn(self) {
        self.send(PgLogLevel::WARNING);
    }

    fn send(self, level: PgLogLevel) {
        let mut report = ErrorReport::new(self.code, printable(&self.message), "iceberg_fdw");
        if let Some(detail) = self.detail {
            report = report.set_detail(printable(&detail));
        }
        if let Some(hint) = self.hint {
            report = report.set_hint(printable(&hint));
        }
        report.report(level);
    }
}

/// The SQLSTATE that a client can act on.
pub fn sqlstate(kind: ErrorKind) -> PgSqlErrorCode {
    match kind {
        ErrorKind::Corrupt => PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        ErrorKind::TableNotFound => PgSqlErrorCode::ERRCODE_FDW_TABLE_NOT_FOUND,
        ErrorKind::FileNotFound => PgSqlErrorCode::ERRCODE_UNDEFINED_FILE,
        ErrorKind::Ambiguous => PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        ErrorKind::Unreachable => {
            PgSqlErrorCode::ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION
        }
        ErrorKind::PermissionDenied => PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        ErrorKind::Unauthenticated => PgSqlErrorCode::ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
        ErrorKind::NotSupported => PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        ErrorKind::InvalidArgument => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        ErrorKind::OutOfRange => PgSqlErrorCode::ERRCODE_DATETIME_FIELD_OVERFLOW,
        ErrorKind::InvalidText => PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
        ErrorKind::TypeMismatch => PgSqlErrorCode::ERRCODE_FDW_INVALID_DATA_TYPE,
        ErrorKind::MemoryLimit => PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        ErrorKind::Internal => PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
    }
}

/// The error's own hint, or the setting that would help.
fn hint(error: &Error) -> Option<String> {
    match (error.hint(), error.kind()) {
        (Some(hint), _) => Some(hint.to_owned()),
        (None, ErrorKind::MemoryLimit) => {
            Some("Raise the setting iceberg_fdw.scan_memory.".to_owned())
        }
        (None, _) => None,
    }
}

/// The error's own detail, or what the errors it came from say beyond its message.
fn detail(error: &Error) -> Option<String> {
    if let Some(detail) = error.detail() {
        return Some(detail.to_owned());
    }
    let mut causes: Vec<String> = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        let said =
            error.message().contains(&text) || causes.iter().any(|earlier| earlier.contains(&text));
        if !said {
            causes.push(text);
        }
        source = cause.source();
    }
    (!causes.is_empty()).then(|| causes.join(": "))
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
