//! The MachineSets that a MachineDeployment wants.
//!
//! The new one is written before the old ones: it must agree to take machines before another one gives them away. All
//! that a pass has decided about one MachineSet goes into one apply; what a pass does not say is taken off by it.

mod desired;

use std::collections::{BTreeMap, BTreeSet};

use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_api::naming::RandomSuffix;
use refit_api::owners;
use refit_api::vocabulary::annotations::{
    ACKNOWLEDGED_MOVE, MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS, REVISION,
};
use refit_api::vocabulary::refit::annotations::{HOLD, KEEP_AT_LEAST, REPLACED, SCAFFOLDING, SCALED_DOWN, SURGE};
use refit_api::vocabulary::{events, managers};
use serde_json::{Value, json};

use super::Revision;
use crate::effect::{Apply, Delete, Effect, Event, Patch, Target};
use crate::field_ownership::{is_applied, remember};
use crate::machine_set::start_move::handover_of;
use crate::ownership::{NoIdentity, replace_managed_fields};

pub use desired::desired;

/// What a pass says about machines that change their owner, or what it leaves out.
const MARKS: [&str; 9] = [
    MOVE_MACHINES_TO_MACHINESET,
    RECEIVE_MACHINES_FROM_MACHINESETS,
    ACKNOWLEDGED_MOVE,
    SCAFFOLDING,
    HOLD,
    SURGE,
    SCALED_DOWN,
    REPLACED,
    KEEP_AT_LEAST,
];

/// A MachineSet, and what a pass has decided about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided<'a> {
    pub base: Base<'a>,
    pub intent: Intent,
}

/// What a MachineSet is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Base<'a> {
    /// It is to be created, for the template as it is now.
    New(RandomSuffix),
    /// It is there. Its template stays as it is, but for what reaches machines without a rollout.
    Existing(&'a MachineSet),
}

/// What a pass has decided about one MachineSet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intent {
    pub replicas: i32,
    /// About machines that change their owner: what is not here goes.
    pub annotations: BTreeMap<String, String>,
    /// It creates no machines, however few there are.
    pub disable_machine_create: bool,
    /// The number of the rollout. Nothing: the MachineSet keeps what it has.
    pub revision: Option<Revision>,
    /// The most machines that there may be beyond those wanted.
    pub max_surge: i32,
}

/// Why a MachineSet cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MachineSetError {
    #[error(transparent)]
    Owner(#[from] NoIdentity),
    #[error("MachineSet {name} does not have the {label} label, so its machines cannot be told from others")]
    NoLabel { name: String, label: &'static str },
    #[error("MachineSet {name} has no uid: it was not read from the API")]
    NoUid { name: String },
    #[error("MachineSet {name} cannot have {replicas} replicas")]
    NegativeReplicas { name: String, replicas: i32 },
    #[error("spec.replicas of MachineDeployment {name} is not set")]
    NoReplicas { name: String },
}

/// The writes that make the MachineSets what they should be: the new one, then the others. Empty when all is so.
///
/// Those that are going come last, as one that is gone meanwhile ends the plan. Where nobody remembers who owns which
/// field, that is written down, and nothing else: what an apply would take off is not known before.
pub fn write(
    deployment: &MachineDeployment,
    new: Option<&Decided<'_>>,
    old: &[Decided<'_>],
) -> Result<Vec<Effect>, MachineSetError> {
    let repairs: Vec<Effect> = new.into_iter().chain(old).filter_map(Decided::remember).collect();
    if !repairs.is_empty() {
        return Ok(repairs);
    }
    let (going, staying): (Vec<_>, Vec<_>) = old.iter().partition(|decided| decided.is_going());
    let ordered = new.into_iter().chain(staying).chain(going);
    let each: Vec<Vec<Effect>> = ordered.map(|decided| write_one(deployment, decided)).collect::<Result<_, _>>()?;
    Ok(each.concat())
}

fn write_one(deployment: &MachineDeployment, decided: &Decided<'_>) -> Result<Vec<Effect>, MachineSetError> {
    let wanted = desired(deployment, decided)?;
    let intent = encode(&wanted);
    let apply = |intent: Value| {
        Effect::Apply(Apply { target: Target::of_value(&intent), manager: managers::MACHINE_DEPLOYMENT, intent })
    };
    let Base::Existing(existing) = decided.base else {
        return Ok(vec![apply(intent), created(deployment, &wanted)]);
    };
    // An apply names its owner, and one that the garbage collector has set free since must not get it back.
    let as_seen = |mut intent: Value| {
        intent["metadata"]["resourceVersion"] = json!(existing.metadata.resource_version);
        intent
    };
    let entries = existing.metadata.managed_fields.as_deref();
    if is_applied(&intent, &encode(existing), entries, managers::MACHINE_DEPLOYMENT) {
        return Ok(take_off_marks(existing, &wanted).into_iter().collect());
    }
    Ok([apply(as_seen(intent))].into_iter().chain(scaled(deployment, existing, decided.intent.replicas)).collect())
}

/// Takes marks of moves off that no pass has set and that an apply leaves alone, as they are somebody else's.
///
/// A MachineSet that was restored from a backup, or taken over from another management cluster, has such marks: whoever
/// wrote them there knows nothing about moves, and owns them for ever.
fn take_off_marks(existing: &MachineSet, wanted: &MachineSet) -> Option<Effect> {
    let has = |set: &MachineSet, key: &str| set.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(key));
    let is_stray = |key: &&&str| has(existing, key) && !has(wanted, key);
    let stray: BTreeMap<&str, Value> = MARKS.iter().filter(is_stray).map(|key| (*key, Value::Null)).collect();
    let merge = json!({ "metadata": { "annotations": stray } });
    (!stray.is_empty()).then(|| Effect::Patch(Patch::object(Target::of(existing), merge)))
}

impl Decided<'_> {
    /// The write that makes up for managed fields that got lost.
    fn remember(&self) -> Option<Effect> {
        let Base::Existing(existing) = self.base else { return None };
        let target = Target::of(existing);
        let entries = existing.metadata.managed_fields.as_deref().unwrap_or_default();
        let entries = remember(entries, managers::MACHINE_DEPLOYMENT, &target.api_version)?;
        Some(replace_managed_fields(target, &existing.metadata, &entries))
    }

    fn is_going(&self) -> bool {
        matches!(self.base, Base::Existing(set) if set.metadata.deletion_timestamp.is_some())
    }
}

