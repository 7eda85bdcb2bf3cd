//! Files written under earlier schemas: promoted types, fields added, dropped, moved and renamed,
//! at every depth. Spec: "Schema Evolution", "Column Projection".

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Decimal128Array, Float32Array, Int32Array, Int64Array,
    StringArray,
};
use arrow::datatypes::{
    DataType, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType,
    TimestampNanosecondType,
};

use super::support::*;
use crate::error::ErrorKind;
use crate::spec::{NestedField, PrimitiveType, Type};

fn one_column(array: impl Array + 'static) -> Vec<u8> {
    let written = field("c", array.data_type().clone());
    parquet(vec![(1, written, Arc::new(array))])
}

#[test]
fn int_becomes_long() {
    let file = one_column(Int32Array::from(vec![Some(i32::MIN), None, Some(i32::MAX)]));
    let read = column(file, PrimitiveType::Long).unwrap();
    assert_eq!(
        read.as_primitive::<Int64Type>(),
        &Int64Array::from(vec![Some(-2_147_483_648), None, Some(2_147_483_647)])
    );
}

#[test]
fn float_becomes_double() {
    let file = one_column(Float32Array::from(vec![Some(0.1), None, Some(f32::NAN)]));
    let read = column(file, PrimitiveType::Double).unwrap();
    let read = read.as_primitive::<Float64Type>();
    assert_eq!(read.value(0), f64::from(0.1_f32));
    assert!(read.is_null(1));
    assert!(read.value(2).is_nan());
}

#[test]
fn decimals_get_more_digits() {
    let written = Decimal128Array::from(vec![Some(-99_999), None, Some(12_345)])
        .with_precision_and_scale(5, 2)
        .unwrap();
    let wanted = PrimitiveType::Decimal {
        precision: 38,
        scale: 2,
    };
    let read = column(one_column(written), wanted).unwrap();
    let read = read.as_primitive::<Decimal128Type>();
    assert_eq!(read.data_type(), &DataType::Decimal128(38, 2));
    assert_eq!(
        read.iter().collect::<Vec<_>>(),
        [Some(-99_999), None, Some(12_345)]
    );
}

#[test]
fn a_decimal_of_too_many_digits_is_out_of_range() {
    let written = Decimal128Array::from(vec![Some(1), Some(-100_000)])
        .with_precision_and_scale(10, 2)
        .unwrap();
    let wanted = PrimitiveType::Decimal {
        precision: 5,
        scale: 2,
    };
    let error = column(one_column(written), wanted).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert!(error.message().contains("\"f.parquet\""), "{error}");
    assert!(error.message().contains("\"c\""), "{error}");
}

#[test]
fn a_date_becomes_a_timestamp_without_zone() {
    let days = Date32Array::from(vec![Some(-1), None, Some(20_000)]);
    let read = column(one_column(days.clone()), PrimitiveType::Timestamp).unwrap();
    assert_eq!(
        read.as_primitive::<TimestampMicrosecondType>()
            .iter()
            .collect::<Vec<_>>(),
        [Some(-86_400_000_000), None, Some(1_728_000_000_000_000)]
    );
    let read = column(one_column(days.clone()), PrimitiveType::TimestampNs).unwrap();
    assert_eq!(
        read.as_primitive::<TimestampNanosecondType>().value(0),
        -86_400_000_000_000
    );
    let error = column(one_column(days), PrimitiveType::Timestamptz).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TypeMismatch);
}

#[test]
fn a_date_too_far_for_nanoseconds_is_out_of_range() {
    let days = Date32Array::from(vec![i32::MAX]);
    let error = column(one_column(days), PrimitiveType::TimestampNs).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert!(error.message().contains("\"c\""), "{error}");
}

