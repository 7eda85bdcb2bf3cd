//! What the planner makes of Iceberg tables: rows after pruning, statistics from manifests, sketches and ANALYZE, joins that
//! fit the sizes, and scans that prune for each row of another table. Planning opens no data file.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use iceberg_fdw_tests::database::{Database, attach, quoted_path, text_rows, text_value};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::heap::attach_beside_heap;
use iceberg_fdw_tests::large::large_table;
use iceberg_fdw_tests::synthetic::{Directory, Table, write_json};
use postgres::Client;
use serde_json::{Value as Json, json};

fn value(client: &mut Client, query: &str) -> String {
    text_value(client, query)
        .unwrap_or_else(|error| panic!("{query}: {error:?}"))
        .unwrap_or_default()
}

/// The plan of a query, its topmost node.
fn plan(client: &mut Client, query: &str, options: &str) -> Json {
    let text = value(client, &format!("EXPLAIN (FORMAT JSON{options}) {query}"));
    let plan: Json = serde_json::from_str(&text).expect("EXPLAIN gives JSON");
    plan[0]["Plan"].clone()
}

/// All nodes of a plan of a type.
fn nodes(plan: &Json, kind: &str) -> Vec<Json> {
    let inner = plan["Plans"].as_array().into_iter().flatten();
    let mut found: Vec<Json> = inner.flat_map(|inner| nodes(inner, kind)).collect();
    if plan["Node Type"] == kind {
        found.push(plan.clone());
    }
    found
}

/// How many rows the planner expects of a query.
fn expected_rows(client: &mut Client, query: &str) -> f64 {
    plan(client, query, "")["Plan Rows"]
        .as_f64()
        .expect("a number")
}

fn shop(database: &Database) -> Client {
    let mut client = database.connect();
    client
        .batch_execute(&format!(
            "CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse {});
             IMPORT FOREIGN SCHEMA shop FROM SERVER lake INTO public OPTIONS (allow_moved_paths 'true');
             SET timezone = 'UTC'",
            quoted_path(fixtures().join("warehouse"))
        ))
        .expect("the namespace can be imported");
    client
}

#[test]
fn planning_opens_no_data_file() {
    let directory = Directory::new();
    let table = large_table(&directory, 20, 1000);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("large", table, ""))
        .expect("attached");
    std::fs::remove_dir_all(directory.join("data")).expect("the data can be removed");
    for query in [
        "SELECT * FROM large",
        "SELECT count(*) FROM large WHERE id = 7 AND word LIKE 'word 7%'",
        "SELECT * FROM large one JOIN large other USING (id) ORDER BY one.price LIMIT 3",
    ] {
        assert!(expected_rows(&mut client, query) >= 1.0);
    }
    client
        .batch_execute("SELECT count(id) FROM large")
        .expect_err("there are no data files");
}

/// Estimates without statistics are within a factor of the truth.
#[test]
fn rows_are_estimated_from_manifests() {
    let database = Database::new();
    let mut client = shop(&database);
    for (condition, factor) in [
        ("true", 1.01),
        ("id BETWEEN 5000 AND 5010", 4.0),
        ("id = 777", 2.0),
        ("id < 10000", 1.2),
        ("id >= 15000", 1.2),
        ("id > 100000", 2.0),
        (
            "ordered_at >= '2025-05-01' AND ordered_at < '2025-06-01'",
            1.3,
        ),
        (
            "ordered_at >= '2025-05-10' AND ordered_at < '2025-05-12'",
            3.0,
        ),
        (
            "ordered_at >= '2025-05-01' AND ordered_at < '2025-06-01' AND id % 2 = 0",
            200.0,
        ),
        // Customers have more and fewer orders; no manifest tells.
        ("customer_id = 5", 10.0),
        ("coupon IS NULL", 1.3),
        ("coupon IS NOT NULL", 3.0),
    ] {
        let query = format!("FROM orders WHERE {condition}");
        let expected = expected_rows(&mut client, &format!("SELECT * {query}"));
        let actual: f64 = value(&mut client, &format!("SELECT count(*) {query}"))
            .parse()
            .expect("a number");
        let (expected, actual) = (expected.max(1.0), actual.max(1.0));
        let off = (expected / actual).max(actual / expected);
        assert!(
            off <= factor,
            "{condition}: {expected} rows expected, there are {actual}"
        );
    }
}

