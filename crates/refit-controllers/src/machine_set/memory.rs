//! What a process remembers of MachineSets between passes. All of it can be lost: it only spares work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use refit_api::cluster::MachineSet;
use refit_plan::machine_set::reconcile::{Observed, ObservedMachine};
use refit_plan::machine_set::start_move::{Outcome, Rehearsed};
use refit_plan::reading::{Listed, Read};
use serde_json::Value;
use tokio::time::Instant;

use crate::cache::ObjectKey;

/// For how long a refusal is taken at its word. Below the time after which a refused move is decided about again.
const REFUSAL_LIFETIME: Duration = Duration::from_secs(10);

/// What is remembered of all MachineSets that there are.
#[derive(Debug, Default)]
pub(super) struct Memories(Mutex<BTreeMap<ObjectKey, Memory>>);

/// What is remembered of one MachineSet.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// What was compared and found in order, by Machine.
    synced: BTreeMap<String, Versions>,
    rehearsed: BTreeMap<String, (Instant, Rehearsed)>,
}

/// Everything that the comparison of a Machine depends on.
#[derive(Debug, Clone, PartialEq)]
struct Versions {
    machine: Option<String>,
    infrastructure: Option<String>,
    bootstrap: Option<String>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
}

impl Memories {
    pub fn get(&self, key: &ObjectKey) -> Memory {
        self.all().get(key).cloned().unwrap_or_default()
    }

    pub fn forget(&self, key: &ObjectKey) {
        self.all().remove(key);
    }

    /// Remembers dry runs.
    pub fn rehearsed(&self, key: &ObjectKey, made: &BTreeMap<String, Rehearsed>) {
        let (now, mut all) = (Instant::now(), self.all());
        let memory = all.entry(key.clone()).or_default();
        memory.rehearsed.extend(made.iter().map(|(machine, made)| (machine.clone(), (now, made.clone()))));
    }

    /// Remembers which machines are in order, and forgets those that are not of this MachineSet any more.
    pub fn synced(&self, key: &ObjectKey, observed: &Observed, synced: &BTreeSet<String>) {
        let Listed::All(machines) = &observed.machines else { return };
        let mut all = self.all();
        let memory = all.entry(key.clone()).or_default();
        let named = machines.iter().map(|found| (name(found), found));
        let named: BTreeMap<&str, &ObservedMachine> = named.collect();
        let in_order = synced.iter().filter_map(|name| Some((name, named.get(name.as_str())?)));
        let versions = |found: &ObservedMachine| Versions::of(&observed.machine_set, found);
        memory.synced = in_order.map(|(name, found)| (name.clone(), versions(found))).collect();
        memory.rehearsed.retain(|machine, _| named.contains_key(machine.as_str()));
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    /// Whether the machine is as it was when it was found in order.
    pub fn is_synced(&self, set: &MachineSet, found: &ObservedMachine) -> bool {
        self.synced.get(name(found)).is_some_and(|versions| *versions == Versions::of(set, found))
    }

    /// The dry runs that still count.
    pub fn rehearsed(&self) -> BTreeMap<String, Rehearsed> {
        let is_good = |(at, made): &(Instant, Rehearsed)| match made.outcome {
            Outcome::Accepted => true,
            Outcome::Refused { .. } => at.elapsed() < REFUSAL_LIFETIME,
        };
        let good = self.rehearsed.iter().filter(|(_, made)| is_good(made));
        good.map(|(machine, (_, made))| (machine.clone(), made.clone())).collect()
    }
}

impl Versions {
    fn of(set: &MachineSet, found: &ObservedMachine) -> Self {
        Self {
            machine: found.machine.metadata.resource_version.clone(),
            infrastructure: version(&found.infrastructure),
            bootstrap: found.bootstrap.as_ref().and_then(version),
            generation: set.metadata.generation,
            labels: set.metadata.labels.clone(),
        }
    }
}

fn version(object: &Read<Value>) -> Option<String> {
    match object {
        Read::Found(object) => object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned),
        Read::Missing | Read::Unreadable(_) => None,
    }
}

fn name(found: &ObservedMachine) -> &str {
    found.machine.metadata.name.as_deref().unwrap_or_default()
}
