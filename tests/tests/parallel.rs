//! Parallel query: the rows are those of a serial scan, each once, whatever workers, rescans, early ends and commits
//! do meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array, StringArray};
use iceberg_fdw_tests::compare::compare_table;
use iceberg_fdw_tests::database::{Database, attach, quoted_path, text_rows, text_value};
use iceberg_fdw_tests::environment;
use iceberg_fdw_tests::expected::Expected;
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::large::large_table;
use iceberg_fdw_tests::synthetic::{Directory, Table, row_groups_of_arrays, write_json};
use postgres::{Client, NoTls};

/// Makes workers cost nothing, and every file be shared by row groups.
const FORCED: &str = "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
    SET max_parallel_workers_per_gather = 3";

fn forced(client: &mut Client) {
    client.batch_execute(FORCED).expect("settings can be set");
}

fn value(client: &mut Client, query: &str) -> String {
    text_value(client, query)
        .unwrap_or_else(|error| panic!("{query}: {error:?}"))
        .unwrap_or_default()
}

/// The plan of a query as lines.
fn plan(client: &mut Client, query: &str) -> String {
    let rows = text_rows(client, &format!("EXPLAIN (COSTS OFF) {query}"));
    let rows = rows.unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows.into_iter()
        .filter_map(|mut row| row.remove(0))
        .collect::<Vec<_>>()
        .join("\n")
}

fn assert_planned(client: &mut Client, query: &str, parts: &[&str]) {
    let plan = plan(client, query);
    for part in parts {
        assert!(plan.contains(part), "{part:?} is not in the plan:\n{plan}");
    }
}

/// The rows of a query, in any order.
fn sorted_rows(client: &mut Client, query: &str) -> Vec<Vec<Option<String>>> {
    let mut rows = text_rows(client, query).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows.sort();
    rows
}

/// Commits version `number`: a file of ten row groups, with the rows `number * 100000 ..` so many.
fn commit(directory: &Path, number: i64, rows: i64) {
    let array: ArrayRef = Arc::new(Int64Array::from_iter_values(
        number * 100_000..number * 100_000 + rows,
    ));
    let bytes = row_groups_of_arrays(&[(1, "n", array)], rows as usize / 10);
    let metadata = Table::new(directory)
        .snapshot_id(number)
        .column(1, "n", "long")
        .raw_file(&format!("data/{number}.parquet"), &bytes, rows as usize)
        .write_snapshot();
    let directory = directory.join("metadata");
    let written = directory.join(format!("being-written-{number}"));
    write_json(&written, &metadata);
    std::fs::rename(written, directory.join(format!("v{number}.metadata.json")))
        .expect("the file can be renamed");
}

/// One file of 16 row groups of 400 rows each: `id` from 0, and `text`.
fn many_row_groups(directory: &Directory) {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..6400));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..6400).map(|id| format!("text {id}")),
    ));
    let bytes = row_groups_of_arrays(&[(1, "id", ids), (2, "text", texts)], 400);
    Table::new(directory.path())
        .column(1, "id", "long")
        .column(2, "text", "string")
        .raw_file("data/a.parquet", &bytes, 6400)
        .position_deletes(
            "data/deletes.parquet",
            &[("data/a.parquet", 7), ("data/a.parquet", 6399)],
        )
        .write();
}

