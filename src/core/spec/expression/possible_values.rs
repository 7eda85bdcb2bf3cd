//! What values something may have in many rows: whether null, whether NaN, and from where to where else; and
//! what that makes of a check. Spec: "Scan Planning", "Data File Fields" (bounds), "Manifest Lists" (summaries).

use std::cmp::Ordering;

use uuid::Uuid;

use super::order::compare_values;
use super::predicate::{Check, Comparison};
use super::verdict::Verdict;
use crate::spec::types::PrimitiveType;
use crate::spec::value::PrimitiveValue;

/// What values may be there. Every row's value is of a kind that may be there; a value that is neither null
/// nor NaN lies between the ends as far as they are known.
#[derive(Debug, Clone, PartialEq)]
pub struct PossibleValues {
    /// Whether nulls may be there.
    pub nulls: bool,
    /// Whether NaNs may be there.
    pub nans: bool,
    /// Whether values may be there that are neither null nor NaN.
    pub others: bool,
    /// No value is less. Never NaN.
    pub lower: Option<PrimitiveValue>,
    /// No value is greater.
    pub upper: Option<UpperEnd>,
}

/// The end above values.
#[derive(Debug, Clone, PartialEq)]
pub enum UpperEnd {
    /// No value is greater. Never NaN.
    Value(PrimitiveValue),
    /// No text, or bytes, is greater unless it begins so.
    Prefix(PrimitiveValue),
}

impl PossibleValues {
    /// Anything that a column of a type can have.
    pub fn unknown(value_type: &PrimitiveType) -> Self {
        Self {
            nulls: true,
            nans: matches!(value_type, PrimitiveType::Float | PrimitiveType::Double),
            others: true,
            lower: None,
            upper: None,
        }
    }

    /// One value in all rows; `None` is null.
    pub fn constant(value: Option<PrimitiveValue>) -> Self {
        let nan = value.as_ref().is_some_and(is_nan);
        let ordinary = value.filter(|_| !nan);
        Self {
            nulls: ordinary.is_none() && !nan,
            nans: nan,
            others: ordinary.is_some(),
            lower: ordinary.clone(),
            upper: ordinary.map(UpperEnd::Value),
        }
    }

