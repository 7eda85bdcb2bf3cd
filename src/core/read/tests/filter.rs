//! Rows that are not wanted do not come out, and all others do, whatever has them and whatever is
//! passed over on the way. Spec: "Scan Planning", "Column Projection".

use std::sync::Arc;
use std::sync::atomic::Ordering;

use apache_avro::Codec;
use apache_avro::types::Value as Avro;
use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Int32Array, RecordBatch, StringArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;
use serde_json::json;

use super::avro::{avro, null, record, row, some};
use super::deletes::{delete_file, equality_set, positions_file, vector_blob};
use super::filter_support::*;
use super::support::*;
use crate::error::ErrorKind;
use crate::plan::{DeletionVector, TaskPartitionField};
use crate::read::filter::BatchFilter;
use crate::read::{MetadataColumn, OutputColumn, ReadRequest};
use crate::spec::{
    Check, Comparison, NestedField, Partition, Predicate, PrimitiveType, PrimitiveValue,
    PruningLevels, RowFilter, Schema, StructType, Term, Test, Transform,
};
use crate::storage::RawPath;

/// The fields and the arrays of a case, the struct last.
fn layout(case: &Case) -> (Vec<NestedField>, Vec<(i32, Field, ArrayRef)>) {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    let (mut inner_fields, mut inner_arrays) = (Vec::new(), Vec::new());
    for column in &case.columns {
        let iceberg = optional(
            column.id,
            &format!("c{}", column.id),
            column.field_type.clone(),
        );
        let arrow = arrow_field(column.id, &column.field_type);
        let array = array_of(&column.field_type, &column.values);
        if column.id > IN_STRUCT {
            inner_fields.push(iceberg);
            inner_arrays.push((arrow, array));
        } else {
            fields.push(iceberg);
            arrays.push((column.id, arrow, array));
        }
    }
    let (inner_arrow, inner): (Vec<_>, Vec<_>) = inner_arrays.into_iter().unzip();
    let inner = StructArray::try_new(
        Fields::from(inner_arrow),
        inner,
        Some(NullBuffer::from(case.has_struct.clone())),
    )
    .unwrap();
    fields.push(optional(IN_STRUCT, "s", structure(inner_fields)));
    arrays.push((
        IN_STRUCT,
        field("s", inner.data_type().clone()),
        Arc::new(inner),
    ));
    (fields, arrays)
}

pub fn exact(predicate: Predicate) -> Arc<RowFilter> {
    Arc::new(RowFilter {
        exact: predicate,
        inexact: Predicate::True,
    })
}

pub fn test(field_id: i32, field_type: PrimitiveType, check: Check) -> Predicate {
    Predicate::Test(Test {
        term: Term::field(field_id, field_type),
        check,
    })
}

pub fn compare(field_id: i32, comparison: Comparison, value: PrimitiveValue) -> Predicate {
    let field_type = match value {
        PrimitiveValue::Int(_) => INT,
        PrimitiveValue::Long(_) => LONG,
        PrimitiveValue::String(_) => STRING,
        ref other => panic!("{other:?}"),
    };
    test(field_id, field_type, Check::Compare(comparison, value))
}

/// A request of the positions of the rows of which this is true, and of other columns.
pub fn positions_of(
    files: MemoryFiles,
    fields: Vec<NestedField>,
    wanted: Predicate,
    more: &[i32],
) -> ReadRequest {
    let mut request = request(files, fields);
    request.columns = vec![OutputColumn::Metadata(MetadataColumn::Position)];
    request
        .columns
        .extend(more.iter().map(|id| OutputColumn::Field(*id)));
    for task in &mut request.tasks {
        task.residual = exact(wanted.clone());
    }
    request
}

