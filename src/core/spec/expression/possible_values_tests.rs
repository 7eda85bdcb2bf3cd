//! Verdicts against the ones that counting all possible values gives, and texts by hand.

use std::sync::Arc;

use PrimitiveValue as V;
use proptest::prelude::*;

use super::*;
use crate::spec::strategies::{storable_type, value_of};

const COMPARISONS: [Comparison; 6] = [
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::GreaterOrEqual,
    Comparison::Greater,
];

fn verdict(may_hold: bool, may_fail: bool) -> Verdict {
    Verdict { may_hold, may_fail }
}

/// What is to be said when exactly these values may be there.
fn of_values<'a>(check: &Check, values: impl IntoIterator<Item = Option<&'a V>>) -> Verdict {
    values
        .into_iter()
        .map(|value| check.is_true_of(value))
        .fold(verdict(false, false), |seen, holds| {
            seen.joined(verdict(holds, !holds))
        })
}

/// Every check there is on small numbers made by `make`.
fn checks(make: fn(i32) -> V) -> Vec<Check> {
    let mut checks = vec![Check::IsNull, Check::NotNull, Check::IsNan, Check::NotNan];
    for value in -4..=4 {
        for comparison in COMPARISONS {
            checks.push(Check::Compare(comparison, make(value)));
        }
        for other in -4..=4 {
            checks.push(Check::In(Arc::new([make(value), make(other)])));
            checks.push(Check::NotIn(Arc::new([make(value), make(other)])));
        }
    }
    checks
}

#[test]
fn verdicts_are_those_of_all_values_between_the_bounds() {
    for (nulls, lower, upper) in [false, true].into_iter().flat_map(|nulls| {
        (-3..=3).flat_map(move |lower| (lower..=3).map(move |upper| (nulls, lower, upper)))
    }) {
        let possible = PossibleValues {
            nulls,
            nans: false,
            others: true,
            lower: Some(V::Int(lower)),
            upper: Some(UpperEnd::Value(V::Int(upper))),
        };
        let values: Vec<_> = (lower..=upper).map(V::Int).collect();
        let all = || values.iter().map(Some).chain(nulls.then_some(None));
        for check in checks(V::Int) {
            let expected = of_values(&check, all());
            let given = possible.verdict(&check);
            // That a list has all values of a range is not looked for.
            match &check {
                Check::In(_) => assert_eq!(given.may_hold, expected.may_hold, "{check:?}"),
                Check::NotIn(_) => assert_eq!(given.may_fail, expected.may_fail, "{check:?}"),
                _ => assert_eq!(given, expected, "{check:?} of {possible:?}"),
            }
            assert!(given.may_hold || !expected.may_hold, "{check:?}");
            assert!(given.may_fail || !expected.may_fail, "{check:?}");
        }
    }
}

#[test]
fn an_unknown_end_is_no_end() {
    let half = |lower: Option<i32>, upper: Option<i32>| PossibleValues {
        nulls: false,
        nans: false,
        others: true,
        lower: lower.map(V::Int),
        upper: upper.map(V::Int).map(UpperEnd::Value),
    };
    for check in checks(V::Int) {
        for end in -3..=3 {
            // Values far beyond every tested one stand for what is unknown.
            let below: Vec<_> = (-30..=end).map(V::Int).collect();
            let above: Vec<_> = (end..=30).map(V::Int).collect();
            assert_eq!(
                half(None, Some(end)).verdict(&check),
                of_values(&check, below.iter().map(Some)),
                "{check:?} up to {end}"
            );
            assert_eq!(
                half(Some(end), None).verdict(&check),
                of_values(&check, above.iter().map(Some)),
                "{check:?} from {end}"
            );
        }
        let all: Vec<_> = (-30..=30).map(V::Int).collect();
        assert_eq!(
            half(None, None).verdict(&check),
            of_values(&check, all.iter().map(Some))
        );
    }
}

