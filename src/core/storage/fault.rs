//! From what goes wrong in a remote store to this program's errors. Texts of the server and URLs are left
//! out: they repeat keys, signatures and tokens. No spec section.

use std::error::Error as StdError;

use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};
use reqwest::StatusCode;

use super::client::{NotSent, Refusal};
use super::location::Location;
use crate::error::{Error, ErrorKind};

/// Codes that say that the credentials, and not what they allow, are at fault.
const BAD_CREDENTIALS: &[&str] = &[
    "AccessKeyIdNotFound",
    "AuthenticationFailed",
    "AuthorizationHeaderMalformed",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidAuthenticationInfo",
    "InvalidClientTokenId",
    "InvalidToken",
    "NoAuthenticationInformation",
    "RequestExpired",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
    "UnrecognizedClientException",
];

const NO_CONTAINER: &[&str] = &["NoSuchBucket", "ContainerNotFound", "InvalidBucketName"];

/// The error of a request for `location`.
pub(super) fn store_error(location: &Location, error: &StoreError) -> Error {
    if let Some(refusal) = cause::<Refusal>(error) {
        return refused(location, refusal);
    }
    if let Some(why) = cause::<NotSent>(error) {
        return not_sent(location, why);
    }
    if let Some(error) = cause::<HttpError>(error) {
        return transport_error(location, error);
    }
    match error {
        StoreError::NotFound { .. } => {
            file_error(location, ErrorKind::FileNotFound, "does not exist")
        }
        StoreError::InvalidPath { .. } => file_error(
            location,
            ErrorKind::NotSupported,
            "cannot be named: no part of a key may be empty, \".\" or hold a control character",
        ),
        StoreError::NotSupported { .. } => file_error(
            location,
            ErrorKind::NotSupported,
            "cannot be read in parts: the server does not serve ranges of bytes",
        ),
        StoreError::PermissionDenied { .. } => {
            file_error(location, ErrorKind::PermissionDenied, "cannot be read")
        }
        StoreError::Unauthenticated { .. } => {
            file_error(location, ErrorKind::Unauthenticated, "cannot be read")
        }
        _ => file_error(
            location,
            ErrorKind::Unreachable,
            "cannot be read: the answer of its store cannot be understood",
        ),
    }
}

/// Whether a connection broke off, perhaps in the middle of an answer; a server that cannot be reached, is silent or
/// refuses is something else.
pub(super) fn is_broken_off(error: &StoreError) -> bool {
    let is_answer = cause::<Refusal>(error).is_some() || cause::<NotSent>(error).is_some();
    !is_answer
        && cause::<HttpError>(error).is_some_and(|error| {
            !matches!(
                error.kind(),
                HttpErrorKind::Connect | HttpErrorKind::Timeout
            )
        })
}

fn refused(location: &Location, refusal: &Refusal) -> Error {
    let code = refusal.code.as_deref().unwrap_or_default();
    let says = format!("cannot be read: {refusal}");
    if BAD_CREDENTIALS.contains(&code) || refusal.status == StatusCode::UNAUTHORIZED {
        return file_error(location, ErrorKind::Unauthenticated, &says).with_hint(
            "Correct the credentials in the user mapping, and the region in the server's options.",
        );
    }
    if NO_CONTAINER.contains(&code) {
        return file_error(
            location,
            ErrorKind::FileNotFound,
            &format!("does not exist: there is no \"{}\"", location.authority()),
        );
    }
    match refusal.status {
        StatusCode::NOT_FOUND | StatusCode::GONE => {
            file_error(location, ErrorKind::FileNotFound, "does not exist")
        }
        StatusCode::FORBIDDEN => file_error(location, ErrorKind::PermissionDenied, &says)
            .with_hint("Let the owner of the credentials in the user mapping read it."),
        StatusCode::RANGE_NOT_SATISFIABLE => file_error(
            location,
            ErrorKind::Corrupt,
            "is shorter than its metadata says",
        ),
        status if status.is_redirection() => {
            let error = file_error(location, ErrorKind::Unreachable, &says);
            match &refusal.region {
                Some(region) => error.with_hint(format!(
                    "The bucket is in the region {region}: set the server option region."
                )),
                None => error.with_hint(
                    "Redirects to other hosts are not followed: set the server options region and endpoint, or name \
                     that host.",
                ),
            }
        }
        StatusCode::BAD_REQUEST => match &refusal.region {
            Some(region) => file_error(location, ErrorKind::Unreachable, &says).with_hint(format!(
                "The bucket is in the region {region}: set the server option region."
            )),
            None => file_error(location, ErrorKind::Unreachable, &says),
        },
        _ => file_error(location, ErrorKind::Unreachable, &says),
    }
}

fn not_sent(location: &Location, why: &NotSent) -> Error {
    let error = file_error(
        location,
        ErrorKind::PermissionDenied,
        &format!("is not read: {why}"),
    );
    match why {
        NotSent::Address(_) => error
            .with_hint("A superuser can set the server option allow_link_local if this is meant."),
        NotSent::Unencrypted => {
            error.with_hint("Set the server option allow_http if this is meant.")
        }
    }
}

fn transport_error(location: &Location, error: &HttpError) -> Error {
    let what = match error.kind() {
        HttpErrorKind::Connect => "its server cannot be reached",
        HttpErrorKind::Timeout => "its server does not answer in time",
        HttpErrorKind::Request | HttpErrorKind::Interrupted => "the connection breaks off",
        _ => "the connection fails",
    };
    // The last one is what the operating system or the other side said, without a URL.
    let deepest = error_chain(error).last().map(ToString::to_string);
    let why = match deepest {
        Some(text) if !text.is_empty() && !text.contains("://") => format!("{what} ({text})"),
        _ => what.to_owned(),
    };
    file_error(
        location,
        ErrorKind::Unreachable,
        &format!("cannot be read: {why}"),
    )
}

pub(super) fn file_error(location: &Location, kind: ErrorKind, what: &str) -> Error {
    Error::new(kind, format!("file \"{location}\" {what}"))
}

fn cause<T: StdError + 'static>(error: &StoreError) -> Option<&T> {
    error_chain(error).find_map(|cause| cause.downcast_ref::<T>())
}

/// The error and what it came from, outermost first.
pub(super) fn error_chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}
