//! What a scan wants to be true of its rows, in the table's own terms: fields by id, values of their types.
//! Spec: "Scan Planning"; the order of values is the one that Postgres has.

mod cut;
mod filter;
mod order;
mod predicate;

pub use cut::{Bounds, Cut, Span, ordinals, value_of_ordinal};
pub use filter::{PruningLevels, RowFilter, ScanFilter};
pub use order::compare_values;
pub use predicate::{Check, Comparison, Predicate, Term, Test};
