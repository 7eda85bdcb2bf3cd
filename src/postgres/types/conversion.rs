//! Which way a column goes from Iceberg to Postgres; decided once, at plan time, from the two types.
//! The pairs are those that lose nothing; any other is an error that names both.

use std::ffi::CStr;

use iceberg_core::spec::{ListType, PrimitiveType, Type};
use iceberg_core::{Error, ErrorKind, Result};
use pgrx::pg_sys::{self, Oid};

use super::composite;
use super::spatial::Spatial;

/// A Postgres type as a column declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostgresType {
    /// The type.
    pub oid: Oid,
    /// Its modifier, -1 where there is none.
    pub typmod: i32,
}

/// The way from an Arrow column to datums.
#[derive(Debug, Clone, PartialEq)]
pub enum Conversion {
    /// A value of its own.
    Scalar(Scalar),
    /// A one-dimensional array.
    Array {
        /// How each element is converted.
        element: Scalar,
        /// The element's type.
        element_type: Oid,
    },
    /// A one-dimensional array whose elements need more than a scalar does.
    List {
        /// How each element is converted.
        element: Box<Conversion>,
        /// The element's type.
        element_type: Oid,
    },
    /// A struct as a value of a composite type.
    Composite {
        /// The type.
        type_oid: Oid,
        /// For each attribute of the type the struct's field it comes from, by its place, and how
        /// that is converted; `None` for an attribute that was dropped.
        attributes: Vec<Option<(usize, Conversion)>>,
    },
    /// A value that a domain must accept.
    Domain {
        /// How the value is converted.
        base: Box<Conversion>,
        /// The domain.
        domain: Oid,
    },
    /// Well-known binary that PostGIS reads.
    Spatial(Spatial),
    /// Anything as JSON text, which Postgres' own input function takes.
    Json {
        /// What the Arrow column holds.
        from: Type,
        /// What it becomes.
        to: JsonKind,
    },
    /// JSON text that the table stores as a string.
    JsonText(JsonKind),
    /// Always null.
    Null,
}

/// The two JSON types of Postgres.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    /// `json`
    Json,
    /// `jsonb`
    Jsonb,
}

/// The way of a value without inner values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// boolean to `bool`
    Boolean,
    /// int to `int4`
    Int,
    /// int to `int8`
    IntToInt8,
    /// long to `int8`
    Long,
    /// int to `numeric`
    IntToNumeric {
        /// Digits after the point.
        display_scale: u8,
    },
    /// long to `numeric`
    LongToNumeric {
        /// Digits after the point.
        display_scale: u8,
    },
    /// float to `float4`
    Float,
    /// float to `float8`
    FloatToFloat8,
    /// double to `float8`
    Double,
    /// decimal to `numeric`
    Decimal {
        /// The scale of the unscaled values.
        scale: u8,
        /// Digits after the point in Postgres.
        display_scale: u8,
    },
    /// decimal without fraction to `int4`
    DecimalToInt4,
    /// decimal without fraction to `int8`
    DecimalToInt8,
    /// date to `date`
    Date,
    /// time to `time`
    Time,
    /// timestamp or timestamptz in microseconds
    Timestamp,
    /// timestamp or timestamptz in nanoseconds
    TimestampNanos,
    /// string to `text` or `varchar`
    Text,
    /// binary, or well-known binary of a geometry or geography, to `bytea`
    Bytea,
    /// fixed to `bytea`
    FixedBytea,
    /// uuid to `uuid`
    Uuid,
}

impl Conversion {
    /// The way from `from` to `to`, or an error of kind `TypeMismatch` or `NotSupported`.
    pub fn choose(column: &str, from: &Type, to: PostgresType) -> Result<Self> {
        let base = base_type(to);
        if base != to {
            return Ok(Self::Domain {
                base: Box::new(Self::of_base(column, from, base, to)?),
                domain: to.oid,
            });
        }
        Self::of_base(column, from, to, to)
    }

