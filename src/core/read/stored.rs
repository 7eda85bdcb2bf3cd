//! The schema of a file as a tree of names, ids and types, and the wanted fields found in it by id
//! at every depth. For formats whose values are decoded here: Avro and ORC.
//! Spec: "Column Projection"; Appendix A "Avro" and "ORC".

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::arrow_types::{arrow_field, map_entries, struct_fields};
use super::assemble::{Assembly, Member};
use super::field_ids::{FieldIds, IdSource};
use super::leaf::Conversion;
use super::projection::{Column, Path, is_never_stored, missing, stored_at, stored_twice};
use super::values::{StoredLeaf, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::FileScanTask;
use crate::spec::{NestedField, Type};

/// A field of a file's schema.
#[derive(Debug, Clone)]
pub(super) struct StoredField {
    /// Its Iceberg id, where the writer stored one.
    pub(super) id: Option<i32>,
    /// Its name in the file.
    pub(super) name: String,
    /// How its values are laid out.
    pub(super) shape: StoredShape,
}

/// How the values of a field are laid out.
#[derive(Debug, Clone)]
pub(super) enum StoredShape {
    Leaf(StoredLeaf),
    Struct(Vec<StoredField>),
    List(Box<StoredField>),
    Map(Box<StoredField>, Box<StoredField>),
    /// What no Iceberg type is stored as; says what it is.
    Other(&'static str),
}

/// A field that is decoded.
#[derive(Debug, Clone)]
pub(super) struct Selected {
    /// Its place among the fields of its struct in the file; 0 for what is in a list, and 0 and 1
    /// for a map's key and value.
    pub(super) place: usize,
    /// What is decoded.
    pub(super) shape: SelectedShape,
}

/// What is decoded of a field.
#[derive(Debug, Clone)]
pub(super) enum SelectedShape {
    Leaf(Target),
    /// These members; may be none, where only nulls are of interest.
    Struct(Vec<Selected>),
    List(Box<Selected>),
    Map(Box<Selected>, Box<Selected>),
}

/// Finds the wanted fields among those of the file of a task: what to decode, and the columns made
/// of it.
///
/// # Errors
/// Without the file's name. As [`super::projection::Projection::new`].
pub(super) fn select(
    wanted: &[Arc<NestedField>],
    stored: &[StoredField],
    task: &FileScanTask,
) -> Result<(Vec<Selected>, Vec<Column>)> {
    let has_ids = wanted.is_empty() || stored.iter().any(has_id);
    let ids = IdSource::of_named_file(task, has_ids, wanted)?;
    let selector = Selector { task };
    let (selected, members) = selector.members(wanted, stored, ids.columns(), &mut Vec::new())?;
    let columns = wanted
        .iter()
        .zip(members)
        .map(|(field, member)| Column {
            name: field.name.clone(),
            member,
        })
        .collect();
    Ok((selected, columns))
}

fn has_id(field: &StoredField) -> bool {
    field.id.is_some()
        || match &field.shape {
            StoredShape::Struct(members) => members.iter().any(has_id),
            StoredShape::List(element) => has_id(element),
            StoredShape::Map(key, value) => has_id(key) || has_id(value),
            StoredShape::Leaf(_) | StoredShape::Other(_) => false,
        }
}

/// Finds fields in the file of a task.
struct Selector<'a> {
    task: &'a FileScanTask,
}

/// A stored field under an id.
struct Found<'a> {
    place: usize,
    field: &'a StoredField,
    inner_ids: FieldIds<'a>,
    twice: bool,
}

