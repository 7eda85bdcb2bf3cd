//! From the fields a read wants and a file's schema: which leaves to decode, and how the decoded
//! arrays become the fields. Fields are found by id at every depth, never by name.
//! Spec: "Column Projection"; Appendix A "Parquet", and Parquet's rules for legacy lists.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use parquet::basic::{ConvertedType, Repetition};
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type as ParquetType, TypePtr};

use super::arrow_types::{arrow_field, map_entries, struct_fields, variant_fields};
use super::assemble::{Assembly, Member};
use super::field_ids::{FieldIds, IdSource};
use super::leaf::Conversion;
use super::metadata_columns::{MetadataColumn, OutputColumn};
use super::missing::Substitute;
use super::{leaf, variant};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::FileScanTask;
use crate::spec::{ListType, MapType, NestedField, Schema, StructType, Type};

/// What to decode of one file, and what becomes of it.
#[derive(Debug)]
pub(super) struct Projection {
    /// The file's schema, cut down to what is decoded, with leaves typed as the decoder should
    /// see them.
    pub(super) schema: SchemaDescPtr,
    /// For each leaf of `schema`, its index among the leaves of the file.
    pub(super) leaves: Vec<usize>,
    /// The columns of a batch.
    pub(super) columns: Vec<Column>,
    /// The schema of a batch.
    pub(super) output: SchemaRef,
}

/// A column of a batch.
#[derive(Debug)]
pub(super) struct Column {
    /// Its Iceberg name.
    pub(super) name: String,
    /// Where it comes from.
    pub(super) member: Member,
}

/// The columns as fields, in this order; metadata columns too are fields.
///
/// # Errors
/// `InvalidArgument` for an id that is no top-level field of the schema.
pub(super) fn wanted_fields(
    schema: &Schema,
    columns: &[OutputColumn],
) -> Result<Vec<Arc<NestedField>>> {
    columns
        .iter()
        .map(|column| match column {
            OutputColumn::Metadata(column) => Ok(Arc::new(column.field())),
            OutputColumn::Field(id) => schema.fields().field_by_id(*id).cloned().ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    format!(
                        "schema {} has no top-level field with id {id}",
                        schema.schema_id()
                    ),
                )
            }),
        })
        .collect()
}

/// The schema of the batches of these fields.
pub(super) fn output_schema(wanted: &[Arc<NestedField>]) -> SchemaRef {
    Arc::new(ArrowSchema::new(
        wanted
            .iter()
            .map(|field| arrow_field(field))
            .collect::<Vec<_>>(),
    ))
}

impl Projection {
    /// Finds the wanted fields in the schema of the file of a task.
    ///
    /// # Errors
    /// Without the file's name. `TypeMismatch` where the file's type cannot be read as the field's;
    /// `Corrupt` for ids that contradict the schema, and as [`Substitute::of`] and
    /// [`IdSource::of_file`].
    pub(super) fn new(
        wanted: &[Arc<NestedField>],
        output: SchemaRef,
        stored: &SchemaDescriptor,
        task: &FileScanTask,
    ) -> Result<Self> {
        let root = stored.root_schema();
        let ids = IdSource::of_file(task, wanted.is_empty() || has_field_ids(root))?;
        let mut pruner = Pruner {
            leaves: Vec::new(),
            task,
        };
        let (fields, members) = pruner
            .members(wanted, root, 0, ids.columns(), &mut Vec::new())
            .map_err(|error| ids.explain(error))?;
        let schema = ParquetType::group_type_builder(root.name())
            .with_fields(fields)
            .build()
            .map_err(|error| Error::new(ErrorKind::Corrupt, format!("Parquet schema: {error}")))?;
        Ok(Self {
            schema: Arc::new(SchemaDescriptor::new(Arc::new(schema))),
            leaves: pruner.leaves,
            columns: wanted
                .iter()
                .zip(members)
                .map(|(field, member)| Column {
                    name: field.name.clone(),
                    member,
                })
                .collect(),
            output,
        })
    }

    /// The leaves, as their indexes among [`Projection::leaves`], of the decoded column at a place in
    /// the schema.
    pub(super) fn leaves_of(&self, root: usize) -> Range<usize> {
        let fields = self.schema.root_schema().get_fields();
        let count = |fields: &[TypePtr]| fields.iter().map(|field| count_leaves(field)).sum();
        let start: usize = count(fields.get(..root).unwrap_or(fields));
        let length: usize = count(fields.get(root..=root).unwrap_or_default());
        start..start + length
    }

