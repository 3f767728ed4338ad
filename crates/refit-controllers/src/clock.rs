//! The time of day. Durations are tokio's: when its clock is paused, so is this one, if it was [begun](Clock::beginning).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Less than this is no step of the system's clock: two clocks cannot be read in one moment.
const STEP: Duration = Duration::from_secs(1);

/// Tells the time. Clones tell the same.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    source: Source,
    /// What durations are counted from.
    base: Instant,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// The system's clock, read each time: it is set, and goes on while the system sleeps.
    System,
    /// This time at `base`, and from then on tokio's.
    Counted { began: Timestamp },
}

/// By how much the time of day is ahead of what tokio has counted. It changes when the system's clock is set, and when
/// the system has slept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drift(SignedDuration);

impl Clock {
    /// By the system's clock.
    pub fn from_system() -> Self {
        Self { source: Source::System, base: Instant::now() }
    }

    /// Says that it is `began` now, and counts on by tokio's clock.
    pub fn beginning(began: Timestamp) -> Self {
        Self { source: Source::Counted { began }, base: Instant::now() }
    }

    pub fn now(&self) -> Timestamp {
        match self.source {
            Source::System => Timestamp::now(),
            Source::Counted { began } => began.checked_add(self.base.elapsed()).unwrap_or(Timestamp::MAX),
        }
    }

    pub fn drift(&self) -> Drift {
        let counted = SignedDuration::try_from(self.base.elapsed()).unwrap_or(SignedDuration::MAX);
        let passed = self.now().duration_since(Timestamp::UNIX_EPOCH);
        Drift(passed.saturating_sub(counted))
    }
}

impl Drift {
    /// By how much the system's clock was set forward since then; nothing if it was not.
    pub fn step_since(self, before: Self) -> Option<SignedDuration> {
        let step = self.0.saturating_sub(before.0);
        (step.unsigned_abs() >= STEP).then_some(step)
    }
}

/// What was this time before a step is that time after it: as long ago as it was.
pub fn shifted(time: Timestamp, step: SignedDuration) -> Timestamp {
    time.saturating_add(step).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_goes_by_with_tokios() {
        let clock = Clock::beginning(Timestamp::UNIX_EPOCH);
        let drift = clock.drift();
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert_eq!(clock.now().as_second(), 90);
        assert_eq!(clock.drift().step_since(drift), None);
    }

    /// Tokio's clock stands where the system's is set: to the process, that is all there is to see of it.
    #[tokio::test(start_paused = true)]
    async fn the_systems_clock_is_followed_when_it_is_set_and_when_the_system_slept() {
        let clock = Clock::from_system();
        let (before, drift) = (clock.now(), clock.drift());
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(
            clock.now().duration_since(before) < SignedDuration::from_mins(30),
            "an hour of sleep is no hour of day"
        );
        let step = clock.drift().step_since(drift).expect("tokio's clock went an hour forward alone");
        assert!(step < SignedDuration::from_mins(-30), "{step}");
        let (shifted, expected) = (shifted(before, step), before - SignedDuration::from_hours(1));
        assert!(shifted.duration_since(expected).abs() < SignedDuration::from_mins(30));
    }
}
