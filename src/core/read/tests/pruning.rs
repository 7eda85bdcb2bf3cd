//! What may be passed over inside of files is, and nothing else: the counters say so.
//! Spec: Parquet "Statistics", "Page Index", "Bloom Filter"; ORC specification v1 "Column Statistics".

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, StringArray, UInt32Array, UInt64Array,
};
use arrow::datatypes::DataType;
use parquet::basic::ColumnOrder;
use parquet::data_type::ByteArray;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader, ParquetMetaDataWriter,
};
use parquet::file::properties::EnabledStatistics;
use parquet::file::statistics::{Statistics, ValueStatistics};

use super::filter::{Layout, compare, longs, positions_of, test};
use super::filter_support::{Value, array_of, arrow_field, decimal, pool, types};
use super::support::*;
use crate::read::{OutputColumn, ReadMetrics};
use crate::spec::{
    Check, Comparison, NestedField, Predicate, PrimitiveType, PrimitiveValue, PruningLevels,
    compare_values,
};

const COMPARISONS: [Comparison; 6] = [
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::GreaterOrEqual,
    Comparison::Greater,
];
const ROW_GROUPS: PruningLevels = PruningLevels {
    row_groups: true,
    ..PruningLevels::NONE
};
const PAGES: PruningLevels = PruningLevels {
    pages: true,
    ..PruningLevels::NONE
};
const BLOOM_FILTERS: PruningLevels = PruningLevels {
    bloom_filters: true,
    ..PruningLevels::NONE
};

