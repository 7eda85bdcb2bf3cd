//! One random table and its heap copies in a database, and the comparison of what queries answer over them.

use std::collections::BTreeMap;
use std::path::Path;

use postgres::Client;
use serde_json::Value as Json;

use super::declared::{Collation, Column, foreign_table, heap_table, types};
use super::lake::{self, Lake};
use super::quals::Qual;
use super::query::Query;
use super::seed::Chance;
use super::terms::Terms;
use super::value::{Cell, Field, Kind, Row, Scalar};
use crate::database::text_rows;

/// What the server has that queries may use.
#[derive(Debug, Clone)]
pub struct Server {
    pub collations: Vec<Collation>,
    /// Whether there are functions `iceberg.bucket` and the like.
    pub transforms: bool,
}

/// What queries use that an extension knows nothing of: a function of each volatility and an operator.
pub const UNKNOWN: &str = "
CREATE FUNCTION is_odd_text(text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN length($1) % 2 = 1; END';
CREATE FUNCTION same_value(anyelement) RETURNS anyelement LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION sometimes(anyelement) RETURNS anyelement LANGUAGE plpgsql STABLE STRICT AS 'BEGIN RETURN $1; END';
CREATE FUNCTION nearly(text, text) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT left($1, 1) = left($2, 1)';
CREATE OPERATOR === (LEFTARG = text, RIGHTARG = text, FUNCTION = nearly, COMMUTATOR = ===)";

/// A table under test.
pub struct Trial {
    client: Client,
    name: String,
    columns: Vec<Column>,
    lake: Lake,
    terms: Terms,
    declaration: String,
    /// The earlier states that can be read with the columns as they are declared.
    states: Vec<usize>,
}

/// What a query came to: its rows in a canonical order, or an SQLSTATE and the message.
#[derive(Debug, Clone, PartialEq)]
enum Answer {
    Rows(Vec<Vec<Option<String>>>),
    Error(String, String),
}

/// The settings of one run of a query over the foreign table.
#[derive(Debug, Clone, PartialEq)]
struct Settings(String);

/// Switches of everything that leaves something out.
const SWITCHES: &[&str] = &[
    "enable_partition_pruning",
    "enable_metrics_pruning",
    "enable_row_group_pruning",
    "enable_page_pruning",
    "enable_bloom_filters",
    "enable_pushdown",
];

/// Makes plans of several processes, however little there is to read.
const PARALLEL: &str = "SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; \
    SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL max_parallel_workers_per_gather = 2; ";

impl Settings {
    fn all_off() -> Self {
        let off = SWITCHES
            .iter()
            .map(|name| format!("SET LOCAL iceberg_fdw.{name} = off; "));
        let mut text = "SET LOCAL iceberg_fdw.scan_threads = 1; ".to_owned();
        text.extend(off);
        Settings(text)
    }

    fn random(chance: &mut Chance) -> Self {
        let mut text = format!(
            "SET LOCAL iceberg_fdw.scan_threads = {}; ",
            chance.between(1, 4)
        );
        for name in SWITCHES {
            if chance.percent(50) {
                text.push_str(&format!("SET LOCAL iceberg_fdw.{name} = off; "));
            }
        }
        if chance.percent(10) {
            text.push_str(PARALLEL);
        }
        Settings(text)
    }
}

impl Trial {
    /// Makes the table `number` of a run, in a schema of its own.
    pub fn new(
        mut client: Client,
        server: &Server,
        chance: &mut Chance,
        number: u64,
        directory: &Path,
    ) -> Trial {
        let name = format!("t{number}");
        let lake = lake::write(chance, directory);
        let columns = Column::choose(chance, &lake.fields, &server.collations, &name);
        let location = lake.location.to_str().expect("test paths are UTF-8");
        let mut statements = vec![types(&columns), foreign_table(&name, &columns, location)];
        let last = lake.snapshots.len() - 1;
        for (state, snapshot) in lake.snapshots.iter().enumerate() {
            let current = (state == last).then_some(lake.fields.as_slice());
            statements.extend(heap_table(
                &format!("{name}_{state}"),
                &columns,
                snapshot,
                current,
            ));
        }
        let declaration = format!("{};\n{}", statements[0], statements[1]);
        for statement in &statements {
            if let Err(error) = client.batch_execute(statement) {
                panic!(
                    "{}\n{declaration}\n{error:?}\n{}",
                    lake.description,
                    &statement[..statement.len().min(3000)]
                );
            }
        }
        let mut files: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
        for live in &lake.snapshots[last].rows {
            let mut row = live.under(&lake.fields);
            row.insert(-1, Cell::Scalar(Scalar::Long(live.position)));
            files.entry(&live.path).or_default().push(row);
        }
        let rows: Vec<Vec<Row>> = files.into_values().collect();
        let states = (0..last)
            .filter(|state| is_readable(&lake.snapshots[*state].fields, &lake.fields))
            .collect();
        let terms = Terms::new(&columns, &rows, &lake.partitioning, server.transforms);
        Trial {
            client,
            name,
            columns,
            lake,
            terms,
            declaration,
            states,
        }
    }

    /// A random query over the table.
    pub fn query(&self, chance: &mut Chance) -> Query {
        Query::random(chance, &self.columns, &self.terms, &self.states)
    }

    fn heap(&self, query: &Query) -> String {
        let state = query.state.unwrap_or(self.lake.snapshots.len() - 1);
        query.sql(&format!("{}_{state}", self.name))
    }

    fn foreign(&self, query: &Query, settings: &Settings) -> String {
        format!("{}{}", self.before(query, settings), query.sql(&self.name))
    }

    /// What is set before a query over the foreign table.
    fn before(&self, query: &Query, settings: &Settings) -> String {
        let state = query.state.map_or(String::new(), |state| {
            format!(
                "SET LOCAL iceberg_fdw.snapshot_id = '{}'; ",
                self.lake.snapshots[state].id
            )
        });
        format!("{}{state}", settings.0)
    }

    fn run(&mut self, statements: &str) -> Answer {
        let whole = format!("BEGIN; {statements}; COMMIT; DEALLOCATE ALL");
        match text_rows(&mut self.client, &whole) {
            Ok(mut rows) => {
                rows.sort();
                Answer::Rows(rows)
            }
            Err(error) => {
                let Some(server) = error.as_db_error() else {
                    panic!(
                        "the connection broke: {error:?}\n{}\n{statements}",
                        self.declaration
                    );
                };
                let answer =
                    Answer::Error(server.code().code().to_owned(), server.message().to_owned());
                self.client
                    .batch_execute("ROLLBACK; DEALLOCATE ALL")
                    .expect("a failed transaction can be ended");
                answer
            }
        }
    }

    /// Runs a query over the heap and the foreign table; `Err` says how they differ.
    pub fn check(
        &mut self,
        query: &Query,
        chance: &mut Chance,
        counts: &mut Counts,
    ) -> Result<(), String> {
        let mut runs = vec![Settings(String::new()), Settings::all_off()];
        if chance.percent(30) {
            runs.push(Settings::random(chance));
        }
        let expected = self.run(&self.heap(query));
        match &expected {
            Answer::Error(state, _) => *counts.errors.entry(state.clone()).or_default() += 1,
            Answer::Rows(rows) if rows.is_empty() => counts.empty += 1,
            Answer::Rows(_) => {}
        }
        for settings in runs {
            let answer = self.run(&self.foreign(query, &settings));
            if agree(query, &expected, &answer) {
                continue;
            }
            let (query, settings) = self.shrink(query, settings);
            let expected = self.run(&self.heap(&query));
            let answer = self.run(&self.foreign(&query, &settings));
            return Err(format!(
                "{}\n{}\nheap:    {}\nforeign: {}\n{}",
                self.lake.description,
                self.declaration,
                self.heap(&query),
                self.foreign(&query, &settings),
                difference(&expected, &answer)
            ));
        }
        Ok(())
    }

    /// The simplest query that still differs, and the fewest switches that are off.
    fn shrink(&mut self, query: &Query, settings: Settings) -> (Query, Settings) {
        let (mut query, mut settings) = (query.clone(), settings);
        let mut left = 300;
        'again: while left > 0 {
            let parts: Vec<String> = settings
                .0
                .split_inclusive("; ")
                .map(str::to_owned)
                .collect();
            let fewer = (0..parts.len()).map(|at| {
                let rest = parts.iter().enumerate().filter(|(place, _)| *place != at);
                (
                    query.clone(),
                    Settings(rest.map(|(_, part)| part.as_str()).collect()),
                )
            });
            let simpler = query
                .simpler()
                .into_iter()
                .map(|query| (query, settings.clone()));
            for (next, with) in simpler.chain(fewer).collect::<Vec<_>>() {
                left -= 1;
                let expected = self.run(&self.heap(&next));
                let answer = self.run(&self.foreign(&next, &with));
                if !agree(&next, &expected, &answer) {
                    (query, settings) = (next, with);
                    continue 'again;
                }
            }
            break;
        }
        (query, settings)
    }

    /// Counts which switches, each alone, make the query read less than without all of them.
    pub fn explain(&mut self, query: &Query, counts: &mut Counts) {
        let query = &query.plain();
        let off = Settings::all_off();
        let Some(everything) = self.amounts(query, &off) else {
            return;
        };
        counts.explained += 1;
        for switch in SWITCHES {
            let on = Settings(format!("{}SET LOCAL iceberg_fdw.{switch} = on; ", off.0));
            let Some(read) = self.amounts(query, &on) else {
                continue;
            };
            let less = AMOUNTS
                .iter()
                .any(|label| read.get(*label) < everything.get(*label));
            let passed_over = read.iter().any(|(label, number)| {
                label.contains("Skipped") && everything.get(label) < Some(number)
            });
            if less || passed_over {
                *counts.effective.entry(switch).or_default() += 1;
            }
        }
    }

    /// The numbers that EXPLAIN gives for a query, by their labels.
    fn amounts(&mut self, query: &Query, settings: &Settings) -> Option<BTreeMap<String, u64>> {
        let explained = format!(
            "{}{}",
            self.before(query, settings),
            query.explained(&self.name)
        );
        let Answer::Rows(rows) = self.run(&explained) else {
            return None;
        };
        let mut amounts = BTreeMap::new();
        for text in rows.into_iter().flatten().flatten() {
            if let Ok(plan) = serde_json::from_str::<Json>(&text) {
                collect(&plan, &mut amounts);
            }
        }
        Some(amounts)
    }
}

