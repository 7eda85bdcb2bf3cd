//! Quals of a scan as text, as EXPLAIN shows filters: with the names of columns, also of other tables whose values a
//! nested loop hands over. Postgres: `ruleutils.c`.

use std::ffi::{CStr, CString};

use pgrx::is_a;
use pgrx::pg_sys::{self, ExplainState, ForeignScanState, List, Node, NodeTag, Plan};

use crate::list::pointers;

/// The text of quals, joined by AND.
///
/// # Safety
/// `explain` explains the query of `node`, whose plan the quals are of.
pub unsafe fn quals(
    explain: *mut ExplainState,
    node: *mut ForeignScanState,
    quals: &[*mut Node],
) -> CString {
    // SAFETY: by the contract; the text is in the current memory context and ends with a zero byte.
    unsafe {
        let list = quals.iter().fold(std::ptr::null_mut(), |list, qual| {
            pg_sys::lappend(list, (*qual).cast())
        });
        let plan = (*node).ss.ps.plan;
        let context = pg_sys::set_deparse_context_plan(
            (*explain).deparse_cxt,
            plan,
            ancestors(explain, plan),
        );
        let expression = pg_sys::make_ands_explicit(list);
        let text =
            pg_sys::deparse_expression(expression.cast(), context, (*explain).verbose, false);
        CStr::from_ptr(text).to_owned()
    }
}

/// The plans above a plan, the nearest first, which say what its parameters are; EXPLAIN does not hand them over.
///
/// # Safety
/// `plan` is of the query that is explained.
unsafe fn ancestors(explain: *mut ExplainState, plan: *mut Plan) -> *mut List {
    // SAFETY: by the contract.
    unsafe {
        let statement = (*explain).pstmt;
        if statement.is_null() {
            return std::ptr::null_mut();
        }
        let roots = std::iter::once((*statement).planTree).chain(pointers((*statement).subplans));
        for root in roots {
            let mut path = Vec::new();
            if find(root, plan, &mut path) {
                return path
                    .into_iter()
                    .fold(std::ptr::null_mut(), |list, above: *mut Plan| {
                        pg_sys::lappend(list, above.cast())
                    });
            }
        }
    }
    std::ptr::null_mut()
}

/// Looks for a plan below another, and notes those between, the nearest first.
///
/// # Safety
/// `root` is null or a plan.
unsafe fn find(root: *mut Plan, plan: *mut Plan, path: &mut Vec<*mut Plan>) -> bool {
    if root.is_null() || root == plan {
        return !root.is_null();
    }
    // SAFETY: by the contract; tags are looked at before casts.
    unsafe {
        let mut children = vec![(*root).lefttree, (*root).righttree];
        if is_a(root.cast(), NodeTag::T_Append) {
            children.extend(pointers((*root.cast::<pg_sys::Append>()).appendplans));
        } else if is_a(root.cast(), NodeTag::T_MergeAppend) {
            children.extend(pointers((*root.cast::<pg_sys::MergeAppend>()).mergeplans));
        } else if is_a(root.cast(), NodeTag::T_SubqueryScan) {
            children.push((*root.cast::<pg_sys::SubqueryScan>()).subplan);
        }
        let found = children.into_iter().any(|child| find(child, plan, path));
        if found {
            path.push(root);
        }
        found
    }
}
