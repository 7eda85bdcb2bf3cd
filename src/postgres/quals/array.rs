//! `= ANY`, `IN`, `<> ALL`, `NOT IN` and all other operators with an array of constants.
//! Postgres' documentation: "Row and Array Comparisons".

use std::sync::Arc;

use iceberg_core::spec::{Check, Comparison, Predicate, PrimitiveValue, compare_values};
use pgrx::pg_sys::{self, Datum, Node};

use super::column::{Column, Image, Subject};
use super::constants::Known;
use super::leaf::Sides;
use super::locate::Located;
use super::operator::Meaning;
use super::outcome::{Class, Leaf, Outcomes, Translated};
use super::test;
use super::translate::Translator;
use crate::list::pointers;

/// What a list of constants is to a column.
#[derive(Default)]
struct Members {
    /// The values that equal one of them.
    values: Vec<PrimitiveValue>,
    /// What else equals one of them.
    equal: Vec<Predicate>,
    /// What equals none of those that are in `equal`.
    unequal: Vec<Predicate>,
    has_null: bool,
}

impl Translator<'_> {
    /// # Safety
    /// `node` is valid.
    pub unsafe fn array(&mut self, node: *mut pg_sys::ScalarArrayOpExpr) -> Option<Leaf> {
        // SAFETY: by the contract; a known value is an array of elements that the operator takes.
        unsafe {
            let mut arguments = pointers::<Node>((*node).args);
            let (subject, array) = (arguments.next()?, arguments.next()?);
            if !self.is_constant(array) {
                return None;
            }
            let sides = self.sides((*node).opno, (*node).inputcollid, subject, array)?;
            let any = (*node).useOr;
            let elements = match self.constants.value(array) {
                Known::Later => {
                    // LIKE may turn out to be any pattern; all else is as sure as with one constant.
                    let element = self.compare(&sides, Known::Later)?;
                    return Some(Leaf::later(element.class));
                }
                Known::Null => {
                    let class = self.compare(&sides, Known::Later)?.class;
                    let leaf = Leaf::constant(None).at_most(class);
                    return Some(match &sides.subject {
                        Subject::Missing => leaf,
                        Subject::Column(column) => leaf.keeping(&column.raising_rows()),
                    });
                }
                Known::Value(array) => elements(array),
            };
            if elements.is_empty() {
                // Also for a row that has null.
                let leaf = Leaf::constant(Some(!any));
                return Some(match sides.subject {
                    Subject::Missing => self.missing(leaf),
                    Subject::Column(column) if column.raises => {
                        leaf.at_most(Class::Inexact).keeping(&column.raising_rows())
                    }
                    Subject::Column(_) => leaf,
                });
            }
            if let (Subject::Column(column), Meaning::Compare(comparison)) =
                (&sides.subject, sides.meaning)
                && matches!(
                    (comparison, any),
                    (Comparison::Equal, true) | (Comparison::NotEqual, false)
                )
                && !matches!(
                    column.image,
                    Image::BlankPadded | Image::TextPrefix(_) | Image::BytesPrefix(_)
                )
            {
                let leaf = is_member(column, &sides, &elements)?;
                let leaf = leaf.keeping(&column.raising_rows());
                return Some(leaf.negated_if(!any));
            }
            let mut leaves = Vec::with_capacity(elements.len());
            for element in elements {
                leaves.push(self.compare(&sides, element)?);
            }
            Some(if any {
                any_of(leaves)
            } else {
                // All are true where it is false that any negation is.
                let negated = leaves.into_iter().map(|leaf| leaf.negated_if(true));
                any_of(negated.collect()).negated_if(true)
            })
        }
    }
}

/// Whether a column equals one of some constants.
///
/// # Safety
/// Known values are of the type that the operator takes.
unsafe fn is_member(column: &Column, sides: &Sides, elements: &[Known]) -> Option<Leaf> {
    let mut class = column.class(Comparison::Equal, sides.with)?;
    let mut members = Members::default();
    for element in elements {
        // SAFETY: by the contract.
        match unsafe { column.locate(sides.with, *element)? } {
            Located::Null => members.has_null = true,
            Located::Nowhere => {}
            Located::Unknown => return Some(Leaf::later(class)),
            Located::At(bounds) => match bounds.single() {
                Some(value) => members.values.push(value.clone()),
                None => {
                    let leaf = column.outcomes(&bounds, Comparison::Equal);
                    class = class.min(leaf.class);
                    if leaf.yes != Predicate::False {
                        members.equal.push(leaf.yes);
                        members.unequal.push(leaf.no);
                    }
                }
            },
        }
    }
    Some(members.outcomes(column, class))
}

impl Members {
    fn outcomes(mut self, column: &Column, class: Class) -> Leaf {
        self.values.sort_by(|left, right| {
            compare_values(left, right).unwrap_or(std::cmp::Ordering::Equal)
        });
        self.values
            .dedup_by(|left, right| compare_values(left, right).is_some_and(|order| order.is_eq()));
        let (is_one, is_none) = match self.values.as_slice() {
            [] => (Predicate::False, column.is_not_null()),
            [value] => (
                test(
                    &column.term,
                    Check::Compare(Comparison::Equal, value.clone()),
                ),
                test(
                    &column.term,
                    Check::Compare(Comparison::NotEqual, value.clone()),
                ),
            ),
            _ => {
                let values: Arc<[PrimitiveValue]> = self.values.into();
                (
                    test(&column.term, Check::In(Arc::clone(&values))),
                    test(&column.term, Check::NotIn(values)),
                )
            }
        };
        let no_member = Predicate::and([is_none].into_iter().chain(self.unequal));
        // Beside a null, what is not found is not known.
        let (no, unknown) = if self.has_null {
            (
                Predicate::False,
                Predicate::or([column.is_null(), no_member]),
            )
        } else {
            (no_member, column.is_null())
        };
        Leaf {
            yes: Predicate::or([is_one].into_iter().chain(self.equal)),
            no,
            unknown,
            class,
        }
    }
}

/// One of some conditions holds.
fn any_of(leaves: Vec<Leaf>) -> Leaf {
    let each = |wanted: Outcomes| -> Vec<Translated> {
        leaves
            .iter()
            .map(|leaf| leaf.clone().with(wanted))
            .collect()
    };
    let yes = Translated::any(each(Outcomes::YES));
    let no = Translated::all(each(Outcomes::NO));
    let unknown = Translated::all(vec![
        Translated::all(each(Outcomes::YES.others())),
        Translated::any(each(Outcomes::UNKNOWN)),
    ]);
    Leaf {
        class: yes.class.min(no.class).min(unknown.class),
        yes: yes.predicate,
        no: no.predicate,
        unknown: unknown.predicate,
    }
}

/// The elements of an array, of any number of dimensions.
///
/// # Safety
/// The value is an array.
unsafe fn elements(array: Datum) -> Vec<Known> {
    // SAFETY: by the contract; the elements point into the array, or a copy of it in the current memory context.
    unsafe {
        let array: *mut pg_sys::ArrayType = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast();
        let element_type = (*array).elemtype;
        let (mut length, mut by_value, mut alignment) = (0, false, 0);
        pg_sys::get_typlenbyvalalign(element_type, &mut length, &mut by_value, &mut alignment);
        let (mut values, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        pg_sys::deconstruct_array(
            array,
            element_type,
            length.into(),
            by_value,
            alignment,
            &mut values,
            &mut nulls,
            &mut count,
        );
        (0..usize::try_from(count).unwrap_or(0))
            .map(|index| match *nulls.add(index) {
                true => Known::Null,
                false => Known::Value(*values.add(index)),
            })
            .collect()
    }
}
