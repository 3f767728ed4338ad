//! Adds and removes Machines.

use std::time::Duration;

use refit_api::naming::{NameOwner, NameTemplate, RandomSuffix};
use refit_api::vocabulary::annotations::{CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME, REMEDIATION_IN_PROGRESS};
use refit_api::vocabulary::managers::KUBEADM_CONTROL_PLANE;
use serde_json::{Value, json};

use super::decision::{Decision, Step};
use super::desired;
use super::etcd::forward_leadership;
use super::machine::annotation_of;
use super::observed::{Observed, ObservedMachine};
use super::preflight::{Blocked, Operation};
use super::selection;
use super::view::View;
use crate::coverage::kubeadm_config::Flavour;
use crate::effect::{Apply, Effect, Patch, Target};
use crate::waiting::WaitingOn;

/// For how long an object without a Machine is taken for one whose Machine is about to come.
const LEFTOVER_GRACE: Duration = Duration::from_secs(10 * 60);
/// How many names are tried. With 27^5 suffixes, a second try is rare already.
const NAME_TRIES: u64 = 16;

/// What a new Machine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It stays.
    Replica,
    /// It goes again once the others are updated.
    Scaffolding,
}

/// Brings the number of Machines to what is wanted.
pub(super) fn decide(view: &View<'_>, decision: &mut Decision) {
    let (current, desired) = (view.observed.machines.len(), view.observed.desired_replicas());
    if current < desired {
        up(view, Purpose::Replica, decision);
    } else if current > desired {
        if let Some(machine) = selection::surplus(view, &view.outdated()) {
            down(view, machine, decision);
        }
    } else {
        remove_leftovers(view, decision);
        decision.is_settled = decision.steps.is_empty();
    }
}

/// Adds a Machine: its objects first, so that it never refers to what is not there.
pub(super) fn up(view: &View<'_>, purpose: Purpose, decision: &mut Decision) {
    if let Some(blocked) = view.preflight.reason_not_to(Operation::Add) {
        return hold(blocked, decision);
    }
    let observed = view.observed;
    let flavour = if observed.machines.is_empty() { Flavour::Init } else { Flavour::Join };
    let Some(name) = name_for_new(observed) else {
        return decision.wait_for("spec.machineNaming.template gives no name that is free");
    };
    let Some(infrastructure) = desired::infrastructure(observed, &name, None) else {
        let kind = &observed.control_plane.spec.machine_template.spec.infrastructure_ref.kind;
        return decision.wait_for(format!("{kind} does not exist"));
    };
    let config = desired::kubeadm_config(observed, &name, flavour, None);
    let machine = desired::new_machine(
        observed,
        &name,
        selection::failure_domain_for_new(view),
        desired::infrastructure_ref(observed, &name),
        purpose == Purpose::Scaffolding,
    );
    for intent in [infrastructure, config, machine] {
        decision.write(Effect::Apply(creation(intent)));
    }
    end_remediation(observed, decision);
}

/// The apply that creates an object.
pub(super) fn creation(intent: Value) -> Apply {
    Apply { target: Target::of_value(&intent), manager: KUBEADM_CONTROL_PLANE, intent }
}

/// Removes a Machine, but never the only one.
pub(super) fn down(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) {
    if view.observed.machines.len() <= 1 {
        return decision
            .wait_for(format!("machine {} is the only one, and the cluster would go with it", machine.name()));
    }
    if let Some(blocked) = view.preflight.reason_not_to(Operation::Remove(machine.name())) {
        return hold(blocked, decision);
    }
    forward_leadership(view, machine, decision);
    decision.delete(Target::of(&machine.machine));
}

/// Says why nothing is touched.
pub(super) fn hold(blocked: Blocked, decision: &mut Decision) {
    decision.wait(WaitingOn::Preflight { problems: blocked.problems });
    decision.blockers = blocked.blockers;
    decision.requeue(blocked.retry);
}

/// Whatever is done to machines for a rollout, the workload cluster hears of it first.
pub(super) fn prepare_workload_cluster(observed: &Observed, decision: &mut Decision) {
    if !decision.steps.is_empty() {
        let version = observed.control_plane.spec.version.clone();
        decision.steps.insert(0, Step::PrepareWorkloadCluster { version });
    }
}

/// The Machine that was just made inherits the record.
pub(super) fn end_remediation(observed: &Observed, decision: &mut Decision) {
    if observed.annotation(REMEDIATION_IN_PROGRESS).is_some() {
        let merge = json!({ "metadata": { "annotations": { REMEDIATION_IN_PROGRESS: null } } });
        decision.patch(Patch::object(Target::of(&observed.control_plane), merge));
    }
}

/// A creation that was cut short goes on under its name, so that it leaves nothing behind.
fn name_for_new(observed: &Observed) -> Option<String> {
    let begun = observed.leftovers.iter().filter(|object| is_of_template(observed, object));
    begun.map(|object| Target::of_value(object).name).min().or_else(|| free_name(observed))
}

fn is_of_template(observed: &Observed, object: &Value) -> bool {
    let template = &observed.control_plane.spec.machine_template.spec.infrastructure_ref;
    annotation_of(object, CLONED_FROM_NAME) == Some(&template.name)
        && annotation_of(object, CLONED_FROM_GROUP_KIND) == Some(&desired::group_kind(template))
}

/// A name that no Machine has, and nothing that was left behind.
pub(super) fn free_name(observed: &Observed) -> Option<String> {
    let owner = NameOwner::KubeadmControlPlane;
    let template = observed.control_plane.spec.machine_naming.template.as_deref();
    let template = NameTemplate::parse(template.unwrap_or(owner.default_template()), owner).ok()?;
    let suffixes = (0..NAME_TRIES).map(|offset| RandomSuffix::from_random(observed.random.wrapping_add(offset)));
    let mut names = suffixes.map(|suffix| template.render(observed.cluster_name(), observed.name(), suffix));
    names.find(|name| !is_taken(observed, name))
}

fn is_taken(observed: &Observed, name: &str) -> bool {
    observed.machines.contains_key(name)
        || observed.leftovers.iter().any(|object| Target::of_value(object).name == name)
}

/// Removes what a creation left behind that nobody went on with. Not at once: a Machine may be there that was not seen.
fn remove_leftovers(view: &View<'_>, decision: &mut Decision) {
    for object in &view.observed.leftovers {
        let created = super::sync::text(object, "/metadata/creationTimestamp").and_then(|text| text.parse().ok());
        let age = created.map(|created: jiff::Timestamp| view.observed.now.duration_since(created));
        match age.map(|age| Duration::try_from(age).unwrap_or_default()) {
            Some(age) if age >= LEFTOVER_GRACE => decision.delete(Target::of_value(object)),
            Some(age) => decision.requeue(LEFTOVER_GRACE.saturating_sub(age)),
            None => {}
        }
    }
}
