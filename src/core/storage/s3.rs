//! Amazon S3 and what speaks its protocol.
//! Settings by `object_store`'s names: `region`, `endpoint`, `virtual_hosted_style_request`, `skip_signature`, …

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use url::Url;

use super::client::{self, Connector};
use super::location::Location;
use super::remote::built;
use super::settings::StoreSettings;
use crate::error::{Error, ErrorKind, Result};

/// The store of the bucket that a location is in.
pub(super) fn store(location: &Location, settings: &StoreSettings) -> Result<Arc<dyn ObjectStore>> {
    let bucket = checked_bucket(location)?;
    let is_anonymous = settings.is_on(StoreSettings::SKIP_SIGNATURE);
    let ambient = settings.is_on(StoreSettings::USE_AMBIENT_CREDENTIALS);
    let mut builder = match ambient && !is_anonymous {
        true => AmazonS3Builder::from_env(),
        false => AmazonS3Builder::new(),
    };
    builder = builder
        .with_bucket_name(bucket)
        .with_client_options(client::options(settings))
        .with_http_connector(Connector::new(settings))
        .with_retry(client::retries());
    match (
        settings.secret("access_key_id"),
        settings.secret("secret_access_key"),
    ) {
        _ if is_anonymous => builder = builder.with_skip_signature(true),
        (Some(id), Some(key)) => {
            builder = builder.with_access_key_id(id).with_secret_access_key(key);
            if let Some(token) = settings.secret("session_token") {
                builder = builder.with_token(token);
            }
        }
        _ if ambient => {}
        _ => {
            return Err(StoreSettings::no_credentials(
                location,
                "access_key_id and secret_access_key",
            ));
        }
    }
    if let Some(region) = settings.get("region") {
        builder = builder.with_region(region);
    }
    let hosted = settings.is_on("virtual_hosted_style_request");
    if hosted {
        builder = builder.with_virtual_hosted_style_request(true);
    }
    if let Some(endpoint) = settings.get("endpoint") {
        builder = builder.with_endpoint(match hosted {
            true => hosted_endpoint(endpoint, bucket),
            false => endpoint.trim_end_matches('/').to_owned(),
        });
    }
    if settings.is_on("request_payer") {
        builder = builder.with_request_payer(true);
    }
    Ok(Arc::new(built(location, builder.build())?))
}

/// The bucket, which becomes part of a URL or of the name of a host.
fn checked_bucket(location: &Location) -> Result<&str> {
    let bucket = location.authority();
    let is_name = !bucket.is_empty()
        && !bucket.starts_with(['.', '-'])
        && bucket
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    match is_name {
        true => Ok(bucket),
        false => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("location \"{location}\" does not name a bucket"),
        )),
    }
}

/// The endpoint with the bucket in front of its host, where it does not stand there already.
fn hosted_endpoint(endpoint: &str, bucket: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    let host = Url::parse(endpoint)
        .ok()
        .and_then(|url| url.host_str().map(str::to_owned));
    match (endpoint.split_once("://"), host) {
        (Some((scheme, rest)), Some(host)) if !host.starts_with(&format!("{bucket}.")) => {
            format!("{scheme}://{bucket}.{rest}")
        }
        _ => endpoint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(settings: &[(&str, &str)], secrets: &[(&str, &str)]) -> StoreSettings {
        let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            pairs.iter().map(pair).collect()
        };
        StoreSettings::new(owned(settings), owned(secrets))
    }

    fn kind(location: &str, settings: &StoreSettings) -> Option<ErrorKind> {
        let location = Location::parse(location).expect("a location");
        store(&location, settings).err().map(|error| error.kind())
    }

    #[test]
    fn credentials_are_given_or_waived() {
        let key = ("access_key_id", "a");
        let secret = ("secret_access_key", "b");
        assert_eq!(kind("s3://b/t", &settings(&[], &[key, secret])), None);
        assert_eq!(
            kind("s3://b/t", &settings(&[("skip_signature", "true")], &[])),
            None
        );
        for incomplete in [&[][..], &[key], &[secret]] {
            assert_eq!(
                kind(
                    "s3://b/t",
                    &settings(&[("skip_signature", "false")], incomplete)
                ),
                Some(ErrorKind::Unauthenticated)
            );
        }
    }

    #[test]
    fn buckets_cannot_change_the_host() {
        let settings = settings(&[("skip_signature", "true")], &[]);
        for location in [
            "s3:///t",
            "s3://a#b/t",
            "s3://a?b/t",
            "s3://a@b/t",
            "s3://a:80/t",
            "s3://a b/t",
            "s3://.a/t",
            "s3://a%2Fb/t",
            "s3://a\\b/t",
        ] {
            assert_eq!(
                kind(location, &settings),
                Some(ErrorKind::InvalidArgument),
                "{location}"
            );
        }
        assert_eq!(kind("s3://my.bucket-1/t", &settings), None);
    }

    #[test]
    fn the_bucket_stands_in_front_of_the_host() {
        for (endpoint, hosted) in [
            ("https://s3.example.org", "https://b.s3.example.org"),
            ("https://b.s3.example.org/", "https://b.s3.example.org"),
            ("http://localhost:9000", "http://b.localhost:9000"),
        ] {
            assert_eq!(hosted_endpoint(endpoint, "b"), hosted);
        }
    }
}
