//! What stands for a column that a file does not have: the value that the file's partition says,
//! else the column's initial default, else null. Spec: "Column Projection", "Default values",
//! "Row lineage assignment".

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array, Int64Array, ListArray, MapArray,
    StringViewArray, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray, UInt32Array, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat, take};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use serde_json::{Map, Value};

use super::arrow_types::{arrow_field, arrow_type, map_entries, struct_fields};
use super::metadata_columns::MetadataColumn;
use super::row_positions::RowPositions;
use super::size::array_size;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::FileScanTask;
use crate::spec::partition_tuple::convert;
use crate::spec::{
    ListType, MapType, NestedField, PrimitiveType, PrimitiveValue, StructType, Type,
};

/// What stands for a field that a file does not have.
#[derive(Debug, Clone)]
pub(super) enum Substitute {
    /// Null, as this type.
    Null(DataType),
    /// The one value of this array in every row.
    Constant(ArrayRef),
    /// This number for the first row of the file, and one more for each further row.
    Counted(i64),
}

impl Substitute {
    /// What stands for a field in the file of a task.
    ///
    /// # Errors
    /// Without file and column. `Corrupt` for a default that is no value of the field's type,
    /// `OutOfRange` for a partition value that does not fit it.
    pub(super) fn of(field: &NestedField, task: &FileScanTask) -> Result<Self> {
        if let Some(column) = MetadataColumn::by_field_id(field.id) {
            return Ok(Self::of_metadata(column, task));
        }
        Ok(match row(field, task)? {
            Some(row) => Self::Constant(row),
            None => Self::Null(arrow_type(&field.field_type)),
        })
    }

    fn of_metadata(column: MetadataColumn, task: &FileScanTask) -> Self {
        let constant = |array: ArrayRef| Some(Self::Constant(array));
        let long = |value: i64| constant(Arc::new(Int64Array::from(vec![value])));
        let text = |text: &str| constant(Arc::new(StringViewArray::from(vec![text])));
        let change = task.change.as_deref();
        let known = match column {
            MetadataColumn::File => text(&task.path.0),
            MetadataColumn::Position => Some(Self::Counted(0)),
            MetadataColumn::SpecId => {
                constant(Arc::new(Int32Array::from(vec![task.partition.spec_id])))
            }
            MetadataColumn::Partition => text(&partition_json(task)),
            MetadataColumn::RowId => task.first_row_id.map(Self::Counted),
            // Rows without an id have no history either.
            MetadataColumn::LastUpdatedSequenceNumber => task
                .first_row_id
                .and(task.data_sequence_number)
                .and_then(long),
            MetadataColumn::ChangeType => change.and_then(|change| text(change.kind.name())),
            MetadataColumn::ChangeOrdinal => {
                change.and_then(|change| constant(Arc::new(Int32Array::from(vec![change.ordinal]))))
            }
            MetadataColumn::CommitSnapshotId => change.and_then(|change| long(change.snapshot_id)),
        };
        known.unwrap_or_else(|| Self::Null(arrow_type(&column.field_type())))
    }

    /// So many rows of it, which are at these positions in the file.
    ///
    /// # Errors
    /// Without file and column. `OutOfRange` for a count that does not fit.
    pub(super) fn rows(&self, positions: &RowPositions, rows: usize) -> Result<ArrayRef> {
        match self {
            Self::Null(data_type) => Ok(new_null_array(data_type, rows)),
            Self::Constant(row) => {
                let first = UInt32Array::from(vec![0; rows]);
                take(row, &first, None).map_err(|error| inconsistent(&error))
            }
            Self::Counted(start) => {
                let mut numbers = Vec::with_capacity(rows);
                for range in positions.ranges() {
                    let (Some(first), Some(end)) = (
                        start.checked_add_unsigned(range.start),
                        start.checked_add_unsigned(range.end),
                    ) else {
                        return Err(Error::new(
                            ErrorKind::OutOfRange,
                            format!(
                                "the number of row {} does not fit 64 bits from {start} on",
                                range.end
                            ),
                        ));
                    };
                    numbers.extend(first..end);
                }
                if numbers.len() != rows {
                    return Err(Error::new(
                        ErrorKind::Internal,
                        "rows are counted whose positions are not known",
                    ));
                }
                Ok(Arc::new(Int64Array::from(numbers)))
            }
        }
    }

