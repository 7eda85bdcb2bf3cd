//! Variants as another implementation writes them, plain and shredded, and bytes that are none.
//! Spec: Parquet "Variant Binary Encoding", "Variant Shredding".

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, Int64Array, StringArray, StructArray,
};
use arrow::datatypes::{DataType, Date32Type, Field, Fields, TimeUnit};
use arrow::temporal_conversions::{
    time64us_to_time, timestamp_ns_to_datetime, timestamp_us_to_datetime,
};
use parquet_variant::Variant;
use parquet_variant_compute::{VariantArray, VariantArrayBuilder, json_to_variant, shred_variant};

use super::support::*;
use crate::error::{ErrorKind, Result};
use crate::spec::Type;

/// Metadata of version 1 without names.
const NO_NAMES: &[u8] = &[0x01, 0, 0];
/// Metadata of version 1, sorted, with the names "a" and "b".
const A_AND_B: &[u8] = &[0x11, 2, 0, 1, 2, b'a', b'b'];

fn written(array: &VariantArray) -> Vec<u8> {
    let inner: ArrayRef = Arc::new(array.inner().clone());
    parquet(vec![(1, field("c", inner.data_type().clone()), inner)])
}

/// What each row is: `None` for no variant, else the variant as its own library shows it.
fn shown(array: &dyn Array) -> Vec<Option<String>> {
    let array = VariantArray::try_new(array).unwrap();
    (0..array.len())
        .map(|row| {
            array
                .is_valid(row)
                .then(|| format!("{:?}", array.value(row)))
        })
        .collect()
}

fn assert_read_back(stored: &VariantArray, expected: &VariantArray) {
    let read = column(written(stored), Type::Variant).unwrap();
    assert_eq!(shown(&read), shown(expected.inner()));
}

fn scalars() -> Vec<Variant<'static, 'static>> {
    let late = 253_402_300_799_999_999;
    let utc = |micros| timestamp_us_to_datetime(micros).unwrap().and_utc();
    let nanos = timestamp_ns_to_datetime(-1).unwrap();
    vec![
        Variant::Null,
        true.into(),
        false.into(),
        i8::MIN.into(),
        i16::MIN.into(),
        i32::MIN.into(),
        i64::MIN.into(),
        f32::MAX.into(),
        f64::NEG_INFINITY.into(),
        Variant::try_from((-12_345_i32, 2)).unwrap(),
        Variant::try_from((-123_456_789_012_345_i64, 18)).unwrap(),
        Variant::try_from((10_i128.pow(38) - 1, 38)).unwrap(),
        Date32Type::to_naive_date_opt(-719_162).unwrap().into(),
        time64us_to_time(86_399_999_999).unwrap().into(),
        utc(-1).into(),
        utc(late).naive_utc().into(),
        nanos.and_utc().into(),
        nanos.into(),
        uuid::Uuid::from_u128(7).into(),
        (&b"\x00\xff"[..]).into(),
        "short".into(),
        "a string of more than sixty-three bytes, which is stored in another way than a short one"
            .into(),
    ]
}

#[test]
fn plain_variants_of_every_type() {
    let mut builder = VariantArrayBuilder::new(32);
    for variant in scalars() {
        builder.append_variant(variant);
    }
    builder.append_null();
    let array = builder.build();
    assert_read_back(&array, &array);
}

#[test]
fn a_column_shredded_as_each_type_keeps_what_is_not_of_that_type() {
    let mut builder = VariantArrayBuilder::new(32);
    for variant in scalars() {
        builder.append_variant(variant);
    }
    builder.append_null();
    let array = builder.build();
    let utc = || Some("UTC".into());
    let shredded_types = [
        DataType::Boolean,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::Float32,
        DataType::Float64,
        DataType::Decimal32(9, 2),
        DataType::Decimal64(18, 18),
        DataType::Decimal128(38, 38),
        DataType::Date32,
        DataType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(TimeUnit::Microsecond, utc()),
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp(TimeUnit::Nanosecond, utc()),
        DataType::Timestamp(TimeUnit::Nanosecond, None),
        DataType::FixedSizeBinary(16),
        DataType::BinaryView,
        DataType::Utf8View,
    ];
    for shredded_type in shredded_types {
        let shredded = shred_variant(&array, &shredded_type).unwrap();
        assert!(
            shredded.typed_value_column().unwrap().null_count() < array.len(),
            "{shredded_type} holds something"
        );
        let read = column(written(&shredded), Type::Variant).unwrap();
        // Shredding may turn a number into an equal one of the shredded type.
        let of_library = parquet_variant_compute::unshred_variant(&shredded).unwrap();
        assert_eq!(shown(&read), shown(of_library.inner()), "{shredded_type}");
    }
}

