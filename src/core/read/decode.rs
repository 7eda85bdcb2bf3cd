//! Rows of one row group, fetched: decoded batch by batch, and searched for the column at fault
//! when decoding fails. Spec: Parquet "Data Pages", "Encodings".

use std::io;
use std::sync::Arc;

use arrow::array::{ArrayRef, NullArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema as ArrowSchema;
use arrow::error::ArrowError;
use bytes::Bytes;
use bytes::buf::{Buf, Reader};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::added_columns::batch_of;
use super::assemble::in_column;
use super::format::{StillWanted, UnitDecoder};
use super::pages::{PagePlaces, RowGroupPages};
use super::panics;
use super::parquet_file::{ParquetFile, RowGroup};
use super::row_positions::RowPositions;
use crate::error::{Error, ErrorKind, Result};

/// How many rows a batch has at most.
pub(super) const MAX_BATCH_ROWS: u64 = 8192;
/// How many bytes a batch should have at most.
pub(super) const BATCH_BYTES: usize = 4 << 20;

/// The fetched column chunks of a row group, with their places in the file.
#[derive(Debug, Clone, Default)]
pub(super) struct ColumnChunks {
    /// By their starts.
    chunks: Arc<[(u64, Bytes)]>,
}

/// What has been fetched of a row group, to decode some of its columns.
pub(super) struct FetchedRows {
    /// The row group.
    pub(super) row_group: usize,
    /// Which of the decoded columns are there, by their places in the projection's schema.
    pub(super) roots: Vec<usize>,
    /// What lies where.
    pub(super) chunks: ColumnChunks,
    /// Where the pages of a column lie of which not all are there.
    pub(super) places: PagePlaces,
    /// The positions in the file of the rows to decode.
    pub(super) rows: RowPositions,
}

/// Columns of the batches that have been decoded before, of the rows that are still to come.
pub(super) type Ready = Vec<Option<ArrayRef>>;

/// Decodes rows of one row group.
pub(super) struct RowGroupDecoder {
    file: Arc<ParquetFile>,
    fetched: FetchedRows,
    batch_rows: usize,
    /// How many rows have come out.
    decoded_rows: usize,
    /// The positions of the rows that have not been decoded yet.
    rows_left: RowPositions,
    /// `None` where no column is decoded.
    reader: Option<ParquetRecordBatchReader>,
    ready: Ready,
    still_wanted: StillWanted,
}

impl RowGroupDecoder {
    /// A decoder of what has been fetched; the columns that are ready are not decoded.
    pub(super) fn new(
        file: Arc<ParquetFile>,
        fetched: FetchedRows,
        ready: Ready,
        still_wanted: StillWanted,
    ) -> Result<Self> {
        let known = file.row_groups.get(fetched.row_group);
        let batch_rows = known.map_or(1, batch_rows);
        let mut decoder = Self {
            batch_rows,
            decoded_rows: 0,
            rows_left: fetched.rows.clone(),
            reader: None,
            ready,
            still_wanted,
            file,
            fetched,
        };
        decoder.reader = panics::caught("its data", || decoder.reader(&decoder.fetched.roots))
            .map_err(|error| decoder.blame(error))?;
        Ok(decoder)
    }

    /// The next batch, in the schema that rows are wanted in.
    ///
    /// # Errors
    /// Names the file, and the column where one is at fault.
    fn decode(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        let Some((decoded, positions)) = self.decode_roots()? else {
            return Ok(None);
        };
        let rows = decoded.num_rows();
        let before = self.decoded_rows - rows;
        let projection = &self.file.projection;
        let batch = panics::caught("its data", || {
            let decoded = self.spread(&decoded);
            let columns = projection
                .columns
                .iter()
                .enumerate()
                .map(
                    |(index, column)| match self.ready.get(index).and_then(Option::as_ref) {
                        Some(ready) => Ok(ready.slice(before, rows)),
                        None => column.assemble(&decoded, &positions, rows),
                    },
                );
            let columns = columns.collect::<Result<Vec<_>>>()?;
            batch_of(Arc::clone(&projection.output), columns, rows)
        })
        .map_err(|error| error.in_file(&self.file.path))?;
        Ok(Some((batch, positions)))
    }

    /// Some columns of the next batch, by their places in it, and how many rows it has; all others
    /// are nothing but null.
    ///
    /// # Errors
    /// As for a batch.
    pub(super) fn decode_columns(
        &mut self,
        columns: &[usize],
    ) -> Result<Option<(Vec<ArrayRef>, RowPositions)>> {
        let Some((decoded, positions)) = self.decode_roots()? else {
            return Ok(None);
        };
        let rows = decoded.num_rows();
        let projection = &self.file.projection;
        panics::caught("its data", || {
            let decoded = self.spread(&decoded);
            let assembled = projection
                .columns
                .iter()
                .enumerate()
                .map(|(index, column)| match columns.contains(&index) {
                    true => column.assemble(&decoded, &positions, rows),
                    false => Ok(nothing(rows)),
                });
            assembled.collect::<Result<Vec<_>>>()
        })
        .map(|columns| Some((columns, positions)))
        .map_err(|error| error.in_file(&self.file.path))
    }

    /// The next rows as they are stored, and where they are.
    fn decode_roots(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        let left = self.rows_left.count();
        if left == 0 {
            return Ok(None);
        }
        let decoded = panics::caught("its data", || match &mut self.reader {
            Some(reader) => reader
                .next()
                .transpose()
                .map_err(|error| undecodable(&error)),
            None => rows_without_columns(left.min(self.batch_rows as u64)).map(Some),
        })
        .map_err(|error| self.blame(error))?;
        let Some(decoded) = decoded.filter(|decoded| decoded.num_rows() as u64 <= left) else {
            return Err(Error::corrupt(
                &self.file.path,
                format!(
                    "row group {} has another number of rows than its metadata says",
                    self.fetched.row_group
                ),
            ));
        };
        self.decoded_rows += decoded.num_rows();
        let positions = self.rows_left.take_first(decoded.num_rows() as u64);
        Ok(Some((decoded, positions)))
    }

    /// Decoded columns at their places among all that could have been decoded.
    fn spread(&self, decoded: &RecordBatch) -> Vec<ArrayRef> {
        let fields = self.file.projection.schema.root_schema().get_fields();
        let mut spread = vec![nothing(decoded.num_rows()); fields.len()];
        for (root, column) in self.fetched.roots.iter().zip(decoded.columns()) {
            if let Some(place) = spread.get_mut(*root) {
                *place = Arc::clone(column);
            }
        }
        spread
    }

    fn reader(&self, roots: &[usize]) -> Result<Option<ParquetRecordBatchReader>> {
        let FetchedRows {
            row_group,
            chunks,
            places,
            rows,
            ..
        } = &self.fetched;
        let (Some(metadata), Some(known)) =
            (&self.file.metadata, self.file.row_groups.get(*row_group))
        else {
            return Ok(None);
        };
        if roots.is_empty() {
            return Ok(None);
        }
        let columns = ProjectionMask::roots(&self.file.projection.schema, roots.iter().copied());
        let read = || {
            let levels = parquet_to_arrow_field_levels(
                metadata.parquet_schema(),
                columns,
                Some(metadata.schema().fields()),
            )?;
            let pages = RowGroupPages::new(
                chunks.clone(),
                Arc::clone(metadata.metadata()),
                *row_group,
                Arc::clone(places),
                self.batch_rows,
            );
            ParquetRecordBatchReader::try_new_with_row_groups(
                &levels,
                &pages,
                self.batch_rows,
                selection(rows, known),
            )
        };
        read().map(Some).map_err(|error| undecodable(&error.into()))
    }

    /// Finds the column that cannot be decoded, by decoding each alone, and names it.
    fn blame(&self, error: Error) -> Error {
        for column in &self.file.projection.columns {
            let Some(decoded) = column.member.decoded else {
                continue;
            };
            if !self.fetched.roots.contains(&decoded) {
                continue;
            }
            let fault = panics::caught("its data", || {
                let Some(reader) = self.reader(&[decoded])? else {
                    return Ok(());
                };
                // This goes over rows that have been decoded before, so it may take long.
                reader
                    .into_iter()
                    .take_while(|_| (self.still_wanted)())
                    .try_for_each(|batch| batch.map(|_| ()).map_err(|error| undecodable(&error)))
            });
            if let Err(fault) = fault {
                return in_column(fault, &column.name).in_file(&self.file.path);
            }
        }
        error.in_file(&self.file.path)
    }
}

impl UnitDecoder for RowGroupDecoder {
    fn next(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        self.decode()
    }
}

/// Rows as the decoder is told which; `None` is all rows of the row group.
fn selection(rows: &RowPositions, known: &RowGroup) -> Option<RowSelection> {
    if rows.count() == known.rows {
        return None;
    }
    let place = |position: u64| {
        usize::try_from(position.saturating_sub(known.first_row)).unwrap_or(usize::MAX)
    };
    let ranges = rows
        .ranges()
        .iter()
        .map(|range| place(range.start)..place(range.end));
    let total = usize::try_from(known.rows).unwrap_or(usize::MAX);
    Some(RowSelection::from_consecutive_ranges(ranges, total))
}

/// What stands for a column that nobody looks at.
fn nothing(rows: usize) -> ArrayRef {
    Arc::new(NullArray::new(rows))
}

/// How many rows make a batch that is neither too long nor too large.
fn batch_rows(row_group: &RowGroup) -> usize {
    let a_row = row_group
        .decoded_bytes
        .checked_div(row_group.rows)
        .unwrap_or(0)
        .max(1);
    let rows = (BATCH_BYTES as u64 / a_row).clamp(1, MAX_BATCH_ROWS);
    usize::try_from(rows).unwrap_or(1)
}

fn rows_without_columns(rows: u64) -> Result<RecordBatch> {
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    RecordBatch::try_new_with_options(
        Arc::new(ArrowSchema::empty()),
        Vec::new(),
        &RecordBatchOptions::new().with_row_count(Some(rows)),
    )
    .map_err(|error| undecodable(&error))
}

/// What the decoder says, as an error that names neither file nor column yet.
fn undecodable(error: &ArrowError) -> Error {
    let message = match error {
        ArrowError::ParquetError(message) => message.clone(),
        ArrowError::ExternalError(error) => error.to_string(),
        other => other.to_string(),
    };
    if message.contains("UTF-8") {
        return Error::new(
            ErrorKind::InvalidText,
            format!("text is not valid UTF-8: {message}"),
        );
    }
    let kind = if message.starts_with("NYI: ") {
        ErrorKind::NotSupported
    } else {
        ErrorKind::Corrupt
    };
    Error::new(kind, format!("cannot be decoded: {message}"))
}

impl ColumnChunks {
    /// Column chunks with their places in the file.
    pub(super) fn new(mut chunks: Vec<(u64, Bytes)>) -> Self {
        chunks.sort_by_key(|(start, _)| *start);
        Self {
            chunks: chunks.into(),
        }
    }

    /// What follows a place in the file, up to the end of its column chunk.
    pub(super) fn from(&self, place: u64) -> Result<Bytes, ParquetError> {
        let after = self.chunks.partition_point(|(start, _)| *start <= place);
        after
            .checked_sub(1)
            .and_then(|index| self.chunks.get(index))
            .and_then(|(start, bytes)| {
                let offset = usize::try_from(place - start).ok()?;
                (offset <= bytes.len()).then(|| bytes.slice(offset..))
            })
            .ok_or_else(|| {
                ParquetError::EOF(format!("a page at byte {place} lies outside its column"))
            })
    }
}

impl Length for ColumnChunks {
    fn len(&self) -> u64 {
        self.chunks
            .iter()
            .map(|(start, bytes)| start.saturating_add(bytes.len() as u64))
            .max()
            .unwrap_or(0)
    }
}

impl ChunkReader for ColumnChunks {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let bytes = self.from(start)?;
        if length > bytes.len() {
            return Err(ParquetError::External(Box::new(io::Error::from(
                io::ErrorKind::UnexpectedEof,
            ))));
        }
        Ok(bytes.slice(..length))
    }
}
