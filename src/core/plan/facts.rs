//! What is known of one term in many rows, from several sources at once.
//! Spec: "Scan Planning".

use std::num::NonZeroU32;

use crate::spec::expression::is_computed_alike;
use crate::spec::{Check, Comparison, PossibleValues, PrimitiveValue, Term, Transform, Verdict};

/// What is known of a term; all of it holds at once.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// What values it may have.
    values: Vec<PossibleValues>,
    /// What buckets its values may be in.
    buckets: Vec<(NonZeroU32, PossibleValues)>,
}

impl Facts {
    /// Adds what is known of the term's field.
    pub fn add_field_values(&mut self, term: &Term, values: &PossibleValues) {
        self.values
            .extend(values.transformed(&term.transform, &term.field_type));
    }

    /// Adds what a partition spec's transform made of the term's field.
    pub fn add_partition_values(
        &mut self,
        term: &Term,
        transform: &Transform,
        values: PossibleValues,
    ) {
        if !is_computed_alike(transform, &term.field_type) {
            return;
        }
        let values = values.as_rounded_by_old_writers(transform, &term.field_type);
        if *transform == term.transform {
            self.values.push(values);
            return;
        }
        if let Some(source) = values.source_of(transform, &term.field_type) {
            self.add_field_values(term, &source);
        }
        if let (Transform::Bucket(buckets), Transform::Identity) = (transform, &term.transform) {
            self.buckets.push((*buckets, values));
        }
    }

    /// What values a term that is a field may have, as far as that can be said at once.
    pub fn field_values(&self, term: &Term) -> PossibleValues {
        let unknown = PossibleValues::unknown(&term.field_type);
        let known = |of: fn(&PossibleValues) -> bool| self.values.iter().all(of);
        PossibleValues {
            nulls: unknown.nulls && known(|values| values.nulls),
            nans: unknown.nans && known(|values| values.nans),
            others: unknown.others && known(|values| values.others),
            lower: self.values.iter().find_map(|values| values.lower.clone()),
            upper: self.values.iter().find_map(|values| values.upper.clone()),
        }
    }

    /// What a check may be.
    pub fn verdict(&self, check: &Check) -> Verdict {
        let verdict = self
            .values
            .iter()
            .map(|values| values.verdict(check))
            .fold(Verdict::UNKNOWN, Verdict::given);
        if self.values.len() + self.buckets.len() < 2 {
            return verdict;
        }
        // A value that one source allows may be what another excludes.
        let equal = |values: &[PrimitiveValue]| values.iter().any(|value| self.may_have(value));
        match check {
            Check::Compare(Comparison::Equal, value) => Verdict {
                may_hold: verdict.may_hold && equal(std::slice::from_ref(value)),
                ..verdict
            },
            Check::In(values) => Verdict {
                may_hold: verdict.may_hold && equal(values),
                ..verdict
            },
            Check::Compare(Comparison::NotEqual, value) => Verdict {
                may_fail: verdict.may_fail
                    && (self.may_be_null() || equal(std::slice::from_ref(value))),
                ..verdict
            },
            Check::NotIn(values) => Verdict {
                may_fail: verdict.may_fail && (self.may_be_null() || equal(values)),
                ..verdict
            },
            _ => verdict,
        }
    }

    fn may_have(&self, value: &PrimitiveValue) -> bool {
        self.values.iter().all(|values| values.may_have(value))
            && self.buckets.iter().all(|(buckets, values)| {
                Transform::Bucket(*buckets)
                    .apply(value)
                    .is_none_or(|bucket| values.may_have(&bucket))
            })
    }

    fn may_be_null(&self) -> bool {
        self.values.iter().all(|values| values.nulls)
    }
}

#[cfg(test)]
mod tests {
    use PrimitiveValue as V;

    use super::*;
    use crate::spec::{PrimitiveType, UpperEnd};

    fn between(nulls: bool, lower: i32, upper: i32) -> PossibleValues {
        PossibleValues {
            nulls,
            lower: Some(V::Int(lower)),
            upper: Some(UpperEnd::Value(V::Int(upper))),
            ..PossibleValues::unknown(&PrimitiveType::Int)
        }
    }

    #[test]
    fn a_value_must_be_possible_by_all_that_is_known() {
        let term = Term::field(1, PrimitiveType::Int);
        let facts = |first: PossibleValues, second: PossibleValues| {
            let mut facts = Facts::default();
            facts.add_field_values(&term, &first);
            facts.add_field_values(&term, &second);
            facts
        };
        let (one, seven) = (V::Int(1), V::Int(7));
        let equal = |value: &V| Check::Compare(Comparison::Equal, value.clone());
        let not_equal = |value: &V| Check::Compare(Comparison::NotEqual, value.clone());
        let both = || [one.clone(), seven.clone()].into_iter();
        let apart = facts(between(false, 0, 3), between(false, 2, 9));
        for check in [equal(&one), equal(&seven), Check::In(both().collect())] {
            assert_eq!(apart.verdict(&check), Verdict::NEVER, "{check:?}");
        }
        for check in [
            not_equal(&one),
            not_equal(&seven),
            Check::NotIn(both().collect()),
        ] {
            assert_eq!(apart.verdict(&check), Verdict::ALWAYS, "{check:?}");
            // Null equals nothing, and is not unequal to anything either; one source may say that there is none.
            let nulls = facts(between(true, 0, 3), between(true, 2, 9));
            assert_eq!(nulls.verdict(&check), Verdict::UNKNOWN, "{check:?}");
            let no_nulls = facts(between(true, 0, 3), between(false, 2, 9));
            assert_eq!(no_nulls.verdict(&check), Verdict::ALWAYS, "{check:?}");
        }
        let values = apart.field_values(&term);
        assert!(!values.nulls && values.lower.is_some());
    }
}
