//! The static Pods of a control plane on a simulated host, as its kubelet reports them. Pure.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    Node, Pod, PodCondition, PodSpec, PodStatus, Toleration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::ResourceExt;

use crate::etcd::{MemberReport, MemberState, SimEtcdAlarm};
use crate::images;
use crate::kinds::{SimComponent, SimEtcdMemberFailure, SimFailures, SimHost, SimPodFailureType};
use crate::machine::{after, seconds};
use crate::words::KUBE_SYSTEM;

/// Marks the Pods that a kubelet shows for the files that it runs. Nobody drains them.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// The condition of a Pod that counts here.
const READY: &str = "Ready";

/// What a kubelet says of the control plane on its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPlaneReport {
    /// All components, in the order in which their Pods are written.
    pub pods: Vec<StaticPod>,
    pub member: MemberReport,
}

/// One static Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticPod {
    pub component: SimComponent,
    pub image: String,
    pub state: StaticPodState,
    /// How often its container was started anew.
    pub restarts: i32,
}

/// How a static Pod is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaticPodState {
    /// It runs and is ready.
    Ready,
    /// It is there, and its container ends again and again.
    Failing,
    /// It is not there.
    Missing,
    /// Its host does not answer: it stays as it was, and is not ready.
    Unreachable,
}

impl ControlPlaneReport {
    /// What runs on a host at a moment.
    pub fn of(name: &str, host: &SimHost, failures: &SimFailures, now: Timestamp) -> Self {
        let pods: Vec<StaticPod> =
            SimComponent::ALL.into_iter().map(|component| StaticPod::of(component, host, failures, now)).collect();
        let process = format!("{}-{}", host.boot_count, host.kubernetes_version.as_deref().unwrap_or_default());
        let state = member_state(state(SimComponent::Etcd, host, failures, now), failures.etcd_member);
        let member = MemberReport { name: name.to_owned(), host: host.id.clone(), process, state };
        Self { pods, member }
    }

    /// When the next failure is over, and the report another one.
    pub fn next_change(host: &SimHost, failures: &SimFailures, now: Timestamp) -> Option<Timestamp> {
        let ends = failures.static_pods.iter().filter_map(|failure| end(host, failure.seconds));
        ends.filter(|end| *end > now).min()
    }
}

impl StaticPod {
    fn of(component: SimComponent, host: &SimHost, failures: &SimFailures, now: Timestamp) -> Self {
        Self {
            component,
            image: images::of(component, host.kubernetes_version.as_deref().unwrap_or_default()),
            state: state(component, host, failures, now),
            restarts: host.boot_count.saturating_sub(1),
        }
    }

    /// The name of its Pod.
    pub fn name(&self, node: &str) -> String {
        format!("{}-{node}", self.component.name())
    }

    /// The Pod, without a status: servers keep none of a new Pod.
    pub fn pod(&self, node: &Node) -> Pod {
        let (name, component) = (node.name_any(), self.component.name());
        let mut pod = Pod { spec: Some(self.spec(&name)), ..Pod::default() };
        pod.metadata.name = Some(self.name(&name));
        pod.metadata.namespace = Some(KUBE_SYSTEM.to_owned());
        pod.metadata.owner_references = Some(vec![owner(node)]);
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        pod.metadata.labels = Some([label("component", component), label("tier", "control-plane")].into());
        let hash = format!("{component}-{}", self.image);
        pod.metadata.annotations = Some([label(MIRROR, &hash), label("kubernetes.io/config.source", "file")].into());
        pod
    }

    /// Whether a Pod of this name is this one: the Node's, with the right image.
    pub fn is(&self, found: &Pod, node: &Node) -> bool {
        let image = || found.spec.as_ref()?.containers.first()?.image.as_deref();
        found.owner_references().iter().any(|it| Some(&it.uid) == node.metadata.uid.as_ref())
            && (image() == Some(&self.image) || self.state == StaticPodState::Unreachable)
    }

    /// The status to write; nothing where the Pod says it already.
    pub fn status(&self, found: &Pod, now: Timestamp) -> Option<PodStatus> {
        let status = found.status.clone().unwrap_or_default();
        let shown = |status: &PodStatus| {
            let ready = status.conditions.iter().flatten().find(|it| it.type_ == READY).map(|it| it.status.clone());
            let container = status.container_statuses.iter().flatten().next().cloned();
            let waits = container.as_ref().is_some_and(|it| it.state.as_ref().is_some_and(|it| it.waiting.is_some()));
            (ready, waits, container.map(|it| it.restart_count))
        };
        let mut wanted = self.wanted_status(now);
        if self.state == StaticPodState::Unreachable {
            // Nobody knows more of its containers than before.
            wanted.container_statuses.clone_from(&status.container_statuses);
        }
        (shown(&status) != shown(&wanted)).then_some(wanted)
    }

