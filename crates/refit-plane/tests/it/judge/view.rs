//! All objects after a write, and what the checker sees of them.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt;
use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_api::rollout::MachineRollout;
use refit_api::vocabulary::annotations::{ACKNOWLEDGED_MOVE, PENDING_ACKNOWLEDGE_MOVE, UPDATE_IN_PROGRESS};
use refit_api::vocabulary::condition_types::AVAILABLE;
use refit_api::vocabulary::refit::annotations::{HOLD, MOVE_REFUSED, SCAFFOLDING, UPDATE_FAILED, UPDATE_PROGRESS};
use refit_plan::check;

/// More than there are machines: the checker does not judge how many there are, as a write is less than a pass.
const NO_LIMIT: i32 = 1_000;

#[derive(Debug, Default)]
pub struct View {
    pub deployment: Option<MachineDeployment>,
    pub sets: BTreeMap<String, MachineSet>,
    /// Those that are being deleted, too.
    pub machines: BTreeMap<String, Machine>,
    /// Machines whose deletion refit has asked for: they count no more.
    pub given_up: BTreeSet<String>,
    pub rollouts: BTreeMap<String, MachineRollout>,
}

impl View {
    /// A machine is like this now.
    pub fn note(&mut self, machine: &Machine, is_gone: bool, is_users: bool) {
        let name = machine.name_any();
        if machine.metadata.deletion_timestamp.is_some() && !is_users {
            self.given_up.insert(name.clone());
        }
        if is_gone {
            self.given_up.remove(&name);
            self.machines.remove(&name);
        } else {
            self.machines.insert(name, machine.clone());
        }
    }

    /// A MachineRollout is like this now. Nothing about it is wrong by itself.
    pub fn note_rollout(&mut self, rollout: &MachineRollout, is_gone: bool) -> Vec<String> {
        match is_gone {
            true => self.rollouts.remove(&rollout.name_any()),
            false => self.rollouts.insert(rollout.name_any(), rollout.clone()),
        };
        Vec::new()
    }

    /// Machines that are being updated, or are not what is wanted.
    pub fn has_waiting(&self) -> bool {
        let is_outdated = |machine: &Machine| {
            let set = controllers(machine).into_iter().find_map(|owner| self.sets.get(&owner));
            set.is_some_and(|set| !self.is_wanted(set))
        };
        self.alive().any(|machine| is_updating(machine) || is_outdated(machine))
    }

    /// How many machines the user wants.
    pub fn replicas(&self) -> i32 {
        self.deployment.as_ref().and_then(|it| it.spec.replicas).unwrap_or_default()
    }

    /// Machines that nobody has asked to delete.
    pub fn alive(&self) -> impl Iterator<Item = &Machine> {
        self.machines.values().filter(|machine| machine.metadata.deletion_timestamp.is_none())
    }

    /// Machines that do their work, and that nobody is about to change.
    pub fn available(&self) -> usize {
        self.alive().filter(|machine| is_available(machine)).count()
    }

    /// All is as the user wants it, and nobody has orders left.
    pub fn is_settled(&self) -> bool {
        let replicas = usize::try_from(self.replicas()).unwrap_or_default();
        let is_at_rest = |(name, set): (&String, &MachineSet)| {
            let own = self.machines.values().filter(|machine| controllers(machine).contains(name)).count();
            own == usize::try_from(set.spec.replicas.unwrap_or_default()).unwrap_or_default()
                && (own == 0 || self.is_wanted(set))
                && ![HOLD, SCAFFOLDING].iter().any(|mark| set.annotations().contains_key(*mark))
        };
        self.machines.len() == replicas && self.available() == replicas && self.sets.iter().all(is_at_rest)
    }

    fn is_wanted(&self, set: &MachineSet) -> bool {
        Some(&set.spec.template.spec) == self.deployment.as_ref().map(|it| &it.spec.template.spec)
    }

    pub fn world(&self) -> check::World {
        let template = self.deployment.as_ref().map(|it| it.spec.template.spec.infrastructure_ref.name.clone());
        let sets = self.sets.iter().map(|(name, set)| {
            let template = set.spec.template.spec.infrastructure_ref.name.clone();
            (name.clone(), check::Set { template, replicas: set.spec.replicas.unwrap_or_default() })
        });
        let counted = self.machines.iter().filter(|(name, _)| !self.given_up.contains(*name));
        check::World {
            replicas: self.replicas(),
            max_surge: NO_LIMIT,
            max_unavailable: NO_LIMIT,
            template: template.unwrap_or_default(),
            sets: sets.collect(),
            machines: counted.map(|(name, machine)| (name.clone(), self.machine(name, machine))).collect(),
        }
    }

    fn machine(&self, name: &str, machine: &Machine) -> check::Machine {
        let has = |mark: &str| machine.annotations().contains_key(mark);
        check::Machine {
            set: controllers(machine).into_iter().next().unwrap_or_default(),
            is_updating: has(UPDATE_IN_PROGRESS),
            is_started: false,
            is_unacknowledged: has(PENDING_ACKNOWLEDGE_MOVE) && !self.is_acknowledged(name),
            is_failed: has(UPDATE_FAILED) || is_free(machine),
            refusal: refusal(machine),
            is_scaffolding: has(SCAFFOLDING) || self.scaffolding().contains(name),
            is_made_unavailable: false,
            is_deleting: machine.metadata.deletion_timestamp.is_some(),
        }
    }

    /// The MachineDeployment has said that the replicas of a MachineSet count this machine.
    fn is_acknowledged(&self, machine: &str) -> bool {
        let acknowledged = self.sets.values().filter_map(|set| set.annotations().get(ACKNOWLEDGED_MOVE));
        acknowledged.flat_map(|names| names.split(',')).any(|name| name == machine)
    }

    /// Machines that stand in for others, as their MachineSets say.
    fn scaffolding(&self) -> BTreeSet<String> {
        self.sets.values().filter_map(|set| set.annotations().get(SCAFFOLDING).cloned()).collect()
    }
}

/// The names of those who control a machine. There must be one.
pub fn controllers(machine: &Machine) -> Vec<String> {
    let controllers = machine.owner_references().iter().filter(|owner| owner.controller == Some(true));
    controllers.map(|owner| owner.name.clone()).collect()
}

pub fn is_updating(machine: &Machine) -> bool {
    machine.annotations().contains_key(UPDATE_IN_PROGRESS)
}

/// Whether nobody is at work on it: its extension has answered with failure and is not asked again yet, or is not registered any more.
fn is_free(machine: &Machine) -> bool {
    let progress = machine.annotations().get(UPDATE_PROGRESS);
    progress.is_some_and(|it| it.contains(r#""over":true"#) || it.contains(r#""gone":true"#))
}

/// The provider does not let it become something else, by what stands on it.
fn refusal(machine: &Machine) -> Option<check::Refusal> {
    let text = machine.annotations().get(MOVE_REFUSED)?;
    Some(check::Refusal { for_good: text.contains(r#""forGood":true"#) })
}

pub fn is_available(machine: &Machine) -> bool {
    let conditions = &machine.status.conditions;
    let says_so = conditions.iter().any(|condition| condition.type_ == AVAILABLE && condition.status == "True");
    says_so && !is_updating(machine)
}
