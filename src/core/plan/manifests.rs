//! What planning reads: manifest lists and manifests, parsed, and kept where the table's files have a cache.
//! Spec: "Manifest Lists", "Manifests".

use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};

use crate::error::Result;
use crate::spec::{
    Manifest, ManifestFile, Snapshot, SnapshotManifests, TableMetadata, read_manifest_list,
};
use crate::storage::{Parser, RawPath, SharedFileReader, kept_parsed, read_parsed, read_parsed_by};

/// How many manifests are read at a time.
pub(super) const MANIFESTS_AT_ONCE: usize = 8;

/// The manifests of a snapshot.
pub(crate) async fn list_manifests(
    files: &SharedFileReader,
    snapshot: &Snapshot,
) -> Result<Vec<ManifestFile>> {
    match &snapshot.manifests {
        SnapshotManifests::List(path) => {
            let parser = ManifestListParser(path.clone());
            let listed = read_parsed(files.as_ref(), &RawPath(path.clone()), parser).await?;
            Ok(listed.to_vec())
        }
        SnapshotManifests::Inline(paths) => Ok(paths
            .iter()
            .map(|path| ManifestFile::inline(path, snapshot.snapshot_id))
            .collect()),
    }
}

/// The live entries of manifests, in their order.
pub(super) async fn read_manifests<'a>(
    files: &'a SharedFileReader,
    metadata: &Arc<TableMetadata>,
    listed: Vec<ManifestFile>,
) -> Result<impl Stream<Item = Result<Arc<Manifest>>> + 'a> {
    let wanted: Vec<_> = listed
        .into_iter()
        .map(|listed| {
            let path = RawPath(listed.manifest_path.clone());
            let parser = ManifestParser {
                listed,
                metadata: Arc::clone(metadata),
            };
            (path, Arc::new(parser))
        })
        .collect();
    let kept = kept_parsed(files.as_ref(), &wanted).await?;
    Ok(stream::iter(wanted.into_iter().zip(kept))
        .map(move |((path, parser), kept)| async move {
            match kept {
                Some(manifest) => Ok(manifest),
                None => read_parsed_by(files.as_ref(), &path, parser).await,
            }
        })
        .buffered(MANIFESTS_AT_ONCE))
}

/// Reads the manifest list of this path.
struct ManifestListParser(String);

impl Parser for ManifestListParser {
    type Parsed = Vec<ManifestFile>;
    const UNIQUE_NAMES: bool = true;

    fn parse(&self, content: Bytes) -> Result<Self::Parsed> {
        read_manifest_list(&self.0, content)
    }

    fn size(manifests: &Self::Parsed) -> usize {
        manifests.iter().map(ManifestFile::memory).sum()
    }

    fn accepts(&self, _: &Self::Parsed) -> bool {
        true
    }
}

/// Reads a manifest, with what it inherits from the list, and the types of its partitions from the table.
struct ManifestParser {
    listed: ManifestFile,
    metadata: Arc<TableMetadata>,
}

impl Parser for ManifestParser {
    type Parsed = Manifest;
    const UNIQUE_NAMES: bool = true;

    fn parse(&self, content: Bytes) -> Result<Manifest> {
        Manifest::open(&self.listed, content, |spec_id| {
            self.metadata.partition_type(spec_id)
        })
    }

    fn size(manifest: &Manifest) -> usize {
        manifest.memory()
    }

    fn accepts(&self, manifest: &Manifest) -> bool {
        manifest.is_as_listed(&self.listed, |spec_id| {
            self.metadata.partition_type(spec_id)
        })
    }
}
