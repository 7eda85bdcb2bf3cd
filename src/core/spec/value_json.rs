//! Single values of primitive types in their JSON form, both ways.
//! Spec: Appendix D "JSON single-value serialization".

use serde_json::Value;
use uuid::Uuid;

use super::calendar::CalendarDate;
use super::types::PrimitiveType;
use super::value::PrimitiveValue;
use crate::error::{Error, ErrorKind, Result};

/// Microseconds of a day.
pub(crate) const MICROS_A_DAY: i64 = 86_400_000_000;
/// Nanoseconds of a day.
pub(crate) const NANOS_A_DAY: i64 = 86_400_000_000_000;
const SECONDS_A_DAY: i64 = 86_400;

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

/// `2017-11-16`; years beyond 9999 with a sign and as many digits as they need.
pub(crate) fn iso_date(days: i64) -> String {
    let CalendarDate { year, month, day } = CalendarDate::from_days(days);
    let sign = match year {
        ..0 => "-",
        0..=9_999 => "",
        _ => "+",
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// `22:31:08.123456`, with 6 or 9 digits after the point.
fn iso_time(units: i64, digits: u32) -> String {
    let units_a_second = 10_i64.pow(digits);
    let (seconds, fraction) = (
        units.div_euclid(units_a_second),
        units.rem_euclid(units_a_second),
    );
    format!(
        "{:02}:{:02}:{:02}.{fraction:0width$}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60,
        width = digits as usize
    )
}

/// `2017-11-16T22:31:08.123456`, with 6 or 9 digits after the point.
fn iso_timestamp(units: i64, digits: u32) -> String {
    let units_a_day = SECONDS_A_DAY * 10_i64.pow(digits);
    format!(
        "{}T{}",
        iso_date(units.div_euclid(units_a_day)),
        iso_time(units.rem_euclid(units_a_day), digits)
    )
}

fn digits(text: &str) -> Option<i64> {
    let only_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    only_digits.then(|| text.parse().ok()).flatten()
}

fn two_digits(text: &str, below: i64) -> Option<i64> {
    digits(text).filter(|value| text.len() == 2 && *value < below)
}

fn days(text: &str) -> Option<i64> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = unsigned.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if year.len() < 4 || parts.next().is_some() {
        return None;
    }
    let year = digits(year)?;
    CalendarDate {
        year: if negative { -year } else { year },
        month: two_digits(month, 13)?.try_into().ok()?,
        day: two_digits(day, 32)?.try_into().ok()?,
    }
    .to_days()
}

/// `HH:MM[:SS[.fraction]]` in units of 10^-`precision` seconds.
fn units_of_day(text: &str, precision: u32) -> Option<i64> {
    let (hour, rest) = text.split_once(':')?;
    let (minute, seconds) = match rest.split_once(':') {
        Some((minute, seconds)) => (minute, seconds),
        None => (rest, "00"),
    };
    let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let seconds =
        two_digits(hour, 24)? * 3_600 + two_digits(minute, 60)? * 60 + two_digits(second, 60)?;
    let missing = precision.checked_sub(fraction.len().try_into().ok()?)?;
    Some(seconds * 10_i64.pow(precision) + digits(fraction)? * 10_i64.pow(missing))
}

fn timestamp(text: &str, precision: u32) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    let units_a_day = i128::from(SECONDS_A_DAY * 10_i64.pow(precision));
    // Wider than the result: the first day of the range is not in it as a whole.
    let units = i128::from(days(date)?) * units_a_day + i128::from(units_of_day(time, precision)?);
    units.try_into().ok()
}

fn without_zone(text: &str) -> Option<&str> {
    text.strip_suffix("+00:00")
        .or_else(|| text.strip_suffix('Z'))
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
