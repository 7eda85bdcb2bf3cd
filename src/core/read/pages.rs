//! The pages of a column chunk, looked at before they are decoded: the decoder takes memory for
//! whatever a page claims to hold. Spec: Parquet "Data Pages", "Compression", "Encodings".

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Compression, Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;

use super::compact::{CompactReader, Fault, Kind};
use super::decode::ColumnChunks;

/// How many bytes a page may unpack to. Writers end pages after about a megabyte.
const MAX_PAGE_BYTES: u64 = 1 << 30;
/// How many values a page may have whose encoding begins with all their lengths: the decoder
/// unpacks them at once.
const MAX_LENGTHS: u64 = 1 << 24;
/// How many bytes the elements of all lists of a row group may take: they could all be in one row,
/// which is decoded at once.
const MAX_REPEATED_BYTES: u64 = 1 << 31;

/// The data pages of each column of a row group, where only some have been fetched.
pub(super) type PagePlaces = Arc<[Option<Arc<[PageLocation]>>]>;

/// One row group of whose needed column chunks has been fetched what is needed.
pub(super) struct RowGroupPages {
    chunks: Arc<ColumnChunks>,
    metadata: Arc<ParquetMetaData>,
    row_group: usize,
    places: PagePlaces,
}

impl RowGroupPages {
    /// The pages of this row group of the file that `metadata` describes.
    pub(super) fn new(
        chunks: ColumnChunks,
        metadata: Arc<ParquetMetaData>,
        row_group: usize,
        places: PagePlaces,
    ) -> Self {
        Self {
            chunks: Arc::new(chunks),
            metadata,
            row_group,
            places,
        }
    }

    fn row_group(&self) -> Option<&RowGroupMetaData> {
        self.metadata.row_groups().get(self.row_group)
    }
}

