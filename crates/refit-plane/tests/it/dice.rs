//! Chance from a seed.

use std::time::Duration;

/// SplitMix64: small, and the same on every machine.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Dice of their own, for somebody who throws at the same time.
    pub fn split(&mut self) -> Self {
        Self(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`, which is above zero.
    pub fn below(&mut self, sides: usize) -> usize {
        let sides = u64::try_from(sides.max(1)).expect("a usize must fit");
        usize::try_from(self.next() % sides).expect("it must be below a usize")
    }

    pub fn one_in(&mut self, sides: usize) -> bool {
        self.below(sides) == 0
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// A time up to this many milliseconds.
    pub fn up_to_millis(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.next() % most.max(1))
    }
}
