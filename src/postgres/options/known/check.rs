//! Checks a whole list of options as Postgres hands it to a validator: after `ALTER … OPTIONS` too
//! it is the complete new list. A secret's value never becomes part of a message.

use super::kind::ValueFault;
use super::names::{list, nearest};
use super::table::{OPTIONS, OptionRow, Place, Support, find};

/// What kind of mistake was made; decides the SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// There is no such option, or not here.
    Name,
    /// The value cannot be used.
    Value,
    /// Two options exclude each other, or one stands twice.
    Conflict,
    /// An option that must be there is not.
    Missing,
    /// Known, but this version cannot do it.
    NotSupported,
}

/// A mistake in a list of options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What kind of mistake.
    pub kind: FaultKind,
    /// The primary message.
    pub message: String,
    /// What is allowed, or what to do.
    pub hint: Option<String>,
}

impl Fault {
    fn new(kind: FaultKind, message: String) -> Self {
        Self {
            kind,
            message,
            hint: None,
        }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

/// The options that choose the snapshot to read, of which only one can stand on a table.
pub const SELECTORS: &[&str] = &["snapshot_id", "timestamp_ms", "ref"];

/// Checks the complete list of options, as (name, value), that stands at a place.
pub fn check(place: Place, given: &[(String, String)]) -> Result<(), Fault> {
    for (index, (name, value)) in given.iter().enumerate() {
        let row = known_here(place, name)?;
        if given.iter().take(index).any(|(other, _)| other == name) {
            return Err(Fault::new(
                FaultKind::Conflict,
                format!("option \"{name}\" is given more than once"),
            ));
        }
        check_value(row, value)?;
    }
    match place {
        Place::Table => check_table(given),
        Place::Column => check_column(given),
        Place::Wrapper | Place::Server | Place::UserMapping | Place::Import => Ok(()),
    }
}

/// The option of this name if it may stand here and this version has it.
fn known_here(place: Place, name: &str) -> Result<&'static OptionRow, Fault> {
    let Some(row) = find(name) else {
        return Err(unknown(place, name));
    };
    if !row.places.contains(&place) {
        return Err(misplaced(place, row));
    }
    if row.support == Support::NotYet {
        return Err(Fault::new(
            FaultKind::NotSupported,
            format!("option \"{name}\" is not supported yet"),
        )
        .hint("The name is reserved for a later version."));
    }
    Ok(row)
}

fn unknown(place: Place, name: &str) -> Fault {
    let fault = Fault::new(
        FaultKind::Name,
        format!("invalid option \"{name}\" for {}", place.noun()),
    );
    if let Some(row) = nearest(name, place.options()) {
        return fault.hint(format!("Perhaps you meant the option \"{}\".", row.name));
    }
    if let Some(row) = nearest(name, OPTIONS.iter()) {
        return fault.hint(format!(
            "Perhaps you meant the option \"{}\", which belongs on {}.",
            row.name,
            home(row).noun()
        ));
    }
    let supported = place
        .options()
        .filter(|row| row.support == Support::Yes)
        .map(|row| row.name);
    match list(supported) {
        names if names.is_empty() => fault.hint("There are no options here."),
        names => fault.hint(format!("Valid options here are {names}.")),
    }
}

fn misplaced(place: Place, row: &OptionRow) -> Fault {
    let name = row.name;
    let message = match row.secret {
        true => format!("option \"{name}\" is a secret and may stand only in a user mapping"),
        false => format!("option \"{name}\" cannot be set for {}", place.noun()),
    };
    let hint = match home(row) {
        Place::Wrapper | Place::Server => {
            format!("It belongs on the server: ALTER SERVER ... OPTIONS (ADD {name} ...).")
        }
        Place::UserMapping => {
            format!("Use CREATE USER MAPPING FOR ... SERVER ... OPTIONS ({name} ...).")
        }
        Place::Table => {
            format!(
                "It belongs on the foreign table: ALTER FOREIGN TABLE ... OPTIONS (ADD {name} ...)."
            )
        }
        Place::Column => format!(
            "It belongs on a column: ALTER FOREIGN TABLE ... ALTER COLUMN ... OPTIONS (ADD {name} ...)."
        ),
        Place::Import => format!("It belongs in IMPORT FOREIGN SCHEMA ... OPTIONS ({name} ...)."),
    };
    Fault::new(FaultKind::Name, message).hint(hint)
}

/// The place a user is sent to for this option.
fn home(row: &OptionRow) -> Place {
    row.places.first().copied().unwrap_or(Place::Server)
}

fn check_value(row: &OptionRow, value: &str) -> Result<(), Fault> {
    let name = row.name;
    if value.is_empty() {
        return Err(Fault::new(
            FaultKind::Value,
            format!("option \"{name}\" must not be empty"),
        )
        .hint("Leave the option out instead."));
    }
    // A URL may have a password in front of its host.
    let is_hidden = row.secret || (row.kind.is_url() && value.contains('@'));
    let shown = |what: &str| match is_hidden {
        true => format!("{what} for option \"{name}\""),
        false => format!("{what} for option \"{name}\": \"{value}\""),
    };
    row.kind.check(value).map_err(|fault| match fault {
        ValueFault::Wrong(allowed) => Fault::new(FaultKind::Value, shown("invalid value"))
            .hint(format!("Allowed: {allowed}.")),
        ValueFault::NotYet(what) => Fault::new(
            FaultKind::NotSupported,
            format!("option \"{name}\": {what} is not supported yet"),
        )
        .hint("This version finds tables by path, in local directories, on S3, Google and Azure stores and on web servers."),
    })
}

/// What must hold among the options of one foreign table.
fn check_table(given: &[(String, String)]) -> Result<(), Fault> {
    let has = |wanted: &str| given.iter().any(|(name, _)| name == wanted);
    let (location, namespace, table_name) = (has("location"), has("namespace"), has("table_name"));
    let missing = |what: &str| Fault::new(FaultKind::Missing, what.to_owned());
    let mut selectors = SELECTORS.iter().copied().filter(|name| has(name));
    if let (Some(one), Some(other)) = (selectors.next(), selectors.next()) {
        return Err(conflict(one, other).hint("Only one of them can choose the snapshot to read."));
    }
    let conflict = |one, other| {
        conflict(one, other)
            .hint("The table is found either by its location or by its namespace and name.")
    };
    match (location, namespace, table_name) {
        (true, false, false) | (false, true, true) => Ok(()),
        (true, true, _) => Err(conflict("location", "namespace")),
        (true, false, true) => Err(conflict("location", "table_name")),
        (false, false, false) => Err(missing(
            "a foreign table needs the option \"location\", or \"namespace\" and \"table_name\"",
        )
        .hint("Give the table's directory as location, or its namespace and name under the server's warehouse.")),
        (false, true, false) => Err(missing(
            "option \"namespace\" needs the option \"table_name\" beside it",
        )),
        (false, false, true) => Err(missing(
            "option \"table_name\" needs the option \"namespace\" beside it",
        )),
    }
}

/// What must hold among the options of one column.
fn check_column(given: &[(String, String)]) -> Result<(), Fault> {
    let has = |wanted: &str| given.iter().any(|(name, _)| name == wanted);
    let of_a_field = ["field_id", "column_name"]
        .into_iter()
        .find(|name| has(name));
    match of_a_field {
        Some(other) if has("metadata_column") => Err(conflict("metadata_column", other)
            .hint("A column is either a field of the table or something about the row.")),
        _ => Ok(()),
    }
}

fn conflict(one: &str, other: &str) -> Fault {
    Fault::new(
        FaultKind::Conflict,
        format!("options \"{one}\" and \"{other}\" cannot be given together"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(place: Place, given: &[(&str, &str)]) -> Fault {
        let given: Vec<_> = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        check(place, &given).expect_err("the list must be refused")
    }

    #[test]
    fn unknown_names_are_answered_with_the_nearest() {
        let nearest = fault(Place::Server, &[("warehose", "/x")]);
        assert_eq!(nearest.kind, FaultKind::Name);
        assert!(
            nearest
                .hint
                .is_some_and(|hint| hint.contains("\"warehouse\""))
        );
        let elsewhere = fault(Place::Server, &[("secret_acess_key", "hush")]);
        assert!(
            elsewhere
                .hint
                .is_some_and(|hint| hint.contains("user mapping"))
        );
        let nowhere = fault(Place::Column, &[("zzz", "1")]);
        assert!(
            nowhere
                .hint
                .is_some_and(|hint| hint.contains("\"field_id\""))
        );
    }

    #[test]
    fn a_known_name_is_sent_to_its_place() {
        let misplaced = fault(Place::Table, &[("warehouse", "/x"), ("location", "/x")]);
        assert_eq!(misplaced.kind, FaultKind::Name);
        assert!(
            misplaced
                .hint
                .is_some_and(|hint| hint.contains("ALTER SERVER"))
        );
        assert_eq!(
            fault(Place::Wrapper, &[("location", "/x")]).kind,
            FaultKind::Name
        );
    }

    #[test]
    fn secrets_are_never_shown() {
        for row in OPTIONS.iter().filter(|row| row.secret) {
            for place in [Place::Server, Place::Table, Place::Column, Place::Import] {
                let fault = fault(place, &[(row.name, "hush-hush")]);
                assert_eq!(fault.kind, FaultKind::Name);
                assert!(!format!("{fault:?}").contains("hush"), "{}", row.name);
            }
            assert!(check(Place::UserMapping, &[(row.name.into(), "hush".into())]).is_ok());
            assert_eq!(
                fault(Place::UserMapping, &[(row.name, "")]).kind,
                FaultKind::Value
            );
        }
    }

    #[test]
    fn a_table_is_named_in_one_way() {
        let kind = |given: &[(&str, &str)]| fault(Place::Table, given).kind;
        assert_eq!(kind(&[]), FaultKind::Missing);
        assert_eq!(kind(&[("updatable", "on")]), FaultKind::Missing);
        assert_eq!(kind(&[("namespace", "a")]), FaultKind::Missing);
        assert_eq!(kind(&[("table_name", "a")]), FaultKind::Missing);
        assert_eq!(
            kind(&[("location", "/a"), ("table_name", "a")]),
            FaultKind::Conflict
        );
        assert_eq!(
            kind(&[("location", "/a"), ("namespace", "a"), ("table_name", "a")]),
            FaultKind::Conflict
        );
        assert_eq!(
            kind(&[("location", "/a"), ("location", "/b")]),
            FaultKind::Conflict
        );
    }

    #[test]
    fn one_snapshot_is_chosen() {
        let chosen = [
            ("snapshot_id", "1"),
            ("timestamp_ms", "-1"),
            ("ref", "main"),
        ];
        for one in chosen {
            let alone =
                [("location", "/a"), one].map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(check(Place::Table, &alone), Ok(()));
            for other in chosen.into_iter().filter(|other| *other != one) {
                let fault = fault(Place::Table, &[("location", "/a"), one, other]);
                assert_eq!(fault.kind, FaultKind::Conflict);
                assert!(fault.message.contains(one.0) && fault.message.contains(other.0));
            }
        }
        assert_eq!(
            fault(Place::Table, &[("location", "/a"), ("snapshot_id", "x")]).kind,
            FaultKind::Value
        );
    }

    #[test]
    fn what_is_not_supported_yet_says_so() {
        assert_eq!(
            fault(Place::Server, &[("catalog_type", "rest")]).kind,
            FaultKind::NotSupported
        );
        assert_eq!(
            fault(Place::Server, &[("catalog_type", "restful")]).kind,
            FaultKind::Value
        );
    }

    #[test]
    fn a_column_is_a_field_or_something_about_the_row() {
        let column = |given: &[(&str, &str)]| fault(Place::Column, given).kind;
        for other in [("field_id", "1"), ("column_name", "a")] {
            let given = [("metadata_column", "_file"), other];
            assert_eq!(column(&given), FaultKind::Conflict);
        }
        assert_eq!(column(&[("metadata_column", "_deleted")]), FaultKind::Value);
        let both = [("field_id", "1"), ("column_name", "a")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert!(check(Place::Column, &both).is_ok());
    }

    #[test]
    fn values_are_named_with_what_is_allowed() {
        let bad = fault(Place::Table, &[("location", "/a"), ("updatable", "maybe")]);
        assert_eq!(bad.kind, FaultKind::Value);
        assert!(bad.message.contains("\"updatable\"") && bad.message.contains("\"maybe\""));
        assert_eq!(bad.hint.as_deref(), Some("Allowed: true or false."));
    }
}
