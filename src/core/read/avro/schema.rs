//! An Avro schema as the tree in which wanted fields are found.
//! Spec: Appendix A "Avro".

use crate::error::{Error, ErrorKind, Result};
use crate::read::stored::{StoredField, StoredShape};
use crate::read::values::{StoredLeaf, Unit};
use crate::spec::avro::{AvroField, AvroSchema, AvroType, LogicalType};

/// The columns of a file whose records have this schema.
pub(super) fn fields(schema: &AvroSchema) -> Result<Vec<StoredField>> {
    match &schema.avro_type {
        AvroType::Record(fields) => Ok(fields.iter().map(field).collect()),
        _ => Err(Error::new(
            ErrorKind::Corrupt,
            format!(
                "its Avro schema is of type {}, where a record belongs",
                schema.describe()
            ),
        )),
    }
}

fn field(field: &AvroField) -> StoredField {
    StoredField {
        id: field.id,
        name: field.name.clone(),
        shape: shape(&field.schema),
    }
}

fn inner(id: Option<i32>, name: &str, shape: StoredShape) -> StoredField {
    StoredField {
        id,
        name: name.to_owned(),
        shape,
    }
}

fn shape(schema: &AvroSchema) -> StoredShape {
    let Some(schema) = without_null(schema) else {
        return StoredShape::Other("a union of several types");
    };
    let leaf = match (&schema.avro_type, schema.logical_type) {
        (AvroType::Null, _) => StoredLeaf::Null,
        (AvroType::Boolean, _) => StoredLeaf::Boolean,
        (AvroType::Int, Some(LogicalType::Date)) => StoredLeaf::Date,
        (AvroType::Int, Some(LogicalType::TimeMillis)) => StoredLeaf::Time(Unit::Milli),
        (AvroType::Int, _) => StoredLeaf::Int,
        (AvroType::Long, Some(LogicalType::TimeMicros)) => StoredLeaf::Time(Unit::Micro),
        (AvroType::Long, Some(LogicalType::TimestampMillis { .. })) => {
            StoredLeaf::Timestamp(Unit::Milli)
        }
        (AvroType::Long, Some(LogicalType::TimestampMicros { .. })) => {
            StoredLeaf::Timestamp(Unit::Micro)
        }
        (AvroType::Long, Some(LogicalType::TimestampNanos { .. })) => {
            StoredLeaf::Timestamp(Unit::Nano)
        }
        (AvroType::Long, _) => StoredLeaf::Long,
        (AvroType::Float, _) => StoredLeaf::Float,
        (AvroType::Double, _) => StoredLeaf::Double,
        (AvroType::Bytes | AvroType::Fixed(_), Some(LogicalType::Decimal)) => StoredLeaf::Decimal {
            scale: schema.attributes.scale,
        },
        (AvroType::Bytes, _) => StoredLeaf::Bytes,
        (AvroType::String, Some(LogicalType::Uuid)) => StoredLeaf::UuidText,
        (AvroType::String, _) => StoredLeaf::Text,
        (AvroType::Fixed(length), _) => StoredLeaf::Fixed(*length),
        (AvroType::Enum(_), _) => return StoredShape::Other("an enum"),
        (AvroType::Array(entry), Some(LogicalType::Map)) => {
            let Some((key, value)) = key_and_value(entry) else {
                return StoredShape::Other("an array of entries without key and value");
            };
            return StoredShape::Map(Box::new(field(key)), Box::new(field(value)));
        }
        (AvroType::Array(element), _) => {
            let id = schema.attributes.element_id;
            return StoredShape::List(Box::new(inner(id, "element", shape(element))));
        }
        (AvroType::Map(value), _) => {
            let ids = schema.attributes;
            let key = inner(ids.key_id, "key", StoredShape::Leaf(StoredLeaf::Text));
            let value = inner(ids.value_id, "value", shape(value));
            return StoredShape::Map(Box::new(key), Box::new(value));
        }
        (AvroType::Record(fields), _) => {
            return StoredShape::Struct(fields.iter().map(field).collect());
        }
        // `without_null` has looked through unions.
        (AvroType::Union(_), _) => return StoredShape::Other("a union in a union"),
    };
    StoredShape::Leaf(leaf)
}

/// What a union holds besides null; anything else is itself. `None` for several types.
pub(super) fn without_null(schema: &AvroSchema) -> Option<&AvroSchema> {
    let AvroType::Union(branches) = &schema.avro_type else {
        return Some(schema);
    };
    let mut others = branches
        .iter()
        .filter(|branch| branch.avro_type != AvroType::Null);
    match (others.next(), others.next()) {
        (Some(only), None) => Some(only),
        (None, _) => branches.first().map(AsRef::as_ref),
        (Some(_), Some(_)) => None,
    }
}

/// The fields of a map's entry.
pub(super) fn key_and_value(entry: &AvroSchema) -> Option<(&AvroField, &AvroField)> {
    let AvroType::Record(fields) = &entry.avro_type else {
        return None;
    };
    match fields.as_slice() {
        [value, key] if key.name == "key" && value.name == "value" => Some((key, value)),
        [key, value] => Some((key, value)),
        _ => None,
    }
}
