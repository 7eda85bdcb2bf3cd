//! Protocol buffers as ORC's metadata uses them, walked field by field without copying.
//! ORC specification v1 "File Tail"; Protocol Buffers "Encoding".

use crate::error::{Error, ErrorKind, Result};

/// A message, of which fields are taken off the front.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a>(&'a [u8]);

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next field's number and value; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Bytes(self.take(8)?),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Bytes(self.take(4)?),
            other => return Err(malformed(format!("a field has the wire type {other}"))),
        };
        Ok(Some((tag >> 3, value)))
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self
                .0
                .split_first()
                .ok_or_else(|| malformed("it ends in the middle of a number"))?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(malformed("a number has more than 64 bits"))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let (taken, rest) = usize::try_from(length)
            .ok()
            .and_then(|length| self.0.split_at_checked(length))
            .ok_or_else(|| malformed("a field reaches beyond its end"))?;
        self.0 = rest;
        Ok(taken)
    }
}

impl<'a> Value<'a> {
    pub(super) fn number(self) -> Result<u64> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) => Err(malformed("bytes where a number belongs")),
        }
    }

    pub(super) fn small(self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| malformed("a number is too large"))
    }

    pub(super) fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(malformed("a number where bytes belong")),
        }
    }

    pub(super) fn message(self) -> Result<Message<'a>> {
        self.bytes().map(Message::new)
    }

    pub(super) fn text(self) -> Result<String> {
        std::str::from_utf8(self.bytes()?)
            .map(str::to_owned)
            .map_err(|_| malformed("a text is not UTF-8"))
    }

    /// Appends one number, or all of a packed field.
    pub(super) fn small_numbers(self, numbers: &mut Vec<u32>) -> Result<()> {
        match self {
            Self::Number(_) => numbers.push(self.small()?),
            Self::Bytes(bytes) => {
                let mut packed = Message::new(bytes);
                while !packed.0.is_empty() {
                    numbers.push(Value::Number(packed.varint()?).small()?);
                }
            }
        }
        Ok(())
    }
}

fn malformed(what: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("its ORC metadata cannot be parsed: {what}"),
    )
}
