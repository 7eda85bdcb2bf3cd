//! Lists of scalars as one-dimensional Postgres arrays, laid out as `ArrayType` in Postgres' array.h.

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use iceberg_core::{Error, Result};
use pgrx::pg_sys::Oid;

use super::arena::Arena;
use super::conversion::Scalar;
use super::encode::{ByReference, ByValue, Visitor, check_size, unexpected, visit};

/// `MAXALIGN`: where the elements begin, and what the strictest element type wants.
const MAXIMUM_ALIGNMENT: usize = 8;

/// The lists of a column.
pub struct Lists<'a> {
    lists: &'a ListArray,
    elements: &'a ArrayRef,
    element: Scalar,
    element_type: Oid,
}

impl<'a> Lists<'a> {
    /// Reads a list column whose elements are converted as `element` says.
    pub fn new(array: &'a ArrayRef, element: Scalar, element_type: Oid) -> Result<Self> {
        let lists = array
            .as_list_opt::<i32>()
            .ok_or_else(|| unexpected(array))?;
        Ok(Self {
            lists,
            elements: lists.values(),
            element,
            element_type,
        })
    }
}

impl ByReference for Lists<'_> {
    const ALIGNMENT: usize = MAXIMUM_ALIGNMENT;

    fn append(&self, row: usize, arena: &mut Arena) -> Result<()> {
        let offsets = self.lists.value_offsets();
        let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
        let at = arena.begin_varlena();
        if start == end {
            // Postgres' empty array has no dimension at all.
            self.push_words(&[0, 0, self.element_type.to_u32() as i32], arena);
            arena.end_varlena(at);
            return Ok(());
        }
        let elements = self.elements.slice(start, end - start);
        let with_nulls = elements.null_count() > 0;
        let bitmap_bytes = if with_nulls {
            elements.len().div_ceil(8)
        } else {
            0
        };
        let header = 4 * 6 + bitmap_bytes;
        let data_offset = header.next_multiple_of(MAXIMUM_ALIGNMENT);
        let count = i32::try_from(elements.len()).map_err(|_| too_large())?;
        self.push_words(
            &[
                1,
                // No offset says that there is no bitmap.
                if with_nulls { data_offset as i32 } else { 0 },
                self.element_type.to_u32() as i32,
                count,
                1,
            ],
            arena,
        );
        if with_nulls {
            let mut bitmap = vec![0_u8; bitmap_bytes];
            for index in (0..elements.len()).filter(|index| elements.is_valid(*index)) {
                bitmap[index / 8] |= 1 << (index % 8);
            }
            arena.push(&bitmap);
        }
        arena.align(MAXIMUM_ALIGNMENT);
        visit(
            self.element,
            &elements,
            ElementWriter {
                elements: &elements,
                arena,
            },
        )?;
        check_size(arena.offset() - at)?;
        arena.end_varlena(at);
        Ok(())
    }

    fn size_hint(&self) -> usize {
        self.lists.len() * 32 + self.elements.len() * 8
    }
}

impl Lists<'_> {
    fn push_words(&self, words: &[i32], arena: &mut Arena) {
        for word in words {
            arena.push(&word.to_ne_bytes());
        }
    }
}

struct ElementWriter<'a> {
    elements: &'a ArrayRef,
    arena: &'a mut Arena,
}

impl Visitor for ElementWriter<'_> {
    type Output = ();

    fn by_value(self, values: &impl ByValue) -> Result<()> {
        fn write<V: ByValue>(elements: &ArrayRef, values: &V, arena: &mut Arena) -> Result<()> {
            for index in (0..elements.len()).filter(|index| elements.is_valid(*index)) {
                let word = values.datum(index)?;
                arena.align(V::WIDTH);
                match V::WIDTH {
                    1 => arena.push(&[word as u8]),
                    4 => arena.push(&(word as u32).to_ne_bytes()),
                    _ => arena.push(&word.to_ne_bytes()),
                }
            }
            Ok(())
        }
        write(self.elements, values, self.arena)
    }

    fn by_reference(self, values: &impl ByReference) -> Result<()> {
        fn write<V: ByReference>(elements: &ArrayRef, values: &V, arena: &mut Arena) -> Result<()> {
            for index in (0..elements.len()).filter(|index| elements.is_valid(*index)) {
                arena.align(V::ALIGNMENT);
                values.append(index, arena)?;
            }
            // Postgres counts the padding behind the last element in.
            arena.align(V::ALIGNMENT);
            Ok(())
        }
        write(self.elements, values, self.arena)
    }
}

fn too_large() -> Error {
    Error::new(
        iceberg_core::ErrorKind::OutOfRange,
        "a list has more elements than a Postgres array can hold",
    )
}
