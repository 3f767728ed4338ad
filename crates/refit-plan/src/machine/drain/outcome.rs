//! What came of a drain, in upstream's words: others read the reasons for a slow deletion out of them.

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::Timestamp;

use super::{DrainPlan, EVICTION_TIME, PodName};
use crate::machine::observed::DrainState;
use crate::machine::phase::whole_seconds;

/// How many Pods a line names.
const PODS_SHOWN: usize = 3;
/// How many different failures are told.
const FAILURES_SHOWN: usize = 5;

/// What the API server spells with a capital letter, and the condition does not.
const BUDGET: &str = "annot evict pod as it would violate the pod's disruption budget.";

/// What the workload cluster answered to the eviction of one Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eviction {
    /// The Pod has been asked to end.
    Accepted,
    /// It is not there any more, or another one has its name.
    Gone,
    /// 429: a disruption budget, mostly. `causes` are those of the details; nothing if the answer has no details.
    TooManyRequests { message: String, causes: Option<Vec<String>> },
    /// 403, as the namespace of the Pod is being deleted.
    NamespaceTerminating,
    /// Anything else.
    Failed { why: String },
}

impl DrainPlan {
    /// What came of the plan. `evictions` are the answers, by Pod; those without one were not asked for in time.
    ///
    /// `started` is `status.deletion.nodeDrainStartTime` of the Machine.
    pub fn outcome(&self, evictions: &BTreeMap<PodName, Eviction>, started: Timestamp) -> DrainState {
        let mut terminating: Vec<&PodName> = self.terminating.iter().collect();
        let mut failed = BTreeMap::<String, Vec<&PodName>>::new();
        for pod in &self.evict {
            match words(evictions.get(pod)) {
                Words::Terminating => terminating.push(pod),
                Words::Gone => {}
                Words::Failed(why) => failed.entry(why).or_default().push(pod),
            }
        }
        let lists = [&self.evict_later, &self.await_completion, &self.await_completion_later];
        if terminating.is_empty() && failed.is_empty() && lists.iter().all(|list| list.is_empty()) {
            return DrainState::Done;
        }
        DrainState::InProgress { words: self.message(&terminating, &failed, started) }
    }

    fn message(
        &self,
        terminating: &[&PodName],
        failed: &BTreeMap<String, Vec<&PodName>>,
        started: Timestamp,
    ) -> String {
        let mut text = format!("Drain not completed yet (started at {}):", whole_seconds(started));
        line(&mut text, terminating, "deletionTimestamp set, but still not removed from the Node");
        for (why, pods) in failed.iter().take(FAILURES_SHOWN) {
            line(&mut text, pods, &failure(why));
        }
        match failed.values().skip(FAILURES_SHOWN).map(Vec::len).sum() {
            0 => {}
            1 => text.push_str("\n* 1 Pod with other issues"),
            more => drop(write!(text, "\n* {more} Pods with other issues")),
        }
        line(&mut text, &self.await_completion.iter().collect::<Vec<_>>(), "waiting for completion");
        let after = "After above Pods have been removed from the Node,";
        let later = [
            ("the following Pods will be evicted", &self.evict_later),
            ("waiting for the following Pods to complete without eviction", &self.await_completion_later),
        ];
        for (what, pods) in later.into_iter().filter(|(_, pods)| !pods.is_empty()) {
            let _ = write!(text, "\n{after} {what}: {}", listed(&pods.iter().collect::<Vec<_>>()));
        }
        text
    }
}

enum Words {
    Terminating,
    Gone,
    Failed(String),
}

fn words(eviction: Option<&Eviction>) -> Words {
    match eviction {
        Some(Eviction::Accepted) => Words::Terminating,
        Some(Eviction::Gone) => Words::Gone,
        Some(Eviction::TooManyRequests { message, causes: Some(causes) }) => {
            Words::Failed(format!("{message} {}", causes.join(",")))
        }
        Some(Eviction::TooManyRequests { message, causes: None }) => Words::Failed(message.clone()),
        Some(Eviction::NamespaceTerminating) => Words::Failed(
            "Cannot evict pod from terminating namespace: unable to create eviction (kube-controller-manager should set deletionTimestamp)"
                .to_owned(),
        ),
        Some(Eviction::Failed { why }) => Words::Failed(why.clone()),
        None => {
            let limit = EVICTION_TIME.as_secs();
            Words::Failed(format!("eviction timeout of {limit}s reached, eviction will be retried"))
        }
    }
}

fn failure(why: &str) -> String {
    let why = why.replace(&format!("C{BUDGET}"), &format!("c{BUDGET}"));
    if why.starts_with(&format!("c{BUDGET}")) { why } else { format!("failed to evict Pod, {why}") }
}

/// `* Pods a/b, c/d: words`; nothing if there are none.
fn line(text: &mut String, pods: &[&PodName], words: &str) {
    let kind = if pods.len() == 1 { "Pod" } else { "Pods" };
    if !pods.is_empty() {
        let _ = write!(text, "\n* {kind} {}: {words}", listed(pods));
    }
}

fn listed(pods: &[&PodName]) -> String {
    let mut names: Vec<String> = pods.iter().take(PODS_SHOWN).map(ToString::to_string).collect();
    let more = pods.len().saturating_sub(PODS_SHOWN);
    if more > 0 {
        names.push(format!("... ({more} more)"));
    }
    names.join(", ")
}
