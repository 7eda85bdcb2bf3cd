//! From the arrays that a file's columns decode to, to the arrays of the Iceberg schema: types
//! promoted, missing fields filled with nulls, members in the schema's order.
//! Spec: "Column Projection", "Schema Evolution".

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray,
    new_null_array,
};
use arrow::datatypes::{DataType, FieldRef, Fields};
use arrow::error::ArrowError;

use super::leaf::Conversion;
use super::projection::Projection;
use super::variant;
use crate::error::{Error, ErrorKind, Result};

/// How one field of the schema comes out of what the file has for it.
#[derive(Debug, Clone)]
pub(super) enum Assembly {
    /// The file does not have it.
    Missing(DataType),
    /// A primitive column.
    Leaf(Conversion),
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

/// A batch of the Iceberg schema from a decoded one.
///
/// # Errors
/// Names the column, not the file.
pub(super) fn assemble(projection: &Projection, decoded: &RecordBatch) -> Result<RecordBatch> {
    let rows = decoded.num_rows();
    let columns = projection
        .columns
        .iter()
        .map(|column| {
            column
                .member
                .assemble(decoded.columns(), rows)
                .map_err(|error| in_column(error, &column.name))
        })
        .collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new_with_options(
        Arc::clone(&projection.output),
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

impl Member {
    fn assemble(&self, decoded: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        match self.decoded {
            None => self.assembly.missing(rows),
            Some(index) => {
                let array = decoded
                    .get(index)
                    .ok_or_else(|| internal("a decoded column is not there"))?;
                self.assembly.apply(array)
            }
        }
    }
}

impl Assembly {
    fn missing(&self, rows: usize) -> Result<ArrayRef> {
        match self {
            Self::Missing(data_type) => Ok(new_null_array(data_type, rows)),
            _ => Err(internal("a column is planned but not decoded")),
        }
    }

    fn apply(&self, array: &ArrayRef) -> Result<ArrayRef> {
        match self {
            Self::Missing(_) => self.missing(array.len()),
            Self::Leaf(conversion) => conversion.apply(array),
            Self::Struct { fields, members } => {
                let array = array
                    .as_struct_opt()
                    .ok_or_else(|| internal("a struct did not decode to a struct"))?;
                let members = members
                    .iter()
                    .map(|member| member.assemble(array.columns(), array.len()))
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
                    element.apply(array.values())?,
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
                    vec![key.apply(array.keys())?, value.apply(array.values())?],
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
