//! Arbitrary table metadata for property tests, as far as the spec allows it, and damaged documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::partition::PartitionSpec;
use super::schema::Schema;
use super::snapshot::{
    MetadataLogEntry, ReferenceKind, Snapshot, SnapshotLogEntry, SnapshotManifests,
    SnapshotReference,
};
use super::sort_order::SortOrder;
use super::statistics_file::{BlobMetadata, PartitionStatisticsFile, StatisticsFile};
use super::strategies::{json_value, partition_spec, schema, sort_order, unknown_keys};
use super::table_metadata::{MAIN_BRANCH, TableMetadata};

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(any::<String>(), any::<String>(), 0..3)
}

fn snapshot(format_version: u8) -> impl Strategy<Value = Snapshot> {
    let manifests = match format_version {
        1 => prop_oneof![
            any::<String>().prop_map(SnapshotManifests::List),
            vec(any::<String>(), 0..3).prop_map(SnapshotManifests::Inline),
        ]
        .boxed(),
        _ => any::<String>().prop_map(SnapshotManifests::List).boxed(),
    };
    let sequence_number = match format_version {
        1 => Just(0).boxed(),
        _ => (0..100_i64).boxed(),
    };
    let ids = (option::of(any::<i64>()), sequence_number, any::<i64>());
    let rows = (option::of(any::<i64>()), option::of(any::<i64>()));
    let rest = (
        option::of(any::<i32>()),
        option::of(any::<String>()),
        unknown_keys(),
    );
    (ids, manifests, texts(), rows, rest).prop_map(
        |((parent, sequence, timestamp_ms), manifests, summary, rows, rest)| Snapshot {
            snapshot_id: 0,
            parent_snapshot_id: parent,
            sequence_number: sequence,
            timestamp_ms,
            manifests,
            summary,
            schema_id: rest.0,
            first_row_id: rows.0,
            added_rows: rows.1,
            key_id: rest.1,
            unknown: rest.2,
        },
    )
}

fn reference() -> impl Strategy<Value = SnapshotReference> {
    (
        prop::sample::select(vec![ReferenceKind::Branch, ReferenceKind::Tag]),
        option::of(any::<i32>()),
        option::of(any::<i64>()),
        option::of(any::<i64>()),
        unknown_keys(),
    )
        .prop_map(|(kind, keep, age, ref_age, unknown)| SnapshotReference {
            kind,
            min_snapshots_to_keep: keep,
            max_snapshot_age_ms: age,
            max_ref_age_ms: ref_age,
            unknown,
            ..SnapshotReference::branch(0)
        })
}

fn statistics_file() -> impl Strategy<Value = StatisticsFile> {
    let blob = (
        any::<String>(),
        any::<i64>(),
        vec(any::<i32>(), 0..3),
        texts(),
        unknown_keys(),
    )
        .prop_map(
            |(blob_type, id, fields, properties, unknown)| BlobMetadata {
                blob_type,
                snapshot_id: id,
                sequence_number: id,
                fields,
                properties,
                unknown,
            },
        );
    (
        any::<i64>(),
        any::<String>(),
        any::<i64>(),
        option::of(any::<String>()),
        vec(blob, 0..2),
        unknown_keys(),
    )
        .prop_map(
            |(snapshot_id, path, size, key, blobs, unknown)| StatisticsFile {
                snapshot_id,
                statistics_path: path,
                file_size_in_bytes: size,
                file_footer_size_in_bytes: size,
                key_metadata: key,
                blob_metadata: blobs,
                unknown,
            },
        )
}

fn partition_statistics_file() -> impl Strategy<Value = PartitionStatisticsFile> {
    (any::<i64>(), any::<String>(), any::<i64>(), unknown_keys()).prop_map(
        |(snapshot_id, statistics_path, file_size_in_bytes, unknown)| PartitionStatisticsFile {
            snapshot_id,
            statistics_path,
            file_size_in_bytes,
            unknown,
        },
    )
}

/// Valid metadata of any format version.
pub(crate) fn table_metadata() -> impl Strategy<Value = TableMetadata> {
    (1..=3_u8, vec(schema(), 1..4)).prop_flat_map(|(format_version, schemas)| {
        let columns: Vec<i32> = schemas
            .iter()
            .flat_map(|schema| 1..=schema.highest_field_id())
            .collect();
        // Without a column there is nothing to partition by.
        let specs = match columns.is_empty() {
            true => Just(vec![PartitionSpec::unpartitioned(0)]).boxed(),
            false => vec(partition_spec(columns), 1..4).boxed(),
        };
        (
            (
                Just(format_version),
                Just(schemas),
                specs,
                vec(sort_order(), 1..3),
            ),
            btree_map(1..i64::MAX, snapshot(format_version), 0..4),
            btree_map(any::<String>(), reference(), 0..3),
            (
                any::<bool>(),
                any::<prop::sample::Index>(),
                texts(),
                any::<u128>(),
            ),
            (
                vec(statistics_file(), 0..2),
                vec(partition_statistics_file(), 0..2),
            ),
            (
                vec((any::<i64>(), any::<i64>()), 0..3),
                vec((any::<i64>(), any::<String>()), 0..3),
            ),
            (
                any::<String>(),
                any::<i64>(),
                vec(json_value(), 0..2),
                unknown_keys(),
            ),
        )
            .prop_map(build_metadata)
    })
}

