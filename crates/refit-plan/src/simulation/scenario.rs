//! What a simulation starts from.

mod whole_number;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_api::decode::{self, DecodeError};
use refit_api::int_or_percent::{Amount, AmountError, Fenceposts};
use refit_api::policy::InPlacePolicy;
use serde::Deserialize;

use super::entry::Entry;
use super::number::{MachineNumber, SetNumber};

/// The most machines that a simulation runs. A trace names all of them in every line.
pub const MAX_REPLICAS: i32 = 10_000;
/// The most MachineSets that a simulation starts with. They are in every line, too.
pub const MAX_MACHINE_SETS: usize = 1_000;
/// The most entries of a schedule. Each is a line.
pub const MAX_SCHEDULE: usize = 10_000;

/// A MachineDeployment, the world that it begins in, and what happens to it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    #[serde(default)]
    pub strategy: Strategy,
    #[serde(default = "one")]
    pub max_surge: IntOrString,
    #[serde(default = "none")]
    pub max_unavailable: IntOrString,
    /// How many machines the MachineDeployment asks for.
    #[serde(deserialize_with = "whole_number::replicas")]
    pub replicas: i32,
    /// What it wants its machines to be.
    pub template: String,
    /// Whether extensions cover every change, between any two templates.
    #[serde(default)]
    pub in_place: bool,
    #[serde(default)]
    pub policy: InPlacePolicy,
    #[serde(default = "yes")]
    pub keep_originals: bool,
    #[serde(default)]
    pub machine_sets: Vec<InitialMachineSet>,
    /// What happens before the rounds, in this order.
    #[serde(default)]
    pub schedule: Vec<Entry>,
    /// With a seed the order within the rounds is random, and the same for the same seed.
    #[serde(default, deserialize_with = "whole_number::seed")]
    pub seed: Option<u64>,
}

/// How a change reaches the machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum Strategy {
    #[default]
    RollingUpdate,
    OnDelete,
}

/// A MachineSet at the start.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InitialMachineSet {
    pub name: SetNumber,
    pub template: String,
    #[serde(default)]
    pub machines: Vec<MachineNumber>,
}

/// Why a scenario cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    #[error(transparent)]
    Decode(DecodeError),
    #[error("machineSets[{index}].name: there is a second {name}; each MachineSet needs a name of its own")]
    SecondMachineSet { index: usize, name: SetNumber },
    #[error(
        "machineSets[{index}].machines: there is a second {name}, {first} has one; a machine is in one MachineSet, once"
    )]
    SecondMachine { index: usize, name: MachineNumber, first: SetNumber },
    #[error("{path}: {found:?} is no template; use a word such as v2")]
    Template { path: String, found: String },
    #[error("machineSets: {0} are more than the {MAX_MACHINE_SETS} that a simulation starts with")]
    TooManyMachineSets(usize),
    #[error("schedule: {0} entries are more than the {MAX_SCHEDULE} that a simulation plays")]
    TooManyEntries(usize),
    #[error("{field} cannot be used")]
    Amount {
        field: &'static str,
        #[source]
        source: AmountError,
    },
    #[error("{field}: {percent}% is negative; use 0% or more")]
    NegativePercentage { field: &'static str, percent: i64 },
    #[error("machineSets: {0} machines are more than the {MAX_REPLICAS} that a simulation runs")]
    TooManyMachines(usize),
    #[error("maxSurge or maxUnavailable cannot be used with {replicas} replicas")]
    Limits {
        replicas: i32,
        #[source]
        source: AmountError,
    },
    #[error("maxSurge: {surge} machines of surge are more than the {MAX_REPLICAS} that a simulation runs")]
    TooMuchSurge { surge: i32 },
}

impl Scenario {
    /// The usual case: so many machines of template `v1` in one MachineSet, and a MachineDeployment that wants `v2`.
    pub fn simple(replicas: i32) -> Self {
        let machines = (1..=u32::try_from(replicas).unwrap_or(0)).map(MachineNumber).collect();
        Self {
            strategy: Strategy::RollingUpdate,
            max_surge: one(),
            max_unavailable: none(),
            replicas,
            template: "v2".to_owned(),
            in_place: false,
            policy: InPlacePolicy::Prefer,
            keep_originals: true,
            machine_sets: vec![InitialMachineSet { name: SetNumber(1), template: "v1".to_owned(), machines }],
            schedule: Vec::new(),
            seed: None,
        }
    }

