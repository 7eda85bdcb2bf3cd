//! Scans for each row of another relation: which join clauses prune, and about how much of a table one value leaves.
//! Postgres: "Parameterized Paths" in the optimizer's README.

use iceberg_core::read::OutputColumn;
use iceberg_core::spec::{
    Check, Comparison, Predicate, PrimitiveValue, RowFilter, ScanFilter, Term, Test, Type,
};
use pgrx::pg_guard;
use pgrx::pg_sys::{
    self, EquivalenceClass, EquivalenceMember, List, Node, ParamPathInfo, PlannerInfo, RelOptInfo,
    RestrictInfo,
};

use super::plan::{PlanState, is_pushable};
use super::relation::ForeignRelation;
use crate::list::pointers;
use crate::session::settings;

/// What a scan that is parameterised by other relations reads for each of their rows.
pub struct Parameterised {
    /// The relations and the clauses.
    pub info: *mut ParamPathInfo,
    /// About what share of the bytes of the files is read.
    pub share: f64,
}

/// The ways in which a scan can be parameterised by join clauses that tell what need not be read.
///
/// # Safety
/// `root` and `relation` are the planner's; `state` is the relation's.
pub unsafe fn parameterised(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    state: &PlanState,
) -> Vec<Parameterised> {
    // SAFETY: by the contract.
    unsafe {
        let mut infos = Vec::new();
        for clause in pointers::<RestrictInfo>((*relation).joininfo) {
            add_info(root, relation, clause, &mut infos);
        }
        if (*relation).has_eclass_joins {
            let mut members = Members::default();
            loop {
                members.current = std::ptr::null_mut();
                let clauses = pg_sys::generate_implied_equalities_for_column(
                    root,
                    relation,
                    Some(is_next_member),
                    (&raw mut members).cast(),
                    (*relation).lateral_referencers,
                );
                if members.current.is_null() {
                    break;
                }
                for clause in pointers::<RestrictInfo>(clauses) {
                    add_info(root, relation, clause, &mut infos);
                }
                members.used.push(members.current);
            }
        }
        infos
            .into_iter()
            .map(|info| Parameterised {
                info,
                share: share(relation, state, (*info).ppi_clauses),
            })
            .collect()
    }
}

/// Adds the relations that a scan must be parameterised by so that a clause can prune, if it can.
///
/// # Safety
/// As [`parameterised`]; `clause` is of the relation's.
unsafe fn add_info(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    clause: *mut RestrictInfo,
    infos: &mut Vec<*mut ParamPathInfo>,
) {
    // SAFETY: by the contract; the union is a set of its own.
    unsafe {
        if !pg_sys::join_clause_is_movable_to(clause, relation)
            || !is_pushable(root, relation, (*clause).clause)
        {
            return;
        }
        let outer = pg_sys::bms_union((*clause).clause_relids, (*relation).lateral_relids);
        let relid = i32::try_from((*relation).relid).unwrap_or(0);
        let outer = pg_sys::bms_del_member(outer, relid);
        if pg_sys::bms_num_members(outer) == 0 {
            return;
        }
        let info = pg_sys::get_baserel_parampathinfo(root, relation, outer);
        if !info.is_null() && !infos.contains(&info) {
            infos.push(info);
        }
    }
}

/// Expressions of a relation in equivalence classes, one after the other.
#[derive(Default)]
struct Members {
    current: *mut pg_sys::Expr,
    used: Vec<*mut pg_sys::Expr>,
}

/// # Safety
/// Called by the planner with the [`Members`] that it was given.
#[pg_guard]
unsafe extern "C-unwind" fn is_next_member(
    _root: *mut PlannerInfo,
    _relation: *mut RelOptInfo,
    _class: *mut EquivalenceClass,
    member: *mut EquivalenceMember,
    members: *mut std::ffi::c_void,
) -> bool {
    // SAFETY: by the contract.
    unsafe {
        let members = &mut *members.cast::<Members>();
        let expression = (*member).em_expr;
        let is = |other: *mut pg_sys::Expr| pg_sys::equal(expression.cast(), other.cast());
        if !members.current.is_null() {
            return is(members.current);
        }
        if members.used.iter().any(|used| is(*used)) {
            return false;
        }
        members.current = expression;
        true
    }
}

/// Adds to a filter what is true of every row, but makes a plan of files tell the bounds of the columns that joins are
/// about.
///
/// # Safety
/// `root` and `relation` are the planner's, `table` is of the relation.
pub unsafe fn with_join_columns(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    table: &ForeignRelation,
    filter: RowFilter,
) -> RowFilter {
    let mut terms: Vec<Term> = Vec::new();
    // SAFETY: by the contract; lists hold what the planner says.
    unsafe {
        let mut add = |expression: *mut Node| {
            for term in terms_of(relation, table, expression) {
                if !terms.contains(&term) {
                    terms.push(term);
                }
            }
        };
        for clause in pointers::<RestrictInfo>((*relation).joininfo) {
            add((*clause).clause.cast());
        }
        let classes = pointers::<EquivalenceClass>((*root).eq_classes).filter(|class| {
            (**class).ec_merged.is_null() && pointers::<Node>((**class).ec_members).count() > 1
        });
        for class in classes {
            for member in pointers::<EquivalenceMember>((*class).ec_members) {
                if pg_sys::bms_equal((*member).em_relids, (*relation).relids) {
                    add((*member).em_expr.cast());
                }
            }
        }
    }
    let tests = terms.into_iter().map(|term| {
        let test = |check| {
            Predicate::Test(Test {
                term: term.clone(),
                check,
            })
        };
        Predicate::or([test(Check::IsNull), test(Check::NotNull)])
    });
    RowFilter {
        inexact: Predicate::and(std::iter::once(filter.inexact).chain(tests)),
        ..filter
    }
}

