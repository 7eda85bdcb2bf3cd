//! Preimages and images of transforms, against the transforms themselves and by hand.

use PrimitiveValue as V;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::spec::compare_values;
use crate::spec::strategies::value_of;

fn transform(name: &str) -> Transform {
    Transform::parse(name).unwrap()
}

fn read(value_type: &PrimitiveType, text: &str) -> V {
    V::from_json(value_type, &json!(text)).unwrap()
}

fn source_of(name: &str, source: &PrimitiveType, value: V) -> PossibleValues {
    PossibleValues::constant(Some(value))
        .source_of(&transform(name), source)
        .unwrap()
}

#[test]
fn the_first_and_last_values_of_parts_of_time() {
    let timestamp = PrimitiveType::Timestamp;
    for (name, value, first, last) in [
        (
            "year",
            0,
            "1970-01-01T00:00:00",
            "1970-12-31T23:59:59.999999",
        ),
        (
            "year",
            -1,
            "1969-01-01T00:00:00",
            "1969-12-31T23:59:59.999999",
        ),
        (
            "year",
            54,
            "2024-01-01T00:00:00",
            "2024-12-31T23:59:59.999999",
        ),
        (
            "month",
            -1,
            "1969-12-01T00:00:00",
            "1969-12-31T23:59:59.999999",
        ),
        (
            "month",
            -12,
            "1969-01-01T00:00:00",
            "1969-01-31T23:59:59.999999",
        ),
        (
            "month",
            -13,
            "1968-12-01T00:00:00",
            "1968-12-31T23:59:59.999999",
        ),
        (
            "month",
            649,
            "2024-02-01T00:00:00",
            "2024-02-29T23:59:59.999999",
        ),
        (
            "day",
            -1,
            "1969-12-31T00:00:00",
            "1969-12-31T23:59:59.999999",
        ),
        (
            "day",
            19_782,
            "2024-02-29T00:00:00",
            "2024-02-29T23:59:59.999999",
        ),
        (
            "hour",
            -2,
            "1969-12-31T22:00:00",
            "1969-12-31T22:59:59.999999",
        ),
        (
            "hour",
            0,
            "1970-01-01T00:00:00",
            "1970-01-01T00:59:59.999999",
        ),
    ] {
        let value = match name {
            "day" => V::Date(value),
            _ => V::Int(value),
        };
        let possible = source_of(name, &timestamp, value.clone());
        assert_eq!(
            possible.lower,
            Some(read(&timestamp, first)),
            "{name} {value:?}"
        );
        assert_eq!(
            possible.upper,
            Some(UpperEnd::Value(read(&timestamp, last))),
            "{name} {value:?}"
        );
        assert!(!possible.nulls && !possible.nans && possible.others);
    }
    let nanos = source_of("hour", &PrimitiveType::TimestamptzNs, V::Int(-1));
    assert_eq!(nanos.lower, Some(V::TimestamptzNs(-3_600_000_000_000)));
    assert_eq!(nanos.upper, Some(UpperEnd::Value(V::TimestamptzNs(-1))));
    let date = source_of("month", &PrimitiveType::Date, V::Int(-1));
    assert_eq!(date.lower, Some(V::Date(-31)));
    assert_eq!(date.upper, Some(UpperEnd::Value(V::Date(-1))));
}

#[test]
fn parts_of_time_that_a_type_does_not_reach_have_no_ends() {
    for (name, source) in [
        ("year", PrimitiveType::TimestampNs),
        ("month", PrimitiveType::Timestamp),
        ("hour", PrimitiveType::TimestamptzNs),
    ] {
        for value in [i32::MAX, i32::MIN] {
            let possible = source_of(name, &source, V::Int(value));
            assert_eq!((possible.lower, possible.upper), (None, None), "{name}");
        }
    }
    // The last day that a timestamp reaches is not a whole one.
    let last = transform("day").apply(&V::TimestampNs(i64::MAX)).unwrap();
    let possible = source_of("day", &PrimitiveType::TimestampNs, last);
    assert!(possible.lower.is_some());
    assert_eq!(possible.upper, None);
}

