//! From a snapshot's manifest list through its manifests to its live data files.
//! Spec: "Scan Planning", "Snapshots".

use std::collections::HashSet;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use super::column_sizes::ColumnSizes;
use super::delete_index::{DeleteIndex, LiveDelete};
use super::manifests::{list_manifests, read_manifest};
use super::partition_fields::{partition_fields, partition_spec};
use super::pruning::{Judgement, Pruning};
use super::refuse::{self, Refusals};
use super::{FileScanTask, ScanPlan, TaskDeletes, TaskPartitionField};
use crate::error::{Error, Result};
use crate::spec::name_mapping::NAME_MAPPING_PROPERTY;
use crate::spec::{
    DataFile, Manifest, ManifestContent, ManifestEntry, ManifestFile, RowFilter, ScanFilter,
    Snapshot, TableMetadata, WantedStats,
};
use crate::storage::{RawPath, SharedFileReader};

/// How many manifests are read at a time.
const MANIFESTS_AT_ONCE: usize = 8;

/// Plans a scan of the rows of a snapshot that `filter` wants. Reads its manifest list and its manifests, never a
/// data file.
///
/// # Errors
/// `Corrupt` where a file breaks its format or lists a data file twice, `NotSupported` where the
/// snapshot has something that cannot be read yet; the message names the feature and a file.
pub async fn plan_files(
    files: &SharedFileReader,
    metadata: &Arc<TableMetadata>,
    snapshot: &Snapshot,
    filter: &ScanFilter,
) -> Result<ScanPlan> {
    refuse::encrypted_snapshot(metadata, snapshot)?;
    let manifests = list_manifests(files, snapshot).await?;
    let manifests_total = manifests.len();
    let pruning = Pruning::new(metadata, filter);
    let live: Vec<_> = manifests
        .iter()
        .filter(|manifest| manifest.may_have_live_files() && pruning.may_want(manifest))
        .cloned()
        .collect();
    refuse::encrypted_manifests(metadata, &live)?;
    let mut plan = ScanPlan {
        manifests_total,
        manifests_skipped: manifests_total - live.len(),
        records: Some(0),
        ..ScanPlan::default()
    };
    let name_mapping = metadata
        .properties
        .get(NAME_MAPPING_PROPERTY)
        .map(|mapping| Arc::<str>::from(mapping.as_str()));
    let mut planned = stream::iter(live)
        .map(|manifest| plan_manifest(files, metadata, name_mapping.as_ref(), &pruning, manifest))
        .buffered(MANIFESTS_AT_ONCE);
    let mut refusals = Refusals::default();
    let mut deletes = Vec::new();
    while let Some(live) = planned.try_next().await? {
        plan.tasks.extend(live.tasks);
        deletes.extend(live.deletes);
        refusals.merge(live.refusals);
        plan.column_sizes.merge(live.column_sizes);
        plan.data_files_total += live.total;
        plan.data_files_skipped_by_partition += live.skipped_by_partition;
        plan.data_files_skipped_by_metrics += live.skipped_by_metrics;
    }
    refusals.check(metadata)?;
    for task in &plan.tasks {
        plan.records = plan
            .records
            .zip(task.record_count)
            .and_then(|(sum, count)| sum.checked_add(count));
        plan.total_bytes = plan.total_bytes.saturating_add(task.file_size);
    }
    refuse_duplicates(&plan.tasks)?;
    let applied = DeleteIndex::new(metadata, deletes)?.apply(&mut plan.tasks)?;
    plan.delete_files_total = applied.files;
    plan.deleted_positions = applied.positions;
    Ok(plan)
}

/// The live files of a manifest.
#[derive(Debug, Default)]
struct LiveFiles {
    tasks: Vec<FileScanTask>,
    deletes: Vec<LiveDelete>,
    refusals: Refusals,
    column_sizes: ColumnSizes,
    /// How many data files there are.
    total: usize,
    skipped_by_partition: usize,
    skipped_by_metrics: usize,
}

