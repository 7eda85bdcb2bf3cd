//! Options of servers, user mappings, tables and columns: what there is, whether a list of them is
//! right, and what a table's and its server's options say together.

pub mod given;
pub mod known;
pub mod mapping;
pub mod table;
mod validator;

pub use given::Given;
pub use table::{ColumnOptions, ServerOptions, TableOptions};
