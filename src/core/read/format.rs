//! What a data file is to a read, whatever its format: work units that are fetched and decoded each
//! by itself. Spec: "Data File Fields" (`file_format`), Appendix A.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;

use super::avro::AvroDataFile;
use super::orc::OrcFile;
use super::parquet_file::Source;
use super::projection::Column;
use super::row_positions::RowPositions;
use crate::error::{Error, Result};
use crate::plan::{FileFormat, FileScanTask};
use crate::spec::NestedField;
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

    /// Fetches what must be there before a unit is decoded.
    async fn fetch(self: Arc<Self>, source: &Source, unit: usize) -> Result<Fetched>;
}

/// Decodes one unit. All errors name the file, and the column where one is at fault.
#[async_trait]
pub(super) trait UnitDecoder: Send {
    /// Waits for what the next batch needs and is not there yet.
    async fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// The next batch, in the schema that rows are wanted in and in the file's order, and where in
    /// the file its rows are.
    fn next(&mut self) -> Result<Option<(RecordBatch, RowPositions)>>;
}

/// Opens the file of a task, to read these fields of it.
///
/// # Errors
/// Names the file: what storage says, and what contradicts the format or the fields.
pub(super) async fn open(
    source: &Source,
    task: &FileScanTask,
    wanted: &[Arc<NestedField>],
    output: &SchemaRef,
) -> Result<Arc<dyn DataFile>> {
    Ok(match task.format {
        FileFormat::Parquet => Arc::new(source.open(task, wanted, output).await?),
        FileFormat::Avro => Arc::new(AvroDataFile::open(source, task, wanted, output).await?),
        FileFormat::Orc => Arc::new(OrcFile::open(source, task, wanted, output).await?),
        FileFormat::Puffin => {
            return Err(Error::corrupt(
                &task.path,
                "is a Puffin file, which has no rows",
            ));
        }
    })
}
