//! What a Machine says of its Node, in the two conditions `NodeReady` and `NodeHealthy`, in this order.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::NodeCondition;

use crate::conditions::common::{SEE_LOGS, last_probe};
use crate::conditions::{NewCondition, Status};
use crate::vocabulary::{condition_types as types, reasons};

/// The conditions of a healthy Node.
const GOOD: [(&str, Status); 4] = [
    ("Ready", Status::True),
    ("MemoryPressure", Status::False),
    ("DiskPressure", Status::False),
    ("PIDPressure", Status::False),
];

/// It is too early for a Node: the cluster has no infrastructure.
pub fn waiting_for_cluster_infrastructure() -> [NewCondition; 2] {
    let message = "Waiting for Cluster status.initialization.infrastructureProvisioned to be true";
    both(Status::Unknown, reasons::INSPECTION_FAILED, message.to_owned())
}

/// It is too early for a Node: the cluster has no control plane.
pub fn waiting_for_control_plane() -> [NewCondition; 2] {
    let message = "Waiting for Cluster control plane to be initialized";
    both(Status::Unknown, reasons::INSPECTION_FAILED, message.to_owned())
}

/// It is too early for a Node: the host, an object of this kind, has no ID yet.
pub fn waiting_for_provider_id(kind: &str) -> [NewCondition; 2] {
    let message = format!("Waiting for {kind} to report spec.providerID");
    both(Status::Unknown, reasons::INSPECTION_FAILED, message)
}

/// The host with this ID has not joined yet.
pub fn waiting_for_node(provider_id: &str) -> [NewCondition; 2] {
    let message = format!("Waiting for a Node with spec.providerID {provider_id} to exist");
    both(Status::Unknown, reasons::INSPECTION_FAILED, message)
}

/// Nobody has talked to the workload cluster yet.
pub fn not_connected_yet() -> [NewCondition; 2] {
    both(Status::Unknown, reasons::CONNECTION_DOWN, "Remote connection not established yet".to_owned())
}

/// The workload cluster does not answer any more.
pub fn connection_down(last_success: Option<Timestamp>) -> [NewCondition; 2] {
    both(Status::Unknown, reasons::CONNECTION_DOWN, last_probe(last_success))
}

/// The Node could not be read.
pub fn internal_error() -> [NewCondition; 2] {
    both(Status::Unknown, reasons::INTERNAL_ERROR, SEE_LOGS.to_owned())
}

/// The Machine is going, and never had a Node.
pub fn does_not_exist() -> [NewCondition; 2] {
    both(Status::Unknown, reasons::NODE_DOES_NOT_EXIST, "Node does not exist".to_owned())
}

/// The Machine is going, and its Node went before it.
pub fn gone(name: &str) -> [NewCondition; 2] {
    both(Status::False, reasons::NODE_DELETED, format!("Node {name} has been deleted"))
}

/// The Node is gone although nobody deletes the Machine.
pub fn gone_too_early(name: &str) -> [NewCondition; 2] {
    let message = format!("Node {name} has been deleted while the Machine still exists");
    both(Status::False, reasons::NODE_DELETED, message)
}

/// The Node is there and says this of itself.
pub fn from_node(conditions: &[NodeCondition]) -> [NewCondition; 2] {
    [ready(conditions), healthy(conditions)]
}

fn both(status: Status, reason: &'static str, message: String) -> [NewCondition; 2] {
    [types::NODE_READY, types::NODE_HEALTHY]
        .map(|type_| NewCondition::new(type_, status, reason).with_message(message.clone()))
}

fn ready(conditions: &[NodeCondition]) -> NewCondition {
    let Some(found) = last(conditions, "Ready") else {
        return NewCondition::new(types::NODE_READY, Status::Unknown, reasons::NODE_READY_UNKNOWN)
            .with_message("* Node.Ready: Condition not yet reported");
    };
    let status = status(found);
    let reason = match status {
        Status::True => reasons::NODE_READY,
        Status::False => reasons::NODE_NOT_READY,
        Status::Unknown => reasons::NODE_READY_UNKNOWN,
    };
    let message = match found.message.as_deref() {
        Some(message) if status != Status::True && !message.is_empty() => format!("* Node.Ready: {message}"),
        _ => String::new(),
    };
    let since = found.last_transition_time.as_ref().map(|time| time.0);
    NewCondition::new(types::NODE_READY, status, reason).with_message(message).with_since(since)
}

fn healthy(conditions: &[NodeCondition]) -> NewCondition {
    let findings: Vec<Finding> =
        GOOD.into_iter().filter_map(|(type_, good)| Finding::of(type_, last(conditions, type_), good)).collect();
    let (status, reason) = if findings.is_empty() {
        (Status::True, reasons::NODE_HEALTHY)
    } else if findings.iter().all(|finding| finding.is_unknown) {
        (Status::Unknown, reasons::NODE_HEALTHY_UNKNOWN)
    } else {
        (Status::False, reasons::NODE_NOT_HEALTHY)
    };
    NewCondition::new(types::NODE_HEALTHY, status, reason).with_message(message(&findings))
}

/// What is not good about a condition of a Node.
struct Finding {
    type_: &'static str,
    /// Nothing when the Node does not have the condition.
    message: Option<String>,
    is_unknown: bool,
}

impl Finding {
    fn of(type_: &'static str, condition: Option<&NodeCondition>, good: Status) -> Option<Self> {
        let Some(condition) = condition else { return Some(Self { type_, message: None, is_unknown: true }) };
        let status = status(condition);
        let said = condition.message.clone().filter(|message| !message.is_empty());
        let message = said.unwrap_or_else(|| format!("Condition is {status}"));
        (status != good).then_some(Self { type_, message: Some(message), is_unknown: status == Status::Unknown })
    }
}

