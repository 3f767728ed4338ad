//! Where the contract puts what, and reading it from objects of unknown type.

use serde_json::{Map, Value};

use super::ContractVersion;

/// A field that providers fill in or Cluster API reads, under the name of its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContractField {
    /// Boolean: the machine's infrastructure is complete.
    InfraMachineProvisioned,
    /// String: how the cloud's node object names the machine.
    InfraMachineProviderId,
    /// List of `type` and `address`.
    InfraMachineAddresses,
    /// String: where the machine ended up.
    InfraMachineFailureDomain,
    /// String: the older place of the failure domain. Its value is copied to the Machine's spec.
    InfraMachineSpecFailureDomain,
    /// Boolean: the machine may be taken away at any time.
    InfraMachineInterruptible,
    /// Boolean: the secret with the bootstrap data is there.
    BootstrapDataSecretCreated,
    /// String: the name of that secret.
    BootstrapDataSecretName,
    /// String: the desired Kubernetes version.
    ControlPlaneVersion,
    /// List of `version` and `replicas`, oldest first.
    ControlPlaneStatusVersions,
    /// String: the lowest version among the machines.
    ControlPlaneStatusVersion,
    /// Boolean: the API server answered once.
    ControlPlaneInitialized,
    /// Integer: the desired number of machines. Absent where machines are not the provider's matter.
    ControlPlaneReplicas,
    /// Integer: the number of machines.
    ControlPlaneStatusReplicas,
    /// Integer: the number of machines with the desired spec.
    ControlPlaneUpToDateReplicas,
    /// Object of `host` and `port`.
    ControlPlaneEndpoint,
    /// Boolean: the cluster's infrastructure is complete.
    InfraClusterProvisioned,
    /// Object of `host` and `port`.
    InfraClusterEndpoint,
    /// A list under v1beta2, a map by name under v1beta1.
    InfraClusterFailureDomains,
    /// Object: what a template makes its objects from. May be absent, which makes empty ones.
    Template,
}

impl ContractField {
    /// The names that lead to the field from the root of the object.
    pub fn path(self, contract: ContractVersion) -> &'static [&'static str] {
        use ContractVersion::{V1Beta1, V1Beta2};
        match (self, contract) {
            (Self::InfraMachineProvisioned | Self::InfraClusterProvisioned, V1Beta2) => {
                &["status", "initialization", "provisioned"]
            }
            (Self::BootstrapDataSecretCreated, V1Beta2) => &["status", "initialization", "dataSecretCreated"],
            (
                Self::InfraMachineProvisioned | Self::InfraClusterProvisioned | Self::BootstrapDataSecretCreated,
                V1Beta1,
            ) => &["status", "ready"],
            (Self::ControlPlaneInitialized, V1Beta2) => &["status", "initialization", "controlPlaneInitialized"],
            (Self::ControlPlaneInitialized, V1Beta1) => &["status", "initialized"],
            (Self::ControlPlaneUpToDateReplicas, V1Beta2) => &["status", "upToDateReplicas"],
            (Self::ControlPlaneUpToDateReplicas, V1Beta1) => &["status", "updatedReplicas"],
            (Self::InfraMachineProviderId, _) => &["spec", "providerID"],
            (Self::InfraMachineAddresses, _) => &["status", "addresses"],
            (Self::InfraMachineFailureDomain, _) => &["status", "failureDomain"],
            (Self::InfraMachineSpecFailureDomain, _) => &["spec", "failureDomain"],
            (Self::InfraMachineInterruptible, _) => &["status", "interruptible"],
            (Self::BootstrapDataSecretName, _) => &["status", "dataSecretName"],
            (Self::ControlPlaneVersion, _) => &["spec", "version"],
            (Self::ControlPlaneStatusVersions, _) => &["status", "versions"],
            (Self::ControlPlaneStatusVersion, _) => &["status", "version"],
            (Self::ControlPlaneReplicas, _) => &["spec", "replicas"],
            (Self::ControlPlaneStatusReplicas, _) => &["status", "replicas"],
            (Self::ControlPlaneEndpoint | Self::InfraClusterEndpoint, _) => &["spec", "controlPlaneEndpoint"],
            (Self::InfraClusterFailureDomains, _) => &["status", "failureDomains"],
            (Self::Template, _) => &["spec", "template"],
        }
    }
}

/// A field of a provider's object is there, but not of the type that the contract says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("field {path} must be {expected}, found {found}")]
pub struct FieldTypeError {
    /// From the root of the object, as in `status.ready`; `.` is the root itself.
    pub path: String,
    pub expected: &'static str,
    pub found: &'static str,
}

/// The boolean at `path`; nothing if it, or something on the way to it, is absent or null.
pub fn get_bool(object: &Value, path: &[&str]) -> Result<Option<bool>, FieldTypeError> {
    get(object, path, "a boolean", Value::as_bool)
}

/// The string at `path`.
pub fn get_str<'a>(object: &'a Value, path: &[&str]) -> Result<Option<&'a str>, FieldTypeError> {
    get(object, path, "a string", Value::as_str)
}

