//! What of a row group is fetched: the columns that are needed, and of these, where the page index
//! tells, the pages that have wanted rows. Spec: Parquet "Page Index".

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::file::page_index::offset_index::PageLocation;

use super::decode::{ColumnChunks, FetchedRows};
use super::equal_values;
use super::filter::BatchFilter;
use super::format::Fetched;
use super::metrics::ReadMetrics;
use super::page_index::PageIndex;
use super::parquet_file::{ParquetFile, Source};
use super::row_positions::RowPositions;
use super::two_phases::TwoPhaseDecoder;
use crate::error::Result;

/// Pages are left out only where the wanted rows lie so many together on average: the decoder goes
/// over the rows between those that lie closer.
const ROWS_TOGETHER: u64 = 64;
/// The columns that a filter does not test must have at least such a part of the bytes before it
/// pays to decode them later.
const MIN_OTHER_BYTES: u64 = 8;

impl Source {
    /// Fetches what must be there before a row group is decoded; `None` if no row of it is wanted.
    ///
    /// # Errors
    /// What storage says.
    pub(super) async fn fetch_row_group(
        &self,
        file: Arc<ParquetFile>,
        row_group: usize,
    ) -> Result<Option<Fetched>> {
        let Some(known) = file.row_groups.get(row_group) else {
            return Ok(None);
        };
        let all = RowPositions::of(known.first_row..known.first_row.saturating_add(known.rows));
        let Some(filter) = file.filter.clone() else {
            return self.fetch_at_once(file, row_group, all, None).await;
        };
        let (rows, index) = self.wanted_rows(&file, row_group, &filter, all).await?;
        let passed_over = known.rows - rows.count();
        ReadMetrics::add(&self.metrics.rows_skipped, passed_over);
        if rows.count() == 0 {
            ReadMetrics::add(&self.metrics.row_groups_skipped, 1);
            return Ok(None);
        }
        let tested_bytes: u64 = file.stored_bytes(row_group, file.filter_roots());
        let pays = !file.filter_roots().is_empty()
            && (known.stored_bytes - tested_bytes).saturating_mul(MIN_OTHER_BYTES)
                >= known.stored_bytes;
        if !pays || !self.selectivity.is_selective() {
            return self
                .fetch_at_once(file, row_group, rows, index.as_ref())
                .await;
        }
        let roots = file.filter_roots().to_vec();
        let tested = self
            .fetch_rows(&file, row_group, roots, rows, index.as_ref())
            .await?;
        let source = self.clone();
        Ok(Some(Box::new(move |still_wanted| {
            let decoder = TwoPhaseDecoder::new(file, source, filter, index, tested, still_wanted);
            Ok(Box::new(decoder))
        })))
    }

    async fn fetch_at_once(
        &self,
        file: Arc<ParquetFile>,
        row_group: usize,
        rows: RowPositions,
        index: Option<&PageIndex>,
    ) -> Result<Option<Fetched>> {
        let roots = file.all_roots();
        let fetched = self
            .fetch_rows(&file, row_group, roots, rows, index)
            .await?;
        Ok(Some(Box::new(move |still_wanted| {
            let decoder =
                super::decode::RowGroupDecoder::new(file, fetched, Vec::new(), still_wanted)?;
            Ok(Box::new(decoder))
        })))
    }

    /// The rows of a row group that may be wanted, and its page index where that was of use.
    async fn wanted_rows(
        &self,
        file: &ParquetFile,
        row_group: usize,
        filter: &BatchFilter,
        all: RowPositions,
    ) -> Result<(RowPositions, Option<PageIndex>)> {
        if file.levels.bloom_filters
            && !equal_values::may_have_wanted_rows(self, file, row_group, filter).await?
        {
            return Ok((RowPositions::default(), None));
        }
        if !file.levels.pages {
            return Ok((all, None));
        }
        let index = PageIndex::read(self, file, row_group, filter).await?;
        let rows = match (&index, file.row_group(row_group)) {
            (Some(index), Some((_, metadata))) => index.wanted_rows(filter, file, metadata),
            _ => all,
        };
        Ok((rows, index))
    }