#[test]
fn shredded_objects_and_arrays() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![
        Some(r#"{"a": 1, "b": {"c": "x", "d": [1, 2]}, "rest": null}"#),
        Some(r#"{"b": 5}"#),
        Some(r#"{"a": "no number", "b": {}}"#),
        Some("[1, 2]"),
        Some("{}"),
        Some("null"),
        None,
        Some(r#"{"list": [1, "two", null, [3], {"a": 4}]}"#),
        Some(r#"{"list": []}"#),
    ]));
    let array = json_to_variant(&texts).unwrap();
    let element = Arc::new(Field::new("element", DataType::Int8, true));
    let inner: Fields = vec![Field::new("c", DataType::Utf8View, true)].into();
    let object: Fields = vec![
        Field::new("a", DataType::Int64, true),
        Field::new("b", DataType::Struct(inner), true),
        Field::new("list", DataType::List(element), true),
    ]
    .into();
    let shredded = shred_variant(&array, &DataType::Struct(object)).unwrap();
    // Shredding makes some integers wider: then it is another type, and still the same number.
    let wider =
        |shown: Option<String>| shown.map(|text| text.replace("\"a\": Int8(1)", "\"a\": Int64(1)"));
    let expected: Vec<_> = shown(array.inner()).into_iter().map(wider).collect();
    let read = column(written(&shredded), Type::Variant).unwrap();
    assert_eq!(shown(&read), expected);
}

#[test]
fn variants_inside_structs_and_lists() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["1", r#"{"a": [true]}"#]));
    let variants = json_to_variant(&texts).unwrap();
    let inner: ArrayRef = Arc::new(variants.inner().clone());
    let member = with_id(2, field("v", inner.data_type().clone()));
    let outer: ArrayRef = Arc::new(StructArray::new(vec![member].into(), vec![inner], None));
    let file = parquet(vec![(1, field("c", outer.data_type().clone()), outer)]);
    let read = column(file, structure([optional(2, "v", Type::Variant)])).unwrap();
    assert_eq!(shown(read.as_struct().column(0)), shown(variants.inner()));
}

/// A file whose values are these bytes.
fn raw(metadata: &[u8], value: &[u8]) -> Vec<u8> {
    let bytes = |bytes: &[u8]| -> ArrayRef { Arc::new(BinaryViewArray::from(vec![bytes])) };
    let fields: Fields = vec![
        Field::new("metadata", DataType::BinaryView, false),
        Field::new("value", DataType::BinaryView, true),
    ]
    .into();
    let group: ArrayRef = Arc::new(StructArray::new(
        fields,
        vec![bytes(metadata), bytes(value)],
        None,
    ));
    parquet(vec![(1, field("c", group.data_type().clone()), group)])
}

/// Arrays of one element inside each other, with offsets of four bytes.
fn arrays(levels: usize) -> Vec<u8> {
    let mut value = vec![0];
    for _ in 1..levels {
        let length = u32::try_from(value.len()).unwrap().to_le_bytes();
        value = [&[0x0F, 1, 0, 0, 0, 0][..], &length, &value].concat();
    }
    value
}

fn read_raw(metadata: &[u8], value: &[u8]) -> Result<ArrayRef> {
    column(raw(metadata, value), Type::Variant)
}

#[test]
fn nesting_is_bounded() {
    read_raw(NO_NAMES, &arrays(200)).unwrap();
    let error = read_raw(NO_NAMES, &arrays(201)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    let error = read_raw(NO_NAMES, &arrays(10_000)).unwrap_err();
    assert!(
        error.message().contains("200 levels"),
        "{}",
        error.message()
    );
    assert!(error.message().contains("f.parquet"), "{}", error.message());
}

#[test]
fn inner_values_that_overlap_are_refused_before_they_are_visited() {
    let mut value = vec![0];
    for _ in 0..40 {
        let length = u16::try_from(value.len()).unwrap().to_le_bytes();
        // An object of two members at the same place: the header says offsets of two bytes.
        value = [&[0x06, 2, 0, 1, 0, 0, 0, 0][..], &length, &value].concat();
    }
    let error = read_raw(A_AND_B, &value).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("overlap"), "{}", error.message());
}

#[test]
fn a_value_beside_its_typed_value_is_corrupt() {
    let bytes = |bytes: &[u8]| -> ArrayRef { Arc::new(BinaryViewArray::from(vec![bytes])) };
    let fields: Fields = vec![
        Field::new("metadata", DataType::BinaryView, false),
        Field::new("value", DataType::BinaryView, true),
        Field::new("typed_value", DataType::Int64, true),
    ]
    .into();
    let typed: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let group: ArrayRef = Arc::new(StructArray::new(
        fields,
        vec![bytes(NO_NAMES), bytes(&[0]), typed],
        None,
    ));
    let file = parquet(vec![(1, field("c", group.data_type().clone()), group)]);
    let error = column(file, Type::Variant).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("\"c\""), "{}", error.message());
}

#[test]
fn what_is_no_group_of_bytes_is_no_variant() {
    for message in [
        "message m { optional binary c = 1; }",
        "message m { optional group c = 1 { optional binary value; } }",
        "message m { optional group c = 1 { required binary metadata; } }",
        "message m { optional group c = 1 { required int32 metadata; optional binary value; } }",
    ] {
        let leaves = message.matches("binary").count() + message.matches("int32").count();
        let columns = (0..leaves)
            .map(|leaf| RawColumn {
                values: match message.contains("int32") && leaf == 0 {
                    true => Values::Int32(Vec::new()),
                    false => Values::Bytes(Vec::new()),
                },
                definition_levels: Some(vec![0]),
                repetition_levels: None,
            })
            .collect();
        let error = column(raw_parquet(message, columns), Type::Variant).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TypeMismatch, "{message}");
    }
}
