//! Keys of equality deletes that one read leaves to the next, where a scan begins again. Nothing in the spec.

use std::sync::{Arc, Mutex, PoisonError};

use super::equality::KeyTable;
use crate::plan::EqualityDeletes;

/// What reads of one plan keep for each other.
#[derive(Debug, Default)]
pub struct KeptDeletes(Mutex<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    /// Also sees to it that no others come to be at their place in memory, by which they are known.
    deletes: Arc<EqualityDeletes>,
    table: Arc<KeyTable>,
}

impl KeptDeletes {
    /// The keys of these deletes, if a read has left them.
    pub(super) fn get(&self, deletes: &Arc<EqualityDeletes>) -> Option<Arc<KeyTable>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter()
            .find(|kept| Arc::ptr_eq(&kept.deletes, deletes))
            .map(|kept| Arc::clone(&kept.table))
    }

    /// Keeps keys, unless all that is kept would take more bytes than `limit`.
    pub(super) fn keep(&self, deletes: &Arc<EqualityDeletes>, table: &Arc<KeyTable>, limit: u64) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = kept.iter().fold(table.memory(), |sum, kept| {
            sum.saturating_add(kept.table.memory())
        });
        if bytes <= limit {
            kept.push(Kept {
                deletes: Arc::clone(deletes),
                table: Arc::clone(table),
            });
        }
    }
}
