//! An opened Parquet file: its footer read and understood, its row groups ready to be fetched.
//! Spec: Appendix A "Parquet"; Parquet "File format", "Metadata".

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema as ArrowSchema, TimeUnit};
use async_trait::async_trait;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::{ColumnOrder, Encoding, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataBuilder, RowGroupMetaData,
};
use parquet::schema::types::ColumnDescPtr;

use super::decode::BATCH_BYTES;
use super::filter::BatchFilter;
use super::footer::{self, HEAD_SIZE, TAIL_SIZE};
use super::format::{DataFile, Fetched, Wanted, WorkUnit};
use super::metrics::ReadMetrics;
use super::panics;
use super::projection::{Column, Projection};
use super::row_groups::may_have_wanted_rows;
use super::selectivity::Selectivity;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::FileScanTask;
use crate::spec::PruningLevels;
use crate::storage::{RawPath, SharedFileReader};

/// How many bytes at the end of a file are read at first, in the hope that the footer is in them.
const SPECULATIVE_TAIL: u64 = 64 * 1024;

/// Where files come from, and who counts.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) files: SharedFileReader,
    pub(super) metrics: Arc<ReadMetrics>,
    /// How many bytes the opened files take that are still in use.
    pub(super) open_bytes: Arc<AtomicU64>,
    /// How many rows turn out to be wanted.
    pub(super) selectivity: Arc<Selectivity>,
}

/// A file whose footer has been read.
#[derive(Debug)]
pub(super) struct ParquetFile {
    pub(super) path: RawPath,
    /// What to decode of it, and what becomes of it.
    pub(super) projection: Projection,
    /// Row groups in the file's order.
    pub(super) row_groups: Vec<RowGroup>,
    /// The row groups as units of work.
    units: Vec<WorkUnit>,
    /// Metadata cut down to the projection; `None` where nothing needs to be decoded.
    pub(super) metadata: Option<ArrowReaderMetadata>,
    /// The end of the file, which was read with the footer; empty where nothing in it is needed.
    pub(super) tail: Part,
    /// How many bytes the file has.
    pub(super) size: u64,
    /// How the ends of the values of each leaf of the projection were found.
    pub(super) orders: Vec<ColumnOrder>,
    /// What must be true of rows: others may be passed over.
    pub(super) filter: Option<BatchFilter>,
    /// How rows may be passed over.
    pub(super) levels: PruningLevels,
    /// Which columns the filter tests.
    filter_columns: Vec<usize>,
    /// Those that are decoded, by their places in the projection's schema.
    filter_roots: Vec<usize>,
    /// Counts what the file takes.
    _open: OpenBytes,
}

/// A share of the bytes that opened files take, until it is dropped.
#[derive(Debug)]
struct OpenBytes {
    total: Arc<AtomicU64>,
    share: u64,
}

/// What must be known of a row group before it is fetched.
#[derive(Debug)]
pub(super) struct RowGroup {
    /// Where its first page is, in bytes; 0 where it has none.
    pub(super) start: u64,
    /// The position of its first row in the file.
    pub(super) first_row: u64,
    /// Its number of rows.
    pub(super) rows: u64,
    /// Where its needed column chunks lie, one each leaf of the projection.
    pub(super) chunks: Vec<Range<u64>>,
    /// The length of these chunks, in bytes.
    pub(super) stored_bytes: u64,
    /// About how many bytes its needed columns take when decoded, those that the file lacks
    /// included.
    pub(super) decoded_bytes: u64,
    /// How many of these are kept until the columns are decoded that a filter does not test.
    pub(super) kept_bytes: u64,
    /// Whether no row in it is wanted.
    pub(super) is_skipped: bool,
}

/// Some bytes of a file.
#[derive(Debug, Default)]
pub(super) struct Part {
    start: u64,
    bytes: Bytes,
}

