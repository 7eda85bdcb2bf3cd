//! The backend's worker threads: one tokio runtime, made at first use and ended with the backend.
//! Its threads block every signal and never call Postgres.

use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use iceberg_core::{Error, ErrorKind, Result};
use pgrx::pg_sys;
use tokio::runtime::{Builder, Handle, Runtime};

static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

/// Threads that wait for local files and for the names of hosts; a backend between queries keeps none of them.
const FILE_THREADS: usize = 32;
const IDLE_LIFE: Duration = Duration::from_secs(2);

/// How long a backend that ends waits for its threads; none of them holds anything that must be saved.
const SHUTDOWN_PATIENCE: Duration = Duration::from_millis(50);

/// The runtime's handle; starts the threads when this is the backend's first call.
pub fn handle() -> Result<Handle> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = runtime.as_ref() {
        return Ok(runtime.handle().clone());
    }
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let started = with_signals_blocked(|| {
        Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("iceberg_fdw")
            .max_blocking_threads(FILE_THREADS)
            .thread_keep_alive(IDLE_LIFE)
            .enable_all()
            .build()
    })
    .map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot start the worker threads: {error}"),
        )
        .with_hint("The operating system's limit on threads or memory may be reached.")
    })?;
    // SAFETY: called on the backend's own thread; the callback is a plain function that stays loaded.
    unsafe { pg_sys::on_proc_exit(Some(shut_down), pg_sys::Datum::from(0)) };
    let handle = started.handle().clone();
    *runtime = Some(started);
    Ok(handle)
}

/// Ends the threads before the process runs its exit handlers, which they must not race.
#[pgrx::pg_guard]
extern "C-unwind" fn shut_down(_code: i32, _argument: pg_sys::Datum) {
    let runtime = RUNTIME
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(runtime) = runtime {
        runtime.shutdown_timeout(SHUTDOWN_PATIENCE);
    }
}

/// Runs `start` with every signal blocked in this thread: threads started by it inherit the mask, so
/// that a signal to the process is always handled by the backend's own thread.
fn with_signals_blocked<T>(start: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are local and written by the calls before they are read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let result = start();
    // SAFETY: `before` was written by the call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    result
}
