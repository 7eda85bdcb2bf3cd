//! The rows of a delete file, whatever its format. The one place that decodes delete files.
//! Spec: "Position Delete Files", "Equality Delete Files".

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::memory::{DeleteMemory, Loading, Taker};
use crate::error::{Error, Result};
use crate::plan::{DeleteFile, FileScanTask};
use crate::read::format::{self, DataFile, UnitDecoder, Wanted};
use crate::read::parquet_file::Source;
use crate::read::projection::Column;
use crate::spec::NestedField;

/// Some columns of a delete file, batch by batch in the file's order.
pub(super) struct DeleteRows {
    source: Source,
    memory: Arc<DeleteMemory>,
    taker: Taker,
    file: Arc<dyn DataFile>,
    next_unit: usize,
    current: Option<Current>,
}

/// The part of the file that is being decoded.
struct Current {
    decoder: Box<dyn UnitDecoder>,
    _memory: Loading,
}

impl DeleteRows {
    /// Opens a delete file to read these columns, all of which it must have.
    ///
    /// # Errors
    /// Names the file. `Corrupt` if a column is not there.
    pub(super) async fn open(
        source: Source,
        memory: Arc<DeleteMemory>,
        taker: Taker,
        file: &DeleteFile,
        wanted: &[Arc<NestedField>],
    ) -> Result<Self> {
        let task = FileScanTask::whole_file(
            file.path.clone(),
            file.format,
            file.file_size,
            file.record_count,
        );
        let opened = format::open(&source, &task, &Wanted::all(wanted)).await?;
        if let Some(missing) = Column::first_missing(opened.columns()) {
            return Err(Error::corrupt(
                &file.path,
                format!("the delete file has no column \"{missing}\", by which it deletes"),
            ));
        }
        Ok(Self {
            source,
            memory,
            taker,
            file: opened,
            next_unit: 0,
            current: None,
        })
    }

    /// The next batch.
    ///
    /// # Errors
    /// Names the file, and the column where one is at fault.
    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(current) = &mut self.current {
                // A decoder must not keep fetches and cancellation from this thread.
                tokio::task::yield_now().await;
                current.decoder.prepare().await?;
                if let Some((batch, _)) = current.decoder.next()? {
                    return Ok(Some(batch));
                }
                self.current = None;
            }
            let Some(unit) = self.file.units().get(self.next_unit) else {
                return Ok(None);
            };
            let memory = self.memory.load(self.taker, unit.memory).await?;
            let file = Arc::clone(&self.file);
            let fetched = file.fetch(&self.source, self.next_unit).await?;
            self.next_unit += 1;
            if let Some(fetched) = fetched {
                let decoder = fetched(Arc::new(|| true))?;
                self.current = Some(Current {
                    decoder,
                    _memory: memory,
                });
            }
        }
    }
}
