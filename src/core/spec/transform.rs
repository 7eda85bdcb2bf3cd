//! Partition and sort transforms: their names, what they apply to, and what they make of a value.
//! Spec: "Partition Transforms", Appendix B "32-bit Hash Requirements".

use std::fmt;
use std::num::NonZeroU32;

use super::calendar::CalendarDate;
use super::types::PrimitiveType;
use super::value::{PrimitiveValue, decimal_to_big_endian};
use super::value_json::{MICROS_A_DAY, NANOS_A_DAY};
use crate::error::{Error, ErrorKind, Result};

const MICROS_AN_HOUR: i64 = 3_600_000_000;
const NANOS_AN_HOUR: i64 = 3_600_000_000_000;

/// How a partition or sort value is made from a source value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Transform {
    /// The value itself.
    Identity,
    /// Hash of the value, modulo the number of buckets.
    Bucket(NonZeroU32),
    /// The value cut to a width: numbers down to a multiple, texts and bytes to a length.
    Truncate(NonZeroU32),
    /// Years from 1970.
    Year,
    /// Months from 1970-01.
    Month,
    /// Days from 1970-01-01, as a date.
    Day,
    /// Hours from 1970-01-01 00:00.
    Hour,
    /// Always null.
    Void,
    /// One that this version does not know, by name; ignored when filtering, never written with.
    Unknown(String),
}

impl Transform {
    /// Reads the name of a transform. A name that this version does not know is kept.
    ///
    /// # Errors
    /// `Corrupt` for a number of buckets or a width that is not 1 to 2147483647.
    pub fn parse(name: &str) -> Result<Self> {
        if let Some((base, rest)) = name.split_once('[')
            && let Some(parameter) = rest.strip_suffix(']')
            && !parameter.is_empty()
            && parameter.bytes().all(|byte| byte.is_ascii_digit())
        {
            let make: fn(NonZeroU32) -> Self = match base.to_ascii_lowercase().as_str() {
                "bucket" => Self::Bucket,
                "truncate" => Self::Truncate,
                _ => return Ok(Self::Unknown(name.to_owned())),
            };
            return parameter
                .parse::<NonZeroU32>()
                .ok()
                .filter(|parameter| i32::try_from(parameter.get()).is_ok())
                .map(make)
                .ok_or_else(|| {
                    Error::new(
                        ErrorKind::Corrupt,
                        format!(
                            "transform \"{name}\": the parameter must be 1 to {}",
                            i32::MAX
                        ),
                    )
                });
        }
        Ok(match name.to_ascii_lowercase().as_str() {
            "identity" => Self::Identity,
            "year" => Self::Year,
            "month" => Self::Month,
            "day" => Self::Day,
            "hour" => Self::Hour,
            "void" => Self::Void,
            _ => Self::Unknown(name.to_owned()),
        })
    }

    /// Whether the spec allows this transform on a source of this type.
    pub fn accepts(&self, source: &PrimitiveType) -> bool {
        use PrimitiveType as P;
        match self {
            Self::Identity => !matches!(source, P::Geometry { .. } | P::Geography { .. }),
            Self::Bucket(_) => matches!(
                source,
                P::Int
                    | P::Long
                    | P::Decimal { .. }
                    | P::Date
                    | P::Time
                    | P::Timestamp
                    | P::Timestamptz
                    | P::TimestampNs
                    | P::TimestamptzNs
                    | P::String
                    | P::Uuid
                    | P::Fixed(_)
                    | P::Binary
            ),
            Self::Truncate(_) => matches!(
                source,
                P::Int | P::Long | P::Decimal { .. } | P::String | P::Binary
            ),
            Self::Year | Self::Month | Self::Day => matches!(
                source,
                P::Date | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs
            ),
            Self::Hour => matches!(
                source,
                P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs
            ),
            Self::Void => true,
            Self::Unknown(_) => false,
        }
    }

    /// The type of the values that the transform makes of a source of this type; `unknown` for a
    /// transform that this version does not know: what such a partition value is, only the
    /// manifest's own schema says.
    pub fn result_type(&self, source: &PrimitiveType) -> PrimitiveType {
        match self {
            Self::Identity | Self::Truncate(_) | Self::Void => source.clone(),
            Self::Bucket(_) | Self::Year | Self::Month | Self::Hour => PrimitiveType::Int,
            Self::Day => PrimitiveType::Date,
            Self::Unknown(_) => PrimitiveType::Unknown,
        }
    }

