//! What the tests share: files in memory, writers, and a way to collect a read.
//! Nothing in the spec.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Fields, Schema as ArrowSchema};
use async_trait::async_trait;
use bytes::Bytes;
use parquet::arrow::{ArrowWriter, PARQUET_FIELD_ID_META_KEY};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{FileFormat, FileScanTask};
use crate::read::{BatchReceiver, OutputColumn, ReadMetrics, ReadRequest, RecvOutcome, read};
use crate::spec::{
    ListType, MapType, NestedField, PrimitiveType, PruningLevels, Schema, StructType, Type,
};
use crate::storage::{FileReader, RawPath};

/// Files in memory; a delay stands for a slow store.
#[derive(Debug, Default)]
pub struct MemoryFiles {
    pub files: HashMap<String, Bytes>,
    pub delay: Option<Duration>,
    pub fetching: AtomicUsize,
    pub most_fetching: AtomicUsize,
    pub fetches: AtomicUsize,
}

impl MemoryFiles {
    pub fn of<const N: usize>(files: [(&str, Vec<u8>); N]) -> Self {
        Self {
            files: files
                .into_iter()
                .map(|(path, bytes)| (path.to_owned(), bytes.into()))
                .collect(),
            ..Self::default()
        }
    }

    fn file(&self, path: &RawPath) -> Result<&Bytes> {
        self.files.get(&path.0).ok_or_else(|| {
            Error::new(
                ErrorKind::FileNotFound,
                format!("file \"{path}\" does not exist"),
            )
        })
    }

    /// A task for each file, in the order of their names.
    pub fn tasks(&self) -> Vec<FileScanTask> {
        let mut tasks: Vec<_> = self
            .files
            .iter()
            .map(|(path, bytes)| {
                let format = match path.rsplit_once('.') {
                    Some((_, "orc")) => FileFormat::Orc,
                    Some((_, "avro")) => FileFormat::Avro,
                    _ => FileFormat::Parquet,
                };
                let path = RawPath(path.clone());
                FileScanTask::whole_file(path, format, bytes.len() as u64, None)
            })
            .collect();
        tasks.sort_by(|left, right| left.path.cmp(&right.path));
        tasks
    }
}

#[async_trait]
impl FileReader for MemoryFiles {
    async fn read(&self, path: &RawPath) -> Result<Bytes> {
        self.file(path).cloned()
    }

    async fn read_ranges(&self, path: &RawPath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.fetches.fetch_add(1, Ordering::SeqCst);
        let fetching = self.fetching.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_fetching.fetch_max(fetching, Ordering::SeqCst);
        if let Some(delay) = self.delay {
            tokio::time::sleep(delay).await;
        }
        self.fetching.fetch_sub(1, Ordering::SeqCst);
        let file = self.file(path)?;
        Ok(ranges
            .iter()
            .map(|range| {
                let end = (range.end as usize).min(file.len());
                file.slice((range.start as usize).min(end)..end)
            })
            .collect())
    }

    async fn size(&self, path: &RawPath) -> Result<u64> {
        Ok(self.file(path)?.len() as u64)
    }
}

/// A file of `testdata`.
pub fn testdata(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("read/testdata")
        .join(name);
    std::fs::read(path).unwrap()
}

/// An Arrow field with a Parquet field id.
pub fn with_id(id: i32, field: Field) -> Field {
    let metadata = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string())]);
    field.with_metadata(metadata)
}

/// A Parquet file of one batch whose columns have these field ids.
pub fn parquet(columns: Vec<(i32, Field, ArrayRef)>) -> Vec<u8> {
    parquet_with(columns, WriterProperties::builder().build())
}

pub fn parquet_with(columns: Vec<(i32, Field, ArrayRef)>, properties: WriterProperties) -> Vec<u8> {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .map(|(id, field, array)| (with_id(id, field), array))
        .unzip();
    let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).unwrap();
    parquet_of(&[batch], properties)
}

pub fn parquet_of(batches: &[RecordBatch], properties: WriterProperties) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut file, batches[0].schema(), Some(properties)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.close().unwrap();
    file
}

