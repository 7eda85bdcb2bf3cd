//! Reads of files in memory, on the thread that asks: what the same bytes do is always the same.
//! Nothing in the spec.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use iceberg_core::plan::{FileFormat, FileScanTask};
use iceberg_core::read::{OutputColumn, ReadRequest, RecvOutcome, read};
use iceberg_core::spec::{PruningLevels, Schema};
use iceberg_core::storage::{FileReader, RawPath};
use iceberg_core::{Error, ErrorKind, Result};
use tokio::runtime::Runtime;

/// A page may stand for billions of equal rows: a user who sees that gives up.
const MOST_BATCHES: usize = 256;
/// A read that has not got on after so many turns never will.
const MOST_TURNS: usize = 10_000_000;

thread_local! {
    static RUNTIME: Runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
}

/// Waits for what needs a runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// Files in memory.
#[derive(Debug)]
pub struct MemoryFiles(HashMap<String, Bytes>);

impl MemoryFiles {
    /// Files by name.
    pub fn of<const N: usize>(files: [(&str, &[u8]); N]) -> Self {
        let files = files.into_iter();
        Self(
            files
                .map(|(name, content)| (name.to_owned(), Bytes::copy_from_slice(content)))
                .collect(),
        )
    }

    /// A task for one of them.
    pub fn task(&self, name: &str) -> FileScanTask {
        let size = self.0.get(name).map_or(0, Bytes::len) as u64;
        FileScanTask::whole_file(RawPath(name.to_owned()), FileFormat::Parquet, size, None)
    }

    fn file(&self, path: &RawPath) -> Result<&Bytes> {
        self.0.get(&path.0).ok_or_else(|| {
            Error::new(
                ErrorKind::FileNotFound,
                format!("file \"{path}\" is not there"),
            )
        })
    }
}

#[async_trait]
impl FileReader for MemoryFiles {
    async fn read(&self, path: &RawPath) -> Result<Bytes> {
        self.file(path).cloned()
    }

    async fn read_ranges(&self, path: &RawPath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let file = self.file(path)?;
        ranges
            .iter()
            .map(|range| {
                if range.start > range.end || range.end > file.len() as u64 {
                    return Err(Error::corrupt(path, "a range outside is wanted"));
                }
                Ok(file.slice(range.start as usize..range.end as usize))
            })
            .collect()
    }

    async fn size(&self, path: &RawPath) -> Result<u64> {
        Ok(self.file(path)?.len() as u64)
    }
}

/// All columns of a schema from the file of a task: the number of rows, unless they are too many
/// to count.
///
/// # Panics
/// If the read hangs.
pub fn count_rows(
    files: MemoryFiles,
    task: FileScanTask,
    schema: &Arc<Schema>,
) -> Result<Option<usize>> {
    let fields = schema.fields().fields();
    let request = ReadRequest {
        schema: Arc::clone(schema),
        columns: fields
            .iter()
            .map(|field| OutputColumn::Field(field.id))
            .collect(),
        tasks: vec![task],
        queue: None,
        kept: Arc::default(),
        files: Arc::new(files),
        levels: PruningLevels::ALL,
        threads: 1,
        memory: 64 << 20,
        metrics: Arc::default(),
    };
    let width = fields.len();
    block_on(async {
        let mut receiver = read(request, Arc::new(Ok));
        let (mut rows, mut batches) = (0, 0);
        for _ in 0..MOST_TURNS {
            match receiver.recv_timeout(Duration::ZERO) {
                RecvOutcome::Timeout => tokio::task::yield_now().await,
                RecvOutcome::Done => return Ok(Some(rows)),
                RecvOutcome::Item(batch) => {
                    let batch = batch?;
                    assert_eq!(batch.num_columns(), width);
                    rows += batch.num_rows();
                    batches += 1;
                    if batches == MOST_BATCHES {
                        return Ok(None);
                    }
                }
            }
        }
        panic!("the read hangs");
    })
}