impl Source {
    /// A source whose work nobody asks about.
    pub(super) fn uncounted(files: &SharedFileReader) -> Self {
        Self {
            files: Arc::clone(files),
            metrics: Arc::default(),
            open_bytes: Arc::default(),
            selectivity: Arc::default(),
        }
    }

    /// Reads ranges of a file, and checks that all of each came.
    pub(super) async fn fetch(&self, path: &RawPath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        let started = Instant::now();
        let parts = self.files.read_ranges(path, ranges).await?;
        ReadMetrics::add_time(&self.metrics.fetch_nanoseconds, started.elapsed());
        ReadMetrics::add(&self.metrics.requests, 1);
        if parts.len() != ranges.len() {
            return Err(Error::new(
                ErrorKind::Internal,
                format!(
                    "asked for {} ranges of file \"{path}\", got {}",
                    ranges.len(),
                    parts.len()
                ),
            ));
        }
        for (range, part) in ranges.iter().zip(&parts) {
            let length = part.len() as u64;
            ReadMetrics::add(&self.metrics.bytes_read, length);
            if length != range.end.saturating_sub(range.start) {
                return Err(Error::corrupt(
                    path,
                    format!(
                        "is truncated: bytes {} to {} are not there",
                        range.start, range.end
                    ),
                ));
            }
        }
        Ok(parts)
    }

    /// Reads and parses the footer of the file of a task.
    ///
    /// # Errors
    /// Names the file; see [`footer`] and [`Projection::new`], and what storage says.
    pub(super) async fn open(&self, task: &FileScanTask, wanted: &Wanted) -> Result<ParquetFile> {
        let path = &task.path;
        let (size, metadata, tail) = self
            .with_real_size(task, |size| async move {
                let (metadata, tail) = self.read_footer(path, size).await?;
                Ok((size, metadata, tail))
            })
            .await?;
        panics::caught("the Parquet metadata", || {
            ParquetFile::new(self, task, size, (&metadata, tail), wanted)
        })
        .map_err(|error| error.in_file(path))
    }

    /// Reads the end of a file with the size that the manifest says, or else with the real one:
    /// the manifest may be wrong about the size, the file itself is not.
    pub(super) async fn with_real_size<T, F>(
        &self,
        task: &FileScanTask,
        read: impl Fn(u64) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let error = match read(task.file_size).await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let size = match error.kind() {
            ErrorKind::FileNotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::Unauthenticated
            | ErrorKind::NotSupported => return Err(error),
            _ => self.files.size(&task.path).await?,
        };
        if size == task.file_size {
            return Err(error);
        }
        read(size).await
    }

    /// The metadata's bytes, and the end of the file as far as it was read.
    async fn read_footer(&self, path: &RawPath, size: u64) -> Result<(Bytes, Part)> {
        if size < HEAD_SIZE + TAIL_SIZE {
            return Err(Error::corrupt(
                path,
                format!("is too short for a Parquet file: {size} bytes"),
            ));
        }
        let start = size.saturating_sub(SPECULATIVE_TAIL);
        let mut tail = self.fetch_part(path, start..size).await?;
        let length = footer::metadata_length(tail.last(TAIL_SIZE), size)
            .map_err(|error| error.in_file(path))?;
        let metadata = (size - TAIL_SIZE - length)..(size - TAIL_SIZE);
        if metadata.start < tail.start {
            tail = self.fetch_part(path, metadata.start..size).await?;
        }
        let bytes = tail
            .slice(&metadata)
            .ok_or_else(|| Error::corrupt(path, "is truncated"))?;
        Ok((bytes, tail))
    }

    /// Reads one range of a file.
    pub(super) async fn fetch_one(&self, path: &RawPath, range: Range<u64>) -> Result<Bytes> {
        Ok(self.fetch(path, &[range]).await?.pop().unwrap_or_default())
    }

    /// Reads one range of a file, and keeps where it lies.
    pub(super) async fn fetch_part(&self, path: &RawPath, range: Range<u64>) -> Result<Part> {
        Ok(Part {
            start: range.start,
            bytes: self.fetch_one(path, range).await?,
        })
    }
}

