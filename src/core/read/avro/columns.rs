//! From records one after the other to columns: a tree of arrays that grow, in the shape of what is
//! wanted of the writer's schema. Avro specification: "Binary Encoding".

use std::sync::Arc;

use arrow::array::{ArrayRef, NullBufferBuilder, StructArray};

use super::schema::{key_and_value, without_null};
use crate::error::{Error, ErrorKind, Result};
use crate::read::nested::{Offsets, Spending, VALUE_BYTES, list_array, map_array, struct_array};
use crate::read::stored::{Selected, SelectedShape};
use crate::read::values::LeafBuilder;
use crate::spec::avro::{AvroSchema, AvroType, Decoder};

/// Decodes records into columns.
pub(super) struct RowDecoder {
    record: Struct,
}

/// One column, at any depth.
struct Column {
    /// For each branch of the union that the file stores, whether it is null; `None` where the file
    /// stores no union.
    branches: Option<Vec<bool>>,
    kind: Kind,
}

enum Kind {
    Leaf {
        encoding: Encoding,
        builder: Box<LeafBuilder>,
    },
    Struct(Struct),
    List {
        element: Box<Column>,
        repeated: Repeated,
    },
    Map {
        key: Box<Column>,
        value: Box<Column>,
        layout: MapLayout,
        repeated: Repeated,
    },
}

/// How one value lies in the file.
enum Encoding {
    Null,
    Boolean,
    Integer,
    Float,
    Double,
    LengthPrefixed,
    Fixed(usize),
    /// Not looked at.
    Skipped(Arc<AvroSchema>),
}

/// How the entries of a map lie in the file.
enum MapLayout {
    KeyFirst,
    ValueFirst,
}

struct Struct {
    /// The stored fields in order.
    fields: Vec<StoredMember>,
    members: Vec<Column>,
    nulls: NullBufferBuilder,
    /// Whether its members are the columns that errors name.
    is_root: bool,
}

struct StoredMember {
    name: String,
    schema: Arc<AvroSchema>,
    /// Which member it becomes; `None` where it is skipped.
    member: Option<usize>,
}

/// Where the values of each row of a list or map begin.
struct Repeated {
    offsets: Offsets,
    nulls: NullBufferBuilder,
}

impl RowDecoder {
    /// A decoder of these fields of records of this schema.
    pub(super) fn new(schema: &AvroSchema, selected: &[Selected]) -> Result<Self> {
        let mut record = Struct::new(schema, selected)?;
        record.is_root = true;
        Ok(Self { record })
    }

    /// Decodes one record.
    pub(super) fn decode(
        &mut self,
        decoder: &mut Decoder<'_>,
        spending: &mut Spending,
    ) -> Result<()> {
        spending.begin_rows();
        self.record.decode(decoder, spending)
    }

    /// Takes the columns of the rows so far.
    pub(super) fn finish(&mut self, rows: usize) -> Result<StructArray> {
        self.record.finish(rows)
    }
}

impl Column {
    fn new(schema: &AvroSchema, selected: &SelectedShape) -> Result<Self> {
        let branches = match &schema.avro_type {
            AvroType::Union(branches) => Some(
                branches
                    .iter()
                    .map(|branch| branch.avro_type == AvroType::Null)
                    .collect(),
            ),
            _ => None,
        };
        let inner = without_null(schema).ok_or_else(unplanned)?;
        let kind = match (selected, &inner.avro_type) {
            (SelectedShape::Leaf(target), _) => {
                let builder = Box::new(LeafBuilder::new(target));
                Kind::Leaf {
                    encoding: Encoding::new(inner, builder.is_null()),
                    builder,
                }
            }
            (SelectedShape::Struct(members), AvroType::Record(_)) => {
                Kind::Struct(Struct::new(inner, members)?)
            }
            (SelectedShape::List(selected), AvroType::Array(element)) => Kind::List {
                element: Box::new(Self::new(element, &selected.shape)?),
                repeated: Repeated::new(),
            },
            (SelectedShape::Map(key, value), AvroType::Map(stored)) => {
                let text = AvroSchema::parse(b"\"string\"")?;
                Kind::Map {
                    key: Box::new(Self::new(&text, &key.shape)?),
                    value: Box::new(Self::new(stored, &value.shape)?),
                    layout: MapLayout::KeyFirst,
                    repeated: Repeated::new(),
                }
            }
            (SelectedShape::Map(key, value), AvroType::Array(entry)) => {
                let (stored_key, stored_value) = key_and_value(entry).ok_or_else(unplanned)?;
                let value_first = entry
                    .as_record()
                    .and_then(|fields| fields.first())
                    .is_some_and(|first| std::ptr::eq(first, stored_value));
                Kind::Map {
                    key: Box::new(Self::new(&stored_key.schema, &key.shape)?),
                    value: Box::new(Self::new(&stored_value.schema, &value.shape)?),
                    layout: if value_first {
                        MapLayout::ValueFirst
                    } else {
                        MapLayout::KeyFirst
                    },
                    repeated: Repeated::new(),
                }
            }
            _ => return Err(unplanned()),
        };
        Ok(Self { branches, kind })
    }

