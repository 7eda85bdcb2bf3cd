//! A query stops when it is told to: LIMIT, cancel, timeout and termination, while planning and while scanning.

use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};

use iceberg_fdw_tests::database::{Database, attach, text_value};
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::large::{MANY_ROWS, large_table};
use iceberg_fdw_tests::process;
use iceberg_fdw_tests::synthetic::{Directory, Table};
use postgres::{Client, NoTls};

/// Enough files that reading all of them takes many seconds.
const FILES: usize = 1000;
/// How long an interrupt may take: the 100 ms that are promised, and what a busy machine adds.
const PROMPT: Duration = Duration::from_millis(500);

const FULL_SCAN: &str = "SELECT sum(id), sum(price), max(word) FROM large";

/// These tests measure time: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

struct Large {
    client: Client,
    database: Database,
    _directory: Directory,
    _alone: MutexGuard<'static, ()>,
}

fn large() -> Large {
    let alone = alone();
    let directory = Directory::new();
    let table = large_table(&directory, FILES, MANY_ROWS);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("large", table, ""))
        .expect("the table can be attached");
    client
        .batch_execute("SELECT count(id) FROM (SELECT id FROM large LIMIT 1) one")
        .expect("the first query of a backend also starts its threads");
    Large {
        client,
        database,
        _directory: directory,
        _alone: alone,
    }
}

fn backend(client: &mut Client) -> i32 {
    client
        .query_one("SELECT pg_backend_pid()", &[])
        .expect("a backend has a process")
        .get(0)
}

#[test]
fn limit_1_of_a_large_table_returns_at_once_and_stops_the_readers() {
    let mut large = large();
    let started = Instant::now();
    let row = large
        .client
        .query_one("SELECT id, word FROM large LIMIT 1", &[])
        .expect("one row can be read");
    let (id, word): (i64, String) = (row.get(0), row.get(1));
    assert!(id < MANY_ROWS && word == format!("word {id}"));
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "one row took {:?}",
        started.elapsed()
    );
    // Readers that went on would keep the process busy.
    let pid = backend(&mut large.client);
    sleep(Duration::from_millis(300));
    let before = process::cpu_ticks(pid).expect("a backend is there");
    sleep(Duration::from_millis(700));
    let after = process::cpu_ticks(pid).expect("a backend is there");
    assert!(
        after - before <= 5,
        "the backend is still busy: {} ticks",
        after - before
    );
}

#[test]
fn a_scan_can_be_cancelled() {
    let mut large = large();
    let token = large.client.cancel_token();
    let canceller = std::thread::spawn(move || {
        sleep(Duration::from_millis(400));
        token.cancel_query(NoTls).expect("a cancel can be sent");
        Instant::now()
    });
    let result = large.client.batch_execute(FULL_SCAN);
    let ended = Instant::now();
    failure::expect(result, &["57014"], &[]);
    let waited = ended.saturating_duration_since(canceller.join().expect("the canceller ends"));
    assert!(waited < PROMPT, "the cancel took {waited:?}");
    assert_eq!(
        text_value(
            &mut large.client,
            "SELECT count(*) FROM (SELECT id FROM large LIMIT 3) three"
        )
        .expect("the session goes on")
        .as_deref(),
        Some("3")
    );
}

#[test]
fn a_statement_timeout_ends_a_scan() {
    let mut large = large();
    large
        .client
        .batch_execute("SET statement_timeout = '300ms'")
        .expect("a timeout can be set");
    let started = Instant::now();
    failure::expect(large.client.batch_execute(FULL_SCAN), &["57014"], &[]);
    assert!(
        started.elapsed() < Duration::from_millis(300) + PROMPT,
        "the timeout took {:?}",
        started.elapsed()
    );
}

