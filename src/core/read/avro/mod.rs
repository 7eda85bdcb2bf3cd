//! Avro data files: the schema in the header, then blocks of records, read through in order.
//! Spec: Appendix A "Avro"; Avro specification "Object Container Files".
//!
//! An Avro file has no directory of its blocks, so that a file is one unit: its parts are fetched
//! one after the other while it is decoded, and never more than a few of them are held.

mod columns;
mod schema;

use std::sync::Arc;

use arrow::array::{RecordBatch, StructArray};
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};

use self::columns::RowDecoder;
use super::assemble::assemble;
use super::decode::{BATCH_BYTES, MAX_BATCH_ROWS};
use super::format::{DataFile, Fetched, StillWanted, UnitDecoder, WorkUnit};
use super::nested::Spending;
use super::panics;
use super::parquet_file::Source;
use super::projection::Column;
use super::row_positions::RowPositions;
use super::stored::{Selected, select};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::FileScanTask;
use crate::spec::NestedField;
use crate::spec::avro::{AvroHeader, Decoder, MAX_BLOCK_BYTES, SYNC_LENGTH};
use crate::storage::RawPath;

/// How many bytes of a file are read at first, in the hope that the header is in them.
const SPECULATIVE_HEAD: u64 = 64 * 1024;
/// No header is larger; its schema would have far more types than are read.
const MAX_HEADER: u64 = 64 << 20;
/// How much of a file is fetched at a time.
const PART: u64 = 4 << 20;
/// The longest count and length before a block.
const MAX_BLOCK_HEAD: usize = 20;

/// A file whose header has been read.
#[derive(Debug)]
pub(super) struct AvroDataFile {
    path: RawPath,
    size: u64,
    /// How many rows there must be, where the file is shorter than the manifest says. One that was
    /// cut between two blocks shows it by nothing else.
    least_rows: Option<u64>,
    header: AvroHeader,
    /// What was fetched with the header.
    head: Bytes,
    selected: Vec<Selected>,
    columns: Vec<Column>,
    output: SchemaRef,
    unit: [WorkUnit; 1],
}

/// Decodes the records of a file.
struct AvroDecoder {
    file: Arc<AvroDataFile>,
    source: Source,
    still_wanted: StillWanted,
    /// What has been fetched and not yet been used.
    fetched: Bytes,
    /// Where in the file the fetched bytes end.
    fetched_to: u64,
    block: Bytes,
    records_left: u64,
    /// The position in the file of the next row.
    next_row: u64,
    rows: RowDecoder,
    spending: Spending,
}

impl AvroDataFile {
    /// Reads the header of the file of a task, and finds the wanted fields in its schema.
    pub(super) async fn open(
        source: &Source,
        task: &FileScanTask,
        wanted: &[Arc<NestedField>],
        output: &SchemaRef,
    ) -> Result<Self> {
        let path = &task.path;
        // Nothing at the end of the file would show that the manifest's size is too small.
        let size = source.files.size(path).await?;
        let mut length = SPECULATIVE_HEAD.min(size);
        let (header, head) = loop {
            let head = source.fetch_one(path, 0..length).await?;
            match panics::caught("the Avro header", || AvroHeader::read(&head)) {
                Ok(header) => break (header, head),
                // What lies beyond may be what it lacks.
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    let more = length.saturating_mul(8).min(size).min(MAX_HEADER);
                    if more <= length || !head.starts_with(b"Obj\x01") {
                        return Err(error.in_file(path));
                    }
                    length = more;
                }
                Err(error) => return Err(error.in_file(path)),
            }
        };
        let stored = schema::fields(header.schema()).map_err(|error| error.in_file(path))?;
        let (selected, columns) =
            select(wanted, &stored, task).map_err(|error| error.in_file(path))?;
        let unit = WorkUnit {
            start: 0,
            first_row: 0,
            rows: None,
            memory: size.min(2 * PART).saturating_add(BATCH_BYTES as u64),
            is_skipped: false,
        };
        Ok(Self {
            path: path.clone(),
            size,
            // A manifest alone that is wrong about either is no reason to refuse the file.
            least_rows: task.record_count.filter(|_| size < task.file_size),
            head,
            header,
            selected,
            columns,
            output: Arc::clone(output),
            unit: [unit],
        })
    }
}

#[async_trait]
impl DataFile for AvroDataFile {
    fn path(&self) -> &RawPath {
        &self.path
    }

