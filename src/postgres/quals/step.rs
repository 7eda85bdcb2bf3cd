//! Functions of a column that keep its order: casts, `date_trunc`, `extract(year …)`, Iceberg's transforms. A constant
//! that is compared to such a function lies somewhere among the column's own values; where, a binary search finds.

use iceberg_core::spec::{CalendarDate, PrimitiveType, ordinals};

/// Microseconds of an hour.
const HOUR: i128 = 3_600_000_000;
/// Microseconds of a day.
pub const DAY: i128 = 24 * HOUR;

/// A function that never gives less for a greater argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A number with so many digits after the point as `float8`.
    ToDouble(u8),
    /// A number with so many digits after the point as `float4`.
    ToSingle(u8),
    /// Between local time and UTC in some time zone: a shift by less than a day, which differs from time to time.
    Zone,
    /// The beginning of a unit of time.
    Truncate(Unit),
    /// The calendar year as Postgres counts it: there is no year 0.
    CalendarYear,
    /// Microseconds from 1970 as a number.
    Epoch,
    /// Iceberg's `year`, `month` or `hour`: how many of these have gone by since 1970.
    Since1970(Unit),
    /// Iceberg's `truncate` of numbers: down to a multiple.
    Multiple(u32),
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// So many microseconds, counted from a Monday or any other midnight.
    Micros(i128),
    /// A week, from Monday.
    Week,
    /// So many calendar months; a divisor or multiple of a year.
    Months(i64),
}

/// A value on its way through the steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage {
    /// A number; how many of its digits are after the point is known elsewhere.
    Number(i128),
    /// A floating-point number, of either width.
    Float(f64),
    /// Microseconds from 1970-01-01, or from midnight.
    Micros(i128),
}

impl Unit {
    /// An hour.
    pub const HOUR: Self = Self::Micros(HOUR);
    /// A day.
    pub const DAY: Self = Self::Micros(DAY);

    /// By the name that `date_trunc` takes; `None` for those it does not know and those whose first years differ.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "microsecond" | "microseconds" => Self::Micros(1),
            "millisecond" | "milliseconds" => Self::Micros(1_000),
            "second" | "seconds" => Self::Micros(1_000_000),
            "minute" | "minutes" => Self::Micros(60_000_000),
            "hour" | "hours" => Self::Micros(HOUR),
            "day" | "days" => Self::Micros(DAY),
            "week" | "weeks" => Self::Week,
            "month" | "months" => Self::Months(1),
            "quarter" => Self::Months(3),
            "year" | "years" => Self::Months(12),
            _ => return None,
        })
    }

    /// The beginning of the unit that a time is in.
    fn begin(self, micros: i128) -> i128 {
        match self {
            Self::Micros(length) => micros - micros.rem_euclid(length),
            // 1970-01-01 was a Thursday.
            Self::Week => {
                let days = micros.div_euclid(DAY);
                (days - (days + 3).rem_euclid(7)) * DAY
            }
            Self::Months(count) => {
                let month = months(micros);
                let first = month - month.rem_euclid(count);
                let date = CalendarDate {
                    year: first.div_euclid(12),
                    month: first.rem_euclid(12) as u8 + 1,
                    day: 1,
                };
                // No stored date is so far away that its month has no first day.
                date.to_days().map_or(micros, |days| i128::from(days) * DAY)
            }
        }
    }

    /// How many have gone by since 1970.
    fn since_1970(self, micros: i128) -> i128 {
        match self {
            Self::Micros(length) => micros.div_euclid(length),
            Self::Week => (micros.div_euclid(DAY) + 3).div_euclid(7),
            Self::Months(count) => (months(micros) - 1970 * 12).div_euclid(count).into(),
        }
    }
}

/// Months from the year 0 of the calendar that has one.
fn months(micros: i128) -> i64 {
    let date = date(micros);
    date.year * 12 + i64::from(date.month) - 1
}

fn date(micros: i128) -> CalendarDate {
    let days = micros.div_euclid(DAY);
    CalendarDate::from_days(i64::try_from(days).unwrap_or(if days < 0 {
        i64::MIN
    } else {
        i64::MAX
    }))
}

impl Step {
    /// What it makes of a value, if time zones shift by `shift` microseconds.
    fn apply(self, value: Stage, shift: i128) -> Stage {
        match (self, value) {
            (Self::ToDouble(0), Stage::Number(number)) => Stage::Float(number as f64),
            (Self::ToDouble(scale), Stage::Number(number)) => {
                // Parsing rounds rightly, as the C library does for Postgres.
                Stage::Float(format!("{number}e-{scale}").parse().unwrap_or(f64::NAN))
            }
            (Self::ToSingle(0), Stage::Number(number)) => Stage::Float((number as f32).into()),
            (Self::ToSingle(scale), Stage::Number(number)) => {
                let single: f32 = format!("{number}e-{scale}").parse().unwrap_or(f32::NAN);
                Stage::Float(single.into())
            }
            (Self::Zone, Stage::Micros(micros)) => Stage::Micros(micros.saturating_add(shift)),
            (Self::Truncate(unit), Stage::Micros(micros)) => Stage::Micros(unit.begin(micros)),
            (Self::CalendarYear, Stage::Micros(micros)) => {
                let year = date(micros).year;
                Stage::Number(if year > 0 { year } else { year - 1 }.into())
            }
            (Self::Epoch, Stage::Micros(micros)) => Stage::Number(micros),
            (Self::Since1970(unit), Stage::Micros(micros)) => {
                Stage::Number(unit.since_1970(micros))
            }
            (Self::Multiple(of), Stage::Number(number)) => {
                Stage::Number(number - number.rem_euclid(of.into()))
            }
            (_, value) => value,
        }
    }
}

/// What a stored value is before any step.
fn stored(of: &PrimitiveType, ordinal: i128) -> Stage {
    match of {
        PrimitiveType::Date => Stage::Micros(ordinal * DAY),
        PrimitiveType::Time | PrimitiveType::Timestamp | PrimitiveType::Timestamptz => {
            Stage::Micros(ordinal)
        }
        // Postgres sees them without what is below a microsecond.
        PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => {
            Stage::Micros(ordinal.div_euclid(1_000))
        }
        _ => Stage::Number(ordinal),
    }
}

/// The least ordinal of a type for which `steps` give something that is not `before`; the one after the last if there
/// is none. `before` is true of small values and false of great ones.
pub fn first_not(
    of: &PrimitiveType,
    steps: &[Step],
    shift: i128,
    before: &dyn Fn(Stage) -> bool,
) -> Option<i128> {
    let range = ordinals(of)?;
    let (mut low, mut high) = (*range.start(), *range.end() + 1);
    while low < high {
        let middle = low + (high.abs_diff(low) / 2).cast_signed();
        let value = steps
            .iter()
            .fold(stored(of, middle), |value, step| step.apply(value, shift));
        if before(value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(low)
}
