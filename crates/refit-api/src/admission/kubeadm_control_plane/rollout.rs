//! The rollout strategy of a control plane.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;

use super::{FieldError, FieldPath};
use crate::controlplane::{
    KubeadmControlPlane, KubeadmControlPlaneRolloutSpec, KubeadmControlPlaneRolloutStrategy,
    KubeadmControlPlaneRolloutStrategyType as StrategyType,
};
use crate::policy::{InPlacePolicy, RolloutPolicy};

/// The fewest etcd members of which one may be away.
const SCALE_IN_MIN_REPLICAS: i32 = 3;

/// A surge machine goes with a strategy that may replace Machines; one that only changes them in place needs none.
pub(super) fn set_defaults(rollout: &mut KubeadmControlPlaneRolloutSpec) {
    let strategy = rollout.strategy.get_or_insert_default();
    let never_replaces = strategy.in_place_policy() == Some(InPlacePolicy::Require);
    let max_surge = if never_replaces { 0 } else { 1 };
    strategy.rolling_update.max_surge.get_or_insert(IntOrString::Int(max_surge));
}

pub(super) fn validate(kcp: &KubeadmControlPlane, path: &FieldPath) -> Vec<FieldError> {
    let Some(strategy) = &kcp.spec.rollout.strategy else { return Vec::new() };
    let path = path.child("strategy");
    validate_fallback(strategy, &path).into_iter().chain(validate_max_surge(kcp, strategy, &path)).collect()
}

fn validate_fallback(strategy: &KubeadmControlPlaneRolloutStrategy, path: &FieldPath) -> Option<FieldError> {
    let is_misplaced = strategy.fallback.is_some() && strategy.type_ != StrategyType::InPlace;
    is_misplaced.then(|| path.child("fallback").forbidden("only with the type InPlace"))
}

/// Without a surge machine, a rollout that replaces takes an etcd member away before it adds one. That needs a member
/// to spare. A rollout that only ever changes Machines in place takes none away.
fn validate_max_surge(
    kcp: &KubeadmControlPlane,
    strategy: &KubeadmControlPlaneRolloutStrategy,
    path: &FieldPath,
) -> Option<FieldError> {
    let max_surge = strategy.rolling_update.max_surge.as_ref()?;
    let path = path.child("rollingUpdate.maxSurge");
    let is_small = kcp.spec.replicas.is_some_and(|replicas| replicas < SCALE_IN_MIN_REPLICAS);
    match to_number(max_surge) {
        Some(1) => None,
        Some(0) if is_small && !requires_in_place(kcp, strategy) => {
            Some(path.invalid(max_surge, "must be 1 below 3 replicas, unless only updates in place are allowed"))
        }
        Some(0) => None,
        _ => Some(path.invalid(max_surge, "must be 0 or 1")),
    }
}

fn to_number(value: &IntOrString) -> Option<i32> {
    match value {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(text) => text.parse().ok(),
    }
}

/// By the object alone: the Cluster's default may change later, when nobody looks at this object again. An annotation that
/// cannot be read is an error of its own.
fn requires_in_place(kcp: &KubeadmControlPlane, strategy: &KubeadmControlPlaneRolloutStrategy) -> bool {
    let annotated = RolloutPolicy::read(kcp.annotations()).ok().and_then(|policy| policy.in_place);
    InPlacePolicy::resolve(strategy.in_place_policy(), annotated, None) == InPlacePolicy::Require
}
