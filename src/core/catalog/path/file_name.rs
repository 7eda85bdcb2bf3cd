//! What the name of a metadata file tells: that it is one, and its version.
//! Spec: "File System Tables", "Metastore Tables", "GZIP" naming in Appendix F.

use std::cmp::Ordering;

use uuid::Uuid;

/// All endings of metadata files; the longest that fits counts.
const ENDINGS: [&str; 3] = [".gz.metadata.json", ".metadata.json.gz", ".metadata.json"];

/// Whether a file of this name is a table metadata file. Hidden files are not: copying tools and
/// checksums of file systems leave them next to the real ones.
pub(super) fn is_metadata_file(name: &str) -> bool {
    !name.starts_with('.') && stem(name).is_some_and(|stem| !stem.is_empty())
}

/// The version of a metadata file: a decimal number of any size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    /// Decimal digits without leading zeros.
    digits: String,
}

impl Version {
    /// The version in `v<N>.metadata.json` or `<N>-<uuid>.metadata.json`; `None` for any other
    /// name, such as a writer's temporary `<uuid>.metadata.json`.
    pub(super) fn of_file(name: &str) -> Option<Self> {
        let stem = stem(name)?;
        let digits = match stem.strip_prefix('v') {
            Some(digits) => digits,
            None => {
                let (digits, uuid) = stem.split_once('-')?;
                Uuid::try_parse(uuid).ok()?;
                digits
            }
        };
        let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        valid.then(|| Self {
            digits: digits.trim_start_matches('0').to_owned(),
        })
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.digits.len().cmp(&other.digits.len());
        by_length.then_with(|| self.digits.cmp(&other.digits))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn stem(name: &str) -> Option<&str> {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "9c12d441-03fe-4693-9a96-a0705ddf69c1";

    #[test]
    fn names_of_metadata_files() {
        for name in [
            "v1.metadata.json",
            "v1.gz.metadata.json",
            "v1.metadata.json.gz",
            "00001-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json",
            "anything at all.metadata.json",
        ] {
            assert!(is_metadata_file(name), "{name}");
        }
        for name in [
            ".metadata.json",
            ".gz.metadata.json",
            "v1.json",
            "v1.metadata.json.tmp",
            ".v1.metadata.json",
            ".v1.metadata.json.crc",
            "version-hint.text",
            "snap-1-1-a.avro",
            "v1.METADATA.JSON",
        ] {
            assert!(!is_metadata_file(name), "{name}");
        }
    }

    #[test]
    fn versions_order_as_numbers() {
        let ascending = [
            "v0.metadata.json".to_owned(),
            "v1.gz.metadata.json".to_owned(),
            format!("00002-{UUID}.metadata.json"),
            "v9.metadata.json".to_owned(),
            "v10.metadata.json.gz".to_owned(),
            format!("011-{UUID}.gz.metadata.json"),
            format!("00012-{UUID}.metadata.json.gz"),
            "v18446744073709551615.metadata.json".to_owned(),
            "v18446744073709551616.metadata.json".to_owned(),
            "v99999999999999999999999999.metadata.json".to_owned(),
        ];
        for pair in ascending.windows(2) {
            let versions = (Version::of_file(&pair[0]), Version::of_file(&pair[1]));
            assert!(versions.0.is_some() && versions.0 < versions.1, "{pair:?}");
        }
        assert_eq!(
            Version::of_file("v007.metadata.json"),
            Version::of_file(&format!("7-{UUID}.gz.metadata.json"))
        );
    }

    #[test]
    fn other_names_have_no_version() {
        for name in [
            "9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json",
            "00001.metadata.json",
            "00001-.metadata.json",
            "2024-backup.metadata.json",
            "v.metadata.json",
            "v-1.metadata.json",
            "v+1.metadata.json",
            "v1_0.metadata.json",
            "v١.metadata.json",
            "V1.metadata.json",
            "v1-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json",
            "latest.metadata.json",
        ] {
            assert_eq!(Version::of_file(name), None, "{name}");
        }
    }
}