impl OpenBytes {
    fn new(total: &Arc<AtomicU64>, bytes: usize) -> Self {
        let share = bytes as u64;
        total.fetch_add(share, Ordering::Relaxed);
        Self {
            total: Arc::clone(total),
            share,
        }
    }
}

impl Drop for OpenBytes {
    fn drop(&mut self) {
        self.total.fetch_sub(self.share, Ordering::Relaxed);
    }
}

impl Part {
    /// Where it begins in the file.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The last bytes of it.
    pub(super) fn last(&self, length: u64) -> &[u8] {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        &self.bytes[self.bytes.len().saturating_sub(length)..]
    }

    /// A range of the file; `None` where it is not all here.
    pub(super) fn slice(&self, range: &Range<u64>) -> Option<Bytes> {
        let start = usize::try_from(range.start.checked_sub(self.start)?).ok()?;
        let end = usize::try_from(range.end.checked_sub(self.start)?).ok()?;
        (start <= end && end <= self.bytes.len()).then(|| self.bytes.slice(start..end))
    }
}

impl ParquetFile {
    fn new(
        source: &Source,
        task: &FileScanTask,
        size: u64,
        (metadata, mut tail): (&Bytes, Part),
        wanted: &Wanted,
    ) -> Result<Self> {
        let metadata = footer::parse(metadata, wanted.filter.is_some())?;
        let projection = Projection::new(
            &wanted.columns.fields,
            Arc::clone(&wanted.columns.schema),
            metadata.file_metadata().schema_descr(),
            task,
        )?;
        let filter = wanted.filter_in_file(&projection.columns);
        let pruned_by = filter.as_ref().filter(|_| wanted.levels.row_groups);
        let file = metadata.file_metadata();
        let orders: Vec<_> = projection
            .leaves
            .iter()
            .map(|leaf| match file.column_orders() {
                Some(orders) => orders.get(*leaf).copied().unwrap_or(ColumnOrder::UNKNOWN),
                None => ColumnOrder::UNDEFINED,
            })
            .collect();
        let mut row_groups = Vec::with_capacity(metadata.num_row_groups());
        let mut cut_down = Vec::with_capacity(metadata.num_row_groups());
        let mut decoded_sizes = Vec::with_capacity(metadata.num_row_groups());
        let mut first_row = 0_u64;
        for (index, row_group) in metadata.row_groups().iter().enumerate() {
            let (mut known, columns) =
                RowGroup::new(index, row_group, first_row, &projection, size)?;
            known.is_skipped = pruned_by.is_some_and(|filter| {
                !may_have_wanted_rows(filter, &projection, &orders, &columns)
            });
            first_row = first_row.saturating_add(known.rows);
            decoded_sizes.push(columns.iter().map(decoded_size).collect::<Vec<_>>());
            cut_down.push(
                RowGroupMetaData::builder(Arc::clone(&projection.schema))
                    .set_num_rows(row_group.num_rows())
                    .set_total_byte_size(row_group.total_byte_size())
                    .set_column_metadata(columns)
                    .build()
                    .map_err(unusable)?,
            );
            row_groups.push(known);
        }
        let metadata = if projection.leaves.is_empty() {
            None
        } else {
            Some(reader_metadata(&metadata, &projection, cut_down)?)
        };
        let mut chunks = row_groups.iter().flat_map(|row_group| &row_group.chunks);
        if filter.is_none() && !chunks.any(|range| tail.slice(range).is_some()) {
            tail = Part::default();
        }
        let held = metadata
            .as_ref()
            .map_or(0, |held| held.metadata().memory_size());
        let filter_columns = filter
            .as_ref()
            .map(BatchFilter::columns)
            .unwrap_or_default();
        let filter_roots: Vec<_> = filter_columns
            .iter()
            .filter_map(|column| projection.columns.get(*column)?.member.decoded)
            .collect();
        let kept_first: Vec<_> = filter_roots
            .iter()
            .flat_map(|root| projection.leaves_of(*root))
            .collect();
        for (known, sizes) in row_groups.iter_mut().zip(decoded_sizes) {
            let kept = kept_first.iter().filter_map(|leaf| sizes.get(*leaf));
            known.kept_bytes = kept.copied().fold(0, u64::saturating_add);
        }
        let units = units(&row_groups);
        let open = OpenBytes::new(&source.open_bytes, held.saturating_add(tail.bytes.len()));
        Ok(Self {
            path: task.path.clone(),
            projection,
            row_groups,
            units,
            metadata,
            tail,
            size,
            orders,
            filter,
            levels: wanted.levels,
            filter_columns,
            filter_roots,
            _open: open,
        })
    }
}

