//! Every table of the corpus of reference-written tables, all rows of its current snapshot and of every earlier one
//! against `expected.json`.
//! A table that needs what is not there yet must be refused with an error that names it; the list of those can only shrink.

use std::path::{Path, PathBuf};

use iceberg_fdw_tests::compare::{Mismatch, compare_table};
use iceberg_fdw_tests::database::{Database, attach, foreign_table, quoted, text_rows};
use iceberg_fdw_tests::environment;
use iceberg_fdw_tests::expected::{Expected, History};
use libtest_mimic::{Arguments, Failed, Trial};

/// Tables that only this product's present features are needed for.
const READABLE: &[&str] = &[
    "java/all_deleted",
    "java/all_types_v2_avro",
    "java/all_types_v2_orc",
    "java/all_types_v2_parquet",
    "java/deep_nested",
    "java/empty_v1",
    "java/empty_v2",
    "java/empty_v3",
    "java/eq_after_schema_evolution",
    "java/eq_basic",
    "java/eq_global_on_partitioned",
    "java/eq_nested_field",
    "java/eq_partitioned_cross",
    "java/eq_pos_mix",
    "java/eq_same_commit",
    "java/field_drop_readd",
    "java/gz_metadata",
    "java/multi_format",
    "java/odd_names",
    "java/part_values_odd",
    "java/pq_bloom",
    "java/pq_gzip",
    "java/pq_lz4raw",
    "java/pq_smallrg",
    "java/pq_snappy",
    "java/pq_uncompressed",
    "java/pq_zstd",
    "java/rollback_refs",
    "java/tr_bucket_bin",
    "java/tr_bucket_dt",
    "java/tr_bucket_fx",
    "java/tr_bucket_i",
    "java/tr_bucket_l",
    "java/tr_bucket_s",
    "java/tr_bucket_ts",
    "java/tr_bucket_tz",
    "java/tr_day_dt",
    "java/tr_day_ts",
    "java/tr_day_tz",
    "java/tr_hour_ts",
    "java/tr_identity_b",
    "java/tr_identity_d",
    "java/tr_identity_dec",
    "java/tr_identity_dt",
    "java/tr_identity_i",
    "java/tr_identity_l",
    "java/tr_identity_s",
    "java/tr_identity_ts",
    "java/tr_identity_tz",
    "java/tr_identity_u",
    "java/tr_month_ts",
    "java/tr_month_tz",
    "java/tr_truncate_bin",
    "java/tr_truncate_i",
    "java/tr_truncate_l",
    "java/tr_truncate_s",
    "java/tr_void_i",
    "java/tr_year_dt",
    "java/tr_year_ts",
    "java/v3_default_eq_delete",
    "java/v3_defaults",
    "java/v3_timestamp_ns",
    "java/v3_unknown",
    "java/v3_variant",
    "spark/dyn_overwrite",
    "spark/expired_compacted",
    "spark/fmt_avro",
    "spark/many_snapshots",
    "spark/req_cols",
    "spark/schema_evolution",
    "spark/sorted",
    "spark/time_travel",
    "spark/unicode",
    "spark/v1_part",
    "spark/v1_plain",
    "spark/v1_to_v2",
    "spark/v2_all_pos_deleted",
    "spark/v2_pos_deletes",
    "spark/v2_ts",
    "spark/v3_dv",
    "spark/v3_dv_large",
    "spark/v3_dv_part",
    "spark/v3_lineage_cow",
];

/// A table that is refused: the SQLSTATE, and a word that the error must say.
struct Refused {
    table: &'static str,
    state: &'static str,
    feature: &'static str,
}

/// Tables that cannot be read as they lie in the corpus.
const EXPECTED_FAILURES: &[Refused] = &[
    // Five of its files lie outside the table, where nobody allowed to read, and are not in the corpus.
    Refused {
        table: "spark/add_files",
        state: "42501",
        feature: "corpus_ext",
    },
];

fn read(location: &Path, more: &str, expected: &Expected) -> Result<(), Mismatch> {
    let database = Database::new();
    let mut client = database.with_server();
    client.batch_execute(&attach("tested", location, more))?;
    compare_table(&mut client, "tested", expected)
}

fn check(table: &str, corpus: &Path, location: &Path, more: &str) -> Result<(), Failed> {
    let expected = Expected::read(&corpus.join(table));
    let outcome = read(location, more, &expected);
    let Some(refused) = EXPECTED_FAILURES
        .iter()
        .find(|refused| refused.table == table)
    else {
        return outcome.map_err(|mismatch| mismatch.to_string().into());
    };
    match outcome {
        Ok(()) => Err("passes now: take it off the list of expected failures".into()),
        Err(Mismatch::Rows(text)) => Err(format!(
            "must be refused for want of {}, but rows came: {text}",
            refused.feature
        )
        .into()),
        Err(mismatch @ Mismatch::Server(_)) => check_refusal(refused, &mismatch),
    }
}

