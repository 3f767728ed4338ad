//! Resources of the group `runtime.cluster.x-k8s.io`.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::cluster::V1Beta1Condition;
use crate::resource::{Column, Definition, condition, resource};
use crate::schema;

pub const GROUP: &str = "runtime.cluster.x-k8s.io";
pub const VERSION: &str = "v1beta2";

resource! {
    /// An extension: a server whose hooks are called for the clusters it is registered for.
    ExtensionConfig in Cluster {
        required { spec: ExtensionConfigSpec }
        optional { status: ExtensionConfigStatus }
    }
    Definition {
        group: GROUP,
        version: VERSION,
        plural: "extensionconfigs",
        short_names: &["ext"],
        columns: &[
            Column::paused(),
            Column::string("Discovered", condition!("Discovered"), "Whether the extension said what it can do"),
            Column::age(),
        ],
        ..Definition::BASE
    }
}

/// Where an extension is, and what it is for.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionConfigSpec {
    /// Where the extension is.
    pub client_config: ClientConfig,
    /// The namespaces whose objects it is asked about; empty: all of them. Unset means none, but is never stored.
    #[schemars(with = "Option<schema::LabelSelector>")]
    pub namespace_selector: Option<LabelSelector>,
    /// Settings that every call carries, save for discovery.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// Where an extension is: at a URL or behind a Service, not both.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ClientConfig {
    /// The URL of the extension, with `https` and an optional path that all hooks are below.
    #[schemars(length(min = 1, max = 512))]
    pub url: Option<String>,
    /// The Service of the extension.
    pub service: Option<ServiceReference>,
    /// The certificates, in PEM, that the extension's own is checked against.
    #[schemars(with = "Option<schema::Bytes>", length(min = 1, max = 51200))]
    pub ca_bundle: Option<ByteString>,
}

/// Points to a Service.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceReference {
    /// The namespace of the Service.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// The name of the Service.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// The path that all hooks are below.
    #[schemars(length(min = 1, max = 512))]
    pub path: Option<String>,
    /// The port of the Service; 443 when unset.
    pub port: Option<i32>,
}

/// What was observed of an extension.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ExtensionConfigStatus {
    /// What is true of it at the moment, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "schema::Conditions")]
    pub conditions: Vec<Condition>,
    /// The handlers that the extension said it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 512),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub handlers: Vec<ExtensionHandler>,
    /// What older versions of the API reported.
    pub deprecated: Option<ExtensionConfigDeprecatedStatus>,
}

/// A handler: what an extension does when one hook is called.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionHandler {
    /// The extension's name for it, a dot, and the name of the ExtensionConfig.
    #[schemars(length(min = 1, max = 512))]
    pub name: String,
    /// The hook that it handles.
    pub request_hook: GroupVersionHook,
    /// How long one call may take; 10 when unset.
    #[schemars(range(min = 1))]
    pub timeout_seconds: Option<i32>,
    /// What a call that failed means; `Fail` when unset.
    pub failure_policy: Option<FailurePolicy>,
}

/// A hook of one version of the hook API.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupVersionHook {
    /// The group and version of the hook.
    #[schemars(length(min = 1, max = 512))]
    pub api_version: String,
    /// The name of the hook.
    #[schemars(length(min = 1, max = 256))]
    pub hook: String,
}

/// What a call that failed means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FailurePolicy {
    /// As if the extension had agreed.
    Ignore,
    /// The failure stands.
    Fail,
}

/// What older versions of the API reported.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionConfigDeprecatedStatus {
    /// What v1beta1 reported.
    pub v1beta1: Option<ExtensionConfigV1Beta1DeprecatedStatus>,
}

/// What v1beta1 reported of an extension.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionConfigV1Beta1DeprecatedStatus {
    /// Conditions in the old shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
}
