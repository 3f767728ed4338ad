//! Brings outdated Machines to what they should be, one at a time.

use refit_api::policy::InPlacePolicy;
use refit_api::vocabulary::annotations::DELETE_MACHINE;

use super::decision::Decision;
use super::in_place;
use super::knowledge::{self, Known};
use super::observed::ObservedMachine;
use super::preflight::{Operation, RETRY};
use super::scale::{self, Purpose};
use super::selection;
use super::up_to_date::{Ineligible, Standing};
use super::view::{Policy, View};
use crate::coverage::{ContentHash, FrozenPlan};
use crate::waiting::WaitingOn;

/// Takes the next step of the rollout. Tells whether there is one at all.
pub(super) fn decide(view: &View<'_>, decision: &mut Decision) -> bool {
    let outdated = view.outdated();
    if outdated.is_empty() {
        return false;
    }
    match &view.policy {
        _ if view.observed.machines.len() < view.observed.desired_replicas() => {
            scale::up(view, Purpose::Replica, decision);
        }
        Err(why) => decision.wait_for(why.clone()),
        Ok(policy) => match policy.in_place {
            InPlacePolicy::Require => require(view, &outdated, decision),
            InPlacePolicy::Prefer if is_unfinished(view, decision) => {}
            InPlacePolicy::Prefer | InPlacePolicy::Never => prefer(view, policy, &outdated, decision),
        },
    }
    scale::prepare_workload_cluster(view.observed, decision);
    true
}

/// Upstream's sequence: a spare machine first where one is allowed, then each outdated one in place or away.
fn prefer<'a>(view: &View<'a>, policy: &Policy, outdated: &[&'a ObservedMachine], decision: &mut Decision) {
    let (current, desired) = (view.observed.machines.len(), view.observed.desired_replicas());
    let is_spare = policy.in_place == InPlacePolicy::Prefer && policy.keeps_originals;
    // With a second member, etcd loses its quorum when either is away: a spare machine puts the only one at risk.
    let is_alone = is_spare && current == 1 && desired == 1;
    if current < desired + policy.max_surge && !is_alone {
        return scale::up(view, if is_spare { Purpose::Scaffolding } else { Purpose::Replica }, decision);
    }
    let Some(machine) = selection::next(view, outdated) else { return };
    if !is_tried_in_place(view, policy, machine, outdated) {
        return replace(view, machine, decision);
    }
    match ineligible(view, machine) {
        None => update_or_replace(view, machine, decision),
        Some(Ineligible::ToBeReplaced(_)) => replace(view, machine, decision),
        Some(Ineligible::NotKnown(why)) => knowledge::unsettled(not_known(machine, why), decision),
    }
}

/// The successor of the only machine comes before that one goes, surge or not: all data is on it.
pub(super) fn replace(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) {
    if view.observed.machines.len() == 1 {
        scale::up(view, Purpose::Replica, decision);
    } else {
        scale::down(view, machine, decision);
    }
}

/// Upstream updates only where it would be short of a machine otherwise. To keep the originals, all of them are, and
/// the spare machine goes in the end.
fn is_tried_in_place(
    view: &View<'_>,
    policy: &Policy,
    machine: &ObservedMachine,
    outdated: &[&ObservedMachine],
) -> bool {
    let is_needed = view.observed.machines.len() - outdated.len() < view.observed.desired_replicas();
    let is_kept = policy.keeps_originals && !machine.is_scaffolding() && view.has_scaffolding();
    policy.in_place == InPlacePolicy::Prefer && !view.is_up_to_date(machine) && (is_needed || is_kept)
}

fn update_or_replace(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) {
    let blocked = view.preflight.reason_not_to(Operation::Update);
    if let (Some(_), Some(blocked)) = (&blocked, view.preflight.reason_not_to(Operation::Remove(machine.name()))) {
        return scale::hold(blocked, decision);
    }
    match (Known::of(machine), blocked) {
        (Known::Covered { plan, change }, None) => update(view, machine, plan, change, decision),
        // It alone is sick. That is no reason to replace it for the rollout: whoever looks after its health may.
        (Known::Covered { .. }, Some(blocked)) => hold_in_place(view, blocked, decision),
        (Known::NotYet, _) => ask(machine, decision),
        (Known::Not { .. } | Known::Unsettled { .. }, _) => without_plan(view, machine, decision),
    }
}

