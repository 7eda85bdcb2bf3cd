//! What stands on the column's side of a comparison: a column, a member of a composite column, or an expression over one.

use super::bounds::extremes;
use super::constants::{Form, constant};
use super::declared::{Column, Family};
use super::seed::Chance;
use super::value::{Cell, Kind, Row, Scalar, at};

/// An expression with the values of the table that constants are drawn from.
#[derive(Debug, Clone)]
pub struct Term {
    pub sql: String,
    pub family: Family,
    pub kind: Kind,
    pub samples: Vec<Scalar>,
    /// Whether its evaluation may raise an error for some rows.
    pub fails: bool,
    /// Whether the expression is of type bpchar, numeric with other meaning and so on: constants may not fit.
    pub derived: bool,
}

/// The columns of a table as terms: scalars, members of composites, and the rest apart.
pub struct Terms {
    pub scalars: Vec<Term>,
    /// Those that partitions are made of, so that conditions on them leave files out.
    partitioning: Vec<usize>,
    /// Arrays: of their elements' family, kind and samples.
    pub arrays: Vec<Term>,
    /// Composites and `jsonb`.
    pub others: Vec<Term>,
    /// Whether the functions of the schema `iceberg` that transform values are there.
    pub transforms: bool,
}

impl Terms {
    /// The terms of these columns over the rows of each file.
    pub fn new(
        columns: &[Column],
        rows: &[Vec<Row>],
        partitioning: &[Vec<i32>],
        transforms: bool,
    ) -> Self {
        let mut terms = Terms {
            scalars: Vec::new(),
            partitioning: Vec::new(),
            arrays: Vec::new(),
            others: Vec::new(),
            transforms,
        };
        for column in columns {
            terms.add(
                &column.name,
                &column.family,
                &column.field.kind,
                vec![column.field.id],
                rows,
                partitioning,
            );
        }
        terms
    }

    fn add(
        &mut self,
        sql: &str,
        family: &Family,
        kind: &Kind,
        path: Vec<i32>,
        rows: &[Vec<Row>],
        partitioning: &[Vec<i32>],
    ) {
        let term = |family: &Family, kind: &Kind, samples| Term {
            sql: sql.to_owned(),
            family: family.clone(),
            kind: kind.clone(),
            samples,
            fails: false,
            derived: false,
        };
        match (family, kind) {
            (Family::Composite(members), Kind::Struct(fields)) => {
                self.others.push(term(family, kind, Vec::new()));
                for (name, family, id) in members {
                    let Some(field) = fields.iter().find(|field| Some(&field.id) == id.last())
                    else {
                        continue;
                    };
                    let mut path = path.clone();
                    path.push(field.id);
                    let member = format!("({sql}).{name}");
                    self.add(&member, family, &field.kind, path, rows, partitioning);
                }
            }
            (Family::Array(element), Kind::List(field)) => {
                let samples = rows.iter().flatten().flat_map(|row| match at(row, &path) {
                    Cell::List(cells) => cells.iter().filter_map(Cell::scalar).cloned().collect(),
                    _ => Vec::new(),
                });
                self.arrays
                    .push(term(element, &field.kind, samples.collect()));
            }
            (Family::Jsonb, _) => self.others.push(term(family, kind, Vec::new())),
            _ => {
                let of_file = |rows: &Vec<Row>| -> Vec<Scalar> {
                    let cells = rows.iter().map(|row| at(row, &path));
                    cells.filter_map(Cell::scalar).cloned().collect()
                };
                let mut samples: Vec<Scalar> = rows.iter().flat_map(of_file).collect();
                // Mistakes show at the ends of files: these come as often as all other values together.
                let ends: Vec<Scalar> = rows
                    .iter()
                    .filter_map(|rows| extremes(of_file(rows).iter()))
                    .flat_map(|(low, high)| [low, high])
                    .collect();
                let times = samples.len().div_ceil(ends.len().max(1));
                samples.extend(ends.iter().cycle().take(ends.len() * times).cloned());
                if partitioning.contains(&path) {
                    self.partitioning.push(self.scalars.len());
                }
                self.scalars.push(term(family, kind, samples));
            }
        }
    }

    /// A term: mostly a column as it is.
    pub fn pick(&self, chance: &mut Chance) -> Term {
        let mut term = if !self.partitioning.is_empty() && chance.percent(35) {
            self.scalars[*chance.pick(&self.partitioning)].clone()
        } else {
            chance.pick(&self.scalars).clone()
        };
        while chance.percent(22) {
            term = self.over(chance, term);
        }
        term
    }

