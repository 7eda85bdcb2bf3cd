//! Which state of a table a query sees while others commit: one for all scans of a statement, one for all of a
//! transaction under REPEATABLE READ, the newest for every other statement.

use std::path::Path;
use std::sync::Arc;

use arrow::array::Int32Array;
use iceberg_fdw_tests::database::{Database, foreign_table, text_value};
use iceberg_fdw_tests::synthetic::{Directory, Table, write_json};
use postgres::Client;

/// Commits version `number` of the table in `directory`: a snapshot whose one row is the number.
fn commit(directory: &Path, number: i32) {
    let array = Arc::new(Int32Array::from(vec![number]));
    let table = Table::new(directory)
        .snapshot_id(i64::from(number))
        .column(1, "marker", "int");
    let metadata = table
        .file(&format!("data/{number}.parquet"), vec![array])
        .write_snapshot();
    // Renamed, as a commit is: half a file must not be seen.
    let directory = directory.join("metadata");
    let written = directory.join(format!("being-written-{number}"));
    write_json(&written, &metadata);
    let name = directory.join(format!("v{number}.metadata.json"));
    std::fs::rename(written, name).expect("the file can be renamed");
}

fn table(directory: &Directory, database: &Database) -> Client {
    commit(directory.path(), 1);
    let mut client = database.with_server();
    client
        .batch_execute(&foreign_table(
            "tested",
            "marker int",
            directory.path(),
            &[],
        ))
        .expect("a table can be declared");
    client
}

fn value(client: &mut Client, query: &str) -> String {
    text_value(client, query)
        .unwrap_or_else(|error| panic!("{query}: {error:?}"))
        .unwrap_or_default()
}

/// What a statement sees whose scans are opened one after the other, with a commit in between.
fn seen_by_late_scans(client: &mut Client, directory: &Path) -> String {
    // Each row of the outer table selects anew, so the table is opened anew.
    client
        .batch_execute(
            "CREATE TABLE refs (number int PRIMARY KEY, ref text);
             INSERT INTO refs VALUES (1, 'main'), (2, 'nothing'), (3, 'main');
             ANALYZE refs;
             SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
             SET enable_seqscan = off;",
        )
        .expect("a table can be made");
    let rows = "SELECT number, (SELECT marker FROM tested WHERE iceberg.at_snapshot(tableoid, chosen)) FROM (
        SELECT number, CASE WHEN ref = 'main' THEN 1 ELSE 2 END AS chosen FROM refs ORDER BY number) AS refs";
    client
        .batch_execute(&format!("BEGIN; DECLARE rows CURSOR FOR {rows}"))
        .expect("a cursor can be declared");
    let fetch = |client: &mut Client| match client.query_one("FETCH rows", &[]) {
        Ok(row) => row
            .get::<_, Option<i32>>(1)
            .map(|marker| marker.to_string()),
        Err(error) => error
            .as_db_error()
            .map(|error| error.code().code().to_owned()),
    };
    let first = fetch(client);
    commit(directory, 2);
    // Snapshot 2 is not in the state that the statement sees.
    let second = fetch(client);
    client
        .batch_execute("ROLLBACK")
        .expect("the transaction can be ended");
    format!("{first:?} {second:?}")
}

#[test]
fn all_scans_of_a_statement_see_one_state() {
    let directory = Directory::new();
    let database = Database::new();
    let mut client = table(&directory, &database);
    assert_eq!(
        seen_by_late_scans(&mut client, directory.path()),
        r#"Some("1") Some("22023")"#
    );
    assert_eq!(value(&mut client, "SELECT marker FROM tested"), "2");
}

#[test]
fn under_read_committed_every_statement_sees_the_newest_state() {
    let directory = Directory::new();
    let database = Database::new();
    let mut client = table(&directory, &database);
    client
        .batch_execute("BEGIN; PREPARE marker AS SELECT marker FROM tested")
        .expect("a transaction can begin");
    assert_eq!(value(&mut client, "SELECT marker FROM tested"), "1");
    assert_eq!(value(&mut client, "EXECUTE marker"), "1");
    commit(directory.path(), 2);
    assert_eq!(value(&mut client, "SELECT marker FROM tested"), "2");
    assert_eq!(value(&mut client, "EXECUTE marker"), "2");
}

