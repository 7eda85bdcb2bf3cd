//! Random partition specs, the tuples of rows, and how manifests store them.
//! Spec: "Partitioning", Appendix A "Avro".

use apache_avro::types::Value as Avro;
use serde_json::{Value as Json, json};

use super::bounds::{extremes, single_value};
use super::schema::{Columns, ROW_NUMBER, convert};
use super::seed::Chance;
use super::transform::Transform;
use super::value::{Field, Kind, Row, Scalar, at};

/// A partition spec.
#[derive(Debug, Clone)]
pub struct Spec {
    pub id: i32,
    pub fields: Vec<PartitionField>,
}

/// A field of a partition spec.
#[derive(Debug, Clone)]
pub struct PartitionField {
    pub id: i32,
    /// The source column, after the ids of the structs that it is inside of.
    pub source: Vec<i32>,
    pub transform: Transform,
    /// The type of its values.
    pub kind: Kind,
}

/// The values of a file's partition fields.
pub type Tuple = Vec<Option<Scalar>>;

impl Spec {
    /// A spec over these columns; `known` are the fields of the table's other specs.
    pub fn random(
        chance: &mut Chance,
        id: i32,
        columns: &Columns,
        known: &mut Vec<PartitionField>,
    ) -> Self {
        let sources: Vec<(Vec<i32>, &Field)> =
            columns.fields.iter().flat_map(Field::leaves).collect();
        let count = *chance.pick(&[0, 1, 1, 1, 2, 3]);
        let mut fields: Vec<PartitionField> = Vec::new();
        for _ in 0..count {
            let (source, leaf) = chance.pick(&sources).clone();
            let transform = transform(chance, &leaf.kind);
            let of_rows = source == [ROW_NUMBER] && transform == Transform::Identity;
            let twice = fields
                .iter()
                .any(|field| field.source == source && field.transform == transform);
            if of_rows || twice {
                continue;
            }
            let same =
                |field: &&PartitionField| field.source == source && field.transform == transform;
            let id = match known.iter().find(same) {
                Some(field) => field.id,
                None => 1000 + known.len() as i32,
            };
            let field = PartitionField {
                id,
                source,
                transform,
                kind: transform.result(&leaf.kind),
            };
            if known.iter().all(|other| other.id != id) {
                known.push(field.clone());
            }
            fields.push(field);
        }
        Spec { id, fields }
    }

    /// The spec with the types that its values have under these columns: a source may have been promoted.
    pub fn under(&self, columns: &[Field]) -> Self {
        let leaves: Vec<(Vec<i32>, &Field)> = columns.iter().flat_map(Field::leaves).collect();
        let mut spec = self.clone();
        for field in &mut spec.fields {
            if let Some((_, leaf)) = leaves.iter().find(|(path, _)| *path == field.source) {
                field.kind = field.transform.result(&leaf.kind);
            }
        }
        spec
    }

    /// The partition of a row.
    pub fn tuple(&self, row: &Row) -> Tuple {
        let value = |field: &PartitionField| field.transform.apply(at(row, &field.source).scalar());
        self.fields.iter().map(value).collect()
    }

    /// The spec as table metadata and manifests have it.
    pub fn to_json(&self) -> Vec<(Json, Json)> {
        let field = |field: &PartitionField| {
            let json = json!({
                "field-id": field.id, "name": format!("p{}", field.id),
                "transform": field.transform.to_string(), "source-id": field.source.last(),
            });
            (json, avro_type(&field.kind, field.id))
        };
        self.fields.iter().map(field).collect()
    }

    /// A tuple as a manifest stores it.
    pub fn avro_tuple(&self, tuple: &Tuple) -> Vec<Avro> {
        self.fields
            .iter()
            .zip(tuple)
            .map(|(field, value)| match value {
                None => Avro::Union(0, Box::new(Avro::Null)),
                Some(value) => {
                    let value = convert(value, &field.kind);
                    Avro::Union(1, Box::new(avro_value(&field.kind, &value)))
                }
            })
            .collect()
    }

