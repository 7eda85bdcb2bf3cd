//! Tests of the choice between candidates: versions, tables, times.

use super::*;

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
