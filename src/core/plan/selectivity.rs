//! About which share of a file's rows a filter wants, as if values lay evenly between the file's bounds. Where these
//! are unknown, the guesses are Postgres' own (`selfuncs.h`). For estimates only.

use crate::spec::{
    Check, Comparison, PossibleValues, Predicate, PrimitiveValue, Term, Test, UpperEnd,
};

/// Rows that equal a value (`DEFAULT_EQ_SEL`).
const EQUAL: f64 = 0.005;
/// Rows that are less, or greater, than a value (`DEFAULT_INEQ_SEL`).
const RANGE: f64 = 1.0 / 3.0;
/// Rows between two values (`DEFAULT_RANGE_INEQ_SEL`), also the least that two bounds leave.
const BETWEEN: f64 = 0.005;
/// Texts that begin in some way (`DEFAULT_MATCH_SEL`).
const BEGINNING: f64 = 0.005;

/// What is known of a term in a file.
#[derive(Debug)]
pub(super) struct TermShape {
    /// What values it may have.
    pub values: PossibleValues,
    /// Which share of it is null; `None` where that is unknown.
    pub null_share: Option<f64>,
    /// How many rows there are; `None` where that is unknown.
    pub rows: Option<u64>,
}

/// The share of rows of which a predicate is true, by the shares of its tests. Tests are taken to be independent, but
/// for two ends of one term's range.
pub(super) fn share_of(predicate: &Predicate, of: &mut impl FnMut(&Test) -> f64) -> f64 {
    match predicate {
        Predicate::True => 1.0,
        Predicate::False => 0.0,
        Predicate::Test(test) => of(test),
        Predicate::Or(any) => {
            1.0 - any
                .iter()
                .map(|inner| 1.0 - share_of(inner, of))
                .product::<f64>()
        }
        Predicate::And(all) => {
            let mut share = 1.0;
            let mut ranges: Vec<Range<'_>> = Vec::new();
            for inner in all {
                let of_inner = share_of(inner, of);
                match end_of_range(inner) {
                    None => share *= of_inner,
                    Some((term, is_upper)) => {
                        if ranges.iter().all(|range| range.term != term) {
                            ranges.push(Range::of(term));
                        }
                        for range in ranges.iter_mut().filter(|range| range.term == term) {
                            let side = if is_upper {
                                &mut range.below
                            } else {
                                &mut range.above
                            };
                            *side = side.min(of_inner);
                        }
                    }
                }
            }
            share * ranges.iter().map(Range::share).product::<f64>()
        }
    }
}

/// The ends of one term's range.
struct Range<'a> {
    term: &'a Term,
    /// The share of rows above the lower end.
    above: f64,
    /// The share of rows below the upper end.
    below: f64,
}

impl<'a> Range<'a> {
    fn of(term: &'a Term) -> Self {
        Self {
            term,
            above: 1.0,
            below: 1.0,
        }
    }

    fn share(&self) -> f64 {
        let both = self.above + self.below - 1.0;
        if both > 0.0 {
            both
        } else {
            BETWEEN.min(self.above).min(self.below)
        }
    }
}

/// Whose range a predicate ends, and whether above.
fn end_of_range(predicate: &Predicate) -> Option<(&Term, bool)> {
    let Predicate::Test(Test {
        term,
        check: Check::Compare(comparison, _),
    }) = predicate
    else {
        return None;
    };
    match comparison {
        Comparison::Less | Comparison::LessOrEqual => Some((term, true)),
        Comparison::Greater | Comparison::GreaterOrEqual => Some((term, false)),
        Comparison::Equal | Comparison::NotEqual => None,
    }
}

