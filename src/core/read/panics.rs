//! A decoder may panic on corrupt input; that must end as an error of the file, nothing more.
//! Nothing in the spec.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorKind, Result};

/// Runs `step`; a panic in it means that `what` is corrupt beyond what its parser checks.
pub(super) fn caught<T>(what: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|panic| {
        Err(Error::new(
            ErrorKind::Corrupt,
            format!("{what} cannot be decoded: {}", message(&*panic)),
        ))
    })
}

/// What a panic said.
pub(super) fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
}
