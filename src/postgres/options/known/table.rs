//! The one table of options: name, places, kind, secret or not, default, one line of text.
//! The validator, its hints, what is read at run time and the README's tables all come from it.

use super::kind::Kind;

/// Where an option may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// `CREATE FOREIGN DATA WRAPPER`.
    Wrapper,
    /// `CREATE SERVER`.
    Server,
    /// `CREATE USER MAPPING`.
    UserMapping,
    /// `CREATE FOREIGN TABLE`.
    Table,
    /// A column of `CREATE FOREIGN TABLE`.
    Column,
    /// `IMPORT FOREIGN SCHEMA`.
    Import,
}

/// Whether this version can do what the option asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It can.
    Yes,
    /// The name is reserved; giving it is an error that says so.
    NotYet,
}

/// What is known of one option.
#[derive(Debug)]
pub struct OptionRow {
    /// As written in `OPTIONS (…)`.
    pub name: &'static str,
    /// Where it may stand; the first is where a hint sends the user.
    pub places: &'static [Place],
    /// What values it takes.
    pub kind: Kind,
    /// Whether its value may never be shown.
    pub secret: bool,
    /// Whether it says how a remote store is reached.
    pub of_store: bool,
    /// Whether only a superuser may set it.
    pub superuser: bool,
    /// The value that holds when it is not given.
    pub default: Option<&'static str>,
    /// Whether this version has it.
    pub support: Support,
    /// One line for a person: what it decides.
    pub text: &'static str,
}

const SERVER: &[Place] = &[Place::Server];
const MAPPING: &[Place] = &[Place::UserMapping];
const TABLE: &[Place] = &[Place::Table];
const TABLE_IMPORT: &[Place] = &[Place::Table, Place::Import];
const TABLE_SERVER_IMPORT: &[Place] = &[Place::Table, Place::Server, Place::Import];
const COLUMN: &[Place] = &[Place::Column];

const ROW: OptionRow = OptionRow {
    name: "",
    places: &[],
    kind: Kind::Text,
    secret: false,
    of_store: false,
    superuser: false,
    default: None,
    support: Support::Yes,
    text: "",
};

const fn row(
    name: &'static str,
    places: &'static [Place],
    kind: Kind,
    text: &'static str,
) -> OptionRow {
    OptionRow {
        name,
        places,
        kind,
        text,
        ..ROW
    }
}

const fn secret(name: &'static str, text: &'static str) -> OptionRow {
    OptionRow {
        secret: true,
        ..row(name, MAPPING, Kind::Text, text)
    }
}

const fn store(name: &'static str, kind: Kind, text: &'static str) -> OptionRow {
    OptionRow {
        of_store: true,
        ..row(name, SERVER, kind, text)
    }
}

impl OptionRow {
    const fn for_superusers(self) -> Self {
        Self {
            superuser: true,
            ..self
        }
    }

    const fn or(self, default: &'static str) -> Self {
        Self {
            default: Some(default),
            ..self
        }
    }

    const fn later(self) -> Self {
        Self {
            support: Support::NotYet,
            ..self
        }
    }
}

