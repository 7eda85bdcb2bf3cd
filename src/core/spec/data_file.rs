//! Data files and delete files, as the rows of a manifest tell of them.
//! Spec: "Data File Fields".

use std::collections::BTreeSet;
use std::sync::Arc;

use super::avro::{AvroField, AvroSchema, Decoder, corrupt};
use super::file_stats::{FileStats, FileStatsBuilder, Metric};
use super::manifest_fields::data_file as id;
use super::manifest_list::key_metadata;
use super::partition_tuple::{Partition, PartitionReader};
use crate::error::{Error, Result};

/// The format of a data file or delete file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// Apache ORC.
    Orc,
    /// Apache Avro.
    Avro,
    /// Puffin, for deletion vectors only.
    Puffin,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataContent {
    /// Rows.
    Data,
    /// Positions of deleted rows: a position delete file, or a deletion vector.
    PositionDeletes,
    /// Values of deleted rows.
    EqualityDeletes,
}

/// A data file or delete file.
#[derive(Debug, Clone, PartialEq)]
pub struct DataFile {
    /// What it holds; data in v1.
    pub content: DataContent,
    /// Where it is, byte for byte as the manifest says.
    pub file_path: String,
    /// Its format.
    pub file_format: FileFormat,
    /// The partition its rows are in.
    pub partition: Partition,
    /// Number of rows; `None` where the writer did not know (a negative number in the file).
    pub record_count: Option<u64>,
    /// Size in bytes.
    pub file_size_in_bytes: u64,
    /// What is known about its columns.
    pub stats: FileStats,
    /// What it is encrypted with; `None` if it is not.
    pub key_metadata: Option<Vec<u8>>,
    /// Where it can be split, in bytes, as the writer says. `None` where that is unknown.
    pub split_offsets: Option<Vec<i64>>,
    /// The columns an equality delete file compares; empty for other files.
    pub equality_ids: Vec<i32>,
    /// The sort order of its rows; `None` or an unknown id: unsorted.
    pub sort_order_id: Option<i32>,
    /// Row id of its first row (v3); the others follow by position.
    pub first_row_id: Option<i64>,
    /// The only data file that a position delete file or deletion vector is about.
    pub referenced_data_file: Option<String>,
    /// Where a deletion vector starts in its Puffin file, in bytes.
    pub content_offset: Option<i64>,
    /// The length of a deletion vector in its Puffin file, in bytes.
    pub content_size_in_bytes: Option<i64>,
}

impl FileFormat {
    /// The format with this name, in any case.
    ///
    /// # Errors
    /// `NotSupported` for a name that is unknown.
    pub fn parse(name: &str) -> Result<Self> {
        [Self::Parquet, Self::Orc, Self::Avro, Self::Puffin]
            .into_iter()
            .find(|format| format.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| {
                Error::not_supported(format!("the file format \"{name}\" is not supported"))
            })
    }

    /// The name in the spec.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Orc => "orc",
            Self::Avro => "avro",
            Self::Puffin => "puffin",
        }
    }
}

impl DataFile {
    /// Whether it is a deletion vector (v3).
    pub fn is_deletion_vector(&self) -> bool {
        self.content == DataContent::PositionDeletes && self.file_format == FileFormat::Puffin
    }
}

/// Which of the things that a writer recorded about columns are wanted; their sizes are always.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WantedStats {
    /// All that there is.
    #[default]
    All,
    /// Those of columns with these field ids, in ascending order.
    Columns(Arc<[i32]>),
}

impl WantedStats {
    /// Nothing but sizes.
    pub fn sizes_only() -> Self {
        Self::Columns(Arc::default())
    }

    /// Those of the columns with these field ids.
    pub fn of_columns(field_ids: impl IntoIterator<Item = i32>) -> Self {
        Self::Columns(
            field_ids
                .into_iter()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
        )
    }

    fn is_sizes_only(&self) -> bool {
        matches!(self, Self::Columns(field_ids) if field_ids.is_empty())
    }

    fn includes(&self, field_id: i32) -> bool {
        match self {
            Self::All => true,
            Self::Columns(field_ids) => field_ids.binary_search(&field_id).is_ok(),
        }
    }
}

/// Reads the `data_file` structs of one manifest.
#[derive(Debug)]
pub(super) struct DataFileReader {
    /// The partition spec of its files.
    pub spec_id: i32,
    /// Reads their partitions.
    pub partition: PartitionReader,
}