#[test]
fn a_constant_is_known_for_sure() {
    for constant in [
        None,
        Some(V::Int(2)),
        Some(V::Double(2.0)),
        Some(V::Double(f64::NAN)),
        Some(V::Float(f32::NAN)),
        Some(V::Float(-0.0)),
    ] {
        let make: fn(i32) -> V = match constant {
            Some(V::Double(_)) => |value| V::Double(value.into()),
            Some(V::Float(_)) => |value| V::Float(value as f32),
            _ => V::Int,
        };
        let nan = match constant {
            Some(V::Float(_)) => V::Float(f32::NAN),
            _ => V::Double(f64::NAN),
        };
        let mut checks = checks(make);
        if matches!(constant, Some(V::Double(_) | V::Float(_))) {
            checks.extend(COMPARISONS.map(|comparison| Check::Compare(comparison, nan.clone())));
            checks.push(Check::In(Arc::new([make(1), nan.clone()])));
            checks.push(Check::NotIn(Arc::new([make(1), nan])));
        }
        for check in checks {
            assert_eq!(
                PossibleValues::constant(constant.clone()).verdict(&check),
                of_values(&check, [constant.as_ref()]),
                "{check:?} of {constant:?}"
            );
        }
    }
}

/// known-bugs.md: "NaN".
#[test]
fn nan_is_kept_where_postgres_sorts_it() {
    let double = PrimitiveType::Double;
    let bound = |value: f64| value.to_le_bytes().to_vec();
    let (lower, upper) = (bound(1.0), bound(5.0));
    let known = |nans| {
        PossibleValues {
            nulls: false,
            nans,
            ..PossibleValues::unknown(&double)
        }
        .between(&double, Some(&lower), Some(&upper))
    };
    let check = |comparison, value| Check::Compare(comparison, V::Double(value));
    for (comparison, value, without, with) in [
        (
            Comparison::Greater,
            1e300,
            verdict(false, true),
            verdict(true, true),
        ),
        (
            Comparison::GreaterOrEqual,
            f64::NAN,
            verdict(false, true),
            verdict(true, true),
        ),
        (
            Comparison::Equal,
            f64::NAN,
            verdict(false, true),
            verdict(true, true),
        ),
        (
            Comparison::Greater,
            f64::NAN,
            verdict(false, true),
            verdict(false, true),
        ),
        (
            Comparison::LessOrEqual,
            f64::NAN,
            verdict(true, false),
            verdict(true, false),
        ),
        (
            Comparison::Less,
            f64::NAN,
            verdict(true, false),
            verdict(true, true),
        ),
        (
            Comparison::NotEqual,
            f64::NAN,
            verdict(true, false),
            verdict(true, true),
        ),
        (
            Comparison::Less,
            9.0,
            verdict(true, false),
            verdict(true, true),
        ),
        (
            Comparison::Greater,
            0.0,
            verdict(true, false),
            verdict(true, false),
        ),
        (
            Comparison::Less,
            0.0,
            verdict(false, true),
            verdict(false, true),
        ),
    ] {
        let check = check(comparison, value);
        assert_eq!(known(false).verdict(&check), without, "{check:?}");
        assert_eq!(known(true).verdict(&check), with, "{check:?}");
    }
    // Bounds that are NaN, from writers that took it for a bound: nothing is known.
    for (lower, upper) in [(f64::NAN, f64::NAN), (1.0, f64::NAN), (f64::NAN, 5.0)] {
        let unknown = PossibleValues::unknown(&double);
        assert_eq!(
            unknown
                .clone()
                .between(&double, Some(&bound(lower)), Some(&bound(upper))),
            unknown
        );
    }
}

/// The trap table's "-0.0".
#[test]
fn negative_zero_is_zero() {
    let float = PrimitiveType::Float;
    for (lower, upper) in [(0.0_f32, 0.0_f32), (-0.0, -0.0), (-0.0, 0.0)] {
        let possible = PossibleValues {
            nulls: false,
            nans: false,
            ..PossibleValues::unknown(&float)
        }
        .between(
            &float,
            Some(&lower.to_le_bytes()),
            Some(&upper.to_le_bytes()),
        );
        for zero in [0.0, -0.0] {
            let check = Check::Compare(Comparison::Equal, V::Float(zero));
            assert_eq!(possible.verdict(&check), verdict(true, false));
        }
    }
}