    /// Fetches what is needed to decode some columns of some rows, given by their places in the
    /// projection's schema.
    ///
    /// # Errors
    /// What storage says.
    pub(super) async fn fetch_rows(
        &self,
        file: &ParquetFile,
        row_group: usize,
        roots: Vec<usize>,
        rows: RowPositions,
        index: Option<&PageIndex>,
    ) -> Result<FetchedRows> {
        let mut ranges = Vec::new();
        let mut places: Vec<Option<Arc<[PageLocation]>>> = Vec::new();
        if let Some(known) = file.row_groups.get(row_group) {
            places.resize(known.chunks.len(), None);
            let index = index.filter(|_| lie_together(&rows, known.rows));
            for leaf in roots
                .iter()
                .flat_map(|root| file.projection.leaves_of(*root))
            {
                let Some(chunk) = known.chunks.get(leaf) else {
                    continue;
                };
                match index.and_then(|index| some_pages(index, leaf, chunk, &rows)) {
                    None => ranges.push(chunk.clone()),
                    Some(pages) => {
                        ReadMetrics::add(&self.metrics.pages_skipped, pages.skipped);
                        ranges.extend(pages.ranges);
                        if let Some(place) = places.get_mut(leaf) {
                            *place = Some(pages.places);
                        }
                    }
                }
            }
        }
        let parts = self.fetch_lacking(file, &ranges).await?;
        let starts = ranges.iter().map(|range| range.start);
        Ok(FetchedRows {
            row_group,
            roots,
            chunks: ColumnChunks::new(starts.zip(parts).collect()),
            places: places.into(),
            rows,
        })
    }

    /// Reads ranges of a file, as far as they were not read with its footer.
    pub(super) async fn fetch_lacking(
        &self,
        file: &ParquetFile,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        let there = |range: &Range<u64>| match file.tail.slice(range) {
            None if range.is_empty() => Some(Bytes::new()),
            there => there,
        };
        let known: Vec<_> = ranges.iter().map(there).collect();
        let lacking: Vec<_> = ranges
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_none())
            .map(|(range, _)| range.clone())
            .collect();
        let mut fetched = self.fetch(&file.path, &lacking).await?.into_iter();
        Ok(known
            .into_iter()
            .map(|known| known.or_else(|| fetched.next()).unwrap_or_default())
            .collect())
    }
}

/// Whether rows lie so that the decoder goes from one group of them to the next.
fn lie_together(rows: &RowPositions, of: u64) -> bool {
    let groups = rows.ranges().len() as u64;
    rows.count() < of && (2 * groups + 1).saturating_mul(ROWS_TOGETHER) <= of
}

/// The pages of a column chunk that are fetched, where others are not.
struct SomePages {
    places: Arc<[PageLocation]>,
    /// Where they lie, and the dictionary.
    ranges: Vec<Range<u64>>,
    skipped: u64,
}

/// The pages of a column chunk that have some of these rows; `None` if all have, or none is known.
fn some_pages(
    index: &PageIndex,
    leaf: usize,
    chunk: &Range<u64>,
    rows: &RowPositions,
) -> Option<SomePages> {
    let places = index.places(leaf)?;
    let first = u64::try_from(places.first()?.offset).ok()?;
    let mut ranges = Vec::with_capacity(places.len() + 1);
    ranges.push(chunk.start..first);
    let mut skipped = 0;
    for (place, page) in places.iter().zip(index.pages(leaf)?) {
        if !rows.any_in(&page) {
            skipped += 1;
            continue;
        }
        let start = u64::try_from(place.offset).ok()?;
        let end = start.checked_add(u64::try_from(place.compressed_page_size).ok()?)?;
        match ranges.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    ranges.retain(|range| !range.is_empty());
    (skipped > 0).then(|| SomePages {
        places: places.into(),
        ranges,
        skipped,
    })
}
