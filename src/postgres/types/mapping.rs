//! Which Postgres type a column of an Iceberg type is declared with.
//! Spec: "Schemas and Data Types".

use iceberg_core::spec::{PrimitiveType, Type};

/// How a column is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// The type as SQL.
    pub sql: String,
    /// Whether values of the type are ordered by a collation.
    pub collatable: bool,
}

/// The declaration of a column that holds values of this type.
pub fn column_type(of: &Type) -> ColumnType {
    match of {
        Type::Primitive(primitive) => scalar(primitive),
        Type::List(list) => match &list.element.field_type {
            Type::Primitive(element) => {
                let element = scalar(element);
                ColumnType {
                    sql: format!("{}[]", element.sql),
                    ..element
                }
            }
            Type::Struct(_) | Type::List(_) | Type::Map(_) | Type::Variant => {
                plain("pg_catalog.jsonb")
            }
        },
        Type::Struct(_) | Type::Map(_) | Type::Variant => plain("pg_catalog.jsonb"),
    }
}

fn scalar(primitive: &PrimitiveType) -> ColumnType {
    match primitive {
        PrimitiveType::Boolean => plain("boolean"),
        PrimitiveType::Int => plain("integer"),
        PrimitiveType::Long => plain("bigint"),
        PrimitiveType::Float => plain("real"),
        PrimitiveType::Double => plain("double precision"),
        PrimitiveType::Decimal { precision, scale } => ColumnType {
            sql: format!("pg_catalog.numeric({precision},{scale})"),
            collatable: false,
        },
        PrimitiveType::Date => plain("pg_catalog.date"),
        PrimitiveType::Time => plain("time without time zone"),
        PrimitiveType::Timestamp | PrimitiveType::TimestampNs => {
            plain("timestamp without time zone")
        }
        PrimitiveType::Timestamptz | PrimitiveType::TimestamptzNs => {
            plain("timestamp with time zone")
        }
        PrimitiveType::String | PrimitiveType::Unknown => ColumnType {
            sql: "pg_catalog.text".to_owned(),
            collatable: true,
        },
        PrimitiveType::Uuid => plain("pg_catalog.uuid"),
        PrimitiveType::Fixed(_)
        | PrimitiveType::Binary
        | PrimitiveType::Geometry { .. }
        | PrimitiveType::Geography { .. } => plain("pg_catalog.bytea"),
    }
}

/// A type without collation. Names that are no keywords of SQL carry their schema, so that a type of
/// the same name elsewhere in the search path is never taken.
fn plain(sql: &str) -> ColumnType {
    ColumnType {
        sql: sql.to_owned(),
        collatable: false,
    }
}