/// What is read of a table, by the labels of EXPLAIN.
const AMOUNTS: &[&str] = &["Data Files Read", "Rows Read", "Bytes Read"];

/// Whether columns that are declared for the current schema hold what was in them under an earlier one: a date is no
/// timestamp before it was promoted, and a name that was given to another column means the earlier one there.
fn is_readable(earlier: &[Field], current: &[Field]) -> bool {
    earlier.iter().all(|earlier| {
        let renamed = current
            .iter()
            .any(|field| field.name == earlier.name && field.id != earlier.id);
        if renamed {
            return false;
        }
        let now = current.iter().find(|field| field.id == earlier.id);
        now.is_none_or(|now| match (&earlier.kind, &now.kind) {
            (Kind::Date, kind) => *kind == Kind::Date,
            (Kind::Struct(earlier), Kind::Struct(now)) => is_readable(earlier, now),
            _ => true,
        })
    })
}

/// What a run has seen.
#[derive(Debug, Default, Clone)]
pub struct Counts {
    pub tables: usize,
    pub queries: usize,
    /// Queries that answered with an error over the heap, by SQLSTATE.
    pub errors: BTreeMap<String, usize>,
    /// Queries without a row.
    pub empty: usize,
    /// Queries whose plan was looked at.
    pub explained: usize,
    /// Of them, how many read less by one switch alone.
    pub effective: BTreeMap<&'static str, usize>,
}

