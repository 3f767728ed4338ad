//! The working state of one pass.

use std::collections::BTreeMap;

use refit_api::policy::InPlacePolicy;

use super::keep_originals::scaffold;
use super::{
    Coverage, DeploymentView, MachineSetPlan, MachineSetView, MachineView, Observed, OldMachineSet, Plan, Strategy,
    surplus, waiting,
};
use crate::handover::{Handover, Scaffolding};

/// All MachineSets of a pass and what is decided about them so far.
///
/// Numbers are wider than in the API, so that no sum overflows.
pub struct Rollout<'a> {
    pub deployment: &'a DeploymentView,
    pub new: Set<'a>,
    pub old: Vec<Set<'a>>,
    pub machines: &'a [MachineView<'a>],
    /// How many machines there are beyond those wanted although nobody knows why. None of them goes.
    pub unexplained: i64,
}

/// One MachineSet.
pub struct Set<'a> {
    pub view: &'a MachineSetView,
    pub coverage: Option<&'a Coverage>,
    /// Neither moved nor replaced in this pass.
    pub frozen: bool,
    /// `spec.replicas`, with the machines that this pass has acknowledged.
    pub spec: i64,
    /// What `spec.replicas` becomes, if it changes further.
    pub intent: Option<i64>,
    /// `status.replicas`, as last reported.
    pub replicas: i64,
    /// `status.availableReplicas`, as last reported.
    pub available: i64,
    /// `status.upToDateReplicas`, as last reported.
    pub up_to_date: i64,
    /// The machines that it has, as they are.
    pub machines: Vec<&'a MachineView<'a>>,
    /// How many of its machines are there for a rollout only.
    pub standing_in: i64,
    /// How many more of them it was asked for and has not made yet.
    pub awaited: i64,
    /// Those of them that cannot move to the new MachineSet, as the API server refuses what they would become. They stay
    /// while others move.
    pub refused: i64,
    /// What this pass writes on it.
    pub handover: Handover,
    pub notes: Vec<String>,
}

impl<'a> Rollout<'a> {
    pub fn new(observed: &'a Observed<'a>, new: &'a MachineSetView) -> Self {
        let mut machines = by_owner(&observed.machines);
        let deployment = &observed.deployment;
        Self {
            deployment,
            new: Set::new(new, None, &mut machines),
            old: with_refused(old_sets(deployment, &observed.old, &mut machines), &new.name),
            machines: &observed.machines,
            unexplained: surplus::unexplained(observed),
        }
    }

    /// The same without a MachineSet of the wanted template: the youngest stands in for it, and creates what is missing.
    pub fn without_new(observed: &'a Observed<'a>) -> Option<Self> {
        let mut machines = by_owner(&observed.machines);
        let mut old = old_sets(&observed.deployment, &observed.old, &mut machines);
        let youngest = (0..old.len()).max_by_key(|&at| old[at].view.created)?;
        let new = Set { coverage: None, frozen: false, ..old.remove(youngest) };
        let unexplained = surplus::unexplained(observed);
        Some(Self { deployment: &observed.deployment, new, old, machines: &observed.machines, unexplained })
    }

    pub fn wanted(&self) -> i64 {
        i64::from(self.deployment.replicas)
    }

    pub fn max_surge(&self) -> i64 {
        i64::from(self.limits().max_surge())
    }

    /// A machine that is gone after its update failed counts as if it were still unavailable.
    pub fn min_available(&self) -> i64 {
        let asked = i64::from(self.limits().min_available(self.deployment.replicas));
        let lost = i64::try_from(self.lost().count()).unwrap_or(i64::MAX);
        asked.max(asked.saturating_add(lost).min(self.wanted()))
    }

    /// Machines whose update to what is wanted failed and that are gone since, whoever deleted them.
    pub fn lost(&self) -> impl Iterator<Item = &str> {
        let is_there = |name: &&str| self.new.machines.iter().any(|machine| machine.name == *name);
        self.new.view.failed_updates.iter().filter(move |name| !is_there(name))
    }

    /// Whether as many updates failed as machines may be unavailable: nobody begins another one, also with a machine to spare.
    pub fn is_stopped(&self) -> bool {
        let asked = i64::from(self.limits().min_available(self.deployment.replicas));
        let budget = usize::try_from(self.wanted() - asked).unwrap_or(0).max(1);
        self.lost().count() >= budget
    }

    /// Whether there are more machines than the rollout itself would have: the user wants fewer.
    pub fn is_too_large(&self) -> bool {
        self.sum(Set::target) > self.wanted() + self.max_surge()
    }

    /// The limits for what is done now: machines that can be updated in place come first, then those that are replaced.
    fn limits(&self) -> Strategy {
        let can_give = |set: &Set<'_>| set.is_covered() && set.target().max(set.present()) > set.reserved();
        self.deployment.strategy.of_phase(self.old.iter().any(can_give))
    }

    /// How many machines the new MachineSet is to have in the end: all but those of MachineSets that stay as they are.
    pub fn goal(&self) -> i64 {
        let frozen: i64 = self.old.iter().filter(|set| set.frozen).map(Set::target).sum();
        let refused: i64 = self.old.iter().filter(|set| !set.frozen).map(|set| set.refused).sum();
        (self.wanted() - frozen - refused).max(0)
    }

