//! A table of many rows that takes little time and space to make: many names of one file.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};

use crate::synthetic::{Directory, Table};

/// Rows of one file where time is measured.
pub const MANY_ROWS: i64 = 50_000;

/// A table of `id long, price double, word string` in as many files, each of which has the ids from 0 up to `rows`.
pub fn large_table(directory: &Directory, files: usize, rows: i64) -> PathBuf {
    let ids = Int64Array::from_iter_values(0..rows);
    let prices = Float64Array::from_iter_values((0..rows).map(|id| id as f64 / 8.0));
    let words = StringArray::from_iter_values((0..rows).map(|id| format!("word {id}")));
    let arrays: Vec<ArrayRef> = vec![Arc::new(ids), Arc::new(prices), Arc::new(words)];
    let mut table = Table::new(directory.path())
        .column(1, "id", "long")
        .column(2, "price", "double")
        .column(3, "word", "string")
        .file("data/0.parquet", arrays);
    for file in 1..files {
        table = table.linked_file(&format!("data/{file}.parquet"), "data/0.parquet");
    }
    table.write()
}
