//! Single values of primitive types in their JSON form, both ways.
//! Spec: Appendix D "JSON single-value serialization".

use serde_json::Value;
use uuid::Uuid;

use super::iso_text::{
    days, iso_date, iso_time, iso_timestamp, timestamp, units_of_day, without_zone,
};
use super::types::PrimitiveType;
use super::value::PrimitiveValue;
use crate::error::{Error, ErrorKind, Result};

impl PrimitiveValue {
    /// Reads the JSON single-value form.
    ///
    /// Wider than the spec where nothing can be misread: an integer for a `float` or `double`, the
    /// texts `NaN`, `Infinity` and `-Infinity` that [`PrimitiveValue::to_json`] writes, fewer or
    /// absent digits of seconds, a decimal of another scale with the same value, `Z` for `+00:00`.
    ///
    /// # Errors
    /// `Corrupt` if the JSON is no value of the type, `NotSupported` for `unknown`, `geometry` and
    /// `geography`.
    pub fn from_json(primitive: &PrimitiveType, json: &Value) -> Result<Self> {
        if let PrimitiveType::Unknown
        | PrimitiveType::Geometry { .. }
        | PrimitiveType::Geography { .. } = primitive
        {
            return Err(Error::not_supported(format!(
                "values of type {primitive} in JSON"
            )));
        }
        Self::read_json(primitive, json).ok_or_else(|| {
            Error::new(
                ErrorKind::Corrupt,
                format!("{json} is no value of type {primitive}"),
            )
        })
    }

    fn read_json(primitive: &PrimitiveType, json: &Value) -> Option<Self> {
        Some(match primitive {
            PrimitiveType::Boolean => Self::Boolean(json.as_bool()?),
            PrimitiveType::Int => Self::Int(json.as_i64()?.try_into().ok()?),
            PrimitiveType::Long => Self::Long(json.as_i64()?),
            PrimitiveType::Float => {
                let wide = number(json)?;
                let narrow = wide as f32;
                if narrow.is_infinite() && wide.is_finite() {
                    return None;
                }
                Self::Float(narrow)
            }
            PrimitiveType::Double => Self::Double(number(json)?),
            PrimitiveType::Decimal { precision, scale } => {
                Self::Decimal(decimal(json.as_str()?, *precision, *scale)?)
            }
            PrimitiveType::Date => Self::Date(days(json.as_str()?)?.try_into().ok()?),
            PrimitiveType::Time => Self::Time(units_of_day(json.as_str()?, 6)?),
            PrimitiveType::Timestamp => Self::Timestamp(timestamp(json.as_str()?, 6)?),
            PrimitiveType::Timestamptz => {
                Self::Timestamptz(timestamp(without_zone(json.as_str()?)?, 6)?)
            }
            PrimitiveType::TimestampNs => Self::TimestampNs(timestamp(json.as_str()?, 9)?),
            PrimitiveType::TimestamptzNs => {
                Self::TimestamptzNs(timestamp(without_zone(json.as_str()?)?, 9)?)
            }
            PrimitiveType::String => Self::String(json.as_str()?.to_owned()),
            PrimitiveType::Uuid => {
                let text = json.as_str().filter(|text| text.len() == 36)?;
                Self::Uuid(Uuid::try_parse(text).ok()?)
            }
            PrimitiveType::Fixed(length) => {
                let text = json.as_str()?;
                if text.len() as u64 != 2 * u64::from(*length) {
                    return None;
                }
                Self::Fixed(from_hex(text)?)
            }
            PrimitiveType::Binary => Self::Binary(from_hex(json.as_str()?)?),
            PrimitiveType::Unknown
            | PrimitiveType::Geometry { .. }
            | PrimitiveType::Geography { .. } => return None,
        })
    }

