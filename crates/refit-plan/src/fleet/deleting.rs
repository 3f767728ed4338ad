//! Machines that take too long to go.

use jiff::Timestamp;
use refit_api::cluster::Machine;
use refit_api::conditions::{self, machine_set::stale_machines};
use refit_api::vocabulary::{condition_types as types, reasons};

const STALE_AFTER_SECONDS: i64 = 15 * 60;
const DRAIN_IS_SLOW_AFTER_SECONDS: i64 = 5 * 60;

/// What a message of the drain contains, and the cause that it stands for, in the order in which causes are told.
const CAUSES: [(&str, &str); 4] = [
    ("cannot evict pod as it would violate the pod's disruption budget.", "PodDisruptionBudgets"),
    ("deletionTimestamp set, but still not removed from the Node", "Pods not terminating"),
    ("failed to evict Pod", "Pod eviction errors"),
    ("waiting for completion", "Pods not completed yet"),
];

/// The machines that take too long to go and what likely holds them, as a part of a message.
pub fn stale<'a>(machines: impl IntoIterator<Item = &'a Machine>, now: Timestamp) -> Option<String> {
    let is_stale = |machine: &&Machine| {
        let since = machine.metadata.deletion_timestamp.as_ref();
        since.is_some_and(|since| is_past(since.0, STALE_AFTER_SECONDS, now))
    };
    let stale: Vec<&Machine> = machines.into_iter().filter(is_stale).collect();
    let messages: Vec<&str> = stale.iter().filter_map(|machine| slow_drain(machine, now)).collect();
    let applies = |(part, _): &&(&str, &str)| messages.iter().any(|message| message.contains(part));
    let causes: Vec<&str> = CAUSES.iter().filter(applies).map(|(_, cause)| *cause).collect();
    let names: Vec<&str> = stale.iter().map(|machine| super::name(machine)).collect();
    stale_machines(&names, &causes)
}

/// What the drain says, if it is what the machine waits for and takes long.
fn slow_drain(machine: &Machine, now: Timestamp) -> Option<&str> {
    let deleting = conditions::get(&machine.status.conditions, types::DELETING)?;
    let since = machine.status.deletion.as_ref()?.node_drain_start_time.as_ref()?;
    let is_draining = deleting.status == "True" && deleting.reason == reasons::DRAINING_NODE;
    (is_draining && is_past(since.0, DRAIN_IS_SLOW_AFTER_SECONDS, now)).then_some(deleting.message.as_str())
}

fn is_past(since: Timestamp, seconds: i64, now: Timestamp) -> bool {
    now.as_second().saturating_sub(since.as_second()) > seconds
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::testing::{at, condition, machine};

    fn deleting(name: &str, since: i64, message: &str, drain_since: i64) -> Machine {
        let mut machine = machine(name);
        machine.metadata.deletion_timestamp = Some(Time(at(since)));
        let mut draining = condition(types::DELETING, "True");
        draining.reason = reasons::DRAINING_NODE.to_owned();
        draining.message = message.to_owned();
        machine.status.conditions.push(draining);
        machine.status.deletion.get_or_insert_default().node_drain_start_time = Some(Time(at(drain_since)));
        machine
    }

    #[test]
    fn machines_that_go_for_more_than_15_minutes_are_named_with_what_holds_them() {
        let now = at(10_000);
        let machines = [
            deleting("b", 9_000, "x failed to evict Pod y", 9_000),
            deleting("a", 9_000, "cannot evict pod as it would violate the pod's disruption budget.", 9_000),
            deleting("young", 9_100, "waiting for completion", 9_000),
            deleting("quick", 9_000, "waiting for completion", 9_700),
            machine("staying"),
        ];
        let expected = "Machines a, b, quick are in deletion since more than 15m, \
                        delay likely due to PodDisruptionBudgets, Pod eviction errors";
        assert_eq!(stale(&machines, now).as_deref(), Some(expected));
        assert_eq!(stale(&machines, at(9_100)), None);
    }
}
