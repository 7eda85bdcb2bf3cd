//! Partition tuples: the values a file's rows share, one for each field of its partition spec.
//! Spec: "Manifests" (field 102 `partition`), Appendix A "Avro" for how the values are encoded.

use std::sync::Arc;

use super::avro::{AvroField, AvroSchema, AvroType, Decoder, LogicalType, corrupt};
use super::calendar::{MICROS_A_DAY, NANOS_A_DAY};
use super::iso_text::iso_date;
use super::types::{NestedField, PrimitiveType, StructType, Type};
use super::value::{PrimitiveValue, decimal_from_big_endian};
use crate::error::{Error, Result};

/// The partition of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Partition {
    /// The partition spec that the file was written by.
    pub spec_id: i32,
    /// A value for each field of the spec, in its order; `None` is null.
    pub values: Vec<Option<PrimitiveValue>>,
}

/// How the partition record of one manifest becomes tuples.
#[derive(Debug)]
pub(super) struct PartitionReader {
    /// For each field of the record: its place in the tuple, and its type.
    columns: Vec<Option<(usize, Option<PrimitiveType>)>>,
    width: usize,
    /// A field of the tuple that the record does not have.
    missing: Option<String>,
}

impl PartitionReader {
    /// A reader of the record `fields` into tuples of type `wanted`. Without that, the tuple is the
    /// record itself.
    pub fn new(fields: &[AvroField], wanted: Option<&StructType>) -> Self {
        let Some(wanted) = wanted.map(StructType::fields) else {
            return Self {
                columns: (0..fields.len()).map(|place| Some((place, None))).collect(),
                width: fields.len(),
                missing: None,
            };
        };
        let is = |field: &AvroField, wanted: &NestedField| match field.id {
            Some(id) => id == wanted.id,
            None => field.name == wanted.name,
        };
        Self {
            columns: fields
                .iter()
                .map(|field| {
                    let place = wanted.iter().position(|wanted| is(field, wanted))?;
                    Some((place, known_type(&wanted.get(place)?.field_type)))
                })
                .collect(),
            width: wanted.len(),
            missing: wanted
                .iter()
                .find(|wanted| !fields.iter().any(|field| is(field, wanted)))
                .map(|wanted| format!("{} \"{}\"", wanted.id, wanted.name)),
        }
    }

    /// The tuple of a file without a partition record, which only an unpartitioned one may lack.
    ///
    /// # Errors
    /// `Corrupt` if the spec has fields: no value must not be taken for null.
    pub fn unpartitioned(&self) -> Result<Vec<Option<PrimitiveValue>>> {
        match &self.missing {
            None if self.width == 0 => Ok(Vec::new()),
            None => Err(corrupt("a file of a partitioned spec has no partition")),
            Some(field) => Err(missing(field)),
        }
    }

    /// Reads a tuple.
    pub fn read(
        &self,
        schema: &AvroSchema,
        decoder: &mut Decoder<'_>,
    ) -> Result<Vec<Option<PrimitiveValue>>> {
        let mut values = vec![None; self.width];
        let mut columns = self.columns.iter();
        let given = decoder.record(schema, |field, decoder| {
            let Some((place, result_type)) = columns.next().and_then(Option::as_ref) else {
                return decoder.skip(&field.schema);
            };
            let value = read_value(&field.schema, decoder)?;
            if let Some(slot) = values.get_mut(*place) {
                *slot = match (value, result_type) {
                    (Some(value), Some(result_type)) => Some(convert(value, result_type)?),
                    (value, _) => value,
                };
            }
            Ok(())
        })?;
        match &self.missing {
            _ if !given => self.unpartitioned(),
            None => Ok(values),
            Some(field) => Err(missing(field)),
        }
    }
}

fn missing(field: &str) -> Error {
    corrupt(format!(
        "partition tuples lack the field {field} of their partition spec"
    ))
}

/// The type of a partition field; `unknown` stands for the result of an unknown transform or of a
/// column that is gone, whose values are what the manifest's own schema says.
fn known_type(field_type: &Type) -> Option<PrimitiveType> {
    match field_type {
        Type::Primitive(PrimitiveType::Unknown) => None,
        Type::Primitive(primitive) => Some(primitive.clone()),
        _ => None,
    }
}

