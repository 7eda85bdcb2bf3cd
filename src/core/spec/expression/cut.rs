//! Where a constant lies among the values of a term, and which of them compare so to it. The constant need not be a
//! value of the term's type: 1.005 lies between two values of a decimal with two digits. Spec: "Scan Planning".

use super::predicate::{Check, Comparison, Predicate, Term, Test};
use crate::spec::types::PrimitiveType;
use crate::spec::value::PrimitiveValue;

/// A place between the values of a type, in the order of [`compare_values`](super::compare_values).
#[derive(Debug, Clone, PartialEq)]
pub enum Cut {
    /// Before the least one.
    BeforeAll,
    /// Just before this one.
    Before(PrimitiveValue),
    /// Just after this one.
    After(PrimitiveValue),
    /// After the greatest one.
    AfterAll,
}

/// Where a constant lies: values before `low` are less than it, values after `high` are greater, values between
/// equal it. Where that is not known exactly, each cut is known to lie between two.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    low: Span,
    high: Span,
    /// The only value that equals it.
    single: Option<PrimitiveValue>,
}

/// Where a cut lies at the earliest and at the latest.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The earliest it can lie.
    pub earliest: Cut,
    /// The latest it can lie.
    pub latest: Cut,
}

impl Cut {
    /// The cut before everything that is at least the `ordinal`th value of a type; see [`ordinals`].
    pub fn before_ordinal(of: &PrimitiveType, ordinal: i128) -> Option<Self> {
        let range = ordinals(of)?;
        Some(if ordinal <= *range.start() {
            Self::BeforeAll
        } else if ordinal > *range.end() {
            Self::AfterAll
        } else {
            Self::Before(value_of_ordinal(of, ordinal)?)
        })
    }

    fn is_after(&self, term: &Term) -> Predicate {
        match self {
            Self::BeforeAll => Predicate::False,
            Self::Before(value) => compare(term, Comparison::Less, value),
            Self::After(value) => compare(term, Comparison::LessOrEqual, value),
            Self::AfterAll => not_null(term),
        }
    }

    fn is_before(&self, term: &Term) -> Predicate {
        match self {
            Self::BeforeAll => not_null(term),
            Self::Before(value) => compare(term, Comparison::GreaterOrEqual, value),
            Self::After(value) => compare(term, Comparison::Greater, value),
            Self::AfterAll => Predicate::False,
        }
    }
}

impl Span {
    /// A cut that is known.
    pub fn at(cut: Cut) -> Self {
        Self {
            earliest: cut.clone(),
            latest: cut,
        }
    }
}

impl Bounds {
    /// A constant that is a value of the type.
    pub fn value(value: PrimitiveValue) -> Self {
        Self {
            low: Span::at(Cut::Before(value.clone())),
            high: Span::at(Cut::After(value.clone())),
            single: Some(value),
        }
    }

    /// A constant that no value equals.
    pub fn between(cut: Cut) -> Self {
        Self::new(Span::at(cut.clone()), Span::at(cut))
    }

    /// A constant between two cuts.
    pub fn new(low: Span, high: Span) -> Self {
        Self {
            low,
            high,
            single: None,
        }
    }

    /// A constant of which exactly the values with these ordinals are equal: `first` up to, without it, `end`.
    pub fn of_ordinals(of: &PrimitiveType, first: i128, end: i128) -> Option<Self> {
        let range = ordinals(of)?;
        let single = if end.checked_sub(first) == Some(1) && range.contains(&first) {
            value_of_ordinal(of, first)
        } else {
            None
        };
        Some(Self {
            low: Span::at(Cut::before_ordinal(of, first)?),
            high: Span::at(Cut::before_ordinal(of, end)?),
            single,
        })
    }

    /// Whether it is known exactly where the constant lies.
    pub fn are_exact(&self) -> bool {
        // A NaN that is the only value does not equal itself here.
        self.single.is_some()
            || self.low.earliest == self.low.latest && self.high.earliest == self.high.latest
    }

