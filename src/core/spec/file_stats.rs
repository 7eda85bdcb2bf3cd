//! What a writer recorded about the columns of a file: sizes, counts, bounds.
//! Spec: "Data File Fields" (the metrics maps of v1 to v3).

/// The statistics of one file, by column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileStats {
    columns: Box<[ColumnStats]>,
}

/// What is known about one column of a file; `None` is always "unknown", never zero.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnStats {
    /// The column's field id.
    pub field_id: i32,
    /// Size in the file, in bytes.
    pub size_in_bytes: Option<u64>,
    /// Number of values, nulls and NaNs included.
    pub value_count: Option<u64>,
    /// Number of nulls.
    pub null_value_count: Option<u64>,
    /// Number of NaNs.
    pub nan_value_count: Option<u64>,
    /// No value that is neither null nor NaN is less; in the binary single-value form.
    pub lower_bound: Option<Box<[u8]>>,
    /// No value that is neither null nor NaN is greater; in the binary single-value form.
    pub upper_bound: Option<Box<[u8]>>,
}

impl FileStats {
    /// The statistics of these columns, of which each is there once.
    pub fn new(columns: impl IntoIterator<Item = ColumnStats>) -> Self {
        let mut columns: Vec<_> = columns.into_iter().collect();
        columns.sort_by_key(|column| column.field_id);
        Self {
            columns: columns.into(),
        }
    }

    /// The statistics of the column with this field id.
    pub fn column(&self, field_id: i32) -> Option<&ColumnStats> {
        let index = self
            .columns
            .binary_search_by_key(&field_id, |column| column.field_id)
            .ok()?;
        self.columns.get(index)
    }

    /// All columns that something is known about, by ascending field id.
    pub fn columns(&self) -> &[ColumnStats] {
        &self.columns
    }
}

/// One thing that a file says about a column.
#[derive(Debug, Clone, Copy)]
pub(super) enum Metric<'a> {
    SizeInBytes(i64),
    ValueCount(i64),
    NullValueCount(i64),
    NanValueCount(i64),
    LowerBound(&'a [u8]),
    UpperBound(&'a [u8]),
}

/// Collects the metrics of one file, in any order.
#[derive(Debug, Default)]
pub(super) struct FileStatsBuilder<'a> {
    metrics: Vec<(i32, Metric<'a>)>,
}

impl<'a> FileStatsBuilder<'a> {
    pub fn push(&mut self, field_id: i32, metric: Metric<'a>) {
        self.metrics.push((field_id, metric));
    }

    /// The statistics; a negative count or size is unknown, of two values for one thing the later
    /// counts.
    pub fn build(mut self) -> FileStats {
        self.metrics.sort_by_key(|(field_id, _)| *field_id);
        let columns = self
            .metrics
            .chunk_by(|(left, _), (right, _)| left == right)
            .map(|metrics| {
                let mut column = ColumnStats::default();
                for (field_id, metric) in metrics {
                    column.field_id = *field_id;
                    match *metric {
                        Metric::SizeInBytes(size) => column.size_in_bytes = known(size),
                        Metric::ValueCount(count) => column.value_count = known(count),
                        Metric::NullValueCount(count) => column.null_value_count = known(count),
                        Metric::NanValueCount(count) => column.nan_value_count = known(count),
                        Metric::LowerBound(bound) => column.lower_bound = Some(bound.into()),
                        Metric::UpperBound(bound) => column.upper_bound = Some(bound.into()),
                    }
                }
                column
            })
            .collect();
        FileStats { columns }
    }
}

fn known(count: i64) -> Option<u64> {
    u64::try_from(count).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_negative_is_unknown() {
        let mut builder = FileStatsBuilder::default();
        builder.push(7, Metric::ValueCount(3));
        builder.push(2, Metric::LowerBound(b"a"));
        builder.push(7, Metric::NullValueCount(-1));
        builder.push(2, Metric::UpperBound(b""));
        let stats = builder.build();
        assert_eq!(
            stats.columns(),
            [
                ColumnStats {
                    field_id: 2,
                    lower_bound: Some(b"a".as_slice().into()),
                    upper_bound: Some(b"".as_slice().into()),
                    ..ColumnStats::default()
                },
                ColumnStats {
                    field_id: 7,
                    value_count: Some(3),
                    ..ColumnStats::default()
                },
            ]
        );
        assert_eq!(stats.column(7), stats.columns().get(1));
        assert_eq!(stats.column(3), None);
    }
}
