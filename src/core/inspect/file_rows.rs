//! Views of a snapshot's manifests and of the files in them, with partitions and bounds as readable values.
//! Spec: "Manifest Lists", "Manifests", "Data File Fields", Appendix D.

use std::collections::HashSet;
use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};

use super::{Row, row};
use crate::catalog::Table;
use crate::error::Result;
use crate::plan::list_manifests;
use crate::spec::{
    ColumnStats, DataContent, DataFile, ManifestContent, ManifestEntry, ManifestEntryStatus,
    ManifestFile, ManifestReader, Partition, PrimitiveType, PrimitiveValue, Schema, TableMetadata,
    Type,
};
use crate::storage::RawPath;

/// How many manifests are read at a time.
const MANIFESTS_AT_ONCE: usize = 8;

/// Names and types of columns by field id: as the selected state has them, else as the newest schema has
/// them that knows them.
pub(super) struct ColumnNames {
    newest_first: Vec<Arc<Schema>>,
}

impl ColumnNames {
    pub(super) fn of(metadata: &TableMetadata, selected: &Arc<Schema>) -> Self {
        let all = [selected]
            .into_iter()
            .chain(metadata.schemas.values().rev());
        Self {
            newest_first: all.map(Arc::clone).collect(),
        }
    }

    fn name(&self, field_id: i32) -> String {
        self.newest_first
            .iter()
            .find_map(|schema| schema.field_path_name(field_id))
            .or_else(|| delete_file_column(field_id).map(|(name, _)| name.to_owned()))
            .unwrap_or_else(|| field_id.to_string())
    }

    fn bound(&self, field_id: i32, bytes: &[u8]) -> Value {
        let field = self
            .newest_first
            .iter()
            .find_map(|schema| schema.field_by_id(field_id));
        let reserved = delete_file_column(field_id).map(|(_, field_type)| field_type);
        let field_type = field.map(|field| &field.field_type).or(reserved.as_ref());
        value_of(field_type, bytes)
    }
}

/// Name and type of a column that every position delete file has (spec: "Reserved Field IDs").
fn delete_file_column(field_id: i32) -> Option<(&'static str, Type)> {
    match field_id {
        2_147_483_546 => Some(("file_path", Type::Primitive(PrimitiveType::String))),
        2_147_483_545 => Some(("pos", Type::Primitive(PrimitiveType::Long))),
        _ => None,
    }
}

/// The value that bytes in the binary single-value form are; the bytes themselves, in hexadecimal, where they
/// are none of that type.
fn value_of(field_type: Option<&Type>, bytes: &[u8]) -> Value {
    if let Some(Type::Primitive(primitive)) = field_type
        && let Ok(value) = PrimitiveValue::from_bytes(primitive, bytes)
    {
        return value.to_json(primitive);
    }
    json!(hexadecimal(bytes))
}

