//! From what values a field may have to what a transform makes of them, and back.
//! Spec: "Partition Transforms", "Scan Planning".

use std::num::NonZeroU32;

use super::possible_values::{PossibleValues, UpperEnd};
use crate::spec::calendar::{CalendarDate, MICROS_A_DAY, NANOS_A_DAY};
use crate::spec::transform::Transform;
use crate::spec::types::PrimitiveType;
use crate::spec::value::PrimitiveValue;

/// The widest `truncate` of an `int` whose results are everywhere the same: Java's `v - (((v % W) + W) % W)`
/// overflows beyond.
const MAX_INT_WIDTH: u32 = 1 << 30;

/// The greatest number of an hour that only one hour can have: beyond, and as far below 0, it may be that of an hour
/// so far from 1970 that its own is no `int`, which Java's library lets wrap round.
const LAST_SURE_HOUR: i64 = 1_732_919_506;

impl PossibleValues {
    /// What values a field of type `source` may have where a transform made these of them. `None` where that
    /// tells nothing at all.
    pub fn source_of(&self, transform: &Transform, source: &PrimitiveType) -> Option<Self> {
        if !is_computed_alike(transform, source) {
            return None;
        }
        let (lower, upper) = match transform {
            Transform::Identity => return Some(self.clone()),
            Transform::Void | Transform::Unknown(_) => return None,
            Transform::Bucket(_) => (None, None),
            Transform::Truncate(width) => self.source_of_truncate(*width),
            Transform::Year | Transform::Month | Transform::Day | Transform::Hour => {
                let number = |value: &PrimitiveValue| match value {
                    PrimitiveValue::Int(value) | PrimitiveValue::Date(value) => {
                        Some(i64::from(*value))
                    }
                    _ => None,
                };
                let start = |unit: i64| start_of(transform, unit, source);
                let upper = self.upper.as_ref().map(UpperEnd::value);
                let may_be_wrapped = |end: Option<&PrimitiveValue>| {
                    end.and_then(number)
                        .is_some_and(|hour| hour.abs() > LAST_SURE_HOUR)
                };
                if *transform == Transform::Hour
                    && (may_be_wrapped(self.lower.as_ref()) || may_be_wrapped(upper))
                {
                    return Some(Self {
                        nans: false,
                        lower: None,
                        upper: None,
                        ..self.clone()
                    });
                }
                (
                    self.lower.as_ref().and_then(number).and_then(start),
                    upper
                        .and_then(number)
                        .and_then(|unit| before(start(unit + 1)?))
                        .map(UpperEnd::Value),
                )
            }
        };
        Some(Self {
            nulls: self.nulls,
            nans: false,
            others: self.others,
            lower,
            upper,
        })
    }

    fn source_of_truncate(&self, width: NonZeroU32) -> (Option<PrimitiveValue>, Option<UpperEnd>) {
        use PrimitiveValue as V;
        let Some(upper) = &self.upper else {
            return (None, None);
        };
        let more = i64::from(width.get()) - 1;
        // Values below the lowest multiple that the type holds wrap round to its greatest values.
        let upper = match upper {
            UpperEnd::Value(V::Int(upper)) => i32::try_from(i64::from(*upper) + more)
                .ok()
                .map(|upper| UpperEnd::Value(V::Int(upper))),
            UpperEnd::Value(V::Long(upper)) => upper
                .checked_add(more)
                .map(|upper| UpperEnd::Value(V::Long(upper))),
            UpperEnd::Value(V::Decimal(upper)) => upper
                .checked_add(more.into())
                .map(|upper| UpperEnd::Value(V::Decimal(upper))),
            UpperEnd::Value(upper @ (V::String(_) | V::Binary(_))) if is_cut(upper, width) => {
                Some(UpperEnd::Prefix(upper.clone()))
            }
            UpperEnd::Value(V::String(_) | V::Binary(_)) | UpperEnd::Prefix(_) => {
                Some(upper.clone())
            }
            UpperEnd::Value(_) => None,
        };
        match upper {
            None => (None, None),
            upper => (self.lower.clone(), upper),
        }
    }

