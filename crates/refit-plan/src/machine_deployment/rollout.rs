//! The working state of one pass.

use std::collections::BTreeMap;

use refit_api::policy::InPlacePolicy;

use super::{
    Coverage, DeploymentView, MachineSetPlan, MachineSetView, MachineView, Observed, OldMachineSet, Plan, Strategy,
    waiting,
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
            old: old_sets(deployment, &observed.old, &mut machines),
            machines: &observed.machines,
        }
    }

    pub fn wanted(&self) -> i64 {
        i64::from(self.deployment.replicas)
    }

    pub fn max_surge(&self) -> i64 {
        i64::from(self.deployment.strategy.max_surge())
    }

    pub fn min_available(&self) -> i64 {
        i64::from(self.deployment.strategy.min_available(self.deployment.replicas))
    }

    /// How many machines the new MachineSet is to have in the end: all but those of MachineSets that stay as they are.
    pub fn goal(&self) -> i64 {
        let frozen: i64 = self.old.iter().filter(|set| set.frozen).map(Set::target).sum();
        (self.wanted() - frozen).max(0)
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
                set.handover.scaffolding =
                    set.handover.scaffolding.take().filter(|mark| *mark != Scaffolding::Requested);
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

    /// The same for MachineSets that were to give machines away and now are not.
    pub fn restore_movers(&mut self, wanted: i64) {
        self.restore(wanted, |set| set.view.handover.move_to.is_some());
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
        let waiting_on = waiting::reasons(&self);
        let (on_delete, keeps) = (self.deployment.strategy == Strategy::OnDelete, self.keeps_originals());
        let new = self.new.into_plan(false);
        let old = self.old.into_iter().map(|set| {
            let creates_none = on_delete || (keeps && set.is_covered());
            set.into_plan(creates_none)
        });
        Plan { machine_sets: [new].into_iter().chain(old).collect(), waiting_on }
    }
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
        Coverage::Undecided { .. } => deployment.in_place != InPlacePolicy::Never,
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

    /// How many of its replicas are scaffolding: one, unless that is on its way out.
    pub fn reserved(&self) -> i64 {
        let is_leaving = self.present() > self.target();
        i64::from(self.handover.scaffolding.is_some() && !is_leaving)
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
