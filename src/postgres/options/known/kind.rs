//! Kinds of option values: what is allowed and how a value is read.
//! Every check here is on the text alone; whether a location exists is seen when it is read.

/// What values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// Any of the spellings that Postgres takes for `boolean`.
    Boolean,
    /// A whole number within limits, both included.
    Integer {
        /// The smallest value.
        min: i64,
        /// The largest value.
        max: i64,
    },
    /// One of several words.
    Choice {
        /// What this version can do.
        values: &'static [&'static str],
        /// What later versions will.
        later: &'static [&'static str],
    },
    /// A UUID in the form 8-4-4-4-12, upper or lower case.
    Uuid,
    /// An absolute local path or a URL.
    Location,
    /// The URL of a service: a host, and perhaps a port and a path.
    Endpoint,
    /// Locations separated by commas.
    LocationList,
    /// The path of a file inside the table's directory.
    FilePath,
    /// Names of directories separated by dots.
    Namespace,
    /// The name of one directory.
    FileName,
}

/// Why a value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueFault {
    /// It never can; the text says what can.
    Wrong(String),
    /// It means something that this version cannot do; the text says what.
    NotYet(String),
}

impl Kind {
    /// Checks a value that is not empty.
    pub fn check(self, value: &str) -> Result<(), ValueFault> {
        let wrong = || Err(ValueFault::Wrong(self.allowed()));
        match self {
            Self::Text => Ok(()),
            Self::Boolean => boolean(value).map_or_else(wrong, |_| Ok(())),
            Self::Integer { min, max } => match integer(value) {
                Some(number) if number >= min && number <= max => Ok(()),
                _ => wrong(),
            },
            Self::Choice { values, .. } if values.contains(&value) => Ok(()),
            Self::Choice { later, .. } if later.contains(&value) => {
                Err(ValueFault::NotYet(format!("\"{value}\"")))
            }
            Self::Choice { .. } => wrong(),
            Self::Uuid => uuid(value).map_or_else(wrong, |_| Ok(())),
            Self::Location => check_location(value),
            Self::Endpoint => match is_endpoint(value) {
                true => Ok(()),
                false => wrong(),
            },
            Self::LocationList => match location_list(value) {
                Some(locations) => locations.iter().try_for_each(|one| check_location(one)),
                None => wrong(),
            },
            Self::FilePath if value.split('/').any(|part| part == "..") => wrong(),
            Self::FilePath => Ok(()),
            Self::Namespace => match !value.contains(':') && value.split('.').all(is_file_name) {
                true => Ok(()),
                false => wrong(),
            },
            Self::FileName => match is_file_name(value) {
                true => Ok(()),
                false => wrong(),
            },
        }
    }

    /// Whether values are URLs.
    pub fn is_url(self) -> bool {
        matches!(self, Self::Location | Self::LocationList | Self::Endpoint)
    }

    /// What values are allowed, as the end of a sentence that begins "Allowed: ".
    pub fn allowed(self) -> String {
        match self {
            Self::Text => "any text".to_owned(),
            Self::Boolean => "true or false".to_owned(),
            Self::Integer {
                min: i64::MIN,
                max: i64::MAX,
            } => "a whole number of 64 bits".to_owned(),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Choice { values, later } => {
                let values = values.join(", ");
                match later {
                    [] => values,
                    later => format!("{values} (not yet: {})", later.join(", ")),
                }
            }
            Self::Uuid => "a uuid such as 9c12d441-03fe-4693-9a96-a0705ddf69c1".to_owned(),
            Self::Location => "an absolute path or a URL".to_owned(),
            Self::Endpoint => {
                "a URL such as https://host:port, without a user, password or query".to_owned()
            }
            Self::LocationList => {
                "absolute paths or URLs separated by commas, in double quotes if they hold a comma"
                    .to_owned()
            }
            Self::FilePath => "the path of a file inside the table's directory".to_owned(),
            Self::Namespace => {
                "names of directories separated by dots, without \"/\" and \":\"".to_owned()
            }
            Self::FileName => "the name of a directory".to_owned(),
        }
    }
}

/// Whether the text can be the name of one directory.
fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('/')
}

