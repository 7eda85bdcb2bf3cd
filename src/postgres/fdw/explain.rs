//! What EXPLAIN says of a scan: the table, its snapshot, and what was read of it.

use std::ffi::CString;
use std::sync::atomic::Ordering;

use pgrx::pg_guard;
use pgrx::pg_sys::{self, ExplainState, ForeignScanState};

use super::scan::ScanState;

/// `ExplainForeignScan`.
///
/// # Safety
/// Called by EXPLAIN only, after `begin_foreign_scan`.
#[pg_guard]
pub unsafe extern "C-unwind" fn explain_foreign_scan(
    node: *mut ForeignScanState,
    explain: *mut ExplainState,
) {
    // SAFETY: EXPLAIN hands over the node that begin_foreign_scan prepared.
    let (state, analyze) = unsafe {
        (
            (*node).fdw_state.cast::<ScanState>().as_ref(),
            (*explain).analyze,
        )
    };
    let Some(state) = state else { return };
    let output = Output(explain);
    let Some(opened) = &state.opened else {
        if let Some(chooser) = &state.chooser {
            let chosen_by = format!("known at execution (qual iceberg.{})", chooser.kind.name());
            output.text("Snapshot", &chosen_by);
        }
        return;
    };
    output.text("Iceberg Table", opened.relation.location());
    let id = match opened.relation.snapshot() {
        Some(snapshot) => snapshot.snapshot_id.to_string(),
        None => "none".to_owned(),
    };
    let chosen_by = &opened.relation.selection().chosen_by;
    output.text("Snapshot", &format!("{id} ({chosen_by})"));
    output.number("Manifests Total", opened.plan.manifests_total as u64);
    output.number("Manifests Skipped", opened.plan.manifests_skipped as u64);
    output.number("Data Files Total", opened.plan.tasks.len() as u64);
    output.number("Delete Files Read", opened.plan.delete_files_total as u64);
    if analyze {
        let metrics = &state.metrics;
        output.number(
            "Data Files Read",
            metrics.files_opened.load(Ordering::Relaxed),
        );
        output.number(
            "Row Groups Total",
            metrics.row_groups_total.load(Ordering::Relaxed),
        );
        output.number("Rows Read", metrics.rows_read.load(Ordering::Relaxed));
        output.number("Rows Deleted", metrics.rows_deleted.load(Ordering::Relaxed));
        output.number("Bytes Read", metrics.bytes_read.load(Ordering::Relaxed));
    }
}

struct Output(*mut ExplainState);

impl Output {
    fn text(&self, label: &str, value: &str) {
        let label = CString::new(label).unwrap_or_default();
        let value = CString::new(value).unwrap_or_default();
        // SAFETY: both strings are copied; the state is EXPLAIN's.
        unsafe { pg_sys::ExplainPropertyText(label.as_ptr(), value.as_ptr(), self.0) }
    }

    fn number(&self, label: &str, value: u64) {
        let label = CString::new(label).unwrap_or_default();
        // SAFETY: the label is copied; the state is EXPLAIN's.
        unsafe { pg_sys::ExplainPropertyUInteger(label.as_ptr(), std::ptr::null(), value, self.0) }
    }
}
