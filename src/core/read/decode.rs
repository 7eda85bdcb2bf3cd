//! One row group, fetched: decoded batch by batch, and searched for the column at fault when
//! decoding fails. Spec: Parquet "Data Pages", "Encodings".

use std::io;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema as ArrowSchema;
use arrow::error::ArrowError;
use bytes::Bytes;
use bytes::buf::{Buf, Reader};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::assemble::{assemble, in_column};
use super::format::UnitDecoder;
use super::pages::RowGroupPages;
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

/// Decodes one row group. `S` says whether the rows are still wanted.
pub(super) struct RowGroupDecoder<S> {
    file: Arc<ParquetFile>,
    row_group: usize,
    chunks: ColumnChunks,
    batch_rows: usize,
    /// The position in the file of the next row.
    next_row: u64,
    /// Rows that have not been decoded yet.
    rows_left: u64,
    /// `None` where no column is decoded.
    reader: Option<ParquetRecordBatchReader>,
    still_wanted: S,
}

impl<S: Fn() -> bool> RowGroupDecoder<S> {
    /// A decoder of a row group whose needed column chunks have been fetched.
    pub(super) fn new(
        file: Arc<ParquetFile>,
        row_group: usize,
        chunks: ColumnChunks,
        still_wanted: S,
    ) -> Result<Self> {
        let (next_row, rows_left, batch_rows) = match file.row_groups.get(row_group) {
            Some(known) => (known.first_row, known.rows, batch_rows(known)),
            None => (0, 0, 1),
        };
        let mut decoder = Self {
            file,
            row_group,
            chunks,
            batch_rows,
            next_row,
            rows_left,
            reader: None,
            still_wanted,
        };
        decoder.reader = panics::caught("its data", || decoder.reader(&ProjectionMask::all()))
            .map_err(|error| decoder.blame(error))?;
        Ok(decoder)
    }

    /// The next batch, in the schema that rows are wanted in.
    ///
    /// # Errors
    /// Names the file, and the column where one is at fault.
    fn decode(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        if self.rows_left == 0 {
            return Ok(None);
        }
        let decoded = panics::caught("its data", || match &mut self.reader {
            Some(reader) => reader
                .next()
                .transpose()
                .map_err(|error| undecodable(&error)),
            None => rows_without_columns(self.rows_left.min(self.batch_rows as u64)).map(Some),
        })
        .map_err(|error| self.blame(error))?;
        let rows = decoded.as_ref().map_or(0, RecordBatch::num_rows) as u64;
        let (Some(decoded), Some(rows_left)) = (decoded, self.rows_left.checked_sub(rows)) else {
            return Err(Error::corrupt(
                &self.file.path,
                format!(
                    "row group {} has another number of rows than its metadata says",
                    self.row_group
                ),
            ));
        };
        self.rows_left = rows_left;
        let first_row = self.next_row;
        self.next_row = first_row.saturating_add(rows);
        let positions = RowPositions::of(first_row..self.next_row);
        let projection = &self.file.projection;
        let (columns, output) = (&projection.columns, &projection.output);
        let rows = decoded.num_rows();
        let batch = panics::caught("its data", || {
            assemble(columns, output, decoded.columns(), &positions, rows)
        })
        .map_err(|error| error.in_file(&self.file.path))?;
        Ok(Some((batch, positions)))
    }

    fn reader(&self, columns: &ProjectionMask) -> Result<Option<ParquetRecordBatchReader>> {
        let Some(metadata) = &self.file.metadata else {
            return Ok(None);
        };
        let read = || {
            let levels = parquet_to_arrow_field_levels(
                metadata.parquet_schema(),
                columns.clone(),
                Some(metadata.schema().fields()),
            )?;
            let pages = RowGroupPages::new(
                self.chunks.clone(),
                Arc::clone(metadata.metadata()),
                self.row_group,
                self.batch_rows,
            );
            ParquetRecordBatchReader::try_new_with_row_groups(
                &levels,
                &pages,
                self.batch_rows,
                None,
            )
        };
        read().map(Some).map_err(|error| undecodable(&error.into()))
    }

    /// Finds the column that cannot be decoded, by decoding each alone, and names it.
    fn blame(&self, error: Error) -> Error {
        let projection = &self.file.projection;
        for column in &projection.columns {
            let Some(decoded) = column.member.decoded else {
                continue;
            };
            let alone = ProjectionMask::roots(&projection.schema, [decoded]);
            let fault = panics::caught("its data", || {
                let Some(reader) = self.reader(&alone)? else {
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

impl<S: Fn() -> bool + Send> UnitDecoder for RowGroupDecoder<S> {
    fn next(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        self.decode()
    }
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
