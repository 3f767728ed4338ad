//! Begins the move of a machine to another MachineSet, after it was rehearsed.
//!
//! A provider that refuses the new spec of a host after the move would leave the machine between two MachineSets for
//! ever. So the writes that end the move are first sent as a dry run, and only a machine that passed it is moved, or one
//! that is like one that did. What extensions have accepted is frozen with the move: the new MachineSet does not know what the machine was before.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;
use refit_api::cluster::{Machine, MachineSet};
use refit_api::hooks::Hook;
use refit_api::name_set::NameSet;
use refit_api::naming::{RandomSuffix, label_value_of};
use refit_api::owners;
use refit_api::pending_hooks;
use refit_api::vocabulary::annotations::{PENDING_ACKNOWLEDGE_MOVE, PENDING_HOOKS, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::labels::{DEPLOYMENT_NAME, MACHINE_TEMPLATE_HASH, SET_NAME};
use refit_api::vocabulary::managers;
use refit_api::vocabulary::refit::annotations::{MOVE_REFUSED, UPDATE_FAILED, UPDATE_PLAN, UPDATE_PROGRESS};
use serde_json::{Map, Value, json};

use super::complete_move::{self, Stage, stage};
use super::create::{Templates, create};
use super::objects::{ObjectError, name_of};
use super::refusal::Refusal;
use super::sync::MachineParts;
use crate::coverage::{ContentHash, FrozenPlan};
use crate::effect::{Apply, Effect, Patch, Target, Write};
use crate::fleet;
use crate::handover::Handover;
use crate::ownership::{self, NoIdentity};

/// The move of one machine from a MachineSet to another of the same MachineDeployment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Move<'a> {
    pub from: &'a MachineSet,
    pub to: &'a MachineSet,
    /// Of the MachineSet that the machine moves to.
    pub templates: Templates<'a>,
    pub parts: MachineParts<'a>,
    /// What extensions have accepted for the machines of the one MachineSet to become those of the other.
    pub plan: &'a FrozenPlan,
}

/// The writes that will end a move, to be sent as dry runs, in this order, before it begins.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a move that was not rehearsed does not begin"]
pub struct Rehearsal {
    pub writes: Vec<Write>,
    /// What a new machine would be made of: the applies that would create its host and its bootstrap configuration. Only
    /// where one of the writes is refused, it is asked whether the API server would take them.
    pub new_objects: Vec<Write>,
    /// Equal for machines that differ in nothing but who they are: what is accepted for one is for all of them.
    pub likeness: ContentHash,
}

/// A rehearsal that took place, and how it went.
#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsed {
    pub rehearsal: Rehearsal,
    pub outcome: Outcome,
}

/// How a rehearsal went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The API server would take every write.
    Accepted,
    /// It would not take the write to this object, and says why.
    Refused { object: Target, refusal: Refusal },
    /// It gave no answer about the write to this object. To be asked again.
    Unanswered { object: Target, words: String },
}

