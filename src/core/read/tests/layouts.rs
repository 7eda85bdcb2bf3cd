//! Every way that Parquet writers store the same value: physical types, annotations, encodings,
//! pages, codecs and legacy shapes of lists. Spec: Appendix A "Parquet"; Parquet "LogicalTypes".

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray,
};
use arrow::datatypes::{
    DataType, Decimal128Type, Float64Type, Int32Type, Int64Type, Schema as ArrowSchema,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use super::support::*;
use crate::error::ErrorKind;
use crate::spec::PrimitiveType;

/// One required column `c` with id 1, of a Parquet type.
fn required(parquet_type: &str, values: Values) -> Vec<u8> {
    let message = match parquet_type.split_once('|') {
        Some((physical, annotation)) => {
            format!("message m {{ required {physical} c ({annotation}) = 1; }}")
        }
        None => format!("message m {{ required {parquet_type} c = 1; }}"),
    };
    raw_parquet(&message, vec![values.into()])
}

fn decimal(precision: u8, scale: u8) -> PrimitiveType {
    PrimitiveType::Decimal { precision, scale }
}

#[test]
fn decimals_of_every_physical_type() {
    let expected = [Some(-12_345), Some(99_999)];
    let files = [
        required("int32|DECIMAL(9,2)", Values::Int32(vec![-12_345, 99_999])),
        required("int64|DECIMAL(18,2)", Values::Int64(vec![-12_345, 99_999])),
        required(
            "fixed_len_byte_array(4)|DECIMAL(9,2)",
            Values::Fixed(vec![
                (-12_345_i32).to_be_bytes().to_vec(),
                99_999_i32.to_be_bytes().to_vec(),
            ]),
        ),
        required(
            "fixed_len_byte_array(20)|DECIMAL(38,2)",
            Values::Fixed(vec![
                [vec![0xFF; 4], (-12_345_i128).to_be_bytes().to_vec()].concat(),
                [vec![0; 4], 99_999_i128.to_be_bytes().to_vec()].concat(),
            ]),
        ),
        // Two's complement of any length: -12345 is CF C7.
        required(
            "binary|DECIMAL(20,2)",
            Values::Bytes(vec![vec![0xCF, 0xC7], vec![0x01, 0x86, 0x9F]]),
        ),
    ];
    for file in files {
        let read = column(file, decimal(38, 2)).unwrap();
        assert_eq!(
            read.as_primitive::<Decimal128Type>()
                .iter()
                .collect::<Vec<_>>(),
            expected
        );
    }
}

#[test]
fn thirty_eight_digits_in_bytes() {
    let largest = 10_i128.pow(38) - 1;
    let file = required(
        "fixed_len_byte_array(16)|DECIMAL(38,0)",
        Values::Fixed(vec![
            largest.to_be_bytes().to_vec(),
            (-largest).to_be_bytes().to_vec(),
        ]),
    );
    let read = column(file, decimal(38, 0)).unwrap();
    assert_eq!(
        read.as_primitive::<Decimal128Type>().values(),
        &[largest, -largest]
    );
}

#[test]
fn int96_timestamps_reach_over_all_years() {
    // Nanoseconds of the day, low and high, then the Julian day: 2440588 is 1970-01-01.
    let nanoseconds = 86_399_999_999_000_u64;
    let late = [nanoseconds as u32, (nanoseconds >> 32) as u32, 5_373_484];
    let file = required(
        "int96",
        Values::Int96(vec![[0, 0, 2_440_588], [0, 0, 1_721_426], late]),
    );
    let expected = [
        0,
        -62_135_596_800_000_000,
        // 9999-12-31 23:59:59.999999
        253_402_300_799_999_999,
    ];
    for wanted in [PrimitiveType::Timestamp, PrimitiveType::Timestamptz] {
        let read = column(file.clone(), wanted).unwrap();
        assert_eq!(
            read.as_primitive::<TimestampMicrosecondType>().values(),
            &expected
        );
    }
}

#[test]
fn times_and_timestamps_of_every_unit() {
    let micros = |file, wanted| {
        let read = column(file, wanted).unwrap();
        match read.data_type() {
            DataType::Time64(_) => read
                .as_primitive::<Time64MicrosecondType>()
                .values()
                .to_vec(),
            _ => read
                .as_primitive::<TimestampMicrosecondType>()
                .values()
                .to_vec(),
        }
    };
    assert_eq!(
        micros(
            required("int32|TIME_MILLIS", Values::Int32(vec![0, 86_399_999])),
            PrimitiveType::Time
        ),
        [0, 86_399_999_000]
    );
    assert_eq!(
        micros(
            required(
                "int64|TIME(NANOS,false)",
                Values::Int64(vec![1_999, 86_399_999_999_999])
            ),
            PrimitiveType::Time
        ),
        [1, 86_399_999_999]
    );
    assert_eq!(
        micros(
            required("int64|TIMESTAMP_MILLIS", Values::Int64(vec![-1, 1_500])),
            PrimitiveType::Timestamp
        ),
        [-1_000, 1_500_000]
    );
    // Before 1970 too, a microsecond holds the nanoseconds from it on.
    assert_eq!(
        micros(
            required(
                "int64|TIMESTAMP(NANOS,false)",
                Values::Int64(vec![-1, 1_999, -1_000])
            ),
            PrimitiveType::Timestamp
        ),
        [-1, 1, -1]
    );
    let read = column(
        required("int64|TIMESTAMP(MICROS,true)", Values::Int64(vec![-7])),
        PrimitiveType::TimestamptzNs,
    )
    .unwrap();
    assert_eq!(
        read.as_primitive::<TimestampNanosecondType>().values(),
        &[-7_000]
    );
}

#[test]
fn a_timestamp_too_far_for_its_unit_is_out_of_range() {
    let file = required("int64|TIMESTAMP_MILLIS", Values::Int64(vec![i64::MAX]));
    let error = column(file, PrimitiveType::Timestamp).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert!(error.message().contains("\"c\""), "{error}");
}

#[test]
fn the_schema_decides_about_the_zone() {
    for adjusted in ["true", "false"] {
        let stored = format!("int64|TIMESTAMP(MICROS,{adjusted})");
        for (wanted, zone) in [
            (PrimitiveType::Timestamp, None),
            (PrimitiveType::Timestamptz, Some("UTC")),
        ] {
            let read = column(required(&stored, Values::Int64(vec![5])), wanted).unwrap();
            let read = read.as_primitive::<TimestampMicrosecondType>();
            assert_eq!((read.value(0), read.timezone()), (5, zone));
        }
    }
}

#[test]
fn narrow_and_unsigned_integers() {
    let int = |stored, value| column(required(stored, Values::Int32(vec![value])), INT);
    assert_eq!(
        int("int32|INT_8", -128)
            .unwrap()
            .as_primitive::<Int32Type>()
            .value(0),
        -128
    );
    assert_eq!(
        int("int32|UINT_16", 65_535)
            .unwrap()
            .as_primitive::<Int32Type>()
            .value(0),
        65_535
    );
    assert_eq!(
        int("int32|UINT_32", 7)
            .unwrap()
            .as_primitive::<Int32Type>()
            .value(0),
        7
    );
    let error = int("int32|UINT_32", -1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert!(error.message().contains("4294967295"), "{error}");
    let long = column(required("int32|UINT_32", Values::Int32(vec![-1])), LONG).unwrap();
    assert_eq!(long.as_primitive::<Int64Type>().value(0), 4_294_967_295);
    let error = column(required("int64|UINT_64", Values::Int64(vec![-1])), LONG).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert!(error.message().contains("18446744073709551615"), "{error}");
}

#[test]
fn text_and_bytes_under_other_annotations() {
    let values = || Values::Bytes(vec!["ä".into(), "longer than twelve bytes".into()]);
    for stored in [
        "binary",
        "binary|UTF8",
        "binary|STRING",
        "binary|ENUM",
        "binary|JSON",
    ] {
        let read = column(required(stored, values()), STRING).unwrap();
        let read = read.as_string_view();
        assert_eq!(
            (read.value(0), read.value(1)),
            ("ä", "longer than twelve bytes")
        );
    }
    for stored in ["binary", "binary|UTF8", "binary|BSON"] {
        let read = column(required(stored, values()), PrimitiveType::Binary).unwrap();
        assert_eq!(read.as_binary_view().value(0), "ä".as_bytes());
    }
    let error = column(required("binary|BSON", values()), STRING).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TypeMismatch);
}

#[test]
fn fixed_must_have_its_length() {
    let file = || {
        required(
            "fixed_len_byte_array(3)",
            Values::Fixed(vec![b"abc".to_vec()]),
        )
    };
    let read = column(file(), PrimitiveType::Fixed(3)).unwrap();
    assert_eq!(read.as_fixed_size_binary().value(0), b"abc");
    for wanted in [PrimitiveType::Fixed(4), PrimitiveType::Uuid] {
        let error = column(file(), wanted).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TypeMismatch);
        assert!(
            error.message().contains("FIXED_LEN_BYTE_ARRAY(3)"),
            "{error}"
        );
    }
}