type Layout = (u8, Vec<Schema>, Vec<PartitionSpec>, Vec<SortOrder>);
type Choices = (bool, prop::sample::Index, BTreeMap<String, String>, u128);
type Logs = (Vec<(i64, i64)>, Vec<(i64, String)>);
type Rest = (String, i64, Vec<Value>, Map<String, Value>);

#[allow(
    clippy::type_complexity,
    reason = "one value for each part of the metadata"
)]
fn build_metadata(
    (layout, snapshots, refs, choices, statistics, logs, rest): (
        Layout,
        BTreeMap<i64, Snapshot>,
        BTreeMap<String, SnapshotReference>,
        Choices,
        (Vec<StatisticsFile>, Vec<PartitionStatisticsFile>),
        Logs,
        Rest,
    ),
) -> TableMetadata {
    let (format_version, schemas, specs, orders) = layout;
    let (has_current, choice, properties, uuid) = choices;
    let snapshots: Vec<Arc<Snapshot>> = snapshots
        .into_iter()
        .map(|(snapshot_id, snapshot)| {
            Arc::new(Snapshot {
                snapshot_id,
                ..snapshot
            })
        })
        .collect();
    let current_snapshot_id =
        (has_current && !snapshots.is_empty()).then(|| choice.get(&snapshots).snapshot_id);
    let mut refs: BTreeMap<String, SnapshotReference> = refs
        .into_iter()
        .filter(|(name, _)| name != MAIN_BRANCH && !snapshots.is_empty())
        .map(|(name, reference)| {
            let snapshot_id = choice.get(&snapshots).snapshot_id;
            (
                name,
                SnapshotReference {
                    snapshot_id,
                    ..reference
                },
            )
        })
        .collect();
    if let Some(snapshot_id) = current_snapshot_id {
        refs.insert(
            MAIN_BRANCH.to_owned(),
            SnapshotReference::branch(snapshot_id),
        );
    }
    let schemas: BTreeMap<i32, Arc<Schema>> = schemas
        .into_iter()
        .map(|schema| (schema.schema_id(), Arc::new(schema)))
        .collect();
    let highest = schemas
        .values()
        .map(|schema| schema.highest_field_id())
        .max();
    // A schema may have replaced another with the same id, and taken columns with it.
    let has_column = |id: &i32| {
        schemas
            .values()
            .any(|schema| schema.field_by_id(*id).is_some())
    };
    let partition_specs: BTreeMap<i32, Arc<PartitionSpec>> = specs
        .into_iter()
        .map(|mut spec| {
            spec.fields
                .retain(|field| field.source_ids.iter().all(has_column));
            (spec.spec_id, Arc::new(spec))
        })
        .collect();
    let sort_orders: BTreeMap<i32, Arc<SortOrder>> = orders
        .into_iter()
        .map(|order| (order.order_id, Arc::new(order)))
        .collect();
    let keys = |map: Vec<i32>| *choice.get(&map);
    TableMetadata {
        format_version,
        table_uuid: Some(Uuid::from_u128(uuid)),
        location: rest.0,
        last_sequence_number: if format_version == 1 { 0 } else { 100 },
        last_updated_ms: rest.1,
        last_column_id: highest.unwrap_or(0),
        current_schema_id: keys(schemas.keys().copied().collect()),
        default_spec_id: keys(partition_specs.keys().copied().collect()),
        default_sort_order_id: keys(sort_orders.keys().copied().collect()),
        schemas,
        last_partition_id: Some(1_100),
        partition_specs,
        sort_orders,
        properties,
        current_snapshot_id,
        snapshots,
        snapshot_log: logs
            .0
            .into_iter()
            .map(|(timestamp_ms, snapshot_id)| SnapshotLogEntry {
                timestamp_ms,
                snapshot_id,
            })
            .collect(),
        metadata_log: logs
            .1
            .into_iter()
            .map(|(timestamp_ms, metadata_file)| MetadataLogEntry {
                timestamp_ms,
                metadata_file,
            })
            .collect(),
        refs,
        statistics: statistics.0,
        partition_statistics: statistics.1,
        next_row_id: (format_version == 3).then_some(7),
        encryption_keys: rest.2,
        unknown: rest.3,
    }
}

/// One value somewhere in a document replaced by another, or one key taken out.
pub(crate) fn damaged(document: Value) -> impl Strategy<Value = Value> {
    let odd = prop_oneof![
        json_value(),
        prop::sample::select(vec![
            json!(-1),
            json!(0),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(1.5),
            json!(""),
            json!("decimal(0,99)"),
            json!("fixed[4294967296]"),
            json!("bucket[0]"),
            json!({}),
            json!([]),
            json!([[]]),
        ]),
    ];
    (any::<prop::sample::Index>(), option::of(odd)).prop_map(move |(place, replacement)| {
        let mut document = document.clone();
        let mut pointers = Vec::new();
        collect_pointers(&document, String::new(), &mut pointers);
        let pointer = place.get(&pointers);
        match (replacement, pointer.rsplit_once('/')) {
            (None, Some((parent, key))) => {
                if let Some(Value::Object(object)) = document.pointer_mut(parent) {
                    object.remove(&key.replace("~1", "/").replace("~0", "~"));
                }
            }
            (replacement, _) => {
                if let Some(place) = document.pointer_mut(pointer) {
                    *place = replacement.unwrap_or(Value::Null);
                }
            }
        }
        document
    })
}

fn collect_pointers(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect_pointers(inner, format!("{pointer}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                collect_pointers(inner, format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(pointer);
}
