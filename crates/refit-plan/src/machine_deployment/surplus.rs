//! Which machines may go because there are too many.
//!
//! A machine that was there first goes when the user wants fewer, or where it has to be replaced. Everything else that makes a
//! MachineSet shrink is a mistake: a mark that was lost, a policy that has changed while an order was under way, a machine
//! that came from nowhere. So each MachineSet is told how many of its machines may go and why, in the same write as the number of
//! its replicas, and nobody is told to delete more than that.
//!
//! How many machines the user has taken back is known from what the MachineSets were told when they were written to last:
//! how many he wanted then, and how many were to go. It stays on a MachineSet until they are gone.

use std::collections::BTreeMap;

use refit_api::policy::InPlacePolicy;

use super::rollout::{ByOwner, by_owner};
use super::{Coverage, MachineSetPlan, MachineSetView, MachineView, Observed, Plan};
use crate::handover::Scaffolding;
use crate::waiting::WaitingOn;

/// How many machines there are beyond those wanted although the user has taken none back and no rollout has made them.
pub fn unexplained(observed: &Observed<'_>) -> i64 {
    if observed.deployment.keeps_originals() { Surplus::of(observed).unexplained() } else { 0 }
}

/// Takes back what would make a MachineSet delete machines without a reason, and says so. A MachineSet whose order is to stay
/// deletes none either: nothing permits it.
pub fn keep(observed: &Observed<'_>, mut plan: Plan) -> Plan {
    let surplus = Surplus::of(observed);
    let (mut left, mut is_kept) = (surplus.permitted(), false);
    for planned in &mut plan.machine_sets {
        let lost = if surplus.is_replaced(&planned.name) { 0 } else { surplus.lost(planned) };
        let excess = (lost - left).max(0);
        left -= lost - excess;
        is_kept |= excess > 0;
        let ordered = surplus.views.get(planned.name.as_str()).map_or(0, |view| view.spec_replicas);
        let kept = planned.replicas.saturating_add(i32::try_from(excess).unwrap_or(i32::MAX)).min(ordered);
        if kept > planned.replicas {
            planned.replicas = kept;
            planned.notes.push("machines stay, as nothing says that they may go".to_owned());
        }
    }
    if is_kept || (surplus.unexplained() > 0 && !surplus.is_replacing()) {
        let machines = i64::try_from(observed.machines.len()).unwrap_or(i64::MAX);
        plan.waiting_on.push(WaitingOn::Surplus { machines, wanted: observed.deployment.replicas });
    }
    plan
}

/// Tells every MachineSet how many machines it may delete. The first, which is written first, remembers all that the user has taken
/// back: a pass that is cut off between two writes must not lose it.
pub fn permit(observed: &Observed<'_>, mut plan: Plan) -> Plan {
    let surplus = Surplus::of(observed);
    let permitted = surplus.permitted();
    let mut left = permitted;
    for planned in &mut plan.machine_sets {
        let lost = surplus.lost(planned);
        (planned.handover.scaled_down, planned.handover.replaced) = (0, 0);
        let goes = if surplus.is_replaced(&planned.name) { lost } else { lost.min(left) };
        if surplus.is_replaced(&planned.name) {
            planned.handover.replaced = count(goes);
        } else {
            planned.handover.scaled_down = count(goes);
            left -= goes;
        }
        planned.handover.keep_at_least = count(surplus.originals(planned) - goes);
    }
    if let Some(first) = plan.machine_sets.first_mut() {
        first.handover.scaled_down = count(permitted);
    }
    for planned in &mut plan.machine_sets {
        if planned.handover.scaled_down == 0 && planned.handover.replaced == 0 {
            planned.handover.keep_at_least = 0;
        }
    }
    plan
}

/// What there is, and how many machines are too many.
struct Surplus<'a> {
    observed: &'a Observed<'a>,
    views: BTreeMap<&'a str, &'a MachineSetView>,
    owned: ByOwner<'a>,
    /// How many machines there are beyond those wanted, without scaffolding and those that are going.
    beyond: i64,
    /// The same with those that were asked for and are not there yet.
    promised: i64,
}

