//! How the foreign table and its heap copies are declared: for each column a Postgres type that it may have, its
//! collation and its name; and the rows as Postgres' own literals.

use std::fmt::Write;

use super::lake::{LiveRow, Snapshot};
use super::seed::Chance;
use super::value::{Cell, Field, Kind, Row, Scalar, decimal_text};
use crate::database::{identifier, quoted};
use crate::iceberg_type::IcebergType;
use crate::literal;
use crate::value::Value;

/// What expressions may be made of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Family {
    Boolean,
    /// `int4` or `int8`.
    Integer,
    Numeric,
    Real,
    Double,
    Date,
    Time,
    Timestamp,
    Timestamptz,
    /// `text`, `varchar` or a domain of them.
    Text {
        /// Whether patterns can be matched.
        deterministic: bool,
    },
    Uuid,
    Bytea,
    Array(Box<Family>),
    /// A composite type: its members' names and what they are.
    Composite(Vec<(String, Family, Vec<i32>)>),
    Jsonb,
}

/// A column of the foreign table.
#[derive(Debug, Clone)]
pub struct Column {
    pub field: Field,
    /// The name in Postgres, quoted where it must be.
    pub name: String,
    /// The type's name.
    pub sql: String,
    pub family: Family,
    collation: Option<String>,
    /// Whether it is declared NOT NULL.
    not_null: bool,
    options: String,
    /// What stands in for a value of the table: where the row lies.
    position: Option<Position>,
    /// The composite types and domains that the declaration needs.
    types: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Position {
    File,
    Row,
}

/// A collation that the server has.
#[derive(Debug, Clone)]
pub struct Collation {
    pub name: String,
    pub deterministic: bool,
}

impl Column {
    /// The declarations of a table's columns; `prefix` begins the names of types that are made for them.
    pub fn choose(
        chance: &mut Chance,
        fields: &[Field],
        collations: &[Collation],
        prefix: &str,
    ) -> Vec<Column> {
        let mut columns: Vec<Column> = fields
            .iter()
            .map(|field| Column::of(chance, field, collations, prefix))
            .collect();
        for (position, kind, metadata_column) in [
            (Position::File, Kind::String, "_file"),
            (Position::Row, Kind::Long, "_pos"),
        ] {
            if chance.percent(15) {
                let field = Field::new(-1, metadata_column, kind.clone());
                let mut column = Column::of(chance, &field, &[], prefix);
                column.name = format!("at{metadata_column}");
                let (sql, family) = plain(&kind);
                (column.sql, column.family) = (sql, family);
                column.types.clear();
                column.options = format!(" OPTIONS (metadata_column {})", quoted(metadata_column));
                column.position = Some(position);
                columns.push(column);
            }
        }
        columns
    }

    fn of(chance: &mut Chance, field: &Field, collations: &[Collation], prefix: &str) -> Column {
        let mut types = Vec::new();
        let (sql, mut family) = declared(
            chance,
            &field.kind,
            &format!("{prefix}_{}", field.id),
            &mut types,
        );
        let mut collation = None;
        if let Family::Text { deterministic } = &mut family
            && !collations.is_empty()
            && chance.percent(70)
        {
            let chosen = chance.pick(collations);
            *deterministic = chosen.deterministic;
            collation = Some(chosen.name.clone());
        }
        let (name, options) = match chance.below(4) {
            0 => (
                format!("n{}", field.id),
                format!(" OPTIONS (field_id '{}')", field.id),
            ),
            1 => (
                format!("N {}", field.id),
                format!(" OPTIONS (column_name {})", quoted(&field.name)),
            ),
            _ => (field.name.clone(), String::new()),
        };
        Column {
            field: field.clone(),
            name: identifier(name),
            sql,
            family,
            collation,
            not_null: field.required && chance.percent(50),
            options,
            position: None,
            types,
        }
    }

    /// As a heap table declares it, or with the options of a foreign table's column, which stand after the type.
    fn declaration(&self, options: &str) -> String {
        let collation = self
            .collation
            .as_ref()
            .map_or(String::new(), |name| format!(" COLLATE {name}"));
        let not_null = if self.not_null { " NOT NULL" } else { "" };
        format!("{} {}{options}{collation}{not_null}", self.name, self.sql)
    }

