//! The columns of a stripe, decoded batch by batch: a tree of readers of streams in the shape of
//! what is wanted. ORC specification v1 "Column Encodings".

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::array::{ArrayRef, StructArray};
use arrow::buffer::NullBuffer;
use bytes::Bytes;

use super::run_length::{BooleanReader, ByteReader, IntegerReader, Version};
use super::schema::{kind, subtype};
use super::stream::{Compression, Stream};
use super::tail::{Encoding, OrcType, StripeFooter};
use super::time::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::read::nested::{Offsets, Spending, VALUE_BYTES, list_array, map_array, struct_array};
use crate::read::stored::{Selected, SelectedShape};
use crate::read::values::{LeafBuilder, Target};

const PRESENT: u32 = 0;
const DATA: u32 = 1;
const LENGTH: u32 = 2;
const DICTIONARY_DATA: u32 = 3;
const SECONDARY: u32 = 5;

/// How many bytes the texts of a dictionary may have.
const MAX_DICTIONARY: usize = 1 << 30;

/// The streams of a stripe that have been fetched.
pub(super) struct Streams<'a> {
    types: &'a [OrcType],
    footer: &'a StripeFooter,
    compression: Compression,
    streams: HashMap<(u32, u32), Bytes>,
}

/// Whether a stream is needed to decode its column.
pub(super) fn is_decoded(stream_kind: u32) -> bool {
    matches!(
        stream_kind,
        PRESENT | DATA | LENGTH | DICTIONARY_DATA | SECONDARY
    )
}

/// The numbers of the columns that must be read to decode these.
pub(super) fn needed(
    types: &[OrcType],
    number: usize,
    selected: &[Selected],
    columns: &mut Vec<usize>,
) -> Result<()> {
    for selected in selected {
        let number = subtype(types, number, selected.place)?;
        columns.push(number);
        match &selected.shape {
            SelectedShape::Leaf(_) => {}
            SelectedShape::Struct(members) => needed(types, number, members, columns)?,
            SelectedShape::List(element) => {
                needed(types, number, std::slice::from_ref(element), columns)?;
            }
            SelectedShape::Map(key, value) => {
                needed(types, number, std::slice::from_ref(key), columns)?;
                needed(types, number, std::slice::from_ref(value), columns)?;
            }
        }
    }
    Ok(())
}

/// Decodes rows of a stripe.
pub(super) struct RowDecoder {
    columns: Vec<Column>,
    /// The names of the columns, for errors.
    names: Vec<String>,
}

struct Column {
    present: Option<BooleanReader>,
    kind: Kind,
}

enum Kind {
    Leaf {
        values: Values,
        builder: Box<LeafBuilder>,
    },
    Struct(Vec<Column>),
    List {
        lengths: IntegerReader,
        element: Box<Column>,
    },
    Map {
        lengths: IntegerReader,
        key: Box<Column>,
        value: Box<Column>,
    },
}

/// Where the values of a primitive column come from.
enum Values {
    /// Nobody looks at them.
    Unread,
    Boolean(BooleanReader),
    Byte(ByteReader),
    Integer(IntegerReader),
    Float(Stream),
    Double(Stream),
    Bytes {
        lengths: IntegerReader,
        data: Stream,
        scratch: Vec<u8>,
    },
    Dictionary {
        indexes: IntegerReader,
        /// Where each text ends.
        ends: Vec<usize>,
        texts: Vec<u8>,
    },
    Decimal {
        data: Stream,
        scales: IntegerReader,
        scale: u32,
    },
    Timestamp {
        seconds: IntegerReader,
        nanoseconds: IntegerReader,
        clock: Clock,
    },
}

impl<'a> Streams<'a> {
    /// The fetched streams, in the footer's order.
    ///
    /// # Errors
    /// `Corrupt` where a column has two streams of a kind.
    pub(super) fn new(
        types: &'a [OrcType],
        footer: &'a StripeFooter,
        compression: Compression,
        fetched: impl IntoIterator<Item = ((u32, u32), Bytes)>,
    ) -> Result<Self> {
        let mut streams = HashMap::new();
        for (key, bytes) in fetched {
            match streams.entry(key) {
                Entry::Vacant(place) => place.insert(bytes),
                Entry::Occupied(_) => {
                    return Err(corrupt(format!(
                        "column {} has two streams of kind {}",
                        key.0, key.1
                    )));
                }
            };
        }
        Ok(Self {
            types,
            footer,
            compression,
            streams,
        })
    }