    /// What a transform makes of these values of a field of type `source`. `None` where that tells nothing at
    /// all.
    pub fn transformed(&self, transform: &Transform, source: &PrimitiveType) -> Option<Self> {
        if *transform == Transform::Identity {
            return Some(self.clone());
        }
        if !transform.accepts(source) {
            return None;
        }
        let upper = self.upper.as_ref();
        let only = match (&self.lower, upper) {
            (Some(lower), Some(UpperEnd::Value(upper))) if lower == upper => Some(lower),
            _ => None,
        };
        let (lower, upper) = match transform {
            Transform::Identity | Transform::Void | Transform::Unknown(_) => return None,
            Transform::Bucket(_) => {
                let bucket = only.and_then(|only| transform.apply(only));
                (bucket.clone(), bucket.map(UpperEnd::Value))
            }
            Transform::Truncate(width) => match &self.lower {
                Some(lower) => {
                    let lowest = transform.apply(lower)?;
                    // It wraps round: so may others.
                    if super::compare_values(&lowest, lower)?.is_gt() {
                        (None, None)
                    } else {
                        let upper = upper.and_then(|upper| {
                            let cut = transform.apply(upper.value())?;
                            Some(match upper {
                                UpperEnd::Prefix(_) if !is_cut(&cut, *width) => {
                                    UpperEnd::Prefix(cut)
                                }
                                _ => UpperEnd::Value(cut),
                            })
                        });
                        (Some(lowest), upper)
                    }
                }
                None => (None, None),
            },
            Transform::Year | Transform::Month | Transform::Day | Transform::Hour => {
                let apply = |value: &PrimitiveValue| transform.apply(value);
                (
                    self.lower.as_ref().and_then(apply),
                    upper
                        .map(UpperEnd::value)
                        .and_then(apply)
                        .map(UpperEnd::Value),
                )
            }
        };
        // The number of an hour may be too large to be one.
        let hour_may_be_missing =
            *transform == Transform::Hour && (lower.is_none() || upper.is_none());
        Some(Self {
            nulls: self.nulls || hour_may_be_missing,
            nans: false,
            others: self.others,
            lower,
            upper,
        })
    }

    /// What was meant by these partition values. Iceberg's Java library up to 0.10 rounded parts of times
    /// before 1970 towards zero: what it called hour -1 may be of hour -2.
    #[must_use]
    pub fn as_rounded_by_old_writers(
        mut self,
        transform: &Transform,
        source: &PrimitiveType,
    ) -> Self {
        let rounds = match transform {
            Transform::Year | Transform::Month | Transform::Hour => true,
            Transform::Day => *source != PrimitiveType::Date,
            _ => false,
        };
        if rounds {
            match &mut self.lower {
                Some(PrimitiveValue::Int(lower) | PrimitiveValue::Date(lower)) if *lower <= 0 => {
                    match lower.checked_sub(1) {
                        Some(less) => *lower = less,
                        None => self.lower = None,
                    }
                }
                _ => {}
            }
        }
        self
    }
}

/// Whether all writers make the same of a value by a transform, and this version knows what.
pub(crate) fn is_computed_alike(transform: &Transform, source: &PrimitiveType) -> bool {
    match (transform, source) {
        (Transform::Void | Transform::Unknown(_), _) => false,
        (Transform::Truncate(width), PrimitiveType::Int) => width.get() <= MAX_INT_WIDTH,
        _ => transform.accepts(source),
    }
}

/// Whether a text or bytes have all that a width lets through.
fn is_cut(value: &PrimitiveValue, width: NonZeroU32) -> bool {
    let width = width.get() as usize;
    match value {
        PrimitiveValue::String(value) => value.chars().nth(width - 1).is_some(),
        PrimitiveValue::Fixed(value) | PrimitiveValue::Binary(value) => value.len() >= width,
        _ => true,
    }
}

/// The first value of a year, month, day or hour that is so many from 1970; `None` if the type does not reach
/// so far.
fn start_of(transform: &Transform, unit: i64, source: &PrimitiveType) -> Option<PrimitiveValue> {
    let day_of_month = |months: i64| {
        CalendarDate {
            year: 1970 + months.div_euclid(12),
            month: u8::try_from(months.rem_euclid(12)).ok()? + 1,
            day: 1,
        }
        .to_days()
    };
    // As so many units of time, of which a day has so many.
    let (count, a_day) = match transform {
        Transform::Year => (day_of_month(unit.checked_mul(12)?)?, 1),
        Transform::Month => (day_of_month(unit)?, 1),
        Transform::Day => (unit, 1),
        Transform::Hour => (unit, 24),
        _ => return None,
    };
    let micros = || count.checked_mul(MICROS_A_DAY / a_day);
    let nanos = || count.checked_mul(NANOS_A_DAY / a_day);
    Some(match source {
        PrimitiveType::Date if a_day == 1 => PrimitiveValue::Date(count.try_into().ok()?),
        PrimitiveType::Timestamp => PrimitiveValue::Timestamp(micros()?),
        PrimitiveType::Timestamptz => PrimitiveValue::Timestamptz(micros()?),
        PrimitiveType::TimestampNs => PrimitiveValue::TimestampNs(nanos()?),
        PrimitiveType::TimestamptzNs => PrimitiveValue::TimestamptzNs(nanos()?),
        _ => return None,
    })
}

/// The date or time just before one.
fn before(value: PrimitiveValue) -> Option<PrimitiveValue> {
    use PrimitiveValue as V;
    Some(match value {
        V::Date(value) => V::Date(value.checked_sub(1)?),
        V::Timestamp(value) => V::Timestamp(value.checked_sub(1)?),
        V::Timestamptz(value) => V::Timestamptz(value.checked_sub(1)?),
        V::TimestampNs(value) => V::TimestampNs(value.checked_sub(1)?),
        V::TimestamptzNs(value) => V::TimestamptzNs(value.checked_sub(1)?),
        _ => return None,
    })
}

#[cfg(test)]
#[path = "transformed_tests.rs"]
mod tests;
