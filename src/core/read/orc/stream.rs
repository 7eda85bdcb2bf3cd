//! One stream of a stripe: its bytes, decompressed chunk by chunk as they are read.
//! ORC specification v1 "Compression".

use std::io::Read;

use bytes::Bytes;
use flate2::read::DeflateDecoder;

use crate::error::{Error, ErrorKind, Result};

/// The length of a chunk is stored in so many bytes.
const CHUNK_HEAD: usize = 3;
/// The size of decompressed chunks where the file does not say.
const DEFAULT_BLOCK: u64 = 256 << 10;
/// No writer makes larger chunks: the length of a stored one must fit 23 bits.
const MAX_BLOCK: u64 = 1 << 23;

/// How the streams of a file are compressed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compression {
    codec: Codec,
    /// How large a chunk is at most, decompressed.
    block_size: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Codec {
    None,
    Zlib,
    Snappy,
    Lz4,
    Zstd,
}

/// The bytes of a stream, from the front.
#[derive(Debug)]
pub(super) struct Stream {
    compression: Compression,
    /// Chunks that are not decompressed yet.
    stored: Bytes,
    /// What is decompressed and not read yet.
    chunk: Bytes,
}

impl Compression {
    /// The compression that a postscript names by its number.
    ///
    /// # Errors
    /// `NotSupported` for one that cannot be read.
    pub(super) fn new(kind: u64, block_size: Option<u64>) -> Result<Self> {
        let codec = match kind {
            0 => Codec::None,
            1 => Codec::Zlib,
            2 => Codec::Snappy,
            4 => Codec::Lz4,
            5 => Codec::Zstd,
            3 => {
                return Err(Error::not_supported(
                    "is compressed with LZO, which cannot be read",
                ));
            }
            other => {
                return Err(Error::not_supported(format!(
                    "is compressed with codec {other} of ORC, which cannot be read"
                )));
            }
        };
        let block_size = block_size
            .filter(|size| *size > 0)
            .unwrap_or(DEFAULT_BLOCK)
            .min(MAX_BLOCK);
        Ok(Self {
            codec,
            block_size: usize::try_from(block_size).unwrap_or(0),
        })
    }

    /// How large a chunk is at most, decompressed.
    pub(super) fn block_size(self) -> usize {
        self.block_size
    }

    fn decompress(self, stored: &[u8]) -> Result<Vec<u8>> {
        let limit = self.block_size;
        let broken = |error: &dyn std::fmt::Display| {
            corrupt(format!("a chunk cannot be decompressed: {error}"))
        };
        let chunk = match self.codec {
            Codec::None => stored.to_vec(),
            Codec::Zlib => {
                let mut chunk = Vec::new();
                DeflateDecoder::new(stored)
                    .take(limit as u64 + 1)
                    .read_to_end(&mut chunk)
                    .map_err(|error| broken(&error))?;
                chunk
            }
            Codec::Snappy => {
                let length = snap::raw::decompress_len(stored).map_err(|error| broken(&error))?;
                if length > limit {
                    return Err(too_large(limit));
                }
                snap::raw::Decoder::new()
                    .decompress_vec(stored)
                    .map_err(|error| broken(&error))?
            }
            Codec::Lz4 => {
                lz4_flex::block::decompress(stored, limit).map_err(|error| broken(&error))?
            }
            Codec::Zstd => zstd::bulk::decompress(stored, limit).map_err(|error| broken(&error))?,
        };
        if chunk.len() > limit {
            return Err(too_large(limit));
        }
        Ok(chunk)
    }
}

impl Stream {
    pub(super) fn new(stored: Bytes, compression: Compression) -> Self {
        let (stored, chunk) = match compression.codec {
            Codec::None => (Bytes::new(), stored),
            _ => (stored, Bytes::new()),
        };
        Self {
            compression,
            stored,
            chunk,
        }
    }

    /// What can be read at once; empty at the end of the stream.
    pub(super) fn buffer(&mut self) -> Result<&[u8]> {
        while self.chunk.is_empty() && !self.stored.is_empty() {
            let head = self.stored.get(..CHUNK_HEAD).ok_or_else(ends_early)?;
            let head = head
                .iter()
                .rev()
                .fold(0_usize, |head, byte| head << 8 | usize::from(*byte));
            let (length, is_original) = (head >> 1, head & 1 == 1);
            let end = CHUNK_HEAD + length;
            if end > self.stored.len() {
                return Err(ends_early());
            }
            let stored = self.stored.split_to(end).slice(CHUNK_HEAD..);
            self.chunk = if is_original {
                stored
            } else {
                self.compression.decompress(&stored)?.into()
            };
        }
        Ok(&self.chunk)
    }

    /// Passes over bytes of the buffer.
    pub(super) fn consume(&mut self, length: usize) {
        let _ = self.chunk.split_to(length.min(self.chunk.len()));
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Result<u8> {
        let byte = *self.buffer()?.first().ok_or_else(ends_early)?;
        self.consume(1);
        Ok(byte)
    }

    /// Appends the next so many bytes.
    pub(super) fn read(&mut self, length: usize, to: &mut Vec<u8>) -> Result<()> {
        let mut lacking = length;
        while lacking > 0 {
            let buffer = self.buffer()?;
            if buffer.is_empty() {
                return Err(ends_early());
            }
            let length = lacking.min(buffer.len());
            to.extend_from_slice(buffer.get(..length).unwrap_or_default());
            self.consume(length);
            lacking -= length;
        }
        Ok(())
    }

    /// The next bytes as an array.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        if let Some(bytes) = self.buffer()?.first_chunk::<N>() {
            array = *bytes;
            self.consume(N);
            return Ok(array);
        }
        for byte in &mut array {
            *byte = self.byte()?;
        }
        Ok(array)
    }

    /// An unsigned number, seven bits a byte, low ones first.
    pub(super) fn varint(&mut self) -> Result<u64> {
        u64::try_from(self.long_varint()?)
            .map_err(|_| corrupt("a number has more than 64 bits".to_owned()))
    }

    /// As [`Self::varint`], up to 128 bits.
    pub(super) fn long_varint(&mut self) -> Result<u128> {
        let mut value = 0_u128;
        for shift in (0..=126).step_by(7) {
            let byte = self.byte()?;
            if shift == 126 && byte > 3 {
                break;
            }
            value |= u128::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(corrupt("a number has more than 128 bits".to_owned()))
    }

    /// All that is left, of at most so many bytes.
    pub(super) fn read_all(mut self, limit: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let buffer = self.buffer()?;
            if buffer.is_empty() {
                return Ok(all);
            }
            let length = buffer.len();
            if all.len() + length > limit {
                return Err(Error::not_supported(format!(
                    "has metadata of more than {limit} bytes"
                )));
            }
            all.extend_from_slice(buffer);
            self.consume(length);
        }
    }
}

pub(super) fn ends_early() -> Error {
    corrupt("a stream ends before its last value".to_owned())
}

fn too_large(limit: usize) -> Error {
    corrupt(format!("a chunk has more than {limit} bytes decompressed"))
}

fn corrupt(what: String) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}
