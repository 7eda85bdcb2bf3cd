//! Row-level deletes that no reference writer made: sizes, mixtures, and tables that contradict themselves.
//! Spec: "Delete Formats", "Scan Planning".

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use iceberg_fdw_tests::database::{Database, foreign_table, text_value};
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::{Directory, Table};
use postgres::Client;

fn longs(values: impl IntoIterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Int64Array>())
}

fn range(rows: i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(0..rows))
}

fn words(rows: i64) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(
        (0..rows).map(|row| format!("word {row}")),
    ))
}

/// A table `n long, w string` of files with the numbers from 0 up to `rows`.
fn numbers(directory: &Directory, files: usize, rows: i64) -> Table {
    (0..files).fold(
        Table::new(directory.path())
            .column(1, "n", "long")
            .column(2, "w", "string"),
        |table, file| {
            table.file(
                &format!("data/{file}.parquet"),
                vec![range(rows), words(rows)],
            )
        },
    )
}

const COLUMNS: &str = "n bigint, w text";

fn open(database: &Database, location: &Path) -> Client {
    let mut client = database.with_server();
    client
        .batch_execute(&foreign_table("tested", COLUMNS, location, &[]))
        .expect("a foreign table can be made");
    client
}

fn answer(location: &Path, query: &str) -> Option<String> {
    let database = Database::new();
    let mut client = open(&database, location);
    text_value(&mut client, query).unwrap_or_else(|error| {
        panic!(
            "{}",
            failure::text(&failure::server_error::<()>(Err(error)))
        )
    })
}

fn numbers_left(location: &Path) -> String {
    answer(
        location,
        "SELECT string_agg(n::text, ' ' ORDER BY n, w) FROM tested",
    )
    .unwrap_or_default()
}

fn refused(table: Table, states: &[&str], parts: &[&str]) {
    let location = table.write();
    let database = Database::new();
    let mut client = open(&database, &location);
    failure::expect(
        text_value(&mut client, "SELECT sum(n) FROM tested"),
        states,
        parts,
    );
}

#[test]
fn path_matching_is_byte_for_byte() {
    let directory = Directory::new();
    let table = numbers(&directory, 1, 4)
        .position_deletes(
            "data/deletes.parquet",
            &[
                ("data/0.parquet", 1),
                ("data//0.parquet", 2),
                ("data/0%2Eparquet", 2),
                ("data/0.PARQUET", 2),
                ("data/other.parquet", 3),
            ],
        )
        .write();
    assert_eq!(numbers_left(&table), "0 2 3");
}

#[test]
fn path_matching_in_a_moved_table_compares_the_paths_of_before() {
    let directory = Directory::new();
    let table = Table::new(directory.path())
        .location("s3://bucket/elsewhere/table")
        .column(1, "n", "long")
        .column(2, "w", "string")
        .file("data/0.parquet", vec![range(3), words(3)])
        .position_deletes("data/deletes.parquet", &[("data/0.parquet", 0)])
        .write();
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&foreign_table(
            "tested",
            COLUMNS,
            &table,
            &[("allow_moved_paths", "true")],
        ))
        .expect("a foreign table can be made");
    let left = text_value(&mut client, "SELECT sum(n) FROM tested").expect("an answer");
    assert_eq!(left.as_deref(), Some("3"));
    let count = text_value(&mut client, "SELECT count(*) FROM tested").expect("an answer");
    assert_eq!(count.as_deref(), Some("2"));
}

#[test]
fn dv_precedence_over_position_deletes_but_not_over_equality_deletes() {
    let directory = Directory::new();
    let table = numbers(&directory, 2, 6)
        .position_deletes(
            "data/positions.parquet",
            &[("data/0.parquet", 0), ("data/1.parquet", 0)],
        )
        .deletion_vectors("data/vectors.puffin", &[("data/0.parquet", vec![1, 5])])
        .equality_deletes("data/equality.parquet", &[(1, longs([Some(3)]))])
        .write();
    let per_file = "SELECT string_agg(n::text, ' ' ORDER BY n) FROM tested";
    assert_eq!(answer(&table, per_file).as_deref(), Some("0 1 2 2 4 4 5"));
}

