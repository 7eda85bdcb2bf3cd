//! Canonical values as Postgres' own typed literals, to fill a heap table with the same rows.

use serde_json::{Map, Value as Json, json};

use crate::compare::is_jsonb;
use crate::database::quoted;
use crate::iceberg_type::IcebergType;
use crate::value::Value;

/// The Postgres type that a column of this type has.
pub fn postgres_type(kind: &IcebergType) -> String {
    match kind {
        IcebergType::Boolean => "boolean".into(),
        IcebergType::Int => "integer".into(),
        IcebergType::Long => "bigint".into(),
        IcebergType::Float => "real".into(),
        IcebergType::Double => "double precision".into(),
        IcebergType::Decimal { scale } => format!("numeric(38,{scale})"),
        IcebergType::Date => "date".into(),
        IcebergType::Time => "time".into(),
        IcebergType::Timestamp | IcebergType::TimestampNs => "timestamp".into(),
        IcebergType::Timestamptz | IcebergType::TimestamptzNs => "timestamptz".into(),
        IcebergType::Uuid => "uuid".into(),
        IcebergType::Binary => "bytea".into(),
        IcebergType::String | IcebergType::Unknown => "text".into(),
        IcebergType::List(element) if element.is_scalar() => {
            format!("{}[]", postgres_type(element))
        }
        _ => "jsonb".into(),
    }
}

/// The literal of a value, with its type where the text alone does not tell.
pub fn literal(kind: &IcebergType, value: &Value) -> String {
    if *value == Value::Null {
        return "NULL".into();
    }
    if let (IcebergType::List(element), Value::List(elements), false) =
        (kind, value, is_jsonb(kind))
    {
        let elements: Vec<_> = elements
            .iter()
            .map(|value| literal(element, value))
            .collect();
        return format!("ARRAY[{}]::{}", elements.join(","), postgres_type(kind));
    }
    if is_jsonb(kind) {
        return format!("{}::jsonb", quoted(to_json(kind, value).to_string()));
    }
    match value {
        // Postgres' own arithmetic makes the moment: no printer of dates of ours stands between.
        Value::Date(days) => format!("(date '1970-01-01' + ({days}))"),
        Value::Time(microseconds) => {
            format!("(time '00:00' + {})", interval(*microseconds))
        }
        Value::Timestamp(microseconds) => {
            format!("(timestamp '1970-01-01' + {})", interval(*microseconds))
        }
        Value::Timestamptz(microseconds) => format!(
            "((timestamp '1970-01-01' + {}) AT TIME ZONE 'UTC')",
            interval(*microseconds)
        ),
        Value::Float(bits) => format!("'{}'::real", f32::from_bits(*bits)),
        Value::Double(bits) => format!("'{}'::double precision", f64::from_bits(*bits)),
        value => format!("{}::{}", quoted(text(value)), postgres_type(kind)),
    }
}

/// Days, seconds and microseconds, each small enough to be read exactly by every version of Postgres.
fn interval(microseconds: i128) -> String {
    const SECOND: i128 = 1_000_000;
    const DAY: i128 = 86_400 * SECOND;
    let (days, rest) = (microseconds.div_euclid(DAY), microseconds.rem_euclid(DAY));
    let (seconds, rest) = (rest / SECOND, rest % SECOND);
    format!("interval '{days} days {seconds} seconds {rest} microseconds'")
}

fn text(value: &Value) -> String {
    match value {
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Decimal(value) | Value::String(value) => value.clone(),
        Value::Uuid(value) => value.to_string(),
        Value::Binary(bytes) => format!(
            "\\x{}",
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        ),
        other => panic!("no text for {other:?}"),
    }
}

/// A value inside `jsonb`, in the form that the design fixes.
fn to_json(kind: &IcebergType, value: &Value) -> Json {
    match (kind, value) {
        (_, Value::Null) => Json::Null,
        (_, Value::Boolean(value)) => json!(value),
        (_, Value::Integer(value)) => json!(value),
        (_, Value::Float(bits)) => float(f64::from(f32::from_bits(*bits)), f32::from_bits(*bits).to_string()),
        (_, Value::Double(bits)) => float(f64::from_bits(*bits), f64::from_bits(*bits).to_string()),
        (_, Value::Binary(bytes)) => json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        (IcebergType::Struct(fields), Value::Struct(values)) => {
            let pair = |(field, (name, value)): (&crate::iceberg_type::Field, &(String, Value))| (name.clone(), to_json(&field.kind, value));
            Json::Object(fields.iter().zip(values).map(pair).collect::<Map<_, _>>())
        }
        (IcebergType::List(element), Value::List(values)) => Json::Array(values.iter().map(|value| to_json(element, value)).collect()),
        (IcebergType::Map(key, entry), Value::Map(entries)) if **key == IcebergType::String => {
            Json::Object(entries.iter().map(|(name, value)| (text(name), to_json(entry, value))).collect())
        }
        (IcebergType::Map(key, entry), Value::Map(entries)) => {
            Json::Array(entries.iter().map(|(name, value)| json!({"key": to_json(key, name), "value": to_json(entry, value)})).collect())
        }
        (_, Value::Date(_) | Value::Time(_) | Value::Timestamp(_) | Value::Timestamptz(_)) => panic!("dates and times inside jsonb are compared as values"),
        (_, value) => json!(text(value)),
    }
}

fn float(value: f64, shortest: String) -> Json {
    if value.is_nan() {
        json!("NaN")
    } else if value.is_infinite() {
        json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        // The shortest text that is this float, as a number.
        serde_json::from_str(&shortest).expect("a finite float prints as a number")
    }
}

/// Whether the rows of a column of this type can be written as literals.
pub fn has_literal(kind: &IcebergType) -> bool {
    fn inside(kind: &IcebergType) -> bool {
        match kind {
            IcebergType::Date
            | IcebergType::Time
            | IcebergType::Variant
            | IcebergType::Other(_) => false,
            IcebergType::Timestamp
            | IcebergType::Timestamptz
            | IcebergType::TimestampNs
            | IcebergType::TimestamptzNs => false,
            IcebergType::Struct(fields) => fields.iter().all(|field| inside(&field.kind)),
            IcebergType::List(element) => inside(element),
            IcebergType::Map(key, value) => inside(key) && inside(value),
            _ => true,
        }
    }
    if is_jsonb(kind) { inside(kind) } else { true }
}
