//! Conditions of MachineDeployments.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::common::{self, DELETION_COMPLETED};
use super::replicas::{deleting_machines, missing_kinds, scaling, scaling_up_with};
use super::{NewCondition, Status, replicas};
use crate::vocabulary::{condition_types as types, reasons};

pub use super::replicas::{
    machines_ready, machines_up_to_date, not_rolling_out, not_scaling_down, not_scaling_up, remediating, rolling_out,
    scaling_down, stale_machines, waiting_for_replicas,
};
pub use super::{internal_error, not_deleting, not_paused, paused};

/// Enough Machines are available.
pub fn available() -> NewCondition {
    NewCondition::new(types::AVAILABLE, Status::True, reasons::AVAILABLE)
}

/// Too few Machines are available. `budget` is `maxUnavailable` and the replicas, where the strategy has such a thing.
pub fn not_available(available: i32, required: i32, budget: Option<(&IntOrString, i32)>) -> NewCondition {
    let budget = budget.map(|(max_unavailable, replicas)| {
        let max_unavailable = match max_unavailable {
            IntOrString::Int(number) => number.to_string(),
            IntOrString::String(text) => text.clone(),
        };
        format!(" (spec.strategy.rollout.maxUnavailable is {max_unavailable}, spec.replicas is {replicas})")
    });
    let budget = budget.unwrap_or_default();
    not_available_because(format!("{available} available replicas, at least {required} required{budget}"))
}

/// Too few Machines are available, as they are being deleted.
pub fn not_available_while_deleting() -> NewCondition {
    not_available_because("Deletion in progress".to_owned())
}

/// Nobody has counted the available Machines yet.
pub fn waiting_for_available_replicas() -> NewCondition {
    NewCondition::new(types::AVAILABLE, Status::Unknown, reasons::WAITING_FOR_AVAILABLE_REPLICAS_SET)
        .with_message("Waiting for status.availableReplicas set")
}

/// There are too few Machines. `missing` are the kinds of templates that are not there.
pub fn scaling_up(current: usize, desired: usize, missing: &[&str]) -> NewCondition {
    let blocked = missing_kinds(missing).map(|missing| format!(" is blocked because {missing}")).unwrap_or_default();
    scaling_up_with(format!("{}{blocked}", scaling("up", current, desired)))
}

/// The Machines that are unhealthy, if any, are not replaced for it.
pub fn not_remediating(unhealthy: &[&str]) -> NewCondition {
    replicas::not_remediating(unhealthy, Some("MachineDeployment/MachineSet"))
}

/// It waits for its Machines, then for its MachineSets, to go. `stale` names the Machines that take too long.
pub fn deleting(machines: usize, machine_sets: usize, stale: Option<&str>) -> NewCondition {
    let stale = stale.map(|stale| format!("\n* {stale}")).unwrap_or_default();
    let message = match (machines, machine_sets) {
        (0, 0) => DELETION_COMPLETED.to_owned(),
        (0, machine_sets) => format!("Deleting {machine_sets} MachineSets"),
        (machines, _) => format!("{}{stale}", deleting_machines(machines)),
    };
    common::deleting(reasons::DELETING, message)
}

fn not_available_because(message: String) -> NewCondition {
    NewCondition::new(types::AVAILABLE, Status::False, reasons::NOT_AVAILABLE).with_message(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing::check;

    #[test]
    fn conditions_of_machine_deployments_read_as_upstreams() {
        check(&[
            (available(), "Available=True Available"),
            (not_available(1, 3, None), "Available=False NotAvailable: 1 available replicas, at least 3 required"),
            (
                not_available(1, 2, Some((&IntOrString::String("25%".to_owned()), 3))),
                "Available=False NotAvailable: 1 available replicas, at least 2 required \
                 (spec.strategy.rollout.maxUnavailable is 25%, spec.replicas is 3)",
            ),
            (not_available_while_deleting(), "Available=False NotAvailable: Deletion in progress"),
            (
                waiting_for_available_replicas(),
                "Available=Unknown WaitingForAvailableReplicasSet: Waiting for status.availableReplicas set",
            ),
            (scaling_up(1, 3, &[]), "ScalingUp=True ScalingUp: Scaling up from 1 to 3 replicas"),
            (
                scaling_up(1, 3, &["DevMachineTemplate"]),
                "ScalingUp=True ScalingUp: Scaling up from 1 to 3 replicas is blocked because \
                 DevMachineTemplate does not exist",
            ),
            (
                not_remediating(&["a"]),
                "Remediating=False NotRemediating: Machine a is not healthy \
                 (not to be remediated by MachineDeployment/MachineSet)",
            ),
            (deleting(3, 1, None), "Deleting=True Deleting: Deleting 3 Machines"),
            (deleting(0, 2, None), "Deleting=True Deleting: Deleting 2 MachineSets"),
            (deleting(0, 0, None), "Deleting=True Deleting: Deletion completed"),
        ]);
    }
}
