//! Arbitrary rows in arbitrary files under arbitrary filters: no wanted row is lost, and what is left out of a
//! residual holds of every row.

use std::cmp::Ordering;
use std::num::NonZeroU32;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use super::*;
use crate::spec::compare_values;
use crate::spec::strategies::value_of;

const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;

fn types() -> Vec<PrimitiveType> {
    vec![
        PrimitiveType::Boolean,
        PrimitiveType::Int,
        PrimitiveType::Long,
        PrimitiveType::Float,
        PrimitiveType::Double,
        PrimitiveType::Decimal {
            precision: 9,
            scale: 2,
        },
        PrimitiveType::Date,
        PrimitiveType::Time,
        PrimitiveType::Timestamp,
        PrimitiveType::Timestamptz,
        PrimitiveType::TimestampNs,
        PrimitiveType::TimestamptzNs,
        PrimitiveType::String,
        PrimitiveType::Uuid,
        PrimitiveType::Fixed(2),
        PrimitiveType::Binary,
    ]
}

/// Values at which something changes.
fn edges(field_type: &PrimitiveType) -> Vec<V> {
    let small = [-21, -20, -11, -10, -9, -1, 0, 1, 9, 10, 11, 19, 20, 21];
    let moments = || {
        [-32, -31, -2, -1, 0, 1, 2, 31, 59, 365]
            .into_iter()
            .flat_map(|day| [0, -1, 1, HOUR, HOUR - 1].map(|tick| day * DAY + tick))
            .chain([i64::MIN, i64::MAX])
    };
    let nanos = || moments().map(|moment| moment.saturating_mul(1000));
    match field_type {
        PrimitiveType::Boolean => vec![V::Boolean(false), V::Boolean(true)],
        PrimitiveType::Int => small
            .into_iter()
            .chain([i32::MIN, i32::MIN + 7, i32::MIN + 8, i32::MAX - 7, i32::MAX])
            .map(V::Int)
            .collect(),
        PrimitiveType::Long => small
            .into_iter()
            .map(i64::from)
            .chain([i64::MIN, i64::MIN + 7, i64::MAX - 7, i64::MAX])
            .map(V::Long)
            .collect(),
        PrimitiveType::Float => [f32::NAN, f32::NEG_INFINITY, -1.5, -0.0, 0.0, 1.0, 2.5]
            .map(V::Float)
            .to_vec(),
        PrimitiveType::Double => [f64::NAN, f64::INFINITY, -1.5, -0.0, 0.0, 1.0, 1e300]
            .map(V::Double)
            .to_vec(),
        PrimitiveType::Decimal { .. } => small
            .into_iter()
            .chain([-128, 128, -999_999_999, 999_999_999])
            .map(|value| V::Decimal(value.into()))
            .collect(),
        PrimitiveType::Date => [
            -366, -365, -32, -31, -30, -1, 0, 1, 30, 31, 58, 59, 365, 366,
        ]
        .into_iter()
        .chain([i32::MIN, i32::MAX])
        .map(V::Date)
        .collect(),
        PrimitiveType::Time => vec![V::Time(0), V::Time(1), V::Time(DAY - 1)],
        PrimitiveType::Timestamp => moments().map(V::Timestamp).collect(),
        PrimitiveType::Timestamptz => moments().map(V::Timestamptz).collect(),
        PrimitiveType::TimestampNs => nanos().map(V::TimestampNs).collect(),
        PrimitiveType::TimestamptzNs => nanos().map(V::TimestamptzNs).collect(),
        PrimitiveType::String => [
            "",
            "a",
            "aa",
            "ab",
            "abc",
            "abcd",
            "abd",
            "b",
            "é",
            "éé",
            "🧊",
            "🧊🧊x",
            "\u{10FFFF}",
        ]
        .map(text)
        .to_vec(),
        PrimitiveType::Uuid => [0, 1, 1 << 63, u64::MAX]
            .into_iter()
            .flat_map(|high| [0, 1, 1 << 63, u64::MAX].map(|low| (high, low)))
            .map(|(high, low)| V::Uuid(Uuid::from_u64_pair(high, low)))
            .collect(),
        PrimitiveType::Fixed(_) => [[0, 0], [0, 1], [1, 0], [1, 255], [255, 255]]
            .map(|bytes| V::Fixed(bytes.to_vec()))
            .to_vec(),
        _ => [
            &[][..],
            &[0],
            &[1],
            &[1, 2],
            &[1, 2, 3],
            &[255],
            &[255, 255],
        ]
        .map(|bytes| V::Binary(bytes.to_vec()))
        .to_vec(),
    }
}

