//! Which Pods leave a Node before its host goes, and in which order.
//!
//! The shell lists what is on the Node, [plans](plan), carries out the cordon and the evictions, and brings
//! [what came of them](DrainPlan::outcome) back as a [`Drain`](super::Drain). The rules and the words are upstream's.
//!
//! | Pod | fate |
//! |---|---|
//! | of an unreachable Node, deleted more than a second ago | left alone: nobody is there who could end it |
//! | of a DaemonSet that exists, and not finished | left alone: it would come back at once |
//! | a static one | left alone: the kubelet runs it without asking |
//! | with the label `cluster.x-k8s.io/drain` | `skip`: left alone; `wait-completed`: waited for |
//! | that a MachineDrainRule is about | what the first rule says, by name of the rule |
//! | any other | evicted |
//!
//! Of those that have to go, only the ones with the lowest order do; the others wait until those are gone.

mod outcome;
mod pod;
mod rule;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use refit_api::cluster::{Cluster, Machine};
use refit_api::selector::SelectorError;
use serde_json::{Value, json};

pub use outcome::Eviction;
use pod::{Fate, fate};
use rule::Rule;

use super::deletion::is_unreachable;
use super::node_patch;
use crate::effect::{Effect, Patch};

/// For how long the shell evicts in one go. What is left is evicted the next time.
pub const EVICTION_TIME: Duration = Duration::from_secs(10);

/// How long a Pod of an unreachable Node has for its end. Its kubelet does not hear of it anyway.
const UNREACHABLE_GRACE_SECONDS: i64 = 1;

/// Everything that the plan of a drain may look at.
#[derive(Debug, Clone, Copy)]
pub struct DrainView<'a> {
    pub now: Timestamp,
    pub machine: &'a Machine,
    pub cluster: &'a Cluster,
    pub node: &'a Node,
    /// All that are bound to the Node, in all namespaces.
    pub pods: &'a [Pod],
    /// All of the workload cluster.
    pub namespaces: &'a [Namespace],
    /// Namespace and name of the DaemonSets that exist in the workload cluster, of those at least that own one of the Pods.
    pub daemon_sets: &'a BTreeSet<(String, String)>,
    /// The MachineDrainRules in the namespace of the Machine.
    pub rules: &'a [Value],
}

/// What to do about a Node now.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "a drain that nobody carries out never ends"]
pub struct DrainPlan {
    /// Keeps new Pods away. Nothing for a Node that is cordoned already. Goes first.
    pub cordon: Option<Effect>,
    /// To be evicted now, in this order.
    pub evict: Vec<PodName>,
    /// How long they have for their end; nothing leaves that to themselves.
    pub grace_period_seconds: Option<i64>,
    /// On their way out.
    pub terminating: Vec<PodName>,
    /// To be evicted when those before them are gone.
    pub evict_later: Vec<PodName>,
    /// Not evicted, but waited for.
    pub await_completion: Vec<PodName>,
    /// The same, when those before them are gone.
    pub await_completion_later: Vec<PodName>,
    /// Left alone. Their volumes are not waited for either.
    pub left_alone: Vec<PodName>,
}

/// Names one Pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodName {
    pub namespace: String,
    pub name: String,
    /// Of the one that was seen: the precondition of its eviction.
    pub uid: String,
}

/// Why it cannot be told which Pods have to go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DrainError {
    #[error("MachineDrainRule {name} cannot be read: {why}")]
    Rule { name: String, why: String },
    #[error("{field} of MachineDrainRule {name} cannot be used")]
    Selector { name: String, field: &'static str, source: SelectorError },
    #[error("the namespace of pod {pod} does not exist")]
    NoNamespace { pod: PodName },
}

/// Plans the next step of a drain. Pods are named in the order of their namespaces and names.
///
/// # Guarantees
/// - Nothing is evicted as long as one rule cannot be read: it may be the one that protects a Pod.
/// - Whatever the order of the lists, the plan is the same.
pub fn plan(view: &DrainView<'_>) -> Result<DrainPlan, DrainError> {
    let is_unreachable = is_unreachable(view.node);
    let mut plan = DrainPlan {
        cordon: cordon(view.node),
        grace_period_seconds: is_unreachable.then_some(UNREACHABLE_GRACE_SECONDS),
        ..DrainPlan::default()
    };
    let fates = fates(view, is_unreachable)?;
    let first = fates.iter().filter_map(|(_, _, fate)| fate.order()).min().unwrap_or_default();
    for (name, is_going, fate) in fates {
        let list = match fate {
            Fate::LeftAlone => &mut plan.left_alone,
            Fate::Evicted { .. } if is_going => &mut plan.terminating,
            Fate::Evicted { order } if order == first => &mut plan.evict,
            Fate::Evicted { .. } => &mut plan.evict_later,
            Fate::Awaited if first == Fate::AWAITED_ORDER => &mut plan.await_completion,
            Fate::Awaited => &mut plan.await_completion_later,
        };
        list.push(name);
    }
    Ok(plan)
}

/// What becomes of each Pod, and whether it is on its way out already.
fn fates(view: &DrainView<'_>, is_unreachable: bool) -> Result<Vec<(PodName, bool, Fate)>, DrainError> {
    if view.pods.is_empty() {
        return Ok(Vec::new());
    }
    let rules = Rule::of_machine(view)?;
    let one = |pod: &Pod| {
        let fate = fate(view, &rules, pod, is_unreachable)?;
        Ok((PodName::of(pod), pod.metadata.deletion_timestamp.is_some(), fate))
    };
    let mut fates = view.pods.iter().map(one).collect::<Result<Vec<_>, DrainError>>()?;
    fates.sort_by_cached_key(|(name, _, _)| name.to_string());
    Ok(fates)
}

fn cordon(node: &Node) -> Option<Effect> {
    let is_cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable) == Some(true);
    let merge = json!({ "spec": { "unschedulable": true } });
    (!is_cordoned).then(|| Effect::Patch(Patch::object(node_patch::target(node), merge)))
}

impl PodName {
    pub fn of(pod: &Pod) -> Self {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let metadata = &pod.metadata;
        Self { namespace: text(&metadata.namespace), name: text(&metadata.name), uid: text(&metadata.uid) }
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests;
