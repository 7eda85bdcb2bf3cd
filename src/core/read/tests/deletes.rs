//! Deletes applied to rows: positions whatever row groups there are, and equality of keys of every
//! type, wherever and however old files store them. Spec: "Delete Formats".

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array,
    FixedSizeBinaryArray, Float32Array, Int32Array, Int64Array, RecordBatch, StringArray,
    StructArray, Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Fields, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;

use super::support::*;
use crate::error::ErrorKind;
use crate::plan::{
    DeleteFile, DeletionVector, EqualityColumn, EqualityDeletes, FileFormat, FileScanTask,
};
use crate::read::ReadRequest;
use crate::spec::deletion_vector::tests::blob;
use crate::spec::{NestedField, PrimitiveType};
use crate::storage::RawPath;

/// A Parquet file of nullable columns; several row groups of `group_rows` rows.
fn file_of(columns: Vec<(i32, ArrayRef)>, group_rows: usize) -> Vec<u8> {
    let columns = columns
        .into_iter()
        .map(|(id, array)| {
            (
                id,
                field(&format!("c{id}"), array.data_type().clone()),
                array,
            )
        })
        .collect();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .build();
    parquet_with(columns, properties)
}

fn numbers(rows: std::ops::Range<i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(rows))
}

pub fn positions_file(rows: &[(&str, i64)]) -> Vec<u8> {
    let paths = StringArray::from_iter_values(rows.iter().map(|(path, _)| *path));
    let positions = Int64Array::from_iter_values(rows.iter().map(|(_, position)| *position));
    parquet(vec![
        (
            2_147_483_546,
            field("file_path", DataType::Utf8),
            Arc::new(paths) as ArrayRef,
        ),
        (
            2_147_483_545,
            field("pos", DataType::Int64),
            Arc::new(positions),
        ),
    ])
}

pub fn vector_blob(positions: &[u64]) -> Vec<u8> {
    let bitmap: roaring::RoaringTreemap = positions.iter().copied().collect();
    let mut bitmaps = Vec::new();
    bitmap.serialize_into(&mut bitmaps).unwrap();
    blob(&bitmaps)
}

pub fn delete_file(files: &MemoryFiles, path: &str) -> Arc<DeleteFile> {
    Arc::new(DeleteFile {
        path: RawPath(path.to_owned()),
        format: FileFormat::Parquet,
        file_size: files.files[path].len() as u64,
        record_count: None,
    })
}

/// A request for the data files, which are those named `data…`, with the data sequence number 5.
fn request_of(files: MemoryFiles, fields: Vec<NestedField>) -> ReadRequest {
    let mut request = request(files, fields);
    request.tasks.retain(|task| task.path.0.starts_with("data"));
    for task in &mut request.tasks {
        task.data_sequence_number = Some(5);
    }
    request
}

fn change_tasks(request: &mut ReadRequest, change: impl FnMut(&mut FileScanTask)) {
    request.tasks.iter_mut().for_each(change);
}

fn sorted_longs(batches: &[RecordBatch]) -> Vec<i64> {
    let mut values: Vec<i64> = batches
        .iter()
        .flat_map(|batch| {
            batch
                .column(0)
                .as_primitive::<Int64Type>()
                .values()
                .to_vec()
        })
        .collect();
    values.sort_unstable();
    values
}

#[test]
fn positions_are_absolute_whatever_row_groups_and_batches_there_are() {
    for (group_rows, threads) in [(100_000, 1), (1_000, 2), (70, 3)] {
        let file = file_of(vec![(1, numbers(0..20_000))], group_rows);
        let deleted: Vec<_> = (0..20_000)
            .filter(|row| row % 3 == 0 || *row > 15_000)
            .collect();
        let rows: Vec<_> = deleted.iter().rev().map(|row| ("data", *row)).collect();
        let files = MemoryFiles::of([("data", file), ("deletes", positions_file(&rows))]);
        let deletes = delete_file(&files, "deletes");
        let mut request = request_of(files, vec![optional(1, "n", LONG)]);
        request.threads = threads;
        change_tasks(&mut request, |task| {
            task.deletes.positions = vec![Arc::clone(&deletes)]
        });
        let metrics = metrics(&request);
        let left = sorted_longs(&try_batches(request).unwrap());
        let expected: Vec<_> = (0..=15_000).filter(|row| row % 3 != 0).collect();
        assert_eq!(left, expected);
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!(count(&metrics.rows_deleted), 20_000 - expected.len() as u64);
        assert_eq!(count(&metrics.rows_read), expected.len() as u64);
        assert_eq!(count(&metrics.files_opened), 1, "data files only");
    }
}

