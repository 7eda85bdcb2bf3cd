//! What the planner is told of columns: statistics that ANALYZE gathered, with the number of distinct values from the
//! table's sketches; or else what manifests say, as if ANALYZE had found it. Postgres' own selectivity functions then do
//! the rest. Postgres: `pg_statistic`; spec: "Table Statistics".

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use iceberg_core::plan::ColumnRange;
use iceberg_core::read::{OutputColumn, row_of_value};
use iceberg_core::spec::{PrimitiveType, PrimitiveValue, Type};
use pgrx::pg_sys::{
    self, AttrNumber, Datum, HeapTuple, PlannerInfo, RangeTblEntry, RelOptInfo, VariableStatData,
};
use pgrx::{PgMemoryContexts, pg_guard};

use super::plan::{PlanState, get_foreign_rel_size};
use super::relation::{ForeignRelation, MatchedColumn};
use crate::types::batch::DatumBatch;
use crate::types::finish::Finish;

/// The kind of statistic that tells how many distinct values a column has.
const SKETCH: &str = "apache-datasketches-theta-v1";
const SKETCH_NDV: &str = "ndv";

/// Tuples that were made while a relation is planned, by the numbers of its columns; `None` where nothing is known.
pub type Made = RefCell<HashMap<AttrNumber, Option<HeapTuple>>>;

/// What manifests and sketches say of a column.
struct Known<'a> {
    nulls: f64,
    /// As `stadistinct` has it: a number, minus a share of the rows, or 0.
    distinct: f32,
    /// Least and greatest value.
    bounds: Option<(&'a PrimitiveValue, &'a PrimitiveValue)>,
}

/// Lets [`relation_stats`] answer when the planner asks for the statistics of a column.
pub fn install() {
    // SAFETY: called once, when the library is loaded; hooks are chained as Postgres asks for.
    unsafe {
        PREVIOUS.set(pg_sys::get_relation_stats_hook);
        pg_sys::get_relation_stats_hook = Some(relation_stats);
    }
}

thread_local! {
    static PREVIOUS: std::cell::Cell<pg_sys::get_relation_stats_hook_type> = const { std::cell::Cell::new(None) };
}

/// `get_relation_stats_hook`: answers for columns of Iceberg tables of which more is known than ANALYZE found.
///
/// # Safety
/// Called by the planner only.
#[pg_guard]
unsafe extern "C-unwind" fn relation_stats(
    root: *mut PlannerInfo,
    entry: *mut RangeTblEntry,
    attribute_number: AttrNumber,
    data: *mut VariableStatData,
) -> bool {
    // SAFETY: the planner hands over valid nodes.
    unsafe {
        if let Some(previous) = PREVIOUS.get()
            && previous(root, entry, attribute_number, data)
        {
            return true;
        }
        let Some(relation) = own_relation(root, entry) else {
            return false;
        };
        let state = &*(*relation).fdw_private.cast::<PlanState>();
        let made = state.statistics.borrow().get(&attribute_number).copied();
        let tuple = made.unwrap_or_else(|| {
            // The current memory may be that of one attempt at a plan.
            let tuple = PgMemoryContexts::For((*root).planner_cxt)
                .switch_to(|_| make(state, (*entry).relid, attribute_number, (*relation).tuples));
            state
                .statistics
                .borrow_mut()
                .insert(attribute_number, tuple);
            tuple
        });
        let Some(tuple) = tuple else {
            return false;
        };
        (*data).statsTuple = tuple;
        (*data).freefunc = Some(keep);
        (*data).acl_ok = (*entry).securityQuals.is_null()
            && pg_sys::pg_class_aclcheck(
                (*entry).relid,
                state.role,
                pg_sys::ACL_SELECT as pg_sys::AclMode,
            ) == pg_sys::AclResult::ACLCHECK_OK;
        true
    }
}

/// Tuples live as long as the relation is planned.
#[pg_guard]
extern "C-unwind" fn keep(_tuple: HeapTuple) {}

