//! Metadata files, how one is chosen, and what they lead to: manifest lists and manifests.
//! Spec: "Table Metadata", "Manifest Lists", "Manifests".

use std::fs;
use std::path::Path;
use std::str::from_utf8;

use bytes::Bytes;
use iceberg_core::ErrorKind;
use iceberg_core::catalog::{MetadataSelection, TableOptions, open_table};
use iceberg_core::spec::name_mapping::{MappedField, NAME_MAPPING_PROPERTY};
use iceberg_core::spec::{
    Manifest, ManifestContent, ManifestEntry, ManifestFile, ManifestReader, NameMapping,
    TableMetadata, WantedStats, read_manifest_list,
};
use iceberg_core::storage::Location;

use super::understood;

/// What manifests are called here.
const MANIFEST: &str = "manifest.avro";

/// A metadata file. What it says survives being written and read again.
pub fn table_metadata(input: &[u8]) -> bool {
    let file = "v1.metadata.json";
    let Some(metadata) = understood(TableMetadata::parse(file, input), file) else {
        return false;
    };
    let written = metadata.to_json().to_string();
    match TableMetadata::parse(file, written.as_bytes()) {
        Ok(again) => assert_eq!(again, metadata),
        Err(error) => panic!("{error}: {written}"),
    }
    for snapshot in &metadata.snapshots {
        // Without a file's name, which the metadata does not know.
        if let Err(error) = metadata.schema_for_snapshot(snapshot) {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        }
        metadata.snapshot_as_of(snapshot.timestamp_ms);
    }
    for spec_id in metadata.partition_specs.keys() {
        assert!(metadata.partition_type(*spec_id).is_some());
    }
    if let Some(text) = metadata.properties.get(NAME_MAPPING_PROPERTY) {
        name_mapping(text.as_bytes());
    }
    true
}

/// The metadata directory of a table: names and contents of its files, all divided by a line of
/// two dashes. The first piece stands for what a user names a metadata file or a table by.
pub fn metadata_file(input: &[u8]) -> bool {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let table = temporary.path();
    let directory = table.join("metadata");
    fs::create_dir(&directory).expect("a directory");
    let mut pieces = divide(input, b"\n--\n");
    let named = pieces.next().and_then(|name| from_utf8(name).ok());
    let pieces: Vec<_> = pieces.take(16).collect();
    for piece in pieces.chunks_exact(2) {
        let Some(name) = from_utf8(piece[0]).ok().filter(|name| is_file_name(name)) else {
            continue;
        };
        fs::write(directory.join(name), piece[1]).expect("written");
    }
    let open = |selection| {
        let location = table.to_str().expect("UTF-8").to_owned();
        let opened = super::reading::block_on(open_table(TableOptions {
            location,
            selection,
            ..TableOptions::default()
        }));
        match opened {
            Ok(opened) => {
                let file = opened.metadata_file().to_string();
                assert!(Path::new(&file).starts_with(table), "{file}");
                true
            }
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
                false
            }
        }
    };
    let mut opened = open(MetadataSelection::default());
    opened |= open(MetadataSelection {
        recent_by_last_updated_ms: true,
        ..MetadataSelection::default()
    });
    if let Some(name) = named {
        if let Ok(location) = Location::parse(name) {
            let again = Location::parse(&location.to_string()).expect("its own text");
            assert!(again.is_same(&location), "{name:?}: {again}");
        }
        open(MetadataSelection {
            metadata_file_path: Some(name.to_owned()),
            ..MetadataSelection::default()
        });
        open(MetadataSelection {
            metadata_table_uuid: Some(name.to_owned()),
            ..MetadataSelection::default()
        });
    }
    opened
}

/// The pieces between dividers.
fn divide<'a>(input: &'a [u8], divider: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(input);
    std::iter::from_fn(move || {
        let input = rest?;
        let place = input
            .windows(divider.len())
            .position(|window| window == divider);
        rest = place.map(|place| &input[place + divider.len()..]);
        Some(&input[..place.unwrap_or(input.len())])
    })
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() < 250
        && name != "."
        && name != ".."
        && !name.contains(['/', '\0'])
}

/// A name mapping, as a table property holds it. Every name leads to the field that has it.
pub fn name_mapping(input: &[u8]) -> bool {
    let Ok(text) = from_utf8(input) else {
        return false;
    };
    match NameMapping::parse(text) {
        Ok(mapping) => {
            check_names(&mapping.fields, &|name| mapping.field_by_name(name));
            true
        }
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
            false
        }
    }
}

fn check_names<'a>(fields: &'a [MappedField], by_name: &dyn Fn(&str) -> Option<&'a MappedField>) {
    for field in fields {
        for name in field.names.iter().take(8) {
            let found = by_name(name);
            assert!(
                found.is_some_and(|found| std::ptr::eq(found, field)),
                "{name:?}"
            );
        }
        check_names(&field.fields, &|name| field.field_by_name(name));
    }
}

/// A manifest list.
pub fn manifest_list(input: &[u8]) -> bool {
    let file = "list.avro";
    let content = Bytes::copy_from_slice(input);
    let Some(manifests) = understood(read_manifest_list(file, content), file) else {
        return false;
    };
    for manifest in &manifests {
        assert!(!manifest.manifest_path.is_empty());
        manifest.may_have_live_files();
    }
    true
}

/// A manifest, with the partition types of its own header: with statistics and without, read through and from memory.
pub fn manifest(input: &[u8]) -> bool {
    let content = Bytes::copy_from_slice(input);
    let Some(listed) = listed_manifest(&content) else {
        return false;
    };
    let with = entries(&listed, &content, WantedStats::All);
    let without = entries(&listed, &content, WantedStats::sizes_only());
    let Some(with) = with else {
        return false;
    };
    // Statistics that cannot be read spoil an entry only for those who read them.
    let without = without.expect("unreadable without statistics");
    assert_eq!(with.len(), without.len());
    let kept = Manifest::open(&listed, content, |_| None).expect("a manifest in memory");
    assert_eq!(kept.entry_count(), with.len() as u64);
    let live: Vec<_> = kept
        .live_entries(&WantedStats::All)
        .map(|entry| entry.expect("an entry in memory"))
        .map(|entry| format!("{entry:?}"))
        .collect();
    let expected: Vec<_> = with
        .iter()
        .filter(|entry| entry.is_live())
        .map(|entry| format!("{entry:?}"))
        .collect();
    assert_eq!(live, expected);
    true
}

/// What a manifest list would say of a manifest: what that says of itself.
fn listed_manifest(content: &Bytes) -> Option<ManifestFile> {
    let mut listed = ManifestFile::inline(MANIFEST, 1);
    listed.sequence_number = 7;
    let reader = ManifestReader::open(&listed, content.clone(), |_| None);
    listed.content = understood(reader, MANIFEST)?.header().content;
    listed.first_row_id = (listed.content == ManifestContent::Data).then_some(1000);
    Some(listed)
}

/// The entries of a manifest.
fn entries(
    listed: &ManifestFile,
    content: &Bytes,
    stats: WantedStats,
) -> Option<Vec<ManifestEntry>> {
    let reader = ManifestReader::open(listed, content.clone(), |_| None);
    let mut reader = understood(reader, MANIFEST)?.with_stats(stats);
    let width = reader.partition_field_ids().len();
    let mut entries = Vec::new();
    for entry in &mut reader {
        let entry = understood(entry, MANIFEST)?;
        assert_eq!(entry.data_file.partition.values.len(), width);
        entries.push(entry);
    }
    assert!(reader.next().is_none());
    Some(entries)
}
