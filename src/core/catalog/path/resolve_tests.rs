//! Tests of the choice between metadata files, each on a directory made for it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;

use super::*;

const A: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const B: &str = "bbbbbbbb-0000-4000-8000-000000000002";
/// The random part of a file's name; says nothing about the table.
const R: &str = "12345678-1234-4234-9234-123456789abc";
const Q: &str = "87654321-1234-4234-9234-123456789abc";

/// A table directory that goes away with the test.
struct Table {
    _keep: tempfile::TempDir,
    path: String,
}

impl Table {
    fn new() -> Self {
        let keep = tempfile::tempdir().expect("a directory");
        let path = keep.path().join("wh/t");
        fs::create_dir_all(path.join("metadata")).expect("directories");
        let path = path.to_str().expect("UTF-8").to_owned();
        Self { _keep: keep, path }
    }

    fn with(files: &[(&str, &str)]) -> Self {
        let table = Self::new();
        for (name, text) in files {
            table.put(name, text.as_bytes());
        }
        table
    }

    fn put(&self, name: &str, content: &[u8]) {
        let path = format!("{}/metadata/{name}", self.path);
        let content = if name.contains("gz") && !content.starts_with(b"!") {
            gzip(content)
        } else {
            content.to_vec()
        };
        fs::write(path, content).expect("written");
    }

    async fn resolve(&self, selection: &MetadataSelection) -> Result<String> {
        self.resolve_at(&self.path, selection).await
    }

