//! The time of day, on tokio's clock: when that is paused, so is this.

use jiff::Timestamp;
use tokio::time::Instant;

/// Tells the time. Clones tell the same.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    began: Timestamp,
    at: Instant,
}

impl Clock {
    /// By the system's clock as it is now, and from then on by tokio's.
    pub fn from_system() -> Self {
        Self::beginning(Timestamp::now())
    }

    /// Says that it is `began` now.
    pub fn beginning(began: Timestamp) -> Self {
        Self { began, at: Instant::now() }
    }

    pub fn now(&self) -> Timestamp {
        self.began.checked_add(self.at.elapsed()).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_goes_by_with_tokios() {
        let clock = Clock::beginning(Timestamp::UNIX_EPOCH);
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert_eq!(clock.now().as_second(), 90);
    }
}