    /// The primitive column at a place in batches: its index among [`Projection::leaves`], and what
    /// becomes of what it decodes to. `None` for what the file does not have as one column.
    pub(super) fn leaf_at(&self, place: &[usize]) -> Option<(usize, &Conversion)> {
        let (first, mut rest) = place.split_first()?;
        let mut member = &self.columns.get(*first)?.member;
        let mut group = self.schema.root_schema();
        let mut leaf = 0;
        loop {
            let decoded = member.decoded?;
            let before = group.get_fields().get(..decoded)?;
            leaf += before
                .iter()
                .map(|field| count_leaves(field))
                .sum::<usize>();
            match &member.assembly {
                Assembly::Leaf(conversion) if rest.is_empty() => return Some((leaf, conversion)),
                Assembly::Struct { members, .. } => {
                    let (next, inner) = rest.split_first()?;
                    group = group.get_fields().get(decoded)?;
                    (member, rest) = (members.get(*next)?, inner);
                }
                _ => return None,
            }
        }
    }

    /// About how many bytes a row takes of what the file does not have.
    pub(super) fn substitute_size(&self) -> u64 {
        Column::substitute_size(&self.columns)
    }
}

impl Column {
    /// The name of the first of these columns of which the file lacks the column itself or
    /// something in it.
    pub(super) fn first_missing(columns: &[Self]) -> Option<&str> {
        columns
            .iter()
            .find(|column| column.member.is_missing())
            .map(|column| column.name.as_str())
    }

    /// About how many bytes a row of these columns takes of what the file does not have.
    pub(super) fn substitute_size(columns: &[Self]) -> u64 {
        columns
            .iter()
            .map(|column| column.member.substitute_size())
            .fold(0, u64::saturating_add)
    }
}

/// What stands for a field that the file of a task does not have.
///
/// # Errors
/// As [`Substitute::of`], with the column.
pub(super) fn missing(field: &NestedField, task: &FileScanTask, path: &[String]) -> Result<Member> {
    let substitute =
        Substitute::of(field, task).map_err(|error| error.in_column(path.join(".")))?;
    Ok(Member {
        decoded: None,
        assembly: Assembly::Missing(substitute),
    })
}

/// A field that the file of a task has: the decoded array with this index, assembled this way. Rows
/// that have no value in a stored metadata column have the usual one.
///
/// # Errors
/// As [`missing`].
pub(super) fn stored_at(
    decoded: usize,
    assembly: Assembly,
    field: &NestedField,
    task: &FileScanTask,
) -> Result<Member> {
    let assembly = match assembly {
        Assembly::Leaf(stored) if MetadataColumn::by_field_id(field.id).is_some() => {
            Assembly::Overriding {
                stored,
                otherwise: Substitute::of(field, task)?,
            }
        }
        other => other,
    };
    Ok(Member {
        decoded: Some(decoded),
        assembly,
    })
}

/// A file has several fields with the id of one.
pub(super) fn stored_twice(field: &NestedField, path: &[String]) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!(
            "field id {} of column \"{}\" is there twice",
            field.id,
            path.join(".")
        ),
    )
}

/// Whether a field is a metadata column that the file of a task cannot have as a column of its own.
pub(super) fn is_never_stored(field: &NestedField, task: &FileScanTask) -> bool {
    MetadataColumn::by_field_id(field.id).is_some_and(|column| !column.is_stored(task))
}

/// Whether any field below has an id.
fn has_field_ids(group: &ParquetType) -> bool {
    group
        .get_fields()
        .iter()
        .any(|field| field.get_basic_info().has_id() || (field.is_group() && has_field_ids(field)))
}

/// The number of leaves of a field.
fn count_leaves(stored: &ParquetType) -> usize {
    match stored {
        ParquetType::PrimitiveType { .. } => 1,
        ParquetType::GroupType { fields, .. } => {
            fields.iter().map(|field| count_leaves(field)).sum()
        }
    }
}

/// Builds the cut-down schema; its leaves come out in the order they are appended in.
struct Pruner<'a> {
    leaves: Vec<usize>,
    task: &'a FileScanTask,
}

/// The names down to a field, for messages.
pub(super) type Path = Vec<String>;

