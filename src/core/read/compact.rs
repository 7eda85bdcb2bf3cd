//! Thrift's compact protocol, as far as the metadata of Parquet files must be looked through before
//! its own parser is let at it. Spec: Thrift "Compact protocol encoding".

/// Why a walk through the metadata stopped.
pub(super) enum Fault {
    Malformed,
    TooDeep,
}

/// The kinds of values of Thrift's compact protocol, as far as skipping must tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Byte,
    Integer,
    Double,
    Binary,
    List,
    Map,
    Struct,
    Uuid,
}

/// Walks over Thrift's compact protocol.
pub(super) struct CompactReader<'a>(pub(super) &'a [u8]);

impl<'a> CompactReader<'a> {
    /// Calls `visit` for each field of a struct; it must read or skip the value.
    pub(super) fn each_field(
        &mut self,
        mut visit: impl FnMut(&mut Self, i16, Kind) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut id = 0_i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => i16::try_from(self.integer()?).map_err(|_| Fault::Malformed)?,
                step => id.checked_add(i16::from(step)).ok_or(Fault::Malformed)?,
            };
            match head & 0x0F {
                // The value of a boolean field is its kind.
                1 | 2 => {}
                kind => visit(self, id, Self::kind(kind)?)?,
            }
        }
    }

    /// The length of a list and the kind of its elements.
    pub(super) fn list(&mut self) -> Result<(u64, Kind), Fault> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            length => u64::from(length),
        };
        // Each element takes a byte at least.
        if length > self.0.len() as u64 {
            return Err(Fault::Malformed);
        }
        Ok((length, Self::kind(head & 0x0F)?))
    }

    pub(super) fn skip(&mut self, kind: Kind) -> Result<(), Fault> {
        self.skip_nested(kind, 64)
    }

    fn skip_nested(&mut self, kind: Kind, depth: u8) -> Result<(), Fault> {
        let depth = depth.checked_sub(1).ok_or(Fault::Malformed)?;
        match kind {
            Kind::Boolean | Kind::Byte => self.advance(1),
            Kind::Integer => self.varint().map(|_| ()),
            Kind::Double => self.advance(8),
            Kind::Uuid => self.advance(16),
            Kind::Binary => {
                let length = self.varint()?;
                self.advance(length)
            }
            Kind::List => {
                let (length, kind) = self.list()?;
                (0..length).try_for_each(|_| self.skip_nested(kind, depth))
            }
            Kind::Map => {
                let length = self.varint()?;
                if length == 0 {
                    return Ok(());
                }
                if length > self.0.len() as u64 {
                    return Err(Fault::Malformed);
                }
                let kinds = self.byte()?;
                let (key, value) = (Self::kind(kinds >> 4)?, Self::kind(kinds & 0x0F)?);
                (0..length).try_for_each(|_| {
                    self.skip_nested(key, depth)?;
                    self.skip_nested(value, depth)
                })
            }
            Kind::Struct => self.each_field(|reader, _, kind| reader.skip_nested(kind, depth)),
        }
    }

    fn kind(code: u8) -> Result<Kind, Fault> {
        Ok(match code {
            1 | 2 => Kind::Boolean,
            3 => Kind::Byte,
            4..=6 => Kind::Integer,
            7 => Kind::Double,
            8 => Kind::Binary,
            9 | 10 => Kind::List,
            11 => Kind::Map,
            12 => Kind::Struct,
            13 => Kind::Uuid,
            _ => return Err(Fault::Malformed),
        })
    }

    pub(super) fn byte(&mut self) -> Result<u8, Fault> {
        let (byte, rest) = self.0.split_first().ok_or(Fault::Malformed)?;
        self.0 = rest;
        Ok(*byte)
    }

    pub(super) fn advance(&mut self, length: u64) -> Result<(), Fault> {
        let length = usize::try_from(length).map_err(|_| Fault::Malformed)?;
        self.0 = self.0.get(length..).ok_or(Fault::Malformed)?;
        Ok(())
    }

    pub(super) fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Fault::Malformed)
    }

    /// Bytes with their length before them.
    pub(super) fn binary(&mut self) -> Result<&'a [u8], Fault> {
        let length = usize::try_from(self.varint()?).map_err(|_| Fault::Malformed)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Fault::Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// A signed integer in zigzag form.
    pub(super) fn integer(&mut self) -> Result<i64, Fault> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }
}
