//! Objects as hooks carry them: JSON that nobody has interpreted.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::decode::{self, DecodeError};

/// A Kubernetes object as JSON, with everything that its sender wrote.
///
/// Patches are computed on, and applied to, this form. A typed object would drop the fields that the type does not
/// know, and the patch would then not apply to what the peer has.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct RawObject(Value);

impl RawObject {
    /// The JSON form of a typed object.
    pub fn encode<K: Serialize>(object: &K) -> Result<Self, RawObjectError> {
        Self::try_from(serde_json::to_value(object).map_err(RawObjectError::Encode)?)
    }

    /// The typed form of the object. The error says which field does not fit.
    pub fn decode<K: DeserializeOwned>(&self) -> Result<K, DecodeError> {
        decode::from_value_ref(&self.0)
    }

    /// True for `{}`, which is also what an object that the peer left out reads as.
    pub fn is_empty(&self) -> bool {
        self.0.as_object().is_none_or(Map::is_empty)
    }

    pub fn api_version(&self) -> Option<&str> {
        self.0.get("apiVersion")?.as_str()
    }

    pub fn kind(&self) -> Option<&str> {
        self.0.get("kind")?.as_str()
    }

    pub fn name(&self) -> Option<&str> {
        self.metadata("name")?.as_str()
    }

    pub fn namespace(&self) -> Option<&str> {
        self.metadata("namespace")?.as_str()
    }

    pub fn spec(&self) -> Option<&Value> {
        self.0.get("spec")
    }

    pub fn as_value(&self) -> &Value {
        &self.0
    }

    pub fn into_value(self) -> Value {
        self.0
    }

    /// The parts of the object that hooks are shown: its type, name, namespace, labels, annotations and spec.
    ///
    /// The rest (status, uid, owners, managed fields) is not the extension's business, and would only make it read
    /// a change where there is none. An empty or `null` part of the metadata is left out.
    pub fn stripped(&self) -> Self {
        let metadata = ["name", "namespace", "labels", "annotations"].into_iter().filter_map(|key| {
            let part = self.metadata(key).filter(|part| !is_blank(part))?;
            Some((key.to_owned(), part.clone()))
        });
        let metadata = ("metadata".to_owned(), Value::Object(metadata.collect()));
        let parts = ["apiVersion", "kind", "spec"].into_iter();
        let parts = parts.filter_map(|key| Some((key.to_owned(), self.0.get(key)?.clone())));
        Self(parts.chain([metadata]).collect::<Map<_, _>>().into())
    }

    /// A bootstrap object, or a template of one, without the tokens that let a stranger join the cluster.
    ///
    /// Extensions have no use for them: their machine has joined.
    #[must_use]
    pub fn without_join_tokens(mut self) -> Self {
        for spec in ["/spec", "/spec/template/spec"] {
            let Some(spec) = self.0.pointer_mut(spec) else { continue };
            for (parent, secrets) in JOIN_TOKENS {
                let Some(parent) = spec.pointer_mut(parent).and_then(Value::as_object_mut) else { continue };
                secrets.iter().for_each(|secret| {
                    parent.remove(*secret);
                });
            }
        }
        self
    }

    fn metadata(&self, key: &str) -> Option<&Value> {
        self.0.get("metadata")?.get(key)
    }
}

/// Where a KubeadmConfig keeps tokens, below its spec.
const JOIN_TOKENS: [(&str, &[&str]); 3] = [
    ("/joinConfiguration/discovery/bootstrapToken", &["token"]),
    ("/joinConfiguration/discovery", &["tlsBootstrapToken"]),
    ("/initConfiguration", &["bootstrapTokens"]),
];

