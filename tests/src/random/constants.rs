//! Constants that stand beside a column: mostly a value that the table has, or its neighbour, in each form that SQL
//! has for it, also of other types and out of the column's range.

use super::calendar::{DAY, date_text, timestamp_text};
use super::declared::{Family, scalar_literal};
use super::seed::Chance;
use super::value::{Kind, Scalar, decimal_text, hexadecimal};
use crate::database::quoted;

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Constant {
    /// As it stands in a query.
    pub text: String,
    /// Its type, or that of the column if it is a literal of unknown type.
    pub sql: String,
}

impl Constant {
    fn new(text: impl Into<String>, sql: &str) -> Self {
        Constant {
            text: text.into(),
            sql: sql.to_owned(),
        }
    }

    /// A literal with its type.
    fn typed(text: impl AsRef<str>, sql: &str) -> Self {
        Constant::new(format!("{}::{sql}", quoted(text)), sql)
    }

    /// A literal whose type the query does not tell.
    fn unknown(text: impl AsRef<str>, sql: &str) -> Self {
        Constant::new(quoted(text), sql)
    }

    /// The constant with its type said.
    pub fn with_type(&self) -> String {
        format!("({})::{}", self.text, self.sql)
    }
}

/// The type that a constant of a family has by itself.
pub fn own_type(family: &Family) -> &'static str {
    match family {
        Family::Boolean => "bool",
        Family::Integer => "int8",
        Family::Numeric => "numeric",
        Family::Real => "float4",
        Family::Double => "float8",
        Family::Date => "date",
        Family::Time => "time",
        Family::Timestamp => "timestamp",
        Family::Timestamptz => "timestamptz",
        Family::Text { .. } => "text",
        Family::Uuid => "uuid",
        Family::Bytea => "bytea",
        Family::Jsonb => "jsonb",
        Family::Array(_) | Family::Composite(_) => panic!("{family:?} has no constants of its own"),
    }
}

/// How a constant is written; constants of one list are written alike.
#[derive(Debug, Clone, Copy)]
pub struct Form(usize);

impl Form {
    /// Any form.
    pub fn any(chance: &mut Chance) -> Self {
        Form(chance.below(12))
    }
}

/// A constant to compare a column of this family with, whose values are of `kind`.
pub fn constant(
    chance: &mut Chance,
    family: &Family,
    kind: &Kind,
    samples: &[Scalar],
    form: Form,
) -> Constant {
    if chance.percent(3) {
        return Constant::new(format!("NULL::{}", own_type(family)), own_type(family));
    }
    let sample = (!samples.is_empty()).then(|| chance.pick(samples).clone());
    // Beside the value more often than anywhere else.
    let step = *chance.pick(&[0, 0, 0, 0, 1, -1]);
    match family {
        Family::Boolean => {
            let text = *chance.pick(&["true", "false"]);
            Constant::new(text, "bool")
        }
        Family::Integer => integer(chance, integral(sample.as_ref(), kind) + step, form),
        Family::Numeric => numeric(chance, sample.as_ref(), kind, step, form),
        Family::Real | Family::Double => float(chance, sample.as_ref(), step, family, form),
        Family::Date | Family::Timestamp | Family::Timestamptz => {
            let micros = match &sample {
                Some(Scalar::Date(days)) => i128::from(*days) * i128::from(DAY),
                Some(Scalar::Timestamp(micros)) => i128::from(*micros),
                Some(Scalar::Nanos(nanos)) => i128::from(nanos.div_euclid(1000)),
                _ => 0,
            };
            let step = step * *chance.pick(&[1, 1, i128::from(DAY), 30 * i128::from(DAY)]);
            moment(chance, micros + step, family, form)
        }
        Family::Time => {
            let micros = match &sample {
                Some(Scalar::Time(micros)) => (micros + step as i64).clamp(0, DAY),
                _ => 0,
            };
            if micros == DAY {
                return Constant::typed("24:00", "time");
            }
            let text = timestamp_text(micros).unwrap_or_default()[11..].to_owned();
            match form.0 % 3 {
                0 => Constant::unknown(text, "time"),
                1 => Constant::typed(text, "interval"),
                _ => Constant::typed(text, "time"),
            }
        }
        Family::Text { .. } => text(chance, sample.as_ref(), form),
        Family::Uuid => {
            let mut bytes = match sample {
                Some(Scalar::Uuid(bytes)) => bytes,
                _ => [7; 16],
            };
            bytes[15] = bytes[15].wrapping_add(step as u8);
            let text = uuid::Uuid::from_bytes(bytes).to_string();
            if form.0.is_multiple_of(2) {
                Constant::unknown(text, "uuid")
            } else {
                Constant::typed(text.to_uppercase(), "uuid")
            }
        }
        Family::Bytea => {
            let mut bytes = match sample {
                Some(Scalar::Bytes(bytes)) => bytes,
                _ => vec![0x61],
            };
            match step {
                1 => bytes.push(0),
                -1 => {
                    bytes.pop();
                }
                _ => {}
            }
            let text = format!("\\x{}", hexadecimal(&bytes));
            if form.0.is_multiple_of(2) {
                Constant::unknown(text, "bytea")
            } else {
                Constant::typed(text, "bytea")
            }
        }
        Family::Jsonb => {
            Constant::typed(*chance.pick(&["{}", "[]", "null", "{\"a\": 1}"]), "jsonb")
        }
        Family::Array(_) | Family::Composite(_) => panic!("{family:?} has no constants of its own"),
    }
}