fn texts(lower: &str, upper: &str) -> PossibleValues {
    PossibleValues {
        nulls: false,
        ..PossibleValues::unknown(&PrimitiveType::String)
    }
    .between(
        &PrimitiveType::String,
        Some(lower.as_bytes()),
        Some(upper.as_bytes()),
    )
}

fn text(value: &str) -> V {
    V::String(value.to_owned())
}

#[test]
fn beginnings_of_texts_between_bounds() {
    // TestInclusiveMetricsEvaluator, testStringStartsWith and testStringNotStartsWith; where a text begins
    // with the upper bound, that may have been cut short, and is kept.
    let high = "イロハニホヘト";
    for (lower, upper, prefix, starts, does_not) in [
        ("aa", "dC", "a", true, true),
        ("aa", "dC", "aa", true, true),
        ("aa", "dC", "aaa", true, true),
        ("1str1", "3str3", "1s", true, true),
        ("1str1", "3str3", "1str1x", true, true),
        ("abc", high, "ff", true, true),
        ("aa", "dC", "aB", false, true),
        ("aa", "dC", "dWX", false, true),
        ("1str1", "3str3", "5", false, true),
        ("1str1", "3str3", "3str3x", true, true),
        ("", "房东整租霍营小区二层两居室", "房东整租霍", true, true),
        ("abc", high, "イロハホ", false, true),
        ("abc", "abcdefghi", "abc", true, false),
        ("abc", "abcdefghi", "abcd", true, true),
        ("abc", "abd", "ab", true, false),
        ("abc", "abd", "", true, false),
        ("b", "c", "abc", false, true),
        ("b", "c", "b", true, true),
    ] {
        let possible = texts(lower, upper);
        assert_eq!(
            possible.verdict(&Check::StartsWith(text(prefix))),
            verdict(starts, does_not),
            "{prefix} in {lower}..{upper}"
        );
        assert_eq!(
            possible.verdict(&Check::NotStartsWith(text(prefix))),
            verdict(does_not, starts),
            "not {prefix} in {lower}..{upper}"
        );
    }
}

/// The trap table's "Bounds": limits, not extremes.
#[test]
fn an_upper_bound_that_was_only_cut_loses_no_text() {
    let cut = texts("abc", "abc");
    for (comparison, value, expected) in [
        (Comparison::Equal, "abcd", verdict(true, true)),
        (Comparison::Equal, "abc", verdict(true, true)),
        (Comparison::NotEqual, "abc", verdict(true, true)),
        (Comparison::Greater, "abcz", verdict(true, true)),
        (Comparison::Greater, "abd", verdict(false, true)),
        (Comparison::LessOrEqual, "abc", verdict(true, true)),
        (Comparison::LessOrEqual, "abcd", verdict(true, true)),
        (Comparison::Less, "abd", verdict(true, false)),
        (Comparison::Less, "abc", verdict(false, true)),
        (Comparison::GreaterOrEqual, "abc", verdict(true, false)),
        (Comparison::Equal, "abd", verdict(false, true)),
        (Comparison::Equal, "abb", verdict(false, true)),
    ] {
        assert_eq!(
            cut.verdict(&Check::Compare(comparison, text(value))),
            expected,
            "{comparison:?} {value}"
        );
    }
    let bytes = |value: &[u8]| Check::Compare(Comparison::Equal, V::Fixed(value.to_vec()));
    let fixed = PrimitiveType::Fixed(4);
    let possible = PossibleValues::unknown(&fixed).between(&fixed, Some(&[1, 2]), Some(&[1, 2]));
    assert_eq!(possible.verdict(&bytes(&[1, 2, 3, 4])), verdict(true, true));
    assert_eq!(
        possible.verdict(&bytes(&[1, 3, 0, 0])),
        verdict(false, true)
    );
}