/// The fields of the relation that an expression names.
///
/// # Safety
/// `relation` is the planner's, and the expression valid.
unsafe fn terms_of(
    relation: *mut RelOptInfo,
    table: &ForeignRelation,
    expression: *mut Node,
) -> Vec<Term> {
    let mut used: *mut pg_sys::Bitmapset = std::ptr::null_mut();
    // SAFETY: by the contract.
    unsafe { pg_sys::pull_varattnos(expression, (*relation).relid, &mut used) };
    let columns = table.columns().iter().filter(|column| {
        let number =
            i32::from(column.attribute_number) - pg_sys::FirstLowInvalidHeapAttributeNumber;
        // SAFETY: a set that was just made.
        unsafe { pg_sys::bms_is_member(number, used) }
    });
    columns
        .filter_map(|column| match column.source {
            OutputColumn::Field(id) => match &table.schema().field_by_id(id)?.field_type {
                Type::Primitive(primitive) => Some(Term::field(id, primitive.clone())),
                _ => None,
            },
            OutputColumn::Metadata(_) => None,
        })
        .collect()
}

/// About what share of the bytes of the files is left by clauses that have a value: tried out with values from the
/// middle.
///
/// # Safety
/// `relation` is the planner's, and the clauses are of it.
unsafe fn share(relation: *mut RelOptInfo, state: &PlanState, clauses: *mut List) -> f64 {
    let files = &state.files;
    if files.tasks.len() < 2 || files.total_bytes == 0 {
        return 1.0;
    }
    let mut tests = Vec::new();
    // SAFETY: by the contract.
    unsafe {
        for clause in pointers::<RestrictInfo>(clauses) {
            for term in terms_of(relation, &state.relation, (*clause).clause.cast()) {
                let bounds = files.column_bounds.column(term.field_id);
                let middle = bounds
                    .and_then(|bounds| bounds.lower().zip(bounds.upper()))
                    .and_then(|(lower, upper)| middle(lower, upper));
                if let Some(middle) = middle {
                    let check = Check::Compare(Comparison::Equal, middle);
                    tests.push(Predicate::Test(Test { term, check }));
                }
            }
        }
    }
    if tests.is_empty() {
        return 1.0;
    }
    let left = state.relation.plan_files(&ScanFilter {
        rows: RowFilter {
            exact: Predicate::True,
            inexact: Predicate::and(std::iter::once(state.filter.inexact.clone()).chain(tests)),
        },
        levels: settings::pruning_levels(),
    });
    // Where the middle is in no file, others are.
    let least = 1.0 / files.tasks.len() as f64;
    (left.total_bytes as f64 / files.total_bytes as f64).clamp(least, 1.0)
}

/// A value about half way between two of one type; `None` where there is no such thing.
fn middle(lower: &PrimitiveValue, upper: &PrimitiveValue) -> Option<PrimitiveValue> {
    use PrimitiveValue as V;
    let half = |lower: i64, upper: i64| i64::midpoint(lower, upper);
    Some(match (lower, upper) {
        (V::Int(lower), V::Int(upper)) => V::Int(i32::midpoint(*lower, *upper)),
        (V::Date(lower), V::Date(upper)) => V::Date(i32::midpoint(*lower, *upper)),
        (V::Long(lower), V::Long(upper)) => V::Long(half(*lower, *upper)),
        (V::Time(lower), V::Time(upper)) => V::Time(half(*lower, *upper)),
        (V::Timestamp(lower), V::Timestamp(upper)) => V::Timestamp(half(*lower, *upper)),
        (V::Timestamptz(lower), V::Timestamptz(upper)) => V::Timestamptz(half(*lower, *upper)),
        (V::TimestampNs(lower), V::TimestampNs(upper)) => V::TimestampNs(half(*lower, *upper)),
        (V::TimestamptzNs(lower), V::TimestamptzNs(upper)) => {
            V::TimestamptzNs(half(*lower, *upper))
        }
        (V::Decimal(lower), V::Decimal(upper)) => V::Decimal(lower / 2 + upper / 2),
        (V::Float(lower), V::Float(upper)) => V::Float(lower / 2.0 + upper / 2.0),
        (V::Double(lower), V::Double(upper)) => V::Double(lower / 2.0 + upper / 2.0),
        (V::Uuid(lower), V::Uuid(upper)) => {
            let (lower, upper) = (lower.as_u128(), upper.as_u128());
            V::Uuid(uuid::Uuid::from_u128(lower / 2 + upper / 2))
        }
        (V::String(lower), V::String(upper)) => {
            let middle = middle_bytes(lower.as_bytes(), upper.as_bytes());
            // Text of ASCII characters is always text.
            let text = middle.map(|byte| char::from(byte & 0x7f));
            V::String(text.iter().collect())
        }
        (V::Binary(lower), V::Binary(upper)) => V::Binary(middle_bytes(lower, upper).to_vec()),
        _ => return None,
    })
}

/// Bytes about half way between two, as far as the first eight tell.
fn middle_bytes(lower: &[u8], upper: &[u8]) -> [u8; 8] {
    let number = |bytes: &[u8]| {
        let mut first = [0; 8];
        for (to, from) in first.iter_mut().zip(bytes) {
            *to = *from;
        }
        u64::from_be_bytes(first)
    };
    u64::midpoint(number(lower), number(upper)).to_be_bytes()
}
