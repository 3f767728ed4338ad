//! Where decisions are made: within a budget, and off the threads that serve connections where they may take long.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use super::{Api, Call};
use crate::budget::{Budget, MAX_OBJECT_BYTES, weigh};
use crate::definition;
use crate::request::User;
use crate::status::Status;
use crate::write::{Change, Outcome};

impl Api {
    /// Makes a decision. One that would use up too much is refused, whatever it came to.
    ///
    /// Nearly all decisions take microseconds, and are made on the spot with a small budget. One that needs more is made
    /// again where nobody else waits for it. So are all on definitions, whose rules and patterns are compiled.
    pub(super) async fn decide<T>(
        &self,
        call: &Call<'_>,
        decide: impl Fn(&Budget) -> Result<T, Status>,
    ) -> Result<T, Status> {
        if !definition::is_definition(call.resource) {
            let budget = Budget::small();
            let decision = decide(&budget);
            if budget.refusal().is_ok() {
                return decision;
            }
        }
        self.aside(&call.request.user, || {
            let budget = Budget::default();
            let decision = decide(&budget);
            budget.refusal()?;
            decision
        })
        .await
    }

    /// Does what may take long where nobody else waits for it, a few at a time.
    pub(crate) async fn aside<T>(&self, user: &User, work: impl FnOnce() -> T) -> T {
        let _turn = self.shared.turns.take(user).await;
        off_the_threads_of_connections(work)
    }
}

/// Lets others take over what this thread would have done meanwhile. A runtime of one thread has no others.
pub(super) fn off_the_threads_of_connections<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

/// Refuses an object that has grown too large, by however many patches.
pub(super) fn sized(outcome: Outcome, budget: &Budget) -> Result<Outcome, Status> {
    if let Change::Put(object) = &outcome.change
        && weigh(object, budget)?.text > MAX_OBJECT_BYTES
    {
        return Err(Status::too_large(format!("limit of a stored object is {MAX_OBJECT_BYTES}")));
    }
    Ok(outcome)
}
