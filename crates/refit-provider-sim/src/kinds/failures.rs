//! What goes wrong with a simulated host, for tests of failures.

use refit_api::resource::is_default;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What goes wrong, and how often.
///
/// These fields are about the world of the host, not about what the host should be: a change of them needs no update of the
/// host, and counts at once.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimFailures {
    /// So many first attempts to provision the host fail.
    #[schemars(range(min = 0))]
    pub provisioning: Option<i32>,
    /// So many first attempts to change the running host fail.
    #[schemars(range(min = 0))]
    pub update: Option<i32>,
    /// The host is dead: nothing on it answers, until this is taken back.
    pub dead: Option<bool>,
    /// Static Pods of the control plane that fail or come late.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(
        length(max = 4),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["component"])
    )]
    pub static_pods: Vec<SimStaticPodFailure>,
    /// What is wrong with the member of etcd on the host, although its Pod is ready.
    pub etcd_member: Option<SimEtcdMemberFailure>,
}

impl SimFailures {
    /// Whether the host is dead.
    pub fn is_dead(&self) -> bool {
        self.dead == Some(true)
    }
}

/// A static Pod that fails or comes late.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimStaticPodFailure {
    /// Which one.
    pub component: SimComponent,
    /// What goes wrong.
    pub failure: SimPodFailureType,
    /// For so many seconds after each start of the host; as long as this is here when unset.
    #[schemars(range(min = 0))]
    pub seconds: Option<i32>,
}

/// A component of the control plane that runs as a static Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SimComponent {
    KubeApiserver,
    KubeControllerManager,
    KubeScheduler,
    Etcd,
}

impl SimComponent {
    /// In the order in which their Pods are written.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::KubeApiserver, Self::KubeControllerManager, Self::KubeScheduler];

    /// Its name, which the names of its Pods begin with.
    pub fn name(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Etcd => "etcd",
        }
    }
}

/// What goes wrong with a static Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SimPodFailureType {
    /// It is there, and its container ends again and again.
    Fails,
    /// It is not there yet.
    Late,
}

/// What is wrong with a member of etcd whose Pod is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SimEtcdMemberFailure {
    /// It was removed from the membership behind everybody's back. It joins anew when this is taken back.
    Missing,
    /// It raises the alarm `NOSPACE`.
    NoSpace,
    /// It raises the alarm `CORRUPT`.
    Corrupt,
}
