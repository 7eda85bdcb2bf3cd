//! The same rows in a foreign table and in a heap table: every query must answer the same, under every time zone.

use iceberg_fdw_tests::database::{Database, attach, text_rows};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::heap::{attach_beside_heap, declared_types};
use iceberg_fdw_tests::literal::postgres_type;
use iceberg_fdw_tests::{expected::Expected, iceberg_type::IcebergType};
use postgres::Client;

const ZONES: &[&str] = &["UTC", "Asia/Kolkata", "America/Los_Angeles"];

/// Both tables hold the same bag of rows in this projection, as values and as text.
fn assert_same_rows(client: &mut Client, name: &str, projection: &str) {
    for form in [
        projection.to_owned(),
        format!("(SELECT ROW({projection})::text)"),
    ] {
        for (one, other) in [
            (name.to_owned(), format!("{name}_heap")),
            (format!("{name}_heap"), name.to_owned()),
        ] {
            let query =
                format!("SELECT {form} FROM {one} EXCEPT ALL SELECT {form} FROM {other} LIMIT 5");
            let rows =
                text_rows(client, &query).unwrap_or_else(|error| panic!("{query}: {error:?}"));
            assert!(rows.is_empty(), "{query}: {rows:?}");
        }
    }
}

/// A query over `{name}` answers the same over `{name}_heap`, in the same order if it says one.
fn assert_same_answer(client: &mut Client, tables: &[&str], query: &str) {
    let mut over_heap = query.to_owned();
    for table in tables {
        assert!(
            query.contains(&format!("{{{table}}}")) || tables.len() > 1,
            "{query} does not name {table}"
        );
        over_heap = over_heap.replace(&format!("{{{table}}}"), &format!("{table}_heap"));
    }
    let over_foreign = query.replace(['{', '}'], "");
    let mut foreign = text_rows(client, &over_foreign)
        .unwrap_or_else(|error| panic!("{over_foreign}: {error:?}"));
    let mut heap =
        text_rows(client, &over_heap).unwrap_or_else(|error| panic!("{over_heap}: {error:?}"));
    assert!(
        !heap.is_empty(),
        "{over_heap} gives no row: nothing is compared"
    );
    if !query.contains("ORDER BY") {
        foreign.sort();
        heap.sort();
    }
    assert_eq!(foreign, heap, "{query}");
}

/// Whole rows, every column alone, and two columns in reverse order, under every zone.
fn compare_everything(path: &str, name: &str) -> (Database, Client) {
    let database = Database::new();
    let mut client = database.with_server();
    let columns = attach_beside_heap(&mut client, name, &fixtures().join(path));
    for zone in ZONES {
        client
            .batch_execute(&format!("SET timezone = '{zone}'"))
            .expect("a zone can be set");
        assert_same_rows(&mut client, name, &columns.join(", "));
    }
    for column in &columns {
        assert_same_rows(&mut client, name, column);
        for aggregate in [
            "count(*)",
            &format!("count({column})"),
            &format!("count(*) FILTER (WHERE {column} IS NULL)"),
        ] {
            assert_same_answer(
                &mut client,
                &[name],
                &format!("SELECT {aggregate} FROM {{{name}}}"),
            );
        }
    }
    if let [first, .., last] = columns.as_slice() {
        assert_same_rows(&mut client, name, &format!("{last}, {first}"));
    }
    (database, client)
}

#[test]
fn the_declared_types_are_those_of_the_design() {
    let database = Database::new();
    let mut client = database.with_server();
    for (path, name) in [
        ("types/scalars_v2", "scalars"),
        ("types/nested", "nested"),
        ("warehouse/shop/orders", "orders"),
    ] {
        let location = fixtures().join(path);
        client
            .batch_execute(&attach(name, &location, "allow_moved_paths => true"))
            .expect("the table can be attached");
        let expected = Expected::read(&location);
        for ((column, declared), wanted) in declared_types(&mut client, name)
            .iter()
            .zip(&expected.columns)
        {
            let wanted_type = match &wanted.kind {
                IcebergType::Decimal { .. } => {
                    declared.starts_with("numeric(").then(|| declared.clone())
                }
                IcebergType::List(element) if matches!(**element, IcebergType::Decimal { .. }) => {
                    declared.starts_with("numeric(").then(|| declared.clone())
                }
                IcebergType::Timestamptz => Some("timestamp with time zone".into()),
                IcebergType::Timestamp => Some("timestamp without time zone".into()),
                IcebergType::Time => Some("time without time zone".into()),
                IcebergType::List(element) if element.is_scalar() => {
                    Some(format!("{}[]", long_name(element)))
                }
                kind => Some(postgres_type(kind)),
            };
            assert_eq!(Some(declared), wanted_type.as_ref(), "{name}.{column}");
        }
    }
}

