//! Run lengths of bytes, booleans and integers.
//! ORC specification v1 "Run Length Encoding".

use super::stream::Stream;
use crate::error::{Error, ErrorKind, Result};

/// How many integers a run has at most.
const MAX_RUN: usize = 512;

/// Bytes in runs.
#[derive(Debug)]
pub(super) struct ByteReader {
    stream: Stream,
    /// How many bytes of the run are left.
    left: usize,
    /// The byte that repeats; `None` where they stand one by one.
    repeated: Option<u8>,
}

impl ByteReader {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            left: 0,
            repeated: None,
        }
    }

    pub(super) fn next(&mut self) -> Result<u8> {
        if self.left == 0 {
            let head = self.stream.byte()?;
            if head < 0x80 {
                self.left = usize::from(head) + 3;
                self.repeated = Some(self.stream.byte()?);
            } else {
                self.left = 0x100 - usize::from(head);
                self.repeated = None;
            }
        }
        let byte = match self.repeated {
            Some(byte) => byte,
            None => self.stream.byte()?,
        };
        self.left -= 1;
        Ok(byte)
    }
}

/// Booleans, eight a byte, the highest bit first.
#[derive(Debug)]
pub(super) struct BooleanReader {
    bytes: ByteReader,
    byte: u8,
    left: u8,
}

impl BooleanReader {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            bytes: ByteReader::new(stream),
            byte: 0,
            left: 0,
        }
    }

    pub(super) fn next(&mut self) -> Result<bool> {
        if self.left == 0 {
            self.byte = self.bytes.next()?;
            self.left = 8;
        }
        self.left -= 1;
        Ok(self.byte >> self.left & 1 == 1)
    }
}

/// How integers are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// Integers in runs.
#[derive(Debug)]
pub(super) struct IntegerReader {
    stream: Stream,
    version: Version,
    is_signed: bool,
    run: Vec<i64>,
    next: usize,
    packed: Vec<u8>,
}

