//! Google Cloud Storage.
//! Settings by `object_store`'s names; `endpoint` is its base URL.

use std::sync::Arc;

use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder};
use object_store::{ObjectStore, StaticCredentialProvider};

use super::client::{self, Connector};
use super::location::Location;
use super::remote::built;
use super::settings::StoreSettings;
use crate::error::{Error, ErrorKind, Result};

/// The store of the bucket that a location is in.
pub(super) fn store(location: &Location, settings: &StoreSettings) -> Result<Arc<dyn ObjectStore>> {
    let bucket = location.authority();
    if bucket.is_empty() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("location \"{location}\" does not name a bucket"),
        ));
    }
    let is_anonymous = settings.is_on(StoreSettings::SKIP_SIGNATURE);
    let ambient = settings.is_on(StoreSettings::USE_AMBIENT_CREDENTIALS);
    let bearer = |token: &str| {
        let bearer = token.to_owned();
        Arc::new(StaticCredentialProvider::new(GcpCredential { bearer }))
    };
    let mut builder = match ambient && !is_anonymous {
        true => GoogleCloudStorageBuilder::from_env(),
        false => GoogleCloudStorageBuilder::new(),
    };
    builder = builder
        .with_bucket_name(bucket)
        .with_client_options(client::options(settings))
        .with_http_connector(Connector::new(settings))
        .with_retry(client::retries());
    builder = match (
        settings.secret("service_account_key"),
        settings.secret("token"),
    ) {
        // With a credential of its own, the builder looks for none in the environment.
        _ if is_anonymous => builder
            .with_skip_signature(true)
            .with_credentials(bearer("")),
        (Some(key), _) => builder.with_service_account_key(key),
        (None, Some(token)) => builder.with_credentials(bearer(token)),
        (None, None) if ambient => builder,
        (None, None) => {
            return Err(StoreSettings::no_credentials(
                location,
                "service_account_key or token",
            ));
        }
    };
    if let Some(endpoint) = settings.get("endpoint") {
        builder = builder.with_base_url(endpoint.trim_end_matches('/'));
    }
    Ok(Arc::new(built(location, builder.build())?))
}
