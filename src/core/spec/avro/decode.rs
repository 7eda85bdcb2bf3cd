//! Avro's binary encoding, pulled value by value out of a block without copying it.
//! Avro specification: "Binary Encoding".

use super::schema::{AvroField, AvroSchema, AvroType};
use super::{corrupt, in_field};
use crate::error::{Error, Result};

/// Reads values off the front of a block. Every method that takes a schema reads exactly one value
/// of that schema, or fails; a null, bare or as a branch of a union, is `None`.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// A decoder of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// What another decoder, which goes on from here, has passed over.
    pub fn up_to(&self, further: &Self) -> &'a [u8] {
        let passed = self.rest.len().saturating_sub(further.rest.len());
        self.rest.get(..passed).unwrap_or_default()
    }

    /// The next so many bytes.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(|| ends_early(length, self.rest.len()))?;
        self.rest = rest;
        Ok(taken)
    }

    /// A zig-zag varint.
    #[inline]
    pub fn varint(&mut self) -> Result<i64> {
        match self.rest {
            // Most are of one byte.
            [byte, rest @ ..] if *byte < 0x80 => {
                self.rest = rest;
                Ok(i64::from(byte >> 1) ^ -i64::from(byte & 1))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<i64> {
        let mut encoded = 0u64;
        for (index, &byte) in self.rest.iter().enumerate().take(10) {
            if index == 9 && byte > 1 {
                break;
            }
            encoded |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.rest = self.rest.get(index + 1..).unwrap_or_default();
                return Ok(((encoded >> 1) as i64) ^ -((encoded & 1) as i64));
            }
        }
        Err(if self.rest.len() < 10 {
            corrupt("it ends in the middle of a number")
        } else {
            corrupt("a number has more than 64 bits")
        })
    }

    /// A length and so many bytes.
    pub fn length_prefixed(&mut self) -> Result<&'a [u8]> {
        let length = self.varint()?;
        let length = usize::try_from(length)
            .map_err(|_| corrupt(format!("a value has the length {length}")))?;
        self.take(length)
    }

    /// Follows a union to the branch whose value comes next.
    pub fn branch<'s>(&mut self, schema: &'s AvroSchema) -> Result<&'s AvroSchema> {
        let mut schema = schema;
        while let AvroType::Union(branches) = &schema.avro_type {
            let index = self.varint()?;
            schema = usize::try_from(index)
                .ok()
                .and_then(|index| branches.get(index))
                .ok_or_else(|| {
                    corrupt(format!(
                        "a value takes branch {index} of a union of {}",
                        branches.len()
                    ))
                })?;
        }
        Ok(schema)
    }

    /// A boolean.
    pub fn boolean(&mut self, schema: &AvroSchema) -> Result<Option<bool>> {
        let schema = self.branch(schema)?;
        match schema.avro_type {
            AvroType::Null => Ok(None),
            AvroType::Boolean => match self.take(1)? {
                [0] => Ok(Some(false)),
                [1] => Ok(Some(true)),
                other => Err(corrupt(format!("a boolean is encoded as {other:?}"))),
            },
            _ => Err(unexpected(schema, "a boolean")),
        }
    }

    /// A number of 64 bits; one of 32 is widened.
    pub fn long(&mut self, schema: &AvroSchema) -> Result<Option<i64>> {
        let schema = self.branch(schema)?;
        match schema.avro_type {
            AvroType::Null => Ok(None),
            AvroType::Long => self.varint().map(Some),
            AvroType::Int => {
                let value = self.varint()?;
                i32::try_from(value).map_err(|_| too_large_for_int(value))?;
                Ok(Some(value))
            }
            _ => Err(unexpected(schema, "a whole number")),
        }
    }

    /// A number of 32 bits; one of 64 must fit.
    pub fn int(&mut self, schema: &AvroSchema) -> Result<Option<i32>> {
        self.long(schema)?
            .map(|value| i32::try_from(value).map_err(|_| too_large_for_int(value)))
            .transpose()
    }

    /// Bytes.
    pub fn bytes(&mut self, schema: &AvroSchema) -> Result<Option<&'a [u8]>> {
        let schema = self.branch(schema)?;
        match schema.avro_type {
            AvroType::Null => Ok(None),
            AvroType::Bytes | AvroType::String => self.length_prefixed().map(Some),
            AvroType::Fixed(size) => self.take(size).map(Some),
            _ => Err(unexpected(schema, "bytes")),
        }
    }

    /// Text.
    pub fn string(&mut self, schema: &AvroSchema) -> Result<Option<&'a str>> {
        let schema = self.branch(schema)?;
        match schema.avro_type {
            AvroType::Null => Ok(None),
            AvroType::String => self.text().map(Some),
            _ => Err(unexpected(schema, "text")),
        }
    }

    fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.length_prefixed()?)
            .map_err(|error| corrupt(format!("a text is not UTF-8: {error}")))
    }

    /// A record: calls `read` for every field in the writer's order, which must read or skip the
    /// field's value. `false` for null.
    pub fn record<'s>(
        &mut self,
        schema: &'s AvroSchema,
        mut read: impl FnMut(&'s AvroField, &mut Self) -> Result<()>,
    ) -> Result<bool> {
        let schema = self.branch(schema)?;
        match &schema.avro_type {
            AvroType::Null => Ok(false),
            AvroType::Record(fields) => {
                for field in fields {
                    read(field, self).map_err(|error| in_field(error, &field.name))?;
                }
                Ok(true)
            }
            _ => Err(unexpected(schema, "a struct")),
        }
    }

    /// A list: calls `read` for every element, which must read or skip it. `false` for null.
    pub fn list(
        &mut self,
        schema: &AvroSchema,
        mut read: impl FnMut(&AvroSchema, &mut Self) -> Result<()>,
    ) -> Result<bool> {
        let schema = self.branch(schema)?;
        match &schema.avro_type {
            AvroType::Null => Ok(false),
            AvroType::Array(element) => {
                self.blocks(|decoder| read(element, decoder))?;
                Ok(true)
            }
            _ => Err(unexpected(schema, "a list")),
        }
    }

    /// A map with int keys: calls `read` for every entry, which must read or skip the value.
    /// Iceberg encodes it as an array of records of a key and a value; an Avro map whose keys are
    /// the numbers as text is accepted too. `false` for null.
    pub fn int_map(
        &mut self,
        schema: &AvroSchema,
        key_id: i32,
        mut read: impl FnMut(i32, &AvroSchema, &mut Self) -> Result<()>,
    ) -> Result<bool> {
        let schema = self.branch(schema)?;
        match &schema.avro_type {
            AvroType::Null => Ok(false),
            AvroType::Map(value) => {
                self.blocks(|decoder| {
                    let key = decoder.text()?;
                    let key = key
                        .parse()
                        .map_err(|_| corrupt(format!("a map has the key \"{key}\", no int")))?;
                    read(key, value, decoder)
                })?;
                Ok(true)
            }
            AvroType::Array(entry) => {
                let Some([first, second]) = entry.as_record() else {
                    return Err(unexpected(entry, "a key and a value"));
                };
                let key_is_second = match (first.id, second.id) {
                    (None, None) => second.name == "key",
                    (_, id) => id == Some(key_id),
                };
                self.blocks(|decoder| {
                    if key_is_second {
                        // The value comes first: look past it for the key, then go back.
                        let mut value = decoder.clone();
                        decoder.skip(&first.schema)?;
                        let key = decoder.map_key(&second.schema)?;
                        read(key, &first.schema, &mut value)
                    } else {
                        let key = decoder.map_key(&first.schema)?;
                        read(key, &second.schema, decoder)
                    }
                })?;
                Ok(true)
            }
            _ => Err(unexpected(schema, "a map")),
        }
    }

    fn map_key(&mut self, schema: &AvroSchema) -> Result<i32> {
        self.int(schema)?
            .ok_or_else(|| corrupt("a map has a null key"))
    }

    /// Blocks of items up to the empty one. Every item must take at least one byte, so that the
    /// work is bounded by the input and a count can be held against what is left of it.
    pub fn blocks(&mut self, mut read: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        loop {
            let count = self.varint()?;
            if count == 0 {
                return Ok(());
            }
            if count < 0 {
                self.varint()?;
            }
            let count = count.unsigned_abs();
            if count > self.rest.len() as u64 {
                return Err(corrupt(format!(
                    "a list has {count} elements in {} bytes",
                    self.rest.len()
                )));
            }
            for _ in 0..count {
                let before = self.rest.len();
                read(self)?;
                if self.rest.len() == before {
                    return Err(corrupt("a list has elements without content"));
                }
            }
        }
    }

    /// Passes over a value.
    pub fn skip(&mut self, schema: &AvroSchema) -> Result<()> {
        let schema = self.branch(schema)?;
        match &schema.avro_type {
            AvroType::Null => Ok(()),
            AvroType::Boolean => self.take(1).map(drop),
            AvroType::Int | AvroType::Long | AvroType::Enum(_) => self.varint().map(drop),
            AvroType::Float => self.take(4).map(drop),
            AvroType::Double => self.take(8).map(drop),
            AvroType::Bytes | AvroType::String => self.length_prefixed().map(drop),
            AvroType::Fixed(size) => self.take(*size).map(drop),
            AvroType::Array(element) => self.skip_list(element),
            AvroType::Map(value) => self.blocks(|decoder| {
                decoder.length_prefixed()?;
                decoder.skip(value)
            }),
            AvroType::Record(fields) => {
                for field in fields {
                    self.skip(&field.schema)?;
                }
                Ok(())
            }
            // `branch` ends at a type that is no union.
            AvroType::Union(_) => Ok(()),
        }
    }
}

