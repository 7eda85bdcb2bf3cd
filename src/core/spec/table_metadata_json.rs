//! Table metadata files, read and validated, and written again with what was not understood.
//! Spec: "Table Metadata Fields", Appendix C, Appendix E (defaults for v1), Appendix F (gzip, -1).

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::json::{self, Node, ObjectWriter};
use super::partition::PartitionSpec;
use super::schema::{MAX_COLUMN_ID, Schema};
use super::snapshot::{MetadataLogEntry, Snapshot, SnapshotLogEntry, SnapshotReference};
use super::sort_order::{SortOrder, UNSORTED_ORDER_ID};
use super::statistics_file::{PartitionStatisticsFile, StatisticsFile};
use super::table_metadata::{MAIN_BRANCH, TableMetadata};
use super::transform::Transform;
use crate::error::{Error, ErrorKind, Result};

/// The newest format version that is read.
pub const MAX_FORMAT_VERSION: u8 = 3;

/// How many bytes a compressed metadata file may grow to.
const MAX_DECOMPRESSED_BYTES: u64 = 512 << 20;

const GZIP_MAGIC: &[u8] = &[0x1F, 0x8B];

const METADATA_KEYS: &[&str] = &[
    "format-version",
    "table-uuid",
    "location",
    "last-sequence-number",
    "last-updated-ms",
    "last-column-id",
    "schema",
    "schemas",
    "current-schema-id",
    "partition-spec",
    "partition-specs",
    "default-spec-id",
    "last-partition-id",
    "properties",
    "current-snapshot-id",
    "snapshots",
    "snapshot-log",
    "metadata-log",
    "sort-orders",
    "default-sort-order-id",
    "refs",
    "statistics",
    "partition-statistics",
    "next-row-id",
    "encryption-keys",
];

