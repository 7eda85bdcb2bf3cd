//! What an error of the server must say: its SQLSTATE, and words of its message, detail or hint.

use postgres::error::DbError;

/// The server's error of a statement that had to fail.
///
/// # Panics
/// When the statement succeeded, or failed without the server saying so.
pub fn server_error<T>(result: Result<T, postgres::Error>) -> DbError {
    match result {
        Ok(_) => panic!("the statement succeeded, but an error was expected"),
        Err(error) => match error.as_db_error() {
            Some(error) => error.clone(),
            None => panic!("the connection failed: {error}"),
        },
    }
}

/// All that an error says to a user.
pub fn text(error: &DbError) -> String {
    let mut text = format!("{}: {}", error.code().code(), error.message());
    for (name, more) in [
        ("detail", error.detail()),
        ("hint", error.hint()),
        ("context", error.where_()),
    ] {
        if let Some(more) = more {
            text.push_str(&format!("\n{name}: {more}"));
        }
    }
    text
}

/// Asserts that a statement failed with one of the SQLSTATEs and that the error names every part.
pub fn expect<T>(result: Result<T, postgres::Error>, states: &[&str], parts: &[&str]) {
    let error = server_error(result);
    let text = text(&error);
    assert!(
        states.contains(&error.code().code()),
        "expected SQLSTATE {states:?}, got {text}"
    );
    for part in parts {
        assert!(
            text.contains(part),
            "the error does not say {part:?}: {text}"
        );
    }
}
