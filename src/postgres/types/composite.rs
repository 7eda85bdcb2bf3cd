//! Structs as values of a composite type that the user declares: attributes are matched with fields
//! by name, in whichever order, and every one of both must have its counterpart.

use iceberg_core::spec::{StructType, Type};
use iceberg_core::{Error, ErrorKind, Result};
use pgrx::PgTupleDesc;
use pgrx::pg_sys;

use super::conversion::{Conversion, PostgresType, type_name};

/// The way from a struct to a composite type; `None` for a type that is none.
///
/// # Errors
/// `TypeMismatch` naming the attribute or field without counterpart, or the attribute whose type does
/// not go with its field's.
pub fn choose(column: &str, fields: &StructType, to: PostgresType) -> Result<Option<Conversion>> {
    // SAFETY: a syscache lookup on the backend's thread.
    if unsafe { pg_sys::get_typtype(to.oid) } as u8 != pg_sys::TYPTYPE_COMPOSITE {
        return Ok(None);
    }
    let Some(descriptor) = PgTupleDesc::for_composite_type_by_oid(to.oid) else {
        return Ok(None);
    };
    let mut unmatched: Vec<bool> = vec![true; fields.fields().len()];
    let mut attributes = Vec::with_capacity(descriptor.len());
    for attribute in descriptor.iter() {
        if attribute.attisdropped {
            attributes.push(None);
            continue;
        }
        let name = crate::encoding::from_server(name_of(attribute))?;
        let place = fields.fields().iter().position(|field| field.name == name);
        let Some((place, field)) = place.and_then(|at| Some((at, fields.fields().get(at)?))) else {
            return Err(lacking(
                column,
                fields,
                to,
                &format!("attribute \"{name}\" has no field of that name"),
            ));
        };
        if let Some(unmatched) = unmatched.get_mut(place) {
            *unmatched = false;
        }
        let declared = PostgresType {
            oid: attribute.atttypid,
            typmod: attribute.atttypmod,
        };
        let conversion =
            Conversion::choose(&format!("{column}.{name}"), &field.field_type, declared)?;
        attributes.push(Some((place, conversion)));
    }
    if let Some(field) = unmatched
        .iter()
        .zip(fields.fields())
        .find_map(|(unmatched, field)| unmatched.then_some(field))
    {
        return Err(lacking(
            column,
            fields,
            to,
            &format!("field \"{}\" has no attribute of that name", field.name),
        ));
    }
    Ok(Some(Conversion::Composite {
        type_oid: to.oid,
        attributes,
    }))
}

fn lacking(column: &str, fields: &StructType, to: PostgresType, what: &str) -> Error {
    Error::new(
        ErrorKind::TypeMismatch,
        format!(
            "column \"{column}\" is declared as {}, but Iceberg type {} cannot be read as that: {what}",
            type_name(to),
            Type::Struct(fields.clone()),
        ),
    )
    .with_hint(
        "Give the composite type exactly the struct's fields by name, in any order, or declare the column as jsonb.",
    )
}

fn name_of(attribute: &pg_sys::FormData_pg_attribute) -> &std::ffi::CStr {
    // SAFETY: Postgres ends a name with a zero byte within its fixed length.
    unsafe { std::ffi::CStr::from_ptr(attribute.attname.data.as_ptr()) }
}
