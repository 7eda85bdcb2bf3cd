//! What becomes of files and manifests under filters: cases of Iceberg Java's evaluator tests, each kind of trap
//! by name, and arbitrary rows, specs, statistics and filters.

use std::sync::Arc;

use serde_json::{Value, json};

use PrimitiveValue as V;

use super::*;
use crate::spec::{
    Check, ColumnStats, Comparison, DataContent, FieldSummary, FileFormat, FileStats, Partition,
    Predicate, PrimitiveType, PrimitiveValue, PruningLevels, Term,
};

#[path = "pruning_property_tests.rs"]
mod properties;

/// Metadata of a table with these columns and partition specs.
fn table(columns: Value, specs: Value) -> TableMetadata {
    table_with(
        json!([{ "type": "struct", "schema-id": 0, "fields": columns }]),
        specs,
    )
}

/// Metadata of a table with these schemas, of which that with id 0 is current, and partition specs.
fn table_with(schemas: Value, specs: Value) -> TableMetadata {
    TableMetadata::from_json(&json!({
        "format-version": 3, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "location": "/t", "last-sequence-number": 1, "last-updated-ms": 1, "last-column-id": 100,
        "current-schema-id": 0, "next-row-id": 0,
        "schemas": schemas,
        "default-spec-id": 0, "partition-specs": specs, "last-partition-id": 1100,
        "default-sort-order-id": 0, "sort-orders": [{ "order-id": 0, "fields": [] }],
    }))
    .unwrap()
}

/// A table with one column `x` of field id 1.
fn table_of(field_type: &PrimitiveType, specs: Value) -> TableMetadata {
    table(
        json!([{ "id": 1, "name": "x", "required": false, "type": field_type.to_string() }]),
        specs,
    )
}

fn unpartitioned() -> Value {
    json!([{ "spec-id": 0, "fields": [] }])
}

/// A spec of transforms of field 1.
fn spec_of(transforms: &[&str]) -> Value {
    let fields: Vec<_> = transforms
        .iter()
        .zip(1000..)
        .map(|(transform, id)| {
            json!({ "source-id": 1, "field-id": id, "name": format!("p{id}"), "transform": transform })
        })
        .collect();
    json!([{ "spec-id": 0, "fields": fields }])
}

fn data_file(partition: Vec<Option<V>>, columns: Vec<ColumnStats>) -> DataFile {
    DataFile {
        content: DataContent::Data,
        file_path: "/t/a".to_owned(),
        file_format: FileFormat::Parquet,
        partition: Partition {
            spec_id: 0,
            values: partition,
        },
        record_count: Some(50),
        file_size_in_bytes: 1,
        stats: FileStats::new(columns),
        key_metadata: None,
        split_offsets: None,
        equality_ids: Vec::new(),
        sort_order_id: None,
        first_row_id: None,
        referenced_data_file: None,
        content_offset: None,
        content_size_in_bytes: None,
    }
}

fn stats(field_id: i32) -> ColumnStats {
    ColumnStats {
        field_id,
        value_count: Some(50),
        ..ColumnStats::default()
    }
}

fn filter(exact: Predicate) -> ScanFilter {
    ScanFilter {
        rows: RowFilter {
            exact,
            inexact: Predicate::True,
        },
        levels: PruningLevels::ALL,
    }
}

fn on(field_id: i32, field_type: &PrimitiveType, check: Check) -> Predicate {
    Predicate::Test(Test {
        term: Term::field(field_id, field_type.clone()),
        check,
    })
}

fn compare(comparison: Comparison, value: V) -> Check {
    Check::Compare(comparison, value)
}

fn one_of(values: impl IntoIterator<Item = V>) -> Check {
    Check::In(values.into_iter().collect())
}

fn none_of(values: impl IntoIterator<Item = V>) -> Check {
    Check::NotIn(values.into_iter().collect())
}

fn text(value: &str) -> V {
    V::String(value.to_owned())
}

/// What is seen of a file under a filter.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Seen {
    /// It is skipped.
    Skipped,
    /// It is read, and its rows are checked.
    Checked,
    /// It is read, and all its rows are wanted.
    Whole,
}

use Seen::{Checked, Skipped, Whole};

fn see(metadata: &TableMetadata, file: &DataFile, exact: Predicate) -> Seen {
    let filter = filter(exact);
    let pruning = Pruning::new(metadata, &filter);
    let spec = metadata.partition_specs.get(&file.partition.spec_id);
    match pruning.of_spec(spec.map(|spec| &**spec)).judge(file) {
        Judgement::SkippedByPartition | Judgement::SkippedByMetrics => Skipped,
        Judgement::Read { residual, .. } if residual.exact == Predicate::True => Whole,
        Judgement::Read { residual, .. } => {
            assert_eq!(residual.exact, filter.rows.exact);
            Checked
        }
    }
}

fn wanted(metadata: &TableMetadata, manifest: &ManifestFile, exact: Predicate) -> bool {
    Pruning::new(metadata, &filter(exact)).may_want(manifest)
}

/// The schema of TestInclusiveMetricsEvaluator and TestStrictMetricsEvaluator, where ids differ that of the
/// former.
fn java_table() -> TableMetadata {
    let column = |id: i32, field_type: &str| json!({ "id": id, "name": format!("c{id}"), "required": false, "type": field_type });
    table(
        json!([
            column(1, "int"),
            column(2, "int"),
            column(3, "string"),
            column(4, "string"),
            column(5, "string"),
            column(6, "string"),
            column(7, "double"),
            column(8, "float"),
            column(9, "float"),
            column(10, "double"),
            column(11, "float"),
            column(12, "double"),
            column(13, "double"),
            column(14, "string"),
            column(15, "int"),
            { "id": 100, "name": "address", "required": false, "type": { "type": "struct", "fields": [
                { "id": 17, "name": "nested", "required": false, "type": "int" },
                { "id": 18, "name": "required", "required": true, "type": "int" } ] } },
        ]),
        unpartitioned(),
    )
}

const NO_STATS: i32 = 2;
const ALL_NULLS: i32 = 4;
const SOME_NULLS: i32 = 5;
const NO_NULLS: i32 = 6;
const ALL_NANS: i32 = 7;
const SOME_NANS: i32 = 8;
const NO_NANS: i32 = 9;
const ALL_NULLS_DOUBLE: i32 = 10;
const ALL_NANS_V1_STATS: i32 = 11;
const NAN_AND_NULL_ONLY: i32 = 12;
const NO_NAN_STATS: i32 = 13;
const ALWAYS_5: i32 = 15;

