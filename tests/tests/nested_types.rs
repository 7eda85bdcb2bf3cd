//! Structs, lists and variants in the types that a user may declare for them: composites, arrays, domains and jsonb.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, Date32Array, Int32Array, ListArray, StringArray, StructArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Date32Type, Field, Fields};
use arrow::temporal_conversions::{
    time64us_to_time, timestamp_ns_to_datetime, timestamp_us_to_datetime,
};
use iceberg_fdw_tests::database::{Database, attach, foreign_table, text_rows};
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::{Directory, Table, field_with_id};
use parquet_variant::Variant;
use parquet_variant_compute::{VariantArray, VariantArrayBuilder, json_to_variant, shred_variant};
use postgres::Client;
use serde_json::{Value as Json, json};

fn optional(id: i32, name: &str, kind: Json) -> Json {
    json!({"id": id, "name": name, "required": false, "type": kind})
}

fn structure(fields: Vec<Json>) -> Json {
    json!({"type": "struct", "fields": fields})
}

fn list(element_id: i32, element: Json) -> Json {
    json!({"type": "list", "element-id": element_id, "element-required": false, "element": element})
}

fn struct_of(members: Vec<(i32, &str, ArrayRef)>, valid: Option<Vec<bool>>) -> ArrayRef {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = members
        .into_iter()
        .map(|(id, name, array)| (field_with_id(id, name, array.data_type().clone()), array))
        .unzip();
    Arc::new(StructArray::new(
        fields.into(),
        arrays,
        valid.map(NullBuffer::from),
    ))
}

fn list_of(id: i32, lengths: &[usize], values: ArrayRef, valid: Option<Vec<bool>>) -> ArrayRef {
    let element = Arc::new(field_with_id(id, "element", values.data_type().clone()));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(
        element,
        offsets,
        values,
        valid.map(NullBuffer::from),
    ))
}

fn ints(values: Vec<Option<i32>>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}

fn texts(values: Vec<Option<&str>>) -> ArrayRef {
    Arc::new(StringArray::from(values))
}

/// `id`, a struct `s` with a struct inside, and a list `l` of such: four rows.
fn people(directory: &Directory) -> PathBuf {
    let place = |first: i32| {
        structure(vec![
            optional(first, "street", json!("string")),
            optional(first + 1, "number", json!("int")),
        ])
    };
    let person = |first: i32| {
        structure(vec![
            optional(first, "name", json!("string")),
            optional(first + 1, "place", place(first + 2)),
            optional(first + 4, "born", json!("date")),
        ])
    };
    let person_array = |first: i32| {
        let place = struct_of(
            vec![
                (
                    first + 2,
                    "street",
                    texts(vec![Some("A, \"1\""), None, None, Some("")]),
                ),
                (
                    first + 3,
                    "number",
                    ints(vec![Some(7), Some(8), None, None]),
                ),
            ],
            Some(vec![true, true, false, true]),
        );
        struct_of(
            vec![
                (
                    first,
                    "name",
                    texts(vec![Some("Ann"), Some("Bob"), None, Some("")]),
                ),
                (first + 1, "place", place),
                (
                    first + 4,
                    "born",
                    Arc::new(Date32Array::from(vec![Some(0), None, None, Some(-1)])),
                ),
            ],
            Some(vec![true, true, false, true]),
        )
    };
    Table::new(directory.path())
        .column(1, "id", "int")
        .typed_column(2, "s", person(10))
        .typed_column(3, "l", list(20, person(21)))
        .file(
            "data/people.parquet",
            vec![
                ints(vec![Some(1), Some(2), Some(3), Some(4)]),
                person_array(10),
                list_of(
                    20,
                    &[2, 0, 0, 2],
                    person_array(21),
                    Some(vec![true, true, false, true]),
                ),
            ],
        )
        .write()
}

const PEOPLE_TYPES: &str = "CREATE TYPE place AS (number int, street text); CREATE TYPE person AS (born date, name varchar, place place)";

fn connected() -> (Database, Client) {
    let database = Database::new();
    let client = database.with_server();
    (database, client)
}

