//! How many Machines there are, of which versions, and what that says about rollout, scaling and remediation.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use refit_api::cluster::StatusVersion;
use refit_api::conditions::{self, NewCondition, Source, kubeadm_control_plane as words};
use refit_api::controlplane::{KubeadmControlPlaneStatus, LastRemediationStatus};
use refit_api::version::sort_oldest_first;
use refit_api::vocabulary::annotations::{REMEDIATION_FOR, REMEDIATION_IN_PROGRESS};
use refit_api::vocabulary::{condition_types as types, reasons};

use super::Told;
use crate::control_plane::decision::Decision;
use crate::control_plane::observed::ObservedMachine;
use crate::control_plane::preflight::Blocker;
use crate::control_plane::remediation::{self, Record};
use crate::control_plane::view::View;

/// For how long a Machine may be without `UpToDate` before that is told.
const YOUNG: Duration = Duration::from_secs(10);
/// After how long a deletion takes too long.
const STALE: Duration = Duration::from_secs(15 * 60);
/// After how long a drain is told as the cause of that.
const LONG_DRAIN: Duration = Duration::from_secs(5 * 60);

pub(super) fn count(view: &View<'_>, told: &Told<'_>, status: &mut KubeadmControlPlaneStatus) {
    let with = |condition: &str| number(told.values().filter(|all| conditions::is_true(all, condition)).count());
    status.replicas = number(told.len());
    status.ready_replicas = with(types::READY);
    status.available_replicas = with(types::AVAILABLE);
    status.up_to_date_replicas = with(types::UP_TO_DATE);
    status.versions = versions(view);
    status.version = status.versions.first().map(|lowest| lowest.version.clone()).or(status.version.take());
}

/// What the kubelets report, or what is wanted of Machines whose kubelet has not reported yet.
fn versions(view: &View<'_>) -> Vec<StatusVersion> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for machine in view.machines() {
        let reported = machine.machine.status.node_info.as_ref().map(|info| info.kubelet_version.as_str());
        let reported = reported.filter(|version| !version.is_empty());
        if let Some(version) =
            reported.or(machine.machine.spec.version.as_deref()).filter(|version| !version.is_empty())
        {
            *counts.entry(version).or_default() += 1;
        }
    }
    let entry =
        |(version, count): (&str, usize)| StatusVersion { version: version.to_owned(), replicas: number(count) };
    let mut versions: Vec<StatusVersion> = counts.into_iter().map(entry).collect();
    sort_oldest_first(&mut versions, |entry| &entry.version);
    versions
}

/// The replacement that is going on, else the latest that a Machine tells of.
pub(super) fn last_remediation(view: &View<'_>) -> Option<LastRemediationStatus> {
    let current = view.observed.annotation(REMEDIATION_IN_PROGRESS).map(str::to_owned);
    let past = || view.machines().filter_map(|machine| machine.annotations().get(REMEDIATION_FOR).cloned());
    let records = current.map_or_else(|| past().collect(), |current| vec![current]);
    let decoded = records.iter().filter_map(|text| Record::decode(text).ok());
    decoded.max_by_key(|record| record.timestamp).map(|record| record.to_status())
}

pub(super) fn conditions(view: &View<'_>, told: &Told<'_>, decision: &Decision) -> Vec<NewCondition> {
    let mut all = vec![rolling_out(told), machines_ready(view, told), machines_up_to_date(view, told)];
    all.push(remediating(view, told));
    all.extend(scaling(view, &decision.blockers));
    all
}

fn rolling_out(told: &Told<'_>) -> NewCondition {
    let outdated: Vec<_> = told
        .values()
        .filter_map(|all| conditions::get(all, types::UP_TO_DATE))
        .filter(|condition| condition.status == "False")
        .collect();
    match outdated.len() {
        0 => words::not_rolling_out(),
        machines => {
            let lines = outdated.iter().flat_map(|condition| condition.message.lines());
            words::rolling_out(machines, lines)
        }
    }
}

fn machines_ready(view: &View<'_>, told: &Told<'_>) -> NewCondition {
    words::machines_ready(&sources(view.machines(), told, types::READY))
}

fn machines_up_to_date(view: &View<'_>, told: &Told<'_>) -> NewCondition {
    let has_condition = |machine: &ObservedMachine| {
        told.get(machine.name()).is_some_and(|all| conditions::get(all, types::UP_TO_DATE).is_some())
    };
    let is_grown =
        |machine: &ObservedMachine| machine.age().0.is_none_or(|created| is_older(created, YOUNG, view.observed.now));
    let counted = view.machines().filter(|machine| has_condition(machine) || is_grown(machine));
    words::machines_up_to_date(&sources(counted, told, types::UP_TO_DATE))
}

