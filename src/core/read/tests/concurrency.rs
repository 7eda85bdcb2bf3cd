//! Order, parallel work, bounded memory, early ends and errors in the middle.
//! Nothing in the spec.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, AsArray, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Int32Type, Schema as ArrowSchema};
use bytes::Bytes;
use parquet::file::properties::WriterProperties;

use super::support::*;
use crate::error::{Error, ErrorKind, Result};
use crate::read::{BatchReceiver, ReadRequest, RecvOutcome, TaskQueue, read};

const PATIENCE: Duration = Duration::from_secs(60);

/// A file of several row groups that hold the numbers of a range.
fn numbers(range: std::ops::Range<i32>, rows_a_group: usize) -> Vec<u8> {
    let schema = Arc::new(ArrowSchema::new(vec![with_id(
        1,
        field("c", DataType::Int32),
    )]));
    let array: ArrayRef = Arc::new(Int32Array::from_iter_values(range));
    let batch = RecordBatch::try_new(schema, vec![array]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(rows_a_group))
        .set_dictionary_enabled(false);
    parquet_of(&[batch], properties.build())
}

fn request_of(files: MemoryFiles) -> ReadRequest {
    request(files, vec![optional(1, "c", INT)])
}

fn values(batches: &[RecordBatch]) -> Vec<i32> {
    batches
        .iter()
        .flat_map(|batch| {
            batch
                .column(0)
                .as_primitive::<Int32Type>()
                .values()
                .to_vec()
        })
        .collect()
}

/// Ten files of ten row groups each.
fn ten_files() -> MemoryFiles {
    static FILES: OnceLock<HashMap<String, Bytes>> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        (0..10)
            .map(|file| {
                let content = numbers(file * 10_000..(file + 1) * 10_000, 1_000);
                (format!("file-{file}.parquet"), content.into())
            })
            .collect()
    });
    MemoryFiles {
        files: files.clone(),
        ..MemoryFiles::default()
    }
}

#[test]
fn one_decoder_keeps_the_order_of_files_and_rows() {
    let mut files = ten_files();
    files.delay = Some(Duration::from_millis(1));
    let batches = try_batches(request_of(files)).unwrap();
    assert!(values(&batches).into_iter().eq(0..100_000));
}

#[test]
fn several_decoders_return_every_row_once() {
    for threads in [2, 7] {
        let mut request = request_of(ten_files());
        request.threads = threads;
        let metrics = metrics(&request);
        let mut values = values(&try_batches(request).unwrap());
        values.sort_unstable();
        assert!(values.into_iter().eq(0..100_000));
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!(count(&metrics.files_opened), 10);
        assert_eq!(count(&metrics.row_groups_total), 100);
        assert_eq!(count(&metrics.row_groups_read), 100);
        assert_eq!(count(&metrics.rows_read), 100_000);
    }
}

#[test]
fn no_tasks_and_no_threads() {
    let mut nothing = request_of(MemoryFiles::default());
    nothing.threads = 0;
    nothing.memory = 0;
    assert!(try_batches(nothing).unwrap().is_empty());
    let mut little = request_of(ten_files());
    little.threads = 0;
    little.memory = 0;
    assert!(
        values(&try_batches(little).unwrap())
            .into_iter()
            .eq(0..100_000)
    );
}

#[test]
fn memory_bounds_what_is_fetched_at_the_same_time() {
    // Row groups of 400 kB, none of them in the speculative read of the footer.
    let most_fetching = |memory| {
        let files = Arc::new(MemoryFiles {
            delay: Some(Duration::from_millis(5)),
            ..MemoryFiles::of([("f", numbers(0..2_000_000, 100_000))])
        });
        let mut request = request_of(MemoryFiles::default());
        request.tasks = files.tasks();
        request.files = Arc::clone(&files) as _;
        request.memory = memory;
        request.threads = 2;
        let mut values = values(&try_batches(request).unwrap());
        values.sort_unstable();
        assert!(values.into_iter().eq(0..2_000_000));
        files.most_fetching.load(Ordering::SeqCst)
    };
    assert_eq!(most_fetching(1 << 20), 1, "a row group is read alone");
    assert!(most_fetching(64 << 20) > 2);
}

