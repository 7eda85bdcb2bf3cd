//! How much memory loaded deletes take of that of a read. Nothing in the spec.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Error, ErrorKind, Result};
use crate::read::worker::{STEP, steps, stopped};

/// The part of a read's memory that deletes may take.
#[derive(Debug)]
pub(in crate::read) struct DeleteMemory {
    /// What row groups and deletes share, in steps.
    shared: Arc<Semaphore>,
    /// What row groups of delete files take while they are read, in steps.
    loading: Arc<Semaphore>,
    loading_steps: u32,
    /// In bytes.
    limit: u64,
    used: AtomicU64,
}

/// Memory that is taken until this is dropped.
#[derive(Debug)]
pub(super) struct Reserved {
    memory: Arc<DeleteMemory>,
    bytes: u64,
    permits: Vec<OwnedSemaphorePermit>,
}

impl DeleteMemory {
    /// Up to `limit_steps` of the steps of `shared`.
    pub(in crate::read) fn new(shared: Arc<Semaphore>, limit_steps: u32) -> Arc<Self> {
        let loading_steps = (limit_steps / 4).max(1);
        Arc::new(Self {
            shared,
            loading: Arc::new(Semaphore::new(loading_steps as usize)),
            loading_steps,
            limit: u64::from(limit_steps) * STEP,
            used: AtomicU64::new(0),
        })
    }

    /// Whether so many more bytes leave enough for what must be loaded next.
    pub(in crate::read) fn has_room_for(&self, bytes: u64) -> bool {
        self.used.load(Ordering::Relaxed).saturating_add(bytes) <= self.limit / 2
    }

    /// Waits until a row group of a delete file of so many bytes may be fetched.
    pub(super) async fn load(&self, bytes: u64) -> Result<OwnedSemaphorePermit> {
        Arc::clone(&self.loading)
            .acquire_many_owned(steps(bytes).clamp(1, self.loading_steps))
            .await
            .map_err(|_| stopped())
    }

    /// Nothing yet, to be grown.
    pub(super) fn reserve(self: &Arc<Self>) -> Reserved {
        Reserved {
            memory: Arc::clone(self),
            bytes: 0,
            permits: Vec::new(),
        }
    }
}

impl Reserved {
    /// Takes as much more as makes `bytes`; what is more than that is kept.
    ///
    /// # Errors
    /// `MemoryLimit` if all deletes that are loaded would take more than they may.
    pub(super) async fn grow_to(&mut self, bytes: u64) -> Result<()> {
        let Some(more) = bytes.checked_sub(self.bytes).filter(|more| *more > 0) else {
            return Ok(());
        };
        let used = self.memory.used.fetch_add(more, Ordering::Relaxed);
        self.bytes = bytes;
        if used.saturating_add(more) > self.memory.limit {
            return Err(Error::new(
                ErrorKind::MemoryLimit,
                format!(
                    "the row-level deletes of this scan need more than the {} kB of memory that \
                     they may take",
                    self.memory.limit / 1024
                ),
            ));
        }
        let permit = Arc::clone(&self.memory.shared)
            .acquire_many_owned(steps(more))
            .await
            .map_err(|_| stopped())?;
        match self.permits.first_mut() {
            Some(permits) => permits.merge(permit),
            None => self.permits.push(permit),
        }
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
