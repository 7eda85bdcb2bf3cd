//! From the arrays that a file's columns decode to, to the arrays of the Iceberg schema: types
//! promoted, missing fields filled in, members in the schema's order.
//! Spec: "Column Projection", "Schema Evolution".

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, ListArray, MapArray, RecordBatch, RecordBatchOptions,
    StructArray,
};
use arrow::datatypes::{DataType, FieldRef, Fields, Int64Type, SchemaRef};
use arrow::error::ArrowError;

use super::leaf::Conversion;
use super::missing::Substitute;
use super::projection::Column;
use super::row_positions::RowPositions;
use super::variant;
use crate::error::{Error, ErrorKind, Result};

/// How one field of the schema comes out of what the file has for it.
#[derive(Debug, Clone)]
pub(super) enum Assembly {
    /// The file does not have it.
    Missing(Substitute),
    /// A primitive column.
    Leaf(Conversion),
    /// A column of longs that says only where a row has another value than this.
    Overriding {
        stored: Conversion,
        otherwise: Substitute,
    },
    /// A struct; members in the schema's order.
    Struct {
        fields: Fields,
        members: Vec<Member>,
    },
    /// A variant, of these fields.
    Variant(Fields),
    /// A list.
    List {
        element_field: FieldRef,
        element: Box<Assembly>,
    },
    /// A map.
    Map {
        entries_field: FieldRef,
        key: Box<Assembly>,
        value: Box<Assembly>,
    },
}

/// A member of a struct, or a column of the batch.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Which of the decoded arrays beside each other it comes from; `None` where it is missing.
    pub(super) decoded: Option<usize>,
    /// What becomes of that array.
    pub(super) assembly: Assembly,
}

/// A batch of the Iceberg schema from so many rows of decoded arrays, which are at these positions
/// in the file.
///
/// # Errors
/// Names the column, not the file.
pub(super) fn assemble(
    columns: &[Column],
    output: &SchemaRef,
    decoded: &[ArrayRef],
    positions: &RowPositions,
    rows: usize,
) -> Result<RecordBatch> {
    let columns = columns
        .iter()
        .map(|column| column.assemble(decoded, positions, rows))
        .collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new_with_options(
        Arc::clone(output),
        columns,
        &RecordBatchOptions::new().with_row_count(Some(rows)),
    )
    .map_err(|error| inconsistent(&error))
}

/// Puts the column in front of an error's message.
pub(super) fn in_column(error: Error, column: &str) -> Error {
    let mut named = Error::new(
        error.kind(),
        format!("column \"{column}\": {}", error.message()),
    );
    if let Some(detail) = error.detail() {
        named = named.with_detail(detail);
    }
    if let Some(hint) = error.hint() {
        named = named.with_hint(hint);
    }
    named
}

impl Column {
    /// Its array, beside so many rows at these positions.
    ///
    /// # Errors
    /// Names the column, not the file.
    pub(super) fn assemble(
        &self,
        decoded: &[ArrayRef],
        positions: &RowPositions,
        rows: usize,
    ) -> Result<ArrayRef> {
        self.member
            .assemble(decoded, positions, rows)
            .map_err(|error| in_column(error, &self.name))
    }
}

impl Member {
    /// Whether the file lacks it or a member of it.
    pub(super) fn is_missing(&self) -> bool {
        match &self.assembly {
            _ if self.decoded.is_none() => true,
            Assembly::Struct { members, .. } => members.iter().any(Self::is_missing),
            _ => false,
        }
    }

    /// Its array, beside `rows` rows at these positions.
    fn assemble(
        &self,
        decoded: &[ArrayRef],
        positions: &RowPositions,
        rows: usize,
    ) -> Result<ArrayRef> {
        match (self.decoded, &self.assembly) {
            (None, Assembly::Missing(substitute)) => substitute.rows(positions, rows),
            (None, _) => Err(internal("a column is planned but not decoded")),
            (Some(index), assembly) => {
                let array = decoded
                    .get(index)
                    .ok_or_else(|| internal("a decoded column is not there"))?;
                assembly.apply(array, positions)
            }
        }
    }

