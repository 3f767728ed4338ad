//! What a process remembers of MachineSets between passes. All of it can be lost: it only spares work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use refit_api::cluster::{Machine, MachineSet};
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
pub(super) struct Memories(Mutex<BTreeMap<ObjectKey, Arc<Memory>>>);

/// What is remembered of one MachineSet.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// What of the MachineSet its Machines were compared with.
    compared_with: Compared,
    /// What was compared and found in order, by Machine.
    synced: BTreeMap<String, Parts>,
    rehearsed: BTreeMap<String, (Instant, Rehearsed)>,
}

/// What the comparison of a Machine depends on of its MachineSet.
#[derive(Debug, Clone, Default, PartialEq)]
struct Compared {
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
}

/// What was compared of a Machine. The cache gives out the very same objects until one of them changes, and they are
/// held here, so that it is enough to compare where they are.
#[derive(Debug, Clone)]
struct Parts {
    machine: Arc<Machine>,
    infrastructure: Arc<Read<Value>>,
    bootstrap: Option<Arc<Read<Value>>>,
}

impl Memories {
    pub fn get(&self, key: &ObjectKey) -> Arc<Memory> {
        self.all().get(key).cloned().unwrap_or_default()
    }

    pub fn forget(&self, key: &ObjectKey) {
        self.all().remove(key);
    }

    /// Remembers dry runs.
    pub fn rehearsed(&self, key: &ObjectKey, made: &BTreeMap<String, Rehearsed>) {
        let (now, mut all) = (Instant::now(), self.all());
        let memory = Arc::make_mut(all.entry(key.clone()).or_default());
        memory.rehearsed.extend(made.iter().map(|(machine, made)| (machine.clone(), (now, made.clone()))));
    }

    /// Remembers which machines are in order, and forgets those that are not of this MachineSet any more.
    pub fn synced(&self, key: &ObjectKey, observed: &Observed, synced: &BTreeSet<String>) {
        let Listed::All(machines) = &observed.machines else { return };
        let mut all = self.all();
        let memory = Arc::make_mut(all.entry(key.clone()).or_default());
        let named = machines.iter().map(|found| (name(found), found));
        let named: BTreeMap<&str, &ObservedMachine> = named.collect();
        let in_order = synced.iter().filter_map(|name| Some((name, named.get(name.as_str())?)));
        memory.synced = in_order.map(|(name, found)| (name.clone(), Parts::of(found))).collect();
        memory.compared_with = Compared::of(&observed.machine_set);
        memory.rehearsed.retain(|machine, _| named.contains_key(machine.as_str()));
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Arc<Memory>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    /// Whether machines were compared with what the MachineSet is now.
    pub fn is_of(&self, set: &MachineSet) -> bool {
        self.compared_with == Compared::of(set)
    }

    /// Whether the machine is as it was when it was found in order.
    pub fn is_synced(&self, found: &ObservedMachine) -> bool {
        self.synced.get(name(found)).is_some_and(|parts| parts.are(found))
    }

    /// The dry runs that still count.
    pub fn rehearsed(&self) -> BTreeMap<String, Rehearsed> {
        let is_good = |(at, made): &(Instant, Rehearsed)| match made.outcome {
            Outcome::Accepted => true,
            Outcome::Refused { .. } | Outcome::Unanswered { .. } => at.elapsed() < REFUSAL_LIFETIME,
        };
        let good = self.rehearsed.iter().filter(|(_, made)| is_good(made));
        good.map(|(machine, (_, made))| (machine.clone(), made.clone())).collect()
    }
}

impl Compared {
    fn of(set: &MachineSet) -> Self {
        Self { generation: set.metadata.generation, labels: set.metadata.labels.clone() }
    }
}

impl Parts {
    fn of(found: &ObservedMachine) -> Self {
        let ObservedMachine { machine, infrastructure, bootstrap, .. } = found.clone();
        Self { machine, infrastructure, bootstrap }
    }

    fn are(&self, found: &ObservedMachine) -> bool {
        let is_same_bootstrap = match (&self.bootstrap, &found.bootstrap) {
            (Some(known), Some(found)) => Arc::ptr_eq(known, found),
            (known, found) => known.is_none() && found.is_none(),
        };
        Arc::ptr_eq(&self.machine, &found.machine)
            && Arc::ptr_eq(&self.infrastructure, &found.infrastructure)
            && is_same_bootstrap
    }
}

fn name(found: &ObservedMachine) -> &str {
    found.machine.metadata.name.as_deref().unwrap_or_default()
}
