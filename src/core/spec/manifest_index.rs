//! A manifest as it is kept in memory: its live entries, encoded as they were in the file, found by their partition and
//! decoded when somebody wants them. Spec: "Manifests", "Scan Planning".

use std::collections::HashMap;
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
use super::partition_tuple::Partition;
use super::types::StructType;
use super::value::PrimitiveValue;
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
    /// Each partition once.
    partitions: Vec<Partition>,
    /// The records, one after the other.
    records: Box<[u8]>,
    places: Box<[Place]>,
    /// For each entry; none where rows have no ids.
    first_row_ids: Box<[Option<i64>]>,
}

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
        let mut index = Index {
            inherited: inherited.clone(),
            data_files: &data_files,
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
            partitions: index.partitions.partitions,
            records: index.records.into(),
            places: index.places.into(),
            first_row_ids: index.first_row_ids.into(),
            schema: Arc::clone(file.schema()),
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

    /// The partitions of its live files, each once.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// The live entries of all partitions that `is_wanted` accepts, in the order of the file, with these of their
    /// statistics. The function is called once for each partition.
    pub fn live_entries(
        &self,
        stats: &WantedStats,
        is_wanted: impl FnMut(&Partition) -> bool,
    ) -> impl Iterator<Item = Result<ManifestEntry>> {
        let wanted: Vec<bool> = self.partitions.iter().map(is_wanted).collect();
        self.places
            .iter()
            .enumerate()
            .filter(move |(_, place)| wanted.get(place.partition as usize) == Some(&true))
            .map(|(number, place)| {
                self.decode(number, place, stats)
                    .map_err(|error| error.in_file(&self.listed.manifest_path))
            })
    }

    fn decode(&self, number: usize, place: &Place, stats: &WantedStats) -> Result<ManifestEntry> {
        let record = self.records.get(place.start as usize..).unwrap_or_default();
        let mut decoder = Decoder::new(record);
        let mut entry = read_manifest_entry(&self.schema, &mut decoder, &self.data_files, stats)?;
        let first_row_id = self.first_row_ids.get(number).copied().flatten();
        self.inherited
            .clone()
            .at_row_id(first_row_id)
            .fill(&mut entry)?;
        Ok(entry)
    }

    /// About how many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let header = self.header.as_ref().map_or(0, |header| {
            header.schema.as_ref().map_or(0, String::len)
                + header.partition_spec.as_ref().map_or(0, String::len)
        });
        let partition = |partition: &Partition| {
            size_of::<Partition>() + partition.values.iter().map(value_memory).sum::<usize>()
        };
        let fields = self.partition_type.iter().flat_map(StructType::fields);
        size_of::<Self>()
            + self.records.len()
            + size_of_val(&*self.places)
            + size_of_val(&*self.first_row_ids)
            + self.partitions.iter().map(partition).sum::<usize>()
            + fields.map(|field| 200 + field.name.len()).sum::<usize>()
            + self.listed.manifest_path.len()
            + header
    }
}

/// Finds out what is live while records pass by.
struct Index<'a> {
    inherited: Inheritance,
    data_files: &'a DataFileReader,
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
        self.places.push(Place {
            start: u32::try_from(self.records.len()).map_err(|_| too_large())?,
            partition: self.partitions.find(&brief, self.data_files)?,
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
    partitions: Vec<Partition>,
    by_encoding: HashMap<Box<[u8]>, u32>,
}

impl Partitions {
    fn find(&mut self, brief: &Brief<'_, '_>, data_files: &DataFileReader) -> Result<u32> {
        let (schema, encoded) = brief.partition.unzip();
        if let Some(known) = self.by_encoding.get(encoded.unwrap_or_default()) {
            return Ok(*known);
        }
        let values = match schema.zip(encoded) {
            Some((schema, encoded)) => data_files
                .partition
                .read(schema, &mut Decoder::new(encoded))
                .map_err(|error| in_field(error, "partition"))?,
            None => data_files.partition.unpartitioned()?,
        };
        let number = u32::try_from(self.partitions.len())
            .map_err(|_| corrupt("it has more partitions than can be counted"))?;
        self.partitions.push(Partition {
            spec_id: data_files.spec_id,
            values,
        });
        self.by_encoding
            .insert(encoded.unwrap_or_default().into(), number);
        Ok(number)
    }
}

/// What decides about an entry.
struct Brief<'a, 's> {
    status: ManifestEntryStatus,
    content: DataContent,
    path: &'a str,
    record_count: Option<u64>,
    first_row_id: Option<i64>,
    /// Its partition and the type of that, encoded; `None` where there is none.
    partition: Option<(&'s AvroSchema, &'a [u8])>,
}

impl<'a, 's> Brief<'a, 's> {
    fn read(schema: &'s AvroSchema, decoder: &mut Decoder<'a>) -> Result<Self> {
        let mut status = None;
        let mut file = None;
        decoder.record(schema, |field, decoder| {
            match field.id {
                Some(id::STATUS) => status = decoder.int(&field.schema)?,
                Some(id::DATA_FILE) => file = Some(Self::read_file(&field.schema, decoder)?),
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
    fn read_file(schema: &'s AvroSchema, decoder: &mut Decoder<'a>) -> Result<Self> {
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
                    partition = Some((schema.as_ref(), start.up_to(decoder)));
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

/// About how many bytes a partition value takes.
fn value_memory(value: &Option<PrimitiveValue>) -> usize {
    size_of_val(value)
        + match value {
            Some(PrimitiveValue::String(text)) => text.len(),
            Some(PrimitiveValue::Binary(bytes) | PrimitiveValue::Fixed(bytes)) => bytes.len(),
            _ => 0,
        }
}

#[cfg(test)]
#[path = "manifest_index_tests.rs"]
mod tests;