#[test]
fn the_sample_tables_are_read_as_serially() {
    let warehouse = environment::fixtures().join("warehouse");
    let database = Database::new();
    let mut client = database.connect();
    client
        .batch_execute(&format!(
            "CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse {});
             IMPORT FOREIGN SCHEMA shop FROM SERVER lake INTO public OPTIONS (allow_moved_paths 'true');
             IMPORT FOREIGN SCHEMA telemetry FROM SERVER lake INTO public OPTIONS (allow_moved_paths 'true');",
            quoted_path(&warehouse)
        ))
        .expect("the namespaces can be imported");
    let queries = [
        "SELECT status, count(*), sum(amount), min(ordered_at), count(coupon) FROM orders GROUP BY status",
        "SELECT c.id, count(*), sum(o.amount) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.id",
        "SELECT o.id, c.id FROM orders o LEFT JOIN customers c ON c.id = o.customer_id AND c.id % 2 = 0 WHERE o.id < 500",
        "SELECT count(*) FROM orders o WHERE EXISTS (SELECT FROM customers c WHERE c.id = o.customer_id AND c.id > 10)",
        "SELECT count(*), sum(id) FROM (SELECT id FROM orders UNION ALL SELECT id FROM customers) AS united",
        "SELECT id FROM orders WHERE id % 100 = 3 ORDER BY id LIMIT 20",
        "SELECT count(*) FROM orders WHERE iceberg.at_ref(tableoid, '2025-q2')",
        "SELECT count(*) FROM orders WHERE iceberg.at_snapshot(tableoid, (SELECT min(snapshot_id) FROM iceberg.refs('orders') WHERE name = '2025-q1'))",
        "SELECT (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) FROM customers c WHERE id < 20",
    ];
    let serial: Vec<_> = queries
        .iter()
        .map(|query| sorted_rows(&mut client, query))
        .collect();
    forced(&mut client);
    for leader in ["on", "off"] {
        client
            .batch_execute(&format!("SET parallel_leader_participation = {leader}"))
            .expect("a setting can be set");
        for (query, serial) in queries.iter().zip(&serial) {
            assert_eq!(
                &sorted_rows(&mut client, query),
                serial,
                "{query}, leader {leader}"
            );
        }
        for table in ["orders", "customers", "products"] {
            let expected = Expected::read(&warehouse.join("shop").join(table));
            compare_table(&mut client, table, &expected)
                .unwrap_or_else(|mismatch| panic!("{table}: {mismatch}"));
        }
    }
    client
        .batch_execute("RESET parallel_leader_participation")
        .expect("it can be reset");
    assert_planned(
        &mut client,
        queries[0],
        &[
            "Gather",
            "Partial HashAggregate",
            "Parallel Foreign Scan on orders",
        ],
    );
    client
        .batch_execute("SET enable_mergejoin = off")
        .expect("a setting can be set");
    assert_planned(
        &mut client,
        queries[1],
        &["Parallel Hash Join", "Parallel Foreign Scan on customers c"],
    );
    assert_planned(
        &mut client,
        queries[4],
        &["Parallel Append", "Parallel Foreign Scan on customers"],
    );
}

#[test]
fn every_table_of_the_corpus_is_read_as_serially() {
    let corpus = environment::corpus().expect("the corpus");
    let mut compared = 0;
    for writer in ["java", "spark"] {
        for entry in std::fs::read_dir(corpus.join(writer)).expect("the corpus") {
            let location = entry.expect("an entry").path();
            // Its files lie where no table may read.
            if location.ends_with("spark/add_files") {
                continue;
            }
            let database = Database::new();
            let mut client = database.with_server();
            forced(&mut client);
            client
                .batch_execute(&attach("tested", &location, "allow_moved_paths => true"))
                .expect("the table can be attached");
            compare_table(&mut client, "tested", &Expected::read(&location))
                .unwrap_or_else(|mismatch| panic!("{}: {mismatch}", location.display()));
            compared += 1;
        }
    }
    assert!(compared > 70, "only {compared} tables");
}

#[test]
fn one_file_is_shared_by_its_row_groups() {
    let directory = Directory::new();
    many_row_groups(&directory);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", directory.path(), ""))
        .expect("attached");
    forced(&mut client);
    let query = "SELECT count(*), count(DISTINCT id), sum(id), count(text) FROM tested";
    let ids: i64 = (0..6400).sum::<i64>() - 7 - 6399;
    for _ in 0..5 {
        assert_eq!(
            sorted_rows(&mut client, query),
            [["6398", "6398", &ids.to_string(), "6398"]
                .map(|value| Some(value.to_owned()))
                .to_vec()]
        );
    }
    // What EXPLAIN says is of all participants, whoever did it.
    let explained = value(
        &mut client,
        "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT sum(id) FROM tested",
    );
    for part in [
        "\"Row Groups Total\": 16",
        "\"Rows Deleted\": 2",
        "\"Data Files Read\": 1",
        "\"Workers Launched\"",
    ] {
        assert!(explained.contains(part), "{part} is not in {explained}");
    }
}

