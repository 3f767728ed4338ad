//! Columns of built-in kinds, as Kubernetes prints them.

mod cluster;
mod event;
mod node;
mod pod;
mod service;
mod volume;
mod workload;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::{Row, age, custom, definition};
use crate::resource::Resource;

/// How the objects of a kind are printed.
pub struct Printer {
    pub columns: &'static [Column],
    pub row: fn(&Value, Timestamp) -> Row,
}

/// A column.
pub struct Column {
    name: &'static str,
    kind: &'static str,
    format: &'static str,
    /// 1: shown with `-o wide` only.
    priority: i64,
}

impl Column {
    pub fn to_json(&self) -> Value {
        let description = if self.format == "name" { custom::NAME_DESCRIPTION } else { "" };
        definition(self.name, self.kind, self.format, description, self.priority)
    }

    const fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: "string", format: "", priority: 0 }
}

const fn of_type(name: &'static str, kind: &'static str) -> Column {
    Column { name, kind, format: "", priority: 0 }
}

const NAME: Column = Column { name: "Name", kind: "string", format: "name", priority: 0 };
const AGE: Column = text("Age");

/// Kinds that have no columns of their own, among them roles and CustomResourceDefinitions.
static PLAIN: Printer = Printer {
    columns: &[NAME, of_type("Created At", "date")],
    row: |object, _| Row::new([name(object), string(&object["metadata"]["creationTimestamp"])]),
};

/// The printer of a built-in resource.
pub fn printer(resource: &Resource) -> &'static Printer {
    match resource.plural.as_str() {
        "configmaps" => &cluster::CONFIG_MAPS,
        "namespaces" => &cluster::NAMESPACES,
        "secrets" => &cluster::SECRETS,
        "serviceaccounts" => &cluster::SERVICE_ACCOUNTS,
        "leases" => &cluster::LEASES,
        "rolebindings" | "clusterrolebindings" => &cluster::ROLE_BINDINGS,
        "events" => &event::EVENTS,
        "nodes" => &node::NODES,
        "pods" => &pod::PODS,
        "services" => &service::SERVICES,
        "daemonsets" => &workload::DAEMON_SETS,
        "poddisruptionbudgets" => &workload::DISRUPTION_BUDGETS,
        "persistentvolumes" => &volume::VOLUMES,
        "persistentvolumeclaims" => &volume::CLAIMS,
        "volumeattachments" => &volume::ATTACHMENTS,
        _ => &PLAIN,
    }
}

fn name(object: &Value) -> Value {
    string(&object["metadata"]["name"])
}

/// How long ago the object was created.
fn created(object: &Value, now: Timestamp) -> Value {
    age::since(&object["metadata"]["creationTimestamp"], now).into()
}

/// A text; empty where there is none.
fn string(value: &Value) -> Value {
    str(value).into()
}

fn str(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A text, or what stands for none.
fn or<'a>(value: &'a Value, default: &'a str) -> &'a str {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or(default)
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// How many members a map has.
fn count(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

/// Labels as `a=b,c=d`, in the order of their names.
fn labels(value: &Value) -> String {
    let labels: BTreeMap<&String, &str> =
        value.as_object().into_iter().flatten().map(|(key, value)| (key, str(value))).collect();
    let pairs: Vec<String> = labels.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    none_if_empty(pairs.join(","))
}

fn none_if_empty(text: String) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text }
}

/// Whether a condition is `True`.
fn is_true(object: &Value, condition: &str) -> bool {
    list(&object["status"]["conditions"]).iter().any(|found| found["type"] == condition && found["status"] == "True")
}

fn is_being_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

#[cfg(test)]
mod tests;
