//! The settings `iceberg_fdw.*`.

use std::ffi::{CStr, CString, c_char, c_void};

use iceberg_core::spec::{PruningLevels, SnapshotSelector};
use pgrx::pg_sys;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

use crate::encoding::from_server;
use crate::error::OrRaise;
use crate::options::known::kind;

static SCAN_THREADS: GucSetting<i32> = GucSetting::<i32>::new(0);
static SCAN_MEMORY: GucSetting<i32> = GucSetting::<i32>::new(256 * 1024);

static METADATA_CACHE: GucSetting<bool> = GucSetting::<bool>::new(true);
static METADATA_CACHE_SIZE: GucSetting<i32> = GucSetting::<i32>::new(64 * 1024);

static ENABLE_PARTITION_PRUNING: GucSetting<bool> = GucSetting::<bool>::new(true);
static ENABLE_METRICS_PRUNING: GucSetting<bool> = GucSetting::<bool>::new(true);
static ENABLE_ROW_GROUP_PRUNING: GucSetting<bool> = GucSetting::<bool>::new(true);
static ENABLE_PAGE_PRUNING: GucSetting<bool> = GucSetting::<bool>::new(true);
static ENABLE_BLOOM_FILTERS: GucSetting<bool> = GucSetting::<bool>::new(true);
static ENABLE_PUSHDOWN: GucSetting<bool> = GucSetting::<bool>::new(true);

static SNAPSHOT_ID: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c""));
static TIMESTAMP_MS: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c""));
static REF: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c""));

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
    GucRegistry::define_bool_guc(
        c"iceberg_fdw.metadata_cache",
        c"Keeps the metadata of tables in memory between queries.",
        c"A file that has changed is read anew; which metadata is current is looked up for each query.",
        &METADATA_CACHE,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"iceberg_fdw.metadata_cache_size",
        c"Memory in which a session keeps the metadata of tables between queries.",
        c"What was not used for longest makes room first.",
        &METADATA_CACHE_SIZE,
        64,
        i32::MAX,
        GucContext::Userset,
        GucFlags::UNIT_KB,
    );
    for (name, short_description, setting) in [
        (
            c"iceberg_fdw.enable_partition_pruning",
            c"Passes over manifests and data files whose partitions cannot hold wanted rows.",
            &ENABLE_PARTITION_PRUNING,
        ),
        (
            c"iceberg_fdw.enable_metrics_pruning",
            c"Passes over data files whose column bounds and counts in manifests exclude wanted rows.",
            &ENABLE_METRICS_PRUNING,
        ),
        (
            c"iceberg_fdw.enable_row_group_pruning",
            c"Passes over Parquet row groups and ORC stripes whose statistics exclude wanted rows.",
            &ENABLE_ROW_GROUP_PRUNING,
        ),
        (
            c"iceberg_fdw.enable_page_pruning",
            c"Passes over Parquet pages whose bounds in the page index exclude wanted rows.",
            &ENABLE_PAGE_PRUNING,
        ),
        (
            c"iceberg_fdw.enable_bloom_filters",
            c"Passes over Parquet row groups whose bloom filters or dictionaries lack the wanted values.",
            &ENABLE_BLOOM_FILTERS,
        ),
        (
            c"iceberg_fdw.enable_pushdown",
            c"Lets the reader leave out rows by quals that it can check as Postgres would.",
            &ENABLE_PUSHDOWN,
        ),
    ] {
        GucRegistry::define_bool_guc(
            name,
            short_description,
            c"",
            setting,
            GucContext::Userset,
            GucFlags::default(),
        );
    }
    define_selector(
        c"iceberg_fdw.snapshot_id",
        c"The snapshot that every Iceberg table is read at, by its id.",
        &SNAPSHOT_ID,
        Some(check_integer),
    );
    define_selector(
        c"iceberg_fdw.timestamp_ms",
        c"The time that every Iceberg table is read as of, in milliseconds since 1970-01-01 UTC.",
        &TIMESTAMP_MS,
        Some(check_integer),
    );
    define_selector(
        c"iceberg_fdw.ref",
        c"The branch or tag that every Iceberg table is read at.",
        &REF,
        None,
    );
    reserve_prefix();
}

/// A setting that chooses what is read. Ids and times need 64 bits, which only text has room for.
fn define_selector(
    name: &'static CStr,
    short_description: &'static CStr,
    setting: &'static GucSetting<Option<CString>>,
    check: pg_sys::GucStringCheckHook,
) {
    // SAFETY: the check, if there is one, reads the text that Postgres hands over and does nothing else.
    unsafe {
        GucRegistry::define_string_guc_with_hooks(
            name,
            short_description,
            c"An empty text leaves the choice to the table's options. A selector in a query wins.",
            setting,
            GucContext::Userset,
            GucFlags::default(),
            check,
            None,
            None,
        );
    }
}

/// Accepts an empty text and a whole number of 64 bits.
///
/// # Safety
/// Called by Postgres with the text to be set.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn check_integer(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: by the contract; the text may be a null pointer.
    unsafe {
        let value = *value;
        value.is_null() || {
            let text = CStr::from_ptr(value);
            text.is_empty()
                || text
                    .to_str()
                    .is_ok_and(|text| kind::integer(text).is_some())
        }
    }
}

/// The states that the session's settings ask for: by snapshot, by time, by reference.
pub fn snapshot_selectors() -> [Option<SnapshotSelector>; 3] {
    let text = |setting: &GucSetting<Option<CString>>| {
        setting
            .get()
            .filter(|text| !text.is_empty())
            .map(|text| from_server(&text).or_raise())
    };
    let integer = |setting| text(setting).and_then(|text| kind::integer(&text));
    [
        integer(&SNAPSHOT_ID).map(SnapshotSelector::Snapshot),
        integer(&TIMESTAMP_MS).map(SnapshotSelector::Timestamp),
        text(&REF).map(SnapshotSelector::Reference),
    ]
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

/// What the session lets scans pass over.
pub fn pruning_levels() -> PruningLevels {
    PruningLevels {
        partitions: ENABLE_PARTITION_PRUNING.get(),
        metrics: ENABLE_METRICS_PRUNING.get(),
        row_groups: ENABLE_ROW_GROUP_PRUNING.get(),
        pages: ENABLE_PAGE_PRUNING.get(),
        bloom_filters: ENABLE_BLOOM_FILTERS.get(),
        rows: ENABLE_PUSHDOWN.get(),
    }
}

/// Whether the reader may check quals in Postgres' place.
pub fn enable_pushdown() -> bool {
    ENABLE_PUSHDOWN.get()
}

/// Bytes of metadata that the session may keep; 0 where it keeps none.
pub fn metadata_cache_size() -> usize {
    if METADATA_CACHE.get() {
        kilobytes(&METADATA_CACHE_SIZE)
    } else {
        0
    }
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
    kilobytes(&SCAN_MEMORY)
}

fn kilobytes(setting: &GucSetting<i32>) -> usize {
    usize::try_from(setting.get())
        .unwrap_or(0)
        .saturating_mul(1024)
}
