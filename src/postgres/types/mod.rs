//! Between Iceberg's types and Postgres' types.

pub mod mapping;
