//! One primitive column of a file: whether it can be read as an Iceberg type, how it is decoded,
//! and how the decoded array becomes the type's own. Spec: "Schema Evolution" (promotion),
//! Appendix A "Parquet".

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, new_null_array};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type,
    Float64Type, Int32Type, Int64Type, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampNanosecondType,
};
use parquet::basic::{
    ConvertedType, LogicalType, Repetition, TimeUnit as ParquetTimeUnit, Type as PhysicalType,
};
use parquet::schema::types::{Type as ParquetType, TypePtr};

use super::arrow_types::arrow_type;
use crate::error::{Error, ErrorKind, Result};
use crate::spec::{PrimitiveType, Type};

const MICROSECONDS_A_DAY: i64 = 86_400_000_000;
const NANOSECONDS_A_DAY: i64 = 86_400_000_000_000;
/// The widest decimal that can be decoded.
const MAX_DECIMAL_BYTES: i32 = 32;
/// The longest values of fixed length that are decoded: a null takes as much memory as a value, but
/// nothing in the file.
const MAX_FIXED_BYTES: i32 = 1 << 24;

/// How a decoded array becomes an array of the Iceberg type.
#[derive(Debug, Clone)]
pub(super) struct Conversion {
    pub(super) step: Step,
    /// The Arrow type that comes out.
    to: DataType,
}

/// What must be done to a decoded array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Decoded as it is wanted.
    Keep,
    /// Whatever was decoded, it means null.
    Null,
    /// 32 signed bits to a date.
    Date,
    /// 32 signed bits become 64.
    Widen,
    /// 32 unsigned bits become 64.
    WidenUnsigned,
    /// Unsigned bits that must fit the signed type of the same width.
    Unsigned,
    /// A float becomes a double.
    Double,
    /// Unscaled values of any width become 128 bits, at most so many digits.
    Decimal { precision: u8 },
    /// A 64-bit (or, for times, 32-bit) count of units, each worth `numerator / denominator` of
    /// the unit wanted.
    Rescale { numerator: i64, denominator: i64 },
}

/// The annotation of a Parquet column, from its logical type, else from its converted type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Annotation {
    None,
    Integer { unsigned: bool },
    Decimal { precision: i32, scale: i32 },
    Date,
    Time(Unit),
    Timestamp(Unit),
    Text,
    Bytes,
    Uuid,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Milli,
    Micro,
    Nano,
}

