//! Avro schemas as a file's writer declared them, with the field ids that Iceberg adds.
//! Spec: Appendix A "Avro"; Avro specification "Schema Declaration".

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::corrupt;
use crate::error::Result;
use crate::spec::json;
use crate::spec::manifest_fields::{FieldDefinition, FieldType};
use crate::spec::type_json::MAX_TYPE_DEPTH;

/// How deep a schema may nest once its named types are put in. A type of the table takes at most
/// three levels a nesting of its own: a union, and an array of records for a map.
const MAX_DEPTH: usize = 3 * MAX_TYPE_DEPTH + 16;

/// How many types a schema may hold once its named types are put in.
const MAX_SIZE: usize = 16_384;

/// How deep the JSON text may nest: a record in a union in a field takes five levels.
const MAX_JSON_DEPTH: usize = 6 * MAX_TYPE_DEPTH + 16;

/// The type of a value in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvroSchema {
    /// How the value is encoded.
    pub avro_type: AvroType,
    /// What it means beyond that.
    pub logical_type: Option<LogicalType>,
    /// What Iceberg says of what is inside.
    pub attributes: Attributes,
    depth: usize,
    size: usize,
}

/// The attributes of an array, a map or a decimal. Spec: Appendix A "Avro".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes {
    /// `element-id` of an array.
    pub element_id: Option<i32>,
    /// `key-id` of a map.
    pub key_id: Option<i32>,
    /// `value-id` of a map.
    pub value_id: Option<i32>,
    /// `scale` of a decimal; 0 where it is absent, as Avro says.
    pub scale: i64,
}

/// How a value is encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AvroType {
    /// No bytes.
    Null,
    /// One byte, 0 or 1.
    Boolean,
    /// A zig-zag varint of 32 bits.
    Int,
    /// A zig-zag varint of 64 bits.
    Long,
    /// 4 bytes, little-endian.
    Float,
    /// 8 bytes, little-endian.
    Double,
    /// A length and so many bytes.
    Bytes,
    /// A length and so many bytes of UTF-8.
    String,
    /// So many bytes.
    Fixed(usize),
    /// The position of a symbol, of so many.
    Enum(usize),
    /// Blocks of items.
    Array(Arc<AvroSchema>),
    /// Blocks of string keys and values.
    Map(Arc<AvroSchema>),
    /// The position of a branch, and its value.
    Union(Vec<Arc<AvroSchema>>),
    /// The fields in order.
    Record(Vec<AvroField>),
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvroField {
    /// Attribute `field-id`.
    pub id: Option<i32>,
    /// The name that the writer used.
    pub name: String,
    /// Its type.
    pub schema: Arc<AvroSchema>,
}

/// What a value means beyond its encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicalType {
    /// Two's complement, big-endian, unscaled.
    Decimal,
    /// Days from 1970-01-01.
    Date,
    /// Milliseconds from midnight.
    TimeMillis,
    /// Microseconds from midnight.
    TimeMicros,
    /// Milliseconds from 1970-01-01.
    TimestampMillis {
        /// Attribute `adjust-to-utc`.
        utc: bool,
    },
    /// Microseconds from 1970-01-01.
    TimestampMicros {
        /// Attribute `adjust-to-utc`.
        utc: bool,
    },
    /// Nanoseconds from 1970-01-01.
    TimestampNanos {
        /// Attribute `adjust-to-utc`.
        utc: bool,
    },
    /// A UUID as 16 bytes or as text.
    Uuid,
    /// An array of records of a key and a value.
    Map,
}

impl AvroSchema {
    /// Parses a schema, as its JSON text stands in a file's header.
    ///
    /// # Errors
    /// `Corrupt` where the text is no Avro schema, contains itself, or is absurdly large.
    pub fn parse(json: &[u8]) -> Result<Arc<Self>> {
        let value: Value = json::parse_to_depth(json, MAX_JSON_DEPTH)
            .map_err(|error| corrupt(format!("its Avro schema is not JSON: {error}")))?;
        Parser::default().parse(&value, "")
    }

