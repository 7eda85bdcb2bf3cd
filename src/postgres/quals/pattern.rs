//! Patterns of LIKE and prefixes: what begins with what.
//! Postgres' documentation: "Pattern Matching", "LIKE".

use iceberg_core::spec::{Check, Comparison, Predicate, PrimitiveValue};
use pgrx::pg_sys::{self, Datum, Oid};

use super::collation::TextRules;
use super::column::{Column, Image};
use super::constants::Known;
use super::outcome::{Class, Leaf};
use super::{test, text};

/// What a pattern of LIKE matches.
#[derive(Debug, PartialEq, Eq)]
enum Pattern {
    /// Just this.
    Just(Vec<u8>),
    /// Whatever begins so.
    Begins(Vec<u8>),
    /// Some of what begins so.
    SomeOf(Vec<u8>),
}

impl Pattern {
    /// Reads a pattern; `None` where Postgres finds fault with it.
    fn parse(pattern: &[u8]) -> Option<Self> {
        let mut prefix = Vec::new();
        let mut bytes = pattern.iter().copied();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\\' => prefix.push(bytes.next()?),
                b'%' if bytes.all(|byte| byte == b'%') => return Some(Self::Begins(prefix)),
                // A fault that comes later is found only where a text matches so far.
                b'%' | b'_' => return Some(Self::SomeOf(prefix)),
                _ => prefix.push(byte),
            }
        }
        Some(Self::Just(prefix))
    }
}

impl Column {
    /// How LIKE with a pattern comes out; `None` if it is not understood.
    ///
    /// # Safety
    /// A known value is a `text`, or a `bytea` where the column is one.
    pub unsafe fn like(&self, collation: Oid, pattern: Known) -> Option<Leaf> {
        let class = self.pattern_class(collation)?;
        let pattern = match pattern {
            Known::Null => return Some(Leaf::constant(None)),
            // It may turn out to be any pattern.
            Known::Later => return Some(Leaf::later(Class::Inexact)),
            // SAFETY: by the contract.
            Known::Value(value) => unsafe { self.pattern_bytes(value) },
        };
        let not_null = self.is_not_null();
        let some_of = |prefix: Vec<u8>| {
            Some(Leaf {
                yes: self.begins(prefix).unwrap_or_else(|| not_null.clone()),
                no: not_null.clone(),
                unknown: self.is_null(),
                class: Class::Inexact,
            })
        };
        match Pattern::parse(&pattern?)? {
            Pattern::SomeOf(prefix) => some_of(prefix),
            Pattern::Begins(prefix) if prefix.is_empty() => Some(Leaf {
                yes: not_null,
                no: Predicate::False,
                unknown: self.is_null(),
                class,
            }),
            Pattern::Begins(prefix) => match self.value(prefix.clone()) {
                Some(value) => Some(Leaf {
                    yes: test(&self.term, Check::StartsWith(value.clone())),
                    no: test(&self.term, Check::NotStartsWith(value)),
                    unknown: self.is_null(),
                    class,
                }),
                None => some_of(prefix),
            },
            Pattern::Just(whole) => Some(match self.value(whole) {
                Some(value) => Leaf {
                    yes: test(&self.term, Check::Compare(Comparison::Equal, value.clone())),
                    no: test(&self.term, Check::Compare(Comparison::NotEqual, value)),
                    unknown: self.is_null(),
                    class,
                },
                None => Leaf {
                    yes: Predicate::False,
                    no: not_null,
                    unknown: self.is_null(),
                    class,
                },
            }),
        }
    }

    /// How `^@` and `starts_with` come out; `None` if they are not understood.
    ///
    /// # Safety
    /// A known value is a `text`.
    pub unsafe fn starts_with(&self, collation: Oid, prefix: Known) -> Option<Leaf> {
        if self.image != Image::Text {
            return None;
        }
        // In SQL_ASCII a prefix may end inside of a character.
        let class = TextRules::of(collation)
            .equality
            .min(if super::collation::is_utf8() {
                Class::Exact
            } else {
                Class::Inexact
            });
        if class == Class::Local {
            return None;
        }
        let prefix = match prefix {
            Known::Null => return Some(Leaf::constant(None).at_most(class)),
            Known::Later => return Some(Leaf::later(class)),
            // SAFETY: by the contract.
            Known::Value(value) => unsafe { text::utf8(value, pg_sys::TEXTOID) },
        };
        let Some(prefix) = prefix else {
            return Some(Leaf::later(class));
        };
        let prefix = PrimitiveValue::String(prefix);
        Some(Leaf {
            yes: test(&self.term, Check::StartsWith(prefix.clone())),
            no: test(&self.term, Check::NotStartsWith(prefix)),
            unknown: self.is_null(),
            class,
        })
    }

    fn pattern_class(&self, collation: Oid) -> Option<Class> {
        let class = match self.image {
            Image::Text => TextRules::of(collation).equality,
            Image::Bytes => Class::Exact,
            _ => Class::Local,
        };
        (class > Class::Local).then_some(class)
    }

    /// # Safety
    /// As [`Column::like`].
    unsafe fn pattern_bytes(&self, value: Datum) -> Option<Vec<u8>> {
        // SAFETY: by the contract.
        unsafe {
            match self.image {
                Image::Bytes => Some(text::bytes(value)),
                // Bytes that are no UTF-8 are matched by no text.
                _ => text::utf8(value, pg_sys::TEXTOID).map(String::into_bytes),
            }
        }
    }

    fn value(&self, bytes: Vec<u8>) -> Option<PrimitiveValue> {
        match self.image {
            Image::Bytes => Some(self.bytes(bytes)),
            _ => String::from_utf8(bytes).ok().map(PrimitiveValue::String),
        }
    }

    fn begins(&self, prefix: Vec<u8>) -> Option<Predicate> {
        if prefix.is_empty() {
            return None;
        }
        let value = self.value(prefix)?;
        Some(test(&self.term, Check::StartsWith(value)))
    }
}
