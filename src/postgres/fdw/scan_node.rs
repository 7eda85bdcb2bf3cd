//! What a plan's scan node carries from planning to execution, in lists that Postgres can copy, write and read.
//! Postgres' documentation: "Foreign Data Wrapper Callback Routines", `fdw_exprs` and `fdw_private`.

use pgrx::pg_sys::{self, Expr, List, Node};

use super::parallel::Mode;
use super::selector_qual::Kind;
use crate::list::pointers;

/// What a scan node carries.
///
/// `fdw_exprs` has the selector's values if there is a selector, then the exact quals, then the inexact ones: so EXPLAIN
/// can show quals by deparsing these. `fdw_private` has lists of integers: the mode, the columns, those of `filtered`,
/// the selector's kind, how many quals are exact.
pub struct ScanNode {
    /// How the scan takes part in parallel queries.
    pub mode: Mode,
    /// Numbers of the columns that the scan produces, ascending.
    pub output: Vec<i16>,
    /// Numbers of further columns that only exact quals name.
    pub filtered: Vec<i16>,
    /// What selects the state, and how.
    pub selector: Option<(Kind, Vec<*mut Expr>)>,
    /// Quals that the reader checks in Postgres' place.
    pub exact: Vec<*mut Node>,
    /// Quals that tell what need not be read.
    pub inexact: Vec<*mut Node>,
}

impl ScanNode {
    /// The node's `fdw_exprs`.
    ///
    /// # Safety
    /// The expressions are valid.
    pub unsafe fn expressions(&self) -> *mut List {
        let selector = self.selector.iter().flat_map(|(_, values)| values);
        let selector = selector.map(|value| value.cast());
        let quals = self.exact.iter().chain(&self.inexact).copied();
        // SAFETY: allocates in the current memory context.
        selector
            .chain(quals)
            .fold(std::ptr::null_mut(), |list, node: *mut Node| unsafe {
                pg_sys::lappend(list, node.cast())
            })
    }

    /// The node's `fdw_private`.
    pub fn private(&self) -> *mut List {
        let numbers = |numbers: &[i16]| integers(numbers.iter().map(|number| i32::from(*number)));
        let parts = [
            integers([self.mode.number()]),
            numbers(&self.output),
            numbers(&self.filtered),
            integers(self.selector.iter().map(|(kind, _)| kind.number())),
            integers([i32::try_from(self.exact.len()).unwrap_or(i32::MAX)]),
        ];
        // SAFETY: allocates in the current memory context.
        parts
            .into_iter()
            .fold(std::ptr::null_mut(), |list, part| unsafe {
                pg_sys::lappend(list, part.cast())
            })
    }

    /// Reads what a node carries.
    ///
    /// # Safety
    /// `scan` is a node of this wrapper.
    pub unsafe fn of(scan: *mut pg_sys::ForeignScan) -> Self {
        // SAFETY: by the contract the lists are as they were made.
        unsafe {
            let mut private = pointers::<List>((*scan).fdw_private).map(|list| from_list(list));
            let mut numbers = || -> Vec<i32> { private.next().unwrap_or_default() };
            let mode = Mode::from_number(numbers().first().copied().unwrap_or(0));
            let columns =
                |numbers: Vec<i32>| numbers.into_iter().map(|number| number as i16).collect();
            let (output, filtered) = (columns(numbers()), columns(numbers()));
            let kind = numbers()
                .first()
                .and_then(|number| Kind::from_number(*number));
            let exact = numbers().first().map_or(0, |count| *count as usize);
            let mut expressions: Vec<*mut Node> = pointers((*scan).fdw_exprs).collect();
            let selector = kind.map(|kind| {
                let values = expressions.drain(..kind.values().min(expressions.len()));
                (kind, values.map(|value| value.cast::<Expr>()).collect())
            });
            let inexact = expressions.split_off(exact.min(expressions.len()));
            Self {
                mode,
                output,
                filtered,
                selector,
                exact: expressions,
                inexact,
            }
        }
    }

    /// Numbers of all columns that the scan needs, ascending.
    pub fn attribute_numbers(&self) -> Vec<i16> {
        let mut all = [self.output.as_slice(), &self.filtered].concat();
        all.sort_unstable();
        all
    }
}

fn integers(numbers: impl IntoIterator<Item = i32>) -> *mut List {
    numbers
        .into_iter()
        // SAFETY: allocates in the current memory context.
        .fold(std::ptr::null_mut(), |list, number| unsafe {
            pg_sys::lappend_int(list, number)
        })
}

/// # Safety
/// The list is null or one of integers.
unsafe fn from_list(list: *mut List) -> Vec<i32> {
    // SAFETY: by the contract.
    unsafe { pgrx::PgList::<i32>::from_pg(list) }
        .iter_int()
        .collect()
}
