//! `iceberg.changes_between`: what came and went between two snapshots, against the states themselves, which Postgres
//! compares with EXCEPT ALL, for every snapshot of reference-written tables.

use std::path::{Path, PathBuf};

use iceberg_fdw_tests::database::{Database, attach, lines, text_value};
use iceberg_fdw_tests::environment;
use iceberg_fdw_tests::failure::expect;
use libtest_mimic::{Arguments, Failed, Trial};
use postgres::Client;

/// Tables of the corpus, and whether each of their changes must be a row that is in one state only. It need not where
/// files are rewritten whose rows have no ids.
const CORPUS: &[(&str, bool)] = &[
    ("java/all_deleted", true),
    ("java/eq_after_schema_evolution", true),
    ("java/eq_basic", true),
    ("java/eq_global_on_partitioned", true),
    ("java/eq_partitioned_cross", true),
    ("java/eq_pos_mix", true),
    ("java/rollback_refs", true),
    ("spark/dyn_overwrite", false),
    ("spark/many_snapshots", true),
    ("spark/schema_evolution", false),
    ("spark/time_travel", false),
    ("spark/v1_to_v2", false),
    ("spark/v2_all_pos_deleted", true),
    ("spark/v2_pos_deletes", true),
    ("spark/v3_dv", true),
    ("spark/v3_dv_large", true),
    ("spark/v3_dv_part", true),
    ("spark/v3_lineage_cow", true),
];

/// Tables of this repository.
const FIXTURES: &[(&str, bool)] = &[("shop/orders", false), ("legacy/price_list", false)];

/// A test of the corpus.
type CorpusTest = Box<dyn FnOnce(PathBuf) -> Result<(), Failed> + Send>;

/// Columns that tell of changes.
const METADATA_COLUMNS: &str = "
    ALTER FOREIGN TABLE tested ADD _change_type text OPTIONS (metadata_column '_change_type'),
        ADD _change_ordinal int OPTIONS (metadata_column '_change_ordinal'),
        ADD _commit_snapshot_id bigint OPTIONS (metadata_column '_commit_snapshot_id')";

fn open(client: &mut Client, location: &Path) {
    client
        .batch_execute(&attach("tested", location, "allow_moved_paths => true"))
        .expect("the table can be attached");
    client
        .batch_execute(METADATA_COLUMNS)
        .expect("metadata columns can be declared");
}

fn value(client: &mut Client, query: &str) -> String {
    text_value(client, query)
        .unwrap_or_else(|error| panic!("{query}: {error:?}"))
        .unwrap_or_default()
}

/// The table's own columns as one value.
fn row(client: &mut Client) -> String {
    let columns = value(
        client,
        "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
         WHERE attrelid = 'tested'::regclass AND attnum > 0 AND attname NOT LIKE '\\_change\\_%'
           AND attname <> '_commit_snapshot_id'",
    );
    format!("ROW({columns})::text")
}

/// The current snapshot's ancestors that are still there, oldest first, each with its parent if that is.
fn ancestors(client: &mut Client) -> Vec<(String, Option<String>)> {
    lines(
        client,
        "WITH RECURSIVE ancestors AS (
             SELECT snapshot_id, parent_id, 0 AS age FROM iceberg.snapshots('tested')
             WHERE snapshot_id = (SELECT snapshot_id FROM iceberg.refs('tested') WHERE name = 'main')
             UNION ALL
             SELECT parent.snapshot_id, parent.parent_id, age + 1
             FROM ancestors JOIN iceberg.snapshots('tested') AS parent
               ON parent.snapshot_id = ancestors.parent_id)
         SELECT snapshot_id || ' ' || coalesce(parent_id::text, '') FROM ancestors ORDER BY age DESC",
    )
    .into_iter()
    .map(|line| {
        let (id, parent) = line.split_once(' ').expect("two ids");
        (id.to_owned(), Some(parent.to_owned()).filter(|parent| !parent.is_empty()))
    })
    .collect()
}

/// The rows that came and those that went, kept in tables, and those of both states.
fn keep(client: &mut Client, row: &str, from: Option<&str>, to: &str) {
    let first = from.unwrap_or("NULL");
    let before = match from {
        Some(from) => format!("iceberg.at_snapshot(tableoid, {from})"),
        None => "false".to_owned(),
    };
    client
        .batch_execute(&format!(
            "DROP TABLE IF EXISTS came, went, before, after;
             CREATE TABLE came AS SELECT {row} AS line, _change_type FROM tested
                 WHERE iceberg.changes_between(tableoid, {first}, {to})
                   AND _change_type IN ('insert', 'update_postimage');
             CREATE TABLE went AS SELECT {row} AS line, _change_type FROM tested
                 WHERE iceberg.changes_between(tableoid, {first}, {to})
                   AND _change_type IN ('delete', 'update_preimage');
             CREATE TABLE before AS SELECT {row} AS line FROM tested WHERE {before};
             CREATE TABLE after AS SELECT {row} AS line FROM tested
                 WHERE iceberg.at_snapshot(tableoid, {to})"
        ))
        .unwrap_or_else(|error| panic!("changes from {first} to {to}: {error:?}"));
}

