//! What a decision about a control plane comes to.

use std::collections::BTreeSet;
use std::time::Duration;

use refit_api::conditions::NewCondition;
use serde_json::Value;

use super::preflight::Blocker;
use crate::effect::{Apply, Delete, Effect, Event, Patch, Target};
use crate::waiting::WaitingOn;

/// What to do about a control plane now.
///
/// It is more than a [`Plan`](crate::plan::Plan), as a control plane is changed from two sides: some steps are requests
/// to the workload cluster, and their place among the writes matters.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "an unread decision is not acted on"]
pub struct Decision {
    /// In this order, up to the first that fails.
    pub steps: Vec<Step>,
    /// Machines that extensions must be asked about. With the answers, decide again.
    pub ask: BTreeSet<String>,
    /// What is told of the Machines and of the control plane, after the steps and whatever became of them. One that
    /// is refused for its version is told anew next time.
    pub reports: Vec<Effect>,
    /// Why the decision stops where it does. Empty when all is as it should be.
    pub waiting_on: Vec<WaitingOn>,
    /// When to decide again even if nothing is heard of before.
    pub requeue_after: Option<Duration>,
    /// All Machines are there and as they should be: kube-proxy and CoreDNS may follow.
    pub is_settled: bool,
    /// What stopped an operation before it began, for the conditions.
    pub(super) blockers: Vec<Blocker>,
    /// Conditions of Machines that change with this decision.
    pub(super) told: Vec<(String, Told)>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A request to the API of the management cluster.
    Write(Effect),
    /// Make another member the leader of etcd, the first of the candidates that takes it. Nothing is to be done if the
    /// member is not the leader any more.
    ForwardEtcdLeadership { from: String, candidates: Vec<String> },
    /// Take the member out of etcd. One without a name is still starting.
    RemoveEtcdMember { name: String },
    /// Make the workload cluster ready for machines of this version: kubeadm's RBAC, and the ConfigMap
    /// `kubeadm-config`, which new and updated machines read.
    PrepareWorkloadCluster { version: String },
}

/// A condition of a Machine that changes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Told {
    Set(NewCondition),
    Removed(&'static str),
}

impl Decision {
    /// Asks to decide again after `delay`, or sooner if somebody asked for that already.
    pub(super) fn requeue(&mut self, delay: Duration) {
        self.requeue_after = Some(self.requeue_after.map_or(delay, |earlier| earlier.min(delay)));
    }

    pub(super) fn wait(&mut self, reason: WaitingOn) {
        self.waiting_on.push(reason);
    }

    pub(super) fn wait_for(&mut self, what: impl Into<String>) {
        self.wait(WaitingOn::Other { what: what.into() });
    }

    pub(super) fn write(&mut self, effect: Effect) {
        self.steps.push(Step::Write(effect));
    }

    pub(super) fn apply(&mut self, target: Target, manager: &'static str, intent: Value) {
        self.write(Effect::Apply(Apply { target, manager, intent }));
    }

    pub(super) fn patch(&mut self, patch: Patch) {
        self.write(Effect::Patch(patch));
    }

    pub(super) fn delete(&mut self, target: Target) {
        self.write(Effect::Delete(Delete::at_any_version(target)));
    }

    pub(super) fn emit(&mut self, event: Event) {
        self.write(Effect::Emit(event));
    }

    pub(super) fn tell(&mut self, machine: &str, condition: NewCondition) {
        self.told.push((machine.to_owned(), Told::Set(condition)));
    }
}
