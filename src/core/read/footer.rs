//! The end of a Parquet file: where its metadata lies, and whether the metadata may be parsed.
//! Spec: Parquet "File format", "Parquet Modular Encryption".

use bytes::Bytes;
use parquet::file::metadata::{
    FooterTail, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy,
};

use crate::error::{Error, ErrorKind, Result};

/// Length and magic at the very end.
pub(super) const TAIL_SIZE: u64 = 8;
/// The magic at the very start, so the least offset of any content.
pub(super) const HEAD_SIZE: u64 = 4;
/// How deep a Parquet schema may nest; the parser calls itself for every level.
const MAX_DEPTH: usize = 512;

/// How many bytes the metadata before the tail has.
///
/// # Errors
/// `Corrupt` where the file is no Parquet file or the length contradicts the file's size,
/// `NotSupported` where the footer is encrypted.
pub(super) fn metadata_length(tail: &[u8], file_size: u64) -> Result<u64> {
    let tail = FooterTail::try_from(tail)
        .map_err(|_| corrupt("is not a Parquet file: it does not end with PAR1"))?;
    if tail.is_encrypted_footer() {
        return Err(encrypted());
    }
    let length = tail.metadata_length() as u64;
    if length
        .checked_add(HEAD_SIZE + TAIL_SIZE)
        .is_none_or(|needed| needed > file_size)
    {
        return Err(corrupt(format!(
            "its footer claims {length} bytes of metadata, but the file has only {file_size} bytes"
        )));
    }
    Ok(length)
}

/// Parses a file's metadata, without statistics and page indexes.
///
/// # Errors
/// `Corrupt` for what cannot be parsed, `NotSupported` for encrypted files.
pub(super) fn parse(metadata: &Bytes) -> Result<ParquetMetaData> {
    check(metadata)?;
    let options = ParquetMetaDataOptions::new()
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    ParquetMetaDataReader::decode_metadata_with_options(metadata, Some(&options))
        .map_err(|error| corrupt(format!("its Parquet metadata cannot be parsed: {error}")))
}

/// Looks through the metadata for what the parser does not guard against: a schema so deep that
/// it would use up the stack, and encrypted columns under a plain footer.
fn check(metadata: &Bytes) -> Result<()> {
    const SCHEMA: i16 = 2;
    const ENCRYPTION_ALGORITHM: i16 = 8;
    let mut reader = CompactReader(metadata);
    let mut encryption = false;
    let walked = reader.each_field(|reader, id, kind| match (id, kind) {
        (SCHEMA, Kind::List) => check_depth(reader),
        (ENCRYPTION_ALGORITHM, _) => {
            encryption = true;
            reader.skip(kind)
        }
        _ => reader.skip(kind),
    });
    match walked {
        Err(Fault::TooDeep) => Err(Error::not_supported(format!(
            "its schema nests deeper than {MAX_DEPTH} levels"
        ))),
        Err(Fault::Malformed) => Err(corrupt("its Parquet metadata cannot be parsed")),
        Ok(()) if encryption => Err(encrypted()),
        Ok(()) => Ok(()),
    }
}

/// Walks the schema, a tree laid out depth first, without recursion.
fn check_depth(reader: &mut CompactReader<'_>) -> Result<(), Fault> {
    const NUM_CHILDREN: i16 = 5;
    let (length, kind) = reader.list()?;
    if kind != Kind::Struct {
        return Err(Fault::Malformed);
    }
    // How many fields each open group still lacks.
    let mut open: Vec<i64> = Vec::new();
    for _ in 0..length {
        let mut children = 0;
        reader.each_field(|reader, id, kind| {
            if id == NUM_CHILDREN && kind == Kind::Integer {
                children = reader.integer()?;
                Ok(())
            } else {
                reader.skip(kind)
            }
        })?;
        if let Some(lacking) = open.last_mut() {
            *lacking -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        while open.last().is_some_and(|lacking| *lacking <= 0) {
            open.pop();
        }
        if open.len() > MAX_DEPTH {
            return Err(Fault::TooDeep);
        }
    }
    Ok(())
}

fn corrupt(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}

fn encrypted() -> Error {
    Error::not_supported("is encrypted, which is not supported yet")
}

/// Why a walk through the metadata stopped.
enum Fault {
    Malformed,
    TooDeep,
}

/// The kinds of values of Thrift's compact protocol, as far as skipping must tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Byte,
    Integer,
    Double,
    Binary,
    List,
    Map,
    Struct,
    Uuid,
}

