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

    proptest! {
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