fn count(counter: &std::sync::atomic::AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn layout(group_rows: usize, page_rows: usize) -> Layout {
    Layout {
        group_rows,
        page_rows,
        dictionary: false,
        bloom_filters: false,
        statistics: EnabledStatistics::Page,
        truncated: None,
    }
}

/// The positions of the rows of the only file of which a check is true, and what was done.
fn found(
    file: &[u8],
    column: NestedField,
    check: Check,
    levels: PruningLevels,
) -> (Vec<i64>, Arc<ReadMetrics>) {
    let field_type = column.field_type.as_primitive().unwrap().clone();
    let wanted = test(column.id, field_type, check);
    let files = MemoryFiles::of([("f", file.to_vec())]);
    let mut request = positions_of(files, vec![column], wanted, &[]);
    request.levels = levels;
    let metrics = metrics(&request);
    (longs(&try_batches(request).unwrap()), metrics)
}

/// The values of a type in their order, NaN left out, each of them once.
fn in_order(field_type: &PrimitiveType) -> Vec<PrimitiveValue> {
    let mut values = pool(field_type);
    values.retain(|value| Check::NotNan.is_true_of(Some(value)));
    values.sort_by(|left, right| compare_values(left, right).unwrap());
    values.dedup_by(|left, right| left == right);
    values
}

fn is_float(field_type: &PrimitiveType) -> bool {
    matches!(field_type, PrimitiveType::Float | PrimitiveType::Double)
}

/// All checks that compare with a value.
fn checks_of(value: &PrimitiveValue) -> Vec<Check> {
    let mut checks: Vec<_> = COMPARISONS
        .map(|comparison| Check::Compare(comparison, value.clone()))
        .into();
    checks.push(Check::In(Arc::new([value.clone()])));
    checks.push(Check::NotIn(Arc::new([value.clone()])));
    checks
}

/// Each value in a row group or page of its own: those are read whose value passes, and with floats
/// those that could have a NaN that does.
fn check_each_part(
    rows_a_part: usize,
    file_layout: &Layout,
    levels: PruningLevels,
    skipped: impl Fn(&ReadMetrics) -> u64,
    is_exact: impl Fn(&PrimitiveType) -> bool,
) {
    for field_type in types() {
        let values = in_order(&field_type);
        let rows: Vec<Value> = values
            .iter()
            .flat_map(|value| vec![Some(value.clone()); rows_a_part])
            .collect();
        let array = array_of(&field_type, &rows);
        let file = file_layout.file(vec![(1, arrow_field(1, &field_type), array)]);
        for value in pool(&field_type) {
            for check in checks_of(&value) {
                let expected: Vec<_> = (0_i64..)
                    .zip(&rows)
                    .filter(|(_, row)| check.is_true_of(row.as_ref()))
                    .map(|(position, _)| position)
                    .collect();
                let column = optional(1, "c", field_type.clone());
                let (rows_found, metrics) = found(&file, column, check.clone(), levels);
                assert_eq!(rows_found, expected, "{field_type} {check:?}");
                if !is_exact(&field_type) {
                    continue;
                }
                let nan = match field_type {
                    PrimitiveType::Float => PrimitiveValue::Float(f32::NAN),
                    _ => PrimitiveValue::Double(f64::NAN),
                };
                let may_be_nan = is_float(&field_type) && check.is_true_of(Some(&nan));
                let parts = match may_be_nan {
                    true => 0,
                    false => values.len() - expected.len() / rows_a_part,
                };
                assert_eq!(skipped(&metrics), parts as u64, "{field_type} {check:?}");
            }
        }
    }
}

#[test]
fn row_groups_of_every_type_are_read_only_where_a_value_may_pass() {
    check_each_part(
        1,
        &layout(1, 1),
        ROW_GROUPS,
        |metrics| count(&metrics.row_groups_skipped),
        |_| true,
    );
}

#[test]
fn pages_of_every_type_are_read_only_where_a_value_may_pass() {
    check_each_part(
        140,
        &layout(100_000, 140),
        PAGES,
        |metrics| count(&metrics.pages_skipped) + 11 * count(&metrics.row_groups_skipped),
        // Bounds of texts and bytes may have been cut short; the others lose no page.
        |field_type| {
            matches!(
                field_type,
                PrimitiveType::Int | PrimitiveType::Long | PrimitiveType::Timestamp
            )
        },
    );
}

#[test]
fn row_groups_are_read_only_where_a_bloom_filter_may_have_a_value() {
    let file_layout = Layout {
        bloom_filters: true,
        statistics: EnabledStatistics::None,
        ..layout(1, 1)
    };
    for field_type in types() {
        let values = in_order(&field_type);
        let rows: Vec<Value> = values.iter().cloned().map(Some).collect();
        let array = array_of(&field_type, &rows);
        let file = file_layout.file(vec![(1, arrow_field(1, &field_type), array)]);
        for value in pool(&field_type) {
            for check in checks_of(&value) {
                let expected: Vec<_> = (0_i64..)
                    .zip(&rows)
                    .filter(|(_, row)| check.is_true_of(row.as_ref()))
                    .map(|(position, _)| position)
                    .collect();
                let column = optional(1, "c", field_type.clone());
                let (rows_found, metrics) = found(&file, column, check.clone(), BLOOM_FILTERS);
                assert_eq!(rows_found, expected, "{field_type} {check:?}");
                let is_sought =
                    matches!(check, Check::Compare(Comparison::Equal, _) | Check::In(_))
                        && Check::NotNan.is_true_of(Some(&value))
                        && field_type != PrimitiveType::Boolean;
                let skipped = match is_sought {
                    true => values.len() - expected.len(),
                    false => 0,
                };
                assert_eq!(
                    count(&metrics.row_groups_skipped),
                    skipped as u64,
                    "{field_type} {check:?}"
                );
            }
        }
    }
}

#[test]
fn a_bloom_filter_is_asked_for_the_value_as_the_file_stores_it() {
    let file_layout = Layout {
        bloom_filters: true,
        statistics: EnabledStatistics::None,
        ..layout(1, 1)
    };
    let skipped = |array: ArrayRef, stored: DataType, column: NestedField, value| {
        let file = file_layout.file(vec![(1, field("c", stored), array)]);
        let check = Check::Compare(Comparison::Equal, value);
        let (rows, metrics) = found(&file, column, check, BLOOM_FILTERS);
        (rows, count(&metrics.row_groups_skipped))
    };
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![-1, 7]));
    let as_long = |value| {
        let column = optional(1, "c", LONG);
        skipped(
            Arc::clone(&ints),
            DataType::Int32,
            column,
            PrimitiveValue::Long(value),
        )
    };
    assert_eq!(as_long(-1), (vec![0], 1));
    assert_eq!(as_long(1 << 40), (vec![], 2));
    let unsigned: ArrayRef = Arc::new(UInt32Array::from(vec![u32::MAX, 7]));
    let value = PrimitiveValue::Long(u32::MAX.into());
    let column = optional(1, "c", LONG);
    assert_eq!(
        skipped(unsigned, DataType::UInt32, column, value),
        (vec![0], 1)
    );
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![0.5, -0.0]));
    let as_double = |value| {
        let column = optional(1, "c", PrimitiveType::Double);
        skipped(
            Arc::clone(&floats),
            DataType::Float32,
            column,
            PrimitiveValue::Double(value),
        )
    };
    assert_eq!(as_double(0.5), (vec![0], 1));
    assert_eq!(as_double(0.0), (vec![1], 1));
    assert_eq!(as_double(0.1), (vec![], 2));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![-1, 1]));
    let as_timestamp = |value| {
        let column = optional(1, "c", PrimitiveType::Timestamp);
        skipped(
            Arc::clone(&days),
            DataType::Date32,
            column,
            PrimitiveValue::Timestamp(value),
        )
    };
    assert_eq!(as_timestamp(-86_400_000_000), (vec![0], 1));
    assert_eq!(as_timestamp(-86_399_999_999), (vec![], 2));
    // A microsecond beside the start of a day that is there.
    assert_eq!(as_timestamp(-86_400_000_001), (vec![], 2));
    for precision in [9, 18, 38] {
        let decimals: ArrayRef = Arc::new(
            Decimal128Array::from(vec![-150, 150])
                .with_precision_and_scale(precision, 2)
                .unwrap(),
        );
        let stored = decimals.data_type().clone();
        let column = optional(1, "c", decimal(38, 2));
        let value = PrimitiveValue::Decimal(-150);
        assert_eq!(skipped(decimals, stored, column, value), (vec![0], 1));
    }
}

