//! Which deletes apply to which data file: by data sequence number, partition and path.
//! Spec: "Scan Planning", "Delete Formats", "Deletion Vectors".

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::FileScanTask;
use super::delete_file::{DeleteFile, DeletionVector, TaskDeletes};
use super::equality_columns::equality_columns;
use super::equality_group::{Group, KeyColumns, KeyValues};
use crate::error::{Error, ErrorKind, Result};
use crate::spec::{DataContent, DataFile, ManifestEntry, Partition, PrimitiveValue, TableMetadata};
use crate::storage::RawPath;

/// Field id of `file_path` in position delete files.
const FILE_PATH_ID: i32 = 2_147_483_546;

/// A live delete file of a snapshot.
#[derive(Debug)]
pub(super) struct LiveDelete {
    sequence_number: i64,
    partition: PartitionKey,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Positions {
        file: Arc<DeleteFile>,
        /// The only data file it is about, if the manifest says.
        about: Option<String>,
        bounds: PathBounds,
    },
    Vector {
        vector: Arc<DeletionVector>,
        about: String,
    },
    Equality {
        file: Box<DataFile>,
        field_ids: Vec<i32>,
    },
}

/// What a manifest says of the paths in a position delete file.
#[derive(Debug, Default)]
struct PathBounds {
    lower: Option<Box<[u8]>>,
    upper: Option<Box<[u8]>>,
}

/// A partition tuple that can be compared: equal nulls are equal, equal bits of floating-point
/// numbers are equal, and numbers are equal whether written before or after their type was widened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PartitionKey {
    spec_id: i32,
    values: Vec<Option<Vec<u8>>>,
}

/// The live deletes of a snapshot, found by what they apply to.
#[derive(Debug, Default)]
pub(super) struct DeleteIndex {
    is_empty: bool,
    vectors: HashMap<String, Scoped<DeletionVector>>,
    positions_by_path: HashMap<String, Vec<Scoped<DeleteFile>>>,
    positions_by_partition: HashMap<PartitionKey, Vec<(Scoped<DeleteFile>, PathBounds)>>,
    /// Groups of equality deletes, by scope; `None` is all partitions of all specs.
    equality_by_scope: HashMap<Option<PartitionKey>, Vec<usize>>,
    groups: Vec<Group>,
    keys: KeyColumns,
}

/// A delete with what limits it.
#[derive(Debug)]
struct Scoped<T> {
    sequence_number: i64,
    partition: PartitionKey,
    delete: Arc<T>,
}

/// How many different deletes apply to tasks.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// Delete files, and deletion vectors.
    pub files: usize,
    /// Positions in them, where the manifests tell.
    pub positions: u64,
}

impl LiveDelete {
    /// What a live entry of a delete manifest says.
    ///
    /// # Errors
    /// `Corrupt` for an entry that lacks what a delete must have.
    pub fn of(entry: ManifestEntry) -> Result<Self> {
        let file = entry.data_file;
        let sequence_number = entry.sequence_number.ok_or_else(|| {
            Error::corrupt(
                &file.file_path,
                "the manifest does not state the data sequence number of this delete file",
            )
        })?;
        let partition = PartitionKey::of(&file.partition);
        let content = match file.content {
            DataContent::Data => {
                return Err(Error::new(
                    ErrorKind::Internal,
                    format!(
                        "data file \"{}\" is taken for a delete file",
                        file.file_path
                    ),
                ));
            }
            DataContent::PositionDeletes if file.is_deletion_vector() => {
                let (about, vector) = deletion_vector(file)?;
                Content::Vector {
                    about,
                    vector: Arc::new(vector),
                }
            }
            DataContent::PositionDeletes => {
                let bounds = PathBounds::of(&file);
                Content::Positions {
                    about: file.referenced_data_file.clone().or_else(|| bounds.only()),
                    bounds,
                    file: Arc::new(delete_file(file)),
                }
            }
            DataContent::EqualityDeletes => {
                let mut field_ids = file.equality_ids.clone();
                field_ids.sort_unstable();
                field_ids.dedup();
                if field_ids.is_empty() {
                    return Err(Error::corrupt(
                        &file.file_path,
                        "the manifest does not say which columns this equality delete file compares",
                    ));
                }
                Content::Equality {
                    file: Box::new(file),
                    field_ids,
                }
            }
        };
        Ok(Self {
            sequence_number,
            partition,
            content,
        })
    }
}

