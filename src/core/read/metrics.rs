//! What a read has done so far, as counters that any thread may look at while it runs.
//! Nothing in the spec; shown by EXPLAIN ANALYZE.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters of one read; they only grow.
#[derive(Debug, Default)]
pub struct ReadMetrics {
    /// Files whose footer was read.
    pub files_opened: AtomicU64,
    /// Row groups of these files.
    pub row_groups_total: AtomicU64,
    /// Row groups that were decoded, at least in part.
    pub row_groups_read: AtomicU64,
    /// Row groups that were passed over because no row in them can be wanted.
    pub row_groups_skipped: AtomicU64,
    /// Pages of columns that were passed over in row groups that were read.
    pub pages_skipped: AtomicU64,
    /// Rows of the files that were opened which were passed over, or decoded and not wanted.
    pub rows_skipped: AtomicU64,
    /// Rows handed on.
    pub rows_read: AtomicU64,
    /// Rows that were decoded and found deleted.
    pub rows_deleted: AtomicU64,
    /// Bytes fetched from storage.
    pub bytes_read: AtomicU64,
    /// Fetches of one or several ranges of a file.
    pub requests: AtomicU64,
    /// Time spent waiting for storage, summed over concurrent fetches, in nanoseconds.
    pub fetch_nanoseconds: AtomicU64,
    /// Time spent decoding, summed over decoders, in nanoseconds.
    pub decode_nanoseconds: AtomicU64,
}

impl ReadMetrics {
    /// How many counters there are.
    pub const COUNTERS: usize = 12;

    /// What the counters say now.
    pub fn values(&self) -> [u64; Self::COUNTERS] {
        self.counters()
            .map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Adds what another read has counted, in the order of [`ReadMetrics::values`].
    pub fn add_values(&self, values: [u64; Self::COUNTERS]) {
        for (counter, value) in self.counters().into_iter().zip(values) {
            Self::add(counter, value);
        }
    }

    fn counters(&self) -> [&AtomicU64; Self::COUNTERS] {
        [
            &self.files_opened,
            &self.row_groups_total,
            &self.row_groups_read,
            &self.row_groups_skipped,
            &self.pages_skipped,
            &self.rows_skipped,
            &self.rows_read,
            &self.rows_deleted,
            &self.bytes_read,
            &self.requests,
            &self.fetch_nanoseconds,
            &self.decode_nanoseconds,
        ]
    }

    /// Adds to a counter.
    pub(super) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    /// Adds what another read fetched, as part of this one.
    pub(super) fn add_fetches(&self, other: &Self) {
        for (counter, more) in [
            (&self.bytes_read, &other.bytes_read),
            (&self.requests, &other.requests),
            (&self.fetch_nanoseconds, &other.fetch_nanoseconds),
        ] {
            Self::add(counter, more.load(Ordering::Relaxed));
        }
    }

    /// Adds a time to a counter of nanoseconds.
    pub(super) fn add_time(counter: &AtomicU64, time: Duration) {
        Self::add(counter, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }
}
