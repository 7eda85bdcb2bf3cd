//! Single values of primitive types (bounds, partition values, defaults) and their binary form.
//! Spec: Appendix D "Binary single-value serialization"; "Schema Evolution" for widened values.

use uuid::Uuid;

use super::types::PrimitiveType;
use super::value_json::{MICROS_A_DAY, NANOS_A_DAY, iso_date};
use crate::error::{Error, ErrorKind, Result};

/// A value of a primitive type; the variant says how it is stored, the type beside it what it means.
#[derive(Debug, Clone, PartialEq)]
pub enum PrimitiveValue {
    /// `boolean`
    Boolean(bool),
    /// `int`
    Int(i32),
    /// `long`
    Long(i64),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
    /// `decimal`: the unscaled value; the scale is the type's.
    Decimal(i128),
    /// `date`: days from 1970-01-01
    Date(i32),
    /// `time`: microseconds from midnight
    Time(i64),
    /// `timestamp`: microseconds
    Timestamp(i64),
    /// `timestamptz`: microseconds UTC
    Timestamptz(i64),
    /// `timestamp_ns`: nanoseconds
    TimestampNs(i64),
    /// `timestamptz_ns`: nanoseconds UTC
    TimestamptzNs(i64),
    /// `string`
    String(String),
    /// `uuid`
    Uuid(Uuid),
    /// `fixed`
    Fixed(Vec<u8>),
    /// `binary`, and the WKB of `geometry` and `geography`
    Binary(Vec<u8>),
}

impl PrimitiveValue {
    /// Reads the binary single-value form. A value that was written before its column's type was
    /// widened (`int` to `long`, `float` to `double`, `date` to `timestamp` or `timestamp_ns`,
    /// decimals to more digits) is widened here.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are no value of the type, `InvalidText` if a string is not UTF-8,
    /// `OutOfRange` if a widened date has no such timestamp, `NotSupported` for `unknown`.
    pub fn from_bytes(primitive: &PrimitiveType, bytes: &[u8]) -> Result<Self> {
        let bad_length = || {
            Error::new(
                ErrorKind::Corrupt,
                format!("{} bytes are no value of type {primitive}", bytes.len()),
            )
        };
        let four = || <[u8; 4]>::try_from(bytes).map_err(|_| bad_length());
        let eight = || <[u8; 8]>::try_from(bytes).map_err(|_| bad_length());
        let widened_date = |units_a_day: i64| {
            let days = i32::from_le_bytes(four()?);
            i64::from(days).checked_mul(units_a_day).ok_or_else(|| {
                Error::new(
                    ErrorKind::OutOfRange,
                    format!("the date {} has no {primitive}", iso_date(days.into())),
                )
            })
        };
        Ok(match primitive {
            PrimitiveType::Boolean => match bytes {
                [byte] => Self::Boolean(*byte != 0),
                _ => return Err(bad_length()),
            },
            PrimitiveType::Int => Self::Int(i32::from_le_bytes(four()?)),
            PrimitiveType::Long if bytes.len() == 4 => {
                Self::Long(i32::from_le_bytes(four()?).into())
            }
            PrimitiveType::Long => Self::Long(i64::from_le_bytes(eight()?)),
            PrimitiveType::Float => Self::Float(f32::from_le_bytes(four()?)),
            PrimitiveType::Double if bytes.len() == 4 => {
                Self::Double(f32::from_le_bytes(four()?).into())
            }
            PrimitiveType::Double => Self::Double(f64::from_le_bytes(eight()?)),
            PrimitiveType::Decimal { .. } => {
                Self::Decimal(decimal_from_big_endian(bytes).ok_or_else(bad_length)?)
            }
            PrimitiveType::Date => Self::Date(i32::from_le_bytes(four()?)),
            PrimitiveType::Time => Self::Time(i64::from_le_bytes(eight()?)),
            PrimitiveType::Timestamp if bytes.len() == 4 => {
                Self::Timestamp(widened_date(MICROS_A_DAY)?)
            }
            PrimitiveType::Timestamp => Self::Timestamp(i64::from_le_bytes(eight()?)),
            PrimitiveType::Timestamptz => Self::Timestamptz(i64::from_le_bytes(eight()?)),
            PrimitiveType::TimestampNs if bytes.len() == 4 => {
                Self::TimestampNs(widened_date(NANOS_A_DAY)?)
            }
            PrimitiveType::TimestampNs => Self::TimestampNs(i64::from_le_bytes(eight()?)),
            PrimitiveType::TimestamptzNs => Self::TimestamptzNs(i64::from_le_bytes(eight()?)),
            PrimitiveType::String => match std::str::from_utf8(bytes) {
                Ok(text) => Self::String(text.to_owned()),
                Err(error) => {
                    return Err(Error::new(
                        ErrorKind::InvalidText,
                        format!("a string is not UTF-8: {error}"),
                    ));
                }
            },
            PrimitiveType::Uuid => Self::Uuid(Uuid::from_slice(bytes).map_err(|_| bad_length())?),
            // A bound of a fixed may be cut short.
            PrimitiveType::Fixed(length) if bytes.len() <= *length as usize => {
                Self::Fixed(bytes.to_vec())
            }
            PrimitiveType::Fixed(_) => return Err(bad_length()),
            PrimitiveType::Binary
            | PrimitiveType::Geometry { .. }
            | PrimitiveType::Geography { .. } => Self::Binary(bytes.to_vec()),
            PrimitiveType::Unknown => {
                return Err(Error::not_supported("the type unknown has no values"));
            }
        })
    }

