//! Checks of many values at once. What they mean is said by [`Check::is_true_of`]; here a check's
//! values are made ready once for the Arrow arrays of one type. Spec: "Scan Planning".

use std::borrow::Borrow;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, FixedSizeBinaryArray, StringViewArray,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};

use super::array_values::{mistyped, numbers};
use crate::error::Result;
use crate::spec::{Check, Comparison, PrimitiveType, PrimitiveValue};

/// Up to so many values of a list are looked through one after the other.
const SHORT_LIST: usize = 8;

/// A check of arrays of one type.
#[derive(Debug, Clone)]
pub(super) enum ArrayCheck {
    /// Null.
    IsNull,
    /// Not null.
    NotNull,
    /// Nothing.
    Never,
    /// A float that is NaN, or that is not.
    Nan { wanted: bool },
    /// As values compare.
    Values(Values),
    /// As texts or bytes begin.
    Begins { prefix: Vec<u8>, wanted: bool },
}

/// The values that a check compares with, as arrays of its type have them.
#[derive(Debug, Clone)]
pub(super) enum Values {
    Boolean(Wanted<bool>),
    Int(Wanted<i32>),
    Date(Wanted<i32>),
    Long(Wanted<i64>),
    Time(Wanted<i64>),
    Microseconds(Wanted<i64>),
    Nanoseconds(Wanted<i64>),
    Decimal(Wanted<i128>),
    /// By their keys.
    Float(Wanted<i64>),
    Double(Wanted<i64>),
    Bytes(Wanted<Vec<u8>>),
}

/// Which values a check is true of.
#[derive(Debug, Clone)]
pub(super) enum Wanted<T> {
    Compare(Comparison, T),
    /// Those that are among these, in their order.
    Among(Vec<T>),
    /// All others.
    Others(Vec<T>),
}

/// How values are compared with those of a list.
#[derive(Debug, Clone, Copy)]
enum How {
    /// So, with the only one.
    Compared(Comparison),
    Among,
    Others,
}

/// An integer for each number that compares as the numbers do in Postgres: all NaN are one and the
/// greatest, and -0 is 0.
fn key(number: f64) -> i64 {
    if number.is_nan() {
        return i64::MAX;
    }
    // Adding 0 makes 0 of -0.
    let bits = (number + 0.0).to_bits().cast_signed();
    // The bits of negative numbers grow as the numbers fall.
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

impl ArrayCheck {
    /// Makes a check of values of a type ready; `None` for a type that cannot be compared.
    pub(super) fn new(check: &Check, value_type: &PrimitiveType) -> Option<Self> {
        Some(match check {
            Check::IsNull => Self::IsNull,
            Check::NotNull => Self::NotNull,
            Check::IsNan if is_float(value_type) => Self::Nan { wanted: true },
            Check::IsNan => Self::Never,
            Check::NotNan if is_float(value_type) => Self::Nan { wanted: false },
            Check::NotNan => Self::NotNull,
            // A value of another type is neither equal nor unequal.
            Check::Compare(comparison, value) => {
                let how = How::Compared(*comparison);
                values(value_type, std::slice::from_ref(value), how)?
                    .map_or(Self::Never, Self::Values)
            }
            Check::In(list) => {
                values(value_type, list, How::Among)?.map_or(Self::Never, Self::Values)
            }
            Check::NotIn(list) => {
                values(value_type, list, How::Others)?.map_or(Self::NotNull, Self::Values)
            }
            Check::StartsWith(prefix) => Self::begins(value_type, prefix, true),
            Check::NotStartsWith(prefix) => Self::begins(value_type, prefix, false),
        })
    }

    fn begins(value_type: &PrimitiveType, prefix: &PrimitiveValue, wanted: bool) -> Self {
        let prefix = match (value_type, prefix) {
            (PrimitiveType::String, PrimitiveValue::String(prefix)) => prefix.clone().into_bytes(),
            (value_type, PrimitiveValue::Binary(prefix) | PrimitiveValue::Fixed(prefix))
                if is_binary(value_type) =>
            {
                prefix.clone()
            }
            _ => return Self::Never,
        };
        Self::Begins { prefix, wanted }
    }

    /// Which values of an array it is true of.
    ///
    /// # Errors
    /// `Internal` for an array of another type.
    pub(super) fn holds(&self, array: &ArrayRef) -> Result<BooleanBuffer> {
        let nulls = array.logical_nulls();
        let nulls = nulls.as_ref();
        let rows = array.len();
        match self {
            Self::IsNull => Ok(match nulls {
                None => BooleanBuffer::new_unset(rows),
                Some(nulls) => !nulls.inner(),
            }),
            Self::NotNull => Ok(match nulls {
                None => BooleanBuffer::new_set(rows),
                Some(nulls) => nulls.inner().clone(),
            }),
            Self::Never => Ok(BooleanBuffer::new_unset(rows)),
            Self::Nan { wanted } => {
                let is_wanted = |number: f64| number.is_nan() == *wanted;
                let holds = if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
                    let floats = floats.values();
                    bits(rows, |row| is_wanted(floats[row].into()))
                } else {
                    let doubles = numbers::<Float64Type>(array)?;
                    bits(rows, |row| is_wanted(doubles[row]))
                };
                Ok(not_null(holds, nulls))
            }
            Self::Values(values) => Ok(not_null(values.hold(array)?, nulls)),
            Self::Begins { prefix, wanted } => {
                let bytes = Bytes::of(array)?;
                let holds = bytes.hold(rows, |value| value.starts_with(prefix) == *wanted);
                Ok(not_null(holds, nulls))
            }
        }
    }
}

