//! ORC data files: footer and schema at the end, stripes as units of work.
//! Spec: Appendix A "ORC"; ORC specification v1.
//!
//! Decoded here, because a data file comes from outside: the crate there is for ORC does not show
//! the attributes that hold field ids, decodes whole top-level columns, and answers broken chunks
//! with panics, a broken null stream with other rows, and a false length with all memory.

mod columns;
mod message;
mod run_length;
mod schema;
mod statistics;
mod stream;
mod tail;
mod time;

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use bytes::Bytes;

use self::columns::{RowDecoder, Streams};
use self::statistics::{Layout, StripeStatistics};
use self::stream::Compression;
use self::tail::{Footer, PostScript, Stripe, StripeFooter};
use super::assemble::assemble;
use super::decode::{BATCH_BYTES, MAX_BATCH_ROWS};
use super::filter::BatchFilter;
use super::format::{DataFile, Fetched, StillWanted, UnitDecoder, Wanted, WorkUnit};
use super::nested::Spending;
use super::panics;
use super::parquet_file::{Part, Source};
use super::projection::Column;
use super::row_positions::RowPositions;
use super::stored::{Selected, select};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::FileScanTask;
use crate::storage::RawPath;

/// How many bytes at the end of a file are read at first, in the hope that the footer is in them.
const SPECULATIVE_TAIL: u64 = 64 * 1024;
/// The postscript and its length have at most so many bytes.
const MAX_POSTSCRIPT: u64 = 256;
/// How many rows a first batch has; later ones follow from how large its rows are.
const FIRST_ROWS: u64 = 64;

/// A file whose footer has been read.
#[derive(Debug)]
pub(super) struct OrcFile {
    path: RawPath,
    compression: Compression,
    footer: Footer,
    units: Vec<WorkUnit>,
    /// The end of the file, which was read with the footer.
    tail: Part,
    selected: Vec<Selected>,
    /// The numbers of the columns to fetch.
    needed: HashSet<u32>,
    columns: Vec<Column>,
    output: SchemaRef,
}

/// Decodes a stripe.
struct StripeDecoder {
    file: Arc<OrcFile>,
    rows: RowDecoder,
    rows_left: u64,
    /// The position in the file of the next row.
    next_row: u64,
    /// How many rows the next batch has.
    batch_rows: u64,
    spending: Spending,
    /// How many bytes a row takes of what the file does not have.
    substitute_size: u64,
    still_wanted: StillWanted,
}

impl OrcFile {
    /// Reads the footer of the file of a task, and finds the wanted fields in its schema.
    pub(super) async fn open(
        source: &Source,
        task: &FileScanTask,
        wanted: &Wanted,
    ) -> Result<Self> {
        let path = &task.path;
        let (postscript, footer, tail) = source
            .with_real_size(task, |size| Self::read_footer(source, path, size))
            .await?;
        let mut file = panics::caught("the ORC metadata", || {
            let footer = Footer::parse(footer, &postscript)?;
            Self::new(task, &postscript, footer, tail, wanted)
        })
        .map_err(|error| error.in_file(path))?;
        if let Some(filter) = wanted.filter_in_file(&file.columns)
            && wanted.levels.row_groups
        {
            file.skip_stripes(source, &postscript, &filter).await?;
        }
        Ok(file)
    }

    async fn read_footer(
        source: &Source,
        path: &RawPath,
        size: u64,
    ) -> Result<(PostScript, Bytes, Part)> {
        let start = size.saturating_sub(SPECULATIVE_TAIL);
        let mut tail = source.fetch_part(path, start..size).await?;
        let postscript = PostScript::read(tail.last(MAX_POSTSCRIPT), size)
            .map_err(|error| error.in_file(path))?;
        if postscript.footer.start < tail.start() {
            tail = source
                .fetch_part(path, postscript.footer.start..size)
                .await?;
        }
        let footer = tail
            .slice(&postscript.footer)
            .ok_or_else(|| Error::corrupt(path, "is truncated"))?;
        Ok((postscript, footer, tail))
    }

    fn new(
        task: &FileScanTask,
        postscript: &PostScript,
        footer: Footer,
        tail: Part,
        wanted: &Wanted,
    ) -> Result<Self> {
        let stored = schema::fields(&footer.types)?;
        let (selected, columns) = select(&wanted.columns.fields, &stored, task)?;
        let mut needed = Vec::new();
        columns::needed(&footer.types, 0, &selected, &mut needed)?;
        let compression = postscript.compression;
        let chunks = (needed.len() as u64).saturating_mul(compression.block_size() as u64);
        let mut first_row = 0_u64;
        let units = footer
            .stripes
            .iter()
            .map(|stripe| {
                let unit = WorkUnit {
                    start: stripe.offset,
                    first_row,
                    rows: Some(stripe.rows),
                    memory: match needed.is_empty() {
                        true => 0,
                        false => stripe
                            .length
                            .saturating_add(chunks)
                            .saturating_add(BATCH_BYTES as u64),
                    },
                    is_skipped: false,
                };
                first_row = first_row.saturating_add(stripe.rows);
                unit
            })
            .collect();
        Ok(Self {
            path: task.path.clone(),
            compression,
            footer,
            units,
            tail,
            selected,
            needed: needed
                .into_iter()
                .filter_map(|number| u32::try_from(number).ok())
                .collect(),
            columns,
            output: Arc::clone(&wanted.columns.schema),
        })
    }

