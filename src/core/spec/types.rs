//! Iceberg's types: primitives, structs, lists, maps and variant.
//! Spec: "Schemas and Data Types"; JSON form in Appendix C.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};

/// The largest precision of a decimal.
pub const MAX_DECIMAL_PRECISION: u8 = 38;

/// The edge-interpolation algorithms of `geography`.
const EDGE_ALGORITHMS: [&str; 5] = ["spherical", "vincenty", "thomas", "andoyer", "karney"];

/// A type of a field, at any depth.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// A type without inner fields.
    Primitive(PrimitiveType),
    /// Named fields in order.
    Struct(StructType),
    /// Elements of one type.
    List(ListType),
    /// Keys and values.
    Map(MapType),
    /// A semi-structured value (v3).
    Variant,
}

/// A type without inner fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PrimitiveType {
    /// True or false.
    Boolean,
    /// 32-bit signed integer.
    Int,
    /// 64-bit signed integer.
    Long,
    /// 32-bit IEEE 754.
    Float,
    /// 64-bit IEEE 754.
    Double,
    /// Fixed-point number; `precision` is 1 to 38, `scale` at most `precision`.
    Decimal {
        /// Total number of digits.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Days from 1970-01-01.
    Date,
    /// Microseconds from midnight.
    Time,
    /// Microseconds from 1970-01-01 00:00, no zone.
    Timestamp,
    /// Microseconds from 1970-01-01 00:00 UTC.
    Timestamptz,
    /// Nanoseconds from 1970-01-01 00:00, no zone (v3).
    TimestampNs,
    /// Nanoseconds from 1970-01-01 00:00 UTC (v3).
    TimestamptzNs,
    /// UTF-8 text.
    String,
    /// 16 bytes, big-endian.
    Uuid,
    /// Exactly so many bytes.
    Fixed(u32),
    /// Any bytes.
    Binary,
    /// Always null (v3).
    Unknown,
    /// Planar shapes as WKB (v3); `crs` is `OGC:CRS84` unless given.
    Geometry {
        /// Coordinate reference system.
        crs: Option<String>,
    },
    /// Shapes on a sphere or ellipsoid as WKB (v3).
    Geography {
        /// Coordinate reference system.
        crs: Option<String>,
        /// How edges are interpolated; `spherical` unless given.
        algorithm: Option<String>,
    },
}

/// A field of a struct, or a list's element, or a map's key or value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NestedField {
    /// Unique in the schema; what data files are matched by.
    pub id: i32,
    /// The name at present; renames keep the id.
    pub name: String,
    /// Whether nulls are forbidden.
    pub required: bool,
    /// The field's type.
    pub field_type: Type,
    /// A comment.
    pub doc: Option<String>,
    /// Value of rows written before the field was there, as JSON single-value (v3).
    pub initial_default: Option<Value>,
    /// Value that a writer fills in for a field not given, as JSON single-value (v3).
    pub write_default: Option<Value>,
    /// Keys this version does not know, kept through a rewrite.
    pub unknown: Map<String, Value>,
}

/// Named fields in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct StructType {
    fields: Arc<[Arc<NestedField>]>,
}

/// Elements of one type; the element field is called `element`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListType {
    /// The element, as a field.
    pub element: Arc<NestedField>,
}

/// Keys and values; the fields are called `key` (always required) and `value`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MapType {
    /// The key, as a field.
    pub key: Arc<NestedField>,
    /// The value, as a field.
    pub value: Arc<NestedField>,
}

impl StructType {
    /// A struct of these fields.
    pub fn new(fields: impl IntoIterator<Item = NestedField>) -> Self {
        Self {
            fields: fields.into_iter().map(Arc::new).collect(),
        }
    }

    /// The fields in order.
    pub fn fields(&self) -> &[Arc<NestedField>] {
        &self.fields
    }

    /// The direct field with this id.
    pub fn field_by_id(&self, id: i32) -> Option<&Arc<NestedField>> {
        self.fields.iter().find(|field| field.id == id)
    }

    /// The direct field with exactly this name.
    pub fn field_by_name(&self, name: &str) -> Option<&Arc<NestedField>> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl NestedField {
    /// A field that forbids nulls.
    pub fn required(id: i32, name: impl Into<String>, field_type: Type) -> Self {
        Self {
            id,
            name: name.into(),
            required: true,
            field_type,
            doc: None,
            initial_default: None,
            write_default: None,
            unknown: Map::new(),
        }
    }

    /// A field that may be null.
    pub fn optional(id: i32, name: impl Into<String>, field_type: Type) -> Self {
        Self {
            required: false,
            ..Self::required(id, name, field_type)
        }
    }
}

impl From<PrimitiveType> for Type {
    fn from(primitive: PrimitiveType) -> Self {
        Self::Primitive(primitive)
    }
}

impl Type {
    /// Reads the name of a type without inner fields, such as `decimal(9, 2)`. Case and blanks around
    /// parameters do not matter.
    ///
    /// # Errors
    /// `NotSupported` for a type that the spec of this version does not have, `Corrupt` for
    /// parameters that cannot be.
    pub fn from_name(name: &str) -> Result<Self> {
        if name.trim().eq_ignore_ascii_case("variant") {
            return Ok(Self::Variant);
        }
        PrimitiveType::from_name(name).map(Self::Primitive)
    }

