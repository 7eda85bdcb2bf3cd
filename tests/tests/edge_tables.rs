//! Tables at the edges of the format: manifests without live files, version 1 without a manifest list, deep nesting.
//! Spec: "Snapshots", "Manifests", "Nested Types".

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array};
use iceberg_fdw_tests::database::{Database, attach, text_value};
use iceberg_fdw_tests::synthetic::{
    Directory, Table, list_of, map_of, parquet_of_arrays, struct_of, write_json,
};
use serde_json::{Value as Json, json};

fn ints(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn value(table: &Path, query: &str) -> Option<String> {
    let database = Database::new();
    let mut client = database.with_server();
    client
        .batch_execute(&attach("t", table, ""))
        .expect("the table can be attached");
    text_value(&mut client, query).expect(query)
}

#[test]
fn dead_entries_only() {
    let directory = Directory::new();
    let table = Table::new(directory.join("t"))
        .column(1, "a", "int")
        .file("gone.parquet", vec![ints(&[1, 2])])
        .with_status(2, Some(1));
    let location = table.write();
    // Nothing reads a file that is not live.
    std::fs::remove_file(location.join("gone.parquet")).expect("the file is there");
    assert_eq!(
        value(&location, "SELECT count(*) FROM t").as_deref(),
        Some("0")
    );
    assert_eq!(
        value(&location, "SELECT count(a) FROM t").as_deref(),
        Some("0")
    );
}

#[test]
fn dead_entries_beside_live_ones() {
    let directory = Directory::new();
    let location = Table::new(directory.join("t"))
        .column(1, "a", "int")
        .file("gone.parquet", vec![ints(&[1, 2])])
        .with_status(2, Some(1))
        .file("existing.parquet", vec![ints(&[4])])
        .with_status(0, Some(1))
        .file("added.parquet", vec![ints(&[8])])
        .write();
    assert_eq!(
        value(&location, "SELECT sum(a) FROM t").as_deref(),
        Some("12")
    );
}

#[test]
fn v1_snapshots_with_manifests_instead_of_a_list() {
    let directory = Directory::new();
    let table = Table::new(directory.join("t"))
        .column(1, "a", "int")
        .file("a.parquet", vec![ints(&[1, 2])])
        .file("b.parquet", vec![ints(&[4])]);
    let mut metadata = table.write_snapshot();
    let schema = metadata["schemas"][0].clone();
    let snapshot = metadata["snapshots"][0]
        .as_object_mut()
        .expect("a snapshot");
    snapshot.remove("manifest-list");
    snapshot.remove("sequence-number");
    let manifest = table.path_of("metadata/manifest-1001.avro");
    snapshot.insert("manifests".to_owned(), json!([manifest]));
    metadata["format-version"] = json!(1);
    metadata["schema"] = schema;
    metadata["partition-spec"] = json!([]);
    let location = directory.join("t");
    write_json(&location.join("metadata/v1.metadata.json"), &metadata);
    std::fs::remove_file(location.join("metadata/snap-1001.avro")).expect("the list is there");
    assert_eq!(
        value(&location, "SELECT sum(a) FROM t").as_deref(),
        Some("7")
    );
}

#[test]
fn sixty_four_levels_of_nesting() {
    let directory = Directory::new();
    let mut array = ints(&[1, 2]);
    let mut kind = json!("long");
    let mut path = Vec::new();
    // Column 1 around structs, lists and maps in turn; ids are 100 and up.
    for level in (0..63).rev() {
        let id = 100 + 3 * level;
        match level % 3 {
            0 => {
                array = struct_of(&[(id, "s", array)]);
                kind = json!({"type": "struct", "fields": [
                    {"id": id, "name": "s", "required": false, "type": kind}]});
                path.push("s");
            }
            1 => {
                array = list_of(id, &[1, 1], array);
                kind = json!({"type": "list", "element-id": id, "element-required": false, "element": kind});
                path.push("0");
            }
            _ => {
                let keys: ArrayRef = Arc::new(arrow::array::StringArray::from(vec!["k", "k"]));
                array = map_of((id, id + 1), &[1, 1], keys, array);
                kind = json!({"type": "map", "key-id": id, "key": "string", "value-id": id + 1,
                    "value-required": false, "value": kind});
                path.push("k");
            }
        }
    }
    path.reverse();
    // The Parquet writer calls itself for every level.
    let file = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(move || parquet_of_arrays(&[(1, "c", array)]))
        .expect("a thread can be started")
        .join()
        .expect("the file can be written");
    let table = Table::new(directory.join("t")).raw_file("a.parquet", &file, 2);
    let mut metadata = table.write_snapshot();
    let column = json!({"id": 1, "name": "c", "required": false, "type": kind});
    let fields: Vec<Json> = vec![column];
    metadata["schemas"] = json!([{"type": "struct", "schema-id": 0, "fields": fields}]);
    metadata["last-column-id"] = json!(1000);
    let location = directory.join("t");
    write_json(&location.join("metadata/v1.metadata.json"), &metadata);
    let inner = format!("SELECT sum((c #>> '{{{}}}')::int) FROM t", path.join(","));
    assert_eq!(value(&location, &inner).as_deref(), Some("3"));
}
