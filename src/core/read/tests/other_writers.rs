//! Parquet files that other programs wrote (see `testdata/README.md`) in layouts that the writer of
//! the other tests does not produce or might get wrong together with the reader.
//! Spec: Parquet "Compression", "Encodings".

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type};

use super::support::*;
use crate::spec::{NestedField, PrimitiveType};

fn read(name: &str, fields: Vec<NestedField>) -> RecordBatch {
    rows(request(MemoryFiles::of([(name, testdata(name))]), fields))
}

fn decimal(precision: u8, scale: u8) -> PrimitiveType {
    PrimitiveType::Decimal { precision, scale }
}

#[test]
fn lz4_blocks_with_the_lengths_that_hadoop_puts_before_them_and_without() {
    for name in [
        "hadoop_lz4_compressed.parquet",
        "non_hadoop_lz4_compressed.parquet",
    ] {
        // The files have no field ids, so that their columns count.
        let batch = read(
            name,
            vec![
                optional(1, "c0", LONG),
                optional(2, "c1", PrimitiveType::Binary),
                optional(3, "v11", PrimitiveType::Double),
            ],
        );
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        assert_eq!(
            numbers.values(),
            &[1_593_604_800, 1_593_604_800, 1_593_604_801, 1_593_604_801]
        );
        let texts: Vec<_> = batch.column(1).as_binary_view().iter().flatten().collect();
        assert_eq!(texts, [b"abc", b"def", b"abc", b"def"]);
        let doubles = batch.column(2).as_primitive::<Float64Type>();
        assert_eq!(doubles.values(), &[42.0, 7.7, 42.125, 7.7]);
    }
}

#[test]
fn streams_of_split_bytes_hold_what_the_plain_column_beside_them_does() {
    // Two columns each: the first plain, the second split. Halves are not of Iceberg.
    let kinds = [
        (3, PrimitiveType::Float),
        (5, PrimitiveType::Double),
        (7, INT),
        (9, LONG),
        (11, PrimitiveType::Fixed(5)),
        (13, decimal(7, 3)),
    ];
    let fields = kinds.iter().flat_map(|(id, kind)| {
        [
            optional(*id, "plain", kind.clone()),
            optional(*id + 1, "split", kind.clone()),
        ]
    });
    let fields = fields
        .map(|mut field| {
            field.name = format!("{}{}", field.name, field.id);
            field
        })
        .collect();
    let batch = read("byte_stream_split_extended.gzip.parquet", fields);
    assert_eq!(batch.num_rows(), 200);
    for pair in batch.columns().chunks(2) {
        assert_eq!(&pair[0], &pair[1]);
        assert_eq!(pair[0].null_count(), 0);
    }
    // Not all the same.
    let floats = batch.column(0).as_primitive::<Float32Type>();
    let ints = batch.column(4).as_primitive::<Int32Type>();
    assert_ne!(floats.value(0), floats.value(1));
    assert_ne!(ints.value(0), ints.value(1));
}

#[test]
fn decimals_of_every_encoding() {
    for encoding in [
        "byte_stream_split",
        "byte_stream_split_numbers",
        "delta_byte_array",
        "delta_binary_packed",
    ] {
        let batch = read(
            &format!("decimals.{encoding}.parquet"),
            vec![
                optional(1, "d9", decimal(9, 2)),
                optional(2, "d18", decimal(18, 4)),
                optional(3, "d38", decimal(38, 10)),
            ],
        );
        assert_eq!(batch.num_rows(), 300);
        let columns = [0, 1, 2].map(|column| batch.column(column).as_primitive::<Decimal128Type>());
        for row in 0..300 {
            let n = row as i128 - 150;
            let nine = (row % 7 != 0).then_some(n * 6_660_001);
            let read = columns.map(|column| column.is_valid(row).then(|| column.value(row)));
            let expected = [
                nine,
                Some(n * 6_660_000_000_000_001),
                Some(n * 660_000_000_000_000_000_000_000_000_000_000_001),
            ];
            assert_eq!(read, expected, "{encoding}, row {row}");
        }
    }
}
