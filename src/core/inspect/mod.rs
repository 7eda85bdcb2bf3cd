//! What a table's metadata says, as rows for a person: one view for each kind of thing, values by name.
//! Spec: "Table Metadata Fields", "Manifest Lists", "Manifests"; names of columns as other engines have them.

mod file_rows;
mod metadata_rows;
mod partition_rows;
mod position_rows;

use std::pin::pin;
use std::sync::Arc;

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use serde_json::{Map, Value};

use self::file_rows::ColumnNames;
use self::partition_rows::Partitions;
use crate::catalog::Table;
use crate::error::Result;
use crate::plan::list_manifests;
use crate::spec::{DataContent, ManifestEntry, ManifestFile, SelectedSnapshot, TableMetadata};

/// A row: values by the name of the column. What is not known is null or absent.
pub type Row = Map<String, Value>;

/// What to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The snapshots that are kept.
    Snapshots,
    /// Which snapshot was current from when on.
    History,
    /// Branches and tags.
    References,
    /// Metadata files, the current one last.
    MetadataLog,
    /// Schemas.
    Schemas,
    /// Partition specs.
    PartitionSpecs,
    /// Sort orders.
    SortOrders,
    /// Properties.
    Properties,
    /// Files of statistics.
    Statistics,
    /// The metadata as one value.
    Metadata,
    /// The manifests of a snapshot.
    Manifests,
    /// Every entry of a snapshot's manifests.
    Entries,
    /// The live data and delete files of a snapshot.
    Files,
    /// The live data files of a snapshot.
    DataFiles,
    /// The live delete files of a snapshot.
    DeleteFiles,
    /// The partitions of a snapshot.
    Partitions,
    /// The rows of a snapshot's position delete files and deletion vectors.
    PositionDeletes,
    /// The manifests of every snapshot, each as often as it is listed.
    AllManifests,
    /// Every entry of the manifests of all snapshots, of each manifest once.
    AllEntries,
    /// The files that are live in the manifests of all snapshots, of each manifest once.
    AllFiles,
}

impl View {
    const ALL: [(&'static str, Self); 20] = [
        ("snapshots", Self::Snapshots),
        ("history", Self::History),
        ("refs", Self::References),
        ("metadata_log", Self::MetadataLog),
        ("schemas", Self::Schemas),
        ("partition_specs", Self::PartitionSpecs),
        ("sort_orders", Self::SortOrders),
        ("properties", Self::Properties),
        ("statistics", Self::Statistics),
        ("metadata", Self::Metadata),
        ("manifests", Self::Manifests),
        ("entries", Self::Entries),
        ("files", Self::Files),
        ("data_files", Self::DataFiles),
        ("delete_files", Self::DeleteFiles),
        ("partitions", Self::Partitions),
        ("position_deletes", Self::PositionDeletes),
        ("all_manifests", Self::AllManifests),
        ("all_entries", Self::AllEntries),
        ("all_files", Self::AllFiles),
    ];

    /// Whether it shows one snapshot, and not the table as a whole.
    pub fn is_of_a_snapshot(self) -> bool {
        matches!(
            self,
            Self::Manifests
                | Self::Entries
                | Self::Files
                | Self::DataFiles
                | Self::DeleteFiles
                | Self::Partitions
                | Self::PositionDeletes
        )
    }

    /// The view of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        let (_, view) = Self::ALL.iter().find(|(known, _)| *known == name)?;
        Some(*view)
    }
}

/// Rows as they are read.
pub type Rows = BoxStream<'static, Result<Row>>;