impl DataFileReader {
    /// Reads one struct.
    pub fn read(
        &self,
        schema: &AvroSchema,
        decoder: &mut Decoder<'_>,
        wanted: &WantedStats,
    ) -> Result<DataFile> {
        let mut file = DataFile {
            content: DataContent::Data,
            file_path: String::new(),
            file_format: FileFormat::Parquet,
            partition: Partition {
                spec_id: self.spec_id,
                values: Vec::new(),
            },
            record_count: None,
            file_size_in_bytes: 0,
            stats: FileStats::default(),
            key_metadata: None,
            split_offsets: None,
            equality_ids: Vec::new(),
            sort_order_id: None,
            first_row_id: None,
            referenced_data_file: None,
            content_offset: None,
            content_size_in_bytes: None,
        };
        let mut path = None;
        let mut format = None;
        let mut record_count = None;
        let mut size = None;
        let mut partition = None;
        let mut stats = FileStatsBuilder::default();
        decoder.record(schema, |field, decoder| {
            let schema = &field.schema;
            match field.id {
                Some(id::CONTENT) => file.content = content(decoder.int(schema)?)?,
                Some(id::FILE_PATH) => path = decoder.string(schema)?,
                Some(id::FILE_FORMAT) => format = decoder.string(schema)?,
                Some(id::PARTITION) => partition = Some(self.partition.read(schema, decoder)?),
                Some(id::RECORD_COUNT) => record_count = decoder.long(schema)?,
                Some(id::FILE_SIZE_IN_BYTES) => size = decoder.long(schema)?,
                Some(id::KEY_METADATA) => file.key_metadata = key_metadata(decoder.bytes(schema)?),
                Some(id::SPLIT_OFFSETS) => {
                    let mut offsets = Vec::new();
                    let given = decoder.list(schema, |schema, decoder| {
                        offsets.extend(decoder.long(schema)?);
                        Ok(())
                    })?;
                    file.split_offsets = given.then_some(offsets);
                }
                Some(id::EQUALITY_IDS) => {
                    decoder.list(schema, |schema, decoder| {
                        file.equality_ids.extend(decoder.int(schema)?);
                        Ok(())
                    })?;
                }
                Some(id::SORT_ORDER_ID) => file.sort_order_id = decoder.int(schema)?,
                Some(id::FIRST_ROW_ID) => file.first_row_id = decoder.long(schema)?,
                Some(id::REFERENCED_DATA_FILE) => {
                    file.referenced_data_file = decoder.string(schema)?.map(str::to_owned);
                }
                Some(id::CONTENT_OFFSET) => file.content_offset = decoder.long(schema)?,
                Some(id::CONTENT_SIZE_IN_BYTES) => {
                    file.content_size_in_bytes = decoder.long(schema)?;
                }
                _ => {
                    let skipped = wanted.is_sizes_only() && field.id != Some(id::COLUMN_SIZES);
                    if skipped || !read_metrics(field, decoder, wanted, &mut stats)? {
                        decoder.skip(schema)?;
                    }
                }
            }
            Ok(())
        })?;
        file.file_path = path
            .filter(|path| !path.is_empty())
            .ok_or_else(|| corrupt("a file has no file_path"))?
            .to_owned();
        let missing = |name| corrupt(format!("\"{}\" has no {name}", file.file_path));
        file.file_format = FileFormat::parse(format.ok_or_else(|| missing("file_format"))?)?;
        file.record_count =
            u64::try_from(record_count.ok_or_else(|| missing("record_count"))?).ok();
        let size = size.ok_or_else(|| missing("file_size_in_bytes"))?;
        file.file_size_in_bytes = u64::try_from(size)
            .map_err(|_| corrupt(format!("\"{}\" has a size of {size} bytes", file.file_path)))?;
        file.partition.values = match partition {
            Some(values) => values,
            None => self.partition.unpartitioned()?,
        };
        file.stats = stats.build();
        Ok(file)
    }
}

/// Reads one of the metrics maps; `false` if the field is none of them.
fn read_metrics<'a>(
    field: &AvroField,
    decoder: &mut Decoder<'a>,
    wanted: &WantedStats,
    stats: &mut FileStatsBuilder<'a>,
) -> Result<bool> {
    let (key_id, count): (i32, fn(i64) -> Metric<'a>) = match field.id {
        Some(id::COLUMN_SIZES) => (id::COLUMN_SIZES_KEY, Metric::SizeInBytes),
        Some(id::VALUE_COUNTS) => (id::VALUE_COUNTS_KEY, Metric::ValueCount),
        Some(id::NULL_VALUE_COUNTS) => (id::NULL_VALUE_COUNTS_KEY, Metric::NullValueCount),
        Some(id::NAN_VALUE_COUNTS) => (id::NAN_VALUE_COUNTS_KEY, Metric::NanValueCount),
        Some(id::LOWER_BOUNDS) => {
            read_bounds(
                field,
                decoder,
                wanted,
                stats,
                id::LOWER_BOUNDS_KEY,
                Metric::LowerBound,
            )?;
            return Ok(true);
        }
        Some(id::UPPER_BOUNDS) => {
            read_bounds(
                field,
                decoder,
                wanted,
                stats,
                id::UPPER_BOUNDS_KEY,
                Metric::UpperBound,
            )?;
            return Ok(true);
        }
        _ => return Ok(false),
    };
    let is_size = field.id == Some(id::COLUMN_SIZES);
    decoder.int_map(&field.schema, key_id, |field_id, schema, decoder| {
        if let Some(value) = decoder.long(schema)?
            && (is_size || wanted.includes(field_id))
        {
            stats.push(field_id, count(value));
        }
        Ok(())
    })?;
    Ok(true)
}

fn read_bounds<'a>(
    field: &AvroField,
    decoder: &mut Decoder<'a>,
    wanted: &WantedStats,
    stats: &mut FileStatsBuilder<'a>,
    key_id: i32,
    bound: fn(&'a [u8]) -> Metric<'a>,
) -> Result<()> {
    decoder.int_map(&field.schema, key_id, |field_id, schema, decoder| {
        if let Some(value) = decoder.bytes(schema)?
            && wanted.includes(field_id)
        {
            stats.push(field_id, bound(value));
        }
        Ok(())
    })?;
    Ok(())
}

/// What a file with this `content` holds.
pub(super) fn content(value: Option<i32>) -> Result<DataContent> {
    match value {
        None | Some(0) => Ok(DataContent::Data),
        Some(1) => Ok(DataContent::PositionDeletes),
        Some(2) => Ok(DataContent::EqualityDeletes),
        Some(other) => Err(corrupt(format!("{other} is no content of a file"))),
    }
}
