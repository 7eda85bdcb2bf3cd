//! How stores are reached and with what rights: settings by `object_store`'s names, secrets apart.
//! No spec section; a secret's value never becomes part of a message or a debug text.

use std::collections::BTreeMap;
use std::fmt;

use super::location::Location;
use crate::error::{Error, ErrorKind};

/// Settings of all stores that a table may lie in. Equal settings give the same rights.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct StoreSettings {
    settings: BTreeMap<String, String>,
    secrets: BTreeMap<String, String>,
}

impl StoreSettings {
    /// Whether credentials of the process' environment and machine may be used.
    pub const USE_AMBIENT_CREDENTIALS: &'static str = "use_ambient_credentials";
    /// Whether link-local addresses may be reached.
    pub const ALLOW_LINK_LOCAL: &'static str = "allow_link_local";
    /// Whether requests go out unsigned.
    pub const SKIP_SIGNATURE: &'static str = "skip_signature";
    /// Whether stores may be reached without encryption.
    pub const ALLOW_HTTP: &'static str = "allow_http";

    /// Settings, and the secrets of who reads. A switch is on if its value is `true`.
    pub fn new(
        settings: impl IntoIterator<Item = (String, String)>,
        secrets: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        Self {
            settings: settings.into_iter().collect(),
            secrets: secrets.into_iter().collect(),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    pub(super) fn secret(&self, name: &str) -> Option<&str> {
        self.secrets.get(name).map(String::as_str)
    }

    /// The error for a store whose credentials nobody gave; `needed` names the options they stand in.
    pub(super) fn no_credentials(location: &Location, needed: &str) -> Error {
        Error::new(
            ErrorKind::Unauthenticated,
            format!("there are no credentials to read \"{location}\" with"),
        )
        .with_hint(format!(
            "Give {needed} in a user mapping: CREATE USER MAPPING FOR ... SERVER ... OPTIONS (...); for data that \
             everybody may read, set the server option skip_signature."
        ))
    }
}

impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSettings")
            .field("settings", &self.settings)
            .field("secrets", &self.secrets.keys())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_named_but_not_shown() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = StoreSettings::new(
            [pair("region", "eu-north-1")],
            [pair("secret_access_key", "hush-hush")],
        );
        let text = format!("{settings:?}");
        assert!(text.contains("eu-north-1") && text.contains("secret_access_key"));
        assert!(!text.contains("hush"), "{text}");
    }
}
