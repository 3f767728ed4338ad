//! What a Machine and its objects should be, as the intents of server-side apply.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use refit_api::bootstrap::{KubeadmConfig, KubeadmConfigSpec};
use refit_api::cluster::{ContractVersionedObjectReference, Machine, MachineReadinessGate};
use refit_api::contract::kind_from_template;
use refit_api::naming::label_value_of;
use refit_api::owners::{self, OwnerKind};
use refit_api::version::KubernetesVersion;
use refit_api::vocabulary::{annotations, condition_types as types, labels, refit};
use refit_api::{bootstrap, cluster};
use serde_json::{Map, Value, json};

use super::machine::COMPONENTS;
use super::observed::{Observed, ObservedMachine};
use super::sync::encoded;
use crate::coverage::kubeadm_config::{self, Flavour};

/// The version of a control plane whose own makes no sense. Admission lets none through; it has no feature gates.
const UNKNOWN_VERSION: KubernetesVersion = KubernetesVersion::new(0, 0, 0);

/// The labels of a Machine and its objects. Those by which they are found win over the template's.
pub(super) fn labels_of(observed: &Observed) -> BTreeMap<String, String> {
    let mut all = observed.control_plane.spec.machine_template.metadata.labels.clone();
    all.insert(labels::CLUSTER_NAME.to_owned(), observed.cluster_name().to_owned());
    all.insert(labels::CONTROL_PLANE.to_owned(), String::new());
    all.insert(labels::CONTROL_PLANE_NAME.to_owned(), label_value_of(observed.name()));
    all
}

/// The annotations of a Machine's objects.
pub(super) fn annotations_of(observed: &Observed) -> BTreeMap<String, String> {
    observed.control_plane.spec.machine_template.metadata.annotations.clone()
}

/// A Machine that is there, with everything that changes without an update in place. It keeps its version.
pub(super) fn synced_machine(observed: &Observed, machine: &ObservedMachine, is_scaffolding: bool) -> Value {
    let mut annotations = machine_annotations(observed, is_scaffolding);
    if let Some(data) = machine.annotations().get(annotations::REMEDIATION_FOR) {
        annotations.insert(annotations::REMEDIATION_FOR.to_owned(), data.clone());
    }
    let spec = &machine.machine.spec;
    let mut intended = machine_spec(observed, spec.version.clone(), spec.failure_domain.clone());
    intended.infrastructure_ref = spec.infrastructure_ref.clone();
    intended.bootstrap.config_ref = spec.bootstrap.config_ref.clone();
    machine_intent(observed, machine.name(), annotations, intended)
}

/// A Machine that is there, as it should be after its update in place.
pub(super) fn updated_machine(observed: &Observed, machine: &ObservedMachine, is_scaffolding: bool) -> Value {
    let mut intent = synced_machine(observed, machine, is_scaffolding);
    intent["spec"]["version"] = json!(observed.control_plane.spec.version);
    intent
}

/// A Machine that is to be.
pub(super) fn new_machine(
    observed: &Observed,
    name: &str,
    failure_domain: Option<&str>,
    infrastructure: ContractVersionedObjectReference,
    is_scaffolding: bool,
) -> Value {
    let mut annotations = machine_annotations(observed, is_scaffolding);
    if let Some(data) = observed.annotation(annotations::REMEDIATION_IN_PROGRESS) {
        annotations.insert(annotations::REMEDIATION_FOR.to_owned(), data.to_owned());
    }
    let version = observed.control_plane.spec.version.clone();
    let mut spec = machine_spec(observed, Some(version), failure_domain.map(str::to_owned));
    spec.infrastructure_ref = infrastructure;
    spec.bootstrap.config_ref = Some(ContractVersionedObjectReference {
        api_group: bootstrap::GROUP.to_owned(),
        kind: "KubeadmConfig".to_owned(),
        name: name.to_owned(),
    });
    machine_intent(observed, name, annotations, spec)
}

/// A KubeadmConfig, `existing` if it is there already.
pub(super) fn kubeadm_config(
    observed: &Observed,
    name: &str,
    flavour: Flavour,
    existing: Option<&KubeadmConfig>,
) -> Value {
    let owners = existing.and_then(|config| config.metadata.owner_references.as_deref());
    let mut config = KubeadmConfig { spec: kubeadm_config_spec(observed, flavour), ..KubeadmConfig::default() };
    config.metadata.name = Some(name.to_owned());
    config.metadata.namespace = Some(observed.namespace().to_owned());
    config.metadata.labels = Some(labels_of(observed));
    config.metadata.annotations = Some(annotations_of(observed));
    config.metadata.owner_references = object_owner(observed, owners.unwrap_or_default()).map(|owner| vec![owner]);
    encoded(&config)
}

