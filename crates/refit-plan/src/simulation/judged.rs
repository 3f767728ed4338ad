//! A simulation as the checker sees it.

use std::collections::BTreeSet;

use refit_api::policy::InPlacePolicy;

use super::entry::{Answer, Entry};
use super::number::MachineNumber;
use super::scenario::{Scenario, Strategy};
use super::world::{MachineSet, Provider, State, World};
use crate::check;
use crate::handover::Scaffolding;

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
            | Self::Paused(_)
            | Self::Strategy(_)
            | Self::Policy(_)
            | Self::KeepOriginals(_)
            | Self::Extensions(_)
            | Self::Unavailable(_)
            | Self::Available(_)
            | Self::Fail(_)
            | Self::Trouble(_)
            | Self::Try(_)
            | Self::Retry(_)
            | Self::Refuse { .. }
            | Self::Accept(_) => check::Actor::User,
        }
    }
}

impl World {
    /// What the run is held to.
    pub(super) fn rules(&self) -> check::Rules {
        check::Rules {
            on_delete: self.strategy == Strategy::OnDelete,
            is_paused: self.paused,
            is_covered: self.answer == Answer::Covered,
            is_known: self.answer != Answer::Undecided,
            is_required: self.policy == InPlacePolicy::Require,
            may_update: self.policy != InPlacePolicy::Never,
            keep_originals: self.keep_originals,
        }
    }

    pub(super) fn judged(&self, scenario: &Scenario) -> check::World {
        let limits = scenario.limits_under(self.strategy, self.replicas);
        let limits = limits.expect("a scenario's limits must be validated");
        let named = |set: &MachineSet| match set.handover.scaffolding.as_ref()? {
            Scaffolding::Machine(name) => MachineNumber::parse(name),
            Scaffolding::Requested => None,
        };
        let named: BTreeSet<MachineNumber> = self.sets.values().filter_map(named).collect();
        let sets = self.sets.iter().map(|(number, set)| {
            (number.to_string(), check::Set { template: set.template.clone(), replicas: set.spec_replicas })
        });
        let machines = self.machines.iter().map(|(number, machine)| {
            let machine = check::Machine {
                is_scaffolding: machine.scaffolding || named.contains(number),
                set: machine.set.to_string(),
                is_updating: machine.is_updating(),
                is_started: machine.is_under_update(),
                is_unacknowledged: machine.state == State::Pending { acknowledged: false },
                is_failed: machine.is_over(),
                refusal: match machine.provider {
                    Provider::Accepts => None,
                    Provider::Refuses { for_good } => Some(check::Refusal { for_good }),
                },
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
}
