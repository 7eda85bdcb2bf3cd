//! `pg_dump` of a database with the extension, a server, a user mapping and foreign tables, and its restore.

use std::process::{Command, Stdio};

use iceberg_fdw_tests::database::{Database, attach, config, quoted_path, text_rows};
use iceberg_fdw_tests::environment::{fixtures, pg_bin};
use postgres::config::Host;

/// A client program of the server's version, connected to a database.
fn program(name: &str, database: &str) -> Command {
    let config = config();
    let mut command = Command::new(pg_bin().join(name));
    match config.get_hosts().first() {
        Some(Host::Tcp(host)) => command.env("PGHOST", host),
        Some(Host::Unix(path)) => command.env("PGHOST", path),
        None => command.env("PGHOST", "localhost"),
    };
    if let Some(port) = config.get_ports().first() {
        command.env("PGPORT", port.to_string());
    }
    if let Some(user) = config.get_user() {
        command.env("PGUSER", user);
    }
    if let Some(password) = config.get_password() {
        command.env("PGPASSWORD", String::from_utf8_lossy(password).as_ref());
    }
    command.env("PGDATABASE", database);
    command
}

/// Options of everything that the dump must bring back, and rows read through it.
const CONTENTS: &[&str] = &[
    "SELECT srvname, ARRAY(SELECT unnest(srvoptions) ORDER BY 1) FROM pg_foreign_server ORDER BY 1",
    "SELECT srvname, usename, ARRAY(SELECT unnest(umoptions) ORDER BY 1) FROM pg_user_mappings ORDER BY 1",
    "SELECT relname, ARRAY(SELECT unnest(ftoptions) ORDER BY 1)
     FROM pg_foreign_table JOIN pg_class c ON c.oid = ftrelid ORDER BY 1",
    "SELECT relname, attname, format_type(atttypid, atttypmod), ARRAY(SELECT unnest(attfdwoptions) ORDER BY 1)
     FROM pg_attribute JOIN pg_foreign_table ON ftrelid = attrelid JOIN pg_class c ON c.oid = ftrelid WHERE attnum > 0 ORDER BY 1, attnum",
    "SELECT * FROM offered ORDER BY id",
    "SELECT id, name, uuid FROM stations ORDER BY id",
    "SELECT count(*), sum(amount) FROM orders",
];

#[test]
fn a_dump_restores_server_mapping_tables_and_views() {
    let (source, target) = (Database::new(), Database::empty("TEMPLATE template0"));
    let mut client = source.connect();
    let warehouse = fixtures().join("warehouse");
    client
        .batch_execute(&format!(
            "CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse {});
             CREATE USER MAPPING FOR CURRENT_USER SERVER lake OPTIONS (access_key_id 'key', secret_access_key 'it''s \"secret\"');
             IMPORT FOREIGN SCHEMA shop FROM SERVER lake INTO public OPTIONS (allow_moved_paths 'true');
             CREATE VIEW offered AS SELECT * FROM products WHERE NOT discontinued",
            quoted_path(&warehouse)
        ))
        .expect("objects can be made");
    client
        .batch_execute(&attach(
            "stations",
            warehouse.join("telemetry/stations"),
            "allow_moved_paths => true",
        ))
        .expect("the table can be attached");

    let dump = program("pg_dump", source.name())
        .output()
        .expect("pg_dump can be started");
    assert!(
        dump.status.success(),
        "{}",
        String::from_utf8_lossy(&dump.stderr)
    );
    let mut restore = program("psql", target.name());
    restore
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = restore.spawn().expect("psql can be started");
    std::io::Write::write_all(
        &mut running.stdin.take().expect("standard input is a pipe"),
        &dump.stdout,
    )
    .expect("psql reads the dump");
    let restored = running.wait_with_output().expect("psql ends");
    assert!(
        restored.status.success(),
        "{}",
        String::from_utf8_lossy(&restored.stderr)
    );

    let mut restored = target.connect();
    for query in CONTENTS {
        let rows = text_rows(&mut client, query).expect("the source can be read");
        assert!(
            !rows.is_empty(),
            "{query} finds nothing: nothing is compared"
        );
        assert_eq!(
            text_rows(&mut restored, query).expect("the restored database can be read"),
            rows,
            "{query}"
        );
    }
}

#[test]
fn a_custom_format_dump_is_restored_in_parallel() {
    let (source, target) = (Database::new(), Database::empty("TEMPLATE template0"));
    let mut client = source.with_server();
    client
        .batch_execute(&attach(
            "products",
            fixtures().join("warehouse/shop/products"),
            "allow_moved_paths => true",
        ))
        .expect("the table can be attached");
    let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    let dump = program("pg_dump", source.name())
        .args(["-Fc", "-f"])
        .arg(file.path())
        .output()
        .expect("pg_dump can be started");
    assert!(
        dump.status.success(),
        "{}",
        String::from_utf8_lossy(&dump.stderr)
    );
    let restore = program("pg_restore", target.name())
        .args(["--exit-on-error", "-j2", "-d", target.name()])
        .arg(file.path())
        .output()
        .expect("pg_restore can be started");
    assert!(
        restore.status.success(),
        "{}",
        String::from_utf8_lossy(&restore.stderr)
    );
    let count: i64 = target
        .connect()
        .query_one("SELECT count(title) FROM products", &[])
        .expect("the restored table can be read")
        .get(0);
    assert_eq!(count, 12);
}