fn check_location(location: &str) -> Result<(), ValueFault> {
    if location.starts_with('/') {
        return Ok(());
    }
    match scheme(location) {
        Some(scheme) if scheme.eq_ignore_ascii_case("file") => Ok(()),
        Some(scheme) => match SCHEMES.iter().find(|one| scheme.eq_ignore_ascii_case(one)) {
            Some(http) if http.starts_with("http") && has_user(location) => Err(ValueFault::Wrong(
                "a URL without a user or password in it".to_owned(),
            )),
            Some(_) => Ok(()),
            None => Err(ValueFault::NotYet(format!("a location \"{scheme}:\""))),
        },
        None => Err(ValueFault::Wrong(Kind::Location.allowed())),
    }
}

/// The schemes of remote stores.
const SCHEMES: [&str; 11] = [
    "s3", "s3a", "s3n", "gs", "abfs", "abfss", "wasb", "wasbs", "az", "http", "https",
];

/// Whether a URL has something in front of its host, such as a password, which others could read.
fn has_user(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.split('/')
        .next()
        .is_some_and(|authority| authority.contains('@'))
}

fn is_endpoint(value: &str) -> bool {
    let rest = ["http://", "https://"]
        .into_iter()
        .find_map(|scheme| value.strip_prefix(scheme));
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with(['/', ':'])
            && !rest.contains(|c: char| "@?#\\".contains(c) || c.is_whitespace() || c.is_control())
    })
}

/// The scheme of a URL (RFC 3986, section 3.1), if the text has one.
fn scheme(location: &str) -> Option<&str> {
    let (scheme, rest) = location.split_once(':')?;
    let mut bytes = scheme.bytes();
    let is_scheme = bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    (is_scheme && rest.starts_with('/')).then_some(scheme)
}

/// The boolean that Postgres' `parse_bool` takes the text for: words may be shortened.
pub fn boolean(value: &str) -> Option<bool> {
    let word = value.to_ascii_lowercase();
    let shortens = |full: &str, least: usize| word.len() >= least && full.starts_with(&word);
    if shortens("true", 1) || shortens("yes", 1) || word == "on" || word == "1" {
        Some(true)
    } else if shortens("false", 1) || shortens("no", 1) || shortens("off", 2) || word == "0" {
        Some(false)
    } else {
        None
    }
}

/// A whole number in plain digits, with a minus sign if negative.
pub fn integer(value: &str) -> Option<i64> {
    value.parse().ok().filter(|_| !value.starts_with('+'))
}

/// The canonical, lower-case form of a UUID.
pub fn uuid(value: &str) -> Option<String> {
    let groups: Vec<&str> = value.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let hexadecimal = groups
        .iter()
        .all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (lengths == [8, 4, 4, 4, 12] && hexadecimal).then(|| value.to_ascii_lowercase())
}

/// The locations of a list separated by commas; one that holds a comma stands in double quotes, a
/// quote in it is doubled. `None` if the quotes do not match up or a location is empty.
pub fn location_list(value: &str) -> Option<Vec<String>> {
    let mut locations = Vec::new();
    let mut rest = value.trim();
    loop {
        let (location, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_location(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let (location, after) = rest.split_at(end);
                (location.trim_end().to_owned(), after)
            }
        };
        if location.is_empty() {
            return None;
        }
        locations.push(location);
        let after = after.trim_start();
        if after.is_empty() {
            return Some(locations);
        }
        rest = after.strip_prefix(',')?.trim_start();
    }
}

