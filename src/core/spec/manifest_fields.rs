//! The fields of manifest lists and manifests: ids, names and types, in one place.
//! Spec: "Manifests", "Manifest Lists".

/// A field of a manifest list or manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldDefinition {
    /// What a file's fields are matched by.
    pub id: i32,
    /// The name in the spec.
    pub name: &'static str,
    /// Names that older writers used.
    pub other_names: &'static [&'static str],
    /// Its type.
    pub field_type: FieldType,
}

/// The type of such a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// `boolean`
    Boolean,
    /// `int`
    Int,
    /// `long`
    Long,
    /// `string`
    String,
    /// `binary`
    Binary,
    /// `list<int>`
    IntList {
        /// Id of the element.
        element_id: i32,
    },
    /// `list<long>`
    LongList {
        /// Id of the element.
        element_id: i32,
    },
    /// `list<struct>`
    StructList {
        /// Id of the element.
        element_id: i32,
        /// Its fields.
        element: &'static [FieldDefinition],
    },
    /// `map<int, long>`
    LongMap {
        /// Id of the key.
        key_id: i32,
        /// Id of the value.
        value_id: i32,
    },
    /// `map<int, binary>`
    BinaryMap {
        /// Id of the key.
        key_id: i32,
        /// Id of the value.
        value_id: i32,
    },
    /// A struct of these fields.
    Struct(&'static [FieldDefinition]),
    /// The partition tuple: a struct whose fields are those of the partition spec.
    Partition,
}

impl FieldDefinition {
    /// Whether a writer calls the field so.
    pub fn has_name(&self, name: &str) -> bool {
        self.name == name || self.other_names.contains(&name)
    }
}

const fn field(id: i32, name: &'static str, field_type: FieldType) -> FieldDefinition {
    FieldDefinition {
        id,
        name,
        other_names: &[],
        field_type,
    }
}

const fn renamed(
    id: i32,
    name: &'static str,
    other_names: &'static [&'static str],
    field_type: FieldType,
) -> FieldDefinition {
    FieldDefinition {
        id,
        name,
        other_names,
        field_type,
    }
}

/// Field ids of a manifest list row (`manifest_file`).
pub mod manifest_file {
    #![allow(missing_docs, reason = "the names are the spec's")]
    pub const MANIFEST_PATH: i32 = 500;
    pub const MANIFEST_LENGTH: i32 = 501;
    pub const PARTITION_SPEC_ID: i32 = 502;
    pub const ADDED_SNAPSHOT_ID: i32 = 503;
    pub const ADDED_FILES_COUNT: i32 = 504;
    pub const EXISTING_FILES_COUNT: i32 = 505;
    pub const DELETED_FILES_COUNT: i32 = 506;
    pub const PARTITIONS: i32 = 507;
    pub const CONTAINS_NULL: i32 = 509;
    pub const LOWER_BOUND: i32 = 510;
    pub const UPPER_BOUND: i32 = 511;
    pub const ADDED_ROWS_COUNT: i32 = 512;
    pub const EXISTING_ROWS_COUNT: i32 = 513;
    pub const DELETED_ROWS_COUNT: i32 = 514;
    pub const SEQUENCE_NUMBER: i32 = 515;
    pub const MIN_SEQUENCE_NUMBER: i32 = 516;
    pub const CONTENT: i32 = 517;
    pub const CONTAINS_NAN: i32 = 518;
    pub const KEY_METADATA: i32 = 519;
    pub const FIRST_ROW_ID: i32 = 520;
}

/// Field ids of a manifest's rows (`manifest_entry`).
pub mod manifest_entry {
    #![allow(missing_docs, reason = "the names are the spec's")]
    pub const STATUS: i32 = 0;
    pub const SNAPSHOT_ID: i32 = 1;
    pub const DATA_FILE: i32 = 2;
    pub const SEQUENCE_NUMBER: i32 = 3;
    pub const FILE_SEQUENCE_NUMBER: i32 = 4;
}

/// Field ids of the file that a manifest's row is about (`data_file`).
pub mod data_file {
    #![allow(missing_docs, reason = "the names are the spec's")]
    pub const FILE_PATH: i32 = 100;
    pub const FILE_FORMAT: i32 = 101;
    pub const PARTITION: i32 = 102;
    pub const RECORD_COUNT: i32 = 103;
    pub const FILE_SIZE_IN_BYTES: i32 = 104;
    pub const COLUMN_SIZES: i32 = 108;
    pub const VALUE_COUNTS: i32 = 109;
    pub const NULL_VALUE_COUNTS: i32 = 110;
    pub const COLUMN_SIZES_KEY: i32 = 117;
    pub const VALUE_COUNTS_KEY: i32 = 119;
    pub const NULL_VALUE_COUNTS_KEY: i32 = 121;
    pub const LOWER_BOUNDS: i32 = 125;
    pub const LOWER_BOUNDS_KEY: i32 = 126;
    pub const UPPER_BOUNDS: i32 = 128;
    pub const UPPER_BOUNDS_KEY: i32 = 129;
    pub const KEY_METADATA: i32 = 131;
    pub const SPLIT_OFFSETS: i32 = 132;
    pub const CONTENT: i32 = 134;
    pub const EQUALITY_IDS: i32 = 135;
    pub const NAN_VALUE_COUNTS: i32 = 137;
    pub const NAN_VALUE_COUNTS_KEY: i32 = 138;
    pub const SORT_ORDER_ID: i32 = 140;
    pub const FIRST_ROW_ID: i32 = 142;
    pub const REFERENCED_DATA_FILE: i32 = 143;
    pub const CONTENT_OFFSET: i32 = 144;
    pub const CONTENT_SIZE_IN_BYTES: i32 = 145;
}

