//! Ways to find objects without walking over all of them. Computed once per object, when it arrives.

use kube::Resource;
use refit_api::cluster::{Cluster, GROUP, Machine, MachineDeployment};
use refit_api::resource::CustomKind;
use refit_api::rollout::MachineRollout;
use refit_api::vocabulary::labels;

/// A way to find objects of a kind.
pub struct Index<K> {
    /// What [`Informer::by`](super::Informer::by) is asked with.
    pub name: &'static str,
    /// The values under which an object is found.
    pub values: fn(&K) -> Vec<String>,
}

/// By the uid of an owner.
pub const BY_OWNER: &str = "owner";
/// By namespace and the label with the name of the Cluster; see [`namespaced`].
pub const BY_CLUSTER: &str = "cluster";
/// By namespace and the label with the name of the MachineDeployment.
pub const BY_DEPLOYMENT: &str = "deployment";
/// Machines of the control plane, by namespace and the name of the Cluster.
pub const BY_CONTROL_PLANE: &str = "control-plane";
/// By the provider's id of the host.
pub const BY_PROVIDER_ID: &str = "provider-id";

/// By namespace and Cluster, those that nobody controls.
pub const BY_ORPHANED: &str = "orphaned";

/// By namespace and name of the MachineDeployment that they are about, those that nobody owns.
pub const BY_TARGET: &str = "target";

/// By group, kind, namespace and name of an object that is referred to; see [`reference()`].
pub const BY_REFERENCE: &str = "reference";

/// The value of an index by an object that is referred to.
pub fn reference(group: &str, kind: &str, namespace: &str, name: &str) -> String {
    format!("{group}/{kind}/{namespace}/{name}")
}

/// The value of an index by a name that is unique in a namespace only.
pub fn namespaced(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

impl<K: Resource> Index<K> {
    pub const OWNER: Self = Self { name: BY_OWNER, values: owners };
    pub const CLUSTER: Self = Self { name: BY_CLUSTER, values: |object| label(object, labels::CLUSTER_NAME) };
    pub const DEPLOYMENT: Self = Self { name: BY_DEPLOYMENT, values: |object| label(object, labels::DEPLOYMENT_NAME) };
}

impl Index<Cluster> {
    pub const REFERENCE: Self = Self { name: BY_REFERENCE, values: references };
}

fn references(cluster: &Cluster) -> Vec<String> {
    let namespace = cluster.metadata.namespace.as_deref().unwrap_or_default();
    let both = cluster.spec.infrastructure_ref.iter().chain(&cluster.spec.control_plane_ref);
    both.map(|it| reference(&it.api_group, &it.kind, namespace, &it.name)).collect()
}

impl Index<MachineRollout> {
    pub const TARGET: Self = Self { name: BY_TARGET, values: target };
}

fn target(rollout: &MachineRollout) -> Vec<String> {
    let target = &rollout.spec.target_ref;
    let is_of_deployment = target.api_group == GROUP && target.kind == MachineDeployment::DEFINITION.kind;
    let is_owned = rollout.metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty());
    let namespace = rollout.metadata.namespace.as_deref().unwrap_or_default();
    (is_of_deployment && !is_owned).then(|| namespaced(namespace, &target.name)).into_iter().collect()
}

impl Index<Machine> {
    pub const PROVIDER_ID: Self =
        Self { name: BY_PROVIDER_ID, values: |machine| machine.spec.provider_id.iter().cloned().collect() };
    pub const ORPHANED: Self = Self { name: BY_ORPHANED, values: orphaned };
    pub const CONTROL_PLANE: Self = Self { name: BY_CONTROL_PLANE, values: control_plane };
}

fn orphaned(machine: &Machine) -> Vec<String> {
    let controller = refit_api::owners::controller_of(machine.metadata.owner_references.as_deref().unwrap_or_default());
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    let value = controller.is_none().then(|| namespaced(namespace, &machine.spec.cluster_name));
    value.into_iter().collect()
}

fn control_plane(machine: &Machine) -> Vec<String> {
    let is_of_it = machine.metadata.labels.as_ref().is_some_and(|own| own.contains_key(labels::CONTROL_PLANE));
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    is_of_it.then(|| namespaced(namespace, &machine.spec.cluster_name)).into_iter().collect()
}

fn owners<K: Resource>(object: &K) -> Vec<String> {
    object.meta().owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect()
}

fn label<K: Resource>(object: &K, key: &str) -> Vec<String> {
    let metadata = object.meta();
    let value = metadata.labels.as_ref().and_then(|labels| labels.get(key));
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    value.map(|value| namespaced(namespace, value)).into_iter().collect()
}
