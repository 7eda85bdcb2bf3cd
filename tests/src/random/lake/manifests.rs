//! Manifests: written for what a commit adds, again for what it removes, and merged. Spec: "Manifests".

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{Item, Manifest, Member, Writer, metadata::schema_json};
use crate::random::spec::Tuple;
use crate::synthetic::{self, Listed, Record, manifest_of};

impl Writer<'_> {
    pub(super) fn spec_of(&self, item: Item) -> usize {
        match item {
            Item::Data(file) => self.files[file].spec,
            Item::Delete(file) => self.deletes[file].spec,
        }
    }

    pub(super) fn tuple_of(&self, item: Item) -> &Tuple {
        match item {
            Item::Data(file) => &self.files[file].tuple,
            Item::Delete(file) => &self.deletes[file].tuple,
        }
    }

    pub(super) fn sequence_of(&self, item: Item) -> i64 {
        match item {
            Item::Data(file) => self.files[file].sequence,
            Item::Delete(file) => self.deletes[file].sequence,
        }
    }

    pub(super) fn write_manifests(&mut self, added: &[Item], removed: &[Item]) {
        let snapshot_id = Self::id_of(self.snapshots.len());
        for place in 0..self.manifests.len() {
            let touched = self.manifests[place]
                .members
                .iter()
                .any(|member| member.status != 2 && removed.contains(&member.item));
            if !touched {
                continue;
            }
            let mut members = self.manifests[place].members.clone();
            members.retain(|member| member.status != 2);
            for member in &mut members {
                if removed.contains(&member.item) {
                    member.status = 2;
                    member.snapshot_id = snapshot_id;
                } else {
                    member.status = 0;
                }
            }
            let (deletes, spec) = (self.manifests[place].deletes, self.manifests[place].spec);
            self.manifests[place] = self.manifest(deletes, spec, members);
        }
        for deletes in [false, true] {
            for spec in 0..self.specs.len() {
                let members: Vec<Member> = added
                    .iter()
                    .filter(|item| {
                        matches!(item, Item::Delete(_)) == deletes && self.spec_of(**item) == spec
                    })
                    .map(|item| Member {
                        item: *item,
                        status: 1,
                        snapshot_id,
                    })
                    .collect();
                let pieces = *self.chance.pick(&[1, 1, 2, 3]);
                let length = members.len().div_ceil(pieces).max(1);
                for members in members.chunks(length) {
                    let manifest = self.manifest(deletes, spec, members.to_vec());
                    self.manifests.push(manifest);
                }
            }
        }
        // A manifest without live files leaves the table in the commit after.
        let current = snapshot_id;
        self.manifests.retain(|manifest| {
            let live = manifest.members.iter().any(|member| member.status != 2);
            live || manifest.listed.added_snapshot_id == Some(current)
        });
    }

    /// Writes all data files' entries of a spec into one manifest.
    pub(super) fn merge_manifests(&mut self) {
        for spec in 0..self.specs.len() {
            let is_merged = |manifest: &Manifest| !manifest.deletes && manifest.spec == spec;
            let mut members: Vec<Member> = self
                .manifests
                .iter()
                .filter(|manifest| is_merged(manifest))
                .flat_map(|manifest| manifest.members.clone())
                .filter(|member| member.status != 2)
                .collect();
            members.iter_mut().for_each(|member| member.status = 0);
            self.manifests.retain(|manifest| !is_merged(manifest));
            if !members.is_empty() {
                let manifest = self.manifest(false, spec, members);
                self.manifests.push(manifest);
            }
        }
    }

    pub(super) fn manifest(
        &mut self,
        deletes: bool,
        spec: usize,
        members: Vec<Member>,
    ) -> Manifest {
        let typed = self.specs[spec].under(&self.columns.fields);
        let avro_spec = synthetic::Spec {
            id: typed.id,
            fields: typed.to_json(),
        };
        let records: Vec<Record> = members.iter().map(|member| self.record(member)).collect();
        let content = if deletes { "deletes" } else { "data" };
        let schema = schema_json(&self.columns.fields, self.schemas.len() - 1);
        let bytes = manifest_of(content, &avro_spec, &schema, records.into_iter());
        self.next_file += 1;
        let name = format!("metadata/manifest-{:04}.avro", self.next_file);
        self.put(&name, &bytes);
        let live = members.iter().filter(|member| member.status != 2);
        let lowest = live.map(|member| self.sequence_of(member.item)).min();
        let tuples: Vec<&Tuple> = members
            .iter()
            .map(|member| self.tuple_of(member.item))
            .collect();
        let count = |status| {
            members
                .iter()
                .filter(|member| member.status == status)
                .count()
        };
        let partitions = typed.summaries(&tuples);
        let listed = Listed {
            path: self.path(&name),
            length: bytes.len(),
            partition_spec_id: self.specs[spec].id,
            content: i32::from(deletes),
            sequence_number: self.sequence,
            counts: Some([count(1), count(0), count(2)]),
            added_snapshot_id: Some(Self::id_of(self.snapshots.len())),
            min_sequence_number: lowest,
            partitions: if self.chance.percent(85) {
                partitions
            } else {
                Json::Null
            },
            ..Listed::default()
        };
        Manifest {
            deletes,
            spec,
            members,
            listed,
        }
    }

    pub(super) fn record(&self, member: &Member) -> Record {
        let spec = self.specs[self.spec_of(member.item)].under(&self.columns.fields);
        let (mut file, metrics) = match member.item {
            Item::Data(file) => {
                let file = &self.files[file];
                let json = json!({
                    "content": 0, "file_path": file.path, "file_format": file.format,
                    "record_count": file.rows.len(), "file_size_in_bytes": file.size,
                });
                (json, &file.metrics)
            }
            Item::Delete(file) => (self.deletes[file].file.clone(), &self.deletes[file].metrics),
        };
        file["value_counts"] = entries(&metrics.value_counts);
        file["null_value_counts"] = entries(&metrics.null_counts);
        file["nan_value_counts"] = entries(&metrics.nan_counts);
        file["lower_bounds"] = entries(&metrics.lower);
        file["upper_bounds"] = entries(&metrics.upper);
        Record {
            status: member.status,
            snapshot_id: member.snapshot_id,
            sequence_number: (member.status != 1).then(|| self.sequence_of(member.item)),
            file,
            partition: Some(spec.avro_tuple(self.tuple_of(member.item))),
        }
    }
}

fn entries<V: serde::Serialize + Clone>(map: &BTreeMap<i32, V>) -> Json {
    if map.is_empty() {
        return Json::Null;
    }
    map.iter()
        .map(|(key, value)| json!({"key": key, "value": value}))
        .collect()
}
