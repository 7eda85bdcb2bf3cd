//! A random Iceberg table with a history: snapshots that append files, delete rows in every way, drop files and
//! rewrite manifests, under schemas and partition specs that change between them.
//! Spec: "Table Metadata", "Snapshots", "Scan Planning", "Delete Formats".

mod append;
mod deletes;
mod manifests;
mod metadata;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::bounds::{Detail, Metrics};
use super::pool::Source;
use super::schema::{Columns, is_readable, project};
use super::seed::Chance;
use super::spec::{PartitionField, Spec, Tuple};
use super::value::{Field, Kind, Row};
use crate::synthetic::{self, Listed, manifest_list};

/// A table that was written.
pub struct Lake {
    pub location: PathBuf,
    /// The table's current columns.
    pub fields: Vec<Field>,
    /// Its states, the current one last.
    pub snapshots: Vec<Snapshot>,
    /// The columns, after the ids of the structs around them, that partitions are made of.
    pub partitioning: Vec<Vec<i32>>,
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
    format: &'static str,
    size: usize,
    columns: Arc<Vec<Field>>,
    spec: usize,
    tuple: Tuple,
    rows: Vec<Row>,
    /// Which rows are deleted in any way, and which by their positions.
    deleted: Vec<bool>,
    by_position: BTreeSet<usize>,
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
    /// Whether there are deletion vectors: from then on there are no new position delete files.
    vectors: bool,
}

const FIRST_COMMIT_MS: i64 = 1_735_689_600_000;

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
        vectors: false,
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
}
