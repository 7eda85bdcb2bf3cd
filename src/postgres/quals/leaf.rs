//! Conditions that are no combination of others: operators between a column and a constant, lists of constants,
//! boolean columns, and what does not depend on rows at all.

use iceberg_core::spec::Comparison;
use pgrx::pg_sys::{self, Node, NodeTag, Oid};

use super::column::Subject;
use super::constants::Known;
use super::locate::Comparand;
use super::operator::{Meaning, Operator};
use super::outcome::{Class, Leaf, Outcomes, Translated};
use super::translate::Translator;
use crate::list::pointers;

/// What an operator is between.
pub struct Sides {
    /// Made of the table's rows.
    pub subject: Subject,
    /// Of one value for the whole scan.
    pub constant: *mut Node,
    /// What is asked, with the subject on the left.
    pub meaning: Meaning,
    /// How the constant is compared.
    pub with: Comparand,
}

impl Translator<'_> {
    /// The outcomes of a condition; `None` if it is not understood.
    ///
    /// # Safety
    /// `node` is a valid boolean expression.
    pub unsafe fn leaf(&mut self, node: *mut Node) -> Option<Leaf> {
        // SAFETY: by the contract; tags of nodes are looked at first.
        unsafe {
            if self.is_constant(node) {
                return Some(match self.constants.value(node) {
                    Known::Null => Leaf::constant(None),
                    Known::Value(value) => Leaf::constant(Some(value.value() != 0)),
                    Known::Later => Leaf::later(Class::Exact),
                });
            }
            match (*node).type_ {
                NodeTag::T_OpExpr => self.operator(node.cast()),
                NodeTag::T_DistinctExpr => self.distinct(node.cast()),
                NodeTag::T_ScalarArrayOpExpr => self.array(node.cast()),
                NodeTag::T_FuncExpr => self.function(node.cast()),
                _ => self.boolean(node),
            }
        }
    }

    /// Subject and constant of an operator, whichever side they are on.
    ///
    /// # Safety
    /// The sides are valid expressions.
    pub unsafe fn sides(
        &mut self,
        operator: Oid,
        collation: Oid,
        left: *mut Node,
        right: *mut Node,
    ) -> Option<Sides> {
        let known = Operator::of(operator)?;
        // SAFETY: by the contract.
        unsafe {
            let (subject, constant, meaning, subject_type, constant_type) =
                if self.is_constant(right) {
                    (left, right, known.meaning, known.left, known.right)
                } else if self.is_constant(left) {
                    let Meaning::Compare(comparison) = known.meaning else {
                        return None;
                    };
                    let meaning = Meaning::Compare(comparison.commuted());
                    (right, left, meaning, known.right, known.left)
                } else {
                    return None;
                };
            let subject = self.subject(subject)?;
            if let Subject::Column(column) = &subject
                && column.postgres_type != subject_type
            {
                return None;
            }
            Some(Sides {
                subject,
                constant,
                meaning,
                with: Comparand {
                    type_oid: constant_type,
                    collation,
                    bytewise: known.bytewise,
                },
            })
        }
    }

    /// How an operator between a subject and a value comes out.
    ///
    /// # Safety
    /// A known value is of the type that the operator takes.
    pub unsafe fn compare(&self, sides: &Sides, value: Known) -> Option<Leaf> {
        let Subject::Column(column) = &sides.subject else {
            return Some(self.missing(Leaf::constant(None)));
        };
        // SAFETY: by the contract.
        let leaf = unsafe {
            match sides.meaning {
                Meaning::Compare(comparison) => column.compare(comparison, sides.with, value),
                Meaning::Like { negated } => column
                    .like(sides.with.collation, value)
                    .map(|leaf| leaf.negated_if(negated)),
                Meaning::StartsWith => column.starts_with(sides.with.collation, value),
            }
        };
        Some(leaf?.keeping(&column.raising_rows()))
    }

    /// # Safety
    /// `node` is valid.
    unsafe fn operator(&mut self, node: *mut pg_sys::OpExpr) -> Option<Leaf> {
        // SAFETY: by the contract.
        unsafe {
            let mut arguments = pointers::<Node>((*node).args);
            let (left, right) = (arguments.next()?, arguments.next()?);
            let sides = self.sides((*node).opno, (*node).inputcollid, left, right)?;
            let value = self.constants.value(sides.constant);
            self.compare(&sides, value)
        }
    }

    /// `IS DISTINCT FROM`, which is never null: null is distinct from everything else.
    ///
    /// # Safety
    /// `node` is valid; its operator is the type's `=`.
    unsafe fn distinct(&mut self, node: *mut pg_sys::OpExpr) -> Option<Leaf> {
        // SAFETY: by the contract.
        unsafe {
            let mut arguments = pointers::<Node>((*node).args);
            let (left, right) = (arguments.next()?, arguments.next()?);
            let sides = self.sides((*node).opno, (*node).inputcollid, left, right)?;
            if sides.meaning != Meaning::Compare(Comparison::Equal) {
                return None;
            }
            let value = self.constants.value(sides.constant);
            let equal = self.compare(&sides, value)?;
            let Subject::Column(column) = &sides.subject else {
                return Some(match value {
                    Known::Null => self.missing(Leaf::constant(Some(false))),
                    Known::Value(_) => self.missing(Leaf::constant(Some(true))),
                    Known::Later => Leaf::later(Class::Inexact),
                });
            };
            Some(match value {
                Known::Later => equal,
                Known::Null => Leaf {
                    yes: column.is_not_null(),
                    no: column.is_null(),
                    unknown: iceberg_core::spec::Predicate::False,
                    class: equal.class,
                }
                .keeping(&column.raising_rows()),
                Known::Value(_) => {
                    let class = equal.class;
                    Leaf {
                        no: equal.yes.clone(),
                        yes: equal.with(Outcomes::YES.others()).predicate,
                        unknown: iceberg_core::spec::Predicate::False,
                        class,
                    }
                    .keeping(&column.raising_rows())
                }
            })
        }
    }

    /// A function that gives a truth value.
    ///
    /// # Safety
    /// `node` is valid.
    unsafe fn function(&mut self, node: *mut pg_sys::FuncExpr) -> Option<Leaf> {
        // SAFETY: by the contract.
        unsafe {
            if (*node).funcid.to_u32() != pg_sys::F_STARTS_WITH {
                return None;
            }
            let mut arguments = pointers::<Node>((*node).args);
            let (text, prefix) = (arguments.next()?, arguments.next()?);
            if !self.is_constant(prefix) {
                return None;
            }
            let subject = self.subject(text)?;
            let value = self.constants.value(prefix);
            match subject {
                Subject::Missing => Some(self.missing(Leaf::constant(None))),
                Subject::Column(column) => column.starts_with((*node).inputcollid, value),
            }
        }
    }

    /// A boolean column, or field, that is a condition by itself.
    ///
    /// # Safety
    /// `node` is a valid boolean expression.
    unsafe fn boolean(&mut self, node: *mut Node) -> Option<Leaf> {
        // SAFETY: by the contract; `true` is a value of the type.
        unsafe {
            let subject = self.subject(node)?;
            let sides = Sides {
                subject,
                constant: std::ptr::null_mut(),
                meaning: Meaning::Compare(Comparison::Equal),
                with: Comparand {
                    type_oid: pg_sys::BOOLOID,
                    collation: Oid::INVALID,
                    bytewise: false,
                },
            };
            self.compare(&sides, Known::Value(pg_sys::Datum::from(true)))
        }
    }

    /// A comparison of rows by `<`, `<=`, `>=` or `>`: the first pair that is not equal decides.
    ///
    /// # Safety
    /// `node` is valid.
    pub unsafe fn rows(
        &mut self,
        node: *mut pg_sys::RowCompareExpr,
        wanted: Outcomes,
    ) -> Translated {
        // SAFETY: by the contract; all lists have an element for each pair.
        unsafe {
            let lefts: Vec<*mut Node> = pointers::<Node>((*node).largs).collect();
            let rights: Vec<*mut Node> = pointers::<Node>((*node).rargs).collect();
            let operators = crate::list::oids((*node).opnos);
            let collations = crate::list::oids((*node).inputcollids);
            let mut pairs = Vec::with_capacity(lefts.len());
            for (((left, right), operator), collation) in
                lefts.into_iter().zip(rights).zip(operators).zip(collations)
            {
                let pair = self.pair(operator, collation, left, right);
                // All that comes after a pair that is not understood says nothing.
                let is_known = pair.is_some();
                pairs.push(pair);
                if !is_known {
                    break;
                }
            }
            let mut rest: Option<[Translated; 3]> = None;
            for pair in pairs.into_iter().rev() {
                rest = Some(match (pair, rest) {
                    (None, _) => [const { Translated::LOCAL }; 3],
                    (Some(pair), None) => pair.alone(),
                    (Some(pair), Some(rest)) => pair.before(rest),
                });
            }
            let Some([yes, no, unknown]) = rest else {
                return Translated::LOCAL;
            };
            let outcomes = [
                (wanted.yes, yes),
                (wanted.no, no),
                (wanted.unknown, unknown),
            ];
            Translated::any(
                outcomes
                    .into_iter()
                    .filter_map(|(is_wanted, part)| is_wanted.then_some(part))
                    .collect(),
            )
        }
    }

    /// # Safety
    /// The sides are valid expressions.
    unsafe fn pair(
        &mut self,
        operator: Oid,
        collation: Oid,
        left: *mut Node,
        right: *mut Node,
    ) -> Option<Pair> {
        // SAFETY: by the contract.
        unsafe {
            let mut sides = self.sides(operator, collation, left, right)?;
            let Meaning::Compare(comparison) = sides.meaning else {
                return None;
            };
            let value = self.constants.value(sides.constant);
            let as_written = self.compare(&sides, value)?;
            let mut ask = |comparison| {
                sides.meaning = Meaning::Compare(comparison);
                self.compare(&sides, value)
            };
            let strictly = match comparison {
                Comparison::LessOrEqual => Comparison::Less,
                Comparison::GreaterOrEqual => Comparison::Greater,
                other => other,
            };
            Some(Pair {
                as_written,
                strictly: ask(strictly)?,
                equal: ask(Comparison::Equal)?,
            })
        }
    }
}

