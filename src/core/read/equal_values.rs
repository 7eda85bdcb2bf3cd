//! Row groups without a value that must be there: told by bloom filters, and by dictionaries that
//! have all values of a column. Spec: Parquet "Bloom Filter", "Dictionary Encoding".

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::bloom_filter::Sbbf;
use parquet::column::page::Page;
use parquet::file::metadata::ColumnChunkMetaData;

use super::compact::{CompactReader, Kind};
use super::decode::ColumnChunks;
use super::filter::{BatchFilter, BoundTest};
use super::pages::dictionary_page;
use super::panics;
use super::parquet_file::{ParquetFile, Source};
use crate::error::{Error, ErrorKind, Result};

/// How many values may be looked for at once.
const MAX_VALUES: usize = 1_000;
/// How many bytes a bloom filter may have that is looked at.
const MAX_BLOOM_FILTER: u64 = 8 << 20;
/// How many bytes a dictionary may have that is looked at.
const MAX_DICTIONARY: u64 = 1 << 20;
/// The header of a bloom filter has at most so many bytes.
const MAX_HEADER: u64 = 64;

/// What tells which values a column chunk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    BloomFilter,
    Dictionary,
}

/// A test for equality, and the bytes of the values that it looks for.
struct Sought {
    leaf: usize,
    values: Vec<Vec<u8>>,
}

/// Whether a row group may have wanted rows, by what values its columns have.
///
/// # Errors
/// What storage says.
pub(super) async fn may_have_wanted_rows(
    source: &Source,
    file: &ParquetFile,
    row_group: usize,
    filter: &BatchFilter,
) -> Result<bool> {
    let Some((_, metadata)) = file.row_group(row_group) else {
        return Ok(true);
    };
    let chunks = metadata.columns();
    let mut known: HashMap<usize, (Known, Range<u64>)> = HashMap::new();
    for test in filter.tests() {
        if let Some(sought) = Sought::new(test, file, chunks)
            && let Some(found) = chunks
                .get(sought.leaf)
                .and_then(|chunk| what_tells(chunk, file))
        {
            known.insert(sought.leaf, found);
        }
    }
    let is_told = |test: &BoundTest| {
        Sought::new(test, file, chunks).is_some_and(|sought| known.contains_key(&sought.leaf))
    };
    // What could be found out would have to be enough.
    if known.is_empty() || filter.may_hold(&mut |test| !is_told(test)) {
        return Ok(true);
    }
    let (leaves, ranges): (Vec<_>, Vec<_>) = known
        .iter()
        .map(|(leaf, (_, range))| (*leaf, range.clone()))
        .unzip();
    let mut parts = source.fetch_lacking(file, &ranges).await?;
    let mut lacking = Vec::new();
    for (leaf, (range, part)) in leaves.iter().zip(ranges.iter().zip(&parts)) {
        if known
            .get(leaf)
            .is_some_and(|(known, _)| *known == Known::BloomFilter)
            && let Some(whole) = whole_bloom_filter(range, part, file.size)
        {
            lacking.push((*leaf, whole));
        }
    }
    if !lacking.is_empty() {
        let (of, ranges): (Vec<_>, Vec<_>) = lacking.into_iter().unzip();
        let whole = source.fetch_lacking(file, &ranges).await?;
        for (leaf, part) in of.into_iter().zip(whole) {
            if let Some(place) = leaves.iter().position(|of| *of == leaf) {
                parts[place] = part;
            }
        }
    }
    let parts: HashMap<usize, Bytes> = leaves.into_iter().zip(parts).collect();
    Ok(filter.may_hold(&mut |test| {
        let told = Sought::new(test, file, chunks).and_then(|sought| {
            let (known, range) = known.get(&sought.leaf)?;
            let part = parts.get(&sought.leaf)?;
            let chunk = chunks.get(sought.leaf)?;
            let rows = usize::try_from(metadata.num_rows()).ok()?;
            panics::caught("what tells the values of a column", || match known {
                Known::BloomFilter => sought.is_in_bloom_filter(part),
                Known::Dictionary => sought.is_in_dictionary(range.start, part, chunk, rows),
            })
            .ok()
        });
        told.unwrap_or(true)
    }))
}

