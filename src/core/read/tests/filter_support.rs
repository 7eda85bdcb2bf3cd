//! Random columns, random predicates, and what the predicates mean of each row by
//! [`Check::is_true_of`]. Nothing in the spec.

use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::{DataType, Field};
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use super::support::with_id;
use crate::read::arrow_type;
use crate::spec::{
    Check, Comparison, Predicate, PrimitiveType, PrimitiveValue, Term, Test, Transform, Type,
};

pub type Value = Option<PrimitiveValue>;

/// A column: its field id, its type, and the values of the rows. Columns with an id from
/// [`IN_STRUCT`] on are members of the struct of that id.
#[derive(Debug, Clone)]
pub struct Column {
    pub id: i32,
    pub field_type: PrimitiveType,
    pub values: Vec<Value>,
}

/// The id of the struct that some columns are in.
pub const IN_STRUCT: i32 = 100;

/// Columns of as many rows, which rows have the struct, and a predicate.
#[derive(Debug, Clone)]
pub struct Case {
    pub columns: Vec<Column>,
    pub has_struct: Vec<bool>,
    pub predicate: Predicate,
}

impl Case {
    pub fn rows(&self) -> usize {
        self.has_struct.len()
    }

    /// What a row has in a field.
    pub fn value(&self, field_id: i32, row: usize) -> Value {
        let column = self.columns.iter().find(|column| column.id == field_id)?;
        if field_id > IN_STRUCT && !self.has_struct[row] {
            return None;
        }
        column.values[row].clone()
    }

    /// The numbers of the rows that the predicate is true of.
    pub fn wanted(&self) -> Vec<usize> {
        (0..self.rows())
            .filter(|row| is_true(&self.predicate, &|id| self.value(id, *row)))
            .collect()
    }
}

/// Whether a predicate is true of a row.
pub fn is_true(predicate: &Predicate, row: &dyn Fn(i32) -> Value) -> bool {
    match predicate {
        Predicate::True => true,
        Predicate::False => false,
        Predicate::And(inner) => inner.iter().all(|inner| is_true(inner, row)),
        Predicate::Or(inner) => inner.iter().any(|inner| is_true(inner, row)),
        Predicate::Test(test) => {
            let value = row(test.term.field_id);
            let value = value.and_then(|value| test.term.transform.apply(&value));
            test.check.is_true_of(value.as_ref())
        }
    }
}

/// One of each primitive type.
pub fn types() -> Vec<PrimitiveType> {
    use PrimitiveType as P;
    vec![
        P::Boolean,
        P::Int,
        P::Long,
        P::Float,
        P::Double,
        decimal(9, 2),
        decimal(18, 0),
        decimal(38, 10),
        P::Date,
        P::Time,
        P::Timestamp,
        P::Timestamptz,
        P::TimestampNs,
        P::TimestamptzNs,
        P::String,
        P::Uuid,
        P::Fixed(3),
        P::Binary,
    ]
}

pub fn decimal(precision: u8, scale: u8) -> PrimitiveType {
    PrimitiveType::Decimal { precision, scale }
}

/// Values of a type that lie close to each other, and its extremes.
pub fn pool(field_type: &PrimitiveType) -> Vec<PrimitiveValue> {
    use PrimitiveType as P;
    use PrimitiveValue as V;
    const LONGS: [i64; 11] = [i64::MIN, -101, -100, -11, -10, -1, 0, 1, 10, 100, i64::MAX];
    // No hour of these is out of range.
    const TIMES: [i64; 11] = [
        -4_000_000_000_000_000_000,
        -86_400_000_001,
        -86_400_000_000,
        -3_600_000_001,
        -1_001,
        -1,
        0,
        1,
        3_600_000_000,
        86_400_000_000,
        4_000_000_000_000_000_000,
    ];
    const BYTES: [&[u8]; 9] = [
        b"",
        b"\0",
        b"a",
        b"a\0",
        b"ab",
        b"\x7f",
        b"\x80",
        b"\xff",
        b"\xff\xff",
    ];
    match field_type {
        P::Boolean => vec![V::Boolean(false), V::Boolean(true)],
        P::Int => LONGS
            .map(|number| V::Int(number.clamp(i32::MIN.into(), i32::MAX.into()) as i32))
            .into(),
        P::Long => LONGS.map(V::Long).into(),
        P::Date => [-719_162, -366, -1, 0, 1, 30, 31, 365, 10_957, 2_932_896]
            .map(V::Date)
            .into(),
        P::Float => floats().map(|number| V::Float(number as f32)).collect(),
        P::Double => floats().map(V::Double).collect(),
        P::Decimal { precision, .. } => {
            let most = 10_i128.pow(u32::from(*precision)) - 1;
            [
                -most,
                1 - most,
                -128,
                -11,
                -10,
                -1,
                0,
                1,
                10,
                127,
                255,
                most,
            ]
            .map(V::Decimal)
            .into()
        }
        P::Time => [0, 1, 43_200_000_000, 86_399_999_999].map(V::Time).into(),
        P::Timestamp => TIMES.map(V::Timestamp).into(),
        P::Timestamptz => TIMES.map(V::Timestamptz).into(),
        P::TimestampNs => TIMES.map(V::TimestampNs).into(),
        P::TimestamptzNs => TIMES.map(V::TimestamptzNs).into(),
        P::String => [
            "",
            "\0",
            "a",
            "a\0",
            "ab",
            "abc",
            "abcdefghijklmnopqrstuvwxyz",
            "abcdefghijklmnopqrstuvwxya",
            "b",
            "é",
            "éa",
            "\u{7f}",
            "\u{80}",
            "\u{ffff}",
            "\u{ffff}a",
            "\u{10000}",
            "\u{10ffff}",
            "\u{10ffff}\u{10ffff}",
        ]
        .map(|text| V::String(text.to_owned()))
        .into(),
        P::Uuid => [0, 1, u128::MAX / 2, u128::MAX / 2 + 1, u128::MAX]
            .map(|number| V::Uuid(Uuid::from_u128(number)))
            .into(),
        P::Fixed(_) => [
            [0, 0, 0],
            [0, 0, 1],
            [127, 255, 255],
            [128, 0, 0],
            [255, 255, 255],
        ]
        .map(|bytes| V::Fixed(bytes.to_vec()))
        .into(),
        P::Binary => BYTES.map(|bytes| V::Binary(bytes.to_vec())).into(),
        other => panic!("no values of {other}"),
    }
}

