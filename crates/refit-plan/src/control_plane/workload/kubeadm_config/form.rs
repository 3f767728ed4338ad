//! The versions of kubeadm's API in which the document can be written, and what differs between them.

use refit_api::version::KubernetesVersion;
use serde_json::{Map, Value, json};

use super::KubeadmConfigError;

/// The first version of Kubernetes whose kubeadm reads and writes v1beta4.
const FIRST_V1BETA4: KubernetesVersion = KubernetesVersion::new(1, 31, 0);
/// Fields that only v1beta4 has.
const SINCE_V1BETA4: [&str; 3] = ["caCertificateValidityPeriod", "certificateValidityPeriod", "encryptionAlgorithm"];

/// A version of kubeadm's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Flags are a map. There are no environment variables.
    V1Beta3,
    /// Flags are a list of names and values.
    V1Beta4,
}

impl Form {
    const ALL: [Self; 2] = [Self::V1Beta3, Self::V1Beta4];

    /// What kubeadm of this version writes.
    pub fn of_version(version: &KubernetesVersion) -> Self {
        if version.cmp_release(&FIRST_V1BETA4).is_lt() { Self::V1Beta3 } else { Self::V1Beta4 }
    }

    pub fn names() -> Vec<&'static str> {
        Self::ALL.map(Self::api_version).into()
    }

    fn api_version(self) -> &'static str {
        match self {
            Self::V1Beta3 => "kubeadm.k8s.io/v1beta3",
            Self::V1Beta4 => "kubeadm.k8s.io/v1beta4",
        }
    }

    fn parse(document: &Map<String, Value>) -> Result<Self, KubeadmConfigError> {
        let found = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let form = Self::ALL.into_iter().find(|form| form.api_version() == found);
        form.ok_or_else(|| KubeadmConfigError::ApiVersion { found: found.to_owned() })
    }
}

/// Writes the document in another version of the API.
pub(super) fn convert(document: &mut Map<String, Value>, to: Form) -> Result<(), KubeadmConfigError> {
    if Form::parse(document)? == to {
        return Ok(());
    }
    document.insert("apiVersion".to_owned(), json!(to.api_version()));
    for name in ["apiServer", "controllerManager", "scheduler"] {
        convert_component(document.get_mut(name), name, to)?;
    }
    convert_component(document.get_mut("etcd").and_then(|etcd| etcd.get_mut("local")), "etcd.local", to)?;
    match to {
        // It is part of other documents now, which kubeadm fills in by itself.
        Form::V1Beta4 => drop(
            document
                .get_mut("apiServer")
                .and_then(Value::as_object_mut)
                .and_then(|server| server.remove("timeoutForControlPlane")),
        ),
        Form::V1Beta3 => SINCE_V1BETA4.iter().for_each(|field| drop(document.remove(*field))),
    }
    Ok(())
}

/// Writes a component that is in the form of v1beta4 in this form.
pub(super) fn write_component(component: &mut Map<String, Value>, form: Form) {
    if form == Form::V1Beta4 {
        return;
    }
    component.remove("extraEnvs");
    if let Some(Value::Array(arguments)) = component.get("extraArgs") {
        let arguments: Map<String, Value> = arguments.iter().filter_map(argument).collect();
        component.insert("extraArgs".to_owned(), Value::Object(arguments));
    }
}

fn convert_component(component: Option<&mut Value>, name: &str, to: Form) -> Result<(), KubeadmConfigError> {
    let component = match component {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(component)) => component,
        Some(_) => return Err(KubeadmConfigError::Field { field: name.to_owned(), expected: "an object" }),
    };
    let wrong = |expected| KubeadmConfigError::Field { field: format!("{name}.extraArgs"), expected };
    match (to, component.get("extraArgs")) {
        (_, None | Some(Value::Null)) | (Form::V1Beta3, Some(Value::Array(_))) => write_component(component, to),
        (Form::V1Beta4, Some(Value::Object(arguments))) => {
            let arguments = arguments.iter().map(|(name, value)| json!({ "name": name, "value": value }));
            let arguments = arguments.collect();
            component.insert("extraArgs".to_owned(), arguments);
        }
        (Form::V1Beta4, Some(_)) => return Err(wrong("an object, as in v1beta3")),
        (Form::V1Beta3, Some(_)) => return Err(wrong("a list, as in v1beta4")),
    }
    Ok(())
}

fn argument(argument: &Value) -> Option<(String, Value)> {
    Some((argument.get("name")?.as_str()?.to_owned(), argument.get("value")?.clone()))
}