/// The deletion vector that an entry of a manifest is, and the data file that it is about.
///
/// # Errors
/// `Corrupt` where the entry does not say where it is, or what it is about.
pub(crate) fn deletion_vector(file: DataFile) -> Result<(String, DeletionVector)> {
    let place = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
    let (Some(offset), Some(length)) = (
        place(file.content_offset),
        place(file.content_size_in_bytes),
    ) else {
        return Err(Error::corrupt(
            &file.file_path,
            "the manifest does not say where in this file a deletion vector is",
        ));
    };
    if offset
        .checked_add(length)
        .is_none_or(|end| end > file.file_size_in_bytes)
    {
        return Err(Error::corrupt(
            &file.file_path,
            format!(
                "the manifest says that a deletion vector of {length} bytes starts at byte \
                 {offset}, and that the file has {} bytes",
                file.file_size_in_bytes
            ),
        ));
    }
    let Some(about) = file.referenced_data_file else {
        return Err(Error::corrupt(
            &file.file_path,
            format!(
                "the manifest does not say which data file the deletion vector at byte {offset} \
                 is about"
            ),
        ));
    };
    let vector = DeletionVector {
        path: RawPath(file.file_path),
        offset,
        length,
        cardinality: file.record_count,
    };
    Ok((about, vector))
}

/// The position or equality delete file that an entry of a manifest is.
pub(crate) fn delete_file(file: DataFile) -> DeleteFile {
    DeleteFile {
        path: RawPath(file.file_path),
        format: file.file_format,
        file_size: file.file_size_in_bytes,
        record_count: file.record_count,
    }
}

impl PathBounds {
    fn of(file: &DataFile) -> Self {
        let stats = file.stats.column(FILE_PATH_ID);
        Self {
            lower: stats.and_then(|stats| stats.lower_bound.clone()),
            upper: stats.and_then(|stats| stats.upper_bound.clone()),
        }
    }

    /// The only path, if it is one.
    fn only(&self) -> Option<String> {
        let (lower, upper) = (self.lower.as_ref()?, self.upper.as_ref()?);
        (lower == upper)
            .then(|| String::from_utf8(lower.to_vec()).ok())
            .flatten()
    }

    /// Whether a path may be among them. An upper bound that was cut short without being raised is
    /// a mistake, but must not bring deleted rows back.
    fn may_have(&self, path: &str) -> bool {
        let path = path.as_bytes();
        let below = self.lower.as_ref().is_some_and(|lower| path < &lower[..]);
        let above = self
            .upper
            .as_ref()
            .is_some_and(|upper| path > &upper[..] && !path.starts_with(upper));
        !below && !above
    }
}

impl PartitionKey {
    fn of(partition: &Partition) -> Self {
        Self {
            spec_id: partition.spec_id,
            values: partition
                .values
                .iter()
                .map(|value| value.as_ref().map(comparable))
                .collect(),
        }
    }
}

fn comparable(value: &PrimitiveValue) -> Vec<u8> {
    let double = |value: f64| {
        let canonical = if value.is_nan() { f64::NAN } else { value };
        canonical.to_bits().to_le_bytes().to_vec()
    };
    match value {
        PrimitiveValue::Int(value) | PrimitiveValue::Date(value) => {
            i64::from(*value).to_le_bytes().to_vec()
        }
        PrimitiveValue::Float(value) => double(f64::from(*value)),
        PrimitiveValue::Double(value) => double(*value),
        other => other.to_bytes(),
    }
}

