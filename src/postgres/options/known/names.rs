//! What places are called in messages, which options each has, and which name a misspelt one is
//! nearest to.

use super::table::{OPTIONS, OptionRow, Place};

/// Every place.
pub const PLACES: &[Place] = &[
    Place::Wrapper,
    Place::Server,
    Place::UserMapping,
    Place::Table,
    Place::Column,
    Place::Import,
];

impl Place {
    /// In a sentence: "option … cannot stand on …".
    pub fn noun(self) -> &'static str {
        match self {
            Self::Wrapper => "a foreign data wrapper",
            Self::Server => "a server",
            Self::UserMapping => "a user mapping",
            Self::Table => "a foreign table",
            Self::Column => "a column",
            Self::Import => "IMPORT FOREIGN SCHEMA",
        }
    }

    /// The options that may stand here.
    pub fn options(self) -> impl Iterator<Item = &'static OptionRow> {
        OPTIONS.iter().filter(move |row| row.places.contains(&self))
    }
}

/// How far a name may be from the option that is proposed for it.
const NEAR: usize = 4;

/// Of these options the one whose name is nearest to `name`, if one is near: at most [`NEAR`]
/// changed letters and no more than half of them.
pub fn nearest(
    name: &str,
    options: impl Iterator<Item = &'static OptionRow>,
) -> Option<&'static OptionRow> {
    let most = NEAR.min(name.chars().count() / 2);
    let name = name.to_lowercase();
    options
        .map(|row| (strsim::damerau_levenshtein(&name, row.name), row))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, row)| row)
}

/// Names in a row for a message: `"a", "b" and "c"`.
pub fn list(names: impl Iterator<Item = &'static str>) -> String {
    let quoted: Vec<_> = names.map(|name| format!("\"{name}\"")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_proposed_only_when_near() {
        let near = |name| nearest(name, Place::Table.options()).map(|row| row.name);
        assert_eq!(near("locatoin"), Some("location"));
        assert_eq!(near("Location"), Some("location"));
        assert_eq!(near("tablename"), Some("table_name"));
        assert_eq!(near("xyz"), None);
        assert_eq!(near("warehouse"), None);
    }

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(list(["a"].into_iter()), "\"a\"");
        assert_eq!(list(["a", "b", "c"].into_iter()), "\"a\", \"b\" and \"c\"");
    }
}
