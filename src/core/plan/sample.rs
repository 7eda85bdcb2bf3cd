//! A sample of a scan: whole row groups drawn from all files, no more than are needed.
//! Nothing in the spec.

use super::{FileScanTask, ScanPlan};

/// About how large the parts of files are that are drawn, in bytes: a row group or a few.
const PART_BYTES: u64 = 8 << 20;
/// So many rows are drawn for each one that is wanted: neighbours in a file are often alike.
const ROWS_EACH: u64 = 10;
/// No fewer parts are drawn, if there are so many.
const LEAST_PARTS: usize = 16;
/// After so many bytes of files no more parts are drawn.
const MOST_BYTES: f64 = (512 << 20) as f64;

/// Parts of files that were drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The parts, in the order of the plan.
    pub tasks: Vec<FileScanTask>,
    /// How many parts there are in all.
    pub parts: usize,
    /// About what share of all bytes they have: 1 if all were drawn.
    pub share: f64,
}

impl Sample {
    /// Draws parts, each as likely as any other, until they have about enough rows that so many can be chosen of
    /// them. `random` gives a number below the one that it is asked with.
    pub fn draw(plan: &ScanPlan, wanted_rows: u64, mut random: impl FnMut(usize) -> usize) -> Self {
        let mut parts: Vec<(usize, usize)> = Vec::new();
        for (number, task) in plan.tasks.iter().enumerate() {
            parts.extend((0..task.parts(PART_BYTES)).map(|part| (number, part)));
        }
        let all = parts.len();
        let (mut rows, mut bytes) = (0.0, 0.0);
        let mut drawn = 0;
        while drawn < all {
            let has_rows = rows >= wanted_rows.saturating_mul(ROWS_EACH) as f64;
            if has_rows && drawn >= LEAST_PARTS || bytes >= MOST_BYTES {
                break;
            }
            parts.swap(drawn, drawn + random(all - drawn).min(all - drawn - 1));
            if let Some(task) = parts.get(drawn).and_then(|(task, _)| plan.tasks.get(*task)) {
                let share = 1.0 / task.parts(PART_BYTES) as f64;
                rows += task.record_count.unwrap_or(0) as f64 * share;
                bytes += task.file_size as f64 * share;
            }
            drawn += 1;
        }
        parts.truncate(drawn);
        parts.sort_unstable();
        let tasks = parts.iter().filter_map(|(task, part)| {
            let mut parts = plan.tasks.get(*task)?.split(PART_BYTES);
            (*part < parts.len()).then(|| parts.swap_remove(*part))
        });
        Self {
            tasks: tasks.collect(),
            parts: all,
            share: match drawn == all {
                true => 1.0,
                false => (bytes / plan.total_bytes.max(1) as f64).clamp(f64::MIN_POSITIVE, 1.0),
            },
        }
    }

    /// Whether nothing was left out.
    pub fn is_whole(&self) -> bool {
        self.tasks.len() == self.parts
    }

    /// How many rows the whole of the plan has and how many are deleted, if reading the sample gave `seen` rows and
    /// left `deleted` ones out.
    pub fn totals(&self, plan: &ScanPlan, seen: u64, deleted: u64) -> (f64, f64) {
        let (seen, deleted) = (seen as f64, deleted as f64);
        let stored = match plan.records {
            Some(records) if !self.is_whole() => records as f64,
            _ => (seen + deleted) / self.share,
        };
        if self.is_whole() {
            return (seen, deleted);
        }
        let live = match seen + deleted > 0.0 {
            true => seen / (seen + deleted),
            false => 1.0,
        };
        (stored * live, stored * (1.0 - live))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::FileFormat;
    use crate::storage::RawPath;

    fn plan(files: usize, records: u64, size: u64) -> ScanPlan {
        let file = |number| {
            let path = RawPath(format!("file-{number}"));
            FileScanTask::whole_file(path, FileFormat::Parquet, size, Some(records))
        };
        ScanPlan {
            tasks: (0..files).map(file).collect(),
            records: Some(records * files as u64),
            total_bytes: size * files as u64,
            ..ScanPlan::default()
        }
    }

    /// Numbers that are random enough.
    fn generator() -> impl FnMut(usize) -> usize {
        let mut state = 7_u64;
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        }
    }

    #[test]
    fn a_small_table_is_drawn_whole() {
        let plan = plan(20, 100, 1000);
        let sample = Sample::draw(&plan, 300, generator());
        assert_eq!(sample.tasks, plan.tasks);
        assert!(sample.is_whole());
        assert_eq!(sample.totals(&plan, 1900, 100), (1900.0, 100.0));
        let empty = ScanPlan {
            records: Some(0),
            ..ScanPlan::default()
        };
        let nothing = Sample::draw(&empty, 300, generator());
        assert_eq!(nothing.totals(&empty, 0, 0), (0.0, 0.0));
    }

    #[test]
    fn of_a_large_table_enough_is_drawn_and_no_more() {
        let plan = plan(10_000, 1000, 4 << 20);
        let sample = Sample::draw(&plan, 3_000, generator());
        assert_eq!(sample.tasks.len(), 30);
        let places: Vec<_> = sample.tasks.iter().map(|task| &task.path).collect();
        let mut distinct = places.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 30);
        // From all of it, not only from its beginning.
        let from_the_second_half = plan.tasks[5_000..]
            .iter()
            .filter(|task| places.contains(&&task.path))
            .count();
        assert!(
            (5..=25).contains(&from_the_second_half),
            "{from_the_second_half}"
        );
        // A tenth of what was read is deleted.
        let (rows, deleted) = sample.totals(&plan, 27_000, 3_000);
        assert_eq!((rows.round(), deleted.round()), (9e6, 1e6));
    }

    #[test]
    fn large_files_are_drawn_in_parts_and_bytes_are_limited() {
        let plan = plan(4, 1_000_000_000, 1 << 30);
        let sample = Sample::draw(&plan, 1, generator());
        assert_eq!(sample.parts, 512);
        assert_eq!(sample.tasks.len(), LEAST_PARTS);
        let wide = Sample::draw(&plan, u64::MAX, generator());
        assert_eq!(wide.tasks.len(), 64);
    }

    #[test]
    fn unknown_numbers_of_rows_are_reckoned_from_what_was_read() {
        let mut plan = plan(1_000, 0, 8 << 20);
        plan.records = None;
        plan.tasks
            .iter_mut()
            .for_each(|task| task.record_count = None);
        let sample = Sample::draw(&plan, 300, generator());
        assert_eq!(sample.tasks.len(), 64);
        let (rows, deleted) = sample.totals(&plan, 6_400, 0);
        assert!((rows - 100_000.0).abs() < 1.0, "{rows}");
        assert_eq!(deleted, 0.0);
    }
}