/// As Postgres reads `bytea`.
fn key_metadata(key: Option<&[u8]>) -> Value {
    json!(key.map(|key| format!("\\x{}", hexadecimal(key))))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The entries of manifests, of each at a time and in their order.
pub(super) fn entries(
    table: Table,
    manifests: Vec<ManifestFile>,
) -> impl Stream<Item = Result<Vec<ManifestEntry>>> {
    stream::iter(manifests)
        .map(move |manifest| read_entries(table.clone(), manifest))
        .buffered(MANIFESTS_AT_ONCE)
}

async fn read_entries(table: Table, manifest: ManifestFile) -> Result<Vec<ManifestEntry>> {
    let path = RawPath(manifest.manifest_path.clone());
    let content = table.files().read(&path).await?;
    let partition_type = |spec_id| table.metadata().partition_type(spec_id);
    ManifestReader::open(&manifest, content, partition_type)?.collect()
}

/// The manifests of all snapshots that a table keeps, each once.
pub(super) async fn manifests_of_all_snapshots(table: &Table) -> Result<Vec<ManifestFile>> {
    let mut seen = HashSet::new();
    let mut manifests = Vec::new();
    for snapshot in &table.metadata().snapshots {
        let listed = list_manifests(table.files(), snapshot).await?;
        manifests.extend(
            listed
                .into_iter()
                .filter(|manifest| seen.insert(manifest.manifest_path.clone())),
        );
    }
    Ok(manifests)
}

pub(super) fn manifest(metadata: &TableMetadata, manifest: &ManifestFile) -> Row {
    let of = |content: ManifestContent, count: Option<u64>| match manifest.content == content {
        true => json!(count),
        false => json!(0),
    };
    let (data, deletes) = (ManifestContent::Data, ManifestContent::Deletes);
    row([
        ("content", json!(i32::from(manifest.content == deletes))),
        ("path", json!(manifest.manifest_path)),
        ("length", json!(manifest.manifest_length)),
        ("partition_spec_id", json!(manifest.partition_spec_id)),
        ("sequence_number", json!(manifest.sequence_number)),
        ("min_sequence_number", json!(manifest.min_sequence_number)),
        ("added_snapshot_id", json!(manifest.added_snapshot_id)),
        (
            "added_data_files_count",
            of(data, manifest.added_files_count),
        ),
        (
            "existing_data_files_count",
            of(data, manifest.existing_files_count),
        ),
        (
            "deleted_data_files_count",
            of(data, manifest.deleted_files_count),
        ),
        (
            "added_delete_files_count",
            of(deletes, manifest.added_files_count),
        ),
        (
            "existing_delete_files_count",
            of(deletes, manifest.existing_files_count),
        ),
        (
            "deleted_delete_files_count",
            of(deletes, manifest.deleted_files_count),
        ),
        ("added_rows_count", json!(manifest.added_rows_count)),
        ("existing_rows_count", json!(manifest.existing_rows_count)),
        ("deleted_rows_count", json!(manifest.deleted_rows_count)),
        (
            "partition_summaries",
            partition_summaries(metadata, manifest),
        ),
        (
            "key_metadata",
            key_metadata(manifest.key_metadata.as_deref()),
        ),
    ])
}

fn partition_summaries(metadata: &TableMetadata, manifest: &ManifestFile) -> Value {
    let Some(summaries) = &manifest.partitions else {
        return Value::Null;
    };
    let partition_type = manifest
        .partition_spec_id
        .and_then(|spec_id| metadata.partition_type(spec_id));
    let fields = partition_type
        .as_ref()
        .map_or(&[][..], |fields| fields.fields());
    let of_fields = summaries.iter().enumerate().map(|(index, summary)| {
        let field = fields.get(index);
        let bound = |bytes: &Option<Vec<u8>>| {
            bytes
                .as_deref()
                .map(|bytes| value_of(field.map(|field| &field.field_type), bytes))
        };
        json!({
            "name": field.map(|field| &field.name),
            "contains_null": summary.contains_null,
            "contains_nan": summary.contains_nan,
            "lower_bound": bound(&summary.lower_bound),
            "upper_bound": bound(&summary.upper_bound),
        })
    });
    Value::Array(of_fields.collect())
}

pub(super) fn entry(metadata: &TableMetadata, names: &ColumnNames, entry: &ManifestEntry) -> Row {
    let status = match entry.status {
        ManifestEntryStatus::Existing => 0,
        ManifestEntryStatus::Added => 1,
        ManifestEntryStatus::Deleted => 2,
    };
    row([
        ("status", json!(status)),
        ("snapshot_id", json!(entry.snapshot_id)),
        ("sequence_number", json!(entry.sequence_number)),
        ("file_sequence_number", json!(entry.file_sequence_number)),
        ("data_file", file(metadata, names, &entry.data_file).into()),
    ])
}

pub(super) fn file(metadata: &TableMetadata, names: &ColumnNames, file: &DataFile) -> Row {
    let content = match file.content {
        DataContent::Data => 0,
        DataContent::PositionDeletes => 1,
        DataContent::EqualityDeletes => 2,
    };
    let by_column = |value: &dyn Fn(&ColumnStats) -> Option<Value>| -> Value {
        file.stats
            .columns()
            .iter()
            .filter_map(|column| Some((names.name(column.field_id), value(column)?)))
            .collect::<Row>()
            .into()
    };
    let count = |value: Option<u64>| value.map(Value::from);
    let bound = |column: &ColumnStats, bytes: &Option<Box<[u8]>>| {
        bytes
            .as_deref()
            .map(|bytes| names.bound(column.field_id, bytes))
    };
    row([
        ("content", json!(content)),
        ("file_path", json!(file.file_path)),
        ("file_format", json!(file.file_format.name().to_uppercase())),
        ("spec_id", json!(file.partition.spec_id)),
        ("partition", partition(metadata, &file.partition)),
        ("record_count", json!(file.record_count)),
        ("file_size_in_bytes", json!(file.file_size_in_bytes)),
        (
            "column_sizes",
            by_column(&|column| count(column.size_in_bytes)),
        ),
        (
            "value_counts",
            by_column(&|column| count(column.value_count)),
        ),
        (
            "null_value_counts",
            by_column(&|column| count(column.null_value_count)),
        ),
        (
            "nan_value_counts",
            by_column(&|column| count(column.nan_value_count)),
        ),
        (
            "lower_bounds",
            by_column(&|column| bound(column, &column.lower_bound)),
        ),
        (
            "upper_bounds",
            by_column(&|column| bound(column, &column.upper_bound)),
        ),
        ("key_metadata", key_metadata(file.key_metadata.as_deref())),
        ("split_offsets", json!(file.split_offsets)),
        (
            "equality_ids",
            match file.equality_ids.as_slice() {
                [] => Value::Null,
                ids => json!(ids),
            },
        ),
        ("sort_order_id", json!(file.sort_order_id)),
        ("first_row_id", json!(file.first_row_id)),
        ("referenced_data_file", json!(file.referenced_data_file)),
        ("content_offset", json!(file.content_offset)),
        ("content_size_in_bytes", json!(file.content_size_in_bytes)),
    ])
}

/// A partition tuple by the names of its spec's fields.
pub(super) fn partition(metadata: &TableMetadata, partition: &Partition) -> Value {
    let partition_type = metadata.partition_type(partition.spec_id);
    let fields = partition_type
        .as_ref()
        .map_or(&[][..], |fields| fields.fields());
    partition
        .values
        .iter()
        .enumerate()
        .map(|(index, value)| {
            let field = fields.get(index);
            let primitive = match field.map(|field| &field.field_type) {
                Some(Type::Primitive(primitive)) => primitive,
                _ => &PrimitiveType::Unknown,
            };
            (
                field.map_or_else(|| index.to_string(), |field| field.name.clone()),
                value
                    .as_ref()
                    .map_or(Value::Null, |value| value.to_json(primitive)),
            )
        })
        .collect::<Row>()
        .into()
}