    /// The JSON single-value form. `primitive` gives a decimal's scale; NaN and the infinities,
    /// which JSON numbers do not have, are the texts `NaN`, `Infinity` and `-Infinity`.
    pub fn to_json(&self, primitive: &PrimitiveType) -> Value {
        match self {
            Self::Boolean(value) => Value::from(*value),
            Self::Int(value) => Value::from(*value),
            Self::Long(value) => Value::from(*value),
            // By way of the shortest text, so that 0.1 stays 0.1 and not 0.10000000149011612.
            Self::Float(value) => match value.to_string().parse() {
                Ok(wide) => float_json(wide),
                Err(_) => float_json((*value).into()),
            },
            Self::Double(value) => float_json(*value),
            Self::Decimal(unscaled) => {
                let scale = match primitive {
                    PrimitiveType::Decimal { scale, .. } => *scale,
                    _ => 0,
                };
                Value::String(decimal_text(*unscaled, scale))
            }
            Self::Date(days) => Value::String(iso_date((*days).into())),
            Self::Time(micros) => Value::String(iso_time(*micros, 6)),
            Self::Timestamp(micros) => Value::String(iso_timestamp(*micros, 6)),
            Self::Timestamptz(micros) => {
                Value::String(format!("{}+00:00", iso_timestamp(*micros, 6)))
            }
            Self::TimestampNs(nanos) => Value::String(iso_timestamp(*nanos, 9)),
            Self::TimestamptzNs(nanos) => {
                Value::String(format!("{}+00:00", iso_timestamp(*nanos, 9)))
            }
            Self::String(value) => Value::from(value.as_str()),
            Self::Uuid(value) => Value::String(value.hyphenated().to_string()),
            Self::Fixed(value) | Self::Binary(value) => Value::String(hex(value)),
        }
    }
}

fn float_json(value: f64) -> Value {
    match serde_json::Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => Value::from("NaN"),
        None if value > 0.0 => Value::from("Infinity"),
        None => Value::from("-Infinity"),
    }
}

