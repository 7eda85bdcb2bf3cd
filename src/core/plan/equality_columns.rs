//! The columns of equality deletes, over all schemas of a table: a column that was dropped still
//! counts, and one whose type was widened is compared in its widest type.
//! Spec: "Equality Delete Files", "Schema Evolution".

use std::sync::Arc;

use super::delete_file::EqualityColumn;
use crate::error::{Error, ErrorKind, Result};
use crate::spec::{NestedField, PrimitiveType, TableMetadata, Type};

/// The columns with these field ids.
///
/// # Errors
/// Without the delete file's name. `Corrupt` for an id that no schema has, or that lies in a list
/// or map; `NotSupported` for a type whose values cannot be compared.
pub(super) fn equality_columns(
    metadata: &TableMetadata,
    field_ids: &[i32],
) -> Result<Vec<EqualityColumn>> {
    field_ids
        .iter()
        .map(|field_id| equality_column(metadata, *field_id))
        .collect()
}

fn equality_column(metadata: &TableMetadata, field_id: i32) -> Result<EqualityColumn> {
    let newest_first = metadata
        .current_schema()
        .into_iter()
        .chain(metadata.schemas.values().rev());
    let mut found: Option<Vec<Arc<NestedField>>> = None;
    for schema in newest_first {
        let Some(path) = schema.field_path(field_id) else {
            continue;
        };
        let wider = match (&found, path.last()) {
            (Some(known), Some(field)) => known
                .last()
                .is_some_and(|known| is_wider(&field.field_type, &known.field_type)),
            (None, _) => true,
            (Some(_), None) => false,
        };
        if wider {
            found = Some(path.into_iter().map(Arc::clone).collect());
        }
    }
    let path = found.ok_or_else(|| {
        Error::new(
            ErrorKind::Corrupt,
            format!(
                "equality deletes compare the field with id {field_id}, which no schema of the \
                 table has"
            ),
        )
    })?;
    let column = EqualityColumn { path };
    let Some((field, around)) = column.path.split_last() else {
        return Err(Error::new(ErrorKind::Internal, "a field has no path"));
    };
    if !around
        .iter()
        .all(|field| matches!(field.field_type, Type::Struct(_)))
    {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!(
                "equality deletes compare \"{}\", which is in a list or map",
                column.name()
            ),
        ));
    }
    match &field.field_type {
        Type::Primitive(_) => Ok(column),
        other => Err(Error::not_supported(format!(
            "equality deletes compare column \"{}\", whose type is {other}: only primitive types \
             are supported",
            column.name()
        ))),
    }
}

/// Whether values of `narrow` can be promoted to `wide`, and not the other way.
fn is_wider(wide: &Type, narrow: &Type) -> bool {
    let (Type::Primitive(wide), Type::Primitive(narrow)) = (wide, narrow) else {
        return false;
    };
    match (wide, narrow) {
        (PrimitiveType::Long, PrimitiveType::Int)
        | (PrimitiveType::Double, PrimitiveType::Float)
        | (PrimitiveType::Timestamp | PrimitiveType::TimestampNs, PrimitiveType::Date) => true,
        (
            PrimitiveType::Decimal {
                precision: wide, ..
            },
            PrimitiveType::Decimal {
                precision: narrow, ..
            },
        ) => wide > narrow,
        (other, PrimitiveType::Unknown) => *other != PrimitiveType::Unknown,
        _ => false,
    }
}
