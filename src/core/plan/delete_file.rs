//! The deletes that apply to a data file, as a scan task carries them.
//! Spec: "Delete Formats", "Scan Planning".

use std::sync::Arc;

use crate::spec::{FileFormat, NestedField};
use crate::storage::RawPath;

/// What must be taken away from the rows of a data file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskDeletes {
    /// Files that may hold positions of the data file's rows.
    pub positions: Vec<Arc<DeleteFile>>,
    /// The data file's deletion vector.
    pub vector: Option<Arc<DeletionVector>>,
    /// Sets of equality deletes; of each apply the files with a greater sequence number than the
    /// data file's.
    pub equality: Vec<Arc<EqualityDeletes>>,
}

/// A position delete file or an equality delete file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteFile {
    /// The file, as the manifest names it.
    pub path: RawPath,
    /// Its format.
    pub format: FileFormat,
    /// Its size in bytes, as the manifest says.
    pub file_size: u64,
    /// Its number of rows as the manifest says; `None` where the writer did not know.
    pub record_count: Option<u64>,
}

/// A deletion vector: a blob in a Puffin file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionVector {
    /// The Puffin file, as the manifest names it.
    pub path: RawPath,
    /// Where in it the blob starts, in bytes.
    pub offset: u64,
    /// The blob's length in bytes.
    pub length: u64,
    /// Number of positions, as the manifest says.
    pub cardinality: Option<u64>,
}

/// Equality delete files of one scope that compare the same columns.
#[derive(Debug, Clone, PartialEq)]
pub struct EqualityDeletes {
    /// The columns that are compared, by ascending field id.
    pub columns: Vec<EqualityColumn>,
    /// The files, each with its data sequence number.
    pub files: Vec<(i64, Arc<DeleteFile>)>,
}

/// A column that equality deletes compare.
#[derive(Debug, Clone, PartialEq)]
pub struct EqualityColumn {
    /// The fields from the top level of the schema down to the column, which is the last; of the
    /// widest type that any schema of the table gives it.
    pub path: Vec<Arc<NestedField>>,
}

impl TaskDeletes {
    /// Whether nothing is deleted.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty() && self.vector.is_none() && self.equality.is_empty()
    }
}

impl EqualityColumn {
    /// The column itself.
    pub fn field(&self) -> Option<&Arc<NestedField>> {
        self.path.last()
    }

    /// Its name, for messages.
    pub fn name(&self) -> String {
        let names: Vec<_> = self.path.iter().map(|field| field.name.as_str()).collect();
        names.join(".")
    }
}
