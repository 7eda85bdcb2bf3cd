//! Which columns come out, in which order and of which type; only needed leaves are fetched.
//! Spec: "Column Projection", "Primitive Types", "Nested Types".

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow::datatypes::{DataType, Int32Type, TimeUnit};

use super::support::*;
use crate::error::ErrorKind;
use crate::read::OutputColumn;
use crate::spec::{NestedField, PrimitiveType};

fn check(array: impl Array + 'static, wanted: PrimitiveType) {
    let array: ArrayRef = Arc::new(array);
    let written = field("written", array.data_type().clone());
    let file = parquet(vec![(1, written, Arc::clone(&array))]);
    let read = column(file, wanted).unwrap();
    let expected = arrow::compute::cast(&array, read.data_type()).unwrap();
    assert_eq!(&read, &expected);
}

#[test]
fn every_primitive_type_comes_back_as_written() {
    check(
        BooleanArray::from(vec![Some(true), None, Some(false)]),
        PrimitiveType::Boolean,
    );
    check(
        Int32Array::from(vec![Some(i32::MIN), None, Some(i32::MAX)]),
        PrimitiveType::Int,
    );
    check(
        Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX)]),
        PrimitiveType::Long,
    );
    check(
        Float32Array::from(vec![Some(f32::NEG_INFINITY), None, Some(-0.0), Some(1.5)]),
        PrimitiveType::Float,
    );
    check(
        Float64Array::from(vec![Some(f64::INFINITY), None, Some(f64::MIN_POSITIVE)]),
        PrimitiveType::Double,
    );
    let largest = 10_i128.pow(38) - 1;
    check(
        Decimal128Array::from(vec![Some(largest), None, Some(-largest)])
            .with_precision_and_scale(38, 10)
            .unwrap(),
        PrimitiveType::Decimal {
            precision: 38,
            scale: 10,
        },
    );
    check(
        Date32Array::from(vec![Some(-719_162), None, Some(2_932_896)]),
        PrimitiveType::Date,
    );
    check(
        Time64MicrosecondArray::from(vec![Some(0), None, Some(86_399_999_999)]),
        PrimitiveType::Time,
    );
    let micros = vec![
        Some(-62_135_596_800_000_000),
        None,
        Some(-1),
        Some(i64::MAX),
    ];
    check(
        TimestampMicrosecondArray::from(micros.clone()),
        PrimitiveType::Timestamp,
    );
    check(
        TimestampMicrosecondArray::from(micros).with_timezone("UTC"),
        PrimitiveType::Timestamptz,
    );
    let nanos = vec![Some(i64::MIN), None, Some(123_456_789)];
    check(
        TimestampNanosecondArray::from(nanos.clone()),
        PrimitiveType::TimestampNs,
    );
    check(
        TimestampNanosecondArray::from(nanos).with_timezone("UTC"),
        PrimitiveType::TimestamptzNs,
    );
    check(
        StringArray::from(vec![Some(""), None, Some("häßlich, länger als zwölf Byte")]),
        PrimitiveType::String,
    );
    let bytes: Vec<Option<&[u8]>> = vec![Some(b""), None, Some(b"\0\xFF not text at all")];
    check(BinaryArray::from(bytes), PrimitiveType::Binary);
    let sixteen = [Some(b"0123456789abcdef"), None];
    let sixteen =
        FixedSizeBinaryArray::try_from_sparse_iter_with_size(sixteen.into_iter(), 16).unwrap();
    check(sixteen.clone(), PrimitiveType::Uuid);
    check(sixteen, PrimitiveType::Fixed(16));
}

#[test]
fn nan_keeps_its_bits() {
    let nan = f64::from_bits(0xFFF8_0000_0000_0001);
    let file = parquet(vec![(
        1,
        field("x", DataType::Float64),
        Arc::new(Float64Array::from(vec![nan])),
    )]);
    let read = column(file, PrimitiveType::Double).unwrap();
    let read = read.as_primitive::<arrow::datatypes::Float64Type>();
    assert_eq!(read.value(0).to_bits(), nan.to_bits());
}

#[test]
fn columns_are_found_by_id_and_named_and_ordered_by_the_schema() {
    // Two columns have swapped names, and a third has a name that the schema uses for another id.
    let file = parquet(vec![
        (
            1,
            field("b", DataType::Int32),
            Arc::new(Int32Array::from(vec![1, 2])),
        ),
        (
            2,
            field("a", DataType::Int32),
            Arc::new(Int32Array::from(vec![10, 20])),
        ),
        (
            3,
            field("c", DataType::Int32),
            Arc::new(Int32Array::from(vec![100, 200])),
        ),
    ]);
    let mut request = request(
        MemoryFiles::of([("f", file)]),
        vec![
            optional(1, "a", INT),
            optional(2, "b", INT),
            optional(9, "c", INT),
        ],
    );
    request.columns = [9, 2, 1].map(OutputColumn::Field).to_vec();
    let batch = rows(request);
    let names: Vec<_> = batch
        .schema()
        .fields()
        .iter()
        .map(|f| f.name().clone())
        .collect();
    assert_eq!(names, ["c", "b", "a"]);
    assert_eq!(
        batch.column(0).null_count(),
        2,
        "a new field with an old name is null"
    );
    assert_eq!(
        batch.column(1).as_primitive::<Int32Type>().values(),
        &[10, 20]
    );
    assert_eq!(
        batch.column(2).as_primitive::<Int32Type>().values(),
        &[1, 2]
    );
}