#[test]
fn several_deletion_vectors_in_one_puffin_file() {
    let directory = Directory::new();
    let vectors: Vec<(String, Vec<u64>)> = (0..5)
        .map(|file| (format!("data/{file}.parquet"), vec![file, file + 1]))
        .collect();
    let vectors: Vec<_> = vectors
        .iter()
        .map(|(path, positions)| (path.as_str(), positions.clone()))
        .collect();
    let table = numbers(&directory, 5, 6)
        .deletion_vectors("data/vectors.puffin", &vectors)
        .write();
    // File k lacks k and k + 1.
    let query = "SELECT string_agg(n || 'x' || c, ' ' ORDER BY n) FROM (SELECT n, count(*) c FROM tested GROUP BY n) x";
    assert_eq!(
        answer(&table, query).as_deref(),
        Some("0x4 1x3 2x3 3x3 4x3 5x4")
    );
}

#[test]
fn equality_matching_null_matches_null_and_columns_that_are_not_read_count() {
    let directory = Directory::new();
    let names: ArrayRef = Arc::new(StringArray::from(vec![
        Some("a"),
        None,
        Some("c"),
        None,
        Some(""),
    ]));
    let key: ArrayRef = Arc::new(StringArray::from(vec![None, Some("c")]));
    let table = Table::new(directory.path())
        .column(1, "n", "long")
        .column(2, "w", "string")
        .file("data/0.parquet", vec![range(5), names])
        .equality_deletes("data/deletes.parquet", &[(2, key)])
        .write();
    for (query, expected) in [
        ("SELECT sum(n) FROM tested", "4"),
        ("SELECT count(*) FROM tested", "2"),
        (
            "SELECT string_agg('<' || w || '>', ',' ORDER BY n) FROM tested",
            "<a>,<>",
        ),
    ] {
        assert_eq!(answer(&table, query).as_deref(), Some(expected), "{query}");
    }
}

#[test]
fn equality_matching_nan_matches_nan_and_negative_zero_is_not_zero() {
    let directory = Directory::new();
    let other_nan = f64::from_bits(0xFFF8_0000_0000_0001);
    let values = [f64::NAN, other_nan, 0.0, -0.0, 1.5, f64::INFINITY];
    let key: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, -0.0, f64::INFINITY]));
    let table = Table::new(directory.path())
        .column(1, "d", "double")
        .file(
            "data/0.parquet",
            vec![Arc::new(Float64Array::from(values.to_vec()))],
        )
        .equality_deletes("data/deletes.parquet", &[(1, key)])
        .write();
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&foreign_table("tested", "d float8", &table, &[]))
        .expect("a foreign table can be made");
    let query = "SELECT string_agg(d::text, ' ' ORDER BY d) FROM tested";
    let left = text_value(&mut client, query).expect("an answer");
    assert_eq!(left.as_deref(), Some("0 1.5"));
}

#[test]
fn equality_matching_several_columns_and_several_sets() {
    let directory = Directory::new();
    let pair = |n: i64, word: &str| -> Vec<(i32, ArrayRef)> {
        vec![
            (2, Arc::new(StringArray::from(vec![word]))),
            (1, longs([Some(n)])),
        ]
    };
    let table = numbers(&directory, 1, 8)
        .equality_deletes("data/pair.parquet", &pair(1, "word 1"))
        .equality_deletes("data/other.parquet", &pair(2, "word 3"))
        .equality_deletes(
            "data/single.parquet",
            &[(1, longs([Some(7), Some(99), None]))],
        )
        .equality_deletes("data/same.parquet", &[(1, longs([Some(7), Some(6)]))])
        .write();
    assert_eq!(numbers_left(&table), "0 2 3 4 5");
}

#[test]
fn global_equality_deletes_of_another_unpartitioned_spec() {
    let directory = Directory::new();
    let table = numbers(&directory, 1, 4)
        .delete_spec_id(1)
        .equality_deletes("data/deletes.parquet", &[(1, longs([Some(2)]))])
        .position_deletes("data/positions.parquet", &[("data/0.parquet", 0)])
        .write();
    // Global position deletes do not exist.
    assert_eq!(numbers_left(&table), "0 1 3");
}

