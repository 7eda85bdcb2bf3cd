//! The field ids of a file's columns: those that it carries, else those of the table's name
//! mapping, else the places of its columns. Spec: "Column Projection".

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::FileScanTask;
use crate::spec::name_mapping::{MappedField, NAME_MAPPING_PROPERTY, NameMapping, find};
use crate::spec::{NestedField, Type};

/// Where the ids of a file come from.
#[derive(Debug)]
pub(super) enum IdSource {
    /// The file.
    File,
    /// The table's name mapping.
    Mapping(NameMapping),
    /// Nothing: columns count from 1, as in tables that were made around such files.
    Places,
}

/// The ids of the fields beside each other in one struct of a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldIds<'a> {
    /// Those of the file.
    Stored,
    /// Those of a name mapping.
    Mapped(&'a [MappedField]),
    /// Their places.
    Places,
    /// They have none; elements of lists, keys and values are told by what they are.
    None,
}

impl IdSource {
    /// As [`Self::of_file`], for formats whose files have always had names: without name mapping the
    /// names are those of the fields themselves.
    pub(super) fn of_named_file(
        task: &FileScanTask,
        has_ids: bool,
        wanted: &[Arc<NestedField>],
    ) -> Result<Self> {
        Ok(match Self::of_file(task, has_ids)? {
            Self::Places => Self::Mapping(NameMapping {
                fields: wanted.iter().map(|field| own_name(field)).collect(),
            }),
            source => source,
        })
    }

    /// Where the ids of the file of a task come from; `has_ids` says whether any column of it
    /// carries one.
    ///
    /// # Errors
    /// Without the file's name, where the table's name mapping is needed and cannot be parsed.
    pub(super) fn of_file(task: &FileScanTask, has_ids: bool) -> Result<Self> {
        match &task.name_mapping {
            _ if has_ids => Ok(Self::File),
            None => Ok(Self::Places),
            Some(mapping) => NameMapping::parse(mapping)
                .map(Self::Mapping)
                .map_err(|error| {
                    Error::new(
                        error.kind(),
                        format!(
                            "it has no field ids, and the name mapping in the table property \
                             \"{NAME_MAPPING_PROPERTY}\" cannot be used: {}",
                            error.message()
                        ),
                    )
                }),
        }
    }

    /// Says where a column of a wrong type comes from, if it is not the file that says so.
    pub(super) fn explain(&self, error: Error) -> Error {
        match self {
            Self::Places if error.kind() == ErrorKind::TypeMismatch => error.with_hint(format!(
                "The file has no field ids, so its columns were taken in their order. Map their \
                 names to field ids in the table property \"{NAME_MAPPING_PROPERTY}\"."
            )),
            _ => error,
        }
    }

    /// The ids of the columns.
    pub(super) fn columns(&self) -> FieldIds<'_> {
        match self {
            Self::File => FieldIds::Stored,
            Self::Mapping(mapping) => FieldIds::Mapped(&mapping.fields),
            Self::Places => FieldIds::Places,
        }
    }
}

/// A field that goes by its own name, and so do those in it.
fn own_name(field: &NestedField) -> MappedField {
    let part = |name: &str, part: &NestedField| MappedField {
        names: vec![name.to_owned()],
        ..own_name(part)
    };
    MappedField {
        field_id: Some(field.id),
        names: vec![field.name.clone()],
        fields: match &field.field_type {
            Type::Primitive(_) | Type::Variant => Vec::new(),
            Type::Struct(members) => members
                .fields()
                .iter()
                .map(|field| own_name(field))
                .collect(),
            Type::List(list) => vec![part("element", &list.element)],
            Type::Map(map) => vec![part("key", &map.key), part("value", &map.value)],
        },
    }
}

impl<'a> FieldIds<'a> {
    /// The id of the field with this place (from 0) and name, and the ids of what is inside; `None`
    /// for a field without id. `stored` is the id that the file gives it.
    pub(super) fn of_field(
        self,
        place: usize,
        name: &str,
        stored: Option<i32>,
    ) -> Option<(i32, Self)> {
        match self {
            Self::Stored => stored.map(|id| (id, self)),
            Self::Mapped(fields) => {
                let field = find(fields, name)?;
                Some((field.field_id?, Self::Mapped(&field.fields)))
            }
            Self::Places => {
                let id = i32::try_from(place).ok()?.checked_add(1)?;
                Some((id, Self::None))
            }
            Self::None => None,
        }
    }

    /// The ids of what is inside a list's element or a map's key or value, which themselves are told
    /// by what they are: `name` is `element`, `key` or `value`. `None` where a name mapping leaves
    /// them out.
    pub(super) fn of_part(self, name: &str, part: &NestedField) -> Option<Self> {
        match self {
            Self::Stored | Self::None | Self::Places => Some(self),
            Self::Mapped(fields) => find(fields, name)
                .filter(|field| field.field_id == Some(part.id))
                .map(|field| Self::Mapped(&field.fields)),
        }
    }

    /// Whether all elements, keys and values in a field are there, at any depth: a list whose
    /// element a name mapping leaves out is no list.
    pub(super) fn reach(self, field: &NestedField) -> bool {
        let part = |name, part: &NestedField| {
            self.of_part(name, part)
                .is_some_and(|inner| inner.reach(part))
        };
        match &field.field_type {
            Type::Primitive(_) | Type::Struct(_) | Type::Variant => true,
            Type::List(list) => part("element", &list.element),
            Type::Map(map) => part("key", &map.key) && part("value", &map.value),
        }
    }
}
