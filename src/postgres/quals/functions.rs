//! Functions of a column that keep its order, by which a condition on their value is one on the column: lossless
//! casts, `date_trunc`, `extract`, `AT TIME ZONE`, and the transforms of schema `iceberg`.

use std::ffi::CStr;
use std::num::NonZeroU32;

use iceberg_core::spec::Transform;
use pgrx::pg_sys::{self, Oid};

use super::column::{Column, Image};
use super::constants::Known;
use super::step::{Step, Unit};

/// A function that is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// A cast of its only argument.
    Cast(Cast),
    /// `date_trunc(unit, time)`, for instants in the session's or any other time zone.
    DateTrunc,
    /// `extract(field from time)`, which gives `numeric`, and `date_part`, which gives `float8`.
    Extract {
        /// Whether it gives `numeric`.
        numeric: bool,
    },
    /// `time AT TIME ZONE zone`.
    AtTimeZone,
    /// One of this extension's transforms.
    Transform(&'static str),
}

/// What a cast makes of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cast {
    /// The same number.
    Number,
    /// The nearest `float8`.
    Double,
    /// The nearest `float4`.
    Single,
    /// The same floating-point number in a wider type.
    WiderFloat,
    /// A `timestamp`.
    Timestamp,
    /// A `timestamptz`.
    Timestamptz,
    /// A `date`.
    Date,
}

/// The names of the transforms.
const TRANSFORMS: [&str; 6] = ["year", "month", "day", "hour", "bucket", "truncate"];

impl Function {
    /// By its id.
    pub fn of(function: Oid) -> Option<Self> {
        let builtin = match function.to_u32() {
            pg_sys::F_INT4_INT2
            | pg_sys::F_INT8_INT2
            | pg_sys::F_INT8_INT4
            | pg_sys::F_NUMERIC_INT2
            | pg_sys::F_NUMERIC_INT4
            | pg_sys::F_NUMERIC_INT8 => Self::Cast(Cast::Number),
            pg_sys::F_FLOAT8_INT2
            | pg_sys::F_FLOAT8_INT4
            | pg_sys::F_FLOAT8_INT8
            | pg_sys::F_FLOAT8_NUMERIC => Self::Cast(Cast::Double),
            pg_sys::F_FLOAT4_INT2
            | pg_sys::F_FLOAT4_INT4
            | pg_sys::F_FLOAT4_INT8
            | pg_sys::F_FLOAT4_NUMERIC => Self::Cast(Cast::Single),
            pg_sys::F_FLOAT8_FLOAT4 => Self::Cast(Cast::WiderFloat),
            pg_sys::F_TIMESTAMP_DATE | pg_sys::F_TIMESTAMP_TIMESTAMPTZ => {
                Self::Cast(Cast::Timestamp)
            }
            pg_sys::F_TIMESTAMPTZ_DATE | pg_sys::F_TIMESTAMPTZ_TIMESTAMP => {
                Self::Cast(Cast::Timestamptz)
            }
            pg_sys::F_DATE_TIMESTAMP | pg_sys::F_DATE_TIMESTAMPTZ => Self::Cast(Cast::Date),
            pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMP
            | pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMPTZ
            | pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT => Self::DateTrunc,
            pg_sys::F_EXTRACT_TEXT_DATE
            | pg_sys::F_EXTRACT_TEXT_TIMESTAMP
            | pg_sys::F_EXTRACT_TEXT_TIMESTAMPTZ => Self::Extract { numeric: true },
            pg_sys::F_DATE_PART_TEXT_TIMESTAMP | pg_sys::F_DATE_PART_TEXT_TIMESTAMPTZ => {
                Self::Extract { numeric: false }
            }
            pg_sys::F_TIMEZONE_TEXT_TIMESTAMPTZ | pg_sys::F_TIMEZONE_TEXT_TIMESTAMP => {
                Self::AtTimeZone
            }
            builtin if builtin < pg_sys::FirstNormalObjectId => return None,
            _ => Self::Transform(transform_name(function)?),
        };
        Some(builtin)
    }

    /// Which of its arguments is the column.
    pub fn column_argument(self) -> usize {
        match self {
            Self::Cast(_) | Self::Transform("year" | "month" | "day" | "hour") => 0,
            _ => 1,
        }
    }

