//! Where a constant lies among the values of a column: the pairs of types that Postgres compares, each with the
//! constants that only one side can hold. What is not listed here, Postgres checks alone.

use iceberg_core::spec::{
    Bounds, Check, Comparison, Cut, Predicate, PrimitiveType, PrimitiveValue, Span, ordinals,
};
use pgrx::pg_sys::{self, Datum, Oid};
use uuid::Uuid;

use super::collation::TextRules;
use super::column::{Column, Image};
use super::constants::Known;
use super::number::GridPlace;
use super::outcome::{Class, Leaf};
use super::step::{Stage, Step, first_not};
use super::text;
use super::time::{self, Micros};

/// What a constant is to a column.
pub enum Located {
    /// Null.
    Null,
    /// It lies here.
    At(Box<Bounds>),
    /// No value equals it, and where it lies among them is not known.
    Nowhere,
    /// Where it lies cannot be told, or not yet.
    Unknown,
}

/// A column compared to a constant.
#[derive(Debug, Clone, Copy)]
pub struct Comparand {
    /// The type that the operator takes the constant in.
    pub type_oid: Oid,
    /// The collation of the comparison.
    pub collation: Oid,
    /// Whether texts are ordered by bytes, whatever the collation.
    pub bytewise: bool,
}

impl Column {
    /// How a comparison with a constant comes out; `None` if it is not understood.
    ///
    /// # Safety
    /// A known value is of the comparand's type.
    pub unsafe fn compare(
        &self,
        comparison: Comparison,
        with: Comparand,
        value: Known,
    ) -> Option<Leaf> {
        let class = self.class(comparison, with)?;
        // SAFETY: by the contract.
        let located = unsafe {
            match (self.image, value) {
                (
                    Image::BlankPadded | Image::TextPrefix(_) | Image::BytesPrefix(_),
                    Known::Value(value),
                ) => {
                    return self.equals_prefix(with, value).map(|leaf| {
                        leaf.at_most(class)
                            .negated_if(comparison == Comparison::NotEqual)
                    });
                }
                _ => self.locate(with, value)?,
            }
        };
        Some(match (located, comparison) {
            (Located::Null, _) => Leaf::constant(None).at_most(class),
            (Located::Unknown, _) => Leaf::later(class),
            (Located::At(bounds), _) => self.outcomes(&bounds, comparison).at_most(class),
            (Located::Nowhere, Comparison::Equal | Comparison::NotEqual) => self
                .outcomes(&Bounds::between(Cut::AfterAll), comparison)
                .at_most(class),
            (Located::Nowhere, _) => Leaf::later(class),
        })
    }

    /// The three outcomes of a comparison.
    pub fn outcomes(&self, bounds: &Bounds, comparison: Comparison) -> Leaf {
        Leaf {
            yes: bounds.compare(&self.term, comparison),
            no: bounds.compare(&self.term, comparison.negated()),
            unknown: self.is_null(),
            class: if bounds.are_exact() {
                Class::Exact
            } else {
                Class::Inexact
            },
        }
    }

    /// How much a comparison can say, whatever the constant is.
    pub fn class(&self, comparison: Comparison, with: Comparand) -> Option<Class> {
        let is_equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        let mut class = match self.image {
            Image::Text => {
                let rules = if with.bytewise && !is_equality {
                    TextRules::bytewise()
                } else {
                    TextRules::of(with.collation)
                };
                if is_equality {
                    rules.equality
                } else {
                    rules.order
                }
            }
            Image::TextPrefix(_) if is_equality => TextRules::of(with.collation).equality,
            Image::BlankPadded if is_equality => {
                TextRules::of(with.collation).equality.min(Class::Inexact)
            }
            Image::BytesPrefix(_) if is_equality => Class::Exact,
            Image::BlankPadded | Image::TextPrefix(_) | Image::BytesPrefix(_) | Image::Opaque => {
                Class::Local
            }
            _ => Class::Exact,
        };
        let crosses_zones = self.steps.contains(&Step::Zone)
            || (with.type_oid == pg_sys::TIMESTAMPTZOID
                && matches!(self.image, Image::Date | Image::Timestamp));
        if self.raises || crosses_zones {
            class = class.min(Class::Inexact);
        }
        (class > Class::Local).then_some(class)
    }

