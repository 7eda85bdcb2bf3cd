//! Equality deletes: the keys of all delete files of one scope and one set of columns, each with
//! the newest sequence number that deletes it. Spec: "Equality Delete Files".

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float32Array, Float64Array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};
use tokio::sync::OnceCell;

use super::kept::KeptDeletes;
use super::keys::KeySet;
use super::memory::{DeleteMemory, Reserved, Taker};
use super::rows::DeleteRows;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::EqualityDeletes;
use crate::read::added_columns::{Place, add_column, column_at};
use crate::read::arrow_types::arrow_type;
use crate::read::parquet_file::Source;
use crate::spec::NestedField;

/// A set of equality deletes: read once, when the first data file needs it.
#[derive(Debug)]
pub(super) struct EqualitySource {
    deletes: Arc<EqualityDeletes>,
    /// Where the keys may be found, and are left.
    kept: Arc<KeptDeletes>,
    loaded: OnceCell<Arc<EqualityKeys>>,
}

/// The keys of a set of equality deletes, in the memory of a read.
#[derive(Debug)]
pub(super) struct EqualityKeys {
    table: Arc<KeyTable>,
    _memory: Reserved,
}

/// The keys of a set of equality deletes.
#[derive(Debug)]
pub(super) struct KeyTable {
    comparison: Comparison,
    /// Each with the place of its newest sequence number in the list.
    keys: KeySet,
    /// The sequence numbers of the files, ascending.
    sequence_numbers: Vec<i64>,
}

/// How key columns become bytes that are equal if and only if the keys are.
#[derive(Debug)]
struct Comparison {
    converter: RowConverter,
    types: Vec<DataType>,
}

impl EqualitySource {
    pub(super) fn new(deletes: Arc<EqualityDeletes>, kept: Arc<KeptDeletes>) -> Self {
        Self {
            deletes,
            kept,
            loaded: OnceCell::new(),
        }
    }

    /// Makes `fields` also have the columns that are compared, and tells where they are then.
    ///
    /// # Errors
    /// `Corrupt` where one schema has a struct and another has not.
    pub(super) fn add_columns(&self, fields: &mut Vec<Arc<NestedField>>) -> Result<Vec<Place>> {
        self.deletes
            .columns
            .iter()
            .map(|column| {
                add_column(fields, &column.path).ok_or_else(|| {
                    Error::new(
                        ErrorKind::Corrupt,
                        format!(
                            "equality deletes compare \"{}\", which schemas of the table have at \
                             different depths",
                            column.name()
                        ),
                    )
                })
            })
            .collect()
    }

    /// About how many bytes it will take in memory; 0 once it is there.
    pub(super) fn expected_bytes(&self) -> u64 {
        if self.loaded.initialized() {
            return 0;
        }
        let width = 24 + 16 * self.deletes.columns.len() as u64;
        self.deletes.files.iter().fold(0, |sum, (_, file)| {
            sum.saturating_add(file.record_count.unwrap_or(0).saturating_mul(width))
        })
    }

    /// The keys; reads them if no other task has, nor a read before.
    pub(super) async fn keys(
        &self,
        source: &Source,
        memory: &Arc<DeleteMemory>,
    ) -> Result<Arc<EqualityKeys>> {
        self.loaded
            .get_or_try_init(|| self.load(source, memory))
            .await
            .cloned()
    }

    async fn load(&self, source: &Source, memory: &Arc<DeleteMemory>) -> Result<Arc<EqualityKeys>> {
        let mut reserved = memory.reserve(Taker::Several);
        let table = match self.kept.get(&self.deletes) {
            Some(table) => {
                reserved.grow_to(table.memory()).await?;
                table
            }
            None => {
                let table = Arc::new(self.read(source, memory, &mut reserved).await?);
                // What else is deleted needs memory, too.
                self.kept.keep(&self.deletes, &table, memory.limit() / 2);
                table
            }
        };
        Ok(Arc::new(EqualityKeys {
            table,
            _memory: reserved,
        }))
    }

