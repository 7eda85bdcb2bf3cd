//! The README's tables of options, rendered from the extension's own table of options.
//! The README keeps them between two marks; everything else in it is written by hand.

#[path = "../../../src/postgres/options/known/mod.rs"]
pub mod known;

use std::fmt::Write;

use known::{OPTIONS, OptionRow, Place, Support};

/// The line above the rendered tables.
pub const BEGIN: &str = "<!-- option tables: begin -->";
/// The line below them.
pub const END: &str = "<!-- option tables: end -->";

const HEADINGS: &[(Place, &str)] = &[
    (Place::Server, "Server options (`CREATE SERVER`)"),
    (
        Place::UserMapping,
        "User mapping options (`CREATE USER MAPPING`): secrets stand here and nowhere else; local files need none",
    ),
    (Place::Table, "Table options (`CREATE FOREIGN TABLE`)"),
    (Place::Column, "Column options"),
    (Place::Import, "Options of `IMPORT FOREIGN SCHEMA`"),
];

/// All tables as Markdown, with the names that are reserved for later below each.
pub fn markdown() -> String {
    let mut text = String::new();
    for (place, heading) in HEADINGS {
        let (now, later): (Vec<_>, Vec<_>) = OPTIONS
            .iter()
            .filter(|row| row.places.contains(place))
            .partition(|row| row.support == Support::Yes);
        let _ = writeln!(text, "\n**{heading}**\n");
        text.push_str(
            "| option | value | default | what it decides |\n| --- | --- | --- | --- |\n",
        );
        for row in now {
            line(&mut text, *place, row);
        }
        if !later.is_empty() {
            let names: Vec<_> = later.iter().map(|row| format!("`{}`", row.name)).collect();
            let _ = writeln!(text, "\nKnown but not supported yet: {}.", names.join(", "));
        }
    }
    text.push('\n');
    text
}

fn line(text: &mut String, place: Place, row: &OptionRow) {
    let default = match row.default {
        Some(_) if place != Place::Server && row.places.contains(&Place::Server) => {
            "the server's".to_owned()
        }
        Some(default) => format!("`{default}`"),
        None => String::new(),
    };
    let _ = writeln!(
        text,
        "| `{}` | {} | {default} | {} |",
        row.name,
        row.kind.allowed(),
        row.text
    );
}

/// The document with what stands between the marks replaced by the tables; `None` without marks.
pub fn with_tables(document: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}{END}{after}", markdown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_stands_in_the_tables() {
        let text = markdown();
        for row in OPTIONS {
            assert!(text.contains(&format!("`{}`", row.name)), "{}", row.name);
        }
    }

    #[test]
    fn only_the_part_between_the_marks_changes() {
        let document = format!("head\n{BEGIN}\nreplaceable\n{END}\ntail\n");
        let changed = with_tables(&document).expect("the marks are there");
        assert!(changed.starts_with("head\n") && changed.ends_with("\ntail\n"));
        assert!(!changed.contains("replaceable"));
        assert_eq!(with_tables(&changed).as_deref(), Some(changed.as_str()));
        assert_eq!(with_tables("no marks"), None);
    }
}