    /// How many bytes each row of it takes.
    pub(super) fn row_size(&self) -> u64 {
        match self {
            Self::Null(_) => 0,
            Self::Constant(row) => array_size(row, 0, row.len()) as u64,
            Self::Counted(_) => size_of::<i64>() as u64,
        }
    }
}

/// The text of a JSON object of the values of a file's partition.
fn partition_json(task: &FileScanTask) -> String {
    let values: Map<String, Value> = task
        .partition_values()
        .map(|(field, value)| {
            let value = value.map_or(Value::Null, |value| value.to_json(&field.value_type));
            (field.name.clone(), value)
        })
        .collect();
    Value::Object(values).to_string()
}

/// The value of a missing field, as an array of one row; `None` for null.
fn row(field: &NestedField, task: &FileScanTask) -> Result<Option<ArrayRef>> {
    if let Type::Primitive(primitive) = &field.field_type
        && let Some(value) = task.identity_value(field.id)
    {
        let value = value.cloned().map(|value| convert(value, primitive));
        return value
            .transpose()?
            .map(|value| row_of_value(&value, primitive))
            .transpose();
    }
    match &field.initial_default {
        None => Ok(None),
        Some(default) => row_of_json(&field.field_type, default, task),
    }
}

/// A value in its JSON form as an array of one row; `None` for null.
fn row_of_json(field_type: &Type, json: &Value, task: &FileScanTask) -> Result<Option<ArrayRef>> {
    if json.is_null() {
        return Ok(None);
    }
    match field_type {
        Type::Primitive(primitive) => {
            let value = PrimitiveValue::from_json(primitive, json)?;
            row_of_value(&value, primitive).map(Some)
        }
        Type::Struct(members) => row_of_struct(members, json, task).map(Some),
        Type::List(list) => row_of_list(list, json, task).map(Some),
        Type::Map(map) => row_of_map(map, json, task).map(Some),
        Type::Variant => Err(not_a_value(field_type, json)),
    }
}

/// A struct: members that the JSON does not give have their own defaults.
fn row_of_struct(members: &StructType, json: &Value, task: &FileScanTask) -> Result<ArrayRef> {
    let given = json
        .as_object()
        .ok_or_else(|| not_a_value(&Type::Struct(members.clone()), json))?;
    let rows = members
        .fields()
        .iter()
        .map(|field| {
            let row = match given.get(&field.id.to_string()) {
                Some(json) => row_of_json(&field.field_type, json, task)?,
                None => row(field, task)?,
            };
            Ok(or_null(row, &field.field_type))
        })
        .collect::<Result<Vec<_>>>()?;
    let array = StructArray::try_new_with_length(struct_fields(members), rows, None, 1)
        .map_err(|error| inconsistent(&error))?;
    Ok(Arc::new(array))
}

fn row_of_list(list: &ListType, json: &Value, task: &FileScanTask) -> Result<ArrayRef> {
    let items = json
        .as_array()
        .ok_or_else(|| not_a_value(&Type::List(list.clone()), json))?;
    let elements = rows_of_items(&list.element.field_type, items, task)?;
    let array = ListArray::try_new(
        arrow_field(&list.element),
        OffsetBuffer::from_lengths([elements.len()]),
        elements,
        None,
    )
    .map_err(|error| inconsistent(&error))?;
    Ok(Arc::new(array))
}

fn row_of_map(map: &MapType, json: &Value, task: &FileScanTask) -> Result<ArrayRef> {
    let items = |name: &str| {
        json.get(name)
            .and_then(Value::as_array)
            .ok_or_else(|| not_a_value(&Type::Map(map.clone()), json))
    };
    let keys = rows_of_items(&map.key.field_type, items("keys")?, task)?;
    let values = rows_of_items(&map.value.field_type, items("values")?, task)?;
    let entries_field = map_entries(map);
    let DataType::Struct(fields) = entries_field.data_type() else {
        return Err(Error::new(
            ErrorKind::Internal,
            "a map's entries are not a struct",
        ));
    };
    let length = keys.len();
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)
        .map_err(|error| inconsistent(&error))?;
    let array = MapArray::try_new(
        entries_field,
        OffsetBuffer::from_lengths([length]),
        entries,
        None,
        false,
    )
    .map_err(|error| inconsistent(&error))?;
    Ok(Arc::new(array))
}

