//! Every option there is and what its values may be, without a Postgres symbol in it, so that the
//! tool that writes the README's tables and unit tests can use it as well as the extension.

pub mod check;
pub mod kind;
pub mod names;
pub mod table;

pub use check::{Fault, FaultKind, check};
pub use kind::{Kind, location_list};
pub use table::{OPTIONS, OptionRow, Place, Support, find};