/// How a Parquet column is decoded for an Iceberg type: the column's type as the decoder is told
/// it, and the conversion of what it decodes. `None` where the file's type cannot be read as the
/// Iceberg type.
pub(super) fn plan(wanted: &PrimitiveType, stored: &ParquetType) -> Option<(TypePtr, Conversion)> {
    let ParquetType::PrimitiveType {
        physical_type,
        type_length,
        ..
    } = stored
    else {
        return None;
    };
    let annotation = annotation(stored);
    // Most columns are decoded by their physical type alone: the conversion gives the meaning.
    let (decoded, step) = match (wanted, *physical_type, annotation) {
        (PrimitiveType::Boolean, PhysicalType::BOOLEAN, Annotation::None) => {
            (plain(stored)?, Step::Keep)
        }
        (
            PrimitiveType::Int,
            PhysicalType::INT32,
            Annotation::None | Annotation::Integer { unsigned: false },
        )
        | (
            PrimitiveType::Long,
            PhysicalType::INT64,
            Annotation::None | Annotation::Integer { unsigned: false },
        )
        | (PrimitiveType::Float, PhysicalType::FLOAT, Annotation::None)
        | (PrimitiveType::Double, PhysicalType::DOUBLE, Annotation::None) => {
            (plain(stored)?, Step::Keep)
        }
        (
            PrimitiveType::Long,
            PhysicalType::INT32,
            Annotation::None | Annotation::Integer { unsigned: false },
        ) => (plain(stored)?, Step::Widen),
        (PrimitiveType::Long, PhysicalType::INT32, Annotation::Integer { unsigned: true }) => {
            (plain(stored)?, Step::WidenUnsigned)
        }
        (PrimitiveType::Int, PhysicalType::INT32, Annotation::Integer { unsigned: true })
        | (PrimitiveType::Long, PhysicalType::INT64, Annotation::Integer { unsigned: true }) => {
            (plain(stored)?, Step::Unsigned)
        }
        (PrimitiveType::Double, PhysicalType::FLOAT, Annotation::None) => {
            (plain(stored)?, Step::Double)
        }
        (
            PrimitiveType::Decimal { precision, scale },
            physical,
            Annotation::Decimal {
                scale: stored_scale,
                precision: _,
            },
        ) if i32::from(*scale) == stored_scale => {
            let decoded = match physical {
                PhysicalType::INT32 | PhysicalType::INT64 => plain(stored)?,
                PhysicalType::FIXED_LEN_BYTE_ARRAY if *type_length > MAX_DECIMAL_BYTES => {
                    return None;
                }
                _ => Arc::new(stored.clone()),
            };
            (
                decoded,
                Step::Decimal {
                    precision: *precision,
                },
            )
        }
        (PrimitiveType::Date, PhysicalType::INT32, Annotation::Date) => {
            (plain(stored)?, Step::Date)
        }
        (
            PrimitiveType::Time,
            PhysicalType::INT32 | PhysicalType::INT64,
            Annotation::Time(unit),
        ) => (plain(stored)?, rescale(unit, Unit::Micro)),
        (
            PrimitiveType::Timestamp | PrimitiveType::Timestamptz,
            PhysicalType::INT64,
            Annotation::Timestamp(unit),
        ) => (plain(stored)?, rescale(unit, Unit::Micro)),
        (
            PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs,
            PhysicalType::INT64,
            Annotation::Timestamp(unit),
        ) => (plain(stored)?, rescale(unit, Unit::Nano)),
        (
            PrimitiveType::Timestamp | PrimitiveType::Timestamptz,
            PhysicalType::INT96,
            Annotation::None,
        ) => (plain(stored)?, Step::Keep),
        (PrimitiveType::Timestamp, PhysicalType::INT32, Annotation::Date) => (
            plain(stored)?,
            Step::Rescale {
                numerator: MICROSECONDS_A_DAY,
                denominator: 1,
            },
        ),
        (PrimitiveType::TimestampNs, PhysicalType::INT32, Annotation::Date) => (
            plain(stored)?,
            Step::Rescale {
                numerator: NANOSECONDS_A_DAY,
                denominator: 1,
            },
        ),
        (PrimitiveType::String, PhysicalType::BYTE_ARRAY, Annotation::None | Annotation::Text) => {
            (text(stored)?, Step::Keep)
        }
        (
            PrimitiveType::Binary
            | PrimitiveType::Geometry { .. }
            | PrimitiveType::Geography { .. },
            PhysicalType::BYTE_ARRAY,
            Annotation::None | Annotation::Text | Annotation::Bytes,
        ) => (plain(stored)?, Step::Keep),
        (
            PrimitiveType::Uuid,
            PhysicalType::FIXED_LEN_BYTE_ARRAY,
            Annotation::None | Annotation::Uuid,
        ) if *type_length == 16 => (plain(stored)?, Step::Keep),
        (
            PrimitiveType::Fixed(length),
            PhysicalType::FIXED_LEN_BYTE_ARRAY,
            Annotation::None | Annotation::Uuid,
        ) if i64::from(*type_length) == i64::from(*length) => (plain(stored)?, Step::Keep),
        (PrimitiveType::Unknown, _, _) => (plain(stored)?, Step::Null),
        _ => return None,
    };
    let to = arrow_type(&Type::Primitive(wanted.clone()));
    Some((decoded, Conversion { step, to }))
}

/// A column that is decoded only for where its values are, not for what they are.
pub(super) fn plain(stored: &ParquetType) -> Option<TypePtr> {
    rebuild(stored, None)
}

