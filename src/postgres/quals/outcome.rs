//! What a condition comes to: SQL's three truth values, and predicates that say for which rows it is which.
//! Postgres' documentation: "Logical Operators".

use iceberg_core::spec::Predicate;

/// Some of the three truth values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcomes {
    /// True.
    pub yes: bool,
    /// False.
    pub no: bool,
    /// Null.
    pub unknown: bool,
}

/// What can be done with a condition; the greater, the more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Only Postgres can check it.
    Local,
    /// It tells what need not be read, and Postgres checks it again.
    Inexact,
    /// The reader checks it with Postgres' own meaning.
    Exact,
}

/// A predicate for a condition to have one of some outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct Translated {
    /// True of every row for which it has one of them, and if the class is `Exact` of no other.
    pub predicate: Predicate,
    /// How much the predicate says.
    pub class: Class,
}

/// Predicates for each outcome of a condition that is no combination of others.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// When it is true.
    pub yes: Predicate,
    /// When it is false.
    pub no: Predicate,
    /// When it is null.
    pub unknown: Predicate,
    /// How much all three say.
    pub class: Class,
}

impl Outcomes {
    /// True.
    pub const YES: Self = Self::of(true, false, false);
    /// False.
    pub const NO: Self = Self::of(false, true, false);
    /// Null.
    pub const UNKNOWN: Self = Self::of(false, false, true);

    /// Those of the three.
    pub const fn of(yes: bool, no: bool, unknown: bool) -> Self {
        Self { yes, no, unknown }
    }

    /// Those that a condition has when its negation has these.
    pub fn negated(self) -> Self {
        Self::of(self.no, self.yes, self.unknown)
    }

    /// All others.
    pub fn others(self) -> Self {
        Self::of(!self.yes, !self.no, !self.unknown)
    }
}

impl Translated {
    /// Nothing is known.
    pub const LOCAL: Self = Self {
        predicate: Predicate::True,
        class: Class::Local,
    };

    /// Just the rows of a predicate.
    pub fn exact(predicate: Predicate) -> Self {
        Self {
            predicate,
            class: Class::Exact,
        }
    }

    /// All have their outcome. One that says nothing is left out.
    pub fn all(parts: Vec<Self>) -> Self {
        let class = if parts.iter().all(|part| part.class == Class::Exact) {
            Class::Exact
        } else if parts.iter().any(|part| part.class > Class::Local) {
            Class::Inexact
        } else {
            Class::Local
        };
        Self {
            predicate: Predicate::and(parts.into_iter().map(|part| part.predicate)),
            class,
        }
    }

    /// At least one has its outcome. Where one says nothing, nothing is known.
    pub fn any(parts: Vec<Self>) -> Self {
        let class = parts.iter().map(|part| part.class).min();
        Self {
            predicate: Predicate::or(parts.into_iter().map(|part| part.predicate)),
            class: class.unwrap_or(Class::Exact),
        }
    }
}

impl Leaf {
    /// The same for every row; null for `None`.
    pub fn constant(value: Option<bool>) -> Self {
        let holds = |is| {
            if is {
                Predicate::True
            } else {
                Predicate::False
            }
        };
        Self {
            yes: holds(value == Some(true)),
            no: holds(value == Some(false)),
            unknown: holds(value.is_none()),
            class: Class::Exact,
        }
    }

    /// What cannot be known before the scan begins, but will be to the extent of `class` then.
    pub fn later(class: Class) -> Self {
        Self {
            yes: Predicate::True,
            no: Predicate::True,
            unknown: Predicate::True,
            class,
        }
    }

    /// The same, of which no more than `class` is said.
    #[must_use]
    pub fn at_most(self, class: Class) -> Self {
        Self {
            class: self.class.min(class),
            ..self
        }
    }

    /// The same, with more rows that may have any outcome.
    #[must_use]
    pub fn keeping(self, rows: &Predicate) -> Self {
        let with = |predicate| Predicate::or([predicate, rows.clone()]);
        Self {
            yes: with(self.yes),
            no: with(self.no),
            unknown: with(self.unknown),
            class: self.class,
        }
    }

    /// Its negation, or itself.
    #[must_use]
    pub fn negated_if(self, negate: bool) -> Self {
        if !negate {
            return self;
        }
        Self {
            yes: self.no,
            no: self.yes,
            ..self
        }
    }

    /// When it has one of some outcomes.
    pub fn with(self, wanted: Outcomes) -> Translated {
        let parts = [
            (wanted.yes, self.yes),
            (wanted.no, self.no),
            (wanted.unknown, self.unknown),
        ];
        Translated {
            predicate: Predicate::or(
                parts
                    .into_iter()
                    .filter_map(|(is_wanted, predicate)| is_wanted.then_some(predicate)),
            ),
            class: self.class,
        }
    }
}
