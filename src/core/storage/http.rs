//! Web servers, read only and without credentials: files by their URL, nothing to list.
//! No spec section; the path of a location is taken literally, so `%20` in it stands for itself.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::http::HttpBuilder;
use url::Url;

use super::addresses::check_url;
use super::client::{self, Connector};
use super::location::Location;
use super::remote::built;
use super::settings::StoreSettings;
use crate::error::{Error, ErrorKind, Result};

/// The store of the host that a location names.
pub(super) fn store(location: &Location, settings: &StoreSettings) -> Result<Arc<dyn ObjectStore>> {
    let root = format!("{}://{}", location.scheme(), location.authority());
    let url = Url::parse(&root).ok().filter(|url| {
        // Anything else in the authority would have moved into another part of the URL.
        url.has_host()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    });
    let Some(url) = url else {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("location \"{location}\" does not name a host"),
        ));
    };
    if url.scheme() != "https" && !settings.is_on(StoreSettings::ALLOW_HTTP) {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            format!("file \"{location}\" is not read: the connection would not be encrypted"),
        )
        .with_hint("Set the server option allow_http if this is meant."));
    }
    if let Err(refused) = check_url(&url)
        && !settings.is_on(StoreSettings::ALLOW_LINK_LOCAL)
    {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            format!("file \"{location}\" is not read: {refused}"),
        )
        .with_hint("A superuser can set the server option allow_link_local if this is meant."));
    }
    let builder = HttpBuilder::new()
        .with_url(url)
        .with_client_options(client::options(settings))
        .with_http_connector(Connector::without_ambient(settings))
        .with_retry(client::retries());
    Ok(Arc::new(built(location, builder.build())?))
}

/// What a user says to whom a directory would have to be listed.
pub(super) fn cannot_list(location: &Location) -> Error {
    Error::not_supported(format!(
        "\"{location}\" cannot be listed: a web server does not say what it has"
    ))
    .with_hint(
        "Name the current metadata file, as the table's location or with the option metadata_file_path.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(location: &str, settings: &[(&str, &str)]) -> Option<ErrorKind> {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings = StoreSettings::new(settings.iter().map(pair), []);
        let location = Location::parse(location).expect("a location");
        store(&location, &settings).err().map(|error| error.kind())
    }

    #[test]
    fn hosts_are_hosts_and_encrypted_unless_allowed() {
        let plain = [("allow_http", "true")];
        assert_eq!(kind("https://host.org/t", &[]), None);
        assert_eq!(kind("https://host.org:8443/t", &[]), None);
        assert_eq!(
            kind("http://host.org/t", &[]),
            Some(ErrorKind::PermissionDenied)
        );
        assert_eq!(kind("http://host.org:8080/t", &plain), None);
        for location in [
            "https:///t",
            "https://user@host/t",
            "https://user:password@host/t",
            "https://host?x/t",
            "https://host#x/t",
            "https://ho st/t",
            "https://host:port/t",
        ] {
            assert_eq!(
                kind(location, &[]),
                Some(ErrorKind::InvalidArgument),
                "{location}"
            );
        }
        for location in [
            "http://169.254.169.254/x",
            "http://2852039166/x",
            "http://[fe80::1]/x",
        ] {
            assert_eq!(
                kind(location, &plain),
                Some(ErrorKind::PermissionDenied),
                "{location}"
            );
            let allowed = [plain[0], ("allow_link_local", "true")];
            assert_eq!(kind(location, &allowed), None, "{location}");
        }
    }
}