    /// An expression over a term.
    fn over(&self, chance: &mut Chance, term: Term) -> Term {
        let sql = &term.sql;
        let same = |sql: String| Term {
            sql,
            derived: true,
            ..term.clone()
        };
        let other = |sql: String, family: Family, kind: Kind, samples: Vec<Scalar>| Term {
            sql,
            family,
            kind,
            samples,
            fails: term.fails,
            derived: true,
        };
        let text = Family::Text {
            deterministic: true,
        };
        let small = || (0..12).map(Scalar::Long).collect::<Vec<_>>();
        if self.transforms && !term.derived && chance.percent(30) {
            let has_date = matches!(
                term.family,
                Family::Date | Family::Timestamp | Family::Timestamptz
            );
            let number = |name: &str, samples: [i32; 2]| {
                let samples = samples.map(Scalar::Int).to_vec();
                let sql = format!("iceberg.{name}({sql})");
                Term {
                    fails: true,
                    ..other(sql, Family::Integer, Kind::Int, samples)
                }
            };
            return match (chance.below(5), &term.family) {
                (0, _) if has_date => number("year", [0, 54]),
                (1, _) if has_date => number("month", [0, 650]),
                (2, _) if has_date => Term {
                    family: Family::Date,
                    ..same(format!("iceberg.day({sql})"))
                },
                (3, Family::Timestamp | Family::Timestamptz) => number("hour", [0, 473_352]),
                (
                    0..=2,
                    Family::Integer | Family::Numeric | Family::Text { .. } | Family::Bytea,
                ) => {
                    let width = *chance.pick(&[1, 3, 10, 100]);
                    same(format!("iceberg.truncate({width}, {sql})"))
                }
                (_, Family::Boolean | Family::Real | Family::Double) => term,
                _ => {
                    let buckets = chance.pick(&[2, 5, 16]);
                    let sql = format!("iceberg.bucket({buckets}, {sql})");
                    other(sql, Family::Integer, Kind::Int, small())
                }
            };
        }
        match chance.below(10) {
            0 => {
                let form = Form::any(chance);
                let default = constant(chance, &term.family, &term.kind, &term.samples, form);
                return same(format!("coalesce({sql}, {})", default.text));
            }
            1 => {
                let form = Form::any(chance);
                let gone = constant(chance, &term.family, &term.kind, &term.samples, form);
                return same(format!("nullif({sql}, {})", gone.text));
            }
            2 => {
                return same(format!(
                    "(CASE WHEN {sql} IS NULL THEN NULL ELSE {sql} END)"
                ));
            }
            _ => {}
        }
        match &term.family {
            Family::Boolean => same(format!("(NOT {sql})")),
            Family::Integer => match chance.below(8) {
                0 => same(format!("{sql}::int8")),
                1 => other(
                    format!("{sql}::numeric"),
                    Family::Numeric,
                    term.kind.clone(),
                    term.samples.clone(),
                ),
                2 => other(
                    format!("{sql}::float8"),
                    Family::Double,
                    Kind::Double,
                    small(),
                ),
                3 => other(
                    format!("{sql}::text"),
                    text,
                    Kind::String,
                    texts(&["0", "1", "10", "-1"]),
                ),
                4 => other(format!("({sql} % 3)"), Family::Integer, Kind::Long, small()),
                5 => Term {
                    fails: true,
                    ..same(format!("(- {sql})"))
                },
                6 => Term {
                    fails: true,
                    ..same(format!("({sql} + 1)"))
                },
                _ => Term {
                    fails: true,
                    ..same(format!("{sql}::int2"))
                },
            },
            Family::Numeric => match chance.below(5) {
                0 => same(format!("{sql}::numeric(60,1)")),
                1 => other(
                    format!("{sql}::float8"),
                    Family::Double,
                    Kind::Double,
                    small(),
                ),
                2 => same(format!("round({sql})")),
                3 => same(format!("(- {sql})")),
                _ => Term {
                    fails: true,
                    ..same(format!("{sql}::int4"))
                },
            },
            Family::Real | Family::Double => match chance.below(4) {
                0 => Term {
                    family: Family::Double,
                    ..same(format!("{sql}::float8"))
                },
                1 => same(format!("(- {sql})")),
                2 => same(format!("abs({sql})")),
                _ => Term {
                    fails: true,
                    family: Family::Real,
                    ..same(format!("{sql}::float4"))
                },
            },
            Family::Date => match chance.below(5) {
                0 => Term {
                    fails: true,
                    family: Family::Timestamp,
                    ..same(format!("{sql}::timestamp"))
                },
                1 => Term {
                    fails: true,
                    family: Family::Timestamptz,
                    ..same(format!("{sql}::timestamptz"))
                },
                2 => Term {
                    fails: true,
                    family: Family::Timestamptz,
                    ..same(format!("date_trunc('{}', {sql})", unit(chance)))
                },
                3 => Term {
                    fails: true,
                    ..same(format!("({sql} + 1)"))
                },
                _ => year(sql, &term),
            },
            Family::Timestamp | Family::Timestamptz => match chance.below(8) {
                0 | 1 => Term {
                    fails: true,
                    family: Family::Date,
                    ..same(format!("{sql}::date"))
                },
                2 | 3 => Term {
                    fails: true,
                    ..same(format!("date_trunc('{}', {sql})", unit(chance)))
                },
                4 => Term {
                    fails: true,
                    ..same(format!("({sql} + interval '1 day')"))
                },
                5 if term.family == Family::Timestamp => Term {
                    fails: true,
                    family: Family::Timestamptz,
                    ..same(format!("{sql}::timestamptz"))
                },
                5 => Term {
                    fails: true,
                    family: Family::Timestamp,
                    ..same(format!("({sql} AT TIME ZONE 'Asia/Tokyo')"))
                },
                6 if term.family == Family::Timestamptz => Term {
                    fails: true,
                    ..same(format!(
                        "date_trunc('{}', {sql}, 'America/New_York')",
                        unit(chance)
                    ))
                },
                _ => year(sql, &term),
            },
            Family::Text { .. } => match chance.below(9) {
                0 => same(format!("lower({sql})")),
                1 => same(format!("({sql} || '')")),
                2 => other(
                    format!("length({sql})"),
                    Family::Integer,
                    Kind::Int,
                    small(),
                ),
                3 => Term {
                    samples: cut(&term.samples, 3),
                    ..same(format!("left({sql}, 3)"))
                },
                4 => Term {
                    samples: cut(&term.samples, 3),
                    ..same(format!("{sql}::varchar(3)"))
                },
                5 => same(format!("{sql}::char(5)")),
                6 | 7 => Term {
                    family: text,
                    ..same(format!("({sql} COLLATE \"C\")"))
                },
                _ => other(
                    format!("md5({sql})"),
                    text,
                    Kind::String,
                    texts(&["5", "a", "c"]),
                ),
            },
            Family::Uuid => other(
                format!("{sql}::text"),
                text,
                Kind::String,
                texts(&["0", "8", "80808080"]),
            ),
            Family::Bytea => match chance.below(2) {
                0 => other(
                    format!("length({sql})"),
                    Family::Integer,
                    Kind::Int,
                    small(),
                ),
                _ => same(format!("substring({sql} FROM 1 FOR 2)")),
            },
            Family::Time => same(format!("({sql} + interval '1 hour')")),
            Family::Array(_) | Family::Composite(_) | Family::Jsonb => term,
        }
    }
}

fn unit(chance: &mut Chance) -> &'static str {
    chance.word(&[
        "hour",
        "day",
        "week",
        "month",
        "quarter",
        "year",
        "decade",
        "century",
        "minute",
        "microseconds",
    ])
}

/// The year of a date or timestamp.
fn year(sql: &str, term: &Term) -> Term {
    let years = term
        .samples
        .iter()
        .take(30)
        .map(|sample| Scalar::Long(super::constants::year_of(Some(sample))));
    Term {
        sql: format!("extract(year FROM {sql})"),
        family: Family::Numeric,
        kind: Kind::Long,
        samples: years.collect(),
        fails: term.fails,
        derived: true,
    }
}

fn texts(texts: &[&str]) -> Vec<Scalar> {
    texts
        .iter()
        .map(|text| Scalar::String((*text).to_owned()))
        .collect()
}

fn cut(samples: &[Scalar], length: usize) -> Vec<Scalar> {
    samples
        .iter()
        .map(|sample| match sample {
            Scalar::String(text) => Scalar::String(text.chars().take(length).collect()),
            other => other.clone(),
        })
        .collect()
}
