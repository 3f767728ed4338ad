//! What a decision about a MachineSet looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use refit_api::cluster::{Cluster, Machine, MachineDeployment, MachineSet};
use serde_json::Value;

use crate::coverage::Accepted;
use crate::machine_set::create::Templates;
use crate::machine_set::orphans::ProviderObjects;
use crate::machine_set::start_move::Rehearsed;
use crate::machine_set::sync::MachineParts;
use crate::reading::{Listed, NotFound, Read};

/// Everything that a decision may look at; what is not here cannot influence it.
#[derive(Debug, Clone)]
pub struct Observed {
    pub now: Timestamp,
    /// Numbers for the names of Machines that are made now. No more are made in a pass than there are numbers;
    /// [`CREATIONS_PER_PASS`](super::CREATIONS_PER_PASS) are enough.
    pub random: Vec<u64>,
    pub cluster: Cluster,
    pub machine_set: MachineSet,
    /// The MachineDeployment that the MachineSet's label names. Not looked at if it has no such label.
    pub deployment: Read<MachineDeployment>,
    /// The objects of providers that the selector finds. To be read before the Machines: then the Machine of each that
    /// is seen here is seen, too.
    pub provider_objects: ProviderObjects,
    /// All Machines that the selector finds, of whomever they are.
    pub machines: Listed<ObservedMachine>,
    pub templates: SetTemplates,
    /// What the Cluster refers to. Nothing if it refers to none.
    pub control_plane: Option<Read<Value>>,
    /// The MachineSet that machines are to move to. Nothing if none are.
    pub move_target: Option<MoveTarget>,
}

/// A Machine and the objects that it refers to, shared with whoever read them: a pass over many machines copies none.
#[derive(Debug, Clone)]
pub struct ObservedMachine {
    pub machine: Arc<Machine>,
    pub infrastructure: Arc<Read<Value>>,
    /// Nothing if it refers to none.
    pub bootstrap: Option<Arc<Read<Value>>>,
    /// An earlier decision named it in [`Decision::synced`](super::Decision::synced), and its versions, those of its
    /// objects, and the generation and labels of the MachineSet are still the same. It is not compared again: that is
    /// what a pass over many machines costs.
    pub is_synced: bool,
}

/// What came of reading the templates of a MachineSet.
#[derive(Debug, Clone)]
pub struct SetTemplates {
    pub infrastructure: Read<Value>,
    /// Nothing where the user brought the bootstrap data.
    pub bootstrap: Option<Read<Value>>,
}

/// The MachineSet that machines are to move to, and what is known of the change.
#[derive(Debug, Clone)]
pub struct MoveTarget {
    pub machine_set: Read<MachineSet>,
    pub templates: SetTemplates,
    /// What extensions said of the change from this MachineSet to the other: the very answer that the MachineDeployment has
    /// decided by, found by [`answer_key`](crate::machine_deployment::decide::answer_key). Its plan goes with every machine
    /// that moves. Nothing if nobody was asked; where the
    /// decision depends on it, it says so in [`Decision::ask`](super::Decision::ask).
    pub verdict: Option<Accepted>,
    /// The dry runs that were made, by Machine. One of something else than what is wanted now does not count. Who makes
    /// them forgets a refusal before the pass that the decision asks for: what refused it may have changed.
    pub rehearsed: BTreeMap<String, Rehearsed>,
}

impl ObservedMachine {
    pub(super) fn parts(&self) -> MachineParts<'_> {
        MachineParts {
            machine: &self.machine,
            infrastructure: &self.infrastructure,
            bootstrap: self.bootstrap.as_deref(),
        }
    }

    pub(super) fn name(&self) -> &str {
        crate::fleet::name(&self.machine)
    }
}

impl SetTemplates {
    /// The templates, if the MachineSet's all are there.
    pub(super) fn found(&self, set: &MachineSet) -> Result<Templates<'_>, NotFound> {
        let spec = &set.spec.template.spec;
        let infrastructure = &spec.infrastructure_ref;
        let infrastructure =
            self.infrastructure.found(|| format!("{} {}", infrastructure.kind, infrastructure.name))?;
        let Some(reference) = &spec.bootstrap.config_ref else {
            return Ok(Templates { infrastructure, bootstrap: None });
        };
        let what = || format!("{} {}", reference.kind, reference.name);
        let read = self.bootstrap.as_ref().ok_or_else(|| NotFound::Missing { what: what() })?;
        Ok(Templates { infrastructure, bootstrap: Some(read.found(what)?) })
    }
}
