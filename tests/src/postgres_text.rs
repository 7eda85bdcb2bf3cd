//! Postgres' text output read back into canonical values, per Iceberg type and the shape in which the column appears:
//! scalars and arrays as Postgres prints them under `timezone = UTC`, structs and maps from `jsonb`.

use serde_json::Value as Json;

use crate::iceberg_type::{Field, IcebergType};
use crate::value::{Value, hexadecimal, json_float};
use crate::{instant, variant};

/// Reads a column's text. Fails with the text that is no value of the type.
pub fn column_value(kind: &IcebergType, text: Option<&str>) -> Result<Value, String> {
    let Some(text) = text else {
        return Ok(Value::Null);
    };
    let value = match kind {
        IcebergType::List(element) if element.is_scalar() => array(element, text),
        kind if kind.is_scalar() => scalar(kind, text),
        // A variant may itself be null, which is another thing than no variant.
        IcebergType::Variant => serde_json::from_str(text)
            .ok()
            .map(|json| Value::Variant(variant::canonical(&json))),
        kind => serde_json::from_str(text)
            .ok()
            .and_then(|json| jsonb(kind, &json)),
    };
    value.ok_or_else(|| format!("{text:?} is no value of type {kind:?}"))
}

fn scalar(kind: &IcebergType, text: &str) -> Option<Value> {
    Some(match kind {
        IcebergType::Boolean => Value::Boolean(match text {
            "t" => true,
            "f" => false,
            _ => return None,
        }),
        IcebergType::Int | IcebergType::Long => Value::Integer(text.parse().ok()?),
        // Rust reads the words NaN, Infinity and -Infinity as Postgres prints them.
        IcebergType::Float => Value::float(text.parse().ok()?),
        IcebergType::Double => Value::double(text.parse().ok()?),
        IcebergType::Decimal { .. } => Value::Decimal(text.to_owned()),
        IcebergType::Date => Value::Date(instant::parse_date(text)?),
        IcebergType::Time => Value::Time(instant::parse_time(text)?.div_euclid(1_000)),
        IcebergType::Timestamp | IcebergType::TimestampNs => Value::timestamp(text, false)?,
        IcebergType::Timestamptz | IcebergType::TimestamptzNs => Value::timestamp(text, true)?,
        IcebergType::String => Value::String(text.to_owned()),
        IcebergType::Uuid => Value::Uuid(text.parse().ok()?),
        IcebergType::Binary => Value::Binary(hexadecimal(text.strip_prefix("\\x")?)?),
        _ => return None,
    })
}

fn array(element: &IcebergType, text: &str) -> Option<Value> {
    let elements = array_elements(text)?;
    let value = |text: &Option<String>| match text {
        None => Some(Value::Null),
        Some(text) => scalar(element, text),
    };
    Some(Value::List(
        elements.iter().map(value).collect::<Option<_>>()?,
    ))
}

/// The elements of a one-dimensional array's text: `{a,"b c",NULL}`.
pub fn array_elements(text: &str) -> Option<Vec<Option<String>>> {
    let mut inner = text
        .strip_prefix('{')?
        .strip_suffix('}')?
        .chars()
        .peekable();
    let mut elements = Vec::new();
    if inner.peek().is_none() {
        return Some(elements);
    }
    loop {
        let mut element = String::new();
        let quoted = inner.next_if_eq(&'"').is_some();
        loop {
            match inner.peek() {
                Some('"') if quoted => {
                    inner.next();
                    break;
                }
                Some('\\') => {
                    inner.next();
                    element.push(inner.next()?);
                }
                Some(',') | None if !quoted => break,
                None => return None,
                Some('{' | '}') if !quoted => return None,
                Some(_) => element.push(inner.next()?),
            }
        }
        elements.push((quoted || element != "NULL").then_some(element));
        match inner.next() {
            None => return Some(elements),
            Some(',') => {}
            Some(_) => return None,
        }
    }
}

/// Reads a value inside `jsonb`: structs are objects, maps with string keys objects, other maps arrays of key and value,
/// scalars in the spec's JSON single-value form (Appendix D).
pub fn jsonb(kind: &IcebergType, json: &Json) -> Option<Value> {
    if json.is_null() {
        return Some(Value::Null);
    }
    Some(match kind {
        IcebergType::Boolean => Value::Boolean(json.as_bool()?),
        IcebergType::Int | IcebergType::Long => Value::Integer(json.as_i64()?),
        IcebergType::Float => Value::float(json_float(json)? as f32),
        IcebergType::Double => Value::double(json_float(json)?),
        IcebergType::Decimal { .. } => Value::Decimal(json.as_str()?.to_owned()),
        IcebergType::Binary => Value::Binary(hexadecimal(json.as_str()?)?),
        IcebergType::Struct(fields) => {
            let object = json.as_object()?;
            if object.len() != fields.len() {
                return None;
            }
            let field = |field: &Field| {
                Some((
                    field.name.clone(),
                    jsonb(&field.kind, object.get(&field.name)?)?,
                ))
            };
            Value::Struct(fields.iter().map(field).collect::<Option<_>>()?)
        }
        IcebergType::List(element) => Value::List(
            json.as_array()?
                .iter()
                .map(|value| jsonb(element, value))
                .collect::<Option<_>>()?,
        ),
        IcebergType::Map(key, value) if **key == IcebergType::String => {
            let entry = |(key, entry): (&String, &Json)| {
                Some((Value::String(key.clone()), jsonb(value, entry)?))
            };
            Value::Map(json.as_object()?.iter().map(entry).collect::<Option<_>>()?)
        }
        IcebergType::Map(key, value) => {
            let entry = |entry: &Json| {
                let entry = entry.as_object()?;
                (entry.len() == 2).then_some(())?;
                Some((
                    jsonb(key, entry.get("key")?)?,
                    jsonb(value, entry.get("value")?)?,
                ))
            };
            Value::Map(json.as_array()?.iter().map(entry).collect::<Option<_>>()?)
        }
        IcebergType::Variant => Value::Variant(variant::canonical(json)),
        // Dates, times, strings and UUIDs read the same in JSON as in Postgres' text.
        kind => scalar(kind, json.as_str()?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_with_quotes_backslashes_and_nulls() {
        let elements = array_elements(r#"{a,"b c","NULL",NULL,"q\"\\",""}"#).expect("an array");
        let expected = [
            Some("a"),
            Some("b c"),
            Some("NULL"),
            None,
            Some("q\"\\"),
            Some(""),
        ];
        assert_eq!(
            elements.iter().map(Option::as_deref).collect::<Vec<_>>(),
            expected
        );
        assert_eq!(array_elements("{}"), Some(vec![]));
        assert_eq!(array_elements("{a"), None);
        assert_eq!(array_elements("{{1},{2}}"), None);
    }

    #[test]
    fn a_struct_needs_exactly_its_fields() {
        let kind = IcebergType::Struct(vec![Field {
            id: 1,
            name: "a".into(),
            required: false,
            kind: IcebergType::Int,
        }]);
        assert_eq!(
            column_value(&kind, Some(r#"{"a": 1}"#)),
            Ok(Value::Struct(vec![("a".into(), Value::Integer(1))]))
        );
        assert!(column_value(&kind, Some(r#"{"a": 1, "b": 2}"#)).is_err());
        assert!(column_value(&kind, Some("{}")).is_err());
    }

    #[test]
    fn zones_are_part_of_the_type() {
        assert!(column_value(&IcebergType::Timestamptz, Some("2024-01-01 00:00:00")).is_err());
        assert!(column_value(&IcebergType::Timestamp, Some("2024-01-01 00:00:00+00")).is_err());
    }
}
