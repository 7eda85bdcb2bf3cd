//! One primitive column as it is decoded value by value: what a file may store for an Iceberg type,
//! and the array that grows. For Avro and ORC.
//! Spec: "Schema Evolution" (promotion); Appendix A "Avro" and "ORC".

use std::fmt;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewBuilder, BooleanArray, BooleanBufferBuilder, FixedSizeBinaryArray,
    NullArray, NullBufferBuilder, PrimitiveArray, StringViewBuilder,
};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};
use uuid::Uuid;

use super::arrow_types::arrow_type;
use crate::error::{Error, ErrorKind, Result};
use crate::spec::{PrimitiveType, Type};

/// What a file stores in a primitive column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredLeaf {
    /// Nothing but nulls.
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    /// Unscaled values of this scale.
    Decimal {
        scale: i64,
    },
    /// Days from 1970-01-01.
    Date,
    /// Units from midnight.
    Time(Unit),
    /// Units from 1970-01-01.
    Timestamp(Unit),
    Text,
    Bytes,
    Fixed(usize),
    /// A UUID as text.
    UuidText,
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Milli,
    Micro,
    Nano,
}

/// What a stored column becomes.
#[derive(Debug, Clone)]
pub(super) struct Target {
    step: Step,
    to: DataType,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Null,
    Boolean,
    Int,
    /// Values times the first over the second.
    Long(i64, i64),
    Float,
    Double,
    /// At most so many digits.
    Decimal(u8),
    Text,
    Bytes,
    Fixed(usize),
    Uuid,
}

impl Unit {
    fn nanoseconds(self) -> i64 {
        match self {
            Self::Milli => 1_000_000,
            Self::Micro => 1_000,
            Self::Nano => 1,
        }
    }
}

impl Target {
    /// How a stored column is read as an Iceberg type; `None` where it cannot be.
    pub(super) fn new(wanted: &PrimitiveType, stored: StoredLeaf) -> Option<Self> {
        const DAY: i64 = 86_400 * 1_000_000_000;
        let scaled = |from: i64, to: Unit| {
            let to = to.nanoseconds();
            if from >= to {
                Step::Long(from / to, 1)
            } else {
                Step::Long(1, to / from)
            }
        };
        let step = match (wanted, stored) {
            (_, StoredLeaf::Null) | (PrimitiveType::Unknown, _) => Step::Null,
            (PrimitiveType::Boolean, StoredLeaf::Boolean) => Step::Boolean,
            (PrimitiveType::Int, StoredLeaf::Int) | (PrimitiveType::Date, StoredLeaf::Date) => {
                Step::Int
            }
            (PrimitiveType::Long, StoredLeaf::Int | StoredLeaf::Long) => Step::Long(1, 1),
            (PrimitiveType::Float, StoredLeaf::Float) => Step::Float,
            (PrimitiveType::Double, StoredLeaf::Float | StoredLeaf::Double) => Step::Double,
            (
                PrimitiveType::Decimal { precision, scale },
                StoredLeaf::Decimal { scale: stored },
            ) if i64::from(*scale) == stored => Step::Decimal(*precision),
            (PrimitiveType::Time, StoredLeaf::Time(unit)) => {
                scaled(unit.nanoseconds(), Unit::Micro)
            }
            (
                PrimitiveType::Timestamp | PrimitiveType::Timestamptz,
                StoredLeaf::Timestamp(unit),
            ) => scaled(unit.nanoseconds(), Unit::Micro),
            (
                PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs,
                StoredLeaf::Timestamp(unit),
            ) => scaled(unit.nanoseconds(), Unit::Nano),
            (PrimitiveType::Timestamp, StoredLeaf::Date) => scaled(DAY, Unit::Micro),
            (PrimitiveType::TimestampNs, StoredLeaf::Date) => scaled(DAY, Unit::Nano),
            (PrimitiveType::String, StoredLeaf::Text) => Step::Text,
            (
                PrimitiveType::Binary
                | PrimitiveType::Geometry { .. }
                | PrimitiveType::Geography { .. },
                StoredLeaf::Bytes | StoredLeaf::Text,
            ) => Step::Bytes,
            (PrimitiveType::Uuid, StoredLeaf::Fixed(16) | StoredLeaf::Bytes) => Step::Fixed(16),
            (PrimitiveType::Uuid, StoredLeaf::UuidText) => Step::Uuid,
            (PrimitiveType::String, StoredLeaf::UuidText) => Step::Text,
            (PrimitiveType::Fixed(length), StoredLeaf::Fixed(stored))
                if usize::try_from(*length) == Ok(stored) =>
            {
                Step::Fixed(stored)
            }
            (PrimitiveType::Fixed(length), StoredLeaf::Bytes) => {
                Step::Fixed(usize::try_from(*length).ok()?)
            }
            _ => return None,
        };
        let to = arrow_type(&Type::Primitive(wanted.clone()));
        Some(Self { step, to })
    }