    pub fn all(&self) -> impl Iterator<Item = &Set<'a>> {
        self.old.iter().chain([&self.new])
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Set<'a>> {
        self.old.iter_mut().chain([&mut self.new])
    }

    pub fn sum(&self, number: impl Fn(&Set<'a>) -> i64) -> i64 {
        self.all().map(number).sum()
    }

    /// How many machines there are beyond the wanted ones. Old MachineSets count those that they are about to give away.
    pub fn surplus(&self) -> i64 {
        let old: i64 = self.old.iter().map(|set| set.target().max(set.present())).sum();
        self.new.target() + old - self.wanted()
    }

    /// Whether machines that were there first stay, and only scaffolding comes and goes.
    pub fn keeps_originals(&self) -> bool {
        self.deployment.keeps_originals()
    }

    /// MachineSets that give machines away give up replicas that have no machine: what is missing is created by the new one. A machine may have
    /// left after it was told to stay, and another one of an old template would only have to be updated.
    pub fn drop_empty_replicas(&mut self) {
        if !self.keeps_originals() {
            return;
        }
        for set in self.old.iter_mut().filter(|set| set.is_covered()) {
            let present = set.present();
            if set.spec > present {
                set.spec = present;
                (set.awaited, set.handover.surge) = (0, false);
                set.handover.scaffolding.take_if(|mark| *mark == Scaffolding::Requested);
            }
        }
    }

    /// Whether a MachineSet has machines that it was told to give away.
    pub fn has_movers(&self) -> bool {
        self.old.iter().any(|set| set.view.handover.move_to.is_some() && set.present() > set.target())
    }

    pub fn has_intents(&self) -> bool {
        self.all().any(|set| set.intent.is_some())
    }

    /// Gives frozen MachineSets back the machines that an earlier pass meant to move or to replace and that are still
    /// there, up to so many machines in all. Without this they would be deleted now.
    pub fn restore_frozen(&mut self, wanted: i64) {
        self.restore(wanted, |set| set.frozen);
    }

    /// The new MachineSet keeps machines that it was to give away or to give up, as far as the user wants as many now.
    pub fn restore_new(&mut self) {
        // What nobody can explain stays without an order: the user may delete it, and then it must not be made again.
        // What a rollout has made elsewhere gives way to machines that were there first.
        let made: i64 = self.old.iter().map(|set| set.marked() - set.standing_in).sum();
        let missing = scaffold::counted(self) - self.unexplained - self.surplus() + made.max(0);
        let back = (self.new.present() - self.new.spec).min(missing);
        if back > 0 {
            self.new.give_back(back);
        }
    }

    /// The same for MachineSets that were to give machines away and now are not.
    pub fn restore_movers(&mut self, wanted: i64) {
        self.restore(wanted, |set| set.view.handover.move_to.is_some());
    }

    /// The same for all MachineSets.
    pub fn restore_all(&mut self, wanted: i64) {
        self.restore(wanted, |_| true);
    }

    /// The user wants fewer machines than there are: those that cannot move may go.
    pub fn release_refused(&mut self) {
        let mut surplus = (self.sum(Set::target) - self.wanted()).max(0);
        for set in &mut self.old {
            let released = set.refused.min(surplus);
            set.refused -= released;
            surplus -= released;
        }
    }

    /// The same for machines that were to move and cannot.
    pub fn restore_refused(&mut self) {
        for set in self.old.iter_mut().filter(|set| set.refused > 0) {
            let back = set.refused.min(set.present()) - set.target();
            if back > 0 {
                set.give_back(back);
            }
        }
    }

    /// MachineSets that were to give machines away neither give nor delete them: their orders stay, and nobody takes what
    /// they have. Giving them their replicas back could make them replace a machine whose move is being carried out.
    pub fn hold_movers(&mut self) {
        for set in self.old.iter_mut().filter(|set| set.present() > set.target()) {
            set.handover.move_to = set.view.handover.move_to.clone();
        }
    }

    fn restore(&mut self, wanted: i64, which: impl Fn(&Set<'a>) -> bool) {
        let mut missing = wanted - self.sum(Set::target);
        for set in self.old.iter_mut().filter(|set| which(set)) {
            let back = (set.present() - set.target()).min(missing);
            if back > 0 {
                set.give_back(back);
                missing -= back;
            }
        }
    }

    pub fn into_plan(self) -> Plan {
        let (waiting_on, wanted) = (waiting::reasons(&self), scaffold::wanted(&self));
        let (on_delete, keeps) = (self.deployment.strategy == Strategy::OnDelete, self.keeps_originals());
        let new = self.new.into_plan(false);
        let old = self.old.into_iter().map(|set| {
            let creates_none = on_delete || (keeps && set.is_covered());
            set.into_plan(creates_none)
        });
        Plan { machine_sets: [new].into_iter().chain(old).collect(), wanted, waiting_on }
    }
}

/// Counts the machines that are covered and all the same cannot move.
fn with_refused<'a>(mut sets: Vec<Set<'a>>, new: &str) -> Vec<Set<'a>> {
    for set in sets.iter_mut().filter(|set| set.is_covered()) {
        let refused = set.machines.iter().filter(|machine| machine.is_refused_by(new)).count();
        set.refused = i64::try_from(refused).unwrap_or(i64::MAX);
    }
    sets
}