    /// The same, between ends as files and manifest lists have them: in the binary single-value form, those
    /// of texts and bytes maybe cut short. What cannot be relied on is left out.
    #[must_use]
    pub fn between(
        self,
        value_type: &PrimitiveType,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> Self {
        // The bounds of shapes are points, not values.
        if matches!(
            value_type,
            PrimitiveType::Geometry { .. }
                | PrimitiveType::Geography { .. }
                | PrimitiveType::Unknown
        ) {
            return self;
        }
        let read = |bytes: &[u8]| PrimitiveValue::from_bytes(value_type, bytes).ok();
        let (lower, upper) = (lower.and_then(read), upper.and_then(read));
        // In the signed order of UUIDs, those from 80.. on are the least: one bound alone tells nothing.
        if *value_type == PrimitiveType::Uuid && (lower.is_none() || upper.is_none()) {
            return self;
        }
        self.within(lower.map(lowest_meant), upper.map(greatest_meant))
    }

    /// The same, between these ends, as far as they can be relied on.
    #[must_use]
    pub fn within(mut self, lower: Option<PrimitiveValue>, upper: Option<UpperEnd>) -> Self {
        // Writers that took NaN into account where it came first had no use of the other values.
        if lower
            .iter()
            .chain(upper.as_ref().map(UpperEnd::value))
            .any(is_nan)
        {
            return self;
        }
        let crossed = lower
            .as_ref()
            .zip(upper.as_ref())
            .is_some_and(|(lower, upper)| !upper.reaches(lower));
        if !crossed {
            self.lower = lower;
            self.upper = upper;
        }
        self
    }

    /// What a check may be on them.
    pub fn verdict(&self, check: &Check) -> Verdict {
        let mut verdict = Verdict {
            may_hold: false,
            may_fail: false,
        };
        let mut see = |holds: bool| {
            verdict = verdict.joined(if holds {
                Verdict::ALWAYS
            } else {
                Verdict::NEVER
            });
        };
        if self.nulls {
            see(check.is_true_of(None));
        }
        if self.nans {
            see(check.is_true_of(Some(&nan_to_compare(check))));
        }
        if self.others {
            verdict = verdict.joined(self.verdict_on_others(check));
        }
        verdict
    }

    /// Whether a value may be among them.
    pub fn may_have(&self, value: &PrimitiveValue) -> bool {
        if is_nan(value) {
            return self.nans;
        }
        self.others
            && self
                .lower
                .as_ref()
                .is_none_or(|lower| compare_values(lower, value).is_none_or(Ordering::is_le))
            && self.upper.as_ref().is_none_or(|upper| upper.reaches(value))
    }

    /// Whether a value may be among these and among others, where null is null and NaN is NaN.
    pub fn may_share_a_value_with(&self, other: &Self) -> bool {
        let reaches = |left: &Self, right: &Self| match (&left.upper, &right.lower) {
            (Some(upper), Some(lower)) => upper.reaches(lower),
            _ => true,
        };
        (self.nulls && other.nulls)
            || (self.nans && other.nans)
            || (self.others && other.others && reaches(self, other) && reaches(other, self))
    }

    /// What a check may be on values that are neither null nor NaN.
    fn verdict_on_others(&self, check: &Check) -> Verdict {
        match check {
            Check::IsNull | Check::IsNan => Verdict::NEVER,
            Check::NotNull | Check::NotNan => Verdict::ALWAYS,
            Check::Compare(comparison, to) => match comparison {
                Comparison::Less => self.less(to, Ordering::is_lt),
                Comparison::LessOrEqual => self.less(to, Ordering::is_le),
                Comparison::GreaterOrEqual => self.less(to, Ordering::is_lt).negated(),
                Comparison::Greater => self.less(to, Ordering::is_le).negated(),
                Comparison::Equal => self.equal(std::slice::from_ref(to)),
                Comparison::NotEqual => self.equal(std::slice::from_ref(to)).negated(),
            },
            Check::In(values) => self.equal(values),
            Check::NotIn(values) => self.equal(values).negated(),
            Check::StartsWith(prefix) => self.starts_with(prefix),
            Check::NotStartsWith(prefix) => self.starts_with(prefix).negated(),
        }
    }

    /// Less than a value, or less or equal, as `holds` says of an order.
    fn less(&self, than: &PrimitiveValue, holds: fn(Ordering) -> bool) -> Verdict {
        if is_nan(than) {
            return Verdict::ALWAYS;
        }
        let ordered = |value: &PrimitiveValue| compare_values(value, than);
        Verdict {
            may_hold: match self.lower.as_ref().and_then(ordered) {
                Some(ordering) => holds(ordering),
                None => true,
            },
            may_fail: match &self.upper {
                Some(UpperEnd::Value(upper)) => ordered(upper).is_none_or(|order| !holds(order)),
                // Some longer text is greater than what is not greater than all of them.
                Some(end @ UpperEnd::Prefix(_)) => end.reaches(than),
                None => true,
            },
        }
    }

    fn equal(&self, values: &[PrimitiveValue]) -> Verdict {
        let only = match (&self.lower, &self.upper) {
            (Some(lower), Some(UpperEnd::Value(upper)))
                if compare_values(lower, upper).is_some_and(Ordering::is_eq) =>
            {
                Some(lower)
            }
            _ => None,
        };
        let is_only = |value: &PrimitiveValue| {
            only.is_some_and(|only| compare_values(only, value).is_some_and(Ordering::is_eq))
        };
        Verdict {
            may_hold: values
                .iter()
                .any(|value| !is_nan(value) && self.may_have(value)),
            may_fail: !values.iter().any(is_only),
        }
    }

    fn starts_with(&self, prefix: &PrimitiveValue) -> Verdict {
        let Some(wanted) = bytes(prefix) else {
            return Verdict::UNKNOWN;
        };
        let lower = self.lower.as_ref().map(bytes);
        let upper = self.upper.as_ref().map(|upper| bytes(upper.value()));
        // Ends of another type tell nothing.
        let (lower, upper) = (lower.flatten(), upper.flatten());
        let begins = |end: Option<&[u8]>| end.is_some_and(|end| end.starts_with(wanted));
        Verdict {
            may_hold: lower.is_none_or(|lower| lower < wanted || lower.starts_with(wanted))
                && self
                    .upper
                    .as_ref()
                    .is_none_or(|upper| upper.reaches(prefix)),
            may_fail: !(begins(lower) && begins(upper)),
        }
    }
}

impl UpperEnd {
    /// The value that is not exceeded, or with which what exceeds it begins.
    pub fn value(&self) -> &PrimitiveValue {
        match self {
            Self::Value(value) | Self::Prefix(value) => value,
        }
    }