#[test]
fn with_statistics_rows_are_estimated_as_of_a_heap_table() {
    let database = Database::new();
    let mut client = database.with_server();
    attach_beside_heap(
        &mut client,
        "customers",
        &fixtures().join("warehouse/shop/customers"),
    );
    client
        .batch_execute("ANALYZE customers")
        .expect("it can be analysed");
    for condition in [
        "true",
        "id = 5",
        "id < 100",
        "id BETWEEN 100 AND 300",
        "id IN (1, 2, 3)",
        "id % 2 = 1",
    ] {
        let rows = |client: &mut Client, table: &str| {
            expected_rows(client, &format!("SELECT * FROM {table} WHERE {condition}"))
        };
        let (own, heap) = (
            rows(&mut client, "customers"),
            rows(&mut client, "customers_heap"),
        );
        assert!(
            (own - heap).abs() <= 1.0 + heap * 0.02,
            "{condition}: {own} rows, {heap} of the heap table"
        );
    }
    // A file that is left out is not counted by its share once more.
    let database = Database::new();
    let mut client = shop(&database);
    client
        .batch_execute("ANALYZE orders")
        .expect("it can be analysed");
    let month =
        "SELECT * FROM orders WHERE ordered_at >= '2025-05-01' AND ordered_at < '2025-06-01'";
    let expected = expected_rows(&mut client, month);
    let actual: f64 = value(
        &mut client,
        &format!("SELECT count(*) FROM ({month}) AS month"),
    )
    .parse()
    .expect("a number");
    assert!(
        (expected / actual - 1.0).abs() < 0.25,
        "{expected} rows expected, there are {actual}"
    );
}

#[test]
fn distinct_values_come_from_sketches() {
    let directory = Directory::new();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(
        (0..10_000).map(|row| row * 1_000_003 % 40_000_000_000),
    ));
    let words: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..10_000).map(|row| format!("word {}", row % 50)),
    ));
    let mut metadata = Table::new(directory.path())
        .column(1, "number", "long")
        .column(2, "word", "string")
        .file("data/a.parquet", vec![numbers, words])
        .write_snapshot();
    let blob = |kind: &str, field: i32, ndv: &str| json!({"type": kind, "snapshot-id": 1001, "sequence-number": 2, "fields": [field], "properties": {"ndv": ndv}});
    metadata["statistics"] = json!([{
        "snapshot-id": 1001, "statistics-path": directory.join("metadata/a.puffin"), "file-size-in-bytes": 1000,
        "file-footer-size-in-bytes": 100, "blob-metadata": [
            blob("apache-datasketches-theta-v1", 1, "7000"),
            blob("apache-datasketches-theta-v1", 2, "50"),
            blob("somebody-elses", 2, "3"),
        ],
    }]);
    write_json(&directory.join("metadata/v1.metadata.json"), &metadata);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("sketched", directory.path(), ""))
        .expect("attached");
    for analysed in [false, true] {
        if analysed {
            client
                .batch_execute("SET default_statistics_target = 1; ANALYZE sketched")
                .expect("it can be analysed");
        }
        for (column, values) in [("number", 7000.0), ("word", 50.0)] {
            let groups = expected_rows(
                &mut client,
                &format!("SELECT {column} FROM sketched GROUP BY {column}"),
            );
            assert_eq!(groups, values, "{column}, analysed: {analysed}");
        }
        let equal = expected_rows(&mut client, "SELECT * FROM sketched WHERE word = 'word 7'");
        assert!(
            (150.0..=260.0).contains(&equal),
            "{equal} rows, analysed: {analysed}"
        );
    }
}