fn value(field_type: &PrimitiveType) -> BoxedStrategy<V> {
    prop_oneof![9 => select(edges(field_type)), 1 => value_of(field_type)].boxed()
}

fn transforms(field_type: &PrimitiveType) -> BoxedStrategy<Transform> {
    let parameter = |parameter: u32| NonZeroU32::new(parameter).unwrap();
    let all: Vec<_> = [
        Transform::Identity,
        Transform::Year,
        Transform::Month,
        Transform::Day,
        Transform::Hour,
        Transform::Bucket(parameter(1)),
        Transform::Bucket(parameter(3)),
        Transform::Truncate(parameter(1)),
        Transform::Truncate(parameter(2)),
        Transform::Truncate(parameter(10)),
        Transform::Truncate(parameter(i32::MAX as u32)),
    ]
    .into_iter()
    .filter(|transform| transform.accepts(field_type))
    .collect();
    select(all).boxed()
}

fn check(term: &Term) -> BoxedStrategy<Check> {
    let transform = term.transform.clone();
    let compared = value(&term.field_type)
        .prop_filter_map("has no transformed value", move |value| {
            transform.apply(&value)
        })
        .boxed();
    let comparisons = select(vec![
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::GreaterOrEqual,
        Comparison::Greater,
    ]);
    prop_oneof![
        1 => select(vec![Check::IsNull, Check::NotNull, Check::IsNan, Check::NotNan]),
        6 => (comparisons, compared.clone())
            .prop_map(|(comparison, value)| Check::Compare(comparison, value)),
        2 => vec(compared.clone(), 0..4).prop_map(one_of),
        2 => vec(compared.clone(), 0..4).prop_map(none_of),
        1 => compared.clone().prop_map(Check::StartsWith),
        1 => compared.prop_map(Check::NotStartsWith),
    ]
    .boxed()
}

fn predicate(field_type: &PrimitiveType) -> BoxedStrategy<Predicate> {
    let field_type = field_type.clone();
    let leaf = prop_oneof![
        3 => Just(Transform::Identity),
        1 => transforms(&field_type),
    ]
    .prop_flat_map(move |transform| {
        let term = Term {
            transform,
            ..Term::field(1, field_type.clone())
        };
        check(&term).prop_map(move |check| {
            Predicate::Test(Test {
                term: term.clone(),
                check,
            })
        })
    });
    prop_oneof![12 => leaf, 1 => Just(Predicate::True), 1 => Just(Predicate::False)]
        .prop_recursive(3, 8, 3, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Predicate::And),
                vec(inner, 0..4).prop_map(Predicate::Or),
            ]
        })
        .boxed()
}

/// What a predicate is on a row; `None` is null.
fn holds(predicate: &Predicate, row: Option<&V>) -> bool {
    match predicate {
        Predicate::True => true,
        Predicate::False => false,
        Predicate::And(all) => all.iter().all(|inner| holds(inner, row)),
        Predicate::Or(any) => any.iter().any(|inner| holds(inner, row)),
        Predicate::Test(test) => {
            let made = row.and_then(|row| test.term.transform.apply(row));
            test.check.is_true_of(made.as_ref())
        }
    }
}

/// A field of a partition spec, and how its values are computed.
#[derive(Debug, Clone)]
enum Field {
    Of(Transform),
    /// As Iceberg's Java library up to 0.10 did it: times before 1970 towards zero.
    Old(Transform),
    Void,
    Unknown,
}

impl Field {
    fn name(&self) -> String {
        match self {
            Self::Of(transform) | Self::Old(transform) => transform.to_string(),
            Self::Void => "void".to_owned(),
            Self::Unknown => "zorder".to_owned(),
        }
    }

    /// What a writer puts into the partition for a row; `None` if it cannot write it.
    fn value(&self, row: Option<&V>) -> Option<Option<V>> {
        match (self, row) {
            (Self::Void, _) => Some(None),
            (Self::Unknown, _) => Some(Some(V::Int(5))),
            (_, None) => Some(None),
            (Self::Of(transform), Some(row)) => Some(Some(transform.apply(row)?)),
            (Self::Old(transform), Some(row)) => {
                let floor = transform.apply(row)?;
                let exact = match tick_before(row) {
                    Some(before) => transform.apply(&before)? != floor,
                    None => true,
                };
                Some(Some(match floor {
                    V::Int(floor) if floor < 0 && !exact => V::Int(floor + 1),
                    V::Date(floor) if floor < 0 && !exact => V::Date(floor + 1),
                    floor => floor,
                }))
            }
        }
    }
}

