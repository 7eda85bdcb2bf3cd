//! `iceberg.year`, `month`, `day`, `hour`, `bucket` and `truncate`: Iceberg's partition transforms of single values.
//! Spec: "Partition Transforms", Appendix B "32-bit Hash Requirements".

use std::ffi::{CStr, CString};
use std::num::NonZeroU32;

use iceberg_core::spec::{PrimitiveValue, Transform};
use pgrx::datum::Internal;
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::*;

use crate::encoding::to_server;
use crate::error::Report;
use crate::quals::text;

/// Days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i32 = (pg_sys::POSTGRES_EPOCH_JDATE - pg_sys::UNIX_EPOCH_JDATE) as i32;
/// The same in microseconds.
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

#[pg_extern(sql = false)]
fn year_of_date(value: i32) -> i32 {
    integer(&Transform::Year, &date(value))
}

#[pg_extern(sql = false)]
fn year_of_timestamp(value: i64) -> i32 {
    integer(&Transform::Year, &timestamp(value))
}

#[pg_extern(sql = false)]
fn month_of_date(value: i32) -> i32 {
    integer(&Transform::Month, &date(value))
}

#[pg_extern(sql = false)]
fn month_of_timestamp(value: i64) -> i32 {
    integer(&Transform::Month, &timestamp(value))
}

#[pg_extern(sql = false)]
fn day_of_date(value: i32) -> i32 {
    integer(&Transform::Day, &date(value)) - EPOCH_DAYS
}

#[pg_extern(sql = false)]
fn day_of_timestamp(value: i64) -> i32 {
    integer(&Transform::Day, &timestamp(value)) - EPOCH_DAYS
}

#[pg_extern(sql = false)]
fn hour_of_timestamp(value: i64) -> i32 {
    integer(&Transform::Hour, &timestamp(value))
}

#[pg_extern(sql = false)]
fn bucket_of_int(buckets: i32, value: i32) -> i32 {
    bucket(buckets, &PrimitiveValue::Int(value))
}

/// Also of a time: both are hashed as their number.
#[pg_extern(sql = false)]
fn bucket_of_long(buckets: i32, value: i64) -> i32 {
    bucket(buckets, &PrimitiveValue::Long(value))
}

#[pg_extern(sql = false)]
fn bucket_of_date(buckets: i32, value: i32) -> i32 {
    bucket(buckets, &date(value))
}

#[pg_extern(sql = false)]
fn bucket_of_timestamp(buckets: i32, value: i64) -> i32 {
    bucket(buckets, &timestamp(value))
}

/// By all digits that the number has after the point, as those of a column's scale are part of its hash.
#[pg_extern(sql = false)]
fn bucket_of_numeric(buckets: i32, value: Internal) -> i32 {
    bucket(
        buckets,
        &PrimitiveValue::Decimal(unscaled(argument(value)).0),
    )
}

#[pg_extern(sql = false)]
fn bucket_of_text(buckets: i32, value: Internal) -> i32 {
    bucket(buckets, &PrimitiveValue::String(utf8(argument(value))))
}

#[pg_extern(sql = false)]
fn bucket_of_uuid(buckets: i32, value: pgrx::Uuid) -> i32 {
    let uuid = uuid::Uuid::from_bytes(*value.as_bytes());
    bucket(buckets, &PrimitiveValue::Uuid(uuid))
}

#[pg_extern(sql = false)]
fn bucket_of_bytea(buckets: i32, value: &[u8]) -> i32 {
    bucket(buckets, &PrimitiveValue::Binary(value.to_vec()))
}

#[pg_extern(sql = false)]
fn truncate_int(width: i32, value: i32) -> i32 {
    let truncated = truncate(width, &PrimitiveValue::Int(value));
    match truncated {
        // Writers let it wrap round.
        Some(PrimitiveValue::Int(truncated)) if truncated <= value => truncated,
        _ => out_of_range("integer"),
    }
}

#[pg_extern(sql = false)]
fn truncate_long(width: i32, value: i64) -> i64 {
    let truncated = truncate(width, &PrimitiveValue::Long(value));
    match truncated {
        Some(PrimitiveValue::Long(truncated)) if truncated <= value => truncated,
        _ => out_of_range("bigint"),
    }
}

/// A multiple of `width` in units of the last digit that the number has.
#[pg_extern(sql = false)]
fn truncate_numeric(width: i32, value: Internal) -> Internal {
    let (unscaled, scale) = unscaled(argument(value));
    let truncated = match truncate(width, &PrimitiveValue::Decimal(unscaled)) {
        Some(PrimitiveValue::Decimal(truncated)) if truncated <= unscaled => truncated,
        _ => out_of_range("numeric"),
    };
    let text = CString::new(format!("{truncated}e-{scale}")).unwrap_or_default();
    // SAFETY: the input function of numeric, without a modifier.
    let number = unsafe {
        pgrx::direct_function_call_as_datum(
            pg_sys::numeric_in,
            &[
                Some(Datum::from(text.as_ptr())),
                Some(Datum::from(pg_sys::Oid::INVALID)),
                Some(Datum::from(-1)),
            ],
        )
    };
    Internal::from(number)
}

