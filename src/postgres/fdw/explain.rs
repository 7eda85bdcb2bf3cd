//! What EXPLAIN says of a scan: the table, its snapshot, the quals that are pushed, and what is read of the table; with
//! ANALYZE what was done, summed over rescans and parallel workers. DESIGN.md 4 lists the properties.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU64, Ordering};

use iceberg_core::plan::ScanPlan;
use iceberg_core::read::ReadMetrics;
use pgrx::pg_guard;
use pgrx::pg_sys::{self, ExplainState, ForeignScanState, Node};

use super::deparse;
use super::scan::{OpenedScan, ScanState};
use super::scan_node::ScanNode;

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
    unsafe {
        let Some(state) = (*node).fdw_state.cast::<ScanState>().as_ref() else {
            return;
        };
        let output = Output(explain);
        match &state.opened {
            Some(opened) => output.state(opened),
            None => {
                if let Some(chooser) = &state.chooser {
                    let name = chooser.kind.name();
                    output.text(
                        "Snapshot",
                        &format!("known at execution (qual iceberg.{name})"),
                    );
                }
            }
        }
        let carried = ScanNode::of((*node).ss.ps.plan.cast());
        output.quals("Pushed Filter", node, &carried.exact);
        output.quals("Pruning Filter", node, &carried.inexact);
        if let Some(opened) = &state.opened {
            let analyze = (*explain).analyze.then_some(&*state.metrics);
            output.files(&opened.plan, analyze);
            if let Some(metrics) = analyze {
                output.work(metrics, (*explain).timing);
            }
        }
    }
}

struct Output(*mut ExplainState);

impl Output {
    /// Which state of which table.
    fn state(&self, opened: &OpenedScan) {
        self.text("Iceberg Table", opened.relation.location());
        let id = match opened.relation.snapshot() {
            Some(snapshot) => snapshot.snapshot_id.to_string(),
            None => "none".to_owned(),
        };
        let chosen_by = &opened.relation.selection().chosen_by;
        self.text("Snapshot", &format!("{id} ({chosen_by})"));
    }

    /// Quals as Postgres shows a filter.
    ///
    /// # Safety
    /// `quals` are of the plan of `node`.
    unsafe fn quals(&self, label: &str, node: *mut ForeignScanState, quals: &[*mut Node]) {
        if quals.is_empty() {
            return;
        }
        // SAFETY: by the contract.
        let shown = unsafe { deparse::quals(self.0, node, quals) };
        self.property(label, &shown);
    }

    /// What must be read of the table; with the files that were read if there are counters.
    fn files(&self, plan: &ScanPlan, read: Option<&ReadMetrics>) {
        self.number("Manifests Total", plan.manifests_total as u64);
        self.number("Manifests Skipped", plan.manifests_skipped as u64);
        self.number("Data Files Total", plan.data_files_total as u64);
        self.number(
            "Data Files Skipped by Partition",
            plan.data_files_skipped_by_partition as u64,
        );
        self.number(
            "Data Files Skipped by Metrics",
            plan.data_files_skipped_by_metrics as u64,
        );
        let files = match read {
            Some(metrics) => metrics.files_opened.load(Ordering::Relaxed),
            None => plan.tasks.len() as u64,
        };
        self.number("Data Files Read", files);
        self.number("Delete Files Read", plan.delete_files_total as u64);
    }

    /// What was done.
    fn work(&self, metrics: &ReadMetrics, timing: bool) {
        let count = |label: &str, counter: &AtomicU64| {
            self.number(label, counter.load(Ordering::Relaxed));
        };
        count("Row Groups Total", &metrics.row_groups_total);
        count("Row Groups Skipped", &metrics.row_groups_skipped);
        count("Pages Skipped", &metrics.pages_skipped);
        count("Rows Skipped", &metrics.rows_skipped);
        count("Rows Deleted", &metrics.rows_deleted);
        count("Bytes Read", &metrics.bytes_read);
        count("Requests", &metrics.requests);
        if timing {
            self.time("I/O Time", &metrics.fetch_nanoseconds);
            self.time("Decode Time", &metrics.decode_nanoseconds);
        }
    }

    fn text(&self, label: &str, value: &str) {
        self.property(label, &CString::new(value).unwrap_or_default());
    }

    fn property(&self, label: &str, value: &CStr) {
        let label = CString::new(label).unwrap_or_default();
        // SAFETY: both strings are copied; the state is EXPLAIN's.
        unsafe { pg_sys::ExplainPropertyText(label.as_ptr(), value.as_ptr(), self.0) }
    }

    fn number(&self, label: &str, value: u64) {
        let label = CString::new(label).unwrap_or_default();
        // SAFETY: the label is copied; the state is EXPLAIN's.
        unsafe { pg_sys::ExplainPropertyUInteger(label.as_ptr(), std::ptr::null(), value, self.0) }
    }

    fn time(&self, label: &str, nanoseconds: &AtomicU64) {
        const NANOSECONDS: f64 = 1e6;
        let label = CString::new(label).unwrap_or_default();
        let time = nanoseconds.load(Ordering::Relaxed) as f64 / NANOSECONDS;
        // SAFETY: both strings are copied; the state is EXPLAIN's.
        unsafe { pg_sys::ExplainPropertyFloat(label.as_ptr(), c"ms".as_ptr(), time, 3, self.0) }
    }
}