#[test]
fn a_dictionary_tells_that_a_value_is_not_there() {
    let groups = |dictionary| Layout {
        dictionary,
        statistics: EnabledStatistics::None,
        ..layout(4_000, 4_000)
    };
    // The first row group has the texts a0, a1 and a2, the second b0 and so on.
    let texts: StringArray = (0..12_000)
        .map(|row| Some(format!("{}{}", ["a", "b", "c"][row / 4_000], row % 3)))
        .collect();
    let texts: ArrayRef = Arc::new(texts);
    let ask = |dictionary, text: &str| {
        let columns = vec![(1, field("c", DataType::Utf8), Arc::clone(&texts))];
        let check = Check::Compare(Comparison::Equal, PrimitiveValue::String(text.to_owned()));
        let file = groups(dictionary).file(columns);
        let (rows, metrics) = found(&file, optional(1, "c", STRING), check, BLOOM_FILTERS);
        (rows.len(), count(&metrics.row_groups_skipped))
    };
    assert_eq!(ask(true, "b1"), (1_334, 2));
    assert_eq!(ask(true, "b"), (0, 3));
    assert_eq!(ask(true, "b11"), (0, 3));
    assert_eq!(ask(false, "b1"), (1_334, 0));
}

/// A file as it is, but with other statistics for each column chunk and no page index.
fn with_statistics(
    file: &[u8],
    change: impl Fn(usize, Option<&Statistics>) -> Option<Statistics>,
) -> Vec<u8> {
    let file = bytes::Bytes::copy_from_slice(file);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .unwrap();
    let stored = metadata.file_metadata();
    let changed = FileMetaData::new(
        stored.version(),
        stored.num_rows(),
        stored.created_by().map(str::to_owned),
        None,
        stored.schema_descr_ptr(),
        stored.column_orders().cloned(),
    );
    let row_groups = metadata
        .row_groups()
        .iter()
        .map(|row_group| {
            let columns = row_group
                .columns()
                .iter()
                .enumerate()
                .map(|(index, column)| {
                    let mut builder = column.clone().into_builder().clear_statistics();
                    if let Some(statistics) = change(index, column.statistics()) {
                        builder = builder.set_statistics(statistics);
                    }
                    builder
                        .set_column_index_offset(None)
                        .set_column_index_length(None)
                        .set_offset_index_offset(None)
                        .set_offset_index_length(None)
                        .build()
                        .unwrap()
                });
            row_group
                .clone()
                .into_builder()
                .set_column_metadata(columns.collect())
                .build()
                .unwrap()
        })
        .collect();
    let metadata = ParquetMetaDataBuilder::new(changed)
        .set_row_groups(row_groups)
        .build();
    let length = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap());
    let mut changed = file[..file.len() - 8 - length as usize].to_vec();
    ParquetMetaDataWriter::new(&mut changed, &metadata)
        .finish()
        .unwrap();
    changed
}

fn text(value: &str) -> PrimitiveValue {
    PrimitiveValue::String(value.to_owned())
}

fn equals(value: PrimitiveValue) -> Check {
    Check::Compare(Comparison::Equal, value)
}

fn one_column(array: ArrayRef) -> Vec<u8> {
    let stored = array.data_type().clone();
    layout(100, 100).file(vec![(1, field("c", stored), array)])
}

#[test]
fn absent_counts_are_unknown() {
    let some: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    let none: ArrayRef = Arc::new(Int32Array::from(vec![None::<i32>, None]));
    for (array, nulls, others) in [(some, vec![1], vec![0]), (none, vec![0, 1], vec![])] {
        let file = with_statistics(&one_column(array), |_, _| {
            Some(Statistics::int32(Some(1), Some(1), None, None, false))
        });
        let column = || optional(1, "c", INT);
        assert_eq!(found(&file, column(), Check::IsNull, ROW_GROUPS).0, nulls);
        assert_eq!(found(&file, column(), Check::NotNull, ROW_GROUPS).0, others);
    }
}

