//! What a hand-over would write, to be sent as dry runs, and the question to extensions that follows from what comes back.
//!
//! Both are made of the very writes that the hand-over consists of. So what extensions are asked about is what is written,
//! and an object that the API server would refuse is known before the first mark.

use refit_api::bootstrap::KubeadmConfig;
use refit_api::cluster::Machine;
use refit_api::hooks::{RawObject, RawObjectError};
use refit_api::vocabulary::annotations::UPDATE_IN_PROGRESS;
use serde_json::{Value, json};

use super::decision::{Decision, Step};
use super::desired;
use super::in_place;
use super::observed::{Observed, ObservedMachine, Refused};
use super::scale;
use super::sync::encoded;
use super::view::View;
use crate::coverage::kubeadm_config::{Flavour, prepare_objects};
use crate::coverage::{ContentHash, MachineObjects, Question, QuestionError};
use crate::effect::{Apply, Effect, Patch, Target, Write};
use crate::machine_set::refusal::Refusal;
use crate::machine_set::start_move::Rehearsal;

/// A hand-over that has not begun.
#[derive(Debug, Clone, PartialEq)]
pub struct HandOver {
    /// Every write but the mark.
    pub rehearsal: Rehearsal,
    /// Changes nothing of the host. Its answer has what defaults and webhooks of today make of the host as it is.
    pub current: Patch,
    pub infrastructure: Apply,
    pub machine: Apply,
    found: Found,
}

/// Objects as they are, and the configuration as it should be.
#[derive(Debug, Clone, PartialEq)]
struct Found {
    machine: Machine,
    config: KubeadmConfig,
    desired_config: KubeadmConfig,
    host: Value,
}

/// What the API server would make of the writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub current: Value,
    pub infrastructure: Value,
    pub machine: Value,
}

/// Why extensions cannot be asked about a Machine.
#[derive(Debug, thiserror::Error)]
pub enum HandOverError {
    #[error("an object of machine {machine}, or the template that it is to be made from, is not there")]
    Missing { machine: String },
    #[error("{object} as the API server would make it cannot be decoded")]
    Decode { object: &'static str, source: serde_json::Error },
    #[error("an object of machine {machine} cannot be shown to extensions")]
    Object { machine: String, source: RawObjectError },
    #[error("there is nothing to ask extensions about")]
    Question(#[from] QuestionError),
}

impl HandOver {
    /// Of this Machine, to what the control plane wants now.
    pub fn of(read: &Observed, machine: &str) -> Result<Self, HandOverError> {
        let missing = || HandOverError::Missing { machine: machine.to_owned() };
        let observed = &read.with_what_was_seen();
        let view = View::of(observed, read);
        let observed_machine = observed.machines.get(machine).ok_or_else(missing)?;
        let writes = writes(&view, observed_machine).ok_or_else(missing)?;
        let apply_of = |wanted: &Target| applies(&writes).find(|apply| apply.target == *wanted).cloned();
        let live = observed_machine.infrastructure.as_ref().ok_or_else(missing)?;
        let host = Target::of_value(live);
        Ok(Self {
            infrastructure: apply_of(&host).ok_or_else(missing)?,
            machine: apply_of(&Target::of(&observed_machine.machine)).ok_or_else(missing)?,
            current: Patch::object(host, json!({})),
            found: Found::of(observed, observed_machine).ok_or_else(missing)?,
            rehearsal: Rehearsal {
                new_objects: new_objects(observed),
                // No two machines of a control plane are rehearsed for each other.
                likeness: ContentHash::of(&json!(machine)),
                writes,
            },
        })
    }

    /// What it means that the API server refuses one of the writes.
    pub fn refused(&self, object: &Target, refusal: &Refusal) -> Refused {
        let write = self.rehearsal.writes.iter().find(|write| write.target() == object);
        let existing = [self.found.host.clone(), encoded(&self.found.config)];
        let existing = existing.iter().find(|found| Target::of_value(found) == *object);
        Refused {
            object: format!("{} {}", object.kind, object.name),
            words: refusal.words.clone(),
            is_for_good: write.is_some_and(|write| refusal.is_for_good(write, existing)),
        }
    }

    /// What extensions are asked.
    pub fn question(&self, seen: Seen) -> Result<Question, HandOverError> {
        let Found { machine, config, desired_config, host: _ } = &self.found;
        let name = machine.metadata.name.clone().unwrap_or_default();
        let object = |source| HandOverError::Object { machine: name.clone(), source };
        let desired_machine = serde_json::from_value(without_mark(seen.machine))
            .map_err(|source| HandOverError::Decode { object: "the Machine", source })?;
        let raw = |value: Value| RawObject::try_from(without_mark(value)).map_err(object);
        let (config, desired_config) = prepare_objects(config, desired_config).map_err(object)?;
        let current = MachineObjects {
            machine: machine.clone(),
            infrastructure_machine: raw(seen.current)?,
            bootstrap_config: Some(config),
        };
        let desired = MachineObjects {
            machine: desired_machine,
            infrastructure_machine: raw(seen.infrastructure)?,
            bootstrap_config: Some(desired_config),
        };
        Ok(Question::about_machine(current, desired)?)
    }
}

impl Found {
    fn of(observed: &Observed, machine: &ObservedMachine) -> Option<Self> {
        let config = machine.kubeadm_config.as_ref()?;
        let name = config.metadata.name.as_deref().unwrap_or_default();
        let desired = desired::kubeadm_config(observed, name, Flavour::Join, Some(config));
        let desired_config = serde_json::from_value(desired).expect("a KubeadmConfig of ours must decode");
        let host = machine.infrastructure.clone()?;
        Some(Self { machine: machine.machine.clone(), config: config.clone(), desired_config, host })
    }
}

/// Everything that the hand-over writes after the mark.
fn writes(view: &View<'_>, machine: &ObservedMachine) -> Option<Vec<Write>> {
    let mut decision = Decision::default();
    in_place::hand_over(view, machine, in_place::objects(view, machine)?, &mut decision);
    let write = |step| match step {
        Step::Write(Effect::Apply(apply)) => Some(Write::Apply(apply)),
        Step::Write(Effect::Patch(patch)) => Some(Write::Patch(patch)),
        Step::Write(Effect::Delete(_) | Effect::Emit(_))
        | Step::ForwardEtcdLeadership { .. }
        | Step::RemoveEtcdMember { .. }
        | Step::PrepareWorkloadCluster { .. } => None,
    };
    Some(decision.steps.into_iter().filter_map(write).collect())
}

fn applies(writes: &[Write]) -> impl Iterator<Item = &Apply> {
    writes.iter().filter_map(|write| match write {
        Write::Apply(apply) => Some(apply),
        Write::Patch(_) => None,
    })
}

/// What a new machine would be made of. Only where a write is refused it is asked whether the API server would take them.
fn new_objects(observed: &Observed) -> Vec<Write> {
    let Some(name) = scale::free_name(observed) else { return Vec::new() };
    let Some(infrastructure) = desired::infrastructure(observed, &name, None) else { return Vec::new() };
    let config = desired::kubeadm_config(observed, &name, Flavour::Join, None);
    [infrastructure, config].into_iter().map(|intent| Write::Apply(scale::creation(intent))).collect()
}

/// The mark of the update is no change of the machine.
fn without_mark(mut object: Value) -> Value {
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(UPDATE_IN_PROGRESS);
    }
    object
}