/// Walks over Thrift's compact protocol.
struct CompactReader<'a>(&'a [u8]);

impl CompactReader<'_> {
    /// Calls `visit` for each field of a struct; it must read or skip the value.
    fn each_field(
        &mut self,
        mut visit: impl FnMut(&mut Self, i16, Kind) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut id = 0_i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => i16::try_from(self.integer()?).map_err(|_| Fault::Malformed)?,
                step => id.checked_add(i16::from(step)).ok_or(Fault::Malformed)?,
            };
            match head & 0x0F {
                // The value of a boolean field is its kind.
                1 | 2 => {}
                kind => visit(self, id, Self::kind(kind)?)?,
            }
        }
    }

    /// The length of a list and the kind of its elements.
    fn list(&mut self) -> Result<(u64, Kind), Fault> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            length => u64::from(length),
        };
        // Each element takes a byte at least.
        if length > self.0.len() as u64 {
            return Err(Fault::Malformed);
        }
        Ok((length, Self::kind(head & 0x0F)?))
    }

    fn skip(&mut self, kind: Kind) -> Result<(), Fault> {
        self.skip_nested(kind, 64)
    }

    fn skip_nested(&mut self, kind: Kind, depth: u8) -> Result<(), Fault> {
        let depth = depth.checked_sub(1).ok_or(Fault::Malformed)?;
        match kind {
            Kind::Boolean | Kind::Byte => self.advance(1),
            Kind::Integer => self.varint().map(|_| ()),
            Kind::Double => self.advance(8),
            Kind::Uuid => self.advance(16),
            Kind::Binary => {
                let length = self.varint()?;
                self.advance(length)
            }
            Kind::List => {
                let (length, kind) = self.list()?;
                (0..length).try_for_each(|_| self.skip_nested(kind, depth))
            }
            Kind::Map => {
                let length = self.varint()?;
                if length == 0 {
                    return Ok(());
                }
                if length > self.0.len() as u64 {
                    return Err(Fault::Malformed);
                }
                let kinds = self.byte()?;
                let (key, value) = (Self::kind(kinds >> 4)?, Self::kind(kinds & 0x0F)?);
                (0..length).try_for_each(|_| {
                    self.skip_nested(key, depth)?;
                    self.skip_nested(value, depth)
                })
            }
            Kind::Struct => self.each_field(|reader, _, kind| reader.skip_nested(kind, depth)),
        }
    }

    fn kind(code: u8) -> Result<Kind, Fault> {
        Ok(match code {
            1 | 2 => Kind::Boolean,
            3 => Kind::Byte,
            4..=6 => Kind::Integer,
            7 => Kind::Double,
            8 => Kind::Binary,
            9 | 10 => Kind::List,
            11 => Kind::Map,
            12 => Kind::Struct,
            13 => Kind::Uuid,
            _ => return Err(Fault::Malformed),
        })
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let (byte, rest) = self.0.split_first().ok_or(Fault::Malformed)?;
        self.0 = rest;
        Ok(*byte)
    }

    fn advance(&mut self, length: u64) -> Result<(), Fault> {
        let length = usize::try_from(length).map_err(|_| Fault::Malformed)?;
        self.0 = self.0.get(length..).ok_or(Fault::Malformed)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Fault::Malformed)
    }

    /// A signed integer in zigzag form.
    fn integer(&mut self) -> Result<i64, Fault> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }
}
