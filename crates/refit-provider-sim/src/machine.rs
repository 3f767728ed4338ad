//! Decides what becomes of a SimMachine. Pure: what was observed goes in, the next step comes out.
//!
//! The host is in the status: made once, kept until the SimMachine goes. A new spec changes nothing here; that is what
//! updates are for (see [`crate::update`]).

#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Resource, ResourceExt};
use refit_api::cluster::{MachineAddress, MachineAddressType};
use refit_api::conditions::NewCondition;
use sha2::{Digest, Sha256};

use crate::facts::{ClusterFacts, MachineFacts, pause};
use crate::kinds::{ProvisionedStatus, SimAttempt, SimHost, SimMachine, SimMachineSpec, SimMachineStatus};
use crate::node::NodeReport;
use crate::readiness::{Waiting, ready, silent_until, with_conditions};
use crate::static_pod::ControlPlaneReport;
use crate::words::{MACHINE_FINALIZER, reasons};

/// How long after a failed attempt the next one begins.
const RETRY: SignedDuration = SignedDuration::from_secs(1);
const DEFAULT_CPUS: i32 = 2;
const DEFAULT_MEMORY: &str = "4Gi";

/// Everything that the decision may look at.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    pub now: Timestamp,
    pub machine: &'a SimMachine,
    /// The Machine that owns it.
    pub owner: Option<&'a MachineFacts>,
    /// The Cluster of that.
    pub cluster: Option<&'a ClusterFacts>,
    /// Whether the workload cluster is there.
    pub has_workload: bool,
    /// What its Node is known to say; nothing when nobody has looked.
    pub reported: Option<&'a NodeReport>,
}

/// The next step. Each may be done twice with the effect of once.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Put the finalizer on, and name the host.
    Claim { provider_id: String },
    /// Write the status, if nobody has changed the object since.
    SetStatus(Box<SimMachineStatus>),
    /// Make the Node say this.
    Report(Box<NodeReport>),
    /// Delete the Node, then let the object go.
    Leave,
    /// Nothing, until something changes or this time has come.
    Wait { until: Option<Timestamp> },
}

/// The next step for a SimMachine.
///
/// # Guarantees
/// A host that is there is never made anew, and no Node is reported before its host is in the status.
pub fn decide(observed: &Observed<'_>) -> Step {
    let Observed { machine, cluster, .. } = *observed;
    let (is_paused, paused) = pause("SimMachine", machine, cluster);
    if is_paused {
        return set_status(observed, with(observed, [paused]));
    }
    if machine.metadata.deletion_timestamp.is_some() {
        return if has_finalizer(machine) { Step::Leave } else { Step::Wait { until: None } };
    }
    let Some(owner) = observed.owner else {
        return wait(observed, Waiting::new(reasons::WAITING_FOR_OWNER, "Waiting for a Machine to own it"), paused);
    };
    if !has_finalizer(machine) || machine.spec.provider_id.is_none() {
        return Step::Claim { provider_id: provider_id(machine) };
    }
    match &machine.status.host {
        None => provision(observed, owner, paused),
        Some(host) => keep(observed, owner, host, paused),
    }
}

/// What the host of a SimMachine is called, for life.
pub fn provider_id(machine: &SimMachine) -> String {
    let named = || format!("sim://{}/{}", machine.namespace().unwrap_or_default(), machine.name_any());
    machine.spec.provider_id.clone().unwrap_or_else(named)
}

/// What the kubelet of a SimMachine says now; nothing while there is no host.
pub fn report(machine: &SimMachine, owner: &MachineFacts, now: Timestamp) -> Option<NodeReport> {
    let (host, failures) = (machine.status.host.clone()?, &machine.spec.failures);
    let name = machine.name_any();
    let control_plane = owner.is_control_plane.then(|| ControlPlaneReport::of(&name, &host, failures, now));
    let is_dead = failures.is_dead();
    Some(NodeReport {
        name,
        provider_id: provider_id(machine),
        host,
        address: address(machine),
        is_dead,
        control_plane,
    })
}

fn has_finalizer(machine: &SimMachine) -> bool {
    machine.finalizers().iter().any(|finalizer| finalizer == MACHINE_FINALIZER)
}

/// The way to a host: what it needs, its time, its failures.
fn provision(observed: &Observed<'_>, owner: &MachineFacts, paused: NewCondition) -> Step {
    if !observed.has_workload || !observed.cluster.is_some_and(|cluster| cluster.is_provisioned) {
        let message = "Waiting for the Cluster's infrastructure";
        return wait(observed, Waiting::new(reasons::WAITING_FOR_CLUSTER, message), paused);
    }
    if owner.data_secret.is_none() {
        let message = "Waiting for the Machine's bootstrap data";
        return wait(observed, Waiting::new(reasons::WAITING_FOR_BOOTSTRAP_DATA, message), paused);
    }
    let spec = &observed.machine.spec;
    let wanted_failures = spec.failures.provisioning.unwrap_or(0);
    let is_instant = seconds(spec.provisioning_seconds).is_zero() && wanted_failures == 0;
    let Some(attempt) = &observed.machine.status.provisioning else {
        return if is_instant { arrive(observed, owner, paused) } else { begin(observed, 0, paused) };
    };
    let failures = attempt.failures.unwrap_or(0);
    let pause = if failures > 0 { RETRY } else { SignedDuration::ZERO };
    let due = after(attempt.start_time.0, seconds(spec.provisioning_seconds).saturating_add(pause));
    if observed.now < due {
        Step::Wait { until: Some(due) }
    } else if failures < wanted_failures {
        begin(observed, failures + 1, paused)
    } else {
        arrive(observed, owner, paused)
    }
}

