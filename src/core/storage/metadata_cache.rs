//! Metadata files as they were parsed, kept in memory as long as the files do not change.
//! No spec section: Iceberg never changes a metadata file, but a file system lets anybody do so.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};

/// What is made of the whole content of a file, and may be kept in its place.
pub trait Parser: Send + Sync + 'static {
    /// What the content becomes.
    type Parsed: Send + Sync + 'static;

    /// Whether a file of this kind is never written again under the name of another.
    const UNIQUE_NAMES: bool;

    /// Parses the content.
    ///
    /// # Errors
    /// Those of the format.
    fn parse(&self, content: Bytes) -> Result<Self::Parsed>;

    /// About how many bytes of memory this takes.
    fn size(parsed: &Self::Parsed) -> usize;

    /// Whether this, which another parser made of the same content, is what this one would make.
    fn accepts(&self, parsed: &Self::Parsed) -> bool;
}

/// What became of a file, of whatever type.
pub type AnyParsed = Arc<dyn Any + Send + Sync>;

/// A [`Parser`] of whatever type.
pub trait AnyParser: Send + Sync + 'static {
    /// The type of what it makes.
    fn parsed_type(&self) -> TypeId;

    /// [`Parser::UNIQUE_NAMES`].
    fn has_unique_names(&self) -> bool;

    /// Parses, and tells the size of what it made.
    ///
    /// # Errors
    /// Those of [`Parser::parse`].
    fn parse_any(&self, content: Bytes) -> Result<(AnyParsed, usize)>;

    /// As [`Parser::accepts`]; never what is of another type.
    fn accepts_any(&self, parsed: &AnyParsed) -> bool;
}

impl<P: Parser> AnyParser for P {
    fn parsed_type(&self) -> TypeId {
        TypeId::of::<P::Parsed>()
    }

    fn has_unique_names(&self) -> bool {
        P::UNIQUE_NAMES
    }

    fn parse_any(&self, content: Bytes) -> Result<(AnyParsed, usize)> {
        let parsed = self.parse(content)?;
        let size = P::size(&parsed);
        Ok((Arc::new(parsed), size))
    }

    fn accepts_any(&self, parsed: &AnyParsed) -> bool {
        parsed
            .downcast_ref()
            .is_some_and(|parsed| self.accepts(parsed))
    }
}

/// What was parsed, as its own type.
pub(super) fn typed<P: Parser>(parsed: AnyParsed) -> Result<Arc<P::Parsed>> {
    parsed
        .downcast()
        .map_err(|_| Error::new(ErrorKind::Internal, "a file was parsed into another type"))
}

/// One state of one file: as long as both are the same, so is the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileVersion {
    /// Where the file really is, all links followed.
    pub(super) location: String,
    /// Changes when the file is replaced or its content changes.
    pub(super) version: String,
}

/// Parsed files up to a number of bytes; what was not used for longest goes first.
///
/// It knows nothing of who may read what: whoever asks has checked that before.
#[derive(Debug, Default)]
pub struct MetadataCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    capacity: usize,
    size: usize,
    files: HashMap<Arc<FileKey>, KeptFile>,
    /// The files in the order of their last use.
    by_use: BTreeMap<u64, Arc<FileKey>>,
    uses: u64,
    /// The first use in the present round.
    round: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FileKey {
    location: String,
    parsed_type: TypeId,
}

#[derive(Debug)]
struct KeptFile {
    version: String,
    parsed: AnyParsed,
    size: usize,
    last_use: u64,
}

impl MetadataCache {
    /// A cache of at most so many bytes; of none, it keeps nothing.
    pub fn new(capacity: usize) -> Arc<Self> {
        let cache = Self::default();
        cache.set_capacity(capacity);
        Arc::new(cache)
    }

    /// Changes how many bytes it may hold.
    pub fn set_capacity(&self, capacity: usize) {
        self.with(|kept| {
            kept.capacity = capacity;
            kept.make_room(0, u64::MAX);
        });
    }

    /// How many bytes it holds.
    pub fn size(&self) -> usize {
        self.with(|kept| kept.size)
    }

    /// Begins a round: what is used from now on makes no room for one another. A table with more manifests than there is
    /// room for would otherwise find none of them when it is read again, in the same order.
    pub fn begin_round(&self) {
        self.with(|kept| kept.round = kept.uses);
    }

    /// What was made of this state of the file, if it is kept and `parser` would make the same.
    pub(super) fn get(&self, file: &FileVersion, parser: &dyn AnyParser) -> Option<AnyParsed> {
        let key = FileKey::new(file, parser);
        self.with(|kept| {
            let found = kept.files.get(&key)?;
            if found.version != file.version {
                kept.remove(&key);
                return None;
            }
            let parsed = Arc::clone(&found.parsed);
            if !parser.accepts_any(&parsed) {
                return None;
            }
            kept.touch(&key);
            Some(parsed)
        })
    }