    /// The Arrow type that comes out.
    pub(super) fn data_type(&self) -> &DataType {
        &self.to
    }
}

/// A primitive array that grows.
#[derive(Debug)]
pub(super) struct LeafBuilder {
    target: Target,
    nulls: NullBufferBuilder,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Null(usize),
    Boolean(BooleanBufferBuilder),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Decimal(Vec<i128>),
    Text(StringViewBuilder),
    Bytes(BinaryViewBuilder),
    Fixed(Vec<u8>, usize),
}

impl LeafBuilder {
    /// An empty array.
    pub(super) fn new(target: &Target) -> Self {
        Self {
            values: Values::new(target.step),
            nulls: NullBufferBuilder::new(0),
            target: target.clone(),
        }
    }

    /// Whether values do not matter, because they become null.
    pub(super) fn is_null(&self) -> bool {
        matches!(self.values, Values::Null(_))
    }

    /// Appends a null.
    pub(super) fn push_null(&mut self) {
        match &mut self.values {
            Values::Null(length) => {
                *length += 1;
                return;
            }
            Values::Boolean(values) => values.append(false),
            Values::Int(values) => values.push(0),
            Values::Long(values) => values.push(0),
            Values::Float(values) => values.push(0.0),
            Values::Double(values) => values.push(0.0),
            Values::Decimal(values) => values.push(0),
            // These builders keep the nulls themselves.
            Values::Text(values) => return values.append_null(),
            Values::Bytes(values) => return values.append_null(),
            Values::Fixed(values, width) => values.resize(values.len() + *width, 0),
        }
        self.nulls.append_null();
    }

    /// Appends a boolean.
    pub(super) fn push_boolean(&mut self, value: bool) -> Result<()> {
        match &mut self.values {
            Values::Boolean(values) => values.append(value),
            _ => return self.push_other("a boolean"),
        }
        self.nulls.append_non_null();
        Ok(())
    }

    /// Appends a whole number, also one that means a date or a time.
    pub(super) fn push_integer(&mut self, value: i64) -> Result<()> {
        match &mut self.values {
            Values::Int(values) => values.push(
                i32::try_from(value)
                    .map_err(|_| corrupt(format!("the value {value} does not fit 32 bits")))?,
            ),
            Values::Long(values) => {
                let Step::Long(numerator, denominator) = self.target.step else {
                    return self.push_other("a whole number");
                };
                let scaled = if denominator == 1 {
                    value.checked_mul(numerator)
                } else {
                    Some(value.div_euclid(denominator))
                };
                values.push(scaled.ok_or_else(|| {
                    Error::new(
                        ErrorKind::OutOfRange,
                        format!("{value} times {numerator} does not fit 64 bits"),
                    )
                })?);
            }
            _ => return self.push_other("a whole number"),
        }
        self.nulls.append_non_null();
        Ok(())
    }

    /// Appends a point in time: seconds from 1970-01-01 and nanoseconds after.
    pub(super) fn push_instant(&mut self, seconds: i64, nanoseconds: u32) -> Result<()> {
        let DataType::Timestamp(unit, _) = &self.target.to else {
            return self.push_other("a timestamp");
        };
        let (a_second, fraction) = match unit {
            TimeUnit::Nanosecond => (1_000_000_000, i64::from(nanoseconds)),
            _ => (1_000_000, i64::from(nanoseconds / 1_000)),
        };
        // Before 1970 the product alone may reach below what the sum does not.
        let value = i128::from(seconds) * i128::from(a_second) + i128::from(fraction);
        let value = i64::try_from(value).map_err(|_| {
            Error::new(
                ErrorKind::OutOfRange,
                format!("the timestamp of second {seconds} does not fit 64 bits"),
            )
        })?;
        match &mut self.values {
            Values::Long(values) => values.push(value),
            _ => return self.push_other("a timestamp"),
        }
        self.nulls.append_non_null();
        Ok(())
    }