impl RowGroups for RowGroupPages {
    fn num_rows(&self) -> usize {
        self.row_group()
            .and_then(|row_group| usize::try_from(row_group.num_rows()).ok())
            .unwrap_or(0)
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let places = self.places.get(column).and_then(Option::as_deref);
        let column = self
            .row_group()
            .and_then(|row_group| row_group.columns().get(column))
            .ok_or_else(|| general("a row group lacks a column"))?;
        let pages = CheckedPages::new(&self.chunks, column, self.num_rows(), places)?;
        Ok(Box::new(OneChunk(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.row_group().into_iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

struct OneChunk(Option<CheckedPages>);

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let pages: Box<dyn PageReader> = Box::new(self.0.take()?);
        Some(Ok(pages))
    }
}

impl PageIterator for OneChunk {}

/// The pages of a column chunk.
struct CheckedPages {
    pages: SerializedPageReader<ColumnChunks>,
    /// From the header of the next page to the end of the chunk.
    rest: Bytes,
    /// The places of the pages that follow, where not all have been fetched.
    places: Option<VecDeque<Range<u64>>>,
    chunks: Arc<ColumnChunks>,
    compression: Compression,
    /// The fewest bytes that a value takes when it is stored plainly.
    plain_width: u64,
    max_repetition_level: u64,
    max_definition_level: u64,
    /// How many values the chunk still may have; only kept for lists.
    values_left: i64,
}

/// What the header of a page says, as far as memory is taken by it.
#[derive(Default)]
struct Header {
    page_type: i64,
    unpacked: i64,
    stored: i64,
    values: i64,
}

impl CheckedPages {
    fn new(
        chunks: &Arc<ColumnChunks>,
        column: &ColumnChunkMetaData,
        rows: usize,
        places: Option<&[PageLocation]>,
    ) -> Result<Self> {
        let descriptor = column.column_descr();
        let max_repetition_level = unsigned(i64::from(descriptor.max_rep_level()));
        let plain_width = match column.column_type() {
            PhysicalType::BOOLEAN => 1,
            PhysicalType::INT32 | PhysicalType::FLOAT | PhysicalType::BYTE_ARRAY => 4,
            PhysicalType::INT64 | PhysicalType::DOUBLE => 8,
            PhysicalType::INT96 => 12,
            PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                unsigned(i64::from(descriptor.type_length())).max(1)
            }
        };
        let elements = unsigned(column.num_values());
        if max_repetition_level > 0
            && elements.saturating_mul(plain_width.max(16)) > MAX_REPEATED_BYTES
        {
            return Err(ParquetError::NYI(format!(
                "lists with {elements} elements in one row group"
            )));
        }
        let (start, length) = column.byte_range();
        let mut rest = Bytes::new();
        if places.is_none() {
            rest = chunks.from(start)?;
            rest.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        }
        let located = places.map(<[PageLocation]>::to_vec);
        Ok(Self {
            pages: SerializedPageReader::new(Arc::clone(chunks), column, rows, located)?,
            rest,
            places: places.map(|places| all_pages(start, places)),
            chunks: Arc::clone(chunks),
            compression: column.compression(),
            plain_width,
            max_repetition_level,
            max_definition_level: unsigned(i64::from(descriptor.max_def_level())),
            values_left: column.num_values(),
        })
    }

    /// Checks the header of the page that comes next, and passes over that page.
    fn check_header(&mut self) -> Result<()> {
        const INDEX_PAGE: i64 = 1;
        const DICTIONARY_PAGE: i64 = 2;
        if let Some(places) = &mut self.places {
            let Some(page) = places.pop_front() else {
                return Ok(());
            };
            let length = usize::try_from(page.end - page.start).unwrap_or(usize::MAX);
            self.rest = self.chunks.get_bytes(page.start, length)?;
        }
        while !self.rest.is_empty() {
            let mut reader = CompactReader(&self.rest);
            let header = Header::read(&mut reader)
                .map_err(|_| general("the header of a page cannot be parsed"))?;
            let end = self.rest.len() - reader.0.len();
            let end = usize::try_from(header.stored)
                .ok()
                .and_then(|stored| end.checked_add(stored))
                .filter(|end| *end <= self.rest.len())
                .ok_or_else(|| general("a page reaches beyond its column"))?;
            self.rest = self.rest.slice(end..);
            if header.page_type == INDEX_PAGE {
                continue;
            }
            let (unpacked, stored) = (unsigned(header.unpacked), unsigned(header.stored));
            if unpacked > self.most_unpacked(stored) {
                return Err(general(format!(
                    "a page of {stored} bytes claims to unpack to {unpacked} bytes"
                )));
            }
            if header.page_type == DICTIONARY_PAGE {
                let needed = unsigned(header.values).saturating_mul(self.plain_width);
                if needed > unpacked.max(stored) {
                    return Err(general(format!(
                        "a dictionary of {unpacked} bytes claims to have {} values",
                        header.values
                    )));
                }
            } else if self.max_repetition_level > 0 {
                self.values_left = self.values_left.saturating_sub(header.values.max(0));
                if self.values_left < 0 {
                    return Err(general("the pages have more values than their column"));
                }
            }
            return Ok(());
        }
        Ok(())
    }

    /// How many bytes so many can unpack to.
    fn most_unpacked(&self, stored: u64) -> u64 {
        let ratio = match self.compression {
            // What it claims does not matter.
            Compression::UNCOMPRESSED => return u64::MAX,
            // A copy of 64 bytes takes three.
            Compression::SNAPPY => 22,
            // Each byte of a length adds at most 255.
            Compression::LZ4 | Compression::LZ4_RAW => 256,
            // The shortest codes for 258 bytes are two bits long.
            Compression::GZIP(_) => 1032,
            _ => u64::MAX,
        };
        stored.saturating_mul(ratio).min(MAX_PAGE_BYTES)
    }

    /// Checks the lengths at the start of a page, where its encoding has them.
    fn check_lengths(&self, page: &Page) -> Result<()> {
        let deltas = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => return Ok(()),
        };
        let mut bytes = self
            .values_of(page)
            .ok_or_else(|| general("a page ends within its levels"))?;
        for _ in 0..deltas {
            let (count, rest) =
                pass_deltas(bytes).ok_or_else(|| general("a page ends within its lengths"))?;
            if count > MAX_LENGTHS {
                return Err(ParquetError::NYI(format!(
                    "{count} delta-encoded values in one page"
                )));
            }
            bytes = rest;
        }
        Ok(())
    }

    /// The bytes of a data page after its levels.
    fn values_of<'a>(&self, page: &'a Page) -> Option<&'a [u8]> {
        match page {
            Page::DataPage {
                buf,
                num_values,
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                let mut bytes: &[u8] = buf;
                for (max_level, encoding) in [
                    (self.max_repetition_level, rep_level_encoding),
                    (self.max_definition_level, def_level_encoding),
                ] {
                    bytes = pass_levels(bytes, max_level, *encoding, *num_values)?;
                }
                Some(bytes)
            }
            Page::DataPageV2 {
                buf,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let levels = def_levels_byte_len.checked_add(*rep_levels_byte_len)?;
                buf.get(usize::try_from(levels).ok()?..)
            }
            Page::DictionaryPage { buf, .. } => Some(buf),
        }
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.check_header()?;
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            self.check_lengths(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        // Pages of an index begin with a row; of others it is not known, and the one that follows may
        // not be there.
        Ok(self.places.is_some() || self.peek_next_page()?.is_none())
    }

    fn skip_next_page(&mut self) -> Result<()> {
        match &mut self.places {
            // It need not be there.
            Some(places) => drop(places.pop_front()),
            None => self.check_header()?,
        }
        self.pages.skip_next_page()
    }
}