impl<'a> Surplus<'a> {
    fn of(observed: &'a Observed<'a>) -> Self {
        let views = observed.new.iter().chain(observed.old.iter().map(|old| &old.view));
        let views: BTreeMap<&str, &MachineSetView> = views.map(|view| (view.name.as_str(), view)).collect();
        let mut owned = by_owner(&observed.machines);
        owned.retain(|name, _| views.contains_key(name));
        let stays = |machine: &&&MachineView<'_>| {
            let names = || views.values().any(|view| view.handover.is_scaffolding(&machine.name));
            !machine.deleting && !machine.scaffolding && !names()
        };
        let staying = owned.values().flatten().filter(stays).count();
        let beyond = whole(staying) - i64::from(observed.deployment.replicas);
        let promised: i64 = views.values().map(|view| promised(view, owned.get(view.name.as_str()))).sum();
        Self { observed, views, owned, beyond: beyond.max(0), promised: (beyond + promised).max(0) }
    }

    /// How many machines the user has taken back, as far as they are still there or still come. Who wants none has taken all back.
    fn permitted(&self) -> i64 {
        if self.observed.deployment.replicas == 0 { self.promised } else { self.promised.min(self.taken_back()) }
    }

    fn unexplained(&self) -> i64 {
        (self.beyond - self.permitted()).max(0)
    }

    /// How many machines the user has taken back at most. Where no MachineSet was ever told how many he wants, all that are
    /// too many.
    fn taken_back(&self) -> i64 {
        let before = self.views.values().filter_map(|view| view.desired_replicas).max();
        let Some(before) = before else { return i64::MAX };
        let now = (i64::from(before) - i64::from(self.observed.deployment.replicas)).max(0);
        let remembered = self.views.values().map(|view| i64::from(view.handover.scaled_down)).max();
        now + remembered.unwrap_or_default()
    }

    /// How many machines the MachineSet counts that are neither scaffolding nor going.
    fn originals(&self, planned: &MachineSetPlan) -> i64 {
        let machines = self.owned.get(planned.name.as_str()).map(Vec::as_slice).unwrap_or_default();
        let is_original = |machine: &&&MachineView<'_>| {
            let counts = !machine.pending_acknowledge || planned.handover.acknowledged.contains(&machine.name);
            counts && !machine.deleting && !machine.scaffolding && !planned.handover.is_scaffolding(&machine.name)
        };
        whole(machines.iter().filter(is_original).count())
    }

    /// How many machines the MachineSet is to delete that are neither scaffolding nor going.
    fn lost(&self, planned: &MachineSetPlan) -> i64 {
        let machines = self.owned.get(planned.name.as_str()).map(Vec::as_slice).unwrap_or_default();
        let counts = |machine: &&&MachineView<'_>| {
            !machine.pending_acknowledge || planned.handover.acknowledged.contains(&machine.name)
        };
        let is_free = |machine: &&&MachineView<'_>| {
            machine.deleting || machine.scaffolding || planned.handover.is_scaffolding(&machine.name)
        };
        let leaving = whole(machines.iter().filter(counts).count()) - i64::from(planned.replicas);
        let free = whole(machines.iter().filter(counts).filter(is_free).count());
        if planned.handover.move_to.is_some() { 0 } else { (leaving - free).max(0) }
    }

    /// Whether the machines of this MachineSet have to be replaced, and may be.
    fn is_replaced(&self, name: &str) -> bool {
        let old = || self.observed.old.iter().find(|old| old.view.name == name);
        self.observed.deployment.in_place == InPlacePolicy::Prefer
            && old().is_some_and(|old| matches!(old.coverage, Coverage::Uncovered { .. }))
    }

    /// Whether machines are going to be replaced. Then fewer of them come than go.
    fn is_replacing(&self) -> bool {
        self.owned.keys().any(|name| self.is_replaced(name))
    }
}

/// How many machines a MachineSet was asked for, to stay, and has not made. It makes another one for each that is going.
fn promised(view: &MachineSetView, machines: Option<&Vec<&MachineView<'_>>>) -> i64 {
    let staying = machines.into_iter().flatten().filter(|machine| !machine.deleting).count();
    let missing = i64::from(view.spec_replicas) - whole(staying);
    let awaited = i64::from(view.handover.scaffolding == Some(Scaffolding::Requested));
    if view.handover.surge || view.disable_machine_create { 0 } else { (missing - awaited).max(0) }
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn count(machines: i64) -> u32 {
    u32::try_from(machines.max(0)).unwrap_or(u32::MAX)
}
