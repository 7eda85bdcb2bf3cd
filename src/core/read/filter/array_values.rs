//! Single values out of Arrow arrays, in the form that predicates have them.
//! Nothing in the spec.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use uuid::Uuid;

use crate::error::{Error, ErrorKind, Result};
use crate::spec::{PrimitiveType, PrimitiveValue};

/// What gives the value in a row; that of a null means nothing.
pub(super) type ValueOf<'a> = Box<dyn Fn(usize) -> PrimitiveValue + 'a>;

/// The values of an array of the type that batches have for `value_type`.
///
/// # Errors
/// `Internal` for an array of another type.
pub(super) fn values_of<'a>(
    value_type: &PrimitiveType,
    array: &'a ArrayRef,
) -> Result<ValueOf<'a>> {
    use PrimitiveType as P;
    use PrimitiveValue as V;
    macro_rules! numbers {
        ($kind:ty, $value:path) => {{
            let numbers = numbers::<$kind>(array)?;
            Box::new(move |row| $value(numbers[row]))
        }};
    }
    let fixed = || {
        array
            .as_fixed_size_binary_opt()
            .ok_or_else(|| mistyped(array))
    };
    Ok(match value_type {
        P::Boolean => {
            let values = array.as_boolean_opt().ok_or_else(|| mistyped(array))?;
            Box::new(|row| V::Boolean(values.value(row)))
        }
        P::Int => numbers!(Int32Type, V::Int),
        P::Long => numbers!(Int64Type, V::Long),
        P::Float => numbers!(Float32Type, V::Float),
        P::Double => numbers!(Float64Type, V::Double),
        P::Decimal { .. } => numbers!(Decimal128Type, V::Decimal),
        P::Date => numbers!(Date32Type, V::Date),
        P::Time => numbers!(Time64MicrosecondType, V::Time),
        P::Timestamp => numbers!(TimestampMicrosecondType, V::Timestamp),
        P::Timestamptz => numbers!(TimestampMicrosecondType, V::Timestamptz),
        P::TimestampNs => numbers!(TimestampNanosecondType, V::TimestampNs),
        P::TimestamptzNs => numbers!(TimestampNanosecondType, V::TimestamptzNs),
        P::String => {
            let texts = array.as_string_view_opt().ok_or_else(|| mistyped(array))?;
            Box::new(|row| V::String(texts.value(row).to_owned()))
        }
        P::Binary | P::Geometry { .. } | P::Geography { .. } => {
            let bytes = array.as_binary_view_opt().ok_or_else(|| mistyped(array))?;
            Box::new(|row| V::Binary(bytes.value(row).to_vec()))
        }
        P::Fixed(_) => {
            let bytes = fixed()?;
            Box::new(|row| V::Fixed(bytes.value(row).to_vec()))
        }
        P::Uuid => {
            let bytes = fixed()?;
            if bytes.value_length() != 16 {
                return Err(mistyped(array));
            }
            Box::new(|row| V::Uuid(Uuid::from_slice(bytes.value(row)).unwrap_or_default()))
        }
        P::Unknown => return Err(mistyped(array)),
    })
}

/// The numbers of an array, those of nulls too.
pub(super) fn numbers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&[T::Native]> {
    let array: &PrimitiveArray<T> = array.as_primitive_opt().ok_or_else(|| mistyped(array))?;
    Ok(array.values())
}

pub(super) fn mistyped(array: &ArrayRef) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!(
            "a filter was made for another type than {}",
            array.data_type()
        ),
    )
}

/// The only value of an array; `None` for null.
pub(in crate::read) fn value_in(
    value_type: &PrimitiveType,
    array: &ArrayRef,
) -> Option<PrimitiveValue> {
    if array.is_empty() || array.is_null(0) {
        return None;
    }
    values_of(value_type, array).ok().map(|values| values(0))
}
