//! Single values of primitive types: bounds, partition values, defaults.
//! Spec: Appendix D "Single-value serialization", binary and JSON.

/// A value of a primitive type; the variant says how it is stored, the type beside it what it means.
#[derive(Debug, Clone, PartialEq)]
pub enum PrimitiveValue {
    /// `boolean`
    Boolean(bool),
    /// `int`
    Int(i32),
    /// `long`
    Long(i64),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
    /// `decimal`: the unscaled value; the scale is the type's.
    Decimal(i128),
    /// `date`: days from 1970-01-01
    Date(i32),
    /// `time`: microseconds from midnight
    Time(i64),
    /// `timestamp`: microseconds
    Timestamp(i64),
    /// `timestamptz`: microseconds UTC
    Timestamptz(i64),
    /// `timestamp_ns`: nanoseconds
    TimestampNs(i64),
    /// `timestamptz_ns`: nanoseconds UTC
    TimestamptzNs(i64),
    /// `string`
    String(String),
    /// `uuid`
    Uuid(uuid::Uuid),
    /// `fixed`
    Fixed(Vec<u8>),
    /// `binary`, and the WKB of `geometry` and `geography`
    Binary(Vec<u8>),
}