/// The shape of a list in Parquet, after its rules for legacy files.
enum ListShape<'a> {
    /// The list field itself repeats; elements are required.
    Bare,
    /// A list of two levels: the repeated field is the element.
    Two { repeated: &'a TypePtr },
    /// A list of three levels: the repeated group holds the element.
    Three { element: &'a TypePtr },
}

impl Pruner<'_> {
    /// Finds fields among those of a group by id: the found ones cut down, and for each wanted
    /// one what becomes of it.
    fn members(
        &mut self,
        wanted: &[Arc<NestedField>],
        group: &ParquetType,
        first_leaf: usize,
        ids: FieldIds<'_>,
        path: &mut Path,
    ) -> Result<(Vec<TypePtr>, Vec<Member>)> {
        let stored = fields_by_id(group, first_leaf, ids);
        let mut found = Vec::new();
        let mut members = Vec::with_capacity(wanted.len());
        for field in wanted {
            path.push(field.name.clone());
            let member = match stored.get(&field.id) {
                _ if is_never_stored(field, self.task) => missing(field, self.task, path)?,
                Some(stored) if stored.twice => {
                    return Err(stored_twice(field, path));
                }
                Some(stored) if stored.inner_ids.reach(field) => {
                    let leaf = stored.first_leaf;
                    let (pruned, assembly) =
                        self.field(field, stored.field, leaf, stored.inner_ids, path)?;
                    found.push(pruned);
                    stored_at(found.len() - 1, assembly, field, self.task)?
                }
                _ => missing(field, self.task, path)?,
            };
            path.pop();
            members.push(member);
        }
        Ok((found, members))
    }

    fn field(
        &mut self,
        wanted: &NestedField,
        stored: &TypePtr,
        first_leaf: usize,
        ids: FieldIds<'_>,
        path: &mut Path,
    ) -> Result<(TypePtr, Assembly)> {
        match &wanted.field_type {
            Type::Primitive(primitive) => {
                let planned = if leaf::repetition(stored) == Repetition::REPEATED {
                    None
                } else {
                    leaf::plan(primitive, stored)
                };
                let Some((decoded, conversion)) = planned else {
                    return Err(mismatch(wanted, stored, path));
                };
                self.leaves.push(first_leaf);
                Ok((decoded, Assembly::Leaf(conversion)))
            }
            Type::Struct(members) => {
                if !is_plain_group(stored) || leaf::repetition(stored) == Repetition::REPEATED {
                    return Err(mismatch(wanted, stored, path));
                }
                self.structure(members, stored, first_leaf, ids, path)
            }
            Type::List(list) => self.list(wanted, list, stored, first_leaf, ids, path),
            Type::Map(map) => self.map(wanted, map, stored, first_leaf, ids, path),
            Type::Variant => {
                if !variant::is_variant(stored) {
                    return Err(mismatch(wanted, stored, path));
                }
                // Whatever is shredded belongs to the value.
                self.leaves
                    .extend(first_leaf..first_leaf + count_leaves(stored));
                Ok((Arc::clone(stored), Assembly::Variant(variant_fields())))
            }
        }
    }

    /// A group as a struct; keeps its repetition.
    fn structure(
        &mut self,
        members: &StructType,
        stored: &TypePtr,
        first_leaf: usize,
        ids: FieldIds<'_>,
        path: &mut Path,
    ) -> Result<(TypePtr, Assembly)> {
        let (mut found, planned) = self.members(members.fields(), stored, first_leaf, ids, path)?;
        if found.is_empty() {
            // Some leaf must tell which structs are null.
            found.push(self.witness(stored, first_leaf, path)?);
        }
        let pruned = group(stored.name(), leaf::repetition(stored), None, found)?;
        let assembly = Assembly::Struct {
            fields: struct_fields(members),
            members: planned,
        };
        Ok((pruned, assembly))
    }

    /// The cheapest field of a group that shows where the group is null.
    fn witness(&mut self, stored: &ParquetType, first_leaf: usize, path: &Path) -> Result<TypePtr> {
        let mut leaf = first_leaf;
        let mut candidates = Vec::new();
        for field in stored.get_fields() {
            candidates.push((leaf, field));
            leaf += count_leaves(field);
        }
        let single = |field: &TypePtr| {
            field.is_primitive() && leaf::repetition(field) != Repetition::REPEATED
        };
        let chosen = candidates
            .iter()
            .find(|(_, field)| single(field))
            .or_else(|| candidates.first());
        let Some((leaf, field)) = chosen else {
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!("column \"{}\" is a group without fields", path.join(".")),
            ));
        };
        if single(field)
            && let Some(plain) = leaf::plain(field)
        {
            self.leaves.push(*leaf);
            return Ok(plain);
        }
        if is_plain_group(field) && leaf::repetition(field) != Repetition::REPEATED {
            let inner = self.witness(field, *leaf, path)?;
            return group(field.name(), leaf::repetition(field), None, vec![inner]);
        }
        self.leaves.extend(*leaf..*leaf + count_leaves(field));
        Ok(Arc::clone(field))
    }

    fn list(
        &mut self,
        wanted: &NestedField,
        list: &ListType,
        stored: &TypePtr,
        first_leaf: usize,
        ids: FieldIds<'_>,
        path: &mut Path,
    ) -> Result<(TypePtr, Assembly)> {
        let Some(shape) = list_shape(stored) else {
            return Err(mismatch(wanted, stored, path));
        };
        path.push("element".to_owned());
        let ids = ids
            .of_part("element", &list.element)
            .unwrap_or(FieldIds::None);
        let (pruned, element) = match shape {
            ListShape::Bare => self.repeated(&list.element, stored, first_leaf, ids, path)?,
            ListShape::Two { repeated } => {
                check_id(repeated, &list.element, path)?;
                let (pruned, element) =
                    self.repeated(&list.element, repeated, first_leaf, ids, path)?;
                // Under this name a group with one field is still the element itself.
                let pruned = if pruned.is_group() {
                    let fields = pruned.get_fields().to_vec();
                    group("array", Repetition::REPEATED, None, fields)?
                } else {
                    pruned
                };
                (annotated(stored, ConvertedType::LIST, pruned)?, element)
            }
            ListShape::Three { element } => {
                check_id(element, &list.element, path)?;
                let (pruned, assembly) =
                    self.field(&list.element, element, first_leaf, ids, path)?;
                let repeated = group("list", Repetition::REPEATED, None, vec![pruned])?;
                (annotated(stored, ConvertedType::LIST, repeated)?, assembly)
            }
        };
        path.pop();
        let assembly = Assembly::List {
            element_field: arrow_field(&list.element),
            element: Box::new(element),
        };
        Ok((pruned, assembly))
    }

    /// A repeated field as the element of a list.
    fn repeated(
        &mut self,
        element: &NestedField,
        repeated: &TypePtr,
        first_leaf: usize,
        ids: FieldIds<'_>,
        path: &mut Path,
    ) -> Result<(TypePtr, Assembly)> {
        match &element.field_type {
            Type::Primitive(primitive) => {
                let Some((decoded, conversion)) = leaf::plan(primitive, repeated) else {
                    return Err(mismatch(element, repeated, path));
                };
                self.leaves.push(first_leaf);
                Ok((decoded, Assembly::Leaf(conversion)))
            }
            Type::Struct(members) if is_plain_group(repeated) => {
                self.structure(members, repeated, first_leaf, ids, path)
            }
            _ => Err(mismatch(element, repeated, path)),
        }
    }

    fn map(
        &mut self,
        wanted: &NestedField,
        map: &MapType,
        stored: &TypePtr,
        first_leaf: usize,
        ids: FieldIds<'_>,
        path: &mut Path,
    ) -> Result<(TypePtr, Assembly)> {
        let entries = match stored.get_basic_info().converted_type() {
            ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE
                if stored.is_group() && leaf::repetition(stored) != Repetition::REPEATED =>
            {
                stored.get_fields()
            }
            _ => return Err(mismatch(wanted, stored, path)),
        };
        let [entry] = entries else {
            return Err(mismatch(wanted, stored, path));
        };
        let (true, Repetition::REPEATED) = (entry.is_group(), leaf::repetition(entry)) else {
            return Err(mismatch(wanted, stored, path));
        };
        let [stored_key, stored_value] = entry.get_fields() else {
            return Err(mismatch(wanted, stored, path));
        };
        path.push("key".to_owned());
        check_id(stored_key, &map.key, path)?;
        let key_ids = ids.of_part("key", &map.key).unwrap_or(FieldIds::None);
        let (pruned_key, key) = self.field(&map.key, stored_key, first_leaf, key_ids, path)?;
        path.pop();
        path.push("value".to_owned());
        check_id(stored_value, &map.value, path)?;
        let value_leaf = first_leaf + count_leaves(stored_key);
        let value_ids = ids.of_part("value", &map.value).unwrap_or(FieldIds::None);
        let (pruned_value, value) =
            self.field(&map.value, stored_value, value_leaf, value_ids, path)?;
        path.pop();
        let entry = group(
            "key_value",
            Repetition::REPEATED,
            None,
            vec![pruned_key, pruned_value],
        )?;
        let assembly = Assembly::Map {
            entries_field: map_entries(map),
            key: Box::new(key),
            value: Box::new(value),
        };
        Ok((annotated(stored, ConvertedType::MAP, entry)?, assembly))
    }
}

