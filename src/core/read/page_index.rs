//! The page index of a Parquet file: which rows of a row group may be wanted by what is said of its
//! pages, and where the pages lie. Spec: Parquet "Page Index".

use std::ops::Range;

use bytes::Bytes;
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::page_index::offset_index::PageLocation;

use super::compact::{CompactReader, Fault, Kind};
use super::filter::BatchFilter;
use super::parquet_file::{ParquetFile, Source};
use super::row_groups::{Bound, ColumnFacts, TestedColumn};
use super::row_positions::RowPositions;
use crate::error::Result;

/// How many bytes the index of a column in a row group may have.
const MAX_BYTES: u64 = 16 << 20;

/// Where the pages of the needed columns of a row group lie, and what is said of them.
#[derive(Debug)]
pub(super) struct PageIndex {
    columns: Vec<IndexedColumn>,
    /// The positions of the rows of the row group.
    rows: Range<u64>,
}

/// What the index says of a leaf of the projection.
#[derive(Debug, Default)]
struct IndexedColumn {
    /// Its data pages; none where that is not known.
    places: Vec<PageLocation>,
    /// What is said of these, if anything is and a filter asks for it.
    bounds: Option<ColumnIndex>,
}

/// What is said of pages, as far as it is looked at; parts are slices of the index.
#[derive(Debug, Default)]
struct ColumnIndex {
    null_pages: Vec<bool>,
    least: Vec<Bytes>,
    greatest: Vec<Bytes>,
    null_counts: Option<Vec<i64>>,
}

impl PageIndex {
    /// Reads the index of a row group; `None` where there is none of a column that a filter tests.
    /// What makes no sense is as if it were not there.
    ///
    /// # Errors
    /// What storage says.
    pub(super) async fn read(
        source: &Source,
        file: &ParquetFile,
        row_group: usize,
        filter: &BatchFilter,
    ) -> Result<Option<Self>> {
        let Some((known, metadata)) = file.row_group(row_group) else {
            return Ok(None);
        };
        let rows = known.first_row..known.first_row.saturating_add(known.rows);
        let tested = file.tested_leaves(filter);
        let mut ranges = Vec::new();
        let mut wanted = Vec::new();
        for (leaf, column) in metadata.columns().iter().enumerate() {
            let inside =
                |range: &Range<u64>| range.end <= file.size && range.end - range.start <= MAX_BYTES;
            let (offset, length) = (column.offset_index_offset(), column.offset_index_length());
            let Some(places) = range(offset, length).filter(inside) else {
                continue;
            };
            ranges.push(places);
            wanted.push((leaf, false));
            let (offset, length) = (column.column_index_offset(), column.column_index_length());
            if tested.contains(&leaf)
                && let Some(bounds) = range(offset, length).filter(inside)
            {
                ranges.push(bounds);
                wanted.push((leaf, true));
            }
        }
        if !wanted.iter().any(|(_, is_tested)| *is_tested) {
            return Ok(None);
        }
        let mut columns: Vec<IndexedColumn> = Vec::new();
        columns.resize_with(metadata.columns().len(), IndexedColumn::default);
        let parts = source.fetch_lacking(file, &ranges).await?;
        for ((leaf, is_bounds), part) in wanted.into_iter().zip(parts) {
            let Some((column, chunk)) = columns.get_mut(leaf).zip(metadata.columns().get(leaf))
            else {
                continue;
            };
            if is_bounds {
                column.bounds = ColumnIndex::read(&part, column.places.len());
            } else {
                let count = rows.end - rows.start;
                column.places = read_places(&part)
                    .ok()
                    .filter(|places| is_sound(places, chunk, count))
                    .unwrap_or_default();
            }
        }
        Ok(Some(Self { columns, rows }))
    }

    /// The rows in pages that may have wanted rows.
    pub(super) fn wanted_rows(
        &self,
        filter: &BatchFilter,
        file: &ParquetFile,
        metadata: &RowGroupMetaData,
    ) -> RowPositions {
        let of_test = |test: &_| {
            let (projection, orders) = (&file.projection, &file.orders);
            let column = TestedColumn::new(test, projection, orders, metadata.columns())?;
            let bounds = self.columns.get(column.leaf)?.bounds.as_ref()?;
            let pages = self.pages(column.leaf)?.into_iter().enumerate();
            let is_ordered = column.is_ordered(false);
            let wanted = pages.filter(|(page, _)| {
                let facts = bounds.facts(*page, column.physical_type, is_ordered);
                facts.is_none_or(|facts| test.may_hold(&column.possible_values(facts)))
            });
            Some(RowPositions::of_ranges(wanted.map(|(_, rows)| rows)))
        };
        filter
            .rows_that_may_hold(&of_test)
            .unwrap_or_else(|| RowPositions::of(self.rows.clone()))
    }

    /// The positions of the rows of each data page of a leaf; `None` where they are not known.
    pub(super) fn pages(&self, leaf: usize) -> Option<Vec<Range<u64>>> {
        let starts = self
            .places(leaf)?
            .iter()
            .map(|page| self.rows.start + u64::try_from(page.first_row_index).unwrap_or(0));
        let ends = starts.clone().skip(1).chain([self.rows.end]);
        Some(starts.zip(ends).map(|(start, end)| start..end).collect())
    }

    /// Where the data pages of a leaf lie; `None` where that is not known.
    pub(super) fn places(&self, leaf: usize) -> Option<&[PageLocation]> {
        self.columns
            .get(leaf)
            .map(|column| column.places.as_slice())
            .filter(|places| !places.is_empty())
    }
}

