//! What all owners of Machines have in common: MachineSets, MachineDeployments and control planes.

use std::collections::BTreeSet;

use super::common::short_list;
use super::{Aggregate, NewCondition, Reasons, Source, Status};
use crate::cluster::ConditionPolarity;
use crate::vocabulary::{condition_types as types, reasons};

/// Reasons of conditions made from `Ready` of Machines.
pub(super) const READY: Reasons =
    Reasons { issue: reasons::NOT_READY, unknown: reasons::READY_UNKNOWN, info: reasons::READY };
/// Reasons of conditions made from `UpToDate` of Machines.
pub(super) const UP_TO_DATE: Reasons =
    Reasons { issue: reasons::NOT_UP_TO_DATE, unknown: reasons::UP_TO_DATE_UNKNOWN, info: reasons::UP_TO_DATE };

/// How many Machines a message names.
const MAX_NAMES: usize = 3;

/// From `Ready` of the Machines.
pub fn machines_ready(machines: &[Source<'_>]) -> NewCondition {
    of_machines(types::MACHINES_READY, types::READY, READY, machines)
}

/// From `UpToDate` of the Machines. Very young ones without the condition should be left out by the caller.
pub fn machines_up_to_date(machines: &[Source<'_>]) -> NewCondition {
    of_machines(types::MACHINES_UP_TO_DATE, types::UP_TO_DATE, UP_TO_DATE, machines)
}

/// Some Machines are not as they should be. `reasons` are the lines of their `UpToDate` messages.
pub fn rolling_out<'a>(machines: usize, reasons: impl IntoIterator<Item = &'a str>) -> NewCondition {
    // A new version is what people look for.
    let lines: BTreeSet<(bool, &str)> =
        reasons.into_iter().map(|line| (!line.starts_with("* Version"), line)).collect();
    let head = format!("Rolling out {machines} not up-to-date replicas");
    let message: Vec<&str> = std::iter::once(head.as_str()).chain(lines.into_iter().map(|(_, line)| line)).collect();
    NewCondition::new(types::ROLLING_OUT, Status::True, reasons::ROLLING_OUT).with_message(message.join("\n"))
}

/// All Machines are as they should be.
pub fn not_rolling_out() -> NewCondition {
    NewCondition::new(types::ROLLING_OUT, Status::False, reasons::NOT_ROLLING_OUT)
}

/// There are too many Machines. `stale` names those that take too long to go.
pub fn scaling_down(current: usize, desired: usize, stale: Option<&str>) -> NewCondition {
    let mut message = scaling("down", current, desired);
    if let Some(stale) = stale {
        message.push_str(&format!("\n* {stale}"));
    }
    scaling_down_with(message)
}

/// There are not too many Machines.
pub fn not_scaling_down() -> NewCondition {
    NewCondition::new(types::SCALING_DOWN, Status::False, reasons::NOT_SCALING_DOWN)
}

/// The condition of this type cannot be told before `spec.replicas` is set.
pub fn waiting_for_replicas(type_: &'static str) -> NewCondition {
    NewCondition::new(type_, Status::Unknown, reasons::WAITING_FOR_REPLICAS_SET)
        .with_message("Waiting for spec.replicas set")
}

/// Unhealthy Machines are being replaced. `machines` are those, with their `OwnerRemediated`.
pub fn remediating(machines: &[Source<'_>]) -> NewCondition {
    let aggregate = Aggregate {
        target: types::REMEDIATING,
        source: types::OWNER_REMEDIATED,
        polarity: ConditionPolarity::Positive,
        reasons: Reasons::GENERIC,
    };
    let message = aggregate.of(machines).map(|condition| condition.message).unwrap_or_default();
    NewCondition::new(types::REMEDIATING, Status::True, reasons::REMEDIATING).with_message(message)
}

/// The Machines that are unhealthy, if any, are not replaced for it by `owner`.
pub(super) fn not_remediating(unhealthy: &[&str], owner: Option<&str>) -> NewCondition {
    let condition = NewCondition::new(types::REMEDIATING, Status::False, reasons::NOT_REMEDIATING);
    let by = owner.map(|owner| format!(" by {owner}")).unwrap_or_default();
    match unhealthy {
        [] => condition,
        machines => condition.with_message(format!("{} not healthy (not to be remediated{by})", are(machines))),
    }
}

/// How many Machines are still there, as the message of a deletion.
pub(super) fn deleting_machines(machines: usize) -> String {
    format!("Deleting {machines} Machine{}", if machines == 1 { "" } else { "s" })
}

/// The Machines that take too long to go, as a part of a message. `delays` are the likely causes.
pub fn stale_machines(machines: &[&str], delays: &[&str]) -> Option<String> {
    const CAUSES_BEGIN: &str = ", delay likely due to ";
    let causes = if delays.is_empty() { String::new() } else { format!("{CAUSES_BEGIN}{}", delays.join(", ")) };
    (!machines.is_empty()).then(|| format!("{} in deletion since more than 15m{causes}", are(machines)))
}

/// The kinds that are not there, as a part of a message.
pub(super) fn missing_kinds(kinds: &[&str]) -> Option<String> {
    match kinds {
        [] => None,
        [kind] => Some(format!("{kind} does not exist")),
        kinds => Some(format!("{} do not exist", kinds.join(" and "))),
    }
}

pub(super) fn scaling(direction: &str, current: usize, desired: usize) -> String {
    format!("Scaling {direction} from {current} to {desired} replicas")
}

pub(super) fn scaling_up_with(message: String) -> NewCondition {
    NewCondition::new(types::SCALING_UP, Status::True, reasons::SCALING_UP).with_message(message)
}

pub(super) fn scaling_down_with(message: String) -> NewCondition {
    NewCondition::new(types::SCALING_DOWN, Status::True, reasons::SCALING_DOWN).with_message(message)
}

/// There are enough Machines. `missing` are the kinds of templates that are not there.
pub fn not_scaling_up(missing: &[&str]) -> NewCondition {
    let condition = NewCondition::new(types::SCALING_UP, Status::False, reasons::NOT_SCALING_UP);
    match missing_kinds(missing) {
        None => condition,
        Some(missing) => condition.with_message(format!("Scaling up would be blocked because {missing}")),
    }
}

/// From a condition of Machines, of which there may be none.
pub(super) fn of_machines(
    target: &'static str,
    source: &'static str,
    reasons: Reasons,
    machines: &[Source<'_>],
) -> NewCondition {
    let aggregate = Aggregate { target, source, polarity: ConditionPolarity::Positive, reasons };
    let no_replicas = || NewCondition::new(target, Status::True, reasons::NO_REPLICAS);
    aggregate.of(machines).unwrap_or_else(no_replicas)
}

/// The subject and the verb of a sentence about Machines.
fn are(machines: &[&str]) -> String {
    let mut names = machines.to_vec();
    names.sort_unstable();
    let (subject, verb) = if names.len() == 1 { ("Machine", "is") } else { ("Machines", "are") };
    format!("{subject} {} {verb}", short_list(&names, MAX_NAMES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing::check;

    #[test]
    fn conditions_of_owners_of_machines_read_as_upstreams() {
        let stale = stale_machines(&["d", "b", "a", "c"], &["PodDisruptionBudgets", "Pod eviction errors"]);
        check(&[
            (machines_ready(&[]), "MachinesReady=True NoReplicas"),
            (machines_up_to_date(&[]), "MachinesUpToDate=True NoReplicas"),
            (not_rolling_out(), "RollingOut=False NotRollingOut"),
            (rolling_out(2, []), "RollingOut=True RollingOut: Rolling out 2 not up-to-date replicas"),
            (
                rolling_out(
                    2,
                    ["* DevMachine is not up-to-date", "* Version v1, v2 required", "* DevMachine is not up-to-date"],
                ),
                "RollingOut=True RollingOut: Rolling out 2 not up-to-date replicas\n* Version v1, v2 required\n\
                 * DevMachine is not up-to-date",
            ),
            (not_scaling_up(&[]), "ScalingUp=False NotScalingUp"),
            (
                not_scaling_up(&["KubeadmConfigTemplate", "DevMachineTemplate"]),
                "ScalingUp=False NotScalingUp: Scaling up would be blocked because \
                 KubeadmConfigTemplate and DevMachineTemplate do not exist",
            ),
            (not_scaling_down(), "ScalingDown=False NotScalingDown"),
            (scaling_down(5, 3, None), "ScalingDown=True ScalingDown: Scaling down from 5 to 3 replicas"),
            (
                scaling_down(5, 3, stale.as_deref()),
                "ScalingDown=True ScalingDown: Scaling down from 5 to 3 replicas\n\
                 * Machines a, b, c, ... (1 more) are in deletion since more than 15m, \
                 delay likely due to PodDisruptionBudgets, Pod eviction errors",
            ),
            (
                waiting_for_replicas(types::SCALING_UP),
                "ScalingUp=Unknown WaitingForReplicasSet: Waiting for spec.replicas set",
            ),
            (not_remediating(&[], None), "Remediating=False NotRemediating"),
            (
                not_remediating(&["b", "a"], None),
                "Remediating=False NotRemediating: Machines a, b are not healthy (not to be remediated)",
            ),
            (
                not_remediating(&["a"], Some("MachineSet")),
                "Remediating=False NotRemediating: Machine a is not healthy (not to be remediated by MachineSet)",
            ),
        ]);
    }

    #[test]
    fn conditions_made_from_machines_have_the_words_of_their_type() {
        let metadata = kube::core::ObjectMeta { name: Some("a".to_owned()), ..Default::default() };
        let none = None::<&NewCondition>;
        let machines = [Source::new("Machine", &metadata, none)];
        let deferred = crate::conditions::machine::health::remediation_deferred("later");
        let remediated = [Source::new("Machine", &metadata, Some(&deferred))];
        check(&[
            (
                machines_ready(&machines),
                "MachinesReady=Unknown ReadyUnknown: * Machine a: Condition Ready not yet reported",
            ),
            (
                machines_up_to_date(&machines),
                "MachinesUpToDate=Unknown UpToDateUnknown: * Machine a: Condition UpToDate not yet reported",
            ),
            (remediating(&remediated), "Remediating=True Remediating: * Machine a: later"),
        ]);
    }
}
