//! Decides what to do about a MachineDeployment: which MachineSets it has, how many machines each of them has and how
//! they change hands, what extensions are to be asked, and what is told of all that.
//!
//! Nothing here talks to anybody. Where the next step needs an answer of extensions, the decision says what to ask; the
//! shell asks, and decides again with the answer. An extension that fails or keeps silent is an answer, too: the
//! machines that depend on it are left alone, and the number of machines follows the user as ever.

mod claims;
mod coverage;
mod decided;
mod observed;
mod pass;
mod problem;
mod record;
mod refused;
mod report;
mod templates;
#[cfg(test)]
mod tests;
mod views;
mod wishes;
mod writes;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use refit_api::cluster::MachineDeployment;
use refit_api::vocabulary::finalizers;

pub use coverage::{Ask, answer_key};
pub use observed::{MachinesMadeFrom, Observed, Template};
pub use pass::wanted;
pub use problem::Problem;

use super::MachineView;
use super::ownership::{delete_all, join_cluster, set_free};
use crate::coverage::ContentHash;
use crate::effect::Effect;
use crate::machine::paused_by;
use crate::machine_rollout::close;
use crate::ownership::{add_finalizer, leaves_orphans, remove_finalizer};
use crate::plan::Plan;
use crate::waiting::WaitingOn;
use claims::Owned;
use pass::{Pass, rollout_after};
use wishes::Wishes;
use writes::Records;

/// What to do about a MachineDeployment now.
#[derive(Debug, Default)]
#[must_use = "a decision that nobody reads is not acted on"]
pub struct Decision {
    /// What is told of the MachineDeployment, before anything is done and whatever becomes of it: it is about what was
    /// seen, and for the version that was seen. What is refused is told anew next time.
    pub reports: Vec<Effect>,
    /// What to write then, and why nothing more.
    pub plan: Plan,
    /// MachineSets that nobody controls are adopted. The shell asks the API server first whether the MachineDeployment is still
    /// there and not on its way out: the cache may know that they were set free, and not yet why.
    pub adopts: bool,
    /// What extensions must be asked. Then there is nothing else: with the answers, decide again.
    pub ask: Vec<Ask>,
    /// What went wrong. The shell logs it, and comes back with growing delays.
    pub problems: Vec<Problem>,
    /// The answers that were looked at, by the name of the old MachineSet.
    answered: BTreeMap<String, ContentHash>,
}

/// Decides what to do about a MachineDeployment.
///
/// # Guarantees
/// - Without a whole list of MachineSets and of machines nothing is written but that nobody knows.
/// - No answer, or none yet, keeps the number of machines from following the user. It keeps machines from being moved
///   or replaced.
/// - The new MachineSet is written before the others: it agrees to take machines before another gives them away.
/// - Deciding again after any part of the effects was carried out leads to the same end.
/// - Where nothing is left to do, there is no effect and no report.
pub fn decide(observed: &Observed<'_>) -> Decision {
    let mut decision = Decision::default();
    let deployment = observed.deployment;
    if !deployment.metadata.finalizers.iter().flatten().any(|it| it == finalizers::MACHINE_DEPLOYMENT) {
        // Before anything is made that nobody would clean up. One that is going waits for somebody else's finalizer.
        decision.plan.effects.extend(add_finalizer(deployment, finalizers::MACHINE_DEPLOYMENT));
        return decision;
    }
    if let Some(by) = paused_by(observed.cluster, &deployment.metadata) {
        decision.plan.waiting_on.push(WaitingOn::Paused);
        report::paused(observed, by, &mut decision);
        return decision;
    }
    match Owned::of(observed) {
        Err(problem) => give_up(observed, problem, &mut decision),
        Ok(owned) if !owned.adoptions.is_empty() => {
            decision.adopts = true;
            decision.plan.effects = owned.adoptions;
        }
        Ok(owned) if observed.is_deleting() => delete(observed, &owned, &mut decision),
        Ok(mut owned) => {
            let machines = std::mem::take(&mut owned.machines);
            act(observed, &owned, machines, &mut decision);
        }
    }
    decision
}

/// What is told of a MachineDeployment whose Cluster is not there. Nothing else is done about it.
pub fn without_cluster(deployment: &MachineDeployment, now: Timestamp) -> Vec<Effect> {
    report::without_cluster(deployment, now)
}

