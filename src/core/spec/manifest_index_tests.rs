//! A manifest in memory has the entries that reading the file from its beginning gives.

use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::spec::test_files::{ManifestTestFile, manifest_file, read_testdata};
use crate::spec::{
    ColumnStats, FileStats, ManifestContent, NestedField, PrimitiveType, PrimitiveValue,
};

fn open(listed: &ManifestFile, content: Bytes) -> Result<Manifest> {
    Manifest::open(listed, content, |_| None)
}

fn all(manifest: &Manifest) -> Vec<ManifestEntry> {
    manifest
        .live_entries(&WantedStats::All)
        .map(Result::unwrap)
        .collect()
}

/// The live entries in the order of the file, read one after the other.
fn read_through(listed: &ManifestFile, content: Bytes) -> Vec<ManifestEntry> {
    ManifestReader::open(listed, content, |_| None)
        .unwrap()
        .map(Result::unwrap)
        .filter(ManifestEntry::is_live)
        .collect()
}

#[test]
fn manifests_of_reference_writers_have_the_entries_that_a_reader_finds() {
    let deletes = [
        "v2_position_deletes",
        "v2_equality_deletes",
        "v3_deletion_vectors",
    ];
    for name in [
        "v1_month",
        "v1_void_and_bucket",
        "v2_day",
        "v2_decimal",
        "v2_binary",
        "v2_string",
        "v2_uuid",
        "v3_added",
        "v3_deleted",
    ]
    .iter()
    .chain(&deletes)
    {
        let content = read_testdata(&format!("{name}.avro"));
        let listed = ManifestFile {
            content: match deletes.contains(name) {
                true => ManifestContent::Deletes,
                false => ManifestContent::Data,
            },
            sequence_number: 7,
            first_row_id: Some(1000),
            ..manifest_file(name)
        };
        let expected = read_through(&listed, content.clone());
        let manifest = open(&listed, content.clone()).unwrap();
        assert_eq!(all(&manifest), expected, "{name}");
        assert_eq!(manifest.live_count(), expected.len());
        assert_eq!(manifest.length(), content.len() as u64);
        for partition in manifest.partitions() {
            let same = manifest.entries_of(|other| other.encoded() == partition.encoded());
            let of_partition: Vec<_> = manifest
                .decode(&same, &WantedStats::All)
                .map(Result::unwrap)
                .collect();
            let partition = partition.decode().unwrap();
            let mut expected = expected.clone();
            expected.retain(|entry| entry.data_file.partition == partition);
            assert!(!expected.is_empty(), "{name}");
            assert_eq!(of_partition, expected, "{name}");
        }
        assert!(manifest.entries_of(|_| false).is_empty());
    }
}

#[test]
fn statistics_are_those_of_the_wanted_columns_and_all_sizes() {
    for name in ["v1_month.avro", "v2_decimal.avro", "v3_added.avro"] {
        let listed = manifest_file(name);
        let manifest = open(&listed, read_testdata(name)).unwrap();
        let known: Vec<i32> = all(&manifest)
            .iter()
            .flat_map(|entry| entry.data_file.stats.columns())
            .filter(|column| column.value_count.is_some())
            .map(|column| column.field_id)
            .collect();
        let some = *known.first().unwrap();
        for wanted in [vec![], vec![some], vec![i32::MAX, some, some, -1], known] {
            let stats = WantedStats::of_columns(wanted.iter().copied());
            let found: Vec<_> = manifest.live_entries(&stats).map(Result::unwrap).collect();
            let through = ManifestReader::open(&listed, read_testdata(name), |_| None)
                .unwrap()
                .with_stats(stats);
            let through: Vec<_> = through
                .map(Result::unwrap)
                .filter(ManifestEntry::is_live)
                .collect();
            assert_eq!(found, through);
            for (mut found, mut whole) in found.into_iter().zip(all(&manifest)) {
                let expected: Vec<ColumnStats> = whole
                    .data_file
                    .stats
                    .columns()
                    .iter()
                    .map(|column| match wanted.contains(&column.field_id) {
                        true => column.clone(),
                        false => ColumnStats {
                            field_id: column.field_id,
                            size_in_bytes: column.size_in_bytes,
                            ..ColumnStats::default()
                        },
                    })
                    .filter(|column| {
                        wanted.contains(&column.field_id) || column.size_in_bytes.is_some()
                    })
                    .collect();
                assert_eq!(found.data_file.stats.columns(), expected);
                found.data_file.stats = FileStats::default();
                whole.data_file.stats = FileStats::default();
                assert_eq!(found, whole);
            }
        }
    }
}