/// The trap table's "Time transforms, pre-1970", and known-bugs.md: "before 1970".
#[test]
fn old_writers_rounded_times_before_1970_towards_zero() {
    let timestamp = PrimitiveType::Timestamp;
    // ProjectionUtil.fixInclusiveTimeProjection: what is -1 may have been written as 0, what is -2 as -1.
    for (name, written, least) in [
        ("year", V::Int(0), "1969-01-01T00:00:00"),
        ("month", V::Int(-1), "1969-11-01T00:00:00"),
        ("day", V::Date(0), "1969-12-31T00:00:00"),
        ("hour", V::Int(-1), "1969-12-31T22:00:00"),
        ("day", V::Date(1), "1970-01-02T00:00:00"),
    ] {
        let possible = PossibleValues::constant(Some(written))
            .as_rounded_by_old_writers(&transform(name), &timestamp)
            .source_of(&transform(name), &timestamp)
            .unwrap();
        assert_eq!(possible.lower, Some(read(&timestamp, least)), "{name}");
    }
    // The day of a date is the date, and not rounded; nor is anything but time.
    for (name, value, source) in [
        ("day", V::Date(0), PrimitiveType::Date),
        ("truncate[10]", V::Int(0), PrimitiveType::Int),
        ("bucket[10]", V::Int(0), PrimitiveType::Timestamp),
        ("identity", V::Date(-5), PrimitiveType::Date),
    ] {
        let possible = PossibleValues::constant(Some(value));
        assert_eq!(
            possible
                .clone()
                .as_rounded_by_old_writers(&transform(name), &source),
            possible
        );
    }
    let least = PossibleValues::constant(Some(V::Int(i32::MIN)))
        .as_rounded_by_old_writers(&Transform::Hour, &timestamp);
    assert_eq!(least.lower, None);
}

/// The trap table's "truncate".
#[test]
fn truncated_values_and_where_they_come_from() {
    let int = PrimitiveType::Int;
    for (name, value, lower, upper) in [
        ("truncate[10]", 0, 0, 9),
        ("truncate[10]", -10, -10, -1),
        ("truncate[1]", 7, 7, 7),
        ("truncate[10]", i32::MIN + 8, i32::MIN + 8, i32::MIN + 17),
    ] {
        let possible = source_of(name, &int, V::Int(value));
        assert_eq!(possible.lower, Some(V::Int(lower)));
        assert_eq!(possible.upper, Some(UpperEnd::Value(V::Int(upper))));
    }
    // The least ints wrap round to the greatest multiples: 2147483646 comes from -2147483648, and 2147483640
    // from itself to 2147483647.
    assert_eq!(
        transform("truncate[10]").apply(&V::Int(i32::MIN)),
        Some(V::Int(2_147_483_646))
    );
    for value in [2_147_483_646, 2_147_483_640] {
        let possible = source_of("truncate[10]", &int, V::Int(value));
        assert_eq!((possible.lower, possible.upper), (None, None), "{value}");
    }
    let long = source_of("truncate[10]", &PrimitiveType::Long, V::Long(i64::MAX - 7));
    assert_eq!((long.lower, long.upper), (None, None));
    let decimal = PrimitiveType::Decimal {
        precision: 9,
        scale: 2,
    };
    let possible = source_of("truncate[50]", &decimal, V::Decimal(-50));
    assert_eq!(possible.lower, Some(V::Decimal(-50)));
    assert_eq!(possible.upper, Some(UpperEnd::Value(V::Decimal(-1))));
    // Java's int arithmetic overflows where the width is more than 2^30: 5 truncates to -2147483647 there.
    let wide = PossibleValues::constant(Some(V::Int(-2_147_483_647)));
    assert_eq!(
        wide.source_of(&transform("truncate[2147483647]"), &int),
        None
    );
    let widest = PossibleValues::constant(Some(V::Int(0)));
    assert!(
        widest
            .source_of(&transform("truncate[1073741824]"), &int)
            .is_some()
    );
}

#[test]
fn truncated_texts_are_the_beginnings_of_others_only_where_cut() {
    let string = PrimitiveType::String;
    let text = |value: &str| V::String(value.to_owned());
    for (value, upper) in [
        ("abc", UpperEnd::Prefix(text("abc"))),
        ("ab", UpperEnd::Value(text("ab"))),
        ("éüß", UpperEnd::Prefix(text("éüß"))),
        ("🧊🧊", UpperEnd::Value(text("🧊🧊"))),
        ("", UpperEnd::Value(text(""))),
    ] {
        let possible = source_of("truncate[3]", &string, text(value));
        assert_eq!(possible.lower, Some(text(value)));
        assert_eq!(possible.upper, Some(upper));
    }
    let bytes = source_of("truncate[2]", &PrimitiveType::Binary, V::Binary(vec![1, 2]));
    assert_eq!(bytes.upper, Some(UpperEnd::Prefix(V::Binary(vec![1, 2]))));
}

