//! Files that are broken or lie: an error that names the file, never a crash, a hang or a wrong row.
//! Spec: Parquet "File format", "Encryption".

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Int32Type};
use bytes::Bytes;
use parquet::basic::Compression;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;

use super::support::*;
use crate::error::{Error, ErrorKind};
use crate::read::ReadRequest;
use crate::spec::PrimitiveType;
use crate::storage::RawPath;

fn numbers() -> Vec<u8> {
    parquet(vec![(
        1,
        field("c", DataType::Int32),
        Arc::new(Int32Array::from_iter_values(0..1_000)),
    )])
}

fn request_of(file: Vec<u8>) -> ReadRequest {
    request(
        MemoryFiles::of([("bad.parquet", file)]),
        vec![optional(1, "c", INT)],
    )
}

fn expect(file: Vec<u8>, kind: ErrorKind, says: &str) {
    let error = error_of(request_of(file));
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.message().contains("\"bad.parquet\""), "{error}");
    assert!(
        error.message().contains(says),
        "{error} does not say: {says}"
    );
}

/// The place of the footer's metadata in a file.
fn metadata_range(file: &[u8]) -> std::ops::Range<usize> {
    let end = file.len() - 8;
    let length = u32::from_le_bytes(file[end..end + 4].try_into().unwrap()) as usize;
    end - length..end
}

/// The file with its only row group described otherwise.
fn with_row_group(
    file: &[u8],
    change: impl FnOnce(RowGroupMetaData) -> RowGroupMetaData,
) -> Vec<u8> {
    let place = metadata_range(file);
    let metadata = ParquetMetaDataReader::decode_metadata(&file[place.clone()]).unwrap();
    let mut builder = metadata.into_builder();
    let row_group = builder.take_row_groups().remove(0);
    let metadata = builder.set_row_groups(vec![change(row_group)]).build();
    let mut changed = file[..place.start].to_vec();
    ParquetMetaDataWriter::new(&mut changed, &metadata)
        .finish()
        .unwrap();
    changed
}

/// The file with its only column chunk described otherwise.
fn with_chunk(
    file: &[u8],
    change: impl FnOnce(ColumnChunkMetaData) -> ColumnChunkMetaData,
) -> Vec<u8> {
    with_row_group(file, |row_group| {
        let column = row_group.column(0).clone();
        row_group
            .into_builder()
            .set_column_metadata(vec![change(column)])
            .build()
            .unwrap()
    })
}

#[test]
fn a_missing_file() {
    let mut request = request_of(numbers());
    request.tasks[0].path = RawPath("gone.parquet".to_owned());
    let error = error_of(request);
    assert_eq!(error.kind(), ErrorKind::FileNotFound);
    assert!(error.message().contains("gone.parquet"), "{error}");
}

#[test]
fn too_short_and_not_parquet() {
    expect(Vec::new(), ErrorKind::Corrupt, "too short");
    expect(b"PAR1PAR1".to_vec(), ErrorKind::Corrupt, "too short");
    expect(
        b"ORC\0 and so on, for long".to_vec(),
        ErrorKind::Corrupt,
        "not a Parquet file",
    );
    expect(
        b"PAR1\0\0\0\0PAR1".to_vec(),
        ErrorKind::Corrupt,
        "metadata cannot be parsed",
    );
}

