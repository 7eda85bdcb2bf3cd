//! Variants as JSON text: numbers with all their digits, what JSON has no type for as strings in the
//! spec's single-value form (Appendix D). Spec: Parquet "Variant Binary Encoding".

use std::io::Write;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Date32Type;
use arrow::error::ArrowError;
use iceberg_core::spec::{PrimitiveType, PrimitiveValue};
use iceberg_core::{Error, ErrorKind, Result};
use parquet_variant::Variant;

use super::encode::{check_text, unexpected};
use super::json::{separate, unwritable, write_float, write_string};

/// Writes the variant of a row that is not null.
pub fn write_variant(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<()> {
    let columns = array
        .as_struct_opt()
        .map(|variant| variant.columns())
        .ok_or_else(|| unexpected(array))?;
    let [metadata, value] = columns else {
        return Err(unexpected(array));
    };
    let (Some(metadata), Some(value)) = (metadata.as_binary_view_opt(), value.as_binary_view_opt())
    else {
        return Err(unexpected(array));
    };
    if value.is_null(row) {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    let variant = Variant::try_new(metadata.value(row), value.value(row)).map_err(undecodable)?;
    write(&variant, out)
}

fn undecodable(error: ArrowError) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("a variant cannot be decoded: {error}"),
    )
}

fn write(variant: &Variant, out: &mut Vec<u8>) -> Result<()> {
    match variant {
        Variant::Object(object) => {
            out.push(b'{');
            for (index, entry) in object.iter_try().enumerate() {
                let (name, value) = entry.map_err(undecodable)?;
                separate(index, out);
                write_text(name, out)?;
                out.push(b':');
                write(&value, out)?;
            }
            out.push(b'}');
            Ok(())
        }
        Variant::List(list) => {
            out.push(b'[');
            for (index, value) in list.iter_try().enumerate() {
                let value = value.map_err(undecodable)?;
                separate(index, out);
                write(&value, out)?;
            }
            out.push(b']');
            Ok(())
        }
        scalar => write_scalar(scalar, out),
    }
}

/// Not inlined, as it would make every level of nesting take more of the stack.
#[inline(never)]
fn write_scalar(variant: &Variant, out: &mut Vec<u8>) -> Result<()> {
    use PrimitiveType as T;
    use PrimitiveValue as V;
    match variant {
        Variant::Null => out.extend_from_slice(b"null"),
        Variant::BooleanTrue => out.extend_from_slice(b"true"),
        Variant::BooleanFalse => out.extend_from_slice(b"false"),
        Variant::Int8(number) => write_number(number, out)?,
        Variant::Int16(number) => write_number(number, out)?,
        Variant::Int32(number) => write_number(number, out)?,
        Variant::Int64(number) => write_number(number, out)?,
        Variant::Float(number) => {
            write_float(number.is_finite(), f64::from(*number), number, out)?;
        }
        Variant::Double(number) => write_float(number.is_finite(), *number, number, out)?,
        Variant::Decimal4(number) => write_decimal(number.integer().into(), number.scale(), out),
        Variant::Decimal8(number) => write_decimal(number.integer().into(), number.scale(), out),
        Variant::Decimal16(number) => write_decimal(number.integer(), number.scale(), out),
        Variant::Date(date) => {
            let days = Date32Type::from_naive_date(*date);
            write_single_value(&V::Date(days), &T::Date, out)?;
        }
        Variant::Time(time) => {
            let since_midnight = time.signed_duration_since(Default::default());
            let micros = since_midnight.num_microseconds().ok_or_else(too_far)?;
            write_single_value(&V::Time(micros), &T::Time, out)?;
        }
        Variant::TimestampMicros(instant) => write_single_value(
            &V::Timestamptz(instant.timestamp_micros()),
            &T::Timestamptz,
            out,
        )?,
        Variant::TimestampNtzMicros(local) => write_single_value(
            &V::Timestamp(local.and_utc().timestamp_micros()),
            &T::Timestamp,
            out,
        )?,
        Variant::TimestampNanos(instant) => {
            let nanos = instant.timestamp_nanos_opt().ok_or_else(too_far)?;
            write_single_value(&V::TimestamptzNs(nanos), &T::TimestamptzNs, out)?;
        }
        Variant::TimestampNtzNanos(local) => {
            let nanos = local.and_utc().timestamp_nanos_opt().ok_or_else(too_far)?;
            write_single_value(&V::TimestampNs(nanos), &T::TimestampNs, out)?;
        }
        Variant::Binary(bytes) => {
            write_single_value(&V::Binary(bytes.to_vec()), &T::Binary, out)?;
        }
        Variant::Uuid(uuid) => write_single_value(&V::Uuid(*uuid), &T::Uuid, out)?,
        Variant::String(text) => write_text(text, out)?,
        Variant::ShortString(text) => write_text(text.as_str(), out)?,
        Variant::Object(_) | Variant::List(_) => {
            return Err(Error::new(ErrorKind::Internal, "not a scalar"));
        }
    }
    Ok(())
}

/// Integers print as JSON writes numbers.
fn write_number(number: &impl std::fmt::Display, out: &mut Vec<u8>) -> Result<()> {
    write!(out, "{number}").map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot write a number: {error}"),
        )
    })
}

/// A number with all digits of its scale.
fn write_decimal(unscaled: i128, scale: u8, out: &mut Vec<u8>) {
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if unscaled < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(whole.as_bytes());
    if scale > 0 {
        out.push(b'.');
        out.extend_from_slice(fraction.as_bytes());
    }
}

fn write_single_value(value: &PrimitiveValue, of: &PrimitiveType, out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, &value.to_json(of)).map_err(unwritable)
}

fn write_text(text: &str, out: &mut Vec<u8>) -> Result<()> {
    check_text(text.as_bytes())?;
    write_string(text, out)
}

fn too_far() -> Error {
    Error::new(
        ErrorKind::OutOfRange,
        "a time in a variant is too far from 1970 for its unit",
    )
}