    /// Where a constant lies; `None` for a type that is not compared to this column.
    ///
    /// # Safety
    /// A known value is of the comparand's type.
    pub unsafe fn locate(&self, with: Comparand, value: Known) -> Option<Located> {
        if !self.compares_to(with.type_oid) {
            return None;
        }
        let value = match value {
            Known::Null => return Some(Located::Null),
            Known::Later => return Some(Located::Unknown),
            Known::Value(value) => value,
        };
        // SAFETY: by the contract.
        let bounds = unsafe {
            match self.image {
                Image::Boolean => Some(Bounds::value(PrimitiveValue::Boolean(value.value() != 0))),
                Image::Number(scale) => self.number(number(value, with.type_oid, scale)?),
                Image::Rounded => self.rounded(float(value, with.type_oid)?),
                Image::Float => Some(self.float(float(value, with.type_oid)?)),
                Image::Date | Image::Timestamp | Image::Timestamptz | Image::Time => {
                    self.time(value, with.type_oid)
                }
                Image::Uuid => uuid(value),
                Image::Bytes => Some(Bounds::value(self.bytes(text::bytes(value)))),
                Image::Text => match text::utf8(value, with.type_oid) {
                    Some(text) => Some(Bounds::value(PrimitiveValue::String(text))),
                    None => return Some(Located::Nowhere),
                },
                Image::BlankPadded
                | Image::TextPrefix(_)
                | Image::BytesPrefix(_)
                | Image::Opaque => None,
            }
        };
        Some(bounds.map_or(Located::Unknown, |bounds| Located::At(Box::new(bounds))))
    }

    /// Whether a constant of a type is compared to this column with a meaning that is known here.
    fn compares_to(&self, type_oid: Oid) -> bool {
        use pg_sys as p;
        match self.image {
            Image::Boolean => type_oid == p::BOOLOID,
            Image::Number(_) if self.postgres_type == p::FLOAT8OID => {
                matches!(type_oid, p::FLOAT4OID | p::FLOAT8OID)
            }
            Image::Number(_) => matches!(
                type_oid,
                p::INT2OID | p::INT4OID | p::INT8OID | p::NUMERICOID
            ),
            Image::Rounded | Image::Float => matches!(type_oid, p::FLOAT4OID | p::FLOAT8OID),
            Image::Date | Image::Timestamp | Image::Timestamptz => {
                matches!(type_oid, p::DATEOID | p::TIMESTAMPOID | p::TIMESTAMPTZOID)
            }
            Image::Time => type_oid == p::TIMEOID,
            Image::Text => matches!(type_oid, p::TEXTOID | p::NAMEOID),
            Image::TextPrefix(_) => type_oid == p::TEXTOID,
            Image::BlankPadded => type_oid == p::BPCHAROID,
            Image::Bytes | Image::BytesPrefix(_) => type_oid == p::BYTEAOID,
            Image::Uuid => type_oid == p::UUIDOID,
            Image::Opaque => false,
        }
    }