impl DeleteIndex {
    /// Sorts the live deletes of a snapshot.
    ///
    /// # Errors
    /// `Corrupt` for several deletion vectors of one data file, and for columns that no schema has.
    pub fn new(metadata: &TableMetadata, deletes: Vec<LiveDelete>) -> Result<Self> {
        let mut index = Self {
            is_empty: deletes.is_empty(),
            ..Self::default()
        };
        let mut groups: HashMap<(Option<PartitionKey>, Vec<i32>), usize> = HashMap::new();
        for LiveDelete {
            sequence_number,
            partition,
            content,
        } in deletes
        {
            match content {
                Content::Vector { vector, about } => {
                    let scoped = Scoped {
                        sequence_number,
                        partition,
                        delete: vector,
                    };
                    index.add_vector(about, scoped)?;
                }
                Content::Positions {
                    file,
                    about,
                    bounds,
                } => {
                    let scoped = Scoped {
                        sequence_number,
                        partition: partition.clone(),
                        delete: file,
                    };
                    match about {
                        Some(path) => {
                            let of_path = index.positions_by_path.entry(path).or_default();
                            of_path.push(scoped);
                        }
                        None => {
                            let of_partition = index.positions_by_partition.entry(partition);
                            of_partition.or_default().push((scoped, bounds));
                        }
                    }
                }
                Content::Equality { file, field_ids } => {
                    let everywhere = metadata
                        .partition_specs
                        .get(&partition.spec_id)
                        .is_some_and(|spec| spec.is_unpartitioned());
                    let scope = (!everywhere).then_some(partition);
                    let number = match groups.get(&(scope.clone(), field_ids.clone())) {
                        Some(number) => *number,
                        None => {
                            let number = index.groups.len();
                            let columns = equality_columns(metadata, &field_ids)
                                .map_err(|error| error.in_file(&file.file_path))?;
                            index
                                .groups
                                .push(Group::new(metadata, columns, &mut index.keys));
                            index
                                .equality_by_scope
                                .entry(scope.clone())
                                .or_default()
                                .push(number);
                            groups.insert((scope, field_ids), number);
                            number
                        }
                    };
                    if let Some(group) = index.groups.get_mut(number) {
                        let told = &*file;
                        group.add(
                            sequence_number,
                            told,
                            delete_file(told.clone()),
                            &index.keys,
                        );
                    }
                }
            }
        }
        Ok(index)
    }

    fn add_vector(&mut self, about: String, vector: Scoped<DeletionVector>) -> Result<()> {
        if let Some(other) = self.vectors.get(&about) {
            return Err(Error::corrupt(
                &about,
                format!(
                    "this data file has two deletion vectors, at byte {} of \"{}\" and at byte {} \
                     of \"{}\", where one is allowed",
                    other.delete.offset,
                    other.delete.path,
                    vector.delete.offset,
                    vector.delete.path
                ),
            ));
        }
        self.vectors.insert(about, vector);
        Ok(())
    }

    /// The columns that equality deletes compare.
    pub fn key_columns(&self) -> &KeyColumns {
        &self.keys
    }

    /// Gives each task the deletes that apply to it, and tells how many these are. `key_values` are what the
    /// tasks' files may have in the key columns, where that is known.
    ///
    /// # Errors
    /// `Corrupt` for a data file without a sequence number, for a deletion vector of another
    /// partition or an older commit than its data file, and for position deletes of one data file
    /// that are listed in another partition.
    pub fn apply(
        mut self,
        tasks: &mut [FileScanTask],
        key_values: &[KeyValues],
    ) -> Result<Applied> {
        if self.is_empty {
            return Ok(Applied::default());
        }
        self.spread_unknown_paths(tasks);
        let mut groups_of_tasks = Vec::with_capacity(tasks.len());
        for (number, task) in tasks.iter_mut().enumerate() {
            let data_sequence_number = task.data_sequence_number.ok_or_else(|| {
                Error::corrupt(
                    &task.path,
                    "the manifest does not state the data sequence number of this data file, \
                     by which deletes apply",
                )
            })?;
            let partition = PartitionKey::of(&task.partition);
            let vector = self.vector_of(task, data_sequence_number, &partition)?;
            // A deletion vector stands for all position deletes from before it.
            let positions = match vector {
                Some(_) => Vec::new(),
                None => self.positions_of(task, data_sequence_number, &partition)?,
            };
            task.deletes = TaskDeletes {
                positions,
                vector,
                equality: Vec::new(),
            };
            let values = key_values.get(number);
            groups_of_tasks.push(self.groups_of(data_sequence_number, partition, values));
        }
        let groups: Vec<_> = self.groups.into_iter().map(Group::used).collect();
        for (task, numbers) in tasks.iter_mut().zip(groups_of_tasks) {
            task.deletes.equality = numbers
                .into_iter()
                .filter_map(|number| groups.get(number)?.clone())
                .collect();
        }
        Ok(Applied::of(tasks))
    }

