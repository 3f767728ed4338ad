//! What makes a Machine be looked at again. Nothing here walks over the fleet for a change of one Machine.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use k8s_openapi::api::core::v1::Node;
use kube::Resource;
use refit_api::cluster::{Cluster, GROUP, Machine, MachineDeployment, MachineSet};
use refit_api::conditions::get;
use refit_api::owners::{self, OwnerKind};
use refit_api::vocabulary::{annotations, condition_types};

use super::Shared;
use crate::cache::{
    BY_CLUSTER, BY_DEPLOYMENT, BY_OWNER, BY_PROVIDER_ID, Change, Informer, ObjectKey, Provided, Subscriber, namespaced,
};
use crate::workload::Listener;

/// Under which name the controller subscribes.
const NAME: &str = "machine";

/// Subscribes to everything but the objects of providers, whose kinds are not known yet.
pub(super) fn subscribe(shared: &Arc<Shared>) {
    let cache = &shared.shell.cache;
    let weak = || Arc::downgrade(shared);
    cache.machines.subscribe(NAME, told(weak(), |shared, change| shared.add_all(change.both())));
    cache.clusters.subscribe(NAME, told(weak(), Shared::cluster_changed));
    cache.machine_sets.subscribe(NAME, told(weak(), Shared::machine_set_changed));
    cache.machine_deployments.subscribe(NAME, told(weak(), Shared::machine_deployment_changed));
    let extensions = weak();
    let changed = move || extensions.upgrade().iter().for_each(|shared| shared.extensions_changed());
    shared.shell.extensions.listen(Box::new(changed));
    let (nodes, connections) = (weak(), weak());
    shared.shell.workloads.listen(Listener {
        node: Box::new(move |cluster, change| nodes.upgrade().iter().for_each(|it| it.node_changed(cluster, change))),
        connection: Box::new(move |cluster| connections.upgrade().iter().for_each(|it| it.cluster_machines(cluster))),
    });
}

/// Subscribes to the objects of a provider's kind, once.
pub(super) fn subscribe_provider(shared: &Arc<Shared>, informer: &Informer<Provided>) {
    informer.subscribe(NAME, told(Arc::downgrade(shared), Shared::provider_object_changed));
}

fn told<K: 'static>(shared: Weak<Shared>, tell: impl Fn(&Shared, &Change<K>) + Send + Sync + 'static) -> Subscriber<K> {
    Box::new(move |change| shared.upgrade().iter().for_each(|shared| tell(shared, change)))
}

impl Shared {
    fn add_all<'a>(&self, machines: impl IntoIterator<Item = &'a Arc<Machine>>) {
        let keys: BTreeSet<ObjectKey> = machines.into_iter().map(|machine| ObjectKey::of(&**machine)).collect();
        keys.into_iter().for_each(|key| self.queue.add(key));
    }

    fn cluster_machines(&self, cluster: &ObjectKey) {
        let value = namespaced(&cluster.namespace, &cluster.name);
        self.add_all(&self.shell.cache.machines.by(BY_CLUSTER, &value));
    }

    /// A Cluster counts its Machines in its status; only what a Machine depends on is a reason to look at all of them.
    fn cluster_changed(&self, change: &Change<Cluster>) {
        if has_changed(change, cluster_facts) {
            change.either().iter().for_each(|cluster| self.cluster_machines(&ObjectKey::of(&***cluster)));
        }
    }

    /// Replicas and marks change with every step of a rollout; they are nothing to its Machines. Whose it is says what they are
    /// compared with: one that was set free and is adopted again has Machines that nobody has looked at meanwhile.
    fn machine_set_changed(&self, change: &Change<MachineSet>) {
        if has_changed(change, machine_set_facts) {
            let uid = change.either().and_then(|set| set.metadata.uid.clone()).unwrap_or_default();
            self.add_all(&self.shell.cache.machines.by(BY_OWNER, &uid));
        }
    }

    fn machine_deployment_changed(&self, change: &Change<MachineDeployment>) {
        let facts = |it: &MachineDeployment| {
            (it.spec.template.clone(), it.spec.rollout.clone(), it.metadata.annotations.clone(), is_deleting(it))
        };
        if has_changed(change, facts) {
            change.either().iter().for_each(|deployment| {
                let key = ObjectKey::of(&***deployment);
                let value = namespaced(&key.namespace, &key.name);
                self.add_all(&self.shell.cache.machines.by(BY_DEPLOYMENT, &value));
            });
        }
    }

    /// Rare, and only Machines that are being updated wait for extensions.
    fn extensions_changed(&self) {
        let is_updating = |machine: &&Arc<Machine>| {
            let annotations = machine.metadata.annotations.as_ref();
            annotations.is_some_and(|annotations| annotations.contains_key(annotations::UPDATE_IN_PROGRESS))
        };
        self.add_all(self.shell.cache.machines.all().iter().filter(is_updating));
    }

    fn provider_object_changed(&self, change: &Change<Provided>) {
        let machine = |object: &Arc<Provided>| {
            let owners = object.meta().owner_references.as_deref().unwrap_or_default();
            let owner = owners::find(owners, OwnerKind { group: GROUP, kind: "Machine" })?;
            Some(ObjectKey::new(object.meta().namespace.clone().unwrap_or_default(), owner.name.clone()))
        };
        let keys: BTreeSet<ObjectKey> = change.both().filter_map(machine).collect();
        keys.into_iter().for_each(|key| self.queue.add(key));
    }

    fn node_changed(&self, cluster: &ObjectKey, change: &Change<Node>) {
        let provider_id = |node: &Arc<Node>| node.spec.as_ref().and_then(|spec| spec.provider_id.clone());
        let provider_ids: BTreeSet<String> = change.both().filter_map(provider_id).collect();
        let machines = &self.shell.cache.machines;
        let machines = provider_ids.iter().flat_map(|provider_id| machines.by(BY_PROVIDER_ID, provider_id));
        let is_of_cluster = |machine: &Arc<Machine>| {
            machine.spec.cluster_name == cluster.name
                && machine.metadata.namespace.as_deref().unwrap_or_default() == cluster.namespace
        };
        let machines: Vec<Arc<Machine>> = machines.filter(is_of_cluster).collect();
        self.add_all(&machines);
    }
}

/// Whether what counts of an object is not what it was.
fn has_changed<K, F: PartialEq>(change: &Change<K>, facts: impl Fn(&K) -> F) -> bool {
    change.old.as_deref().map(&facts) != change.new.as_deref().map(&facts)
}

fn cluster_facts(cluster: &Cluster) -> impl PartialEq + use<> {
    let initialized = get(&cluster.status.conditions, condition_types::CONTROL_PLANE_INITIALIZED);
    let initialized = initialized.map(|condition| condition.status.clone());
    let annotations = cluster.metadata.annotations.clone();
    (cluster.spec.clone(), cluster.status.initialization.clone(), initialized, annotations, is_deleting(cluster))
}

fn machine_set_facts(set: &MachineSet) -> impl PartialEq + use<> {
    let owners = set.metadata.owner_references.clone().unwrap_or_default();
    (set.spec.template.clone(), revision(set), owners, is_deleting(set))
}

fn revision<K: Resource>(object: &K) -> Option<String> {
    object.meta().annotations.as_ref()?.get(annotations::REVISION).cloned()
}

fn is_deleting<K: Resource>(object: &K) -> bool {
    object.meta().deletion_timestamp.is_some()
}
