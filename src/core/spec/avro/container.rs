//! Object container files: the header with schema and codec, and the blocks of records after it.
//! Avro specification: "Object Container Files".

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use apache_avro::Codec;
use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};

use super::corrupt;
use super::decode::Decoder;
use super::known_schemas;
use super::schema::AvroSchema;
use crate::error::{Error, Result};

const MAGIC: &[u8] = b"Obj\x01";
/// The length of the marker after the header and after every block.
pub const SYNC_LENGTH: usize = 16;

/// How large a block may become when it is decompressed. Writers make blocks of some 64 KB; the
/// bound is there for files that are made to exhaust memory.
pub const MAX_BLOCK_BYTES: usize = 256 << 20;

/// The header of an Avro file: all that is needed to read its blocks.
#[derive(Debug)]
pub struct AvroHeader {
    key_values: BTreeMap<String, Bytes>,
    schema: Arc<AvroSchema>,
    codec: Codec,
    sync: [u8; SYNC_LENGTH],
    length: usize,
}

/// An Avro file in memory, read record by record.
#[derive(Debug)]
pub struct AvroFile {
    path: String,
    header: AvroHeader,
    rest: Bytes,
    block: Bytes,
    records_left: u64,
}

impl AvroHeader {
    /// Reads the header that a file begins with.
    ///
    /// # Errors
    /// As [`AvroFile::open`], without the file's name.
    pub fn read(content: &Bytes) -> Result<Self> {
        if content.starts_with(b"PAR1") {
            return Err(Error::not_supported(
                "it is a Parquet file where an Avro file belongs; Parquet manifests (format \
                 version 4) are not supported",
            ));
        }
        let body = content
            .strip_prefix(MAGIC)
            .ok_or_else(|| corrupt("it is not an Avro file"))?;
        let mut decoder = Decoder::new(body);
        let key_values = read_key_values(&mut decoder, content)?;
        let mut sync = [0; SYNC_LENGTH];
        sync.copy_from_slice(decoder.take(SYNC_LENGTH)?);
        let schema = key_values
            .get("avro.schema")
            .ok_or_else(|| corrupt("its header has no Avro schema"))?;
        let schema = known_schemas::parse(schema)?;
        let codec = codec(key_values.get("avro.codec"))?;
        Ok(Self {
            length: content.len() - decoder.remaining(),
            key_values,
            schema,
            codec,
            sync,
        })
    }

    /// The schema of the records.
    pub fn schema(&self) -> &Arc<AvroSchema> {
        &self.schema
    }

    /// How many bytes it has.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Takes the next block off the front of what follows the header: how many records it has, and
    /// their bytes.
    ///
    /// # Errors
    /// `Corrupt` for a block that is broken, or does not end where `rest` does or before.
    pub fn next_block(&self, rest: &mut Bytes) -> Result<(u64, Bytes)> {
        let mut decoder = Decoder::new(rest);
        let count = decoder.varint()?;
        let stored = decoder.length_prefixed()?;
        if decoder.take(SYNC_LENGTH)? != self.sync {
            return Err(corrupt("a block does not end with the file's sync marker"));
        }
        let block = match self.codec {
            Codec::Null => rest.slice_ref(stored),
            Codec::Deflate(_) => inflate(stored)?,
            codec => {
                // The crate holds every decompression in the process against this bound.
                apache_avro::util::max_allocation_bytes(MAX_BLOCK_BYTES);
                let mut block = stored.to_vec();
                codec.decompress(&mut block).map_err(not_decompressed)?;
                Bytes::from(block)
            }
        };
        let left = decoder.remaining();
        *rest = rest.slice(rest.len() - left..);
        // A record takes at least one byte, as none of Iceberg's is without required fields.
        let count = match u64::try_from(count) {
            Ok(count) if count <= block.len() as u64 => count,
            _ => {
                return Err(corrupt(format!(
                    "a block has {count} records in {} bytes",
                    block.len()
                )));
            }
        };
        if count == 0 && !block.is_empty() {
            return Err(corrupt("a block without records has bytes"));
        }
        Ok((count, block))
    }
}

impl AvroFile {
    /// Reads the header of the file `path`, whose whole content is `content`.
    ///
    /// # Errors
    /// `Corrupt` where it is no Avro file, `NotSupported` for an unknown codec; both name the file.
    pub fn open(path: &str, content: Bytes) -> Result<Self> {
        Self::open_unnamed(path, content).map_err(|error| error.in_file(path))
    }

