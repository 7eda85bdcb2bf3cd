//! Files that other libraries wrote with every codec, and files that are broken in every way.

use apache_avro::Codec;
use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::error::{ErrorKind, Result};
use crate::spec::test_files::{AvroTestFile, ManifestTestFile, manifest_file, read_testdata};
use crate::spec::{ManifestContent, ManifestFile, ManifestReader, read_manifest_list};

#[test]
fn every_codec_in_several_blocks() {
    for codec in ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"] {
        let content = read_testdata(&format!("codecs/{codec}.avro"));
        let manifests = read_manifest_list("list", content).unwrap();
        assert_eq!(manifests.len(), 50, "{codec}");
        for (manifest, number) in manifests.iter().zip(0..) {
            let expected = ManifestFile {
                manifest_length: Some(number * 1_000_000_007),
                partition_spec_id: Some(number as i32 % 3),
                added_snapshot_id: None,
                added_files_count: (number % 4 != 0).then_some(number),
                ..ManifestFile::inline(format!("/t/metadata/manifest-{number}.avro"), 0)
            };
            assert_eq!(*manifest, expected, "{codec}");
        }
    }
}

#[test]
fn unknown_codecs_are_not_supported() {
    let file = read_testdata("codecs/null.avro");
    let renamed = replace(&file, b"\x08null", b"\x08lzma");
    let error = AvroFile::open("/t/list", renamed).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(error.message().contains("lzma"), "{error}");
    assert!(error.message().contains("/t/list"), "{error}");
}

fn replace(content: &[u8], from: &[u8], to: &[u8]) -> Bytes {
    let position = content
        .windows(from.len())
        .position(|window| window == from)
        .unwrap();
    let mut replaced = content.to_vec();
    replaced.splice(position..position + from.len(), to.iter().copied());
    replaced.into()
}

/// Reads all records of a file, passing over their values.
fn skip_all(content: Bytes) -> Result<u64> {
    let mut file = AvroFile::open("/t/file", content)?;
    let mut records = 0;
    while file
        .next_record(|schema, decoder| decoder.skip(schema))?
        .is_some()
    {
        records += 1;
    }
    Ok(records)
}

fn assert_corrupt(content: Bytes, says: &str) {
    let error = skip_all(content).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.message().contains("/t/file"), "{error}");
    assert!(error.message().contains(says), "{says}: {error}");
}

/// A header with this schema, without a codec; the sync marker is 16 times `s`.
fn header(schema: &str) -> Vec<u8> {
    let mut file = b"Obj\x01\x02\x16avro.schema".to_vec();
    file.extend(varint(schema.len() as i64));
    file.extend(schema.as_bytes());
    file.push(0);
    file.extend([b's'; 16]);
    file
}

fn with_block(schema: &str, count: i64, block: &[u8]) -> Bytes {
    let mut file = header(schema);
    file.extend(varint(count));
    file.extend(varint(block.len() as i64));
    file.extend(block);
    file.extend([b's'; 16]);
    file.into()
}

fn varint(value: i64) -> Vec<u8> {
    let mut encoded = ((value << 1) ^ (value >> 63)) as u64;
    let mut bytes = Vec::new();
    while encoded > 0x7f {
        bytes.push(encoded as u8 | 0x80);
        encoded >>= 7;
    }
    bytes.push(encoded as u8);
    bytes
}

#[test]
fn what_is_no_avro_file_is_corrupt() {
    for content in [
        "",
        "O",
        "Obj",
        "Obj\x02",
        "obj\x01",
        "{}",
        "\0\0\0\0\0\0\0\0",
    ] {
        assert_corrupt(content.into(), "not an Avro file");
    }
    assert_corrupt("Obj\x01".into(), "ends");
    // A header without a schema, and with ones that are none.
    assert_corrupt(
        b"Obj\x01\x00ssssssssssssssss".as_slice().into(),
        "no Avro schema",
    );
    for schema in [
        "",
        "{",
        "3",
        "null",
        "[3]",
        "\"strin\"",
        "{}",
        r#"{"type":"record"}"#,
        r#"{"type":"record","fields":3}"#,
        r#"{"type":"record","fields":[3]}"#,
        r#"{"type":"record","fields":[{"type":"int"}]}"#,
        r#"{"type":"record","fields":[{"name":"a"}]}"#,
        r#"{"type":"record","fields":[{"name":"a","type":"int","field-id":"x"}]}"#,
        r#"{"type":"record","fields":[{"name":"a","type":"int","field-id":3000000000}]}"#,
        r#"{"type":"fixed","name":"f"}"#,
        r#"{"type":"fixed","name":"f","size":-1}"#,
        r#"{"type":"enum","name":"e"}"#,
        r#"{"type":"array"}"#,
        r#"{"type":"map"}"#,
    ] {
        assert_corrupt(header(schema).into(), "Avro schema");
    }
}