/// `FILE` of these tests.
fn java_file() -> DataFile {
    let counted = |field_id: i32, nulls: Option<u64>, nans: Option<u64>| ColumnStats {
        null_value_count: nulls,
        nan_value_count: nans,
        ..stats(field_id)
    };
    let bounded = |counted: ColumnStats, lower: &V, upper: &V| ColumnStats {
        lower_bound: Some(lower.to_bytes().into()),
        upper_bound: Some(upper.to_bytes().into()),
        ..counted
    };
    let uncounted = |field_id: i32| ColumnStats {
        field_id,
        null_value_count: Some(0),
        ..ColumnStats::default()
    };
    let float_nan = V::Float(f32::NAN);
    let double_nan = V::Double(f64::NAN);
    data_file(
        Vec::new(),
        vec![
            bounded(uncounted(1), &V::Int(30), &V::Int(79)),
            counted(ALL_NULLS, Some(50), None),
            counted(SOME_NULLS, Some(10), None),
            counted(NO_NULLS, Some(0), None),
            counted(ALL_NANS, None, Some(50)),
            counted(SOME_NANS, None, Some(10)),
            counted(NO_NANS, None, Some(0)),
            counted(ALL_NULLS_DOUBLE, Some(50), None),
            bounded(
                counted(ALL_NANS_V1_STATS, Some(0), None),
                &float_nan,
                &float_nan,
            ),
            bounded(
                counted(NAN_AND_NULL_ONLY, Some(1), None),
                &double_nan,
                &double_nan,
            ),
            counted(NO_NAN_STATS, None, None),
            bounded(
                counted(14, Some(0), None),
                &text(""),
                &text("房东整租霍营小区二层两居室"),
            ),
            bounded(uncounted(ALWAYS_5), &V::Int(5), &V::Int(5)),
        ],
    )
}

#[test]
fn counts_of_nulls_and_nans() {
    // testAllNulls, testNoNulls, testIsNaN, testNotNaN, testMissingStats; where Java takes null to be neither
    // equal nor NaN, a check is never true of null here.
    let (metadata, file) = (java_table(), java_file());
    let string = PrimitiveType::String;
    let (float, double) = (PrimitiveType::Float, PrimitiveType::Double);
    let a = || text("a");
    let prefix = || Check::StartsWith(a());
    for (field_id, field_type, check, expected) in [
        (ALL_NULLS, &string, Check::NotNull, Skipped),
        (ALL_NULLS, &string, compare(Comparison::Less, a()), Skipped),
        (
            ALL_NULLS,
            &string,
            compare(Comparison::LessOrEqual, a()),
            Skipped,
        ),
        (
            ALL_NULLS,
            &string,
            compare(Comparison::Greater, a()),
            Skipped,
        ),
        (
            ALL_NULLS,
            &string,
            compare(Comparison::GreaterOrEqual, a()),
            Skipped,
        ),
        (ALL_NULLS, &string, compare(Comparison::Equal, a()), Skipped),
        (
            ALL_NULLS,
            &string,
            compare(Comparison::NotEqual, a()),
            Skipped,
        ),
        (ALL_NULLS, &string, one_of([a(), text("b")]), Skipped),
        (ALL_NULLS, &string, none_of([a(), text("b")]), Skipped),
        (ALL_NULLS, &string, prefix(), Skipped),
        (ALL_NULLS, &string, Check::NotStartsWith(a()), Skipped),
        (ALL_NULLS, &string, Check::IsNull, Whole),
        (SOME_NULLS, &string, Check::NotNull, Checked),
        (SOME_NULLS, &string, Check::IsNull, Checked),
        (SOME_NULLS, &string, one_of([a(), text("b")]), Checked),
        (NO_NULLS, &string, Check::NotNull, Whole),
        (NO_NULLS, &string, Check::IsNull, Skipped),
        (NO_NULLS, &string, one_of([a(), text("b")]), Checked),
        (ALL_NANS, &double, Check::IsNan, Whole),
        (SOME_NANS, &float, Check::IsNan, Checked),
        (NO_NANS, &float, Check::IsNan, Skipped),
        (ALL_NULLS_DOUBLE, &double, Check::IsNan, Skipped),
        (NO_NAN_STATS, &double, Check::IsNan, Checked),
        (ALL_NANS_V1_STATS, &float, Check::IsNan, Checked),
        (NAN_AND_NULL_ONLY, &double, Check::IsNan, Checked),
        (ALL_NANS, &double, Check::NotNan, Skipped),
        (SOME_NANS, &float, Check::NotNan, Checked),
        // The number of its nulls is not told.
        (NO_NANS, &float, Check::NotNan, Checked),
        (ALL_NULLS_DOUBLE, &double, Check::NotNan, Skipped),
        (NO_NAN_STATS, &double, Check::NotNan, Checked),
        (ALL_NANS_V1_STATS, &float, Check::NotNan, Checked),
        (NAN_AND_NULL_ONLY, &double, Check::NotNan, Checked),
        (NO_STATS, &PrimitiveType::Int, Check::IsNull, Checked),
        (NO_STATS, &PrimitiveType::Int, Check::NotNull, Checked),
        (
            NO_STATS,
            &PrimitiveType::Int,
            compare(Comparison::Less, V::Int(5)),
            Checked,
        ),
        (
            NO_STATS,
            &PrimitiveType::Int,
            compare(Comparison::NotEqual, V::Int(5)),
            Checked,
        ),
    ] {
        let seen = see(&metadata, &file, on(field_id, field_type, check.clone()));
        assert_eq!(seen, expected, "{check:?} on {field_id}");
    }
}