fn one_table(
    columns: &str,
    types: &str,
    table: PathBuf,
    query: &str,
) -> Result<Vec<Vec<Option<String>>>, postgres::Error> {
    let (_database, mut client) = connected();
    client.batch_execute(types)?;
    client.batch_execute(&foreign_table("tested", columns, table, &[]))?;
    text_rows(&mut client, query)
}

#[test]
fn structs_are_read_as_declared_composites_whatever_the_order_of_attributes() {
    let directory = Directory::new();
    let table = people(&directory);
    let (_database, mut client) = connected();
    client
        .batch_execute(PEOPLE_TYPES)
        .expect("types can be made");
    client
        .batch_execute(&foreign_table(
            "tested",
            "id int, s person, l person[]",
            table,
            &[],
        ))
        .expect("a table can be declared");
    // The same rows by Postgres' own constructors.
    client
        .batch_execute(
            "CREATE TABLE heap (id int, s person, l person[]);
             INSERT INTO heap VALUES
               (1, ('1970-01-01', 'Ann', (7, 'A, \"1\"')::place)::person,
                   ARRAY[('1970-01-01', 'Ann', (7, 'A, \"1\"')::place), (NULL, 'Bob', (8, NULL)::place)]::person[]),
               (2, (NULL, 'Bob', (8, NULL)::place)::person, '{}'),
               (3, NULL, NULL),
               (4, ('1969-12-31', '', (NULL, '')::place)::person,
                   ARRAY[NULL, ('1969-12-31', '', (NULL, '')::place)]::person[])",
        )
        .expect("a heap table can be filled");
    for projection in [
        "*",
        "id, s, l::text",
        "id, (s).place, (l)[2]",
        "id, record_send(s), array_send(l)",
    ] {
        let rows = |client: &mut Client, table: &str| {
            text_rows(
                client,
                &format!("SELECT {projection} FROM {table} ORDER BY id"),
            )
            .unwrap_or_else(|error| panic!("{projection}: {error:?}"))
        };
        let heap = rows(&mut client, "heap");
        assert_eq!(heap.len(), 4);
        assert_eq!(rows(&mut client, "tested"), heap, "{projection}");
    }
    let joined = text_rows(
        &mut client,
        "SELECT count(*) FROM tested JOIN heap ON tested.s = heap.s AND tested.l = heap.l",
    )
    .expect("composites can be compared");
    assert_eq!(joined, [[Some("3".to_owned())]]);
}

#[test]
fn attributes_that_were_dropped_are_no_attributes() {
    let directory = Directory::new();
    let rows = one_table(
        "id int, s person",
        &format!(
            "{PEOPLE_TYPES}; ALTER TYPE place ADD ATTRIBUTE gone numeric; ALTER TYPE place DROP ATTRIBUTE gone;
             ALTER TYPE person DROP ATTRIBUTE born; ALTER TYPE person ADD ATTRIBUTE born date"
        ),
        people(&directory),
        "SELECT s FROM tested WHERE id = 1",
    )
    .expect("the row can be read");
    assert_eq!(
        rows,
        [[Some(
            r#"(Ann,"(7,""A, """"1"""""")",1970-01-01)"#.to_owned()
        )]]
    );
}

#[test]
fn a_composite_must_have_the_fields_of_the_struct_by_name() {
    let cases = [
        (
            "name varchar, place jsonb, born date, height int",
            "attribute \"height\"",
        ),
        ("name varchar, place jsonb", "field \"born\""),
        (
            "name varchar, place jsonb, \"Born\" date",
            "attribute \"Born\"",
        ),
        ("name int, place jsonb, born date", "\"s.name\""),
        (
            "name varchar(3), place jsonb, born date",
            "character varying(3)",
        ),
        ("name varchar, place text, born date", "\"s.place\""),
    ];
    for (attributes, part) in cases {
        let directory = Directory::new();
        let outcome = one_table(
            "id int, s person",
            &format!("CREATE TYPE person AS ({attributes})"),
            people(&directory),
            "SELECT s FROM tested",
        );
        failure::expect(outcome, &["HV004"], &["s", part]);
    }
}

