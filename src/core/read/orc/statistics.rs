//! Stripes without a wanted row, told by the statistics of their columns.
//! ORC specification v1 "Column Statistics", "Metadata".

use bytes::Bytes;

use super::message::Message;
use super::schema::{kind, subtype};
use super::stream::{Compression, Stream};
use super::tail::{Footer, OrcType};
use crate::error::Result;
use crate::read::assemble::Assembly;
use crate::read::filter::{BatchFilter, BoundTest, value_in};
use crate::read::projection::Column;
use crate::read::stored::{Selected, SelectedShape};
use crate::read::values::{LeafBuilder, Target};
use crate::spec::{PossibleValues, PrimitiveType, PrimitiveValue, UpperEnd};

/// How large the statistics of a file may be when decompressed.
const MAX_STATISTICS: usize = 64 << 20;
/// The ends of timestamps are moved apart by so many seconds: writers kept them in milliseconds,
/// rounded either way, and not all in the same time zone as the values.
const TIME_ZONES: i64 = 2 * 86_400;

/// What is said of the columns of each stripe.
pub(super) struct StripeStatistics(Vec<Vec<ColumnStatistics>>);

/// What is said of a column in a stripe.
#[derive(Debug, Default)]
struct ColumnStatistics {
    /// How many values there are that are not null.
    values: Option<u64>,
    has_null: Option<bool>,
    ends: Ends,
}

/// The least and the greatest value.
#[derive(Debug, Default)]
enum Ends {
    #[default]
    Unknown,
    Integers(Option<i64>, Option<i64>),
    Doubles(Option<f64>, Option<f64>),
    Texts {
        least: Option<Vec<u8>>,
        greatest: Option<Vec<u8>>,
        /// No text is greater, unless it begins so.
        above: Option<Vec<u8>>,
    },
    /// How many are true.
    Booleans(u64),
    Decimals(Option<String>, Option<String>),
    /// Milliseconds.
    Timestamps(Option<i64>, Option<i64>),
}

/// Which stripes and columns the statistics are about.
pub(super) struct Layout<'a> {
    pub(super) footer: &'a Footer,
    pub(super) selected: &'a [Selected],
    pub(super) columns: &'a [Column],
}

/// A primitive column of a file that a test is about.
struct TestedColumn<'a> {
    number: usize,
    orc_type: &'a OrcType,
    target: &'a Target,
    field_type: &'a PrimitiveType,
    /// Whether it is in a struct, which may be null.
    is_in_struct: bool,
}

impl StripeStatistics {
    /// Parses the metadata of a file.
    pub(super) fn parse(bytes: Bytes, compression: Compression) -> Result<Self> {
        let bytes = Stream::new(bytes, compression).read_all(MAX_STATISTICS)?;
        let mut stripes = Vec::new();
        let mut message = Message::new(&bytes);
        while let Some((field, value)) = message.next()? {
            if field != 1 {
                continue;
            }
            let mut columns = Vec::new();
            let mut stripe = value.message()?;
            while let Some((field, value)) = stripe.next()? {
                if field == 1 {
                    columns.push(ColumnStatistics::parse(value.message()?)?);
                }
            }
            stripes.push(columns);
        }
        Ok(Self(stripes))
    }

    /// Whether a stripe may have wanted rows.
    pub(super) fn may_have_wanted_rows(
        &self,
        stripe: usize,
        filter: &BatchFilter,
        layout: &Layout<'_>,
    ) -> bool {
        let types = &layout.footer.types;
        let (Some(columns), Some(rows)) = (
            self.0
                .get(stripe)
                .filter(|columns| columns.len() == types.len()),
            layout.footer.stripes.get(stripe).map(|stripe| stripe.rows),
        ) else {
            return true;
        };
        if self.0.len() != layout.footer.stripes.len() {
            return true;
        }
        filter.may_hold(&mut |test| {
            let values = layout.tested(test).and_then(|column| {
                let statistics = columns.get(column.number)?;
                Some(column.possible_values(statistics, rows))
            });
            values.is_none_or(|values| test.may_hold(&values))
        })
    }
}

impl ColumnStatistics {
    fn parse(mut message: Message<'_>) -> Result<Self> {
        let mut statistics = Self::default();
        while let Some((field, value)) = message.next()? {
            match field {
                1 => statistics.values = Some(value.number()?),
                2 | 7 => {
                    let (least, greatest) = integers(value.message()?, 1, 2)?;
                    statistics.ends = Ends::Integers(least, greatest);
                }
                3 => statistics.ends = doubles(value.message()?)?,
                4 => statistics.ends = texts(value.message()?)?,
                5 => statistics.ends = booleans(value.message()?)?,
                6 => statistics.ends = decimals(value.message()?)?,
                9 => {
                    // The others depend on the time zone that the writer was in.
                    let (least, greatest) = integers(value.message()?, 3, 4)?;
                    statistics.ends = Ends::Timestamps(least, greatest);
                }
                10 => statistics.has_null = Some(value.number()? != 0),
                _ => {}
            }
        }
        Ok(statistics)
    }
}

