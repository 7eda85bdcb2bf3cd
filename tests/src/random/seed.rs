//! Chance that can be repeated: every choice of a run follows from one seed.
//! A table's choices do not depend on those of other tables, so one table can be made again alone.

/// A source of choices.
pub struct Chance(fastrand::Rng);

impl Chance {
    /// The choices of one part of a run.
    pub fn new(seed: u64, part: u64) -> Self {
        // Two neighbouring seeds must not have a part in common.
        let mixed =
            fastrand::Rng::with_seed(seed).u64(..) ^ part.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self(fastrand::Rng::with_seed(mixed))
    }

    /// True so many times of a hundred.
    pub fn percent(&mut self, share: u32) -> bool {
        self.0.u32(0..100) < share
    }

    /// A number below `end`; `end` is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.usize(0..end)
    }

    /// A number from `first` to `last`.
    pub fn between(&mut self, first: i64, last: i64) -> i64 {
        self.0.i64(first..=last)
    }

    /// Any number of 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Any number of 128 bits.
    pub fn wide_bits(&mut self) -> u128 {
        self.0.u128(..)
    }

    /// One of these; there is at least one.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// One of these words; there is at least one.
    pub fn word(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    /// Puts these in another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.0.shuffle(items);
    }
}
