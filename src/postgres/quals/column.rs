//! The side of a condition that depends on the table's rows: a column, a field of a composite, and what casts and
//! functions that keep its order make of it.

use iceberg_core::read::OutputColumn;
use iceberg_core::spec::{PrimitiveType, Term, Transform, Type};
use pgrx::is_a;
use pgrx::pg_sys::{self, Node, NodeTag, Oid};

use super::functions::Function;
use super::step::{Step, Unit};
use super::translate::Translator;
use crate::list::pointers;
use crate::types::conversion::{Conversion, Scalar};

/// An expression of the table's rows.
#[derive(Debug, Clone)]
pub enum Subject {
    /// Always null: the column has no values in the state that is read.
    Missing,
    /// Made of one field.
    Column(Column),
}

/// An expression that is made of one field, and is null where the field is.
#[derive(Debug, Clone)]
pub struct Column {
    /// The field, and the transform whose values are partition values.
    pub term: Term,
    /// What is made of the values of the term, first step first.
    pub steps: Vec<Step>,
    /// What the values are then.
    pub image: Image,
    /// Their type in Postgres, below domains.
    pub postgres_type: Oid,
    /// Whether Postgres raises errors for some values where a predicate does not.
    pub raises: bool,
    /// How the field comes to Postgres.
    scalar: Option<Scalar>,
}

/// What values mean in Postgres.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image {
    /// True or false.
    Boolean,
    /// Numbers with so many digits after the point.
    Number(u8),
    /// Floating-point numbers made of others.
    Rounded,
    /// Floating-point numbers that are stored as such.
    Float,
    /// Days, as times at their beginning.
    Date,
    /// Times of day.
    Time,
    /// Times without a zone.
    Timestamp,
    /// Instants.
    Timestamptz,
    /// Texts.
    Text,
    /// Texts whose blanks at the end do not count.
    BlankPadded,
    /// The first so many characters of texts.
    TextPrefix(u32),
    /// Bytes.
    Bytes,
    /// The first so many bytes of bytes.
    BytesPrefix(u32),
    /// UUIDs.
    Uuid,
    /// Something of which only null can be told.
    Opaque,
}

/// A field of the table, or one inside of a composite.
struct Place<'a> {
    field_id: i32,
    field_type: &'a Type,
    conversion: &'a Conversion,
}

/// What a column is found to be.
enum Found<'a> {
    Missing,
    Place(Place<'a>),
}