    /// Appends a float.
    pub(super) fn push_float(&mut self, value: f32) -> Result<()> {
        match &mut self.values {
            Values::Float(values) => values.push(value),
            Values::Double(values) => values.push(f64::from(value)),
            _ => return self.push_other("a float"),
        }
        self.nulls.append_non_null();
        Ok(())
    }

    /// Appends a double.
    pub(super) fn push_double(&mut self, value: f64) -> Result<()> {
        match &mut self.values {
            Values::Double(values) => values.push(value),
            _ => return self.push_other("a double"),
        }
        self.nulls.append_non_null();
        Ok(())
    }

    /// Appends an unscaled decimal.
    pub(super) fn push_decimal(&mut self, value: i128) -> Result<()> {
        let (Values::Decimal(values), Step::Decimal(precision)) =
            (&mut self.values, self.target.step)
        else {
            return self.push_other("a decimal");
        };
        let limit = 10_i128
            .checked_pow(u32::from(precision))
            .unwrap_or(i128::MAX);
        if value <= -limit || limit <= value {
            return Err(Error::new(
                ErrorKind::OutOfRange,
                format!("unscaled decimal {value} has more than {precision} digits"),
            ));
        }
        values.push(value);
        self.nulls.append_non_null();
        Ok(())
    }

    /// Appends bytes: text, binary, fixed, or what these stand for.
    pub(super) fn push_bytes(&mut self, value: &[u8]) -> Result<()> {
        match (&mut self.values, self.target.step) {
            (Values::Text(values), _) => {
                let text = std::str::from_utf8(value).map_err(|error| {
                    Error::new(
                        ErrorKind::InvalidText,
                        format!("text is not valid UTF-8: {error}"),
                    )
                })?;
                values
                    .try_append_value(text)
                    .map_err(|error| corrupt(error.to_string()))?;
                return Ok(());
            }
            (Values::Bytes(values), _) => {
                values
                    .try_append_value(value)
                    .map_err(|error| corrupt(error.to_string()))?;
                return Ok(());
            }
            (Values::Fixed(values, _), Step::Uuid) => {
                let uuid = Uuid::try_parse_ascii(value)
                    .map_err(|error| corrupt(format!("a text is no UUID: {error}")))?;
                values.extend_from_slice(uuid.as_bytes());
            }
            (Values::Fixed(values, width), _) => {
                if value.len() != *width {
                    return Err(corrupt(format!(
                        "a value has {} bytes where {width} belong",
                        value.len()
                    )));
                }
                values.extend_from_slice(value);
            }
            (Values::Decimal(_), _) => return self.push_decimal(big_endian(value)?),
            _ => return self.push_other("bytes"),
        }
        self.nulls.append_non_null();
        Ok(())
    }

    /// A value of a type that was not planned.
    fn push_other(&mut self, what: &str) -> Result<()> {
        if self.is_null() {
            self.push_null();
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Internal,
            format!("decoded {what} where {} was planned", self.target.to),
        ))
    }

    /// Takes the array, and begins another.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        let values = std::mem::replace(&mut self.values, Values::new(self.target.step));
        let nulls = self.nulls.finish();
        values.finish(&self.target.to, nulls)
    }
}

impl Values {
    fn new(step: Step) -> Self {
        match step {
            Step::Null => Self::Null(0),
            Step::Boolean => Self::Boolean(BooleanBufferBuilder::new(0)),
            Step::Int => Self::Int(Vec::new()),
            Step::Long(..) => Self::Long(Vec::new()),
            Step::Float => Self::Float(Vec::new()),
            Step::Double => Self::Double(Vec::new()),
            Step::Decimal(_) => Self::Decimal(Vec::new()),
            Step::Text => Self::Text(StringViewBuilder::new()),
            Step::Bytes => Self::Bytes(BinaryViewBuilder::new()),
            Step::Fixed(width) => Self::Fixed(Vec::new(), width),
            Step::Uuid => Self::Fixed(Vec::new(), 16),
        }
    }