    /// The way to a type that is no domain, for a column that is declared as `declared`.
    fn of_base(
        column: &str,
        from: &Type,
        to: PostgresType,
        declared: PostgresType,
    ) -> Result<Self> {
        let refused = || mismatch(column, from, declared);
        if let Some(kind) = json_kind(to.oid) {
            return match from {
                Type::Primitive(PrimitiveType::String) => Ok(Self::JsonText(kind)),
                Type::Primitive(PrimitiveType::Unknown) => Ok(Self::Null),
                Type::Primitive(_) => Err(refused()),
                Type::Struct(_) | Type::List(_) | Type::Map(_) | Type::Variant => Ok(Self::Json {
                    from: from.clone(),
                    to: kind,
                }),
            };
        }
        match from {
            // No value will ever have to be represented.
            Type::Primitive(PrimitiveType::Unknown) => Ok(Self::Null),
            Type::Primitive(primitive) => scalar(primitive, to)
                .map(Self::Scalar)
                .or_else(|| Spatial::choose(primitive, to).map(Self::Spatial))
                .ok_or_else(refused),
            Type::List(list) => array(column, list, to)?.ok_or_else(refused),
            Type::Struct(fields) => composite::choose(column, fields, to)?.ok_or_else(refused),
            Type::Map(_) | Type::Variant => Err(refused()),
        }
    }
}

/// The type below a domain, and the modifier that the domain gives it; any other type itself.
fn base_type(of: PostgresType) -> PostgresType {
    let mut typmod = of.typmod;
    // SAFETY: syscache lookups on the backend's thread, of a type that a column is declared with.
    let oid = unsafe { pg_sys::getBaseTypeAndTypmod(of.oid, &mut typmod) };
    PostgresType { oid, typmod }
}

fn json_kind(oid: Oid) -> Option<JsonKind> {
    match oid {
        pg_sys::JSONOID => Some(JsonKind::Json),
        pg_sys::JSONBOID => Some(JsonKind::Jsonb),
        _ => None,
    }
}

/// `None` for a type that is no array.
fn array(column: &str, list: &ListType, to: PostgresType) -> Result<Option<Conversion>> {
    // SAFETY: a syscache lookup on the backend's thread; an unknown type gives 0.
    let element_type = unsafe { pg_sys::get_element_type(to.oid) };
    if element_type == Oid::INVALID {
        return Ok(None);
    }
    // An array's modifier is that of its elements.
    let declared = PostgresType {
        oid: element_type,
        typmod: to.typmod,
    };
    let native = match &list.element.field_type {
        Type::Primitive(element) => scalar(element, declared),
        _ => None,
    };
    if let Some(element) = native {
        return Ok(Some(Conversion::Array {
            element,
            element_type,
        }));
    }
    let inner = &list.element.field_type;
    let element = match Conversion::choose(&format!("{column}.element"), inner, declared) {
        Ok(element) => element,
        // What a composite lacks can only be said of the element.
        Err(error) if matches!(inner, Type::Struct(_)) => return Err(error),
        Err(_) => return Ok(None),
    };
    Ok(Some(Conversion::List {
        element: Box::new(element),
        element_type,
    }))
}

