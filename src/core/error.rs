//! The one error type of the core: a category that a caller can act on, and a text for a person.
//! The extension maps the category to an SQLSTATE in one place.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// What kind of thing went wrong; decides the SQLSTATE a user sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A file's content contradicts its format or the Iceberg spec.
    Corrupt,
    /// No table is where one was expected, or the named metadata file is not there.
    TableNotFound,
    /// A file that the metadata names does not exist.
    FileNotFound,
    /// There are several equally good answers and the caller must choose.
    Ambiguous,
    /// The store or catalog cannot be reached.
    Unreachable,
    /// The store or the safety rules deny access to a path.
    PermissionDenied,
    /// The store or catalog does not accept the credentials.
    Unauthenticated,
    /// Valid Iceberg that this version cannot read or do.
    NotSupported,
    /// A value given by the user (an option, an argument) cannot be used.
    InvalidArgument,
    /// A stored value does not fit the type it is wanted as.
    OutOfRange,
    /// A stored text is not valid in its encoding.
    InvalidText,
    /// Two types that cannot be reconciled.
    TypeMismatch,
    /// More memory would be needed than a setting allows.
    MemoryLimit,
    /// A fault of this program.
    Internal,
}

/// An error with its category, a message that names the file or option at fault, and, where there
/// is something a user can do, a hint.
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The result of everything in the core that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` with a message for the user.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            detail: None,
            hint: None,
            source: None,
        }
    }

    /// A file whose content contradicts its format: `file "…": what`.
    pub fn corrupt(file: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Corrupt, format!("file \"{file}\": {what}"))
    }

    /// A feature of Iceberg that this version does not have yet.
    pub fn not_supported(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotSupported, what)
    }

    /// Adds a longer explanation.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Keeps the error that this one came from.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Puts the file at fault in front of a message that does not name it yet.
    #[must_use]
    pub fn in_file(mut self, file: impl fmt::Display) -> Self {
        self.message = format!("file \"{file}\": {}", self.message);
        self
    }

    /// Puts the column at fault in front of a message that does not name it yet.
    #[must_use]
    pub fn in_column(mut self, column: impl fmt::Display) -> Self {
        self.message = format!("column \"{column}\": {}", self.message);
        self
    }

    /// The category.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The primary message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The longer explanation, if there is one.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// What the user can do, if anything.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
