//! Variants: what a file stores in bytes and, shredded, in typed columns, as metadata and value
//! alone. Spec: Appendix A "Parquet"; Parquet "Variant Binary Encoding", "Variant Shredding".

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Fields};
use arrow::error::ArrowError;
use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::schema::types::Type as ParquetType;
use parquet_variant_compute::{VariantArray, unshred_variant};

use super::leaf::repetition;
use crate::error::{Error, ErrorKind, Result};

/// How deep a stored value may be nested: readers call themselves for every level, on small stacks.
const MAX_DEPTH: usize = 200;

/// Whether a Parquet field is a group that can hold variants; what is shredded is looked at later.
pub(super) fn is_variant(stored: &ParquetType) -> bool {
    let is_bytes = |field: &ParquetType| match field {
        ParquetType::PrimitiveType { physical_type, .. } => {
            *physical_type == PhysicalType::BYTE_ARRAY && repetition(field) != Repetition::REPEATED
        }
        ParquetType::GroupType { .. } => false,
    };
    let member = |name: &str| {
        stored
            .get_fields()
            .iter()
            .find(|field| field.name() == name)
    };
    stored.is_group()
        && repetition(stored) != Repetition::REPEATED
        && member("metadata").is_some_and(|field| is_bytes(field))
        && member("value").is_none_or(|field| is_bytes(field))
        && (member("value").is_some() || member("typed_value").is_some())
}

/// A decoded variant group as a struct of `fields`: `metadata` and `value`. A value that is null
/// where the struct is not is the variant's own null.
///
/// # Errors
/// `Corrupt` for what is no variant, `NotSupported` for one that is nested too deeply.
pub(super) fn unshred(array: &ArrayRef, fields: &Fields) -> Result<ArrayRef> {
    let group = array.as_struct_opt().ok_or_else(|| {
        Error::new(
            ErrorKind::Internal,
            "a variant's group did not decode to a struct",
        )
    })?;
    check_values(array)?;
    let shredded = VariantArray::try_new(group).map_err(|error| corrupt(&error))?;
    let whole = unshred_variant(&shredded).map_err(|error| corrupt(&error))?;
    let columns = [whole.metadata_column(), whole.value_column()]
        .into_iter()
        .map(|column| cast(column, &DataType::BinaryView))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| corrupt(&error))?;
    StructArray::try_new_with_length(fields.clone(), columns, group.nulls().cloned(), group.len())
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| corrupt(&error))
}

/// Checks every stored value of a group, also those beside typed columns inside, before a decoder
/// follows it.
fn check_values(array: &ArrayRef) -> Result<()> {
    match array.data_type() {
        DataType::Struct(fields) => {
            let Some(group) = array.as_struct_opt() else {
                return Ok(());
            };
            for (field, member) in fields.iter().zip(group.columns()) {
                match member.as_binary_view_opt() {
                    Some(values) if field.name() == "value" => check_each(values)?,
                    _ => check_values(member)?,
                }
            }
            Ok(())
        }
        DataType::List(_) => array
            .as_list_opt::<i32>()
            .map_or(Ok(()), |lists| check_values(lists.values())),
        _ => Ok(()),
    }
}

fn check_each(values: &BinaryViewArray) -> Result<()> {
    values.iter().flatten().try_for_each(check_value)
}

/// Follows a value's inner values: refuses too many levels, and inner values that share bytes, as
/// a few bytes could then stand for more values than anyone can visit. What else is wrong with it
/// is left to the decoder.
fn check_value(bytes: &[u8]) -> Result<()> {
    // Every value has a byte of its own, so there are at most as many as bytes.
    let mut unvisited = bytes.len().saturating_sub(1);
    let mut places = vec![(0_usize, 1_usize)];
    while let Some((place, depth)) = places.pop() {
        if depth > MAX_DEPTH {
            return Err(Error::not_supported(format!(
                "a variant is nested more than {MAX_DEPTH} levels deep"
            )));
        }
        let Some(children) = bytes.get(place..).and_then(Children::of) else {
            continue;
        };
        unvisited = unvisited
            .checked_sub(children.count)
            .ok_or_else(|| Error::new(ErrorKind::Corrupt, "a variant's inner values overlap"))?;
        places.extend((0..children.count).filter_map(|index| {
            let offset = children.offset(index)?;
            Some((place.checked_add(offset)?, depth + 1))
        }));
    }
    Ok(())
}

/// The places of the inner values of an object or array.
struct Children<'a> {
    count: usize,
    offsets: &'a [u8],
    offset_size: usize,
    /// Where the inner values begin, from the start of the outer one.
    start: usize,
}

impl<'a> Children<'a> {
    /// `None` for a value without inner values, and for one that is cut off.
    fn of(value: &'a [u8]) -> Option<Self> {
        const OBJECT: u8 = 2;
        const ARRAY: u8 = 3;
        let header = *value.first()?;
        let flags = header >> 2;
        let offset_size = usize::from(flags & 3) + 1;
        let (large, id_size) = match header & 3 {
            OBJECT => (flags & 0x10 != 0, usize::from((flags >> 2) & 3) + 1),
            ARRAY => (flags & 0x04 != 0, 0),
            _ => return None,
        };
        let count_size = if large { 4 } else { 1 };
        let count = number(value.get(1..1 + count_size)?);
        let offsets_start = count.checked_mul(id_size)?.checked_add(1 + count_size)?;
        let start = count
            .checked_add(1)?
            .checked_mul(offset_size)?
            .checked_add(offsets_start)?;
        Some(Self {
            count,
            offsets: value.get(offsets_start..start)?,
            offset_size,
            start,
        })
    }

    fn offset(&self, index: usize) -> Option<usize> {
        let at = index * self.offset_size;
        let offset = number(self.offsets.get(at..at + self.offset_size)?);
        self.start.checked_add(offset)
    }
}

/// At most four bytes, the least significant first.
fn number(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | usize::from(*byte))
}

fn corrupt(error: &ArrowError) -> Error {
    let kind = match error {
        ArrowError::NotYetImplemented(_) => ErrorKind::NotSupported,
        _ => ErrorKind::Corrupt,
    };
    Error::new(kind, format!("a variant cannot be decoded: {error}"))
}