#[test]
fn positions_count_rows_when_no_column_is_read() {
    let file = file_of(vec![(1, numbers(0..20_000))], 3_000);
    let rows: Vec<_> = (0..20_000).step_by(2).map(|row| ("data", row)).collect();
    let files = MemoryFiles::of([("data", file), ("deletes", positions_file(&rows))]);
    let deletes = delete_file(&files, "deletes");
    let mut request = request_of(files, Vec::new());
    change_tasks(&mut request, |task| {
        task.deletes.positions = vec![Arc::clone(&deletes)]
    });
    let batches = try_batches(request).unwrap();
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows, 10_000);
}

#[test]
fn a_delete_file_of_many_data_files_is_read_once() {
    let mut files = MemoryFiles::default();
    let mut rows = Vec::new();
    let paths: Vec<_> = (0..60).map(|number| format!("data{number:02}")).collect();
    for path in &paths {
        files
            .files
            .insert(path.clone(), file_of(vec![(1, numbers(0..10))], 10).into());
        rows.extend([(path.as_str(), 0), (path.as_str(), 9)]);
    }
    let two: ArrayRef = numbers(2..4);
    files
        .files
        .insert("deletes".to_owned(), positions_file(&rows).into());
    files
        .files
        .insert("keys".to_owned(), file_of(vec![(1, two)], 10).into());
    let positions = delete_file(&files, "deletes");
    let keys = delete_file(&files, "keys");
    let equality = equality_set(&[&[optional(1, "n", LONG)]], vec![(6, keys)]);
    let mut request = request_of(files, vec![optional(1, "n", LONG)]);
    request.threads = 2;
    change_tasks(&mut request, |task| {
        task.deletes.positions = vec![Arc::clone(&positions)];
        task.deletes.equality = vec![Arc::clone(&equality)];
    });
    let metrics = metrics(&request);
    let left = sorted_longs(&try_batches(request).unwrap());
    assert_eq!(left.len(), 60 * 6);
    assert_eq!(left[..60], [1; 60]);
    let requests = metrics.requests.load(Ordering::Relaxed);
    // The files are small: each comes with its footer.
    assert_eq!(requests, 60 + 2);
}

#[test]
fn deletion_vectors_that_lie_together_are_read_at_once() {
    let mut files = MemoryFiles::default();
    let mut puffin = b"PFA1".to_vec();
    let mut vectors = Vec::new();
    for number in 0..30_u64 {
        let path = format!("data{number:02}");
        files
            .files
            .insert(path, file_of(vec![(1, numbers(0..40))], 10).into());
        let blob = vector_blob(&[number, number + 1]);
        vectors.push(Arc::new(DeletionVector {
            path: RawPath("puffin".to_owned()),
            offset: puffin.len() as u64,
            length: blob.len() as u64,
            cardinality: Some(2),
        }));
        puffin.extend(blob);
    }
    files.files.insert("puffin".to_owned(), puffin.into());
    let mut request = request_of(files, vec![optional(1, "n", LONG)]);
    let mut vectors = vectors.into_iter();
    change_tasks(&mut request, |task| task.deletes.vector = vectors.next());
    let metrics = metrics(&request);
    let left = sorted_longs(&try_batches(request).unwrap());
    let expected: Vec<_> = (0..40)
        .flat_map(|value| {
            let missing = match value {
                0 | 30 => 1,
                1..30 => 2,
                _ => 0,
            };
            vec![value; 30 - missing]
        })
        .collect();
    assert_eq!(left, expected);
    assert_eq!(metrics.requests.load(Ordering::Relaxed), 30 + 1);
}

