//! The updates of machines, kept across the calls that ask for them.
//!
//! A call starts the update of its machine, or finds the one that runs, and waits for it a little. The update goes on
//! when the call has been answered. What was done for a desired state is not done again when the same call comes
//! again; this is remembered for a while, and forgotten with the process.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use refit_api::hooks::RetryAfterSeconds;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::updater::MachineName;
use crate::{Progress, UpdateFailure};

/// How much is remembered, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The most updates at a time.
    pub running: usize,
    /// The most machines that are remembered.
    pub machines: usize,
    /// How long one update may take.
    pub update: Duration,
    /// How long a finished update is remembered. To do it once more is safe; to take it for done for ever is not,
    /// because another machine may get the same name.
    pub memory: Duration,
    /// When to ask again about an update that runs.
    pub poll: RetryAfterSeconds,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            running: 256,
            machines: 16_384,
            update: Duration::from_secs(60 * 60),
            memory: Duration::from_secs(10 * 60),
            poll: RetryAfterSeconds::new(5).expect("five seconds must be a time to wait"),
        }
    }
}

/// The hash of a desired state.
pub(crate) type StateHash = [u8; 32];

/// What is known about the updates of all machines.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    machines: Arc<Mutex<BTreeMap<MachineName, Entry>>>,
    limits: Limits,
}

#[derive(Debug)]
struct Entry {
    state: StateHash,
    phase: watch::Receiver<Phase>,
    words: watch::Receiver<String>,
    /// Whether a caller has got to know how it ended.
    told: bool,
}

/// Where an update is. It leaves `Running` once, and is over then.
#[derive(Debug, Clone)]
enum Phase {
    Running,
    Ended { result: Result<Progress, UpdateFailure>, at: Instant },
}

/// What is to be done about a call.
enum Next {
    Answer(Result<Progress, UpdateFailure>),
    Wait(watch::Receiver<Phase>, watch::Receiver<String>),
}

impl Ledger {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { machines: Arc::default(), limits }
    }

    /// How far the machine is on its way to the state. Starts `update` unless it runs or has been done.
    ///
    /// Waits no longer than `patience`; the update goes on afterwards.
    pub(crate) async fn advance<U, F>(
        &self,
        machine: &MachineName,
        state: StateHash,
        patience: Duration,
        update: U,
    ) -> Result<Progress, UpdateFailure>
    where
        U: FnOnce(watch::Sender<String>) -> F,
        F: Future<Output = Result<Progress, UpdateFailure>> + Send + 'static,
    {
        let (mut phase, words) = match self.next(machine, state, update) {
            Next::Answer(answer) => return answer,
            Next::Wait(phase, words) => (phase, words),
        };
        match tokio::time::timeout(patience, ended(&mut phase)).await {
            Ok(result) => {
                self.tell(machine, state);
                result
            }
            Err(_) => Ok(self.running(words.borrow().clone())),
        }
    }

    /// How many updates run.
    pub(crate) fn running_updates(&self) -> usize {
        self.lock().values().filter(|entry| entry.is_running()).count()
    }

    fn next<U, F>(&self, machine: &MachineName, state: StateHash, update: U) -> Next
    where
        U: FnOnce(watch::Sender<String>) -> F,
        F: Future<Output = Result<Progress, UpdateFailure>> + Send + 'static,
    {
        let mut machines = self.lock();
        if let Some(entry) = machines.get_mut(machine) {
            if entry.is_running() && entry.state != state {
                return Next::Answer(Ok(self.running("an earlier update of this machine is still running".to_owned())));
            }
            if let Some(next) = entry.next(state, self.limits.memory) {
                return next;
            }
            machines.remove(machine);
        }
        if machines.values().filter(|entry| entry.is_running()).count() >= self.limits.running {
            return Next::Answer(Ok(self.running("waiting for the updates of other machines".to_owned())));
        }
        make_room(&mut machines, self.limits.machines);
        let entry = start(state, self.limits.update, update);
        let next = Next::Wait(entry.phase.clone(), entry.words.clone());
        machines.insert(machine.clone(), entry);
        next
    }

    fn tell(&self, machine: &MachineName, state: StateHash) {
        let mut machines = self.lock();
        let entry = machines.get_mut(machine).filter(|entry| entry.state == state && !entry.is_running());
        if let Some(entry) = entry {
            entry.told = true;
        }
    }

    fn running(&self, words: String) -> Progress {
        let message = if words.is_empty() { "updating the machine".to_owned() } else { words };
        Progress::InProgress { message, retry_after: self.limits.poll }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<MachineName, Entry>> {
        // Nothing panics while it is held; and what is in it would be whole even so.
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn is_running(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Running)
    }

    /// What an update that is known already says to a call. None: it is to be run.
    fn next(&mut self, state: StateHash, memory: Duration) -> Option<Next> {
        if self.state != state {
            return None;
        }
        match self.phase.borrow().clone() {
            Phase::Running => Some(Next::Wait(self.phase.clone(), self.words.clone())),
            Phase::Ended { result: Ok(Progress::Done), at } if at.elapsed() < memory => {
                Some(Next::Answer(Ok(Progress::Done)))
            }
            Phase::Ended { result: Ok(Progress::Done), .. } => None,
            // Nobody was there to hear it when it ended.
            Phase::Ended { result, .. } if !self.told => {
                self.told = true;
                Some(Next::Answer(result))
            }
            Phase::Ended { .. } => None,
        }
    }
}

/// Starts the update as a task of its own, which no caller can cancel.
fn start<U, F>(state: StateHash, limit: Duration, update: U) -> Entry
where
    U: FnOnce(watch::Sender<String>) -> F,
    F: Future<Output = Result<Progress, UpdateFailure>> + Send + 'static,
{
    let (report, words) = watch::channel(String::new());
    let (end, phase) = watch::channel(Phase::Running);
    let update = AssertUnwindSafe(update(report)).catch_unwind();
    tokio::spawn(async move {
        let result = match tokio::time::timeout(limit, update).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(UpdateFailure::new("the extension panicked; its log says where")),
            Err(_) => Err(UpdateFailure(format!("the update has not ended within {} seconds", limit.as_secs()))),
        };
        end.send_replace(Phase::Ended { result, at: Instant::now() });
    });
    Entry { state, phase, words, told: false }
}

/// How the update ends. It can also end with the runtime that it runs on.
async fn ended(phase: &mut watch::Receiver<Phase>) -> Result<Progress, UpdateFailure> {
    let ended = phase.wait_for(|phase| matches!(phase, Phase::Ended { .. })).await;
    match ended.as_deref() {
        Ok(Phase::Ended { result, .. }) => result.clone(),
        Ok(Phase::Running) | Err(_) => Err(UpdateFailure::new("the extension is shutting down")),
    }
}

/// Forgets the update that ended longest ago when there are too many to remember.
fn make_room(machines: &mut BTreeMap<MachineName, Entry>, limit: usize) {
    if machines.len() < limit {
        return;
    }
    let ended_at = |entry: &Entry| match &*entry.phase.borrow() {
        Phase::Running => None,
        Phase::Ended { at, .. } => Some(*at),
    };
    let oldest = machines.iter().filter_map(|(name, entry)| Some((ended_at(entry)?, name.clone()))).min();
    if let Some((_, name)) = oldest {
        machines.remove(&name);
    }
}
