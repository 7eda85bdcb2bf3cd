//! Row-level deletes: each delete file is read once per read, shared by the data files that it
//! applies to, and dropped after the last of them. Spec: "Delete Formats", "Scan Planning".

mod equality;
mod kept;
mod keys;
mod listed;
mod memory;
mod positions;
mod rows;

pub use kept::KeptDeletes;
pub use listed::{PositionDeleteRows, read_deletion_vector};

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::array::{BooleanBufferBuilder, RecordBatch};
use arrow::buffer::BooleanBuffer;
use futures::future::try_join_all;

pub(super) use memory::{DeleteMemory, InUse};

use self::equality::{EqualityKeys, EqualitySource};
use self::positions::{PositionSource, Positions};
use super::ReadMetrics;
use super::added_columns::Place;
use super::parquet_file::Source;
use super::row_positions::RowPositions;
use crate::error::Result;
use crate::plan::{DeletionVector, FileScanTask, TaskDeletes};
use crate::spec::NestedField;
use crate::storage::RawPath;

/// Deletion vectors of one Puffin file are read together as long as they span no more bytes.
const VECTORS_SPAN: u64 = 1 << 20;

/// What may be deleted from the file of one task, not read yet.
#[derive(Debug)]
pub(super) struct PendingDeletes {
    path: RawPath,
    data_sequence_number: i64,
    positions: Vec<Arc<PositionSource>>,
    equality: Vec<Arc<EqualitySource>>,
}

/// What is deleted from one file.
#[derive(Debug)]
pub(super) struct FileDeletes {
    data_sequence_number: i64,
    positions: Option<Arc<Positions>>,
    equality: Vec<(Arc<EqualityKeys>, Vec<Place>)>,
}

/// The deletes of each task that `of_task` finds, in their order; `None` where nothing is deleted. Delete
/// files that several tasks have are shared, and so is what `kept` has of other reads.
pub(super) fn share_deletes(
    tasks: &[FileScanTask],
    kept: &Arc<KeptDeletes>,
    of_task: fn(&FileScanTask) -> Option<&TaskDeletes>,
) -> Vec<Option<PendingDeletes>> {
    let deletes: Vec<_> = tasks.iter().map(of_task).collect();
    let mut sources = Vec::new();
    let mut wanted_by_task: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    let mut files = HashMap::new();
    let mut vectors: HashMap<&RawPath, Vec<(usize, &Arc<DeletionVector>)>> = HashMap::new();
    let present = || {
        deletes
            .iter()
            .enumerate()
            .filter_map(|(number, deletes)| Some((number, (*deletes)?)))
    };
    for (task_number, deletes) in present() {
        for file in &deletes.positions {
            let number = match files.entry(Arc::as_ptr(file)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    sources.push(PositionSource::of_file(Arc::clone(file)));
                    *new.insert(sources.len() - 1)
                }
            };
            wanted_by_task[task_number].push(number);
        }
        if let Some(vector) = &deletes.vector {
            vectors
                .entry(&vector.path)
                .or_default()
                .push((task_number, vector));
        }
    }
    for mut vectors in vectors.into_values() {
        vectors.sort_by_key(|(_, vector)| vector.offset);
        let mut start = vectors.first().map_or(0, |(_, vector)| vector.offset);
        let together = vectors.chunk_by(|_, (_, next)| {
            let end = next.offset.saturating_add(next.length);
            let joins = end.saturating_sub(start) <= VECTORS_SPAN;
            if !joins {
                start = next.offset;
            }
            joins
        });
        for vectors in together {
            for (task_number, _) in vectors {
                wanted_by_task[*task_number].push(sources.len());
            }
            let vectors = vectors.iter().map(|(task_number, vector)| {
                (tasks[*task_number].path.0.clone(), Arc::clone(vector))
            });
            sources.push(PositionSource::of_vectors(vectors.collect()));
        }
    }
    for (task, numbers) in tasks.iter().zip(&wanted_by_task) {
        for number in numbers {
            sources[*number].want(&task.path.0);
        }
    }
    let sources: Vec<_> = sources.into_iter().map(Arc::new).collect();
    let mut sets = HashMap::new();
    tasks
        .iter()
        .zip(deletes)
        .zip(wanted_by_task)
        .map(|((task, deletes), numbers)| {
            let deletes = deletes.filter(|deletes| !deletes.is_empty())?;
            Some(PendingDeletes {
                path: task.path.clone(),
                data_sequence_number: task.data_sequence_number.unwrap_or(0),
                positions: numbers
                    .into_iter()
                    .map(|number| Arc::clone(&sources[number]))
                    .collect(),
                equality: deletes
                    .equality
                    .iter()
                    .map(|deletes| {
                        let set = sets.entry(Arc::as_ptr(deletes)).or_insert_with(|| {
                            let source = EqualitySource::new(Arc::clone(deletes), Arc::clone(kept));
                            Arc::new(source)
                        });
                        Arc::clone(set)
                    })
                    .collect(),
            })
        })
        .collect()
}

