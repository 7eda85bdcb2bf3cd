//! Data files of rows in Avro. Spec: Appendix A "Avro".

use apache_avro::types::Value as Avro;
use apache_avro::{Codec, Schema, Writer};
use serde_json::{Value as Json, json};

use super::seed::Chance;
use super::value::{Cell, Field, Kind, Row, Scalar};

/// An Avro file of these rows, with these columns in this order, in blocks of a few rows each.
pub fn avro(chance: &mut Chance, columns: &[Field], rows: &[Row]) -> Vec<u8> {
    let schema = Schema::parse(&record("table", columns)).expect("the Avro schema is valid");
    let codec = *chance.pick(&[
        Codec::Null,
        Codec::Deflate(Default::default()),
        Codec::Snappy,
    ]);
    let mut writer =
        Writer::with_codec(&schema, Vec::new(), codec).expect("the schema can be written");
    let rows_of_block = *chance.pick(&[5, 50, 100_000]);
    for (number, row) in rows.iter().enumerate() {
        writer
            .append_value(record_value(columns, row))
            .expect("the row can be written");
        if number % rows_of_block == rows_of_block - 1 {
            writer.flush().expect("a block can be written");
        }
    }
    writer.into_inner().expect("the file can be closed")
}

fn record(name: &str, fields: &[Field]) -> Json {
    let fields: Vec<Json> = fields.iter().map(field).collect();
    json!({"type": "record", "name": name, "fields": fields})
}

/// Avro knows fewer names than Iceberg: the id tells which field it is.
fn name(id: i32) -> String {
    format!("f{id}")
}

fn field(field: &Field) -> Json {
    let mut json = json!({"name": name(field.id), "field-id": field.id});
    if field.required {
        json["type"] = avro_type(field);
    } else {
        json["type"] = json!(["null", avro_type(field)]);
        json["default"] = Json::Null;
    }
    json
}

fn optional(field: &Field) -> Json {
    if field.required {
        avro_type(field)
    } else {
        json!(["null", avro_type(field)])
    }
}

fn avro_type(field: &Field) -> Json {
    let id = field.id;
    let fixed = |size: usize| json!({"type": "fixed", "name": format!("fixed_{id}"), "size": size});
    let logical = |base: &str, logical: &str| json!({"type": base, "logicalType": logical});
    match &field.kind {
        Kind::Boolean => json!("boolean"),
        Kind::Int => json!("int"),
        Kind::Long => json!("long"),
        Kind::Float => json!("float"),
        Kind::Double => json!("double"),
        Kind::Decimal { precision, scale } => json!({
            "type": "fixed", "name": format!("decimal_{id}"), "size": 16,
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
        Kind::List(element) => {
            json!({"type": "array", "element-id": element.id, "items": optional(element)})
        }
        Kind::Struct(fields) => record(&format!("r{id}"), fields),
        Kind::Map(key, value) => json!({
            "type": "map", "key-id": key.id, "value-id": value.id, "values": optional(value),
        }),
    }
}

fn record_value(fields: &[Field], row: &Row) -> Avro {
    let member = |field: &Field| {
        let cell = row.get(&field.id).unwrap_or(&Cell::Null);
        (name(field.id), value(field, cell))
    };
    Avro::Record(fields.iter().map(member).collect())
}

fn value(field: &Field, cell: &Cell) -> Avro {
    if *cell == Cell::Null {
        return Avro::Union(0, Box::new(Avro::Null));
    }
    let value = match (cell, &field.kind) {
        (Cell::Scalar(scalar), kind) => scalar_value(kind, scalar),
        (Cell::List(cells), Kind::List(element)) => {
            Avro::Array(cells.iter().map(|cell| value(element, cell)).collect())
        }
        (Cell::Struct(row), Kind::Struct(fields)) => record_value(fields, row),
        (Cell::Map(entries), Kind::Map(_, entry)) => Avro::Map(
            entries
                .iter()
                .map(|(key, cell)| match key {
                    Scalar::String(key) => (key.clone(), value(entry, cell)),
                    other => panic!("{other:?} is no key in Avro"),
                })
                .collect(),
        ),
        (cell, kind) => panic!("{cell:?} is no {kind:?}"),
    };
    if field.required {
        value
    } else {
        Avro::Union(1, Box::new(value))
    }
}

fn scalar_value(kind: &Kind, scalar: &Scalar) -> Avro {
    match scalar {
        Scalar::Boolean(value) => Avro::Boolean(*value),
        Scalar::Int(value) => Avro::Int(*value),
        Scalar::Long(value) => Avro::Long(*value),
        Scalar::Float(value) => Avro::Float(*value),
        Scalar::Double(value) => Avro::Double(*value),
        Scalar::Decimal(value) => Avro::Decimal(value.to_be_bytes().as_slice().into()),
        Scalar::Date(value) => Avro::Date(*value),
        Scalar::Time(value) => Avro::TimeMicros(*value),
        Scalar::Timestamp(value) => Avro::TimestampMicros(*value),
        Scalar::Nanos(value) => Avro::TimestampNanos(*value),
        Scalar::String(value) => Avro::String(value.clone()),
        Scalar::Uuid(value) => Avro::Fixed(16, value.to_vec()),
        Scalar::Bytes(value) => match kind {
            Kind::Fixed(length) => Avro::Fixed(*length, value.clone()),
            _ => Avro::Bytes(value.clone()),
        },
    }
}
