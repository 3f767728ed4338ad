//! What a KubeadmControlPlane says of its Machines: Pods, etcd members, and the labels and taints of the Nodes.

use std::borrow::Cow;

use crate::conditions::common::{MACHINE_IS_DELETING, last_probe};
use crate::conditions::{NewCondition, Status};
use crate::vocabulary::{condition_types as types, reasons};

/// A static Pod of a control plane, and the conditions that say how it is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pod {
    ApiServer,
    ControllerManager,
    Scheduler,
    Etcd,
}

impl Pod {
    /// The type of its condition.
    pub fn condition_type(self) -> &'static str {
        match self {
            Self::ApiServer => types::API_SERVER_POD_HEALTHY,
            Self::ControllerManager => types::CONTROLLER_MANAGER_POD_HEALTHY,
            Self::Scheduler => types::SCHEDULER_POD_HEALTHY,
            Self::Etcd => types::ETCD_POD_HEALTHY,
        }
    }

    /// It runs.
    pub fn running(self) -> NewCondition {
        NewCondition::new(self.condition_type(), Status::True, reasons::POD_RUNNING)
    }

    /// It is on the way, and what it waits for.
    pub fn provisioning(self, message: impl Into<Cow<'static, str>>) -> NewCondition {
        bad(self.condition_type(), reasons::POD_PROVISIONING, message)
    }

    /// It is not there.
    pub fn does_not_exist(self) -> NewCondition {
        bad(self.condition_type(), reasons::POD_DOES_NOT_EXIST, "Pod does not exist")
    }

    /// It failed, and how.
    pub fn failed(self, message: impl Into<Cow<'static, str>>) -> NewCondition {
        bad(self.condition_type(), reasons::POD_FAILED, message)
    }

    /// Its Machine is going.
    pub fn deleting(self) -> NewCondition {
        bad(self.condition_type(), reasons::DELETING, MACHINE_IS_DELETING)
    }
}

/// The etcd of the Machine is a voting member without alarms.
pub fn etcd_member_healthy() -> NewCondition {
    NewCondition::new(types::ETCD_MEMBER_HEALTHY, Status::True, reasons::HEALTHY)
}

/// The etcd of the Machine is no member, no voting one, or raises alarms.
pub fn etcd_member_not_healthy(message: impl Into<Cow<'static, str>>) -> NewCondition {
    bad(types::ETCD_MEMBER_HEALTHY, reasons::NOT_HEALTHY, message)
}

/// The Machine of the etcd is going.
pub fn etcd_member_deleting() -> NewCondition {
    bad(types::ETCD_MEMBER_HEALTHY, reasons::DELETING, MACHINE_IS_DELETING)
}

/// The Node has kubeadm's labels and taints.
pub fn labels_and_taints_set() -> NewCondition {
    NewCondition::new(types::NODE_KUBEADM_LABELS_AND_TAINTS_SET, Status::True, reasons::LABELS_AND_TAINTS_SET)
}

/// The Node lacks one of kubeadm's labels or taints.
pub fn labels_and_taints_not_set(message: impl Into<Cow<'static, str>>) -> NewCondition {
    bad(types::NODE_KUBEADM_LABELS_AND_TAINTS_SET, reasons::LABELS_AND_TAINTS_NOT_SET, message)
}

/// The Machine of the Node is going.
pub fn labels_and_taints_deleting() -> NewCondition {
    bad(types::NODE_KUBEADM_LABELS_AND_TAINTS_SET, reasons::DELETING, MACHINE_IS_DELETING)
}

/// The condition of this type, one of the above, could not be looked into, and why.
pub fn inspection_failed(type_: &'static str, message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(type_, Status::Unknown, reasons::INSPECTION_FAILED).with_message(message)
}

/// The condition of this type, one of the above, cannot be known, as the workload cluster does not answer.
pub fn connection_down(type_: &'static str, message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(type_, Status::Unknown, reasons::CONNECTION_DOWN).with_message(message)
}

/// The same since a probe of the workload cluster last succeeded.
pub fn connection_lost(type_: &'static str, last_success: Option<jiff::Timestamp>) -> NewCondition {
    connection_down(type_, last_probe(last_success))
}

fn bad(type_: &'static str, reason: &'static str, message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(type_, Status::False, reason).with_message(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing::check;

    #[test]
    fn conditions_of_control_plane_machines_read_as_upstreams() {
        check(&[
            (Pod::ApiServer.running(), "APIServerPodHealthy=True Running"),
            (
                Pod::ControllerManager.provisioning("Waiting to be scheduled"),
                "ControllerManagerPodHealthy=False Provisioning: Waiting to be scheduled",
            ),
            (Pod::Scheduler.does_not_exist(), "SchedulerPodHealthy=False DoesNotExist: Pod does not exist"),
            (Pod::Etcd.failed("exit 1"), "EtcdPodHealthy=False Failed: exit 1"),
            (Pod::Etcd.deleting(), "EtcdPodHealthy=False Deleting: Machine is deleting"),
            (etcd_member_healthy(), "EtcdMemberHealthy=True Healthy"),
            (
                etcd_member_not_healthy("Waiting for learner etcd member to be promoted"),
                "EtcdMemberHealthy=False NotHealthy: Waiting for learner etcd member to be promoted",
            ),
            (etcd_member_deleting(), "EtcdMemberHealthy=False Deleting: Machine is deleting"),
            (labels_and_taints_set(), "NodeKubeadmLabelsAndTaintsSet=True Set"),
            (labels_and_taints_not_set("no label"), "NodeKubeadmLabelsAndTaintsSet=False NotSet: no label"),
            (labels_and_taints_deleting(), "NodeKubeadmLabelsAndTaintsSet=False Deleting: Machine is deleting"),
            (inspection_failed(types::ETCD_MEMBER_HEALTHY, "why"), "EtcdMemberHealthy=Unknown InspectionFailed: why"),
            (connection_down(Pod::ApiServer.condition_type(), ""), "APIServerPodHealthy=Unknown ConnectionDown"),
            (
                connection_lost(Pod::Etcd.condition_type(), Some(jiff::Timestamp::UNIX_EPOCH)),
                "EtcdPodHealthy=Unknown ConnectionDown: Last successful probe at 1970-01-01T00:00:00Z",
            ),
        ]);
    }
}
