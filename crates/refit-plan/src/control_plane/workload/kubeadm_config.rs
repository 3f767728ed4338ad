//! The ClusterConfiguration in the ConfigMap `kubeadm-config`, which new and updated machines read.
//!
//! Only what the control plane decides is written; everything else in it stays, known here or not.

mod form;
#[cfg(test)]
mod tests;

use refit_api::bootstrap::{ClusterConfiguration, KubeadmConfigSpec};
use refit_api::version::KubernetesVersion;
use serde_json::{Map, Value, json};

use crate::coverage::kubeadm_config::default_feature_gates;
use form::Form;

/// What kubeadm calls the document.
const KIND: &str = "ClusterConfiguration";
const HOURS_OF_DAY: i64 = 24;

/// Why the document is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubeadmConfigError {
    #[error("it is no object of kind {KIND}")]
    Kind,
    #[error("{found:?} is no version of kubeadm's API that is known; known are {}", Form::names().join(" and "))]
    ApiVersion { found: String },
    #[error("{field} should be {expected}")]
    Field { field: String, expected: &'static str },
}

/// The document for machines of this version.
///
/// A configuration that says nothing at all is one that somebody else sees to: then only the version is written.
pub fn updated(
    document: &Value,
    version: &KubernetesVersion,
    configuration: &ClusterConfiguration,
) -> Result<Value, KubeadmConfigError> {
    let mut updated = object(document)?.clone();
    let form = Form::of_version(version);
    form::convert(&mut updated, form)?;
    updated.insert("kubernetesVersion".to_owned(), json!(format!("v{version}")));
    if *configuration != ClusterConfiguration::default() {
        write(&mut updated, version, configuration, form)?;
    }
    Ok(Value::Object(updated))
}

/// The document with the image of CoreDNS that is wanted. What is not said stays.
pub fn with_dns(document: &Value, configuration: &ClusterConfiguration) -> Result<Value, KubeadmConfigError> {
    let mut updated = object(document)?.clone();
    let wanted = [("imageRepository", &configuration.dns.image_repository), ("imageTag", &configuration.dns.image_tag)];
    for (field, value) in wanted {
        if let Some(value) = value {
            section(&mut updated, "dns")?.insert(field.to_owned(), json!(value));
        }
    }
    Ok(Value::Object(updated))
}

fn object(document: &Value) -> Result<&Map<String, Value>, KubeadmConfigError> {
    let object = document.as_object().filter(|object| object.get("kind").and_then(Value::as_str) == Some(KIND));
    object.ok_or(KubeadmConfigError::Kind)
}

fn write(
    document: &mut Map<String, Value>,
    version: &KubernetesVersion,
    configuration: &ClusterConfiguration,
    form: Form,
) -> Result<(), KubeadmConfigError> {
    let ClusterConfiguration { api_server, controller_manager, scheduler, .. } = configuration;
    if let Some(repository) = &configuration.image_repository {
        document.insert("imageRepository".to_owned(), json!(repository));
    }
    set(document, "featureGates", feature_gates(version, configuration));
    let fields = ["extraArgs", "extraVolumes", "extraEnvs", "certSANs"];
    write_section(document, "apiServer", json!(api_server), &fields, form)?;
    write_section(document, "controllerManager", json!(controller_manager), &fields[..3], form)?;
    write_section(document, "scheduler", json!(scheduler), &fields[..3], form)?;
    if form == Form::V1Beta4 {
        let days = configuration.certificate_validity_period_days.map(i64::from);
        set(document, "certificateValidityPeriod", days.map(|days| json!(format!("{}h0m0s", days * HOURS_OF_DAY))));
        set(document, "encryptionAlgorithm", configuration.encryption_algorithm.map(|algorithm| json!(algorithm)));
    }
    write_etcd(document, configuration, form)
}

fn feature_gates(version: &KubernetesVersion, configuration: &ClusterConfiguration) -> Option<Value> {
    let mut spec = KubeadmConfigSpec { cluster_configuration: configuration.clone(), ..KubeadmConfigSpec::default() };
    default_feature_gates(&mut spec, version);
    let gates = spec.cluster_configuration.feature_gates;
    (!gates.is_empty()).then(|| json!(gates))
}

/// etcd does not move: what runs on the machines stays there, and what runs elsewhere, too.
fn write_etcd(
    document: &mut Map<String, Value>,
    configuration: &ClusterConfiguration,
    form: Form,
) -> Result<(), KubeadmConfigError> {
    let has = |sort: &str| document.get("etcd").is_some_and(|etcd| etcd.get(sort).is_some_and(|it| !it.is_null()));
    match &configuration.etcd.external {
        Some(external) if has("external") => {
            let fields = ["endpoints", "caFile", "certFile", "keyFile"];
            write_section(section(document, "etcd")?, "external", json!(external), &fields, form)
        }
        None if has("local") => {
            let local = json!(configuration.etcd.local);
            let mut fields =
                vec!["imageRepository", "imageTag", "extraArgs", "extraEnvs", "serverCertSANs", "peerCertSANs"];
            // kubeadm has written where the data is. It does not move because nobody says so.
            fields.extend(local.get("dataDir").map(|_| "dataDir"));
            write_section(section(document, "etcd")?, "local", local, &fields, form)
        }
        Some(_) | None => Ok(()),
    }
}

/// Makes these fields of a section what is wanted. Its other fields stay.
fn write_section(
    document: &mut Map<String, Value>,
    name: &str,
    wanted: Value,
    fields: &[&str],
    form: Form,
) -> Result<(), KubeadmConfigError> {
    let Value::Object(mut wanted) = wanted else { return Ok(()) };
    form::write_component(&mut wanted, form);
    let is_there = document.get(name).is_some_and(Value::is_object);
    if !is_there && !fields.iter().any(|field| wanted.contains_key(*field)) {
        return Ok(());
    }
    let section = section(document, name)?;
    for field in fields {
        set(section, field, wanted.remove(*field));
    }
    Ok(())
}

fn set(object: &mut Map<String, Value>, field: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(object.insert(field.to_owned(), value)),
        None => drop(object.remove(field)),
    }
}

/// A section of the document, made if it is not there.
fn section<'a>(
    document: &'a mut Map<String, Value>,
    name: &str,
) -> Result<&'a mut Map<String, Value>, KubeadmConfigError> {
    let section = document.entry(name).or_insert(Value::Null);
    if section.is_null() {
        *section = Value::Object(Map::new());
    }
    section.as_object_mut().ok_or_else(|| KubeadmConfigError::Field { field: name.to_owned(), expected: "an object" })
}
