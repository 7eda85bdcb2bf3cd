//! Parquet row groups without a wanted row, told by the statistics of their column chunks.
//! Spec: Parquet "Statistics", "ColumnOrder" in its Thrift definition; "Schema Evolution".

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array};
use parquet::basic::{ColumnOrder, SortOrder, Type as PhysicalType};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use uuid::Uuid;

use super::filter::{BatchFilter, BoundTest, value_in};
use super::leaf::Conversion;
use super::projection::Projection;
use crate::spec::value::decimal_from_big_endian;
use crate::spec::{PossibleValues, PrimitiveType, PrimitiveValue, UpperEnd};

/// A primitive column of a file that a test is about.
pub(super) struct TestedColumn<'a> {
    /// Its index among the leaves of the projection.
    pub(super) leaf: usize,
    conversion: &'a Conversion,
    /// Its type in the table.
    field_type: &'a PrimitiveType,
    /// Its type in the file.
    pub(super) physical_type: PhysicalType,
    /// How many bytes a value has, of a fixed length.
    type_length: usize,
    /// How the ends of its values were found.
    order: ColumnOrder,
    /// Whether its values are in the order of signed numbers.
    is_signed: bool,
    nullable: Nullable,
}

/// Where a column may be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nullable {
    Never,
    Itself,
    /// Where a struct around it is.
    Around,
}

/// An end of the values of a column, as Parquet has it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound<'a> {
    Boolean(bool),
    Int32(i32),
    Int64(i64),
    Float(f32),
    Double(f64),
    /// Whether it is one of the values, or may have been cut short.
    Bytes(&'a [u8], bool),
}

impl<'a> Bound<'a> {
    /// A value as Parquet's `PLAIN` encoding has it, without a length before it.
    pub(super) fn from_plain(physical_type: PhysicalType, bytes: &'a [u8]) -> Option<Self> {
        Some(match physical_type {
            PhysicalType::BOOLEAN => Self::Boolean(*bytes.first()? != 0),
            PhysicalType::INT32 => Self::Int32(i32::from_le_bytes(bytes.try_into().ok()?)),
            PhysicalType::INT64 => Self::Int64(i64::from_le_bytes(bytes.try_into().ok()?)),
            PhysicalType::FLOAT => Self::Float(f32::from_le_bytes(bytes.try_into().ok()?)),
            PhysicalType::DOUBLE => Self::Double(f64::from_le_bytes(bytes.try_into().ok()?)),
            PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                Self::Bytes(bytes, false)
            }
            PhysicalType::INT96 => return None,
        })
    }
}

/// What is said of the values of a column in a row group or a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnFacts<'a> {
    pub(super) lower: Option<Bound<'a>>,
    pub(super) upper: Option<Bound<'a>>,
    /// How many are null; `None` if that is unknown.
    pub(super) nulls: Option<u64>,
    /// How many there are, nulls included; `None` if that is unknown.
    pub(super) values: Option<u64>,
}

/// Whether a row group may have wanted rows, whose column chunks are those of the projection's
/// leaves; `orders` says how the ends of the values of each leaf were found.
pub(super) fn may_have_wanted_rows(
    filter: &BatchFilter,
    projection: &Projection,
    orders: &[ColumnOrder],
    chunks: &[ColumnChunkMetaData],
) -> bool {
    filter.may_hold(&mut |test| {
        let values = TestedColumn::new(test, projection, orders, chunks).and_then(|column| {
            let facts = ColumnFacts::of_chunk(chunks.get(column.leaf)?, &column)?;
            Some(column.possible_values(facts))
        });
        values.is_none_or(|values| test.may_hold(&values))
    })
}

impl<'a> TestedColumn<'a> {
    /// The column that a test is about; `None` where a file does not have it as one column.
    pub(super) fn new(
        test: &'a BoundTest,
        projection: &'a Projection,
        orders: &[ColumnOrder],
        chunks: &[ColumnChunkMetaData],
    ) -> Option<Self> {
        let (leaf, conversion) = projection.leaf_at(test.place())?;
        if *test.field_type() == PrimitiveType::Unknown {
            return None;
        }
        let stored = chunks.get(leaf)?.column_descr();
        let own_level = i16::from(stored.self_type().is_optional());
        Some(Self {
            leaf,
            conversion,
            field_type: test.field_type(),
            physical_type: stored.physical_type(),
            type_length: usize::try_from(stored.type_length()).unwrap_or(0),
            order: *orders.get(leaf)?,
            is_signed: stored.sort_order() == SortOrder::SIGNED,
            nullable: match stored.max_def_level() {
                0 => Nullable::Never,
                level if level == own_level => Nullable::Itself,
                _ => Nullable::Around,
            },
        })
    }

