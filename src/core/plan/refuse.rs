//! What this version cannot read yet, told apart and named, so that it is never read wrongly.
//! Spec: "Delete Formats", "Table Encryption", "Data File Fields" (`file_format`).

use crate::error::{Error, Result};
use crate::spec::{DataContent, DataFile, FileFormat, ManifestFile, Snapshot, TableMetadata};

/// Refuses a snapshot whose manifest list is encrypted.
pub(super) fn encrypted_snapshot(metadata: &TableMetadata, snapshot: &Snapshot) -> Result<()> {
    match &snapshot.key_id {
        None => Ok(()),
        Some(key_id) => Err(not_supported(
            metadata,
            "table encryption",
            format!(
                "snapshot {} is encrypted with key \"{key_id}\"",
                snapshot.snapshot_id
            ),
        )),
    }
}

/// Refuses a manifest that is encrypted.
pub(super) fn encrypted_manifest(metadata: &TableMetadata, manifest: &ManifestFile) -> Result<()> {
    match &manifest.key_metadata {
        None => Ok(()),
        Some(_) => Err(not_supported(
            metadata,
            "table encryption",
            format!("manifest \"{}\" is encrypted", manifest.manifest_path),
        )),
    }
}

/// Refuses a live file that cannot be read, or whose deletes cannot be applied.
pub(super) fn live_file(metadata: &TableMetadata, file: &DataFile) -> Result<()> {
    let path = &file.file_path;
    match file.content {
        DataContent::PositionDeletes if file.is_deletion_vector() => {
            return Err(not_supported(
                metadata,
                "deletion vectors",
                format!("\"{path}\" is one"),
            ));
        }
        DataContent::PositionDeletes => {
            return Err(not_supported(
                metadata,
                "position deletes",
                format!("\"{path}\" is a position delete file"),
            ));
        }
        DataContent::EqualityDeletes => {
            return Err(not_supported(
                metadata,
                "equality deletes",
                format!("\"{path}\" is an equality delete file"),
            ));
        }
        DataContent::Data => {}
    }
    if file.key_metadata.is_some() {
        return Err(not_supported(
            metadata,
            "table encryption",
            format!("\"{path}\" is encrypted"),
        ));
    }
    let feature = match file.file_format {
        FileFormat::Parquet => return Ok(()),
        FileFormat::Orc => "ORC data files",
        FileFormat::Avro => "Avro data files",
        FileFormat::Puffin => {
            return Err(Error::corrupt(
                path,
                "a Puffin file is listed as a data file, which it cannot be",
            ));
        }
    };
    Err(not_supported(
        metadata,
        feature,
        format!("\"{path}\" is one"),
    ))
}

fn not_supported(metadata: &TableMetadata, feature: &str, found: String) -> Error {
    Error::not_supported(format!(
        "Iceberg table \"{}\" uses {feature}, which cannot be read yet: {found}",
        metadata.location
    ))
}