impl Selector<'_> {
    fn members(
        &self,
        wanted: &[Arc<NestedField>],
        stored: &[StoredField],
        ids: FieldIds<'_>,
        path: &mut Path,
    ) -> Result<(Vec<Selected>, Vec<Member>)> {
        let mut by_id: HashMap<i32, Found<'_>> = HashMap::new();
        for (place, field) in stored.iter().enumerate() {
            if let Some((id, inner_ids)) = ids.of_field(place, &field.name, field.id) {
                by_id
                    .entry(id)
                    .and_modify(|found| found.twice = true)
                    .or_insert(Found {
                        place,
                        field,
                        inner_ids,
                        twice: false,
                    });
            }
        }
        let mut selected = Vec::new();
        let mut members = Vec::with_capacity(wanted.len());
        for field in wanted {
            path.push(field.name.clone());
            let member = match by_id.get(&field.id) {
                _ if is_never_stored(field, self.task) => missing(field, self.task, path)?,
                Some(found) if found.twice => {
                    return Err(stored_twice(field, path));
                }
                Some(found) if found.inner_ids.reach(field) => {
                    let (shape, assembly) =
                        self.field(field, found.field, found.inner_ids, path)?;
                    selected.push(Selected {
                        place: found.place,
                        shape,
                    });
                    stored_at(selected.len() - 1, assembly, field, self.task)?
                }
                _ => missing(field, self.task, path)?,
            };
            path.pop();
            members.push(member);
        }
        Ok((selected, members))
    }

    fn field(
        &self,
        wanted: &NestedField,
        stored: &StoredField,
        ids: FieldIds<'_>,
        path: &mut Path,
    ) -> Result<(SelectedShape, Assembly)> {
        match (&wanted.field_type, &stored.shape) {
            (Type::Primitive(primitive), StoredShape::Leaf(leaf)) => {
                let target =
                    Target::new(primitive, *leaf).ok_or_else(|| mismatch(wanted, stored, path))?;
                let conversion = Conversion::none(target.data_type().clone());
                Ok((SelectedShape::Leaf(target), Assembly::Leaf(conversion)))
            }
            (Type::Struct(fields), StoredShape::Struct(stored)) => {
                let (selected, members) = self.members(fields.fields(), stored, ids, path)?;
                let assembly = Assembly::Struct {
                    fields: struct_fields(fields),
                    members,
                };
                Ok((SelectedShape::Struct(selected), assembly))
            }
            (Type::List(list), StoredShape::List(element)) => {
                let (selected, assembly) =
                    self.part(("element", 0), &list.element, element, ids, path)?;
                let assembly = Assembly::List {
                    element_field: arrow_field(&list.element),
                    element: Box::new(assembly),
                };
                Ok((SelectedShape::List(Box::new(selected)), assembly))
            }
            (Type::Map(map), StoredShape::Map(key, value)) => {
                let (selected_key, key) = self.part(("key", 0), &map.key, key, ids, path)?;
                let (selected_value, value) =
                    self.part(("value", 1), &map.value, value, ids, path)?;
                let assembly = Assembly::Map {
                    entries_field: map_entries(map),
                    key: Box::new(key),
                    value: Box::new(value),
                };
                let shape = SelectedShape::Map(Box::new(selected_key), Box::new(selected_value));
                Ok((shape, assembly))
            }
            (Type::Variant, _) => Err(Error::not_supported(format!(
                "column \"{}\": type variant can be read from Parquet files only",
                path.join(".")
            ))),
            _ => Err(mismatch(wanted, stored, path)),
        }
    }

    /// A list's element or a map's key or value: found by its place, and an id must not contradict
    /// it.
    fn part(
        &self,
        (name, place): (&str, usize),
        wanted: &NestedField,
        stored: &StoredField,
        ids: FieldIds<'_>,
        path: &mut Path,
    ) -> Result<(Selected, Assembly)> {
        path.push(name.to_owned());
        if let Some(id) = stored.id
            && id != wanted.id
        {
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!(
                    "column \"{}\" has field id {id}, but the schema says {}",
                    path.join("."),
                    wanted.id
                ),
            ));
        }
        let ids = ids.of_part(name, wanted).unwrap_or(FieldIds::None);
        let (shape, assembly) = self.field(wanted, stored, ids, path)?;
        path.pop();
        Ok((Selected { place, shape }, assembly))
    }
}

fn mismatch(wanted: &NestedField, stored: &StoredField, path: &Path) -> Error {
    Error::new(
        ErrorKind::TypeMismatch,
        format!(
            "column \"{}\" is {} in the file, which cannot be read as {}",
            path.join("."),
            stored.shape,
            wanted.field_type,
        ),
    )
}

impl fmt::Display for StoredShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaf(leaf) => write!(f, "{leaf}"),
            Self::Struct(_) => f.write_str("a struct"),
            Self::List(_) => f.write_str("a list"),
            Self::Map(..) => f.write_str("a map"),
            Self::Other(what) => f.write_str(what),
        }
    }
}