    fn stream_if_there(&self, column: usize, kind: u32) -> Option<Stream> {
        let column = u32::try_from(column).ok()?;
        self.streams
            .get(&(column, kind))
            .map(|bytes| Stream::new(bytes.clone(), self.compression))
    }

    /// A stream; where writers leave it out, there is nothing in it.
    fn stream(&self, column: usize, kind: u32) -> Stream {
        self.stream_if_there(column, kind)
            .unwrap_or_else(|| Stream::new(Bytes::new(), self.compression))
    }

    fn encoding(&self, column: usize) -> Result<Encoding> {
        self.footer
            .encodings
            .get(column)
            .copied()
            .filter(|encoding| encoding.kind < 4)
            .ok_or_else(|| corrupt(format!("column {column} has no encoding that is known")))
    }

    fn integers(&self, column: usize, kind: u32, is_signed: bool) -> Result<IntegerReader> {
        let version = match self.encoding(column)?.kind {
            0 | 1 => Version::One,
            _ => Version::Two,
        };
        let stream = self.stream(column, kind);
        Ok(IntegerReader::new(stream, version, is_signed))
    }
}

impl RowDecoder {
    /// A decoder of these columns of a stripe.
    pub(super) fn new(
        streams: &Streams<'_>,
        selected: &[Selected],
        spending: &mut Spending,
    ) -> Result<Self> {
        let names = selected.iter().map(|selected| {
            let names = streams.types.first().map(|root| &root.field_names);
            names
                .and_then(|names| names.get(selected.place))
                .cloned()
                .unwrap_or_default()
        });
        Ok(Self {
            names: names.collect(),
            columns: Column::all(streams, 0, selected, spending)?,
        })
    }

    /// Decodes the next so many rows.
    ///
    /// # Errors
    /// Names the column.
    pub(super) fn decode(&mut self, rows: usize, spending: &mut Spending) -> Result<StructArray> {
        let columns = self
            .columns
            .iter_mut()
            .zip(&self.names)
            .map(|(column, name)| {
                column
                    .decode(rows, None, spending)
                    .map_err(|error| error.in_column(name))
            })
            .collect::<Result<Vec<_>>>()?;
        struct_array(columns, None, rows)
    }
}

impl Column {
    fn all(
        streams: &Streams<'_>,
        number: usize,
        selected: &[Selected],
        spending: &mut Spending,
    ) -> Result<Vec<Self>> {
        selected
            .iter()
            .map(|selected| {
                let number = subtype(streams.types, number, selected.place)?;
                Self::new(streams, number, &selected.shape, spending)
            })
            .collect()
    }

    fn inside(
        streams: &Streams<'_>,
        number: usize,
        selected: &Selected,
        spending: &mut Spending,
    ) -> Result<Box<Self>> {
        let number = subtype(streams.types, number, selected.place)?;
        Ok(Box::new(Self::new(
            streams,
            number,
            &selected.shape,
            spending,
        )?))
    }

    fn new(
        streams: &Streams<'_>,
        number: usize,
        selected: &SelectedShape,
        spending: &mut Spending,
    ) -> Result<Self> {
        let present = streams
            .stream_if_there(number, PRESENT)
            .map(BooleanReader::new);
        let kind = match selected {
            SelectedShape::Leaf(target) => {
                let builder = Box::new(LeafBuilder::new(target));
                let values = match builder.is_null() {
                    true => Values::Unread,
                    false => Values::new(streams, number, target, spending)?,
                };
                Kind::Leaf { values, builder }
            }
            SelectedShape::Struct(members) => {
                Kind::Struct(Self::all(streams, number, members, spending)?)
            }
            SelectedShape::List(element) => Kind::List {
                lengths: streams.integers(number, LENGTH, false)?,
                element: Self::inside(streams, number, element, spending)?,
            },
            SelectedShape::Map(key, value) => Kind::Map {
                lengths: streams.integers(number, LENGTH, false)?,
                key: Self::inside(streams, number, key, spending)?,
                value: Self::inside(streams, number, value, spending)?,
            },
        };
        Ok(Self { present, kind })
    }

