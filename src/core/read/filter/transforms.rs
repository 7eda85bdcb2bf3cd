//! What transforms make of many values at once; each value by [`Transform::apply`].
//! Spec: "Partition Transforms".

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, new_null_array};
use arrow::array::{BinaryViewBuilder, StringViewBuilder};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use uuid::Uuid;

use crate::error::{Error, ErrorKind, Result};
use crate::read::arrow_types::arrow_type;
use crate::spec::{PrimitiveType, PrimitiveValue, Transform, Type};

/// The transformed values of an array of a type that the transform accepts.
///
/// # Errors
/// `OutOfRange` for a value without an answer, `Internal` for an array of another type.
pub(super) fn transformed(
    transform: &Transform,
    value_type: &PrimitiveType,
    array: &ArrayRef,
) -> Result<ArrayRef> {
    let values: &dyn Fn(usize) -> PrimitiveValue = match value_type {
        _ if *transform == Transform::Identity => return Ok(Arc::clone(array)),
        _ if *transform == Transform::Void => {
            let data_type = arrow_type(&Type::Primitive(value_type.clone()));
            return Ok(new_null_array(&data_type, array.len()));
        }
        PrimitiveType::Int => {
            let numbers = numbers::<Int32Type>(array)?;
            &move |row| PrimitiveValue::Int(numbers[row])
        }
        PrimitiveType::Date => {
            let numbers = numbers::<Date32Type>(array)?;
            &move |row| PrimitiveValue::Date(numbers[row])
        }
        PrimitiveType::Long => {
            let numbers = numbers::<Int64Type>(array)?;
            &move |row| PrimitiveValue::Long(numbers[row])
        }
        PrimitiveType::Time => {
            let numbers = numbers::<Time64MicrosecondType>(array)?;
            &move |row| PrimitiveValue::Time(numbers[row])
        }
        PrimitiveType::Timestamp | PrimitiveType::Timestamptz => {
            let numbers = numbers::<TimestampMicrosecondType>(array)?;
            &move |row| PrimitiveValue::Timestamp(numbers[row])
        }
        PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => {
            let numbers = numbers::<TimestampNanosecondType>(array)?;
            &move |row| PrimitiveValue::TimestampNs(numbers[row])
        }
        PrimitiveType::Decimal { .. } => {
            let numbers = numbers::<Decimal128Type>(array)?;
            &move |row| PrimitiveValue::Decimal(numbers[row])
        }
        PrimitiveType::String => {
            let texts = array.as_string_view_opt().ok_or_else(|| mistyped(array))?;
            &move |row| PrimitiveValue::String(texts.value(row).to_owned())
        }
        PrimitiveType::Binary => {
            let bytes = array.as_binary_view_opt().ok_or_else(|| mistyped(array))?;
            &move |row| PrimitiveValue::Binary(bytes.value(row).to_vec())
        }
        PrimitiveType::Fixed(_) => {
            let bytes = array
                .as_fixed_size_binary_opt()
                .ok_or_else(|| mistyped(array))?;
            &move |row| PrimitiveValue::Fixed(bytes.value(row).to_vec())
        }
        PrimitiveType::Uuid => {
            let bytes = array
                .as_fixed_size_binary_opt()
                .ok_or_else(|| mistyped(array))?;
            &move |row| PrimitiveValue::Uuid(Uuid::from_slice(bytes.value(row)).unwrap_or_default())
        }
        _ => return Err(mistyped(array)),
    };
    let of_row = |row: usize| {
        if array.is_null(row) {
            return Ok(None);
        }
        let value = values(row);
        transform.apply(&value).map(Some).ok_or_else(|| {
            Error::new(
                ErrorKind::OutOfRange,
                format!("{transform} of a {value_type} is out of range"),
            )
        })
    };
    let rows = array.len();
    match transform.result_type(value_type) {
        PrimitiveType::Int => collect::<Int32Type>(rows, of_row, |value| match value {
            PrimitiveValue::Int(value) => Some(value),
            _ => None,
        }),
        PrimitiveType::Date => collect::<Date32Type>(rows, of_row, |value| match value {
            PrimitiveValue::Date(value) => Some(value),
            _ => None,
        }),
        PrimitiveType::Long => collect::<Int64Type>(rows, of_row, |value| match value {
            PrimitiveValue::Long(value) => Some(value),
            _ => None,
        }),
        PrimitiveType::Decimal { .. } => {
            collect::<Decimal128Type>(rows, of_row, |value| match value {
                PrimitiveValue::Decimal(value) => Some(value),
                _ => None,
            })
        }
        PrimitiveType::String => {
            let mut texts = StringViewBuilder::with_capacity(rows);
            for row in 0..rows {
                match of_row(row)? {
                    Some(PrimitiveValue::String(text)) => texts.append_value(text),
                    _ => texts.append_null(),
                }
            }
            Ok(Arc::new(texts.finish()))
        }
        PrimitiveType::Binary => {
            let mut all = BinaryViewBuilder::with_capacity(rows);
            for row in 0..rows {
                match of_row(row)? {
                    Some(PrimitiveValue::Binary(bytes)) => all.append_value(bytes),
                    _ => all.append_null(),
                }
            }
            Ok(Arc::new(all.finish()))
        }
        _ => Err(mistyped(array)),
    }
}

fn collect<T: ArrowPrimitiveType>(
    rows: usize,
    of_row: impl Fn(usize) -> Result<Option<PrimitiveValue>>,
    native: impl Fn(PrimitiveValue) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let values = (0..rows)
        .map(|row| Ok(of_row(row)?.and_then(&native)))
        .collect::<Result<PrimitiveArray<T>>>()?;
    Ok(Arc::new(values))
}

fn numbers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&[T::Native]> {
    let array: &PrimitiveArray<T> = array.as_primitive_opt().ok_or_else(|| mistyped(array))?;
    Ok(array.values())
}

fn mistyped(array: &ArrayRef) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("a transform cannot be made of {}", array.data_type()),
    )
}
