//! Files written under earlier schemas, or by writers that know nothing of Iceberg, in tables whose schema has moved on.
//! Spec: "Schema Evolution", "Column Projection", "Default values".

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float32Array, Int32Array, Int64Array, StringArray,
};
use iceberg_fdw_tests::database::{Database, attach, text_rows};
use iceberg_fdw_tests::failure::expect;
use iceberg_fdw_tests::synthetic::{
    Directory, Table, list_of, map_of, parquet_of_arrays, parquet_without_ids, struct_of,
    without_ids, write_json,
};
use serde_json::{Value as Json, json};

fn ints(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn field(id: i32, name: &str, kind: impl Into<Json>) -> Json {
    json!({"id": id, "name": name, "required": false, "type": kind.into()})
}

fn with_default(mut field: Json, default: Json) -> Json {
    field["initial-default"] = default;
    field
}

fn structure(fields: Vec<Json>) -> Json {
    json!({"type": "struct", "fields": fields})
}

/// Writes the table with these fields and properties as one of format version 3.
fn write(directory: &Directory, table: &Table, fields: Vec<Json>, properties: Json) -> PathBuf {
    let mut metadata = table.write_snapshot();
    metadata["format-version"] = json!(3);
    metadata["next-row-id"] = json!(1000);
    metadata["last-column-id"] = json!(100);
    metadata["schemas"] = json!([{"type": "struct", "schema-id": 0, "fields": fields}]);
    metadata["properties"] = properties;
    write_json(&directory.join("t/metadata/v1.metadata.json"), &metadata);
    directory.join("t")
}

fn new_table(directory: &Directory) -> Table {
    Table::new(directory.join("t"))
}

fn query(table: PathBuf, query: &str) -> Result<Vec<String>, postgres::Error> {
    let database = Database::new();
    let mut client = database.with_server();
    client.batch_execute(&attach("t", table, ""))?;
    let rows = text_rows(&mut client, query)?;
    let shown = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    Ok(rows
        .into_iter()
        .map(|row| row.into_iter().map(shown).collect::<Vec<_>>().join("|"))
        .collect())
}

fn assert_rows(table: PathBuf, wanted: &str, expected: &[&str]) {
    assert_eq!(query(table, wanted).expect(wanted), expected, "{wanted}");
}

/// Files with all, some and no columns and ids, in partitions by identity and by bucket: bucket 3 of 4 has 5, 7 and 9.
fn table_of_missing_columns(directory: &Directory) -> PathBuf {
    let whole = parquet_of_arrays(&[
        (1, "id", ints(&[1, 2])),
        (2, "region", texts(&[Some("stored"), None])),
        (3, "note", texts(&[None, Some("n")])),
        (4, "bucketed", ints(&[5, 7])),
    ]);
    let table = new_table(directory)
        .partition_field(1000, "region", "identity", 2, json!("string"))
        .partition_field(1001, "bucketed_bucket", "bucket[4]", 4, json!("int"))
        .raw_file("a.parquet", &whole, 2)
        .in_partition(json!({"region": "other", "bucketed_bucket": 3}))
        .raw_file("b.parquet", &parquet_of_arrays(&[(1, "id", ints(&[3]))]), 1)
        .in_partition(json!({"region": "north", "bucketed_bucket": 3}))
        .raw_file("c.parquet", &parquet_of_arrays(&[(1, "id", ints(&[4]))]), 1)
        .in_partition(json!({"region": null, "bucketed_bucket": 3}));
    // As in a table that was migrated from Hive: the partition column is in no file.
    let migrated = parquet_without_ids(&[
        ("ident", ints(&[5])),
        ("NOTE", texts(&[Some("not the note")])),
    ]);
    let table = table
        .raw_file("d.parquet", &migrated, 1)
        .in_partition(json!({"region": "south", "bucketed_bucket": 3}));
    let mapping = json!([
        {"field-id": 1, "names": ["id", "ident"]}, {"field-id": 2, "names": ["region"]},
        {"field-id": 3, "names": ["note"]}, {"field-id": 4, "names": ["bucketed"]},
    ]);
    let fields = vec![
        field(1, "id", "int"),
        with_default(field(2, "region", "string"), json!("nowhere")),
        with_default(field(3, "note", "string"), json!("none")),
        with_default(field(4, "bucketed", "int"), json!(9)),
        field(5, "late", "date"),
    ];
    let properties = json!({"schema.name-mapping.default": mapping.to_string()});
    write(directory, &table, fields, properties)
}

#[test]
fn missing_column_order() {
    let directory = Directory::new();
    let table = table_of_missing_columns(&directory);
    assert_rows(
        table.clone(),
        "SELECT id, region, note, bucketed, late FROM t ORDER BY id",
        &[
            "1|stored|null|5|null",
            "2|null|n|7|null",
            "3|north|none|9|null",
            "4|null|none|9|null",
            "5|south|none|9|null",
        ],
    );
    assert_rows(
        table.clone(),
        "SELECT count(*) FROM t WHERE note = 'none'",
        &["3"],
    );
    assert_rows(
        table,
        "SELECT id FROM t WHERE region >= 'south' AND bucketed = 9",
        &["5"],
    );
}

#[test]
fn defaults() {
    let directory = Directory::new();
    let table = new_table(&directory).raw_file(
        "a.parquet",
        &parquet_of_arrays(&[
            (1, "id", ints(&[1, 2])),
            (20, "s", struct_of(&[(21, "a", ints(&[7, 8]))])),
            (
                30,
                "l",
                list_of(31, &[1, 1], struct_of(&[(32, "a", ints(&[7, 8]))])),
            ),
        ]),
        2,
    );
    let mut only_written = field(2, "only_written", "int");
    only_written["write-default"] = json!(5);
    let inner = vec![
        with_default(field(11, "a", "int"), json!(1)),
        field(12, "b", "int"),
        with_default(
            field(
                13,
                "c",
                structure(vec![with_default(field(14, "d", "boolean"), json!(true))]),
            ),
            json!({}),
        ),
    ];
    let list = json!({"type": "list", "element-id": 31, "element-required": false, "element":
        structure(vec![field(32, "a", "int"), with_default(field(33, "b", "long"), json!(2))])});
    let fields = vec![
        field(1, "id", "int"),
        only_written,
        with_default(field(3, "text", "string"), json!("it's")),
        with_default(field(4, "price", "decimal(9, 2)"), json!("14.20")),
        with_default(field(5, "day", "date"), json!("1969-12-31")),
        with_default(
            field(6, "at", "timestamptz"),
            json!("2025-02-03T04:05:06.789012+00:00"),
        ),
        with_default(
            field(7, "nanos", "timestamp_ns"),
            json!("2025-02-03T04:05:06.789012345"),
        ),
        with_default(
            field(8, "uuid", "uuid"),
            json!("f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        ),
        with_default(field(9, "bytes", "binary"), json!("00ff")),
        with_default(field(10, "made", structure(inner.clone())), json!({})),
        field(
            15,
            "null_struct",
            structure(vec![with_default(field(16, "a", "int"), json!(1))]),
        ),
        field(
            20,
            "s",
            structure(vec![
                with_default(field(22, "b", "string"), json!("x")),
                field(21, "a", "int"),
            ]),
        ),
        field(30, "l", list),
        with_default(
            field(
                40,
                "numbers",
                json!({"type": "list", "element-id": 41, "element-required": true, "element": "int"}),
            ),
            json!([1, 2]),
        ),
    ];
    let table = write(&directory, &table, fields, json!({}));
    assert_rows(
        table.clone(),
        "SELECT only_written, text, price, day, extract(epoch FROM at)::numeric, nanos, uuid, bytes, numbers FROM t WHERE id = 2",
        &[
            "null|it's|14.20|1969-12-31|1738555506.789012|2025-02-03 04:05:06.789012|\
           f79c3e09-677c-4bbd-a479-3f349cb785e7|\\x00ff|{1,2}",
        ],
    );
    assert_rows(
        table.clone(),
        "SELECT made, null_struct, s, l FROM t WHERE id = 1",
        &[r#"{"a": 1, "b": null, "c": {"d": true}}|null|{"a": 7, "b": "x"}|[{"a": 7, "b": 2}]"#],
    );
    assert_rows(
        table.clone(),
        "SELECT count(*) FROM t WHERE text = 'it''s' AND price > 14 AND day < '1970-01-01'",
        &["2"],
    );
    assert_rows(
        table,
        "SELECT count(*) FROM t WHERE text IS NULL OR price <> 14.2",
        &["0"],
    );
}

/// Points in a struct, a list and a map, of files with ids or without.
fn nested(prefix: &str, ids: bool) -> Vec<u8> {
    let point = || struct_of(&[(11, "x", ints(&[1])), (12, "y", ints(&[2]))]);
    let keys = texts(&[Some("k")]);
    let columns = [
        (1, format!("{prefix}.point"), point()),
        (2, format!("{prefix}.points"), list_of(21, &[1], point())),
        (
            3,
            format!("{prefix}.named"),
            map_of((31, 32), &[1], keys, point()),
        ),
    ];
    if ids {
        let columns: Vec<_> = columns
            .iter()
            .map(|(id, name, array)| (*id, name.as_str(), array.clone()))
            .collect();
        parquet_of_arrays(&columns)
    } else {
        let columns: Vec<_> = columns
            .iter()
            .map(|(_, name, array)| (name.as_str(), without_ids(array)))
            .collect();
        parquet_without_ids(&columns)
    }
}

fn point_type(ids: [i32; 2]) -> Json {
    structure(vec![field(ids[0], "y", "long"), field(ids[1], "x", "int")])
}

fn nested_fields() -> Vec<Json> {
    vec![
        field(1, "point", point_type([12, 11])),
        field(
            2,
            "points",
            json!({"type": "list", "element-id": 21, "element-required": false, "element": point_type([23, 22])}),
        ),
        field(
            3,
            "named",
            json!({"type": "map", "key-id": 31, "key": "string", "value-id": 32, "value-required": false,
                   "value": point_type([34, 33])}),
        ),
    ]
}

#[test]
fn name_mapping() {
    let directory = Directory::new();
    let table = new_table(&directory)
        .raw_file("with.parquet", &nested("any", true), 1)
        .raw_file("without.parquet", &nested("a", false), 1)
        .raw_file("alias.parquet", &nested("b", false), 1)
        .raw_file("unmapped.parquet", &nested("c", false), 1);
    let point = |ids: [i32; 2]| json!([{"field-id": ids[0], "names": ["x"]}, {"field-id": ids[1], "names": ["north", "y"]}]);
    let mapping = json!([
        {"field-id": 1, "names": ["a.point", "b.point"], "fields": point([11, 12])},
        {"field-id": 2, "names": ["a.points", "b.points"], "fields": [
            {"field-id": 21, "names": ["element"], "fields": point([22, 23])}]},
        {"field-id": 3, "names": ["a.named", "b.named"], "fields": [
            {"field-id": 31, "names": ["key"]},
            {"field-id": 32, "names": ["value"], "fields": point([33, 34])}]},
        {"names": ["c.point"]},
    ]);
    let properties = json!({"schema.name-mapping.default": mapping.to_string()});
    let table = write(&directory, &table, nested_fields(), properties);
    // The file with ids has others than the schema inside of lists and maps: those members are missing.
    assert_rows(
        table,
        "SELECT point, points, named FROM t ORDER BY point NULLS LAST, points->0->>'y' NULLS FIRST",
        &[
            r#"{"x": 1, "y": 2}|[{"x": null, "y": null}]|{"k": {"x": null, "y": null}}"#,
            r#"{"x": 1, "y": 2}|[{"x": 1, "y": 2}]|{"k": {"x": 1, "y": 2}}"#,
            r#"{"x": 1, "y": 2}|[{"x": 1, "y": 2}]|{"k": {"x": 1, "y": 2}}"#,
            "null|null|null",
        ],
    );
}

#[test]
fn a_name_mapping_that_is_broken_hurts_only_files_without_ids() {
    let directory = Directory::new();
    let broken = json!({"schema.name-mapping.default": "[{]"});
    let fields = vec![field(1, "id", "int")];
    let with_ids = new_table(&directory).raw_file(
        "with.parquet",
        &parquet_of_arrays(&[(1, "id", ints(&[7]))]),
        1,
    );
    let table = write(&directory, &with_ids, fields.clone(), broken.clone());
    assert_rows(table, "SELECT id FROM t", &["7"]);
    let without = with_ids.raw_file(
        "without.parquet",
        &parquet_without_ids(&[("id", ints(&[8]))]),
        1,
    );
    let table = write(&directory, &without, fields, broken);
    expect(
        query(table, "SELECT id FROM t"),
        &["XX001"],
        &["without.parquet", "schema.name-mapping.default"],
    );
}

#[test]
fn no_field_ids_and_no_mapping_is_by_place() {
    let directory = Directory::new();
    let file = parquet_without_ids(&[
        ("whatever", ints(&[1])),
        ("id", ints(&[2])),
        ("c", ints(&[3])),
    ]);
    let table = new_table(&directory)
        .raw_file("without.parquet", &file, 1)
        .raw_file(
            "with.parquet",
            &parquet_of_arrays(&[(2, "x", ints(&[20]))]),
            1,
        );
    let fields = vec![
        field(2, "second", "long"),
        field(1, "id", "int"),
        field(4, "fourth", "int"),
    ];
    let table = write(&directory, &table, fields, json!({}));
    assert_rows(
        table,
        "SELECT second, id, fourth FROM t ORDER BY 1",
        &["2|1|null", "20|null|null"],
    );
}

#[test]
fn promoted() {
    let directory = Directory::new();
    let decimals = Decimal128Array::from(vec![-99_999])
        .with_precision_and_scale(5, 2)
        .expect("a decimal type");
    let days: ArrayRef = Arc::new(Date32Array::from(vec![-1]));
    let columns: [(i32, ArrayRef); 5] = [
        (1, ints(&[i32::MIN])),
        (2, Arc::new(Float32Array::from(vec![0.1]))),
        (3, Arc::new(decimals)),
        (4, days.clone()),
        (5, days.clone()),
    ];
    let members: Vec<_> = columns
        .iter()
        .map(|(id, array)| (*id + 10, "member", array.clone()))
        .collect();
    let in_list = struct_of(&[(32, "member", days.clone()), (33, "other", ints(&[3]))]);
    let in_map = struct_of(&[(44, "member", ints(&[4]))]);
    let mut written: Vec<_> = columns
        .iter()
        .map(|(id, array)| (*id, "column", array.clone()))
        .collect();
    written.push((10, "s", struct_of(&members)));
    written.push((30, "l", list_of(31, &[1], in_list)));
    written.push((40, "m", map_of((41, 42), &[1], ints(&[5]), in_map)));
    let table = new_table(&directory).raw_file("a.parquet", &parquet_of_arrays(&written), 1);
    let types = [
        "long",
        "double",
        "decimal(38, 2)",
        "timestamp",
        "timestamp_ns",
    ];
    let of = |first: i32, name: &str| -> Vec<Json> {
        (first..)
            .zip(types)
            .map(|(id, kind)| field(id, &format!("{name}{id}"), kind))
            .collect()
    };
    let mut fields = of(1, "c");
    fields.push(field(10, "s", structure(of(11, "c"))));
    fields.push(field(
        30,
        "l",
        json!({"type": "list", "element-id": 31, "element-required": false, "element":
            structure(vec![field(33, "b", "long"), field(32, "a", "timestamp")])}),
    ));
    fields.push(field(
        40,
        "m",
        json!({"type": "map", "key-id": 41, "key": "long", "value-id": 42, "value-required": false,
            "value": structure(vec![field(44, "a", "long")])}),
    ));
    let table = write(&directory, &table, fields, json!({}));
    // 0.1::float4::float8
    assert_rows(
        table.clone(),
        "SELECT c1, c2 = 0.1::float4::float8, c3, c4, c5 FROM t",
        &["-2147483648|t|-999.99|1969-12-31 00:00:00|1969-12-31 00:00:00"],
    );
    assert_rows(
        table,
        "SELECT s->>'c11', (s->>'c12')::float8 = 0.1::float4::float8, s->>'c13', (s->>'c14')::timestamp,
                (s->>'c15')::timestamp, (l->0->>'a')::timestamp, l->0->>'b', m FROM t",
        &["-2147483648|t|-999.99|1969-12-31 00:00:00|1969-12-31 00:00:00|1969-12-31 00:00:00|3|\
           [{\"key\": 5, \"value\": {\"a\": 4}}]"],
    );
}

#[test]
fn date_to_timestamp_never_to_timestamptz_and_not_out_of_range() {
    for (kind, days, state) in [
        ("timestamptz", 0, "HV004"),
        ("timestamptz_ns", 0, "HV004"),
        ("timestamp_ns", i32::MAX, "22008"),
        ("timestamp", i32::MAX, "22008"),
    ] {
        let directory = Directory::new();
        let days: ArrayRef = Arc::new(Date32Array::from(vec![days]));
        let table =
            new_table(&directory).raw_file("a.parquet", &parquet_of_arrays(&[(1, "c", days)]), 1);
        let table = write(&directory, &table, vec![field(1, "c", kind)], json!({}));
        expect(query(table, "SELECT c FROM t"), &[state], &["\"c\""]);
    }
}

#[test]
fn rename_and_re_add() {
    let directory = Directory::new();
    let old = parquet_of_arrays(&[
        (1, "a", ints(&[1])),
        (2, "b", texts(&[Some("old b")])),
        (3, "c", texts(&[Some("old c")])),
    ]);
    let new = parquet_of_arrays(&[
        (5, "b", texts(&[Some("new b")])),
        (3, "renamed", texts(&[Some("new c")])),
        (1, "b2", Arc::new(Int64Array::from(vec![2]))),
    ]);
    let table = new_table(&directory)
        .raw_file("old.parquet", &old, 1)
        .raw_file("new.parquet", &new, 1);
    // b was dropped and added again, c renamed, a made a long, and all were moved.
    let fields = vec![
        field(5, "b", "string"),
        field(3, "renamed", "string"),
        field(1, "a", "long"),
    ];
    let table = write(&directory, &table, fields, json!({}));
    for (wanted, expected) in [
        (
            "SELECT b, renamed, a FROM t ORDER BY a",
            &["null|old c|1", "new b|new c|2"][..],
        ),
        ("SELECT a FROM t WHERE renamed = 'old c'", &["1"]),
        ("SELECT a FROM t WHERE b IS NULL", &["1"]),
        ("SELECT a FROM t WHERE b = 'old b'", &[]),
        ("SELECT a FROM t WHERE b LIKE 'new%'", &["2"]),
    ] {
        assert_rows(table.clone(), wanted, expected);
    }
}

#[test]
fn required_to_optional_and_struct_names() {
    let directory = Directory::new();
    let names = [
        "a/b",
        "a.b",
        "a",
        "A",
        "\"",
        "element",
        "key_value",
        "🧊",
        "",
    ];
    let members: Vec<_> = (11..)
        .zip(names)
        .map(|(id, name)| (id, name, ints(&[id])))
        .collect();
    let other: Vec<_> = (11..)
        .zip(names)
        .map(|(id, _)| (id, "x", ints(&[-id])))
        .collect();
    // Members of one name in a Parquet group would be ambiguous for its writer: each has its own file column.
    let other: Vec<_> = other
        .iter()
        .map(|(id, _, array)| (*id, format!("x{id}"), array.clone()))
        .collect();
    let other: Vec<_> = other
        .iter()
        .map(|(id, name, array)| (*id, name.as_str(), array.clone()))
        .collect();
    let table = new_table(&directory)
        .raw_file(
            "a.parquet",
            &parquet_of_arrays(&[(1, "s", struct_of(&members))]),
            1,
        )
        .raw_file(
            "b.parquet",
            &parquet_of_arrays(&[(1, "s", struct_of(&other))]),
            1,
        )
        .raw_file(
            "c.parquet",
            &parquet_of_arrays(&[(2, "other", ints(&[1]))]),
            1,
        );
    let fields = (11..)
        .zip(names)
        .map(|(id, name)| field(id, name, "int"))
        .collect();
    let table = write(
        &directory,
        &table,
        vec![field(1, "s", structure(fields))],
        json!({}),
    );
    for (id, name) in (11..).zip(names) {
        let wanted = format!("SELECT s->>'{name}' FROM t ORDER BY (s->>'{name}')::int");
        assert_rows(
            table.clone(),
            &wanted,
            &[&format!("-{id}"), &id.to_string(), "null"],
        );
    }
}