#[test]
fn many_small_files_are_opened_at_the_same_time() {
    let mut files = MemoryFiles {
        delay: Some(Duration::from_millis(10)),
        ..MemoryFiles::default()
    };
    for file in 0..100 {
        files.files.insert(
            format!("{file:03}"),
            numbers(file * 10..(file + 1) * 10, 10).into(),
        );
    }
    let tasks = files.tasks();
    let files = Arc::new(files);
    let mut request = request_of(MemoryFiles::default());
    request.tasks = tasks;
    request.files = Arc::clone(&files) as _;
    let batches = try_batches(request).unwrap();
    assert!(values(&batches).into_iter().eq(0..1_000));
    assert!(files.most_fetching.load(Ordering::SeqCst) >= 16);
    // The footer's read has brought all of a small file.
    assert_eq!(files.fetches.load(Ordering::SeqCst), 100);
}

#[test]
fn a_slow_receiver_bounds_what_is_decoded() {
    let converted = Arc::new(AtomicUsize::new(0));
    let mut request = request_of(MemoryFiles::of([("f", numbers(0..4_000_000, 100_000))]));
    request.memory = 4 << 20;
    request.threads = 2;
    let runtime = runtime();
    let mut receiver = {
        let _runtime = runtime.enter();
        let converted = Arc::clone(&converted);
        read(
            request,
            Arc::new(move |batch| {
                converted.fetch_add(1, Ordering::SeqCst);
                Ok(batch)
            }),
        )
    };
    let settled = settle(&converted);
    // A quarter of the budget is for waiting batches, most of 32 kB; each decoder holds one more.
    assert!(
        (2..=40).contains(&settled),
        "{settled} of 520 batches were decoded ahead"
    );
    let mut rows = 0;
    while let RecvOutcome::Item(batch) = receiver.recv_timeout(PATIENCE) {
        rows += batch.unwrap().num_rows();
    }
    assert_eq!(rows, 4_000_000);
}

/// Waits until a counter stands still.
fn settle(counter: &AtomicUsize) -> usize {
    let mut before = usize::MAX;
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let now = counter.load(Ordering::SeqCst);
        if now == before {
            return now;
        }
        before = now;
    }
}

