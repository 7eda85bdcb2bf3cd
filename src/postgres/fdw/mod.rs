//! The callbacks of the foreign data wrapper.

pub mod foreign_table;
pub mod import;
