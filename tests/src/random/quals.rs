//! Random conditions over a table: every operator that may be pushed down, and some that must not be.

use super::constants::{Constant, Form, constant, own_type, pattern};
use super::declared::Family;
use super::seed::Chance;
use super::terms::{Term, Terms};
use super::value::Kind;

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Qual {
    Leaf(Leaf),
    And(Vec<Qual>),
    Or(Vec<Qual>),
    Not(Box<Qual>),
    /// What follows is `IS TRUE` or the like.
    Is(Box<Qual>, &'static str),
    /// Two conditions and an operator between them.
    Between(Box<Qual>, &'static str, Box<Qual>),
}

/// A condition without inner ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Leaf {
    pieces: Vec<Piece>,
    /// Whether its evaluation may raise an error for some rows.
    pub fails: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Constant(Constant),
}

impl Leaf {
    fn text(mut self, text: impl Into<String>) -> Self {
        self.pieces.push(Piece::Text(text.into()));
        self
    }

    fn constant(mut self, constant: Constant) -> Self {
        self.pieces.push(Piece::Constant(constant));
        self
    }

    fn list(mut self, constants: Vec<Constant>) -> Self {
        for (number, constant) in constants.into_iter().enumerate() {
            self = self
                .text(if number == 0 { "" } else { ", " })
                .constant(constant);
        }
        self
    }
}

impl Qual {
    /// The condition as SQL, with what `constant` makes of each constant.
    pub fn sql(&self, constant: &mut dyn FnMut(&Constant) -> String) -> String {
        let joined =
            |quals: &[Qual], between: &str, constant: &mut dyn FnMut(&Constant) -> String| {
                let all: Vec<String> = quals.iter().map(|qual| qual.sql(constant)).collect();
                format!("({})", all.join(between))
            };
        match self {
            Qual::Leaf(leaf) => {
                let pieces = leaf.pieces.iter().map(|piece| match piece {
                    Piece::Text(text) => text.clone(),
                    Piece::Constant(value) => constant(value),
                });
                pieces.collect()
            }
            Qual::And(quals) => joined(quals, " AND ", constant),
            Qual::Or(quals) => joined(quals, " OR ", constant),
            Qual::Not(qual) => format!("(NOT {})", qual.sql(constant)),
            Qual::Is(qual, what) => format!("(({}) {what})", qual.sql(constant)),
            Qual::Between(left, operator, right) => {
                let left = left.sql(constant);
                format!("(({left}) {operator} ({}))", right.sql(constant))
            }
        }
    }

    /// Whether its evaluation may raise an error for some rows.
    pub fn fails(&self) -> bool {
        match self {
            Qual::Leaf(leaf) => leaf.fails,
            Qual::And(quals) | Qual::Or(quals) => quals.iter().any(Qual::fails),
            Qual::Not(qual) | Qual::Is(qual, _) => qual.fails(),
            Qual::Between(left, _, right) => left.fails() || right.fails(),
        }
    }

    /// Smaller conditions, to find the one that is to blame.
    pub fn smaller(&self) -> Vec<Qual> {
        match self {
            Qual::Leaf(_) => Vec::new(),
            Qual::And(quals) | Qual::Or(quals) => {
                let mut all = quals.clone();
                for at in 0..quals.len() {
                    let mut rest = quals.clone();
                    if rest.len() > 2 {
                        rest.remove(at);
                        all.push(self.with(rest));
                    }
                    for inner in quals[at].smaller() {
                        let mut changed = quals.clone();
                        changed[at] = inner;
                        all.push(self.with(changed));
                    }
                }
                all
            }
            Qual::Not(qual) => {
                let mut all = vec![(**qual).clone()];
                all.extend(
                    qual.smaller()
                        .into_iter()
                        .map(|inner| Qual::Not(Box::new(inner))),
                );
                all
            }
            Qual::Is(qual, what) => {
                let mut all = vec![(**qual).clone()];
                all.extend(
                    qual.smaller()
                        .into_iter()
                        .map(|inner| Qual::Is(Box::new(inner), what)),
                );
                all
            }
            Qual::Between(left, operator, right) => {
                let mut all = vec![(**left).clone(), (**right).clone()];
                for inner in left.smaller() {
                    all.push(Qual::Between(Box::new(inner), operator, right.clone()));
                }
                for inner in right.smaller() {
                    all.push(Qual::Between(left.clone(), operator, Box::new(inner)));
                }
                all
            }
        }
    }

    fn with(&self, quals: Vec<Qual>) -> Qual {
        match self {
            Qual::And(_) => Qual::And(quals),
            _ => Qual::Or(quals),
        }
    }
}

const COMPARISONS: &[&str] = &["=", "=", "<>", "<", "<=", ">", ">="];
const TESTS: &[&str] = &[
    "IS TRUE",
    "IS NOT TRUE",
    "IS FALSE",
    "IS NOT FALSE",
    "IS UNKNOWN",
    "IS NOT UNKNOWN",
    "IS NULL",
    "IS NOT NULL",
];

/// A condition nested at most so deep.
pub fn qual(chance: &mut Chance, terms: &Terms, depth: u32) -> Qual {
    if depth == 0 || chance.percent(25) {
        return Qual::Leaf(leaf(chance, terms));
    }
    let several = |chance: &mut Chance| {
        let count = *chance.pick(&[2, 2, 2, 3, 4]);
        (0..count)
            .map(|_| qual(chance, terms, depth - 1))
            .collect::<Vec<_>>()
    };
    match chance.below(12) {
        0..=4 => Qual::And(several(chance)),
        5..=7 => Qual::Or(several(chance)),
        8 | 9 => Qual::Not(Box::new(qual(chance, terms, depth - 1))),
        10 => Qual::Is(Box::new(qual(chance, terms, depth - 1)), chance.word(TESTS)),
        _ => {
            let operator = chance.word(&["=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]);
            let (left, right) = (qual(chance, terms, depth - 1), qual(chance, terms, 0));
            Qual::Between(Box::new(left), operator, Box::new(right))
        }
    }
}

fn constant_of(chance: &mut Chance, term: &Term, form: Form) -> Constant {
    constant(chance, &term.family, &term.kind, &term.samples, form)
}

fn leaf(chance: &mut Chance, terms: &Terms) -> Leaf {
    if !terms.arrays.is_empty() && chance.percent(12) {
        let term = chance.pick(&terms.arrays).clone();
        return array_leaf(chance, &term);
    }
    if !terms.others.is_empty() && chance.percent(10) {
        let term = chance.pick(&terms.others).clone();
        return other_leaf(chance, &term);
    }
    if chance.percent(5) {
        return unknown_leaf(chance, terms);
    }
    let term = terms.pick(chance);
    let mut leaf = match (&term.family, chance.below(10)) {
        (Family::Boolean, 0..=5) => boolean_leaf(chance, &term),
        (Family::Text { .. }, 0..=3) => pattern_leaf(chance, &term),
        (_, 0) => row_leaf(chance, terms, &term),
        (_, 1) => between_columns(chance, terms, &term),
        _ => comparison(chance, &term),
    };
    leaf.fails |= term.fails;
    leaf
}

fn comparison(chance: &mut Chance, term: &Term) -> Leaf {
    let column = &term.sql;
    let form = Form::any(chance);
    let one = |chance: &mut Chance| constant_of(chance, term, form);
    let some = |chance: &mut Chance| {
        let count = chance.between(1, 6);
        (0..count)
            .map(|_| constant_of(chance, term, form))
            .collect::<Vec<_>>()
    };
    let leaf = Leaf::default();
    match chance.below(20) {
        0..=6 => leaf
            .text(format!("{column} {} ", chance.pick(COMPARISONS)))
            .constant(one(chance)),
        7 | 8 => {
            let constant = one(chance);
            leaf.constant(constant)
                .text(format!(" {} {column}", chance.pick(COMPARISONS)))
        }
        9 | 10 => {
            let not = chance.pick(&["", "NOT "]);
            leaf.text(format!("{column} {not}IN ("))
                .list(some(chance))
                .text(")")
        }
        11 => {
            let not = chance.pick(&["", "NOT "]);
            leaf.text(format!("{column} {not}IN ("))
                .list(some(chance))
                .text(", NULL)")
        }
        12 | 13 => {
            let operator = chance.pick(COMPARISONS);
            let quantifier = chance.pick(&["ANY", "ANY", "ALL"]);
            leaf.text(format!("{column} {operator} {quantifier} ("))
                .constant(array_of(chance, term, form))
                .text(")")
        }
        14 | 15 => {
            let not = chance.pick(&["", "NOT "]);
            let symmetric = chance.pick(&["", "", "SYMMETRIC "]);
            let (low, high) = (one(chance), one(chance));
            leaf.text(format!("{column} {not}BETWEEN {symmetric}"))
                .constant(low)
                .text(" AND ")
                .constant(high)
        }
        16 | 17 => leaf.text(format!(
            "{column} {}",
            chance.pick(&["IS NULL", "IS NOT NULL"])
        )),
        _ => {
            let not = chance.pick(&["", "NOT "]);
            leaf.text(format!("{column} IS {not}DISTINCT FROM "))
                .constant(one(chance))
        }
    }
}

/// A constant array, sometimes with a NULL in it, sometimes empty.
fn array_of(chance: &mut Chance, term: &Term, form: Form) -> Constant {
    let count = chance.below(5);
    let constants: Vec<Constant> = (0..count)
        .map(|_| constant_of(chance, term, form))
        .collect();
    let sql = constants
        .first()
        .map_or(own_type(&term.family).to_owned(), |constant| {
            constant.sql.clone()
        });
    // A text cut to a length in an array would be cut to the shortest.
    let sql = if sql.starts_with("char") {
        "text".to_owned()
    } else {
        sql
    };
    let mut texts: Vec<String> = constants
        .iter()
        .map(|constant| constant.text.clone())
        .collect();
    if chance.percent(20) {
        texts.push("NULL".to_owned());
    }
    Constant {
        text: format!("ARRAY[{}]::{sql}[]", texts.join(", ")),
        sql: format!("{sql}[]"),
    }
}

fn boolean_leaf(chance: &mut Chance, term: &Term) -> Leaf {
    let column = &term.sql;
    let leaf = Leaf::default();
    match chance.below(4) {
        0 => leaf.text(column),
        1 => leaf.text(format!("NOT {column}")),
        2 => leaf.text(format!("{column} {}", chance.word(TESTS))),
        _ => leaf.text(format!(
            "({column} {} {})",
            chance.pick(COMPARISONS),
            chance.pick(&["true", "false"])
        )),
    }
}

fn pattern_leaf(chance: &mut Chance, term: &Term) -> Leaf {
    let column = &term.sql;
    let mut leaf = Leaf {
        fails: term.family
            == Family::Text {
                deterministic: false,
            },
        ..Leaf::default()
    };
    let constant = pattern(chance, &term.samples);
    match chance.below(9) {
        0 => {
            let form = Form::any(chance);
            let prefix = constant_of(chance, term, form);
            leaf = leaf.text(format!("{column} ^@ ")).constant(prefix);
        }
        1 => {
            let form = Form::any(chance);
            let prefix = constant_of(chance, term, form);
            leaf = leaf
                .text(format!("starts_with({column}, "))
                .constant(prefix)
                .text(")");
        }
        2 => leaf = leaf.text(format!("{column} ILIKE ")).constant(constant),
        3 => leaf = leaf.text(format!("{column} NOT LIKE ")).constant(constant),
        4 => {
            leaf = leaf
                .text(format!("{column} LIKE "))
                .constant(constant)
                .text(" ESCAPE '#'")
        }
        5 => {
            let list = Constant {
                text: format!("ARRAY[{}]", constant.text),
                sql: "text[]".to_owned(),
            };
            leaf = leaf
                .text(format!("{column} LIKE ANY ("))
                .constant(list)
                .text(")");
        }
        _ => leaf = leaf.text(format!("{column} LIKE ")).constant(constant),
    }
    // An escape at the end of a pattern is an error, once a value reaches it.
    leaf.fails = true;
    leaf
}

/// Functions and operators that only this database knows, volatile functions, and whole rows: nothing to push down.
fn unknown_leaf(chance: &mut Chance, terms: &Terms) -> Leaf {
    let term = terms.pick(chance);
    let column = &term.sql;
    let fails = term.fails;
    let leaf = Leaf {
        fails,
        ..Leaf::default()
    };
    let form = Form::any(chance);
    match chance.below(7) {
        0 => leaf.text(format!("is_odd_text(({column})::text)")),
        1 => leaf
            .text(format!("same_value({column}) = "))
            .constant(constant_of(chance, &term, form)),
        2 => leaf
            .text(format!("({column})::text === "))
            .constant(Constant {
                text: "'1'".to_owned(),
                sql: "text".to_owned(),
            }),
        3 => leaf.text("random() < 2"),
        4 => leaf.text(format!("(random() > 2 OR {column} IS NOT NULL)")),
        5 => leaf.text(format!(
            "t IS {}NULL",
            chance.pick(&["", "NOT ", "NOT DISTINCT FROM "])
        )),
        _ => leaf
            .text(format!("{column} = sometimes("))
            .constant(constant_of(chance, &term, form))
            .text(")"),
    }
}

/// Rows compared with rows.
fn row_leaf(chance: &mut Chance, terms: &Terms, first: &Term) -> Leaf {
    let second = terms.pick(chance);
    let form = Form::any(chance);
    let fails = first.fails || second.fails;
    let columns = format!("({}, {})", first.sql, second.sql);
    let pair = |leaf: Leaf, chance: &mut Chance| {
        let (left, right) = (
            constant_of(chance, first, form),
            constant_of(chance, &second, form),
        );
        leaf.text("(")
            .constant(left)
            .text(", ")
            .constant(right)
            .text(")")
    };
    let mut leaf = Leaf {
        fails,
        ..Leaf::default()
    };
    if chance.percent(30) {
        leaf = leaf.text(format!("{columns} {}IN (", chance.pick(&["", "NOT "])));
        leaf = pair(leaf, chance).text(", ");
        return pair(leaf, chance).text(")");
    }
    let operator = chance.pick(&[
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "IS DISTINCT FROM",
        "IS NOT DISTINCT FROM",
    ]);
    pair(leaf.text(format!("{columns} {operator} ")), chance)
}

fn between_columns(chance: &mut Chance, terms: &Terms, term: &Term) -> Leaf {
    let alike: Vec<&Term> = terms
        .scalars
        .iter()
        .filter(|other| {
            std::mem::discriminant(&other.family) == std::mem::discriminant(&term.family)
        })
        .collect();
    if alike.is_empty() {
        return comparison(chance, term);
    }
    let other = *chance.pick(&alike);
    let operator = chance.pick(&[
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "IS DISTINCT FROM",
        "IS NOT DISTINCT FROM",
    ]);
    Leaf::default().text(format!("{} {operator} {}", term.sql, other.sql))
}

fn array_leaf(chance: &mut Chance, term: &Term) -> Leaf {
    let column = &term.sql;
    let form = Form::any(chance);
    let leaf = Leaf::default();
    let one = |chance: &mut Chance| constant_of(chance, term, form);
    match chance.below(7) {
        0 | 1 => {
            let constant = one(chance);
            leaf.constant(constant)
                .text(format!(" {} ANY ({column})", chance.pick(COMPARISONS)))
        }
        2 => {
            let constant = one(chance);
            leaf.constant(constant)
                .text(format!(" {} ALL ({column})", chance.pick(COMPARISONS)))
        }
        3 => leaf
            .text(format!("{column}[1] {} ", chance.pick(COMPARISONS)))
            .constant(one(chance)),
        4 => leaf.text(format!(
            "{column} {}",
            chance.pick(&["IS NULL", "IS NOT NULL"])
        )),
        5 => {
            let operator = chance.pick(&["=", "<>", "<", "@>", "&&"]);
            let form = Form::any(chance);
            leaf.text(format!("{column} {operator} "))
                .constant(array_of(chance, term, form))
        }
        _ => leaf.text(format!(
            "cardinality({column}) {} {}",
            chance.pick(COMPARISONS),
            chance.below(4)
        )),
    }
}

fn other_leaf(chance: &mut Chance, term: &Term) -> Leaf {
    let column = &term.sql;
    let leaf = Leaf::default();
    match (&term.family, chance.below(4)) {
        (_, 0 | 1) => leaf.text(format!(
            "{column} {}",
            chance.pick(&["IS NULL", "IS NOT NULL"])
        )),
        (Family::Composite(_), 2) => leaf.text(format!(
            "{column} {} {column}",
            chance.pick(&["=", "<>", "<=", "IS NOT DISTINCT FROM"])
        )),
        (Family::Composite(_), _) => leaf.text(format!(
            "{column} IS {}DISTINCT FROM NULL",
            chance.pick(&["", "NOT "])
        )),
        (_, 2) => {
            let form = Form::any(chance);
            let constant = constant(chance, &Family::Jsonb, &Kind::String, &[], form);
            leaf.text(format!(
                "{column} {} ",
                chance.pick(&["=", "<>", "@>", "<"])
            ))
            .constant(constant)
        }
        (_, _) => leaf.text(format!("({column})::text LIKE '%1%'")),
    }
}
