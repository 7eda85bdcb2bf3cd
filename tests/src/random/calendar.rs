//! Years and months of days; written here so that no calendar of the product's stands on both sides of a comparison.

/// Microseconds of a day.
pub const DAY: i64 = 86_400_000_000;
/// Microseconds of an hour.
pub const HOUR: i64 = 3_600_000_000;

/// The proleptic Gregorian year, and the month from 1, of a day counted from 1970-01-01.
pub fn year_and_month(days: i64) -> (i64, i64) {
    // A year has 365.2425 days; one less, as the first year may be a long one.
    let mut year = 1969 + (days * 10_000).div_euclid(3_652_425);
    while first_day(year + 1) <= days {
        year += 1;
    }
    let leap = i64::from(is_leap(year));
    let mut rest = days - first_day(year);
    let lengths = [31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while rest >= lengths[month] {
        rest -= lengths[month];
        month += 1;
    }
    (year, month as i64 + 1)
}

/// A day as ISO text; `None` outside of the years that have four digits.
pub fn date_text(days: i64) -> Option<String> {
    let (year, month) = year_and_month(days);
    let mut first = days;
    while year_and_month(first - 1) == (year, month) {
        first -= 1;
    }
    (1..=9999)
        .contains(&year)
        .then(|| format!("{year:04}-{month:02}-{:02}", days - first + 1))
}

/// A moment in microseconds from 1970 as ISO text; `None` outside of the years that have four digits.
pub fn timestamp_text(micros: i64) -> Option<String> {
    let time = micros.rem_euclid(DAY);
    let date = date_text(micros.div_euclid(DAY))?;
    let (seconds, fraction) = (time / 1_000_000, time % 1_000_000);
    Some(format!(
        "{date} {:02}:{:02}:{:02}.{fraction:06}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    ))
}

fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// The first of January of a year.
fn first_day(year: i64) -> i64 {
    let before = year - 1;
    let leap_years = before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    // 1970 - 1 = 1969 years have 477 leap years.
    (year - 1970) * 365 + leap_years - 477
}

#[cfg(test)]
mod tests {
    use super::{timestamp_text, year_and_month};

    #[test]
    fn texts() {
        assert_eq!(
            timestamp_text(1_510_871_468_000_001).as_deref(),
            Some("2017-11-16 22:31:08.000001")
        );
        assert_eq!(
            timestamp_text(-1).as_deref(),
            Some("1969-12-31 23:59:59.999999")
        );
    }

    #[test]
    fn known_days() {
        for (days, expected) in [
            (0, (1970, 1)),
            (-1, (1969, 12)),
            (-366, (1968, 12)),
            (30, (1970, 1)),
            (31, (1970, 2)),
            (11_016, (2000, 2)),
            (11_017, (2000, 3)),
            (17_486, (2017, 11)),
            (-719_162, (1, 1)),
            (-719_163, (0, 12)),
            (-2_440_588, (-4713, 11)),
            (2_932_896, (9999, 12)),
        ] {
            assert_eq!(year_and_month(days), expected, "{days}");
        }
    }
}
