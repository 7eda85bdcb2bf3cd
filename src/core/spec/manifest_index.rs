//! A manifest as it is kept in memory: its live entries, encoded as they were in the file, found by their partition and
//! decoded when somebody wants them. Spec: "Manifests", "Scan Planning".

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::avro::{AvroSchema, Decoder, corrupt, in_field};
use super::data_file::{DataContent, DataFileReader, WantedStats, content};
use super::manifest::{
    Inheritance, ManifestEntry, ManifestEntryStatus, ManifestHeader, ManifestReader,
    read_manifest_entry,
};
use super::manifest_fields::{data_file, manifest_entry as id};
use super::manifest_list::ManifestFile;
use super::partition_tuple::{Partition, partition_schema};
use super::types::StructType;
use crate::error::{Error, Result};

/// A manifest unpacks to no more than this (1 GiB), some million entries: it is made as a whole, and to fail for want of
/// memory would end the process.
const LARGEST_MANIFEST: usize = 1 << 30;

/// The live entries of a manifest.
#[derive(Debug)]
pub struct Manifest {
    listed: ManifestFile,
    /// What the table's metadata says of its partitions' types.
    partition_type: Option<StructType>,
    /// What it says of itself; only where the table's metadata does not know its partition spec.
    header: Option<ManifestHeader>,
    length: u64,
    entry_count: u64,
    schema: Arc<AvroSchema>,
    data_files: DataFileReader,
    inherited: Inheritance,
    /// The type of partitions as they are encoded; `None` where the file has none.
    partition_schema: Option<Arc<AvroSchema>>,
    /// Where in the records there is one of each partition.
    partitions: Box<[Range<usize>]>,
    /// The records, one after the other.
    records: Box<[u8]>,
    places: Box<[Place]>,
    /// For each entry; none where rows have no ids.
    first_row_ids: Box<[Option<i64>]>,
}

/// A partition of a manifest's files.
#[derive(Debug)]
pub struct ManifestPartition<'a> {
    manifest: &'a Manifest,
    encoded: &'a [u8],
}

/// Some of the live entries of a manifest, by their places.
pub type EntryNumbers = Vec<u32>;

/// Where an entry is.
#[derive(Debug)]
struct Place {
    /// Where its record starts.
    start: u32,
    /// Which of the partitions it is in.
    partition: u32,
}

impl Manifest {
    /// Reads the manifest that `listed` tells of, whose whole content is `content`. `partition_type` finds the type of
    /// partition tuples in the table's metadata, by the id of their spec.
    ///
    /// What only those learn who want an entry is not looked at yet: its format, its statistics.
    ///
    /// # Errors
    /// As [`ManifestReader`]; `NotSupported` for a manifest of more than 1 GiB.
    pub fn open(
        listed: &ManifestFile,
        content: Bytes,
        partition_type: impl Fn(i32) -> Option<StructType>,
    ) -> Result<Self> {
        let length = content.len() as u64;
        let ManifestReader {
            mut file,
            header,
            inherited,
            data_files,
            ..
        } = ManifestReader::open(listed, content, &partition_type)?;
        let partition_type = partition_type(data_files.spec_id);
        let schema = Arc::clone(file.schema());
        let partition_schema = partition_schema(&schema, id::DATA_FILE, data_file::PARTITION);
        let mut index = Index {
            inherited: inherited.clone(),
            reader: PartitionsOf {
                schema: partition_schema.map(Arc::as_ref),
                data_files: &data_files,
            },
            partitions: Partitions::default(),
            records: Vec::new(),
            places: Vec::new(),
            first_row_ids: Vec::new(),
        };
        let mut entry_count = 0;
        while file
            .next_record(|schema, decoder| index.add(schema, decoder))?
            .is_some()
        {
            entry_count += 1;
        }
        Ok(Self {
            partitions: index.partitions.places.into(),
            partition_schema: partition_schema.cloned(),
            records: index.records.into(),
            places: index.places.into(),
            first_row_ids: index.first_row_ids.into(),
            schema,
            header: partition_type.is_none().then_some(header),
            listed: listed.clone(),
            partition_type,
            length,
            entry_count,
            data_files,
            inherited,
        })
    }

    /// Whether [`Manifest::open`] would give the same for the same content.
    pub fn is_as_listed(
        &self,
        listed: &ManifestFile,
        partition_type: impl FnOnce(i32) -> Option<StructType>,
    ) -> bool {
        self.listed == *listed && self.partition_type == partition_type(self.data_files.spec_id)
    }

    /// What the manifest list says of it.
    pub fn listed(&self) -> &ManifestFile {
        &self.listed
    }

    /// Size of the file in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// How many entries the file has, dead ones included.
    pub fn entry_count(&self) -> u64 {
        self.entry_count
    }

    /// How many entries are live.
    pub fn live_count(&self) -> usize {
        self.places.len()
    }

