//! Variants as JSON: the reference's notation, and what `jsonb` must hold for it. Scalars without a type in JSON are
//! strings in the spec's single-value form (Appendix D).

use arrow::datatypes::Date32Type;
use arrow::temporal_conversions::timestamp_us_to_datetime;
use serde_json::{Map, Value as Json, json};

use crate::value::{hexadecimal, json_float};

/// JSON text with the names of objects in order: `jsonb` has an order of its own.
pub fn canonical(json: &Json) -> String {
    sorted(json).to_string()
}

fn sorted(json: &Json) -> Json {
    match json {
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let members = members
                .into_iter()
                .map(|(name, value)| (name.clone(), sorted(value)));
            Json::Object(members.collect::<Map<_, _>>())
        }
        Json::Array(elements) => Json::Array(elements.iter().map(sorted).collect()),
        scalar => scalar.clone(),
    }
}

/// What `jsonb` must hold for a variant in the reference's notation, where a scalar is {"t": type, "v": value}.
pub fn expected(json: &Json) -> Option<String> {
    Some(canonical(&plain(json)?))
}

fn plain(json: &Json) -> Option<Json> {
    match json {
        Json::Array(elements) => elements
            .iter()
            .map(plain)
            .collect::<Option<_>>()
            .map(Json::Array),
        Json::Object(members) => match members.get("t").and_then(Json::as_str) {
            // Members of an object are never plain strings, so this is no object.
            Some(kind) => scalar(kind, members.get("v")?),
            None => members
                .iter()
                .map(|(name, value)| Some((name.clone(), plain(value)?)))
                .collect::<Option<_>>()
                .map(Json::Object),
        },
        _ => None,
    }
}

fn scalar(kind: &str, value: &Json) -> Option<Json> {
    // Some numbers come as strings.
    let integer = || value.as_i64().or_else(|| value.as_str()?.parse().ok());
    Some(match kind {
        "NULL" => Json::Null,
        "BOOLEAN_TRUE" | "BOOLEAN_FALSE" => json!(value.as_bool()?),
        "INT8" | "INT16" | "INT32" | "INT64" => json!(integer()?),
        "FLOAT" | "DOUBLE" => match value.as_str() {
            Some(_) if json_float(value)?.is_finite() => return None,
            Some(word) => json!(word),
            None => value.clone(),
        },
        "DECIMAL4" | "DECIMAL8" | "DECIMAL16" => serde_json::from_str(value.as_str()?).ok()?,
        "STRING" | "UUID" => json!(value.as_str()?),
        "BINARY" => {
            let digits = value.as_str()?.strip_prefix("0x")?;
            hexadecimal(digits)?;
            json!(digits.to_lowercase())
        }
        "DATE" => {
            json!(Date32Type::to_naive_date_opt(i32::try_from(integer()?).ok()?)?.to_string())
        }
        "TIMESTAMPNTZ" => json!(format!("{:?}", timestamp_us_to_datetime(integer()?)?)),
        "TIMESTAMPTZ" => json!(format!("{:?}+00:00", timestamp_us_to_datetime(integer()?)?)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_told_from_objects_with_the_same_names() {
        let notation = json!({"t": {"t": "INT8", "v": "-5"}, "v": [{"t": "DATE", "v": 19724}]});
        assert_eq!(
            expected(&notation).as_deref(),
            Some(r#"{"t":-5,"v":["2024-01-02"]}"#)
        );
        assert_eq!(expected(&json!({"t": "WHATEVER", "v": 1})), None);
    }
}