/// Reads a value as its Avro type says.
fn read_value(
    schema: &Arc<AvroSchema>,
    decoder: &mut Decoder<'_>,
) -> Result<Option<PrimitiveValue>> {
    let schema = decoder.branch(schema)?;
    let logical_type = schema.logical_type;
    Ok(Some(match schema.avro_type {
        AvroType::Null => return Ok(None),
        AvroType::Boolean => match decoder.boolean(schema)? {
            Some(value) => PrimitiveValue::Boolean(value),
            None => return Ok(None),
        },
        AvroType::Int => {
            let Some(value) = decoder.int(schema)? else {
                return Ok(None);
            };
            match logical_type {
                Some(LogicalType::Date) => PrimitiveValue::Date(value),
                Some(LogicalType::TimeMillis) => PrimitiveValue::Time(i64::from(value) * 1000),
                _ => PrimitiveValue::Int(value),
            }
        }
        AvroType::Long => {
            let value = decoder.varint()?;
            match logical_type {
                Some(LogicalType::TimeMicros) => PrimitiveValue::Time(value),
                Some(LogicalType::TimestampMicros { utc }) => timestamp(value, utc),
                Some(LogicalType::TimestampMillis { utc }) => timestamp(
                    value.checked_mul(1000).ok_or_else(|| {
                        corrupt(format!("the timestamp {value} ms is out of range"))
                    })?,
                    utc,
                ),
                Some(LogicalType::TimestampNanos { utc: true }) => {
                    PrimitiveValue::TimestamptzNs(value)
                }
                Some(LogicalType::TimestampNanos { utc: false }) => {
                    PrimitiveValue::TimestampNs(value)
                }
                _ => PrimitiveValue::Long(value),
            }
        }
        AvroType::Float => PrimitiveValue::Float(f32::from_le_bytes(array(decoder.take(4)?)?)),
        AvroType::Double => PrimitiveValue::Double(f64::from_le_bytes(array(decoder.take(8)?)?)),
        AvroType::String => {
            let value = decoder.string(schema)?.unwrap_or_default();
            match logical_type {
                Some(LogicalType::Uuid) => PrimitiveValue::Uuid(parse_uuid(value)?),
                _ => PrimitiveValue::String(value.to_owned()),
            }
        }
        AvroType::Bytes | AvroType::Fixed(_) => {
            let value = decoder.bytes(schema)?.unwrap_or_default();
            match (logical_type, &schema.avro_type) {
                (Some(LogicalType::Decimal), _) => PrimitiveValue::Decimal(decimal(value)?),
                (Some(LogicalType::Uuid), _) => PrimitiveValue::Uuid(uuid_of_bytes(value)?),
                (_, AvroType::Fixed(_)) => PrimitiveValue::Fixed(value.to_vec()),
                _ => PrimitiveValue::Binary(value.to_vec()),
            }
        }
        _ => {
            return Err(corrupt(format!(
                "a partition value is declared as {}",
                schema.describe()
            )));
        }
    }))
}

/// Makes a value one of the type that the partition field has: writers leave out logical types,
/// and a column's type may have been promoted since the manifest was written.
///
/// # Errors
/// `Corrupt` for a value that cannot be one of that type.
pub(crate) fn convert(
    value: PrimitiveValue,
    result_type: &PrimitiveType,
) -> Result<PrimitiveValue> {
    use PrimitiveType as T;
    use PrimitiveValue as V;
    Ok(match (result_type, value) {
        (T::Boolean, V::Boolean(value)) => V::Boolean(value),
        (T::Int, V::Int(value) | V::Date(value)) => V::Int(value),
        (T::Int, V::Long(value)) => V::Int(to_int(value)?),
        (T::Long, V::Long(value)) => V::Long(value),
        (T::Long, V::Int(value)) => V::Long(i64::from(value)),
        (T::Float, V::Float(value)) => V::Float(value),
        (T::Double, V::Double(value)) => V::Double(value),
        (T::Double, V::Float(value)) => V::Double(f64::from(value)),
        (T::Decimal { .. }, V::Decimal(value)) => V::Decimal(value),
        (T::Decimal { .. }, V::Binary(value) | V::Fixed(value)) => V::Decimal(decimal(&value)?),
        (T::Date, V::Date(value) | V::Int(value)) => V::Date(value),
        (T::Date, V::Long(value)) => V::Date(to_int(value)?),
        (T::Time, V::Time(value) | V::Long(value)) => V::Time(value),
        (T::Timestamp, V::Timestamp(value) | V::Timestamptz(value) | V::Long(value)) => {
            V::Timestamp(value)
        }
        (T::Timestamp, V::Date(days)) => V::Timestamp(midnight(days, MICROS_A_DAY)?),
        (T::TimestampNs, V::Date(days)) => V::TimestampNs(midnight(days, NANOS_A_DAY)?),
        (T::Timestamptz, V::Timestamptz(value) | V::Timestamp(value) | V::Long(value)) => {
            V::Timestamptz(value)
        }
        (T::TimestampNs, V::TimestampNs(value) | V::TimestamptzNs(value) | V::Long(value)) => {
            V::TimestampNs(value)
        }
        (T::TimestamptzNs, V::TimestamptzNs(value) | V::TimestampNs(value) | V::Long(value)) => {
            V::TimestamptzNs(value)
        }
        (T::String, V::String(value)) => V::String(value),
        (T::String, V::Binary(value)) => V::String(
            String::from_utf8(value)
                .map_err(|_| corrupt("a partition value of type string is not UTF-8"))?,
        ),
        (T::Uuid, V::Uuid(value)) => V::Uuid(value),
        (T::Uuid, V::Fixed(value) | V::Binary(value)) => V::Uuid(uuid_of_bytes(&value)?),
        (T::Uuid, V::String(value)) => V::Uuid(parse_uuid(&value)?),
        (T::Fixed(length), V::Fixed(value) | V::Binary(value)) => {
            if value.len() != *length as usize {
                return Err(corrupt(format!(
                    "a partition value of type fixed[{length}] has {} bytes",
                    value.len()
                )));
            }
            V::Fixed(value)
        }
        (T::Binary, V::Binary(value) | V::Fixed(value)) => V::Binary(value),
        (result_type, value) => {
            return Err(corrupt(format!(
                "the partition value {value:?} cannot be one of type {result_type}"
            )));
        }
    })
}

