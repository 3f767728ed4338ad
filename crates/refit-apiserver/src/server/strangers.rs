//! Connections on which nobody has said yet who they are.
//!
//! There is a bound on them. Beyond it the oldest goes: whoever means to say who they are does so at once, and whoever
//! only holds connections loses them to the next that comes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// All connections of strangers.
pub(super) struct Strangers {
    bound: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// By the order of their arrival.
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// A connection, which counts as a stranger's until [`Stranger::introduce`] or its end.
pub(super) struct Stranger {
    strangers: Arc<Strangers>,
    number: u64,
    evicted: Arc<Notify>,
}

impl Strangers {
    pub(super) fn new(bound: usize) -> Arc<Self> {
        Arc::new(Self { bound: bound.max(1), state: Mutex::default() })
    }

    /// Takes in one more. Returns whether another had to go for it.
    pub(super) fn enter(self: &Arc<Self>) -> (Stranger, bool) {
        let evicted = Arc::new(Notify::new());
        let mut state = self.state();
        let oldest = (state.waiting.len() >= self.bound).then(|| state.waiting.pop_first()).flatten();
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number, evicted.clone());
        drop(state);
        if let Some((_, oldest)) = &oldest {
            oldest.notify_one();
        }
        (Stranger { strangers: self.clone(), number, evicted }, oldest.is_some())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stranger {
    /// From now on it is known whose connection it is.
    pub(super) fn introduce(&self) {
        self.strangers.state().waiting.remove(&self.number);
    }

    pub(super) fn is_known(&self) -> bool {
        !self.strangers.state().waiting.contains_key(&self.number)
    }

    /// Waits until the connection has to go.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.introduce();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn beyond_the_bound_the_oldest_stranger_goes() {
        let strangers = Strangers::new(2);
        let (first, _) = strangers.enter();
        let (second, _) = strangers.enter();
        first.introduce();
        let (third, pushed) = strangers.enter();
        assert!(!pushed, "who is known is no stranger");
        let (fourth, pushed) = strangers.enter();
        assert!(pushed && second.evicted().now_or_never().is_some());
        for other in [&first, &third, &fourth] {
            assert!(other.evicted().now_or_never().is_none());
        }
        drop((second, third));
        assert!(!strangers.enter().1, "those who have left make room");
    }
}
