//! What deletes rows of one small data file: a Puffin file or a deletion vector, position deletes,
//! equality deletes. Spec: "Delete Formats"; Puffin "`deletion-vector-v1` blob type".

use std::sync::{Arc, LazyLock};

use iceberg_core::ErrorKind;
use iceberg_core::plan::{
    DeleteFile, DeletionVector, EqualityColumn, EqualityDeletes, FileFormat, TaskDeletes,
};
use iceberg_core::spec::{PuffinFooter, Schema, parse_deletion_vector};
use iceberg_core::storage::RawPath;

use super::check_error;
use super::reading::{MemoryFiles, count_rows};

/// A data file of two row groups; `seeds/write.py` made it.
const DATA: &[u8] = include_bytes!("../seeds/data.parquet");
const DATA_PATH: &str = "data.parquet";
const DATA_ROWS: usize = 20;
const DELETES_PATH: &str = "deletes";

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let schema = r#"{"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "id", "required": true, "type": "long"},
        {"id": 2, "name": "s", "required": false, "type": "string"},
        {"id": 3, "name": "f", "required": false, "type": "double"},
        {"id": 4, "name": "dec", "required": false, "type": "decimal(9, 2)"},
        {"id": 5, "name": "inner", "required": false, "type": {"type": "struct", "fields": [
            {"id": 6, "name": "dt", "required": false, "type": "date"}]}}]}"#;
    Arc::new(Schema::parse(schema).expect("a schema"))
});

/// The data file's rows that are left; `None` where the deletes cannot be read.
fn remaining(deletes: &[u8], of: TaskDeletes) -> Option<usize> {
    let files = MemoryFiles::of([(DATA_PATH, DATA), (DELETES_PATH, deletes)]);
    let mut task = files.task(DATA_PATH);
    task.data_sequence_number = Some(1);
    task.deletes = of;
    match count_rows(files, task, &SCHEMA) {
        Ok(rows) => {
            let rows = rows.expect("few batches");
            assert!(rows <= DATA_ROWS, "{rows} rows");
            Some(rows)
        }
        Err(error) => {
            check_error(&error, DELETES_PATH);
            None
        }
    }
}

fn delete_file(content: &[u8]) -> Arc<DeleteFile> {
    Arc::new(DeleteFile {
        path: RawPath(DELETES_PATH.to_owned()),
        format: FileFormat::Parquet,
        file_size: content.len() as u64,
        record_count: None,
    })
}

/// A Puffin file, or what such a file holds: the bitmaps of a deletion vector, without the length,
/// the magic and the checksum around them, which chance would never find.
pub fn deletion_vector(input: &[u8]) -> bool {
    if input.starts_with(b"PFA1") {
        return puffin_file(input);
    }
    let body = [&[0xD1, 0xD3, 0x39, 0x64][..], input].concat();
    let mut blob = (body.len() as u32).to_be_bytes().to_vec();
    blob.extend(&body);
    blob.extend(crc32fast::hash(&body).to_be_bytes());
    apply_vector(&blob)
}

fn puffin_file(file: &[u8]) -> bool {
    let footer = match PuffinFooter::parse(file, file.len() as u64) {
        Ok(footer) => footer,
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
            return false;
        }
    };
    let size = PuffinFooter::size(file).expect("it has been parsed");
    assert!(size <= file.len() as u64);
    let mut understood = true;
    for blob in footer.blobs.iter().take(4) {
        let range = blob.offset as usize..(blob.offset + blob.length) as usize;
        understood &= apply_vector(&file[range]);
    }
    understood
}

/// A deletion vector takes those rows away whose positions it has.
fn apply_vector(blob: &[u8]) -> bool {
    let vector = DeletionVector {
        path: RawPath(DELETES_PATH.to_owned()),
        offset: 0,
        length: blob.len() as u64,
        cardinality: None,
    };
    let rows = remaining(
        blob,
        TaskDeletes {
            vector: Some(Arc::new(vector)),
            ..TaskDeletes::default()
        },
    );
    match parse_deletion_vector(blob, None) {
        Ok(positions) => {
            let deleted = positions
                .iter()
                .take_while(|position| *position < DATA_ROWS as u64);
            assert_eq!(rows, Some(DATA_ROWS - deleted.count()));
            true
        }
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
            assert_eq!(rows, None);
            false
        }
    }
}

/// A position delete file.
pub fn position_deletes(input: &[u8]) -> bool {
    let deletes = TaskDeletes {
        positions: vec![delete_file(input)],
        ..TaskDeletes::default()
    };
    remaining(input, deletes).is_some()
}

/// An equality delete file that compares four columns, one of them inside a struct.
pub fn equality_deletes(input: &[u8]) -> bool {
    let column = |ids: &[i32]| EqualityColumn {
        path: ids
            .iter()
            .map(|id| Arc::clone(SCHEMA.field_by_id(*id).expect("a field")))
            .collect(),
    };
    let deletes = EqualityDeletes {
        columns: vec![column(&[2]), column(&[3]), column(&[4]), column(&[5, 6])],
        files: vec![(2, delete_file(input))],
    };
    let deletes = TaskDeletes {
        equality: vec![Arc::new(deletes)],
        ..TaskDeletes::default()
    };
    remaining(input, deletes).is_some()
}
