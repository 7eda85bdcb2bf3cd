//! Time travel over a sample table: a load each quarter of 2025 with a tag, a column added in July, December written anew.
//! Numbers of rows and times are those that PyIceberg wrote into its metadata.

use iceberg_fdw_tests::database::{Database, attach, foreign_table, lines, text_rows, text_value};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::failure::expect;
use postgres::Client;

const FIRST: i64 = 5_275_607_771_289_023_108;
const SECOND: i64 = 2_753_551_918_892_190_622;
const THIRD: i64 = 2_999_951_279_775_172_006;
/// 2025-04-01 06:00 UTC, when the first load was committed.
const FIRST_MS: i64 = 1_743_487_200_000;
const CONFLICT: &str = "42601";
const BAD_VALUE: &str = "22023";

fn orders() -> std::path::PathBuf {
    fixtures().join("warehouse/shop/orders")
}

fn attach_orders(client: &mut Client, name: &str, selector: &str) -> Result<(), postgres::Error> {
    let separator = if selector.is_empty() { "" } else { ", " };
    let more = format!("allow_moved_paths => true{separator}{selector}");
    client.batch_execute(&attach(name, orders(), &more))
}

fn number(client: &mut Client, query: &str) -> i64 {
    client.query_one(query, &[]).expect("the query runs").get(0)
}

fn columns(client: &mut Client, table: &str) -> Vec<String> {
    text_rows(
        client,
        &format!("SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"),
    )
    .expect("a catalog query")
    .into_iter()
    .map(|mut row| row.remove(0).expect("a name"))
    .collect()
}

/// The line of EXPLAIN that names the snapshot.
fn snapshot_line(client: &mut Client, query: &str) -> String {
    text_rows(client, &format!("EXPLAIN (COSTS OFF) {query}"))
        .expect("the query can be explained")
        .into_iter()
        .filter_map(|mut row| row.remove(0))
        .find(|line| line.contains("Snapshot: "))
        .expect("EXPLAIN names the snapshot")
        .trim()
        .to_owned()
}

#[test]
fn an_attached_state_has_its_own_columns_and_rows() {
    let database = Database::new();
    let mut client = database.with_server();
    for (at, (selector, count, has_coupon)) in [
        (String::new(), 20_000, true),
        (format!("at_snapshot => {FIRST}"), 5_032, false),
        (format!("at_snapshot => {THIRD}"), 14_912, true),
        ("at_ref => '2025-q2'".into(), 9_855, false),
        ("at_ref => 'main'".into(), 20_000, true),
        ("at_timestamp => '2025-04-01 06:00+00'".into(), 5_032, false),
        (
            "at_timestamp => '2025-07-01 05:59:59.999+00'".into(),
            5_032,
            false,
        ),
        // The column was added at noon, but the state of that time is that of the load before.
        ("at_timestamp => '2025-07-01 13:00+00'".into(), 9_855, false),
        ("at_timestamp => 'infinity'".into(), 20_000, true),
    ]
    .into_iter()
    .enumerate()
    {
        let table = format!("orders_{at}");
        attach_orders(&mut client, &table, &selector).expect("the state can be attached");
        assert_eq!(
            number(&mut client, &format!("SELECT count(*) FROM {table}")),
            count,
            "{selector}"
        );
        assert_eq!(
            columns(&mut client, &table).contains(&"coupon".to_owned()),
            has_coupon,
            "{selector}"
        );
    }
}

#[test]
fn a_state_that_is_not_there_is_answered_with_what_there_is() {
    let database = Database::new();
    let mut client = database.with_server();
    for (selector, parts) in [
        ("at_snapshot => 7", ["no snapshot 7", "5275607771289023108"]),
        ("at_ref => 'nobody'", ["\"nobody\"", "tag \"2025-q1\""]),
        (
            "at_timestamp => '2025-04-01 05:59:59.999+00'",
            [
                "2025-04-01T05:59:59.999Z",
                "1743487200000 ms (2025-04-01T06:00:00.000Z)",
            ],
        ),
        (
            "at_timestamp => '-infinity'",
            ["had no snapshot", "1743487200000 ms"],
        ),
    ] {
        expect(
            attach_orders(&mut client, "orders", selector),
            &[BAD_VALUE],
            &parts,
        );
    }
    expect(
        attach_orders(&mut client, "orders", "at_snapshot => 7, at_ref => 'main'"),
        &[CONFLICT],
        &["\"snapshot_id\"", "\"ref\""],
    );
}