/// The rows of a view of a table; those of manifests and files are of the selected state.
///
/// # Errors
/// Those of reading manifest lists, manifests and delete files, which end the stream. Bounds that cannot be read
/// are shown as the bytes they are.
pub async fn rows(table: &Table, selected: &SelectedSnapshot, view: View) -> Result<Rows> {
    let metadata = table.metadata();
    Ok(match view {
        View::Snapshots => at_once(metadata_rows::snapshots(metadata)),
        View::History => at_once(metadata_rows::history(metadata)),
        View::References => at_once(metadata_rows::references(metadata)),
        View::MetadataLog => at_once(metadata_rows::metadata_log(
            metadata,
            &table.metadata_file().to_string(),
        )),
        View::Schemas => at_once(metadata_rows::schemas(metadata)),
        View::PartitionSpecs => at_once(metadata_rows::partition_specs(metadata)),
        View::SortOrders => at_once(metadata_rows::sort_orders(metadata)),
        View::Properties => at_once(metadata_rows::properties(metadata)),
        View::Statistics => at_once(metadata_rows::statistics(metadata)),
        View::Metadata => at_once(vec![row([("metadata", metadata.to_json())])]),
        View::Manifests => at_once(
            manifests(table, selected)
                .await?
                .iter()
                .map(|manifest| file_rows::manifest(metadata, manifest))
                .collect(),
        ),
        View::AllManifests => all_manifests(table),
        View::Entries => entry_rows(table, selected, manifests(table, selected).await?),
        View::AllEntries => entry_rows(
            table,
            selected,
            file_rows::manifests_of_all_snapshots(table).await?,
        ),
        View::Files | View::DataFiles | View::DeleteFiles => {
            let wanted = move |content: DataContent| match view {
                View::DataFiles => content == DataContent::Data,
                View::DeleteFiles => content != DataContent::Data,
                _ => true,
            };
            live_files(table, selected, manifests(table, selected).await?, wanted)
        }
        View::AllFiles => {
            let manifests = file_rows::manifests_of_all_snapshots(table).await?;
            live_files(table, selected, manifests, |_| true)
        }
        View::Partitions => {
            let mut entries = pin!(file_rows::entries(
                table.clone(),
                manifests(table, selected).await?
            ));
            let mut partitions = Partitions::default();
            while let Some(read) = entries.try_next().await? {
                for entry in &read {
                    partitions.add(metadata, entry);
                }
            }
            at_once(partitions.into_rows())
        }
        View::PositionDeletes => position_rows::positions(table, manifests(table, selected).await?),
    })
}

fn at_once(rows: Vec<Row>) -> Rows {
    stream::iter(rows.into_iter().map(Ok)).boxed()
}

/// The manifests of the selected state.
async fn manifests(table: &Table, selected: &SelectedSnapshot) -> Result<Vec<ManifestFile>> {
    match &selected.snapshot {
        Some(snapshot) => list_manifests(table.files(), snapshot).await,
        None => Ok(Vec::new()),
    }
}

/// The manifests of each snapshot, with the snapshot that lists them.
fn all_manifests(table: &Table) -> Rows {
    let snapshots = table.metadata().snapshots.clone();
    let table = table.clone();
    stream::iter(snapshots)
        .then(move |snapshot| {
            let table = table.clone();
            async move {
                let manifests = list_manifests(table.files(), &snapshot).await?;
                let rows = manifests.into_iter().map(move |manifest| {
                    let mut row = file_rows::manifest(table.metadata(), &manifest);
                    let listed_by = Value::from(snapshot.snapshot_id);
                    row.insert("reference_snapshot_id".to_owned(), listed_by);
                    Ok(row)
                });
                Ok(stream::iter(rows))
            }
        })
        .try_flatten()
        .boxed()
}

fn entry_rows(table: &Table, selected: &SelectedSnapshot, manifests: Vec<ManifestFile>) -> Rows {
    rows_of_entries(table, selected, manifests, |metadata, names, entry| {
        Some(file_rows::entry(metadata, names, entry))
    })
}

fn live_files(
    table: &Table,
    selected: &SelectedSnapshot,
    manifests: Vec<ManifestFile>,
    wanted: impl Fn(DataContent) -> bool + Send + 'static,
) -> Rows {
    rows_of_entries(table, selected, manifests, move |metadata, names, entry| {
        let file = &entry.data_file;
        (entry.is_live() && wanted(file.content)).then(|| file_rows::file(metadata, names, file))
    })
}

fn rows_of_entries(
    table: &Table,
    selected: &SelectedSnapshot,
    manifests: Vec<ManifestFile>,
    row_of: impl Fn(&TableMetadata, &ColumnNames, &ManifestEntry) -> Option<Row> + Send + 'static,
) -> Rows {
    let metadata = Arc::clone(table.metadata());
    let names = ColumnNames::of(&metadata, &selected.schema);
    file_rows::entries(table.clone(), manifests)
        .map_ok(move |entries| {
            let rows: Vec<_> = entries
                .iter()
                .filter_map(|entry| row_of(&metadata, &names, entry))
                .map(Ok)
                .collect();
            stream::iter(rows)
        })
        .try_flatten()
        .boxed()
}

fn row<const N: usize>(values: [(&str, Value); N]) -> Row {
    values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
