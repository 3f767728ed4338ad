//! Machines that health checks complain about.

use refit_api::cluster::Machine;
use refit_api::conditions::{self, Source};
use refit_api::vocabulary::condition_types as types;

/// Whether a health check failed. Not knowing is not failing.
pub fn is_unhealthy(machine: &Machine) -> bool {
    conditions::is_false(&machine.status.conditions, types::HEALTH_CHECK_SUCCEEDED)
}

/// Whether a health check failed and its owner is asked to replace it.
pub fn is_to_be_remediated(machine: &Machine) -> bool {
    is_unhealthy(machine) && conditions::is_false(&machine.status.conditions, types::OWNER_REMEDIATED)
}

/// The machines to be replaced, with their `OwnerRemediated`, and the names of all that are unhealthy.
pub fn remediating<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> (Vec<Source<'a>>, Vec<&'a str>) {
    let unhealthy: Vec<&Machine> = machines.into_iter().filter(|machine| is_unhealthy(machine)).collect();
    let replaced = unhealthy.iter().filter(|machine| is_to_be_remediated(machine));
    let sources = replaced.map(|machine| super::source(machine, types::OWNER_REMEDIATED)).collect();
    (sources, unhealthy.iter().map(|machine| super::name(machine)).collect())
}