    /// The values that it may have, by what is said of them.
    pub(super) fn possible_values(&self, facts: ColumnFacts<'_>) -> PossibleValues {
        let mut possible = PossibleValues::unknown(self.field_type);
        let all_null = facts.nulls.is_some() && facts.nulls == facts.values;
        possible.others = !all_null;
        possible.nulls = match self.nullable {
            Nullable::Never => false,
            Nullable::Itself => facts.nulls != Some(0),
            // Not all writers count the nulls of structs around it.
            Nullable::Around => true,
        };
        possible.nans &= possible.others;
        possible.within(
            facts.lower.and_then(|lower| self.lower(lower)),
            facts.upper.and_then(|upper| self.upper(upper)),
        )
    }

    fn lower(&self, bound: Bound<'_>) -> Option<PrimitiveValue> {
        match bound {
            // Cut within a character, it is still no less than its whole characters.
            Bound::Bytes(bytes, _) if *self.field_type == PrimitiveType::String => {
                let whole = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
                Some(PrimitiveValue::String(whole.to_owned()))
            }
            _ => self.value(bound),
        }
    }

    fn upper(&self, bound: Bound<'_>) -> Option<UpperEnd> {
        let value = self.value(bound)?;
        let may_be_cut = match (&value, bound) {
            (
                PrimitiveValue::String(_) | PrimitiveValue::Fixed(_) | PrimitiveValue::Binary(_),
                Bound::Bytes(_, is_exact),
            ) => !is_exact,
            _ => false,
        };
        // What was cut short must have been raised; not all writers did.
        Some(match may_be_cut {
            true => UpperEnd::Prefix(value),
            false => UpperEnd::Value(value),
        })
    }

    /// A value of the column's type in the table.
    fn value(&self, bound: Bound<'_>) -> Option<PrimitiveValue> {
        let array: ArrayRef = match bound {
            Bound::Bytes(bytes, is_exact) => {
                return self.bytes_value(bytes, is_exact);
            }
            Bound::Boolean(value) => Arc::new(BooleanArray::from(vec![value])),
            Bound::Int32(value) => Arc::new(Int32Array::from(vec![value])),
            Bound::Int64(value) => Arc::new(Int64Array::from(vec![value])),
            Bound::Float(value) => Arc::new(Float32Array::from(vec![value])),
            Bound::Double(value) => Arc::new(Float64Array::from(vec![value])),
        };
        // All conversions keep the order.
        value_in(self.field_type, &self.conversion.apply(&array).ok()?)
    }

    /// Whether the ends of its values are those in the order that values have here.
    pub(super) fn is_ordered(&self, is_deprecated: bool) -> bool {
        match (self.order, self.physical_type) {
            (_, PhysicalType::INT96) | (ColumnOrder::UNKNOWN, _) => false,
            (ColumnOrder::TYPE_DEFINED_ORDER(order), _) if !is_deprecated => {
                order != SortOrder::UNDEFINED
            }
            // Before orders were defined, all values were compared as signed ones.
            (
                _,
                PhysicalType::INT32
                | PhysicalType::INT64
                | PhysicalType::FLOAT
                | PhysicalType::DOUBLE,
            ) => self.is_signed,
            _ => false,
        }
    }

    /// A text, or bytes, of the column's type; `None` where they are none.
    fn bytes_value(&self, bytes: &[u8], is_exact: bool) -> Option<PrimitiveValue> {
        Some(match self.field_type {
            PrimitiveType::String => PrimitiveValue::String(str::from_utf8(bytes).ok()?.to_owned()),
            PrimitiveType::Binary => PrimitiveValue::Binary(bytes.to_vec()),
            PrimitiveType::Fixed(_) => PrimitiveValue::Fixed(bytes.to_vec()),
            PrimitiveType::Uuid => PrimitiveValue::Uuid(Uuid::from_slice(bytes).ok()?),
            // The first bytes of a number are another number.
            PrimitiveType::Decimal { .. } => {
                let is_whole = match self.physical_type {
                    PhysicalType::FIXED_LEN_BYTE_ARRAY => bytes.len() == self.type_length,
                    _ => is_exact,
                };
                PrimitiveValue::Decimal(decimal_from_big_endian(bytes).filter(|_| is_whole)?)
            }
            _ => return None,
        })
    }
}

