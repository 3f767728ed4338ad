//! What must be so before a machine is added, removed or updated.

use std::collections::BTreeMap;
use std::time::Duration;

use refit_api::conditions::{self, Status};
use refit_api::vocabulary::annotations::REMEDIATION_IN_PROGRESS;
use refit_api::vocabulary::condition_types::{CERTIFICATES_AVAILABLE, ETCD_MEMBER_HEALTHY};

use super::machine::health_conditions;
use super::observed::{EtcdMembers, Observed, ObservedMachine};
use super::quorum::{self, Change};

/// When to look again at what is expected to get better by itself.
pub(super) const RETRY: Duration = Duration::from_secs(15);
/// When to look again at a deletion.
pub(super) const DELETION_RETRY: Duration = Duration::from_secs(30);

/// What was looked at before anything is touched: computed once, asked often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Preflight {
    has_machines: bool,
    awaited_version: Option<String>,
    has_certificates: bool,
    deleting: Vec<String>,
    /// What is wrong with each machine that is not healthy.
    unhealthy: BTreeMap<String, Vec<Problem>>,
    /// What is wrong with adding a machine while one that was unhealthy is being replaced.
    replacement: Option<Vec<Problem>>,
    /// Why the members of etcd are not known, where they must be.
    etcd_unknown: Option<String>,
}

/// What is to be done to the machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation<'a> {
    /// A machine joins.
    Add,
    /// This machine goes. It may be unhealthy itself.
    Remove(&'a str),
    /// A machine is updated in place.
    Update,
}

/// A reason not to touch any machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocked {
    pub blockers: Vec<Blocker>,
    /// What is wrong, for people.
    pub problems: Vec<String>,
    /// When to look again.
    pub retry: Duration,
}

/// A sort of reason, in the words of the conditions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Blocker {
    TopologyVersion(String),
    DeletingMachine,
    Certificates,
    Components,
    Etcd,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Problem {
    blockers: Vec<Blocker>,
    words: String,
}

impl Blocker {
    pub fn words(&self) -> String {
        match self {
            Self::TopologyVersion(version) => format!("waiting for a version upgrade to {version} to be propagated"),
            Self::DeletingMachine => "waiting for a control plane Machine to complete deletion".to_owned(),
            Self::Certificates => "cluster certificates are missing or unknown".to_owned(),
            Self::Components => "waiting for control plane components to become healthy".to_owned(),
            Self::Etcd => "waiting for etcd cluster to become healthy".to_owned(),
        }
    }
}

impl Preflight {
    pub fn of(observed: &Observed) -> Self {
        let machines = observed.machines.values();
        let deleting =
            machines.clone().filter(|machine| machine.is_deleting()).map(|machine| machine.name().to_owned());
        let unhealthy = machines.filter_map(|machine| {
            let problems = problems_of(observed, machine);
            (!problems.is_empty()).then(|| (machine.name().to_owned(), problems))
        });
        let is_replacing = observed.annotation(REMEDIATION_IN_PROGRESS).is_some();
        Self {
            has_machines: !observed.machines.is_empty(),
            awaited_version: observed.awaited_topology_version().map(str::to_owned),
            has_certificates: conditions::is_true(&observed.control_plane.status.conditions, CERTIFICATES_AVAILABLE),
            deleting: deleting.collect(),
            unhealthy: unhealthy.collect(),
            replacement: is_replacing.then(|| problems_with_replacement(observed)),
            etcd_unknown: etcd_unknown(observed),
        }
    }

    /// Why the operation must not begin; nothing if it may.
    pub fn reason_not_to(&self, operation: Operation<'_>) -> Option<Blocked> {
        if !self.has_machines {
            return None;
        }
        self.transition(operation).or_else(|| self.health(operation))
    }

    /// The Machines that are not healthy.
    pub fn unhealthy(&self) -> Vec<String> {
        self.unhealthy.keys().cloned().collect()
    }

    /// Something is on the move, or lacking, whatever the health of the machines.
    fn transition(&self, operation: Operation<'_>) -> Option<Blocked> {
        let blocked = |blocker: Blocker, retry| {
            let problems = vec![blocker.words()];
            Some(Blocked { blockers: vec![blocker], problems, retry })
        };
        if let Some(version) = &self.awaited_version {
            return blocked(Blocker::TopologyVersion(version.clone()), RETRY);
        }
        if operation == Operation::Add && !self.has_certificates {
            return blocked(Blocker::Certificates, RETRY);
        }
        if self.deleting.is_empty() { None } else { blocked(Blocker::DeletingMachine, DELETION_RETRY) }
    }