#[test]
fn every_encoding_page_version_and_codec() {
    let rows = 5_000;
    let longs = Int64Array::from_iter((0..rows).map(|n| (n % 7 != 0).then_some(n * n - 5_000)));
    let texts = StringArray::from_iter(
        (0..rows).map(|n| (n % 5 != 0).then(|| format!("row number {}", n % 100))),
    );
    let doubles = Float64Array::from_iter_values((0..rows).map(|n| n as f64 / 3.0));
    let decimals = Decimal128Array::from_iter_values((0..rows).map(|n| i128::from(n) - 2_500))
        .with_precision_and_scale(30, 3)
        .unwrap();
    let properties = || WriterProperties::builder().set_data_page_row_count_limit(700);
    let column_of = |name: &str| parquet::schema::types::ColumnPath::from(name);
    let variants = [
        properties().set_dictionary_enabled(true),
        properties()
            .set_dictionary_enabled(false)
            .set_column_encoding(column_of("l"), Encoding::DELTA_BINARY_PACKED)
            .set_column_encoding(column_of("t"), Encoding::DELTA_BYTE_ARRAY)
            .set_column_encoding(column_of("d"), Encoding::BYTE_STREAM_SPLIT),
        properties()
            .set_dictionary_enabled(false)
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_column_encoding(column_of("t"), Encoding::DELTA_LENGTH_BYTE_ARRAY),
        properties()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(Compression::SNAPPY),
        properties().set_compression(Compression::GZIP(GzipLevel::default())),
        properties().set_compression(Compression::ZSTD(ZstdLevel::default())),
        properties().set_compression(Compression::LZ4_RAW),
        properties().set_compression(Compression::BROTLI(BrotliLevel::default())),
    ];
    for variant in variants {
        let file = parquet_with(
            vec![
                (
                    1,
                    field("l", DataType::Int64),
                    Arc::new(longs.clone()) as ArrayRef,
                ),
                (2, field("t", DataType::Utf8), Arc::new(texts.clone())),
                (3, field("d", DataType::Float64), Arc::new(doubles.clone())),
                (
                    4,
                    field("n", DataType::Decimal128(30, 3)),
                    Arc::new(decimals.clone()),
                ),
            ],
            variant.build(),
        );
        let batch = super::support::rows(request(
            MemoryFiles::of([("f", file)]),
            vec![
                optional(1, "l", LONG),
                optional(2, "t", STRING),
                optional(3, "d", PrimitiveType::Double),
                optional(4, "n", decimal(30, 3)),
            ],
        ));
        assert_eq!(batch.column(0).as_primitive::<Int64Type>(), &longs);
        assert!(batch.column(1).as_string_view().iter().eq(texts.iter()));
        assert_eq!(batch.column(2).as_primitive::<Float64Type>(), &doubles);
        assert_eq!(batch.column(3).as_primitive::<Decimal128Type>(), &decimals);
    }
}

