//! The way of batches from the decoders to the one thread that uses them, bounded in bytes.
//! Nothing in the spec; the receiving thread runs no async code and must be able to give up waiting.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use crate::error::{Error, ErrorKind, Result};

/// How many batches may wait, however small they are.
const MAX_WAITING: usize = 64;
/// Bytes are counted in steps of this size, so that any budget fits a semaphore.
const STEP: usize = 1024;

/// What [`BatchReceiver::recv_timeout`] found.
#[derive(Debug)]
pub enum RecvOutcome<T> {
    /// The next batch, or what went wrong; after an error there is nothing more.
    Item(Result<T>),
    /// Nothing came in the given time; the read goes on.
    Timeout,
    /// All batches have been received.
    Done,
}

/// The receiving end of a read. Dropping it stops the read.
#[derive(Debug)]
pub struct BatchReceiver<T> {
    items: mpsc::Receiver<Item<T>>,
    capacity: Arc<Capacity>,
    /// Cancels the read.
    read: Option<AbortHandle>,
    ended: bool,
}

/// A sending end; every decoder has one.
#[derive(Debug)]
pub(super) struct BatchSender<T> {
    items: mpsc::Sender<Item<T>>,
    capacity: Arc<Capacity>,
}

/// The receiver is gone: nobody wants more.
#[derive(Debug)]
pub(super) struct Closed;

#[derive(Debug)]
struct Item<T> {
    /// `None` marks the end: without it, a read that was torn off would look complete.
    value: Option<Result<T>>,
    /// Room in the channel, given back when the item is received or thrown away.
    _room: Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>,
}

#[derive(Debug)]
struct Capacity {
    items: Arc<Semaphore>,
    steps: Arc<Semaphore>,
    total_steps: u32,
}

/// A channel that holds about `bytes` at most; a larger item passes when nothing else waits.
pub(super) fn channel<T>(bytes: usize) -> (BatchSender<T>, BatchReceiver<T>) {
    let total_steps = u32::try_from(bytes / STEP).unwrap_or(u32::MAX).max(1);
    let capacity = Arc::new(Capacity {
        items: Arc::new(Semaphore::new(MAX_WAITING)),
        steps: Arc::new(Semaphore::new(total_steps as usize)),
        total_steps,
    });
    let (sender, receiver) = mpsc::channel();
    (
        BatchSender {
            items: sender,
            capacity: Arc::clone(&capacity),
        },
        BatchReceiver {
            items: receiver,
            capacity,
            read: None,
            ended: false,
        },
    )
}

impl<T> BatchSender<T> {
    /// Waits for room for an item of `bytes`, then hands it over.
    pub(super) async fn send(&self, value: T, bytes: usize) -> Result<(), Closed> {
        let steps = u32::try_from(bytes.div_ceil(STEP))
            .unwrap_or(u32::MAX)
            .clamp(1, self.capacity.total_steps);
        let item = Arc::clone(&self.capacity.items)
            .acquire_owned()
            .await
            .map_err(|_| Closed)?;
        let steps = Arc::clone(&self.capacity.steps)
            .acquire_many_owned(steps)
            .await
            .map_err(|_| Closed)?;
        self.items
            .send(Item {
                value: Some(Ok(value)),
                _room: Some((item, steps)),
            })
            .map_err(|_| Closed)
    }

    /// Ends the read, well or with an error; never waits.
    pub(super) fn end(&self, outcome: Result<()>) {
        // Without a receiver nobody wants to know.
        let _ = self.items.send(Item {
            value: outcome.err().map(Err),
            _room: None,
        });
    }

    /// Whether the receiver is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.capacity.items.is_closed()
    }
}

impl<T> Clone for BatchSender<T> {
    fn clone(&self) -> Self {
        Self {
            items: self.items.clone(),
            capacity: Arc::clone(&self.capacity),
        }
    }
}

impl<T> BatchReceiver<T> {
    /// Ties the read to this receiver: it is aborted when the receiver is dropped.
    pub(super) fn cancels(mut self, read: AbortHandle) -> Self {
        self.read = Some(read);
        self
    }

    /// Waits up to `timeout` for the next batch. For a thread that runs no async code.
    pub fn recv_timeout(&mut self, timeout: Duration) -> RecvOutcome<T> {
        if self.ended {
            return RecvOutcome::Done;
        }
        let outcome = match self.items.recv_timeout(timeout) {
            Ok(item) => item.value.map_or(RecvOutcome::Done, RecvOutcome::Item),
            Err(RecvTimeoutError::Timeout) => RecvOutcome::Timeout,
            Err(RecvTimeoutError::Disconnected) => RecvOutcome::Item(Err(Error::new(
                ErrorKind::Internal,
                "the read was stopped before it was complete",
            ))),
        };
        self.ended = matches!(outcome, RecvOutcome::Done | RecvOutcome::Item(Err(_)));
        outcome
    }
}

impl<T> Drop for BatchReceiver<T> {
    fn drop(&mut self) {
        self.capacity.items.close();
        self.capacity.steps.close();
        if let Some(read) = &self.read {
            read.abort();
        }
    }
}
