//! Avro files whose values another library encodes, by schemas as Iceberg writes them; and what broken
//! ones are answered with. Spec: Appendix A "Avro", "Column Projection".

use std::sync::atomic::Ordering;

use apache_avro::types::Value;
use apache_avro::writer::datum::GenericDatumWriter;
use apache_avro::{Codec, Schema as AvroSchema};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use serde_json::json;

use super::support::*;
use crate::error::{ErrorKind, Result};
use crate::read::{ReadRequest, RecvOutcome};
use crate::spec::{NestedField, PrimitiveType};

const SYNC: &[u8; 16] = b"0123456789abcdef";

fn put_long(file: &mut Vec<u8>, value: i64) {
    let mut encoded = ((value << 1) ^ (value >> 63)) as u64;
    while encoded > 0x7f {
        file.push(encoded as u8 | 0x80);
        encoded >>= 7;
    }
    file.push(encoded as u8);
}

fn put_bytes(file: &mut Vec<u8>, bytes: &[u8]) {
    put_long(file, bytes.len() as i64);
    file.extend(bytes);
}

/// An Avro file of blocks of so many rows, with the schema's text as it stands.
pub fn avro(
    schema: &serde_json::Value,
    rows: &[Value],
    codec: Codec,
    rows_a_block: usize,
) -> Vec<u8> {
    let parsed = AvroSchema::parse(schema).unwrap();
    let writer = GenericDatumWriter::builder(&parsed).build().unwrap();
    let mut file = b"Obj\x01".to_vec();
    put_long(&mut file, 2);
    put_bytes(&mut file, b"avro.schema");
    put_bytes(&mut file, schema.to_string().as_bytes());
    put_bytes(&mut file, b"avro.codec");
    let name: &str = codec.into();
    put_bytes(&mut file, name.as_bytes());
    file.push(0);
    file.extend(SYNC);
    for rows in rows.chunks(rows_a_block) {
        let mut block = Vec::new();
        for row in rows {
            block.extend(writer.write_value_to_vec(row.clone()).unwrap());
        }
        codec.compress(&mut block).unwrap();
        put_long(&mut file, rows.len() as i64);
        put_bytes(&mut file, &block);
        file.extend(SYNC);
    }
    file
}

pub fn record(fields: serde_json::Value) -> serde_json::Value {
    json!({ "type": "record", "name": "table", "fields": fields })
}

