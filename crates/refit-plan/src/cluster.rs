//! Decides what to do about a Cluster: what its infrastructure and its control plane say of themselves, and the order in
//! which everything goes when it is deleted.
//!
//! Machines are counted by summing up what their owners say. Conditions that sum up all Machines are not written: they
//! would cost a pass over all of them, and MachineDeployments tell the same.

mod conditions;
mod control_plane;
pub mod counters;
mod deletion;
mod external;
mod infrastructure;
mod observed;
#[cfg(test)]
mod tests;

use std::time::Duration;

use refit_api::cluster::{Cluster, ClusterPhase};
use refit_api::contract::FieldTypeError;
use refit_api::vocabulary::finalizers;

pub use observed::{Descendant, Descendants, Observed, Worker};

use crate::effect::{Effect, Event, Target};
use crate::machine::paused_by;
use crate::merge::OwnWrites;
use crate::plan::Plan;
use crate::waiting::WaitingOn;

/// When to look again for an object that is not there yet, as upstream.
const MISSING_RETRY: Duration = Duration::from_secs(30);

/// What to do about a Cluster now.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "a decision that nobody reads is not acted on"]
pub struct Decision {
    pub plan: Plan,
    /// What went wrong. The shell logs it, and comes back with growing delays.
    pub problems: Vec<Problem>,
}

/// Something that kept a part of the decision from being made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("{kind} cannot be read: {why}")]
    Unreadable { kind: String, why: String },
    #[error("{kind} does not follow the contract")]
    Contract { kind: String, source: FieldTypeError },
    #[error("{kind} has been deleted after being provisioned")]
    Gone { kind: String },
}

/// A decision in the making.
struct Draft<'a> {
    seen: &'a Observed,
    /// The Cluster as it should be.
    cluster: Cluster,
    /// Writes to other objects.
    effects: Vec<Effect>,
    events: Vec<Event>,
    plan: Plan,
    problems: Vec<Problem>,
}

/// Decides what to do about a Cluster.
///
/// # Guarantees
/// - The flags of `status.initialization` are never taken back.
/// - When it is deleted, the control plane stays until the workers are gone, and the infrastructure until both are.
/// - Where nothing is left to do, there is no effect.
pub fn decide(observed: &Observed) -> Decision {
    let mut draft = Draft::new(observed);
    if !draft.has_finalizer() {
        if !draft.is_deleting() {
            draft.cluster.metadata.finalizers.get_or_insert_default().push(finalizers::CLUSTER.to_owned());
        }
        return draft.finish();
    }
    if let Some(by) = paused_by(&observed.cluster, &observed.cluster.metadata) {
        conditions::set_paused(&mut draft, by);
        draft.plan.waiting_on.push(WaitingOn::Paused);
        return draft.finish();
    }
    infrastructure::reconcile(&mut draft);
    control_plane::reconcile(&mut draft);
    counters::reconcile(&mut draft);
    let deleting = draft.is_deleting().then(|| deletion::reconcile(&mut draft));
    phase(&mut draft);
    conditions::reconcile(&mut draft, deleting);
    draft.finish()
}

impl<'a> Draft<'a> {
    fn new(seen: &'a Observed) -> Self {
        let (effects, events, problems) = (Vec::new(), Vec::new(), Vec::new());
        Self { seen, cluster: seen.cluster.clone(), effects, events, plan: Plan::default(), problems }
    }

    fn is_deleting(&self) -> bool {
        self.seen.cluster.metadata.deletion_timestamp.is_some()
    }

    fn has_finalizer(&self) -> bool {
        self.seen.cluster.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == finalizers::CLUSTER)
    }

    fn tell(&mut self, reason: &'static str, message: String) {
        self.events.push(Event::normal(Target::of(&self.seen.cluster), reason, message));
    }

    fn wait(&mut self, what: String) {
        self.plan.waiting_on.push(WaitingOn::Other { what });
    }

    /// What is told comes before what is done; the objects of others come last.
    fn finish(self) -> Decision {
        let Self { seen, cluster, effects, events, mut plan, problems } = self;
        let writes = OwnWrites::of(&seen.cluster, &cluster);
        if writes.collide() {
            plan.requeue(Duration::ZERO);
        }
        plan.effects.extend(writes.in_order().map(Effect::Patch));
        plan.effects.extend(effects);
        plan.effects.extend(events.into_iter().map(Effect::Emit));
        Decision { plan, problems }
    }
}

/// What the Cluster is doing, in one word.
fn phase(draft: &mut Draft<'_>) {
    let Cluster { spec, status, .. } = &draft.cluster;
    let endpoint = &spec.control_plane_endpoint;
    let has_endpoint = endpoint.host.is_some() && endpoint.port.is_some();
    let is_provisioned = status.initialization.infrastructure_provisioned == Some(true) && has_endpoint;
    let has_reference = spec.infrastructure_ref.is_some() || spec.control_plane_ref.is_some();
    let (phase, word) = match (draft.is_deleting(), is_provisioned, has_reference) {
        (true, _, _) => (ClusterPhase::Deleting, "Deleting"),
        (false, true, _) => (ClusterPhase::Provisioned, "Provisioned"),
        (false, false, true) => (ClusterPhase::Provisioning, "Provisioning"),
        (false, false, false) => (ClusterPhase::Pending, "Pending"),
    };
    if draft.cluster.status.phase != Some(phase) {
        let name = draft.seen.name().to_owned();
        draft.tell(word, format!("Cluster {name} is {word}"));
    }
    draft.cluster.status.phase = Some(phase);
}
