//! Decides the next step of a MachineDeployment: how many machines each of its MachineSets has, and how they change hands.
//!
//! [`decide`](fn@decide) is the whole of it: from objects as they were read to what to write, to ask and to tell. At its
//! heart, [`plan`](fn@plan) looks at counters, owners and marks only, and says what every MachineSet is to be. With the
//! policy `Prefer` and without keep-originals the steps and their arithmetic are upstream's; where refit goes its own
//! way, the module says so.

mod acknowledge;
mod deadlock;
pub mod decide;
mod in_place;
mod keep_originals;
pub mod machine_sets;
mod nonsense;
mod on_delete;
pub mod ownership;
mod paused;
mod plan;
mod revision;
mod rollout;
mod scale_down;
mod scale_up;
mod selection;
mod standstill;
pub mod status;
mod surplus;
mod template;
#[cfg(test)]
mod tests;
mod view;
mod waiting;

pub use decide::decide;
pub use plan::{MachineSetPlan, Plan};
pub use revision::{Revision, RevisionError, next_revision};
pub use selection::{Candidate, Discarded, Selection, select};
pub use template::{TemplateDifference, compare_templates};
pub use view::{Counters, Coverage, DeploymentView, MachineSetView, MachineView, Observed, OldMachineSet, Strategy};

use refit_api::policy::InPlacePolicy;

use keep_originals::scaffold;
use rollout::{Rollout, Set};

/// Decides one pass.
///
/// # Guarantees
/// - Every MachineSet of `observed` is in the plan once.
/// - A machine that has been moved is counted by exactly one MachineSet, whatever the strategy, the policy or the pause.
/// - A negative number of replicas changes nothing.
/// - Where machines that were there first are to stay, no order is taken back before all MachineSets stand still.
/// - Under `Require` no MachineSet gets fewer machines than the user has asked for in total.
/// - Where machines that were there first are to stay, no MachineSet is told to delete one that does not carry the mark of
///   scaffolding, save as many as the user has taken back, or as have to be replaced.
pub fn plan(observed: &Observed<'_>) -> Plan {
    let deployment = &observed.deployment;
    if deployment.replicas < 0 {
        return nonsense::hold(observed);
    }
    let mut plan = decided(observed);
    if deployment.keeps_originals() {
        plan = standstill::guard(observed, surplus::keep(observed, plan));
    }
    surplus::permit(observed, plan)
}

fn decided(observed: &Observed<'_>) -> Plan {
    let deployment = &observed.deployment;
    let Some(new) = &observed.new else {
        return paused::plan_without_new(observed);
    };
    let mut rollout = Rollout::new(observed, new);
    match (deployment.paused, deployment.strategy) {
        (true, _) => paused::plan(&mut rollout),
        (false, Strategy::OnDelete) => on_delete::plan(&mut rollout),
        (false, Strategy::RollingUpdate(_) | Strategy::WithFallback { .. }) => roll(&mut rollout),
    }
    rollout.into_plan()
}

/// A rolling update, in the sequence that the policy asks for.
fn roll(rollout: &mut Rollout<'_>) {
    match (rollout.deployment.in_place, rollout.deployment.keep_originals) {
        (InPlacePolicy::Prefer, false) => in_upstream_sequence(rollout),
        (InPlacePolicy::Prefer, true) | (InPlacePolicy::Require, _) => keep_originals::plan(rollout),
        (InPlacePolicy::Never, _) => replace(rollout),
    }
    in_place::in_batches(rollout);
}

/// Upstream's steps A to E.
fn in_upstream_sequence(rollout: &mut Rollout<'_>) {
    acknowledge::by_new(rollout);
    rollout.restore_frozen(rollout.wanted());
    rollout.release_refused();
    rollout.restore_refused();
    scale_up::new_machine_set(rollout);
    if !rollout.is_stopped() || rollout.is_too_large() {
        scale_down::old_machine_sets(rollout);
        in_place::intent(rollout);
        deadlock::break_it(rollout, |set| !set.frozen);
    }
    acknowledge::keep_receiving(rollout);
    scaffold::mark_surge(rollout);
}

/// A rollout that updates nothing in place. What was moved before is still acknowledged.
fn replace(rollout: &mut Rollout<'_>) {
    acknowledge::everywhere(rollout);
    replace_old(rollout);
    acknowledge::close(rollout);
    scaffold::mark_surge(rollout);
}

/// Upstream's steps B, C and E: old machines go as new ones come.
fn replace_old(rollout: &mut Rollout<'_>) {
    scale_up::new_machine_set(rollout);
    if rollout.is_stopped() && !rollout.is_too_large() {
        return;
    }
    scale_down::old_machine_sets(rollout);
    let is_surplus = rollout.sum(Set::target) > rollout.wanted();
    deadlock::break_unless_updating(rollout, |set| !set.frozen || is_surplus);
}
