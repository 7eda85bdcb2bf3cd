//! What a data file is to a read, whatever its format: work units that are fetched and decoded each
//! by itself. Spec: "Data File Fields" (`file_format`), Appendix A.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::RecordBatch;
use async_trait::async_trait;

use super::added_columns::ReadColumns;
use super::avro::AvroDataFile;
use super::filter::BatchFilter;
use super::orc::OrcFile;
use super::parquet_file::Source;
use super::projection::Column;
use super::row_positions::RowPositions;
use crate::error::{Error, Result};
use crate::plan::{FileFormat, FileScanTask};
use crate::spec::{NestedField, PruningLevels};
use crate::storage::RawPath;

/// A part of a file that is fetched and decoded by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkUnit {
    /// A byte of the file that is its own: it belongs to the part of the file that has this byte.
    pub(super) start: u64,
    /// The position in the file of its first row.
    pub(super) first_row: u64,
    /// Its number of rows; `None` where only decoding tells.
    pub(super) rows: Option<u64>,
    /// About how many bytes it takes while it waits and is decoded.
    pub(super) memory: u64,
    /// Whether no row in it is wanted.
    pub(super) is_skipped: bool,
}

/// Whether somebody still wants the rows.
pub(super) type StillWanted = Arc<dyn Fn() -> bool + Send + Sync>;

/// A fetched unit, to be made a decoder on the task that decodes.
pub(super) type Fetched =
    Box<dyn FnOnce(StillWanted) -> Result<Box<dyn UnitDecoder>> + Send + 'static>;

/// An opened data file: what is needed of it is known, and where it lies.
#[async_trait]
pub(super) trait DataFile: Debug + Send + Sync {
    /// The file, as the manifest names it.
    fn path(&self) -> &RawPath;

    /// Its units in the file's order.
    fn units(&self) -> &[WorkUnit];

    /// Where the wanted columns come from.
    fn columns(&self) -> &[Column];

    /// Fetches what must be there before a unit is decoded; `None` if it turns out that no row in it
    /// is wanted.
    async fn fetch(self: Arc<Self>, source: &Source, unit: usize) -> Result<Option<Fetched>>;
}

/// Decodes one unit. All errors name the file, and the column where one is at fault.
#[async_trait]
pub(super) trait UnitDecoder: Send {
    /// Waits for what the next batch needs and is not there yet.
    async fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// Whether only wanted rows come out.
    fn is_filtered(&self) -> bool {
        false
    }

    /// The next batch, in the schema that rows are wanted in and in the file's order, and where in
    /// the file its rows are.
    fn next(&mut self) -> Result<Option<(RecordBatch, RowPositions)>>;
}

/// What is wanted of a file.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The columns to read.
    pub(super) columns: ReadColumns,
    /// What must be true of rows: others may be passed over.
    pub(super) filter: Option<BatchFilter>,
    /// How rows may be passed over.
    pub(super) levels: PruningLevels,
}

impl Wanted {
    /// All rows, with these fields.
    pub(super) fn all(fields: &[Arc<NestedField>]) -> Self {
        Self {
            columns: ReadColumns::all(fields),
            filter: None,
            levels: PruningLevels::NONE,
        }
    }

    /// What is left to be true of the rows of a file with these columns.
    pub(super) fn filter_in_file(&self, columns: &[Column]) -> Option<BatchFilter> {
        self.filter.as_ref()?.in_file(columns)
    }
}

/// Opens the file of a task, to read what is wanted of it.
///
/// # Errors
/// Names the file: what storage says, and what contradicts the format or the fields.
pub(super) async fn open(
    source: &Source,
    task: &FileScanTask,
    wanted: &Wanted,
) -> Result<Arc<dyn DataFile>> {
    let ReadColumns { fields, schema, .. } = &wanted.columns;
    Ok(match task.format {
        FileFormat::Parquet => Arc::new(source.open(task, wanted).await?),
        FileFormat::Avro => Arc::new(AvroDataFile::open(source, task, fields, schema).await?),
        FileFormat::Orc => Arc::new(OrcFile::open(source, task, wanted).await?),
        FileFormat::Puffin => {
            return Err(Error::corrupt(
                &task.path,
                "is a Puffin file, which has no rows",
            ));
        }
    })
}
