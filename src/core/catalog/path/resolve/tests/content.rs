//! Tests of what is read from candidates: broken ones, late keys, hints, many files.

use super::*;

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
    // Numbers without a pattern, so that they are more than the first bytes also when packed.
    let mut state = 1_u32;
    let numbers = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_string()
    });
    let numbers: Vec<String> = numbers.take(4_000).collect();
    let filler = format!("\"schemas\":[{}]", numbers.join(","));
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
