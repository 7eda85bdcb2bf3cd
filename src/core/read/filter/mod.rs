//! Which rows of decoded batches are wanted: a predicate, bound to the columns that a file is read
//! with. Spec: "Scan Planning"; the meaning of checks is [`crate::spec::Check::is_true_of`].

mod array_values;
mod checks;
mod transforms;

use std::sync::Arc;

use arrow::array::{ArrayRef, new_null_array};
use arrow::buffer::BooleanBuffer;

pub(super) use self::array_values::value_in;
use self::checks::ArrayCheck;
use self::transforms::transformed;
use super::added_columns::{Place, add_column, column_at};
use super::arrow_types::arrow_type;
use super::assemble::Assembly;
use super::metadata_columns::MetadataColumn;
use super::missing::Substitute;
use super::projection::Column;
use super::row_positions::RowPositions;
use crate::error::{Error, ErrorKind, Result};
use crate::spec::{
    Check, Comparison, NestedField, PossibleValues, Predicate, PrimitiveType, PrimitiveValue,
    RowFilter, Schema, Test, Transform, Type,
};

/// What must be true of the rows that come out of one file.
#[derive(Debug, Clone)]
pub(super) struct BatchFilter(Condition);

/// A predicate whose fields are places in batches.
#[derive(Debug, Clone)]
enum Condition {
    Always(bool),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Test(Arc<BoundTest>),
}

/// A test of a column of batches.
#[derive(Debug)]
pub(super) struct BoundTest {
    test: Test,
    place: Place,
    check: ArrayCheck,
    /// Whether a row of which it cannot be told must be an error.
    exact: bool,
}

impl BatchFilter {
    /// Binds what is wanted of rows of `schema` to batches of `fields`, to which are added what is
    /// looked at and is not there. `None` if every row is wanted.
    ///
    /// # Errors
    /// `Internal` for a test that cannot be made of rows and may not be ignored.
    pub(super) fn new(
        rows: &RowFilter,
        schema: &Schema,
        fields: &mut Vec<Arc<NestedField>>,
    ) -> Result<Option<Self>> {
        let mut bind = |predicate, exact| Condition::new(predicate, exact, schema, fields);
        let exact = bind(&rows.exact, true)?;
        let inexact = bind(&rows.inexact, false)?;
        Ok(match Condition::all([exact, inexact]) {
            Condition::Always(true) => None,
            condition => Some(Self(condition)),
        })
    }

    /// Whether no row is wanted, whatever is in it.
    pub(super) fn wants_nothing(&self) -> bool {
        matches!(self.0, Condition::Always(false))
    }

    /// What is left to test of the rows of a file whose columns come from here: what the file does
    /// not have is the same in all of its rows. `None` if every row is wanted.
    pub(super) fn in_file(&self, columns: &[Column]) -> Option<Self> {
        match self.0.in_file(columns) {
            Condition::Always(true) => None,
            condition => Some(Self(condition)),
        }
    }

    /// Whether rows may be wanted among which each test may be true as `may_hold` says of it.
    pub(super) fn may_hold(&self, may_hold: &mut impl FnMut(&BoundTest) -> bool) -> bool {
        self.0.may_hold(may_hold)
    }

    /// The rows that may be wanted when the rows are known of which each test may be true; `None`
    /// is all rows.
    pub(super) fn rows_that_may_hold(
        &self,
        of_test: &impl Fn(&BoundTest) -> Option<RowPositions>,
    ) -> Option<RowPositions> {
        self.0.rows_that_may_hold(of_test)
    }

    /// The columns of batches that are tested, wholly or in part, each once.
    pub(super) fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<_> = self
            .tests()
            .into_iter()
            .filter_map(|test| test.place.first().copied())
            .collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The tests in it.
    pub(super) fn tests(&self) -> Vec<&Arc<BoundTest>> {
        let mut tests = Vec::new();
        self.0.collect_tests(&mut tests);
        tests
    }

    /// Which of so many rows are wanted.
    ///
    /// # Errors
    /// Without the file's name. `OutOfRange` for a transform that has no answer.
    pub(super) fn wanted(&self, columns: &[ArrayRef], rows: usize) -> Result<BooleanBuffer> {
        self.0.holds(columns, rows)
    }
}

impl Condition {
    fn new(
        predicate: &Predicate,
        exact: bool,
        schema: &Schema,
        fields: &mut Vec<Arc<NestedField>>,
    ) -> Result<Self> {
        let mut bind_all = |predicates: &[Predicate]| {
            predicates
                .iter()
                .map(|predicate| Self::new(predicate, exact, schema, fields))
                .collect::<Result<Vec<_>>>()
        };
        Ok(match predicate {
            Predicate::True => Self::Always(true),
            Predicate::False => Self::Always(false),
            Predicate::And(inner) => Self::all(bind_all(inner)?),
            Predicate::Or(inner) => Self::any(bind_all(inner)?),
            Predicate::Test(test) => match BoundTest::new(test, exact, schema, fields) {
                Ok(test) => Self::Test(Arc::new(test)),
                // There is no NOT around it: it may be taken for true.
                Err(_) if !exact => Self::Always(true),
                Err(reason) => {
                    return Err(Error::new(
                        ErrorKind::Internal,
                        format!("a filter cannot be applied to rows: {reason}: {test:?}"),
                    ));
                }
            },
        })
    }

    fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Vec::new();
        for condition in conditions {
            match condition {
                Self::Always(true) => {}
                Self::Always(false) => return Self::Always(false),
                Self::All(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        // What costs least first: when nothing is left, the rest is not looked at.
        all.sort_by_key(Self::cost);
        match all.len() {
            0 => Self::Always(true),
            1 => all.remove(0),
            _ => Self::All(all),
        }
    }

    fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        let mut any = Vec::new();
        for condition in conditions {
            match condition {
                Self::Always(false) => {}
                Self::Always(true) => return Self::Always(true),
                Self::Any(inner) => any.extend(inner),
                other => any.push(other),
            }
        }
        any.sort_by_key(Self::cost);
        match any.len() {
            0 => Self::Always(false),
            1 => any.remove(0),
            _ => Self::Any(any),
        }
    }

    /// About how much work it is for a row, beside others.
    fn cost(&self) -> u32 {
        match self {
            Self::Always(_) => 0,
            Self::All(conditions) | Self::Any(conditions) => conditions
                .iter()
                .fold(0, |sum, condition| sum.saturating_add(condition.cost())),
            Self::Test(test) => test.cost(),
        }
    }

    fn in_file(&self, columns: &[Column]) -> Self {
        let inner = |condition: &Self| condition.in_file(columns);
        match self {
            Self::Always(always) => Self::Always(*always),
            Self::All(conditions) => Self::all(conditions.iter().map(inner)),
            Self::Any(conditions) => Self::any(conditions.iter().map(inner)),
            Self::Test(test) => match test.in_file(columns) {
                Some(holds) => Self::Always(holds),
                None => Self::Test(Arc::clone(test)),
            },
        }
    }

    fn may_hold(&self, of: &mut impl FnMut(&BoundTest) -> bool) -> bool {
        match self {
            Self::Always(always) => *always,
            Self::All(conditions) => conditions.iter().all(|condition| condition.may_hold(of)),
            Self::Any(conditions) => conditions.iter().any(|condition| condition.may_hold(of)),
            Self::Test(test) => of(test),
        }
    }

    fn rows_that_may_hold(
        &self,
        of_test: &impl Fn(&BoundTest) -> Option<RowPositions>,
    ) -> Option<RowPositions> {
        match self {
            Self::Always(true) => None,
            Self::Always(false) => Some(RowPositions::default()),
            Self::All(conditions) => conditions
                .iter()
                .filter_map(|condition| condition.rows_that_may_hold(of_test))
                .reduce(|left, right| left.and(&right)),
            Self::Any(conditions) => conditions
                .iter()
                .map(|condition| condition.rows_that_may_hold(of_test))
                .reduce(|left, right| Some(left?.or(&right?)))
                .flatten(),
            Self::Test(test) => of_test(test),
        }
    }

    fn collect_tests<'a>(&'a self, tests: &mut Vec<&'a Arc<BoundTest>>) {
        match self {
            Self::Always(_) => {}
            Self::All(conditions) | Self::Any(conditions) => {
                conditions
                    .iter()
                    .for_each(|condition| condition.collect_tests(tests));
            }
            Self::Test(test) => tests.push(test),
        }
    }

    fn holds(&self, columns: &[ArrayRef], rows: usize) -> Result<BooleanBuffer> {
        Ok(match self {
            Self::Always(true) => BooleanBuffer::new_set(rows),
            Self::Always(false) => BooleanBuffer::new_unset(rows),
            Self::All(conditions) => {
                let mut holds = BooleanBuffer::new_set(rows);
                for condition in conditions {
                    holds = &holds & &condition.holds(columns, rows)?;
                    if !holds.has_true() {
                        break;
                    }
                }
                holds
            }
            Self::Any(conditions) => {
                let mut holds = BooleanBuffer::new_unset(rows);
                for condition in conditions {
                    holds = &holds | &condition.holds(columns, rows)?;
                    if !holds.has_false() {
                        break;
                    }
                }
                holds
            }
            Self::Test(test) => test.holds(&column_at(columns, &test.place)?)?,
        })
    }
}

