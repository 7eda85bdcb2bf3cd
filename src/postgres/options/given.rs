//! A list of options as given, in Rust's own memory, and its check against the table of options.

use std::ffi::CStr;

use iceberg_core::Result;
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::known::{Fault, FaultKind, Place, check, find, kind};
use crate::encoding::from_server;
use crate::error::Report;
use crate::list::pointers;

/// Options as (name, value), in the order given.
#[derive(Debug, Clone, Default)]
pub struct Given(Vec<(String, String)>);

impl Given {
    /// These options.
    pub fn new(options: Vec<(String, String)>) -> Self {
        Self(options)
    }

    /// The options of a list of `DefElem`.
    ///
    /// # Safety
    /// `list` is null or a valid list of `DefElem` nodes.
    pub unsafe fn from_list(list: *mut pg_sys::List) -> Result<Self> {
        let mut given = Vec::new();
        // SAFETY: the caller's promise.
        for element in unsafe { pointers::<pg_sys::DefElem>(list) } {
            // SAFETY: an element of the list is a node with a name; `defGetString` gives a text or
            // raises an error where the option has no value.
            let (name, value) = unsafe {
                (
                    CStr::from_ptr((*element).defname),
                    CStr::from_ptr(pg_sys::defGetString(element)),
                )
            };
            given.push((from_server(name)?, from_server(value)?));
        }
        Ok(Self(given))
    }

    /// Raises an error unless this list can stand at `place`.
    pub fn check(&self, place: Place) {
        if let Err(fault) = check(place, &self.0) {
            report(fault).raise();
        }
    }

    /// Raises an error if an option that only a superuser may set is switched on in this list and the current role
    /// is none: also for who only changes another option, such as the address that is then reached with its rights.
    pub fn check_superuser(&self) {
        let guarded = self.0.iter().find(|(name, value)| {
            find(name).is_some_and(|row| row.superuser) && kind::boolean(value) != Some(false)
        });
        // SAFETY: looks the current role up.
        if let Some((name, _)) = guarded
            && !unsafe { pg_sys::superuser() }
        {
            Report::new(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!(
                    "only a superuser may set the option \"{name}\", or change options beside it"
                ),
            )
            .raise();
        }
    }

    /// The value given for an option.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    }

    /// The value given for a boolean option.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        self.get(name).and_then(kind::boolean)
    }

    /// The value given for a whole number.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(kind::integer)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// What holds for an option that nobody gave.
pub fn default(name: &str) -> Option<&'static str> {
    find(name).and_then(|row| row.default)
}

fn report(fault: Fault) -> Report {
    let code = match fault.kind {
        FaultKind::Name => PgSqlErrorCode::ERRCODE_FDW_INVALID_OPTION_NAME,
        FaultKind::Value => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        FaultKind::Conflict => PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
        FaultKind::Missing => PgSqlErrorCode::ERRCODE_FDW_OPTION_NAME_NOT_FOUND,
        FaultKind::NotSupported => PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
    };
    Report {
        hint: fault.hint,
        ..Report::new(code, fault.message)
    }
}
