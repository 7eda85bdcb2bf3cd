//! Which metadata file of a table is read: versions, names, hints, two tables in one directory, and the options that choose.

use std::path::Path;
use std::sync::Arc;

use arrow::array::Int32Array;
use iceberg_fdw_tests::database::{Database, foreign_table, text_value};
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::{Directory, Table, write_gzip, write_json};
use postgres::Client;
use serde_json::{Value as Json, json};

const OTHER_UUID: &str = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
const UUID: &str = "9c12d441-03fe-4693-9a96-a0705ddf69c1";

/// The metadata of a table in `directory` whose one row is `marker`, written to the file `name` of its metadata.
fn version(directory: &Path, name: &str, marker: i32) -> Json {
    let metadata = marked(directory, marker);
    write_json(&directory.join("metadata").join(name), &metadata);
    metadata
}

fn marked(directory: &Path, marker: i32) -> Json {
    let array = Arc::new(Int32Array::from(vec![marker]));
    let table = Table::new(directory)
        .snapshot_id(i64::from(marker))
        .column(1, "marker", "int");
    table
        .file(&format!("data/{marker}.parquet"), vec![array])
        .write_snapshot()
}

/// The marker of the version that is read.
fn marker(location: &Path, options: &[(&str, &str)]) -> Result<String, postgres::Error> {
    let database = Database::new();
    read(&mut database.with_server(), location, options)
}

fn read(
    client: &mut Client,
    location: &Path,
    options: &[(&str, &str)],
) -> Result<String, postgres::Error> {
    client.batch_execute(&foreign_table("tested", "marker int", location, options))?;
    Ok(text_value(client, "SELECT string_agg(marker::text, ',') FROM tested")?.unwrap_or_default())
}

fn assert_marker(location: &Path, options: &[(&str, &str)], expected: i32) {
    match marker(location, options) {
        Ok(marker) => assert_eq!(marker, expected.to_string()),
        Err(error) => panic!(
            "{}",
            failure::text(&failure::server_error::<()>(Err(error)))
        ),
    }
}

#[test]
fn version_10_is_newer_than_version_9() {
    let directory = Directory::new();
    version(directory.path(), "v9.metadata.json", 9);
    version(directory.path(), "v10.metadata.json", 10);
    assert_marker(directory.path(), &[], 10);
}

#[test]
fn versions_with_leading_zeros_and_uuids_are_numbers() {
    let directory = Directory::new();
    version(
        directory.path(),
        "00009-0b9ab2a1-5bd4-4a5e-8a8e-0f9c3f9c1111.metadata.json",
        9,
    );
    version(
        directory.path(),
        "00010-0b9ab2a1-5bd4-4a5e-8a8e-0f9c3f9c2222.metadata.json",
        10,
    );
    version(
        directory.path(),
        "0011-0b9ab2a1-5bd4-4a5e-8a8e-0f9c3f9c0000.metadata.json",
        11,
    );
    assert_marker(directory.path(), &[], 11);
}

#[test]
fn both_namings_in_one_directory_are_compared_by_version() {
    let directory = Directory::new();
    version(directory.path(), "v3.metadata.json", 3);
    version(
        directory.path(),
        "00004-0b9ab2a1-5bd4-4a5e-8a8e-0f9c3f9c1111.metadata.json",
        4,
    );
    assert_marker(directory.path(), &[], 4);
}

#[test]
fn gzip_metadata_is_read_under_the_new_name() {
    let directory = Directory::new();
    version(directory.path(), "v1.metadata.json", 1);
    write_gzip(
        &directory.join("metadata/v2.gz.metadata.json"),
        &marked(directory.path(), 2),
    );
    assert_marker(directory.path(), &[], 2);
}

#[test]
fn gzip_metadata_is_read_under_the_old_name() {
    let directory = Directory::new();
    version(directory.path(), "v1.metadata.json", 1);
    write_gzip(
        &directory.join("metadata/v2.metadata.json.gz"),
        &marked(directory.path(), 2),
    );
    assert_marker(directory.path(), &[], 2);
}

#[test]
fn gzip_metadata_is_known_by_its_first_bytes_whatever_its_name() {
    let directory = Directory::new();
    write_gzip(
        &directory.join("metadata/v1.metadata.json"),
        &marked(directory.path(), 1),
    );
    assert_marker(directory.path(), &[], 1);
}

#[test]
fn a_stale_hint_in_any_form_does_not_hide_the_newest_version() {
    for (name, hint) in [
        ("version-hint.text", "1"),
        ("version-hint.text", "1\n"),
        ("version-hint.text", "v1"),
        ("version-hint.text", "v1.metadata.json"),
        ("version-hint.txt", "1"),
    ] {
        let directory = Directory::new();
        version(directory.path(), "v1.metadata.json", 1);
        version(directory.path(), "v2.metadata.json", 2);
        std::fs::write(directory.join("metadata").join(name), hint).expect("a hint can be written");
        assert_marker(directory.path(), &[], 2);
    }
}

