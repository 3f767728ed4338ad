//! Brings outdated Machines to what they should be, one at a time.

use refit_api::policy::InPlacePolicy;

use super::decision::Decision;
use super::in_place;
use super::observed::{Coverage, ObservedMachine};
use super::preflight::{Operation, RETRY};
use super::scale::{self, Purpose};
use super::selection;
use super::up_to_date::Standing;
use super::view::{Policy, View};
use crate::coverage::Accepted;
use crate::coverage::FrozenPlan;
use crate::waiting::{Answer, WaitingOn};

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
    if current < desired + policy.max_surge {
        let is_spare = policy.in_place == InPlacePolicy::Prefer && policy.keeps_originals;
        return scale::up(view, if is_spare { Purpose::Scaffolding } else { Purpose::Replica }, decision);
    }
    let Some(machine) = selection::next(view, outdated) else { return };
    if is_tried_in_place(view, policy, machine, outdated) {
        update_or_replace(view, machine, decision);
    } else {
        replace(view, machine, decision);
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
    let may_be = policy.in_place == InPlacePolicy::Prefer && ineligible(view, machine).is_none();
    may_be && !view.is_up_to_date(machine) && (is_needed || is_kept)
}

fn update_or_replace(view: &View<'_>, machine: &ObservedMachine, decision: &mut Decision) {
    if let Some(blocked) = view.preflight.reason_not_to(Operation::Update) {
        // If it alone is sick, a new machine is safer than an update of this one.
        return match view.preflight.reason_not_to(Operation::Remove(machine.name())) {
            None => replace(view, machine, decision),
            Some(_) => scale::hold(blocked, decision),
        };
    }
    match Asked::of(machine) {
        Asked::NotYet => ask(machine, decision),
        Asked::Covered(plan) => in_place::begin(view, machine, &plan, decision),
        Asked::Uncovered { .. } => replace(view, machine, decision),
        Asked::Undecided { answers } => undecided(answers, decision),
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
    match (view.preflight.reason_not_to(Operation::Update), Asked::of(machine)) {
        (None, Asked::Covered(plan)) => in_place::begin(view, machine, &plan, decision),
        (Some(blocked), _) => hold_in_place(view, blocked, decision),
        (None, Asked::NotYet | Asked::Uncovered { .. } | Asked::Undecided { .. }) => {}
    }
}

/// Whether every outdated Machine can be updated in place. Before that is so, the first is not touched.
fn is_all_covered(view: &View<'_>, outdated: &[&ObservedMachine], decision: &mut Decision) -> bool {
    let before = (decision.waiting_on.len(), decision.ask.len());
    for machine in outdated {
        if let Some(why) = ineligible(view, machine) {
            let words = format!("machine {} must be replaced: {why}", machine.name());
            decision.wait(WaitingOn::Uncovered { paths: vec![words], answers: Vec::new() });
            continue;
        }
        match Asked::of(machine) {
            Asked::NotYet => ask(machine, decision),
            Asked::Covered(_) => {}
            Asked::Uncovered { paths, answers } => wait_once(WaitingOn::Uncovered { paths, answers }, decision),
            Asked::Undecided { answers } => undecided(answers, decision),
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

fn ineligible<'a>(view: &'a View<'_>, machine: &ObservedMachine) -> Option<&'a String> {
    view.standing(machine).and_then(|standing: &Standing| standing.ineligible.as_ref())
}

fn ask(machine: &ObservedMachine, decision: &mut Decision) {
    decision.ask.insert(machine.name().to_owned());
}

fn undecided(answers: Vec<Answer>, decision: &mut Decision) {
    wait_once(WaitingOn::Undecided { answers }, decision);
    decision.requeue(RETRY);
}

/// Machines of one control plane mostly hear the same.
fn wait_once(reason: WaitingOn, decision: &mut Decision) {
    if !decision.waiting_on.contains(&reason) {
        decision.wait(reason);
    }
}

/// What came of asking about a Machine.
enum Asked {
    NotYet,
    Covered(FrozenPlan),
    Uncovered { paths: Vec<String>, answers: Vec<Answer> },
    Undecided { answers: Vec<Answer> },
}

impl Asked {
    fn of(machine: &ObservedMachine) -> Self {
        match machine.coverage.clone() {
            Coverage::NotAsked => Self::NotYet,
            Coverage::Asked { target: _, verdict } => match verdict {
                Accepted::Covered { plan } => Self::Covered(plan),
                Accepted::Uncovered { paths, answers } => Self::Uncovered { paths, answers },
                Accepted::Undecided { answers } => Self::Undecided { answers },
            },
        }
    }
}
