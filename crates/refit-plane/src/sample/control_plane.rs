//! A cluster whose control plane are machines.

use kube::Client;
use serde_json::{Value, json};

use super::{CLUSTER, apply, object, reference};

/// The name of its KubeadmControlPlane.
pub const CONTROL_PLANE: &str = "control-plane";
/// The Kubernetes version of its machines.
pub const CONTROL_PLANE_VERSION: &str = "v1.30.4";

/// What the control plane of a cluster is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPlane {
    pub namespace: String,
    pub replicas: i32,
    pub version: String,
    /// How the KubeadmControlPlane is rolled out.
    pub strategy: Value,
    /// Annotations of the KubeadmControlPlane.
    pub annotations: Vec<(&'static str, &'static str)>,
    /// How long one change of a host takes.
    pub update_seconds: i32,
}

impl Default for ControlPlane {
    /// Three machines, and none for a rollout besides.
    fn default() -> Self {
        Self {
            namespace: "default".to_owned(),
            replicas: 3,
            version: CONTROL_PLANE_VERSION.to_owned(),
            strategy: json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 0 } }),
            annotations: Vec::new(),
            update_seconds: 1,
        }
    }
}

impl ControlPlane {
    /// One machine, which can be changed in place only.
    pub fn single_node() -> Self {
        Self { replicas: 1, strategy: json!({ "type": "InPlace" }), ..Self::default() }
    }

    /// The Cluster, its infrastructure, the template of the hosts and the KubeadmControlPlane.
    pub fn objects(&self) -> Vec<Value> {
        let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2";
        vec![
            self.cluster(),
            object(&self.namespace, infrastructure, "SimCluster", CLUSTER, json!({})),
            self.machine_template(),
            self.control_plane(),
        ]
    }

    /// Makes all of them, or brings them back to what they are here.
    pub async fn apply(&self, client: &Client) -> Result<(), kube::Error> {
        for object in self.objects() {
            apply(client, &object).await?;
        }
        Ok(())
    }

    fn cluster(&self) -> Value {
        let spec = json!({
            "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "SimCluster", CLUSTER),
            "controlPlaneRef": reference("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", CONTROL_PLANE),
        });
        object(&self.namespace, "cluster.x-k8s.io/v1beta2", "Cluster", CLUSTER, spec)
    }

    fn machine_template(&self) -> Value {
        let spec = json!({ "cpus": 2, "memory": "8Gi", "updateSeconds": self.update_seconds });
        let api_version = "infrastructure.cluster.x-k8s.io/v1beta2";
        let spec = json!({ "template": { "spec": spec } });
        object(&self.namespace, api_version, "SimMachineTemplate", CONTROL_PLANE, spec)
    }

    fn control_plane(&self) -> Value {
        let infrastructure = reference("infrastructure.cluster.x-k8s.io", "SimMachineTemplate", CONTROL_PLANE);
        let spec = json!({
            "replicas": self.replicas,
            "version": self.version,
            "rollout": { "strategy": self.strategy },
            "machineTemplate": { "spec": { "infrastructureRef": infrastructure } },
        });
        let api_version = "controlplane.cluster.x-k8s.io/v1beta2";
        let mut made = object(&self.namespace, api_version, "KubeadmControlPlane", CONTROL_PLANE, spec);
        for (key, value) in &self.annotations {
            made["metadata"]["annotations"][*key] = json!(value);
        }
        made
    }
}
