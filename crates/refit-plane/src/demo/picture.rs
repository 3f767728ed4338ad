//! What there is at a moment, as far as a story tells of it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use refit_api::cluster::{Machine, MachineDeployment, MachineSet};
use refit_api::controlplane::KubeadmControlPlane;
use refit_api::rollout::MachineRollout;
use refit_api::vocabulary::annotations::UPDATE_IN_PROGRESS;
use refit_api::vocabulary::condition_types::{READY, ROLLING_OUT, UPDATING};
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;
use refit_provider_sim::kinds::SimMachine;

use super::workload::Workload;
use crate::sample::{CONTROL_PLANE, WORKERS};

/// What there is at a moment.
#[derive(Debug, Clone, Default)]
pub struct Picture {
    pub machine_deployment: Option<MachineDeployment>,
    pub control_plane: Option<KubeadmControlPlane>,
    /// The name of the Node whose member of etcd leads.
    pub etcd_leader: Option<String>,
    pub machine_sets: Vec<MachineSet>,
    /// By name.
    pub machines: BTreeMap<String, MachineView>,
    pub rollouts: Vec<MachineRollout>,
}

/// A machine, and what is known of its host.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineView {
    pub facts: Facts,
    pub memory: Option<String>,
    pub cpus: Option<i32>,
    pub image: Option<String>,
    pub kubelet_version: Option<String>,
    /// The version of the API server on it.
    pub api_server_version: Option<String>,
    pub boots: i32,
    pub is_ready: bool,
    pub is_deleting: bool,
    /// What is said of an update that is under way.
    pub updating: Option<String>,
}

/// What stays the same while a machine is changed in place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    pub uid: Option<String>,
    pub node: Option<String>,
    pub node_uid: Option<String>,
    pub provider_id: Option<String>,
    pub host: Option<String>,
    pub disk: Option<String>,
    /// The id of its member of etcd.
    pub etcd_member: Option<String>,
}

/// What the owner of the machines says of them.
struct Owner<'a> {
    is_observed: bool,
    wished: Option<i32>,
    /// All there are, those that are ready, those that are available, those that are as they should be.
    counters: [Option<i32>; 4],
    conditions: &'a [Condition],
}

impl<'a> Owner<'a> {
    fn of_deployment(deployment: &'a MachineDeployment) -> Self {
        let status = &deployment.status;
        Self {
            is_observed: status.observed_generation == deployment.metadata.generation,
            wished: deployment.spec.replicas,
            counters: [status.replicas, status.ready_replicas, status.available_replicas, status.up_to_date_replicas],
            conditions: &status.conditions,
        }
    }

    fn of_control_plane(plane: &'a KubeadmControlPlane) -> Self {
        let status = &plane.status;
        Self {
            is_observed: status.observed_generation == plane.metadata.generation,
            wished: plane.spec.replicas,
            counters: [status.replicas, status.ready_replicas, status.available_replicas, status.up_to_date_replicas],
            conditions: &status.conditions,
        }
    }
}

impl Picture {
    /// Looks at the sample's MachineDeployment or KubeadmControlPlane and everything below it.
    pub async fn take(client: &Client, workload: &Client, namespace: &str) -> Result<Self, kube::Error> {
        let all = ListParams::default();
        let deployments: Api<MachineDeployment> = Api::namespaced(client.clone(), namespace);
        let machine_deployment = deployments.get_opt(WORKERS).await?;
        let planes: Api<KubeadmControlPlane> = Api::namespaced(client.clone(), namespace);
        let control_plane = planes.get_opt(CONTROL_PLANE).await?;
        let machine_sets = Api::namespaced(client.clone(), namespace).list(&all).await?.items;
        let machines: Api<Machine> = Api::namespaced(client.clone(), namespace);
        let hosts: Api<SimMachine> = Api::namespaced(client.clone(), namespace);
        let (machines, hosts) = (machines.list(&all).await?.items, hosts.list(&all).await?.items);
        // The workload cluster comes up with the first machines.
        let inside = Workload::look(workload, control_plane.is_some()).await.unwrap_or_default();
        let rollouts = Api::namespaced(client.clone(), namespace).list(&all).await?.items;
        let views = machines.iter().map(|machine| (machine.name_any(), view(machine, &hosts, &inside))).collect();
        let etcd_leader = inside.etcd_leader();
        Ok(Self { machine_deployment, control_plane, etcd_leader, machine_sets, machines: views, rollouts })
    }

