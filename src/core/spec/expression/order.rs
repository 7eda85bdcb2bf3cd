//! The order of two values of one type, as Postgres has it.
//! Spec: "Sorting" (which orders NaN and -0 otherwise); Postgres: "Floating-Point Types".

use std::cmp::Ordering;

use crate::spec::value::PrimitiveValue;

/// How two values of one type compare; `None` if they are of different types.
///
/// NaN equals itself and is greater than every number, -0 equals 0, texts, bytes and UUIDs are ordered bytewise.
pub fn compare_values(left: &PrimitiveValue, right: &PrimitiveValue) -> Option<Ordering> {
    use PrimitiveValue as V;
    Some(match (left, right) {
        (V::Boolean(left), V::Boolean(right)) => left.cmp(right),
        (V::Int(left), V::Int(right)) | (V::Date(left), V::Date(right)) => left.cmp(right),
        (V::Long(left), V::Long(right))
        | (V::Time(left), V::Time(right))
        | (V::Timestamp(left), V::Timestamp(right))
        | (V::Timestamptz(left), V::Timestamptz(right))
        | (V::TimestampNs(left), V::TimestampNs(right))
        | (V::TimestamptzNs(left), V::TimestamptzNs(right)) => left.cmp(right),
        (V::Float(left), V::Float(right)) => compare_floats((*left).into(), (*right).into()),
        (V::Double(left), V::Double(right)) => compare_floats(*left, *right),
        (V::Decimal(left), V::Decimal(right)) => left.cmp(right),
        (V::String(left), V::String(right)) => left.as_bytes().cmp(right.as_bytes()),
        (V::Uuid(left), V::Uuid(right)) => left.as_bytes().cmp(right.as_bytes()),
        (V::Fixed(left) | V::Binary(left), V::Fixed(right) | V::Binary(right)) => left.cmp(right),
        _ => return None,
    })
}

fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right)
        .unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_ordered_as_postgres_orders_them() {
        let order = |left, right| {
            compare_values(
                &PrimitiveValue::Double(left),
                &PrimitiveValue::Double(right),
            )
        };
        assert_eq!(order(-0.0, 0.0), Some(Ordering::Equal));
        assert_eq!(order(f64::NAN, f64::NAN), Some(Ordering::Equal));
        assert_eq!(order(f64::NAN, f64::INFINITY), Some(Ordering::Greater));
        assert_eq!(order(f64::NEG_INFINITY, f64::NAN), Some(Ordering::Less));
        assert_eq!(order(1.0, 2.0), Some(Ordering::Less));
    }

    #[test]
    fn values_of_different_types_have_no_order() {
        assert_eq!(
            compare_values(&PrimitiveValue::Int(1), &PrimitiveValue::Long(1)),
            None
        );
        assert_eq!(
            compare_values(
                &PrimitiveValue::Timestamp(1),
                &PrimitiveValue::Timestamptz(1)
            ),
            None
        );
    }
}