impl Counts {
    /// Takes in what another part of the run has seen.
    pub fn add(&mut self, other: Counts) {
        self.tables += other.tables;
        self.queries += other.queries;
        for (state, number) in other.errors {
            *self.errors.entry(state).or_default() += number;
        }
        self.empty += other.empty;
        self.explained += other.explained;
        for (switch, number) in other.effective {
            *self.effective.entry(switch).or_default() += number;
        }
    }
}

/// Adds up the numbers of a plan in JSON by their labels.
fn collect(plan: &Json, amounts: &mut BTreeMap<String, u64>) {
    match plan {
        Json::Object(members) => {
            for (label, member) in members {
                match member.as_u64() {
                    Some(number) => *amounts.entry(label.clone()).or_default() += number,
                    None => collect(member, amounts),
                }
            }
        }
        Json::Array(members) => members.iter().for_each(|member| collect(member, amounts)),
        _ => {}
    }
}

/// Whether an answer is what the heap's answer allows.
fn agree(query: &Query, heap: &Answer, foreign: &Answer) -> bool {
    match (heap, foreign) {
        (Answer::Rows(heap), Answer::Rows(foreign)) => heap == foreign,
        // Nor which row comes first, where rows raise different errors.
        (Answer::Error(heap, _), Answer::Error(foreign, _)) => {
            let several =
                query.qual.fails() || [heap, foreign].iter().any(|state| *state == "42P22");
            heap == foreign || (several && !matches!(query.qual, Qual::Leaf(_)))
        }
        // Which of several conditions a row meets first is the planner's choice: a row that another condition
        // excludes need not raise the error of this one.
        // That collations contradict each other is found out by rows as well.
        (Answer::Error(state, _), Answer::Rows(_)) => query.qual.fails() || state == "42P22",
        (Answer::Rows(_), Answer::Error(..)) => false,
    }
}

fn difference(heap: &Answer, foreign: &Answer) -> String {
    let (Answer::Rows(heap), Answer::Rows(foreign)) = (heap, foreign) else {
        return format!("heap: {}\nforeign: {}", short(heap), short(foreign));
    };
    let only = |these: &[Vec<Option<String>>], those: &[Vec<Option<String>>]| {
        let mut rest = those.to_vec();
        let mut only = Vec::new();
        for row in these {
            match rest.iter().position(|other| other == row) {
                Some(at) => {
                    rest.swap_remove(at);
                }
                None => only.push(row.clone()),
            }
        }
        let rows: Vec<String> = only
            .iter()
            .take(5)
            .map(|row| format!("  {row:?}"))
            .collect();
        format!("{} rows\n{}", only.len(), rows.join("\n"))
    };
    format!(
        "of {} rows of the heap and {} of the foreign table\nonly in the heap: {}\nonly in the foreign table: {}",
        heap.len(),
        foreign.len(),
        only(heap, foreign),
        only(foreign, heap)
    )
}

fn short(answer: &Answer) -> String {
    match answer {
        Answer::Rows(rows) => format!("{} rows", rows.len()),
        Answer::Error(state, message) => format!("error {state}: {message}"),
    }
}
