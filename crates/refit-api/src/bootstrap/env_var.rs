//! Environment variables, in the shape that pods have.
//!
//! Not the types of `k8s-openapi`: those rewrite an integer `divisor` as a string, and have no defaults in the schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::schema;

/// An environment variable of a component.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    /// The name.
    pub name: String,
    /// The value. Not together with `valueFrom`.
    pub value: Option<String>,
    /// Where the value comes from.
    pub value_from: Option<EnvVarSource>,
}

/// Where the value of an environment variable comes from.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvVarSource {
    /// A field of the pod.
    pub field_ref: Option<ObjectFieldSelector>,
    /// A resource of the container.
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// A key of a ConfigMap.
    pub config_map_key_ref: Option<KeySelector>,
    /// A key of a Secret.
    pub secret_key_ref: Option<KeySelector>,
    /// A key of a file in a volume.
    pub file_key_ref: Option<FileKeySelector>,
}

/// A field of the pod.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ObjectFieldSelector {
    /// The version of the API that the path is about; `v1` when unset.
    pub api_version: Option<String>,
    /// The path to the field.
    pub field_path: String,
}

/// A resource of a container, in units of the divisor.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ResourceFieldSelector {
    /// The container.
    pub container_name: Option<String>,
    /// The resource, such as `limits.cpu`.
    pub resource: String,
    /// The unit to give the amount in; 1 when unset.
    #[schemars(with = "Option<schema::Quantity>")]
    pub divisor: Option<Quantity>,
}

/// An amount of a resource, kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "invalid type: expected an integer or a string")]
pub enum Quantity {
    Integer(i64),
    Text(String),
}

/// A key of a ConfigMap or a Secret.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct KeySelector {
    /// The name of the object.
    #[schemars(extend("default" = ""))]
    pub name: Option<String>,
    /// The key in it.
    pub key: String,
    /// Whether it may be missing.
    pub optional: Option<bool>,
}

/// A key of a file of environment variables in a volume.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct FileKeySelector {
    /// The volume.
    pub volume_name: String,
    /// The path of the file in the volume.
    pub path: String,
    /// The variable in the file.
    pub key: String,
    /// Whether it may be missing.
    #[schemars(extend("default" = false))]
    pub optional: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn divisor_stays_as_it_was_written() {
        let check = |divisor: Value| {
            let written = json!({ "resource": "limits.memory", "divisor": divisor });
            let selector: ResourceFieldSelector = serde_json::from_value(written.clone()).expect("it must decode");
            assert_eq!(serde_json::to_value(selector).expect("it must encode"), written);
        };
        check(json!(1));
        check(json!(5_000_000_000_u64));
        check(json!("1Mi"));
    }

    #[test]
    fn a_fraction_is_a_divisor_in_a_string_only() {
        let decode = |divisor: Value| crate::decode::from_value::<Quantity>(divisor).map_err(|e| e.to_string());
        assert_eq!(decode(json!("0.5")), Ok(Quantity::Text("0.5".to_owned())));
        let refused = "cannot decode Quantity: invalid type: expected an integer or a string";
        assert_eq!(decode(json!(0.5)), Err(refused.to_owned()));
    }
}
