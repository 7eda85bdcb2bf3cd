//! Manifests: which files a snapshot's rows are in, with what entries inherit from the list.
//! Spec: "Manifests", "Sequence Number Inheritance", "First Row ID Inheritance".

use std::collections::HashMap;

use bytes::Bytes;

use super::avro::{AvroFile, AvroSchema, Decoder, corrupt};
use super::data_file::{DataContent, DataFile, DataFileReader, WantedStats};
use super::manifest_fields::{self as fields, data_file, manifest_entry as id};
use super::manifest_list::{ManifestContent, ManifestFile};
use super::partition::PartitionSpec;
use super::partition_tuple::{PartitionReader, partition_fields};
use super::schema::Schema;
use super::table_metadata_json::MAX_FORMAT_VERSION;
use super::types::StructType;
use crate::error::{Error, Result};

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ManifestEntryStatus {
    /// It was there before and still is.
    Existing,
    /// It was added.
    Added,
    /// It was deleted: the entry is history, the file must not be read.
    Deleted,
}

/// A row of a manifest, with what it inherits filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestEntry {
    /// What happened to the file.
    pub status: ManifestEntryStatus,
    /// The snapshot in which that happened.
    pub snapshot_id: Option<i64>,
    /// The data sequence number: deletes apply by it. `None` only where an entry that is not
    /// ADDED should state it and does not.
    pub sequence_number: Option<i64>,
    /// The sequence number of the commit that added the file; never compare deletes by it.
    pub file_sequence_number: Option<i64>,
    /// The file.
    pub data_file: DataFile,
}

impl ManifestEntryStatus {
    /// The status with this number.
    pub(super) fn of(number: Option<i32>) -> Result<Self> {
        match number {
            Some(0) => Ok(Self::Existing),
            Some(1) => Ok(Self::Added),
            Some(2) => Ok(Self::Deleted),
            Some(other) => Err(corrupt(format!("an entry has the status {other}"))),
            None => Err(corrupt("an entry has no status")),
        }
    }
}

impl ManifestEntry {
    /// Whether the file is part of the snapshot.
    pub fn is_live(&self) -> bool {
        self.status != ManifestEntryStatus::Deleted
    }
}

/// What a manifest's header says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestHeader {
    /// The format version it was written in.
    pub format_version: u8,
    /// Data or deletes.
    pub content: ManifestContent,
    /// The partition spec of its files.
    pub partition_spec_id: Option<i32>,
    /// The table schema when it was written, as JSON.
    pub schema: Option<String>,
    /// The fields of its partition spec, as JSON.
    pub partition_spec: Option<String>,
}

/// Reads the entries of one manifest, in its order.
#[derive(Debug)]
pub struct ManifestReader {
    pub(super) file: AvroFile,
    pub(super) header: ManifestHeader,
    pub(super) inherited: Inheritance,
    partition_field_ids: Vec<Option<i32>>,
    pub(super) data_files: DataFileReader,
    wanted: WantedStats,
    failed: bool,
}

impl ManifestReader {
    /// Opens the manifest that `manifest` tells of, whose whole content is `content`.
    ///
    /// `partition_type` finds the type of partition tuples by the id of their spec; where it knows
    /// none, the spec and the schema in the manifest's own header count.
    ///
    /// # Errors
    /// `Corrupt` where the file breaks its format, `NotSupported` for a newer format version.
    pub fn open(
        manifest: &ManifestFile,
        content: Bytes,
        partition_type: impl FnOnce(i32) -> Option<StructType>,
    ) -> Result<Self> {
        let path = &manifest.manifest_path;
        let mut file = AvroFile::open(path, content)?;
        let header = ManifestHeader::of(&file).map_err(|error| error.in_file(path))?;
        let spec_id = manifest
            .partition_spec_id
            .or(header.partition_spec_id)
            .unwrap_or(0);
        let partition_type = partition_type(spec_id).or_else(|| header.partition_type(spec_id));
        if !file.schema().has_field_ids() {
            let ids: HashMap<_, _> = partition_type
                .iter()
                .flat_map(StructType::fields)
                .map(|field| (field.name.clone(), field.id))
                .collect();
            let named = file
                .schema()
                .with_ids_by_name(fields::MANIFEST_ENTRY, &ids)
                .map_err(|error| error.in_file(path))?;
            file.set_schema(named);
        }
        let partition = partition_fields(file.schema(), id::DATA_FILE, data_file::PARTITION);
        Ok(Self {
            partition_field_ids: match &partition_type {
                Some(wanted) => wanted.fields().iter().map(|field| Some(field.id)).collect(),
                None => partition.iter().map(|field| field.id).collect(),
            },
            data_files: DataFileReader {
                spec_id,
                partition: PartitionReader::new(partition, partition_type.as_ref()),
            },
            wanted: WantedStats::All,
            inherited: Inheritance::new(manifest, &header),
            file,
            header,
            failed: false,
        })
    }