impl Header {
    fn read(reader: &mut CompactReader<'_>) -> Result<Self, Fault> {
        const PAGE_TYPE: i16 = 1;
        const UNPACKED: i16 = 2;
        const STORED: i16 = 3;
        const HEADERS_BY_TYPE: [i16; 3] = [5, 7, 8];
        const NUM_VALUES: i16 = 1;
        let mut header = Self::default();
        reader.each_field(|reader, id, kind| {
            match (id, kind) {
                (PAGE_TYPE, Kind::Integer) => header.page_type = reader.integer()?,
                (UNPACKED, Kind::Integer) => header.unpacked = reader.integer()?,
                (STORED, Kind::Integer) => header.stored = reader.integer()?,
                (id, Kind::Struct) if HEADERS_BY_TYPE.contains(&id) => {
                    reader.each_field(|reader, id, kind| match (id, kind) {
                        (NUM_VALUES, Kind::Integer) => {
                            header.values = header.values.max(reader.integer()?);
                            Ok(())
                        }
                        _ => reader.skip(kind),
                    })?;
                }
                _ => reader.skip(kind)?,
            }
            Ok(())
        })?;
        Ok(header)
    }
}

/// The dictionary at the start of a column chunk, which is all that is there of it; `None` if there
/// is another page instead.
pub(super) fn dictionary_page(
    chunks: ColumnChunks,
    column: &ColumnChunkMetaData,
    rows: usize,
) -> Result<Option<Page>> {
    let page = CheckedPages::new(&Arc::new(chunks), column, rows, None)?.get_next_page()?;
    Ok(page.filter(|page| matches!(page, Page::DictionaryPage { .. })))
}

/// The places of the pages of a column chunk that begins here: a dictionary comes before the data
/// pages.
fn all_pages(start: u64, places: &[PageLocation]) -> VecDeque<Range<u64>> {
    let data: Vec<_> = places
        .iter()
        .map(|page| {
            let start = unsigned(page.offset);
            start..start.saturating_add(unsigned(i64::from(page.compressed_page_size)))
        })
        .collect();
    let dictionary = data
        .first()
        .map(|first| start..first.start)
        .filter(|dictionary| !dictionary.is_empty());
    dictionary.into_iter().chain(data).collect()
}

/// What follows the levels of a data page of version 1.
fn pass_levels(bytes: &[u8], max_level: u64, encoding: Encoding, values: u32) -> Option<&[u8]> {
    if max_level == 0 {
        return Some(bytes);
    }
    #[allow(deprecated)]
    if encoding == Encoding::BIT_PACKED {
        let bits = u64::from(u64::BITS - max_level.leading_zeros());
        let length = bits.checked_mul(u64::from(values))?.div_ceil(8);
        return bytes.get(usize::try_from(length).ok()?..);
    }
    let (length, bytes) = bytes.split_first_chunk()?;
    bytes.get(usize::try_from(u32::from_le_bytes(*length)).ok()?..)
}

/// How many numbers a delta encoding claims to have, and what follows them.
fn pass_deltas(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut reader = CompactReader(bytes);
    let block_size = reader.varint().ok()?;
    let miniblocks = usize::try_from(reader.varint().ok()?).ok()?;
    let count = reader.varint().ok()?;
    reader.integer().ok()?;
    let values = block_size.checked_div(miniblocks as u64)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        reader.integer().ok()?;
        let (widths, rest) = reader.0.split_at_checked(miniblocks)?;
        reader.0 = rest;
        for width in widths {
            if left == 0 {
                break;
            }
            if values == 0 {
                return None;
            }
            let bits = u64::from(*width).checked_mul(values)?;
            reader.advance(bits.div_ceil(8)).ok()?;
            left = left.saturating_sub(values);
        }
    }
    Some((count, reader.0))
}

/// A number without its sign; none of these may be negative.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn general(message: impl Into<String>) -> ParquetError {
    ParquetError::General(message.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first example of the encoding's spec: 1 to 5 in blocks of 8 in one part, all deltas 1.
    #[test]
    fn deltas_of_the_specs_examples() {
        let ones = [8, 1, 5, 2, 2, 0];
        assert_eq!(pass_deltas(&ones), Some((5, &[][..])));
        // The second: 7, 5, 3, 1, 2, 3, 4, 5; the least delta is -2, the others are 2 bits wide.
        let twos = [8, 1, 8, 14, 3, 2, 0b1100_0000, 0b0011_1111, 99];
        assert_eq!(pass_deltas(&twos), Some((8, &[99][..])));
        assert_eq!(pass_deltas(&twos[..7]), None);
        // Without values there is no block.
        assert_eq!(pass_deltas(&[8, 1, 0, 0]), Some((0, &[][..])));
        assert_eq!(pass_deltas(&[8, 0, 1, 0]), None);
        assert_eq!(pass_deltas(&[0, 1, 5, 0, 0, 0]), None);
    }

    #[test]
    fn levels_of_both_encodings() {
        let rle = [2, 0, 0, 0, 8, 1, 42];
        assert_eq!(pass_levels(&rle, 1, Encoding::RLE, 4), Some(&[42][..]));
        assert_eq!(pass_levels(&rle, 0, Encoding::RLE, 4), Some(&rle[..]));
        assert_eq!(pass_levels(&rle[..5], 1, Encoding::RLE, 4), None);
        #[allow(deprecated)]
        let packed = pass_levels(&[0, 0, 7], 3, Encoding::BIT_PACKED, 8);
        assert_eq!(packed, Some(&[7][..]));
    }
}