#[test]
fn a_file_without_blocks_has_no_records() {
    assert_eq!(skip_all(header("\"int\"").into()).unwrap(), 0);
}

#[test]
fn schemas_that_contain_themselves_are_corrupt() {
    for schema in [
        r#"{"type":"record","name":"a","fields":[{"name":"x","type":"a"}]}"#,
        r#"{"type":"record","name":"a","namespace":"n","fields":[{"name":"x","type":"n.a"}]}"#,
        r#"{"type":"record","name":"a","fields":[{"name":"x","type":{"type":"array","items":"a"}}]}"#,
        r#"{"type":"record","name":"a","fields":[{"name":"x","type":
            {"type":"record","name":"b","fields":[{"name":"y","type":["null","a"]}]}}]}"#,
    ] {
        assert_corrupt(with_block(schema, 1, b"\0"), "contains itself");
    }
}

#[test]
fn named_types_are_found_in_their_namespace() {
    let schema = r#"{"type":"record","name":"a","namespace":"n","fields":[
        {"name":"x","type":{"type":"fixed","name":"f","size":2}},
        {"name":"y","type":"f"},
        {"name":"z","type":["null","n.f"]},
        {"name":"r","type":{"type":"record","name":"m.r","fields":[
            {"name":"e","type":{"type":"enum","name":"e","symbols":["A","B"]}}]}},
        {"name":"e","type":"m.e"}]}"#;
    assert_eq!(
        skip_all(with_block(schema, 1, b"xxyy\x02zz\x02\x02")).unwrap(),
        1
    );
    assert_corrupt(
        with_block(schema, 1, b"xxyy\x02zz\x02\x02."),
        "after its last record",
    );
}

#[test]
fn deep_and_large_schemas_are_corrupt() {
    // Deep in the text: the JSON parser's own bound.
    assert_corrupt(header(&"[".repeat(1_000_000)).into(), "not JSON");
    // Deep and exponentially large through names, in little text.
    for width in [1, 2] {
        let mut fields = vec![json!({ "name": "f0", "type": {
            "type": "record", "name": "r0", "fields": [] } })];
        for depth in 1..200 {
            let inner: Vec<_> = (0..width)
                .map(|_| json!({ "name": "x", "type": format!("r{}", depth - 1) }))
                .collect();
            fields.push(json!({ "name": "f", "type": {
                "type": "record", "name": format!("r{depth}"), "fields": inner } }));
        }
        let schema = json!({ "type": "record", "name": "root", "fields": fields });
        assert_corrupt(with_block(&schema.to_string(), 1, b"\0"), "nests");
    }
}