    /// The partition spec of its files.
    pub fn partition_spec_id(&self) -> i32 {
        self.data_files.spec_id
    }

    /// What the file says of itself; `None` where the table's metadata knows its partition spec.
    pub fn header(&self) -> Option<&ManifestHeader> {
        self.header.as_ref()
    }

    /// Whether partitions that are encoded alike in both are the same.
    pub fn has_partitions_like(&self, other: &Self) -> bool {
        let schemas = (&self.partition_schema, &other.partition_schema);
        self.data_files.spec_id == other.data_files.spec_id
            && matches!(schemas, (Some(one), Some(two)) if Arc::ptr_eq(one, two))
            && self.partition_type == other.partition_type
    }

    /// The partitions of its live files, each once.
    pub fn partitions(&self) -> impl Iterator<Item = ManifestPartition<'_>> {
        self.partitions.iter().map(|place| ManifestPartition {
            manifest: self,
            encoded: self.records.get(place.clone()).unwrap_or_default(),
        })
    }

    /// The live entries of all partitions that `is_wanted` accepts, in the order of the file. It is asked once for each
    /// partition.
    pub fn entries_of(&self, is_wanted: impl FnMut(ManifestPartition<'_>) -> bool) -> EntryNumbers {
        let wanted: Vec<bool> = self.partitions().map(is_wanted).collect();
        (0..)
            .zip(&self.places)
            .filter(|(_, place)| wanted.get(place.partition as usize) == Some(&true))
            .map(|(number, _)| number)
            .collect()
    }

    /// All live entries, in the order of the file, with these of their statistics.
    pub fn live_entries(&self, stats: &WantedStats) -> impl Iterator<Item = Result<ManifestEntry>> {
        (0..self.places.len()).map(|number| self.decode_one(number, stats))
    }

    /// These entries, with these of their statistics.
    pub fn decode(
        &self,
        entries: &EntryNumbers,
        stats: &WantedStats,
    ) -> impl Iterator<Item = Result<ManifestEntry>> {
        let numbers = entries.iter().map(|number| *number as usize);
        numbers.map(|number| self.decode_one(number, stats))
    }

    fn decode_one(&self, number: usize, stats: &WantedStats) -> Result<ManifestEntry> {
        let place = self.places.get(number);
        let start = place.map_or(0, |place| place.start as usize);
        let mut decoder = Decoder::new(self.records.get(start..).unwrap_or_default());
        let first_row_id = self.first_row_ids.get(number).copied().flatten();
        let mut inherited = self.inherited.clone().at_row_id(first_row_id);
        read_manifest_entry(&self.schema, &mut decoder, &self.data_files, stats)
            .and_then(|mut entry| inherited.fill(&mut entry).map(|()| entry))
            .map_err(|error| error.in_file(&self.listed.manifest_path))
    }

    /// About how many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let header = self.header.as_ref().map_or(0, |header| {
            header.schema.as_ref().map_or(0, String::len)
                + header.partition_spec.as_ref().map_or(0, String::len)
        });
        let fields = self.partition_type.iter().flat_map(StructType::fields);
        size_of::<Self>()
            + self.records.len()
            + size_of_val(&*self.places)
            + size_of_val(&*self.first_row_ids)
            + size_of_val(&*self.partitions)
            + fields.map(|field| 200 + field.name.len()).sum::<usize>()
            + self.listed.manifest_path.len()
            + header
    }
}

/// Finds out what is live while records pass by.
struct Index<'a> {
    inherited: Inheritance,
    reader: PartitionsOf<'a>,
    partitions: Partitions,
    records: Vec<u8>,
    places: Vec<Place>,
    first_row_ids: Vec<Option<i64>>,
}

impl Index<'_> {
    /// Reads a record, and keeps it if it is live.
    fn add(&mut self, schema: &AvroSchema, decoder: &mut Decoder<'_>) -> Result<()> {
        let start = decoder.clone();
        let brief = Brief::read(schema, decoder)?;
        self.inherited.check_content(brief.content, brief.path)?;
        let first_row_id = self.inherited.first_row_id(
            brief.status,
            brief.first_row_id,
            brief.record_count,
            brief.path,
        )?;
        if brief.status == ManifestEntryStatus::Deleted {
            return Ok(());
        }
        let record = start.up_to(decoder);
        let too_large = || {
            Error::not_supported(format!(
                "its live entries take more than {LARGEST_MANIFEST} bytes"
            ))
        };
        if self.records.len() + record.len() > LARGEST_MANIFEST {
            return Err(too_large());
        }
        let start = u32::try_from(self.records.len()).map_err(|_| too_large())?;
        self.places.push(Place {
            start,
            partition: self.partitions.find(&brief, start, &self.reader)?,
        });
        if self.inherited.has_row_ids() {
            self.first_row_ids.push(first_row_id);
        }
        self.records.extend_from_slice(record);
        Ok(())
    }
}