#[async_trait]
impl DataFile for ParquetFile {
    fn path(&self) -> &RawPath {
        &self.path
    }

    fn units(&self) -> &[WorkUnit] {
        &self.units
    }

    fn columns(&self) -> &[Column] {
        &self.projection.columns
    }

    async fn fetch(self: Arc<Self>, source: &Source, unit: usize) -> Result<Option<Fetched>> {
        source.fetch_row_group(self, unit).await
    }
}

impl ParquetFile {
    /// A row group, and its metadata cut down to the projection.
    pub(super) fn row_group(&self, row_group: usize) -> Option<(&RowGroup, &RowGroupMetaData)> {
        let metadata = self.metadata.as_ref()?.metadata();
        self.row_groups
            .get(row_group)
            .zip(metadata.row_groups().get(row_group))
    }

    /// Which columns the filter tests.
    pub(super) fn filter_columns(&self) -> &[usize] {
        &self.filter_columns
    }

    /// The decoded columns that the filter tests, by their places in the projection's schema.
    pub(super) fn filter_roots(&self) -> &[usize] {
        &self.filter_roots
    }

    /// The decoded columns that the filter does not test.
    pub(super) fn other_roots(&self) -> Vec<usize> {
        let mut roots = self.all_roots();
        roots.retain(|root| !self.filter_roots.contains(root));
        roots
    }

    /// All decoded columns.
    pub(super) fn all_roots(&self) -> Vec<usize> {
        (0..self.projection.schema.root_schema().get_fields().len()).collect()
    }

    /// The leaves of the projection that a filter tests.
    pub(super) fn tested_leaves(&self, filter: &BatchFilter) -> Vec<usize> {
        let leaf = |place| Some(self.projection.leaf_at(place)?.0);
        filter
            .tests()
            .into_iter()
            .filter_map(|test| leaf(test.place()))
            .collect()
    }

    /// How many bytes some decoded columns have in a row group.
    pub(super) fn stored_bytes(&self, row_group: usize, roots: &[usize]) -> u64 {
        let chunks = self.row_groups.get(row_group).map(|known| &known.chunks);
        let leaves = roots
            .iter()
            .flat_map(|root| self.projection.leaves_of(*root));
        leaves
            .filter_map(|leaf| chunks?.get(leaf))
            .map(|chunk| chunk.end - chunk.start)
            .sum()
    }
}

fn units(row_groups: &[RowGroup]) -> Vec<WorkUnit> {
    let mut next_row = 0_u64;
    row_groups
        .iter()
        .map(|row_group| {
            let first_row = next_row;
            next_row = next_row.saturating_add(row_group.rows);
            WorkUnit {
                start: row_group.start,
                first_row,
                rows: Some(row_group.rows),
                memory: memory_of(row_group),
                is_skipped: row_group.is_skipped,
            }
        })
        .collect()
}

