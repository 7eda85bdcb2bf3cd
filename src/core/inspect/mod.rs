//! What a table's metadata says, as rows for a person: one view for each kind of thing, values by name.
//! Spec: "Table Metadata Fields", "Manifest Lists", "Manifests"; names of columns as other engines have them.

mod file_rows;
mod metadata_rows;
mod partition_rows;

use serde_json::{Map, Value};

use crate::catalog::Table;
use crate::error::Result;
use crate::plan::list_manifests;
use crate::spec::{DataContent, SelectedSnapshot};

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
}

impl View {
    const ALL: [(&'static str, Self); 16] = [
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
        )
    }

    /// The view of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        let (_, view) = Self::ALL.iter().find(|(known, _)| *known == name)?;
        Some(*view)
    }
}

/// The rows of a view of a table; those of manifests and files are of the selected state.
///
/// # Errors
/// Those of reading manifest lists and manifests; `OutOfRange` never, as bounds that cannot be read are shown
/// as the bytes they are.
pub async fn rows(table: &Table, selected: &SelectedSnapshot, view: View) -> Result<Vec<Row>> {
    let metadata = table.metadata();
    Ok(match view {
        View::Snapshots => metadata_rows::snapshots(metadata),
        View::History => metadata_rows::history(metadata),
        View::References => metadata_rows::references(metadata),
        View::MetadataLog => {
            metadata_rows::metadata_log(metadata, &table.metadata_file().to_string())
        }
        View::Schemas => metadata_rows::schemas(metadata),
        View::PartitionSpecs => metadata_rows::partition_specs(metadata),
        View::SortOrders => metadata_rows::sort_orders(metadata),
        View::Properties => metadata_rows::properties(metadata),
        View::Statistics => metadata_rows::statistics(metadata),
        View::Metadata => vec![row([("metadata", metadata.to_json())])],
        View::Manifests => {
            let Some(snapshot) = &selected.snapshot else {
                return Ok(Vec::new());
            };
            let manifests = list_manifests(table.files(), snapshot).await?;
            manifests
                .iter()
                .map(|manifest| file_rows::manifest(metadata, manifest))
                .collect()
        }
        View::Entries => {
            let names = file_rows::ColumnNames::of(metadata, &selected.schema);
            file_rows::entries(table, selected)
                .await?
                .iter()
                .map(|entry| file_rows::entry(metadata, &names, entry))
                .collect()
        }
        View::Files | View::DataFiles | View::DeleteFiles => {
            let names = file_rows::ColumnNames::of(metadata, &selected.schema);
            let wanted = |content: DataContent| match view {
                View::DataFiles => content == DataContent::Data,
                View::DeleteFiles => content != DataContent::Data,
                _ => true,
            };
            file_rows::entries(table, selected)
                .await?
                .iter()
                .filter(|entry| entry.is_live() && wanted(entry.data_file.content))
                .map(|entry| file_rows::file(metadata, &names, &entry.data_file))
                .collect()
        }
        View::Partitions => {
            partition_rows::partitions(metadata, &file_rows::entries(table, selected).await?)
        }
    })
}

fn row<const N: usize>(values: [(&str, Value); N]) -> Row {
    values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
