//! Unhealthy machines: who is spared, and what is done about the others.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use refit_api::cluster::{Machine, MachineDeploymentRolloutStrategyType};
use refit_api::conditions::machine::health;
use refit_api::conditions::{self, NewCondition};
use refit_api::policy::InPlacePolicy;
use refit_api::vocabulary::refit::condition_types::ROLLOUT_BLOCKED;

use super::draft::Draft;
use crate::fleet;
use crate::machine::{UpdateLimits, update_began, update_limits};
use crate::machine_set::preflight::{Checks, Preflight, preflight};
use crate::machine_set::remediation::{Asker, Decision as Table, Leaving, Owner, Remediation, State, remediate};
use crate::policy;

/// Replaces machines that health checks have given up on, and remembers who is spared.
pub(super) fn decide(draft: &mut Draft<'_>, owner: &Owner) {
    draft.spared = spared(draft, owner);
    if !owner.is_outgoing() {
        for name in unrecorded(draft) {
            draft.spared.insert(name.clone(), health::waiting_for_remediation());
            draft.to_record.insert(name);
            draft.requeue(Duration::ZERO);
        }
    }
    let machines = draft.machines();
    let references: Vec<&Machine> = machines.iter().map(|found| &*found.machine).collect();
    let given = Remediation {
        machines: &references,
        owner,
        preflight: &preflight_of(draft),
        spared: &draft.spared,
        now: draft.observed.now,
    };
    let plan = remediate(given);
    draft.task_for_each_target(plan.effects);
    plan.waiting_on.into_iter().for_each(|reason| draft.wait(reason));
    if let Some(delay) = plan.requeue_after {
        draft.requeue(delay);
    }
}

/// What must be so before machines are created.
pub(super) fn preflight_of(draft: &Draft<'_>) -> Preflight {
    let observed = draft.observed;
    let template = observed.templates.found(draft.set()).ok().and_then(|found| found.bootstrap);
    preflight(Checks {
        set: draft.set(),
        cluster: &observed.cluster,
        control_plane: observed.control_plane.as_ref(),
        bootstrap_template: template,
    })
}

/// Machines that somebody wants to be replaced and that are not, with what is said of them.
fn spared(draft: &Draft<'_>, owner: &Owner) -> BTreeMap<String, NewCondition> {
    let (policy, leaving) = (policy_of(draft), leaving(draft, owner));
    let machines = draft.machines();
    let wanted = machines.iter().map(|found| &*found.machine).filter(|machine| fleet::is_to_be_remediated(machine));
    let spared = wanted.filter_map(|machine| {
        let decision = Table::of(policy, state(draft, machine), leaving, Asker::of(machine));
        Some((fleet::name(machine).to_owned(), decision.words()?))
    });
    spared.collect()
}

fn state(draft: &Draft<'_>, machine: &Machine) -> State {
    let observed = draft.observed;
    let deployment = observed.deployment.found(String::new).ok();
    let limits = update_limits(&observed.cluster, deployment, None).unwrap_or(UpdateLimits::NONE);
    let has_time_left = || limits.deadline(update_began(machine)).is_none_or(|deadline| observed.now < deadline);
    match (fleet::is_updating(machine), fleet::has_update_failed(machine)) {
        (false, _) => State::Idle,
        (true, false) if has_time_left() => State::Updating,
        (true, _) => State::UpdateFailed,
    }
}

/// The policy of the MachineDeployment. Where nobody can read what is asked for, machines stay.
fn policy_of(draft: &Draft<'_>) -> InPlacePolicy {
    let Ok(deployment) = draft.observed.deployment.found(String::new) else { return InPlacePolicy::default() };
    policy::of_deployment(deployment, &draft.observed.cluster).map_or(InPlacePolicy::Require, |(in_place, _)| in_place)
}

/// Whether the rollout replaces the machines of this MachineSet. One that stands still, or moves them, does not: without
/// remediation nobody would repair them.
fn leaving(draft: &Draft<'_>, owner: &Owner) -> Leaving {
    let Ok(deployment) = draft.observed.deployment.found(String::new) else { return Leaving::No };
    let is_blocked = conditions::is_true(&deployment.status.conditions, ROLLOUT_BLOCKED);
    let strategy = deployment.spec.rollout.strategy.as_ref();
    let is_on_delete = strategy.is_some_and(|it| it.type_ == MachineDeploymentRolloutStrategyType::OnDelete);
    let stands_still = is_blocked || is_on_delete || deployment.spec.paused == Some(true);
    let moves = draft.handover.move_to.is_some();
    let is_leaving = owner.is_outgoing() && !stands_still && !moves && policy_of(draft) != InPlacePolicy::Require;
    if is_leaving { Leaving::Yes } else { Leaving::No }
}

/// Machines whose update failed and that are to be replaced now: the failure goes on record first.
fn unrecorded(draft: &Draft<'_>) -> BTreeSet<String> {
    let machines = draft.machines();
    let wanted = machines.iter().map(|found| &*found.machine).filter(|machine| {
        let is_spared = draft.spared.contains_key(fleet::name(machine));
        fleet::is_to_be_remediated(machine) && !fleet::is_deleting(machine) && !is_spared
    });
    let has_failed = |machine: &&Machine| {
        let is_too_long = Asker::of(machine) == Asker::CheckOfUpdate || state(draft, machine) == State::UpdateFailed;
        fleet::is_update_over(machine) || (fleet::is_updating(machine) && is_too_long)
    };
    let names = wanted.filter(has_failed).map(fleet::name);
    names.filter(|name| !draft.recorded.contains(name)).map(str::to_owned).collect()
}
