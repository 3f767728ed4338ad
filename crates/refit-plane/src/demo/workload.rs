//! What there is in the workload cluster at a moment.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use refit_provider_sim::etcd::{self, SimEtcd, SimEtcdMember};

/// The Nodes and the control plane of a workload cluster.
#[derive(Debug, Default)]
pub(super) struct Workload {
    pub(super) nodes: Vec<Node>,
    static_pods: Vec<Pod>,
    etcd: SimEtcd,
}

impl Workload {
    pub(super) async fn look(client: &Client, has_control_plane: bool) -> Result<Self, kube::Error> {
        let nodes = Api::all(client.clone()).list(&ListParams::default()).await?.items;
        if !has_control_plane {
            return Ok(Self { nodes, ..Self::default() });
        }
        let pods: Api<Pod> = Api::namespaced(client.clone(), "kube-system");
        let static_pods = pods.list(&ListParams::default().labels("tier=control-plane")).await?.items;
        let etcd = etcd::read(client).await.unwrap_or_default();
        Ok(Self { nodes, static_pods, etcd })
    }

    /// The tag of the image of the API server on a Node.
    pub(super) fn api_server_version(&self, node: &str) -> Option<String> {
        let name = format!("kube-apiserver-{node}");
        let pod = self.static_pods.iter().find(|pod| pod.name_any() == name)?;
        let image = pod.spec.as_ref()?.containers.first()?.image.as_deref()?;
        image.rsplit_once(':').map(|(_, tag)| tag.to_owned())
    }

    pub(super) fn etcd_member(&self, node: &str) -> Option<String> {
        self.members().find(|member| member.name == node).map(|member| format!("{:x}", member.id))
    }

    pub(super) fn etcd_leader(&self) -> Option<String> {
        self.members().find(|member| Some(member.id) == self.etcd.leader).map(|member| member.name.clone())
    }

    fn members(&self) -> impl Iterator<Item = &SimEtcdMember> {
        self.etcd.members.iter()
    }
}
