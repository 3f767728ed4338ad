//! Whether etcd and the API stay up when a machine comes or goes.

use refit_api::vocabulary::condition_types::{ETCD_MEMBER_HEALTHY, ETCD_POD_HEALTHY};

use super::observed::{EtcdMember, Observed, ObservedMachine};

/// What happens to the members of etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change<'a> {
    /// One more comes. It is taken for unhealthy, unless there is at most one: otherwise none could ever come.
    Added,
    /// The member of this name goes.
    Removed(&'a str),
    /// The member of this name is away for a while, and still counts.
    Restarted(&'a str),
}

/// Whether etcd keeps its quorum through the change. Learners must have been promoted before.
pub(super) fn survives(observed: &Observed, change: Change<'_>) -> bool {
    let mut projected = Projection::default();
    if change == Change::Added {
        projected.voting += 1;
        projected.unhealthy += usize::from(observed.members().len() > 1);
    }
    for member in observed.members().iter().filter(|member| change != Change::Removed(&member.name)) {
        projected.count(observed, member, change);
    }
    projected.has_quorum()
}

/// Whether etcd goes on while the machine is updated. The only member has nobody to leave it to: then nothing else is lost.
pub(super) fn survives_update(observed: &Observed, machine: &ObservedMachine) -> bool {
    match machine.node_name() {
        Some(node) if observed.is_etcd_managed() && observed.members().len() > 1 => {
            survives(observed, Change::Restarted(node))
        }
        Some(_) | None => true,
    }
}

/// Whether a machine with all of its components is left, this one aside.
pub(super) fn has_other_healthy_machine(observed: &Observed, leaving: Option<&str>) -> bool {
    let is_managed = observed.is_etcd_managed();
    let mut others = observed.machines.values().filter(|machine| Some(machine.name()) != leaving);
    others.any(|machine| machine.has_healthy_components(is_managed))
}

#[derive(Default)]
struct Projection {
    voting: usize,
    learners: usize,
    unhealthy: usize,
}

impl Projection {
    fn count(&mut self, observed: &Observed, member: &EtcdMember, change: Change<'_>) {
        let is_starting = member.name.is_empty();
        if is_starting || member.is_learner {
            self.learners += 1;
        } else {
            self.voting += 1;
        }
        if is_starting || change == Change::Restarted(&member.name) || !is_healthy(observed, member) {
            self.unhealthy += 1;
        }
    }

    fn has_quorum(&self) -> bool {
        let quorum = self.voting / 2 + 1;
        self.learners == 0 && self.voting.saturating_sub(self.unhealthy) >= quorum
    }
}

/// A member is as healthy as its Machine says: etcd lists one whose process is down as well, so its Pod must run, too.
/// One without a Machine is healthy unless it raises alarms.
fn is_healthy(observed: &Observed, member: &EtcdMember) -> bool {
    match machine_of(observed, member) {
        Some(machine) => machine.is_true(ETCD_MEMBER_HEALTHY) && machine.is_true(ETCD_POD_HEALTHY),
        None => member.is_healthy,
    }
}

/// The Machine that a member runs on.
pub(super) fn machine_of<'a>(observed: &'a Observed, member: &EtcdMember) -> Option<&'a ObservedMachine> {
    observed.machines.values().find(|machine| machine.node_name() == Some(member.name.as_str()))
}