#[test]
fn a_hint_that_names_nothing_is_ignored() {
    for hint in ["7", "", "not a version", "../../v1", "99999999999999999999"] {
        let directory = Directory::new();
        version(directory.path(), "v1.metadata.json", 1);
        std::fs::write(directory.join("metadata/version-hint.text"), hint)
            .expect("a hint can be written");
        assert_marker(directory.path(), &[], 1);
    }
}

/// Two tables in one directory: version 1 of one, version 2 of the other.
fn two_tables(directory: &Path) {
    version(directory, "v1.metadata.json", 1);
    let mut other = marked(directory, 2);
    other["table-uuid"] = json!(OTHER_UUID);
    write_json(&directory.join("metadata/v2.metadata.json"), &other);
}

#[test]
fn two_tables_in_one_directory_are_an_error_that_lists_them() {
    let directory = Directory::new();
    two_tables(directory.path());
    let error = failure::server_error(marker(directory.path(), &[]));
    let text = failure::text(&error);
    assert!(
        text.contains("v1.metadata.json") && text.contains("v2.metadata.json"),
        "{text}"
    );
    assert!(
        text.contains("metadata_table_uuid"),
        "the error does not say what to do: {text}"
    );
}

#[test]
fn a_table_uuid_chooses_one_of_two_tables() {
    let directory = Directory::new();
    two_tables(directory.path());
    assert_marker(directory.path(), &[("metadata_table_uuid", UUID)], 1);
    assert_marker(directory.path(), &[("metadata_table_uuid", OTHER_UUID)], 2);
}

#[test]
fn a_table_uuid_is_compared_without_regard_to_case() {
    let directory = Directory::new();
    two_tables(directory.path());
    assert_marker(
        directory.path(),
        &[("metadata_table_uuid", &UUID.to_uppercase())],
        1,
    );
}

#[test]
fn a_table_uuid_that_no_file_has_is_no_table() {
    let directory = Directory::new();
    version(directory.path(), "v1.metadata.json", 1);
    failure::expect(
        marker(directory.path(), &[("metadata_table_uuid", OTHER_UUID)]),
        &["HV00R"],
        &[OTHER_UUID],
    );
}

#[test]
fn equal_versions_of_one_table_have_a_defined_answer_or_list_both() {
    let directory = Directory::new();
    version(directory.path(), "v3.metadata.json", 3);
    version(
        directory.path(),
        "00003-0b9ab2a1-5bd4-4a5e-8a8e-0f9c3f9c1111.metadata.json",
        4,
    );
    let mut answers = Vec::new();
    for _ in 0..3 {
        match marker(directory.path(), &[]) {
            Ok(marker) => answers.push(marker),
            Err(error) => {
                let text = failure::text(&failure::server_error::<()>(Err(error)));
                assert!(
                    text.contains("v3.metadata.json") && text.contains("00003-"),
                    "{text}"
                );
                answers.push("error".into());
            }
        }
    }
    assert!(
        answers.windows(2).all(|pair| pair[0] == pair[1]),
        "{answers:?}"
    );
}

#[test]
fn the_time_of_the_last_update_decides_when_asked_for() {
    let directory = Directory::new();
    let mut newest = marked(directory.path(), 1);
    newest["last-updated-ms"] = json!(1_767_225_600_000_i64);
    write_json(&directory.join("metadata/v1.metadata.json"), &newest);
    version(directory.path(), "v2.metadata.json", 2);
    assert_marker(directory.path(), &[], 2);
    assert_marker(
        directory.path(),
        &[("recent_metadata_file_by_last_updated_ms", "true")],
        1,
    );
}

#[test]
fn a_metadata_file_path_is_relative_to_the_table() {
    let directory = Directory::new();
    version(directory.path(), "v1.metadata.json", 1);
    version(directory.path(), "v2.metadata.json", 2);
    assert_marker(
        directory.path(),
        &[("metadata_file_path", "metadata/v1.metadata.json")],
        1,
    );
}

#[test]
fn a_metadata_file_path_may_be_absolute_inside_the_table() {
    let directory = Directory::new();
    version(directory.path(), "v1.metadata.json", 1);
    version(directory.path(), "v2.metadata.json", 2);
    let path = directory.join("metadata/v1.metadata.json");
    assert_marker(
        directory.path(),
        &[("metadata_file_path", path.to_str().expect("a UTF-8 path"))],
        1,
    );
}

#[test]
fn a_metadata_file_path_makes_other_choices_void() {
    let directory = Directory::new();
    two_tables(directory.path());
    let options = [
        ("metadata_file_path", "metadata/v1.metadata.json"),
        ("metadata_table_uuid", OTHER_UUID),
        ("recent_metadata_file_by_last_updated_ms", "true"),
    ];
    assert_marker(directory.path(), &options, 1);
}

