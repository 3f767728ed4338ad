//! Whether all parts of a Machine work.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::cluster::{ConditionPolarity, MachineReadinessGate};
use crate::conditions::replicas::READY;
use crate::conditions::{NewCondition, Part, Status, Summary, View, get, internal_error};
use crate::vocabulary::{condition_types as types, reasons};

/// After this long, a deletion is worth a word: drains and volumes usually take less.
const LONG_DELETION: SignedDuration = SignedDuration::from_mins(15);
/// After this long, a drain is worth a word.
const LONG_DRAIN: SignedDuration = SignedDuration::from_mins(5);
/// What the messages of a drain contain, and what that means for its end.
const DELAYS: [(&str, &str); 4] = [
    ("cannot evict pod as it would violate the pod's disruption budget.", "PodDisruptionBudgets"),
    ("deletionTimestamp set, but still not removed from the Node", "Pods not terminating"),
    ("failed to evict Pod", "Pod eviction errors"),
    ("waiting for completion", "Pods not completed yet"),
];

/// The deletion of a Machine, as far as its readiness is concerned.
#[derive(Debug, Clone, Copy)]
pub struct Deletion {
    /// When it was asked for.
    pub since: Timestamp,
    /// When the drain of the Node began.
    pub draining_since: Option<Timestamp>,
    pub now: Timestamp,
}

impl Deletion {
    /// Why the drain takes so long, by what it says. Nothing while it does not take long.
    pub fn delays(&self, deleting: &Condition) -> Vec<&'static str> {
        let is_draining = deleting.reason == reasons::DRAINING_NODE;
        let is_long = self.draining_since.is_some_and(|since| self.now.duration_since(since) > LONG_DRAIN);
        let delays = DELAYS.iter().filter(|(text, _)| is_draining && is_long && deleting.message.contains(text));
        delays.map(|(_, delay)| *delay).collect()
    }

    /// Whether it takes so long that somebody should look.
    pub fn is_long(&self) -> bool {
        self.now.duration_since(self.since) > LONG_DELETION
    }

    /// In few words, so that many Machines say the same.
    fn in_short(&self, deleting: &Condition) -> NewCondition {
        let mut message = "Machine deletion in progress".to_owned();
        if self.is_long() {
            message.push_str(" since more than 15m");
        }
        message.push_str(&format!(", stage: {}", deleting.reason));
        let delays = if self.is_long() { self.delays(deleting) } else { Vec::new() };
        if !delays.is_empty() {
            message.push_str(&format!(", delay likely due to {}", delays.join(", ")));
        }
        NewCondition::new(types::DELETING, Status::True, reasons::DELETING).with_message(message)
    }
}

/// From the Machine's other conditions and its readiness gates: all parts of it work.
pub fn ready(conditions: &[Condition], gates: &[MachineReadinessGate], deletion: Option<&Deletion>) -> NewCondition {
    let mut summary = Summary::new(types::READY, READY)
        .with(deleting(conditions, deletion))
        .with(Part::negative(types::UPDATING))
        .with(may_be_gone(types::BOOTSTRAP_CONFIG_READY, deletion))
        .with(may_be_gone(types::INFRASTRUCTURE_READY, deletion))
        .with(may_be_gone(types::NODE_HEALTHY, deletion))
        .with(Part::positive(types::HEALTH_CHECK_SUCCEEDED).optional())
        .rewritten(with_control_plane_in_one);
    for gate in gates {
        summary = summary.with(match gate.polarity.unwrap_or(ConditionPolarity::Positive) {
            ConditionPolarity::Positive => Part::positive(&gate.condition_type),
            ConditionPolarity::Negative => Part::negative(&gate.condition_type),
        });
    }
    // A gate that waits for the readiness of its own Machine is the one way to get here.
    summary.of(conditions).unwrap_or_else(|_| internal_error(types::READY))
}

