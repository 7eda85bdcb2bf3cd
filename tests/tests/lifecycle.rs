//! Scans that begin, pause, begin again and break off: cursors, rescans, prepared statements, subtransactions; nothing is left behind.

use std::thread::sleep;
use std::time::{Duration, Instant};

use iceberg_fdw_tests::database::{Database, attach, text_rows, text_value};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::heap::attach_beside_heap;
use iceberg_fdw_tests::large::{MANY_ROWS, large_table};
use iceberg_fdw_tests::process;
use iceberg_fdw_tests::synthetic::Directory;
use postgres::Client;

fn shop() -> (Database, Client) {
    let database = Database::new();
    let mut client = database.with_server();
    for (name, path) in [
        ("orders", "warehouse/shop/orders"),
        ("customers", "warehouse/shop/customers"),
    ] {
        attach_beside_heap(&mut client, name, &fixtures().join(path));
    }
    (database, client)
}

fn same(client: &mut Client, query: &str) {
    let foreign = text_rows(client, query).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    let heap = query
        .replace("orders", "orders_heap")
        .replace("customers", "customers_heap");
    let heap = text_rows(client, &heap).unwrap_or_else(|error| panic!("{heap}: {error:?}"));
    assert!(
        !heap.is_empty(),
        "{query} gives no row: nothing is compared"
    );
    assert_eq!(foreign, heap, "{query}");
}

fn number(client: &mut Client, query: &str) -> i64 {
    text_value(client, query)
        .unwrap_or_else(|error| panic!("{query}: {error:?}"))
        .expect("no NULL")
        .parse()
        .expect("a number")
}

#[test]
fn two_cursors_over_one_table_do_not_disturb_each_other() {
    let (_database, mut client) = shop();
    client.batch_execute("BEGIN; DECLARE one CURSOR FOR SELECT id FROM orders; DECLARE other CURSOR FOR SELECT id FROM orders").expect("cursors can be made");
    let mut ids: [Vec<String>; 2] = Default::default();
    for (cursor, step) in [
        ("one", 10),
        ("other", 3000),
        ("one", 5000),
        ("other", 1),
        ("one", 20_000),
        ("other", 20_000),
    ] {
        let rows = text_rows(&mut client, &format!("FETCH {step} FROM {cursor}"))
            .expect("a cursor can be read");
        ids[usize::from(cursor == "other")].extend(
            rows.into_iter()
                .map(|mut row| row.remove(0).expect("an id")),
        );
    }
    client
        .batch_execute("CLOSE one; COMMIT")
        .expect("a cursor can be closed");
    for mut ids in ids {
        ids.sort_by_key(|id| id.parse::<i64>().expect("a number"));
        let expected: Vec<String> = (1..=20_000).map(|id| id.to_string()).collect();
        assert_eq!(ids, expected);
    }
}

#[test]
fn a_scroll_cursor_goes_back() {
    let (_database, mut client) = shop();
    client
        .batch_execute("BEGIN; DECLARE c SCROLL CURSOR FOR SELECT id FROM orders")
        .expect("a cursor can be made");
    let forward = text_rows(&mut client, "FETCH 50 FROM c").expect("a cursor can be read");
    let mut backward =
        text_rows(&mut client, "FETCH BACKWARD 49 FROM c").expect("a cursor can go back");
    backward.reverse();
    assert_eq!(backward, forward[..49]);
    assert_eq!(
        text_rows(&mut client, "FETCH ABSOLUTE 7 FROM c").expect("a cursor can be placed"),
        forward[6..7]
    );
}

#[test]
fn a_cursor_with_hold_outlives_its_transaction() {
    let (_database, mut client) = shop();
    client.batch_execute("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT id FROM orders WHERE id <= 100; FETCH 1 FROM c; COMMIT").expect("a cursor can be made");
    assert_eq!(
        text_rows(&mut client, "FETCH ALL FROM c")
            .expect("it is still there")
            .len(),
        99
    );
}

#[test]
fn an_inner_scan_of_a_nested_loop_is_begun_again_for_every_outer_row() {
    let (_database, mut client) = shop();
    client
        .batch_execute("SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET enable_memoize = off")
        .expect("join methods can be switched off");
    same(
        &mut client,
        "SELECT c.id, o.id FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id <= 12 AND o.id < 900 ORDER BY c.id, o.id",
    );
    same(
        &mut client,
        "SELECT c.id, n FROM customers c CROSS JOIN LATERAL (SELECT o.id AS n FROM orders o WHERE o.id > c.id ORDER BY o.id LIMIT 1) l WHERE c.id <= 15 AND n IS NOT NULL ORDER BY c.id",
    );
}