pub fn longs(batches: &[RecordBatch]) -> Vec<i64> {
    batches
        .iter()
        .flat_map(|batch| {
            batch
                .column(0)
                .as_primitive::<Int64Type>()
                .values()
                .to_vec()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn filtered_batches_are_the_rows_that_checks_are_true_of(case in case(23)) {
        let (fields, arrays) = layout(&case);
        let schema = Schema::new(0, Vec::new(), StructType::new(fields));
        let mut read = schema.fields().fields().to_vec();
        let filter = BatchFilter::new(&exact(case.predicate.clone()), &schema, &mut read).unwrap();
        let columns: Vec<_> = arrays.into_iter().map(|(_, _, array)| array).collect();
        let wanted: Vec<_> = match filter {
            None => (0..case.rows()).collect(),
            Some(filter) => filter.wanted(&columns, case.rows()).unwrap().set_indices().collect(),
        };
        prop_assert_eq!(wanted, case.wanted());
    }
}

/// How a file is written.
#[derive(Debug, Clone)]
pub struct Layout {
    pub group_rows: usize,
    pub page_rows: usize,
    pub dictionary: bool,
    pub bloom_filters: bool,
    pub statistics: EnabledStatistics,
    pub truncated: Option<usize>,
}

fn layouts() -> impl Strategy<Value = Layout> {
    let statistics = prop_oneof![
        1 => Just(EnabledStatistics::None),
        2 => Just(EnabledStatistics::Chunk),
        4 => Just(EnabledStatistics::Page),
    ];
    let truncated = prop_oneof![Just(None), Just(Some(1)), Just(Some(2))];
    (
        1..40_usize,
        1..6_usize,
        any::<bool>(),
        any::<bool>(),
        statistics,
        truncated,
    )
        .prop_map(
            |(group_rows, page_rows, dictionary, bloom_filters, statistics, truncated)| Layout {
                group_rows,
                page_rows,
                dictionary,
                bloom_filters,
                statistics,
                truncated,
            },
        )
}

impl Layout {
    pub fn file(&self, columns: Vec<(i32, Field, ArrayRef)>) -> Vec<u8> {
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(self.group_rows))
            .set_data_page_row_count_limit(self.page_rows)
            .set_write_batch_size(self.page_rows)
            .set_dictionary_enabled(self.dictionary)
            .set_bloom_filter_enabled(self.bloom_filters)
            .set_statistics_enabled(self.statistics)
            .set_statistics_truncate_length(self.truncated)
            .set_column_index_truncate_length(self.truncated)
            .build();
        parquet_with(columns, properties)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pruned_files_have_the_same_rows(
        case in case(40),
        layout_of_file in layouts(),
        // Pages are left out only where many rows are.
        times in prop_oneof![Just(1_usize), Just(70)],
        deleted in proptest::collection::btree_set(0..40_u64, 0..12),
        more in proptest::sample::subsequence(vec![1, 2, IN_STRUCT], 0..=3),
    ) {
        let (fields, arrays) = layout(&case);
        let rows: arrow::array::UInt64Array =
            (0..40 * times).map(|row| Some((row / times) as u64)).collect();
        let arrays: Vec<_> = arrays
            .into_iter()
            .map(|(id, field, array)| {
                (id, field, arrow::compute::take(&array, &rows, None).unwrap())
            })
            .collect();
        let layout_of_file = Layout {
            group_rows: layout_of_file.group_rows * times,
            page_rows: layout_of_file.page_rows * times,
            ..layout_of_file
        };
        let file = layout_of_file.file(arrays.clone());
        let deleted: Vec<_> = deleted.into_iter().map(|row| row * times as u64 * 7 / 8).collect();
        let blob = vector_blob(&deleted);
        let expected: Vec<_> = case
            .wanted()
            .into_iter()
            .flat_map(|row| row * times..(row + 1) * times)
            .filter(|row| !deleted.contains(&(*row as u64)))
            .collect();
        for levels in [PruningLevels::ALL, PruningLevels::NONE] {
            let files = MemoryFiles::of([("f", file.clone()), ("v", blob.clone())]);
            let mut request =
                positions_of(files, fields.clone(), case.predicate.clone(), &more);
            request.tasks.retain(|task| task.path.0 == "f");
            request.tasks[0].deletes.vector = Some(Arc::new(DeletionVector {
                path: RawPath("v".to_owned()),
                offset: 0,
                length: blob.len() as u64,
                cardinality: None,
            }));
            request.levels = levels;
            let metrics = metrics(&request);
            let batches = try_batches(request).unwrap();
            let positions: Vec<_> =
                longs(&batches).into_iter().map(|position| position as usize).collect();
            prop_assert_eq!(&positions, &expected, "{:?}", levels);
            for (index, id) in more.iter().enumerate() {
                let (_, field, array) = arrays.iter().find(|(of, ..)| of == id).unwrap();
                let rows = arrow::array::UInt64Array::from_iter_values(
                    expected.iter().map(|row| *row as u64),
                );
                let kept = arrow::compute::take(array, &rows, None).unwrap();
                let mut row = 0;
                for batch in &batches {
                    let column = batch.column(index + 1);
                    let same = kept.slice(row, batch.num_rows());
                    let (read, stored) = (plain(column), plain(&same));
                    prop_assert!(*read == *stored, "{}: {read:?} {stored:?}", field.name());
                    row += batch.num_rows();
                }
            }
            let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
            let seen = count(&metrics.rows_read)
                + count(&metrics.rows_skipped)
                + count(&metrics.rows_deleted);
            if count(&metrics.files_opened) > 0 {
                prop_assert_eq!(seen, 40 * times as u64);
            }
        }
    }
}

/// An array without the metadata of the fields inside.
fn plain(array: &ArrayRef) -> ArrayRef {
    let Some(inner) = array.as_struct_opt() else {
        return Arc::clone(array);
    };
    let fields = inner.fields().iter();
    Arc::new(StructArray::new(
        fields
            .map(|inner| field(inner.name(), inner.data_type().clone()))
            .collect(),
        inner.columns().to_vec(),
        inner.nulls().cloned(),
    ))
}

/// A hundred numbers, and texts of them.
fn numbers() -> MemoryFiles {
    let texts: StringArray = (0..100).map(|row| Some(format!("row {row}"))).collect();
    MemoryFiles::of([(
        "f",
        Layout {
            group_rows: 30,
            page_rows: 10,
            dictionary: false,
            bloom_filters: false,
            statistics: EnabledStatistics::None,
            truncated: None,
        }
        .file(vec![
            (
                1,
                field("n", DataType::Int32),
                Arc::new(Int32Array::from_iter_values(0..100)) as ArrayRef,
            ),
            (2, field("t", DataType::Utf8), Arc::new(texts)),
        ]),
    )])
}

fn number_and_text() -> Vec<NestedField> {
    vec![optional(1, "n", INT), optional(2, "t", STRING)]
}

#[test]
fn a_column_that_is_only_filtered_by_does_not_come_out() {
    let wanted = compare(1, Comparison::GreaterOrEqual, PrimitiveValue::Int(98));
    let mut request = positions_of(numbers(), number_and_text(), wanted, &[]);
    request.columns = vec![OutputColumn::Field(2)];
    let batch = rows(request);
    assert_eq!(batch.num_columns(), 1);
    let texts: Vec<_> = batch.column(0).as_string_view().iter().flatten().collect();
    assert_eq!(texts, ["row 98", "row 99"]);
}

#[test]
fn rows_are_counted_when_no_column_comes_out() {
    let wanted = compare(1, Comparison::Less, PrimitiveValue::Int(42));
    let mut request = positions_of(numbers(), number_and_text(), wanted, &[]);
    request.columns = Vec::new();
    let metrics = metrics(&request);
    let batches = try_batches(request).unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 42);
    assert_eq!(metrics.rows_read.load(Ordering::Relaxed), 42);
    assert_eq!(metrics.rows_skipped.load(Ordering::Relaxed), 58);
}

#[test]
fn nothing_is_opened_when_nothing_is_wanted() {
    let request = positions_of(numbers(), number_and_text(), Predicate::False, &[]);
    let metrics = metrics(&request);
    assert!(try_batches(request).unwrap().is_empty());
    assert_eq!(metrics.requests.load(Ordering::Relaxed), 0);
}

#[test]
fn an_inexact_filter_may_leave_rows_out_too() {
    let wanted = compare(1, Comparison::Less, PrimitiveValue::Int(42));
    let mut request = positions_of(numbers(), number_and_text(), Predicate::True, &[]);
    request.tasks[0].residual = Arc::new(RowFilter {
        exact: Predicate::True,
        inexact: wanted,
    });
    assert_eq!(
        longs(&try_batches(request).unwrap()),
        (0..42).collect::<Vec<_>>()
    );
}

#[test]
fn what_cannot_be_tested_is_an_error_where_it_must_be_and_ignored_where_it_may() {
    let on = |field_id, field_type, transform: &str| {
        Predicate::Test(Test {
            term: Term {
                field_id,
                field_type,
                transform: Transform::parse(transform).unwrap(),
            },
            check: Check::NotNull,
        })
    };
    for predicate in [
        on(99, INT, "identity"),
        on(1, LONG, "identity"),
        on(1, INT, "zorder"),
        on(1, INT, "hour"),
        on(3, INT, "identity"),
        on(4, INT, "identity"),
        on(5, INT, "identity"),
        // What happened to a row is known only after it was filtered.
        on(2_147_483_543, STRING, "identity"),
    ] {
        let fields = || {
            let mut fields = number_and_text();
            fields.push(optional(3, "l", list(optional(4, "element", INT))));
            fields.push(optional(5, "s", structure([optional(6, "i", INT)])));
            fields
        };
        let mut request = positions_of(numbers(), fields(), predicate.clone(), &[]);
        let error = error_of(request);
        assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
        request = positions_of(numbers(), fields(), Predicate::True, &[]);
        request.tasks[0].residual = Arc::new(RowFilter {
            exact: Predicate::True,
            inexact: Predicate::or([
                predicate,
                compare(1, Comparison::Less, PrimitiveValue::Int(42)),
            ]),
        });
        assert_eq!(longs(&try_batches(request).unwrap()).len(), 100);
    }
}

#[test]
fn an_hour_that_no_int_holds_is_an_error_only_where_rows_must_be_told_apart() {
    let times = arrow::array::TimestampMicrosecondArray::from(vec![Some(i64::MAX), None]);
    let file = parquet(vec![(
        1,
        field("t", times.data_type().clone()),
        Arc::new(times),
    )]);
    let wanted = Predicate::Test(Test {
        term: Term {
            field_id: 1,
            field_type: PrimitiveType::Timestamp,
            transform: Transform::Hour,
        },
        check: Check::IsNull,
    });
    let ask = |residual: RowFilter| {
        let mut request = positions_of(
            MemoryFiles::of([("f", file.clone())]),
            vec![optional(1, "t", PrimitiveType::Timestamp)],
            Predicate::True,
            &[],
        );
        request.tasks[0].residual = Arc::new(residual);
        request
    };
    let error = error_of(ask(RowFilter {
        exact: wanted.clone(),
        inexact: Predicate::True,
    }));
    assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
    let all = ask(RowFilter {
        exact: Predicate::True,
        inexact: wanted,
    });
    assert_eq!(longs(&try_batches(all).unwrap()), [0, 1]);
}

#[test]
fn metadata_columns_can_be_filtered_by() {
    let id = |column: MetadataColumn| match column {
        MetadataColumn::File => 2_147_483_646,
        MetadataColumn::Position => 2_147_483_645,
        MetadataColumn::SpecId => 2_147_483_643,
        MetadataColumn::Partition => 2_147_483_642,
        MetadataColumn::RowId => 2_147_483_540,
        MetadataColumn::LastUpdatedSequenceNumber => 2_147_483_539,
        other => panic!("{other:?} tells of changes"),
    };
    let long = |column, from| {
        compare(
            id(column),
            Comparison::GreaterOrEqual,
            PrimitiveValue::Long(from),
        )
    };
    let text = |column, text: &str| {
        let text = PrimitiveValue::String(text.to_owned());
        compare(id(column), Comparison::Equal, text)
    };
    let cases = [
        (long(MetadataColumn::Position, 97), vec![97, 98, 99]),
        (long(MetadataColumn::RowId, 1_098), vec![98, 99]),
        (text(MetadataColumn::File, "f"), (0..100).collect()),
        (text(MetadataColumn::File, "g"), vec![]),
        (text(MetadataColumn::Partition, "{}"), (0..100).collect()),
        (long(MetadataColumn::LastUpdatedSequenceNumber, 6), vec![]),
        (
            compare(
                id(MetadataColumn::SpecId),
                Comparison::Greater,
                PrimitiveValue::Int(-1),
            ),
            (0..100).collect(),
        ),
    ];
    for (wanted, expected) in cases {
        let mut request = positions_of(numbers(), number_and_text(), wanted.clone(), &[1]);
        request.tasks[0].first_row_id = Some(1_000);
        request.tasks[0].data_sequence_number = Some(5);
        assert_eq!(
            longs(&try_batches(request).unwrap()),
            expected,
            "{wanted:?}"
        );
    }
}

#[test]
fn initial_default_a_missing_column_equals_its_default() {
    let added = |default: Option<i32>| {
        let mut added = optional(7, "added", INT);
        added.initial_default = default.map(|default| json!(default));
        let mut fields = number_and_text();
        fields.push(added);
        fields
    };
    let is_five = || compare(7, Comparison::Equal, PrimitiveValue::Int(5));
    let is_null = || test(7, INT, Check::IsNull);
    for (default, wanted, all) in [
        (Some(5), is_five(), true),
        (Some(5), is_null(), false),
        (Some(6), is_five(), false),
        (None, is_five(), false),
        (None, is_null(), true),
    ] {
        let request = positions_of(numbers(), added(default), wanted.clone(), &[1]);
        let metrics = metrics(&request);
        let found = longs(&try_batches(request).unwrap());
        assert_eq!(
            found.len(),
            if all { 100 } else { 0 },
            "{default:?} {wanted:?}"
        );
        let skipped = metrics.row_groups_skipped.load(Ordering::Relaxed);
        assert_eq!(skipped, if all { 0 } else { 4 });
    }
}

#[test]
fn a_missing_column_equals_the_identity_value_of_its_partition() {
    for (value, expected) in [(Some(7), 100), (Some(8), 0), (None, 0)] {
        let mut fields = number_and_text();
        fields.push(optional(3, "p", INT));
        let wanted = compare(3, Comparison::Equal, PrimitiveValue::Int(7));
        let mut request = positions_of(numbers(), fields, wanted, &[1]);
        request.tasks[0].partition_fields = [TaskPartitionField {
            name: "p".to_owned(),
            value_type: INT,
            identity_source: Some(3),
        }]
        .into();
        request.tasks[0].partition = Partition {
            spec_id: 1,
            values: vec![value.map(PrimitiveValue::Int)],
        };
        assert_eq!(longs(&try_batches(request).unwrap()).len(), expected);
    }
}

/// A member that the file lacks is its default only where the struct is not null.
#[test]
fn a_missing_member_of_a_struct_that_may_be_null() {
    let inner = struct_of(
        vec![(
            11,
            "a",
            Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef,
        )],
        Some(vec![true, false, true]),
    );
    let file = parquet(vec![(
        10,
        field("s", inner.data_type().clone()),
        Arc::new(inner),
    )]);
    let fields = || {
        let mut b = optional(12, "b", INT);
        b.initial_default = Some(json!(5));
        vec![optional(10, "s", structure([optional(11, "a", INT), b]))]
    };
    let is_five = compare(12, Comparison::Equal, PrimitiveValue::Int(5));
    for (wanted, expected) in [
        (is_five.clone(), vec![0, 2]),
        (test(12, INT, Check::IsNull), vec![1]),
        (
            Predicate::and([
                is_five,
                compare(11, Comparison::Greater, PrimitiveValue::Int(1)),
            ]),
            vec![2],
        ),
        (
            compare(12, Comparison::Equal, PrimitiveValue::Int(6)),
            vec![],
        ),
    ] {
        let files = MemoryFiles::of([("f", file.clone())]);
        let request = positions_of(files, fields(), wanted, &[10]);
        let batches = try_batches(request).unwrap();
        assert_eq!(longs(&batches), expected);
        for batch in &batches {
            assert_eq!(batch.column(1).as_struct().num_columns(), 2);
        }
    }
}

#[test]
fn delete_column_not_selected_and_not_filtered_by() {
    let mut files = numbers();
    let keys = Int32Array::from(vec![98, 3]);
    files.files.insert(
        "keys".to_owned(),
        parquet(vec![(1, field("n", DataType::Int32), Arc::new(keys))]).into(),
    );
    files.files.insert(
        "positions".to_owned(),
        positions_file(&[("f", 97), ("f", 4)]).into(),
    );
    let equality = equality_set(
        &[&[optional(1, "n", INT)]],
        vec![(6, delete_file(&files, "keys"))],
    );
    let positions = delete_file(&files, "positions");
    let wanted = test(
        2,
        STRING,
        Check::StartsWith(PrimitiveValue::String("row 9".to_owned())),
    );
    let mut request = positions_of(files, number_and_text(), wanted, &[]);
    request.tasks.retain(|task| task.path.0 == "f");
    request.tasks[0].data_sequence_number = Some(5);
    request.tasks[0].deletes.equality = vec![equality];
    request.tasks[0].deletes.positions = vec![positions];
    let metrics = metrics(&request);
    let found = longs(&try_batches(request).unwrap());
    assert_eq!(found, [9, 90, 91, 92, 93, 94, 95, 96, 99]);
    assert_eq!(metrics.rows_skipped.load(Ordering::Relaxed), 89);
    assert_eq!(metrics.rows_deleted.load(Ordering::Relaxed), 2);
}

#[test]
fn rows_of_avro_files_are_filtered() {
    let schema = record(json!([
        { "name": "n", "type": ["null", "int"], "field-id": 1 },
        { "name": "t", "type": "string", "field-id": 2 },
    ]));
    let number = |n: i32| {
        if n % 7 == 0 {
            null()
        } else {
            some(Avro::Int(n))
        }
    };
    let rows: Vec<_> = (0..100)
        .map(|n| row([("n", number(n)), ("t", Avro::String(format!("row {n}")))]))
        .collect();
    let files = || MemoryFiles::of([("f.avro", avro(&schema, &rows, Codec::Null, 30))]);
    let wanted = compare(1, Comparison::GreaterOrEqual, PrimitiveValue::Int(90));
    let request = positions_of(files(), number_and_text(), wanted, &[2]);
    let batches = try_batches(request).unwrap();
    assert_eq!(longs(&batches), [90, 92, 93, 94, 95, 96, 97, 99]);
    assert_eq!(batches[0].column(1).as_string_view().value(1), "row 92");
    let request = positions_of(files(), number_and_text(), test(1, INT, Check::IsNull), &[]);
    assert_eq!(longs(&try_batches(request).unwrap()).len(), 15);
}

#[test]
fn rows_of_orc_files_are_filtered() {
    let fields = || vec![optional(1, "i", INT), optional(12, "text", STRING)];
    let files = || MemoryFiles::of([("f.orc", testdata("types.orc"))]);
    let wanted = compare(1, Comparison::Less, PrimitiveValue::Int(9));
    let request = positions_of(files(), fields(), wanted, &[12]);
    let batches = try_batches(request).unwrap();
    assert_eq!(longs(&batches), [1, 2, 3, 4, 5, 6, 8]);
    assert_eq!(batches[0].column(1).as_string_view().value(6), "row 8 é");
    let request = positions_of(files(), fields(), test(1, INT, Check::IsNull), &[]);
    assert_eq!(longs(&try_batches(request).unwrap()).len(), 86);
}

/// A column that was an int, a float, a date or a short decimal when the file was written is
/// filtered in the type that it has now.
#[test]
fn promoted_columns_are_filtered_in_their_new_type() {
    let days = Date32Array::from(vec![Some(-1), Some(0), Some(1), None]);
    let file = parquet(vec![(1, field("d", DataType::Date32), Arc::new(days))]);
    let day = 86_400_000_000;
    for (comparison, value, expected) in [
        (Comparison::Less, 0, vec![0]),
        (Comparison::GreaterOrEqual, day, vec![2]),
        (Comparison::Equal, -day, vec![0]),
        (Comparison::Greater, day - 1, vec![2]),
    ] {
        let request = positions_of(
            MemoryFiles::of([("f", file.clone())]),
            vec![optional(1, "d", PrimitiveType::Timestamp)],
            test(
                1,
                PrimitiveType::Timestamp,
                Check::Compare(comparison, PrimitiveValue::Timestamp(value)),
            ),
            &[1],
        );
        assert_eq!(longs(&try_batches(request).unwrap()), expected);
    }
    let ints = Int32Array::from(vec![Some(-1), Some(0), Some(i32::MAX), None]);
    let file = parquet(vec![(1, field("n", DataType::Int32), Arc::new(ints))]);
    let wanted = compare(
        1,
        Comparison::Less,
        PrimitiveValue::Long(i64::from(i32::MAX) + 1),
    );
    let files = MemoryFiles::of([("f", file)]);
    let request = positions_of(files, vec![optional(1, "n", LONG)], wanted, &[1]);
    assert_eq!(longs(&try_batches(request).unwrap()), [0, 1, 2]);
}
