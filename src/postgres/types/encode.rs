//! One way of reading an Arrow array for each [`Scalar`]: as plain words, or as bytes in an arena.
//! Columns and array elements share it, so each pair of types is written once.

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray,
    StringViewArray,
};
use arrow::datatypes::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use iceberg_core::{Error, ErrorKind, Result};

use super::arena::Arena;
use super::conversion::Scalar;
use super::{numeric, time};

/// The largest value Postgres can hold (`MaxAllocSize`), header included.
const MAX_VALUE_BYTES: usize = 0x3fff_ffff;

/// Reads values that fit a datum.
pub trait ByValue {
    /// Bytes of the type in an array: 1, 4 or 8; its alignment too.
    const WIDTH: usize;

    /// The datum of a non-null row.
    fn datum(&self, row: usize) -> Result<u64>;
}

/// Reads values that a datum points to.
pub trait ByReference {
    /// Alignment of the type: 1 or 4.
    const ALIGNMENT: usize;

    /// Writes a non-null row, the arena being aligned.
    fn append(&self, row: usize, arena: &mut Arena) -> Result<()>;

    /// About how many bytes all rows need.
    fn size_hint(&self) -> usize;
}

/// Something to do with the right reader for a scalar's Arrow array.
pub trait Visitor {
    /// What it gives.
    type Output;

    /// The values fit a datum.
    fn by_value(self, values: &impl ByValue) -> Result<Self::Output>;

    /// The values are pointed to.
    fn by_reference(self, values: &impl ByReference) -> Result<Self::Output>;
}

/// Hands `array` to the visitor with the reader that `scalar` asks for.
pub fn visit<V: Visitor>(scalar: Scalar, array: &ArrayRef, visitor: V) -> Result<V::Output> {
    match scalar {
        Scalar::Boolean => visitor.by_value(&Booleans(
            array.as_boolean_opt().ok_or_else(|| unexpected(array))?,
        )),
        Scalar::Int => visitor.by_value(&Words::<Int32Type, 4, _>(primitive(array)?, |v| {
            Ok(v as i64 as u64)
        })),
        Scalar::IntToInt8 => visitor.by_value(&Words::<Int32Type, 8, _>(primitive(array)?, |v| {
            Ok(i64::from(v) as u64)
        })),
        Scalar::Long => visitor.by_value(&Words::<Int64Type, 8, _>(primitive(array)?, |v| {
            Ok(v as u64)
        })),
        Scalar::Float => visitor
            .by_value(&Words::<Float32Type, 4, _>(primitive(array)?, |v: f32| {
                Ok(u64::from(v.to_bits()))
            })),
        Scalar::FloatToFloat8 => visitor
            .by_value(&Words::<Float32Type, 8, _>(primitive(array)?, |v| {
                Ok(f64::from(v).to_bits())
            })),
        Scalar::Double => visitor
            .by_value(&Words::<Float64Type, 8, _>(primitive(array)?, |v: f64| {
                Ok(v.to_bits())
            })),
        Scalar::Date => visitor.by_value(&Words::<Date32Type, 4, _>(primitive(array)?, |v| {
            Ok(i64::from(time::date(v)?) as u64)
        })),
        Scalar::Time => visitor.by_value(&Words::<Time64MicrosecondType, 8, _>(
            primitive(array)?,
            |v| Ok(time::time(v)? as u64),
        )),
        Scalar::Timestamp => visitor.by_value(&Words::<TimestampMicrosecondType, 8, _>(
            primitive(array)?,
            |v| Ok(time::timestamp(v)? as u64),
        )),
        Scalar::TimestampNanos => visitor.by_value(&Words::<TimestampNanosecondType, 8, _>(
            primitive(array)?,
            |v| Ok(time::timestamp_from_nanos(v)? as u64),
        )),
        Scalar::IntToNumeric { display_scale } => visitor.by_reference(&Numerics::<Int32Type> {
            values: primitive(array)?,
            scale: 0,
            display_scale,
        }),
        Scalar::LongToNumeric { display_scale } => visitor.by_reference(&Numerics::<Int64Type> {
            values: primitive(array)?,
            scale: 0,
            display_scale,
        }),
        Scalar::Decimal {
            scale,
            display_scale,
        } => visitor.by_reference(&Numerics::<Decimal128Type> {
            values: primitive(array)?,
            scale,
            display_scale,
        }),
        Scalar::DecimalToInt4 => visitor
            .by_value(&Words::<Decimal128Type, 4, _>(primitive(array)?, |v| {
                Ok(i64::from(i32::try_from(v).map_err(|_| too_many_digits(v))?) as u64)
            })),
        Scalar::DecimalToInt8 => visitor
            .by_value(&Words::<Decimal128Type, 8, _>(primitive(array)?, |v| {
                Ok(i64::try_from(v).map_err(|_| too_many_digits(v))? as u64)
            })),
        Scalar::Text => visitor.by_reference(&Texts(
            array
                .as_string_view_opt()
                .ok_or_else(|| unexpected(array))?,
        )),
        Scalar::Bytea => visitor.by_reference(&Binaries(
            array
                .as_binary_view_opt()
                .ok_or_else(|| unexpected(array))?,
        )),
        Scalar::FixedBytea => visitor.by_reference(&FixedBinaries(
            array
                .as_fixed_size_binary_opt()
                .ok_or_else(|| unexpected(array))?,
        )),
        Scalar::Uuid => visitor.by_reference(&Uuids(
            array
                .as_fixed_size_binary_opt()
                .ok_or_else(|| unexpected(array))?,
        )),
    }
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&PrimitiveArray<T>> {
    array.as_primitive_opt().ok_or_else(|| unexpected(array))
}

/// The reader gave another Arrow type than it promises: a fault of this program.
pub fn unexpected(array: &ArrayRef) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("unexpected Arrow type {} of a column", array.data_type()),
    )
}