fn deleting(conditions: &[Condition], deletion: Option<&Deletion>) -> Part<'static> {
    let part = Part::negative(types::DELETING);
    match (get(conditions, types::DELETING), deletion) {
        (Some(condition), Some(deletion)) => part.shown_as(deletion.in_short(condition)),
        _ => part,
    }
}

/// The condition of something that may be gone once the Machine is being deleted.
fn may_be_gone(type_: &'static str, deletion: Option<&Deletion>) -> Part<'static> {
    const GONE: &[&str] =
        &[reasons::OBJECT_DELETED, reasons::OBJECT_DOES_NOT_EXIST, reasons::NODE_DELETED, reasons::NODE_DOES_NOT_EXIST];
    let part = Part::positive(type_);
    match deletion {
        Some(_) => part.harmless_if(|view: &View<'_>| GONE.contains(&view.reason)),
        None => part,
    }
}

/// Puts the components of a control plane in one line when all of them say the same.
fn with_control_plane_in_one(lines: Vec<String>) -> Vec<String> {
    let components: Vec<&str> = lines.iter().filter_map(|line| component_message(line)).collect();
    let [first, rest @ ..] = components.as_slice() else { return lines };
    if rest.is_empty() || rest.iter().any(|message| message != first) {
        return lines;
    }
    let together = format!("* Control plane components:{first}");
    let mut is_first = true;
    lines
        .iter()
        .filter_map(|line| match component_message(line) {
            None => Some(line.clone()),
            Some(_) => std::mem::take(&mut is_first).then(|| together.clone()),
        })
        .collect()
}

/// What follows the type in the line of a component of a control plane.
fn component_message(line: &str) -> Option<&str> {
    let (type_, message) = line.split_once(':')?;
    let is_component =
        ["* APIServer", "* ControllerManager", "* Scheduler"].iter().any(|start| type_.starts_with(start));
    (is_component || type_ == "* EtcdPodHealthy").then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::machine::{self, INFRASTRUCTURE, control_plane::Pod, node};
    use crate::conditions::{not_deleting, set};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn working() -> Vec<NewCondition> {
        let [_, healthy] = node::from_node(&[]);
        vec![
            not_deleting(),
            machine::not_updating(),
            machine::BOOTSTRAP.fine(),
            INFRASTRUCTURE.fine(),
            NewCondition { status: Status::True, reason: "NodeHealthy".into(), message: "".into(), ..healthy },
        ]
    }

    /// A working Machine with these conditions instead.
    fn check(changed: Vec<NewCondition>, gates: &[&str], deletion: Option<&Deletion>, expected: &str) {
        let mut conditions = Vec::new();
        for condition in working().into_iter().chain(changed) {
            set(&mut conditions, condition, None, NOW);
        }
        let gates: Vec<MachineReadinessGate> = gates
            .iter()
            .map(|gate| {
                let (type_, polarity) = match gate.strip_prefix('!') {
                    Some(type_) => (type_, Some(ConditionPolarity::Negative)),
                    None => (*gate, None),
                };
                MachineReadinessGate { condition_type: type_.to_owned(), polarity }
            })
            .collect();
        assert_eq!(ready(&conditions, &gates, deletion).to_string(), expected);
    }

    #[test]
    fn a_machine_whose_parts_all_work_is_ready() {
        check(vec![], &[], None, "Ready=True Ready");
    }

    #[test]
    fn a_machine_without_conditions_is_unknown() {
        let message = |type_: &str| format!("* {type_}: Condition not yet reported");
        let expected = ["Deleting", "Updating", "BootstrapConfigReady", "InfrastructureReady", "NodeHealthy"];
        let expected = expected.map(message).join("\n");
        assert_eq!(ready(&[], &[], None).to_string(), format!("Ready=Unknown ReadyUnknown: {expected}"));
    }

    #[test]
    fn an_updating_machine_is_not_ready() {
        let updating = machine::updating_in_place("half");
        check(vec![updating], &[], None, "Ready=False NotReady: * Updating: In-place update in progress: half");
    }

    #[test]
    fn a_failed_health_check_makes_a_machine_not_ready() {
        let failed = machine::health::node_deleted("n1");
        let expected =
            "Ready=False NotReady: * HealthCheckSucceeded:\n  * Health check failed:\n      * Node n1 has been deleted";
        check(vec![failed], &[], None, expected);
    }

    #[test]
    fn missing_gate_counts_as_unknown() {
        check(
            vec![],
            &["example.com/Gate"],
            None,
            "Ready=Unknown ReadyUnknown: * example.com/Gate: Condition not yet reported",
        );
    }

    #[test]
    fn a_negative_gate_is_bad_when_true() {
        let gate = |status: bool| NewCondition::new("Gate", status, "Why").with_message("m");
        check(vec![gate(true)], &["!Gate"], None, "Ready=False NotReady: * Gate: m");
        check(vec![gate(false)], &["Gate"], None, "Ready=False NotReady: * Gate: m");
        check(vec![gate(false)], &["!Gate"], None, "Ready=True Ready: * Gate: m");
    }

    #[test]
    fn a_gate_on_its_own_readiness_is_an_internal_error() {
        let expected = "Ready=Unknown InternalError: Please check controller logs for errors";
        check(vec![], &["Ready"], None, expected);
    }

    #[test]
    fn control_plane_components_that_say_the_same_share_a_line() {
        let pods = [Pod::ApiServer, Pod::ControllerManager, Pod::Scheduler, Pod::Etcd];
        let gates = ["APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy"];
        let all = |message: &'static str| pods.map(|pod| pod.provisioning(message)).to_vec();
        check(all("soon"), &gates, None, "Ready=False NotReady: * Control plane components: soon");
        check(
            [all("soon"), vec![Pod::Etcd.provisioning("later")]].concat(),
            &gates,
            None,
            "Ready=False NotReady: * APIServerPodHealthy: soon\n* ControllerManagerPodHealthy: soon\n\
             * SchedulerPodHealthy: soon\n* EtcdPodHealthy: later",
        );
        check(all("soon"), &gates[3..], None, "Ready=False NotReady: * EtcdPodHealthy: soon");
    }

    #[test]
    fn what_is_gone_is_no_issue_of_a_machine_that_is_going() {
        let deletion = Deletion { since: NOW, draining_since: None, now: NOW };
        let gone = vec![machine::deleting::waiting_for_bootstrap("KubeadmConfig"), INFRASTRUCTURE.gone("DevMachine")];
        let expected =
            "Ready=False NotReady: * Deleting: Machine deletion in progress, stage: WaitingForBootstrapDeletion";
        check(gone.clone(), &[], Some(&deletion), expected);
        check(
            gone[1..].to_vec(),
            &[],
            None,
            "Ready=False NotReady: * InfrastructureReady: DevMachine has been deleted",
        );
    }

    #[test]
    fn a_long_deletion_is_shown_in_short_with_its_likely_causes() {
        let after = |minutes| NOW + SignedDuration::from_mins(minutes);
        let drain = machine::deleting::draining_node("Pod a: failed to evict Pod\nPod b: waiting for completion");
        let check = |now, expected: &str| {
            let deletion = Deletion { since: NOW, draining_since: Some(after(11)), now };
            check(vec![drain.clone()], &[], Some(&deletion), &format!("Ready=False NotReady: * Deleting: {expected}"));
        };
        check(after(15), "Machine deletion in progress, stage: DrainingNode");
        check(after(16), "Machine deletion in progress since more than 15m, stage: DrainingNode");
        check(
            after(17),
            "Machine deletion in progress since more than 15m, stage: DrainingNode, \
             delay likely due to Pod eviction errors, Pods not completed yet",
        );
    }
}
