//! A random Iceberg table with a history: snapshots that append files, delete rows in every way, drop files and
//! rewrite manifests, under schemas and partition specs that change between them.
//! Spec: "Table Metadata", "Snapshots", "Scan Planning", "Delete Formats".

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::bounds::{Detail, Metrics, metrics};
use super::data_file::parquet;
use super::pool::Source;
use super::schema::{Columns, ROW_NUMBER, is_readable, project};
use super::seed::Chance;
use super::spec::{PartitionField, Spec, Tuple, same_tuple};
use super::transform::Transform;
use super::value::{Cell, Field, Kind, Row, Scalar};
use crate::synthetic::{
    self, Listed, Record, deletion_vector, manifest_list, manifest_of, position_delete_file, puffin,
};

/// A table that was written.
pub struct Lake {
    pub location: PathBuf,
    /// The table's current columns.
    pub fields: Vec<Field>,
    /// Its states, the current one last.
    pub snapshots: Vec<Snapshot>,
    /// What is in it, for a reader of a failure.
    pub description: String,
}

/// A state of the table.
pub struct Snapshot {
    pub id: i64,
    /// The columns at that time.
    pub fields: Vec<Field>,
    pub rows: Vec<LiveRow>,
}

/// A row that is not deleted.
#[derive(Clone)]
pub struct LiveRow {
    pub path: String,
    pub position: i64,
    /// What the file has, or is taken to have.
    row: Row,
    columns: Arc<Vec<Field>>,
}

impl LiveRow {
    /// The row under a schema.
    pub fn under(&self, fields: &[Field]) -> Row {
        project(&self.row, &self.columns, fields)
    }
}

struct DataFile {
    path: String,
    size: usize,
    columns: Arc<Vec<Field>>,
    spec: usize,
    tuple: Tuple,
    rows: Vec<Row>,
    deleted: Vec<bool>,
    metrics: Metrics,
    sequence: i64,
}

struct DeleteFile {
    spec: usize,
    tuple: Tuple,
    /// The file as its manifest tells of it, without partition and metrics.
    file: Json,
    metrics: Metrics,
    /// The data file of a deletion vector.
    vector_of: Option<usize>,
    sequence: i64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Item {
    Data(usize),
    Delete(usize),
}

#[derive(Debug, Clone)]
struct Member {
    item: Item,
    status: i32,
    snapshot_id: i64,
}

struct Manifest {
    deletes: bool,
    spec: usize,
    members: Vec<Member>,
    listed: Listed,
}

struct Writer<'a> {
    chance: &'a mut Chance,
    directory: PathBuf,
    version_3: bool,
    columns: Columns,
    sources: BTreeMap<i32, (Kind, Source)>,
    schemas: Vec<Vec<Field>>,
    specs: Vec<Spec>,
    partition_fields: Vec<PartitionField>,
    files: Vec<DataFile>,
    deletes: Vec<DeleteFile>,
    manifests: Vec<Manifest>,
    snapshots: Vec<Snapshot>,
    snapshot_json: Vec<Json>,
    next_row: i64,
    next_file: usize,
    sequence: i64,
    detail: Detail,
}

const FIRST_COMMIT_MS: i64 = 1_735_689_600_000;
/// More partitions than this a batch does not get: its other rows are left out.
const PARTITIONS: usize = 8;
/// Once a table has so many files, further loads write one file a partition.
const FILES: usize = 16;

/// Writes a random table into the directory.
pub fn write(chance: &mut Chance, directory: &Path) -> Lake {
    let version_3 = chance.percent(50);
    let columns = Columns::random(chance, version_3);
    let mut partition_fields = Vec::new();
    let spec = Spec::random(chance, 0, &columns, &mut partition_fields);
    let detail = *chance.pick(&[
        Detail::Full,
        Detail::Full,
        Detail::Full,
        Detail::Patchy,
        Detail::Counts,
        Detail::Bounds,
        Detail::None,
    ]);
    let mut writer = Writer {
        directory: directory.to_owned(),
        version_3,
        sources: BTreeMap::new(),
        schemas: vec![columns.fields.clone()],
        columns,
        specs: vec![spec],
        partition_fields,
        files: Vec::new(),
        deletes: Vec::new(),
        manifests: Vec::new(),
        snapshots: Vec::new(),
        snapshot_json: Vec::new(),
        next_row: 0,
        next_file: 0,
        sequence: 0,
        detail,
        chance,
    };
    let snapshots = writer.chance.between(1, 5);
    for number in 0..snapshots {
        if number > 0 {
            writer.evolve();
        }
        writer.commit(number == 0);
    }
    // The schema may have changed since the last rows were written.
    if writer.chance.percent(25) {
        writer.evolve();
    }
    writer.finish()
}