/// Whether an error is the expected one.
fn check_refusal(refused: &Refused, mismatch: &Mismatch) -> Result<(), Failed> {
    let text = mismatch.to_string();
    let says = text.starts_with(&format!("{}:", refused.state))
        && text
            .to_lowercase()
            .contains(&refused.feature.to_lowercase());
    if says {
        Ok(())
    } else {
        Err(format!(
            "expected {} naming {:?}, got {text}",
            refused.state, refused.feature
        )
        .into())
    }
}

/// Attaches one state of a table and compares it.
fn compare_state(
    client: &mut postgres::Client,
    location: &Path,
    selector: &str,
    expected: &Expected,
) -> Result<(), Mismatch> {
    let more = format!("allow_moved_paths => true, {selector}");
    client.batch_execute("DROP FOREIGN TABLE IF EXISTS tested")?;
    client.batch_execute(&attach("tested", location, &more))?;
    compare_table(client, "tested", expected)
}

/// A foreign table made of a table's first snapshot follows it to the current one.
fn check_refresh(
    client: &mut postgres::Client,
    location: &Path,
    first: i64,
) -> Result<(), Mismatch> {
    let more = format!("allow_moved_paths => true, at_snapshot => {first}");
    client.batch_execute("DROP FOREIGN TABLE IF EXISTS tested")?;
    client.batch_execute(&attach("tested", location, &more))?;
    client.batch_execute("ALTER FOREIGN TABLE tested OPTIONS (DROP snapshot_id)")?;
    client.batch_execute("SELECT * FROM iceberg.refresh('tested', drop_columns => true)")?;
    compare_table(client, "tested", &Expected::read(location))?;
    match client
        .query("SELECT * FROM iceberg.refresh('tested')", &[])?
        .len()
    {
        0 => Ok(()),
        more => Err(Mismatch::Rows(format!(
            "a second refresh makes {more} changes"
        ))),
    }
}

/// Every snapshot by its id, everything that was ever current by its time, and every branch and tag by its name. A snapshot of
/// a table that is refused as a whole may be read nevertheless, or must be refused for the same reason.
fn check_history(table: &str, location: &Path) -> Result<(), Failed> {
    let history = History::read(location);
    let database = Database::new();
    let mut client = database.with_server();
    let refused = EXPECTED_FAILURES
        .iter()
        .find(|refused| refused.table == table);
    let mut states = Vec::new();
    for snapshot in &history.snapshots {
        match &snapshot.content {
            Ok(expected) => states.push((format!("at_snapshot => {}", snapshot.id), expected)),
            Err(error) => {
                return Err(format!("snapshot {} is not readable: {error}", snapshot.id).into());
            }
        }
    }
    for (timestamp_ms, id) in &history.log {
        // An expired snapshot is not read, and one at the very time of a later one was never seen.
        let last = history.log.iter().rfind(|(other, _)| other == timestamp_ms);
        if let (Some(expected), true) = (history.snapshot(*id), last == Some(&(*timestamp_ms, *id)))
        {
            states.push((
                format!("at_timestamp => to_timestamp({timestamp_ms} / 1000.0)"),
                expected,
            ));
        }
    }
    for (selector, expected) in states {
        let outcome = compare_state(&mut client, location, &selector, expected);
        let outcome = match (outcome, refused) {
            (Err(mismatch @ Mismatch::Server(_)), Some(refused)) => {
                check_refusal(refused, &mismatch)
            }
            (outcome, _) => outcome.map_err(|mismatch| mismatch.to_string().into()),
        };
        outcome.map_err(|failed| {
            Failed::from(format!(
                "{selector}: {}",
                failed.message().unwrap_or_default()
            ))
        })?;
    }
    if refused.is_some() {
        return Ok(());
    }
    if let Some(first) = history.snapshots.first() {
        check_refresh(&mut client, location, first.id)
            .map_err(|mismatch| format!("refreshed: {mismatch}"))?;
    }
    for reference in &history.references {
        let Some(expected) = history.snapshot(reference.snapshot) else {
            return Err(format!("\"{}\" is no readable snapshot", reference.name).into());
        };
        let more = format!(
            "allow_moved_paths => true, at_ref => {}",
            quoted(&reference.name)
        );
        let count = client
            .batch_execute("DROP FOREIGN TABLE IF EXISTS tested")
            .and_then(|()| client.batch_execute(&attach("tested", location, &more)))
            .and_then(|()| client.query_one("SELECT count(*) FROM tested", &[]))
            .map_err(|error| Mismatch::from(error).to_string())?
            .get::<_, i64>(0);
        if count != expected.count as i64 {
            return Err(format!(
                "at_ref \"{}\": {count} rows, expected {}",
                reference.name, expected.count
            )
            .into());
        }
    }
    Ok(())
}