#[test]
fn a_footer_that_lies_about_its_length() {
    let file = numbers();
    let length_at = file.len() - 8;
    for length in [u32::MAX, file.len() as u32, file.len() as u32 - 11] {
        let mut lying = file.clone();
        lying[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
        expect(lying, ErrorKind::Corrupt, "claims");
    }
    for length in [0_u32, 1, 17] {
        let mut lying = file.clone();
        lying[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
        expect(lying, ErrorKind::Corrupt, "cannot be parsed");
    }
}

#[test]
fn truncated_files() {
    let file = numbers();
    for length in (0..file.len()).step_by(97) {
        expect(file[..length].to_vec(), ErrorKind::Corrupt, "");
    }
    // The manifest still says the old size.
    let mut request = request_of(file[..file.len() / 2].to_vec());
    request.tasks[0].file_size = file.len() as u64;
    let error = error_of(request);
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("bad.parquet"), "{error}");
}

#[test]
fn a_manifest_that_is_wrong_about_the_size() {
    let size = numbers().len() as u64;
    for wrong in [0, 1, 100, size - 1, size + 1, size * 10, u64::MAX] {
        let mut request = request_of(numbers());
        request.tasks[0].file_size = wrong;
        assert_eq!(rows(request).num_rows(), 1_000, "size {wrong}");
    }
}

#[test]
fn a_manifest_that_is_wrong_about_the_rows() {
    let mut request = request_of(numbers());
    request.tasks[0].record_count = Some(3);
    assert_eq!(rows(request).num_rows(), 1_000);
}

#[test]
fn encrypted_files() {
    let mut footer = numbers();
    let end = footer.len();
    footer[end - 4..].copy_from_slice(b"PARE");
    expect(footer, ErrorKind::NotSupported, "encrypted");

    // A plain footer over encrypted columns: field 8 of the metadata is an encryption algorithm.
    let file = numbers();
    let place = metadata_range(&file);
    let mut plain = file[..place.end - 1].to_vec();
    plain.extend([0x1C, 0x00, 0x00]);
    let length = (plain.len() - place.start) as u32;
    plain.extend(length.to_le_bytes());
    plain.extend(b"PAR1");
    expect(plain, ErrorKind::NotSupported, "encrypted");
}

#[test]
fn row_groups_that_lie() {
    let file = numbers();
    let rows_of = |rows| {
        with_row_group(&file, |row_group| {
            row_group.into_builder().set_num_rows(rows).build().unwrap()
        })
    };
    expect(rows_of(-1), ErrorKind::Corrupt, "claims -1 rows");
    expect(rows_of(1_001), ErrorKind::Corrupt, "another number of rows");
    expect(
        rows_of(i64::MAX),
        ErrorKind::Corrupt,
        "another number of rows",
    );
    let chunk = |change: fn(parquet::file::metadata::ColumnChunkMetaDataBuilder) -> _| {
        with_chunk(&file, |column| {
            let builder: parquet::file::metadata::ColumnChunkMetaDataBuilder =
                change(column.into_builder());
            builder.build().unwrap()
        })
    };
    let outside = "lies outside the file";
    expect(
        chunk(|c| c.set_dictionary_page_offset(Some(1 << 40))),
        ErrorKind::Corrupt,
        outside,
    );
    expect(
        chunk(|c| c.set_total_compressed_size(i64::MAX)),
        ErrorKind::Corrupt,
        outside,
    );
    expect(
        chunk(|c| c.set_total_compressed_size(-5)),
        ErrorKind::Corrupt,
        outside,
    );
    expect(
        chunk(|c| c.set_dictionary_page_offset(None).set_data_page_offset(-9)),
        ErrorKind::Corrupt,
        outside,
    );
    expect(
        chunk(|c| c.set_total_compressed_size(10)),
        ErrorKind::Corrupt,
        "\"c\"",
    );
    // Sizes are only estimates to us.
    let odd = chunk(|c| c.set_total_uncompressed_size(-1));
    assert_eq!(rows(request_of(odd)).num_rows(), 1_000);
}

#[test]
fn a_dictionary_at_offset_zero_is_none() {
    let file = parquet_with(
        vec![(
            1,
            field("c", DataType::Int32),
            Arc::new(Int32Array::from(vec![7, 8])),
        )],
        WriterProperties::builder()
            .set_dictionary_enabled(false)
            .build(),
    );
    let zero = with_chunk(&file, |column| {
        column
            .into_builder()
            .set_dictionary_page_offset(Some(0))
            .build()
            .unwrap()
    });
    let batch = rows(request_of(zero));
    assert_eq!(
        batch.column(0).as_primitive::<Int32Type>().values(),
        &[7, 8]
    );
}

#[test]
fn an_unknown_codec_is_not_supported() {
    let file = with_chunk(&numbers(), |column| {
        column
            .into_builder()
            .set_compression(Compression::LZO)
            .build()
            .unwrap()
    });
    expect(file, ErrorKind::NotSupported, "LZO");
}

#[test]
fn a_schema_too_deep_for_any_stack() {
    let deep = |levels: usize| {
        with_a_deep_stack(move || {
            let message = format!(
                "message m {{ required int32 c = 1; {}required int32 x;{} }}",
                "required group g { ".repeat(levels),
                " }".repeat(levels)
            );
            let columns = vec![Values::Int32(vec![1]).into(), Values::Int32(vec![2]).into()];
            raw_parquet(&message, columns)
        })
    };
    expect(deep(5_000), ErrorKind::NotSupported, "nests deeper");
    assert_eq!(rows(request_of(deep(150))).num_rows(), 1);
}

/// Text that is not UTF-8, beside columns that are fine.
fn invalid_text(with_dictionary: bool) -> (Vec<u8>, Error) {
    let texts = |bad: bool| {
        let mut values: Vec<&[u8]> = vec![b"good", b"a longer text than a view holds"];
        if bad {
            values.push(b"bad \xFF\xFE and long enough to be in a buffer");
        }
        values.push(b"good");
        Arc::new(arrow::array::BinaryArray::from(values)) as ArrayRef
    };
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let mut more = vec![(1, field("n", DataType::Int64), numbers)];
    let good = arrow::compute::concat(&[texts(false).as_ref()]).unwrap();
    more.push((2, field("good", DataType::Binary), good));
    let bad = texts(true).slice(1, 3);
    more.push((3, field("stored_name", DataType::Binary), bad));
    let file = parquet_with(
        more,
        WriterProperties::builder()
            .set_dictionary_enabled(with_dictionary)
            .build(),
    );
    let error = error_of(request(
        MemoryFiles::of([("bad.parquet", file.clone())]),
        vec![
            optional(1, "n", LONG),
            optional(2, "good", STRING),
            optional(3, "wanted_name", STRING),
        ],
    ));
    (file, error)
}

#[test]
fn invalid_utf8_names_the_column() {
    for with_dictionary in [true, false] {
        let (file, error) = invalid_text(with_dictionary);
        assert_eq!(error.kind(), ErrorKind::InvalidText, "{error}");
        assert!(
            error.message().starts_with(
                "file \"bad.parquet\": column \"wanted_name\": text is not valid UTF-8"
            ),
            "{error}"
        );
        // Who does not read the column does not mind.
        let others = vec![optional(1, "n", LONG), optional(2, "good", STRING)];
        let request = request(MemoryFiles::of([("bad.parquet", file)]), others);
        assert_eq!(rows(request).num_rows(), 3);
    }
}

#[test]
fn invalid_utf8_in_a_list_names_the_column() {
    let file = raw_parquet(
        "message m { required int32 n = 5; optional group c (LIST) = 1 { repeated group list { \
         required binary element (UTF8) = 2; } } }",
        vec![
            Values::Int32(vec![1]).into(),
            RawColumn {
                values: Values::Bytes(vec![vec![0xC0, 0x80]]),
                definition_levels: Some(vec![2]),
                repetition_levels: Some(vec![0]),
            },
        ],
    );
    let error = error_of(request(
        MemoryFiles::of([("bad.parquet", file)]),
        vec![
            optional(5, "n", INT),
            optional(1, "c", list(optional(2, "element", STRING))),
        ],
    ));
    assert_eq!(error.kind(), ErrorKind::InvalidText);
    assert!(error.message().contains("column \"c\""), "{error}");
}

/// Flips bytes all over a file: each read must end, with rows or with an error that names the file.
#[test]
fn flipped_bytes_never_crash_or_hang() {
    let texts = StringArray::from_iter((0..300).map(|n| (n % 3 > 0).then(|| format!("text {n}"))));
    let numbers = Int64Array::from_iter_values((0..300).map(|n| n * n));
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        let file = parquet_with(
            vec![
                (
                    1,
                    field("n", DataType::Int64),
                    Arc::new(numbers.clone()) as ArrayRef,
                ),
                (2, field("t", DataType::Utf8), Arc::new(texts.clone())),
            ],
            WriterProperties::builder()
                .set_compression(compression)
                .build(),
        );
        let file = Bytes::from(file);
        for place in (0..file.len()).step_by(11) {
            for flip in [0xFF, 0x01] {
                let mut flipped = file.to_vec();
                flipped[place] ^= flip;
                let request = request(
                    MemoryFiles::of([("bad.parquet", flipped)]),
                    vec![optional(1, "n", LONG), optional(2, "t", STRING)],
                );
                if let Err(error) = try_batches(request) {
                    assert!(error.message().contains("bad.parquet"), "{error}");
                    assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
                }
            }
        }
    }
}

