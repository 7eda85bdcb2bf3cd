//! What transforms make of many values at once; each value by [`Transform::apply`].
//! Spec: "Partition Transforms".

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryViewBuilder, PrimitiveArray, StringViewBuilder,
    new_null_array,
};
use arrow::datatypes::{Date32Type, Decimal128Type, Int32Type, Int64Type};

use super::array_values::{mistyped, values_of};
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
    match transform {
        Transform::Identity => return Ok(Arc::clone(array)),
        Transform::Void => {
            let data_type = arrow_type(&Type::Primitive(value_type.clone()));
            return Ok(new_null_array(&data_type, array.len()));
        }
        _ => {}
    }
    let values = values_of(value_type, array)?;
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
