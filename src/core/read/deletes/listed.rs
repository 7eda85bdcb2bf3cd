//! The positions that a delete file or a deletion vector holds, one after the other, for whoever looks inside a
//! table. Spec: "Position Delete Files", "Deletion Vectors".

use std::sync::Arc;

use arrow::array::RecordBatch;
use roaring::RoaringTreemap;
use tokio::sync::Semaphore;

use super::memory::{DeleteMemory, Taker};
use super::positions::{self, POSITION_COLUMNS};
use super::rows::DeleteRows;
use crate::error::Result;
use crate::plan::{DeleteFile, DeletionVector};
use crate::read::parquet_file::Source;
use crate::read::worker::steps;
use crate::storage::{RawPath, SharedFileReader};

/// What decoded pieces of the file may take, in bytes.
const MEMORY: u64 = 64 << 20;

/// The rows of a position delete file in its order.
pub struct PositionDeleteRows {
    path: RawPath,
    rows: DeleteRows,
}

impl PositionDeleteRows {
    /// Opens a position delete file of any format.
    ///
    /// # Errors
    /// Names the file. `Corrupt` if it is no position delete file.
    pub async fn open(files: &SharedFileReader, file: &DeleteFile) -> Result<Self> {
        let total = steps(MEMORY);
        let memory = DeleteMemory::new(Arc::new(Semaphore::new(total as usize)), total);
        let columns =
            POSITION_COLUMNS.map(|(id, name, primitive)| positions::column(id, name, primitive));
        let source = Source::uncounted(files);
        Ok(Self {
            path: file.path.clone(),
            rows: DeleteRows::open(source, memory, Taker::Several, file, &columns).await?,
        })
    }

    /// The next rows: paths of data files and positions in them.
    ///
    /// # Errors
    /// Names the file.
    pub async fn next(&mut self) -> Result<Option<Vec<(String, i64)>>> {
        let Some(batch) = self.rows.next().await? else {
            return Ok(None);
        };
        rows(&batch)
            .map(Some)
            .map_err(|error| error.in_file(&self.path))
    }
}

fn rows(batch: &RecordBatch) -> Result<Vec<(String, i64)>> {
    let (paths, positions) = positions::columns_of(batch)?;
    Ok(paths
        .iter()
        .zip(positions.values())
        .map(|(path, position)| (path.unwrap_or_default().to_owned(), *position))
        .collect())
}

/// The positions of a deletion vector.
///
/// # Errors
/// Names the file.
pub async fn read_deletion_vector(
    files: &SharedFileReader,
    vector: &DeletionVector,
) -> Result<RoaringTreemap> {
    let range = vector.offset..vector.offset.saturating_add(vector.length);
    let blobs = Source::uncounted(files)
        .fetch(&vector.path, &[range])
        .await?;
    positions::parse_vector(vector, blobs.first().map_or(&[][..], |blob| blob))
}
