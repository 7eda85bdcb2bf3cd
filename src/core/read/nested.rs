//! Structs, lists and maps put together from decoded members, and a bound on what decoding may take.
//! For Avro and ORC. Nothing in the spec.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{Field, Fields};
use arrow::error::ArrowError;

use crate::error::{Error, ErrorKind, Result};

/// What a value of any type takes, about.
pub(super) const VALUE_BYTES: usize = 16;
/// How many bytes may come of what is decoded at once: of one row, or of few. A short run of bytes
/// may stand for very many values.
const MAX_BYTES: usize = 1 << 30;

/// About how many bytes decoded values take since the last batch.
#[derive(Debug, Default)]
pub(super) struct Spending {
    spent: usize,
    end: usize,
}

impl Spending {
    /// Nothing is spent yet of a batch.
    pub(super) fn begin_batch(&mut self) {
        self.spent = 0;
        self.begin_rows();
    }

    /// What follows belongs to other rows.
    pub(super) fn begin_rows(&mut self) {
        self.end = self.spent.saturating_add(MAX_BYTES);
    }

    /// About how many bytes the batch takes so far.
    pub(super) fn spent(&self) -> usize {
        self.spent
    }

    /// Adds so many bytes, before they are taken.
    ///
    /// # Errors
    /// `NotSupported` where rows become larger than anything that is read.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<()> {
        self.spent = self.spent.saturating_add(bytes);
        if self.spent > self.end {
            return Err(Error::not_supported(format!(
                "a row takes more than {MAX_BYTES} bytes"
            )));
        }
        Ok(())
    }
}

/// Where the values of each row of a list or map begin.
#[derive(Debug)]
pub(super) struct Offsets(Vec<i32>);

impl Offsets {
    /// No rows.
    pub(super) fn new() -> Self {
        Self(vec![0])
    }

    /// How many values the rows have together.
    pub(super) fn values(&self) -> usize {
        usize::try_from(self.last()).unwrap_or(0)
    }

    fn last(&self) -> i32 {
        self.0.last().copied().unwrap_or(0)
    }

    /// Appends a row of so many values.
    pub(super) fn push(&mut self, values: usize) -> Result<()> {
        let end = i32::try_from(values)
            .ok()
            .and_then(|values| self.last().checked_add(values))
            .ok_or_else(|| {
                Error::not_supported(format!("a list of {values} elements is too long"))
            })?;
        self.0.push(end);
        Ok(())
    }

    /// The offsets so far; begins again.
    pub(super) fn take(&mut self) -> OffsetBuffer<i32> {
        // They never fall: each is the one before and a count.
        OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(&mut self.0, vec![0])))
    }
}

/// A struct of members without names: they are found by their places.
pub(super) fn struct_array(
    members: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
    length: usize,
) -> Result<StructArray> {
    let fields: Fields = members
        .iter()
        .enumerate()
        .map(|(number, member)| Field::new(number.to_string(), member.data_type().clone(), true))
        .collect();
    StructArray::try_new_with_length(fields, members, nulls, length).map_err(inconsistent)
}

/// A list of these values.
pub(super) fn list_array(
    offsets: OffsetBuffer<i32>,
    nulls: Option<NullBuffer>,
    values: ArrayRef,
) -> Result<ArrayRef> {
    let field = Arc::new(Field::new("element", values.data_type().clone(), true));
    let array = ListArray::try_new(field, offsets, values, nulls).map_err(inconsistent)?;
    Ok(Arc::new(array))
}

/// A map of these keys and values.
///
/// # Errors
/// `Corrupt` for a key that is null.
pub(super) fn map_array(
    offsets: OffsetBuffer<i32>,
    nulls: Option<NullBuffer>,
    keys: ArrayRef,
    values: ArrayRef,
) -> Result<ArrayRef> {
    if keys.null_count() > 0 {
        return Err(Error::new(ErrorKind::Corrupt, "a map has a null key"));
    }
    let fields: Fields = [
        Field::new("key", keys.data_type().clone(), false),
        Field::new("value", values.data_type().clone(), true),
    ]
    .into_iter()
    .collect();
    let field = Arc::new(Field::new_struct("key_value", fields.clone(), false));
    let entries = StructArray::try_new(fields, vec![keys, values], None).map_err(inconsistent)?;
    let array = MapArray::try_new(field, offsets, entries, nulls, false).map_err(inconsistent)?;
    Ok(Arc::new(array))
}

fn inconsistent(error: ArrowError) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("values contradict each other: {error}"),
    )
}