/// A sample as a whole number.
fn integral(sample: Option<&Scalar>, kind: &Kind) -> i128 {
    match (sample, kind) {
        (Some(Scalar::Int(value)), _) => i128::from(*value),
        (Some(Scalar::Long(value)), _) => i128::from(*value),
        (Some(Scalar::Decimal(value)), Kind::Decimal { scale, .. }) => {
            value / 10_i128.pow(u32::from(*scale))
        }
        _ => 0,
    }
}

fn bracketed(text: String) -> String {
    if text.starts_with('-') {
        format!("({text})")
    } else {
        text
    }
}

fn integer(chance: &mut Chance, value: i128, form: Form) -> Constant {
    let value = if chance.percent(6) {
        *chance.pick(&[
            1_i128 << 31,
            -(1 << 31) - 1,
            1 << 40,
            1 << 63,
            -(1 << 63) - 1,
            1 << 70,
            0,
        ])
    } else {
        value
    };
    let bare = bracketed(value.to_string());
    match form.0 {
        0 if i16::try_from(value).is_ok() => Constant::new(format!("{bare}::int2"), "int2"),
        1 if i64::try_from(value).is_ok() => Constant::new(format!("{bare}::int8"), "int8"),
        2 => Constant::new(format!("{bare}::numeric"), "numeric"),
        3 => Constant::new(bracketed(format!("{value}.0")), "numeric"),
        4 => Constant::new(bracketed(format!("{value}.5")), "numeric"),
        5 => Constant::new(format!("{bare}::float8"), "float8"),
        6 => Constant::typed(
            chance.word(&["NaN", "Infinity", "-Infinity"]),
            chance.word(&["numeric", "float8"]),
        ),
        7 => Constant::unknown(
            value.to_string(),
            if i32::try_from(value).is_ok() {
                "int4"
            } else {
                "int8"
            },
        ),
        8 if value.abs() < 1 << 20 => Constant::new(format!("{bare}::float4"), "float4"),
        _ if i32::try_from(value).is_ok() => Constant::new(bare, "int4"),
        _ if i64::try_from(value).is_ok() => Constant::new(bare, "int8"),
        _ => Constant::new(bare, "numeric"),
    }
}

fn numeric(
    chance: &mut Chance,
    sample: Option<&Scalar>,
    kind: &Kind,
    step: i128,
    form: Form,
) -> Constant {
    let (unscaled, scale) = match (sample, kind) {
        (Some(Scalar::Decimal(value)), Kind::Decimal { scale, .. }) => (*value, *scale),
        (sample, kind) => (integral(sample, kind), 0),
    };
    let text = decimal_text(unscaled + step, scale);
    let more = |digits: &str| match text.contains('.') {
        true => format!("{text}{digits}"),
        false => format!("{text}.{digits}"),
    };
    match form.0 {
        0 => Constant::typed(&text, "numeric"),
        1 => Constant::unknown(&text, "numeric"),
        2 => Constant::new(bracketed(more("5")), "numeric"),
        3 => Constant::new(bracketed(more("000000000000000000001")), "numeric"),
        4 => Constant::new(bracketed(more("000")), "numeric"),
        5 => Constant::typed(&text, "float8"),
        6 => Constant::typed(
            *chance.pick(&["NaN", "Infinity", "-Infinity", "1e40", "-1e40", "1e-40"]),
            "numeric",
        ),
        7 => integer(
            chance,
            unscaled / 10_i128.pow(u32::from(scale)) + step,
            Form(9),
        ),
        _ => Constant::new(bracketed(text), "numeric"),
    }
}

fn float(
    chance: &mut Chance,
    sample: Option<&Scalar>,
    step: i128,
    family: &Family,
    form: Form,
) -> Constant {
    let single = *family == Family::Real;
    let value = if chance.percent(12) {
        *chance.pick(&[
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            0.0,
            1e300,
            0.1,
            1e-320,
        ])
    } else {
        match (sample, step) {
            (Some(Scalar::Float(value)), 0) => f64::from(*value),
            (Some(Scalar::Float(value)), 1) => f64::from(value.next_up()),
            (Some(Scalar::Float(value)), _) if single => f64::from(value.next_down()),
            (Some(Scalar::Float(value)), _) => f64::from(*value).next_down(),
            (Some(Scalar::Double(value)), 0) => *value,
            (Some(Scalar::Double(value)), 1) => value.next_up(),
            (Some(Scalar::Double(value)), _) => value.next_down(),
            _ => 0.5,
        }
    };
    let text = value.to_string();
    let in_single = (value as f32).to_string();
    let plain = value.is_finite() && value.abs() < 1e15 && (value == 0.0 || value.abs() > 1e-15);
    match form.0 {
        0 | 1 if plain => Constant::new(
            bracketed(text),
            if value.fract() == 0.0 {
                "int8"
            } else {
                "numeric"
            },
        ),
        2 | 3 if single => Constant::unknown(in_single, "float4"),
        2 | 3 => Constant::unknown(text, "float8"),
        4 | 5
            if !value.is_finite() || f64::from(value as f32).is_finite() && value as f32 != 0.0 =>
        {
            Constant::typed(in_single, "float4")
        }
        6 if plain => Constant::typed(text, "numeric"),
        7 if value.abs() < 1e9 => Constant::new(bracketed((value as i64).to_string()), "int4"),
        _ => Constant::typed(text, "float8"),
    }
}