/// The text up to the closing quote, and what follows it.
fn quoted_location(quoted: &str) -> Option<(String, &str)> {
    let mut location = String::new();
    let mut rest = quoted;
    loop {
        let (part, after) = rest.split_once('"')?;
        location.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                location.push('"');
                rest = after;
            }
            None => return Some((location, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_those_of_postgres() {
        for text in ["t", "TRUE", "tru", "y", "yes", "on", "1"] {
            assert_eq!(boolean(text), Some(true), "{text}");
        }
        for text in ["f", "False", "n", "no", "of", "off", "0"] {
            assert_eq!(boolean(text), Some(false), "{text}");
        }
        for text in ["", "o", "2", "truex", "yess", " on", "10"] {
            assert_eq!(boolean(text), None, "{text}");
        }
    }

    #[test]
    fn integers_keep_to_their_limits() {
        let kind = Kind::Integer { min: 0, max: 10 };
        assert_eq!(kind.check("0"), Ok(()));
        assert_eq!(kind.check("10"), Ok(()));
        for text in ["-1", "11", "+1", "1.0", "1e1", " 1", "99999999999999999999"] {
            assert!(
                matches!(kind.check(text), Err(ValueFault::Wrong(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn uuids_have_one_form_and_any_case() {
        let canonical = "9c12d441-03fe-4693-9a96-a0705ddf69c1";
        assert_eq!(
            uuid("9C12D441-03FE-4693-9a96-A0705DDF69C1").as_deref(),
            Some(canonical)
        );
        for text in [
            "9c12d44103fe46939a96a0705ddf69c1",
            "{9c12d441-03fe-4693-9a96-a0705ddf69c1}",
            "9c12d441-03fe-4693-9a96-a0705ddf69cg",
            "9c12d441-03fe-4693-9a96",
        ] {
            assert_eq!(uuid(text), None, "{text}");
        }
    }

    #[test]
    fn locations_are_absolute_or_urls() {
        for text in [
            "/data",
            "file:///data",
            "/with space/100%/#1/ä",
            "s3://bucket/x",
            "S3A://bucket/x",
            "gs://bucket/x",
            "abfss://c@a.b.c/x",
            "az://c/x",
            "https://host:8443/x",
            "http://host/x@y",
        ] {
            assert_eq!(Kind::Location.check(text), Ok(()), "{text}");
        }
        for text in ["hdfs://host/x", "ftp://host/x"] {
            assert!(
                matches!(Kind::Location.check(text), Err(ValueFault::NotYet(_))),
                "{text}"
            );
        }
        for text in [
            "data",
            "./data",
            "C:data",
            "1s://x",
            "://x",
            "https://me:pw@host/x",
        ] {
            assert!(
                matches!(Kind::Location.check(text), Err(ValueFault::Wrong(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn endpoints_are_hosts_without_secrets() {
        for text in [
            "https://s3.example.org",
            "http://localhost:9000",
            "http://127.0.0.1:10000/account",
            "http://[::1]:80",
        ] {
            assert_eq!(Kind::Endpoint.check(text), Ok(()), "{text}");
        }
        for text in [
            "localhost:9000",
            "ftp://host",
            "https://",
            "https:///x",
            "https://:80",
            "https://me:pw@host",
            "https://host?sig=x",
            "https://host#x",
            "https://ho st",
        ] {
            assert!(
                matches!(Kind::Endpoint.check(text), Err(ValueFault::Wrong(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn lists_of_locations_split_at_commas_outside_quotes() {
        let split = |text| location_list(text).map(|list| list.join("|"));
        assert_eq!(split("/a").as_deref(), Some("/a"));
        assert_eq!(split(" /a , /b c ").as_deref(), Some("/a|/b c"));
        assert_eq!(split("\"/a,b\", /c").as_deref(), Some("/a,b|/c"));
        assert_eq!(split("\"/a\"\"b\"").as_deref(), Some("/a\"b"));
        for text in ["", ",", "/a,", "/a,,/b", "\"/a", "\"/a\" x", "\"\""] {
            assert_eq!(split(text), None, "{text}");
        }
    }

    #[test]
    fn names_of_directories_cannot_climb() {
        for text in ["a", "a.b", "Größe.100%", "a b"] {
            assert_eq!(Kind::Namespace.check(text), Ok(()), "{text}");
        }
        for text in [".", "..", "a..b", ".a", "a.", "a/b", "../x", "a:b"] {
            assert!(Kind::Namespace.check(text).is_err(), "{text}");
        }
        assert_eq!(Kind::FileName.check("a.b"), Ok(()));
        for text in [".", "..", "a/b"] {
            assert!(Kind::FileName.check(text).is_err(), "{text}");
        }
        assert!(Kind::FilePath.check("metadata/../../x.json").is_err());
        assert_eq!(Kind::FilePath.check("metadata/v1.metadata.json"), Ok(()));
    }
}
