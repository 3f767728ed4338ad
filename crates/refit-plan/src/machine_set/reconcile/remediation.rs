//! Unhealthy machines: who is exempt, and what is done about the others.

use refit_api::cluster::Machine;
use refit_api::vocabulary::annotations::REMEDIATE_MACHINE;
use refit_api::vocabulary::refit::annotations::UPDATE_FAILED;

use super::draft::Draft;
use crate::fleet;
use crate::machine::{UpdateLimits, update_began, update_limits};
use crate::machine_set::preflight::{Checks, Preflight, preflight};
use crate::machine_set::remediation::{Owner, Remediation, remediate};

/// Replaces machines that health checks have given up on, and remembers who is exempt.
pub(super) fn decide(draft: &mut Draft<'_>, owner: &Owner) {
    draft.exempt = exempt(draft);
    let machines = draft.machines();
    let references: Vec<&Machine> = machines.iter().map(|found| &*found.machine).collect();
    let given = Remediation {
        machines: &references,
        owner,
        preflight: &preflight_of(draft),
        updating: &draft.exempt,
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

/// Machines under update that have time left, have not failed, and that no user wants replaced.
fn exempt(draft: &Draft<'_>) -> std::collections::BTreeSet<String> {
    let observed = draft.observed;
    let deployment = observed.deployment.found(String::new).ok();
    // Limits that make no sense are none: giving up is what they would have to allow.
    let limits = update_limits(&observed.cluster, deployment, None).unwrap_or_default();
    let is_exempt = |machine: &&Machine| {
        fleet::is_updating(machine)
            && !fleet::has_annotation(machine, UPDATE_FAILED)
            && !fleet::has_annotation(machine, REMEDIATE_MACHINE)
            && has_time_left(machine, &limits, observed.now)
    };
    let machines = draft.machines();
    let exempt = machines.iter().map(|found| &*found.machine).filter(is_exempt);
    exempt.map(|machine| fleet::name(machine).to_owned()).collect()
}

fn has_time_left(machine: &Machine, limits: &UpdateLimits, now: jiff::Timestamp) -> bool {
    limits.deadline(update_began(machine)).is_none_or(|deadline| now < deadline)
}