#[test]
fn types_that_do_not_fit_are_named() {
    let texts = StringArray::from(vec!["1"]);
    let error = column(one_column(texts), PrimitiveType::Int).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TypeMismatch);
    assert_eq!(
        error.message(),
        "file \"f.parquet\": column \"c\" is BYTE_ARRAY (UTF8) in the file, \
         which cannot be read as int"
    );
    let longs = Int64Array::from(vec![1]);
    let error = column(one_column(longs), PrimitiveType::Int).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TypeMismatch, "no narrowing");
    let scale = Decimal128Array::from(vec![1])
        .with_precision_and_scale(9, 2)
        .unwrap();
    let wanted = PrimitiveType::Decimal {
        precision: 9,
        scale: 3,
    };
    let error = column(one_column(scale), wanted).unwrap_err();
    assert!(
        error
            .message()
            .contains("(DECIMAL(9, 2)) in the file, which cannot be read as decimal(9, 3)"),
        "{error}"
    );
    let error = column(
        one_column(Int32Array::from(vec![1])),
        list(optional(2, "element", INT)),
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TypeMismatch);
    let structs = struct_of(vec![(2, "a", Arc::new(Int32Array::from(vec![1])))], None);
    let error = column(one_column(structs), PrimitiveType::Int).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TypeMismatch);
}

#[test]
fn members_are_found_by_id_promoted_moved_and_added() {
    let written = struct_of(
        vec![
            (2, "y", Arc::new(Int32Array::from(vec![1, 2, 3]))),
            (3, "gone", Arc::new(StringArray::from(vec!["a", "b", "c"]))),
            (4, "x", Arc::new(Float32Array::from(vec![0.5, 1.5, 2.5]))),
        ],
        Some(vec![true, false, true]),
    );
    let wanted = structure([
        optional(4, "x", PrimitiveType::Double),
        optional(5, "y", STRING),
        optional(2, "renamed", LONG),
    ]);
    let read = column(one_column(written), wanted).unwrap();
    let read = read.as_struct();
    assert_eq!(read.column_names(), ["x", "y", "renamed"]);
    assert!(read.is_null(1) && read.is_valid(0));
    assert_eq!(read.column(0).as_primitive::<Float64Type>().value(2), 2.5);
    assert_eq!(read.column(1).null_count(), 3);
    assert_eq!(read.column(2).as_primitive::<Int64Type>().value(0), 1);
}

#[test]
fn elements_keys_and_values_are_promoted() {
    let lists = list_of(
        2,
        &[2, 0, 0, 1],
        Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])),
        Some(vec![true, true, false, true]),
    );
    let read = column(one_column(lists), list(optional(2, "element", LONG))).unwrap();
    let read = read.as_list::<i32>();
    assert!(read.is_null(2) && read.is_valid(1));
    assert_eq!(read.value(1).len(), 0);
    assert_eq!(
        read.value(0).as_primitive::<Int64Type>(),
        &Int64Array::from(vec![Some(1), None])
    );
    assert_eq!(read.value(3).as_primitive::<Int64Type>().value(0), 3);

    let values = struct_of(
        vec![(
            4,
            "d",
            Arc::new(Date32Array::from(vec![Some(1), None, Some(3)])),
        )],
        Some(vec![true, true, false]),
    );
    let maps = map_of(
        (2, 3),
        &[1, 0, 2],
        Arc::new(Int32Array::from(vec![7, 8, 9])),
        Arc::new(values),
    );
    let wanted = map(
        NestedField::required(2, "key", LONG.into()),
        optional(
            3,
            "value",
            structure([
                optional(5, "new", STRING),
                optional(4, "d", PrimitiveType::Timestamp),
            ]),
        ),
    );
    let read = column(one_column(maps), wanted).unwrap();
    let read = read.as_map();
    assert_eq!(read.value_offsets(), &[0, 1, 1, 3]);
    assert_eq!(read.keys().as_primitive::<Int64Type>().values(), &[7, 8, 9]);
    let values = read.values().as_struct();
    assert!(values.is_null(2));
    assert_eq!(values.column(0).null_count(), 3);
    assert_eq!(
        values
            .column(1)
            .as_primitive::<TimestampMicrosecondType>()
            .value(0),
        86_400_000_000
    );
}

#[test]
fn missing_columns_of_every_kind_are_null() {
    let file = parquet(vec![(
        1,
        field("a", DataType::Int32),
        Arc::new(Int32Array::from(vec![1, 2])),
    )]);
    let batch = rows(request(
        MemoryFiles::of([("f", file)]),
        vec![
            optional(2, "s", structure([optional(3, "m", INT)])),
            optional(4, "l", list(optional(5, "element", STRING))),
            optional(
                6,
                "m",
                map(optional(7, "key", STRING), optional(8, "value", INT)),
            ),
            optional(9, "t", STRING),
            NestedField::required(10, "r", INT.into()),
        ],
    ));
    assert_eq!(batch.num_rows(), 2);
    for array in batch.columns() {
        assert_eq!(array.null_count(), 2, "{}", array.data_type());
    }
}