#[test]
fn bounds_of_ints() {
    // testIntegerLt to testIntegerNotIn of both tests.
    use Comparison::*;
    let (metadata, file) = (java_table(), java_file());
    let x = |check| on(1, &PrimitiveType::Int, check);
    for (comparison, value, expected) in [
        (Less, 5, Skipped),
        (Less, 30, Skipped),
        (Less, 31, Checked),
        (Less, 79, Checked),
        (Less, 80, Whole),
        (LessOrEqual, 5, Skipped),
        (LessOrEqual, 29, Skipped),
        (LessOrEqual, 30, Checked),
        (LessOrEqual, 79, Whole),
        (LessOrEqual, 80, Whole),
        (Greater, 85, Skipped),
        (Greater, 79, Skipped),
        (Greater, 78, Checked),
        (Greater, 30, Checked),
        (Greater, 29, Whole),
        (GreaterOrEqual, 85, Skipped),
        (GreaterOrEqual, 80, Skipped),
        (GreaterOrEqual, 79, Checked),
        (GreaterOrEqual, 31, Checked),
        (GreaterOrEqual, 30, Whole),
        (Equal, 5, Skipped),
        (Equal, 29, Skipped),
        (Equal, 30, Checked),
        (Equal, 75, Checked),
        (Equal, 79, Checked),
        (Equal, 80, Skipped),
        (Equal, 85, Skipped),
        (NotEqual, 5, Whole),
        (NotEqual, 29, Whole),
        (NotEqual, 30, Checked),
        (NotEqual, 75, Checked),
        (NotEqual, 79, Checked),
        (NotEqual, 80, Whole),
        (NotEqual, 85, Whole),
    ] {
        let seen = see(&metadata, &file, x(compare(comparison, V::Int(value))));
        assert_eq!(seen, expected, "{comparison:?} {value}");
    }
    for (values, among, not_among) in [
        ([5, 6], Skipped, Whole),
        ([28, 29], Skipped, Whole),
        ([29, 30], Checked, Checked),
        ([75, 76], Checked, Checked),
        ([79, 80], Checked, Checked),
        ([80, 81], Skipped, Whole),
        ([85, 86], Skipped, Whole),
    ] {
        let values = values.map(V::Int);
        assert_eq!(see(&metadata, &file, x(one_of(values.clone()))), among);
        assert_eq!(see(&metadata, &file, x(none_of(values))), not_among);
    }
    // In Java, a list of more than 200 values is not looked through.
    let many = one_of((-400..=0).map(V::Int));
    assert_eq!(see(&metadata, &file, x(many)), Skipped);
    let five = |check| on(ALWAYS_5, &PrimitiveType::Int, check);
    for (check, expected) in [
        (compare(Equal, V::Int(5)), Whole),
        (compare(NotEqual, V::Int(5)), Skipped),
        (one_of([V::Int(5), V::Int(6)]), Whole),
        (none_of([V::Int(5), V::Int(6)]), Skipped),
    ] {
        assert_eq!(
            see(&metadata, &file, five(check.clone())),
            expected,
            "{check:?}"
        );
    }
}

#[test]
fn conjunctions_and_disjunctions() {
    // testAnd and testOr of both tests.
    use Comparison::*;
    let (metadata, file) = (java_table(), java_file());
    let x = |comparison, value| on(1, &PrimitiveType::Int, compare(comparison, V::Int(value)));
    for (parts, all, any) in [
        ([x(Less, 5), x(GreaterOrEqual, 0)], Skipped, Whole),
        ([x(Less, 5), x(GreaterOrEqual, 80)], Skipped, Skipped),
        ([x(Greater, 40), x(LessOrEqual, 50)], Checked, Checked),
        ([x(Less, 85), x(GreaterOrEqual, 0)], Whole, Whole),
    ] {
        assert_eq!(
            see(&metadata, &file, Predicate::and(parts.clone())),
            all,
            "{parts:?}"
        );
        assert_eq!(
            see(&metadata, &file, Predicate::or(parts.clone())),
            any,
            "{parts:?}"
        );
    }
}

#[test]
fn what_holds_of_all_rows_is_left_out_of_the_residual() {
    use Comparison::*;
    let (metadata, file) = (java_table(), java_file());
    let x = |comparison, value| on(1, &PrimitiveType::Int, compare(comparison, V::Int(value)));
    let filter = ScanFilter {
        rows: RowFilter {
            exact: Predicate::and([x(Greater, 40), x(Less, 100)]),
            inexact: Predicate::and([
                x(GreaterOrEqual, 30),
                Predicate::or([x(Equal, 50), x(Equal, 90)]),
            ]),
        },
        levels: PruningLevels::ALL,
    };
    let pruning = Pruning::new(&metadata, &filter);
    let files = pruning.of_spec(None);
    let residual = |file: &DataFile| match files.judge(file) {
        Judgement::Read { residual, .. } => residual,
        other => panic!("{other:?}"),
    };
    let first = residual(&file);
    assert_eq!(
        *first,
        RowFilter {
            exact: x(Greater, 40),
            inexact: x(Equal, 50),
        }
    );
    assert!(
        Arc::ptr_eq(&first, &residual(&file)),
        "one for all such files"
    );
}

/// The trap table's and known-bugs.md's "absent counts", and "mixed NULLs".
#[test]
fn absent_counts_are_unknown() {
    let metadata = table_of(&PrimitiveType::Int, unpartitioned());
    let x = |check| on(1, &PrimitiveType::Int, check);
    let file = |rows: Option<u64>, values: Option<u64>, nulls: Option<u64>| DataFile {
        record_count: rows,
        ..data_file(
            Vec::new(),
            vec![ColumnStats {
                value_count: values,
                null_value_count: nulls,
                ..stats(1)
            }],
        )
    };
    for (rows, values, nulls, is_null, not_null) in [
        (Some(50), Some(50), None, Checked, Checked),
        (Some(50), None, None, Checked, Checked),
        (Some(50), None, Some(10), Checked, Checked),
        (Some(50), Some(50), Some(10), Checked, Checked),
        (Some(50), None, Some(50), Whole, Skipped),
        (Some(50), Some(50), Some(50), Whole, Skipped),
        (Some(50), Some(50), Some(0), Skipped, Whole),
        (Some(50), None, Some(0), Skipped, Whole),
        // An unknown number of rows.
        (None, None, Some(50), Checked, Checked),
        (None, Some(50), Some(50), Whole, Skipped),
        (None, None, Some(0), Skipped, Whole),
        // A writer that counts values without nulls.
        (Some(50), Some(25), Some(25), Checked, Checked),
        (Some(50), Some(40), Some(0), Checked, Checked),
        // Numbers that cannot be.
        (Some(50), Some(50), Some(70), Checked, Checked),
        (Some(0), None, None, Skipped, Skipped),
    ] {
        let file = file(rows, values, nulls);
        let given = format!("{rows:?} {values:?} {nulls:?}");
        assert_eq!(see(&metadata, &file, x(Check::IsNull)), is_null, "{given}");
        assert_eq!(
            see(&metadata, &file, x(Check::NotNull)),
            not_null,
            "{given}"
        );
    }
    // A file that says that all is null, and yet has bounds.
    let mut odd = file(Some(50), Some(50), Some(50));
    odd.stats = FileStats::new([ColumnStats {
        lower_bound: Some(V::Int(1).to_bytes().into()),
        ..odd.stats.columns()[0].clone()
    }]);
    assert_eq!(see(&metadata, &odd, x(Check::NotNull)), Checked);
}