    /// The only value that equals the constant, if there is only one.
    pub fn single(&self) -> Option<&PrimitiveValue> {
        self.single.as_ref()
    }

    /// Whether no value equals the constant.
    pub fn are_empty(&self) -> bool {
        self.single.is_none() && self.are_exact() && self.low == self.high
    }

    /// When the value of a term compares so to the constant; where the bounds are not exact, whenever it can.
    pub fn compare(&self, term: &Term, comparison: Comparison) -> Predicate {
        if let Some(value) = &self.single {
            return compare(term, comparison, value);
        }
        match comparison {
            Comparison::Less => self.low.latest.is_after(term),
            Comparison::LessOrEqual => self.high.latest.is_after(term),
            Comparison::GreaterOrEqual => self.low.earliest.is_before(term),
            Comparison::Greater => self.high.earliest.is_before(term),
            Comparison::Equal if self.are_empty() => Predicate::False,
            Comparison::Equal => both(
                self.low.earliest.is_before(term),
                self.high.latest.is_after(term),
            ),
            Comparison::NotEqual if self.are_exact() && !self.are_empty() => Predicate::or([
                self.low.latest.is_after(term),
                self.high.earliest.is_before(term),
            ]),
            // Where it is not known which values are equal, none can be left out.
            Comparison::NotEqual => not_null(term),
        }
    }
}

/// Both hold. Being not null says nothing beside another test of the same term.
fn both(one: Predicate, other: Predicate) -> Predicate {
    let is_not_null = |predicate: &Predicate| {
        matches!(
            predicate,
            Predicate::Test(Test {
                check: Check::NotNull,
                ..
            })
        )
    };
    if is_not_null(&one) {
        return other;
    }
    if is_not_null(&other) {
        return one;
    }
    Predicate::and([one, other])
}

fn compare(term: &Term, comparison: Comparison, value: &PrimitiveValue) -> Predicate {
    Predicate::Test(Test {
        term: term.clone(),
        check: Check::Compare(comparison, value.clone()),
    })
}

fn not_null(term: &Term) -> Predicate {
    Predicate::Test(Test {
        term: term.clone(),
        check: Check::NotNull,
    })
}

/// The numbers that stand for the values of a type whose values follow one another, in their order: the number that
/// is stored. `None` for other types.
pub fn ordinals(of: &PrimitiveType) -> Option<std::ops::RangeInclusive<i128>> {
    Some(match of {
        PrimitiveType::Boolean => 0..=1,
        PrimitiveType::Int | PrimitiveType::Date => i32::MIN.into()..=i32::MAX.into(),
        PrimitiveType::Long
        | PrimitiveType::Time
        | PrimitiveType::Timestamp
        | PrimitiveType::Timestamptz
        | PrimitiveType::TimestampNs
        | PrimitiveType::TimestamptzNs => i64::MIN.into()..=i64::MAX.into(),
        PrimitiveType::Decimal { precision, .. } => {
            let end = 10_i128.checked_pow((*precision).into())?;
            1 - end..=end - 1
        }
        _ => return None,
    })
}