    /// The next so many slots; the file has no value for those where the parent is null.
    fn decode(
        &mut self,
        slots: usize,
        parent: Option<&NullBuffer>,
        spending: &mut Spending,
    ) -> Result<ArrayRef> {
        spending.spend(slots.saturating_mul(VALUE_BYTES))?;
        let nulls = self.nulls(slots, parent)?;
        let is_null = |slot| nulls.as_ref().is_some_and(|nulls| nulls.is_null(slot));
        Ok(match &mut self.kind {
            Kind::Leaf { values, builder } => {
                for slot in 0..slots {
                    if is_null(slot) {
                        builder.push_null();
                    } else {
                        values.decode(builder, spending)?;
                    }
                }
                builder.finish()?
            }
            Kind::Struct(members) => {
                let members = members
                    .iter_mut()
                    .map(|member| member.decode(slots, nulls.as_ref(), spending))
                    .collect::<Result<Vec<_>>>()?;
                Arc::new(struct_array(members, nulls, slots)?)
            }
            Kind::List { lengths, element } => {
                let mut offsets = read_offsets(lengths, slots, is_null)?;
                let values = element.decode(offsets.values(), None, spending)?;
                list_array(offsets.take(), nulls, values)?
            }
            Kind::Map {
                lengths,
                key,
                value,
            } => {
                let mut offsets = read_offsets(lengths, slots, is_null)?;
                let keys = key.decode(offsets.values(), None, spending)?;
                let values = value.decode(offsets.values(), None, spending)?;
                map_array(offsets.take(), nulls, keys, values)?
            }
        })
    }

    fn nulls(&mut self, slots: usize, parent: Option<&NullBuffer>) -> Result<Option<NullBuffer>> {
        let Some(present) = &mut self.present else {
            return Ok(parent.cloned());
        };
        let mut valid = Vec::with_capacity(slots);
        for slot in 0..slots {
            let in_parent = parent.is_none_or(|parent| parent.is_valid(slot));
            valid.push(in_parent && present.next()?);
        }
        let nulls = NullBuffer::from(valid);
        Ok((nulls.null_count() > 0).then_some(nulls))
    }
}

fn read_offsets(
    lengths: &mut IntegerReader,
    slots: usize,
    is_null: impl Fn(usize) -> bool,
) -> Result<Offsets> {
    let mut offsets = Offsets::new();
    for slot in 0..slots {
        let length = match is_null(slot) {
            true => 0,
            false => lengths.next_length()?,
        };
        offsets.push(length)?;
    }
    Ok(offsets)
}

impl Values {
    fn new(
        streams: &Streams<'_>,
        number: usize,
        target: &Target,
        spending: &mut Spending,
    ) -> Result<Self> {
        let orc_type = streams
            .types
            .get(number)
            .ok_or_else(|| corrupt(format!("column {number} has no type")))?;
        let encoding = streams.encoding(number)?;
        Ok(match orc_type.kind {
            kind::BOOLEAN => Self::Boolean(BooleanReader::new(streams.stream(number, DATA))),
            kind::BYTE => Self::Byte(ByteReader::new(streams.stream(number, DATA))),
            kind::SHORT | kind::INT | kind::LONG | kind::DATE => {
                Self::Integer(streams.integers(number, DATA, true)?)
            }
            kind::FLOAT => Self::Float(streams.stream(number, DATA)),
            kind::DOUBLE => Self::Double(streams.stream(number, DATA)),
            kind::STRING | kind::VARCHAR | kind::CHAR if matches!(encoding.kind, 1 | 3) => {
                Self::dictionary(streams, number, encoding.dictionary_size, spending)?
            }
            kind::STRING | kind::VARCHAR | kind::CHAR | kind::BINARY => Self::Bytes {
                lengths: streams.integers(number, LENGTH, false)?,
                data: streams.stream(number, DATA),
                scratch: Vec::new(),
            },
            kind::DECIMAL => Self::Decimal {
                data: streams.stream(number, DATA),
                scales: streams.integers(number, SECONDARY, true)?,
                scale: orc_type.scale,
            },
            kind::TIMESTAMP | kind::TIMESTAMP_INSTANT => Self::Timestamp {
                clock: match orc_type.kind {
                    kind::TIMESTAMP => Clock::of_writer(streams.footer.writer_timezone.as_deref())?,
                    _ => Clock::UTC,
                },
                seconds: streams.integers(number, DATA, true)?,
                nanoseconds: streams.integers(number, SECONDARY, false)?,
            },
            other => {
                return Err(Error::new(
                    ErrorKind::Internal,
                    format!(
                        "a column of ORC type {other} was planned as {}",
                        target.data_type()
                    ),
                ));
            }
        })
    }

