//! What a Node has from its Machine: labels, annotations and taints.
//!
//! All else on the Node is left as it is. To take off what the Machine no longer has, annotations of the Node keep
//! track of what came from the Machine.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Node, NodeSpec, Taint};
use kube::Resource;
use refit_api::cluster::{Machine, MachineTaint, TaintEffect, TaintPropagation};
use refit_api::contract::{ContractField, get_bool};
use refit_api::name_set::NameSet;
use refit_api::owners;
use refit_api::vocabulary::{annotations as keys, labels, taints};
use serde_json::{Value, json};

use super::observed::{External, Observed, Settings};
use crate::effect::{Patch, Target};
use crate::merge;

type Words = BTreeMap<String, String>;

/// The annotations that every Node of a Machine may have. They are not tracked.
const BOOKKEEPING: [&str; 5] = [
    keys::NODE_CLUSTER_NAME,
    keys::NODE_CLUSTER_NAMESPACE,
    keys::NODE_MACHINE,
    keys::NODE_OWNER_KIND,
    keys::NODE_OWNER_NAME,
];

/// The patch of the Node, for the version that was seen. Nothing when all is as it should be.
pub(super) fn patch(seen: &Observed, machine: &Machine, node: &Node, outdated: bool) -> Option<Patch> {
    let mut after = node.clone();
    let annotations = after.metadata.annotations.get_or_insert_default();
    sync_annotations(annotations, managed_annotations(machine, &seen.settings));
    let managed_labels = managed_labels(seen, machine);
    sync_labels(after.metadata.labels.get_or_insert_default(), annotations, managed_labels);
    let spec = after.spec.get_or_insert_with(NodeSpec::default);
    let node_taints = spec.taints.get_or_insert_default();
    remove_taint(node_taints, taints::NODE_UNINITIALIZED, "NoSchedule");
    if seen.settings.propagate_taints {
        propagate_taints(node_taints, annotations, &machine.spec.taints);
    }
    mark_outdated(outdated, node_taints);
    let merge = merge::difference(&written(node), &written(&after))?;
    Some(Patch { resource_version: node.metadata.resource_version.clone(), ..Patch::object(target(node), merge) })
}

/// Names the Node. Its effects go to the workload cluster.
pub(super) fn target(node: &Node) -> Target {
    Target {
        api_version: Node::api_version(&()).into_owned(),
        kind: Node::kind(&()).into_owned(),
        namespace: None,
        name: node.metadata.name.clone().unwrap_or_default(),
        uid: node.metadata.uid.clone(),
    }
}

/// Whether the MachineSet of the Machine is being replaced. The error is a revision that is no number.
pub(super) fn is_outdated(seen: &Observed) -> Result<bool, String> {
    let (Some(set), Some(deployment)) = (&seen.machine_set, &seen.machine_deployment) else { return Ok(false) };
    Ok(revision(set.metadata.annotations.as_ref())? < revision(deployment.metadata.annotations.as_ref())?)
}

fn revision(annotations: Option<&Words>) -> Result<i64, String> {
    match annotations.and_then(|annotations| annotations.get(keys::REVISION)) {
        None => Ok(0),
        Some(text) => text.parse().map_err(|_| text.clone()),
    }
}

/// The parts of a Node that are patched.
fn written(node: &Node) -> Value {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
    json!({
        "metadata": {
            "labels": node.metadata.labels.clone().unwrap_or_default(),
            "annotations": node.metadata.annotations.clone().unwrap_or_default(),
        },
        "spec": { "taints": taints },
    })
}

fn sync_annotations(annotations: &mut Words, managed: Words) {
    let before = NameSet::from_annotation(annotations, keys::ANNOTATIONS_FROM_MACHINE);
    for gone in before.iter().chain(BOOKKEEPING).filter(|key| !managed.contains_key(*key)) {
        if gone != keys::ANNOTATIONS_FROM_MACHINE {
            annotations.remove(gone);
        }
    }
    let tracked: NameSet = managed.keys().map(String::as_str).filter(|key| !BOOKKEEPING.contains(key)).collect();
    annotations.insert(keys::ANNOTATIONS_FROM_MACHINE.to_owned(), tracked.to_string());
    annotations.extend(managed);
}

fn sync_labels(labels: &mut Words, annotations: &mut Words, managed: Words) {
    let before = NameSet::from_annotation(annotations, keys::LABELS_FROM_MACHINE);
    for gone in before.iter().filter(|key| !managed.contains_key(*key)) {
        labels.remove(gone);
    }
    let tracked: NameSet = managed.keys().map(String::as_str).collect();
    annotations.insert(keys::LABELS_FROM_MACHINE.to_owned(), tracked.to_string());
    labels.extend(managed);
}