/// How many rows are in one of two multisets only.
fn differing(client: &mut Client, one: &str, other: &str) -> String {
    value(
        client,
        &format!(
            "WITH one AS ({one}), other AS ({other})
             SELECT count(*) FROM ((TABLE one EXCEPT ALL TABLE other) UNION ALL
                                   (TABLE other EXCEPT ALL TABLE one)) AS differing"
        ),
    )
}

fn check_states(location: &Path, exact: bool) -> Result<(), Failed> {
    let database = Database::new();
    let mut client = database.with_server();
    open(&mut client, location);
    let row = row(&mut client);
    let ancestors = ancestors(&mut client);
    let mut pairs: Vec<(Option<&str>, &str, bool)> = ancestors
        .iter()
        .enumerate()
        .filter(|(index, (_, parent))| *index > 0 || parent.is_none())
        .map(|(_, (id, parent))| (parent.as_deref(), id.as_str(), exact))
        .collect();
    if let (Some((first, _)), Some((last, _))) = (ancestors.first(), ancestors.last()) {
        // A row may come and go again on the way.
        pairs.push((Some(first), last, false));
    }
    // States of different schemas may show one row differently.
    pairs.retain(|(from, to, _)| {
        let from = from.unwrap_or(to);
        let schemas = format!(
            "SELECT count(DISTINCT schema_id) FROM iceberg.snapshots('tested') WHERE snapshot_id IN ({from}, {to})"
        );
        value(&mut client, &schemas) != "2"
    });
    if pairs.is_empty() {
        return Err("the table has no changes to look at".into());
    }
    for (from, to, exact) in pairs {
        keep(&mut client, &row, from, to);
        let unexplained = differing(
            &mut client,
            "TABLE before UNION ALL SELECT line FROM came",
            "TABLE after UNION ALL SELECT line FROM went",
        );
        if unexplained != "0" {
            return Err(format!("{from:?} to {to}: {unexplained} rows are not explained").into());
        }
        if exact {
            for (changes, one, other) in [("came", "after", "before"), ("went", "before", "after")]
            {
                let wrong = differing(
                    &mut client,
                    &format!("SELECT line FROM {changes}"),
                    &format!("TABLE {one} EXCEPT ALL TABLE {other}"),
                );
                if wrong != "0" {
                    return Err(
                        format!("{from:?} to {to}: {wrong} rows that {changes} differ").into(),
                    );
                }
            }
        }
    }
    Ok(())
}

fn orders(database: &Database) -> Client {
    let mut client = database.with_server();
    let location = environment::fixtures().join("warehouse/shop/orders");
    open(&mut client, &location);
    client
}

fn each_change_names_its_snapshot_in_order() {
    let database = Database::new();
    let mut client = orders(&database);
    let ids = ancestors(&mut client);
    let found = lines(
        &mut client,
        "SELECT DISTINCT _change_ordinal || ' ' || _commit_snapshot_id FROM tested
         WHERE iceberg.changes_between(tableoid, NULL) ORDER BY 1",
    );
    let mut expected: Vec<String> = ids
        .iter()
        .enumerate()
        .map(|(ordinal, (id, _))| format!("{ordinal} {id}"))
        .collect();
    expected.sort();
    assert_eq!(found, expected);
    // What a state holds has not changed.
    assert_eq!(
        value(
            &mut client,
            "SELECT count(*) FROM tested WHERE _change_type IS NOT NULL OR _change_ordinal IS NOT NULL
             OR _commit_snapshot_id IS NOT NULL"
        ),
        "0"
    );
}

fn quals_and_parameters_apply_to_changes() {
    let database = Database::new();
    let mut client = orders(&database);
    let ids = ancestors(&mut client);
    let (from, to) = (&ids[1].0, &ids[3].0);
    client
        .batch_execute(
            "SET plan_cache_mode = force_generic_plan;
             PREPARE changed AS SELECT count(*) FROM tested
             WHERE iceberg.changes_between(tableoid, $1, $2) AND ordered_at >= '2025-05-01'",
        )
        .expect("a statement can be prepared");
    let with_qual = value(&mut client, &format!("EXECUTE changed({from}, {to})"));
    let by_hand = value(
        &mut client,
        &format!(
            "WITH changes AS MATERIALIZED (SELECT * FROM tested
                 WHERE iceberg.changes_between(tableoid, {from}, {to}))
             SELECT count(*) FROM changes WHERE ordered_at >= '2025-05-01'"
        ),
    );
    assert_eq!(with_qual, by_hand);
    assert_ne!(with_qual, "0");
    let plan = lines(
        &mut client,
        &format!(
            "EXPLAIN SELECT * FROM tested WHERE iceberg.changes_between(tableoid, {from}, {to})"
        ),
    );
    let shown = format!("qual iceberg.changes_between {from} to {to}");
    assert!(plan.iter().any(|line| line.contains(&shown)), "{plan:?}");
    // Nothing changed from a snapshot to itself.
    let none =
        format!("SELECT count(*) FROM tested WHERE iceberg.changes_between(tableoid, {to}, {to})");
    assert_eq!(value(&mut client, &none), "0");
}

