//! Puffin files: blobs of statistics and deletion vectors, and a footer that tells where they are.
//! Spec: "Puffin file format".

use std::collections::BTreeMap;
use std::io::Read;

use lz4_flex::frame::FrameDecoder;
use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};

/// How a file and its footer begin, and how both end.
const MAGIC: [u8; 4] = *b"PFA1";
/// Payload size, flags and magic at the end of a file.
pub const PUFFIN_TAIL_SIZE: usize = 12;
/// The bit of the first byte of the flags that says that the payload is compressed.
const COMPRESSED_PAYLOAD: u32 = 1;
/// More than any real payload has, however few bytes it is compressed to.
const MAX_PAYLOAD: u64 = 256 << 20;

/// What the footer of a Puffin file says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct PuffinFooter {
    /// The blobs, in the file's order.
    pub blobs: Vec<PuffinBlob>,
    /// What else the writer says of the file.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
}

/// Where a blob is and what it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PuffinBlob {
    /// What the blob holds, as `deletion-vector-v1`.
    #[serde(rename = "type")]
    pub blob_type: String,
    /// The columns that it was computed for.
    pub fields: Vec<i32>,
    /// The snapshot that it was computed from; -1 for deletion vectors.
    pub snapshot_id: i64,
    /// The sequence number of that snapshot; -1 for deletion vectors.
    pub sequence_number: i64,
    /// Where it starts, in bytes.
    pub offset: u64,
    /// Its length, in bytes.
    pub length: u64,
    /// How it is compressed, if it is: `lz4` or `zstd`.
    #[serde(default)]
    pub compression_codec: Option<String>,
    /// What else the writer says of it.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
}

impl PuffinFooter {
    /// How many bytes the footer has at the end of a file, by the last [`PUFFIN_TAIL_SIZE`] bytes
    /// of the file.
    ///
    /// # Errors
    /// `Corrupt`, without the file's name, for bytes that no Puffin file ends with.
    pub fn size(tail: &[u8]) -> Result<u64> {
        let (payload_size, _) = read_tail(tail)?;
        Ok(payload_size + (MAGIC.len() + PUFFIN_TAIL_SIZE) as u64)
    }

    /// Reads a footer from the bytes of a file's end, which may begin before it.
    ///
    /// # Errors
    /// `Corrupt`, without the file's name, where these bytes break the format, or a blob lies
    /// outside of a file of `file_size` bytes; `NotSupported` for flags that are unknown.
    pub fn parse(end: &[u8], file_size: u64) -> Result<Self> {
        let (_, flags) = read_tail(end)?;
        if flags & !COMPRESSED_PAYLOAD != 0 {
            return Err(Error::not_supported(format!(
                "the Puffin footer has unknown flags: {flags:#010x}"
            )));
        }
        let size = Self::size(end)?;
        let start = usize::try_from(size)
            .ok()
            .and_then(|size| end.len().checked_sub(size))
            .filter(|_| size.saturating_add(MAGIC.len() as u64) <= file_size)
            .ok_or_else(|| {
                corrupt(format!(
                    "it claims a footer of {size} bytes, which are not there"
                ))
            })?;
        let payload = end
            .get(start..)
            .and_then(|footer| footer.strip_prefix(&MAGIC))
            .and_then(|rest| rest.get(..rest.len().checked_sub(PUFFIN_TAIL_SIZE)?))
            .ok_or_else(|| corrupt("its footer does not begin with PFA1"))?;
        let footer: Self = if flags & COMPRESSED_PAYLOAD == 0 {
            parse_payload(payload)?
        } else {
            let mut plain = Vec::new();
            FrameDecoder::new(payload)
                .take(MAX_PAYLOAD + 1)
                .read_to_end(&mut plain)
                .map_err(|error| corrupt(format!("its footer cannot be unpacked: {error}")))?;
            if plain.len() as u64 > MAX_PAYLOAD {
                return Err(corrupt("its footer unpacks to more than 256 MB"));
            }
            parse_payload(&plain)?
        };
        let blobs_end = file_size.saturating_sub(size);
        for blob in &footer.blobs {
            let inside = blob.offset >= MAGIC.len() as u64
                && blob
                    .offset
                    .checked_add(blob.length)
                    .is_some_and(|end| end <= blobs_end);
            if !inside {
                return Err(corrupt(format!(
                    "a blob of {} bytes at byte {} lies outside of the file",
                    blob.length, blob.offset
                )));
            }
        }
        Ok(footer)
    }
}

