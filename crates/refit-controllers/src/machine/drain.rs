//! Carries out one step of a drain: looks at the Node, cordons it, and evicts what may be evicted now.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::Client;
use kube::api::{Api, DeleteParams, EvictParams, ListParams, Preconditions};
use refit_api::cluster::GROUP;
use refit_api::owners;
use refit_hooks::chain;
use refit_plan::machine::drain::{DrainError, DrainPlan, DrainView, EVICTION_TIME, Eviction, PodName, plan};
use refit_plan::machine::{DrainState, Observed};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::act::{EventRecorder, Failure, carry_out};
use crate::cache::{ObjectKey, api_resource};
use crate::shell::{Shell, value_of};
use crate::workload::Connected;

/// The status of an answer to an eviction in a namespace that goes.
const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// Why a Node could not be looked at or cordoned.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepError {
    #[error("failed to read {0}")]
    Read(&'static str, #[source] kube::Error),
    #[error("node {0} is not there")]
    NoNode(String),
    #[error(transparent)]
    Plan(#[from] DrainError),
    #[error("failed to cordon the node")]
    Cordon(#[from] Failure),
}

/// What is on a Node, and what a drain says about it.
pub(super) struct Look {
    pub node: Node,
    pub pods: Vec<Pod>,
    pub plan: DrainPlan,
}

/// Carries out one step.
pub(super) async fn drain(
    shell: &Shell,
    events: &EventRecorder,
    observed: &Observed,
    connected: &Connected,
    node: &str,
) -> Result<DrainState, StepError> {
    let look = match look(shell, observed, connected, node).await {
        Err(StepError::NoNode(_)) => return Ok(DrainState::Done),
        look => look?,
    };
    if let Some(failure) = carry_out(&look.plan.cordon, &connected.client, events).await.failure {
        return Err(failure.into());
    }
    let evictions = evict(&connected.client, &look.plan).await;
    let deletion = observed.machine.status.deletion.as_ref();
    let started = deletion.and_then(|deletion| deletion.node_drain_start_time.as_ref()).map(|time| time.0);
    Ok(look.plan.outcome(&evictions, started.unwrap_or(observed.now)))
}

/// Reads everything that a plan looks at, and plans.
pub(super) async fn look(
    shell: &Shell,
    observed: &Observed,
    connected: &Connected,
    node: &str,
) -> Result<Look, StepError> {
    let known = connected.nodes.get(&ObjectKey::new("", node)).ok_or_else(|| StepError::NoNode(node.to_owned()))?;
    let client = &connected.client;
    let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let pods = Api::<Pod>::all(client.clone()).list(&on_node).await;
    let pods = pods.map_err(|source| StepError::Read("the Pods of the node", source))?.items;
    let namespaces = Api::<Namespace>::all(client.clone()).list(&ListParams::default()).await;
    let namespaces = namespaces.map_err(|source| StepError::Read("the namespaces", source))?.items;
    let view = DrainView {
        now: shell.clock.now(),
        machine: &observed.machine,
        cluster: &observed.cluster,
        node: &known,
        pods: &pods,
        namespaces: &namespaces,
        daemon_sets: &daemon_sets(client, &pods).await?,
        rules: &rules(shell, observed).await?,
    };
    let plan = plan(&view)?;
    Ok(Look { node: Node::clone(&known), pods, plan })
}

/// Those of the DaemonSets that own Pods that exist.
async fn daemon_sets(client: &Client, pods: &[Pod]) -> Result<BTreeSet<(String, String)>, StepError> {
    let owner = |pod: &Pod| {
        let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
        let owner = owners::controller_of(owners).filter(|owner| owner.kind == "DaemonSet")?;
        Some((pod.metadata.namespace.clone().unwrap_or_default(), owner.name.clone()))
    };
    let mut existing = BTreeSet::new();
    for (namespace, name) in pods.iter().filter_map(owner).collect::<BTreeSet<_>>() {
        let found = Api::<DaemonSet>::namespaced(client.clone(), &namespace).get_metadata_opt(&name).await;
        if found.map_err(|source| StepError::Read("a DaemonSet", source))?.is_some() {
            existing.insert((namespace, name));
        }
    }
    Ok(existing)
}

/// The MachineDrainRules in the namespace of the Machine. Where the kind is not served there are none.
async fn rules(shell: &Shell, observed: &Observed) -> Result<Vec<Value>, StepError> {
    let resource = api_resource(&format!("{GROUP}/v1beta2"), "MachineDrainRule");
    let namespace = observed.machine.metadata.namespace.as_deref().unwrap_or_default();
    let api = Api::namespaced_with(shell.client.clone(), namespace, &resource);
    match api.list(&ListParams::default()).await {
        Ok(list) => Ok(list.items.iter().map(|rule| value_of(rule, &resource)).collect()),
        // Not the reason: who does not serve a kind does not answer with one.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(source) => Err(StepError::Read("the MachineDrainRules", source)),
    }
}

/// Evicts one Pod after another, for as long as there is time.
async fn evict(client: &Client, plan: &DrainPlan) -> BTreeMap<PodName, Eviction> {
    let (deadline, mut evictions) = (Instant::now() + EVICTION_TIME, BTreeMap::new());
    for pod in &plan.evict {
        match timeout_at(deadline, evict_one(client, pod, plan.grace_period_seconds)).await {
            Ok(eviction) => drop(evictions.insert(pod.clone(), eviction)),
            Err(_) => break,
        }
    }
    evictions
}

async fn evict_one(client: &Client, pod: &PodName, grace_period_seconds: Option<i64>) -> Eviction {
    let preconditions = Preconditions { uid: Some(pod.uid.clone()), resource_version: None };
    let grace_period_seconds = grace_period_seconds.and_then(|seconds| u32::try_from(seconds).ok());
    let options = DeleteParams { preconditions: Some(preconditions), grace_period_seconds, ..DeleteParams::default() };
    let params = EvictParams { delete_options: Some(options), ..EvictParams::default() };
    match Api::<Pod>::namespaced(client.clone(), &pod.namespace).evict(&pod.name, &params).await {
        Ok(_) => Eviction::Accepted,
        Err(error) => eviction(&error),
    }
}

fn eviction(error: &kube::Error) -> Eviction {
    let kube::Error::Api(status) = error else { return Eviction::Failed { why: chain(error) } };
    let causes = || status.details.as_ref().map(|details| &details.causes);
    match status.code {
        404 | 409 => Eviction::Gone,
        429 => {
            let causes = causes().map(|causes| causes.iter().map(|cause| cause.message.clone()).collect());
            Eviction::TooManyRequests { message: status.message.clone(), causes }
        }
        403 if causes().is_some_and(|causes| causes.iter().any(|cause| cause.reason == NAMESPACE_TERMINATING)) => {
            Eviction::NamespaceTerminating
        }
        _ => Eviction::Failed { why: status.message.clone() },
    }
}
