//! What belongs to the MachineDeployment.

use std::collections::BTreeMap;

use refit_api::cluster::{Machine, MachineSet};
use refit_api::owners;

use super::{Observed, Problem, views};
use crate::effect::Effect;
use crate::machine_deployment::MachineView;
use crate::machine_deployment::ownership::{Claim, claim};

/// The MachineSets of a MachineDeployment, and their machines.
#[derive(Default)]
pub(super) struct Owned<'a> {
    pub machine_sets: Vec<&'a MachineSet>,
    /// The machines that these MachineSets control, each once, as the planner sees them.
    pub machines: Vec<MachineView<'a>>,
    /// How many of them each MachineSet has, by name. One that has none is not here.
    counts: BTreeMap<&'a str, usize>,
    /// Writes that make MachineSets its own which nobody controls. Before they went through, nobody knows how many
    /// machines there are, so nothing else is done.
    pub adoptions: Vec<Effect>,
    /// Writes that label what is its own.
    pub labels: Vec<Effect>,
    /// The MachineDeployment is being deleted, and a MachineSet that its selector finds has no controller: it was deleted with
    /// `--cascade=orphan`, whatever is left of the finalizer that says so.
    pub has_set_free: bool,
}

impl<'a> Owned<'a> {
    /// Fails if a list is not whole, or if it cannot be told whose a MachineSet is.
    pub fn of(observed: &Observed<'a>) -> Result<Self, Problem> {
        let listed = observed.machine_sets.all().map_err(Clone::clone)?;
        let machines = observed.machines.all().map_err(Clone::clone)?;
        let mut owned = Self::default();
        for &set in listed {
            owned.take(set, claim(observed.deployment, set)?);
        }
        owned.count(machines);
        Ok(owned)
    }

    fn take(&mut self, set: &'a MachineSet, claim: Claim) {
        match claim {
            Claim::Ours(labels) => {
                self.machine_sets.push(set);
                self.labels.extend(labels);
            }
            Claim::Adopt(effects) => self.adoptions.extend(effects),
            Claim::SetFree => self.has_set_free = true,
            Claim::NotOurs => {}
        }
    }

    /// Whether the MachineSet has a machine, or is to have one.
    pub fn has_machines(&self, set: &MachineSet) -> bool {
        let name = set.metadata.name.as_deref().unwrap_or_default();
        let is_to_have = [set.spec.replicas, set.status.replicas].into_iter().flatten().any(|count| count > 0);
        is_to_have || self.counts.contains_key(name)
    }

    /// How many machines the MachineSet has.
    pub fn count_of(&self, set: &MachineSet) -> usize {
        self.counts.get(set.metadata.name.as_deref().unwrap_or_default()).copied().unwrap_or_default()
    }

    /// By uid of the controller: a machine that only names one of the MachineSets, or is of one that is gone, is not
    /// theirs.
    fn count(&mut self, machines: &[&'a Machine]) {
        let identity = |set: &&'a MachineSet| {
            let uid = set.metadata.uid.as_deref().filter(|uid| !uid.is_empty())?;
            Some((uid, set.metadata.name.as_deref().unwrap_or_default()))
        };
        let names: BTreeMap<&str, &str> = self.machine_sets.iter().filter_map(identity).collect();
        for machine in machines {
            let references = machine.metadata.owner_references.as_deref().unwrap_or_default();
            let controller = owners::controller_of(references);
            if let Some(set) = controller.and_then(|controller| names.get(controller.uid.as_str())) {
                self.machines.push(views::machine(machine, set));
                *self.counts.entry(set).or_default() += 1;
            }
        }
    }
}
