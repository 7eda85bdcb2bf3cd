//! Data files of every format, read as each of a few schemas. Spec: Appendix A.

use std::sync::{Arc, LazyLock};

use iceberg_core::plan::FileFormat;
use iceberg_core::spec::Schema;

use super::check_error;
use super::reading::{MemoryFiles, count_rows};

const FILE: &str = "data";

/// One with every primitive type, one with nested types, and one without columns.
static SCHEMAS: LazyLock<[Arc<Schema>; 3]> = LazyLock::new(|| {
    [
        r#"{"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "id", "required": false, "type": "long"},
            {"id": 2, "name": "bool", "required": false, "type": "boolean"},
            {"id": 3, "name": "i", "required": false, "type": "int"},
            {"id": 4, "name": "l", "required": false, "type": "long"},
            {"id": 5, "name": "f", "required": false, "type": "double"},
            {"id": 6, "name": "d", "required": false, "type": "double"},
            {"id": 7, "name": "dec9", "required": false, "type": "decimal(11, 2)"},
            {"id": 8, "name": "dec18", "required": false, "type": "decimal(18, 4)"},
            {"id": 9, "name": "dec38", "required": false, "type": "decimal(38, 10)"},
            {"id": 10, "name": "dt", "required": false, "type": "date"},
            {"id": 11, "name": "tm", "required": false, "type": "time"},
            {"id": 12, "name": "ts", "required": false, "type": "timestamp"},
            {"id": 13, "name": "tz", "required": false, "type": "timestamptz"},
            {"id": 14, "name": "s", "required": false, "type": "string"},
            {"id": 15, "name": "u", "required": false, "type": "uuid"},
            {"id": 16, "name": "fx", "required": false, "type": "fixed[4]"},
            {"id": 17, "name": "bin", "required": false, "type": "binary"}]}"#,
        r#"{"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "id", "required": false, "type": "int"},
            {"id": 2, "name": "m", "required": false, "type": {"type": "map",
                "key-id": 6, "key": "string", "value-id": 7, "value-required": false, "value": {
                "type": "struct", "fields": [
                    {"id": 8, "name": "x", "required": true, "type": "int"},
                    {"id": 9, "name": "y", "required": false, "type": {"type": "list",
                        "element-id": 10, "element": "string", "element-required": false}}]}}},
            {"id": 3, "name": "ll", "required": false, "type": {"type": "list", "element-id": 11,
                "element-required": false, "element": {"type": "list", "element-id": 12,
                    "element": "int", "element-required": true}}},
            {"id": 4, "name": "s", "required": false, "type": {"type": "struct", "fields": [
                {"id": 13, "name": "a", "required": false, "type": {"type": "struct", "fields": [
                    {"id": 14, "name": "b", "required": false, "type": "decimal(20, 3)"}]}}]}},
            {"id": 5, "name": "mi", "required": false, "type": {"type": "map",
                "key-id": 15, "key": "int", "value-id": 16, "value": "timestamptz",
                "value-required": false}}]}"#,
        r#"{"type": "struct", "schema-id": 0, "fields": []}"#,
    ]
    .map(|schema| Arc::new(Schema::parse(schema).expect("a schema")))
});

/// A Parquet data file.
pub fn parquet_file(input: &[u8]) -> bool {
    data_file(input, FileFormat::Parquet)
}

/// An ORC data file.
pub fn orc_file(input: &[u8]) -> bool {
    data_file(input, FileFormat::Orc)
}

/// An Avro data file.
pub fn avro_file(input: &[u8]) -> bool {
    data_file(input, FileFormat::Avro)
}

/// A data file: understood if a schema with columns fits it.
fn data_file(input: &[u8], format: FileFormat) -> bool {
    let [primitive, nested, empty] = SCHEMAS.each_ref().map(|schema| {
        let files = MemoryFiles::of([(FILE, input)]);
        let mut task = files.task(FILE);
        task.format = format;
        let read = count_rows(files, task, schema);
        read.map_err(|error| check_error(&error, FILE)).ok()
    });
    // Whoever decodes columns finds as many rows as whoever decodes none.
    for rows in [primitive, nested].into_iter().flatten() {
        assert_eq!(empty, Some(rows));
    }
    primitive.is_some() || nested.is_some()
}
