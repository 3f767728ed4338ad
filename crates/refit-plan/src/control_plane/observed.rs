//! What a decision about a control plane looks at.

use std::collections::BTreeMap;

use jiff::Timestamp;
use refit_api::bootstrap::KubeadmConfig;
use refit_api::cluster::{Cluster, Machine};
use refit_api::conditions::{self, NewCondition};
use refit_api::controlplane::KubeadmControlPlane;
use serde_json::Value;

use crate::coverage::{Accepted, ContentHash};
use crate::waiting::WaitingOn;

/// Everything that a decision may look at; what is not here cannot influence it.
///
/// All objects are as they were read. What was just seen in the workload cluster and of the certificates is beside them,
/// and the decision looks at, and reports, both together.
#[derive(Debug, Clone)]
pub struct Observed {
    pub now: Timestamp,
    /// A number for the name of a Machine that is made now.
    pub random: u64,
    pub control_plane: KubeadmControlPlane,
    pub cluster: Cluster,
    /// The Machines that the control plane controls, by name, those that are being deleted too.
    pub machines: BTreeMap<String, ObservedMachine>,
    /// What `infrastructureRef` points to; nothing if it is not there.
    pub infrastructure_template: Option<Value>,
    /// Infrastructure objects and KubeadmConfigs of this control plane that no Machine refers to.
    pub leftovers: Vec<Value>,
    pub etcd: EtcdMembers,
    /// Nodes of the control plane that are of no Machine.
    pub nodes_without_machine: Vec<String>,
    /// Whether the ConfigMap `kubeadm-config` of the workload cluster could be read.
    pub has_kubeadm_config: bool,
    /// What was just seen of Pods, etcd members and Nodes, by Machine. Conditions that are not in it stay as they are.
    pub inspected: BTreeMap<String, Vec<NewCondition>>,
    /// Why Machines must be left alone for now: the workload cluster cannot be looked at.
    pub not_inspected: Option<String>,
    /// Whether the certificates of the cluster are there; nothing if that was not looked at.
    pub certificates: Option<NewCondition>,
    /// Which extensions are registered, if that is known.
    pub registered: Option<ContentHash>,
    /// What went wrong when the last decision was carried out. People are told.
    pub problems: Vec<WaitingOn>,
    /// Workers that are still there, as `Machines: a, b`. Looked at only when the control plane is being deleted.
    pub workers: Vec<String>,
}

/// A Machine and what belongs to it.
#[derive(Debug, Clone)]
pub struct ObservedMachine {
    pub machine: Machine,
    /// The provider's object for the host; nothing if it is not there.
    pub infrastructure: Option<Value>,
    /// Nothing if it is not there.
    pub kubeadm_config: Option<KubeadmConfig>,
    /// Whether the KubeadmConfig is what the control plane wants, by the rules for what may differ. Of no meaning
    /// where there is none.
    pub kubeadm_config_matches: bool,
    pub coverage: Coverage,
}

/// Whether extensions can change a machine into what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coverage {
    /// Nobody was asked. Where the decision depends on it, it says so in [`Decision::ask`](super::Decision::ask).
    NotAsked,
    /// They were to be asked, and could not be. To be tried again.
    Unknown { why: String },
    /// The API server would not take the writes of the hand-over.
    Refused(Refused),
    /// They were asked about what the machine is and should be now.
    Asked {
        /// A hash of what the machine should be. It is the target of a plan that covers every change, too.
        target: ContentHash,
        /// A hash of what is to change, the same for machines that change in the same way.
        change: ContentHash,
        verdict: Accepted,
    },
}

/// A write of a hand-over that the API server refuses in a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// As in `DevMachine a`.
    pub object: String,
    /// The server's own words.
    pub words: String,
    /// This host can never become what is wanted, and a new one could.
    pub is_for_good: bool,
}

/// The members of etcd as they were last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EtcdMembers {
    Known(Vec<EtcdMember>),
    Unknown { why: String },
}

/// A member of etcd. kubeadm names it after its Node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EtcdMember {
    /// Empty while it starts.
    pub name: String,
    /// It raises no alarm.
    pub is_healthy: bool,
    pub is_learner: bool,
    pub is_leader: bool,
}

impl Observed {
    /// The same with the conditions that were just seen on their objects.
    pub(super) fn with_what_was_seen(&self) -> Self {
        let mut seen = self.clone();
        let set =
            |all: &mut Vec<_>, one: &NewCondition, generation| conditions::set(all, one.clone(), generation, self.now);
        if let Some(certificates) = &self.certificates {
            let generation = self.control_plane.metadata.generation;
            set(&mut seen.control_plane.status.conditions, certificates, generation);
        }
        for (name, machine) in &mut seen.machines {
            let generation = machine.machine.metadata.generation;
            for condition in self.inspected.get(name).into_iter().flatten() {
                set(&mut machine.machine.status.conditions, condition, generation);
            }
        }
        seen
    }

    /// Whether etcd runs on the control plane's own machines.
    pub(super) fn is_etcd_managed(&self) -> bool {
        self.control_plane.spec.kubeadm_config_spec.cluster_configuration.etcd.external.is_none()
    }

    pub(super) fn is_initialized(&self) -> bool {
        self.control_plane.status.initialization.control_plane_initialized == Some(true)
    }

    /// How many Machines are wanted. Admission fills it in.
    pub(super) fn desired_replicas(&self) -> usize {
        usize::try_from(self.control_plane.spec.replicas.unwrap_or(1)).unwrap_or(0)
    }

    /// The members that are known.
    pub(super) fn members(&self) -> &[EtcdMember] {
        match &self.etcd {
            EtcdMembers::Known(members) => members,
            EtcdMembers::Unknown { .. } => &[],
        }
    }

    pub(super) fn name(&self) -> &str {
        self.control_plane.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn namespace(&self) -> &str {
        self.control_plane.metadata.namespace.as_deref().unwrap_or_default()
    }

    pub(super) fn cluster_name(&self) -> &str {
        self.cluster.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.control_plane.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// The version that the topology of the Cluster is at, where that is not the control plane's: it comes later.
    pub(super) fn awaited_topology_version(&self) -> Option<&str> {
        use refit_api::vocabulary::annotations::TOPOLOGY_UPGRADE_STEP;
        let topology = self.cluster.spec.topology.as_ref()?;
        let annotations = self.cluster.metadata.annotations.as_ref();
        let step = annotations.and_then(|all| all.get(TOPOLOGY_UPGRADE_STEP)).filter(|step| !step.is_empty());
        let wanted = &self.control_plane.spec.version;
        let is_current = topology.version == *wanted || step == Some(wanted);
        (!is_current).then(|| step.unwrap_or(&topology.version).as_str())
    }
}
