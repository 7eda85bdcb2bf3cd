//! Operators by what they mean: only Postgres' own, and only those of the order of the types that can be pushed.
//! Postgres' documentation: "Interfacing Extensions to Indexes".

use iceberg_core::spec::Comparison;
use pgrx::pg_sys::{self, Oid};

/// What an operator asks of its sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// How they compare.
    Compare(Comparison),
    /// Whether the left one matches the right one, a pattern of LIKE; or whether it does not.
    Like {
        /// Whether it asks the opposite.
        negated: bool,
    },
    /// Whether the left one begins with the right one.
    StartsWith,
}

/// An operator that is understood.
#[derive(Debug, Clone, Copy)]
pub struct Operator {
    /// What it asks.
    pub meaning: Meaning,
    /// The type of its left side.
    pub left: Oid,
    /// The type of its right side.
    pub right: Oid,
    /// Whether it compares bytes of text under whichever collation.
    pub bytewise: bool,
}

/// The family `text_pattern_ops` (`pg_opfamily.dat`).
const TEXT_PATTERN_OPS: u32 = 2095;

/// The families of operators that order what can be pushed (`pg_opfamily.dat`).
const FAMILIES: [u32; 11] = [
    1976, // integer_ops
    1994, // text_ops
    434,  // datetime_ops
    1988, // numeric_ops
    1970, // float_ops
    1996, // time_ops
    2968, // uuid_ops
    424,  // bool_ops
    426,  // bpchar_ops
    428,  // bytea_ops
    TEXT_PATTERN_OPS,
];

/// `text ~~ text` and `text !~~ text`, `bytea ~~ bytea` and `bytea !~~ bytea`, `text ^@ text` (`pg_operator.dat`).
const TEXT_LIKE: u32 = 1209;
const TEXT_NOT_LIKE: u32 = 1210;
const BYTEA_LIKE: u32 = 2016;
const BYTEA_NOT_LIKE: u32 = 2017;
const TEXT_STARTS_WITH: u32 = 3877;

impl Operator {
    /// By its id; `None` for all others.
    pub fn of(operator: Oid) -> Option<Self> {
        // Families can be given operators of anybody; those that the server has from the start have fixed ids.
        if operator.to_u32() >= pg_sys::FirstGenbkiObjectId {
            return None;
        }
        let (mut left, mut right) = (Oid::INVALID, Oid::INVALID);
        let (meaning, family) = match operator.to_u32() {
            TEXT_LIKE | BYTEA_LIKE => (Meaning::Like { negated: false }, None),
            TEXT_NOT_LIKE | BYTEA_NOT_LIKE => (Meaning::Like { negated: true }, None),
            TEXT_STARTS_WITH => (Meaning::StartsWith, None),
            _ => {
                let (comparison, family) = ordered(operator).or_else(|| {
                    // SAFETY: a look-up of an operator; an unknown one gives 0.
                    let negator = unsafe { pg_sys::get_negator(operator) };
                    let (comparison, family) = ordered(negator)?;
                    Some((comparison.negated(), family))
                })?;
                (Meaning::Compare(comparison), Some(family))
            }
        };
        // SAFETY: a look-up of an operator that is there.
        unsafe { pg_sys::op_input_types(operator, &mut left, &mut right) };
        Some(Self {
            meaning,
            left,
            right,
            bytewise: family == Some(TEXT_PATTERN_OPS),
        })
    }
}

/// How an operator of one of the families compares.
fn ordered(operator: Oid) -> Option<(Comparison, u32)> {
    if operator == Oid::INVALID {
        return None;
    }
    FAMILIES.iter().find_map(|family| {
        // SAFETY: a look-up; 0 if the family does not have the operator.
        let strategy = unsafe { pg_sys::get_op_opfamily_strategy(operator, Oid::from(*family)) };
        let comparison = match u32::try_from(strategy).ok()? {
            pg_sys::BTLessStrategyNumber => Comparison::Less,
            pg_sys::BTLessEqualStrategyNumber => Comparison::LessOrEqual,
            pg_sys::BTEqualStrategyNumber => Comparison::Equal,
            pg_sys::BTGreaterEqualStrategyNumber => Comparison::GreaterOrEqual,
            pg_sys::BTGreaterStrategyNumber => Comparison::Greater,
            _ => return None,
        };
        Some((comparison, *family))
    })
}