#[test]
fn a_data_file_with_two_deletion_vectors() {
    let directory = Directory::new();
    let table = numbers(&directory, 1, 4)
        .deletion_vectors("data/a.puffin", &[("data/0.parquet", vec![1])])
        .deletion_vectors("data/b.puffin", &[("data/0.parquet", vec![2])]);
    refused(
        table,
        &["XX001"],
        &[
            "data/0.parquet",
            "two deletion vectors",
            "a.puffin",
            "b.puffin",
        ],
    );
}

#[test]
fn a_deletion_vector_of_another_partition() {
    let directory = Directory::new();
    let table = numbers(&directory, 1, 4)
        .delete_spec_id(1)
        .deletion_vectors("data/a.puffin", &[("data/0.parquet", vec![1])]);
    refused(
        table,
        &["XX001"],
        &["data/0.parquet", "a.puffin", "another partition"],
    );
}

#[test]
fn a_deletion_vector_with_a_wrong_checksum() {
    let directory = Directory::new();
    let table =
        numbers(&directory, 1, 4).deletion_vectors("data/a.puffin", &[("data/0.parquet", vec![1])]);
    let path = directory.join("data/a.puffin");
    let mut bytes = std::fs::read(&path).expect("the file was written");
    // Magic, length and magic take 12 bytes.
    bytes[12 + 8] ^= 1;
    std::fs::write(&path, bytes).expect("the file can be changed");
    refused(table, &["XX001"], &["a.puffin", "byte 4", "checksum"]);
}

#[test]
fn a_deletion_vector_with_another_cardinality() {
    let directory = Directory::new();
    let table = numbers(&directory, 1, 4)
        .deletion_vectors("data/a.puffin", &[("data/0.parquet", vec![1, 2])])
        .change_deletes(|entry| entry.records = 3);
    refused(
        table,
        &["XX001"],
        &["a.puffin", "2 positions", "manifest says 3"],
    );
}

#[test]
fn a_deletion_vector_without_its_data_file() {
    let directory = Directory::new();
    let table = numbers(&directory, 1, 4)
        .deletion_vectors("data/a.puffin", &[("data/0.parquet", vec![1])])
        .change_deletes(|entry| entry.referenced_data_file = None);
    refused(table, &["XX001"], &["a.puffin", "which data file"]);
}

#[test]
fn a_deletion_vector_without_a_place_or_outside_of_its_file() {
    for (offset, size) in [
        (None, Some(8)),
        (Some(4), None),
        (Some(-1), Some(8)),
        (Some(4), Some(1 << 40)),
        (Some(i64::MAX), Some(i64::MAX)),
    ] {
        let directory = Directory::new();
        let table = numbers(&directory, 1, 4)
            .deletion_vectors("data/a.puffin", &[("data/0.parquet", vec![1])])
            .change_deletes(|entry| {
                entry.content_offset = offset;
                entry.content_size = size;
            });
        refused(table, &["XX001"], &["a.puffin"]);
    }
}

#[test]
fn a_missing_delete_file() {
    for name in [
        "data/positions.parquet",
        "data/equality.parquet",
        "data/vectors.puffin",
    ] {
        let directory = Directory::new();
        let table = numbers(&directory, 2, 4)
            .position_deletes("data/positions.parquet", &[("data/1.parquet", 0)])
            .equality_deletes("data/equality.parquet", &[(1, longs([Some(3)]))])
            .deletion_vectors("data/vectors.puffin", &[("data/0.parquet", vec![1])]);
        std::fs::remove_file(directory.join(name)).expect("the file was written");
        refused(table, &["58P01"], &[name]);
    }
}