/// The payload's size and the flags.
fn read_tail(end: &[u8]) -> Result<(u64, u32)> {
    let tail = end
        .last_chunk::<PUFFIN_TAIL_SIZE>()
        .ok_or_else(|| corrupt("it is too short"))?;
    let [s0, s1, s2, s3, f0, f1, f2, f3, magic @ ..] = *tail;
    if magic != MAGIC {
        return Err(corrupt("it does not end with PFA1"));
    }
    let size = i32::from_le_bytes([s0, s1, s2, s3]);
    let size = u64::try_from(size)
        .map_err(|_| corrupt(format!("it claims a footer payload of {size} bytes")))?;
    Ok((size, u32::from_le_bytes([f0, f1, f2, f3])))
}

fn parse_payload(payload: &[u8]) -> Result<PuffinFooter> {
    serde_json::from_slice(payload)
        .map_err(|error| corrupt(format!("its footer is no valid JSON of its kind: {error}")))
}

fn corrupt(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Corrupt, format!("no valid Puffin file: {what}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use lz4_flex::frame::FrameEncoder;

    use super::*;

    const PAYLOAD: &str = r#"{"blobs":[{"type":"apache-datasketches-theta-v1","fields":[3],
        "snapshot-id":7,"sequence-number":2,"offset":4,"length":5,"compression-codec":"zstd",
        "properties":{"ndv":"12"}}],"properties":{"created-by":"a test"}}"#;

    fn file(payload: &[u8], flags: u32) -> Vec<u8> {
        let mut file = b"PFA1blob!PFA1".to_vec();
        file.extend(payload);
        file.extend((payload.len() as u32).to_le_bytes());
        file.extend(flags.to_le_bytes());
        file.extend(b"PFA1");
        file
    }

    fn parse(file: &[u8]) -> Result<PuffinFooter> {
        PuffinFooter::parse(file, file.len() as u64)
    }

    fn compressed(payload: &[u8]) -> Vec<u8> {
        let mut encoder = FrameEncoder::new(Vec::new());
        encoder.write_all(payload).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_footer_tells_where_the_blobs_are() {
        for file in [
            file(PAYLOAD.as_bytes(), 0),
            file(&compressed(PAYLOAD.as_bytes()), 1),
        ] {
            let footer = parse(&file).unwrap();
            assert_eq!(footer.properties["created-by"], "a test");
            let [blob] = &footer.blobs[..] else {
                panic!("{footer:?}")
            };
            assert_eq!(blob.blob_type, "apache-datasketches-theta-v1");
            assert_eq!((blob.offset, blob.length), (4, 5));
            assert_eq!((blob.snapshot_id, blob.sequence_number), (7, 2));
            assert_eq!(blob.fields, [3]);
            assert_eq!(blob.compression_codec.as_deref(), Some("zstd"));
            assert_eq!(blob.properties["ndv"], "12");
            assert_eq!(&file[4..9], b"blob!");
            let size = PuffinFooter::size(&file).unwrap();
            // Only the footer is needed, not the whole file.
            let end = &file[file.len() - size as usize..];
            assert_eq!(PuffinFooter::parse(end, file.len() as u64).unwrap(), footer);
        }
    }

    #[test]
    fn broken_footers() {
        let good = file(PAYLOAD.as_bytes(), 0);
        let mut cases = vec![
            Vec::new(),
            b"PFA1".to_vec(),
            good[..good.len() - 1].to_vec(),
            file(b"{\"blobs\":3}", 0),
            file(b"{}", 0),
            file(
                PAYLOAD.replace("\"offset\":4", "\"offset\":5").as_bytes(),
                0,
            ),
            file(
                PAYLOAD.replace("\"offset\":4", "\"offset\":0").as_bytes(),
                0,
            ),
            file(
                PAYLOAD
                    .replace("\"length\":5", "\"length\":18446744073709551615")
                    .as_bytes(),
                0,
            ),
            file(
                PAYLOAD.replace("\"length\":5", "\"length\":-5").as_bytes(),
                0,
            ),
            file(PAYLOAD.as_bytes(), 1),
        ];
        let size = good.len();
        for claimed in [
            i32::MAX,
            -1,
            PAYLOAD.len() as i32 + 1,
            PAYLOAD.len() as i32 - 1,
        ] {
            let mut wrong = good.clone();
            wrong[size - 12..size - 8].copy_from_slice(&claimed.to_le_bytes());
            cases.push(wrong);
        }
        for case in cases {
            let error = parse(&case).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}: {case:?}");
        }
        let error = parse(&file(PAYLOAD.as_bytes(), 2)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported);
    }

    #[test]
    fn a_compressed_footer_unpacks_to_no_more_than_a_footer_may_have() {
        let bomb = compressed(&vec![b' '; MAX_PAYLOAD as usize + 1]);
        let error = parse(&file(&bomb, 1)).unwrap_err();
        assert!(error.message().contains("256 MB"), "{error}");
    }
}