impl PendingDeletes {
    /// About how many bytes of delete files must still be kept in memory for this.
    pub(super) fn expected_bytes(&self) -> u64 {
        let positions = self.positions.iter().map(|source| source.expected_bytes());
        let equality = self.equality.iter().map(|source| source.expected_bytes());
        positions.chain(equality).fold(0, u64::saturating_add)
    }

    /// Makes `fields` also have the columns that the deletes compare, and tells where those of
    /// each set of equality deletes are then.
    pub(super) fn add_columns(
        &self,
        fields: &mut Vec<Arc<NestedField>>,
    ) -> Result<Vec<Vec<Place>>> {
        self.equality
            .iter()
            .map(|source| source.add_columns(fields))
            .collect::<Result<Vec<_>>>()
            .map_err(|error| error.in_file(&self.path))
    }

    /// Reads the delete files that no other task has read yet. `file_number` counts the files of
    /// the read; `places` are where the columns are that the deletes compare.
    pub(super) async fn load(
        self,
        file_number: usize,
        places: Vec<Vec<Place>>,
        source: &Source,
        memory: &Arc<DeleteMemory>,
    ) -> Result<FileDeletes> {
        let metrics = Arc::new(ReadMetrics::default());
        let own = Source {
            files: Arc::clone(&source.files),
            metrics: Arc::clone(&metrics),
            open_bytes: Arc::default(),
            selectivity: Arc::default(),
        };
        let positions = try_join_all(
            self.positions
                .iter()
                .map(|positions| positions.take(&self.path.0, file_number, &own, memory)),
        )
        .await?;
        let keys = try_join_all(self.equality.iter().map(|set| set.keys(&own, memory))).await?;
        source.metrics.add_fetches(&metrics);
        let positions = positions.into_iter().flatten().collect();
        Ok(FileDeletes {
            data_sequence_number: self.data_sequence_number,
            positions: Positions::union(positions, file_number, memory).await?,
            equality: keys.into_iter().zip(places).collect(),
        })
    }
}

impl FileDeletes {
    /// Which rows of a batch are not deleted; `None` where none is.
    pub(super) fn kept(
        &self,
        positions: &RowPositions,
        batch: &RecordBatch,
    ) -> Result<Option<BooleanBuffer>> {
        let rows = batch.num_rows();
        let mut kept: Option<BooleanBufferBuilder> = None;
        let mut remove = |row: usize| {
            kept.get_or_insert_with(|| {
                let mut all = BooleanBufferBuilder::new(rows);
                all.append_n(rows, true);
                all
            })
            .set_bit(row, false);
        };
        if let Some(deleted) = &self.positions {
            let mut deleted = deleted.bitmap.iter();
            let mut next = deleted.next();
            let mut first = 0;
            for range in positions.ranges() {
                if next.is_some_and(|position| position < range.start) {
                    deleted.advance_to(range.start);
                    next = deleted.next();
                }
                while let Some(position) = next
                    && position < range.end
                {
                    remove(first + (position - range.start) as usize);
                    next = deleted.next();
                }
                first += (range.end - range.start) as usize;
            }
        }
        for (keys, places) in &self.equality {
            keys.mark_deleted(
                batch.columns(),
                places,
                self.data_sequence_number,
                &mut remove,
            )?;
        }
        Ok(kept.map(|mut kept| kept.finish()))
    }
}
