//! The end of an ORC file, postscript and footer, and the footers of its stripes.
//! ORC specification v1 "File Tail", "Stripe Footer".

use std::ops::Range;

use bytes::Bytes;

use super::message::Message;
use super::stream::{Compression, Stream};
use crate::error::{Error, ErrorKind, Result};

/// How large a footer may be when decompressed: that of a file of a thousand columns has some
/// hundred kilobytes.
const MAX_FOOTER: usize = 16 << 20;
/// The magic at the start of a file, so the least offset of any stripe.
const HEAD_SIZE: u64 = 3;
/// How many columns a file may have, nested ones included.
const MAX_COLUMNS: usize = 1 << 16;

/// What the last bytes of a file say.
#[derive(Debug)]
pub(super) struct PostScript {
    pub(super) compression: Compression,
    /// Where the footer lies.
    pub(super) footer: Range<u64>,
    /// Where the statistics of stripes lie.
    pub(super) metadata: Range<u64>,
    /// Where stripes must end.
    content_end: u64,
}

/// The footer: schema and stripes.
#[derive(Debug)]
pub(super) struct Footer {
    pub(super) types: Vec<OrcType>,
    pub(super) stripes: Vec<Stripe>,
}

/// A column of the file's schema, by its number.
#[derive(Debug, Default)]
pub(super) struct OrcType {
    pub(super) kind: u32,
    /// The numbers of the columns inside.
    pub(super) subtypes: Vec<u32>,
    pub(super) field_names: Vec<String>,
    pub(super) scale: u32,
    pub(super) attributes: Vec<(String, String)>,
}

/// Where a stripe lies.
#[derive(Debug)]
pub(super) struct Stripe {
    pub(super) rows: u64,
    pub(super) offset: u64,
    /// Of index and data.
    pub(super) length: u64,
    pub(super) footer: Range<u64>,
}

/// The footer of a stripe.
#[derive(Debug, Default)]
pub(super) struct StripeFooter {
    pub(super) streams: Vec<StreamPlace>,
    pub(super) encodings: Vec<Encoding>,
    pub(super) writer_timezone: Option<String>,
}

/// A stream, and where it lies in the file.
#[derive(Debug)]
pub(super) struct StreamPlace {
    pub(super) kind: u32,
    pub(super) column: u32,
    pub(super) range: Range<u64>,
}

/// How a column is encoded in a stripe.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Encoding {
    pub(super) kind: u32,
    pub(super) dictionary_size: u32,
}

impl PostScript {
    /// Reads the postscript off the end of a file of this size.
    ///
    /// # Errors
    /// `Corrupt` for what is no ORC file, `NotSupported` for a compression that cannot be read.
    pub(super) fn read(end: &[u8], file_size: u64) -> Result<Self> {
        let (length, rest) = end.split_last().ok_or_else(no_orc)?;
        let length = usize::from(*length);
        let bytes = rest
            .len()
            .checked_sub(length)
            .and_then(|start| rest.get(start..))
            .filter(|bytes| bytes.ends_with(b"ORC"))
            .ok_or_else(no_orc)?;
        let (mut footer_length, mut metadata_length, mut statistics_length) = (0, 0, 0);
        let (mut kind, mut block_size) = (0, None);
        let mut message = Message::new(bytes);
        while let Some((field, value)) = message.next()? {
            match field {
                1 => footer_length = value.number()?,
                2 => kind = value.number()?,
                3 => block_size = Some(value.number()?),
                5 => metadata_length = value.number()?,
                7 => statistics_length = value.number()?,
                _ => {}
            }
        }
        let outside = || corrupt("its postscript claims more than the file has");
        let footer_end = file_size
            .checked_sub(1 + length as u64)
            .ok_or_else(outside)?;
        let footer_start = footer_end
            .checked_sub(footer_length)
            .filter(|start| *start >= HEAD_SIZE)
            .ok_or_else(outside)?;
        let content_end = footer_start
            .checked_sub(metadata_length)
            .and_then(|end| end.checked_sub(statistics_length))
            .ok_or_else(outside)?;
        Ok(Self {
            compression: Compression::new(kind, block_size)?,
            footer: footer_start..footer_end,
            metadata: footer_start.saturating_sub(metadata_length)..footer_start,
            content_end,
        })
    }
}

