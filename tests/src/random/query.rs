//! Random queries: a condition, how its constants reach the scan, what is selected, and under which settings.

use super::constants::Constant;
use super::declared::Column;
use super::quals::{Qual, qual};
use super::seed::Chance;
use super::terms::Terms;
use crate::database::quoted;

/// How the constants of a condition reach it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Supply {
    /// They stand in the query.
    Inline,
    /// As parameters of a prepared statement, run twice; the plan is generic or not.
    Prepared { generic: bool },
    /// Each from a scalar sub-select.
    InitPlan,
    /// Each from a setting, which is only read at execution.
    Stable,
    /// From the rows of another relation, by a nested loop.
    Join,
    /// The same, and rows of it without partner stay.
    LeftJoin,
    /// From the row outside of a sub-select that cannot be pulled up.
    Lateral,
    /// From the row outside of a correlated sub-select.
    Correlated,
}

/// A query over a table whose name is put in later.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub qual: Qual,
    pub supply: Supply,
    /// The select list.
    pub output: String,
    /// After the condition; only without a relation beside.
    pub tail: String,
    pub zone: &'static str,
    /// Which state of the table, from the first; `None` is the current one.
    pub state: Option<usize>,
    /// Which constant is null in the second row or execution.
    varied: usize,
}

const ZONES: &[&str] = &[
    "UTC",
    "UTC",
    "Asia/Kolkata",
    "America/Los_Angeles",
    "Pacific/Apia",
    "Europe/London",
];

/// Settings under which a plan must reach the foreign table by a nested loop.
const NESTED_LOOPS: &str = "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; ";

impl Query {
    /// A query over a table of these columns, now or in one of these earlier states.
    pub fn random(
        chance: &mut Chance,
        columns: &[Column],
        terms: &Terms,
        states: &[usize],
    ) -> Query {
        let depth = *chance.pick(&[0, 0, 1, 2, 3, 4]);
        let qual = qual(chance, terms, depth);
        let supply = *chance.pick(&[
            Supply::Inline,
            Supply::Inline,
            Supply::Inline,
            Supply::Inline,
            Supply::Prepared { generic: true },
            Supply::Prepared { generic: true },
            Supply::Prepared { generic: false },
            Supply::InitPlan,
            Supply::Stable,
            Supply::Join,
            Supply::LeftJoin,
            Supply::Lateral,
            Supply::Correlated,
        ]);
        let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let output = match chance.below(8) {
            0 => names.join(", "),
            1 => "count(*)".to_owned(),
            2 => "t".to_owned(),
            3 => names[0].to_owned(),
            _ => {
                chance.shuffle(&mut names);
                names.truncate(chance.between(1, 3) as usize);
                names.join(", ")
            }
        };
        let first = &columns[0].name;
        let tail = if output != "count(*)" && chance.percent(8) {
            format!(
                " ORDER BY {first} {} LIMIT {}",
                chance.pick(&["ASC", "DESC"]),
                chance.between(1, 9)
            )
        } else {
            String::new()
        };
        Query {
            qual,
            supply,
            output,
            tail,
            zone: chance.word(ZONES),
            state: (!states.is_empty() && chance.percent(15)).then(|| *chance.pick(states)),
            varied: chance.below(6),
        }
    }

    /// The statements of the query over a table, which give its rows.
    pub fn sql(&self, table: &str) -> String {
        self.statements(table, "")
    }

    /// The statements that run the query over a table and tell what was done for it, as JSON.
    pub fn explained(&self, table: &str) -> String {
        self.statements(table, "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ")
    }