/// `[[1, 2], [], null, [3]]` in two levels under a list, or `[[1, 2], [], [], [3]]` repeated bare.
fn two_levels(message: &str, optional: bool) -> Vec<u8> {
    let (definition, repetition) = if optional {
        (vec![2, 2, 1, 0, 2], vec![0, 1, 0, 0, 0])
    } else {
        (vec![1, 1, 0, 0, 1], vec![0, 1, 0, 0, 0])
    };
    raw_parquet(
        message,
        vec![RawColumn {
            values: Values::Int32(vec![1, 2, 3]),
            definition_levels: Some(definition),
            repetition_levels: Some(repetition),
        }],
    )
}

fn longs(array: &dyn Array) -> Vec<Option<i64>> {
    array.as_primitive::<Int64Type>().iter().collect()
}

#[test]
fn legacy_lists_of_primitives() {
    let wanted = || list(optional(2, "element", LONG));
    let annotated = [
        "message m { optional group c (LIST) = 1 { repeated int32 element = 2; } }",
        "message m { optional group c (LIST) = 1 { repeated int32 array; } }",
    ];
    for message in annotated {
        let read = column(two_levels(message, true), wanted()).unwrap();
        let read = read.as_list::<i32>();
        assert_eq!(longs(&read.value(0)), [Some(1), Some(2)]);
        assert!(read.is_valid(1) && read.value(1).is_empty());
        assert!(read.is_null(2));
        assert_eq!(longs(&read.value(3)), [Some(3)]);
    }
    let bare = two_levels("message m { repeated int32 c = 1; }", false);
    let read = column(bare, wanted()).unwrap();
    let read = read.as_list::<i32>();
    assert_eq!(longs(&read.value(0)), [Some(1), Some(2)]);
    assert!(read.value(1).is_empty() && read.value(2).is_empty());
    assert_eq!(longs(&read.value(3)), [Some(3)]);
}

