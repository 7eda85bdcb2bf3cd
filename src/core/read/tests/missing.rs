//! Columns that a file does not have: the value that its partition says, the initial default, null.
//! Spec: "Column Projection", "Default values", Appendix D "JSON single-value serialization".

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
    StringViewArray, Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use serde_json::{Value, json};

use super::support::*;
use crate::error::ErrorKind;
use crate::plan::TaskPartitionField;
use crate::read::ReadRequest;
use crate::spec::{NestedField, Partition, PrimitiveType, PrimitiveValue, Type};

/// A file of two rows whose only column has the id 1.
fn old_file() -> MemoryFiles {
    let array = Int32Array::from(vec![Some(1), None]);
    MemoryFiles::of([(
        "f",
        parquet(vec![(1, field("old", DataType::Int32), Arc::new(array))]),
    )])
}

fn with_default(mut field: NestedField, default: Value) -> NestedField {
    field.initial_default = Some(default);
    field
}

/// What two rows of an old file have for a column added with this default.
fn default_of(field_type: impl Into<Type>, default: Value) -> ArrayRef {
    let added = with_default(optional(2, "added", field_type), default);
    let batch = rows(request(old_file(), vec![optional(1, "old", INT), added]));
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().value(0), 1);
    assert_eq!(batch.column(0).null_count(), 1, "a stored null stays null");
    Arc::clone(batch.column(1))
}

#[test]
fn an_initial_default_of_every_type() {
    // 2025-02-03 04:05:06.789012 and its parts, by Postgres' extract(epoch from …).
    let micros = 1_738_555_506_789_012_i64;
    let nanos = micros * 1_000 + 345;
    let utc: Arc<str> = "UTC".into();
    let uuid = "f79c3e09-677c-4bbd-a479-3f349cb785e7";
    let uuid_bytes = uuid::Uuid::parse_str(uuid).unwrap().into_bytes();
    let decimal = PrimitiveType::Decimal {
        precision: 38,
        scale: 2,
    };
    let decimals = Decimal128Array::from(vec![-1_420, -1_420])
        .with_precision_and_scale(38, 2)
        .unwrap();
    let cases: Vec<(PrimitiveType, Value, ArrayRef)> = vec![
        (
            PrimitiveType::Boolean,
            json!(true),
            Arc::new(BooleanArray::from(vec![true; 2])),
        ),
        (INT, json!(-7), Arc::new(Int32Array::from(vec![-7; 2]))),
        (LONG, json!(7), Arc::new(Int64Array::from(vec![7; 2]))),
        (
            PrimitiveType::Float,
            json!(0.5),
            Arc::new(Float32Array::from(vec![0.5; 2])),
        ),
        (
            PrimitiveType::Double,
            json!(0.1),
            Arc::new(Float64Array::from(vec![0.1; 2])),
        ),
        (decimal, json!("-14.20"), Arc::new(decimals)),
        (
            PrimitiveType::Date,
            json!("1969-12-31"),
            Arc::new(Date32Array::from(vec![-1; 2])),
        ),
        (
            PrimitiveType::Time,
            json!("00:00:01.000002"),
            Arc::new(Time64MicrosecondArray::from(vec![1_000_002; 2])),
        ),
        (
            PrimitiveType::Timestamp,
            json!("2025-02-03T04:05:06.789012"),
            Arc::new(TimestampMicrosecondArray::from(vec![micros; 2])),
        ),
        (
            PrimitiveType::Timestamptz,
            json!("2025-02-03T04:05:06.789012+00:00"),
            Arc::new(
                TimestampMicrosecondArray::from(vec![micros; 2]).with_timezone(Arc::clone(&utc)),
            ),
        ),
        (
            PrimitiveType::TimestampNs,
            json!("2025-02-03T04:05:06.789012345"),
            Arc::new(TimestampNanosecondArray::from(vec![nanos; 2])),
        ),
        (
            PrimitiveType::TimestamptzNs,
            json!("2025-02-03T04:05:06.789012345+00:00"),
            Arc::new(TimestampNanosecondArray::from(vec![nanos; 2]).with_timezone(utc)),
        ),
        (
            STRING,
            json!("more than the twelve bytes of a view"),
            Arc::new(StringViewArray::from(vec![
                "more than the twelve bytes of a view";
                2
            ])),
        ),
        (
            PrimitiveType::Uuid,
            json!(uuid),
            Arc::new(
                FixedSizeBinaryArray::try_from_iter([uuid_bytes.as_slice(); 2].into_iter())
                    .unwrap(),
            ),
        ),
        (
            PrimitiveType::Fixed(2),
            json!("00ff"),
            Arc::new(FixedSizeBinaryArray::try_from_iter([&[0, 255][..]; 2].into_iter()).unwrap()),
        ),
        (
            PrimitiveType::Binary,
            json!("00ff"),
            Arc::new(BinaryViewArray::from(vec![&[0, 255][..]; 2])),
        ),
    ];
    for (primitive, default, expected) in cases {
        let read = default_of(primitive.clone(), default);
        assert_eq!(&read, &expected, "{primitive}");
    }
}