#[pg_extern(sql = false)]
fn truncate_text(width: i32, value: Internal) -> Internal {
    let truncated = match truncate(width, &PrimitiveValue::String(utf8(argument(value)))) {
        Some(PrimitiveValue::String(truncated)) => to_server(&truncated).unwrap_or_default(),
        _ => CString::default(),
    };
    // SAFETY: copies a text that ends with a zero byte.
    let text = unsafe { pg_sys::cstring_to_text(truncated.as_ptr()) };
    Internal::from(Some(Datum::from(text)))
}

#[pg_extern(sql = false)]
fn truncate_bytea(width: i32, value: &[u8]) -> Vec<u8> {
    match truncate(width, &PrimitiveValue::Binary(value.to_vec())) {
        Some(PrimitiveValue::Binary(truncated)) => truncated,
        _ => Vec::new(),
    }
}

fn date(days: i32) -> PrimitiveValue {
    match days.checked_add(EPOCH_DAYS) {
        Some(shifted) if days != i32::MIN => PrimitiveValue::Date(shifted),
        _ => out_of_range("date"),
    }
}

/// With or without a time zone: stored alike, and transformed in UTC.
fn timestamp(micros: i64) -> PrimitiveValue {
    match micros.checked_add(EPOCH_MICROS) {
        Some(shifted) if micros != i64::MIN => PrimitiveValue::Timestamp(shifted),
        _ => out_of_range("timestamp"),
    }
}

fn integer(transform: &Transform, value: &PrimitiveValue) -> i32 {
    match transform.apply(value) {
        Some(PrimitiveValue::Int(number) | PrimitiveValue::Date(number)) => number,
        _ => out_of_range("integer"),
    }
}

fn bucket(buckets: i32, value: &PrimitiveValue) -> i32 {
    let buckets = positive(buckets, "number of buckets");
    integer(&Transform::Bucket(buckets), value)
}

fn truncate(width: i32, value: &PrimitiveValue) -> Option<PrimitiveValue> {
    Transform::Truncate(positive(width, "width")).apply(value)
}

fn positive(number: i32, what: &str) -> NonZeroU32 {
    let positive = u32::try_from(number).ok().and_then(NonZeroU32::new);
    positive.unwrap_or_else(|| {
        Report::new(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("the {what} must be at least 1, not {number}"),
        )
        .raise()
    })
}

fn argument(value: Internal) -> Datum {
    value.unwrap().unwrap_or(Datum::null())
}

fn utf8(value: Datum) -> String {
    // SAFETY: the function is declared with an argument of type text, and strict.
    let text = unsafe { text::utf8(value, pg_sys::TEXTOID) };
    text.unwrap_or_else(|| {
        Report::new(
            PgSqlErrorCode::ERRCODE_UNTRANSLATABLE_CHARACTER,
            "a text has a character that UTF-8 does not have",
        )
        .raise()
    })
}

/// All digits of a number, and how many of them are after the point.
fn unscaled(value: Datum) -> (i128, usize) {
    // SAFETY: the function is declared with an argument of type numeric, and strict; the text ends with a zero byte.
    let text = unsafe {
        pgrx::direct_function_call_as_datum(pg_sys::numeric_out, &[Some(value)])
            .map(|text| CStr::from_ptr(text.cast_mut_ptr()))
    };
    let text = text.and_then(|text| text.to_str().ok()).unwrap_or_default();
    let scale = text
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    match text.replace('.', "").parse() {
        Ok(unscaled) => (unscaled, scale),
        Err(_) => out_of_range("numeric"),
    }
}

fn out_of_range(what: &str) -> ! {
    Report::new(
        PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
        format!("{what} out of range"),
    )
    .raise()
}

extension_sql_file!(
    "../../../sql/transforms.sql",
    name = "transforms",
    requires = [
        year_of_date,
        year_of_timestamp,
        month_of_date,
        month_of_timestamp,
        day_of_date,
        day_of_timestamp,
        hour_of_timestamp,
        bucket_of_int,
        bucket_of_long,
        bucket_of_date,
        bucket_of_timestamp,
        bucket_of_numeric,
        bucket_of_text,
        bucket_of_uuid,
        bucket_of_bytea,
        truncate_int,
        truncate_long,
        truncate_numeric,
        truncate_text,
        truncate_bytea
    ]
);