    /// Whether a value may be below the end, or at it; also where the two cannot be compared.
    pub fn reaches(&self, value: &PrimitiveValue) -> bool {
        match self {
            Self::Value(upper) => compare_values(value, upper).is_none_or(Ordering::is_le),
            Self::Prefix(prefix) => {
                compare_values(value, prefix).is_none_or(Ordering::is_le)
                    || bytes(value)
                        .zip(bytes(prefix))
                        .is_none_or(|(value, prefix)| value.starts_with(prefix))
            }
        }
    }
}

/// The least value that a lower bound can stand for. Iceberg's Java library compared the halves of UUIDs as
/// signed numbers: among those with one first half it may have taken a greater one for the least.
fn lowest_meant(bound: PrimitiveValue) -> PrimitiveValue {
    match bound {
        PrimitiveValue::Uuid(bound) => {
            PrimitiveValue::Uuid(Uuid::from_u64_pair(bound.as_u64_pair().0, 0))
        }
        other => other,
    }
}

/// The greatest value that an upper bound can stand for: as [`lowest_meant`] of UUIDs; of a text or bytes that
/// were cut short without being raised, a mistake that must not lose rows, all that begin so.
fn greatest_meant(bound: PrimitiveValue) -> UpperEnd {
    match bound {
        PrimitiveValue::Uuid(bound) => UpperEnd::Value(PrimitiveValue::Uuid(Uuid::from_u64_pair(
            bound.as_u64_pair().0,
            u64::MAX,
        ))),
        PrimitiveValue::String(_) | PrimitiveValue::Fixed(_) | PrimitiveValue::Binary(_) => {
            UpperEnd::Prefix(bound)
        }
        other => UpperEnd::Value(other),
    }
}

fn is_nan(value: &PrimitiveValue) -> bool {
    match value {
        PrimitiveValue::Float(value) => value.is_nan(),
        PrimitiveValue::Double(value) => value.is_nan(),
        _ => false,
    }
}

/// NaN of the type that a check compares with.
fn nan_to_compare(check: &Check) -> PrimitiveValue {
    let compared = match check {
        Check::Compare(_, value) => std::slice::from_ref(value),
        Check::In(values) | Check::NotIn(values) => values,
        _ => &[],
    };
    match compared
        .iter()
        .any(|value| matches!(value, PrimitiveValue::Float(_)))
    {
        true => PrimitiveValue::Float(f32::NAN),
        false => PrimitiveValue::Double(f64::NAN),
    }
}

/// A text, or bytes, as bytes.
fn bytes(value: &PrimitiveValue) -> Option<&[u8]> {
    match value {
        PrimitiveValue::String(value) => Some(value.as_bytes()),
        PrimitiveValue::Fixed(value) | PrimitiveValue::Binary(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
#[path = "possible_values_tests.rs"]
mod tests;