impl TermShape {
    /// The share of rows of which a check is true that may be true of some and false of others.
    pub fn share_of(&self, check: &Check) -> f64 {
        let nulls = self
            .null_share
            .unwrap_or(if self.values.nulls { EQUAL } else { 0.0 });
        let others = (1.0 - nulls).clamp(0.0, 1.0);
        let equal = |values: &[PrimitiveValue]| {
            let possible = values.iter().filter(|value| self.values.may_have(value));
            (possible.count() as f64 * self.equal_to_one()).min(1.0)
        };
        match check {
            Check::IsNull => nulls.clamp(0.0, 1.0),
            Check::NotNull => others,
            Check::IsNan => EQUAL,
            Check::NotNan => others - EQUAL.min(others),
            Check::Compare(comparison, value) => {
                let below = self.below(value);
                others
                    * match comparison {
                        Comparison::Less | Comparison::LessOrEqual => below.unwrap_or(RANGE),
                        Comparison::Greater | Comparison::GreaterOrEqual => {
                            below.map_or(RANGE, |below| 1.0 - below)
                        }
                        Comparison::Equal => equal(std::slice::from_ref(value)),
                        Comparison::NotEqual => 1.0 - equal(std::slice::from_ref(value)),
                    }
            }
            Check::In(values) => others * equal(values),
            Check::NotIn(values) => others * (1.0 - equal(values)),
            Check::StartsWith(_) => others * BEGINNING,
            Check::NotStartsWith(_) => others * (1.0 - BEGINNING),
        }
    }

    /// The share of rows that have one value which some row has: as if each value were there as often, and whole
    /// numbers and days were all there.
    fn equal_to_one(&self) -> f64 {
        let (lower, upper) = (&self.values.lower, &self.values.upper);
        let one_of = match (lower, upper.as_ref().map(UpperEnd::value)) {
            (
                Some(
                    lower @ (PrimitiveValue::Int(_)
                    | PrimitiveValue::Long(_)
                    | PrimitiveValue::Date(_)),
                ),
                Some(upper),
            ) => number(lower, 0)
                .zip(number(upper, 0))
                .map(|(lower, upper)| 1.0 / (upper - lower + 1.0).max(1.0)),
            (Some(PrimitiveValue::Boolean(_)), _) => Some(0.5),
            _ => None,
        };
        let at_least = self.rows.map_or(0.0, |rows| 1.0 / rows.max(1) as f64);
        one_of.unwrap_or(EQUAL).max(at_least)
    }

    /// The share of values below one, as if they lay evenly between the bounds.
    fn below(&self, value: &PrimitiveValue) -> Option<f64> {
        let (lower, upper) = (
            self.values.lower.as_ref()?,
            self.values.upper.as_ref()?.value(),
        );
        let shared = match (bytes(lower), bytes(upper)) {
            (Some(lower), Some(upper)) => {
                let same = |(left, right): &(&u8, &u8)| left == right;
                lower.iter().zip(upper).take_while(same).count()
            }
            _ => 0,
        };
        let (lower, upper) = (number(lower, shared)?, number(upper, shared)?);
        let value = number(value, shared)?;
        let width = upper - lower;
        if !width.is_finite() || width <= 0.0 || value.is_nan() {
            return None;
        }
        Some(((value - lower) / width).clamp(0.0, 1.0))
    }
}

/// Where a value lies in its type's order, about; a text or bytes by what follows `shared` bytes.
fn number(value: &PrimitiveValue, shared: usize) -> Option<f64> {
    use PrimitiveValue as V;
    Some(match value {
        V::Boolean(value) => f64::from(u8::from(*value)),
        V::Int(value) | V::Date(value) => f64::from(*value),
        V::Long(value)
        | V::Time(value)
        | V::Timestamp(value)
        | V::Timestamptz(value)
        | V::TimestampNs(value)
        | V::TimestamptzNs(value) => *value as f64,
        V::Float(value) => f64::from(*value),
        V::Double(value) => *value,
        V::Decimal(value) => *value as f64,
        V::String(_) | V::Uuid(_) | V::Fixed(_) | V::Binary(_) => {
            let mut first = [0; 8];
            let rest = bytes(value)?.get(shared..).unwrap_or_default();
            for (to, from) in first.iter_mut().zip(rest) {
                *to = *from;
            }
            u64::from_be_bytes(first) as f64
        }
    })
}