/// A line for each finding, or one for all when all conditions that the Node has say the same.
fn message(findings: &[Finding]) -> String {
    let said: Vec<&str> = findings.iter().filter_map(|finding| finding.message.as_deref()).collect();
    if let [first, rest @ ..] = said.as_slice()
        && !rest.is_empty()
        && rest.iter().all(|message| message == first)
    {
        return format!("* Node.AllConditions: {first}");
    }
    let line = |finding: &Finding| {
        let message = finding.message.as_deref().unwrap_or("Condition not yet reported");
        format!("* Node.{}: {message}", finding.type_)
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn last<'a>(conditions: &'a [NodeCondition], type_: &str) -> Option<&'a NodeCondition> {
    conditions.iter().rfind(|condition| condition.type_ == type_)
}

fn status(condition: &NodeCondition) -> Status {
    Status::parse(&condition.status).unwrap_or(Status::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::testing;

    /// Both conditions say this.
    fn check(conditions: [NewCondition; 2], expected: &str) {
        let [ready, healthy] = conditions;
        let expected = ["NodeReady", "NodeHealthy"].map(|type_| format!("{type_}={expected}"));
        testing::check(&[(ready, &expected[0]), (healthy, &expected[1])]);
    }

    #[test]
    fn conditions_without_a_node_read_as_upstreams() {
        check(
            waiting_for_cluster_infrastructure(),
            "Unknown InspectionFailed: Waiting for Cluster status.initialization.infrastructureProvisioned to be true",
        );
        check(
            waiting_for_control_plane(),
            "Unknown InspectionFailed: Waiting for Cluster control plane to be initialized",
        );
        check(
            waiting_for_provider_id("DevMachine"),
            "Unknown InspectionFailed: Waiting for DevMachine to report spec.providerID",
        );
        check(
            waiting_for_node("sim://a"),
            "Unknown InspectionFailed: Waiting for a Node with spec.providerID sim://a to exist",
        );
        check(not_connected_yet(), "Unknown ConnectionDown: Remote connection not established yet");
        check(connection_down(None), "Unknown ConnectionDown");
        check(
            connection_down(Some(Timestamp::UNIX_EPOCH)),
            "Unknown ConnectionDown: Last successful probe at 1970-01-01T00:00:00Z",
        );
        check(internal_error(), "Unknown InternalError: Please check controller logs for errors");
        check(does_not_exist(), "Unknown NodeDoesNotExist: Node does not exist");
        check(gone("n1"), "False NodeDeleted: Node n1 has been deleted");
        check(gone_too_early("n1"), "False NodeDeleted: Node n1 has been deleted while the Machine still exists");
    }

    /// A Node with the four conditions, each as `status` or `status message`, or missing when empty.
    fn check_node(given: [&str; 4], ready: &str, healthy: &str) {
        let types = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];
        let conditions: Vec<NodeCondition> = types
            .iter()
            .zip(given)
            .filter(|(_, given)| !given.is_empty())
            .map(|(type_, given)| {
                let (status, message) = given.split_once(' ').unwrap_or((given, ""));
                NodeCondition {
                    type_: (*type_).to_owned(),
                    status: status.to_owned(),
                    message: Some(message.to_owned()),
                    ..NodeCondition::default()
                }
            })
            .collect();
        let [found_ready, found_healthy] = from_node(&conditions);
        testing::check(&[(found_ready, ready), (found_healthy, healthy)]);
    }

    #[test]
    fn a_ready_node_without_pressure_is_healthy() {
        check_node(
            ["True kubelet is posting", "False fine", "False fine", "False fine"],
            "NodeReady=True NodeReady",
            "NodeHealthy=True NodeHealthy",
        );
    }

    #[test]
    fn a_node_that_is_not_ready_or_under_pressure_is_not_healthy() {
        check_node(
            ["False no CNI", "False", "True", ""],
            "NodeReady=False NodeNotReady: * Node.Ready: no CNI",
            "NodeHealthy=False NodeNotHealthy: * Node.Ready: no CNI\n* Node.DiskPressure: Condition is True\n\
             * Node.PIDPressure: Condition not yet reported",
        );
    }

    #[test]
    fn conditions_that_say_the_same_share_a_line() {
        let silent = "Unknown Kubelet stopped posting node status.";
        check_node(
            [silent; 4],
            "NodeReady=Unknown NodeReadyUnknown: * Node.Ready: Kubelet stopped posting node status.",
            "NodeHealthy=Unknown NodeHealthyUnknown: * Node.AllConditions: Kubelet stopped posting node status.",
        );
    }

    #[test]
    fn a_node_that_says_nothing_is_unknown() {
        check_node(
            [""; 4],
            "NodeReady=Unknown NodeReadyUnknown: * Node.Ready: Condition not yet reported",
            "NodeHealthy=Unknown NodeHealthyUnknown: * Node.Ready: Condition not yet reported\n\
             * Node.MemoryPressure: Condition not yet reported\n* Node.DiskPressure: Condition not yet reported\n\
             * Node.PIDPressure: Condition not yet reported",
        );
    }

    #[test]
    fn readiness_keeps_the_transition_time_of_the_node() {
        let since = Timestamp::UNIX_EPOCH;
        let condition = NodeCondition {
            type_: "Ready".to_owned(),
            status: "True".to_owned(),
            last_transition_time: Some(since.into()),
            ..NodeCondition::default()
        };
        let [ready, healthy] = from_node(&[condition]);
        assert_eq!((ready.since, healthy.since), (Some(since), None));
    }
}