fn tick_before(row: &V) -> Option<V> {
    Some(match row {
        V::Date(value) => V::Date(value.checked_sub(1)?),
        V::Timestamp(value) => V::Timestamp(value.checked_sub(1)?),
        V::Timestamptz(value) => V::Timestamptz(value.checked_sub(1)?),
        V::TimestampNs(value) => V::TimestampNs(value.checked_sub(1)?),
        V::TimestamptzNs(value) => V::TimestamptzNs(value.checked_sub(1)?),
        _ => return None,
    })
}

fn field(field_type: &PrimitiveType) -> BoxedStrategy<Field> {
    let of_date = *field_type == PrimitiveType::Date;
    prop_oneof![
        6 => transforms(field_type).prop_map(Field::Of),
        2 => transforms(field_type).prop_map(move |transform| match transform {
            Transform::Day if of_date => Field::Of(transform),
            Transform::Year | Transform::Month | Transform::Day | Transform::Hour => {
                Field::Old(transform)
            }
            other => Field::Of(other),
        }),
        1 => Just(Field::Void),
        1 => Just(Field::Unknown),
    ]
    .boxed()
}

/// What a writer tells of a column.
#[derive(Debug, Clone)]
struct Told {
    record_count: bool,
    value_count: bool,
    nulls: bool,
    nans: bool,
    lower: bool,
    upper: bool,
    /// How many characters or bytes of a bound are kept, and whether an upper bound is raised then.
    cut: Option<(usize, bool)>,
    /// Bounds are written as before a promotion, where they can be, or as in old ORC files, in whole milliseconds.
    promoted: bool,
    /// The column is in a struct that is null in so many of the rows with null, which are not counted then.
    hidden: Option<usize>,
    format: FileFormat,
}

fn told() -> impl Strategy<Value = Told> {
    let mostly = || proptest::bool::weighted(0.8);
    (
        (mostly(), mostly(), mostly(), mostly(), mostly(), mostly()),
        option::weighted(0.3, (0..4_usize, any::<bool>())),
        any::<bool>(),
        option::weighted(0.3, 0..3_usize),
        select(vec![FileFormat::Parquet, FileFormat::Orc, FileFormat::Avro]),
    )
        .prop_map(|(told, cut, promoted, hidden, format)| Told {
            record_count: told.0,
            value_count: told.1,
            nulls: told.2,
            nans: told.3,
            lower: told.4,
            upper: told.5,
            cut,
            promoted,
            hidden,
            format,
        })
}

fn is_nan(value: &V) -> bool {
    Check::IsNan.is_true_of(Some(value))
}

/// The order of bounds: as of all values, but UUIDs as Java compared them where `signed`.
fn by_bounds(signed: bool) -> impl Fn(&&V, &&V) -> Ordering {
    move |left, right| match (left, right) {
        (V::Uuid(left), V::Uuid(right)) if signed => {
            let halves = |uuid: &Uuid| {
                let (high, low) = uuid.as_u64_pair();
                (high.cast_signed(), low.cast_signed())
            };
            halves(left).cmp(&halves(right))
        }
        _ => compare_values(left, right).unwrap(),
    }
}

/// The bytes of a bound that is not less, or not greater, than a value.
fn bound(value: &V, told: &Told, is_upper: bool) -> Option<Vec<u8>> {
    let bytes = match value {
        V::Long(value) if told.promoted => match i32::try_from(*value) {
            Ok(value) => value.to_le_bytes().to_vec(),
            Err(_) => V::Long(*value).to_bytes(),
        },
        V::Double(value) if told.promoted && f64::from(*value as f32) == *value => {
            (*value as f32).to_le_bytes().to_vec()
        }
        V::Timestamp(value) if told.promoted && value % DAY == 0 => {
            i32::try_from(value / DAY).unwrap().to_le_bytes().to_vec()
        }
        V::Timestamptz(value) if told.promoted && told.format == FileFormat::Orc => {
            V::Timestamptz(value / 1000 * 1000).to_bytes()
        }
        V::TimestampNs(value) if told.promoted && told.format == FileFormat::Orc => {
            V::TimestampNs(value / 1_000_000 * 1_000_000).to_bytes()
        }
        other => other.to_bytes(),
    };
    let Some((kept, raised)) = told.cut else {
        return Some(bytes);
    };
    match value {
        V::String(value) if value.chars().count() > kept => {
            let mut cut: Vec<char> = value.chars().take(kept).collect();
            if is_upper && raised {
                let raised = char::from_u32(u32::from(cut.pop()?) + 1)?;
                cut.push(raised);
            }
            Some(cut.into_iter().collect::<String>().into_bytes())
        }
        V::Binary(value) | V::Fixed(value) if value.len() > kept => {
            let mut cut = value[..kept].to_vec();
            if is_upper && raised {
                let raised = cut.pop()?.checked_add(1)?;
                cut.push(raised);
            }
            Some(cut)
        }
        _ => Some(bytes),
    }
}

