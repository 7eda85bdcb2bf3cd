//! Waiting for a worker thread while the backend keeps serving cancel, timeouts and termination.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use futures::FutureExt;
use iceberg_core::read::{BatchReceiver, RecvOutcome};
use iceberg_core::{Error, ErrorKind, Result};
use tokio::task::AbortHandle;

use super::runtime;
use crate::error::OrRaise;

/// How often a waiting backend looks for interrupts.
const INTERRUPT_PERIOD: Duration = Duration::from_millis(10);

/// Runs `future` on the worker threads and waits for what it gives; an error is raised. An interrupt
/// that arrives meanwhile ends the future and is raised.
pub fn wait<T, F>(future: F) -> T
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let (sender, receiver) = sync_channel(1);
    let task = runtime::handle().or_raise().spawn(async move {
        let outcome = AssertUnwindSafe(future).catch_unwind().await;
        // A receiver that has gone away was interrupted and wants no answer.
        let _ = sender.send(outcome.unwrap_or_else(|panic| Err(panic_error(panic.as_ref()))));
    });
    let _ended_with_the_wait = AbortOnDrop(task.abort_handle());
    loop {
        match receiver.recv_timeout(INTERRUPT_PERIOD) {
            Ok(outcome) => return outcome.or_raise(),
            Err(RecvTimeoutError::Timeout) => {
                pgrx::check_for_interrupts!();
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::new(
                    ErrorKind::Internal,
                    "a worker thread ended early",
                ))
                .or_raise();
            }
        }
    }
}

/// Waits for what a read gives next, `None` at its end, as [`wait`] does.
pub fn next_item<T>(receiver: &mut BatchReceiver<T>) -> Option<T> {
    loop {
        match receiver.recv_timeout(INTERRUPT_PERIOD) {
            RecvOutcome::Item(item) => return Some(item.or_raise()),
            RecvOutcome::Done => return None,
            RecvOutcome::Timeout => {
                pgrx::check_for_interrupts!();
            }
        }
    }
}

/// What a panic on a worker thread becomes.
fn panic_error(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown cause".to_owned());
    Error::new(
        ErrorKind::Internal,
        format!("a worker thread failed: {text}"),
    )
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