/// known-bugs.md: "mixed NULLs".
#[test]
fn a_file_with_some_nulls_is_read_for_what_is_not_null() {
    let metadata = table_of(&PrimitiveType::String, unpartitioned());
    let file = data_file(
        Vec::new(),
        vec![ColumnStats {
            null_value_count: Some(49),
            lower_bound: Some(b"a".as_slice().into()),
            upper_bound: Some(b"b".as_slice().into()),
            ..stats(1)
        }],
    );
    for check in [
        Check::NotNull,
        Check::NotStartsWith(text("x")),
        none_of([text("x")]),
        compare(Comparison::NotEqual, text("x")),
    ] {
        // Null is nothing but null, so the rows must be checked.
        let seen = see(
            &metadata,
            &file,
            on(1, &PrimitiveType::String, check.clone()),
        );
        assert_eq!(seen, Checked, "{check:?}");
    }
}

/// The trap table's "Counts": a required field of an optional struct can be null, and not be counted.
#[test]
fn fields_of_structs_may_be_null_where_the_struct_is() {
    let metadata = java_table();
    for (format, values, nulls, is_null, not_null) in [
        // testIsNullInNestedStruct and testNotNullInNestedStruct: all that is counted is null.
        (FileFormat::Parquet, Some(25), Some(25), Whole, Skipped),
        (FileFormat::Parquet, Some(0), Some(0), Whole, Skipped),
        (FileFormat::Parquet, Some(25), Some(0), Checked, Checked),
        (FileFormat::Parquet, Some(50), Some(0), Skipped, Whole),
        (FileFormat::Parquet, None, Some(0), Checked, Checked),
        (FileFormat::Parquet, None, Some(50), Checked, Checked),
        // What is in a null struct is not among ORC's nulls.
        (FileFormat::Orc, Some(50), Some(0), Checked, Checked),
    ] {
        for field_id in [17, 18] {
            let file = DataFile {
                file_format: format,
                ..data_file(
                    Vec::new(),
                    vec![ColumnStats {
                        value_count: values,
                        null_value_count: nulls,
                        ..stats(field_id)
                    }],
                )
            };
            let x = |check| on(field_id, &PrimitiveType::Int, check);
            let given = format!("{format:?} {values:?} {nulls:?}");
            assert_eq!(see(&metadata, &file, x(Check::IsNull)), is_null, "{given}");
            assert_eq!(
                see(&metadata, &file, x(Check::NotNull)),
                not_null,
                "{given}"
            );
        }
    }
}

/// Rows of a file may have a `_row_id` where the file has null.
#[test]
fn statistics_of_metadata_columns_tell_nothing() {
    let metadata = java_table();
    let row_id = 2_147_483_540;
    let file = data_file(
        Vec::new(),
        vec![ColumnStats {
            null_value_count: Some(50),
            ..stats(row_id)
        }],
    );
    for check in [
        Check::NotNull,
        Check::IsNull,
        compare(Comparison::Equal, V::Long(3)),
    ] {
        assert_eq!(
            see(&metadata, &file, on(row_id, &PrimitiveType::Long, check)),
            Checked
        );
    }
}

/// known-bugs.md: "initial-default": a column that a file has not is its default there.
#[test]
fn a_column_that_the_file_has_not_is_not_judged() {
    let metadata = java_table();
    let file = data_file(Vec::new(), vec![stats(3)]);
    for check in [
        Check::IsNull,
        Check::NotNull,
        compare(Comparison::Equal, V::Int(7)),
        compare(Comparison::NotEqual, V::Int(7)),
    ] {
        assert_eq!(
            see(&metadata, &file, on(1, &PrimitiveType::Int, check)),
            Checked
        );
    }
}

/// known-bugs.md: "rename and re-add": fields go by id.
#[test]
fn a_column_that_was_dropped_and_added_again_has_no_old_statistics() {
    let schema = |schema_id, field_id| {
        json!({ "type": "struct", "schema-id": schema_id, "fields": [
            { "id": field_id, "name": "x", "required": false, "type": "int" }] })
    };
    let metadata = table_with(
        json!([schema(0, 2), schema(1, 1)]),
        json!([{ "spec-id": 0, "fields": [
            { "source-id": 1, "field-id": 1000, "name": "x", "transform": "identity" } ] }]),
    );
    let file = data_file(
        vec![Some(V::Int(7))],
        vec![ColumnStats {
            null_value_count: Some(0),
            lower_bound: Some(V::Int(7).to_bytes().into()),
            upper_bound: Some(V::Int(7).to_bytes().into()),
            ..stats(1)
        }],
    );
    let x = |field_id, value| {
        on(
            field_id,
            &PrimitiveType::Int,
            compare(Comparison::Equal, V::Int(value)),
        )
    };
    assert_eq!(see(&metadata, &file, x(2, 8)), Checked);
    assert_eq!(see(&metadata, &file, x(2, 7)), Checked);
    assert_eq!(see(&metadata, &file, x(1, 8)), Skipped);
}

/// known-bugs.md: "ns timestamps".
#[test]
fn nanoseconds_are_not_microseconds() {
    let nanos = PrimitiveType::TimestampNs;
    let metadata = table_of(&nanos, spec_of(&["hour"]));
    // 2020-09-13T12:26:40.123456789
    let value = 1_600_000_000_123_456_789;
    let file = data_file(
        vec![Some(V::Int(444_444))],
        vec![ColumnStats {
            null_value_count: Some(0),
            lower_bound: Some(V::TimestampNs(value).to_bytes().into()),
            upper_bound: Some(V::TimestampNs(value).to_bytes().into()),
            ..stats(1)
        }],
    );
    for (comparison, value, expected) in [
        (Comparison::Equal, value, Whole),
        (Comparison::Equal, value - 789, Skipped),
        (Comparison::Equal, value / 1000, Skipped),
        (Comparison::Greater, value - 1, Whole),
        (Comparison::Greater, value, Skipped),
    ] {
        let check = compare(comparison, V::TimestampNs(value));
        assert_eq!(
            see(&metadata, &file, on(1, &nanos, check)),
            expected,
            "{value}"
        );
    }
}