/// The relation of a range table entry, if it is an Iceberg table whose metadata has been loaded.
///
/// # Safety
/// The arguments are the planner's.
unsafe fn own_relation(
    root: *mut PlannerInfo,
    entry: *mut RangeTblEntry,
) -> Option<*mut RelOptInfo> {
    // SAFETY: by the contract; both arrays have as many entries as the planner says.
    unsafe {
        if (*entry).rtekind != pg_sys::RTEKind::RTE_RELATION
            || (*entry).relkind != pg_sys::RELKIND_FOREIGN_TABLE as i8
            || (*root).simple_rel_array.is_null()
        {
            return None;
        }
        let index = (1..usize::try_from((*root).simple_rel_array_size).unwrap_or(0))
            .find(|index| *(*root).simple_rte_array.add(*index) == entry)?;
        let relation = (*(*root).simple_rel_array.add(index)).as_ref()?;
        let is_own = relation
            .fdwroutine
            .as_ref()?
            .GetForeignRelSize
            .is_some_and(|size| {
                let own: unsafe extern "C-unwind" fn(_, _, _) = get_foreign_rel_size;
                std::ptr::fn_addr_eq(size, own)
            });
        let relation = *(*root).simple_rel_array.add(index);
        (is_own && !(*relation).fdw_private.is_null()).then_some(relation)
    }
}

/// Whether ANALYZE has found anything about a column.
pub fn is_analysed(relation: pg_sys::Oid, attribute_number: AttrNumber) -> bool {
    // SAFETY: a look-up in a system catalog.
    unsafe {
        let tuple = analysed(relation, attribute_number);
        if tuple.is_null() {
            return false;
        }
        pg_sys::ReleaseSysCache(tuple);
        true
    }
}

/// # Safety
/// The tuple must be released, if there is one.
unsafe fn analysed(relation: pg_sys::Oid, attribute_number: AttrNumber) -> HeapTuple {
    // SAFETY: the keys are of the types that the cache has.
    unsafe {
        pg_sys::SearchSysCache3(
            pg_sys::SysCacheIdentifier::STATRELATTINH as _,
            Datum::from(relation),
            Datum::from(attribute_number),
            Datum::from(false),
        )
    }
}

/// The statistics of a column of which more is known than ANALYZE found.
///
/// # Safety
/// Called while the relation with this state is planned, in the memory that lives as long.
unsafe fn make(
    state: &PlanState,
    relation: pg_sys::Oid,
    attribute_number: AttrNumber,
    rows: f64,
) -> Option<HeapTuple> {
    let column = state.relation.column(attribute_number)?;
    let OutputColumn::Field(field_id) = column.source else {
        return None;
    };
    let sketched = sketched_values(&state.relation, field_id);
    // SAFETY: the tuple is copied before it is released, and the copy is this function's own.
    unsafe {
        let found = analysed(relation, attribute_number);
        if !found.is_null() {
            let copy = sketched.map(|distinct| {
                let copy = pg_sys::heap_copytuple(found);
                let header = (*copy).t_data;
                let form = header.cast::<u8>().add(usize::from((*header).t_hoff));
                (*form.cast::<pg_sys::FormData_pg_statistic>()).stadistinct = distinct as f32;
                copy
            });
            pg_sys::ReleaseSysCache(found);
            return copy;
        }
    }
    let range = state.files.column_bounds.column(field_id);
    let known = Known {
        nulls: range.and_then(ColumnRange::null_fraction).unwrap_or(0.0),
        distinct: match sketched {
            Some(distinct) => distinct as f32,
            None => distinct(state, field_id, range, rows),
        },
        bounds: range.and_then(|range| range.lower().zip(range.upper())),
    };
    (range.is_some() || known.distinct != 0.0)
        // SAFETY: by the contract.
        .then(|| unsafe { form(state, column, relation, &known) })
        .flatten()
}

