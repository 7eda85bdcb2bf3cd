//! Large files in parts, so that several readers can share one.
//! Spec: "Data File Fields" (`split_offsets`).

use super::FileScanTask;
use crate::spec::FileFormat;

/// The most parts of a file: each reader of a part reads the file's metadata again.
const MAX_PARTS: u64 = 1024;

impl FileScanTask {
    /// Tasks for parts of the file that have about so many bytes, in the file's order: each row group or stripe is
    /// in exactly one. The file is split where its writer says that it can be, or else evenly.
    pub fn split(&self, part_bytes: u64) -> Vec<Self> {
        let starts = self.starts(part_bytes);
        if starts.len() == 1 {
            return vec![self.clone()];
        }
        // What the manifest says of the size may be wrong: the last part has no end.
        let ends = starts.iter().skip(1).copied().chain([u64::MAX]);
        starts
            .iter()
            .zip(ends)
            .map(|(start, end)| Self {
                part: Some(*start..end),
                ..self.clone()
            })
            .collect()
    }

    /// How many parts [`FileScanTask::split`] makes.
    pub fn parts(&self, part_bytes: u64) -> usize {
        self.starts(part_bytes).len()
    }

    /// Where the parts begin; at least one.
    fn starts(&self, part_bytes: u64) -> Vec<u64> {
        let part_bytes = part_bytes.max(self.file_size / MAX_PARTS).max(1);
        // An Avro file can only be read from its start.
        let has_units = matches!(self.format, FileFormat::Parquet | FileFormat::Orc);
        if !has_units || self.part.is_some() || self.file_size <= part_bytes {
            return vec![0];
        }
        let mut starts = vec![0];
        for boundary in self.boundaries(part_bytes) {
            if starts
                .last()
                .is_some_and(|start| boundary - start >= part_bytes)
            {
                starts.push(boundary);
            }
        }
        starts
    }

    /// Ascending places within the file where it can be split.
    fn boundaries(&self, part_bytes: u64) -> Vec<u64> {
        let offsets: Option<Vec<u64>> = self
            .split_offsets
            .iter()
            .map(|offset| u64::try_from(*offset).ok())
            .collect();
        match offsets {
            Some(offsets)
                if !offsets.is_empty()
                    && offsets.is_sorted_by(|one, next| one < next)
                    && offsets.iter().all(|offset| *offset < self.file_size) =>
            {
                offsets
            }
            _ => (1..self.file_size.div_ceil(part_bytes))
                .map(|part| part * part_bytes)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::RawPath;

    fn parts(file: &FileScanTask, part_bytes: u64) -> Vec<(u64, u64)> {
        file.split(part_bytes)
            .into_iter()
            .map(|task| {
                task.part
                    .map_or((0, u64::MAX), |part| (part.start, part.end))
            })
            .collect()
    }

    fn file(format: FileFormat, split_offsets: &[i64]) -> FileScanTask {
        FileScanTask {
            split_offsets: split_offsets.to_vec(),
            ..FileScanTask::whole_file(RawPath("f".to_owned()), format, 100, Some(10))
        }
    }

    #[test]
    fn files_are_split_where_their_writers_say() {
        let parquet = file(FileFormat::Parquet, &[4, 30, 60, 90]);
        assert_eq!(
            parts(&parquet, 1),
            [(0, 4), (4, 30), (30, 60), (60, 90), (90, u64::MAX)]
        );
        assert_eq!(parts(&parquet, 50), [(0, 60), (60, u64::MAX)]);
        assert_eq!(parts(&parquet, 100), [(0, u64::MAX)]);
    }

    #[test]
    fn files_without_usable_offsets_are_split_evenly() {
        for offsets in [&[][..], &[30, 4], &[4, 4], &[-4, 30], &[4, 200]] {
            let orc = file(FileFormat::Orc, offsets);
            assert_eq!(parts(&orc, 40), [(0, 40), (40, 80), (80, u64::MAX)]);
        }
    }

    #[test]
    fn an_avro_file_stays_whole() {
        assert_eq!(parts(&file(FileFormat::Avro, &[4, 30]), 1), [(0, u64::MAX)]);
    }
}
