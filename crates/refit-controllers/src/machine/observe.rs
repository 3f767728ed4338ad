//! Everything that the decision about a Machine looks at, from the caches.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kube::core::ObjectMeta;
use refit_api::cluster::{Cluster, ContractVersionedObjectReference, GROUP, Machine, MachineDeployment, MachineSet};
use refit_api::hooks::{Hook, RawObject};
use refit_api::owners::{self, OwnerKind};
use refit_api::vocabulary::refit::annotations::UPDATE_PLAN;
use refit_plan::coverage::{ContentHash, MachineSetObjects};
use refit_plan::machine::{External, NodeSeen, Observed, Updaters};
use refit_plan::machine_set::clone::{Template, is_made_of};
use refit_plan::reading::Unreadable;

use super::targets::Targets;
use super::{Shared, triggers};
use crate::cache::{BY_CONTROL_PLANE, ObjectKey, namespaced};
use crate::workload::{Connected, NODE_BY_PROVIDER_ID, Workload};

/// What there is to decide about.
pub(super) enum Seen {
    /// The Machine is not there any more.
    Gone,
    /// Nothing can be decided without the Cluster.
    NoCluster {
        name: String,
    },
    /// It cannot be read as it is now, or what belongs to it cannot.
    Unreadable(Unreadable),
    Machine(Box<Observed>, Workload),
}

/// Who a Machine belongs to.
type Owners = (Option<MachineSet>, Option<MachineDeployment>);

/// What the MachineSet of a Machine wants it to be.
struct Wanted {
    set: MachineSet,
    infrastructure: External,
    bootstrap: External,
}

impl Wanted {
    fn infrastructure(&self) -> Option<Template<'_>> {
        let reference = &self.set.spec.template.spec.infrastructure_ref;
        Some(Template { reference, object: self.infrastructure.object()? })
    }

    fn bootstrap(&self) -> Option<Template<'_>> {
        let reference = self.set.spec.template.spec.bootstrap.config_ref.as_ref()?;
        Some(Template { reference, object: self.bootstrap.object()? })
    }

    /// All of it as a hash. Nothing where a template cannot be read: that says nothing about the plan.
    fn target_hash(self, targets: &Targets) -> Option<ContentHash> {
        targets.hash(MachineSetObjects {
            machine_set: self.set,
            infrastructure_machine_template: raw(self.infrastructure)?,
            bootstrap_config_template: match self.bootstrap {
                External::NotReferenced => None,
                template => Some(raw(template)?),
            },
        })
    }
}