fn bytes(value: &PrimitiveValue) -> Option<&[u8]> {
    match value {
        PrimitiveValue::String(value) => Some(value.as_bytes()),
        PrimitiveValue::Uuid(value) => Some(value.as_bytes()),
        PrimitiveValue::Fixed(value) | PrimitiveValue::Binary(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use PrimitiveValue as V;

    use super::*;
    use crate::spec::PrimitiveType;

    fn shape(lower: V, upper: V, nulls: f64) -> TermShape {
        TermShape {
            values: PossibleValues {
                nulls: nulls > 0.0,
                nans: false,
                others: true,
                lower: Some(lower),
                upper: Some(UpperEnd::Value(upper)),
            },
            null_share: Some(nulls),
            rows: Some(1000),
        }
    }

    fn compare(comparison: Comparison, value: V) -> Check {
        Check::Compare(comparison, value)
    }

    #[track_caller]
    fn assert_near(given: f64, expected: f64) {
        assert!((given - expected).abs() < 1e-6, "{given} is not {expected}");
    }

    #[test]
    fn values_lie_evenly_between_bounds() {
        use Comparison::*;
        let days = shape(V::Date(0), V::Date(99), 0.0);
        assert_near(days.share_of(&compare(Equal, V::Date(7))), 0.01);
        assert_near(days.share_of(&compare(NotEqual, V::Date(7))), 0.99);
        assert_near(days.share_of(&compare(Less, V::Date(33))), 1.0 / 3.0);
        assert_near(days.share_of(&compare(Greater, V::Date(33))), 2.0 / 3.0);
        let several = |values: &[i32]| values.iter().copied().map(V::Date).collect();
        // What is out of bounds is no row's.
        assert_near(days.share_of(&Check::In(several(&[1, 2, 500]))), 0.02);
        assert_near(days.share_of(&Check::NotIn(several(&[1, 2]))), 0.98);
        // No value is rarer than one row.
        let keys = shape(V::Long(0), V::Long(i64::MAX), 0.0);
        assert_near(keys.share_of(&compare(Equal, V::Long(7))), 0.001);
        let texts = shape(V::String("user-a".into()), V::String("user-c".into()), 0.0);
        assert_near(
            texts.share_of(&compare(Less, V::String("user-b".into()))),
            0.5,
        );
        let half_null = shape(V::Double(0.0), V::Double(1.0), 0.5);
        assert_near(half_null.share_of(&compare(Less, V::Double(0.5))), 0.25);
        assert_near(half_null.share_of(&Check::IsNull), 0.5);
        assert_near(half_null.share_of(&Check::NotNull), 0.5);
    }

    #[test]
    fn what_is_unknown_is_guessed_as_postgres_does() {
        use Comparison::*;
        let unknown = TermShape {
            values: PossibleValues::unknown(&PrimitiveType::String),
            null_share: Some(0.0),
            rows: None,
        };
        let text = || V::String("x".into());
        assert_near(unknown.share_of(&compare(Equal, text())), 0.005);
        assert_near(unknown.share_of(&compare(Less, text())), 1.0 / 3.0);
        assert_near(
            unknown.share_of(&compare(GreaterOrEqual, text())),
            1.0 / 3.0,
        );
        assert_near(unknown.share_of(&Check::StartsWith(text())), 0.005);
        // Bounds that tell no order, and values that have no number.
        let one = shape(V::Double(1.0), V::Double(1.0), 0.0);
        assert_near(one.share_of(&compare(Less, V::Double(1.0))), 1.0 / 3.0);
        let endless = shape(V::Double(f64::NEG_INFINITY), V::Double(1.0), 0.0);
        assert_near(endless.share_of(&compare(Less, V::Double(1.0))), 1.0 / 3.0);
    }

    #[test]
    fn two_ends_of_a_range_are_not_independent() {
        let test = |field_id, comparison| {
            Predicate::Test(Test {
                term: Term::field(field_id, PrimitiveType::Int),
                check: compare(comparison, V::Int(0)),
            })
        };
        let mut of = |test: &Test| match (&test.check, test.term.field_id) {
            (Check::Compare(Comparison::Less, _), _) => 0.6,
            (_, 1) => 0.7,
            _ => 0.5,
        };
        let within = Predicate::and([test(1, Comparison::Greater), test(1, Comparison::Less)]);
        assert_near(share_of(&within, &mut of), 0.3);
        let of_two = Predicate::and([test(2, Comparison::Greater), test(1, Comparison::Less)]);
        assert_near(share_of(&of_two, &mut of), 0.3);
        let either = Predicate::or([test(2, Comparison::Greater), test(1, Comparison::Less)]);
        assert_near(share_of(&either, &mut of), 0.8);
        let mut apart = |_: &Test| 0.2;
        assert_near(share_of(&within, &mut apart), 0.005);
        assert_near(share_of(&Predicate::True, &mut of), 1.0);
        assert_near(share_of(&Predicate::False, &mut of), 0.0);
    }
}