/// The object for a host, made from the template; nothing if the template is not there.
pub(super) fn infrastructure(observed: &Observed, name: &str, existing: Option<&Value>) -> Option<Value> {
    let template = observed.infrastructure_template.as_ref()?;
    let inner = template.pointer("/spec/template").cloned().unwrap_or_default();
    let reference = &observed.control_plane.spec.machine_template.spec.infrastructure_ref;
    let mut annotations = strings(&inner, "/metadata/annotations");
    annotations.extend(annotations_of(observed));
    annotations.insert(annotations::CLONED_FROM_NAME.to_owned(), reference.name.clone());
    annotations.insert(annotations::CLONED_FROM_GROUP_KIND.to_owned(), group_kind(reference));
    let mut all_labels = strings(&inner, "/metadata/labels");
    all_labels.extend(labels_of(observed));
    let owners = existing.map(owners_of).unwrap_or_default();
    let mut metadata = json!({
        "name": name, "namespace": observed.namespace(), "labels": all_labels, "annotations": annotations,
    });
    if let Some(owner) = object_owner(observed, &owners) {
        metadata["ownerReferences"] = json!([owner]);
    }
    Some(json!({
        "apiVersion": template.get("apiVersion")?,
        "kind": kind_from_template(&reference.kind),
        "metadata": metadata,
        "spec": inner.get("spec").cloned().unwrap_or_else(|| json!({})),
    }))
}

/// A reference to the object for a host of this name.
pub(super) fn infrastructure_ref(observed: &Observed, name: &str) -> ContractVersionedObjectReference {
    let template = &observed.control_plane.spec.machine_template.spec.infrastructure_ref;
    ContractVersionedObjectReference {
        api_group: template.api_group.clone(),
        kind: kind_from_template(&template.kind).to_owned(),
        name: name.to_owned(),
    }
}

/// `Kind.group`, as objects name the kind of their template.
pub(super) fn group_kind(reference: &ContractVersionedObjectReference) -> String {
    format!("{}.{}", reference.kind, reference.api_group)
}

fn kubeadm_config_spec(observed: &Observed, flavour: Flavour) -> KubeadmConfigSpec {
    let spec = &observed.control_plane.spec;
    let version = KubernetesVersion::parse_tolerant(&spec.version).unwrap_or(UNKNOWN_VERSION);
    kubeadm_config::desired(&spec.kubeadm_config_spec, &version, flavour)
}

fn machine_annotations(observed: &Observed, is_scaffolding: bool) -> BTreeMap<String, String> {
    let mut all = annotations_of(observed);
    all.insert(annotations::KCP_CLEANUP_HOOK.to_owned(), String::new());
    if is_scaffolding {
        all.insert(refit::annotations::SCAFFOLDING.to_owned(), String::new());
    }
    all
}

fn machine_spec(observed: &Observed, version: Option<String>, failure_domain: Option<String>) -> cluster::MachineSpec {
    let template = &observed.control_plane.spec.machine_template.spec;
    cluster::MachineSpec {
        cluster_name: observed.cluster_name().to_owned(),
        version,
        failure_domain,
        readiness_gates: readiness_gates(observed),
        deletion: template.deletion.clone(),
        taints: template.taints.clone(),
        ..cluster::MachineSpec::default()
    }
}

/// What a Machine of the control plane must be before it is ready, then what users want beside.
fn readiness_gates(observed: &Observed) -> Vec<MachineReadinessGate> {
    let etcd = [types::ETCD_POD_HEALTHY, types::ETCD_MEMBER_HEALTHY];
    let mandatory = std::iter::once(types::NODE_KUBEADM_LABELS_AND_TAINTS_SET)
        .chain(COMPONENTS)
        .chain(etcd.into_iter().filter(|_| observed.is_etcd_managed()))
        .map(|condition| MachineReadinessGate { condition_type: condition.to_owned(), polarity: None });
    let mut gates: Vec<MachineReadinessGate> = Vec::new();
    for gate in mandatory.chain(observed.control_plane.spec.machine_template.spec.readiness_gates.iter().cloned()) {
        if gates.iter().all(|known| known.condition_type != gate.condition_type) {
            gates.push(gate);
        }
    }
    gates
}

fn machine_intent(
    observed: &Observed,
    name: &str,
    annotations: BTreeMap<String, String>,
    spec: cluster::MachineSpec,
) -> Value {
    let mut machine = Machine { spec, ..Machine::default() };
    machine.metadata.name = Some(name.to_owned());
    machine.metadata.namespace = Some(observed.namespace().to_owned());
    machine.metadata.labels = Some(labels_of(observed));
    machine.metadata.annotations = Some(annotations);
    machine.metadata.owner_references = owners::controller_ref(&observed.control_plane).map(|owner| vec![owner]);
    encoded(&machine)
}

/// The control plane owns an object until a Machine does. It never controls it: that is the Machine's.
fn object_owner(observed: &Observed, existing: &[OwnerReference]) -> Option<OwnerReference> {
    let machine = OwnerKind { group: cluster::GROUP, kind: "Machine" };
    if owners::find(existing, machine).is_some() {
        return None;
    }
    let mut owner = owners::controller_ref(&observed.control_plane)?;
    (owner.controller, owner.block_owner_deletion) = (None, None);
    Some(owner)
}

fn owners_of(object: &Value) -> Vec<OwnerReference> {
    let owners = object.pointer("/metadata/ownerReferences").cloned().unwrap_or_default();
    serde_json::from_value(owners).unwrap_or_default()
}

fn strings(object: &Value, pointer: &str) -> BTreeMap<String, String> {
    let fields = object.pointer(pointer).and_then(Value::as_object).map(Map::iter).into_iter().flatten();
    fields.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