/// The trap table's "void", "Unknown transform", "bucket" and "Null".
#[test]
fn what_other_transforms_tell() {
    let int = PrimitiveType::Int;
    let null = PossibleValues::constant(None);
    for name in ["void", "zorder[4]"] {
        assert_eq!(null.source_of(&transform(name), &int), None, "{name}");
        let values = PossibleValues::constant(Some(V::Int(3)));
        assert_eq!(values.source_of(&transform(name), &int), None, "{name}");
        assert_eq!(values.transformed(&transform(name), &int), None, "{name}");
    }
    // A transform on a type that it does not take.
    let day = PossibleValues::constant(Some(V::Date(3)));
    assert_eq!(day.source_of(&Transform::Day, &PrimitiveType::String), None);
    // Only null is null.
    for name in ["bucket[4]", "truncate[4]", "identity"] {
        let of_null = null.source_of(&transform(name), &int).unwrap();
        assert!(of_null.nulls && !of_null.others, "{name}");
        let of_value = source_of(name, &int, V::Int(0));
        assert!(!of_value.nulls && of_value.others, "{name}");
    }
    let bucket = source_of("bucket[4]", &int, V::Int(0));
    assert_eq!((bucket.lower, bucket.upper), (None, None));
}

#[test]
fn images_of_ranges() {
    let timestamp = PrimitiveType::Timestamp;
    let between = |lower: &str, upper: &str| PossibleValues {
        nulls: true,
        nans: false,
        others: true,
        lower: Some(read(&timestamp, lower)),
        upper: Some(UpperEnd::Value(read(&timestamp, upper))),
    };
    let range = between("1969-12-31T23:59:59", "1970-02-03T00:00:00");
    for (name, lower, upper) in [
        ("year", V::Int(-1), V::Int(0)),
        ("month", V::Int(-1), V::Int(1)),
        ("day", V::Date(-1), V::Date(33)),
        ("hour", V::Int(-1), V::Int(33 * 24)),
    ] {
        let image = range.transformed(&transform(name), &timestamp).unwrap();
        assert_eq!(image.lower, Some(lower), "{name}");
        assert_eq!(image.upper, Some(UpperEnd::Value(upper)), "{name}");
        assert!(image.nulls);
    }
    // Hours that have no number are null.
    let far = PossibleValues {
        nulls: false,
        lower: Some(V::Timestamp(0)),
        upper: Some(UpperEnd::Value(V::Timestamp(i64::MAX))),
        ..PossibleValues::unknown(&timestamp)
    };
    let hours = far.transformed(&Transform::Hour, &timestamp).unwrap();
    assert!(hours.nulls && hours.upper.is_none());
    assert!(!far.transformed(&Transform::Day, &timestamp).unwrap().nulls);
    // The least ints wrap round.
    let int = PrimitiveType::Int;
    let from = |lower: Option<i32>| PossibleValues {
        lower: lower.map(V::Int),
        upper: Some(UpperEnd::Value(V::Int(25))),
        ..PossibleValues::unknown(&int)
    };
    let ten = transform("truncate[10]");
    let image = from(Some(-15)).transformed(&ten, &int).unwrap();
    assert_eq!(image.lower, Some(V::Int(-20)));
    assert_eq!(image.upper, Some(UpperEnd::Value(V::Int(20))));
    for lower in [None, Some(i32::MIN)] {
        let image = from(lower).transformed(&ten, &int).unwrap();
        assert_eq!((image.lower, image.upper), (None, None), "{lower:?}");
    }
    // The bucket of one value.
    let one = PossibleValues::constant(Some(V::Int(34)));
    let image = one.transformed(&transform("bucket[16]"), &int).unwrap();
    assert_eq!(image.lower, Some(V::Int(3)));
    let image = from(Some(1))
        .transformed(&transform("bucket[16]"), &int)
        .unwrap();
    assert_eq!(image.lower, None);
    // Texts.
    let texts = PossibleValues {
        lower: Some(V::String("abcd".into())),
        upper: Some(UpperEnd::Prefix(V::String("b".into()))),
        ..PossibleValues::unknown(&PrimitiveType::String)
    };
    let image = texts
        .transformed(&transform("truncate[2]"), &PrimitiveType::String)
        .unwrap();
    assert_eq!(image.lower, Some(V::String("ab".into())));
    assert_eq!(image.upper, Some(UpperEnd::Prefix(V::String("b".into()))));
}

fn transformable() -> impl Strategy<Value = (Transform, PrimitiveType)> {
    let types = vec![
        PrimitiveType::Int,
        PrimitiveType::Long,
        PrimitiveType::Decimal {
            precision: 12,
            scale: 3,
        },
        PrimitiveType::Date,
        PrimitiveType::Timestamp,
        PrimitiveType::Timestamptz,
        PrimitiveType::TimestampNs,
        PrimitiveType::TimestamptzNs,
        PrimitiveType::String,
        PrimitiveType::Binary,
    ];
    let transforms = prop_oneof![
        proptest::sample::select(vec![
            Transform::Identity,
            Transform::Year,
            Transform::Month,
            Transform::Day,
            Transform::Hour
        ]),
        (1..40_u32).prop_filter_map("not zero", |width| Some(Transform::Truncate(
            std::num::NonZeroU32::new(width)?
        ))),
        (1..40_u32).prop_filter_map("not zero", |buckets| Some(Transform::Bucket(
            std::num::NonZeroU32::new(buckets)?
        ))),
    ];
    (transforms, proptest::sample::select(types))
        .prop_filter("applies", |(transform, source)| transform.accepts(source))
}

