//! One block of memory for all by-reference values of a column in a batch, laid out as Postgres
//! stores them: aligned varlena with a four-byte header.

/// Bytes of a varlena header.
pub const VARLENA_HEADER: usize = 4;

/// Grows while a batch is converted; afterwards its address is fixed for the batch's life.
#[derive(Debug, Default)]
pub struct Arena {
    // Words, not bytes, so that the block is aligned for every Postgres type.
    words: Vec<u64>,
    length: usize,
}

impl Arena {
    /// An arena with room for about `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            words: Vec::with_capacity(bytes.div_ceil(8)),
            length: 0,
        }
    }

    /// Where what comes next will begin: the number of bytes written so far.
    pub fn offset(&self) -> usize {
        self.length
    }

    /// Moves on to the next multiple of `alignment` (1, 2, 4 or 8), filling with zeros.
    pub fn align(&mut self, alignment: usize) {
        let aligned = self.length.next_multiple_of(alignment);
        self.reserve_to(aligned);
        self.length = aligned;
    }

    /// Appends bytes as they are.
    pub fn push(&mut self, bytes: &[u8]) {
        let start = self.length;
        let end = start + bytes.len();
        self.reserve_to(end);
        self.bytes_mut()[start..end].copy_from_slice(bytes);
        self.length = end;
    }

    /// Overwrites bytes that were written before.
    pub fn overwrite(&mut self, at: usize, bytes: &[u8]) {
        self.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Appends a varlena of this content; the arena must be aligned to 4.
    pub fn push_varlena(&mut self, content: &[u8]) {
        self.push(&varlena_header(content.len()));
        self.push(content);
    }

    /// Leaves room for a varlena header and gives its offset, for [`Self::end_varlena`].
    pub fn begin_varlena(&mut self) -> usize {
        let at = self.length;
        self.push(&[0; VARLENA_HEADER]);
        at
    }

    /// Writes the header of the varlena that began at `at` and ends here.
    pub fn end_varlena(&mut self, at: usize) {
        let header = varlena_header(self.length - at - VARLENA_HEADER);
        self.overwrite(at, &header);
    }

    /// The address of the first byte; stays the same until something is appended.
    pub fn base(&self) -> u64 {
        self.words.as_ptr() as u64
    }

    fn reserve_to(&mut self, bytes: usize) {
        let words = bytes.div_ceil(8);
        if words > self.words.len() {
            self.words.resize(words, 0);
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: u64 has no padding and every bit pattern is valid for it and for u8.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.words.as_mut_ptr().cast::<u8>(),
                self.words.len() * 8,
            )
        }
    }
}

/// The header of an uncompressed, in-line varlena with a content of this length
/// (`SET_VARSIZE` on a little-endian machine).
pub fn varlena_header(content: usize) -> [u8; VARLENA_HEADER] {
    // Contents above 1 GB are refused before they come here; see `encode::check_size`.
    let size = u32::try_from(content + VARLENA_HEADER).unwrap_or(u32::MAX >> 2);
    if cfg!(target_endian = "little") {
        (size << 2).to_le_bytes()
    } else {
        (size & 0x3FFF_FFFF).to_be_bytes()
    }
}