    fn units(&self) -> &[WorkUnit] {
        &self.unit
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    async fn fetch(self: Arc<Self>, source: &Source, _unit: usize) -> Result<Option<Fetched>> {
        let source = source.clone();
        Ok(Some(Box::new(move |still_wanted| {
            let rows = RowDecoder::new(self.header.schema(), &self.selected)
                .map_err(|error| error.in_file(&self.path))?;
            Ok(Box::new(AvroDecoder {
                source,
                still_wanted,
                fetched: self.head.slice(self.header.length()..),
                fetched_to: self.head.len() as u64,
                block: Bytes::new(),
                records_left: 0,
                next_row: 0,
                rows,
                spending: Spending::default(),
                file: self,
            }))
        })))
    }
}

impl AvroDecoder {
    /// How many fetched bytes the next block needs; `None` at the end of the file.
    fn next_block_length(&self) -> Result<Option<usize>> {
        let left = self.file.size.saturating_sub(self.fetched_to);
        if self.fetched.is_empty() && left == 0 {
            return Ok(None);
        }
        if self.fetched.len() < MAX_BLOCK_HEAD && left > 0 {
            return Ok(Some(MAX_BLOCK_HEAD.min(
                usize::try_from(left).unwrap_or(usize::MAX) + self.fetched.len(),
            )));
        }
        let mut decoder = Decoder::new(&self.fetched);
        decoder.varint()?;
        let length = decoder.varint()?;
        let head = self.fetched.len() - decoder.remaining();
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length <= MAX_BLOCK_BYTES)
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::Corrupt,
                    format!("a block claims to have {length} bytes"),
                )
            })?;
        Ok(Some(head + length + SYNC_LENGTH))
    }

    /// Whether all of the next block is there.
    fn has_block(&self) -> Result<bool> {
        let left = self.file.size.saturating_sub(self.fetched_to);
        Ok(self.next_block_length()?.is_some_and(|length| {
            length <= self.fetched.len() && (length > MAX_BLOCK_HEAD || left == 0)
        }))
    }

    fn take_block(&mut self) -> Result<()> {
        (self.records_left, self.block) = self.file.header.next_block(&mut self.fetched)?;
        Ok(())
    }

    /// Fetches the next part of the file, at least so many bytes.
    async fn fetch_part(&mut self, least: usize) -> Result<()> {
        let to = self
            .fetched_to
            .saturating_add(PART.max(least as u64))
            .min(self.file.size);
        let part = self
            .source
            .fetch_one(&self.file.path, self.fetched_to..to)
            .await?;
        let mut fetched = BytesMut::with_capacity(self.fetched.len() + part.len());
        fetched.extend_from_slice(&self.fetched);
        fetched.extend_from_slice(&part);
        self.fetched = fetched.freeze();
        self.fetched_to = to;
        Ok(())
    }

    /// Whether the file ends where it may.
    fn check_end(&self) -> Result<()> {
        let at_end = self.records_left == 0 && self.next_block_length()?.is_none();
        match self.file.least_rows {
            Some(least) if at_end && self.next_row < least => Err(Error::new(
                ErrorKind::Corrupt,
                format!(
                    "is truncated: it has {} bytes and {} rows, fewer than the manifest says, \
                     which says {least} rows",
                    self.file.size, self.next_row
                ),
            )),
            _ => Ok(()),
        }
    }

    fn decode(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        let mut rows = 0;
        self.spending.begin_batch();
        while rows < MAX_BATCH_ROWS && self.spending.spent() < BATCH_BYTES && (self.still_wanted)()
        {
            if self.records_left == 0 {
                if !self.block.is_empty() {
                    return Err(Error::new(
                        ErrorKind::Corrupt,
                        format!(
                            "a block has {} bytes after its last record",
                            self.block.len()
                        ),
                    ));
                }
                if !self.has_block()? {
                    break;
                }
                self.take_block()?;
                continue;
            }
            let mut decoder = Decoder::new(&self.block);
            while self.records_left > 0
                && rows < MAX_BATCH_ROWS
                && self.spending.spent() < BATCH_BYTES
            {
                self.rows.decode(&mut decoder, &mut self.spending)?;
                self.records_left -= 1;
                rows += 1;
            }
            let left = decoder.remaining();
            self.block = self.block.slice(self.block.len() - left..);
        }
        if rows == 0 {
            self.check_end()?;
            return Ok(None);
        }
        let first_row = self.next_row;
        self.next_row = first_row.saturating_add(rows);
        let positions = RowPositions::of(first_row..self.next_row);
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let decoded: StructArray = self.rows.finish(rows)?;
        let (columns, output) = (&self.file.columns, &self.file.output);
        let batch = assemble(columns, output, decoded.columns(), &positions, rows)?;
        Ok(Some((batch, positions)))
    }
}

#[async_trait]
impl UnitDecoder for AvroDecoder {
    async fn prepare(&mut self) -> Result<()> {
        let file = Arc::clone(&self.file);
        while self.records_left == 0 && self.block.is_empty() {
            let Some(length) = self
                .next_block_length()
                .map_err(|error| error.in_file(&file.path))?
            else {
                return Ok(());
            };
            let lacking = length.saturating_sub(self.fetched.len());
            let left = file.size.saturating_sub(self.fetched_to);
            if lacking as u64 > left {
                return Err(Error::corrupt(
                    &file.path,
                    format!("is truncated: a block lacks {lacking} bytes, and {left} are left"),
                ));
            }
            if lacking > 0 {
                self.fetch_part(lacking).await?;
            } else {
                panics::caught("a block", || self.take_block())
                    .map_err(|error| error.in_file(&file.path))?;
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        let file = Arc::clone(&self.file);
        panics::caught("its data", || self.decode()).map_err(|error| error.in_file(&file.path))
    }
}
