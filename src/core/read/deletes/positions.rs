//! Deleted positions: from position delete files and deletion vectors to a bitmap a data file.
//! Spec: "Position Delete Files", "Deletion Vectors".

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, AsArray, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;
use roaring::RoaringTreemap;
use tokio::sync::OnceCell;

use super::memory::{DeleteMemory, Reserved, Taker};
use super::rows::DeleteRows;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{DeleteFile, DeletionVector};
use crate::read::panics;
use crate::read::parquet_file::Source;
use crate::spec::{NestedField, PrimitiveType, Type, parse_deletion_vector};

/// Field id of the path of the data file that a row of a position delete file is about.
const FILE_PATH_ID: i32 = 2_147_483_546;
/// Field id of the position in it.
const POS_ID: i32 = 2_147_483_545;
/// What a position delete file must have.
pub(super) const POSITION_COLUMNS: [(i32, &str, PrimitiveType); 2] = [
    (FILE_PATH_ID, "file_path", PrimitiveType::String),
    (POS_ID, "pos", PrimitiveType::Long),
];
/// After so many positions the memory that they take is looked at.
const ROWS_BETWEEN_COUNTS: usize = 1 << 17;

/// A position delete file, or deletion vectors that lie close together in a Puffin file: read once,
/// when the first data file needs it.
#[derive(Debug)]
pub(super) struct PositionSource {
    origin: Origin,
    /// How many tasks want the positions of each data file.
    wanted: HashMap<String, usize>,
    /// How many tasks want any.
    tasks: usize,
    loaded: OnceCell<Mutex<HashMap<String, Loaded>>>,
}

#[derive(Debug)]
enum Origin {
    File(Arc<DeleteFile>),
    /// Each with the data file that it is about; all of one Puffin file.
    Vectors(Vec<(String, Arc<DeletionVector>)>),
}

/// The deleted positions of one data file from one source.
#[derive(Debug)]
pub(super) struct Positions {
    pub(super) bitmap: RoaringTreemap,
    _memory: Reserved,
}

#[derive(Debug)]
struct Loaded {
    positions: Arc<Positions>,
    /// How many tasks have not taken them yet.
    wanted: usize,
}

impl PositionSource {
    /// A position delete file.
    pub(super) fn of_file(file: Arc<DeleteFile>) -> Self {
        Self {
            origin: Origin::File(file),
            wanted: HashMap::new(),
            tasks: 0,
            loaded: OnceCell::new(),
        }
    }

    /// Deletion vectors of one Puffin file, each with its data file.
    pub(super) fn of_vectors(vectors: Vec<(String, Arc<DeletionVector>)>) -> Self {
        Self {
            origin: Origin::Vectors(vectors),
            wanted: HashMap::new(),
            tasks: 0,
            loaded: OnceCell::new(),
        }
    }

    /// Notes that one more task wants the positions of this data file.
    pub(super) fn want(&mut self, data_file: &str) {
        self.tasks += 1;
        match self.wanted.get_mut(data_file) {
            Some(tasks) => *tasks += 1,
            None => {
                self.wanted.insert(data_file.to_owned(), 1);
            }
        }
    }

    /// About how many bytes it will take in memory; 0 once it is there.
    pub(super) fn expected_bytes(&self) -> u64 {
        if self.loaded.initialized() {
            return 0;
        }
        match &self.origin {
            Origin::File(file) => file.record_count.unwrap_or(0).saturating_mul(2),
            Origin::Vectors(vectors) => vectors
                .iter()
                .fold(0, |sum, (_, vector)| sum.saturating_add(vector.length)),
        }
    }

    /// The positions of a data file, for one of the tasks that want them; reads them if no other
    /// task has.
    pub(super) async fn take(
        &self,
        data_file: &str,
        file_number: usize,
        source: &Source,
        memory: &Arc<DeleteMemory>,
    ) -> Result<Option<Arc<Positions>>> {
        let taker = match self.tasks {
            0 | 1 => Taker::File(file_number),
            2.. => Taker::Several,
        };
        let loaded = self
            .loaded
            .get_or_try_init(|| async {
                match &self.origin {
                    Origin::File(file) => self.read_file(file, taker, source, memory).await,
                    Origin::Vectors(vectors) => {
                        self.read_vectors(vectors, taker, source, memory).await
                    }
                }
                .map(Mutex::new)
            })
            .await?;
        let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = loaded.get_mut(data_file) else {
            return Ok(None);
        };
        let positions = Arc::clone(&found.positions);
        found.wanted = found.wanted.saturating_sub(1);
        if found.wanted == 0 {
            loaded.remove(data_file);
        }
        Ok(Some(positions))
    }

