//! Damaged files: whatever their bytes are, the server answers with rows or a clear error, and never crashes or hangs.

use std::path::{Path, PathBuf};

use iceberg_fdw_tests::database::{Database, attach, text_rows};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::Directory;

/// What a damaged file may be answered with: corrupt, not supported, no such file or table, not allowed, out of range,
/// not encodable, a column or type that is no longer there, and several tables in one directory.
const ANSWERS: &[&str] = &[
    "XX001", "55000", "0A000", "58P01", "HV00R", "42501", "22008", "22003", "22021", "22P02",
    "22P05", "HV005", "HV004", "08001", "HV00N",
];
const FLIPS: usize = 150;
const CUTS: usize = 30;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        // Knuth's multiplier; the high bits are the good ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory can be made");
    for entry in std::fs::read_dir(from).expect("the table can be listed") {
        let entry = entry.expect("the table can be listed");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}

fn files(directory: &Path, chosen: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("the table can be listed") {
        let path = entry.expect("the table can be listed").path();
        if path.is_dir() {
            found.extend(files(&path, chosen));
        } else if chosen(&path.file_name().unwrap_or_default().to_string_lossy()) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Damages each of the chosen files of a copy of the table in many ways, one at a time, and reads the table.
fn damage(table: &str, chosen: &dyn Fn(&str) -> bool) {
    let directory = Directory::new();
    let location = directory.join("damaged");
    copy(&fixtures().join(table), &location);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("damaged", &location, "allow_moved_paths => true"))
        .expect("the table can be attached");
    client
        .batch_execute("SET statement_timeout = '30s'; ALTER FOREIGN TABLE damaged OPTIONS (ADD metadata_staleness_ms '0')")
        .expect("settings can be set");
    let rows = text_rows(&mut client, "SELECT * FROM damaged")
        .expect("it can be read before")
        .len();
    let damaged = files(&location, chosen);
    assert!(!damaged.is_empty() && rows > 0, "nothing to damage");
    let mut numbers = Numbers(7);
    let mut errors = 0;
    for path in damaged {
        let whole = std::fs::read(&path).expect("a file can be read");
        for round in 0..FLIPS + CUTS {
            let mut bytes = whole.clone();
            if round < FLIPS {
                for _ in 0..1 + round % 4 {
                    let at = numbers.below(bytes.len());
                    bytes[at] = [
                        bytes[at] ^ (1 << numbers.below(8)),
                        0,
                        0xff,
                        numbers.below(256) as u8,
                    ][round % 4];
                }
            } else {
                bytes.truncate(numbers.below(whole.len()));
            }
            std::fs::write(&path, &bytes).expect("a file can be written");
            match text_rows(&mut client, "SELECT * FROM damaged") {
                Ok(_) => {}
                Err(error) => {
                    let error = failure::server_error::<()>(Err(error));
                    let name = path.display();
                    assert!(
                        ANSWERS.contains(&error.code().code()),
                        "{name}, round {round}: {}",
                        failure::text(&error)
                    );
                    errors += 1;
                }
            }
        }
        std::fs::write(&path, &whole).expect("a file can be written");
    }
    assert!(errors > 0, "no damage was noticed");
    let after = text_rows(&mut client, "SELECT * FROM damaged").expect("it can be read again");
    assert_eq!(after.len(), rows);
}

#[test]
fn damaged_table_metadata() {
    damage("warehouse/telemetry/stations", &|name| {
        name.starts_with("00001-")
    });
}

#[test]
fn damaged_compressed_table_metadata() {
    damage("warehouse/shop/products", &|name| {
        name == "v2.gz.metadata.json"
    });
}

#[test]
fn damaged_manifests_and_manifest_lists() {
    damage("warehouse/telemetry/stations", &|name| {
        name.ends_with(".avro")
    });
}

#[test]
fn damaged_data_of_every_type() {
    damage("types/scalars_v2", &|name| name.ends_with(".parquet"));
}

#[test]
fn damaged_nested_data() {
    damage("types/nested", &|name| name.ends_with(".parquet"));
}
