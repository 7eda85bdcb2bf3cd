//! `iceberg_core`: Apache Iceberg itself, without a query engine. Metadata, storage, catalogs,
//! planning and reading; knows no Postgres and no SQL.
//!
//! Layers, each standing only on those before it: [`spec`] and [`storage`] (on nothing),
//! [`catalog`] (finds and loads table metadata), [`plan`] (a snapshot becomes scan tasks),
//! [`read`] (a scan task becomes Arrow record batches). [`inspect`] shows what the metadata says.

pub mod catalog;
pub mod error;
pub mod inspect;
pub mod plan;
pub mod read;
pub mod spec;
pub mod storage;

pub use error::{Error, ErrorKind, Result};
