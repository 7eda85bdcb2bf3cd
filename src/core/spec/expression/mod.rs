//! What a scan wants to be true of its rows, in the table's own terms: fields by id, values of their types.
//! Spec: "Scan Planning"; the order of values is the one that Postgres has.

mod cut;
mod filter;
mod order;
mod possible_values;
mod predicate;
mod transformed;
mod verdict;

pub use cut::{Bounds, Cut, Span, ordinals, value_of_ordinal};
pub use filter::{PruningLevels, RowFilter, ScanFilter};
pub use order::compare_values;
pub use possible_values::{PossibleValues, UpperEnd};
pub use predicate::{Check, Comparison, Predicate, Term, Test};
pub(crate) use transformed::is_computed_alike;
pub use verdict::Verdict;
