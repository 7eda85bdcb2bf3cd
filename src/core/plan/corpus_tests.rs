//! Every snapshot of every table of the shared corpus is planned: as many rows as Iceberg Java
//! counts.

use std::fs;

use serde_json::Value;

use super::*;
use crate::catalog::{TableOptions, open_cached_table, open_table};
use crate::spec::corpus_tests::corpus;
use crate::spec::{PuffinFooter, ScanFilter, parse_deletion_vector};
use crate::storage::MetadataCache;

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
async fn reference_written_tables_are_planned() {
    let Some(corpus) = corpus() else { return };
    let corpus = fs::canonicalize(corpus).unwrap();
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
                Some(snapshot) => {
                    match plan_files(table.files(), metadata, snapshot, &ScanFilter::ALL).await {
                        Ok(plan) => {
                            assert_count(&plan, &expected["count"], &name);
                            // Files that were added where they were, outside of the table, are not
                            // in the corpus.
                            let own =
                                |task: &&FileScanTask| task.path.0.contains("/iceberg-corpus/");
                            for task in plan.tasks.iter().filter(own) {
                                let size = table.files().size(&task.path).await.unwrap();
                                assert_eq!(size, task.file_size, "{name}");
                            }
                            planned += 1;
                        }
                        Err(error) => panic!("{name}: {error}"),
                    }
                }
            }
            for expected in expected["snapshots"].as_array().unwrap() {
                let snapshot = metadata
                    .snapshot_by_id(expected["id"].as_i64().unwrap())
                    .unwrap();
                match plan_files(table.files(), metadata, snapshot, &ScanFilter::ALL).await {
                    Ok(plan) if expected["error"].is_null() => {
                        assert_count(&plan, &expected["count"], &name);
                        snapshots += 1;
                    }
                    Ok(_) => {}
                    Err(error) => panic!("{name}: {error}"),
                }
            }
        }
    }
    assert!(planned > 50, "only {planned} tables");
    assert!(snapshots > 100, "only {snapshots} snapshots");
}

/// Trap table, "DV bytes": where a deletion vector is by the manifest is where it is by the Puffin
/// footer, and both know how many positions it has.
#[tokio::test]
async fn deletion_vectors_are_where_their_puffin_footers_say() {
    let Some(corpus) = corpus() else { return };
    let corpus = fs::canonicalize(corpus).unwrap();
    let mut vectors = 0;
    for name in ["v3_dv", "v3_dv_large", "v3_dv_part"] {
        let directory = corpus.join("spark").join(name);
        let table = open_table(TableOptions {
            location: directory.to_str().unwrap().to_owned(),
            allow_moved_paths: true,
            ..TableOptions::default()
        })
        .await
        .unwrap();
        let snapshot = table.metadata().current_snapshot().unwrap();
        let plan = plan_files(table.files(), table.metadata(), snapshot, &ScanFilter::ALL).await;
        for task in plan.unwrap().tasks {
            let Some(vector) = &task.deletes.vector else {
                continue;
            };
            let file = table.files().read(&vector.path).await.unwrap();
            let footer = PuffinFooter::parse(&file, file.len() as u64).unwrap();
            let blob = footer
                .blobs
                .iter()
                .find(|blob| blob.properties["referenced-data-file"] == task.path.0)
                .unwrap();
            assert_eq!(blob.blob_type, "deletion-vector-v1");
            assert_eq!((blob.offset, blob.length), (vector.offset, vector.length));
            assert_eq!(blob.compression_codec, None);
            let cardinality: u64 = blob.properties["cardinality"].parse().unwrap();
            assert_eq!(vector.cardinality, Some(cardinality));
            let bytes = &file[blob.offset as usize..][..blob.length as usize];
            let positions = parse_deletion_vector(bytes, Some(cardinality)).unwrap();
            assert!(positions.max().unwrap() < task.record_count.unwrap());
            vectors += 1;
        }
    }
    assert!(vectors > 3, "only {vectors} deletion vectors");
}

/// A plan made from what is in memory is the plan, however much of it there is room for.
#[tokio::test(flavor = "multi_thread")]
async fn plans_from_memory_are_the_same_and_read_nothing() {
    let Some(corpus) = corpus() else { return };
    let corpus = fs::canonicalize(corpus).unwrap();
    let (large, small) = (MetadataCache::new(64 << 20), MetadataCache::new(32 << 10));
    let mut tables = 0;
    for writer in ["java", "spark"] {
        for directory in fs::read_dir(corpus.join(writer)).unwrap() {
            let directory = directory.unwrap().path();
            let options = TableOptions {
                location: directory.to_str().unwrap().to_owned(),
                allow_moved_paths: true,
                ..TableOptions::default()
            };
            let mut plans = Vec::new();
            for cache in [None, Some(&small), Some(&small), Some(&large), Some(&large)] {
                let cache = cache.cloned();
                let table = open_cached_table(options.clone(), cache).await.unwrap();
                let Some(snapshot) = table.metadata().current_snapshot() else {
                    break;
                };
                let files = table.files();
                let plan = plan_files(files, table.metadata(), snapshot, &ScanFilter::ALL).await;
                let plan = plan.map_err(|error| error.to_string());
                plans.push((plan, table.counters().bytes_read()));
            }
            let Some(((plan, _), others)) = plans.split_first() else {
                continue;
            };
            assert!(
                others.iter().all(|(other, _)| other == plan),
                "{directory:?}"
            );
            assert_eq!(others.last().unwrap().1, 0, "{directory:?}");
            assert!(small.size() <= 32 << 10);
            tables += 1;
        }
    }
    assert!(tables > 50, "only {tables} tables");
}
