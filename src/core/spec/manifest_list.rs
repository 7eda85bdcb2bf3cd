//! Manifest lists: which manifests make up a snapshot, and what each of them holds.
//! Spec: "Manifest Lists".

use std::collections::HashMap;

use bytes::Bytes;

use super::avro::{AvroFile, AvroSchema, Decoder, corrupt};
use super::manifest_fields::{self as fields, manifest_file as id};
use crate::error::Result;

/// What a manifest is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ManifestContent {
    /// Data files.
    Data,
    /// Delete files.
    Deletes,
}

/// A manifest, as a manifest list tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestFile {
    /// Where it is.
    pub manifest_path: String,
    /// Its size in bytes; `None` in a v1 snapshot without a list.
    pub manifest_length: Option<u64>,
    /// The partition spec its files were written by; `None` in a v1 snapshot without a list.
    pub partition_spec_id: Option<i32>,
    /// Data or deletes; data in v1.
    pub content: ManifestContent,
    /// The sequence number of the commit that added it; 0 in v1.
    pub sequence_number: i64,
    /// The lowest data sequence number of its live files; 0 in v1.
    pub min_sequence_number: i64,
    /// The snapshot that added it.
    pub added_snapshot_id: Option<i64>,
    /// How many entries are ADDED; `None` where that is unknown.
    pub added_files_count: Option<u64>,
    /// How many entries are EXISTING; `None` where that is unknown.
    pub existing_files_count: Option<u64>,
    /// How many entries are DELETED; `None` where that is unknown.
    pub deleted_files_count: Option<u64>,
    /// Rows of the ADDED files; `None` where that is unknown.
    pub added_rows_count: Option<u64>,
    /// Rows of the EXISTING files; `None` where that is unknown.
    pub existing_rows_count: Option<u64>,
    /// Rows of the DELETED files; `None` where that is unknown.
    pub deleted_rows_count: Option<u64>,
    /// A summary for each field of the partition spec, in its order.
    pub partitions: Option<Vec<FieldSummary>>,
    /// What it is encrypted with; `None` if it is not.
    pub key_metadata: Option<Vec<u8>>,
    /// First row id of its rows (v3); `None` if they have none.
    pub first_row_id: Option<i64>,
}

/// What the partition values of a manifest's live files are, for one partition field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSummary {
    /// Whether any is null.
    pub contains_null: bool,
    /// Whether any is NaN; `None` where that is unknown.
    pub contains_nan: Option<bool>,
    /// The least that is neither null nor NaN; in the binary single-value form.
    pub lower_bound: Option<Vec<u8>>,
    /// The greatest that is neither null nor NaN; in the binary single-value form.
    pub upper_bound: Option<Vec<u8>>,
}

impl ManifestFile {
    /// A manifest that a v1 snapshot names itself, without a manifest list.
    pub fn inline(manifest_path: impl Into<String>, snapshot_id: i64) -> Self {
        Self {
            manifest_path: manifest_path.into(),
            manifest_length: None,
            partition_spec_id: None,
            content: ManifestContent::Data,
            sequence_number: 0,
            min_sequence_number: 0,
            added_snapshot_id: Some(snapshot_id),
            added_files_count: None,
            existing_files_count: None,
            deleted_files_count: None,
            added_rows_count: None,
            existing_rows_count: None,
            deleted_rows_count: None,
            partitions: None,
            key_metadata: None,
            first_row_id: None,
        }
    }

    /// About how many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        let summaries = self.partitions.iter().flatten().map(|summary| {
            size_of_val(summary) + length(&summary.lower_bound) + length(&summary.upper_bound)
        });
        size_of_val(self)
            + self.manifest_path.len()
            + length(&self.key_metadata)
            + summaries.sum::<usize>()
    }

    /// Whether it may hold live entries; `false` only if its counts say that it does not.
    pub fn may_have_live_files(&self) -> bool {
        self.added_files_count != Some(0) || self.existing_files_count != Some(0)
    }
}

/// Reads the manifest list `path`, whose whole content is `content`, in its order.
///
/// # Errors
/// `Corrupt` where the file breaks its format or lacks a required field.
pub fn read_manifest_list(path: &str, content: Bytes) -> Result<Vec<ManifestFile>> {
    let mut file = AvroFile::open(path, content)?;
    if !file.schema().has_field_ids() {
        let named = file
            .schema()
            .with_ids_by_name(fields::MANIFEST_FILE, &HashMap::new())
            .map_err(|error| error.in_file(path))?;
        file.set_schema(named);
    }
    let mut manifests = Vec::new();
    while let Some(manifest) = file.next_record(read_manifest_file)? {
        manifests.push(manifest);
    }
    Ok(manifests)
}