#[test]
fn options_choose_and_columns_that_were_not_there_are_null() {
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&foreign_table(
            "orders",
            "id bigint, code text OPTIONS (column_name 'coupon'), coupon text OPTIONS (field_id '8')",
            orders(),
            &[("allow_moved_paths", "true"), ("ref", "2025-q2")],
        ))
        .expect("the table can be declared");
    let counts = "SELECT concat_ws(' ', count(*), count(code), count(coupon)) FROM orders";
    assert_eq!(
        text_value(&mut client, counts).expect("rows"),
        Some("9855 0 0".into())
    );
    assert_eq!(
        snapshot_line(&mut client, "SELECT id FROM orders"),
        format!("Snapshot: {SECOND} (option ref \"2025-q2\")")
    );
    client
        .batch_execute("ALTER FOREIGN TABLE orders OPTIONS (DROP ref)")
        .expect("an option can be dropped");
    let now = text_value(&mut client, counts)
        .expect("rows")
        .expect("a text");
    let counts: Vec<i64> = now
        .split(' ')
        .map(|count| count.parse().expect("a number"))
        .collect();
    assert!(
        counts[0] == 20_000 && counts[1] > 0 && counts[1] == counts[2],
        "{now}"
    );
    assert_eq!(
        snapshot_line(&mut client, "SELECT id FROM orders"),
        "Snapshot: 2150588453165938082 (current)"
    );
    client
        .batch_execute("ALTER FOREIGN TABLE orders ADD COLUMN nothing text")
        .expect("a column can be added");
    expect(
        client.batch_execute("SELECT nothing FROM orders"),
        &["HV005"],
        &["nothing"],
    );
}

#[test]
fn settings_go_before_options_and_exclude_each_other() {
    let database = Database::new();
    let mut client = database.with_server();
    attach_orders(&mut client, "orders", "").expect("the table can be attached");
    attach_orders(&mut client, "tagged", "at_ref => '2025-q3'").expect("the tag can be attached");
    let count =
        |client: &mut Client, table: &str| number(client, &format!("SELECT count(*) FROM {table}"));
    for set in [
        format!("SET iceberg_fdw.snapshot_id = {FIRST}"),
        format!("RESET iceberg_fdw.snapshot_id; SET iceberg_fdw.timestamp_ms = {FIRST_MS}"),
        "RESET iceberg_fdw.timestamp_ms; SET iceberg_fdw.ref = '2025-q1'".to_owned(),
    ] {
        client.batch_execute(&set).expect("the setting can be set");
        assert_eq!(count(&mut client, "orders"), 5_032, "{set}");
        assert_eq!(count(&mut client, "tagged"), 5_032, "{set}");
    }
    assert_eq!(
        snapshot_line(&mut client, "SELECT id FROM tagged"),
        format!("Snapshot: {FIRST} (setting iceberg_fdw.ref \"2025-q1\")")
    );
    client
        .batch_execute("SET iceberg_fdw.snapshot_id = 1")
        .expect("the setting can be set");
    expect(
        client.batch_execute("SELECT count(*) FROM orders"),
        &[CONFLICT],
        &["iceberg_fdw.snapshot_id", "iceberg_fdw.ref"],
    );
    client
        .batch_execute("RESET iceberg_fdw.snapshot_id; SET iceberg_fdw.ref = ''")
        .expect("settings can be reset");
    assert_eq!(count(&mut client, "orders"), 20_000);
    assert_eq!(count(&mut client, "tagged"), 14_912);
    for wrong in [
        "snapshot_id = 'x'",
        "timestamp_ms = '2025-01-01'",
        "snapshot_id = 9223372036854775808",
    ] {
        expect(
            client.batch_execute(&format!("SET iceberg_fdw.{wrong}")),
            &[BAD_VALUE],
            &["iceberg_fdw."],
        );
    }
}