/// Old ORC files tell of times in whole milliseconds.
#[test]
fn bounds_of_times_in_orc_files_are_rough() {
    let timestamp = PrimitiveType::Timestamp;
    let metadata = table_of(&timestamp, unpartitioned());
    let bound = |micros: i64| Some(V::Timestamp(micros).to_bytes().into());
    // Rows 1.5 and 2.5 ms after 1970-01-01.
    let file = |format| DataFile {
        file_format: format,
        ..data_file(
            Vec::new(),
            vec![ColumnStats {
                null_value_count: Some(0),
                lower_bound: bound(2_000),
                upper_bound: bound(2_000),
                ..stats(1)
            }],
        )
    };
    for (value, in_orc) in [
        (1_500, Checked),
        (2_500, Checked),
        (900, Skipped),
        (3_100, Skipped),
    ] {
        let x = || {
            on(
                1,
                &timestamp,
                compare(Comparison::Equal, V::Timestamp(value)),
            )
        };
        assert_eq!(
            see(&metadata, &file(FileFormat::Orc), x()),
            in_orc,
            "{value}"
        );
        assert_eq!(
            see(&metadata, &file(FileFormat::Parquet), x()),
            Skipped,
            "{value}"
        );
    }
}

/// known-bugs.md: "before 1970"; the trap table's "Time transforms, pre-1970".
#[test]
fn files_of_times_before_1970_are_found_however_their_writer_rounded() {
    let timestamp = PrimitiveType::Timestamp;
    let hours = 3_600_000_000_i64;
    // 1969-12-31 22:30: hour -2, day -1, month -1, year -1; towards zero hour -1, and 0 else.
    let moment = V::Timestamp(-3 * hours / 2);
    for (transform, right, old) in [
        ("hour", V::Int(-2), V::Int(-1)),
        ("day", V::Date(-1), V::Date(0)),
        ("month", V::Int(-1), V::Int(0)),
        ("year", V::Int(-1), V::Int(0)),
    ] {
        let metadata = table_of(&timestamp, spec_of(&[transform]));
        let x = |comparison, value| on(1, &timestamp, compare(comparison, value));
        for value in [right.clone(), old] {
            let file = data_file(vec![Some(value)], Vec::new());
            for predicate in [
                x(Comparison::Equal, moment.clone()),
                x(Comparison::LessOrEqual, moment.clone()),
                x(Comparison::GreaterOrEqual, moment.clone()),
                x(Comparison::Less, V::Timestamp(0)),
                on(1, &timestamp, one_of([moment.clone()])),
            ] {
                assert_ne!(
                    see(&metadata, &file, predicate.clone()),
                    Skipped,
                    "{predicate:?}"
                );
            }
            // What the term makes of it is looked for as well.
            let made = Predicate::Test(Test {
                term: Term {
                    transform: Transform::parse(transform).unwrap(),
                    ..Term::field(1, timestamp.clone())
                },
                check: compare(Comparison::Equal, right.clone()),
            });
            assert_ne!(see(&metadata, &file, made), Skipped, "{transform}");
        }
        // A file of the hour, day, month or year after 1970-01-01 00:00 and before the next is no such file.
        let later = match transform {
            "day" => V::Date(1),
            _ => V::Int(1),
        };
        let file = data_file(vec![Some(later)], Vec::new());
        assert_eq!(
            see(&metadata, &file, x(Comparison::LessOrEqual, moment.clone())),
            Skipped
        );
        assert_eq!(
            see(&metadata, &file, x(Comparison::Greater, moment.clone())),
            Whole
        );
    }
}

/// known-bugs.md: "time zone in pruning": transforms are of the stored UTC value, whatever the session's zone.
#[test]
fn days_are_days_in_utc() {
    let zoned = PrimitiveType::Timestamptz;
    let metadata = table_of(&zoned, spec_of(&["day"]));
    let file = data_file(vec![Some(V::Date(19_000))], Vec::new());
    let day = 86_400_000_000_i64;
    for (comparison, value, expected) in [
        (Comparison::Less, 19_000 * day, Skipped),
        (Comparison::Less, 19_000 * day + 1, Checked),
        (Comparison::GreaterOrEqual, 19_000 * day, Whole),
        (Comparison::GreaterOrEqual, 19_001 * day, Skipped),
        (Comparison::Less, 19_001 * day, Whole),
        (Comparison::GreaterOrEqual, 19_001 * day - 1, Checked),
        (Comparison::Equal, 19_000 * day - 1, Skipped),
    ] {
        let check = compare(comparison, V::Timestamptz(value));
        assert_eq!(
            see(&metadata, &file, on(1, &zoned, check)),
            expected,
            "{comparison:?} {value}"
        );
    }
}