async fn plan_manifest(
    files: &SharedFileReader,
    metadata: &Arc<TableMetadata>,
    name_mapping: Option<&Arc<str>>,
    pruning: &Pruning<'_>,
    listed: ManifestFile,
) -> Result<LiveFiles> {
    let manifest = read_manifest(files, metadata, listed).await?;
    refuse_shortened(&manifest)?;
    match manifest.listed().content {
        ManifestContent::Data => plan_data(metadata, name_mapping, pruning, &manifest),
        ManifestContent::Deletes => plan_deletes(&manifest),
    }
}

fn plan_data(
    metadata: &TableMetadata,
    name_mapping: Option<&Arc<str>>,
    pruning: &Pruning<'_>,
    manifest: &Manifest,
) -> Result<LiveFiles> {
    let mut live = LiveFiles {
        total: manifest.live_count(),
        ..LiveFiles::default()
    };
    let stats = WantedStats::of_columns(pruning.stats_field_ids());
    let pruning = pruning.of_spec(partition_spec(metadata, manifest).as_deref());
    let partition_fields = partition_fields(metadata, manifest);
    let mut in_partition = 0;
    for entry in manifest.live_entries(&stats, |partition| pruning.may_want(partition)) {
        let entry = entry?;
        in_partition += 1;
        match pruning.judge(&entry.data_file) {
            Judgement::SkippedByPartition => live.skipped_by_partition += 1,
            Judgement::SkippedByMetrics => live.skipped_by_metrics += 1,
            Judgement::Read(residual) => {
                if !live.refusals.note_live_file(&entry.data_file)? {
                    live.column_sizes.add(&entry.data_file);
                    live.tasks
                        .push(scan_task(entry, &partition_fields, name_mapping, residual));
                }
            }
        }
    }
    live.skipped_by_partition += live.total - in_partition;
    Ok(live)
}

fn plan_deletes(manifest: &Manifest) -> Result<LiveFiles> {
    let mut live = LiveFiles::default();
    for entry in manifest.live_entries(&WantedStats::All, |_| true) {
        let entry = entry?;
        if !live.refusals.note_live_file(&entry.data_file)? {
            live.deletes.push(LiveDelete::of(entry)?);
        }
    }
    Ok(live)
}

fn scan_task(
    entry: ManifestEntry,
    partition_fields: &Arc<[TaskPartitionField]>,
    name_mapping: Option<&Arc<str>>,
    residual: Arc<RowFilter>,
) -> FileScanTask {
    let DataFile {
        file_path,
        file_format,
        partition,
        record_count,
        file_size_in_bytes,
        split_offsets,
        sort_order_id,
        first_row_id,
        ..
    } = entry.data_file;
    FileScanTask {
        path: RawPath(file_path),
        format: file_format,
        file_size: file_size_in_bytes,
        record_count,
        partition,
        partition_fields: Arc::clone(partition_fields),
        sort_order_id,
        data_sequence_number: entry.sequence_number,
        first_row_id,
        split_offsets: split_offsets.unwrap_or_default(),
        name_mapping: name_mapping.cloned(),
        deletes: TaskDeletes::default(),
        residual,
    }
}

/// A manifest that lost its end between two Avro blocks still reads well: only the manifest list
/// can tell.
fn refuse_shortened(manifest: &Manifest) -> Result<()> {
    let (listed, length, entries) = (manifest.listed(), manifest.length(), manifest.entry_count());
    let counted = [
        listed.added_files_count,
        listed.existing_files_count,
        listed.deleted_files_count,
    ]
    .into_iter()
    .try_fold(0u64, |sum, count| sum.checked_add(count?));
    match (listed.manifest_length, counted) {
        (Some(said), Some(counted)) if length < said && entries < counted => Err(Error::corrupt(
            &listed.manifest_path,
            format!(
                "it has {length} bytes and {entries} entries, the manifest list says {said} and \
                 {counted}: its end is missing"
            ),
        )),
        _ => Ok(()),
    }
}

/// The spec leaves open what a data file means that is listed twice; its rows would be returned
/// twice.
fn refuse_duplicates(tasks: &[FileScanTask]) -> Result<()> {
    let mut seen = HashSet::with_capacity(tasks.len());
    match tasks.iter().find(|task| !seen.insert(&task.path)) {
        None => Ok(()),
        Some(task) => Err(Error::corrupt(
            &task.path,
            "the snapshot lists this data file more than once",
        )),
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
