//! Random schemas, their evolution, and what rows written under one schema are under another.
//! Spec: "Schema Evolution", "Column Projection".

use std::collections::BTreeMap;

use super::calendar::DAY;
use super::pool::pool;
use super::seed::Chance;
use super::value::{Cell, Field, Kind, Row, Scalar};

/// The id of the column that numbers the rows.
pub const ROW_NUMBER: i32 = 1;

/// The columns of a table, and which ids and names are free.
#[derive(Debug, Clone)]
pub struct Columns {
    pub fields: Vec<Field>,
    pub last_id: i32,
    /// Whether fields may have an initial default and types of version 3.
    pub version_3: bool,
    next_name: usize,
}

/// Names that only a quoted identifier spells.
const ODD_NAMES: &[&str] = &["Mixed Case", "select", "größe", "a.b", "quo\"ted", "x'y"];

impl Columns {
    /// A row number and some columns of any type.
    pub fn random(chance: &mut Chance, version_3: bool) -> Self {
        let number = if chance.percent(50) {
            Kind::Long
        } else {
            Kind::Int
        };
        let mut row_number = Field::new(ROW_NUMBER, "row_number", number);
        row_number.required = chance.percent(50);
        let mut columns = Columns {
            fields: vec![row_number],
            last_id: ROW_NUMBER,
            version_3,
            next_name: 0,
        };
        for _ in 0..chance.between(3, 7) {
            let field = columns.field(chance, 2);
            columns.fields.push(field);
        }
        columns
    }

    fn id(&mut self) -> i32 {
        self.last_id += 1;
        self.last_id
    }

    fn name(&mut self, chance: &mut Chance) -> String {
        self.next_name += 1;
        match ODD_NAMES.get(self.next_name) {
            Some(odd) if chance.percent(15) => (*odd).to_owned(),
            _ => format!("c{}", self.next_name),
        }
    }

    /// A new field with types nested at most so deep.
    fn field(&mut self, chance: &mut Chance, depth: u32) -> Field {
        let id = self.id();
        let name = self.name(chance);
        let kind = self.kind(chance, depth);
        let mut field = Field::new(id, name, kind);
        field.required = chance.percent(8);
        field
    }

    fn kind(&mut self, chance: &mut Chance, depth: u32) -> Kind {
        if depth > 0 && chance.percent(16) {
            return match chance.below(5) {
                0 | 1 => Kind::List(Box::new(self.inner(chance, "element"))),
                2 | 3 => {
                    let count = chance.between(1, 3);
                    Kind::Struct((0..count).map(|_| self.field(chance, depth - 1)).collect())
                }
                _ => {
                    let mut key = Field::new(self.id(), "key", Kind::String);
                    key.required = true;
                    // Values that the harness can write inside `jsonb`.
                    let kinds = [Kind::Int, Kind::String, Kind::Boolean, Kind::Uuid];
                    let value = Field::new(self.id(), "value", chance.pick(&kinds).clone());
                    Kind::Map(Box::new(key), Box::new(value))
                }
            };
        }
        scalar_kind(chance, self.version_3)
    }

    /// An element of a list or a value of a map: a scalar.
    fn inner(&mut self, chance: &mut Chance, name: &str) -> Field {
        Field::new(self.id(), name, scalar_kind(chance, self.version_3))
    }

    /// Changes the schema in one way that the spec allows. Columns with these ids keep their type and stay.
    pub fn evolve(&mut self, chance: &mut Chance, kept: &[i32], unpromoted: &[i32]) {
        match chance.below(7) {
            0 | 1 => {
                let mut field = self.field(chance, 1);
                field.required = false;
                if self.version_3 && chance.percent(70) {
                    field.initial_default = default(chance, &field.kind);
                }
                let place = 1 + chance.below(self.fields.len());
                self.fields.insert(place, field);
            }
            2 => {
                let at = chance.below(self.fields.len());
                let field = &self.fields[at];
                let inner = field
                    .leaves()
                    .iter()
                    .any(|(_, leaf)| kept.contains(&leaf.id));
                if field.id != ROW_NUMBER && !inner && self.fields.len() > 3 {
                    let dropped = self.fields.remove(at);
                    // The name comes back for another column, whose values are none of the old ones.
                    if chance.percent(50) {
                        let mut again = self.field(chance, 1);
                        again.name = dropped.name;
                        again.required = false;
                        self.fields.push(again);
                    }
                }
            }
            3 => {
                let at = chance.below(self.fields.len());
                let name = self.name(chance);
                if self.fields[at].id != ROW_NUMBER {
                    self.fields[at].name = name;
                }
            }
            4 => chance.shuffle(&mut self.fields[1..]),
            _ => {
                let version_3 = self.version_3;
                let promote = |chance: &mut Chance, field: &mut Field| {
                    if let Some(kind) = promoted(chance, &field.kind, version_3)
                        && !(field.kind == Kind::Date && unpromoted.contains(&field.id))
                    {
                        if let Some(default) = &field.initial_default {
                            field.initial_default = Some(convert(default, &kind));
                        }
                        field.kind = kind;
                    }
                };
                for field in &mut self.fields {
                    if !chance.percent(60) {
                        continue;
                    }
                    match &mut field.kind {
                        Kind::Struct(inner) => {
                            inner.iter_mut().for_each(|field| promote(chance, field));
                        }
                        _ => promote(chance, field),
                    }
                }
            }
        }
    }
}

