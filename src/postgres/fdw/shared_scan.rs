//! What the participants of a parallel scan share, in the query's dynamic shared memory: which state of the table
//! they read, which task is next, and what they have counted. Postgres: "FDW Routines for Parallel Execution".

use std::mem::size_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use iceberg_core::read::{ReadMetrics, TaskQueue};
use iceberg_core::{Error, ErrorKind, Result};
use pgrx::pg_guard;
use pgrx::pg_sys::{self, Datum, Size};

/// The shared memory of one scan. The name of a metadata file follows, in bytes.
#[repr(C)]
#[derive(Default)]
struct Header {
    /// How many processes read.
    participants: AtomicU64,
    /// About how large a part of a file is that one of them reads at a time, in bytes.
    part_bytes: AtomicU64,
    /// How many tasks there are.
    tasks: AtomicU64,
    /// What tells one list of tasks from others.
    fingerprint: AtomicU64,
    /// The index of the task that is next.
    next: AtomicU64,
    /// What workers have counted.
    counted: [AtomicU64; ReadMetrics::COUNTERS],
    /// The length of the file's name.
    name_length: AtomicU64,
}

/// What the participants agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreement {
    /// How many processes read; at least 1.
    pub participants: u64,
    /// About how large a part of a file is that one of them reads at a time, in bytes.
    pub part_bytes: u64,
    /// How many tasks there are.
    pub tasks: u64,
    /// What tells the list of tasks from others.
    pub fingerprint: u64,
}

/// A process' way to the shared memory, until that goes away. Reading threads hold it too, so that whoever takes
/// the memory away waits for the one that looks at it.
pub struct Shared {
    header: Mutex<Option<NonNull<Header>>>,
    /// What a leader adds the workers' counts to.
    metrics: Option<Arc<ReadMetrics>>,
}

// SAFETY: the header is only reached with the lock held, and consists of atomic numbers.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

/// How many bytes are needed for a scan of a table with this metadata file.
pub fn size(metadata_file: &str) -> Size {
    size_of::<Header>() + metadata_file.len()
}

impl Shared {
    /// Fills the shared memory in.
    ///
    /// # Safety
    /// `memory` has [`size`] bytes for the file, is aligned for 64-bit numbers, and stays until `segment` is detached.
    pub unsafe fn create(
        memory: NonNull<u8>,
        segment: *mut pg_sys::dsm_segment,
        metadata_file: &str,
        metrics: Arc<ReadMetrics>,
    ) -> Arc<Self> {
        let header = memory.cast::<Header>();
        // SAFETY: by the contract; the memory is this function's alone until workers are started.
        unsafe {
            header.write(Header {
                name_length: AtomicU64::new(metadata_file.len() as u64),
                ..Header::default()
            });
            memory.add(size_of::<Header>()).copy_from_nonoverlapping(
                NonNull::from(metadata_file.as_bytes()).cast(),
                metadata_file.len(),
            );
        }
        let shared = Arc::new(Self {
            header: Mutex::new(Some(header)),
            metrics: Some(metrics),
        });
        let kept = Arc::into_raw(Arc::clone(&shared));
        // SAFETY: the callback takes back the reference that is kept for it, before the memory goes.
        unsafe { pg_sys::on_dsm_detach(segment, Some(leave_segment), Datum::from(kept)) };
        shared
    }

    /// The shared memory that the leader has filled in, and the name of the metadata file.
    ///
    /// # Safety
    /// `memory` is what [`Shared::create`] was given, in a worker, and stays until the process ends.
    pub unsafe fn attach(memory: NonNull<u8>) -> (Arc<Self>, String) {
        let header = memory.cast::<Header>();
        // SAFETY: by the contract; the name has been written before workers were started.
        let name = unsafe {
            let length = header.as_ref().name_length.load(Ordering::SeqCst) as usize;
            std::slice::from_raw_parts(memory.add(size_of::<Header>()).as_ptr(), length)
        };
        let name = String::from_utf8_lossy(name).into_owned();
        let shared = Arc::new(Self {
            header: Mutex::new(Some(header)),
            metrics: None,
        });
        leave_before_exit(&shared);
        (shared, name)
    }

