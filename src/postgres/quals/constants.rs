//! The side of a condition that does not depend on the table's rows: constants, parameters, stable expressions and
//! values of other relations; what they are when a scan is planned, estimated and executed.

use std::collections::HashMap;

use pgrx::pg_sys::{self, Datum, Expr, ExprState, ForeignScanState, Node, PlannerInfo};
use pgrx::{PgMemoryContexts, is_a};

/// What is known of a value.
#[derive(Debug, Clone, Copy)]
pub enum Known {
    /// It is null.
    Null,
    /// It is this, of the expression's type; it lives as long as the memory context in which it was asked for.
    Value(Datum),
    /// It is known only when the scan is executed.
    Later,
}

/// Gives values to expressions that do not depend on the table's rows.
pub trait Constants {
    /// The value of an expression.
    ///
    /// # Safety
    /// `expression` is valid, without aggregates, sub-plans and columns of the table.
    unsafe fn value(&mut self, expression: *mut Node) -> Known;
}

/// Before anything is executed: only what is written as a constant counts.
pub struct Planned;

/// Guesses for the planner's estimates; also values of stable functions as they are now.
pub struct Estimated(pub *mut PlannerInfo);

/// At execution: everything has a value.
pub struct Executed {
    node: *mut ForeignScanState,
    states: HashMap<*mut Node, *mut ExprState>,
    constants_only: bool,
}

impl Constants for Planned {
    unsafe fn value(&mut self, expression: *mut Node) -> Known {
        // SAFETY: by the contract a valid node.
        unsafe { constant(expression) }
    }
}

impl Constants for Estimated {
    unsafe fn value(&mut self, expression: *mut Node) -> Known {
        // SAFETY: by the contract a valid node; the planner's root is valid while it plans.
        unsafe {
            match constant(expression) {
                Known::Later => constant(pg_sys::estimate_expression_value(self.0, expression)),
                known => known,
            }
        }
    }
}

impl Executed {
    /// Of a scan. With `constants_only` nothing is evaluated: for EXPLAIN, where parameters may have no values.
    pub fn new(node: *mut ForeignScanState, constants_only: bool) -> Self {
        Self {
            node,
            states: HashMap::new(),
            constants_only,
        }
    }
}

impl Constants for Executed {
    unsafe fn value(&mut self, expression: *mut Node) -> Known {
        // SAFETY: by the contract a valid node of the scan's plan, which lives as long as the scan, as does what is
        // prepared for it in the query's context.
        unsafe {
            let known = constant(expression);
            if self.constants_only || !matches!(known, Known::Later) {
                return known;
            }
            let node = self.node;
            let state = *self.states.entry(expression).or_insert_with(|| {
                let query = (*(*node).ss.ps.state).es_query_cxt;
                PgMemoryContexts::For(query).switch_to(|_| {
                    pg_sys::ExecInitExpr(expression.cast::<Expr>(), &mut (*node).ss.ps)
                })
            });
            let context = (*node).ss.ps.ps_ExprContext;
            PgMemoryContexts::For((*context).ecxt_per_tuple_memory).switch_to(|_| {
                let mut is_null = true;
                let value = match (*state).evalfunc {
                    Some(evaluate) => evaluate(state, context, &mut is_null),
                    None => Datum::null(),
                };
                if is_null {
                    Known::Null
                } else {
                    Known::Value(value)
                }
            })
        }
    }
}

/// The value of a constant.
///
/// # Safety
/// `node` is a valid node.
unsafe fn constant(node: *mut Node) -> Known {
    // SAFETY: by the contract; the tag is looked at first.
    unsafe {
        if !is_a(node, pg_sys::NodeTag::T_Const) {
            return Known::Later;
        }
        let constant = node.cast::<pg_sys::Const>();
        if (*constant).constisnull {
            Known::Null
        } else {
            Known::Value((*constant).constvalue)
        }
    }
}
