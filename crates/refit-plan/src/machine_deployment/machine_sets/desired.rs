//! One MachineSet as a MachineDeployment wants it.

use std::collections::BTreeMap;

use refit_api::cluster::{MachineDeployment, MachineSet, MachineSpec};
use refit_api::naming::{RandomSuffix, fnv32a, machine_set_name};
use refit_api::vocabulary::annotations::{
    ACKNOWLEDGED_MOVE, CONVERSION_DATA, DESIRED_REPLICAS, DISABLE_MACHINE_CREATE, LAST_APPLIED_CONFIGURATION,
    MAX_REPLICAS, MOVE_MACHINES_TO_MACHINESET, RECEIVE_MACHINES_FROM_MACHINESETS, REVISION, REVISION_HISTORY,
};
use refit_api::vocabulary::labels::{DEPLOYMENT_NAME, MACHINE_TEMPLATE_HASH};
use refit_api::vocabulary::refit::annotations::{HOLD, KEEP_AT_LEAST, REPLACED, SCAFFOLDING, SCALED_DOWN, SURGE};

use super::{Base, Decided, Intent, MachineSetError, name};
use crate::ownership;

/// Annotations of a MachineDeployment that are not its MachineSets'.
const NOT_COPIED: [&str; 15] = [
    LAST_APPLIED_CONFIGURATION,
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    CONVERSION_DATA,
    // A pass says these of each MachineSet, or nobody does.
    MOVE_MACHINES_TO_MACHINESET,
    RECEIVE_MACHINES_FROM_MACHINESETS,
    ACKNOWLEDGED_MOVE,
    HOLD,
    SCAFFOLDING,
    SURGE,
    SCALED_DOWN,
    REPLACED,
    KEEP_AT_LEAST,
];

/// The whole intent of an apply. What others write, such as the status, is not in it.
pub fn desired(deployment: &MachineDeployment, decided: &Decided<'_>) -> Result<MachineSet, MachineSetError> {
    let Decided { base, intent } = decided;
    let mut set = identified(deployment, *base)?;
    if intent.replicas < 0 {
        return Err(MachineSetError::NegativeReplicas { name: name(&set).to_owned(), replicas: intent.replicas });
    }
    set.metadata.namespace = deployment.metadata.namespace.clone();
    set.metadata.owner_references = Some(vec![ownership::controller(deployment)?]);
    set.metadata.annotations = Some(annotations(deployment, *base, intent)?);
    set.spec.cluster_name = deployment.spec.cluster_name.clone();
    set.spec.replicas = Some(intent.replicas);
    set.spec.template.metadata.annotations = deployment.spec.template.metadata.annotations.clone();
    propagate(deployment, &mut set);
    Ok(set)
}

/// What tells the MachineSet from others, and the template that never changes under its machines.
fn identified(deployment: &MachineDeployment, base: Base<'_>) -> Result<MachineSet, MachineSetError> {
    let mut set = MachineSet::default();
    let hash = match base {
        Base::New(suffix) => {
            let of = deployment.metadata.name.as_deref().unwrap_or_default();
            set.metadata.name = Some(machine_set_name(of, suffix));
            set.spec.template.spec = deployment.spec.template.spec.clone();
            unique_value(&deployment.spec.template.spec, suffix)
        }
        Base::Existing(existing) => {
            let named = || name(existing).to_owned();
            let uid = existing.metadata.uid.clone().filter(|uid| !uid.is_empty());
            set.metadata.uid = Some(uid.ok_or_else(|| MachineSetError::NoUid { name: named() })?);
            set.metadata.name = existing.metadata.name.clone();
            set.metadata.finalizers = existing.metadata.finalizers.clone().filter(|list| !list.is_empty());
            set.spec.template.spec = existing.spec.template.spec.clone();
            let label = existing.metadata.labels.as_ref().and_then(|labels| labels.get(MACHINE_TEMPLATE_HASH));
            let missing = || MachineSetError::NoLabel { name: named(), label: MACHINE_TEMPLATE_HASH };
            label.cloned().ok_or_else(missing)?
        }
    };
    label(deployment, &hash, &mut set);
    Ok(set)
}

/// Labels and selector: those of the MachineDeployment, and one that no other MachineSet has.
fn label(deployment: &MachineDeployment, hash: &str, set: &mut MachineSet) {
    let unique = || (MACHINE_TEMPLATE_HASH.to_owned(), hash.to_owned());
    let mut labels = deployment.spec.template.metadata.labels.clone();
    labels.extend([unique()]);
    set.spec.template.metadata.labels = labels.clone();
    set.spec.selector = deployment.spec.selector.clone();
    set.spec.selector.match_labels.get_or_insert_default().extend([unique()]);
    labels.insert(DEPLOYMENT_NAME.to_owned(), deployment.metadata.name.clone().unwrap_or_default());
    set.metadata.labels = Some(labels);
}

fn annotations(
    deployment: &MachineDeployment,
    base: Base<'_>,
    intent: &Intent,
) -> Result<BTreeMap<String, String>, MachineSetError> {
    let name = || deployment.metadata.name.clone().unwrap_or_default();
    let replicas = deployment.spec.replicas.ok_or_else(|| MachineSetError::NoReplicas { name: name() })?;
    let mut annotations = deployment.metadata.annotations.clone().unwrap_or_default();
    annotations.retain(|key, _| !NOT_COPIED.contains(&key.as_str()));
    let most = replicas.saturating_add(intent.max_surge);
    let mut set = |key: &str, value: String| annotations.insert(key.to_owned(), value);
    set(DESIRED_REPLICAS, replicas.to_string());
    set(MAX_REPLICAS, most.to_string());
    set(DISABLE_MACHINE_CREATE, intent.disable_machine_create.to_string());
    for (key, value) in revision(base, intent) {
        set(key, value);
    }
    annotations.extend(intent.annotations.clone());
    Ok(annotations)
}

/// The number of the rollout: the decided one, or the one that the MachineSet has.
fn revision(base: Base<'_>, intent: &Intent) -> Vec<(&'static str, String)> {
    if let Some(revision) = &intent.revision {
        let history = revision.history.clone().map(|history| (REVISION_HISTORY, history));
        return [(REVISION, revision.number.to_string())].into_iter().chain(history).collect();
    }
    let Base::Existing(existing) = base else { return Vec::new() };
    let kept = existing.metadata.annotations.as_ref();
    let keep = |key: &'static str| Some((key, kept?.get(key)?.clone()));
    [REVISION, REVISION_HISTORY].into_iter().filter_map(keep).collect()
}

/// What reaches machines without a rollout.
fn propagate(deployment: &MachineDeployment, set: &mut MachineSet) {
    set.spec.deletion.order = deployment.spec.deletion.order;
    set.spec.machine_naming = deployment.spec.machine_naming.clone();
    let (from, to) = (&deployment.spec.template.spec, &mut set.spec.template.spec);
    to.min_ready_seconds = from.min_ready_seconds;
    to.readiness_gates = from.readiness_gates.clone();
    to.deletion = from.deletion.clone();
    to.taints = from.taints.clone();
}

/// The value of the label that makes a MachineSet unique. The hash is for people; the suffix makes the difference.
fn unique_value(template: &MachineSpec, suffix: RandomSuffix) -> String {
    let rollout = MachineSpec {
        min_ready_seconds: None,
        readiness_gates: Vec::new(),
        deletion: Default::default(),
        taints: Vec::new(),
        ..template.clone()
    };
    let encoded = serde_json::to_vec(&rollout).expect("a Machine's spec must encode");
    format!("{}-{suffix}", fnv32a(&encoded))
}