/// The first attempt, or the next one after a failure.
fn begin(observed: &Observed<'_>, failures: i32, paused: NewCondition) -> Step {
    let waiting = match failures {
        0 => Waiting::new(reasons::PROVISIONING, "The host is being provisioned"),
        n => Waiting::new(reasons::PROVISIONING_FAILED, format!("Provisioning failed {n} times, as it was told to")),
    };
    let mut status = with(observed, [waiting.condition(), paused]);
    let failures = Some(failures).filter(|failures| *failures > 0);
    status.provisioning = Some(SimAttempt { what: None, start_time: Time(observed.now), failures });
    Step::SetStatus(Box::new(status))
}

/// The host is there.
fn arrive(observed: &Observed<'_>, owner: &MachineFacts, paused: NewCondition) -> Step {
    let mut status = with(observed, [ready(), paused]);
    status.initialization = ProvisionedStatus { provisioned: Some(true) };
    status.addresses = addresses(observed.machine);
    status.provisioning = None;
    status.host = Some(new_host(observed.machine, owner, observed.now));
    Step::SetStatus(Box::new(status))
}

/// The host is there and stays; its Node says what it runs.
fn keep(observed: &Observed<'_>, owner: &MachineFacts, host: &SimHost, paused: NewCondition) -> Step {
    let failures = &observed.machine.spec.failures;
    let state = if failures.is_dead() { dead() } else { ready() };
    let status = with(observed, [state, paused]);
    if status != observed.machine.status {
        return Step::SetStatus(Box::new(status));
    }
    let report = report(observed.machine, owner, observed.now);
    match report.filter(|report| observed.has_workload && observed.reported != Some(report)) {
        Some(report) => Step::Report(Box::new(report)),
        None if !owner.is_control_plane => Step::Wait { until: None },
        None => Step::Wait { until: ControlPlaneReport::next_change(host, failures, observed.now) },
    }
}

fn dead() -> NewCondition {
    Waiting::new(reasons::DEAD, "The host does not answer, as it was told to").condition()
}

/// Waits, and says so when it takes long.
fn wait(observed: &Observed<'_>, waiting: Waiting, paused: NewCondition) -> Step {
    if let Some(end) = silent_until(observed.machine, observed.now) {
        return Step::Wait { until: Some(end) };
    }
    set_status(observed, with(observed, [waiting.condition(), paused]))
}

fn set_status(observed: &Observed<'_>, status: SimMachineStatus) -> Step {
    if status == observed.machine.status { Step::Wait { until: None } } else { Step::SetStatus(Box::new(status)) }
}

fn with<const N: usize>(observed: &Observed<'_>, conditions: [NewCondition; N]) -> SimMachineStatus {
    let status = observed.machine.status.clone();
    SimMachineStatus { conditions: with_conditions(&status.conditions, conditions, observed.now), ..status }
}

/// A new host. Its numbers follow from the SimMachine and the moment: a host that was made twice would show.
fn new_host(machine: &SimMachine, owner: &MachineFacts, now: Timestamp) -> SimHost {
    let SimMachineSpec { cpus, memory, image, .. } = machine.spec.clone();
    let serial = hex(&digest(machine, &now.to_string())[..8]);
    SimHost {
        id: format!("host-{serial}"),
        disk_id: format!("disk-{serial}"),
        boot_count: 1,
        cpus: cpus.unwrap_or(DEFAULT_CPUS),
        memory: memory.unwrap_or_else(|| DEFAULT_MEMORY.to_owned()),
        image,
        kubernetes_version: owner.version.clone(),
        start_time: Some(Time(now)),
    }
}

fn addresses(machine: &SimMachine) -> Vec<MachineAddress> {
    let hostname = MachineAddress { type_: MachineAddressType::Hostname, address: machine.name_any() };
    vec![MachineAddress { type_: MachineAddressType::InternalIP, address: address(machine) }, hostname]
}

/// An address in 10/8 that follows from the uid. Nothing listens there.
fn address(machine: &SimMachine) -> String {
    let [a, b, c, ..] = digest(machine, "address");
    format!("10.{a}.{b}.{c}")
}

fn digest(machine: &SimMachine, salt: &str) -> [u8; 32] {
    Sha256::digest(format!("{}/{salt}", machine.meta().uid.as_deref().unwrap_or_default())).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// So many seconds as the spec says.
pub fn seconds(count: Option<i32>) -> SignedDuration {
    SignedDuration::from_secs(count.unwrap_or(0).max(0).into())
}

/// A moment later.
pub fn after(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.checked_add(duration).unwrap_or(Timestamp::MAX)
}