fn text(stored: &ParquetType) -> Option<TypePtr> {
    rebuild(stored, Some(LogicalType::String))
}

/// The same physical column with another annotation.
fn rebuild(stored: &ParquetType, annotation: Option<LogicalType>) -> Option<TypePtr> {
    let ParquetType::PrimitiveType {
        basic_info,
        physical_type,
        type_length,
        ..
    } = stored
    else {
        return None;
    };
    if *type_length > MAX_FIXED_BYTES {
        return None;
    }
    ParquetType::primitive_type_builder(basic_info.name(), *physical_type)
        .with_repetition(repetition(stored))
        .with_length(*type_length)
        .with_logical_type(annotation)
        .build()
        .ok()
        .map(Arc::new)
}

/// The repetition of a field; the root of a schema has none and counts as required.
pub(super) fn repetition(stored: &ParquetType) -> Repetition {
    let info = stored.get_basic_info();
    if info.has_repetition() {
        info.repetition()
    } else {
        Repetition::REQUIRED
    }
}

/// A Parquet column's type as a person would write it: `INT64 (TIMESTAMP_MICROS)`.
pub(super) fn describe(stored: &ParquetType) -> String {
    let info = stored.get_basic_info();
    let structure = match stored {
        ParquetType::GroupType { .. } => "group".to_owned(),
        ParquetType::PrimitiveType {
            physical_type,
            type_length,
            ..
        } if *physical_type == PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            format!("{physical_type}({type_length})")
        }
        ParquetType::PrimitiveType { physical_type, .. } => physical_type.to_string(),
    };
    let annotation = match (annotation(stored), info.converted_type()) {
        (Annotation::Decimal { precision, scale }, _) => {
            format!(" (DECIMAL({precision}, {scale}))")
        }
        (_, ConvertedType::NONE) => match info.logical_type_ref() {
            None => String::new(),
            Some(logical) => format!(" ({logical:?})"),
        },
        (_, converted) => format!(" ({converted})"),
    };
    let repeated = if repetition(stored) == Repetition::REPEATED {
        "repeated "
    } else {
        ""
    };
    format!("{repeated}{structure}{annotation}")
}

fn annotation(stored: &ParquetType) -> Annotation {
    let info = stored.get_basic_info();
    if let Some(logical) = info.logical_type_ref() {
        return match logical {
            LogicalType::Integer(integer) => Annotation::Integer {
                // Narrower unsigned values fit the signed physical type as they are.
                unsigned: !integer.is_signed && integer.bit_width >= 32,
            },
            LogicalType::Decimal(decimal) => Annotation::Decimal {
                precision: decimal.precision,
                scale: decimal.scale,
            },
            LogicalType::Date => Annotation::Date,
            LogicalType::Time(time) => Annotation::Time(unit(&time.unit)),
            LogicalType::Timestamp(timestamp) => Annotation::Timestamp(unit(&timestamp.unit)),
            LogicalType::String | LogicalType::Enum | LogicalType::Json => Annotation::Text,
            LogicalType::Bson | LogicalType::Geometry(_) | LogicalType::Geography(_) => {
                Annotation::Bytes
            }
            LogicalType::Uuid => Annotation::Uuid,
            _ => Annotation::Other,
        };
    }
    match info.converted_type() {
        ConvertedType::NONE => Annotation::None,
        ConvertedType::INT_8
        | ConvertedType::INT_16
        | ConvertedType::INT_32
        | ConvertedType::INT_64
        | ConvertedType::UINT_8
        | ConvertedType::UINT_16 => Annotation::Integer { unsigned: false },
        ConvertedType::UINT_32 | ConvertedType::UINT_64 => Annotation::Integer { unsigned: true },
        ConvertedType::DECIMAL => Annotation::Decimal {
            precision: stored.get_precision(),
            scale: stored.get_scale(),
        },
        ConvertedType::DATE => Annotation::Date,
        ConvertedType::TIME_MILLIS => Annotation::Time(Unit::Milli),
        ConvertedType::TIME_MICROS => Annotation::Time(Unit::Micro),
        ConvertedType::TIMESTAMP_MILLIS => Annotation::Timestamp(Unit::Milli),
        ConvertedType::TIMESTAMP_MICROS => Annotation::Timestamp(Unit::Micro),
        ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => Annotation::Text,
        ConvertedType::BSON => Annotation::Bytes,
        _ => Annotation::Other,
    }
}