#[test]
fn legacy_lists_of_structs() {
    let wanted = || {
        list(optional(
            2,
            "element",
            structure([optional(9, "new", STRING), optional(4, "b", LONG)]),
        ))
    };
    let two_fields = |repeated: &str| {
        raw_parquet(
            &format!(
                "message m {{ optional group c (LIST) = 1 {{ repeated group {repeated} {{ \
                 required int32 a = 3; optional int32 b = 4; }} }} }}"
            ),
            vec![
                RawColumn {
                    values: Values::Int32(vec![10, 20, 30]),
                    definition_levels: Some(vec![2, 2, 1, 0, 2]),
                    repetition_levels: Some(vec![0, 1, 0, 0, 0]),
                },
                RawColumn {
                    values: Values::Int32(vec![1, 3]),
                    definition_levels: Some(vec![3, 2, 1, 0, 3]),
                    repetition_levels: Some(vec![0, 1, 0, 0, 0]),
                },
            ],
        )
    };
    for file in [
        two_fields("bag"),
        two_fields("array"),
        two_fields("c_tuple"),
    ] {
        let read = column(file, wanted()).unwrap();
        let read = read.as_list::<i32>();
        assert!(read.value(1).is_empty() && read.is_null(2));
        let first = read.value(0);
        assert_eq!(longs(first.as_struct().column(1)), [Some(1), None]);
        assert_eq!(first.as_struct().column(0).null_count(), 2);
    }
    // A group with a single field is the element only under the names that the rules give.
    for (repeated, is_element) in [("array", true), ("c_tuple", true), ("bag", false)] {
        let file = raw_parquet(
            &format!(
                "message m {{ optional group c (LIST) = 1 {{ repeated group {repeated} {{ \
                 required int32 b = 4; }} }} }}"
            ),
            vec![RawColumn {
                values: Values::Int32(vec![1, 2]),
                definition_levels: Some(vec![2, 2, 0]),
                repetition_levels: Some(vec![0, 1, 0]),
            }],
        );
        let of_structs = column(file.clone(), wanted());
        let of_longs = column(file, list(optional(4, "element", LONG)));
        if is_element {
            let read = of_structs.unwrap();
            let values = read.as_list::<i32>().value(0);
            assert_eq!(longs(values.as_struct().column(1)), [Some(1), Some(2)]);
            assert_eq!(of_longs.unwrap_err().kind(), ErrorKind::TypeMismatch);
        } else {
            let read = of_longs.unwrap();
            assert_eq!(longs(&read.as_list::<i32>().value(0)), [Some(1), Some(2)]);
        }
    }
}

