//! One state of a table for all scans of a query, and under REPEATABLE READ for all of a transaction.
//! Postgres: "Transaction Isolation".

use std::cell::RefCell;

use iceberg_core::catalog::{self, Table, TableOptions};
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, EState};
use pgrx::{PgXactCallbackEvent, register_xact_callback};

use super::metadata_cache::metadata_cache;
use super::wait;

/// For whom a table is opened.
#[derive(Debug, Clone, Copy)]
pub enum Scope {
    /// For planning, or for a function: the table as it is now.
    Now,
    /// For a query that is executed: the table as its other scans see it.
    Query(*mut EState),
}

/// Who shares a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// All of the transaction.
    Transaction,
    /// What is executed under the snapshot at this address.
    Snapshot(usize),
}

struct Kept {
    holder: Holder,
    options: TableOptions,
    table: Table,
}

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Opens a table in the state that others in its scope have seen, or else as it is now. Raises an error where
/// that cannot be.
pub fn open(options: TableOptions, scope: Scope) -> Table {
    open_or_find(options, scope, |options| options)
}

/// As [`open`], where nobody in its scope has seen the table, in the state of this metadata file: the one that the
/// leader of a parallel query sees.
pub fn open_as_of(options: TableOptions, scope: Scope, metadata_file: String) -> Table {
    open_or_find(options, scope, |options| {
        options.at_metadata_file(metadata_file)
    })
}

fn open_or_find(
    options: TableOptions,
    scope: Scope,
    choose: impl FnOnce(TableOptions) -> TableOptions,
) -> Table {
    let holder = holder(scope);
    let kept = KEPT.with_borrow(|kept| {
        kept.iter()
            .find(|kept| Some(kept.holder) == holder && kept.options == options)
            .map(|kept| kept.table.clone())
    });
    if let Some(table) = kept {
        return table;
    }
    let opening = choose(options.clone());
    let cache = Some(metadata_cache());
    let table = wait(async move { catalog::open_cached_table(opening, cache).await });
    if let Some(holder) = holder {
        keep(holder, scope, options, table.clone());
    }
    table
}

fn holder(scope: Scope) -> Option<Holder> {
    // SAFETY: reads a backend variable.
    let isolation = unsafe { pg_sys::XactIsoLevel };
    if isolation >= pg_sys::XACT_REPEATABLE_READ as i32 {
        return Some(Holder::Transaction);
    }
    match scope {
        Scope::Now => None,
        // A function that sees what its caller sees is executed under the same snapshot.
        // SAFETY: the executor's state outlives its scans.
        Scope::Query(query) => Some(Holder::Snapshot(unsafe { (*query).es_snapshot } as usize)),
    }
}

fn keep(holder: Holder, scope: Scope, options: TableOptions, table: Table) {
    let is_first = KEPT.with_borrow_mut(|kept| {
        let is_first = !kept.iter().any(|kept| kept.holder == holder);
        kept.push(Kept {
            holder,
            options,
            table,
        });
        is_first
    });
    if !is_first {
        return;
    }
    match (holder, scope) {
        (Holder::Transaction, _) => {
            for end in [
                PgXactCallbackEvent::Commit,
                PgXactCallbackEvent::Abort,
                PgXactCallbackEvent::Prepare,
                PgXactCallbackEvent::ParallelCommit,
                PgXactCallbackEvent::ParallelAbort,
            ] {
                register_xact_callback(end, || forget(Holder::Transaction));
            }
        }
        (Holder::Snapshot(_), Scope::Query(query)) => {
            // SAFETY: the executor's state is valid, and its memory goes when the query ends, however it ends;
            // its snapshot is registered until then.
            unsafe {
                PgMemoryContexts::For((*query).es_query_cxt)
                    .leak_and_drop_on_delete(Forgets(holder));
            }
        }
        (Holder::Snapshot(_), Scope::Now) => {}
    }
}

/// Forgets what a holder has kept, when it is dropped.
struct Forgets(Holder);

impl Drop for Forgets {
    fn drop(&mut self) {
        forget(self.0);
    }
}

fn forget(holder: Holder) {
    // Dropped outside of the borrow.
    let _ended: Vec<Kept> =
        KEPT.with_borrow_mut(|kept| kept.extract_if(.., |kept| kept.holder == holder).collect());
}
