//! From what was seen in a workload cluster to what a decision looks at: conditions of Machines and members of etcd.
//!
//! Somebody else asks the workload cluster. What came back is a value here, the failures too, so that what they mean is
//! decided in one place and without a client.

mod etcd;
mod node;
mod pod;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod as PodObject};
use refit_api::conditions::machine::control_plane::{self as words, Pod};
use refit_api::conditions::{self, NewCondition, Status};
use refit_api::controlplane::KubeadmControlPlane;
use refit_api::vocabulary::condition_types as types;

use super::observed::{EtcdMembers, Observed, ObservedMachine};
use crate::machine::Connection;

/// After so many failed probes, the workload cluster has been tried often enough to say something.
const PROBES: u32 = 5;
/// How much of what others say goes into a condition, in characters.
const LONGEST_WORDS: usize = 512;

const NOT_INITIALIZED: &str = "Waiting for Cluster control plane to be initialized";
const NOT_CONNECTED_YET: &str = "Remote connection not established yet";

/// What was seen of a workload cluster.
#[derive(Debug, Clone, PartialEq)]
pub enum Inspection {
    /// Nothing was asked, because there is no connection. The [`Connection`] says since when.
    NotConnected,
    /// Requests were made. Each part says whether it could be read.
    Seen(Box<Seen>),
}

/// What the requests to a workload cluster gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// All Nodes that carry the label of control planes, and the Nodes of the Machines, by name. Otherwise, why they
    /// could not be read.
    pub nodes: Result<BTreeMap<String, Node>, String>,
    /// The static Pods of these Nodes.
    pub pods: BTreeMap<(String, Component), SeenPod>,
    pub etcd: SeenEtcd,
    pub kubeadm_config: SeenConfig,
}

/// A component of a control plane that runs as a static Pod. A [`Pod`] that can be the key of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    ApiServer,
    ControllerManager,
    Scheduler,
    Etcd,
}

/// What was seen of a static Pod.
#[derive(Debug, Clone, PartialEq)]
pub enum SeenPod {
    Found(Box<PodObject>),
    Missing,
    Unreadable { why: String },
}

/// What was seen of etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenEtcd {
    /// It does not run on the control plane's machines, so nobody asked.
    External,
    Known {
        members: Vec<SeenMember>,
        /// The member that leads, by id.
        leader: Option<u64>,
    },
    /// No member answered, or what one said cannot be used.
    Unknown { why: String },
}

/// A member of etcd.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenMember {
    pub id: u64,
    /// Empty while it starts.
    pub name: String,
    pub is_learner: bool,
    /// The names of the alarms that it raises.
    pub alarms: Vec<String>,
}

/// What was seen of the ConfigMap `kubeadm-config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenConfig {
    Found,
    Missing,
    Unreadable { why: String },
}

/// What the conditions depend on beside what was seen.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub now: Timestamp,
    pub control_plane: &'a KubeadmControlPlane,
    /// By name, those that are being deleted too.
    pub machines: &'a BTreeMap<String, ObservedMachine>,
    pub connection: Connection,
    /// For how long what was last seen still counts while the workload cluster does not answer.
    pub grace_period: SignedDuration,
}

/// What follows from an inspection.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "conditions that are not set on Machines say nothing to the decision"]
pub struct Inspected {
    /// The conditions to set, by the name of the Machine. A condition that is not in it stays as it is.
    pub conditions: BTreeMap<String, Vec<NewCondition>>,
    pub etcd: EtcdMembers,
    /// Nodes of the control plane that are of no Machine.
    pub nodes_without_machine: Vec<String>,
    pub has_kubeadm_config: bool,
    /// Why nothing may be changed for now: the workload cluster does not answer, and the conditions may be those of
    /// better times. Only the deletion of the whole control plane need not wait.
    pub blocked: Option<String>,
}

/// Reads what was seen.
///
/// # Guarantees
/// - A condition is `True` only if the object behind it was read just now.
/// - Members of etcd are known only if etcd itself has just said who they are and who leads.
pub fn read(inspection: &Inspection, context: &Context<'_>) -> Inspected {
    let mut inspected = match unreachable(inspection, context) {
        Some(inspected) => inspected,
        None => match inspection {
            Inspection::Seen(seen) => read_seen(seen, context),
            Inspection::NotConnected => context.not_connected(),
        },
    };
    if let Inspection::Seen(seen) = inspection {
        inspected.has_kubeadm_config = seen.kubeadm_config == SeenConfig::Found;
    }
    inspected
}

/// Conditions of all Machines where it does not matter what was seen.
fn unreachable(inspection: &Inspection, context: &Context<'_>) -> Option<Inspected> {
    if context.control_plane.status.initialization.control_plane_initialized != Some(true) {
        return Some(context.all(NOT_INITIALIZED, false, |type_| words::inspection_failed(type_, NOT_INITIALIZED)));
    }
    let Connection { last_probe_success, consecutive_failures } = context.connection;
    if *inspection == Inspection::NotConnected && last_probe_success.is_none() && consecutive_failures < PROBES {
        let inspected = context.all(NOT_CONNECTED_YET, true, |type_| words::connection_down(type_, NOT_CONNECTED_YET));
        return Some(context.only_missing(inspected));
    }
    context.is_lost().then(|| {
        let why = "the workload cluster does not answer";
        context.all(why, true, |type_| words::connection_lost(type_, last_probe_success))
    })
}

