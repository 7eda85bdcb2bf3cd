//! Days since 1970-01-01 to year, month, day and back, in the proleptic Gregorian calendar, over the
//! whole range that dates and timestamps can store. Spec: "Primitive Types", Appendix D.

/// Microseconds of a day.
pub(crate) const MICROS_A_DAY: i64 = 86_400_000_000;
/// Nanoseconds of a day.
pub(crate) const NANOS_A_DAY: i64 = 86_400_000_000_000;

/// Days of 400 years, after which the calendar repeats.
const DAYS_OF_ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;

/// A day of the calendar; years before 1 are 0, -1, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarDate {
    /// The year.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

impl CalendarDate {
    /// The day so many days after 1970-01-01. Any `i32`, and any timestamp's day, has one.
    pub fn from_days(days: i64) -> Self {
        // Years are counted from March, so that the leap day is the last of its year.
        let shifted = days.saturating_add(DAYS_TO_EPOCH);
        let era = shifted.div_euclid(DAYS_OF_ERA);
        let day_of_era = shifted.rem_euclid(DAYS_OF_ERA);
        let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / (DAYS_OF_ERA - 1);
        let year_of_era = (day_of_era - leap_days) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let (month, next_year) = if month_from_march < 10 {
            (month_from_march + 3, 0)
        } else {
            (month_from_march - 9, 1)
        };
        Self {
            year: era * 400 + year_of_era + next_year,
            month: month as u8,
            day: day as u8,
        }
    }

    /// Days from 1970-01-01, or `None` if there is no such day or it is millions of years away.
    pub fn to_days(self) -> Option<i64> {
        if !(1..=12).contains(&self.month)
            || !(1..=days_of_month(self.year, self.month)).contains(&self.day)
            || self.year.unsigned_abs() > 10_000_000
        {
            return None;
        }
        let month = i64::from(self.month);
        let (year, month_from_march) = if month > 2 {
            (self.year, month - 3)
        } else {
            (self.year - 1, month + 9)
        };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Some(era * DAYS_OF_ERA + day_of_era - DAYS_TO_EPOCH)
    }
}

fn days_of_month(year: i64, month: u8) -> u8 {
    let leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: i64, month: u8, day: u8) -> CalendarDate {
        CalendarDate { year, month, day }
    }

    #[test]
    fn days_that_postgres_agrees_on() {
        // select d - date '1970-01-01' from …
        for (days, expected) in [
            (0, date(1970, 1, 1)),
            (-1, date(1969, 12, 31)),
            (17_486, date(2017, 11, 16)),
            (19_782, date(2024, 2, 29)),
            (19_783, date(2024, 3, 1)),
            (11_016, date(2000, 2, 29)),
            (-25_509, date(1900, 2, 28)),
            (-25_508, date(1900, 3, 1)),
            (2_932_896, date(9999, 12, 31)),
            (-719_162, date(1, 1, 1)),
            (-719_163, date(0, 12, 31)),
        ] {
            assert_eq!(CalendarDate::from_days(days), expected, "{days}");
            assert_eq!(expected.to_days(), Some(days), "{expected:?}");
        }
    }

    #[test]
    fn days_follow_one_another() {
        let mut previous = CalendarDate::from_days(-200_001);
        for days in -200_000..200_000 {
            let next = CalendarDate::from_days(days);
            let last_of_month = previous.day == days_of_month(previous.year, previous.month);
            let expected = match (last_of_month, previous.month) {
                (false, _) => date(previous.year, previous.month, previous.day + 1),
                (true, 12) => date(previous.year + 1, 1, 1),
                (true, _) => date(previous.year, previous.month + 1, 1),
            };
            assert_eq!(next, expected);
            assert_eq!(next.to_days(), Some(days));
            previous = next;
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        for days in [
            i64::from(i32::MIN),
            i64::from(i32::MAX),
            i64::MAX / 86_400_000_000,
        ] {
            assert_eq!(CalendarDate::from_days(days).to_days(), Some(days));
        }
        // The year of 2^63 - 1 microseconds, as Java prints it: +294247-01-10
        let last = CalendarDate::from_days(i64::MAX / 86_400_000_000);
        assert_eq!(last, date(294_247, 1, 10));
        CalendarDate::from_days(i64::MAX);
        CalendarDate::from_days(i64::MIN);
    }

    #[test]
    fn days_that_are_not() {
        for (year, month, day) in [
            (2023, 2, 29),
            (1900, 2, 29),
            (2024, 4, 31),
            (2024, 0, 1),
            (2024, 13, 1),
            (2024, 1, 0),
            (2024, 1, 32),
            (i64::MAX, 1, 1),
        ] {
            assert_eq!(date(year, month, day).to_days(), None);
        }
    }
}
