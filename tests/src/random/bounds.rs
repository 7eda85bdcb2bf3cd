//! What manifests say of a file's columns: counts, and bounds in the binary single-value form, exact, cut short or wide.
//! Spec: "Manifests" (fields 108 to 137), Appendix D "Binary single-value serialization".

use std::collections::BTreeMap;

use super::seed::Chance;
use super::transform::minimal_big_endian;
use super::value::{Cell, Field, Row, Scalar, at};

/// Counts and bounds by the ids of fields; what is not there is not known.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    pub value_counts: BTreeMap<i32, i64>,
    pub null_counts: BTreeMap<i32, i64>,
    pub nan_counts: BTreeMap<i32, i64>,
    pub lower: BTreeMap<i32, Vec<u8>>,
    pub upper: BTreeMap<i32, Vec<u8>>,
}

/// How much a writer says of its files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Detail {
    /// Nothing.
    None,
    /// Counts only.
    Counts,
    /// Bounds only.
    Bounds,
    /// All of it.
    Full,
    /// Each piece, or not.
    Patchy,
}

/// A value in the binary single-value form.
pub fn single_value(value: &Scalar) -> Vec<u8> {
    match value {
        Scalar::Boolean(value) => vec![u8::from(*value)],
        Scalar::Int(value) | Scalar::Date(value) => value.to_le_bytes().to_vec(),
        Scalar::Long(value)
        | Scalar::Time(value)
        | Scalar::Timestamp(value)
        | Scalar::Nanos(value) => value.to_le_bytes().to_vec(),
        Scalar::Float(value) => value.to_le_bytes().to_vec(),
        Scalar::Double(value) => value.to_le_bytes().to_vec(),
        Scalar::Decimal(value) => minimal_big_endian(*value),
        Scalar::String(value) => value.as_bytes().to_vec(),
        Scalar::Uuid(value) => value.to_vec(),
        Scalar::Bytes(value) => value.clone(),
    }
}

/// The least and greatest of the values that are not NaN. As the spec asks, zero counts as -0 below and as +0 above.
pub fn extremes<'a>(values: impl Iterator<Item = &'a Scalar>) -> Option<(Scalar, Scalar)> {
    let mut range: Option<(Scalar, Scalar)> = None;
    for value in values.filter(|value| !value.is_nan()) {
        range = Some(match range {
            None => (value.clone(), value.clone()),
            Some((low, high)) => {
                let low = if value.order(&low).is_lt() {
                    value.clone()
                } else {
                    low
                };
                let high = if value.order(&high).is_gt() {
                    value.clone()
                } else {
                    high
                };
                (low, high)
            }
        });
    }
    range.map(|(low, high)| (signed_zero(low, true), signed_zero(high, false)))
}

fn signed_zero(value: Scalar, negative: bool) -> Scalar {
    match value {
        Scalar::Float(0.0) => Scalar::Float(if negative { -0.0 } else { 0.0 }),
        Scalar::Double(0.0) => Scalar::Double(if negative { -0.0 } else { 0.0 }),
        other => other,
    }
}

/// What a writer says of a file with these rows of these columns.
pub fn metrics(chance: &mut Chance, columns: &[Field], rows: &[Row], detail: Detail) -> Metrics {
    let mut metrics = Metrics::default();
    // Texts and bytes are mostly cut as Iceberg's writers cut them.
    let cut = *chance.pick(&[16, 16, 1, 2, 5]);
    for (path, leaf) in columns.iter().flat_map(Field::leaves) {
        let cells: Vec<&Cell> = rows.iter().map(|row| at(row, &path)).collect();
        let says = |chance: &mut Chance, whole: &[Detail]| match detail {
            Detail::Patchy => chance.percent(60),
            detail => whole.contains(&detail),
        };
        let counts = [Detail::Counts, Detail::Full];
        let bounds = [Detail::Bounds, Detail::Full];
        if says(chance, &counts) {
            metrics.value_counts.insert(leaf.id, rows.len() as i64);
        }
        if says(chance, &counts) {
            let nulls = cells.iter().filter(|cell| ***cell == Cell::Null).count();
            metrics.null_counts.insert(leaf.id, nulls as i64);
        }
        let scalars = || cells.iter().filter_map(|cell| cell.scalar());
        if matches!(
            leaf.kind,
            super::value::Kind::Float | super::value::Kind::Double
        ) && says(chance, &counts)
        {
            let nans = scalars().filter(|scalar| scalar.is_nan()).count();
            metrics.nan_counts.insert(leaf.id, nans as i64);
        }
        if let Some((low, high)) = extremes(scalars()) {
            let wide = chance.percent(10);
            if says(chance, &bounds) {
                let bound = lower_bound(&low, cut, wide);
                metrics.lower.insert(leaf.id, bound);
            }
            if says(chance, &bounds)
                && let Some(bound) = upper_bound(&high, cut, wide)
            {
                metrics.upper.insert(leaf.id, bound);
            }
        }
    }
    metrics
}

