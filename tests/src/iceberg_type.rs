//! The types of a table's schema, as far as comparing values needs them. Spec: "Schemas and Data Types", Appendix C.

use serde_json::Value as Json;

/// A type of the spec.
#[derive(Clone, Debug, PartialEq)]
pub enum IcebergType {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Decimal {
        scale: u32,
    },
    Date,
    Time,
    Timestamp,
    Timestamptz,
    TimestampNs,
    TimestamptzNs,
    String,
    Uuid,
    /// `fixed` and `binary`: the bytes decide.
    Binary,
    Unknown,
    Variant,
    /// A type that is not compared yet, by its name.
    Other(String),
    Struct(Vec<Field>),
    List(Box<IcebergType>),
    Map(Box<IcebergType>, Box<IcebergType>),
}

/// A field of a struct or a column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub id: i64,
    pub name: String,
    pub required: bool,
    pub kind: IcebergType,
}

impl IcebergType {
    /// Whether a column of this type is one value and no collection.
    pub fn is_scalar(&self) -> bool {
        !matches!(
            self,
            IcebergType::Struct(_)
                | IcebergType::List(_)
                | IcebergType::Map(..)
                | IcebergType::Variant
                | IcebergType::Other(_)
        )
    }

    /// Reads a type from a schema's JSON.
    pub fn from_json(json: &Json) -> IcebergType {
        if let Some(name) = json.as_str() {
            return primitive(name);
        }
        match json["type"].as_str() {
            Some("struct") => IcebergType::Struct(fields(json)),
            Some("list") => IcebergType::List(Box::new(Self::from_json(&json["element"]))),
            Some("map") => IcebergType::Map(
                Box::new(Self::from_json(&json["key"])),
                Box::new(Self::from_json(&json["value"])),
            ),
            _ => panic!("no type: {json}"),
        }
    }
}

/// The fields of a struct or schema.
pub fn fields(json: &Json) -> Vec<Field> {
    let field = |field: &Json| Field {
        id: field["id"].as_i64().expect("a field has an id"),
        name: field["name"]
            .as_str()
            .expect("a field has a name")
            .to_owned(),
        required: field["required"].as_bool().unwrap_or(false),
        kind: IcebergType::from_json(&field["type"]),
    };
    json["fields"]
        .as_array()
        .expect("a struct has fields")
        .iter()
        .map(field)
        .collect()
}

fn primitive(name: &str) -> IcebergType {
    match name {
        "boolean" => IcebergType::Boolean,
        "int" => IcebergType::Int,
        "long" => IcebergType::Long,
        "float" => IcebergType::Float,
        "double" => IcebergType::Double,
        "date" => IcebergType::Date,
        "time" => IcebergType::Time,
        "timestamp" => IcebergType::Timestamp,
        "timestamptz" => IcebergType::Timestamptz,
        "timestamp_ns" => IcebergType::TimestampNs,
        "timestamptz_ns" => IcebergType::TimestamptzNs,
        "string" => IcebergType::String,
        "uuid" => IcebergType::Uuid,
        "binary" => IcebergType::Binary,
        "unknown" => IcebergType::Unknown,
        "variant" => IcebergType::Variant,
        _ if name.starts_with("fixed") => IcebergType::Binary,
        _ => match name
            .strip_prefix("decimal(")
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|rest| rest.split_once(','))
        {
            Some((_, scale)) => IcebergType::Decimal {
                scale: scale.trim().parse().expect("a scale is a number"),
            },
            None => IcebergType::Other(name.to_owned()),
        },
    }
}