/// The integer at `path`.
pub fn get_i64(object: &Value, path: &[&str]) -> Result<Option<i64>, FieldTypeError> {
    get(object, path, "an integer", Value::as_i64)
}

/// The list at `path`.
pub fn get_list<'a>(object: &'a Value, path: &[&str]) -> Result<Option<&'a [Value]>, FieldTypeError> {
    get(object, path, "a list", |value| value.as_array().map(Vec::as_slice))
}

/// The object at `path`.
pub fn get_object<'a>(object: &'a Value, path: &[&str]) -> Result<Option<&'a Map<String, Value>>, FieldTypeError> {
    get(object, path, "an object", Value::as_object)
}

/// The conditions of a provider's object: those of the v1beta2 kind where a v1beta1 object has them, else the usual.
pub fn conditions_of(object: &Value) -> Result<&[Value], FieldTypeError> {
    let newer = get_list(object, &["status", "v1beta2", "conditions"])?;
    let conditions = match newer {
        Some(conditions) => Some(conditions),
        None => get_list(object, &["status", "conditions"])?,
    };
    Ok(conditions.unwrap_or_default())
}

fn get<'a, T>(
    object: &'a Value,
    path: &[&str],
    expected: &'static str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, FieldTypeError> {
    let error = |depth: usize, expected, value| FieldTypeError {
        path: if depth == 0 { ".".to_owned() } else { path[..depth].join(".") },
        expected,
        found: type_of(value),
    };
    let mut value = object;
    for (depth, name) in path.iter().enumerate() {
        let parent = value.as_object().ok_or_else(|| error(depth, "an object", value))?;
        match parent.get(*name) {
            None | Some(Value::Null) => return Ok(None),
            Some(child) => value = child,
        }
    }
    read(value).map(Some).ok_or_else(|| error(path.len(), expected, value))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn older_contracts_have_other_paths() {
        use ContractVersion::{V1Beta1, V1Beta2};
        let object = json!({ "status": {
            "ready": false,
            "initialization": { "provisioned": true, "dataSecretCreated": true, "controlPlaneInitialized": true },
            "initialized": false,
        }});
        for field in [
            ContractField::InfraMachineProvisioned,
            ContractField::InfraClusterProvisioned,
            ContractField::BootstrapDataSecretCreated,
            ContractField::ControlPlaneInitialized,
        ] {
            assert_eq!(get_bool(&object, field.path(V1Beta2)), Ok(Some(true)), "{field:?}");
            assert_eq!(get_bool(&object, field.path(V1Beta1)), Ok(Some(false)), "{field:?}");
        }
    }

    #[test]
    fn what_is_absent_is_nothing() {
        let path = ["status", "initialization", "provisioned"];
        for object in [json!({}), json!({ "status": null }), json!({ "status": { "initialization": {} } })] {
            assert_eq!(get_bool(&object, &path), Ok(None), "{object}");
        }
    }

    #[test]
    fn wrong_types_are_named_with_their_path() {
        let object = json!({ "spec": { "providerID": 5, "replicas": 1.5 }, "status": [] });
        let cases = [
            (get_str(&object, &["spec", "providerID"]).err(), "field spec.providerID must be a string, found a number"),
            (get_i64(&object, &["spec", "replicas"]).err(), "field spec.replicas must be an integer, found a number"),
            (get_bool(&object, &["status", "ready"]).err(), "field status must be an object, found a list"),
            (get_bool(&json!("x"), &["status", "ready"]).err(), "field . must be an object, found a string"),
            (get_list(&object, &["spec"]).err(), "field spec must be a list, found an object"),
            (get_object(&object, &["status"]).err(), "field status must be an object, found a list"),
        ];
        for (error, expected) in cases {
            assert_eq!(error.map(|error| error.to_string()).as_deref(), Some(expected));
        }
    }

    #[test]
    fn values_are_read_by_type() {
        let object = json!({ "spec": { "providerID": "sim://1", "replicas": 3, "template": { "a": 1 } } });
        let path = |field: ContractField| field.path(ContractVersion::V1Beta2);
        assert_eq!(get_str(&object, path(ContractField::InfraMachineProviderId)), Ok(Some("sim://1")));
        assert_eq!(get_i64(&object, path(ContractField::ControlPlaneReplicas)), Ok(Some(3)));
        let template = get_object(&object, path(ContractField::Template)).expect("must be an object");
        assert_eq!(template.map(Map::len), Some(1));
    }

    #[test]
    fn newer_conditions_win() {
        let usual = json!({ "status": { "conditions": ["a"] } });
        let both = json!({ "status": { "conditions": ["a"], "v1beta2": { "conditions": ["b"] } } });
        assert_eq!(conditions_of(&usual), Ok([json!("a")].as_slice()));
        assert_eq!(conditions_of(&both), Ok([json!("b")].as_slice()));
        assert_eq!(conditions_of(&json!({})), Ok([].as_slice()));
        assert!(conditions_of(&json!({ "status": { "conditions": {} } })).is_err());
    }
}