fn unit(unit: &ParquetTimeUnit) -> Unit {
    match unit {
        ParquetTimeUnit::MILLIS => Unit::Milli,
        ParquetTimeUnit::MICROS => Unit::Micro,
        ParquetTimeUnit::NANOS => Unit::Nano,
    }
}

fn rescale(from: Unit, to: Unit) -> Step {
    let nanoseconds = |unit| match unit {
        Unit::Milli => 1_000_000,
        Unit::Micro => 1_000,
        Unit::Nano => 1,
    };
    let (from, to) = (nanoseconds(from), nanoseconds(to));
    if from >= to {
        Step::Rescale {
            numerator: from / to,
            denominator: 1,
        }
    } else {
        Step::Rescale {
            numerator: 1,
            denominator: to / from,
        }
    }
}

impl Conversion {
    /// For what is decoded as the Arrow type that is wanted.
    pub(super) fn none(to: DataType) -> Self {
        Self {
            step: Step::Keep,
            to,
        }
    }

    /// The array as the Iceberg type wants it.
    ///
    /// # Errors
    /// `OutOfRange` for a value that the type cannot hold.
    pub(super) fn apply(&self, array: &ArrayRef) -> Result<ArrayRef> {
        match self.step {
            Step::Keep => self.keep(array),
            Step::Null => Ok(new_null_array(&self.to, array.len())),
            Step::Date => {
                let days = primitive::<Int32Type>(array)?;
                Ok(Arc::new(reinterpret::<Int32Type, Date32Type>(days)))
            }
            Step::Widen => Ok(Arc::new(
                primitive::<Int32Type>(array)?.unary::<_, Int64Type>(i64::from),
            )),
            Step::WidenUnsigned => Ok(Arc::new(
                primitive::<Int32Type>(array)?
                    .unary::<_, Int64Type>(|value| i64::from(value.cast_unsigned())),
            )),
            Step::Unsigned => self.unsigned(array),
            Step::Double => Ok(Arc::new(
                primitive::<Float32Type>(array)?.unary::<_, Float64Type>(f64::from),
            )),
            Step::Decimal { precision } => self.decimal(array, precision),
            Step::Rescale {
                numerator,
                denominator,
            } => {
                let rescaled = rescale_values(array, numerator, denominator)?;
                self.of_64_bits(&rescaled)
            }
        }
    }