#[test]
fn a_commit_in_between_is_not_seen_by_workers() {
    let directory = Directory::new();
    commit(directory.path(), 1, 20_000);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", directory.path(), ""))
        .expect("attached");
    forced(&mut client);
    // Workers are started after the wait, the leader opens the table before.
    let waiting = "SELECT waited.n, tested.n FROM (SELECT pg_sleep(1), 1 AS n OFFSET 0) AS waited
        CROSS JOIN LATERAL (SELECT count(*) AS rows, min(n) AS n FROM tested) AS tested";
    for leader in ["on", "off"] {
        client
            .batch_execute(&format!(
                "SET enable_material = off; SET parallel_leader_participation = {leader}"
            ))
            .expect("a setting can be set");
        assert_planned(
            &mut client,
            waiting,
            &["Gather", "Parallel Foreign Scan on tested"],
        );
        let path = directory.path().to_owned();
        let next = if leader == "on" { 2 } else { 3 };
        let committing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(400));
            commit(&path, next, 10_000);
        });
        let rows = sorted_rows(&mut client, waiting);
        committing.join().expect("it is committed");
        let expected = ["1".to_owned(), ((next - 1) * 100_000).to_string()];
        assert_eq!(rows, [expected.map(Some).to_vec()], "leader {leader}");
        assert_eq!(
            value(&mut client, "SELECT min(n) FROM tested"),
            (next * 100_000).to_string()
        );
    }
}

#[test]
fn a_relation_that_every_worker_reads_whole_is_in_one_state_too() {
    let directory = Directory::new();
    commit(directory.path(), 1, 20_000);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", directory.path(), ""))
        .expect("attached");
    forced(&mut client);
    client
        .batch_execute(
            "CREATE TABLE heap AS SELECT n FROM generate_series(100000, 300000) n; ANALYZE heap;
             SET enable_parallel_hash = off; SET enable_mergejoin = off; SET enable_nestloop = off",
        )
        .expect("a heap table");
    let joined = "SELECT count(*) FROM heap JOIN tested USING (n)";
    assert_planned(
        &mut client,
        joined,
        &[
            "Gather",
            "Parallel Seq Scan on heap",
            "Foreign Scan on tested",
        ],
    );
    assert_eq!(value(&mut client, joined), "20000");
    client
        .batch_execute("SET parallel_leader_participation = off")
        .expect("a setting can be set");
    assert_eq!(value(&mut client, joined), "20000");
}

#[test]
fn a_rescan_begins_anew() {
    let directory = Directory::new();
    many_row_groups(&directory);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", directory.path(), ""))
        .expect("attached");
    forced(&mut client);
    client
        .batch_execute(
            "CREATE TEMP TABLE outer_rows AS SELECT n FROM generate_series(1, 5) n; ANALYZE outer_rows;
             SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off",
        )
        .expect("a heap table");
    let query = "SELECT o.n, counted.rows FROM outer_rows o CROSS JOIN LATERAL
        (SELECT count(*) + 0 * o.n AS rows FROM tested) AS counted";
    assert_planned(
        &mut client,
        query,
        &["Gather", "Parallel Foreign Scan on tested"],
    );
    let joined = "SELECT count(*), sum(o.n) FROM outer_rows o, (SELECT id FROM tested WHERE id % 2 = 0 OFFSET 0) t";
    assert_planned(
        &mut client,
        joined,
        &["Gather", "Parallel Foreign Scan on tested"],
    );
    for leader in ["on", "off"] {
        client
            .batch_execute(&format!("SET parallel_leader_participation = {leader}"))
            .expect("a setting can be set");
        assert!(
            sorted_rows(&mut client, query)
                .iter()
                .all(|row| row[1].as_deref() == Some("6398"))
        );
        assert_eq!(
            sorted_rows(&mut client, joined),
            [["16000", "48000"]
                .map(|value| Some(value.to_owned()))
                .to_vec()]
        );
    }
}

