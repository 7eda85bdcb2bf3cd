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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A blob around these bitmaps, as the spec lays it out.
    pub(crate) fn blob(bitmaps: &[u8]) -> Vec<u8> {
        let body = [&[0xD1, 0xD3, 0x39, 0x64][..], bitmaps].concat();
        let mut blob = (body.len() as u32).to_be_bytes().to_vec();
        blob.extend(&body);
        blob.extend(crc32fast::hash(&body).to_be_bytes());
        blob
    }

    /// The bitmap of 1 and 3 with key `key`, byte for byte as Roaring's format spec says.
    fn one_and_three(key: u32) -> Vec<u8> {
        let mut bytes = key.to_le_bytes().to_vec();
        // Cookie of a bitmap without runs, one container.
        bytes.extend([0x3A, 0x30, 0, 0, 1, 0, 0, 0]);
        // Its key 0 and its cardinality less one; where it starts; its values.
        bytes.extend([0, 0, 1, 0, 16, 0, 0, 0, 1, 0, 3, 0]);
        bytes
    }

    fn counted(count: u64, bitmaps: &[Vec<u8>]) -> Vec<u8> {
        [count.to_le_bytes().to_vec(), bitmaps.concat()].concat()
    }

    fn positions(blob: &[u8]) -> Vec<u64> {
        parse_deletion_vector(blob, None).unwrap().iter().collect()
    }

    fn fault(blob: &[u8], cardinality: Option<u64>) -> String {
        let error = parse_deletion_vector(blob, cardinality).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        error.message().to_owned()
    }

    #[test]
    fn dv_bytes_of_the_trap_table() {
        let one = blob(&counted(1, &[one_and_three(0)]));
        // The checksum of this body by another implementation (Python's zlib.crc32).
        assert_eq!(one[..4], [0, 0, 0, 36]);
        assert_eq!(one[4..8], [0xD1, 0xD3, 0x39, 0x64]);
        assert_eq!(one[40..], PYTHON_CRC.to_be_bytes());
        assert_eq!(positions(&one), [1, 3]);
        assert_eq!(
            parse_deletion_vector(&one, Some(2)).unwrap().len(),
            2,
            "record_count is the cardinality"
        );
        assert!(fault(&one, Some(3)).contains("2 positions, the manifest says 3"));
    }

    /// `zlib.crc32` of the body in [`dv_bytes_of_the_trap_table`].
    const PYTHON_CRC: u32 = 0x6834_97A9;

    #[test]
    fn positions_have_64_bits() {
        let largest = i32::MAX as u32;
        let many = counted(
            3,
            &[one_and_three(0), one_and_three(7), one_and_three(largest)],
        );
        let high = |key: u64| [(key << 32) + 1, (key << 32) + 3];
        let expected = [high(0), high(7), high(u64::from(largest))].concat();
        assert_eq!(positions(&blob(&many)), expected);
        assert_eq!(positions(&blob(&counted(0, &[]))), [0_u64; 0]);
    }

    #[test]
    fn every_broken_byte_is_noticed() {
        let good = blob(&counted(1, &[one_and_three(0)]));
        for index in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[index] ^= 1 << bit;
                fault(&bad, None);
            }
        }
        for length in 0..good.len() {
            fault(&good[..length], None);
        }
        fault(&[&good[..], &[0]].concat(), None);
    }

    #[test]
    fn faults_under_a_right_checksum() {
        let cases = [
            (blob(&[]), "ends too early"),
            (blob(&counted(1, &[])), "ends too early"),
            (blob(&counted(u64::MAX, &[])), "ends too early"),
            (blob(&counted(0, &[one_and_three(0)])), "24 bytes follow"),
            (
                blob(&counted(2, &[one_and_three(1), one_and_three(1)])),
                "do not ascend",
            ),
            (
                blob(&counted(2, &[one_and_three(1), one_and_three(0)])),
                "do not ascend",
            ),
            (
                blob(&counted(1, &[one_and_three(1 << 31)])),
                "under the key 2147483648",
            ),
            (blob(&counted(1, &[vec![0; 16]])), "cannot be read"),
        ];
        for (case, expected) in cases {
            let message = fault(&case, None);
            assert!(message.contains(expected), "{message}");
        }
        let mut magic = good_with_magic([0xD1, 0xD3, 0x39, 0x65]);
        assert!(fault(&magic, None).contains("magic"));
        magic.truncate(4);
        fault(&magic, None);
    }

    fn good_with_magic(magic: [u8; 4]) -> Vec<u8> {
        let body = [&magic[..], &counted(0, &[])].concat();
        let mut blob = (body.len() as u32).to_be_bytes().to_vec();
        blob.extend(&body);
        blob.extend(crc32fast::hash(&body).to_be_bytes());
        blob
    }
}
