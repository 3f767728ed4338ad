//! How long a key that failed is left alone.

use std::time::Duration;

use crate::chance::Chance;

/// 2^30 times a tenth of a second is three years: beyond every limit, and the factor fits a number.
const MAX_DOUBLINGS: u32 = 30;

/// Delays that double with each failure in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure.
    pub first: Duration,
    /// Never longer.
    pub longest: Duration,
}

impl Default for Backoff {
    /// From a moment that outlasts a lost race, to one that finds a repaired world within five minutes.
    fn default() -> Self {
        Self { first: Duration::from_millis(100), longest: Duration::from_secs(300) }
    }
}

impl Backoff {
    /// The delay after `failures` earlier ones: between half of the full delay and all of it, so that keys that failed
    /// together do not come back together.
    pub fn delay(&self, failures: u32, chance: &Chance) -> Duration {
        let full = self.first.saturating_mul(1 << failures.min(MAX_DOUBLINGS)).min(self.longest);
        full.mul_f64(chance.fraction().mul_add(0.5, 0.5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_differ_by_at_most_half() {
        let (backoff, chance) = (Backoff::default(), Chance::from_seed(7));
        for (failures, full) in [(0, 0.1), (1, 0.2), (5, 3.2), (11, 204.8), (12, 300.0), (u32::MAX, 300.0)] {
            let delay = backoff.delay(failures, &chance).as_secs_f64();
            assert!(delay >= full / 2.0 && delay <= full, "{failures}: {delay}");
        }
    }
}