    fn finish(self, to: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        Ok(match (self, to) {
            (Self::Null(length), DataType::Null) => Arc::new(NullArray::new(length)),
            (Self::Null(length), _) => arrow::array::new_null_array(to, length),
            (Self::Boolean(mut values), _) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            (Self::Int(values), DataType::Date32) => {
                Arc::new(PrimitiveArray::<Date32Type>::new(values.into(), nulls))
            }
            (Self::Int(values), _) => {
                Arc::new(PrimitiveArray::<Int32Type>::new(values.into(), nulls))
            }
            (Self::Long(values), DataType::Time64(_)) => Arc::new(PrimitiveArray::<
                Time64MicrosecondType,
            >::new(
                values.into(), nulls
            )),
            (Self::Long(values), DataType::Timestamp(TimeUnit::Nanosecond, zone)) => Arc::new(
                PrimitiveArray::<TimestampNanosecondType>::new(values.into(), nulls)
                    .with_timezone_opt(zone.clone()),
            ),
            (Self::Long(values), DataType::Timestamp(_, zone)) => Arc::new(
                PrimitiveArray::<TimestampMicrosecondType>::new(values.into(), nulls)
                    .with_timezone_opt(zone.clone()),
            ),
            (Self::Long(values), _) => {
                Arc::new(PrimitiveArray::<Int64Type>::new(values.into(), nulls))
            }
            (Self::Float(values), _) => {
                Arc::new(PrimitiveArray::<Float32Type>::new(values.into(), nulls))
            }
            (Self::Double(values), _) => {
                Arc::new(PrimitiveArray::<Float64Type>::new(values.into(), nulls))
            }
            (Self::Decimal(values), _) => Arc::new(
                PrimitiveArray::<Decimal128Type>::new(values.into(), nulls)
                    .with_data_type(to.clone()),
            ),
            (Self::Text(mut values), _) => Arc::new(values.finish()),
            (Self::Bytes(mut values), _) => Arc::new(values.finish()),
            (Self::Fixed(values, width), _) => {
                let width = i32::try_from(width)
                    .map_err(|_| corrupt("a fixed type is too long".to_owned()))?;
                Arc::new(
                    FixedSizeBinaryArray::try_new(width, Buffer::from(values), nulls)
                        .map_err(|error| corrupt(error.to_string()))?,
                )
            }
        })
    }
}

/// An integer of any length up to 16 significant bytes, in two's complement.
fn big_endian(bytes: &[u8]) -> Result<i128> {
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    let sign = if negative { 0xff } else { 0 };
    let (padding, rest) = bytes.split_at(bytes.len().saturating_sub(16));
    let rest_is_negative = rest.first().is_some_and(|first| first & 0x80 != 0);
    if padding.iter().any(|byte| *byte != sign)
        || (!padding.is_empty() && rest_is_negative != negative)
    {
        return Err(Error::new(
            ErrorKind::OutOfRange,
            format!("an unscaled decimal of {} bytes is too large", bytes.len()),
        ));
    }
    let mut padded = [sign; 16];
    for (to, from) in padded.iter_mut().rev().zip(rest.iter().rev()) {
        *to = *from;
    }
    Ok(i128::from_be_bytes(padded))
}

fn corrupt(what: String) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}

impl fmt::Display for StoredLeaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean => f.write_str("boolean"),
            Self::Int => f.write_str("int"),
            Self::Long => f.write_str("long"),
            Self::Float => f.write_str("float"),
            Self::Double => f.write_str("double"),
            Self::Decimal { scale } => write!(f, "a decimal of scale {scale}"),
            Self::Date => f.write_str("date"),
            Self::Time(_) => f.write_str("time"),
            Self::Timestamp(_) => f.write_str("timestamp"),
            Self::Text => f.write_str("string"),
            Self::Bytes => f.write_str("binary"),
            Self::Fixed(length) => write!(f, "fixed[{length}]"),
            Self::UuidText => f.write_str("a uuid as text"),
        }
    }
}
