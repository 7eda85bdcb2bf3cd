//! The end of a Parquet file: where its metadata lies, and whether the metadata may be parsed.
//! Spec: Parquet "File format", "Parquet Modular Encryption".

use bytes::Bytes;
use parquet::file::metadata::{
    FooterTail, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy,
};

use super::compact::{CompactReader, Fault, Kind};
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

/// Parses a file's metadata without page indexes, and with the statistics of columns and encodings
/// only where these are wanted and can be parsed themselves.
///
/// # Errors
/// `Corrupt` for what cannot be parsed, `NotSupported` for encrypted files.
pub(super) fn parse(metadata: &Bytes, with_statistics: bool) -> Result<ParquetMetaData> {
    check(metadata)?;
    let decode = |statistics: ParquetStatisticsPolicy| {
        let options = ParquetMetaDataOptions::new()
            .with_encoding_stats_policy(statistics.clone())
            .with_column_stats_policy(statistics)
            .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
        ParquetMetaDataReader::decode_metadata_with_options(metadata, Some(&options))
    };
    if with_statistics && let Ok(parsed) = decode(ParquetStatisticsPolicy::KeepAll) {
        return Ok(parsed);
    }
    decode(ParquetStatisticsPolicy::SkipAll)
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
