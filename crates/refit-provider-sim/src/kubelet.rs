//! Just enough of a kubelet: starts pods that were put on Nodes, and ends those that were told to go.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use refit_apiserver::api::Clock;
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use crate::name::Name;
use crate::static_pod::is_static;
use crate::steady::Steady;
use crate::words::MANAGER;
use crate::workload::Workloads;

/// The pause after a request that failed.
const RETRY: SignedDuration = SignedDuration::from_secs(1);

/// Some pods of one workload cluster that somebody waits for.
type Waiting = BTreeMap<Name, (Timestamp, Pod)>;

/// What a kubelet does with a pod next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodStep {
    /// Say that it runs.
    Start,
    /// Delete it for good.
    Finish,
    /// Its time to end is not over.
    WaitUntil(Timestamp),
    /// Nothing: it runs, it is over, or it is on no Node.
    Leave,
}

/// The next step for a pod.
pub fn decide(pod: &Pod, now: Timestamp) -> PodStep {
    if pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default().is_empty() {
        return PodStep::Leave;
    }
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
    match &pod.metadata.deletion_timestamp {
        // The API server has added the grace already.
        Some(end) if end.0 > now => PodStep::WaitUntil(end.0),
        Some(_) => PodStep::Finish,
        // Whoever knows the host says how its static Pods are.
        None if phase == "Pending" && !is_static(pod) => PodStep::Start,
        None => PodStep::Leave,
    }
}

/// A pod to put on a Node, as its scheduler would: for scenarios that drain.
pub fn pod_on(node: &str, name: &str, labels: BTreeMap<String, String>) -> Pod {
    let container = Container { name: "simulated".to_owned(), image: Some("none".to_owned()), ..Container::default() };
    let spec = PodSpec { node_name: Some(node.to_owned()), containers: vec![container], ..PodSpec::default() };
    let mut pod = Pod { spec: Some(spec), ..Pod::default() };
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.labels = Some(labels);
    pod
}

/// The kubelets of all workload clusters: one task and one watch for each cluster.
pub struct Kubelets {
    workloads: Workloads,
    clock: Clock,
    running: BTreeMap<Name, AbortHandle>,
}

impl Kubelets {
    pub fn new(workloads: Workloads, clock: Clock) -> Self {
        Self { workloads, clock, running: BTreeMap::new() }
    }

    /// Begins or ends the work for a SimCluster: `cluster` is its Cluster while that is served.
    pub fn follow(&mut self, sim: &Name, cluster: Option<&str>) {
        match cluster {
            None => {
                if let Some(task) = self.running.remove(sim) {
                    task.abort();
                }
            }
            Some(cluster) => {
                let begin = || {
                    let client = self.workloads.client(&sim.namespace, cluster);
                    tokio::spawn(run(client, self.clock.clone())).abort_handle()
                };
                self.running.entry(sim.clone()).or_insert_with(begin);
            }
        }
    }
}

impl Drop for Kubelets {
    fn drop(&mut self) {
        self.running.values().for_each(AbortHandle::abort);
    }
}

async fn run(client: Client, clock: Clock) {
    let mut events = watcher(Api::<Pod>::all(client.clone()), Config::default()).backoff(Steady).boxed();
    let mut waiting = Waiting::new();
    loop {
        let due = waiting.values().map(|(time, _)| *time).min();
        tokio::select! {
            biased;
            Some(event) = events.next() => see(&client, &clock, &mut waiting, event).await,
            () = until(due, clock()) => {
                let now = clock();
                let ready: Vec<Pod> = waiting.values().filter(|(time, _)| *time <= now).map(|(_, pod)| pod.clone()).collect();
                for pod in ready {
                    consider(&client, &clock, &mut waiting, pod).await;
                }
            }
        }
    }
}

async fn see(client: &Client, clock: &Clock, waiting: &mut Waiting, event: Result<Event<Pod>, watcher::Error>) {
    match event {
        Ok(Event::Apply(pod) | Event::InitApply(pod)) => consider(client, clock, waiting, pod).await,
        Ok(Event::Delete(pod)) => {
            waiting.remove(&Name::of(&pod));
        }
        Ok(Event::Init) => waiting.clear(),
        Ok(Event::InitDone) => {}
        Err(error) => tracing::debug!(%error, "the pods of a workload cluster cannot be watched"),
    }
}

async fn consider(client: &Client, clock: &Clock, waiting: &mut Waiting, pod: Pod) {
    let (name, now) = (Name::of(&pod), clock());
    waiting.remove(&name);
    let pods: Api<Pod> = Api::namespaced(client.clone(), &name.namespace);
    let done = match decide(&pod, now) {
        PodStep::Leave => return,
        PodStep::WaitUntil(time) => {
            waiting.insert(name, (time, pod));
            return;
        }
        PodStep::Start => {
            let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
            pods.patch_status(&name.name, &params, &Patch::Merge(running(now))).await.map(drop)
        }
        PodStep::Finish => {
            let preconditions = Preconditions { uid: pod.uid(), resource_version: None };
            let params = DeleteParams::default().grace_period(0).preconditions(preconditions);
            pods.delete(&name.name, &params).await.map(drop)
        }
    };
    match done {
        Ok(()) => {}
        Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => {}
        Err(error) => {
            tracing::debug!(%name, %error, "a pod could not be brought further");
            let again = now.checked_add(RETRY).unwrap_or(Timestamp::MAX);
            waiting.insert(name, (again, pod));
        }
    }
}

/// The status of a pod that runs.
fn running(now: Timestamp) -> Value {
    let condition = |type_: &str| json!({ "type": type_, "status": "True", "lastTransitionTime": now.to_string() });
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition);
    json!({ "status": { "phase": "Running", "conditions": conditions } })
}

async fn until(due: Option<Timestamp>, now: Timestamp) {
    match due {
        Some(due) => tokio::time::sleep(Duration::try_from(due.duration_since(now)).unwrap_or_default()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_on_a_node_runs_until_its_grace_is_over() {
        let now: Timestamp = "2026-01-01T00:00:30Z".parse().expect("it must be a time");
        let pod = |node: &str, phase: &str, deleted: Option<&str>| -> Pod {
            let pod = json!({
                "metadata": { "name": "p", "deletionTimestamp": deleted },
                "spec": { "nodeName": node, "containers": [] },
                "status": { "phase": phase },
            });
            serde_json::from_value(pod).expect("it must be a pod")
        };
        let later = "2026-01-01T00:00:31Z";
        let cases = [
            (pod("", "Pending", None), PodStep::Leave),
            (pod("a", "Pending", None), PodStep::Start),
            (pod("a", "Running", None), PodStep::Leave),
            (pod("a", "Succeeded", None), PodStep::Leave),
            (pod("a", "Running", Some(later)), PodStep::WaitUntil(later.parse().expect("it must be a time"))),
            (pod("a", "Running", Some("2026-01-01T00:00:30Z")), PodStep::Finish),
            (pod("a", "Pending", Some("2026-01-01T00:00:00Z")), PodStep::Finish),
        ];
        for (pod, expected) in cases {
            assert_eq!(decide(&pod, now), expected, "{pod:?}");
        }
    }
}