fn ends_that_cannot_be_are_named() {
    let database = Database::new();
    let mut client = orders(&database);
    let ids = ancestors(&mut client);
    let (early, late) = (&ids[0].0, &ids[2].0);
    let mut refused = |arguments: &str, states: &[&str], words: &[&str]| {
        expect(
            client.batch_execute(&format!(
                "SELECT * FROM tested WHERE iceberg.changes_between(tableoid, {arguments})"
            )),
            states,
            words,
        );
    };
    refused("7, NULL", &["22023"], &["7", "does not descend", late]);
    refused("NULL, 7", &["22023"], &["no snapshot 7"]);
    refused(
        &format!("{late}, {early}"),
        &["22023"],
        &[late, early, "does not descend"],
    );
    expect(
        client.batch_execute(
            "SELECT * FROM tested WHERE NOT iceberg.changes_between(tableoid, NULL)",
        ),
        &["0A000"],
        &["changes_between"],
    );
    expect(
        client.batch_execute(
            "SELECT * FROM tested WHERE iceberg.changes_between(tableoid, NULL)
             AND iceberg.at_ref(tableoid, 'main')",
        ),
        &["42601"],
        &["changes_between", "at_ref"],
    );
}

/// Rows that were rewritten with others, and keep their ids, did not change; those that were updated have two images.
fn rows_with_ids_have_both_images(corpus: &Path) {
    let database = Database::new();
    let mut client = database.with_server();
    open(&mut client, &corpus.join("spark/v3_lineage_cow"));
    client
        .batch_execute(
            "ALTER FOREIGN TABLE tested ADD row_id bigint OPTIONS (metadata_column '_row_id');
             CREATE TABLE changes AS SELECT * FROM tested WHERE iceberg.changes_between(tableoid, NULL)",
        )
        .expect("changes can be kept");
    let count = |client: &mut Client, kind: &str| {
        value(
            client,
            &format!("SELECT count(*) FROM changes WHERE _change_type = '{kind}'"),
        )
    };
    let images = count(&mut client, "update_preimage");
    assert_ne!(images, "0");
    assert_eq!(count(&mut client, "update_postimage"), images);
    let pairs = "SELECT count(*) FROM changes AS pre JOIN changes AS post USING (row_id, _commit_snapshot_id)
        WHERE pre._change_type = 'update_preimage' AND post._change_type = 'update_postimage'";
    assert_eq!(value(&mut client, pairs), images);
}

fn a_compaction_changes_nothing(corpus: &Path) {
    let database = Database::new();
    let mut client = database.with_server();
    open(&mut client, &corpus.join("spark/expired_compacted"));
    let replaced = lines(
        &mut client,
        "SELECT snapshot_id || ' ' || parent_id FROM iceberg.snapshots('tested') WHERE operation = 'replace'",
    );
    let kept = lines(
        &mut client,
        "SELECT snapshot_id FROM iceberg.snapshots('tested')",
    );
    for line in replaced {
        let (id, parent) = line.split_once(' ').expect("two ids");
        if kept.iter().any(|kept| kept == parent) {
            let query = format!(
                "SELECT count(*) FROM tested WHERE iceberg.changes_between(tableoid, {parent}, {id})"
            );
            assert_eq!(value(&mut client, &query), "0");
        }
    }
    // What its first snapshot changed is not known any more.
    expect(
        client.batch_execute("SELECT * FROM tested WHERE iceberg.changes_between(tableoid, NULL)"),
        &["22023"],
        &["has expired"],
    );
}

fn main() {
    let mut trials = Vec::new();
    for (table, exact) in FIXTURES {
        trials.push(Trial::test(format!("fixtures/{table}"), move || {
            check_states(
                &environment::fixtures().join("warehouse").join(table),
                *exact,
            )
        }));
    }
    let corpus = environment::corpus();
    let mut of_corpus = |name: String, test: CorpusTest| {
        trials.push(match corpus.clone() {
            Ok(corpus) => Trial::test(name, move || test(corpus)),
            Err(reason) => Trial::test(name, || Ok(()))
                .with_kind(reason)
                .with_ignored_flag(true),
        });
    };
    for (table, exact) in CORPUS {
        of_corpus(
            format!("corpus/{table}"),
            Box::new(move |corpus| check_states(&corpus.join(table), *exact)),
        );
    }
    of_corpus(
        "rows_with_ids_have_both_images".to_owned(),
        Box::new(|corpus| {
            rows_with_ids_have_both_images(&corpus);
            Ok(())
        }),
    );
    of_corpus(
        "a_compaction_changes_nothing".to_owned(),
        Box::new(|corpus| {
            a_compaction_changes_nothing(&corpus);
            Ok(())
        }),
    );
    let more: [(&str, fn()); 3] = [
        (
            "each_change_names_its_snapshot_in_order",
            each_change_names_its_snapshot_in_order,
        ),
        (
            "quals_and_parameters_apply_to_changes",
            quals_and_parameters_apply_to_changes,
        ),
        (
            "ends_that_cannot_be_are_named",
            ends_that_cannot_be_are_named,
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
