//! etcd while machines come and go: who leads it, and whose members are left over.

use std::time::Duration;

use refit_api::conditions;
use refit_api::vocabulary::condition_types::{ETCD_CLUSTER_HEALTHY, ETCD_MEMBER_HEALTHY, HEALTH_CHECK_SUCCEEDED};

use super::decision::{Decision, Step};
use super::observed::ObservedMachine;
use super::quorum::{self, Change};
use super::view::View;

/// When to look again after a member was taken out.
const REMOVED_RETRY: Duration = Duration::from_secs(1);

/// Moves the leadership of etcd away from a machine that is about to go or to be updated.
pub(super) fn forward_leadership(view: &View<'_>, from: &ObservedMachine, decision: &mut Decision) {
    let observed = view.observed;
    let Some(node) = from.node_name().filter(|_| observed.is_etcd_managed()) else { return };
    let is_leader = observed.members().iter().any(|member| member.is_leader && member.name == node);
    let candidates = candidates(view, from);
    if is_leader && !candidates.is_empty() {
        decision.steps.push(Step::ForwardEtcdLeadership { from: node.to_owned(), candidates });
    }
}

/// Healthy members first, then machines that pass their checks, then up-to-date ones, then the youngest.
fn candidates(view: &View<'_>, from: &ObservedMachine) -> Vec<String> {
    let is_other = |machine: &&ObservedMachine| machine.name() != from.name() && !machine.is_deleting();
    let mut machines: Vec<_> =
        view.machines().filter(is_other).filter(|machine| machine.node_name().is_some()).collect();
    machines.sort_by_key(|machine| {
        let is_worse = [
            !machine.is_true(ETCD_MEMBER_HEALTHY),
            !machine.is_true(HEALTH_CHECK_SUCCEEDED),
            !view.is_up_to_date(machine),
        ];
        (is_worse, std::cmp::Reverse(machine.age()))
    });
    machines.iter().filter_map(|machine| machine.node_name()).map(str::to_owned).collect()
}

/// Takes out one member that is of no Machine. Tells whether it did.
///
/// While a Machine has no Node yet, such a member may be its own.
pub(super) fn remove_orphan(view: &View<'_>, decision: &mut Decision) -> bool {
    let observed = view.observed;
    let is_fine = conditions::is_true(&observed.control_plane.status.conditions, ETCD_CLUSTER_HEALTHY);
    let is_provisioning = view.machines().any(|machine| machine.node_name().is_none());
    if !observed.is_etcd_managed() || observed.machines.is_empty() || is_fine || is_provisioning {
        return false;
    }
    let orphans = observed.members().iter().filter(|member| quorum::machine_of(observed, member).is_none());
    let Some(name) = orphans.map(|member| member.name.as_str()).min() else { return false };
    if !name.is_empty() && !quorum::survives(observed, Change::Removed(name)) {
        decision.wait_for(format!("etcd member {name} is of no machine, and etcd would lose its quorum without it"));
        return false;
    }
    decision.steps.push(Step::RemoveEtcdMember { name: name.to_owned() });
    decision.requeue(REMOVED_RETRY);
    true
}
