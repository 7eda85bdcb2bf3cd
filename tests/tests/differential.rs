//! The proof that pruning and pushdown change no answer: random tables and random queries, each run over the foreign
//! table in several settings and over a heap table with the same rows. Everything follows from one seed.
//!
//! `ICEBERG_FDW_DIFFERENTIAL_SEED`, `…_QUERIES` and `…_TABLE` choose the seed, how many queries are run, and one table
//! of the run alone; `…_KEEP=1` leaves the database and the files of a table that differs for a closer look.

use std::io::Write;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use iceberg_fdw_tests::database::{Database, text_rows};
use iceberg_fdw_tests::random::declared::Collation;
use iceberg_fdw_tests::random::seed::Chance;
use iceberg_fdw_tests::random::trial::{Counts, Server, Trial, UNKNOWN};
use iceberg_fdw_tests::synthetic::Directory;
use postgres::Client;

const QUERIES_OF_A_TABLE: u64 = 100;
/// Of how many queries one is explained as well.
const EXPLAINED: u64 = 30;
const WORKERS: u64 = 2;
/// So many queries are expected to have used every switch.
const ENOUGH: usize = 3_000;

/// The switches that must have made some query read less, or the run has proved nothing of them.
const LEVELS: &[&str] = &["enable_partition_pruning", "enable_metrics_pruning"];

fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(format!("ICEBERG_FDW_DIFFERENTIAL_{name}")).ok()?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("ICEBERG_FDW_DIFFERENTIAL_{name} is no number: {text}"),
    }
}

/// Whether what shows a difference is left behind.
fn keeps() -> bool {
    variable::<u8>("KEEP").is_some_and(|keep| keep > 0)
}

/// The collations that the server has of those that differ in order or equality.
fn server(client: &mut Client) -> Server {
    client
        .batch_execute("CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw")
        .expect("a server can be created");
    client
        .batch_execute(UNKNOWN)
        .expect("functions can be created");
    let collation = |name: &str, deterministic| Collation {
        name: name.to_owned(),
        deterministic,
    };
    let mut collations = ["\"default\"", "\"C\"", "\"POSIX\"", "ucs_basic"]
        .map(|name| collation(name, true))
        .to_vec();
    let icu = text_rows(
        client,
        "SELECT collname FROM pg_collation WHERE collname IN ('en-x-icu', 'de-x-icu')",
    )
    .expect("a catalog query");
    collations.extend(
        icu.into_iter()
            .flatten()
            .flatten()
            .map(|name| collation(&format!("\"{name}\""), true)),
    );
    for (name, locale) in [
        ("accents_only", "und-u-ks-level1-kc-true"),
        ("caseless", "und-u-ks-level2"),
    ] {
        let made = client.batch_execute(&format!(
            "CREATE COLLATION {name} (provider = icu, locale = '{locale}', deterministic = false)"
        ));
        if made.is_ok() {
            collations.push(collation(name, false));
        }
    }
    let transforms = text_rows(
        client,
        "SELECT 1 FROM pg_proc WHERE pronamespace = 'iceberg'::regnamespace AND proname = 'bucket'",
    );
    Server {
        collations,
        transforms: !transforms.expect("a catalog query").is_empty(),
    }
}

/// What happened to all tables of a run.
struct Run {
    seed: u64,
    next: AtomicU64,
    last: u64,
    failed: AtomicBool,
    counts: Mutex<Counts>,
}

impl Run {
    /// Takes tables until none is left or one has failed.
    fn work(&self, database: &Database, server: &Server) -> Result<(), String> {
        while !self.failed.load(Ordering::Relaxed) {
            let table = self.next.fetch_add(1, Ordering::Relaxed);
            if table >= self.last {
                break;
            }
            let checked = self.table(database, server, table);
            if let Err(difference) = checked {
                self.failed.store(true, Ordering::Relaxed);
                return Err(difference);
            }
        }
        Ok(())
    }

    fn table(&self, database: &Database, server: &Server, table: u64) -> Result<(), String> {
        let again = format!(
            "again: ICEBERG_FDW_DIFFERENTIAL_SEED={} ICEBERG_FDW_DIFFERENTIAL_TABLE={table}",
            self.seed
        );
        let made_again = PanicNote(&again);
        let mut chance = Chance::new(self.seed, table);
        let directory = Directory::new();
        let mut counts = Counts {
            tables: 1,
            ..Counts::default()
        };
        let mut trial = Trial::new(
            database.connect(),
            server,
            &mut chance,
            table,
            directory.path(),
        );
        for number in 0..QUERIES_OF_A_TABLE {
            let query = trial.query(&mut chance);
            counts.queries += 1;
            if let Err(difference) = trial.check(&query, &mut chance, &mut counts) {
                if keeps() {
                    std::mem::forget(directory);
                }
                return Err(format!("{again}, query {number}\n{difference}"));
            }
            if number % EXPLAINED == 0 {
                trial.explain(&query, &mut counts);
            }
        }
        drop(made_again);
        self.counts
            .lock()
            .expect("no worker panics holding it")
            .add(counts);
        Ok(())
    }
}

/// Says how to come to the same table again if it panics.
struct PanicNote<'a>(&'a str);

impl Drop for PanicNote<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

#[test]
fn foreign_tables_answer_as_heap_tables_do() {
    let began = Instant::now();
    let seed = variable("SEED").unwrap_or(20_261_130);
    let queries: u64 = variable("QUERIES").unwrap_or(5_000);
    let table: Option<u64> = variable("TABLE");
    let run = Run {
        seed,
        next: AtomicU64::new(table.unwrap_or(0)),
        last: table.map_or(queries.div_ceil(QUERIES_OF_A_TABLE), |table| table + 1),
        failed: AtomicBool::new(false),
        counts: Mutex::default(),
    };
    let database = Database::new();
    let server = server(&mut database.connect());
    let differences: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| scope.spawn(|| run.work(&database, &server)))
            .collect();
        workers
            .into_iter()
            .filter_map(|worker| worker.join().expect("a worker ends").err())
            .collect()
    });
    let counts = run.counts.into_inner().expect("the workers are gone");
    // The counts are worth seeing also when the test passes.
    let _ = writeln!(
        std::io::stderr(),
        "differential: seed {seed}, {} tables, {} queries (errors {:?}, {} without rows) in {:?}; of {} explained, reading less by one switch alone: {:?}",
        counts.tables,
        counts.queries,
        counts.errors,
        counts.empty,
        began.elapsed(),
        counts.explained,
        counts.effective
    );
    if !differences.is_empty() && keeps() {
        eprintln!("kept: database {}", database.name());
        std::mem::forget(database);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    if counts.queries >= ENOUGH {
        for level in LEVELS {
            assert!(
                counts.effective.contains_key(*level),
                "no query has read less by {level}"
            );
        }
    }
}