impl IntegerReader {
    pub(super) fn new(stream: Stream, version: Version, is_signed: bool) -> Self {
        Self {
            stream,
            version,
            is_signed,
            run: Vec::with_capacity(MAX_RUN),
            next: 0,
            packed: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Result<i64> {
        if let Some(value) = self.run.get(self.next) {
            self.next += 1;
            return Ok(*value);
        }
        self.run.clear();
        match self.version {
            Version::One => self.run_of_version_1()?,
            Version::Two => self.run_of_version_2()?,
        }
        self.next = 1;
        self.run
            .first()
            .copied()
            .ok_or_else(|| corrupt("a run is empty"))
    }

    /// As a length: never negative.
    pub(super) fn next_length(&mut self) -> Result<usize> {
        let length = self.next()?;
        usize::try_from(length).map_err(|_| corrupt("a length is negative"))
    }

    fn value(&self, encoded: u64) -> i64 {
        if self.is_signed {
            zigzag(encoded)
        } else {
            encoded.cast_signed()
        }
    }

    fn run_of_version_1(&mut self) -> Result<()> {
        let head = self.stream.byte()?;
        if head < 0x80 {
            let length = i64::from(head) + 3;
            let delta = i64::from(self.stream.byte()?.cast_signed());
            let encoded = self.stream.varint()?;
            let first = self.value(encoded);
            for index in 0..length {
                self.run.push(first.wrapping_add(delta.wrapping_mul(index)));
            }
        } else {
            for _ in 0..0x100 - usize::from(head) {
                let encoded = self.stream.varint()?;
                self.run.push(self.value(encoded));
            }
        }
        Ok(())
    }

    fn run_of_version_2(&mut self) -> Result<()> {
        let head = self.stream.byte()?;
        match head >> 6 {
            0 => {
                let width = usize::from(head >> 3 & 7) + 1;
                let length = usize::from(head & 7) + 3;
                let encoded = self.big_endian(width)?;
                let value = self.value(encoded);
                self.run.resize(length, value);
                Ok(())
            }
            1 => {
                let (width, length) = self.width_and_length(head)?;
                self.unpack(width, length)?;
                for index in 0..self.run.len() {
                    let encoded = self.run.get(index).map_or(0, |value| value.cast_unsigned());
                    let value = self.value(encoded);
                    if let Some(to) = self.run.get_mut(index) {
                        *to = value;
                    }
                }
                Ok(())
            }
            2 => self.patched_base(head),
            _ => self.delta(head),
        }
    }

    fn width_and_length(&mut self, head: u8) -> Result<(u32, usize)> {
        let width = width(head >> 1 & 0x1f);
        let length = usize::from(head & 1) << 8 | usize::from(self.stream.byte()?);
        Ok((width, length + 1))
    }

    /// Values around a base, a few of which have more bits than the others.
    fn patched_base(&mut self, head: u8) -> Result<()> {
        let (value_width, length) = self.width_and_length(head)?;
        let third = self.stream.byte()?;
        let fourth = self.stream.byte()?;
        let base_width = usize::from(third >> 5) + 1;
        let patch_width = width(third & 0x1f);
        let gap_width = u32::from(fourth >> 5) + 1;
        let patches = usize::from(fourth & 0x1f);
        let base = self.big_endian(base_width)?;
        // The highest bit of the base is its sign.
        let sign = 1_u64 << (base_width * 8 - 1);
        let base = if base & sign == 0 {
            base.cast_signed()
        } else {
            (base & !sign).cast_signed().wrapping_neg()
        };
        self.unpack(value_width, length)?;
        let values = std::mem::take(&mut self.run);
        let entry_width = closest_width(patch_width + gap_width);
        if patch_width + gap_width > 64 {
            return Err(corrupt("a patch has more than 64 bits"));
        }
        self.unpack(entry_width, patches)?;
        let entries = std::mem::replace(&mut self.run, values);
        let mut place = 0_usize;
        for entry in entries {
            let entry = entry.cast_unsigned();
            let (gap, patch) = match patch_width {
                64 => (0, entry),
                width => (entry >> width, entry & ((1 << width) - 1)),
            };
            place = place.saturating_add(usize::try_from(gap).unwrap_or(usize::MAX));
            if patch == 0 {
                // Only here to make a gap longer.
                continue;
            }
            let value = self
                .run
                .get_mut(place)
                .ok_or_else(|| corrupt("a patch lies outside its run"))?;
            *value |= patch.checked_shl(value_width).unwrap_or(0).cast_signed();
        }
        for value in &mut self.run {
            *value = base.wrapping_add(*value);
        }
        Ok(())
    }

    /// Values by their differences.
    fn delta(&mut self, head: u8) -> Result<()> {
        let fixed = head >> 1 & 0x1f == 0;
        let (width, length) = self.width_and_length(head)?;
        let encoded = self.stream.varint()?;
        let first = self.value(encoded);
        let delta = zigzag(self.stream.varint()?);
        if fixed {
            let mut value = first;
            for _ in 0..length {
                self.run.push(value);
                value = value.wrapping_add(delta);
            }
            return Ok(());
        }
        self.unpack(width, length.saturating_sub(2))?;
        let deltas = std::mem::take(&mut self.run);
        let mut value = first;
        self.run.push(value);
        if length > 1 {
            value = value.wrapping_add(delta);
            self.run.push(value);
        }
        for difference in deltas {
            value = if delta < 0 {
                value.wrapping_sub(difference)
            } else {
                value.wrapping_add(difference)
            };
            self.run.push(value);
        }
        Ok(())
    }

    fn big_endian(&mut self, length: usize) -> Result<u64> {
        let mut value = 0;
        for _ in 0..length {
            value = value << 8 | u64::from(self.stream.byte()?);
        }
        Ok(value)
    }

    /// Fills the run with numbers of so many bits each, the highest bit first.
    fn unpack(&mut self, width: u32, length: usize) -> Result<()> {
        let bits = length * width as usize;
        self.packed.clear();
        self.stream.read(bits.div_ceil(8), &mut self.packed)?;
        self.run.clear();
        let (mut held, mut held_bits) = (0_u128, 0_u32);
        let mut bytes = self.packed.iter();
        for _ in 0..length {
            while held_bits < width {
                held = held << 8 | u128::from(bytes.next().copied().unwrap_or(0));
                held_bits += 8;
            }
            held_bits -= width;
            let value = held >> held_bits;
            held &= (1_u128 << held_bits) - 1;
            self.run.push((value as u64).cast_signed());
        }
        Ok(())
    }
}

/// The signed number that an unsigned one stands for.
pub(super) fn zigzag(encoded: u64) -> i64 {
    (encoded >> 1).cast_signed() ^ (encoded & 1).cast_signed().wrapping_neg()
}

/// The number of bits that a code of five bits stands for.
fn width(code: u8) -> u32 {
    match code {
        0..=23 => u32::from(code) + 1,
        24 => 26,
        25 => 28,
        26 => 30,
        27 => 32,
        28 => 40,
        29 => 48,
        30 => 56,
        _ => 64,
    }
}

/// The least number of bits of those that have a code.
fn closest_width(bits: u32) -> u32 {
    (0..32)
        .map(width)
        .find(|width| *width >= bits)
        .unwrap_or(64)
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::stream::Compression;
    use super::*;

    fn stream(bytes: &[u8]) -> Stream {
        Stream::new(
            Bytes::copy_from_slice(bytes),
            Compression::new(0, None).unwrap(),
        )
    }

    fn integers(bytes: &[u8], version: Version, is_signed: bool, count: usize) -> Vec<i64> {
        let mut reader = IntegerReader::new(stream(bytes), version, is_signed);
        let values = (0..count).map(|_| reader.next().unwrap()).collect();
        assert!(reader.next().is_err(), "there is more");
        values
    }

    /// The examples of the ORC specification, "Run Length Encoding".
    #[test]
    fn examples_of_the_specification() {
        let mut bytes = ByteReader::new(stream(&[0x61, 0x00]));
        for _ in 0..100 {
            assert_eq!(bytes.next().unwrap(), 0);
        }
        assert!(bytes.next().is_err());
        let mut bytes = ByteReader::new(stream(&[0xfe, 0x44, 0x45]));
        assert_eq!((bytes.next().unwrap(), bytes.next().unwrap()), (0x44, 0x45));
        let mut booleans = BooleanReader::new(stream(&[0xff, 0x80]));
        let values: Vec<_> = (0..8).map(|_| booleans.next().unwrap()).collect();
        assert_eq!(
            values,
            [true, false, false, false, false, false, false, false]
        );

        assert_eq!(
            integers(&[0x61, 0x00, 0x07], Version::One, false, 100),
            [7; 100]
        );
        let falling: Vec<i64> = (1..=100).rev().collect();
        assert_eq!(
            integers(&[0x61, 0xff, 0x64], Version::One, false, 100),
            falling
        );
        assert_eq!(
            integers(
                &[0xfb, 0x02, 0x03, 0x04, 0x07, 0x0b],
                Version::One,
                false,
                5
            ),
            [2, 3, 4, 7, 11]
        );

        assert_eq!(
            integers(&[0x0a, 0x27, 0x10], Version::Two, false, 5),
            [10_000; 5]
        );
        assert_eq!(
            integers(
                &[0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef],
                Version::Two,
                false,
                4
            ),
            [23_713, 43_806, 57_005, 48_879]
        );
        assert_eq!(
            integers(
                &[
                    0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c,
                    0x46, 0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe,
                    0xfc, 0xe8,
                ],
                Version::Two,
                false,
                20
            ),
            [
                2030, 2000, 2020, 1_000_000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120,
                2130, 2140, 2150, 2160, 2170, 2180, 2190
            ]
        );
        assert_eq!(
            integers(
                &[0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46],
                Version::Two,
                false,
                10
            ),
            [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
        );
    }

    #[test]
    fn signed_values_are_zigzag() {
        assert_eq!([0, 1, 2, 3, u64::MAX].map(zigzag), [0, -1, 1, -2, i64::MIN]);
        assert_eq!(
            integers(&[0xfe, 0x01, 0x04], Version::One, true, 2),
            [-1, 2]
        );
        assert_eq!(integers(&[0x00, 0x03], Version::Two, true, 3), [-2; 3]);
        // Falling by a fixed difference.
        assert_eq!(
            integers(&[0xc0, 0x03, 0x05, 0x03], Version::Two, true, 4),
            [-3, -5, -7, -9]
        );
    }

    #[test]
    fn runs_that_end_early_are_errors() {
        for bytes in [
            &[0x61, 0x00][..],
            &[0xfb, 0x02],
            &[0x0a, 0x27],
            &[0x5e, 0x03, 0x5c],
            &[0x8e, 0x13, 0x2b, 0x21, 0x07],
            &[0xc6, 0x09, 0x02],
        ] {
            for version in [Version::One, Version::Two] {
                let mut reader = IntegerReader::new(stream(bytes), version, true);
                let mut values = 0;
                while reader.next().is_ok() {
                    values += 1;
                    assert!(values < 1_000);
                }
            }
        }
    }
}
