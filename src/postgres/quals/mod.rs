//! Quals: what Postgres asks of a foreign table's rows, as predicates that core prunes files by and the reader filters
//! rows by. DESIGN.md 3: a qual is exact, inexact or local.
//!
//! A qual is classified when it is planned, and the quals that are not local travel in the plan as expressions. When a
//! scan is executed they are translated again, now with the values of parameters and stable expressions; so an exact
//! qual must be exact whatever these values are.
//!
//! Security: what is pushed is Postgres' own operators and functions alone, reads no row that the query's user could
//! not read by another plan, raises no error that depends on a row, and tells nobody what it found. So it may be
//! checked before quals of a lower security level, which those of leaky functions may not; these stay local.

mod array;
mod collation;
mod column;
mod constants;
mod functions;
mod leaf;
mod locate;
mod number;
mod operator;
mod outcome;
mod pattern;
mod step;
pub mod text;
mod time;
mod translate;

pub use constants::Executed;
pub use outcome::Class;

use iceberg_core::spec::{Check, Predicate, RowFilter, Term, Test};
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{self, List, Node, PlannerInfo, RestrictInfo};

use self::constants::{Constants, Estimated, Planned};
use self::translate::Translator;
use crate::error::Report;
use crate::fdw::relation::ForeignRelation;
use crate::list::pointers;
use crate::session::settings;

/// Quals by what can be done with them; each list has the elements of the list that was classified, in their order.
pub struct Classified {
    /// The reader checks them in Postgres' place.
    pub exact: *mut List,
    /// They tell what need not be read.
    pub inexact: *mut List,
    /// Postgres alone checks them.
    pub local: *mut List,
}

/// The quals of a list of `RestrictInfo` by their classes.
///
/// # Safety
/// `root` is the planner's, and `varno` the place of `table`, opened with all columns that the quals name.
pub unsafe fn classify(
    root: *mut PlannerInfo,
    varno: pg_sys::Index,
    table: &ForeignRelation,
    quals: *mut List,
) -> Classified {
    let mut classified = Classified {
        exact: std::ptr::null_mut(),
        inexact: std::ptr::null_mut(),
        local: std::ptr::null_mut(),
    };
    // SAFETY: by the contract.
    unsafe {
        for qual in pointers::<RestrictInfo>(quals) {
            let list = match class_of(root, varno, table, (*qual).clause.cast()) {
                // A qual without columns is checked once, before the scan.
                _ if (*qual).pseudoconstant => &mut classified.local,
                Class::Exact => &mut classified.exact,
                Class::Inexact => &mut classified.inexact,
                Class::Local => &mut classified.local,
            };
            *list = pg_sys::lappend(*list, qual.cast());
        }
    }
    classified
}

/// What can be done with a qual, which may be a join clause: columns of other tables count as known then, for a scan
/// that is parameterised by them.
///
/// # Safety
/// As [`classify`]; `qual` is a valid boolean expression.
pub unsafe fn class_of(
    root: *mut PlannerInfo,
    varno: pg_sys::Index,
    table: &ForeignRelation,
    qual: *mut Node,
) -> Class {
    let mut constants = Planned;
    let varno = i32::try_from(varno).unwrap_or(0);
    // SAFETY: by the contract.
    let class = unsafe {
        Translator::new(table, varno, root, &mut constants)
            .qual(qual)
            .class
    };
    if class == Class::Exact && !settings::enable_pushdown() {
        return Class::Inexact;
    }
    class
}

/// Which rows quals want as far as the planner can tell, for estimates only.
///
/// # Safety
/// As [`classify`].
pub unsafe fn estimate(
    root: *mut PlannerInfo,
    varno: pg_sys::Index,
    table: &ForeignRelation,
    quals: *mut List,
) -> RowFilter {
    let mut constants = Estimated(root);
    let varno = i32::try_from(varno).unwrap_or(0);
    // SAFETY: by the contract.
    unsafe {
        let mut translator = Translator::new(table, varno, root, &mut constants);
        let predicates: Vec<Predicate> = pointers::<RestrictInfo>(quals)
            .filter(|qual| !(**qual).pseudoconstant)
            .map(|qual| translator.qual((*qual).clause.cast()).predicate)
            .collect();
        RowFilter {
            exact: Predicate::True,
            inexact: Predicate::and(predicates),
        }
    }
}

/// The quals that a scan carries, with their values at execution.
pub struct Bound {
    /// Quals that only the reader checks.
    pub exact: Vec<*mut Node>,
    /// Quals that Postgres checks again.
    pub inexact: Vec<*mut Node>,
    /// What gives them values.
    pub constants: Executed,
}

impl Bound {
    /// Which rows are wanted, with the values that parameters and stable expressions have now. Raises an error where
    /// an exact qual is none any more.
    ///
    /// # Safety
    /// The quals are those of the scan that the constants are of; `varno` is the place of `table` there.
    pub unsafe fn rows(&mut self, table: &ForeignRelation, varno: pg_sys::Index) -> RowFilter {
        let varno = i32::try_from(varno).unwrap_or(0);
        let constants: &mut dyn Constants = &mut self.constants;
        let mut translator = Translator::new(table, varno, std::ptr::null_mut(), constants);
        // SAFETY: by the contract.
        let exact = self.exact.iter().map(|qual| unsafe {
            let translated = translator.qual(*qual);
            if translated.class < Class::Exact {
                changed_since_planned();
            }
            translated.predicate
        });
        let exact = Predicate::and(exact.collect::<Vec<_>>());
        // SAFETY: by the contract.
        let inexact = self
            .inexact
            .iter()
            .map(|qual| unsafe { translator.qual(*qual).predicate });
        RowFilter {
            exact,
            inexact: Predicate::and(inexact.collect::<Vec<_>>()),
        }
    }

    /// Whether it has no quals.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.inexact.is_empty()
    }
}

fn changed_since_planned() -> ! {
    Report::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "the schema of an Iceberg table has changed since the query was planned",
    )
    .with_hint("Run the query again; DISCARD PLANS plans prepared statements anew.")
    .raise()
}

/// A predicate that tests one term.
fn test(term: &Term, check: Check) -> Predicate {
    Predicate::Test(Test {
        term: term.clone(),
        check,
    })
}