fn read_manifest_file(schema: &AvroSchema, decoder: &mut Decoder<'_>) -> Result<ManifestFile> {
    let mut manifest = ManifestFile::inline("", 0);
    manifest.added_snapshot_id = None;
    let mut path = None;
    decoder.record(schema, |field, decoder| {
        let schema = &field.schema;
        match field.id {
            Some(id::MANIFEST_PATH) => path = decoder.string(schema)?,
            Some(id::MANIFEST_LENGTH) => manifest.manifest_length = count(decoder, schema)?,
            Some(id::PARTITION_SPEC_ID) => manifest.partition_spec_id = decoder.int(schema)?,
            Some(id::CONTENT) => manifest.content = content(decoder.int(schema)?)?,
            Some(id::SEQUENCE_NUMBER) => {
                manifest.sequence_number = decoder.long(schema)?.unwrap_or(0);
            }
            Some(id::MIN_SEQUENCE_NUMBER) => {
                manifest.min_sequence_number = decoder.long(schema)?.unwrap_or(0);
            }
            Some(id::ADDED_SNAPSHOT_ID) => manifest.added_snapshot_id = decoder.long(schema)?,
            Some(id::ADDED_FILES_COUNT) => manifest.added_files_count = count(decoder, schema)?,
            Some(id::EXISTING_FILES_COUNT) => {
                manifest.existing_files_count = count(decoder, schema)?;
            }
            Some(id::DELETED_FILES_COUNT) => {
                manifest.deleted_files_count = count(decoder, schema)?;
            }
            Some(id::ADDED_ROWS_COUNT) => manifest.added_rows_count = count(decoder, schema)?,
            Some(id::EXISTING_ROWS_COUNT) => {
                manifest.existing_rows_count = count(decoder, schema)?;
            }
            Some(id::DELETED_ROWS_COUNT) => manifest.deleted_rows_count = count(decoder, schema)?,
            Some(id::PARTITIONS) => {
                let mut summaries = Vec::new();
                let given = decoder.list(schema, |schema, decoder| {
                    summaries.push(read_field_summary(schema, decoder)?);
                    Ok(())
                })?;
                manifest.partitions = given.then_some(summaries);
            }
            Some(id::KEY_METADATA) => {
                manifest.key_metadata = key_metadata(decoder.bytes(schema)?);
            }
            Some(id::FIRST_ROW_ID) => manifest.first_row_id = decoder.long(schema)?,
            _ => decoder.skip(schema)?,
        }
        Ok(())
    })?;
    manifest.manifest_path = path
        .filter(|path| !path.is_empty())
        .ok_or_else(|| corrupt("a manifest has no manifest_path"))?
        .to_owned();
    if manifest.partition_spec_id.is_none() {
        return Err(corrupt(format!(
            "manifest \"{}\" has no partition_spec_id",
            manifest.manifest_path
        )));
    }
    Ok(manifest)
}

fn read_field_summary(schema: &AvroSchema, decoder: &mut Decoder<'_>) -> Result<FieldSummary> {
    // Without the required field a summary must not claim that nulls are absent.
    let mut summary = FieldSummary {
        contains_null: true,
        contains_nan: None,
        lower_bound: None,
        upper_bound: None,
    };
    let given = decoder.record(schema, |field, decoder| {
        let schema = &field.schema;
        match field.id {
            Some(id::CONTAINS_NULL) => {
                summary.contains_null = decoder.boolean(schema)?.unwrap_or(true);
            }
            Some(id::CONTAINS_NAN) => summary.contains_nan = decoder.boolean(schema)?,
            Some(id::LOWER_BOUND) => {
                summary.lower_bound = decoder.bytes(schema)?.map(<[u8]>::to_vec);
            }
            Some(id::UPPER_BOUND) => {
                summary.upper_bound = decoder.bytes(schema)?.map(<[u8]>::to_vec);
            }
            _ => decoder.skip(schema)?,
        }
        Ok(())
    })?;
    if given {
        Ok(summary)
    } else {
        Err(corrupt("a partition field's summary is null"))
    }
}

/// A count or a size; null and negative are unknown.
fn count(decoder: &mut Decoder<'_>, schema: &AvroSchema) -> Result<Option<u64>> {
    Ok(decoder
        .long(schema)?
        .and_then(|count| u64::try_from(count).ok()))
}

fn content(value: Option<i32>) -> Result<ManifestContent> {
    match value {
        None | Some(0) => Ok(ManifestContent::Data),
        Some(1) => Ok(ManifestContent::Deletes),
        Some(other) => Err(corrupt(format!("{other} is no content of a manifest"))),
    }
}

/// Key metadata; an empty one, which some writers put where there is no encryption, is none.
pub(super) fn key_metadata(value: Option<&[u8]>) -> Option<Vec<u8>> {
    value.filter(|value| !value.is_empty()).map(<[u8]>::to_vec)
}