#[test]
fn statistics_tell_nothing_to_who_may_not_read_the_table() {
    let database = Database::new();
    let mut client = shop(&database);
    // A function that leaks what the planner shows it must not be shown bounds.
    client
        .batch_execute(
            "CREATE ROLE peeping_planner; GRANT pg_read_server_files TO peeping_planner;
             GRANT SELECT (note) ON orders TO peeping_planner;
             CREATE FUNCTION peep(bigint, bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
             BEGIN RAISE EXCEPTION 'peeped %', $1; END $$;
             CREATE OPERATOR <<< (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = peep, RESTRICT = scalarltsel)",
        )
        .expect("a role and an operator");
    let outcome = client.batch_execute(
        "SET ROLE peeping_planner; EXPLAIN SELECT note FROM orders WHERE id <<< 5 AND id < 100",
    );
    let told = outcome
        .err()
        .and_then(|error| error.as_db_error().map(|error| error.message().to_owned()));
    client
        .batch_execute("RESET ROLE; DROP OWNED BY peeping_planner; DROP ROLE peeping_planner")
        .expect("the role can be dropped");
    let told = told.expect("the column may not be read");
    assert!(!told.contains("peeped"), "{told}");
}

#[test]
fn joins_fit_the_sizes() {
    let database = Database::new();
    let mut client = shop(&database);
    client
        .batch_execute(
            "CREATE TABLE few AS SELECT id * 7000 AS id FROM generate_series(1, 2) AS id;
             CREATE TABLE many AS SELECT id FROM generate_series(1, 20000) AS id; ANALYZE few; ANALYZE many",
        )
        .expect("heap tables");
    let few = "SELECT few.id, orders.status, orders.amount FROM few JOIN orders USING (id)";
    let joined = plan(&mut client, few, "");
    assert_eq!(joined["Node Type"], "Nested Loop", "{joined}");
    let scans = nodes(&joined, "Foreign Scan");
    let filter = scans[0]["Pushed Filter"]
        .as_str()
        .or(scans[0]["Pruning Filter"].as_str());
    assert!(
        filter.is_some_and(|filter| ["(few.id = id)", "(id = few.id)"].contains(&filter)),
        "{joined}"
    );
    // For each of two rows one file of twelve is read.
    let executed = plan(&mut client, few, ", ANALYZE, TIMING OFF");
    let scan = &nodes(&executed, "Foreign Scan")[0];
    assert_eq!(
        (
            scan["Actual Loops"].clone(),
            scan["Data Files Read"].clone()
        ),
        (json!(2), json!(2)),
        "{executed}"
    );
    let rows = |client: &mut Client, query: &str| {
        let mut rows = text_rows(client, query).expect("rows");
        rows.sort();
        rows
    };
    let looped = rows(&mut client, few);
    assert_eq!(looped.len(), 2);
    client
        .batch_execute("SET enable_nestloop = off")
        .expect("a setting");
    assert_eq!(rows(&mut client, few), looped);
    client
        .batch_execute("RESET enable_nestloop")
        .expect("a setting");
    // Not for each of many rows.
    let joined = plan(
        &mut client,
        "SELECT count(*) FROM many JOIN orders USING (id)",
        "",
    );
    assert!(nodes(&joined, "Nested Loop").is_empty(), "{joined}");
    // Not where one value is in every file.
    let directory = Directory::new();
    let table = large_table(&directory, 100, 1000);
    client
        .batch_execute(&attach("large", table, ""))
        .expect("attached");
    client
        .batch_execute(
            "CREATE TABLE several AS SELECT id FROM generate_series(1, 200) AS id; ANALYZE several",
        )
        .expect("a heap table");
    let joined = plan(
        &mut client,
        "SELECT count(*) FROM several JOIN large USING (id)",
        "",
    );
    assert!(nodes(&joined, "Nested Loop").is_empty(), "{joined}");
}

#[test]
fn outer_semi_and_anti_joins_prune_by_rows_and_give_the_same() {
    let database = Database::new();
    let mut client = shop(&database);
    client
        .batch_execute(
            "CREATE TABLE few (id bigint, low bigint, status text);
             INSERT INTO few VALUES (7, 5, 'returned'), (9000, 8998, 'shipped'), (NULL, NULL, NULL), (99999, 19999, 'returned');
             ANALYZE few",
        )
        .expect("a heap table");
    let queries = [
        "SELECT few.id, orders.id FROM few LEFT JOIN orders ON orders.id = few.id",
        "SELECT few.id, orders.id FROM few LEFT JOIN orders ON orders.id = few.id AND orders.status = few.status",
        "SELECT few.id FROM few WHERE EXISTS (SELECT FROM orders WHERE orders.id = few.id)",
        "SELECT few.id FROM few WHERE NOT EXISTS (SELECT FROM orders WHERE orders.id = few.id)",
        "SELECT few.id, orders.id FROM few JOIN orders ON orders.id BETWEEN few.low AND few.low + 2",
        "SELECT few.id, found.id FROM few, LATERAL (SELECT id FROM orders WHERE orders.id > few.low ORDER BY id LIMIT 2) AS found",
        "SELECT few.id, (SELECT max(amount) FROM orders WHERE orders.id = few.id) FROM few",
        "SELECT few.id, one.id, other.id FROM few JOIN orders one ON one.id = few.id JOIN orders other ON other.id = one.id + 1",
    ];
    let rows = |client: &mut Client, query: &str| {
        let mut rows =
            text_rows(client, query).unwrap_or_else(|error| panic!("{query}: {error:?}"));
        rows.sort();
        rows
    };
    let planned: Vec<_> = queries
        .iter()
        .map(|query| rows(&mut client, query))
        .collect();
    client
        .batch_execute(
            "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off",
        )
        .expect("settings");
    for (query, planned) in queries.iter().zip(&planned) {
        assert_eq!(
            &rows(&mut client, query),
            planned,
            "by nested loops: {query}"
        );
    }
    // A heap table with the same rows is the judge.
    client
        .batch_execute(
            "RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material;
             CREATE TABLE orders_heap AS SELECT * FROM orders; ANALYZE orders_heap",
        )
        .expect("a heap table");
    for (query, planned) in queries.iter().zip(&planned) {
        let query = query
            .replace("FROM orders", "FROM orders_heap orders")
            .replace("JOIN orders ON", "JOIN orders_heap orders ON");
        let query = query
            .replace("JOIN orders one", "JOIN orders_heap one")
            .replace("JOIN orders other", "JOIN orders_heap other");
        assert_eq!(&rows(&mut client, &query), planned, "{query}");
    }
}
