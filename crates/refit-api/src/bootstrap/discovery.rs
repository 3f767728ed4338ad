//! How a joining Machine finds its cluster and comes to trust it.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::resource::is_default;
use crate::schema;

/// How a joining Machine finds its cluster: by a token, or by a kubeconfig file.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct Discovery {
    /// By a token.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bootstrap_token: BootstrapTokenDiscovery,
    /// By a kubeconfig file.
    pub file: Option<FileDiscovery>,
    /// The token by which the kubelet gets its certificate; the one of `bootstrapToken` when unset.
    #[schemars(length(min = 1, max = 512))]
    pub tls_bootstrap_token: Option<String>,
}

/// Finding the cluster by a token. What is unset is filled in when the Machine is to join.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct BootstrapTokenDiscovery {
    /// The token.
    #[schemars(length(min = 1, max = 512))]
    pub token: Option<String>,
    /// The address of an API server.
    #[schemars(length(min = 1, max = 512))]
    pub api_server_endpoint: Option<String>,
    /// Hashes of the public keys that the certificate authority may have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 512)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub ca_cert_hashes: Vec<String>,
    /// Whether any certificate authority is trusted.
    #[serde(rename = "unsafeSkipCAVerification")]
    pub unsafe_skip_ca_verification: Option<bool>,
}

/// Finding the cluster by a kubeconfig file.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDiscovery {
    /// Where the file is on the host, or is written to.
    #[schemars(length(min = 1, max = 512))]
    pub kube_config_path: String,
    /// What to write to the file; unset when it is there already.
    pub kube_config: Option<FileDiscoveryKubeConfig>,
}

/// What is written to the kubeconfig file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDiscoveryKubeConfig {
    /// The cluster; what is unset is filled in when the Machine is to join.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster: KubeConfigCluster,
    /// Who the Machine is to the cluster.
    pub user: KubeConfigUser,
}

/// The cluster in a kubeconfig file.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeConfigCluster {
    /// The address of the API server.
    #[schemars(length(min = 1, max = 512))]
    pub server: Option<String>,
    /// The name to expect in the certificate of the API server, if not that of its address.
    #[schemars(length(min = 1, max = 512))]
    pub tls_server_name: Option<String>,
    /// Whether any certificate is trusted.
    #[serde(rename = "insecureSkipTLSVerify")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// The certificate authority, in PEM.
    #[schemars(with = "Option<schema::Bytes>", length(min = 1, max = 51200))]
    pub certificate_authority_data: Option<ByteString>,
    /// The proxy to go through.
    #[serde(rename = "proxyURL")]
    #[schemars(length(min = 1, max = 512))]
    pub proxy_url: Option<String>,
}

/// Who the Machine is to the cluster.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct KubeConfigUser {
    /// A plugin of the client that logs in.
    pub auth_provider: Option<KubeConfigAuthProvider>,
    /// A command that logs in.
    pub exec: Option<KubeConfigAuthExec>,
}

/// A plugin of the client that logs in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeConfigAuthProvider {
    /// The name of the plugin.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// What the plugin is told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
}

/// A command that logs in.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeConfigAuthExec {
    /// The command.
    #[schemars(length(min = 1, max = 1024))]
    pub command: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 100),
        inner(length(min = 1, max = 512)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub args: Vec<String>,
    /// Its further environment variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub env: Vec<KubeConfigAuthExecEnv>,
    /// The version of what the command reads and prints; `client.authentication.k8s.io/v1` when unset.
    #[schemars(length(min = 1, max = 512))]
    pub api_version: Option<String>,
    /// Whether the command is told about the cluster.
    pub provide_cluster_info: Option<bool>,
}

/// An environment variable of the command that logs in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeConfigAuthExecEnv {
    /// The name.
    #[schemars(length(min = 1, max = 512))]
    pub name: String,
    /// The value.
    #[schemars(length(min = 1, max = 512))]
    pub value: String,
}