/// A pair of a comparison of rows.
struct Pair {
    /// How it comes out under its own operator.
    as_written: Leaf,
    /// The same without equality.
    strictly: Leaf,
    /// Whether it is equal.
    equal: Leaf,
}

impl Pair {
    /// The outcomes if it is the last pair.
    fn alone(self) -> [Translated; 3] {
        [Outcomes::YES, Outcomes::NO, Outcomes::UNKNOWN]
            .map(|wanted| self.as_written.clone().with(wanted))
    }

    /// The outcomes if others follow, which decide where it is equal.
    fn before(self, rest: [Translated; 3]) -> [Translated; 3] {
        let equal = self.equal.clone().with(Outcomes::YES);
        // Neither equal nor as the operator wants it; as written it may be true of what is equal.
        let against = Translated {
            predicate: iceberg_core::spec::Predicate::and([
                self.strictly.no.clone(),
                self.equal.no.clone(),
            ]),
            class: self.strictly.class.min(self.equal.class),
        };
        let [yes, no, unknown] = rest;
        let or_rest = |decided: Translated, rest: Translated| {
            Translated::any(vec![decided, Translated::all(vec![equal.clone(), rest])])
        };
        [
            or_rest(self.strictly.clone().with(Outcomes::YES), yes),
            or_rest(against, no),
            or_rest(self.strictly.with(Outcomes::UNKNOWN), unknown),
        ]
    }
}