    /// The binary single-value form.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Boolean(value) => vec![u8::from(*value)],
            Self::Int(value) | Self::Date(value) => value.to_le_bytes().to_vec(),
            Self::Long(value)
            | Self::Time(value)
            | Self::Timestamp(value)
            | Self::Timestamptz(value)
            | Self::TimestampNs(value)
            | Self::TimestamptzNs(value) => value.to_le_bytes().to_vec(),
            Self::Float(value) => value.to_le_bytes().to_vec(),
            Self::Double(value) => value.to_le_bytes().to_vec(),
            Self::Decimal(unscaled) => decimal_to_big_endian(*unscaled),
            Self::String(value) => value.as_bytes().to_vec(),
            Self::Uuid(value) => value.as_bytes().to_vec(),
            Self::Fixed(value) | Self::Binary(value) => value.clone(),
        }
    }
}

/// Two's complement of any length from 1 on, as long as the number fits.
pub(crate) fn decimal_from_big_endian(bytes: &[u8]) -> Option<i128> {
    let fill = if *bytes.first()? & 0x80 == 0 {
        0x00
    } else {
        0xFF
    };
    let mut wide = [fill; 16];
    match bytes.len().checked_sub(wide.len()) {
        None | Some(0) => wide.get_mut(16 - bytes.len()..)?.copy_from_slice(bytes),
        Some(extra) => {
            let (padding, rest) = bytes.split_at(extra);
            let same_sign = rest.first()? & 0x80 == fill & 0x80;
            if !same_sign || padding.iter().any(|byte| *byte != fill) {
                return None;
            }
            wide.copy_from_slice(rest);
        }
    }
    Some(i128::from_be_bytes(wide))
}

/// Two's complement in as few bytes as hold the number.
pub(crate) fn decimal_to_big_endian(unscaled: i128) -> Vec<u8> {
    let bytes = unscaled.to_be_bytes();
    let fill = if unscaled < 0 { 0xFF } else { 0x00 };
    let mut start = 0;
    while let [first, second, ..] = &bytes[start..]
        && *first == fill
        && second & 0x80 == fill & 0x80
    {
        start += 1;
    }
    bytes[start..].to_vec()
}