/// Live and dead entries of four partitions.
fn four_partitions() -> (ManifestFile, Bytes) {
    let file = ManifestTestFile::new(3, ManifestContent::Data)
        .partition(json!([{ "name": "p", "type": ["null", "int"], "field-id": 1000 }]))
        .entries(json!([
            entry(1, "a", json!(1)),
            entry(2, "dead", json!(9)),
            entry(0, "b", json!(2)),
            entry(1, "c", json!(1)),
            entry(1, "d", Value::Null),
            entry(1, "e", json!(300)),
        ]));
    let listed = ManifestFile {
        first_row_id: Some(100),
        ..manifest_file("m.avro")
    };
    (listed, file.write())
}

fn entry(status: i32, path: &str, partition: Value) -> Value {
    json!({ "status": status, "sequence_number": 3, "data_file":
        { "file_path": path, "record_count": 10, "partition": { "p": partition } } })
}

fn int_partition(_: i32) -> Option<StructType> {
    let result = PrimitiveType::Int.into();
    Some(StructType::new([NestedField::optional(1000, "p", result)]))
}

fn long_partition(_: i32) -> Option<StructType> {
    let result = PrimitiveType::Long.into();
    Some(StructType::new([NestedField::optional(1000, "p", result)]))
}

#[test]
fn each_partition_is_asked_for_once_and_dead_entries_count_only_in_the_file() {
    let (listed, content) = four_partitions();
    let manifest = Manifest::open(&listed, content, int_partition).unwrap();
    assert_eq!((manifest.entry_count(), manifest.live_count()), (6, 5));
    let mut asked = Vec::new();
    let wanted = manifest.entries_of(|partition| {
        let values = partition.decode().unwrap().values;
        asked.push(values.clone());
        values != [Some(PrimitiveValue::Int(2))]
    });
    let found: Vec<_> = manifest
        .decode(&wanted, &WantedStats::sizes_only())
        .map(|entry| entry.unwrap().data_file)
        .map(|file| (file.file_path, file.first_row_id))
        .collect();
    let int = |value| vec![Some(PrimitiveValue::Int(value))];
    assert_eq!(asked, [int(1), int(2), vec![None], int(300)]);
    let expected = [("a", 100), ("c", 120), ("d", 130), ("e", 140)];
    assert_eq!(
        found,
        expected.map(|(path, id)| (path.to_owned(), Some(id)))
    );
}

#[test]
fn a_manifest_is_another_when_it_is_listed_otherwise_or_its_partitions_have_another_type() {
    let (listed, content) = four_partitions();
    let manifest = Manifest::open(&listed, content.clone(), int_partition).unwrap();
    assert!(manifest.is_as_listed(&listed, int_partition));
    assert!(!manifest.is_as_listed(&listed, long_partition));
    assert!(!manifest.is_as_listed(&listed, |_| None));
    let elsewhere = ManifestFile {
        sequence_number: 8,
        ..listed.clone()
    };
    assert!(!manifest.is_as_listed(&elsewhere, int_partition));
    // What it says of itself is needed only where the table says nothing.
    assert!(manifest.header().is_none());
    let alone = open(&listed, content).unwrap();
    assert!(alone.header().is_some());
}

#[test]
fn what_spoils_a_manifest_is_found_when_it_is_opened() {
    let error = |listed: &ManifestFile, version, entries| {
        let file = ManifestTestFile::new(version, listed.content).entries(entries);
        open(listed, file.write()).unwrap_err()
    };
    let listed = manifest_file("m.avro");
    let overflowing = ManifestFile {
        first_row_id: Some(i64::MAX - 5),
        ..listed.clone()
    };
    for error in [
        error(
            &listed,
            2,
            json!([{ "status": 7, "data_file": { "file_path": "a" } }]),
        ),
        error(
            &listed,
            2,
            json!([{ "status": 1, "data_file": { "file_path": "" } }]),
        ),
        error(
            &listed,
            2,
            json!([{ "status": 1, "data_file": { "file_path": "a", "content": 1 } }]),
        ),
        error(
            &overflowing,
            3,
            json!([{ "status": 1, "data_file": { "file_path": "a", "record_count": 10 } }]),
        ),
    ] {
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("m.avro"), "{error}");
    }
    let (listed, content) = four_partitions();
    let other = |_| {
        let result = PrimitiveType::Int.into();
        Some(StructType::new([NestedField::optional(1001, "q", result)]))
    };
    let error = Manifest::open(&listed, content, other).unwrap_err();
    assert!(error.message().contains("1001 \"q\""), "{error}");
}
