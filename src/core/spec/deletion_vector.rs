//! Deletion vectors: the positions of a data file's deleted rows as one blob.
//! Spec: Puffin "`deletion-vector-v1` blob type"; table spec "Deletion Vectors".

use roaring::{RoaringBitmap, RoaringTreemap};

use crate::error::{Error, ErrorKind, Result};

/// What follows the length.
const MAGIC: [u8; 4] = [0xD1, 0xD3, 0x39, 0x64];
const LENGTH_SIZE: usize = 4;
const CHECKSUM_SIZE: usize = 4;
/// Positions are signed 64-bit numbers: the high half of the largest.
const MAX_KEY: u32 = i32::MAX as u32;

/// The positions in a `deletion-vector-v1` blob, counted from 0 in the data file.
///
/// `cardinality` is the number of positions that the manifest tells of, if it tells.
///
/// # Errors
/// `Corrupt`, without the file's name, where length, magic, checksum, bitmaps or cardinality are
/// not what they must be.
pub fn parse_deletion_vector(blob: &[u8], cardinality: Option<u64>) -> Result<RoaringTreemap> {
    let (length, rest) = blob
        .split_first_chunk::<LENGTH_SIZE>()
        .ok_or_else(too_short)?;
    let (body, checksum) = rest
        .split_last_chunk::<CHECKSUM_SIZE>()
        .ok_or_else(too_short)?;
    let length = u32::from_be_bytes(*length);
    if usize::try_from(length).ok() != Some(body.len()) {
        return Err(corrupt(format!(
            "its length is {length} where there are {} bytes",
            body.len()
        )));
    }
    let computed = crc32fast::hash(body);
    let stored = u32::from_be_bytes(*checksum);
    if stored != computed {
        return Err(corrupt(format!(
            "its checksum is {computed:#010x}, it should be {stored:#010x}"
        )));
    }
    let bitmaps = match body.split_first_chunk::<4>() {
        Some((magic, bitmaps)) if *magic == MAGIC => bitmaps,
        _ => return Err(corrupt("it does not begin with the magic of its type")),
    };
    let positions = parse_bitmaps(bitmaps)?;
    match cardinality {
        Some(expected) if positions.len() != expected => Err(corrupt(format!(
            "it holds {} positions, the manifest says {expected}",
            positions.len()
        ))),
        _ => Ok(positions),
    }
}

/// A count, and so many pairs of a key, the high half of positions, and the bitmap of low halves.
fn parse_bitmaps(bytes: &[u8]) -> Result<RoaringTreemap> {
    let (count, mut rest) = bytes.split_first_chunk::<8>().ok_or_else(too_short)?;
    let count = u64::from_le_bytes(*count);
    let mut bitmaps: Vec<(u32, RoaringBitmap)> = Vec::new();
    for _ in 0..count {
        let (key, bitmap) = rest.split_first_chunk::<4>().ok_or_else(too_short)?;
        let key = u32::from_le_bytes(*key);
        if key > MAX_KEY {
            return Err(corrupt(format!("it has positions under the key {key}")));
        }
        if bitmaps.last().is_some_and(|(last, _)| *last >= key) {
            return Err(corrupt("the keys of its bitmaps do not ascend"));
        }
        rest = bitmap;
        let bitmap = RoaringBitmap::deserialize_from(&mut rest)
            .map_err(|error| corrupt(format!("a bitmap in it cannot be read: {error}")))?;
        bitmaps.push((key, bitmap));
    }
    if !rest.is_empty() {
        return Err(corrupt(format!("{} bytes follow its bitmaps", rest.len())));
    }
    Ok(RoaringTreemap::from_bitmaps(bitmaps))
}

fn too_short() -> Error {
    corrupt("it ends too early")
}

fn corrupt(what: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("a deletion vector is broken: {what}"),
    )
}
