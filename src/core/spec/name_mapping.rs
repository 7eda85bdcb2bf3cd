//! Field ids by name, for data files that carry no ids (table property
//! `schema.name-mapping.default`). Spec: "Column Projection"; JSON form in Appendix C.

use std::collections::HashSet;

use super::json::{self, Node};
use super::type_json::MAX_TYPE_DEPTH;
use crate::error::{ErrorKind, Result};

/// The table property that holds a name mapping.
pub const NAME_MAPPING_PROPERTY: &str = "schema.name-mapping.default";

/// Field ids by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameMapping {
    /// The fields at the top level.
    pub fields: Vec<MappedField>,
}

/// The names that a field goes by in files without ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MappedField {
    /// The id; absent for a field that files have but the schema has not.
    pub field_id: Option<i32>,
    /// The names, each meant literally, dots too.
    pub names: Vec<String>,
    /// The fields inside: those of a struct, `element` of a list, `key` and `value` of a map.
    pub fields: Vec<MappedField>,
}

impl NameMapping {
    /// Reads the property's JSON text.
    ///
    /// # Errors
    /// `Corrupt`, naming the key at fault; also where one name stands for two fields.
    pub fn parse(text: &str) -> Result<Self> {
        let value = json::parse(text.as_bytes())?;
        Ok(Self {
            fields: read_fields(&Node::root(&value), 0)?,
        })
    }

    /// The top-level field that goes by this name.
    pub fn field_by_name(&self, name: &str) -> Option<&MappedField> {
        find(&self.fields, name)
    }
}

impl MappedField {
    /// The field directly inside that goes by this name.
    pub fn field_by_name(&self, name: &str) -> Option<&MappedField> {
        find(&self.fields, name)
    }
}

/// The one of these fields that goes by this name.
pub(crate) fn find<'a>(fields: &'a [MappedField], name: &str) -> Option<&'a MappedField> {
    fields
        .iter()
        .find(|field| field.names.iter().any(|other| other == name))
}

fn read_fields(node: &Node<'_>, depth: usize) -> Result<Vec<MappedField>> {
    if depth > MAX_TYPE_DEPTH {
        return Err(node.error(
            ErrorKind::NotSupported,
            format!("name mappings nest deeper than {MAX_TYPE_DEPTH} levels"),
        ));
    }
    let mut names = HashSet::new();
    let mut fields = Vec::new();
    for item in node.items()? {
        let field = MappedField {
            field_id: item.optional_int("field-id")?,
            names: item.required("names")?.texts()?,
            fields: match item.optional("fields")? {
                Some(inner) => read_fields(&inner, depth + 1)?,
                None => Vec::new(),
            },
        };
        for name in field.names.iter().collect::<HashSet<_>>() {
            if !names.insert(name.clone()) {
                return Err(item.corrupt(format!("the name \"{name}\" stands for two fields")));
            }
        }
        fields.push(field);
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_spec() {
        let mapping = NameMapping::parse(
            r#"[ { "field-id": 1, "names": ["id", "record_id"] },
                 { "field-id": 2, "names": ["data"] },
                 { "field-id": 3, "names": ["location"], "fields": [
                     { "field-id": 4, "names": ["latitude", "lat"] },
                     { "field-id": 5, "names": ["longitude", "long"] }
                   ] } ]"#,
        )
        .unwrap();
        let id = |field: Option<&MappedField>| field.and_then(|field| field.field_id);
        assert_eq!(id(mapping.field_by_name("record_id")), Some(1));
        let location = mapping.field_by_name("location").unwrap();
        assert_eq!(id(location.field_by_name("lat")), Some(4));
        assert_eq!(id(location.field_by_name("long")), Some(5));
        assert_eq!(id(mapping.field_by_name("location.lat")), None);
        assert_eq!(id(mapping.field_by_name("ID")), None);
    }

    #[test]
    fn fields_may_lack_an_id_or_names() {
        let mapping =
            NameMapping::parse(r#"[{"names": ["a.b"]}, {"field-id": 1, "names": []}]"#).unwrap();
        assert_eq!(mapping.field_by_name("a.b").unwrap().field_id, None);
        assert!(mapping.field_by_name("a").is_none());
    }

    #[test]
    fn faults_name_their_place() {
        for (text, expected) in [
            (r#"{"names": []}"#, "expected an array"),
            (r#"[{"field-id": 1}]"#, "[0]: the required key \"names\""),
            (
                r#"[{"names": ["a"]}, {"names": ["b", "a"]}]"#,
                "[1]: the name \"a\" stands for two fields",
            ),
            (
                r#"[{"names": ["a"], "fields": [{"names": [1]}]}]"#,
                "[0].fields[0].names[0]: expected a string",
            ),
        ] {
            let fault = NameMapping::parse(text).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::Corrupt);
            assert!(fault.message().contains(expected), "{fault}");
        }
    }
}
