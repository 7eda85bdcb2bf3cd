//! Finding tables and the metadata file that is current: the path catalog.
//! Stands on `spec` and `storage`.

pub mod path;
