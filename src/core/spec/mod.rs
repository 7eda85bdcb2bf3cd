//! The Iceberg table spec as types: what its JSON and Avro files say, parsed and validated.
//! Stands on nothing but the error type.

pub mod avro;
mod calendar;
mod change_range;
#[cfg(test)]
pub(crate) mod corpus_tests;
pub mod data_file;
pub mod deletion_vector;
pub mod expression;
pub mod file_stats;
mod iso_text;
mod json;
pub mod manifest;
pub mod manifest_fields;
pub mod manifest_index;
pub mod manifest_list;
#[cfg(test)]
mod metadata_strategies;
pub mod name_mapping;
pub mod partition;
pub mod partition_tuple;
#[cfg(test)]
mod property_tests;
pub mod puffin;
#[cfg(test)]
mod reference_manifest_tests;
pub mod schema;
pub mod snapshot;
pub mod snapshot_selection;
pub mod sort_order;
pub mod statistics_file;
#[cfg(test)]
pub(crate) mod strategies;
pub mod table_metadata;
#[cfg(test)]
mod table_metadata_fault_tests;
mod table_metadata_json;
#[cfg(test)]
mod table_metadata_tests;
#[cfg(test)]
pub(crate) mod test_files;
pub mod transform;
mod type_json;
pub mod types;
pub mod value;
mod value_json;

pub use calendar::CalendarDate;
pub use data_file::{DataContent, DataFile, FileFormat, WantedStats};
pub use deletion_vector::parse_deletion_vector;
pub use expression::{
    Bounds, Check, Comparison, Cut, PossibleValues, Predicate, PruningLevels, RowFilter,
    ScanFilter, Span, Term, Test, UpperEnd, Verdict, compare_values, ordinals, value_of_ordinal,
};
pub use file_stats::{ColumnStats, FileStats};
pub use manifest::{ManifestEntry, ManifestEntryStatus, ManifestHeader, ManifestReader};
pub use manifest_index::{EntryNumbers, Manifest, ManifestPartition};
pub use manifest_list::{FieldSummary, ManifestContent, ManifestFile, read_manifest_list};
pub use name_mapping::NameMapping;
pub use partition::{PartitionField, PartitionSpec};
pub use partition_tuple::Partition;
pub use puffin::{PuffinBlob, PuffinFooter};
pub use schema::Schema;
pub use snapshot::{Snapshot, SnapshotManifests, SnapshotReference};
pub use snapshot_selection::{
    FieldReference, FoundField, SelectedSnapshot, SnapshotSelector, time_text,
};
pub use sort_order::SortOrder;
pub use table_metadata::TableMetadata;
pub use table_metadata_json::MAX_FORMAT_VERSION;
pub use transform::Transform;
pub use types::{ListType, MapType, NestedField, PrimitiveType, StructType, Type};
pub use value::PrimitiveValue;
