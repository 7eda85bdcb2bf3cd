//! Late materialisation: the columns that a filter tests are decoded first, the others only for the
//! rows that are wanted. Nothing in the spec.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat, filter};
use arrow::error::ArrowError;
use async_trait::async_trait;

use super::decode::{FetchedRows, Ready, RowGroupDecoder};
use super::filter::BatchFilter;
use super::format::{StillWanted, UnitDecoder};
use super::metrics::ReadMetrics;
use super::page_index::PageIndex;
use super::panics;
use super::parquet_file::{ParquetFile, Source};
use super::row_positions::RowPositions;
use crate::error::{Error, ErrorKind, Result};

/// Decodes the wanted rows of a row group.
pub(super) struct TwoPhaseDecoder {
    search: Arc<Search>,
    /// What the filter tests, until it has been decoded.
    tested: Option<FetchedRows>,
    /// All columns of the wanted rows, if there are any.
    wanted: Option<RowGroupDecoder>,
}

/// Where wanted rows are looked for.
struct Search {
    file: Arc<ParquetFile>,
    source: Source,
    filter: BatchFilter,
    index: Option<PageIndex>,
    still_wanted: StillWanted,
}

/// The tested columns of the wanted rows.
struct WantedSoFar {
    positions: RowPositions,
    columns: Vec<(usize, Vec<ArrayRef>)>,
}

impl TwoPhaseDecoder {
    /// A decoder of a row group of which has been fetched what the filter tests.
    pub(super) fn new(
        file: Arc<ParquetFile>,
        source: Source,
        filter: BatchFilter,
        index: Option<PageIndex>,
        tested: FetchedRows,
        still_wanted: StillWanted,
    ) -> Self {
        let search = Arc::new(Search {
            file,
            source,
            filter,
            index,
            still_wanted,
        });
        Self {
            search,
            tested: Some(tested),
            wanted: None,
        }
    }
}

impl Search {
    /// Decodes what the filter tests, and finds the wanted rows.
    async fn find_wanted(&self, tested: FetchedRows) -> Result<WantedSoFar> {
        let columns = self.file.filter_columns();
        let mut wanted = WantedSoFar {
            positions: RowPositions::default(),
            columns: columns.iter().map(|column| (*column, Vec::new())).collect(),
        };
        let (file, still_wanted) = (Arc::clone(&self.file), Arc::clone(&self.still_wanted));
        let mut decoder = RowGroupDecoder::new(file, tested, Vec::new(), still_wanted)?;
        while (self.still_wanted)() {
            let started = Instant::now();
            let Some((decoded, positions)) = decoder.decode_columns(columns)? else {
                break;
            };
            panics::caught("wanted rows", || {
                self.keep(&mut wanted, &decoded, &positions)
            })
            .map_err(|error| error.in_file(&self.file.path))?;
            ReadMetrics::add_time(&self.source.metrics.decode_nanoseconds, started.elapsed());
            // A decoder must not keep fetches and cancellation from this thread.
            tokio::task::yield_now().await;
        }
        Ok(wanted)
    }

    /// A decoder of the wanted rows, if there are any.
    async fn wanted_rows(self: Arc<Self>, tested: FetchedRows) -> Result<Option<RowGroupDecoder>> {
        let row_group = tested.row_group;
        let WantedSoFar { positions, columns } = self.find_wanted(tested).await?;
        if positions.count() == 0 || !(self.still_wanted)() {
            return Ok(None);
        }
        let mut ready: Ready = vec![None; self.file.projection.columns.len()];
        for (column, parts) in columns {
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            let whole = concat(&parts).map_err(|error| internal(&error))?;
            if let Some(place) = ready.get_mut(column) {
                *place = Some(whole);
            }
        }
        let others = self.file.other_roots();
        let fetched = self
            .source
            .fetch_rows(
                &self.file,
                row_group,
                others,
                positions,
                self.index.as_ref(),
            )
            .await?;
        let (file, still_wanted) = (Arc::clone(&self.file), Arc::clone(&self.still_wanted));
        RowGroupDecoder::new(file, fetched, ready, still_wanted).map(Some)
    }

    fn keep(
        &self,
        wanted: &mut WantedSoFar,
        decoded: &[ArrayRef],
        positions: &RowPositions,
    ) -> Result<()> {
        let rows = positions.count();
        let kept = self
            .filter
            .wanted(decoded, usize::try_from(rows).unwrap_or(usize::MAX))?;
        let count = kept.count_set_bits() as u64;
        self.source.selectivity.saw(rows, count);
        ReadMetrics::add(&self.source.metrics.rows_skipped, rows - count);
        if count == 0 {
            return Ok(());
        }
        wanted.positions.append(positions.kept(&kept));
        for (column, parts) in &mut wanted.columns {
            let array = decoded
                .get(*column)
                .ok_or_else(|| Error::new(ErrorKind::Internal, "a tested column is absent"))?;
            parts.push(rows_of(array, &kept).map_err(|error| internal(&error))?);
        }
        Ok(())
    }
}

#[async_trait]
impl UnitDecoder for TwoPhaseDecoder {
    async fn prepare(&mut self) -> Result<()> {
        let Some(tested) = self.tested.take() else {
            return Ok(());
        };
        self.wanted = Arc::clone(&self.search).wanted_rows(tested).await?;
        Ok(())
    }

    fn is_filtered(&self) -> bool {
        true
    }

    fn next(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        match &mut self.wanted {
            Some(wanted) => wanted.next(),
            None => Ok(None),
        }
    }
}
/// The values whose bits are set. Few texts do not keep the pages of many alive.
fn rows_of(array: &ArrayRef, kept: &BooleanBuffer) -> Result<ArrayRef, ArrowError> {
    if !kept.has_false() {
        return Ok(Arc::clone(array));
    }
    let few = filter(array, &BooleanArray::new(kept.clone(), None))?;
    if let Some(texts) = few.as_string_view_opt() {
        return Ok(Arc::new(texts.gc()));
    }
    if let Some(bytes) = few.as_binary_view_opt() {
        return Ok(Arc::new(bytes.gc()));
    }
    Ok(few)
}

fn internal(error: &ArrowError) -> Error {
    Error::new(ErrorKind::Internal, error.to_string())
}
