//! An absolute location as users and metadata write it, taken literally, and how locations nest.
//! Spec: "Paths in Metadata": locations are strings, not URLs; nothing in them is decoded or encoded.

use std::borrow::Cow;
use std::fmt;

use crate::error::{Error, ErrorKind, Result};

/// An absolute location of a file or directory: `/a/b`, `file:/a/b`, `file:///a/b`,
/// `file://localhost/a/b`, or `scheme://authority/a/b`.
///
/// Percent signs, spaces, `#`, `?` and repeated slashes stand for themselves.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// `None` for the local file system, else the scheme in lower case.
    scheme: Option<String>,
    /// What stands between `//` and the path (a bucket, a host); empty for local locations.
    authority: String,
    /// Starts with `/`, or is empty for `scheme://authority`.
    path: String,
}

/// A kind of store, told by the scheme of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// The file system of this machine.
    Local,
    /// Amazon S3 and what speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage and Data Lake Storage.
    Azure,
    /// A web server.
    Http,
    /// None that this program knows.
    Other,
}

impl Location {
    /// Takes a location apart.
    ///
    /// # Errors
    /// `InvalidArgument` for a relative location or one on another host, `PermissionDenied` for one
    /// with a `..` segment.
    pub fn parse(text: &str) -> Result<Self> {
        if text.contains('\0') {
            return Err(invalid(text, "holds a zero byte"));
        }
        let location = match split_scheme(text) {
            None if text.starts_with('/') => Self::local(text),
            None => return Err(not_absolute(text)),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
                let path = match rest.strip_prefix("//") {
                    Some(after) if after.starts_with('/') => after,
                    Some(after) => match after.split_once('/') {
                        Some((host, _)) if host.eq_ignore_ascii_case("localhost") => {
                            &after[host.len()..]
                        }
                        _ => {
                            return Err(invalid(text, "names a file of another host").with_hint(
                                "A local location has three slashes: file:///directory",
                            ));
                        }
                    },
                    None => rest,
                };
                if !path.starts_with('/') {
                    return Err(not_absolute(text));
                }
                Self::local(path)
            }
            Some((scheme, rest)) => {
                let Some(after) = rest.strip_prefix("//") else {
                    return Err(not_absolute(text));
                };
                let authority_end = after.find('/').unwrap_or(after.len());
                Self {
                    scheme: Some(scheme.to_ascii_lowercase()),
                    authority: after[..authority_end].to_owned(),
                    path: after[authority_end..].to_owned(),
                }
            }
        };
        refuse_traversal(&location.path)?;
        Ok(location)
    }

    /// Whether a text that may also be a relative path or a name is meant as a location.
    pub fn is_absolute(text: &str) -> bool {
        text.starts_with('/') || text.starts_with("file:") || text.contains("://")
    }

    fn local(path: &str) -> Self {
        Self {
            scheme: None,
            authority: String::new(),
            path: path.to_owned(),
        }
    }

    /// Whether this is a place in the local file system.
    pub fn is_local(&self) -> bool {
        self.scheme.is_none()
    }

    /// The scheme in lower case; `file` for every spelling of a local location.
    pub fn scheme(&self) -> &str {
        self.scheme.as_deref().unwrap_or("file")
    }

    /// The kind of store that the location is in.
    pub fn backend(&self) -> Backend {
        match self.scheme() {
            "file" => Backend::Local,
            "s3" | "s3a" | "s3n" => Backend::S3,
            "gs" => Backend::Google,
            "abfs" | "abfss" | "wasb" | "wasbs" | "az" => Backend::Azure,
            "http" | "https" => Backend::Http,
            _ => Backend::Other,
        }
    }

    /// What stands between `//` and the path: a bucket, a container, a host; empty for local locations.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Scheme and authority in one spelling for each store: `s3a://bucket` is `s3://bucket`.
    fn store(&self) -> (&str, Cow<'_, str>) {
        let scheme = self.scheme();
        match self.backend() {
            Backend::S3 => ("s3", Cow::Borrowed(&self.authority)),
            // Both endpoints of an account serve the same containers.
            Backend::Azure => match self.authority.split_once('@') {
                Some((container, host)) => {
                    let account = host.split('.').next().unwrap_or_default();
                    ("az", Cow::Owned(format!("{container}@{account}")))
                }
                None => ("az", Cow::Borrowed(&self.authority)),
            },
            Backend::Http => (scheme, Cow::Owned(self.authority.to_ascii_lowercase())),
            Backend::Local | Backend::Google | Backend::Other => {
                (scheme, Cow::Borrowed(&self.authority))
            }
        }
    }

    /// The path within the store, as it was written.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The last segment of the path, without trailing slashes; empty at the root.
    pub fn file_name(&self) -> &str {
        let path = self.path.trim_end_matches('/');
        path.rsplit('/').next().unwrap_or_default()
    }

    /// The location one segment up; `None` at the root.
    pub fn parent(&self) -> Option<Self> {
        let path = self.path.trim_end_matches('/');
        let slash = path.rfind('/')?;
        let parent = path[..slash].trim_end_matches('/');
        Some(self.with_path(if parent.is_empty() { "/" } else { parent }))
    }

    /// A location below this one. `relative` is taken literally.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty or absolute `relative`, `PermissionDenied` for one with a `..`
    /// segment.
    pub fn join(&self, relative: &str) -> Result<Self> {
        if relative.is_empty() || relative.starts_with('/') || relative.contains('\0') {
            return Err(invalid(relative, "is not a relative path"));
        }
        refuse_traversal(relative)?;
        Ok(self.with_path(&format!("{}/{relative}", self.path.trim_end_matches('/'))))
    }

    /// What follows `base` in this location: empty, or starting with a slash. `None` where this
    /// location is not `base` itself or below it; `/wh/t2` is not below `/wh/t`.
    ///
    /// Locally, empty and `.` segments do not count, as the file system has it; elsewhere every
    /// byte does.
    pub fn strip_prefix(&self, base: &Self) -> Option<&str> {
        if self.store() != base.store() {
            return None;
        }
        let rest = if self.is_local() {
            let mut rest = self.path.as_str();
            for segment in local_segments(&base.path) {
                rest = skip_empty_segments(rest).strip_prefix(segment)?;
                if !rest.is_empty() && !rest.starts_with('/') {
                    return None;
                }
            }
            rest
        } else {
            self.path.strip_prefix(base.path.trim_end_matches('/'))?
        };
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }

    /// Whether this location is `base` or below it.
    pub fn is_under(&self, base: &Self) -> bool {
        self.strip_prefix(base).is_some()
    }

    /// Whether both are spellings of one location.
    pub fn is_same(&self, other: &Self) -> bool {
        self.is_under(other) && other.is_under(self)
    }

    /// This location with `rest`, as [`Location::strip_prefix`] returned it, put after it.
    pub(crate) fn with_suffix(&self, rest: &str) -> Self {
        self.with_path(&format!("{}{rest}", self.path.trim_end_matches('/')))
    }

    fn with_path(&self, path: &str) -> Self {
        Self {
            scheme: self.scheme.clone(),
            authority: self.authority.clone(),
            path: path.to_owned(),
        }
    }
}