fn scalar_kind(chance: &mut Chance, version_3: bool) -> Kind {
    let utc = chance.percent(50);
    match chance.below(22) {
        0 => Kind::Boolean,
        1..=3 => Kind::Int,
        4 | 5 => Kind::Long,
        6 => Kind::Float,
        7 | 8 => Kind::Double,
        9 | 10 => {
            let (precision, scale) = *chance.pick(&[
                (5, 2),
                (9, 0),
                (9, 4),
                (18, 0),
                (18, 6),
                (38, 0),
                (38, 10),
                (20, 20),
            ]);
            Kind::Decimal { precision, scale }
        }
        11 | 12 => Kind::Date,
        13 => Kind::Time,
        14 | 15 => Kind::Timestamp { utc },
        16 if version_3 => Kind::Nanos { utc },
        16 => Kind::Timestamp { utc },
        17..=19 => Kind::String,
        20 => Kind::Uuid,
        _ if chance.percent(40) => Kind::Fixed(*chance.pick(&[1, 4, 20])),
        _ => Kind::Binary,
    }
}

/// A default of a type, where JSON has a form of it that needs no calendar.
fn default(chance: &mut Chance, kind: &Kind) -> Option<Scalar> {
    let has_one = matches!(
        kind,
        Kind::Boolean
            | Kind::Int
            | Kind::Long
            | Kind::Decimal { .. }
            | Kind::String
            | Kind::Uuid
            | Kind::Fixed(_)
            | Kind::Binary
    );
    if has_one {
        let values = pool(chance, kind);
        Some(chance.pick(&values).clone())
    } else if matches!(kind, Kind::Float | Kind::Double) {
        let finite: Vec<Scalar> = pool(chance, kind)
            .into_iter()
            .filter(|value| match value {
                Scalar::Float(value) => value.is_finite(),
                Scalar::Double(value) => value.is_finite(),
                _ => false,
            })
            .collect();
        (!finite.is_empty()).then(|| chance.pick(&finite).clone())
    } else {
        None
    }
}

fn promoted(chance: &mut Chance, kind: &Kind, version_3: bool) -> Option<Kind> {
    match kind {
        Kind::Int => Some(Kind::Long),
        Kind::Float => Some(Kind::Double),
        Kind::Decimal { precision, scale } if *precision < 38 => Some(Kind::Decimal {
            precision: (*precision + chance.between(1, 12) as u8).min(38),
            scale: *scale,
        }),
        Kind::Date if version_3 => Some(Kind::Timestamp { utc: false }),
        _ => None,
    }
}

/// A value under a promoted type.
pub fn convert(value: &Scalar, to: &Kind) -> Scalar {
    match (value, to) {
        (Scalar::Int(value), Kind::Long) => Scalar::Long(i64::from(*value)),
        (Scalar::Float(value), Kind::Double) => Scalar::Double(f64::from(*value)),
        (Scalar::Date(days), Kind::Timestamp { .. }) => Scalar::Timestamp(i64::from(*days) * DAY),
        (value, _) => value.clone(),
    }
}

/// Whether every date of the rows is a timestamp too, so that a promoted column can be read.
pub fn is_readable(row: &Row, columns: &[Field], wanted: &[Field]) -> bool {
    fn fits(cell: &Cell, wanted: &Kind) -> bool {
        match (cell, wanted) {
            (Cell::Scalar(Scalar::Date(days)), Kind::Timestamp { .. }) => {
                (-2_440_588..=106_000_000).contains(days)
            }
            (Cell::Struct(members), Kind::Struct(fields)) => fields.iter().all(|field| {
                members
                    .get(&field.id)
                    .is_none_or(|cell| fits(cell, &field.kind))
            }),
            _ => true,
        }
    }
    columns.iter().all(|column| {
        let now = wanted.iter().find(|field| field.id == column.id);
        let cell = row.get(&column.id).unwrap_or(&Cell::Null);
        now.is_none_or(|field| fits(cell, &field.kind))
    })
}

/// A row of a file with these columns, as a row of the wanted ones.
pub fn project(row: &Row, columns: &[Field], wanted: &[Field]) -> Row {
    members(row, columns, wanted)
}

fn members(row: &BTreeMap<i32, Cell>, written: &[Field], wanted: &[Field]) -> Row {
    wanted
        .iter()
        .map(|field| {
            let cell = match written.iter().find(|written| written.id == field.id) {
                Some(written) => {
                    let cell = row.get(&field.id).unwrap_or(&Cell::Null);
                    projected(cell, written, field)
                }
                None => field
                    .initial_default
                    .clone()
                    .map_or(Cell::Null, Cell::Scalar),
            };
            (field.id, cell)
        })
        .collect()
}

fn projected(cell: &Cell, written: &Field, wanted: &Field) -> Cell {
    match (cell, &written.kind, &wanted.kind) {
        (Cell::Scalar(value), _, kind) => Cell::Scalar(convert(value, kind)),
        (Cell::Struct(row), Kind::Struct(written), Kind::Struct(wanted)) => {
            Cell::Struct(members(row, written, wanted))
        }
        (cell, _, _) => cell.clone(),
    }
}