/// The partitions met so far, found by how they are encoded.
#[derive(Default)]
struct Partitions {
    places: Vec<Range<usize>>,
    by_encoding: HashMap<Box<[u8]>, u32>,
}

impl Partitions {
    /// The number of the partition of a record that will start at `start`. A new one must be one that can be decoded.
    fn find(&mut self, brief: &Brief<'_>, start: u32, reader: &PartitionsOf<'_>) -> Result<u32> {
        let (offset, encoded) = brief.partition.unwrap_or_default();
        if let Some(known) = self.by_encoding.get(encoded) {
            return Ok(*known);
        }
        reader.decode(encoded)?;
        let number = u32::try_from(self.places.len())
            .map_err(|_| corrupt("it has more partitions than can be counted"))?;
        let place = start as usize + offset;
        self.places.push(place..place + encoded.len());
        self.by_encoding.insert(encoded.into(), number);
        Ok(number)
    }
}

/// Decodes the partitions of a manifest.
struct PartitionsOf<'a> {
    schema: Option<&'a AvroSchema>,
    data_files: &'a DataFileReader,
}

impl PartitionsOf<'_> {
    fn decode(&self, encoded: &[u8]) -> Result<Partition> {
        let reader = &self.data_files.partition;
        let values = match self.schema {
            Some(schema) => reader
                .read(schema, &mut Decoder::new(encoded))
                .map_err(|error| in_field(error, "partition"))?,
            None => reader.unpartitioned()?,
        };
        Ok(Partition {
            spec_id: self.data_files.spec_id,
            values,
        })
    }
}

/// What decides about an entry.
struct Brief<'a> {
    status: ManifestEntryStatus,
    content: DataContent,
    path: &'a str,
    record_count: Option<u64>,
    first_row_id: Option<i64>,
    /// Its partition and where in the record that starts; `None` where it has none.
    partition: Option<(usize, &'a [u8])>,
}

impl<'a> Brief<'a> {
    fn read(schema: &AvroSchema, decoder: &mut Decoder<'a>) -> Result<Self> {
        let record = decoder.clone();
        let mut status = None;
        let mut file = None;
        decoder.record(schema, |field, decoder| {
            match field.id {
                Some(id::STATUS) => status = decoder.int(&field.schema)?,
                Some(id::DATA_FILE) => {
                    file = Some(Self::read_file(&record, &field.schema, decoder)?);
                }
                _ => decoder.skip(&field.schema)?,
            }
            Ok(())
        })?;
        Ok(Self {
            status: ManifestEntryStatus::of(status)?,
            ..file.ok_or_else(|| corrupt("an entry has no data_file"))?
        })
    }

    /// As [`DataFileReader::read`], of what is wanted here; the status is not known yet.
    fn read_file(
        record: &Decoder<'a>,
        schema: &AvroSchema,
        decoder: &mut Decoder<'a>,
    ) -> Result<Self> {
        let mut path = None;
        let mut file_content = None;
        let mut record_count = None;
        let mut first_row_id = None;
        let mut partition = None;
        decoder.record(schema, |field, decoder| {
            let schema = &field.schema;
            match field.id {
                Some(data_file::CONTENT) => file_content = decoder.int(schema)?,
                Some(data_file::FILE_PATH) => path = decoder.string(schema)?,
                Some(data_file::RECORD_COUNT) => record_count = decoder.long(schema)?,
                Some(data_file::FIRST_ROW_ID) => first_row_id = decoder.long(schema)?,
                Some(data_file::PARTITION) => {
                    let start = decoder.clone();
                    decoder.skip(schema)?;
                    partition = Some((record.up_to(&start).len(), start.up_to(decoder)));
                }
                _ => decoder.skip(schema)?,
            }
            Ok(())
        })?;
        Ok(Self {
            status: ManifestEntryStatus::Deleted,
            content: content(file_content)?,
            path: path
                .filter(|path| !path.is_empty())
                .ok_or_else(|| corrupt("a file has no file_path"))?,
            record_count: record_count.and_then(|count| u64::try_from(count).ok()),
            first_row_id,
            partition,
        })
    }
}

impl<'a> ManifestPartition<'a> {
    /// How it is encoded.
    pub fn encoded(&self) -> &'a [u8] {
        self.encoded
    }

    /// Its values.
    ///
    /// # Errors
    /// None, as it could be decoded before.
    pub fn decode(&self) -> Result<Partition> {
        let reader = PartitionsOf {
            schema: self.manifest.partition_schema.as_deref(),
            data_files: &self.manifest.data_files,
        };
        reader.decode(self.encoded)
    }
}

#[cfg(test)]
#[path = "manifest_index_tests.rs"]
mod tests;
