//! Where the tests run: the variables that `make test` sets.
//! Without a server no test can say anything, so a missing variable is a failure, not a skip.

use std::path::PathBuf;

/// The connection string of a superuser of the throw-away cluster.
pub const DSN: &str = "ICEBERG_FDW_TEST_DSN";
/// The directory of reference-written tables that the server can read; it may be absent.
pub const CORPUS: &str = "ICEBERG_FDW_CORPUS";
/// A copy of `tests/fixtures` that the server can read.
pub const FIXTURES: &str = "ICEBERG_FDW_FIXTURES";
/// The directory of `psql`, `pg_dump` and their like, of the server's version.
pub const PG_BIN: &str = "ICEBERG_FDW_PG_BIN";
/// The corpus at the place that its metadata names, where its tables can be read without being told that they moved; it may be absent.
pub const CORPUS_IN_PLACE: &str = "ICEBERG_FDW_CORPUS_IN_PLACE";

fn required(name: &str) -> String {
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => value,
        _ => panic!("{name} is not set: run these tests with `make test`"),
    }
}

/// The connection string of the test cluster.
pub fn dsn() -> String {
    required(DSN)
}

/// The directory of the sample tables as the server sees it.
pub fn fixtures() -> PathBuf {
    PathBuf::from(required(FIXTURES))
}

/// The directory of the client programs.
pub fn pg_bin() -> PathBuf {
    PathBuf::from(required(PG_BIN))
}

/// The corpus, or why its tests cannot run.
pub fn corpus() -> Result<PathBuf, String> {
    directory(CORPUS)
}

/// The corpus at the place that its metadata names, or why tests of it there cannot run.
pub fn corpus_in_place() -> Result<PathBuf, String> {
    directory(CORPUS_IN_PLACE)
}

fn directory(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var(name)
        .map(PathBuf::from)
        .map_err(|_| format!("{name} is not set"))?;
    if path.is_dir() {
        Ok(path)
    } else {
        Err(format!("{name} names no directory"))
    }
}