/// How much memory a row group uses while it waits and is decoded: its stored bytes, and of its
/// decoded ones a batch and a page of every column.
fn memory_of(row_group: &RowGroup) -> u64 {
    const PAGE: u64 = 1 << 20;
    let pages = PAGE.saturating_mul(row_group.chunks.len() as u64);
    let decoded = row_group
        .decoded_bytes
        .min(pages.saturating_add(BATCH_BYTES as u64));
    row_group
        .stored_bytes
        .saturating_add(decoded)
        .saturating_add(row_group.kept_bytes)
}

impl RowGroup {
    /// Checks the needed column chunks of a row group, and takes them out of its metadata.
    fn new(
        index: usize,
        metadata: &RowGroupMetaData,
        first_row: u64,
        projection: &Projection,
        file_size: u64,
    ) -> Result<(Self, Vec<ColumnChunkMetaData>)> {
        let rows = u64::try_from(metadata.num_rows()).map_err(|_| {
            Error::new(
                ErrorKind::Corrupt,
                format!("row group {index} claims {} rows", metadata.num_rows()),
            )
        })?;
        let mut row_group = Self {
            start: first_byte(metadata),
            first_row,
            rows,
            chunks: Vec::with_capacity(projection.leaves.len()),
            stored_bytes: 0,
            decoded_bytes: projection.substitute_size().saturating_mul(rows),
            kept_bytes: 0,
            is_skipped: false,
        };
        let mut columns = Vec::with_capacity(projection.leaves.len());
        for leaf in &projection.leaves {
            let mut column = metadata
                .columns()
                .get(*leaf)
                .cloned()
                .ok_or_else(|| Error::new(ErrorKind::Corrupt, "a row group lacks a column"))?;
            // Some writers say 0 for "no dictionary".
            if column
                .dictionary_page_offset()
                .is_some_and(|offset| offset <= 0)
            {
                column = column
                    .into_builder()
                    .set_dictionary_page_offset(None)
                    .build()
                    .map_err(unusable)?;
            }
            let range = chunk_range(&column, file_size).ok_or_else(|| {
                Error::new(
                    ErrorKind::Corrupt,
                    format!(
                        "row group {index} claims that column \"{}\" lies outside the file",
                        column.column_path().string()
                    ),
                )
            })?;
            let length = range.end - range.start;
            row_group.stored_bytes = row_group.stored_bytes.saturating_add(length);
            row_group.decoded_bytes = row_group
                .decoded_bytes
                .saturating_add(decoded_size(&column));
            row_group.chunks.push(range);
            columns.push(column);
        }
        Ok((row_group, columns))
    }
}

/// Where the first page of a row group is, whatever columns are wanted; 0 where it has none.
fn first_byte(metadata: &RowGroupMetaData) -> u64 {
    let pages = metadata.columns().iter().map(|column| {
        let dictionary = column.dictionary_page_offset().filter(|offset| *offset > 0);
        dictionary.unwrap_or_else(|| column.data_page_offset())
    });
    pages
        .min()
        .and_then(|first| u64::try_from(first).ok())
        .unwrap_or(0)
}

/// Where a column chunk lies, if that is inside the file.
fn chunk_range(column: &ColumnChunkMetaData, file_size: u64) -> Option<Range<u64>> {
    let start = column
        .dictionary_page_offset()
        .unwrap_or_else(|| column.data_page_offset());
    let start = u64::try_from(start).ok()?;
    let length = u64::try_from(column.compressed_size()).ok()?;
    let end = start.checked_add(length)?;
    (HEAD_SIZE <= start && end <= file_size.checked_sub(TAIL_SIZE)?).then_some(start..end)
}

