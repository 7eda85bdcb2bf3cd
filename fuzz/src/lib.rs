//! What is fuzzed: one function for each kind of file that comes from outside. Each takes the
//! bytes of such a file, tells whether they were understood, and panics where the core broke its
//! word: errors name the file and are no faults of the program, and what was read stays the same
//! when it is written and read again.

mod data_files;
mod deletes;
mod metadata;
mod reading;

use iceberg_core::{Error, ErrorKind};

/// A function to fuzz, by the name of its target.
pub type Target = (&'static str, fn(&[u8]) -> bool);

/// All of them; each has a program in `fuzz_targets`.
pub const TARGETS: [Target; 11] = [
    ("table_metadata", metadata::table_metadata),
    ("metadata_file", metadata::metadata_file),
    ("name_mapping", metadata::name_mapping),
    ("manifest_list", metadata::manifest_list),
    ("manifest", metadata::manifest),
    ("deletion_vector", deletes::deletion_vector),
    ("position_deletes", deletes::position_deletes),
    ("equality_deletes", deletes::equality_deletes),
    ("parquet_file", data_files::parquet_file),
    ("orc_file", data_files::orc_file),
    ("avro_file", data_files::avro_file),
];

/// Runs a target.
///
/// # Panics
/// If there is none of this name, or the core broke its word.
pub fn run(name: &str, input: &[u8]) -> bool {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = target.unwrap_or_else(|| panic!("no target \"{name}\""));
    target(input)
}

/// What was read; an error must name `file` and must not be a fault of the program.
fn understood<T>(result: iceberg_core::Result<T>, file: &str) -> Option<T> {
    result.map_err(|error| check_error(&error, file)).ok()
}

fn check_error(error: &Error, file: &str) {
    assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
    assert!(
        error.message().contains(file),
        "the error does not name {file}: {error}"
    );
}
