//! Replaces Machines that a MachineHealthCheck found unhealthy, one after the other, the most broken first.

mod record;

use std::time::Duration;

use jiff::Timestamp;
use refit_api::conditions::NewCondition;
use refit_api::conditions::machine::health;
use refit_api::vocabulary::annotations::{REMEDIATE_MACHINE, REMEDIATION_IN_PROGRESS};
use refit_api::vocabulary::condition_types as types;
use serde_json::json;

pub(super) use record::Record;
use record::Retry;

use super::decision::{Decision, Told};
use super::etcd::forward_leadership;
use super::observed::{Observed, ObservedMachine};
use super::quorum::{self, Change};
use super::scale::end_remediation;
use super::view::View;
use crate::effect::{Patch, Target};
use crate::machine::update_began;

/// When to look again after a deletion began.
const STARTED_RETRY: Duration = Duration::from_millis(1);

/// Begins to replace one unhealthy Machine. Tells whether it did.
pub(super) fn decide(view: &View<'_>, decision: &mut Decision) -> bool {
    clear_healthy(view, decision);
    let in_progress = match current_record(view.observed) {
        Ok(Some(record)) if is_stale(view, &record) => {
            end_remediation(view.observed, decision);
            None
        }
        Ok(record) => record,
        Err(why) => {
            decision.wait_for(format!("the annotation {REMEDIATION_IN_PROGRESS} cannot be read: {why}"));
            return false;
        }
    };
    let Some(machine) = most_broken(view) else { return false };
    // The record is written before the Machine goes. If that was all, its deletion is still to come.
    let unfinished = in_progress.clone().filter(|record| record.machine == machine.name());
    if machine.is_deleting() || (in_progress.is_some() && unfinished.is_none()) {
        return false;
    }
    match allowed(view, machine, unfinished) {
        Ok(record) => {
            replace(view, machine, &record, decision);
            true
        }
        Err(why) => {
            decision.tell(machine.name(), why);
            false
        }
    }
}

/// Machines that a MachineHealthCheck left to the control plane, but for those that are unhealthy because they are
/// being updated.
pub(super) fn unhealthy<'a>(view: &View<'a>) -> Vec<&'a ObservedMachine> {
    view.machines().filter(|machine| machine.is_to_be_remediated() && !is_exempt(view, machine)).collect()
}

/// An update makes a machine unhealthy for a while. It is left alone until its update failed or took too long, or a user
/// wants it replaced.
fn is_exempt(view: &View<'_>, machine: &ObservedMachine) -> bool {
    if !machine.is_updating() || machine.has_failed_update() || machine.has(REMEDIATE_MACHINE) {
        return false;
    }
    let timeout = view.policy.as_ref().ok().and_then(|policy| policy.update_timeout);
    let (Some(timeout), Some(since)) = (timeout, update_began(&machine.machine)) else { return true };
    !has_passed(since, timeout, view.observed.now)
}

/// Whether more than `period` has gone by. A period without end never has.
fn has_passed(since: Timestamp, period: Duration, now: Timestamp) -> bool {
    since.checked_add(period).is_ok_and(|end| end <= now)
}

fn clear_healthy(view: &View<'_>, decision: &mut Decision) {
    let is_well = |machine: &&ObservedMachine| {
        !machine.is_deleting()
            && machine.is_true(types::HEALTH_CHECK_SUCCEEDED)
            && machine.is_false(types::OWNER_REMEDIATED)
    };
    for machine in view.machines().filter(is_well) {
        decision.told.push((machine.name().to_owned(), Told::Removed(types::OWNER_REMEDIATED)));
    }
}

fn current_record(observed: &Observed) -> Result<Option<Record>, String> {
    observed.annotation(REMEDIATION_IN_PROGRESS).map(Record::decode).transpose()
}

/// The successor is there already, and only the record was not taken away.
fn is_stale(view: &View<'_>, record: &Record) -> bool {
    view.machines().any(|machine| machine.age().0.is_some_and(|created| created > record.timestamp))
}