/// How many distinct values a column has by the newest sketch that is not newer than the snapshot.
fn sketched_values(table: &ForeignRelation, field_id: i32) -> Option<f64> {
    let snapshot = table.snapshot()?;
    let files = table.table().metadata().statistics.iter();
    let sketches = files
        .flat_map(|file| &file.blob_metadata)
        .filter(|blob| blob.blob_type == SKETCH && blob.fields == [field_id])
        .filter(|blob| {
            blob.snapshot_id == snapshot.snapshot_id
                || blob.sequence_number < snapshot.sequence_number
        });
    let newest = sketches.max_by_key(|blob| {
        (
            blob.snapshot_id == snapshot.snapshot_id,
            blob.sequence_number,
        )
    })?;
    let values: u64 = newest.properties.get(SKETCH_NDV)?.trim().parse().ok()?;
    (values > 0).then_some(values as f64)
}

/// About how many distinct values a column has, by its type and bounds, as `stadistinct`; 0 if that is unknown.
fn distinct(state: &PlanState, field_id: i32, range: Option<&ColumnRange>, rows: f64) -> f32 {
    const UNIQUE: f32 = -1.0;
    if state.relation.schema().identifier_field_ids() == [field_id] {
        return UNIQUE;
    }
    let Some(range) = range else { return 0.0 };
    let nulls = range.null_fraction().unwrap_or(0.0);
    let values = match (range.lower(), range.upper()) {
        (Some(lower), Some(upper)) if lower == upper => 1.0,
        (Some(PrimitiveValue::Boolean(_)), _) => 2.0,
        (Some(PrimitiveValue::Int(lower)), Some(PrimitiveValue::Int(upper)))
        | (Some(PrimitiveValue::Date(lower)), Some(PrimitiveValue::Date(upper))) => {
            f64::from(*upper) - f64::from(*lower) + 1.0
        }
        (Some(PrimitiveValue::Long(lower)), Some(PrimitiveValue::Long(upper))) => {
            *upper as f64 - *lower as f64 + 1.0
        }
        _ => return 0.0,
    };
    let rows = rows * (1.0 - nulls);
    if values < rows {
        values as f32
    } else if values <= 2.0 * rows {
        // As many numbers as rows: each is there about once.
        UNIQUE * (1.0 - nulls) as f32
    } else {
        0.0
    }
}

