//! The files of one table: maps the paths of moved tables, keeps within reach, counts what is read.
//! Spec: "Paths in Metadata".

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::location::Location;
use super::reach::{Reach, ResolvedPath};
use super::store::{Storage, StorageCounters};
use super::{AnyParsed, AnyParser, FileReader, RawPath};
use crate::error::{ErrorKind, Result};

/// Reads what a table's metadata names.
#[derive(Debug)]
pub struct TableFiles {
    storage: Storage,
    reach: Arc<Reach>,
    /// The location that the metadata declares, if it is not the real one.
    moved_from: Option<Location>,
    /// Whether paths under the declared location are to be mapped to the real one.
    allow_moved_paths: bool,
}

impl TableFiles {
    /// The files of the table in `reach`, whose metadata declares `location`.
    ///
    /// With `allow_moved_paths` a path under `location` means the same file under the table's real
    /// directory, also where `location` still exists: a copied table reads its own copy. Both may
    /// be spelled with or without `file:` and trailing slashes. Relative or unusable declared
    /// locations map nothing.
    pub fn new(
        storage: Storage,
        reach: Arc<Reach>,
        location: &str,
        allow_moved_paths: bool,
    ) -> Self {
        let moved_from = Location::parse(location)
            .ok()
            .filter(|declared| !declared.is_same(reach.table()));
        Self {
            storage,
            reach,
            moved_from,
            allow_moved_paths,
        }
    }

    /// The table's real directory.
    pub fn location(&self) -> &Location {
        self.reach.table()
    }

    /// What was read so far.
    pub fn counters(&self) -> &Arc<StorageCounters> {
        self.storage.counters()
    }

    /// Where the file that metadata names really is.
    ///
    /// # Errors
    /// `PermissionDenied` where it lies outside of the table's reach or climbs with `..`;
    /// `Corrupt` for a path that is no absolute location.
    pub fn resolve(&self, path: &RawPath) -> Result<ResolvedPath> {
        let named = Location::parse(&path.0).map_err(|error| match error.kind() {
            ErrorKind::InvalidArgument => crate::error::Error::corrupt(
                path,
                "the table's metadata names this path, which is not an absolute location",
            ),
            _ => error,
        })?;
        let Some(declared) = &self.moved_from else {
            return self.reach.check(named);
        };
        match named.strip_prefix(declared) {
            None => self.reach.check(named),
            Some(rest) if self.allow_moved_paths => {
                self.reach.check(self.reach.table().with_suffix(rest))
            }
            Some(_) => self.reach.check(named).map_err(|error| {
                error.with_detail(format!(
                    "The metadata declares the table to be at \"{declared}\", but it is read at \"{}\".",
                    self.reach.table()
                ))
            }),
        }
    }
}

#[async_trait]
impl FileReader for TableFiles {
    async fn read(&self, path: &RawPath) -> Result<Bytes> {
        self.storage.read(&self.resolve(path)?).await
    }

    async fn read_ranges(&self, path: &RawPath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.storage.read_ranges(&self.resolve(path)?, ranges).await
    }

    async fn size(&self, path: &RawPath) -> Result<u64> {
        self.storage.size(&self.resolve(path)?).await
    }

    async fn read_any_parsed(
        &self,
        path: &RawPath,
        parser: Arc<dyn AnyParser>,
    ) -> Result<AnyParsed> {
        self.storage
            .read_any_parsed(&self.resolve(path)?, parser)
            .await
    }

    async fn kept_any_parsed(
        &self,
        wanted: Vec<(RawPath, Arc<dyn AnyParser>)>,
    ) -> Result<Vec<Option<AnyParsed>>> {
        // Who asks for a file that may not be read is told when it is read.
        let resolved = wanted
            .into_iter()
            .map(|(path, parser)| Some((self.resolve(&path).ok()?, parser)))
            .collect();
        self.storage.kept_any_parsed(resolved).await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, SystemTime};

    use super::super::{MetadataCache, Parser, kept_parsed, read_parsed};
    use super::*;

    /// Names that URL handling, globbing or the object store's own rules would change.
    const NAMES: [&str; 28] = [
        "plain.parquet",
        "a%20b.parquet",
        "a%2Fb.parquet",
        "a%252Fb.parquet",
        "100%",
        "%zz",
        "a b.parquet",
        "a#b.parquet",
        "a#1",
        "#",
        "a?b=c&d.parquet",
        "ts=2024-01-01T00%3A00%3A00",
        "día é.parquet",
        "e\u{301}.parquet",
        "🧊.parquet",
        "~",
        "*",
        "[a-z]{1,2}",
        "trailing.",
        "trailing ",
        "...",
        "back\\slash",
        "quote\"'`",
        "new\nline\ttab",
        "a|b<c>^",
        "-rf",
        "C:",
        "c|",
    ];