fn number(json: &Value) -> Option<f64> {
    match json {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// An unscaled value as digits with `scale` of them after the point.
pub(crate) fn decimal_text(unscaled: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    }
}

/// Reads digits with an optional point and exponent as the unscaled value at `scale`; `None` if
/// that would lose digits or need more than `precision` of them.
fn decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    let mut unscaled: i128 = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        let digit = char::from(byte).to_digit(10)?;
        unscaled = unscaled.checked_mul(10)?.checked_add(digit.into())?;
    }
    let mut missing =
        i64::from(scale) + i64::from(exponent) - i64::try_from(fraction.len()).ok()?;
    while missing != 0 && unscaled != 0 {
        if missing > 0 {
            unscaled = unscaled.checked_mul(10)?;
            missing -= 1;
        } else {
            if unscaled % 10 != 0 {
                return None;
            }
            unscaled /= 10;
            missing += 1;
        }
    }
    (unscaled < 10_i128.checked_pow(precision.into())?).then_some(if negative {
        -unscaled
    } else {
        unscaled
    })
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text
        .chars()
        .map(|digit| digit.to_digit(16))
        .collect::<Option<Vec<u32>>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| {
        pairs
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DECIMAL: PrimitiveType = PrimitiveType::Decimal {
        precision: 9,
        scale: 2,
    };

    fn read(primitive: &PrimitiveType, json: Value) -> PrimitiveValue {
        PrimitiveValue::from_json(primitive, &json).unwrap()
    }

    #[test]
    fn json_forms_of_the_spec() {
        // The examples of Appendix D, in its form both ways.
        let uuid = "f79c3e09-677c-4bbd-a479-3f349cb785e7";
        // select extract(epoch from timestamp '2017-11-16 22:31:08.123456') * 1000000
        let micros = 1_510_871_468_123_456;
        for (primitive, value, json) in [
            (
                PrimitiveType::Boolean,
                PrimitiveValue::Boolean(true),
                json!(true),
            ),
            (PrimitiveType::Int, PrimitiveValue::Int(34), json!(34)),
            (PrimitiveType::Long, PrimitiveValue::Long(34), json!(34)),
            (PrimitiveType::Float, PrimitiveValue::Float(1.0), json!(1.0)),
            (
                PrimitiveType::Double,
                PrimitiveValue::Double(1.0),
                json!(1.0),
            ),
            (DECIMAL, PrimitiveValue::Decimal(1_420), json!("14.20")),
            (
                PrimitiveType::Date,
                PrimitiveValue::Date(17_486),
                json!("2017-11-16"),
            ),
            (
                PrimitiveType::Time,
                PrimitiveValue::Time(81_068_123_456),
                json!("22:31:08.123456"),
            ),
            (
                PrimitiveType::Timestamp,
                PrimitiveValue::Timestamp(micros),
                json!("2017-11-16T22:31:08.123456"),
            ),
            (
                PrimitiveType::Timestamptz,
                PrimitiveValue::Timestamptz(micros),
                json!("2017-11-16T22:31:08.123456+00:00"),
            ),
            (
                PrimitiveType::TimestampNs,
                PrimitiveValue::TimestampNs(micros * 1_000 + 789),
                json!("2017-11-16T22:31:08.123456789"),
            ),
            (
                PrimitiveType::TimestamptzNs,
                PrimitiveValue::TimestamptzNs(micros * 1_000 + 789),
                json!("2017-11-16T22:31:08.123456789+00:00"),
            ),
            (
                PrimitiveType::String,
                PrimitiveValue::String("iceberg".into()),
                json!("iceberg"),
            ),
            (
                PrimitiveType::Uuid,
                PrimitiveValue::Uuid(Uuid::try_parse(uuid).unwrap()),
                json!(uuid),
            ),
            (
                PrimitiveType::Fixed(4),
                PrimitiveValue::Fixed(vec![0, 1, 2, 255]),
                json!("000102ff"),
            ),
            (
                PrimitiveType::Binary,
                PrimitiveValue::Binary(vec![0, 1, 2, 255]),
                json!("000102ff"),
            ),
        ] {
            assert_eq!(read(&primitive, json.clone()), value);
            assert_eq!(value.to_json(&primitive), json);
        }
    }

    #[test]
    fn before_1970_and_the_extremes() {
        let timestamp = PrimitiveType::Timestamp;
        for (micros, text) in [
            (-1, "1969-12-31T23:59:59.999999"),
            (-62_135_596_800_000_000, "0001-01-01T00:00:00.000000"),
            (-62_135_596_800_000_001, "0000-12-31T23:59:59.999999"),
            // As Java's Instant prints the ends of a long of microseconds.
            (i64::MAX, "+294247-01-10T04:00:54.775807"),
            (i64::MIN, "-290308-12-21T19:59:05.224192"),
        ] {
            let value = PrimitiveValue::Timestamp(micros);
            assert_eq!(value.to_json(&timestamp), json!(text));
            assert_eq!(read(&timestamp, json!(text)), value);
        }
        for (days, text) in [
            (i32::MAX, "+5881580-07-11"), // The year before the year 0, of 366 days.
            (-719_163 - 366, "-0001-12-31"),
            (i32::MIN, "-5877641-06-23"),
        ] {
            let value = PrimitiveValue::Date(days);
            assert_eq!(value.to_json(&PrimitiveType::Date), json!(text));
            assert_eq!(read(&PrimitiveType::Date, json!(text)), value);
        }
        assert_eq!(
            PrimitiveValue::TimestampNs(i64::MIN).to_json(&PrimitiveType::TimestampNs),
            json!("1677-09-21T00:12:43.145224192")
        );
    }

    #[test]
    fn decimals_keep_their_scale() {
        let wide = PrimitiveType::Decimal {
            precision: 38,
            scale: 0,
        };
        let nines = "9".repeat(38);
        for (primitive, unscaled, text) in [
            (&DECIMAL, 0, "0.00"),
            (&DECIMAL, 5, "0.05"),
            (&DECIMAL, -5, "-0.05"),
            (&DECIMAL, -1_420, "-14.20"),
            (&wide, 10_i128.pow(38) - 1, nines.as_str()),
        ] {
            let value = PrimitiveValue::Decimal(unscaled);
            assert_eq!(value.to_json(primitive), json!(text));
            assert_eq!(read(primitive, json!(text)), value);
        }
        for (text, unscaled) in [
            ("14.2", 1_420),
            ("14", 1_400),
            ("1.42E+1", 1_420),
            ("142e-1", 1_420),
            ("14.200", 1_420),
            ("+14.20", 1_420),
            (".5", 50),
            ("0e99999", 0),
        ] {
            assert_eq!(
                read(&DECIMAL, json!(text)),
                PrimitiveValue::Decimal(unscaled),
                "{text}"
            );
        }
        for text in [
            "14.205",
            "10000000.00",
            "",
            ".",
            "-",
            "1e",
            "1e99999999999",
            "1e30",
            "1e-30",
            "1.0.0",
            "NaN",
            "0x10",
            " 1",
            "1_0",
            "1e2147483647",
        ] {
            assert!(
                PrimitiveValue::from_json(&DECIMAL, &json!(text)).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn floats_are_written_with_their_own_digits() {
        let value = PrimitiveValue::Float(0.1);
        assert_eq!(value.to_json(&PrimitiveType::Float).to_string(), "0.1");
        assert_eq!(read(&PrimitiveType::Float, json!(0.1)), value);
        assert_eq!(
            PrimitiveValue::Double(f64::MAX)
                .to_json(&PrimitiveType::Double)
                .to_string(),
            "1.7976931348623157e+308"
        );
        for (value, text) in [
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(
                PrimitiveValue::Double(value).to_json(&PrimitiveType::Double),
                json!(text)
            );
            assert_eq!(
                read(&PrimitiveType::Float, json!(text)),
                PrimitiveValue::Float(value as f32)
            );
        }
        assert_eq!(
            PrimitiveValue::Float(f32::NAN).to_json(&PrimitiveType::Float),
            json!("NaN")
        );
        assert!(PrimitiveValue::from_json(&PrimitiveType::Float, &json!(1e300)).is_err());
    }

    #[test]
    fn shorter_times_are_read() {
        assert_eq!(
            read(&PrimitiveType::Time, json!("12:34:56.789")),
            PrimitiveValue::Time(45_296_789_000)
        );
        assert_eq!(
            read(&PrimitiveType::Time, json!("12:34")),
            PrimitiveValue::Time(45_240_000_000)
        );
        assert_eq!(
            read(&PrimitiveType::Timestamptz, json!("1970-01-01T00:00:01Z")),
            PrimitiveValue::Timestamptz(1_000_000)
        );
    }

    #[test]
    fn what_is_no_value_is_corrupt() {
        let (int, date, time) = (PrimitiveType::Int, PrimitiveType::Date, PrimitiveType::Time);
        let (timestamp, zoned) = (PrimitiveType::Timestamp, PrimitiveType::Timestamptz);
        for (primitive, json) in [
            (&PrimitiveType::Boolean, json!(1)),
            (&int, json!(2_147_483_648_i64)),
            (&int, json!(1.0)),
            (&int, json!("1")),
            (&int, json!(null)),
            (&PrimitiveType::Long, json!(9_223_372_036_854_775_808_u64)),
            (&PrimitiveType::Double, json!("1.0")),
            (&DECIMAL, json!(14.2)),
            (&date, json!("2023-02-29")),
            (&date, json!("17-11-16")),
            (&date, json!("2017-1-16")),
            (&date, json!("2017-11-16T00:00:00")),
            (&date, json!("9999999-01-01")),
            (&date, json!(17486)),
            (&time, json!("24:00:00")),
            (&time, json!("22:60:00")),
            (&time, json!("22:31:60")),
            (&time, json!("22:31:08.1234567")),
            (&time, json!("22:31:08.")),
            (&time, json!("22")),
            (&time, json!("-1:00:00")),
            (&timestamp, json!("2017-11-16T22:31:08+00:00")),
            (&timestamp, json!("2017-11-16 22:31:08")),
            (&timestamp, json!("+294248-01-01T00:00:00")),
            (&zoned, json!("2017-11-16T22:31:08")),
            (&zoned, json!("2017-11-16T22:31:08-08:00")),
            (
                &PrimitiveType::TimestampNs,
                json!("1677-09-21T00:12:43.145224191"),
            ),
            (
                &PrimitiveType::Uuid,
                json!("f79c3e09677c4bbda4793f349cb785e7"),
            ),
            (&PrimitiveType::Fixed(4), json!("000102")),
            (&PrimitiveType::Fixed(2), json!("00é")),
            (&PrimitiveType::Binary, json!("0")),
            (&PrimitiveType::Binary, json!("zz")),
        ] {
            let fault = PrimitiveValue::from_json(primitive, &json).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::Corrupt);
            assert_eq!(
                fault.message(),
                format!("{json} is no value of type {primitive}")
            );
        }
    }
}
