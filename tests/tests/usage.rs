//! Foreign tables in all the places where Postgres lets a table stand, and after their definition was altered.

use iceberg_fdw_tests::database::{Database, attach, foreign_table, text_rows, text_value};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::heap::attach_beside_heap;
use postgres::Client;

const MOVED: &[(&str, &str)] = &[("allow_moved_paths", "true")];

fn orders() -> (Database, Client) {
    let database = Database::new();
    let mut client = database.with_server();
    attach_beside_heap(
        &mut client,
        "orders",
        &fixtures().join("warehouse/shop/orders"),
    );
    (database, client)
}

/// A table declared by hand over the 12 products.
fn products(columns: &str) -> (Database, Client) {
    let database = Database::new();
    let mut client = database.with_server();
    let location = fixtures().join("warehouse/shop/products");
    client
        .batch_execute(&foreign_table("products", columns, location, MOVED))
        .expect("the table can be declared");
    (database, client)
}

fn same(client: &mut Client, query: &str) {
    let heap = query.replace("orders", "orders_heap");
    let wanted = text_rows(client, &heap).unwrap_or_else(|error| panic!("{heap}: {error:?}"));
    let rows = text_rows(client, query).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    assert!(
        !wanted.is_empty(),
        "{heap} gives no row: nothing is compared"
    );
    assert_eq!(rows, wanted, "{query}");
}

fn value(client: &mut Client, query: &str) -> String {
    let value = text_value(client, query);
    value
        .unwrap_or_else(|error| panic!("{query}: {error:?}"))
        .unwrap_or_else(|| panic!("{query} gives NULL"))
}

#[test]
fn whole_rows_are_values() {
    let (_database, mut client) = orders();
    same(
        &mut client,
        "SELECT md5(string_agg(o::text, '|' ORDER BY id)) FROM orders o",
    );
    same(
        &mut client,
        "SELECT to_jsonb(o) FROM orders o WHERE id <= 3 ORDER BY id",
    );
    same(
        &mut client,
        "SELECT (o).status, count(o) FROM orders o GROUP BY 1 ORDER BY 1",
    );
}

#[test]
fn tableoid_names_the_foreign_table() {
    let (_database, mut client) = orders();
    let name = value(
        &mut client,
        "SELECT DISTINCT tableoid::regclass FROM orders WHERE id <= 10",
    );
    assert_eq!(name, "orders");
}

#[test]
fn rows_can_be_copied_into_other_tables() {
    let (_database, mut client) = orders();
    client
        .batch_execute(
            "CREATE TABLE copied AS SELECT * FROM orders;
             CREATE TABLE inserted (LIKE copied);
             INSERT INTO inserted SELECT * FROM orders;
             CREATE MATERIALIZED VIEW kept AS SELECT * FROM orders",
        )
        .expect("rows can be copied");
    for copy in ["copied", "inserted", "kept"] {
        let different = value(
            &mut client,
            &format!(
                "SELECT count(*) FROM (SELECT * FROM {copy} EXCEPT ALL SELECT * FROM orders_heap) d"
            ),
        );
        assert_eq!(different, "0", "{copy}");
        assert_eq!(
            value(&mut client, &format!("SELECT count(*) FROM {copy}")),
            "20000"
        );
    }
}

#[test]
fn copy_to_writes_every_row() {
    let (_database, mut client) = orders();
    let mut read = |query: &str| {
        let mut text = Vec::new();
        let mut rows = client.copy_out(query).expect("a query can be copied out");
        std::io::Read::read_to_end(&mut rows, &mut text).expect("the rows arrive");
        text
    };
    let foreign = read("COPY (SELECT * FROM orders ORDER BY id) TO STDOUT");
    assert_eq!(
        foreign,
        read("COPY (SELECT * FROM orders_heap ORDER BY id) TO STDOUT")
    );
    assert!(foreign.len() > 1_000_000);
}

#[test]
fn heap_tables_are_changed_by_what_foreign_rows_say() {
    let (_database, mut client) = orders();
    client
        .batch_execute(
            "CREATE TABLE target AS SELECT id, amount FROM orders_heap WHERE id <= 500;
             UPDATE target t SET amount = o.amount + 1 FROM orders o WHERE o.id = t.id AND o.status = 'returned';
             DELETE FROM target t USING orders o WHERE o.id = t.id AND o.status = 'cancelled'",
        )
        .expect("a heap table can be changed");
    let wrong = value(
        &mut client,
        "SELECT count(*) FROM orders_heap o FULL JOIN target t USING (id)
         WHERE o.id <= 500 AND (t.id IS NULL) <> (o.status = 'cancelled')
            OR t.amount <> o.amount + (o.status = 'returned')::int",
    );
    assert_eq!(wrong, "0");
}

#[test]
fn rows_can_be_selected_for_update() {
    let (_database, mut client) = orders();
    same(
        &mut client,
        "SELECT id, status FROM orders WHERE id <= 5 ORDER BY id FOR UPDATE",
    );
}

#[test]
fn a_foreign_table_can_be_a_partition() {
    let (_database, mut client) = orders();
    client
        .batch_execute(
            "CREATE TABLE everything (LIKE orders_heap) PARTITION BY RANGE (id);
             CREATE TABLE later PARTITION OF everything FOR VALUES FROM (20001) TO (30000);
             INSERT INTO everything (id, customer_id, ordered_at) VALUES (20001, 1, now());
             ALTER TABLE everything ATTACH PARTITION orders FOR VALUES FROM (1) TO (20001)",
        )
        .expect("a foreign table can be attached");
    assert_eq!(
        value(
            &mut client,
            "SELECT count(*) || ' ' || max(id) FROM everything"
        ),
        "20001 20001"
    );
    assert_eq!(
        value(
            &mut client,
            "SELECT count(*) FROM everything WHERE id > 19990"
        ),
        "11"
    );
}

