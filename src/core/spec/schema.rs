//! A table schema: a struct with an id of its own, and fields that can be found by id.
//! Spec: "Schemas and Data Types", "Identifier Field IDs".

use std::collections::HashMap;
use std::sync::Arc;

use super::types::{NestedField, StructType, Type};

/// A schema as table metadata keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    schema_id: i32,
    identifier_field_ids: Vec<i32>,
    fields: StructType,
    by_id: HashMap<i32, Arc<NestedField>>,
}

impl Schema {
    /// A schema of these fields.
    pub fn new(schema_id: i32, identifier_field_ids: Vec<i32>, fields: StructType) -> Self {
        let mut by_id = HashMap::new();
        index_struct(&fields, &mut by_id);
        Self {
            schema_id,
            identifier_field_ids,
            fields,
            by_id,
        }
    }

    /// The id that snapshots refer to this schema by.
    pub fn schema_id(&self) -> i32 {
        self.schema_id
    }

    /// Ids of the fields that identify a row.
    pub fn identifier_field_ids(&self) -> &[i32] {
        &self.identifier_field_ids
    }

    /// The top-level fields.
    pub fn fields(&self) -> &StructType {
        &self.fields
    }

    /// The field with this id, at any depth.
    pub fn field_by_id(&self, id: i32) -> Option<&Arc<NestedField>> {
        self.by_id.get(&id)
    }
}

fn index_struct(fields: &StructType, by_id: &mut HashMap<i32, Arc<NestedField>>) {
    for field in fields.fields() {
        index_field(field, by_id);
    }
}

fn index_field(field: &Arc<NestedField>, by_id: &mut HashMap<i32, Arc<NestedField>>) {
    by_id.insert(field.id, Arc::clone(field));
    match &field.field_type {
        Type::Primitive(_) | Type::Variant => {}
        Type::Struct(fields) => index_struct(fields, by_id),
        Type::List(list) => index_field(&list.element, by_id),
        Type::Map(map) => {
            index_field(&map.key, by_id);
            index_field(&map.value, by_id);
        }
    }
}
