//! Ends the move of a machine: its objects get the spec of the new MachineSet, and its update may begin.
//!
//! The host's object comes first, as it is the one that is most likely refused. Nobody acts on the new specs before the
//! last patch: it gives the Machine its new version, names the hook to call and takes off the mark of the move, all at once.
//! Until it is written every write is repeated in the next pass. What extensions have accepted is on the Machine since
//! the move.
//!
//! An object that is what it should be is not written to, not even for its mark: whoever runs the update compares it with
//! the same template. Upstream writes to all three in any case, and to the Machine twice. The Machine controller tells of
//! the start, when the update is not over at once.

use jiff::Timestamp;
use refit_api::cluster::{Machine, MachineSet};
use refit_api::hooks::Hook;
use refit_api::pending_hooks;
use refit_api::vocabulary::annotations::{PENDING_ACKNOWLEDGE_MOVE, PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::managers;
use refit_api::vocabulary::refit::annotations::{UPDATE_PLAN, UPDATE_PROGRESS};
use serde_json::{Map, Value, json};

use super::clone;
use super::create::Templates;
use super::objects::ObjectError;
use super::sync::MachineParts;
use crate::coverage::FrozenPlan;
use crate::effect::{Apply, Effect, Patch, Target, Write};
use crate::fleet;
use crate::machine::progress::Progress;
use crate::ownership;

/// How far a machine is on its way from one MachineSet to another and through its update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// No update is under way. [`start_move`](super::start_move) leads out.
    Settled,
    /// It has its new owner, and that one does not count it yet. The MachineDeployment's acknowledgement leads out.
    Moved,
    /// It is counted, and its update does not begin before its objects have their new spec. [`complete_move`] leads out.
    Released,
    /// The Machine controller runs the update.
    Updating,
    /// The update is done, and the Machine controller has marks left to take off.
    Finishing,
}

/// Why a move is not completed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompleteError {
    #[error("Machine {0} is being deleted: it is not updated any more")]
    Deleting(String),
    #[error("Machine {name} is not waiting for its update to begin: it is {stage:?}")]
    NotWaiting { name: String, stage: Stage },
    #[error("the objects of Machine {name} cannot be computed")]
    Objects { name: String, source: Box<ObjectError> },
}

/// How far the machine is, by the marks that it carries.
pub fn stage(machine: &Machine) -> Stage {
    match (fleet::has_annotation(machine, UPDATE_IN_PROGRESS), fleet::is_hook_pending(machine)) {
        (false, false) => Stage::Settled,
        (false, true) => Stage::Finishing,
        (true, true) => Stage::Updating,
        (true, false) if fleet::is_pending_acknowledge(machine) => Stage::Moved,
        (true, false) => Stage::Released,
    }
}

/// The writes that end the move of a machine which its MachineSet may begin to update.
///
/// The caller knows that the move is acknowledged, or that nobody will.
pub fn complete_move(
    set: &MachineSet,
    templates: Templates<'_>,
    parts: MachineParts<'_>,
    now: Timestamp,
) -> Result<Vec<Effect>, CompleteError> {
    let machine = parts.machine;
    let name = || fleet::name(machine).to_owned();
    if fleet::is_deleting(machine) {
        return Err(CompleteError::Deleting(name()));
    }
    match stage(machine) {
        Stage::Moved | Stage::Released => {}
        stage @ (Stage::Settled | Stage::Updating | Stage::Finishing) => {
            return Err(CompleteError::NotWaiting { name: name(), stage });
        }
    }
    let failed = |source: ObjectError| CompleteError::Objects { name: name(), source: source.into() };
    let writes = writes(set, templates, parts).map_err(failed)?;
    Ok(writes.into_iter().map(|write| handed_over(write.into(), machine, now)).collect())
}