fn remediating(view: &View<'_>, told: &Told<'_>) -> NewCondition {
    let replaced = remediation::unhealthy(view);
    if !replaced.is_empty() {
        return words::remediating(&sources(replaced.into_iter(), told, types::OWNER_REMEDIATED));
    }
    let is_unhealthy = |machine: &&ObservedMachine| machine.is_false(types::HEALTH_CHECK_SUCCEEDED);
    let unhealthy: Vec<&str> = view.machines().filter(is_unhealthy).map(ObservedMachine::name).collect();
    words::not_remediating(&unhealthy)
}

fn sources<'a>(
    machines: impl Iterator<Item = &'a ObservedMachine>,
    told: &'a Told<'_>,
    condition: &str,
) -> Vec<Source<'a>> {
    machines
        .map(|machine| {
            let all = told.get(machine.name()).map(Vec::as_slice).unwrap_or_default();
            Source::new("Machine", &machine.machine.metadata, conditions::get(all, condition))
        })
        .collect()
}

fn scaling(view: &View<'_>, blockers: &[Blocker]) -> [NewCondition; 2] {
    let spec = &view.observed.control_plane.spec;
    let is_deleting = view.observed.control_plane.metadata.deletion_timestamp.is_some();
    if spec.replicas.is_none() {
        return [types::SCALING_UP, types::SCALING_DOWN].map(words::waiting_for_replicas);
    }
    let current = view.observed.machines.len();
    let desired = if is_deleting { 0 } else { view.observed.desired_replicas() };
    let kind = spec.machine_template.spec.infrastructure_ref.kind.as_str();
    let missing: Vec<&str> = view.observed.infrastructure_template.is_none().then_some(kind).into_iter().collect();
    let blocking: Vec<String> = blockers.iter().map(Blocker::words).collect();
    let mut blocking: Vec<&str> = blocking.iter().map(String::as_str).collect();
    let up = if current < desired {
        words::scaling_up(current, desired, &blocking, &missing)
    } else {
        words::not_scaling_up(&missing)
    };
    let stale = stale(view);
    blocking.extend(stale.as_deref());
    let down =
        if current > desired { words::scaling_down(current, desired, &blocking) } else { words::not_scaling_down() };
    [up, down]
}

/// The Machines whose deletion takes too long, as part of a message.
pub(super) fn stale(view: &View<'_>) -> Option<String> {
    let now = view.observed.now;
    let deleted = |machine: &ObservedMachine| machine.machine.metadata.deletion_timestamp.as_ref().map(|time| time.0);
    let is_stale = |machine: &&ObservedMachine| deleted(machine).is_some_and(|since| is_older(since, STALE, now));
    let machines: Vec<&ObservedMachine> = view.machines().filter(is_stale).collect();
    let names: Vec<&str> = machines.iter().map(|machine| machine.name()).collect();
    let causes: BTreeSet<(usize, &str)> = machines.iter().flat_map(|machine| delays(machine, now)).collect();
    let causes: Vec<&str> = causes.into_iter().map(|(_, cause)| cause).collect();
    words::stale_machines(&names, &causes)
}

/// Why draining a Node takes so long, by what the Machine controller says of it.
fn delays(machine: &ObservedMachine, now: Timestamp) -> Vec<(usize, &'static str)> {
    const CAUSES: [(&str, &str); 4] = [
        ("cannot evict pod as it would violate the pod's disruption budget.", "PodDisruptionBudgets"),
        ("deletionTimestamp set, but still not removed from the Node", "Pods not terminating"),
        ("failed to evict Pod", "Pod eviction errors"),
        ("waiting for completion", "Pods not completed yet"),
    ];
    let status = &machine.machine.status;
    let began = status.deletion.as_ref().and_then(|deletion| deletion.node_drain_start_time.as_ref());
    let is_long = began.is_some_and(|began| is_older(began.0, LONG_DRAIN, now));
    let draining = conditions::get(&status.conditions, types::DELETING)
        .filter(|condition| is_long && condition.status == "True" && condition.reason == reasons::DRAINING_NODE);
    let Some(condition) = draining else { return Vec::new() };
    let said = CAUSES.iter().enumerate().filter(|(_, (words, _))| condition.message.contains(words));
    said.map(|(place, (_, cause))| (place, *cause)).collect()
}

/// Whether more than `period` has gone by.
pub(super) fn is_older(since: Timestamp, period: Duration, now: Timestamp) -> bool {
    since.checked_add(period).is_ok_and(|end| end < now)
}

fn number(count: usize) -> Option<i32> {
    i32::try_from(count).ok()
}