    fn dictionary(
        streams: &Streams<'_>,
        number: usize,
        size: u32,
        spending: &mut Spending,
    ) -> Result<Self> {
        let mut lengths = streams.integers(number, LENGTH, false)?;
        let mut data = streams.stream(number, DICTIONARY_DATA);
        let (mut ends, mut texts) = (Vec::new(), Vec::new());
        for _ in 0..size {
            let length = lengths.next_length()?;
            spending.spend(length.saturating_add(size_of::<usize>()))?;
            if texts.len().saturating_add(length) > MAX_DICTIONARY {
                return Err(Error::not_supported(format!(
                    "a dictionary has more than {MAX_DICTIONARY} bytes"
                )));
            }
            data.read(length, &mut texts)?;
            ends.push(texts.len());
        }
        Ok(Self::Dictionary {
            indexes: streams.integers(number, DATA, false)?,
            ends,
            texts,
        })
    }

    fn decode(&mut self, builder: &mut LeafBuilder, spending: &mut Spending) -> Result<()> {
        match self {
            Self::Unread => {
                builder.push_null();
                Ok(())
            }
            Self::Boolean(values) => builder.push_boolean(values.next()?),
            Self::Byte(values) => builder.push_integer(i64::from(values.next()?.cast_signed())),
            Self::Integer(values) => builder.push_integer(values.next()?),
            Self::Float(data) => builder.push_float(f32::from_le_bytes(data.array()?)),
            Self::Double(data) => builder.push_double(f64::from_le_bytes(data.array()?)),
            Self::Bytes {
                lengths,
                data,
                scratch,
            } => {
                let length = lengths.next_length()?;
                spending.spend(length)?;
                if let Some(bytes) = data.buffer()?.get(..length) {
                    builder.push_bytes(bytes)?;
                    data.consume(length);
                    return Ok(());
                }
                scratch.clear();
                data.read(length, scratch)?;
                builder.push_bytes(scratch)
            }
            Self::Dictionary {
                indexes,
                ends,
                texts,
            } => {
                let index = indexes.next_length()?;
                let start = match index.checked_sub(1) {
                    None => Some(0),
                    Some(before) => ends.get(before).copied(),
                };
                let text = start
                    .zip(ends.get(index))
                    .and_then(|(start, end)| texts.get(start..*end))
                    .ok_or_else(|| {
                        corrupt(format!(
                            "a value is number {index} of a dictionary of {}",
                            ends.len()
                        ))
                    })?;
                spending.spend(text.len())?;
                builder.push_bytes(text)
            }
            Self::Decimal {
                data,
                scales,
                scale,
            } => {
                let encoded = data.long_varint()?;
                let value =
                    (encoded >> 1).cast_signed() ^ (encoded & 1).cast_signed().wrapping_neg();
                builder.push_decimal(rescale(value, scales.next()?, *scale)?)
            }
            Self::Timestamp {
                seconds,
                nanoseconds,
                clock,
            } => {
                let (seconds, nanoseconds) = clock.read(seconds.next()?, nanoseconds.next()?)?;
                builder.push_instant(seconds, nanoseconds)
            }
        }
    }
}

/// An unscaled value of one scale as one of another; writers may cut off zeros at the end.
fn rescale(value: i128, from: i64, to: u32) -> Result<i128> {
    let steps = i64::from(to).saturating_sub(from);
    let factor = u32::try_from(steps.unsigned_abs())
        .ok()
        .and_then(|steps| 10_i128.checked_pow(steps));
    let rescaled = match factor {
        _ if value == 0 => Some(0),
        Some(factor) if steps >= 0 => value.checked_mul(factor),
        Some(factor) if value % factor == 0 => Some(value / factor),
        _ => None,
    };
    rescaled.ok_or_else(|| {
        Error::new(
            ErrorKind::OutOfRange,
            format!("unscaled decimal {value} of scale {from} does not fit scale {to}"),
        )
    })
}

fn corrupt(what: String) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}
