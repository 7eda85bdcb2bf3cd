//! Parquet files whose columns carry Iceberg field ids, from Arrow arrays or from bytes that are no valid text.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::{ArrowWriter, PARQUET_FIELD_ID_META_KEY};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// An optional field with an Iceberg field id.
pub fn field_with_id(id: i32, name: &str, data_type: DataType) -> Field {
    let id = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string())]);
    Field::new(name, data_type, true).with_metadata(id)
}

/// A file of these columns: field id, name and values.
pub fn parquet_of_arrays(columns: &[(i32, &str, ArrayRef)]) -> Vec<u8> {
    write_arrays(columns, WriterProperties::default())
}

/// The same in row groups of so many rows.
pub fn row_groups_of_arrays(columns: &[(i32, &str, ArrayRef)], rows: usize) -> Vec<u8> {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(rows));
    write_arrays(columns, properties.build())
}

fn write_arrays(columns: &[(i32, &str, ArrayRef)], properties: WriterProperties) -> Vec<u8> {
    let field = |(id, name, array): &(i32, &str, ArrayRef)| with_id(*id, name, array);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let rows = columns.first().map_or(0, |(_, _, array)| array.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let arrays = columns.iter().map(|(_, _, array)| array.clone()).collect();
    let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options)
        .expect("columns are of one length");
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema, Some(properties))
        .expect("the schema can be written");
    writer.write(&batch).expect("the batch can be written");
    writer.close().expect("the file can be closed");
    bytes
}

/// A file of these columns without field ids.
pub fn parquet_without_ids(columns: &[(&str, ArrayRef)]) -> Vec<u8> {
    let columns = columns
        .iter()
        .map(|(name, array)| (*name, array.clone(), true));
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns).expect("columns are of one length");
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), None).expect("the schema can be written");
    writer.write(&batch).expect("the batch can be written");
    writer.close().expect("the file can be closed");
    bytes
}

/// A struct of these members, which have field ids.
pub fn struct_of(members: &[(i32, &str, ArrayRef)]) -> ArrayRef {
    let fields: Vec<Field> = members
        .iter()
        .map(|(id, name, array)| with_id(*id, name, array))
        .collect();
    let arrays = members.iter().map(|(_, _, array)| array.clone()).collect();
    Arc::new(StructArray::new(fields.into(), arrays, None))
}

/// Lists of these lengths of elements that have a field id.
pub fn list_of(id: i32, lengths: &[usize], elements: ArrayRef) -> ArrayRef {
    Arc::new(ListArray::new(
        Arc::new(with_id(id, "element", &elements)),
        OffsetBuffer::from_lengths(lengths.iter().copied()),
        elements,
        None,
    ))
}

/// Maps of these lengths of keys and values that have field ids.
pub fn map_of(ids: (i32, i32), lengths: &[usize], keys: ArrayRef, values: ArrayRef) -> ArrayRef {
    let key = with_id(ids.0, "key", &keys).with_nullable(false);
    let value = with_id(ids.1, "value", &values);
    let entries = StructArray::new(vec![key, value].into(), vec![keys, values], None);
    Arc::new(MapArray::new(
        Arc::new(Field::new("key_value", entries.data_type().clone(), false)),
        OffsetBuffer::from_lengths(lengths.iter().copied()),
        entries,
        None,
        false,
    ))
}

/// The same array whose inner fields have no ids.
pub fn without_ids(array: &ArrayRef) -> ArrayRef {
    fn field_without_ids(field: &Field) -> Field {
        let data_type = match field.data_type() {
            DataType::Struct(fields) => DataType::Struct(
                fields
                    .iter()
                    .map(|field| Arc::new(field_without_ids(field)))
                    .collect(),
            ),
            DataType::List(element) => DataType::List(Arc::new(field_without_ids(element))),
            DataType::Map(entries, sorted) => {
                DataType::Map(Arc::new(field_without_ids(entries)), *sorted)
            }
            other => other.clone(),
        };
        Field::new(field.name(), data_type, field.is_nullable())
    }
    let wanted = field_without_ids(&Field::new("", array.data_type().clone(), true));
    cast(array, wanted.data_type()).expect("only the names of ids are another")
}

fn with_id(id: i32, name: &str, array: &ArrayRef) -> Field {
    field_with_id(id, name, array.data_type().clone())
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
