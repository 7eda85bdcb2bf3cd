//! The functions about a table's metadata against PyIceberg's inspect tables, column by column; and who may call them.
//! `tests/fixtures/inspect` holds what PyIceberg says; `tests/fixtures/make/inspect_tables.py` made it.

use std::path::{Path, PathBuf};

use iceberg_fdw_tests::database::{Database, attach, foreign_table, quoted, text_value};
use iceberg_fdw_tests::environment;
use iceberg_fdw_tests::failure::expect;
use iceberg_fdw_tests::instant::parse_timestamp;
use libtest_mimic::{Arguments, Failed, Trial};
use postgres::Client;
use serde_json::Value as Json;

/// Sample tables of this repository.
const FIXTURES: &[&str] = &[
    "legacy.price_list",
    "shop.orders",
    "shop.products",
    "telemetry.events",
];
/// Tables of the corpus.
const CORPUS: &[&str] = &[
    "java.eq_basic",
    "java.eq_pos_mix",
    "java.part_values_odd",
    "java.rollback_refs",
    "spark.expired_compacted",
    "spark.schema_evolution",
    "spark.time_travel",
    "spark.v2_pos_deletes",
    "spark.v3_dv",
    "spark.v3_dv_part",
];

fn json(client: &mut Client, query: &str) -> Json {
    let text = text_value(client, query)
        .unwrap_or_else(|error| panic!("{query}: {error:?}"))
        .expect("a value");
    serde_json::from_str(&text).expect("the value is JSON")
}