/// A field of a group of the file.
struct Stored<'a> {
    field: &'a TypePtr,
    /// The index of its first leaf.
    first_leaf: usize,
    /// The ids of what is inside.
    inner_ids: FieldIds<'a>,
    /// Whether another one has the same id.
    twice: bool,
}

/// The fields of a group by their ids.
fn fields_by_id<'a>(
    group: &'a ParquetType,
    first_leaf: usize,
    ids: FieldIds<'a>,
) -> HashMap<i32, Stored<'a>> {
    let mut leaf = first_leaf;
    let mut fields: HashMap<i32, Stored<'_>> = HashMap::new();
    for (place, field) in group.get_fields().iter().enumerate() {
        let info = field.get_basic_info();
        let stored_id = info.has_id().then(|| info.id());
        if let Some((id, inner_ids)) = ids.of_field(place, info.name(), stored_id) {
            fields
                .entry(id)
                .and_modify(|stored| stored.twice = true)
                .or_insert(Stored {
                    field,
                    first_leaf: leaf,
                    inner_ids,
                    twice: false,
                });
        }
        leaf += count_leaves(field);
    }
    fields
}

/// A list's element and a map's key and value have their place; an id must not contradict it.
fn check_id(stored: &ParquetType, wanted: &NestedField, path: &Path) -> Result<()> {
    let info = stored.get_basic_info();
    if info.has_id() && info.id() != wanted.id {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!(
                "column \"{}\" has field id {}, but the schema says {}",
                path.join("."),
                info.id(),
                wanted.id
            ),
        ));
    }
    Ok(())
}