pub type ByOwner<'a> = BTreeMap<&'a str, Vec<&'a MachineView<'a>>>;

pub fn by_owner<'a>(machines: &'a [MachineView<'a>]) -> ByOwner<'a> {
    let mut owned = ByOwner::new();
    for machine in machines {
        owned.entry(&machine.machine_set).or_default().push(machine);
    }
    owned
}

pub fn old_sets<'a>(deployment: &DeploymentView, old: &'a [OldMachineSet], machines: &mut ByOwner<'a>) -> Vec<Set<'a>> {
    let frozen = |coverage: &Coverage| match coverage {
        Coverage::Covered => false,
        Coverage::Uncovered { .. } => deployment.in_place == InPlacePolicy::Require,
        Coverage::Undecided { .. } | Coverage::Withdrawn { .. } => deployment.in_place != InPlacePolicy::Never,
    };
    let set = |old: &'a OldMachineSet| Set {
        frozen: frozen(&old.coverage),
        ..Set::new(&old.view, Some(&old.coverage), machines)
    };
    old.iter().map(set).collect()
}

impl<'a> Set<'a> {
    pub fn new(view: &'a MachineSetView, coverage: Option<&'a Coverage>, machines: &mut ByOwner<'a>) -> Self {
        Self {
            view,
            coverage,
            frozen: false,
            spec: view.spec_replicas.into(),
            intent: None,
            replicas: view.counters.replicas.into(),
            available: view.counters.available.into(),
            up_to_date: view.counters.up_to_date.into(),
            machines: machines.remove(view.name.as_str()).unwrap_or_default(),
            standing_in: 0,
            awaited: 0,
            refused: 0,
            handover: Handover::default(),
            notes: Vec::new(),
        }
    }

    pub fn name(&self) -> &'a str {
        &self.view.name
    }

    /// What `spec.replicas` will be, as far as it is decided.
    pub fn target(&self) -> i64 {
        self.intent.unwrap_or(self.spec)
    }

    /// How many machines it has now.
    pub fn present(&self) -> i64 {
        i64::try_from(self.machines.len()).unwrap_or(i64::MAX)
    }

    /// Takes the machines themselves for what counters may not say yet: one that has just arrived is there, and one that
    /// is being updated is not available.
    pub fn look_at_machines(&mut self) {
        let available = self.machines.iter().filter(|machine| machine.available).count();
        self.replicas = self.present();
        self.available = self.available.min(i64::try_from(available).unwrap_or(i64::MAX));
    }

    /// Machines that are to go and are still there do not count as available ones: they may be the ones that are.
    pub fn write_off_surplus(&mut self) {
        let surplus = (self.present() - self.spec).max(0);
        self.available = (self.available - surplus).max(0);
    }

    pub fn is_covered(&self) -> bool {
        matches!(self.coverage, Some(Coverage::Covered))
    }

    /// Its machines that were moved here and wait for their MachineSet to take note.
    pub fn pending(&self) -> impl Iterator<Item = &'a MachineView<'a>> {
        self.machines.iter().copied().filter(|machine| machine.pending_acknowledge)
    }

    pub fn scale_to(&mut self, replicas: i64, why: String) {
        self.intent = Some(replicas.max(0));
        self.note(why);
    }

    /// Takes back an order to move or to delete machines that has not been carried out.
    pub fn give_back(&mut self, machines: i64) {
        self.spec += machines;
        self.note(format!("{machines} of its machines stay, they were to move or to go"));
    }

    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// How many of its replicas do not go for the rollout: scaffolding, and machines that cannot move.
    pub fn staying(&self) -> i64 {
        self.reserved() + self.refused
    }

    /// How many of its replicas are scaffolding and not on their way out.
    pub fn reserved(&self) -> i64 {
        let leaving = (self.present() - self.target()).max(0);
        (self.extras() - leaving).max(0)
    }

    /// How many of its machines say that a rollout has made them.
    fn marked(&self) -> i64 {
        let marked = self.machines.iter().filter(|machine| machine.scaffolding && !machine.deleting).count();
        i64::try_from(marked).unwrap_or(i64::MAX)
    }

    /// How many of its replicas are there for a rollout only.
    pub fn extras(&self) -> i64 {
        self.standing_in + self.awaited
    }

    /// Whether it has said how many machines it has.
    pub fn has_reported(&self) -> bool {
        i64::from(self.view.counters.replicas) == self.present()
    }

    pub fn into_plan(self, disable_machine_create: bool) -> MachineSetPlan {
        MachineSetPlan {
            name: self.view.name.clone(),
            replicas: i32::try_from(self.target().max(0)).unwrap_or(i32::MAX),
            handover: self.handover,
            disable_machine_create,
            notes: self.notes,
        }
    }
}