fn moment(chance: &mut Chance, micros: i128, family: &Family, form: Form) -> Constant {
    let own = own_type(family);
    if chance.percent(4) {
        let text = *chance.pick(&["infinity", "-infinity"]);
        return Constant::typed(text, chance.word(&["date", "timestamp", "timestamptz"]));
    }
    let Ok(micros) = i64::try_from(micros) else {
        return Constant::typed("infinity", own);
    };
    let days = micros.div_euclid(DAY);
    let iso = timestamp_text(micros);
    match (form.0, iso) {
        (0, Some(text)) => Constant::unknown(text, own),
        (1, Some(text)) => Constant::typed(text, "timestamp"),
        (2, Some(text)) => Constant::typed(format!("{text}+00"), "timestamptz"),
        (3, Some(text)) => Constant::typed(text, "timestamptz"),
        (4, Some(text)) => Constant::typed(&text[..10], "date"),
        (5, Some(text)) => Constant::unknown(&text[..10], own),
        (6, Some(text)) => Constant::typed(&text[..10], "timestamptz"),
        // Only a sum of the earliest day and an interval reaches the limits.
        _ if *family == Family::Date => {
            let literal = scalar_literal(
                &Kind::Date,
                &Scalar::Date(days.clamp(-2_440_588, 2_145_042_540) as i32),
            );
            Constant::new(literal, "date")
        }
        _ => {
            let micros = micros.clamp(-210_866_803_200_000_000, i64::MAX);
            let kind = Kind::Timestamp {
                utc: *family == Family::Timestamptz,
            };
            Constant::new(scalar_literal(&kind, &Scalar::Timestamp(micros)), own)
        }
    }
}

fn text(chance: &mut Chance, sample: Option<&Scalar>, form: Form) -> Constant {
    let mut text = match sample {
        Some(Scalar::String(text)) => text.clone(),
        _ => "b".to_owned(),
    };
    match chance.below(14) {
        0 => text.push('a'),
        1 => {
            text.pop();
        }
        2 => text = text.to_uppercase(),
        3 => text = text.to_lowercase(),
        4 => text = text.chars().take(3).collect(),
        5 => text.push(' '),
        _ => {}
    }
    match form.0 {
        0 | 1 => Constant::typed(&text, "varchar"),
        2 => Constant::typed(
            &text,
            &format!("char({})", text.chars().count().max(1) + chance.below(3)),
        ),
        3 if text.len() < 60 => Constant::typed(&text, "name"),
        4 | 5 => Constant::typed(&text, "text"),
        _ => Constant::unknown(&text, "text"),
    }
}

/// A prefix of a sample as a pattern, with wildcards and escapes here and there.
pub fn pattern(chance: &mut Chance, samples: &[Scalar]) -> Constant {
    let text = match (!samples.is_empty()).then(|| chance.pick(samples)) {
        Some(Scalar::String(text)) => text.clone(),
        _ => "a".to_owned(),
    };
    let length = chance.below(text.chars().count() + 1);
    let prefix: String = text.chars().take(length).collect();
    let escaped: String = prefix
        .chars()
        .flat_map(|character| match character {
            '%' | '_' | '\\' => vec!['\\', character],
            character => vec![character],
        })
        .collect();
    let pattern = match chance.below(10) {
        0 => escaped,
        1 => format!("{prefix}%"),
        2 => format!("{escaped}_%"),
        3 => format!("%{escaped}%"),
        4 => format!("{escaped}%a%"),
        5 => {
            let mut characters: Vec<char> = escaped.chars().collect();
            if let Some(last) = characters.last_mut() {
                *last = '_';
            }
            format!("{}%", characters.into_iter().collect::<String>())
        }
        _ => format!("{escaped}%"),
    };
    Constant::unknown(pattern, "text")
}

/// A date as text and the like, for functions that take no sample.
pub fn year_of(sample: Option<&Scalar>) -> i64 {
    let days = match sample {
        Some(Scalar::Date(days)) => i64::from(*days),
        Some(Scalar::Timestamp(micros)) => micros.div_euclid(DAY),
        Some(Scalar::Nanos(nanos)) => nanos.div_euclid(1000 * DAY),
        _ => 0,
    };
    date_text(days).map_or(2000, |text| text[..4].parse().unwrap_or(2000))
}