    fn new(avro_type: AvroType, logical_type: Option<LogicalType>) -> Result<Arc<Self>> {
        let mut depth = 1;
        let mut size = 1usize;
        let mut add = |child: &AvroSchema| {
            depth = depth.max(child.depth + 1);
            size = size.saturating_add(child.size);
        };
        match &avro_type {
            AvroType::Array(child) | AvroType::Map(child) => add(child),
            AvroType::Union(branches) => branches.iter().for_each(|branch| add(branch)),
            AvroType::Record(fields) => fields.iter().for_each(|field| add(&field.schema)),
            _ => {}
        }
        if depth > MAX_DEPTH || size > MAX_SIZE {
            return Err(corrupt(format!(
                "its Avro schema nests {depth} deep and holds {size} types, more than the \
                 {MAX_DEPTH} and {MAX_SIZE} that are read"
            )));
        }
        Ok(Arc::new(Self {
            avro_type,
            logical_type,
            attributes: Attributes::default(),
            depth,
            size,
        }))
    }

    /// Whether any field at any depth has a field id.
    pub fn has_field_ids(&self) -> bool {
        match &self.avro_type {
            AvroType::Array(child) | AvroType::Map(child) => child.has_field_ids(),
            AvroType::Union(branches) => branches.iter().any(|branch| branch.has_field_ids()),
            AvroType::Record(fields) => fields
                .iter()
                .any(|field| field.id.is_some() || field.schema.has_field_ids()),
            _ => false,
        }
    }

    /// This schema with field ids taken from the names that the spec gives these fields. For files
    /// whose writer left the ids out.
    pub fn with_ids_by_name(
        &self,
        fields: &[FieldDefinition],
        partition_ids: &HashMap<String, i32>,
    ) -> Result<Arc<Self>> {
        let avro_type = match &self.avro_type {
            AvroType::Array(child) => {
                AvroType::Array(child.with_ids_by_name(fields, partition_ids)?)
            }
            AvroType::Map(child) => AvroType::Map(child.with_ids_by_name(fields, partition_ids)?),
            AvroType::Union(branches) => AvroType::Union(
                branches
                    .iter()
                    .map(|branch| branch.with_ids_by_name(fields, partition_ids))
                    .collect::<Result<_>>()?,
            ),
            AvroType::Record(inner) => AvroType::Record(
                inner
                    .iter()
                    .map(|field| name_field(field, fields, partition_ids))
                    .collect::<Result<_>>()?,
            ),
            other => other.clone(),
        };
        Self::new(avro_type, self.logical_type)
    }

    /// The record type that this is, looking through an optional.
    pub fn as_record(&self) -> Option<&[AvroField]> {
        match &self.avro_type {
            AvroType::Record(fields) => Some(fields),
            AvroType::Union(branches) => branches.iter().find_map(|branch| branch.as_record()),
            _ => None,
        }
    }

    /// What the type is called in a message.
    pub fn describe(&self) -> &'static str {
        match &self.avro_type {
            AvroType::Null => "null",
            AvroType::Boolean => "boolean",
            AvroType::Int => "int",
            AvroType::Long => "long",
            AvroType::Float => "float",
            AvroType::Double => "double",
            AvroType::Bytes => "bytes",
            AvroType::String => "string",
            AvroType::Fixed(_) => "fixed",
            AvroType::Enum(_) => "enum",
            AvroType::Array(_) => "array",
            AvroType::Map(_) => "map",
            AvroType::Union(_) => "union",
            AvroType::Record(_) => "record",
        }
    }
}

fn name_field(
    field: &AvroField,
    fields: &[FieldDefinition],
    partition_ids: &HashMap<String, i32>,
) -> Result<AvroField> {
    let definition = fields
        .iter()
        .find(|definition| definition.has_name(&field.name));
    let schema = match definition.map(|definition| &definition.field_type) {
        Some(FieldType::Struct(inner) | FieldType::StructList { element: inner, .. }) => {
            field.schema.with_ids_by_name(inner, partition_ids)?
        }
        Some(FieldType::Partition) => partition_by_name(&field.schema, partition_ids)?,
        _ => Arc::clone(&field.schema),
    };
    Ok(AvroField {
        id: definition.map(|definition| definition.id),
        name: field.name.clone(),
        schema,
    })
}

