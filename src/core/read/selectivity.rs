//! How many of the rows that a read looks at are wanted, as it turns out while it runs: whether it
//! pays to look at the columns of the filter first. Nothing in the spec.

use std::sync::atomic::{AtomicU64, Ordering};

/// So many rows must have been looked at before they tell something.
const ENOUGH: u64 = 4_096;

/// The rows that a filter was applied to.
#[derive(Debug, Default)]
pub(super) struct Selectivity {
    seen: AtomicU64,
    wanted: AtomicU64,
}

impl Selectivity {
    /// Of so many rows so many were wanted.
    pub(super) fn saw(&self, rows: u64, wanted: u64) {
        self.seen.fetch_add(rows, Ordering::Relaxed);
        self.wanted.fetch_add(wanted, Ordering::Relaxed);
    }

    /// Whether so few rows are wanted that the others are worth passing over.
    pub(super) fn is_selective(&self) -> bool {
        let seen = self.seen.load(Ordering::Relaxed);
        seen < ENOUGH || self.wanted.load(Ordering::Relaxed).saturating_mul(2) < seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_decides() {
        let selectivity = Selectivity::default();
        assert!(selectivity.is_selective());
        selectivity.saw(ENOUGH, ENOUGH / 2);
        assert!(!selectivity.is_selective());
        selectivity.saw(2, 0);
        assert!(selectivity.is_selective());
    }
}
