//! A foreign table can only be read: every statement that would change it says so.

use iceberg_fdw_tests::database::{Database, attach};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::failure;

fn refused(statement: &str) {
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach(
            "products",
            fixtures().join("warehouse/shop/products"),
            "allow_moved_paths => true",
        ))
        .expect("the table can be attached");
    failure::expect(
        client.batch_execute(statement),
        &["55000", "0A000"],
        &["products"],
    );
    let count: i64 = client
        .query_one("SELECT count(*) FROM products", &[])
        .expect("the table can be read")
        .get(0);
    assert_eq!(count, 12);
}

#[test]
fn insert_is_refused() {
    refused("INSERT INTO products (id, title) VALUES (13, 'Kite')");
}

#[test]
fn update_is_refused() {
    refused("UPDATE products SET price = 0 WHERE id = 1");
}

#[test]
fn delete_is_refused() {
    refused("DELETE FROM products WHERE id = 1");
}

#[test]
fn truncate_is_refused() {
    refused("TRUNCATE products");
}

#[test]
fn copy_into_it_is_refused() {
    // The refusal comes before any row is asked for.
    refused("COPY products FROM STDIN");
}
