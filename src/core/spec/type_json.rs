//! Types and fields as JSON, both ways.
//! Spec: Appendix C "Schemas"; "Default values".

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::json::{Node, ObjectWriter};
use super::types::{ListType, MapType, NestedField, PrimitiveType, StructType, Type};
use super::value::PrimitiveValue;
use crate::error::{ErrorKind, Result};

/// How deep types may nest; bounds the stack that any walk over a type needs.
pub(crate) const MAX_TYPE_DEPTH: usize = 80;

const FIELD_KEYS: &[&str] = &[
    "id",
    "name",
    "required",
    "type",
    "doc",
    "initial-default",
    "write-default",
];

/// Reads the fields of a struct (or of a schema) from its object.
pub(crate) fn read_struct(node: &Node<'_>, depth: usize, owner: &str) -> Result<StructType> {
    let kind = node.required("type")?;
    if kind.text()? != "struct" {
        return Err(kind.corrupt("expected \"struct\""));
    }
    let fields = node.required("fields")?;
    let mut names = HashSet::new();
    let mut read = Vec::new();
    for item in fields.items()? {
        let field = read_field(&item, depth)?;
        if !names.insert(field.name.clone()) {
            return Err(item.corrupt(format!(
                "the name \"{}\" is there twice in {owner}",
                field.name
            )));
        }
        read.push(field);
    }
    Ok(StructType::new(read))
}

fn read_field(node: &Node<'_>, depth: usize) -> Result<NestedField> {
    let name = node.required("name")?.text()?;
    let type_node = node.required("type")?;
    let field_type = read_type(&type_node, depth, &format!("field \"{name}\""))?;
    let default = |key| -> Result<Option<Value>> {
        match node.optional(key)? {
            Some(default) => {
                check_default(&default, &field_type, name)?;
                Ok(Some(default.value().clone()))
            }
            None => Ok(None),
        }
    };
    Ok(NestedField {
        id: read_id(node, "id")?,
        name: name.to_owned(),
        required: node.required("required")?.boolean()?,
        doc: node.optional_text("doc")?,
        initial_default: default("initial-default")?,
        write_default: default("write-default")?,
        unknown: node.unknown(FIELD_KEYS)?,
        field_type,
    })
}

fn read_id(node: &Node<'_>, key: &str) -> Result<i32> {
    let id = node.required(key)?;
    let value = id.int()?;
    if value < 0 {
        return Err(id.corrupt(format!("field id {value} is negative")));
    }
    Ok(value)
}

fn read_type(node: &Node<'_>, depth: usize, owner: &str) -> Result<Type> {
    if depth >= MAX_TYPE_DEPTH {
        return Err(node.error(
            ErrorKind::NotSupported,
            format!("{owner}: types nest deeper than {MAX_TYPE_DEPTH} levels"),
        ));
    }
    if let Value::String(name) = node.value() {
        return Type::from_name(name).map_err(|error| node.at(&error, Some(owner)));
    }
    let kind = node.required("type")?;
    match kind.text()? {
        "struct" => read_struct(node, depth + 1, owner).map(Type::Struct),
        "list" => Ok(Type::List(ListType {
            element: read_part(node, "element", None, depth, owner)?,
        })),
        "map" => Ok(Type::Map(MapType {
            key: read_part(node, "key", Some(true), depth, owner)?,
            value: read_part(node, "value", None, depth, owner)?,
        })),
        other => Err(kind.error(
            ErrorKind::NotSupported,
            format!("{owner}: type \"{other}\" is not one that this version knows"),
        )),
    }
}

/// A list's element, or a map's key or value: keys `X`, `X-id` and, unless given, `X-required`.
fn read_part(
    node: &Node<'_>,
    name: &str,
    required: Option<bool>,
    depth: usize,
    owner: &str,
) -> Result<Arc<NestedField>> {
    let part = node.required(name)?;
    let required = match required {
        Some(required) => required,
        None => node.required(&format!("{name}-required"))?.boolean()?,
    };
    Ok(Arc::new(NestedField {
        required,
        ..NestedField::optional(
            read_id(node, &format!("{name}-id"))?,
            name,
            read_type(&part, depth + 1, owner)?,
        )
    }))
}

/// Checks that a default is a value of the type in the JSON single-value form.
fn check_default(node: &Node<'_>, field_type: &Type, name: &str) -> Result<()> {
    match field_type {
        Type::Primitive(
            primitive @ (PrimitiveType::Unknown
            | PrimitiveType::Geometry { .. }
            | PrimitiveType::Geography { .. }),
        ) => Err(node.corrupt(format!(
            "field \"{name}\" of type {primitive} can have no default but null"
        ))),
        Type::Variant => Err(node.corrupt(format!(
            "field \"{name}\" of type variant can have no default but null"
        ))),
        Type::Primitive(primitive) => PrimitiveValue::from_json(primitive, node.value())
            .map(|_| ())
            .map_err(|error| node.corrupt(format!("field \"{name}\": {}", error.message()))),
        // The defaults of the fields inside are theirs to keep.
        Type::Struct(_) => node.object().map(|_| ()),
        Type::List(list) => check_defaults(node, &list.element, name),
        Type::Map(map) => {
            let (keys, values) = (node.required("keys")?, node.required("values")?);
            if keys.items()?.count() != values.items()?.count() {
                return Err(node.corrupt(format!(
                    "field \"{name}\": the default has not as many keys as values"
                )));
            }
            check_defaults(&keys, &map.key, name)?;
            check_defaults(&values, &map.value, name)
        }
    }
}

fn check_defaults(list: &Node<'_>, part: &NestedField, name: &str) -> Result<()> {
    for item in list.items()? {
        if !item.value().is_null() {
            check_default(&item, &part.field_type, name)?;
        } else if part.required {
            return Err(item.corrupt(format!(
                "field \"{name}\": null where the {} is required",
                part.name
            )));
        }
    }
    Ok(())
}

impl Type {
    /// The type in its JSON form.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Primitive(_) | Self::Variant => Value::String(self.to_string()),
            Self::Struct(fields) => {
                let mut writer = ObjectWriter::default();
                writer.put("type", "struct");
                writer.put_list(
                    "fields",
                    fields.fields().iter().map(|field| field.to_json()),
                );
                writer.finish(&Default::default())
            }
            Self::List(list) => ObjectWriter::default()
                .put("type", "list")
                .put("element-id", list.element.id)
                .put("element", list.element.field_type.to_json())
                .put("element-required", list.element.required)
                .finish(&Default::default()),
            Self::Map(map) => ObjectWriter::default()
                .put("type", "map")
                .put("key-id", map.key.id)
                .put("key", map.key.field_type.to_json())
                .put("value-id", map.value.id)
                .put("value", map.value.field_type.to_json())
                .put("value-required", map.value.required)
                .finish(&Default::default()),
        }
    }

    /// Reads a type from its JSON form.
    ///
    /// # Errors
    /// `NotSupported` for a type of a later version, `Corrupt` for anything else that is no type.
    pub fn from_json(value: &Value) -> Result<Self> {
        read_type(&Node::root(value), 0, "the type")
    }
}

impl NestedField {
    /// The field of a struct in its JSON form.
    pub fn to_json(&self) -> Value {
        ObjectWriter::default()
            .put("id", self.id)
            .put("name", self.name.as_str())
            .put("required", self.required)
            .put("type", self.field_type.to_json())
            .put_some("doc", self.doc.as_deref())
            .put_some("initial-default", self.initial_default.clone())
            .put_some("write-default", self.write_default.clone())
            .finish(&self.unknown)
    }
}