#[test]
fn a_parameter_selects_the_state_for_all_participants() {
    let directory = Directory::new();
    commit(directory.path(), 1, 20_000);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", directory.path(), ""))
        .expect("attached");
    forced(&mut client);
    client
        .batch_execute(
            "SET plan_cache_mode = force_generic_plan;
             PREPARE at(bigint) AS SELECT count(*) FROM tested WHERE iceberg.at_snapshot(tableoid, $1);
             PREPARE chosen(bigint) AS SELECT count(*) FROM tested WHERE iceberg.at_snapshot(tableoid, (SELECT $1 OFFSET 0))",
        )
        .expect("statements can be prepared");
    for statement in ["at", "chosen"] {
        assert_planned(&mut client, &format!("EXECUTE {statement}(1)"), &["Gather"]);
        assert_eq!(
            value(&mut client, &format!("EXECUTE {statement}(1)")),
            "20000"
        );
        failure::expect(
            client.batch_execute(&format!("EXECUTE {statement}(7)")),
            &["22023"],
            &["snapshot 7"],
        );
    }
}

#[test]
fn a_limit_ends_workers_and_leaves_the_session_well() {
    let directory = Directory::new();
    large_table(&directory, 100, 10_000);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("large", directory.path(), ""))
        .expect("attached");
    forced(&mut client);
    for _ in 0..10 {
        let query = "SELECT count(*) FROM (SELECT word FROM large WHERE id % 7 = 1 LIMIT 5) AS few";
        assert_planned(
            &mut client,
            query,
            &["Gather", "Parallel Foreign Scan on large"],
        );
        assert_eq!(value(&mut client, query), "5");
    }
    assert_eq!(value(&mut client, "SELECT count(*) FROM large"), "1000000");
}

#[test]
fn an_error_in_a_worker_is_the_querys() {
    let directory = Directory::new();
    many_row_groups(&directory);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", directory.path(), ""))
        .expect("attached");
    forced(&mut client);
    client
        .batch_execute("SET parallel_leader_participation = off")
        .expect("a setting can be set");
    for _ in 0..5 {
        failure::expect(
            client.batch_execute("SELECT sum(1 / (id - 3000)) FROM tested"),
            &["22012"],
            &[],
        );
    }
    let file = directory.join("data/a.parquet");
    let bytes = std::fs::read(&file).expect("the file is there");
    std::fs::remove_file(&file).expect("a file can be removed");
    failure::expect(
        client.batch_execute("SELECT sum(id) FROM tested"),
        &["58P01"],
        &["a.parquet"],
    );
    std::fs::write(&file, bytes).expect("the file can be restored");
    assert_eq!(value(&mut client, "SELECT count(*) FROM tested"), "6398");
}

#[test]
fn a_parallel_scan_can_be_cancelled() {
    let directory = Directory::new();
    large_table(&directory, 1000, 50_000);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("large", directory.path(), ""))
        .expect("attached");
    forced(&mut client);
    assert_eq!(
        value(
            &mut client,
            "SELECT count(*) FROM (SELECT id FROM large LIMIT 1) AS one"
        ),
        "1"
    );
    for leader in ["on", "off"] {
        client
            .batch_execute(&format!("SET parallel_leader_participation = {leader}"))
            .expect("a setting can be set");
        let token = client.cancel_token();
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(600));
            token.cancel_query(NoTls).expect("a cancel can be sent");
            Instant::now()
        });
        let result = client.batch_execute("SELECT sum(id), sum(price), max(word) FROM large");
        let ended = Instant::now();
        failure::expect(result, &["57014"], &[]);
        let waited = ended.saturating_duration_since(canceller.join().expect("the canceller ends"));
        assert!(
            waited < Duration::from_secs(1),
            "the cancel took {waited:?}"
        );
        assert_eq!(
            value(
                &mut client,
                "SELECT count(*) FROM (SELECT id FROM large LIMIT 3) AS three"
            ),
            "3"
        );
    }
}

#[test]
fn a_small_scan_stays_serial() {
    let database = Database::new();
    let mut client = database.with_server();
    let orders = environment::fixtures().join("warehouse/shop/orders");
    client
        .batch_execute(&attach("orders", orders, "allow_moved_paths => true"))
        .expect("attached");
    let plan = plan(&mut client, "SELECT count(*) FROM orders");
    assert!(
        !plan.contains("Gather") && plan.contains("->  Foreign Scan on orders"),
        "{plan}"
    );
}