fn is_blank(part: &Value) -> bool {
    match part {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

impl Default for RawObject {
    fn default() -> Self {
        Self(Map::new().into())
    }
}

impl TryFrom<Value> for RawObject {
    type Error = RawObjectError;

    fn try_from(value: Value) -> Result<Self, RawObjectError> {
        match value {
            Value::Object(_) => Ok(Self(value)),
            _ => Err(RawObjectError::NotAnObject),
        }
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(|object| Self(object.into()))
    }
}

/// Any object: its schema is its provider's.
impl JsonSchema for RawObject {
    fn schema_name() -> Cow<'static, str> {
        "Object".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": true })
    }
}

/// Why something cannot be carried as an object.
#[derive(Debug, thiserror::Error)]
pub enum RawObjectError {
    #[error("the JSON value must be an object")]
    NotAnObject,
    #[error("the object has no JSON form")]
    Encode(#[source] serde_json::Error),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::Machine;

    fn object(value: Value) -> RawObject {
        RawObject::try_from(value).expect("the value must be an object")
    }

    #[test]
    fn stripping_keeps_type_name_labels_annotations_and_spec() {
        let check = |full: Value, expected: Value| {
            let stripped = object(full).stripped();
            assert_eq!(stripped.as_value(), &expected);
            assert_eq!(stripped.stripped(), stripped, "stripping twice must equal stripping once");
        };
        check(
            json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
                "kind": "DevMachine",
                "metadata": {
                    "name": "m", "namespace": "ns", "labels": { "a": "b" }, "annotations": { "c": "d" },
                    "uid": "1", "resourceVersion": "2", "generation": 3, "creationTimestamp": null,
                    "ownerReferences": [], "finalizers": ["x"], "managedFields": [],
                },
                "spec": { "unknown": null, "empty": {} },
                "status": { "ready": true },
            }),
            json!({
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
                "kind": "DevMachine",
                "metadata": { "name": "m", "namespace": "ns", "labels": { "a": "b" }, "annotations": { "c": "d" } },
                "spec": { "unknown": null, "empty": {} },
            }),
        );
        check(
            json!({ "metadata": { "name": "m", "namespace": "", "labels": {} } }),
            json!({ "metadata": { "name": "m" } }),
        );
        check(json!({ "status": {} }), json!({ "metadata": {} }));
        check(json!({ "metadata": 5, "spec": null }), json!({ "metadata": {}, "spec": null }));
    }

    #[test]
    fn join_tokens_are_taken_out_of_configs_and_templates() {
        let spec = |token: Option<&str>| {
            let mut spec = json!({
                "joinConfiguration": { "discovery": { "bootstrapToken": { "caCertHashes": ["h"] } } },
                "initConfiguration": { "nodeRegistration": {} },
            });
            if let Some(token) = token {
                spec["joinConfiguration"]["discovery"]["bootstrapToken"]["token"] = token.into();
                spec["joinConfiguration"]["discovery"]["tlsBootstrapToken"] = token.into();
                spec["initConfiguration"]["bootstrapTokens"] = json!([{ "token": token }]);
            }
            spec
        };
        let check = |with: Value, expected: Value| {
            assert_eq!(object(with).without_join_tokens().into_value(), expected);
        };
        check(json!({ "spec": spec(Some("t")) }), json!({ "spec": spec(None) }));
        check(
            json!({ "spec": { "template": { "spec": spec(Some("t")) } } }),
            json!({ "spec": { "template": { "spec": spec(None) } } }),
        );
        for odd in [json!({}), json!({ "spec": 5 }), json!({ "spec": { "joinConfiguration": [] } })] {
            check(odd.clone(), odd);
        }
    }

    #[test]
    fn accessors_do_not_trust_the_shape() {
        let odd = object(json!({ "kind": 1, "metadata": ["name"], "spec": "text" }));
        assert_eq!((odd.kind(), odd.api_version(), odd.name(), odd.namespace()), (None, None, None, None));
        assert_eq!(odd.spec(), Some(&json!("text")));
    }

    #[test]
    fn the_typed_view_names_the_field_that_does_not_fit() {
        let machine = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": { "name": "m", "creationTimestamp": null },
            "spec": {
                "clusterName": "c", "bootstrap": {}, "version": 5,
                "infrastructureRef": { "apiGroup": "x.io", "kind": "K", "name": "n" },
            },
        });
        let error = object(machine.clone()).decode::<Machine>().expect_err("the version must be refused");
        let expected = "cannot decode Machine: spec.version: invalid type: integer `5`, expected a string";
        assert_eq!(error.to_string(), expected);
        let mut good = machine;
        good["spec"]["version"] = "v1.34.0".into();
        let typed: Machine = object(good).decode().expect("the Machine must decode");
        assert_eq!(typed.spec.version.as_deref(), Some("v1.34.0"));
        let encoded = RawObject::encode(&typed).expect("the Machine must encode");
        assert_eq!((encoded.kind(), encoded.name()), (Some("Machine"), Some("m")));
    }
}
