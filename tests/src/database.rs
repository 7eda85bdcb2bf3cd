//! A database of its own for every test, with the extension and a server in it.
//! Tests of one program run side by side; none sees what another made.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use postgres::{Client, Config, NoTls, SimpleQueryMessage};

use crate::environment;

static NEXT: AtomicU32 = AtomicU32::new(1);

/// A fresh database, dropped at the end of the test.
pub struct Database {
    name: String,
    notices: Arc<Mutex<Vec<String>>>,
}

impl Database {
    /// A database in the cluster's default encoding with the extension in it.
    pub fn new() -> Database {
        let database = Database::empty("");
        database
            .connect()
            .batch_execute("CREATE EXTENSION iceberg_fdw")
            .expect("the extension can be created");
        database
    }

    /// A database without the extension; `options` follow `CREATE DATABASE name`.
    pub fn empty(options: &str) -> Database {
        let name = format!(
            "iceberg_test_{}_{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        administrator()
            .batch_execute(&format!("CREATE DATABASE {name} {options}"))
            .expect("a database can be created");
        Database {
            name,
            notices: Arc::default(),
        }
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A new connection as the superuser, with settings that make output the same everywhere.
    pub fn connect(&self) -> Client {
        self.connect_with(|_| ())
    }

    /// A new connection, with changes to its configuration, such as the user.
    ///
    /// Without just-in-time compilation: it takes long, and serves no interrupts meanwhile.
    pub fn connect_with(&self, change: impl FnOnce(&mut Config)) -> Client {
        let mut config = config();
        config.dbname(&self.name);
        let notices = self.notices.clone();
        config.notice_callback(move |notice| {
            let mut notices = notices
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            notices.push(format!(
                "{}: {} {}",
                notice.severity(),
                notice.message(),
                notice.detail().unwrap_or("")
            ));
        });
        change(&mut config);
        let mut client = config
            .connect(NoTls)
            .expect("the test cluster accepts connections");
        client
            .batch_execute("SET jit = off; SET client_min_messages = warning; SET extra_float_digits = 1; SET bytea_output = hex; SET datestyle = 'ISO, MDY'")
            .expect("settings can be set");
        client
    }

    /// A connection, and the server `lake` in the database. Warehouses are given as options of tables.
    pub fn with_server(&self) -> Client {
        let mut client = self.connect();
        client
            .batch_execute("CREATE SERVER IF NOT EXISTS lake FOREIGN DATA WRAPPER iceberg_fdw")
            .expect("a server can be created");
        client
    }

    /// The warnings and notices since the last call.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(
            &mut *self
                .notices
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner()),
        )
    }
}

impl Default for Database {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let dropped = administrator().batch_execute(&format!(
            "DROP DATABASE IF EXISTS {} WITH (FORCE)",
            self.name
        ));
        if let Err(error) = dropped
            && !std::thread::panicking()
        {
            panic!("the test's database cannot be dropped: {error}");
        }
    }
}

/// The configuration of the test cluster.
pub fn config() -> Config {
    environment::dsn()
        .parse()
        .expect("the connection string is valid")
}

/// A connection to the database that the environment names.
pub fn administrator() -> Client {
    config()
        .connect(NoTls)
        .expect("the test cluster accepts connections")
}

/// A string literal.
pub fn quoted(text: impl AsRef<str>) -> String {
    format!("'{}'", text.as_ref().replace('\'', "''"))
}

/// A quoted identifier.
pub fn identifier(name: impl AsRef<str>) -> String {
    format!("\"{}\"", name.as_ref().replace('"', "\"\""))
}

/// The literal of a path.
pub fn quoted_path(path: impl AsRef<Path>) -> String {
    quoted(path.as_ref().to_str().expect("test paths are UTF-8"))
}

/// The call of `iceberg.attach` that makes the foreign table `name` on the server `lake`; `more` are named arguments.
pub fn attach(name: &str, location: impl AsRef<Path>, more: &str) -> String {
    let more = if more.is_empty() {
        String::new()
    } else {
        format!(", {more}")
    };
    format!(
        "SELECT iceberg.attach({}, 'lake', {}{more})",
        quoted(name),
        quoted_path(location)
    )
}

/// The statement that declares the foreign table `name` over a location on the server `lake`, with further options.
pub fn foreign_table(
    name: &str,
    columns: &str,
    location: impl AsRef<Path>,
    options: &[(&str, &str)],
) -> String {
    let more: String = options
        .iter()
        .map(|(option, value)| format!(", {option} {}", quoted(value)))
        .collect();
    format!(
        "CREATE FOREIGN TABLE {name} ({columns}) SERVER lake OPTIONS (location {}{more})",
        quoted_path(location)
    )
}

/// The rows of a query, each a line of its values; a failure of the query fails the test.
pub fn lines(client: &mut Client, query: &str) -> Vec<String> {
    text_rows(client, query)
        .unwrap_or_else(|error| panic!("{query}: {error}"))
        .into_iter()
        .map(|row| {
            let values: Vec<String> = row
                .into_iter()
                .map(|value| value.unwrap_or_else(|| "NULL".into()))
                .collect();
            values.join(" ")
        })
        .collect()
}

/// The rows of a query as text, NULL as None.
pub fn text_rows(
    client: &mut Client,
    query: &str,
) -> Result<Vec<Vec<Option<String>>>, postgres::Error> {
    let mut rows = Vec::new();
    for message in client.simple_query(query)? {
        if let SimpleQueryMessage::Row(row) = message {
            rows.push(
                (0..row.len())
                    .map(|at| row.get(at).map(str::to_owned))
                    .collect(),
            );
        }
    }
    Ok(rows)
}

/// The only value of a query's only row, as text.
pub fn text_value(client: &mut Client, query: &str) -> Result<Option<String>, postgres::Error> {
    let mut rows = text_rows(client, query)?;
    assert!(
        rows.len() == 1 && rows[0].len() == 1,
        "one value was expected, not {rows:?}"
    );
    Ok(rows.remove(0).remove(0))
}
