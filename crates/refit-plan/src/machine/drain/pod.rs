//! What becomes of one Pod.

use k8s_openapi::api::core::v1::Pod;
use refit_api::owners;
use refit_api::vocabulary::labels;

use super::rule::{Behavior, Rule};
use super::{DrainError, DrainView, PodName};

/// The kubelet marks Pods that it runs from its own files.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// After how many whole seconds a deleted Pod of an unreachable Node is not waited for any more.
const UNREACHABLE_PATIENCE_SECONDS: i64 = 1;

/// What becomes of a Pod in a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    LeftAlone,
    /// Its own end is waited for.
    Awaited,
    Evicted {
        order: i32,
    },
}

impl Fate {
    /// When those come that are only waited for.
    pub const AWAITED_ORDER: i32 = 0;

    /// When its turn is; nothing for one that need not go.
    pub fn order(self) -> Option<i32> {
        match self {
            Self::LeftAlone => None,
            Self::Awaited => Some(Self::AWAITED_ORDER),
            Self::Evicted { order } => Some(order),
        }
    }
}

/// The first rule that has something to say decides.
pub fn fate(view: &DrainView<'_>, rules: &[Rule], pod: &Pod, is_unreachable: bool) -> Result<Fate, DrainError> {
    if (is_unreachable && is_given_up(view, pod)) || is_of_daemon_set(view, pod) || is_static(pod) {
        return Ok(Fate::LeftAlone);
    }
    match labelled(pod) {
        Some(fate) => Ok(fate),
        None => ruled(view, rules, pod),
    }
}

/// Whether its end was asked for so long ago that its kubelet must be gone.
fn is_given_up(view: &DrainView<'_>, pod: &Pod) -> bool {
    let since = pod.metadata.deletion_timestamp.as_ref();
    since.is_some_and(|since| view.now.duration_since(since.0).as_secs() > UNREACHABLE_PATIENCE_SECONDS)
}

/// Whether a DaemonSet that exists runs it. A finished one can go, and one of a DaemonSet that is gone must.
fn is_of_daemon_set(view: &DrainView<'_>, pod: &Pod) -> bool {
    let controller = owners::controller_of(pod.metadata.owner_references.as_deref().unwrap_or_default());
    let Some(controller) = controller.filter(|controller| controller.kind == "DaemonSet") else { return false };
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    !is_finished(pod) && view.daemon_sets.contains(&(namespace, controller.name.clone()))
}

fn is_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn is_static(pod: &Pod) -> bool {
    pod.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(MIRROR))
}

/// What its own label says. One that says something else says nothing.
fn labelled(pod: &Pod) -> Option<Fate> {
    let value = pod.metadata.labels.as_ref()?.get(labels::DRAIN)?;
    if value.eq_ignore_ascii_case("skip") {
        Some(Fate::LeftAlone)
    } else if value.replacen('-', "", 1).eq_ignore_ascii_case("waitcompleted") {
        Some(Fate::Awaited)
    } else {
        None
    }
}

fn ruled(view: &DrainView<'_>, rules: &[Rule], pod: &Pod) -> Result<Fate, DrainError> {
    let mut namespaces = view.namespaces.iter();
    let namespace = namespaces
        .find(|namespace| namespace.metadata.name == pod.metadata.namespace)
        .ok_or_else(|| DrainError::NoNamespace { pod: PodName::of(pod) })?;
    let labels = |of: &Option<_>| Option::clone(of).unwrap_or_default();
    let (own, around) = (labels(&pod.metadata.labels), labels(&namespace.metadata.labels));
    let rule = rules.iter().find(|rule| rule.is_about_pod(&own, &around));
    Ok(rule.map_or(Fate::Evicted { order: 0 }, |rule| match rule.behavior {
        Behavior::Drain => Fate::Evicted { order: rule.order },
        Behavior::Skip => Fate::LeftAlone,
        Behavior::WaitCompleted => Fate::Awaited,
    }))
}