    fn cell(&self, row: &LiveRow, cells: &Row) -> Cell {
        match self.position {
            Some(Position::File) => Cell::Scalar(Scalar::String(row.path.clone())),
            Some(Position::Row) => Cell::Scalar(Scalar::Long(row.position)),
            None => cells.get(&self.field.id).cloned().unwrap_or(Cell::Null),
        }
    }
}

/// The statements that make the types that columns are declared with.
pub fn types(columns: &[Column]) -> String {
    let all: Vec<&str> = columns
        .iter()
        .flat_map(|column| &column.types)
        .map(String::as_str)
        .collect();
    all.join("; ")
}

/// The statement that declares the foreign table.
pub fn foreign_table(name: &str, columns: &[Column], location: &str) -> String {
    let columns: Vec<String> = columns
        .iter()
        .map(|column| column.declaration(&column.options))
        .collect();
    format!(
        "CREATE FOREIGN TABLE {name} ({}) SERVER lake OPTIONS (location {})",
        columns.join(", "),
        quoted(location)
    )
}

/// The statements that make a heap table of a state. A state before the current schema has its columns as they were then.
pub fn heap_table(
    name: &str,
    columns: &[Column],
    snapshot: &Snapshot,
    current: Option<&[Field]>,
) -> Vec<String> {
    let declared: Vec<String> = columns
        .iter()
        .map(|column| column.declaration(""))
        .collect();
    let mut statements = vec![format!("CREATE TABLE {name} ({})", declared.join(", "))];
    let fields = current.unwrap_or(&snapshot.fields);
    for rows in snapshot.rows.chunks(200) {
        let mut insert = format!("INSERT INTO {name} VALUES ");
        for (number, live) in rows.iter().enumerate() {
            let cells = live.under(fields);
            insert.push_str(if number == 0 { "(" } else { ", (" });
            for (place, column) in columns.iter().enumerate() {
                let cell = column.cell(live, &cells);
                let kind = fields
                    .iter()
                    .find(|field| field.id == column.field.id)
                    .map_or(&column.field.kind, |field| &field.kind);
                let separator = if place == 0 { "" } else { ", " };
                let _ = write!(
                    insert,
                    "{separator}{}",
                    cell_literal(kind, &column.sql, &column.family, &cell)
                );
            }
            insert.push(')');
        }
        statements.push(insert);
    }
    statements.push(format!("ANALYZE {name}"));
    statements
}

/// A cell as a literal that an INSERT takes for a column of this type.
fn cell_literal(kind: &Kind, sql: &str, family: &Family, cell: &Cell) -> String {
    match (kind, cell, family) {
        (_, Cell::Null, _) => "NULL".to_owned(),
        (Kind::Struct(fields), Cell::Struct(cells), Family::Composite(members)) => {
            let members: Vec<String> = members
                .iter()
                .map(|(_, family, path)| {
                    let id = path.last().expect("a member has an id");
                    let field = fields.iter().find(|field| field.id == *id);
                    let cell = cells.get(id).unwrap_or(&Cell::Null);
                    field.map_or("NULL".to_owned(), |field| {
                        cell_literal(&field.kind, "", family, cell)
                    })
                })
                .collect();
            let of_type = if sql.is_empty() {
                String::new()
            } else {
                format!("::{sql}")
            };
            format!("ROW({}){of_type}", members.join(", "))
        }
        (Kind::List(element), Cell::List(cells), Family::Array(family)) => {
            let elements: Vec<String> = cells
                .iter()
                .map(|cell| cell_literal(&element.kind, "", family, cell))
                .collect();
            let of_type = if sql.is_empty() {
                plain(kind).0
            } else {
                sql.to_owned()
            };
            format!("ARRAY[{}]::{of_type}", elements.join(", "))
        }
        (kind, cell, _) => literal::literal(&iceberg_type(kind), &value(kind, cell)),
    }
}

/// A scalar as a literal of the Postgres type that its Iceberg type is mapped to.
pub fn scalar_literal(kind: &Kind, scalar: &Scalar) -> String {
    let cell = Cell::Scalar(scalar.clone());
    literal::literal(&iceberg_type(kind), &value(kind, &cell))
}

fn iceberg_type(kind: &Kind) -> IcebergType {
    use crate::iceberg_type::Field as TypedField;
    match kind {
        Kind::Boolean => IcebergType::Boolean,
        Kind::Int => IcebergType::Int,
        Kind::Long => IcebergType::Long,
        Kind::Float => IcebergType::Float,
        Kind::Double => IcebergType::Double,
        Kind::Decimal { scale, .. } => IcebergType::Decimal {
            scale: u32::from(*scale),
        },
        Kind::Date => IcebergType::Date,
        Kind::Time => IcebergType::Time,
        Kind::Timestamp { utc: false } | Kind::Nanos { utc: false } => IcebergType::Timestamp,
        Kind::Timestamp { utc: true } | Kind::Nanos { utc: true } => IcebergType::Timestamptz,
        Kind::String => IcebergType::String,
        Kind::Uuid => IcebergType::Uuid,
        Kind::Fixed(_) | Kind::Binary => IcebergType::Binary,
        Kind::List(element) => IcebergType::List(Box::new(iceberg_type(&element.kind))),
        Kind::Struct(fields) => IcebergType::Struct(
            fields
                .iter()
                .map(|field| TypedField {
                    id: i64::from(field.id),
                    name: field.name.clone(),
                    required: field.required,
                    kind: iceberg_type(&field.kind),
                })
                .collect(),
        ),
        Kind::Map(key, value) => IcebergType::Map(
            Box::new(iceberg_type(&key.kind)),
            Box::new(iceberg_type(&value.kind)),
        ),
    }
}

fn value(kind: &Kind, cell: &Cell) -> Value {
    match (cell, kind) {
        (Cell::Null, _) => Value::Null,
        (Cell::Scalar(scalar), kind) => match (scalar, kind) {
            (Scalar::Boolean(value), _) => Value::Boolean(*value),
            (Scalar::Int(value), _) => Value::Integer(i64::from(*value)),
            (Scalar::Long(value), _) => Value::Integer(*value),
            (Scalar::Float(value), _) => Value::float(*value),
            (Scalar::Double(value), _) => Value::double(*value),
            (Scalar::Decimal(value), Kind::Decimal { scale, .. }) => {
                Value::Decimal(decimal_text(*value, *scale))
            }
            (Scalar::Decimal(value), _) => Value::Decimal(value.to_string()),
            (Scalar::Date(value), _) => Value::Date(i64::from(*value)),
            (Scalar::Time(value), _) => Value::Time(i128::from(*value)),
            (Scalar::Timestamp(value), Kind::Timestamp { utc: true }) => {
                Value::Timestamptz(i128::from(*value))
            }
            (Scalar::Timestamp(value), _) => Value::Timestamp(i128::from(*value)),
            (Scalar::Nanos(value), Kind::Nanos { utc: true }) => {
                Value::Timestamptz(i128::from(value.div_euclid(1000)))
            }
            (Scalar::Nanos(value), _) => Value::Timestamp(i128::from(value.div_euclid(1000))),
            (Scalar::String(value), _) => Value::String(value.clone()),
            (Scalar::Uuid(value), _) => Value::Uuid(uuid::Uuid::from_bytes(*value)),
            (Scalar::Bytes(value), _) => Value::Binary(value.clone()),
        },
        (Cell::List(cells), Kind::List(element)) => Value::List(
            cells
                .iter()
                .map(|cell| value(&element.kind, cell))
                .collect(),
        ),
        (Cell::Struct(cells), Kind::Struct(fields)) => Value::Struct(
            fields
                .iter()
                .map(|field| {
                    let cell = cells.get(&field.id).unwrap_or(&Cell::Null);
                    (field.name.clone(), value(&field.kind, cell))
                })
                .collect(),
        ),
        (Cell::Map(entries), Kind::Map(key, entry)) => Value::Map(
            entries
                .iter()
                .map(|(name, cell)| {
                    (
                        value(&key.kind, &Cell::Scalar(name.clone())),
                        value(&entry.kind, cell),
                    )
                })
                .collect(),
        ),
        (cell, kind) => panic!("{cell:?} is no {kind:?}"),
    }
}

/// The type that a column of a scalar or list has by itself.
fn plain(kind: &Kind) -> (String, Family) {
    let (sql, family) = match kind {
        Kind::Boolean => ("bool", Family::Boolean),
        Kind::Int => ("int4", Family::Integer),
        Kind::Long => ("int8", Family::Integer),
        Kind::Float => ("float4", Family::Real),
        Kind::Double => ("float8", Family::Double),
        Kind::Decimal { precision, scale } => {
            return (format!("numeric({precision},{scale})"), Family::Numeric);
        }
        Kind::Date => ("date", Family::Date),
        Kind::Time => ("time", Family::Time),
        Kind::Timestamp { utc: false } | Kind::Nanos { utc: false } => {
            ("timestamp", Family::Timestamp)
        }
        Kind::Timestamp { utc: true } | Kind::Nanos { utc: true } => {
            ("timestamptz", Family::Timestamptz)
        }
        Kind::String => (
            "text",
            Family::Text {
                deterministic: true,
            },
        ),
        Kind::Uuid => ("uuid", Family::Uuid),
        Kind::Fixed(_) | Kind::Binary => ("bytea", Family::Bytea),
        Kind::List(element) => {
            let (sql, family) = plain(&element.kind);
            return (format!("{sql}[]"), Family::Array(Box::new(family)));
        }
        Kind::Struct(_) | Kind::Map(..) => ("jsonb", Family::Jsonb),
    };
    (sql.to_owned(), family)
}

/// A type that loses nothing, with what must be made first.
fn declared(
    chance: &mut Chance,
    kind: &Kind,
    name: &str,
    types: &mut Vec<String>,
) -> (String, Family) {
    let other = chance.percent(30);
    match kind {
        Kind::Int if other => match chance.below(3) {
            0 => ("int8".to_owned(), Family::Integer),
            1 => ("numeric".to_owned(), Family::Numeric),
            _ => {
                types.push(format!("CREATE DOMAIN d{name} AS int4"));
                (format!("d{name}"), Family::Integer)
            }
        },
        Kind::Long if other => match chance.below(2) {
            0 => ("numeric".to_owned(), Family::Numeric),
            _ => ("numeric(25,3)".to_owned(), Family::Numeric),
        },
        Kind::Float if other => ("float8".to_owned(), Family::Double),
        Kind::Decimal {
            precision,
            scale: 0,
        } if other && *precision <= 9 => ("int4".to_owned(), Family::Integer),
        Kind::Decimal {
            precision,
            scale: 0,
        } if other && *precision <= 18 => ("int8".to_owned(), Family::Integer),
        Kind::Decimal { precision, scale } if other => match chance.below(2) {
            0 => ("numeric".to_owned(), Family::Numeric),
            _ => (
                format!("numeric({},{})", precision + 7, scale + 3),
                Family::Numeric,
            ),
        },
        Kind::String if other => {
            let family = Family::Text {
                deterministic: true,
            };
            match chance.below(2) {
                0 => ("varchar".to_owned(), family),
                _ => {
                    types.push(format!("CREATE DOMAIN d{name} AS text CHECK (VALUE IS DISTINCT FROM 'no such text')"));
                    (format!("d{name}"), family)
                }
            }
        }
        Kind::Struct(fields) if chance.percent(65) || !has_json_form(kind) => {
            let members: Vec<(String, String, Family, i32)> = fields
                .iter()
                .map(|field| {
                    let (sql, family) =
                        declared(chance, &field.kind, &format!("{name}_{}", field.id), types);
                    (field.name.clone(), sql, family, field.id)
                })
                .collect();
            let columns: Vec<String> = members
                .iter()
                .map(|(member, sql, ..)| format!("{} {sql}", identifier(member)))
                .collect();
            types.push(format!("CREATE TYPE s{name} AS ({})", columns.join(", ")));
            let family = members
                .into_iter()
                .map(|(member, _, family, id)| (identifier(member), family, vec![id]))
                .collect();
            (format!("s{name}"), Family::Composite(family))
        }
        kind => plain(kind),
    }
}

/// Whether the harness can write values of the type inside `jsonb` in the very form that the product does.
fn has_json_form(kind: &Kind) -> bool {
    match kind {
        Kind::Float | Kind::Double => false,
        Kind::List(element) => has_json_form(&element.kind),
        Kind::Struct(fields) => fields.iter().all(|field| has_json_form(&field.kind)),
        kind => !matches!(
            kind,
            Kind::Date | Kind::Time | Kind::Timestamp { .. } | Kind::Nanos { .. }
        ),
    }
}