    /// The primitive type, if it is one.
    pub fn as_primitive(&self) -> Option<&PrimitiveType> {
        match self {
            Self::Primitive(primitive) => Some(primitive),
            _ => None,
        }
    }
}

impl PrimitiveType {
    /// Reads the name of a primitive type; see [`Type::from_name`].
    ///
    /// # Errors
    /// As [`Type::from_name`].
    pub fn from_name(name: &str) -> Result<Self> {
        let bad = |what: &str| Error::new(ErrorKind::Corrupt, format!("type \"{name}\": {what}"));
        let (base, parameters) = split_parameters(name.trim());
        let base = base.to_ascii_lowercase();
        match (base.as_str(), parameters) {
            ("decimal", Some(('(', parameters))) => {
                let (precision, scale) = parameters
                    .split_once(',')
                    .and_then(|(precision, scale)| Some((digits(precision)?, digits(scale)?)))
                    .ok_or_else(|| bad("expected decimal(precision, scale)"))?;
                match (u8::try_from(precision), u8::try_from(scale)) {
                    (Ok(precision @ 1..=MAX_DECIMAL_PRECISION), Ok(scale))
                        if scale <= precision =>
                    {
                        Ok(Self::Decimal { precision, scale })
                    }
                    (Ok(1..=MAX_DECIMAL_PRECISION), _) => {
                        Err(bad("the scale is larger than the precision"))
                    }
                    _ => Err(bad("the precision must be 1 to 38")),
                }
            }
            ("fixed", Some(('[', length))) => digits(length)
                .filter(|length| *length <= i32::MAX.unsigned_abs())
                .map(Self::Fixed)
                .ok_or_else(|| bad("expected fixed[length]")),
            ("geometry", None) => Ok(Self::Geometry { crs: None }),
            ("geometry", Some(('(', crs))) => match crs.trim() {
                "" => Err(bad("the coordinate reference system is empty")),
                crs => Ok(Self::Geometry {
                    crs: Some(crs.to_owned()),
                }),
            },
            ("geography", None) => Ok(Self::Geography {
                crs: None,
                algorithm: None,
            }),
            ("geography", Some(('(', parameters))) => {
                let (crs, algorithm) = match parameters.split_once(',') {
                    Some((crs, algorithm)) => {
                        (crs.trim(), Some(algorithm.trim().to_ascii_lowercase()))
                    }
                    None => (parameters.trim(), None),
                };
                if crs.is_empty() {
                    return Err(bad("the coordinate reference system is empty"));
                }
                if let Some(algorithm) = &algorithm
                    && !EDGE_ALGORITHMS.contains(&algorithm.as_str())
                {
                    return Err(Error::not_supported(format!(
                        "type \"{name}\": edge algorithm \"{algorithm}\" is not one that this version knows"
                    )));
                }
                Ok(Self::Geography {
                    crs: Some(crs.to_owned()),
                    algorithm,
                })
            }
            ("decimal", _) => Err(bad("expected decimal(precision, scale)")),
            ("fixed", _) => Err(bad("expected fixed[length]")),
            (simple, None) => Self::simple(simple).ok_or_else(|| unknown_type(name)),
            _ => Err(unknown_type(name)),
        }
    }

    fn simple(name: &str) -> Option<Self> {
        Some(match name {
            "boolean" => Self::Boolean,
            "int" => Self::Int,
            "long" => Self::Long,
            "float" => Self::Float,
            "double" => Self::Double,
            "date" => Self::Date,
            "time" => Self::Time,
            "timestamp" => Self::Timestamp,
            "timestamptz" => Self::Timestamptz,
            "timestamp_ns" => Self::TimestampNs,
            "timestamptz_ns" => Self::TimestamptzNs,
            "string" => Self::String,
            "uuid" => Self::Uuid,
            "binary" => Self::Binary,
            "unknown" => Self::Unknown,
            _ => return None,
        })
    }
}

fn unknown_type(name: &str) -> Error {
    Error::not_supported(format!(
        "type \"{name}\" is not one that this version knows"
    ))
    .with_hint("A newer version of the extension may know it.")
}

/// `base(parameters)` or `base[parameters]` as base, bracket and parameters; what is not closed has a
/// bracket that nothing asks for.
fn split_parameters(name: &str) -> (&str, Option<(char, &str)>) {
    let Some(open) = name.find(['(', '[']) else {
        return (name, None);
    };
    let (base, rest) = name.split_at(open);
    let parameters = match (rest.strip_prefix('('), rest.strip_prefix('[')) {
        (Some(inner), _) => inner.strip_suffix(')').map(|inner| ('(', inner)),
        (_, Some(inner)) => inner.strip_suffix(']').map(|inner| ('[', inner)),
        _ => None,
    };
    (base.trim_end(), Some(parameters.unwrap_or(('?', rest))))
}

fn digits(text: &str) -> Option<u32> {
    let text = text.trim();
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

impl fmt::Display for PrimitiveType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Decimal { precision, scale } => {
                return write!(f, "decimal({precision}, {scale})");
            }
            Self::Date => "date",
            Self::Time => "time",
            Self::Timestamp => "timestamp",
            Self::Timestamptz => "timestamptz",
            Self::TimestampNs => "timestamp_ns",
            Self::TimestamptzNs => "timestamptz_ns",
            Self::String => "string",
            Self::Uuid => "uuid",
            Self::Fixed(length) => return write!(f, "fixed[{length}]"),
            Self::Binary => "binary",
            Self::Unknown => "unknown",
            Self::Geometry { crs: None } => "geometry",
            Self::Geometry { crs: Some(crs) } => return write!(f, "geometry({crs})"),
            Self::Geography {
                crs: None,
                algorithm: None,
            } => "geography",
            Self::Geography {
                crs,
                algorithm: None,
            } => {
                return write!(f, "geography({})", crs.as_deref().unwrap_or(DEFAULT_CRS));
            }
            Self::Geography {
                crs,
                algorithm: Some(algorithm),
            } => {
                let crs = crs.as_deref().unwrap_or(DEFAULT_CRS);
                return write!(f, "geography({crs}, {algorithm})");
            }
        })
    }
}

