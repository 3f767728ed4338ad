//! The last look before the host of a Machine goes: its member must have left etcd.
//!
//! The Machine controller drains the Node and detaches its volumes first, then waits for the annotation to go.

use refit_api::conditions;
use refit_api::version::KubernetesVersion;
use refit_api::vocabulary::annotations::{KCP_CLEANUP_HOOK, PRE_TERMINATE_HOOK_PREFIX};
use refit_api::vocabulary::{condition_types as types, reasons};
use serde_json::json;

use super::decision::{Decision, Step};
use super::etcd::forward_leadership;
use super::observed::{EtcdMembers, ObservedMachine};
use super::preflight::DELETION_RETRY;
use super::quorum::{self, Change};
use super::view::View;
use crate::effect::{Patch, Target};
use crate::waiting::WaitingOn;

/// Since this version a kubelet depends on the API server of its own machine, which goes with the etcd member.
const LOCAL_KUBELET_SINCE: KubernetesVersion = KubernetesVersion::new(1, 31, 0);

/// Lets go of one Machine that is being deleted, when it is its time. Tells whether any is.
///
/// As long as one is, nothing else is done.
pub(super) fn decide(view: &View<'_>, decision: &mut Decision) -> bool {
    let deleting: Vec<&ObservedMachine> = view.machines().filter(|machine| machine.is_deleting()).collect();
    let time = |machine: &&&ObservedMachine| machine.machine.metadata.deletion_timestamp.as_ref().map(|time| time.0);
    let Some(oldest) = deleting.iter().min_by_key(|machine| (time(machine), machine.name())) else { return false };
    let machines = deleting.iter().map(|machine| machine.name().to_owned()).collect();
    decision.wait(WaitingOn::Deletions { machines });
    decision.requeue(DELETION_RETRY);
    // One at a time: the next one's turn comes when this one is gone.
    if deleting.iter().all(|machine| machine.has(KCP_CLEANUP_HOOK)) && is_waiting_for_us(view, oldest) {
        let_go(view, oldest, decision);
    }
    true
}

fn is_waiting_for_us(view: &View<'_>, machine: &ObservedMachine) -> bool {
    let version = KubernetesVersion::parse_tolerant(&view.observed.control_plane.spec.version);
    let is_local = version.is_ok_and(|version| version.cmp_release(&LOCAL_KUBELET_SINCE).is_ge());
    let is_other_hook = |key: &String| key.starts_with(PRE_TERMINATE_HOOK_PREFIX) && key != KCP_CLEANUP_HOOK;
    let deleting = conditions::get(&machine.machine.status.conditions, types::DELETING);
    let is_at_hook = deleting.is_some_and(|condition| {
        condition.status == "True" && condition.reason == reasons::WAITING_FOR_PRE_TERMINATE_HOOK
    });
    is_at_hook && !(is_local && machine.annotations().keys().any(is_other_hook))
}

fn let_go(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) {
    let observed = view.observed;
    if observed.machines.len() > 1 {
        if !quorum::has_other_healthy_machine(observed, Some(machine.name())) {
            return decision.wait_for("no other control plane Machine has all of its components in healthy state");
        }
        if let Some(why) = leave_etcd(view, machine, decision) {
            return decision.wait_for(why);
        }
    }
    let merge = json!({ "metadata": { "annotations": { KCP_CLEANUP_HOOK: null } } });
    decision.patch(Patch::object(Target::of(&machine.machine), merge));
}

/// Takes the machine's member out of etcd, or says why that must not be.
fn leave_etcd(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) -> Option<String> {
    let observed = view.observed;
    if !observed.is_etcd_managed() {
        return None;
    }
    if let EtcdMembers::Unknown { why } = &observed.etcd {
        return Some(format!("etcd members are not known: {why}"));
    }
    let node = machine.node_name()?;
    if !quorum::survives(observed, Change::Removed(node)) {
        return Some(format!("etcd would lose its quorum without the member of machine {}", machine.name()));
    }
    forward_leadership(view, machine, decision);
    if observed.members().iter().any(|member| member.name == node) {
        decision.steps.push(Step::RemoveEtcdMember { name: node.to_owned() });
    }
    None
}