/// A signed integer as Thrift's compact protocol has it.
fn thrift_integer(number: u32) -> Vec<u8> {
    let mut left = u64::from(number) << 1;
    let mut bytes = Vec::new();
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
    bytes
}

/// The file of one column chunk with the first such bytes of its pages replaced.
fn with_page_bytes(file: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let place = file
        .windows(old.len())
        .position(|window| window == old)
        .expect("the bytes are there");
    let changed = [&file[..place], new, &file[place + old.len()..]].concat();
    let more = new.len() as i64 - old.len() as i64;
    with_chunk(&changed, |column| {
        let data = column.data_page_offset();
        let dictionary = column.dictionary_page_offset();
        let length = column.compressed_size();
        column
            .into_builder()
            .set_data_page_offset(data + dictionary.map_or(0, |_| more))
            .set_total_compressed_size(length + more)
            .build()
            .unwrap()
    })
}

#[test]
fn a_dictionary_with_more_values_than_bytes() {
    const DICTIONARY_HEADER: u8 = 0x4C;
    const FIRST_INTEGER: u8 = 0x15;
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..1_000).map(|number| number.to_string()),
    ));
    let texts = parquet(vec![(1, field("c", DataType::Utf8), texts)]);
    for (file, wanted) in [(numbers(), INT), (texts, STRING)] {
        let header = |values| {
            let mut header = vec![DICTIONARY_HEADER, FIRST_INTEGER];
            header.extend(thrift_integer(values));
            header
        };
        // Memory for so many values would have to be had before the first is looked at.
        let lying = with_page_bytes(&file, &header(1_000), &header(i32::MAX as u32));
        let error = error_of(request(
            MemoryFiles::of([("bad.parquet", lying)]),
            vec![optional(1, "c", wanted)],
        ));
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(
            error
                .message()
                .starts_with("file \"bad.parquet\": column \"c\":"),
            "{error}"
        );
        assert!(
            error.message().contains("claims to have 2147483647 values"),
            "{error}"
        );
    }
}