impl<'a> ColumnFacts<'a> {
    /// What the metadata of a column chunk says.
    fn of_chunk(chunk: &'a ColumnChunkMetaData, column: &TestedColumn<'_>) -> Option<Self> {
        let statistics = chunk.statistics()?;
        let (lower, upper) = match statistics {
            _ if !column.is_ordered(statistics.is_min_max_deprecated()) => (None, None),
            Statistics::Boolean(values) => (
                values.min_opt().map(|value| Bound::Boolean(*value)),
                values.max_opt().map(|value| Bound::Boolean(*value)),
            ),
            Statistics::Int32(values) => (
                values.min_opt().map(|value| Bound::Int32(*value)),
                values.max_opt().map(|value| Bound::Int32(*value)),
            ),
            Statistics::Int64(values) => (
                values.min_opt().map(|value| Bound::Int64(*value)),
                values.max_opt().map(|value| Bound::Int64(*value)),
            ),
            Statistics::Float(values) => (
                values.min_opt().map(|value| Bound::Float(*value)),
                values.max_opt().map(|value| Bound::Float(*value)),
            ),
            Statistics::Double(values) => (
                values.min_opt().map(|value| Bound::Double(*value)),
                values.max_opt().map(|value| Bound::Double(*value)),
            ),
            Statistics::ByteArray(_) | Statistics::FixedLenByteArray(_) => {
                let bound = |bytes, is_exact| Bound::Bytes(bytes, is_exact);
                (
                    statistics
                        .min_bytes_opt()
                        .map(|bytes| bound(bytes, statistics.min_is_exact())),
                    statistics
                        .max_bytes_opt()
                        .map(|bytes| bound(bytes, statistics.max_is_exact())),
                )
            }
            Statistics::Int96(_) => (None, None),
        };
        Some(Self {
            lower,
            upper,
            nulls: statistics.null_count_opt(),
            values: u64::try_from(chunk.num_values()).ok(),
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;

    #[test]
    fn ends_are_of_use_where_their_order_is_known() {
        use ColumnOrder::{TYPE_DEFINED_ORDER, UNDEFINED, UNKNOWN};
        use PhysicalType as P;
        let conversion = Conversion::none(DataType::Utf8View);
        let is_ordered = |order, physical_type, is_signed, is_deprecated| {
            let column = TestedColumn {
                leaf: 0,
                conversion: &conversion,
                field_type: &PrimitiveType::String,
                physical_type,
                type_length: 0,
                order,
                is_signed,
                nullable: Nullable::Itself,
            };
            column.is_ordered(is_deprecated)
        };
        let unsigned = TYPE_DEFINED_ORDER(SortOrder::UNSIGNED);
        let signed = TYPE_DEFINED_ORDER(SortOrder::SIGNED);
        assert!(is_ordered(unsigned, P::BYTE_ARRAY, false, false));
        assert!(!is_ordered(unsigned, P::BYTE_ARRAY, false, true));
        assert!(!is_ordered(UNDEFINED, P::BYTE_ARRAY, false, false));
        assert!(is_ordered(signed, P::FIXED_LEN_BYTE_ARRAY, true, false));
        assert!(!is_ordered(signed, P::FIXED_LEN_BYTE_ARRAY, true, true));
        for physical_type in [P::INT32, P::INT64, P::FLOAT, P::DOUBLE] {
            assert!(is_ordered(signed, physical_type, true, true));
            assert!(is_ordered(UNDEFINED, physical_type, true, false));
            assert!(!is_ordered(UNDEFINED, physical_type, false, false));
            assert!(!is_ordered(unsigned, physical_type, false, true));
            assert!(!is_ordered(UNKNOWN, physical_type, true, false));
        }
        assert!(!is_ordered(signed, P::INT96, true, false));
        let undefined = TYPE_DEFINED_ORDER(SortOrder::UNDEFINED);
        assert!(!is_ordered(undefined, P::INT64, true, false));
    }
}