/// The statistics of a column with these rows.
fn told_of(rows: &[Option<V>], told: &Told) -> ColumnStats {
    let nulls = rows.iter().filter(|row| row.is_none()).count();
    let hidden = told.hidden.unwrap_or(0).min(nulls);
    let nans = rows.iter().flatten().filter(|row| is_nan(row)).count();
    let ordinary = || rows.iter().flatten().filter(|row| !is_nan(row));
    // ORC counts rows, and no null within a null.
    let counted = match told.format {
        FileFormat::Orc => rows.len(),
        _ => rows.len() - hidden,
    };
    let known = |is_told: bool, count: usize| is_told.then_some(count as u64);
    let least = ordinary().min_by(by_bounds(told.promoted));
    let greatest = ordinary().max_by(by_bounds(told.promoted));
    ColumnStats {
        field_id: 1,
        size_in_bytes: None,
        value_count: known(told.value_count, counted),
        null_value_count: known(told.nulls, nulls - hidden),
        nan_value_count: known(told.nans, nans),
        lower_bound: least
            .filter(|_| told.lower)
            .and_then(|least| Some(bound(least, told, false)?.into())),
        upper_bound: greatest
            .filter(|_| told.upper)
            .and_then(|greatest| Some(bound(greatest, told, true)?.into())),
    }
}

/// A partition, and the rows in it.
type Partitioned = (Vec<Option<V>>, Vec<Option<V>>);

#[derive(Debug, Clone)]
struct Case {
    field_type: PrimitiveType,
    fields: Vec<Field>,
    rows: Vec<Option<V>>,
    told: Told,
    filter: ScanFilter,
}