/// About how many bytes a column chunk takes when decoded: encodings may pack values far below
/// their width in memory.
fn decoded_size(column: &ColumnChunkMetaData) -> u64 {
    let width = match column.column_type() {
        PhysicalType::BYTE_ARRAY => 16,
        // Nulls take as much as values.
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            u64::try_from(column.column_descr().type_length()).map_or(16, |width| width.max(16))
        }
        _ => 8,
    };
    let values = u64::try_from(column.num_values()).unwrap_or(0);
    let encoded = u64::try_from(column.uncompressed_size()).unwrap_or(0);
    // What values share is in the file once, in memory with each of them.
    let values_share = column
        .encodings()
        .any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY);
    let expanded = column
        .unencoded_byte_array_data_bytes()
        .filter(|_| values_share)
        .and_then(|bytes| u64::try_from(bytes).ok())
        .unwrap_or(0);
    values.saturating_mul(width).max(encoded).max(expanded)
}

/// The metadata that the decoder works with: only the leaves of the projection, typed its way.
fn reader_metadata(
    metadata: &ParquetMetaData,
    projection: &Projection,
    row_groups: Vec<RowGroupMetaData>,
) -> Result<ArrowReaderMetadata> {
    let stored = metadata.file_metadata();
    let rows = row_groups.iter().fold(0_i64, |sum, row_group| {
        sum.saturating_add(row_group.num_rows())
    });
    let file = FileMetaData::new(
        stored.version(),
        rows,
        stored.created_by().map(str::to_owned),
        None,
        Arc::clone(&projection.schema),
        None,
    );
    let metadata = ParquetMetaDataBuilder::new(file)
        .set_row_groups(row_groups)
        .build();
    // The Arrow schema that a writer may have embedded is ignored: types follow the projection.
    let inferred = parquet_to_arrow_schema(&projection.schema, None).map_err(unusable)?;
    let hint = ArrowSchema::new(decoded_fields(
        inferred.fields(),
        &mut projection.schema.columns().iter(),
    ));
    ArrowReaderMetadata::try_new(
        Arc::new(metadata),
        ArrowReaderOptions::new().with_schema(Arc::new(hint)),
    )
    .map_err(unusable)
}

/// The types that columns are decoded to, other than those that are inferred: `leaves` gives the
/// Parquet columns in their order.
fn decoded_fields<'a>(
    fields: &Fields,
    leaves: &mut impl Iterator<Item = &'a ColumnDescPtr>,
) -> Fields {
    fields
        .iter()
        .map(|field| decoded_field(field, leaves))
        .collect()
}

fn decoded_field<'a>(
    field: &FieldRef,
    leaves: &mut impl Iterator<Item = &'a ColumnDescPtr>,
) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(decoded_fields(fields, leaves)),
        DataType::List(element) => DataType::List(decoded_field(element, leaves)),
        DataType::Map(entries, sorted) => DataType::Map(decoded_field(entries, leaves), *sorted),
        leaf => {
            let physical_type = leaves.next().map(|column| column.physical_type());
            match leaf {
                DataType::Utf8 => DataType::Utf8View,
                DataType::Binary => DataType::BinaryView,
                // Days and nanoseconds reach further than 64 bits of nanoseconds.
                DataType::Timestamp(..) if physical_type == Some(PhysicalType::INT96) => {
                    DataType::Timestamp(TimeUnit::Microsecond, None)
                }
                other => other.clone(),
            }
        }
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}

fn unusable(error: ParquetError) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("its Parquet metadata cannot be used: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    #[test]
    fn values_that_share_their_beginnings_take_what_they_are_long() {
        let message = parse_message_type("message m { required binary c; }").unwrap();
        let schema = SchemaDescriptor::new(Arc::new(message));
        let column = |encoding| {
            ColumnChunkMetaData::builder(schema.column(0))
                .set_encodings(vec![Encoding::RLE, encoding])
                .set_num_values(1_000)
                .set_total_uncompressed_size(50_000)
                .set_unencoded_byte_array_data_bytes(Some(100_000_000))
                .build()
                .unwrap()
        };
        let shared = column(Encoding::DELTA_BYTE_ARRAY);
        assert_eq!(decoded_size(&shared), 100_000_000);
        // A decoded dictionary is in memory once.
        assert_eq!(decoded_size(&column(Encoding::RLE_DICTIONARY)), 50_000);
    }
}