fn timestamp(micros: i64, utc: bool) -> PrimitiveValue {
    if utc {
        PrimitiveValue::Timestamptz(micros)
    } else {
        PrimitiveValue::Timestamp(micros)
    }
}

fn midnight(days: i32, units_a_day: i64) -> Result<i64> {
    i64::from(days).checked_mul(units_a_day).ok_or_else(|| {
        corrupt(format!(
            "the partition value {} is out of range",
            iso_date(days.into())
        ))
    })
}

fn to_int(value: i64) -> Result<i32> {
    i32::try_from(value)
        .map_err(|_| corrupt(format!("the partition value {value} does not fit an int")))
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes
        .try_into()
        .map_err(|_| corrupt(format!("a value has {} bytes, not {N}", bytes.len())))
}

fn parse_uuid(text: &str) -> Result<uuid::Uuid> {
    uuid::Uuid::parse_str(text).map_err(|_| corrupt(format!("\"{text}\" is no UUID")))
}

fn uuid_of_bytes(bytes: &[u8]) -> Result<uuid::Uuid> {
    array(bytes).map(uuid::Uuid::from_bytes)
}

fn decimal(bytes: &[u8]) -> Result<i128> {
    decimal_from_big_endian(bytes)
        .ok_or_else(|| corrupt(format!("{} bytes are no decimal of 38 digits", bytes.len())))
}

/// The type of a manifest's partitions as its own schema has it.
pub(super) fn partition_schema(
    root: &AvroSchema,
    data_file_id: i32,
    partition_id: i32,
) -> Option<&Arc<AvroSchema>> {
    fn find(record: &AvroSchema, id: i32) -> Option<&Arc<AvroSchema>> {
        let mut fields = record.as_record()?.iter();
        let field = fields.find(|field| field.id == Some(id))?;
        Some(&field.schema)
    }
    find(find(root, data_file_id)?, partition_id)
}

/// Where a manifest's schema has its partition record.
pub(super) fn partition_fields(
    root: &AvroSchema,
    data_file_id: i32,
    partition_id: i32,
) -> &[AvroField] {
    partition_schema(root, data_file_id, partition_id)
        .and_then(|schema| schema.as_record())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_the_type_of_the_field() {
        use PrimitiveType as T;
        use PrimitiveValue as V;
        assert_eq!(convert(V::Int(-1), &T::Long).unwrap(), V::Long(-1));
        assert_eq!(convert(V::Date(19_000), &T::Int).unwrap(), V::Int(19_000));
        assert_eq!(convert(V::Int(-1), &T::Date).unwrap(), V::Date(-1));
        assert_eq!(
            convert(V::Long(5), &T::Timestamptz).unwrap(),
            V::Timestamptz(5)
        );
        assert_eq!(
            convert(V::Date(-1), &T::Timestamp).unwrap(),
            V::Timestamp(-86_400_000_000)
        );
        assert_eq!(
            convert(V::Date(1), &T::TimestampNs).unwrap(),
            V::TimestampNs(86_400_000_000_000)
        );
        assert_eq!(convert(V::Float(1.5), &T::Double).unwrap(), V::Double(1.5));
        assert_eq!(
            convert(
                V::Fixed(vec![0xff]),
                &T::Decimal {
                    precision: 9,
                    scale: 2
                }
            )
            .unwrap(),
            V::Decimal(-1)
        );
        let uuid = uuid::Uuid::from_u128(7);
        assert_eq!(
            convert(V::Fixed(uuid.as_bytes().to_vec()), &T::Uuid).unwrap(),
            V::Uuid(uuid)
        );
        assert!(convert(V::Long(1 << 40), &T::Int).is_err());
        assert!(convert(V::Date(i32::MAX), &T::TimestampNs).is_err());
        assert!(convert(V::Date(0), &T::Timestamptz).is_err());
        assert!(convert(V::Fixed(vec![1]), &T::Fixed(2)).is_err());
        assert!(convert(V::String("1".into()), &T::Int).is_err());
    }
}
