//! Keeps recently used decoded objects alive, up to a bound.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

/// How much JSON text the kept values may stand for. Decoded they take nine times as much memory: about 72 MiB.
const KEPT_TEXT_BYTES: usize = 8 << 20;
/// What a value counts at least, so that a great many tiny ones are bounded, too.
const LEAST_TEXT_BYTES: usize = 256;

/// The values decoded last. Every watcher of an event and every reader of a busy object then share one decoding.
#[derive(Default)]
pub(super) struct Decoded(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    values: VecDeque<(Arc<Value>, usize)>,
    text_bytes: usize,
}

impl Decoded {
    /// Keeps a value until enough others came after it.
    pub(super) fn keep(&self, value: Arc<Value>, text_bytes: usize) {
        let dropped = lock(&self.0).push(value, text_bytes.max(LEAST_TEXT_BYTES));
        drop(dropped); // After the lock is released: taking apart large values takes a while.
    }
}

impl Kept {
    fn push(&mut self, value: Arc<Value>, text_bytes: usize) -> Vec<Arc<Value>> {
        self.values.push_back((value, text_bytes));
        self.text_bytes += text_bytes;
        let mut dropped = Vec::new();
        while self.text_bytes > KEPT_TEXT_BYTES {
            let Some((value, bytes)) = self.values.pop_front() else { break };
            self.text_bytes -= bytes;
            dropped.push(value);
        }
        dropped
    }
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
        decoded.keep(old, KEPT_TEXT_BYTES / 2);
        decoded.keep(Arc::new(Value::Null), KEPT_TEXT_BYTES / 2);
        assert!(kept.upgrade().is_some());
        decoded.keep(Arc::new(Value::Null), 1);
        assert!(kept.upgrade().is_none());
    }
}
