//! Which task a read opens next: all of them in order, or those that a queue leaves to this read, where several
//! reads share the tasks. Nothing in the spec.

use std::fmt::Debug;
use std::sync::Arc;
use std::vec::IntoIter;

use super::deletes::{KeptDeletes, PendingDeletes, share_deletes};
use super::worker::stopped;
use crate::error::Result;
use crate::plan::FileScanTask;

/// Hands out tasks. Reads that have one queue and the same tasks read each task once between them.
pub trait TaskQueue: Debug + Send + Sync {
    /// The index of the next task, which nobody else will get; `None` when there are no more. What one read gets
    /// grows with each call.
    ///
    /// # Errors
    /// If it cannot be told any more what is left.
    fn next(&self) -> Result<Option<usize>>;

    /// How many tasks a read may have opened ahead without leaving too little to the others; at least 1.
    fn fair_share(&self) -> usize;
}

/// The tasks of a read that have not been opened yet.
pub(super) struct Tasks {
    left: IntoIter<NextTask>,
    queue: Option<Arc<dyn TaskQueue>>,
    /// The index of the first task of `left`.
    position: usize,
    next: Option<NextTask>,
    have_deletes: bool,
}

/// A task to be opened.
pub(super) struct NextTask {
    pub(super) task: FileScanTask,
    /// What may be deleted from its file.
    pub(super) deletes: Option<PendingDeletes>,
    /// Where only rows come out that a change deletes: what it deletes.
    pub(super) deleted_by_change: Option<PendingDeletes>,
}

impl NextTask {
    /// About how many bytes of delete files must be kept in memory for it.
    pub(super) fn delete_bytes(&self) -> u64 {
        [&self.deletes, &self.deleted_by_change]
            .into_iter()
            .flatten()
            .map(PendingDeletes::expected_bytes)
            .fold(0, u64::saturating_add)
    }
}

impl Tasks {
    /// All of these tasks, or those that the queue hands out.
    pub(super) fn new(
        tasks: Vec<FileScanTask>,
        queue: Option<Arc<dyn TaskQueue>>,
        kept: &Arc<KeptDeletes>,
    ) -> Self {
        let deletes = share_deletes(&tasks, kept, |task| Some(&task.deletes));
        let by_changes = share_deletes(&tasks, kept, |task| {
            task.change.as_ref()?.only_deleted_by.as_ref()
        });
        let have_deletes = deletes.iter().chain(&by_changes).any(Option::is_some);
        let left: Vec<_> = tasks
            .into_iter()
            .zip(deletes)
            .zip(by_changes)
            .map(|((task, deletes), deleted_by_change)| NextTask {
                task,
                deletes,
                deleted_by_change,
            })
            .collect();
        Self {
            left: left.into_iter(),
            queue,
            position: 0,
            next: None,
            have_deletes,
        }
    }

    /// Whether anything may be deleted from any of the files.
    pub(super) fn have_deletes(&self) -> bool {
        self.have_deletes
    }

    /// The next task, which stays the next; `None` when there are no more, or when `ahead` tasks are as many as
    /// this read should have.
    pub(super) fn peek(&mut self, ahead: usize) -> Result<Option<&NextTask>> {
        if self.next.is_none() {
            self.next = match &self.queue {
                None => self.left.next(),
                Some(queue) if ahead == 0 || ahead < queue.fair_share() => {
                    let Some(index) = queue.next()? else {
                        return Ok(None);
                    };
                    // Tasks in between are somebody else's; what they share with others is let go.
                    let skipped = index.checked_sub(self.position).ok_or_else(stopped)?;
                    self.position = index + 1;
                    self.left.nth(skipped)
                }
                Some(_) => None,
            };
        }
        Ok(self.next.as_ref())
    }

    /// Takes the task that was peeked at.
    pub(super) fn take(&mut self) -> Option<NextTask> {
        self.next.take()
    }
}
