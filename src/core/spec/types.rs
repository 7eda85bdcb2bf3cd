//! Iceberg's types: primitives, structs, lists, maps and variant.
//! Spec: "Schemas and Data Types"; JSON form in Appendix C.

use std::sync::Arc;

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
    pub initial_default: Option<serde_json::Value>,
    /// Value that a writer fills in for a field not given, as JSON single-value (v3).
    pub write_default: Option<serde_json::Value>,
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
