//! The foreign data wrapper's callbacks, a file for each group, as Postgres' documentation groups
//! them ("Writing a Foreign Data Wrapper").

pub mod analyze;
pub mod cost;
pub mod deparse;
pub mod estimates;
pub mod explain;
pub mod foreign_table;
pub mod handler;
pub mod import;
pub mod parallel;
pub mod parameterised;
pub mod paths;
pub mod plan;
pub mod relation;
pub mod scan;
pub mod scan_node;
pub mod selection;
pub mod selector_qual;
pub mod shared_scan;
pub mod statistics;
pub mod width;
