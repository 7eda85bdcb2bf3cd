//! From a snapshot's manifest list through its manifests to its live data files.
//! Spec: "Scan Planning", "Snapshots".

use std::collections::HashSet;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use super::column_bounds::ColumnBounds;
use super::column_sizes::ColumnSizes;
use super::delete_index::{DeleteIndex, LiveDelete};
use super::equality_group::KeyValues;
use super::partition_fields::{partition_fields, partition_spec};
use super::pruning::{Judgement, Pruning};
use super::refuse::{self, Refusals};
use super::{FileScanTask, ScanPlan, TaskDeletes, TaskPartitionField};
use crate::error::{Error, Result};
use crate::spec::name_mapping::NAME_MAPPING_PROPERTY;
use crate::spec::{
    DataContent, DataFile, ManifestContent, ManifestEntry, ManifestFile, ManifestReader, RowFilter,
    ScanFilter, Snapshot, SnapshotManifests, TableMetadata, read_manifest_list,
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
    metadata: &TableMetadata,
    snapshot: &Snapshot,
    filter: &ScanFilter,
) -> Result<ScanPlan> {
    refuse::encrypted_snapshot(metadata, snapshot)?;
    let manifests = list_manifests(files, snapshot).await?;
    let manifests_total = manifests.len();
    let pruning = Pruning::new(metadata, filter);
    let live: Vec<_> = manifests
        .into_iter()
        .filter(|manifest| manifest.may_have_live_files() && pruning.may_want(manifest))
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
    let (deletes, data): (Vec<_>, Vec<_>) = live
        .into_iter()
        .partition(|manifest| manifest.content == ManifestContent::Deletes);
    // Which statistics of data files tell of deletes is known from these.
    let deletes = plan_manifests(files, metadata, None, &pruning, deletes).await?;
    deletes.refusals.check(metadata)?;
    let deletes = DeleteIndex::new(metadata, deletes.deletes)?;
    let pruning = pruning.with_keys(deletes.key_columns());
    let live = plan_manifests(files, metadata, name_mapping.as_ref(), &pruning, data).await?;
    live.refusals.check(metadata)?;
    plan.tasks = live.tasks;
    plan.column_sizes = live.column_sizes;
    plan.column_bounds = live.column_bounds;
    plan.data_files_total = live.total;
    plan.data_files_skipped_by_partition = live.skipped_by_partition;
    plan.data_files_skipped_by_metrics = live.skipped_by_metrics;
    for task in &plan.tasks {
        plan.records = plan
            .records
            .zip(task.record_count)
            .and_then(|(sum, count)| sum.checked_add(count));
        plan.total_bytes = plan.total_bytes.saturating_add(task.file_size);
    }
    refuse_duplicates(&plan.tasks)?;
    let applied = deletes.apply(&mut plan.tasks, &live.key_values)?;
    plan.delete_files_total = applied.files;
    plan.deleted_positions = applied.positions;
    Ok(plan)
}

/// The manifests of a snapshot.
pub(crate) async fn list_manifests(
    files: &SharedFileReader,
    snapshot: &Snapshot,
) -> Result<Vec<ManifestFile>> {
    match &snapshot.manifests {
        SnapshotManifests::List(path) => {
            let content = files.read(&RawPath(path.clone())).await?;
            read_manifest_list(path, content)
        }
        SnapshotManifests::Inline(paths) => Ok(paths
            .iter()
            .map(|path| ManifestFile::inline(path, snapshot.snapshot_id))
            .collect()),
    }
}

/// The live files of manifests.
#[derive(Debug, Default)]
struct LiveFiles {
    tasks: Vec<FileScanTask>,
    /// What the files of the tasks may have in the columns that equality deletes compare.
    key_values: Vec<KeyValues>,
    deletes: Vec<LiveDelete>,
    refusals: Refusals,
    column_sizes: ColumnSizes,
    column_bounds: ColumnBounds,
    /// How many data files there are.
    total: usize,
    skipped_by_partition: usize,
    skipped_by_metrics: usize,
}