fn update(
    view: &View<'_>,
    machine: &ObservedMachine,
    plan: &FrozenPlan,
    change: &ContentHash,
    decision: &mut Decision,
) {
    if in_place::can_begin(view, machine, decision) {
        knowledge::record_in_place(view, change, decision);
        in_place::begin(view, machine, plan, decision);
    }
}

/// A Machine that cannot be updated in place now: it is replaced if enough is known for that.
pub(super) fn without_plan(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) {
    match Known::of(machine) {
        Known::Not { change, reason } => {
            if knowledge::may_replace(view, machine, &change, reason, decision) {
                replace(view, machine, decision);
            }
        }
        Known::Unsettled { reason } => knowledge::unsettled(reason, decision),
        Known::NotYet | Known::Covered { .. } => ask(machine, decision),
    }
}

/// Nothing is ever deleted for the rollout, so that there is no spare machine either: it would have to go again.
fn require<'a>(view: &View<'a>, outdated: &[&'a ObservedMachine], decision: &mut Decision) {
    if view.observed.machines.len() > view.observed.desired_replicas() {
        // Fewer are wanted than there are: that is no rollout.
        if let Some(machine) = selection::surplus(view, outdated) {
            scale::down(view, machine, decision);
        }
        return;
    }
    if is_unfinished(view, decision) || !is_all_covered(view, outdated, decision) {
        return;
    }
    let Some(machine) = selection::in_crowded_domain(view, outdated) else { return };
    match (view.preflight.reason_not_to(Operation::Update), Known::of(machine)) {
        (None, Known::Covered { plan, change }) => update(view, machine, plan, change, decision),
        (Some(blocked), _) => hold_in_place(view, blocked, decision),
        (None, Known::NotYet | Known::Not { .. } | Known::Unsettled { .. }) => {}
    }
}

/// Whether every outdated Machine can be updated in place. Before that is so, the first is not touched.
fn is_all_covered(view: &View<'_>, outdated: &[&ObservedMachine], decision: &mut Decision) -> bool {
    let before = (decision.waiting_on.len(), decision.ask.len());
    for machine in outdated {
        if let Some(why) = ineligible(view, machine) {
            let words = format!("machine {} must be replaced: {}", machine.name(), why.words());
            decision.wait(WaitingOn::Uncovered { paths: vec![words], answers: Vec::new() });
            continue;
        }
        match Known::of(machine) {
            Known::NotYet => ask(machine, decision),
            Known::Covered { .. } => {}
            Known::Not { change: _, reason } => knowledge::wait_once(reason, decision),
            Known::Unsettled { reason } => knowledge::unsettled(reason, decision),
        }
    }
    before == (decision.waiting_on.len(), decision.ask.len())
}

fn hold_in_place(view: &View<'_>, blocked: super::preflight::Blocked, decision: &mut Decision) {
    let machines = view.preflight.unhealthy();
    if !machines.is_empty() {
        decision.wait(WaitingOn::Unhealthy { machines });
    }
    scale::hold(blocked, decision);
}

/// Whether a Machine that has its new spec does not run it yet. Until it does, nobody knows whether the change is good.
fn is_unfinished(view: &View<'_>, decision: &mut Decision) -> bool {
    let lags = |machine: &&ObservedMachine| view.is_up_to_date(machine) && machine.lagging_kubelet().is_some();
    let machines: Vec<String> = view.machines().filter(lags).map(|machine| machine.name().to_owned()).collect();
    let is_unfinished = !machines.is_empty();
    if is_unfinished {
        decision.wait(WaitingOn::Updates { machines });
        decision.requeue(RETRY);
    }
    is_unfinished
}

fn ineligible<'a>(view: &'a View<'_>, machine: &ObservedMachine) -> Option<&'a Ineligible> {
    view.standing(machine).and_then(|standing: &Standing| standing.ineligible.as_ref())
}

fn not_known(machine: &ObservedMachine, why: &str) -> WaitingOn {
    let next = format!("to replace the machine, give it the annotation {DELETE_MACHINE}");
    knowledge::unknown(machine, format!("{why}; {next}"))
}

fn ask(machine: &ObservedMachine, decision: &mut Decision) {
    decision.ask.insert(machine.name().to_owned());
}