fn long_name(kind: &IcebergType) -> String {
    match kind {
        IcebergType::Timestamptz => "timestamp with time zone".into(),
        IcebergType::Timestamp => "timestamp without time zone".into(),
        IcebergType::Time => "time without time zone".into(),
        kind => postgres_type(kind),
    }
}

#[test]
fn scalars_of_version_2() {
    let (_database, mut client) = compare_everything("types/scalars_v2", "scalars");
    for query in [
        "SELECT id, double, float FROM {scalars} ORDER BY double DESC NULLS LAST, id",
        "SELECT id FROM {scalars} WHERE double > 1e300 ORDER BY id",
        "SELECT id FROM {scalars} WHERE double = 'NaN' OR float = '-Infinity' ORDER BY id",
        "SELECT max(double), min(double), max(float), min(float) FROM {scalars}",
        "SELECT max(decimal_38_0), min(decimal_38_10), sum(decimal_38_10) FROM {scalars}",
        "SELECT id FROM {scalars} WHERE date < '1970-01-01' ORDER BY id",
        "SELECT date_trunc('day', timestamptz), extract(epoch FROM timestamp) FROM {scalars}",
        "SELECT id, time FROM {scalars} WHERE time >= '12:00' ORDER BY time",
        "SELECT id FROM {scalars} WHERE string = '' ORDER BY id",
        "SELECT id, encode(\"binary\", 'base64') FROM {scalars} WHERE fixed IS NOT NULL ORDER BY id",
        "SELECT uuid FROM {scalars} ORDER BY uuid",
        "SELECT md5(string_agg(string, '|' ORDER BY id)) FROM {scalars}",
        "SELECT bool, count(*) FROM {scalars} GROUP BY bool ORDER BY bool",
    ] {
        assert_same_answer(&mut client, &["scalars"], query);
    }
}

#[test]
fn scalars_of_version_1() {
    compare_everything("types/scalars_v1", "scalars");
}

#[test]
fn nested_columns() {
    let (_database, mut client) = compare_everything("types/nested", "nested");
    for query in [
        "SELECT id, cardinality(string_list), int_list[1], date_list FROM {nested} ORDER BY id",
        "SELECT id, by_name->'one'->>'n', points->0->>'a.b', list_of_lists->3 FROM {nested} ORDER BY id",
    ] {
        assert_same_answer(&mut client, &["nested"], query);
    }
}

#[test]
fn events() {
    let (_database, mut client) = compare_everything("warehouse/telemetry/events", "events");
    for query in [
        "SELECT kind, count(*), min(ts), max(ts) FROM {events} GROUP BY kind ORDER BY kind",
        "SELECT date_trunc('day', ts), count(*) FROM {events} GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FROM {events} WHERE ts >= '2025-03-05 00:00+00' AND ts < '2025-03-06 00:00+00'",
        "SELECT event_id, reading->'wind'->>'speed' FROM {events} WHERE reading->>'temperature' LIKE '-%' ORDER BY event_id",
        "SELECT tag, count(*) FROM {events}, unnest(tags) tag GROUP BY tag ORDER BY tag",
    ] {
        assert_same_answer(&mut client, &["events"], query);
    }
}

#[test]
fn stations() {
    let (_database, mut client) = compare_everything("warehouse/telemetry/stations", "stations");
    for query in [
        "SELECT name FROM {stations} ORDER BY name COLLATE \"C\"",
        "SELECT country, avg(latitude), sum(elevation) FROM {stations} GROUP BY country ORDER BY country",
        "SELECT a.name, b.name FROM {stations} a JOIN {stations} b ON a.country = b.country AND a.id < b.id ORDER BY a.id, b.id",
    ] {
        assert_same_answer(&mut client, &["stations"], query);
    }
}

