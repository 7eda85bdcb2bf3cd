//! What the fuzz targets do with their seeds and with every input that was once found to break
//! something: see `fuzz/README.md`. Runs on stable Rust, without a fuzzer.

#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Fuzzing calls it a hang if an input takes longer.
const LONGEST: Duration = Duration::from_secs(20);

/// The files of a directory of this target; none if there is no directory.
fn inputs(directory: &str, target: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(directory)
        .join(target);
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Whether the target understands the file.
fn run(target: &str, file: &Path) -> bool {
    let input = fs::read(file).unwrap();
    let started = Instant::now();
    eprintln!("{target}: {}", file.display());
    let understood = targets::run(target, &input);
    assert!(
        started.elapsed() < LONGEST,
        "{target} takes {:?} for {}",
        started.elapsed(),
        file.display()
    );
    understood
}

#[test]
fn targets_understand_their_seeds_and_survive_what_was_found() {
    for (target, _) in targets::TARGETS {
        let seeds = inputs("../../fuzz/seeds", target);
        assert!(!seeds.is_empty(), "{target} has no seeds");
        for seed in seeds {
            assert!(run(target, &seed), "{target}: {}", seed.display());
        }
        for found in inputs("spec/testdata/fuzz", target) {
            run(target, &found);
        }
    }
}

#[test]
fn every_target_has_a_program() {
    let manifest = include_str!("../../../fuzz/Cargo.toml");
    for (target, _) in targets::TARGETS {
        let program = format!("path = \"fuzz_targets/{target}.rs\"");
        assert!(manifest.contains(&program), "{target}");
    }
}