/// The values of a list that are of a type, in their order, as arrays of the type have them:
/// `Some(None)` where none is, `None` for a type that cannot be compared.
fn values(value_type: &PrimitiveType, list: &[PrimitiveValue], how: How) -> Option<Option<Values>> {
    use PrimitiveType as P;
    use PrimitiveValue as V;
    macro_rules! of_type {
        ($values:ident, $($pattern:pat => $value:expr),+) => {{
            let mut found: Vec<_> = list
                .iter()
                .filter_map(|value| match value {
                    $($pattern => Some($value),)+
                    _ => None,
                })
                .collect();
            found.sort_unstable();
            found.dedup();
            Wanted::new(found, how).map(Values::$values)
        }};
    }
    Some(match value_type {
        P::Boolean => of_type!(Boolean, V::Boolean(value) => *value),
        P::Int => of_type!(Int, V::Int(value) => *value),
        P::Date => of_type!(Date, V::Date(value) => *value),
        P::Long => of_type!(Long, V::Long(value) => *value),
        P::Time => of_type!(Time, V::Time(value) => *value),
        P::Timestamp => of_type!(Microseconds, V::Timestamp(value) => *value),
        P::Timestamptz => of_type!(Microseconds, V::Timestamptz(value) => *value),
        P::TimestampNs => of_type!(Nanoseconds, V::TimestampNs(value) => *value),
        P::TimestamptzNs => of_type!(Nanoseconds, V::TimestamptzNs(value) => *value),
        P::Decimal { .. } => of_type!(Decimal, V::Decimal(value) => *value),
        P::Float => of_type!(Float, V::Float(value) => key((*value).into())),
        P::Double => of_type!(Double, V::Double(value) => key(*value)),
        P::String => of_type!(Bytes, V::String(value) => value.clone().into_bytes()),
        P::Uuid => of_type!(Bytes, V::Uuid(value) => value.as_bytes().to_vec()),
        P::Fixed(_) | P::Binary | P::Geometry { .. } | P::Geography { .. } => {
            of_type!(Bytes, V::Fixed(value) | V::Binary(value) => value.clone())
        }
        P::Unknown => return None,
    })
}

fn is_float(value_type: &PrimitiveType) -> bool {
    matches!(value_type, PrimitiveType::Float | PrimitiveType::Double)
}

fn is_binary(value_type: &PrimitiveType) -> bool {
    matches!(
        value_type,
        PrimitiveType::Fixed(_)
            | PrimitiveType::Binary
            | PrimitiveType::Geometry { .. }
            | PrimitiveType::Geography { .. }
    )
}