impl BoundTest {
    /// Binds a test; the error says why it cannot be made of rows.
    fn new(
        test: &Test,
        exact: bool,
        schema: &Schema,
        fields: &mut Vec<Arc<NestedField>>,
    ) -> Result<Self, &'static str> {
        let Test { term, check } = test;
        let path: Vec<_> = match MetadataColumn::by_field_id(term.field_id) {
            // What happened to a row is known only after it has been filtered.
            Some(MetadataColumn::ChangeType) => return Err("rows are filtered before it is known"),
            Some(column) => vec![Arc::new(column.field())],
            None => schema
                .field_path(term.field_id)
                .ok_or("there is no such field")?
                .into_iter()
                .cloned()
                .collect(),
        };
        let (field, around) = path.split_last().ok_or("there is no such field")?;
        if field.field_type != Type::Primitive(term.field_type.clone()) {
            return Err("the field has another type");
        }
        let is_struct = |field: &Arc<NestedField>| matches!(field.field_type, Type::Struct(_));
        if !around.iter().all(is_struct) {
            return Err("the field is in a list or map");
        }
        if !term.transform.accepts(&term.field_type) {
            return Err("the transform does not apply to the type");
        }
        let check = ArrayCheck::new(check, &term.value_type())
            .ok_or("values of the type cannot be compared")?;
        let place = add_column(fields, &path).ok_or("the field is read as something else")?;
        Ok(Self {
            test: test.clone(),
            place,
            check,
            exact,
        })
    }

    /// About how much work it is for a row, beside others.
    fn cost(&self) -> u32 {
        let Test { term, check } = &self.test;
        let value = match term.field_type {
            PrimitiveType::String
            | PrimitiveType::Binary
            | PrimitiveType::Fixed(_)
            | PrimitiveType::Uuid => 4,
            _ => 1,
        };
        let transform = match term.transform {
            Transform::Identity => 1,
            _ => 20,
        };
        match check {
            Check::IsNull | Check::NotNull => 1,
            Check::In(values) | Check::NotIn(values) => {
                value * transform * (2 + values.len().max(1).ilog2())
            }
            _ => value * transform,
        }
    }

    /// Where the column is that it tests.
    pub(super) fn place(&self) -> &[usize] {
        &self.place
    }

    /// The type of that column.
    pub(super) fn field_type(&self) -> &PrimitiveType {
        &self.test.term.field_type
    }

    /// The values of which one must be equal to that of a row, where it tests only that.
    pub(super) fn equal_to(&self) -> Option<&[PrimitiveValue]> {
        match &self.test.check {
            _ if self.test.term.transform != Transform::Identity => None,
            Check::Compare(Comparison::Equal, value) => Some(std::slice::from_ref(value)),
            Check::In(values) => Some(values),
            _ => None,
        }
    }

    /// Whether it may be true of a row whose column has one of these values.
    pub(super) fn may_hold(&self, values: &PossibleValues) -> bool {
        let Test { term, check } = &self.test;
        values
            .transformed(&term.transform, &term.field_type)
            .is_none_or(|values| values.verdict(check).may_hold)
    }

    /// Which rows it is true of, from the array of its field.
    fn holds(&self, array: &ArrayRef) -> Result<BooleanBuffer> {
        match transformed(&self.test.term.transform, &self.test.term.field_type, array) {
            Ok(values) => self.check.holds(&values),
            Err(error) if self.exact => Err(error),
            Err(_) => Ok(BooleanBuffer::new_set(array.len())),
        }
    }

    /// Whether it is true of all rows of a file, or of none; `None` if that cannot be told.
    fn in_file(&self, columns: &[Column]) -> Option<bool> {
        let (first, mut rest) = self.place.split_first()?;
        let mut member = &columns.get(*first)?.member;
        let mut is_in_struct = false;
        loop {
            match &member.assembly {
                Assembly::Missing(substitute) => {
                    let same = self.of_every_row(substitute, rest)?;
                    let null = || {
                        let data_type =
                            arrow_type(&Type::Primitive(self.test.term.field_type.clone()));
                        self.of_one_row(&new_null_array(&data_type, 1))
                    };
                    // Where the struct is null, so is the field.
                    return (!is_in_struct || null()? == same).then_some(same);
                }
                Assembly::Struct { members, .. } => {
                    let (place, inner) = rest.split_first()?;
                    (member, rest) = (members.get(*place)?, inner);
                    is_in_struct = true;
                }
                _ => return None,
            }
        }
    }

    /// Whether it is true of what stands for a column, or of what is in there at a place.
    fn of_every_row(&self, substitute: &Substitute, place: &[usize]) -> Option<bool> {
        if matches!(substitute, Substitute::Counted(_)) {
            return None;
        }
        let row = substitute.rows(&RowPositions::default(), 1).ok()?;
        let place: Vec<_> = std::iter::once(0).chain(place.iter().copied()).collect();
        self.of_one_row(&column_at(&[row], &place).ok()?)
    }

    /// Whether it is true of the only value of an array; an error may be left to the rows.
    fn of_one_row(&self, array: &ArrayRef) -> Option<bool> {
        self.holds(array).ok().map(|holds| holds.has_true())
    }
}
