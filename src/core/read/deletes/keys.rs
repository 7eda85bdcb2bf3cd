//! A set of keys that takes little memory: the bytes of each once, one after the other, and what
//! goes with it. Nothing in the spec.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::error::{Error, ErrorKind, Result};

/// Keys lie in pieces of so many bytes, so that what there is never has to move as it grows; a
/// longer key has a piece of its own.
const PIECE_BYTES: usize = 1 << 20;
/// What goes before the bytes of a key: its value, and its length.
const HEAD_BYTES: usize = 8;

/// Keys, each with a number.
#[derive(Debug, Default)]
pub(super) struct KeySet {
    hasher: DefaultHashBuilder,
    /// Where the keys are.
    table: HashTable<Location>,
    pieces: Vec<Vec<u8>>,
    /// How many bytes the pieces take.
    piece_bytes: usize,
}

/// The place of a key: the number of its piece, and where in it.
#[derive(Debug, Clone, Copy)]
struct Location {
    piece: u32,
    offset: u32,
}

impl KeySet {
    /// Whether there are no keys.
    pub(super) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// How many bytes it takes.
    pub(super) fn memory(&self) -> usize {
        // One byte of an entry of a hash table is for control, and an eighth of the entries is
        // always free.
        let entries = self.table.capacity() + self.table.capacity() / 7;
        self.piece_bytes
            + self.pieces.capacity() * size_of::<Vec<u8>>()
            + entries * (size_of::<Location>() + 1)
    }

    /// The number that goes with a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let location = self
            .table
            .find(hash, |location| key_at(&self.pieces, *location) == key)?;
        let value = head_at(&self.pieces, *location)?.first_chunk()?;
        Some(u32::from_le_bytes(*value))
    }

    /// Adds a key. One that is there keeps the greater number.
    ///
    /// # Errors
    /// `MemoryLimit` for what could not be addressed.
    pub(super) fn insert(&mut self, key: &[u8], value: u32) -> Result<()> {
        let Self {
            hasher,
            table,
            pieces,
            piece_bytes,
        } = self;
        let hash = hasher.hash_one(key);
        let known = table.find(hash, |location| key_at(pieces, *location) == key);
        if let Some(location) = known {
            let head = pieces
                .get_mut(location.piece as usize)
                .and_then(|piece| piece.get_mut(location.offset as usize..))
                .and_then(<[u8]>::first_chunk_mut::<4>);
            if let Some(head) = head {
                *head = value.max(u32::from_le_bytes(*head)).to_le_bytes();
            }
            return Ok(());
        }
        let length = u32::try_from(key.len()).map_err(|_| too_many())?;
        let needed = HEAD_BYTES.saturating_add(key.len());
        let has_room = |piece: &Vec<u8>| piece.capacity() - piece.len() >= needed;
        if !pieces.last().is_some_and(has_room) {
            let capacity = needed.max(PIECE_BYTES);
            pieces.push(Vec::with_capacity(capacity));
            *piece_bytes += capacity;
        }
        let number = u32::try_from(pieces.len() - 1).map_err(|_| too_many())?;
        let Some(piece) = pieces.last_mut() else {
            return Ok(());
        };
        let location = Location {
            piece: number,
            offset: u32::try_from(piece.len()).map_err(|_| too_many())?,
        };
        piece.extend(value.to_le_bytes());
        piece.extend(length.to_le_bytes());
        piece.extend(key);
        table.insert_unique(hash, location, |location| {
            hasher.hash_one(key_at(pieces, *location))
        });
        Ok(())
    }
}

fn head_at(pieces: &[Vec<u8>], location: Location) -> Option<&[u8]> {
    pieces
        .get(location.piece as usize)?
        .get(location.offset as usize..)
}

/// The bytes of the key at a location.
fn key_at(pieces: &[Vec<u8>], location: Location) -> &[u8] {
    head_at(pieces, location)
        .and_then(|bytes| {
            let (head, bytes) = bytes.split_first_chunk::<HEAD_BYTES>()?;
            let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
            bytes.get(..length as usize)
        })
        .unwrap_or_default()
}

fn too_many() -> Error {
    Error::new(
        ErrorKind::MemoryLimit,
        "equality deletes have more keys than can be kept",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_any_length_keep_their_greatest_number() {
        let mut keys = KeySet::default();
        assert!(keys.is_empty());
        assert_eq!(keys.get(b""), None);
        let long = vec![7; PIECE_BYTES + 1];
        let all: Vec<Vec<u8>> = (0..100_000_u32)
            .map(|n| n.to_be_bytes()[..(n % 5) as usize].to_vec())
            .chain([long.clone(), Vec::new()])
            .collect();
        for (value, key) in all.iter().enumerate() {
            keys.insert(key, value as u32).unwrap();
        }
        for (value, key) in all.iter().enumerate().rev() {
            // The smaller number does not replace the greater one.
            keys.insert(key, 0).unwrap();
            assert!(keys.get(key).unwrap() >= value as u32, "{key:?}");
        }
        assert_eq!(keys.get(&long), Some(100_000));
        assert_eq!(keys.get(b""), Some(100_001));
        assert_eq!(keys.get(&[0xFF]), None);
        assert_eq!(keys.get(&long[1..]), None);
    }

    #[test]
    fn memory_is_little_more_than_the_keys() {
        let mut keys = KeySet::default();
        for n in 0..1_000_000_u64 {
            keys.insert(&[[1; 1].as_slice(), &n.to_be_bytes()].concat(), 1)
                .unwrap();
        }
        // Nine bytes a key, eight before it, and nine an entry of a table that is half full.
        assert!(keys.memory() < 38_000_000, "{}", keys.memory());
    }
}