#[test]
fn a_metadata_file_path_outside_the_table_is_refused() {
    let directory = Directory::new();
    let (inside, outside) = (directory.join("inside"), directory.join("outside"));
    version(&inside, "v1.metadata.json", 1);
    version(&outside, "v1.metadata.json", 2);
    let absolute = outside.join("metadata/v1.metadata.json");
    for path in [
        "../outside/metadata/v1.metadata.json",
        absolute.to_str().expect("a UTF-8 path"),
    ] {
        let error = failure::server_error(marker(&inside, &[("metadata_file_path", path)]));
        assert!(
            ["42501", "22023"].contains(&error.code().code()),
            "{}",
            failure::text(&error)
        );
    }
}

#[test]
fn a_metadata_file_path_that_does_not_exist_is_no_table() {
    let directory = Directory::new();
    version(directory.path(), "v1.metadata.json", 1);
    failure::expect(
        marker(
            directory.path(),
            &[("metadata_file_path", "metadata/v7.metadata.json")],
        ),
        &["HV00R"],
        &["v7.metadata.json"],
    );
}

#[test]
fn the_location_may_be_the_metadata_file_itself() {
    let directory = Directory::new();
    version(directory.path(), "v1.metadata.json", 1);
    version(directory.path(), "v2.metadata.json", 2);
    assert_marker(&directory.join("metadata/v1.metadata.json"), &[], 1);
}

#[test]
fn a_directory_without_metadata_is_no_table() {
    let directory = Directory::new();
    failure::expect(
        marker(directory.path(), &[]),
        &["HV00R"],
        &[directory.path().to_str().expect("a UTF-8 path")],
    );
    failure::expect(
        marker(&directory.join("absent"), &[]),
        &["HV00R"],
        &["absent"],
    );
}

#[test]
fn a_newest_file_that_is_no_json_is_corrupt_and_named() {
    let directory = Directory::new();
    version(directory.path(), "v1.metadata.json", 1);
    for text in ["", "{", "[]", "{\"format-version\": 2}", "\u{1f}\u{8b}"] {
        std::fs::write(directory.join("metadata/v2.metadata.json"), text)
            .expect("a file can be written");
        failure::expect(
            marker(directory.path(), &[]),
            &["XX001"],
            &["v2.metadata.json"],
        );
    }
}

#[test]
fn a_format_version_from_the_future_is_not_supported() {
    let directory = Directory::new();
    let mut metadata = marked(directory.path(), 1);
    metadata["format-version"] = json!(99);
    write_json(&directory.join("metadata/v1.metadata.json"), &metadata);
    failure::expect(marker(directory.path(), &[]), &["0A000"], &["99"]);
}

fn assert_empty(current: Option<Json>) {
    let directory = Directory::new();
    let mut metadata = Table::new(directory.path())
        .column(1, "marker", "int")
        .metadata_without_snapshot();
    if let Some(current) = current {
        metadata["current-snapshot-id"] = current;
    }
    write_json(&directory.join("metadata/v1.metadata.json"), &metadata);
    assert_eq!(
        marker(directory.path(), &[]).expect("an empty table can be read"),
        ""
    );
}

#[test]
fn a_table_whose_current_snapshot_is_minus_one_is_empty() {
    assert_empty(Some(json!(-1)));
}

#[test]
fn a_table_whose_current_snapshot_is_null_is_empty() {
    assert_empty(Some(Json::Null));
}

#[test]
fn a_table_whose_current_snapshot_is_absent_is_empty() {
    assert_empty(None);
}

#[test]
fn a_current_snapshot_that_does_not_exist_is_corrupt() {
    let directory = Directory::new();
    let mut metadata = marked(directory.path(), 1);
    metadata["current-snapshot-id"] = json!(7);
    write_json(&directory.join("metadata/v1.metadata.json"), &metadata);
    failure::expect(
        marker(directory.path(), &[]),
        &["XX001"],
        &["v1.metadata.json"],
    );
}

#[test]
fn a_new_version_is_seen_by_the_next_statement() {
    let directory = Directory::new();
    version(directory.path(), "v1.metadata.json", 1);
    let database = Database::new();
    let mut client = database.with_server();
    assert_eq!(
        read(
            &mut client,
            directory.path(),
            &[("metadata_staleness_ms", "0")]
        )
        .expect("version 1"),
        "1"
    );
    version(directory.path(), "v2.metadata.json", 2);
    let marker = text_value(
        &mut client,
        "SELECT string_agg(marker::text, ',') FROM tested",
    )
    .expect("version 2");
    assert_eq!(marker.as_deref(), Some("2"));
}
