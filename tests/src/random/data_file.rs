//! Data files of rows: Arrow arrays, and Parquet written in as many ways as the writer knows.
//! Spec: Appendix A "Parquet".

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int32Array, Int64Array, ListArray, MapArray, RecordBatch,
    RecordBatchOptions, StringArray, StructArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field as ArrowField, Fields, Schema, TimeUnit};
use parquet::arrow::{ArrowWriter, PARQUET_FIELD_ID_META_KEY};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use super::seed::Chance;
use super::value::{Cell, Field, Kind, Row, Scalar};

/// A Parquet file of these rows, with these columns in this order.
pub fn parquet(chance: &mut Chance, columns: &[Field], rows: &[Row]) -> Vec<u8> {
    let fields: Vec<ArrowField> = columns.iter().map(arrow_field).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays: Vec<ArrayRef> = columns
        .iter()
        .map(|column| {
            let cells: Vec<&Cell> = rows
                .iter()
                .map(|row| row.get(&column.id).unwrap_or(&Cell::Null))
                .collect();
            array(column, &cells)
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options)
        .expect("arrays are of their fields' types");
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema, Some(properties(chance)))
        .expect("the schema can be written");
    writer.write(&batch).expect("the rows can be written");
    writer.close().expect("the file can be closed");
    bytes
}

fn properties(chance: &mut Chance) -> WriterProperties {
    let group_rows = *chance.pick(&[12, 40, 1_000_000]);
    let page_rows = *chance.pick(&[4, 12, 20_000]);
    let statistics = *chance.pick(&[
        EnabledStatistics::None,
        EnabledStatistics::Chunk,
        EnabledStatistics::Page,
        EnabledStatistics::Page,
        EnabledStatistics::Page,
    ]);
    let compression = *chance.pick(&[
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
    ]);
    let version = *chance.pick(&[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]);
    let truncate = |chance: &mut Chance| *chance.pick(&[None, Some(1), Some(4), Some(64)]);
    WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(compression)
        .set_max_row_group_row_count(Some(group_rows))
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows.min(64))
        .set_dictionary_enabled(chance.percent(60))
        .set_statistics_enabled(statistics)
        .set_statistics_truncate_length(truncate(chance))
        .set_column_index_truncate_length(truncate(chance))
        .set_offset_index_disabled(statistics == EnabledStatistics::None && chance.percent(50))
        .set_bloom_filter_enabled(chance.percent(40))
        .build()
}

fn arrow_field(field: &Field) -> ArrowField {
    let id = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), field.id.to_string())]);
    ArrowField::new(&field.name, data_type(&field.kind), !field.required).with_metadata(id)
}

fn arrow_fields(fields: &[Field]) -> Fields {
    fields.iter().map(arrow_field).collect()
}

fn map_entries(key: &Field, value: &Field) -> Fields {
    vec![arrow_field(key), arrow_field(value)].into()
}

fn data_type(kind: &Kind) -> DataType {
    let zone = |utc: bool| utc.then(|| "UTC".into());
    match kind {
        Kind::Boolean => DataType::Boolean,
        Kind::Int => DataType::Int32,
        Kind::Long => DataType::Int64,
        Kind::Float => DataType::Float32,
        Kind::Double => DataType::Float64,
        Kind::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale as i8),
        Kind::Date => DataType::Date32,
        Kind::Time => DataType::Time64(TimeUnit::Microsecond),
        Kind::Timestamp { utc } => DataType::Timestamp(TimeUnit::Microsecond, zone(*utc)),
        Kind::Nanos { utc } => DataType::Timestamp(TimeUnit::Nanosecond, zone(*utc)),
        Kind::String => DataType::Utf8,
        Kind::Uuid => DataType::FixedSizeBinary(16),
        Kind::Fixed(length) => DataType::FixedSizeBinary(*length as i32),
        Kind::Binary => DataType::Binary,
        Kind::List(element) => DataType::List(Arc::new(arrow_field(element))),
        Kind::Struct(fields) => DataType::Struct(arrow_fields(fields)),
        Kind::Map(key, value) => {
            let entries = DataType::Struct(map_entries(key, value));
            DataType::Map(
                Arc::new(ArrowField::new("key_value", entries, false)),
                false,
            )
        }
    }
}

/// Takes the one variant's values out of cells.
macro_rules! values {
    ($cells:expr, $variant:ident) => {
        $cells.iter().map(|cell| match cell.scalar() {
            None => None,
            Some(Scalar::$variant(value)) => Some(value),
            Some(other) => panic!("{other:?} is not of the column's type"),
        })
    };
}