/// The values, definition and repetition levels of one Parquet column.
pub enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<[u32; 3]>),
    Bytes(Vec<Vec<u8>>),
    Fixed(Vec<Vec<u8>>),
}

pub struct RawColumn {
    pub values: Values,
    pub definition_levels: Option<Vec<i16>>,
    pub repetition_levels: Option<Vec<i16>>,
}

impl From<Values> for RawColumn {
    fn from(values: Values) -> Self {
        Self {
            values,
            definition_levels: None,
            repetition_levels: None,
        }
    }
}

/// A Parquet file of one row group, written below Arrow, to a schema in Parquet's own notation.
pub fn raw_parquet(message: &str, columns: Vec<RawColumn>) -> Vec<u8> {
    use parquet::data_type as d;
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(
        &mut file,
        schema,
        Arc::new(WriterProperties::builder().build()),
    )
    .unwrap();
    let mut row_group = writer.next_row_group().unwrap();
    for column in columns {
        let mut writer = row_group.next_column().unwrap().unwrap();
        let definition = column.definition_levels.as_deref();
        let repetition = column.repetition_levels.as_deref();
        match column.values {
            Values::Int32(values) => writer
                .typed::<d::Int32Type>()
                .write_batch(&values, definition, repetition),
            Values::Int64(values) => writer
                .typed::<d::Int64Type>()
                .write_batch(&values, definition, repetition),
            Values::Int96(values) => {
                let values: Vec<_> = values
                    .into_iter()
                    .map(|[a, b, c]| {
                        let mut value = d::Int96::new();
                        value.set_data(a, b, c);
                        value
                    })
                    .collect();
                writer
                    .typed::<d::Int96Type>()
                    .write_batch(&values, definition, repetition)
            }
            Values::Bytes(values) => {
                let values: Vec<_> = values.into_iter().map(d::ByteArray::from).collect();
                writer
                    .typed::<d::ByteArrayType>()
                    .write_batch(&values, definition, repetition)
            }
            Values::Fixed(values) => {
                let values: Vec<_> = values
                    .into_iter()
                    .map(|value| d::FixedLenByteArray::from(d::ByteArray::from(value)))
                    .collect();
                writer
                    .typed::<d::FixedLenByteArrayType>()
                    .write_batch(&values, definition, repetition)
            }
        }
        .unwrap();
        writer.close().unwrap();
    }
    row_group.close().unwrap();
    writer.close().unwrap();
    file
}

pub fn optional(id: i32, name: &str, field_type: impl Into<Type>) -> NestedField {
    NestedField::optional(id, name, field_type.into())
}

pub fn list(element: NestedField) -> Type {
    Type::List(ListType {
        element: Arc::new(element),
    })
}

pub fn map(key: NestedField, value: NestedField) -> Type {
    Type::Map(MapType {
        key: Arc::new(key),
        value: Arc::new(value),
    })
}

pub fn structure(fields: impl IntoIterator<Item = NestedField>) -> Type {
    Type::Struct(StructType::new(fields))
}

/// A request for all fields of a schema, one decoder.
pub fn request(files: MemoryFiles, fields: Vec<NestedField>) -> ReadRequest {
    let columns = fields
        .iter()
        .map(|field| OutputColumn::Field(field.id))
        .collect();
    ReadRequest {
        schema: Arc::new(Schema::new(0, Vec::new(), StructType::new(fields))),
        columns,
        tasks: files.tasks(),
        queue: None,
        kept: Arc::default(),
        files: Arc::new(files),
        levels: PruningLevels::ALL,
        threads: 1,
        memory: 64 << 20,
        metrics: Arc::default(),
    }
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap()
}

pub fn start(
    runtime: &tokio::runtime::Runtime,
    request: ReadRequest,
) -> BatchReceiver<RecordBatch> {
    let _runtime = runtime.enter();
    read(request, Arc::new(Ok))
}

