//! Row-level deletes: each delete file is read once per read, shared by the data files that it
//! applies to, and dropped after the last of them. Spec: "Delete Formats", "Scan Planning".

mod columns;
mod equality;
mod keys;
mod memory;
mod positions;
mod rows;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray, BooleanBufferBuilder, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use futures::future::try_join_all;

pub(super) use memory::{DeleteMemory, InUse};

use self::columns::{Place, add_column, without_added};
use self::equality::{EqualityKeys, EqualitySource};
use self::positions::{PositionSource, Positions};
use super::ReadMetrics;
use super::parquet_file::Source;
use super::projection::output_schema;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{DeletionVector, FileScanTask};
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
    /// What the batches without deleted rows should look like; `None` where columns are only
    /// read for the deletes.
    output: Option<(SchemaRef, Arc<[Arc<NestedField>]>)>,
}

/// How a file is read so that deletes can be applied to it.
pub(super) struct ReadWith {
    /// The columns to read.
    pub(super) wanted: Arc<[Arc<NestedField>]>,
    /// Their schema.
    pub(super) schema: SchemaRef,
    /// Where the columns of each set of equality deletes are.
    places: Vec<Vec<Place>>,
    /// The columns and the schema to give out, where these are others.
    output: Option<(SchemaRef, Arc<[Arc<NestedField>]>)>,
}

/// The deletes of each task, in their order; `None` where nothing is deleted. Delete files that
/// several tasks have are shared.
pub(super) fn share_deletes(tasks: &[FileScanTask]) -> Vec<Option<PendingDeletes>> {
    let mut sources = Vec::new();
    let mut wanted_by_task: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    let mut files = HashMap::new();
    let mut vectors: HashMap<&RawPath, Vec<(usize, &Arc<DeletionVector>)>> = HashMap::new();
    for (task_number, task) in tasks.iter().enumerate() {
        for file in &task.deletes.positions {
            let number = match files.entry(Arc::as_ptr(file)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    sources.push(PositionSource::of_file(Arc::clone(file)));
                    *new.insert(sources.len() - 1)
                }
            };
            wanted_by_task[task_number].push(number);
        }
        if let Some(vector) = &task.deletes.vector {
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
        .zip(wanted_by_task)
        .map(|(task, numbers)| {
            if task.deletes.is_empty() {
                return None;
            }
            Some(PendingDeletes {
                path: task.path.clone(),
                data_sequence_number: task.data_sequence_number.unwrap_or(0),
                positions: numbers
                    .into_iter()
                    .map(|number| Arc::clone(&sources[number]))
                    .collect(),
                equality: task
                    .deletes
                    .equality
                    .iter()
                    .map(|deletes| {
                        let set = sets
                            .entry(Arc::as_ptr(deletes))
                            .or_insert_with(|| Arc::new(EqualitySource::new(Arc::clone(deletes))));
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

    /// The columns to read the file with when these are wanted.
    pub(super) fn read_with(
        &self,
        wanted: &Arc<[Arc<NestedField>]>,
        schema: &SchemaRef,
    ) -> Result<ReadWith> {
        let mut fields = wanted.to_vec();
        let places = self
            .equality
            .iter()
            .map(|source| {
                let columns = source.deletes().columns.iter();
                columns
                    .map(|column| add_column(&mut fields, column))
                    .collect::<Result<Vec<_>>>()
            })
            .collect::<Result<Vec<_>>>()
            .map_err(|error| error.in_file(&self.path))?;
        if fields[..] == wanted[..] {
            return Ok(ReadWith {
                wanted: Arc::clone(wanted),
                schema: Arc::clone(schema),
                places,
                output: None,
            });
        }
        Ok(ReadWith {
            schema: output_schema(&fields),
            wanted: fields.into(),
            places,
            output: Some((Arc::clone(schema), Arc::clone(wanted))),
        })
    }

    /// Reads the delete files that no other task has read yet. `file_number` counts the files of
    /// the read.
    pub(super) async fn load(
        self,
        file_number: usize,
        read_with: ReadWith,
        source: &Source,
        memory: &Arc<DeleteMemory>,
    ) -> Result<FileDeletes> {
        let metrics = Arc::new(ReadMetrics::default());
        let own = Source {
            files: Arc::clone(&source.files),
            metrics: Arc::clone(&metrics),
            open_bytes: Arc::default(),
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
            equality: keys.into_iter().zip(read_with.places).collect(),
            output: read_with.output,
        })
    }
}

impl FileDeletes {
    /// A batch without its deleted rows and the columns that were only read for the deletes.
    /// `first_row` is the position of its first row in the file.
    ///
    /// # Errors
    /// Without the file's name.
    pub(super) fn apply(&self, first_row: u64, batch: RecordBatch) -> Result<RecordBatch> {
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
        if let Some(positions) = &self.positions {
            let end = first_row.saturating_add(rows as u64);
            let mut deleted = positions.bitmap.iter();
            deleted.advance_to(first_row);
            for position in deleted.take_while(|position| *position < end) {
                remove((position - first_row) as usize);
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
        let batch = self.output(batch)?;
        let Some(mut kept) = kept else {
            return Ok(batch);
        };
        let kept = BooleanArray::new(kept.finish(), None);
        if batch.num_columns() == 0 {
            return with_rows(batch.schema(), Vec::new(), kept.true_count());
        }
        filter_record_batch(&batch, &kept)
            .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
    }

    fn output(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let Some((schema, wanted)) = &self.output else {
            return Ok(batch);
        };
        let columns = batch
            .columns()
            .iter()
            .zip(wanted.iter())
            .map(|(column, field)| without_added(column, &field.field_type))
            .collect::<Result<Vec<_>>>()?;
        with_rows(Arc::clone(schema), columns, batch.num_rows())
    }
}

fn with_rows(schema: SchemaRef, columns: Vec<Arc<dyn Array>>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
}