fn managed_annotations(machine: &Machine, settings: &Settings) -> Words {
    let metadata = &machine.metadata;
    let is_managed = |key: &str| is_in_domain(key, labels::NODE_DOMAIN) || settings.synced_annotations.contains(key);
    let own = metadata.annotations.iter().flatten().filter(|(key, _)| is_managed(key));
    let controller = owners::controller_of(metadata.owner_references.as_deref().unwrap_or_default());
    let bookkeeping = [
        (keys::NODE_CLUSTER_NAME, Some(machine.spec.cluster_name.clone())),
        (keys::NODE_CLUSTER_NAMESPACE, Some(metadata.namespace.clone().unwrap_or_default())),
        (keys::NODE_MACHINE, Some(metadata.name.clone().unwrap_or_default())),
        (keys::NODE_OWNER_KIND, controller.map(|owner| owner.kind.clone())),
        (keys::NODE_OWNER_NAME, controller.map(|owner| owner.name.clone())),
    ];
    let bookkeeping = bookkeeping.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    own.map(|(key, value)| (key.clone(), value.clone())).chain(bookkeeping).collect()
}

fn managed_labels(seen: &Observed, machine: &Machine) -> Words {
    let is_managed = |key: &str| {
        key.split('/').next() == Some(labels::NODE_ROLE_PREFIX)
            || is_in_domain(key, labels::NODE_RESTRICTION_DOMAIN)
            || is_in_domain(key, labels::NODE_DOMAIN)
            || seen.settings.synced_labels.contains(key)
    };
    let own = machine.metadata.labels.iter().flatten().filter(|(key, _)| is_managed(key));
    let interruptible = is_interruptible(seen).then(|| (labels::INTERRUPTIBLE.to_owned(), String::new()));
    own.map(|(key, value)| (key.clone(), value.clone())).chain(interruptible).collect()
}

/// Whether the part of the key before the slash is the domain or one below it.
fn is_in_domain(key: &str, domain: &str) -> bool {
    let found = key.split('/').next().unwrap_or_default();
    found.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn is_interruptible(seen: &Observed) -> bool {
    let External::Found { object, contract } = &seen.infrastructure else { return false };
    matches!(get_bool(object, ContractField::InfraMachineInterruptible.path(*contract)), Ok(Some(true)))
}

/// Taints for good are kept and tracked; those for the start are put on while nothing is tracked yet.
fn propagate_taints(node: &mut Vec<Taint>, annotations: &mut Words, wanted: &[MachineTaint]) {
    let is_initialized = annotations.contains_key(keys::TAINTS_FROM_MACHINE);
    let before = NameSet::from_annotation(annotations, keys::TAINTS_FROM_MACHINE);
    let is_due = |taint: &&MachineTaint| taint.propagation == TaintPropagation::Always || !is_initialized;
    for taint in wanted.iter().filter(is_due) {
        ensure_taint(node, &taint.key, effect(taint.effect), taint.value.as_deref());
    }
    let all: BTreeSet<String> = wanted.iter().map(tracked).collect();
    for gone in before.iter().filter(|taint| !all.contains(*taint)) {
        if let Some((key, effect)) = gone.split_once(':') {
            remove_taint(node, key, effect);
        }
    }
    let always = wanted.iter().filter(|taint| taint.propagation == TaintPropagation::Always).map(tracked);
    let always: Vec<String> = always.collect();
    let always: NameSet = always.iter().map(String::as_str).collect();
    annotations.insert(keys::TAINTS_FROM_MACHINE.to_owned(), always.to_string());
}

fn mark_outdated(outdated: bool, node: &mut Vec<Taint>) {
    if outdated {
        let is_there =
            |taint: &Taint| taint.key == taints::NODE_OUTDATED_REVISION && taint.effect == "PreferNoSchedule";
        if !node.iter().any(is_there) {
            ensure_taint(node, taints::NODE_OUTDATED_REVISION, "PreferNoSchedule", None);
        }
    } else {
        remove_taint(node, taints::NODE_OUTDATED_REVISION, "PreferNoSchedule");
    }
}

fn tracked(taint: &MachineTaint) -> String {
    format!("{}:{}", taint.key, effect(taint.effect))
}

fn effect(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    }
}

fn ensure_taint(node: &mut Vec<Taint>, key: &str, effect: &str, value: Option<&str>) {
    let new =
        Taint { key: key.to_owned(), effect: effect.to_owned(), value: value.map(str::to_owned), ..Taint::default() };
    match node.iter_mut().find(|taint| taint.key == key && taint.effect == effect) {
        Some(taint) if taint.value.as_deref().unwrap_or_default() == value.unwrap_or_default() => {}
        Some(taint) => *taint = new,
        None => node.push(new),
    }
}

fn remove_taint(node: &mut Vec<Taint>, key: &str, effect: &str) {
    node.retain(|taint| !(taint.key == key && taint.effect == effect));
}