/// Signed numbers in zigzag form.
fn integers(
    mut message: Message<'_>,
    least_field: u64,
    greatest_field: u64,
) -> Result<(Option<i64>, Option<i64>)> {
    let (mut least, mut greatest) = (None, None);
    while let Some((field, value)) = message.next()? {
        let end = match field {
            field if field == least_field => &mut least,
            field if field == greatest_field => &mut greatest,
            _ => continue,
        };
        let number = value.number()?;
        *end = Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()));
    }
    Ok((least, greatest))
}

fn doubles(mut message: Message<'_>) -> Result<Ends> {
    let (mut least, mut greatest) = (None, None);
    while let Some((field, value)) = message.next()? {
        let end = match field {
            1 => &mut least,
            2 => &mut greatest,
            _ => continue,
        };
        *end = value.bytes()?.try_into().ok().map(f64::from_le_bytes);
    }
    Ok(Ends::Doubles(least, greatest))
}

fn texts(mut message: Message<'_>) -> Result<Ends> {
    let (mut least, mut greatest, mut below, mut above) = (None, None, None, None);
    while let Some((field, value)) = message.next()? {
        let end = match field {
            1 => &mut least,
            2 => &mut greatest,
            4 => &mut below,
            5 => &mut above,
            _ => continue,
        };
        *end = Some(value.bytes()?.to_vec());
    }
    Ok(Ends::Texts {
        least: least.or(below),
        greatest,
        above,
    })
}

fn booleans(mut message: Message<'_>) -> Result<Ends> {
    let mut counts = Vec::new();
    while let Some((field, value)) = message.next()? {
        if field == 1 {
            value.small_numbers(&mut counts)?;
        }
    }
    Ok(match counts.as_slice() {
        [trues] => Ends::Booleans(u64::from(*trues)),
        _ => Ends::Unknown,
    })
}

fn decimals(mut message: Message<'_>) -> Result<Ends> {
    let (mut least, mut greatest) = (None, None);
    while let Some((field, value)) = message.next()? {
        match field {
            1 => least = Some(value.text()?),
            2 => greatest = Some(value.text()?),
            _ => {}
        }
    }
    Ok(Ends::Decimals(least, greatest))
}

impl Layout<'_> {
    /// The column that a test is about; `None` where the file does not have it as one column.
    fn tested<'a>(&'a self, test: &'a BoundTest) -> Option<TestedColumn<'a>> {
        if *test.field_type() == PrimitiveType::Unknown {
            return None;
        }
        let types = &self.footer.types;
        let (first, mut rest) = test.place().split_first()?;
        let mut member = &self.columns.get(*first)?.member;
        let mut selected = self.selected;
        let mut number = 0;
        loop {
            let found = selected.get(member.decoded?)?;
            number = subtype(types, number, found.place).ok()?;
            match (&member.assembly, &found.shape) {
                (Assembly::Leaf(_), SelectedShape::Leaf(target)) if rest.is_empty() => {
                    return Some(TestedColumn {
                        number,
                        orc_type: types.get(number)?,
                        target,
                        field_type: test.field_type(),
                        is_in_struct: test.place().len() > 1,
                    });
                }
                (Assembly::Struct { members, .. }, SelectedShape::Struct(inner)) => {
                    let (next, deeper) = rest.split_first()?;
                    (member, rest, selected) = (members.get(*next)?, deeper, inner);
                }
                _ => return None,
            }
        }
    }
}

