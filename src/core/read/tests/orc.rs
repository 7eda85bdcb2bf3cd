//! ORC files that Apache ORC's C++ library wrote (see `testdata/write_orc.py`) against the formulas
//! they were written by, and what broken ones are answered with.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampNanosecondType,
};

use super::support::*;
use crate::error::{ErrorKind, Result};
use crate::read::ReadRequest;
use crate::spec::{NestedField, PrimitiveType};

fn request_of(file: Vec<u8>, fields: Vec<NestedField>) -> ReadRequest {
    request(MemoryFiles::of([("f.orc", file)]), fields)
}

fn types(fields: Vec<NestedField>) -> RecordBatch {
    let batch = rows(request_of(testdata("types.orc"), fields));
    assert_eq!(batch.num_rows(), 600);
    batch
}

fn decimal(precision: u8, scale: u8) -> PrimitiveType {
    PrimitiveType::Decimal { precision, scale }
}

#[test]
fn numbers_of_every_type() {
    let batch = types(vec![
        optional(7, "dec", decimal(38, 10)),
        optional(1, "i", INT),
        optional(2, "l", LONG),
        optional(3, "small", INT),
        optional(4, "f", PrimitiveType::Float),
        optional(5, "d", PrimitiveType::Double),
        optional(6, "b", PrimitiveType::Boolean),
        optional(17, "dec9", decimal(9, 2)),
    ]);
    let decimals = batch.column(0).as_primitive::<Decimal128Type>();
    let ints = batch.column(1).as_primitive::<Int32Type>();
    let longs = batch.column(2).as_primitive::<Int64Type>();
    let small = batch.column(3).as_primitive::<Int32Type>();
    let floats = batch.column(4).as_primitive::<Float32Type>();
    let doubles = batch.column(5).as_primitive::<Float64Type>();
    let booleans = batch.column(6).as_boolean();
    let short_decimals = batch.column(7).as_primitive::<Decimal128Type>();
    for row in 0..600 {
        let n = row as i64;
        assert_eq!(
            decimals.value(row),
            i128::from(n - 300) * 12_345_678_901_234_567_890_123
        );
        assert_eq!(ints.is_null(row), n % 7 == 0);
        if n % 7 != 0 {
            assert_eq!(i64::from(ints.value(row)), n);
        }
        assert_eq!(longs.value(row), (n - 300) * n * n * 123_456_789);
        assert_eq!(i64::from(small.value(row)), n % 256 - 128);
        assert_eq!(floats.value(row), n as f32 / 4.0);
        assert_eq!(doubles.value(row), n as f64 / 8.0 - 30.0);
        assert_eq!(booleans.is_null(row), n % 5 == 0);
        assert_eq!(booleans.value(row), n % 5 != 0 && n % 3 == 0);
        assert_eq!(short_decimals.value(row), i128::from(n - 300));
    }
}

#[test]
fn dates_and_times_on_both_sides_of_1970() {
    let batch = types(vec![
        optional(8, "dt", PrimitiveType::Date),
        optional(9, "ts", PrimitiveType::TimestampNs),
        optional(10, "tz", PrimitiveType::Timestamptz),
    ]);
    let floored = types(vec![optional(9, "ts", PrimitiveType::Timestamp)]);
    let dates = batch.column(0).as_primitive::<Date32Type>();
    let times = batch.column(1).as_primitive::<TimestampNanosecondType>();
    let instants = batch.column(2).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(instants.timezone(), Some("UTC"));
    let floored = floored.column(0).as_primitive::<TimestampMicrosecondType>();
    for row in 0..600 {
        let n = row as i64;
        let nanoseconds = (n - 300) * 7 * 86_400_000_000_000 + n * 1_001;
        assert_eq!(i64::from(dates.value(row)), n * 97 - 30_000);
        assert_eq!(times.value(row), nanoseconds, "row {row}");
        assert_eq!(floored.value(row), nanoseconds.div_euclid(1_000));
        assert_eq!(instants.value(row), (n - 300) * 7 * 86_400_000_000 + n);
    }
}

#[test]
fn text_and_bytes() {
    let batch = types(vec![
        optional(11, "s", STRING),
        optional(12, "text", STRING),
        optional(13, "bin", PrimitiveType::Binary),
    ]);
    let as_bytes = types(vec![optional(11, "s", PrimitiveType::Binary)]);
    for row in 0..600 {
        let text = format!("text {}", row % 10);
        assert_eq!(batch.column(0).as_string_view().value(row), text);
        assert_eq!(
            as_bytes.column(0).as_binary_view().value(row),
            text.as_bytes()
        );
        let texts = batch.column(1).as_string_view();
        assert_eq!(texts.is_null(row), row % 13 == 0);
        if row % 13 != 0 {
            assert_eq!(texts.value(row), format!("row {row} é"));
        }
        let bytes = vec![(row % 256) as u8; row % 20];
        assert_eq!(batch.column(2).as_binary_view().value(row), bytes);
    }
}

