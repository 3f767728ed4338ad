//! Brings to a machine what reaches it without a rollout: labels, annotations, timeouts, taints.

use kube::core::ObjectMeta;
use refit_api::cluster::{Machine, MachineSet};
use refit_api::vocabulary::managers;
use serde_json::{Map, Value, json};

use super::create::{apply, metadata_intent};
use super::objects::{ObjectError, synced_machine};
use crate::effect::{Effect, Patch, Target};
use crate::field_ownership::{Layout, is_applied_or_handed_over, remember, repair};
use crate::fleet;
use crate::ownership::replace_managed_fields;
use crate::reading::{NotFound, Read};

/// What admission sets for how long deleting a Node is tried.
const DEFAULT_NODE_DELETION_TIMEOUT_SECONDS: i32 = 10;

/// A Machine, and the objects that it refers to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineParts<'a> {
    pub machine: &'a Machine,
    pub infrastructure: &'a Read<Value>,
    /// Nothing if it refers to none.
    pub bootstrap: Option<&'a Read<Value>>,
}

/// What to write for one machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Synced {
    /// Empty when all is as it should be.
    pub effects: Vec<Effect>,
    /// What is missing of the machine. The others are synced all the same.
    pub problems: Vec<NotFound>,
}

impl<'a> MachineParts<'a> {
    /// The object of the host.
    pub fn infrastructure(&self) -> Result<&'a Value, NotFound> {
        let reference = &self.machine.spec.infrastructure_ref;
        self.infrastructure.found(|| format!("{} {}", reference.kind, reference.name))
    }

    /// The bootstrap configuration, if the Machine refers to one.
    pub fn bootstrap(&self) -> Result<Option<&'a Value>, NotFound> {
        let Some(reference) = &self.machine.spec.bootstrap.config_ref else { return Ok(None) };
        let what = || format!("{} {}", reference.kind, reference.name);
        let read = self.bootstrap.ok_or_else(|| NotFound::Missing { what: what() })?;
        read.found(what).map(Some)
    }
}

/// The writes for one machine of the MachineSet.
///
/// A machine that is going gets what matters for its going; its objects are left alone.
pub fn sync(set: &MachineSet, parts: MachineParts<'_>) -> Result<Synced, ObjectError> {
    if fleet::is_deleting(parts.machine) {
        return Ok(Synced { effects: sync_deleting(set, parts.machine).into_iter().collect(), problems: Vec::new() });
    }
    let mut synced = Synced { effects: sync_machine(set, parts.machine)?, problems: Vec::new() };
    let objects = [parts.infrastructure().map(Some), parts.bootstrap()];
    for object in objects {
        match object {
            Ok(object) => synced.effects.extend(object.into_iter().flat_map(|object| sync_object(set, object))),
            Err(problem) => synced.problems.push(problem),
        }
    }
    Ok(synced)
}

fn sync_machine(set: &MachineSet, machine: &Machine) -> Result<Vec<Effect>, ObjectError> {
    let metadata = &machine.metadata;
    let entries = metadata.managed_fields.as_deref();
    let target = Target::of(machine);
    let desired = synced_machine(set, machine)?;
    if let Some(entries) = remember(entries.unwrap_or_default(), managers::MACHINE_SET, &target.api_version) {
        return Ok(vec![replace_managed_fields(target, metadata, &entries)]);
    }
    let mut intent = encode(&desired);
    if is_applied_or_handed_over(&intent, &encode(machine), entries, managers::MACHINE_SET) {
        return Ok(Vec::new());
    }
    // An apply names its owner, and one that the garbage collector has set free since must not get it back.
    intent["metadata"]["resourceVersion"] = json!(metadata.resource_version);
    Ok(vec![apply(managers::MACHINE_SET, intent)])
}

/// Labels and annotations of an object of a provider, after its owners are in order.
fn sync_object(set: &MachineSet, object: &Value) -> Vec<Effect> {
    // Metadata that cannot be read has no owners that could be mended; the apply says what is wrong with it.
    let metadata: ObjectMeta = serde_json::from_value(object["metadata"].clone()).unwrap_or_default();
    let entries = metadata.managed_fields.as_deref().unwrap_or_default();
    let target = Target::of_value(object);
    let repaired = repair(entries, Layout::MACHINE_SET, &target.api_version);
    let intent = metadata_intent(set, object);
    let is_settled = is_applied_or_handed_over(&intent, object, Some(entries), managers::MACHINE_SET_METADATA);
    let repair = repaired.map(|entries| replace_managed_fields(target, &metadata, &entries));
    let apply = (!is_settled).then(|| apply(managers::MACHINE_SET_METADATA, intent));
    repair.into_iter().chain(apply).collect()
}

/// What of the spec matters while a machine goes, as a patch of what differs.
fn sync_deleting(set: &MachineSet, machine: &Machine) -> Option<Effect> {
    const FIELDS: [&str; 4] = ["readinessGates", "deletion", "minReadySeconds", "taints"];
    let mut desired = set.spec.template.spec.clone();
    desired.deletion.node_deletion_timeout_seconds.get_or_insert(DEFAULT_NODE_DELETION_TIMEOUT_SECONDS);
    let (desired, observed) = (encode(&desired), encode(&machine.spec));
    let mut spec = Map::new();
    for field in FIELDS {
        if let Some(change) = merge_of(desired.get(field), observed.get(field)) {
            spec.insert(field.to_owned(), change);
        }
    }
    (!spec.is_empty()).then(|| Effect::Patch(Patch::object(Target::of(machine), json!({ "spec": spec }))))
}

/// What makes `observed` into `desired` when it is merged. Nothing if they are equal.
fn merge_of(desired: Option<&Value>, observed: Option<&Value>) -> Option<Value> {
    match (desired, observed) {
        (desired, observed) if desired == observed => None,
        (Some(Value::Object(desired)), Some(Value::Object(observed))) => {
            let names = desired.keys().chain(observed.keys().filter(|name| !desired.contains_key(*name)));
            let changes =
                names.filter_map(|name| Some((name.clone(), merge_of(desired.get(name), observed.get(name))?)));
            Some(Value::Object(changes.collect()))
        }
        (desired, _) => Some(desired.cloned().unwrap_or_default()),
    }
}

fn encode(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).expect("an object of the API must encode")
}

#[cfg(test)]
mod tests;