fn floats() -> impl Iterator<Item = f64> {
    [
        f64::NEG_INFINITY,
        f64::from(f32::MIN),
        -1.5,
        f64::from(-f32::MIN_POSITIVE),
        -0.0,
        0.0,
        f64::from(f32::MIN_POSITIVE),
        1.0,
        1.5,
        f64::from(f32::MAX),
        f64::INFINITY,
        f64::NAN,
        -f64::NAN,
    ]
    .into_iter()
}

/// Values as an array of the type that batches have for theirs.
pub fn array_of(field_type: &PrimitiveType, values: &[Value]) -> ArrayRef {
    use PrimitiveValue as V;
    macro_rules! array {
        ($array:ty, $($pattern:pat => $value:expr),+) => {
            Arc::new(
                values
                    .iter()
                    .map(|value| match value {
                        None => None,
                        $(Some($pattern) => Some($value),)+
                        Some(other) => panic!("{other:?} is none of {field_type}"),
                    })
                    .collect::<$array>(),
            )
        };
    }
    let data_type = arrow_type(&Type::Primitive(field_type.clone()));
    match field_type {
        PrimitiveType::Boolean => array!(BooleanArray, V::Boolean(value) => *value),
        PrimitiveType::Int => array!(Int32Array, V::Int(value) => *value),
        PrimitiveType::Long => array!(Int64Array, V::Long(value) => *value),
        PrimitiveType::Float => array!(Float32Array, V::Float(value) => *value),
        PrimitiveType::Double => array!(Float64Array, V::Double(value) => *value),
        PrimitiveType::Date => array!(Date32Array, V::Date(value) => *value),
        PrimitiveType::Time => array!(Time64MicrosecondArray, V::Time(value) => *value),
        PrimitiveType::Decimal { .. } => {
            let array: Arc<Decimal128Array> = array!(Decimal128Array, V::Decimal(value) => *value);
            Arc::new(array.as_ref().clone().with_data_type(data_type))
        }
        PrimitiveType::Timestamp | PrimitiveType::Timestamptz => {
            let array: Arc<TimestampMicrosecondArray> = array!(TimestampMicrosecondArray, V::Timestamp(value) | V::Timestamptz(value) => *value);
            Arc::new(array.as_ref().clone().with_data_type(data_type))
        }
        PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => {
            let array: Arc<TimestampNanosecondArray> = array!(TimestampNanosecondArray, V::TimestampNs(value) | V::TimestamptzNs(value) => *value);
            Arc::new(array.as_ref().clone().with_data_type(data_type))
        }
        PrimitiveType::String => array!(StringViewArray, V::String(value) => value.as_str()),
        PrimitiveType::Binary => array!(BinaryViewArray, V::Binary(value) => value.as_slice()),
        PrimitiveType::Uuid | PrimitiveType::Fixed(_) => {
            let DataType::FixedSizeBinary(width) = data_type else {
                panic!("{data_type} is not of a fixed length")
            };
            let values = values.iter().map(|value| match value {
                None => None,
                Some(V::Uuid(value)) => Some(value.as_bytes().to_vec()),
                Some(V::Fixed(value)) => Some(value.clone()),
                Some(other) => panic!("{other:?} is none of {field_type}"),
            });
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, width).unwrap())
        }
        other => panic!("no arrays of {other}"),
    }
}

/// An Arrow field of an Iceberg type, with the id and the name of a column.
pub fn arrow_field(id: i32, field_type: &PrimitiveType) -> Field {
    let data_type = arrow_type(&Type::Primitive(field_type.clone()));
    with_id(id, Field::new(format!("c{id}"), data_type, true))
}