#[test]
fn several_position_delete_files_of_one_data_file_add_up() {
    let files = MemoryFiles::of([
        ("data", file_of(vec![(1, numbers(0..6))], 2)),
        (
            "p1",
            positions_file(&[("data", 1), ("data", 1), ("other", 0)]),
        ),
        ("p2", positions_file(&[("data", 5), ("data", 1)])),
        ("p3", positions_file(&[("other", 3)])),
    ]);
    let deletes: Vec<_> = ["p1", "p2", "p3"]
        .map(|path| delete_file(&files, path))
        .into();
    let mut request = request_of(files, vec![optional(1, "n", LONG)]);
    change_tasks(&mut request, |task| {
        task.deletes.positions = deletes.clone()
    });
    assert_eq!(sorted_longs(&try_batches(request).unwrap()), [0, 2, 3, 4]);
}

pub fn equality_set(
    paths: &[&[NestedField]],
    files: Vec<(i64, Arc<DeleteFile>)>,
) -> Arc<EqualityDeletes> {
    let columns = paths
        .iter()
        .map(|path| EqualityColumn {
            path: path.iter().cloned().map(Arc::new).collect(),
        })
        .collect();
    Arc::new(EqualityDeletes { columns, files })
}

/// The numbers that are left of a data file of column 1 with the numbers from 0, and of column 2,
/// when the keys of a delete file are deleted. Only column 1 is selected.
fn left_after(key_type: PrimitiveType, data: ArrayRef, keys: ArrayRef) -> Vec<i64> {
    let rows = data.len() as i64;
    let files = MemoryFiles::of([
        ("data", file_of(vec![(1, numbers(0..rows)), (2, data)], 2)),
        ("keys", file_of(vec![(2, keys)], 2)),
    ]);
    let keys = delete_file(&files, "keys");
    let deletes = equality_set(&[&[optional(2, "k", key_type)]], vec![(6, keys)]);
    let mut request = request_of(files, vec![optional(1, "n", LONG)]);
    change_tasks(&mut request, |task| {
        task.deletes.equality = vec![Arc::clone(&deletes)]
    });
    sorted_longs(&try_batches(request).unwrap())
}

#[test]
fn equality_matching_of_every_type() {
    let uuid = |last: u8| -> Vec<u8> { [[7; 15].to_vec(), vec![last]].concat() };
    let fixed = |values: Vec<Vec<u8>>| -> ArrayRef {
        Arc::new(FixedSizeBinaryArray::try_from_iter(values.into_iter()).unwrap())
    };
    let decimal = |values: Vec<i128>, precision: u8| -> ArrayRef {
        let array = Decimal128Array::from(values);
        Arc::new(array.with_precision_and_scale(precision, 2).unwrap())
    };
    let cases: Vec<(PrimitiveType, ArrayRef, ArrayRef)> = vec![
        (
            PrimitiveType::Boolean,
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
            Arc::new(BooleanArray::from(vec![false])),
        ),
        (
            PrimitiveType::Decimal {
                precision: 38,
                scale: 2,
            },
            decimal(vec![-1, 10_i128.pow(37), 5], 38),
            decimal(vec![10_i128.pow(37)], 38),
        ),
        // Widened since the data file was written, and since the deletes were.
        (
            PrimitiveType::Decimal {
                precision: 20,
                scale: 2,
            },
            decimal(vec![-1, 250, 5], 6),
            decimal(vec![250], 12),
        ),
        (
            PrimitiveType::Uuid,
            fixed(vec![uuid(1), uuid(2), uuid(3)]),
            fixed(vec![uuid(2)]),
        ),
        (
            PrimitiveType::Fixed(3),
            fixed(vec![vec![0; 3], vec![0, 0, 1], vec![1, 0, 0]]),
            fixed(vec![vec![0, 0, 1]]),
        ),
        (
            PrimitiveType::Binary,
            Arc::new(BinaryArray::from(vec![&b""[..], b"a\0", b"a"])),
            Arc::new(BinaryArray::from(vec![&b"a\0"[..]])),
        ),
        (
            STRING,
            Arc::new(StringArray::from(vec![
                "e\u{301}",
                "\u{e9}",
                "a longer text than fits a view",
            ])),
            Arc::new(StringArray::from(vec!["\u{e9}"])),
        ),
        (
            PrimitiveType::Date,
            Arc::new(Date32Array::from(vec![0, -1, 1])),
            Arc::new(Date32Array::from(vec![-1])),
        ),
        (
            PrimitiveType::Time,
            Arc::new(Time64MicrosecondArray::from(vec![0, 1, 2])),
            Arc::new(Time64MicrosecondArray::from(vec![1])),
        ),
        (
            PrimitiveType::TimestampNs,
            Arc::new(TimestampNanosecondArray::from(vec![
                0,
                123_456_789,
                123_456_788,
            ])),
            Arc::new(TimestampNanosecondArray::from(vec![123_456_789])),
        ),
        // Promotions: the file's type is the narrower, here the data's and there the deletes'.
        (
            LONG,
            Arc::new(Int32Array::from(vec![3, -4, 5])),
            Arc::new(Int64Array::from(vec![-4, 1 << 40])),
        ),
        (
            LONG,
            Arc::new(Int64Array::from(vec![3, -4, (1 << 32) - 4])),
            Arc::new(Int32Array::from(vec![-4])),
        ),
        (
            PrimitiveType::Double,
            Arc::new(Float32Array::from(vec![0.0, 0.1, -0.0])),
            Arc::new(Float32Array::from(vec![0.1])),
        ),
        (
            PrimitiveType::Timestamp,
            Arc::new(Date32Array::from(vec![0, 2, 1])),
            Arc::new(TimestampMicrosecondArray::from(vec![2 * 86_400_000_000, 1])),
        ),
    ];
    for (key_type, data, keys) in cases {
        let name = key_type.to_string();
        assert_eq!(left_after(key_type, data, keys), [0, 2], "{name}");
    }
}