/// All options, in the order in which the README shows them.
pub const OPTIONS: &[OptionRow] = &[
    row(
        "catalog_type",
        SERVER,
        Kind::Choice {
            values: &["path"],
            later: &["rest", "sql", "glue", "s3tables", "hive"],
        },
        "How tables are found: `path` looks for metadata files in directories",
    )
    .or("path"),
    row("uri", SERVER, Kind::Text, "Where a catalog service answers").later(),
    row(
        "warehouse",
        SERVER,
        Kind::Location,
        "The directory that holds the namespaces, each a directory of tables",
    ),
    row(
        "allowed_locations",
        SERVER,
        Kind::LocationList,
        "Further directories, separated by commas, in which files of the server's tables may lie; \
         a table's own directory and the warehouse always are",
    ),
    store("region", Kind::Text, "The region that an S3 store is in").or("us-east-1"),
    store(
        "endpoint",
        Kind::Endpoint,
        "Address of the object store, if not the one of the cloud: of an S3 or Google store, or of an Azure account",
    ),
    store(
        "allow_http",
        Kind::Boolean,
        "Whether stores may be reached without encryption",
    )
    .or("false"),
    store(
        "virtual_hosted_style_request",
        Kind::Boolean,
        "Whether the bucket of an S3 store is part of the host's name instead of the path",
    )
    .or("false"),
    store(
        "skip_signature",
        Kind::Boolean,
        "Whether to read without credentials, as everybody may",
    )
    .or("false"),
    store(
        "request_payer",
        Kind::Boolean,
        "Whether who reads a bucket of S3 pays for it",
    )
    .or("false"),
    store(
        "account_name",
        Kind::Text,
        "The Azure account that the credentials are for, and that `az://container` is in",
    ),
    store(
        "tenant_id",
        Kind::Text,
        "The tenant of an Azure service principal, whose `client_id` and `client_secret` are in the user mapping",
    ),
    store(
        "use_ambient_credentials",
        Kind::Boolean,
        "Whether credentials of the server's environment or machine are used where a user mapping has none; only a \
         superuser may set it",
    )
    .or("false")
    .for_superusers(),
    store(
        "allow_link_local",
        Kind::Boolean,
        "Whether link-local addresses may be reached, where clouds serve the credentials of their machines; only a \
         superuser may set it",
    )
    .or("false")
    .for_superusers(),
    row(
        "oauth2_server_uri",
        SERVER,
        Kind::Text,
        "Where a catalog's tokens are issued",
    )
    .later(),
    row("scope", SERVER, Kind::Text, "Scope asked for in a token").later(),
    secret("access_key_id", "Access key of an S3 store"),
    secret("secret_access_key", "Secret key of an S3 store"),
    secret("session_token", "Session token of an S3 store"),
    secret("account_key", "Account key of an Azure store"),
    secret("sas_token", "Shared access signature of an Azure store"),
    secret(
        "service_account_key",
        "Service account key of a Google store, as JSON",
    ),
    secret("token", "Bearer token of a Google or Azure store"),
    secret("client_id", "Service principal of an Azure store"),
    secret(
        "client_secret",
        "Secret of the service principal of an Azure store",
    ),
    secret("password", "Password of a catalog"),
    row(
        "location",
        TABLE_IMPORT,
        Kind::Location,
        "The table's directory, or one of its metadata files; for an import the directory of the \
         tables, whatever the remote schema is called",
    ),
    row(
        "namespace",
        TABLE,
        Kind::Namespace,
        "The table's namespace under the server's `warehouse`; dots separate levels",
    ),
    row(
        "table_name",
        TABLE,
        Kind::FileName,
        "The table's name in its namespace",
    ),
    row(
        "metadata_file_path",
        TABLE,
        Kind::FilePath,
        "Exactly this metadata file, relative to the table's directory or absolute inside it; \
         the other options that choose a metadata file are ignored",
    ),
    row(
        "metadata_table_uuid",
        TABLE,
        Kind::Uuid,
        "Only metadata files of the table with this uuid",
    ),
    row(
        "recent_metadata_file_by_last_updated_ms",
        TABLE_IMPORT,
        Kind::Boolean,
        "Whether the current metadata file is the one with the latest `last-updated-ms` \
         instead of the one with the highest version",
    )
    .or("false"),
    row(
        "snapshot_id",
        TABLE,
        Kind::Integer {
            min: i64::MIN,
            max: i64::MAX,
        },
        "The snapshot to read, by its id",
    ),
    row(
        "timestamp_ms",
        TABLE,
        Kind::Integer {
            min: i64::MIN,
            max: i64::MAX,
        },
        "Read what was current at this time, in milliseconds since 1970-01-01 UTC",
    ),
    row("ref", TABLE, Kind::Text, "The branch or tag to read"),
    row(
        "allow_moved_paths",
        TABLE_IMPORT,
        Kind::Boolean,
        "Whether the table's directory may have been moved or copied: locations under the \
         metadata's `location` are looked up under the real one",
    )
    .or("false"),
    row(
        "metadata_async_prefetch_period_ms",
        TABLE,
        Kind::Integer {
            min: 0,
            max: i32::MAX as i64,
        },
        "How often metadata is fetched ahead, in milliseconds",
    )
    .later(),
    row(
        "metadata_staleness_ms",
        TABLE_SERVER_IMPORT,
        Kind::Integer {
            min: 0,
            max: i32::MAX as i64,
        },
        "How old, in milliseconds, metadata kept from an earlier query may be; 0 looks each time",
    )
    .or("0"),
    row(
        "updatable",
        TABLE_SERVER_IMPORT,
        Kind::Boolean,
        "Whether the tables may be changed, once this extension can change tables",
    )
    .or("true"),
    row(
        "field_id",
        COLUMN,
        Kind::Integer {
            min: 0,
            max: i32::MAX as i64,
        },
        "The field id of the column in the table's schema; wins over `column_name`",
    ),
    row(
        "column_name",
        COLUMN,
        Kind::Text,
        "The name of the column in the table's schema, if not the same",
    ),
    row(
        "metadata_column",
        COLUMN,
        Kind::Choice {
            values: &[
                "_file",
                "_pos",
                "_row_id",
                "_last_updated_sequence_number",
                "_spec_id",
                "_partition",
                "_change_type",
                "_change_ordinal",
                "_commit_snapshot_id",
            ],
            later: &[],
        },
        "What the column tells about the row, instead of something in it: the data file (text), the \
         position in it from 0 (int8), the row's id in tables of format version 3 and the sequence \
         number of its last change (int8 both), the partition spec of the file (int4), its \
         partition (jsonb); and of changes their kind (text), their snapshot's place among those \
         that are read (int4), and that snapshot (int8)",
    ),
    row(
        "import_collate",
        &[Place::Import],
        Kind::Text,
        "The collation that text columns are declared with, such as `C`",
    ),
];

/// The row of an option, wherever it may stand.
pub fn find(name: &str) -> Option<&'static OptionRow> {
    OPTIONS.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::super::{check, names};
    use super::*;

    #[test]
    fn names_are_distinct() {
        for (index, row) in OPTIONS.iter().enumerate() {
            assert!(
                OPTIONS[..index].iter().all(|other| other.name != row.name),
                "{} stands twice",
                row.name
            );
        }
    }

    #[test]
    fn secrets_stand_in_user_mappings_only() {
        for row in OPTIONS {
            assert_eq!(row.secret, row.places == MAPPING, "{}", row.name);
        }
    }

    #[test]
    fn defaults_are_valid_values() {
        for row in OPTIONS {
            if let Some(default) = row.default {
                assert_eq!(row.kind.check(default), Ok(()), "{}", row.name);
            }
        }
    }

    #[test]
    fn every_place_but_the_wrapper_has_options() {
        for place in names::PLACES {
            let some = OPTIONS.iter().any(|row| row.places.contains(place));
            assert_eq!(some, *place != Place::Wrapper, "{place:?}");
        }
        assert!(check(Place::Server, &[]).is_ok());
    }
}
