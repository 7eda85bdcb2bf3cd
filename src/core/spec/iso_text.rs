//! Dates and times as ISO 8601 text, both ways, over the whole range that can be stored.
//! Spec: Appendix D "JSON single-value serialization".

use super::calendar::CalendarDate;

const SECONDS_A_DAY: i64 = 86_400;

/// `2017-11-16`; years beyond 9999 with a sign and as many digits as they need.
pub(crate) fn iso_date(days: i64) -> String {
    let CalendarDate { year, month, day } = CalendarDate::from_days(days);
    let sign = match year {
        ..0 => "-",
        0..=9_999 => "",
        _ => "+",
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// `22:31:08.123456`, with 6 or 9 digits after the point.
pub(crate) fn iso_time(units: i64, digits: u32) -> String {
    let units_a_second = 10_i64.pow(digits);
    let (seconds, fraction) = (
        units.div_euclid(units_a_second),
        units.rem_euclid(units_a_second),
    );
    format!(
        "{:02}:{:02}:{:02}.{fraction:0width$}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60,
        width = digits as usize
    )
}

/// `2017-11-16T22:31:08.123456`, with 6 or 9 digits after the point.
pub(crate) fn iso_timestamp(units: i64, digits: u32) -> String {
    let units_a_day = SECONDS_A_DAY * 10_i64.pow(digits);
    format!(
        "{}T{}",
        iso_date(units.div_euclid(units_a_day)),
        iso_time(units.rem_euclid(units_a_day), digits)
    )
}

fn digits(text: &str) -> Option<i64> {
    let only_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    only_digits.then(|| text.parse().ok()).flatten()
}

fn two_digits(text: &str, below: i64) -> Option<i64> {
    digits(text).filter(|value| text.len() == 2 && *value < below)
}

pub(crate) fn days(text: &str) -> Option<i64> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = unsigned.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if year.len() < 4 || parts.next().is_some() {
        return None;
    }
    let year = digits(year)?;
    CalendarDate {
        year: if negative { -year } else { year },
        month: two_digits(month, 13)?.try_into().ok()?,
        day: two_digits(day, 32)?.try_into().ok()?,
    }
    .to_days()
}

/// `HH:MM[:SS[.fraction]]` in units of 10^-`precision` seconds.
pub(crate) fn units_of_day(text: &str, precision: u32) -> Option<i64> {
    let (hour, rest) = text.split_once(':')?;
    let (minute, seconds) = match rest.split_once(':') {
        Some((minute, seconds)) => (minute, seconds),
        None => (rest, "00"),
    };
    let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let seconds =
        two_digits(hour, 24)? * 3_600 + two_digits(minute, 60)? * 60 + two_digits(second, 60)?;
    let missing = precision.checked_sub(fraction.len().try_into().ok()?)?;
    Some(seconds * 10_i64.pow(precision) + digits(fraction)? * 10_i64.pow(missing))
}

pub(crate) fn timestamp(text: &str, precision: u32) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    let units_a_day = i128::from(SECONDS_A_DAY * 10_i64.pow(precision));
    // Wider than the result: the first day of the range is not in it as a whole.
    let units = i128::from(days(date)?) * units_a_day + i128::from(units_of_day(time, precision)?);
    units.try_into().ok()
}

pub(crate) fn without_zone(text: &str) -> Option<&str> {
    text.strip_suffix("+00:00")
        .or_else(|| text.strip_suffix('Z'))
}
