//! The values that a column draws from: few enough to repeat, close enough to be each other's neighbours, and
//! the extremes that Postgres can hold.

use super::calendar::{DAY, HOUR};
use super::seed::Chance;
use super::value::{Cell, Field, Kind, Scalar};

/// The earliest timestamp of Postgres, 4714-11-24 BC, in microseconds from 1970.
const EARLIEST: i64 = -210_866_803_200_000_000;
/// The earliest date of Postgres, the same day.
const EARLIEST_DATE: i32 = -2_440_588;
/// The latest date of Postgres, 5874897-12-31, in days from 1970.
const LATEST_DATE: i32 = 2_145_042_540;
/// 2024-01-01, in days from 1970.
const YEAR_2024: i64 = 19_723;

/// Values of a scalar type, in order, without repetition; at least one.
pub fn pool(chance: &mut Chance, kind: &Kind) -> Vec<Scalar> {
    let wanted = *chance.pick(&[1, 3, 8, 20, 60, 200]);
    let style = chance.below(4);
    let mut values: Vec<Scalar> = (0..wanted)
        .map(|number| value(chance, kind, style, number as i64))
        .collect();
    if chance.percent(40) {
        values.extend(extremes(kind));
    }
    if chance.percent(20) {
        values.push(chance.pick(&extremes(kind)).clone());
    }
    // NaN is what bounds do not tell of: columns have it more often than other extremes.
    match kind {
        Kind::Float if chance.percent(40) => values.push(Scalar::Float(f32::NAN)),
        Kind::Double if chance.percent(40) => values.push(Scalar::Double(f64::NAN)),
        _ => {}
    }
    values.sort_by(Scalar::order);
    values.dedup_by(|left, right| left.is_same(right));
    values
}

/// A value; values of one style with near numbers are near each other.
fn value(chance: &mut Chance, kind: &Kind, style: usize, number: i64) -> Scalar {
    let small = match style {
        0 => number - 3,
        1 => number * 10 + chance.between(0, 3),
        2 => chance.between(-50, 50),
        _ => chance.between(-100_000, 100_000),
    };
    // Moments around 1970 and 2024, at the borders of hours, days and months and beside them.
    let moment = {
        let unit = *chance.pick(&[HOUR, DAY, DAY, 30 * DAY]);
        let base = if style.is_multiple_of(2) {
            0
        } else {
            YEAR_2024 * DAY
        };
        base + small % 2000 * unit + *chance.pick(&[0, 0, -1, 1, 999_999, 12 * HOUR])
    };
    match kind {
        Kind::Boolean => Scalar::Boolean(chance.percent(50)),
        Kind::Int => Scalar::Int(small as i32),
        Kind::Long if style == 3 => Scalar::Long(small * 1_000_000_007),
        Kind::Long => Scalar::Long(small),
        Kind::Float if style == 3 => Scalar::Float(small as f32 * 1.1e-3),
        Kind::Float => Scalar::Float(small as f32 / 4.0),
        Kind::Double if style == 3 => Scalar::Double(small as f64 * 1.1e-3),
        Kind::Double => Scalar::Double(small as f64 / 4.0),
        Kind::Decimal { precision, .. } => {
            let limit = 10_i128.pow(u32::from(*precision));
            let wide = if style == 3 { 1_000_000_007 } else { 1 };
            Scalar::Decimal(i128::from(small) * wide % limit)
        }
        Kind::Date if style.is_multiple_of(2) => Scalar::Date(small as i32),
        Kind::Date => Scalar::Date((YEAR_2024 + small % 3000) as i32),
        Kind::Time => Scalar::Time(moment.rem_euclid(DAY)),
        Kind::Timestamp { .. } => Scalar::Timestamp(moment),
        Kind::Nanos { .. } => {
            let below = *chance.pick(&[0, 0, 1, 500, 999]);
            Scalar::Nanos(moment * 1000 + below)
        }
        Kind::String => Scalar::String(text(chance, style, number)),
        Kind::Uuid => {
            let mut bytes = chance.wide_bits().to_be_bytes();
            if style < 2 {
                bytes[..15].fill(0x80);
            }
            Scalar::Uuid(bytes)
        }
        Kind::Fixed(length) => Scalar::Bytes((0..*length).map(|_| byte(chance)).collect()),
        Kind::Binary => {
            let length = *chance.pick(&[0, 1, 2, 3, 20]);
            Scalar::Bytes((0..length).map(|_| byte(chance)).collect())
        }
        Kind::List(_) | Kind::Struct(_) | Kind::Map(..) => panic!("{kind:?} is no scalar type"),
    }
}