impl Translator<'_> {
    /// What an expression makes of the table's rows; `None` for anything but one field and functions that keep order.
    ///
    /// # Safety
    /// `node` is a valid expression.
    pub unsafe fn subject(&mut self, node: *mut Node) -> Option<Subject> {
        // SAFETY: by the contract; tags of nodes are looked at first.
        unsafe {
            match (*node).type_ {
                NodeTag::T_Var | NodeTag::T_FieldSelect => match self.find(node)? {
                    Found::Missing => Some(Subject::Missing),
                    Found::Place(place) => Column::of(&place).map(Subject::Column),
                },
                NodeTag::T_RelabelType => {
                    let relabel = node.cast::<pg_sys::RelabelType>();
                    let inner = self.subject((*relabel).arg.cast())?;
                    let to = pg_sys::getBaseType((*relabel).resulttype);
                    let Subject::Column(column) = inner else {
                        return Some(inner);
                    };
                    column.relabelled(to).map(Subject::Column)
                }
                NodeTag::T_FuncExpr => self.call(node.cast()),
                _ => None,
            }
        }
    }

    /// # Safety
    /// `call` is valid.
    unsafe fn call(&mut self, call: *mut pg_sys::FuncExpr) -> Option<Subject> {
        // SAFETY: by the contract.
        unsafe {
            let function = Function::of((*call).funcid)?;
            let mut arguments: Vec<*mut Node> = pointers::<Node>((*call).args).collect();
            let at = function.column_argument();
            if at >= arguments.len() {
                return None;
            }
            let subject = self.subject(arguments.remove(at))?;
            let mut known = Vec::with_capacity(arguments.len());
            for argument in arguments {
                if !self.is_constant(argument) {
                    return None;
                }
                known.push(self.constants.value(argument));
            }
            let Subject::Column(column) = subject else {
                return Some(subject);
            };
            let made = function.apply(column, &known)?;
            Some(Subject::Column(Column {
                postgres_type: (*call).funcresulttype,
                ..made
            }))
        }
    }

    /// # Safety
    /// `node` is a valid expression.
    unsafe fn find(&self, node: *mut Node) -> Option<Found<'_>> {
        // SAFETY: by the contract.
        unsafe {
            if is_a(node, NodeTag::T_Var) {
                let var = node.cast::<pg_sys::Var>();
                let is_own = i64::from((*var).varno) == i64::from(self.varno)
                    && (*var).varlevelsup == 0
                    && (*var).varattno > 0;
                if !is_own {
                    return None;
                }
                if self.relation.is_missing((*var).varattno) {
                    return Some(Found::Missing);
                }
                let column = self.relation.column((*var).varattno)?;
                let OutputColumn::Field(field_id) = column.source else {
                    return None;
                };
                let field = self.relation.schema().field_by_id(field_id)?;
                return found(field_id, &field.field_type, &column.plan.conversion);
            }
            if !is_a(node, NodeTag::T_FieldSelect) {
                return None;
            }
            let select = node.cast::<pg_sys::FieldSelect>();
            let place = match self.find((*select).arg.cast())? {
                Found::Place(place) => place,
                missing => return Some(missing),
            };
            let mut conversion = place.conversion;
            while let Conversion::Domain { base, .. } = conversion {
                conversion = base;
            }
            let (Conversion::Composite { attributes, .. }, Type::Struct(fields)) =
                (conversion, place.field_type)
            else {
                return None;
            };
            let index = usize::try_from((*select).fieldnum).ok()?.checked_sub(1)?;
            let (at, conversion) = attributes.get(index)?.as_ref()?;
            let field = fields.fields().get(*at)?;
            found(field.id, &field.field_type, conversion)
        }
    }
}

fn found<'a>(field_id: i32, field_type: &'a Type, conversion: &'a Conversion) -> Option<Found<'a>> {
    Some(match conversion {
        Conversion::Null => Found::Missing,
        _ => Found::Place(Place {
            field_id,
            field_type,
            conversion,
        }),
    })
}

impl Column {
    fn of(place: &Place<'_>) -> Option<Self> {
        let Type::Primitive(primitive) = place.field_type else {
            return None;
        };
        let mut conversion = place.conversion;
        while let Conversion::Domain { base, .. } = conversion {
            conversion = base;
        }
        let scalar = match conversion {
            Conversion::Scalar(scalar) => Some(*scalar),
            _ => None,
        };
        let (image, postgres_type) = scalar.map_or((Image::Opaque, Oid::INVALID), |scalar| {
            image(scalar, primitive)
        });
        Some(Self {
            term: Term::field(place.field_id, primitive.clone()),
            steps: Vec::new(),
            image,
            postgres_type,
            raises: false,
            scalar,
        })
    }

    /// The same with another type that has the same values.
    fn relabelled(self, to: Oid) -> Option<Self> {
        let image = match (self.image, to) {
            (Image::Text, pg_sys::TEXTOID | pg_sys::VARCHAROID) => Image::Text,
            (Image::Text, pg_sys::BPCHAROID) => Image::BlankPadded,
            (image, _) if to == self.postgres_type => image,
            _ => return None,
        };
        Some(Self {
            image,
            postgres_type: to,
            ..self
        })
    }

    /// The same with one more step, after which values mean `image`.
    #[must_use]
    pub fn then(mut self, steps: &[Step], image: Image) -> Self {
        self.steps.extend_from_slice(steps);
        Self { image, ..self }
    }