    /// The rows for which Postgres may raise an error on the way from the field to the expression. They are never left
    /// out, so that it does.
    pub fn raising_rows(&self) -> Predicate {
        /// Times between these, in microseconds from 1970, have all that can be made of them: 4000 BC to 220000 AD.
        const TIMES: (i128, i128) = (-188_000_000_000_000_000, 6_800_000_000_000_000_000);
        if !self.raises {
            return Predicate::False;
        }
        let of = &self.term.field_type;
        // Every number but those that are less than the lowest multiple.
        let width = self.steps.iter().find_map(|step| match step {
            Step::Multiple(width) => Some(i128::from(*width)),
            _ => None,
        });
        let safe = match (width, ordinals(of)) {
            (Some(width), Some(range)) => Some((range.start() + width, range.end() + 1)),
            _ => first_not(
                of,
                &[],
                0,
                &|value| matches!(value, Stage::Micros(at) if at < TIMES.0),
            )
            .zip(first_not(
                of,
                &[],
                0,
                &|value| matches!(value, Stage::Micros(at) if at < TIMES.1),
            )),
        };
        let bounds = safe.and_then(|(first, end)| Bounds::of_ordinals(of, first, end));
        bounds.map_or(Predicate::True, |bounds| {
            Predicate::or([
                bounds.compare(&self.term, Comparison::Less),
                bounds.compare(&self.term, Comparison::Greater),
            ])
        })
    }

    /// The field is null.
    pub fn is_null(&self) -> Predicate {
        super::test(&self.term, Check::IsNull)
    }

    /// The field is not null.
    pub fn is_not_null(&self) -> Predicate {
        super::test(&self.term, Check::NotNull)
    }

    fn number(&self, place: GridPlace) -> Option<Bounds> {
        let before = |point| move |value| matches!(value, Stage::Number(number) if number < point);
        self.between(&before(place.at_least), &before(place.greater))
    }

    fn rounded(&self, constant: f64) -> Option<Bounds> {
        // NaN is greater than all of these, which have none.
        let less =
            |value| matches!(value, Stage::Float(float) if float < constant || constant.is_nan());
        let not_greater =
            |value| matches!(value, Stage::Float(float) if float <= constant || constant.is_nan());
        self.between(&less, &not_greater)
    }

    fn float(&self, constant: f64) -> Bounds {
        use PrimitiveValue as V;
        if self.term.field_type == PrimitiveType::Double {
            return Bounds::value(V::Double(constant));
        }
        let nearest = constant as f32;
        let back = f64::from(nearest);
        if back == constant || constant.is_nan() {
            Bounds::value(V::Float(nearest))
        } else if back < constant {
            Bounds::between(Cut::After(V::Float(nearest)))
        } else {
            Bounds::between(Cut::Before(V::Float(nearest)))
        }
    }

    /// # Safety
    /// The value is of the type.
    unsafe fn time(&self, value: Datum, type_oid: Oid) -> Option<Bounds> {
        // SAFETY: by the contract.
        let constant = unsafe { time::constant(value, type_oid, self.image)? };
        let constant = match constant {
            Micros::BeforeAll => return Some(Bounds::between(Cut::BeforeAll)),
            Micros::AfterAll => return Some(Bounds::between(Cut::AfterAll)),
            Micros::At(micros) => micros,
        };
        let less = |value| matches!(value, Stage::Micros(micros) if micros < constant);
        let not_greater = |value| matches!(value, Stage::Micros(micros) if micros <= constant);
        if type_oid == pg_sys::TIMESTAMPTZOID
            && matches!(self.image, Image::Date | Image::Timestamp)
        {
            let instants = self.clone().then(&[Step::Zone], Image::Timestamptz);
            return instants.between(&less, &not_greater);
        }
        self.between(&less, &not_greater)
    }

    /// Where a constant lies of which it is said what is less than it, and what is not greater.
    fn between(
        &self,
        less: &dyn Fn(Stage) -> bool,
        not_greater: &dyn Fn(Stage) -> bool,
    ) -> Option<Bounds> {
        let of = &self.term.value_type();
        let first_not = |shift, before| first_not(of, &self.steps, shift, before);
        if !self.steps.contains(&Step::Zone) {
            return Bounds::of_ordinals(of, first_not(0, less)?, first_not(0, not_greater)?);
        }
        // The later the zone's shift makes values, the earlier the cut.
        let span = |before| {
            Some(Span {
                earliest: Cut::before_ordinal(of, first_not(time::ZONE_MARGIN, before)?)?,
                latest: Cut::before_ordinal(of, first_not(-time::ZONE_MARGIN, before)?)?,
            })
        };
        Some(Bounds::new(span(less)?, span(not_greater)?))
    }

