//! The rows of a delete file, whatever its format. The one place that decodes delete files.
//! Spec: "Position Delete Files", "Equality Delete Files".

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::memory::{DeleteMemory, Loading, Taker};
use crate::error::{Error, Result};
use crate::plan::{DeleteFile, FileFormat, FileScanTask};
use crate::read::decode::RowGroupDecoder;
use crate::read::parquet_file::{ParquetFile, Source};
use crate::read::projection::output_schema;
use crate::read::worker::memory_of;
use crate::spec::NestedField;

/// Some columns of a delete file, batch by batch in the file's order.
pub(super) struct DeleteRows {
    source: Source,
    memory: Arc<DeleteMemory>,
    taker: Taker,
    file: Arc<ParquetFile>,
    next_row_group: usize,
    current: Option<Current>,
}

/// The row group that is being decoded.
struct Current {
    decoder: RowGroupDecoder<fn() -> bool>,
    _memory: Loading,
}

impl DeleteRows {
    /// Opens a delete file to read these columns, all of which it must have.
    ///
    /// # Errors
    /// Names the file. `Corrupt` if a column is not there, `NotSupported` for a format that cannot
    /// be read yet.
    pub(super) async fn open(
        source: Source,
        memory: Arc<DeleteMemory>,
        taker: Taker,
        file: &DeleteFile,
        wanted: &[Arc<NestedField>],
    ) -> Result<Self> {
        if file.format != FileFormat::Parquet {
            return Err(Error::not_supported(format!(
                "file \"{}\": delete files of format {} are not supported yet",
                file.path,
                file.format.name()
            )));
        }
        let task = FileScanTask::whole_file(
            file.path.clone(),
            file.format,
            file.file_size,
            file.record_count,
        );
        let opened = source.open(&task, wanted, &output_schema(wanted)).await?;
        if let Some(missing) = opened.projection.missing_column() {
            return Err(Error::corrupt(
                &file.path,
                format!("the delete file has no column \"{missing}\", by which it deletes"),
            ));
        }
        Ok(Self {
            source,
            memory,
            taker,
            file: Arc::new(opened),
            next_row_group: 0,
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
                if let Some(batch) = current.decoder.next()? {
                    return Ok(Some(batch));
                }
                self.current = None;
            }
            let Some(row_group) = self.file.row_groups.get(self.next_row_group) else {
                return Ok(None);
            };
            let memory = self.memory.load(self.taker, memory_of(row_group)).await?;
            let chunks = self
                .source
                .fetch_row_group(&self.file, self.next_row_group)
                .await?;
            let still_wanted: fn() -> bool = || true;
            let decoder = RowGroupDecoder::new(
                Arc::clone(&self.file),
                self.next_row_group,
                chunks,
                still_wanted,
            )?;
            self.current = Some(Current {
                decoder,
                _memory: memory,
            });
            self.next_row_group += 1;
        }
    }
}