    /// Marks the stripes that have no wanted row by their statistics. What cannot be made use of is
    /// as if it were not there.
    async fn skip_stripes(
        &mut self,
        source: &Source,
        postscript: &PostScript,
        filter: &BatchFilter,
    ) -> Result<()> {
        let bytes = match self.tail.slice(&postscript.metadata) {
            Some(bytes) => bytes,
            None => {
                source
                    .fetch_one(&self.path, postscript.metadata.clone())
                    .await?
            }
        };
        let statistics = panics::caught("the statistics of stripes", || {
            StripeStatistics::parse(bytes, self.compression)
        });
        let Ok(statistics) = statistics else {
            return Ok(());
        };
        let layout = Layout {
            footer: &self.footer,
            selected: &self.selected,
            columns: &self.columns,
        };
        for (stripe, unit) in self.units.iter_mut().enumerate() {
            unit.is_skipped = !statistics.may_have_wanted_rows(stripe, filter, &layout);
        }
        Ok(())
    }

    /// Fetches the footer of a stripe and the streams that are decoded.
    async fn fetch_stripe(
        &self,
        source: &Source,
        stripe: &Stripe,
    ) -> Result<(StripeFooter, Vec<((u32, u32), Bytes)>)> {
        let footer = match self.tail.slice(&stripe.footer) {
            Some(footer) => footer,
            None => source.fetch_one(&self.path, stripe.footer.clone()).await?,
        };
        let footer = panics::caught("a stripe's footer", || {
            StripeFooter::parse(footer, stripe, self.compression)
        })
        .map_err(|error| error.in_file(&self.path))?;
        let mut streams = Vec::new();
        let (mut lacking, mut lacking_keys) = (Vec::new(), Vec::new());
        for stream in &footer.streams {
            if !self.needed.contains(&stream.column) || !columns::is_decoded(stream.kind) {
                continue;
            }
            let key = (stream.column, stream.kind);
            match self.tail.slice(&stream.range) {
                Some(bytes) => streams.push((key, bytes)),
                None if stream.range.is_empty() => streams.push((key, Bytes::new())),
                None => {
                    lacking.push(stream.range.clone());
                    lacking_keys.push(key);
                }
            }
        }
        let fetched = source.fetch(&self.path, &lacking).await?;
        streams.extend(lacking_keys.into_iter().zip(fetched));
        Ok((footer, streams))
    }
}

#[async_trait]
impl DataFile for OrcFile {
    fn path(&self) -> &RawPath {
        &self.path
    }

    fn units(&self) -> &[WorkUnit] {
        &self.units
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    async fn fetch(self: Arc<Self>, source: &Source, unit: usize) -> Result<Option<Fetched>> {
        let stripe =
            self.footer.stripes.get(unit).ok_or_else(|| {
                Error::new(ErrorKind::Internal, format!("there is no stripe {unit}"))
            })?;
        let rows_left = stripe.rows;
        let next_row = self.units.get(unit).map_or(0, |unit| unit.first_row);
        let (footer, streams) = match self.selected.is_empty() {
            true => (StripeFooter::default(), Vec::new()),
            false => self.fetch_stripe(source, stripe).await?,
        };
        Ok(Some(Box::new(move |still_wanted| {
            let mut spending = Spending::default();
            spending.begin_batch();
            let rows = panics::caught("its data", || {
                let types = &self.footer.types;
                let streams = Streams::new(types, &footer, self.compression, streams)?;
                RowDecoder::new(&streams, &self.selected, &mut spending)
            })
            .map_err(|error| error.in_file(&self.path))?;
            Ok(Box::new(StripeDecoder {
                rows,
                rows_left,
                next_row,
                batch_rows: FIRST_ROWS,
                spending,
                substitute_size: Column::substitute_size(&self.columns),
                still_wanted,
                file: self,
            }))
        })))
    }
}

impl StripeDecoder {
    fn decode(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        let rows = self.batch_rows.min(self.rows_left);
        if rows == 0 || !(self.still_wanted)() {
            return Ok(None);
        }
        let length = usize::try_from(rows).unwrap_or(usize::MAX);
        self.spending.begin_batch();
        let decoded = self.rows.decode(length, &mut self.spending)?;
        self.rows_left -= rows;
        let first_row = self.next_row;
        self.next_row = first_row.saturating_add(rows);
        let positions = RowPositions::of(first_row..self.next_row);
        let lacking = usize::try_from(self.substitute_size).unwrap_or(usize::MAX);
        let a_row = (self.spending.spent() / length)
            .saturating_add(lacking)
            .max(1);
        let next = BATCH_BYTES / a_row;
        self.batch_rows = (next as u64).clamp(1, MAX_BATCH_ROWS.min(rows.saturating_mul(16)));
        let (columns, output) = (&self.file.columns, &self.file.output);
        let batch = assemble(columns, output, decoded.columns(), &positions, length)?;
        Ok(Some((batch, positions)))
    }
}

impl UnitDecoder for StripeDecoder {
    fn next(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        let path = self.file.path.clone();
        panics::caught("its data", || self.decode()).map_err(|error| error.in_file(&path))
    }
}