#[test]
fn equality_matching_null_is_null_and_an_empty_text_is_not() {
    let data: ArrayRef = Arc::new(StringArray::from(vec![Some(""), None, Some("x"), None]));
    let null: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>]));
    let empty: ArrayRef = Arc::new(StringArray::from(vec![Some("")]));
    assert_eq!(left_after(STRING, Arc::clone(&data), null), [0, 2]);
    assert_eq!(left_after(STRING, data, empty), [1, 2, 3]);
}

#[test]
fn equality_columns_that_a_file_lacks_are_null() {
    let files = MemoryFiles::of([
        ("data old", file_of(vec![(1, numbers(0..2))], 9)),
        (
            "data new",
            file_of(vec![(1, numbers(2..4)), (2, numbers(7..9))], 9),
        ),
        (
            "keys",
            file_of(
                vec![(2, Arc::new(Int64Array::from(vec![None, Some(8)])))],
                9,
            ),
        ),
    ]);
    let keys = delete_file(&files, "keys");
    let deletes = equality_set(&[&[optional(2, "later", LONG)]], vec![(6, keys)]);
    let mut request = request_of(files, vec![optional(1, "n", LONG)]);
    change_tasks(&mut request, |task| {
        task.deletes.equality = vec![Arc::clone(&deletes)]
    });
    assert_eq!(sorted_longs(&try_batches(request).unwrap()), [2]);
}

#[test]
fn equality_columns_that_a_file_lacks_have_their_default() {
    let with_default = || NestedField {
        initial_default: Some(serde_json::json!(8)),
        ..optional(2, "later", LONG)
    };
    for (key, left) in [(Some(8), vec![2]), (None, vec![0, 1, 2, 3])] {
        let files = MemoryFiles::of([
            ("data old", file_of(vec![(1, numbers(0..2))], 9)),
            (
                "data new",
                file_of(vec![(1, numbers(2..4)), (2, numbers(7..9))], 9),
            ),
            (
                "keys",
                file_of(vec![(2, Arc::new(Int64Array::from(vec![key])))], 9),
            ),
        ]);
        let keys = delete_file(&files, "keys");
        let deletes = equality_set(&[&[with_default()]], vec![(6, keys)]);
        for fields in [
            vec![optional(1, "n", LONG)],
            vec![optional(1, "n", LONG), with_default()],
        ] {
            let files = MemoryFiles {
                files: files.files.clone(),
                ..MemoryFiles::default()
            };
            let mut request = request_of(files, fields);
            change_tasks(&mut request, |task| {
                task.deletes.equality = vec![Arc::clone(&deletes)]
            });
            assert_eq!(sorted_longs(&try_batches(request).unwrap()), left);
        }
    }
}