#[test]
fn a_correlated_subselect_scans_once_for_every_row() {
    let (_database, mut client) = shop();
    same(
        &mut client,
        "SELECT c.id, (SELECT sum(o.amount) FROM orders o WHERE o.customer_id = c.id) FROM customers c WHERE c.id <= 25 ORDER BY c.id",
    );
    same(
        &mut client,
        "SELECT count(*) FROM customers c WHERE c.id <= 25 AND EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id AND o.note IS NOT NULL)",
    );
}

#[test]
fn several_scans_in_one_query() {
    let (_database, mut client) = shop();
    same(
        &mut client,
        "SELECT count(*) FROM orders a, orders b WHERE a.id = b.id - 1 AND a.customer_id = b.customer_id",
    );
    same(
        &mut client,
        "SELECT status, count(*) FROM (SELECT status FROM orders UNION ALL SELECT status FROM orders) s GROUP BY status ORDER BY status",
    );
    same(
        &mut client,
        "WITH o AS MATERIALIZED (SELECT * FROM orders) SELECT (SELECT count(*) FROM o), (SELECT max(id) FROM o), (SELECT count(*) FROM customers)",
    );
}

#[test]
fn a_prepared_statement_answers_the_same_ten_times() {
    let (_database, mut client) = shop();
    for mode in ["auto", "force_generic_plan", "force_custom_plan"] {
        client
            .batch_execute(&format!("SET plan_cache_mode = {mode}"))
            .expect("the plan mode can be set");
        let foreign = client.prepare("SELECT count(*), sum(amount)::text FROM orders WHERE customer_id = $1 AND ordered_at >= $2::text::timestamptz").expect("it can be prepared");
        let heap = client.prepare("SELECT count(*), sum(amount)::text FROM orders_heap WHERE customer_id = $1 AND ordered_at >= $2::text::timestamptz").expect("it can be prepared");
        for round in 0..10_i64 {
            let since = format!("2025-{:02}-15 00:00+00", round + 1);
            let mut answer = |statement: &postgres::Statement| {
                let row = client
                    .query_one(statement, &[&(round + 1), &since])
                    .expect("it can be executed");
                (row.get::<_, i64>(0), row.get::<_, Option<String>>(1))
            };
            assert_eq!(answer(&foreign), answer(&heap), "{mode}, round {round}");
        }
    }
}

#[test]
fn an_error_in_the_middle_of_a_scan_rolls_back_to_the_savepoint() {
    let (_database, mut client) = shop();
    client
        .batch_execute(
            "BEGIN; CREATE TEMP TABLE kept (n int); INSERT INTO kept VALUES (1); SAVEPOINT s",
        )
        .expect("a savepoint can be made");
    failure::expect(
        client.batch_execute("SELECT 1 / (5000 - id) FROM orders"),
        &["22012"],
        &[],
    );
    client
        .batch_execute("ROLLBACK TO s")
        .expect("the savepoint is there");
    assert_eq!(number(&mut client, "SELECT count(id) FROM orders"), 20_000);
    client
        .batch_execute("COMMIT")
        .expect("the transaction goes on");
    assert_eq!(number(&mut client, "SELECT count(*) FROM kept"), 1);
}

#[test]
fn an_exception_block_catches_an_error_in_the_middle_of_a_scan() {
    let (_database, mut client) = shop();
    client
        .batch_execute(
            "CREATE FUNCTION caught() RETURNS bigint LANGUAGE plpgsql AS $$
             DECLARE r record; seen bigint := 0;
             BEGIN
                 BEGIN
                     FOR r IN SELECT id FROM orders LOOP
                         seen := seen + 1;
                         PERFORM 1 / (100 - seen);
                     END LOOP;
                 EXCEPTION WHEN division_by_zero THEN
                     RETURN seen + (SELECT count(*) FROM orders);
                 END;
                 RETURN -1;
             END $$",
        )
        .expect("a function can be made");
    // Variables keep their values when a block is rolled back.
    assert_eq!(number(&mut client, "SELECT caught()"), 20_100);
}

#[test]
fn many_sessions_read_one_table_at_the_same_time() {
    let (database, mut client) = shop();
    let query = "SELECT status, count(*), sum(amount), md5(string_agg(note, '|' ORDER BY id)) FROM orders GROUP BY status ORDER BY status";
    let expected = text_rows(&mut client, &query.replace("orders", "orders_heap"))
        .expect("the heap can be read");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = database.connect();
                for _ in 0..3 {
                    let rows = text_rows(&mut client, query).expect("the table can be read");
                    assert_eq!(rows, expected);
                }
            });
        }
    });
}