/// A database with the foreign table `orders` and an ordinary table of three tags.
fn with_orders(database: &Database) -> Client {
    let mut client = database.with_server();
    attach_orders(&mut client, "orders", "").expect("the table can be attached");
    client
        .batch_execute(
            "CREATE TABLE tags (tag text); INSERT INTO tags VALUES ('2025-q1'), ('2025-q2'), ('2025-q4')",
        )
        .expect("a table can be made");
    client
}

#[test]
fn quals_select_for_each_scan_alone() {
    let database = Database::new();
    let mut client = with_orders(&database);
    for (query, expected) in [
        (
            "SELECT count(*) FROM orders WHERE iceberg.at_ref(tableoid, '2025-q1')",
            "5032",
        ),
        (
            "SELECT count(*) FROM orders o WHERE o.id > 0 AND iceberg.at_snapshot(o.tableoid, 5275607771289023108)",
            "5032",
        ),
        (
            "SELECT count(*) || ' ' || count(coupon) FROM orders WHERE iceberg.at_timestamp(tableoid, '2025-07-01 13:00+00')",
            "9855 0",
        ),
        (
            "SELECT count(*) FROM orders WHERE iceberg.at_timestamp(tableoid, timestamptz '2025-07-02 06:00+00' - interval '1 day')",
            "9855",
        ),
        (
            "SELECT count(*) FROM orders a JOIN orders b USING (id) WHERE iceberg.at_ref(a.tableoid, '2025-q1') AND iceberg.at_ref(b.tableoid, '2025-q3')",
            "5032",
        ),
        (
            "SELECT count(*) FROM (SELECT id FROM orders WHERE iceberg.at_ref(tableoid, '2025-q2') EXCEPT SELECT id FROM orders WHERE iceberg.at_ref(tableoid, '2025-q1')) more",
            "4823",
        ),
        // December was written anew: only its open orders changed.
        (
            "SELECT string_agg(DISTINCT a.status, ',') FROM orders a JOIN orders b USING (id) WHERE a.status <> b.status AND iceberg.at_ref(a.tableoid, '2025-q4')",
            "open",
        ),
        (
            "SELECT count(*) FROM orders WHERE iceberg.at_ref(tableoid, (SELECT min(tag) FROM tags))",
            "5032",
        ),
        (
            "WITH old AS (SELECT * FROM orders WHERE iceberg.at_ref(tableoid, '2025-q1')) SELECT count(*) FROM old t LEFT JOIN orders o ON o.id = t.id",
            "5032",
        ),
        (
            "SELECT count(DISTINCT tableoid) || ' ' || min(tableoid::regclass::text) FROM orders WHERE iceberg.at_ref(tableoid, '2025-q1')",
            "1 orders",
        ),
    ] {
        assert_eq!(lines(&mut client, query), [expected], "{query}");
    }
    client
        .batch_execute(
            "CREATE VIEW second AS SELECT * FROM orders WHERE iceberg.at_ref(tableoid, '2025-q2')",
        )
        .expect("a view can be made");
    assert_eq!(lines(&mut client, "SELECT count(*) FROM second"), ["9855"]);
    // A qual goes before a setting, which goes before an option.
    client
        .batch_execute("SET iceberg_fdw.ref = '2025-q3'")
        .expect("the setting can be set");
    assert_eq!(
        lines(
            &mut client,
            "SELECT count(*) FROM second UNION ALL SELECT count(*) FROM orders"
        ),
        ["9855", "14912"]
    );
}