#[test]
fn a_foreign_table_can_be_inherited_from_another() {
    let (_database, mut client) = products("id bigint, title text");
    client
        .batch_execute("CREATE TABLE things (id bigint, title text); INSERT INTO things VALUES (100, 'Lamp'); ALTER FOREIGN TABLE products INHERIT things")
        .expect("a foreign table can inherit");
    assert_eq!(value(&mut client, "SELECT count(*) FROM things"), "13");
}

#[test]
fn a_dropped_column_moves_no_value() {
    let (_database, mut client) = products(
        "id bigint, title text, price numeric(8,2), weight_kg float8, discontinued boolean",
    );
    client
        .batch_execute("ALTER FOREIGN TABLE products DROP COLUMN title; ALTER FOREIGN TABLE products ADD COLUMN labels text[]")
        .expect("columns can be dropped and added");
    let rows = text_rows(&mut client, "SELECT * FROM products WHERE id = 7")
        .expect("the table can be read");
    let expected = ["7", "39.95", "0.09", "t", "{outdoor,light}"];
    assert_eq!(rows, [expected.map(|value| Some(value.to_owned()))]);
}

#[test]
fn columns_may_be_declared_in_any_order_and_left_out() {
    let (_database, mut client) = products("labels text[], price numeric(8,2), id bigint");
    let rows = text_rows(&mut client, "SELECT * FROM products WHERE id = 1")
        .expect("the table can be read");
    assert_eq!(
        rows,
        [["{paper,office}", "6.90", "1"].map(|value| Some(value.to_owned()))]
    );
}

#[test]
fn a_renamed_column_keeps_its_field() {
    let database = Database::new();
    let mut client = database.with_server();
    let location = fixtures().join("warehouse/shop/products");
    client
        .batch_execute(&attach("products", location, "allow_moved_paths => true"))
        .expect("the table can be attached");
    client
        .batch_execute(
            "ALTER FOREIGN TABLE products RENAME COLUMN title TO spare;
             ALTER FOREIGN TABLE products RENAME COLUMN id TO title;
             ALTER FOREIGN TABLE products RENAME COLUMN spare TO id",
        )
        .expect("columns can be renamed");
    assert_eq!(
        value(&mut client, "SELECT id FROM products WHERE title = 1"),
        "Field notebook"
    );
}

#[test]
fn a_declared_type_that_loses_nothing_is_accepted() {
    let (_database, mut client) =
        products("id numeric, title varchar, price numeric, weight_kg float8");
    let rows = text_rows(
        &mut client,
        "SELECT id, title, price, pg_typeof(id) FROM products WHERE id = 1",
    )
    .expect("the table can be read");
    let expected = ["1", "Field notebook", "6.90", "numeric"];
    assert_eq!(rows, [expected.map(|value| Some(value.to_owned()))]);
}

#[test]
fn a_declared_type_that_does_not_fit_is_an_error_that_names_both() {
    for (columns, iceberg, postgres) in [
        ("id integer", "long", "integer"),
        ("id boolean", "long", "boolean"),
        ("title integer", "string", "integer"),
        ("labels text", "list", "text"),
        ("weight_kg real", "double", "real"),
    ] {
        let (_database, mut client) = products(columns);
        failure::expect(
            text_rows(&mut client, "SELECT * FROM products"),
            &["HV004"],
            &[
                iceberg,
                postgres,
                columns.split(' ').next().expect("a column"),
            ],
        );
    }
}

#[test]
fn a_declared_column_that_the_table_lacks_is_named() {
    let (_database, mut client) = products("id bigint, colour text");
    failure::expect(
        text_rows(&mut client, "SELECT * FROM products"),
        &["HV005"],
        &["colour"],
    );
}

#[test]
fn a_table_without_columns_still_has_rows() {
    let (_database, mut client) = products("");
    assert_eq!(value(&mut client, "SELECT count(*) FROM products"), "12");
}

#[test]
fn a_query_inside_a_parallel_plan_answers_the_same() {
    let (_database, mut client) = orders();
    client
        .batch_execute(
            "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
             SET max_parallel_workers_per_gather = 2",
        )
        .expect("settings can be set");
    let query = "SELECT h.status, count(*), sum(o.amount) FROM orders_heap h JOIN orders o USING (id) GROUP BY h.status ORDER BY h.status";
    let joined = text_rows(&mut client, query).expect("the join can be run");
    let alone = text_rows(
        &mut client,
        "SELECT status, count(*), sum(amount) FROM orders_heap GROUP BY status ORDER BY status",
    )
    .expect("the heap can be read");
    assert_eq!(joined, alone);
}

#[test]
fn reading_stays_possible_in_every_isolation_level_and_in_read_only_transactions() {
    let (_database, mut client) = orders();
    for mode in [
        "ISOLATION LEVEL REPEATABLE READ",
        "ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE",
    ] {
        client
            .batch_execute(&format!("BEGIN {mode}"))
            .expect("a transaction can begin");
        assert_eq!(value(&mut client, "SELECT count(id) FROM orders"), "20000");
        client.batch_execute("COMMIT").expect("it can end");
    }
}