#[test]
fn a_page_that_claims_to_unpack_to_gigabytes() {
    for compression in [Compression::SNAPPY, Compression::LZ4_RAW] {
        let file = parquet_with(
            vec![(
                1,
                field("c", DataType::Int32),
                Arc::new(Int32Array::from(vec![7; 1_000])),
            )],
            WriterProperties::builder()
                .set_compression(compression)
                .set_dictionary_enabled(false)
                .build(),
        );
        // Type, unpacked size; the levels take 8 bytes before 1000 times 4.
        let header = |unpacked| [vec![0x15, 0x00, 0x15], thrift_integer(unpacked)].concat();
        let unpacked = (4_000..4_020)
            .find(|unpacked| {
                let header = header(*unpacked);
                file.windows(header.len()).any(|window| window == header)
            })
            .expect("the size is there");
        let lying = with_page_bytes(&file, &header(unpacked), &header(i32::MAX as u32));
        expect(
            lying,
            ErrorKind::Corrupt,
            "claims to unpack to 2147483647 bytes",
        );
    }
}

#[test]
fn a_page_that_begins_with_too_many_lengths() {
    use parquet::basic::Encoding;
    for encoding in [
        Encoding::DELTA_LENGTH_BYTE_ARRAY,
        Encoding::DELTA_BYTE_ARRAY,
    ] {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["text"; 200]));
        let file = parquet_with(
            vec![(1, field("c", DataType::Utf8), texts)],
            WriterProperties::builder()
                .set_dictionary_enabled(false)
                .set_encoding(encoding)
                .build(),
        );
        let read = |file| {
            try_batches(request(
                MemoryFiles::of([("bad.parquet", file)]),
                vec![optional(1, "c", STRING)],
            ))
        };
        assert_eq!(read(file.clone()).unwrap()[0].num_rows(), 200);
        // The size of a block, how many parts it has, how many values there are.
        let claims = |count: &[u8]| [&[0x80, 0x01, 0x04][..], count].concat();
        let (old, new) = (
            claims(&[0xC8, 0x01]),
            claims(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
        );
        let at = file
            .windows(old.len())
            .position(|window| window == old)
            .expect("the count is there");
        let (size, header) = (100..2_000)
            .map(|size| {
                let size_bytes = thrift_integer(size);
                let header = [&[0x15, 0x00, 0x15], &size_bytes[..], &[0x15], &size_bytes].concat();
                (size, header)
            })
            .find(|(_, header)| file[..at].windows(header.len()).any(|w| w == header))
            .expect("the size is there");
        let size_bytes = thrift_integer(size + 4);
        let longer = [&[0x15, 0x00, 0x15], &size_bytes[..], &[0x15], &size_bytes].concat();
        assert_eq!(longer.len(), header.len());
        let lying = with_page_bytes(&file, &old, &new);
        let lying = with_page_bytes(&lying, &header, &longer);
        let error = read(lying).unwrap_err();
        assert!(error.message().contains("column \"c\""), "{error}");
        assert!(
            error.message().contains("delta-encoded values in one page")
                || error.message().contains("ends within its lengths"),
            "{error}"
        );
    }
}

/// A null takes no byte of a file, but as many in memory as a value.
#[test]
fn values_of_a_fixed_length_that_no_memory_holds() {
    let longest = 1 << 27;
    for (annotation, wanted) in [
        ("", PrimitiveType::Fixed(longest)),
        ("", PrimitiveType::Unknown),
        (
            "(DECIMAL(9,2))",
            PrimitiveType::Decimal {
                precision: 9,
                scale: 2,
            },
        ),
    ] {
        let message =
            format!("message m {{ optional fixed_len_byte_array({longest}) c {annotation} = 1; }}");
        let column = RawColumn {
            values: Values::Fixed(Vec::new()),
            definition_levels: Some(vec![0; 1_000]),
            repetition_levels: None,
        };
        let error = error_of(request(
            MemoryFiles::of([("bad.parquet", raw_parquet(&message, vec![column]))]),
            vec![optional(1, "c", wanted)],
        ));
        assert_eq!(error.kind(), ErrorKind::TypeMismatch, "{error}");
        assert!(error.message().contains("134217728"), "{error}");
    }
}
