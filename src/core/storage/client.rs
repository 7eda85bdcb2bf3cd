//! The HTTP client of all remote stores: checks where it connects to, does not follow redirects to other
//! hosts, and turns refusals into faults without the server's text. No spec section.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig};
use reqwest::StatusCode;
use reqwest::redirect::{Attempt, Policy};
use url::Url;

use super::addresses::{CheckedResolver, RefusedAddress, check_url};
use super::fault::error_chain;
use super::settings::StoreSettings;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a server may be silent. There is no limit on a whole answer: it may be large and the line slow.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// How long an idle connection is kept for the next request.
const IDLE_LIFE: Duration = Duration::from_secs(30);

/// How much of a refusal is read to find its code.
const LARGEST_REFUSAL: usize = 16 * 1024;

/// No service has codes longer than this.
const LONGEST_CODE: usize = 64;

const REDIRECTS: usize = 5;

/// How often, and how long in all, a request that may succeed later is tried again.
pub(super) fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(3),
            base: 2.0,
        },
        max_retries: 7,
        retry_timeout: Duration::from_secs(60),
    }
}

/// A server's answer that is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// The service's own word for it, such as `NoSuchBucket`.
    pub(super) code: Option<String>,
    /// The region that the bucket is in, if the service says that it is another.
    pub(super) region: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server answers {}", self.status.as_u16())?;
        match (&self.code, self.status.canonical_reason()) {
            (Some(code), _) => write!(f, " ({code})"),
            (None, Some(reason)) => write!(f, " ({reason})"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

/// Makes the clients of a store.
#[derive(Debug)]
pub(super) struct Connector {
    allow_link_local: bool,
}

impl Connector {
    /// The connector for a store with these settings. Where credentials of the machine may be used, their
    /// service may be reached.
    pub(super) fn new(settings: &StoreSettings) -> Self {
        let is_on = |name| settings.is_on(name);
        Self {
            allow_link_local: is_on(StoreSettings::ALLOW_LINK_LOCAL)
                || is_on(StoreSettings::USE_AMBIENT_CREDENTIALS),
        }
    }

    /// The connector for a store whose address a table names.
    pub(super) fn without_ambient(settings: &StoreSettings) -> Self {
        Self {
            allow_link_local: settings.is_on(StoreSettings::ALLOW_LINK_LOCAL),
        }
    }
}

/// The options of `object_store` that [`Connector`] heeds.
pub(super) fn options(settings: &StoreSettings) -> ClientOptions {
    ClientOptions::new().with_allow_http(settings.is_on(StoreSettings::ALLOW_HTTP))
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allow_http = options
            .get_config_value(&ClientConfigKey::AllowHttp)
            .is_some_and(|value| value == "true");
        let builder = reqwest::Client::builder()
            .user_agent(concat!("iceberg_fdw/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .pool_idle_timeout(IDLE_LIFE)
            // One connection for all requests would be slower than one for each.
            .http1_only()
            .no_proxy()
            .redirect(Policy::custom(follow));
        let builder = match self.allow_link_local {
            true => builder,
            false => builder.dns_resolver(Arc::new(CheckedResolver)),
        };
        let client = builder
            .build()
            .map_err(|error| object_store::Error::Generic {
                store: "HTTP",
                source: Box::new(error),
            })?;
        Ok(HttpClient::new(CheckedClient {
            client,
            allow_http,
            allow_link_local: self.allow_link_local,
        }))
    }
}

/// Follows a redirect within a host, or on to its encrypted port.
fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let Some(from) = attempt.previous().last() else {
        return attempt.stop();
    };
    let to = attempt.url();
    let is_same =
        from.scheme() == to.scheme() && from.port_or_known_default() == to.port_or_known_default();
    let is_upgrade = from.scheme() == "http" && to.scheme() == "https";
    if from.host() == to.host() && (is_same || is_upgrade) && attempt.previous().len() <= REDIRECTS
    {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

#[derive(Debug)]
struct CheckedClient {
    client: reqwest::Client,
    allow_http: bool,
    allow_link_local: bool,
}

/// Why a request is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotSent {
    /// Its address may not be reached.
    Address(RefusedAddress),
    /// It would go out without encryption.
    Unencrypted,
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(refused) => refused.fmt(f),
            Self::Unencrypted => f.write_str("the connection would not be encrypted"),
        }
    }
}

impl std::error::Error for NotSent {}

impl CheckedClient {
    fn check(&self, url: &str) -> Result<(), HttpError> {
        let refuse = |why| Err(HttpError::new(HttpErrorKind::Unknown, why));
        let url = Url::parse(url).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        if url.scheme() != "https" && !self.allow_http {
            return refuse(NotSent::Unencrypted);
        }
        match check_url(&url) {
            Err(refused) if !self.allow_link_local => refuse(NotSent::Address(refused)),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl HttpService for CheckedClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.check(&request.uri().to_string())?;
        let response = self.client.call(request).await.map_err(final_if_refused)?;
        let status = response.status();
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            return Ok(response);
        }
        let region = response
            .headers()
            .get("x-amz-bucket-region")
            .and_then(|region| word(region.as_bytes()));
        let header = response
            .headers()
            .get("x-ms-error-code")
            .and_then(|code| word(code.as_bytes()));
        let code = match header {
            Some(code) => Some(code),
            None => code_of(&start_of(response).await),
        };
        // The first kind is tried again, the second is not.
        let kind = match status.is_server_error()
            || status == StatusCode::TOO_MANY_REQUESTS
            || status == StatusCode::REQUEST_TIMEOUT
        {
            true => HttpErrorKind::Request,
            false => HttpErrorKind::Unknown,
        };
        Err(HttpError::new(
            kind,
            Refusal {
                status,
                code,
                region,
            },
        ))
    }
}

/// A name that leads to a forbidden address will not lead elsewhere when it is tried again.
fn final_if_refused(error: HttpError) -> HttpError {
    let refused = error_chain(&error)
        .find_map(|cause| cause.downcast_ref::<RefusedAddress>())
        .cloned();
    match refused {
        Some(refused) => HttpError::new(HttpErrorKind::Unknown, NotSent::Address(refused)),
        None => error,
    }
}

/// The start of an answer, as far as it comes.
async fn start_of(response: HttpResponse) -> Vec<u8> {
    let mut start = Vec::new();
    let mut body = response.into_body().bytes_stream();
    while let Ok(Some(bytes)) = body.try_next().await {
        start.extend_from_slice(&bytes);
        if start.len() >= LARGEST_REFUSAL {
            break;
        }
    }
    start
}

/// The code in the XML of a refusal: `<Code>NoSuchKey</Code>`.
fn code_of(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let (code, _) = text.split_once("<Code>")?.1.split_once("</Code>")?;
    word(code.trim().as_bytes())
}

/// A text that is one short word and so cannot hold what came in with the request.
fn word(text: &[u8]) -> Option<String> {
    let is_word = !text.is_empty()
        && text.len() <= LONGEST_CODE
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    is_word.then(|| String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_words() {
        for (body, code) in [
            (
                "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>m</Message></Error>",
                Some("NoSuchKey"),
            ),
            ("<Error><Code> SlowDown </Code></Error>", Some("SlowDown")),
            ("<Error><Code>AKIA secret</Code></Error>", None),
            ("<Error><Code></Code></Error>", None),
            ("<html>404</html>", None),
            ("", None),
        ] {
            assert_eq!(code_of(body.as_bytes()).as_deref(), code, "{body}");
        }
        assert_eq!(code_of(&[b'<', 0xff]), None);
    }
}