    /// The same, for which Postgres may raise errors.
    #[must_use]
    pub fn raising(self) -> Self {
        Self {
            raises: true,
            ..self
        }
    }

    /// The field under a transform of Iceberg; `None` where Postgres' value of it is not the transform's.
    pub fn transformed(self, transform: Transform) -> Option<Self> {
        if !self.steps.is_empty() || !transform.accepts(&self.term.field_type) {
            return None;
        }
        let shown_whole = match self.scalar? {
            Scalar::IntToNumeric { .. } | Scalar::LongToNumeric { .. } => false,
            Scalar::DecimalToInt4 | Scalar::DecimalToInt8 => false,
            Scalar::Decimal {
                scale,
                display_scale,
            } => scale == display_scale,
            _ => true,
        };
        if !shown_whole {
            return None;
        }
        let time = matches!(
            self.image,
            Image::Date | Image::Timestamp | Image::Timestamptz
        );
        Some(match transform {
            Transform::Bucket(_) => Self {
                image: Image::Number(0),
                term: Term {
                    transform,
                    ..self.term
                },
                ..self
            },
            Transform::Truncate(width) => match self.image {
                // Below the lowest multiple the function raises an error.
                Image::Number(scale) => self
                    .then(&[Step::Multiple(width.get())], Image::Number(scale))
                    .raising(),
                Image::Text => self.then(&[], Image::TextPrefix(width.get())),
                Image::Bytes => self.then(&[], Image::BytesPrefix(width.get())),
                _ => return None,
            },
            Transform::Year if time => {
                self.then(&[Step::Since1970(Unit::Months(12))], Image::Number(0))
            }
            Transform::Month if time => {
                self.then(&[Step::Since1970(Unit::Months(1))], Image::Number(0))
            }
            Transform::Day if time => self.then(&[Step::Truncate(Unit::DAY)], Image::Date),
            // Hours that no integer holds raise an error.
            Transform::Hour if time => self
                .then(&[Step::Since1970(Unit::HOUR)], Image::Number(0))
                .raising(),
            _ => return None,
        })
    }
}

/// What a column's values mean, and their type.
fn image(scalar: Scalar, primitive: &PrimitiveType) -> (Image, Oid) {
    match scalar {
        Scalar::Boolean => (Image::Boolean, pg_sys::BOOLOID),
        Scalar::Int | Scalar::DecimalToInt4 => (Image::Number(0), pg_sys::INT4OID),
        Scalar::IntToInt8 | Scalar::Long | Scalar::DecimalToInt8 => {
            (Image::Number(0), pg_sys::INT8OID)
        }
        Scalar::IntToNumeric { .. } | Scalar::LongToNumeric { .. } => {
            (Image::Number(0), pg_sys::NUMERICOID)
        }
        Scalar::Decimal { scale, .. } => (Image::Number(scale), pg_sys::NUMERICOID),
        Scalar::Float => (Image::Float, pg_sys::FLOAT4OID),
        Scalar::FloatToFloat8 | Scalar::Double => (Image::Float, pg_sys::FLOAT8OID),
        Scalar::Date => (Image::Date, pg_sys::DATEOID),
        Scalar::Time => (Image::Time, pg_sys::TIMEOID),
        Scalar::Timestamp | Scalar::TimestampNanos => match primitive {
            PrimitiveType::Timestamptz | PrimitiveType::TimestamptzNs => {
                (Image::Timestamptz, pg_sys::TIMESTAMPTZOID)
            }
            _ => (Image::Timestamp, pg_sys::TIMESTAMPOID),
        },
        Scalar::Text => (Image::Text, pg_sys::TEXTOID),
        Scalar::Bytea | Scalar::FixedBytea => match primitive {
            PrimitiveType::Binary | PrimitiveType::Fixed(_) => (Image::Bytes, pg_sys::BYTEAOID),
            _ => (Image::Opaque, pg_sys::BYTEAOID),
        },
        Scalar::Uuid => (Image::Uuid, pg_sys::UUIDOID),
    }
}
