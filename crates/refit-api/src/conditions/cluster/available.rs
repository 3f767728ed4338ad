//! Whether all parts of a Cluster work.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::cluster::ConditionPolarity;
use crate::conditions::{NewCondition, Part, Status, Summary, View, internal_error};
use crate::vocabulary::{condition_types as types, reasons};

/// From the Cluster's other conditions and its availability gates: all parts of it work.
///
/// Refit manages no topologies; where somebody else does, only a failure of that counts.
pub fn available(conditions: &[Condition], gates: &[(&str, ConditionPolarity)], is_deleting: bool) -> NewCondition {
    let mut summary = Summary::new(types::AVAILABLE, super::AVAILABLE)
        .with(Part::negative(types::DELETING))
        .with(Part::positive(types::REMOTE_CONNECTION_PROBE))
        .with(may_be_gone(types::INFRASTRUCTURE_READY, is_deleting))
        .with(may_be_gone(types::CONTROL_PLANE_AVAILABLE, is_deleting))
        .with(Part::positive(types::WORKERS_AVAILABLE))
        .with(Part::positive(types::TOPOLOGY_RECONCILED).optional().harmless_if(is_topology_at_work));
    for (type_, polarity) in gates {
        summary = summary.with(match polarity {
            ConditionPolarity::Positive => Part::positive(type_),
            ConditionPolarity::Negative => Part::negative(type_),
        });
    }
    // A gate that waits for the availability of its own Cluster is the one way to get here.
    summary.of(conditions).unwrap_or_else(|_| internal_error(types::AVAILABLE))
}

/// A topology that is not in line yet, and nothing went wrong.
fn is_topology_at_work(view: &View<'_>) -> bool {
    const FAILURES: [&str; 2] = [reasons::RECONCILE_FAILED, reasons::CLUSTER_CLASS_NOT_RECONCILED];
    view.status == Status::False && !FAILURES.contains(&view.reason)
}

/// The condition of something that may be gone once the Cluster is being deleted.
fn may_be_gone(type_: &'static str, is_deleting: bool) -> Part<'static> {
    let is_gone = |view: &View<'_>| [reasons::OBJECT_DELETED, reasons::OBJECT_DOES_NOT_EXIST].contains(&view.reason);
    let part = Part::positive(type_);
    if is_deleting { part.harmless_if(is_gone) } else { part }
}