/// A bound that no value lies below; `wide`: also not at it.
fn lower_bound(low: &Scalar, cut: usize, wide: bool) -> Vec<u8> {
    match low {
        Scalar::String(text) => text.chars().take(cut).collect::<String>().into_bytes(),
        Scalar::Bytes(bytes) => bytes[..bytes.len().min(cut)].to_vec(),
        other if wide => single_value(&moved(other, -1)),
        other => single_value(other),
    }
}

/// A bound that no value lies above; `None` if a text or bytes have none of this length.
fn upper_bound(high: &Scalar, cut: usize, wide: bool) -> Option<Vec<u8>> {
    match high {
        Scalar::String(text) if text.chars().count() <= cut => Some(text.as_bytes().to_vec()),
        Scalar::String(text) => text_above(&text.chars().take(cut).collect::<Vec<_>>()),
        Scalar::Bytes(bytes) if bytes.len() <= cut => Some(bytes.clone()),
        Scalar::Bytes(bytes) => {
            let mut bound = bytes[..cut].to_vec();
            while let Some(last) = bound.pop() {
                if let Some(next) = last.checked_add(1) {
                    bound.push(next);
                    return Some(bound);
                }
            }
            None
        }
        other if wide => Some(single_value(&moved(other, 1))),
        other => Some(single_value(other)),
    }
}

/// The least text above all that begin so: the last character that has a successor is replaced by it.
fn text_above(prefix: &[char]) -> Option<Vec<u8>> {
    let mut bound = prefix.to_vec();
    while let Some(last) = bound.pop() {
        let next = match last {
            '\u{D7FF}' => Some('\u{E000}'),
            last => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            bound.push(next);
            return Some(bound.into_iter().collect::<String>().into_bytes());
        }
    }
    None
}

/// The value a little below or above, or the value itself where there is none.
fn moved(value: &Scalar, by: i32) -> Scalar {
    let long = |value: i64| value.saturating_add(i64::from(by) * 3);
    match value {
        Scalar::Int(value) => Scalar::Int(value.saturating_add(by * 2)),
        Scalar::Long(value) => Scalar::Long(long(*value)),
        Scalar::Date(value) => Scalar::Date(value.saturating_add(by)),
        Scalar::Timestamp(value) => Scalar::Timestamp(long(*value)),
        Scalar::Nanos(value) => Scalar::Nanos(long(*value)),
        Scalar::Float(value) if by > 0 => Scalar::Float(value.next_up()),
        Scalar::Float(value) => Scalar::Float(value.next_down()),
        Scalar::Double(value) if by > 0 => Scalar::Double(value.next_up()),
        Scalar::Double(value) => Scalar::Double(value.next_down()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Scalar {
        Scalar::String(text.to_owned())
    }

    #[test]
    fn bounds_of_texts() {
        assert_eq!(lower_bound(&text("abc"), 2, false), b"ab");
        assert_eq!(upper_bound(&text("ab"), 2, false).unwrap(), b"ab");
        assert_eq!(upper_bound(&text("abc"), 2, false).unwrap(), b"ac");
        assert_eq!(upper_bound(&text("a\u{10FFFF}c"), 2, false).unwrap(), b"b");
        assert_eq!(upper_bound(&text("\u{10FFFF}c"), 1, false), None);
        assert_eq!(
            upper_bound(&text("\u{D7FF}c"), 1, false).unwrap(),
            "\u{E000}".as_bytes()
        );
        assert_eq!(upper_bound(&Scalar::Bytes(vec![0xFF, 1]), 1, false), None);
    }

    #[test]
    fn bounds_leave_out_nan_and_hold_both_zeros() {
        let values = [f64::NAN, 0.0].map(Scalar::Double);
        let (low, high) = extremes(values.iter()).unwrap();
        assert_eq!(single_value(&low), (-0.0_f64).to_le_bytes());
        assert_eq!(single_value(&high), 0.0_f64.to_le_bytes());
    }
}