/// Why a machine does not move.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotMoved {
    #[error("MachineSet {from} is set to move replicas to {to}, but {to} only accepts Machines from {accepts}")]
    NotAccepted { from: String, to: String, accepts: NameSet },
    #[error("MachineSet {to} takes no Machines from {from}: it is set to move its own to {next}")]
    GivesAway { from: String, to: String, next: String },
    #[error("MachineSet {to} does not have the {label} label")]
    NoLabel { to: String, label: &'static str },
    #[error("MachineSets {from} and {to} are not of the same MachineDeployment")]
    OtherDeployment { from: String, to: String },
    #[error("Machine {machine} is not controlled by MachineSet {from}")]
    NotOurs { machine: String, from: String },
    #[error("Machine {0} is being deleted")]
    Deleting(String),
    #[error("Machine {machine} cannot move while it is {stage:?}")]
    Busy { machine: String, stage: Stage },
    #[error("Machine {machine} carries a plan of an update that cannot be read: {why}")]
    UnreadablePlan { machine: String, why: String },
    #[error("Machine {machine} was rehearsed for something else than it would become now")]
    Stale { machine: String },
    #[error("Machine {machine} stays: {refusal}")]
    Refused { machine: String, refusal: Box<Refused> },
    #[error("Machine {machine} stays for now: no answer about {kind} {name}: {words}", kind = object.kind, name = object.name)]
    Unanswered { machine: String, object: Box<Target>, words: String },
    #[error("Machine {machine} stays: what it would become cannot be computed")]
    Objects { machine: String, source: Box<ObjectError> },
    #[error(transparent)]
    Owner(#[from] NoIdentity),
}

/// A write that the API server would refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {name} would be refused: {words}", kind = object.kind, name = object.name)]
pub struct Refused {
    pub object: Target,
    pub words: String,
    /// Only another host can become what is wanted.
    pub for_good: bool,
}

impl Move<'_> {
    /// What to send as a dry run first.
    pub fn rehearse(&self) -> Result<Rehearsal, NotMoved> {
        self.check()?;
        let writes = complete_move::writes(self.to, self.templates, self.parts)
            .map_err(|source| NotMoved::Objects { machine: self.machine(), source: source.into() })?;
        let likeness = likeness(self.parts, &writes);
        Ok(Rehearsal { writes, new_objects: self.new_objects(), likeness })
    }

    /// The one write that changes the owner, if the rehearsal went well.
    ///
    /// It replaces the list of owners, so it is for exactly the version that was read.
    pub fn start(&self, rehearsed: &Rehearsed) -> Result<Effect, NotMoved> {
        if self.rehearse()? != rehearsed.rehearsal {
            return Err(NotMoved::Stale { machine: self.machine() });
        }
        match &rehearsed.outcome {
            Outcome::Accepted => {}
            Outcome::Refused { object, refusal } => {
                let refusal = self.refused(&rehearsed.rehearsal, object, refusal).into();
                return Err(NotMoved::Refused { machine: self.machine(), refusal });
            }
            Outcome::Unanswered { object, words } => {
                let (object, words) = (object.clone().into(), words.clone());
                return Err(NotMoved::Unanswered { machine: self.machine(), object, words });
            }
        }
        let machine = self.parts.machine;
        let merge = json!({ "metadata": {
            "ownerReferences": self.new_owners()?,
            "labels": { MACHINE_TEMPLATE_HASH: self.new_hash()?, SET_NAME: label_value_of(name_of(self.to)) },
            "annotations": self.marks()?,
        } });
        let resource_version = machine.metadata.resource_version.clone();
        Ok(Effect::Patch(Patch { resource_version, ..Patch::object(Target::of(machine), merge) }))
    }

    fn refused(&self, rehearsal: &Rehearsal, object: &Target, refusal: &Refusal) -> Refused {
        let write = rehearsal.writes.iter().find(|write| write.target() == object);
        let found = [self.parts.infrastructure().ok(), self.parts.bootstrap().ok().flatten()];
        let existing = found.into_iter().flatten().find(|found| Target::of_value(found) == *object);
        let for_good = write.is_some_and(|write| refusal.is_for_good(write, existing));
        Refused { object: object.clone(), words: refusal.words.clone(), for_good }
    }

    /// What the new MachineSet would make a machine of. Nothing where that cannot be computed: then nothing is known of it.
    fn new_objects(&self) -> Vec<Write> {
        // A name that no machine has, and the same each time: the number of the suffix follows from the uid.
        let uid = self.parts.machine.metadata.uid.as_deref().unwrap_or_default();
        let number = uid.bytes().fold(0, |number: u64, byte| number.wrapping_mul(31).wrapping_add(byte.into()));
        let created = create(self.to, self.templates, RandomSuffix::from_random(number)).unwrap_or_default();
        let is_object = |apply: &Apply| apply.manager == managers::MACHINE_SET && apply.target.kind != "Machine";
        let object = |effect| match effect {
            Effect::Apply(apply) if is_object(&apply) => Some(Write::Apply(apply)),
            Effect::Apply(_) | Effect::Patch(_) | Effect::Delete(_) | Effect::Emit(_) => None,
        };
        created.into_iter().filter_map(object).collect()
    }

    /// Both sides agree, and the machine is free to go.
    fn check(&self) -> Result<(), NotMoved> {
        let (from, to) = (|| name_of(self.from).to_owned(), || name_of(self.to).to_owned());
        let Handover { receive_from: accepts, move_to, .. } = handover_of(self.to);
        if !accepts.contains(name_of(self.from)) {
            return Err(NotMoved::NotAccepted { from: from(), to: to(), accepts });
        }
        // Without this, names that lead in a circle would send machines round for ever.
        if let Some(next) = move_to {
            return Err(NotMoved::GivesAway { from: from(), to: to(), next });
        }
        self.new_hash()?;
        if label(self.from, DEPLOYMENT_NAME) != label(self.to, DEPLOYMENT_NAME) {
            return Err(NotMoved::OtherDeployment { from: from(), to: to() });
        }
        let source = ownership::controller(self.from)?;
        if !owners::is_controlled_by_uid(self.owners(), &source.uid) {
            return Err(NotMoved::NotOurs { machine: self.machine(), from: from() });
        }
        match (fleet::is_deleting(self.parts.machine), stage(self.parts.machine)) {
            (true, _) => Err(NotMoved::Deleting(self.machine())),
            (false, Stage::Settled) => Ok(()),
            // Nobody is at work on its frozen plan, and what that was for is not wanted any more.
            (false, Stage::Updating) if fleet::is_free(self.parts.machine) => Ok(()),
            (false, stage) => Err(NotMoved::Busy { machine: self.machine(), stage }),
        }
    }

    /// The target takes the place of the source, as the target itself would write it: it has nothing to write then.
    fn new_owners(&self) -> Result<Vec<OwnerReference>, NotMoved> {
        let (source, target) = (ownership::controller(self.from)?, ownership::controller(self.to)?);
        let mut references = self.owners().to_vec();
        owners::replace(&mut references, &source.uid, target);
        Ok(references)
    }

    /// The plan, after what is left of one that was not run to its end.
    fn frozen_plan(&self) -> Result<FrozenPlan, NotMoved> {
        let annotations = self.parts.machine.metadata.annotations.as_ref();
        let left = annotations.and_then(|all| all.get(UPDATE_PLAN)).map(|text| FrozenPlan::decode(text)).transpose();
        match left {
            Ok(None) => Ok(self.plan.clone()),
            Ok(Some(left)) => Ok(self.plan.clone().after(&left, &fleet::progress_of(self.parts.machine).missing)),
            Err(error) => Err(NotMoved::UnreadablePlan { machine: self.machine(), why: error.words() }),
        }
    }

    /// The marks of the move, and the end of those of an update that failed.
    fn marks(&self) -> Result<Map<String, Value>, NotMoved> {
        let plan = self.frozen_plan()?.encode();
        let set = [(UPDATE_IN_PROGRESS, String::new()), (PENDING_ACKNOWLEDGE_MOVE, String::new()), (UPDATE_PLAN, plan)];
        let mut marks: Map<_, _> = set.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
        if fleet::has_annotation(self.parts.machine, MOVE_REFUSED) {
            marks.insert(MOVE_REFUSED.to_owned(), Value::Null);
        }
        if fleet::is_free(self.parts.machine) {
            let mut left = self.parts.machine.metadata.annotations.clone().unwrap_or_default();
            pending_hooks::mark_done(&mut left, Hook::UpdateMachine.name());
            marks.insert(PENDING_HOOKS.to_owned(), left.remove(PENDING_HOOKS).into());
            marks.extend([UPDATE_FAILED, UPDATE_PROGRESS].map(|key| (key.to_owned(), Value::Null)));
        }
        Ok(marks)
    }

    fn new_hash(&self) -> Result<&str, NotMoved> {
        let missing = || NotMoved::NoLabel { to: name_of(self.to).to_owned(), label: MACHINE_TEMPLATE_HASH };
        label(self.to, MACHINE_TEMPLATE_HASH).ok_or_else(missing)
    }

    fn owners(&self) -> &[OwnerReference] {
        self.parts.machine.metadata.owner_references.as_deref().unwrap_or_default()
    }

    fn machine(&self) -> String {
        fleet::name(self.parts.machine).to_owned()
    }
}

