//! What is known of a condition on many rows without looking at any: whether it may hold of one, and whether
//! it may fail of one. Spec: "Scan Planning" (inclusive and strict projections, in one).

use super::predicate::{Predicate, Test};

/// What a condition may be on the rows of a file, a manifest, a row group or a page.
///
/// Either is `true` where that is unknown; where there are no rows, both can be `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Verdict {
    /// It may hold of some row: if not, the rows need not be read.
    pub may_hold: bool,
    /// It may fail of some row: if not, the rows need not be checked.
    pub may_fail: bool,
}

impl Verdict {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        may_hold: true,
        may_fail: true,
    };
    /// It holds of every row.
    pub const ALWAYS: Self = Self {
        may_hold: true,
        may_fail: false,
    };
    /// It holds of no row.
    pub const NEVER: Self = Self {
        may_hold: false,
        may_fail: true,
    };

    /// Of the same condition on the same rows, when this and the other are both known.
    #[must_use]
    pub fn given(self, other: Self) -> Self {
        Self {
            may_hold: self.may_hold && other.may_hold,
            may_fail: self.may_fail && other.may_fail,
        }
    }

    /// Of the same condition on these rows and those.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        Self {
            may_hold: self.may_hold || other.may_hold,
            may_fail: self.may_fail || other.may_fail,
        }
    }

    /// Of the condition that holds where this one fails.
    #[must_use]
    pub fn negated(self) -> Self {
        Self {
            may_hold: self.may_fail,
            may_fail: self.may_hold,
        }
    }
}

impl Predicate {
    /// What the predicate may be, by what each of its tests may be.
    pub fn verdict(&self, of: &mut impl FnMut(&Test) -> Verdict) -> Verdict {
        match self {
            Self::True => Verdict::ALWAYS,
            Self::False => Verdict::NEVER,
            Self::And(all) => {
                all.iter()
                    .map(|inner| inner.verdict(of))
                    .fold(Verdict::ALWAYS, |left, right| Verdict {
                        may_hold: left.may_hold && right.may_hold,
                        may_fail: left.may_fail || right.may_fail,
                    })
            }
            Self::Or(any) => {
                any.iter()
                    .map(|inner| inner.verdict(of))
                    .fold(Verdict::NEVER, |left, right| Verdict {
                        may_hold: left.may_hold || right.may_hold,
                        may_fail: left.may_fail && right.may_fail,
                    })
            }
            Self::Test(test) => of(test),
        }
    }

    /// The predicate without the tests of which it is known that they hold of every row, or of none.
    /// Asks as [`Predicate::verdict`] does, of every test once and in the same order.
    #[must_use]
    pub fn simplified(&self, of: &mut impl FnMut(&Test) -> Verdict) -> Self {
        match self {
            Self::True | Self::False => self.clone(),
            Self::And(all) => {
                let parts: Vec<_> = all.iter().map(|inner| inner.simplified(of)).collect();
                Self::and(parts)
            }
            Self::Or(any) => {
                let parts: Vec<_> = any.iter().map(|inner| inner.simplified(of)).collect();
                Self::or(parts)
            }
            Self::Test(test) => match of(test) {
                Verdict {
                    may_hold: false, ..
                } => Self::False,
                Verdict {
                    may_fail: false, ..
                } => Self::True,
                _ => self.clone(),
            },
        }
    }

    /// Each test, in the order of [`Predicate::verdict`].
    pub fn tests(&self) -> Vec<&Test> {
        match self {
            Self::True | Self::False => Vec::new(),
            Self::And(inner) | Self::Or(inner) => inner.iter().flat_map(Self::tests).collect(),
            Self::Test(test) => vec![test],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Check, PrimitiveType, Term};

    /// A test whose verdict is told by its field id.
    fn test(verdict: i32) -> Predicate {
        Predicate::Test(Test {
            term: Term::field(verdict, PrimitiveType::Int),
            check: Check::NotNull,
        })
    }

    fn told(test: &Test) -> Verdict {
        match test.term.field_id {
            0 => Verdict::NEVER,
            1 => Verdict::ALWAYS,
            _ => Verdict::UNKNOWN,
        }
    }

    const N: i32 = 0;
    const A: i32 = 1;
    const U: i32 = 2;

    #[test]
    fn conjunctions_and_disjunctions_of_what_is_known() {
        for (left, right, both, either) in [
            (N, N, N, N),
            (N, A, N, A),
            (N, U, N, U),
            (A, A, A, A),
            (A, U, U, A),
            (U, U, U, U),
        ] {
            for (left, right) in [(left, right), (right, left)] {
                let parts = || vec![test(left), test(right)];
                let of = |verdict| test(verdict).verdict(&mut told);
                assert_eq!(Predicate::And(parts()).verdict(&mut told), of(both));
                assert_eq!(Predicate::Or(parts()).verdict(&mut told), of(either));
            }
        }
        assert_eq!(Predicate::True.verdict(&mut told), Verdict::ALWAYS);
        assert_eq!(Predicate::False.verdict(&mut told), Verdict::NEVER);
    }

    #[test]
    fn what_is_known_is_left_out() {
        let simplified = |predicate: Predicate| predicate.simplified(&mut told);
        assert_eq!(simplified(test(A)), Predicate::True);
        assert_eq!(simplified(test(N)), Predicate::False);
        assert_eq!(simplified(test(U)), test(U));
        assert_eq!(
            simplified(Predicate::And(vec![
                test(A),
                Predicate::Or(vec![test(N), test(3)]),
                test(4),
            ])),
            Predicate::And(vec![test(3), test(4)])
        );
        assert_eq!(
            simplified(Predicate::Or(vec![
                test(3),
                Predicate::And(vec![test(4), test(N)])
            ])),
            test(3)
        );
    }
}
