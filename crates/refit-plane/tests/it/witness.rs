//! Watches the Machines of a namespace, and judges every change by itself. It shares no code with what it judges.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use kube::api::Api;
use kube::runtime::watcher::{self, Event};
use kube::{Client, ResourceExt};
use refit_api::cluster::Machine;
use refit_api::vocabulary::annotations::UPDATE_IN_PROGRESS;
use tokio::task::JoinHandle;

/// What may be. Raised and lowered by whoever plays the user.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Machines that may be there at a time, those that are being deleted left out.
    pub machines: usize,
    /// Updates that may be under way at a time.
    pub updates: usize,
}

/// What was seen.
#[derive(Debug, Default)]
struct Seen {
    limits: Option<Limits>,
    machines: BTreeMap<String, Machine>,
    /// Machines whose deletion was asked for, by uid.
    deleted: BTreeSet<String>,
    wrong: Vec<String>,
}

/// Somebody who watches.
pub struct Witness {
    seen: Arc<Mutex<Seen>>,
    watching: JoinHandle<()>,
}

impl Witness {
    pub fn begin(client: Client, namespace: &str, limits: Limits) -> Self {
        let seen = Arc::new(Mutex::new(Seen { limits: Some(limits), ..Seen::default() }));
        let api: Api<Machine> = Api::namespaced(client, namespace);
        let watching = tokio::spawn(watch(api, Arc::clone(&seen)));
        Self { seen, watching }
    }

    pub fn allow(&self, limits: Limits) {
        self.seen().limits = Some(limits);
    }

    /// Whether these are the machines that the witness knows of, too. It is told of everything, but maybe later.
    pub fn knows<'a>(&self, names: impl Iterator<Item = &'a String>) -> bool {
        names.eq(self.seen().machines.keys())
    }

    /// The uids of machines whose deletion was asked for.
    pub fn deleted(&self) -> BTreeSet<String> {
        self.seen().deleted.clone()
    }

    pub fn assert_nothing_wrong(&self, story: &str) {
        let wrong = self.seen().wrong.clone();
        assert!(wrong.is_empty(), "{story}: {wrong:#?}");
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

async fn watch(api: Api<Machine>, seen: Arc<Mutex<Seen>>) {
    let mut events = std::pin::pin!(watcher::watcher(api, watcher::Config::default()));
    while let Some(event) = events.next().await {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Ok(Event::Apply(machine) | Event::InitApply(machine)) => seen.note(machine),
            Ok(Event::Delete(machine)) => drop(seen.machines.remove(&machine.name_any())),
            // A list follows: what went while nobody watched is not in it.
            Ok(Event::Init) => seen.machines.clear(),
            Ok(Event::InitDone) | Err(_) => {}
        }
    }
}

impl Seen {
    fn note(&mut self, machine: Machine) {
        let name = machine.name_any();
        if machine.metadata.deletion_timestamp.is_some() {
            self.deleted.extend(machine.uid());
        }
        let owners = machine.owner_references().iter().filter(|owner| owner.controller == Some(true)).count();
        if owners != 1 {
            self.wrong.push(format!("{name} has {owners} controllers"));
        }
        self.machines.insert(name, machine);
        let Some(limits) = self.limits else { return };
        let (alive, updating) = (self.count(|_| true), self.count(is_updating));
        if alive > limits.machines {
            self.wrong.push(format!("{alive} machines, {} may be", limits.machines));
        }
        if updating > limits.updates {
            self.wrong.push(format!("{updating} updates at a time, {} may be", limits.updates));
        }
    }

    fn count(&self, counts: impl Fn(&Machine) -> bool) -> usize {
        let is_alive = |machine: &&Machine| machine.metadata.deletion_timestamp.is_none();
        self.machines.values().filter(is_alive).filter(|machine| counts(machine)).count()
    }
}

fn is_updating(machine: &Machine) -> bool {
    machine.annotations().contains_key(UPDATE_IN_PROGRESS)
}
