//! Looking at a control plane.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use futures::{FutureExt, join};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::Api;
use kube::api::ListParams;
use refit_api::vocabulary::labels::NODE_ROLE_CONTROL_PLANE;
use refit_plan::control_plane::inspection::{Component, Seen, SeenConfig, SeenEtcd, SeenMember, SeenPod};
use tokio::time::timeout;

use super::kubeadm_config::KUBEADM_CONFIG;
use super::{EtcdAccess, KubeWorkload, NAMESPACE};
use crate::WorkloadError;
use crate::etcd::{EtcdError, Membership, chain};
use crate::request::{About, bounded, read};

/// How many Nodes a control plane may have. etcd is not run with more than seven members.
const MOST_NODES: u32 = 100;
/// How many requests are under way at a time.
const AT_ONCE: usize = 8;
/// How long all of etcd may take, in seconds: two Nodes that do not answer, and one that does.
const ETCD_SECONDS: u64 = 60;

type Nodes = BTreeMap<String, Node>;

impl KubeWorkload {
    pub(super) async fn look(&self, nodes: &[String]) -> Seen {
        let ((found, pods), etcd, kubeadm_config) = join!(self.hosts(nodes), self.etcd(nodes), self.kubeadm_config());
        Seen { nodes: found.map_err(|error| chain(&error)), pods, etcd, kubeadm_config }
    }

    /// The Nodes, and the static Pods of those that Machines are on.
    async fn hosts(&self, names: &[String]) -> (Result<Nodes, WorkloadError>, BTreeMap<(String, Component), SeenPod>) {
        let nodes = self.nodes(names).await;
        let wanted: BTreeSet<&String> = names.iter().collect();
        let there = nodes.iter().flat_map(BTreeMap::keys).filter(|name| wanted.contains(name));
        let wanted = there.flat_map(|node| Component::ALL.map(|component| (node.clone(), component)));
        let looks: Vec<_> = wanted.map(|key| self.pod(key)).collect();
        let pods = stream::iter(looks).buffer_unordered(AT_ONCE).collect().await;
        (nodes, pods)
    }

    async fn nodes(&self, names: &[String]) -> Result<Nodes, WorkloadError> {
        let what = "list of Nodes";
        let api: Api<Node> = Api::all(self.client.clone());
        let params = ListParams::default().labels(NODE_ROLE_CONTROL_PLANE).limit(MOST_NODES);
        let list = bounded(About { what, done: "read" }, api.list(&params)).await?;
        if list.metadata.continue_.is_some_and(|token| !token.is_empty()) {
            let why = format!("more than {MOST_NODES} Nodes have the label {NODE_ROLE_CONTROL_PLANE}");
            return Err(WorkloadError::Unusable { what: what.to_owned(), why });
        }
        let name = |node: Node| node.metadata.name.clone().map(|name| (name, node));
        let mut nodes: Nodes = list.items.into_iter().filter_map(name).collect();
        // A Node that lost the label is still there.
        let missing: Vec<&String> = names.iter().filter(|name| !nodes.contains_key(*name)).collect();
        let looks: Vec<_> = missing.into_iter().map(|name| node(&api, name)).collect();
        let found: Vec<_> = stream::iter(looks).buffer_unordered(AT_ONCE).try_collect().await?;
        nodes.extend(found.into_iter().flatten());
        Ok(nodes)
    }

    async fn pod(&self, key: (String, Component)) -> ((String, Component), SeenPod) {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), NAMESPACE);
        let name = key.1.pod_name(&key.0);
        let what = format!("Pod {NAMESPACE}/{name}");
        let seen = match read(&api, &name, &what).await {
            Ok(Some(pod)) => SeenPod::Found(Box::new(pod)),
            Ok(None) => SeenPod::Missing,
            Err(error) => SeenPod::Unreadable { why: chain(&error) },
        };
        (key, seen)
    }

    async fn kubeadm_config(&self) -> SeenConfig {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        let what = "ConfigMap kube-system/kubeadm-config";
        match read(&api, KUBEADM_CONFIG, what).await {
            Ok(Some(_)) => SeenConfig::Found,
            Ok(None) => SeenConfig::Missing,
            Err(error) => SeenConfig::Unreadable { why: chain(&error) },
        }
    }

    async fn etcd(&self, nodes: &[String]) -> SeenEtcd {
        let (authority, connector) = match &self.etcd {
            EtcdAccess::External => return SeenEtcd::External,
            EtcdAccess::Unknown { why } => return SeenEtcd::Unknown { why: why.clone() },
            EtcdAccess::Managed { authority, connector } => (authority, connector),
        };
        if nodes.is_empty() {
            return SeenEtcd::Unknown { why: "no Machine has a Node yet".to_owned() };
        }
        let target = self.target(nodes.to_vec(), authority);
        let look = connector(target).then(|etcd| async move { etcd?.membership().await });
        let late = |_| EtcdError::Late { what: "asking etcd".to_owned(), seconds: ETCD_SECONDS };
        let seen = timeout(Duration::from_secs(ETCD_SECONDS), look).await.map_err(late).flatten();
        seen.map_or_else(|error| SeenEtcd::Unknown { why: chain(&error) }, seen_etcd)
    }
}

async fn node(api: &Api<Node>, name: &str) -> Result<Option<(String, Node)>, WorkloadError> {
    let what = format!("Node {name}");
    let node = read(api, name, &what).await?;
    Ok(node.map(|node| (name.to_owned(), node)))
}

/// Members with the alarms that they raise.
fn seen_etcd(Membership { members, leader, alarms }: Membership) -> SeenEtcd {
    let alarms_of = |id| alarms.iter().filter(|alarm| alarm.member == id).map(|alarm| alarm.name.clone()).collect();
    let members = members.into_iter().map(|member| SeenMember {
        id: member.id,
        alarms: alarms_of(member.id),
        name: member.name,
        is_learner: member.is_learner,
    });
    SeenEtcd::Known { members: members.collect(), leader }
}
