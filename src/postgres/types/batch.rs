//! A whole Arrow batch as datums, column by column; made on a worker thread, read by the backend.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use iceberg_core::{Error, ErrorKind, Result};

use super::arena::Arena;
use super::conversion::{Conversion, Scalar};
use super::encode::{ByReference, ByValue, Visitor, unexpected, visit};
use super::spatial::WellKnownBinaries;
use super::{array, json};

/// Datums of some rows; what they point to lives as long as this does.
#[derive(Debug)]
pub struct DatumBatch {
    /// Number of rows.
    pub rows: usize,
    /// A column for each one asked for, in that order.
    pub columns: Vec<DatumColumn>,
}

/// Datums of one column.
#[derive(Debug)]
pub struct DatumColumn {
    /// A word a row: the value, or the address of it in `arena`, or, for what is made of `inner`, its
    /// place there. Unspecified where null.
    pub values: Vec<u64>,
    /// Whether a row is null; `None` where no row is.
    pub nulls: Option<Vec<bool>>,
    /// The columns that the backend makes composites and arrays of.
    inner: Vec<DatumColumn>,
    /// Holds what `values` points to.
    _arena: Arena,
}

/// A column that is to be converted.
#[derive(Debug, Clone)]
pub struct ColumnPlan {
    /// Its name in the foreign table, for messages.
    pub name: String,
    /// The way it goes.
    pub conversion: Conversion,
}

impl DatumBatch {
    /// Converts a batch whose columns are those of `plan`.
    pub fn convert(batch: &RecordBatch, plan: &[ColumnPlan]) -> Result<Self> {
        if batch.num_columns() != plan.len() {
            return Err(Error::new(
                ErrorKind::Internal,
                format!(
                    "a batch has {} columns where {} were asked for",
                    batch.num_columns(),
                    plan.len()
                ),
            ));
        }
        let columns = batch
            .columns()
            .iter()
            .zip(plan)
            .map(|(array, column)| {
                DatumColumn::convert(array, &column.conversion)
                    .map_err(|error| error.in_column(&column.name))
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            rows: batch.num_rows(),
            columns,
        })
    }
}

impl DatumColumn {
    fn convert(array: &ArrayRef, conversion: &Conversion) -> Result<Self> {
        match conversion {
            Conversion::Scalar(scalar) => visit(*scalar, array, ColumnVisitor { array }),
            Conversion::Array {
                element,
                element_type,
            } => Self::by_reference(array, &array::Lists::new(array, *element, *element_type)?),
            Conversion::Json { from, .. } => {
                Self::by_reference(array, &json::JsonTexts::new(array, from)?)
            }
            // The text itself; the backend hands it to the type's input function, which checks it.
            Conversion::JsonText(_) => visit(Scalar::Text, array, ColumnVisitor { array }),
            Conversion::Null => Ok(Self {
                nulls: Some(vec![true; array.len()]),
                ..Self::of_words(array, vec![0; array.len()])
            }),
            Conversion::Domain { base, .. } => Self::convert(array, base),
            Conversion::Spatial(spatial) => {
                let values = array
                    .as_binary_view_opt()
                    .ok_or_else(|| unexpected(array))?;
                Self::by_reference(array, &WellKnownBinaries::new(values, spatial.srid))
            }
            Conversion::List { element, .. } => Self::list(array, element),
            Conversion::Composite { attributes, .. } => Self::composite(array, attributes),
        }
    }

    /// The datum of a row before it is finished; `None` where it is null.
    #[inline]
    pub fn word(&self, row: usize) -> Option<u64> {
        match &self.nulls {
            Some(nulls) if nulls[row] => None,
            _ => Some(self.values[row]),
        }
    }

    /// One of the columns that values of this one are made of.
    pub fn inner(&self, index: usize) -> Option<&DatumColumn> {
        self.inner.get(index)
    }

    fn of_words(array: &ArrayRef, values: Vec<u64>) -> Self {
        Self {
            values,
            nulls: nulls(array),
            inner: Vec::new(),
            _arena: Arena::default(),
        }
    }