/// What is run 1,000 times must not make the backend grow.
fn assert_leaves_nothing(prepare: &str, repeated: &str) {
    let directory = Directory::new();
    let table = large_table(&directory, 8, 2000);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", table, ""))
        .expect("the table can be attached");
    client.batch_execute(prepare).expect("it can be prepared");
    let pid: i32 = client
        .query_one("SELECT pg_backend_pid()", &[])
        .expect("a backend has a process")
        .get(0);
    let mut times = |count: usize| {
        for _ in 0..count {
            if let Err(error) = client.batch_execute(repeated) {
                let error = failure::server_error::<()>(Err(error));
                assert_eq!(error.code().code(), "22012", "{}", failure::text(&error));
            }
        }
        process::holdings(pid).expect("/proc shows the backend to us")
    };
    let before = times(100);
    let mut after = times(1000);
    // Threads that wait for files to answer may rest for a while before they end.
    let ended = Instant::now();
    while after.threads > before.threads && ended.elapsed() < Duration::from_secs(20) {
        sleep(Duration::from_millis(100));
        after = process::holdings(pid).expect("/proc shows the backend to us");
    }
    assert!(
        after.threads <= before.threads,
        "threads: {before:?}, then {after:?}"
    );
    assert!(
        after.open_files <= before.open_files + 2,
        "open files: {before:?}, then {after:?}"
    );
    assert!(
        after.resident <= before.resident + (16 << 20),
        "memory: {before:?}, then {after:?}"
    );
}

#[test]
fn a_thousand_limits_leave_nothing_behind() {
    assert_leaves_nothing("", "SELECT id, word FROM tested LIMIT 1");
}

#[test]
fn a_thousand_errors_in_the_middle_of_a_scan_leave_nothing_behind() {
    assert_leaves_nothing("", "SELECT 1 / (id - 1500) FROM tested");
}

#[test]
fn a_thousand_caught_errors_in_one_session_leave_nothing_behind() {
    let function = "CREATE FUNCTION caught() RETURNS void LANGUAGE plpgsql AS $$
        DECLARE r record;
        BEGIN
            FOR r IN SELECT id FROM tested LOOP
                PERFORM 1 / (50 - r.id);
            END LOOP;
        EXCEPTION WHEN division_by_zero THEN NULL;
        END $$";
    assert_leaves_nothing(function, "SELECT caught()");
}

#[test]
fn a_thousand_cursors_closed_early_leave_nothing_behind() {
    assert_leaves_nothing(
        "",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM tested; FETCH 10 FROM c; CLOSE c; COMMIT",
    );
}

#[test]
fn a_thousand_transactions_aborted_with_an_open_cursor_leave_nothing_behind() {
    assert_leaves_nothing(
        "",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM tested; FETCH 10 FROM c; ROLLBACK",
    );
}

#[test]
fn a_thousand_plans_that_are_never_run_leave_nothing_behind() {
    assert_leaves_nothing("", "EXPLAIN SELECT * FROM tested");
}

#[test]
fn a_thousand_prepared_statements_leave_nothing_behind() {
    assert_leaves_nothing(
        "PREPARE one AS SELECT id FROM tested LIMIT 5; SET plan_cache_mode = force_generic_plan",
        "EXECUTE one",
    );
}

#[test]
fn all_rows_of_a_large_table_come_exactly_once() {
    let directory = Directory::new();
    let table = large_table(&directory, 40, MANY_ROWS);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", table, ""))
        .expect("the table can be attached");
    let rows = text_rows(
        &mut client,
        "SELECT count(*), sum(id), count(DISTINCT id), sum(price), sum(length(word)) FROM tested",
    )
    .expect("all rows can be read");
    let sum: i64 = (0..MANY_ROWS).sum::<i64>() * 40;
    let lengths: i64 = (0..MANY_ROWS)
        .map(|id| format!("word {id}").len() as i64)
        .sum::<i64>()
        * 40;
    let prices = sum as f64 / 8.0;
    let expected = [
        (MANY_ROWS * 40).to_string(),
        sum.to_string(),
        MANY_ROWS.to_string(),
        prices.to_string(),
        lengths.to_string(),
    ];
    assert_eq!(rows, [expected.map(Some)]);
}

#[test]
fn memory_stays_within_its_bound_during_a_large_scan() {
    let directory = Directory::new();
    let table = large_table(&directory, 200, MANY_ROWS);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", table, ""))
        .expect("the table can be attached");
    client
        .batch_execute("SET iceberg_fdw.scan_memory = '32MB'; SELECT id FROM tested LIMIT 1")
        .expect("the bound can be set");
    let pid: i32 = client
        .query_one("SELECT pg_backend_pid()", &[])
        .expect("a backend has a process")
        .get(0);
    let before = process::holdings(pid).expect("the backend can be seen");
    let scanning = std::thread::spawn(move || {
        client
            .batch_execute("SELECT count(word) FROM tested WHERE price >= 0")
            .expect("all rows can be read")
    });
    let mut most = 0;
    while !scanning.is_finished() {
        most = most.max(process::holdings(pid).map_or(0, |now| now.resident));
        sleep(Duration::from_millis(20));
    }
    scanning.join().expect("the scan ends");
    // Twice the bound: the allocator's own keeping, and the executor's memory.
    assert!(
        most < before.resident + (64 << 20),
        "{before:?}, at most {most}"
    );
}
