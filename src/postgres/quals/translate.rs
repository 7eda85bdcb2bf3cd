//! From a condition of a query to predicates on the table's rows, in negation normal form: there is a predicate for
//! each outcome that is asked for, and none for NOT. Postgres' documentation: "Logical Operators".

use iceberg_core::spec::Predicate;
use pgrx::is_a;
use pgrx::pg_sys::{self, Node, NodeTag};

use super::column::Subject;
use super::constants::{Constants, Known};
use super::outcome::{Class, Leaf, Outcomes, Translated};
use crate::fdw::relation::ForeignRelation;
use crate::list::pointers;

/// How many conditions of one qual are looked at. A predicate for null can be much longer than its condition.
const MOST_CONDITIONS: usize = 10_000;

/// Translates conditions on one table.
pub struct Translator<'a> {
    /// The table.
    pub relation: &'a ForeignRelation,
    /// Its place in the range table.
    pub varno: i32,
    /// The planner's, while it plans.
    pub root: *mut pg_sys::PlannerInfo,
    /// What is known of values that do not depend on rows.
    pub constants: &'a mut dyn Constants,
    /// How many more conditions are looked at.
    conditions: usize,
}

impl<'a> Translator<'a> {
    /// For the table at a place in the range table; `root` is null when a scan is executed.
    pub fn new(
        relation: &'a ForeignRelation,
        varno: i32,
        root: *mut pg_sys::PlannerInfo,
        constants: &'a mut dyn Constants,
    ) -> Self {
        Self {
            relation,
            varno,
            root,
            constants,
            conditions: MOST_CONDITIONS,
        }
    }

    /// When a qual is true.
    ///
    /// # Safety
    /// `qual` is a valid boolean expression.
    pub unsafe fn qual(&mut self, qual: *mut Node) -> Translated {
        self.conditions = MOST_CONDITIONS;
        // SAFETY: by the contract.
        let translated = unsafe { self.translate(qual, Outcomes::YES) };
        if self.conditions == 0 {
            return Translated::LOCAL;
        }
        translated
    }

    /// Whether a scan is being executed: then every value is known.
    fn executes(&self) -> bool {
        self.root.is_null()
    }

    /// When a condition has one of some outcomes.
    ///
    /// # Safety
    /// `node` is a valid boolean expression.
    unsafe fn translate(&mut self, node: *mut Node, wanted: Outcomes) -> Translated {
        if self.conditions == 0 {
            return Translated::LOCAL;
        }
        self.conditions -= 1;
        // SAFETY: by the contract; tags of nodes are looked at first.
        unsafe {
            pg_sys::check_stack_depth();
            match (*node).type_ {
                NodeTag::T_BoolExpr => self.combination(node.cast(), wanted),
                NodeTag::T_BooleanTest => self.boolean_test(node.cast(), wanted),
                NodeTag::T_NullTest => self.null_test(node.cast(), wanted),
                NodeTag::T_RowCompareExpr => self.rows(node.cast(), wanted),
                _ => {
                    let leaf = self.leaf(node);
                    leaf.map_or(Translated::LOCAL, |leaf| leaf.with(wanted))
                }
            }
        }
    }

    /// # Safety
    /// `node` is valid.
    unsafe fn combination(&mut self, node: *mut pg_sys::BoolExpr, wanted: Outcomes) -> Translated {
        use pg_sys::BoolExprType::{AND_EXPR, NOT_EXPR};
        // SAFETY: by the contract.
        unsafe {
            let arguments: Vec<*mut Node> = pointers::<Node>((*node).args).collect();
            match (*node).boolop {
                NOT_EXPR => match arguments.first() {
                    Some(argument) => self.translate(*argument, wanted.negated()),
                    None => Translated::LOCAL,
                },
                AND_EXPR => self.conjunction(&arguments, wanted, false),
                // By De Morgan: it is false where all negations are true.
                _ => self.conjunction(&arguments, wanted.negated(), true),
            }
        }
    }

    /// When all of some conditions, or of their negations, have one of some outcomes as a whole.
    ///
    /// # Safety
    /// The conditions are valid.
    unsafe fn conjunction(
        &mut self,
        conditions: &[*mut Node],
        wanted: Outcomes,
        negate: bool,
    ) -> Translated {
        // SAFETY: by the contract.
        let mut each = |outcomes: Outcomes, all: bool| unsafe {
            let outcomes = if negate { outcomes.negated() } else { outcomes };
            let mut parts = Vec::with_capacity(conditions.len());
            for condition in conditions {
                let part = self.translate(*condition, outcomes);
                let decides = if all {
                    Predicate::False
                } else {
                    Predicate::True
                };
                // What comes after is not evaluated, as Postgres does not.
                let is_decided = self.executes() && part.predicate == decides;
                parts.push(part);
                if is_decided {
                    break;
                }
            }
            if all {
                Translated::all(parts)
            } else {
                Translated::any(parts)
            }
        };
        match (wanted.yes, wanted.no, wanted.unknown) {
            (false, false, false) => Translated::exact(Predicate::False),
            (true, true, true) => Translated::exact(Predicate::True),
            // True, or not false: all are.
            (true, false, _) => each(wanted, true),
            // False, or not true: one is.
            (false, true, _) => each(wanted, false),
            // Null: none is false, and one is null.
            (false, false, true) => {
                let parts = vec![each(Outcomes::NO.others(), true), each(wanted, false)];
                Translated::all(parts)
            }
            // Not null: all are true, or one is false.
            (true, true, false) => {
                let parts = vec![each(Outcomes::YES, true), each(Outcomes::NO, false)];
                Translated::any(parts)
            }
        }
    }