    /// Passes over what the writer recorded about columns but for this.
    #[must_use]
    pub fn with_stats(mut self, wanted: WantedStats) -> Self {
        self.wanted = wanted;
        self
    }

    /// The partition spec of its files.
    pub fn partition_spec_id(&self) -> i32 {
        self.data_files.spec_id
    }

    /// What the file says of itself.
    pub fn header(&self) -> &ManifestHeader {
        &self.header
    }

    /// The partition field ids that the values of its partition tuples belong to.
    pub fn partition_field_ids(&self) -> &[Option<i32>] {
        &self.partition_field_ids
    }

    fn read_entry(&mut self) -> Result<Option<ManifestEntry>> {
        let Self {
            file,
            inherited,
            data_files,
            wanted,
            ..
        } = self;
        file.next_record(|schema, decoder| {
            let mut entry = read_manifest_entry(schema, decoder, data_files, wanted)?;
            inherited.fill(&mut entry)?;
            Ok(entry)
        })
    }
}

impl Iterator for ManifestReader {
    type Item = Result<ManifestEntry>;

    /// The next entry; none after an error.
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let entry = self.read_entry().transpose();
        self.failed = matches!(entry, Some(Err(_)));
        entry
    }
}

impl ManifestHeader {
    fn of(file: &AvroFile) -> Result<Self> {
        let number = |key: &str| -> Result<Option<i32>> {
            file.text_value(key)?
                .map(|text| {
                    text.trim().parse().map_err(|_| {
                        corrupt(format!("its header's \"{key}\" is \"{text}\", no int"))
                    })
                })
                .transpose()
        };
        let format_version = match number("format-version")? {
            Some(version) => u8::try_from(version)
                .ok()
                .filter(|version| *version > 0)
                .ok_or_else(|| corrupt(format!("its format version is {version}")))?,
            // v1 writers need not say it, and v1 has no sequence numbers.
            None if has_sequence_numbers(file.schema()) => 2,
            None => 1,
        };
        if format_version > MAX_FORMAT_VERSION {
            return Err(Error::not_supported(format!(
                "manifests of format version {format_version} are not supported"
            )));
        }
        let content = match file.text_value("content")? {
            None => ManifestContent::Data,
            Some(text) if text.eq_ignore_ascii_case("data") => ManifestContent::Data,
            Some(text) if text.eq_ignore_ascii_case("deletes") => ManifestContent::Deletes,
            Some(text) => return Err(corrupt(format!("its content is \"{text}\""))),
        };
        Ok(Self {
            format_version,
            content,
            partition_spec_id: number("partition-spec-id")?,
            schema: file.text_value("schema")?.map(str::to_owned),
            partition_spec: file.text_value("partition-spec")?.map(str::to_owned),
        })
    }
}

impl ManifestHeader {
    /// The type of partition tuples by the header's own spec and schema, if they can be read.
    fn partition_type(&self, spec_id: i32) -> Option<StructType> {
        let schema = Schema::parse(self.schema.as_deref()?).ok()?;
        let spec = PartitionSpec::parse_fields(spec_id, self.partition_spec.as_deref()?).ok()?;
        Some(spec.partition_type(&schema))
    }
}

fn has_sequence_numbers(schema: &AvroSchema) -> bool {
    schema.as_record().is_some_and(|fields| {
        fields.iter().any(|field| {
            field.id == Some(id::SEQUENCE_NUMBER)
                || (field.id.is_none() && field.name == "sequence_number")
        })
    })
}