/// What the objects of a machine are and will be, without what tells them from those of other machines.
fn likeness(parts: MachineParts<'_>, writes: &[Write]) -> ContentHash {
    const WHO: [&str; 9] = [
        "/status",
        "/metadata/name",
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/generation",
        "/metadata/creationTimestamp",
        "/metadata/managedFields",
        "/metadata/ownerReferences",
        "/spec/providerID",
    ];
    const OF_MACHINE: [&str; 3] =
        ["/spec/infrastructureRef/name", "/spec/bootstrap/configRef/name", "/spec/bootstrap/dataSecretName"];
    let nobody = |object: &Value| {
        let mut object = object.clone();
        let pointers = WHO.iter().chain(OF_MACHINE.iter().filter(|_| object["kind"] == "Machine"));
        for pointer in pointers.copied().collect::<Vec<_>>() {
            object.pointer_mut(pointer).into_iter().for_each(|value| *value = Value::Null);
        }
        object
    };
    let Machine { metadata, spec, .. } = parts.machine;
    let ObjectMeta { labels, finalizers, .. } = metadata;
    // What is said of the machine tells it from others, too.
    let annotations: BTreeMap<_, _> =
        metadata.annotations.iter().flatten().filter(|(key, _)| *key != MOVE_REFUSED).collect();
    let metadata = json!({ "labels": labels, "annotations": annotations, "finalizers": finalizers });
    let machine = json!({ "kind": "Machine", "metadata": metadata, "spec": spec });
    let found = [Some(&machine), parts.infrastructure().ok(), parts.bootstrap().ok().flatten()];
    let found: Vec<Value> = found.into_iter().flatten().map(nobody).collect();
    let wanted: Vec<Value> = writes.iter().map(|write| nobody(write.content())).collect();
    ContentHash::of(&json!({ "found": found, "wanted": wanted }))
}

/// What is written on a MachineSet about machines that move.
pub fn handover_of(set: &MachineSet) -> Handover {
    set.metadata.annotations.as_ref().map(Handover::read).unwrap_or_default()
}

fn label<'a>(set: &'a MachineSet, key: &str) -> Option<&'a str> {
    set.metadata.labels.as_ref().and_then(|labels| labels.get(key)).map(String::as_str)
}

#[cfg(test)]
mod tests;
