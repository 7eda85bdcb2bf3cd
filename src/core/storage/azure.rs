//! Azure Blob Storage and Data Lake Storage: `abfs[s]://`, `wasb[s]://container@account.host`, `az://container`.
//! Settings by `object_store`'s names: `account_name`, `tenant_id`, `endpoint` (of the account), …

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};

use super::client::{self, Connector};
use super::location::Location;
use super::remote::built;
use super::settings::StoreSettings;
use crate::error::{Error, ErrorKind, Result};

/// The hosts of accounts, by what follows the account: as locations name them, and of the blob service.
const HOSTS: [(&str, &str); 8] = [
    ("dfs.core.windows.net", "blob.core.windows.net"),
    ("blob.core.windows.net", "blob.core.windows.net"),
    ("dfs.core.chinacloudapi.cn", "blob.core.chinacloudapi.cn"),
    ("blob.core.chinacloudapi.cn", "blob.core.chinacloudapi.cn"),
    ("dfs.core.usgovcloudapi.net", "blob.core.usgovcloudapi.net"),
    ("blob.core.usgovcloudapi.net", "blob.core.usgovcloudapi.net"),
    ("dfs.fabric.microsoft.com", "blob.fabric.microsoft.com"),
    ("blob.fabric.microsoft.com", "blob.fabric.microsoft.com"),
];

/// The store of the container that a location is in.
pub(super) fn store(location: &Location, settings: &StoreSettings) -> Result<Arc<dyn ObjectStore>> {
    let place = Place::of(location, settings)?;
    let is_anonymous = settings.is_on(StoreSettings::SKIP_SIGNATURE);
    let ambient = settings.is_on(StoreSettings::USE_AMBIENT_CREDENTIALS);
    let mut builder = match ambient && !is_anonymous {
        true => MicrosoftAzureBuilder::from_env(),
        false => MicrosoftAzureBuilder::new(),
    };
    builder = builder
        .with_account(&place.account)
        .with_container_name(place.container)
        .with_endpoint(place.endpoint)
        .with_client_options(client::options(settings))
        .with_http_connector(Connector::new(settings))
        .with_retry(client::retries());
    let secret = |name| settings.secret(name);
    builder = match (
        secret("account_key"),
        secret("sas_token"),
        (
            secret("client_id"),
            secret("client_secret"),
            settings.get("tenant_id"),
        ),
        secret("token"),
    ) {
        _ if is_anonymous => builder.with_skip_signature(true),
        (Some(key), ..) => builder.with_access_key(key),
        (None, Some(token), ..) => builder.with_config(AzureConfigKey::SasKey, token),
        (None, None, (Some(id), Some(secret), Some(tenant)), _) => {
            builder.with_client_secret_authorization(id, secret, tenant)
        }
        (None, None, _, Some(token)) => builder.with_bearer_token_authorization(token),
        _ if ambient => builder,
        _ => {
            return Err(StoreSettings::no_credentials(
                location,
                "account_key, sas_token, or client_id and client_secret with the server option tenant_id,",
            ));
        }
    };
    Ok(Arc::new(built(location, builder.build())?))
}

/// A container, and where it is served.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    account: String,
    container: String,
    endpoint: String,
}

impl Place {
    fn of(location: &Location, settings: &StoreSettings) -> Result<Self> {
        let invalid = |what: &str, hint: &str| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("location \"{location}\" {what}"),
            )
            .with_hint(hint)
        };
        let form = "Write abfss://container@account.dfs.core.windows.net/directory, or az://container/directory with \
                    the server option account_name.";
        let configured = settings.get("account_name");
        let (container, host) = match location.authority().split_once('@') {
            Some((container, host)) => (container, Some(host)),
            None => (location.authority(), None),
        };
        let (account, blob_host) = match host {
            None => (configured, "blob.core.windows.net"),
            Some(host) => {
                let (account, rest) = host.split_once('.').unwrap_or((host, ""));
                let blob_host = HOSTS
                    .iter()
                    .find(|(named, _)| rest.eq_ignore_ascii_case(named))
                    .map(|(_, blob_host)| *blob_host)
                    .ok_or_else(|| invalid("does not name a host of Azure", form))?;
                (Some(account), blob_host)
            }
        };
        let Some(account) = account else {
            return Err(invalid("does not name an account", form));
        };
        if configured.is_some_and(|configured| configured != account) {
            return Err(invalid(
                "is of another account than the server's",
                "Make a server for each account: credentials are meant for the one in the server option account_name.",
            ));
        }
        if !is_name(account) || !is_name(container) {
            return Err(invalid("does not name a container and its account", form));
        }
        let endpoint = match settings.get("endpoint") {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None => format!("https://{account}.{blob_host}"),
        };
        Ok(Self {
            account: account.to_owned(),
            container: container.to_owned(),
            endpoint,
        })
    }
}

/// Names of accounts and containers: letters, digits and dashes; `$root` and `$web` too.
fn is_name(name: &str) -> bool {
    let letters = name.strip_prefix('$').unwrap_or(name);
    !letters.is_empty()
        && letters
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(location: &str, settings: &[(&str, &str)]) -> Result<Place, ErrorKind> {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings = StoreSettings::new(settings.iter().map(pair), []);
        let location = Location::parse(location).expect("a location");
        Place::of(&location, &settings).map_err(|error| error.kind())
    }

    #[test]
    fn every_spelling_leads_to_the_blob_service() {
        let expected = |endpoint: &str| {
            Ok(Place {
                account: "acc".to_owned(),
                container: "cont-1".to_owned(),
                endpoint: endpoint.to_owned(),
            })
        };
        let account = [("account_name", "acc")];
        for location in [
            "abfss://cont-1@acc.dfs.core.windows.net/t",
            "abfs://cont-1@acc.dfs.core.windows.net/t",
            "wasbs://cont-1@acc.blob.core.windows.net/t",
            "wasb://cont-1@acc.blob.core.windows.net/t",
        ] {
            let azure = expected("https://acc.blob.core.windows.net");
            assert_eq!(place(location, &[]), azure, "{location}");
            assert_eq!(place(location, &account), azure, "{location}");
        }
        assert_eq!(
            place("az://cont-1/t", &account),
            expected("https://acc.blob.core.windows.net")
        );
        assert_eq!(
            place("abfss://cont-1@acc.dfs.core.usgovcloudapi.net/t", &[]),
            expected("https://acc.blob.core.usgovcloudapi.net")
        );
        let emulator = [account[0], ("endpoint", "http://127.0.0.1:10000/acc")];
        assert_eq!(
            place("az://cont-1/t", &emulator),
            expected("http://127.0.0.1:10000/acc")
        );
    }

    #[test]
    fn credentials_do_not_leave_the_account() {
        for location in [
            "abfss://c@evil.example.org/t",
            "abfss://c@acc.dfs.core.windows.net.example.org/t",
            "abfss://c@acc/t",
            "abfss://c@a#b.dfs.core.windows.net/t",
            "abfss://c@.dfs.core.windows.net/t",
            "abfss://@acc.dfs.core.windows.net/t",
            "abfss://c@d@acc.dfs.core.windows.net/t",
            "az://c/t",
            "az:///t",
        ] {
            let found = place(location, &[]);
            assert_eq!(found, Err(ErrorKind::InvalidArgument), "{location}");
        }
        let other = place(
            "abfss://c@other.dfs.core.windows.net/t",
            &[("account_name", "acc")],
        );
        assert_eq!(other, Err(ErrorKind::InvalidArgument));
    }
}