pub fn row<const N: usize>(values: [(&str, Value); N]) -> Value {
    Value::Record(
        values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

pub fn some(value: Value) -> Value {
    Value::Union(1, Box::new(value))
}

pub fn null() -> Value {
    Value::Union(0, Box::new(Value::Null))
}

fn request_of(file: Vec<u8>, fields: Vec<NestedField>) -> ReadRequest {
    request(MemoryFiles::of([("f.avro", file)]), fields)
}

/// One column of this type and these values, read as a field of another.
fn read_column(
    stored: serde_json::Value,
    values: impl IntoIterator<Item = Value>,
    wanted: impl Into<crate::spec::Type>,
) -> Result<RecordBatch> {
    let schema = record(json!([{ "name": "stored", "type": stored, "field-id": 1 }]));
    let rows: Vec<_> = values
        .into_iter()
        .map(|value| row([("stored", value)]))
        .collect();
    let request = request_of(
        avro(&schema, &rows, Codec::Null, 2),
        vec![optional(1, "c", wanted)],
    );
    let wanted = crate::read::arrow_type(&request.schema.fields().fields()[0].field_type);
    let batches = try_batches(request)?;
    let batch = arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
    assert_eq!(batch.column(0).data_type(), &wanted);
    Ok(batch)
}

macro_rules! primitives {
    ($batch:expr, $kind:ty) => {
        $batch
            .unwrap()
            .column(0)
            .as_primitive::<$kind>()
            .iter()
            .collect::<Vec<_>>()
    };
}

#[test]
fn numbers_and_their_promotions() {
    let optional_int = json!(["null", "int"]);
    let ints = || [some(Value::Int(i32::MIN)), null(), some(Value::Int(7))];
    assert_eq!(
        primitives!(read_column(optional_int.clone(), ints(), INT), Int32Type),
        [Some(i32::MIN), None, Some(7)]
    );
    assert_eq!(
        primitives!(read_column(optional_int, ints(), LONG), Int64Type),
        [Some(i64::from(i32::MIN)), None, Some(7)]
    );
    // Null may be the second branch too.
    let reversed = [
        Value::Union(0, Box::new(Value::Long(i64::MIN))),
        Value::Union(1, Box::new(Value::Null)),
    ];
    assert_eq!(
        primitives!(
            read_column(json!(["long", "null"]), reversed, LONG),
            Int64Type
        ),
        [Some(i64::MIN), None]
    );
    let floats = || [Value::Float(1.5), Value::Float(f32::NAN)];
    let read = primitives!(
        read_column(json!("float"), floats(), PrimitiveType::Float),
        Float32Type
    );
    assert_eq!(read[0], Some(1.5));
    assert!(read[1].unwrap().is_nan());
    let read = primitives!(
        read_column(json!("float"), floats(), PrimitiveType::Double),
        Float64Type
    );
    assert_eq!(read[0], Some(1.5));
    let booleans = [Value::Boolean(true), Value::Boolean(false)];
    let read = read_column(json!("boolean"), booleans, PrimitiveType::Boolean).unwrap();
    let read: Vec<_> = read.column(0).as_boolean().iter().collect();
    assert_eq!(read, [Some(true), Some(false)]);
    let error = read_column(json!("long"), [Value::Long(1)], INT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TypeMismatch);
    assert_eq!(
        error.message(),
        "file \"f.avro\": column \"c\" is long in the file, which cannot be read as int"
    );
}

#[test]
fn times_of_every_unit() {
    use PrimitiveType::{Date, Time, Timestamp, TimestampNs, Timestamptz, TimestamptzNs};
    let date = json!({ "type": "int", "logicalType": "date" });
    let days = || [Value::Date(-1), Value::Date(20_000)];
    assert_eq!(
        primitives!(read_column(date.clone(), days(), Date), Date32Type),
        [Some(-1), Some(20_000)]
    );
    assert_eq!(
        primitives!(
            read_column(date, days(), Timestamp),
            TimestampMicrosecondType
        ),
        [Some(-86_400_000_000), Some(20_000 * 86_400_000_000)]
    );
    let micros = json!({ "type": "long", "logicalType": "time-micros" });
    assert_eq!(
        primitives!(
            read_column(micros, [Value::TimeMicros(86_399_999_999)], Time),
            Time64MicrosecondType
        ),
        [Some(86_399_999_999)]
    );
    let millis = json!({ "type": "int", "logicalType": "time-millis" });
    assert_eq!(
        primitives!(
            read_column(millis, [Value::TimeMillis(1)], Time),
            Time64MicrosecondType
        ),
        [Some(1_000)]
    );
    for wanted in [Timestamp, Timestamptz] {
        for (logical, value, expected) in [
            ("timestamp-micros", Value::TimestampMicros(-1), -1),
            ("timestamp-millis", Value::TimestampMillis(-1), -1_000),
            ("timestamp-nanos", Value::TimestampNanos(-1), -1),
            ("local-timestamp-micros", Value::LocalTimestampMicros(5), 5),
        ] {
            let stored = json!({ "type": "long", "logicalType": logical, "adjust-to-utc": true });
            assert_eq!(
                primitives!(
                    read_column(stored, [value], wanted.clone()),
                    TimestampMicrosecondType
                ),
                [Some(expected)],
                "{logical}"
            );
        }
    }
    let nanos = json!({ "type": "long", "logicalType": "timestamp-nanos" });
    for wanted in [TimestampNs, TimestamptzNs] {
        assert_eq!(
            primitives!(
                read_column(
                    nanos.clone(),
                    [Value::TimestampNanos(1_234_567_890_123_456_789)],
                    wanted
                ),
                TimestampNanosecondType
            ),
            [Some(1_234_567_890_123_456_789)]
        );
    }
}

#[test]
fn decimals_of_any_length() {
    let wanted = |precision| PrimitiveType::Decimal {
        precision,
        scale: 2,
    };
    let bytes = json!({ "type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2 });
    let big = 10_i128.pow(38) - 1;
    let values = [
        (0, vec![0]),
        (-1, vec![0xff]),
        (-128, vec![0x80]),
        (128, vec![0, 0x80]),
        (big, big.to_be_bytes().to_vec()),
        (-big, (-big).to_be_bytes().to_vec()),
        (-1, vec![0xff; 20]),
    ];
    let (expected, stored): (Vec<_>, Vec<_>) = values
        .into_iter()
        .map(|(expected, bytes)| (Some(expected), Value::Decimal(bytes.into())))
        .unzip();
    // The other library shortens what it writes, so sign extension is what the fixed type is for.
    assert_eq!(
        primitives!(
            read_column(bytes.clone(), stored, wanted(38)),
            Decimal128Type
        ),
        expected
    );
    let fixed = json!({ "type": "fixed", "name": "d", "size": 20, "logicalType": "decimal",
        "precision": 38, "scale": 2 });
    let stored = [Value::Decimal(vec![0xff; 20].into())];
    assert_eq!(
        primitives!(read_column(fixed, stored, wanted(38)), Decimal128Type),
        [Some(-1)]
    );
    let too_large = [Value::Decimal(vec![0x7f; 4].into())];
    let error = read_column(bytes.clone(), too_large, wanted(9)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
    assert!(
        error.message().contains("\"f.avro\": column \"stored\""),
        "{error}"
    );
    let other_scale = PrimitiveType::Decimal {
        precision: 38,
        scale: 3,
    };
    let error = read_column(bytes, [], other_scale).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TypeMismatch);
}

#[test]
fn text_and_bytes() {
    let read = read_column(
        json!("string"),
        ["", "snowman ☃ that is no inline text"].map(|text| Value::String(text.to_owned())),
        STRING,
    )
    .unwrap();
    let read: Vec<_> = read.column(0).as_string_view().iter().collect();
    assert_eq!(read, [Some(""), Some("snowman ☃ that is no inline text")]);
    let read = read_column(
        json!("bytes"),
        [Value::Bytes(vec![0, 255])],
        PrimitiveType::Binary,
    )
    .unwrap();
    assert_eq!(read.column(0).as_binary_view().value(0), [0, 255]);
    let fixed = json!({ "type": "fixed", "name": "f", "size": 3 });
    let values = || [Value::Fixed(3, vec![1, 2, 3])];
    let read = read_column(fixed.clone(), values(), PrimitiveType::Fixed(3)).unwrap();
    assert_eq!(read.column(0).as_fixed_size_binary().value(0), [1, 2, 3]);
    let error = read_column(fixed, values(), PrimitiveType::Fixed(4)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TypeMismatch);
    let uuid = uuid::Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    for stored in [
        json!({ "type": "fixed", "name": "u", "size": 16, "logicalType": "uuid" }),
        json!({ "type": "string", "logicalType": "uuid" }),
    ] {
        let read = read_column(stored, [Value::Uuid(uuid)], PrimitiveType::Uuid).unwrap();
        assert_eq!(
            read.column(0).as_fixed_size_binary().value(0),
            uuid.as_bytes()
        );
    }
    let error = read_column(
        json!({ "type": "string", "logicalType": "uuid" }),
        [Value::Uuid(uuid)],
        PrimitiveType::Binary,
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TypeMismatch);
}

/// A struct with a list, and maps in both forms.
fn nested() -> serde_json::Value {
    record(json!([
        { "name": "unwanted", "type": ["null", { "type": "map", "values": "bytes" }],
            "field-id": 50 },
        { "name": "outer", "field-id": 1, "type": ["null", {
            "type": "record", "name": "r1", "fields": [
                { "name": "a", "type": "int", "field-id": 2 },
                { "name": "list", "field-id": 3, "type": { "type": "array", "element-id": 4,
                    "items": ["null", { "type": "record", "name": "r4", "fields": [
                        { "name": "x", "type": "int", "field-id": 5 },
                        { "name": "y", "type": "string", "field-id": 6 } ] }] } } ] }] },
        { "name": "by_text", "field-id": 7, "type": {
            "type": "map", "values": ["null", "int"], "key-id": 8, "value-id": 9 } },
        { "name": "by_number", "field-id": 10, "type": { "type": "array", "logicalType": "map",
            "items": { "type": "record", "name": "k11_v12", "fields": [
                { "name": "key", "type": "int", "field-id": 11 },
                { "name": "value", "type": "string", "field-id": 12 } ] } } }
    ]))
}

fn nested_rows() -> Vec<Value> {
    let element = |x: i32, y: &str| {
        some(row([
            ("x", Value::Int(x)),
            ("y", Value::String(y.to_owned())),
        ]))
    };
    let entry = |key: i32, value: &str| {
        row([
            ("key", Value::Int(key)),
            ("value", Value::String(value.to_owned())),
        ])
    };
    vec![
        row([
            (
                "unwanted",
                some(Value::Map([("k".to_owned(), Value::Bytes(vec![1]))].into())),
            ),
            (
                "outer",
                some(row([
                    ("a", Value::Int(1)),
                    (
                        "list",
                        Value::Array(vec![element(10, "ten"), null(), element(11, "eleven")]),
                    ),
                ])),
            ),
            (
                "by_text",
                Value::Map([("k".to_owned(), some(Value::Int(5)))].into()),
            ),
            (
                "by_number",
                Value::Array(vec![entry(1, "one"), entry(2, "two")]),
            ),
        ]),
        row([
            ("unwanted", null()),
            ("outer", null()),
            ("by_text", Value::Map([("n".to_owned(), null())].into())),
            ("by_number", Value::Array(Vec::new())),
        ]),
        row([
            ("unwanted", null()),
            (
                "outer",
                some(row([
                    ("a", Value::Int(3)),
                    ("list", Value::Array(Vec::new())),
                ])),
            ),
            ("by_text", Value::Map([].into())),
            ("by_number", Value::Array(vec![entry(3, "three")])),
        ]),
    ]
}

#[test]
fn nested_columns_by_id_at_every_depth() {
    let file = avro(&nested(), &nested_rows(), Codec::Null, 2);
    let batch = rows(request_of(
        file,
        vec![
            optional(
                10,
                "numbers",
                map(optional(11, "key", LONG), optional(12, "value", STRING)),
            ),
            // Renamed, in another order, promoted, and with members that the file lacks.
            optional(
                1,
                "renamed",
                structure([
                    optional(
                        3,
                        "l",
                        list(optional(
                            4,
                            "element",
                            structure([optional(90, "new", INT), optional(5, "xx", LONG)]),
                        )),
                    ),
                    optional(91, "newer", STRING),
                    optional(2, "aa", LONG),
                ]),
            ),
            optional(
                7,
                "texts",
                map(optional(8, "key", STRING), optional(9, "value", LONG)),
            ),
            optional(92, "newest", list(optional(93, "element", INT))),
        ],
    ));
    assert_eq!(batch.num_rows(), 3);
    let numbers = batch.column(0).as_map();
    assert_eq!(
        numbers.keys().as_primitive::<Int64Type>().values(),
        &[1, 2, 3]
    );
    let values: Vec<_> = numbers.values().as_string_view().iter().flatten().collect();
    assert_eq!(values, ["one", "two", "three"]);
    assert_eq!(numbers.value_offsets(), [0, 2, 2, 3]);
    let structs = batch.column(1).as_struct();
    assert_eq!(
        (0..3).map(|row| structs.is_null(row)).collect::<Vec<_>>(),
        [false, true, false]
    );
    let lists = structs.column(0).as_list::<i32>();
    assert_eq!(lists.value_offsets(), [0, 3, 3, 3]);
    let elements = lists.values().as_struct();
    assert!(elements.is_null(1));
    assert_eq!(elements.column(0).null_count(), 3);
    let x = elements.column(1).as_primitive::<Int64Type>();
    assert_eq!((x.value(0), x.value(2)), (10, 11));
    assert_eq!(structs.column(1).null_count(), 3);
    let a = structs.column(2).as_primitive::<Int64Type>();
    assert_eq!((a.value(0), a.value(2)), (1, 3));
    let texts = batch.column(2).as_map();
    assert_eq!(texts.value_offsets(), [0, 1, 2, 2]);
    let values: Vec<_> = texts.values().as_primitive::<Int64Type>().iter().collect();
    assert_eq!(values, [Some(5), None]);
    assert_eq!(batch.column(3).null_count(), 3);
}

#[test]
fn ids_decide_and_not_names() {
    let schema = record(json!([
        { "name": "b", "type": "int", "field-id": 1 },
        { "name": "a", "type": "int", "field-id": 2 },
        { "name": "c", "type": "int", "field-id": 3 },
    ]));
    let row = row([
        ("b", Value::Int(1)),
        ("a", Value::Int(2)),
        ("c", Value::Int(3)),
    ]);
    let file = avro(&schema, &[row], Codec::Null, 1);
    // A column "c" that was dropped and added again has another id.
    let fields = vec![
        optional(1, "a", INT),
        optional(2, "b", INT),
        optional(4, "c", INT),
    ];
    let batch = rows(request_of(file, fields));
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().value(0), 1);
    assert_eq!(batch.column(1).as_primitive::<Int32Type>().value(0), 2);
    assert!(batch.column(2).is_null(0));
}

#[test]
fn without_ids_and_name_mapping_names_are_those_of_the_schema() {
    // As Iceberg Java's ProjectionDatumReader, which makes a name mapping of the schema that is wanted.
    let schema = record(json!([
        { "name": "s", "type": { "type": "record", "name": "s", "fields": [
            { "name": "a", "type": "int" }, { "name": "b", "type": "int" } ] } },
        { "name": "n", "type": "int" } ]));
    let inner = row([("a", Value::Int(1)), ("b", Value::Int(2))]);
    let row = row([("s", inner), ("n", Value::Int(3))]);
    let fields = vec![
        optional(1, "n", LONG),
        optional(2, "absent", INT),
        optional(
            3,
            "s",
            structure([optional(5, "b", INT), optional(6, "absent", INT)]),
        ),
    ];
    let batch = rows(request_of(avro(&schema, &[row], Codec::Null, 1), fields));
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(0), 3);
    assert!(batch.column(1).is_null(0));
    let structs = batch.column(2).as_struct();
    assert_eq!(structs.column(0).as_primitive::<Int32Type>().value(0), 2);
    assert!(structs.column(1).is_null(0));
}

#[test]
fn files_that_contradict_the_schema_are_told() {
    for (stored, wanted, kind, says) in [
        (
            json!(["null", "int", "string"]),
            crate::spec::Type::from(INT),
            ErrorKind::TypeMismatch,
            "a union of several types",
        ),
        (
            json!({ "type": "array", "items": "int", "element-id": 9 }),
            list(optional(2, "element", INT)),
            ErrorKind::Corrupt,
            "column \"c.element\" has field id 9, but the schema says 2",
        ),
        (
            json!({ "type": "array", "items": "int", "element-id": 2 }),
            INT.into(),
            ErrorKind::TypeMismatch,
            "is a list in the file",
        ),
    ] {
        let error = read_column(stored, [], wanted).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(says), "{error}");
    }
    let twice = record(json!([
        { "name": "a", "type": "int", "field-id": 1 },
        { "name": "b", "type": "int", "field-id": 1 } ]));
    let file = avro(&twice, &[], Codec::Null, 1);
    let error = error_of(request_of(file, vec![optional(1, "c", INT)]));
    assert!(error.message().contains("there twice"), "{error}");
}

/// A file of many blocks, larger than what is fetched at a time.
fn large(codec: Codec) -> Vec<u8> {
    let schema = record(json!([
        { "name": "n", "type": "long", "field-id": 1 },
        { "name": "text", "type": "string", "field-id": 2 } ]));
    let rows: Vec<_> = (0..60_000)
        .map(|n| {
            row([
                ("n", Value::Long(n)),
                ("text", Value::String(format!("{n:0>100}"))),
            ])
        })
        .collect();
    avro(&schema, &rows, codec, 500)
}

#[test]
fn files_larger_than_what_is_fetched_at_once() {
    for codec in [
        Codec::Null,
        Codec::Snappy,
        Codec::Deflate(Default::default()),
    ] {
        let file = large(codec);
        let size = file.len() as u64;
        let mut request = request_of(file, vec![optional(2, "t", STRING), optional(1, "n", LONG)]);
        // The manifest may be wrong about the size.
        request.tasks[0].file_size = 100;
        let metrics = metrics(&request);
        let batches = try_batches(request).unwrap();
        let mut next = 0;
        for batch in batches {
            let numbers = batch.column(1).as_primitive::<Int64Type>();
            let texts = batch.column(0).as_string_view();
            for (number, text) in numbers.iter().zip(texts) {
                assert_eq!(number, Some(next));
                assert_eq!(text, Some(format!("{next:0>100}").as_str()));
                next += 1;
            }
        }
        assert_eq!(next, 60_000);
        assert_eq!(metrics.bytes_read.load(Ordering::Relaxed), size);
        assert_eq!(metrics.rows_read.load(Ordering::Relaxed), 60_000);
    }
}

#[test]
fn rows_are_counted_without_columns() {
    let batches = try_batches(request_of(large(Codec::Snappy), vec![])).unwrap();
    let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(count, 60_000);
}

#[test]
fn a_file_without_rows() {
    let file = avro(&nested(), &[], Codec::Null, 1);
    assert!(
        try_batches(request_of(file, vec![optional(1, "o", structure([]))]))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn every_shortened_file_is_corrupt() {
    let file = avro(&nested(), &nested_rows(), Codec::Null, 1);
    let read = |length: usize, file_size: usize, record_count| {
        let mut request = nested_request(file[..length].to_vec());
        request.tasks[0].file_size = file_size as u64;
        request.tasks[0].record_count = record_count;
        count(request)
    };
    // Where a file was cut between two blocks, only the manifest knows that there were more.
    let mut between_blocks = Vec::new();
    for length in 0..file.len() {
        let error = read(length, file.len(), Some(3)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains("\"f.avro\""), "{error}");
        if let Ok(rows) = read(length, file.len(), None) {
            assert!(error.message().contains("is truncated"), "{error}");
            between_blocks.push(rows);
            // A manifest that is wrong about one of both does not make a whole file a cut one.
            assert_eq!(read(length, length, Some(3)).unwrap(), rows);
            assert_eq!(read(length, file.len(), Some(rows as u64)).unwrap(), rows);
        }
    }
    assert_eq!(between_blocks, [0, 1, 2]);
    assert_eq!(read(file.len(), file.len(), Some(3)).unwrap(), 3);
}

fn read_nested(file: Vec<u8>) -> Result<usize> {
    count(nested_request(file))
}

fn nested_request(file: Vec<u8>) -> ReadRequest {
    let fields = vec![
        optional(
            1,
            "o",
            structure([
                optional(2, "a", INT),
                optional(
                    3,
                    "l",
                    list(optional(
                        4,
                        "element",
                        structure([optional(6, "y", STRING)]),
                    )),
                ),
            ]),
        ),
        optional(
            7,
            "m",
            map(optional(8, "key", STRING), optional(9, "value", INT)),
        ),
        optional(
            10,
            "n",
            map(optional(11, "key", INT), optional(12, "value", STRING)),
        ),
    ];
    request_of(file, fields)
}

fn count(request: ReadRequest) -> Result<usize> {
    let runtime = runtime();
    let mut receiver = start(&runtime, request);
    let mut rows = 0;
    loop {
        match receiver.recv_timeout(std::time::Duration::from_secs(60)) {
            RecvOutcome::Item(batch) => rows += batch?.num_rows(),
            RecvOutcome::Timeout => panic!("the read hangs"),
            RecvOutcome::Done => return Ok(rows),
        }
    }
}

#[test]
fn damaged_files_are_answered() {
    let file = avro(&nested(), &nested_rows(), Codec::Null, 2);
    for place in 0..file.len() {
        for change in [0xff, 0x01, 0x80] {
            let mut damaged = file.clone();
            damaged[place] ^= change;
            if let Err(error) = read_nested(damaged) {
                assert_ne!(error.kind(), ErrorKind::Internal, "{place}: {error}");
                assert!(error.message().contains("\"f.avro\""), "{place}: {error}");
            }
        }
    }
}

#[test]
fn lists_that_claim_too_much_are_refused() {
    let schema = record(json!([{ "name": "l", "field-id": 1, "type": {
        "type": "array", "items": "int", "element-id": 2 } }]));
    let mut file = avro(&schema, &[], Codec::Null, 1);
    let mut block = Vec::new();
    put_long(&mut block, i64::MAX);
    put_long(&mut file, 1);
    put_bytes(&mut file, &block);
    file.extend(SYNC);
    let wanted = vec![optional(1, "l", list(optional(2, "element", INT)))];
    let error = error_of(request_of(file.clone(), wanted.clone()));
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.message().contains("elements"), "{error}");
    // A block that claims to be larger than the file.
    let mut file = avro(&schema, &[], Codec::Null, 1);
    put_long(&mut file, 1);
    put_long(&mut file, 1 << 20);
    let error = error_of(request_of(file, wanted));
    assert!(error.message().contains("is truncated"), "{error}");
}

#[test]
fn a_delete_file_that_was_cut_between_two_blocks_is_corrupt() {
    use crate::plan::{DeleteFile, EqualityColumn, EqualityDeletes, FileFormat, TaskDeletes};
    use crate::storage::RawPath;
    use std::sync::Arc;

    let schema = record(json!([{ "name": "n", "type": "long", "field-id": 1 }]));
    let numbers = |numbers: &[i64]| {
        let rows: Vec<_> = numbers
            .iter()
            .map(|n| row([("n", Value::Long(*n))]))
            .collect();
        avro(&schema, &rows, Codec::Null, 1)
    };
    let (keys, one_key) = (numbers(&[2, 4]), numbers(&[2]));
    // What is left of `keys` when its last block is cut off.
    assert!(keys.starts_with(&one_key));
    let read = |kept: &[u8]| {
        let files = [
            ("a.avro", numbers(&[1, 2, 3, 4])),
            ("keys.avro", kept.to_vec()),
        ];
        let mut request = request(MemoryFiles::of(files), vec![optional(1, "n", LONG)]);
        request.tasks.truncate(1);
        let deletes = EqualityDeletes {
            columns: vec![EqualityColumn {
                path: vec![Arc::new(optional(1, "n", LONG))],
            }],
            files: vec![(
                1,
                Arc::new(DeleteFile {
                    path: RawPath("keys.avro".to_owned()),
                    format: FileFormat::Avro,
                    file_size: keys.len() as u64,
                    record_count: Some(2),
                }),
            )],
        };
        request.tasks[0].deletes = TaskDeletes {
            equality: vec![Arc::new(deletes)],
            ..TaskDeletes::default()
        };
        count(request)
    };
    assert_eq!(read(&keys).unwrap(), 2);
    let error = read(&one_key).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(
        error.message().contains("\"keys.avro\": is truncated"),
        "{error}"
    );
}
