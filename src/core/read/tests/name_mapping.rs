//! Files without field ids: columns by the table's name mapping, or by their places.
//! Spec: "Column Projection".

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, StringArray, StructArray};
use arrow::datatypes::{Field, Fields, Int32Type, Int64Type};

use super::support::*;
use crate::error::ErrorKind;
use crate::read::ReadRequest;
use crate::spec::{NestedField, Type};

fn ints(values: [i32; 2]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn mapped(file: Vec<u8>, mapping: Option<&str>, fields: Vec<NestedField>) -> ReadRequest {
    let mut request = request(MemoryFiles::of([("f", file)]), fields);
    for task in &mut request.tasks {
        task.name_mapping = mapping.map(Arc::from);
    }
    request
}

fn int_values(batch: &RecordBatch, column: usize) -> Vec<Option<i32>> {
    batch
        .column(column)
        .as_primitive::<Int32Type>()
        .iter()
        .collect()
}

#[test]
fn names_aliases_and_dots_are_literal() {
    let file = parquet_without_ids(vec![
        ("a.b", ints([1, 2])),
        ("second", ints([3, 4])),
        ("ID", ints([5, 6])),
        ("unmapped", ints([7, 8])),
    ]);
    let mapping = r#"[ { "field-id": 1, "names": ["id"] },
        { "field-id": 2, "names": ["first", "second"] },
        { "field-id": 3, "names": ["a.b"] },
        { "names": ["unmapped"] } ]"#;
    let fields = (1..=4)
        .map(|id| optional(id, "any name", INT))
        .collect::<Vec<_>>();
    let batch = rows(mapped(file, Some(mapping), fields));
    assert_eq!(batch.column(0).null_count(), 2, "case counts");
    assert_eq!(int_values(&batch, 1), [Some(3), Some(4)]);
    assert_eq!(int_values(&batch, 2), [Some(1), Some(2)]);
    assert_eq!(batch.column(3).null_count(), 2);
}

/// A struct, a list and a map without ids.
fn nested_file() -> Vec<u8> {
    let without_ids = |name: &str, array: &ArrayRef| field(name, array.data_type().clone());
    let location: ArrayRef = Arc::new(StructArray::new(
        Fields::from(vec![
            without_ids("lat", &ints([1, 2])),
            without_ids("long", &ints([3, 4])),
        ]),
        vec![ints([1, 2]), ints([3, 4])],
        None,
    ));
    let mut lists = list_of(9, &[1, 1], Arc::clone(&location), None).into_parts();
    lists.0 = Arc::new(without_ids("element", &location));
    let lists = arrow::array::ListArray::new(lists.0, lists.1, lists.2, lists.3);
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let maps = map_of((8, 9), &[1, 1], keys, Arc::clone(&location));
    let (_, offsets, entries, nulls, sorted) = maps.into_parts();
    let (_, arrays, _) = entries.into_parts();
    let fields = Fields::from(vec![
        Field::new("key", arrays[0].data_type().clone(), false),
        without_ids("value", &arrays[1]),
    ]);
    let entries = StructArray::new(fields, arrays, None);
    let maps = arrow::array::MapArray::new(
        Arc::new(Field::new("key_value", entries.data_type().clone(), false)),
        offsets,
        entries,
        nulls,
        sorted,
    );
    parquet_without_ids(vec![
        ("location", location),
        ("points", Arc::new(lists)),
        ("named", Arc::new(maps)),
    ])
}

fn point() -> Type {
    structure([optional(11, "y", LONG), optional(12, "x", LONG)])
}

fn nested_fields() -> Vec<NestedField> {
    vec![
        optional(1, "location", point()),
        optional(2, "points", list(optional(21, "element", point()))),
        optional(
            3,
            "named",
            map(
                NestedField::required(31, "key", STRING.into()),
                optional(32, "value", point()),
            ),
        ),
    ]
}

/// A name mapping of the nested file, with what maps the inside of a list and a map.
fn nested_mapping(element: &str, entry: &str) -> String {
    let point = r#"[ { "field-id": 11, "names": ["latitude", "lat"] },
                     { "field-id": 12, "names": ["long"] } ]"#;
    format!(
        r#"[ {{ "field-id": 1, "names": ["location"], "fields": {point} }},
             {{ "field-id": 2, "names": ["points"], "fields": [ {element} ] }},
             {{ "field-id": 3, "names": ["named"], "fields": [ {entry} ] }} ]"#
    )
    .replace("POINT", point)
}

#[test]
fn nested_fields_are_mapped_inside_their_parent() {
    let mapping = nested_mapping(
        r#"{ "field-id": 21, "names": ["element"], "fields": POINT }"#,
        r#"{ "field-id": 31, "names": ["key"] },
           { "field-id": 32, "names": ["value"], "fields": POINT }"#,
    );
    let batch = rows(mapped(nested_file(), Some(&mapping), nested_fields()));
    let points = [
        batch.column(0).as_struct(),
        batch.column(1).as_list::<i32>().values().as_struct(),
        batch.column(2).as_map().values().as_struct(),
    ];
    for point in points {
        assert_eq!(
            point.column(0).as_primitive::<Int64Type>().values(),
            &[1, 2]
        );
        assert_eq!(
            point.column(1).as_primitive::<Int64Type>().values(),
            &[3, 4]
        );
    }
}