#[test]
fn nested_columns_by_id_at_every_depth() {
    let batch = types(vec![
        optional(
            16,
            "ma",
            map(optional(24, "key", STRING), optional(25, "value", LONG)),
        ),
        // Renamed, in another order, promoted, and with a member that the file lacks.
        optional(
            14,
            "renamed",
            structure([
                optional(22, "b2", STRING),
                optional(99, "new", INT),
                optional(21, "a2", LONG),
            ]),
        ),
        optional(15, "li", list(optional(23, "element", LONG))),
    ]);
    let (maps, structs, lists) = (
        batch.column(0).as_map(),
        batch.column(1).as_struct(),
        batch.column(2).as_list::<i32>(),
    );
    for row in 0..600 {
        let n = row as i64;
        let entries = maps.value(row);
        let keys = entries.column(0).as_string_view();
        let values = entries.column(1).as_primitive::<Int64Type>();
        assert_eq!(entries.len(), row % 3);
        for (j, (key, value)) in keys.iter().zip(values).enumerate() {
            assert_eq!(key, Some(format!("k{j}").as_str()));
            assert_eq!(value, Some(n + j as i64));
        }
        assert_eq!(structs.is_null(row), row % 11 == 0);
        if row % 11 != 0 {
            let texts = structs.column(0).as_string_view();
            assert_eq!(texts.value(row), format!("b{row}"));
            let numbers = structs.column(2).as_primitive::<Int64Type>();
            assert_eq!(numbers.is_null(row), row % 4 == 0);
            if row % 4 != 0 {
                assert_eq!(numbers.value(row), n);
            }
        }
        assert!(structs.column(1).is_null(row));
        assert_eq!(lists.is_null(row), row % 9 == 0);
        if row % 9 != 0 {
            let expected: Vec<_> = (0..n % 5)
                .map(|i| ((n + i) % 6 != 0).then_some(n * i))
                .collect();
            let values = lists.value(row);
            let values: Vec<_> = values.as_primitive::<Int64Type>().iter().collect();
            assert_eq!(values, expected);
        }
    }
}

#[test]
fn a_struct_of_which_the_file_has_no_member_keeps_its_nulls() {
    let batch = types(vec![optional(
        14,
        "st",
        structure([optional(99, "new", INT)]),
    )]);
    let structs = batch.column(0).as_struct();
    for row in 0..600 {
        assert_eq!(structs.is_null(row), row % 11 == 0);
        assert!(structs.column(0).is_null(row));
    }
}

#[test]
fn without_ids_and_name_mapping_names_are_those_of_the_schema() {
    // As Iceberg Java's OrcIterable, which makes a name mapping of the schema that is wanted.
    let batch = rows(request_of(
        testdata("without_ids.orc"),
        vec![
            optional(9, "text", STRING),
            optional(
                5,
                "s",
                structure([optional(7, "b", STRING), optional(6, "absent", INT)]),
            ),
            optional(1, "absent", INT),
            optional(2, "n", LONG),
        ],
    ));
    let structs = batch.column(1).as_struct();
    for row in 0..3 {
        assert_eq!(
            batch.column(0).as_string_view().value(row),
            format!("row {row}")
        );
        assert_eq!(
            structs.column(0).as_string_view().value(row),
            format!("b{row}")
        );
        assert!(structs.column(1).is_null(row) && batch.column(2).is_null(row));
        let numbers = batch.column(3).as_primitive::<Int64Type>();
        assert_eq!(numbers.value(row), row as i64);
    }
}

#[test]
fn promoted_and_missing_columns() {
    let batch = types(vec![
        optional(1, "i", LONG),
        optional(4, "f", PrimitiveType::Double),
        optional(17, "dec9", decimal(20, 2)),
        optional(8, "dt", PrimitiveType::Timestamp),
        optional(100, "new", STRING),
        optional(2, "nothing", PrimitiveType::Unknown),
    ]);
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(599), 599);
    assert_eq!(batch.column(1).as_primitive::<Float64Type>().value(3), 0.75);
    assert_eq!(
        batch.column(2).as_primitive::<Decimal128Type>().value(0),
        -300
    );
    let days = batch.column(3).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(days.value(0), -30_000 * 86_400_000_000);
    assert_eq!(batch.column(4).null_count(), 600);
    assert_eq!(batch.column(5).len(), 600);
    let error = error_of(request_of(
        testdata("types.orc"),
        vec![optional(11, "s", INT)],
    ));
    assert_eq!(error.kind(), ErrorKind::TypeMismatch, "{error}");
    assert!(
        error
            .message()
            .contains("\"f.orc\": column \"s\" is string"),
        "{error}"
    );
}