impl LiveFiles {
    fn add(&mut self, more: Self) {
        self.tasks.extend(more.tasks);
        self.key_values.extend(more.key_values);
        self.deletes.extend(more.deletes);
        self.refusals.merge(more.refusals);
        self.column_sizes.merge(more.column_sizes);
        self.column_bounds.merge(more.column_bounds);
        self.total += more.total;
        self.skipped_by_partition += more.skipped_by_partition;
        self.skipped_by_metrics += more.skipped_by_metrics;
    }
}

/// The live files of several manifests, in their order.
async fn plan_manifests(
    files: &SharedFileReader,
    metadata: &TableMetadata,
    name_mapping: Option<&Arc<str>>,
    pruning: &Pruning<'_>,
    manifests: Vec<ManifestFile>,
) -> Result<LiveFiles> {
    let mut planned = stream::iter(manifests)
        .map(|manifest| plan_manifest(files, metadata, name_mapping, pruning, manifest))
        .buffered(MANIFESTS_AT_ONCE);
    let mut all = LiveFiles::default();
    while let Some(live) = planned.try_next().await? {
        all.add(live);
    }
    Ok(all)
}

async fn plan_manifest(
    files: &SharedFileReader,
    metadata: &TableMetadata,
    name_mapping: Option<&Arc<str>>,
    pruning: &Pruning<'_>,
    manifest: ManifestFile,
) -> Result<LiveFiles> {
    let content = files.read(&RawPath(manifest.manifest_path.clone())).await?;
    let length = content.len() as u64;
    let mut entries = 0;
    let mut live = LiveFiles::default();
    let partition_type = |spec_id| metadata.partition_type(spec_id);
    let mut entries_in_order = ManifestReader::open(&manifest, content, partition_type)?;
    if manifest.content == ManifestContent::Data {
        entries_in_order = entries_in_order.with_stats_of(pruning.stats_field_ids());
    }
    let pruning = pruning.of_spec(partition_spec(metadata, &entries_in_order).as_deref());
    let partition_fields = partition_fields(metadata, &entries_in_order);
    for entry in entries_in_order {
        let entry = entry?;
        entries += 1;
        if !entry.is_live() {
            continue;
        }
        if entry.data_file.content != DataContent::Data {
            if !live.refusals.note_live_file(&entry.data_file)? {
                live.deletes.push(LiveDelete::of(entry)?);
            }
            continue;
        }
        live.total += 1;
        match pruning.judge(&entry.data_file) {
            Judgement::SkippedByPartition => live.skipped_by_partition += 1,
            Judgement::SkippedByMetrics => live.skipped_by_metrics += 1,
            Judgement::Read { residual, facts } => {
                if !live.refusals.note_live_file(&entry.data_file)? {
                    live.column_sizes.add(&entry.data_file);
                    pruning.add_bounds(&entry.data_file, &facts, &mut live.column_bounds);
                    live.key_values.push(pruning.key_values(&entry.data_file));
                    live.tasks
                        .push(scan_task(entry, &partition_fields, name_mapping, residual));
                }
            }
        }
    }
    refuse_shortened(&manifest, length, entries)?;
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
        part: None,
        name_mapping: name_mapping.cloned(),
        deletes: TaskDeletes::default(),
        residual,
        change: None,
    }
}

/// A manifest that lost its end between two Avro blocks still reads well: only the manifest list
/// can tell.
fn refuse_shortened(manifest: &ManifestFile, length: u64, entries: u64) -> Result<()> {
    let counted = [
        manifest.added_files_count,
        manifest.existing_files_count,
        manifest.deleted_files_count,
    ]
    .into_iter()
    .try_fold(0u64, |sum, count| sum.checked_add(count?));
    match (manifest.manifest_length, counted) {
        (Some(listed), Some(counted)) if length < listed && entries < counted => {
            Err(Error::corrupt(
                &manifest.manifest_path,
                format!(
                    "it has {length} bytes and {entries} entries, the manifest list says {listed} \
                     and {counted}: its end is missing"
                ),
            ))
        }
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