impl Footer {
    /// Parses the footer.
    pub(super) fn parse(bytes: Bytes, postscript: &PostScript) -> Result<Self> {
        let bytes = Stream::new(bytes, postscript.compression).read_all(MAX_FOOTER)?;
        let mut footer = Self {
            types: Vec::new(),
            stripes: Vec::new(),
        };
        let mut rows = None;
        let mut message = Message::new(&bytes);
        while let Some((field, value)) = message.next()? {
            match field {
                3 => footer.stripes.push(stripe(value.message()?, postscript)?),
                4 => footer.types.push(orc_type(value.message()?)?),
                6 => rows = Some(value.number()?),
                10 => {
                    return Err(Error::not_supported(
                        "has encrypted columns, which is not supported yet",
                    ));
                }
                _ => {}
            }
        }
        if footer.types.len() > MAX_COLUMNS {
            return Err(Error::not_supported(format!(
                "has {} columns, more than {MAX_COLUMNS}",
                footer.types.len()
            )));
        }
        let in_stripes = footer
            .stripes
            .iter()
            .try_fold(0_u64, |sum, stripe| sum.checked_add(stripe.rows));
        if rows.is_some() && in_stripes != rows {
            return Err(corrupt(
                "its stripes have another number of rows than its footer",
            ));
        }
        Ok(footer)
    }
}

fn stripe(mut message: Message<'_>, postscript: &PostScript) -> Result<Stripe> {
    let (mut offset, mut index, mut data, mut footer, mut rows) = (0, 0, 0, 0, 0);
    while let Some((field, value)) = message.next()? {
        match field {
            1 => offset = value.number()?,
            2 => index = value.number()?,
            3 => data = value.number()?,
            4 => footer = value.number()?,
            5 => rows = value.number()?,
            _ => {}
        }
    }
    let place = || -> Option<Stripe> {
        let length: u64 = u64::checked_add(index, data)?;
        let footer_start = u64::checked_add(offset, length)?;
        let footer_end = footer_start.checked_add(footer)?;
        (HEAD_SIZE <= offset && footer_end <= postscript.content_end).then_some(Stripe {
            rows,
            offset,
            length,
            footer: footer_start..footer_end,
        })
    };
    place().ok_or_else(|| corrupt("a stripe lies outside the file"))
}

fn orc_type(mut message: Message<'_>) -> Result<OrcType> {
    let mut orc_type = OrcType::default();
    while let Some((field, value)) = message.next()? {
        match field {
            1 => orc_type.kind = value.small()?,
            2 => value.small_numbers(&mut orc_type.subtypes)?,
            3 => orc_type.field_names.push(value.text()?),
            6 => orc_type.scale = value.small()?,
            7 => {
                let (mut key, mut text) = (String::new(), String::new());
                let mut pair = value.message()?;
                while let Some((field, value)) = pair.next()? {
                    match field {
                        1 => key = value.text()?,
                        2 => text = value.text()?,
                        _ => {}
                    }
                }
                orc_type.attributes.push((key, text));
            }
            _ => {}
        }
    }
    Ok(orc_type)
}

impl StripeFooter {
    /// Parses the footer of a stripe.
    pub(super) fn parse(bytes: Bytes, stripe: &Stripe, compression: Compression) -> Result<Self> {
        let bytes = Stream::new(bytes, compression).read_all(MAX_FOOTER)?;
        let mut footer = Self::default();
        let mut offset = stripe.offset;
        let mut message = Message::new(&bytes);
        while let Some((field, value)) = message.next()? {
            match field {
                1 => {
                    let (mut kind, mut column, mut length) = (0, 0, 0);
                    let mut stream = value.message()?;
                    while let Some((field, value)) = stream.next()? {
                        match field {
                            1 => kind = value.small()?,
                            2 => column = value.small()?,
                            3 => length = value.number()?,
                            _ => {}
                        }
                    }
                    let end = offset
                        .checked_add(length)
                        .filter(|end| *end <= stripe.footer.start)
                        .ok_or_else(|| corrupt("a stream lies outside its stripe"))?;
                    footer.streams.push(StreamPlace {
                        kind,
                        column,
                        range: offset..end,
                    });
                    offset = end;
                }
                2 => {
                    let mut encoding = Encoding::default();
                    let mut column = value.message()?;
                    while let Some((field, value)) = column.next()? {
                        match field {
                            1 => encoding.kind = value.small()?,
                            2 => encoding.dictionary_size = value.small()?,
                            _ => {}
                        }
                    }
                    footer.encodings.push(encoding);
                }
                3 => footer.writer_timezone = Some(value.text()?),
                4 => {
                    return Err(Error::not_supported(
                        "has encrypted columns, which is not supported yet",
                    ));
                }
                _ => {}
            }
        }
        Ok(footer)
    }
}

fn no_orc() -> Error {
    corrupt("is not an ORC file: it does not end with a postscript")
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}