impl ColumnIndex {
    /// Reads what is said of so many pages; `None` where it is said of another number.
    fn read(index: &Bytes, pages: usize) -> Option<Self> {
        const NULL_PAGES: i16 = 1;
        const LEAST: i16 = 2;
        const GREATEST: i16 = 3;
        const NULL_COUNTS: i16 = 5;
        let mut read = Self::default();
        let mut reader = CompactReader(index);
        reader
            .each_field(|reader, id, kind| match (id, kind) {
                (NULL_PAGES, Kind::List) => {
                    read.null_pages =
                        list(reader, Kind::Boolean, |reader| Ok(reader.byte()? == 1))?;
                    Ok(())
                }
                (LEAST, Kind::List) => {
                    read.least = list(reader, Kind::Binary, |reader| {
                        Ok(index.slice_ref(reader.binary()?))
                    })?;
                    Ok(())
                }
                (GREATEST, Kind::List) => {
                    read.greatest = list(reader, Kind::Binary, |reader| {
                        Ok(index.slice_ref(reader.binary()?))
                    })?;
                    Ok(())
                }
                (NULL_COUNTS, Kind::List) => {
                    read.null_counts = Some(list(reader, Kind::Integer, CompactReader::integer)?);
                    Ok(())
                }
                _ => reader.skip(kind),
            })
            .ok()?;
        let counts = read.null_counts.as_ref().map_or(pages, Vec::len);
        [
            read.null_pages.len(),
            read.least.len(),
            read.greatest.len(),
            counts,
        ]
        .iter()
        .all(|length| *length == pages)
        .then_some(read)
    }

    /// What is said of the values in a page.
    fn facts<'a>(
        &'a self,
        page: usize,
        physical_type: PhysicalType,
        is_ordered: bool,
    ) -> Option<ColumnFacts<'a>> {
        if *self.null_pages.get(page)? {
            return Some(ColumnFacts {
                lower: None,
                upper: None,
                nulls: Some(1),
                values: Some(1),
            });
        }
        let bound = |bytes: Option<&'a Bytes>| {
            Bound::from_plain(physical_type, bytes.filter(|_| is_ordered)?)
        };
        Some(ColumnFacts {
            lower: bound(self.least.get(page)),
            upper: bound(self.greatest.get(page)),
            nulls: self
                .null_counts
                .as_ref()
                .and_then(|counts| u64::try_from(*counts.get(page)?).ok()),
            values: None,
        })
    }
}

/// The elements of a list of this kind.
fn list<'a, T>(
    reader: &mut CompactReader<'a>,
    kind: Kind,
    mut element: impl FnMut(&mut CompactReader<'a>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let (length, found) = reader.list()?;
    if found != kind && length > 0 {
        return Err(Fault::Malformed);
    }
    (0..length).map(|_| element(reader)).collect()
}

fn read_places(index: &[u8]) -> Result<Vec<PageLocation>, Fault> {
    const PAGE_LOCATIONS: i16 = 1;
    const OFFSET: i16 = 1;
    const SIZE: i16 = 2;
    const FIRST_ROW: i16 = 3;
    let mut places = Vec::new();
    CompactReader(index).each_field(|reader, id, kind| match (id, kind) {
        (PAGE_LOCATIONS, Kind::List) => {
            places = list(reader, Kind::Struct, |reader| {
                let (mut offset, mut size, mut first_row) = (-1, -1, -1);
                reader.each_field(|reader, id, kind| {
                    match (id, kind) {
                        (OFFSET, Kind::Integer) => offset = reader.integer()?,
                        (SIZE, Kind::Integer) => size = reader.integer()?,
                        (FIRST_ROW, Kind::Integer) => first_row = reader.integer()?,
                        _ => reader.skip(kind)?,
                    }
                    Ok(())
                })?;
                Ok(PageLocation {
                    offset,
                    compressed_page_size: i32::try_from(size).map_err(|_| Fault::Malformed)?,
                    first_row_index: first_row,
                })
            })?;
            Ok(())
        }
        _ => reader.skip(kind),
    })?;
    Ok(places)
}

/// Whether pages lie one after the other in their column chunk, and have all of its rows.
fn is_sound(places: &[PageLocation], chunk: &ColumnChunkMetaData, rows: u64) -> bool {
    let (chunk_start, length) = chunk.byte_range();
    let chunk_end = chunk_start.saturating_add(length);
    let (mut end, mut next_row) = (chunk_start, 0);
    for (number, page) in places.iter().enumerate() {
        let (Ok(offset), Ok(size), Ok(first_row)) = (
            u64::try_from(page.offset),
            u64::try_from(page.compressed_page_size),
            u64::try_from(page.first_row_index),
        ) else {
            return false;
        };
        let is_next = match number {
            0 => first_row == 0,
            _ => first_row > next_row,
        };
        if !is_next || first_row >= rows || offset < end || size == 0 {
            return false;
        }
        // The decoder counts the bytes of a dictionary before the first page so.
        if number == 0 && i32::try_from(offset - chunk_start).is_err() {
            return false;
        }
        (end, next_row) = (offset.saturating_add(size), first_row);
    }
    !places.is_empty() && end <= chunk_end
}

fn range(offset: Option<i64>, length: Option<i32>) -> Option<Range<u64>> {
    let offset = u64::try_from(offset?).ok()?;
    let length = u64::try_from(length?).ok().filter(|length| *length > 0)?;
    Some(offset..offset.checked_add(length)?)
}