#[test]
fn no_columns_still_count_rows() {
    let ids = Int32Array::from_iter_values(0..20_000);
    let file = parquet(vec![(1, field("a", DataType::Int32), Arc::new(ids))]);
    let size = file.len();
    let mut request = request(MemoryFiles::of([("f", file)]), vec![optional(1, "a", INT)]);
    request.columns = Vec::new();
    let metrics = metrics(&request);
    let batches = try_batches(request).unwrap();
    assert_eq!(
        batches.iter().map(|batch| batch.num_rows()).sum::<usize>(),
        20_000
    );
    assert!(batches.iter().all(|batch| batch.num_columns() == 0));
    assert_eq!(metrics.rows_read.load(Ordering::Relaxed), 20_000);
    assert_eq!(
        metrics.requests.load(Ordering::Relaxed),
        1,
        "only the footer is read"
    );
    assert!(metrics.bytes_read.load(Ordering::Relaxed) <= size as u64);
}

#[test]
fn only_needed_columns_are_fetched() {
    let numbers = Int64Array::from_iter_values((0..100_000).map(|n| n * 7919 % 100_003));
    let texts = StringArray::from_iter_values(
        (0..100_000_u64).map(|n| format!("{:032x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))),
    );
    let file = parquet(vec![
        (1, field("n", DataType::Int64), Arc::new(numbers)),
        (2, field("t", DataType::Utf8), Arc::new(texts)),
    ]);
    let size = file.len() as u64;
    let mut request = request(
        MemoryFiles::of([("f", file)]),
        vec![optional(1, "n", LONG), optional(2, "t", STRING)],
    );
    request.columns = vec![OutputColumn::Field(1)];
    let metrics = metrics(&request);
    assert_eq!(rows(request).num_rows(), 100_000);
    let read = metrics.bytes_read.load(Ordering::Relaxed);
    assert!(read < size / 2, "read {read} of {size} bytes");
}

#[test]
fn an_id_outside_the_schema_is_an_error() {
    let file = parquet(vec![(
        1,
        field("a", DataType::Int32),
        Arc::new(Int32Array::from(vec![1])),
    )]);
    let mut request = request(MemoryFiles::of([("f", file)]), vec![optional(1, "a", INT)]);
    request.columns = vec![OutputColumn::Field(2)];
    let error = error_of(request);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_null_in_a_required_field_is_passed_on() {
    let file = parquet(vec![(
        1,
        field("a", DataType::Int32),
        Arc::new(Int32Array::from(vec![Some(1), None])),
    )]);
    let batch = rows(request(
        MemoryFiles::of([("f", file)]),
        vec![NestedField::required(1, "a", INT.into())],
    ));
    assert_eq!(batch.column(0).null_count(), 1);
    assert!(batch.schema().field(0).is_nullable());
}

#[test]
fn unknown_is_all_null_whatever_the_file_has() {
    let file = parquet(vec![
        (
            1,
            field("u", DataType::Int32),
            Arc::new(Int32Array::from(vec![1, 2])),
        ),
        (
            2,
            field("a", DataType::Int32),
            Arc::new(Int32Array::from(vec![1, 2])),
        ),
    ]);
    let batch = rows(request(
        MemoryFiles::of([("f", file)]),
        vec![
            optional(1, "u", PrimitiveType::Unknown),
            optional(7, "missing", PrimitiveType::Unknown),
            optional(2, "a", INT),
        ],
    ));
    assert_eq!(batch.column(0).data_type(), &DataType::Null);
    assert_eq!(batch.column(1).data_type(), &DataType::Null);
    assert_eq!(batch.num_rows(), 2);
}

#[test]
fn the_arrow_schema_in_a_file_changes_nothing() {
    // ArrowWriter embeds its schema: dictionary, large text, a zone that is not UTC, seconds.
    let dictionary: arrow::array::DictionaryArray<Int32Type> =
        vec![Some("x"), None, Some("x")].into_iter().collect();
    let large = arrow::array::LargeStringArray::from(vec!["a", "b", "c"]);
    let zoned = TimestampMicrosecondArray::from(vec![1, 2, 3]).with_timezone("America/Los_Angeles");
    let seconds = arrow::array::TimestampSecondArray::from(vec![-1, 0, 1]);
    let file = parquet(vec![
        (
            1,
            field("d", dictionary.data_type().clone()),
            Arc::new(dictionary),
        ),
        (2, field("l", DataType::LargeUtf8), Arc::new(large)),
        (3, field("z", zoned.data_type().clone()), Arc::new(zoned)),
        (
            4,
            field("s", DataType::Timestamp(TimeUnit::Second, None)),
            Arc::new(seconds),
        ),
    ]);
    let result = try_batches(request(
        MemoryFiles::of([("f", file)]),
        vec![
            optional(1, "d", STRING),
            optional(2, "l", STRING),
            optional(3, "z", PrimitiveType::Timestamptz),
        ],
    ))
    .unwrap();
    let batch = &result[0];
    assert_eq!(batch.column(0).as_string_view().value(2), "x");
    assert!(batch.column(0).is_null(1));
    assert_eq!(batch.column(1).as_string_view().value(1), "b");
    assert_eq!(
        batch.column(2).data_type(),
        &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
    );
}