#[test]
fn under_repeatable_read_a_transaction_sees_one_state() {
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let directory = Directory::new();
        let database = Database::new();
        let mut client = table(&directory, &database);
        client
            .batch_execute("PREPARE marker AS SELECT marker FROM tested")
            .expect("a statement can be prepared");
        client
            .batch_execute(&format!("BEGIN ISOLATION LEVEL {level}"))
            .expect("a transaction can begin");
        assert_eq!(value(&mut client, "SELECT marker FROM tested"), "1");
        commit(directory.path(), 2);
        assert_eq!(
            value(&mut client, "SELECT marker FROM tested"),
            "1",
            "{level}"
        );
        assert_eq!(value(&mut client, "EXECUTE marker"), "1");
        assert_eq!(
            value(
                &mut client,
                "SELECT max(snapshot_id) FROM iceberg.snapshots('tested')"
            ),
            "1"
        );
        client
            .batch_execute("SAVEPOINT before")
            .expect("a savepoint can be made");
        client
            .batch_execute("SELECT 1 / 0")
            .expect_err("a division by zero");
        client
            .batch_execute("ROLLBACK TO before")
            .expect("the savepoint is there");
        assert_eq!(value(&mut client, "SELECT marker FROM tested"), "1");
        client.batch_execute("COMMIT").expect("it can be committed");
        assert_eq!(value(&mut client, "SELECT marker FROM tested"), "2");
        client
            .batch_execute(&format!(
                "BEGIN ISOLATION LEVEL {level}; SELECT marker FROM tested; ROLLBACK"
            ))
            .expect("a transaction can be rolled back");
        commit(directory.path(), 3);
        assert_eq!(value(&mut client, "SELECT marker FROM tested"), "3");
    }
}

#[test]
fn a_failed_transaction_keeps_no_state() {
    let directory = Directory::new();
    let database = Database::new();
    let mut client = table(&directory, &database);
    client
        .batch_execute(
            "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT marker FROM tested; SELECT 1 / 0",
        )
        .expect_err("a division by zero");
    client.batch_execute("ROLLBACK").expect("it can be ended");
    commit(directory.path(), 2);
    assert_eq!(
        value(&mut client, "SELECT marker / (marker - 1) FROM tested"),
        "2"
    );
    client
        .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        .expect("a transaction can begin");
    assert_eq!(value(&mut client, "SELECT marker FROM tested"), "2");
}

#[test]
fn a_function_sees_what_its_volatility_lets_it_see() {
    let directory = Directory::new();
    let database = Database::new();
    let mut client = table(&directory, &database);
    client
        .batch_execute(
            "CREATE FUNCTION twice(OUT first int, OUT second int) LANGUAGE plpgsql VOLATILE AS $$
             BEGIN
                 first := (SELECT marker FROM tested);
                 PERFORM pg_advisory_unlock(1);
                 PERFORM pg_advisory_lock(2);
                 second := (SELECT marker FROM tested);
             END $$;
             SELECT pg_advisory_lock(1)",
        )
        .expect("a function can be made");
    let mut other = database.connect();
    other
        .batch_execute("SELECT pg_advisory_lock(2)")
        .expect("a lock can be taken");
    let committing = std::thread::spawn({
        let path = directory.path().to_owned();
        move || {
            other
                .batch_execute("SELECT pg_advisory_lock(1)")
                .expect("the function has read once");
            commit(&path, 2);
            other
                .batch_execute("SELECT pg_advisory_unlock(2)")
                .expect("a lock can be given back");
        }
    });
    assert_eq!(value(&mut client, "SELECT twice()"), "(1,2)");
    committing.join().expect("the other session ends");
}
