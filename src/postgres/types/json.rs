//! Structs, maps, nested lists and variants as JSON text, in the spec's single-value form (Appendix D) but for
//! maps, which are objects where their keys are strings and arrays of {"key", "value"} elsewhere.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use iceberg_core::spec::{MapType, PrimitiveType, PrimitiveValue, StructType, Type};
use iceberg_core::{Error, ErrorKind, Result};

use super::arena::Arena;
use super::encode::{ByReference, check_size, check_text, unexpected};
use super::variant::write_variant;

/// The values of a nested column, each as a varlena of JSON text.
pub struct JsonTexts<'a> {
    array: &'a ArrayRef,
    of: &'a Type,
}

impl<'a> JsonTexts<'a> {
    /// Reads a column of this Iceberg type.
    pub fn new(array: &'a ArrayRef, of: &'a Type) -> Result<Self> {
        Ok(Self { array, of })
    }
}

impl ByReference for JsonTexts<'_> {
    const ALIGNMENT: usize = 4;

    fn append(&self, row: usize, arena: &mut Arena) -> Result<()> {
        let mut text = Vec::new();
        write_value(self.array, self.of, row, &mut text)?;
        check_size(text.len())?;
        arena.push_varlena(&text);
        Ok(())
    }

    fn size_hint(&self) -> usize {
        self.array.len() * 64
    }
}

