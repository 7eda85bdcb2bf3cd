//! How much a batch holds when its values stand for themselves: a decoded dictionary shares one
//! text among many rows, whoever uses the rows may not. Nothing in the spec.

use arrow::array::{Array, AsArray, GenericByteViewArray, RecordBatch};
use arrow::datatypes::{BinaryViewType, ByteViewType, DataType, StringViewType};

/// Cuts a batch into pieces of about `limit` bytes each; a row stays whole.
pub(super) fn split(batch: RecordBatch, limit: usize) -> Vec<(RecordBatch, usize)> {
    let mut pieces = Vec::new();
    // Pieces still to look at, the first rows last.
    let mut open = vec![batch];
    while let Some(batch) = open.pop() {
        let size = batch_size(&batch);
        let rows = batch.num_rows();
        if size <= limit || rows <= 1 {
            pieces.push((batch, size));
        } else {
            let half = rows / 2;
            open.push(batch.slice(half, rows - half));
            open.push(batch.slice(0, half));
        }
    }
    pieces
}

/// How many bytes the values of a batch have.
fn batch_size(batch: &RecordBatch) -> usize {
    batch
        .columns()
        .iter()
        .map(|column| array_size(column, 0, column.len()))
        .fold(0, usize::saturating_add)
}

/// How many bytes some values of an array have.
pub(super) fn array_size(array: &dyn Array, start: usize, length: usize) -> usize {
    match array.data_type() {
        DataType::Utf8View => view_size::<StringViewType>(array, start, length),
        DataType::BinaryView => view_size::<BinaryViewType>(array, start, length),
        DataType::FixedSizeBinary(width) => {
            length.saturating_mul(usize::try_from(*width).unwrap_or(0))
        }
        DataType::Struct(_) => array.as_struct_opt().map_or(0, |array| {
            array
                .columns()
                .iter()
                .map(|member| array_size(member, start, length))
                .fold(0, usize::saturating_add)
        }),
        DataType::List(_) => array.as_list_opt::<i32>().map_or(0, |array| {
            inner_size(array.offsets(), start, length, array.values())
        }),
        DataType::Map(..) => array.as_map_opt().map_or(0, |array| {
            inner_size(array.offsets(), start, length, array.entries())
        }),
        other => length.saturating_mul(other.primitive_width().unwrap_or(1)),
    }
}

/// The size of the values between the offsets of some rows, and of the offsets.
fn inner_size(offsets: &[i32], start: usize, length: usize, values: &dyn Array) -> usize {
    let offset = |row: usize| {
        offsets
            .get(row)
            .and_then(|offset| usize::try_from(*offset).ok())
            .unwrap_or(0)
    };
    let (first, last) = (offset(start), offset(start.saturating_add(length)));
    length
        .saturating_mul(size_of::<i32>())
        .saturating_add(array_size(values, first, last.saturating_sub(first)))
}

fn view_size<T: ByteViewType>(array: &dyn Array, start: usize, length: usize) -> usize {
    let Some(array) = array.as_any().downcast_ref::<GenericByteViewArray<T>>() else {
        return 0;
    };
    let views = array
        .views()
        .get(start..start.saturating_add(length))
        .unwrap_or_default();
    // The low half of the low half of a view is the length of its value.
    let values = views
        .iter()
        .map(|view| (view & u128::from(u32::MAX)) as u64)
        .fold(0, u64::saturating_add);
    usize::try_from(values)
        .unwrap_or(usize::MAX)
        .saturating_add(length.saturating_mul(size_of::<u128>()))
}
