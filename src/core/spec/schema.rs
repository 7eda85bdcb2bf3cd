//! A table schema: a struct with an id of its own, and fields that can be found by id.
//! Spec: "Schemas and Data Types", "Identifier Field IDs".

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::json::{self, Node, ObjectWriter};
use super::type_json;
use super::types::{NestedField, PrimitiveType, StructType, Type};
use crate::error::{Error, ErrorKind, Result};

/// Field ids above this are reserved for metadata columns.
pub const MAX_COLUMN_ID: i32 = i32::MAX - 200;

const SCHEMA_KEYS: &[&str] = &["type", "schema-id", "identifier-field-ids", "fields"];

/// A schema as table metadata keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    schema_id: i32,
    identifier_field_ids: Vec<i32>,
    fields: StructType,
    by_id: HashMap<i32, Arc<NestedField>>,
    unknown: Map<String, Value>,
}

impl Schema {
    /// A schema of these fields, taken as they are; [`Schema::check`] tells whether they can be.
    pub fn new(schema_id: i32, identifier_field_ids: Vec<i32>, fields: StructType) -> Self {
        let mut by_id = HashMap::new();
        visit(&fields, &mut |field| {
            by_id.insert(field.id, Arc::clone(field));
        });
        Self {
            schema_id,
            identifier_field_ids,
            fields,
            by_id,
            unknown: Map::new(),
        }
    }

    /// The same with keys that this version does not know, kept through a rewrite.
    #[must_use]
    pub fn with_unknown(mut self, unknown: Map<String, Value>) -> Self {
        self.unknown = unknown;
        self
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

    /// The fields from the top level down to the one with this id, which is the last.
    pub fn field_path(&self, id: i32) -> Option<Vec<&Arc<NestedField>>> {
        path_in_struct(&self.fields, id)
    }

    /// The full name of the field with this id, for messages: `address.lines.element`.
    pub fn field_path_name(&self, id: i32) -> Option<String> {
        let path = path_in_struct(&self.fields, id)?;
        let names: Vec<&str> = path.iter().map(|field| field.name.as_str()).collect();
        Some(names.join("."))
    }

    /// The largest field id at any depth; 0 if there are no fields.
    pub fn highest_field_id(&self) -> i32 {
        self.by_id.keys().copied().max().unwrap_or(0)
    }

    /// Reads a schema from its JSON text, as manifests keep it.
    ///
    /// # Errors
    /// As [`Schema::from_json`], and `Corrupt` if the text is no JSON.
    pub fn parse(text: &str) -> Result<Self> {
        Self::from_json(&json::parse(text.as_bytes())?)
    }

    /// Reads a schema from its JSON form. A schema without an id, as v1 may have it, gets 0.
    ///
    /// # Errors
    /// `Corrupt`, naming the key at fault; `NotSupported`, naming field and type, for a type that this
    /// version does not know.
    pub fn from_json(value: &Value) -> Result<Self> {
        Self::from_node(&Node::root(value))
    }

    pub(crate) fn from_node(node: &Node<'_>) -> Result<Self> {
        let fields = type_json::read_struct(node, 0, "the schema")?;
        let schema_id = node.optional_int("schema-id")?.unwrap_or(0);
        let identifiers = match node.optional("identifier-field-ids")? {
            Some(identifiers) => identifiers.ints()?,
            None => Vec::new(),
        };
        let schema =
            Self::new(schema_id, identifiers, fields).with_unknown(node.unknown(SCHEMA_KEYS)?);
        schema.check().map_err(|error| node.at(&error, None))?;
        Ok(schema)
    }

    /// The schema in its JSON form.
    pub fn to_json(&self) -> Value {
        let mut writer = ObjectWriter::default();
        writer
            .put("type", "struct")
            .put("schema-id", self.schema_id);
        if !self.identifier_field_ids.is_empty() {
            writer.put_list(
                "identifier-field-ids",
                self.identifier_field_ids.iter().copied(),
            );
        }
        writer
            .put_list(
                "fields",
                self.fields.fields().iter().map(|field| field.to_json()),
            )
            .finish(&self.unknown)
    }

    /// Checks that ids are unique and that the identifier fields can be: primitive, required, no
    /// floating-point numbers, in nothing that is optional, a list or a map.
    ///
    /// # Errors
    /// `Corrupt`, naming the field.
    pub fn check(&self) -> Result<()> {
        let corrupt = |what: String| Err(Error::new(ErrorKind::Corrupt, what));
        let mut clash = None;
        visit(&self.fields, &mut |field| {
            if let Some(other) = self.by_id.get(&field.id)
                && !Arc::ptr_eq(other, field)
            {
                clash.get_or_insert((field.id, field.name.clone(), other.name.clone()));
            }
        });
        if let Some((id, name, other)) = clash {
            return corrupt(format!(
                "the fields \"{name}\" and \"{other}\" have the same id {id}"
            ));
        }
        for id in &self.identifier_field_ids {
            let Some(path) = path_in_struct(&self.fields, *id) else {
                return corrupt(format!("the identifier field id {id} is no field's"));
            };
            let name = || self.field_path_name(*id).unwrap_or_default();
            let Some((field, around)) = path.split_last() else {
                return corrupt(format!("the identifier field id {id} is no field's"));
            };
            match &field.field_type {
                Type::Primitive(PrimitiveType::Float | PrimitiveType::Double) => {
                    return corrupt(format!(
                        "the identifier field \"{}\" is a floating-point number",
                        name()
                    ));
                }
                Type::Primitive(_) => {}
                _ => {
                    return corrupt(format!(
                        "the identifier field \"{}\" is not primitive",
                        name()
                    ));
                }
            }
            for part in &path {
                if !part.required {
                    return corrupt(format!(
                        "the identifier field \"{}\" can be null, because \"{}\" is optional",
                        name(),
                        part.name
                    ));
                }
            }
            if around
                .iter()
                .any(|part| !matches!(part.field_type, Type::Struct(_)))
            {
                return corrupt(format!(
                    "the identifier field \"{}\" is in a list or map",
                    name()
                ));
            }
        }
        Ok(())
    }
}

/// The fields directly in a field.
fn inner_fields(field: &NestedField) -> Vec<&Arc<NestedField>> {
    match &field.field_type {
        Type::Primitive(_) | Type::Variant => Vec::new(),
        Type::Struct(fields) => fields.fields().iter().collect(),
        Type::List(list) => vec![&list.element],
        Type::Map(map) => vec![&map.key, &map.value],
    }
}

fn visit<'a>(fields: &'a StructType, see: &mut impl FnMut(&'a Arc<NestedField>)) {
    let mut waiting: Vec<&Arc<NestedField>> = fields.fields().iter().collect();
    while let Some(field) = waiting.pop() {
        see(field);
        waiting.extend(inner_fields(field));
    }
}

/// The fields from the top level down to the one with this id.
fn path_in_struct(fields: &StructType, id: i32) -> Option<Vec<&Arc<NestedField>>> {
    fn path_in_field(field: &Arc<NestedField>, id: i32) -> Option<Vec<&Arc<NestedField>>> {
        if field.id == id {
            return Some(vec![field]);
        }
        inner_fields(field).into_iter().find_map(|inner| {
            let mut path = path_in_field(inner, id)?;
            path.insert(0, field);
            Some(path)
        })
    }
    fields
        .fields()
        .iter()
        .find_map(|field| path_in_field(field, id))
}