fn write_value(array: &ArrayRef, of: &Type, row: usize, out: &mut Vec<u8>) -> Result<()> {
    // An array of nulls alone has no list of them.
    if array.is_null(row) || *of == Type::Primitive(PrimitiveType::Unknown) {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    match of {
        Type::Primitive(primitive) => write_primitive(array, primitive, row, out),
        Type::Struct(fields) => write_struct(array, fields, row, out),
        Type::List(list) => {
            let elements = array
                .as_list_opt::<i32>()
                .ok_or_else(|| unexpected(array))?
                .value(row);
            out.push(b'[');
            for index in 0..elements.len() {
                separate(index, out);
                write_value(&elements, &list.element.field_type, index, out)?;
            }
            out.push(b']');
            Ok(())
        }
        Type::Map(map) => write_map(array, map, row, out),
        Type::Variant => write_variant(array, row, out),
    }
}

fn write_struct(
    array: &ArrayRef,
    fields: &StructType,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let members = array.as_struct_opt().ok_or_else(|| unexpected(array))?;
    if members.num_columns() != fields.fields().len() {
        return Err(unexpected(array));
    }
    out.push(b'{');
    for (index, (field, member)) in fields.fields().iter().zip(members.columns()).enumerate() {
        separate(index, out);
        write_string(&field.name, out)?;
        out.push(b':');
        write_value(member, &field.field_type, row, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_map(array: &ArrayRef, map: &MapType, row: usize, out: &mut Vec<u8>) -> Result<()> {
    let entries = array
        .as_map_opt()
        .ok_or_else(|| unexpected(array))?
        .value(row);
    let [keys, values] = entries.columns() else {
        return Err(unexpected(array));
    };
    let with_string_keys = map.key.field_type == Type::Primitive(PrimitiveType::String);
    out.push(if with_string_keys { b'{' } else { b'[' });
    for index in 0..entries.len() {
        separate(index, out);
        if !with_string_keys {
            out.extend_from_slice(b"{\"key\":");
        } else if keys.is_null(index) {
            return Err(Error::new(ErrorKind::Corrupt, "a map has a null key"));
        }
        write_value(keys, &map.key.field_type, index, out)?;
        out.extend_from_slice(if with_string_keys {
            b":"
        } else {
            b",\"value\":"
        });
        write_value(values, &map.value.field_type, index, out)?;
        if !with_string_keys {
            out.push(b'}');
        }
    }
    out.push(if with_string_keys { b'}' } else { b']' });
    Ok(())
}

/// Puts a comma before every entry but the first.
pub fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

/// A JSON string.
pub fn write_string(text: &str, out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, text).map_err(unwritable)
}

/// JSON in memory can always be written: a fault of this program.
pub fn unwritable(error: serde_json::Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("cannot write a value as JSON: {error}"),
    )
}

fn write_primitive(
    array: &ArrayRef,
    of: &PrimitiveType,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    macro_rules! value {
        ($arrow:ty) => {
            array
                .as_primitive_opt::<$arrow>()
                .ok_or_else(|| unexpected(array))?
                .value(row)
        };
    }
    let value = match of {
        PrimitiveType::Boolean => PrimitiveValue::Boolean(
            array
                .as_boolean_opt()
                .ok_or_else(|| unexpected(array))?
                .value(row),
        ),
        PrimitiveType::Int => PrimitiveValue::Int(value!(Int32Type)),
        PrimitiveType::Long => PrimitiveValue::Long(value!(Int64Type)),
        PrimitiveType::Float => {
            let number = value!(Float32Type);
            return write_float(number.is_finite(), f64::from(number), &number, out);
        }
        PrimitiveType::Double => {
            let number = value!(Float64Type);
            return write_float(number.is_finite(), number, &number, out);
        }
        PrimitiveType::Decimal { .. } => PrimitiveValue::Decimal(value!(Decimal128Type)),
        PrimitiveType::Date => PrimitiveValue::Date(value!(Date32Type)),
        PrimitiveType::Time => PrimitiveValue::Time(value!(Time64MicrosecondType)),
        PrimitiveType::Timestamp => PrimitiveValue::Timestamp(value!(TimestampMicrosecondType)),
        PrimitiveType::Timestamptz => PrimitiveValue::Timestamptz(value!(TimestampMicrosecondType)),
        PrimitiveType::TimestampNs => PrimitiveValue::TimestampNs(value!(TimestampNanosecondType)),
        PrimitiveType::TimestamptzNs => {
            PrimitiveValue::TimestamptzNs(value!(TimestampNanosecondType))
        }
        PrimitiveType::String => {
            let text = array
                .as_string_view_opt()
                .ok_or_else(|| unexpected(array))?
                .value(row);
            check_text(text.as_bytes())?;
            return write_string(text, out);
        }
        PrimitiveType::Uuid => {
            let bytes = array
                .as_fixed_size_binary_opt()
                .ok_or_else(|| unexpected(array))?
                .value(row);
            PrimitiveValue::Uuid(uuid::Uuid::from_slice(bytes).map_err(|_| unexpected(array))?)
        }
        PrimitiveType::Fixed(_) => PrimitiveValue::Fixed(
            array
                .as_fixed_size_binary_opt()
                .ok_or_else(|| unexpected(array))?
                .value(row)
                .to_vec(),
        ),
        // Well-known binary of a place, which the spec has no JSON form for.
        PrimitiveType::Binary
        | PrimitiveType::Geometry { .. }
        | PrimitiveType::Geography { .. } => PrimitiveValue::Binary(
            array
                .as_binary_view_opt()
                .ok_or_else(|| unexpected(array))?
                .value(row)
                .to_vec(),
        ),
        PrimitiveType::Unknown => return Err(unexpected(array)),
    };
    serde_json::to_writer(out, &value.to_json(of)).map_err(unwritable)
}

/// A number as Postgres itself would put it into JSON; JSON has none for NaN and the infinities, so
/// they are strings.
pub fn write_float(
    finite: bool,
    wide: f64,
    shortest: &impl serde::Serialize,
    out: &mut Vec<u8>,
) -> Result<()> {
    if finite {
        let start = out.len();
        serde_json::to_writer(&mut *out, shortest).map_err(unwritable)?;
        if out[start..].ends_with(b".0") {
            out.truncate(out.len() - 2);
        }
        return Ok(());
    }
    let name = if wide.is_nan() {
        "NaN"
    } else if wide > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    write_string(name, out)
}