#[test]
fn mixed_nulls_only_row_groups_of_nothing_but_nulls_are_passed_over() {
    for (rows, skipped) in [
        (vec![Some("b"), None], [0, 0, 0]),
        (vec![None, None], [0, 1, 1]),
        (vec![Some("b"), Some("b")], [1, 0, 0]),
    ] {
        let array: ArrayRef = Arc::new(StringArray::from(rows.clone()));
        let file = one_column(array);
        let checks = [
            Check::IsNull,
            Check::NotNull,
            Check::NotStartsWith(text("a")),
        ];
        for (check, skipped) in checks.into_iter().zip(skipped) {
            let column = optional(1, "c", STRING);
            let (positions, metrics) = found(&file, column, check.clone(), ROW_GROUPS);
            let expected: Vec<_> = (0_i64..)
                .zip(&rows)
                .filter(|(_, row)| check.is_true_of(row.map(text).as_ref()))
                .map(|(position, _)| position)
                .collect();
            assert_eq!(positions, expected, "{check:?} {rows:?}");
            assert_eq!(
                count(&metrics.row_groups_skipped),
                skipped,
                "{check:?} {rows:?}"
            );
        }
    }
}

#[test]
fn nan_bounds_without_it_do_not_hide_it_and_bounds_of_it_are_ignored() {
    let array: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
    let file = one_column(array);
    let column = || optional(1, "c", PrimitiveType::Double);
    let double = PrimitiveValue::Double;
    for (check, expected) in [
        (Check::Compare(Comparison::Greater, double(1e300)), vec![1]),
        (
            Check::Compare(Comparison::GreaterOrEqual, double(f64::NAN)),
            vec![1],
        ),
        (Check::IsNan, vec![1]),
        (equals(double(f64::NAN)), vec![1]),
        (Check::Compare(Comparison::Less, double(f64::NAN)), vec![0]),
        (Check::Compare(Comparison::Less, double(1.0)), vec![]),
    ] {
        for levels in [ROW_GROUPS, PAGES, PruningLevels::ALL] {
            assert_eq!(
                found(&file, column(), check.clone(), levels).0,
                expected,
                "{check:?}"
            );
        }
    }
    let nan = with_statistics(&file, |_, _| {
        Some(Statistics::double(
            Some(f64::NAN),
            Some(f64::NAN),
            None,
            Some(0),
            false,
        ))
    });
    assert_eq!(
        found(&nan, column(), equals(double(1.0)), ROW_GROUPS).0,
        [0]
    );
}

#[test]
fn deprecated_ends_of_texts_are_in_an_order_that_nobody_knows() {
    let array: ArrayRef = Arc::new(StringArray::from(vec!["a", "é", "z"]));
    let bound = |text: &str| Some(ByteArray::from(text));
    let with = |deprecated| {
        with_statistics(&one_column(Arc::clone(&array)), |_, _| {
            Some(Statistics::ByteArray(
                ValueStatistics::new(bound("a"), bound("b"), None, Some(0), deprecated)
                    .with_min_is_exact(true)
                    .with_max_is_exact(true),
            ))
        })
    };
    let skipped = |file: &[u8]| {
        let (_, metrics) = found(
            file,
            optional(1, "c", STRING),
            equals(text("z")),
            ROW_GROUPS,
        );
        count(&metrics.row_groups_skipped)
    };
    assert_eq!(skipped(&with(true)), 0);
    // That they are looked at otherwise shows that the above says something.
    assert_eq!(skipped(&with(false)), 1);
}

#[test]
fn deprecated_ends_of_signed_numbers_are_of_use_and_those_of_unsigned_ones_are_not() {
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![-5, 5]));
    let unsigned: ArrayRef = Arc::new(UInt32Array::from(vec![5, u32::MAX]));
    for (array, expected) in [(ints, 1), (unsigned, 0)] {
        let file = with_statistics(&one_column(array), |_, _| {
            Some(Statistics::int32(Some(5), Some(6), None, Some(0), true))
        });
        let check = equals(PrimitiveValue::Long(7));
        let (_, metrics) = found(&file, optional(1, "c", LONG), check, ROW_GROUPS);
        assert_eq!(count(&metrics.row_groups_skipped), expected);
    }
    let unsigned: ArrayRef = Arc::new(UInt32Array::from(vec![5, u32::MAX]));
    let file = one_column(unsigned);
    let check = |value| equals(PrimitiveValue::Long(value));
    let column = || optional(1, "c", LONG);
    assert_eq!(
        found(&file, column(), check(u32::MAX.into()), ROW_GROUPS).0,
        [1]
    );
    let (_, metrics) = found(&file, column(), check(4), ROW_GROUPS);
    assert_eq!(count(&metrics.row_groups_skipped), 1);
}