fn partition_by_name(
    schema: &Arc<AvroSchema>,
    partition_ids: &HashMap<String, i32>,
) -> Result<Arc<AvroSchema>> {
    let avro_type = match &schema.avro_type {
        AvroType::Union(branches) => AvroType::Union(
            branches
                .iter()
                .map(|branch| partition_by_name(branch, partition_ids))
                .collect::<Result<_>>()?,
        ),
        AvroType::Record(fields) => AvroType::Record(
            fields
                .iter()
                .map(|field| AvroField {
                    id: partition_ids.get(&field.name).copied(),
                    ..field.clone()
                })
                .collect(),
        ),
        _ => return Ok(Arc::clone(schema)),
    };
    AvroSchema::new(avro_type, schema.logical_type)
}

/// Parses one schema; knows the named types so far. A name becomes known when its type is
/// complete, so a type that contains itself is an unknown name.
#[derive(Default)]
struct Parser {
    named: HashMap<String, Arc<AvroSchema>>,
}

impl Parser {
    fn parse(&mut self, value: &Value, namespace: &str) -> Result<Arc<AvroSchema>> {
        match value {
            Value::String(name) => self.primitive_or_named(name, namespace),
            Value::Array(branches) => {
                let branches = branches
                    .iter()
                    .map(|branch| self.parse(branch, namespace))
                    .collect::<Result<_>>()?;
                AvroSchema::new(AvroType::Union(branches), None)
            }
            Value::Object(object) => self.complex(object, namespace),
            other => Err(corrupt(format!(
                "its Avro schema has {other} where a type belongs"
            ))),
        }
    }

    fn primitive_or_named(&self, name: &str, namespace: &str) -> Result<Arc<AvroSchema>> {
        let primitive = match name {
            "null" => AvroType::Null,
            "boolean" => AvroType::Boolean,
            "int" => AvroType::Int,
            "long" => AvroType::Long,
            "float" => AvroType::Float,
            "double" => AvroType::Double,
            "bytes" => AvroType::Bytes,
            "string" => AvroType::String,
            _ => {
                return self
                    .named
                    .get(&full_name(name, namespace))
                    .or_else(|| self.named.get(name))
                    .cloned()
                    .ok_or_else(|| {
                        corrupt(format!(
                            "its Avro schema names a type \"{name}\" that is unknown or contains itself"
                        ))
                    });
            }
        };
        AvroSchema::new(primitive, None)
    }

    fn complex(&mut self, object: &Map<String, Value>, namespace: &str) -> Result<Arc<AvroSchema>> {
        let type_value = object
            .get("type")
            .ok_or_else(|| corrupt("its Avro schema has a type object without \"type\""))?;
        let logical_type = logical_type(object);
        let Value::String(type_name) = type_value else {
            let inner = self.parse(type_value, namespace)?;
            return Ok(Arc::new(AvroSchema {
                logical_type: logical_type.or(inner.logical_type),
                ..AvroSchema::clone(&inner)
            }));
        };
        let avro_type = match type_name.as_str() {
            "record" | "error" => return self.record(object, namespace),
            "array" => AvroType::Array(self.parse(required(object, "items")?, namespace)?),
            "map" => AvroType::Map(self.parse(required(object, "values")?, namespace)?),
            "fixed" => {
                let size = required(object, "size")?
                    .as_u64()
                    .and_then(|size| usize::try_from(size).ok())
                    .ok_or_else(|| corrupt("its Avro schema has a fixed type without a size"))?;
                AvroType::Fixed(size)
            }
            "enum" => {
                let symbols = required(object, "symbols")?
                    .as_array()
                    .ok_or_else(|| corrupt("its Avro schema has an enum without symbols"))?;
                AvroType::Enum(symbols.len())
            }
            other => {
                let inner = self.primitive_or_named(other, namespace)?;
                return Ok(Arc::new(AvroSchema {
                    logical_type: logical_type.or(inner.logical_type),
                    attributes: attributes(object)?,
                    ..AvroSchema::clone(&inner)
                }));
            }
        };
        let mut schema = AvroSchema::new(avro_type, logical_type)?;
        let attributes = attributes(object)?;
        if attributes != Attributes::default() {
            schema = Arc::new(AvroSchema {
                attributes,
                ..AvroSchema::clone(&schema)
            });
        }
        if matches!(schema.avro_type, AvroType::Fixed(_) | AvroType::Enum(_)) {
            self.register(object, namespace, &schema);
        }
        Ok(schema)
    }