/// The reader lets no decimal through that its type does not hold.
fn too_many_digits(unscaled: i128) -> Error {
    Error::new(
        ErrorKind::OutOfRange,
        format!("decimal {unscaled} has more digits than its type"),
    )
}

/// Refuses values that are too large for Postgres.
pub fn check_size(bytes: usize) -> Result<()> {
    if bytes > MAX_VALUE_BYTES - 4 {
        return Err(Error::new(
            ErrorKind::OutOfRange,
            format!("a value of {bytes} bytes is too large for Postgres, which holds up to 1 GB"),
        ));
    }
    Ok(())
}

/// Refuses text that Postgres cannot hold.
pub fn check_text(text: &[u8]) -> Result<()> {
    check_size(text.len())?;
    match memchr::memchr(0, text) {
        None => Ok(()),
        Some(at) => Err(Error::new(
            ErrorKind::InvalidText,
            format!("a string holds a NUL character at byte {at}, which Postgres text cannot"),
        )
        .with_hint("Leave the column out, or have the writer remove the character.")),
    }
}

struct Booleans<'a>(&'a BooleanArray);

impl ByValue for Booleans<'_> {
    const WIDTH: usize = 1;

    fn datum(&self, row: usize) -> Result<u64> {
        Ok(u64::from(self.0.value(row)))
    }
}

struct Words<'a, T: ArrowPrimitiveType, const WIDTH: usize, F>(&'a PrimitiveArray<T>, F);

impl<T, const WIDTH: usize, F> ByValue for Words<'_, T, WIDTH, F>
where
    T: ArrowPrimitiveType,
    F: Fn(T::Native) -> Result<u64>,
{
    const WIDTH: usize = WIDTH;

    #[inline]
    fn datum(&self, row: usize) -> Result<u64> {
        (self.1)(self.0.value(row))
    }
}

struct Numerics<'a, T: ArrowPrimitiveType> {
    values: &'a PrimitiveArray<T>,
    scale: u8,
    display_scale: u8,
}

impl<T: ArrowPrimitiveType> ByReference for Numerics<'_, T>
where
    T::Native: Into<i128>,
{
    const ALIGNMENT: usize = 4;

    #[inline]
    fn append(&self, row: usize, arena: &mut Arena) -> Result<()> {
        numeric::append(
            self.values.value(row).into(),
            self.scale,
            self.display_scale,
            arena,
        );
        Ok(())
    }

    fn size_hint(&self) -> usize {
        self.values.len() * 12
    }
}

struct Texts<'a>(&'a StringViewArray);

impl ByReference for Texts<'_> {
    const ALIGNMENT: usize = 4;

    #[inline]
    fn append(&self, row: usize, arena: &mut Arena) -> Result<()> {
        let text = self.0.value(row).as_bytes();
        check_text(text)?;
        arena.push_varlena(text);
        Ok(())
    }

    fn size_hint(&self) -> usize {
        self.0.total_buffer_bytes_used() + self.0.len() * 16
    }
}

/// Writes a `bytea`.
#[inline]
fn append_bytes(bytes: &[u8], arena: &mut Arena) -> Result<()> {
    check_size(bytes.len())?;
    arena.push_varlena(bytes);
    Ok(())
}

struct Binaries<'a>(&'a BinaryViewArray);

impl ByReference for Binaries<'_> {
    const ALIGNMENT: usize = 4;

    #[inline]
    fn append(&self, row: usize, arena: &mut Arena) -> Result<()> {
        append_bytes(self.0.value(row), arena)
    }

    fn size_hint(&self) -> usize {
        self.0.total_buffer_bytes_used() + self.0.len() * 16
    }
}

struct FixedBinaries<'a>(&'a FixedSizeBinaryArray);

impl ByReference for FixedBinaries<'_> {
    const ALIGNMENT: usize = 4;

    #[inline]
    fn append(&self, row: usize, arena: &mut Arena) -> Result<()> {
        append_bytes(self.0.value(row), arena)
    }

    fn size_hint(&self) -> usize {
        let width = usize::try_from(self.0.value_length()).unwrap_or(0);
        self.0.len() * (width + 8)
    }
}

struct Uuids<'a>(&'a FixedSizeBinaryArray);

impl ByReference for Uuids<'_> {
    const ALIGNMENT: usize = 1;

    #[inline]
    fn append(&self, row: usize, arena: &mut Arena) -> Result<()> {
        arena.push(self.0.value(row));
        Ok(())
    }

    fn size_hint(&self) -> usize {
        self.0.len() * 16
    }
}
