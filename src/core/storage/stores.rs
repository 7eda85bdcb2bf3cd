//! Stores that are set up once and kept, with their open connections, for the queries that follow.
//! No spec section.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::location::{Backend, Location};
use super::remote::Objects;
use super::settings::StoreSettings;
use super::{azure, gcs, http, s3};
use crate::error::{Error, Result};

/// How many are kept; the one that was not used for longest goes first.
const KEPT_STORES: usize = 32;

/// A bucket, container or host, reached with certain settings.
#[derive(Debug, Clone)]
pub(super) struct Store {
    /// Differs for every store of the process: what one says does not hold for another.
    pub(super) id: u64,
    pub(super) objects: Objects,
}

/// The store that a location is in, as these settings reach it: other credentials, another store.
///
/// # Errors
/// `NotSupported` for a scheme that no store has; `Unauthenticated` without credentials where some are needed;
/// `InvalidArgument` for a location or settings that cannot be used.
pub(super) fn find(location: &Location, settings: &StoreSettings) -> Result<Store> {
    let key = Key {
        scheme: location.scheme().to_owned(),
        authority: location.authority().to_owned(),
        settings: settings.clone(),
        // Connections end with the runtime that opened them.
        runtime: tokio::runtime::Handle::try_current()
            .ok()
            .map(|handle| handle.id()),
    };
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = kept.iter().position(|(other, _)| *other == key) {
        let found = kept.remove(at);
        let store = found.1.clone();
        kept.push(found);
        return Ok(store);
    }
    let store = Store {
        objects: set_up(location, settings)?,
        id: NEXT.fetch_add(1, Ordering::Relaxed),
    };
    if kept.len() >= KEPT_STORES {
        kept.remove(0);
    }
    kept.push((key, store.clone()));
    Ok(store)
}

fn set_up(location: &Location, settings: &StoreSettings) -> Result<Objects> {
    match location.backend() {
        Backend::S3 => s3::store(location, settings),
        Backend::Google => gcs::store(location, settings),
        Backend::Azure => azure::store(location, settings),
        Backend::Http => http::store(location, settings),
        Backend::Local | Backend::Other => Err(Error::not_supported(format!(
            "locations of scheme \"{}\" cannot be read yet: \"{location}\"",
            location.scheme()
        ))
        .with_hint(
            "Local directories and locations of s3://, gs://, abfss://, az:// and https:// can be read.",
        )),
    }
}

#[derive(PartialEq, Eq)]
struct Key {
    scheme: String,
    authority: String,
    settings: StoreSettings,
    runtime: Option<tokio::runtime::Id>,
}

static KEPT: Mutex<Vec<(Key, Store)>> = Mutex::new(Vec::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_is_kept_for_its_settings() {
        let settings = |key: &str| {
            let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            StoreSettings::new(
                [pair("region", "eu-north-1")],
                [pair("access_key_id", "id"), pair("secret_access_key", key)],
            )
        };
        let id = |location: &str, key: &str| {
            let location = Location::parse(location).expect("a location");
            find(&location, &settings(key)).expect("a store").id
        };
        let first = id("s3://kept/a", "1");
        assert_eq!(id("s3://kept/b", "1"), first);
        assert_ne!(id("s3://kept/a", "2"), first);
        assert_ne!(id("s3://other/a", "1"), first);
        for bucket in 0..KEPT_STORES {
            id(&format!("s3://bucket{bucket}/a"), "1");
        }
        assert_ne!(id("s3://kept/a", "1"), first);
    }
}