/// A group that is neither a list nor a map.
fn is_plain_group(stored: &ParquetType) -> bool {
    stored.is_group()
        && !matches!(
            stored.get_basic_info().converted_type(),
            ConvertedType::LIST | ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE
        )
}

/// The shape of a list; `None` for what is no list.
fn list_shape(stored: &TypePtr) -> Option<ListShape<'_>> {
    if leaf::repetition(stored) == Repetition::REPEATED {
        let bare = stored.is_primitive() || is_plain_group(stored);
        return bare.then_some(ListShape::Bare);
    }
    if !stored.is_group() || stored.get_basic_info().converted_type() != ConvertedType::LIST {
        return None;
    }
    let [repeated] = stored.get_fields() else {
        return None;
    };
    if leaf::repetition(repeated) != Repetition::REPEATED {
        return None;
    }
    let element = match &**repeated {
        ParquetType::PrimitiveType { .. } => return Some(ListShape::Two { repeated }),
        ParquetType::GroupType { fields, .. } => match fields.as_slice() {
            [element] => element,
            _ => return Some(ListShape::Two { repeated }),
        },
    };
    let named_as_element =
        repeated.name() == "array" || repeated.name() == format!("{}_tuple", stored.name());
    let nested = repeated.get_basic_info().converted_type() == ConvertedType::LIST
        || leaf::repetition(element) == Repetition::REPEATED;
    if named_as_element && !nested {
        Some(ListShape::Two { repeated })
    } else {
        Some(ListShape::Three { element })
    }
}

/// A list or map around its one repeated field.
fn annotated(stored: &ParquetType, annotation: ConvertedType, inner: TypePtr) -> Result<TypePtr> {
    group(
        stored.name(),
        leaf::repetition(stored),
        Some(annotation),
        vec![inner],
    )
}

fn group(
    name: &str,
    repetition: Repetition,
    annotation: Option<ConvertedType>,
    fields: Vec<TypePtr>,
) -> Result<TypePtr> {
    ParquetType::group_type_builder(name)
        .with_repetition(repetition)
        .with_converted_type(annotation.unwrap_or(ConvertedType::NONE))
        .with_fields(fields)
        .build()
        .map(Arc::new)
        .map_err(|error| Error::new(ErrorKind::Corrupt, format!("Parquet schema: {error}")))
}

fn mismatch(wanted: &NestedField, stored: &ParquetType, path: &Path) -> Error {
    Error::new(
        ErrorKind::TypeMismatch,
        format!(
            "column \"{}\" is {} in the file, which cannot be read as {}",
            path.join("."),
            leaf::describe(stored),
            wanted.field_type,
        ),
    )
}