/// Of a map by column, what PyIceberg knows by name: it names columns of the current schema only, and nested ones
/// not everywhere.
fn named(actual: &Json, wanted: &Json) -> (Json, Json) {
    let (Json::Object(actual), Json::Object(wanted)) = (actual, wanted) else {
        return (actual.clone(), wanted.clone());
    };
    let is_name = |name: &String| name.parse::<i64>().is_err();
    let keep = |values: &serde_json::Map<String, Json>| -> Json {
        wanted
            .keys()
            .filter(|name| is_name(name))
            .map(|name| {
                let value = values.get(name).cloned();
                (name.clone(), value.unwrap_or(Json::Null))
            })
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    (keep(actual), keep(wanted))
}

/// Both sides' way of writing a value made the same.
fn comparable(column: &str, value: &Json) -> Json {
    match (column, value) {
        // PyIceberg's are milliseconds, ours are instants.
        (
            "committed_at" | "made_current_at" | "timestamp" | "last_updated_at",
            Json::String(text),
        ) => {
            let (nanoseconds, _) = parse_timestamp(text).expect("an instant");
            Json::from(i64::try_from(nanoseconds / 1_000_000).expect("a time of this age"))
        }
        // The last entry is the file that was opened, which was moved.
        ("file", Json::String(text)) => Json::from(text.rsplit('/').next().unwrap_or(text)),
        // A map of texts comes as pairs.
        ("summary", Json::Array(pairs)) => pairs
            .iter()
            .map(|pair| (pair[0].as_str().expect("a key").to_owned(), pair[1].clone()))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        // PyIceberg writes the values for a person: only what it says of nulls is compared.
        ("partition_summaries", Json::Array(fields)) => fields
            .iter()
            .map(|field| {
                Json::from(vec![
                    field["contains_null"].clone(),
                    field["contains_nan"].clone(),
                ])
            })
            .collect::<Vec<_>>()
            .into(),
        ("partition_summaries", Json::Null) => Json::Array(Vec::new()),
        (_, Json::Object(values)) => {
            // A number in a map may be whole on one side only.
            values
                .iter()
                .map(|(name, value)| (name.clone(), comparable("", value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        (_, Json::Number(number)) => number
            .as_f64()
            .filter(|_| number.is_f64())
            .map_or_else(|| value.clone(), Json::from),
        (_, value) => value.clone(),
    }
}

fn compare(table: &str, location: &Path) -> Result<(), Failed> {
    let path = environment::fixtures().join(format!("inspect/{table}.json"));
    let text =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let expected: Json = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("tested", location, "allow_moved_paths => true"))
        .map_err(|error| format!("{error:?}"))?;
    for (view, rows) in expected.as_object().ok_or("views by name")? {
        let actual = json(
            &mut client,
            &format!(
                "SELECT coalesce(jsonb_agg(to_jsonb(r)), '[]') FROM iceberg.{view}('tested') r"
            ),
        );
        let columns: Vec<&String> = match rows.get(0) {
            Some(first) => first
                .as_object()
                .ok_or("rows are objects")?
                .keys()
                .collect(),
            None => Vec::new(),
        };
        let shown = |row: &Json| -> Vec<(String, Json)> {
            columns
                .iter()
                .map(|column| {
                    (
                        (*column).clone(),
                        comparable(
                            column,
                            row.get(column.as_str())
                                .unwrap_or(&Json::from("no such column")),
                        ),
                    )
                })
                .collect()
        };
        let list = |rows: &Json| -> Vec<Vec<(String, Json)>> {
            let mut rows: Vec<_> = rows.as_array().into_iter().flatten().map(shown).collect();
            rows.sort_by_cached_key(|row| format!("{row:?}"));
            rows
        };
        let (actual, wanted) = (list(&actual), list(rows));
        if actual.len() != wanted.len() {
            return Err(format!("{view}: {} rows, expected {}", actual.len(), wanted.len()).into());
        }
        for (actual, wanted) in actual.iter().zip(&wanted) {
            for ((column, actual_value), (_, wanted_value)) in actual.iter().zip(wanted) {
                let (actual_value, wanted_value) = match column.as_str() {
                    "column_sizes" | "value_counts" | "null_value_counts" | "nan_value_counts"
                    | "lower_bounds" | "upper_bounds" => named(actual_value, wanted_value),
                    _ => (actual_value.clone(), wanted_value.clone()),
                };
                if actual_value != wanted_value {
                    return Err(format!(
                        "{view}.{column}: {actual_value}, expected {wanted_value}"
                    )
                    .into());
                }
            }
        }
    }
    Ok(())
}

fn orders(database: &Database) -> Client {
    let mut client = database.with_server();
    let location = environment::fixtures().join("warehouse/shop/orders");
    client
        .batch_execute(&attach("orders", location, "allow_moved_paths => true"))
        .expect("the table can be attached");
    client
}

fn views_of_one_snapshot_follow_arguments_settings_and_options() {
    let database = Database::new();
    let mut client = orders(&database);
    let rows = |client: &mut Client, call: &str| {
        text_value(
            client,
            &format!("SELECT sum(record_count) FROM iceberg.{call}"),
        )
        .expect("the function runs")
        .expect("a sum")
    };
    for (call, count) in [
        ("files('orders')", "20000"),
        ("files('orders', 5275607771289023108)", "5032"),
        ("data_files('orders', at_ref => '2025-q2')", "9855"),
        (
            "partitions('orders', at_timestamp => '2025-07-01 13:00+00')",
            "9855",
        ),
    ] {
        assert_eq!(rows(&mut client, call), count, "{call}");
    }
    client
        .batch_execute("SET iceberg_fdw.ref = '2025-q1'")
        .expect("the setting can be set");
    assert_eq!(rows(&mut client, "files('orders')"), "5032");
    assert_eq!(
        rows(&mut client, "files('orders', at_ref => 'main')"),
        "20000"
    );
    // What there is is shown even where a setting names what there is not.
    client
        .batch_execute("SET iceberg_fdw.ref = 'nobody'")
        .expect("the setting can be set");
    assert_eq!(
        text_value(&mut client, "SELECT count(*) FROM iceberg.refs('orders')").expect("rows"),
        Some("5".into())
    );
    expect(
        client.batch_execute("SELECT * FROM iceberg.files('orders')"),
        &["22023"],
        &["nobody"],
    );
    expect(
        client.batch_execute("SELECT * FROM iceberg.files('orders', 1, at_ref => 'main')"),
        &["42601"],
        &["at_snapshot", "at_ref"],
    );
}

fn all_entries_are_those_of_all_files_and_deleted_ones() {
    let database = Database::new();
    let mut client = orders(&database);
    for (view, path) in [
        ("all_entries", "data_file->>'file_path'"),
        ("all_files", "file_path"),
    ] {
        let live = match view {
            "all_entries" => "WHERE status <> 2",
            _ => "",
        };
        client
            .batch_execute(&format!(
                "CREATE TABLE of_{view} AS SELECT {path} AS path FROM iceberg.{view}('orders') {live}"
            ))
            .expect("the function runs");
    }
    for (one, other) in [
        ("of_all_entries", "of_all_files"),
        ("of_all_files", "of_all_entries"),
    ] {
        let query =
            format!("SELECT count(*) FROM (TABLE {one} EXCEPT ALL TABLE {other}) AS differing");
        assert_eq!(
            text_value(&mut client, &query).expect("a count"),
            Some("0".into())
        );
    }
    // December was overwritten: the files of before are still in manifests of older snapshots.
    let query =
        "SELECT count(*) > (SELECT count(*) FROM iceberg.files('orders')) FROM of_all_files";
    assert_eq!(
        text_value(&mut client, query).expect("a value"),
        Some("t".into())
    );
}

fn the_snapshot_of_a_time_is_that_of_the_log() {
    let database = Database::new();
    let mut client = orders(&database);
    for (time, id) in [
        ("2025-04-01 06:00+00", "5275607771289023108"),
        ("2025-07-01 05:59:59.999+00", "5275607771289023108"),
        ("infinity", "2150588453165938082"),
    ] {
        let query = format!("SELECT iceberg.snapshot_at('orders', {})", quoted(time));
        assert_eq!(
            text_value(&mut client, &query).expect("a value"),
            Some(id.into()),
            "{time}"
        );
    }
    expect(
        client.batch_execute("SELECT iceberg.snapshot_at('orders', '2025-04-01 05:59:59.999+00')"),
        &["22023"],
        &["2025-04-01T06:00:00.000Z"],
    );
}

fn the_metadata_is_the_file() {
    let database = Database::new();
    let mut client = orders(&database);
    let mut shown = json(&mut client, "SELECT iceberg.metadata('orders')");
    let path = environment::fixtures().join(
        "warehouse/shop/orders/metadata/00010-9c471564-d277-44ea-b082-15df3c101b7f.metadata.json",
    );
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let mut file: Json = serde_json::from_str(&text).expect("the file is JSON");
    for key in [
        "schemas",
        "partition-specs",
        "snapshots",
        "snapshot-log",
        "refs",
        "location",
        "table-uuid",
    ] {
        assert_eq!(shown[key].take(), file[key].take(), "{key}");
    }
}

fn only_readers_of_an_iceberg_table_may_look_inside() {
    let database = Database::new();
    let mut client = orders(&database);
    let role = format!("{}_reader", database.name());
    client
        .batch_execute(&format!(
            "CREATE ROLE {role}; GRANT pg_read_server_files TO {role}; SET ROLE {role}"
        ))
        .expect("a role can be made");
    expect(
        client.batch_execute("SELECT * FROM iceberg.snapshots('orders')"),
        &["42501"],
        &["orders"],
    );
    client
        .batch_execute(&format!(
            "RESET ROLE; GRANT SELECT ON orders TO {role}; SET ROLE {role}"
        ))
        .expect("a right can be granted");
    client
        .batch_execute("SELECT * FROM iceberg.snapshots('orders')")
        .expect("a reader may look");
    // Local files are for those who may read them.
    client
        .batch_execute(&format!(
            "RESET ROLE; REVOKE pg_read_server_files FROM {role}; SET ROLE {role}"
        ))
        .expect("a right can be taken");
    expect(
        client.batch_execute("SELECT * FROM iceberg.snapshots('orders')"),
        &["42501"],
        &["pg_read_server_files"],
    );
    client
        .batch_execute(&format!(
            "RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}"
        ))
        .expect("the role can be dropped");
    for (call, state) in [
        ("snapshots('pg_class')", "42809"),
        ("snapshots(NULL)", "22004"),
        ("snapshots(0)", "42809"),
        (
            "metadata_rows('orders', 'nothing', NULL, NULL, NULL)",
            "22023",
        ),
    ] {
        expect(
            client.batch_execute(&format!("SELECT * FROM iceberg.{call}")),
            &[state],
            &[],
        );
    }
    client
        .batch_execute(&foreign_table("missing", "id bigint", "/nowhere", &[]))
        .expect("a table can be declared");
    expect(
        client.batch_execute("SELECT * FROM iceberg.files('missing')"),
        &["HV00R"],
        &["/nowhere"],
    );
}

fn corpus_table(corpus: &Path, table: &str) -> PathBuf {
    corpus.join(table.replacen('.', "/", 1))
}

fn main() {
    let mut trials = Vec::new();
    for table in FIXTURES {
        trials.push(Trial::test(format!("fixtures/{table}"), move || {
            let warehouse = environment::fixtures().join("warehouse");
            compare(table, &corpus_table(&warehouse, table))
        }));
    }
    for table in CORPUS {
        let name = format!("corpus/{table}");
        trials.push(match environment::corpus() {
            Ok(corpus) => Trial::test(name, move || compare(table, &corpus_table(&corpus, table))),
            Err(reason) => Trial::test(name, || Ok(()))
                .with_kind(reason)
                .with_ignored_flag(true),
        });
    }
    let more: [(&str, fn()); 5] = [
        (
            "all_entries_are_those_of_all_files_and_deleted_ones",
            all_entries_are_those_of_all_files_and_deleted_ones,
        ),
        (
            "views_of_one_snapshot_follow_arguments_settings_and_options",
            views_of_one_snapshot_follow_arguments_settings_and_options,
        ),
        (
            "the_snapshot_of_a_time_is_that_of_the_log",
            the_snapshot_of_a_time_is_that_of_the_log,
        ),
        ("the_metadata_is_the_file", the_metadata_is_the_file),
        (
            "only_readers_of_an_iceberg_table_may_look_inside",
            only_readers_of_an_iceberg_table_may_look_inside,
        ),
    ];
    for (name, test) in more {
        trials.push(Trial::test(name, move || {
            test();
            Ok(())
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