/// The trap table's "Decimal bounds", and known-bugs.md: "decimal bounds".
#[test]
fn decimal_bounds_of_any_length_and_sign() {
    let decimal = PrimitiveType::Decimal {
        precision: 38,
        scale: 2,
    };
    let nines = 10_i128.pow(38) - 1;
    for (lower, upper, value, may_be) in [
        (vec![0x80], vec![0xFF], -128, true),
        (vec![0x80], vec![0xFF], -1, true),
        (vec![0x80], vec![0xFF], 0, false),
        (vec![0x80], vec![0xFF], 128, false),
        (vec![0xFF, 0xFF, 0x80], vec![0x00, 0x00, 0x80], 128, true),
        (vec![0xFF, 0xFF, 0x80], vec![0x00, 0x00, 0x80], 129, false),
        (
            V::Decimal(-nines).to_bytes(),
            V::Decimal(nines).to_bytes(),
            -nines,
            true,
        ),
        (
            V::Decimal(-nines).to_bytes(),
            V::Decimal(nines - 1).to_bytes(),
            nines,
            false,
        ),
    ] {
        let possible =
            PossibleValues::unknown(&decimal).between(&decimal, Some(&lower), Some(&upper));
        assert_eq!(possible.may_have(&V::Decimal(value)), may_be, "{value}");
    }
}

/// The trap table's "Promoted bounds".
#[test]
fn bounds_from_before_a_promotion() {
    let days = 10_i32.to_le_bytes();
    for (value_type, bound, inside, outside) in [
        (PrimitiveType::Long, days, V::Long(10), V::Long(11)),
        (
            PrimitiveType::Timestamp,
            days,
            V::Timestamp(864_000_000_000),
            V::Timestamp(10),
        ),
        (
            PrimitiveType::TimestampNs,
            days,
            V::TimestampNs(864_000_000_000_000),
            V::TimestampNs(10),
        ),
        (
            PrimitiveType::Double,
            1.5_f32.to_le_bytes(),
            V::Double(1.5),
            V::Double(1.25),
        ),
    ] {
        let possible =
            PossibleValues::unknown(&value_type).between(&value_type, Some(&bound), Some(&bound));
        assert!(possible.may_have(&inside), "{value_type}");
        assert!(!possible.may_have(&outside), "{value_type}");
    }
    // A bound that is no value of the type tells nothing.
    for value_type in [
        PrimitiveType::Int,
        PrimitiveType::Timestamptz,
        PrimitiveType::Boolean,
        PrimitiveType::Uuid,
    ] {
        let unknown = PossibleValues::unknown(&value_type);
        let bound = Some([1; 7].as_slice());
        assert_eq!(unknown.clone().between(&value_type, bound, bound), unknown);
    }
    // Days that have no timestamp.
    let timestamp = PrimitiveType::TimestampNs;
    let far = i32::MAX.to_le_bytes();
    let unknown = PossibleValues::unknown(&timestamp);
    assert_eq!(
        unknown.clone().between(&timestamp, Some(&far), Some(&far)),
        unknown
    );
}

#[test]
fn bounds_that_cross_tell_nothing() {
    let int = PrimitiveType::Int;
    let unknown = PossibleValues::unknown(&int);
    let bound = |value: i32| value.to_le_bytes();
    assert_eq!(
        unknown
            .clone()
            .between(&int, Some(&bound(2)), Some(&bound(1))),
        unknown
    );
}

