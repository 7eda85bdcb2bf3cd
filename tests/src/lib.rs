//! Shared pieces of the outside tests: the environment they run in, expected rows, the comparison of values,
//! and a small writer of Iceberg tables for cases that no reference writer produces.

pub mod compare;
pub mod database;
pub mod environment;
pub mod expected;
pub mod failure;
pub mod heap;
pub mod iceberg_type;
pub mod instant;
pub mod large;
pub mod literal;
pub mod postgres_text;
pub mod process;
pub mod random;
pub mod stores;
pub mod synthetic;
pub mod value;
pub mod variant;
