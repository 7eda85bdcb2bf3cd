//! How much memory loaded deletes take of that of a read, and who waits for it. Nothing in the spec.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::error::{Error, ErrorKind, Result};
use crate::read::worker::{STEP, steps, stopped};

/// The part of a read's memory that deletes may take.
///
/// Files are read in turns. Deletes that are loaded ahead of a file's turn wait for memory until it
/// comes; then they wait for what is still used by row groups of earlier files, which are decoded
/// in any case; and only when that is given back too there is nothing to wait for any more.
#[derive(Debug)]
pub(in crate::read) struct DeleteMemory {
    /// What row groups and deletes share, in steps.
    shared: Arc<Semaphore>,
    /// What pieces of delete files take while they are decoded, in steps: of those that one data
    /// file needs, and of those that several need. The latter never wait for a turn, so nobody
    /// waits for them in vain.
    loading: [Arc<Semaphore>; 2],
    loading_steps: u32,
    /// In bytes.
    limit: u64,
    used: AtomicU64,
    /// The number of the file whose turn it is.
    turn: AtomicUsize,
    /// How many files with deletes have row groups on the way.
    in_use: AtomicUsize,
    /// Something above has changed.
    changed: Notify,
}

/// Who takes memory.
#[derive(Debug, Clone, Copy)]
pub(super) enum Taker {
    /// Only the file with this number needs it.
    File(usize),
    /// Several files do, perhaps the one whose turn it is.
    Several,
}

/// A piece of a delete file is decoded until this is dropped.
#[derive(Debug)]
pub(super) struct Loading {
    memory: Arc<DeleteMemory>,
    permit: Option<OwnedSemaphorePermit>,
}

/// Memory that is taken until this is dropped.
#[derive(Debug)]
pub(super) struct Reserved {
    memory: Arc<DeleteMemory>,
    taker: Taker,
    bytes: u64,
    permits: Vec<OwnedSemaphorePermit>,
}

/// The row groups of a file with deletes are on the way until this is dropped.
#[derive(Debug)]
pub(in crate::read) struct InUse(Arc<DeleteMemory>);

impl DeleteMemory {
    /// Up to `limit_steps` of the steps of `shared`.
    pub(in crate::read) fn new(shared: Arc<Semaphore>, limit_steps: u32) -> Arc<Self> {
        let loading_steps = (limit_steps / 8).max(1);
        let loading = || Arc::new(Semaphore::new(loading_steps as usize));
        Arc::new(Self {
            shared,
            loading: [loading(), loading()],
            loading_steps,
            limit: u64::from(limit_steps) * STEP,
            used: AtomicU64::new(0),
            turn: AtomicUsize::new(0),
            in_use: AtomicUsize::new(0),
            changed: Notify::new(),
        })
    }

    /// Whether so many more bytes leave enough for what must be loaded next.
    pub(in crate::read) fn has_room_for(&self, bytes: u64) -> bool {
        self.used.load(Ordering::SeqCst).saturating_add(bytes) <= self.limit / 2
    }

    /// How many bytes deletes may take.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Gives the turn to the file with this number.
    pub(in crate::read) fn give_turn(&self, file: usize) {
        self.turn.store(file, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    /// Notes that row groups of a file with deletes are on the way.
    pub(in crate::read) fn in_use(self: &Arc<Self>) -> InUse {
        self.in_use.fetch_add(1, Ordering::SeqCst);
        InUse(Arc::clone(self))
    }

    /// Waits until a piece of a delete file of so many bytes may be fetched. The file whose turn it
    /// is waits for nobody.
    pub(super) async fn load(self: &Arc<Self>, taker: Taker, bytes: u64) -> Result<Loading> {
        let steps = steps(bytes).clamp(1, self.loading_steps);
        let [of_one, of_several] = &self.loading;
        let loading = |permit| Loading {
            memory: Arc::clone(self),
            permit,
        };
        let Taker::File(_) = taker else {
            let permit = Arc::clone(of_several).acquire_many_owned(steps).await;
            return permit
                .map(|permit| loading(Some(permit)))
                .map_err(|_| stopped());
        };
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if let Ok(permit) = Arc::clone(of_one).try_acquire_many_owned(steps) {
                return Ok(loading(Some(permit)));
            }
            if self.has_turn(taker) {
                return Ok(loading(None));
            }
            changed.await;
        }
    }

    /// Nothing yet, to be grown.
    pub(super) fn reserve(self: &Arc<Self>, taker: Taker) -> Reserved {
        Reserved {
            memory: Arc::clone(self),
            taker,
            bytes: 0,
            permits: Vec::new(),
        }
    }

    /// Takes bytes if there are so many.
    fn try_take(&self, bytes: u64) -> bool {
        let taken = self
            .used
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |used| {
                used.checked_add(bytes).filter(|used| *used <= self.limit)
            });
        taken.is_ok()
    }

    fn has_turn(&self, taker: Taker) -> bool {
        match taker {
            Taker::Several => true,
            Taker::File(file) => file == self.turn.load(Ordering::SeqCst),
        }
    }

    fn may_wait(&self, taker: Taker) -> bool {
        !self.has_turn(taker) || self.in_use.load(Ordering::SeqCst) > 0
    }
}

impl Reserved {
    /// Takes as much more as makes `bytes`; what is more than that is kept.
    ///
    /// # Errors
    /// `MemoryLimit` if deletes would take more than they may even after others are done.
    pub(super) async fn grow_to(&mut self, bytes: u64) -> Result<()> {
        let Some(more) = bytes.checked_sub(self.bytes).filter(|more| *more > 0) else {
            return Ok(());
        };
        loop {
            let mut changed = std::pin::pin!(self.memory.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            let may_wait = self.memory.may_wait(self.taker);
            if self.memory.try_take(more) {
                break;
            }
            if !may_wait {
                return Err(Error::new(
                    ErrorKind::MemoryLimit,
                    format!(
                        "the row-level deletes of this scan need more than the {} kB of memory \
                         that they may take",
                        self.memory.limit / 1024
                    ),
                ));
            }
            changed.await;
        }
        self.bytes = bytes;
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

impl Drop for Loading {
    fn drop(&mut self) {
        self.permit = None;
        self.memory.changed.notify_waiters();
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::SeqCst);
        self.memory.changed.notify_waiters();
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.in_use.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }
}
