//! Dates and times as numbers: days and microseconds from 1970-01-01, read from Java's, Postgres' or JSON's text.

/// Nanoseconds of a day.
const DAY: i128 = 86_400 * 1_000_000_000;

/// Days from 1970-01-01 of a date of the proleptic Gregorian calendar; year 0 is 1 BC.
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Days of `2024-02-29`, `-0044-03-15`, `+10000-01-01` or Postgres' `0044-03-15 BC`.
pub fn parse_date(text: &str) -> Option<i64> {
    let (text, before_christ) = match text.strip_suffix(" BC") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = digits.splitn(3, '-');
    let year = parts.next()?.parse::<i64>().ok()? * sign;
    let month = parts.next()?.parse().ok()?;
    let day = parts.next()?.parse().ok()?;
    Some(days_from_civil(
        if before_christ { 1 - year } else { year },
        month,
        day,
    ))
}

/// Nanoseconds from midnight of `13:14`, `13:14:15` or `13:14:15.161718`.
pub fn parse_time(text: &str) -> Option<i128> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let hour: i128 = parts.next()?.parse().ok()?;
    let minute: i128 = parts.next()?.parse().ok()?;
    let second: i128 = parts.next().unwrap_or("0").parse().ok()?;
    if parts.next().is_some() || fraction.len() > 9 {
        return None;
    }
    let nanoseconds: i128 = format!("{fraction:0<9}").parse().ok()?;
    Some(((hour * 60 + minute) * 60 + second) * 1_000_000_000 + nanoseconds)
}

/// Nanoseconds from 1970-01-01T00:00 of a date and time joined by `T` or a space; UTC may be written `Z`, `+00` or `+00:00`.
/// Whether a zone was given is the second part of the answer.
pub fn parse_timestamp(text: &str) -> Option<(i128, bool)> {
    let (text, before_christ) = match text.strip_suffix(" BC") {
        Some(rest) => (rest, " BC"),
        None => (text, ""),
    };
    let (date, time) = text.split_once(['T', ' '])?;
    let (time, zoned) = match ["Z", "+00:00", "+00"]
        .iter()
        .find_map(|zone| time.strip_suffix(zone))
    {
        Some(time) => (time, true),
        None => (time, false),
    };
    let days = parse_date(&format!("{date}{before_christ}"))?;
    Some((i128::from(days) * DAY + parse_time(time)?, zoned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_on_both_sides_of_1970() {
        assert_eq!(parse_date("1970-01-01"), Some(0));
        assert_eq!(parse_date("1969-12-31"), Some(-1));
        assert_eq!(parse_date("2017-11-16"), Some(17_486));
        assert_eq!(parse_date("0001-01-01"), Some(-719_162));
        assert_eq!(parse_date("0001-12-31 BC"), Some(-719_163));
        assert_eq!(parse_date("0000-12-31"), Some(-719_163));
    }

    #[test]
    fn times_in_every_spelling() {
        assert_eq!(parse_time("00:00"), Some(0));
        assert_eq!(parse_time("00:00:00.000001"), Some(1_000));
        assert_eq!(parse_time("13:14:15.5"), Some(47_655_500_000_000));
        assert_eq!(parse_timestamp("1970-01-02T00:00Z"), Some((DAY, true)));
        assert_eq!(parse_timestamp("1970-01-02 00:00:00+00"), Some((DAY, true)));
        assert_eq!(
            parse_timestamp("1969-12-31 23:59:59.999999"),
            Some((-1_000, false))
        );
    }
}