fn byte(chance: &mut Chance) -> u8 {
    *chance.pick(&[0, 1, 0x61, 0x62, 0x7F, 0x80, 0xFE, 0xFF])
}

/// Pieces of texts whose order or equality differs between collations, or that patterns take for something else.
const PIECES: &[&str] = &[
    "a",
    "A",
    "b",
    "B",
    "ab",
    "aB",
    "Ab",
    "é",
    "e\u{301}",
    "É",
    "ß",
    "ss",
    "ä",
    "z",
    "Z",
    " ",
    "_",
    "%",
    "\\",
    "-",
    "'",
    "\"",
    "1",
    "10",
    "9",
    "ﬁ",
    "ı",
    "İ",
    "日本",
    "\u{D7FF}",
    "\u{E000}",
    "\u{10FFFF}",
    "\u{FFFD}",
    "😀",
    "\t",
];

fn text(chance: &mut Chance, style: usize, number: i64) -> String {
    let piece = |chance: &mut Chance| *chance.pick(PIECES);
    match style {
        // Longer than bounds are, and alike for as long.
        0 => format!("a long prefix, the same {}{:03}", piece(chance), number),
        1 => format!(
            "{}{:04}",
            chance.pick(&["item-", "Item-", "ítem-"]),
            number / 3
        ),
        2 => (0..chance.below(3)).map(|_| piece(chance)).collect(),
        _ => (0..chance.below(25)).map(|_| piece(chance)).collect(),
    }
}

fn extremes(kind: &Kind) -> Vec<Scalar> {
    let texts = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| Scalar::String((*text).to_owned()))
            .collect()
    };
    match kind {
        Kind::Boolean => vec![Scalar::Boolean(false), Scalar::Boolean(true)],
        Kind::Int => [i32::MIN, i32::MIN + 1, -1, 0, 1, i32::MAX - 1, i32::MAX]
            .map(Scalar::Int)
            .to_vec(),
        Kind::Long => [
            i64::MIN,
            i64::MIN + 1,
            i64::from(i32::MIN) - 1,
            (1 << 53) + 1,
            0,
            i64::MAX - 1,
            i64::MAX,
        ]
        .map(Scalar::Long)
        .to_vec(),
        Kind::Float => [
            f32::NEG_INFINITY,
            f32::MIN,
            -f32::MIN_POSITIVE,
            -0.0,
            0.0,
            f32::from_bits(1),
            0.1,
            16_777_216.0,
            f32::MAX,
            f32::INFINITY,
            f32::NAN,
        ]
        .map(Scalar::Float)
        .to_vec(),
        Kind::Double => [
            f64::NEG_INFINITY,
            f64::MIN,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            f64::from_bits(1),
            0.1,
            9_007_199_254_740_992.0,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ]
        .map(Scalar::Double)
        .to_vec(),
        Kind::Decimal { precision, .. } => {
            let limit = 10_i128.pow(u32::from(*precision)) - 1;
            [-limit, -1, 0, 1, limit].map(Scalar::Decimal).to_vec()
        }
        Kind::Date => [
            EARLIEST_DATE,
            EARLIEST_DATE + 1,
            -1,
            0,
            2_932_896,
            LATEST_DATE - 1,
            LATEST_DATE,
        ]
        .map(Scalar::Date)
        .to_vec(),
        Kind::Time => [0, 1, DAY - 1].map(Scalar::Time).to_vec(),
        Kind::Timestamp { .. } => [EARLIEST, EARLIEST + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]
            .map(Scalar::Timestamp)
            .to_vec(),
        Kind::Nanos { .. } => [i64::MIN, i64::MIN + 1000, -1, 0, 1, 999, i64::MAX]
            .map(Scalar::Nanos)
            .to_vec(),
        Kind::String => texts(&[
            "",
            " ",
            "a",
            "a ",
            "\u{10FFFF}",
            "\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}",
            "0",
            "NULL",
        ]),
        Kind::Uuid => [[0; 16], [0xFF; 16], [0x7F; 16]].map(Scalar::Uuid).to_vec(),
        Kind::Fixed(length) => [vec![0; *length], vec![0xFF; *length]]
            .map(Scalar::Bytes)
            .to_vec(),
        Kind::Binary => [vec![], vec![0], vec![0xFF; 20]]
            .map(Scalar::Bytes)
            .to_vec(),
        Kind::List(_) | Kind::Struct(_) | Kind::Map(..) => panic!("{kind:?} is no scalar type"),
    }
}

