//! Single values of primitive types (bounds, partition values, defaults) and their binary form.
//! Spec: Appendix D "Binary single-value serialization"; "Schema Evolution" for widened values.

use uuid::Uuid;

use super::calendar::{MICROS_A_DAY, NANOS_A_DAY};
use super::iso_text::iso_date;
use super::types::PrimitiveType;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(primitive: &PrimitiveType, bytes: &[u8]) -> PrimitiveValue {
        PrimitiveValue::from_bytes(primitive, bytes).unwrap()
    }

    const DECIMAL: PrimitiveType = PrimitiveType::Decimal {
        precision: 38,
        scale: 2,
    };

    #[test]
    fn binary_forms_of_the_spec() {
        // Appendix D: little-endian numbers, big-endian decimals and UUIDs, bytes as they are. The
        // values are those of Appendix B.
        let uuid = Uuid::try_parse("f79c3e09-677c-4bbd-a479-3f349cb785e7").unwrap();
        let micros = 1_510_871_468_000_001_i64;
        for (primitive, value, bytes) in [
            (
                PrimitiveType::Boolean,
                PrimitiveValue::Boolean(false),
                vec![0],
            ),
            (
                PrimitiveType::Boolean,
                PrimitiveValue::Boolean(true),
                vec![1],
            ),
            (
                PrimitiveType::Int,
                PrimitiveValue::Int(34),
                vec![0x22, 0, 0, 0],
            ),
            (
                PrimitiveType::Int,
                PrimitiveValue::Int(-2),
                vec![0xFE, 0xFF, 0xFF, 0xFF],
            ),
            (
                PrimitiveType::Long,
                PrimitiveValue::Long(34),
                vec![0x22, 0, 0, 0, 0, 0, 0, 0],
            ),
            (
                PrimitiveType::Float,
                PrimitiveValue::Float(-4.5),
                vec![0, 0, 0x90, 0xC0],
            ),
            (
                PrimitiveType::Double,
                PrimitiveValue::Double(6.0),
                vec![0, 0, 0, 0, 0, 0, 0x18, 0x40],
            ),
            (DECIMAL, PrimitiveValue::Decimal(1_420), vec![0x05, 0x8C]),
            (
                PrimitiveType::Date,
                PrimitiveValue::Date(17_486),
                vec![0x4E, 0x44, 0, 0],
            ),
            (
                PrimitiveType::Timestamp,
                PrimitiveValue::Timestamp(micros),
                micros.to_le_bytes().to_vec(),
            ),
            (
                PrimitiveType::String,
                PrimitiveValue::String("é".into()),
                vec![0xC3, 0xA9],
            ),
            (
                PrimitiveType::String,
                PrimitiveValue::String(String::new()),
                vec![],
            ),
            (
                PrimitiveType::Uuid,
                PrimitiveValue::Uuid(uuid),
                vec![
                    0xF7, 0x9C, 0x3E, 0x09, 0x67, 0x7C, 0x4B, 0xBD, 0xA4, 0x79, 0x3F, 0x34, 0x9C,
                    0xB7, 0x85, 0xE7,
                ],
            ),
            (
                PrimitiveType::Fixed(3),
                PrimitiveValue::Fixed(vec![1, 2, 3]),
                vec![1, 2, 3],
            ),
            (
                PrimitiveType::Binary,
                PrimitiveValue::Binary(vec![0]),
                vec![0],
            ),
        ] {
            assert_eq!(read(&primitive, &bytes), value);
            assert_eq!(value.to_bytes(), bytes);
        }
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        assert_eq!(
            read(&PrimitiveType::Boolean, &[0x80]),
            PrimitiveValue::Boolean(true)
        );
    }

    #[test]
    fn decimals_of_any_length() {
        // Shortest forms as Java's BigInteger.toByteArray makes them.
        let nines = 10_i128.pow(38) - 1;
        let nines_bytes = vec![
            0x4B, 0x3B, 0x4C, 0xA8, 0x5A, 0x86, 0xC4, 0x7A, 0x09, 0x8A, 0x22, 0x3F, 0xFF, 0xFF,
            0xFF, 0xFF,
        ];
        for (unscaled, bytes) in [
            (0, vec![0x00]),
            (-1, vec![0xFF]),
            (127, vec![0x7F]),
            (128, vec![0x00, 0x80]),
            (-128, vec![0x80]),
            (-129, vec![0xFF, 0x7F]),
            (255, vec![0x00, 0xFF]),
            (-256, vec![0xFF, 0x00]),
            (nines, nines_bytes.clone()),
        ] {
            assert_eq!(
                PrimitiveValue::Decimal(unscaled).to_bytes(),
                bytes,
                "{unscaled}"
            );
            assert_eq!(read(&DECIMAL, &bytes), PrimitiveValue::Decimal(unscaled));
            let fill = if unscaled < 0 { 0xFF } else { 0x00 };
            let longer = [vec![fill; 20], bytes].concat();
            assert_eq!(read(&DECIMAL, &longer), PrimitiveValue::Decimal(unscaled));
        }
        assert_eq!(
            read(&DECIMAL, &PrimitiveValue::Decimal(-nines).to_bytes()),
            PrimitiveValue::Decimal(-nines)
        );
        let too_large = [vec![0x01], vec![0; 16]].concat();
        let wrong_sign = [vec![0x00], vec![0x80; 16]].concat();
        for bytes in [vec![], too_large, wrong_sign] {
            let fault = PrimitiveValue::from_bytes(&DECIMAL, &bytes).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::Corrupt);
        }
    }

    #[test]
    fn values_written_before_their_type_was_widened() {
        // "Schema Evolution": the length of the bytes tells the type at the time of writing.
        let four = (-3_i32).to_le_bytes();
        assert_eq!(read(&PrimitiveType::Long, &four), PrimitiveValue::Long(-3));
        let float = 0.1_f32;
        assert_eq!(
            read(&PrimitiveType::Double, &float.to_le_bytes()),
            PrimitiveValue::Double(f64::from(float))
        );
        assert_eq!(
            read(&PrimitiveType::Timestamp, &four),
            PrimitiveValue::from_json(&PrimitiveType::Timestamp, &json!("1969-12-29T00:00:00"))
                .unwrap()
        );
        assert_eq!(
            read(&PrimitiveType::TimestampNs, &four),
            PrimitiveValue::from_json(&PrimitiveType::TimestampNs, &json!("1969-12-29T00:00:00"))
                .unwrap()
        );
        let last_day = i32::MAX.to_le_bytes();
        assert_eq!(
            read(&PrimitiveType::Timestamp, &100_000_000_i32.to_le_bytes()),
            PrimitiveValue::Timestamp(8_640_000_000_000_000_000)
        );
        for primitive in [PrimitiveType::Timestamp, PrimitiveType::TimestampNs] {
            let fault = PrimitiveValue::from_bytes(&primitive, &last_day).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::OutOfRange);
            // Java's LocalDate.ofEpochDay(Integer.MAX_VALUE)
            assert!(fault.message().contains("+5881580-07-11"), "{fault}");
        }
    }

    #[test]
    fn dates_are_not_widened_to_timestamps_with_zone() {
        for primitive in [PrimitiveType::Timestamptz, PrimitiveType::TimestamptzNs] {
            assert!(PrimitiveValue::from_bytes(&primitive, &[0; 4]).is_err());
        }
    }

    #[test]
    fn bytes_of_a_wrong_length_are_corrupt() {
        for (primitive, lengths) in [
            (PrimitiveType::Boolean, &[0, 2][..]),
            (PrimitiveType::Int, &[0, 3, 5, 8]),
            (PrimitiveType::Long, &[0, 3, 5, 9]),
            (PrimitiveType::Float, &[0, 8]),
            (PrimitiveType::Double, &[0, 7]),
            (PrimitiveType::Date, &[0, 8]),
            (PrimitiveType::Time, &[0, 4]),
            (PrimitiveType::Timestamp, &[0, 7]),
            (PrimitiveType::Uuid, &[0, 15, 17]),
            (PrimitiveType::Fixed(3), &[4]),
        ] {
            for length in lengths {
                let fault = PrimitiveValue::from_bytes(&primitive, &vec![0; *length]).unwrap_err();
                assert_eq!(fault.kind(), ErrorKind::Corrupt);
                assert_eq!(
                    fault.message(),
                    format!("{length} bytes are no value of type {primitive}")
                );
            }
        }
    }

    #[test]
    fn text_that_is_not_utf8() {
        let fault = PrimitiveValue::from_bytes(&PrimitiveType::String, b"a\xFF").unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::InvalidText);
        let fault = PrimitiveValue::from_bytes(&PrimitiveType::Unknown, b"").unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::NotSupported);
    }

    #[test]
    fn a_bound_of_a_fixed_may_be_cut_short() {
        assert_eq!(
            read(&PrimitiveType::Fixed(8), &[7]),
            PrimitiveValue::Fixed(vec![7])
        );
    }
}
