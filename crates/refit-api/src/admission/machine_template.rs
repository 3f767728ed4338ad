//! Rules for the parts of a Machine, wherever one is described: in a Machine itself, in a template, in a topology.

#[cfg(test)]
mod tests;

use super::names::{dns_subdomain_problem, qualified_name_problem, validate_annotations, validate_labels};
use super::{FieldError, FieldPath};
use crate::cluster::{Bootstrap, MachineTaint, ObjectMeta};
use crate::naming::{NameOwner, NameTemplate, RANDOM_ACTION, RandomSuffix};
use crate::version::{KubernetesVersion, VersionError, with_v_prefix};
use crate::vocabulary::taints;

/// Puts the `v` in front of a version that lacks it. An empty version, as Go clients may write it, is no version.
pub fn default_version(version: &mut Option<String>) {
    *version = version.take().filter(|version| !version.is_empty()).map(|version| with_v_prefix(&version));
}

/// A version, if there is one, is `v` and a strict semantic version.
pub fn validate_version(version: Option<&str>, path: &FieldPath) -> Vec<FieldError> {
    let Some(version) = version else { return Vec::new() };
    match KubernetesVersion::parse_prefixed(version) {
        Ok(_) => Vec::new(),
        Err(VersionError::MissingPrefix { .. }) => vec![path.invalid(version, "must start with v")],
        Err(_) => vec![path.invalid(version, "must be a semantic version such as v1.34.0")],
    }
}

/// Bootstrap data comes from somewhere.
pub fn validate_bootstrap(bootstrap: &Bootstrap, path: &FieldPath) -> Vec<FieldError> {
    if bootstrap.config_ref.is_some() || bootstrap.data_secret_name.is_some() {
        return Vec::new();
    }
    vec![path.required("one of configRef and dataSecretName must be set")]
}

/// Labels and annotations are such that objects can have them.
pub fn validate_metadata(metadata: &ObjectMeta, path: &FieldPath) -> Vec<FieldError> {
    let labels = validate_labels(&metadata.labels, &path.child("labels"));
    let annotations = validate_annotations(&metadata.annotations, &path.child("annotations"));
    [labels, annotations].concat()
}

/// Taints do not take the place of those that others manage.
pub fn validate_taints(taints: &[MachineTaint], path: &FieldPath) -> Vec<FieldError> {
    let problems = |key: &str| [reserved_taint_problem(key), qualified_name_problem(key)].into_iter().flatten();
    each_taint_key(taints, path).flat_map(|(key, path)| problems(key).map(move |p| path.invalid(key, p))).collect()
}

/// Workers do not pass for control planes.
pub fn validate_worker_taints(taints: &[MachineTaint], path: &FieldPath) -> Vec<FieldError> {
    each_taint_key(taints, path)
        .filter(|(key, _)| *key == taints::NODE_ROLE_CONTROL_PLANE)
        .map(|(key, path)| path.invalid(key, "only Machines of a control plane may have this taint"))
        .collect()
}

/// A template for names, if there is one, gives a different and a valid name each time.
pub fn validate_naming(template: Option<&str>, owner: NameOwner, path: &FieldPath) -> Vec<FieldError> {
    let Some(template) = template else { return Vec::new() };
    let path = path.child("template");
    let not_random =
        (!template.contains(RANDOM_ACTION)).then(|| path.invalid(template, format!("must contain {RANDOM_ACTION}")));
    let wrong = sample_name_problem(template, owner).map(|problem| path.invalid(template, problem));
    not_random.into_iter().chain(wrong).collect()
}

fn each_taint_key<'a>(taints: &'a [MachineTaint], path: &FieldPath) -> impl Iterator<Item = (&'a str, FieldPath)> {
    taints.iter().enumerate().map(move |(index, taint)| (taint.key.as_str(), path.index(index).child("key")))
}

fn reserved_taint_problem(key: &str) -> Option<&'static str> {
    match key {
        taints::NODE_UNINITIALIZED | taints::NODE_OUTDATED_REVISION => Some("is managed by Cluster API"),
        taints::NODE_OUT_OF_SERVICE => None,
        taints::NODE_ROLE_MASTER => Some("is no longer in use since Kubernetes 1.24"),
        _ if key.starts_with(taints::NODE_KUBERNETES_PREFIX) => {
            Some("must not begin with node.kubernetes.io/, save for node.kubernetes.io/out-of-service")
        }
        _ if key.starts_with(taints::NODE_CLOUD_PROVIDER_PREFIX) => {
            Some("must not begin with node.cloudprovider.kubernetes.io/")
        }
        _ => None,
    }
}

/// What is wrong with the name that a template gives to a Machine of short-named owners.
fn sample_name_problem(template: &str, owner: NameOwner) -> Option<String> {
    let parsed = match NameTemplate::parse(template, owner) {
        Ok(parsed) => parsed,
        Err(error) => return Some(error.to_string()),
    };
    let name = parsed.render("cluster", "owner", RandomSuffix::from_random(0));
    let problem = dns_subdomain_problem(&name)?;
    Some(format!("gives names such as {name:?}, which no object can have: {problem}"))
}