    fn files(table: &str, declared: &str, moved: bool, others: &[&str]) -> TableFiles {
        let parse = |text: &str| Location::parse(text).expect("a location");
        let others = others.iter().map(|place| parse(place));
        let reach = Reach::new(parse(table), others);
        TableFiles::new(Storage::new(), reach, declared, moved)
    }

    async fn read(files: &TableFiles, path: impl AsRef<Path>) -> Result<Bytes> {
        files.read(&raw(path)).await
    }

    fn raw(path: impl AsRef<Path>) -> RawPath {
        RawPath(path.as_ref().to_str().expect("UTF-8").to_owned())
    }

    /// Text, as often as it was parsed.
    struct Text(Arc<AtomicUsize>);

    impl Parser for Text {
        type Parsed = Bytes;
        const UNIQUE_NAMES: bool = false;

        fn parse(&self, content: Bytes) -> Result<Bytes> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(content)
        }

        fn size(content: &Bytes) -> usize {
            content.len()
        }

        fn accepts(&self, _: &Bytes) -> bool {
            true
        }
    }

    /// Makes a file as old as it must be to be told from what it may become.
    fn settle(path: &str, seconds: u64) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let file = fs::File::options().write(true).open(path).expect("a file");
        file.set_modified(time).expect("a time");
    }

    #[tokio::test]
    async fn parsed_files_are_kept_as_long_as_they_stay_the_same() {
        let (_keep, root) = temporary();
        let table = format!("{root}/wh/t");
        let path = format!("{table}/a");
        let cache = MetadataCache::new(1 << 20);
        let parsed = Arc::new(AtomicUsize::new(0));
        let reader = |places: &[&str]| {
            let parse = |text: &str| Location::parse(text).expect("a location");
            let places: Vec<_> = places.iter().map(|place| parse(place)).collect();
            let [table, others @ ..] = places.as_slice() else {
                panic!("no table");
            };
            let reach = Reach::new(table.clone(), others.iter().cloned());
            let storage = Storage::new().with_cache(Some(Arc::clone(&cache)));
            TableFiles::new(storage, reach, &table.to_string(), false)
        };
        let read = async |files: &TableFiles| -> Result<(Bytes, usize)> {
            let content = read_parsed(files, &raw(&path), Text(Arc::clone(&parsed))).await?;
            Ok((content.as_ref().clone(), parsed.load(Ordering::Relaxed)))
        };
        let ours = reader(&[&table]);
        // A file that was just written may change unseen.
        write(&path, "one");
        assert_eq!(read(&ours).await.expect("read"), ("one".into(), 1));
        assert_eq!(read(&ours).await.expect("read"), ("one".into(), 2));
        settle(&path, 1000);
        for _ in 0..3 {
            assert_eq!(read(&ours).await.expect("read"), ("one".into(), 3));
        }
        assert_eq!(ours.counters().bytes_read(), 9);
        // Rewritten with the same size, at the same time; then replaced by another file of both.
        fs::write(&path, "two").expect("written");
        settle(&path, 1000);
        assert_eq!(read(&ours).await.expect("read"), ("two".into(), 4));
        write(&format!("{table}/b"), "six");
        settle(&format!("{table}/b"), 1000);
        fs::rename(format!("{table}/b"), &path).expect("renamed");
        assert_eq!(read(&ours).await.expect("read"), ("six".into(), 5));
        // Many are looked for at once: those that are kept, within reach and no links are found.
        symlink("a", format!("{table}/link")).expect("a link");
        let names = ["a", "link", "missing", "../t/a", "", "a"];
        let wanted: Vec<_> = names
            .iter()
            .map(|name| {
                (
                    raw(format!("{table}/{name}")),
                    Arc::new(Text(Arc::clone(&parsed))),
                )
            })
            .collect();
        let found = async |files: &TableFiles| -> Vec<bool> {
            let kept = kept_parsed(files, &wanted).await.expect("found");
            kept.iter().map(Option::is_some).collect()
        };
        assert_eq!(found(&ours).await, [true, false, false, false, false, true]);
        assert_eq!(
            found(&reader(&[&format!("{root}/other")])).await,
            [false; 6]
        );
        // Another table finds it only if it may read it.
        let other = reader(&[&format!("{root}/other")]);
        assert_eq!(kind(read(&other).await), ErrorKind::PermissionDenied);
        let warehouse = reader(&[&format!("{root}/other"), &format!("{root}/wh")]);
        assert_eq!(read(&warehouse).await.expect("read"), ("six".into(), 5));
        cache.set_capacity(0);
        assert_eq!(read(&ours).await.expect("read"), ("six".into(), 6));
        // What is gone is not found again.
        cache.set_capacity(1000);
        assert_eq!(read(&ours).await.expect("read"), ("six".into(), 7));
        fs::remove_file(&path).expect("removed");
        assert_eq!(kind(read(&ours).await), ErrorKind::FileNotFound);
    }

    fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
        result.expect_err("an error").kind()
    }

    fn temporary() -> (tempfile::TempDir, String) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = fs::canonicalize(directory.path()).expect("a real path");
        let path = path.to_str().expect("UTF-8").to_owned();
        (directory, path)
    }

    fn write(path: &str, content: &str) {
        let parent = Path::new(path).parent().expect("a parent");
        fs::create_dir_all(parent).expect("directories");
        fs::write(path, content).expect("written");
    }

    #[tokio::test]
    async fn names_are_read_byte_for_byte() {
        let (_keep, root) = temporary();
        let table = format!("{root}/wh %2F#?=é/t");
        for directory in NAMES {
            for name in NAMES {
                write(
                    &format!("{table}/{directory}.d/{name}"),
                    &format!("{directory}{name}"),
                );
            }
        }
        let files = files(&table, &table, false, &[]);
        for directory in NAMES {
            for name in NAMES {
                for (scheme, slash) in [("", "/"), ("file:", "/"), ("file://", "//")] {
                    let path = format!("{scheme}{table}{slash}{directory}.d{slash}{name}");
                    let content = read(&files, &path).await.map_err(|e| e.to_string());
                    let expected = format!("{directory}{name}");
                    assert_eq!(content, Ok(Bytes::from(expected)), "{path:?}");
                }
            }
        }
    }

    #[tokio::test]
    async fn ranges_come_in_their_order_and_near_ones_in_one_request() {
        let (_keep, table) = temporary();
        let content: Vec<u8> = (0..400_000_u32).map(|n| (n % 251) as u8).collect();
        for name in ["data.parquet", "data#1"] {
            let path = format!("{table}/{name}");
            fs::write(&path, &content).expect("written");
            let files = files(&table, &table, false, &[]);
            let ranges = [
                300_000..300_010,
                10..20,
                0..15,
                7..7,
                25..30,
                399_999..400_000,
            ];
            let read = files
                .read_ranges(&raw(&path), &ranges)
                .await
                .expect("ranges");
            for (range, bytes) in ranges.iter().zip(&read) {
                let expected = &content[range.start as usize..range.end as usize];
                assert_eq!(bytes.as_ref(), expected, "{range:?}");
            }
            let counters = files.counters();
            assert_eq!(counters.requests(), 3);
            assert_eq!(counters.bytes_read(), 30 + 10 + 1);
            assert_eq!(files.size(&raw(&path)).await.ok(), Some(400_000));
            assert!(
                files
                    .read_ranges(&raw(&path), &[])
                    .await
                    .is_ok_and(|read| read.is_empty())
            );
        }
    }

    #[tokio::test]
    #[allow(clippy::reversed_empty_ranges)]
    async fn ranges_outside_of_the_file_are_errors_that_name_it() {
        let (_keep, table) = temporary();
        let path = format!("{table}/a");
        write(&path, "0123456789");
        let files = files(&table, &table, false, &[]);
        for range in [5..11, 11..11, 7..3, 0..u64::MAX, u64::MAX - 1..u64::MAX] {
            let error = files
                .read_ranges(&raw(&path), &[0..1, range.clone()])
                .await
                .expect_err("an error");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{range:?}");
            assert!(error.message().contains(&path), "{error}");
        }
    }

    #[tokio::test]
    async fn more_than_memory_may_hold_is_refused() {
        let (_keep, table) = temporary();
        let path = format!("{table}/huge");
        let file = fs::File::create(&path).expect("created");
        file.set_len(1 << 40).expect("a sparse file");
        let files = files(&table, &table, false, &[]);
        assert_eq!(kind(read(&files, &path).await), ErrorKind::Corrupt);
        assert_eq!(files.size(&raw(&path)).await.ok(), Some(1 << 40));
        for ranges in [
            [0..1 << 39, 1 << 39..1 << 40],
            [0..3 << 30, 1 << 33..5 << 31],
        ] {
            let read = files.read_ranges(&raw(&path), &ranges).await;
            assert_eq!(kind(read), ErrorKind::NotSupported, "{ranges:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn only_regular_files_are_opened() {
        let (_keep, table) = temporary();
        write(&format!("{table}/directory/file"), "");
        let pipe = format!("{table}/pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        let socket = format!("{table}/socket");
        let _socket = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        symlink("pipe", format!("{table}/link_to_pipe")).expect("a link");
        symlink("nowhere", format!("{table}/broken")).expect("a link");
        symlink("loop", format!("{table}/loop")).expect("a link");
        let files = files(&table, &table, false, &[]);
        for (name, says) in [
            ("missing", "does not exist"),
            ("missing/too", "does not exist"),
            ("directory/file/below", "does not exist"),
            ("broken", "does not exist"),
            ("directory", "a directory"),
            ("directory/", "a directory"),
            ("pipe", "a named pipe"),
            ("link_to_pipe", "a named pipe"),
            ("socket", "a socket"),
        ] {
            let path = format!("{table}/{name}");
            let error = read(&files, &path).await.expect_err("an error");
            assert_eq!(error.kind(), ErrorKind::FileNotFound, "{name}: {error}");
            assert!(error.message().contains(says), "{name}: {error}");
            assert!(error.message().contains(&path), "{name}: {error}");
        }
        assert_eq!(
            kind(read(&files, format!("{table}/loop")).await),
            ErrorKind::Unreachable
        );
        let long = format!("{table}/{}", "x".repeat(300));
        assert_eq!(kind(read(&files, long).await), ErrorKind::FileNotFound);
    }

    #[tokio::test]
    async fn paths_outside_of_the_reach_are_refused() {
        let (_keep, root) = temporary();
        for path in ["wh/t/a", "wh/t2/a", "wh2/a", "other/a", "elsewhere/a"] {
            write(&format!("{root}/{path}"), path);
        }
        let table = format!("{root}/wh/t");
        let alone = files(&table, &table, false, &[]);
        for path in ["wh/t2/a", "wh/a", "wh2/a", "other/a", "other/missing"] {
            let error = read(&alone, format!("{root}/{path}"))
                .await
                .expect_err("an error");
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{path}");
            let hint = error.hint().unwrap_or_default();
            assert!(hint.contains("allowed_locations"), "{hint}");
            assert!(hint.contains("allow_moved_paths"), "{hint}");
        }
        for path in ["../t2/a", "x/../../t2/a", "a/.."] {
            let path = format!("{table}/{path}");
            assert_eq!(kind(read(&alone, path).await), ErrorKind::PermissionDenied);
        }
        let warehouse = format!("file://{root}/wh");
        let other = format!("{root}/other/");
        let more = files(
            &table,
            &table,
            false,
            &[&warehouse, &other, "s3://bucket/x", "hdfs://host/x"],
        );
        for path in ["wh/t/a", "wh/t2/a", "other/a"] {
            let content = read(&more, format!("{root}/{path}"))
                .await
                .expect("readable");
            assert_eq!(content, path);
        }
        for path in ["wh2/a", "elsewhere/a"] {
            let path = format!("{root}/{path}");
            assert_eq!(kind(read(&more, path).await), ErrorKind::PermissionDenied);
        }
        for path in ["", "data/a", "file:data/a"] {
            assert_eq!(kind(read(&more, path).await), ErrorKind::Corrupt, "{path}");
        }
        let error = read(&more, "hdfs://host/x/a").await.expect_err("an error");
        assert_eq!(error.kind(), ErrorKind::NotSupported);
        assert!(
            error.message().contains("\"hdfs\"") && error.hint().is_some(),
            "{error}"
        );
        // Within reach, but nobody gave credentials for it.
        for path in ["s3://bucket/x/a", "s3a://bucket/x/a"] {
            let kind = kind(read(&more, path).await);
            assert_eq!(kind, ErrorKind::Unauthenticated, "{path}");
        }
        assert_eq!(
            kind(read(&more, "s3://bucket/y").await),
            ErrorKind::PermissionDenied
        );
    }

    #[tokio::test]
    async fn links_are_followed_within_the_reach() {
        let (_keep, root) = temporary();
        write(&format!("{root}/real/t/data/a"), "a");
        write(&format!("{root}/other/b"), "b");
        symlink("real", format!("{root}/link")).expect("a link");
        symlink("a", format!("{root}/real/t/data/inside")).expect("a link");
        symlink("../../../other/b", format!("{root}/real/t/data/outside")).expect("a link");
        let (real, link) = (format!("{root}/real/t"), format!("{root}/link/t"));
        // Both the directory and the metadata's paths may go through a link, or only one of them.
        for table in [&real, &link] {
            for declared in [&real, &link] {
                let files = files(table, declared, false, &[]);
                for name in ["a", "inside"] {
                    let content = read(&files, format!("{declared}/data/{name}")).await;
                    assert_eq!(content.expect("readable"), "a");
                }
                let outside = format!("{declared}/data/outside");
                assert_eq!(
                    kind(read(&files, &outside).await),
                    ErrorKind::PermissionDenied
                );
                let other = format!("{root}/other");
                let allowed = self::files(table, declared, false, &[&other]);
                assert_eq!(read(&allowed, &outside).await.expect("readable"), "b");
            }
        }
    }

    #[tokio::test]
    async fn local_files_are_never_in_reach_of_a_remote_table() {
        let (_keep, root) = temporary();
        write(&format!("{root}/a"), "a");
        let local = RawPath(format!("file://{root}/a"));
        for (declared, moved) in [("s3://bucket/t", false), ("/", false), ("/elsewhere", true)] {
            let files = files("s3://bucket/t", declared, moved, &[&root, "/"]);
            let error = files.resolve(&local).expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            assert!(error.message().contains("object store"), "{error}");
        }
        // Under the declared location it means the file of the bucket.
        let moved = files("s3://bucket/t", &root, true, &[&root]);
        let resolved = moved.resolve(&local).expect("resolved");
        assert_eq!(resolved.location().to_string(), "s3://bucket/t/a");
    }

    #[tokio::test]
    async fn moved_tables_read_their_real_directory() {
        let (_keep, root) = temporary();
        let real = format!("{root}/new place/t%2F");
        write(&format!("{real}/data/k=a%2Fb/1.parquet"), "new");
        // The directory that the metadata declares: never there, or still there as for a copy.
        let old = format!("{root}/old/t");
        write(&format!("{old}/data/k=a%2Fb/1.parquet"), "old");
        for declared in [
            "/gone/t".to_owned(),
            "/gone/t/".to_owned(),
            "file:/gone/t".to_owned(),
            "file:///gone/t//".to_owned(),
            "s3://bucket/wh/t".to_owned(),
            "hdfs://namenode:8020/wh/t/".to_owned(),
            old.clone(),
            format!("file://{old}"),
        ] {
            let plain = declared.trim_end_matches('/').to_owned();
            let path = format!("{plain}/data/k=a%2Fb/1.parquet");
            for spelled in [real.clone(), format!("{real}/"), format!("file:{real}")] {
                let moved = files(&spelled, &declared, true, &[]);
                assert_eq!(
                    read(&moved, &path).await.expect("readable"),
                    "new",
                    "{declared}"
                );
                for outside in [format!("{plain}2/data/a"), format!("{plain}/../a")] {
                    let kind = kind(read(&moved, outside).await);
                    assert_eq!(kind, ErrorKind::PermissionDenied);
                }
                let fixed = files(&spelled, &declared, false, &[]);
                let error = read(&fixed, &path).await.expect_err("refused");
                assert_eq!(error.kind(), ErrorKind::PermissionDenied);
                let detail = error.detail().unwrap_or_default();
                assert!(detail.contains("declares"), "{declared}: {error}");
            }
        }
        // Both spellings of a local location meet, whatever spelling each side has.
        for declared in [
            "/gone/t",
            "file:/gone/t",
            "file:///gone/t",
            "file://localhost/gone/t",
        ] {
            for path in [
                "/gone/t",
                "file:/gone/t",
                "file:///gone/t",
                "file:///gone//t",
            ] {
                let moved = files(&real, declared, true, &[]);
                let content = read(&moved, format!("{path}/data/k=a%2Fb/1.parquet")).await;
                assert_eq!(content.expect("readable"), "new", "{declared} {path}");
            }
        }
        // Nothing is under a location that is none, and the root is not a way out.
        for declared in ["", "t", "file:", "/gone/../t"] {
            let moved = files(&real, declared, true, &[]);
            let content = read(&moved, format!("{real}/data/k=a%2Fb/1.parquet")).await;
            assert_eq!(content.expect("readable"), "new");
            assert_eq!(
                kind(read(&moved, "/etc/passwd").await),
                ErrorKind::PermissionDenied
            );
        }
        let moved = files(&real, "/", true, &[]);
        assert_eq!(
            kind(read(&moved, "/etc/passwd").await),
            ErrorKind::FileNotFound
        );
    }
}
