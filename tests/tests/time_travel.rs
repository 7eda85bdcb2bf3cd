//! Time travel over a sample table: a load each quarter of 2025 with a tag, a column added in July, December written anew.
//! Numbers of rows and times are those that PyIceberg wrote into its metadata.

use iceberg_fdw_tests::database::{Database, attach, foreign_table, text_rows, text_value};
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