#[test]
fn equality_deletes_apply_by_strictly_greater_sequence_number_key_by_key() {
    let files = MemoryFiles::of([
        ("data", file_of(vec![(1, numbers(0..6))], 4)),
        ("k4", file_of(vec![(1, numbers(0..3))], 9)),
        ("k5", file_of(vec![(1, numbers(1..4))], 9)),
        ("k6", file_of(vec![(1, numbers(2..3))], 9)),
    ]);
    let keys =
        [(4, "k4"), (6, "k6"), (5, "k5")].map(|(number, path)| (number, delete_file(&files, path)));
    let deletes = equality_set(&[&[optional(1, "n", LONG)]], keys.into());
    for (data_sequence_number, expected) in [
        (3, &[4, 5][..]),
        (4, &[0, 4, 5]),
        (5, &[0, 1, 3, 4, 5]),
        (6, &[0, 1, 2, 3, 4, 5]),
    ] {
        let files = MemoryFiles {
            files: files.files.clone(),
            ..MemoryFiles::default()
        };
        let mut request = request_of(files, vec![optional(1, "n", LONG)]);
        change_tasks(&mut request, |task| {
            task.data_sequence_number = Some(data_sequence_number);
            task.deletes.equality = vec![Arc::clone(&deletes)];
        });
        assert_eq!(sorted_longs(&try_batches(request).unwrap()), expected);
    }
}

/// A column `s` with id 10 of structs of `a` (11) and `b` (12); some structs are null.
fn structs() -> ArrayRef {
    let a: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(4)]));
    let b: ArrayRef = Arc::new(StringArray::from(vec![
        Some("x"),
        Some("y"),
        Some("z"),
        None,
    ]));
    let members = [(11, "a", &a), (12, "b", &b)]
        .map(|(id, name, array)| with_id(id, field(name, array.data_type().clone())));
    let valid = NullBuffer::from(vec![true, true, true, false]);
    Arc::new(StructArray::new(
        Fields::from(members.to_vec()),
        vec![a, b],
        Some(valid),
    ))
}

fn key_struct(id: i32, name: &str, array: ArrayRef, valid: Option<Vec<bool>>) -> ArrayRef {
    let member = with_id(id, field(name, array.data_type().clone()));
    let fields = Fields::from(vec![member]);
    Arc::new(StructArray::new(
        fields,
        vec![array],
        valid.map(NullBuffer::from),
    ))
}

#[test]
fn equality_columns_in_structs_that_are_selected_without_them() {
    let key_b: ArrayRef = Arc::new(StringArray::from(vec![Some("y"), None]));
    let files = MemoryFiles::of([
        (
            "data",
            file_of(vec![(1, numbers(0..4)), (10, structs())], 3),
        ),
        (
            "keys",
            file_of(vec![(10, key_struct(12, "b", key_b, None))], 9),
        ),
    ]);
    let keys = delete_file(&files, "keys");
    let s = optional(10, "s", structure([optional(12, "b", STRING)]));
    let deletes = equality_set(&[&[s, optional(12, "b", STRING)]], vec![(6, keys)]);
    // The query's schema does not have `b` any more.
    let only_a = structure([optional(11, "a", INT)]);
    let fields = vec![optional(10, "s", only_a.clone()), optional(1, "n", LONG)];
    let mut request = request_of(files, fields);
    change_tasks(&mut request, |task| {
        task.deletes.equality = vec![Arc::clone(&deletes)]
    });
    let left = rows(request);
    assert_eq!(
        left.column(0).data_type(),
        &crate::read::arrow_type(&only_a)
    );
    // "If a parent struct column is null it implies the leaf column is null", says the spec.
    assert_eq!(
        left.column(1).as_primitive::<Int64Type>().values()[..],
        [0, 2]
    );
    let a = left
        .column(0)
        .as_struct()
        .column(0)
        .as_primitive::<Int32Type>();
    assert_eq!(a.iter().collect::<Vec<_>>(), [Some(1), None]);
}