    fn keep(&self, array: &ArrayRef) -> Result<ArrayRef> {
        if array.data_type() == &self.to {
            return Ok(Arc::clone(array));
        }
        // INT96 decodes to a timestamp without a zone.
        if let DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) = &self.to {
            let array = primitive::<TimestampMicrosecondType>(array)?;
            return Ok(Arc::new(array.clone().with_timezone(Arc::clone(zone))));
        }
        Err(unexpected(array, &self.to))
    }

    /// Unsigned bits, already as signed ones: a negative value was too large.
    fn unsigned(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let negative = match array.data_type() {
            DataType::Int32 => primitive::<Int32Type>(array)?
                .iter()
                .flatten()
                .find(|value| *value < 0)
                .map(|value| u64::from(value.cast_unsigned())),
            _ => primitive::<Int64Type>(array)?
                .iter()
                .flatten()
                .find(|value| *value < 0)
                .map(i64::cast_unsigned),
        };
        match negative {
            None => Ok(Arc::clone(array)),
            Some(value) => Err(out_of_range(format!(
                "unsigned value {value} does not fit {}",
                self.to
            ))),
        }
    }

    fn decimal(&self, array: &ArrayRef, precision: u8) -> Result<ArrayRef> {
        let unscaled: PrimitiveArray<Decimal128Type> = match array.data_type() {
            DataType::Int32 => primitive::<Int32Type>(array)?.unary(i128::from),
            DataType::Int64 => primitive::<Int64Type>(array)?.unary(i128::from),
            DataType::Decimal256(..) => primitive::<Decimal256Type>(array)?.try_unary(|value| {
                value.to_i128().ok_or_else(|| {
                    out_of_range(format!(
                        "unscaled decimal {value} has more than {precision} digits"
                    ))
                })
            })?,
            _ => primitive::<Decimal128Type>(array)?.clone(),
        };
        let limit = 10_i128
            .checked_pow(u32::from(precision))
            .unwrap_or(i128::MAX);
        let fits = |value: i128| -limit < value && value < limit;
        // Slots of nulls hold anything, so look closer only when one of all slots does not fit.
        if !unscaled.values().iter().all(|value| fits(*value))
            && let Some(value) = unscaled.iter().flatten().find(|value| !fits(*value))
        {
            return Err(out_of_range(format!(
                "unscaled decimal {value} has more than {precision} digits"
            )));
        }
        Ok(Arc::new(unscaled.with_data_type(self.to.clone())))
    }

    /// Gives 64-bit values their meaning.
    fn of_64_bits(&self, values: &PrimitiveArray<Int64Type>) -> Result<ArrayRef> {
        Ok(match &self.to {
            DataType::Time64(TimeUnit::Microsecond) => {
                Arc::new(reinterpret::<Int64Type, Time64MicrosecondType>(values))
            }
            DataType::Timestamp(TimeUnit::Microsecond, zone) => Arc::new(
                reinterpret::<Int64Type, TimestampMicrosecondType>(values)
                    .with_timezone_opt(zone.clone()),
            ),
            DataType::Timestamp(TimeUnit::Nanosecond, zone) => Arc::new(
                reinterpret::<Int64Type, TimestampNanosecondType>(values)
                    .with_timezone_opt(zone.clone()),
            ),
            _ => return Err(unexpected(values, &self.to)),
        })
    }
}

/// Counts in one unit as counts in another; toward the past where the new unit is coarser.
fn rescale_values(
    array: &ArrayRef,
    numerator: i64,
    denominator: i64,
) -> Result<PrimitiveArray<Int64Type>> {
    let multiply = |value: i64| {
        value.checked_mul(numerator).ok_or_else(|| {
            out_of_range(format!(
                "{value} times {numerator} does not fit 64 bits of the wanted unit"
            ))
        })
    };
    match array.data_type() {
        DataType::Int32 => primitive::<Int32Type>(array)?.try_unary(|value| multiply(value.into())),
        _ => {
            let values = primitive::<Int64Type>(array)?;
            match (numerator, denominator) {
                (1, 1) => Ok(values.clone()),
                (1, _) => Ok(values.unary(|value| value.div_euclid(denominator))),
                _ => values.try_unary(multiply),
            }
        }
    }
}

/// The same bits as another type of the same width.
fn reinterpret<F, T>(array: &PrimitiveArray<F>) -> PrimitiveArray<T>
where
    F: ArrowPrimitiveType,
    T: ArrowPrimitiveType<Native = F::Native>,
{
    PrimitiveArray::new(array.values().clone(), array.nulls().cloned())
}

fn primitive<T: ArrowPrimitiveType>(array: &dyn Array) -> Result<&PrimitiveArray<T>> {
    array
        .as_primitive_opt::<T>()
        .ok_or_else(|| unexpected(array, &T::DATA_TYPE))
}

fn unexpected(array: &dyn Array, wanted: &DataType) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("decoded {} where {wanted} was planned", array.data_type()),
    )
}

fn out_of_range(message: String) -> Error {
    Error::new(ErrorKind::OutOfRange, message)
}
