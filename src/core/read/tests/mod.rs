//! Reads of Parquet files that the tests write themselves, compared with what was written.
//! The rooms below follow the promises of the read layer.

mod avro;
mod columns;
mod concurrency;
mod corrupt;
mod deletes;
mod evolution;
mod filter;
mod filter_support;
mod layouts;
mod metadata_columns;
mod missing;
mod name_mapping;
mod orc;
mod other_writers;
mod pruning;
mod support;
mod variant;