/// The patch that hands the update over says when that was: the time of an update counts from there. It is the only thing
/// that is not rehearsed, as it is not known before.
fn handed_over(effect: Effect, machine: &Machine, now: Timestamp) -> Effect {
    let Effect::Patch(mut patch) = effect else { return effect };
    let plan = machine.metadata.annotations.as_ref().and_then(|own| own.get(UPDATE_PLAN));
    let plan = plan.and_then(|text| FrozenPlan::decode(text).ok()).map(|plan| plan.question);
    patch.merge["metadata"]["annotations"][UPDATE_PROGRESS] = json!(Progress::handed_over(plan, now).encode());
    Effect::Patch(patch)
}

/// The writes that end the move, in their order: host, bootstrap configuration, Machine.
///
/// The same before the move, when they are sent as dry runs, and after it, when they are made: none of them depends on
/// who the owner is, or on a version.
pub fn writes(set: &MachineSet, templates: Templates<'_>, parts: MachineParts<'_>) -> Result<Vec<Write>, ObjectError> {
    let objects = changed_objects(set, templates, parts)?.into_iter().map(apply);
    Ok(objects.chain([begin_update(set, parts.machine)?]).collect())
}

/// The objects of a machine that its new MachineSet wants otherwise: host, bootstrap configuration.
fn changed_objects(
    set: &MachineSet,
    templates: Templates<'_>,
    parts: MachineParts<'_>,
) -> Result<Vec<Value>, ObjectError> {
    let owner = ownership::owner(set)?;
    let host = Some((templates.infrastructure_of(set), parts.infrastructure()?));
    let bootstrap = match (templates.bootstrap_of(set)?, parts.bootstrap()?) {
        (Some(template), Some(existing)) => Some((template, existing)),
        (None, None) => None,
        (None, Some(_)) => return Err(incomplete(set, "bootstrap template, although its Machine has a configuration")),
        (Some(_), None) => return Err(incomplete(set, "Machine that its bootstrap template is for")),
    };
    let mut changed = Vec::new();
    for (template, existing) in host.into_iter().chain(bootstrap) {
        let updated = clone::updated_object(template, existing, &owner)?;
        if !clone::is_made_of(template, existing) {
            changed.push(updated);
        }
    }
    Ok(changed)
}

fn apply(intent: Value) -> Write {
    Write::Apply(Apply { target: Target::of_value(&intent), manager: managers::MACHINE_SET, intent })
}

/// What changes of the Machine's own spec, as a merge patch. The rest of its template reaches it without a rollout.
fn new_spec(set: &MachineSet, machine: &Machine) -> Map<String, Value> {
    let (wanted, found) = (&set.spec.template.spec, &machine.spec);
    let fields = [
        ("version", &wanted.version, &found.version),
        ("failureDomain", &wanted.failure_domain, &found.failure_domain),
    ];
    let changed = fields.into_iter().filter(|(_, wanted, found)| wanted != found);
    changed.map(|(name, wanted, _)| (name.to_owned(), json!(wanted))).collect()
}

/// From this patch on the Machine controller runs the update.
fn begin_update(set: &MachineSet, machine: &Machine) -> Result<Write, ObjectError> {
    let target = Target::of(machine);
    // Without a uid, the patch could reach another Machine of the same name.
    if target.uid.as_deref().is_none_or(str::is_empty) {
        return Err(ObjectError::NoUid { name: target.name });
    }
    let mut annotations = machine.metadata.annotations.clone().unwrap_or_default();
    pending_hooks::mark_pending(&mut annotations, Hook::UpdateMachine.name());
    let mut merge = json!({ "metadata": { "annotations": {
        PENDING_ACKNOWLEDGE_MOVE: null,
        PENDING_HOOKS: annotations.get(PENDING_HOOKS),
    } } });
    let spec = new_spec(set, machine);
    if !spec.is_empty() {
        merge["spec"] = Value::Object(spec);
    }
    Ok(Write::Patch(Patch::object(target, merge)))
}

fn incomplete(set: &MachineSet, what: &'static str) -> ObjectError {
    ObjectError::Incomplete { name: super::objects::name_of(set).to_owned(), what }
}

#[cfg(test)]
mod tests;
