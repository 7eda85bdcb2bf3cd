//! What is written is read as the same, for everything the spec can say; and nothing that is read
//! can do more harm than an error.

use proptest::prelude::*;
use serde_json::Value;

use super::metadata_strategies;
use super::strategies;
use super::{
    NestedField, PartitionSpec, PrimitiveType, PrimitiveValue, Schema, SortOrder, TableMetadata,
    Transform, Type,
};
use crate::error::ErrorKind;

const V2: &str = include_str!("testdata/v2_full.metadata.json");
const V3: &str = include_str!("testdata/v3_all_types.metadata.json");

/// JSON after it has been in a file.
fn through_text(value: &Value) -> Value {
    serde_json::from_str(&value.to_string()).unwrap()
}

/// Equality that tells NaN from other values, but not from itself.
fn same(left: &PrimitiveValue, right: &PrimitiveValue) -> bool {
    match (left, right) {
        (PrimitiveValue::Float(left), PrimitiveValue::Float(right)) if left.is_nan() => {
            right.is_nan()
        }
        (PrimitiveValue::Double(left), PrimitiveValue::Double(right)) if left.is_nan() => {
            right.is_nan()
        }
        (PrimitiveValue::Float(left), PrimitiveValue::Float(right)) => {
            left.to_bits() == right.to_bits()
        }
        (PrimitiveValue::Double(left), PrimitiveValue::Double(right)) => {
            left.to_bits() == right.to_bits()
        }
        _ => left == right,
    }
}

