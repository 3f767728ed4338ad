//! What to look at next: first come, first served, each once, none twice at a time; and what to look at later.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

/// The pause after the first failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// 50 ms doubled ten times is 51 s.
const MAX_DOUBLINGS: u32 = 10;

/// Keys in order. All timers are in one map, whatever their number.
#[derive(Debug)]
pub struct Queue<K> {
    ready: VecDeque<K>,
    /// What is in `ready`.
    queued: BTreeSet<K>,
    running: BTreeSet<K>,
    /// What was asked for while it was running.
    again: BTreeSet<K>,
    timers: BTreeSet<(Instant, K)>,
    /// The one timer of a key.
    due: BTreeMap<K, Instant>,
    failures: BTreeMap<K, u32>,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self {
            ready: VecDeque::new(),
            queued: BTreeSet::new(),
            running: BTreeSet::new(),
            again: BTreeSet::new(),
            timers: BTreeSet::new(),
            due: BTreeMap::new(),
            failures: BTreeMap::new(),
        }
    }
}

/// What came of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing more to do until something changes.
    Done,
    /// To be looked at again after this time.
    After(Duration),
    /// To be tried again, after a pause that grows.
    Failed,
}

impl<K: Ord + Clone> Queue<K> {
    /// Asks for a look as soon as it is its turn.
    pub fn add(&mut self, key: K) {
        if self.running.contains(&key) {
            self.again.insert(key);
        } else if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// The next key to look at.
    pub fn take(&mut self, now: Instant) -> Option<K> {
        self.wake(now);
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        self.cancel(&key);
        self.running.insert(key.clone());
        Some(key)
    }

    /// Says what came of a key that was taken.
    pub fn finish(&mut self, key: K, verdict: Verdict, now: Instant) {
        self.running.remove(&key);
        let pause = match verdict {
            Verdict::Failed => {
                let count = self.failures.entry(key.clone()).or_default();
                *count += 1;
                Some(FIRST_PAUSE * 2_u32.pow((*count - 1).min(MAX_DOUBLINGS)))
            }
            Verdict::After(pause) => {
                self.failures.remove(&key);
                Some(pause)
            }
            Verdict::Done => {
                self.failures.remove(&key);
                None
            }
        };
        if self.again.remove(&key) {
            self.add(key);
        } else if let Some(time) = pause.and_then(|pause| now.checked_add(pause)) {
            self.due.insert(key.clone(), time);
            self.timers.insert((time, key));
        }
    }

    /// When the first timer ends.
    pub fn next_due(&self) -> Option<Instant> {
        self.timers.first().map(|(time, _)| *time)
    }

    fn wake(&mut self, now: Instant) {
        while self.next_due().is_some_and(|due| due <= now) {
            let Some((_, key)) = self.timers.pop_first() else { break };
            self.due.remove(&key);
            self.add(key);
        }
    }

    fn cancel(&mut self, key: &K) {
        if let Some(time) = self.due.remove(key) {
            self.timers.remove(&(time, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_looked_at_twice_at_a_time() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.add("a");
        queue.add("a");
        queue.add("b");
        assert_eq!(queue.take(now), Some("a"));
        queue.add("a");
        assert_eq!((queue.take(now), queue.take(now)), (Some("b"), None));
        queue.finish("a", Verdict::Done, now);
        assert_eq!((queue.take(now), queue.take(now)), (Some("a"), None));
    }

    #[test]
    fn timers_fire_once_and_what_comes_sooner_wins() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        let later = now + Duration::from_secs(5);
        for key in ["a", "b"] {
            queue.add(key);
            queue.take(now);
            queue.finish(key, Verdict::After(Duration::from_secs(5)), now);
        }
        queue.add("a");
        assert_eq!((queue.take(now), queue.take(now)), (Some("a"), None));
        queue.finish("a", Verdict::Done, now);
        assert_eq!((queue.next_due(), queue.take(later), queue.take(later)), (Some(later), Some("b"), None));
        queue.finish("b", Verdict::Done, later);
        assert_eq!(queue.next_due(), None);
    }

    #[test]
    fn pauses_grow_with_failures_up_to_a_bound() {
        let (mut queue, mut now) = (Queue::default(), Instant::now());
        let mut pauses = Vec::new();
        queue.add("a");
        for _ in 0..13 {
            assert_eq!(queue.take(now), Some("a"));
            queue.finish("a", Verdict::Failed, now);
            let due = queue.next_due().expect("it must be tried again");
            pauses.push((due - now).as_millis());
            now = due;
        }
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 51200, 51200]);
    }
}
