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
}

impl WantedRows {
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
        if self.deletes.is_none() {
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
        let kept = match &self.deletes {
            Some(deletes) => deletes.kept(&positions, &batch)?,
            None => None,
        };
        let batch = self.columns.output(batch)?;
        let Some(kept) = kept else {
            return Ok(batch);
        };
        ReadMetrics::add(&metrics.rows_deleted, unset(&kept));
        filtered(batch, kept)
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
