//! Keeps recently used decoded objects alive, up to a bound.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use crate::budget::{MEMBER_BYTES, OBJECT_BYTES, VALUE_BYTES};

/// How much memory the kept values may take up.
const KEPT_BYTES: usize = 72 << 20;
/// Text decodes to nine times as much, where objects are as large as those of Cluster API; where they are tiny, to thirty. What is one
/// long text counts as nine, too: no more than 8 MiB of text are kept.
const LEAST_FACTOR: usize = 9;
/// What a value counts at least, so that a great many tiny ones are bounded, too.
const LEAST_BYTES: usize = 2_048;

/// The values decoded last. Every watcher of an event and every reader of a busy object then share one decoding.
#[derive(Default)]
pub(super) struct Decoded(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    values: VecDeque<(Arc<Value>, usize)>,
    bytes: usize,
}

impl Decoded {
    /// Keeps a value until enough others came after it.
    pub(super) fn keep(&self, value: Arc<Value>, bytes: usize) {
        let dropped = lock(&self.0).push(value, bytes.max(LEAST_BYTES));
        drop(dropped); // After the lock is released: taking apart large values takes a while.
    }
}

impl Kept {
    fn push(&mut self, value: Arc<Value>, bytes: usize) -> Vec<Arc<Value>> {
        self.values.push_back((value, bytes));
        self.bytes += bytes;
        let mut dropped = Vec::new();
        while self.bytes > KEPT_BYTES {
            let Some((value, bytes)) = self.values.pop_front() else { break };
            self.bytes -= bytes;
            dropped.push(value);
        }
        dropped
    }
}

/// What a value takes up when it is decoded, at most: as told from its text, where every object begins and every value but the
/// first ends with a mark. Marks inside of texts count, too.
pub(super) fn decoded_bytes(text: &[u8]) -> usize {
    let of_mark = |mark: &u8| match mark {
        b'{' => OBJECT_BYTES,
        b'[' | b',' => VALUE_BYTES + MEMBER_BYTES,
        _ => 1,
    };
    text.iter().map(of_mark).sum::<usize>().max(text.len() * LEAST_FACTOR)
}

/// Locks; what a panicking thread left behind is still whole, because nothing here panics halfway through a change.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_values_go_when_new_ones_need_the_room() {
        let decoded = Decoded::default();
        let old = Arc::new(Value::Null);
        let kept = Arc::downgrade(&old);
        decoded.keep(old, KEPT_BYTES / 2);
        decoded.keep(Arc::new(Value::Null), KEPT_BYTES / 2);
        assert!(kept.upgrade().is_some());
        decoded.keep(Arc::new(Value::Null), 1);
        assert!(kept.upgrade().is_none());
    }

    #[test]
    fn a_text_of_tiny_objects_counts_as_what_it_decodes_to() {
        let value: Value = (0..1_000).map(|_| serde_json::json!({"a": {}, "b": 1})).collect();
        let weight = crate::budget::weigh(&value, &crate::budget::Budget::unlimited()).unwrap();
        let bytes = decoded_bytes(value.to_string().as_bytes());
        assert!((weight.bytes..3 * weight.bytes).contains(&bytes), "{bytes} for {weight:?}");
    }
}
