//! Where in a file the rows of a batch are, when some between them have been passed over.
//! Spec: "Reserved Field IDs" (`_pos`), "Position Delete Files".

use std::ops::Range;

use arrow::buffer::BooleanBuffer;

/// The positions in a file of the rows of a batch, in the file's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RowPositions {
    /// None is empty, and each begins where the one before ends or later.
    ranges: Vec<Range<u64>>,
}

impl RowPositions {
    /// Rows that follow each other.
    pub(super) fn of(range: Range<u64>) -> Self {
        let mut positions = Self::default();
        positions.push(range);
        positions
    }

    /// Adds rows behind the others.
    fn push(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            self.ranges.push(range);
        }
    }

    /// The positions, as ranges.
    pub(super) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Rows by ranges that may follow each other but do not overlap, in the file's order.
    pub(super) fn of_ranges(ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        let mut positions = Self::default();
        ranges
            .into_iter()
            .for_each(|range| positions.append(Self::of(range)));
        positions
    }

    /// How many rows there are.
    pub(super) fn count(&self) -> u64 {
        self.ranges
            .iter()
            .map(|range| range.end - range.start)
            .sum()
    }

    /// Takes the first so many rows away, or all.
    pub(super) fn take_first(&mut self, rows: u64) -> Self {
        let mut taken = Self::default();
        let mut lacking = rows;
        let mut used = 0;
        for range in &mut self.ranges {
            let length = (range.end - range.start).min(lacking);
            taken.push(range.start..range.start + length);
            range.start += length;
            lacking -= length;
            if !range.is_empty() {
                break;
            }
            used += 1;
        }
        self.ranges.drain(..used);
        taken
    }

    /// The rows that are in both.
    pub(super) fn and(&self, other: &Self) -> Self {
        let (mut left, mut right) = (
            self.ranges.iter().peekable(),
            other.ranges.iter().peekable(),
        );
        let mut both = Vec::new();
        while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
            let range = one.start.max(two.start)..one.end.min(two.end);
            if !range.is_empty() {
                both.push(range);
            }
            if one.end <= two.end {
                left.next();
            } else {
                right.next();
            }
        }
        Self::of_ranges(both)
    }

    /// The rows that are in either.
    pub(super) fn or(&self, other: &Self) -> Self {
        let mut all: Vec<_> = self.ranges.iter().chain(&other.ranges).cloned().collect();
        all.sort_by_key(|range| range.start);
        let mut either: Vec<Range<u64>> = Vec::with_capacity(all.len());
        for range in all {
            match either.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => either.push(range),
            }
        }
        Self { ranges: either }
    }

    /// Adds rows behind the others.
    pub(super) fn append(&mut self, behind: Self) {
        for range in behind.ranges {
            match self.ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => self.push(range),
            }
        }
    }

    /// Whether any of the rows is in a range of positions.
    pub(super) fn any_in(&self, positions: &Range<u64>) -> bool {
        let at = self
            .ranges
            .partition_point(|range| range.end <= positions.start);
        self.ranges
            .get(at)
            .is_some_and(|range| range.start < positions.end)
    }

    /// The positions of those rows whose bits are set; there is a bit for each row.
    pub(super) fn kept(&self, kept: &BooleanBuffer) -> Self {
        let mut left = Self::default();
        let mut slices = kept.set_slices();
        let mut slice = slices.next();
        // How many rows lie before the range.
        let mut before = 0_u64;
        for range in &self.ranges {
            let behind = before + (range.end - range.start);
            while let Some((start, end)) = slice
                && (start as u64) < behind
            {
                let start = (start as u64).max(before);
                let until = (end as u64).min(behind);
                left.push(range.start + (start - before)..range.start + (until - before));
                if end as u64 > behind {
                    break;
                }
                slice = slices.next();
            }
            before = behind;
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(positions: &RowPositions) -> Vec<u64> {
        positions.ranges().iter().cloned().flatten().collect()
    }

    fn some_rows() -> impl Strategy<Value = RowPositions> {
        proptest::collection::vec((0..4_u64, 0..6_u64), 0..8).prop_map(|steps| {
            let mut next = 0;
            RowPositions::of_ranges(steps.into_iter().map(|(gap, length)| {
                let start = next + gap;
                next = start + length;
                start..next
            }))
        })
    }

    proptest! {
        #[test]
        fn sets_of_rows(left in some_rows(), right in some_rows(), rows in 0..30_u64) {
            let (one, two) = (all(&left), all(&right));
            let both: Vec<_> = one.iter().copied().filter(|row| two.contains(row)).collect();
            let either: std::collections::BTreeSet<_> = one.iter().chain(&two).copied().collect();
            prop_assert_eq!(all(&left.and(&right)), both);
            prop_assert_eq!(all(&left.or(&right)), either.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(left.count(), one.len() as u64);
            let mut rest = left.clone();
            let mut first = rest.take_first(rows);
            prop_assert_eq!(first.count(), rows.min(left.count()));
            first.append(rest);
            prop_assert_eq!(first, left.clone());
            for start in 0..20 {
                let expected = one.iter().any(|row| (start..start + 2).contains(row));
                prop_assert_eq!(left.any_in(&(start..start + 2)), expected);
            }
        }

        #[test]
        fn kept_rows_have_their_positions(
            steps in proptest::collection::vec((0..4_u64, 0..6_u64), 0..8),
            seed in proptest::collection::vec(any::<bool>(), 40),
        ) {
            let mut positions = RowPositions::default();
            let mut next = 0;
            for (gap, length) in steps {
                positions.push(next + gap..next + gap + length);
                next += gap + length;
            }
            let before = all(&positions);
            let kept: BooleanBuffer = seed.into_iter().take(before.len()).collect();
            let expected: Vec<u64> = before
                .iter()
                .zip(kept.iter())
                .filter_map(|(position, kept)| kept.then_some(*position))
                .collect();
            prop_assert_eq!(all(&positions.kept(&kept)), expected);
        }
    }
}
