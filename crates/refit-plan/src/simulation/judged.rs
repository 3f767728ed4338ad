//! A simulation as the checker sees it.

use std::collections::BTreeSet;

use refit_api::policy::InPlacePolicy;

use super::entry::Entry;
use super::number::{MachineNumber, SetNumber};
use super::scenario::{Scenario, Strategy};
use super::world::{State, World};
use crate::check;
use crate::handover::Scaffolding;

impl Scenario {
    /// What the run is held to.
    pub(super) fn rules(&self) -> check::Rules {
        check::Rules {
            on_delete: self.strategy == Strategy::OnDelete,
            is_covered: self.in_place,
            is_required: self.policy == InPlacePolicy::Require,
            may_update: self.policy != InPlacePolicy::Never,
            keep_originals: self.keep_originals,
        }
    }
}

impl Entry {
    /// Who does it.
    pub(super) fn judged(&self) -> check::Actor {
        match self {
            Self::Deployment => check::Actor::Deployment,
            Self::MachineSet(number) => check::Actor::MachineSet(number.to_string()),
            Self::Machine(number) => check::Actor::Machine(number.to_string()),
            Self::Delete(_)
            | Self::Replicas(_)
            | Self::Template(_)
            | Self::Unavailable(_)
            | Self::Available(_)
            | Self::Fail(_)
            | Self::Retry(_) => check::Actor::User,
        }
    }
}

impl World {
    pub(super) fn judged(&self, scenario: &Scenario) -> check::World {
        let limits = scenario.limits(self.replicas).expect("a scenario's limits must be validated");
        let scaffolding: BTreeSet<MachineNumber> =
            self.sets.keys().filter_map(|&number| self.scaffolding(number)).collect();
        let sets = self.sets.iter().map(|(number, set)| {
            (number.to_string(), check::Set { template: set.template.clone(), replicas: set.spec_replicas })
        });
        let machines = self.machines.iter().map(|(number, machine)| {
            let machine = check::Machine {
                is_scaffolding: scaffolding.contains(number),
                set: machine.set.to_string(),
                is_updating: machine.is_updating(),
                is_started: machine.state == State::Started,
                is_unacknowledged: machine.state == State::Pending { acknowledged: false },
                is_failed: machine.has_failed(),
                is_made_unavailable: machine.unavailable,
                is_deleting: machine.deleting,
            };
            (number.to_string(), machine)
        });
        check::World {
            replicas: self.replicas,
            max_surge: limits.max_surge,
            max_unavailable: limits.max_unavailable,
            template: self.template.clone(),
            sets: sets.collect(),
            machines: machines.collect(),
        }
    }

    /// The machine that stands in for others. One that was asked for and has no name yet is the youngest, once all are there.
    fn scaffolding(&self, number: SetNumber) -> Option<MachineNumber> {
        let set = self.sets.get(&number)?;
        match set.handover.scaffolding.as_ref()? {
            Scaffolding::Machine(name) => MachineNumber::parse(name),
            Scaffolding::Requested => {
                let machines: Vec<MachineNumber> = self.machines_of(number).map(|(machine, _)| machine).collect();
                let is_there = i64::try_from(machines.len()).is_ok_and(|count| count >= i64::from(set.spec_replicas));
                machines.last().copied().filter(|_| is_there)
            }
        }
    }
}