    /// Whether the first characters or bytes of a value, or all but the blanks at its end, equal a constant.
    ///
    /// # Safety
    /// The value is of the comparand's type.
    unsafe fn equals_prefix(&self, with: Comparand, value: Datum) -> Option<Leaf> {
        if !self.compares_to(with.type_oid) {
            return None;
        }
        // SAFETY: by the contract.
        let (prefix, length, limit) = unsafe {
            match self.image {
                Image::BytesPrefix(limit) => {
                    let bytes = text::bytes(value);
                    let length = bytes.len();
                    (Some(self.bytes(bytes)), length, limit)
                }
                Image::TextPrefix(limit) => {
                    let text = text::utf8(value, with.type_oid);
                    let length = text.as_ref().map_or(0, |text| text.chars().count());
                    (text.map(PrimitiveValue::String), length, limit)
                }
                Image::BlankPadded => {
                    let text = text::utf8(value, with.type_oid);
                    let trimmed = text.map(|text| text.trim_end_matches(' ').to_owned());
                    (trimmed.map(PrimitiveValue::String), 0, 0)
                }
                _ => return None,
            }
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (yes, no) = match prefix {
            None => (Predicate::False, self.is_not_null()),
            Some(_) if length > limit => (Predicate::False, self.is_not_null()),
            Some(prefix) if self.image == Image::BlankPadded => (
                super::test(&self.term, Check::StartsWith(prefix)),
                self.is_not_null(),
            ),
            Some(prefix) if length == limit => (
                super::test(&self.term, Check::StartsWith(prefix.clone())),
                super::test(&self.term, Check::NotStartsWith(prefix)),
            ),
            Some(whole) => (
                super::test(&self.term, Check::Compare(Comparison::Equal, whole.clone())),
                super::test(&self.term, Check::Compare(Comparison::NotEqual, whole)),
            ),
        };
        Some(Leaf {
            yes,
            no,
            unknown: self.is_null(),
            class: Class::Exact,
        })
    }

    /// Bytes as a value of the field's type.
    pub fn bytes(&self, bytes: Vec<u8>) -> PrimitiveValue {
        match self.term.field_type {
            PrimitiveType::Fixed(_) => PrimitiveValue::Fixed(bytes),
            _ => PrimitiveValue::Binary(bytes),
        }
    }
}

/// # Safety
/// The value is of the type.
unsafe fn number(value: Datum, type_oid: Oid, scale: u8) -> Option<GridPlace> {
    let word = value.value() as i64;
    Some(match type_oid {
        pg_sys::INT2OID => GridPlace::of_integer((word as i16).into(), scale),
        pg_sys::INT4OID => GridPlace::of_integer((word as i32).into(), scale),
        pg_sys::INT8OID => GridPlace::of_integer(word, scale),
        // SAFETY: by the contract.
        pg_sys::NUMERICOID => unsafe { GridPlace::of_numeric(value, scale) },
        // SAFETY: by the contract.
        _ => GridPlace::of_float(unsafe { float(value, type_oid)? }),
    })
}

/// # Safety
/// The value is of the type.
unsafe fn float(value: Datum, type_oid: Oid) -> Option<f64> {
    match type_oid {
        pg_sys::FLOAT4OID => Some(f32::from_bits(value.value() as u32).into()),
        pg_sys::FLOAT8OID => Some(f64::from_bits(value.value() as u64)),
        _ => None,
    }
}

/// # Safety
/// The value is a `uuid`.
unsafe fn uuid(value: Datum) -> Option<Bounds> {
    // SAFETY: by the contract 16 bytes.
    let bytes = unsafe { std::slice::from_raw_parts(value.cast_mut_ptr::<u8>(), 16) };
    let uuid = Uuid::from_slice(bytes).ok()?;
    Some(Bounds::value(PrimitiveValue::Uuid(uuid)))
}