#[test]
fn values_of_other_tables_select_for_each_of_their_rows() {
    let database = Database::new();
    let mut client = with_orders(&database);
    let every_tag = ["2025-q1 5032", "2025-q2 9855", "2025-q4 20000"];
    for query in [
        "SELECT tag, n FROM tags, LATERAL (SELECT count(*) n FROM orders o WHERE iceberg.at_ref(o.tableoid, tag)) x ORDER BY 1",
        "SELECT tag, count(*) FROM tags JOIN orders o ON iceberg.at_ref(o.tableoid, tag) GROUP BY 1 ORDER BY 1",
        "SELECT tag, count(*) FROM orders o, tags WHERE iceberg.at_ref(o.tableoid, tag) GROUP BY 1 ORDER BY 1",
        "SELECT tag, count(o.id) FROM tags LEFT JOIN orders o ON iceberg.at_ref(o.tableoid, tag) GROUP BY 1 ORDER BY 1",
        "SELECT tag, (SELECT count(*) FROM orders o WHERE iceberg.at_ref(o.tableoid, tag)) FROM tags ORDER BY 1",
        // Other joins may be made before the one that brings the value.
        "SELECT tag, count(*) FROM tags JOIN orders o ON iceberg.at_ref(o.tableoid, tag) JOIN orders now ON now.id = o.id GROUP BY 1 ORDER BY 1",
        "SELECT tag, count(*) FROM tags JOIN orders o ON iceberg.at_ref(o.tableoid, tag) JOIN orders p ON iceberg.at_ref(p.tableoid, tag) AND p.id = o.id GROUP BY 1 ORDER BY 1",
    ] {
        assert_eq!(lines(&mut client, query), every_tag, "{query}");
    }
    assert_eq!(
        lines(
            &mut client,
            "SELECT tag FROM tags WHERE EXISTS (SELECT FROM orders o WHERE iceberg.at_ref(o.tableoid, tag) AND o.id = 12000)"
        ),
        ["2025-q4"]
    );
    // Values that repeat, and that go back.
    assert_eq!(
        lines(
            &mut client,
            "SELECT (SELECT count(*) FROM orders o WHERE iceberg.at_ref(o.tableoid, '2025-q' || q)) FROM unnest('{1,1,4,1}'::int[]) WITH ORDINALITY u(q, at) ORDER BY at"
        ),
        ["5032", "5032", "20000", "5032"]
    );
}

#[test]
fn a_generic_plan_is_executed_with_many_snapshots() {
    let database = Database::new();
    let mut client = with_orders(&database);
    for mode in ["force_generic_plan", "force_custom_plan"] {
        client
            .batch_execute(&format!("SET plan_cache_mode = {mode}"))
            .expect("the setting can be set");
        let by_id = client
            .prepare("SELECT count(*) FROM orders WHERE iceberg.at_snapshot(tableoid, $1)")
            .expect("a statement can be prepared");
        for (id, count) in [
            (FIRST, 5_032),
            (THIRD, 14_912),
            (SECOND, 9_855),
            (FIRST, 5_032),
        ] {
            let row = client
                .query_one(&by_id, &[&id])
                .expect("the statement runs");
            assert_eq!(row.get::<_, i64>(0), count, "{mode}");
        }
        expect(
            client.query_one(&by_id, &[&7_i64]),
            &[BAD_VALUE],
            &["no snapshot 7"],
        );
        expect(
            client.query_one(&by_id, &[&None::<i64>]),
            &["22004"],
            &["iceberg.at_snapshot", "null"],
        );
    }
    client
        .batch_execute(
            "PREPARE by_ref(text) AS SELECT id FROM orders WHERE iceberg.at_ref(tableoid, $1)",
        )
        .expect("a statement can be prepared");
    assert_eq!(
        snapshot_line(&mut client, "EXECUTE by_ref('2025-q2')"),
        format!("Snapshot: {SECOND} (qual iceberg.at_ref \"2025-q2\")")
    );
}

