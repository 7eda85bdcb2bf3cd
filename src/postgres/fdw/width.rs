//! How wide a row is, for the planner: what the types tell, and the files' sizes for the rest.

use iceberg_core::plan::ScanPlan;
use iceberg_core::read::OutputColumn;
use pgrx::pg_sys;

use super::relation::MatchedColumn;
use crate::types::arena::VARLENA_HEADER;

/// About how many bytes a row of these columns has in memory.
pub fn row_width(columns: &[MatchedColumn], plan: &ScanPlan) -> i32 {
    let widths = columns.iter().map(|column| column_width(column, plan));
    widths.fold(0, i32::saturating_add)
}

fn column_width(column: &MatchedColumn, plan: &ScanPlan) -> i32 {
    // SAFETY: a syscache lookup of a declared type.
    let fixed = unsafe { pg_sys::get_typlen(column.declared.oid) };
    if fixed > 0 {
        return i32::from(fixed);
    }
    // What a column takes in the files is compressed, so it is a lower bound; the type alone tells less.
    let stored = match column.source {
        OutputColumn::Field(field_id) => plan.column_sizes.stored_width(field_id),
        OutputColumn::Metadata(_) => None,
    };
    let Some(stored) = stored else {
        // SAFETY: as above.
        return unsafe { pg_sys::get_typavgwidth(column.declared.oid, column.declared.typmod) };
    };
    VARLENA_HEADER as i32 + stored.ceil() as i32
}
