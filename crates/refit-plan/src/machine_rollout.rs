//! Decides what is written down of the rollouts of a MachineDeployment: one MachineRollout for each, for people.
//!
//! Nothing is decided by reading it. It follows the MachineDeployment and its machines, a moment behind them, as whoever calls
//! does so about once a second: a rollout of many machines must not cost a write for each step of each machine.

mod machines;
mod progress;
mod record;
mod tell;
#[cfg(test)]
mod tests;
mod words;

use std::time::Duration;

use jiff::Timestamp;
use refit_api::cluster::ContractVersionedObjectReference;
use refit_api::cluster::{Cluster, GROUP, Machine, MachineDeployment, MachineSet};
use refit_api::resource::CustomKind;
use refit_api::rollout::{MachineRollout, MachineRolloutSpec, MachineRolloutStatus};
use refit_api::vocabulary::{labels, managers};

use crate::coverage::Coverage;
use crate::effect::{Apply, Delete, Effect, Target};
use crate::ownership::controller;
use crate::plan::Plan;
use crate::policy;
use crate::status_patch::status_patch;
use crate::waiting::WaitingOn;

/// How many rollouts of a MachineDeployment are kept, the one that is going on among them.
pub const KEPT: usize = 10;

/// How soon to look again while machines are being updated: the words of extensions change without any other event.
const REFRESH: Duration = Duration::from_secs(5);

/// Everything that the decision may look at.
#[derive(Debug, Clone)]
pub struct Observed<'a> {
    pub now: Timestamp,
    pub deployment: &'a MachineDeployment,
    pub cluster: &'a Cluster,
    /// The MachineSet of the wanted template, if there is one.
    pub new: Option<&'a MachineSet>,
    /// The name of the MachineSet that was wanted when somebody looked before, if that is remembered. A rollout may be over
    /// before anybody looks again.
    pub wanted_before: Option<&'a str>,
    /// The machines of the MachineDeployment.
    pub machines: &'a [&'a Machine],
    /// What extensions said of the change, if they were asked.
    pub coverage: Option<&'a Coverage>,
    /// What the MachineDeployment waits for, and then its MachineSets, by their last decisions.
    pub waiting_on: &'a [WaitingOn],
    /// All that are owned by the MachineDeployment.
    pub rollouts: &'a [&'a MachineRollout],
}

/// Decides what to write.
///
/// # Guarantees
/// - There is one object for each MachineSet that machines roll out to, and none where nothing has to roll out.
/// - What is closed is not written to again.
/// - The newest [`KEPT`] are kept.
pub fn decide(observed: &Observed<'_>) -> Plan {
    let mut plan = Plan::default();
    let revision = observed.new.and_then(|set| set.metadata.name.as_deref()).unwrap_or_default();
    let is_deleting = observed.deployment.metadata.deletion_timestamp.is_some();
    for overtaken in observed.rollouts.iter().filter(|it| !is_closed(it) && it.spec.revision != revision) {
        plan.effects.extend(write(overtaken, record::overtaken(observed, overtaken)));
    }
    let current = observed.rollouts.iter().find(|it| it.spec.revision == revision);
    match current {
        Some(current) if !is_closed(current) => follow(observed, current, &mut plan),
        Some(_) => {}
        None if !is_deleting
            && !revision.is_empty()
            && (progress::is_due(observed) || has_changed(observed, revision)) =>
        {
            plan.effects.extend(begin(observed, revision));
        }
        None => {}
    }
    plan.effects.extend(surplus(observed.rollouts));
    plan
}

/// Whether machines were to become what this MachineSet wants since somebody looked before, and perhaps have.
fn has_changed(observed: &Observed<'_>, revision: &str) -> bool {
    !observed.machines.is_empty() && observed.wanted_before.is_some_and(|before| before != revision)
}

fn is_closed(rollout: &MachineRollout) -> bool {
    rollout.status.completion_time.is_some()
}

/// Writes what has changed, and tells people what they would otherwise have to look for.
fn follow(observed: &Observed<'_>, rollout: &MachineRollout, plan: &mut Plan) {
    let status = record::status(observed, rollout);
    if status.progress.as_ref().is_some_and(|progress| progress.updating > 0) {
        plan.requeue(REFRESH);
    }
    let events = tell::events(observed.deployment, &rollout.status, &status);
    if let Some(patch) = write(rollout, status) {
        plan.effects.push(patch);
        plan.effects.extend(events.into_iter().map(Effect::Emit));
    }
}

fn write(rollout: &MachineRollout, status: MachineRolloutStatus) -> Option<Effect> {
    status_patch(rollout, &rollout.status, &status)
}

/// Creates the object. It is named after the MachineSet, so that doing it twice is doing it once.
fn begin(observed: &Observed<'_>, revision: &str) -> Option<Effect> {
    let deployment = observed.deployment;
    let (policy, keep_originals) = policy::of_deployment(deployment, observed.cluster).ok()?;
    let mut rollout = MachineRollout::default();
    rollout.metadata.name = Some(revision.to_owned());
    rollout.metadata.namespace = deployment.metadata.namespace.clone();
    rollout.metadata.owner_references = Some(vec![controller(deployment).ok()?]);
    let cluster = (labels::CLUSTER_NAME.to_owned(), deployment.spec.cluster_name.clone());
    rollout.metadata.labels = Some([cluster].into());
    rollout.spec = MachineRolloutSpec {
        target_ref: ContractVersionedObjectReference {
            api_group: GROUP.to_owned(),
            kind: MachineDeployment::DEFINITION.kind.to_owned(),
            name: deployment.metadata.name.clone().unwrap_or_default(),
        },
        revision: revision.to_owned(),
        policy,
        keep_originals: policy::keeps_originals(policy, keep_originals),
    };
    let intent = serde_json::to_value(&rollout).expect("an object of ours must encode");
    Some(Effect::Apply(Apply { target: Target::of(&rollout), manager: managers::MACHINE_DEPLOYMENT, intent }))
}

/// The oldest of those that are closed, beyond what is kept.
fn surplus(rollouts: &[&MachineRollout]) -> Vec<Effect> {
    let mut closed: Vec<&&MachineRollout> = rollouts.iter().filter(|it| is_closed(it)).collect();
    closed.sort_by_key(|it| (it.status.completion_time.as_ref().map(|time| time.0), it.metadata.name.clone()));
    let count = rollouts.len().saturating_sub(KEPT).min(closed.len());
    closed[..count].iter().map(|it| Effect::Delete(Delete::as_seen(**it))).collect()
}
