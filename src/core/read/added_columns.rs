//! The columns that a file is read with: those that come out, and those that only filters and
//! deletes look at. Spec: "Scan Planning", "Equality Delete Files".

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StructArray, make_array,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, SchemaRef};

use super::arrow_types::struct_fields;
use super::projection::output_schema;
use crate::error::{Error, ErrorKind, Result};
use crate::spec::{NestedField, StructType, Type};

/// Where a column is in a batch: its top-level column, then places in structs.
pub(super) type Place = Vec<usize>;

/// The columns that a file is read with.
#[derive(Debug)]
pub(super) struct ReadColumns {
    /// The columns to read.
    pub(super) fields: Arc<[Arc<NestedField>]>,
    /// Their schema.
    pub(super) schema: SchemaRef,
    /// The columns and the schema that come out, where these are others.
    narrower: Option<(SchemaRef, Arc<[Arc<NestedField>]>)>,
}

impl ReadColumns {
    /// Reads these fields.
    pub(super) fn all(fields: &[Arc<NestedField>]) -> Self {
        Self {
            fields: fields.into(),
            schema: output_schema(fields),
            narrower: None,
        }
    }

    /// Reads `fields`, which are those that are wanted and what [`add_column`] made of them.
    pub(super) fn new(
        fields: Vec<Arc<NestedField>>,
        wanted: &Arc<[Arc<NestedField>]>,
        output: &SchemaRef,
    ) -> Self {
        if fields[..] == wanted[..] {
            return Self {
                fields: Arc::clone(wanted),
                schema: Arc::clone(output),
                narrower: None,
            };
        }
        Self {
            schema: output_schema(&fields),
            fields: fields.into(),
            narrower: Some((Arc::clone(output), Arc::clone(wanted))),
        }
    }

    /// A batch without what was added.
    pub(super) fn output(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let Some((schema, wanted)) = &self.narrower else {
            return Ok(batch);
        };
        let columns = batch
            .columns()
            .iter()
            .zip(wanted.iter())
            .map(|(column, field)| without_added(column, &field.field_type))
            .collect::<Result<Vec<_>>>()?;
        batch_of(Arc::clone(schema), columns, batch.num_rows())
    }
}

/// A batch of so many rows, of which there may be no columns.
pub(super) fn batch_of(
    schema: SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
}

/// Makes `fields` also have the column at the end of a path through structs, and tells where it is
/// then; `None` where `fields` have something else on the way. What is added follows what is there.
pub(super) fn add_column(
    fields: &mut Vec<Arc<NestedField>>,
    path: &[Arc<NestedField>],
) -> Option<Place> {
    let mut place = Vec::with_capacity(path.len());
    add_path(fields, path, &mut place)?;
    Some(place)
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
    let absent = || Error::new(ErrorKind::Internal, "a column that was added is absent");
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
fn without_added(array: &ArrayRef, wanted: &Type) -> Result<ArrayRef> {
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
