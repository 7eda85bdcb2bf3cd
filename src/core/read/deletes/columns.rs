//! The columns that a file is read with when equality deletes apply to it: those that the query
//! wants, and those that the deletes compare. Spec: "Equality Delete Files".

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StructArray, make_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::EqualityColumn;
use crate::read::arrow_types::struct_fields;
use crate::spec::{NestedField, StructType, Type};

/// Where a column is in a batch: its top-level column, then places in structs.
pub(super) type Place = Vec<usize>;

/// Makes `fields` also have a column that deletes compare, and tells where it is then. What is
/// added follows what is there.
///
/// # Errors
/// `Corrupt` where one schema has a struct and another has not.
pub(super) fn add_column(
    fields: &mut Vec<Arc<NestedField>>,
    column: &EqualityColumn,
) -> Result<Place> {
    let mut place = Vec::with_capacity(column.path.len());
    add_path(fields, &column.path, &mut place).ok_or_else(|| {
        Error::new(
            ErrorKind::Corrupt,
            format!(
                "equality deletes compare \"{}\", which schemas of the table have at different \
                 depths",
                column.name()
            ),
        )
    })?;
    Ok(place)
}

fn add_path(
    fields: &mut Vec<Arc<NestedField>>,
    path: &[Arc<NestedField>],
    place: &mut Place,
) -> Option<()> {
    let (first, rest) = path.split_first()?;
    let Some(index) = fields.iter().position(|field| field.id == first.id) else {
        place.push(fields.len());
        place.extend(rest.iter().map(|_| 0));
        fields.push(only(first, rest));
        return Some(());
    };
    place.push(index);
    if rest.is_empty() {
        return Some(());
    }
    let field = fields.get_mut(index)?;
    let Type::Struct(inner) = &field.field_type else {
        return None;
    };
    let mut inner = inner.fields().to_vec();
    let before = inner.clone();
    add_path(&mut inner, rest, place)?;
    if inner != before {
        *field = Arc::new(NestedField {
            field_type: structure(inner),
            ..NestedField::clone(field)
        });
    }
    Some(())
}

/// A field with nothing in it but the way down a path.
fn only(field: &Arc<NestedField>, path: &[Arc<NestedField>]) -> Arc<NestedField> {
    match path.split_first() {
        None => Arc::clone(field),
        Some((first, rest)) => Arc::new(NestedField {
            field_type: structure(vec![only(first, rest)]),
            ..NestedField::clone(field)
        }),
    }
}

fn structure(fields: Vec<Arc<NestedField>>) -> Type {
    Type::Struct(StructType::new(
        fields.into_iter().map(Arc::unwrap_or_clone),
    ))
}

/// The column at a place; null where a struct around it is.
pub(super) fn column_at(columns: &[ArrayRef], place: &[usize]) -> Result<ArrayRef> {
    let absent = || {
        Error::new(
            ErrorKind::Internal,
            "a column that deletes compare is absent",
        )
    };
    let (first, rest) = place.split_first().ok_or_else(absent)?;
    let mut array = Arc::clone(columns.get(*first).ok_or_else(absent)?);
    let mut around: Option<NullBuffer> = None;
    for index in rest {
        let structure = array.as_struct_opt().ok_or_else(absent)?;
        around = NullBuffer::union(around.as_ref(), structure.nulls());
        let inner = Arc::clone(structure.columns().get(*index).ok_or_else(absent)?);
        array = inner;
    }
    if around.is_none() || *array.data_type() == DataType::Null {
        return Ok(array);
    }
    let nulls = NullBuffer::union(around.as_ref(), array.nulls());
    let data = array
        .to_data()
        .into_builder()
        .nulls(nulls)
        .build()
        .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
    Ok(make_array(data))
}

/// A column without what was added to its structs.
pub(super) fn without_added(array: &ArrayRef, wanted: &Type) -> Result<ArrayRef> {
    let Type::Struct(wanted) = wanted else {
        return Ok(Arc::clone(array));
    };
    let structure = array
        .as_struct_opt()
        .ok_or_else(|| Error::new(ErrorKind::Internal, "a struct did not decode to a struct"))?;
    let members = structure
        .columns()
        .iter()
        .zip(wanted.fields())
        .map(|(member, field)| without_added(member, &field.field_type))
        .collect::<Result<Vec<_>>>()?;
    let narrow = StructArray::try_new_with_length(
        struct_fields(wanted),
        members,
        structure.nulls().cloned(),
        structure.len(),
    )
    .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
    Ok(Arc::new(narrow))
}