#[test]
fn equality_columns_in_structs_that_the_query_does_not_read() {
    let key_a: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), None]));
    let files = MemoryFiles::of([
        (
            "data",
            file_of(vec![(1, numbers(0..4)), (10, structs())], 3),
        ),
        (
            "keys",
            file_of(
                vec![(10, key_struct(11, "a", key_a, Some(vec![true, false])))],
                9,
            ),
        ),
    ]);
    let keys = delete_file(&files, "keys");
    let s = optional(10, "s", structure([optional(11, "a", LONG)]));
    let deletes = equality_set(&[&[s, optional(11, "a", LONG)]], vec![(6, keys)]);
    let mut request = request_of(files, vec![optional(1, "n", LONG)]);
    change_tasks(&mut request, |task| {
        task.deletes.equality = vec![Arc::clone(&deletes)]
    });
    // Row 2 has a null in `s.a`, row 3 no `s`.
    assert_eq!(sorted_longs(&try_batches(request).unwrap()), [0]);
}

#[test]
fn an_equality_column_selected_as_it_was_before_its_type_was_widened() {
    let files = MemoryFiles::of([
        (
            "data",
            file_of(vec![(1, Arc::new(Int32Array::from(vec![1, 2, 3])))], 3),
        ),
        (
            "keys",
            file_of(vec![(1, Arc::new(Int64Array::from(vec![2, 1 << 40])))], 9),
        ),
    ]);
    let keys = delete_file(&files, "keys");
    let deletes = equality_set(&[&[optional(1, "n", LONG)]], vec![(6, keys)]);
    let mut request = request_of(files, vec![optional(1, "n", INT)]);
    change_tasks(&mut request, |task| {
        task.deletes.equality = vec![Arc::clone(&deletes)]
    });
    let left = rows(request);
    assert_eq!(
        left.column(0).as_primitive::<Int32Type>().values()[..],
        [1, 3]
    );
}

#[test]
fn little_memory_is_enough_when_data_files_take_turns() {
    // All positions together are more than the deletes may take; those of one file are not.
    let mut files = MemoryFiles::default();
    let every_other: Vec<u64> = (0..400_000).step_by(2).collect();
    let blob = vector_blob(&every_other);
    let mut vectors = Vec::new();
    for number in 0..40 {
        let (data, puffin) = (format!("data{number:02}"), format!("puffin{number}"));
        files
            .files
            .insert(data, file_of(vec![(1, numbers(0..9))], 3).into());
        vectors.push(Arc::new(DeletionVector {
            path: RawPath(puffin.clone()),
            offset: 4,
            length: blob.len() as u64,
            cardinality: Some(200_000),
        }));
        files
            .files
            .insert(puffin, [&b"PFA1"[..], &blob].concat().into());
    }
    let mut request = request_of(files, vec![optional(1, "n", LONG)]);
    request.memory = 512 << 10;
    request.threads = 2;
    assert!(40 * blob.len() > 4 * request.memory);
    let mut vectors = vectors.into_iter();
    change_tasks(&mut request, |task| task.deletes.vector = vectors.next());
    let left = sorted_longs(&try_batches(request).unwrap());
    assert_eq!(left.len(), 40 * 4);
}

#[test]
fn deletes_that_take_too_much_memory_are_an_error() {
    let files = MemoryFiles::of([
        ("data", file_of(vec![(1, numbers(0..9))], 3)),
        ("keys", file_of(vec![(1, numbers(0..100_000))], 10_000)),
    ]);
    let keys = delete_file(&files, "keys");
    let deletes = equality_set(&[&[optional(1, "n", LONG)]], vec![(6, keys)]);
    let mut request = request_of(files, vec![optional(1, "n", LONG)]);
    request.memory = 1 << 20;
    change_tasks(&mut request, |task| {
        task.deletes.equality = vec![Arc::clone(&deletes)]
    });
    assert_eq!(error_of(request).kind(), ErrorKind::MemoryLimit);
}