    /// What a manifest list says of the partitions of a manifest: for each field, whether there are nulls and NaN, and the bounds.
    pub fn summaries(&self, tuples: &[&Tuple]) -> Json {
        self.fields
            .iter()
            .enumerate()
            .map(|(place, field)| {
                let values: Vec<Scalar> = tuples
                    .iter()
                    .filter_map(|tuple| tuple[place].as_ref())
                    .map(|value| convert(value, &field.kind))
                    .collect();
                let bounds = extremes(values.iter());
                json!({
                    "contains_null": tuples.iter().any(|tuple| tuple[place].is_none()),
                    "contains_nan": values.iter().any(Scalar::is_nan),
                    "lower_bound": bounds.as_ref().map(|(low, _)| single_value(low)),
                    "upper_bound": bounds.as_ref().map(|(_, high)| single_value(high)),
                })
            })
            .collect()
    }
}

/// Whether two tuples are of one partition.
pub fn same_tuple(left: &Tuple, right: &Tuple) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|pair| match pair {
            (None, None) => true,
            (Some(left), Some(right)) => left.is_same(right),
            _ => false,
        })
}

fn transform(chance: &mut Chance, source: &Kind) -> Transform {
    let all = [
        Transform::Identity,
        Transform::Identity,
        Transform::Bucket(*chance.pick(&[1, 2, 5, 16])),
        Transform::Bucket(*chance.pick(&[3, 7])),
        Transform::Truncate(*chance.pick(&[1, 2, 3, 10, 100])),
        Transform::Truncate(*chance.pick(&[4, 1000])),
        Transform::Year,
        Transform::Month,
        Transform::Day,
        Transform::Hour,
        Transform::Void,
    ];
    loop {
        let transform = *chance.pick(&all);
        // A void field says nothing: few are enough.
        if transform.accepts(source) && (transform != Transform::Void || chance.percent(30)) {
            return transform;
        }
    }
}

fn avro_type(kind: &Kind, id: i32) -> Json {
    let fixed = |size: usize| json!({"type": "fixed", "name": format!("fixed_{id}"), "size": size});
    let logical = |base: &str, logical: &str| json!({"type": base, "logicalType": logical});
    match kind {
        Kind::Boolean => json!("boolean"),
        Kind::Int => json!("int"),
        Kind::Long => json!("long"),
        Kind::Float => json!("float"),
        Kind::Double => json!("double"),
        Kind::Decimal { precision, scale } => json!({
            "type": "fixed", "name": format!("decimal_{id}"), "size": decimal_size(*precision),
            "logicalType": "decimal", "precision": precision, "scale": scale,
        }),
        Kind::Date => logical("int", "date"),
        Kind::Time => logical("long", "time-micros"),
        Kind::Timestamp { .. } => logical("long", "timestamp-micros"),
        Kind::Nanos { .. } => logical("long", "timestamp-nanos"),
        Kind::String => json!("string"),
        Kind::Uuid => fixed(16),
        Kind::Fixed(length) => fixed(*length),
        Kind::Binary => json!("bytes"),
        Kind::List(_) | Kind::Struct(_) | Kind::Map(..) => panic!("{kind:?} has no partitions"),
    }
}

/// The fewest bytes that hold every number of so many digits.
fn decimal_size(precision: u8) -> usize {
    let limit = 10_i128.pow(u32::from(precision)) - 1;
    (1..16)
        .find(|size| limit < 1_i128 << (8 * size - 1))
        .unwrap_or(16)
}

fn avro_value(kind: &Kind, value: &Scalar) -> Avro {
    match (value, kind) {
        (Scalar::Boolean(value), _) => Avro::Boolean(*value),
        (Scalar::Int(value), _) => Avro::Int(*value),
        (Scalar::Long(value), _) => Avro::Long(*value),
        (Scalar::Float(value), _) => Avro::Float(*value),
        (Scalar::Double(value), _) => Avro::Double(*value),
        (Scalar::Decimal(value), Kind::Decimal { precision, .. }) => {
            let size = decimal_size(*precision);
            Avro::Decimal(value.to_be_bytes()[16 - size..].into())
        }
        (Scalar::Date(value), _) => Avro::Date(*value),
        (Scalar::Time(value), _) => Avro::TimeMicros(*value),
        (Scalar::Timestamp(value), _) => Avro::TimestampMicros(*value),
        (Scalar::Nanos(value), _) => Avro::TimestampNanos(*value),
        (Scalar::String(value), _) => Avro::String(value.clone()),
        (Scalar::Uuid(value), _) => Avro::Fixed(16, value.to_vec()),
        (Scalar::Bytes(value), Kind::Fixed(length)) => Avro::Fixed(*length, value.clone()),
        (Scalar::Bytes(value), _) => Avro::Bytes(value.clone()),
        (value, kind) => panic!("{value:?} is no {kind:?}"),
    }
}