    async fn read_file(
        &self,
        file: &DeleteFile,
        taker: Taker,
        source: &Source,
        memory: &Arc<DeleteMemory>,
    ) -> Result<HashMap<String, Loaded>> {
        let columns = POSITION_COLUMNS.map(|(id, name, primitive)| column(id, name, primitive));
        let mut rows =
            DeleteRows::open(source.clone(), Arc::clone(memory), taker, file, &columns).await?;
        let mut collected = Collected::new(&self.wanted);
        let mut reserved = memory.reserve(taker);
        let mut uncounted = 0;
        while let Some(batch) = rows.next().await? {
            let (paths, positions) =
                columns_of(&batch).map_err(|error| error.in_file(&file.path))?;
            collected
                .add(paths, positions)
                .map_err(|error| error.in_file(&file.path))?;
            uncounted += batch.num_rows();
            if uncounted >= ROWS_BETWEEN_COUNTS {
                uncounted = 0;
                reserved.grow_to(collected.bytes()).await?;
            }
        }
        reserved.grow_to(collected.bytes()).await?;
        // From here on each data file's positions count for themselves.
        drop(reserved);
        let mut loaded = HashMap::new();
        for (path, bitmap) in collected.by_path.into_iter() {
            if !bitmap.is_empty() {
                self.keep(&mut loaded, path, bitmap, memory.reserve(taker))
                    .await?;
            }
        }
        Ok(loaded)
    }

    async fn read_vectors(
        &self,
        vectors: &[(String, Arc<DeletionVector>)],
        taker: Taker,
        source: &Source,
        memory: &Arc<DeleteMemory>,
    ) -> Result<HashMap<String, Loaded>> {
        let Some((_, first)) = vectors.first() else {
            return Ok(HashMap::new());
        };
        let path = &first.path;
        let ranges: Vec<_> = vectors
            .iter()
            .map(|(_, vector)| vector.offset..vector.offset.saturating_add(vector.length))
            .collect();
        let length = ranges.iter().fold(0_u64, |sum, range| {
            sum.saturating_add(range.end - range.start)
        });
        let _loading = memory.load(taker, length).await?;
        let blobs = source.fetch(path, &ranges).await?;
        let mut loaded = HashMap::new();
        for ((data_file, vector), blob) in vectors.iter().zip(blobs) {
            let bitmap = parse_vector(vector, &blob)?;
            self.keep(&mut loaded, data_file, bitmap, memory.reserve(taker))
                .await?;
            tokio::task::yield_now().await;
        }
        Ok(loaded)
    }

    async fn keep(
        &self,
        loaded: &mut HashMap<String, Loaded>,
        data_file: &str,
        bitmap: RoaringTreemap,
        mut reserved: Reserved,
    ) -> Result<()> {
        reserved.grow_to(bitmap_bytes(&bitmap)).await?;
        let positions = Positions {
            bitmap,
            _memory: reserved,
        };
        loaded.insert(
            data_file.to_owned(),
            Loaded {
                positions: Arc::new(positions),
                wanted: self.wanted.get(data_file).copied().unwrap_or(1),
            },
        );
        Ok(())
    }
}

impl Positions {
    /// The positions of several sources together.
    pub(super) async fn union(
        several: Vec<Arc<Self>>,
        file_number: usize,
        memory: &Arc<DeleteMemory>,
    ) -> Result<Option<Arc<Self>>> {
        let mut several = several.into_iter();
        let Some(first) = several.next() else {
            return Ok(None);
        };
        let Some(second) = several.next() else {
            return Ok(Some(first));
        };
        let mut reserved = memory.reserve(Taker::File(file_number));
        let mut bitmap = first.bitmap.clone();
        for other in [second].into_iter().chain(several) {
            bitmap |= &other.bitmap;
            reserved.grow_to(bitmap_bytes(&bitmap)).await?;
        }
        Ok(Some(Arc::new(Self {
            bitmap,
            _memory: reserved,
        })))
    }
}

