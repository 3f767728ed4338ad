//! I2: machines never exceed replicas and surge, and those that are away never exceed the budget.
//!
//! What the user's own change makes so is no fault. An order that was given under an earlier wish may still be carried
//! out, so the laxest wish counts since all was last as it should be. A machine that the user has deleted is not held
//! against refit, and neither is the one that is given up where another is not there yet.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use refit_api::cluster::{MachineDeployment, MachineDeploymentRolloutStrategyType};
use refit_plan::check::{Actor, Rules};

use super::view::{View, is_updating};

#[derive(Debug)]
pub struct Bounds {
    rules: Rules,
    /// Of the laxest wish since all was last as it should be.
    ceiling: i64,
    floor: i64,
    /// Machines that the user has deleted since, and how often the template has changed.
    deleted: i64,
    changes: i64,
    /// Before the present write.
    last: Counted,
    template: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Counted {
    alive: i64,
    available: i64,
    /// Those that are being deleted, too.
    all: i64,
}

impl Bounds {
    pub fn new(rules: Rules) -> Self {
        let (last, template) = (Counted::default(), String::new());
        Self { rules, ceiling: 0, floor: 0, deleted: 0, changes: 0, last, template }
    }

    pub fn begin(&mut self, view: &View) {
        self.last = counted(view);
        self.reset(view);
    }

    pub fn observe(&mut self, actor: &Actor, view: &View) -> Vec<String> {
        let (before, now) = (std::mem::replace(&mut self.last, counted(view)), counted(view));
        match actor {
            Actor::User => {
                self.relax(view);
                self.deleted += before.alive - now.alive;
            }
            // One that had no finalizer yet goes at once.
            Actor::Machine(_) => self.deleted += before.alive - now.alive,
            Actor::Deployment | Actor::MachineSet(_) => {}
        }
        let found = if matches!(actor, Actor::MachineSet(_)) { self.judge(before, now, view) } else { Vec::new() };
        if view.is_settled() {
            self.reset(view);
        }
        found
    }

    fn judge(&self, before: Counted, now: Counted, view: &View) -> Vec<String> {
        let mut found = Vec::new();
        let excused = if self.rules.is_upstream() { self.lost_count(before) } else { 0 };
        let ceiling = self.ceiling + excused;
        if now.alive > before.alive && now.alive > ceiling {
            found.push(format!("I2: there are {} machines, {ceiling} may be", now.alive));
        }
        let is_absent = |machine: &&refit_api::cluster::Machine| !is_updating(machine);
        let absent = i64::try_from(view.alive().filter(is_absent).count()).unwrap_or(i64::MAX) - now.available;
        let floor = self.floor - self.deleted - excused - i64::from(absent > 0);
        if now.available < before.available && now.available < floor {
            found.push(format!("I2: {} machines are available, {floor} must be", now.available));
        }
        found
    }

    /// How many machines upstream's sequence may have lost count of: those that the user has deleted, which two MachineSets
    /// may replace, and all that were on their way when the template changed again.
    fn lost_count(&self, before: Counted) -> i64 {
        self.deleted + if self.changes > 1 { before.all } else { 0 }
    }

    /// The user wants something else.
    fn relax(&mut self, view: &View) {
        let (ceiling, floor, template) = wish(view);
        self.ceiling = self.ceiling.max(ceiling);
        self.floor = self.floor.min(floor);
        self.changes += i64::from(template != self.template);
        self.template = template;
    }

    fn reset(&mut self, view: &View) {
        (self.ceiling, self.floor, self.template) = wish(view);
        (self.deleted, self.changes) = (0, 0);
    }
}

fn counted(view: &View) -> Counted {
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let (alive, all) = (number(view.alive().count()), number(view.machines.len()));
    Counted { alive, available: number(view.available()), all }
}

/// The most machines, the fewest available ones, and the template.
fn wish(view: &View) -> (i64, i64, String) {
    let Some(deployment) = &view.deployment else { return (i64::MAX, 0, String::new()) };
    let replicas = i64::from(view.replicas());
    let (surge, unavailable) = limits(deployment, replicas);
    let template = deployment.spec.template.spec.infrastructure_ref.name.clone();
    (replicas + surge, (replicas - unavailable).max(0), template)
}

/// Surge and budget. With OnDelete there is no budget: the user decides which machine goes when, and one that is being
/// updated meanwhile stays when he scales down.
fn limits(deployment: &MachineDeployment, replicas: i64) -> (i64, i64) {
    let strategy = deployment.spec.rollout.strategy.clone().unwrap_or_default();
    if strategy.type_ == MachineDeploymentRolloutStrategyType::OnDelete {
        return (0, replicas);
    }
    let rolling = strategy.rolling_update;
    // Nobody may have filled in the bounds: in place needs no spare machine.
    let is_in_place = strategy.type_ == MachineDeploymentRolloutStrategyType::InPlace;
    let (surge, unavailable) = if is_in_place { (0, 1) } else { (0, 0) };
    let number = |value: Option<IntOrString>, unset: i64| match value {
        Some(IntOrString::Int(number)) => i64::from(number),
        Some(IntOrString::String(_)) => 0,
        None => unset,
    };
    (number(rolling.max_surge, surge), number(rolling.max_unavailable, unavailable))
}