#[test]
fn a_default_of_null_is_null_and_a_write_default_is_not_read() {
    assert_eq!(default_of(INT, Value::Null).null_count(), 2);
    let mut added = optional(2, "added", INT);
    added.write_default = Some(json!(7));
    let batch = rows(request(old_file(), vec![added]));
    assert_eq!(batch.column(0).null_count(), 2);
}

#[test]
fn a_file_that_has_the_column_does_not_need_its_default() {
    let batch = rows(request(
        old_file(),
        vec![with_default(optional(1, "c", INT), json!(7))],
    ));
    assert_eq!(
        batch.column(0).as_primitive::<Int32Type>(),
        &Int32Array::from(vec![Some(1), None])
    );
}

#[test]
fn a_struct_has_the_defaults_of_its_members() {
    let inner = structure([
        with_default(optional(4, "a", LONG), json!(5)),
        optional(5, "b", STRING),
    ]);
    let members = || structure([with_default(optional(3, "inner", inner.clone()), json!({}))]);
    let read = default_of(members(), json!({}));
    let read = read.as_struct();
    assert_eq!(read.null_count(), 0);
    let inner = read.column(0).as_struct();
    assert_eq!(inner.null_count(), 0);
    assert_eq!(
        inner.column(0).as_primitive::<Int64Type>().values(),
        &[5; 2]
    );
    assert_eq!(inner.column(1).null_count(), 2);
    // Without a default of its own the struct is null, whatever its members have.
    let batch = rows(request(old_file(), vec![optional(2, "added", members())]));
    assert_eq!(batch.column(0).null_count(), 2);
}

#[test]
fn members_elements_and_values_have_defaults_where_a_struct_lacks_them() {
    let int = || -> ArrayRef { Arc::new(Int32Array::from(vec![1, 2, 3])) };
    let added = || with_default(optional(9, "added", LONG), json!(7));
    let structs = struct_of(vec![(2, "a", int())], Some(vec![true, false, true]));
    let written = parquet(vec![(
        1,
        field("c", structs.data_type().clone()),
        Arc::new(structs.clone()) as ArrayRef,
    )]);
    let read = column(written, structure([added(), optional(2, "a", INT)])).unwrap();
    let read = read.as_struct();
    assert!(read.is_null(1), "a null struct stays null");
    assert_eq!(read.column(0).as_primitive::<Int64Type>().value(2), 7);

    let lists = list_of(3, &[2, 0, 1], Arc::new(structs.clone()), None);
    let written = parquet(vec![(
        1,
        field("c", lists.data_type().clone()),
        Arc::new(lists) as ArrayRef,
    )]);
    let read = column(written, list(optional(3, "element", structure([added()])))).unwrap();
    let elements = read.as_list::<i32>().values().as_struct();
    assert!(elements.is_null(1));
    assert_eq!(elements.column(0).as_primitive::<Int64Type>().value(0), 7);

    let keys: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let maps = map_of((4, 5), &[1, 2], keys, Arc::new(structs));
    let written = parquet(vec![(
        1,
        field("c", maps.data_type().clone()),
        Arc::new(maps) as ArrayRef,
    )]);
    let wanted = map(
        NestedField::required(4, "key", STRING.into()),
        optional(5, "value", structure([added()])),
    );
    let read = column(written, wanted).unwrap();
    let values = read.as_map().values().as_struct();
    assert_eq!(values.column(0).as_primitive::<Int64Type>().value(0), 7);
}

#[test]
fn defaults_of_lists_and_maps() {
    let read = default_of(list(optional(3, "element", INT)), json!([1, null, 3]));
    let read = read.as_list::<i32>();
    for row in 0..2 {
        assert_eq!(
            read.value(row).as_primitive::<Int32Type>(),
            &Int32Array::from(vec![Some(1), None, Some(3)])
        );
    }
    let read = default_of(list(optional(3, "element", INT)), json!([]));
    assert_eq!(read.null_count(), 0);
    assert_eq!(read.as_list::<i32>().value(1).len(), 0);
    let wanted = map(
        NestedField::required(3, "key", STRING.into()),
        optional(4, "value", INT),
    );
    let read = default_of(wanted, json!({"keys": ["a", "b"], "values": [1, null]}));
    let read = read.as_map();
    assert_eq!(read.value_offsets(), &[0, 2, 4]);
    assert_eq!(
        read.values().as_primitive::<Int32Type>(),
        &Int32Array::from(vec![Some(1), None, Some(1), None])
    );
    // Members of structs inside are given by their ids, or have their own defaults.
    let element = structure([
        optional(4, "given", INT),
        with_default(optional(5, "own", INT), json!(6)),
    ]);
    let read = default_of(list(optional(3, "element", element)), json!([{"4": 1}, {}]));
    let elements = read.as_list::<i32>().value(1);
    let elements = elements.as_struct();
    assert_eq!(
        elements.column(0).as_primitive::<Int32Type>(),
        &Int32Array::from(vec![Some(1), None])
    );
    assert_eq!(
        elements.column(1).as_primitive::<Int32Type>().values(),
        &[6; 2]
    );
}