fn dropped_within(something: &Weak<impl ?Sized>, limit: Duration) -> bool {
    let started = Instant::now();
    while something.strong_count() > 0 {
        if started.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

type Convert = Arc<dyn Fn(RecordBatch) -> Result<RecordBatch> + Send + Sync>;

#[test]
fn dropping_the_receiver_stops_all_work() {
    let runtime = runtime();
    for (delay, batches) in [(0, 0), (0, 3), (20, 0), (20, 1)] {
        let mut request = request_of(MemoryFiles {
            delay: Some(Duration::from_millis(delay)),
            ..ten_files()
        });
        request.threads = 4;
        let convert: Convert = Arc::new(Ok);
        let alive = Arc::downgrade(&convert);
        let mut receiver = {
            let _runtime = runtime.enter();
            read(request, convert)
        };
        for _ in 0..batches {
            assert!(matches!(
                receiver.recv_timeout(PATIENCE),
                RecvOutcome::Item(Ok(_))
            ));
        }
        drop(receiver);
        assert!(dropped_within(&alive, Duration::from_secs(5)));
        let started = Instant::now();
        while runtime.metrics().num_alive_tasks() > 0 {
            assert!(started.elapsed() < Duration::from_secs(5), "tasks are left");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn the_first_batch_does_not_wait_for_much() {
    let files = Arc::new(MemoryFiles {
        delay: Some(Duration::from_millis(5)),
        ..MemoryFiles::of([("f", numbers(0..4_000_000, 40_000))])
    });
    let mut request = request_of(MemoryFiles::default());
    request.tasks = files.tasks();
    request.files = Arc::clone(&files) as _;
    request.memory = 4 << 20;
    let runtime = runtime();
    let mut receiver = start(&runtime, request);
    assert!(matches!(
        receiver.recv_timeout(PATIENCE),
        RecvOutcome::Item(Ok(_))
    ));
    drop(receiver);
    let fetched = settle(&files.fetches);
    // However late this thread is, there is room for 7 decoded and 7 fetched row groups.
    assert!(
        fetched <= 25,
        "{fetched} fetches for one batch of 100 row groups"
    );
}

fn collect(receiver: &mut BatchReceiver<RecordBatch>) -> (usize, Option<Error>) {
    let mut rows = 0;
    loop {
        match receiver.recv_timeout(PATIENCE) {
            RecvOutcome::Item(Ok(batch)) => rows += batch.num_rows(),
            RecvOutcome::Item(Err(error)) => return (rows, Some(error)),
            RecvOutcome::Timeout => panic!("the read hangs"),
            RecvOutcome::Done => return (rows, None),
        }
    }
}

#[test]
fn an_error_in_the_middle_comes_after_the_rows_before_it_and_ends_the_read() {
    let mut files = ten_files();
    files
        .files
        .insert("file-5.parquet".to_owned(), "not Parquet at all".into());
    let runtime = runtime();
    let mut receiver = start(&runtime, request_of(files));
    let (_, error) = collect(&mut receiver);
    let error = error.expect("an error");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("file-5.parquet"), "{error}");
    assert!(matches!(receiver.recv_timeout(PATIENCE), RecvOutcome::Done));
}

#[test]
fn an_error_or_panic_of_the_conversion_ends_the_read() {
    let runtime = runtime();
    let conversions: [Convert; 2] = [
        Arc::new(|_| Err(Error::new(ErrorKind::OutOfRange, "does not fit"))),
        Arc::new(|_| panic!("does not fit")),
    ];
    for convert in conversions {
        let mut receiver = {
            let _runtime = runtime.enter();
            read(request_of(ten_files()), convert)
        };
        let (rows, error) = collect(&mut receiver);
        let error = error.expect("an error");
        assert_eq!(rows, 0);
        assert!(error.message().contains("does not fit"), "{error}");
        assert!(error.message().contains("file-0.parquet"), "{error}");
    }
}

#[test]
fn waiting_ends_in_time() {
    let files = MemoryFiles {
        delay: Some(Duration::from_secs(3_600)),
        ..ten_files()
    };
    let runtime = runtime();
    let mut receiver = start(&runtime, request_of(files));
    let started = Instant::now();
    assert!(matches!(
        receiver.recv_timeout(Duration::from_millis(50)),
        RecvOutcome::Timeout
    ));
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn batches_of_long_texts_are_short() {
    let different: Vec<_> = (0..40).map(|n| format!("{n:04}").repeat(1 << 18)).collect();
    // As one entry of a dictionary, a text takes as little room in the file as one row of it.
    let keys = Int32Array::from_iter_values((0..100).map(|n| n / 99));
    let dictionary =
        DictionaryArray::new(keys, Arc::new(StringArray::from(different[..2].to_vec())));
    let mut repeated = vec![different[0].clone(); 99];
    repeated.push(different[1].clone());
    let columns: [(ArrayRef, _); 2] = [
        (Arc::new(StringArray::from(different.clone())), different),
        (Arc::new(dictionary), repeated),
    ];
    for (array, texts) in columns {
        let file = parquet_with(
            vec![(1, field("c", array.data_type().clone()), array)],
            WriterProperties::builder()
                .set_dictionary_page_size_limit(1 << 30)
                .build(),
        );
        let request = request(
            MemoryFiles::of([("f", file)]),
            vec![optional(1, "c", STRING)],
        );
        let runtime = runtime();
        let mut receiver = start(&runtime, request);
        let mut read = 0;
        while let RecvOutcome::Item(batch) = receiver.recv_timeout(PATIENCE) {
            let batch = batch.unwrap();
            assert!(batch.num_rows() <= 4, "{} rows of 1 MB", batch.num_rows());
            for text in batch.column(0).as_string_view() {
                assert!(text.unwrap() == texts[read]);
                read += 1;
            }
        }
        assert_eq!(read, texts.len());
    }
}

#[test]
fn a_hundred_reads_that_end_early_leave_nothing_behind() {
    let runtime = runtime();
    for round in 0..100 {
        let mut request = request_of(ten_files());
        request.threads = 1 + round % 4;
        let mut receiver = start(&runtime, request);
        for _ in 0..round % 5 {
            assert!(matches!(
                receiver.recv_timeout(PATIENCE),
                RecvOutcome::Item(Ok(_))
            ));
        }
    }
    let started = Instant::now();
    while runtime.metrics().num_alive_tasks() > 0 {
        assert!(started.elapsed() < Duration::from_secs(5), "tasks are left");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_read_that_is_torn_off_does_not_look_complete() {
    let files = MemoryFiles {
        delay: Some(Duration::from_secs(3_600)),
        ..ten_files()
    };
    let runtime = runtime();
    let mut receiver = start(&runtime, request_of(files));
    runtime.shutdown_background();
    let (rows, error) = collect(&mut receiver);
    assert_eq!(rows, 0);
    assert_eq!(error.expect("an error").kind(), ErrorKind::Internal);
    assert!(matches!(receiver.recv_timeout(PATIENCE), RecvOutcome::Done));
}

/// Hands out the numbers below a limit, to several reads at once.
#[derive(Debug)]
struct Counter {
    next: AtomicUsize,
    limit: usize,
}

impl TaskQueue for Counter {
    fn next(&self) -> Result<Option<usize>> {
        let next = self.next.fetch_add(1, Ordering::SeqCst);
        Ok(Some(next).filter(|next| *next < self.limit))
    }

    fn fair_share(&self) -> usize {
        2
    }
}

#[test]
fn reads_that_share_a_queue_read_each_row_once_between_them() {
    for part_bytes in [1, 3_000, 1 << 30] {
        let tasks: Vec<_> = ten_files()
            .tasks()
            .iter()
            .flat_map(|task| task.split(part_bytes))
            .collect();
        let counter = Arc::new(Counter {
            next: AtomicUsize::new(0),
            limit: tasks.len(),
        });
        let runtime = runtime();
        let mut receivers: Vec<_> = (0..3)
            .map(|_| {
                let mut files = ten_files();
                files.delay = Some(Duration::from_millis(1));
                let mut request = request_of(files);
                request.tasks = tasks.clone();
                request.queue = Some(Arc::clone(&counter) as Arc<dyn TaskQueue>);
                start(&runtime, request)
            })
            .collect();
        let mut seen: Vec<i32> = Vec::new();
        let mut shares = Vec::new();
        for receiver in &mut receivers {
            let before = seen.len();
            loop {
                match receiver.recv_timeout(PATIENCE) {
                    RecvOutcome::Item(batch) => seen.extend(values(&[batch.unwrap()])),
                    RecvOutcome::Done => break,
                    RecvOutcome::Timeout => panic!("the read hangs"),
                }
            }
            shares.push(seen.len() - before);
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..100_000), "{part_bytes}");
        assert!(
            shares.iter().filter(|share| **share > 0).count() > 1,
            "{shares:?}"
        );
    }
}

#[test]
fn the_parts_of_a_file_have_each_of_its_row_groups_once() {
    for part_bytes in [1, 777, 5_000] {
        let files = ten_files();
        let mut request = request_of(ten_files());
        request.tasks = files
            .tasks()
            .iter()
            .flat_map(|task| task.split(part_bytes))
            .collect();
        assert!(request.tasks.len() > 10);
        let metrics = Arc::clone(&request.metrics);
        let batches = try_batches(request).unwrap();
        assert!(values(&batches).into_iter().eq(0..100_000));
        assert_eq!(metrics.files_opened.load(Ordering::SeqCst), 10);
        assert_eq!(metrics.row_groups_total.load(Ordering::SeqCst), 100);
    }
}