pub(super) fn column(id: i32, name: &str, primitive: PrimitiveType) -> Arc<NestedField> {
    Arc::new(NestedField::required(id, name, Type::Primitive(primitive)))
}

/// Paths and positions of a batch of [`POSITION_COLUMNS`], neither of which may be null.
pub(super) fn columns_of(batch: &RecordBatch) -> Result<(&StringViewArray, &Int64Array)> {
    let (paths, positions) = match batch.columns() {
        [paths, positions] => paths
            .as_string_view_opt()
            .zip(positions.as_primitive_opt::<Int64Type>()),
        _ => None,
    }
    .ok_or_else(|| {
        Error::new(
            ErrorKind::Internal,
            "position deletes did not decode to text and numbers",
        )
    })?;
    if paths.null_count() > 0 || positions.null_count() > 0 {
        return Err(Error::new(
            ErrorKind::Corrupt,
            "a position delete has no path or no position",
        ));
    }
    Ok((paths, positions))
}

/// The positions in the blob of a deletion vector; an error names the file and the place in it.
pub(super) fn parse_vector(vector: &DeletionVector, blob: &[u8]) -> Result<RoaringTreemap> {
    panics::caught("a deletion vector", || {
        parse_deletion_vector(blob, vector.cardinality)
    })
    .map_err(|error| {
        Error::new(
            error.kind(),
            format!("at byte {}: {}", vector.offset, error.message()),
        )
        .in_file(&vector.path)
    })
}

/// About how many bytes a bitmap takes in memory.
fn bitmap_bytes(bitmap: &RoaringTreemap) -> u64 {
    /// A container beside its values.
    const CONTAINER: u64 = 48;
    /// A bit for each of 65536 values.
    const BITSET: u64 = 8192;
    bitmap
        .bitmaps()
        .map(|(_, bitmap)| {
            let statistics = bitmap.statistics();
            u64::from(statistics.n_containers)
                .saturating_mul(CONTAINER)
                .saturating_add(u64::from(statistics.n_bitset_containers).saturating_mul(BITSET))
                // Counted with four bytes a value, which has two.
                .saturating_add(statistics.n_bytes_array_containers / 2)
                .saturating_add(statistics.n_bytes_run_containers)
        })
        .fold(0, u64::saturating_add)
}

/// The positions of wanted data files, as rows bring them.
struct Collected<'a> {
    by_path: Vec<(&'a str, RoaringTreemap)>,
    places: HashMap<&'a str, usize>,
}

impl<'a> Collected<'a> {
    fn new(wanted: &'a HashMap<String, usize>) -> Self {
        let paths = wanted.keys().map(String::as_str);
        Self {
            by_path: paths
                .clone()
                .map(|path| (path, RoaringTreemap::new()))
                .collect(),
            places: paths
                .enumerate()
                .map(|(place, path)| (path, place))
                .collect(),
        }
    }

    /// Adds rows. Paths are equal only if they are the same bytes.
    fn add(&mut self, paths: &StringViewArray, positions: &Int64Array) -> Result<()> {
        // Rows are sorted by path, so most have that of the row before.
        let mut last: Option<(&str, Option<usize>)> = None;
        for (path, position) in paths.iter().zip(positions.values()) {
            let path = path.unwrap_or_default();
            let position = u64::try_from(*position).map_err(|_| {
                Error::new(
                    ErrorKind::Corrupt,
                    format!("a position delete is about row {position}"),
                )
            })?;
            let place = match last {
                Some((known, place)) if known == path => place,
                _ => {
                    let place = self.places.get(path).copied();
                    last = Some((path, place));
                    place
                }
            };
            if let Some((_, bitmap)) = place.and_then(|place| self.by_path.get_mut(place)) {
                bitmap.insert(position);
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.by_path
            .iter()
            .map(|(_, bitmap)| bitmap_bytes(bitmap))
            .fold(0, u64::saturating_add)
    }
}