/// Nobody knows what there is: that is all that can be told.
fn give_up(observed: &Observed<'_>, problem: Problem, decision: &mut Decision) {
    decision.fail(problem);
    report::unknown(observed, decision);
}

/// Its rollouts are over. First the MachineSets go, or are set free, then the MachineDeployment.
fn delete(observed: &Observed<'_>, owned: &Owned<'_>, decision: &mut Decision) {
    let leaves_orphans = owned.has_set_free || leaves_orphans(&observed.deployment.metadata);
    decision.plan.effects = close(observed.deployment, observed.rollouts.unwrap_or_default(), observed.now);
    decision.plan.effects.extend(match leaves_orphans {
        true => set_free(observed.deployment, &owned.machine_sets),
        false => delete_all(&owned.machine_sets),
    });
    if !owned.machine_sets.is_empty() {
        let end = if leaves_orphans { "be set free" } else { "go" };
        let what = format!("waiting for {} MachineSets to {end}", owned.machine_sets.len());
        decision.plan.waiting_on.push(WaitingOn::Other { what });
    }
    report::counted(&Pass::new(observed, owned), decision);
    // The finalizer is for the version that was read, so it goes in a round without a report.
    if owned.machine_sets.is_empty() && decision.reports.is_empty() {
        decision.plan.effects.extend(remove_finalizer(observed.deployment, finalizers::MACHINE_DEPLOYMENT));
    }
}

/// One line per step, in their order.
fn act<'a>(observed: &Observed<'a>, owned: &Owned<'a>, machines: Vec<MachineView<'a>>, decision: &mut Decision) {
    if joins_cluster(observed, decision) {
        return;
    }
    decision.plan.effects.extend(owned.labels.iter().cloned());
    templates::own(observed, decision);
    let pass = Pass::new(observed, owned);
    match Wishes::of(observed) {
        Ok(wishes) => roll_out(&pass, &wishes, machines, decision),
        Err(problem) => {
            decision.plan.waiting_on.push(WaitingOn::InvalidSpec { what: problem.words() });
            decision.problems.push(problem);
            report::rollout(&pass, decision);
        }
    }
}

fn roll_out(pass: &Pass<'_>, wishes: &Wishes, machines: Vec<MachineView<'_>>, decision: &mut Decision) {
    if let Err(why) = &wishes.policy {
        let problem = Problem::Policy { why: why.clone() };
        decision.plan.waiting_on.push(WaitingOn::InvalidSpec { what: problem.words() });
        decision.problems.push(problem);
    }
    let after = rollout_after(pass.observed).map(|after| after.duration_since(pass.observed.now));
    if let Some(delay) = after.and_then(|delay| Duration::try_from(delay).ok()) {
        decision.requeue(delay);
    }
    let judged = coverage::of_old(pass, wishes, decision);
    let (mut coverages, decided): (Vec<_>, Vec<_>) = judged.into_iter().map(|it| (it.coverage, it.record)).unzip();
    refused::judge(pass, wishes, &machines, &mut coverages, decision);
    if !decision.ask.is_empty() {
        decision.plan = Plan::default();
        return;
    }
    let verdict = record::verdict(pass, &coverages);
    let plan = super::plan(&views::observed(pass, wishes, machines, coverages));
    decision.plan.waiting_on.extend(plan.waiting_on.iter().cloned());
    templates::wait(pass, wishes, decision);
    let is_complete = report::rollout(pass, decision);
    writes::decide(pass, wishes, &plan, &Records { verdict, decided }, is_complete, decision);
}

/// A MachineDeployment belongs to its Cluster before it does anything. Tells whether that is to be written first: it is
/// for the version that was read, as reports are.
fn joins_cluster(observed: &Observed<'_>, decision: &mut Decision) -> bool {
    match join_cluster(observed.deployment, observed.cluster) {
        Ok(effects) => decision.plan.effects.extend(effects),
        Err(problem) => decision.problems.push(problem.into()),
    }
    !decision.plan.effects.is_empty()
}

impl Decision {
    /// The pass ends here, and people are told why.
    fn fail(&mut self, problem: Problem) {
        self.plan.waiting_on.push(WaitingOn::Other { what: problem.words() });
        self.problems.push(problem);
    }

    fn requeue(&mut self, delay: Duration) {
        self.plan.requeue(delay);
    }
}
