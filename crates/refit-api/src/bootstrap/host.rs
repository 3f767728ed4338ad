//! What is done to the host beside kubeadm: files, users, time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::resource::is_default;

/// The format of the bootstrap data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Format {
    #[serde(rename = "cloud-config")]
    CloudConfig,
    #[serde(rename = "ignition")]
    Ignition,
}

/// A file to write to the host. Its content is given here or comes from a secret.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// Where the file goes.
    #[schemars(length(min = 1, max = 512))]
    pub path: String,
    /// Whose it is, as in `root:root`.
    #[schemars(length(min = 1, max = 256))]
    pub owner: Option<String>,
    /// Who may do what with it, as in `0640`.
    #[schemars(length(min = 1, max = 16))]
    pub permissions: Option<String>,
    /// How the content given is encoded.
    pub encoding: Option<Encoding>,
    /// Whether the content is added to a file that is there already.
    pub append: Option<bool>,
    /// The content.
    #[schemars(length(min = 1, max = 10240))]
    pub content: Option<String>,
    /// Where the content comes from.
    pub content_from: Option<FileSource>,
    /// Whether the content is a template; it is not when unset.
    pub content_format: Option<FileContentFormat>,
}

/// How the content of a file is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Encoding {
    #[serde(rename = "base64")]
    Base64,
    #[serde(rename = "gzip")]
    Gzip,
    #[serde(rename = "gzip+base64")]
    GzipBase64,
}

/// Whether the content of a file is a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FileContentFormat {
    /// Written as it is.
    Raw,
    /// Go's template language.
    Template,
}

/// Where the content of a file comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileSource {
    /// A key of a secret.
    pub secret: SecretFileSource,
}

/// A key of a secret with the content of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretFileSource {
    /// The secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in it.
    #[schemars(length(min = 1, max = 256))]
    pub key: String,
}

/// A user to add to the host.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// The name.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// Who it is, in words.
    #[schemars(length(min = 1, max = 256))]
    pub gecos: Option<String>,
    /// Further groups, with commas between.
    #[schemars(length(min = 1, max = 256))]
    pub groups: Option<String>,
    /// The home folder.
    #[schemars(length(min = 1, max = 256))]
    pub home_dir: Option<String>,
    /// Whether the user is made inactive.
    pub inactive: Option<bool>,
    /// The shell.
    #[schemars(length(min = 1, max = 256))]
    pub shell: Option<String>,
    /// The hash of the password.
    #[schemars(length(min = 1, max = 256))]
    pub passwd: Option<String>,
    /// Where the hash of the password comes from.
    pub passwd_from: Option<PasswdSource>,
    /// The first group.
    #[schemars(length(min = 1, max = 256))]
    pub primary_group: Option<String>,
    /// Whether logging in with the password is off.
    pub lock_password: Option<bool>,
    /// What the user may do as root, as in the file `sudoers`.
    #[schemars(length(min = 1, max = 256))]
    pub sudo: Option<String>,
    /// The keys by which the user may log in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 2048)), extend("x-kubernetes-list-type" = "atomic"))]
    pub ssh_authorized_keys: Vec<String>,
}

/// Where the hash of a password comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswdSource {
    /// A key of a secret.
    pub secret: SecretPasswdSource,
}

/// A key of a secret with the hash of a password.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretPasswdSource {
    /// The secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in it.
    #[schemars(length(min = 1, max = 256))]
    pub key: String,
}

/// Where the host takes its time from.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct NTP {
    /// The servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 512)), extend("x-kubernetes-list-type" = "atomic"))]
    pub servers: Vec<String>,
    /// Whether they are used.
    pub enabled: Option<bool>,
}

/// What goes only into Ignition's format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct IgnitionSpec {
    /// Configuration of Container Linux.
    #[serde(default, skip_serializing_if = "is_default")]
    pub container_linux_config: ContainerLinuxConfig,
}

/// Configuration of Container Linux, merged with what refit makes.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct ContainerLinuxConfig {
    /// The configuration, in YAML.
    #[schemars(length(min = 1, max = 32768))]
    pub additional_config: Option<String>,
    /// Whether a warning of its compiler is an error.
    pub strict: Option<bool>,
}