#[test]
fn truncated_bounds_that_were_not_raised_hide_nothing() {
    let array: ArrayRef = Arc::new(StringArray::from(vec!["abc", "abd"]));
    let bound = |text: &[u8]| Some(ByteArray::from(text.to_vec()));
    let file = with_statistics(&one_column(array), |_, _| {
        Some(Statistics::ByteArray(
            ValueStatistics::new(bound(b"ab"), bound(b"ab"), None, Some(0), false)
                .with_min_is_exact(false)
                .with_max_is_exact(false),
        ))
    });
    for (wanted, expected, skipped) in [("abd", vec![1], 0), ("ac", vec![], 1), ("aa", vec![], 1)] {
        let column = optional(1, "c", STRING);
        let (rows, metrics) = found(&file, column, equals(text(wanted)), ROW_GROUPS);
        assert_eq!(rows, expected);
        assert_eq!(count(&metrics.row_groups_skipped), skipped, "{wanted}");
    }
    // Cut in the middle of a character.
    let array: ArrayRef = Arc::new(StringArray::from(vec!["aé", "aé"]));
    let file = with_statistics(&one_column(array), |_, _| {
        Some(Statistics::ByteArray(
            ValueStatistics::new(bound(b"a\xc3"), bound(b"a\xc4"), None, Some(0), false)
                .with_min_is_exact(false)
                .with_max_is_exact(false),
        ))
    });
    let (rows, _) = found(
        &file,
        optional(1, "c", STRING),
        equals(text("aé")),
        ROW_GROUPS,
    );
    assert_eq!(rows, [0, 1]);
}

#[test]
fn a_member_of_a_null_struct_is_null_whatever_its_own_count_says() {
    let inner = struct_of(
        vec![(11, "a", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef)],
        Some(vec![true, false]),
    );
    let stored = inner.data_type().clone();
    let file = layout(100, 100).file(vec![(10, field("s", stored), Arc::new(inner) as ArrayRef)]);
    let file = with_statistics(&file, |_, _| {
        Some(Statistics::int32(Some(1), Some(1), None, Some(0), false))
    });
    let files = MemoryFiles::of([("f", file)]);
    let fields = vec![optional(10, "s", structure([optional(11, "a", INT)]))];
    let request = positions_of(files, fields, test(11, INT, Check::IsNull), &[]);
    assert_eq!(longs(&try_batches(request).unwrap()), [1]);
}

#[test]
fn statistics_of_promoted_columns_are_compared_in_the_new_type() {
    let day = 86_400_000_000;
    let cases: Vec<(ArrayRef, PrimitiveType, PrimitiveValue, PrimitiveValue)> = vec![
        (
            Arc::new(Int32Array::from(vec![i32::MIN, -1])),
            LONG,
            PrimitiveValue::Long(-1),
            PrimitiveValue::Long(0),
        ),
        (
            Arc::new(Date32Array::from(vec![-2, -1])),
            PrimitiveType::Timestamp,
            PrimitiveValue::Timestamp(-day),
            PrimitiveValue::Timestamp(1 - day),
        ),
        (
            Arc::new(
                Decimal128Array::from(vec![-200, -150])
                    .with_precision_and_scale(9, 2)
                    .unwrap(),
            ),
            decimal(38, 2),
            PrimitiveValue::Decimal(-150),
            PrimitiveValue::Decimal(-149),
        ),
    ];
    for (array, field_type, greatest, above) in cases {
        let file = one_column(array);
        for (value, expected) in [(greatest, 1), (above, 0)] {
            let check = Check::Compare(Comparison::GreaterOrEqual, value);
            let column = optional(1, "c", field_type.clone());
            let (rows, metrics) = found(&file, column, check, ROW_GROUPS);
            assert_eq!(rows.len(), expected, "{field_type}");
            assert_eq!(
                count(&metrics.row_groups_skipped),
                1 - expected as u64,
                "{field_type}"
            );
        }
    }
    let file = one_column(Arc::new(Float32Array::from(vec![0.5, 1.5])));
    for (value, skipped) in [(0.5, 1), (0.6, 0)] {
        let check = Check::Compare(Comparison::Less, PrimitiveValue::Double(value));
        let (_, metrics) = found(
            &file,
            optional(1, "c", PrimitiveType::Double),
            check,
            ROW_GROUPS,
        );
        assert_eq!(count(&metrics.row_groups_skipped), skipped);
    }
}

