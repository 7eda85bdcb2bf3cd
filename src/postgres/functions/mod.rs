//! The SQL functions of schema `iceberg`.

pub mod attach;
