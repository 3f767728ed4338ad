//! Conditions of KubeadmControlPlanes. What they say of their Machines is in
//! [`machine::control_plane`](super::machine::control_plane).

use std::borrow::Cow;

use super::common::{bullets, last_probe};
use super::replicas::{missing_kinds, scaling, scaling_down_with, scaling_up_with};
use super::{NewCondition, Status, replicas};
use crate::vocabulary::{condition_types as types, reasons};

pub mod deleting;

pub use super::replicas::{
    machines_ready, machines_up_to_date, not_rolling_out, not_scaling_down, not_scaling_up, remediating, rolling_out,
    stale_machines, waiting_for_replicas,
};
pub use super::{internal_error, not_deleting, not_paused, paused};

/// It serves its API. `notes` name the parts that are not healthy.
pub fn available(notes: &[impl AsRef<str>]) -> NewCondition {
    NewCondition::new(types::AVAILABLE, Status::True, reasons::AVAILABLE).with_message(bullets(notes))
}

/// It does not serve its API, for these causes.
pub fn not_available(causes: &[impl AsRef<str>]) -> NewCondition {
    not_available_because(bullets(causes))
}

/// It never served its API.
pub fn not_available_before_initialized() -> NewCondition {
    not_available_because("Control plane not yet initialized")
}

/// It has begun to serve its API, and etcd does not say yet who its members are.
pub fn waiting_for_etcd_members() -> NewCondition {
    not_available_because("Waiting for etcd to report the list of members")
}

/// etcd has members without Machines, or Machines that are no members.
pub fn etcd_members_do_not_match() -> NewCondition {
    not_available_because("The list of etcd members does not match the list of Machines and Nodes")
}

/// etcd does not say who its members are.
pub fn etcd_members_unknown() -> NewCondition {
    NewCondition::new(types::AVAILABLE, Status::Unknown, reasons::INSPECTION_FAILED)
        .with_message("Failed to get etcd members")
}

/// kubeadm init succeeded once.
pub fn initialized() -> NewCondition {
    NewCondition::new(types::INITIALIZED, Status::True, reasons::INITIALIZED)
}

/// kubeadm init never succeeded.
pub fn not_initialized() -> NewCondition {
    NewCondition::new(types::INITIALIZED, Status::False, reasons::NOT_INITIALIZED)
}

/// The cluster's certificates are there.
pub fn certificates_available() -> NewCondition {
    NewCondition::new(types::CERTIFICATES_AVAILABLE, Status::True, reasons::AVAILABLE)
}

/// The cluster's certificates for these purposes were there once and are not any more.
pub fn certificates_not_available(purposes: &[&str]) -> NewCondition {
    let subject = match purposes {
        [purpose] => format!("Cluster certificate for {purpose} is"),
        purposes => format!("Cluster certificates for {} are", purposes.join(", ")),
    };
    NewCondition::new(types::CERTIFICATES_AVAILABLE, Status::False, reasons::NOT_AVAILABLE)
        .with_message(format!("{subject} not available, please check cluster certificate secrets"))
}

/// What is known of the health of its Machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    EtcdCluster,
    Components,
}

impl Health {
    /// The type of its condition.
    pub fn condition_type(self) -> &'static str {
        match self {
            Self::EtcdCluster => types::ETCD_CLUSTER_HEALTHY,
            Self::Components => types::CONTROL_PLANE_COMPONENTS_HEALTHY,
        }
    }

    /// All are healthy.
    pub fn healthy(self) -> NewCondition {
        NewCondition::new(self.condition_type(), Status::True, reasons::HEALTHY)
    }

    /// One is not healthy. The message says which.
    pub fn not_healthy(self, message: impl Into<Cow<'static, str>>) -> NewCondition {
        NewCondition::new(self.condition_type(), Status::False, reasons::NOT_HEALTHY).with_message(message)
    }

    /// Of one nobody knows. The message says of which.
    pub fn unknown(self, message: impl Into<Cow<'static, str>>) -> NewCondition {
        self.not_known(reasons::HEALTH_UNKNOWN, message)
    }

    /// No Machine says anything.
    pub fn not_reported(self) -> NewCondition {
        let what = match self {
            Self::EtcdCluster => "etcd member",
            Self::Components => "control plane",
        };
        self.unknown(format!("No Machines reporting {what} status"))
    }

    /// Looking at the workload cluster failed, or it is too early for it.
    pub fn inspection_failed(self, message: impl Into<Cow<'static, str>>) -> NewCondition {
        self.not_known(reasons::INSPECTION_FAILED, message)
    }

    /// It is too early to look: the cluster has no infrastructure.
    pub fn waiting_for_infrastructure(self) -> NewCondition {
        self.inspection_failed("Waiting for Cluster status.infrastructureReady to be true")
    }

    /// It is too early to look: the cluster has no endpoint.
    pub fn waiting_for_endpoint(self) -> NewCondition {
        self.inspection_failed("Waiting for Cluster spec.controlPlaneEndpoint to be set")
    }

    /// It is too early to look: kubeadm init never succeeded.
    pub fn waiting_for_initialization(self) -> NewCondition {
        self.inspection_failed("Waiting for Cluster control plane to be initialized")
    }

    /// Nobody has talked to the workload cluster yet.
    pub fn not_connected_yet(self) -> NewCondition {
        self.not_known(reasons::CONNECTION_DOWN, "Remote connection not established yet")
    }

    /// The workload cluster does not answer any more.
    pub fn connection_down(self, last_success: Option<jiff::Timestamp>) -> NewCondition {
        self.not_known(reasons::CONNECTION_DOWN, last_probe(last_success))
    }

    fn not_known(self, reason: &'static str, message: impl Into<Cow<'static, str>>) -> NewCondition {
        NewCondition::new(self.condition_type(), Status::Unknown, reason).with_message(message)
    }
}

/// There are too few Machines. `blockers` are the preflight checks that failed, `missing` the kinds of templates that
/// are not there.
pub fn scaling_up(current: usize, desired: usize, blockers: &[&str], missing: &[&str]) -> NewCondition {
    let missing = missing_kinds(missing);
    let blockers: Vec<&str> = blockers.iter().copied().chain(missing.as_deref()).collect();
    scaling_up_with(format!("{}{}", scaling("up", current, desired), blocked(&blockers)))
}

/// There are too many Machines. `blockers` are the preflight checks that failed and the Machines that take too long.
pub fn scaling_down(current: usize, desired: usize, blockers: &[&str]) -> NewCondition {
    scaling_down_with(format!("{}{}", scaling("down", current, desired), blocked(blockers)))
}

/// The Machines that are unhealthy, if any, are not replaced for it.
pub fn not_remediating(unhealthy: &[&str]) -> NewCondition {
    replicas::not_remediating(unhealthy, Some("KubeadmControlPlane"))
}

fn not_available_because(message: impl Into<Cow<'static, str>>) -> NewCondition {
    NewCondition::new(types::AVAILABLE, Status::False, reasons::NOT_AVAILABLE).with_message(message)
}

fn blocked(blockers: &[&str]) -> String {
    if blockers.is_empty() { String::new() } else { format!(" is blocked because:\n{}", bullets(blockers)) }
}

#[cfg(test)]
mod tests;
