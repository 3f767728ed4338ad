//! Decides which Machines of a MachineHealthCheck are unhealthy, and whether somebody should replace or repair them.
//!
//! A Machine that is being updated in place is expected to be away for a while, so it is not unhealthy for that: until
//! the `refit.dev/update-timeout` of its update has passed, only what the user says of the update itself counts, that
//! is, a check of the conditions `Updating` or `refit.dev/UpdateFailed`, or the annotation
//! `cluster.x-k8s.io/remediate-machine`.

mod checks;
mod gate;
mod observed;
mod problem;
mod remediation;
#[cfg(test)]
mod tests;
mod verdict;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use refit_api::cluster::{MachineHealthCheck, MachineHealthCheckStatus};
use refit_api::conditions::{self, NewCondition, get, machine_health_check as words};
use refit_api::owners;
use refit_api::vocabulary::{condition_types as types, events, labels};

pub use gate::{Gate, RangeError};
pub use observed::{MachineSeen, Observed, RequestSeen, TemplateSeen};
pub use problem::Problem;
pub use verdict::Verdict;

use crate::effect::{Effect, Event, Target};
use crate::machine::{cluster_ref, paused_by};
use crate::merge::OwnWrites;
use crate::plan::Plan;
use crate::waiting::WaitingOn;
use remediation::Actions;

/// What to do about a MachineHealthCheck now.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "a decision that nobody reads is not acted on"]
pub struct Decision {
    pub plan: Plan,
    /// What the status of the check should be.
    pub status: MachineHealthCheckStatus,
    /// What went wrong. The shell logs it, and comes back with growing delays.
    pub problems: Vec<Problem>,
}

/// Decides what to do about a MachineHealthCheck.
///
/// # Guarantees
/// - A Machine is marked for remediation only if the number of unhealthy ones lets it.
/// - A Machine that is being updated is not marked for what an update does to it.
/// - What one Machine needs is decided without regard to what another one has got already.
pub fn decide(observed: &Observed) -> Decision {
    let mut check = observed.check.clone();
    if let Some(by) = paused_by(&observed.cluster, &observed.check.metadata) {
        set(observed, &mut check, words::paused("MachineHealthCheck", by));
        let plan = Plan { waiting_on: vec![WaitingOn::Paused], ..Plan::default() };
        return finish(observed, check, plan, Vec::new());
    }
    set(observed, &mut check, words::not_paused());
    take_on(observed, &mut check);
    let targets = match observed.targets() {
        Ok(targets) => targets,
        Err(problem) => return finish(observed, check, Plan::default(), vec![problem]),
    };
    let judged: Vec<(&MachineSeen, Verdict)> =
        targets.into_iter().map(|target| (target, Verdict::of(observed, target))).collect();
    judge(observed, check, &judged)
}

/// What follows from what was found of all Machines together.
fn judge(observed: &Observed, mut check: MachineHealthCheck, judged: &[(&MachineSeen, Verdict)]) -> Decision {
    let tally = Tally::of(judged);
    let mut plan = Plan::default();
    for delay in judged.iter().filter_map(|(_, verdict)| verdict.look_again_in(observed.now)) {
        plan.requeue(delay);
    }
    tally.write_to(&mut check.status);
    let gate = match Gate::of(&observed.check.spec.remediation.trigger_if, tally.targets.len(), tally.counted()) {
        Ok(gate) => gate,
        Err(error) => return finish(observed, check, plan, vec![Problem::Limit(error)]),
    };
    check.status.remediations_allowed = Some(gate.remaining());
    let condition = gate.condition(tally.targets.len(), tally.unhealthy);
    if !gate.is_open() && tally.unhealthy > 0 && is_news(&observed.check.status.conditions, &condition) {
        let event = Event::warning(Target::of(&observed.check), events::REMEDIATION_RESTRICTED, &*condition.message);
        plan.effects.push(Effect::Emit(event));
    }
    set(observed, &mut check, condition);
    let mut actions = Actions::default();
    for (target, verdict) in judged {
        actions.add(observed, target, verdict, gate.is_open());
    }
    plan.effects.extend(actions.in_order());
    finish(observed, check, plan, actions.problems)
}

/// How many Machines are how.
struct Tally {
    /// Their names, sorted.
    targets: Vec<String>,
    healthy: usize,
    unhealthy: usize,
    exempt: usize,
}

impl Tally {
    fn of(judged: &[(&MachineSeen, Verdict)]) -> Self {
        let count = |wanted: fn(&Verdict) -> bool| judged.iter().filter(|(_, verdict)| wanted(verdict)).count();
        let mut targets: Vec<String> = judged.iter().map(|(target, _)| target.name().to_owned()).collect();
        targets.sort();
        let (healthy, unhealthy) = (count(Verdict::is_healthy), count(Verdict::is_unhealthy));
        Self { targets, healthy, unhealthy, exempt: count(Verdict::is_exempt) }
    }

    /// Those that count against the limit: all that are not healthy, save those that are being updated.
    fn counted(&self) -> usize {
        self.targets.len().saturating_sub(self.healthy).saturating_sub(self.exempt)
    }

    fn write_to(&self, status: &mut MachineHealthCheckStatus) {
        status.expected_machines = Some(as_i32(self.targets.len()));
        status.current_healthy = Some(as_i32(self.healthy));
        status.targets.clone_from(&self.targets);
    }
}

/// Adds the writes of the check itself. What it says comes before what is done about it.
fn finish(observed: &Observed, mut check: MachineHealthCheck, mut plan: Plan, problems: Vec<Problem>) -> Decision {
    if problems.is_empty() {
        check.status.observed_generation = check.metadata.generation.filter(|number| *number > 0);
    }
    let writes = OwnWrites::of(&observed.check, &check);
    if writes.collide() {
        plan.requeue(std::time::Duration::ZERO);
    }
    plan.effects.splice(0..0, writes.in_order().map(Effect::Patch));
    Decision { plan, status: check.status, problems }
}

/// Gives the check to its Cluster.
fn take_on(observed: &Observed, check: &mut MachineHealthCheck) {
    let cluster_name = check.spec.cluster_name.clone();
    check.metadata.labels.get_or_insert_default().insert(labels::CLUSTER_NAME.to_owned(), cluster_name);
    let owners = check.metadata.owner_references.get_or_insert_default();
    if let Some(owner) = cluster_ref(&observed.cluster)
        && !owners::contains_exact(owners, &owner)
    {
        owners::ensure(owners, owner);
    }
}

fn set(observed: &Observed, check: &mut MachineHealthCheck, condition: NewCondition) {
    let generation = check.metadata.generation;
    conditions::set(&mut check.status.conditions, condition, generation, observed.now);
}

fn is_news(conditions: &[Condition], condition: &NewCondition) -> bool {
    get(conditions, types::REMEDIATION_ALLOWED).is_none_or(|said| said.message != condition.message)
}

fn as_i32(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