fn array(field: &Field, cells: &[&Cell]) -> ArrayRef {
    match &field.kind {
        Kind::Boolean => Arc::new(
            values!(cells, Boolean)
                .map(Option::<&bool>::copied)
                .collect::<BooleanArray>(),
        ),
        Kind::Int => Arc::new(
            values!(cells, Int)
                .map(Option::<&i32>::copied)
                .collect::<Int32Array>(),
        ),
        Kind::Long => Arc::new(
            values!(cells, Long)
                .map(Option::<&i64>::copied)
                .collect::<Int64Array>(),
        ),
        Kind::Float => Arc::new(
            values!(cells, Float)
                .map(Option::<&f32>::copied)
                .collect::<Float32Array>(),
        ),
        Kind::Double => Arc::new(
            values!(cells, Double)
                .map(Option::<&f64>::copied)
                .collect::<Float64Array>(),
        ),
        Kind::Decimal { precision, scale } => Arc::new(
            values!(cells, Decimal)
                .map(Option::<&i128>::copied)
                .collect::<Decimal128Array>()
                .with_precision_and_scale(*precision, *scale as i8)
                .expect("a decimal type"),
        ),
        Kind::Date => Arc::new(
            values!(cells, Date)
                .map(Option::<&i32>::copied)
                .collect::<Date32Array>(),
        ),
        Kind::Time => Arc::new(
            values!(cells, Time)
                .map(Option::<&i64>::copied)
                .collect::<Time64MicrosecondArray>(),
        ),
        Kind::Timestamp { utc } => {
            let array = values!(cells, Timestamp)
                .map(Option::<&i64>::copied)
                .collect::<TimestampMicrosecondArray>();
            Arc::new(array.with_timezone_opt(utc.then_some("UTC")))
        }
        Kind::Nanos { utc } => {
            let array = values!(cells, Nanos)
                .map(Option::<&i64>::copied)
                .collect::<TimestampNanosecondArray>();
            Arc::new(array.with_timezone_opt(utc.then_some("UTC")))
        }
        Kind::String => Arc::new(values!(cells, String).collect::<StringArray>()),
        Kind::Uuid => fixed(
            values!(cells, Uuid).map(|value| value.map(|bytes| bytes.as_slice())),
            16,
        ),
        Kind::Fixed(length) => fixed(
            values!(cells, Bytes).map(|value| value.map(Vec::as_slice)),
            *length,
        ),
        Kind::Binary => Arc::new(
            values!(cells, Bytes)
                .map(|value| value.map(Vec::as_slice))
                .collect::<BinaryArray>(),
        ),
        Kind::List(element) => {
            let lists = cells.iter().map(|cell| match cell {
                Cell::List(elements) => elements.as_slice(),
                _ => &[],
            });
            let offsets = OffsetBuffer::from_lengths(lists.clone().map(<[Cell]>::len));
            let elements: Vec<&Cell> = lists.flatten().collect();
            Arc::new(ListArray::new(
                Arc::new(arrow_field(element)),
                offsets,
                array(element, &elements),
                nulls(cells),
            ))
        }
        Kind::Struct(fields) => {
            let member = |field: &Field| {
                let members: Vec<&Cell> = cells
                    .iter()
                    .map(|cell| match cell {
                        Cell::Struct(members) => members.get(&field.id).unwrap_or(&Cell::Null),
                        _ => &Cell::Null,
                    })
                    .collect();
                array(field, &members)
            };
            Arc::new(StructArray::new(
                arrow_fields(fields),
                fields.iter().map(member).collect(),
                nulls(cells),
            ))
        }
        Kind::Map(key, value) => {
            let maps = cells.iter().map(|cell| match cell {
                Cell::Map(entries) => entries.as_slice(),
                _ => &[],
            });
            let offsets = OffsetBuffer::from_lengths(maps.clone().map(<[(Scalar, Cell)]>::len));
            let keys: Vec<Cell> = maps
                .clone()
                .flatten()
                .map(|(key, _)| Cell::Scalar(key.clone()))
                .collect();
            let values: Vec<&Cell> = maps.flatten().map(|(_, value)| value).collect();
            let fields = map_entries(key, value);
            let arrays = vec![
                array(key, &keys.iter().collect::<Vec<_>>()),
                array(value, &values),
            ];
            let entries = StructArray::new(fields.clone(), arrays, None);
            let field = ArrowField::new("key_value", DataType::Struct(fields), false);
            Arc::new(MapArray::new(
                Arc::new(field),
                offsets,
                entries,
                nulls(cells),
                false,
            ))
        }
    }
}

fn fixed<'a>(values: impl Iterator<Item = Option<&'a [u8]>>, length: usize) -> ArrayRef {
    let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, length as i32);
    Arc::new(array.expect("values are of the fixed length"))
}

fn nulls(cells: &[&Cell]) -> Option<NullBuffer> {
    Some(cells.iter().map(|cell| **cell != Cell::Null).collect())
}
