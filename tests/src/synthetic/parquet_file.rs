//! Parquet files whose columns carry Iceberg field ids, from Arrow arrays or from bytes that are no valid text.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::{ArrowWriter, PARQUET_FIELD_ID_META_KEY};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// An optional field with an Iceberg field id.
pub fn field_with_id(id: i32, name: &str, data_type: DataType) -> Field {
    let id = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string())]);
    Field::new(name, data_type, true).with_metadata(id)
}

/// A file of these columns: field id, name and values.
pub fn parquet_of_arrays(columns: &[(i32, &str, ArrayRef)]) -> Vec<u8> {
    let field = |(id, name, array): &(i32, &str, ArrayRef)| {
        field_with_id(*id, name, array.data_type().clone())
    };
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let rows = columns.first().map_or(0, |(_, _, array)| array.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let arrays = columns.iter().map(|(_, _, array)| array.clone()).collect();
    let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options)
        .expect("columns are of one length");
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, schema, None).expect("the schema can be written");
    writer.write(&batch).expect("the batch can be written");
    writer.close().expect("the file can be closed");
    bytes
}

/// A file with one column that says it is text, whatever its bytes are.
pub fn parquet_of_bytes(id: i32, name: &str, values: &[&[u8]]) -> Vec<u8> {
    let schema = parse_message_type(&format!(
        "message table {{ REQUIRED BYTE_ARRAY {name} (UTF8) = {id}; }}"
    ))
    .expect("a valid schema");
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::default())
        .expect("the schema can be written");
    let mut group = writer.next_row_group().expect("a row group can be begun");
    let mut column = group
        .next_column()
        .expect("a column can be begun")
        .expect("there is one column");
    let values: Vec<ByteArray> = values
        .iter()
        .map(|value| ByteArray::from(value.to_vec()))
        .collect();
    column
        .typed::<ByteArrayType>()
        .write_batch(&values, None, None)
        .expect("the values can be written");
    column.close().expect("the column can be closed");
    group.close().expect("the row group can be closed");
    writer.close().expect("the file can be closed");
    bytes
}