/// A tuple of `pg_statistic`.
///
/// # Safety
/// As [`make`].
unsafe fn form(
    state: &PlanState,
    column: &MatchedColumn,
    relation: pg_sys::Oid,
    known: &Known<'_>,
) -> Option<HeapTuple> {
    const COLUMNS: usize = pg_sys::Natts_pg_statistic as usize;
    let mut values = [Datum::from(0_i16); COLUMNS];
    let mut nulls = [false; COLUMNS];
    let mut set = |attribute: u32, value: Datum| values[attribute as usize - 1] = value;
    let width = super::width::row_width(std::slice::from_ref(column), &state.files);
    set(pg_sys::Anum_pg_statistic_starelid, Datum::from(relation));
    set(
        pg_sys::Anum_pg_statistic_staattnum,
        Datum::from(column.attribute_number),
    );
    set(pg_sys::Anum_pg_statistic_stainherit, Datum::from(false));
    set(
        pg_sys::Anum_pg_statistic_stanullfrac,
        float4(known.nulls as f32),
    );
    set(pg_sys::Anum_pg_statistic_stawidth, Datum::from(width));
    set(
        pg_sys::Anum_pg_statistic_stadistinct,
        float4(known.distinct),
    );
    for attribute in pg_sys::Anum_pg_statistic_stanumbers1..=pg_sys::Anum_pg_statistic_stavalues5 {
        nulls[attribute as usize - 1] = true;
    }
    // SAFETY: by the contract; the array copies what its elements point to.
    unsafe {
        let operators = pg_sys::lookup_type_cache(
            column.declared.oid,
            (pg_sys::TYPECACHE_LT_OPR | pg_sys::TYPECACHE_EQ_OPR) as i32,
        );
        // The order of bounds is that of bytes, which no collation need have.
        if let Some((lower, upper)) = known.bounds
            && pg_sys::get_typcollation(column.declared.oid) == pg_sys::Oid::INVALID
            && (*operators).lt_opr != pg_sys::Oid::INVALID
        {
            let is_one = lower == upper;
            let elements: &[&PrimitiveValue] = if is_one { &[lower] } else { &[lower, upper] };
            if let Some(array) = array_of(state, column, elements) {
                let (kind, operator) = match is_one {
                    true => (pg_sys::STATISTIC_KIND_MCV, (*operators).eq_opr),
                    false => (pg_sys::STATISTIC_KIND_HISTOGRAM, (*operators).lt_opr),
                };
                let mut set = |attribute: u32, value: Datum| {
                    values[attribute as usize - 1] = value;
                    nulls[attribute as usize - 1] = false;
                };
                set(pg_sys::Anum_pg_statistic_stakind1, Datum::from(kind as i16));
                set(pg_sys::Anum_pg_statistic_staop1, Datum::from(operator));
                set(pg_sys::Anum_pg_statistic_stavalues1, array);
                if is_one {
                    let mut share = [float4((1.0 - known.nulls) as f32)];
                    let shares = pg_sys::construct_array(
                        share.as_mut_ptr(),
                        1,
                        pg_sys::FLOAT4OID,
                        4,
                        true,
                        pg_sys::TYPALIGN_INT as i8,
                    );
                    set(pg_sys::Anum_pg_statistic_stanumbers1, Datum::from(shares));
                }
            }
        }
        let catalog = pg_sys::table_open(
            pg_sys::StatisticRelationId,
            pg_sys::AccessShareLock as pg_sys::LOCKMODE,
        );
        let tuple =
            pg_sys::heap_form_tuple((*catalog).rd_att, values.as_mut_ptr(), nulls.as_mut_ptr());
        pg_sys::table_close(catalog, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        Some(tuple)
    }
}

fn float4(value: f32) -> Datum {
    Datum::from(value.to_bits())
}

/// Values of a field as an array of the column's type; `None` where one cannot be converted.
///
/// # Safety
/// As [`make`].
unsafe fn array_of(
    state: &PlanState,
    column: &MatchedColumn,
    values: &[&PrimitiveValue],
) -> Option<Datum> {
    let OutputColumn::Field(field_id) = column.source else {
        return None;
    };
    let field = state.relation.schema().field_by_id(field_id)?;
    let Type::Primitive(primitive) = &field.field_type else {
        return None;
    };
    let mut batches = Vec::new();
    let mut datums = Vec::new();
    // SAFETY: reads a backend variable; datums point into the batches, which are kept until the array has been made.
    unsafe {
        let mut finish = Finish::choose(&column.plan.conversion, pg_sys::CurrentMemoryContext);
        for value in values {
            let batch = batch_of(value, primitive, column)?;
            datums.push(finish.apply(batch.columns.first()?, 0)?);
            batches.push(batch);
        }
        let (mut length, mut by_value, mut alignment) = (0, false, 0);
        pg_sys::get_typlenbyvalalign(
            column.declared.oid,
            &mut length,
            &mut by_value,
            &mut alignment,
        );
        let array = pg_sys::construct_array(
            datums.as_mut_ptr(),
            i32::try_from(datums.len()).ok()?,
            column.declared.oid,
            length.into(),
            by_value,
            alignment,
        );
        Some(Datum::from(array))
    }
}

/// One row of a value, converted.
fn batch_of(
    value: &PrimitiveValue,
    primitive: &PrimitiveType,
    column: &MatchedColumn,
) -> Option<DatumBatch> {
    let array = row_of_value(value, primitive).ok()?;
    let field = arrow::datatypes::Field::new("value", array.data_type().clone(), true);
    let schema = Arc::new(arrow::datatypes::Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema, vec![array]).ok()?;
    DatumBatch::convert(&batch, std::slice::from_ref(&column.plan)).ok()
}