fn read_seen(seen: &Seen, context: &Context<'_>) -> Inspected {
    let conditions = context.machines.iter().map(|(name, machine)| {
        let of_pods = context.pods().map(|pod| pod::condition(seen, machine, pod));
        let of_etcd = context.is_etcd_managed().then(|| etcd::condition(seen, machine));
        let all = of_pods.chain(of_etcd).chain([node::condition(seen, machine)]);
        (name.clone(), all.collect())
    });
    Inspected {
        conditions: conditions.collect(),
        etcd: etcd::members(seen),
        nodes_without_machine: node::without_machine(seen, context),
        has_kubeadm_config: false,
        blocked: None,
    }
}

impl Context<'_> {
    fn is_etcd_managed(&self) -> bool {
        self.control_plane.spec.kubeadm_config_spec.cluster_configuration.etcd.external.is_none()
    }

    fn pods(&self) -> impl Iterator<Item = Component> + use<> {
        let is_managed = self.is_etcd_managed();
        Component::ALL.into_iter().filter(move |component| *component != Component::Etcd || is_managed)
    }

    /// The types of all conditions that come from inspections.
    fn types(&self) -> impl Iterator<Item = &'static str> + use<> {
        let of_etcd = self.is_etcd_managed().then_some(types::ETCD_MEMBER_HEALTHY);
        let of_pods = self.pods().map(|component| component.pod().condition_type());
        of_pods.chain(of_etcd).chain([types::NODE_KUBEADM_LABELS_AND_TAINTS_SET])
    }

    /// Whether the workload cluster has not answered for longer than its last word counts.
    fn is_lost(&self) -> bool {
        let initialized = conditions::get(&self.control_plane.status.conditions, types::INITIALIZED);
        let initialized = initialized.filter(|condition| Status::of(condition) == Status::True);
        let initialized_at = initialized.map(|condition| condition.last_transition_time.0);
        let last = initialized_at.max(self.connection.last_probe_success);
        last.is_some_and(|last| self.now.duration_since(last) > self.grace_period)
    }

    /// The same for each Machine.
    fn all(&self, why: &str, is_blocked: bool, condition: impl Fn(&'static str) -> NewCondition) -> Inspected {
        let conditions = self.machines.keys().map(|name| (name.clone(), self.types().map(&condition).collect()));
        Inspected {
            conditions: conditions.collect(),
            etcd: EtcdMembers::Unknown { why: why.to_owned() },
            nodes_without_machine: Vec::new(),
            has_kubeadm_config: false,
            blocked: is_blocked.then(|| why.to_owned()),
        }
    }

    /// What was last seen stays for a while.
    fn not_connected(&self) -> Inspected {
        let last = self.connection.last_probe_success;
        let why = "there is no connection to the workload cluster";
        self.only_missing(self.all(why, true, |type_| words::connection_lost(type_, last)))
    }

    /// Leaves out what the Machines say already.
    fn only_missing(&self, mut inspected: Inspected) -> Inspected {
        for (name, new) in &mut inspected.conditions {
            let Some(machine) = self.machines.get(name) else { continue };
            new.retain(|new| conditions::get(&machine.machine.status.conditions, &new.type_).is_none());
        }
        inspected
    }
}

impl Inspected {
    /// Puts everything where the decision looks. Gives the names of the Machines whose conditions changed.
    ///
    /// The changed conditions are on the Machines of `observed` then; whoever calls writes them.
    pub fn apply(self, observed: &mut Observed) -> Vec<String> {
        observed.etcd = self.etcd;
        observed.nodes_without_machine = self.nodes_without_machine;
        observed.has_kubeadm_config = self.has_kubeadm_config;
        let now = observed.now;
        let mut changed = Vec::new();
        for (name, new) in self.conditions {
            let Some(machine) = observed.machines.get_mut(&name).map(|machine| &mut machine.machine) else { continue };
            let (generation, all) = (machine.metadata.generation, &mut machine.status.conditions);
            let changes = new.into_iter().filter(|new| conditions::set(all, new.clone(), generation, now)).count();
            if changes > 0 {
                changed.push(name);
            }
        }
        changed
    }
}

impl Component {
    pub const ALL: [Self; 4] = [Self::ApiServer, Self::ControllerManager, Self::Scheduler, Self::Etcd];

    /// What the name of its Pod begins with. The name of the Node follows after a dash.
    pub fn name(self) -> &'static str {
        match self {
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Etcd => "etcd",
        }
    }

    /// The name of its Pod on this Node.
    pub fn pod_name(self, node: &str) -> String {
        format!("{}-{node}", self.name())
    }

    fn pod(self) -> Pod {
        match self {
            Self::ApiServer => Pod::ApiServer,
            Self::ControllerManager => Pod::ControllerManager,
            Self::Scheduler => Pod::Scheduler,
            Self::Etcd => Pod::Etcd,
        }
    }
}

/// What others say, not longer than a condition should be.
fn clip(words: &str) -> String {
    match words.char_indices().nth(LONGEST_WORDS) {
        None => words.to_owned(),
        Some((end, _)) => format!("{}...", &words[..end]),
    }
}