    /// About how many bytes a row takes of what is not decoded.
    pub(super) fn substitute_size(&self) -> u64 {
        self.assembly.substitute_size()
    }
}

impl Assembly {
    fn substitute_size(&self) -> u64 {
        match self {
            Self::Missing(substitute) => substitute.row_size(),
            Self::Leaf(_) | Self::Variant(_) | Self::Overriding { .. } => 0,
            Self::Struct { members, .. } => members
                .iter()
                .map(Member::substitute_size)
                .fold(0, u64::saturating_add),
            Self::List { element, .. } => element.substitute_size(),
            Self::Map { key, value, .. } => key
                .substitute_size()
                .saturating_add(value.substitute_size()),
        }
    }

    fn apply(&self, array: &ArrayRef, positions: &RowPositions) -> Result<ArrayRef> {
        // Only columns of the top level are about where a row is.
        let none = RowPositions::default();
        match self {
            Self::Missing(substitute) => substitute.rows(positions, array.len()),
            Self::Leaf(conversion) => conversion.apply(array),
            Self::Overriding { stored, otherwise } => {
                let stored = stored.apply(array)?;
                let stored = stored
                    .as_primitive_opt::<Int64Type>()
                    .ok_or_else(|| internal("a column of longs did not decode to longs"))?;
                if stored.null_count() == 0 {
                    return Ok(Arc::new(stored.clone()));
                }
                let otherwise = otherwise.rows(positions, array.len())?;
                let otherwise = otherwise
                    .as_primitive_opt::<Int64Type>()
                    .ok_or_else(|| internal("what stands for a long is none"))?;
                let values = stored.iter().zip(otherwise);
                Ok(Arc::new(
                    values
                        .map(|(stored, otherwise)| stored.or(otherwise))
                        .collect::<Int64Array>(),
                ))
            }
            Self::Struct { fields, members } => {
                let array = array
                    .as_struct_opt()
                    .ok_or_else(|| internal("a struct did not decode to a struct"))?;
                let members = members
                    .iter()
                    .map(|member| member.assemble(array.columns(), &none, array.len()))
                    .collect::<Result<Vec<_>>>()?;
                let array = StructArray::try_new_with_length(
                    fields.clone(),
                    members,
                    array.nulls().cloned(),
                    array.len(),
                )
                .map_err(|error| inconsistent(&error))?;
                Ok(Arc::new(array))
            }
            Self::Variant(fields) => variant::unshred(array, fields),
            Self::List {
                element_field,
                element,
            } => {
                let array = array
                    .as_list_opt::<i32>()
                    .ok_or_else(|| internal("a list did not decode to a list"))?;
                let array = ListArray::try_new(
                    Arc::clone(element_field),
                    array.offsets().clone(),
                    element.apply(array.values(), &none)?,
                    array.nulls().cloned(),
                )
                .map_err(|error| inconsistent(&error))?;
                Ok(Arc::new(array))
            }
            Self::Map {
                entries_field,
                key,
                value,
            } => {
                let array = array
                    .as_map_opt()
                    .ok_or_else(|| internal("a map did not decode to a map"))?;
                let DataType::Struct(fields) = entries_field.data_type() else {
                    return Err(internal("a map's entries are not a struct"));
                };
                let entries = StructArray::try_new(
                    fields.clone(),
                    vec![
                        key.apply(array.keys(), &none)?,
                        value.apply(array.values(), &none)?,
                    ],
                    None,
                )
                .map_err(|error| inconsistent(&error))?;
                let array = MapArray::try_new(
                    Arc::clone(entries_field),
                    array.offsets().clone(),
                    entries,
                    array.nulls().cloned(),
                    false,
                )
                .map_err(|error| inconsistent(&error))?;
                Ok(Arc::new(array))
            }
        }
    }
}

fn internal(message: &str) -> Error {
    Error::new(ErrorKind::Internal, message)
}

fn inconsistent(error: &ArrowError) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("values contradict each other: {error}"),
    )
}
