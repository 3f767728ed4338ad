//! The order of the conditions of an object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::vocabulary::condition_types as types;

/// What comes before the conditions that have no place of their own.
const FIRST: &[&str] = &[
    types::AVAILABLE,
    types::READY,
    types::UP_TO_DATE,
    types::REMOTE_CONNECTION_PROBE,
    types::BOOTSTRAP_CONFIG_READY,
    types::INFRASTRUCTURE_READY,
    types::CONTROL_PLANE_INITIALIZED,
    types::CONTROL_PLANE_AVAILABLE,
    types::WORKERS_AVAILABLE,
    types::CERTIFICATES_AVAILABLE,
    types::INITIALIZED,
    types::ETCD_CLUSTER_HEALTHY,
    types::CONTROL_PLANE_COMPONENTS_HEALTHY,
    types::NODE_HEALTHY,
    types::NODE_READY,
    types::NODE_KUBEADM_LABELS_AND_TAINTS_SET,
    types::ETCD_POD_HEALTHY,
    types::ETCD_MEMBER_HEALTHY,
    types::API_SERVER_POD_HEALTHY,
    types::CONTROLLER_MANAGER_POD_HEALTHY,
    types::SCHEDULER_POD_HEALTHY,
    types::HEALTH_CHECK_SUCCEEDED,
    types::OWNER_REMEDIATED,
    types::TOPOLOGY_RECONCILED,
    types::UPDATING,
    types::ROLLING_OUT,
    types::REMEDIATING,
    types::SCALING_DOWN,
    types::SCALING_UP,
    types::MACHINES_READY,
    types::CONTROL_PLANE_MACHINES_READY,
    types::WORKER_MACHINES_READY,
    types::MACHINES_UP_TO_DATE,
    types::CONTROL_PLANE_MACHINES_UP_TO_DATE,
    types::WORKER_MACHINES_UP_TO_DATE,
];
/// What comes after them.
const LAST: &[&str] = &[types::PAUSED, types::DELETING];

/// Sorts conditions by what people look for first. Those without a place of their own are in alphabetical order.
///
/// It is upstream's order, so that two controllers that write the same list do not turn it over and over.
pub fn sort(conditions: &mut [Condition]) {
    conditions.sort_by(|a, b| rank(&a.type_).cmp(&rank(&b.type_)).then_with(|| a.type_.cmp(&b.type_)));
}

fn rank(type_: &str) -> usize {
    let place = |list: &[&str]| list.iter().position(|t| *t == type_);
    let after_the_others = |place: usize| FIRST.len() + 1 + place;
    place(FIRST).or_else(|| place(LAST).map(after_the_others)).unwrap_or(FIRST.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::{NewCondition, Status};
    use crate::vocabulary::refit;

    #[test]
    fn conditions_without_a_place_come_between_the_known_ones_in_alphabetical_order() {
        let expected = [
            types::AVAILABLE,
            types::READY,
            types::UPDATING,
            types::WORKER_MACHINES_UP_TO_DATE,
            "Aardvark",
            types::REMEDIATION_ALLOWED,
            refit::condition_types::ROLLOUT_BLOCKED,
            types::PAUSED,
            types::DELETING,
        ];
        let mut conditions: Vec<Condition> = expected
            .iter()
            .rev()
            .map(|type_| NewCondition::new(*type_, Status::True, "A").into_condition(None, jiff::Timestamp::UNIX_EPOCH))
            .collect();
        sort(&mut conditions);
        let sorted: Vec<&str> = conditions.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(sorted, expected);
    }
}
