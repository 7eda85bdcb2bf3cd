//! A foreign table can only be read: every statement that would change it says so.

use std::io::Write;

use iceberg_fdw_tests::database::{Database, attach};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::failure;
use postgres::Client;

fn products() -> (Database, Client) {
    let database = Database::new();
    let mut client = database.with_server();
    let location = fixtures().join("warehouse/shop/products");
    client
        .batch_execute(&attach("products", location, "allow_moved_paths => true"))
        .expect("the table can be attached");
    (database, client)
}

fn refused(statement: &str) {
    let (_database, mut client) = products();
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
    let copy_in = || {
        let (_database, mut client) = products();
        let mut copy = client.copy_in("COPY products (id, title) FROM STDIN")?;
        // The server may have refused already: what it says is read at the end.
        let _ = copy.write_all(b"13\tKite\n");
        copy.finish()
    };
    // This client sometimes takes the refusal for an answer to something else, and then shows no message of the server.
    let copied = (0..10)
        .map(|_| copy_in())
        .find(|copied| !matches!(copied, Err(error) if error.as_db_error().is_none()))
        .expect("the client shows what the server says");
    failure::expect(copied, &["55000", "0A000"], &["products"]);
}
