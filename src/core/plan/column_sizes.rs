//! How many bytes columns take in the files of a scan, for estimates of how wide its rows are.
//! Spec: "Data File Fields", `column_sizes`.

use std::collections::HashMap;

use crate::spec::DataFile;

/// Stored bytes of columns, summed over the files that say so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnSizes {
    by_field_id: HashMap<i32, Stored>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Stored {
    bytes: u64,
    rows: u64,
}

impl ColumnSizes {
    /// Stored bytes of a row's value of this field; `None` where no file tells. Files are compressed:
    /// in memory a value is usually larger.
    pub fn stored_width(&self, field_id: i32) -> Option<f64> {
        let stored = self.by_field_id.get(&field_id)?;
        (stored.rows > 0).then(|| stored.bytes as f64 / stored.rows as f64)
    }

    /// Counts a data file in.
    pub(super) fn add(&mut self, file: &DataFile) {
        let Some(rows) = file.record_count else {
            return;
        };
        for column in file.stats.columns() {
            if let Some(bytes) = column.size_in_bytes {
                self.add_stored(column.field_id, Stored { bytes, rows });
            }
        }
    }

    /// Counts in what others have counted.
    pub(super) fn merge(&mut self, other: Self) {
        for (field_id, stored) in other.by_field_id {
            self.add_stored(field_id, stored);
        }
    }

    fn add_stored(&mut self, field_id: i32, stored: Stored) {
        let sum = self.by_field_id.entry(field_id).or_default();
        sum.bytes = sum.bytes.saturating_add(stored.bytes);
        sum.rows = sum.rows.saturating_add(stored.rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_is_bytes_by_rows_of_the_files_that_tell() {
        let mut sizes = ColumnSizes::default();
        sizes.add_stored(
            3,
            Stored {
                bytes: 100,
                rows: 10,
            },
        );
        let mut others = ColumnSizes::default();
        others.add_stored(
            3,
            Stored {
                bytes: 20,
                rows: 30,
            },
        );
        others.add_stored(4, Stored { bytes: 7, rows: 0 });
        sizes.merge(others);
        assert_eq!(sizes.stored_width(3), Some(3.0));
        assert_eq!(sizes.stored_width(4), None);
        assert_eq!(sizes.stored_width(5), None);
    }
}