    fn health(&self, operation: Operation<'_>) -> Option<Blocked> {
        let excluded = match operation {
            Operation::Remove(machine) => Some(machine),
            Operation::Add | Operation::Update => None,
        };
        let all = self.unhealthy.iter().filter(|(name, _)| Some(name.as_str()) != excluded);
        let mut problems: Vec<&Problem> = all.flat_map(|(_, problems)| problems).collect();
        if let (Operation::Add, Some(instead), false) = (operation, &self.replacement, problems.is_empty()) {
            problems = instead.iter().collect();
        }
        let mut blockers: Vec<Blocker> = problems.iter().flat_map(|problem| problem.blockers.clone()).collect();
        let mut words: Vec<String> = problems.iter().map(|problem| problem.words.clone()).collect();
        if let (false, Some(why), true) = (operation == Operation::Add, &self.etcd_unknown, words.is_empty()) {
            blockers.push(Blocker::Etcd);
            words.push(format!("etcd members are not known: {why}"));
        }
        blockers.sort();
        blockers.dedup();
        (!words.is_empty()).then_some(Blocked { blockers, problems: words, retry: RETRY })
    }
}

/// Leadership cannot be moved away without knowing the members. A machine alone has nobody to move it to.
fn etcd_unknown(observed: &Observed) -> Option<String> {
    match &observed.etcd {
        EtcdMembers::Unknown { why } if observed.is_etcd_managed() && observed.machines.len() > 1 => Some(why.clone()),
        EtcdMembers::Unknown { .. } | EtcdMembers::Known(_) => None,
    }
}

fn problems_of(observed: &Observed, machine: &ObservedMachine) -> Vec<Problem> {
    let is_managed = observed.is_etcd_managed();
    let name = machine.name();
    if machine.node_name().is_none() {
        let blockers = std::iter::once(Blocker::Components).chain(is_managed.then_some(Blocker::Etcd)).collect();
        let words = format!("Machine {name} does not have a corresponding Node yet (Machine.status.nodeRef not set)");
        return vec![Problem { blockers, words }];
    }
    health_conditions(is_managed).filter_map(|condition| problem_of(machine, condition)).collect()
}

fn problem_of(machine: &ObservedMachine, type_: &str) -> Option<Problem> {
    let name = machine.name();
    let words = match conditions::get(&machine.machine.status.conditions, type_) {
        None => format!("Machine {name} does not have {type_} condition"),
        Some(condition) => match Status::of(condition) {
            Status::True => return None,
            Status::False => format!("Machine {name} reports {type_} condition is false ({})", condition.message),
            Status::Unknown => format!("Machine {name} reports {type_} condition is unknown ({})", condition.message),
        },
    };
    let blocker = if type_ == ETCD_MEMBER_HEALTHY { Blocker::Etcd } else { Blocker::Components };
    Some(Problem { blockers: vec![blocker], words })
}

/// While an unhealthy machine is replaced not all others need be healthy, or several failures could never be mended.
fn problems_with_replacement(observed: &Observed) -> Vec<Problem> {
    let components = (!quorum::has_other_healthy_machine(observed, None)).then(|| Problem {
        blockers: vec![Blocker::Components],
        words: "cannot add a new control plane Machine when there are no control plane Machines with all Kubernetes \
                control plane components in healthy state. Please check Kubernetes control plane component status"
            .to_owned(),
    });
    components.into_iter().chain(etcd_problem_with_replacement(observed)).collect()
}

fn etcd_problem_with_replacement(observed: &Observed) -> Option<Problem> {
    let (blockers, words) = if !observed.is_etcd_managed() {
        return None;
    } else if observed.members().is_empty() {
        (Vec::new(), "cannot check etcd cluster health before scale up, etcd member list is empty")
    } else if quorum::survives(observed, Change::Added) {
        return None;
    } else {
        let words = "adding a new control plane Machine can lead to etcd quorum loss. Please check the etcd status";
        (vec![Blocker::Etcd], words)
    };
    Some(Problem { blockers, words: words.to_owned() })
}
