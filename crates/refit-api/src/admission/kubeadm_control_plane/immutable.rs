//! What of a KubeadmControlPlane may change. Everything that is not named here may not.

use serde_json::{Map, Value};

use super::{FieldError, FieldPath};
use crate::controlplane::KubeadmControlPlaneSpec;

/// The fields of the spec that may change, each with everything beneath it.
const MUTABLE: &[&str] = &[
    "replicas",
    "version",
    "machineTemplate.metadata",
    "machineTemplate.spec",
    "rollout",
    "remediation",
    "machineNaming",
    "kubeadmConfigSpec.clusterConfiguration.etcd",
    "kubeadmConfigSpec.clusterConfiguration.dns",
    "kubeadmConfigSpec.clusterConfiguration.imageRepository",
    "kubeadmConfigSpec.clusterConfiguration.featureGates",
    "kubeadmConfigSpec.clusterConfiguration.apiServer",
    "kubeadmConfigSpec.clusterConfiguration.controllerManager",
    "kubeadmConfigSpec.clusterConfiguration.scheduler",
    "kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays",
    "kubeadmConfigSpec.clusterConfiguration.encryptionAlgorithm",
    "kubeadmConfigSpec.initConfiguration.bootstrapTokens",
    "kubeadmConfigSpec.initConfiguration.localAPIEndpoint",
    "kubeadmConfigSpec.initConfiguration.nodeRegistration",
    "kubeadmConfigSpec.initConfiguration.patches",
    "kubeadmConfigSpec.initConfiguration.skipPhases",
    "kubeadmConfigSpec.initConfiguration.timeouts",
    "kubeadmConfigSpec.joinConfiguration.caCertPath",
    "kubeadmConfigSpec.joinConfiguration.controlPlane",
    "kubeadmConfigSpec.joinConfiguration.discovery",
    "kubeadmConfigSpec.joinConfiguration.nodeRegistration",
    "kubeadmConfigSpec.joinConfiguration.patches",
    "kubeadmConfigSpec.joinConfiguration.skipPhases",
    "kubeadmConfigSpec.joinConfiguration.timeouts",
    "kubeadmConfigSpec.files",
    "kubeadmConfigSpec.diskSetup",
    "kubeadmConfigSpec.mounts",
    "kubeadmConfigSpec.bootCommands",
    "kubeadmConfigSpec.preKubeadmCommands",
    "kubeadmConfigSpec.postKubeadmCommands",
    "kubeadmConfigSpec.users",
    "kubeadmConfigSpec.ntp",
    "kubeadmConfigSpec.format",
    "kubeadmConfigSpec.verbosity",
    "kubeadmConfigSpec.ignition",
];

/// Errors of the fields that differ and may not.
pub(super) fn validate(new: &KubeadmControlPlaneSpec, old: &KubeadmControlPlaneSpec) -> Vec<FieldError> {
    changed_paths(&encode(old), &encode(new))
        .into_iter()
        .filter(|path| !is_mutable(path))
        .map(|path| FieldPath::new("spec").child(&path).forbidden("cannot be modified"))
        .collect()
}

fn is_mutable(path: &str) -> bool {
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with('.');
    MUTABLE.iter().any(|field| path.strip_prefix(field).is_some_and(is_end))
}

fn encode(spec: &KubeadmControlPlaneSpec) -> Value {
    serde_json::to_value(spec).expect("a spec must encode as JSON")
}

/// The paths at which two objects differ, as a merge patch between them has them: down to the values that differ,
/// with a list being one value; down to what was added; and only down to what was taken away.
fn changed_paths(old: &Value, new: &Value) -> Vec<String> {
    let Value::Object(fields) = new else { return Vec::new() };
    let removed = old.as_object().into_iter().flat_map(Map::keys).filter(|key| !fields.contains_key(*key)).cloned();
    let changed = fields.iter().flat_map(|(key, value)| changes_at(key, &old[key], value));
    removed.chain(changed).collect()
}

/// `old` is null where there was nothing.
fn changes_at(key: &str, old: &Value, new: &Value) -> Vec<String> {
    match new {
        _ if old == new => Vec::new(),
        Value::Object(_) => changed_paths(old, new).into_iter().map(|path| format!("{key}.{path}")).collect(),
        _ => vec![key.to_owned()],
    }
}
