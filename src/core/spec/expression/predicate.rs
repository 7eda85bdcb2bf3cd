//! Predicates: tests of single fields under AND and OR. There is no NOT and no third truth value: whoever
//! makes a predicate says when it is true, and negates its tests. Spec: "Scan Planning".

use std::sync::Arc;

use super::order::compare_values;
use crate::spec::transform::Transform;
use crate::spec::types::PrimitiveType;
use crate::spec::value::PrimitiveValue;

/// A condition on a row; true or false, never unknown.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// Holds for every row.
    True,
    /// Holds for no row.
    False,
    /// All of them hold.
    And(Vec<Predicate>),
    /// At least one of them holds.
    Or(Vec<Predicate>),
    /// A test of one field.
    Test(Test),
}

/// A test of what a row has in one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// What is tested.
    pub term: Term,
    /// What must be true of it.
    pub check: Check,
}

/// A field, or what a transform makes of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Term {
    /// The field's id: a column or, at any depth, a field of a struct; never inside a list or map. A field of
    /// a null struct is null.
    pub field_id: i32,
    /// The field's type in the schema that rows are read in.
    pub field_type: PrimitiveType,
    /// What is made of its value; mostly `Identity`.
    pub transform: Transform,
}

/// What a test asks. Values are of the term's [type](Term::value_type) and ordered as [`compare_values`] says.
///
/// Of null only [`Check::IsNull`] is true.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// It is null.
    IsNull,
    /// It is not null.
    NotNull,
    /// It is NaN.
    IsNan,
    /// It is neither null nor NaN.
    NotNan,
    /// It compares so to a value.
    Compare(Comparison, PrimitiveValue),
    /// It equals one of these.
    In(Arc<[PrimitiveValue]>),
    /// It is not null and equals none of these.
    NotIn(Arc<[PrimitiveValue]>),
    /// It is a text, or bytes, that begins so.
    StartsWith(PrimitiveValue),
    /// It is a text, or bytes, that does not begin so.
    NotStartsWith(PrimitiveValue),
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
}

impl Predicate {
    /// All of these; flattened, without what is always true.
    pub fn and(predicates: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Vec::new();
        for predicate in predicates {
            match predicate {
                Self::True => {}
                Self::False => return Self::False,
                Self::And(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        match all.len() {
            0 => Self::True,
            1 => all.remove(0),
            _ => Self::And(all),
        }
    }

    /// At least one of these; flattened, without what is never true.
    pub fn or(predicates: impl IntoIterator<Item = Self>) -> Self {
        let mut any = Vec::new();
        for predicate in predicates {
            match predicate {
                Self::False => {}
                Self::True => return Self::True,
                Self::Or(inner) => any.extend(inner),
                other => any.push(other),
            }
        }
        match any.len() {
            0 => Self::False,
            1 => any.remove(0),
            _ => Self::Or(any),
        }
    }

    /// Each term that is tested, as often as it is.
    pub fn terms(&self) -> Vec<&Term> {
        match self {
            Self::True | Self::False => Vec::new(),
            Self::And(inner) | Self::Or(inner) => inner.iter().flat_map(Self::terms).collect(),
            Self::Test(test) => vec![&test.term],
        }
    }
}

impl Term {
    /// A field as it is.
    pub fn field(field_id: i32, field_type: PrimitiveType) -> Self {
        Self {
            field_id,
            field_type,
            transform: Transform::Identity,
        }
    }

    /// The type of what is tested.
    pub fn value_type(&self) -> PrimitiveType {
        self.transform.result_type(&self.field_type)
    }
}

impl Check {
    /// Whether it is true of a value; `None` is null. This is the meaning of checks: every faster way must
    /// agree with it.
    ///
    /// Values of another type than the check's are not equal, and neither less nor greater.
    pub fn is_true_of(&self, value: Option<&PrimitiveValue>) -> bool {
        let Some(value) = value else {
            return matches!(self, Self::IsNull);
        };
        let equals = |other: &PrimitiveValue| {
            compare_values(value, other).is_some_and(std::cmp::Ordering::is_eq)
        };
        match self {
            Self::IsNull => false,
            Self::NotNull => true,
            Self::IsNan => is_nan(value),
            Self::NotNan => !is_nan(value),
            Self::Compare(comparison, to) => {
                compare_values(value, to).is_some_and(|ordering| comparison.holds(ordering))
            }
            Self::In(values) => values.iter().any(equals),
            Self::NotIn(values) => !values.iter().any(equals),
            Self::StartsWith(prefix) => starts_with(value, prefix).unwrap_or(false),
            Self::NotStartsWith(prefix) => starts_with(value, prefix).is_some_and(|starts| !starts),
        }
    }
}

impl Comparison {
    /// Whether values compare so that are ordered so.
    pub fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::GreaterOrEqual => ordering.is_ge(),
            Self::Greater => ordering.is_gt(),
        }
    }

    /// The one that holds of non-null values where this one does not.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::GreaterOrEqual => Self::Less,
            Self::Greater => Self::LessOrEqual,
        }
    }

    /// The one that holds with both sides exchanged.
    #[must_use]
    pub fn commuted(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Equal | Self::NotEqual => self,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Greater => Self::Less,
        }
    }
}