    async fn resolve_at(&self, at: &str, selection: &MetadataSelection) -> Result<String> {
        let location = Location::parse(at)?;
        let found = resolve_metadata_file(&Storage::new(), &location, selection, &[]).await?;
        assert!(!found.bytes.is_empty());
        let table = Location::parse(&self.path)?;
        assert!(found.table.is_same(&table), "{}", found.table);
        Ok(found.file.file_name().to_owned())
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(content).expect("packed");
    packer.finish().expect("packed")
}

fn json(uuid: &str, last_updated_ms: i64) -> String {
    format!(
        r#"{{"format-version":2,"table-uuid":"{uuid}","location":"/x","last-updated-ms":{last_updated_ms},"properties":{{}}}}"#
    )
}

fn json_without_uuid(last_updated_ms: i64) -> String {
    format!(r#"{{"format-version":1,"location":"/x","last-updated-ms":{last_updated_ms}}}"#)
}

fn newest() -> MetadataSelection {
    MetadataSelection::default()
}

fn of_table(uuid: &str) -> MetadataSelection {
    MetadataSelection {
        metadata_table_uuid: Some(uuid.to_owned()),
        ..MetadataSelection::default()
    }
}

fn by_time() -> MetadataSelection {
    MetadataSelection {
        recent_by_last_updated_ms: true,
        ..MetadataSelection::default()
    }
}

fn file(path: &str) -> MetadataSelection {
    MetadataSelection {
        metadata_file_path: Some(path.to_owned()),
        metadata_table_uuid: Some("not even a uuid".to_owned()),
        recent_by_last_updated_ms: true,
    }
}

/// What a row shows, the files, the choice, and the chosen file or the kind of error.
type Row<'a> = (
    &'a str,
    &'a [(&'a str, &'a str)],
    MetadataSelection,
    Result<&'a str, ErrorKind>,
);

async fn check(rows: &[Row<'_>]) {
    for (what, files, selection, expected) in rows {
        let found = Table::with(files).resolve(selection).await;
        let found = found.as_deref().map_err(Error::kind);
        assert_eq!(found, *expected, "{what}");
    }
}

#[tokio::test]
async fn the_highest_version_is_current() {
    let (old, new) = (json(A, 1000), json(A, 2000));
    let (old, new) = (old.as_str(), new.as_str());
    let r9 = format!("00009-{R}.metadata.json");
    let r10 = format!("00010-{Q}.metadata.json");
    let r10_short = format!("10-{Q}.metadata.json");
    let r10_gz = format!("00010-{Q}.gz.metadata.json");
    let r10_old_gz = format!("00010-{Q}.metadata.json.gz");
    check(&[
        (
            "only",
            &[("v1.metadata.json", new)],
            newest(),
            Ok("v1.metadata.json"),
        ),
        (
            "10 after 9",
            &[("v9.metadata.json", old), ("v10.metadata.json", new)],
            newest(),
            Ok("v10.metadata.json"),
        ),
        (
            "10 after 9, catalog names",
            &[(&r9, old), (&r10, new)],
            newest(),
            Ok(&r10),
        ),
        (
            "leading zeros",
            &[(&r9, old), (&r10_short, new)],
            newest(),
            Ok(&r10_short),
        ),
        (
            "the version decides, not the time",
            &[("v2.metadata.json", new), ("v3.metadata.json", old)],
            newest(),
            Ok("v3.metadata.json"),
        ),
        (
            "beyond 64 bits",
            &[
                ("v18446744073709551615.metadata.json", old),
                ("v18446744073709551616.metadata.json", new),
            ],
            newest(),
            Ok("v18446744073709551616.metadata.json"),
        ),
        (
            "gzip",
            &[("v1.metadata.json", old), ("v2.gz.metadata.json", new)],
            newest(),
            Ok("v2.gz.metadata.json"),
        ),
        (
            "old gzip name",
            &[("v1.metadata.json", old), ("v2.metadata.json.gz", new)],
            newest(),
            Ok("v2.metadata.json.gz"),
        ),
        (
            "gzip, catalog names",
            &[(&r9, old), (&r10_gz, new)],
            newest(),
            Ok(&r10_gz),
        ),
        (
            "old gzip, catalog names",
            &[(&r9, old), (&r10_old_gz, new)],
            newest(),
            Ok(&r10_old_gz),
        ),
        (
            "both forms of names",
            &[("v9.metadata.json", old), (&r10, new)],
            newest(),
            Ok(&r10),
        ),
        (
            "what has no version loses",
            &[
                ("v1.metadata.json", old),
                (&format!("{R}.metadata.json"), new),
                ("2025-backup.metadata.json", new),
            ],
            newest(),
            Ok("v1.metadata.json"),
        ),
        (
            "files of other names do not count",
            &[
                ("v1.metadata.json", old),
                (".v2.metadata.json", new),
                ("v3.metadata.json.tmp", new),
                ("v4.json", new),
                ("snap-5.avro", new),
            ],
            newest(),
            Ok("v1.metadata.json"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn files_without_a_version() {
    let (old, new) = (json(A, 1000), json(A, 2000));
    let (old, new) = (old.as_str(), new.as_str());
    let two: &[(&str, &str)] = &[("a.metadata.json", new), ("b.metadata.json", old)];
    check(&[
        (
            "one is the answer",
            &[("latest.metadata.json", new)],
            newest(),
            Ok("latest.metadata.json"),
        ),
        ("several are not", two, newest(), Err(ErrorKind::Ambiguous)),
        (
            "nor of one table",
            two,
            of_table(A),
            Err(ErrorKind::Ambiguous),
        ),
        ("but the time tells", two, by_time(), Ok("a.metadata.json")),
    ])
    .await;
    let error = Table::with(two)
        .resolve(&newest())
        .await
        .expect_err("ambiguous");
    assert_eq!(error.detail(), Some("a.metadata.json, b.metadata.json"));
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("metadata_file_path"))
    );
}

#[tokio::test]
async fn several_tables_in_one_directory() {
    let (a1, a9, b2, b3) = (json(A, 1000), json(A, 9000), json(B, 2000), json(B, 3000));
    let r5 = format!("00005-{R}.metadata.json");
    let q0 = format!("00000-{Q}.metadata.json");
    let q1 = format!("00001-{Q}.metadata.json");
    // A was dropped with five versions; B was made anew at the same place.
    let files: &[(&str, &str)] = &[(&r5, &a1), (&q0, &b2), (&q1, &b3)];
    check(&[
        ("which?", files, newest(), Err(ErrorKind::Ambiguous)),
        (
            "which, by time?",
            files,
            by_time(),
            Err(ErrorKind::Ambiguous),
        ),
        ("A", files, of_table(A), Ok(&r5)),
        ("B", files, of_table(B), Ok(&q1)),
        ("capitals", files, of_table(&B.to_uppercase()), Ok(&q1)),
        (
            "without hyphens",
            files,
            of_table(&B.replace('-', "")),
            Ok(&q1),
        ),
        (
            "no such table",
            files,
            of_table(R),
            Err(ErrorKind::TableNotFound),
        ),
        (
            "no uuid",
            files,
            of_table("b"),
            Err(ErrorKind::InvalidArgument),
        ),
        (
            "empty uuid",
            files,
            of_table(""),
            Err(ErrorKind::InvalidArgument),
        ),
        (
            "one file of another table",
            &[(&r5, &a1)],
            of_table(B),
            Err(ErrorKind::TableNotFound),
        ),
        (
            "capitals in the file",
            &[
                ("v1.metadata.json", &json(&A.to_uppercase(), 1)),
                ("v2.metadata.json", &a9),
            ],
            newest(),
            Ok("v2.metadata.json"),
        ),
        (
            "a table that got its uuid later",
            &[
                ("v1.metadata.json", &json_without_uuid(1)),
                ("v2.metadata.json", &a9),
            ],
            newest(),
            Ok("v2.metadata.json"),
        ),
        (
            "by uuid and by time",
            &[(&r5, &a9), (&q0, &a1), (&q1, &b3)],
            MetadataSelection {
                recent_by_last_updated_ms: true,
                ..of_table(A)
            },
            Ok(&r5),
        ),
    ])
    .await;
    let error = Table::with(files)
        .resolve(&newest())
        .await
        .expect_err("ambiguous");
    let detail = error.detail().unwrap_or_default();
    assert_eq!(detail, format!("{A}: {r5}\n{B}: {q0}, {q1}"));
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("metadata_table_uuid"))
    );
    let error = Table::with(files)
        .resolve(&of_table(R))
        .await
        .expect_err("no table");
    assert_eq!(error.detail(), Some(detail));
}

#[tokio::test]
async fn the_time_of_the_last_update_decides_if_wanted() {
    let (old, new) = (json(A, -1000), json(A, 9000));
    let (old, new) = (old.as_str(), new.as_str());
    check(&[
        (
            "time over version",
            &[("v2.metadata.json", new), ("v3.metadata.json", old)],
            by_time(),
            Ok("v2.metadata.json"),
        ),
        (
            "time over having a version",
            &[("x.metadata.json", new), ("v3.metadata.json", old)],
            by_time(),
            Ok("x.metadata.json"),
        ),
        (
            "then the version",
            &[
                ("v9.metadata.json", new),
                ("v10.metadata.json", new),
                ("x.metadata.json", new),
            ],
            by_time(),
            Ok("v10.metadata.json"),
        ),
        (
            "files without a time lose",
            &[
                ("v9.metadata.json", old),
                ("v10.metadata.json", "{}"),
                ("v11.metadata.json", "!"),
            ],
            by_time(),
            Ok("v9.metadata.json"),
        ),
        (
            "nothing has a time",
            &[("v9.metadata.json", "{"), ("v10.metadata.json", "[]")],
            by_time(),
            Err(ErrorKind::Corrupt),
        ),
    ])
    .await;
}

#[tokio::test]
async fn equal_versions() {
    let (a1, a2, b2) = (json(A, 1000), json(A, 2000), json(B, 2000));
    let none = json_without_uuid(1000);
    let none_later = json_without_uuid(2000);
    let other_text = a2.replace("\"properties\":{}", "\"properties\":{\"a\":\"b\"}");
    let (r3, q3) = (
        format!("00003-{R}.metadata.json"),
        format!("00003-{Q}.metadata.json"),
    );
    check(&[
        ("later wins", &[(&r3, &a1), (&q3, &a2)], newest(), Ok(&q3)),
        (
            "later wins, other order",
            &[(&r3, &a2), (&q3, &a1)],
            newest(),
            Ok(&r3),
        ),
        (
            "of one table",
            &[(&r3, &a1), (&q3, &a2)],
            of_table(A),
            Ok(&q3),
        ),
        (
            "leading zeros",
            &[("v003.metadata.json", &a2), ("v3.metadata.json", &a1)],
            newest(),
            Ok("v003.metadata.json"),
        ),
        (
            "other tables",
            &[(&r3, &a1), (&q3, &b2)],
            newest(),
            Err(ErrorKind::Ambiguous),
        ),
        (
            "same time",
            &[(&r3, &a2), (&q3, &other_text)],
            newest(),
            Err(ErrorKind::Ambiguous),
        ),
        (
            "same text",
            &[("v3.gz.metadata.json", &a2), ("v3.metadata.json", &a2)],
            newest(),
            Ok("v3.gz.metadata.json"),
        ),
        (
            "no uuids",
            &[(&r3, &none), (&q3, &none_later)],
            newest(),
            Err(ErrorKind::Ambiguous),
        ),
        (
            "no uuids, same text",
            &[(&r3, &none), (&q3, &none)],
            newest(),
            Ok(&r3),
        ),
        (
            "a broken one loses",
            &[(&r3, "{"), (&q3, &a1)],
            newest(),
            Ok(&q3),
        ),
        (
            "all broken",
            &[(&r3, "{"), (&q3, "")],
            newest(),
            Err(ErrorKind::Corrupt),
        ),
    ])
    .await;
    let error = Table::with(&[(&r3, &a2), (&q3, &other_text)])
        .resolve(&newest())
        .await
        .expect_err("ambiguous");
    assert_eq!(error.detail(), Some(format!("{r3}, {q3}").as_str()));
}

#[tokio::test]
async fn files_that_cannot_be_parsed() {
    let good = json(A, 1000);
    let good = good.as_str();
    let cut = &good[..40];
    let wrong_uuid = good.replace(A, "no uuid");
    let deep = format!("{{\"x\":{}", "[".repeat(200_000));
    for broken in [
        "",
        "{",
        "[]",
        "null",
        "!gz",
        cut,
        &wrong_uuid,
        &deep,
        "{\"table-uuid\":7}",
    ] {
        let below: &[(&str, &str)] = &[("v1.metadata.json", broken), ("v2.metadata.json", good)];
        let above: &[(&str, &str)] = &[("v2.metadata.json", good), ("v3.metadata.json", broken)];
        let alone: &[(&str, &str)] = &[("v3.metadata.json", broken)];
        check(&[
            (broken, below, newest(), Ok("v2.metadata.json")),
            (broken, below, by_time(), Ok("v2.metadata.json")),
            (broken, above, by_time(), Ok("v2.metadata.json")),
            (broken, above, of_table(A), Ok("v2.metadata.json")),
            (broken, above, newest(), Err(ErrorKind::Corrupt)),
            (broken, alone, newest(), Err(ErrorKind::Corrupt)),
            (broken, alone, by_time(), Err(ErrorKind::Corrupt)),
            (broken, alone, of_table(A), Err(ErrorKind::TableNotFound)),
        ])
        .await;
        let error = Table::with(above)
            .resolve(&newest())
            .await
            .expect_err("corrupt");
        assert!(error.message().contains("v3.metadata.json"), "{error}");
    }
    // gzip that is cut, and gzip under a plain name.
    let table = Table::with(&[("v1.metadata.json", good)]);
    let packed = gzip(good.as_bytes());
    table.put("v2.metadata.json", &packed);
    assert_eq!(
        table.resolve(&newest()).await.ok().as_deref(),
        Some("v2.metadata.json")
    );
    table.put("v3.metadata.json", &packed[..30]);
    let error = table.resolve(&newest()).await.expect_err("corrupt");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[tokio::test]
async fn the_keys_are_found_wherever_they_stand() {
    let filler = format!("\"schemas\":[{}0]", "0,".repeat(20_000));
    let nested = r#""x":{"table-uuid":"no","last-updated-ms":"no"},"s":"\"table-uuid\":1""#;
    let late = |uuid: &str, ms: i64| {
        format!(r#"{{{nested},{filler},"last-updated-ms":{ms},"table-uuid":"{uuid}"}}"#)
    };
    let (a, b) = (late(A, 1), late(B, 2));
    let (a, b) = (a.as_str(), b.as_str());
    for names in [
        ["v1.metadata.json", "v2.metadata.json"],
        ["v1.gz.metadata.json", "v2.metadata.json.gz"],
    ] {
        let files: &[(&str, &str)] = &[(names[0], a), (names[1], b)];
        check(&[
            ("late keys", files, of_table(A), Ok(names[0])),
            ("late keys", files, of_table(B), Ok(names[1])),
            ("late keys", files, newest(), Err(ErrorKind::Ambiguous)),
        ])
        .await;
    }
}

#[tokio::test]
async fn the_hint_file_never_decides() {
    let (old, new) = (json(A, 1000), json(A, 2000));
    for name in ["version-hint.text", "version-hint.txt"] {
        for hint in [
            "1",
            "v1",
            "1\n",
            "v1.metadata.json",
            "3",
            "-1",
            "",
            "x",
            "99999999999999999999",
        ] {
            let table = Table::with(&[("v1.metadata.json", &old), ("v2.metadata.json", &new)]);
            table.put(name, hint.as_bytes());
            let found = table.resolve(&newest()).await;
            assert_eq!(
                found.ok().as_deref(),
                Some("v2.metadata.json"),
                "{name} {hint}"
            );
        }
        let table = Table::new();
        table.put(name, b"1");
        let kind = table.resolve(&newest()).await.map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::TableNotFound));
    }
}

#[tokio::test]
async fn a_named_file_is_taken_whatever_else_is_chosen() {
    let (old, new) = (json(A, 1000), json(B, 2000));
    let table = Table::with(&[("v1.metadata.json", &old), ("v9.metadata.json", &new)]);
    table.put("od d%2F#.txt", old.as_bytes());
    let directory = &table.path;
    let link = format!("{}/link", table._keep.path().display());
    symlink(directory, &link).expect("a link");
    for (path, name) in [
        ("metadata/v1.metadata.json".to_owned(), "v1.metadata.json"),
        (
            "metadata//./v1.metadata.json".to_owned(),
            "v1.metadata.json",
        ),
        ("metadata/od d%2F#.txt".to_owned(), "od d%2F#.txt"),
        (
            format!("{directory}/metadata/v1.metadata.json"),
            "v1.metadata.json",
        ),
        (
            format!("file:{directory}/metadata/v1.metadata.json"),
            "v1.metadata.json",
        ),
        (
            format!("file://{directory}/metadata/v1.metadata.json"),
            "v1.metadata.json",
        ),
        (
            format!("{link}/metadata/v1.metadata.json"),
            "v1.metadata.json",
        ),
    ] {
        let found = table.resolve(&file(&path)).await;
        let found = found.as_deref().map_err(ToString::to_string);
        assert_eq!(found, Ok(name), "{path}");
    }
    let outside = format!("{}/v1.metadata.json", table._keep.path().display());
    fs::write(&outside, &old).expect("written");
    symlink(&outside, format!("{directory}/metadata/out.json")).expect("a link");
    for (path, kind) in [
        (outside.clone(), ErrorKind::PermissionDenied),
        (
            format!("{directory}2/v1.metadata.json"),
            ErrorKind::PermissionDenied,
        ),
        (
            "../t/metadata/v1.metadata.json".to_owned(),
            ErrorKind::PermissionDenied,
        ),
        (
            format!("{directory}/../t/metadata/v1.metadata.json"),
            ErrorKind::PermissionDenied,
        ),
        (
            "s3://bucket/metadata/v1.metadata.json".to_owned(),
            ErrorKind::PermissionDenied,
        ),
        ("metadata/out.json".to_owned(), ErrorKind::PermissionDenied),
        (
            "metadata/v2.metadata.json".to_owned(),
            ErrorKind::TableNotFound,
        ),
        ("v1.metadata.json".to_owned(), ErrorKind::TableNotFound),
        ("metadata".to_owned(), ErrorKind::TableNotFound),
        (String::new(), ErrorKind::InvalidArgument),
    ] {
        let found = table
            .resolve(&file(&path))
            .await
            .map_err(|error| error.kind());
        assert_eq!(found, Err(kind), "{path}");
    }
}

#[tokio::test]
async fn the_location_may_be_the_metadata_file() {
    let text = json(A, 1000);
    let table = Table::with(&[
        ("v1.metadata.json", &text),
        ("v2.gz.metadata.json", &text),
        ("v3.metadata.json.gz", &text),
        ("v4.metadata.json", "{}"),
    ]);
    for name in [
        "v1.metadata.json",
        "v2.gz.metadata.json",
        "v3.metadata.json.gz",
    ] {
        for scheme in ["", "file:", "file://"] {
            let at = format!("{scheme}{}/metadata/{name}", table.path);
            let found = table.resolve_at(&at, &newest()).await;
            assert_eq!(found.ok().as_deref(), Some(name));
        }
    }
    let at = format!("{}/metadata/v1.metadata.json", table.path);
    let both = table
        .resolve_at(&at, &file("metadata/v1.metadata.json"))
        .await;
    assert_eq!(
        both.map_err(|error| error.kind()),
        Err(ErrorKind::InvalidArgument)
    );
    let at = format!("{}/metadata/v7.metadata.json", table.path);
    let error = table.resolve_at(&at, &newest()).await.expect_err("missing");
    assert_eq!(error.kind(), ErrorKind::TableNotFound);
    assert!(error.message().contains("v7.metadata.json"), "{error}");
    // Elsewhere than in a directory called metadata: the table is where the file is.
    let at = format!("{}/v5.metadata.json", table.path);
    fs::write(&at, &text).expect("written");
    let found = table.resolve_at(&at, &newest()).await;
    assert_eq!(found.ok().as_deref(), Some("v5.metadata.json"));
}

#[tokio::test]
async fn where_there_is_no_table() {
    let table = Table::new();
    fs::create_dir(format!("{}/metadata/v1.metadata.json", table.path)).expect("a directory");
    let error = table.resolve(&newest()).await.expect_err("no table");
    assert_eq!(error.kind(), ErrorKind::TableNotFound);
    assert!(error.message().contains("*.metadata.json"), "{error}");
    let plain_file = format!("{}/file", table.path);
    fs::write(&plain_file, "").expect("written");
    for (at, says) in [
        (format!("{}/metadata", table.path), "there is no directory"),
        (format!("{}/missing", table.path), "no such directory"),
        (plain_file, "no such directory"),
    ] {
        let error = table
            .resolve_at(&at, &newest())
            .await
            .expect_err("no table");
        assert_eq!(error.kind(), ErrorKind::TableNotFound);
        assert!(
            error.message().contains(says) && error.message().contains(&at),
            "{error}"
        );
    }
    let remote = table.resolve_at("s3://bucket/t", &newest()).await;
    assert_eq!(
        remote.map_err(|error| error.kind()),
        Err(ErrorKind::NotSupported)
    );
}

#[tokio::test]
async fn many_files_are_opened_once_and_a_change_is_seen() {
    let table = Table::new();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    for version in 0..200 {
        let name = format!("v{version}.metadata.json");
        table.put(&name, json(A, version).as_bytes());
        let path = format!("{}/metadata/{name}", table.path);
        let file = fs::File::options().write(true).open(path).expect("opened");
        file.set_modified(long_ago).expect("aged");
    }
    let location = Location::parse(&table.path).expect("a location");
    let mut requests = Vec::new();
    for _ in 0..2 {
        let storage = Storage::new();
        let found = resolve_metadata_file(&storage, &location, &newest(), &[]).await;
        assert_eq!(found.expect("found").file.file_name(), "v199.metadata.json");
        requests.push(storage.counters().requests());
    }
    // The list, each file, the chosen file; then only the list and the chosen file.
    assert_eq!(requests, [202, 2]);
    // Replaced at once by a file of the same size: another table moved in.
    table.put("v7.metadata.json", json(B, 7).as_bytes());
    let found = resolve_metadata_file(&Storage::new(), &location, &newest(), &[]).await;
    assert_eq!(
        found.map_err(|error| error.kind()).err(),
        Some(ErrorKind::Ambiguous)
    );
}
