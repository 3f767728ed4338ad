//! Calls in flight that several callers wait for.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use refit_plan::coverage::{Answer, ContentHash};
use tokio::sync::{Semaphore, watch};

/// How many extensions are asked at one time. Those beyond wait their turn.
pub const MAX_CALLS: usize = 256;

/// Makes one call for all callers that ask for the same content at the same time.
///
/// The call has a task of its own: it goes on when the first caller goes away, and ends within its timeout.
pub(super) struct Sharing {
    calls: Arc<Mutex<Calls>>,
    turns: Arc<Semaphore>,
}

type Calls = BTreeMap<ContentHash, watch::Receiver<Option<Answer>>>;

impl Default for Sharing {
    fn default() -> Self {
        Self { calls: Arc::default(), turns: Arc::new(Semaphore::new(MAX_CALLS)) }
    }
}

impl Sharing {
    /// The answer of the call in flight for this content; without one, of `call`.
    pub async fn join(&self, key: ContentHash, call: impl Future<Output = Answer> + Send + 'static) -> Answer {
        let mut answer = self.answer_of(key, call);
        let lost = || Answer::Failed { words: "the call was broken off".to_owned() };
        match answer.wait_for(Option::is_some).await {
            Ok(answer) => answer.clone().unwrap_or_else(lost),
            Err(_) => lost(),
        }
    }

    fn answer_of(
        &self,
        key: ContentHash,
        call: impl Future<Output = Answer> + Send + 'static,
    ) -> watch::Receiver<Option<Answer>> {
        let (sender, receiver) = watch::channel(None);
        match lock(&self.calls).entry(key.clone()) {
            Entry::Occupied(call) => return call.get().clone(),
            Entry::Vacant(place) => place.insert(receiver.clone()),
        };
        let done = Done { calls: Arc::clone(&self.calls), key };
        let turns = Arc::clone(&self.turns);
        // Not under the lock: a runtime that ends drops the task at once, and with it `done`, which takes the lock.
        tokio::spawn(async move {
            let _turn = turns.acquire().await;
            let answer = call.await;
            drop(done);
            sender.send_replace(Some(answer));
        });
        receiver
    }
}

/// Takes a call off the list when it has ended, however it ended.
struct Done {
    calls: Arc<Mutex<Calls>>,
    key: ContentHash,
}

impl Drop for Done {
    fn drop(&mut self) {
        lock(&self.calls).remove(&self.key);
    }
}

fn lock(calls: &Mutex<Calls>) -> MutexGuard<'_, Calls> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn key(text: &str) -> ContentHash {
        ContentHash::of(&json!(text))
    }

    fn counted(calls: &Arc<AtomicUsize>) -> impl Future<Output = Answer> + use<> {
        let calls = Arc::clone(calls);
        async move {
            let number = calls.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(5)).await;
            Answer::Failed { words: number.to_string() }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn callers_with_the_same_content_share_one_call() {
        let (sharing, calls) = (Sharing::default(), Arc::default());
        let (a, b, other) = tokio::join!(
            sharing.join(key("a"), counted(&calls)),
            sharing.join(key("a"), counted(&calls)),
            sharing.join(key("b"), counted(&calls)),
        );
        assert_eq!(a, b);
        assert_ne!(a, other);
        assert_eq!(calls.load(Ordering::SeqCst), 2);
        sharing.join(key("a"), counted(&calls)).await;
        assert_eq!(calls.load(Ordering::SeqCst), 3, "a call that has ended is not shared any more");
        assert!(lock(&sharing.calls).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_goes_away_takes_the_call_from_nobody() {
        let (sharing, calls) = (Sharing::default(), Arc::default());
        let first = tokio::time::timeout(Duration::from_secs(1), sharing.join(key("a"), counted(&calls)));
        let (gone, stays) = tokio::join!(first, sharing.join(key("a"), counted(&calls)));
        assert!(gone.is_err());
        assert_eq!(stays, Answer::Failed { words: "0".to_owned() });
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_panics_fails_and_is_forgotten() {
        let sharing = Sharing::default();
        let answer = sharing.join(key("a"), async { panic!("on purpose") }).await;
        assert_eq!(answer, Answer::Failed { words: "the call was broken off".to_owned() });
        assert!(lock(&sharing.calls).is_empty());
    }

    /// A process that ends would not end.
    #[test]
    fn a_call_that_begins_while_the_runtime_ends_is_broken_off() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime must start");
        let handle = runtime.handle().clone();
        runtime.shutdown_background();
        let (told, begun) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let (_entered, sharing) = (handle.enter(), Sharing::default());
            let answer = sharing.answer_of(key("a"), async { Answer::Failed { words: String::new() } });
            let _ = told.send((answer.has_changed().is_err(), lock(&sharing.calls).is_empty()));
        });
        let (is_broken_off, is_forgotten) =
            begun.recv_timeout(Duration::from_secs(60)).expect("it must not wait for itself");
        assert!(is_broken_off && is_forgotten);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_calls_than_the_bound_run_at_one_time() {
        let (sharing, running, most) =
            (Sharing::default(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let calls = (0..MAX_CALLS * 2).map(|number| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            sharing.join(key(&number.to_string()), async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Answer::Failed { words: String::new() }
            })
        });
        futures::future::join_all(calls).await;
        assert_eq!(most.load(Ordering::SeqCst), MAX_CALLS);
    }
}
