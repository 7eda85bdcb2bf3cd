//! Where numeric constants lie on the grid of a number type: numbers with a fixed count of digits after the point.
//! Postgres' documentation: "Numeric Types"; NaN is greater than every number, infinity included.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum};

/// Where a number lies on a grid: the least point that is at least it, and the least that is greater.
/// `i128::MIN` and `i128::MAX` stand for before and after everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridPlace {
    /// The least point that is at least the number.
    pub at_least: i128,
    /// The least point that is greater than the number.
    pub greater: i128,
}

impl GridPlace {
    /// After every point.
    pub const AFTER_ALL: Self = Self {
        at_least: i128::MAX,
        greater: i128::MAX,
    };
    /// Before every point.
    pub const BEFORE_ALL: Self = Self {
        at_least: i128::MIN,
        greater: i128::MIN,
    };

    /// A point.
    pub fn point(at: i128) -> Self {
        Self {
            at_least: at,
            greater: at.saturating_add(1),
        }
    }

    /// Between a point and the next.
    fn after(at: i128) -> Self {
        let next = at.saturating_add(1);
        Self {
            at_least: next,
            greater: next,
        }
    }

    /// A whole number on a grid with `scale` digits after the point.
    pub fn of_integer(number: i64, scale: u8) -> Self {
        let unit = 10_i128.checked_pow(scale.into());
        match unit.and_then(|unit| i128::from(number).checked_mul(unit)) {
            Some(point) => Self::point(point),
            None if number < 0 => Self::BEFORE_ALL,
            None => Self::AFTER_ALL,
        }
    }

    /// A floating-point number on the grid of whole numbers.
    pub fn of_float(number: f64) -> Self {
        if number.is_nan() || number == f64::INFINITY {
            return Self::AFTER_ALL;
        }
        if number == f64::NEG_INFINITY {
            return Self::BEFORE_ALL;
        }
        let floor = number.floor();
        // What is beyond all points becomes one of the ends.
        if floor == number {
            Self::point(floor as i128)
        } else {
            Self::after(floor as i128)
        }
    }

    /// A `numeric` on a grid with `scale` digits after the point.
    ///
    /// # Safety
    /// `value` is a `numeric`.
    pub unsafe fn of_numeric(value: Datum, scale: u8) -> Self {
        // SAFETY: by the contract; the text is a copy that ends with a zero byte.
        let text = unsafe {
            let text = pgrx::direct_function_call_as_datum(pg_sys::numeric_out, &[Some(value)]);
            text.map(|text| CStr::from_ptr(text.cast_mut_ptr()))
        };
        match text.map(CStr::to_bytes) {
            Some(b"-Infinity") => Self::BEFORE_ALL,
            Some(b"NaN" | b"Infinity") | None => Self::AFTER_ALL,
            Some(digits) => Self::of_decimal(digits, scale),
        }
    }

    /// A number in decimal digits, with a sign and a point if there are any.
    fn of_decimal(text: &[u8], scale: u8) -> Self {
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            all => (false, all),
        };
        let mut parts = digits.splitn(2, |byte| *byte == b'.');
        let whole = parts.next().unwrap_or_default();
        let fraction = parts.next().unwrap_or_default();
        let scale = usize::from(scale);
        let kept = fraction.iter().take(scale);
        let filled = kept.copied().chain(std::iter::repeat_n(
            b'0',
            scale.saturating_sub(fraction.len()),
        ));
        let magnitude = whole
            .iter()
            .copied()
            .chain(filled)
            .try_fold(0_i128, |number, digit| {
                number
                    .checked_mul(10)?
                    .checked_add(i128::from(digit.wrapping_sub(b'0')))
            });
        let is_point = fraction.iter().skip(scale).all(|digit| *digit == b'0');
        match (magnitude, negative) {
            (None, true) => Self::BEFORE_ALL,
            (None, false) => Self::AFTER_ALL,
            (Some(magnitude), true) if is_point => Self::point(-magnitude),
            (Some(magnitude), true) => Self::after(-magnitude - 1),
            (Some(magnitude), false) if is_point => Self::point(magnitude),
            (Some(magnitude), false) => Self::after(magnitude),
        }
    }
}
