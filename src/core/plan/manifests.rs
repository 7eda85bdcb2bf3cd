//! What planning reads: manifest lists and manifests, parsed, and kept where the table's files have a cache.
//! Spec: "Manifest Lists", "Manifests".

use std::sync::Arc;

use bytes::Bytes;

use crate::error::Result;
use crate::spec::{
    Manifest, ManifestFile, Snapshot, SnapshotManifests, TableMetadata, read_manifest_list,
};
use crate::storage::{Parser, RawPath, SharedFileReader, read_parsed};

/// The manifests of a snapshot.
pub(crate) async fn list_manifests(
    files: &SharedFileReader,
    snapshot: &Snapshot,
) -> Result<Arc<Vec<ManifestFile>>> {
    match &snapshot.manifests {
        SnapshotManifests::List(path) => {
            let parser = ManifestListParser(path.clone());
            read_parsed(files.as_ref(), &RawPath(path.clone()), parser).await
        }
        SnapshotManifests::Inline(paths) => Ok(Arc::new(
            paths
                .iter()
                .map(|path| ManifestFile::inline(path, snapshot.snapshot_id))
                .collect(),
        )),
    }
}

/// The live entries of a manifest.
pub(super) async fn read_manifest(
    files: &SharedFileReader,
    metadata: &Arc<TableMetadata>,
    listed: ManifestFile,
) -> Result<Arc<Manifest>> {
    let path = RawPath(listed.manifest_path.clone());
    let parser = ManifestParser {
        listed,
        metadata: Arc::clone(metadata),
    };
    read_parsed(files.as_ref(), &path, parser).await
}

/// Reads the manifest list of this path.
struct ManifestListParser(String);

impl Parser for ManifestListParser {
    type Parsed = Vec<ManifestFile>;

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