    fn decode(&mut self, decoder: &mut Decoder<'_>, spending: &mut Spending) -> Result<()> {
        if let Some(branches) = &self.branches {
            let branch = decoder.varint()?;
            let null = usize::try_from(branch)
                .ok()
                .and_then(|branch| branches.get(branch))
                .ok_or_else(|| {
                    corrupt(format!(
                        "a value takes branch {branch} of a union of {}",
                        branches.len()
                    ))
                })?;
            if *null {
                return self.push_null(spending);
            }
        }
        match &mut self.kind {
            Kind::Leaf { encoding, builder } => decode_leaf(encoding, builder, decoder, spending),
            Kind::Struct(members) => members.decode(decoder, spending),
            Kind::List { element, repeated } => {
                let mut count = 0_usize;
                decoder.blocks(|decoder| {
                    count += 1;
                    element.decode(decoder, spending)
                })?;
                repeated.push(count, spending)
            }
            Kind::Map {
                key,
                value,
                layout,
                repeated,
            } => {
                let mut count = 0_usize;
                decoder.blocks(|decoder| {
                    count += 1;
                    match layout {
                        MapLayout::KeyFirst => {
                            key.decode(decoder, spending)?;
                            value.decode(decoder, spending)
                        }
                        MapLayout::ValueFirst => {
                            value.decode(decoder, spending)?;
                            key.decode(decoder, spending)
                        }
                    }
                })?;
                repeated.push(count, spending)
            }
        }
    }

    fn push_null(&mut self, spending: &mut Spending) -> Result<()> {
        spending.spend(VALUE_BYTES)?;
        match &mut self.kind {
            Kind::Leaf { builder, .. } => builder.push_null(),
            Kind::Struct(members) => {
                for member in &mut members.members {
                    member.push_null(spending)?;
                }
                members.nulls.append_null();
            }
            Kind::List { repeated, .. } | Kind::Map { repeated, .. } => repeated.push_null()?,
        }
        Ok(())
    }

    fn finish(&mut self, length: usize) -> Result<ArrayRef> {
        Ok(match &mut self.kind {
            Kind::Leaf { builder, .. } => builder.finish()?,
            Kind::Struct(members) => Arc::new(members.finish(length)?),
            Kind::List { element, repeated } => {
                let values = element.finish(repeated.offsets.values())?;
                list_array(repeated.offsets.take(), repeated.nulls.finish(), values)?
            }
            Kind::Map {
                key,
                value,
                repeated,
                ..
            } => {
                let inner = repeated.offsets.values();
                let (keys, values) = (key.finish(inner)?, value.finish(inner)?);
                let (offsets, nulls) = (repeated.offsets.take(), repeated.nulls.finish());
                map_array(offsets, nulls, keys, values)?
            }
        })
    }
}