fn scalar(from: &PrimitiveType, to: PostgresType) -> Option<Scalar> {
    use PrimitiveType as P;
    // Modifiers that cut a value off (varchar(3), timestamp(0)) would lose something.
    let whole = to.typmod == -1;
    let micros = to.typmod == -1 || to.typmod == 6;
    match (from, to.oid) {
        (P::Boolean, pg_sys::BOOLOID) => Some(Scalar::Boolean),
        (P::Int, pg_sys::INT4OID) => Some(Scalar::Int),
        (P::Int, pg_sys::INT8OID) => Some(Scalar::IntToInt8),
        (P::Int, pg_sys::NUMERICOID) => numeric_scale(10, 0, to.typmod)
            .map(|display_scale| Scalar::IntToNumeric { display_scale }),
        (P::Long, pg_sys::INT8OID) => Some(Scalar::Long),
        (P::Long, pg_sys::NUMERICOID) => numeric_scale(19, 0, to.typmod)
            .map(|display_scale| Scalar::LongToNumeric { display_scale }),
        (P::Float, pg_sys::FLOAT4OID) => Some(Scalar::Float),
        (P::Float, pg_sys::FLOAT8OID) => Some(Scalar::FloatToFloat8),
        (P::Double, pg_sys::FLOAT8OID) => Some(Scalar::Double),
        (P::Decimal { precision, scale }, pg_sys::NUMERICOID) => {
            numeric_scale(*precision, *scale, to.typmod).map(|display_scale| Scalar::Decimal {
                scale: *scale,
                display_scale,
            })
        }
        // The largest powers of ten whose every smaller number fits.
        (
            P::Decimal {
                precision,
                scale: 0,
            },
            pg_sys::INT4OID,
        ) if *precision <= 9 => Some(Scalar::DecimalToInt4),
        (
            P::Decimal {
                precision,
                scale: 0,
            },
            pg_sys::INT8OID,
        ) if *precision <= 18 => Some(Scalar::DecimalToInt8),
        (P::Date, pg_sys::DATEOID) => Some(Scalar::Date),
        (P::Time, pg_sys::TIMEOID) if micros => Some(Scalar::Time),
        (P::Timestamp, pg_sys::TIMESTAMPOID) if micros => Some(Scalar::Timestamp),
        (P::Timestamptz, pg_sys::TIMESTAMPTZOID) if micros => Some(Scalar::Timestamp),
        (P::TimestampNs, pg_sys::TIMESTAMPOID) if micros => Some(Scalar::TimestampNanos),
        (P::TimestamptzNs, pg_sys::TIMESTAMPTZOID) if micros => Some(Scalar::TimestampNanos),
        (P::String, pg_sys::TEXTOID | pg_sys::VARCHAROID) if whole => Some(Scalar::Text),
        (P::Uuid, pg_sys::UUIDOID) => Some(Scalar::Uuid),
        (P::Fixed(_), pg_sys::BYTEAOID) => Some(Scalar::FixedBytea),
        (P::Binary | P::Geometry { .. } | P::Geography { .. }, pg_sys::BYTEAOID) => {
            Some(Scalar::Bytea)
        }
        _ => None,
    }
}

/// The scale that a `numeric` of this modifier shows, if it holds every decimal(precision, scale).
fn numeric_scale(precision: u8, scale: u8, typmod: i32) -> Option<u8> {
    if typmod == -1 {
        return Some(scale);
    }
    // numeric's modifier: precision in the upper half, scale in the lower 11 bits (signed), plus 4.
    let modifier = typmod - 4;
    let declared_precision = (modifier >> 16) & 0xFFFF;
    let declared_scale = ((modifier & 0x7FF) ^ 1024) - 1024;
    let fits = declared_scale >= i32::from(scale)
        && declared_precision - declared_scale >= i32::from(precision) - i32::from(scale);
    // The short form of numeric, which all decimals are written in, shows at most 63 digits.
    u8::try_from(declared_scale)
        .ok()
        .filter(|shown| fits && *shown <= 63)
}

/// The error of two types that do not go together.
pub fn mismatch(column: &str, from: &Type, to: PostgresType) -> Error {
    Error::new(
        ErrorKind::TypeMismatch,
        format!(
            "column \"{column}\" is declared as {}, but Iceberg type {from} cannot be read as that",
            type_name(to)
        ),
    )
    .with_hint(format!(
        "Declare the column as {}.",
        super::mapping::column_type(from).sql
    ))
}

/// A Postgres type as SQL names it.
pub fn type_name(of: PostgresType) -> String {
    // SAFETY: format_type_with_typemod gives a palloc'd C string, for any oid.
    unsafe {
        CStr::from_ptr(pg_sys::format_type_with_typemod(of.oid, of.typmod))
            .to_string_lossy()
            .into_owned()
    }
}
