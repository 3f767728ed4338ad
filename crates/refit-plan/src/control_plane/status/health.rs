//! `EtcdClusterHealthy` and `ControlPlaneComponentsHealthy`, from what is told of the Machines.

use std::collections::{BTreeMap, BTreeSet};

use refit_api::conditions::kubeadm_control_plane::Health;
use refit_api::conditions::{self, NewCondition, Status};
use refit_api::vocabulary::condition_types as types;

use crate::control_plane::machine::COMPONENTS;
use crate::control_plane::observed::ObservedMachine;
use crate::control_plane::quorum;
use crate::control_plane::view::View;

/// How many Machines a message names.
const MAX_NAMES: usize = 3;

pub(super) fn conditions(view: &View<'_>, is_initialized: bool) -> Vec<NewCondition> {
    let is_managed = view.observed.is_etcd_managed();
    let sorts = [Health::EtcdCluster, Health::Components].into_iter();
    sorts.filter(|sort| is_managed || *sort == Health::Components).map(|sort| of(view, sort, is_initialized)).collect()
}

fn of(view: &View<'_>, sort: Health, is_initialized: bool) -> NewCondition {
    let cluster = &view.observed.cluster;
    if cluster.status.initialization.infrastructure_provisioned != Some(true) {
        return sort.waiting_for_infrastructure();
    }
    let endpoint = &cluster.spec.control_plane_endpoint;
    if endpoint.host.is_none() || endpoint.port.is_none() {
        return sort.waiting_for_endpoint();
    }
    if !is_initialized {
        return sort.waiting_for_initialization();
    }
    let looked_at = match sort {
        Health::EtcdCluster => vec![types::ETCD_MEMBER_HEALTHY],
        Health::Components => {
            let etcd = view.observed.is_etcd_managed().then_some(types::ETCD_POD_HEALTHY);
            COMPONENTS.into_iter().chain(etcd).collect()
        }
    };
    merged(view, sort, &looked_at, &foreign(view, sort))
}

/// Members and Nodes that are of no Machine.
fn foreign(view: &View<'_>, sort: Health) -> Vec<String> {
    let observed = view.observed;
    match sort {
        Health::EtcdCluster if view.machines().any(|machine| machine.node_name().is_none()) => Vec::new(),
        Health::EtcdCluster => {
            let members = observed.members().iter().filter(|member| quorum::machine_of(observed, member).is_none());
            let name =
                |name: &str| if name.is_empty() { "(name not yet assigned)".to_owned() } else { name.to_owned() };
            members
                .map(|member| format!("Etcd member {} does not have a corresponding Machine", name(&member.name)))
                .collect()
        }
        Health::Components => {
            let nodes = observed.nodes_without_machine.iter();
            nodes.map(|node| format!("Control plane Node {node} does not have a corresponding Machine")).collect()
        }
    }
}

fn merged(view: &View<'_>, sort: Health, looked_at: &[&str], foreign: &[String]) -> NewCondition {
    let mut worst = None;
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for machine in view.machines() {
        let said = Said::of(machine, looked_at);
        worst = worst.max(said.worst);
        if let Some(message) = said.message() {
            groups.entry(message).or_default().push(machine.name());
        }
    }
    let message = message(groups, foreign);
    match worst {
        _ if !foreign.is_empty() => sort.not_healthy(message),
        Some(Severity::Bad) => sort.not_healthy(message),
        Some(Severity::Unknown) => sort.unknown(message),
        Some(Severity::Good) => sort.healthy(),
        None => sort.not_reported(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Good,
    Unknown,
    Bad,
}

/// What one Machine says.
#[derive(Default)]
struct Said {
    worst: Option<Severity>,
    /// A line for each condition that is not good.
    lines: Vec<String>,
    /// The messages of all of its conditions.
    messages: BTreeSet<String>,
    count: usize,
}

impl Said {
    fn of(machine: &ObservedMachine, looked_at: &[&str]) -> Self {
        let mut said = Self::default();
        let all = &machine.machine.status.conditions;
        for condition in looked_at.iter().filter_map(|type_| conditions::get(all, type_)) {
            let severity = match Status::of(condition) {
                Status::True => Severity::Good,
                Status::False => Severity::Bad,
                // Nothing can be known of a host that is not there yet.
                Status::Unknown if machine.machine.spec.provider_id.is_none() => Severity::Good,
                Status::Unknown => Severity::Unknown,
            };
            said.count += 1;
            said.messages.insert(condition.message.clone());
            said.worst = said.worst.max(Some(severity));
            if severity != Severity::Good {
                let message = match condition.message.as_str() {
                    "" => format!("condition is {}", condition.status),
                    message => message.to_owned(),
                };
                said.lines.push(format!("  * {}: {message}", condition.type_));
            }
        }
        said
    }

    fn message(&self) -> Option<String> {
        if self.lines.is_empty() {
            return None;
        }
        match self.messages.first() {
            Some(only) if self.count > 1 && self.messages.len() == 1 => {
                Some(format!("  * Control plane components: {only}"))
            }
            _ => Some(self.lines.join("\n")),
        }
    }
}

/// What most Machines say comes first, and what is of no Machine last.
fn message(groups: BTreeMap<String, Vec<&str>>, foreign: &[String]) -> String {
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, names)| (std::cmp::Reverse(names.len()), names.join(",")));
    let lines = groups.into_iter().map(|(message, names)| format!("* {}:\n{message}", listed(&names)));
    lines.chain(foreign.iter().map(|line| format!("* {line}"))).collect::<Vec<_>>().join("\n")
}

fn listed(names: &[&str]) -> String {
    let noun = if names.len() == 1 { "Machine" } else { "Machines" };
    match names.get(MAX_NAMES..) {
        None | Some([]) => format!("{noun} {}", names.join(", ")),
        Some(rest) => format!("{noun} {}, ... ({} more)", names[..MAX_NAMES].join(", "), rest.len()),
    }
}
