//! `Available`: one machine serves the API, and etcd has its quorum.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use refit_api::conditions::{self, NewCondition, kubeadm_control_plane as words};
use refit_api::vocabulary::condition_types as types;

use super::replicas::is_older;
use crate::control_plane::machine::health_conditions;
use crate::control_plane::observed::{EtcdMember, EtcdMembers, ObservedMachine};
use crate::control_plane::view::View;

/// For how long after its start etcd may not say who its members are.
const ETCD_START: Duration = Duration::from_secs(2 * 60);
/// For how long something may be wrong before it is told while the whole is available.
const FLICKER: Duration = Duration::from_secs(10);

pub(super) fn condition(view: &View<'_>, own: &[Condition]) -> NewCondition {
    if !conditions::is_true(own, types::INITIALIZED) {
        return words::not_available_before_initialized();
    }
    if view.observed.is_etcd_managed() {
        match &view.observed.etcd {
            EtcdMembers::Unknown { .. } => return members_unknown(view, own),
            EtcdMembers::Known(members) if !match_machines(view, members) => return words::etcd_members_do_not_match(),
            EtcdMembers::Known(_) => {}
        }
    }
    let machines = Tally::of_machines(view);
    let etcd = view.observed.is_etcd_managed().then(|| Etcd::of(view));
    let causes = causes(view, own, &machines, etcd.as_ref());
    if causes.is_empty() {
        words::available(&notes(view, &machines, etcd.as_ref()))
    } else {
        words::not_available(&causes)
    }
}

fn members_unknown(view: &View<'_>, own: &[Condition]) -> NewCondition {
    let since = conditions::get(own, types::INITIALIZED).map(|condition| condition.last_transition_time.0);
    let has_started = since.is_none_or(|since| is_older(since, ETCD_START, view.observed.now));
    if has_started { words::etcd_members_unknown() } else { words::waiting_for_etcd_members() }
}

/// Whether each Node has its member and each member its Machine. A member may come before the Node of its Machine.
fn match_machines(view: &View<'_>, members: &[EtcdMember]) -> bool {
    let has_member = |machine: &ObservedMachine| {
        machine.node_name().is_none_or(|node| members.iter().any(|member| member.name == node))
    };
    let is_young = |machine: &ObservedMachine| {
        machine.age().0.is_some_and(|created| !is_older(created, ETCD_START, view.observed.now))
    };
    let is_provisioning = view.machines().any(|machine| machine.node_name().is_none());
    let has_machine = |member: &EtcdMember| view.machines().any(|machine| machine.node_name() == Some(&member.name));
    view.machines().all(|machine| machine.is_deleting() || has_member(machine) || is_young(machine))
        && (is_provisioning || members.iter().all(has_machine))
}

/// How many are healthy, how many are not, and how many of those only since a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    healthy: usize,
    unhealthy: usize,
    flickering: usize,
}

impl Tally {
    fn of_machines(view: &View<'_>) -> Self {
        let looked_at: Vec<&str> = health_conditions(view.observed.is_etcd_managed()).collect();
        let mut tally = Self::default();
        for machine in view.machines().filter(|machine| machine.machine.spec.provider_id.is_some()) {
            tally.count(view, machine, &looked_at);
        }
        tally
    }

    fn count(&mut self, view: &View<'_>, machine: &ObservedMachine, looked_at: &[&str]) {
        if looked_at.iter().all(|condition| machine.is_true(condition)) {
            self.healthy += 1;
        } else if is_bad_for_long(view, machine, looked_at) {
            self.unhealthy += 1;
        } else {
            self.flickering += 1;
        }
    }
}

fn is_bad_for_long(view: &View<'_>, machine: &ObservedMachine, looked_at: &[&str]) -> bool {
    let all = &machine.machine.status.conditions;
    let bad =
        looked_at.iter().filter_map(|type_| conditions::get(all, type_)).filter(|condition| condition.status != "True");
    let since = bad.map(|condition| condition.last_transition_time.0).min();
    since.is_some_and(|since| is_older(since, FLICKER, view.observed.now))
}

/// The members of etcd.
struct Etcd {
    members: usize,
    learners: usize,
    quorum: usize,
    tally: Tally,
}

impl Etcd {
    fn of(view: &View<'_>) -> Self {
        let members = view.observed.members();
        let is_learner = |member: &&EtcdMember| member.is_learner || member.name.is_empty();
        let learners = members.iter().filter(is_learner).count();
        let mut tally = Tally::default();
        let mut provisioning = view.machines().filter(|machine| machine.node_name().is_none());
        // With one Machine at a time, a member that nobody knows is that Machine's.
        let mut newcomer = provisioning.next().filter(|_| provisioning.next().is_none());
        for member in members {
            let own = view.machines().find(|machine| machine.node_name() == Some(&member.name));
            match own {
                _ if member.name.is_empty() => tally.healthy += 1,
                Some(machine) => tally.count(view, machine, &[types::ETCD_MEMBER_HEALTHY]),
                None => match newcomer.take() {
                    Some(machine) => tally.count(view, machine, &[types::ETCD_MEMBER_HEALTHY]),
                    None => tally.unhealthy += 1,
                },
            }
        }
        Self { members: members.len(), learners, quorum: (members.len() - learners) / 2 + 1, tally }
    }

    fn words(&self, healthy: usize) -> String {
        let learners = match self.learners {
            0 => String::new(),
            count => format!(" {count} learner etcd member,"),
        };
        let members = match healthy {
            0 => "There are no healthy etcd member".to_owned(),
            1 => format!("1 of {} etcd members is healthy", self.members),
            count => format!("{count} of {} etcd members are healthy", self.members),
        };
        format!("{members},{learners} at least {} healthy member required for etcd quorum", self.quorum)
    }
}

/// Why it is not available.
fn causes(view: &View<'_>, own: &[Condition], machines: &Tally, etcd: Option<&Etcd>) -> Vec<String> {
    let is_deleting = view.observed.control_plane.metadata.deletion_timestamp.is_some();
    let deleting = is_deleting.then(|| "Control plane metadata.deletionTimestamp is set".to_owned());
    let has_certificates = conditions::is_true(own, types::CERTIFICATES_AVAILABLE);
    let certificates = (!has_certificates).then(|| "Control plane certificates are not available".to_owned());
    let etcd = etcd.filter(|etcd| etcd.tally.healthy < etcd.quorum).map(|etcd| etcd.words(etcd.tally.healthy));
    let words = "There are no Machines with healthy control plane components, at least 1 required";
    let components = (machines.healthy == 0).then(|| words.to_owned());
    [deleting, certificates, etcd, components].into_iter().flatten().collect()
}

/// What is wrong although it is available. What is wrong only since a moment counts as healthy.
fn notes(view: &View<'_>, machines: &Tally, etcd: Option<&Etcd>) -> Vec<String> {
    let etcd = etcd.filter(|etcd| etcd.tally.unhealthy > 0);
    let etcd = etcd.map(|etcd| etcd.words(etcd.tally.healthy + etcd.tally.flickering));
    let total = view.observed.machines.len();
    let components = (machines.unhealthy > 0).then(|| match machines.healthy + machines.flickering {
        1 => format!("1 of {total} Machines has healthy control plane components, at least 1 required"),
        count => format!("{count} of {total} Machines have healthy control plane components, at least 1 required"),
    });
    etcd.into_iter().chain(components).collect()
}
