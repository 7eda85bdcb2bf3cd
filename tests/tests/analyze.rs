//! ANALYZE of foreign tables: statistics as of a heap table with the same rows, numbers of rows after deletes, and no more
//! reading than needed of a large table.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int32Array, Int64Array};
use iceberg_fdw_tests::database::{Database, attach, text_rows, text_value};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::heap::attach_beside_heap;
use iceberg_fdw_tests::large::large_table;
use iceberg_fdw_tests::synthetic::{Directory, Table, row_groups_of_arrays};
use postgres::{Client, NoTls};

fn value(client: &mut Client, query: &str) -> String {
    text_value(client, query)
        .unwrap_or_else(|error| panic!("{query}: {error:?}"))
        .unwrap_or_default()
}

fn rows(client: &mut Client, query: &str) -> Vec<Vec<Option<String>>> {
    text_rows(client, query).unwrap_or_else(|error| panic!("{query}: {error:?}"))
}

/// The table's own number of rows, as the planner has it.
fn reltuples(client: &mut Client, table: &str) -> f64 {
    value(
        client,
        &format!("SELECT reltuples::float8 FROM pg_class WHERE relname = '{table}'"),
    )
    .parse()
    .expect("a number")
}

#[test]
fn statistics_are_those_of_a_heap_table() {
    let database = Database::new();
    let mut client = database.with_server();
    let columns = attach_beside_heap(
        &mut client,
        "customers",
        &fixtures().join("warehouse/shop/customers"),
    );
    client
        .batch_execute("ANALYZE customers")
        .expect("it can be analysed");
    assert_eq!(reltuples(&mut client, "customers"), 900.0);
    // All rows are in both samples, so that all that does not depend on their order is the same.
    let statistics = |client: &mut Client, table: &str| {
        rows(
            client,
            &format!(
                "SELECT attname, null_frac, avg_width, n_distinct, most_common_freqs,
                        (SELECT array_agg(v ORDER BY v) FROM unnest(most_common_vals::text::text[]) AS v),
                        histogram_bounds FROM pg_stats WHERE tablename = '{table}' ORDER BY attname"
            ),
        )
    };
    let (own, heap) = (
        statistics(&mut client, "customers"),
        statistics(&mut client, "customers_heap"),
    );
    assert_eq!(own.len(), heap.len());
    assert!(own.len() >= columns.len() && columns.len() > 3);
    for (own, heap) in own.iter().zip(&heap) {
        assert_eq!(own, heap);
    }
}

#[test]
fn rows_are_counted_without_deleted_ones() {
    let directory = Directory::new();
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
    Table::new(directory.path())
        .column(1, "id", "long")
        .raw_file(
            "data/a.parquet",
            &row_groups_of_arrays(&[(1, "id", ids.clone())], 100),
            1000,
        )
        .raw_file(
            "data/b.parquet",
            &row_groups_of_arrays(&[(1, "id", ids)], 1000),
            1000,
        )
        .equality_deletes(
            "data/deletes.parquet",
            &[(1, Arc::new(Int64Array::from_iter_values(0..250)))],
        )
        .position_deletes("data/positions.parquet", &[("data/a.parquet", 999)])
        .write();
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", directory.path(), ""))
        .expect("attached");
    client
        .batch_execute("ANALYZE tested")
        .expect("it can be analysed");
    assert_eq!(reltuples(&mut client, "tested"), 1499.0);
    assert_eq!(
        rows(
            &mut client,
            "SELECT (SELECT min(value) FROM unnest(most_common_vals::text::bigint[] || histogram_bounds::text::bigint[]) AS value), null_frac FROM pg_stats WHERE tablename = 'tested'"
        ),
        [[Some("250".to_owned()), Some("0".to_owned())].to_vec()]
    );
}

#[test]
fn empty_tables_can_be_analysed() {
    let database = Database::new();
    let mut client = database.with_server();
    let directory = Directory::new();
    Table::new(directory.path()).column(1, "id", "long").write();
    client
        .batch_execute(&attach("nothing", directory.path(), ""))
        .expect("attached");
    let directory = Directory::new();
    let one: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    Table::new(directory.path())
        .column(1, "id", "int")
        .file("data/a.parquet", vec![one])
        .position_deletes("data/deletes.parquet", &[("data/a.parquet", 0)])
        .write();
    client
        .batch_execute(&attach("all_deleted", directory.path(), ""))
        .expect("attached");
    for table in ["nothing", "all_deleted"] {
        client
            .batch_execute(&format!("ANALYZE {table}"))
            .expect("it can be analysed");
        assert_eq!(reltuples(&mut client, table), 0.0);
        assert_eq!(
            value(
                &mut client,
                &format!("SELECT count(*) FROM pg_stats WHERE tablename = '{table}'")
            ),
            "0"
        );
    }
}

#[test]
fn of_a_large_table_a_bounded_part_is_read() {
    let directory = Directory::new();
    let table = large_table(&directory, 1000, 50_000);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("large", table, ""))
        .expect("attached");
    client
        .batch_execute("SET default_statistics_target = 10; SET client_min_messages = info")
        .expect("settings");
    database.take_notices();
    client
        .batch_execute("ANALYZE VERBOSE large")
        .expect("it can be analysed");
    assert_eq!(reltuples(&mut client, "large"), 50_000_000.0);
    let notices = database.take_notices().join("\n");
    assert!(
        notices.contains(
            "read 16 of 1000 parts of 1000 data files, with 800000 rows; 3000 rows in sample"
        ),
        "{notices}"
    );
    // Rows of everywhere: the ids of a file are spread evenly.
    let correlation_free = value(
        &mut client,
        "SELECT bool_and(abs(bound - 50000 * (place - 1) / 10.0) < 5000) FROM pg_stats,
         unnest(histogram_bounds::text::bigint[]) WITH ORDINALITY AS bounds(bound, place)
         WHERE tablename = 'large' AND attname = 'id'",
    );
    assert_eq!(correlation_free, "t");
    let pages = value(
        &mut client,
        "SELECT relpages > 1000 FROM pg_class WHERE relname = 'large'",
    );
    assert_eq!(pages, "t");
}

#[test]
fn an_analyse_can_be_cancelled() {
    let directory = Directory::new();
    // Enough that drawing rows takes longer than the wait.
    let table = large_table(&directory, 400, 50_000);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("large", table, ""))
        .expect("attached");
    client
        .batch_execute("SET default_statistics_target = 3000")
        .expect("a setting");
    let token = client.cancel_token();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        token.cancel_query(NoTls).expect("a cancel can be sent");
        Instant::now()
    });
    let result = client.batch_execute("ANALYZE large");
    let ended = Instant::now();
    failure::expect(result, &["57014"], &[]);
    let waited = ended.saturating_duration_since(canceller.join().expect("the canceller ends"));
    assert!(
        waited < Duration::from_secs(1),
        "the cancel took {waited:?}"
    );
    assert_eq!(value(&mut client, "SELECT 1"), "1");
}