    /// # Safety
    /// `node` is valid.
    unsafe fn boolean_test(
        &mut self,
        node: *mut pg_sys::BooleanTest,
        wanted: Outcomes,
    ) -> Translated {
        use pg_sys::BoolTestType as T;
        // SAFETY: by the contract.
        unsafe {
            let asked = match (*node).booltesttype {
                T::IS_TRUE => Outcomes::YES,
                T::IS_NOT_TRUE => Outcomes::YES.others(),
                T::IS_FALSE => Outcomes::NO,
                T::IS_NOT_FALSE => Outcomes::NO.others(),
                T::IS_UNKNOWN => Outcomes::UNKNOWN,
                T::IS_NOT_UNKNOWN => Outcomes::UNKNOWN.others(),
                _ => return Translated::LOCAL,
            };
            self.two_valued((*node).arg.cast(), asked, wanted)
        }
    }

    /// When a test of an argument, which is true for some outcomes of it and false for all others, has one of some
    /// outcomes.
    ///
    /// # Safety
    /// `argument` is a valid boolean expression.
    unsafe fn two_valued(
        &mut self,
        argument: *mut Node,
        asked: Outcomes,
        wanted: Outcomes,
    ) -> Translated {
        // SAFETY: by the contract.
        unsafe {
            match (wanted.yes, wanted.no) {
                (true, true) => Translated::exact(Predicate::True),
                (true, false) => self.translate(argument, asked),
                (false, true) => self.translate(argument, asked.others()),
                (false, false) => Translated::exact(Predicate::False),
            }
        }
    }

    /// # Safety
    /// `node` is valid.
    unsafe fn null_test(&mut self, node: *mut pg_sys::NullTest, wanted: Outcomes) -> Translated {
        // SAFETY: by the contract.
        unsafe {
            // Of a row it asks for the fields.
            if (*node).argisrow {
                return Translated::LOCAL;
            }
            let argument: *mut Node = (*node).arg.cast();
            let asks_null = (*node).nulltesttype == pg_sys::NullTestType::IS_NULL;
            let subject = self.subject(argument);
            let leaf = match subject {
                Some(Subject::Missing) => self.missing(Leaf::constant(Some(true))),
                Some(Subject::Column(column)) => Leaf {
                    yes: column.is_null(),
                    no: column.is_not_null(),
                    unknown: Predicate::False,
                    class: if column.raises {
                        Class::Inexact
                    } else {
                        Class::Exact
                    },
                }
                .keeping(&column.raising_rows()),
                None if self.is_constant(argument) => match self.constants.value(argument) {
                    Known::Null => Leaf::constant(Some(true)),
                    Known::Value(_) => Leaf::constant(Some(false)),
                    Known::Later => Leaf::later(Class::Exact),
                },
                None if pg_sys::exprType(argument) == pg_sys::BOOLOID => {
                    let asked = if asks_null {
                        Outcomes::UNKNOWN
                    } else {
                        Outcomes::UNKNOWN.others()
                    };
                    return self.two_valued(argument, asked, wanted);
                }
                None => return Translated::LOCAL,
            };
            leaf.negated_if(!asks_null).with(wanted)
        }
    }

    /// What is known of a column without values. By the time that a scan is executed it may have got some.
    pub fn missing(&self, leaf: Leaf) -> Leaf {
        if self.executes() {
            leaf
        } else {
            leaf.at_most(Class::Inexact)
        }
    }

    /// Whether an expression has one value for a whole scan, which is known when that begins.
    ///
    /// # Safety
    /// `node` is a valid expression.
    pub unsafe fn is_constant(&self, node: *mut Node) -> bool {
        // SAFETY: by the contract.
        unsafe {
            if is_a(node, NodeTag::T_Const) || is_a(node, NodeTag::T_Param) {
                return true;
            }
            let used = pg_sys::pull_varnos(self.root, node);
            !pg_sys::bms_is_member(self.varno, used)
                && !pg_sys::contain_subplans(node)
                && !pg_sys::contain_volatile_functions(node)
        }
    }
}
