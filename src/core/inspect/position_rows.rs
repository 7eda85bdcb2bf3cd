//! The positions that a snapshot's position delete files and deletion vectors delete, one row each.
//! Spec: "Position Delete Files", "Deletion Vectors"; names of columns as other engines have them.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::{Row, Rows, file_rows, row};
use crate::catalog::Table;
use crate::error::Result;
use crate::plan::{delete_file, deletion_vector};
use crate::read::{PositionDeleteRows, read_deletion_vector};
use crate::spec::{DataContent, DataFile, ManifestContent, ManifestEntry, ManifestFile};

/// The rows of the delete files that are live in these manifests, file by file.
pub(super) fn positions(table: &Table, manifests: Vec<ManifestFile>) -> Rows {
    let of_deletes = manifests
        .into_iter()
        .filter(|manifest| manifest.content == ManifestContent::Deletes)
        .collect();
    let table = table.clone();
    file_rows::entries(table.clone(), of_deletes)
        .map_ok(|entries| stream::iter(entries.into_iter().map(Ok)))
        .try_flatten()
        .try_filter_map(|entry| async move { Ok(wanted(entry)) })
        .and_then(move |file| of_file(table.clone(), file))
        .try_flatten()
        .boxed()
}

fn wanted(entry: ManifestEntry) -> Option<DataFile> {
    let wanted = entry.is_live() && entry.data_file.content == DataContent::PositionDeletes;
    wanted.then_some(entry.data_file)
}

/// What all rows of a delete file have in common.
struct Common {
    partition: Value,
    spec_id: i32,
    delete_file_path: String,
    content_offset: Option<i64>,
    content_size_in_bytes: Option<i64>,
}

impl Common {
    fn row(&self, file_path: &str, position: impl Into<Value>) -> Row {
        row([
            ("file_path", json!(file_path)),
            ("pos", position.into()),
            ("partition", self.partition.clone()),
            ("spec_id", json!(self.spec_id)),
            ("delete_file_path", json!(self.delete_file_path)),
            ("content_offset", json!(self.content_offset)),
            ("content_size_in_bytes", json!(self.content_size_in_bytes)),
        ])
    }
}

async fn of_file(table: Table, file: DataFile) -> Result<Rows> {
    let common = Arc::new(Common {
        partition: file_rows::partition(table.metadata(), &file.partition),
        spec_id: file.partition.spec_id,
        delete_file_path: file.file_path.clone(),
        content_offset: file.content_offset,
        content_size_in_bytes: file.content_size_in_bytes,
    });
    if file.is_deletion_vector() {
        let (about, vector) = deletion_vector(file)?;
        let positions = read_deletion_vector(table.files(), &vector).await?;
        let rows = positions
            .into_iter()
            .map(move |position| Ok(common.row(&about, position)));
        return Ok(stream::iter(rows).boxed());
    }
    let opened = PositionDeleteRows::open(table.files(), &delete_file(file)).await?;
    let batches = stream::try_unfold(opened, |mut opened| async move {
        Ok(opened.next().await?.map(|rows| (rows, opened)))
    });
    Ok(batches
        .map_ok(move |rows| {
            let common = Arc::clone(&common);
            let rows = rows
                .into_iter()
                .map(move |(path, position)| Ok(common.row(&path, position)));
            stream::iter(rows)
        })
        .try_flatten()
        .boxed())
}