#[test]
fn absurd_counts_and_lengths_are_corrupt() {
    let mut header_of_many = b"Obj\x01".to_vec();
    header_of_many.extend(varint(i64::MAX));
    assert_corrupt(header_of_many.into(), "ends");
    let mut header_of_few = b"Obj\x01".to_vec();
    header_of_few.extend(varint(i64::MIN));
    assert_corrupt(header_of_few.into(), "ends");
    for count in [2, -1, i64::MIN, i64::MAX] {
        assert_corrupt(with_block("\"int\"", count, b"\0"), "records");
    }
    // Records without content could be as many as one likes.
    assert_corrupt(with_block("\"null\"", i64::MAX, b""), "records");
    assert_corrupt(with_block("\"int\"", 0, b"\0"), "without records");
    for length in [-1, 100, i64::MIN, i64::MAX] {
        let mut file = header("\"int\"");
        file.extend(varint(1));
        file.extend(varint(length));
        file.push(0);
        assert_corrupt(file.into(), if length < 0 { "length" } else { "left" });
        assert_corrupt(
            with_block("\"bytes\"", 1, &varint(length)),
            if length < 0 { "length" } else { "left" },
        );
    }
    let array = |items: &str| format!(r#"{{"type":"array","items":{items}}}"#);
    for count in [100, i64::MIN, i64::MAX] {
        let mut block = varint(count);
        block.extend([2, 2, 0]);
        assert_corrupt(with_block(&array("\"int\""), 1, &block), "elements");
    }
    let mut block = varint(3);
    block.extend([0; 10]);
    assert_corrupt(with_block(&array("\"null\""), 1, &block), "without content");
    let schema = r#"{"type":"fixed","name":"f","size":18446744073709551615}"#;
    assert_corrupt(with_block(schema, 1, b"\0"), "left");
}

#[test]
fn values_that_are_none_are_corrupt() {
    assert_corrupt(with_block("\"int\"", 1, &[0xff; 11]), "64 bits");
    assert_corrupt(with_block("\"int\"", 1, &[0x80]), "middle of a number");
    for branch in [1, -1, i64::MIN, i64::MAX] {
        assert_corrupt(with_block("[\"null\"]", 1, &varint(branch)), "branch");
    }
    assert_corrupt(with_block("[]", 1, b"\0"), "branch");
    // What a reader of values must refuse.
    let read =
        |schema: &str, block: &[u8], read: fn(&AvroSchema, &mut Decoder<'_>) -> Result<()>| {
            let mut file = AvroFile::open("/t/file", with_block(schema, 1, block)).unwrap();
            file.next_record(read).unwrap_err()
        };
    for error in [
        read("\"boolean\"", b"\x02", |s, d| d.boolean(s).map(drop)),
        read("\"string\"", b"\x02\xff", |s, d| d.string(s).map(drop)),
        read("\"bytes\"", b"\x02a", |s, d| d.string(s).map(drop)),
        read("\"string\"", b"\x02a", |s, d| d.long(s).map(drop)),
        read("\"long\"", &varint(1 << 31), |s, d| d.int(s).map(drop)),
        read("\"int\"", &varint(1 << 31), |s, d| d.long(s).map(drop)),
        read("\"int\"", b"\0", |s, d| {
            d.record(s, |_, _| Ok(())).map(drop)
        }),
        read("\"int\"", b"\0", |s, d| d.list(s, |_, _| Ok(())).map(drop)),
        read("\"int\"", b"\0", |s, d| {
            d.int_map(s, 1, |_, _, _| Ok(())).map(drop)
        }),
        read(
            r#"{"type":"map","values":"int"}"#,
            b"\x02\x02x\0\0",
            |s, d| d.int_map(s, 1, |_, s, d| d.skip(s)).map(drop),
        ),
    ] {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
}

#[test]
fn numbers_of_all_lengths() {
    for value in [
        0,
        1,
        -1,
        63,
        64,
        -64,
        -65,
        i64::from(i32::MAX),
        i64::MAX,
        i64::MIN,
    ] {
        let bytes = varint(value);
        let mut decoder = Decoder::new(&bytes);
        assert_eq!(decoder.varint().unwrap(), value);
        assert_eq!(decoder.remaining(), 0);
    }
    // From the Avro specification's table.
    for (value, bytes) in [(-2, &[3][..]), (2, &[4]), (-64, &[0x7f]), (64, &[0x80, 1])] {
        assert_eq!(Decoder::new(bytes).varint().unwrap(), value);
    }
}

#[test]
fn a_block_that_claims_to_inflate_beyond_bounds_is_corrupt() {
    let schema = r#""bytes""#;
    let mut file = b"Obj\x01\x04\x16avro.schema\x0e\"bytes\"\x14avro.codec\x0csnappy\0".to_vec();
    assert_eq!(schema.len() * 2, 0x0e);
    file.extend([b's'; 16]);
    // Snappy: the length of the content comes first, 4 GB here; the last 4 bytes are a checksum.
    let block = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0];
    file.extend(varint(1));
    file.extend(varint(block.len() as i64));
    file.extend(block);
    file.extend([b's'; 16]);
    assert_corrupt(file.into(), "decompressed");
}

#[test]
fn a_broken_sync_marker_is_corrupt() {
    let mut file = with_block("\"int\"", 1, b"\0").to_vec();
    *file.last_mut().unwrap() = b't';
    assert_corrupt(file.into(), "sync marker");
}

/// What a reader makes of a file of either kind.
fn read_as(list: bool, content: Bytes) -> Result<usize> {
    if list {
        return read_manifest_list("/t/file", content).map(|manifests| manifests.len());
    }
    let manifest = manifest_file("/t/file");
    let mut entries = 0;
    for entry in ManifestReader::open(&manifest, content, |_| None)? {
        entry?;
        entries += 1;
    }
    Ok(entries)
}

/// A manifest that has every field, not compressed.
fn filled_manifest() -> Bytes {
    let metrics = json!([{ "key": 1, "value": 300 }, { "key": -2, "value": -1 }]);
    let bounds = json!([{ "key": 1, "value": "low" }]);
    let file = json!({
        "content": 0, "file_path": "/t/a.parquet", "record_count": 12, "file_size_in_bytes": 1000,
        "partition": { "p": 7, "q": "x" }, "column_sizes": metrics, "value_counts": metrics,
        "null_value_counts": metrics, "nan_value_counts": metrics, "lower_bounds": bounds,
        "upper_bounds": bounds, "split_offsets": [4, 400], "equality_ids": [1],
        "sort_order_id": 0, "first_row_id": 5, "referenced_data_file": "r",
        "content_offset": 4, "content_size_in_bytes": 40 });
    ManifestTestFile::new(3, ManifestContent::Data)
        .partition(json!([
            { "name": "p", "type": ["null", "int"], "field-id": 1000 },
            { "name": "q", "type": ["null", "string"], "field-id": 1001 }]))
        .entries(json!([
            { "status": 1, "data_file": file },
            { "status": 0, "snapshot_id": 3, "sequence_number": 1, "data_file": file }]))
        .write()
}

/// Every byte of a file changed in several ways: an error or not, but always an answer, and errors
/// are of the file.
#[test]
fn damaged_files_are_answered() {
    for (list, content) in [
        (false, filled_manifest()),
        (true, read_testdata("codecs/null.avro")),
        (true, read_testdata("v1_list.avro")),
    ] {
        for position in 0..content.len() {
            for change in [0xff, 0x01] {
                let mut damaged = content.to_vec();
                damaged[position] ^= change;
                if let Err(error) = read_as(list, damaged.into()) {
                    assert!(
                        matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotSupported),
                        "{error}"
                    );
                    assert!(error.message().contains("/t/file"), "{error}");
                }
            }
        }
    }
}

