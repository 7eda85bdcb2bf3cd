//! A value in one canonical form, whichever text it came from, so that two readers can be compared exactly.
//! Nothing is rounded: floats compare by their bits (every NaN is the same NaN), decimals with their scale.

use serde_json::Value as Json;

use crate::iceberg_type::IcebergType;
use crate::{instant, variant};

/// A value of any Iceberg type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    Null,
    Boolean(bool),
    /// `int` and `long`.
    Integer(i64),
    /// The bits of a four-byte float.
    Float(u32),
    /// The bits of an eight-byte float.
    Double(u64),
    /// The number with all digits of its scale.
    Decimal(String),
    /// Days from 1970-01-01.
    Date(i64),
    /// Microseconds from midnight.
    Time(i128),
    /// Microseconds from 1970-01-01T00:00.
    Timestamp(i128),
    /// Microseconds from 1970-01-01T00:00Z.
    Timestamptz(i128),
    String(String),
    Uuid(uuid::Uuid),
    Binary(Vec<u8>),
    /// The variant as JSON, its objects' names in order: see [`crate::variant`].
    Variant(String),
    Struct(Vec<(String, Value)>),
    List(Vec<Value>),
    /// Entries as they were written; a map has no order: see [`Value::as_in_jsonb`].
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// A float; all NaN are one.
    pub fn float(value: f32) -> Value {
        Value::Float(if value.is_nan() {
            f32::NAN.to_bits()
        } else {
            value.to_bits()
        })
    }

    /// A double; all NaN are one.
    pub fn double(value: f64) -> Value {
        Value::Double(if value.is_nan() {
            f64::NAN.to_bits()
        } else {
            value.to_bits()
        })
    }

    /// A date and time with or without a zone, from its text; nanoseconds are floored to microseconds, as Postgres holds no more.
    pub fn timestamp(text: &str, with_zone: bool) -> Option<Value> {
        let (nanoseconds, zoned) = instant::parse_timestamp(text)?;
        if zoned != with_zone {
            return None;
        }
        let microseconds = nanoseconds.div_euclid(1_000);
        Some(if with_zone {
            Value::Timestamptz(microseconds)
        } else {
            Value::Timestamp(microseconds)
        })
    }

    /// A value of `expected.json`.
    pub fn from_expected(kind: &IcebergType, json: &Json) -> Value {
        parse_expected(kind, json).unwrap_or_else(|| panic!("{json} is no value of type {kind:?}"))
    }

    /// What is left of a value inside `jsonb`: numbers there have no sign of zero. Entries of maps are put in the order of their keys.
    pub fn as_in_jsonb(self) -> Value {
        match self {
            Value::Float(bits) if f32::from_bits(bits) == 0.0 => Value::float(0.0),
            Value::Double(bits) if f64::from_bits(bits) == 0.0 => Value::double(0.0),
            Value::Struct(fields) => Value::Struct(
                fields
                    .into_iter()
                    .map(|(name, value)| (name, value.as_in_jsonb()))
                    .collect(),
            ),
            Value::List(elements) => {
                Value::List(elements.into_iter().map(Value::as_in_jsonb).collect())
            }
            Value::Map(entries) => {
                let mut entries: Vec<_> = entries
                    .into_iter()
                    .map(|(key, value)| (key.as_in_jsonb(), value.as_in_jsonb()))
                    .collect();
                entries.sort();
                Value::Map(entries)
            }
            other => other,
        }
    }
}

/// A float of JSON: a number, or a word for what JSON has no number for.
pub fn json_float(json: &Json) -> Option<f64> {
    match json.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => json.as_f64(),
    }
}

/// Bytes of hexadecimal digits.
pub fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

fn parse_expected(kind: &IcebergType, json: &Json) -> Option<Value> {
    if json.is_null() {
        return Some(Value::Null);
    }
    Some(match kind {
        IcebergType::Boolean => Value::Boolean(json.as_bool()?),
        IcebergType::Int | IcebergType::Long => Value::Integer(json.as_i64()?),
        IcebergType::Float => Value::float(json_float(json)? as f32),
        IcebergType::Double => Value::double(json_float(json)?),
        IcebergType::Decimal { .. } => Value::Decimal(json.as_str()?.to_owned()),
        IcebergType::Date => Value::Date(instant::parse_date(json.as_str()?)?),
        IcebergType::Time => Value::Time(instant::parse_time(json.as_str()?)?.div_euclid(1_000)),
        IcebergType::Timestamp | IcebergType::TimestampNs => {
            Value::timestamp(json.as_str()?, false)?
        }
        IcebergType::Timestamptz | IcebergType::TimestamptzNs => {
            Value::timestamp(json.as_str()?, true)?
        }
        IcebergType::String => Value::String(json.as_str()?.to_owned()),
        IcebergType::Uuid => Value::Uuid(json.as_str()?.parse().ok()?),
        IcebergType::Binary => Value::Binary(hexadecimal(json.as_str()?.strip_prefix("0x")?)?),
        IcebergType::Variant => Value::Variant(variant::expected(json.get("$variant")?)?),
        IcebergType::Struct(fields) => {
            let object = json.as_object()?;
            let field = |field: &crate::iceberg_type::Field| {
                Some((
                    field.name.clone(),
                    parse_expected(&field.kind, object.get(&field.name)?)?,
                ))
            };
            Value::Struct(fields.iter().map(field).collect::<Option<_>>()?)
        }
        IcebergType::List(element) => Value::List(
            json.as_array()?
                .iter()
                .map(|value| parse_expected(element, value))
                .collect::<Option<_>>()?,
        ),
        IcebergType::Map(key, value) => {
            let entry = |entry: &Json| {
                Some((
                    parse_expected(key, entry.get(0)?)?,
                    parse_expected(value, entry.get(1)?)?,
                ))
            };
            Value::Map(
                json.get("$map")?
                    .as_array()?
                    .iter()
                    .map(entry)
                    .collect::<Option<_>>()?,
            )
        }
        IcebergType::Unknown | IcebergType::Other(_) => return None,
    })
}