#[test]
fn equality_keys_are_kept_for_the_next_read_of_the_same_deletes_if_they_are_few() {
    let fetches = |memory: usize, same: bool| {
        let files = Arc::new(MemoryFiles::of([
            ("data", file_of(vec![(1, numbers(0..10_000))], 10_000)),
            ("keys", file_of(vec![(1, numbers(9..9_999))], 10_000)),
        ]));
        let keys = delete_file(&files, "keys");
        let set = || equality_set(&[&[optional(1, "n", LONG)]], vec![(6, Arc::clone(&keys))]);
        let (deletes, kept) = (set(), Arc::default());
        let mut before = 0;
        let counts = [Arc::clone(&deletes), if same { deletes } else { set() }].map(|deletes| {
            let mut request = request_of(MemoryFiles::default(), vec![optional(1, "n", LONG)]);
            request.files = Arc::clone(&files) as _;
            request.tasks = files.tasks();
            request.tasks.truncate(1);
            request.kept = Arc::clone(&kept);
            request.memory = memory;
            change_tasks(&mut request, |task| {
                task.data_sequence_number = Some(5);
                task.deletes.equality = vec![Arc::clone(&deletes)];
            });
            let left = sorted_longs(&try_batches(request).unwrap());
            assert_eq!(left, (0..9).chain([9_999]).collect::<Vec<_>>());
            let fetches = files.fetches.load(Ordering::SeqCst);
            fetches - std::mem::replace(&mut before, fetches)
        });
        counts[0] - counts[1]
    };
    assert!(fetches(64 << 20, true) > 0);
    assert_eq!(fetches(64 << 20, false), 0, "those of others");
    // A piece of keys has a megabyte: more than half of what deletes may take here.
    assert_eq!(fetches(3 << 20, true), 0, "too many");
}

#[test]
fn a_million_equality_keys_of_two_columns_fit_into_the_default_memory() {
    /// What `iceberg_fdw.scan_memory` is if nobody sets it.
    const DEFAULT_MEMORY: usize = 256 << 20;
    const KEYS: i64 = 1_000_000;
    // The data file has the first of the keys' odd numbers among others.
    let columns_of = |rows: i64, number: &dyn Fn(i64) -> i64| {
        let numbers = Int64Array::from_iter_values((0..rows).map(number));
        let texts = (0..rows).map(|n| format!("00000000-0000-4000-8000-{:012}", number(n)));
        let texts = StringArray::from_iter_values(texts);
        file_of(vec![(1, Arc::new(numbers)), (2, Arc::new(texts))], 200_000)
    };
    let files = MemoryFiles::of([
        ("data", columns_of(1_000, &|n| n)),
        ("keys", columns_of(KEYS, &|n| 2 * n + 1)),
    ]);
    let keys = delete_file(&files, "keys");
    let columns: [&[NestedField]; 2] = [&[optional(1, "n", LONG)], &[optional(2, "t", STRING)]];
    let deletes = equality_set(&columns, vec![(6, keys)]);
    let mut request = request_of(files, vec![optional(1, "n", LONG)]);
    request.memory = DEFAULT_MEMORY;
    change_tasks(&mut request, |task| {
        task.deletes.equality = vec![Arc::clone(&deletes)]
    });
    let even: Vec<_> = (0..1_000).step_by(2).collect();
    assert_eq!(sorted_longs(&try_batches(request).unwrap()), even);
}

#[test]
fn delete_files_that_break_their_rules() {
    let null_path = {
        let paths: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>]));
        parquet(vec![
            (2_147_483_546, field("file_path", DataType::Utf8), paths),
            (2_147_483_545, field("pos", DataType::Int64), numbers(0..1)),
        ])
    };
    let no_pos = {
        let paths: ArrayRef = Arc::new(StringArray::from(vec!["data"]));
        parquet(vec![(
            2_147_483_546,
            field("file_path", DataType::Utf8),
            paths,
        )])
    };
    for (file, said) in [
        (null_path, "no path"),
        (no_pos, "\"pos\""),
        (
            positions_file(&[("data", i64::MIN)]),
            "row -9223372036854775808",
        ),
        (b"not a Parquet file at all".to_vec(), "Parquet"),
    ] {
        let files = MemoryFiles::of([
            ("data", file_of(vec![(1, numbers(0..3))], 3)),
            ("deletes", file),
        ]);
        let deletes = delete_file(&files, "deletes");
        let mut request = request_of(files, vec![optional(1, "n", LONG)]);
        change_tasks(&mut request, |task| {
            task.deletes.positions = vec![Arc::clone(&deletes)]
        });
        let error = error_of(request);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(
            error.message().contains("\"deletes\"") && error.message().contains(said),
            "{error}"
        );
    }
}
