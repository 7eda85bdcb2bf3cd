//! Random Iceberg tables, the same rows in heap tables, and random queries over both: what the differential test is made of.
//! A second look at the spec: nothing here is shared with the product's evaluators.

mod avro_file;
mod bounds;
mod calendar;
mod constants;
mod data_file;
pub mod declared;
mod lake;
mod pool;
mod quals;
mod query;
mod schema;
pub mod seed;
mod spec;
mod terms;
mod transform;
pub mod trial;
mod value;
