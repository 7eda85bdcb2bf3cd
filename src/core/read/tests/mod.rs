//! Reads of Parquet files that the tests write themselves, compared with what was written.
//! The rooms below follow the promises of the read layer.

mod columns;
mod concurrency;
mod corrupt;
mod evolution;
mod layouts;
mod support;
mod variant;