#[test]
fn a_default_that_is_no_value_names_the_column() {
    let inner = structure([with_default(optional(3, "inner", INT), json!("x"))]);
    let added = with_default(optional(2, "added", inner), json!({}));
    let error = error_of(request(old_file(), vec![added]));
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(
        error.message().contains("file \"f\": column \"added\""),
        "{error}"
    );
    let added = with_default(
        optional(2, "added", list(optional(3, "element", INT))),
        json!(1),
    );
    assert_eq!(
        error_of(request(old_file(), vec![added])).kind(),
        ErrorKind::Corrupt
    );
}

/// A request for old files in a partition: for each partition field the column whose values it
/// has, if it is an identity, and the value.
fn in_partition(
    fields: Vec<NestedField>,
    partition: Vec<(Option<i32>, Option<PrimitiveValue>)>,
) -> ReadRequest {
    let mut request = request(old_file(), fields);
    for task in &mut request.tasks {
        task.partition_fields = partition
            .iter()
            .enumerate()
            .map(|(place, (identity_source, _))| TaskPartitionField {
                name: format!("field {place}"),
                value_type: PrimitiveType::Unknown,
                identity_source: *identity_source,
            })
            .collect();
        task.partition = Partition {
            spec_id: 3,
            values: partition.iter().map(|(_, value)| value.clone()).collect(),
        };
    }
    request
}

#[test]
fn an_identity_partition_value_goes_before_the_default() {
    let batch = rows(in_partition(
        vec![
            optional(1, "old", INT),
            with_default(optional(2, "day", LONG), json!(9)),
            with_default(optional(3, "null", LONG), json!(9)),
            with_default(optional(4, "bucketed", LONG), json!(9)),
        ],
        vec![
            (Some(1), Some(PrimitiveValue::Int(99))),
            (None, Some(PrimitiveValue::Int(4))),
            (Some(2), Some(PrimitiveValue::Int(5))),
            (Some(3), None),
        ],
    ));
    assert_eq!(
        batch.column(0).as_primitive::<Int32Type>(),
        &Int32Array::from(vec![Some(1), None]),
        "what the file has counts"
    );
    assert_eq!(
        batch.column(1).as_primitive::<Int64Type>().values(),
        &[5, 5],
        "widened like the column"
    );
    assert_eq!(batch.column(2).null_count(), 2, "null is a value too");
    assert_eq!(
        batch.column(3).as_primitive::<Int64Type>().values(),
        &[9, 9],
        "only identity says what the value was"
    );
}

#[test]
fn an_identity_partition_value_of_a_member() {
    let structs = struct_of(
        vec![(2, "a", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef)],
        None,
    );
    let file = parquet(vec![(
        1,
        field("s", structs.data_type().clone()),
        Arc::new(structs) as ArrayRef,
    )]);
    let mut request = in_partition(
        vec![optional(1, "s", structure([optional(3, "b", STRING)]))],
        vec![(Some(3), Some(PrimitiveValue::String("x".into())))],
    );
    let files = MemoryFiles::of([("f", file)]);
    request.tasks[0].file_size = files.tasks()[0].file_size;
    request.files = Arc::new(files);
    let batch = rows(request);
    let member = batch.column(0).as_struct().column(0);
    assert_eq!(member.as_string_view().value(1), "x");
}

#[test]
fn a_partition_value_that_does_not_fit_the_column_is_an_error() {
    for (primitive, value, kind) in [
        (INT, PrimitiveValue::String("1".into()), ErrorKind::Corrupt),
        (
            PrimitiveType::Decimal {
                precision: 3,
                scale: 0,
            },
            PrimitiveValue::Decimal(1_000),
            ErrorKind::OutOfRange,
        ),
    ] {
        let error = error_of(in_partition(
            vec![optional(2, "c", primitive)],
            vec![(Some(2), Some(value))],
        ));
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains("column \"c\""), "{error}");
    }
}