#[test]
fn a_selector_anywhere_else_says_where_it_may_stand() {
    let database = Database::new();
    let mut client = with_orders(&database);
    for (query, state, says) in [
        (
            "SELECT count(*) FROM orders WHERE iceberg.at_ref(tableoid, '2025-q1') OR id = 1",
            "0A000",
            "joined to others by AND only",
        ),
        (
            "SELECT count(*) FROM orders WHERE NOT iceberg.at_ref(tableoid, '2025-q1')",
            "0A000",
            "joined to others by AND only",
        ),
        (
            "SELECT iceberg.at_ref(tableoid, '2025-q1') FROM orders",
            "0A000",
            "condition of its own",
        ),
        (
            "SELECT count(*) FROM tags WHERE iceberg.at_ref(tableoid, '2025-q1')",
            "0A000",
            "foreign table of iceberg_fdw",
        ),
        (
            "SELECT count(*) FROM orders WHERE iceberg.at_ref('orders'::regclass, '2025-q1')",
            "0A000",
            "t.tableoid",
        ),
        (
            "SELECT count(*) FROM tags LEFT JOIN orders o ON true WHERE iceberg.at_ref(o.tableoid, '2025-q1')",
            "0A000",
            "join's ON",
        ),
        (
            "SELECT count(*) FROM orders WHERE iceberg.at_snapshot(tableoid, id)",
            "0A000",
            "rows of the table itself",
        ),
        (
            "SELECT count(*) FROM orders WHERE iceberg.at_snapshot(tableoid, (random() * 5)::bigint)",
            "0A000",
            "volatile",
        ),
        (
            "SELECT count(*) FROM orders WHERE iceberg.at_ref(tableoid, NULL)",
            "22004",
            "null",
        ),
        (
            "SELECT count(*) FROM orders WHERE iceberg.at_ref(tableoid, 'main') AND iceberg.at_snapshot(tableoid, 1)",
            CONFLICT,
            "twice",
        ),
        (
            "SELECT count(*) FROM orders WHERE iceberg.at_ref(tableoid, 'nobody')",
            BAD_VALUE,
            "tag \"2025-q1\"",
        ),
        (
            "SELECT count(*) FROM orders WHERE iceberg.at_timestamp(tableoid, '2025-01-01 00:00+00')",
            BAD_VALUE,
            "1743487200000 ms",
        ),
    ] {
        expect(client.batch_execute(query), &[state], &[says]);
    }
}

#[test]
fn estimates_follow_the_selected_snapshot() {
    let database = Database::new();
    let mut client = with_orders(&database);
    for (qual, rows) in [
        ("true", 20_000),
        ("iceberg.at_ref(tableoid, '2025-q1')", 5_032),
        (
            "iceberg.at_timestamp(tableoid, '2025-07-01 13:00+00')",
            9_855,
        ),
    ] {
        let plan = lines(
            &mut client,
            &format!("EXPLAIN SELECT * FROM orders WHERE {qual}"),
        );
        assert!(plan[0].contains(&format!(" rows={rows} ")), "{}", plan[0]);
        assert!(
            !plan.iter().any(|line| line.contains("Filter:")),
            "{plan:?}"
        );
    }
}

/// A table of three columns over one of the scenarios' tables, to be read with quals.
fn scenario(database: &Database, name: &str) -> Client {
    let mut client = database.with_server();
    client
        .batch_execute(&foreign_table(
            "example",
            "order_number int, product_code text, price float8",
            fixtures().join("time_travel").join(name),
            &[("allow_moved_paths", "true")],
        ))
        .expect("the table can be declared");
    client
}

/// Attaches a state of a scenario's table and gives its columns and its rows.
fn state(client: &mut Client, name: &str, time: &str) -> (Vec<String>, Vec<String>) {
    let more = format!("allow_moved_paths => true, at_timestamp => '{time}'");
    client
        .batch_execute("DROP FOREIGN TABLE IF EXISTS state")
        .expect("a table can be dropped");
    client
        .batch_execute(&attach(
            "state",
            fixtures().join("time_travel").join(name),
            &more,
        ))
        .expect("the state can be attached");
    (
        columns(client, "state"),
        lines(client, "SELECT * FROM state ORDER BY order_number"),
    )
}

