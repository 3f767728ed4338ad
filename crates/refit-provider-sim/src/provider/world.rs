//! Everything that was seen, and whom a change concerns.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::runtime::watcher::Event;
use refit_api::cluster::{Cluster, Machine};

use super::cache::Cache;
use crate::facts::{ClusterFacts, MachineFacts, Reference, cluster_of, owner_machine};
use crate::kinds::{SimBootstrapConfig, SimCluster, SimControlPlane, SimMachine};
use crate::name::Name;

/// An object of the provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Cluster(Name),
    Config(Name),
    ControlPlane(Name),
    Machine(Name),
}

/// One event of one of the watches.
#[derive(Debug)]
pub enum Seen {
    SimCluster(Event<SimCluster>),
    SimControlPlane(Event<SimControlPlane>),
    SimMachine(Event<SimMachine>),
    SimBootstrapConfig(Event<SimBootstrapConfig>),
    Machine(Event<Machine>),
    Cluster(Event<Cluster>),
}

/// What was seen of all kinds.
#[derive(Debug, Default)]
pub struct World {
    pub sim_clusters: Cache<SimCluster>,
    pub sim_machines: Cache<SimMachine>,
    pub planes: Cache<SimControlPlane>,
    pub configs: Cache<SimBootstrapConfig>,
    pub machines: Cache<MachineFacts>,
    pub clusters: Cache<ClusterFacts>,
}

/// The Machine and the Cluster around an object.
#[derive(Debug, Default)]
pub struct Owners {
    pub machine: Option<Arc<MachineFacts>>,
    pub cluster: Option<Arc<ClusterFacts>>,
    pub cluster_name: Option<String>,
}

impl World {
    /// Whether everything was seen once. Before that, what is missing means nothing.
    pub fn is_complete(&self) -> bool {
        let providers =
            self.sim_clusters.is_complete() && self.sim_machines.is_complete() && self.configs.is_complete();
        providers && self.planes.is_complete() && self.machines.is_complete() && self.clusters.is_complete()
    }

    /// Takes in an event, and says whom it concerns.
    pub fn see(&mut self, seen: Seen) -> Vec<Key> {
        let all = |names: Vec<Name>, key: fn(Name) -> Key| names.into_iter().map(key).collect();
        match seen {
            Seen::SimCluster(event) => all(self.sim_clusters.see(event, slim), Key::Cluster),
            Seen::SimControlPlane(event) => all(self.planes.see(event, slim), Key::ControlPlane),
            Seen::SimMachine(event) => all(self.sim_machines.see(event, slim), Key::Machine),
            Seen::SimBootstrapConfig(event) => all(self.configs.see(event, slim), Key::Config),
            Seen::Machine(event) => {
                let changed = self.machines.see(event, |machine| MachineFacts::of(&machine));
                changed.iter().flat_map(|name| self.of_machine(name)).collect()
            }
            Seen::Cluster(event) => {
                let changed = self.clusters.see(event, |cluster| ClusterFacts::of(&cluster));
                changed.iter().flat_map(|name| self.of_cluster(name)).collect()
            }
        }
    }

    /// The Machine and the Cluster of a provider's object.
    pub fn owners(&self, object: &impl ResourceExt) -> Owners {
        let name = Name::of(object);
        let found = |owner: &OwnerReference| {
            self.machines.get(&name.beside(&owner.name)).filter(|machine| machine.uid == owner.uid)
        };
        let machine = owner_machine(object).and_then(found);
        let cluster_name = machine.as_ref().map(|machine| machine.cluster.clone());
        let cluster_name = cluster_name.or_else(|| cluster_of(object).map(str::to_owned));
        let cluster = cluster_name.as_ref().and_then(|cluster| self.clusters.get(&name.beside(cluster)));
        Owners { machine, cluster, cluster_name }
    }

    fn of_machine(&self, name: &Name) -> Vec<Key> {
        let Some(machine) = self.machines.get(name) else { return Vec::new() };
        let references = machine.bootstrap.iter().chain([&machine.infrastructure]);
        references.filter_map(|reference| key(name, reference)).collect()
    }

    /// A pass over the namespace: what counts of a Cluster changes a few times in its life.
    fn of_cluster(&self, name: &Name) -> Vec<Key> {
        let cluster = self.clusters.get(name);
        let own = cluster.iter().flat_map(|cluster| cluster.infrastructure.iter().chain(&cluster.control_plane));
        let own = own.filter_map(|reference| key(name, reference));
        let in_it = |(other, machine): &(&Name, &MachineFacts)| {
            other.namespace == name.namespace && machine.cluster == name.name
        };
        let machines = self.machines.iter().filter(in_it).flat_map(|(name, _)| self.of_machine(name));
        own.chain(machines).collect::<Vec<Key>>()
    }
}

fn key(beside: &Name, reference: &Reference) -> Option<Key> {
    let name = beside.beside(&reference.name);
    match reference.kind.as_str() {
        "SimCluster" => Some(Key::Cluster(name)),
        "SimControlPlane" => Some(Key::ControlPlane(name)),
        "SimMachine" => Some(Key::Machine(name)),
        "SimBootstrapConfig" => Some(Key::Config(name)),
        _ => None,
    }
}

/// The object without who owns which field: half its size, and of no use here.
pub fn slim<K: ResourceExt>(mut object: K) -> K {
    object.meta_mut().managed_fields = None;
    object
}
