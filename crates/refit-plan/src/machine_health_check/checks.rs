//! The checks of a MachineHealthCheck on one Machine.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use refit_api::cluster::UnhealthyMachineCondition;
use refit_api::conditions::{Status, get, is_true};
use refit_api::vocabulary::condition_types as types;

use super::observed::{MachineSeen, Observed};
use crate::duration::go_duration;

/// A Machine is without a Node for so long at most, if the check does not say otherwise.
const DEFAULT_STARTUP_SECONDS: i32 = 600;
/// Timers have whole seconds: one more makes sure that the time is over.
const MARGIN: SignedDuration = SignedDuration::from_secs(1);

/// What a number of checks came to.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What is bad for too long.
    pub problems: Vec<String>,
    /// When what is bad now will have been so for too long.
    pub next: Option<Timestamp>,
}

impl Findings {
    fn add(&mut self, since: Timestamp, timeout_seconds: i32, now: Timestamp, problem: impl FnOnce(&str) -> String) {
        let timeout = SignedDuration::from_secs(timeout_seconds.into());
        let over = since.checked_add(timeout).unwrap_or(Timestamp::MAX);
        if over < now {
            self.problems.push(problem(&go_duration(timeout_seconds)));
        } else {
            self.look_again(over.checked_add(MARGIN).unwrap_or(over));
        }
    }

    pub fn look_again(&mut self, at: Timestamp) {
        self.next = Some(self.next.map_or(at, |earlier| earlier.min(at)));
    }
}

/// The checks on conditions of the Machine that pass `is_wanted`.
pub(super) fn machine(observed: &Observed, seen: &MachineSeen, is_wanted: fn(&str) -> bool) -> Findings {
    let mut findings = Findings::default();
    let checks = &observed.check.spec.checks.unhealthy_machine_conditions;
    for UnhealthyMachineCondition { type_, status, timeout_seconds } in checks.iter().filter(|it| is_wanted(&it.type_))
    {
        let Some(found) = get(&seen.machine.status.conditions, type_).filter(|found| found.status == status.as_str())
        else {
            continue;
        };
        findings.add(found.last_transition_time.0, *timeout_seconds, observed.now, |time| {
            bad_for_too_long(type_, "Machine", status.as_str(), &found.reason, time)
        });
    }
    findings
}

/// The checks on conditions of the Node.
pub(super) fn node(observed: &Observed, node: &Node) -> Findings {
    let mut findings = Findings::default();
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    for check in &observed.check.spec.checks.unhealthy_node_conditions {
        let Some(found) = conditions.iter().find(|found| found.type_ == check.type_ && found.status == check.status)
        else {
            continue;
        };
        let since = found.last_transition_time.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
        findings.add(since, check.timeout_seconds, observed.now, |time| {
            let reason = found.reason.as_deref().unwrap_or_default();
            bad_for_too_long(&check.type_, "Node", &check.status, reason, time)
        });
    }
    findings
}

/// Whether the Node is late. The problem is the time that it had.
pub(super) fn startup(observed: &Observed, seen: &MachineSeen) -> Findings {
    let mut findings = Findings::default();
    let timeout = observed.check.spec.checks.node_startup_timeout_seconds.unwrap_or(DEFAULT_STARTUP_SECONDS);
    if timeout != 0 {
        findings.add(startup_began(observed, seen), timeout, observed.now, str::to_owned);
    }
    findings
}

/// The last moment at which something that the Node needs became ready.
fn startup_began(observed: &Observed, seen: &MachineSeen) -> Timestamp {
    let cluster = &observed.cluster.status.conditions;
    let since = |conditions, type_| {
        get(conditions, type_).filter(|it| Status::of(it) == Status::True).map(|it| it.last_transition_time.0)
    };
    let created = seen.machine.metadata.creation_timestamp.as_ref().map(|time| time.0);
    [
        created,
        since(cluster, types::CONTROL_PLANE_INITIALIZED),
        since(cluster, types::INFRASTRUCTURE_READY),
        since(&seen.machine.status.conditions, types::INFRASTRUCTURE_READY),
    ]
    .into_iter()
    .flatten()
    .max()
    .unwrap_or(observed.now)
}

/// Whether the cluster is far enough for its Machines to be blamed for anything.
pub(super) fn is_cluster_ready(observed: &Observed, is_control_plane: bool) -> bool {
    let conditions = &observed.cluster.status.conditions;
    (is_control_plane || is_true(conditions, types::CONTROL_PLANE_INITIALIZED))
        && is_true(conditions, types::INFRASTRUCTURE_READY)
}

fn bad_for_too_long(type_: &str, of: &str, status: &str, reason: &str, time: &str) -> String {
    format!("Condition {type_} on {of} is reporting status {status} with reason {reason} for more than {time}")
}
