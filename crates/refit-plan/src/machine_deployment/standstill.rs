//! Orders that are taken back.
//!
//! A MachineSet carries out an order some time after it has read it. If the user changes his mind in between, a machine
//! moves, comes or goes that this pass takes for one that does not, and another one is made or deleted in its place. So
//! where machines that were there first are to stay, an order is taken back in two steps: all MachineSets are put on
//! *hold*, in which none of them creates, moves or deletes a machine, and say so when nothing is under way any more. Then
//! the next orders are decided about a world that stands still.
//!
//! Orders that only go on with what is under way need none of this, and without a change by the user there are no others.

use std::collections::BTreeMap;

use super::{MachineSetPlan, MachineSetView, Observed, Plan};
use crate::waiting::WaitingOn;

/// The plan, or the order to stand still first.
pub fn guard(observed: &Observed<'_>, plan: Plan) -> Plan {
    let standing = standing(observed);
    let is_safe = |planned: &MachineSetPlan| {
        let Some(set) = standing.get(planned.name.as_str()) else { return true };
        let others_stand_still = || standing.values().all(|other| other.view == set.view || other.is_idle());
        (set.is_held() || !set.is_taken_back_by(planned)) && (!set.grows_by(planned) || others_stand_still())
    };
    if plan.machine_sets.iter().all(is_safe) {
        return plan;
    }
    let held = plan.machine_sets.into_iter().map(|planned| hold(&standing, planned)).collect();
    let moving = standing.values().filter(|set| !set.is_held()).map(|set| set.view.name.clone()).collect();
    let waiting_on = vec![WaitingOn::Standstill { machine_sets: moving }];
    Plan { machine_sets: held, wanted: Vec::new(), waiting_on }
}

/// The order that a MachineSet has, and what it leaves to do.
struct Standing<'a> {
    view: &'a MachineSetView,
    /// The machines that `spec.replicas` counts.
    counted: i64,
    /// Those of them that are being deleted.
    deleting: i64,
}

impl Standing<'_> {
    /// Nothing is under way, and nothing begins before the next order.
    fn is_held(&self) -> bool {
        self.view.held || !self.view.exists()
    }

    /// Whether what may be under way is not to be any more.
    fn is_taken_back_by(&self, planned: &MachineSetPlan) -> bool {
        let change = self.change_by(planned);
        let (before, after) = (&self.view.handover, &planned.handover);
        let stops_creating = change < 0 || (planned.disable_machine_create && !self.view.disable_machine_create);
        let stops_leaving = change > 0 || before.move_to != after.move_to;
        (self.may_create() && stops_creating) || (self.may_leave() && stops_leaving)
    }

    /// Neither has machines nor is to have any, or is held.
    fn is_idle(&self) -> bool {
        self.is_held() || (self.counted <= 0 && self.view.spec_replicas <= 0)
    }

    /// Whether machines are to be created. Another MachineSet may be creating them already.
    fn grows_by(&self, planned: &MachineSetPlan) -> bool {
        self.change_by(planned) > 0 && !planned.disable_machine_create
    }

    /// By how much the number of machines changes, but for those that have arrived.
    fn change_by(&self, planned: &MachineSetPlan) -> i64 {
        i64::from(planned.replicas) - i64::from(self.view.spec_replicas) - newly_counted(self.view, planned)
    }

    fn may_create(&self) -> bool {
        !self.view.disable_machine_create && self.counted - self.deleting < self.view.spec_replicas.into()
    }

    /// Whether machines are to move or to go.
    fn may_leave(&self) -> bool {
        self.counted > self.view.spec_replicas.into()
    }
}

fn standing<'a>(observed: &'a Observed<'_>) -> BTreeMap<&'a str, Standing<'a>> {
    let views = observed.new.iter().chain(observed.old.iter().map(|old| &old.view));
    let mut standing: BTreeMap<&str, Standing<'_>> =
        views.map(|view| (view.name.as_str(), Standing { view, counted: 0, deleting: 0 })).collect();
    for machine in &observed.machines {
        let Some(set) = standing.get_mut(&*machine.machine_set) else { continue };
        if !machine.pending_acknowledge || set.view.handover.acknowledged.contains(&machine.name) {
            set.counted += 1;
            set.deleting += i64::from(machine.deleting);
        }
    }
    standing
}

/// How many machines that were moved this order counts for the first time.
fn newly_counted(view: &MachineSetView, planned: &MachineSetPlan) -> i64 {
    let is_new = |name: &&str| !view.handover.acknowledged.contains(name);
    i64::try_from(planned.handover.acknowledged.iter().filter(is_new).count()).unwrap_or(i64::MAX)
}

/// The order that a MachineSet has, with what has arrived, on hold.
fn hold(standing: &BTreeMap<&str, Standing<'_>>, planned: MachineSetPlan) -> MachineSetPlan {
    let Some(Standing { view, .. }) = standing.get(planned.name.as_str()).filter(|set| set.view.exists()) else {
        return MachineSetPlan { replicas: 0, notes: Vec::new(), ..planned };
    };
    let replicas = i64::from(view.spec_replicas) + newly_counted(view, &planned);
    let mut handover = view.handover.clone();
    handover.hold.get_or_insert_with(|| view.version.clone());
    if !handover.receives() {
        handover.receive_from = planned.handover.receive_from;
    }
    handover.acknowledged = planned.handover.acknowledged;
    MachineSetPlan {
        replicas: i32::try_from(replicas.max(0)).unwrap_or(i32::MAX),
        handover,
        disable_machine_create: view.disable_machine_create,
        notes: vec!["neither creates, moves nor deletes machines until all stand still".to_owned()],
        ..planned
    }
}
