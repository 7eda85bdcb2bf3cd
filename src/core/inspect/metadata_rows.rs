//! Views of the metadata file itself: snapshots, history, references, schemas, specs, orders, properties.
//! Spec: "Table Metadata Fields".

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Row, row};
use crate::spec::snapshot::ReferenceKind;
use crate::spec::{Snapshot, SnapshotManifests, TableMetadata, time_text};

pub(super) fn snapshots(metadata: &TableMetadata) -> Vec<Row> {
    metadata
        .snapshots
        .iter()
        .map(|snapshot| {
            let manifest_list = match &snapshot.manifests {
                SnapshotManifests::List(path) => json!(path),
                SnapshotManifests::Inline(_) => Value::Null,
            };
            row([
                ("committed_at", json!(time_text(snapshot.timestamp_ms))),
                ("snapshot_id", json!(snapshot.snapshot_id)),
                ("parent_id", json!(snapshot.parent_snapshot_id)),
                ("operation", json!(snapshot.operation())),
                ("manifest_list", manifest_list),
                ("summary", summary(snapshot)),
                ("sequence_number", json!(snapshot.sequence_number)),
                ("schema_id", json!(snapshot.schema_id)),
            ])
        })
        .collect()
}

/// The summary without the operation, which has a column of its own.
fn summary(snapshot: &Snapshot) -> Value {
    snapshot
        .summary
        .iter()
        .filter(|(name, _)| name.as_str() != "operation")
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect::<Row>()
        .into()
}

pub(super) fn history(metadata: &TableMetadata) -> Vec<Row> {
    let mut ancestors = HashSet::new();
    let mut next = metadata.current_snapshot();
    while let Some(snapshot) = next {
        // A chain that leads into itself ends where it does.
        if !ancestors.insert(snapshot.snapshot_id) {
            break;
        }
        next = snapshot
            .parent_snapshot_id
            .and_then(|parent| metadata.snapshot_by_id(parent));
    }
    metadata
        .snapshot_log
        .iter()
        .map(|entry| {
            let parent = metadata
                .snapshot_by_id(entry.snapshot_id)
                .and_then(|snapshot| snapshot.parent_snapshot_id);
            row([
                ("made_current_at", json!(time_text(entry.timestamp_ms))),
                ("snapshot_id", json!(entry.snapshot_id)),
                ("parent_id", json!(parent)),
                (
                    "is_current_ancestor",
                    json!(ancestors.contains(&entry.snapshot_id)),
                ),
            ])
        })
        .collect()
}

pub(super) fn references(metadata: &TableMetadata) -> Vec<Row> {
    metadata
        .refs
        .iter()
        .map(|(name, reference)| {
            let kind = match reference.kind {
                ReferenceKind::Branch => "BRANCH",
                ReferenceKind::Tag => "TAG",
            };
            row([
                ("name", json!(name)),
                ("type", json!(kind)),
                ("snapshot_id", json!(reference.snapshot_id)),
                ("max_reference_age_in_ms", json!(reference.max_ref_age_ms)),
                (
                    "min_snapshots_to_keep",
                    json!(reference.min_snapshots_to_keep),
                ),
                (
                    "max_snapshot_age_in_ms",
                    json!(reference.max_snapshot_age_ms),
                ),
            ])
        })
        .collect()
}

pub(super) fn metadata_log(metadata: &TableMetadata, current_file: &str) -> Vec<Row> {
    metadata
        .metadata_log
        .iter()
        .map(|entry| (entry.timestamp_ms, entry.metadata_file.as_str()))
        .chain([(metadata.last_updated_ms, current_file)])
        .map(|(timestamp_ms, file)| {
            let latest = metadata
                .snapshot_as_of(timestamp_ms)
                .and_then(|entry| metadata.snapshot_by_id(entry.snapshot_id));
            row([
                ("timestamp", json!(time_text(timestamp_ms))),
                ("file", json!(file)),
                (
                    "latest_snapshot_id",
                    json!(latest.map(|snapshot| snapshot.snapshot_id)),
                ),
                (
                    "latest_schema_id",
                    json!(latest.and_then(|snapshot| snapshot.schema_id)),
                ),
                (
                    "latest_sequence_number",
                    json!(latest.map(|snapshot| snapshot.sequence_number)),
                ),
            ])
        })
        .collect()
}

pub(super) fn schemas(metadata: &TableMetadata) -> Vec<Row> {
    metadata
        .schemas
        .values()
        .map(|schema| {
            row([
                ("schema_id", json!(schema.schema_id())),
                (
                    "is_current",
                    json!(schema.schema_id() == metadata.current_schema_id),
                ),
                ("identifier_field_ids", json!(schema.identifier_field_ids())),
                ("fields", part(schema.to_json(), "fields")),
            ])
        })
        .collect()
}

pub(super) fn partition_specs(metadata: &TableMetadata) -> Vec<Row> {
    metadata
        .partition_specs
        .values()
        .map(|spec| {
            row([
                ("spec_id", json!(spec.spec_id)),
                (
                    "is_default",
                    json!(spec.spec_id == metadata.default_spec_id),
                ),
                ("fields", spec.fields_to_json()),
            ])
        })
        .collect()
}

pub(super) fn sort_orders(metadata: &TableMetadata) -> Vec<Row> {
    metadata
        .sort_orders
        .values()
        .map(|order| {
            row([
                ("order_id", json!(order.order_id)),
                (
                    "is_default",
                    json!(order.order_id == metadata.default_sort_order_id),
                ),
                ("fields", part(order.to_json(), "fields")),
            ])
        })
        .collect()
}

fn part(mut object: Value, key: &str) -> Value {
    object.get_mut(key).map(Value::take).unwrap_or_default()
}

pub(super) fn properties(metadata: &TableMetadata) -> Vec<Row> {
    metadata
        .properties
        .iter()
        .map(|(key, value)| row([("key", json!(key)), ("value", json!(value))]))
        .collect()
}

pub(super) fn statistics(metadata: &TableMetadata) -> Vec<Row> {
    let of_columns = metadata.statistics.iter().map(|file| {
        let blobs: Vec<Value> = file
            .blob_metadata
            .iter()
            .map(|blob| {
                json!({
                    "type": blob.blob_type,
                    "snapshot_id": blob.snapshot_id,
                    "sequence_number": blob.sequence_number,
                    "fields": blob.fields,
                    "properties": blob.properties,
                })
            })
            .collect();
        row([
            ("kind", json!("table")),
            ("snapshot_id", json!(file.snapshot_id)),
            ("statistics_path", json!(file.statistics_path)),
            ("file_size_in_bytes", json!(file.file_size_in_bytes)),
            (
                "file_footer_size_in_bytes",
                json!(file.file_footer_size_in_bytes),
            ),
            ("blob_metadata", Value::Array(blobs)),
        ])
    });
    let of_partitions = metadata.partition_statistics.iter().map(|file| {
        row([
            ("kind", json!("partition")),
            ("snapshot_id", json!(file.snapshot_id)),
            ("statistics_path", json!(file.statistics_path)),
            ("file_size_in_bytes", json!(file.file_size_in_bytes)),
        ])
    });
    of_columns.chain(of_partitions).collect()
}
