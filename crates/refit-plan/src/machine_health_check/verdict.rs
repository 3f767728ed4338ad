//! How one Machine is doing.

use std::time::Duration;

use jiff::Timestamp;
use refit_api::conditions::NewCondition;
use refit_api::conditions::machine::health;
use refit_api::vocabulary::refit::annotations::UPDATE_FAILED;
use refit_api::vocabulary::refit::condition_types as refit_types;
use refit_api::vocabulary::{annotations, condition_types as types, labels};

use super::checks::{self, Findings};
use super::observed::{MachineSeen, Observed};
use crate::machine::{NodeSeen, is_updating, update_began};

/// How one Machine is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No check has anything against it.
    Healthy,
    /// A check failed. The condition says which.
    Unhealthy(NewCondition),
    /// It is not up yet, or on its way out, or something is bad but not for long enough. Nothing is said of it.
    Undecided { look_again: Option<Timestamp> },
    /// Something is bad, or will soon have been for too long, but it is being updated. Nothing is said of it, and it
    /// does not count against the others.
    Exempt { until: Option<Timestamp> },
}

impl Verdict {
    pub fn is_healthy(&self) -> bool {
        *self == Self::Healthy
    }

    pub fn is_unhealthy(&self) -> bool {
        matches!(self, Self::Unhealthy(_))
    }

    pub fn is_exempt(&self) -> bool {
        matches!(self, Self::Exempt { .. })
    }

    /// When the verdict may become another one by the mere passing of time.
    pub(super) fn look_again_in(&self, now: Timestamp) -> Option<Duration> {
        let at = match self {
            Self::Undecided { look_again } => *look_again,
            Self::Exempt { until } => *until,
            Self::Healthy | Self::Unhealthy(_) => None,
        };
        at.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default())
    }

    /// Judges a Machine.
    pub(super) fn of(observed: &Observed, seen: &MachineSeen) -> Self {
        if seen.has_annotation(annotations::REMEDIATE_MACHINE) {
            return Self::Unhealthy(health::marked_for_remediation());
        }
        let is_control_plane =
            seen.machine.metadata.labels.as_ref().is_some_and(|it| it.contains_key(labels::CONTROL_PLANE));
        if !checks::is_cluster_ready(observed, is_control_plane) {
            return without_complaint(seen);
        }
        let Exemption::Granted { until } = Exemption::of(observed, seen) else {
            return judged(observed, seen, |_| true, true);
        };
        match judged(observed, seen, is_about_the_update, false) {
            Self::Unhealthy(condition) => Self::Unhealthy(condition),
            about_update => match judged(observed, seen, |_| true, true) {
                Self::Healthy => Self::Healthy,
                Self::Unhealthy(_) | Self::Undecided { .. } | Self::Exempt { .. } => {
                    let look_again = about_update.look_again();
                    Self::Exempt { until: until.into_iter().chain(look_again).min() }
                }
            },
        }
    }

    fn look_again(&self) -> Option<Timestamp> {
        match self {
            Self::Undecided { look_again } => *look_again,
            Self::Healthy | Self::Unhealthy(_) | Self::Exempt { .. } => None,
        }
    }
}

/// Whether the user says with a check of this condition for how long an update may take.
fn is_about_the_update(type_: &str) -> bool {
    [types::UPDATING, refit_types::UPDATE_FAILED].contains(&type_)
}

/// The verdict of the checks on conditions of the Machine that are wanted, and of those on its Node.
fn judged(observed: &Observed, seen: &MachineSeen, is_wanted: fn(&str) -> bool, with_node: bool) -> Verdict {
    let machine = checks::machine(observed, seen, is_wanted);
    let (node, of_node) = if with_node { node_findings(observed, seen) } else { Default::default() };
    let Some(condition) = unhealthy(machine.problems, node.problems, of_node) else {
        let next = machine.next.into_iter().chain(node.next).min();
        return match next {
            Some(_) => Verdict::Undecided { look_again: next },
            None => without_complaint(seen),
        };
    };
    Verdict::Unhealthy(condition)
}

/// What is wrong with the Node, if anything is.
#[derive(Debug, Clone, Copy, Default)]
enum NodeProblem {
    #[default]
    Conditions,
    Late,
    Gone,
}

fn node_findings(observed: &Observed, seen: &MachineSeen) -> (Findings, NodeProblem) {
    match &seen.node {
        NodeSeen::Found(node) => (checks::node(observed, node), NodeProblem::Conditions),
        NodeSeen::Missing => {
            let name = seen.machine.status.node_ref.as_ref().map(|node| node.name.clone()).unwrap_or_default();
            (Findings { problems: vec![name], next: None }, NodeProblem::Gone)
        }
        NodeSeen::NotLookedFor | NodeSeen::NotConnected | NodeSeen::Unreadable { .. } => {
            (checks::startup(observed, seen), NodeProblem::Late)
        }
    }
}

/// The condition that lists all problems. What is wrong with the Machine itself gives the reason.
fn unhealthy(machine: Vec<String>, node: Vec<String>, of_node: NodeProblem) -> Option<NewCondition> {
    let first = node.first().cloned();
    let node_condition = first.map(|first| match of_node {
        NodeProblem::Conditions => health::unhealthy_node(&node),
        NodeProblem::Late => health::node_startup_timeout(&first),
        NodeProblem::Gone => health::node_deleted(&first),
    });
    if machine.is_empty() {
        return node_condition;
    }
    let node_problems: Vec<String> = match of_node {
        NodeProblem::Conditions => node,
        NodeProblem::Late => node.iter().map(|time| format!("Node failed to report startup in {time}")).collect(),
        NodeProblem::Gone => node.iter().map(|name| format!("Node {name} has been deleted")).collect(),
    };
    Some(health::unhealthy_machine(&[machine, node_problems].concat()))
}

/// Nothing is known against the Machine. It is healthy once it has its Node, unless it is going.
fn without_complaint(seen: &MachineSeen) -> Verdict {
    let is_deleting = seen.machine.metadata.deletion_timestamp.is_some();
    match &seen.node {
        NodeSeen::Found(_) if !is_deleting => Verdict::Healthy,
        NodeSeen::Found(_)
        | NodeSeen::Missing
        | NodeSeen::NotLookedFor
        | NodeSeen::NotConnected
        | NodeSeen::Unreadable { .. } => Verdict::Undecided { look_again: None },
    }
}

/// Whether a Machine is excused because it is being updated.
enum Exemption {
    No,
    /// Without an end where the update has no timeout.
    Granted {
        until: Option<Timestamp>,
    },
}

impl Exemption {
    fn of(observed: &Observed, seen: &MachineSeen) -> Self {
        let metadata = &seen.machine.metadata;
        let Some(own) = metadata.annotations.as_ref().filter(|own| is_updating(own)) else { return Self::No };
        if own.contains_key(UPDATE_FAILED) || metadata.deletion_timestamp.is_some() {
            return Self::No;
        }
        match seen.update_limits.deadline(update_began(&seen.machine)) {
            Some(deadline) if deadline <= observed.now => Self::No,
            until => Self::Granted { until },
        }
    }
}