/// A value, and another that may be near it.
fn two_values(source: &PrimitiveType) -> impl Strategy<Value = (V, V)> + use<> {
    let near = -100_000_i64..100_000;
    (
        value_of(source),
        value_of(source),
        near,
        proptest::bool::ANY,
    )
        .prop_map(|(value, other, near, is_near)| {
            let other = match &value {
                _ if !is_near => other,
                V::Int(value) => V::Int(value.saturating_add(near as i32)),
                V::Long(value) => V::Long(value.saturating_add(near)),
                V::Decimal(value) => V::Decimal(value + i128::from(near)),
                V::Date(value) => V::Date(value.saturating_add(near as i32)),
                V::Timestamp(value) => V::Timestamp(value.saturating_add(near * 1_000_000)),
                V::Timestamptz(value) => V::Timestamptz(value.saturating_add(near * 1_000_000)),
                V::TimestampNs(value) => V::TimestampNs(value.saturating_add(near * 1_000_000_000)),
                V::TimestamptzNs(value) => {
                    V::TimestamptzNs(value.saturating_add(near * 1_000_000_000))
                }
                V::String(value) => V::String(format!("{value}{near}")),
                V::Binary(value) => V::Binary([value.as_slice(), &near.to_be_bytes()].concat()),
                _ => other,
            };
            (value, other)
        })
}

proptest! {
    /// A value is where its transformed value says, and what is there transforms to it.
    #[test]
    fn preimages_are_exact((transform, source, (value, other)) in transformable().prop_flat_map(
        |(transform, source)| {
            let values = two_values(&source);
            (Just(transform), Just(source), values)
        }
    )) {
        let Some(made) = transform.apply(&value) else { return Ok(()) };
        let possible = PossibleValues::constant(Some(made.clone()))
            .source_of(&transform, &source)
            .unwrap();
        prop_assert!(possible.may_have(&value));
        let same = transform.apply(&other) == Some(made);
        prop_assert!(possible.may_have(&other) || !same);
        let known = possible.lower.is_some() && possible.upper.is_some();
        if known && !matches!(transform, Transform::Bucket(_)) {
            prop_assert_eq!(possible.may_have(&other), same, "{:?} in {:?}", other, possible);
        }
    }

    /// What is between two values transforms to what is between what these transform to.
    #[test]
    fn images_lose_nothing((transform, source, (first, second), (between, _)) in
        transformable().prop_flat_map(|(transform, source)| {
            let values = (two_values(&source), two_values(&source));
            (Just(transform), Just(source), values)
        }).prop_map(|(transform, source, (ends, other))| (transform, source, ends, other))
    ) {
        let ordered = compare_values(&first, &second).unwrap().is_le();
        let (lower, upper) = if ordered { (first, second) } else { (second, first) };
        for prefix in [false, true] {
            let is_text = matches!(source, PrimitiveType::String | PrimitiveType::Binary);
            let possible = PossibleValues {
                nulls: false,
                nans: false,
                others: true,
                lower: Some(lower.clone()),
                upper: Some(if prefix && is_text {
                    UpperEnd::Prefix(upper.clone())
                } else {
                    UpperEnd::Value(upper.clone())
                }),
            };
            let image = possible.transformed(&transform, &source).unwrap();
            for value in [&lower, &between, &upper] {
                if possible.may_have(value) {
                    match transform.apply(value) {
                        Some(made) => prop_assert!(image.may_have(&made), "{:?} of {:?}", made, image),
                        None => prop_assert!(image.nulls),
                    }
                }
            }
        }
    }
}

#[test]
fn an_hour_that_is_no_int_may_have_wrapped_round() {
    let micros = PrimitiveType::Timestamp;
    let hour = |hour: i32| PossibleValues::constant(Some(PrimitiveValue::Int(hour)));
    // The last microsecond of 64 bits is in hour 2562047788 from 1970.
    let wrapped = hour(2_562_047_788_i64 as i32);
    let source = wrapped.source_of(&Transform::Hour, &micros).unwrap();
    assert!(source.may_have(&PrimitiveValue::Timestamp(i64::MAX)));
    let wrapped = hour(-2_562_047_789_i64 as i32);
    let source = wrapped.source_of(&Transform::Hour, &micros).unwrap();
    assert!(source.may_have(&PrimitiveValue::Timestamp(i64::MIN)));
    let sure = hour(473_352);
    let source = sure.source_of(&Transform::Hour, &micros).unwrap();
    assert!(!source.may_have(&PrimitiveValue::Timestamp(i64::MAX)));
}