    /// What it makes of a column, with its other arguments in order; `None` where its order is not the column's, or
    /// an argument is not known.
    ///
    /// # Safety
    /// The arguments are of the types that the function has them in.
    pub unsafe fn apply(self, to: Column, arguments: &[Known]) -> Option<Column> {
        // SAFETY: by the contract.
        unsafe {
            match self {
                Self::Cast(cast) => cast.apply(to),
                Self::DateTrunc => {
                    let unit = Unit::named(&text(*arguments.first()?)?)?;
                    // A third argument is a time zone: any but null, which makes null of everything.
                    if matches!(arguments.get(1), Some(Known::Null | Known::Later)) {
                        return None;
                    }
                    match to.image {
                        Image::Timestamp => {
                            Some(to.then(&[Step::Truncate(unit)], Image::Timestamp))
                        }
                        Image::Timestamptz => Some(to.then(
                            &[Step::Zone, Step::Truncate(unit), Step::Zone],
                            Image::Timestamptz,
                        )),
                        _ => None,
                    }
                }
                Self::Extract { numeric } => extract(to, &text(*arguments.first()?)?, numeric),
                Self::AtTimeZone => {
                    text(*arguments.first()?)?;
                    let image = match to.image {
                        Image::Timestamp => Image::Timestamptz,
                        Image::Timestamptz => Image::Timestamp,
                        _ => return None,
                    };
                    Some(to.then(&[Step::Zone], image).raising())
                }
                Self::Transform(name) => {
                    let parameter = match arguments {
                        [] => None,
                        [Known::Value(value)] => {
                            Some(NonZeroU32::new(u32::try_from(value.value() as i32).ok()?)?)
                        }
                        _ => return None,
                    };
                    to.transformed(match (name, parameter) {
                        ("year", None) => Transform::Year,
                        ("month", None) => Transform::Month,
                        ("day", None) => Transform::Day,
                        ("hour", None) => Transform::Hour,
                        ("bucket", Some(count)) => Transform::Bucket(count),
                        ("truncate", Some(width)) => Transform::Truncate(width),
                        _ => return None,
                    })
                }
            }
        }
    }
}

impl Cast {
    fn apply(self, to: Column) -> Option<Column> {
        use Image as I;
        Some(match (self, to.image) {
            (Self::Number, I::Number(scale)) => to.then(&[], I::Number(scale)),
            (Self::Double, I::Number(scale)) => to.then(&[Step::ToDouble(scale)], I::Rounded),
            (Self::Single, I::Number(scale)) => to.then(&[Step::ToSingle(scale)], I::Rounded),
            (Self::WiderFloat, image @ (I::Float | I::Rounded)) => to.then(&[], image),
            // Dates reach farther than times.
            (Self::Timestamp, I::Date) => to.then(&[], I::Timestamp).raising(),
            (Self::Timestamp, I::Timestamptz) => to.then(&[Step::Zone], I::Timestamp).raising(),
            (Self::Timestamptz, I::Date | I::Timestamp) => {
                to.then(&[Step::Zone], I::Timestamptz).raising()
            }
            (Self::Date, I::Timestamp) => to.then(&[Step::Truncate(Unit::DAY)], I::Date),
            (Self::Date, I::Timestamptz) => {
                to.then(&[Step::Zone, Step::Truncate(Unit::DAY)], I::Date)
            }
            _ => return None,
        })
    }
}

fn extract(from: Column, field: &str, numeric: bool) -> Option<Column> {
    let zone = match from.image {
        Image::Date | Image::Timestamp => None,
        Image::Timestamptz => Some(Step::Zone),
        _ => return None,
    };
    if field.eq_ignore_ascii_case("year") {
        let steps: Vec<Step> = zone.into_iter().chain([Step::CalendarYear]).collect();
        return Some(from.then(&steps, Image::Number(0)));
    }
    // Seconds from 1970 do not depend on the zone; as float8 they would be rounded.
    (numeric && field.eq_ignore_ascii_case("epoch"))
        .then(|| from.then(&[Step::Epoch], Image::Number(6)))
}

/// # Safety
/// A known value is a text.
unsafe fn text(known: Known) -> Option<String> {
    match known {
        // SAFETY: by the contract; the copy ends with a zero byte.
        Known::Value(value) => unsafe {
            let text = CStr::from_ptr(pg_sys::text_to_cstring(value.cast_mut_ptr()));
            text.to_str().ok().map(str::to_owned)
        },
        Known::Null | Known::Later => None,
    }
}

/// Which of this extension's transforms a function is.
fn transform_name(function: Oid) -> Option<&'static str> {
    // SAFETY: look-ups in the system catalogs; the name is a copy that ends with a zero byte.
    unsafe {
        let name = pg_sys::get_func_name(function);
        if name.is_null() {
            return None;
        }
        let name = CStr::from_ptr(name).to_str().ok()?;
        let known = TRANSFORMS.iter().find(|known| **known == name)?;
        let extension = pg_sys::getExtensionOfObject(pg_sys::ProcedureRelationId, function);
        let ours = pg_sys::get_extension_oid(c"iceberg_fdw".as_ptr(), true);
        (extension != Oid::INVALID && extension == ours).then_some(*known)
    }
}
