//! Arbitrary types, values, schemas, specs and orders for property tests, as far as the spec allows
//! them.

use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::partition::{PartitionField, PartitionSpec};
use super::schema::Schema;
use super::sort_order::{NullOrder, SortDirection, SortField, SortOrder};
use super::transform::Transform;
use super::types::{ListType, MapType, NestedField, PrimitiveType, StructType, Type};
use super::value::PrimitiveValue;

pub(crate) fn primitive_type() -> impl Strategy<Value = PrimitiveType> {
    let algorithms =
        prop::sample::select(vec!["spherical", "vincenty", "thomas", "andoyer", "karney"]);
    let crs = "[A-Za-z0-9:._-]{1,12}";
    prop_oneof![
        storable_type(),
        Just(PrimitiveType::Unknown),
        option::of(crs).prop_map(|crs| PrimitiveType::Geometry { crs }),
        Just(PrimitiveType::Geography {
            crs: None,
            algorithm: None
        }),
        (crs, option::of(algorithms)).prop_map(|(crs, algorithm)| PrimitiveType::Geography {
            crs: Some(crs),
            algorithm: algorithm.map(str::to_owned),
        }),
    ]
}

/// The primitive types that have values in the JSON single-value form.
pub(crate) fn storable_type() -> impl Strategy<Value = PrimitiveType> {
    let decimal = (1..=38_u8)
        .prop_flat_map(|precision| (Just(precision), 0..=precision))
        .prop_map(|(precision, scale)| PrimitiveType::Decimal { precision, scale });
    prop_oneof![
        2 => decimal,
        2 => (0..40_u32).prop_map(PrimitiveType::Fixed),
        13 => prop::sample::select(vec![
            PrimitiveType::Boolean,
            PrimitiveType::Int,
            PrimitiveType::Long,
            PrimitiveType::Float,
            PrimitiveType::Double,
            PrimitiveType::Date,
            PrimitiveType::Time,
            PrimitiveType::Timestamp,
            PrimitiveType::Timestamptz,
            PrimitiveType::TimestampNs,
            PrimitiveType::TimestamptzNs,
            PrimitiveType::String,
            PrimitiveType::Uuid,
            PrimitiveType::Binary,
        ]),
    ]
}

pub(crate) fn value_of(primitive: &PrimitiveType) -> BoxedStrategy<PrimitiveValue> {
    let bytes = |length| vec(any::<u8>(), length);
    match primitive {
        PrimitiveType::Boolean => any::<bool>().prop_map(PrimitiveValue::Boolean).boxed(),
        PrimitiveType::Int => any::<i32>().prop_map(PrimitiveValue::Int).boxed(),
        PrimitiveType::Long => any::<i64>().prop_map(PrimitiveValue::Long).boxed(),
        PrimitiveType::Float => any::<f32>().prop_map(PrimitiveValue::Float).boxed(),
        PrimitiveType::Double => any::<f64>().prop_map(PrimitiveValue::Double).boxed(),
        PrimitiveType::Decimal { precision, .. } => {
            let limit = 10_i128.pow((*precision).into());
            (1 - limit..limit).prop_map(PrimitiveValue::Decimal).boxed()
        }
        PrimitiveType::Date => any::<i32>().prop_map(PrimitiveValue::Date).boxed(),
        PrimitiveType::Time => (0..86_400_000_000_i64)
            .prop_map(PrimitiveValue::Time)
            .boxed(),
        PrimitiveType::Timestamp => any::<i64>().prop_map(PrimitiveValue::Timestamp).boxed(),
        PrimitiveType::Timestamptz => any::<i64>().prop_map(PrimitiveValue::Timestamptz).boxed(),
        PrimitiveType::TimestampNs => any::<i64>().prop_map(PrimitiveValue::TimestampNs).boxed(),
        PrimitiveType::TimestamptzNs => {
            any::<i64>().prop_map(PrimitiveValue::TimestamptzNs).boxed()
        }
        PrimitiveType::String => any::<String>().prop_map(PrimitiveValue::String).boxed(),
        PrimitiveType::Uuid => any::<u128>()
            .prop_map(|value| PrimitiveValue::Uuid(Uuid::from_u128(value)))
            .boxed(),
        PrimitiveType::Fixed(length) => bytes(*length as usize..=*length as usize)
            .prop_map(PrimitiveValue::Fixed)
            .boxed(),
        PrimitiveType::Binary
        | PrimitiveType::Unknown
        | PrimitiveType::Geometry { .. }
        | PrimitiveType::Geography { .. } => bytes(0..=20).prop_map(PrimitiveValue::Binary).boxed(),
    }
}

