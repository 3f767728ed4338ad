//! The Node that a simulated host is in its workload cluster.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use refit_api::vocabulary::labels;
use serde_json::{Value, json};

use crate::kinds::SimHost;

/// How many pods a Node takes: the kubelet's usual bound.
const MAX_PODS: &str = "110";
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
    pub is_control_plane: bool,
}

impl NodeReport {
    /// The Node to register, with its status: servers keep that of a new Node.
    pub fn node(&self, now: Timestamp) -> Node {
        let mut node = Node::default();
        node.metadata.name = Some(self.name.clone());
        node.metadata.labels = Some(self.labels());
        node.spec = Some(NodeSpec { provider_id: Some(self.provider_id.clone()), ..NodeSpec::default() });
        node.status = Some(NodeStatus { conditions: Some(conditions(now)), ..self.status() });
        node
    }

    /// What of the status of a registered Node is not as it should be; nothing when all is.
    pub fn difference(&self, node: &Node) -> Option<Value> {
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
        if self.is_control_plane {
            found.insert(labels::NODE_ROLE_CONTROL_PLANE.to_owned(), String::new());
        }
        found
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

fn conditions(now: Timestamp) -> Vec<NodeCondition> {
    let condition = |type_: &str, status: &str, reason: &str, message: &str| NodeCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    };
    let pressures = PRESSURES.map(|(type_, reason)| condition(type_, "False", reason, "the simulated host has enough"));
    let ready = condition("Ready", "True", "KubeletReady", "kubelet is posting ready status");
    pressures.into_iter().chain([ready]).collect()
}
