//! Everything that the decision about a MachineDeployment may look at.

use std::collections::BTreeMap;

use jiff::Timestamp;
use refit_api::cluster::{Cluster, ContractVersionedObjectReference, Machine, MachineDeployment, MachineSet};
use refit_api::hooks::RawObject;

use crate::coverage::{ContentHash, Coverage};
use crate::reading::{Listed, Read, Unreadable};

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
    /// What extensions have answered, by [`Ask::key`](super::Ask::key).
    ///
    /// An answer is good as long as the same extensions are registered; the shell forgets all of them when that changes.
    /// One that is undecided is good for one pass: with the next, the extensions are to be asked again.
    pub answers: &'a BTreeMap<ContentHash, Coverage>,
}

/// What came of looking for a template.
#[derive(Debug, Clone)]
pub struct Template {
    pub reference: ContractVersionedObjectReference,
    pub read: Read<RawObject>,
}

impl Observed<'_> {
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