/// The trap table's "void", "Unknown transform", "bucket", "truncate" and "Null".
#[test]
fn what_partitions_of_each_transform_tell() {
    let string = PrimitiveType::String;
    let bucket = |value: &str| {
        Transform::parse("bucket[16]")
            .unwrap()
            .apply(&text(value))
            .unwrap()
    };
    // Two texts in other buckets than "b".
    let others = || {
        let mut others = ('c'..='z').map(|letter| letter.to_string());
        let mut next = || others.find(|other| bucket(other) != bucket("b")).unwrap();
        [V::String(next()), V::String(next())]
    };
    use Comparison::*;
    for (transform, partition, check, expected) in [
        (
            "identity",
            Some(text("b")),
            compare(Equal, text("b")),
            Whole,
        ),
        (
            "identity",
            Some(text("b")),
            compare(Equal, text("bb")),
            Skipped,
        ),
        (
            "identity",
            Some(text("b")),
            compare(Less, text("b")),
            Skipped,
        ),
        ("identity", Some(text("b")), Check::NotNull, Whole),
        ("identity", None, Check::NotNull, Skipped),
        ("identity", None, Check::IsNull, Whole),
        ("identity", None, compare(NotEqual, text("b")), Skipped),
        ("void", None, compare(Equal, text("b")), Checked),
        ("void", None, Check::NotNull, Checked),
        ("void", None, Check::IsNull, Checked),
        (
            "zorder",
            Some(text("b")),
            compare(Equal, text("a")),
            Checked,
        ),
        ("zorder", None, Check::NotNull, Checked),
        (
            "bucket[16]",
            Some(bucket("b")),
            compare(Equal, text("b")),
            Checked,
        ),
        (
            "bucket[16]",
            Some(bucket("b")),
            compare(Equal, text("c")),
            Skipped,
        ),
        (
            "bucket[16]",
            Some(bucket("b")),
            compare(NotEqual, text("c")),
            Whole,
        ),
        (
            "bucket[16]",
            Some(bucket("b")),
            compare(NotEqual, text("b")),
            Checked,
        ),
        (
            "bucket[16]",
            Some(bucket("b")),
            one_of([text("c"), text("b")]),
            Checked,
        ),
        ("bucket[16]", Some(bucket("b")), one_of(others()), Skipped),
        ("bucket[16]", Some(bucket("b")), none_of(others()), Whole),
        (
            "bucket[16]",
            Some(bucket("b")),
            compare(Less, text("a")),
            Checked,
        ),
        ("bucket[16]", None, compare(Equal, text("b")), Skipped),
        ("bucket[16]", None, compare(NotEqual, text("b")), Skipped),
        (
            "truncate[2]",
            Some(text("ab")),
            compare(Equal, text("abc")),
            Checked,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            compare(Equal, text("ac")),
            Skipped,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            compare(Less, text("ab")),
            Skipped,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            compare(LessOrEqual, text("ab")),
            Checked,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            compare(Greater, text("ab")),
            Checked,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            compare(Greater, text("ac")),
            Skipped,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            compare(Less, text("ac")),
            Whole,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            Check::StartsWith(text("a")),
            Whole,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            Check::StartsWith(text("ab")),
            Whole,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            Check::StartsWith(text("abc")),
            Checked,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            Check::StartsWith(text("ac")),
            Skipped,
        ),
        (
            "truncate[2]",
            Some(text("a")),
            Check::StartsWith(text("ab")),
            Skipped,
        ),
        (
            "truncate[2]",
            Some(text("a")),
            compare(Equal, text("a")),
            Whole,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            Check::NotStartsWith(text("a")),
            Skipped,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            Check::NotStartsWith(text("abc")),
            Checked,
        ),
        (
            "truncate[2]",
            Some(text("ab")),
            Check::NotStartsWith(text("x")),
            Whole,
        ),
    ] {
        let metadata = table_of(&string, spec_of(&[transform]));
        let file = data_file(vec![partition.clone()], Vec::new());
        let seen = see(&metadata, &file, on(1, &string, check.clone()));
        assert_eq!(seen, expected, "{check:?} in {transform} {partition:?}");
    }
}

#[test]
fn a_list_is_judged_by_all_that_is_known_at_once() {
    // Of 1 and 100, the bucket excludes the one and the bounds the other.
    let int = PrimitiveType::Int;
    let metadata = table_of(&int, spec_of(&["bucket[16]"]));
    let bucket = |value| {
        Transform::parse("bucket[16]")
            .unwrap()
            .apply(&V::Int(value))
    };
    assert_ne!(bucket(1), bucket(100));
    let file = data_file(
        vec![bucket(100)],
        vec![ColumnStats {
            null_value_count: Some(0),
            lower_bound: Some(V::Int(0).to_bytes().into()),
            upper_bound: Some(V::Int(9).to_bytes().into()),
            ..stats(1)
        }],
    );
    let values = || [V::Int(1), V::Int(100)];
    assert_eq!(
        see(&metadata, &file, on(1, &int, one_of(values()))),
        Skipped
    );
    assert_eq!(see(&metadata, &file, on(1, &int, none_of(values()))), Whole);
}

#[test]
fn terms_with_a_transform_of_their_own() {
    let timestamp = PrimitiveType::Timestamp;
    let day = 86_400_000_000_i64;
    let file = |partition: Option<V>, lower: i64, upper: i64| {
        data_file(
            partition.map(Some).into_iter().collect(),
            vec![ColumnStats {
                null_value_count: Some(0),
                lower_bound: Some(V::Timestamp(lower).to_bytes().into()),
                upper_bound: Some(V::Timestamp(upper).to_bytes().into()),
                ..stats(1)
            }],
        )
    };
    let term = |transform: &str, check| {
        Predicate::Test(Test {
            term: Term {
                transform: Transform::parse(transform).unwrap(),
                ..Term::field(1, timestamp.clone())
            },
            check,
        })
    };
    let equals = |value| compare(Comparison::Equal, V::Int(value));
    // By the bounds of the column.
    let metadata = table_of(&timestamp, unpartitioned());
    let january = file(None, 0, 30 * day);
    assert_eq!(see(&metadata, &january, term("month", equals(0))), Whole);
    assert_eq!(see(&metadata, &january, term("month", equals(1))), Skipped);
    assert_eq!(
        see(
            &metadata,
            &january,
            term("hour", compare(Comparison::Less, V::Int(24)))
        ),
        Checked
    );
    assert_eq!(
        see(&metadata, &january, term("bucket[4]", equals(1))),
        Checked
    );
    // By a partition field of another transform.
    let metadata = table_of(&timestamp, spec_of(&["day"]));
    let first_of_february = file(Some(V::Date(31)), i64::MIN, i64::MAX);
    assert_eq!(
        see(&metadata, &first_of_february, term("month", equals(1))),
        Whole
    );
    assert_eq!(
        see(&metadata, &first_of_february, term("month", equals(0))),
        Skipped
    );
    // By the same transform, also one that keeps no order; of another number of buckets, not.
    let metadata = table_of(&timestamp, spec_of(&["bucket[4]"]));
    let bucket = file(Some(V::Int(3)), i64::MIN, i64::MAX);
    assert_eq!(see(&metadata, &bucket, term("bucket[4]", equals(3))), Whole);
    assert_eq!(
        see(&metadata, &bucket, term("bucket[4]", equals(2))),
        Skipped
    );
    assert_eq!(
        see(&metadata, &bucket, term("bucket[8]", equals(2))),
        Checked
    );
    // An identity partition tells the bucket.
    let metadata = table_of(&timestamp, spec_of(&["identity"]));
    let constant = file(Some(V::Timestamp(5)), 0, 9);
    let Some(V::Int(bucket)) = Transform::parse("bucket[4]")
        .unwrap()
        .apply(&V::Timestamp(5))
    else {
        panic!("a timestamp has a bucket");
    };
    assert_eq!(
        see(&metadata, &constant, term("bucket[4]", equals(bucket))),
        Whole
    );
    assert_eq!(
        see(
            &metadata,
            &constant,
            term("bucket[4]", equals((bucket + 1) % 4))
        ),
        Skipped
    );
}

