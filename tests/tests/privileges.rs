//! Local files are read only with the rights of `pg_read_server_files`, checked for the role whose rights the query runs with.

use iceberg_fdw_tests::database::{Database, administrator, attach};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::failure;
use postgres::Client;

/// A role that can use everything in the database, dropped at the end.
struct Role {
    name: String,
}

impl Role {
    fn new(purpose: &str) -> Role {
        let name = format!("iceberg_test_{purpose}_{}", std::process::id());
        administrator()
            .batch_execute(&format!("CREATE ROLE {name}"))
            .expect("a role can be made");
        Role { name }
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // The database with what the role was granted is gone by then: it is declared after the role.
        if let Err(error) = administrator().batch_execute(&format!("DROP ROLE {}", self.name)) {
            eprintln!("the role {} cannot be dropped: {error}", self.name);
        }
    }
}

fn prepared(role: &Role) -> (Database, Client) {
    let database = Database::new();
    let mut client = database.with_server();
    let name = &role.name;
    client
        .batch_execute(&attach(
            "products",
            fixtures().join("warehouse/shop/products"),
            "allow_moved_paths => true",
        ))
        .expect("the table can be attached");
    client
        .batch_execute(&format!(
            "GRANT USAGE, CREATE ON SCHEMA public TO {name}; GRANT USAGE ON SCHEMA iceberg TO {name};
             GRANT USAGE ON FOREIGN SERVER lake TO {name}; GRANT SELECT ON products TO {name}"
        ))
        .expect("rights can be granted");
    (database, client)
}

fn count(client: &mut Client, from: &str) -> Result<i64, postgres::Error> {
    Ok(client
        .query_one(&format!("SELECT count(title) FROM {from}"), &[])?
        .get(0))
}

#[test]
fn a_role_without_the_right_to_read_server_files_is_refused() {
    let role = Role::new("plain");
    let (_database, mut client) = prepared(&role);
    client
        .batch_execute(&format!("SET ROLE {}", role.name))
        .expect("the role can be taken");
    failure::expect(
        count(&mut client, "products"),
        &["42501"],
        &["pg_read_server_files"],
    );
}

#[test]
fn attaching_a_local_table_needs_the_same_right() {
    let role = Role::new("attach");
    let (_database, mut client) = prepared(&role);
    client
        .batch_execute(&format!("SET ROLE {}", role.name))
        .expect("the role can be taken");
    let statement = attach(
        "mine",
        fixtures().join("warehouse/shop/products"),
        "allow_moved_paths => true",
    );
    failure::expect(client.batch_execute(&statement), &["42501"], &[]);
}

#[test]
fn a_member_of_pg_read_server_files_may_read() {
    let role = Role::new("member");
    let (_database, mut client) = prepared(&role);
    client
        .batch_execute(&format!(
            "GRANT pg_read_server_files TO {0}; SET ROLE {0}",
            role.name
        ))
        .expect("the role can be taken");
    assert_eq!(
        count(&mut client, "products").expect("a member may read"),
        12
    );
}

#[test]
fn a_view_reads_with_the_rights_of_its_owner() {
    let role = Role::new("view");
    let (_database, mut client) = prepared(&role);
    client
        .batch_execute(&format!("CREATE VIEW offered AS SELECT * FROM products; GRANT SELECT ON offered TO {0}; SET ROLE {0}", role.name))
        .expect("a view can be made");
    assert_eq!(
        count(&mut client, "offered").expect("the owner may read"),
        12
    );
}

#[test]
fn a_view_of_a_role_without_the_right_does_not_borrow_the_readers() {
    let role = Role::new("owner");
    let (_database, mut client) = prepared(&role);
    client
        .batch_execute(&format!(
            "SET ROLE {}; CREATE VIEW offered AS SELECT * FROM products; RESET ROLE",
            role.name
        ))
        .expect("a view can be made");
    failure::expect(
        count(&mut client, "offered"),
        &["42501"],
        &["pg_read_server_files"],
    );
}

#[test]
fn a_security_definer_function_reads_with_the_rights_of_its_owner() {
    let role = Role::new("definer");
    let (_database, mut client) = prepared(&role);
    client
        .batch_execute(&format!(
            "CREATE FUNCTION offered() RETURNS SETOF products LANGUAGE sql SECURITY DEFINER AS 'SELECT * FROM products';
             GRANT EXECUTE ON FUNCTION offered() TO {0}; SET ROLE {0}",
            role.name
        ))
        .expect("a function can be made");
    assert_eq!(
        count(&mut client, "offered()").expect("the owner may read"),
        12
    );
}

#[test]
fn a_plan_made_for_one_role_does_not_serve_another() {
    let role = Role::new("plan");
    let (_database, mut client) = prepared(&role);
    client.batch_execute("PREPARE query AS SELECT count(title) FROM products; SET plan_cache_mode = force_generic_plan").expect("a statement can be prepared");
    client
        .batch_execute("EXECUTE query")
        .expect("the superuser may read");
    client
        .batch_execute(&format!("SET ROLE {}", role.name))
        .expect("the role can be taken");
    failure::expect(
        client.batch_execute("EXECUTE query"),
        &["42501"],
        &["pg_read_server_files"],
    );
}