/// The value that an ordinal stands for; `None` if there is none.
pub fn value_of_ordinal(of: &PrimitiveType, ordinal: i128) -> Option<PrimitiveValue> {
    use PrimitiveValue as V;
    let long = || i64::try_from(ordinal).ok();
    Some(match of {
        PrimitiveType::Boolean => V::Boolean(match ordinal {
            0 => false,
            1 => true,
            _ => return None,
        }),
        PrimitiveType::Int => V::Int(ordinal.try_into().ok()?),
        PrimitiveType::Date => V::Date(ordinal.try_into().ok()?),
        PrimitiveType::Long => V::Long(long()?),
        PrimitiveType::Time => V::Time(long()?),
        PrimitiveType::Timestamp => V::Timestamp(long()?),
        PrimitiveType::Timestamptz => V::Timestamptz(long()?),
        PrimitiveType::TimestampNs => V::TimestampNs(long()?),
        PrimitiveType::TimestamptzNs => V::TimestamptzNs(long()?),
        PrimitiveType::Decimal { .. } => V::Decimal(ordinal),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: PrimitiveType = PrimitiveType::Int;
    const ALL: [Comparison; 6] = [
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::GreaterOrEqual,
        Comparison::Greater,
    ];

    fn holds(predicate: &Predicate, value: Option<&PrimitiveValue>) -> bool {
        match predicate {
            Predicate::True => true,
            Predicate::False => false,
            Predicate::And(all) => all.iter().all(|inner| holds(inner, value)),
            Predicate::Or(any) => any.iter().any(|inner| holds(inner, value)),
            Predicate::Test(test) => test.check.is_true_of(value),
        }
    }

    fn wanted(comparison: Comparison, value: i32, first: i128, end: i128) -> bool {
        let value = i128::from(value);
        let ordering = if value < first {
            std::cmp::Ordering::Less
        } else if value >= end {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        };
        comparison.holds(ordering)
    }

    #[test]
    fn values_compare_as_the_bounds_say() {
        let term = Term::field(1, INT);
        let (least, greatest) = (i32::MIN, i32::MAX);
        let ends = [
            i128::MIN,
            i128::from(least) - 5,
            least.into(),
            i128::from(least) + 1,
            3,
            4,
            7,
            greatest.into(),
            i128::from(greatest) + 1,
            i128::MAX,
        ];
        for (at, first) in ends.iter().enumerate() {
            for end in &ends[at..] {
                let bounds = Bounds::of_ordinals(&INT, *first, *end).unwrap();
                for comparison in ALL {
                    let predicate = bounds.compare(&term, comparison);
                    assert!(!holds(&predicate, None), "{first} {end} {comparison:?}");
                    for value in [
                        least,
                        least + 1,
                        0,
                        2,
                        3,
                        4,
                        6,
                        7,
                        8,
                        greatest - 1,
                        greatest,
                    ] {
                        assert_eq!(
                            holds(&predicate, Some(&PrimitiveValue::Int(value))),
                            wanted(comparison, value, *first, *end),
                            "{value} {comparison:?} {first}..{end}: {predicate:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn bounds_that_are_not_exact_leave_nothing_out() {
        let term = Term::field(1, INT);
        let cut = |ordinal| Cut::before_ordinal(&INT, ordinal).unwrap();
        for [a, b, c, d] in [[1, 4, 6, 9], [1, 6, 4, 9], [1, 9, 1, 9]] {
            let bounds = Bounds::new(
                Span {
                    earliest: cut(a),
                    latest: cut(b),
                },
                Span {
                    earliest: cut(c),
                    latest: cut(d),
                },
            );
            assert!(!bounds.are_exact());
            for comparison in ALL {
                let predicate = bounds.compare(&term, comparison);
                assert!(!holds(&predicate, None));
                for value in 0..=10 {
                    let possible = (a..=b).any(|first| {
                        (c..=d).any(|end| first <= end && wanted(comparison, value, first, end))
                    });
                    let kept = holds(&predicate, Some(&PrimitiveValue::Int(value)));
                    assert!(kept || !possible, "{value} {comparison:?} {a} {b} {c} {d}");
                }
            }
        }
    }

    #[test]
    fn nan_is_a_value_like_others() {
        let bounds = Bounds::value(PrimitiveValue::Double(f64::NAN));
        assert!(bounds.are_exact() && !bounds.are_empty());
    }

    #[test]
    fn a_value_between_two_equals_none() {
        let term = Term::field(1, PrimitiveType::Double);
        let bounds = Bounds::between(Cut::After(PrimitiveValue::Double(1.0)));
        assert_eq!(bounds.compare(&term, Comparison::Equal), Predicate::False);
        let at_most = bounds.compare(&term, Comparison::Less);
        assert!(holds(&at_most, Some(&PrimitiveValue::Double(1.0))));
        assert!(!holds(&at_most, Some(&PrimitiveValue::Double(1.5))));
        assert!(holds(
            &bounds.compare(&term, Comparison::NotEqual),
            Some(&PrimitiveValue::Double(1.0))
        ));
    }
}