#[test]
fn inner_structs_may_be_jsonb_in_a_composite() {
    let directory = Directory::new();
    let rows = one_table(
        "id int, s person, l jsonb[]",
        "CREATE TYPE person AS (name text, place jsonb, born date)",
        people(&directory),
        "SELECT (s).place, l[1]->'name', array_length(l, 1) FROM tested ORDER BY id",
    )
    .expect("the rows can be read");
    let texts: Vec<Vec<_>> = rows
        .iter()
        .map(|row| row.iter().map(Option::as_deref).collect())
        .collect();
    assert_eq!(
        texts,
        [
            vec![
                Some(r#"{"number": 7, "street": "A, \"1\""}"#),
                Some("\"Ann\""),
                Some("2")
            ],
            vec![Some(r#"{"number": 8, "street": null}"#), None, None],
            vec![None, None, None],
            vec![Some(r#"{"number": null, "street": ""}"#), None, Some("2")],
        ]
    );
}

/// A table of one column `v` of the values 1, NULL and 30, and one `l` of the list of them.
fn numbers(directory: &Directory) -> PathBuf {
    let values = || ints(vec![Some(1), None, Some(30)]);
    Table::new(directory.path())
        .column(1, "v", "int")
        .typed_column(2, "l", list(3, json!("int")))
        .file(
            "data/numbers.parquet",
            vec![
                values(),
                list_of(3, &[3, 0, 0], values(), Some(vec![true, true, false])),
            ],
        )
        .write()
}

#[test]
fn domains_accept_what_they_would_accept_in_a_heap_table() {
    let directory = Directory::new();
    let rows = one_table(
        "v small, l small[]",
        "CREATE DOMAIN tiny AS int CHECK (VALUE > 0); CREATE DOMAIN small AS tiny CHECK (VALUE < 100)",
        numbers(&directory),
        "SELECT v, l, pg_typeof(v), pg_typeof(l) FROM tested ORDER BY v",
    )
    .expect("the rows can be read");
    let texts: Vec<Vec<_>> = rows
        .iter()
        .map(|row| row.iter().map(Option::as_deref).collect())
        .collect();
    assert_eq!(
        texts,
        [
            [
                Some("1"),
                Some("{1,NULL,30}"),
                Some("small"),
                Some("small[]")
            ],
            [Some("30"), None, Some("small"), Some("small[]")],
            [None, Some("{}"), Some("small"), Some("small[]")],
        ]
    );
}

#[test]
fn domains_refuse_what_they_would_refuse_in_a_heap_table() {
    let cases = [
        (
            "v d",
            "int CHECK (VALUE < 30)",
            "SELECT v FROM tested",
            "23514",
        ),
        ("v d", "int NOT NULL", "SELECT v FROM tested", "23502"),
        ("l d[]", "int NOT NULL", "SELECT l FROM tested", "23502"),
        (
            "l d",
            "int[] CHECK (array_length(VALUE, 1) > 3)",
            "SELECT l FROM tested",
            "23514",
        ),
        (
            "v d",
            "bigint CHECK (VALUE <> 30)",
            "SELECT v FROM tested",
            "23514",
        ),
        ("v d", "text", "SELECT v FROM tested", "HV004"),
        ("v d", "numeric(1,0)", "SELECT v FROM tested", "HV004"),
    ];
    for (column, domain, query, state) in cases {
        let directory = Directory::new();
        let types = format!("CREATE DOMAIN d AS {domain}");
        let outcome = one_table(column, &types, numbers(&directory), query);
        failure::expect(outcome, &[state], &["d"]);
    }
}

#[test]
fn a_domain_over_a_composite_sees_its_attributes() {
    let directory = Directory::new();
    let types =
        format!("{PEOPLE_TYPES}; CREATE DOMAIN known AS person CHECK ((VALUE).name <> 'Bob')");
    let outcome = one_table(
        "s known",
        &types,
        people(&directory),
        "SELECT s FROM tested",
    );
    failure::expect(outcome, &["23514"], &["known"]);
}

#[test]
fn arrays_of_arrays_are_only_jsonb() {
    let table = |directory: &Directory| {
        let inner = list_of(4, &[2, 1], ints(vec![Some(1), Some(2), Some(3)]), None);
        Table::new(directory.path())
            .typed_column(1, "v", list(3, list(4, json!("int"))))
            .file("data/lists.parquet", vec![list_of(3, &[2], inner, None)])
            .write()
    };
    let directory = Directory::new();
    let refused = one_table("v int[]", "", table(&directory), "SELECT v FROM tested");
    failure::expect(refused, &["HV004"], &["list<list<int>>", "jsonb"]);
    let directory = Directory::new();
    let rows = one_table("v jsonb", "", table(&directory), "SELECT v FROM tested")
        .expect("the row can be read");
    assert_eq!(rows, [[Some("[[1, 2], [3]]".to_owned())]]);
}

#[test]
fn unknown_inside_lists_and_structs_is_null() {
    let directory = Directory::new();
    let nothing = |length| new_null_array(&DataType::Int32, length);
    let table = Table::new(directory.path())
        .typed_column(1, "l", list(2, json!("unknown")))
        .typed_column(
            3,
            "s",
            structure(vec![
                optional(4, "u", json!("unknown")),
                optional(5, "i", json!("int")),
            ]),
        )
        .column(6, "u", "unknown")
        .file(
            "data/nothing.parquet",
            vec![
                list_of(2, &[2], nothing(2), None),
                struct_of(
                    vec![(4, "u", nothing(1)), (5, "i", ints(vec![Some(5)]))],
                    None,
                ),
                nothing(1),
            ],
        )
        .write();
    let (_database, mut client) = connected();
    client
        .batch_execute(&attach("tested", &table, ""))
        .expect("the table can be attached");
    let rows = text_rows(
        &mut client,
        "SELECT l, pg_typeof(l), s, u, pg_typeof(u) FROM tested",
    )
    .expect("the row can be read");
    let texts: Vec<_> = rows[0].iter().map(Option::as_deref).collect();
    assert_eq!(
        texts,
        [
            Some("{NULL,NULL}"),
            Some("text[]"),
            Some(r#"{"i": 5, "u": null}"#),
            None,
            Some("text")
        ]
    );
}

fn variant_table(directory: &Directory, variants: &VariantArray) -> PathBuf {
    Table::new(directory.path())
        .column(1, "v", "variant")
        .file(
            "data/variants.parquet",
            vec![Arc::new(variants.inner().clone())],
        )
        .write()
}

fn variant_texts(table: PathBuf) -> Vec<Option<String>> {
    let (_database, mut client) = connected();
    client
        .batch_execute(&attach("tested", table, ""))
        .expect("the table can be attached");
    text_rows(&mut client, "SELECT v FROM tested")
        .expect("the variants can be read")
        .remove_first_columns()
}

trait FirstColumn {
    fn remove_first_columns(self) -> Vec<Option<String>>;
}

impl FirstColumn for Vec<Vec<Option<String>>> {
    fn remove_first_columns(self) -> Vec<Option<String>> {
        self.into_iter().map(|mut row| row.swap_remove(0)).collect()
    }
}

/// Every type of a variant, and what `jsonb` shows for it.
fn every_variant() -> Vec<(Variant<'static, 'static>, &'static str)> {
    let micros = |micros| timestamp_us_to_datetime(micros).expect("a moment");
    let nanos = timestamp_ns_to_datetime(1_709_212_455_123_456_789).expect("a moment");
    let decimal = |unscaled, scale| Variant::try_from((unscaled, scale)).expect("a decimal");
    vec![
        (Variant::Null, "null"),
        (true.into(), "true"),
        (false.into(), "false"),
        (i8::MIN.into(), "-128"),
        (i16::MAX.into(), "32767"),
        (i32::MIN.into(), "-2147483648"),
        (i64::MAX.into(), "9223372036854775807"),
        (1.5_f32.into(), "1.5"),
        (0.1_f64.into(), "0.1"),
        (f32::NAN.into(), "\"NaN\""),
        (f64::INFINITY.into(), "\"Infinity\""),
        (f64::NEG_INFINITY.into(), "\"-Infinity\""),
        (
            Variant::try_from((12_345_i32, 2_u8)).expect("a decimal"),
            "123.45",
        ),
        (
            Variant::try_from((-5_i64, 12_u8)).expect("a decimal"),
            "-0.000000000005",
        ),
        (
            decimal(10_i128.pow(38) - 1, 38_u8),
            "0.99999999999999999999999999999999999999",
        ),
        (
            decimal(1 - 10_i128.pow(38), 0_u8),
            "-99999999999999999999999999999999999999",
        ),
        (
            Date32Type::to_naive_date_opt(-1).expect("a date").into(),
            "\"1969-12-31\"",
        ),
        (
            time64us_to_time(3_661_000_001).expect("a time").into(),
            "\"01:01:01.000001\"",
        ),
        (
            micros(1_709_212_455_161_718).and_utc().into(),
            "\"2024-02-29T13:14:15.161718+00:00\"",
        ),
        (micros(-1).into(), "\"1969-12-31T23:59:59.999999\""),
        (
            nanos.and_utc().into(),
            "\"2024-02-29T13:14:15.123456789+00:00\"",
        ),
        (nanos.into(), "\"2024-02-29T13:14:15.123456789\""),
        (
            uuid::Uuid::from_u128(0xf79c_3e09_677c_4bbd_a479_3f34_9cb7_85e7).into(),
            "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"",
        ),
        ((&b"\x00\xff"[..]).into(), "\"00ff\""),
        ("\"é\"\n".into(), "\"\\\"é\\\"\\n\""),
        (
            "a string that is longer than sixty-three bytes is stored in another way".into(),
            "\"a string that is longer than sixty-three bytes is stored in another way\"",
        ),
    ]
}

#[test]
fn variants_of_every_type_keep_every_digit() {
    let mut builder = VariantArrayBuilder::new(32);
    for (variant, _) in every_variant() {
        builder.append_variant(variant);
    }
    builder.append_null();
    let plain = builder.build();
    let mut expected: Vec<_> = every_variant()
        .into_iter()
        .map(|(_, text)| Some(text.to_owned()))
        .collect();
    expected.push(None);
    let directory = Directory::new();
    assert_eq!(variant_texts(variant_table(&directory, &plain)), expected);
    // Only strings are shredded as strings: nothing becomes another type.
    let shredded = shred_variant(&plain, &DataType::Utf8View).expect("it can be shredded");
    let directory = Directory::new();
    assert_eq!(
        variant_texts(variant_table(&directory, &shredded)),
        expected
    );
}

#[test]
fn variants_shredded_as_objects_are_whole_again() {
    let documents = [
        r#"{"a": 1, "b": {"c": "x", "d": [1, 2]}, "rest": null}"#,
        r#"{"a": "no number", "list": [1, "two", null, [3], {"a": 4}]}"#,
        r#"[1, {"a": 2}]"#,
        r#"{}"#,
        r#""text""#,
    ];
    let strings: ArrayRef = Arc::new(StringArray::from(documents.to_vec()));
    let plain = json_to_variant(&strings).expect("JSON is a variant");
    let fields: Fields = vec![
        Field::new("a", DataType::Int64, true),
        Field::new(
            "b",
            DataType::Struct(vec![Field::new("c", DataType::Utf8View, true)].into()),
            true,
        ),
        Field::new(
            "list",
            DataType::List(Arc::new(Field::new("element", DataType::Int64, true))),
            true,
        ),
    ]
    .into();
    let shredded = shred_variant(&plain, &DataType::Struct(fields)).expect("it can be shredded");
    let directory = Directory::new();
    let texts = variant_texts(variant_table(&directory, &shredded));
    assert_eq!(texts.len(), documents.len());
    for (text, document) in texts.iter().zip(documents) {
        let value = |text: &str| serde_json::from_str::<Json>(text).expect("JSON");
        assert_eq!(value(text.as_deref().expect("no NULL")), value(document));
    }
}

#[test]
fn a_variant_nested_as_deep_as_allowed_is_read_and_a_deeper_one_refused() {
    let nested = |levels: usize| {
        let mut value = vec![0_u8];
        for _ in 1..levels {
            let length = u32::try_from(value.len())
                .expect("a short value")
                .to_le_bytes();
            // An array of one element, with offsets of four bytes.
            value = [&[0x0F, 1, 0, 0, 0, 0][..], &length, &value].concat();
        }
        let bytes = |bytes: &[u8]| -> ArrayRef { Arc::new(BinaryViewArray::from(vec![bytes])) };
        let group = StructArray::new(
            vec![
                Field::new("metadata", DataType::BinaryView, false),
                Field::new("value", DataType::BinaryView, true),
            ]
            .into(),
            vec![bytes(&[1, 0, 0]), bytes(&value)],
            None,
        );
        VariantArray::try_new(&group).expect("a variant's group")
    };
    let directory = Directory::new();
    let texts = variant_texts(variant_table(&directory, &nested(200)));
    let expected = format!("{}null{}", "[".repeat(199), "]".repeat(199));
    assert_eq!(texts, [Some(expected)]);
    let directory = Directory::new();
    let table = variant_table(&directory, &nested(20_000));
    let outcome = one_table("v jsonb", "", table, "SELECT v FROM tested");
    failure::expect(
        outcome,
        &["0A000"],
        &["variants.parquet", "\"v\"", "200 levels"],
    );
}

#[test]
fn a_variant_with_a_nul_character_is_an_error_that_names_file_and_column() {
    let mut builder = VariantArrayBuilder::new(1);
    builder.append_variant("a\0b".into());
    let directory = Directory::new();
    let table = variant_table(&directory, &builder.build());
    let outcome = one_table("v jsonb", "", table, "SELECT v FROM tested");
    failure::expect(outcome, &["22021"], &["variants.parquet", "v"]);
}

#[test]
fn a_variant_is_no_text() {
    let mut builder = VariantArrayBuilder::new(1);
    builder.append_variant("a".into());
    let directory = Directory::new();
    let table = variant_table(&directory, &builder.build());
    let outcome = one_table("v text", "", table, "SELECT v FROM tested");
    failure::expect(outcome, &["HV004"], &["variant", "text", "jsonb"]);
}

#[test]
fn ns_timestamps_are_floored_to_microseconds_at_any_depth() {
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![
        -1,
        1,
        999,
        1_709_212_455_123_456_789,
        i64::MIN,
        i64::MAX,
    ]));
    let expected = [
        "1969-12-31 23:59:59.999999",
        "1970-01-01 00:00:00",
        "1970-01-01 00:00:00",
        "2024-02-29 13:14:15.123456",
        "1677-09-21 00:12:43.145224",
        "2262-04-11 23:47:16.854775",
    ];
    let directory = Directory::new();
    let table = Table::new(directory.path())
        .column(1, "v", "timestamp_ns")
        .typed_column(2, "l", list(3, json!("timestamp_ns")))
        .file(
            "data/nanos.parquet",
            vec![nanos.clone(), list_of(3, &[6, 0, 0, 0, 0, 0], nanos, None)],
        )
        .write();
    let (_database, mut client) = connected();
    client
        .batch_execute(&attach("tested", table, ""))
        .expect("the table can be attached");
    let rows = text_rows(&mut client, "SELECT v FROM tested").expect("the rows can be read");
    assert_eq!(
        rows.remove_first_columns(),
        expected.map(|text| Some(text.to_owned()))
    );
    let rows =
        text_rows(&mut client, "SELECT unnest(l) FROM tested").expect("the lists can be read");
    assert_eq!(
        rows.remove_first_columns(),
        expected.map(|text| Some(text.to_owned()))
    );
    let equal = text_rows(
        &mut client,
        "SELECT count(*) FROM tested WHERE v = '2024-02-29 13:14:15.123456'",
    )
    .expect("the rows can be counted");
    assert_eq!(equal, [[Some("1".to_owned())]]);
}

#[test]
fn no_stored_moment_is_infinity() {
    let directory = Directory::new();
    let moments: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![i64::MAX]));
    let table = Table::new(directory.path())
        .column(1, "v", "timestamp")
        .file("data/late.parquet", vec![moments])
        .write();
    let rows = one_table(
        "v timestamp",
        "",
        table,
        "SELECT isfinite(v), v < 'infinity', v > '294247-01-01' FROM tested",
    )
    .expect("the row can be read");
    assert_eq!(
        rows,
        [[
            Some("t".to_owned()),
            Some("t".to_owned()),
            Some("t".to_owned())
        ]]
    );
}