/// Spark changed rows 2 and 4, deleted row 3 and added row 6, each time writing files anew: ids and numbers stay with
/// the rows. Spec: "Row Lineage".
fn check_lineage(corpus: &Path) -> Result<(), Failed> {
    let database = Database::new();
    let mut client = database.with_server();
    let options = [("allow_moved_paths", "true")];
    client.batch_execute(&foreign_table(
        "tested",
        "id int, row_id int8 OPTIONS (metadata_column '_row_id'), \
         changed int8 OPTIONS (metadata_column '_last_updated_sequence_number')",
        corpus.join("spark/v3_lineage_cow"),
        &options,
    ))?;
    let rows = text_rows(
        &mut client,
        "SELECT id, row_id, changed FROM tested ORDER BY id",
    )?;
    let expected = [[1, 0, 1], [2, 1, 2], [4, 3, 2], [5, 4, 1], [6, 14, 4]]
        .map(|row| row.map(|value| Some(value.to_string())).to_vec());
    if rows == expected {
        Ok(())
    } else {
        Err(format!("{rows:?}").into())
    }
}

/// Rows of files of every format count from 0 in each file, however the file is decoded.
fn check_positions(corpus: &Path) -> Result<(), Failed> {
    for table in [
        "java/all_types_v2_parquet",
        "java/all_types_v2_orc",
        "java/all_types_v2_avro",
        "java/multi_format",
    ] {
        let database = Database::new();
        let mut client = database.with_server();
        let options = [("allow_moved_paths", "true")];
        client.batch_execute(&foreign_table(
            "tested",
            "file text OPTIONS (metadata_column '_file'), pos int8 OPTIONS (metadata_column '_pos')",
            corpus.join(table),
            &options,
        ))?;
        let rows = Expected::read(&corpus.join(table)).count;
        let counted = text_rows(
            &mut client,
            "SELECT sum(rows), bool_and(rows = positions AND first = 0 AND last = rows - 1) FROM (
                 SELECT count(*) AS rows, count(DISTINCT pos) AS positions, min(pos) AS first, max(pos) AS last
                 FROM tested GROUP BY file) AS files",
        )?;
        let expected = [vec![Some(rows.to_string()), Some("t".to_owned())]];
        if counted != expected {
            return Err(format!("{table}: {counted:?}").into());
        }
    }
    Ok(())
}

/// The tables that this file names and those that lie in the corpus.
fn tables(corpus: &Result<PathBuf, String>) -> Vec<String> {
    let mut tables: Vec<String> = READABLE.iter().map(|table| (*table).to_owned()).collect();
    tables.extend(
        EXPECTED_FAILURES
            .iter()
            .map(|refused| refused.table.to_owned()),
    );
    for writer in ["java", "spark"] {
        let entries = corpus
            .as_ref()
            .ok()
            .and_then(|corpus| std::fs::read_dir(corpus.join(writer)).ok());
        for entry in entries.into_iter().flatten().flatten() {
            tables.push(format!("{writer}/{}", entry.file_name().to_string_lossy()));
        }
    }
    tables.sort();
    tables.dedup();
    tables
}

fn trial(
    name: String,
    corpus: Result<PathBuf, String>,
    run: impl FnOnce(&Path) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    match corpus {
        Ok(corpus) => Trial::test(name, move || run(&corpus)),
        Err(reason) => Trial::test(name, || Ok(()))
            .with_kind(reason)
            .with_ignored_flag(true),
    }
}

fn main() {
    let corpus = environment::corpus();
    let mut trials = Vec::new();
    for table in tables(&corpus) {
        let moved = table.clone();
        trials.push(trial(
            format!("moved/{table}"),
            corpus.clone(),
            move |corpus| {
                check(
                    &moved,
                    corpus,
                    &corpus.join(&moved),
                    "allow_moved_paths => true",
                )
            },
        ));
        let every_snapshot = table.clone();
        trials.push(trial(
            format!("snapshots/{table}"),
            corpus.clone(),
            move |corpus| check_history(&every_snapshot, &corpus.join(&every_snapshot)),
        ));
        trials.push(trial(
            format!("in_place/{table}"),
            environment::corpus_in_place(),
            move |in_place| check(&table, in_place, &in_place.join(&table), ""),
        ));
    }
    trials.push(trial(
        "lineage/spark/v3_lineage_cow".to_owned(),
        corpus.clone(),
        check_lineage,
    ));
    trials.push(trial("positions".to_owned(), corpus, check_positions));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
