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
/// How many bytes the values of a batch may have that share their beginnings: a file has a beginning
/// once, a batch has it in every value.
const MAX_EXPANDED_BYTES: u64 = 1 << 30;
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
    batch_rows: usize,
}

impl RowGroupPages {
    /// The pages of this row group of the file that `metadata` describes, to be decoded to batches
    /// of so many rows.
    pub(super) fn new(
        chunks: ColumnChunks,
        metadata: Arc<ParquetMetaData>,
        row_group: usize,
        places: PagePlaces,
        batch_rows: usize,
    ) -> Self {
        Self {
            chunks: Arc::new(chunks),
            metadata,
            row_group,
            places,
            batch_rows,
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
        let batch_rows = self.batch_rows;
        let pages = CheckedPages::new(&self.chunks, column, self.num_rows(), places, batch_rows)?;
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
    expanded: Expanded,
}

/// The lengths of the last values of a column, as many as one batch may have.
struct Expanded {
    lengths: VecDeque<u32>,
    /// `None` where a row has any number of values.
    most_values: Option<usize>,
    bytes: u64,
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
        batch_rows: usize,
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
            expanded: Expanded {
                lengths: VecDeque::new(),
                most_values: (max_repetition_level == 0).then_some(batch_rows),
                bytes: 0,
            },
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
    fn check_lengths(&mut self, page: &Page) -> Result<()> {
        let values_share = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => false,
            Encoding::DELTA_BYTE_ARRAY => true,
            _ => return Ok(()),
        };
        let bytes = self
            .values_of(page)
            .ok_or_else(|| general("a page ends within its levels"))?;
        if !values_share {
            pass_lengths(bytes, None)?;
            return Ok(());
        }
        // What each value shares with the one before, and then what it has of its own.
        let mut lengths = Vec::new();
        let rest = pass_lengths(bytes, Some(&mut |shared| lengths.push(shared)))?;
        let mut values = lengths.iter_mut();
        pass_lengths(
            rest,
            Some(&mut |own| {
                if let Some(length) = values.next() {
                    *length = length.saturating_add(own);
                }
            }),
        )?;
        lengths
            .into_iter()
            .try_for_each(|length| self.expanded.push(length))
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

impl Expanded {
    /// One more value of this length.
    fn push(&mut self, length: u32) -> Result<()> {
        self.bytes = self.bytes.saturating_add(u64::from(length));
        if let Some(most_values) = self.most_values {
            self.lengths.push_back(length);
            if self.lengths.len() > most_values {
                let gone = self.lengths.pop_front().unwrap_or(0);
                self.bytes = self.bytes.saturating_sub(u64::from(gone));
            }
        }
        if self.bytes > MAX_EXPANDED_BYTES {
            return Err(ParquetError::NYI(format!(
                "delta-encoded values that share so much that a batch of them takes more than {} MB",
                MAX_EXPANDED_BYTES >> 20
            )));
        }
        Ok(())
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
    let page = CheckedPages::new(&Arc::new(chunks), column, rows, None, rows)?.get_next_page()?;
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

/// Passes over the lengths that a page begins with, and gives what follows them.
fn pass_lengths<'a>(bytes: &'a [u8], each: Option<&mut dyn FnMut(u32)>) -> Result<&'a [u8]> {
    let ends = || general("a page ends within its lengths");
    let (count, rest) = deltas(bytes, None).ok_or_else(ends)?;
    if count > MAX_LENGTHS {
        return Err(ParquetError::NYI(format!(
            "{count} delta-encoded values in one page"
        )));
    }
    if let Some(each) = each {
        // What is negative is no length: the decoder will say so.
        let mut length = |length: i32| each(u32::try_from(length).unwrap_or(0));
        deltas(bytes, Some(&mut length)).ok_or_else(ends)?;
    }
    Ok(rest)
}

/// How many numbers a delta encoding claims to have, and what follows them. The numbers are only
/// unpacked for `each`.
fn deltas<'a>(bytes: &'a [u8], mut each: Option<&mut dyn FnMut(i32)>) -> Option<(u64, &'a [u8])> {
    let mut reader = CompactReader(bytes);
    let block_size = reader.varint().ok()?;
    let miniblocks = usize::try_from(reader.varint().ok()?).ok()?;
    let count = reader.varint().ok()?;
    let mut number = reader.integer().ok()?;
    let values = block_size.checked_div(miniblocks as u64)?;
    let mut left = count.saturating_sub(1);
    if let Some(each) = each.as_mut().filter(|_| count > 0) {
        each(number as i32);
    }
    while left > 0 {
        let least = reader.integer().ok()?;
        let (widths, rest) = reader.0.split_at_checked(miniblocks)?;
        reader.0 = rest;
        for width in widths {
            if left == 0 {
                break;
            }
            if values == 0 {
                return None;
            }
            let packed = reader.0;
            let bits = u64::from(*width).checked_mul(values)?;
            reader.advance(bits.div_ceil(8)).ok()?;
            if let Some(each) = each.as_mut() {
                for place in 0..values.min(left) {
                    let delta = unpack(packed, place, *width)?;
                    number = number.wrapping_add(least).wrapping_add(delta);
                    // As the decoder does, which has 32 bits.
                    each(number as i32);
                }
            }
            left = left.saturating_sub(values);
        }
    }
    Some((count, reader.0))
}

/// One of numbers that are packed at this width, the lowest bits first.
fn unpack(packed: &[u8], place: u64, width: u8) -> Option<i64> {
    if width == 0 {
        return Some(0);
    }
    let bit = place.checked_mul(u64::from(width))?;
    let start = usize::try_from(bit / 8).ok()?;
    let bits = u32::try_from(bit % 8).ok()? + u32::from(width);
    let bytes = packed.get(start..)?;
    let mut number = [0; 16];
    let length = usize::try_from(bits.div_ceil(8)).ok()?;
    number
        .get_mut(..length)?
        .copy_from_slice(bytes.get(..length)?);
    let shifted = u128::from_le_bytes(number) >> (bit % 8);
    let mask = u128::MAX >> 128_u32.checked_sub(u32::from(width))?;
    Some((shifted & mask) as i64)
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
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    fn unpacked(bytes: &[u8]) -> Option<Vec<i32>> {
        let mut numbers = Vec::new();
        deltas(bytes, Some(&mut |number| numbers.push(number)))?;
        Some(numbers)
    }

    /// The first example of the encoding's spec: 1 to 5 in blocks of 8 in one part, all deltas 1.
    #[test]
    fn deltas_of_the_specs_examples() {
        let ones = [8, 1, 5, 2, 2, 0];
        assert_eq!(deltas(&ones, None), Some((5, &[][..])));
        assert_eq!(unpacked(&ones).unwrap(), [1, 2, 3, 4, 5]);
        // The second: 7, 5, 3, 1, 2, 3, 4, 5; the least delta is -2, the others are 2 bits wide.
        let twos = [8, 1, 8, 14, 3, 2, 0b1100_0000, 0b0011_1111, 99];
        assert_eq!(deltas(&twos, None), Some((8, &[99][..])));
        assert_eq!(unpacked(&twos).unwrap(), [7, 5, 3, 1, 2, 3, 4, 5]);
        assert_eq!(deltas(&twos[..7], None), None);
        // Without values there is no block.
        assert_eq!(deltas(&[8, 1, 0, 0], None), Some((0, &[][..])));
        assert!(unpacked(&[8, 1, 0, 0]).unwrap().is_empty());
        assert_eq!(deltas(&[8, 0, 1, 0], None), None);
        assert_eq!(deltas(&[0, 1, 5, 0, 0, 0], None), None);
        // No number is wider than 64 bits, but a block of that width may begin within a byte.
        assert_eq!(unpack(&[0xFF; 16], 1, 63), Some(i64::MAX));
        assert_eq!(unpack(&[0xFF; 40], 1, 129), None);
    }

    /// Numbers from a first one, each so much greater than the one before.
    fn growing(count: u64, first: u8, step: u8) -> Vec<u8> {
        let mut bytes = vec![0x80, 0x01, 4];
        let mut left = count;
        while left > 0x7F {
            bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        bytes.extend([left as u8, first << 1]);
        for _ in 0..(count - 1).div_ceil(128) {
            bytes.extend([step << 1, 0, 0, 0, 0]);
        }
        bytes
    }

    /// Each value is the one before and 60 bytes more.
    #[test]
    fn a_batch_of_values_that_share_too_much_is_refused() {
        let count = 8192;
        let lengths = [growing(count, 0, 60), growing(count, 60, 0)].concat();
        let page_of = |levels: &[u8]| Page::DataPage {
            buf: [levels, &lengths].concat().into(),
            num_values: count as u32,
            encoding: Encoding::DELTA_BYTE_ARRAY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let check = |message: &str, levels: &[u8], batch_rows| {
            let message = parse_message_type(message).unwrap();
            let schema = SchemaDescriptor::new(Arc::new(message));
            let column = ColumnChunkMetaData::builder(schema.column(0))
                .set_data_page_offset(4)
                .set_total_compressed_size(0)
                .build()
                .unwrap();
            let chunks = Arc::new(ColumnChunks::new(vec![(4, Bytes::new())]));
            CheckedPages::new(&chunks, &column, count as usize, None, batch_rows)
                .unwrap()
                .check_lengths(&page_of(levels))
        };
        let refused = |error: ParquetError| {
            assert!(error.to_string().contains("share so much"), "{error}");
        };
        let text = "message m { required binary c; }";
        // 60 times half of the square of 8192 is 2 GB; the longest value has half a megabyte.
        refused(check(text, &[], 8192).unwrap_err());
        check(text, &[], 2000).unwrap();
        // All elements of lists may be in one row.
        let list = "message m { repeated binary c; }";
        refused(check(list, &[0; 8], 1).unwrap_err());
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