    fn open_unnamed(path: &str, content: Bytes) -> Result<Self> {
        let header = AvroHeader::read(&content)?;
        Ok(Self {
            path: path.to_owned(),
            rest: content.slice(header.length..),
            header,
            block: Bytes::new(),
            records_left: 0,
        })
    }

    /// The file's name, for messages.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The schema of its records.
    pub fn schema(&self) -> &Arc<AvroSchema> {
        &self.header.schema
    }

    /// Reads the records by another schema of the same encoding: one with field ids filled in.
    pub fn set_schema(&mut self, schema: Arc<AvroSchema>) {
        self.header.schema = schema;
    }

    /// A value of the header.
    pub fn key_value(&self, key: &str) -> Option<&Bytes> {
        self.header.key_values.get(key)
    }

    /// A value of the header that is text.
    ///
    /// # Errors
    /// `Corrupt` where it is not UTF-8; the caller names the file.
    pub fn text_value(&self, key: &str) -> Result<Option<&str>> {
        self.key_value(key)
            .map(|value| {
                std::str::from_utf8(value)
                    .map_err(|_| corrupt(format!("its header's \"{key}\" is not UTF-8")))
            })
            .transpose()
    }

    /// Reads the next record with `read`, which must read one value of the schema it is given.
    /// `None` at the end of the file.
    ///
    /// # Errors
    /// What `read` says, or `Corrupt` where a block is broken; all name the file.
    pub fn next_record<T>(
        &mut self,
        read: impl FnOnce(&AvroSchema, &mut Decoder<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.next_record_unnamed(read)
            .map_err(|error| error.in_file(&self.path))
    }

    fn next_record_unnamed<T>(
        &mut self,
        read: impl FnOnce(&AvroSchema, &mut Decoder<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        while self.records_left == 0 {
            if self.rest.is_empty() {
                return Ok(None);
            }
            (self.records_left, self.block) = self.header.next_block(&mut self.rest)?;
        }
        let mut decoder = Decoder::new(&self.block);
        let record = read(&self.header.schema, &mut decoder)?;
        let left = decoder.remaining();
        self.records_left -= 1;
        if self.records_left == 0 && left > 0 {
            return Err(corrupt(format!(
                "a block has {left} bytes after its last record"
            )));
        }
        self.block = self.block.slice(self.block.len() - left..);
        Ok(Some(record))
    }
}

/// Decompresses what the codec "deflate" made, which is what most writers use.
fn inflate(stored: &[u8]) -> Result<Bytes> {
    let mut inflater = Decompress::new(false);
    let mut block = Vec::with_capacity(stored.len().saturating_mul(3).clamp(64, MAX_BLOCK_BYTES));
    loop {
        let consumed = usize::try_from(inflater.total_in()).unwrap_or(usize::MAX);
        let rest = stored.get(consumed..).unwrap_or_default();
        let status = inflater
            .decompress_vec(rest, &mut block, FlushDecompress::Finish)
            .map_err(not_decompressed)?;
        match status {
            Status::StreamEnd => return Ok(block.into()),
            _ if block.len() < block.capacity() => {
                return Err(not_decompressed("its end is missing"));
            }
            _ if block.len() >= MAX_BLOCK_BYTES => {
                return Err(not_decompressed(format!(
                    "it would have more than {MAX_BLOCK_BYTES} bytes"
                )));
            }
            _ => block.reserve_exact(block.len().min(MAX_BLOCK_BYTES - block.len())),
        }
    }
}

fn not_decompressed(why: impl Display) -> Error {
    corrupt(format!("a block cannot be decompressed: {why}"))
}

fn read_key_values(decoder: &mut Decoder<'_>, content: &Bytes) -> Result<BTreeMap<String, Bytes>> {
    let mut key_values = BTreeMap::new();
    loop {
        let count = decoder.varint()?;
        if count == 0 {
            return Ok(key_values);
        }
        if count < 0 {
            decoder.varint()?;
        }
        for _ in 0..count.unsigned_abs() {
            let key = std::str::from_utf8(decoder.length_prefixed()?)
                .map_err(|_| corrupt("its header has a key that is not UTF-8"))?;
            let value = content.slice_ref(decoder.length_prefixed()?);
            key_values.insert(key.to_owned(), value);
        }
    }
}

fn codec(name: Option<&Bytes>) -> Result<Codec> {
    let Some(name) = name else {
        return Ok(Codec::Null);
    };
    std::str::from_utf8(name)
        .ok()
        .and_then(|name| Codec::from_str(name).ok())
        .ok_or_else(|| {
            Error::not_supported(format!(
                "the Avro codec \"{}\" is not supported",
                String::from_utf8_lossy(name)
            ))
        })
}
