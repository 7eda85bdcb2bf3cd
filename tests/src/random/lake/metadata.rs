//! The table's metadata file, and a description of the table for whoever reads of a failure. Spec: "Table Metadata".

use serde_json::{Value as Json, json};

use super::{FIRST_COMMIT_MS, Item, Lake, Writer};
use crate::random::value::Field;
use crate::synthetic;

impl Writer<'_> {
    pub(super) fn finish(self) -> Lake {
        let schemas: Vec<Json> = self
            .schemas
            .iter()
            .enumerate()
            .map(|(id, fields)| schema_json(fields, id))
            .collect();
        let specs: Vec<Json> = self
            .specs
            .iter()
            .map(|spec| {
                let fields: Vec<Json> =
                    spec.to_json().into_iter().map(|(field, _)| field).collect();
                json!({"spec-id": spec.id, "fields": fields})
            })
            .collect();
        let current = Self::id_of(self.snapshots.len() - 1);
        let log: Vec<Json> = self
            .snapshot_json
            .iter()
            .map(|json| json!({"snapshot-id": json["snapshot-id"], "timestamp-ms": json["timestamp-ms"]}))
            .collect();
        let mut metadata = json!({
            "format-version": if self.version_3 { 3 } else { 2 },
            "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": self.directory.display().to_string(),
            "last-sequence-number": self.sequence, "last-updated-ms": FIRST_COMMIT_MS + 3_600_000,
            "last-column-id": self.columns.last_id, "schemas": schemas, "current-schema-id": self.schemas.len() - 1,
            "partition-specs": specs, "default-spec-id": self.specs.len() - 1,
            "last-partition-id": 999 + self.partition_fields.len(),
            "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0, "properties": {},
            "current-snapshot-id": current, "snapshots": self.snapshot_json, "snapshot-log": log,
            "metadata-log": [], "refs": {"main": {"snapshot-id": current, "type": "branch"}},
        });
        if self.version_3 {
            metadata["next-row-id"] = json!(self.next_row);
        }
        synthetic::write_json(&self.directory.join("metadata/v1.metadata.json"), &metadata);
        let description = self.describe();
        let fields = self.partition_fields.iter();
        Lake {
            partitioning: fields.map(|field| field.source.clone()).collect(),
            location: self.directory,
            fields: self.columns.fields,
            snapshots: self.snapshots,
            description,
        }
    }

    fn describe(&self) -> String {
        use std::fmt::Write;
        let mut text = format!("format version {}\n", if self.version_3 { 3 } else { 2 });
        for spec in &self.specs {
            let fields: Vec<String> = spec
                .fields
                .iter()
                .map(|field| format!("{}({:?})", field.transform, field.source))
                .collect();
            let _ = writeln!(text, "spec {}: {}", spec.id, fields.join(", "));
        }
        for manifest in &self.manifests {
            let kind = if manifest.deletes { "deletes" } else { "data" };
            let _ = writeln!(
                text,
                "manifest {} of {kind}, spec {}",
                manifest.listed.path, manifest.spec
            );
            for member in &manifest.members {
                let tuple = self.tuple_of(member.item);
                let _ = match member.item {
                    Item::Data(file) => {
                        let file = &self.files[file];
                        let live = file.deleted.iter().filter(|deleted| !**deleted).count();
                        writeln!(
                            text,
                            "  status {} {}: {} rows, {live} live, {tuple:?}",
                            member.status,
                            file.path,
                            file.rows.len()
                        )
                    }
                    Item::Delete(file) => {
                        writeln!(
                            text,
                            "  status {} {} {tuple:?}",
                            member.status, self.deletes[file].file
                        )
                    }
                };
            }
        }
        text
    }
}

pub(super) fn schema_json(fields: &[Field], id: usize) -> Json {
    json!({"type": "struct", "schema-id": id, "fields": fields.iter().map(Field::to_json).collect::<Vec<_>>()})
}