fn is_nan(value: &PrimitiveValue) -> bool {
    match value {
        PrimitiveValue::Float(value) => value.is_nan(),
        PrimitiveValue::Double(value) => value.is_nan(),
        _ => false,
    }
}

fn starts_with(value: &PrimitiveValue, prefix: &PrimitiveValue) -> Option<bool> {
    use PrimitiveValue as V;
    match (value, prefix) {
        (V::String(value), V::String(prefix)) => Some(value.starts_with(prefix)),
        (V::Binary(value) | V::Fixed(value), V::Binary(prefix) | V::Fixed(prefix)) => {
            Some(value.starts_with(prefix))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(field_id: i32) -> Predicate {
        Predicate::Test(Test {
            term: Term::field(field_id, PrimitiveType::Int),
            check: Check::NotNull,
        })
    }

    #[test]
    fn conjunctions_and_disjunctions_are_flat() {
        assert_eq!(Predicate::and([]), Predicate::True);
        assert_eq!(Predicate::or([]), Predicate::False);
        assert_eq!(Predicate::and([Predicate::True, test(1)]), test(1));
        assert_eq!(
            Predicate::and([test(1), Predicate::False]),
            Predicate::False
        );
        assert_eq!(Predicate::or([test(1), Predicate::True]), Predicate::True);
        assert_eq!(
            Predicate::and([Predicate::and([test(1), test(2)]), test(3)]),
            Predicate::And(vec![test(1), test(2), test(3)])
        );
    }

    #[test]
    fn null_is_nothing_but_null() {
        let value = || PrimitiveValue::Int(1);
        for check in [
            Check::NotNull,
            Check::IsNan,
            Check::NotNan,
            Check::Compare(Comparison::NotEqual, value()),
            Check::In(Arc::new([value()])),
            Check::NotIn(Arc::new([value()])),
            Check::StartsWith(PrimitiveValue::String(String::new())),
            Check::NotStartsWith(PrimitiveValue::String(String::new())),
        ] {
            assert!(!check.is_true_of(None), "{check:?}");
        }
        assert!(Check::IsNull.is_true_of(None));
        assert!(!Check::IsNull.is_true_of(Some(&value())));
    }

    #[test]
    fn nan_is_the_greatest_and_equals_itself() {
        let nan = PrimitiveValue::Double(f64::NAN);
        let infinity = PrimitiveValue::Double(f64::INFINITY);
        let check = |comparison, to: &PrimitiveValue| Check::Compare(comparison, to.clone());
        assert!(check(Comparison::Equal, &nan).is_true_of(Some(&nan)));
        assert!(check(Comparison::Greater, &infinity).is_true_of(Some(&nan)));
        assert!(!check(Comparison::Less, &nan).is_true_of(Some(&nan)));
        assert!(check(Comparison::Less, &nan).is_true_of(Some(&infinity)));
        assert!(!Check::NotNan.is_true_of(Some(&nan)));
    }
}
