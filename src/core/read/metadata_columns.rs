//! Columns that tell something about a row: where it was read, and its lineage. They have field ids
//! that no table's schema can have. Spec: "Reserved Field IDs", "Row Lineage".

use crate::plan::FileScanTask;
use crate::spec::{NestedField, PrimitiveType, Type};

/// What a column of a read is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputColumn {
    /// The top-level field with this id.
    Field(i32),
    /// Something about the row.
    Metadata(MetadataColumn),
}

/// Something about a row instead of something in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetadataColumn {
    /// The data file that the row is in, as the manifest names it.
    File,
    /// The row's position in that file, from 0.
    Position,
    /// The id of the partition spec of that file.
    SpecId,
    /// The partition of that file: the text of a JSON object of the partition values by name, each
    /// in its JSON single-value form.
    Partition,
    /// The id that the row keeps through all rewrites; null where it has none (v3).
    RowId,
    /// The sequence number of the commit that last changed the row; null where the row has no id
    /// (v3).
    LastUpdatedSequenceNumber,
    /// What happened to the row: `insert` or `delete`, or `update_preimage` and `update_postimage` for the two
    /// sides of a row that was changed and kept its id; null where a state is read and not changes.
    ChangeType,
    /// The place of the snapshot that changed the row among those whose changes are read, from 0.
    ChangeOrdinal,
    /// The snapshot that changed the row.
    CommitSnapshotId,
}

impl MetadataColumn {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::File,
        Self::Position,
        Self::SpecId,
        Self::Partition,
        Self::RowId,
        Self::LastUpdatedSequenceNumber,
        Self::ChangeType,
        Self::ChangeOrdinal,
        Self::CommitSnapshotId,
    ];

    /// The name in the spec.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "_file",
            Self::Position => "_pos",
            Self::SpecId => "_spec_id",
            Self::Partition => "_partition",
            Self::RowId => "_row_id",
            Self::LastUpdatedSequenceNumber => "_last_updated_sequence_number",
            Self::ChangeType => "_change_type",
            Self::ChangeOrdinal => "_change_ordinal",
            Self::CommitSnapshotId => "_commit_snapshot_id",
        }
    }

    /// The one of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }

    /// The one with this field id.
    pub(super) fn by_field_id(field_id: i32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|column| column.field_id() == field_id)
    }

    fn field_id(self) -> i32 {
        match self {
            Self::File => 2_147_483_646,
            Self::Position => 2_147_483_645,
            Self::SpecId => 2_147_483_643,
            Self::Partition => 2_147_483_642,
            Self::RowId => 2_147_483_540,
            Self::LastUpdatedSequenceNumber => 2_147_483_539,
            Self::ChangeType => 2_147_483_543,
            Self::ChangeOrdinal => 2_147_483_542,
            Self::CommitSnapshotId => 2_147_483_541,
        }
    }

    /// Whether the file of a task may have it as a column of its own. In a file whose rows have no
    /// ids, such a column means nothing.
    pub(super) fn is_stored(self, task: &FileScanTask) -> bool {
        matches!(self, Self::RowId | Self::LastUpdatedSequenceNumber) && task.first_row_id.is_some()
    }

    /// The type of its values.
    pub fn field_type(self) -> Type {
        Type::Primitive(match self {
            Self::File | Self::Partition | Self::ChangeType => PrimitiveType::String,
            Self::SpecId | Self::ChangeOrdinal => PrimitiveType::Int,
            Self::Position
            | Self::RowId
            | Self::LastUpdatedSequenceNumber
            | Self::CommitSnapshotId => PrimitiveType::Long,
        })
    }

    /// It as a field.
    pub(super) fn field(self) -> NestedField {
        NestedField::optional(self.field_id(), self.name(), self.field_type())
    }
}
