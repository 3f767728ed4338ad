//! Renders bootstrap data: kubeadm's own configuration, and around it the cloud-config of the host. Pure text.

mod cloud_config;
mod discovery_file;
mod duration;
mod kubeadm;
mod template;
#[cfg(test)]
mod tests;
mod yaml;

use std::fmt;

use refit_api::bootstrap::{File, KubeadmConfigSpec};
use refit_api::cluster::{Cluster, Machine};
use refit_api::version::{KubernetesVersion, VersionError};

use super::Role;
use super::progress::Sources;

pub use kubeadm::KubeadmApi;
pub use template::TemplateError;

/// A Secret holds at most a mebibyte; so much of it is left for other things.
const MAX_DATA_BYTES: usize = 1024 * 1024 - 16 * 1024;

/// What the Secret with the bootstrap data holds. It has keys and tokens in it: `Debug` shows how long it is.
#[derive(Clone, PartialEq, Eq)]
pub struct BootstrapData {
    pub value: String,
    pub format: &'static str,
}

impl fmt::Debug for BootstrapData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BootstrapData({} bytes of {})", self.value.len(), self.format)
    }
}

/// A certificate or key that goes to the host.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificateFile {
    pub path: String,
    pub content: String,
    pub is_private: bool,
}

impl fmt::Debug for CertificateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CertificateFile({})", self.path)
    }
}

/// What the data is made of beside the spec.
pub struct Facts<'a> {
    pub cluster: &'a Cluster,
    pub machine: &'a Machine,
    pub certificates: &'a [CertificateFile],
    pub sources: &'a Sources,
}

/// Why there is no bootstrap data. An operator has to change something.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    #[error("Machine {machine} has no spec.version; set it")]
    NoVersion { machine: String },
    #[error("spec.version of Machine {machine} is no version: {source}")]
    Version { machine: String, source: VersionError },
    #[error("Kubernetes {version} is not supported; use v1.22.0 or later")]
    TooOld { version: String },
    #[error("spec.files: {path}: {source}")]
    Template { path: String, source: TemplateError },
    #[error(
        "the bootstrap data would have {bytes} bytes, and a Secret holds {MAX_DATA_BYTES}; make spec.files smaller"
    )]
    TooLong { bytes: usize },
}

/// Renders the data for a spec with nothing left open.
pub fn render(spec: &KubeadmConfigSpec, role: Role, facts: &Facts<'_>) -> Result<BootstrapData, RenderError> {
    let version = version_of(facts.machine)?;
    let too_old = || RenderError::TooOld { version: format!("v{version}") };
    let api = KubeadmApi::of(&version).ok_or_else(too_old)?;
    let kubeadm = kubeadm::documents(spec, role, api, facts.cluster, facts.machine);
    let mut files = files(facts)?;
    files.extend(discovery_file::of(spec).filter(|_| role != Role::Init));
    let value = cloud_config::render(spec, role, facts, &files, &kubeadm);
    match value.len() {
        bytes if bytes > MAX_DATA_BYTES => Err(RenderError::TooLong { bytes }),
        _ => Ok(BootstrapData { value, format: "cloud-config" }),
    }
}

fn version_of(machine: &Machine) -> Result<KubernetesVersion, RenderError> {
    let name = || machine.metadata.name.clone().unwrap_or_default();
    let version = machine.spec.version.as_deref().ok_or_else(|| RenderError::NoVersion { machine: name() })?;
    KubernetesVersion::parse_tolerant(version).map_err(|source| RenderError::Version { machine: name(), source })
}

/// The user's files, with templates filled in.
fn files(facts: &Facts<'_>) -> Result<Vec<File>, RenderError> {
    let version = facts.sources.control_plane_version.as_deref();
    let filled = facts.sources.files.iter().map(|file| {
        let failed = |source| RenderError::Template { path: file.path.clone(), source };
        template::fill(file, version).map_err(failed)
    });
    filled.collect()
}