    /// Reads a scenario file.
    pub fn from_yaml(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = decode::from_yaml(text).map_err(ScenarioError::Decode)?;
        scenario.validate()?;
        Ok(scenario)
    }

    /// Whether it can be played to the end.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        self.validate_sizes()?;
        self.validate_names()?;
        self.validate_templates()?;
        validate_amount("maxSurge", &self.max_surge)?;
        validate_amount("maxUnavailable", &self.max_unavailable)?;
        let later = self.schedule.iter().filter_map(|entry| match entry {
            Entry::Replicas(replicas) => Some(*replicas),
            _ => None,
        });
        [self.replicas].into_iter().chain(later).try_for_each(|replicas| self.validate_limits(replicas))
    }

    /// How far a rollout may leave this number of replicas. Under OnDelete nothing may.
    pub fn limits(&self, replicas: i32) -> Result<Fenceposts, AmountError> {
        self.limits_under(self.strategy, replicas)
    }

    /// The same under another strategy.
    pub(super) fn limits_under(&self, strategy: Strategy, replicas: i32) -> Result<Fenceposts, AmountError> {
        match strategy {
            Strategy::RollingUpdate => Fenceposts::resolve(&self.max_surge, &self.max_unavailable, replicas),
            Strategy::OnDelete => Ok(Fenceposts { max_surge: 0, max_unavailable: 0 }),
        }
    }

    fn validate_sizes(&self) -> Result<(), ScenarioError> {
        let machines: usize = self.machine_sets.iter().map(|set| set.machines.len()).sum();
        match () {
            () if self.machine_sets.len() > MAX_MACHINE_SETS => {
                Err(ScenarioError::TooManyMachineSets(self.machine_sets.len()))
            }
            () if machines > usize::try_from(MAX_REPLICAS).unwrap_or(usize::MAX) => {
                Err(ScenarioError::TooManyMachines(machines))
            }
            () if self.schedule.len() > MAX_SCHEDULE => Err(ScenarioError::TooManyEntries(self.schedule.len())),
            () => Ok(()),
        }
    }

    fn validate_names(&self) -> Result<(), ScenarioError> {
        let (mut sets, mut machines) = (BTreeSet::new(), BTreeMap::new());
        for (index, set) in self.machine_sets.iter().enumerate() {
            if !sets.insert(set.name) {
                return Err(ScenarioError::SecondMachineSet { index, name: set.name });
            }
            for &name in &set.machines {
                if let Some(first) = machines.insert(name, set.name) {
                    return Err(ScenarioError::SecondMachine { index, name, first });
                }
            }
        }
        Ok(())
    }

    fn validate_templates(&self) -> Result<(), ScenarioError> {
        let sets = self.machine_sets.iter().enumerate();
        let sets = sets.map(|(index, set)| (format!("machineSets[{index}].template"), &set.template));
        let mut all = [("template".to_owned(), &self.template)].into_iter().chain(sets);
        // An entry of the schedule must be able to name it.
        match all.find(|(_, template)| template.is_empty() || template.contains(char::is_whitespace)) {
            Some((path, found)) => Err(ScenarioError::Template { path, found: found.clone() }),
            None => Ok(()),
        }
    }

    fn validate_limits(&self, replicas: i32) -> Result<(), ScenarioError> {
        let limits = self.limits_under(Strategy::RollingUpdate, replicas);
        let limits = limits.map_err(|source| ScenarioError::Limits { replicas, source })?;
        // Surge beyond the replicas is never used: a new MachineSet has as many machines as are wanted.
        let surge = limits.max_surge;
        if surge > MAX_REPLICAS { Err(ScenarioError::TooMuchSurge { surge }) } else { Ok(()) }
    }
}

/// A negative percentage may round to nothing, and is nonsense all the same.
fn validate_amount(field: &'static str, value: &IntOrString) -> Result<(), ScenarioError> {
    match Amount::parse(value).map_err(|source| ScenarioError::Amount { field, source })? {
        Amount::Percent(percent) if percent < 0 => Err(ScenarioError::NegativePercentage { field, percent }),
        Amount::Percent(_) | Amount::Count(_) => Ok(()),
    }
}

fn one() -> IntOrString {
    IntOrString::Int(1)
}

fn none() -> IntOrString {
    IntOrString::Int(0)
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests;
