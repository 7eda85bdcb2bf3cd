//! Timestamps of ORC: seconds from the start of 2015 and nanoseconds, in the writer's time zone where
//! the type has none. ORC specification v1 "Timestamp Columns".

use chrono::{DateTime, LocalResult, NaiveDate, Offset, TimeZone};
use chrono_tz::Tz;

use crate::error::{Error, ErrorKind, Result};

/// The start of 2015 in UTC, in seconds from 1970-01-01.
const BASE: i64 = 1_420_070_400;

/// What the seconds of a column count from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    base: i64,
    /// The zone whose wall clock the values stand for; `None` for UTC.
    zone: Option<Tz>,
}

impl Clock {
    /// For timestamps that are points in time.
    pub(super) const UTC: Self = Self {
        base: BASE,
        zone: None,
    };

    /// For timestamps that are times on a wall clock, in a stripe whose writer was in this zone.
    ///
    /// # Errors
    /// `NotSupported` for a zone that is not known.
    pub(super) fn of_writer(zone: Option<&str>) -> Result<Self> {
        let zone = match zone {
            None | Some("" | "UTC" | "GMT" | "Z" | "Etc/UTC" | "Etc/GMT") => {
                return Ok(Self::UTC);
            }
            Some(name) => name.parse::<Tz>().map_err(|_| {
                Error::not_supported(format!("its writer's time zone \"{name}\" is not known"))
            })?,
        };
        let midnight = NaiveDate::from_ymd_opt(2015, 1, 1).and_then(|day| day.and_hms_opt(0, 0, 0));
        let base = match midnight.map(|midnight| zone.from_local_datetime(&midnight)) {
            Some(LocalResult::Single(base) | LocalResult::Ambiguous(base, _)) => base.timestamp(),
            _ => BASE,
        };
        Ok(Self {
            base,
            zone: Some(zone),
        })
    }

    /// Seconds from 1970-01-01 and nanoseconds, as the reader wants them.
    pub(super) fn read(self, seconds: i64, encoded_nanoseconds: i64) -> Result<(i64, u32)> {
        let nanoseconds = nanoseconds(encoded_nanoseconds)?;
        let out_of_range = || Error::new(ErrorKind::OutOfRange, "a timestamp does not fit 64 bits");
        let mut seconds = seconds.checked_add(self.base).ok_or_else(out_of_range)?;
        // Writers round seconds before 1970 toward zero: when there are milliseconds, or, where
        // they leave the sign to them, with nanoseconds that count backward.
        if nanoseconds < 0 || seconds < 0 && nanoseconds > 999_999 {
            seconds = seconds.checked_sub(1).ok_or_else(out_of_range)?;
        }
        let nanoseconds = nanoseconds.rem_euclid(1_000_000_000).unsigned_abs();
        if let Some(zone) = self.zone
            && let Some(instant) = DateTime::from_timestamp(seconds, 0)
        {
            let offset = zone.offset_from_utc_datetime(&instant.naive_utc()).fix();
            seconds = seconds.saturating_add(i64::from(offset.local_minus_utc()));
        }
        Ok((seconds, nanoseconds))
    }
}

/// The lowest three bits say how many decimal zeros were cut off, if any: one more than they say.
fn nanoseconds(encoded: i64) -> Result<i32> {
    let zeros = u32::try_from(encoded & 7).unwrap_or(0);
    let value = encoded >> 3;
    let factor = if zeros == 0 { 1 } else { 10_i64.pow(zeros + 1) };
    value
        .checked_mul(factor)
        .and_then(|value| i32::try_from(value).ok())
        .filter(|value| value.unsigned_abs() < 1_000_000_000)
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Corrupt,
                format!("a timestamp has {value} times {factor} nanoseconds"),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "1000 nanoseconds would be serialized as 0x0a and 100000 would be serialized as 0x0c."
    #[test]
    fn nanoseconds_of_the_specification() {
        assert_eq!(nanoseconds(0x0a).unwrap(), 1_000);
        assert_eq!(nanoseconds(0x0c).unwrap(), 100_000);
        assert_eq!(nanoseconds(999_999_999 << 3).unwrap(), 999_999_999);
        assert!(nanoseconds(1_000_000_000 << 3).is_err());
        assert!(nanoseconds(-1_000_000_000 << 3).is_err());
        assert!(nanoseconds(i64::MAX).is_err());
    }

    #[test]
    fn wall_clock_of_the_writer() {
        // Written by a writer in Los Angeles at 2015-07-01 00:00 on its clock, which is summer
        // time there: an hour less has passed since midnight of January 1st.
        let clock = Clock::of_writer(Some("America/Los_Angeles")).unwrap();
        let days = 181;
        let (seconds, nanoseconds) = clock.read(days * 86_400 - 3_600, 0).unwrap();
        assert_eq!((seconds, nanoseconds), (BASE + days * 86_400, 0));
        assert_eq!(
            Clock::of_writer(Some("GMT")).unwrap().read(0, 0).unwrap(),
            (BASE, 0)
        );
        assert_eq!(
            Clock::of_writer(Some("Moon/Tycho")).unwrap_err().kind(),
            ErrorKind::NotSupported
        );
    }

    #[test]
    fn before_1970() {
        // 1969-12-31 23:59:58.5: seconds rounded toward zero, with milliseconds.
        assert_eq!(
            Clock::UTC.read(-BASE - 1, 5 << 3 | 7).unwrap(),
            (-2, 500_000_000)
        );
        // With microseconds only, seconds are the floor.
        assert_eq!(Clock::UTC.read(-BASE - 2, 7 << 3 | 2).unwrap(), (-2, 7_000));
        // Apache Arrow's writer: seconds rounded toward zero, and the rest with the same sign.
        assert_eq!(
            Clock::UTC.read(-BASE - 1, -500_000_000 << 3).unwrap(),
            (-2, 500_000_000)
        );
        assert!(Clock::UTC.read(i64::MAX, 0).is_err());
    }
}