    fn record(&mut self, object: &Map<String, Value>, namespace: &str) -> Result<Arc<AvroSchema>> {
        let inner_namespace = match declared_name(object, namespace) {
            Some(name) => name
                .rsplit_once('.')
                .map_or(String::new(), |(namespace, _)| namespace.to_owned()),
            None => namespace.to_owned(),
        };
        let fields = required(object, "fields")?
            .as_array()
            .ok_or_else(|| corrupt("its Avro schema has a record without fields"))?
            .iter()
            .map(|field| self.field(field, &inner_namespace))
            .collect::<Result<_>>()?;
        let schema = AvroSchema::new(AvroType::Record(fields), None)?;
        self.register(object, namespace, &schema);
        Ok(schema)
    }

    fn field(&mut self, value: &Value, namespace: &str) -> Result<AvroField> {
        let object = value
            .as_object()
            .ok_or_else(|| corrupt("its Avro schema has a record field that is no object"))?;
        let name = required(object, "name")?
            .as_str()
            .ok_or_else(|| corrupt("its Avro schema has a record field whose name is no text"))?;
        Ok(AvroField {
            id: id(object, "field-id")
                .map_err(|error| corrupt(format!("field \"{name}\": {error}")))?,
            name: name.to_owned(),
            schema: self.parse(required(object, "type")?, namespace)?,
        })
    }

    fn register(&mut self, object: &Map<String, Value>, namespace: &str, schema: &Arc<AvroSchema>) {
        if let Some(name) = declared_name(object, namespace) {
            self.named.insert(name, Arc::clone(schema));
        }
    }
}

fn required<'a>(object: &'a Map<String, Value>, key: &str) -> Result<&'a Value> {
    object
        .get(key)
        .ok_or_else(|| corrupt(format!("its Avro schema has a type without \"{key}\"")))
}

fn declared_name(object: &Map<String, Value>, namespace: &str) -> Option<String> {
    let name = object.get("name")?.as_str()?;
    let namespace = object
        .get("namespace")
        .and_then(Value::as_str)
        .unwrap_or(namespace);
    Some(full_name(name, namespace))
}

fn full_name(name: &str, namespace: &str) -> String {
    if namespace.is_empty() || name.contains('.') {
        name.to_owned()
    } else {
        format!("{namespace}.{name}")
    }
}

/// An attribute that is a field id.
fn id(object: &Map<String, Value>, key: &str) -> Result<Option<i32>> {
    object
        .get(key)
        .map(|id| {
            id.as_i64()
                .and_then(|id| i32::try_from(id).ok())
                .ok_or_else(|| {
                    corrupt(format!(
                        "its Avro schema has the {key} {id}, which is no int"
                    ))
                })
        })
        .transpose()
}

fn attributes(object: &Map<String, Value>) -> Result<Attributes> {
    Ok(Attributes {
        element_id: id(object, "element-id")?,
        key_id: id(object, "key-id")?,
        value_id: id(object, "value-id")?,
        scale: object.get("scale").and_then(Value::as_i64).unwrap_or(0),
    })
}

/// The logical type of a type object; one that is not known is no logical type, as Avro says.
fn logical_type(object: &Map<String, Value>) -> Option<LogicalType> {
    let utc = object
        .get("adjust-to-utc")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    Some(match object.get("logicalType")?.as_str()? {
        "decimal" => LogicalType::Decimal,
        "date" => LogicalType::Date,
        "time-millis" => LogicalType::TimeMillis,
        "time-micros" => LogicalType::TimeMicros,
        "timestamp-millis" => LogicalType::TimestampMillis { utc },
        "timestamp-micros" => LogicalType::TimestampMicros { utc },
        "timestamp-nanos" => LogicalType::TimestampNanos { utc },
        "local-timestamp-millis" => LogicalType::TimestampMillis { utc: false },
        "local-timestamp-micros" => LogicalType::TimestampMicros { utc: false },
        "local-timestamp-nanos" => LogicalType::TimestampNanos { utc: false },
        "uuid" => LogicalType::Uuid,
        "map" => LogicalType::Map,
        _ => return None,
    })
}
