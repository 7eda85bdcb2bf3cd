//! Metadata columns: where a row was read, and its lineage, inherited or stored.
//! Spec: "Reserved Field IDs", "Row Lineage", "Row lineage assignment".

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;

use super::support::*;
use crate::error::ErrorKind;
use crate::plan::TaskPartitionField;
use crate::read::{MetadataColumn, OutputColumn, ReadRequest};
use crate::spec::{Partition, PrimitiveType, PrimitiveValue};

const ROW_ID: i32 = 2_147_483_540;
const LAST_UPDATED: i32 = 2_147_483_539;

fn ask(files: MemoryFiles, columns: &[MetadataColumn]) -> ReadRequest {
    let mut request = request(files, vec![optional(1, "a", INT)]);
    request.columns = columns
        .iter()
        .map(|column| OutputColumn::Metadata(*column))
        .collect();
    request
}

fn longs(batch: &RecordBatch, column: usize) -> Vec<Option<i64>> {
    batch
        .column(column)
        .as_primitive::<Int64Type>()
        .iter()
        .collect()
}

/// A file of ten rows in row groups of four.
fn ten_rows(more: Vec<(i32, ArrayRef)>) -> Vec<u8> {
    let mut columns: Vec<(i32, _, ArrayRef)> = vec![(
        1,
        field("a", DataType::Int32),
        Arc::new(Int32Array::from_iter_values(0..10)),
    )];
    columns.extend(
        more.into_iter()
            .map(|(id, array)| (id, field(&id.to_string(), array.data_type().clone()), array)),
    );
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(4))
        .build();
    parquet_with(columns, properties)
}

#[test]
fn names_are_those_of_the_spec() {
    for column in MetadataColumn::ALL {
        assert_eq!(MetadataColumn::by_name(column.name()), Some(column));
        let field = column.field();
        assert_eq!(MetadataColumn::by_field_id(field.id), Some(column));
        assert!(field.id > crate::spec::schema::MAX_COLUMN_ID);
    }
    assert_eq!(MetadataColumn::by_name("pos"), None);
    assert_eq!(MetadataColumn::by_field_id(1), None);
}

#[test]
fn positions_are_absolute_in_the_file() {
    let mut request = ask(
        MemoryFiles::of([("one", ten_rows(vec![])), ("two", ten_rows(vec![]))]),
        &[MetadataColumn::File, MetadataColumn::Position],
    );
    let alone = rows(ask(
        MemoryFiles::of([("f", ten_rows(vec![]))]),
        &[MetadataColumn::Position],
    ));
    assert_eq!(longs(&alone, 0), (0..10).map(Some).collect::<Vec<_>>());
    request.columns.push(OutputColumn::Field(1));
    let batch = rows(request);
    assert_eq!(batch.num_rows(), 20);
    for row in 0..20 {
        let file = if row < 10 { "one" } else { "two" };
        assert_eq!(batch.column(0).as_string_view().value(row), file);
        let value = batch.column(2).as_primitive::<Int32Type>().value(row);
        assert_eq!(longs(&batch, 1)[row], Some(value.into()));
    }
    assert_eq!(batch.schema().field(0).name(), "_file");
}

#[test]
fn partition_and_spec_are_those_of_the_file() {
    let mut request = ask(
        MemoryFiles::of([("f", ten_rows(vec![]))]),
        &[MetadataColumn::SpecId, MetadataColumn::Partition],
    );
    let task = &mut request.tasks[0];
    let partition_field = |name: &str, value_type| TaskPartitionField {
        name: name.to_owned(),
        value_type,
        identity_source: None,
    };
    let decimal = PrimitiveType::Decimal {
        precision: 9,
        scale: 2,
    };
    task.partition_fields = [
        partition_field("ts_day", PrimitiveType::Date),
        partition_field("a \"name\"", STRING),
        partition_field("void", INT),
        partition_field("price", decimal),
    ]
    .into();
    task.partition = Partition {
        spec_id: 7,
        values: vec![
            Some(PrimitiveValue::Date(-1)),
            Some(PrimitiveValue::String("x\n".into())),
            None,
            Some(PrimitiveValue::Decimal(1_420)),
        ],
    };
    let batch = rows(request);
    assert_eq!(
        batch.column(0).as_primitive::<Int32Type>().values(),
        &[7; 10]
    );
    let json: serde_json::Value =
        serde_json::from_str(batch.column(1).as_string_view().value(9)).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "ts_day": "1969-12-31", "a \"name\"": "x\n", "void": null, "price": "14.20"
        })
    );
}

fn lineage(file: Vec<u8>, first_row_id: Option<i64>, sequence: Option<i64>) -> RecordBatch {
    let mut request = ask(
        MemoryFiles::of([("f", file)]),
        &[
            MetadataColumn::RowId,
            MetadataColumn::LastUpdatedSequenceNumber,
        ],
    );
    request.tasks[0].first_row_id = first_row_id;
    request.tasks[0].data_sequence_number = sequence;
    rows(request)
}

/// Row ids and sequence numbers that were stored for some rows only.
fn with_stored_lineage() -> Vec<u8> {
    let ids = (0..10).map(|row| (row % 3 == 0).then_some(1_000 - row));
    let numbers = (0..10).map(|row| (row % 2 == 0).then_some(row));
    ten_rows(vec![
        (ROW_ID, Arc::new(ids.collect::<Int64Array>())),
        (LAST_UPDATED, Arc::new(numbers.collect::<Int64Array>())),
    ])
}

#[test]
fn lineage_is_inherited_where_it_is_not_stored() {
    let batch = lineage(ten_rows(vec![]), Some(100), Some(5));
    assert_eq!(longs(&batch, 0), (100..110).map(Some).collect::<Vec<_>>());
    assert_eq!(longs(&batch, 1), [Some(5); 10]);
    let batch = lineage(with_stored_lineage(), Some(100), Some(50));
    for row in 0..10 {
        let (id, number) = (longs(&batch, 0)[row], longs(&batch, 1)[row]);
        let row = row as i64;
        let expected = if row % 3 == 0 { 1_000 - row } else { 100 + row };
        assert_eq!(id, Some(expected));
        assert_eq!(number, Some(if row % 2 == 0 { row } else { 50 }));
    }
}

#[test]
fn rows_without_ids_have_no_lineage() {
    for file in [ten_rows(vec![]), with_stored_lineage()] {
        let batch = lineage(file, None, Some(5));
        assert_eq!(batch.column(0).null_count(), 10);
        assert_eq!(batch.column(1).null_count(), 10);
    }
}

#[test]
fn row_ids_that_overflow_are_an_error() {
    let mut request = ask(
        MemoryFiles::of([("f", ten_rows(vec![]))]),
        &[MetadataColumn::RowId],
    );
    request.tasks[0].first_row_id = Some(i64::MAX - 5);
    let error = error_of(request);
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert!(error.message().contains("\"_row_id\""), "{error}");
}

#[test]
fn what_a_file_stores_under_the_ids_of_other_metadata_columns_is_not_read() {
    let file = ten_rows(vec![
        (2_147_483_645, Arc::new(Int64Array::from(vec![9; 10]))),
        (2_147_483_646, Arc::new(Int64Array::from(vec![9; 10]))),
    ]);
    let batch = rows(ask(
        MemoryFiles::of([("f", file)]),
        &[MetadataColumn::Position, MetadataColumn::File],
    ));
    assert_eq!(longs(&batch, 0), (0..10).map(Some).collect::<Vec<_>>());
    assert_eq!(batch.column(1).as_string_view().value(0), "f");
}