pub(crate) fn typed_value() -> impl Strategy<Value = (PrimitiveType, PrimitiveValue)> {
    storable_type().prop_flat_map(|primitive| {
        let value = value_of(&primitive);
        (Just(primitive), value)
    })
}

/// Keys from nobody knows where.
pub(crate) fn unknown_keys() -> impl Strategy<Value = Map<String, Value>> {
    btree_map("x-[a-z]{1,5}", json_value(), 0..2).prop_map(|keys| keys.into_iter().collect())
}

pub(crate) fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..3)
                .prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}

/// A type at any depth, its field ids not yet unique.
fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        8 => primitive_type().prop_map(Type::Primitive),
        1 => Just(Type::Variant),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let element = (inner.clone(), any::<bool>()).prop_map(|(field_type, required)| {
            Type::List(ListType {
                element: Arc::new(NestedField {
                    required,
                    ..NestedField::optional(0, "element", field_type)
                }),
            })
        });
        let entry =
            (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(key, value, required)| {
                Type::Map(MapType {
                    key: Arc::new(NestedField::required(0, "key", key)),
                    value: Arc::new(NestedField {
                        required,
                        ..NestedField::optional(0, "value", value)
                    }),
                })
            });
        prop_oneof![
            element,
            entry,
            btree_map(any::<String>(), field(inner.boxed()), 0..4).prop_map(|fields| {
                Type::Struct(StructType::new(
                    fields
                        .into_iter()
                        .map(|(name, field)| NestedField { name, ..field }),
                ))
            }),
        ]
    })
}

/// A field of a struct, its id and name to be set.
fn field(types: BoxedStrategy<Type>) -> impl Strategy<Value = NestedField> {
    (
        types,
        any::<bool>(),
        option::of(any::<String>()),
        unknown_keys(),
    )
        .prop_flat_map(|(field_type, required, doc, unknown)| {
            let defaults = match field_type.as_primitive() {
                Some(
                    PrimitiveType::Unknown
                    | PrimitiveType::Geometry { .. }
                    | PrimitiveType::Geography { .. },
                )
                | None => Just((None, None)).boxed(),
                Some(primitive) => {
                    let primitive = primitive.clone();
                    let one = option::of(
                        value_of(&primitive).prop_map(move |value| value.to_json(&primitive)),
                    );
                    (one.clone(), one).boxed()
                }
            };
            defaults.prop_map(move |(initial_default, write_default)| NestedField {
                required,
                doc: doc.clone(),
                initial_default,
                write_default,
                unknown: unknown.clone(),
                ..NestedField::optional(0, "", field_type.clone())
            })
        })
}

/// Gives every field an id of its own, counting up.
fn with_ids(field_type: &Type, next: &mut i32) -> Type {
    let renew = |field: &NestedField, next: &mut i32| {
        *next += 1;
        NestedField {
            id: *next,
            field_type: with_ids(&field.field_type, next),
            ..field.clone()
        }
    };
    match field_type {
        Type::Primitive(_) | Type::Variant => field_type.clone(),
        Type::Struct(fields) => {
            let fields: Vec<NestedField> = fields
                .fields()
                .iter()
                .map(|field| renew(field, next))
                .collect();
            Type::Struct(StructType::new(fields))
        }
        Type::List(list) => Type::List(ListType {
            element: Arc::new(renew(&list.element, next)),
        }),
        Type::Map(map) => Type::Map(MapType {
            key: Arc::new(renew(&map.key, next)),
            value: Arc::new(renew(&map.value, next)),
        }),
    }
}