const TWO: &[&str] = &["order_number", "product_code"];
const THREE: &[&str] = &["order_number", "product_code", "price"];

/// A change of the schema makes no snapshot: the old state shows two columns before and after it.
#[test]
fn scenario_1_a_schema_changes_without_a_snapshot() {
    let database = Database::new();
    let mut client = scenario(&database, "column_between");
    for (time, expected_columns, rows) in [
        ("2026-01-01 10:02+00", TWO, vec!["1 Mars"]),
        ("2026-01-01 10:04+00", TWO, vec!["1 Mars"]),
        (
            "2026-01-01 10:06+00",
            THREE,
            vec!["1 Mars NULL", "2 Venus 100"],
        ),
    ] {
        let (columns, read) = state(&mut client, "column_between", time);
        assert_eq!(columns, expected_columns, "{time}");
        assert_eq!(read, rows, "{time}");
        // Over a table with all three columns, the one that did not exist is null.
        let by_qual = lines(
            &mut client,
            &format!(
                "SELECT * FROM example WHERE iceberg.at_timestamp(tableoid, '{time}') ORDER BY 1"
            ),
        );
        let with_null: Vec<String> = rows
            .iter()
            .map(|row| match expected_columns.len() {
                2 => format!("{row} NULL"),
                _ => (*row).to_owned(),
            })
            .collect();
        assert_eq!(by_qual, with_null, "{time}");
    }
}

/// The state of now, asked for by time, has the snapshot's schema; the current table has the current one.
#[test]
fn scenario_2_the_current_schema_is_not_that_of_the_current_snapshot() {
    let database = Database::new();
    let mut client = scenario(&database, "column_after");
    let (now, rows) = state(&mut client, "column_after", "2026-01-01 10:04+00");
    assert_eq!(now, TWO);
    assert_eq!(rows, ["2 Venus"]);
    client
        .batch_execute(&attach(
            "current",
            fixtures().join("time_travel/column_after"),
            "allow_moved_paths => true",
        ))
        .expect("the table can be attached");
    assert_eq!(columns(&mut client, "current"), THREE);
    assert_eq!(
        lines(&mut client, "SELECT * FROM current"),
        ["2 Venus NULL"]
    );
    // A branch is read in the current schema too.
    client
        .batch_execute(&attach(
            "branch",
            fixtures().join("time_travel/column_after"),
            "allow_moved_paths => true, at_ref => 'main'",
        ))
        .expect("the branch can be attached");
    assert_eq!(columns(&mut client, "branch"), THREE);
}

/// Before any rows were written there is nothing to travel to.
#[test]
fn scenario_3_a_time_before_any_data_is_an_error() {
    let database = Database::new();
    let mut client = scenario(&database, "no_rows");
    let by_time =
        "SELECT count(*) FROM example WHERE iceberg.at_timestamp(tableoid, '2026-01-01 10:04+00')";
    expect(
        client.batch_execute(by_time),
        &[BAD_VALUE],
        &["had no snapshot", "log is empty"],
    );
    let more = "allow_moved_paths => true, at_timestamp => '2026-01-01 10:04+00'";
    let location = fixtures().join("time_travel/no_rows");
    expect(
        client.batch_execute(&attach("state", &location, more)),
        &[BAD_VALUE],
        &["had no snapshot"],
    );
    assert_eq!(
        lines(
            &mut client,
            "SELECT order_number, product_code FROM example"
        ),
        Vec::<String>::new()
    );
    // A table that has rows says from when on.
    let mut client = database.connect();
    client
        .batch_execute(&format!(
            "ALTER FOREIGN TABLE example OPTIONS (SET location {})",
            iceberg_fdw_tests::database::quoted_path(fixtures().join("time_travel/column_between"))
        ))
        .expect("an option can be set");
    let early = by_time.replace("10:04", "10:00");
    expect(
        client.batch_execute(&early),
        &[BAD_VALUE],
        &["2026-01-01T10:01:00.000Z"],
    );
}