#[test]
fn delete_files_that_are_not_what_they_should_be() {
    let directory = Directory::new();
    let other: ArrayRef = longs([Some(1)]);
    let no_columns = numbers(&directory, 1, 4)
        .equality_deletes("data/e.parquet", &[(1, other)])
        .change_deletes(|entry| entry.equality_ids = vec![2]);
    refused(no_columns, &["XX001"], &["data/e.parquet", "\"w\""]);

    let directory = Directory::new();
    let unknown = numbers(&directory, 1, 4)
        .equality_deletes("data/e.parquet", &[(1, longs([Some(1)]))])
        .change_deletes(|entry| entry.equality_ids = vec![77]);
    refused(unknown, &["XX001"], &["data/e.parquet", "77"]);

    let directory = Directory::new();
    let nothing = numbers(&directory, 1, 4)
        .equality_deletes("data/e.parquet", &[(1, longs([Some(1)]))])
        .change_deletes(|entry| entry.equality_ids = Vec::new());
    refused(nothing, &["XX001"], &["data/e.parquet", "which columns"]);

    let directory = Directory::new();
    let negative =
        numbers(&directory, 1, 4).position_deletes("data/p.parquet", &[("data/0.parquet", -1)]);
    refused(negative, &["XX001"], &["data/p.parquet", "row -1"]);

    let directory = Directory::new();
    let garbage = numbers(&directory, 1, 4).delete_file("data/p.parquet", &[7; 999], 1, 1, &[]);
    refused(garbage, &["XX001"], &["data/p.parquet"]);

    let directory = Directory::new();
    let said_to_be_orc = numbers(&directory, 1, 4)
        .position_deletes("data/p.orc", &[("data/0.parquet", 1)])
        .change_deletes(|entry| entry.format = "ORC".to_owned());
    refused(
        said_to_be_orc,
        &["XX001"],
        &["data/p.orc", "not an ORC file"],
    );
}

#[test]
fn positions_past_the_end_delete_nothing() {
    let directory = Directory::new();
    let table = numbers(&directory, 2, 3)
        .deletion_vectors("data/v.puffin", &[("data/0.parquet", vec![2, 3, 1 << 40])])
        .position_deletes(
            "data/p.parquet",
            &[("data/1.parquet", 1), ("data/1.parquet", i64::MAX)],
        )
        .write();
    assert_eq!(numbers_left(&table), "0 0 1 2");
}

#[test]
fn explain_tells_of_deletes() {
    let directory = Directory::new();
    let table = numbers(&directory, 3, 10)
        .deletion_vectors("data/v.puffin", &[("data/0.parquet", vec![2, 3])])
        .position_deletes(
            "data/p.parquet",
            &[("data/1.parquet", 1), ("data/2.parquet", 1)],
        )
        .write();
    let database = Database::new();
    let mut client = open(&database, &table);
    let query = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT n FROM tested";
    let plan: Vec<String> = client
        .query(query, &[])
        .expect("a plan")
        .iter()
        .map(|row| row.get(0))
        .collect();
    let plan = plan.join("\n");
    for part in [
        "Delete Files Read: 2",
        "Rows Deleted: 4",
        "Data Files Read: 3",
    ] {
        assert!(plan.contains(part), "no {part:?} in {plan}");
    }
}

/// The whole size where `ICEBERG_FDW_FULL_SIZE` is set, a hundredth elsewhere.
fn sized(whole: i64) -> i64 {
    match std::env::var_os("ICEBERG_FDW_FULL_SIZE") {
        Some(_) => whole,
        None => whole / 100,
    }
}

/// Every third row, of two data files.
#[test]
fn ten_million_positions_in_one_delete_file() {
    let rows = sized(15_000_000);
    let directory = Directory::new();
    let deleted: Vec<(&str, i64)> = ["data/0.parquet", "data/1.parquet"]
        .into_iter()
        .flat_map(|path| (0..rows).step_by(3).map(move |row| (path, row)))
        .collect();
    let positions: Vec<u64> = (0..rows as u64).step_by(3).collect();
    let table = Table::new(directory.path())
        .column(1, "n", "long")
        .file("data/0.parquet", vec![range(rows)])
        .linked_file("data/1.parquet", "data/0.parquet");
    let by_file = table.position_deletes("data/deletes.parquet", &deleted);
    assert_left(by_file.write().as_path(), rows, 2);

    let directory = Directory::new();
    let by_vector = Table::new(directory.path())
        .column(1, "n", "long")
        .file("data/0.parquet", vec![range(rows)])
        .deletion_vectors("data/v.puffin", &[("data/0.parquet", positions)]);
    assert_left(by_vector.write().as_path(), rows, 1);
}