#[test]
fn a_price_list_of_version_1() {
    let (_database, mut client) = compare_everything("warehouse/legacy/price_list", "prices");
    assert_same_answer(
        &mut client,
        &["prices"],
        "SELECT currency, sum(price), count(discount) FROM {prices} GROUP BY currency ORDER BY currency",
    );
}

#[test]
fn products_with_compressed_metadata() {
    compare_everything("warehouse/shop/products", "products");
}

#[test]
fn orders_and_customers() {
    let (_database, mut client) = compare_everything("warehouse/shop/orders", "orders");
    let columns = attach_beside_heap(
        &mut client,
        "customers",
        &fixtures().join("warehouse/shop/customers"),
    );
    assert_same_rows(&mut client, "customers", &columns.join(", "));
    for zone in ZONES {
        client
            .batch_execute(&format!("SET timezone = '{zone}'"))
            .expect("a zone can be set");
        for query in [
            "SELECT date_trunc('month', ordered_at), count(*), sum(amount), sum(items) FROM {orders} GROUP BY 1 ORDER BY 1",
            "SELECT count(*) FROM {orders} WHERE ordered_at >= '2025-06-01' AND ordered_at < '2025-07-01'",
            "SELECT count(*) FROM {orders} WHERE ordered_at < '2025-01-01 00:30'",
            "SELECT id, ordered_at FROM {orders} WHERE ordered_at >= '2025-12-31 09:00' ORDER BY ordered_at, id",
            "SELECT count(*), sum(amount) FROM {orders} WHERE ordered_at::date = '2025-03-30'",
        ] {
            assert_same_answer(&mut client, &["orders"], query);
        }
    }
    for query in [
        "SELECT status, count(*), sum(amount), avg(items) FROM {orders} GROUP BY status ORDER BY status",
        "SELECT * FROM {orders} WHERE id IN (1, 7, 9999, 20000, 20001) ORDER BY id",
        "SELECT id FROM {orders} WHERE 19990 < id ORDER BY id DESC",
        "SELECT count(*) FROM {orders} WHERE note IS NULL",
        "SELECT count(*) FROM {orders} WHERE note = ''",
        "SELECT count(*) FROM {orders} WHERE note LIKE '%🍷%' OR note LIKE 'please%'",
        "SELECT count(*) FROM {orders} WHERE (coupon = 'WELCOME') IS NOT TRUE",
        "SELECT coupon, count(*) FROM {orders} GROUP BY coupon ORDER BY coupon",
        "SELECT count(*) FROM {orders} WHERE status <> 'delivered' AND NOT amount > 50.00",
        "SELECT id, amount FROM {orders} ORDER BY amount DESC, id LIMIT 25",
        "SELECT id, note FROM {orders} ORDER BY note NULLS FIRST, id OFFSET 18000 LIMIT 50",
        "SELECT count(DISTINCT customer_id), min(note), max(status) FROM {orders}",
        "SELECT id, sum(amount) OVER (PARTITION BY status ORDER BY id) FROM {orders} WHERE id < 300 ORDER BY id",
    ] {
        assert_same_answer(&mut client, &["orders"], query);
    }
    for query in [
        "SELECT c.country, count(*), sum(o.amount) FROM {orders} o JOIN {customers} c ON c.id = o.customer_id GROUP BY c.country ORDER BY c.country",
        "SELECT c.id FROM {customers} c LEFT JOIN {orders} o ON o.customer_id = c.id AND o.status = 'returned' WHERE o.id IS NULL ORDER BY c.id",
        "SELECT count(*) FROM {customers} c WHERE EXISTS (SELECT FROM {orders} o WHERE o.customer_id = c.id AND o.amount > 200)",
        "SELECT c.name, o.id FROM {customers} c FULL JOIN {orders} o ON o.id = c.id WHERE o.id < 20 OR c.id < 20 ORDER BY o.id",
    ] {
        assert_same_answer(&mut client, &["orders", "customers"], query);
    }
}