fn levels() -> impl Strategy<Value = PruningLevels> {
    (proptest::bool::weighted(0.8), proptest::bool::weighted(0.8)).prop_map(
        |(partitions, metrics)| PruningLevels {
            partitions,
            metrics,
            ..PruningLevels::ALL
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    select(types()).prop_flat_map(|field_type| {
        let rows = vec(option::weighted(0.8, value(&field_type)), 0..6);
        let exact = predicate(&field_type);
        let inexact = prop_oneof![Just(Predicate::True), predicate(&field_type)];
        (
            vec(field(&field_type), 0..3),
            rows,
            told(),
            (exact, inexact, levels()),
            Just(field_type),
        )
            .prop_map(
                |(fields, rows, told, (exact, inexact, levels), field_type)| Case {
                    field_type,
                    fields,
                    rows,
                    told,
                    filter: ScanFilter {
                        rows: RowFilter { exact, inexact },
                        levels,
                    },
                },
            )
    })
}

impl Case {
    fn metadata(&self) -> TableMetadata {
        let names: Vec<_> = self.fields.iter().map(Field::name).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let x =
            json!({ "id": 1, "name": "x", "required": false, "type": self.field_type.to_string() });
        let columns = match self.told.hidden {
            None => json!([x]),
            Some(_) => json!([{ "id": 2, "name": "s", "required": false,
                "type": { "type": "struct", "fields": [x] } }]),
        };
        table(columns, spec_of(&names))
    }

    fn tuple(&self, row: Option<&V>) -> Option<Vec<Option<V>>> {
        self.fields.iter().map(|field| field.value(row)).collect()
    }

    /// The rows by partition.
    fn partitions(&self) -> Vec<Partitioned> {
        let same = |left: &[Option<V>], right: &[Option<V>]| {
            let text = |values: &[Option<V>]| format!("{values:?}");
            text(left) == text(right)
        };
        let mut partitions: Vec<Partitioned> = Vec::new();
        for row in &self.rows {
            let Some(tuple) = self.tuple(row.as_ref()) else {
                continue;
            };
            match partitions.iter_mut().find(|(known, _)| same(known, &tuple)) {
                Some((_, rows)) => rows.push(row.clone()),
                None => partitions.push((tuple, std::vec::from_elem(row.clone(), 1))),
            }
        }
        partitions
    }

    fn file(&self, tuple: &[Option<V>], rows: &[Option<V>]) -> DataFile {
        DataFile {
            record_count: self.told.record_count.then_some(rows.len() as u64),
            file_format: self.told.format,
            ..data_file(tuple.to_vec(), vec![told_of(rows, &self.told)])
        }
    }

    fn wants(&self, row: &Option<V>) -> bool {
        let RowFilter { exact, inexact } = &self.filter.rows;
        holds(exact, row.as_ref()) && holds(inexact, row.as_ref())
    }

    fn manifest(&self, partitions: &[Partitioned]) -> ManifestFile {
        let summaries = (0..self.fields.len()).map(|place| {
            let values: Vec<_> = partitions
                .iter()
                .map(|(tuple, _)| tuple[place].clone())
                .collect();
            let stats = told_of(
                &values,
                &Told {
                    lower: true,
                    upper: true,
                    cut: None,
                    ..self.told.clone()
                },
            );
            let nan = values.iter().flatten().any(is_nan);
            FieldSummary {
                contains_null: values.iter().any(Option::is_none),
                contains_nan: self.told.nans.then_some(nan),
                lower_bound: stats.lower_bound.map(Into::into),
                upper_bound: stats.upper_bound.map(Into::into),
            }
        });
        ManifestFile {
            partition_spec_id: Some(0),
            partitions: Some(summaries.collect()),
            ..ManifestFile::inline("/t/m", 1)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn no_wanted_row_is_lost_and_no_other_is_let_through(case in case()) {
        let metadata = case.metadata();
        let pruning = Pruning::new(&metadata, &case.filter);
        let files = pruning.of_spec(metadata.partition_specs.get(&0).map(|spec| &**spec));
        let partitions = case.partitions();
        let any_wanted = case
            .rows
            .iter()
            .any(|row| case.tuple(row.as_ref()).is_some() && case.wants(row));
        let manifest = case.manifest(&partitions);
        prop_assert!(pruning.may_want(&manifest) || !any_wanted, "{:?} is not read", manifest);
        for (tuple, rows) in &partitions {
            let file = case.file(tuple, rows);
            match files.judge(&file) {
                Judgement::Read { residual, facts } => {
                    for row in rows {
                        for (left, whole) in [
                            (&residual.exact, &case.filter.rows.exact),
                            (&residual.inexact, &case.filter.rows.inexact),
                        ] {
                            prop_assert_eq!(
                                holds(left, row.as_ref()),
                                holds(whole, row.as_ref()),
                                "{:?} is left of {:?} for {:?} in {:?}", left, whole, row, file
                            );
                        }
                    }
                    let mut bounds = ColumnBounds::default();
                    files.add_bounds(&file, &facts, &mut bounds);
                    if let Some(column) = bounds.column(1) {
                        for row in rows.iter().flatten().filter(|row| !is_nan(row)) {
                            let order = |end: Option<&V>| end.and_then(|end| compare_values(end, row));
                            prop_assert!(order(column.lower()).is_none_or(Ordering::is_le));
                            if case.told.cut.is_none() && !matches!(row, V::String(_) | V::Binary(_)) {
                                prop_assert!(order(column.upper()).is_none_or(Ordering::is_ge));
                            }
                        }
                    }
                }
                skipped => {
                    for row in rows {
                        prop_assert!(!case.wants(row), "{:?}: {:?} with {:?}", skipped, file, row);
                    }
                }
            }
        }
    }

    /// Equality deletes are left out only where no row can have a deleted key.
    #[test]
    fn no_deleted_key_is_lost(
        (field_type, rows, keys) in select(types()).prop_flat_map(|field_type| {
            let row = || vec(option::weighted(0.8, value(&field_type)), 1..4);
            (Just(field_type.clone()), row(), row())
        }),
        of_rows in told(),
        of_keys in told(),
    ) {
        let of_keys = Told { hidden: of_rows.hidden.map(|_| 0), ..of_keys };
        let case = Case {
            field_type: field_type.clone(),
            fields: Vec::new(),
            rows: Vec::new(),
            told: of_rows.clone(),
            filter: ScanFilter::ALL,
        };
        let column = Column::new(&case.metadata(), 1, field_type);
        let values = |rows: &[Option<V>], told: &Told| {
            column.values_in(&DataFile {
                record_count: told.record_count.then_some(rows.len() as u64),
                file_format: told.format,
                ..data_file(Vec::new(), vec![told_of(rows, told)])
            })
        };
        let (of_rows, of_keys) = (values(&rows, &of_rows), values(&keys, &of_keys));
        let same = |row: &Option<V>, key: &Option<V>| match (row, key) {
            (None, None) => true,
            (Some(row), Some(key)) => compare_values(row, key).unwrap().is_eq(),
            _ => false,
        };
        let deleted = rows.iter().any(|row| keys.iter().any(|key| same(row, key)));
        prop_assert!(of_rows.may_share_a_value_with(&of_keys) || !deleted);
        prop_assert!(of_keys.may_share_a_value_with(&of_rows) || !deleted);
    }
}
