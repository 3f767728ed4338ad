//! Answers that are still good.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use refit_plan::coverage::{ContentHash, Reply};
use tokio::time::Instant;

/// How long an answer is good. An extension can be replaced by a newer one without anything in the API to tell; after
/// this time that is noticed. As long as upstream takes between two looks at everything.
pub const ANSWER_LIFETIME: Duration = Duration::from_mins(10);
/// How long an answer is good that did not settle the change: nobody covers all of it, or a patch was wrong. Whoever mends an
/// extension, or waits whether an answer lasts, is to see another one. Below the time after which it is asked again.
pub const UNSETTLED_LIFETIME: Duration = Duration::from_secs(10);
/// How many answers are remembered. A rollout needs one per MachineSet or control-plane machine and extension.
pub const MAX_ANSWERS: usize = 4096;
/// The largest answer that is remembered: room for the patch of a bootstrap config with all of its files.
pub const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// How much all answers take together, 64 MiB. Below 16 KiB each, their number is what counts.
pub const MAX_MEMORY_BYTES: usize = 64 * MAX_ANSWER_BYTES;

/// The answers to CanUpdate*, by the content of everything that they depend on. Only successful ones come here.
#[derive(Default)]
pub(super) struct Memory {
    answers: Mutex<Answers>,
}

/// The plain value inside: no clock of its own.
#[derive(Default)]
struct Answers {
    entries: BTreeMap<ContentHash, Entry>,
    /// Who goes first: by the time until which they are good, and by number for those of one moment.
    by_end: BTreeMap<(Instant, u64), ContentHash>,
    next_number: u64,
    /// What all of them take together.
    bytes: usize,
}

struct Entry {
    reply: Reply,
    bytes: usize,
    end: (Instant, u64),
}

impl Memory {
    pub fn get(&self, key: &ContentHash, now: Instant) -> Option<Reply> {
        self.lock().get(key, now)
    }

    /// Remembers a reply of this size, unless it is too large.
    pub fn put(&self, key: ContentHash, reply: Reply, bytes: usize, now: Instant) {
        if bytes <= MAX_ANSWER_BYTES {
            self.lock().put(key, reply, bytes, now);
        }
    }

    /// These did not settle the change: they are not good for long.
    pub fn shorten(&self, keys: &[ContentHash], now: Instant) {
        let mut answers = self.lock();
        keys.iter().for_each(|key| answers.shorten(key, now + UNSETTLED_LIFETIME));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers {
    fn get(&mut self, key: &ContentHash, now: Instant) -> Option<Reply> {
        self.forget_old(now);
        self.entries.get(key).map(|entry| entry.reply.clone())
    }

    fn put(&mut self, key: ContentHash, reply: Reply, bytes: usize, now: Instant) {
        self.forget_old(now);
        self.forget(&key);
        while self.entries.len() >= MAX_ANSWERS || self.bytes + bytes > MAX_MEMORY_BYTES {
            self.forget_oldest();
        }
        let end = (now + ANSWER_LIFETIME, self.next_number);
        self.next_number += 1;
        self.bytes += bytes;
        self.by_end.insert(end, key.clone());
        self.entries.insert(key, Entry { reply, bytes, end });
    }

    fn shorten(&mut self, key: &ContentHash, to: Instant) {
        let Some(entry) = self.entries.get_mut(key).filter(|entry| entry.end.0 > to) else { return };
        self.by_end.remove(&entry.end);
        entry.end = (to, entry.end.1);
        self.by_end.insert(entry.end, key.clone());
    }

    fn forget_old(&mut self, now: Instant) {
        while self.by_end.first_key_value().is_some_and(|((end, _), _)| *end <= now) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(key) = self.by_end.first_key_value().map(|(_, key)| key.clone()) {
            self.forget(&key);
        }
    }

    fn forget(&mut self, key: &ContentHash) {
        if let Some(entry) = self.entries.remove(key) {
            self.by_end.remove(&entry.end);
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use refit_api::hooks::CanUpdateMachineResponse;
    use serde_json::json;

    use super::*;

    fn key(number: usize) -> ContentHash {
        ContentHash::of(&json!(number))
    }

    fn reply() -> Reply {
        CanUpdateMachineResponse::success(refit_api::hooks::MachinePatches::default()).into()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_good_for_its_time_and_no_longer() {
        let (mut answers, begin) = (Answers::default(), Instant::now());
        answers.put(key(1), reply(), 5, begin);
        assert!(answers.get(&key(1), begin + ANSWER_LIFETIME - Duration::from_secs(1)).is_some());
        assert!(answers.get(&key(2), begin).is_none());
        assert!(answers.get(&key(1), begin + ANSWER_LIFETIME).is_none());
        assert!(answers.entries.is_empty() && answers.by_end.is_empty() && answers.bytes == 0);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_did_not_settle_the_change_is_good_for_seconds() {
        let (memory, begin) = (Memory::default(), Instant::now());
        memory.put(key(1), reply(), 5, begin);
        memory.put(key(2), reply(), 5, begin);
        memory.shorten(&[key(1), key(3)], begin);
        memory.shorten(&[key(1)], begin + Duration::from_secs(5));
        assert!(memory.get(&key(1), begin + UNSETTLED_LIFETIME - Duration::from_secs(1)).is_some());
        assert!(memory.get(&key(1), begin + UNSETTLED_LIFETIME).is_none());
        assert!(memory.get(&key(2), begin + UNSETTLED_LIFETIME).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_answer_makes_room() {
        let (mut answers, begin) = (Answers::default(), Instant::now());
        for number in 0..=MAX_ANSWERS {
            answers.put(key(number), reply(), 5, begin);
        }
        answers.put(key(MAX_ANSWERS), reply(), 5, begin);
        assert_eq!((answers.entries.len(), answers.by_end.len()), (MAX_ANSWERS, MAX_ANSWERS));
        assert!(answers.get(&key(0), begin).is_none() && answers.get(&key(1), begin).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn large_answers_take_the_room_of_many() {
        let (memory, begin) = (Memory::default(), Instant::now());
        let number_of_large = MAX_MEMORY_BYTES / MAX_ANSWER_BYTES;
        for number in 0..=number_of_large {
            memory.put(key(number), reply(), MAX_ANSWER_BYTES, begin);
        }
        memory.put(key(number_of_large + 1), reply(), MAX_ANSWER_BYTES + 1, begin);
        let answers = memory.lock();
        assert_eq!((answers.entries.len(), answers.bytes), (number_of_large, MAX_MEMORY_BYTES));
        assert!(!answers.entries.contains_key(&key(0)) && answers.entries.contains_key(&key(number_of_large)));
    }
}