/// Where a column chunk says what values it has.
fn what_tells(chunk: &ColumnChunkMetaData, file: &ParquetFile) -> Option<(Known, Range<u64>)> {
    if let Some(offset) = chunk
        .bloom_filter_offset()
        .and_then(|at| u64::try_from(at).ok())
    {
        let length = match chunk.bloom_filter_length() {
            Some(length) => u64::try_from(length).ok()?,
            None => MAX_HEADER.min(file.size.checked_sub(offset)?),
        };
        let end = offset.checked_add(length)?;
        if end <= file.size && length <= MAX_BLOOM_FILTER {
            return Some((Known::BloomFilter, offset..end));
        }
    }
    let encodings = chunk.page_encoding_stats_mask()?;
    if !encodings.is_only(Encoding::RLE_DICTIONARY)
        && !encodings.is_only(Encoding::PLAIN_DICTIONARY)
    {
        return None;
    }
    let start = u64::try_from(chunk.dictionary_page_offset()?).ok()?;
    let end = u64::try_from(chunk.data_page_offset()).ok()?;
    let length = end.checked_sub(start)?;
    let chunk_length = u64::try_from(chunk.compressed_size()).ok()?;
    // It is read again with the rest of the chunk if it has the value.
    let pays = 0 < length && length <= MAX_DICTIONARY && length <= chunk_length / 2;
    (pays && end <= file.size).then_some((Known::Dictionary, start..end))
}

/// Where all of a bloom filter lies, of which only the header was read.
fn whole_bloom_filter(range: &Range<u64>, part: &[u8], file_size: u64) -> Option<Range<u64>> {
    const NUM_BYTES: i16 = 1;
    let mut reader = CompactReader(part);
    let mut length = None;
    reader
        .each_field(|reader, id, kind| {
            match (id, kind) {
                (NUM_BYTES, Kind::Integer) => length = u64::try_from(reader.integer()?).ok(),
                _ => reader.skip(kind)?,
            }
            Ok(())
        })
        .ok()?;
    let header = (part.len() - reader.0.len()) as u64;
    let end = range.start.checked_add(header)?.checked_add(length?)?;
    (end != range.end && end <= file_size && end - range.start <= MAX_BLOOM_FILTER)
        .then_some(range.start..end)
}

impl Sought {
    fn new(test: &BoundTest, file: &ParquetFile, chunks: &[ColumnChunkMetaData]) -> Option<Self> {
        let wanted = test
            .equal_to()
            .filter(|values| values.len() <= MAX_VALUES)?;
        let (leaf, conversion) = file.projection.leaf_at(test.place())?;
        let column = chunks.get(leaf)?.column_descr();
        let mut values = Vec::new();
        for value in wanted {
            values.extend(conversion.stored_values(value, column)?);
        }
        Some(Self { leaf, values })
    }

    fn is_in_bloom_filter(&self, part: &[u8]) -> Result<bool> {
        let filter = Sbbf::from_bytes(part).map_err(|error| {
            Error::new(
                ErrorKind::Corrupt,
                format!("a bloom filter is broken: {error}"),
            )
        })?;
        let is_there = |value: &Vec<u8>| filter.check(value.as_slice());
        Ok(filter.num_blocks() == 0 || self.values.iter().any(is_there))
    }

    fn is_in_dictionary(
        &self,
        start: u64,
        part: &Bytes,
        chunk: &ColumnChunkMetaData,
        rows: usize,
    ) -> Result<bool> {
        let broken = || Error::new(ErrorKind::Corrupt, "a dictionary is broken");
        let chunks = ColumnChunks::new(vec![(start, part.clone())]);
        let page = dictionary_page(chunks, chunk, rows).map_err(|_| broken())?;
        let Some(Page::DictionaryPage {
            buf,
            num_values,
            encoding: Encoding::PLAIN | Encoding::PLAIN_DICTIONARY,
            ..
        }) = page
        else {
            return Err(broken());
        };
        let mut rest = buf.as_ref();
        for _ in 0..num_values {
            let length = match chunk.column_type() {
                PhysicalType::INT32 | PhysicalType::FLOAT => 4,
                PhysicalType::INT64 | PhysicalType::DOUBLE => 8,
                PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                    usize::try_from(chunk.column_descr().type_length()).map_err(|_| broken())?
                }
                PhysicalType::BYTE_ARRAY => {
                    let (length, after) = rest.split_first_chunk().ok_or_else(broken)?;
                    rest = after;
                    u32::from_le_bytes(*length) as usize
                }
                PhysicalType::BOOLEAN | PhysicalType::INT96 => return Err(broken()),
            };
            let (value, after) = rest.split_at_checked(length).ok_or_else(broken)?;
            if self.values.iter().any(|sought| sought == value) {
                return Ok(true);
            }
            rest = after;
        }
        Ok(false)
    }
}
