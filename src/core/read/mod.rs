//! From scan tasks to Arrow record batches, whatever a file's own schema looks like.
//! Spec: "Column Projection"; Parquet in Appendix A.

mod added_columns;
mod arrow_types;
mod assemble;
mod avro;
mod channel;
mod compact;
mod decode;
mod deletes;
mod equal_values;
mod field_ids;
mod filter;
mod footer;
mod format;
mod leaf;
mod metadata_columns;
mod metrics;
mod missing;
mod nested;
mod orc;
mod page_index;
mod pages;
mod panics;
mod parquet_file;
mod projection;
mod rewritten;
mod row_group_fetch;
mod row_groups;
mod row_positions;
mod selectivity;
mod size;
mod stored;
mod stored_values;
mod task_queue;
mod two_phases;
mod values;
mod variant;
mod wanted_rows;
mod worker;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::RecordBatch;

pub use arrow_types::arrow_type;
pub use channel::{BatchReceiver, RecvOutcome};
pub use deletes::{KeptDeletes, PositionDeleteRows, read_deletion_vector};
pub use metadata_columns::{MetadataColumn, OutputColumn};
pub use metrics::ReadMetrics;
pub use missing::row_of_value;
pub use rewritten::find_rewritten_rows;
pub use task_queue::TaskQueue;

use crate::error::Result;
use crate::plan::FileScanTask;
use crate::spec::{PruningLevels, Schema};
use crate::storage::SharedFileReader;

/// What to read, and with how much.
#[derive(Debug)]
pub struct ReadRequest {
    /// The schema that rows are wanted in.
    pub schema: Arc<Schema>,
    /// What to produce, in the order of the columns; may be empty.
    pub columns: Vec<OutputColumn>,
    /// The files.
    pub tasks: Vec<FileScanTask>,
    /// Which of the tasks are this read's, if others read the rest; `None`: all.
    pub queue: Option<Arc<dyn TaskQueue>>,
    /// What reads of the same tasks keep for each other.
    pub kept: Arc<KeptDeletes>,
    /// Where they are read from.
    pub files: SharedFileReader,
    /// What inside of files may be passed over because of the tasks' residuals.
    pub levels: PruningLevels,
    /// How many decoders work at the same time, at least 1.
    pub threads: usize,
    /// About how many bytes fetched and decoded data may take. A row group that needs more alone
    /// is read alone.
    pub memory: usize,
    /// What counts the work.
    pub metrics: Arc<ReadMetrics>,
}

/// Begins to read, and returns where the batches will come out.
///
/// Batches have a column for each of `columns`, of the type that [`arrow_type`] says, nullable
/// even where the schema says required: a null that a file holds all the same comes out as null.
/// `convert` makes of each batch what the receiver gets; it runs on the decoding task. Rows come
/// in no particular order, except that with one thread they keep the order of tasks and files.
///
/// Must be called inside a tokio runtime with time for several tasks; dropping the receiver stops
/// all work. Errors come out of the receiver: they name the file, and the column if one is at
/// fault.
pub fn read<T: Send + 'static>(
    request: ReadRequest,
    convert: Arc<dyn Fn(RecordBatch) -> Result<T> + Send + Sync>,
) -> BatchReceiver<T> {
    let (sender, receiver) = channel::channel(worker::batch_memory(request.memory));
    let task = tokio::spawn(worker::run(request, convert, sender));
    receiver.cancels(task.abort_handle())
}
