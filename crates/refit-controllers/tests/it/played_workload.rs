//! The workload cluster of a control plane, played: its Nodes are real objects, its Pods and its etcd are not there.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{Api, Client};
use refit_api::bootstrap::ClusterConfiguration;
use refit_controllers::control_plane::WorkloadAccess;
use refit_plan::control_plane::inspection::{Component, Inspection, Seen, SeenConfig, SeenEtcd, SeenMember, SeenPod};
use refit_workload::{Skips, WorkloadCluster, WorkloadError};
use serde_json::json;

const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// Clones are the same.
#[derive(Clone)]
pub struct Workload {
    client: Client,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    leader: Option<String>,
    removed: BTreeSet<String>,
    sick: BTreeSet<String>,
    log: Vec<String>,
}

impl Workload {
    pub fn new(client: Client) -> Self {
        Self { client, state: Arc::default() }
    }

    pub fn access(&self) -> WorkloadAccess {
        let workload = self.clone();
        Arc::new(move |_| Arc::new(workload.clone()))
    }

    /// What was asked of it, each once.
    pub fn log(&self) -> Vec<String> {
        let mut log = self.state().log.clone();
        log.dedup();
        log
    }

    /// The API server of a Node is down, or well again.
    pub fn set_sick(&self, node: &str, is_sick: bool) {
        let sick = &mut self.state().sick;
        if is_sick {
            sick.insert(node.to_owned())
        } else {
            sick.remove(node)
        };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody must panic with the lock")
    }

    async fn seen(&self) -> Seen {
        let nodes = Api::<Node>::all(self.client.clone()).list(&Default::default()).await;
        let is_ours = |node: &Node| node.metadata.labels.as_ref().is_some_and(|own| own.contains_key(CONTROL_PLANE));
        let nodes = nodes.map_err(|error| error.to_string()).map(|listed| {
            let ours = listed.items.into_iter().filter(is_ours);
            ours.map(|node| (node.metadata.name.clone().unwrap_or_default(), node)).collect()
        });
        let names: Vec<String> =
            nodes.iter().flat_map(|nodes: &std::collections::BTreeMap<_, _>| nodes.keys().cloned()).collect();
        let mut state = self.state();
        let members: Vec<&String> = names.iter().filter(|name| !state.removed.contains(*name)).collect();
        if state.leader.as_ref().is_none_or(|leader| !members.contains(&leader)) {
            state.leader = members.first().map(|name| (*name).clone());
        }
        let pods = names.iter().flat_map(|name| Component::ALL.map(|component| (name.clone(), component)));
        Seen {
            pods: pods
                .map(|(node, component)| {
                    let is_well = component != Component::ApiServer || !state.sick.contains(&node);
                    ((node, component), SeenPod::Found(Box::new(pod(is_well))))
                })
                .collect(),
            etcd: SeenEtcd::Known {
                members: members
                    .iter()
                    .map(|name| SeenMember { id: id(name), name: (*name).clone(), ..SeenMember::default() })
                    .collect(),
                leader: state.leader.as_deref().map(id),
            },
            kubeadm_config: if names.is_empty() { SeenConfig::Missing } else { SeenConfig::Found },
            nodes,
        }
    }

    fn note(&self, what: String) -> BoxFuture<'static, Result<(), WorkloadError>> {
        self.state().log.push(what);
        async { Ok(()) }.boxed()
    }
}

fn pod(is_well: bool) -> Pod {
    let status = if is_well { "True" } else { "False" };
    let terminated = json!({ "state": { "waiting": {} }, "lastState": { "terminated": { "exitCode": 1 } } });
    let mut container = json!({ "name": "c", "image": "i", "imageID": "i", "ready": is_well, "restartCount": 0 });
    if !is_well {
        container["state"] = terminated["state"].clone();
        container["lastState"] = terminated["lastState"].clone();
    }
    let status = json!({
        "phase": "Running", "conditions": [{ "type": "Ready", "status": status }], "containerStatuses": [container],
    });
    serde_json::from_value(json!({ "metadata": { "name": "p" }, "status": status })).expect("it must be a Pod")
}

fn id(name: &str) -> u64 {
    name.bytes().fold(7, |id: u64, byte| id.wrapping_mul(31).wrapping_add(byte.into()))
}

impl WorkloadCluster for Workload {
    fn inspect<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, Inspection> {
        async { Inspection::Seen(Box::new(self.seen().await)) }.boxed()
    }

    fn forward_etcd_leadership<'a>(
        &'a self,
        from: &'a str,
        candidates: &'a [String],
    ) -> BoxFuture<'a, Result<(), WorkloadError>> {
        self.state().leader = candidates.first().cloned();
        self.note(format!("leadership away from {from}"))
    }

    fn remove_etcd_member<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), WorkloadError>> {
        self.state().removed.insert(name.to_owned());
        self.note(format!("{name} leaves etcd"))
    }

    fn prepare<'a>(
        &'a self,
        version: &'a str,
        _: &'a ClusterConfiguration,
    ) -> BoxFuture<'a, Result<(), WorkloadError>> {
        self.note(format!("prepare {version}"))
    }

    fn update_addons<'a>(
        &'a self,
        version: &'a str,
        _: &'a ClusterConfiguration,
        _: Skips,
    ) -> BoxFuture<'a, Result<(), WorkloadError>> {
        self.note(format!("addons {version}"))
    }
}
