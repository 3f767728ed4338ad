//! Which Machine is next, and where a new one goes.
//!
//! Upstream breaks ties by the order of a Go map, which is random; here the name decides.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use refit_api::vocabulary::annotations::DELETE_MACHINE;

use super::observed::ObservedMachine;
use super::view::View;

/// The Machine that is updated in place or removed next: out of the first group that has any, from the failure domain
/// with most of them, the oldest.
pub(super) fn next<'a>(view: &View<'a>, outdated: &[&'a ObservedMachine]) -> Option<&'a ObservedMachine> {
    in_crowded_domain(view, &first_group(view, outdated))
}

/// The Machine that goes when there are too many. One that was made to help with a rollout has done its work.
pub(super) fn surplus<'a>(view: &View<'a>, outdated: &[&'a ObservedMachine]) -> Option<&'a ObservedMachine> {
    let is_wished = view.machines().any(|machine| machine.has(DELETE_MACHINE));
    let scaffolding = view.machines().filter(|machine| machine.is_scaffolding()).max_by_key(|machine| machine.age());
    scaffolding.filter(|_| !is_wished).or_else(|| next(view, outdated))
}

/// The oldest of these in the failure domain that has most of them.
pub(super) fn in_crowded_domain<'a>(view: &View<'a>, eligible: &[&'a ObservedMachine]) -> Option<&'a ObservedMachine> {
    let domain = crowded_domain(view, eligible);
    let in_domain = eligible.iter().filter(|machine| machine.failure_domain() == domain);
    in_domain.min_by_key(|machine| machine.age()).copied()
}

/// The failure domain for a new Machine: that with the fewest up-to-date Machines, then the fewest of all.
pub(super) fn failure_domain_for_new<'a>(view: &View<'a>) -> Option<&'a str> {
    let stays = |machine: &&ObservedMachine| view.is_up_to_date(machine) && !machine.is_deleting();
    let up_to_date: Vec<_> = view.machines().filter(stays).collect();
    domains(view).into_iter().min_by_key(|domain| (count(&up_to_date, domain), count_all(view, domain), *domain))
}

fn first_group<'a>(view: &View<'a>, outdated: &[&'a ObservedMachine]) -> Vec<&'a ObservedMachine> {
    let is_managed = view.observed.is_etcd_managed();
    let all: Vec<&ObservedMachine> = view.machines().collect();
    let wished = |machine: &&&ObservedMachine| machine.has(DELETE_MACHINE);
    let sick = |machine: &&&ObservedMachine| machine.has_unhealthy_component(is_managed);
    let groups: [Vec<&ObservedMachine>; 5] = [
        outdated.iter().filter(wished).copied().collect(),
        all.iter().filter(wished).copied().collect(),
        outdated.iter().filter(sick).copied().collect(),
        outdated.to_vec(),
        all,
    ];
    groups.into_iter().find(|group| !group.is_empty()).unwrap_or_default()
}

/// A domain that is not there any more comes first; then the one with most eligible Machines, then with most of all.
fn crowded_domain<'a>(view: &View<'a>, eligible: &[&'a ObservedMachine]) -> Option<&'a str> {
    let known = domains(view);
    let is_elsewhere = |machine: &&&ObservedMachine| machine.failure_domain().is_none_or(|own| !known.contains(&own));
    if let Some(machine) = eligible.iter().filter(is_elsewhere).min_by_key(|machine| machine.age()) {
        return machine.failure_domain();
    }
    known.into_iter().min_by_key(|domain| (Reverse(count(eligible, domain)), Reverse(count_all(view, domain)), *domain))
}

/// The failure domains that machines of the control plane may be in.
fn domains<'a>(view: &View<'a>) -> Vec<&'a str> {
    let all = view.observed.cluster.status.failure_domains.iter();
    let names = all.filter(|domain| domain.control_plane == Some(true)).map(|domain| (domain.name.as_str(), ()));
    names.collect::<BTreeMap<_, _>>().into_keys().collect()
}

fn count(machines: &[&ObservedMachine], domain: &str) -> usize {
    machines.iter().filter(|machine| machine.failure_domain() == Some(domain)).count()
}

fn count_all(view: &View<'_>, domain: &str) -> usize {
    view.machines().filter(|machine| machine.failure_domain() == Some(domain)).count()
}
