//! The settings `iceberg_fdw.*`.

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

static SCAN_THREADS: GucSetting<i32> = GucSetting::<i32>::new(0);
static SCAN_MEMORY: GucSetting<i32> = GucSetting::<i32>::new(256 * 1024);

/// Defines the settings; called once when the library is loaded.
pub fn define() {
    GucRegistry::define_int_guc(
        c"iceberg_fdw.scan_threads",
        c"Number of threads that decode the data files of one scan.",
        c"0 means as many as the machine has processors, at most 8.",
        &SCAN_THREADS,
        0,
        256,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"iceberg_fdw.scan_memory",
        c"Memory for the data that one scan has fetched and decoded ahead of the query.",
        c"A single row group that needs more is read alone.",
        &SCAN_MEMORY,
        1024,
        i32::MAX,
        GucContext::Userset,
        GucFlags::UNIT_KB,
    );
    reserve_prefix();
}

/// Makes a misspelt `iceberg_fdw.…` setting an error instead of a silent placeholder.
fn reserve_prefix() {
    // SAFETY: called once, from `_PG_init`, with a constant string.
    #[cfg(not(any(feature = "pg14")))]
    unsafe {
        pgrx::pg_sys::MarkGUCPrefixReserved(c"iceberg_fdw".as_ptr())
    };
    // SAFETY: as above.
    #[cfg(feature = "pg14")]
    unsafe {
        pgrx::pg_sys::EmitWarningsOnPlaceholders(c"iceberg_fdw".as_ptr())
    };
}

/// Threads that decode one scan; at least 1.
pub fn scan_threads() -> usize {
    match usize::try_from(SCAN_THREADS.get()) {
        Ok(threads) if threads > 0 => threads,
        _ => std::thread::available_parallelism().map_or(1, |count| usize::from(count).min(8)),
    }
}

/// Bytes that one scan may hold ahead of the query.
pub fn scan_memory() -> usize {
    usize::try_from(SCAN_MEMORY.get())
        .unwrap_or(0)
        .saturating_mul(1024)
}