impl Values {
    /// Which values of an array are wanted; nulls count as whatever stands in their place.
    fn hold(&self, array: &ArrayRef) -> Result<BooleanBuffer> {
        let rows = array.len();
        match self {
            Self::Boolean(wanted) => {
                let array = array.as_boolean_opt().ok_or_else(|| mistyped(array))?;
                Ok(wanted.hold(rows, |row| if array.value(row) { &true } else { &false }))
            }
            Self::Int(wanted) => wanted.among_numbers(numbers::<Int32Type>(array)?),
            Self::Date(wanted) => wanted.among_numbers(numbers::<Date32Type>(array)?),
            Self::Long(wanted) => wanted.among_numbers(numbers::<Int64Type>(array)?),
            Self::Time(wanted) => wanted.among_numbers(numbers::<Time64MicrosecondType>(array)?),
            Self::Microseconds(wanted) => {
                wanted.among_numbers(numbers::<TimestampMicrosecondType>(array)?)
            }
            Self::Nanoseconds(wanted) => {
                wanted.among_numbers(numbers::<TimestampNanosecondType>(array)?)
            }
            Self::Decimal(wanted) => wanted.among_numbers(numbers::<Decimal128Type>(array)?),
            Self::Float(wanted) => {
                let keys: Vec<_> = numbers::<Float32Type>(array)?
                    .iter()
                    .map(|number| key((*number).into()))
                    .collect();
                wanted.among_numbers(&keys)
            }
            Self::Double(wanted) => {
                let keys: Vec<_> = numbers::<Float64Type>(array)?
                    .iter()
                    .map(|number| key(*number))
                    .collect();
                wanted.among_numbers(&keys)
            }
            Self::Bytes(wanted) => Ok(match Bytes::of(array)? {
                Bytes::Texts(array) => wanted.hold(rows, |row| array.value(row).as_bytes()),
                Bytes::Views(array) => wanted.hold(rows, |row| array.value(row)),
                Bytes::Fixed(array) => wanted.hold(rows, |row| array.value(row)),
            }),
        }
    }
}

impl<T: Ord> Wanted<T> {
    /// Compares with sorted values; `None` where there is none.
    fn new(mut values: Vec<T>, how: How) -> Option<Self> {
        match how {
            How::Compared(comparison) => Some(Self::Compare(comparison, values.pop()?)),
            _ if values.is_empty() => None,
            How::Among => Some(Self::Among(values)),
            How::Others => Some(Self::Others(values)),
        }
    }

    fn among_numbers(&self, numbers: &[T]) -> Result<BooleanBuffer> {
        Ok(self.hold(numbers.len(), |row| &numbers[row]))
    }

    /// Which of so many values are wanted.
    fn hold<'a, V>(&self, rows: usize, at: impl Fn(usize) -> &'a V) -> BooleanBuffer
    where
        T: Borrow<V>,
        V: Ord + ?Sized + 'a,
    {
        match self {
            Self::Compare(comparison, value) => {
                let value: &V = value.borrow();
                // One loop each, so that the compiler can make each a fast one.
                match comparison {
                    Comparison::Less => bits(rows, |row| at(row) < value),
                    Comparison::LessOrEqual => bits(rows, |row| at(row) <= value),
                    Comparison::Equal => bits(rows, |row| at(row) == value),
                    Comparison::NotEqual => bits(rows, |row| at(row) != value),
                    Comparison::GreaterOrEqual => bits(rows, |row| at(row) >= value),
                    Comparison::Greater => bits(rows, |row| at(row) > value),
                }
            }
            Self::Among(values) => bits(rows, |row| is_among(values, at(row))),
            Self::Others(values) => bits(rows, |row| !is_among(values, at(row))),
        }
    }
}

/// A bit for each row.
fn bits(rows: usize, is_set: impl Fn(usize) -> bool) -> BooleanBuffer {
    BooleanBuffer::collect_bool(rows, is_set)
}

/// Whether a value is among sorted ones.
fn is_among<T: Borrow<V>, V: Ord + ?Sized>(values: &[T], value: &V) -> bool {
    if values.len() <= SHORT_LIST {
        return values.iter().any(|one| one.borrow() == value);
    }
    values
        .binary_search_by(|one| one.borrow().cmp(value))
        .is_ok()
}

/// An array of texts or bytes.
enum Bytes<'a> {
    Texts(&'a StringViewArray),
    Views(&'a BinaryViewArray),
    Fixed(&'a FixedSizeBinaryArray),
}

impl<'a> Bytes<'a> {
    fn of(array: &'a ArrayRef) -> Result<Self> {
        if let Some(texts) = array.as_string_view_opt() {
            return Ok(Self::Texts(texts));
        }
        if let Some(views) = array.as_binary_view_opt() {
            return Ok(Self::Views(views));
        }
        array
            .as_fixed_size_binary_opt()
            .map(Self::Fixed)
            .ok_or_else(|| mistyped(array))
    }

    fn hold(&self, rows: usize, wanted: impl Fn(&[u8]) -> bool) -> BooleanBuffer {
        match self {
            Self::Texts(array) => bits(rows, |row| wanted(array.value(row).as_bytes())),
            Self::Views(array) => bits(rows, |row| wanted(array.value(row))),
            Self::Fixed(array) => bits(rows, |row| wanted(array.value(row))),
        }
    }
}

fn not_null(holds: BooleanBuffer, nulls: Option<&NullBuffer>) -> BooleanBuffer {
    match nulls {
        None => holds,
        Some(nulls) => &holds & nulls.inner(),
    }
}