fn created(deployment: &MachineDeployment, set: &MachineSet) -> Effect {
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    let (name, replicas) = (name(set), set.spec.replicas.unwrap_or_default());
    let message = format!("Created MachineSet {namespace}/{name} with {replicas} replicas");
    Effect::Emit(Event::normal(Target::of(deployment), events::SUCCESSFUL_CREATE, message))
}

fn scaled(deployment: &MachineDeployment, existing: &MachineSet, to: i32) -> Option<Effect> {
    let from = existing.spec.replicas.unwrap_or_default();
    let direction = if to > from { "up" } else { "down" };
    let message = || format!("Scaled {direction} MachineSet {}: {from} -> {to}", name(existing));
    (from != to).then(|| Effect::Emit(Event::normal(Target::of(deployment), events::SUCCESSFUL_SCALE, message())))
}

/// Shows the number of the rollout on the MachineDeployment. Without a number it keeps the one that it has: an empty
/// one makes the nodes of all its machines unreadable to the Machine controller.
pub fn show_revision(deployment: &MachineDeployment, revision: Option<&Revision>) -> Option<Effect> {
    let number = revision?.number.to_string();
    let shown = deployment.metadata.annotations.as_ref().and_then(|annotations| annotations.get(REVISION));
    let merge = json!({ "metadata": { "annotations": { REVISION: number } } });
    (shown != Some(&number)).then(|| Effect::Patch(Patch::object(Target::of(deployment), merge)))
}

/// Deletes old MachineSets that have nothing left to do, oldest first.
///
/// The caller knows that the rollout is complete. Whether a MachineSet is drained is checked against its own counters
/// and against the machines: one that still controls a machine stays. So does one to which machines may be on their way: a
/// MachineSet that has machines was ordered to give them there, and may be about to.
pub fn delete_drained(
    deployment: &MachineDeployment,
    all: &[&MachineSet],
    old: &[&MachineSet],
    machines: &[&Machine],
) -> Vec<Effect> {
    let controllers: BTreeSet<&str> = machines.iter().filter_map(|machine| controller_uid(machine)).collect();
    let givers: Vec<&MachineSet> = all.iter().copied().filter(|set| !is_drained(set)).collect();
    let may_get_machines = |set: &MachineSet| {
        let handover = handover_of(set);
        let gives = |giver: &&MachineSet| {
            handover_of(giver).move_to.as_deref() == Some(name(set)) || handover.receive_from.contains(name(giver))
        };
        handover.hold.is_some() || givers.iter().any(gives)
    };
    let is_over = |set: &&MachineSet| is_drained(set) && !controllers.contains(uid(set)) && !may_get_machines(set);
    let mut drained: Vec<&MachineSet> = old.iter().copied().filter(is_over).collect();
    drained.sort_by_key(|set| (set.metadata.creation_timestamp.as_ref().map(|time| time.0), name(set)));
    let deletion = |set: &MachineSet| {
        let message = format!("Deleted MachineSet {:?}", name(set));
        [
            Effect::Delete(Delete::as_seen(set)),
            Effect::Emit(Event::normal(Target::of(deployment), events::SUCCESSFUL_DELETE, message)),
        ]
    };
    drained.into_iter().flat_map(deletion).collect()
}

fn is_drained(set: &MachineSet) -> bool {
    let observed = set.status.observed_generation.unwrap_or_default();
    let is_observed = observed >= set.metadata.generation.unwrap_or_default();
    let is_empty = set.spec.replicas == Some(0) && set.status.replicas.unwrap_or_default() == 0;
    is_empty && is_observed && set.metadata.deletion_timestamp.is_none() && !uid(set).is_empty()
}

fn controller_uid(machine: &Machine) -> Option<&str> {
    let references = machine.metadata.owner_references.as_deref().unwrap_or_default();
    owners::controller_of(references).map(|controller| controller.uid.as_str())
}

fn uid(set: &MachineSet) -> &str {
    set.metadata.uid.as_deref().unwrap_or_default()
}

fn name(set: &MachineSet) -> &str {
    set.metadata.name.as_deref().unwrap_or_default()
}

fn encode(set: &MachineSet) -> Value {
    serde_json::to_value(set).expect("a MachineSet must encode")
}

#[cfg(test)]
mod tests;
