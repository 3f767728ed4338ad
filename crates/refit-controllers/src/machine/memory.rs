//! What this process has found out about Machines, and nobody else can know.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::SignedDuration;
use refit_plan::machine::{Answer, Drain, Quiet, Volumes};

use crate::cache::ObjectKey;
use crate::clock::{Clock, Drift, shifted};

/// What is remembered of one Machine.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// Whose it is: another Machine of the same name begins with nothing.
    pub uid: Option<String>,
    pub drain: Option<Drain>,
    pub volumes: Option<Volumes>,
    pub node_deletion_error: Option<String>,
    pub answer: Option<Answer>,
    /// What the status does not say, because it will pass by itself.
    pub quiet: Option<Quiet>,
    /// Of the clock that the times are by.
    drift: Option<Drift>,
}

impl Memory {
    /// Keeps everything as long ago as it was when the system's clock is set.
    fn follow(&mut self, drift: Drift) {
        let step = self.drift.replace(drift).and_then(|before| drift.step_since(before));
        step.into_iter().for_each(|step| self.shift(step));
    }

    fn shift(&mut self, step: SignedDuration) {
        self.drain.iter_mut().for_each(|drain| drain.at = shifted(drain.at, step));
        self.volumes.iter_mut().for_each(|volumes| volumes.at = shifted(volumes.at, step));
        self.answer.iter_mut().for_each(|answer| answer.at = shifted(answer.at, step));
        self.quiet.iter_mut().for_each(|quiet| quiet.since = shifted(quiet.since, step));
    }
}

/// What is remembered of all Machines that are there.
#[derive(Debug)]
pub(super) struct Memories {
    clock: Clock,
    all: Mutex<BTreeMap<ObjectKey, Memory>>,
}

impl Memories {
    /// Nothing is remembered yet.
    pub fn new(clock: Clock) -> Self {
        Self { clock, all: Mutex::default() }
    }

    /// What is remembered of this Machine.
    pub fn of(&self, key: &ObjectKey, uid: Option<&String>) -> Memory {
        let known = self.all().get(key).filter(|memory| memory.uid.as_ref() == uid).cloned();
        let mut memory = known.unwrap_or_else(|| Memory { uid: uid.cloned(), ..Memory::default() });
        memory.follow(self.clock.drift());
        memory
    }

    /// Remembers something.
    pub fn note(&self, key: &ObjectKey, uid: Option<&String>, change: impl FnOnce(&mut Memory)) {
        let mut memory = self.of(key, uid);
        change(&mut memory);
        self.all().insert(key.clone(), memory);
    }

    /// The Machine is gone.
    pub fn forget(&self, key: &ObjectKey) {
        self.all().remove(key);
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Memory>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use refit_plan::machine::DrainState;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_found_out_a_moment_ago_is_a_moment_old_after_the_clock_was_set() {
        let memories = Memories::new(Clock::from_system());
        let key = ObjectKey::new("default", "m");
        let drain = Drain { at: Timestamp::now(), state: DrainState::Done };
        memories.note(&key, None, |memory| memory.drain = Some(drain));
        // To the process, an hour of tokio's clock that the system's has not seen is the system's clock set back.
        tokio::time::advance(std::time::Duration::from_secs(3600)).await;
        let at = memories.of(&key, None).drain.expect("it must be remembered").at;
        let age = Timestamp::now().duration_since(at);
        assert!((age - SignedDuration::from_hours(1)).abs() < SignedDuration::from_mins(30), "{age}");
    }
}
