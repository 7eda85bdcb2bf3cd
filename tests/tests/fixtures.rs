//! The sample tables of the repository, imported as a user would import them: all rows against the reference readers'.

use iceberg_fdw_tests::compare::compare_table;
use iceberg_fdw_tests::database::{Database, attach, quoted_path, text_rows};
use iceberg_fdw_tests::environment::fixtures;
use iceberg_fdw_tests::expected::Expected;

/// Imports a namespace of the sample warehouse and compares every table in it.
fn import_and_compare(namespace: &str, tables: &[&str]) {
    let warehouse = fixtures().join("warehouse");
    let database = Database::new();
    let mut client = database.connect();
    client
        .batch_execute(&format!(
            "CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse {});
             IMPORT FOREIGN SCHEMA {namespace} FROM SERVER lake INTO public OPTIONS (allow_moved_paths 'true')",
            quoted_path(&warehouse)
        ))
        .expect("the namespace can be imported");
    assert_eq!(database.take_notices(), Vec::<String>::new());
    let imported = text_rows(
        &mut client,
        "SELECT foreign_table_name FROM information_schema.foreign_tables ORDER BY 1",
    )
    .expect("a catalog query");
    assert_eq!(
        imported
            .iter()
            .map(|row| row[0].as_deref().expect("a name"))
            .collect::<Vec<_>>(),
        tables
    );
    for table in tables {
        let expected = Expected::read(&warehouse.join(namespace).join(table));
        if let Err(mismatch) = compare_table(&mut client, table, &expected) {
            panic!("{namespace}.{table}: {mismatch}");
        }
    }
}

fn attach_and_compare(path: &str) {
    let table = fixtures().join(path);
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", &table, "allow_moved_paths => true"))
        .expect("the table can be attached");
    if let Err(mismatch) = compare_table(&mut client, "tested", &Expected::read(&table)) {
        panic!("{path}: {mismatch}");
    }
}

#[test]
fn the_shop_is_imported_and_read_as_pyiceberg_and_spark_read_it() {
    import_and_compare("shop", &["customers", "orders", "products"]);
}

#[test]
fn telemetry_is_imported_and_read_as_pyiceberg_and_spark_read_it() {
    import_and_compare("telemetry", &["events", "stations"]);
}

#[test]
fn a_table_of_format_version_1_is_imported_and_read_as_spark_reads_it() {
    import_and_compare("legacy", &["price_list"]);
}

#[test]
fn every_primitive_type_of_version_1_is_read_as_pyiceberg_reads_it() {
    attach_and_compare("types/scalars_v1");
}

#[test]
fn every_primitive_type_of_version_2_is_read_as_pyiceberg_reads_it() {
    attach_and_compare("types/scalars_v2");
}

#[test]
fn lists_maps_and_structs_are_read_as_pyiceberg_reads_them() {
    attach_and_compare("types/nested");
}