impl fmt::Display for Location {
    /// A local location is written as its path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = &self.scheme {
            write!(f, "{scheme}://{}", self.authority)?;
        }
        f.write_str(&self.path)
    }
}

/// The scheme in front of the first colon, and what follows the colon. A path whose directory names
/// hold a colon has no scheme.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let valid = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    valid.then_some((scheme, rest))
}

fn local_segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter(|segment| !segment.is_empty() && *segment != ".")
}

/// Cuts slashes and `.` segments off the front of a local path that starts with a slash.
fn skip_empty_segments(path: &str) -> &str {
    let mut rest = path;
    loop {
        rest = rest.trim_start_matches('/');
        match rest.strip_prefix('.') {
            Some(after) if after.is_empty() || after.starts_with('/') => rest = after,
            _ => return rest,
        }
    }
}

fn refuse_traversal(path: &str) -> Result<()> {
    if path.split('/').any(|segment| segment == "..") {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            format!("path \"{path}\" climbs out of its directory with \"..\""),
        )
        .with_hint("Write the path without \"..\" segments."));
    }
    Ok(())
}

fn invalid(text: &str, what: &str) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        format!("location \"{}\" {what}", text.escape_debug()),
    )
}

fn not_absolute(text: &str) -> Error {
    invalid(text, "is not absolute").with_hint(
        "Write a location as /directory/table, file:///directory/table or scheme://bucket/table.",
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn location(text: &str) -> Location {
        Location::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn schemes_of_one_store_are_one() {
        let table = location("s3://bucket/wh/t");
        for scheme in ["s3", "s3a", "s3n", "S3A"] {
            let file = location(&format!("{scheme}://bucket/wh/t/data/a"));
            assert_eq!(file.strip_prefix(&table), Some("/data/a"), "{scheme}");
            assert!(table.is_under(&location(&format!("{scheme}://bucket/wh"))));
        }
        let table = location("abfss://c@account.dfs.core.windows.net/t");
        for file in [
            "abfs://c@account.dfs.core.windows.net/t/a",
            "wasbs://c@account.blob.core.windows.net/t/a",
        ] {
            assert_eq!(location(file).strip_prefix(&table), Some("/a"), "{file}");
        }
        assert!(location("https://Host.org/t/a").is_under(&location("HTTPS://host.ORG/t")));
        for (file, table) in [
            ("s3://bucket2/t/a", "s3://bucket/t"),
            ("s3://Bucket/t/a", "s3://bucket/t"),
            ("gs://bucket/t/a", "s3://bucket/t"),
            ("s3://bucket/T/a", "s3://bucket/t"),
            ("s3://bucket/t//../a", "s3://bucket/t"),
            ("http://host/t/a", "https://host/t"),
            ("https://host:444/t/a", "https://host/t"),
            (
                "abfss://d@account.dfs.core.windows.net/t/a",
                "abfss://c@account.dfs.core.windows.net/t",
            ),
            (
                "abfss://c@other.dfs.core.windows.net/t/a",
                "abfss://c@account.dfs.core.windows.net/t",
            ),
        ] {
            let file = Location::parse(file);
            let is_under = file.is_ok_and(|file| file.is_under(&location(table)));
            assert!(!is_under, "{table}");
        }
    }

    #[test]
    fn every_spelling_of_a_local_location_is_one() {
        for text in [
            "/a/b",
            "file:/a/b",
            "file:///a/b",
            "file://localhost/a/b",
            "FILE:///a/b",
        ] {
            assert_eq!(location(text), location("/a/b"), "{text}");
            assert!(location(text).is_local());
            assert_eq!(location(text).to_string(), "/a/b");
        }
        assert!(location("/a/b/").is_same(&location("file:///a//./b")));
        assert!(!location("/a/b").is_same(&location("/a/b/c")));
    }

    #[test]
    fn bytes_are_literal() {
        for path in [
            "/a%2Fb", "/a b", "/a#b", "/a?b", "/a=b", "/aé", "/a🧊", "/a//b", "/a:b", "/~", "/*",
            "/a.", "/a+b", "/a\\b", "/a%", "/a%zz", "/.a", "/...", "/a..b",
        ] {
            assert_eq!(location(path).path(), path);
            assert_eq!(location(&format!("file://{path}")).path(), path);
            assert_eq!(location(&format!("s3://bucket{path}")).path(), path);
        }
    }

    #[test]
    fn other_schemes_are_parsed() {
        let s3 = location("S3://bucket/a//b/");
        assert_eq!((s3.scheme(), s3.path()), ("s3", "/a//b/"));
        assert!(!s3.is_local());
        assert_eq!(s3.to_string(), "s3://bucket/a//b/");
        assert_eq!(location("s3://bucket").path(), "");
        assert_eq!(location("hdfs:///a").to_string(), "hdfs:///a");
    }

    #[test]
    fn what_is_not_absolute_or_climbs_is_refused() {
        for text in [
            "",
            "a/b",
            "./a",
            "file:a",
            "file:",
            "s3:bucket/a",
            "a:b",
            "1x://a/b",
        ] {
            let kind = Location::parse(text).map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::InvalidArgument), "{text}");
        }
        for text in ["file://host/a", "file://host", "/a\0b"] {
            let kind = Location::parse(text).map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::InvalidArgument), "{text}");
        }
        for text in [
            "/a/../b",
            "/..",
            "file:///a/..",
            "s3://bucket/../c",
            "/a/.././b",
        ] {
            let kind = Location::parse(text).map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::PermissionDenied), "{text}");
        }
    }

    #[test]
    fn prefixes_end_at_segments() {
        let rows: [(&str, &str, Option<&str>); 17] = [
            ("/wh/t", "/wh/t", Some("")),
            ("/wh/t/", "/wh/t", Some("/")),
            ("/wh/t/data/a", "/wh/t", Some("/data/a")),
            ("/wh/t/data/a", "/wh/t/", Some("/data/a")),
            ("/wh/t//data/a", "/wh/t/", Some("//data/a")),
            ("/wh//t/./data", "/wh/t", Some("/./data")),
            ("/wh/t2", "/wh/t", None),
            ("/wh/t2/data", "/wh/t", None),
            ("/wh", "/wh/t", None),
            ("/wh/T/a", "/wh/t", None),
            ("/wh/t%20/a", "/wh/t /a", None),
            ("/a", "/", Some("/a")),
            ("file:/wh/t/a", "file:///wh/t", Some("/a")),
            ("s3://b/wh/t/a", "s3://b/wh/t/", Some("/a")),
            ("s3://b/wh//t/a", "s3://b/wh/t", None),
            ("s3://b/wh/t/a", "s3://c/wh/t", None),
            ("/wh/t/a", "s3://b/wh/t", None),
        ];
        for (path, base, rest) in rows {
            assert_eq!(
                location(path).strip_prefix(&location(base)),
                rest,
                "{path} under {base}"
            );
        }
        assert!(location("s3://b/a").is_under(&location("s3://b")));
    }

    #[test]
    fn parents_and_children() {
        let table = location("file:///wh/t/");
        assert_eq!(table.file_name(), "t");
        assert_eq!(table.parent(), Some(location("/wh")));
        assert_eq!(location("/wh").parent(), Some(location("/")));
        assert_eq!(location("/").parent(), None);
        assert_eq!(
            table.join("metadata/v1.metadata.json").ok(),
            Some(location("/wh/t/metadata/v1.metadata.json"))
        );
        assert_eq!(location("/").join("a").ok(), Some(location("/a")));
        for relative in ["", "/a", "a\0"] {
            let kind = table.join(relative).map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::InvalidArgument), "{relative}");
        }
        let kind = table.join("a/../../b").map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::PermissionDenied));
    }

    proptest! {
        #[test]
        fn any_text_is_a_location_or_an_error(text in "\\PC*", base in "(/|file:|s3://b)[./ab]*") {
            if let (Ok(location), Ok(base)) = (Location::parse(&text), Location::parse(&base)) {
                prop_assert!(location.is_same(&location));
                prop_assert_eq!(Location::parse(&location.to_string()).ok(), Some(location.clone()));
                let _ = (location.is_under(&base), location.parent(), location.file_name());
            }
        }

        #[test]
        fn what_is_joined_is_under(base in "(/|s3://b/)[./ab%]{0,9}", name in "[./ab%]{1,9}") {
            if let Ok(base) = Location::parse(&base)
                && let Ok(joined) = base.join(&name)
            {
                let rest = joined.strip_prefix(&base);
                prop_assert!(rest.is_some_and(|rest| rest.ends_with(&name)), "{:?}", rest);
                prop_assert!(base.with_suffix(rest.unwrap_or_default()).is_same(&joined));
            }
        }

        #[test]
        fn nesting_is_as_the_file_system_has_it(path in "/[./ab]{0,9}", base in "/[./ab]{0,9}") {
            if let (Ok(one), Ok(other)) = (Location::parse(&path), Location::parse(&base)) {
                // Without `..`, the standard library compares segments the same way.
                let expected = Path::new(&path).starts_with(Path::new(&base));
                prop_assert_eq!(one.is_under(&other), expected);
            }
        }
    }
}