/// All batches of a read; fails when it hangs.
pub fn try_batches(request: ReadRequest) -> Result<Vec<RecordBatch>> {
    let runtime = runtime();
    let mut receiver = start(&runtime, request);
    let mut batches = Vec::new();
    loop {
        match receiver.recv_timeout(Duration::from_secs(60)) {
            RecvOutcome::Item(item) => batches.push(item?),
            RecvOutcome::Timeout => panic!("the read hangs"),
            RecvOutcome::Done => return Ok(batches),
        }
    }
}

pub fn error_of(request: ReadRequest) -> Error {
    match try_batches(request) {
        Ok(batches) => panic!("no error, but {} batches", batches.len()),
        Err(error) => error,
    }
}

/// All rows of a read as one batch.
pub fn rows(request: ReadRequest) -> RecordBatch {
    let batches = try_batches(request).unwrap();
    let schema = batches.first().expect("at least one batch").schema();
    concat_batches(&schema, &batches).unwrap()
}

/// The only column of the only file, read as a field of this type.
pub fn column(file: Vec<u8>, field_type: impl Into<Type>) -> Result<ArrayRef> {
    let request = request(
        MemoryFiles::of([("f.parquet", file)]),
        vec![optional(1, "c", field_type)],
    );
    let schema = crate::read::arrow_type(&request.schema.fields().fields()[0].field_type);
    let batches = try_batches(request)?;
    let batch = concat_batches(&batches[0].schema(), &batches).unwrap();
    assert_eq!(batch.column(0).data_type(), &schema);
    assert_eq!(batch.schema().field(0).name(), "c");
    assert!(batch.schema().field(0).is_nullable());
    Ok(Arc::clone(batch.column(0)))
}

/// A Parquet file whose columns have no field ids at any depth.
pub fn parquet_without_ids(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let fields: Vec<_> = columns
        .iter()
        .map(|(name, array)| field(name, array.data_type().clone()))
        .collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).unwrap();
    parquet_of(&[batch], WriterProperties::builder().build())
}

pub fn field(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

/// Runs what calls itself for every level of nesting, as writers do; readers must do without.
pub fn with_a_deep_stack<T: Send + 'static>(step: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(step)
        .unwrap()
        .join()
        .unwrap()
}

/// A struct array whose members have ids; a row is null where `valid` says so.
pub fn struct_of(members: Vec<(i32, &str, ArrayRef)>, valid: Option<Vec<bool>>) -> StructArray {
    let (fields, arrays): (Vec<_>, Vec<_>) = members
        .into_iter()
        .map(|(id, name, array)| (with_id(id, field(name, array.data_type().clone())), array))
        .unzip();
    StructArray::new(Fields::from(fields), arrays, valid.map(NullBuffer::from))
}

pub fn list_of(
    id: i32,
    lengths: &[usize],
    values: ArrayRef,
    valid: Option<Vec<bool>>,
) -> ListArray {
    let element = with_id(id, field("element", values.data_type().clone()));
    ListArray::new(
        Arc::new(element),
        OffsetBuffer::from_lengths(lengths.iter().copied()),
        values,
        valid.map(NullBuffer::from),
    )
}

pub fn map_of(ids: (i32, i32), lengths: &[usize], keys: ArrayRef, values: ArrayRef) -> MapArray {
    let key = with_id(ids.0, Field::new("key", keys.data_type().clone(), false));
    let value = with_id(ids.1, field("value", values.data_type().clone()));
    let entries = StructArray::new(Fields::from(vec![key, value]), vec![keys, values], None);
    MapArray::new(
        Arc::new(Field::new("key_value", entries.data_type().clone(), false)),
        OffsetBuffer::from_lengths(lengths.iter().copied()),
        entries,
        None,
        false,
    )
}

pub const INT: PrimitiveType = PrimitiveType::Int;
pub const LONG: PrimitiveType = PrimitiveType::Long;
pub const STRING: PrimitiveType = PrimitiveType::String;

pub fn metrics(request: &ReadRequest) -> Arc<ReadMetrics> {
    Arc::clone(&request.metrics)
}
