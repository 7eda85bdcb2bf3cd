//! Dates and times: from Iceberg's epoch to Postgres' (2000-01-01), within what Postgres can hold.

use iceberg_core::{Error, ErrorKind, Result};

/// Days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i32 = 10_957;
/// The same in microseconds.
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;
/// First and one after the last day of `date`: 4714-11-24 BC and 5874898-01-01
/// (`DATETIME_MIN_JULIAN`, `DATE_END_JULIAN` in Postgres' timestamp.h).
const DATE_RANGE: std::ops::Range<i32> = -2_451_545..2_145_031_949;
/// First and one after the last instant of `timestamp`: 4714-11-24 BC and 294277-01-01
/// (`MIN_TIMESTAMP`, `END_TIMESTAMP`).
const TIMESTAMP_RANGE: std::ops::Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;
/// Microseconds of a day; `time` allows 24:00:00 itself.
const DAY_MICROS: i64 = 86_400_000_000;

/// A day count of Iceberg as Postgres' `date`.
pub fn date(days: i32) -> Result<i32> {
    match days.checked_sub(EPOCH_DAYS) {
        Some(shifted) if DATE_RANGE.contains(&shifted) => Ok(shifted),
        _ => Err(out_of_range(
            "date",
            &format!("{days} days from 1970-01-01"),
        )),
    }
}

/// Microseconds from 1970 as Postgres' `timestamp` or `timestamptz`.
pub fn timestamp(micros: i64) -> Result<i64> {
    match micros.checked_sub(EPOCH_MICROS) {
        Some(shifted) if TIMESTAMP_RANGE.contains(&shifted) => Ok(shifted),
        _ => Err(out_of_range(
            "timestamp",
            &format!("{micros} microseconds from 1970-01-01 00:00"),
        )),
    }
}

/// Nanoseconds from 1970, rounded down to microseconds.
pub fn timestamp_from_nanos(nanos: i64) -> Result<i64> {
    timestamp(nanos.div_euclid(1000))
}

/// Microseconds from midnight as Postgres' `time`.
pub fn time(micros: i64) -> Result<i64> {
    if (0..=DAY_MICROS).contains(&micros) {
        Ok(micros)
    } else {
        Err(out_of_range(
            "time",
            &format!("{micros} microseconds from midnight"),
        ))
    }
}

fn out_of_range(what: &str, value: &str) -> Error {
    Error::new(
        ErrorKind::OutOfRange,
        format!("{what} out of range for Postgres: {value}"),
    )
    .with_hint(
        "Postgres holds dates from 4714 BC to 5874897 AD and timestamps from 4714 BC to 294276 AD.",
    )
}