#[test]
fn int96_has_no_ends() {
    let file = raw_parquet(
        "message m { optional int96 c = 1; }",
        vec![RawColumn {
            // Noon of 1970-01-01, whose Julian day is 2440588.
            values: Values::Int96(vec![[0, 0, 2_440_588]]),
            definition_levels: Some(vec![1]),
            repetition_levels: None,
        }],
    );
    let column = optional(1, "c", PrimitiveType::Timestamp);
    let (rows, _) = found(
        &file,
        column,
        equals(PrimitiveValue::Timestamp(0)),
        PruningLevels::ALL,
    );
    assert_eq!(rows, [0]);
}

/// Two columns of 20,000 rows in one row group, the second of which takes most of the space.
fn narrow_and_wide() -> MemoryFiles {
    let wide: StringArray = (0..20_000).map(|row| Some(format!("{row:>100}"))).collect();
    let file = layout(100_000, 1_000).file(vec![
        (
            1,
            field("n", DataType::Int64),
            Arc::new(Int64Array::from_iter_values(0..20_000)) as ArrayRef,
        ),
        (2, field("t", DataType::Utf8), Arc::new(wide)),
    ]);
    MemoryFiles::of([("f", file)])
}

#[test]
fn positions_and_skipping_only_the_pages_of_wanted_rows_are_fetched() {
    let fields = || vec![optional(1, "n", LONG), optional(2, "t", STRING)];
    let long = |value| compare(1, Comparison::Equal, PrimitiveValue::Long(value));
    let ask = |wanted: Predicate, levels| {
        let mut request = positions_of(narrow_and_wide(), fields(), wanted, &[2]);
        request.levels = levels;
        let metrics = metrics(&request);
        let batches = try_batches(request).unwrap();
        for batch in &batches {
            let texts = arrow::array::AsArray::as_string_view(batch.column(1));
            for (row, position) in longs(std::slice::from_ref(batch)).iter().enumerate() {
                assert_eq!(texts.value(row).trim(), position.to_string());
            }
        }
        (longs(&batches), count(&metrics.bytes_read), metrics)
    };
    let (rows, some_bytes, metrics) = ask(long(12_345), PAGES);
    assert_eq!(rows, [12_345]);
    // Of both columns all pages but one.
    assert_eq!(count(&metrics.pages_skipped), 2 * 19);
    assert_eq!(count(&metrics.rows_skipped), 19_999);
    // The end of the file, a page of each column.
    assert!(some_bytes < 400_000, "{some_bytes}");
    let (rows, all_bytes, metrics) = ask(long(12_345), PruningLevels::NONE);
    assert_eq!(rows, [12_345]);
    assert_eq!(count(&metrics.pages_skipped), 0);
    assert!(all_bytes > 2_000_000, "{all_bytes}");
    let two = Predicate::or([long(3), long(19_999)]);
    let (rows, _, metrics) = ask(two, PAGES);
    assert_eq!(rows, [3, 19_999]);
    assert_eq!(count(&metrics.pages_skipped), 2 * 18);
}

