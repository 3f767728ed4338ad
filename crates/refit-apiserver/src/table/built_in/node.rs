//! Nodes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{AGE, NAME, Printer, Row, created, list, name, none_if_empty, or, str, string, text};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE_LABEL: &str = "kubernetes.io/role";

pub static NODES: Printer = Printer {
    columns: &[
        NAME,
        text("Status"),
        text("Roles"),
        AGE,
        text("Version"),
        text("Internal-IP").wide(),
        text("External-IP").wide(),
        text("OS-Image").wide(),
        text("Kernel-Version").wide(),
        text("Container-Runtime").wide(),
    ],
    row,
};

fn row(node: &Value, now: Timestamp) -> Row {
    let info = &node["status"]["nodeInfo"];
    Row::new([
        name(node),
        status(node).into(),
        roles(node).into(),
        created(node, now),
        string(&info["kubeletVersion"]),
        address(node, "InternalIP").into(),
        address(node, "ExternalIP").into(),
        or(&info["osImage"], "<unknown>").into(),
        kernel(info).into(),
        or(&info["containerRuntimeVersion"], "<unknown>").into(),
    ])
}

fn status(node: &Value) -> String {
    let ready = list(&node["status"]["conditions"]).iter().rfind(|condition| condition["type"] == "Ready");
    let readiness = match ready {
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let is_cordoned = node["spec"]["unschedulable"] == true;
    if is_cordoned { format!("{readiness},SchedulingDisabled") } else { readiness.to_owned() }
}

fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let roles = labels.filter_map(|(label, value)| match label.strip_prefix(ROLE_PREFIX) {
        Some(role) => Some(role),
        None => (label == ROLE_LABEL).then(|| str(value)),
    });
    let roles: BTreeSet<&str> = roles.filter(|role| !role.is_empty()).collect();
    none_if_empty(roles.into_iter().collect::<Vec<_>>().join(","))
}

fn address<'a>(node: &'a Value, kind: &str) -> &'a str {
    let found = list(&node["status"]["addresses"]).iter().find(|address| address["type"] == kind);
    found.map_or("<none>", |address| str(&address["address"]))
}

/// The kernel's version, and for which machines it is.
fn kernel(info: &Value) -> String {
    let version = or(&info["kernelVersion"], "<unknown>");
    match str(&info["architecture"]) {
        "" => version.to_owned(),
        architecture => format!("{version} ({architecture})"),
    }
}