fn most_broken<'a>(view: &View<'a>) -> Option<&'a ObservedMachine> {
    let etcd = [types::ETCD_MEMBER_HEALTHY, types::ETCD_POD_HEALTHY];
    let rest = [types::NODE_KUBEADM_LABELS_AND_TAINTS_SET];
    let order: Vec<&str> = etcd
        .into_iter()
        .filter(|_| view.observed.is_etcd_managed())
        .chain(super::machine::COMPONENTS)
        .chain(rest)
        .collect();
    unhealthy(view).into_iter().min_by_key(|machine| {
        let is_fine: Vec<bool> = order.iter().map(|condition| machine.is_true(condition)).collect();
        (!machine.has(REMEDIATE_MACHINE), machine.node_name().is_some(), is_fine, machine.age())
    })
}

/// The record to write when the Machine may go, or why it may not.
fn allowed(view: &View<'_>, machine: &ObservedMachine, unfinished: Option<Record>) -> Result<Record, NewCondition> {
    let observed = view.observed;
    if let Some(version) = observed.awaited_topology_version() {
        return Err(health::remediation_deferred(format!(
            "KubeadmControlPlane can't remediate while waiting for a version upgrade to {version} to be propagated \
             from Cluster.spec.topology"
        )));
    }
    let record = match unfinished {
        Some(record) => record,
        None => Retry::of(observed, machine)?.record(observed, machine),
    };
    if observed.is_initialized() {
        is_stable(view)?;
        is_safe(observed, machine)?;
    }
    Ok(record)
}

/// Nothing else may be on the move.
fn is_stable(view: &View<'_>) -> Result<(), NewCondition> {
    let observed = view.observed;
    let is_provisioning = |machine: &ObservedMachine| {
        machine.node_name().is_none() && !machine.is_to_be_remediated() && !machine.is_deleting()
    };
    if observed.machines.len() <= 1 {
        return Err(health::cannot_be_remediated(
            "KubeadmControlPlane can't remediate if current replicas are less or equal to 1",
        ));
    }
    if view.machines().any(is_provisioning) {
        return Err(health::remediation_deferred(
            "KubeadmControlPlane waiting for control plane Machine provisioning to complete before triggering remediation",
        ));
    }
    if view.machines().any(ObservedMachine::is_deleting) {
        return Err(health::remediation_deferred(
            "KubeadmControlPlane waiting for control plane Machine deletion to complete before triggering remediation",
        ));
    }
    if observed.is_etcd_managed() && observed.members().is_empty() {
        return Err(health::remediation_deferred("Failed to check etcd cluster health before remediation"));
    }
    Ok(())
}

/// The API and etcd must survive without it. What is not known of a machine without a Node is looked at again before
/// its host goes.
fn is_safe(observed: &Observed, machine: &ObservedMachine) -> Result<(), NewCondition> {
    let keeps_etcd = || match machine.node_name() {
        Some(node) if observed.is_etcd_managed() => quorum::survives(observed, Change::Removed(node)),
        Some(_) | None => true,
    };
    if quorum::has_other_healthy_machine(observed, Some(machine.name())) && keeps_etcd() {
        return Ok(());
    }
    Err(health::cannot_be_remediated(
        "KubeadmControlPlane can't remediate this Machine because this could result in loosing Kubernetes control plane \
         components or in etcd quorum loss",
    ))
}

fn replace(view: &View<'_>, machine: &ObservedMachine, record: &Record, decision: &mut Decision) {
    if view.observed.is_initialized() {
        forward_leadership(view, machine, decision);
    }
    let merge = json!({ "metadata": { "annotations": { REMEDIATION_IN_PROGRESS: record.encode() } } });
    decision.patch(Patch::object(Target::of(&view.observed.control_plane), merge));
    decision.delete(Target::of(&machine.machine));
    decision.tell(machine.name(), health::remediation_deleting());
    decision.requeue(STARTED_RETRY);
}