impl TableMetadata {
    /// Reads a metadata file, plain or compressed with gzip, whatever its name says. `file` is only
    /// for messages.
    ///
    /// # Errors
    /// `Corrupt` if the content contradicts the spec, `NotSupported` if it needs a newer version;
    /// both name the file and the key.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self> {
        let read = || {
            let decompressed;
            let text = if bytes.starts_with(GZIP_MAGIC) {
                decompressed = decompress(bytes, MAX_DECOMPRESSED_BYTES)?;
                decompressed.as_slice()
            } else {
                bytes
            };
            Self::from_json(&json::parse(text)?)
        };
        read().map_err(|error: Error| error.in_file(file))
    }

    /// Reads metadata from its JSON form; see [`TableMetadata::parse`].
    ///
    /// # Errors
    /// As [`TableMetadata::parse`], without the file's name.
    pub fn from_json(value: &Value) -> Result<Self> {
        let node = Node::root(value);
        node.object()?;
        let format_version = read_format_version(&node)?;
        let (schemas, current_schema_id) = read_schemas(&node, format_version)?;
        let (partition_specs, default_spec_id) = read_partition_specs(&node, format_version)?;
        let (sort_orders, default_sort_order_id) = read_sort_orders(&node, format_version)?;
        let snapshots = node.optional_list("snapshots", |item| {
            Snapshot::from_node(item, format_version).map(Arc::new)
        })?;
        // Java writes -1 for none in v1 and v2.
        let current_snapshot_id = node
            .optional_long("current-snapshot-id")?
            .filter(|snapshot_id| *snapshot_id != -1);
        let metadata = Self {
            format_version,
            table_uuid: read_table_uuid(&node, format_version)?,
            location: node.required("location")?.text()?.to_owned(),
            last_sequence_number: match format_version {
                1 => 0,
                _ => node.required("last-sequence-number")?.long()?,
            },
            last_updated_ms: node.required("last-updated-ms")?.long()?,
            last_column_id: node.required("last-column-id")?.int()?,
            schemas,
            current_schema_id,
            partition_specs,
            default_spec_id,
            last_partition_id: match format_version {
                1 => node.optional_int("last-partition-id")?,
                _ => Some(node.required("last-partition-id")?.int()?),
            },
            sort_orders,
            default_sort_order_id,
            properties: node.optional_text_map("properties")?,
            current_snapshot_id,
            snapshots,
            snapshot_log: node.optional_list("snapshot-log", SnapshotLogEntry::from_node)?,
            metadata_log: node.optional_list("metadata-log", MetadataLogEntry::from_node)?,
            refs: read_refs(&node, current_snapshot_id)?,
            statistics: node.optional_list("statistics", StatisticsFile::from_node)?,
            partition_statistics: node
                .optional_list("partition-statistics", PartitionStatisticsFile::from_node)?,
            next_row_id: match format_version {
                1 | 2 => node.optional_long("next-row-id")?,
                _ => Some(node.required("next-row-id")?.long()?),
            },
            encryption_keys: node
                .optional_list("encryption-keys", |item| Ok(item.value().clone()))?,
            unknown: node.unknown(METADATA_KEYS)?,
        };
        metadata.check_columns(&node)?;
        metadata.check_snapshots(&node)?;
        Ok(metadata)
    }

    /// Field ids are in their range, and the default spec partitions by columns that there are.
    fn check_columns(&self, node: &Node<'_>) -> Result<()> {
        for schema in self.schemas.values() {
            let highest = schema.highest_field_id();
            let name = || schema.field_path_name(highest).unwrap_or_default();
            if highest > MAX_COLUMN_ID {
                return Err(node.corrupt(format!(
                    "schema {}: the id {highest} of \"{}\" is reserved for metadata columns",
                    schema.schema_id(),
                    name()
                )));
            }
            if highest > self.last_column_id {
                return Err(node.required("last-column-id")?.corrupt(format!(
                    "{} is less than the id {highest} of \"{}\" in schema {}",
                    self.last_column_id,
                    name(),
                    schema.schema_id()
                )));
            }
        }
        for field in self
            .default_partition_spec()
            .iter()
            .flat_map(|spec| &spec.fields)
        {
            let needs_source = !matches!(field.transform, Transform::Void | Transform::Unknown(_));
            let missing = field.source_ids.iter().find(|source_id| {
                !self
                    .schemas
                    .values()
                    .any(|schema| schema.field_by_id(**source_id).is_some())
            });
            if let (true, Some(source_id)) = (needs_source, missing) {
                return Err(node.corrupt(format!(
                    "partition field \"{}\" of spec {} is made from column {source_id}, which no schema has",
                    field.name, self.default_spec_id
                )));
            }
        }
        Ok(())
    }

    /// Snapshot ids are unique and sequence numbers in their range; what names a snapshot names one
    /// that there is. Logs may name snapshots that were expired.
    fn check_snapshots(&self, node: &Node<'_>) -> Result<()> {
        if self.last_sequence_number < 0 {
            return Err(node
                .required("last-sequence-number")?
                .corrupt(format!("{} is negative", self.last_sequence_number)));
        }
        let mut ids = HashSet::new();
        for snapshot in &self.snapshots {
            if !ids.insert(snapshot.snapshot_id) {
                return Err(node.corrupt(format!(
                    "snapshots: the id {} is there twice",
                    snapshot.snapshot_id
                )));
            }
            if snapshot.sequence_number > self.last_sequence_number {
                return Err(node.corrupt(format!(
                    "snapshots: snapshot {} has sequence number {}, but \"last-sequence-number\" is {}",
                    snapshot.snapshot_id, snapshot.sequence_number, self.last_sequence_number
                )));
            }
        }
        if let Some(current) = self.current_snapshot_id
            && !ids.contains(&current)
        {
            return Err(node
                .required("current-snapshot-id")?
                .corrupt(format!("there is no snapshot {current} in \"snapshots\"")));
        }
        for (name, reference) in &self.refs {
            if !ids.contains(&reference.snapshot_id) {
                return Err(node.corrupt(format!(
                    "refs: \"{name}\" names snapshot {}, which is not in \"snapshots\"",
                    reference.snapshot_id
                )));
            }
        }
        let main = self.refs.get(MAIN_BRANCH).map(|main| main.snapshot_id);
        if main != self.current_snapshot_id {
            let show = |id: Option<i64>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
            return Err(node.corrupt(format!(
                "refs: \"{MAIN_BRANCH}\" names snapshot {}, but \"current-snapshot-id\" is {}",
                show(main),
                show(self.current_snapshot_id)
            )));
        }
        Ok(())
    }

    /// The metadata in its JSON form, as a file of the table's format version.
    pub fn to_json(&self) -> Value {
        let mut writer = ObjectWriter::default();
        writer
            .put("format-version", self.format_version)
            .put_some("table-uuid", self.table_uuid.map(|uuid| uuid.to_string()))
            .put("location", self.location.as_str());
        if self.format_version > 1 {
            writer.put("last-sequence-number", self.last_sequence_number);
        }
        writer
            .put("last-updated-ms", self.last_updated_ms)
            .put("last-column-id", self.last_column_id);
        if self.format_version == 1 {
            // For readers that know only what is current.
            writer
                .put_some(
                    "schema",
                    self.current_schema().map(|schema| schema.to_json()),
                )
                .put_some(
                    "partition-spec",
                    self.default_partition_spec()
                        .map(|spec| spec.fields_to_json()),
                );
        }
        writer
            .put("current-schema-id", self.current_schema_id)
            .put_list(
                "schemas",
                self.schemas.values().map(|schema| schema.to_json()),
            )
            .put("default-spec-id", self.default_spec_id)
            .put_list(
                "partition-specs",
                self.partition_specs.values().map(|spec| spec.to_json()),
            )
            .put_some("last-partition-id", self.last_partition_id)
            .put("default-sort-order-id", self.default_sort_order_id)
            .put_list(
                "sort-orders",
                self.sort_orders.values().map(|order| order.to_json()),
            )
            .put_text_map("properties", &self.properties)
            .put(
                "current-snapshot-id",
                match (self.current_snapshot_id, self.format_version) {
                    (Some(snapshot_id), _) => Value::from(snapshot_id),
                    (None, 1 | 2) => Value::from(-1),
                    (None, _) => Value::Null,
                },
            )
            .put_some("next-row-id", self.next_row_id);
        if !self.encryption_keys.is_empty() {
            writer.put_list("encryption-keys", self.encryption_keys.iter().cloned());
        }
        let refs: Map<String, Value> = self
            .refs
            .iter()
            .map(|(name, reference)| (name.clone(), reference.to_json()))
            .collect();
        writer
            .put("refs", refs)
            .put_list(
                "snapshots",
                self.snapshots.iter().map(|snapshot| snapshot.to_json()),
            )
            .put_list(
                "statistics",
                self.statistics.iter().map(StatisticsFile::to_json),
            )
            .put_list(
                "partition-statistics",
                self.partition_statistics
                    .iter()
                    .map(PartitionStatisticsFile::to_json),
            )
            .put_list(
                "snapshot-log",
                self.snapshot_log.iter().map(|entry| entry.to_json()),
            )
            .put_list(
                "metadata-log",
                self.metadata_log.iter().map(MetadataLogEntry::to_json),
            )
            .finish(&self.unknown)
    }
}

