//! Which state of a table a scan reads, and who said so: a table option, or a setting that goes before it.
//! Iceberg's spec: "Point in Time Reads".

use iceberg_core::spec::SnapshotSelector;
use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::error::Report;
use crate::options::TableOptions;
use crate::session::settings;

/// A state of a table, and where it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The state.
    pub selector: SnapshotSelector,
    /// Where it was asked for, for EXPLAIN.
    pub chosen_by: String,
}

impl Selection {
    /// What the session's settings ask for, else the table's options, else the current state. Raises an
    /// error if two settings ask.
    pub fn of_table(options: &TableOptions) -> Self {
        of_session()
            .or_else(|| {
                options.snapshot.as_ref().map(|selector| Self {
                    chosen_by: format!("option {}", describe(selector)),
                    selector: selector.clone(),
                })
            })
            .unwrap_or_else(Self::current)
    }

    /// The current state.
    pub fn current() -> Self {
        Self {
            selector: SnapshotSelector::Current,
            chosen_by: "current".to_owned(),
        }
    }
}

/// What the settings of the session ask for.
fn of_session() -> Option<Selection> {
    let mut set = settings::snapshot_selectors().into_iter().flatten();
    let selector = set.next()?;
    if let Some(other) = set.next() {
        Report::new(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            format!(
                "settings \"iceberg_fdw.{}\" and \"iceberg_fdw.{}\" are both set",
                option_name(&selector),
                option_name(&other)
            ),
        )
        .with_hint("Only one of them can choose the snapshot to read: use RESET on the other.")
        .raise()
    }
    Some(Selection {
        chosen_by: format!("setting iceberg_fdw.{}", describe(&selector)),
        selector,
    })
}

/// The option that a selector is written as, and its value as EXPLAIN shows both.
fn describe(selector: &SnapshotSelector) -> String {
    let name = option_name(selector);
    match selector {
        SnapshotSelector::Current => name.to_owned(),
        SnapshotSelector::Snapshot(value) | SnapshotSelector::Timestamp(value) => {
            format!("{name} {value}")
        }
        SnapshotSelector::Reference(value) => format!("{name} \"{value}\""),
        SnapshotSelector::Changes { .. } => name.to_owned(),
    }
}

/// Milliseconds since 1970-01-01 UTC of a `timestamptz`, rounded down; both infinities are far away.
pub fn timestamp_ms(timestamptz: pg_sys::TimestampTz) -> i64 {
    const EPOCH_MICROS: i64 =
        (pg_sys::POSTGRES_EPOCH_JDATE - pg_sys::UNIX_EPOCH_JDATE) as i64 * 86_400_000_000;
    match timestamptz {
        i64::MIN | i64::MAX => timestamptz,
        finite => finite.saturating_add(EPOCH_MICROS).div_euclid(1_000),
    }
}

/// The option that a selector is written as.
pub fn option_name(selector: &SnapshotSelector) -> &'static str {
    match selector {
        SnapshotSelector::Current => "current",
        SnapshotSelector::Snapshot(_) => "snapshot_id",
        SnapshotSelector::Timestamp(_) => "timestamp_ms",
        SnapshotSelector::Reference(_) => "ref",
        SnapshotSelector::Changes { .. } => "changes",
    }
}