/// Iceberg's Java library compared the halves of UUIDs as signed numbers.
#[test]
fn bounds_of_uuids_in_signed_order() {
    let uuid = |high: u64, low: u64| V::Uuid(Uuid::from_u64_pair(high, low));
    let between = |lower: &V, upper: &V| {
        PossibleValues::unknown(&PrimitiveType::Uuid).between(
            &PrimitiveType::Uuid,
            Some(&lower.to_bytes()),
            Some(&upper.to_bytes()),
        )
    };
    // Rows 00.. and 80..: in signed order 80.. is the least.
    let crossed = between(&uuid(1 << 63, 0), &uuid(0, 0));
    assert!(crossed.may_have(&uuid(0, 0)) && crossed.may_have(&uuid(u64::MAX, 1)));
    // Of these two rows, one bound is told.
    let bound = uuid(0, 0).to_bytes();
    let unknown = PossibleValues::unknown(&PrimitiveType::Uuid);
    for (lower, upper) in [(Some(&bound[..]), None), (None, Some(&bound[..]))] {
        let alone = unknown.clone().between(&PrimitiveType::Uuid, lower, upper);
        assert_eq!(alone, unknown);
    }
    // Rows with one first half, and second halves 01.. and 80..: in signed order 80.. is the least.
    let second = between(&uuid(7, 1 << 63), &uuid(7, 1));
    assert!(second.may_have(&uuid(7, 1)) && second.may_have(&uuid(7, 1 << 63)));
    assert!(!second.may_have(&uuid(6, u64::MAX)) && !second.may_have(&uuid(8, 0)));
}

#[test]
fn shapes_have_no_bounds() {
    let geometry = PrimitiveType::Geometry { crs: None };
    let unknown = PossibleValues::unknown(&geometry);
    assert_eq!(
        unknown
            .clone()
            .between(&geometry, Some(&[0; 16]), Some(&[0; 16])),
        unknown
    );
}

#[test]
fn values_of_another_type_are_not_excluded() {
    let possible = PossibleValues::constant(Some(V::Int(5)));
    for comparison in COMPARISONS {
        let check = Check::Compare(comparison, V::Long(7));
        assert_eq!(possible.verdict(&check), Verdict::UNKNOWN, "{comparison:?}");
    }
    let check = Check::StartsWith(V::Int(5));
    assert_eq!(possible.verdict(&check), Verdict::UNKNOWN);
}

proptest! {
    /// Whatever bounds are made of values, each of these is kept.
    #[test]
    fn no_value_between_bounds_is_lost(
        (value_type, values) in storable_type().prop_flat_map(|value_type| {
            let values = proptest::collection::vec(value_of(&value_type), 1..4);
            (Just(value_type), values)
        }),
        cut in 0..4_usize,
    ) {
        let mut sorted = values.clone();
        sorted.retain(|value| !is_nan(value));
        sorted.sort_by(|left, right| compare_values(left, right).unwrap());
        let shortened = |value: &V| match value {
            V::String(value) => value.chars().take(cut).collect::<String>().into_bytes(),
            V::Binary(value) | V::Fixed(value) => value.iter().copied().take(cut).collect(),
            other => other.to_bytes(),
        };
        let possible = PossibleValues::unknown(&value_type).between(
            &value_type,
            sorted.first().map(shortened).as_deref(),
            sorted.last().map(shortened).as_deref(),
        );
        for value in &values {
            for check in [
                Check::NotNull,
                Check::IsNan,
                Check::NotNan,
                Check::Compare(Comparison::Equal, value.clone()),
                Check::Compare(Comparison::NotEqual, value.clone()),
                Check::Compare(Comparison::Less, values[0].clone()),
                Check::Compare(Comparison::LessOrEqual, values[0].clone()),
                Check::Compare(Comparison::Greater, values[0].clone()),
                Check::Compare(Comparison::GreaterOrEqual, values[0].clone()),
                Check::In(Arc::new([value.clone()])),
                Check::NotIn(Arc::new([values[0].clone()])),
                Check::StartsWith(values[0].clone()),
                Check::NotStartsWith(values[0].clone()),
            ] {
                let given = possible.verdict(&check);
                let holds = check.is_true_of(Some(value));
                prop_assert!(if holds { given.may_hold } else { given.may_fail }, "{check:?} of {value:?}");
            }
        }
    }
}