/// Decompresses gzip of one or more members, to no more than `limit` bytes.
fn decompress(bytes: &[u8], limit: u64) -> Result<Vec<u8>> {
    let mut decompressed = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(limit.saturating_add(1))
        .read_to_end(&mut decompressed)
        .map_err(|error| {
            Error::new(ErrorKind::Corrupt, format!("not valid gzip: {error}")).with_source(error)
        })?;
    if decompressed.len() as u64 > limit {
        return Err(Error::not_supported(format!(
            "the compressed metadata is larger than {limit} bytes"
        )));
    }
    Ok(decompressed)
}

fn read_format_version(node: &Node<'_>) -> Result<u8> {
    let version = node.required("format-version")?;
    match version.long()? {
        supported @ 1..=3 => Ok(supported as u8),
        newer @ 4.. => Err(version
            .error(
                ErrorKind::NotSupported,
                format!("Iceberg format version {newer} is newer than {MAX_FORMAT_VERSION}, the newest that this version reads"),
            )
            .with_hint("Use a newer version of the extension, or a table of an older format version.")),
        none => Err(version.corrupt(format!("{none} is no Iceberg format version"))),
    }
}

fn read_table_uuid(node: &Node<'_>, format_version: u8) -> Result<Option<Uuid>> {
    let uuid = match node.optional("table-uuid")? {
        None if format_version == 1 => return Ok(None),
        None => node.required("table-uuid")?,
        Some(uuid) => uuid,
    };
    match Uuid::try_parse(uuid.text()?) {
        Ok(parsed) => Ok(Some(parsed)),
        Err(error) => Err(uuid.corrupt(format!("not a UUID: {error}"))),
    }
}