/// Reads an entry as the file has it, without what it inherits.
pub(super) fn read_manifest_entry(
    schema: &AvroSchema,
    decoder: &mut Decoder<'_>,
    data_files: &DataFileReader,
    wanted: &WantedStats,
) -> Result<ManifestEntry> {
    let mut status = None;
    let mut snapshot_id = None;
    let mut sequence_number = None;
    let mut file_sequence_number = None;
    let mut data_file = None;
    decoder.record(schema, |field, decoder| {
        let schema = &field.schema;
        match field.id {
            Some(id::STATUS) => status = decoder.int(schema)?,
            Some(id::SNAPSHOT_ID) => snapshot_id = decoder.long(schema)?,
            Some(id::SEQUENCE_NUMBER) => sequence_number = decoder.long(schema)?,
            Some(id::FILE_SEQUENCE_NUMBER) => file_sequence_number = decoder.long(schema)?,
            Some(id::DATA_FILE) => {
                data_file = Some(data_files.read(schema, decoder, wanted)?);
            }
            _ => decoder.skip(schema)?,
        }
        Ok(())
    })?;
    Ok(ManifestEntry {
        status: ManifestEntryStatus::of(status)?,
        snapshot_id,
        sequence_number,
        file_sequence_number,
        data_file: data_file.ok_or_else(|| corrupt("an entry has no data_file"))?,
    })
}

/// What entries inherit when they do not state it themselves.
#[derive(Debug, Clone)]
pub(super) struct Inheritance {
    content: ManifestContent,
    snapshot_id: Option<i64>,
    sequence_number: i64,
    /// The row id of the next file without one; `None`: rows have no ids.
    next_row_id: Option<i64>,
}

impl Inheritance {
    fn new(manifest: &ManifestFile, header: &ManifestHeader) -> Self {
        Self {
            content: manifest.content,
            snapshot_id: manifest.added_snapshot_id,
            // A v1 manifest stays one when the table is upgraded: its files count as oldest.
            sequence_number: if header.format_version == 1 {
                0
            } else {
                manifest.sequence_number
            },
            next_row_id: match manifest.content {
                ManifestContent::Data => manifest.first_row_id,
                ManifestContent::Deletes => None,
            },
        }
    }

    /// Fills in what the next entry inherits.
    pub fn fill(&mut self, entry: &mut ManifestEntry) -> Result<()> {
        let file = &mut entry.data_file;
        self.check_content(file.content, &file.file_path)?;
        entry.snapshot_id = entry.snapshot_id.or(self.snapshot_id);
        // Only a new file may leave its numbers to the commit, which knows them last. Where that
        // commit's number is 0, no file can have another.
        if entry.status == ManifestEntryStatus::Added || self.sequence_number == 0 {
            entry.sequence_number = entry.sequence_number.or(Some(self.sequence_number));
            entry.file_sequence_number = entry.file_sequence_number.or(Some(self.sequence_number));
        }
        file.first_row_id = self.first_row_id(
            entry.status,
            file.first_row_id,
            file.record_count,
            &file.file_path,
        )?;
        Ok(())
    }

    /// Whether rows have ids.
    pub fn has_row_ids(&self) -> bool {
        self.next_row_id.is_some()
    }

    /// What an entry inherits whose first row has this id; `None` where rows have none.
    pub fn at_row_id(self, first_row_id: Option<i64>) -> Self {
        Self {
            next_row_id: first_row_id,
            ..self
        }
    }

    /// Refuses a data file among deletes, and a delete file among data.
    pub fn check_content(&self, content: DataContent, path: &str) -> Result<()> {
        if (content == DataContent::Data) == (self.content == ManifestContent::Data) {
            return Ok(());
        }
        Err(corrupt(format!(
            "\"{path}\" holds {content:?}, its manifest is listed as one of {:?}",
            self.content
        )))
    }

    /// The row id of the first row of the next file, which says this of itself.
    pub fn first_row_id(
        &mut self,
        status: ManifestEntryStatus,
        own: Option<i64>,
        record_count: Option<u64>,
        path: &str,
    ) -> Result<Option<i64>> {
        // Rows of a snapshot from before v3 have no ids, whatever a file says.
        let Some(next) = self.next_row_id else {
            return Ok(None);
        };
        // Deleted files are not among the rows that a manifest's range of ids was made for.
        if status == ManifestEntryStatus::Deleted || own.is_some() {
            return Ok(own);
        }
        let rows = record_count.ok_or_else(|| {
            corrupt(format!(
                "\"{path}\" inherits row ids, but its record_count is unknown"
            ))
        })?;
        let after = next
            .checked_add_unsigned(rows)
            .ok_or_else(|| corrupt(format!("the row ids of \"{path}\" overflow")))?;
        self.next_row_id = Some(after);
        Ok(Some(next))
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
