//! Loads: random rows, put into the files of their partitions.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{DataFile, Item, Writer};
use crate::random::avro_file::avro;
use crate::random::bounds::{Detail, metrics};
use crate::random::data_file::parquet;
use crate::random::pool::Source;
use crate::random::schema::ROW_NUMBER;
use crate::random::spec::{Tuple, same_tuple};
use crate::random::transform::Transform;
use crate::random::value::{Cell, Field, Kind, Row, Scalar};

/// More partitions than this a batch does not get: its other rows are left out.
const PARTITIONS: usize = 6;
/// Once a table has so many files, further loads write one file a partition.
const FILES: usize = 8;

impl Writer<'_> {
    pub(super) fn append(&mut self) -> Vec<Item> {
        let fields = self.columns.fields.clone();
        let count = *self.chance.pick(&[1, 20, 60, 120, 300]);
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
        let format = if self.chance.percent(12) {
            "AVRO"
        } else {
            "PARQUET"
        };
        let name = format!("data/{number:04}.{}", format.to_lowercase());
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
        let bytes = match format {
            "AVRO" => avro(self.chance, &columns, &rows),
            _ => parquet(self.chance, &columns, &rows),
        };
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
            format,
            size: bytes.len(),
            columns: Arc::new(fields.to_vec()),
            spec,
            tuple: tuple.clone(),
            deleted: vec![false; rows.len()],
            by_position: BTreeSet::new(),
            rows,
            metrics,
            sequence: self.sequence,
        });
        Item::Data(self.files.len() - 1)
    }
}