/// So many copies of the numbers below `rows` are left that are no multiples of 3.
fn assert_left(location: &Path, rows: i64, copies: i64) {
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&foreign_table("tested", "n bigint", location, &[]))
        .expect("a foreign table can be made");
    let left = text_value(
        &mut client,
        "SELECT count(*) || ' ' || sum(n) || ' ' || count(*) FILTER (WHERE n % 3 = 0) FROM tested",
    )
    .expect("an answer");
    let multiples = (rows + 2) / 3;
    let all = rows * (rows - 1) / 2;
    let sum = all - 3 * (multiples * (multiples - 1) / 2);
    let expected = format!("{} {} 0", copies * (rows - multiples), copies * sum);
    assert_eq!(left, Some(expected));
}

#[test]
fn a_million_equality_keys_against_six_million_rows() {
    let rows = sized(6_000_000);
    let keys = sized(1_000_000);
    let step = rows / keys;
    let word = |n: i64| format!("word number {n:024}");
    let both = |numbers: &mut dyn Iterator<Item = i64>| -> [ArrayRef; 2] {
        let numbers: Vec<_> = numbers.collect();
        let words = StringArray::from_iter_values(numbers.iter().map(|n| word(*n)));
        [Arc::new(Int64Array::from(numbers)), Arc::new(words)]
    };
    // Spread over all files, in no order.
    let deleted = both(&mut (0..keys).map(|key| key * 48_271 % keys * step));
    for columns in 1..=2 {
        let directory = Directory::new();
        let table = Table::new(directory.path())
            .column(1, "n", "long")
            .column(2, "w", "string");
        let table = (0..4).fold(table, |table, number| {
            let mut range = number * rows / 4..(number + 1) * rows / 4;
            table.file(&format!("data/{number}.parquet"), both(&mut range).to_vec())
        });
        let key_columns: Vec<_> = (1..).zip(deleted.clone()).take(columns).collect();
        let table = table.equality_deletes("data/keys.parquet", &key_columns);
        let query =
            format!("SELECT count(*) || ' ' || count(*) FILTER (WHERE n % {step} = 0) FROM tested");
        let left = answer(&table.write(), &query);
        assert_eq!(
            left,
            Some(format!("{} 0", rows - keys)),
            "{columns} columns"
        );
    }
}

/// The rows of an inner scan are the same however often it begins again.
#[test]
fn deletes_of_every_kind_in_a_scan_that_begins_again() {
    let directory = Directory::new();
    let table = numbers(&directory, 3, 6)
        .equality_deletes("data/keys.parquet", &[(1, longs([Some(2), Some(5)]))])
        .position_deletes("data/positions.parquet", &[("data/0.parquet", 0)])
        .deletion_vectors("data/v.puffin", &[("data/1.parquet", vec![0, 3])])
        .write();
    let database = Database::new();
    let mut client = open(&database, &table);
    let scans = "SELECT string_agg((SELECT string_agg(n::text, ' ' ORDER BY n) FROM tested \
                 WHERE n * g >= 0)::text, ', ') FROM generate_series(1, 3) g";
    let once = "0 1 1 1 3 3 4 4 4";
    for materialize in ["on", "off"] {
        client
            .batch_execute(&format!("SET enable_material = {materialize}"))
            .expect("the setting is there");
        let rows = text_value(&mut client, scans).expect("an answer");
        assert_eq!(rows.as_deref(), Some([once; 3].join(", ").as_str()));
    }
}

#[test]
fn deletes_that_need_too_much_memory_name_the_setting() {
    let directory = Directory::new();
    let keys = 200_000;
    let table = numbers(&directory, 1, 4)
        .equality_deletes(
            "data/deletes.parquet",
            &[(1, range(keys)), (2, words(keys))],
        )
        .write();
    let database = Database::new();
    let mut client = open(&database, &table);
    client
        .batch_execute("SET iceberg_fdw.scan_memory = '4MB'")
        .expect("the setting is there");
    failure::expect(
        text_value(&mut client, "SELECT sum(n) FROM tested"),
        &["53400"],
        &["row-level deletes", "iceberg_fdw.scan_memory"],
    );
    client
        .batch_execute("RESET iceberg_fdw.scan_memory")
        .expect("the setting is there");
    let left = text_value(&mut client, "SELECT sum(n) FROM tested").expect("an answer");
    assert_eq!(left, None);
}