/// A file that ends too early is an error wherever it ends, but for the ends of its blocks.
#[test]
fn shortened_files_are_corrupt() {
    for (list, content, blocks) in [
        (false, filled_manifest(), 1),
        (false, read_testdata("v1_void_and_bucket.avro"), 1),
        (true, read_testdata("v1_list.avro"), 1),
        (true, read_testdata("codecs/deflate.avro"), 4),
    ] {
        let whole = read_as(list, content.clone()).unwrap();
        let mut read = Vec::new();
        for length in 0..content.len() {
            match read_as(list, content.slice(..length)) {
                Ok(rows) => read.push(rows),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
            }
        }
        assert_eq!(read.len(), blocks, "{read:?}");
        assert_eq!(read[0], 0);
        assert!(read.is_sorted() && read.iter().all(|rows| *rows < whole));
    }
}

#[test]
fn records_in_compressed_blocks_are_read_by_value() {
    let schema = json!({ "type": "record", "name": "manifest_file", "fields": [
        { "name": "manifest_path", "type": "string", "field-id": 500 },
        { "name": "partition_spec_id", "type": "int", "field-id": 502 } ] });
    let rows: Vec<Value> = (0..1000)
        .map(|number| json!({ "manifest_path": format!("m{number}"), "partition_spec_id": number }))
        .collect();
    let file = AvroTestFile::new(schema)
        .rows(rows.into())
        .codec(Codec::Deflate(Default::default()))
        .write();
    let manifests = read_manifest_list("list", file).unwrap();
    assert_eq!(manifests.len(), 1000);
    assert_eq!(manifests[999].manifest_path, "m999");
    assert_eq!(manifests[999].partition_spec_id, Some(999));
}