/// The coordinate reference system of `geometry` and `geography` where none is given.
pub const DEFAULT_CRS: &str = "OGC:CRS84";

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primitive(primitive) => primitive.fmt(f),
            Self::Variant => f.write_str("variant"),
            Self::Struct(fields) => {
                f.write_str("struct<")?;
                for (index, field) in fields.fields().iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}: {}", field.name, field.field_type)?;
                }
                f.write_str(">")
            }
            Self::List(list) => write!(f, "list<{}>", list.element.field_type),
            Self::Map(map) => {
                write!(f, "map<{}, {}>", map.key.field_type, map.value.field_type)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_spec() {
        // Appendix C, and with blanks around parameters as it asks readers to accept.
        let decimal = PrimitiveType::Decimal {
            precision: 9,
            scale: 2,
        };
        for (name, expected) in [
            ("decimal(9,2)", decimal.clone()),
            ("decimal(9, 2)", decimal.clone()),
            ("decimal( 9 ,  2 )", decimal),
            ("fixed[16]", PrimitiveType::Fixed(16)),
            ("fixed[ 16 ]", PrimitiveType::Fixed(16)),
            ("timestamptz_ns", PrimitiveType::TimestamptzNs),
            ("geometry", PrimitiveType::Geometry { crs: None }),
            (
                "geometry( srid:4326 )",
                PrimitiveType::Geometry {
                    crs: Some("srid:4326".into()),
                },
            ),
            (
                "geography(srid:4326, spherical)",
                PrimitiveType::Geography {
                    crs: Some("srid:4326".into()),
                    algorithm: Some("spherical".into()),
                },
            ),
            (
                "geography(srid:4326,karney)",
                PrimitiveType::Geography {
                    crs: Some("srid:4326".into()),
                    algorithm: Some("karney".into()),
                },
            ),
        ] {
            assert_eq!(PrimitiveType::from_name(name).unwrap(), expected, "{name}");
        }
        assert_eq!(Type::from_name("variant").unwrap(), Type::Variant);
    }

    #[test]
    fn canonical_names() {
        for name in [
            "boolean",
            "int",
            "long",
            "float",
            "double",
            "decimal(38, 0)",
            "date",
            "time",
            "timestamp",
            "timestamptz",
            "timestamp_ns",
            "timestamptz_ns",
            "string",
            "uuid",
            "fixed[7]",
            "binary",
            "unknown",
            "variant",
            "geometry",
            "geometry(EPSG:3857)",
            "geography",
            "geography(OGC:CRS84)",
            "geography(OGC:CRS84, thomas)",
        ] {
            assert_eq!(Type::from_name(name).unwrap().to_string(), name);
        }
    }

    #[test]
    fn impossible_parameters_are_corrupt() {
        for name in [
            "decimal",
            "decimal(39, 0)",
            "decimal(0, 0)",
            "decimal(5, 6)",
            "decimal(9)",
            "decimal(9, -1)",
            "decimal(9, 2",
            "decimal(99999999999, 2)",
            "decimal(,)",
            "decimal[9, 2]",
            "fixed",
            "fixed[]",
            "fixed[-1]",
            "fixed[2147483648]",
            "fixed(3)",
            "geometry()",
            "geography( , karney)",
        ] {
            let fault = PrimitiveType::from_name(name).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::Corrupt, "{name}: {fault}");
            assert!(fault.message().contains(name), "{fault}");
        }
    }

    #[test]
    fn types_of_later_versions_are_not_supported() {
        for name in [
            "interval",
            "",
            "int(3)",
            "string[2]",
            "geography(OGC:CRS84, flat)",
        ] {
            let fault = Type::from_name(name).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::NotSupported, "{name}: {fault}");
        }
    }
}
