//! What is to be worked on when: a plain value, to which the time is given.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tokio::time::Instant;

/// The keys of a queue. A key that nobody waits for and that has no failures takes no room.
#[derive(Debug)]
pub(super) struct Schedule<K> {
    entries: BTreeMap<K, Entry>,
    /// In the order of their turn.
    ready: VecDeque<K>,
    /// By their time, and in the order in which they were added.
    delayed: BTreeSet<(Instant, u64, K)>,
    added: u64,
    /// Until when keys that have had their turn have none.
    resting: Resting<K>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    state: State,
    /// Where it is in `delayed`.
    due: Option<(Instant, u64)>,
    /// In a row.
    failures: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nobody works on it. Its time leads out, or somebody who adds it.
    Idle,
    /// It waits for its turn, which leads out.
    Ready { since: Instant },
    /// Somebody works on it; the end of that leads out.
    Running {
        /// Since when it is to be worked on once more, if it was added meanwhile.
        again: Option<Instant>,
    },
}

impl<K> Default for Schedule<K> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            ready: VecDeque::new(),
            delayed: BTreeSet::new(),
            added: 0,
            resting: Resting::default(),
        }
    }
}

impl<K: Ord + Clone> Schedule<K> {
    /// Whether this gave it a turn that it did not have. A key that rests has it afterwards.
    pub fn add(&mut self, key: K, now: Instant) -> bool {
        if let Some(until) = self.resting.until(&key).filter(|until| now < *until && self.is_idle(&key)) {
            return self.add_at(key, until, now);
        }
        self.cancel(&key);
        let entry = self.entries.entry(key.clone()).or_insert(Entry::IDLE);
        match &mut entry.state {
            State::Ready { .. } | State::Running { again: Some(_) } => return false,
            State::Running { again } => *again = Some(now),
            State::Idle => {
                entry.state = State::Ready { since: now };
                self.ready.push_back(key);
            }
        }
        true
    }

    /// The same at a later time; the earliest wins.
    pub fn add_at(&mut self, key: K, at: Instant, now: Instant) -> bool {
        let at = self.resting.until(&key).map_or(at, |until| at.max(until));
        if at <= now {
            return self.add(key, now);
        }
        let entry = self.entries.entry(key.clone()).or_insert(Entry::IDLE);
        let is_sooner = matches!(entry.state, State::Ready { .. } | State::Running { again: Some(_) })
            || entry.due.is_some_and(|(due, _)| due <= at);
        if !is_sooner {
            self.cancel(&key);
            self.added += 1;
            self.entries.entry(key.clone()).or_insert(Entry::IDLE).due = Some((at, self.added));
            self.delayed.insert((at, self.added, key));
        }
        false
    }

    /// Adds those whose time has come. Gives how many.
    pub fn promote(&mut self, now: Instant) -> usize {
        self.resting.end(now);
        let due = self.delayed.iter().take_while(|(due, _, _)| *due <= now).map(|(_, _, key)| key.clone()).collect();
        self.release(due, now)
    }

    /// Adds all, whose time has come or not: nobody knows what time it is any more. Gives how many.
    pub fn hurry(&mut self, now: Instant) -> usize {
        let all = self.delayed.iter().map(|(_, _, key)| key.clone()).collect();
        self.release(all, now)
    }

    /// They leave `delayed` first, each once. One that rests goes back in, to a time that has not come.
    fn release(&mut self, keys: Vec<K>, now: Instant) -> usize {
        keys.iter().for_each(|key| self.cancel(key));
        keys.into_iter().map(|key| usize::from(self.add(key, now))).sum()
    }

    /// The key whose turn it is, and since when it waited.
    pub fn take(&mut self) -> Option<(K, Instant)> {
        let key = self.ready.pop_front()?;
        let entry = self.entries.get_mut(&key).expect("a key that waits must have an entry");
        let State::Ready { since } = entry.state else { unreachable!("a key that waits must be ready") };
        entry.state = State::Running { again: None };
        Some((key, since))
    }

    /// Ends the work on a key. Whether it waits for its turn again.
    pub fn finish(&mut self, key: &K, has_failed: bool, again_at: Option<Instant>, now: Instant) -> bool {
        let Some(entry) = self.entries.get_mut(key) else { return false };
        let again = match entry.state {
            State::Running { again } => again,
            State::Idle | State::Ready { .. } => return false,
        };
        entry.failures = if has_failed { entry.failures.saturating_add(1) } else { 0 };
        entry.state = State::Idle;
        if again.is_some() && self.resting.until(key).is_some_and(|until| now < until) {
            return self.add(key.clone(), now);
        }
        if let Some(since) = again {
            entry.state = State::Ready { since };
            self.ready.push_back(key.clone());
        } else if let Some(at) = again_at {
            return self.add_at(key.clone(), at, now);
        } else if entry.due.is_none() && entry.failures == 0 {
            self.entries.remove(key);
        }
        false
    }

    /// Gives the key no turn before this time, whoever asks for it.
    pub fn rest(&mut self, key: K, until: Instant) {
        self.resting.begin(key, until);
    }

    /// How often in a row it failed.
    pub fn failures(&self, key: &K) -> u32 {
        self.entries.get(key).map_or(0, |entry| entry.failures)
    }

    pub fn next_due(&self) -> Option<Instant> {
        self.delayed.first().map(|(due, _, _)| *due)
    }

    pub fn depth(&self) -> usize {
        self.ready.len()
    }

    /// How many keys take room.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn is_idle(&self, key: &K) -> bool {
        self.entries.get(key).is_none_or(|entry| entry.state == State::Idle)
    }

    fn cancel(&mut self, key: &K) {
        if let Some((at, number)) = self.entries.get_mut(key).and_then(|entry| entry.due.take()) {
            self.delayed.remove(&(at, number, key.clone()));
        }
    }
}

/// The keys that have no turn before a time.
#[derive(Debug)]
struct Resting<K> {
    until: BTreeMap<K, Instant>,
    ends: BTreeSet<(Instant, K)>,
}

impl<K> Default for Resting<K> {
    fn default() -> Self {
        Self { until: BTreeMap::new(), ends: BTreeSet::new() }
    }
}

impl<K: Ord + Clone> Resting<K> {
    fn until(&self, key: &K) -> Option<Instant> {
        self.until.get(key).copied()
    }

    fn begin(&mut self, key: K, until: Instant) {
        if let Some(before) = self.until.insert(key.clone(), until) {
            self.ends.remove(&(before, key.clone()));
        }
        self.ends.insert((until, key));
    }

    /// Forgets those whose time has come.
    fn end(&mut self, now: Instant) {
        while self.ends.first().is_some_and(|(until, _)| *until <= now) {
            if let Some((_, key)) = self.ends.pop_first() {
                self.until.remove(&key);
            }
        }
    }
}

impl Entry {
    const IDLE: Self = Self { state: State::Idle, due: None, failures: 0 };
}
