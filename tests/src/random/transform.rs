//! Partition transforms, written from the spec anew. Spec: "Partition Transforms", Appendix B.

use std::fmt;

use super::calendar::{DAY, HOUR, year_and_month};
use super::value::{Kind, Scalar};

/// How a partition value is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transform {
    Identity,
    Bucket(u32),
    Truncate(u32),
    Year,
    Month,
    Day,
    Hour,
    Void,
}

impl fmt::Display for Transform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transform::Identity => formatter.write_str("identity"),
            Transform::Bucket(buckets) => write!(formatter, "bucket[{buckets}]"),
            Transform::Truncate(width) => write!(formatter, "truncate[{width}]"),
            Transform::Year => formatter.write_str("year"),
            Transform::Month => formatter.write_str("month"),
            Transform::Day => formatter.write_str("day"),
            Transform::Hour => formatter.write_str("hour"),
            Transform::Void => formatter.write_str("void"),
        }
    }
}

impl Transform {
    /// Whether the spec allows it on a source of this type.
    pub fn accepts(self, source: &Kind) -> bool {
        let has_date = matches!(
            source,
            Kind::Date | Kind::Timestamp { .. } | Kind::Nanos { .. }
        );
        match self {
            Transform::Identity | Transform::Void => source.is_scalar(),
            Transform::Bucket(_) => {
                source.is_scalar() && !matches!(source, Kind::Boolean | Kind::Float | Kind::Double)
            }
            Transform::Truncate(_) => matches!(
                source,
                Kind::Int | Kind::Long | Kind::Decimal { .. } | Kind::String | Kind::Binary
            ),
            Transform::Year | Transform::Month | Transform::Day => has_date,
            Transform::Hour => has_date && *source != Kind::Date,
        }
    }

    /// The type of what it makes.
    pub fn result(self, source: &Kind) -> Kind {
        match self {
            Transform::Identity | Transform::Truncate(_) | Transform::Void => source.clone(),
            Transform::Bucket(_) | Transform::Year | Transform::Month | Transform::Hour => {
                Kind::Int
            }
            Transform::Day => Kind::Date,
        }
    }

    /// What it makes of a value; null of null.
    pub fn apply(self, value: Option<&Scalar>) -> Option<Scalar> {
        let value = value?;
        Some(match self {
            Transform::Identity => value.clone(),
            Transform::Void => return None,
            Transform::Bucket(buckets) => {
                Scalar::Int(((hash(value) & 0x7FFF_FFFF) % buckets) as i32)
            }
            Transform::Truncate(width) => truncate(value, width),
            Transform::Year => Scalar::Int((year_and_month(days(value)).0 - 1970) as i32),
            Transform::Month => {
                let (year, month) = year_and_month(days(value));
                Scalar::Int(((year - 1970) * 12 + month - 1) as i32)
            }
            Transform::Day => Scalar::Date(days(value) as i32),
            Transform::Hour => Scalar::Int(micros(value).div_euclid(HOUR) as i32),
        })
    }
}

/// Microseconds from 1970, rounded down.
fn micros(value: &Scalar) -> i64 {
    match value {
        Scalar::Timestamp(micros) => *micros,
        Scalar::Nanos(nanos) => nanos.div_euclid(1000),
        other => panic!("{other:?} is no timestamp"),
    }
}

fn days(value: &Scalar) -> i64 {
    match value {
        Scalar::Date(days) => i64::from(*days),
        other => micros(other).div_euclid(DAY),
    }
}

fn hash(value: &Scalar) -> u32 {
    let long = |value: i64| value.to_le_bytes().to_vec();
    let bytes = match value {
        Scalar::Int(value) | Scalar::Date(value) => long(i64::from(*value)),
        Scalar::Long(value) | Scalar::Time(value) | Scalar::Timestamp(value) => long(*value),
        Scalar::Nanos(value) => long(value.div_euclid(1000)),
        Scalar::Decimal(value) => minimal_big_endian(*value),
        Scalar::String(value) => value.as_bytes().to_vec(),
        Scalar::Uuid(value) => value.to_vec(),
        Scalar::Bytes(value) => value.clone(),
        other => panic!("{other:?} has no hash"),
    };
    murmur3::murmur3_32(&mut bytes.as_slice(), 0).expect("memory can be read")
}

fn truncate(value: &Scalar, width: u32) -> Scalar {
    match value {
        Scalar::Int(value) => Scalar::Int(value.wrapping_sub(value.rem_euclid(width as i32))),
        Scalar::Long(value) => Scalar::Long(value.wrapping_sub(value.rem_euclid(i64::from(width)))),
        Scalar::Decimal(value) => Scalar::Decimal(value - value.rem_euclid(i128::from(width))),
        Scalar::String(value) => Scalar::String(value.chars().take(width as usize).collect()),
        Scalar::Bytes(value) => Scalar::Bytes(value[..value.len().min(width as usize)].to_vec()),
        other => panic!("{other:?} has no multiples"),
    }
}

/// Two's complement in as few bytes as hold it.
pub fn minimal_big_endian(value: i128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let fill = if value < 0 { 0xFF } else { 0 };
    let mut first = 0;
    while first < 15 && bytes[first] == fill && (bytes[first + 1] ^ fill) & 0x80 == 0 {
        first += 1;
    }
    bytes[first..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_the_spec() {
        for (value, expected) in [
            (Scalar::Int(34), 2_017_239_379_i32),
            (Scalar::Long(34), 2_017_239_379),
            (Scalar::Decimal(1420), -500_754_589),
            (Scalar::Date(17_486), -653_330_422),
            (Scalar::Time(81_068_000_000), -662_762_989),
            (Scalar::Timestamp(1_510_871_468_000_000), -2_047_944_441),
            (Scalar::Nanos(1_510_871_468_000_001_001), -1_207_196_810),
            (Scalar::String("iceberg".into()), 1_210_000_089),
            (Scalar::Bytes(vec![0, 1, 2, 3]), -188_683_207),
        ] {
            assert_eq!(hash(&value), expected as u32, "{value:?}");
        }
    }

    #[test]
    fn before_1970_is_below_zero() {
        let late = Scalar::Timestamp(-2 * HOUR);
        for (transform, expected) in [
            (Transform::Hour, Scalar::Int(-2)),
            (Transform::Day, Scalar::Date(-1)),
            (Transform::Month, Scalar::Int(-1)),
            (Transform::Year, Scalar::Int(-1)),
        ] {
            assert_eq!(transform.apply(Some(&late)), Some(expected));
        }
        assert_eq!(truncate(&Scalar::Int(-1), 10), Scalar::Int(-10));
    }
}