proptest! {
    #[test]
    fn primitive_types(primitive in strategies::primitive_type()) {
        let name = primitive.to_string();
        prop_assert_eq!(PrimitiveType::from_name(&name).unwrap(), primitive.clone());
        let blanks = name.replace(", ", " ,\t").replace('(', " ( ").replace(')', " ) ");
        prop_assert_eq!(PrimitiveType::from_name(&blanks).unwrap(), primitive);
    }

    #[test]
    fn nested_types(nested in strategies::nested_type()) {
        prop_assert_eq!(Type::from_json(&through_text(&nested.to_json())).unwrap(), nested);
    }

    #[test]
    fn values_in_binary((primitive, value) in strategies::typed_value()) {
        let read = PrimitiveValue::from_bytes(&primitive, &value.to_bytes()).unwrap();
        prop_assert!(same(&read, &value), "{:?}", read);
    }

    #[test]
    fn values_in_json((primitive, value) in strategies::typed_value()) {
        let json = through_text(&value.to_json(&primitive));
        let read = PrimitiveValue::from_json(&primitive, &json).unwrap();
        prop_assert!(same(&read, &value), "{:?} by way of {}", read, json);
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(
        primitive in strategies::primitive_type(),
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        if let Ok(value) = PrimitiveValue::from_bytes(&primitive, &bytes) {
            let again = PrimitiveValue::from_bytes(&primitive, &value.to_bytes()).unwrap();
            prop_assert!(same(&again, &value));
            value.to_json(&primitive);
        }
    }

    #[test]
    fn any_json_is_a_value_or_an_error(
        primitive in strategies::primitive_type(),
        json in strategies::json_value(),
        text in "[-+0-9TZ:.eE]{0,32}",
    ) {
        for json in [json, Value::String(text)] {
            if let Ok(value) = PrimitiveValue::from_json(&primitive, &json) {
                let again = PrimitiveValue::from_json(&primitive, &value.to_json(&primitive));
                prop_assert!(same(&again.unwrap(), &value));
            }
        }
    }

    #[test]
    fn transforms(transform in strategies::transform()) {
        prop_assert_eq!(Transform::parse(&transform.to_string()).unwrap(), transform);
    }

    #[test]
    fn transformed_values_are_of_the_result_type(
        (primitive, value) in strategies::typed_value(),
        transform in strategies::transform(),
    ) {
        let result = transform.apply(&value);
        if let Some(result) = &result {
            prop_assert!(transform.accepts(&primitive), "{} of {}", transform, primitive);
            let result_type = transform.result_type(&primitive);
            let read = PrimitiveValue::from_bytes(&result_type, &result.to_bytes()).unwrap();
            prop_assert!(same(&read, result));
        }
        if let (Transform::Bucket(buckets), Some(PrimitiveValue::Int(bucket))) =
            (&transform, &result)
        {
            prop_assert!(*bucket >= 0 && bucket.unsigned_abs() < buckets.get());
        }
    }

    #[test]
    fn partition_specs(spec in strategies::partition_spec((1..50).collect())) {
        let json = through_text(&spec.to_json());
        prop_assert_eq!(PartitionSpec::from_json(&json).unwrap(), spec.clone());
        let fields = spec.fields_to_json().to_string();
        let from_fields = PartitionSpec::parse_fields(spec.spec_id, &fields).unwrap();
        prop_assert_eq!(from_fields.fields, spec.fields);
    }

    #[test]
    fn sort_orders(order in strategies::sort_order()) {
        let json = through_text(&order.to_json());
        prop_assert_eq!(SortOrder::from_json(&json).unwrap(), order);
    }

    #[test]
    fn schemas(schema in strategies::schema()) {
        let text = schema.to_json().to_string();
        prop_assert_eq!(Schema::parse(&text).unwrap(), schema);
    }

    #[test]
    fn every_field_is_found_by_its_id(schema in strategies::schema()) {
        for id in 1..=schema.highest_field_id() {
            let field = schema.field_by_id(id).unwrap();
            let path = schema.field_path_name(id).unwrap();
            prop_assert!(path.ends_with(&field.name));
        }
        prop_assert!(schema.field_by_id(schema.highest_field_id() + 1).is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn metadata(metadata in metadata_strategies::table_metadata()) {
        let json = metadata.to_json();
        let text = json.to_string();
        let read = TableMetadata::parse("file", text.as_bytes()).unwrap();
        prop_assert_eq!(&read, &metadata);
        prop_assert_eq!(read.to_json(), json);
    }
}

fn damaged_file() -> impl Strategy<Value = Value> {
    prop_oneof![
        metadata_strategies::damaged(serde_json::from_str(V2).unwrap()),
        metadata_strategies::damaged(serde_json::from_str(V3).unwrap()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn damaged_metadata_is_read_or_an_error(document in damaged_file()) {
        match TableMetadata::parse("some/file", document.to_string().as_bytes()) {
            Ok(metadata) => {
                let again = TableMetadata::from_json(&metadata.to_json()).unwrap();
                prop_assert_eq!(again, metadata);
            }
            Err(error) => {
                prop_assert!(error.message().starts_with("file \"some/file\": "), "{}", error);
                prop_assert!(
                    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotSupported),
                    "{:?}", error
                );
            }
        }
    }

    #[test]
    fn bytes_that_are_no_metadata_are_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        compressed in any::<bool>(),
    ) {
        let start: &[u8] = if compressed { &[0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0] } else { b"{" };
        prop_assert!(TableMetadata::parse("file", &[start, &bytes].concat()).is_err());
    }
}

#[test]
fn fields_keep_their_unknown_keys() {
    let json = serde_json::json!({"type": "struct", "fields": [
        {"id": 1, "name": "a", "required": false, "type": "int", "x-unit": "metre"}
    ]});
    let read = Type::from_json(&json).unwrap();
    let Type::Struct(fields) = &read else {
        panic!()
    };
    let expected = NestedField {
        unknown: [("x-unit".to_owned(), Value::from("metre"))]
            .into_iter()
            .collect(),
        ..NestedField::optional(1, "a", Type::Primitive(PrimitiveType::Int))
    };
    assert_eq!(fields.fields()[0].as_ref(), &expected);
    assert_eq!(read.to_json(), json);
}