pub(crate) fn nested_type() -> impl Strategy<Value = Type> {
    any_type().prop_map(|field_type| with_ids(&field_type, &mut 0))
}

pub(crate) fn schema() -> impl Strategy<Value = Schema> {
    let fields = btree_map(any::<String>(), field(any_type().boxed()), 0..5);
    (0..1_000_i32, fields, any::<bool>(), unknown_keys()).prop_map(
        |(schema_id, fields, identified, unknown)| {
            let fields = StructType::new(
                fields
                    .into_iter()
                    .map(|(name, field)| NestedField { name, ..field }),
            );
            let Type::Struct(fields) = with_ids(&Type::Struct(fields), &mut 0) else {
                unreachable!()
            };
            let can_identify = |field: &&Arc<NestedField>| {
                field.required
                    && field.field_type.as_primitive().is_some_and(|primitive| {
                        !matches!(primitive, PrimitiveType::Float | PrimitiveType::Double)
                    })
            };
            let identifiers = fields
                .fields()
                .iter()
                .filter(|field| identified && can_identify(field))
                .map(|field| field.id)
                .collect();
            Schema::new(schema_id, identifiers, fields).with_unknown(unknown)
        },
    )
}

pub(crate) fn transform() -> impl Strategy<Value = Transform> {
    let parameter =
        (1..=i32::MAX.unsigned_abs()).prop_filter_map("not zero", std::num::NonZeroU32::new);
    prop_oneof![
        prop::sample::select(vec![
            Transform::Identity,
            Transform::Year,
            Transform::Month,
            Transform::Day,
            Transform::Hour,
            Transform::Void,
        ]),
        parameter.clone().prop_map(Transform::Bucket),
        parameter.prop_map(Transform::Truncate),
        any::<String>().prop_filter_map("a known transform", |name| {
            Transform::parse(&name)
                .ok()
                .filter(|transform| matches!(transform, Transform::Unknown(_)))
        }),
    ]
}

/// A spec whose single sources are among these columns.
pub(crate) fn partition_spec(columns: Vec<i32>) -> impl Strategy<Value = PartitionSpec> {
    let source_ids = source_ids(columns);
    let field = (transform(), source_ids, 1_000..1_100_i32, unknown_keys());
    (
        0..1_000_i32,
        btree_map(any::<String>(), field, 0..4),
        unknown_keys(),
    )
        .prop_map(|(spec_id, fields, unknown)| {
            let mut taken = std::collections::HashSet::new();
            let fields = fields
                .into_iter()
                .map(
                    |(name, (transform, source_ids, field_id, unknown))| PartitionField {
                        source_ids,
                        field_id,
                        name,
                        transform,
                        unknown,
                    },
                )
                .filter(|field| taken.insert(field.field_id))
                .collect();
            PartitionSpec {
                unknown,
                ..PartitionSpec::new(spec_id, fields)
            }
        })
}

fn source_ids(columns: Vec<i32>) -> BoxedStrategy<Vec<i32>> {
    vec(prop::sample::select(columns), 1..3).boxed()
}

pub(crate) fn sort_order() -> impl Strategy<Value = SortOrder> {
    let field = (
        transform(),
        source_ids((1..50).collect()),
        prop::sample::select(vec![SortDirection::Ascending, SortDirection::Descending]),
        prop::sample::select(vec![NullOrder::NullsFirst, NullOrder::NullsLast]),
        unknown_keys(),
    )
        .prop_map(
            |(transform, source_ids, direction, null_order, unknown)| SortField {
                transform,
                source_ids,
                direction,
                null_order,
                unknown,
            },
        );
    (1..1_000_i32, vec(field, 0..4), unknown_keys()).prop_map(|(order_id, fields, unknown)| {
        SortOrder {
            order_id,
            fields,
            unknown,
        }
    })
}
