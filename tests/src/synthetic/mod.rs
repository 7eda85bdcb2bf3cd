//! A small writer of Iceberg tables (format version 2) for odd cases that no reference writer produces.
//! It writes what it is told: names, paths and values are not checked. Spec: "Table Metadata", "Manifests".

mod deletes;
mod manifest;
mod parquet_file;
mod table;

pub use deletes::{deletion_vector, position_delete_file, puffin};
pub use manifest::DeleteEntry;
pub(crate) use manifest::{Listed, Record, Spec, manifest_list, manifest_of};
pub use parquet_file::{
    field_with_id, list_of, map_of, parquet_of_arrays, parquet_of_bytes, parquet_without_ids,
    row_groups_of_arrays, struct_of, without_ids,
};
pub(crate) use table::write;
pub use table::{Directory, Table, write_gzip, write_json};
