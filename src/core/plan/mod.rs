//! From a snapshot to the files that a scan must read.
//! Spec: "Scan Planning".

mod changes;
mod column_bounds;
mod column_sizes;
#[cfg(test)]
mod corpus_tests;
mod delete_file;
mod delete_index;
mod equality_columns;
mod equality_group;
mod facts;
mod files;
mod manifests;
mod metrics_facts;
mod partition_facts;
mod partition_fields;
mod pruning;
mod refuse;
mod sample;
mod split;

use std::ops::Range;
use std::sync::Arc;

pub use changes::{Change, ChangeKind, RewrittenRows, plan_changes};
pub use column_bounds::{ColumnBounds, ColumnRange};
pub use column_sizes::ColumnSizes;
pub use delete_file::{DeleteFile, DeletionVector, EqualityColumn, EqualityDeletes, TaskDeletes};
pub(crate) use delete_index::{delete_file, deletion_vector};
pub use files::plan_files;
pub(crate) use manifests::list_manifests;
pub use partition_fields::TaskPartitionField;
pub use sample::Sample;

pub use crate::spec::FileFormat;
use crate::spec::{Partition, RowFilter};
use crate::storage::RawPath;

/// One data file to read, or a part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct FileScanTask {
    /// The file, as the manifest names it.
    pub path: RawPath,
    /// The format of the file; only Parquet is planned yet.
    pub format: FileFormat,
    /// Its size in bytes, as the manifest says.
    pub file_size: u64,
    /// Its number of rows as the manifest says; `None` where the writer did not know.
    pub record_count: Option<u64>,
    /// The partition its rows are in, and the spec that says so.
    pub partition: Partition,
    /// The fields of that spec, in the order of the partition's values; none where unknown.
    pub partition_fields: Arc<[TaskPartitionField]>,
    /// The order of its rows; `None` or an unknown id: unsorted.
    pub sort_order_id: Option<i32>,
    /// Deletes apply by it. `None` where the manifest should state it and does not.
    pub data_sequence_number: Option<i64>,
    /// Row id of its first row (v3).
    pub first_row_id: Option<i64>,
    /// Where it can be split, in bytes, as the writer says; not checked.
    pub split_offsets: Vec<i64>,
    /// Which part of the file is read: the row groups or stripes that begin within these bytes. `None`: all.
    pub part: Option<Range<u64>>,
    /// The table's name mapping in its JSON form: what the file's columns are if it has no field
    /// ids. Parsed only then.
    pub name_mapping: Option<Arc<str>>,
    /// What must be taken away from its rows.
    pub deletes: TaskDeletes,
    /// Which of its rows are wanted, without what its partition and statistics show to be true of
    /// all of them.
    pub residual: Arc<RowFilter>,
    /// What happened to its rows, where changes are read and not a state.
    pub change: Option<Arc<Change>>,
}

/// What a scan of a snapshot must read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScanPlan {
    /// The data files, in the order of the manifest list and of the manifests.
    pub tasks: Vec<FileScanTask>,
    /// How many manifests the snapshot has.
    pub manifests_total: usize,
    /// How many of them were not read, because nothing in them is live or wanted.
    pub manifests_skipped: usize,
    /// How many live data files the manifests that were read have, before any was passed over.
    pub data_files_total: usize,
    /// How many of these were passed over because of their partitions.
    pub data_files_skipped_by_partition: usize,
    /// How many more were passed over because of what manifests say of their columns.
    pub data_files_skipped_by_metrics: usize,
    /// How many delete files and deletion vectors apply to the tasks.
    pub delete_files_total: usize,
    /// Rows of the tasks, deleted ones included; `None` where a file's number of rows is unknown.
    pub records: Option<u64>,
    /// Positions in the deletion vectors and position delete files of the tasks, as far as the
    /// manifests tell.
    pub deleted_positions: u64,
    /// Size of the tasks' files in bytes.
    pub total_bytes: u64,
    /// How many bytes columns take in the tasks' files.
    pub column_sizes: ColumnSizes,
    /// Bounds and nulls, over the tasks' files, of the columns that the filter is about; from column
    /// statistics only where these may be used.
    pub column_bounds: ColumnBounds,
}

impl ScanPlan {
    /// About how many rows there are without the deleted ones. Rows that equality deletes are
    /// about still count, and so many are subtracted for a position delete file as it has rows.
    pub fn remaining_records(&self) -> Option<u64> {
        Some(self.records?.saturating_sub(self.deleted_positions))
    }
}

impl FileScanTask {
    /// A task for a whole file of an unpartitioned table, about which nothing else is known.
    pub fn whole_file(
        path: RawPath,
        format: FileFormat,
        file_size: u64,
        record_count: Option<u64>,
    ) -> Self {
        Self {
            path,
            format,
            file_size,
            record_count,
            partition: Partition::default(),
            partition_fields: Arc::default(),
            sort_order_id: None,
            data_sequence_number: None,
            first_row_id: None,
            split_offsets: Vec::new(),
            part: None,
            name_mapping: None,
            deletes: TaskDeletes::default(),
            residual: Arc::default(),
            change: None,
        }
    }
}
