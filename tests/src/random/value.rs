//! What a row holds: values exactly as a data file stores them, and the types they are of.
//! Spec: "Schemas and Data Types".

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Date,
    Time,
    /// Microseconds; adjusted to UTC or not.
    Timestamp {
        utc: bool,
    },
    /// Nanoseconds; adjusted to UTC or not.
    Nanos {
        utc: bool,
    },
    String,
    Uuid,
    Fixed(usize),
    Binary,
    List(Box<Field>),
    Struct(Vec<Field>),
    Map(Box<Field>, Box<Field>),
}

/// A column, or a field inside one.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub id: i32,
    pub name: String,
    pub kind: Kind,
    /// Never null.
    pub required: bool,
    /// What rows have that were written before the field was added.
    pub initial_default: Option<Scalar>,
}

/// A value without inner values.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    Boolean(bool),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    /// Unscaled.
    Decimal(i128),
    /// Days from 1970-01-01.
    Date(i32),
    /// Microseconds from midnight.
    Time(i64),
    /// Microseconds from 1970-01-01 00:00.
    Timestamp(i64),
    /// Nanoseconds from 1970-01-01 00:00.
    Nanos(i64),
    String(String),
    Uuid([u8; 16]),
    /// Of `fixed` and `binary`.
    Bytes(Vec<u8>),
}

/// What a row has in one field.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Scalar(Scalar),
    List(Vec<Cell>),
    /// By the ids of the fields.
    Struct(BTreeMap<i32, Cell>),
    Map(Vec<(Scalar, Cell)>),
}

/// A row: what it has by the ids of the columns.
pub type Row = BTreeMap<i32, Cell>;

impl Kind {
    /// Whether values have no inner values.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Kind::List(_) | Kind::Struct(_) | Kind::Map(..))
    }

    /// As a schema's JSON says it.
    pub fn to_json(&self) -> Json {
        match self {
            Kind::Boolean => json!("boolean"),
            Kind::Int => json!("int"),
            Kind::Long => json!("long"),
            Kind::Float => json!("float"),
            Kind::Double => json!("double"),
            Kind::Decimal { precision, scale } => json!(format!("decimal({precision}, {scale})")),
            Kind::Date => json!("date"),
            Kind::Time => json!("time"),
            Kind::Timestamp { utc: false } => json!("timestamp"),
            Kind::Timestamp { utc: true } => json!("timestamptz"),
            Kind::Nanos { utc: false } => json!("timestamp_ns"),
            Kind::Nanos { utc: true } => json!("timestamptz_ns"),
            Kind::String => json!("string"),
            Kind::Uuid => json!("uuid"),
            Kind::Fixed(length) => json!(format!("fixed[{length}]")),
            Kind::Binary => json!("binary"),
            Kind::List(element) => json!({
                "type": "list", "element-id": element.id, "element-required": element.required,
                "element": element.kind.to_json(),
            }),
            Kind::Struct(fields) => {
                json!({"type": "struct", "fields": fields.iter().map(Field::to_json).collect::<Vec<_>>()})
            }
            Kind::Map(key, value) => json!({
                "type": "map", "key-id": key.id, "key": key.kind.to_json(), "value-id": value.id,
                "value-required": value.required, "value": value.kind.to_json(),
            }),
        }
    }
}

impl Field {
    /// An optional field.
    pub fn new(id: i32, name: impl Into<String>, kind: Kind) -> Self {
        Field {
            id,
            name: name.into(),
            kind,
            required: false,
            initial_default: None,
        }
    }

    /// As a schema's JSON says it.
    pub fn to_json(&self) -> Json {
        let mut json = json!({"id": self.id, "name": self.name, "required": self.required, "type": self.kind.to_json()});
        if let Some(default) = &self.initial_default {
            json["initial-default"] = default.to_json(&self.kind);
            json["write-default"] = json["initial-default"].clone();
        }
        json
    }

    /// The fields that hold scalars, with the ids of the structs that lead there; not those inside of lists and maps.
    pub fn leaves(&self) -> Vec<(Vec<i32>, &Field)> {
        match &self.kind {
            Kind::Struct(fields) => fields
                .iter()
                .flat_map(Field::leaves)
                .map(|(mut path, leaf)| {
                    path.insert(0, self.id);
                    (path, leaf)
                })
                .collect(),
            kind if kind.is_scalar() => vec![(vec![self.id], self)],
            _ => Vec::new(),
        }
    }
}

