//! What a simulation starts from.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_api::decode::{self, DecodeError};
use refit_api::int_or_percent::{AmountError, Fenceposts};
use refit_api::policy::InPlacePolicy;
use serde::{Deserialize, Deserializer, de};

use super::entry::Entry;
use super::number::{MachineNumber, SetNumber};

/// The most machines that a simulation runs. A trace names all of them in every line.
pub const MAX_REPLICAS: i32 = 10_000;

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
    #[serde(deserialize_with = "replicas")]
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
    #[error("machineSets[{index}].name: there is a second {name}")]
    SecondMachineSet { index: usize, name: SetNumber },
    #[error("machineSets[{index}].machines: there is a second {name}")]
    SecondMachine { index: usize, name: MachineNumber },
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
        self.validate_names()?;
        let later = self.schedule.iter().filter_map(|entry| match entry {
            Entry::Replicas(replicas) => Some(*replicas),
            _ => None,
        });
        [self.replicas].into_iter().chain(later).try_for_each(|replicas| self.validate_limits(replicas))
    }

    /// How far a rollout may leave this number of replicas. Under OnDelete nothing may.
    pub fn limits(&self, replicas: i32) -> Result<Fenceposts, AmountError> {
        match self.strategy {
            Strategy::RollingUpdate => Fenceposts::resolve(&self.max_surge, &self.max_unavailable, replicas),
            Strategy::OnDelete => Ok(Fenceposts { max_surge: 0, max_unavailable: 0 }),
        }
    }

    fn validate_names(&self) -> Result<(), ScenarioError> {
        let (mut sets, mut machines) = (BTreeSet::new(), BTreeSet::new());
        for (index, set) in self.machine_sets.iter().enumerate() {
            if !sets.insert(set.name) {
                return Err(ScenarioError::SecondMachineSet { index, name: set.name });
            }
            if let Some(&name) = set.machines.iter().find(|&&name| !machines.insert(name)) {
                return Err(ScenarioError::SecondMachine { index, name });
            }
        }
        let most = usize::try_from(MAX_REPLICAS).unwrap_or(usize::MAX);
        if machines.len() > most { Err(ScenarioError::TooManyMachines(machines.len())) } else { Ok(()) }
    }

    fn validate_limits(&self, replicas: i32) -> Result<(), ScenarioError> {
        let limits = self.limits(replicas).map_err(|source| ScenarioError::Limits { replicas, source })?;
        // Surge beyond the replicas is never used: a new MachineSet has as many machines as are wanted.
        let surge = limits.max_surge;
        if surge > MAX_REPLICAS { Err(ScenarioError::TooMuchSurge { surge }) } else { Ok(()) }
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

fn replicas<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    let replicas = i32::deserialize(deserializer)?;
    if (0..=MAX_REPLICAS).contains(&replicas) {
        Ok(replicas)
    } else {
        Err(de::Error::custom(format!("{replicas} is not between 0 and {MAX_REPLICAS}")))
    }
}

#[cfg(test)]
mod tests;