impl Writer<'_> {
    fn id_of(snapshot: usize) -> i64 {
        7_000_000_000_000 + snapshot as i64 * 17
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory.display())
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        synthetic::write(&self.directory.join(name), bytes);
    }

    fn evolve(&mut self) {
        if self.chance.percent(40) {
            let sources = |specs: &[Spec]| -> Vec<i32> {
                specs
                    .iter()
                    .flat_map(|spec| &spec.fields)
                    .flat_map(|field| field.source.clone())
                    .collect()
            };
            let current = sources(&self.specs[self.specs.len() - 1..]);
            let ever = sources(&self.specs);
            let mut columns = self.columns.clone();
            for _ in 0..self.chance.between(1, 3) {
                columns.evolve(self.chance, &current, &ever);
            }
            // A schema under which live rows cannot be read is not tried.
            let readable = self.files.iter().all(|file| {
                file.rows
                    .iter()
                    .all(|row| is_readable(row, &file.columns, &columns.fields))
            });
            if readable {
                self.columns = columns;
                self.schemas.push(self.columns.fields.clone());
            }
        }
        if self.chance.percent(30) {
            let id = self.specs.len() as i32;
            let spec = Spec::random(self.chance, id, &self.columns, &mut self.partition_fields);
            self.specs.push(spec);
        }
    }

    fn commit(&mut self, first: bool) {
        self.sequence += 1;
        let mut added = Vec::new();
        let mut removed = Vec::new();
        let action = if first { 0 } else { self.chance.below(10) };
        if action < 5 {
            added.extend(self.append());
        }
        if action == 4 || (5..8).contains(&action) {
            self.delete_rows(&mut added, &mut removed);
        }
        if action == 8 {
            let live = self.live_files();
            if live.len() > 1 {
                removed.push(Item::Data(*self.chance.pick(&live)));
            }
        }
        self.write_manifests(&added, &removed);
        if action == 9 {
            self.merge_manifests();
        }
        self.write_snapshot();
    }

    /// The data files that the current state holds.
    fn live_files(&self) -> Vec<usize> {
        let members = self.manifests.iter().flat_map(|manifest| &manifest.members);
        members
            .filter(|member| member.status != 2)
            .filter_map(|member| match member.item {
                Item::Data(file) => Some(file),
                Item::Delete(_) => None,
            })
            .collect()
    }

    fn append(&mut self) -> Vec<Item> {
        let fields = self.columns.fields.clone();
        let count = *self.chance.pick(&[1, 20, 60, 120, 250, 400]);
        // A slice of each column's values, so that files of one load differ from those of others.
        let (start, width) = if self.chance.percent(50) {
            (0.0, 1.0)
        } else {
            (self.chance.below(4) as f64 / 4.0, 0.25)
        };
        let spec = self.specs.len() - 1;
        let mut partitions: Vec<(Tuple, Vec<Row>)> = Vec::new();
        for number in 0..count {
            let place = start + width * number as f64 / count as f64;
            let row = self.row(&fields, place);
            let tuple = self.specs[spec].tuple(&row);
            match partitions
                .iter()
                .position(|(other, _)| same_tuple(other, &tuple))
            {
                Some(place) => partitions[place].1.push(row),
                None if partitions.len() < PARTITIONS => partitions.push((tuple, vec![row])),
                None => {}
            }
        }
        let mut items = Vec::new();
        for (tuple, mut rows) in partitions {
            if self.chance.percent(20) {
                self.chance.shuffle(&mut rows);
            }
            let pieces = *self.chance.pick(&[1, 1, 2, 4]);
            let pieces = if self.files.len() < FILES { pieces } else { 1 };
            let length = rows.len().div_ceil(pieces).max(1);
            for rows in rows.chunks(length) {
                items.push(self.data_file(&fields, spec, &tuple, rows.to_vec()));
            }
        }
        items
    }

    fn row(&mut self, fields: &[Field], place: f64) -> Row {
        let number = self.next_row;
        self.next_row += 1;
        fields
            .iter()
            .map(|field| {
                if field.id == ROW_NUMBER {
                    let number = match field.kind {
                        Kind::Int => Scalar::Int(number as i32),
                        _ => Scalar::Long(number),
                    };
                    return (field.id, Cell::Scalar(number));
                }
                let known = self.sources.get(&field.id);
                if known.is_none_or(|(kind, _)| *kind != field.kind) {
                    let source = Source::new(self.chance, field);
                    self.sources.insert(field.id, (field.kind.clone(), source));
                }
                let source = &self.sources[&field.id].1;
                (field.id, source.cell(self.chance, field, place))
            })
            .collect()
    }

    fn data_file(&mut self, fields: &[Field], spec: usize, tuple: &Tuple, rows: Vec<Row>) -> Item {
        let number = self.next_file;
        self.next_file += 1;
        let name = format!("data/{number:04}.parquet");
        let mut columns = fields.to_vec();
        // As in a table that was migrated: columns of identity partitions are not in the file.
        if self.chance.percent(8) {
            columns.retain(|column| {
                !self.specs[spec].fields.iter().any(|field| {
                    field.transform == Transform::Identity && field.source == [column.id]
                })
            });
        }
        if columns.is_empty() {
            columns = fields.to_vec();
        }
        if self.chance.percent(30) {
            self.chance.shuffle(&mut columns);
        }
        let bytes = parquet(self.chance, &columns, &rows);
        self.put(&name, &bytes);
        let detail = if self.chance.percent(85) {
            self.detail
        } else {
            *self
                .chance
                .pick(&[Detail::None, Detail::Patchy, Detail::Full])
        };
        let metrics = metrics(self.chance, &columns, &rows, detail);
        self.files.push(DataFile {
            path: self.path(&name),
            size: bytes.len(),
            columns: Arc::new(fields.to_vec()),
            spec,
            tuple: tuple.clone(),
            deleted: vec![false; rows.len()],
            rows,
            metrics,
            sequence: self.sequence,
        });
        Item::Data(self.files.len() - 1)
    }

    fn delete_rows(&mut self, added: &mut Vec<Item>, removed: &mut Vec<Item>) {
        if self.chance.percent(40) {
            self.delete_by_equality(added);
        } else {
            self.delete_by_position(added, removed);
        }
    }

    fn delete_by_position(&mut self, added: &mut Vec<Item>, removed: &mut Vec<Item>) {
        let mut live = self.live_files();
        self.chance.shuffle(&mut live);
        live.truncate(self.chance.between(1, 4) as usize);
        for file in live {
            let share = *self.chance.pick(&[3, 30, 100]);
            let mut positions = Vec::new();
            for position in 0..self.files[file].rows.len() {
                if self.chance.percent(share) {
                    positions.push(position);
                    self.files[file].deleted[position] = true;
                }
            }
            if positions.is_empty() {
                continue;
            }
            let item = if self.version_3 {
                self.deletion_vector(file, &mut positions, added, removed)
            } else {
                self.position_deletes(file, &positions)
            };
            added.push(item);
        }
    }

    fn delete_name(&mut self, extension: &str) -> String {
        self.next_file += 1;
        format!("data/{:04}-deletes.{extension}", self.next_file)
    }

    /// A deletion vector, which takes the place of the file's earlier one.
    fn deletion_vector(
        &mut self,
        file: usize,
        positions: &mut Vec<usize>,
        added: &mut Vec<Item>,
        removed: &mut Vec<Item>,
    ) -> Item {
        let mut earlier = self
            .deletes
            .iter()
            .enumerate()
            .filter(|(_, delete)| delete.vector_of == Some(file));
        if let Some((earlier, delete)) = earlier.next_back() {
            let before = delete.file["positions"]
                .as_array()
                .expect("a vector has positions");
            positions.extend(
                before
                    .iter()
                    .filter_map(Json::as_u64)
                    .map(|position| position as usize),
            );
            positions.sort_unstable();
            positions.dedup();
            let earlier = Item::Delete(earlier);
            if added.contains(&earlier) {
                added.retain(|item| *item != earlier);
            } else {
                removed.push(earlier);
            }
        }
        let name = self.delete_name("puffin");
        let path = self.files[file].path.clone();
        let blob = deletion_vector(positions.iter().map(|position| *position as u64));
        let length = blob.len();
        let (bytes, offsets) = puffin(&[(path.as_str(), positions.len(), blob)]);
        self.put(&name, &bytes);
        let json = json!({
            "content": 1, "file_path": self.path(&name), "file_format": "PUFFIN", "record_count": positions.len(),
            "file_size_in_bytes": bytes.len(), "referenced_data_file": path, "content_offset": offsets[0],
            "content_size_in_bytes": length, "positions": positions,
        });
        self.deletes.push(DeleteFile {
            spec: self.files[file].spec,
            tuple: self.files[file].tuple.clone(),
            file: json,
            metrics: Metrics::default(),
            vector_of: Some(file),
            sequence: self.sequence,
        });
        Item::Delete(self.deletes.len() - 1)
    }

    fn position_deletes(&mut self, file: usize, positions: &[usize]) -> Item {
        let name = self.delete_name("parquet");
        let path = self.files[file].path.clone();
        let rows = positions
            .iter()
            .map(|position| (path.as_str(), *position as i64));
        let bytes = position_delete_file(rows);
        self.put(&name, &bytes);
        let referenced = self.chance.percent(50).then_some(&path);
        let json = json!({
            "content": 1, "file_path": self.path(&name), "file_format": "PARQUET", "record_count": positions.len(),
            "file_size_in_bytes": bytes.len(), "referenced_data_file": referenced,
        });
        let mut metrics = Metrics::default();
        if self.chance.percent(50) {
            metrics
                .lower
                .insert(2_147_483_546, path.as_bytes().to_vec());
            metrics
                .upper
                .insert(2_147_483_546, path.as_bytes().to_vec());
        }
        self.deletes.push(DeleteFile {
            spec: self.files[file].spec,
            tuple: self.files[file].tuple.clone(),
            file: json,
            metrics,
            vector_of: None,
            sequence: self.sequence,
        });
        Item::Delete(self.deletes.len() - 1)
    }

    /// An equality delete of some rows' values: of one partition, or of the whole table under a spec without fields.
    fn delete_by_equality(&mut self, added: &mut Vec<Item>) {
        let live = self.live_files();
        if live.is_empty() {
            return;
        }
        let fields = self.columns.fields.clone();
        let comparable: Vec<Field> = fields
            .iter()
            .filter(|field| {
                field.kind.is_scalar() && !matches!(field.kind, Kind::Float | Kind::Double)
            })
            .cloned()
            .collect();
        let mut keys = comparable;
        self.chance.shuffle(&mut keys);
        keys.truncate(self.chance.between(1, 2) as usize);
        let example = *self.chance.pick(&live);
        let whole_table = self.specs.iter().position(|spec| spec.fields.is_empty());
        let (spec, tuple) = match whole_table {
            Some(spec) if self.chance.percent(50) => (spec, Tuple::new()),
            _ => (self.files[example].spec, self.files[example].tuple.clone()),
        };
        let count = self.chance.between(1, 4);
        let mut rows: Vec<Row> = (0..count)
            .map(|_| {
                let file = &self.files[example];
                let row = self.chance.pick(&file.rows);
                let row = project(row, &file.columns, &fields);
                keys.iter()
                    .map(|key| (key.id, row[&key.id].clone()))
                    .collect()
            })
            .collect();
        rows.dedup();
        for key in &mut keys {
            key.required = false;
            key.initial_default = None;
        }
        let whole = self.specs[spec].fields.is_empty();
        for file in live {
            let file = &mut self.files[file];
            let in_scope = file.sequence < self.sequence
                && (whole || (file.spec == spec && same_tuple(&file.tuple, &tuple)));
            if !in_scope {
                continue;
            }
            for (position, row) in file.rows.iter().enumerate() {
                let row = project(row, &file.columns, &fields);
                let matches = rows.iter().any(|key| {
                    key.iter().all(|(id, cell)| match (cell, &row[id]) {
                        (Cell::Scalar(left), Cell::Scalar(right)) => left.is_same(right),
                        (left, right) => left == right,
                    })
                });
                file.deleted[position] |= matches;
            }
        }
        let name = self.delete_name("parquet");
        let bytes = parquet(self.chance, &keys, &rows);
        self.put(&name, &bytes);
        let ids: Vec<i32> = keys.iter().map(|key| key.id).collect();
        let json = json!({
            "content": 2, "file_path": self.path(&name), "file_format": "PARQUET", "record_count": rows.len(),
            "file_size_in_bytes": bytes.len(), "equality_ids": ids,
        });
        let metrics = metrics(self.chance, &keys, &rows, self.detail);
        self.deletes.push(DeleteFile {
            spec,
            tuple,
            file: json,
            metrics,
            vector_of: None,
            sequence: self.sequence,
        });
        added.push(Item::Delete(self.deletes.len() - 1));
    }

    fn spec_of(&self, item: Item) -> usize {
        match item {
            Item::Data(file) => self.files[file].spec,
            Item::Delete(file) => self.deletes[file].spec,
        }
    }

    fn tuple_of(&self, item: Item) -> &Tuple {
        match item {
            Item::Data(file) => &self.files[file].tuple,
            Item::Delete(file) => &self.deletes[file].tuple,
        }
    }

    fn sequence_of(&self, item: Item) -> i64 {
        match item {
            Item::Data(file) => self.files[file].sequence,
            Item::Delete(file) => self.deletes[file].sequence,
        }
    }

    fn write_manifests(&mut self, added: &[Item], removed: &[Item]) {
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
    fn merge_manifests(&mut self) {
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

    fn manifest(&mut self, deletes: bool, spec: usize, members: Vec<Member>) -> Manifest {
        let avro_spec = synthetic::Spec {
            id: self.specs[spec].id,
            fields: self.specs[spec].to_json(),
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
        let partitions = self.specs[spec].summaries(&tuples);
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

    fn record(&self, member: &Member) -> Record {
        let spec = &self.specs[self.spec_of(member.item)];
        let (mut file, metrics) = match member.item {
            Item::Data(file) => {
                let file = &self.files[file];
                let json = json!({
                    "content": 0, "file_path": file.path, "file_format": "PARQUET",
                    "record_count": file.rows.len(), "file_size_in_bytes": file.size,
                });
                (json, &file.metrics)
            }
            Item::Delete(file) => {
                let mut json = self.deletes[file].file.clone();
                if let Json::Object(members) = &mut json {
                    members.remove("positions");
                }
                (json, &self.deletes[file].metrics)
            }
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

    fn write_snapshot(&mut self) {
        let number = self.snapshots.len();
        let id = Self::id_of(number);
        let listed: Vec<Listed> = self
            .manifests
            .iter()
            .map(|manifest| manifest.listed.clone())
            .collect();
        let name = format!("metadata/snap-{id}.avro");
        self.put(&name, &manifest_list(id, &listed));
        let mut json = json!({
            "snapshot-id": id, "sequence-number": self.sequence, "schema-id": self.schemas.len() - 1,
            "timestamp-ms": FIRST_COMMIT_MS + number as i64 * 60_000, "summary": {"operation": "overwrite"},
            "manifest-list": self.path(&name),
        });
        if number > 0 {
            json["parent-snapshot-id"] = json!(Self::id_of(number - 1));
        }
        if self.version_3 {
            json["first-row-id"] = json!(self.next_row);
            json["added-rows"] = json!(0);
        }
        self.snapshot_json.push(json);
        let mut rows = Vec::new();
        for file in self.live_files() {
            let file = &self.files[file];
            for (position, row) in file.rows.iter().enumerate() {
                if !file.deleted[position] {
                    rows.push(LiveRow {
                        path: file.path.clone(),
                        position: position as i64,
                        row: row.clone(),
                        columns: file.columns.clone(),
                    });
                }
            }
        }
        self.snapshots.push(Snapshot {
            id,
            fields: self.columns.fields.clone(),
            rows,
        });
    }

    fn finish(self) -> Lake {
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
        Lake {
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

fn schema_json(fields: &[Field], id: usize) -> Json {
    json!({"type": "struct", "schema-id": id, "fields": fields.iter().map(Field::to_json).collect::<Vec<_>>()})
}

fn entries<V: serde::Serialize + Clone>(map: &BTreeMap<i32, V>) -> Json {
    if map.is_empty() {
        return Json::Null;
    }
    map.iter()
        .map(|(key, value)| json!({"key": key, "value": value}))
        .collect()
}