/// A struct whose wanted members are all new: where it is null comes from a leaf that stays unseen.
#[test]
fn a_struct_without_any_wanted_member_keeps_its_nulls() {
    let valid = vec![true, false, true];
    let single = struct_of(
        vec![(
            2,
            "old",
            Arc::new(Int32Array::from(vec![Some(1), None, None])),
        )],
        Some(valid.clone()),
    );
    let inner_list = list_of(
        3,
        &[2, 0, 1],
        Arc::new(Int32Array::from(vec![1, 2, 3])),
        None,
    );
    let of_list = struct_of(vec![(2, "old", Arc::new(inner_list))], Some(valid.clone()));
    let inner = struct_of(
        vec![(3, "deep", Arc::new(StringArray::from(vec!["a"; 3])))],
        None,
    );
    let of_struct = struct_of(vec![(2, "old", Arc::new(inner))], Some(valid.clone()));
    let inner_map = map_of(
        (3, 4),
        &[1, 0, 1],
        Arc::new(StringArray::from(vec!["k", "k"])),
        Arc::new(Int32Array::from(vec![1, 2])),
    );
    let of_map = struct_of(vec![(2, "old", Arc::new(inner_map))], Some(valid));
    for written in [single, of_list, of_struct, of_map] {
        let wanted = structure([optional(9, "new", LONG)]);
        let read = column(one_column(written), wanted).unwrap();
        let read = read.as_struct();
        assert_eq!(read.len(), 3);
        assert!(read.is_valid(0) && read.is_null(1) && read.is_valid(2));
        assert_eq!(read.column(0).null_count(), 3);
    }
}

#[test]
fn a_contradicting_element_id_is_corrupt() {
    let lists = list_of(2, &[1], Arc::new(Int32Array::from(vec![1])), None);
    let error = column(one_column(lists), list(optional(3, "element", INT))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(
        error.message().contains("\"c.element\" has field id 2"),
        "{error}"
    );
}

#[test]
fn an_id_that_is_there_twice_is_corrupt() {
    let twice = Int32Array::from(vec![1]);
    let file = parquet(vec![
        (1, field("a", DataType::Int32), Arc::new(twice.clone())),
        (1, field("b", DataType::Int32), Arc::new(twice)),
    ]);
    let error = column(file, INT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("field id 1"), "{error}");
}

#[test]
fn sixty_four_levels_of_structs_and_lists() {
    let mut array: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let mut wanted = Type::Primitive(LONG);
    for level in (2..=65).rev() {
        if level % 2 == 0 {
            array = Arc::new(struct_of(vec![(level, "s", array)], None));
            wanted = structure([optional(level, "s", wanted)]);
        } else {
            array = Arc::new(list_of(level, &[1, 1, 1], array, None));
            wanted = list(optional(level, "element", wanted));
        }
    }
    let file =
        with_a_deep_stack(move || parquet(vec![(1, field("c", array.data_type().clone()), array)]));
    let mut read = column(file, wanted).unwrap();
    for _ in 2..=65 {
        read = match read.data_type() {
            DataType::Struct(_) => Arc::clone(read.as_struct().column(0)),
            _ => Arc::clone(read.as_list::<i32>().values()),
        };
    }
    assert_eq!(
        read.as_primitive::<Int64Type>(),
        &Int64Array::from(vec![Some(1), None, Some(3)])
    );
}

#[test]
fn five_hundred_columns() {
    let columns = (1..=500)
        .map(|id| {
            let array: ArrayRef = Arc::new(Int32Array::from_iter_values((0..3).map(|n| n + id)));
            (id, field(&format!("column_{id}"), DataType::Int32), array)
        })
        .collect();
    let fields = (1..=500)
        .rev()
        .map(|id| optional(id, &format!("renamed_{id}"), LONG))
        .collect();
    let batch = rows(request(MemoryFiles::of([("f", parquet(columns))]), fields));
    assert_eq!((batch.num_columns(), batch.num_rows()), (500, 3));
    for (index, array) in batch.columns().iter().enumerate() {
        let id = 500 - index as i64;
        assert_eq!(
            array.as_primitive::<Int64Type>().values(),
            &[id, id + 1, id + 2]
        );
    }
}