impl TestedColumn<'_> {
    /// The values that it may have in so many rows.
    fn possible_values(&self, statistics: &ColumnStatistics, rows: u64) -> PossibleValues {
        let mut possible = PossibleValues::unknown(self.field_type);
        possible.others = statistics.values != Some(0);
        possible.nans &= possible.others;
        // Where a struct is null, nothing is counted of what is inside.
        possible.nulls = self.is_in_struct
            || statistics.has_null != Some(false)
            || statistics.values != Some(rows);
        let exact = |value: Option<PrimitiveValue>| value.map(UpperEnd::Value);
        let (lower, upper) = match &statistics.ends {
            Ends::Unknown => (None, None),
            Ends::Integers(least, greatest) => (
                least.and_then(|least| self.integer(least)),
                exact(greatest.and_then(|greatest| self.integer(greatest))),
            ),
            Ends::Doubles(least, greatest) => (
                least.and_then(|least| self.double(least)),
                exact(greatest.and_then(|greatest| self.double(greatest))),
            ),
            Ends::Texts {
                least,
                greatest,
                above,
            } => (
                self.text(least.as_deref()),
                match greatest {
                    Some(_) => exact(self.text(greatest.as_deref())),
                    None => self.text(above.as_deref()).map(UpperEnd::Prefix),
                },
            ),
            Ends::Booleans(trues) => (
                statistics
                    .values
                    .map(|values| PrimitiveValue::Boolean(*trues >= values)),
                Some(UpperEnd::Value(PrimitiveValue::Boolean(*trues > 0))),
            ),
            Ends::Decimals(least, greatest) => (
                self.decimal(least.as_deref()),
                exact(self.decimal(greatest.as_deref())),
            ),
            Ends::Timestamps(least, greatest) => (
                least.and_then(|least| self.instant(least, -TIME_ZONES)),
                exact(greatest.and_then(|greatest| self.instant(greatest, TIME_ZONES))),
            ),
        };
        possible.within(lower, upper)
    }

    fn integer(&self, number: i64) -> Option<PrimitiveValue> {
        let is_integer = matches!(
            self.orc_type.kind,
            kind::BYTE | kind::SHORT | kind::INT | kind::LONG | kind::DATE
        );
        self.built(|builder| match is_integer {
            true => builder.push_integer(number).ok(),
            false => None,
        })
    }

    fn double(&self, number: f64) -> Option<PrimitiveValue> {
        self.built(|builder| match self.orc_type.kind {
            kind::FLOAT => {
                let narrow = number as f32;
                let is_same = f64::from(narrow) == number;
                builder.push_float(narrow).ok().filter(|()| is_same)
            }
            kind::DOUBLE => builder.push_double(number).ok(),
            _ => None,
        })
    }

    fn text(&self, text: Option<&[u8]>) -> Option<PrimitiveValue> {
        let text = text?;
        self.built(|builder| match self.orc_type.kind {
            // Texts of fixed length are compared without the blanks at their ends.
            kind::STRING | kind::VARCHAR => builder.push_bytes(text).ok(),
            _ => None,
        })
    }

    fn decimal(&self, text: Option<&str>) -> Option<PrimitiveValue> {
        let unscaled = unscaled(text?, self.orc_type.scale)?;
        self.built(|builder| match self.orc_type.kind {
            kind::DECIMAL => builder.push_decimal(unscaled).ok(),
            _ => None,
        })
    }

    fn instant(&self, milliseconds: i64, shift: i64) -> Option<PrimitiveValue> {
        let seconds = milliseconds.div_euclid(1_000).checked_add(shift)?;
        self.built(|builder| match self.orc_type.kind {
            kind::TIMESTAMP | kind::TIMESTAMP_INSTANT => builder.push_instant(seconds, 0).ok(),
            _ => None,
        })
    }

    /// A value of the column's type in the table.
    fn built(&self, push: impl FnOnce(&mut LeafBuilder) -> Option<()>) -> Option<PrimitiveValue> {
        let mut builder = LeafBuilder::new(self.target);
        push(&mut builder)?;
        value_in(self.field_type, &builder.finish().ok()?)
    }
}

/// A decimal number as a whole number of units of this scale; `None` where it is none.
fn unscaled(text: &str, scale: u32) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let missing = scale.checked_sub(u32::try_from(fraction.len()).ok()?)?;
    if !is_digits(whole) || !is_digits(fraction) || digits.is_empty() {
        return None;
    }
    let number: i128 = format!("0{whole}{fraction}").parse().ok()?;
    number
        .checked_mul(10_i128.checked_pow(missing)?)?
        .checked_mul(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_every_form() {
        for (text, scale, expected) in [
            ("0", 0, Some(0)),
            ("-1", 2, Some(-100)),
            ("12.34", 2, Some(1_234)),
            ("-0.05", 3, Some(-50)),
            (".5", 1, Some(5)),
            ("1.234", 2, None),
            ("", 0, None),
            ("-", 0, None),
            ("1e5", 0, None),
            ("--1", 0, None),
            (
                "99999999999999999999999999999999999999",
                0,
                Some(10_i128.pow(38) - 1),
            ),
            ("99999999999999999999999999999999999999", 2, None),
        ] {
            assert_eq!(unscaled(text, scale), expected, "{text}");
        }
    }
}
