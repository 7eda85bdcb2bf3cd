//! The Arrow type that batches have for each Iceberg type, whatever a file stores.
//! Spec: "Schemas and Data Types"; Arrow has no part in the spec, so the choice is ours.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};

use crate::spec::{MapType, NestedField, PrimitiveType, StructType, Type};

/// The time zone of every `timestamptz` array.
const UTC: &str = "UTC";

/// The Arrow type that batches have for an Iceberg type.
///
/// Text is `Utf8View` and bytes are `BinaryView` at every depth. Fields inside are nullable and
/// carry their Iceberg names, except that a map's key is never null. A variant is a struct of its
/// `metadata` and `value`, both in the Variant binary encoding; a null value in a struct that is not
/// null is the variant's own null.
pub fn arrow_type(field_type: &Type) -> DataType {
    match field_type {
        Type::Primitive(primitive) => primitive_type(primitive),
        Type::Struct(fields) => DataType::Struct(struct_fields(fields)),
        Type::List(list) => DataType::List(arrow_field(&list.element)),
        Type::Map(map) => DataType::Map(map_entries(map), false),
        Type::Variant => DataType::Struct(variant_fields()),
    }
}

/// The Arrow fields of a variant.
pub(super) fn variant_fields() -> Fields {
    ["metadata", "value"]
        .map(|name| Field::new(name, DataType::BinaryView, true))
        .into_iter()
        .collect()
}

/// The Arrow field of an Iceberg field: its name, its type, nullable.
pub(super) fn arrow_field(field: &NestedField) -> FieldRef {
    Arc::new(Field::new(&field.name, arrow_type(&field.field_type), true))
}

/// The Arrow fields of a struct.
pub(super) fn struct_fields(fields: &StructType) -> Fields {
    fields
        .fields()
        .iter()
        .map(|field| arrow_field(field))
        .collect()
}

/// The field of a map's entries: a struct of a key that is never null and a value.
pub(super) fn map_entries(map: &MapType) -> FieldRef {
    let key = Field::new("key", arrow_type(&map.key.field_type), false);
    let value = Field::new("value", arrow_type(&map.value.field_type), true);
    let entries = DataType::Struct([key, value].into_iter().collect());
    Arc::new(Field::new("key_value", entries, false))
}

fn primitive_type(primitive: &PrimitiveType) -> DataType {
    match primitive {
        PrimitiveType::Boolean => DataType::Boolean,
        PrimitiveType::Int => DataType::Int32,
        PrimitiveType::Long => DataType::Int64,
        PrimitiveType::Float => DataType::Float32,
        PrimitiveType::Double => DataType::Float64,
        PrimitiveType::Decimal { precision, scale } => {
            // A scale is at most the precision, which is at most 38.
            DataType::Decimal128(*precision, i8::try_from(*scale).unwrap_or(i8::MAX))
        }
        PrimitiveType::Date => DataType::Date32,
        PrimitiveType::Time => DataType::Time64(TimeUnit::Microsecond),
        PrimitiveType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        PrimitiveType::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        PrimitiveType::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
        PrimitiveType::TimestamptzNs => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
        PrimitiveType::String => DataType::Utf8View,
        PrimitiveType::Uuid => DataType::FixedSizeBinary(16),
        PrimitiveType::Fixed(length) => {
            DataType::FixedSizeBinary(i32::try_from(*length).unwrap_or(i32::MAX))
        }
        PrimitiveType::Binary
        | PrimitiveType::Geometry { .. }
        | PrimitiveType::Geography { .. } => DataType::BinaryView,
        PrimitiveType::Unknown => DataType::Null,
    }
}
