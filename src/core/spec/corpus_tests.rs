//! Every metadata file of the shared corpus of reference-written tables is read, and written again
//! as the same JSON. Where the corpus is: `ICEBERG_FDW_CORPUS`, or `../shared/corpus`.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::TableMetadata;

/// The corpus, or `None` after saying that it is not there.
pub(crate) fn corpus() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("ICEBERG_FDW_CORPUS") {
        // A corpus that was asked for must be there.
        return Some(PathBuf::from(given));
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if beside.is_dir() {
        return Some(beside);
    }
    eprintln!(
        "SKIPPED: no corpus at {} and ICEBERG_FDW_CORPUS is not set",
        beside.display()
    );
    None
}

fn metadata_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            metadata_files(&path, found);
        } else if !name.starts_with('.')
            && (name.ends_with(".metadata.json") || name.ends_with(".metadata.json.gz"))
        {
            found.push(path);
        }
    }
}

#[test]
fn reference_written_metadata_survives_a_rewrite() {
    let Some(corpus) = corpus() else { return };
    let mut files = Vec::new();
    metadata_files(&corpus, &mut files);
    assert!(
        files.len() > 200,
        "{}: only {} metadata files",
        corpus.display(),
        files.len()
    );
    for path in files {
        let name = path.to_string_lossy();
        let bytes = fs::read(&path).unwrap();
        let metadata = TableMetadata::parse(&name, &bytes).unwrap();
        let written = metadata.to_json();
        let again = TableMetadata::from_json(&written).unwrap();
        assert_eq!(again, metadata, "{name}");

        let mut text = Vec::new();
        if bytes.starts_with(&[0x1F, 0x8B]) {
            flate2::read::GzDecoder::new(bytes.as_slice())
                .read_to_end(&mut text)
                .unwrap();
        } else {
            text = bytes;
        }
        let original: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(written, original, "{name}");
        for snapshot in &metadata.snapshots {
            metadata.schema_for_snapshot(snapshot).unwrap();
        }
    }
}