    /// The transformed value. `None` is null: from `void`, and also where there is no answer
    /// because the transform is unknown, does not apply to the value's type, or its result has no
    /// `int`; a caller that prunes must then keep everything.
    ///
    /// A null source value makes null under every transform and needs no call.
    pub fn apply(&self, value: &PrimitiveValue) -> Option<PrimitiveValue> {
        match self {
            Self::Identity => Some(value.clone()),
            Self::Bucket(buckets) => {
                let hash = bucket_hash(value)?.cast_unsigned() & 0x7FFF_FFFF;
                Some(PrimitiveValue::Int((hash % buckets.get()).cast_signed()))
            }
            Self::Truncate(width) => truncate(value, *width),
            Self::Year => {
                let date = CalendarDate::from_days(days(value)?);
                int(date.year - 1970)
            }
            Self::Month => {
                let date = CalendarDate::from_days(days(value)?);
                int((date.year - 1970) * 12 + i64::from(date.month) - 1)
            }
            Self::Day => days(value)?.try_into().ok().map(PrimitiveValue::Date),
            Self::Hour => int(hours(value)?),
            Self::Void | Self::Unknown(_) => None,
        }
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identity => f.write_str("identity"),
            Self::Bucket(buckets) => write!(f, "bucket[{buckets}]"),
            Self::Truncate(width) => write!(f, "truncate[{width}]"),
            Self::Year => f.write_str("year"),
            Self::Month => f.write_str("month"),
            Self::Day => f.write_str("day"),
            Self::Hour => f.write_str("hour"),
            Self::Void => f.write_str("void"),
            Self::Unknown(name) => f.write_str(name),
        }
    }
}

fn int(value: i64) -> Option<PrimitiveValue> {
    value.try_into().ok().map(PrimitiveValue::Int)
}

/// Days from 1970-01-01, rounded down: 1969-12-31 23:00 is day -1.
fn days(value: &PrimitiveValue) -> Option<i64> {
    match value {
        PrimitiveValue::Date(days) => Some((*days).into()),
        PrimitiveValue::Timestamp(micros) | PrimitiveValue::Timestamptz(micros) => {
            Some(micros.div_euclid(MICROS_A_DAY))
        }
        PrimitiveValue::TimestampNs(nanos) | PrimitiveValue::TimestamptzNs(nanos) => {
            Some(nanos.div_euclid(NANOS_A_DAY))
        }
        _ => None,
    }
}

fn hours(value: &PrimitiveValue) -> Option<i64> {
    match value {
        PrimitiveValue::Timestamp(micros) | PrimitiveValue::Timestamptz(micros) => {
            Some(micros.div_euclid(MICROS_AN_HOUR))
        }
        PrimitiveValue::TimestampNs(nanos) | PrimitiveValue::TimestamptzNs(nanos) => {
            Some(nanos.div_euclid(NANOS_AN_HOUR))
        }
        _ => None,
    }
}

/// The hash that buckets are made of; `None` for types that cannot be bucketed.
fn bucket_hash(value: &PrimitiveValue) -> Option<i32> {
    match value {
        PrimitiveValue::Int(value) | PrimitiveValue::Date(value) => hash_long((*value).into()),
        PrimitiveValue::Long(value)
        | PrimitiveValue::Time(value)
        | PrimitiveValue::Timestamp(value)
        | PrimitiveValue::Timestamptz(value) => hash_long(*value),
        // Hashed as microseconds, so that both precisions share their buckets.
        PrimitiveValue::TimestampNs(nanos) | PrimitiveValue::TimestamptzNs(nanos) => {
            hash_long(nanos.div_euclid(1_000))
        }
        PrimitiveValue::Decimal(unscaled) => hash(&decimal_to_big_endian(*unscaled)),
        PrimitiveValue::String(value) => hash(value.as_bytes()),
        PrimitiveValue::Uuid(value) => hash(value.as_bytes()),
        PrimitiveValue::Fixed(value) | PrimitiveValue::Binary(value) => hash(value),
        PrimitiveValue::Boolean(_) | PrimitiveValue::Float(_) | PrimitiveValue::Double(_) => None,
    }
}

fn hash_long(value: i64) -> Option<i32> {
    hash(&value.to_le_bytes())
}

fn hash(mut bytes: &[u8]) -> Option<i32> {
    // Reading from a slice never fails.
    murmur3::murmur3_32(&mut bytes, 0)
        .ok()
        .map(u32::cast_signed)
}

/// Numbers down to a multiple of `width`, also below zero. Below the lowest multiple that the type
/// holds, the result wraps round as the writers of such partitions compute it.
fn truncate(value: &PrimitiveValue, width: NonZeroU32) -> Option<PrimitiveValue> {
    let width = width.get();
    Some(match value {
        PrimitiveValue::Int(value) => {
            let value = i64::from(*value);
            PrimitiveValue::Int((value - value.rem_euclid(width.into())) as i32)
        }
        PrimitiveValue::Long(value) => {
            PrimitiveValue::Long(value.wrapping_sub(value.rem_euclid(width.into())))
        }
        PrimitiveValue::Decimal(unscaled) => {
            PrimitiveValue::Decimal(unscaled.wrapping_sub(unscaled.rem_euclid(width.into())))
        }
        PrimitiveValue::String(value) => {
            PrimitiveValue::String(value.chars().take(width as usize).collect())
        }
        PrimitiveValue::Binary(value) => {
            PrimitiveValue::Binary(value.iter().take(width as usize).copied().collect())
        }
        _ => return None,
    })
}