impl Shared {
    pub(super) async fn observe(self: &Arc<Self>, key: &ObjectKey) -> Seen {
        let cache = &self.shell.cache;
        let machine = match cache.machines.read(key) {
            Ok(Some(machine)) => machine,
            Ok(None) => return Seen::Gone,
            Err(problem) => return Seen::Unreadable(problem),
        };
        let cluster_key = ObjectKey::new(key.namespace.clone(), machine.spec.cluster_name.clone());
        let (cluster, owners) = (cache.clusters.read(&cluster_key), self.owners(key, &machine));
        let (cluster, machine_set, machine_deployment) = match (cluster, owners) {
            (Ok(Some(cluster)), Ok((set, deployment))) => (cluster, set, deployment),
            (Ok(None), _) => return Seen::NoCluster { name: cluster_key.name },
            (Err(problem), _) | (_, Err(problem)) => return Seen::Unreadable(problem),
        };
        let workload = self.shell.workloads.get(&cluster_key);
        let (control_plane, infrastructure, bootstrap) = tokio::join!(
            self.external(key, cluster.spec.control_plane_ref.as_ref()),
            self.external(key, Some(&machine.spec.infrastructure_ref)),
            self.external(key, machine.spec.bootstrap.config_ref.as_ref()),
        );
        let wanted = self.templates(key, &machine, machine_set.as_ref()).await;
        let memory = self.memories.of(key, machine.metadata.uid.as_ref());
        let is_wanted = |object: &External, template: fn(&Wanted) -> Option<Template<'_>>| {
            wanted.as_ref().and_then(template).zip(object.object()).is_some_and(|(it, object)| is_made_of(it, object))
        };
        let infrastructure_is_wanted = is_wanted(&infrastructure, Wanted::infrastructure);
        let bootstrap_is_wanted = is_wanted(&bootstrap, Wanted::bootstrap);
        let mut observed = Observed {
            now: self.shell.clock.now(),
            active_control_plane_machines: self.active_control_plane_machines(key, &cluster),
            machine: Machine {
                metadata: slim(&machine.metadata),
                spec: machine.spec.clone(),
                status: machine.status.clone(),
            },
            cluster: Cluster {
                metadata: slim(&cluster.metadata),
                spec: cluster.spec.clone(),
                status: cluster.status.clone(),
            },
            machine_set,
            machine_deployment,
            control_plane,
            infrastructure,
            bootstrap,
            node: NodeSeen::default(),
            connection: workload.connection,
            drain: memory.drain,
            volumes: memory.volumes,
            node_deletion_error: memory.node_deletion_error,
            updaters: self.updaters(&key.namespace),
            answer: memory.answer,
            infrastructure_is_wanted,
            bootstrap_is_wanted,
            target_hash: wanted.and_then(|wanted| wanted.target_hash(&self.targets)),
            quiet: memory.quiet,
            settings: self.settings.clone(),
        };
        observed.node = node(observed.provider_id(), workload.connected.as_ref());
        Seen::Machine(Box::new(observed), workload)
    }

    async fn external(
        self: &Arc<Self>,
        key: &ObjectKey,
        reference: Option<&ContractVersionedObjectReference>,
    ) -> External {
        let Some(reference) = reference else { return External::NotReferenced };
        let watch = |informer: &_| triggers::subscribe_provider(self, informer);
        self.shell.external(reference, &key.namespace, watch).await
    }

    /// The templates of the MachineSet, while the Machine carries a plan that was accepted for them.
    async fn templates(
        self: &Arc<Self>,
        key: &ObjectKey,
        machine: &Machine,
        set: Option<&MachineSet>,
    ) -> Option<Wanted> {
        machine.metadata.annotations.as_ref()?.get(UPDATE_PLAN)?;
        let set = set?.clone();
        let template = &set.spec.template.spec;
        let infrastructure = self.external(key, Some(&template.infrastructure_ref)).await;
        let bootstrap = self.external(key, template.bootstrap.config_ref.as_ref()).await;
        Some(Wanted { set, infrastructure, bootstrap })
    }

    fn owners(&self, key: &ObjectKey, machine: &Machine) -> Result<Owners, Unreadable> {
        let set = self.machine_set(key, machine)?;
        let deployment = match &set {
            Some(set) => self.machine_deployment(key, set)?,
            None => None,
        };
        Ok((set, deployment))
    }

    fn machine_set(&self, key: &ObjectKey, machine: &Machine) -> Result<Option<MachineSet>, Unreadable> {
        let owners = machine.metadata.owner_references.as_deref().unwrap_or_default();
        let owner = owners::find(owners, OwnerKind { group: GROUP, kind: "MachineSet" });
        let Some(owner) = owner else { return Ok(None) };
        let set = self.shell.cache.machine_sets.read(&ObjectKey::new(key.namespace.clone(), owner.name.clone()))?;
        let slimmed = |set: Arc<MachineSet>| MachineSet {
            metadata: slim(&set.metadata),
            spec: set.spec.clone(),
            status: set.status.clone(),
        };
        Ok(set.map(slimmed))
    }

    fn machine_deployment(&self, key: &ObjectKey, set: &MachineSet) -> Result<Option<MachineDeployment>, Unreadable> {
        let owners = set.metadata.owner_references.as_deref().unwrap_or_default();
        let owner = owners::find(owners, OwnerKind { group: GROUP, kind: "MachineDeployment" });
        let Some(owner) = owner else { return Ok(None) };
        let key = ObjectKey::new(key.namespace.clone(), owner.name.clone());
        let slimmed = |found: Arc<MachineDeployment>| MachineDeployment {
            metadata: slim(&found.metadata),
            spec: found.spec.clone(),
            status: found.status.clone(),
        };
        Ok(self.shell.cache.machine_deployments.read(&key)?.map(slimmed))
    }

    fn active_control_plane_machines(&self, key: &ObjectKey, cluster: &Cluster) -> usize {
        let name = cluster.metadata.name.as_deref().unwrap_or_default();
        let machines = self.shell.cache.machines.by(BY_CONTROL_PLANE, &namespaced(&key.namespace, name));
        machines.iter().filter(|machine| machine.metadata.deletion_timestamp.is_none()).count()
    }

    fn updaters(&self, namespace: &str) -> Updaters {
        let namespace = self.shell.namespace(namespace);
        match self.shell.extensions.registry().matching(Hook::UpdateMachine, &namespace) {
            Ok(matching) => Updaters::Registered(matching.iter().map(|handler| handler.name.clone()).collect()),
            Err(error) => {
                tracing::debug!(%error, "the extensions are not known");
                Updaters::NotDiscovered
            }
        }
    }
}

/// Metadata without who owns which field: most of an object's size, and nothing to the decision.
fn slim(metadata: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        annotations: metadata.annotations.clone(),
        creation_timestamp: metadata.creation_timestamp.clone(),
        deletion_grace_period_seconds: metadata.deletion_grace_period_seconds,
        deletion_timestamp: metadata.deletion_timestamp.clone(),
        finalizers: metadata.finalizers.clone(),
        generate_name: metadata.generate_name.clone(),
        generation: metadata.generation,
        labels: metadata.labels.clone(),
        managed_fields: None,
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        owner_references: metadata.owner_references.clone(),
        resource_version: metadata.resource_version.clone(),
        self_link: metadata.self_link.clone(),
        uid: metadata.uid.clone(),
    }
}

fn raw(template: External) -> Option<RawObject> {
    match template {
        External::Found { object, .. } => RawObject::try_from(object).ok(),
        External::NotReferenced | External::Missing | External::Unreadable { .. } => None,
    }
}

fn node(provider_id: Option<&str>, connected: Option<&Connected>) -> NodeSeen {
    let Some(provider_id) = provider_id else { return NodeSeen::NotLookedFor };
    let Some(connected) = connected else { return NodeSeen::NotConnected };
    let nodes = connected.nodes.by(NODE_BY_PROVIDER_ID, provider_id);
    match nodes.as_slice() {
        [] => NodeSeen::Missing,
        [node] => NodeSeen::Found(Box::new(Node::clone(node))),
        _ => NodeSeen::Unreadable { why: format!("more than one node has the provider id {provider_id:?}") },
    }
}
