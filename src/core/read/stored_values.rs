//! The bytes that a value of the table has in a Parquet column: what bloom filters are made of, and
//! dictionaries. The way back of [`Conversion::apply`]. Spec: Parquet "Bloom Filter", "Encodings".

use parquet::basic::Type as PhysicalType;
use parquet::schema::types::ColumnDescriptor;

use super::leaf::{Conversion, Step};
use crate::spec::PrimitiveValue;

impl Conversion {
    /// All values that a column can store for this one, in Parquet's `PLAIN` encoding without a
    /// length before them; none where it can store none. `None` where that cannot be told.
    pub(super) fn stored_values(
        &self,
        value: &PrimitiveValue,
        column: &ColumnDescriptor,
    ) -> Option<Vec<Vec<u8>>> {
        use PrimitiveValue as V;
        let physical_type = column.physical_type();
        Some(match value {
            V::Int(number) | V::Date(number) => self.integer(i64::from(*number), physical_type)?,
            V::Long(number)
            | V::Time(number)
            | V::Timestamp(number)
            | V::Timestamptz(number)
            | V::TimestampNs(number)
            | V::TimestamptzNs(number) => self.integer(*number, physical_type)?,
            V::Float(number) => match physical_type {
                PhysicalType::FLOAT => floats(*number)?,
                _ => return None,
            },
            V::Double(number) => match physical_type {
                PhysicalType::DOUBLE => doubles(*number)?,
                PhysicalType::FLOAT => {
                    let narrow = *number as f32;
                    match f64::from(narrow) == *number {
                        true => floats(narrow)?,
                        false if number.is_nan() => return None,
                        false => Vec::new(),
                    }
                }
                _ => return None,
            },
            V::Decimal(unscaled) => match physical_type {
                PhysicalType::INT32 => fitting(i32::try_from(*unscaled).ok().map(i32::to_le_bytes)),
                PhysicalType::INT64 => fitting(i64::try_from(*unscaled).ok().map(i64::to_le_bytes)),
                PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                    let length = usize::try_from(column.type_length()).ok()?;
                    fitting(big_endian(*unscaled, length))
                }
                // With so many bytes as the writer liked.
                _ => return None,
            },
            V::String(text) => bytes(text.as_bytes(), physical_type)?,
            V::Uuid(uuid) => bytes(uuid.as_bytes(), physical_type)?,
            V::Fixed(value) | V::Binary(value) => bytes(value, physical_type)?,
            V::Boolean(_) => return None,
        })
    }

    fn integer(&self, number: i64, physical_type: PhysicalType) -> Option<Vec<Vec<u8>>> {
        let stored = match self.step {
            Step::Keep | Step::Date | Step::Widen => Some(number),
            Step::WidenUnsigned => u32::try_from(number)
                .ok()
                .map(|number| i64::from(number.cast_signed())),
            Step::Unsigned => Some(number).filter(|number| *number >= 0),
            Step::Rescale {
                numerator,
                denominator: 1,
            } => Some(number / numerator).filter(|_| number % numerator == 0),
            // Several stored values are the same here.
            Step::Rescale { .. } | Step::Null | Step::Double | Step::Decimal { .. } => return None,
        };
        Some(match (stored, physical_type) {
            (None, PhysicalType::INT32 | PhysicalType::INT64) => Vec::new(),
            (Some(stored), PhysicalType::INT32) => {
                fitting(i32::try_from(stored).ok().map(i32::to_le_bytes))
            }
            (Some(stored), PhysicalType::INT64) => vec![stored.to_le_bytes().to_vec()],
            _ => return None,
        })
    }
}

fn fitting<B: AsRef<[u8]>>(value: Option<B>) -> Vec<Vec<u8>> {
    value.iter().map(|value| value.as_ref().to_vec()).collect()
}

/// Zero is stored with either sign; what is no number with any bits.
fn floats(number: f32) -> Option<Vec<Vec<u8>>> {
    if number.is_nan() {
        return None;
    }
    Some(match number == 0.0 {
        true => vec![
            0_f32.to_le_bytes().to_vec(),
            (-0_f32).to_le_bytes().to_vec(),
        ],
        false => vec![number.to_le_bytes().to_vec()],
    })
}

fn doubles(number: f64) -> Option<Vec<Vec<u8>>> {
    if number.is_nan() {
        return None;
    }
    Some(match number == 0.0 {
        true => vec![
            0_f64.to_le_bytes().to_vec(),
            (-0_f64).to_le_bytes().to_vec(),
        ],
        false => vec![number.to_le_bytes().to_vec()],
    })
}

/// A number in so many bytes, if they are enough.
fn big_endian(number: i128, length: usize) -> Option<Vec<u8>> {
    let bytes = number.to_be_bytes();
    let fill = if number < 0 { 0xFF } else { 0 };
    match length.checked_sub(bytes.len()) {
        Some(more) => {
            let mut wide = vec![fill; more];
            wide.extend(bytes);
            Some(wide)
        }
        None => {
            let (padding, rest) = bytes.split_at(bytes.len() - length);
            let same_sign = rest.first()? & 0x80 == fill & 0x80;
            (same_sign && padding.iter().all(|byte| *byte == fill)).then(|| rest.to_vec())
        }
    }
}

fn bytes(value: &[u8], physical_type: PhysicalType) -> Option<Vec<Vec<u8>>> {
    matches!(
        physical_type,
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY
    )
    .then(|| vec![value.to_vec()])
}
