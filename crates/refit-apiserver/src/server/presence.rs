//! Whether a connection is in use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What happens on one connection.
#[derive(Debug)]
pub(super) struct Presence(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Requests that were not answered to the end yet.
    open: usize,
    has_asked: bool,
    /// When the last of them came or went; at first, when the connection began.
    last: Instant,
}

/// A request that is not answered to the end yet.
#[derive(Debug)]
pub(super) struct Visit(Arc<Presence>);

impl Presence {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { open: 0, has_asked: false, last: Instant::now() })))
    }

    pub(super) fn enter(self: &Arc<Self>) -> Visit {
        let mut state = self.state();
        state.open += 1;
        state.has_asked = true;
        Visit(self.clone())
    }

    /// Until when nothing needs to happen for the connection to stay open.
    pub(super) fn deadline(&self, first_request: Duration, idle: Duration) -> Instant {
        let state = self.state();
        match (state.open, state.has_asked) {
            (0, false) => state.last + first_request,
            (0, true) => state.last + idle,
            _ => Instant::now() + idle,
        }
    }

    pub(super) fn has_asked(&self) -> bool {
        self.state().has_asked
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.open -= 1;
        state.last = Instant::now();
    }
}