fn values(field_type: PrimitiveType, rows: usize) -> impl Strategy<Value = Vec<Value>> {
    let pool = pool(&field_type);
    // Runs of a few values: only then is there something to pass over.
    let few = proptest::collection::vec(select(pool.clone()), 1..3);
    let nulls = select(vec![0, 20, 100]);
    (few, nulls, any::<bool>()).prop_flat_map(move |(few, nulls, is_mixed)| {
        let pool = if is_mixed { pool.clone() } else { few };
        let value = (0..100, select(pool))
            .prop_map(move |(chance, value)| (chance >= nulls).then_some(value));
        let run = (value, 1..=rows.max(1) / 2 + 1).prop_map(|(value, times)| vec![value; times]);
        proptest::collection::vec(run, rows).prop_map(move |runs| {
            let mut values = runs.concat();
            values.truncate(rows);
            values
        })
    })
}

fn transforms(field_type: &PrimitiveType) -> Vec<Transform> {
    [
        "identity",
        "identity",
        "identity",
        "bucket[3]",
        "truncate[1]",
        "truncate[10]",
        "year",
        "month",
        "day",
        "hour",
    ]
    .into_iter()
    .map(|name| Transform::parse(name).unwrap())
    .filter(|transform| transform.accepts(field_type))
    .collect()
}

/// A test of a column.
pub fn test_of(id: i32, field_type: PrimitiveType) -> impl Strategy<Value = Test> {
    let term = select(transforms(&field_type)).prop_map(move |transform| Term {
        field_id: id,
        field_type: field_type.clone(),
        transform,
    });
    term.prop_flat_map(|term| {
        let value_type = term.value_type();
        let mut constants: Vec<_> = pool(&term.field_type)
            .iter()
            .filter_map(|value| term.transform.apply(value))
            .collect();
        constants.extend(pool(&value_type));
        check(&value_type, constants).prop_map(move |check| Test {
            term: term.clone(),
            check,
        })
    })
}

fn check(
    value_type: &PrimitiveType,
    constants: Vec<PrimitiveValue>,
) -> impl Strategy<Value = Check> + use<> {
    let comparison = select(vec![
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::GreaterOrEqual,
        Comparison::Greater,
    ]);
    let one = select(constants.clone());
    // Values of another type are equal to nothing.
    let mut any_type = constants.clone();
    any_type.extend([PrimitiveValue::Boolean(true), PrimitiveValue::Int(0)]);
    let list = move || {
        let some = proptest::collection::vec(select(any_type.clone()), 0..4);
        let many = proptest::collection::vec(select(any_type.clone()), 9..12);
        prop_oneof![some, many].prop_map(Arc::<[_]>::from)
    };
    let prefixes = match value_type {
        PrimitiveType::String => ["", "a", "ab", "\u{ffff}", "\u{10ffff}"]
            .map(|text| PrimitiveValue::String(text.to_owned()))
            .into(),
        PrimitiveType::Binary | PrimitiveType::Fixed(_) => {
            [&b""[..], b"\0", b"a", b"\xff", b"\x7f\xff"]
                .map(|bytes| PrimitiveValue::Binary(bytes.to_vec()))
                .into()
        }
        _ => constants,
    };
    prop_oneof![
        1 => Just(Check::IsNull),
        1 => Just(Check::NotNull),
        1 => Just(Check::IsNan),
        1 => Just(Check::NotNan),
        6 => (comparison, one).prop_map(|(comparison, value)| Check::Compare(comparison, value)),
        2 => list().prop_map(Check::In),
        2 => list().prop_map(Check::NotIn),
        2 => select(prefixes.clone()).prop_map(Check::StartsWith),
        1 => select(prefixes).prop_map(Check::NotStartsWith),
    ]
}

fn predicate(columns: Vec<(i32, PrimitiveType)>) -> impl Strategy<Value = Predicate> {
    let test = select(columns)
        .prop_flat_map(|(id, field_type)| test_of(id, field_type))
        .prop_map(Predicate::Test);
    test.prop_recursive(3, 8, 3, |inner| {
        let several = proptest::collection::vec(inner, 1..4);
        prop_oneof![
            several.clone().prop_map(Predicate::And),
            several.prop_map(Predicate::Or),
        ]
    })
}

/// Two columns, a struct of two more, and a predicate over them.
pub fn case(rows: usize) -> impl Strategy<Value = Case> {
    let types = proptest::collection::vec(select(types()), 4);
    types.prop_flat_map(move |types| {
        let ids = [1, 2, IN_STRUCT + 1, IN_STRUCT + 2];
        let typed: Vec<_> = ids.into_iter().zip(types).collect();
        let all_values: Vec<_> = typed
            .iter()
            .map(|(_, field_type)| values(field_type.clone(), rows).boxed())
            .collect();
        let has_struct = proptest::collection::vec(proptest::bool::weighted(0.8), rows);
        let predicate = predicate(typed.clone());
        (all_values, has_struct, predicate).prop_map(move |(all_values, has_struct, predicate)| {
            Case {
                columns: typed
                    .iter()
                    .zip(all_values)
                    .map(|((id, field_type), values)| Column {
                        id: *id,
                        field_type: field_type.clone(),
                        values,
                    })
                    .collect(),
                has_struct,
                predicate,
            }
        })
    })
}