/// The trap table's "Spec evolution": each file goes by its own spec.
#[test]
fn files_of_evolved_specs_go_by_their_own() {
    let timestamp = PrimitiveType::Timestamp;
    let metadata = table_of(
        &timestamp,
        json!([
            { "spec-id": 0, "fields": [
                { "source-id": 1, "field-id": 1000, "name": "m", "transform": "month" } ] },
            { "spec-id": 1, "fields": [
                { "source-id": 1, "field-id": 1000, "name": "m", "transform": "void" },
                { "source-id": 1, "field-id": 1001, "name": "d", "transform": "day" } ] },
        ]),
    );
    let day = 86_400_000_000_i64;
    let x = || {
        on(
            1,
            &timestamp,
            compare(Comparison::Less, V::Timestamp(70 * day)),
        )
    };
    let file = |spec_id, values| DataFile {
        partition: Partition { spec_id, values },
        ..data_file(Vec::new(), Vec::new())
    };
    for (spec_id, values, expected) in [
        (0, vec![Some(V::Int(1))], Whole),
        (0, vec![Some(V::Int(2))], Checked),
        (0, vec![Some(V::Int(70))], Skipped),
        (1, vec![None, Some(V::Date(69))], Whole),
        (1, vec![None, Some(V::Date(70))], Skipped),
        // A tuple that is not of its spec, and a spec that is not the table's, tell nothing.
        (1, vec![Some(V::Date(70))], Checked),
        (2, vec![Some(V::Date(70))], Checked),
    ] {
        let given = format!("{spec_id} {values:?}");
        assert_eq!(
            see(&metadata, &file(spec_id, values), x()),
            expected,
            "{given}"
        );
    }
}

/// Several source columns, and partition values whose type is not the term's.
#[test]
fn partitions_that_tell_nothing_of_a_column() {
    let int = PrimitiveType::Int;
    let column =
        |id| json!({ "id": id, "name": format!("c{id}"), "required": false, "type": "int" });
    let several = table(
        json!([column(1), column(2)]),
        json!([{ "spec-id": 0, "fields": [
            { "source-ids": [1, 2], "field-id": 1000, "name": "p", "transform": "bucket[4]" } ] }]),
    );
    let x = |value| on(1, &int, compare(Comparison::Equal, V::Int(value)));
    let file = |value| data_file(vec![Some(value)], Vec::new());
    for value in 0..4 {
        assert_eq!(see(&several, &file(V::Int(value)), x(9)), Checked);
    }
    // The column was read as int in an older snapshot; the value has the type of today.
    let identity = table_of(&PrimitiveType::Long, spec_of(&["identity"]));
    assert_eq!(see(&identity, &file(V::Long(9)), x(9)), Whole);
    assert_eq!(see(&identity, &file(V::Long(8)), x(9)), Skipped);
    assert_eq!(see(&identity, &file(V::Long(1 << 40)), x(9)), Checked);
    // Written before a promotion.
    let long = PrimitiveType::Long;
    let check = compare(Comparison::Equal, V::Long(9));
    assert_eq!(
        see(&identity, &file(V::Int(9)), on(1, &long, check.clone())),
        Whole
    );
    assert_eq!(
        see(&identity, &file(V::Int(8)), on(1, &long, check)),
        Skipped
    );
}

/// Partition values of floating-point columns: NaN, and zeros of both signs.
#[test]
fn identity_partitions_of_floats() {
    let double = PrimitiveType::Double;
    let metadata = table_of(&double, spec_of(&["identity"]));
    let file = |value| data_file(vec![Some(V::Double(value))], Vec::new());
    use Comparison::*;
    for (value, comparison, to, expected) in [
        (f64::NAN, Greater, 1e300, Whole),
        (f64::NAN, GreaterOrEqual, f64::NAN, Whole),
        (f64::NAN, Equal, f64::NAN, Whole),
        (f64::NAN, Less, 1e300, Skipped),
        (1.0, Less, f64::NAN, Whole),
        (0.0, Equal, -0.0, Whole),
        (-0.0, Equal, 0.0, Whole),
        (-0.0, Less, 0.0, Skipped),
    ] {
        let seen = see(
            &metadata,
            &file(value),
            on(1, &double, compare(comparison, V::Double(to))),
        );
        assert_eq!(seen, expected, "{value} {comparison:?} {to}");
    }
}

/// Summaries of one identity partition field of this type.
fn summarised(
    contains_null: bool,
    contains_nan: Option<bool>,
    bounds: Option<(V, V)>,
) -> ManifestFile {
    let (lower, upper) = bounds.unzip();
    ManifestFile {
        partition_spec_id: Some(0),
        partitions: Some(vec![FieldSummary {
            contains_null,
            contains_nan,
            lower_bound: lower.as_ref().map(V::to_bytes),
            upper_bound: upper.as_ref().map(V::to_bytes),
        }]),
        ..ManifestFile::inline("/t/m", 1)
    }
}

