//! Reads what the decision about a control plane looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use refit_api::bootstrap::{self, KubeadmConfig};
use refit_api::cluster::{Cluster, ContractVersionedObjectReference, GROUP, Machine};
use refit_api::contract::kind_from_template;
use refit_api::controlplane::KubeadmControlPlane;
use refit_api::owners::{self, OwnerKind};
use refit_api::version::KubernetesVersion;
use refit_api::vocabulary::labels;
use refit_hooks::chain;
use refit_plan::control_plane::{Candidate, Coverage, EtcdMembers, Observed, ObservedMachine, is_controlled};
use refit_plan::coverage::kubeadm_config::compare;
use refit_plan::coverage::{ContentHash, Scope};
use refit_plan::machine::External;
use refit_plan::reading::{Listed, Unreadable};
use serde_json::Value;

use super::watch;
use crate::cache::{BY_CLUSTER, BY_CONTROL_PLANE, Cache, ObjectKey, namespaced};
use crate::context::Context;
use crate::queue::Queue;

/// The kind of bootstrap configuration of control planes.
const KUBEADM_CONFIG: &str = "KubeadmConfig";
/// How many workers a message names.
const MAX_WORKERS: usize = 10;

/// What was read of a control plane.
pub(super) struct Found {
    /// What is in the workload cluster is not known yet.
    pub observed: Observed,
    /// All control-plane Machines of the Cluster.
    pub candidates: Vec<Candidate>,
}

/// Reads everything that is in the management cluster. What cannot be read is an error: nothing is decided without it.
pub(super) async fn observe(
    context: &Context,
    queue: &Queue<ObjectKey>,
    control_plane: &KubeadmControlPlane,
    cluster: &Cluster,
) -> Result<Found, Unreadable> {
    let reader = Reader { context, queue, control_plane };
    // Before the Machines: then the Machine of each object that is seen here is seen, too.
    let objects = reader.owned_objects().await?;
    let all = machines(&context.cache, cluster, BY_CONTROL_PLANE);
    let mut candidates = Vec::new();
    let mut machines = BTreeMap::new();
    for machine in &all {
        let kubeadm_config = reader.kubeadm_config(machine).await?;
        if is_controlled(control_plane, machine) {
            let name = machine.metadata.name.clone().unwrap_or_default();
            machines.insert(name, reader.machine(machine, kubeadm_config.clone()).await?);
        }
        candidates.push(Candidate { machine: Machine::clone(machine), kubeadm_config });
    }
    let observed = Observed {
        now: context.clock.now(),
        random: context.chance.number(),
        infrastructure_template: reader.template().await?,
        leftovers: leftovers(objects, &all),
        etcd: EtcdMembers::Unknown { why: "nobody has looked yet".to_owned() },
        nodes_without_machine: Vec::new(),
        has_kubeadm_config: false,
        inspected: BTreeMap::new(),
        not_inspected: None,
        certificates: None,
        registered: registered(context, control_plane),
        problems: Vec::new(),
        workers: workers(&context.cache, control_plane, cluster),
        control_plane: control_plane.clone(),
        cluster: cluster.clone(),
        machines,
    };
    Ok(Found { observed, candidates })
}

/// Which extensions are registered for the namespace, if that is known.
pub(super) fn registered(context: &Context, control_plane: &KubeadmControlPlane) -> Option<ContentHash> {
    let namespace = context.namespace(control_plane.metadata.namespace.as_deref().unwrap_or_default());
    context.extensions.fingerprint(Scope::Machine, &namespace).ok()
}

fn machines(cache: &Cache, cluster: &Cluster, index: &'static str) -> Vec<Arc<Machine>> {
    let key = ObjectKey::of(cluster);
    let mut machines = cache.machines.by(index, &namespaced(&key.namespace, &key.name));
    machines.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    machines
}

/// Workers that are still there, by name. They matter only when the control plane is being deleted.
fn workers(cache: &Cache, control_plane: &KubeadmControlPlane, cluster: &Cluster) -> Vec<String> {
    if control_plane.metadata.deletion_timestamp.is_none() {
        return Vec::new();
    }
    let is_worker = |machine: &&Arc<Machine>| {
        machine.metadata.labels.as_ref().is_none_or(|own| !own.contains_key(labels::CONTROL_PLANE))
    };
    let all = machines(cache, cluster, BY_CLUSTER);
    let names: Vec<&str> =
        all.iter().filter(is_worker).filter_map(|machine| machine.metadata.name.as_deref()).collect();
    match names.get(MAX_WORKERS..) {
        _ if names.is_empty() => Vec::new(),
        None | Some([]) => vec![format!("Machines: {}", names.join(", "))],
        Some(rest) => vec![format!("Machines: {}, ... ({} more)", names[..MAX_WORKERS].join(", "), rest.len())],
    }
}

