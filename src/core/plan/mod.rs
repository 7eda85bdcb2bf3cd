//! From a snapshot to the files that a scan must read.
//! Spec: "Scan Planning".

use crate::storage::RawPath;

/// One data file to read, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileScanTask {
    /// The file, as the manifest names it.
    pub path: RawPath,
    /// The format of the file; only Parquet is planned yet.
    pub format: FileFormat,
    /// Its size in bytes, as the manifest says.
    pub file_size: u64,
    /// Its number of rows as the manifest says; `None` where the writer did not know.
    pub record_count: Option<u64>,
}

/// The format of a data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// Apache ORC.
    Orc,
    /// Apache Avro.
    Avro,
    /// Puffin, for deletion vectors only.
    Puffin,
}
