//! From Arrow batches to Postgres datums. The way of each column is chosen once per scan
//! ([`conversion`]); whole batches are then turned into datums on the worker threads, without a call
//! into Postgres ([`batch`]). What only Postgres can do (jsonb, composites, domains, other encodings) is
//! finished by the backend, row by row ([`finish`]).

pub mod arena;
pub mod array;
pub mod batch;
pub mod composite;
pub mod conversion;
pub mod encode;
pub mod finish;
pub mod json;
pub mod mapping;
pub mod numeric;
pub mod spatial;
pub mod time;
pub mod variant;