/// How a column's values lie in a batch of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    /// Anywhere.
    Random,
    /// Ascending with the row, with a little noise.
    Clustered,
    /// A stretch of the same value after the other.
    Runs,
}

/// Where the cells of one field come from.
#[derive(Debug, Clone)]
pub struct Source {
    pub spread: Spread,
    /// Of a hundred.
    pub null_share: u32,
    /// In order; of a scalar type.
    pub values: Vec<Scalar>,
    /// Of the fields inside, by their places.
    pub inner: Vec<Source>,
}

impl Source {
    /// A source of cells of this field.
    pub fn new(chance: &mut Chance, field: &Field) -> Self {
        let (values, inner) = match &field.kind {
            Kind::List(element) => (Vec::new(), vec![Source::new(chance, element)]),
            Kind::Struct(fields) => {
                let inner = fields.iter().map(|field| Source::new(chance, field));
                (Vec::new(), inner.collect())
            }
            Kind::Map(key, value) => {
                let inner = [key, value].map(|field| Source::new(chance, field));
                (Vec::new(), inner.to_vec())
            }
            kind => (pool(chance, kind), Vec::new()),
        };
        Source {
            spread: *chance.pick(&[
                Spread::Random,
                Spread::Clustered,
                Spread::Clustered,
                Spread::Runs,
            ]),
            null_share: if field.required {
                0
            } else {
                *chance.pick(&[0, 0, 5, 30, 95])
            },
            values,
            inner,
        }
    }

    /// The cell of a row at this place of the table, from 0 to 1.
    pub fn cell(&self, chance: &mut Chance, field: &Field, place: f64) -> Cell {
        let is_null = match self.spread {
            // Whole stretches of nulls, so that files and pages are all null or have none.
            Spread::Runs if self.null_share > 0 => {
                (place * 7.0).fract() * 100.0 < f64::from(self.null_share)
            }
            _ => chance.percent(self.null_share),
        };
        if is_null {
            return Cell::Null;
        }
        match &field.kind {
            Kind::List(element) => {
                let length = chance.below(4);
                Cell::List(
                    (0..length)
                        .map(|_| self.inner[0].cell(chance, element, place))
                        .collect(),
                )
            }
            Kind::Struct(fields) => Cell::Struct(
                fields
                    .iter()
                    .zip(&self.inner)
                    .map(|(field, source)| (field.id, source.cell(chance, field, place)))
                    .collect(),
            ),
            Kind::Map(_, value) => {
                let mut keys: Vec<Scalar> = (0..chance.below(4))
                    .map(|_| chance.pick(&self.inner[0].values).clone())
                    .collect();
                keys.sort_by(Scalar::order);
                keys.dedup_by(|left, right| left.is_same(right));
                Cell::Map(
                    keys.into_iter()
                        .map(|key| (key, self.inner[1].cell(chance, value, place)))
                        .collect(),
                )
            }
            _ => Cell::Scalar(self.scalar(chance, place)),
        }
    }

    fn scalar(&self, chance: &mut Chance, place: f64) -> Scalar {
        let count = self.values.len();
        let at = (place * count as f64) as usize;
        let index = match self.spread {
            Spread::Random => chance.below(count),
            Spread::Clustered => at + chance.below(1 + count / 12),
            Spread::Runs => at,
        };
        self.values[index.min(count - 1)].clone()
    }
}