#[test]
fn lists_and_structs_of_wanted_rows_are_their_own() {
    let rows = 6_000_i64;
    let lengths: Vec<usize> = (0..rows).map(|row| (row % 4) as usize).collect();
    let elements: Vec<i64> = (0..rows)
        .flat_map(|row| (0..row % 4).map(move |place| 10 * row + place))
        .collect();
    let lists = list_of(21, &lengths, Arc::new(Int64Array::from(elements)), None);
    let texts: StringArray = (0..rows).map(|row| Some(format!("text {row}"))).collect();
    let structs = struct_of(vec![(31, "t", Arc::new(texts) as ArrayRef)], None);
    let columns = |array: ArrayRef, id: i32| (id, field("c", array.data_type().clone()), array);
    let file = layout(4_000, 100).file(vec![
        columns(Arc::new(Int64Array::from_iter_values(0..rows)), 1),
        columns(Arc::new(lists), 20),
        columns(Arc::new(structs), 30),
    ]);
    let at_least = |value| compare(1, Comparison::GreaterOrEqual, PrimitiveValue::Long(value));
    let less = |value| compare(1, Comparison::Less, PrimitiveValue::Long(value));
    let hundreds = |from: i64| Predicate::and([at_least(from), less(from + 150)]);
    let single = |value| compare(1, Comparison::Equal, PrimitiveValue::Long(value));
    let every_third = test(
        1,
        LONG,
        Check::In(
            (0..rows / 3)
                .map(|row| PrimitiveValue::Long(3 * row))
                .collect(),
        ),
    );
    for wanted in [
        single(2_999),
        Predicate::or([
            single(0),
            single(199),
            single(3_999),
            single(4_000),
            single(5_999),
        ]),
        Predicate::or([hundreds(150), hundreds(3_950), hundreds(5_000)]),
        every_third,
    ] {
        let mut all = Vec::new();
        for levels in [PruningLevels::ALL, PruningLevels::NONE] {
            let fields = vec![
                optional(1, "n", LONG),
                optional(20, "l", list(optional(21, "element", LONG))),
                optional(30, "s", structure([optional(31, "t", STRING)])),
            ];
            let files = MemoryFiles::of([("f", file.clone())]);
            let mut request = positions_of(files, fields, wanted.clone(), &[20, 30]);
            request.levels = levels;
            let batches = try_batches(request).unwrap();
            for batch in &batches {
                let positions = longs(std::slice::from_ref(batch));
                for (row, position) in positions.iter().enumerate() {
                    let list = arrow::array::AsArray::as_list::<i32>(batch.column(1)).value(row);
                    let expected = (0..position % 4).map(|place| 10 * position + place);
                    assert_eq!(*list, Int64Array::from_iter_values(expected) as Int64Array);
                    let inner = arrow::array::AsArray::as_struct(batch.column(2));
                    let text = arrow::array::AsArray::as_string_view(inner.column(0)).value(row);
                    assert_eq!(text, format!("text {position}"));
                }
            }
            all.push(longs(&batches));
        }
        assert_eq!(all[0], all[1]);
        assert!(!all[0].is_empty());
    }
}

#[test]
fn other_columns_of_a_row_group_without_wanted_rows_are_not_fetched() {
    let fields = vec![optional(1, "n", LONG), optional(2, "t", STRING)];
    let wanted = compare(1, Comparison::Less, PrimitiveValue::Long(0));
    let mut request = positions_of(narrow_and_wide(), fields, wanted, &[2]);
    request.levels = PruningLevels::NONE;
    let metrics = metrics(&request);
    assert!(try_batches(request).unwrap().is_empty());
    let bytes = count(&metrics.bytes_read);
    assert!(bytes < 400_000, "{bytes}");
    assert_eq!(count(&metrics.rows_skipped), 20_000);
}

#[test]
fn a_filter_that_keeps_most_rows_stops_to_be_applied_first() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..40_000));
    let texts: StringArray = (0..40_000).map(|row| Some(row.to_string())).collect();
    let file = layout(5_000, 5_000).file(vec![
        (1, field("n", DataType::Int64), numbers),
        (2, field("t", DataType::Utf8), Arc::new(texts)),
    ]);
    for bound in [10, 39_000] {
        let files = MemoryFiles::of([("f", file.clone())]);
        let fields = vec![optional(1, "n", LONG), optional(2, "t", STRING)];
        let wanted = compare(1, Comparison::Less, PrimitiveValue::Long(bound));
        let mut request = positions_of(files, fields, wanted, &[1, 2]);
        request.levels = PruningLevels::NONE;
        assert_eq!(
            longs(&try_batches(request).unwrap()),
            (0..bound).collect::<Vec<_>>()
        );
    }
}

