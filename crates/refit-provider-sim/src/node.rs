//! The Node that a simulated host is in its workload cluster.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use refit_api::vocabulary::{labels, taints};
use serde_json::{Value, json};

use crate::kinds::SimHost;
use crate::static_pod::ControlPlaneReport;

/// How many pods a Node takes: the kubelet's usual bound.
const MAX_PODS: &str = "110";
/// The condition of a Node that counts most.
const READY: &str = "Ready";
/// The conditions of a Node beside `Ready`, which are good when they are false.
const PRESSURES: [(&str, &str); 3] = [
    ("MemoryPressure", "KubeletHasSufficientMemory"),
    ("DiskPressure", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "KubeletHasSufficientPID"),
];

/// What a kubelet says of its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeReport {
    pub name: String,
    pub provider_id: String,
    pub host: SimHost,
    pub address: String,
    /// Nobody hears from the host.
    pub is_dead: bool,
    /// What runs on it of the control plane; nothing on workers.
    pub control_plane: Option<ControlPlaneReport>,
}

impl NodeReport {
    /// The Node to register, with its status: servers keep that of a new Node.
    pub fn node(&self, now: Timestamp) -> Node {
        let mut node = Node::default();
        node.metadata.name = Some(self.name.clone());
        node.metadata.labels = Some(self.labels());
        let provider_id = Some(self.provider_id.clone());
        node.spec = Some(NodeSpec { provider_id, taints: self.taints(), ..NodeSpec::default() });
        node.status = Some(NodeStatus { conditions: Some(conditions(self.is_dead, now)), ..self.status() });
        node
    }

    /// What of the status of a registered Node is not as it should be; nothing when all is.
    pub fn difference(&self, node: &Node, now: Timestamp) -> Option<Value> {
        let found = node.status.clone().unwrap_or_default();
        let wanted = self.status();
        let mut patch = serde_json::Map::new();
        if found.node_info != wanted.node_info {
            patch.insert("nodeInfo".to_owned(), json!(wanted.node_info));
        }
        if found.capacity != wanted.capacity || found.allocatable != wanted.allocatable {
            patch.insert("capacity".to_owned(), json!(wanted.capacity));
            patch.insert("allocatable".to_owned(), json!(wanted.allocatable));
        }
        if found.addresses != wanted.addresses {
            patch.insert("addresses".to_owned(), json!(wanted.addresses));
        }
        let is_ready = |it: &NodeCondition| it.type_ == READY && it.status == ready_status(self.is_dead);
        if !found.conditions.iter().flatten().any(is_ready) {
            patch.insert("conditions".to_owned(), json!(conditions(self.is_dead, now)));
        }
        (!patch.is_empty()).then(|| json!({ "status": patch }))
    }

    /// Whether a Node of this name is of this host.
    pub fn is_of(&self, node: &Node) -> bool {
        let provider_id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default();
        node.name_any() == self.name && provider_id == self.provider_id
    }

    fn labels(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::from([
            ("kubernetes.io/hostname".to_owned(), self.name.clone()),
            ("kubernetes.io/os".to_owned(), "linux".to_owned()),
            ("kubernetes.io/arch".to_owned(), "amd64".to_owned()),
        ]);
        if self.control_plane.is_some() {
            found.insert(labels::NODE_ROLE_CONTROL_PLANE.to_owned(), String::new());
        }
        found
    }

    /// Keeps ordinary Pods away from a control plane.
    fn taints(&self) -> Option<Vec<Taint>> {
        let key = taints::NODE_ROLE_CONTROL_PLANE.to_owned();
        let taint = Taint { key, effect: "NoSchedule".to_owned(), ..Taint::default() };
        self.control_plane.is_some().then(|| vec![taint])
    }

    fn status(&self) -> NodeStatus {
        let quantity = |key: &str, value: &str| (key.to_owned(), Quantity(value.to_owned()));
        let cpus = self.host.cpus.to_string();
        let capacity: BTreeMap<_, _> =
            [quantity("cpu", &cpus), quantity("memory", &self.host.memory), quantity("pods", MAX_PODS)].into();
        let address = |type_: &str, address: &str| NodeAddress { type_: type_.to_owned(), address: address.to_owned() };
        NodeStatus {
            addresses: Some(vec![address("InternalIP", &self.address), address("Hostname", &self.name)]),
            allocatable: Some(capacity.clone()),
            capacity: Some(capacity),
            node_info: Some(self.info()),
            ..NodeStatus::default()
        }
    }

    fn info(&self) -> NodeSystemInfo {
        let version = self.host.kubernetes_version.clone().unwrap_or_default();
        NodeSystemInfo {
            architecture: "amd64".to_owned(),
            boot_id: format!("{}-{}", self.host.id, self.host.boot_count),
            container_runtime_version: "sim://1.0.0".to_owned(),
            kernel_version: "6.0.0-sim".to_owned(),
            kube_proxy_version: version.clone(),
            kubelet_version: version,
            machine_id: self.host.id.clone(),
            operating_system: "linux".to_owned(),
            os_image: self.host.image.clone().unwrap_or_else(|| "simulated".to_owned()),
            system_uuid: self.host.id.clone(),
            ..NodeSystemInfo::default()
        }
    }
}

/// The conditions that a kubelet writes; of a dead host, those that the node controller writes instead.
fn conditions(is_dead: bool, now: Timestamp) -> Vec<NodeCondition> {
    let condition = |type_: &str, status: &str, reason: &str, message: &str| NodeCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    };
    let all = |status: &str, said: Option<(&str, &str)>| {
        let pressures = PRESSURES.map(|(type_, reason)| {
            let (reason, message) = said.unwrap_or((reason, "the simulated host has enough"));
            condition(type_, status, reason, message)
        });
        let (reason, message) = said.unwrap_or(("KubeletReady", "kubelet is posting ready status"));
        pressures.into_iter().chain([condition(READY, ready_status(is_dead), reason, message)]).collect()
    };
    match is_dead {
        false => all("False", None),
        true => all("Unknown", Some(("NodeStatusUnknown", "Kubelet stopped posting node status."))),
    }
}

fn ready_status(is_dead: bool) -> &'static str {
    if is_dead { "Unknown" } else { "True" }
}