#[test]
fn summaries_of_manifests() {
    // TestInclusiveManifestEvaluator.
    let string = PrimitiveType::String;
    let texts = table_of(&string, spec_of(&["identity"]));
    let a_to_z = || Some((text("a"), text("z")));
    let only_a = || Some((text("a"), text("a")));
    for (contains_null, bounds, check, expected) in [
        (true, None, Check::NotNull, false),
        (true, None, Check::IsNull, true),
        (true, None, Check::StartsWith(text("asad")), false),
        (true, None, one_of([text("abc"), text("def")]), false),
        (true, a_to_z(), Check::NotNull, true),
        (true, a_to_z(), Check::IsNull, true),
        (false, a_to_z(), Check::NotNull, true),
        (false, a_to_z(), Check::IsNull, false),
        (true, a_to_z(), one_of([text("abc"), text("def")]), true),
        (true, a_to_z(), Check::StartsWith(text("a")), true),
        (true, a_to_z(), Check::StartsWith(text("aa")), true),
        (true, a_to_z(), Check::StartsWith(text("dddd")), true),
        (true, a_to_z(), Check::StartsWith(text("z")), true),
        (true, a_to_z(), Check::StartsWith(text("1")), false),
        (true, a_to_z(), Check::NotStartsWith(text("1")), true),
        (true, only_a(), Check::NotStartsWith(text("aa")), true),
        (false, only_a(), Check::NotStartsWith(text("a")), false),
        (
            false,
            a_to_z(),
            compare(Comparison::NotEqual, text("a")),
            true,
        ),
        (
            false,
            only_a(),
            compare(Comparison::NotEqual, text("b")),
            true,
        ),
    ] {
        let manifest = summarised(contains_null, None, bounds.clone());
        let seen = wanted(&texts, &manifest, on(1, &string, check.clone()));
        assert_eq!(seen, expected, "{contains_null} {bounds:?} {check:?}");
    }
    let int = PrimitiveType::Int;
    let ints = table_of(&int, spec_of(&["identity"]));
    let manifest = summarised(false, None, Some((V::Int(30), V::Int(79))));
    use Comparison::*;
    for (comparison, value, expected) in [
        (Less, 30, false),
        (Less, 31, true),
        (LessOrEqual, 29, false),
        (LessOrEqual, 30, true),
        (Greater, 79, false),
        (Greater, 78, true),
        (GreaterOrEqual, 80, false),
        (GreaterOrEqual, 79, true),
        (Equal, 29, false),
        (Equal, 30, true),
        (Equal, 79, true),
        (Equal, 80, false),
        (NotEqual, 5, true),
        (NotEqual, 30, true),
    ] {
        let x = on(1, &int, compare(comparison, V::Int(value)));
        assert_eq!(
            wanted(&ints, &manifest, x),
            expected,
            "{comparison:?} {value}"
        );
    }
    // A manifest without summaries, of another number of fields, or of a spec that the table has not.
    let x = || on(1, &int, compare(Equal, V::Int(29)));
    assert!(!wanted(&ints, &manifest, x()));
    let without = ManifestFile {
        partitions: None,
        ..manifest.clone()
    };
    let mut longer = manifest.clone();
    longer.partitions = manifest
        .partitions
        .as_ref()
        .map(|one| [one.clone(), one.clone()].concat());
    let of_no_spec = ManifestFile {
        partition_spec_id: None,
        ..manifest.clone()
    };
    let of_another = ManifestFile {
        partition_spec_id: Some(7),
        ..manifest.clone()
    };
    for manifest in [without, longer, of_no_spec, of_another] {
        assert!(wanted(&ints, &manifest, x()));
    }
    // Bounds from before the column became a long.
    let longs = table_of(&PrimitiveType::Long, spec_of(&["identity"]));
    let x = |value| on(1, &PrimitiveType::Long, compare(Equal, V::Long(value)));
    assert!(wanted(&longs, &manifest, x(30)));
    assert!(!wanted(&longs, &manifest, x(29)));
}

/// The trap table's "NaN": that a summary does not say whether there are NaNs means that there may be.
#[test]
fn contains_nan_is_unknown_where_it_is_missing() {
    let float = PrimitiveType::Float;
    let metadata = table_of(&float, spec_of(&["identity"]));
    let bounds = || Some((V::Float(0.0), V::Float(20.0)));
    let above = || compare(Comparison::Greater, V::Float(1e30));
    for (contains_null, contains_nan, bounds, check, expected) in [
        (false, None, bounds(), Check::IsNan, true),
        (false, Some(false), bounds(), Check::IsNan, false),
        (false, Some(true), bounds(), Check::IsNan, true),
        (true, None, None, Check::IsNan, true),
        (true, Some(false), None, Check::IsNan, false),
        (false, Some(true), None, Check::IsNan, true),
        (true, Some(true), None, Check::IsNan, true),
        (false, Some(true), None, Check::NotNan, false),
        (false, Some(false), bounds(), Check::NotNan, true),
        (true, None, None, Check::NotNull, true),
        (true, Some(false), None, Check::NotNull, false),
        // Postgres sorts NaN above all.
        (false, None, bounds(), above(), true),
        (false, Some(true), bounds(), above(), true),
        (false, Some(false), bounds(), above(), false),
        // A summary that says nothing at all.
        (
            false,
            None,
            None,
            compare(Comparison::Less, V::Float(0.0)),
            true,
        ),
    ] {
        let manifest = summarised(contains_null, contains_nan, bounds.clone());
        let seen = wanted(&metadata, &manifest, on(1, &float, check.clone()));
        assert_eq!(
            seen, expected,
            "{contains_null} {contains_nan:?} {bounds:?} {check:?}"
        );
    }
}

/// TestProjection and TestTransforms by way of summaries: ranges of transformed values.
#[test]
fn summaries_of_transformed_values() {
    let timestamp = PrimitiveType::Timestamp;
    let hour = 3_600_000_000_i64;
    let metadata = table_of(&timestamp, spec_of(&["day"]));
    let manifest = summarised(false, None, Some((V::Date(10), V::Date(11))));
    use Comparison::*;
    for (comparison, hours, expected) in [
        (Less, 240, false),
        (LessOrEqual, 240, true),
        (GreaterOrEqual, 288, false),
        (GreaterOrEqual, 287, true),
        (Equal, 239, false),
        (Equal, 240, true),
        (Equal, 287, true),
        (Equal, 288, false),
    ] {
        let x = on(
            1,
            &timestamp,
            compare(comparison, V::Timestamp(hours * hour)),
        );
        assert_eq!(
            wanted(&metadata, &manifest, x),
            expected,
            "{comparison:?} {hours}"
        );
    }
    let metadata = table_of(&timestamp, spec_of(&["bucket[16]"]));
    let transform = Transform::parse("bucket[16]").unwrap();
    let Some(V::Int(bucket)) = transform.apply(&V::Timestamp(77)) else {
        panic!("a timestamp has a bucket");
    };
    let x = || on(1, &timestamp, compare(Equal, V::Timestamp(77)));
    for (lower, upper) in [(0, 15), (bucket, bucket), (bucket, 15), (0, bucket)] {
        let manifest = summarised(false, None, Some((V::Int(lower), V::Int(upper))));
        assert!(wanted(&metadata, &manifest, x()));
    }
    for (lower, upper) in [(bucket + 1, 16), (-1, bucket - 1)] {
        let manifest = summarised(false, None, Some((V::Int(lower), V::Int(upper))));
        assert!(!wanted(&metadata, &manifest, x()));
    }
    // A v1 table drops a field by making it void: its summaries say that all is null.
    let metadata = table_of(&timestamp, spec_of(&["void"]));
    assert!(wanted(&metadata, &summarised(true, None, None), x()));
}