    async fn read(
        &self,
        source: &Source,
        memory: &Arc<DeleteMemory>,
        reserved: &mut Reserved,
    ) -> Result<KeyTable> {
        let mut wanted = Vec::new();
        let places = self.add_columns(&mut wanted)?;
        let types = self
            .deletes
            .columns
            .iter()
            .filter_map(|column| Some(arrow_type(&column.field()?.field_type)))
            .collect();
        let mut sequence_numbers: Vec<_> = self
            .deletes
            .files
            .iter()
            .map(|(sequence_number, _)| *sequence_number)
            .collect();
        sequence_numbers.sort_unstable();
        sequence_numbers.dedup();
        let mut table = KeyTable::new(types, sequence_numbers)?;
        for (sequence_number, file) in &self.deletes.files {
            let memory = Arc::clone(memory);
            let mut rows =
                DeleteRows::open(source.clone(), memory, Taker::Several, file, &wanted).await?;
            while let Some(batch) = rows.next().await? {
                table
                    .add(batch.columns(), &places, *sequence_number)
                    .map_err(|error| error.in_file(&file.path))?;
                reserved.grow_to(table.memory()).await?;
            }
        }
        Ok(table)
    }
}

impl EqualityKeys {
    /// Calls `mark` with those rows of a batch that are deleted from a file with this data sequence
    /// number.
    pub(super) fn mark_deleted(
        &self,
        columns: &[ArrayRef],
        places: &[Place],
        data_sequence_number: i64,
        mark: impl FnMut(usize),
    ) -> Result<()> {
        self.table
            .mark_deleted(columns, places, data_sequence_number, mark)
    }
}

impl KeyTable {
    fn new(types: Vec<DataType>, sequence_numbers: Vec<i64>) -> Result<Self> {
        let fields = types.iter().cloned().map(SortField::new).collect();
        let converter = RowConverter::new(fields).map_err(|error| incomparable(&error))?;
        Ok(Self {
            comparison: Comparison { converter, types },
            keys: KeySet::default(),
            sequence_numbers,
        })
    }

    /// Adds the keys in the rows of a delete file.
    fn add(&mut self, columns: &[ArrayRef], places: &[Place], sequence_number: i64) -> Result<()> {
        // A greater place is a newer number.
        let newest = self
            .sequence_numbers
            .partition_point(|number| *number < sequence_number);
        let newest = u32::try_from(newest).unwrap_or(u32::MAX);
        for row in &self.comparison.rows(columns, places)? {
            self.keys.insert(row.as_ref(), newest)?;
        }
        Ok(())
    }

    /// How many bytes it takes.
    pub(super) fn memory(&self) -> u64 {
        self.keys.memory() as u64
    }

    fn mark_deleted(
        &self,
        columns: &[ArrayRef],
        places: &[Place],
        data_sequence_number: i64,
        mut mark: impl FnMut(usize),
    ) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        for (index, row) in self.comparison.rows(columns, places)?.iter().enumerate() {
            let newest = self
                .keys
                .get(row.as_ref())
                .and_then(|newest| self.sequence_numbers.get(newest as usize));
            if newest.is_some_and(|newest| data_sequence_number < *newest) {
                mark(index);
            }
        }
        Ok(())
    }
}

impl Comparison {
    /// The keys of rows. Nulls are equal to nulls, all NaNs are equal, and -0.0 is not 0.0, as the
    /// reference implementation compares.
    fn rows(&self, columns: &[ArrayRef], places: &[Place]) -> Result<Rows> {
        let columns = places
            .iter()
            .zip(&self.types)
            .map(|(place, data_type)| {
                let column = column_at(columns, place)?;
                Ok(one_nan(promoted(column, data_type)?))
            })
            .collect::<Result<Vec<_>>>()?;
        self.converter
            .convert_columns(&columns)
            .map_err(|error| incomparable(&error))
    }
}

/// A column in the type that keys are compared in, which is at least as wide.
fn promoted(column: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if column.data_type() == data_type {
        return Ok(column);
    }
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(&column, data_type, &strict).map_err(|error| {
        Error::new(
            ErrorKind::OutOfRange,
            format!("a value cannot be compared with equality deletes: {error}"),
        )
    })
}

/// A column whose NaNs are all the same bits.
fn one_nan(column: ArrayRef) -> ArrayRef {
    if let Some(floats) = column.as_primitive_opt::<Float32Type>() {
        let same: Float32Array =
            floats.unary(|value| if value.is_nan() { f32::NAN } else { value });
        return Arc::new(same);
    }
    if let Some(doubles) = column.as_primitive_opt::<Float64Type>() {
        let same: Float64Array =
            doubles.unary(|value| if value.is_nan() { f64::NAN } else { value });
        return Arc::new(same);
    }
    column
}

fn incomparable(error: &ArrowError) -> Error {
    Error::new(
        ErrorKind::NotSupported,
        format!("the columns of equality deletes cannot be compared: {error}"),
    )
}