/// The items of a JSON array, one after the other.
fn rows_of_items(field_type: &Type, items: &[Value], task: &FileScanTask) -> Result<ArrayRef> {
    let rows = items
        .iter()
        .map(|item| Ok(or_null(row_of_json(field_type, item, task)?, field_type)))
        .collect::<Result<Vec<_>>>()?;
    if rows.is_empty() {
        return Ok(new_null_array(&arrow_type(field_type), 0));
    }
    let rows: Vec<&dyn Array> = rows.iter().map(AsRef::as_ref).collect();
    concat(&rows).map_err(|error| inconsistent(&error))
}

fn or_null(row: Option<ArrayRef>, field_type: &Type) -> ArrayRef {
    row.unwrap_or_else(|| new_null_array(&arrow_type(field_type), 1))
}

/// A value as an array of one row, of the Arrow type that batches have for `primitive`.
pub fn row_of_value(value: &PrimitiveValue, primitive: &PrimitiveType) -> Result<ArrayRef> {
    let data_type = arrow_type(&Type::Primitive(primitive.clone()));
    let array: ArrayRef = match value {
        PrimitiveValue::Boolean(value) => Arc::new(BooleanArray::from(vec![*value])),
        PrimitiveValue::Int(value) => Arc::new(Int32Array::from(vec![*value])),
        PrimitiveValue::Long(value) => Arc::new(Int64Array::from(vec![*value])),
        PrimitiveValue::Float(value) => Arc::new(Float32Array::from(vec![*value])),
        PrimitiveValue::Double(value) => Arc::new(Float64Array::from(vec![*value])),
        PrimitiveValue::Decimal(unscaled) => {
            let PrimitiveType::Decimal { precision, .. } = primitive else {
                return Err(mistyped(value, primitive));
            };
            let limit = 10_u128.checked_pow(u32::from(*precision));
            if limit.is_some_and(|limit| unscaled.unsigned_abs() >= limit) {
                return Err(Error::new(
                    ErrorKind::OutOfRange,
                    format!("the unscaled value {unscaled} does not fit {primitive}"),
                ));
            }
            Arc::new(Decimal128Array::from(vec![*unscaled]).with_data_type(data_type.clone()))
        }
        PrimitiveValue::Date(days) => Arc::new(Date32Array::from(vec![*days])),
        PrimitiveValue::Time(micros) => Arc::new(Time64MicrosecondArray::from(vec![*micros])),
        PrimitiveValue::Timestamp(micros) => {
            Arc::new(TimestampMicrosecondArray::from(vec![*micros]))
        }
        PrimitiveValue::Timestamptz(micros) => {
            let zone = zone(&data_type);
            Arc::new(TimestampMicrosecondArray::from(vec![*micros]).with_timezone_opt(zone))
        }
        PrimitiveValue::TimestampNs(nanos) => {
            Arc::new(TimestampNanosecondArray::from(vec![*nanos]))
        }
        PrimitiveValue::TimestamptzNs(nanos) => {
            let zone = zone(&data_type);
            Arc::new(TimestampNanosecondArray::from(vec![*nanos]).with_timezone_opt(zone))
        }
        PrimitiveValue::String(text) => Arc::new(StringViewArray::from(vec![text.as_str()])),
        PrimitiveValue::Uuid(uuid) => fixed(uuid.as_bytes())?,
        PrimitiveValue::Fixed(bytes) => fixed(bytes)?,
        PrimitiveValue::Binary(bytes) => Arc::new(BinaryViewArray::from(vec![bytes.as_slice()])),
    };
    if array.data_type() == &data_type {
        Ok(array)
    } else {
        Err(mistyped(value, primitive))
    }
}

fn zone(data_type: &DataType) -> Option<Arc<str>> {
    match data_type {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    }
}

fn fixed(bytes: &[u8]) -> Result<ArrayRef> {
    FixedSizeBinaryArray::try_from_iter(std::iter::once(bytes))
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| inconsistent(&error))
}

fn mistyped(value: &PrimitiveValue, primitive: &PrimitiveType) -> Error {
    Error::new(
        ErrorKind::TypeMismatch,
        format!("the value {value:?} is none of type {primitive}"),
    )
}

fn not_a_value(field_type: &Type, json: &Value) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("the default {json} is no value of type {field_type}"),
    )
}

fn inconsistent(error: &ArrowError) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("a value that a file lacks cannot be made: {error}"),
    )
}
