//! What this version cannot read yet, told apart and named, so that it is never read wrongly.
//! Spec: "Table Encryption", "Data File Fields" (`file_format`).

use crate::error::{Error, Result};
use crate::spec::{DataContent, DataFile, FileFormat, ManifestFile, Snapshot, TableMetadata};

/// The features of a snapshot that cannot be read, each with the file it was first found in.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Refusals(Vec<(&'static str, String)>);

impl Refusals {
    /// Notes a feature and the file it was found in.
    fn add(&mut self, feature: &'static str, found_in: &str) {
        if self.0.iter().all(|(known, _)| *known != feature) {
            self.0.push((feature, found_in.to_owned()));
        }
    }

    /// Adds what was noted elsewhere.
    pub fn merge(&mut self, other: Self) {
        for (feature, found_in) in other.0 {
            self.add(feature, &found_in);
        }
    }

    /// Notes what makes a live file unreadable; `false` if nothing does.
    ///
    /// # Errors
    /// `Corrupt` for a file that cannot be.
    pub fn note_live_file(&mut self, file: &DataFile) -> Result<bool> {
        let feature = match (file.content, file.file_format) {
            _ if file.key_metadata.is_some() => "table encryption",
            (DataContent::Data, FileFormat::Puffin) => {
                return Err(Error::corrupt(
                    &file.file_path,
                    "a Puffin file is listed as a data file, which it cannot be",
                ));
            }
            (DataContent::EqualityDeletes, FileFormat::Puffin) => {
                return Err(Error::corrupt(
                    &file.file_path,
                    "a Puffin file is listed as an equality delete file, which it cannot be",
                ));
            }
            _ => return Ok(false),
        };
        self.add(feature, &file.file_path);
        Ok(true)
    }

    /// Refuses the snapshot if anything was noted.
    ///
    /// # Errors
    /// `NotSupported`, with every feature by name.
    pub fn check(self, metadata: &TableMetadata) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let features: Vec<_> = self
            .0
            .iter()
            .map(|(feature, found_in)| format!("{feature} (\"{found_in}\")"))
            .collect();
        Err(Error::not_supported(format!(
            "Iceberg table \"{}\" uses {}, which cannot be read yet",
            metadata.location,
            features.join(" and ")
        )))
    }
}

/// Refuses a snapshot whose manifest list is encrypted: it could not even be parsed.
pub(super) fn encrypted_snapshot(metadata: &TableMetadata, snapshot: &Snapshot) -> Result<()> {
    let mut refusals = Refusals::default();
    if let Some(key_id) = &snapshot.key_id {
        refusals.add("table encryption", &format!("key {key_id}"));
    }
    refusals.check(metadata)
}

/// Refuses manifests that are encrypted: they could not even be parsed.
pub(super) fn encrypted_manifests(
    metadata: &TableMetadata,
    manifests: &[ManifestFile],
) -> Result<()> {
    let mut refusals = Refusals::default();
    for manifest in manifests {
        if manifest.key_metadata.is_some() {
            refusals.add("table encryption", &manifest.manifest_path);
        }
    }
    refusals.check(metadata)
}