#[test]
fn what_a_mapping_leaves_out_is_not_in_the_file() {
    let mapping = nested_mapping(
        r#"{ "field-id": 99, "names": ["element"], "fields": POINT }"#,
        r#"{ "field-id": 31, "names": ["key"] }"#,
    );
    let batch = rows(mapped(nested_file(), Some(&mapping), nested_fields()));
    assert_eq!(batch.column(0).null_count(), 0);
    assert_eq!(batch.column(1).null_count(), 2);
    assert_eq!(batch.column(2).null_count(), 2);
    let mapping = r#"[ { "field-id": 1, "names": ["location"] } ]"#;
    let batch = rows(mapped(nested_file(), Some(mapping), nested_fields()));
    let point = batch.column(0).as_struct();
    assert_eq!(point.null_count(), 0, "the struct itself is there");
    assert_eq!(point.column(0).null_count(), 2);
}

#[test]
fn a_file_with_ids_needs_no_mapping() {
    let file = parquet(vec![(
        1,
        field("a", arrow::datatypes::DataType::Int32),
        ints([1, 2]),
    )]);
    let mapping = r#"[ { "field-id": 2, "names": ["a"] } ]"#;
    let fields = || vec![optional(1, "x", INT), optional(2, "a", INT)];
    let batch = rows(mapped(file.clone(), Some(mapping), fields()));
    assert_eq!(int_values(&batch, 0), [Some(1), Some(2)]);
    assert_eq!(batch.column(1).null_count(), 2);
    let batch = rows(mapped(file, Some("no JSON"), fields()));
    assert_eq!(int_values(&batch, 0), [Some(1), Some(2)]);
}

#[test]
fn a_mapping_that_cannot_be_parsed_is_named_once_it_is_needed() {
    let file = parquet_without_ids(vec![("a", ints([1, 2]))]);
    let error = error_of(mapped(
        file.clone(),
        Some("[1]"),
        vec![optional(1, "a", INT)],
    ));
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().starts_with("file \"f\""), "{error}");
    assert!(
        error.message().contains("\"schema.name-mapping.default\""),
        "{error}"
    );
    let batch = rows(mapped(file, Some("[1]"), Vec::new()));
    assert_eq!(batch.num_rows(), 2, "rows can be counted without it");
}

#[test]
fn without_a_mapping_columns_are_told_by_their_places() {
    // As Iceberg Java's ParquetSchemaUtil.addFallbackIds: columns count from 1, nested fields have
    // no ids.
    let batch = rows(mapped(nested_file(), None, {
        let mut fields = nested_fields();
        fields[1] = optional(4, "late", INT);
        fields
    }));
    let location = batch.column(0).as_struct();
    assert_eq!(location.null_count(), 0);
    assert_eq!(location.column(0).null_count(), 2);
    assert_eq!(batch.column(1).null_count(), 2);
    let named = batch.column(2).as_map();
    assert_eq!(named.keys().as_string_view().value(1), "y");
    let file = parquet_without_ids(vec![("a", ints([1, 2])), ("b", ints([3, 4]))]);
    let fields = vec![optional(2, "a", LONG), optional(1, "b", INT)];
    let batch = rows(mapped(file, None, fields));
    assert_eq!(
        batch.column(0).as_primitive::<Int64Type>().values(),
        &[3, 4]
    );
    assert_eq!(int_values(&batch, 1), [Some(1), Some(2)]);
}

#[test]
fn two_columns_of_one_field_are_an_error() {
    let file = parquet_without_ids(vec![("a", ints([1, 2])), ("b", ints([3, 4]))]);
    let mapping = r#"[ { "field-id": 1, "names": ["a", "b"] } ]"#;
    let error = error_of(mapped(file, Some(mapping), vec![optional(1, "c", INT)]));
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("\"c\" is there twice"), "{error}");
}

#[test]
fn a_column_whose_type_does_not_fit_its_place_is_explained() {
    let file = parquet_without_ids(vec![("a", ints([1, 2]))]);
    let error = error_of(mapped(file.clone(), None, vec![optional(1, "b", STRING)]));
    assert_eq!(error.kind(), ErrorKind::TypeMismatch);
    let hint = error.hint().expect("a hint");
    assert!(hint.contains("\"schema.name-mapping.default\""), "{hint}");
    let mapping = r#"[ { "field-id": 1, "names": ["a"] } ]"#;
    let error = error_of(mapped(file, Some(mapping), vec![optional(1, "b", STRING)]));
    assert_eq!(error.hint(), None);
}