    /// Whether as many machines as wished for are there, all of them ready and as they should be.
    pub fn is_settled(&self) -> bool {
        let Some(owner) = self.owner() else { return false };
        let is_busy = |machine: &MachineView| machine.is_deleting || !machine.is_ready || machine.updating.is_some();
        owner.is_observed
            && owner.counters.iter().all(|counter| *counter == owner.wished)
            && i32::try_from(self.machines.len()).ok() == owner.wished
            && !self.machines.values().any(is_busy)
    }

    /// Why the rollout is blocked, where it is.
    pub fn blocked(&self) -> Option<&str> {
        is_true(self.owner()?.conditions, ROLLOUT_BLOCKED).map(|condition| condition.message.as_str())
    }

    /// What the owner of the machines says of a rollout, where there is one.
    pub fn rolling_out(&self) -> Option<&str> {
        is_true(self.owner()?.conditions, ROLLING_OUT).map(|condition| condition.message.as_str())
    }

    /// All machines, those that are up to date and those that are available, as their owner counts them.
    pub(super) fn counted(&self) -> Option<[i32; 3]> {
        let [all, _, available, up_to_date] = self.owner()?.counters.map(|counter| counter.unwrap_or(0));
        Some([all, up_to_date, available])
    }

    fn owner(&self) -> Option<Owner<'_>> {
        let plane = || self.control_plane.as_ref().map(Owner::of_control_plane);
        self.machine_deployment.as_ref().map(Owner::of_deployment).or_else(plane)
    }

    /// What stays the same, by machine.
    pub fn facts(&self) -> BTreeMap<String, Facts> {
        self.machines.iter().map(|(name, machine)| (name.clone(), machine.facts.clone())).collect()
    }
}

fn view(machine: &Machine, hosts: &[SimMachine], inside: &Workload) -> MachineView {
    let sim = hosts.iter().find(|host| host.name_any() == machine.spec.infrastructure_ref.name);
    let host = sim.and_then(|sim| sim.status.host.as_ref());
    let node_name = machine.status.node_ref.as_ref().map(|node| node.name.clone());
    let node = inside.nodes.iter().find(|node| node.metadata.name == node_name);
    let info = node.and_then(|node| node.status.as_ref()?.node_info.as_ref());
    let conditions = &machine.status.conditions;
    MachineView {
        facts: Facts {
            uid: machine.uid(),
            node: node_name.clone(),
            node_uid: node.and_then(ResourceExt::uid),
            provider_id: machine.spec.provider_id.clone(),
            host: host.map(|host| host.id.clone()),
            disk: host.map(|host| host.disk_id.clone()),
            etcd_member: node_name.as_deref().and_then(|node| inside.etcd_member(node)),
        },
        memory: host.map(|host| host.memory.clone()),
        cpus: host.map(|host| host.cpus),
        image: host.and_then(|host| host.image.clone()),
        kubelet_version: info.map(|info| info.kubelet_version.clone()),
        api_server_version: node_name.as_deref().and_then(|node| inside.api_server_version(node)),
        boots: host.map_or(0, |host| host.boot_count),
        is_ready: is_true(conditions, READY).is_some(),
        is_deleting: machine.metadata.deletion_timestamp.is_some(),
        updating: updating(machine),
    }
}

/// What is said of the update that is going on. The marks are there before anything is said.
fn updating(machine: &Machine) -> Option<String> {
    let told = is_true(&machine.status.conditions, UPDATING).map(|condition| condition.message.clone());
    let is_marked = machine.annotations().contains_key(UPDATE_IN_PROGRESS);
    told.or_else(|| is_marked.then(String::new))
}

fn is_true<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_ && condition.status == "True")
}
