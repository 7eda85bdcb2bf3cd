//! Finding tables and the metadata file that is current: the path catalog.
//! Stands on `spec` and `storage`.

pub mod path;
mod table;

use async_trait::async_trait;

use crate::error::Result;

pub use path::{MetadataSelection, PathCatalog};
use table::parse_places;
pub use table::{Table, TableOptions, open_cached_table, open_table};

/// Where tables are found by name.
#[async_trait]
pub trait Catalog: Send + Sync + std::fmt::Debug {
    /// The tables of a namespace, whose levels are separated by dots.
    async fn list_tables(&self, namespace: &str) -> Result<TableListing>;

    /// A table with its current metadata.
    async fn load_table(&self, ident: &TableIdent) -> Result<Table>;
}

/// The name of a table in a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableIdent {
    /// The namespace, its levels separated by dots.
    pub namespace: String,
    /// The table's name within the namespace.
    pub name: String,
}

/// What a namespace holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableListing {
    /// The names of its tables, sorted by their bytes.
    pub tables: Vec<String>,
    /// What looks like a table but cannot be one, sorted by name.
    pub skipped: Vec<SkippedTable>,
}

/// Something in a namespace that looks like a table but cannot be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTable {
    /// Its name; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Why it is no table, as part of a sentence.
    pub reason: String,
}
