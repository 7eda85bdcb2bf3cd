//! What a scan's user wants of rows, and which levels may use it.
//! Spec: "Scan Planning".

use super::predicate::Predicate;

/// Which rows are wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct RowFilter {
    /// Rows of which this is false must not come out: nobody checks them again.
    pub exact: Predicate,
    /// Rows of which this is false may be left out, or not: somebody checks them again.
    pub inexact: Predicate,
}

/// Which rows are wanted, and where that is made use of.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanFilter {
    /// Which rows are wanted.
    pub rows: RowFilter,
    /// What may be passed over because of it.
    pub levels: PruningLevels,
}

/// What may be passed over because nothing in it can be wanted; each is safe to switch off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruningLevels {
    /// Manifests and files, by their partitions.
    pub partitions: bool,
    /// Files, by what manifests say of their columns.
    pub metrics: bool,
    /// Parquet row groups and ORC stripes, by their statistics.
    pub row_groups: bool,
    /// Parquet pages, by the page index.
    pub pages: bool,
    /// Parquet row groups, by their bloom filters and dictionaries.
    pub bloom_filters: bool,
    /// Rows, by what somebody checks again. Those that an exact predicate leaves out never come out.
    pub rows: bool,
}

impl RowFilter {
    /// Wants every row.
    pub const ALL: Self = Self {
        exact: Predicate::True,
        inexact: Predicate::True,
    };

    /// What is true of every wanted row.
    pub fn combined(&self) -> Predicate {
        Predicate::and([self.exact.clone(), self.inexact.clone()])
    }
}

impl Default for RowFilter {
    fn default() -> Self {
        Self::ALL
    }
}

impl PruningLevels {
    /// Every level.
    pub const ALL: Self = Self {
        partitions: true,
        metrics: true,
        row_groups: true,
        pages: true,
        bloom_filters: true,
        rows: true,
    };

    /// No level: everything is read.
    pub const NONE: Self = Self {
        partitions: false,
        metrics: false,
        row_groups: false,
        pages: false,
        bloom_filters: false,
        rows: false,
    };
}

impl ScanFilter {
    /// Wants every row.
    pub const ALL: Self = Self {
        rows: RowFilter::ALL,
        levels: PruningLevels::ALL,
    };
}