/// Rows whose numbers are those of a type in ORC's test files, and one step beyond them.
#[test]
fn stripes_are_passed_over_by_their_statistics() {
    let file = testdata("types.orc");
    let nanos = |row: i64| (row - 300) * 7 * 86_400_000_000_000 + row * 1_001;
    let days_apart = 3 * 86_400_000_000_000;
    use PrimitiveValue as V;
    let cases: Vec<(i32, PrimitiveType, V, V, V, V)> = vec![
        // Below the least, the least, the greatest, above the greatest.
        (1, INT, V::Int(0), V::Int(1), V::Int(599), V::Int(600)),
        (3, INT, V::Int(-129), V::Int(-128), V::Int(127), V::Int(128)),
        (1, LONG, V::Long(0), V::Long(1), V::Long(599), V::Long(600)),
        (
            5,
            PrimitiveType::Double,
            V::Double(-30.5),
            V::Double(-30.0),
            V::Double(44.875),
            V::Double(45.0),
        ),
        (
            4,
            PrimitiveType::Float,
            V::Float(-0.5),
            V::Float(0.0),
            V::Float(149.75),
            V::Float(150.0),
        ),
        (
            17,
            decimal(9, 2),
            V::Decimal(-301),
            V::Decimal(-300),
            V::Decimal(299),
            V::Decimal(300),
        ),
        (
            8,
            PrimitiveType::Date,
            V::Date(-30_001),
            V::Date(-30_000),
            V::Date(28_103),
            V::Date(28_104),
        ),
        (
            11,
            STRING,
            text("text /"),
            text("text 0"),
            text("text 9"),
            text("text 90"),
        ),
        (
            9,
            PrimitiveType::TimestampNs,
            V::TimestampNs(nanos(0) - days_apart),
            V::TimestampNs(nanos(0)),
            V::TimestampNs(nanos(599)),
            V::TimestampNs(nanos(599) + days_apart),
        ),
    ];
    for (id, field_type, below, least, greatest, above) in cases {
        let is_float = is_float(&field_type);
        let ask = |comparison, value: &PrimitiveValue, levels| {
            let wanted = test(
                id,
                field_type.clone(),
                Check::Compare(comparison, value.clone()),
            );
            let files = MemoryFiles::of([("f.orc", file.clone())]);
            let mut request = positions_of(
                files,
                vec![optional(id, "c", field_type.clone())],
                wanted,
                &[],
            );
            request.levels = levels;
            let metrics = metrics(&request);
            let rows = longs(&try_batches(request).unwrap());
            (rows, count(&metrics.row_groups_skipped))
        };
        for value in [&below, &least, &greatest, &above] {
            for comparison in COMPARISONS {
                let (rows, _) = ask(comparison, value, ROW_GROUPS);
                assert_eq!(
                    rows,
                    ask(comparison, value, PruningLevels::NONE).0,
                    "{id} {comparison:?}"
                );
            }
        }
        let skipped = |comparison, value| ask(comparison, value, ROW_GROUPS).1;
        assert_eq!(skipped(Comparison::LessOrEqual, &below), 1, "{id}");
        assert_eq!(skipped(Comparison::Equal, &below), 1, "{id}");
        assert_eq!(skipped(Comparison::LessOrEqual, &least), 0, "{id}");
        assert_eq!(skipped(Comparison::GreaterOrEqual, &greatest), 0, "{id}");
        assert_eq!(skipped(Comparison::Equal, &above), 1, "{id}");
        // A float may be NaN, which is greater.
        let is_passed = u64::from(!is_float);
        assert_eq!(
            skipped(Comparison::GreaterOrEqual, &above),
            is_passed,
            "{id}"
        );
    }
}

#[test]
fn only_the_stripe_of_a_row_is_read() {
    let fields = || vec![optional(1, "l", LONG), optional(2, "text", STRING)];
    let row = 4_321;
    let files = MemoryFiles::of([("f.orc", testdata("zlib.orc"))]);
    let wanted = compare(2, Comparison::Equal, text(&format!("row number {row}")));
    let request = positions_of(files, fields(), wanted, &[1]);
    let metrics = metrics(&request);
    let batches = try_batches(request).unwrap();
    assert_eq!(longs(&batches), [row]);
    let (total, read) = (
        count(&metrics.row_groups_total),
        count(&metrics.row_groups_read),
    );
    assert_eq!(count(&metrics.row_groups_skipped), total - read);
    assert!(total > 1 && read < total, "{read} of {total}");
    assert_eq!(count(&metrics.rows_skipped), 5_999);
}

/// Of a null in an ORC struct nothing is counted that is inside.
#[test]
fn members_of_null_structs_in_stripes() {
    let files = MemoryFiles::of([("f.orc", testdata("types.orc"))]);
    let fields = vec![optional(14, "st", structure([optional(22, "b", STRING)]))];
    let mut request = positions_of(files, fields, test(22, STRING, Check::IsNull), &[]);
    request.columns.push(OutputColumn::Field(14));
    let expected: Vec<_> = (0..600).filter(|row| row % 11 == 0).collect();
    assert_eq!(longs(&try_batches(request).unwrap()), expected);
}

#[test]
fn column_orders_are_those_of_the_columns_that_are_read() {
    // The last column of the file alone is read, the first has another order.
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2]));
    let file = layout(100, 100).file(vec![
        (1, field("t", DataType::Utf8), texts),
        (2, field("n", DataType::UInt64), numbers),
    ]);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes::Bytes::copy_from_slice(&file))
        .unwrap();
    let orders = metadata.file_metadata().column_orders().unwrap();
    assert!(matches!(
        orders[..],
        [ColumnOrder::TYPE_DEFINED_ORDER(_), _]
    ));
    let check = equals(PrimitiveValue::Long(3));
    let (_, metrics) = found(&file, optional(2, "n", LONG), check, ROW_GROUPS);
    assert_eq!(count(&metrics.row_groups_skipped), 1);
}