    fn spec(&self, node: &str) -> PodSpec {
        let toleration = Toleration { operator: Some("Exists".to_owned()), ..Toleration::default() };
        let container = Container {
            name: self.component.name().to_owned(),
            image: Some(self.image.clone()),
            ..Container::default()
        };
        PodSpec {
            node_name: Some(node.to_owned()),
            host_network: Some(true),
            priority_class_name: Some("system-node-critical".to_owned()),
            containers: vec![container],
            tolerations: Some(vec![toleration]),
            ..PodSpec::default()
        }
    }

    fn wanted_status(&self, now: Timestamp) -> PodStatus {
        let is_ready = self.state == StaticPodState::Ready;
        let condition = |type_: &str, is_true: bool| PodCondition {
            type_: type_.to_owned(),
            status: if is_true { "True" } else { "False" }.to_owned(),
            last_transition_time: Some(Time(now)),
            ..PodCondition::default()
        };
        let conditions =
            [("PodScheduled", true), ("Initialized", true), ("ContainersReady", is_ready), (READY, is_ready)];
        PodStatus {
            phase: Some("Running".to_owned()),
            conditions: Some(conditions.map(|(type_, is_true)| condition(type_, is_true)).into()),
            container_statuses: Some(vec![self.container_status(now)]),
            start_time: Some(Time(now)),
            ..PodStatus::default()
        }
    }

    fn container_status(&self, now: Timestamp) -> ContainerStatus {
        let is_failing = self.state == StaticPodState::Failing;
        let running = ContainerState {
            running: Some(ContainerStateRunning { started_at: Some(Time(now)) }),
            ..ContainerState::default()
        };
        let waiting = ContainerStateWaiting {
            reason: Some("CrashLoopBackOff".to_owned()),
            message: Some("the simulated container ends, as it was told to".to_owned()),
        };
        let ended = ContainerStateTerminated { exit_code: 1, ..ContainerStateTerminated::default() };
        ContainerStatus {
            name: self.component.name().to_owned(),
            image: self.image.clone(),
            ready: !is_failing,
            restart_count: self.restarts + i32::from(is_failing),
            state: Some(if is_failing {
                ContainerState { waiting: Some(waiting), ..ContainerState::default() }
            } else {
                running
            }),
            last_state: is_failing.then(|| ContainerState { terminated: Some(ended), ..ContainerState::default() }),
            ..ContainerStatus::default()
        }
    }
}

/// Whether a Pod is the file of a kubelet, which starts and ends it by itself.
pub fn is_static(pod: &Pod) -> bool {
    pod.annotations().contains_key(MIRROR)
}

fn owner(node: &Node) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node.name_any(),
        uid: node.uid().unwrap_or_default(),
        controller: Some(true),
        ..OwnerReference::default()
    }
}

fn state(component: SimComponent, host: &SimHost, failures: &SimFailures, now: Timestamp) -> StaticPodState {
    if failures.is_dead() {
        return StaticPodState::Unreachable;
    }
    let is_now = |seconds: Option<i32>| seconds.is_none() || end(host, seconds).is_some_and(|end| now < end);
    let mut found = failures.static_pods.iter().filter(|it| it.component == component && is_now(it.seconds));
    match found.next().map(|found| found.failure) {
        None => StaticPodState::Ready,
        Some(SimPodFailureType::Fails) => StaticPodState::Failing,
        Some(SimPodFailureType::Late) => StaticPodState::Missing,
    }
}

/// When a failure that lasts so long after each start of the host is over; nothing for one without an end.
fn end(host: &SimHost, lasts: Option<i32>) -> Option<Timestamp> {
    let start = host.start_time.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    lasts.map(|lasts| after(start, seconds(Some(lasts))))
}

fn member_state(pod: StaticPodState, failure: Option<SimEtcdMemberFailure>) -> MemberState {
    match (pod, failure) {
        (_, Some(SimEtcdMemberFailure::Missing)) => MemberState::Missing,
        (StaticPodState::Unreachable, _) => MemberState::Unreachable,
        (StaticPodState::Failing | StaticPodState::Missing, _) => MemberState::Down,
        (StaticPodState::Ready, None) => MemberState::Up(None),
        (StaticPodState::Ready, Some(SimEtcdMemberFailure::NoSpace)) => MemberState::Up(Some(SimEtcdAlarm::NoSpace)),
        (StaticPodState::Ready, Some(SimEtcdMemberFailure::Corrupt)) => MemberState::Up(Some(SimEtcdAlarm::Corrupt)),
    }
}