/// The fields of a manifest list row.
pub const MANIFEST_FILE: &[FieldDefinition] = {
    use manifest_file::*;
    &[
        field(MANIFEST_PATH, "manifest_path", FieldType::String),
        field(MANIFEST_LENGTH, "manifest_length", FieldType::Long),
        field(PARTITION_SPEC_ID, "partition_spec_id", FieldType::Int),
        field(CONTENT, "content", FieldType::Int),
        field(SEQUENCE_NUMBER, "sequence_number", FieldType::Long),
        field(MIN_SEQUENCE_NUMBER, "min_sequence_number", FieldType::Long),
        field(ADDED_SNAPSHOT_ID, "added_snapshot_id", FieldType::Long),
        renamed(
            ADDED_FILES_COUNT,
            "added_files_count",
            &["added_data_files_count"],
            FieldType::Int,
        ),
        renamed(
            EXISTING_FILES_COUNT,
            "existing_files_count",
            &["existing_data_files_count"],
            FieldType::Int,
        ),
        renamed(
            DELETED_FILES_COUNT,
            "deleted_files_count",
            &["deleted_data_files_count"],
            FieldType::Int,
        ),
        field(ADDED_ROWS_COUNT, "added_rows_count", FieldType::Long),
        field(EXISTING_ROWS_COUNT, "existing_rows_count", FieldType::Long),
        field(DELETED_ROWS_COUNT, "deleted_rows_count", FieldType::Long),
        field(
            PARTITIONS,
            "partitions",
            FieldType::StructList {
                element_id: 508,
                element: FIELD_SUMMARY,
            },
        ),
        field(KEY_METADATA, "key_metadata", FieldType::Binary),
        field(FIRST_ROW_ID, "first_row_id", FieldType::Long),
    ]
};

/// The fields of one partition field's summary in a manifest list row.
pub const FIELD_SUMMARY: &[FieldDefinition] = {
    use manifest_file::*;
    &[
        field(CONTAINS_NULL, "contains_null", FieldType::Boolean),
        field(CONTAINS_NAN, "contains_nan", FieldType::Boolean),
        field(LOWER_BOUND, "lower_bound", FieldType::Binary),
        field(UPPER_BOUND, "upper_bound", FieldType::Binary),
    ]
};

/// The fields of a manifest's rows.
pub const MANIFEST_ENTRY: &[FieldDefinition] = {
    use manifest_entry::*;
    &[
        field(STATUS, "status", FieldType::Int),
        field(SNAPSHOT_ID, "snapshot_id", FieldType::Long),
        field(SEQUENCE_NUMBER, "sequence_number", FieldType::Long),
        field(
            FILE_SEQUENCE_NUMBER,
            "file_sequence_number",
            FieldType::Long,
        ),
        field(DATA_FILE, "data_file", FieldType::Struct(self::DATA_FILE)),
    ]
};

/// The fields of the file that a manifest's row is about. Those that the spec has deprecated
/// (`block_size_in_bytes`, `file_ordinal`, `sort_columns`, `distinct_counts`) are left out.
pub const DATA_FILE: &[FieldDefinition] = {
    use data_file::*;
    &[
        field(CONTENT, "content", FieldType::Int),
        field(FILE_PATH, "file_path", FieldType::String),
        field(FILE_FORMAT, "file_format", FieldType::String),
        field(PARTITION, "partition", FieldType::Partition),
        field(RECORD_COUNT, "record_count", FieldType::Long),
        field(FILE_SIZE_IN_BYTES, "file_size_in_bytes", FieldType::Long),
        field(
            COLUMN_SIZES,
            "column_sizes",
            FieldType::LongMap {
                key_id: COLUMN_SIZES_KEY,
                value_id: 118,
            },
        ),
        field(
            VALUE_COUNTS,
            "value_counts",
            FieldType::LongMap {
                key_id: VALUE_COUNTS_KEY,
                value_id: 120,
            },
        ),
        field(
            NULL_VALUE_COUNTS,
            "null_value_counts",
            FieldType::LongMap {
                key_id: NULL_VALUE_COUNTS_KEY,
                value_id: 122,
            },
        ),
        field(
            NAN_VALUE_COUNTS,
            "nan_value_counts",
            FieldType::LongMap {
                key_id: NAN_VALUE_COUNTS_KEY,
                value_id: 139,
            },
        ),
        field(
            LOWER_BOUNDS,
            "lower_bounds",
            FieldType::BinaryMap {
                key_id: LOWER_BOUNDS_KEY,
                value_id: 127,
            },
        ),
        field(
            UPPER_BOUNDS,
            "upper_bounds",
            FieldType::BinaryMap {
                key_id: UPPER_BOUNDS_KEY,
                value_id: 130,
            },
        ),
        field(KEY_METADATA, "key_metadata", FieldType::Binary),
        field(
            SPLIT_OFFSETS,
            "split_offsets",
            FieldType::LongList { element_id: 133 },
        ),
        field(
            EQUALITY_IDS,
            "equality_ids",
            FieldType::IntList { element_id: 136 },
        ),
        field(SORT_ORDER_ID, "sort_order_id", FieldType::Int),
        field(FIRST_ROW_ID, "first_row_id", FieldType::Long),
        field(
            REFERENCED_DATA_FILE,
            "referenced_data_file",
            FieldType::String,
        ),
        field(CONTENT_OFFSET, "content_offset", FieldType::Long),
        field(
            CONTENT_SIZE_IN_BYTES,
            "content_size_in_bytes",
            FieldType::Long,
        ),
    ]
};