    fn statements(&self, table: &str, explain: &str) -> String {
        let mut constants: Vec<Constant> = Vec::new();
        let supply = self.supply;
        let mut before = String::new();
        let condition = self.qual.sql(&mut |constant| {
            constants.push(constant.clone());
            let number = constants.len();
            match supply {
                Supply::Inline => constant.text.clone(),
                Supply::Prepared { .. } => format!("${number}"),
                Supply::InitPlan => format!("(SELECT {})", constant.with_type()),
                Supply::Stable => {
                    let value = constant.with_type();
                    before.push_str(&format!("SELECT set_config('differential.c{number}', coalesce(({value})::text, 'is null'), true) IS NULL; "));
                    format!("nullif(current_setting('differential.c{number}'), 'is null')::{}", constant.sql)
                }
                Supply::Join | Supply::LeftJoin | Supply::Lateral | Supply::Correlated => format!("v.k{number}"),
            }
        });
        let relation = if constants.is_empty() {
            "(VALUES (1), (2)) v(k1)".to_owned()
        } else {
            let names: Vec<String> = (1..=constants.len())
                .map(|number| format!("k{number}"))
                .collect();
            format!(
                "(VALUES ({}), ({})) v({})",
                self.row(&constants, false),
                self.row(&constants, true),
                names.join(", ")
            )
        };
        let (output, tail) = (&self.output, &self.tail);
        let prefixed = format!("SELECT {output} FROM {table} t WHERE {condition}{tail}");
        let body = match supply {
            Supply::Inline | Supply::InitPlan | Supply::Stable => format!("{explain}{prefixed}"),
            Supply::Prepared { generic } => {
                let mode = if generic {
                    "force_generic_plan"
                } else {
                    "force_custom_plan"
                };
                let types: Vec<&str> = constants
                    .iter()
                    .map(|constant| constant.sql.as_str())
                    .collect();
                let types = if types.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", types.join(", "))
                };
                let execute = |vary: bool| match constants.is_empty() {
                    true => "EXECUTE q".to_owned(),
                    false => format!("EXECUTE q({})", self.row(&constants, vary)),
                };
                format!(
                    "SET LOCAL plan_cache_mode = {mode}; PREPARE q{types} AS {prefixed}; {}; {}",
                    execute(false),
                    execute(true)
                )
            }
            Supply::Join => format!(
                "{NESTED_LOOPS}SELECT {output} FROM {relation} JOIN {table} t ON {condition}"
            ),
            Supply::LeftJoin => format!(
                "{NESTED_LOOPS}SELECT {output} FROM {relation} LEFT JOIN {table} t ON {condition}"
            ),
            Supply::Lateral => format!(
                "{NESTED_LOOPS}SELECT s.* FROM {relation}, LATERAL (SELECT {output} FROM {table} t WHERE {condition}{tail} OFFSET 0) s"
            ),
            Supply::Correlated => {
                format!("SELECT (SELECT count(*) FROM {table} t WHERE {condition}) FROM {relation}")
            }
        };
        let body = match supply {
            // LIMIT takes the order with it.
            Supply::Lateral if !tail.is_empty() => body.replace(" OFFSET 0)", ")"),
            _ => body,
        };
        format!("SET LOCAL timezone = {}; {before}{body}", quoted(self.zone))
    }

    /// The constants as a row; the second time one of them is null.
    fn row(&self, constants: &[Constant], vary: bool) -> String {
        let values = constants.iter().enumerate().map(|(number, constant)| {
            if vary && number == self.varied % constants.len() {
                format!("NULL::{}", constant.sql)
            } else {
                constant.with_type()
            }
        });
        values.collect::<Vec<_>>().join(", ")
    }

    /// The same condition in a query that one plan of one relation answers, and reads all that it needs: EXPLAIN tells
    /// of all of it.
    pub fn plain(&self) -> Query {
        Query {
            supply: Supply::Inline,
            tail: String::new(),
            ..self.clone()
        }
    }

    /// Simpler queries, to find what is to blame.
    pub fn simpler(&self) -> Vec<Query> {
        let mut all: Vec<Query> = self
            .qual
            .smaller()
            .into_iter()
            .map(|qual| Query {
                qual,
                ..self.clone()
            })
            .collect();
        let mut try_out = |query: Query| {
            if query != *self {
                all.push(query);
            }
        };
        try_out(Query {
            supply: Supply::Inline,
            ..self.clone()
        });
        try_out(Query {
            tail: String::new(),
            ..self.clone()
        });
        try_out(Query {
            zone: "UTC",
            ..self.clone()
        });
        try_out(Query {
            state: None,
            ..self.clone()
        });
        all
    }
}
