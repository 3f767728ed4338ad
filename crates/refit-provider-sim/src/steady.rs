//! When a watch that failed begins again.

use std::time::Duration;

use kube::runtime::utils::Backoff;

/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// The same pause after each failure: nothing here is left to chance.
pub struct Steady;

impl Iterator for Steady {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(PAUSE)
    }
}

impl Backoff for Steady {
    fn reset(&mut self) {}
}