#[test]
fn a_cancel_is_served_while_rows_are_sent_nowhere() {
    // No row passes the filter, so nothing but the scan itself can serve the interrupt.
    let mut large = large();
    large
        .client
        .batch_execute("SET statement_timeout = '300ms'")
        .expect("a timeout can be set");
    let started = Instant::now();
    failure::expect(
        large
            .client
            .batch_execute("SELECT id FROM large WHERE word || 'x' = 'no such word'"),
        &["57014"],
        &[],
    );
    assert!(
        started.elapsed() < Duration::from_millis(300) + PROMPT,
        "the timeout took {:?}",
        started.elapsed()
    );
}

#[test]
fn a_terminated_backend_ends_promptly() {
    let mut large = large();
    let pid = backend(&mut large.client);
    let mut other = large.database.connect();
    let scanning = std::thread::spawn(move || large.client.batch_execute(FULL_SCAN).is_err());
    sleep(Duration::from_millis(400));
    let started = Instant::now();
    other
        .execute("SELECT pg_terminate_backend($1)", &[&pid])
        .expect("a backend can be terminated");
    let alive = |other: &mut Client| -> i64 {
        other
            .query_one(
                "SELECT count(*) FROM pg_stat_activity WHERE pid = $1",
                &[&pid],
            )
            .expect("activity can be seen")
            .get(0)
    };
    while alive(&mut other) > 0 {
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "the backend is still there after {:?}",
            started.elapsed()
        );
        sleep(Duration::from_millis(10));
    }
    assert!(
        started.elapsed() < PROMPT,
        "termination took {:?}",
        started.elapsed()
    );
    assert!(
        scanning.join().expect("the scanning client ends"),
        "the scan was not ended"
    );
}

/// Puts a pipe that nobody writes to in the place of a file: whoever reads it waits.
fn replace_by_pipe(path: &std::path::Path) {
    std::fs::remove_file(path).expect("a file can be removed");
    let made = std::process::Command::new("mkfifo")
        .args(["-m", "644"])
        .arg(path)
        .status()
        .expect("mkfifo can be started");
    assert!(made.success(), "a pipe cannot be made");
}

/// Storage that does not answer is left within the timeout, or refused by an error that says `named`; afterwards the session goes on.
fn assert_left_promptly(file: &str, named: &str) {
    let _alone = alone();
    let directory = Directory::new();
    let numbers = || -> Vec<arrow::array::ArrayRef> {
        vec![std::sync::Arc::new(arrow::array::Int32Array::from(vec![1]))]
    };
    let table = Table::new(directory.path())
        .column(1, "n", "int")
        .file("data/a.parquet", numbers())
        .write();
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("silent", table, ""))
        .expect("the table can be attached");
    let pipe = directory.join(file);
    replace_by_pipe(&pipe);
    client
        .batch_execute("SET statement_timeout = '300ms'")
        .expect("a timeout can be set");
    let started = Instant::now();
    let error = failure::server_error(client.batch_execute("SELECT sum(n) FROM silent"));
    let elapsed = started.elapsed();
    // Whoever still waits for the pipe gets its end.
    drop(
        std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&pipe)
            .expect("the pipe can be opened"),
    );
    assert!(
        elapsed < Duration::from_millis(300) + PROMPT,
        "it took {elapsed:?}: {}",
        failure::text(&error)
    );
    assert!(
        error.code().code() == "57014" || failure::text(&error).contains(named),
        "{}",
        failure::text(&error)
    );
    assert_eq!(
        text_value(&mut client, "SELECT 1")
            .expect("the session goes on")
            .as_deref(),
        Some("1")
    );
}

#[test]
fn metadata_that_does_not_come_can_be_given_up() {
    assert_left_promptly("metadata/v1.metadata.json", "metadata");
}

#[test]
fn a_manifest_that_does_not_come_can_be_given_up() {
    assert_left_promptly("metadata/manifest-1001.avro", "manifest-1001.avro");
}

#[test]
fn a_data_file_that_does_not_come_can_be_given_up() {
    assert_left_promptly("data/a.parquet", "a.parquet");
}