    /// Looks at the shared memory, if it is still there.
    fn with<T>(&self, look: impl FnOnce(&Header) -> T) -> Option<T> {
        let header = self.header.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: it is there while the lock is held and the pointer is.
        header
            .as_ref()
            .map(|header| look(unsafe { header.as_ref() }))
    }

    /// What the participants agree on.
    ///
    /// # Errors
    /// `Internal` if the shared memory is gone.
    pub fn agreement(&self) -> Result<Agreement> {
        self.with(|header| Agreement {
            participants: header.participants.load(Ordering::SeqCst),
            part_bytes: header.part_bytes.load(Ordering::SeqCst),
            tasks: header.tasks.load(Ordering::SeqCst),
            fingerprint: header.fingerprint.load(Ordering::SeqCst),
        })
        .ok_or_else(gone)
    }

    /// Says what the participants agree on, and that no task has been taken. Workers must not have begun.
    pub fn agree(&self, agreement: Agreement) {
        self.with(|header| {
            header
                .participants
                .store(agreement.participants, Ordering::SeqCst);
            header
                .part_bytes
                .store(agreement.part_bytes, Ordering::SeqCst);
            header.tasks.store(agreement.tasks, Ordering::SeqCst);
            header
                .fingerprint
                .store(agreement.fingerprint, Ordering::SeqCst);
            header.next.store(0, Ordering::SeqCst);
        });
    }

    /// Adds to what workers have counted.
    pub fn count(&self, values: [u64; ReadMetrics::COUNTERS]) {
        self.with(|header| {
            for (counter, value) in header.counted.iter().zip(values) {
                counter.fetch_add(value, Ordering::SeqCst);
            }
        });
    }

    /// Gives the memory up; nobody looks at it after this returns. A leader takes the workers' counts first.
    fn leave(&self) {
        let counted = self.with(|header| {
            header
                .counted
                .each_ref()
                .map(|counter| counter.swap(0, Ordering::SeqCst))
        });
        if let (Some(metrics), Some(counted)) = (&self.metrics, counted) {
            metrics.add_values(counted);
        }
        self.header
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}

impl TaskQueue for Shared {
    fn next(&self) -> Result<Option<usize>> {
        let (next, tasks) = self
            .with(|header| {
                let next = header.next.fetch_add(1, Ordering::SeqCst);
                (next, header.tasks.load(Ordering::SeqCst))
            })
            .ok_or_else(gone)?;
        Ok(usize::try_from(next).ok().filter(|_| next < tasks))
    }

    fn fair_share(&self) -> usize {
        let share = self.with(|header| {
            let next = header.next.load(Ordering::SeqCst);
            let left = header.tasks.load(Ordering::SeqCst).saturating_sub(next);
            left / (2 * header.participants.load(Ordering::SeqCst)).max(1)
        });
        share
            .and_then(|share| usize::try_from(share).ok())
            .map_or(1, |share| share.max(1))
    }
}

fn gone() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the shared memory of a parallel scan is gone",
    )
}

/// # Safety
/// Called by Postgres once, with what [`Shared::create`] has kept for it.
#[pg_guard]
unsafe extern "C-unwind" fn leave_segment(_segment: *mut pg_sys::dsm_segment, kept: Datum) {
    // SAFETY: by the contract.
    unsafe { Arc::from_raw(kept.cast_mut_ptr::<Shared>().cast_const()) }.leave();
}

/// What a worker must give up before it ends: Postgres takes shared memory away while threads still run.
static ATTACHED: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

fn leave_before_exit(shared: &Arc<Shared>) {
    let mut attached = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
    if attached.is_empty() {
        // SAFETY: called on the process' own thread; the callback stays loaded.
        unsafe { pg_sys::before_shmem_exit(Some(leave_all), Datum::from(0)) };
    }
    attached.push(Arc::downgrade(shared));
}

#[pg_guard]
extern "C-unwind" fn leave_all(_code: i32, _argument: Datum) {
    let attached = std::mem::take(&mut *ATTACHED.lock().unwrap_or_else(PoisonError::into_inner));
    for shared in attached.iter().filter_map(Weak::upgrade) {
        shared.leave();
    }
}
