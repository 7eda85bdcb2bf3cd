//! What the partition values of a file say of its rows: the names they go by, and the columns
//! whose values they are. Spec: "Partitioning", "Column Projection".

use std::sync::Arc;

use super::FileScanTask;
use crate::spec::{
    Manifest, PartitionSpec, PrimitiveType, PrimitiveValue, Schema, TableMetadata, Transform, Type,
};

/// A field of the partition spec that a file was written by.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskPartitionField {
    /// Its name in the spec.
    pub name: String,
    /// The type of its values; `unknown` where only the manifest knows it.
    pub value_type: PrimitiveType,
    /// The id of the column whose values they are; `None` under any transform but `identity`.
    pub identity_source: Option<i32>,
}

/// The fields of the spec that the files of a manifest were written by, in the order of their
/// partition values.
pub(super) fn partition_fields(
    metadata: &TableMetadata,
    manifest: &Manifest,
) -> Arc<[TaskPartitionField]> {
    let spec_id = manifest.partition_spec_id();
    if let (Some(spec), Some(value_types)) = (
        metadata.partition_specs.get(&spec_id),
        metadata.partition_type(spec_id),
    ) {
        return fields_of(
            spec,
            value_types.fields().iter().map(|field| &field.field_type),
        );
    }
    // A spec that the table no longer lists is still in the manifest's own header.
    let header = manifest.header();
    let own = header.and_then(|header| {
        header
            .partition_spec
            .as_deref()
            .zip(header.schema.as_deref())
    });
    let Some((Ok(spec), Ok(schema))) = own.map(|(spec, schema)| {
        (
            PartitionSpec::parse_fields(spec_id, spec),
            Schema::parse(schema),
        )
    }) else {
        return Arc::default();
    };
    let value_types = spec.partition_type(&schema);
    fields_of(
        &spec,
        value_types.fields().iter().map(|field| &field.field_type),
    )
}

/// The spec that the files of a manifest were written by; `None` where that cannot be known.
pub(super) fn partition_spec(
    metadata: &TableMetadata,
    manifest: &Manifest,
) -> Option<Arc<PartitionSpec>> {
    let spec_id = manifest.partition_spec_id();
    if let Some(spec) = metadata.partition_specs.get(&spec_id) {
        return Some(Arc::clone(spec));
    }
    let fields = manifest.header()?.partition_spec.as_deref()?;
    PartitionSpec::parse_fields(spec_id, fields)
        .ok()
        .map(Arc::new)
}

fn fields_of<'a>(
    spec: &PartitionSpec,
    value_types: impl Iterator<Item = &'a Type>,
) -> Arc<[TaskPartitionField]> {
    spec.fields
        .iter()
        .zip(value_types)
        .map(|(field, value_type)| TaskPartitionField {
            name: field.name.clone(),
            value_type: value_type
                .as_primitive()
                .cloned()
                .unwrap_or(PrimitiveType::Unknown),
            identity_source: match field.transform {
                Transform::Identity => field.source_id(),
                _ => None,
            },
        })
        .collect()
}

impl FileScanTask {
    /// The partition fields with their values.
    pub fn partition_values(
        &self,
    ) -> impl Iterator<Item = (&TaskPartitionField, Option<&PrimitiveValue>)> {
        let values = self.partition.values.iter().map(Option::as_ref);
        self.partition_fields.iter().zip(values)
    }

    /// The value that all rows of the file have in a column, if its partition tells: `Some(None)`
    /// is null.
    pub fn identity_value(&self, field_id: i32) -> Option<Option<&PrimitiveValue>> {
        self.partition_values()
            .find(|(field, _)| field.identity_source == Some(field_id))
            .map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::test_files::{manifest_file, read_testdata};

    fn fields(specs: serde_json::Value) -> Vec<TaskPartitionField> {
        let metadata = TableMetadata::from_json(&json!({
            "format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
            "location": "/t", "last-sequence-number": 1, "last-updated-ms": 1,
            "last-column-id": 4, "current-schema-id": 0,
            "schemas": [{ "type": "struct", "schema-id": 0, "fields": [
                { "id": 3, "name": "l", "required": false, "type": "long" },
                { "id": 4, "name": "dec", "required": false, "type": "decimal(38, 2)" } ] }],
            "default-spec-id": 9, "partition-specs": specs, "last-partition-id": 1003,
            "default-sort-order-id": 0, "sort-orders": [{ "order-id": 0, "fields": [] }],
            "current-snapshot-id": null,
        }))
        .unwrap();
        // Its own header has spec 0: identity of "dec", field 4, which was decimal(10, 2).
        let manifest = Manifest::open(
            &manifest_file("m"),
            read_testdata("v2_decimal.avro"),
            |spec_id| metadata.partition_type(spec_id),
        )
        .unwrap();
        partition_fields(&metadata, &manifest).to_vec()
    }

    fn field(name: &str, precision: u8, identity_source: Option<i32>) -> TaskPartitionField {
        TaskPartitionField {
            name: name.to_owned(),
            value_type: PrimitiveType::Decimal {
                precision,
                scale: 2,
            },
            identity_source,
        }
    }

    #[test]
    fn the_tables_own_spec_goes_before_the_manifests() {
        let specs = json!([
            { "spec-id": 9, "fields": [] },
            { "spec-id": 0, "fields": [
                { "source-id": 4, "field-id": 1000, "name": "renamed", "transform": "identity" } ] },
        ]);
        assert_eq!(fields(specs), [field("renamed", 38, Some(4))]);
    }

    #[test]
    fn a_spec_that_the_table_has_not_is_the_manifests() {
        let specs = json!([{ "spec-id": 9, "fields": [] }]);
        assert_eq!(fields(specs), [field("dec", 10, Some(4))]);
    }

    #[test]
    fn other_transforms_tell_no_column() {
        for (transform, precision) in [("truncate[5]", 38), ("void", 38)] {
            let specs = json!([
                { "spec-id": 9, "fields": [] },
                { "spec-id": 0, "fields": [
                    { "source-id": 4, "field-id": 1000, "name": "x", "transform": transform } ] },
            ]);
            assert_eq!(fields(specs), [field("x", precision, None)], "{transform}");
        }
    }
}