/// Objects that no Machine refers to or owns.
fn leftovers(objects: Vec<Value>, machines: &[Arc<Machine>]) -> Vec<Value> {
    let references = machines.iter().flat_map(|machine| {
        let spec = &machine.spec;
        spec.bootstrap.config_ref.iter().chain([&spec.infrastructure_ref]).map(|it| (&*it.kind, &*it.name))
    });
    let referred: BTreeSet<(&str, &str)> = references.collect();
    let text =
        |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_left = |object: &Value| {
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        let own = object.pointer("/metadata/ownerReferences").cloned().unwrap_or_default();
        let own: Vec<_> = serde_json::from_value(own).unwrap_or_default();
        let is_owned = owners::find(&own, OwnerKind { group: GROUP, kind: "Machine" }).is_some();
        !is_owned && !referred.contains(&(&*kind, &*name))
    };
    objects.into_iter().filter(is_left).collect()
}

struct Reader<'a> {
    context: &'a Context,
    queue: &'a Queue<ObjectKey>,
    control_plane: &'a KubeadmControlPlane,
}

impl Reader<'_> {
    fn namespace(&self) -> &str {
        self.control_plane.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// What the reference leads to; nothing if that is not there.
    async fn object(&self, reference: &ContractVersionedObjectReference) -> Result<Option<Value>, Unreadable> {
        let what = || format!("{} {}", reference.kind, reference.name);
        let subscribe = |informer: &_| watch::provided(&self.context.cache, informer, self.queue);
        match self.context.external(reference, self.namespace(), subscribe).await {
            External::Found { object, .. } => Ok(Some(object)),
            External::Missing | External::NotReferenced => Ok(None),
            External::Unreadable { why } => Err(Unreadable { what: what(), why }),
        }
    }

    /// While the control plane is taken down, no template is needed.
    async fn template(&self) -> Result<Option<Value>, Unreadable> {
        let read = self.object(&self.control_plane.spec.machine_template.spec.infrastructure_ref).await;
        let is_deleting = self.control_plane.metadata.deletion_timestamp.is_some();
        if is_deleting { Ok(read.ok().flatten()) } else { read }
    }

    async fn kubeadm_config(&self, machine: &Machine) -> Result<Option<KubeadmConfig>, Unreadable> {
        let reference = machine.spec.bootstrap.config_ref.as_ref().filter(|it| it.kind == KUBEADM_CONFIG);
        let Some(reference) = reference else { return Ok(None) };
        let decode = |object| serde_json::from_value(object);
        let found = self.object(reference).await?.map(decode).transpose();
        found.map_err(|error| Unreadable { what: format!("{KUBEADM_CONFIG} {}", reference.name), why: chain(&error) })
    }

    async fn machine(
        &self,
        machine: &Machine,
        kubeadm_config: Option<KubeadmConfig>,
    ) -> Result<ObservedMachine, Unreadable> {
        let spec = &self.control_plane.spec;
        let version = KubernetesVersion::parse_tolerant(&spec.version).map_err(|error| Unreadable {
            what: format!("spec.version of KubeadmControlPlane {}", ObjectKey::of(self.control_plane)),
            why: chain(&error),
        })?;
        let matches = |config: &KubeadmConfig| compare(&spec.kubeadm_config_spec, &version, &config.spec).is_up_to_date;
        Ok(ObservedMachine {
            infrastructure: self.object(&machine.spec.infrastructure_ref).await?,
            kubeadm_config_matches: kubeadm_config.as_ref().is_none_or(matches),
            kubeadm_config,
            machine: machine.clone(),
            coverage: Coverage::NotAsked,
        })
    }

    /// Hosts and configurations that the control plane owns.
    async fn owned_objects(&self) -> Result<Vec<Value>, Unreadable> {
        let (cache, uid) = (&self.context.cache, self.control_plane.metadata.uid.as_deref().unwrap_or_default());
        let template = &self.control_plane.spec.machine_template.spec.infrastructure_ref;
        let hosts = ContractVersionedObjectReference {
            kind: kind_from_template(&template.kind).to_owned(),
            ..template.clone()
        };
        let configs = ContractVersionedObjectReference {
            api_group: bootstrap::GROUP.to_owned(),
            kind: KUBEADM_CONFIG.to_owned(),
            name: String::new(),
        };
        let mut objects = Vec::new();
        for kind in [hosts, configs] {
            match cache.owned(&kind, uid).await {
                Listed::All(all) => objects.extend(all),
                // What is not known is not left over. While the control plane is taken down nothing of it matters.
                Listed::Unreadable(_) if self.control_plane.metadata.deletion_timestamp.is_some() => {}
                Listed::Unreadable(problem) => return Err(problem),
            }
        }
        Ok(objects)
    }
}