impl Encoding {
    fn new(schema: &AvroSchema, skipped: bool) -> Self {
        match &schema.avro_type {
            AvroType::Null => Self::Null,
            _ if skipped => Self::Skipped(Arc::new(schema.clone())),
            AvroType::Boolean => Self::Boolean,
            AvroType::Int | AvroType::Long => Self::Integer,
            AvroType::Float => Self::Float,
            AvroType::Double => Self::Double,
            AvroType::Bytes | AvroType::String => Self::LengthPrefixed,
            AvroType::Fixed(length) => Self::Fixed(*length),
            _ => Self::Skipped(Arc::new(schema.clone())),
        }
    }
}

fn decode_leaf(
    encoding: &Encoding,
    builder: &mut LeafBuilder,
    decoder: &mut Decoder<'_>,
    spending: &mut Spending,
) -> Result<()> {
    spending.spend(VALUE_BYTES)?;
    match encoding {
        Encoding::Null => builder.push_null(),
        Encoding::Boolean => match decoder.take(1)? {
            [0] => builder.push_boolean(false)?,
            [1] => builder.push_boolean(true)?,
            other => return Err(corrupt(format!("a boolean is encoded as {other:?}"))),
        },
        Encoding::Integer => builder.push_integer(decoder.varint()?)?,
        Encoding::Float => {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(decoder.take(4)?);
            builder.push_float(f32::from_le_bytes(bytes))?;
        }
        Encoding::Double => {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(decoder.take(8)?);
            builder.push_double(f64::from_le_bytes(bytes))?;
        }
        Encoding::LengthPrefixed => {
            let bytes = decoder.length_prefixed()?;
            spending.spend(bytes.len())?;
            builder.push_bytes(bytes)?;
        }
        Encoding::Fixed(length) => {
            spending.spend(*length)?;
            builder.push_bytes(decoder.take(*length)?)?;
        }
        Encoding::Skipped(schema) => {
            decoder.skip(schema)?;
            builder.push_null();
        }
    }
    Ok(())
}

impl Struct {
    fn new(schema: &AvroSchema, selected: &[Selected]) -> Result<Self> {
        let AvroType::Record(stored) = &schema.avro_type else {
            return Err(unplanned());
        };
        let mut fields: Vec<_> = stored
            .iter()
            .map(|field| StoredMember {
                name: field.name.clone(),
                schema: Arc::clone(&field.schema),
                member: None,
            })
            .collect();
        let mut members = Vec::with_capacity(selected.len());
        for (member, selected) in selected.iter().enumerate() {
            let field = fields.get_mut(selected.place).ok_or_else(unplanned)?;
            field.member = Some(member);
            members.push(Column::new(&field.schema, &selected.shape)?);
        }
        Ok(Self {
            fields,
            members,
            nulls: NullBufferBuilder::new(0),
            is_root: false,
        })
    }

    fn decode(&mut self, decoder: &mut Decoder<'_>, spending: &mut Spending) -> Result<()> {
        for field in &self.fields {
            let decoded = match field.member.and_then(|member| self.members.get_mut(member)) {
                Some(member) => member.decode(decoder, spending),
                None => decoder.skip(&field.schema),
            };
            decoded.map_err(|error| match self.is_root {
                true => error.in_column(&field.name),
                false => error,
            })?;
        }
        self.nulls.append_non_null();
        Ok(())
    }

    fn finish(&mut self, length: usize) -> Result<StructArray> {
        let members = self
            .members
            .iter_mut()
            .map(|member| member.finish(length))
            .collect::<Result<Vec<_>>>()?;
        struct_array(members, self.nulls.finish(), length)
    }
}

impl Repeated {
    fn new() -> Self {
        Self {
            offsets: Offsets::new(),
            nulls: NullBufferBuilder::new(0),
        }
    }

    fn push(&mut self, count: usize, spending: &mut Spending) -> Result<()> {
        spending.spend(VALUE_BYTES)?;
        self.offsets.push(count)?;
        self.nulls.append_non_null();
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        self.offsets.push(0)?;
        self.nulls.append_null();
        Ok(())
    }
}

fn corrupt(what: String) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}

fn unplanned() -> Error {
    Error::new(
        ErrorKind::Internal,
        "an Avro schema is not what was planned for",
    )
}