    /// Keeps what was made of this state of the file, if there is room.
    pub(super) fn put(
        &self,
        file: FileVersion,
        parser: &dyn AnyParser,
        parsed: AnyParsed,
        size: usize,
    ) {
        let key = FileKey::new(&file, parser);
        // The entry itself, and its names.
        let size = size
            .saturating_add(key.location.len() + file.version.len())
            .saturating_add(size_of::<FileKey>() + 2 * size_of::<KeptFile>());
        self.with(|kept| {
            kept.remove(&key);
            let round = kept.round;
            if !kept.make_room(size, round) {
                return;
            }
            let key = Arc::new(key);
            kept.uses += 1;
            kept.size += size;
            kept.by_use.insert(kept.uses, Arc::clone(&key));
            let last_use = kept.uses;
            kept.files.insert(
                key,
                KeptFile {
                    version: file.version,
                    parsed,
                    size,
                    last_use,
                },
            );
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Kept) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn remove(&mut self, key: &FileKey) {
        if let Some(file) = self.files.remove(key) {
            self.by_use.remove(&file.last_use);
            self.size -= file.size;
        }
    }

    fn touch(&mut self, key: &FileKey) {
        self.uses += 1;
        if let Some(file) = self.files.get_mut(key)
            && let Some(key) = self.by_use.remove(&file.last_use)
        {
            file.last_use = self.uses;
            self.by_use.insert(self.uses, key);
        }
    }

    /// Whether there is room for so many bytes, once files whose last use was at `until` or before have gone.
    fn make_room(&mut self, size: usize, until: u64) -> bool {
        if size > self.capacity {
            return false;
        }
        while self.capacity - size < self.size {
            match self.by_use.first_key_value() {
                Some((last_use, key)) if *last_use <= until => {
                    let key = Arc::clone(key);
                    self.remove(&key);
                }
                _ => return false,
            }
        }
        true
    }
}

impl FileKey {
    fn new(file: &FileVersion, parser: &dyn AnyParser) -> Self {
        Self {
            location: file.location.clone(),
            parsed_type: parser.parsed_type(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes text with this in front of it.
    struct Text(&'static str);

    impl Parser for Text {
        type Parsed = String;
        const UNIQUE_NAMES: bool = false;

        fn parse(&self, content: Bytes) -> Result<String> {
            Ok(format!("{}{}", self.0, String::from_utf8_lossy(&content)))
        }

        fn size(_: &String) -> usize {
            1000
        }

        fn accepts(&self, parsed: &String) -> bool {
            parsed.starts_with(self.0)
        }
    }

    struct Length;

    impl Parser for Length {
        type Parsed = usize;
        const UNIQUE_NAMES: bool = false;

        fn parse(&self, content: Bytes) -> Result<usize> {
            Ok(content.len())
        }

        fn size(_: &usize) -> usize {
            8
        }

        fn accepts(&self, _: &usize) -> bool {
            true
        }
    }

    fn file(number: usize, version: &str) -> FileVersion {
        FileVersion {
            location: format!("/t/{number}"),
            version: version.to_owned(),
        }
    }

    fn put(cache: &MetadataCache, number: usize) {
        let (parsed, size) = Text("").parse_any(Bytes::from("x")).expect("parsed");
        cache.put(file(number, "1"), &Text(""), parsed, size);
    }

    fn kept(cache: &MetadataCache, numbers: std::ops::Range<usize>) -> Vec<usize> {
        numbers
            .filter(|number| cache.get(&file(*number, "1"), &Text("")).is_some())
            .collect()
    }

    #[test]
    fn only_the_same_state_made_by_a_like_parser_is_found() {
        let cache = MetadataCache::new(1 << 20);
        let (parsed, size) = Text("a").parse_any(Bytes::from("x")).expect("parsed");
        cache.put(file(1, "1"), &Text("a"), parsed, size);
        let found = cache.get(&file(1, "1"), &Text("a")).expect("kept");
        assert_eq!(*typed::<Text>(found).expect("text"), "ax");
        assert!(cache.get(&file(2, "1"), &Text("a")).is_none());
        assert!(cache.get(&file(1, "1"), &Text("b")).is_none());
        assert!(cache.get(&file(1, "1"), &Length).is_none());
        assert!(cache.get(&file(1, "2"), &Text("a")).is_none());
        // A file that has changed does not change back.
        assert!(cache.get(&file(1, "1"), &Text("a")).is_none());
        assert_eq!(cache.size(), 0);
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let cache = MetadataCache::new(0);
        put(&cache, 0);
        assert_eq!(cache.size(), 0);
        cache.set_capacity(4000);
        for number in 0..3 {
            put(&cache, number);
        }
        assert!(cache.size() > 3000 && cache.size() <= 4000);
        cache.begin_round();
        assert_eq!(kept(&cache, 0..1), [0]);
        put(&cache, 3);
        assert!(cache.size() <= 4000);
        assert_eq!(kept(&cache, 0..4), [0, 2, 3]);
        cache.set_capacity(2500);
        assert_eq!(
            kept(&cache, 0..4).len(),
            1 + usize::from(cache.size() > 2000)
        );
        cache.set_capacity(0);
        assert_eq!((cache.size(), kept(&cache, 0..4)), (0, vec![]));
    }

    #[test]
    fn a_round_does_not_push_out_what_it_has_used_itself() {
        let cache = MetadataCache::new(5000);
        for _ in 0..3 {
            cache.begin_round();
            for number in 0..100 {
                if kept(&cache, number..number + 1).is_empty() {
                    put(&cache, number);
                }
            }
            assert_eq!(kept(&cache, 0..100), [0, 1, 2, 3]);
        }
        // The next may.
        cache.begin_round();
        put(&cache, 200);
        assert_eq!(kept(&cache, 200..201), [200]);
    }

    #[test]
    fn what_is_larger_than_the_cache_pushes_out_nothing() {
        let cache = MetadataCache::new(5000);
        put(&cache, 0);
        cache.begin_round();
        cache.put(file(1, "1"), &Text(""), Arc::new(String::new()), usize::MAX);
        assert_eq!(kept(&cache, 0..2), [0]);
    }
}
