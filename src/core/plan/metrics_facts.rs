//! What manifests tell of a column of a file: how many of its values are null or NaN, and its bounds.
//! Spec: "Data File Fields" (metrics), "Scan Planning".

use crate::spec::schema::MAX_COLUMN_ID;
use crate::spec::{
    DataFile, FileFormat, PossibleValues, PrimitiveType, PrimitiveValue, Schema, TableMetadata,
    UpperEnd,
};

/// A column that manifests may tell of.
#[derive(Debug, Clone)]
pub(super) struct Column {
    field_id: i32,
    field_type: PrimitiveType,
    /// Whether it is no part of a struct.
    top_level: bool,
}

impl Column {
    /// The column with this field id, as one of this type.
    pub fn new(metadata: &TableMetadata, field_id: i32, field_type: PrimitiveType) -> Self {
        let has = |schema: &Schema| schema.fields().field_by_id(field_id).is_some();
        Self {
            field_id,
            field_type,
            top_level: metadata.schemas.values().any(|schema| has(schema)),
        }
    }

    /// Its field id.
    pub fn field_id(&self) -> i32 {
        self.field_id
    }

    /// What values the column may have in a file.
    pub fn values_in(&self, file: &DataFile) -> PossibleValues {
        let mut values = PossibleValues::unknown(&self.field_type);
        // Metadata columns such as `_row_id` have values where the file has nulls.
        if self.field_id > MAX_COLUMN_ID {
            return values;
        }
        if file.record_count == Some(0) {
            values.nulls = false;
            values.nans = false;
            values.others = false;
            return values;
        }
        let Some(stats) = file.stats.column(self.field_id) else {
            return values;
        };
        let rows = file.record_count;
        let counted = stats.value_count;
        let covers_rows = match (counted, rows) {
            (Some(counted), Some(rows)) => counted >= rows,
            // Of a column of its own, each row has a value; of a part of a struct, a struct that is null need
            // not be counted.
            _ => self.top_level,
        };
        let may_miss_nulls = !self.top_level && file.file_format == FileFormat::Orc;
        values.nulls = stats.null_value_count != Some(0) || !covers_rows || may_miss_nulls;
        values.nans = values.nans && stats.nan_value_count != Some(0);
        let total = if self.top_level {
            rows.or(counted)
        } else {
            counted
        };
        let bounded = stats.lower_bound.is_some() || stats.upper_bound.is_some();
        // So many at least.
        let nulls = stats.null_value_count.unwrap_or(0);
        let nans = stats.nan_value_count.filter(|_| values.nans).unwrap_or(0);
        let either = nulls.saturating_add(nans);
        if let Some(total) = total
            && !bounded
            && either == total
            && (total > 0 || !self.top_level)
        {
            values.others = false;
            values.nans = values.nans && nans > 0;
            values.nulls = values.nulls && (nulls > 0 || !covers_rows);
        }
        let mut values = values.between(
            &self.field_type,
            stats.lower_bound.as_deref(),
            stats.upper_bound.as_deref(),
        );
        // ORC's statistics were of whole milliseconds once.
        if file.file_format == FileFormat::Orc {
            values.lower = values.lower.and_then(|lower| moved(lower, -1));
            values.upper = values.upper.and_then(|upper| match upper {
                UpperEnd::Value(upper) => moved(upper, 1).map(UpperEnd::Value),
                prefix @ UpperEnd::Prefix(_) => Some(prefix),
            });
        }
        values
    }
}

/// A time moved by milliseconds; any other value as it is. `None` if the type does not reach so far.
fn moved(value: PrimitiveValue, millis: i64) -> Option<PrimitiveValue> {
    use PrimitiveValue as V;
    let micros = |value: i64| value.checked_add(millis * 1_000);
    let nanos = |value: i64| value.checked_add(millis * 1_000_000);
    Some(match value {
        V::Timestamp(value) => V::Timestamp(micros(value)?),
        V::Timestamptz(value) => V::Timestamptz(micros(value)?),
        V::TimestampNs(value) => V::TimestampNs(nanos(value)?),
        V::TimestamptzNs(value) => V::TimestamptzNs(nanos(value)?),
        other => other,
    })
}