#[test]
fn maps_under_their_old_annotation_and_names() {
    let file = raw_parquet(
        "message m { required group c (MAP_KEY_VALUE) = 1 { repeated group map { \
         required binary k (UTF8) = 2; optional int32 v = 3; } } }",
        vec![
            RawColumn {
                values: Values::Bytes(vec![b"x".to_vec(), b"y".to_vec()]),
                definition_levels: Some(vec![1, 1, 0]),
                repetition_levels: Some(vec![0, 1, 0]),
            },
            RawColumn {
                values: Values::Int32(vec![5]),
                definition_levels: Some(vec![2, 1, 0]),
                repetition_levels: Some(vec![0, 1, 0]),
            },
        ],
    );
    let read = column(
        file,
        map(optional(2, "key", STRING), optional(3, "value", LONG)),
    )
    .unwrap();
    let read = read.as_map();
    assert_eq!(read.value_offsets(), &[0, 2, 2]);
    assert_eq!(read.keys().as_string_view().value(1), "y");
    assert_eq!(longs(read.values()), [Some(5), None]);
}

#[test]
fn files_and_row_groups_without_rows() {
    let schema = Arc::new(ArrowSchema::new(vec![with_id(
        1,
        field("c", DataType::Int32),
    )]));
    let batch = |values: Vec<i32>| {
        RecordBatch::try_new(
            Arc::clone(&schema),
            vec![Arc::new(Int32Array::from(values))],
        )
        .unwrap()
    };
    let nothing = parquet_of(&[batch(Vec::new())], WriterProperties::builder().build());
    let empty_request = request(
        MemoryFiles::of([("f", nothing.clone())]),
        vec![optional(1, "c", INT)],
    );
    assert!(try_batches(empty_request).unwrap().is_empty());

    let some = parquet_of(&[batch(vec![1, 2])], WriterProperties::builder().build());
    let no_columns = raw_parquet("message m { }", Vec::new());
    let read = rows(request(
        MemoryFiles::of([("a", nothing), ("b", some), ("c", no_columns)]),
        vec![optional(1, "c", INT)],
    ));
    assert_eq!(read.column(0).as_primitive::<Int32Type>().values(), &[1, 2]);
}

#[test]
fn an_unneeded_column_of_a_type_that_arrow_lacks_is_no_matter() {
    // Arrow has no integer interval for this physical type; nobody asks for the column.
    let file = raw_parquet(
        "message m { required fixed_len_byte_array(12) i (INTERVAL) = 2; required int32 c = 1; }",
        vec![
            Values::Fixed(vec![vec![0; 12]]).into(),
            Values::Int32(vec![4]).into(),
        ],
    );
    let read = column(file, INT).unwrap();
    assert_eq!(read.as_primitive::<Int32Type>().values(), &[4]);
}
