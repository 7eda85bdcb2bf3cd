//! Delete files: positions in Parquet, and deletion vectors in Puffin files.
//! Spec: "Position Delete Files"; Puffin "`deletion-vector-v1` blob type".

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use roaring::RoaringTreemap;
use serde_json::json;

use super::parquet_file::parquet_of_arrays;

/// A position delete file of paths and positions, in the given order.
pub fn position_delete_file<'a>(rows: impl Iterator<Item = (&'a str, i64)> + Clone) -> Vec<u8> {
    let paths = StringArray::from_iter_values(rows.clone().map(|(path, _)| path));
    let positions = Int64Array::from_iter_values(rows.map(|(_, position)| position));
    parquet_of_arrays(&[
        (2_147_483_546, "file_path", Arc::new(paths) as ArrayRef),
        (2_147_483_545, "pos", Arc::new(positions)),
    ])
}

/// The blob of a deletion vector.
pub fn deletion_vector(positions: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let bitmap: RoaringTreemap = positions.into_iter().collect();
    let mut body = vec![0xD1, 0xD3, 0x39, 0x64];
    bitmap
        .serialize_into(&mut body)
        .expect("memory can be written to");
    let mut blob = (body.len() as u32).to_be_bytes().to_vec();
    blob.extend(&body);
    blob.extend(crc32fast::hash(&body).to_be_bytes());
    blob
}

/// A Puffin file of deletion vectors, each with the path of its data file and its cardinality, and where each starts.
pub fn puffin(vectors: &[(&str, usize, Vec<u8>)]) -> (Vec<u8>, Vec<usize>) {
    let mut file = b"PFA1".to_vec();
    let mut offsets = Vec::new();
    let mut blobs = Vec::new();
    for (path, cardinality, blob) in vectors {
        blobs.push(json!({
            "type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1,
            "offset": file.len(), "length": blob.len(),
            "properties": {"referenced-data-file": path, "cardinality": cardinality.to_string()},
        }));
        offsets.push(file.len());
        file.extend(blob);
    }
    let footer = json!({"blobs": blobs, "properties": {}}).to_string();
    file.extend(b"PFA1");
    file.extend(footer.as_bytes());
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(0_u32.to_le_bytes());
    file.extend(b"PFA1");
    (file, offsets)
}
