//! From the batches that a file decodes to, to the rows that come out: those that are wanted and
//! not deleted, without the columns that only filters and deletes look at.
//! Spec: "Scan Planning", "Delete Formats".

use arrow::array::{BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::FilterBuilder;

use super::added_columns::{ReadColumns, batch_of};
use super::deletes::FileDeletes;
use super::filter::BatchFilter;
use super::metrics::ReadMetrics;
use super::rewritten::RewrittenFilter;
use super::row_positions::RowPositions;
use super::selectivity::Selectivity;
use crate::error::{Error, ErrorKind, Result};

/// Which rows of one file come out, and how.
#[derive(Debug)]
pub(super) struct WantedRows {
    /// The columns that the file is read with.
    pub(super) columns: ReadColumns,
    /// What must be true of the rows.
    pub(super) filter: Option<BatchFilter>,
    /// What is deleted.
    pub(super) deletes: Option<FileDeletes>,
    /// Where only rows come out that a change deletes: what it deletes, if it deletes any.
    pub(super) change: Option<Option<FileDeletes>>,
    /// Rows that were not changed but moved, and those that were updated.
    pub(super) rewritten: Option<RewrittenFilter>,
}

impl WantedRows {
    /// Whether delete files are in memory for it.
    pub(super) fn have_deletes(&self) -> bool {
        self.deletes.is_some() || self.change.as_ref().is_some_and(Option::is_some)
    }

    /// The rows of a batch that come out.
    ///
    /// # Errors
    /// Without the file's name.
    pub(super) fn wanted(
        &self,
        batch: RecordBatch,
        positions: RowPositions,
        metrics: &ReadMetrics,
        selectivity: &Selectivity,
    ) -> Result<RecordBatch> {
        let Some(filter) = &self.filter else {
            return self.not_deleted(batch, positions, metrics);
        };
        let rows = batch.num_rows();
        let kept = filter.wanted(batch.columns(), rows)?;
        let unwanted = unset(&kept);
        ReadMetrics::add(&metrics.rows_skipped, unwanted);
        selectivity.saw(rows as u64, rows as u64 - unwanted);
        if unwanted == 0 {
            return self.not_deleted(batch, positions, metrics);
        }
        if self.deletes.is_none() && self.change.is_none() && self.rewritten.is_none() {
            return filtered(self.columns.output(batch)?, kept);
        }
        let positions = positions.kept(&kept);
        self.not_deleted(filtered(batch, kept)?, positions, metrics)
    }

    /// The rows of a batch of wanted ones that come out.
    ///
    /// # Errors
    /// Without the file's name.
    pub(super) fn not_deleted(
        &self,
        batch: RecordBatch,
        positions: RowPositions,
        metrics: &ReadMetrics,
    ) -> Result<RecordBatch> {
        let mut kept = match &self.deletes {
            Some(deletes) => deletes.kept(&positions, &batch)?,
            None => None,
        };
        if let Some(kept) = &kept {
            ReadMetrics::add(&metrics.rows_deleted, unset(kept));
        }
        let mut keep_only = |rows: BooleanBuffer| {
            kept = Some(match &kept {
                Some(kept) => kept & &rows,
                None => rows,
            });
        };
        if let Some(change) = &self.change {
            let left = match change {
                Some(deletes) => deletes.kept(&positions, &batch)?,
                None => None,
            };
            keep_only(
                left.map_or_else(|| BooleanBuffer::new_unset(batch.num_rows()), |left| !&left),
            );
        }
        let mut batch = batch;
        if let Some(rewritten) = &self.rewritten {
            let (changed, renamed) = rewritten.apply(batch)?;
            batch = renamed;
            keep_only(changed);
        }
        let batch = self.columns.output(batch)?;
        match kept {
            None => Ok(batch),
            Some(kept) => filtered(batch, kept),
        }
    }
}

/// How many bits are not set.
fn unset(bits: &BooleanBuffer) -> u64 {
    (bits.len() - bits.count_set_bits()) as u64
}

/// The rows whose bits are set.
fn filtered(batch: RecordBatch, kept: BooleanBuffer) -> Result<RecordBatch> {
    let rows = kept.count_set_bits();
    let kept = BooleanArray::new(kept, None);
    let columns = batch.columns();
    let mut filter = FilterBuilder::new(&kept);
    if columns.len() > 1 {
        filter = filter.optimize();
    }
    let filter = filter.build();
    let columns = columns
        .iter()
        .map(|column| filter.filter(column))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
    batch_of(batch.schema(), columns, rows)
}
