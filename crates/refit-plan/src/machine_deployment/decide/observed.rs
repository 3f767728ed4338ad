//! Everything that the decision about a MachineDeployment may look at.

use std::collections::BTreeMap;

use jiff::Timestamp;
use refit_api::cluster::{Cluster, ContractVersionedObjectReference, Machine, MachineDeployment, MachineSet};
use refit_api::hooks::RawObject;
use refit_api::rollout::MachineRollout;

use crate::coverage::{ContentHash, Coverage};
use crate::reading::{Listed, Read, Unreadable};
use crate::waiting::WaitingOn;

/// Everything that the decision about a MachineDeployment may look at; what is not here cannot influence it.
///
/// Objects are borrowed: a pass looks at every machine once and copies none.
#[derive(Debug, Clone)]
pub struct Observed<'a> {
    pub now: Timestamp,
    /// A number for the name of a MachineSet that is made now.
    pub random: u64,
    pub cluster: &'a Cluster,
    pub deployment: &'a MachineDeployment,
    /// The MachineSets of the namespace that the selector matches or that the MachineDeployment controls. Whose each of
    /// them is, is decided here.
    pub machine_sets: Listed<&'a MachineSet>,
    /// The machines of the namespace that the selector matches, by name. Those of no MachineSet of ours are passed over.
    pub machines: Listed<&'a Machine>,
    /// What the MachineDeployment and its MachineSets refer to as their templates.
    pub templates: &'a [Template],
    /// What the machines of MachineSets were made from, by their own objects, where the template of it does not exist any
    /// more.
    pub made_from: &'a [MachinesMadeFrom],
    /// What extensions have answered, by [`Ask::key`](super::Ask::key).
    ///
    /// An answer is good as long as the same extensions are registered; the shell forgets all of them when that changes.
    /// One that is undecided is good for one pass: with the next, the extensions are to be asked again.
    pub answers: &'a BTreeMap<ContentHash, Coverage>,
    /// What its MachineSets wait for by their last decisions, and what the API server said to the last writes. For people only:
    /// nothing else follows from it.
    pub told: &'a [WaitingOn],
    /// The MachineRollouts that the MachineDeployment owns, and those that name it and that nobody owns. Nothing: the API server does not have the kind, and rollouts are not
    /// written down.
    pub rollouts: Option<&'a [&'a MachineRollout]>,
    /// Which extensions are registered for the namespace, and in which state: it changes when that does. The answers are
    /// theirs. Nothing: it is not known.
    pub registered: Option<ContentHash>,
}

/// What came of looking for a template.
#[derive(Debug, Clone)]
pub struct Template {
    pub reference: ContractVersionedObjectReference,
    pub read: Read<RawObject>,
}

/// What the machines of a MachineSet were made from, by their own objects.
#[derive(Debug, Clone)]
pub struct MachinesMadeFrom {
    /// The name of the MachineSet.
    pub machine_set: String,
    /// The template that is gone.
    pub reference: ContractVersionedObjectReference,
    /// What it said, as all machines tell it; or why that is not known.
    pub template: Result<RawObject, String>,
}

impl Observed<'_> {
    /// What the machines of the MachineSet say of a template that is gone.
    pub(super) fn made_from(
        &self,
        set: &MachineSet,
        reference: &ContractVersionedObjectReference,
    ) -> Result<&RawObject, String> {
        let is_it = |made: &&MachinesMadeFrom| {
            Some(&made.machine_set) == set.metadata.name.as_ref() && made.reference == *reference
        };
        match self.made_from.iter().find(is_it) {
            Some(made) => made.template.as_ref().map_err(Clone::clone),
            None => Err("nobody has looked at the objects of its machines".to_owned()),
        }
    }

    /// What the reference leads to.
    pub(super) fn template(&self, reference: &ContractVersionedObjectReference) -> Read<&RawObject> {
        match self.templates.iter().find(|template| template.reference == *reference).map(|template| &template.read) {
            Some(Read::Found(object)) => Read::Found(object),
            Some(Read::Missing) => Read::Missing,
            Some(Read::Unreadable(problem)) => Read::Unreadable(problem.clone()),
            None => Read::Unreadable(Unreadable {
                what: format!("{} {}", reference.kind, reference.name),
                why: "nobody has looked for it".to_owned(),
            }),
        }
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.deployment.metadata.deletion_timestamp.is_some()
    }
}
