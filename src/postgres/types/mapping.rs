//! Which Postgres type a column of an Iceberg type is declared with.
//! Spec: "Schemas and Data Types".

use iceberg_core::spec::{PrimitiveType, Type};

/// How a column is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// The type as SQL; it is found in the schema `pg_catalog`.
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
            Type::Struct(_) | Type::List(_) | Type::Map(_) | Type::Variant => plain("jsonb"),
        },
        Type::Struct(_) | Type::Map(_) | Type::Variant => plain("jsonb"),
    }
}

fn scalar(primitive: &PrimitiveType) -> ColumnType {
    match primitive {
        PrimitiveType::Boolean => plain("bool"),
        PrimitiveType::Int => plain("int4"),
        PrimitiveType::Long => plain("int8"),
        PrimitiveType::Float => plain("float4"),
        PrimitiveType::Double => plain("float8"),
        PrimitiveType::Decimal { precision, scale } => ColumnType {
            sql: format!("numeric({precision},{scale})"),
            collatable: false,
        },
        PrimitiveType::Date => plain("date"),
        PrimitiveType::Time => plain("time"),
        PrimitiveType::Timestamp | PrimitiveType::TimestampNs => plain("timestamp"),
        PrimitiveType::Timestamptz | PrimitiveType::TimestamptzNs => plain("timestamptz"),
        PrimitiveType::String | PrimitiveType::Unknown => ColumnType {
            sql: "text".to_owned(),
            collatable: true,
        },
        PrimitiveType::Uuid => plain("uuid"),
        PrimitiveType::Fixed(_)
        | PrimitiveType::Binary
        | PrimitiveType::Geometry { .. }
        | PrimitiveType::Geography { .. } => plain("bytea"),
    }
}

/// A type without collation.
fn plain(sql: &str) -> ColumnType {
    ColumnType {
        sql: sql.to_owned(),
        collatable: false,
    }
}