    /// Lists: the elements of all of them, and for each the range of its own.
    fn list(array: &ArrayRef, element: &Conversion) -> Result<Self> {
        let lists = array
            .as_list_opt::<i32>()
            .ok_or_else(|| unexpected(array))?;
        let offsets = lists.value_offsets();
        let first = offsets.first().copied().unwrap_or(0);
        let last = offsets.last().copied().unwrap_or(0);
        let elements = lists
            .values()
            .slice(first as usize, (last - first) as usize);
        let ranges = offsets
            .windows(2)
            .map(|range| pack_range((range[0] - first) as u32, (range[1] - first) as u32))
            .collect();
        Ok(Self {
            inner: vec![Self::convert(&elements, element)?],
            ..Self::of_words(array, ranges)
        })
    }

    /// Structs: a column for each attribute that is still there, in their order.
    fn composite(array: &ArrayRef, attributes: &[Option<(usize, Conversion)>]) -> Result<Self> {
        let members = array.as_struct_opt().ok_or_else(|| unexpected(array))?;
        let inner = attributes
            .iter()
            .flatten()
            .map(|(field, conversion)| {
                let member = members
                    .columns()
                    .get(*field)
                    .ok_or_else(|| unexpected(array))?;
                Self::convert(member, conversion)
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            inner,
            ..Self::of_words(array, (0..array.len() as u64).collect())
        })
    }

    fn by_reference(array: &ArrayRef, values: &impl ByReference) -> Result<Self> {
        fn write<V: ByReference>(array: &ArrayRef, values: &V) -> Result<DatumColumn> {
            let mut arena = Arena::with_capacity(values.size_hint());
            let mut addresses = Vec::with_capacity(array.len());
            match array.nulls() {
                None => {
                    for row in 0..array.len() {
                        arena.align(V::ALIGNMENT);
                        addresses.push(arena.offset() as u64);
                        values.append(row, &mut arena)?;
                    }
                }
                Some(nulls) => {
                    for row in 0..array.len() {
                        arena.align(V::ALIGNMENT);
                        addresses.push(arena.offset() as u64);
                        if nulls.is_valid(row) {
                            values.append(row, &mut arena)?;
                        }
                    }
                }
            }
            // Only now, when the arena does not move any more, do offsets become addresses.
            let base = arena.base();
            for address in &mut addresses {
                *address += base;
            }
            Ok(DatumColumn {
                _arena: arena,
                ..DatumColumn::of_words(array, addresses)
            })
        }
        write(array, values)
    }
}

/// A range of rows as one word.
fn pack_range(start: u32, end: u32) -> u64 {
    u64::from(start) << 32 | u64::from(end)
}

/// The range of rows that [`DatumColumn::word`] of a list stands for.
pub fn unpack_range(word: u64) -> std::ops::Range<usize> {
    (word >> 32) as usize..(word & u64::from(u32::MAX)) as usize
}

fn nulls(array: &ArrayRef) -> Option<Vec<bool>> {
    array
        .nulls()
        .filter(|nulls| nulls.null_count() > 0)
        .map(|nulls| nulls.iter().map(|valid| !valid).collect())
}

struct ColumnVisitor<'a> {
    array: &'a ArrayRef,
}

impl Visitor for ColumnVisitor<'_> {
    type Output = DatumColumn;

    fn by_value(self, values: &impl ByValue) -> Result<DatumColumn> {
        let rows = 0..self.array.len();
        let values = match self.array.nulls() {
            None => rows.map(|row| values.datum(row)).collect::<Result<_>>()?,
            // A null's slot may hold anything, also what would be out of range.
            Some(nulls) => rows
                .map(|row| match nulls.is_valid(row) {
                    true => values.datum(row),
                    false => Ok(0),
                })
                .collect::<Result<_>>()?,
        };
        Ok(DatumColumn::of_words(self.array, values))
    }

    fn by_reference(self, values: &impl ByReference) -> Result<DatumColumn> {
        DatumColumn::by_reference(self.array, values)
    }
}