    /// Equal bounds of paths may have been cut short: a delete file that seems to be about a data
    /// file that is not there is looked into for all data files of its partition.
    fn spread_unknown_paths(&mut self, tasks: &[FileScanTask]) {
        if self.positions_by_path.is_empty() {
            return;
        }
        let mut known: Vec<&str> = tasks.iter().map(|task| task.path.0.as_str()).collect();
        known.sort_unstable();
        // The paths that begin with another follow it.
        let begins_another = |path: &String| {
            let after = known.partition_point(|known| *known < path.as_str());
            known
                .get(after)
                .is_some_and(|known| *known != path && known.starts_with(path.as_str()))
        };
        let unknown: Vec<String> = self
            .positions_by_path
            .keys()
            .filter(|path| begins_another(path))
            .cloned()
            .collect();
        for path in unknown {
            for scoped in self.positions_by_path.remove(&path).unwrap_or_default() {
                self.positions_by_partition
                    .entry(scoped.partition.clone())
                    .or_default()
                    .push((scoped, PathBounds::default()));
            }
        }
    }

    fn vector_of(
        &self,
        task: &FileScanTask,
        data_sequence_number: i64,
        partition: &PartitionKey,
    ) -> Result<Option<Arc<DeletionVector>>> {
        let Some(vector) = self.vectors.get(&task.path.0) else {
            return Ok(None);
        };
        let fault = if vector.partition != *partition {
            format!(
                "its deletion vector at byte {} of \"{}\" is listed in another partition",
                vector.delete.offset, vector.delete.path
            )
        } else if vector.sequence_number < data_sequence_number {
            format!(
                "its deletion vector at byte {} of \"{}\" has the sequence number {}, which is \
                 less than its own, {data_sequence_number}",
                vector.delete.offset, vector.delete.path, vector.sequence_number
            )
        } else {
            return Ok(Some(Arc::clone(&vector.delete)));
        };
        Err(Error::corrupt(&task.path, fault))
    }

    fn positions_of(
        &self,
        task: &FileScanTask,
        data_sequence_number: i64,
        partition: &PartitionKey,
    ) -> Result<Vec<Arc<DeleteFile>>> {
        let applies = |scoped: &&Scoped<DeleteFile>| data_sequence_number <= scoped.sequence_number;
        let by_path = self.positions_by_path.get(&task.path.0);
        let by_path = by_path.into_iter().flatten().filter(applies);
        // Neither may its deletes be left out in silence, nor is it clear that they are meant.
        if let Some(elsewhere) = by_path
            .clone()
            .find(|scoped| scoped.partition != *partition)
        {
            return Err(Error::corrupt(
                &task.path,
                format!(
                    "position deletes of this data file, in \"{}\", are listed in another partition",
                    elsewhere.delete.path
                ),
            ));
        }
        let by_partition = self.positions_by_partition.get(partition);
        let by_partition = by_partition
            .into_iter()
            .flatten()
            .filter(|(_, bounds)| bounds.may_have(&task.path.0))
            .map(|(scoped, _)| scoped)
            .filter(applies);
        Ok(by_path
            .chain(by_partition)
            .map(|scoped| Arc::clone(&scoped.delete))
            .collect())
    }

    /// The groups of equality deletes with a file that applies to a data file.
    fn groups_of(
        &mut self,
        data_sequence_number: i64,
        partition: PartitionKey,
        values: Option<&KeyValues>,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        for scope in [None, Some(partition)] {
            for number in self.equality_by_scope.get(&scope).into_iter().flatten() {
                if let Some(group) = self.groups.get_mut(*number)
                    && group.applies_to(data_sequence_number, values)
                {
                    found.push(*number);
                }
            }
        }
        found
    }
}

impl Applied {
    fn of(tasks: &[FileScanTask]) -> Self {
        let mut applied = Self::default();
        let mut seen: HashSet<*const DeleteFile> = HashSet::new();
        for deletes in tasks.iter().map(|task| &task.deletes) {
            if let Some(vector) = &deletes.vector {
                applied.files += 1;
                applied.add_positions(vector.cardinality);
            }
            for file in &deletes.positions {
                if seen.insert(Arc::as_ptr(file)) {
                    applied.add_positions(file.record_count);
                }
            }
            for equality in &deletes.equality {
                seen.extend(equality.files.iter().map(|(_, file)| Arc::as_ptr(file)));
            }
        }
        applied.files += seen.len();
        applied
    }

    fn add_positions(&mut self, count: Option<u64>) {
        self.positions = self.positions.saturating_add(count.unwrap_or(0));
    }
}

#[cfg(test)]
#[path = "delete_index_tests.rs"]
mod tests;
