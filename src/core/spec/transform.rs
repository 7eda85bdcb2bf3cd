//! Partition and sort transforms: their names, what they apply to, and what they make of a value.
//! Spec: "Partition Transforms", Appendix B "32-bit Hash Requirements".

use std::fmt;
use std::num::NonZeroU32;

use super::calendar::{CalendarDate, MICROS_A_DAY, NANOS_A_DAY};
use super::types::PrimitiveType;
use super::value::{PrimitiveValue, decimal_to_big_endian};
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(primitive: &PrimitiveType, text: &str) -> PrimitiveValue {
        PrimitiveValue::from_json(primitive, &json!(text)).unwrap()
    }

    fn transform(name: &str) -> Transform {
        Transform::parse(name).unwrap()
    }

    const DECIMAL: PrimitiveType = PrimitiveType::Decimal {
        precision: 9,
        scale: 2,
    };

    #[test]
    fn hashes_of_the_spec() {
        // Appendix B
        let bytes = vec![0, 1, 2, 3];
        let uuid = "f79c3e09-677c-4bbd-a479-3f349cb785e7";
        for (source, hash) in [
            (PrimitiveValue::Int(34), 2_017_239_379),
            (PrimitiveValue::Long(34), 2_017_239_379),
            (value(&DECIMAL, "14.20"), -500_754_589),
            (value(&PrimitiveType::Date, "2017-11-16"), -653_330_422),
            (value(&PrimitiveType::Time, "22:31:08"), -662_762_989),
            (
                value(&PrimitiveType::Timestamp, "2017-11-16T22:31:08"),
                -2_047_944_441,
            ),
            (
                value(&PrimitiveType::Timestamp, "2017-11-16T22:31:08.000001"),
                -1_207_196_810,
            ),
            (
                value(&PrimitiveType::Timestamptz, "2017-11-16T22:31:08+00:00"),
                -2_047_944_441,
            ),
            (
                value(
                    &PrimitiveType::Timestamptz,
                    "2017-11-16T22:31:08.000001+00:00",
                ),
                -1_207_196_810,
            ),
            (
                value(&PrimitiveType::TimestampNs, "2017-11-16T22:31:08"),
                -2_047_944_441,
            ),
            (
                value(&PrimitiveType::TimestampNs, "2017-11-16T22:31:08.000001001"),
                -1_207_196_810,
            ),
            (
                value(
                    &PrimitiveType::TimestamptzNs,
                    "2017-11-16T22:31:08.000001001Z",
                ),
                -1_207_196_810,
            ),
            (PrimitiveValue::String("iceberg".into()), 1_210_000_089),
            (value(&PrimitiveType::Uuid, uuid), 1_488_055_340),
            (PrimitiveValue::Fixed(bytes.clone()), -188_683_207),
            (PrimitiveValue::Binary(bytes), -188_683_207),
        ] {
            assert_eq!(bucket_hash(&source), Some(hash), "{source:?}");
            for buckets in [16, 10, i32::MAX] {
                // (hash & Integer.MAX_VALUE) % N
                let expected = ((i64::from(hash) & 0x7FFF_FFFF) % i64::from(buckets)) as i32;
                assert_eq!(
                    transform(&format!("bucket[{buckets}]")).apply(&source),
                    Some(PrimitiveValue::Int(expected))
                );
            }
        }
        // Nanoseconds round down to microseconds, before 1970 too.
        assert_eq!(
            bucket_hash(&PrimitiveValue::TimestampNs(-1)),
            bucket_hash(&PrimitiveValue::Timestamp(-1))
        );
        assert_eq!(
            transform("bucket[16]").apply(&PrimitiveValue::Double(1.0)),
            None
        );
    }

    #[test]
    fn truncation_of_the_spec() {
        let ten = transform("truncate[10]");
        for (source, expected) in [(1, 0), (-1, -10), (0, 0), (10, 10), (-10, -10), (19, 10)] {
            assert_eq!(
                ten.apply(&PrimitiveValue::Int(source)),
                Some(PrimitiveValue::Int(expected))
            );
            assert_eq!(
                ten.apply(&PrimitiveValue::Long(source.into())),
                Some(PrimitiveValue::Long(expected.into()))
            );
        }
        assert_eq!(
            transform("truncate[50]").apply(&value(&DECIMAL, "10.65")),
            Some(value(&DECIMAL, "10.50"))
        );
        assert_eq!(
            transform("truncate[10]").apply(&value(&DECIMAL, "-0.05")),
            Some(value(&DECIMAL, "-0.10"))
        );
        let three = transform("truncate[3]");
        for (source, expected) in [
            ("iceberg", "ice"),
            ("ic", "ic"),
            ("", ""),
            // Code points: neither bytes nor UTF-16 units.
            ("éüßa", "éüß"),
            ("🧊🧊🧊🧊", "🧊🧊🧊"),
        ] {
            assert_eq!(
                three.apply(&PrimitiveValue::String(source.into())),
                Some(PrimitiveValue::String(expected.into()))
            );
        }
        assert_eq!(
            three.apply(&PrimitiveValue::Binary(vec![1, 2, 3, 4, 5])),
            Some(PrimitiveValue::Binary(vec![1, 2, 3]))
        );
        assert_eq!(three.apply(&PrimitiveValue::Fixed(vec![1, 2, 3, 4])), None);
    }

    #[test]
    fn truncation_at_the_ends_does_not_fail() {
        // Java's int arithmetic: -2147483648 - (((-2147483648 % 10) + 10) % 10) wraps.
        assert_eq!(
            transform("truncate[10]").apply(&PrimitiveValue::Int(i32::MIN)),
            Some(PrimitiveValue::Int(2_147_483_646))
        );
        let widest = transform("truncate[2147483647]");
        assert_eq!(
            widest.apply(&PrimitiveValue::Int(i32::MAX - 1)),
            Some(PrimitiveValue::Int(0))
        );
        for source in [
            PrimitiveValue::Long(i64::MIN),
            PrimitiveValue::Decimal(i128::MIN),
        ] {
            assert!(widest.apply(&source).is_some());
        }
    }

    #[test]
    fn parts_of_time_round_down() {
        // 1969-12-31 22:00 is hour -2, day -1, month -1, year -1.
        for (text, year, month, day, hour) in [
            ("1970-01-01T00:00:00", 0, 0, 0, 0),
            ("1969-12-31T22:00:00", -1, -1, -1, -2),
            ("1969-12-31T23:59:59.999999", -1, -1, -1, -1),
            ("1969-01-01T00:00:00", -1, -12, -365, -8_760),
            ("1968-12-31T23:59:59", -2, -13, -366, -8_761),
            ("2017-12-01T10:12:55.038194", 47, 575, 17_501, 420_034),
            ("2024-02-29T23:00:00", 54, 649, 19_782, 474_791),
        ] {
            let zoned = format!("{text}+00:00");
            for source in [
                value(&PrimitiveType::Timestamp, text),
                value(&PrimitiveType::Timestamptz, &zoned),
                value(&PrimitiveType::TimestampNs, text),
                value(&PrimitiveType::TimestamptzNs, &zoned),
            ] {
                for (name, expected) in [
                    ("year", PrimitiveValue::Int(year)),
                    ("month", PrimitiveValue::Int(month)),
                    ("day", PrimitiveValue::Date(day)),
                    ("hour", PrimitiveValue::Int(hour)),
                ] {
                    assert_eq!(
                        transform(name).apply(&source),
                        Some(expected),
                        "{name} of {text}"
                    );
                }
            }
            let date = PrimitiveValue::Date(day);
            assert_eq!(
                transform("year").apply(&date),
                Some(PrimitiveValue::Int(year))
            );
            assert_eq!(
                transform("month").apply(&date),
                Some(PrimitiveValue::Int(month))
            );
            assert_eq!(transform("day").apply(&date), Some(date.clone()));
            assert_eq!(transform("hour").apply(&date), None);
        }
    }

    #[test]
    fn hours_beyond_an_int_have_no_answer() {
        for micros in [i64::MAX, i64::MIN] {
            let source = PrimitiveValue::Timestamp(micros);
            assert_eq!(transform("hour").apply(&source), None);
            for name in ["year", "month", "day"] {
                assert!(transform(name).apply(&source).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn identity_void_and_unknown() {
        let source = PrimitiveValue::Boolean(true);
        assert_eq!(transform("identity").apply(&source), Some(source.clone()));
        assert_eq!(transform("void").apply(&source), None);
        assert_eq!(transform("zorder").apply(&source), None);
    }

    #[test]
    fn names() {
        for name in [
            "identity",
            "bucket[16]",
            "truncate[20]",
            "year",
            "month",
            "day",
            "hour",
            "void",
            "zorder",
            "bucket",
            "bucket[]",
            "bucket[-1]",
            "truncate[a]",
            "bucket[4, 5]",
            "",
            "hash[3]",
            "bucket[16",
            "Zorder[2]",
        ] {
            assert_eq!(transform(name).to_string(), name);
        }
        assert_eq!(transform("Bucket[16]"), transform("bucket[16]"));
        assert_eq!(transform("DAY"), Transform::Day);
        assert_eq!(transform("zorder"), Transform::Unknown("zorder".into()));
        for name in [
            "bucket[0]",
            "truncate[0]",
            "bucket[2147483648]",
            "truncate[99999999999]",
        ] {
            let fault = Transform::parse(name).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::Corrupt);
            assert!(fault.message().contains(name), "{fault}");
        }
    }

    #[test]
    fn sources_and_results() {
        // The table of "Partition Transforms".
        use PrimitiveType as P;
        let all = [
            P::Boolean,
            P::Int,
            P::Long,
            P::Float,
            P::Double,
            DECIMAL,
            P::Date,
            P::Time,
            P::Timestamp,
            P::Timestamptz,
            P::TimestampNs,
            P::TimestamptzNs,
            P::String,
            P::Uuid,
            P::Fixed(4),
            P::Binary,
            P::Geometry { crs: None },
            P::Geography {
                crs: None,
                algorithm: None,
            },
        ];
        let times = "date timestamp timestamptz timestamp_ns timestamptz_ns";
        for (name, sources, result) in [
            (
                "bucket[4]",
                "int long decimal(9, 2) date time timestamp timestamptz timestamp_ns timestamptz_ns string uuid fixed[4] binary",
                Some(P::Int),
            ),
            ("truncate[4]", "int long decimal(9, 2) string binary", None),
            ("year", times, Some(P::Int)),
            ("month", times, Some(P::Int)),
            ("day", times, Some(P::Date)),
            (
                "hour",
                "timestamp timestamptz timestamp_ns timestamptz_ns",
                Some(P::Int),
            ),
            (
                "identity",
                "boolean int long float double decimal(9, 2) date time timestamp timestamptz timestamp_ns timestamptz_ns string uuid fixed[4] binary",
                None,
            ),
        ] {
            let accepted: Vec<String> = all
                .iter()
                .filter(|source| transform(name).accepts(source))
                .map(ToString::to_string)
                .collect();
            assert_eq!(accepted.join(" "), sources, "{name}");
            for source in all.iter().filter(|source| transform(name).accepts(source)) {
                let expected = result.clone().unwrap_or_else(|| source.clone());
                assert_eq!(transform(name).result_type(source), expected);
            }
        }
        assert!(all.iter().all(|source| transform("void").accepts(source)));
    }
}
