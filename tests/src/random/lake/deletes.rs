//! Deletes of rows: by position, by deletion vector, by equality. Spec: "Delete Formats", "Scan Planning".

use serde_json::{Value as Json, json};

use super::{DeleteFile, Item, Writer};
use crate::random::bounds::{Metrics, metrics};
use crate::random::data_file::parquet;
use crate::random::schema::project;
use crate::random::spec::{Tuple, same_tuple};
use crate::random::value::{Cell, Field, Kind, Row};
use crate::synthetic::{deletion_vector, position_delete_file, puffin};

/// The id of the column of paths in position delete files.
const FILE_PATH: i32 = 2_147_483_546;

impl Writer<'_> {
    pub(super) fn delete_rows(&mut self, added: &mut Vec<Item>, removed: &mut Vec<Item>) {
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
        let mut files = Vec::new();
        for file in live {
            let share = *self.chance.pick(&[3, 30, 100]);
            let mut positions = Vec::new();
            for position in 0..self.files[file].rows.len() {
                if self.chance.percent(share) {
                    positions.push(position);
                    self.files[file].deleted[position] = true;
                    self.files[file].by_position.insert(position);
                }
            }
            if !positions.is_empty() {
                files.push((file, positions));
            }
        }
        // A table of version 3 may have been one of version 2 before.
        let as_vectors = self.version_3 && (self.vectors || self.chance.percent(70));
        if as_vectors {
            self.vectors = true;
            for (file, _) in files {
                let item = self.deletion_vector(file, added, removed);
                added.push(item);
            }
            return;
        }
        while let Some(first) = files.pop() {
            let mut together = vec![first];
            // One delete file is of one partition.
            if self.chance.percent(70) {
                let (spec, tuple) = (
                    self.files[together[0].0].spec,
                    self.files[together[0].0].tuple.clone(),
                );
                let (same, others) = files.into_iter().partition(|(file, _)| {
                    self.files[*file].spec == spec && same_tuple(&self.files[*file].tuple, &tuple)
                });
                together.extend::<Vec<_>>(same);
                files = others;
            }
            let item = self.position_deletes(&together);
            added.push(item);
        }
    }

    pub(super) fn delete_name(&mut self, extension: &str) -> String {
        self.next_file += 1;
        format!("data/{:04}-deletes.{extension}", self.next_file)
    }

    /// A deletion vector, which takes the place of all earlier deletes of the file by position.
    fn deletion_vector(
        &mut self,
        file: usize,
        added: &mut Vec<Item>,
        removed: &mut Vec<Item>,
    ) -> Item {
        let earlier = self
            .deletes
            .iter()
            .rposition(|delete| delete.vector_of == Some(file));
        if let Some(earlier) = earlier.map(Item::Delete) {
            if added.contains(&earlier) {
                added.retain(|item| *item != earlier);
            } else {
                removed.push(earlier);
            }
        }
        let name = self.delete_name("puffin");
        let path = self.files[file].path.clone();
        let positions = self.files[file].by_position.clone();
        let blob = deletion_vector(positions.iter().map(|position| *position as u64));
        let length = blob.len();
        let (bytes, offsets) = puffin(&[(path.as_str(), positions.len(), blob)]);
        self.put(&name, &bytes);
        let json = json!({
            "content": 1, "file_path": self.path(&name), "file_format": "PUFFIN", "record_count": positions.len(),
            "file_size_in_bytes": bytes.len(), "referenced_data_file": path, "content_offset": offsets[0],
            "content_size_in_bytes": length,
        });
        self.delete_file(file, json, Metrics::default(), Some(file))
    }

    /// A position delete file of these files, which are of one partition.
    fn position_deletes(&mut self, files: &[(usize, Vec<usize>)]) -> Item {
        let name = self.delete_name("parquet");
        let mut rows: Vec<(&str, i64)> = files
            .iter()
            .flat_map(|(file, positions)| {
                let path = self.files[*file].path.as_str();
                positions
                    .iter()
                    .map(move |position| (path, *position as i64))
            })
            .collect();
        rows.sort_unstable();
        let bytes = position_delete_file(rows.iter().copied());
        self.put(&name, &bytes);
        let (first, last) = (rows[0].0.to_owned(), rows[rows.len() - 1].0.to_owned());
        let referenced = (first == last && self.chance.percent(50)).then_some(&first);
        let json = json!({
            "content": 1, "file_path": self.path(&name), "file_format": "PARQUET", "record_count": rows.len(),
            "file_size_in_bytes": bytes.len(), "referenced_data_file": referenced,
        });
        let mut metrics = Metrics::default();
        if self.chance.percent(50) {
            metrics.lower.insert(FILE_PATH, first.into_bytes());
            metrics.upper.insert(FILE_PATH, last.into_bytes());
        }
        self.delete_file(files[0].0, json, metrics, None)
    }

    /// Lists a delete file of the partition of a data file.
    fn delete_file(
        &mut self,
        file: usize,
        json: Json,
        metrics: Metrics,
        vector_of: Option<usize>,
    ) -> Item {
        self.deletes.push(DeleteFile {
            spec: self.files[file].spec,
            tuple: self.files[file].tuple.clone(),
            file: json,
            metrics,
            vector_of,
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
}
