//! Where decisions are made: within a budget, and off the threads that serve connections where they may take long.

use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use super::{Api, Call};
use crate::budget::{
    ALL_DEFINITIONS_BYTES, Budget, CLUSTER_DEFINITIONS_BYTES, DEFINITION_HELD_BYTES, DEFINITIONS_BYTES_OF_OTHERS,
    MAX_DEFINITION_BYTES, MAX_OBJECT_BYTES, weigh,
};
use crate::definition;
use crate::metadata::{is_being_deleted, text};
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

    /// Refuses an object that has grown too large, by however many patches, and a definition that would hold too much.
    pub(super) fn sized(&self, call: &Call<'_>, outcome: Outcome, budget: &Budget) -> Result<Outcome, Status> {
        let Change::Put(object) = &outcome.change else { return Ok(outcome) };
        let is_definition = definition::is_definition(call.resource) && !is_being_deleted(object);
        let limit = if is_definition { MAX_DEFINITION_BYTES } else { MAX_OBJECT_BYTES };
        if weigh(object, budget)?.text > limit {
            let what = if is_definition { "definition" } else { "stored object" };
            return Err(Status::too_large(format!("limit of a {what} is {limit}")));
        }
        if is_definition {
            self.check_room(call, object)?;
        }
        Ok(outcome)
    }

    /// Whether there is room for what is made of a definition. One that holds no more than before always has it.
    fn check_room(&self, call: &Call<'_>, object: &Value) -> Result<(), Status> {
        let (cluster, name) = (&call.request.cluster, text(object, "name"));
        let catalog = self.catalog(cluster);
        let held = definition::held_bytes(object);
        if held <= catalog.held_bytes_of(name) {
            return Ok(());
        }
        let of_cluster = held + catalog.held_bytes_without(name);
        let of_all = of_cluster + self.held_by_definitions_of_others(cluster);
        let limit_of_all = if cluster.is_empty() { ALL_DEFINITIONS_BYTES } else { DEFINITIONS_BYTES_OF_OTHERS };
        for (what, held, limit) in [
            ("the definition", held, DEFINITION_HELD_BYTES),
            ("all definitions of the cluster", of_cluster, CLUSTER_DEFINITIONS_BYTES),
            ("all definitions of the server", of_all, limit_of_all),
        ] {
            if held > limit {
                let why = format!(
                    "{what} would hold {held} bytes of memory, of which {limit} are allowed: \
                     make schemas smaller, or delete definitions that are not needed"
                );
                return Err(Status::forbidden(call.resource.qualified_plural(), name, why));
            }
        }
        Ok(())
    }
}

/// Lets others take over what this thread would have done meanwhile. A runtime of one thread has no others.
pub(super) fn off_the_threads_of_connections<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}
