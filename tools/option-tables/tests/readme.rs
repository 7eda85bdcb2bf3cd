//! The README's tables of options are those of the code.

use std::path::Path;

use option_tables::with_tables;

#[test]
fn the_readme_has_the_tables_of_the_code() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let document = std::fs::read_to_string(file).expect("README.md can be read");
    let expected = with_tables(&document).expect("README.md has the marks of the option tables");
    assert!(
        document == expected,
        "the option tables are not those of the code: run `cargo run -p option-tables README.md`"
    );
}