#[test]
fn every_codec_and_many_stripes() {
    for codec in ["uncompressed", "zlib", "snappy", "lz4", "zstd"] {
        let fields = vec![optional(2, "text", STRING), optional(1, "l", LONG)];
        let request = request_of(testdata(&format!("{codec}.orc")), fields);
        let metrics = metrics(&request);
        let batch = rows(request);
        assert_eq!(batch.num_rows(), 6_000, "{codec}");
        let texts = batch.column(0).as_string_view();
        let numbers = batch.column(1).as_primitive::<Int64Type>();
        for row in 0..6_000 {
            assert_eq!(texts.value(row), format!("row number {row}"), "{codec}");
            assert_eq!(
                numbers.value(row),
                row as i64 * 7_919 % 1_000_003,
                "{codec}"
            );
        }
        let read = |counter: &std::sync::atomic::AtomicU64| {
            counter.load(std::sync::atomic::Ordering::Relaxed)
        };
        assert_eq!(
            read(&metrics.row_groups_total),
            read(&metrics.row_groups_read)
        );
        assert_eq!(read(&metrics.rows_read), 6_000);
    }
}

#[test]
fn only_what_is_needed_is_fetched() {
    let fetched = |fields| {
        let request = request_of(testdata("uncompressed.orc"), fields);
        let metrics = metrics(&request);
        let batches = try_batches(request).unwrap();
        assert_eq!(
            batches.iter().map(RecordBatch::num_rows).sum::<usize>(),
            6_000
        );
        metrics
            .bytes_read
            .load(std::sync::atomic::Ordering::Relaxed)
    };
    let size = testdata("uncompressed.orc").len() as u64;
    assert!(fetched(vec![]) <= 64 * 1024);
    assert!(fetched(vec![optional(1, "l", LONG)]) < 64 * 1024 + size / 3);
}

/// A read of all columns of the small file.
fn read_damaged(file: Vec<u8>) -> Result<Vec<RecordBatch>> {
    let runtime = runtime();
    let fields = vec![
        optional(1, "i", INT),
        optional(9, "ts", PrimitiveType::Timestamp),
        optional(11, "s", STRING),
        optional(15, "li", list(optional(23, "element", LONG))),
        optional(17, "dec9", decimal(9, 2)),
    ];
    let request = request_of(file, fields);
    let mut receiver = start(&runtime, request);
    let mut batches = Vec::new();
    loop {
        match receiver.recv_timeout(std::time::Duration::from_secs(60)) {
            crate::read::RecvOutcome::Item(item) => batches.push(item?),
            crate::read::RecvOutcome::Timeout => panic!("the read hangs"),
            crate::read::RecvOutcome::Done => return Ok(batches),
        }
    }
}

#[test]
fn every_shortened_file_is_corrupt() {
    let file = testdata("types.orc");
    for length in (0..file.len()).step_by(61) {
        let error = read_damaged(file[..length].to_vec()).unwrap_err();
        assert!(error.message().contains("\"f.orc\""), "{error}");
        assert!(
            matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotSupported),
            "{length}: {error}"
        );
    }
}

#[test]
fn damaged_files_are_answered() {
    let file = testdata("types.orc");
    // The footers are where lies are most harmful.
    let places = (0..file.len())
        .step_by(97)
        .chain(file.len() - 1_500..file.len());
    for place in places {
        for change in [0xff, 0x01] {
            let mut damaged = file.clone();
            damaged[place] ^= change;
            if let Err(error) = read_damaged(damaged) {
                assert!(error.message().contains("\"f.orc\""), "{place}: {error}");
                assert_ne!(error.kind(), ErrorKind::Internal, "{place}: {error}");
                assert!(!error.message().contains("panicked"), "{place}: {error}");
            }
        }
    }
}

#[test]
fn the_manifest_may_be_wrong_about_the_size() {
    let file = testdata("types.orc");
    for size in [10, file.len() as u64 - 1, file.len() as u64 + 1, u64::MAX] {
        let mut request = request_of(file.clone(), vec![optional(1, "i", INT)]);
        request.tasks[0].file_size = size;
        assert_eq!(rows(request).num_rows(), 600);
    }
}

#[test]
fn what_is_no_orc_file_is_told() {
    for file in [
        &b""[..],
        b"O",
        b"ORC",
        b"PAR1PAR1PAR1",
        &[0xff; 300],
        &[0; 300],
    ] {
        let error = error_of(request_of(file.to_vec(), vec![optional(1, "c", INT)]));
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains("is not an ORC file"), "{error}");
    }
}

#[test]
fn types_are_read_as_arrow_types_say() {
    let fields = vec![
        optional(1, "i", LONG),
        optional(14, "st", structure([optional(22, "b", STRING)])),
        optional(
            16,
            "ma",
            map(optional(24, "key", STRING), optional(25, "value", INT)),
        ),
    ];
    let schema = types(fields.clone()).schema();
    for (field, read) in fields.iter().zip(schema.fields()) {
        assert_eq!(
            read.data_type(),
            &crate::read::arrow_type(&field.field_type)
        );
    }
}
