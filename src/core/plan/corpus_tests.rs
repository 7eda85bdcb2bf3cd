//! Every snapshot of every table of the shared corpus is planned: as many rows as Iceberg Java
//! counts, or refused for a feature that the table has.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::*;
use crate::catalog::{TableOptions, open_table};
use crate::error::ErrorKind;
use crate::spec::corpus_tests::corpus;

/// What the current snapshots of tables are refused for; all others must be planned. Found by
/// reading the corpus' manifests with another Avro library.
const REFUSED: &[(&str, &[&str])] = &[
    ("all_types_v2_avro", &["Avro data files"]),
    ("all_types_v2_orc", &["ORC data files"]),
    ("fmt_avro", &["Avro data files", "Avro delete files"]),
    ("multi_format", &["Avro data files", "ORC data files"]),
];

/// The features that tables can be refused for.
const FEATURES: &[&str] = &["Avro data files", "Avro delete files", "ORC data files"];

fn features_of(error: &crate::Error, table: &str) -> Vec<&'static str> {
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{table}: {error}");
    assert!(error.message().contains(table), "{table}: {error}");
    let features: Vec<_> = FEATURES
        .iter()
        .copied()
        .filter(|feature| error.message().contains(feature))
        .collect();
    assert!(!features.is_empty(), "{table}: {error}");
    features
}

/// Where rows are deleted one by one, their number is known only for deletion vectors.
fn assert_count(plan: &ScanPlan, expected: &Value, table: &str) {
    let only_vectors = plan
        .tasks
        .iter()
        .all(|task| task.deletes.positions.is_empty() && task.deletes.equality.is_empty());
    if only_vectors {
        assert_eq!(plan.remaining_records(), expected.as_u64(), "{table}");
    } else {
        assert!(plan.records >= expected.as_u64(), "{table}");
    }
}

#[tokio::test]
async fn reference_written_tables_are_planned_or_refused_by_name() {
    let Some(corpus) = corpus() else { return };
    let corpus = fs::canonicalize(corpus).unwrap();
    let mut refused = BTreeMap::new();
    let (mut planned, mut snapshots) = (0, 0);
    for writer in ["java", "spark"] {
        for directory in fs::read_dir(corpus.join(writer)).unwrap() {
            let directory = directory.unwrap().path();
            let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
            let table = open_table(TableOptions {
                location: directory.to_str().unwrap().to_owned(),
                allow_moved_paths: true,
                ..TableOptions::default()
            })
            .await
            .unwrap();
            let expected = fs::read(directory.join("expected.json")).unwrap();
            let expected: Value = serde_json::from_slice(&expected).unwrap();
            let metadata = table.metadata();
            match metadata.current_snapshot() {
                None => assert_eq!(expected["count"], 0, "{name}"),
                Some(snapshot) => match plan_files(table.files(), metadata, snapshot).await {
                    Ok(plan) => {
                        assert_count(&plan, &expected["count"], &name);
                        // Files that were added where they were, outside of the table, are not
                        // in the corpus.
                        let own = |task: &&FileScanTask| task.path.0.contains("/iceberg-corpus/");
                        for task in plan.tasks.iter().filter(own) {
                            let size = table.files().size(&task.path).await.unwrap();
                            assert_eq!(size, task.file_size, "{name}");
                        }
                        planned += 1;
                    }
                    Err(error) => {
                        refused.insert(name.clone(), features_of(&error, &name));
                    }
                },
            }
            for expected in expected["snapshots"].as_array().unwrap() {
                let snapshot = metadata
                    .snapshot_by_id(expected["id"].as_i64().unwrap())
                    .unwrap();
                match plan_files(table.files(), metadata, snapshot).await {
                    Ok(plan) if expected["error"].is_null() => {
                        assert_count(&plan, &expected["count"], &name);
                        snapshots += 1;
                    }
                    Ok(_) => {}
                    Err(error) => {
                        features_of(&error, &name);
                    }
                }
            }
        }
    }
    let expected: BTreeMap<_, _> = REFUSED
        .iter()
        .map(|(name, features)| ((*name).to_owned(), features.to_vec()))
        .collect();
    assert_eq!(refused, expected);
    assert!(planned > 50, "only {planned} tables");
    assert!(snapshots > 100, "only {snapshots} snapshots");
}