impl Scalar {
    /// In the JSON single-value form. Spec: Appendix D.
    fn to_json(&self, kind: &Kind) -> Json {
        match (self, kind) {
            (Scalar::Boolean(value), _) => json!(value),
            (Scalar::Int(value), _) => json!(value),
            (Scalar::Long(value), _) => json!(value),
            (Scalar::Float(value), _) => json!(value),
            (Scalar::Double(value), _) => json!(value),
            (Scalar::Decimal(value), Kind::Decimal { scale, .. }) => {
                json!(decimal_text(*value, *scale))
            }
            (Scalar::String(value), _) => json!(value),
            (Scalar::Uuid(value), _) => json!(uuid::Uuid::from_bytes(*value).to_string()),
            (Scalar::Bytes(value), _) => json!(hexadecimal(value)),
            (value, kind) => panic!("no default is made of {value:?} for {kind:?}"),
        }
    }

    /// Whether it is NaN.
    pub fn is_nan(&self) -> bool {
        match self {
            Scalar::Float(value) => value.is_nan(),
            Scalar::Double(value) => value.is_nan(),
            _ => false,
        }
    }

    /// Whether both are the same value for deletes and partitions: every NaN is one, and -0 is not 0.
    pub fn is_same(&self, other: &Scalar) -> bool {
        (self.is_nan() && other.is_nan()) || self.order(other) == Ordering::Equal
    }

    /// The order of two values of one type that bounds are made by: -0 before 0, NaN last.
    pub fn order(&self, other: &Scalar) -> Ordering {
        match (self, other) {
            (Scalar::Boolean(left), Scalar::Boolean(right)) => left.cmp(right),
            (Scalar::Int(left), Scalar::Int(right)) => left.cmp(right),
            (Scalar::Long(left), Scalar::Long(right)) => left.cmp(right),
            (Scalar::Float(left), Scalar::Float(right)) => left.total_cmp(right),
            (Scalar::Double(left), Scalar::Double(right)) => left.total_cmp(right),
            (Scalar::Decimal(left), Scalar::Decimal(right)) => left.cmp(right),
            (Scalar::Date(left), Scalar::Date(right)) => left.cmp(right),
            (Scalar::Time(left), Scalar::Time(right)) => left.cmp(right),
            (Scalar::Timestamp(left), Scalar::Timestamp(right)) => left.cmp(right),
            (Scalar::Nanos(left), Scalar::Nanos(right)) => left.cmp(right),
            (Scalar::String(left), Scalar::String(right)) => left.as_bytes().cmp(right.as_bytes()),
            (Scalar::Uuid(left), Scalar::Uuid(right)) => left.cmp(right),
            (Scalar::Bytes(left), Scalar::Bytes(right)) => left.cmp(right),
            // One of them is from before its column was promoted.
            (Scalar::Int(left), Scalar::Long(right)) => i64::from(*left).cmp(right),
            (Scalar::Long(left), Scalar::Int(right)) => left.cmp(&i64::from(*right)),
            (Scalar::Float(left), Scalar::Double(right)) => f64::from(*left).total_cmp(right),
            (Scalar::Double(left), Scalar::Float(right)) => left.total_cmp(&f64::from(*right)),
            (left, right) => panic!("{left:?} and {right:?} are of two types"),
        }
    }
}

impl Cell {
    /// The scalar; `None` for null.
    pub fn scalar(&self) -> Option<&Scalar> {
        match self {
            Cell::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }
}

/// What a row has at the end of a path of fields; a field of a null struct is null.
pub fn at<'a>(row: &'a Row, path: &[i32]) -> &'a Cell {
    let mut members = row;
    for (depth, id) in path.iter().enumerate() {
        match members.get(id) {
            Some(Cell::Struct(inner)) if depth + 1 < path.len() => members = inner,
            Some(cell) if depth + 1 == path.len() => return cell,
            _ => return &Cell::Null,
        }
    }
    &Cell::Null
}

/// A decimal with all digits of its scale.
pub fn decimal_text(unscaled: i128, scale: u8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = unscaled.unsigned_abs().to_string();
    let scale = usize::from(scale);
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// Bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
