//! From where to where the values of columns are in the files of a scan, and how many are null, for estimates of
//! how many rows a filter leaves. Spec: "Data File Fields" (metrics).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::spec::{PossibleValues, PrimitiveValue, compare_values};

/// What is known of the columns that a filter is about, over all files of a scan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnBounds {
    by_field_id: BTreeMap<i32, ColumnRange>,
}

/// What is known of one column over all files of a scan. An estimate, and no promise: bounds may be wide.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnRange {
    lower: End,
    upper: End,
    /// Rows of the files that tell how many of them are null.
    counted_rows: u64,
    nulls: u64,
}

/// The least or the greatest value so far.
#[derive(Debug, Clone, PartialEq, Default)]
enum End {
    /// There was none yet.
    #[default]
    NoValue,
    /// A file does not tell its own.
    Unknown,
    At(PrimitiveValue),
}

impl ColumnBounds {
    /// What is known of the column with this field id; `None` if the filter is not about it, or there are no
    /// files.
    pub fn column(&self, field_id: i32) -> Option<&ColumnRange> {
        self.by_field_id.get(&field_id)
    }

    /// Counts in a file: what values it may have, its rows, and how many of them are null.
    pub(super) fn add(
        &mut self,
        field_id: i32,
        values: &PossibleValues,
        rows: Option<u64>,
        nulls: Option<u64>,
    ) {
        let end = |value: Option<&PrimitiveValue>| match value {
            _ if !values.others => End::NoValue,
            Some(value) => End::At(value.clone()),
            None => End::Unknown,
        };
        let (counted_rows, nulls) = match (rows, nulls) {
            (Some(rows), Some(nulls)) => (rows, nulls.min(rows)),
            (Some(rows), None) if !values.nulls => (rows, 0),
            _ => (0, 0),
        };
        self.add_range(
            field_id,
            ColumnRange {
                lower: end(values.lower.as_ref()),
                upper: end(values.upper.as_ref().map(|upper| upper.value())),
                counted_rows,
                nulls,
            },
        );
    }

    /// Counts in what others have counted.
    pub(super) fn merge(&mut self, other: Self) {
        for (field_id, range) in other.by_field_id {
            self.add_range(field_id, range);
        }
    }

    fn add_range(&mut self, field_id: i32, range: ColumnRange) {
        let known = self.by_field_id.entry(field_id).or_default();
        known.lower.extend(range.lower, Ordering::Less);
        known.upper.extend(range.upper, Ordering::Greater);
        known.counted_rows = known.counted_rows.saturating_add(range.counted_rows);
        known.nulls = known.nulls.saturating_add(range.nulls);
    }
}

impl ColumnRange {
    /// No value is less, but for NaN and null; `None` where that is unknown or there are no values.
    pub fn lower(&self) -> Option<&PrimitiveValue> {
        self.lower.value()
    }

    /// No value is greater, but for NaN and null; `None` where that is unknown or there are no values. That of
    /// texts and bytes may be cut short.
    pub fn upper(&self) -> Option<&PrimitiveValue> {
        self.upper.value()
    }

    /// What share of the values is null, by the files that tell; `None` if none does.
    pub fn null_fraction(&self) -> Option<f64> {
        (self.counted_rows > 0).then(|| self.nulls as f64 / self.counted_rows as f64)
    }
}

impl End {
    fn value(&self) -> Option<&PrimitiveValue> {
        match self {
            Self::At(value) => Some(value),
            Self::NoValue | Self::Unknown => None,
        }
    }

    /// Takes the other in place of this if it is `further`.
    fn extend(&mut self, other: Self, further: Ordering) {
        match (&self, &other) {
            (_, Self::NoValue) | (Self::Unknown, _) => {}
            (Self::NoValue, _) | (_, Self::Unknown) => *self = other,
            (Self::At(known), Self::At(value)) => match compare_values(value, known) {
                Some(order) if order == further => *self = other,
                Some(_) => {}
                None => *self = Self::Unknown,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{PrimitiveType, UpperEnd};

    fn values(lower: Option<i32>, upper: Option<i32>) -> PossibleValues {
        PossibleValues {
            lower: lower.map(PrimitiveValue::Int),
            upper: upper.map(|upper| UpperEnd::Value(PrimitiveValue::Int(upper))),
            ..PossibleValues::unknown(&PrimitiveType::Int)
        }
    }

    #[test]
    fn bounds_span_all_files_and_are_unknown_where_one_is() {
        let mut bounds = ColumnBounds::default();
        bounds.add(1, &values(Some(3), Some(9)), Some(10), Some(2));
        bounds.add(1, &values(Some(-1), Some(4)), Some(10), Some(4));
        bounds.add(2, &values(Some(3), Some(9)), Some(10), None);
        let mut others = ColumnBounds::default();
        others.add(1, &values(Some(5), Some(12)), None, Some(1));
        others.add(1, &PossibleValues::constant(None), Some(20), Some(20));
        others.add(2, &values(None, Some(1)), Some(10), None);
        bounds.merge(others);
        let first = bounds.column(1).unwrap();
        assert_eq!(first.lower(), Some(&PrimitiveValue::Int(-1)));
        assert_eq!(first.upper(), Some(&PrimitiveValue::Int(12)));
        assert_eq!(first.null_fraction(), Some(26.0 / 40.0));
        let second = bounds.column(2).unwrap();
        assert_eq!(second.lower(), None);
        assert_eq!(second.upper(), Some(&PrimitiveValue::Int(9)));
        assert_eq!(second.null_fraction(), None);
        assert_eq!(bounds.column(3), None);
    }
}
