//! Conditions of MachineSets.

use super::common::{self, DELETION_COMPLETED, bullets};
use super::replicas::{deleting_machines, missing_kinds, scaling, scaling_up_with};
use super::{NewCondition, replicas};
use crate::vocabulary::reasons;

pub use super::replicas::{
    machines_ready, machines_up_to_date, not_scaling_down, not_scaling_up, remediating, scaling_down, stale_machines,
    waiting_for_replicas,
};
pub use super::{internal_error, not_deleting, not_paused, paused};

/// There are too few Machines. `blockers` are the preflight checks that failed, `missing` the kinds of templates that
/// are not there.
pub fn scaling_up(current: usize, desired: usize, blockers: &[&str], missing: &[&str]) -> NewCondition {
    let mut message = scaling("up", current, desired);
    let missing = missing_kinds(missing);
    let blockers: Vec<&str> = blockers.iter().copied().chain(missing.as_deref()).collect();
    if !blockers.is_empty() {
        message.push_str(&format!(" is blocked because:\n{}", bullets(&blockers)));
    }
    scaling_up_with(message)
}

/// The Machines that are unhealthy, if any, are not replaced for it.
pub fn not_remediating(unhealthy: &[&str]) -> NewCondition {
    replicas::not_remediating(unhealthy, Some("MachineSet"))
}

/// It waits for its Machines to go. `stale` names those that take too long.
pub fn deleting(machines: usize, stale: Option<&str>) -> NewCondition {
    let stale = stale.map(|stale| format!("\n* {stale}")).unwrap_or_default();
    match machines {
        0 => common::deleting(reasons::DELETING, DELETION_COMPLETED),
        machines => common::deleting(reasons::DELETING, format!("{}{stale}", deleting_machines(machines))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing::check;

    #[test]
    fn conditions_of_machine_sets_read_as_upstreams() {
        check(&[
            (scaling_up(1, 3, &[], &[]), "ScalingUp=True ScalingUp: Scaling up from 1 to 3 replicas"),
            (
                scaling_up(1, 3, &["control plane is upgrading"], &["DevMachineTemplate"]),
                "ScalingUp=True ScalingUp: Scaling up from 1 to 3 replicas is blocked because:\n\
                 * control plane is upgrading\n* DevMachineTemplate does not exist",
            ),
            (
                not_remediating(&["a"]),
                "Remediating=False NotRemediating: Machine a is not healthy (not to be remediated by MachineSet)",
            ),
            (deleting(1, None), "Deleting=True Deleting: Deleting 1 Machine"),
            (
                deleting(2, stale_machines(&["a"], &[]).as_deref()),
                "Deleting=True Deleting: Deleting 2 Machines\n* Machine a is in deletion since more than 15m",
            ),
            (deleting(0, None), "Deleting=True Deleting: Deletion completed"),
        ]);
    }
}
