//! Whether a loop goes round. One that does not has met a lock that nobody gives back, or work that never yields.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How often a loop that has nothing to do beats.
pub const BEAT_EVERY: Duration = Duration::from_secs(5);
/// A loop that has not beaten for this long is stuck. Twelve beats: a busy machine is no reason to end a process.
pub const BEAT_LIMIT: Duration = Duration::from_secs(60);

/// The heart of one loop. Clones are the same. It can be asked whatever the loop is doing.
#[derive(Debug, Clone, Default)]
pub struct Heart(Arc<Mutex<Option<Instant>>>);

/// Beats until it is dropped: a loop that has ended is not stuck.
#[derive(Debug)]
pub struct Beating(Heart);

impl Heart {
    /// Begins to beat.
    pub fn start(&self) -> Beating {
        let beating = Beating(self.clone());
        beating.beat();
        beating
    }

    /// For how long a loop that has begun and not ended has not beaten, if that is longer than it may be.
    pub fn stuck_for(&self) -> Option<Duration> {
        let silent = self.last().map(|last| last.elapsed());
        silent.filter(|silent| *silent > BEAT_LIMIT)
    }

    fn last(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Beating {
    /// To be called on each round, at least every [`BEAT_EVERY`].
    pub fn beat(&self) {
        *self.0.last() = Some(Instant::now());
    }
}

impl Drop for Beating {
    fn drop(&mut self) {
        *self.0.last() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_loop_that_began_and_does_not_go_round_is_stuck() {
        let heart = Heart::default();
        tokio::time::sleep(BEAT_LIMIT * 2).await;
        assert_eq!(heart.stuck_for(), None, "it has not begun");
        let beating = heart.start();
        tokio::time::sleep(BEAT_LIMIT).await;
        assert_eq!(heart.stuck_for(), None, "it may be late");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(heart.stuck_for(), Some(BEAT_LIMIT + Duration::from_secs(1)));
        beating.beat();
        assert_eq!(heart.stuck_for(), None, "it goes round again");
        tokio::time::sleep(BEAT_LIMIT * 2).await;
        drop(beating);
        assert_eq!(heart.stuck_for(), None, "it has ended");
    }
}