impl Decoder<'_> {
    /// Passes over the elements of a list. The metrics of manifests, most of their bytes, are lists of a number and another
    /// number or bytes: for these, what an element is made of is not looked up each time.
    fn skip_list(&mut self, element: &AvroSchema) -> Result<()> {
        let is_number =
            |schema: &AvroSchema| matches!(schema.avro_type, AvroType::Int | AvroType::Long);
        match &element.avro_type {
            AvroType::Record(fields) => match fields.as_slice() {
                [key, value] if is_number(&key.schema) && is_number(&value.schema) => {
                    self.blocks(|decoder| {
                        decoder.varint()?;
                        decoder.varint().map(drop)
                    })
                }
                [key, value]
                    if is_number(&key.schema)
                        && matches!(value.schema.avro_type, AvroType::Bytes) =>
                {
                    self.blocks(|decoder| {
                        decoder.varint()?;
                        decoder.length_prefixed().map(drop)
                    })
                }
                _ => self.blocks(|decoder| decoder.skip(element)),
            },
            _ => self.blocks(|decoder| decoder.skip(element)),
        }
    }
}

fn ends_early(wanted: usize, left: usize) -> Error {
    corrupt(format!("a value of {wanted} bytes has only {left} left"))
}

fn too_large_for_int(value: i64) -> Error {
    corrupt(format!("the int {value} does not fit 32 bits"))
}

/// A value whose type in the file is not the one that belongs there.
fn unexpected(schema: &AvroSchema, wanted: &str) -> Error {
    corrupt(format!(
        "the file declares it as {}, where {wanted} belongs",
        schema.describe()
    ))
}
