//! `iceberg.refresh` and `iceberg.create_time_travel_function`: foreign tables that follow their Iceberg table, and functions
//! that read its states.

use iceberg_fdw_tests::database::{Database, attach, foreign_table, lines};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::failure::expect;

#[test]
fn columns_are_added_kept_and_dropped() {
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&foreign_table(
            "example",
            "order_number bigint, code text OPTIONS (column_name 'product_code'), gone text, file text OPTIONS (metadata_column '_file')",
            fixtures().join("time_travel/column_between"),
            &[("allow_moved_paths", "true")],
        ))
        .expect("the table can be declared");
    assert_eq!(
        lines(
            &mut client,
            "SELECT change, column_name FROM iceberg.refresh('example')"
        ),
        ["keep gone", "add price"]
    );
    assert_eq!(
        lines(
            &mut client,
            "SELECT order_number, code, price FROM example ORDER BY 1"
        ),
        ["1 Mars NULL", "2 Venus 100"]
    );
    assert_eq!(
        lines(
            &mut client,
            "SELECT change, column_name FROM iceberg.refresh('example', drop_columns => true)"
        ),
        ["drop gone"]
    );
    assert_eq!(
        lines(
            &mut client,
            "SELECT * FROM iceberg.refresh('example', true)"
        ),
        Vec::<String>::new()
    );
}

#[test]
fn a_table_of_one_state_is_refreshed_to_that_state() {
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach(
            "example",
            fixtures().join("time_travel/column_between"),
            "allow_moved_paths => true, at_timestamp => '2026-01-01 10:04+00'",
        ))
        .expect("the state can be attached");
    assert_eq!(
        lines(&mut client, "SELECT * FROM iceberg.refresh('example')"),
        Vec::<String>::new()
    );
    client
        .batch_execute("ALTER FOREIGN TABLE example OPTIONS (DROP timestamp_ms)")
        .expect("an option can be dropped");
    assert_eq!(
        lines(
            &mut client,
            "SELECT change, column_name FROM iceberg.refresh('example')"
        ),
        ["add price"]
    );
    assert_eq!(
        lines(&mut client, "SELECT * FROM example ORDER BY 1"),
        ["1 Mars NULL", "2 Venus 100"]
    );
}

#[test]
fn only_its_owner_refreshes_a_table() {
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach(
            "example",
            fixtures().join("time_travel/column_between"),
            "allow_moved_paths => true, at_timestamp => '2026-01-01 10:04+00'",
        ))
        .expect("the state can be attached");
    let role = format!("{}_other", database.name());
    client
        .batch_execute(&format!(
            "ALTER FOREIGN TABLE example OPTIONS (DROP timestamp_ms);
             CREATE ROLE {role}; GRANT pg_read_server_files TO {role}; SET ROLE {role}"
        ))
        .expect("a role can be made");
    expect(
        client.batch_execute("SELECT * FROM iceberg.refresh('example')"),
        &["42501"],
        &["example"],
    );
    client
        .batch_execute(&format!("RESET ROLE; DROP ROLE {role}"))
        .expect("the role can be dropped");
    expect(
        client.batch_execute("SELECT * FROM iceberg.refresh('pg_class')"),
        &["42809"],
        &["pg_class"],
    );
}

#[test]
fn functions_read_the_states_of_a_table_with_all_that_a_query_pushes_down() {
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&format!(
            "CREATE SCHEMA \"Shop 'n' more\"; {}",
            attach(
                "\"Shop 'n' more\".\"Orders $time_travel$\"",
                fixtures().join("warehouse/shop/orders"),
                "allow_moved_paths => true"
            )
        ))
        .expect("the table can be attached");
    let table = r#"'"Shop ''n'' more"."Orders $time_travel$"'"#;
    assert_eq!(
        lines(
            &mut client,
            &format!("SELECT * FROM iceberg.create_time_travel_function({table}) f")
        )
        .len(),
        3
    );
    client
        .batch_execute("SET search_path = \"Shop 'n' more\"")
        .expect("the setting can be set");
    for (argument, count) in [
        ("'2025-q1'", "5032"),
        ("2753551918892190622", "9855"),
        ("timestamptz '2025-12-01 00:00+00'", "14912"),
    ] {
        assert_eq!(
            lines(
                &mut client,
                &format!("SELECT count(*) FROM \"Orders $time_travel$_at\"({argument})")
            ),
            [count],
            "{argument}"
        );
    }
    let plan = lines(
        &mut client,
        "EXPLAIN (COSTS OFF) SELECT id FROM \"Orders $time_travel$_at\"('2025-q1') WHERE id = 7",
    );
    assert!(plan[0].starts_with("Foreign Scan on "), "{plan:?}");
    assert!(
        plan.iter()
            .any(|line| line.contains("Snapshot: 5275607771289023108")),
        "{plan:?}"
    );
    assert_eq!(
        lines(
            &mut client,
            "SELECT r, count(*) FROM (VALUES ('2025-q1'), ('2025-q2')) r(r), LATERAL \"Orders $time_travel$_at\"(r) o GROUP BY r ORDER BY r"
        ),
        ["2025-q1 5032", "2025-q2 9855"]
    );
    expect(
        client.batch_execute(&format!(
            "SELECT iceberg.create_time_travel_function({table})"
        )),
        &["42723"],
        &["Orders $time_travel$_at"],
    );
}
