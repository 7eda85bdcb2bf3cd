//! From a snapshot's manifest list through its manifests to its live data files.
//! Spec: "Scan Planning", "Snapshots".

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::TryStreamExt;

use super::column_bounds::ColumnBounds;
use super::column_sizes::ColumnSizes;
use super::delete_index::{DeleteIndex, LiveDelete};
use super::equality_group::KeyValues;
use super::manifests::{list_manifests, read_manifests};
use super::partition_fields::{partition_fields, partition_spec};
use super::pruning::{Judgement, Pruning, SpecPruning};
use super::refuse::{self, Refusals};
use super::{FileScanTask, ScanPlan, TaskDeletes, TaskPartitionField};
use crate::error::{Error, Result};
use crate::spec::name_mapping::NAME_MAPPING_PROPERTY;
use crate::spec::{
    DataFile, Manifest, ManifestContent, ManifestEntry, ManifestFile, ManifestPartition, RowFilter,
    ScanFilter, Snapshot, TableMetadata, WantedStats,
};
use crate::storage::{RawPath, SharedFileReader};

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
    metadata: &Arc<TableMetadata>,
    name_mapping: Option<&Arc<str>>,
    pruning: &Pruning<'_>,
    manifests: Vec<ManifestFile>,
) -> Result<LiveFiles> {
    let read = read_manifests(files, metadata, manifests).await?;
    let mut read = std::pin::pin!(read);
    let mut judged = JudgedPartitions::default();
    let mut all = LiveFiles::default();
    while let Some(manifest) = read.try_next().await? {
        refuse_shortened(&manifest)?;
        all.add(match manifest.listed().content {
            ManifestContent::Data => {
                plan_data(metadata, name_mapping, pruning, &mut judged, &manifest)?
            }
            ManifestContent::Deletes => plan_deletes(&manifest)?,
        });
    }
    Ok(all)
}

/// Which partitions may have wanted rows. The manifests of a table have the same partitions again and again.
#[derive(Default)]
struct JudgedPartitions {
    /// One of the manifests that the partitions are of.
    manifest: Option<Arc<Manifest>>,
    by_encoding: HashMap<Box<[u8]>, bool>,
}

impl JudgedPartitions {
    /// Goes on with the partitions of this manifest.
    fn turn_to(&mut self, manifest: &Arc<Manifest>) {
        let known = self.manifest.as_ref();
        if !known.is_some_and(|known| known.has_partitions_like(manifest)) {
            self.by_encoding.clear();
            self.manifest = Some(Arc::clone(manifest));
        }
    }

    fn may_want(&mut self, partition: &ManifestPartition<'_>, pruning: &SpecPruning<'_>) -> bool {
        if let Some(judged) = self.by_encoding.get(partition.encoded()) {
            return *judged;
        }
        let judged = partition
            .decode()
            .map_or(true, |partition| pruning.may_want(&partition));
        self.by_encoding.insert(partition.encoded().into(), judged);
        judged
    }
}

fn plan_data(
    metadata: &TableMetadata,
    name_mapping: Option<&Arc<str>>,
    pruning: &Pruning<'_>,
    judged: &mut JudgedPartitions,
    manifest: &Arc<Manifest>,
) -> Result<LiveFiles> {
    let mut live = LiveFiles {
        total: manifest.live_count(),
        ..LiveFiles::default()
    };
    let pruning_of_spec = pruning.of_spec(partition_spec(metadata, manifest).as_deref());
    judged.turn_to(manifest);
    let wanted = manifest.entries_of(|partition| judged.may_want(&partition, &pruning_of_spec));
    live.skipped_by_partition = live.total - wanted.len();
    if wanted.is_empty() {
        return Ok(live);
    }
    let stats = WantedStats::of_columns(pruning.stats_field_ids());
    let partition_fields = partition_fields(metadata, manifest);
    for entry in manifest.decode(&wanted, &stats) {
        let entry = entry?;
        match pruning_of_spec.judge(&entry.data_file) {
            Judgement::SkippedByPartition => live.skipped_by_partition += 1,
            Judgement::SkippedByMetrics => live.skipped_by_metrics += 1,
            Judgement::Read { residual, facts } => {
                if !live.refusals.note_live_file(&entry.data_file)? {
                    live.column_sizes.add(&entry.data_file);
                    pruning_of_spec.add_bounds(&entry.data_file, &facts, &mut live.column_bounds);
                    live.key_values
                        .push(pruning_of_spec.key_values(&entry.data_file));
                    live.tasks
                        .push(scan_task(entry, &partition_fields, name_mapping, residual));
                }
            }
        }
    }
    Ok(live)
}

fn plan_deletes(manifest: &Manifest) -> Result<LiveFiles> {
    let mut live = LiveFiles::default();
    for entry in manifest.live_entries(&WantedStats::All) {
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
        part: None,
        name_mapping: name_mapping.cloned(),
        deletes: TaskDeletes::default(),
        residual,
        change: None,
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
