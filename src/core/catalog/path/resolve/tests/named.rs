//! Tests of metadata files that are named, and of places without one.

use std::os::unix::fs::symlink;

use super::*;

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
    let remote = table.resolve_at("hdfs://namenode/t", &newest()).await;
    assert_eq!(
        remote.map_err(|error| error.kind()),
        Err(ErrorKind::NotSupported)
    );
}
