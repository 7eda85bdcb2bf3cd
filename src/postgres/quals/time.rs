//! Constants of dates and times as Postgres compares them: infinities, other types, the session's time zone.
//! Postgres' documentation: "Date/Time Types"; `utils/adt/date.c` for what comparisons across types convert.

use pgrx::pg_sys::{self, Datum, Oid};

use super::column::Image;
use super::step::DAY;

/// More than any time zone has ever been away from UTC.
pub const ZONE_MARGIN: i128 = DAY;

/// Days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i128 = (pg_sys::POSTGRES_EPOCH_JDATE - pg_sys::UNIX_EPOCH_JDATE) as i128;

/// A time in microseconds from 1970-01-01 00:00, or from midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Micros {
    /// Before everything that a table can hold.
    BeforeAll,
    /// This.
    At(i128),
    /// After everything that a table can hold.
    AfterAll,
}

/// A constant that is compared to a column of such values. Where Postgres converts the constant by the session's time
/// zone, so is it here; where it converts the column, only what is the same in every zone is done.
///
/// # Safety
/// The value is of the type.
pub unsafe fn constant(value: Datum, type_oid: Oid, column: Image) -> Option<Micros> {
    let word = value.value() as i64;
    Some(match (type_oid, column) {
        (pg_sys::TIMEOID, Image::Time) => Micros::At(word.into()),
        (pg_sys::DATEOID, Image::Timestamptz) => match of_date(word as i32) {
            // SAFETY: converts a finite date; with a place for the overflow it raises no error.
            Micros::At(_) => unsafe {
                let mut overflow = 0;
                let instant = pg_sys::date2timestamptz_opt_overflow(word as i32, &mut overflow);
                overflowed(overflow).unwrap_or_else(|| of_timestamp(instant))
            },
            infinite => infinite,
        },
        (pg_sys::TIMESTAMPOID, Image::Timestamptz) => match of_timestamp(word) {
            // SAFETY: as above.
            Micros::At(_) => unsafe {
                let mut overflow = 0;
                let instant = pg_sys::timestamp2timestamptz_opt_overflow(word, &mut overflow);
                overflowed(overflow).unwrap_or_else(|| of_timestamp(instant))
            },
            infinite => infinite,
        },
        (pg_sys::DATEOID, _) => of_date(word as i32),
        (pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID, _) => of_timestamp(word),
        _ => return None,
    })
}

fn overflowed(overflow: i32) -> Option<Micros> {
    match overflow.signum() {
        1 => Some(Micros::AfterAll),
        -1 => Some(Micros::BeforeAll),
        _ => None,
    }
}

fn of_date(days: i32) -> Micros {
    match days {
        i32::MIN => Micros::BeforeAll,
        i32::MAX => Micros::AfterAll,
        finite => Micros::At((i128::from(finite) + EPOCH_DAYS) * DAY),
    }
}

fn of_timestamp(micros: i64) -> Micros {
    match micros {
        i64::MIN => Micros::BeforeAll,
        i64::MAX => Micros::AfterAll,
        finite => Micros::At(i128::from(finite) + EPOCH_DAYS * DAY),
    }
}