/// The list at `key` by id; `None` where v1 may leave it out.
fn read_by_id<T>(
    node: &Node<'_>,
    key: &str,
    format_version: u8,
    read: impl Fn(&Node<'_>) -> Result<(i32, T)>,
) -> Result<Option<BTreeMap<i32, Arc<T>>>> {
    let list = match node.optional(key)? {
        None if format_version == 1 => return Ok(None),
        None => node.required(key)?,
        Some(list) => list,
    };
    let mut by_id = BTreeMap::new();
    for item in list.items()? {
        let (id, value) = read(&item)?;
        if by_id.insert(id, Arc::new(value)).is_some() {
            return Err(item.corrupt(format!("the id {id} is there twice")));
        }
    }
    Ok(Some(by_id))
}

fn read_schemas(node: &Node<'_>, format_version: u8) -> Result<(BTreeMap<i32, Arc<Schema>>, i32)> {
    let schemas = read_by_id(node, "schemas", format_version, |item| {
        let schema = Schema::from_node(item)?;
        Ok((schema.schema_id(), schema))
    })?;
    let Some(schemas) = schemas else {
        let schema = Schema::from_node(&node.required("schema")?)?;
        let schema_id = schema.schema_id();
        return Ok((BTreeMap::from([(schema_id, Arc::new(schema))]), schema_id));
    };
    let current = node.required("current-schema-id")?;
    let current_id = current.int()?;
    if !schemas.contains_key(&current_id) {
        return Err(current.corrupt(format!("there is no schema {current_id} in \"schemas\"")));
    }
    Ok((schemas, current_id))
}

fn read_partition_specs(
    node: &Node<'_>,
    format_version: u8,
) -> Result<(BTreeMap<i32, Arc<PartitionSpec>>, i32)> {
    let specs = read_by_id(node, "partition-specs", format_version, |item| {
        let spec = PartitionSpec::from_node(item)?;
        Ok((spec.spec_id, spec))
    })?;
    let Some(specs) = specs else {
        let spec = PartitionSpec::from_fields_node(0, &node.required("partition-spec")?)?;
        return Ok((BTreeMap::from([(0, Arc::new(spec))]), 0));
    };
    let default = node.required("default-spec-id")?;
    let default_id = default.int()?;
    if !specs.contains_key(&default_id) {
        return Err(default.corrupt(format!(
            "there is no spec {default_id} in \"partition-specs\""
        )));
    }
    Ok((specs, default_id))
}

fn read_sort_orders(
    node: &Node<'_>,
    format_version: u8,
) -> Result<(BTreeMap<i32, Arc<SortOrder>>, i32)> {
    let orders = read_by_id(node, "sort-orders", format_version, |item| {
        let order = SortOrder::from_node(item)?;
        Ok((order.order_id, order))
    })?;
    let Some(orders) = orders else {
        let unsorted = Arc::new(SortOrder::unsorted());
        return Ok((
            BTreeMap::from([(UNSORTED_ORDER_ID, unsorted)]),
            UNSORTED_ORDER_ID,
        ));
    };
    let default = node.required("default-sort-order-id")?;
    let default_id = default.int()?;
    if default_id != UNSORTED_ORDER_ID && !orders.contains_key(&default_id) {
        return Err(default.corrupt(format!(
            "there is no sort order {default_id} in \"sort-orders\""
        )));
    }
    Ok((orders, default_id))
}

/// Branches and tags, with `main` where the file only has a current snapshot.
fn read_refs(
    node: &Node<'_>,
    current_snapshot_id: Option<i64>,
) -> Result<BTreeMap<String, SnapshotReference>> {
    let mut refs = BTreeMap::new();
    if let Some(object) = node.optional("refs")? {
        for (name, reference) in object.entries()? {
            refs.insert(name.to_owned(), SnapshotReference::from_node(&reference)?);
        }
    }
    if let Some(snapshot_id) = current_snapshot_id {
        refs.entry(MAIN_BRANCH.to_owned())
            .or_insert_with(|| SnapshotReference::branch(snapshot_id));
    }
    Ok(refs)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn decompression_has_its_limit() {
        let member = |size: usize| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&vec![b' '; size]).unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(decompress(&member(1_000), 1_000).unwrap().len(), 1_000);
        let fault = decompress(&member(1_001), 1_000).unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::NotSupported);
        assert!(
            fault.message().contains("larger than 1000 bytes"),
            "{fault}"
        );
        // All members count together.
        let members = [member(600), member(600)].concat();
        assert!(decompress(&members, 1_000).is_err());
        assert_eq!(decompress(&members, 1_200).unwrap().len(), 1_200);
    }
}
